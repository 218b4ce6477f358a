"""Searches that are written as if a row were alone, run side by side: one call answers the questions of all of them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np

from nicecf.models.scorer import OutOfTime, RowFunction, Scorer
from nicecf.support.types import Floats

Label = TypeVar("Label")
Result = TypeVar("Result")

# What the search of a row asks for: the errors of float rows, or the model's outputs.
Request: TypeAlias = tuple[Literal["error", "score"], Floats]
# Yields requests, gets their answers, and returns what it found. OutOfTime is thrown in when time is up: then it
# returns the best so far, or lets it pass.
RowSteps: TypeAlias = Generator[Request, Floats, Result]


@dataclass(frozen=True, eq=False)
class Ended(Generic[Label, Result]):
    """A search that ended; ``is_cut`` for want of time, and then perhaps without any ``result``."""

    label: Label
    result: Result | None
    is_cut: bool


def in_lock_step(
    searches: Iterable[tuple[Label, RowSteps[Result]]],
    score: Scorer,
    *,
    error: RowFunction | None = None,
    at_once: int,
) -> Iterator[Ended[Label, Result]]:
    """Run labelled searches side by side, ``at_once`` of them at a time; each comes back when it ends.

    When time is up, those that are under way come back as they are, and no more are begun.
    """
    functions: dict[str, RowFunction] = {"score": score} if error is None else {"error": error, "score": score}
    waiting, running = iter(searches), list[_Running[Label, Result]]()
    # Ends: every search ends, and each turn begins some or takes some of them one step further.
    while True:
        ended = _begun(waiting, running, at_once)
        if not ended and not running:
            return
        yield from _one_by_one(ended)
        try:
            for kind, function in functions.items():
                yield from _one_by_one(_answered(running, kind, function, score))
        except OutOfTime:
            yield from _one_by_one([one.stop() for one in running])
            return


# The next three leave nothing behind: what has ended must not be held while others begin.
def _begun(
    waiting: Iterator[tuple[Label, RowSteps[Result]]], running: list[_Running[Label, Result]], at_once: int
) -> list[Ended[Label, Result]]:
    """Begin as many searches as there is room for; those that ask for nothing have ended."""
    return _gone_on(running, [(_Running(*one), None) for one in islice(waiting, at_once - len(running))])


def _answered(
    running: list[_Running[Label, Result]], kind: str, function: RowFunction, score: Scorer
) -> list[Ended[Label, Result]]:
    """Answer the requests of one kind, all in one call; those that have ended are no longer among the running."""
    asking = _asking(running, kind, score)
    if not asking:
        return []
    if score.is_out_of_time():  # even if all is known already, and nothing must be asked
        raise OutOfTime
    answers = function(np.concatenate([one.rows for one in asking]))
    answered = {id(one) for one in asking}
    running[:] = [one for one in running if id(one) not in answered]
    ends = np.cumsum([len(one.rows) for one in asking])
    return _gone_on(running, list(zip(asking, np.split(answers, ends[:-1]), strict=True)))


def _gone_on(
    running: list[_Running[Label, Result]], answered: list[tuple[_Running[Label, Result], Floats | None]]
) -> list[Ended[Label, Result]]:
    """Hand over answers; searches that have not ended are among the running again."""
    ended = []
    for one, answer in answered:
        end = one.go_on(answer)
        if end is None:
            running.append(one)
        else:
            ended.append(end)
    return ended


def _one_by_one(ended: list[Ended[Label, Result]]) -> Iterator[Ended[Label, Result]]:
    while ended:
        yield ended.pop(0)


def _asking(running: list[_Running[Label, Result]], kind: str, score: Scorer) -> list[_Running[Label, Result]]:
    """Return those to answer now: without a deadline all, else the shortest questions, as many as go into one call."""
    asking = [one for one in running if one.kind == kind]
    if score.deadline is None or kind != "score":
        return asking
    asking.sort(key=lambda one: len(one.rows))
    n_rows = np.cumsum([len(one.rows) for one in asking])
    return asking[: max(1, int(np.count_nonzero(n_rows <= score.cost.rows_at_once)))]


class _Running(Generic[Label, Result]):
    """A search that is under way, and what it asks for."""

    def __init__(self, label: Label, steps: RowSteps[Result]) -> None:
        self._label = label
        self._steps = steps
        self.kind = ""
        self.rows: Floats = np.empty((0, 0))

    def go_on(self, answer: Floats | None) -> Ended[Label, Result] | None:
        """Hand over an answer (None to begin), up to the next request; what comes back, if that was the end."""
        try:
            self.kind, self.rows = next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as end:
            return Ended(self._label, end.value, is_cut=False)
        return None

    def stop(self) -> Ended[Label, Result]:
        """Time is up."""
        try:
            self._steps.throw(OutOfTime())
        except StopIteration as end:
            return Ended(self._label, end.value, is_cut=True)
        except OutOfTime:
            return Ended(self._label, None, is_cut=True)
        raise AssertionError("a search that is out of time asks for nothing more")
