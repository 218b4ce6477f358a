"""The progress bar: on a terminal, after a second; silent in pipes and logs."""

import io
import warnings
from itertools import count

import numpy as np
import pytest

from clock import Clock, set_clock
from nicecf import NICE, LongRunWarning, OptionError, baselines
from nicecf.search import mixed, thorough
from nicecf.support import clock as clocks
from nicecf.support import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def set_time(patch, now, share=1.0):
    """The clock that bars and warnings look at, and how much of it is processor time."""
    for module in (progress, clocks):
        patch.setattr(module, "perf_counter", now)
    patch.setattr(clocks, "process_time", lambda: share * now())


@pytest.fixture
def explain(monkeypatch):
    now = [0.0]

    def model(X):
        now[0] += 0.7
        p = 1 / (1 + np.exp(-X.sum(axis=1)))
        return np.column_stack([1 - p, p])

    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    y = (X.sum(axis=1) > 0) * 1
    set_time(monkeypatch, lambda: now[0])

    def explain(stream, search="thorough", **options):
        nice = NICE(model, search=search, plausibility=lambda X: np.abs(X).sum(axis=1)).fit(X, y)
        monkeypatch.setattr("sys.stderr", stream)
        return nice.explain(X[:30], **options)

    return explain


def test_it_shows_on_a_terminal_and_is_wiped_out(explain):
    explain(stream := Terminal())
    lines = stream.getvalue().split("\r")
    assert any("of 30 rows" in line and "left" in line for line in lines)
    assert lines[-1] == ""
    assert set(lines[-2]) == {" "}


@pytest.mark.parametrize("options", [{}, {"progress": None}, {"progress": False}])
def test_it_is_silent_in_a_pipe(explain, options):
    explain(stream := io.StringIO(), **options)
    assert stream.getvalue() == ""


def test_it_can_be_turned_off_on_a_terminal_and_on_in_a_pipe(explain):
    explain(stream := Terminal(), progress=False)
    assert stream.getvalue() == ""
    explain(stream := io.StringIO(), progress=True)
    assert "explaining [" in stream.getvalue()


def test_without_a_stderr_it_is_silent(explain):
    assert explain(None).found.all()
    closed = Terminal()
    closed.close()
    assert explain(closed).found.all()


def test_short_work_shows_nothing(explain, monkeypatch):
    monkeypatch.setattr(progress, "perf_counter", lambda: 0.0)
    explain(stream := Terminal())
    assert stream.getvalue() == ""


