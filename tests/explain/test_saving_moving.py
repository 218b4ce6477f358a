"""Explainers of tables in which columns follow from others: saved, loaded, pickled, recorded and made again."""

import copy
import io
import json
import pickle
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from following import RATIO, Lender, households, ratio
from markers import deep
from nicecf import NICE, Constraints, FileError, ModelError, OptionError, replay
from nicecf.explain.saving import archive, arrays
from nicecf.results.records import digest_of
from nicecf.rules.kinds.derived import FunctionName
from nicecf.tables.reduced import ReducedSchema
from nicecf.testing import assert_same
from saved_files import (
    assert_comes_back,
    assert_same_to_the_bit,
    changed_at,
    forge,
    leaves,
    others,
    said,
    saved,
    table_of,
)

X = households()
ROWS = X.iloc[:12]
MODEL = Lender()
Y = np.where(X.index % 10 == 7, "no", MODEL.predict(X))  # where it is wrong, a row is no donor
BY_EXPRESSION, BY_FUNCTION = {"ratio": RATIO}, {"ratio": ratio}
RULES = {
    "expression": Constraints(derived=BY_EXPRESSION),
    "function": Constraints(derived=BY_FUNCTION),
    "auto": Constraints(groups="auto"),
    "all": Constraints(derived=BY_EXPRESSION, groups="auto", relations=["debt <= income"], immutable=["age"]),
    "all with a function": Constraints(derived=BY_FUNCTION, groups="auto", may_become_missing=False),
}
OPTIONS = {
    "none": {},
    "greedy": {"search": "greedy", "optimize": "proximity", "scale": "std"},
    "min_count": {"min_count": 3},
    "share_donor": {"share_donor": False},
    "plausibility": {"optimize": "plausibility"},
    "weights": {"feature_weights": {"ratio": 5, "home_free": 3, "level_name": 2}},
    "one donor": {"mix_donors": False, "categorical_features": ["level_name", "home_own"]},
}


def functions_of(rules):
    return {"derived": BY_FUNCTION} if "function" in str(rules.to_dict().get("derived")) else {}


def fitted(rules, table=X, **options):
    return NICE(MODEL, constraints=RULES[rules] if isinstance(rules, str) else rules, **options).fit(table, Y)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return saved(fitted("all", min_count=3, share_donor=False), tmp_path_factory.mktemp("saved"))


# ---- saved and loaded


def crossed(others):
    """All rules with the first of others, and all others with one of the rules; all pairs in `make test-deep`."""
    first, *more = others
    few = [*((rules, first) for rules in RULES), *(("all", one) for one in more)]
    return [*few, *deep(*((rules, one) for rules in RULES for one in others if (rules, one) not in few))]


@pytest.mark.parametrize(("rules", "options"), crossed(OPTIONS))
def test_an_explainer_comes_back(rules, options, tmp_path):
    nice = fitted(rules, **OPTIONS[options])
    assert isinstance(nice._fitted.schema, ReducedSchema)
    again = assert_comes_back(nice, tmp_path, ROWS, **functions_of(RULES[rules]))
    for record in nice.explain(ROWS.iloc[:2]).to_records():
        assert replay(record, again).differences == ()


def test_what_moves_together_is_what_the_test_thinks():
    schema = fitted("all")._fitted.schema
    assert schema.names == [
        *("income", "debt", "age", "home_own + home_free + home_shared", "level + level_name"),
    ]
    assert [type(one).__name__ for one in schema.computed] == ["Partner", "ByExpression"]


def test_the_file_has_whole_rows(path):
    with zipfile.ZipFile(path) as file:
        table = pa.ipc.open_file(file.read("training.arrow")).read_pandas()
        order = np.load(io.BytesIO(file.read("positions.npy")), allow_pickle=False)
    expected = X.iloc[order].reset_index(drop=True)
    assert table.astype(object).equals(expected.astype(object))


def test_trees_are_read_again(tmp_path):
    numbers = X.drop(columns="level_name")
    forest = RandomForestClassifier(10, random_state=0).fit(numbers, Y)
    nice = NICE(forest, accelerate=True, constraints=Constraints(derived=BY_EXPRESSION, groups="auto"))
    again = assert_comes_back(nice.fit(numbers, Y), tmp_path, numbers.iloc[:12])
    assert again._fitted.models.uses_twin


