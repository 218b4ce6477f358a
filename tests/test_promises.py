"""What is promised (docs/how_it_works.md), with models that take it literally: they read cells as text, or change."""

import zlib
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from markers import deep
from nicecf import NICE, Constraints, ModelError, OptionError, SchemaError, baselines
from nicecf.benchmark.loan_book import loan_book
from nicecf.models import scorer

RANDOM = np.random.default_rng(0)
N = 60


def of_text(X):
    """A model that tells -0.0 from 0.0, 1 from True and 1 from 1.0: it reads every cell as text."""
    if isinstance(X, pl.DataFrame):
        rows = X.rows()
    else:
        rows = (X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)).itertuples(index=False)
    p = np.array([zlib.crc32("|".join(map(str, row)).encode()) % 97 / 96 for row in rows])
    return np.column_stack([1 - p, p])


def drawn(*values, dtype=None):
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    cells = objects[RANDOM.integers(0, len(values), N)]
    return cells if dtype is None else cells.astype(dtype)


TABLES = {
    "zeros": pd.DataFrame({"a": drawn(0, 1, 2, dtype=int), "b": drawn(0.0, -0.0, 1.0, dtype=float)}),
    "zeros of an array": np.column_stack([drawn(0.0, -0.0, 1.0, dtype=float), drawn(-0.0, 2.0, dtype=float)]),
    "zeros of float32": pd.DataFrame({"a": drawn(0.0, -0.0, 1.5, dtype=np.float32), "b": drawn("x", "y")}),
    "nullable zeros": pd.DataFrame({"a": pd.array(drawn(0.0, -0.0, 1.0, dtype=float), "Float64"), "b": drawn("x", "y")}),
    "zeros of polars": pl.DataFrame({"a": drawn(0.0, -0.0, 1.0, dtype=float), "b": drawn(0.0, -0.0, dtype=float)}),
    "1 and True": pd.DataFrame({"a": drawn(1, True, 1.0, "x"), "b": drawn(0, False, None)}),
    "decimals": pd.DataFrame({"a": drawn(Decimal("1.0"), Decimal("1.00"), "x"), "b": drawn(1, 2, dtype=int)}),
    "1 and True of an array": np.column_stack([drawn(1, True, "x"), drawn(0.0, -0.0, "y")]),
    "whole numbers and booleans": pd.DataFrame({"a": drawn(1, 2, 3, dtype=int), "b": drawn(True, False, dtype=bool)}),
    "integers of polars": pl.DataFrame({"a": pl.Series(drawn(1, 2, 3, 4).tolist(), dtype=pl.Int128), "b": drawn(1, 2, dtype=int)}),
}  # fmt: skip
CATEGORICAL = {"zeros": ["b"], "zeros of an array": [0, 1], "zeros of polars": ["a"], "nullable zeros": ["a", "b"]}
SEARCHES = {
    "none": {"optimize": "none"},
    "sparsity": {"optimize": "sparsity", "search": "greedy"},
    "proximity": {"optimize": "proximity", "search": "greedy"},
    "default": {},
    "thorough": {"search": "thorough", "plausibility": lambda X: np.zeros(len(X))},
    "no training row": {"optimize": "none", "share_donor": False},
}


def cells_of(table):
    return [list(map(repr, row)) for row in (table.rows() if isinstance(table, pl.DataFrame) else table.to_numpy(dtype=object))]  # fmt: skip


