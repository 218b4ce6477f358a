"""DiCE, as the dice-ml package has it. All but the first test need dice-ml."""

import functools
import pickle
import random
import sys
import warnings
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

from clock import Clock, set_clock
from markers import deep
from nicecf import testing
from nicecf.baselines import dice, dice_data, moves_back
from nicecf.baselines.dice import DiCE
from nicecf.exceptions import ModelError, OptionError

ALL = pytest.mark.parametrize("method", dice.METHODS)


@pytest.fixture
def without_dice(monkeypatch):
    monkeypatch.setitem(sys.modules, "dice_ml", None)


@pytest.fixture(autouse=True)
def _dice_is_there(request):
    if "without_dice" not in request.fixturenames:
        pytest.importorskip("dice_ml", reason="dice-ml is not installed: pip install 'nicecf[dice]'")


@pytest.mark.usefixtures("without_dice")
def test_fit_says_what_to_install():
    message = (
        "nicecf.baselines.DiCE needs dice-ml, which is not installed. Install it with: pip install 'nicecf[dice]' "
        "(in a clone: pip install -e '.[dice]')"
    )
    with pytest.raises(ImportError) as caught:
        DiCE(yes_if(lambda X: X["a"] > 0)).fit(pd.DataFrame({"a": [0.0, 1.0]}))
    assert str(caught.value) == message


def yes_if(is_yes):
    """A model of two classes that is a condition on the table."""

    def probabilities(X):
        p = np.where(is_yes(X), 0.75, 0.25)
        return np.column_stack([1 - p, p])

    return probabilities


def explainer(is_yes, X, **options):
    return DiCE(yes_if(is_yes), classes=["no", "yes"], **options).fit(X)


def numbers(n_rows=40, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.normal(size=n_rows),
            "b": random.normal(size=n_rows).astype(np.float32),
            "c": random.integers(0, 200, n_rows).astype(np.uint8),
            "d": random.normal(size=n_rows) * 1e6,
        }
    )


CUT = "DiCE had found nothing for 'yes' after"
X_LAST = numbers()["a"].iloc[-1]


def applicants_in_a_hurry():
    """Of the rows that the checks explain, most miss a number: dice-ml is not asked, and time is saved."""
    X, y = testing.applicants(60)
    X.iloc[:46, X.columns.get_loc("income")] = np.where(np.isin(np.arange(46), [1, 2]), 1.0, np.nan)
    return X, y


THREADS = testing.check_threads_may_share_one_explainer
CASES = [(method, check) for method in dice.METHODS for check in testing.all_checks]
CASES = [case for case in CASES if case[1] is not THREADS or case[0] == "random"]
OTHERS = deep(*((method, THREADS) for method in dice.METHODS if method != "random"))


@pytest.mark.parametrize(("method", "check"), [*CASES, *OTHERS], ids=lambda one: getattr(one, "__name__", one))
def test_contract(method, check):
    check(functools.partial(DiCE, method=method), data=applicants_in_a_hurry)


@ALL
def test_the_one_value_that_matters_is_found(method):
    X = pd.DataFrame({"color": ["red", "green", "blue"] * 12, "shop": list("uvwxyz") * 6})
    found = explainer(lambda X: X["color"] == "blue", X, method=method).explain(X.iloc[:2])
    assert found.found.all()
    assert found.to_frame()["color"].tolist() == ["blue", "blue"]


@ALL
def test_nearest_of_numbers_and_names_of_any_kind(method):
    X = pd.DataFrame({("a", 1): np.arange(40.0), "y": list("uv") * 20, 3: np.arange(40) % 7})
    found = explainer(lambda X: X[("a", 1)] >= 20, X, method=method).explain(X.iloc[:2])
    assert found.found.all()
    assert (found.to_frame()[("a", 1)] >= 20).all()
    assert found.to_frame().dtypes.equals(X.dtypes)


def test_the_seed_decides_and_nothing_else():
    X = numbers()
    answers = {}
    for turn, seed in enumerate([0, 0, 1]):
        np.random.seed(turn)
        random.seed(turn)
        found = explainer(lambda X: X["a"] > 0, X, random_state=seed).explain(X.iloc[:2])
        testing.assert_same(found, answers.setdefault(seed, found))
    assert not answers[0].to_frame().equals(answers[1].to_frame())


