"""``explain_batches``: the same answers as ``explain``, lazily, in the types that came."""

import datetime as dt
import itertools
import re
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import skops.io

from nicecf import NICE, Constraints, FileError, ModelError, OptionError, SchemaError
from nicecf.engines import explain_batches, opened
from same_answers import arrow, check_same


def by_income(X):
    p = (np.asarray(X["income"], dtype=float) > 50).astype(float)
    return np.column_stack([1 - p, p])


@pytest.fixture(autouse=True)
def nothing_open():
    opened._open.clear()


def fitted(frame, model=by_income, **options):
    labels = np.where(frame["income"].astype(float) > 50, "yes", "no")
    return NICE(model, classes=["no", "yes"], search="greedy", **options).fit(frame, labels)


def people(**columns):
    return pd.DataFrame({"income": [10.0, 30.0, 60.0, 90.0], **columns})


def explained(nice, table, **options):
    return pa.Table.from_batches(explain_batches(nice, None, [table], **options))


def test_the_same_answers_as_explain(loans, rows, expected):
    check_same(explained(loans, arrow(rows), id="customer"), expected)


def test_batches_of_any_size_give_the_same_answers_in_the_order_of_the_rows(saved, loans, rows, expected):
    batch = arrow(rows)
    parts = [batch.slice(0, 50), batch.slice(50, 0), batch.slice(50, 1), pa.Table.from_batches([batch.slice(51)])]
    answers = list(explain_batches(saved, loans.model, parts, id="customer"))
    assert [one.num_rows for one in answers] == [50, 0, 1, 69]
    assert len({one.schema for one in answers}) == 1
    table = pa.Table.from_batches(answers)
    check_same(table, expected)
    assert table["customer"].to_pylist() == rows["customer"].tolist()


def test_rows_without_labels_are_numbered_through_the_stream(loans, rows):
    batch = arrow(rows)
    table = pa.Table.from_batches(explain_batches(loans, None, [batch.slice(0, 2), batch.slice(2, 3)]))
    assert table["row"].to_pylist() == [0, 1, 2, 3, 4]


def test_one_batch_is_pulled_when_one_is_asked_for(loans, rows):
    pulled = []

    def endless():
        for at in itertools.count():
            pulled.append(at)
            yield arrow(rows.iloc[:2])

    answers = explain_batches(loans, None, endless())
    assert pulled == []
    next(answers)
    next(answers)
    assert pulled == [0, 1]


def test_several_counterfactuals_are_numbered():
    X = people(home=["own", "rent", "own", "rent"])
    nice = NICE(by_income, classes=["no", "yes"]).fit(X, ["no", "no", "yes", "yes"])
    table = explained(nice, arrow(X), n_counterfactuals=2)
    cfs = nice.explain(X, n_counterfactuals=2)
    assert table["row"].to_pylist() == cfs.rows.tolist()
    assert table["counterfactual"].to_pylist() == cfs.batch.numbers.tolist()


