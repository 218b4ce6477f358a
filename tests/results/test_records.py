"""Records of explanations: JSON that can be made again, and tells when something is no longer what it was."""

import json
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from columns import COLUMNS, flag, with_flag
from markers import deep
from nicecf import NICE, Constraints, FileError, NotFittedError, OptionError, Replay, SchemaError, baselines, replay
from nicecf.results.records import digest_of, with_files
from nicecf.testing import Scorecard, applicants

X, Y = applicants()
SAME = "same: the explanation was made again, and nothing in it is different"


@pytest.fixture(scope="module")
def nice():
    return NICE(Scorecard(), random_state=7).fit(X, Y)


@pytest.fixture(scope="module")
def thorough():
    return NICE(Scorecard(), search="thorough", neighbors=5).fit(X[:60], Y[:60])


def through_json(record):
    return json.loads(json.dumps(record, allow_nan=False))


def resealed(record, **changed):
    """A record that was changed by someone who knows how to make a digest."""
    record = {**record, **changed}
    return {**record, "digest": digest_of(record)}


def assert_replays(cfs, nice):
    records = cfs.to_records()
    assert len(records) == len(cfs)
    for record in records:
        again = replay(through_json(record), nice)
        assert str(again) == SAME, f"{record}: {again}"
    return records


def test_a_record_says_all_that_was_asked_and_answered(nice):
    cfs = nice.explain(X.iloc[:30], target_class=["no", "yes"], constraints=Constraints(immutable=["city"]))
    frame = cfs.to_frame()
    for at, record in enumerate(cfs.to_records()):
        assert record == through_json(record)
        assert (record["format"], record["version"]) == ("nicecf record", 1)
        assert record["label"] == X.index[at]
        assert list(record["row"]) == list(X.columns)
        assert record["row"]["age"] == X["age"].iloc[at]
        assert record["counterfactual"]["age"] == frame["age"].iloc[at]
        assert record["found"]
        assert record["reason"] is None
        assert record["decision"] == {"before": cfs.predicted[at], "after": cfs.predicted_after[at]}
        assert [one["class"] for one in record["probabilities"]] == ["no", "perhaps", "yes"]
        assert [one["before"] for one in record["probabilities"]] == Scorecard().predict_proba(X.iloc[[at]])[0].tolist()
        after = Scorecard().predict_proba(frame.iloc[[at]])[0].tolist()
        assert [one["after"] for one in record["probabilities"]] == after
        assert record["donor"] == cfs[at].donor
        assert [(one["feature"], one["step"], one["probability"]) for one in record["changes"]] == [
            (change.feature, change.step, change.probability) for change in cfs[at].changes
        ]
        assert all(one["before"] == record["row"][one["feature"]] for one in record["changes"])
        assert all(one["after"] == record["counterfactual"][one["feature"]] for one in record["changes"])
        assert record["call"] == {
            "target_class": ["no", "yes"], "n_counterfactuals": 1, "time_budget": None,
            "constraints": {"immutable": ["city"]}, "which": 0,
        }  # fmt: skip
        assert record["options"]["optimize"] == "sparsity"
        assert record["seed"] == 7
        assert set(record["versions"]) == {"python", "nicecf", "numpy", "pandas", "scikit-learn"}
        assert record["fingerprints"] == nice._fitted.fingerprints
        assert cfs[at].to_record() == record


def test_the_same_explanation_gives_the_same_record(nice):
    one, other = nice.explain(X.iloc[:10]), NICE(Scorecard(), random_state=7).fit(X, Y).explain(X.iloc[:10])
    assert one.to_records() == other.to_records()
    assert one[3:5].to_records() == one.to_records()[3:5]
    assert pickle.loads(pickle.dumps(one)).to_records() == one.to_records()
    assert nice.explain(X.iloc[:1])[:0].to_records() == []


def test_missing_numbers_are_null(nice):
    record = nice.explain(X.iloc[[0]]).to_records()[0]
    assert pd.isna(X["children"].iloc[0])
    assert record["row"]["children"] is None
    assert record["missing"] == {}