@ALL
def test_global_random_numbers_are_left_alone(method):
    X = numbers()
    before = np.random.get_state(), random.getstate()
    explainer(lambda X: X["a"] > 0, X, method=method).explain(X.iloc[:2])
    after = np.random.get_state(), random.getstate()
    assert before[0][0] == after[0][0]
    assert (before[0][1] == after[0][1]).all()
    assert before[0][2:] == after[0][2:]
    assert before[1] == after[1]


@ALL
def test_nothing_is_printed(method, capfd):
    X = numbers()
    for is_yes in (lambda X: X["a"] > 0, lambda X: X["a"] > 1e9):
        explainer(is_yes, X, method=method, seconds_per_row=0.5).explain(X.iloc[:1], target_class="yes")
    assert capfd.readouterr() == ("", "")


def test_what_the_model_prints_and_warns_of_is_not_hushed(capfd):
    def is_yes(X):
        print("asked")
        warnings.warn("the model's own", stacklevel=1)
        return X["a"] > 0

    X = numbers()
    with pytest.warns(UserWarning, match="the model's own"):
        method = explainer(is_yes, X)
    capfd.readouterr()
    with pytest.warns(UserWarning, match="the model's own") as caught:
        found = method.explain(X.iloc[:1])
    assert capfd.readouterr().out.count("asked") == found.model_calls
    assert found.model_calls > 2
    assert {str(one.message) for one in caught} == {"the model's own"}


def test_filters_that_another_thread_puts_back_change_nothing():
    X = numbers()
    put_back = []

    def is_yes(X):
        if len(X) > 100 and not put_back:  # the first that dice-ml asks about
            put_back.append(warnings.simplefilter("error"))
        return X["a"] > 0

    usual = explainer(lambda X: X["a"] > 0, X).explain(X.iloc[:1])
    testing.assert_same(explainer(is_yes, X).explain(X.iloc[:1]), usual)
    assert put_back


@ALL
def test_a_model_that_never_says_yes_ends_in_time(method):
    X = numbers()
    start = perf_counter()
    found = explainer(lambda X: X["a"] > 1e9, X, method=method, seconds_per_row=0.5).explain(
        X.iloc[:3], target_class="yes"
    )
    assert perf_counter() - start < 5
    no_row = f"dice-ml's method '{method}' starts from training rows that are 'yes', and there is none"
    ended, cut = "dice-ml's method 'random' found nothing that is 'yes'", f"{CUT} 0.5 seconds"
    assert set(found.reasons) <= ({ended, cut} if method == "random" else {no_row})


def test_a_search_that_would_never_end_is_cut():
    # The genetic method wants ten rows to begin with, and chance never finds more than the one of the training data.
    X = numbers()
    start = perf_counter()
    found = explainer(lambda X: X["a"] == X_LAST, X, method="genetic", seconds_per_row=0.5).explain(X.iloc[:3])
    assert perf_counter() - start < 5
    assert set(found.reasons) == {f"{CUT} 0.5 seconds"}


def test_remembered_rows_do_not_stop_the_clock(monkeypatch):
    monkeypatch.setattr(dice._RowByRow, "_refusal", lambda *_: None)  # it would see that there is nothing to begin with
    X = pd.DataFrame({"a": list("uv") * 5, "b": list("xyzxy") * 2})
    found = explainer(lambda X: X["a"] == "w", X, method="genetic", seconds_per_row=0.3).explain(
        X.iloc[:1], target_class="yes"
    )
    assert found.reasons.tolist() == [f"{CUT} 0.3 seconds"]
    assert found.reason_kinds.tolist() == ["dice_out_of_time"]
    assert found.model_rows <= 6


def test_the_time_budget_ends_all_rows():
    X = numbers()
    start = perf_counter()
    found = explainer(lambda X: X["a"] == X_LAST, X, method="genetic").explain(X.iloc[:3], time_budget=0.5)
    assert perf_counter() - start < 5
    assert set(found.reasons) == {"time_budget was used up before DiCE reached 'yes'"}


