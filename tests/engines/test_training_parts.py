"""A training table in parts, without any engine: the answers are those of the whole table, to the last bit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf import NICE, Constraints, OptionError, SampleWarning, SchemaError
from nicecf.benchmark.datasets import loan_book
from nicecf.cli.showcase import forest
from nicecf.engines.on_cluster import ClusterNICE, Sketch, checked_explainer, checked_roles, starts_of
from nicecf.engines.training_parts import Sketcher, joined_candidates, nearest_in, predicted
from strategies import HashModel, fewer

pytestmark = pytest.mark.filterwarnings("ignore::nicecf.RulesWarning")


def fit_in_parts(parts, label, model, *, sample=1, **options):
    """What an engine does, one part after the other."""
    nice = checked_explainer(model, options)
    roles = checked_roles(list(parts[0].columns), label, None, sample)
    sketcher = Sketcher(roles, nice.categorical_features, nice.ordinal, sample)
    chosen = {number: sketcher(part) for number, part in enumerate(parts) if len(part)}
    counts = {number: counts for number, (_, counts) in chosen.items()}
    starts = starts_of(counts)
    rows = pd.concat([parts[number].iloc[offsets] for number, (offsets, _) in chosen.items()], ignore_index=True)
    positions = np.concatenate([starts[number] + offsets for number, (offsets, _) in chosen.items()])
    sketch = Sketch(rows, positions, counts)
    fitted = sketch.fitted(nice, roles)
    known = [
        predicted(fitted, parts[one][list(roles.features)], parts[one][label], start + np.arange(counts[one].n_rows))
        for one, start in starts.items()
    ]
    n_decided = np.sum([np.bincount(one.decisions, minlength=len(fitted.classes_)) for one in known], axis=0)

    def find(asked):
        return joined_candidates([nearest_in(fitted, one, asked) for one in known], asked.most).part

    return ClusterNICE(fitted, sketch.part(fitted, roles), n_decided, find)


def cut(table, cuts):
    """A table in parts: some may be empty."""
    bounds = [0, *sorted(min(one, len(table)) for one in cuts), len(table)]
    return [table.iloc[first:last].reset_index(drop=True) for first, last in zip(bounds, bounds[1:], strict=False)]


def check_equal(found, expected, lines=slice(None)):
    assert found.found[lines].tolist() == expected.found[lines].tolist()
    assert found.donors[lines].tolist() == expected.donors[lines].tolist()
    pd.testing.assert_frame_equal(found.to_frame().iloc[lines], expected.to_frame().iloc[lines], check_exact=True)


def table_of(seed, n_rows):
    """Rows with ties and gaps, of which few stand for all: numbers in quarters, few levels, one rare one."""
    random = np.random.default_rng(seed)
    levels = np.array(["a", "b", "c", None], dtype=object)
    X = pd.DataFrame(
        {
            "x": random.integers(0, 16, n_rows) / 4,
            "y": np.where(random.random(n_rows) < 0.1, np.nan, random.integers(0, 64, n_rows) / 4),
            "n": random.integers(-3, 4, n_rows),
            "t": levels[random.choice(4, n_rows, p=[0.6, 0.3, 0.05, 0.05])],
            "u": random.choice(["no", "yes"], n_rows),
        }
    )
    return X.iloc[random.integers(0, n_rows, n_rows)].reset_index(drop=True)  # some rows come twice


RULES = [
    {},
    {"immutable": ["t", "y"]},
    {"increasing": ["n"], "immutable": ["u"]},
    {"decreasing": ["x"], "max_changes": 2},
    {"max_changes": 1},
]


@given(st.data())
@fewer(4)
def test_parts_have_the_answers_of_the_whole_table(data):
    n_classes, n_rows = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 60))
    seed = data.draw(st.integers(0, 10**6))
    X, classes = table_of(seed, n_rows), ["bad", "good", "so so"][:n_classes]
    labels = np.random.default_rng(seed + 1).choice(classes, n_rows)
    rows = pd.concat([table_of(seed + 2, 4), X.iloc[:2]], ignore_index=True)
    model = HashModel(n_classes, seed)
    options = {
        "classes": classes,
        "justified": data.draw(st.booleans()),
        "optimize": data.draw(st.sampled_from(["none", "sparsity", "proximity"])),
        "min_probability": data.draw(st.sampled_from([None, None, 0.5])),
        "constraints": Constraints(**data.draw(st.sampled_from(RULES))),
        "feature_weights": data.draw(st.sampled_from([None, {"x": 3.0}])),
    }
    cuts = data.draw(st.lists(st.integers(0, n_rows), max_size=4))
    whole = NICE(model, search="greedy", **options).fit(X, labels)
    parts = fit_in_parts(cut(X.assign(label=labels), cuts), "label", model, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SampleWarning)
        for target in ("other", classes[0]):
            check_equal(parts.explain(rows, target_class=target), whole.explain(rows, target_class=target))
