"""The model during one ``explain`` call: each distinct row is asked for once, and calls are used to the full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from nicecf import classifier as _classifier
from nicecf._typing import Floats
from nicecf.exceptions import ModelError

# What it takes to find out which rows to add, in seconds: a search for a second donor, mostly.
_LOOKING_AHEAD = 0.002

LookAhead = Callable[[], Floats]
_looks_ahead = ContextVar("looks_ahead", default=True)


@contextmanager
def nothing_ahead() -> Iterator[None]:
    """Inside, rows are asked for when they are needed and never before: how many does not depend on the clock."""
    token = _looks_ahead.set(False)
    try:
        yield
    finally:
        _looks_ahead.reset(token)


class OutOfTime(Exception):  # noqa: N818  # no error: it ends a search, and never leaves the package
    """The time budget of an ``explain`` call is used up."""


@dataclass(frozen=True)
class Cost:
    """What the model costs, as measured: seconds for a call, whatever its size, and for each row in it."""

    call: float
    row: float

    @property
    def rows_worth_a_call(self) -> int:
        """How many rows can be added to a call for what another call would cost; none where calls cost nothing.

        >>> Cost(call=0.022, row=0.0001).rows_worth_a_call
        200
        """
        return round(min(max(self.call - _LOOKING_AHEAD, 0.0) / max(self.row, 1e-9), 1000))

    def after(self, seconds: float, rows: int) -> Cost:
        """The cost as it looks after one more call: halfway to what that call says of its larger part.

        >>> Cost(call=0.5, row=0.25).after(1.0, rows=1)
        Cost(call=0.625, row=0.25)
        >>> Cost(call=0.5, row=0.25).after(50.5, rows=100)
        Cost(call=0.5, row=0.375)
        """
        if rows * self.row > self.call:
            return Cost(self.call, (self.row + max(0.0, seconds - self.call) / rows) / 2)
        return Cost((self.call + max(0.0, seconds - rows * self.row)) / 2, self.row)


class RememberedRows:
    """A function of float rows that is asked once for each distinct row, in chunks bounded by memory.

    Rows that walk towards one donor meet: their hybrids coincide. The memory is bounded too; past it, rows are
    asked for again.
    """

    _most_cells = 2**22  # 32 MB of rows, and as much again for the table of where they are

    def __init__(self, function: Callable[[Floats], Floats], *, width: int) -> None:
        self._function = function
        self._place: dict[bytes, int] = {}
        self._answers = np.empty((0, width))

    def __call__(self, rows: Floats, look_ahead: LookAhead | None = None) -> Floats:
        """The function's answers, one line per row.

        If the function must be asked at all, the rows of ``look_ahead`` are asked for in the same call: they may be
        wanted next.
        """
        keys = _keys(rows)
        new = {key: position for position, key in enumerate(keys) if key not in self._place}
        if new and look_ahead is not None and len(ahead := look_ahead()):
            # A row that nobody may ever want must not be what fails: then ask again without.
            with suppress(ModelError):
                both = np.concatenate([rows, ahead])
                self._learn(both, {key: at for at, key in enumerate(_keys(both)) if key not in self._place})
                new = {}
        if new:
            self._learn(rows, new)
        answers = self._answers[[self._place[key] for key in keys]]
        if len(self._place) * rows.shape[1] > self._most_cells:
            self._place.clear()
            self._answers = self._answers[:0]
        return answers

    def _learn(self, rows: Floats, new: dict[bytes, int]) -> None:
        """Ask for the rows at the positions in ``new``, each under its key."""
        chosen = rows[list(new.values())]
        chunk = max(1, _classifier.CELLS_PER_CALL // rows.shape[1])
        answers = [self._function(chosen[at : at + chunk]) for at in range(0, len(chosen), chunk)]
        self._place.update(zip(new, range(len(self._answers), len(self._answers) + len(new)), strict=True))
        self._answers = np.concatenate([self._answers, *answers])


class Scorer:
    """The model in one ``explain`` call: float rows in, outputs out (see `decision`).

    Belongs to one call and one thread; ``calls`` and ``rows`` say what was asked of the model. Past the ``deadline``
    (a time of ``perf_counter``) it raises OutOfTime instead of asking.
    """

    def __init__(self, predict: Callable[[Floats], Floats], *, width: int, cost: Cost) -> None:
        self._predict = predict
        self._remembered = RememberedRows(self._ask, width=width)
        self.cost = cost
        self.deadline: float | None = None
        self.calls = 0
        self.rows = 0
        self._seconds_per_row = 0.0

    def __call__(self, rows: Floats, look_ahead: LookAhead | None = None) -> Floats:
        """Outputs, one line per row; ``look_ahead`` rows ride along if the model must be asked."""
        return self._remembered(rows, look_ahead if _looks_ahead.get() else None)

    def in_any_case(self, rows: Floats) -> Floats:
        """The same, past the deadline too."""
        deadline, self.deadline = self.deadline, None
        try:
            return self(rows)
        finally:
            self.deadline = deadline

    def is_out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and perf_counter() >= self.deadline

    def _ask(self, rows: Floats) -> Floats:
        answers = []
        # Ends: every turn takes off at least one row.
        while len(rows):
            n = self._rows_in_time(len(rows))
            start = perf_counter()
            answers.append(self._predict(rows[:n]))
            seconds = perf_counter() - start
            self.cost = self.cost.after(seconds, n)
            self._seconds_per_row = seconds / n
            self.calls += 1
            self.rows += n
            rows = rows[n:]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _rows_in_time(self, n_rows: int) -> int:
        """How many rows the next call may have to be done by the deadline, each as slow as in the call before."""
        if self.deadline is None:
            return n_rows
        left = self.deadline - perf_counter()
        if left <= 0 or left < self.cost.call + self.cost.row:  # even one row would take too long
            raise OutOfTime
        return max(1, int(min(n_rows, left / max(self._seconds_per_row, 1e-9))))


def _keys(rows: Floats) -> list[bytes]:
    """Rows as bytes: 0.0 and -0.0 are asked for apart, as a model may tell them apart."""
    buffer = np.ascontiguousarray(rows).tobytes()
    width = rows.shape[1] * rows.itemsize
    return [buffer[at : at + width] for at in range(0, len(buffer), width)]