def test_the_time_budget_ends_waiting_for_other_threads():
    X = numbers()
    method = explainer(lambda X: X["a"] > 0, X)
    with dice._dice_lock:
        found = method.explain(X.iloc[:2], time_budget=0.1)
    assert all(reason.startswith("time_budget was used up before DiCE") for reason in found.reasons)


def test_a_row_with_a_missing_number_says_so():
    X = numbers()
    found = explainer(lambda X: X["a"] > 0, X).explain(X.iloc[:1].assign(d=np.nan), target_class=["no", "yes"])
    assert found.found.all()  # in a wanted class already
    found = explainer(lambda X: X["a"] > 0, X).explain(X.iloc[:1].assign(a=-1.0, d=np.nan))
    assert found.reasons.tolist() == [
        "dice-ml takes no missing numbers, as this row has in 'd': it was not asked for 'yes'"
    ]


@ALL
def test_training_rows_with_missing_numbers_are_left_out(method):
    X = numbers()
    X.loc[X["a"] > 1, "d"] = np.nan
    found = explainer(lambda X: X["a"] > 0, X, method=method).explain(X[X["a"] < 0].iloc[:2])
    assert found.found.all()
    assert found.to_frame()["a"].between(0, 1).all()
    nowhere = explainer(lambda X: X["a"] > 0, X.assign(d=np.nan), method=method).explain(X[X["a"] < 0].iloc[:1])
    assert nowhere.reasons.tolist() == [
        "dice-ml takes no missing numbers, and every training row has one: DiCE knows none that is 'yes'"
    ]


@ALL
def test_a_missing_category_is_a_category_and_an_unseen_one_has_no_answer(method):
    X = pd.DataFrame({"home": ["own", "rent", None] * 12, "age": np.arange(36)})
    rows = pd.DataFrame({"home": [None, "boat", "rent"], "age": [30, 30, 30]})
    found = explainer(lambda X: X["home"] == "own", X, method=method).explain(rows)
    assert found.found.tolist() == [True, False, True]
    assert (found.to_frame()["home"][found.found] == "own").all()
    assert found.reasons[1] == (
        "dice-ml takes no category that its training rows do not have, as this row has in 'home': it "
        "was not asked for 'yes'"
    )


def test_what_kdtree_finds_is_a_training_row_to_the_last_digit():
    X = numbers()
    found = explainer(lambda X: X["a"] > 0, X, method="kdtree", posthoc_sparsity=False).explain(X.iloc[:6])
    assert found.found.all()
    assert pd.isna(found.donors).all()
    for row in found.to_frame().itertuples(index=False):
        assert X.eq(list(row)).all(axis=1).any()


@pytest.mark.parametrize("method", ["random", "genetic"])
def test_values_that_stay_keep_their_digits_and_new_ones_their_type(method):
    X = numbers()
    rows = numbers(4, seed=1)
    found = explainer(lambda X: X["c"] < 40, X, method=method).explain(rows)
    assert found.found.all()
    frame = found.to_frame()
    assert frame.dtypes.equals(X.dtypes)
    assert ((frame["c"] < 40) != (rows["c"] < 40)).all()
    changed = found.changes()
    assert len(changed) == (frame != rows).to_numpy().sum()


def test_large_whole_numbers_are_checked_as_they_are_handed_out():
    X = pd.DataFrame({"a": np.random.default_rng(0).integers(0, 2**40, 30) * 2})

    def is_odd(X):
        assert X["a"].dtype == np.int64
        return X["a"] % 2 == 1

    found = explainer(is_odd, X).explain(X.iloc[:2])
    assert found.found.all()
    assert found.to_frame()["a"].dtype == np.int64


def test_numbers_have_their_own_decimals_wherever_their_column_stands():
    X = pd.DataFrame({"home": ["own", "rent"] * 10, "share": [0.0, 0.25, 0.5, 0.75, 1.0] * 4})
    # Too few training rows to breed from: dice-ml has to draw shares between 0.4 and 0.6, and not 0 or 1.
    found = explainer(lambda X: (X["share"] - 0.5).abs() < 0.1, X, method="genetic", seconds_per_row=5).explain(
        X.iloc[:1]
    )
    assert found.found.all()


