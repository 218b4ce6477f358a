"""share_donor=False never hands out a training row as it is; min_count=k only values that k training rows hold."""

import json
import pickle
from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markers import deep
from nicecf import NICE, Constraints, ModelError, NicecfError, OptionError, replay, testing
from nicecf.rules.privacy import Privacy
from nicecf.search.answers import Points
from nicecf.search.groups import Groups
from nicecf.search.step_back import step_back
from nicecf.tables.files import like, read_cells
from nicecf.views import exported_table as outcomes
from nicecf.views.plots.data import changes, frequencies, pareto, regions, variants, walk
from strategies import as_lists, problems

KEPT_BACK = "everything found is an unchanged training row, which share_donor=False keeps back"

WAYS = [("none", "greedy"), ("sparsity", "greedy"), ("plausibility", "greedy"), ("sparsity", "thorough")]


def decided(p, row):
    probabilities = p.model.probabilities(row)
    return p.classes[probabilities.index(max(probabilities))]


def wanted_classes(p, row):
    if p.target == "other":
        return set(p.classes) - {decided(p, row)}
    return set(p.target) if isinstance(p.target, (list, tuple, set)) else {p.target}


def another_way_exists(p, row):
    """Whether some hybrid of the row and a donor is in the target and no training row."""
    wanted = wanted_classes(p, row)
    for donor, label in zip(p.rows, p.labels, strict=True):
        if decided(p, donor) not in wanted or (p.justified and label != decided(p, donor)):
            continue
        for swapped in product([False, True], repeat=len(row)):
            hybrid = [new if swap else old for new, old, swap in zip(donor, row, swapped, strict=True)]
            if hybrid != row and decided(p, hybrid) in wanted and hybrid not in p.rows:
                return True
    return False


@pytest.mark.parametrize(("optimize", "search"), WAYS)
@given(p=problems(n_to_explain=st.integers(1, 4)))
def test_no_training_row_is_handed_out_and_another_way_is_found_where_there_is_one(optimize, search, p):
    nice = p.nice(optimize, search=search, share_donor=False).fit(p.frame(p.rows), p.labels)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    for one, row in zip(cfs, p.to_explain, strict=True):
        if decided(p, row) in wanted_classes(p, row):
            assert one.found
            assert not one.changes
            continue
        # With values of several donors, there may be a way where no single one leads.
        assert (
            one.found >= another_way_exists(p, row) if search == "thorough" else one.found == another_way_exists(p, row)
        )
        if one.found:
            [values] = as_lists(one.to_frame())
            assert values not in p.rows
            assert decided(p, values) in wanted_classes(p, row)
        else:
            assert one.reason
    if search == "thorough":
        front = cfs.pareto()
        assert front.donors.isna().all()
        changed = front[front.found & (front.metrics()["sparsity"].to_numpy(dtype=float, na_value=0) > 0)]
        assert not [values for values in as_lists(changed.to_frame()) if values in p.rows]


@pytest.mark.parametrize(("optimize", "search"), WAYS)
@given(p=problems(n_to_explain=st.integers(1, 4)), k=st.integers(2, 4))
def test_every_new_value_is_one_that_enough_training_rows_hold(optimize, search, p, k):
    nice = p.nice(optimize, search=search, min_count=k).fit(p.frame(p.rows), p.labels)
    cfs = nice.explain(p.frame(p.to_explain), target_class=p.target)
    counts = [Counter(column) for column in zip(*p.rows, strict=True)]
    for one, row in zip(cfs, p.to_explain, strict=True):
        if not one.found:
            assert one.reason
            continue
        [values] = as_lists(one.to_frame())
        for j, (old, new) in enumerate(zip(row, values, strict=True)):
            assert old == new or counts[j][new] >= k