@pytest.mark.parametrize("search", ["thorough", "greedy"])
def test_a_function_is_told_how_far_it_is(explain, search):
    told = []
    explain(Terminal(), search, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (30, 30)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_rows_that_are_in_the_target_already_count_as_done(explain):
    told = []
    explain(Terminal(), target_class=1, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (30, 30)


def test_other_values_are_an_error(explain):
    with pytest.raises(OptionError, match="progress='yes' is not known; pass True, False, None"):
        explain(io.StringIO(), progress="yes")


def test_what_was_done_before_says_nothing_about_the_time_left():
    line = progress.bar_line(60, 100, 10.0, already=50, verb="running", unit="cells")
    assert line == "running [##############          ] 60 of 100 cells, 0:40 left"
    assert "left" not in progress.bar_line(50, 100, 10.0, already=50)


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    lines = progress.Lines(unit="cells", every=60.0)
    for seconds, done in [(0, 50), (30, 55), (70, 60), (71, 61), (140, 90)]:
        now[0] = 100.0 + seconds
        lines(done, 100)
    assert capsys.readouterr().err == "60 of 100 cells, 4:40 left\n90 of 100 cells, 0:35 left\n"


# --- a warning before it takes long ----------------------------------------------------------------------------------


def warned_of(steps, total=1_000_000, choice=None, if_long="Do less.", share=1.0):
    """What is warned of if so many rows are done after so many seconds."""
    now = [0.0]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        set_time(patch, lambda: now[0], share)
        patch.setattr("sys.stderr", io.StringIO())
        with progress.reporting(choice, total, if_long=if_long) as report:
            for seconds, done in steps:
                now[0] = seconds
                report(done)
    assert all(one.category is LongRunWarning for one in caught)
    return [str(one.message) for one in caught]


def test_work_that_will_take_long_is_warned_of_once():
    assert warned_of([(1.0, 256), (2.5, 768), (3.5, 1024), (9.0, 2048)]) == [
        "explaining the other 998,976 rows will take about 54 minutes. Do less. progress=True shows how much is left."
    ]
    assert warned_of([(0, 100), (60, 200)], total=250) == []
    assert warned_of([(0, 100), (60, 200)], total=310, choice=True) == [
        "explaining the other 110 rows will take about 1 minute. Do less."
    ]


def test_what_is_done_once_says_nothing_about_the_rest():
    # Two minutes until the first rows are done, most of it for all rows at once; then a second for every 10,000.
    assert warned_of([(120, 10_000), (121, 20_000), (125, 60_000)], total=500_000) == []
    # The first rows of a search that works on 50 at a time: nobody knows when the next ones are done.
    assert warned_of([(10.0, 1), (10.1, 50), (10.2, 50)], total=300) == []
    assert warned_of([(10.0, 1), (10.1, 50), (20.0, 51)], total=300) == []
    assert len(warned_of([(10.0, 1), (10.1, 50), (20.0, 51)], total=500)) == 1


def test_work_is_judged_by_the_processor_time_that_it_takes_on_a_busy_machine():
    steps = [(0.0, 10), (24.0, 20)]  # 24 s for 10 rows; by the clock, 100 more would take 4 minutes
    assert warned_of(steps, total=120, share=0.15) == []
    assert warned_of(steps, total=2_000, share=0.15) == [
        "explaining the other 1,980 rows will take about 12 minutes. Do less. progress=True shows how much is left."
    ]


@pytest.mark.parametrize("share", [0.01, 1.0, 8.0])
def test_who_waits_for_a_server_or_uses_several_threads_is_told_what_the_clock_says(share):
    assert warned_of([(0.0, 10), (24.0, 20)], total=120, share=share) == [
        "explaining the other 100 rows will take about 4 minutes. Do less. progress=True shows how much is left."
    ]


def test_work_that_gets_slower_is_warned_of_then():
    assert len(warned_of([(0, 100), (3, 200), (100, 210)], total=300)) == 1


@pytest.mark.parametrize(
    ("choice", "if_long", "n_warnings"),
    [(None, "x", 1), (True, "x", 1), (lambda *_: None, "x", 1), (False, "x", 0), (np.False_, "x", 0), (True, None, 0)],
)
def test_who_wants_no_progress_gets_no_warning(choice, if_long, n_warnings):
    assert len(warned_of([(0, 100), (10, 200)], choice=choice, if_long=if_long)) == n_warnings


def test_the_bar_is_wiped_out_before_the_warning(monkeypatch):
    now = [0.0]
    set_time(monkeypatch, lambda: now[0])
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    monkeypatch.setattr("warnings.showwarning", lambda message, *_: stream.write(f"{message}\n"))
    with progress.reporting(None, 10_000, if_long="Do less.") as report, warnings.catch_warnings():
        warnings.simplefilter("always", LongRunWarning)
        for seconds in range(20):
            now[0] = seconds
            report(10 * seconds)
    before, _, after = stream.getvalue().partition("explaining the other 9,980 rows")
    assert before.rpartition("\r")[2] == ""
    assert set(before.split("\r")[-2]) == {" "}
    assert "190 of 10,000 rows" in after


def test_a_closed_stderr_does_not_end_the_work(monkeypatch):
    now = count(0.0, 10.0)
    set_time(monkeypatch, lambda: next(now))
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    monkeypatch.setattr("warnings.showwarning", lambda message, *_: closed.write(str(message)))
    with progress.reporting(None, 10_000, if_long="x") as report, warnings.catch_warnings():
        warnings.simplefilter("always", LongRunWarning)
        report(10)
        report(20)


@pytest.fixture
def slow(monkeypatch):
    """An explainer that takes a second for each call of its model, and a few rows at a time."""
    model = Clock(lambda X: np.column_stack([X.sum(axis=1) < 0, X.sum(axis=1) >= 0]).astype(float))
    set_clock(monkeypatch, model)
    monkeypatch.setattr(mixed, "_MOST_ROWS", 5)
    monkeypatch.setattr(thorough, "CELLS_PER_CALL", 5 * 4 * thorough.WHOLE_LATTICES)
    X = np.random.default_rng(0).normal(size=(120, 4))

    def explainer(**options):
        return NICE(model, classes=[0, 1], justified=False, **options).fit(X), X

    return explainer


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {},
            r"search='greedy' is faster and gives the paper's answers; time_budget= limits the time\. progress=True shows",
        ),
        (
            {"mix_donors": False, "optimize": "balanced", "plausibility": lambda X: X[:, 0]},
            r"^[^;]*\. time_budget= limits",
        ),
    ],
)
def test_a_call_says_how_long_it_will_take_and_what_to_do(slow, options, said):
    nice, X = slow(**options)
    with pytest.warns(LongRunWarning, match=said) as caught:
        nice.explain(X)
    (one,) = caught
    assert str(one.message).startswith("explaining the other 1")
    assert one.filename == __file__