@pytest.mark.parametrize("method", ["genetic", "kdtree"])
def test_the_model_is_not_asked_about_the_training_data_again(method):
    X = numbers(400)
    found = explainer(lambda X: X["a"] > 0, X, method=method).explain(X.iloc[:2])
    assert found.found.all()
    assert found.model_rows < 300


def test_several_classes_and_thresholds_are_one_question():
    X, y = testing.applicants()
    X = X.dropna()
    model = testing.Scorecard()
    cut_off = DiCE(model, decision={"yes": 0.6}).fit(X, y[X.index]).explain(X.iloc[:4], target_class="yes")
    assert cut_off.found.any()
    frame = cut_off.to_frame()[cut_off.found]
    assert (model.predict_proba(frame)[:, 2] >= 0.6).all()


def test_errors_of_the_model_are_errors():
    X = numbers()
    fitted = []

    def is_yes(X):
        if fitted and len(X) > 100:
            raise ValueError("out of order")
        return X["a"] > 0

    method = explainer(is_yes, X)
    fitted.append(True)
    with pytest.raises(ModelError, match="out of order"):
        method.explain(X.iloc[:1])


def test_errors_of_dice_ml_are_reasons(monkeypatch):
    from dice_ml.explainer_interfaces.dice_random import DiceRandom

    def fails(self, query_instance, *_, **__):
        raise TypeError("no such thing")

    X = numbers()
    method = explainer(lambda X: X["a"] > 0, X)
    monkeypatch.setattr(DiceRandom, "_generate_counterfactuals", fails)
    rows = X[X["a"] < 0].iloc[:2]
    assert (
        method.explain(rows).reasons.tolist()
        == ["dice-ml failed on the way to 'yes', with TypeError: no such thing"] * 2
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gradient"}, "method='gradient' is not known; choose one of 'random', 'genetic', 'kdtree'"),
        ({"n_counterfactuals": 0}, "n_counterfactuals must be a whole number of at least 1"),
        ({"posthoc_sparsity": 0.1}, "posthoc_sparsity must be True or False, got 0.1"),
        ({"seconds_per_row": 0}, "seconds_per_row must be a number of seconds above 0"),
        ({"random_state": -1}, "random_state must be an integer"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        explainer(lambda X: X["a"] > 0, numbers(), **options)


def test_one_feature_cannot_be_crossed():
    X = numbers()[["a"]]
    reason = explainer(lambda X: X["a"] > 0, X, method="genetic").explain(X[X["a"] < 0].iloc[:1]).reasons[0]
    assert reason == "dice-ml's method 'genetic' crosses features, and there is only one to get to 'yes'"


@ALL
def test_a_cut_off_far_from_a_half_is_no_plateau(method):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 4)), columns=list("abcd"))
    p = lambda X: 1 / (1 + np.exp(-np.asarray(X, float)[:, :2].sum(axis=1)))
    model = lambda X: np.column_stack([1 - p(X), p(X)])
    found = DiCE(model, classes=["no", "yes"], method=method, decision=0.12).fit(X).explain(X.iloc[:6])
    assert found.found.all()
    assert ((p(found.to_frame()) >= 0.12) != (p(X.iloc[:6]) >= 0.12)).all()


def sums(n_rows=200, n_columns=4, seed=0):
    return pd.DataFrame(
        np.random.default_rng(seed).normal(size=(n_rows, n_columns)), columns=list("abcdef")[:n_columns]
    )


@ALL
def test_several_counterfactuals_are_distinct_and_valid_and_the_first_changes_the_least(method):
    X = sums()
    rows = X[X.sum(axis=1) <= 0].iloc[:4]
    found = explainer(lambda X: X.sum(axis=1) > 0, X, method=method, n_counterfactuals=3).explain(rows)
    assert found.found.all()
    assert found.rows.tolist() == np.repeat(np.arange(4), 3).tolist()
    frame = found.to_frame()
    assert (frame.sum(axis=1) > 0).all()
    assert not frame.assign(row=found.rows).duplicated().any()
    n_changes = (frame.to_numpy() != rows.to_numpy()[found.rows]).sum(axis=1)
    assert all((np.diff(n_changes[found.rows == row]) >= 0).all() for row in range(4))