def test_the_step_back_is_the_one_that_stays_nearest_to_the_row():
    # The donor is (4, 10); the model needs a + b >= 4: both ways back are valid, and (4, 0) is nearer than (0, 10).
    model = lambda X: np.column_stack([X.sum(axis=1) < 4, X.sum(axis=1) >= 4]).astype(float)
    X = np.array([[4.0, 10.0], [0.0, 0.0], [40.0, 20.0]])
    row = np.array([[0.0, 0.0]])
    as_it_is = NICE(model, optimize="none").fit(X, [1, 0, 1]).explain(row)
    assert as_it_is.to_numpy().tolist() == [[4.0, 10.0]]
    guarded = NICE(model, optimize="none", share_donor=False).fit(X, [1, 0, 1]).explain(row)
    assert guarded.to_numpy().tolist() == [[4.0, 0.0]]
    assert as_it_is.donors[0] == 0
    assert guarded[0].donor is None


def test_features_that_belong_together_step_back_together():
    model = lambda X: np.column_stack([X["c"] < 1, X["c"] >= 1]).astype(float)
    X = pd.DataFrame({"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [1.0, 0.0]})
    nice = NICE(model, optimize="none", share_donor=False, constraints=Constraints(groups=[["a", "b"]]))
    cfs = nice.fit(X, [1, 0]).explain(X[1:])
    assert cfs.to_frame().to_numpy().tolist() == [[0.0, 0.0, 1.0]]


def test_when_time_is_up_for_one_point_another_is_taken_back_by_what_is_known():
    def in_time(values, ahead=None):
        is_known = values.max(axis=1) < 2
        return np.where(is_known, 1.0, np.nan)[:, None], is_known

    question = SimpleNamespace(
        rows=np.zeros((2, 2)),
        groups=Groups.of(None),
        score=SimpleNamespace(in_time=in_time),
        accepts=lambda lines, values, outputs: outputs[:, 0] > 0,
    )
    points = Points(np.array([0, 1]), np.array([-1, -1]), np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones((2, 1)))
    distance = SimpleNamespace(between=lambda rows, others: np.abs(rows - others).sum(axis=1))
    back = step_back(question, points, distance=distance, is_refused=lambda values: np.zeros(len(values), dtype=bool))
    assert (back.row.tolist(), back.values.tolist()) == ([0], [[0.0, 1.0]])


def test_where_only_training_rows_help_the_reason_says_so():
    model = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])
    cfs = NICE(model, share_donor=False).fit(np.array([[0.0], [1.0]]), [0, 1]).explain(np.array([[0.0]]))
    assert not cfs.found[0]
    assert cfs.reasons[0] == KEPT_BACK
    assert cfs.reason_kinds[0] == "kept_back"


def test_where_no_common_value_helps_the_reason_names_min_count():
    model = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])
    X = np.array([[0.0, 5.0], [0.0, 5.0], [1.0, 5.0]])
    nice = NICE(model, min_count=2).fit(X, [0, 0, 1])
    assert nice.explain(X[:1]).reasons[0] == (
        "no training row gives 1 as required: only values that at least 2 training rows hold are used (min_count)"
    )
    more = NICE(model, min_count=2).fit(np.vstack([X, X[2:]]), [0, 0, 1, 1]).explain(X[:1])
    assert more.to_numpy().tolist() == [[1.0, 5.0]]


def test_the_guard_leaves_answers_alone_that_are_nobodys_row():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    model = lambda X: np.column_stack([X.sum(axis=1) < 0, X.sum(axis=1) >= 0]).astype(float)
    y = (X.sum(axis=1) >= 0).astype(int)
    plain, guarded = (NICE(model, share_donor=share).fit(X, y).explain(X[:50] / 10) for share in (True, False))
    is_shared = [row.tolist() in X.tolist() for row in plain.to_numpy()]
    assert not any(is_shared)
    assert np.array_equal(plain.to_numpy(), guarded.to_numpy())