TYPES = {
    "decimal128(12, 2)": (pa.decimal128(12, 2), [Decimal("10.25"), None], [10.25, 99.5]),
    "int64": (pa.int64(), [2**53 + 1, None, 7], [1.0, 3.0]),
    "int8": (pa.int8(), [5, None], [1.0, 3.0]),
    "uint16": (pa.uint16(), [5, None], [1.0, 3.0]),
    "float": (pa.float32(), [0.5, None], [0.25, 1.5]),
    "string": (pa.string(), ["b", None], ["a", "b"]),
    "large_string": (pa.large_string(), ["b", None], ["a", "b"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["b", None], ["a", "b"]),
    "ordered": (pa.dictionary(pa.int32(), pa.large_string(), ordered=True), ["b", None], pd.Categorical(["a", "b"], ordered=True)),
    "bool": (pa.bool_(), [True, None], [True, False]),
    "bool as int": (pa.int32(), [1, None], [True, False]),
    "numbers as categories": (pa.int64(), [3, None], pd.Categorical([1, 3])),
    "date32": (pa.date32(), [dt.date(2024, 3, 1), None], pd.to_datetime(["2024-01-01", "2024-02-01"])),
    "date64": (pa.date64(), [dt.date(2024, 3, 1), None], pd.Series([dt.date(2024, 1, 1), dt.date(2024, 2, 1)], dtype=object)),
    "timestamp": (pa.timestamp("ms"), [dt.datetime(2024, 3, 1, 12, 30), None], pd.to_datetime(["2024-01-01 06:00", "2024-02-01 00:00"])),
    "timestamp with a zone": (pa.timestamp("us", tz="Europe/Berlin"), [dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC), None], pd.to_datetime(["2024-01-01 06:00", "2024-02-01 00:00"]).tz_localize("UTC")),
    "duration": (pa.duration("s"), [dt.timedelta(hours=3), None], pd.to_timedelta(["1 day", "2 days"])),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_every_column_comes_back_in_the_type_in_which_it_came(kind):
    """A row that keeps its own value, a missing one among them, and a row that takes over a training value."""
    type, own, (low, high) = TYPES[kind]
    trained = pd.DataFrame({"income": [10.0, 30.0, 60.0, 90.0], "it": pd.Series([low, low, high, high])})
    trained["it"] = trained["it"].astype(
        TYPES[kind][2].dtype if hasattr(TYPES[kind][2], "dtype") else trained["it"].dtype
    )

    def by_both(X):
        p = (
            (np.asarray(X["income"], dtype=float) > 50) & (X["it"] == high).to_numpy(dtype=bool, na_value=False)
        ).astype(float)
        return np.column_stack([1 - p, p])

    nice = NICE(by_both, classes=["no", "yes"], search="greedy").fit(trained, ["no", "no", "yes", "yes"])
    given = pa.array(own, (pa.types.is_dictionary(type) and type.value_type) or type)
    given = given.dictionary_encode().cast(type) if pa.types.is_dictionary(type) else given
    if pa.types.is_dictionary(type):
        given = pa.DictionaryArray.from_arrays(given.indices, given.dictionary, ordered=type.ordered)
    batch = pa.RecordBatch.from_arrays([pa.array([60.0] * len(own)), given], ["income", "it"])
    table = explained(nice, batch, target_class="yes")
    assert table.schema.field("it").type == type
    found, values = table["found"].to_pylist(), table["it"].to_pylist()
    cfs_changed = [bool(one) for one in table["changes"].to_pylist()]
    assert any(found)
    assert any(cfs_changed)
    for was, becomes, is_found, is_changed in zip(given.to_pylist(), values, found, cfs_changed, strict=True):
        if is_found and not is_changed:
            assert becomes == was
        elif is_found:
            assert same(becomes, high)


def same(value, trained):
    if isinstance(value, dt.datetime) or isinstance(trained, pd.Timestamp):
        return pd.Timestamp(value) == pd.Timestamp(trained)
    return value == trained


def test_a_whole_number_that_nobody_changes_keeps_all_its_digits():
    X = people(number=pd.array([1, None, 2, 3], dtype="Int64"))
    batch = pa.RecordBatch.from_pydict({"income": pa.array([10.0, 20.0, 30.0]), "number": pa.array([2**53, None, 5])})
    assert explained(fitted(X), batch)["number"].to_pylist() == [2**53, None, 5]


def test_a_type_that_cannot_hold_what_training_has_becomes_a_wider_one():
    X = people(rate=[0.5, 0.1, 0.3, 0.7], day=pd.to_datetime(["2024-01-01 06:00"] * 4), nothing=["a", "b", "a", "b"])
    columns = {"income": pa.array([10], pa.int32()), "rate": pa.array([1], pa.int8()), "day": pa.array([dt.date(2024, 1, 1)]), "nothing": pa.nulls(1)}  # fmt: skip
    schema = explained(fitted(X), pa.RecordBatch.from_pydict(columns)).schema
    assert [schema.field(name).type for name in columns] == [pa.int32(), pa.float64(), pa.timestamp("us"), pa.string()]
    columns["rate"] = pa.array([1], pa.float32())
    assert explained(fitted(X), pa.RecordBatch.from_pydict(columns)).schema.field("rate").type == pa.float64()
    columns["rate"] = pa.array([Decimal("1.5")], pa.decimal128(3, 1))
    schema = explained(fitted(X), pa.RecordBatch.from_pydict(columns)).schema
    assert schema.field("rate").type == pa.decimal128(3, 1)


def test_a_counterfactual_that_its_column_cannot_hold_is_no_answer():
    """Whole numbers in training, but a column that follows from others gets values that no training row has."""
    X = people(people=[2.0, 3.0, 4.0, 9.0], share=[5.0, 10.0, 15.0, 10.0])
    nice = fitted(X, constraints=Constraints(derived={"share": "income / people"}))
    given = {"income": [14.0, 10.0], "people": [7.0, 2.0]}
    table = explained(nice, pa.RecordBatch.from_pydict(given | {"share": pa.array([2, 5], pa.int8())}))
    assert table.schema.field("share").type == pa.int8()
    assert table["found"].to_pylist() == [False, True]
    assert table["reason_kind"].to_pylist() == ["unholdable", None]
    said = "a counterfactual has 8.57[0-9]* in the column 'share', which its type int8 cannot hold. Cast the column to a wider type."
    assert re.fullmatch(said, table["reason"][0].as_py())
    assert table["changes"].to_pylist()[0] == []
    assert [table[name][0].as_py() for name in ("income", "share", "score_after", "decision_after")] == [None] * 4
    table = explained(nice, pa.RecordBatch.from_pydict(given | {"share": [2.0, 5.0]}))
    assert table["share"].to_pylist() == [60 / 7, 30.0]


def test_an_arrow_type_that_training_cannot_have_had_is_named_before_the_model_is_asked():
    calls = []

    def counted(X):
        calls.append(len(X))
        return by_income(X)

    nice = fitted(people(home=["own", "rent", "own", "rent"], day=pd.to_datetime(["2024-01-01"] * 4)), counted)
    given = {"income": [10.0], "home": ["own"], "day": pa.array([dt.datetime(2024, 1, 1)])}
    refusals = {
        "income": (pa.array(["10"]), "column 'income' has the type string, but held numbers when fit saw it, which needs a type of numbers, such as int64, double or decimal. Cast the column before."),
        "home": (pa.array([1]), "column 'home' has the type int64, but held text when fit saw it, which needs text"),
        "day": (pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us", tz="UTC")), r"column 'day' has the type timestamp\[us, tz=UTC\], but held dates.* needs a date, or a timestamp without a time zone. Cast the column before \(in Spark: timestamp_ntz\)"),
    }  # fmt: skip
    calls.clear()
    for name, (array, said) in refusals.items():
        with pytest.raises(SchemaError, match=said):
            explained(nice, pa.RecordBatch.from_pydict(given | {name: array}))
    with pytest.raises(SchemaError, match=r"column 'income' has the type list<"):
        explained(nice, pa.RecordBatch.from_pydict(given | {"income": pa.array([[1.0]])}))
    with pytest.raises(
        SchemaError,
        match="the rows have no column 'income', which the explainer needs; their columns are 'incme', 'home', 'day'. Did you mean 'incme'?",
    ):
        explained(nice, pa.RecordBatch.from_pydict({"incme": [1.0], "home": ["own"], "day": given["day"]}))
    assert calls == []


def test_columns_that_training_did_not_have_are_left_out_in_any_order(loans, rows, expected):
    shuffled = rows[rows.columns[::-1]].assign(more=[[1]] * len(rows), found=True)
    check_same(explained(loans, arrow(shuffled), id="customer"), expected)


def test_names_that_are_taken_get_a_prefix():
    X = people(found=["a", "b", "a", "b"])
    table = explained(fitted(X), arrow(X), id="income")
    assert table.column_names[0] == "income"
    assert table.column_names[-2:] == ["cf_income", "cf_found"]
    assert table["income"].to_pylist() == X["income"].tolist()


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("custommer", "id='custommer', but the rows have no column 'custommer'; their columns are .* Did you mean 'customer'?"),
        (3, "id must be the name of a column, got int"),
        ("found", "id='found' is also the name of a column of the answers. Rename"),
    ],
)  # fmt: skip
def test_an_id_that_is_not_there_is_an_error(loans, rows, id, said):
    with pytest.raises(OptionError, match=said):
        explained(loans, arrow(rows.assign(found=1)), id=id)