def test_every_kind_of_call_is_made_again(nice, thorough):
    rules = [None, Constraints(immutable=["age"]), Constraints(ranges={"income": (None, 1.0)}, max_changes=1)]
    assert_replays(nice.explain(X.iloc[:6]), nice)
    assert_replays(nice.explain(X.iloc[:3], target_class="yes"), nice)  # some need no change
    assert_replays(nice.explain(X.iloc[:3], target_class=["no", "perhaps"]), nice)
    assert_replays(nice.explain(X.iloc[:3], target_class=Y.iloc[:3].to_numpy()), nice)
    records = assert_replays(nice.explain(X.iloc[:3], constraints=rules), nice)
    assert [record["call"]["constraints"] for record in records[:3]] == [
        {}, {"immutable": ["age"]}, {"ranges": {"income": {"high": 1.0}}, "max_changes": 1},
    ]  # fmt: skip
    bounds = Constraints(ranges={"age": (None, X["age"].iloc[:4] + 5)}, step={"income": 0.5})
    records = assert_replays(nice.explain(X.iloc[:4], constraints=bounds), nice)
    assert records[1]["call"]["constraints"]["ranges"] == {"age": {"high": X["age"].iloc[1] + 5}}
    records = assert_replays(thorough.explain(X.iloc[:2], n_counterfactuals=3), thorough)
    assert max(record["call"]["which"] for record in records) > 0
    assert_replays(thorough.explain(X.iloc[:2]).pareto(), thorough)
    assert_replays(nice.explain(X.iloc[:3], time_budget=1000), nice)


def test_one_of_several_knows_which_it_is(thorough):
    cfs = thorough.explain(X.iloc[:4], n_counterfactuals=3)
    last = int(np.flatnonzero(cfs.batch.numbers == cfs.batch.numbers.max())[0])
    record = cfs[last].to_record()
    assert record["call"]["which"] == cfs.batch.numbers[last] > 0
    assert replay(record, thorough).is_same
    assert replay(resealed(record, call={**record["call"], "which": 99}), thorough).differences == (
        f"there are {(cfs.rows == cfs.rows[last]).sum()} counterfactuals now, and the record is of number 100",
    )


def test_what_was_not_found_is_made_again():
    only_no = Y[Y == "no"].index
    nice = NICE(Scorecard(), search="greedy").fit(X.loc[only_no], Y[only_no])
    cfs = nice.explain(X.iloc[:10], target_class="yes")
    assert not cfs.found.all()
    records = assert_replays(cfs, nice)
    lost = records[int(np.flatnonzero(~cfs.found)[0])]
    assert lost["counterfactual"] is None
    assert lost["changes"] == []
    assert lost["decision"]["after"] is None
    assert lost["probabilities"][0]["after"] is None
    assert lost["donor"] is None
    assert "yes" in lost["reason"]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_dtype_is_made_again(name):
    table = with_flag(COLUMNS[name])
    nice = NICE(flag).fit(table, [0, 0, 0, 1, 1, 1])
    assert_replays(nice.explain(table), nice)


def test_polars_frames_and_arrays_are_made_again():
    frame = pl.DataFrame(
        {"a": ["x", None, "y", "x"], "b": pl.Series(["u", "v", "u", None], dtype=pl.Categorical), "flag": [0, 0, 1, 1]}
    )
    nice = NICE(flag).fit(frame, [0, 0, 1, 1])
    assert_replays(nice.explain(frame), nice)
    for dtype in ("float32", "int64", "object", "U3"):
        array = np.array([[1, 0], [2, 0], [3, 1], [4, 1]]).astype(dtype)
        model = lambda X: np.column_stack([1 - X[:, 1].astype(float), X[:, 1].astype(float)])
        nice = NICE(model, categorical_features=[0, 1] if dtype == "U3" else []).fit(array, [0, 0, 1, 1])
        assert_replays(nice.explain(array), nice)


def test_rows_in_other_dtypes_and_with_unseen_categories_are_made_again(nice):
    rows = X.iloc[:4].astype({"age": "float64", "home": "object", "city": "category"})
    rows.loc[rows.index[0], "age"] = 40.5
    rows["home"] = ["boat", None, "own", "rent"]
    rows["city"] = pd.Categorical(["Oostende", "Gent", None, "Gent"])
    records = assert_replays(nice.explain(rows[rows.columns[::-1]]), nice)
    assert [record["row"]["home"] for record in records] == ["boat", None, "own", "rent"]