def test_missing_values_and_minus_zero_count_as_the_same_value():
    guard = Privacy.of(np.array([[np.nan, 0.0], [1.0, 2.0]]), share_donor=False, min_count=1)
    other_nan = np.array([[-np.nan, -0.0], [1.0, np.nan], [1.0, 2.0]])
    assert guard.is_training_row(other_nan).tolist() == [True, False, True]


@pytest.mark.parametrize("options", [{"share_donor": 0.5}, {"min_count": 0}, {"min_count": 2.5}, {"min_count": True}])
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        NICE(lambda X: X, **options)


def test_a_training_row_in_single_precision_is_known_in_double_precision():
    training = pd.DataFrame({"a": [1.1, 2.3, 8.2], "b": [0.1, 0.1, 0.1]}, dtype="float32")
    model = lambda X: np.column_stack([X["a"] <= 5, X["a"] > 5]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, share_donor=False).fit(training)
    cfs = nice.explain(pd.DataFrame({"a": [1.0], "b": [0.1]}))
    assert not cfs.found[0]  # (8.2, 0.1) is a training row, whatever its last bits


def test_a_text_does_not_round_to_a_training_row():
    training = pd.DataFrame({"a": [0.1234567, 1.7654321, 9.12, 9.1234567, 9.9876543], "b": [1, 2, 1, 7, 8]})
    model = lambda X: np.column_stack([X["a"] <= 5, X["a"] > 5]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, share_donor=False, optimize="none").fit(training)
    one = nice.explain(pd.DataFrame({"a": [1.0], "b": [1]}))[0]
    assert one.to_frame()["b"].tolist() == [1]
    assert "9.12 " not in one.text()


@pytest.mark.parametrize("options", [{"search": "thorough"}, {"search": "thorough", "min_probability": 0.6}, {}])
def test_no_rule_is_blamed_for_what_the_guard_keeps_back(options):
    training = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    model = lambda X: np.column_stack([X[:, 0] <= 5, X[:, 0] > 5]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, share_donor=False, **options).fit(training)
    cfs = nice.explain(np.array([[0.5]]))
    assert cfs.reasons[0] == KEPT_BACK
    assert cfs.relaxations[0] is None


def test_no_relaxation_is_offered_that_leads_to_a_training_row():
    training = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [8.0, 8.0, 0.0]])
    model = lambda X: np.column_stack([X[:, :2].min(axis=1) <= 5, X[:, :2].min(axis=1) > 5]).astype(float)
    rules = Constraints(max_changes=1)
    nice = NICE(model, classes=[0, 1], justified=False, share_donor=False, constraints=rules).fit(training)
    cfs = nice.explain(np.array([[1.5, 1.5, 0.0]]))
    assert not cfs.found[0]
    assert cfs.relaxations[0] is None
    assert "relaxation" not in cfs.reasons[0]


def test_many_points_step_back_in_parts(monkeypatch):
    p = np.random.default_rng(0).integers(0, 4, size=(60, 4)).astype(float)
    model = lambda X: np.column_stack([X.sum(axis=1) < 6, X.sum(axis=1) >= 6]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, share_donor=False, optimize="none").fit(p)
    whole = nice.explain(p)
    monkeypatch.setattr("nicecf.search.step_back.CELLS_PER_CALL", 32)
    assert np.array_equal(nice.explain(p).to_numpy(), whole.to_numpy(), equal_nan=True)


def test_pictures_of_a_guarded_explainer_show_no_rare_value_and_no_donor():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.integers(0, 4, 300), "secret": random.integers(10_000, 99_999, 300)})
    X["town"] = random.choice(["A", "B"], 300)
    X.loc[7, "town"] = "Hamlet"
    model = lambda X: np.column_stack([X["a"] < 2, X["a"] >= 2]).astype(float)
    cfs = NICE(model, classes=[0, 1], justified=False, min_count=5).fit(X).explain(X.iloc[:3])
    columns = cfs.batch.provenance.statistics.columns
    assert columns[1].counts.sum() == 0  # no number of it occurs five times
    assert columns[2].counts.sum() == 299
    assert cfs[0].donor is not None
    assert cfs.batch.provenance.maker.donor(cfs[0].donor) is None