def test_a_bad_cell_is_the_reason_of_its_row_and_of_no_other():
    levels = pd.Categorical(["low", "high", "high", "low"], categories=["low", "high"], ordered=True)
    nice = fitted(people(level=levels))
    batch = pa.RecordBatch.from_pydict(
        {"income": [10.0, np.inf, 20.0, 1e200, 30.0], "level": ["low", "low", "huge", "low", "low"]}
    )
    table = explained(nice, batch)
    assert table["row"].to_pylist() == [0, 1, 2, 3, 4]
    assert table["found"].to_pylist() == [True, False, False, False, True]
    assert table["reason_kind"].to_pylist() == [None, "refused", "refused", "refused", None]
    reasons = table["reason"].to_pylist()
    assert reasons[1].startswith("column 'income' holds an infinite value")
    assert reasons[2].startswith("column 'level' holds 'huge', which is not one of its levels")
    assert reasons[3].startswith("column 'income' holds an infinite value, or one beyond 1e150. Distances")
    assert table["score_before"].to_pylist()[1:4] == [None] * 3


def test_a_batch_without_one_good_row_is_answered():
    table = explained(fitted(people()), pa.RecordBatch.from_pydict({"income": [np.inf, -np.inf]}))
    assert table["reason_kind"].to_pylist() == ["refused", "refused"]