def test_what_is_rounded_otherwise_than_it_is_computed_comes_back(tmp_path):
    table = X.assign(dollars=0.0)
    table.loc[0, ["income", "debt", "ratio"]] = [24_000, 250.0, 0.13]  # 0.125, rounded up; it is computed as 0.12
    table.loc[1, ["income", "debt", "ratio"]] = [12_000, 1135.0, 1.13]  # 1.135, rounded down; it is computed as 1.14
    assert table["ratio"].max() == 1.13
    nice = fitted("expression", table)
    again = assert_comes_back(nice, tmp_path, ROWS)
    index = again._fitted.neighborhood.donors.index
    assert again._fitted.schema.expand(np.concatenate([index.values, index.other_values]))[:, 3].max() == 1.14
    # What stands where nothing can be computed is one of the values in the file.
    assert nice._fitted.schema.computed[0].fallback == again._fitted.schema.computed[0].fallback == 0.12


def test_what_follows_from_what_is_rounded_otherwise_comes_back(tmp_path):
    table = X.assign(dollars=0.0)
    table.loc[0, ["income", "debt", "ratio"]] = [24_000, 250.0, 0.13]
    table["percent"] = table["ratio"] * 100  # of the first row 13, which is computed as 12
    assert_comes_back(
        fitted(Constraints(derived={"percent": "ratio * 100", **BY_EXPRESSION}), table), tmp_path, table[:5]
    )


def test_sums_in_single_precision_come_back(tmp_path):
    table = X.assign(sum=(X["income"] + X["debt"]).astype("float32"))
    largest = table["sum"].idxmax()
    table.loc[largest, "sum"] = np.nextafter(table.loc[largest, "sum"], np.float32(0))
    assert_comes_back(fitted(Constraints(derived={"sum": "income + debt"}), table), tmp_path, table.iloc[:5])


def test_free_text_stays_free_text(tmp_path):
    table = X.assign(note=[f"said {number}" for number in range(len(X))])
    nice = fitted(Constraints(may_change=[]), table)
    again = assert_comes_back(nice, tmp_path, table.iloc[:5])
    assert [column.name for column in again._fitted.schema.columns if column.is_free_text] == ["note"]


def test_in_a_file_of_before_every_text_may_change(tmp_path):
    model = lambda X: np.column_stack([X["note"] != "said 3", X["note"] == "said 3"]).astype(float)
    table = pd.DataFrame({"note": [f"said {number}" for number in range(60)], "x": np.arange(60.0)})
    nice = NICE(model, classes=["no", "yes"], justified=False).fit(table)
    assert not nice.explain(table.iloc[:2]).found.any()

    def before(manifest):
        del manifest["moving"]
        for column in manifest["table"]["columns"]:
            del column["is_free_text"]

    again = NICE.load(forge(saved(nice, tmp_path), tmp_path, said(before)), model=model)
    assert again.explain(table.iloc[:2]).to_frame()["note"].tolist() == ["said 3", "said 3"]


# ---- functions


def test_a_function_is_asked_for_again(tmp_path):
    path = saved(fitted("function"), tmp_path)
    cases = [
        (None, r"with the function 'ratio' for the derived column 'ratio', .*Pass it again: NICE.load\(.*derived={'ratio': "),
        ({}, "with the function 'ratio' for the derived column 'ratio'"),
        ({"ratio": ratio, "age": ratio}, "derived was passed for 'age', but .* was saved without a function for it"),
        ({"ratoi": ratio}, "derived names 'ratoi', which is not a column of X.*Did you mean 'ratio'"),
        ({"ratio": RATIO}, "derived must have the function that .* was saved with, got 'round"),
        ([ratio], "derived must be a dict of functions, .*, got list"),
        ({"ratio": lambda X: ratio(X) + 0.01}, "'ratio' is not the one .*: it differs for 120 of 120 training rows, such as row 0"),
        ({"ratio": lambda X: ratio(X).where(X["age"] != X["age"].max(), 0)}, r"differs for [1-9] of 120 training rows"),
        ({"ratio": lambda X: X["nothing"]}, "the function that derives 'ratio' raised KeyError for 120 rows: 'nothing'"),
        ({"ratio": lambda X: 1.0}, r"the function that derives 'ratio' returned shape \(\) for 120 rows"),
    ]  # fmt: skip
    for given, match in cases:
        with pytest.raises(OptionError, match=match):
            NICE.load(path, model=MODEL, derived=given)
    with pytest.raises(OptionError, match="derived was passed for 'ratio', but .*: expressions are in the file"):
        NICE.load(saved(fitted("expression"), tmp_path), model=MODEL, derived=BY_FUNCTION)
    with pytest.raises(OptionError, match="derived was passed for 'ratio'"):
        NICE.load(saved(NICE(MODEL).fit(X, Y), tmp_path), model=MODEL, derived=BY_FUNCTION)