def check_literally(X, cfs):
    """The model is asked about the rows as they are handed out; cells that are no change are the row's own."""
    found = cfs[cfs.found]
    assert len(found) > N / 2
    for frame in (found.to_frame(), cfs.to_frame()):
        table = frame.filter(pl.Series(cfs.found)) if isinstance(frame, pl.DataFrame) and len(frame) > len(found) else frame  # fmt: skip
        table = table[cfs.found] if isinstance(table, pd.DataFrame) and len(table) > len(found) else table
        assert np.array_equal(of_text(table).argmax(axis=1), found.predicted_after)
        assert np.allclose(of_text(table).max(axis=1), found.probability)
    changes = found.changes()
    changed = set(zip(changes["row"], changes["feature"], strict=True))
    rows = X if not isinstance(X, np.ndarray) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    rows = rows.filter(pl.Series(cfs.found)) if isinstance(rows, pl.DataFrame) else rows[cfs.found]
    before, after, names = cells_of(rows), cells_of(found.to_frame()), list(rows.columns)
    for row, (own, new) in zip(np.flatnonzero(cfs.found), zip(before, after, strict=True), strict=True):
        for name, cell, other in zip(names, own, new, strict=True):
            assert cell == other or (row, name) in changed


@pytest.mark.parametrize("search", ["none", "sparsity", "proximity", "thorough"])
@pytest.mark.parametrize("name", TABLES)
def test_the_model_is_asked_about_exactly_what_is_handed_out(name, search):
    X = TABLES[name]
    categorical = "auto" if not isinstance(X, np.ndarray) or X.dtype != object else [0, 1]
    for kinds in (categorical, CATEGORICAL.get(name, categorical)):
        nice = NICE(of_text, classes=[0, 1], justified=False, categorical_features=kinds, **SEARCHES[search]).fit(X)
        check_literally(X, nice.explain(X))


@pytest.mark.parametrize(
    ("baseline", "options"),
    [(baselines.WIT, {}), (baselines.CBR, {}), (baselines.SEDC, {}), (baselines.GeCo, {"max_generations": 8})],
)
def test_baselines_too(baseline, options):
    X = TABLES["zeros"]
    cfs = baseline(of_text, classes=[0, 1], **options).fit(X).explain(X)
    found = cfs[cfs.found]
    assert len(found)
    assert np.array_equal(of_text(found.to_frame()).argmax(axis=1), found.predicted_after)


def test_a_row_without_an_answer_leaves_the_others_as_they_are():
    X = pd.DataFrame({"a": [1, 2, 3, 4], "b": [True, False, True, False], "c": np.array([1, 2, 1, 2], dtype=np.uint8)})
    X["d"] = [0.5, 1.5, 2.5, 3.5]
    model = lambda X: np.column_stack([X["a"] < 3, X["a"] >= 3]).astype(float)
    cfs = NICE(model, classes=[0, 1], justified=False).fit(X).explain(X, target_class=1, constraints=[None, Constraints(immutable=["a"]), None, None])  # fmt: skip
    assert cfs.found.tolist() == [True, False, True, True]
    frame = cfs.to_frame()
    assert frame.dtypes.astype(str).tolist() == ["Int64", "boolean", "UInt8", "float64"]
    assert frame.iloc[1].isna().all()
    assert [str(cell) for cell in frame.iloc[0]] == [str(cell) for cell in cfs[0].to_frame().iloc[0]]
    assert cfs[cfs.found].to_frame().dtypes.equals(X.dtypes)

    numbers = X[["a", "c"]].to_numpy()
    model = lambda X: np.column_stack([X[:, 0] < 3, X[:, 0] >= 3]).astype(float)
    cfs = NICE(model, classes=[0, 1], justified=False).fit(numbers).explain(numbers, target_class=1, constraints=[None, Constraints(immutable=[0]), None, None])  # fmt: skip
    assert list(map(type, cfs.to_numpy()[0])) == [int, int]
    assert cfs.to_frame().dtypes.astype(str).tolist() == ["Int64", "Int64"]
    assert cfs[cfs.found].to_numpy().dtype == numbers.dtype


class Retrained:
    """A model whose answers move for some rows, but never for the first training row of each class."""

    classes_ = np.array([0, 1])

    def __init__(self, X, by):
        self.kept = {tuple(row) for row in X[[0, np.argmax(X[:, 0] > 0.5)]].tolist()}
        self.by = by
        self.is_retrained = False

    def predict_proba(self, X):
        p = np.clip(X[:, 0], 0.0, 1.0)
        if self.is_retrained:
            p = np.where([tuple(row) in self.kept for row in X.tolist()], p, self.by(p))
        return np.column_stack([1 - p, p])


