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
from nicecf.support.clock import Moment, now
from nicecf.support.types import Bools, Floats, Ints

# The time to find out which rows to add, in seconds: mostly a search for a second donor.
_LOOKING_AHEAD = 0.002
# With a deadline, a call takes about this long, in seconds or in calls without rows, whichever is more. Longer calls
# save little overhead, and fewer of their answers are used when time runs out.
_SECONDS_AT_ONCE, _CALLS_AT_ONCE = 0.25, 4.0

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
    def rows_at_once(self) -> int:
        """How many rows go into one call of a search with a deadline.

        The deadline itself plays no part in it: the calls up to any moment are the same whatever the time budget is,
        so that a larger one never finds less.

        >>> Cost(call=0.5, row=0.01).rows_at_once
        200
        """
        return max(1, int(max(_SECONDS_AT_ONCE, _CALLS_AT_ONCE * self.call) / max(self.row, 1e-9)))

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
        """Return the function's answers, one line per row.

        The function may answer only the first of the rows that it is called with. If it must be called at all, the rows
        of ``look_ahead`` are included in the same call: they may be needed next. What was answered before the function
        raises OutOfTime is remembered.
        """
        if self._rows.shape[1] != rows.shape[1]:
            self._forget(rows.shape[1])
        keys = _keys(rows)
        new = self._new(keys)
        if new and look_ahead is not None and len(ahead := look_ahead()):
            # A row that may never be needed must not cause a failure: ask again without it.
            with suppress(ModelError, OutOfTime):
                both, of_both = np.concatenate([rows, ahead]), keys + _keys(ahead)
                self._learn(function, both, self._new(of_both))
            new = self._new(keys)
        if new:
            self._learn(function, rows, new)
        places = [self._place[key] for key in keys]
        answers = self._answers[places]
        # Two rows with one key are rare, but there may be some.
        is_other = (_bits(self._rows[places]) != _bits(rows)).any(axis=1)
        if is_other.any():
            answers[is_other] = np.concatenate(list(_in_chunks(function, rows[is_other])))
        if len(self._place) * rows.shape[1] > self._most_cells:
            self._forget(rows.shape[1])
        return answers

    def emptied(self) -> RememberedRows:
        """Return a cache for the same function that holds nothing yet."""
        return RememberedRows(width=self._width)

    def known(self, rows: Floats) -> tuple[Floats, Bools]:
        """Return the answers for rows that were asked for before, NaN for others; and which rows were."""
        answers, is_known = np.full((len(rows), self._width), np.nan), np.zeros(len(rows), dtype=bool)
        if self._rows.shape[1] == rows.shape[1]:
            places = np.array([self._place.get(key, -1) for key in _keys(rows)], dtype=np.intp)
            at = np.flatnonzero(places >= 0)
            at = at[(_bits(self._rows[places[at]]) == _bits(rows[at])).all(axis=1)]
            answers[at], is_known[at] = self._answers[places[at]], True
        return answers, is_known

    def _forget(self, n_features: int) -> None:
        self._place: dict[int, int] = {}
        self._rows, self._answers = np.empty((0, n_features)), np.empty((0, self._width))

    def _new(self, keys: list[int]) -> dict[int, int]:
        """The keys that are not known, each with the position of a row that has it."""
        return {key: position for position, key in enumerate(keys) if key not in self._place}

    def _learn(self, function: RowFunction, rows: Floats, new: dict[int, int]) -> None:
        """Ask for the rows at the positions in ``new``, and store each under its key."""
        keys, chosen = list(new), rows[list(new.values())]
        for answers in _in_chunks(function, chosen):
            first, n_new = len(self._place), len(answers)
            self._rows, self._answers = _with_room(self._rows, first + n_new), _with_room(self._answers, first + n_new)
            self._rows[first : first + n_new] = chosen[:n_new]
            self._answers[first : first + n_new] = answers
            self._place.update(zip(keys[:n_new], range(first, first + n_new), strict=True))
            keys, chosen = keys[n_new:], chosen[n_new:]
        assert not keys


def _in_chunks(function: RowFunction, rows: Floats) -> Iterator[Floats]:
    """Call a function that may answer only the first of some rows, until all are answered."""
    chunk = max(1, _classifier.CELLS_PER_CALL // rows.shape[1])
    # Terminates: every turn answers at least one row.
    while len(rows):
        answers = function(rows[:chunk])
        assert 0 < len(answers) <= min(chunk, len(rows))
        yield answers
        rows = rows[len(answers) :]


class Meter:
    """The answers and the cost of the model in one ``explain`` call; belongs to one call and one thread.

    ``work``: the seconds of work in all calls. ``cut_for``: the latest deadline for which a call was made smaller, or
    not at all.
    """

    def __init__(self, predict: RowFunction, *, cost: Cost) -> None:
        self._predict = predict
        self.cost = cost
        self.calls = 0
        self.rows = 0
        self.work = 0.0
        self.cut_for = -np.inf

    def __call__(self, rows: Floats) -> Floats:
        """One model call."""
        start, began = now(), Moment.now()
        outputs = self._predict(rows)
        seconds = now() - start
        self.work += began.work_since()
        self.cost = self.cost.after(seconds, len(rows))
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

    After the ``deadline`` (a time of ``clock.now``) it raises OutOfTime instead of asking. Calls are the same as with a
    later deadline, up to one that would end after it: that call gets as many rows as there is time for and is the last.
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

    def without_memory(self) -> Scorer:
        """Return a scorer of the same model that shares no answers with this one."""
        return replace(self, memory=self.memory.emptied())

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

    def in_time(self, rows: Floats, look_ahead: LookAhead | None = None) -> tuple[Floats, Bools]:
        """Return outputs as far as there is time to ask for them, NaN for other rows; and which rows have them."""
        if not self.is_out_of_time():
            with suppress(OutOfTime):
                return self(rows, look_ahead), np.ones(len(rows), dtype=bool)
        return self.memory.known(rows)

    def is_out_of_time(self) -> bool:
        """Return whether the deadline has passed, or no call would end before it."""
        return self.deadline is not None and (self.deadline <= self.meter.cut_for or now() >= self.deadline)

    def _ask(self, rows: Floats) -> Floats:
        """Ask about the first of some rows, as many as go into one call."""
        if self.deadline is None:
            return self.meter(rows)
        if self.is_out_of_time():
            raise OutOfTime
        n_rows = min(len(rows), self.cost.rows_at_once)
        n_in_time = (self.deadline - now() - self.cost.call) / max(self.cost.row, 1e-9)
        if n_in_time < n_rows:
            # Another call in what is left could make the estimates, and so the calls, unlike those of a later deadline.
            self.meter.cut_for = max(self.meter.cut_for, self.deadline)
            n_rows = int(n_in_time)
        if n_rows < 1:
            raise OutOfTime
        return self.meter(rows[:n_rows])


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