def test_a_function_may_be_called_otherwise_and_its_column_named_by_position(tmp_path):
    nice = fitted("function")
    path = saved(nice, tmp_path)
    again = NICE.load(path, model=MODEL, derived={3: lambda X: ratio(X)})
    one, other = nice.explain(ROWS), again.explain(ROWS)
    assert one.to_frame().equals(other.to_frame())
    assert again._options["constraints"] == {"derived": {"ratio": {"function": "<lambda>"}}}
    assert NICE.load(path, model=MODEL, derived=BY_FUNCTION)._options == nice._options
    # By its name, a record tells which function it was made with.
    assert "by the function '<lambda>' and by the function 'ratio'" in replay(one[0].to_record(), again).differences[0]


def test_functions_and_expressions_come_back_in_their_order(tmp_path):
    table = X.assign(double=X["age"] * 2, more=X["age"] * 2 + 1, most=X["age"] * 2.0 + 2, last=X["age"] * 2.0 + 3)
    functions = {"more": lambda X: X["double"] + 1, "last": lambda X: X["most"] + 1}
    nice = fitted(Constraints(derived={**functions, "most": "more + 1", "double": "age * 2"}), table)
    assert [one.position for one in nice._fitted.schema.computed] == [10, 11, 12, 13]
    assert_comes_back(nice, tmp_path, table.iloc[:5], derived=functions)


# ---- forged


def group(change):
    return said(lambda m: change(m["moving"]))


def cells_of(name, change):
    """The file with other cells in a column of its table."""

    def changed(table):
        at, cells = table.schema.get_field_index(name), table[name].combine_chunks()
        if not pa.types.is_dictionary(cells.type):
            return table.set_column(at, table.schema.field(name), pa.array(change(cells.to_pylist()), cells.type))
        codes = pa.array(change(cells.indices.to_pylist()), cells.indices.type)
        return table.set_column(at, table.schema.field(name), pa.DictionaryArray.from_arrays(codes, cells.dictionary))

    return table_of(changed)


def first_is(value):
    return lambda cells: [value, *cells[1:]]


def other_combinations(change):
    def changed(manifest, members):
        held = np.load(io.BytesIO(members["combinations_0.npy"]))
        members["combinations_0.npy"] = arrays.npy(change(held))

    return changed


def rule(change):
    def changed(manifest, members):
        for options in (manifest["options"], manifest["described"]):
            change(options["constraints"])

    return changed