def retrained(by, **options):
    X = RANDOM.random((200, 3))
    model = Retrained(X, by)
    nice = NICE(model, justified=False, **options).fit(X)
    rows = RANDOM.random((100, 3))
    model.is_retrained = True
    return model, nice, rows


@pytest.mark.parametrize("search", SEARCHES)
def test_a_model_that_was_trained_again_is_noticed_by_the_donors_that_are_used(search):
    _, nice, rows = retrained(lambda p: 1 - p, **SEARCHES[search])
    for some in (rows, rows[:1]):
        with pytest.raises(ModelError, match="the model is not the one that fit saw: for training row"):
            nice.explain(some)


@pytest.mark.parametrize("search", SEARCHES)
def test_an_output_that_moves_by_more_than_1e_6_is_noticed_and_one_that_moves_less_is_not(search):
    _, nice, rows = retrained(lambda p: p + 2e-6 * (p < 0.9), **SEARCHES[search])
    with pytest.raises(ModelError, match=r"up to 1e-06 count as rounding"):
        nice.explain(rows)
    model, nice, rows = retrained(lambda p: p - 5e-7 * (p > 0.1), **SEARCHES[search])
    cfs = nice.explain(rows)
    assert cfs.found.all()
    assert np.array_equal(model.predict_proba(cfs.to_numpy()).argmax(axis=1), cfs.predicted_after)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_donor_that_crosses_the_line_by_rounding_gives_way_to_the_next(search):
    X = np.array([[0.1], [0.9], [0.5 + 1e-7], [0.7], [0.2]])
    model = Retrained(X, lambda p: np.where(np.abs(p - 0.5) < 1e-6, 0.5 - 1e-7, p))
    nice = NICE(model, justified=False, **SEARCHES[search] | {"share_donor": True}).fit(X)
    model.is_retrained = True
    assert nice.explain(np.array([[0.3]])).to_numpy().tolist() == [[0.7]]


def test_a_single_row_costs_one_call_and_its_donors_ride_along(monkeypatch):
    monkeypatch.setattr(scorer.Cost, "rows_worth_a_call", 1000)  # of a model whose calls are slow
    X = RANDOM.random((50, 3))
    calls = []

    def model(X):
        calls.append(len(X))
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    nice = NICE(model, classes=[0, 1], justified=False, optimize="none").fit(X)
    calls.clear()
    cfs = nice.explain(RANDOM.random((1, 3)))
    assert calls == [cfs.model_rows]
    assert cfs.model_rows <= 5  # the row, two witnesses, two donors that it may turn out to have
    calls.clear()
    nice.explain(RANDOM.random((400, 3)))
    assert len(calls) == 2  # for the rows, and for their donors


@pytest.mark.parametrize(("n_rows", "at_least"), [(20, 3), *deep((100, 20))])
def test_thorough_finds_what_greedy_finds_however_few_neighbors_it_has(n_rows, at_least):
    X, y = loan_book(600)
    numbers = X.select_dtypes("number").fillna(0)
    model = RandomForestClassifier(20, random_state=0).fit(numbers, y)
    rules = Constraints(max_changes=1)
    found = {}
    for search in ("greedy", "thorough"):
        options = {"search": search, "neighbors": 1, "plausibility": lambda X: np.zeros(len(X))}
        found[search] = NICE(model, **options).fit(numbers, y).explain(numbers.iloc[:n_rows], constraints=rules).found
    assert found["greedy"].sum() > at_least
    assert not (found["greedy"] & ~found["thorough"]).any()