def test_rules_that_cannot_be_kept_are_the_reason_of_a_row():
    X = people(home=["own", "rent", "own", "rent"])
    table = explained(fitted(X), arrow(X.iloc[:1]), constraints=Constraints(immutable=["income"]))
    cfs = fitted(X).explain(X.iloc[:1], constraints=Constraints(immutable=["income"]))
    assert table["reason"].to_pylist() == cfs.reasons.tolist()
    assert table["reason_kind"].to_pylist() == cfs.reason_kinds.tolist() != [None]


def test_a_model_that_fails_fails_the_job_with_its_message():
    def broken(X):
        if len(X) and (np.asarray(X["income"]) == 13).any():
            raise RuntimeError("the feature store is down")
        return by_income(X)

    with pytest.raises(ModelError, match="the feature store is down"):
        explained(fitted(people(), broken), pa.RecordBatch.from_pydict({"income": [13.0, 10.0]}))


def test_a_later_batch_of_another_schema_is_an_error():
    nice = fitted(people())
    batches = [pa.RecordBatch.from_pydict({"income": pa.array([1], kind)}) for kind in (pa.int64(), pa.int32())]
    with pytest.raises(
        SchemaError, match="column 'income' has the type int32 in a later batch, but has the type int64 in the first"
    ):
        list(explain_batches(nice, None, batches))
    with pytest.raises(SchemaError, match="column 'income' is missing in a later batch"):
        list(explain_batches(nice, None, [batches[0], pa.RecordBatch.from_pydict({"x": [1]})]))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"target_class": "maybe"}, OptionError, "maybe"),
        ({"target_class": np.array(["yes", "no"])}, OptionError, "target_class is an array with a class for each row, but the rows of a stream are not known yet"),
        ({"n_counterfactuals": 2}, OptionError, "n_counterfactuals=2 needs search='thorough'"),
        ({"time_budget": -1}, OptionError, "time_budget"),
        ({"constraints": {"immutable": ["income"]}}, OptionError, "constraints"),
        ({"constraints": Constraints(immutable=["incme"])}, OptionError, "Did you mean 'income'"),
        ({"target_score": 5}, OptionError, "target_score"),
    ],
)  # fmt: skip
def test_options_are_checked_before_the_first_batch(options, error, said):
    with pytest.raises(error, match=said):
        explain_batches(fitted(people()), None, iter([]), **options)


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        (people(), "batches must be an iterable of pyarrow.RecordBatch, got DataFrame. Convert a frame with"),
        (3, "got int"),
        ([people()], "batches must hold pyarrow.RecordBatch, got DataFrame"),
    ],
)
def test_what_is_no_batch_is_an_error(batches, said):
    with pytest.raises(OptionError, match=said):
        list(explain_batches(fitted(people()), None, batches))


def test_scores_of_a_regressor():
    X = people()
    nice = NICE(Doubling(), search="greedy", justified=False).fit(X)
    table = explained(nice, arrow(X.iloc[:2]), target_score=(100, None))
    cfs = nice.explain(X.iloc[:2], target_score=(100, None))
    assert table["score_before"].to_pylist() == [20.0, 60.0]
    assert table["score_after"].to_pylist() == cfs.batch.probability.tolist()


class Doubling:
    """A regressor."""

    _estimator_type = "regressor"

    def __sklearn_tags__(self):
        from sklearn.base import BaseEstimator, RegressorMixin

        return type("Some", (RegressorMixin, BaseEstimator), {})().__sklearn_tags__()

    def fit(self, X, y):
        return self

    def predict(self, X):
        return 2 * np.asarray(X["income"], dtype=float)


def test_an_explainer_of_arrays_takes_columns_by_their_order():
    X = people(age=[20.0, 30.0, 40.0, 50.0])
    nice = NICE(lambda X: by_income({"income": X[:, 0]}), classes=["no", "yes"], search="greedy").fit(
        X.to_numpy(), ["no", "no", "yes", "yes"]
    )
    batch = arrow(X.assign(name=["a", "b", "c", "d"]))
    table = explained(nice, batch, id="name")
    cfs = nice.explain(X.to_numpy())
    assert np.array_equal(table.select(["income", "age"]).to_pandas().to_numpy(), cfs.to_numpy())
    with pytest.raises(
        SchemaError, match="the rows have 3 columns .* fitted on an array with 2, whose columns have no names"
    ):
        explained(nice, batch)


