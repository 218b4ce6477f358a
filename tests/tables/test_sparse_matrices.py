"""Sparse matrices of scipy: read once, handed to the model as CSR, and back in the format they came in."""

import pickle

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from markers import deep
from nicecf import NICE, Constraints, OptionError, SchemaError, baselines, replay, suggest_rules
from nicecf.metrics import Reference, proximity, sparsity
from nicecf.search import first_candidates
from nicecf.tables import sparse_matrices
from nicecf.tables.schema import Schema
from nicecf.testing import assert_same
from saved_files import assert_comes_back

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


def texts(n_rows=150, n_words=40, seed=0, share=0.15):
    """Like the weights of words in texts: most of them 0."""
    random = np.random.default_rng(seed)
    weights = np.round(random.random((n_rows, n_words)), 2) + 0.01
    dense = np.where(random.random((n_rows, n_words)) < share, weights, 0.0)
    return dense, (dense @ random.normal(size=n_words) > 0).astype(int)


DENSE, Y = texts()
ROWS = texts(seed=1)[0][:20]
MODEL = LogisticRegression(C=100).fit(sparse.csr_matrix(DENSE), Y)


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array], ids=["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_answers_are_those_of_the_dense_table_in_the_format_of_the_rows(form, make, search):
    X, rows = make(DENSE).asformat(form), make(ROWS).asformat(form)
    before = rows.copy()
    cfs = NICE(MODEL, search=search).fit(X, Y).explain(rows)
    dense = NICE(MODEL, search=search).fit(DENSE, Y).explain(ROWS)
    found = cfs.to_frame()
    assert (type(found), found.format, found.dtype) == (type(rows), form, rows.dtype)
    assert np.array_equal(found.toarray(), dense.to_numpy())
    assert np.array_equal(cfs.to_numpy(), dense.to_numpy())
    # Products of sparse matrices are added up in another order.
    assert cfs.changes().round(9).equals(dense.changes().round(9))
    assert cfs.texts() == dense.texts()
    assert (MODEL.predict(found) != MODEL.predict(rows)).all()
    assert (before != rows).nnz == 0
    assert sparse.csr_array(found).nnz == np.count_nonzero(cfs.to_numpy())


@pytest.mark.parametrize("make", [sparse.csc_matrix, sparse.coo_array], ids=["matrix", "array"])
def test_the_model_is_handed_csr_of_the_class_and_dtype_of_fit(make):
    asked = []

    def model(X):
        asked.append((type(X), X.dtype))
        assert not (X.data == 0).any()
        return MODEL.predict_proba(X)

    NICE(model).fit(make(DENSE.astype(np.float32)), Y).explain(make(ROWS.astype(np.float32)))
    expected = sparse.csr_matrix if make is sparse.csc_matrix else sparse.csr_array
    assert set(asked) == {(expected, np.dtype(np.float32))}


@pytest.mark.parametrize(
    "model",
    [
        XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
        LGBMClassifier(n_estimators=8, min_child_samples=2, verbose=-1, n_jobs=1),
        RandomForestClassifier(8, random_state=0),
    ],
    ids=["XGBoost", "LightGBM", "forest"],
)
@pytest.mark.parametrize("accelerate", [None, False])
def test_trees_on_csr_whatever_an_absent_cell_is_to_them(model, accelerate):
    X, rows = sparse.csr_matrix(DENSE), sparse.csr_matrix(ROWS)
    model.fit(X, Y)
    cfs = NICE(model, accelerate=accelerate).fit(X, Y).explain(rows)
    found = cfs.to_frame()
    assert cfs.found.all()
    assert (model.predict(found) != model.predict(rows)).all()
    assert cfs.probability == pytest.approx(model.predict_proba(found).max(axis=1), abs=1e-6)


def test_a_twin_of_xgboost_reads_absent_cells_as_missing():
    X = sparse.csr_matrix(DENSE)
    model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, Y)
    fast = NICE(model, accelerate=True).fit(X, Y).explain(sparse.csr_matrix(ROWS))
    assert_same(fast, NICE(model, accelerate=False).fit(X, Y).explain(sparse.csr_matrix(ROWS)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("form", ["csr", "coo"])
def test_dtypes_are_kept_and_rows_without_a_counterfactual_are_missing(dtype, form):
    whole = (DENSE > 0).astype(dtype)
    X = sparse.csr_array(whole).asformat(form)
    model = lambda X: np.column_stack([1 - X.toarray()[:, 0], X.toarray()[:, 0]]).astype(float)
    y = whole[:, 0].astype(int)
    rules = [Constraints(immutable=["x0"]) if at == 1 else None for at in range(4)]
    cfs = NICE(model).fit(X, y).explain(X.tocsr()[:4].asformat(form), constraints=rules)
    assert cfs.found.tolist() == [True, False, True, True]
    found = cfs[cfs.found].to_frame()
    assert (found.dtype, found.format) == (np.dtype(dtype), form)
    everyone = cfs.to_frame()
    assert everyone.format == form
    assert np.isnan(everyone.toarray()[1]).all()
    assert np.array_equal(everyone.toarray()[[0, 2, 3]], found.toarray())


def test_missing_numbers_are_stored_as_nan():
    dense = DENSE.copy()
    dense[::5, 0] = np.nan
    model = XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1).fit(sparse.csr_matrix(dense), Y)
    cfs = NICE(model).fit(sparse.csr_matrix(dense), Y).explain(sparse.csr_matrix(dense[:10]))
    assert (model.predict(cfs.to_frame()) != model.predict(sparse.csr_matrix(dense[:10])))[cfs.found].all()


def test_values_given_twice_are_added_up_as_everywhere():
    once = sparse.coo_array(ROWS)
    twice = sparse.coo_array((np.r_[once.data / 2, once.data / 2], tuple(np.r_[c, c] for c in once.coords)), once.shape)
    schema, _ = Schema.of(sparse.csr_array(DENSE))
    np.testing.assert_array_equal(schema.encode(twice)[0], ROWS)
    column = sparse_matrices.SparseMatrices().column(twice, 3)
    np.testing.assert_array_equal(column, ROWS[:, 3])


def with_zero():
    X = sparse.csr_matrix(DENSE)
    X.data[3] = 0.0
    return X


@pytest.mark.parametrize(
    ("X", "options", "error", "message"),
    [
        (with_zero(), {}, SchemaError, r"X stores 1 zeros explicitly\. Some models tell them .* Call X\.eliminate_zeros\(\) first"),
        (with_zero().tocoo(), {}, SchemaError, r"Call X\.eliminate_zeros\(\)"),
        (sparse.csr_matrix(DENSE.astype(complex)), {}, SchemaError, "dtype complex128, which a distance between rows cannot use"),
        (sparse.csr_matrix(DENSE.astype(np.longdouble)), {}, SchemaError, "whose digits float64 cannot hold"),
        (sparse.csr_matrix(np.where(DENSE > 0.9, np.inf, DENSE)), {}, SchemaError, "holds an infinite value"),
        (sparse.csr_matrix(np.full((150, 1), 2**53 + 1)), {}, SchemaError, "an integer that a float cannot hold exactly"),
        (sparse.csr_matrix(DENSE), {"categorical_features": [1]}, OptionError, "categorical_features names 'x1', but X is a scipy sparse matrix, whose columns are all numbers"),
        (sparse.coo_array(DENSE[0]), {}, SchemaError, r"got a sparse array of shape \(40,\). Pass one row as X.reshape\(1, -1\)"),
        (sparse.csr_matrix((0, 40)), {}, SchemaError, "X has no rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(X, options, error, message):
    with pytest.raises(error, match=message):
        NICE(MODEL, **options).fit(X, Y)


def test_a_table_that_would_not_fit_into_memory_is_refused_with_its_size():
    X = sparse.csr_matrix((200_000, 100_000))
    message = (
        "X has 200,000 rows and 100,000 columns: .* that is 149.0 GiB, and the limit is 4 GiB. Pass fewer rows "
        r"\(at most 5,368 of so many columns"
    )
    with pytest.raises(SchemaError, match=message):
        NICE(MODEL).fit(X, np.zeros(200_000))


def test_rows_must_come_in_the_container_of_fit():
    nice = NICE(MODEL).fit(sparse.csr_matrix(DENSE), Y)
    with pytest.raises(SchemaError, match="fit got a scipy sparse matrix, but this is a numpy array"):
        nice.explain(ROWS)
    with pytest.raises(SchemaError, match="fit got a numpy array, but this is a scipy sparse matrix"):
        NICE(MODEL).fit(DENSE, Y).explain(sparse.csr_matrix(ROWS))
    with pytest.raises(SchemaError, match="X has 39 columns, but fit got 40"):
        nice.explain(sparse.csr_matrix(ROWS[:, 1:]))


@pytest.mark.deep
@pytest.mark.parametrize("make", [sparse.csr_matrix, *deep(sparse.csc_array)], ids=["matrix", "array"])
def test_it_is_saved_pickled_and_replayed(make, tmp_path):
    X, rows = make(DENSE), make(ROWS)
    nice = NICE(MODEL).fit(X, Y)
    again = assert_comes_back(nice, tmp_path, rows)
    assert type(again._fitted.schema.empty) is type(nice._fitted.schema.empty)
    assert_same(pickle.loads(pickle.dumps(nice)).explain(rows), nice.explain(rows))
    for one in nice.explain(rows)[:3]:
        assert replay(one.to_record(), again).differences == ()
    for guarded in (NICE(MODEL, min_count=2), NICE(MODEL, share_donor=False), NICE(MODEL, optimize="balanced")):
        assert_comes_back(guarded.fit(X, Y), tmp_path, rows)


def test_views_metrics_baselines_and_suggestions_take_them():
    X, rows = sparse.csc_matrix(DENSE), sparse.csc_matrix(ROWS)
    cfs = NICE(MODEL).fit(X, Y).explain(rows)
    cfs[0].plot()
    cfs.plot()
    assert "x" in cfs.to_html()
    assert cfs[0]._repr_html_()
    assert str(cfs.summary())
    assert cfs.pareto() is not None
    found = cfs.to_frame()
    assert sparsity(rows, found).tolist() == cfs.metrics()["sparsity"].tolist()
    assert proximity(rows, found, Reference.of(X)) == pytest.approx(cfs.metrics()["proximity"].to_numpy())
    assert suggest_rules(X, Y) is not None
    assert baselines.WIT(MODEL).fit(X, Y).explain(rows).found.all()


def test_rules_and_a_very_wide_table_of_which_not_every_change_is_tried(monkeypatch):
    X, rows = sparse.csr_matrix(DENSE), sparse.csr_matrix(ROWS)
    monkeypatch.setattr(first_candidates, "CELLS_TRIED", 40 * 30)
    monkeypatch.setattr("nicecf.search.mixed.CELLS_TRIED", 40 * 4)
    monkeypatch.setattr(first_candidates, "_SINGLE_CHANGES", 80)
    nice = NICE(MODEL, constraints=Constraints(increasing=["x0"], immutable=["x1"])).fit(X, Y)
    cfs = nice.explain(rows)
    assert cfs.found.all()
    assert (MODEL.predict(cfs.to_frame()) != MODEL.predict(rows)).all()
    for at in (0, 7, 19):  # as in a batch
        assert np.array_equal(nice.explain(rows[[at]]).to_numpy()[0], cfs.to_numpy()[at])
    greedy = nice.with_search(search="greedy").explain(rows)
    assert (cfs.metrics()["sparsity"] <= greedy.metrics()["sparsity"]).all()