def test_a_series_of_targets_is_aligned_by_its_labels():
    X = pd.DataFrame({"a": np.arange(12.0)}, index=list("abcdefghijkl"))
    model = lambda X: np.column_stack([X["a"] < 4, (X["a"] >= 4) & (X["a"] < 8), X["a"] >= 8]).astype(float)
    nice = NICE(model, classes=[0, 1, 2], justified=False).fit(X)
    targets = pd.Series([1, 2, 1, 2], index=["a", "b", "c", "d"])
    expected = nice.explain(X.iloc[:4], target_class=targets.to_numpy()).to_frame()
    cfs = nice.explain(X.iloc[:4], target_class=targets.iloc[::-1])
    assert cfs.to_frame().equals(expected)
    assert [record["call"]["target_class"] for record in cfs.to_records()] == [1, 2, 1, 2]
    assert nice.explain(X.iloc[:2], target_class=targets).to_frame().equals(expected.iloc[:2])
    for wrong in (targets.iloc[:3], targets.set_axis(["a", "a", "b", "c"])):
        with pytest.raises(OptionError, match="target_class is a Series whose labels are not those of the rows"):
            nice.explain(X.iloc[:4], target_class=wrong)


@pytest.mark.parametrize("make", [lambda X: X, lambda X: pd.DataFrame(X, columns=["a", "b"])])
def test_numbers_with_more_digits_than_a_float_are_refused(make):
    X = make(np.arange(12, dtype=np.longdouble).reshape(6, 2))
    model = lambda X: np.full((len(X), 2), 0.5)
    with pytest.raises(SchemaError, match="whose digits float64 cannot hold"):
        NICE(model, classes=[0, 1], justified=False).fit(X)
    nice = NICE(model, classes=[0, 1], justified=False).fit(make(np.zeros((6, 2))))
    with pytest.raises(SchemaError, match="whose digits float64 cannot hold"):
        nice.explain(X)


def test_text_keeps_its_width():
    X = np.array([["short", "x"], ["a long text", "y"], ["mid", "x"]], dtype="<U12")
    model = lambda X: np.column_stack([X[:, 1] == "x", X[:, 1] != "x"]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, categorical_features=[0, 1]).fit(X)
    assert nice.explain(X[[0]]).to_numpy().dtype == X.dtype


@pytest.mark.parametrize("dtype", [float, object])
def test_a_category_of_an_array_that_becomes_missing_in_every_row(dtype):
    X = np.array([[1.0, 5.0], [np.nan, 6.0], [1.0, 5.0]]).astype(dtype)
    model = lambda X: np.column_stack([~pd.isna(X[:, 0]), pd.isna(X[:, 0])]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, categorical_features=[0]).fit(X)
    cfs = nice.explain(X[[0, 2]])
    assert pd.isna(cfs.to_numpy()[:, 0]).all()
    assert cfs.to_numpy()[:, 1].tolist() == [5.0, 5.0]


METHODS = [NICE, *(one for one in baselines.ALL if one not in (baselines.DiCE, baselines.CFproto))]


@pytest.mark.parametrize("method", METHODS)
def test_a_table_without_rows_gives_an_empty_result_and_asks_the_model_nothing(method):
    X = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) % 3})
    model = lambda X: np.column_stack([X["a"] < 4, X["a"] >= 4]).astype(float)
    cfs = method(model, classes=[0, 1]).fit(X, (X["a"] >= 4).astype(int)).explain(X[X["a"] > 99])
    assert len(cfs) == cfs.model_calls == cfs.model_rows == 0
    assert cfs.to_frame().equals(X.iloc[:0])
    assert cfs.changes().empty
    assert cfs.metrics().empty
    assert cfs.texts() == cfs.to_records() == list(cfs) == []
    assert "0 rows" in repr(cfs)
    assert "0 rows" in cfs._repr_html_()
    assert "<html" in cfs.to_html()
    assert len(repr(cfs.summary())) > 0


@pytest.mark.parametrize("options", [{"constraints": []}, {"target_class": np.array([], dtype=object)}, {"time_budget": 1}])  # fmt: skip
def test_a_table_without_rows_under_options_of_the_call(options):
    X = np.arange(12.0)[:, None]
    model = lambda X: np.column_stack([X[:, 0] < 4, X[:, 0] >= 4]).astype(float)
    for search in SEARCHES.values():
        nice = NICE(model, classes=[0, 1], justified=False, **search).fit(X)
        assert len(nice.explain(X[:0], **options)) == 0