# Held by one training row each: nothing that leaves a guarded explainer may name them.
SECRETS = ("SECRET", "98765")
TOWNS, GRADES = ["Ayr", "Bath"], ["low", "mid", "high"]


def people_with_secrets():
    """Good is who has points and an income; of each other column, one person holds a value that nobody else has."""
    random = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"points": random.integers(0, 6, n), "income": random.choice([10.0, 20.5, 40.0, 80.0], n)})
    X["town"] = pd.Series(random.choice(TOWNS, n), dtype=object)
    X["name"] = pd.Series(random.choice(["Ann", "Bob"], n), dtype="string")
    X["grade"] = random.choice(GRADES, n)
    good = (X["points"] > 2) & (X["income"] > 15)
    # The best of all donors: near to everybody, and of the class that is wanted.
    X.loc[0, ["points", "income", "town", "name", "grade"]] = [5, 98765.25, "SECRET-17", "SECRET-19", "SECRET-18"]
    good[0] = True
    X["grade"] = pd.Categorical(X["grade"], ["SECRET-18", *GRADES], ordered=True)
    return X, good.astype(int)


def says_good(X):
    good = (np.asarray(X["points"]).astype(float) > 2) & (np.asarray(X["income"]).astype(float) > 15)
    return np.column_stack([~good, good]) * 0.8 + 0.1


def strangers():
    X = pd.DataFrame({"points": [0, 1, 5], "income": [10.0, 20.5, 10.0]})
    X["town"] = pd.Series(["Ayr", "Elsewhere", "Bath"], dtype=object)
    X["name"] = pd.Series(["Ann", "Bob", "Zoe"], dtype="string")
    X["grade"] = pd.Categorical(["low", "mid", "low"], ["low", "mid"])
    return X


def told(value):
    """All that a value says, however long: arrays and frames in full, with the categories of their columns."""
    with np.printoptions(threshold=10**9), pd.option_context("display.max_rows", None, "display.max_columns", None):
        if isinstance(value, pd.DataFrame):
            return f"{value.to_csv()} {[repr(value[name].dtype) + repr(value[name].array) for name in value]}"
        # Where an object has no other text than its repr, that is long and not written twice.
        return repr(value) if type(value).__str__ is object.__str__ else f"{value} {value!r}"


def all_outputs(nice, X, **asked):
    cfs = nice.explain(X, **asked)
    yield from (
        cfs,
        nice,
        nice._fitted,
        nice._fitted.schema,
        nice._fitted.statistics,
        cfs.batch.provenance,
        cfs.batch.schema,
    )
    yield from (cfs.to_frame(), cfs.changes(), cfs.metrics(), cfs.reasons, cfs.notes, cfs.to_numpy(), cfs.donors)
    yield from ((one, None if one is None else one.constraints) for one in cfs.relaxations)
    for style in ("sentence", "bullets", "analyst", "letter"):
        yield cfs.texts(style)
    yield from (cfs.to_html(), cfs._repr_html_(), json.dumps(cfs.to_records(), default=str), outcomes.table(cfs.batch))
    yield from (cfs.summary(by="town"), cfs.summary(by="grade")._repr_html_(), frequencies.frequencies_of(cfs))
    for one in cfs:
        yield from (one, one._repr_html_(), one.to_frame(), walk.walk_of(one), changes.changes_of(one))
        yield from (regions.regions_of(one, [a, b]) for a, b in combinations(X, 2) if {a, b} & {"points", "income"})
        yield variants.variants_of({"this": one})
        again = replay(one.to_record(), nice)
        yield from (again, again.again, None if again.again is None else again.again.to_frame())
    if asked.get("n_counterfactuals"):
        yield from (cfs.pareto(), cfs.pareto().to_frame(), pareto.pareto_of(cfs))


