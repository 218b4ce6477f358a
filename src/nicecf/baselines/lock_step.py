"""Searches that are written as if a row were alone, run side by side: one model call answers all of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TypeAlias

import numpy as np

from nicecf._typing import Bools, Floats
from nicecf.baselines.baseline import Found, Task
from nicecf.classifier import CELLS_PER_CALL
from nicecf.scorer import OutOfTime, Scorer

# Yields values for its row, gets what `Task.towards` says of them, and returns a counterfactual or, in words, why there
# is none. OutOfTime is thrown in when time is up: it then returns the best so far, or lets it pass.
RowSearch: TypeAlias = Generator[Floats, tuple[Bools, Floats], Floats | str]


def in_lock_step(task: Task, begin: Callable[[int], RowSearch], *, values_each: int) -> Found:
    """Run the searches of all rows of a task; ``begin`` starts that of a line.

    So many run at a time that their questions, of about ``values_each`` values each, fit into one model call.
    """
    found = Found.nothing(task)
    at_once = max(1, CELLS_PER_CALL // (values_each * task.rows.shape[1]))
    waiting = iter(range(len(task)))
    running: dict[int, RowSearch] = {}
    questions: dict[int, Floats] = {}
    n_begun = 0

    def go_on(line: int, search: RowSearch, ask: Callable[[], Floats]) -> None:
        try:
            questions[line] = ask()
            running[line] = search
        except StopIteration as end:
            running.pop(line, None)
            questions.pop(line, None)
            if isinstance(end.value, str):
                found.reasons[line] = end.value
            else:
                found.take(line, end.value)

    # Ends: every search ends, and each turn begins some or takes some of them one step further.
    while n_begun < len(task) or running:
        for line in islice(waiting, at_once - len(running)):
            search = begin(line)
            go_on(line, search, partial(next, search))
            n_begun += 1
        task.report(n_begun - len(running))
        if not running:
            continue
        asking = _in_time(task.score, questions)
        lines, sizes = np.array(asking, dtype=np.intp), [len(questions[line]) for line in asking]
        try:
            if task.score.is_out_of_time():  # even if all is known already, and nothing must be asked
                raise OutOfTime
            said = task.towards(np.repeat(lines, sizes), np.concatenate([questions[line] for line in asking]))
        except OutOfTime:
            return _stopped(found, running)
        ends = np.cumsum(sizes)
        for line, first, last in zip(lines.tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True):
            search, answer = running[line], (said[0][first:last], said[1][first:last])
            go_on(line, search, partial(search.send, answer))
    return found


def _in_time(score: Scorer, questions: dict[int, Floats]) -> list[int]:
    """The lines to ask now: without a deadline all, else the shortest questions, for half of the time that is left."""
    lines = list(questions)
    if score.deadline is None:
        return lines
    lines.sort(key=lambda line: len(questions[line]))
    seconds = np.cumsum([len(questions[line]) for line in lines]) * score.cost.row
    in_time = np.count_nonzero(seconds <= (score.deadline - perf_counter()) / 2)
    return lines[: max(1, int(in_time))]


def _stopped(found: Found, running: dict[int, RowSearch]) -> Found:
    """Time is up: what the searches have so far."""
    for line, search in running.items():
        try:
            search.throw(OutOfTime())
        except StopIteration as end:
            found.take(line, end.value)
        except OutOfTime:
            pass
    is_ended = np.array([reason is not None for reason in found.reasons], dtype=bool) | found.is_found
    found.is_cut[:] = ~is_ended
    found.is_cut[list(running)] = True
    return found