def by_table(table):
    def model(X):
        p = table[tuple(X.astype(int).T)]
        return np.column_stack([1 - p, p])

    return model


def test_a_guarded_row_gets_a_donor_through_its_rules_that_is_no_training_row():
    table = np.array([[0.2, 0.9, 0.4], [0.3, 0.8, 0.4]])
    rules = Constraints(immutable=[0])
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    nice = NICE(by_table(table), classes=[0, 1], justified=False, share_donor=False, constraints=rules).fit(X)
    assert nice.explain(np.array([[1.0, 2.0]])).to_numpy().tolist() == [[1.0, 1.0]]


def test_thorough_is_no_worse_than_greedy_where_training_rows_are_kept_back():
    options = {"classes": [0, 1], "justified": False, "share_donor": False, "plausibility": lambda X: X.sum(axis=1)}
    model = by_table(np.array([[0.98, 0.7, 0.67], [0.54, 0.49, 0.66], [0.55, 0.87, 0.92]]))
    X, row = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]]), np.array([[1.0, 1.0]])
    for search in ({"search": "greedy"}, {"search": "thorough", "neighbors": 2}):
        assert NICE(model, **search, **options).fit(X).explain(row).found.all()
    model = by_table(np.array([[0.93, 0.93, 0.47], [0.71, 0.14, 0.17], [0.77, 0.39, 0.82]]))
    X, row = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [2.0, 0.0]]), np.array([[0.0, 2.0]])
    for search in ({"search": "greedy"}, {"search": "thorough", "neighbors": 2}):
        cfs = NICE(model, optimize="proximity", **search, **options).fit(X).explain(row)
        assert cfs.metrics()["proximity"].tolist() == [1.0]


def test_a_value_of_another_sort_is_refused_in_any_company():
    X = pd.DataFrame({"a": pd.Series(["x", "y"] * 2, dtype=object), "b": [0.0, 1.0, 2.0, 3.0]})
    model = lambda X: np.column_stack([X["b"] < 1.5, X["b"] >= 1.5]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False).fit(X)
    rows = pd.DataFrame({"a": pd.Series(["x", 77], dtype=object), "b": [0.0, 0.0]})
    for some in (rows, rows[1:]):
        with pytest.raises(SchemaError, match=r"column 'a' held text .* but now holds numbers \(such as 77\)"):
            nice.explain(some)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "int64[pyarrow]", "polars"])
def test_a_negative_zero_is_not_lost_in_rows_of_whole_numbers(dtype):
    make = pl.DataFrame if dtype == "polars" else pd.DataFrame
    X = make({"a": [-0.0, 1.0, 2.0, -0.0]})
    rows = make({"a": [1, 2]}) if dtype == "polars" else pd.DataFrame({"a": [1, 2]}).astype(dtype)

    def model(X):
        p = np.signbit(np.asarray(X["a"], dtype=float)).astype(float)
        return np.column_stack([1 - p, p])

    cfs = NICE(model, classes=[0, 1], justified=False).fit(X).explain(rows)
    assert model(cfs.to_frame()).argmax(axis=1).tolist() == [1, 1]


def test_balanced_without_its_reference_is_sparsity():
    model = by_table(np.array([[0.93, 0.93, 0.47], [0.71, 0.14, 0.17], [0.77, 0.39, 0.82]]))
    X, row = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [2.0, 0.0]]), np.array([[0.0, 2.0]])
    options = {"classes": [0, 1], "justified": False, "share_donor": False, "plausibility": lambda X: X.sum(axis=1)}
    cfs = NICE(model, optimize="balanced", search="thorough", **options).fit(X).explain(row)
    assert cfs.metrics()["proximity"].tolist() == [1.0]