GUARDS = [{"min_count": 5}, {"min_count": 5, "share_donor": False}]


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, {}),
        *deep(
            ({"optimize": "none"}, {}),
            ({"optimize": "none"}, {"constraints": Constraints(max_changes=1)}),
            ({}, {"constraints": Constraints(immutable=["points", "income"])}),
        ),
        ({"optimize": "plausibility"}, {"constraints": Constraints(immutable=["points"], ranges={"income": (None, 11)})}),
        ({"search": "thorough"}, {"n_counterfactuals": 3}),
        ({"search": "thorough"}, {"constraints": Constraints(immutable=["points", "income"], max_changes=2)}),
    ],
)  # fmt: skip
def test_no_output_names_what_one_person_alone_holds(guard, options, asked):
    nice = NICE(says_good, classes=[0, 1], **options, **guard).fit(*people_with_secrets())
    for output in all_outputs(nice, strangers(), **asked):
        words = told(output)
        assert not [secret for secret in SECRETS if secret in words], type(output)


def test_without_a_guard_the_same_outputs_do_name_it():
    nice = NICE(says_good, classes=[0, 1], optimize="none").fit(*people_with_secrets())
    row = strangers()[:1].assign(income=98000.0, grade=pd.Categorical(["low"], GRADES))
    rules = Constraints(immutable=["town", "name", "grade"])
    words = " ".join(told(output) for output in all_outputs(nice, row, constraints=rules))
    assert [secret in words for secret in SECRETS] == [True, True]


ODD_RULES = [
    {"allowed": {"town": ["SECRET-1"]}}, {"allowed": {"town": ["Bat"]}}, {"allowed": {"grade": ["SECRET-1", "lo"]}},
    {"forbid": {"town": [("Ayr", "SECRET-1")]}}, {"forbid": {"grade": [("low", "top")]}},
    {"increasing": ["town"]}, {"decreasing": ["name"]}, {"increasing": {"town": ["Ayr", "Etn"]}},
    {"increasing": {"grade": ["low", "md"]}}, {"decreasing": {"grade": ["md", "high"]}},
    {"ranges": {"town": (1, 2)}}, {"step": {"grade": 1}}, {"immutable": ["SECRET"]}, {"allowed": {"income": ["much"]}},
]  # fmt: skip
ODD_ROWS = [
    {"town": 5}, {"town": True}, {"name": 3.5}, {"grade": 7}, {"income": "much"}, {"points": "few"}, {"income": np.inf},
]  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
def test_no_error_names_what_one_person_alone_holds(guard):
    X, y = people_with_secrets()
    nice = NICE(says_good, classes=[0, 1], **guard).fit(X, y)
    rows = strangers()
    calls = [lambda rules=rules: nice.explain(rows, constraints=Constraints(**rules)) for rules in ODD_RULES]
    calls += [
        lambda rules=rules: NICE(says_good, classes=[0, 1], constraints=Constraints(**rules), **guard).fit(X, y)
        for rules in ODD_RULES
    ]
    calls += [lambda odd=odd: nice.explain(rows.astype(object).assign(**odd)) for odd in ODD_ROWS]
    calls += [lambda: nice.explain(rows, target_class="SECRET"), lambda: nice.explain(rows.drop(columns="town"))]
    calls += [lambda: nice.explain(pl.from_pandas(rows.astype({"grade": str})))]
    for call in calls:
        with pytest.raises(NicecfError) as raised:
            call()
        words = str(raised.value)
        for asked in ("SECRET-1'", "'SECRET'"):  # what the caller wrote
            words = words.replace(asked, "")
        assert not [secret for secret in SECRETS if secret in words]