@pytest.mark.deep
def test_several_counterfactuals_are_warned_of_in_their_first_half(slow):
    nice, X = slow()
    told = []
    with pytest.warns(LongRunWarning):
        nice.explain(X, n_counterfactuals=2, progress=lambda done, total: told.append(done))
    assert told == sorted(told)
    assert len({done for done in told if done <= 60}) > 12
    assert told[-1] == 120


AN_ERROR = pytest.mark.filterwarnings("error::nicecf.LongRunWarning")


@AN_ERROR
@pytest.mark.parametrize("call", [{"time_budget": 1e6}, {"progress": False}])
def test_with_a_budget_or_without_progress_there_is_no_warning(slow, call):
    nice, X = slow()
    assert nice.explain(X, **call).found.all()


@AN_ERROR
def test_a_short_call_has_no_warning(slow):
    nice, X = slow()
    assert nice.explain(X[:10]).found.all()
    nice, _ = slow(search="greedy")
    assert nice.explain(X).found.all()


@AN_ERROR
def test_as_an_error_it_ends_the_call(slow):
    nice, X = slow()
    with pytest.raises(LongRunWarning):
        nice.explain(X)


# --- fit -------------------------------------------------------------------------------------------------------------


def by_sum(X):
    return np.column_stack([X.sum(axis=1) < 0, X.sum(axis=1) >= 0]).astype(float)


def fitted(patch, n_rows=400, call=0.0, row=0.0, explainer=NICE, options=None, **asked):
    """The sizes of the calls that a model gets until it has been asked about every training row, and what stderr got."""
    sizes = []

    def model(X):
        sizes.append(len(X))
        return by_sum(X)

    clock = Clock(model, call, row)
    set_clock(patch, clock)
    patch.setattr("sys.stderr", stream := Terminal())
    X = np.random.default_rng(0).normal(size=(n_rows, 4))
    explainer(clock, classes=[0, 1], **options or {}).fit(X, X.sum(axis=1) >= 0, **asked)
    return sizes, stream.getvalue()


FIRST = 8


def test_a_slow_fit_shows_a_bar_and_says_how_long_it_will_take(monkeypatch):
    with pytest.warns(LongRunWarning) as caught:
        sizes, shown = fitted(monkeypatch, row=1.0)
    assert sizes[:3] == [FIRST, 2, 2]  # then in steps of two seconds
    assert str(caught[0].message) == (
        "fitting the other 390 training rows will take about 6 minutes. fit asks the model about every training row; a "
        "sample of them is often enough."
    )
    assert caught[0].filename == __file__
    assert "fitting [" in shown
    assert "of 400 training rows" in shown
    assert shown.split("\r")[-1] == ""


@AN_ERROR
def test_a_fit_that_takes_less_than_a_minute_is_not_warned_of(monkeypatch):
    sizes, shown = fitted(monkeypatch, row=0.1)
    assert sizes[:2] == [FIRST, 20]
    assert "of 400 training rows" in shown


@AN_ERROR
@pytest.mark.parametrize("call", [0.0, 0.01])
def test_a_quick_fit_shows_nothing_and_asks_in_large_calls(monkeypatch, call):
    sizes, shown = fitted(monkeypatch, n_rows=1_500, call=call)
    assert sizes[:3] == [FIRST, 1_000, 500]  # all of them, whatever the clock says
    assert shown == ""


@AN_ERROR
def test_calls_that_take_long_whatever_their_size_are_few(monkeypatch):
    sizes, _ = fitted(monkeypatch, n_rows=5_000, call=1.0)
    assert sizes[:7] == [FIRST, 16, 1000, 1000, 1000, 1000, 976]


@AN_ERROR
@pytest.mark.parametrize("asked", [{"progress": False}, {"progress": np.False_}])
def test_who_wants_no_progress_of_fit_gets_one_call(monkeypatch, asked):
    sizes, shown = fitted(monkeypatch, row=1.0, **asked)
    assert sizes[0] == 400
    assert shown == ""


def test_a_small_table_is_one_call(monkeypatch):
    assert fitted(monkeypatch, n_rows=99, row=0.1)[0][0] == 99


