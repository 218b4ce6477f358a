"""A model that is a table, and the checks that every counterfactual algorithm must pass.

Public, so that others can test their own methods::

    @pytest.mark.parametrize("check", nicecf.testing.all_checks, ids=lambda check: check.__name__)
    def test_contract(check):
        check(lambda model: MyMethod(model))

For a method that takes only numbers: ``check(make, data=nicecf.testing.applicants_in_numbers)``.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from nicecf.exceptions import ModelError
from nicecf.explain.explainer import Method
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.rules.constraints import Constraints
from nicecf.support.types import Floats, Table

MakeMethod = Callable[[Any], Method]
MakeData = Callable[[], tuple[pd.DataFrame, "pd.Series[Any]"]]


class LookupModel:
    """A model with two classes that is a lookup table: the probability of class 1 for each row.

    >>> model = LookupModel({(0, "rent"): 0.25, (1, "own"): 0.75})
    >>> model.predict_proba(pd.DataFrame({"children": [1], "home": ["own"]})).tolist()
    [[0.25, 0.75]]
    """

    def __init__(self, probabilities: Mapping[tuple[Any, ...], float], *, default: float | None = None) -> None:
        self.probabilities = dict(probabilities)
        self.default = default
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: Table) -> Floats:
        """Probabilities of classes 0 and 1, one line per row."""
        return np.array([[1.0 - p, p] for p in map(self._probability, _tuples(X))])

    def predict(self, X: Table) -> Any:
        """The class with the higher probability; 0 on a tie."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _probability(self, row: tuple[Any, ...]) -> float:
        probability = self.probabilities.get(row, self.default)
        if probability is None:
            raise ModelError(f"LookupModel does not know the row {row}; add it, or pass default=.")
        return probability


class Scorecard:
    """A picklable model with three classes for the table of `applicants`: points per column, no training."""

    classes_ = np.array(["no", "perhaps", "yes"], dtype=object)

    def predict_proba(self, X: Table) -> Floats:
        """Probabilities of no, perhaps and yes."""
        age, income = (np.asarray(X[name], dtype=float) for name in ("age", "income"))
        points = np.nan_to_num(age, nan=30.0) / 20 + np.nan_to_num(income, nan=1.0) - 3.5
        if "home" in X.columns:
            points = points + np.array([{"own": 1.5, "rent": -0.5}.get(one, 0.0) for one in X["home"]])
            points = points + np.array([1.0 if one else 0.0 for one in X["guarantor"]])
        if "customer_since" in X.columns:
            years = (pd.Timestamp("2024-06-01") - pd.to_datetime(X["customer_since"])) / pd.Timedelta(days=365)
            waited = X["waited"] / pd.Timedelta(days=30)
            points = points + np.nan_to_num(years.to_numpy(dtype=float), nan=1.0) / 2 - waited.to_numpy(dtype=float)
        logits = np.column_stack([-points, np.full(len(points), 0.4), points])
        weights = expit(logits) + 1e-3
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, X: Table) -> Any:
        """The class with the highest probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def applicants(n_rows: int = 120, *, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """A small mixed table with ties, missing values and its own index, and labels with some noise."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 80, n_rows),
            "income": random.choice([0.5, 1.0, 1.5, 2.0, 3.0, np.nan], n_rows),
            "home": pd.Categorical(random.choice(["own", "rent", "other"], n_rows), ["other", "own", "rent"]),
            "guarantor": random.random(n_rows) < 0.3,
            "children": pd.array(random.choice([0, 1, 2], n_rows), dtype="Int64"),
            "city": random.choice(["Aalst", "Brugge", "Gent"], n_rows),
        },
        index=[f"applicant {i}" for i in range(n_rows)],
    )
    X.loc[X.index[::17], "children"] = pd.NA
    y = Scorecard().predict(X)
    noisy = random.random(n_rows) < 0.1
    y[noisy] = random.choice(Scorecard.classes_, int(noisy.sum()))
    return X, pd.Series(y, index=X.index, name="decision")


