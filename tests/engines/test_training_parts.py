"""A training table in parts, without any engine: the answers are those of the whole table, to the last bit."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf import NICE, Constraints, OptionError, SampleWarning, SchemaError
from nicecf.benchmark.datasets import loan_book
from nicecf.engines.on_cluster import ClusterNICE, Sketch, checked_explainer, checked_roles, starts_of
from nicecf.engines.training_parts import Sketcher, joined_candidates, nearest_in, predicted
from strategies import HashModel, fewer

pytestmark = pytest.mark.filterwarnings("ignore::nicecf.RulesWarning")


def fit_in_parts(parts, label, model, *, sample=1, **options):
    """What an engine does, one part after the other."""
    nice = checked_explainer(model, options)
    roles = checked_roles(list(parts[0].columns), label, None, sample)
    sketcher = Sketcher.of(nice, roles, sample=sample, n_parts=len(parts))
    chosen = {number: sketcher(part) for number, part in enumerate(parts) if len(part)}
    counts = {number: counts for number, (_, counts) in chosen.items()}
    starts = starts_of(counts)
    rows = pd.concat([parts[number].iloc[offsets] for number, (offsets, _) in chosen.items()], ignore_index=True)
    positions = np.concatenate([starts[number] + offsets for number, (offsets, _) in chosen.items()])
    sketch = Sketch(rows, positions, counts).reduced(sketcher, sample)
    fitted = sketch.fitted(nice, sketcher)
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
    return [table.iloc[first:last].reset_index(drop=True) for first, last in itertools.pairwise(bounds)]


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
@fewer(3)
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
    check_learned(parts.nice._fitted, whole._fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SampleWarning)
        for target in ("other", classes[0]):
            found, expected = parts.explain(rows, target_class=target), whole.explain(rows, target_class=target)
            check_equal(found, expected)
            # Other reasons are of the sample; this one counts all training rows.
            is_counted = expected.reason_kinds == "no_donor"
            assert found.reasons[is_counted].tolist() == expected.reasons[is_counted].tolist()


def check_learned(sketched, whole):
    """The columns and the distance are those of the whole table."""
    for one, other in zip(sketched.schema.columns, whole.schema.columns, strict=True):
        assert (one.name, one.levels, one.has_missing) == (other.name, other.levels, other.has_missing)
        assert (one.is_free_text, one.prototype.dtype) == (other.is_free_text, other.prototype.dtype)
    assert sketched.distance.scales.tolist() == whole.distance.scales.tolist()
    for one, other in zip(sketched.statistics.seen, whole.statistics.seen, strict=True):
        assert repr(one) == repr(other)


def is_worth(X):
    good = (X["y"] - X["x"] >= 3).to_numpy(dtype=float)
    return np.column_stack([1 - good, good])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_far_donor_in_the_target_comes_before_a_near_one_that_only_the_rules_put_there(swapped, monkeypatch):
    monkeypatch.setattr("nicecf.search.donors._TRIED_TOGETHER", ())  # as where the nearest ones are of no use
    # Without its x, which may not rise, (8, 9) is good. The ends of the columns have a wrong label: they are no donors.
    near = pd.DataFrame({"x": [0.0, 8.0, 9.0], "y": [100.0, 9.0, 0.0], "label": ["bad", "bad", "good"]})
    far = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0], "y": [100.0, 80.0, 60.0, 0.0], "label": ["bad", "good", "good", "good"]})  # fmt: skip
    tables = [far, near] if swapped else [near, far]
    options = {"classes": ["bad", "good"], "constraints": Constraints(decreasing=["x"]), "optimize": "none"}
    whole = pd.concat(tables, ignore_index=True)
    row = pd.DataFrame({"x": [5.0], "y": [0.0]})
    expected = NICE(is_worth, search="greedy", **options).fit(whole[["x", "y"]], whole["label"]).explain(row)
    assert expected.to_frame().iloc[0].tolist() == [2.0, 60.0]
    check_equal(fit_in_parts(tables, "label", is_worth, **options).explain(row), expected)


def test_of_equal_rows_the_first_of_all_parts_is_the_donor():
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 1.0, 3.0, 2.0, 9.0], "y": 9.0, "label": ["good"] * 6 + ["bad"]})
    table.loc[6, "y"] = 0.0
    row = pd.DataFrame({"x": [2.0], "y": [0.0]})
    for cuts in ([1], [3], [3, 5], [2, 2, 4]):
        found = fit_in_parts(cut(table, cuts), "label", is_worth, classes=["bad", "good"], optimize="none").explain(row)
        assert found.donors.tolist() == [2]


def test_loans_and_free_text_in_parts(loans, rows):
    X, y = loan_book(400)
    X = X.assign(note=[f"note {at % 350}" for at in range(400)], code=[f"{at % 100}" for at in range(400)])
    model = OnlySome(loans.model, list(loans.feature_names_in_))
    new = rows.drop(columns="customer").assign(note="mine", code="7")
    whole = NICE(model, search="greedy").fit(X, y)
    parts = fit_in_parts(cut(X.assign(label=y), [3, 3, 50, 300]), "label", model, sample=5)
    check_learned(parts.nice._fitted, whole._fitted)
    assert [column.name for column in parts.nice._fitted.schema.columns if column.is_free_text] == ["note"]
    found, expected = parts.explain(new), whole.explain(new)
    check_equal(found, expected)
    assert found.notes.tolist() == expected.notes.tolist()


def test_more_texts_than_are_looked_for_leave_the_answers_as_they_are(loans, rows, monkeypatch):
    monkeypatch.setattr("nicecf.engines.training_parts.MOST_LEVELS", 4)
    monkeypatch.setattr("nicecf.engines.on_cluster.MOST_LEVELS", 4)
    X, y = loan_book(300)
    X = X.assign(note=[f"note {at % 290}" for at in range(300)], code=[f"{at % 50}" for at in range(300)])
    model = OnlySome(loans.model, list(loans.feature_names_in_))
    new = rows.drop(columns="customer").assign(note="note 7", code=[f"{at % 60}" for at in range(len(rows))])
    whole = NICE(model, search="greedy").fit(X, y)
    parts = fit_in_parts(cut(X.assign(label=y), [100, 200]), "label", model, sample=5)
    assert len(parts.nice._fitted.schema.columns[-1].levels) < 50
    assert [column.name for column in parts.nice._fitted.schema.columns if column.is_free_text] == ["note"]
    found = parts.explain(new)
    check_equal(found, whole.explain(new))
    assert not any("code" in str(note) for note in found.notes)  # whether a code is new is not known


class OnlySome:
    """A model that does not look at all columns."""

    def __init__(self, model, names):
        self.model, self.names, self.classes_ = model, names, model.classes_

    def predict_proba(self, X):
        return self.model.predict_proba(X[self.names])


REFUSED = [
    ({"search": "thorough"}, "search='thorough' needs all training rows in one place.*Leave search='greedy'"),
    ({"scale": "std"}, "scale='std' needs all training rows in one place.*Use scale='range'"),
    ({"share_donor": False}, "share_donor=False needs all training rows"),
    ({"min_count": 5}, "min_count=5 needs all training rows"),
    ({"constraints": Constraints(derived={"y": "x + 1"})}, "derived, in constraints, needs all training rows"),
    ({"constraints": Constraints(groups="auto")}, "groups='auto', in constraints, needs.*Name the groups"),
    ({"optimise": "none"}, "optimise= is not an option of NICE. Did you mean 'optimize'?"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED, ids=lambda one: str(one)[:20])
def test_options_that_need_the_whole_table_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        checked_explainer(is_worth, options)


def test_columns_that_are_named_must_be_there():
    with pytest.raises(OptionError, match="label='labels' must be the name of one column.*Did you mean 'label'?"):
        checked_roles(["x", "label"], "labels", None, 10)
    with pytest.raises(OptionError, match="label and id are both 'label'"):
        checked_roles(["x", "label"], "label", "label", 10)
    with pytest.raises(SchemaError, match="no columns besides 'label'"):
        checked_roles(["label"], "label", None, 10)
    table = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 9.0], "label": ["bad", None]})
    with pytest.raises(SchemaError, match=r"1 training rows have no label in 'label'. Drop them"):
        fit_in_parts([table], "label", is_worth, classes=["bad", "good"])


def test_what_cannot_be_asked_of_a_cluster_is_refused(loans):
    X, y = loan_book(60)
    parts = fit_in_parts([X.assign(label=y)], "label", loans.model)
    for options in ({"time_budget": 1.0}, {"target_score": (0.5, None)}):
        with pytest.raises(OptionError, match="is not supported where training rows are on a cluster"):
            parts.explain(X, **options)
    with pytest.warns(SampleWarning, match="autoencoder of optimize='plausibility' was trained on a sample"):
        fit_in_parts([X.assign(label=y)], "label", loans.model, optimize="plausibility")