@pytest.mark.parametrize("explainer", [NICE, baselines.WIT])
def test_a_function_is_told_how_far_fit_is(monkeypatch, explainer):
    told = []
    fitted(monkeypatch, row=0.1, explainer=explainer, progress=lambda *now: told.append(now))
    assert told[0] == (FIRST, 400)
    assert told[-1] == (400, 400)
    assert sorted(told) == told
    with pytest.raises(OptionError, match="progress='yes' is not known; pass True, False, None"):
        fitted(monkeypatch, explainer=explainer, progress="yes")


def test_what_is_learned_does_not_depend_on_the_pace(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 4))
    found = []
    for row in (0.0, 0.1):
        with pytest.MonkeyPatch.context() as patch:
            set_clock(patch, clock := Clock(by_sum, 0.0, row))
            nice = NICE(clock, classes=[0, 1]).fit(X, X.sum(axis=1) >= 0)
        found.append((nice._fitted.fingerprints, nice.explain(X[:20], progress=False).to_numpy().tolist()))
    assert found[0] == found[1]


# --- wide tables -----------------------------------------------------------------------------------------------------


class WarmingUp(Clock):
    """The first call takes much longer than any other."""

    is_warm = False

    def __call__(self, X):
        self.now += 0.0 if self.is_warm else 60.0
        self.is_warm = True
        return super().__call__(X)


def explained_in(patch, n_columns, row, search="greedy", n_rows=20, options=None, share=1.0, clock=Clock, **asked):
    """What an explain call is warned of, before anything but the rows themselves has been asked about."""
    clock = clock(by_sum, call=0.0, row=row, share=share)
    set_clock(patch, clock)
    X = np.random.default_rng(0).normal(size=(150, n_columns))
    nice = NICE(clock, classes=[0, 1], search=search, **options or {}).fit(X, X.sum(axis=1) >= 0, progress=False)
    clock.calls.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongRunWarning)
        try:
            nice.explain(X[:n_rows], **asked)
        except LongRunWarning as warning:
            assert len(clock.calls) == 1
            return str(warning)
    return None


@pytest.mark.parametrize(
    ("search", "share", "ms", "minutes", "advice"),
    [
        ("greedy", 1.0, 47, 2, "time_budget="),
        ("thorough", 1.0, 47, 5, "search='greedy' is faster"),
        ("thorough", 0.5, 25, 2, "search='greedy' is faster"),
    ],
)
def test_a_wide_table_is_warned_of_before_the_search_starts(monkeypatch, search, share, ms, minutes, advice):
    assert explained_in(monkeypatch, 100, 0.05, search, share=share).startswith(
        f"explaining 20 rows (in 100 columns, with a model that takes {ms} ms for a row) will take about {minutes} "
        f"minutes or more. {advice}"
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"row": 0.05, "time_budget": 10.0},
        {"row": 0.05, "progress": False},
        {"row": 0.05, "options": {"optimize": "none"}},
        {"row": 0.0001},
        {"row": 0.0001, "clock": WarmingUp},
    ],
)
def test_a_wide_table_is_not_warned_of_without_need(monkeypatch, asked):
    assert explained_in(monkeypatch, 100, **asked) is None


def test_only_columns_that_differ_count(monkeypatch):
    clock = Clock(lambda X: by_sum(X[:, :2]), call=0.0, row=0.05)
    set_clock(monkeypatch, clock)
    X = np.zeros((150, 1000))
    X[:, :2] = np.random.default_rng(0).normal(size=(150, 2))
    nice = NICE(clock, classes=[0, 1], search="greedy").fit(X, X.sum(axis=1) >= 0, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongRunWarning)
        assert nice.explain(X[:20]).found.all()


# --- threads ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_jobs", "call", "is_said"), [(-1, 2.0, True), (4, 2.0, True), (1, 2.0, False), (-1, 0.1, False)]
)
def test_a_model_whose_calls_start_threads_is_told_of(monkeypatch, n_jobs, call, is_said):
    class Threaded(Clock):
        classes_ = (0, 1)
        predict_proba = Clock.__call__

    clock = Threaded(by_sum, call=call, row=0.05)
    clock.n_jobs = n_jobs
    set_clock(monkeypatch, clock)
    X = np.random.default_rng(0).normal(size=(150, 100))
    nice = NICE(clock, search="greedy").fit(X, X.sum(axis=1) >= 0, progress=False)
    with pytest.warns(LongRunWarning) as caught:
        nice.explain(X[:20])
    assert (f"with n_jobs=1 instead of {n_jobs} it may take less" in str(caught[0].message)) == is_said