@pytest.mark.parametrize("marker", [None, np.nan, pd.NA])
def test_a_model_that_tells_markers_of_missing_values_apart_sees_the_same_again(marker):
    table = with_flag(pd.Series(["a", "b", "c", "a", "b", "c"], dtype=object))
    model = lambda X: flag(X) * 0.8 + 0.1 * np.column_stack([[cell is None for cell in X["column"]]] * 2)
    nice = NICE(model).fit(table, [0, 0, 0, 1, 1, 1])
    row = pd.DataFrame({"column": pd.Series([marker], dtype=object), "flag": [0]})
    (record,) = assert_replays(nice.explain(row), nice)
    assert record["row"]["column"] is None
    assert bool(record["missing"]) == (marker is not None)


def test_names_and_values_that_json_has_no_word_for():
    table = with_flag(pd.Series([b"a", Decimal("0.1"), (1, 2), b"a", Decimal("0.1"), (1, 2)], dtype=object))
    table.columns = [5, True]
    nice = NICE(lambda X: flag({"flag": X.iloc[:, 1]})).fit(table, [0, 0, 0, 1, 1, 1])
    records = assert_replays(nice.explain(table, constraints=Constraints(allowed={5: [b"a", None]})), nice)
    assert list(records[0]["row"]) == ["5", "True"]
    assert records[0]["row"]["5"] == {"type": "bytes", "value": "YQ=="}
    twice = table.set_axis(["1", 1], axis=1)
    cfs = NICE(lambda X: flag({"flag": X.iloc[:, 1]})).fit(twice, [0, 0, 0, 1, 1, 1]).explain(twice)
    with pytest.raises(SchemaError, match="the features '1', 1 would have the same name in a record"):
        cfs.to_records()
    months = with_flag(pd.Series(pd.Categorical(pd.PeriodIndex(["2020-01", "2021-01"] * 3, freq="M"))))
    cfs = NICE(flag).fit(months, [0, 0, 0, 1, 1, 1]).explain(months)
    with pytest.raises(
        SchemaError, match="feature 'column' has a value of the type Period, which a record cannot hold"
    ):
        cfs[0].to_record()


def test_a_label_that_json_has_no_word_for_is_told_in_words():
    table = with_flag(COLUMNS["int64"]).set_index(pd.date_range("2020-01-01", periods=6))
    cfs = NICE(flag).fit(table, [0, 0, 0, 1, 1, 1]).explain(table)
    assert cfs[1].to_record()["label"] == "2020-01-02 00:00:00"


def test_baselines_are_made_again():
    for method in (baselines.WIT, baselines.SEDC, baselines.CBR):
        fitted = method(Scorecard()).fit(X, Y)
        assert_replays(fitted.explain(X.iloc[:3], target_class=["yes", "no"]), fitted)