@pytest.mark.deep
@ALL
def test_fewer_than_asked_for_are_kept(method):
    # Only two rows of this table are there to be found.
    X = pd.DataFrame({"color": ["red", "green", "blue"] * 12, "shop": list("uv") * 18})
    rows = X.iloc[:2]
    method = explainer(lambda X: X["color"] == "blue", X, method=method, n_counterfactuals=3, seconds_per_row=20)
    found = method.explain(rows)
    assert found.found.all()
    assert np.bincount(found.rows).max() <= 2
    assert set(found.rows) == {0, 1}
    assert not found.to_frame().assign(row=found.rows).duplicated().any()


def test_what_is_handed_out_twice_or_is_not_accepted_is_dropped(monkeypatch):
    X = sums()
    method = explainer(lambda X: X["a"] > 0, X, n_counterfactuals=3, posthoc_sparsity=False)
    row = X[X["a"] < 0].iloc[:1]
    two, one = row.to_numpy()[0] * [-1, -1, 1, 1], row.to_numpy()[0] * [-1, 1, 1, 1]
    refused = row.to_numpy()[0] * [1, -1, 1, 1]
    monkeypatch.setattr(dice._RowByRow, "_ask", lambda *_: np.array([two, refused, one, one]))
    found = method.explain(row)
    assert found.found.tolist() == [True, True]
    assert found.to_frame().to_numpy().tolist() == [one.tolist(), two.tolist()]
    monkeypatch.setattr(dice._RowByRow, "_ask", lambda *_: np.array([refused, refused]))
    assert method.explain(row).reasons.tolist() == ["what DiCE found is not 'yes' when the model is asked about it"]


def test_numbers_that_changed_little_move_back():
    # "kdtree" hands out training rows, in which every number differs from the row's, most of them by little.
    X = sums(400, 3).round(2)
    is_yes = lambda X: X["a"] > 0.5
    rows = X[~is_yes(X)].iloc[:20]
    as_found, moved = (
        explainer(is_yes, X, method="kdtree", posthoc_sparsity=one).explain(rows) for one in (False, True)
    )
    assert as_found.found.all()
    assert moved.found.all()
    assert is_yes(moved.to_frame()).all()
    before, after = (np.abs(one.to_frame().to_numpy() - rows.to_numpy()) for one in (as_found, moved))
    assert (after <= before).all()
    # Columns that do not matter are the row's own again, to the last digit; what matters stops where it is accepted.
    is_near = before[:, 1:] <= np.quantile(np.abs(X - X.median()), 0.05)
    assert is_near.any()
    assert (after[:, 1:][is_near] == 0).all()
    assert (after == 0).sum() > (before == 0).sum()


def test_a_number_moves_back_by_its_last_decimal_until_it_would_not_be_accepted():
    X = pd.DataFrame({"a": np.arange(0, 40, 0.1).round(1), "b": np.tile([0.0, 1.0], 200)})
    found = explainer(lambda X: X["a"] > 20.0, X, method="kdtree").explain(
        pd.DataFrame({"a": [19.0, 20.0], "b": [0.0, 0.0]})
    )
    assert found.found.all()
    assert found.to_frame()["a"].tolist() == [20.1, 20.1]


@pytest.mark.parametrize(
    ("start", "end", "decimals", "path"),
    [
        (3.0, 1.0, 0, [2.0, 1.0]),
        (0.1, 0.4, 1, [0.2, 0.3, 0.4]),
        (0.1, 0.1004, 3, [0.1004]),
        (0.0, 1e-9, 15, (np.arange(1, 101) * 1e-11).round(15)),
        (0.0, 2000.0, 0, np.arange(20.0, 2001.0, 20.0)),
        (0.0, 1e-290, 300, (np.arange(1, 101) * 1e-292)),
    ],
)
def test_the_way_back_ends_at_the_rows_own_number_after_a_hundred_steps_at_most(start, end, decimals, path):
    ours = moves_back._path(start, end, decimals)
    assert ours == pytest.approx(np.array(path), rel=1e-9, abs=0)
    assert ours[-1] == end