def applicants_in_numbers(n_rows: int = 120, *, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The same without its categorical columns, for algorithms that take only numbers."""
    X, y = applicants(n_rows, seed=seed)
    X = X[["age", "income", "children"]]
    decisions = Scorecard().predict(X)
    noisy = np.flatnonzero(y != Scorecard().predict(X))[::9]
    decisions[noisy] = y.to_numpy()[noisy]
    return X, pd.Series(decisions, index=X.index, name="decision")


def applicants_with_dates(n_rows: int = 120, *, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The numbers, a column of dates (Python objects, some missing) and one of durations."""
    X, _ = applicants_in_numbers(n_rows, seed=seed)
    random = np.random.default_rng(seed)
    days = pd.Timestamp("2018-01-01") + pd.to_timedelta(random.integers(0, 2000, n_rows), "D")
    since = pd.Series(days.date, index=X.index, dtype=object)
    X = X.assign(customer_since=since, waited=pd.to_timedelta(random.integers(0, 60, n_rows) * 12, "h"))
    X["customer_since"] = since.where(random.random(n_rows) > 0.1, None).astype(object)
    y = Scorecard().predict(X)
    noisy = random.random(n_rows) < 0.1
    y[noisy] = random.choice(Scorecard.classes_, int(noisy.sum()))
    return X, pd.Series(y, index=X.index, name="decision")


def check_found_rows_are_in_the_target(make: MakeMethod, data: MakeData = applicants) -> None:
    """The model's decision on what is returned is the target, for every kind of target."""
    X, y = data()
    model = Scorecard()
    method = make(model).fit(X, y)
    rows = X.iloc[:40]
    before = model.predict(rows)
    for target in ("other", "yes", ["no", "yes"], y.iloc[:40].to_numpy()):
        cfs = method.explain(rows, target_class=target)
        after = model.predict(cfs.to_frame()[cfs.found])
        assert len(cfs) == len(rows)
        assert (after == cfs.predicted_after[cfs.found]).all()
        if isinstance(target, str) and target == "other":
            assert (after != before[cfs.found]).all()
        elif isinstance(target, np.ndarray):
            assert (after == target[cfs.found]).all()
        else:
            assert np.isin(after, target).all()


def check_rows_without_a_counterfactual_say_why(make: MakeMethod, data: MakeData = applicants) -> None:
    """``found`` and ``reasons`` agree, and a row without a counterfactual is missing in the frame."""
    X, y = data()
    only_no = y[y == "no"].index
    cfs = make(Scorecard()).fit(X.loc[only_no], y[only_no]).explain(X.iloc[:30], target_class="yes")
    for found, reason in zip(cfs.found, cfs.reasons, strict=True):
        assert found == (reason is None)
        assert found or "yes" in reason
    assert cfs.to_frame()[~cfs.found].isna().all(axis=None)


def check_rows_in_the_target_stay_as_they_are(make: MakeMethod, data: MakeData = applicants) -> None:
    """A row that is already in a named target is found, without changes."""
    X, y = data()
    cfs = make(Scorecard()).fit(X, y).explain(X, target_class="yes")
    already = cfs.predicted == "yes"
    assert already.any()
    assert cfs.found[already].all()
    assert (cfs.metrics()["sparsity"][already] == 0).all()
    pd.testing.assert_frame_equal(cfs[already].to_frame(), X[already])


def check_types_order_and_index_are_kept(make: MakeMethod, data: MakeData = applicants) -> None:
    """The result has the columns, order, dtypes, categories and index of the input."""
    X, y = data()
    rows = X[X.columns[::-1]].iloc[5:25]
    cfs = make(Scorecard()).fit(X, y).explain(rows)
    frame = cfs[cfs.found].to_frame()
    assert list(frame.columns) == list(rows.columns)
    assert frame.dtypes.equals(rows.dtypes)
    assert frame.index.equals(rows.index[cfs.found])


def check_changes_are_the_differences(make: MakeMethod, data: MakeData = applicants) -> None:
    """``changes`` lists exactly the cells in which row and counterfactual differ."""
    X, y = data()
    cfs = make(Scorecard()).fit(X, y).explain(X.iloc[:20])
    frame, listed = cfs.to_frame(), {(c.row, c.feature) for c in cfs.changes().itertuples()}
    found = cfs.found
    for label, before, after in zip(frame.index[found], X.iloc[:20][found].itertuples(index=False),
                                    frame[found].itertuples(index=False), strict=True):  # fmt: skip
        for feature, one, other in zip(X.columns, before, after, strict=True):
            same = (
                one is other
                or (pd.isna(one) and pd.isna(other))
                or (not pd.isna(one) and not pd.isna(other) and one == other)
            )
            assert same != ((label, feature) in listed)
    changes = cfs.changes()
    own = changes[~changes["derived"]] if "derived" in changes else changes  # what follows from changes is none
    assert (
        np.asarray(cfs.metrics()["sparsity"][found], dtype=int)
        == own.groupby("row").size().reindex(frame.index[found], fill_value=0)
    ).all()


def check_inputs_are_untouched(make: MakeMethod, data: MakeData = applicants) -> None:
    """Training data and rows to explain are never modified, nor is the result through a returned frame."""
    X, y = data()
    before_X, before_y = X.copy(deep=True), y.copy(deep=True)
    rows = X.iloc[:10]
    cfs = make(Scorecard()).fit(X, y).explain(rows)
    handed_out = cfs.to_frame()
    handed_out.loc[:, "age"] = -1
    assert (cfs.to_frame()["age"] != -1).all()
    pd.testing.assert_frame_equal(X, before_X)
    pd.testing.assert_series_equal(y, before_y)
    pd.testing.assert_frame_equal(rows, before_X.iloc[:10])


def check_the_same_input_gives_the_same_answer(make: MakeMethod, data: MakeData = applicants) -> None:
    """A second call, a second fit and a clone all give the same answer."""
    X, y = data()
    method = make(Scorecard())
    rows = X.iloc[:20]
    first = method.fit(X, y).explain(rows)
    assert_same(first, method.explain(rows))
    assert_same(first, make(Scorecard()).fit(X, y).explain(rows))
    assert_same(first, clone(method).fit(X, y).explain(rows))


def check_a_batch_equals_its_rows(make: MakeMethod, data: MakeData = applicants) -> None:
    """Explaining many rows gives the same as explaining each of them."""
    X, y = data()
    method = make(Scorecard()).fit(X, y)
    batch = method.explain(X.iloc[:15])
    for row in range(15):
        assert_same(batch[row : row + 1], method.explain(X.iloc[[row]]))


def check_threads_may_share_one_explainer(make: MakeMethod, data: MakeData = applicants) -> None:
    """Calls from many threads give the same as calls one after the other."""
    X, y = data()
    method = make(Scorecard()).fit(X, y)
    parts = [X.iloc[row : row + 4] for row in range(0, 30, 3)]
    as_before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # fifty times as often: few calls are enough for one thread to get in another's way
    try:
        with ThreadPoolExecutor(8) as pool:  # first: what an explainer remembers is not there yet
            together = list(pool.map(method.explain, parts))
    finally:
        sys.setswitchinterval(as_before)
    serial = [method.explain(part) for part in parts]
    for one, other in zip(serial, together, strict=True):
        assert_same(one, other)


def check_it_pickles(make: MakeMethod, data: MakeData = applicants) -> None:
    """A fitted explainer and its answers survive pickling."""
    X, y = data()
    method = make(Scorecard()).fit(X, y)
    cfs = method.explain(X.iloc[:10])
    assert_same(cfs, pickle.loads(pickle.dumps(method)).explain(X.iloc[:10]))
    assert_same(cfs, pickle.loads(pickle.dumps(cfs)))


def check_values_that_training_never_saw_are_noted(make: MakeMethod, data: MakeData = applicants) -> None:
    """A note names what no training row has (numbers outside the range, categories, missing values), and only that."""
    X, y = data()
    method = make(Scorecard()).fit(X, y)
    rows = X.iloc[:8].astype({"age": "Int64"})
    rows.iloc[[0, 1, 2], rows.columns.get_loc("age")] = [17, 99, pd.NA]
    rows.iloc[[1, 3], rows.columns.get_loc("children")] = [9, -1]
    if "city" in rows:
        rows.iloc[[3, 4], rows.columns.get_loc("city")] = ["Ieper", None]
    cfs = method.explain(rows)
    for row, note in zip(rows.index, cfs.notes, strict=True):
        for feature in rows:
            held, value = X[feature].dropna(), rows.loc[row, feature]
            if pd.isna(value):
                is_new = len(held) == len(X)
            elif pd.api.types.is_numeric_dtype(held) and not pd.api.types.is_bool_dtype(held):
                is_new = not held.min() <= value <= held.max()
            else:
                is_new = value not in set(held)
            assert is_new == (f"{feature!r} is " in (note or "")), (row, feature, note)


def check_rules_are_kept(make: MakeMethod) -> None:
    """No rule is broken, however rules are combined; rows without a counterfactual have a reason."""
    X, y = applicants()
    method: Any = make(Scorecard()).fit(X, y)
    rows = X.iloc[:40]
    rules = Constraints(
        immutable=["home"],
        increasing=["age"],
        ranges={"income": (1.0, 2.0)},
        allowed={"city": ["Gent"]},
        forbid={"guarantor": [(True, False)]},
        groups=[["children", "city"]],
        max_changes=3,
    )
    cfs = method.explain(rows, target_class="yes", constraints=rules)
    assert cfs.found.any()
    assert all(cfs.found == [reason is None for reason in cfs.reasons])
    before, after = rows[cfs.found], cfs[cfs.found].to_frame()
    changed = pd.DataFrame({name: ~_equal(before[name], after[name]) for name in rows})
    assert not changed["home"].any()
    assert (after["age"] >= before["age"]).all()
    assert after["income"][changed["income"]].between(1.0, 2.0).all()
    assert (after["city"][changed["city"]] == "Gent").all()
    assert not (before["guarantor"] & ~after["guarantor"]).any()
    assert (changed.sum(axis=1) <= 3).all()
    for row, changes in cfs[cfs.found].changes().groupby("row"):
        together = changes[changes["feature"].isin(["children", "city"])]
        for donor in together["donor"]:
            assert _equal(after.loc[row, ["children", "city"]], X.iloc[int(donor)][["children", "city"]]).all()


def check_relations_are_kept(make: MakeMethod) -> None:
    """Every answer keeps relations between columns; a row that breaks one itself says so."""
    X, y = applicants()
    method: Any = make(Scorecard()).fit(X, y)
    rules = Constraints(relations=["age - 30 >= 10 * children", 'home == "own" implies income >= 1.5'])

    def breaks(rows: pd.DataFrame) -> Any:
        too_young = (rows["age"] - 30 < 10 * rows["children"]).fillna(False).astype(bool)
        return (too_young | (rows["home"].eq("own") & rows["income"].lt(1.5))).to_numpy()

    rows = X.iloc[:60]
    cfs = method.explain(rows, target_class="yes", constraints=rules)
    is_asked = cfs.predicted != "yes"
    assert cfs.found[is_asked & ~breaks(rows)].any()
    assert not breaks(cfs.to_frame()[cfs.found & is_asked]).any()
    assert set(cfs.reason_kinds[is_asked & breaks(rows)]) == {"breaks_relation"}


def check_rules_per_row_equal_separate_calls(make: MakeMethod) -> None:
    """A list of rules, one per row, gives the same as each row with its rules."""
    X, y = applicants()
    method: Any = make(Scorecard()).fit(X, y)
    rows = X.iloc[:12]
    rules = [None, Constraints(immutable=["age"]), Constraints(increasing=["income"], max_changes=1)]
    of_rows = [rules[row % 3] for row in range(len(rows))]
    together = method.explain(rows, constraints=of_rows)
    for row, own in enumerate(of_rows):
        assert_same(together[row : row + 1], method.explain(rows.iloc[[row]], constraints=own))


def check_no_rules_change_nothing(make: MakeMethod) -> None:
    """Empty rules give the same as no rules."""
    X, y = applicants()
    method: Any = make(Scorecard()).fit(X, y)
    assert_same(method.explain(X.iloc[:25]), method.explain(X.iloc[:25], constraints=Constraints()))


def assert_same(one: Counterfactuals, other: Counterfactuals) -> None:
    """Two answers are equal: rows, reasons, donors and changes."""
    assert one.found.tolist() == other.found.tolist()
    assert one.reasons.tolist() == other.reasons.tolist()
    assert list(one.donors) == list(other.donors)
    for left, right in ((one.to_frame(), other.to_frame()), (one.changes(), other.changes())):
        if sparse.issparse(left):
            assert type(left) is type(right)
            np.testing.assert_array_equal(left.toarray(), right.toarray())
        elif not left.equals(right):  # the fast check first; the slow one says where they differ
            pd.testing.assert_frame_equal(left, right)


# For methods whose ``explain`` takes constraints.
rule_checks: list[Callable[[MakeMethod], None]] = [
    check_rules_are_kept,
    check_relations_are_kept,
    check_rules_per_row_equal_separate_calls,
    check_no_rules_change_nothing,
]

all_checks: list[Callable[..., None]] = [
    check_found_rows_are_in_the_target,
    check_rows_without_a_counterfactual_say_why,
    check_rows_in_the_target_stay_as_they_are,
    check_types_order_and_index_are_kept,
    check_changes_are_the_differences,
    check_inputs_are_untouched,
    check_the_same_input_gives_the_same_answer,
    check_a_batch_equals_its_rows,
    check_threads_may_share_one_explainer,
    check_it_pickles,
    check_values_that_training_never_saw_are_noted,
]


def _equal(one: Any, other: Any) -> Any:
    return (one == other).fillna(False).astype(bool) | (one.isna() & other.isna())


def _tuples(X: Table) -> list[tuple[Any, ...]]:
    return (
        list(X.itertuples(index=False, name=None))
        if isinstance(X, pd.DataFrame)
        else [*map(tuple, np.asarray(X).tolist())]
    )