@pytest.mark.deep
def test_a_fresh_process_makes_it_again(nice, tmp_path):
    nice.save(tmp_path / "some.nice")
    records = nice.explain(X.iloc[:3], constraints=[None, Constraints(immutable=["age"]), None]).to_records()
    records.append(resealed(records[0], donor=99))
    (tmp_path / "records.json").write_text(json.dumps(records))
    code = (
        "import json, sys; from nicecf import NICE, replay; from nicecf.testing import Scorecard\n"
        "nice = NICE.load(sys.argv[1], model=Scorecard())\n"
        "for record in json.load(open(sys.argv[2])): print(replay(record, nice))"
    )
    files = [tmp_path / "some.nice", tmp_path / "records.json"]
    out = subprocess.run(
        [sys.executable, "-Wignore", "-c", code, *files], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert out[:3] == [SAME] * 3
    assert out[3:] == ["different in 1 point:", f"  - donor: 99 in the record, {records[0]['donor']} now"]


# ---- what is seen


def test_a_record_that_was_changed_is_seen(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    changed = through_json(record)
    changed["counterfactual"]["age"] = 17
    again = replay(changed, nice)
    assert not again.is_same
    assert again.differences == (
        "the record was changed after it was made: its digest is not that of its content",
        "counterfactual, age: 17 in the record, 47 now",
    )
    assert str(again).splitlines()[:2] == ["different in 2 points:", f"  - {again.differences[0]}"]
    assert repr(again) == str(again)
    assert isinstance(again, Replay)
    for key in record:
        if key != "digest":
            other = resealed(through_json(record))
            other[key] = {} if isinstance(record[key], dict) and record[key] else 2
            assert digest_of(other) != record["digest"], key


def test_a_digest_does_not_depend_on_how_the_json_is_written(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    assert record["row"]["income"] == 2.0
    rewritten = dict(reversed(through_json(record).items()))
    rewritten["row"] = {**rewritten["row"], "income": 2}
    assert digest_of(rewritten) == record["digest"]
    assert replay(rewritten, nice).is_same


DIFFERENT = {
    "found": (False, ["found: False in the record, True now"]),
    "reason": ("because", ["reason: 'because' in the record, none now"]),
    "decision": ({"before": "yes", "after": "no"}, ["decision, after: 'no' in the record, 'perhaps' now"]),
    "counterfactual": (None, ["counterfactual: none in the record, one now"]),
    "changes": ([], ["changes: 0 in the record, 1 now"]),
    "donor": (None, ["donor: none in the record, 38 now"]),
    "fingerprints": (
        {"model": "sha256:0", "training": None},
        ["training data: not those that the record was made with, by their fingerprint"],
    ),
}


@pytest.mark.parametrize("part", DIFFERENT)
def test_where_it_is_different_is_said(part, nice):
    value, differences = DIFFERENT[part]
    record = nice.explain(X.iloc[[0]])[0].to_record()
    assert replay(resealed(record, **{part: value}), nice).differences == tuple(differences)


def test_probabilities_are_compared_to_nine_digits(nice):
    record = through_json(nice.explain(X.iloc[[0]])[0].to_record())
    record["probabilities"][2]["before"] += 1e-11
    record["changes"][0]["probability"] -= 1e-11
    assert replay(resealed(record), nice).is_same
    record["probabilities"][2]["before"] += 1e-3
    record["changes"][0]["probability"] -= 1e-3
    seen = replay(resealed(record), nice).differences
    assert [line.partition(":")[0] for line in seen] == ["probabilities, yes, before", "changes, 1, probability"]


def test_another_model_is_seen():
    numbers = X[["age", "income"]].fillna(1.0)
    one, other = (LogisticRegression(C=C).fit(numbers, Y) for C in (1.0, 0.5))
    record = NICE(one).fit(numbers, Y).explain(numbers.iloc[[0]])[0].to_record()
    again = replay(record, NICE(other).fit(numbers, Y))
    assert again.differences[0] == "model: not the one that the record was made with, by its fingerprint"
    assert any(line.startswith("probabilities, ") for line in again.differences)
    # By another name it is still the same.
    again = replay(record, NICE(one.predict_proba, classes=one.classes_).fit(numbers, Y))
    assert not any(line.startswith("model:") for line in again.differences)
    assert any(line.startswith("option model: 'sklearn.") for line in again.notes)


def test_other_training_data_is_seen(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    less = NICE(Scorecard(), random_state=7).fit(X.iloc[:100], Y.iloc[:100])
    again = replay(record, less)
    assert again.differences == ("training data: not those that the record was made with, by their fingerprint",)
    assert again.notes == (
        "whether the model is the same cannot be told: it is known by what it says of the training data",
    )
    labels = Y.where(Y.index != Y.index[80], "perhaps")
    assert (labels != Y).sum() == 1
    assert not replay(record, NICE(Scorecard(), random_state=7).fit(X, labels)).is_same
    without_age = NICE(lambda X: Scorecard().predict_proba(X.assign(age=30)), classes=Scorecard.classes_)
    again = replay(record, without_age.fit(X.drop(columns="age"), Y))
    assert again.differences[0] == ("it cannot be made again: the row has 'age', which the explainer does not know")
    assert again.again is None
    more = NICE(Scorecard()).fit(X.assign(more=1), Y)
    assert replay(record, more).differences[0] == "it cannot be made again: the row lacks 'more'"


def test_training_data_are_known_by_every_cell_and_label_whatever_the_model():
    numbers = X[["age", "income"]].fillna(1.0)
    prints = lambda table, labels, model: NICE(model).fit(table, labels)._fitted.fingerprints
    one, other = (LogisticRegression(C=C).fit(numbers, Y) for C in (1.0, 0.5))
    wrong = int(np.flatnonzero(one.predict(numbers) != Y)[0])  # no donor
    cell = numbers.copy()
    cell.iloc[wrong, 0] += 1
    known = prints(numbers, Y, one)
    assert prints(numbers, Y, one) == known
    assert prints(numbers, Y, other)["training"] == known["training"]
    assert prints(numbers, Y, other)["model"] != known["model"]
    assert prints(cell, Y, one)["training"] != known["training"]
    labels = Y.where(
        Y.index != Y.index[wrong],
        next(c for c in one.classes_ if c not in (Y.iloc[wrong], one.predict(numbers)[wrong])),
    )
    assert prints(numbers, labels, one)["model"] == known["model"]
    assert prints(numbers, labels, one)["training"] != known["training"]
    fitted = baselines.WIT(one).fit(numbers, Y)
    assert fitted._fitted.fingerprints["training"] == known["training"]


def test_other_options_are_seen(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    again = replay(record, NICE(Scorecard(), optimize="none", random_state=7).fit(X, Y))
    assert "option optimize: 'sparsity' in the record, 'none' now" in again.differences
    options = {**record["options"], "speed": "high"}
    options.pop("scale")
    again = replay(resealed(record, options=options), nice)
    assert again.differences == ("option speed: 'high' in the record, but there is no such option now",)
    assert again.notes == ("option scale: not in the record, 'range' now",)


def test_other_versions_are_no_difference(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    again = replay(resealed(record, versions={**record["versions"], "numpy": "1.0"}), nice)
    assert again.is_same
    assert again.notes == (f"numpy 1.0 made the record, this is {np.__version__}",)
    assert str(again) == f"{SAME}\nworth knowing:\n  - {again.notes[0]}"


def test_what_the_explainer_refuses_is_said():
    nice = NICE(Scorecard(), search="greedy", random_state=7).fit(X, Y)
    record = nice.explain(X.iloc[[0]])[0].to_record()
    for changed, match in [
        ({"call": {**record["call"], "target_class": "never"}}, "target_class='never' is not a class of the model"),
        ({"call": {**record["call"], "constraints": {"immutable": ["never"]}}}, "immutable names 'never', which is not"),
        ({"call": {**record["call"], "n_counterfactuals": 3}}, "n_counterfactuals=3 needs search='thorough'"),
        ({"call": {**record["call"], "pareto": True}}, "pareto.. needs the hybrids"),
        ({"row": {**record["row"], "age": "old"}}, "feature 'age' is numeric, but the row has 'old'"),
        ({"row": {**record["row"], "age": 1e200}}, "column 'age' holds an infinite value"),
    ]:  # fmt: skip
        (difference,) = replay(resealed(record, **changed), nice).differences
        assert difference.startswith("it cannot be made again: ")
        assert match.replace("..", "()") in difference


def test_a_time_budget_is_remembered(nice):
    record = nice.explain(X.iloc[[0]], time_budget=500.0)[0].to_record()
    assert record["call"]["time_budget"] == 500.0
    again = replay(resealed(record, donor=99), nice)
    assert again.notes == ("the call had a time_budget: what is found in time may be another thing each time",)


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ("{}", OptionError, "a record is a dict, as .* gives it, got str. Of a file: json.load"),
        ([], OptionError, "a record is a dict"),
        ({}, FileError, "this is no record of nicecf: its format is None"),
        ({"version": 2}, FileError, "the record has format 2; this nicecf reads up to 1: upgrade"),
        ({"version": "1"}, FileError, "the record is damaged: its version is '1'"),
        ({"row": None}, FileError, "the record is damaged: its 'row' is NoneType"),
        ({"donor": "x"}, FileError, "the record is damaged: its 'donor' is str"),
        ({"call": {}}, FileError, "the record is damaged: ValueError: its call must have .* and has nothing"),
        ({"call": {"target_class": "other", "time_budget": None, "which": "first"}}, FileError, "damaged: ValueError"),
        ({"call": {"target_class": {"type": "file", "value": "x"}}}, FileError, "damaged: ValueError: the type 'file'"),
        ({"missing": {"city": {"type": "NA"}}}, FileError, "the record is damaged: ValueError: it must hold a type"),
        ({"label": float("nan")}, FileError, "the record is damaged: it holds what is not JSON"),
        ({"label": {1, 2}}, FileError, "the record is damaged: it holds what is not JSON"),
        ({"options": None}, FileError, "the record is damaged: its 'options' is NoneType"),
    ],
)
def test_what_is_no_record_is_refused(wrong, error, match, nice):
    if wrong and isinstance(wrong, dict):
        wrong = {**nice.explain(X.iloc[[0]])[0].to_record(), **wrong}
    with pytest.raises(error, match=match):
        replay(wrong, nice)


def test_a_record_that_lacks_a_part_is_refused(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    for part in record:
        with pytest.raises(FileError, match=r"the record is damaged|no record of nicecf"):
            replay({name: value for name, value in record.items() if name != part}, nice)


def test_malformed_parts_that_are_only_compared_are_differences(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    for part, value in {"probabilities": [1, {"class": "no"}], "changes": ["x", None], "decision": {}}.items():
        assert not replay(resealed(record, **{part: value}), nice).is_same


def test_only_the_explainer_of_the_record_can_make_it_again(nice):
    record = nice.explain(X.iloc[[0]])[0].to_record()
    with pytest.raises(OptionError, match="the record was made by NICE, but this is WIT"):
        replay(record, baselines.WIT(Scorecard()).fit(X, Y))
    with pytest.raises(OptionError, match="replay needs the explainer of the record, a fitted NICE, got Scorecard"):
        replay(record, Scorecard())
    with pytest.raises(NotFittedError):
        replay(record, NICE(Scorecard()))


# ---- numbers that are no floats


DECIMALS = pd.DataFrame(
    {"price": pd.Series([Decimal("0.10"), Decimal("0.25"), Decimal("1.5"), None], dtype=object), "flag": [0, 0, 1, 1]}
)


def test_columns_of_decimals_are_made_again(tmp_path):
    nice = NICE(flag, categorical_features=[]).fit(DECIMALS, [0, 0, 1, 1])
    records = assert_replays(nice.explain(DECIMALS), nice)
    assert records[0]["row"]["price"] == {"type": "decimal", "value": "0.10"}
    nice.save(tmp_path / "some.nice")
    assert_replays(nice.explain(DECIMALS), NICE.load(tmp_path / "some.nice", model=flag))


def test_rows_of_decimals_or_booleans_for_columns_of_floats_are_made_again():
    table = pd.DataFrame({"price": [0.1, 0.25, 1.5, np.nan], "flag": [0, 0, 1, 1]})
    nice = NICE(flag).fit(table, [0, 0, 1, 1])
    assert_replays(nice.explain(DECIMALS), nice)
    assert_replays(nice.explain(table.assign(price=[True, False, True, False])), nice)
    frame = pl.DataFrame({"price": [0.1, 0.25, 1.5, None], "flag": [0, 0, 1, 1]})
    nice = NICE(flag).fit(frame, [0, 0, 1, 1])
    decimals = pl.Series([Decimal("0.10"), None, Decimal("1.50"), Decimal("2")], dtype=pl.Decimal(10, 2))
    assert_replays(nice.explain(frame.with_columns(price=decimals)), nice)
    model = lambda X: flag({"flag": X[:, 1].astype(float)})
    nice = NICE(model).fit(table.fillna(0.0).to_numpy(), [0, 0, 1, 1])
    assert_replays(nice.explain(DECIMALS.fillna(Decimal(0)).to_numpy(dtype=object)), nice)
    assert_replays(nice.explain(np.array([[True, False], [False, True]])), nice)


# ---- every leaf of a record


# What replay does not compare: docs/records.md names it.
NOT_COMPARED = {("label",), ("options", "model"), ("versions",), ("files",)}
# What is asked again, so that it is what is compared with.
ASKED = {("row",), ("missing",), ("call",)}


def leaves(value, path=()):
    if isinstance(value, (dict, list)) and value:
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))
    else:
        yield path, value


def changed_at(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed_at(value[path[0]], path[1:], new)
    return copy


def others(value):
    """Values in place of another one."""
    wrong = (None, True, -1, 2**70, 1e300, "x", {}, [value], {"type": "NA"})
    yield from (one for one in wrong if one != value or type(one) is not type(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value + 1
        yield str(value)
    if isinstance(value, bool):
        yield int(value)
    if isinstance(value, str):
        yield value + "!"


@pytest.fixture(scope="module")
def quick():
    """By the search that takes the least time: each of hundreds of forged records is made again."""
    return NICE(Scorecard(), search="greedy", random_state=7).fit(X, Y)


@pytest.fixture(scope="module")
def explained(quick):
    rules = Constraints(immutable=["city"], ranges={"income": (None, 9.0)}, max_changes=4)
    return quick.explain(X.iloc[[3]], constraints=rules)[0].to_record()


def is_of(path, known):
    return any(path[: len(one)] == one for one in known)


@pytest.mark.parametrize("share", [9, *deep(3, 1)])
def test_no_leaf_of_a_record_can_be_changed_unseen(quick, explained, share):
    record = with_files([explained], {"explainer": "a.nice"})[0]
    assert replay(record, quick).is_same
    seen = 0
    for turn, (path, value) in enumerate(leaves({**record, "digest": None})):
        for new in list(others(value))[turn % share :: share] if path != ("digest",) else ():
            forged = changed_at(record, path, new)
            forged["digest"] = digest_of(forged)
            try:
                again = replay(through_json(forged), quick)
            except (FileError, OptionError):
                seen += 1
                continue
            if is_of(path, NOT_COMPARED) or not again.is_same:
                continue
            same_number = type(new) is not bool and type(value) is not bool and new == value
            assert is_of(path, ASKED) or same_number, (path, new)
            now = again.again.to_record()
            assert all(now[part] == forged[part] for part in forged if part not in ("label", "files", "digest")), path
    assert seen > 100 / share


def test_no_part_of_a_record_can_be_removed_or_added_unseen(quick, explained):
    def removed(value, path):
        return (
            {k: v for k, v in value.items() if k != path[0]} if len(path) == 1 and isinstance(value, dict)
            else [*value[: path[0]], *value[path[0] + 1 :]] if len(path) == 1
            else changed_at(value, path[:1], removed(value[path[0]], path[1:]))
        )  # fmt: skip

    for path, value in leaves(explained):
        if path[0] == "digest" or is_of(path, NOT_COMPARED - {("label",)}):
            continue
        forged = removed(explained, path)
        forged["digest"] = digest_of(forged)
        try:
            again = replay(through_json(forged), quick)
        except (FileError, OptionError):
            continue
        is_default = path[0] == "options" and f"option {path[1]}: not in the record, {value!r} now" in again.notes
        assert not again.is_same or is_default or path[:2] == ("call", "constraints"), path
    inner = {leaf[:at] for leaf, _ in leaves(explained) for at in range(1, len(leaf))}
    for path in [(), *inner]:
        if path and is_of(path, NOT_COMPARED):
            continue
        held = explained
        for key in path:
            held = held[key]
        forged = changed_at(explained, path, {**held, "more": None} if isinstance(held, dict) else [*held, None])
        forged["digest"] = digest_of(forged)
        try:
            assert not replay(through_json(forged), quick).is_same, path
        except (FileError, OptionError):
            continue


def test_an_option_that_a_record_leaves_out_counts_as_its_default(quick, explained):
    options = {name: value for name, value in explained["options"].items() if name != "random_state"}
    again = replay(resealed(explained, options=options), quick)
    assert again.differences == ("option random_state: not in the record, 7 now",)


def test_another_seed_is_seen(quick, explained):
    assert replay(resealed(explained, seed=8), quick).differences == ("seed: 8 in the record, 7 now",)
    assert not replay(resealed(explained, seed=7, options={**explained["options"], "random_state": 8}), quick).is_same


def test_versions_that_are_not_known_are_noted(quick, explained):
    again = replay(resealed(explained, versions={**explained["versions"], "torch": "2.1"}), quick)
    assert again.is_same
    assert again.notes == ("torch 2.1 made the record, and is not looked at here",)


def test_a_record_that_would_take_all_memory_is_refused(quick, explained):
    """A void of 2**31 bytes crashed the interpreter."""
    bombs = [
        {"type": "numpy", "value": ["|V2147483648", 2**31]},
        {"type": "numpy", "value": ["<U2147483647", "x"] * 2},
        {"type": "decimal", "value": "1E+999999999"},
        {"type": "tuple", "value": "x"},
    ]
    for bomb in bombs:
        for part, key in [("row", "age"), ("row", "home"), ("call", "target_class"), ("missing", "home")]:
            with pytest.raises(FileError, match="the record is damaged"):
                replay(resealed(explained, **{part: {**explained[part], key: bomb}}), quick)


def test_a_call_that_the_explainer_does_not_have_is_refused():
    fitted = baselines.WIT(Scorecard()).fit(X, Y)
    record = fitted.explain(X.iloc[[0]])[0].to_record()
    for call in ({"n_counterfactuals": 2}, {"speed": 1}, {"which": 0.5}, {"which": True}, {"target_class": {"a": 1}}):
        with pytest.raises(FileError, match="the record is damaged"):
            replay(resealed(record, call={**record["call"], **call}), fitted)
