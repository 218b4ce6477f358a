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
from strategies import fewer, problems

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


@st.composite
def rules(draw, n_features):
    names = [f"f{j}" for j in range(n_features)]
    some = st.lists(st.sampled_from(names), unique=True, max_size=n_features - 1)
    return {"immutable": draw(some), "max_changes": draw(st.sampled_from([None, None, 1, 2]))}


@given(problems(n_to_explain=st.integers(1, 3)), st.lists(st.integers(0, 14), max_size=4), st.data())
@fewer(0.5)
def test_parts_have_the_answers_of_the_whole_table(p, cuts, data):
    X, rows = p.frame(p.rows), p.frame(p.to_explain)
    limits = data.draw(st.one_of(st.none(), rules(len(p.names))))
    options = {
        "classes": p.classes,
        "justified": p.justified,
        "categorical_features": p.categorical_names,
        "optimize": data.draw(st.sampled_from(["none", "sparsity", "proximity"])),
        "min_probability": data.draw(st.sampled_from([None, None, 0.5])),
    }
    own = Constraints(**(limits or {}))
    whole = NICE(p.model, search="greedy", constraints=own, **options).fit(X, p.labels)
    parts = fit_in_parts(cut(X.assign(label=p.labels), cuts), "label", p.model, constraints=own, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SampleWarning)
        check_equal(parts.explain(rows, target_class=p.target), whole.explain(rows, target_class=p.target))