def test_what_is_found_when_time_is_up_is_kept_and_marked(monkeypatch):
    X = sums(400, 4)
    clock = Clock(yes_if(lambda X: X["a"] > 0.5), call=0.0, row=0.01)
    monkeypatch.setattr(moves_back, "_QUANTILE", 1.0)  # most numbers may move, in 100 steps: a second for each column
    fit = lambda **options: DiCE(clock, classes=["no", "yes"], method="kdtree", **options).fit(X)
    patient, hasty = fit(seconds_per_row=None), fit(seconds_per_row=1.5)
    set_clock(monkeypatch, clock)
    rows = X[X["a"] < 0.5].iloc[:2]
    start = clock.now
    patient.explain(rows.iloc[:1])
    first_row = clock.now - start
    ended, cut = patient.explain(rows), hasty.explain(rows)
    n_own = [(one.to_frame().to_numpy() == rows.to_numpy()).sum(axis=1) for one in (ended, cut)]
    assert cut.found.all()
    assert ended.notes.tolist() == [None, None]
    assert set(cut.notes) == {"seconds_per_row (1.5) was used up before the search ended: this is the best so far"}
    assert 0 < n_own[1].sum() < n_own[0].sum()
    late = patient.explain(rows, time_budget=first_row + 1.5)
    assert late.found.all()
    assert late.notes.tolist() == [None, "time_budget was used up before the search ended: this is the best so far"]


def test_categories_that_chance_never_hits_are_cut_too():
    # One row in a million: the genetic method wants thirty to begin with. Every draw is remembered sooner or later.
    X = pd.DataFrame(
        np.random.default_rng(0).integers(0, 2, (60, 20)).astype(str), columns=list("abcdefghijklmnopqrst")
    )
    X.iloc[0] = "1"
    start = perf_counter()
    method = explainer(lambda X: (X == "1").all(axis=1), X, method="genetic", n_counterfactuals=3, seconds_per_row=0.5)
    found = method.explain(X.iloc[1:3])
    assert perf_counter() - start < 10
    assert set(found.reason_kinds) == {"dice_out_of_time"}


def test_what_dice_ml_sees_can_be_sent_to_another_process():
    X = numbers()
    method = explainer(lambda X: X["a"] > 0, X, method="genetic")
    found = method.explain(X.iloc[:2])
    table = method._fitted.search.find.table
    assert "interface" in vars(table)
    again = pickle.loads(pickle.dumps(table))
    assert "interface" not in vars(again)
    assert (again.interface.data_df == table.interface.data_df).all(axis=None)
    assert found.found.all()


@pytest.mark.parametrize("method", ["random", "genetic"])
def test_what_is_done_in_place_of_dice_ml_comes_to_the_same(method, monkeypatch):
    random = np.random.default_rng(0)
    X = numbers(300).assign(
        e=random.normal(size=300).round(1),
        color=random.choice(list("rgb"), 300),
        shop=random.choice(list("abcdefghijklm"), 300),
    )
    fit = lambda: explainer(
        lambda X: (X["e"] > 0.5) & (X["color"] != "r"), X, method=method, n_counterfactuals=3, seconds_per_row=None
    )
    ours = fit().explain(X.iloc[:6])
    as_it_is = dice._RowByRow._explainer

    def untouched(self, model):
        made = as_it_is(self, model)
        for name in ("label_decode", "build_KD_tree", "get_continuous_samples"):
            vars(made).pop(name, None)
        interface = type(made.data_interface)
        for name in ("normalize_data", "get_all_dummy_colnames"):
            monkeypatch.setattr(interface, name, getattr(interface.__mro__[1], name))
        return made

    monkeypatch.setattr(dice._RowByRow, "_explainer", untouched)
    monkeypatch.setattr(dice, "Table", AsText)
    testing.assert_same(fit().explain(X.iloc[:6]), ours)


class AsText:
    """The table with categories as text, whatever the method."""

    @staticmethod
    def of(schema, values, *, as_text):
        return dice_data.Table.of(schema, values, as_text=True)
