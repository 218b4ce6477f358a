"""The progress bar: on a terminal, after a second; silent in pipes and logs."""

import io

import numpy as np
import pytest

from nicecf import NICE, OptionError
from nicecf.support import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


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
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])

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