def test_an_explainer_of_polars_frames_is_refused():
    X = people()
    nice = NICE(lambda X: by_income({"income": X["income"].to_numpy()}), classes=["no", "yes"], search="greedy").fit(
        pl.from_pandas(X), ["no", "no", "yes", "yes"]
    )
    with pytest.raises(
        SchemaError,
        match="fitted on a polars DataFrame, but rows from an engine become pandas frames. Fit it on a pandas frame",
    ):
        explained(nice, arrow(X))


def test_an_explainer_is_opened_once_by_many_threads(saved, loans, rows, monkeypatch):
    loads, load = [], NICE.load
    monkeypatch.setattr(
        NICE, "load", classmethod(lambda cls, *given, **named: loads.append(1) or load(*given, **named))
    )
    results, start = [], threading.Barrier(6)

    def run():
        start.wait()
        results.append(pa.Table.from_batches(explain_batches(saved, loans.model, [arrow(rows.iloc[:5])])))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(one.equals(results[0]) for one in results)
    assert len(loads) == 1


def test_an_explainer_is_opened_again_when_its_file_or_its_model_is_another_one(tmp_path):
    path, X, model = tmp_path / "one.nice", people(), by_income
    fitted(X).save(path)
    first = opened.opened(path, model)
    assert opened.opened(str(path), model) is first
    assert opened.opened(path, lambda X: by_income(X)) is not first
    fitted(X.iloc[::-1]).save(path)
    assert opened.opened(path, model) is not first
    for at in range(2 * opened._MOST_OPEN):
        opened.kept_open(at, lambda at=at: at)
    assert len(opened._open) == opened._MOST_OPEN


def test_a_model_may_be_the_path_of_its_file(saved, loans, tmp_path):
    from sklearn.linear_model import LogisticRegression

    X = people(age=[20.0, 30.0, 40.0, 50.0])
    model = LogisticRegression().fit(X, ["no", "no", "yes", "yes"])
    skops.io.dump(model, tmp_path / "model.skops")
    nice = NICE(model, search="greedy").fit(X, ["no", "no", "yes", "yes"])
    nice.save(tmp_path / "one.nice")
    answers = explain_batches(tmp_path / "one.nice", tmp_path / "model.skops", [arrow(X)])
    assert pa.Table.from_batches(answers).equals(explained(nice, arrow(X)))
    skops.io.dump(loans.model, tmp_path / "forest.skops")
    said = "forest.skops holds types that are not known to be safe: sklearn.tree._tree.Tree. If you trust its source, load it and pass the model itself"
    with pytest.raises(OptionError, match=said):
        explain_batches(saved, tmp_path / "forest.skops", [])


@pytest.mark.parametrize(
    ("explainer", "model", "error", "said"),
    [
        ("nowhere.nice", None, FileError, "there is no file nowhere.nice"),
        (3, None, OptionError, r"explainer must be a fitted NICE, or the path of a file from nice.save\(path\), got int"),
        ("saved", None, OptionError, "has no model in it; pass the one that it was saved with: model="),
        ("saved", "model.pkl", OptionError, r"model.pkl is a pickle, and loading one runs any code in it. .* pass model=joblib.load\('model.pkl'\)"),
        ("saved", "model.skops", FileError, "there is no file model.skops"),
        ("loans", "model", OptionError, "model is for an explainer from a file; a fitted NICE has its own"),
    ],
)  # fmt: skip
def test_an_explainer_or_a_model_that_cannot_be_opened_is_an_error(
    request, tmp_path, monkeypatch, explainer, model, error, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pkl").write_bytes(b"")
    explainer = request.getfixturevalue(explainer) if explainer in ("saved", "loans") else explainer
    with pytest.raises(error, match=said):
        explain_batches(explainer, model, [])


def test_what_is_wrong_with_the_schema_of_a_reader_is_said_at_once():
    batch = pa.RecordBatch.from_pydict({"income": ["10"]})
    with pytest.raises(SchemaError, match="has the type string"):
        explain_batches(fitted(people()), None, pa.RecordBatchReader.from_batches(batch.schema, [batch]))
