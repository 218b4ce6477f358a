"""The model during one ``explain`` call: each distinct row is scored once, and calls are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np
from pandas.util import hash_array

from nicecf.exceptions import ModelError
from nicecf.models import classifier as _classifier
from nicecf.support.clock import now
from nicecf.support.types import Floats, Ints

# The time to find out which rows to add, in seconds: mostly a search for a second donor.
_LOOKING_AHEAD = 0.002

RowFunction = Callable[[Floats], Floats]
LookAhead = Callable[[], Floats]
_looks_ahead = ContextVar("looks_ahead", default=True)


@contextmanager
def nothing_ahead() -> Iterator[None]:
    """Inside, rows are scored only when they are needed: their number does not depend on the clock."""
    token = _looks_ahead.set(False)
    try:
        yield
    finally:
        _looks_ahead.reset(token)


class OutOfTime(Exception):  # noqa: N818  # not an error: it ends a search, and never leaves the package
    """The time budget of an ``explain`` call is used up."""


@dataclass(frozen=True)
class Cost:
    """The measured cost of the model: seconds per call, whatever its size, and per row in it."""

    call: float
    row: float

    @property
    def rows_worth_a_call(self) -> int:
        """How many rows can be added to a call for the cost of another call; none if calls cost nothing.

        >>> Cost(call=0.022, row=0.0001).rows_worth_a_call
        200
        """
        return round(min(max(self.call - _LOOKING_AHEAD, 0.0) / max(self.row, 1e-9), 1000))

    def after(self, seconds: float, rows: int) -> Cost:
        """The estimate after one more call: the larger part moves halfway to what that call took.

        >>> Cost(call=0.5, row=0.25).after(1.0, rows=1)
        Cost(call=0.625, row=0.25)
        >>> Cost(call=0.5, row=0.25).after(50.5, rows=100)
        Cost(call=0.5, row=0.375)
        """
        if rows * self.row > self.call:
            return Cost(self.call, (self.row + max(0.0, seconds - self.call) / rows) / 2)
        return Cost((self.call + max(0.0, seconds - rows * self.row)) / 2, self.row)


class RememberedRows:
    """A cached function of float rows: each distinct row is asked for once, in chunks that fit into memory.

    Rows that walk towards the same donor share hybrids. The cache is bounded too; beyond that, rows are asked for
    again.
    """

    _most_cells = 2**22  # 32 MB of rows, and for tables of some 14 columns as much again for keys and answers

    def __init__(self, *, width: int) -> None:
        self._width = width
        self._forget(0)

    def __call__(self, function: RowFunction, rows: Floats, look_ahead: LookAhead | None = None) -> Floats:
        """The function's answers, one line per row.

        If the function must be called at all, the rows of ``look_ahead`` are included in the same call: they may be
        needed next.
        """
        if self._rows.shape[1] != rows.shape[1]:
            self._forget(rows.shape[1])
        keys = _keys(rows)
        new = self._new(keys)
        if new and look_ahead is not None and len(ahead := look_ahead()):
            # A row that may never be needed must not cause a failure: ask again without it.
            with suppress(ModelError):
                both, of_both = np.concatenate([rows, ahead]), keys + _keys(ahead)
                self._learn(function, both, self._new(of_both))
                new = {}
        if new:
            self._learn(function, rows, new)
        places = [self._place[key] for key in keys]
        answers = self._answers[places]
        # Two rows with one key are rare, but there may be some.
        is_other = (_bits(self._rows[places]) != _bits(rows)).any(axis=1)
        if is_other.any():
            answers[is_other] = function(rows[is_other])
        if len(self._place) * rows.shape[1] > self._most_cells:
            self._forget(rows.shape[1])
        return answers

    def _forget(self, n_features: int) -> None:
        self._place: dict[int, int] = {}
        self._rows, self._answers = np.empty((0, n_features)), np.empty((0, self._width))

    def _new(self, keys: list[int]) -> dict[int, int]:
        """The keys that are not known, each with the position of a row that has it."""
        return {key: position for position, key in enumerate(keys) if key not in self._place}

    def _learn(self, function: RowFunction, rows: Floats, new: dict[int, int]) -> None:
        """Ask for the rows at the positions in ``new``, and store each under its key."""
        chosen = rows[list(new.values())]
        chunk = max(1, _classifier.CELLS_PER_CALL // rows.shape[1])
        answers = [function(chosen[at : at + chunk]) for at in range(0, len(chosen), chunk)]
        found = np.concatenate(answers)
        assert found.shape == (len(new), self._width)
        first = len(self._place)
        self._rows = _with_room(self._rows, first + len(new))
        self._answers = _with_room(self._answers, first + len(new))
        self._rows[first : first + len(new)] = chosen
        self._answers[first : first + len(new)] = found
        self._place.update(zip(new, range(first, first + len(new)), strict=True))


class Meter:
    """The answers and the cost of the model in one ``explain`` call; belongs to one call and one thread."""

    def __init__(self, predict: RowFunction, *, cost: Cost) -> None:
        self._predict = predict
        self.cost = cost
        self.calls = 0
        self.rows = 0
        self.seconds_per_row = 0.0

    def __call__(self, rows: Floats) -> Floats:
        """One model call."""
        start = now()
        outputs = self._predict(rows)
        seconds = now() - start
        self.cost = self.cost.after(seconds, len(rows))
        self.seconds_per_row = seconds / len(rows)
        self.calls += 1
        self.rows += len(rows)
        return outputs

    def add(self, other: Meter) -> None:
        """Count what another one has asked as well."""
        self.calls += other.calls
        self.rows += other.rows


@dataclass(frozen=True, eq=False)
class Scorer:
    """The model in one ``explain`` call: float rows in, outputs out (see `decision`).

    After the ``deadline`` (a time of ``clock.now``) it raises OutOfTime instead of asking.
    """

    meter: Meter
    memory: RememberedRows
    deadline: float | None

    @classmethod
    def of(cls, predict: RowFunction, *, width: int, cost: Cost, deadline: float | None = None) -> Scorer:
        """A scorer that has not asked for anything yet; ``width``: the number of outputs per row."""
        return cls(Meter(predict, cost=cost), RememberedRows(width=width), deadline)

    def until(self, deadline: float | None) -> Scorer:
        """The same model with another deadline, or none; both share one cache."""
        return replace(self, deadline=deadline)

    @property
    def cost(self) -> Cost:
        """The current estimate of the model's cost."""
        return self.meter.cost

    @property
    def calls(self) -> int:
        """The number of model calls so far."""
        return self.meter.calls

    @property
    def rows(self) -> int:
        """About how many rows were sent to the model so far."""
        return self.meter.rows

    @property
    def looks_ahead(self) -> bool:
        """Whether rows may be scored before they are needed."""
        return _looks_ahead.get()

    def __call__(self, rows: Floats, look_ahead: LookAhead | None = None) -> Floats:
        """Outputs, one line per row; ``look_ahead`` rows are included if the model must be called."""
        return self.memory(self._ask, rows, look_ahead if self.looks_ahead else None)

    def is_out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and now() >= self.deadline

    def _ask(self, rows: Floats) -> Floats:
        answers = []
        # Terminates: every turn removes at least one row.
        while len(rows):
            n = self._rows_in_time(len(rows))
            answers.append(self.meter(rows[:n]))
            rows = rows[n:]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _rows_in_time(self, n_rows: int) -> int:
        """How many rows the next call may have to finish by the deadline, if each is as slow as in the last call."""
        if self.deadline is None:
            return n_rows
        left = self.deadline - now()
        if left <= 0 or left < self.cost.call + self.cost.row:  # even one row would take too long
            raise OutOfTime
        return max(1, int(min(n_rows, left / max(self.meter.seconds_per_row, 1e-9))))


def _keys(rows: Floats) -> list[int]:
    """A number for each row: equal for equal bits (0.0 and -0.0 are not the same to every model), else hardly ever."""
    cells = hash_array(_bits(rows).ravel()).reshape(rows.shape)
    # Another factor for each column: values that change places make another number.
    factors = hash_array(np.arange(rows.shape[1])) | np.uint64(1)
    return (cells * factors).sum(axis=1, dtype=np.uint64).tolist()


def _with_room(lines: Floats, n_lines: int) -> Floats:
    """An array with room for so many lines: the same, or a copy with at least twice its room, so that few are made."""
    if n_lines <= len(lines):
        return lines
    larger = np.empty((max(n_lines, 2 * len(lines)), lines.shape[1]))
    larger[: len(lines)] = lines
    return larger


def _bits(rows: Floats) -> Ints:
    """Rows as whole numbers, so that NaN is NaN."""
    return np.ascontiguousarray(rows).view(np.int64)