def test_whether_one_person_holds_a_value_is_not_told_to_those_who_guess_it():
    nice = NICE(says_good, classes=[0, 1], min_count=5).fit(*people_with_secrets())
    for rules in ({"allowed": {"town": ["{}"]}}, {"forbid": {"town": [("Ayr", "{}")]}}):
        messages = []
        for guess in ("SECRET-17", "SECRET-99"):
            given = Constraints(**json.loads(json.dumps(rules).replace("{}", guess)))
            with pytest.raises(OptionError) as raised:
                nice.explain(strangers(), constraints=given)
            messages.append(str(raised.value).replace(guess, "?"))
        assert messages[0] == messages[1]
        assert (
            messages[0].endswith(
                "a value that too few training rows have (min_count), or none: no counterfactual could have it. Its values "
                "are 'Ayr', 'Bath'."
            )
            or "'Bath', 'Ayr'" in messages[0]
        )
    for before in ("SECRET-17", "SECRET-99"):  # a row could have it
        assert nice.explain(strangers(), constraints=Constraints(forbid={"town": [(before, "Ayr")]})).found.all()


def test_an_order_does_not_tell_whether_one_person_holds_a_value():
    nice = NICE(says_good, classes=[0, 1], min_count=5).fit(*people_with_secrets())
    messages = []
    for guess in ("SECRET-17", "SECRET-99"):
        with pytest.raises(OptionError, match=r"which no training row has \(or too few: min_count\)") as raised:
            nice.explain(strangers(), constraints=Constraints(increasing={"town": ["Ayr", guess]}))
        messages.append(str(raised.value).replace(guess, "?"))
    assert messages[0] == messages[1]


def test_an_order_needs_no_value_that_is_kept_back():
    X, y = people_with_secrets()
    nice = NICE(says_good, classes=[0, 1], min_count=5).fit(X, y)
    cfs = nice.explain(strangers(), constraints=Constraints(increasing={"grade": GRADES, "town": TOWNS}))
    assert cfs.found.all()


def test_a_rule_of_the_rows_own_rare_value_is_kept():
    X, y = people_with_secrets()
    nice = NICE(says_good, classes=[0, 1], min_count=5, optimize="none").fit(X, y)
    row = strangers()[:1].assign(town="SECRET-17")
    assert nice.explain(row).to_frame()["town"][0] in TOWNS
    forbid = {"town": [("SECRET-17", town) for town in TOWNS]}
    assert nice.explain(row, constraints=Constraints(forbid=forbid)).to_frame()["town"][0] == "SECRET-17"


def test_another_model_is_told_by_the_position_of_a_training_row_and_not_by_its_values():
    is_other = []
    model = lambda X: 1 - says_good(X) if is_other else says_good(X)
    nice = NICE(model, classes=[0, 1], min_count=5).fit(*people_with_secrets())
    is_other.append(True)
    with pytest.raises(ModelError, match="training row") as raised:
        nice.explain(strangers())
    assert not [secret for secret in SECRETS if secret in str(raised.value)]


def test_rows_of_a_file_get_no_categories_that_are_kept_back(tmp_path):
    nice = NICE(says_good, classes=[0, 1], min_count=5).fit(*people_with_secrets())
    strangers().to_csv(tmp_path / "rows.csv", index=False)
    rows = like(read_cells(tmp_path / "rows.csv"), nice._fitted.schema.columns)
    assert rows["grade"].cat.categories.tolist() == GRADES
    assert nice.explain(rows).to_frame()["grade"].dtype == rows["grade"].dtype
    (tmp_path / "odd.jsonl").write_text('{"points": 1, "income": 1, "town": 5, "name": "A", "grade": "low"}\n')
    with pytest.raises(NicecfError, match="held text when fit saw it \\(such as '(Ayr|Bath)'\\)"):
        like(read_cells(tmp_path / "odd.jsonl"), nice._fitted.schema.columns)


def test_a_guarded_explainer_is_pickled():
    X, y = testing.applicants()
    nice = NICE(testing.Scorecard(), share_donor=False, min_count=2).fit(X, y)
    again = pickle.loads(pickle.dumps(nice))
    assert again.explain(X[:20]).texts() == nice.explain(X[:20]).texts()