LIES = {
    "a member beyond the table": (group(lambda g: g["groups"][0].append(10)), "a group of columns is 10, not a whole number"),
    "a negative member": (group(lambda g: g["groups"][0].insert(0, -1)), "a group of columns is -1"),
    "a member that is no number": (group(lambda g: g["groups"][0].append("age")), "a group of columns is 'age'"),
    "a group of one": (group(lambda g: g["groups"].append([2])), "a group of its columns has fewer than two"),
    "a group in disorder": (group(lambda g: g["groups"][0].reverse()), "fewer than two, or not in their order"),
    "a member twice": (group(lambda g: g["groups"].__setitem__(1, [6, 7, 8])), "moves with others in two ways"),
    "a derived member": (group(lambda g: g["groups"].__setitem__(0, [3, 4, 5, 6])), "moves with others in two ways"),
    "a pair that is in a group": (group(lambda g: g["partners"].append([0, 7])), "moves with others in two ways"),
    "a pair with itself": (group(lambda g: g["partners"].__setitem__(0, [9, 9])), "moves with others in two ways"),
    "a pair of words": (group(lambda g: g["partners"].__setitem__(0, [0, 8])), "a pair of its columns are not numbers"),
    "a pair of three": (group(lambda g: g["partners"][0].append(1)), "a pair of columns: 3 numbers instead of 2"),
    "a pair that is none": (group(lambda g: g["partners"].__setitem__(0, [2, 9])), "column 'dollars' does not follow"),
    "a pair less": (group(lambda g: g["partners"].clear()), "scales: 5 numbers instead of 6"),
    "a group less": (group(lambda g: g["groups"].pop()), "does not mention 'combinations_1.npy'|scales: 5 numbers"),
    "a group of others": (group(lambda g: g["groups"].__setitem__(0, [2, 5, 6])), "the combinations of columns that move together are not"),
    "more said": (group(lambda g: g.update(more=1)), "the description of its columns that move must have"),
    "less said": (group(lambda g: g.pop("groups")), "the description of its columns that move must have"),
    "nothing said": (said(lambda m: m.update(moving=None)), "it has derived columns, but does not say which others move"),
    "nothing at all": (said(lambda m: m.pop("moving")), "it has derived columns, but does not say which others move"),
    "groups that nobody asked for": (rule(lambda c: c.pop("groups")), "columns move together in it, but its option groups"),
    "another expression": (rule(lambda c: c["derived"].update(ratio="debt * 13 / income")), "column 'ratio' does not follow from others in"),
    "an expression of nothing": (rule(lambda c: c["derived"].update(ratio="dept / income")), "an invalid option. derived, for 'ratio', names 'dept'"),
    "a function of nothing": (rule(lambda c: c["derived"].update(rate={"function": "f"})), "an invalid option. derived names 'rate'"),
    "no expression": (rule(lambda c: c["derived"].update(ratio="debt *")), "an invalid option"),
    "no derived rule": (rule(lambda c: c.pop("derived")), "scales: 5 numbers instead of 6"),
    "a rule for another": (rule(lambda c: c["derived"].update(age="debt")), "column 'age' does not follow from others in"),
    "a row that contradicts": (cells_of("ratio", first_is(0.99)), "column 'ratio' does not follow from others in 1 of its rows"),
    "a row with two on": (cells_of("home_own", lambda cells: [1] * len(cells)), "the combinations of columns that move together are not"),
    "an unknown pair": (cells_of("level_name", lambda codes: codes[::-1]), "the combinations of columns that move together are not"),
    "another partner": (cells_of("dollars", first_is(1.0)), "column 'dollars' does not follow from others in"),
    "a combination more": (other_combinations(lambda a: np.concatenate([a, [[1.0, 1.0, 0.0]]])), "the combinations of columns"),
    "a combination less": (other_combinations(lambda a: a[1:]), "the combinations of columns"),
    "combinations in disorder": (other_combinations(lambda a: a[::-1]), "the combinations of columns"),
    "combinations of two": (other_combinations(lambda a: a[:, :2]), r"'combinations_0.npy' has the shape \(4, 2\)"),
    "a training row twice": (
        lambda manifest, members: members.update(
            {"positions.npy": arrays.npy(np.arange(120).clip(1))}
        ),
        "it does not have all training rows, each of them once",
    ),
    "another free text": (said(lambda m: m["table"]["columns"][8].update(is_free_text=True)), "is said to be free text, or not to be"),
    "free text of some": (said(lambda m: m["table"]["columns"][8].pop("is_free_text")), "of some columns only whether they are free text"),
    "numbers of free text": (said(lambda m: m["table"]["columns"][0].update(is_free_text=True)), "a numeric column has categories"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused(name, path, tmp_path):
    change, match = LIES[name]
    with pytest.raises(FileError, match=rf"forged.nice is damaged: .*({match})"):
        NICE.load(forge(path, tmp_path, change), model=MODEL)


def test_pairs_that_nobody_asked_for_are_refused(tmp_path):
    path = saved(fitted("expression"), tmp_path)
    for change in ({"partners": [[0, 9]]}, {"groups": [[4, 5, 6]]}):
        with pytest.raises(FileError, match="columns move together in it, but its option groups does not say so"):
            NICE.load(forge(path, tmp_path, said(lambda m, to=change: m["moving"].update(to))), model=MODEL)


def assert_refused_or_same(forged, expected):
    """Whether a forged file is loaded; if it is, it gives the answers of the one that was saved."""
    try:
        again = NICE.load(forged, model=MODEL)
    except (FileError, ModelError, OptionError):
        return False
    assert_same(again.explain(ROWS.iloc[:3]), expected)
    return True


@pytest.mark.deep
@pytest.mark.parametrize("options", [{}, *deep({"optimize": "plausibility", "min_count": 2})], ids=str)
def test_nothing_that_is_said_of_moving_columns_can_be_forged_to_other_answers(options, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # some hundred files, of which none must last
    nice = fitted("all", **options)
    path, expected = saved(nice, tmp_path), nice.explain(ROWS.iloc[:3])
    manifest, members = archive.read(path, "0")
    n_loaded = n_refused = 0
    for where in ("moving", "scales"):
        for place, value in leaves(manifest[where], (where,)):
            for new in others(value):
                if new == new:  # JSON has no NaN
                    change = said(lambda m, at=place, to=new: m.update({at[0]: changed_at(m, at, to)[at[0]]}))
                    is_loaded = assert_refused_or_same(forge(path, tmp_path, change), expected)
                    n_loaded, n_refused = n_loaded + is_loaded, n_refused + (not is_loaded)
    for name in (name for name in members if name.startswith(("combinations", "witness", "positions", "common"))):
        array = np.load(io.BytesIO(members[name]))
        for new in (array[::-1], array[:-1], np.zeros_like(array), array + 1, -array, array[..., :-1]):
            if new.shape != array.shape or not np.array_equal(new, array):
                change = lambda m, held, name=name, new=new: held.update({name: arrays.npy(new)})
                assert not assert_refused_or_same(forge(path, tmp_path, change), expected), name
    assert n_refused > 20 * n_loaded


# ---- pickled, copied, with other options


@pytest.mark.parametrize("rules", RULES)
def test_an_explainer_pickles_and_clones(rules):
    nice = fitted(rules)
    expected = nice.explain(ROWS)
    assert_same_to_the_bit(pickle.loads(pickle.dumps(nice)).explain(ROWS), expected)
    assert_same_to_the_bit(clone(nice).fit(X, Y).explain(ROWS), expected)
    assert nice.get_params()["constraints"] is RULES[rules]
    other = nice.with_search(optimize="proximity", search="greedy")
    assert_same(other.explain(ROWS), fitted(rules, optimize="proximity", search="greedy").explain(ROWS))
    other.set_params(constraints=Constraints(derived={"ratio": "debt / income"}))
    with pytest.raises(OptionError, match="'constraints' was changed after fit"):
        other.with_search(search="thorough")


def test_a_result_pickles_without_the_function_of_a_derived_column():
    rules = Constraints(derived={"ratio": lambda X: ratio(X)}, groups="auto", immutable=["income", "debt"])
    cfs = fitted(rules).explain(ROWS, constraints=Constraints(max_changes=1))
    offered = [one.constraints for one in cfs.relaxations if one is not None and one.constraints is not None]
    assert offered
    pickled = pickle.dumps(cfs)
    again = pickle.loads(pickled)
    assert_same_to_the_bit(again, cfs)
    assert np.array_equal(again.batch.distances, cfs.batch.distances)
    assert again.batch.n_changes.tolist() == cfs.batch.n_changes.tolist()
    assert b"ratio" in pickled
    assert b"<locals>" not in pickled
    names = [one.constraints.derived["ratio"] for one in again.relaxations if one is not None and one.constraints]
    assert names == [FunctionName("<lambda>")] * len(offered)
    # In this process, a relaxation has the function: an explainer can be made with it.
    copied = [one.constraints for one in copy.deepcopy(cfs).relaxations if one is not None and one.constraints]
    assert all(callable(one.derived["ratio"]) for one in [*offered, *copied])
    NICE(MODEL, constraints=copied[0]).fit(X, Y)


def test_a_pickled_result_does_not_hold_the_numbers_of_a_pair():
    table = X.assign(dollars=X["income"] + 0.123)
    cfs = fitted("auto", table, min_count=3).explain(table.iloc[:3])
    rare = table["dollars"].value_counts().index[-1]
    assert np.float64(rare).tobytes() not in pickle.dumps(cfs.batch.distance)


# ---- records


def through_json(record):
    return json.loads(json.dumps(record))


CALLS = {
    "plain": {},
    "three": {"n_counterfactuals": 3},
    "rules": {"constraints": Constraints(max_changes=2, ranges={"ratio": (None, 0.3)}, decreasing=["ratio"])},
    "each its own": {"constraints": [Constraints(immutable=["ratio"]) if row % 2 else None for row in range(6)]},
    "bounds": {"constraints": Constraints(ranges={"debt": (None, np.linspace(100, 400, 6))}), "target_class": "yes"},
}


@pytest.mark.deep
@pytest.mark.parametrize(("rules", "call"), crossed(CALLS))
def test_records_are_made_again(rules, call):
    nice = fitted(rules)
    for record in nice.explain(ROWS.iloc[:6], **CALLS[call]).to_records():
        assert replay(through_json(record), nice).differences == ()


@pytest.mark.deep
def test_a_record_of_one_of_all_optima_is_made_again():
    nice = fitted("all", optimize="balanced")
    for record in nice.explain(ROWS.iloc[:4]).pareto().to_records():
        assert replay(through_json(record), nice).differences == ()


def test_records_of_rows_that_could_not_exist_are_made_again():
    odd = ROWS.iloc[:6].astype({"debt": float}).copy()
    odd.loc[0, "ratio"] = 9.0
    odd.loc[1, ["debt", "ratio"]] = [90_000.0, round(90_000.0 * 12 / odd.loc[1, "income"], 2)]
    odd.loc[2, ["income", "dollars", "debt", "ratio"]] = [0, 0.0, 0.0, np.nan]
    odd.loc[3, "dollars"] = 1.0
    odd.loc[4, ["home_own", "home_free"]] = 1
    nice = fitted("all")
    cfs = nice.explain(odd)
    kinds = [None if reason is None else reason.kind.removeprefix("reason.") for reason in cfs.batch.reasons]
    assert kinds[:4] == [
        "contradicts_derived",
        "breaks_relation",
        "not_computed",
        "contradicts_derived",
    ]
    assert cfs.found[4]
    for record in cfs.to_records():
        assert replay(through_json(record), nice).differences == ()


def test_a_record_says_which_changes_follow_from_others():
    record = through_json(fitted("expression").explain(ROWS)[0].to_record())
    derived = [change for change in record["changes"] if change["feature"] == "ratio"]
    assert [change["derived"] for change in derived] == [True]
    assert all("derived" not in change for change in record["changes"] if change["feature"] != "ratio")


@pytest.mark.deep
def test_a_record_is_not_made_again_by_another_rule():
    record = fitted("function").explain(ROWS)[0].to_record()

    def other(X):
        return ratio(X)

    cases = [
        (Constraints(derived={"ratio": other}), "'ratio' is derived in two ways, by the function 'other' and by the function 'ratio'"),
        (Constraints(derived=BY_EXPRESSION), r"'ratio' is derived in two ways, by round\(debt \* 12 / income, 2\) and by the function"),
        (None, "derived cannot be set for one call"),
    ]  # fmt: skip
    for rules, match in cases:
        again = replay(record, fitted(rules))
        assert again.again is None
        assert re.search(f"it cannot be made again: {match}", again.differences[0])
    other.__name__ = "ratio"
    assert replay(record, fitted(Constraints(derived={"ratio": other}))).is_same


def test_a_record_of_before_is_made_again():
    nice = NICE(MODEL).fit(X, Y)
    record = nice.explain(ROWS)[0].to_record()
    assert "derived" not in json.dumps(record)
    assert replay(record, nice).is_same
    forged = {key: value for key, value in record.items() if key != "digest"} | {
        "call": {**record["call"], "derived": 1}
    }
    with pytest.raises(FileError, match="its call must have"):
        replay({**forged, "digest": digest_of(forged)}, nice)
