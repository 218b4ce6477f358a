"""Rows with values that training never saw: what a note says of them. Nothing is refused, and no answer changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nicecf.explain.fitted import Fitted
from nicecf.rules.columns import cell_of, float_dtype, positions_of
from nicecf.search.question import Question
from nicecf.support.phrases import Features, Field, Statement, Value
from nicecf.support.types import Bools
from nicecf.tables.schema import Schema
from nicecf.tables.seen import OneHotGroup, SeenColumn, new_values

# How many features a note names.
_MOST_NAMED = 3


def unseen(question: Question, fitted: Fitted) -> dict[int, Statement]:
    """For each row with values that training never saw, by its line, one statement that names the first few.

    Protected features are counted and not named. Rows are looked at as they were handed in, with all columns. With
    ``min_count`` the statement tells of no value that fewer training rows hold: what it compares with is what enough of
    them share, and it says so.
    """
    assert question.given is not None
    given, schema, seen = question.given, question.schema.full, fitted.statistics.seen
    new = new_values(given, schema, seen)
    lines = np.flatnonzero(new.any(axis=1))
    if seen is None or not len(lines):
        return {}
    least = fitted.privacy.min_count
    statements = {line: _Several(least) for line in lines.tolist()}
    is_protected = _protected(question, len(given))
    for j in np.flatnonzero(new.any(axis=0)).tolist():
        here = np.flatnonzero(new[:, j])
        values, places = np.unique(given[here, j], return_inverse=True)
        # Each distinct value is put into words once, however many rows have it.
        said = [_statement(schema, j, value, seen[j], least) for value in values.tolist()]
        for line, place in zip(here.tolist(), places.tolist(), strict=True):
            statements[line].add(None if is_protected[line, j] else said[place])
    return {line: some.statement() for line, some in statements.items()}


def _protected(question: Question, n_rows: int) -> Bools:
    """Return which features must not be named, ``(n_rows, n_features)``; of the rows of a question, the first ones."""
    schema = question.schema.full
    is_protected = np.zeros((n_rows, len(schema.columns)), dtype=bool)
    for part in question.parts:
        positions = positions_of(part.constraints.protected, schema, "protected")
        is_protected[part.lines[part.lines < n_rows, None], sorted(positions)] = True
    return is_protected


def odd_groups(question: Question, fitted: Fitted) -> dict[int, Statement]:
    """Return statements, by line, about rows that have more or fewer columns of a one-hot group on than in training.

    Where a cell of the group is missing, or outside of the range, there is a note of that already. A group with a
    protected feature is not named.
    """
    assert question.given is not None
    is_protected = _protected(question, len(question.given))
    schema, statistics = question.schema.full, fitted.statistics
    statements: dict[int, list[Statement]] = {}
    for group in statistics.one_hot:
        lines = np.flatnonzero(group.is_new(question.given))
        is_noted = new_values(question.given[lines], schema, statistics.seen)[:, group.columns].any(axis=1)
        for line in lines[~is_noted & ~is_protected[np.ix_(lines, group.columns)].any(axis=1)].tolist():
            statements.setdefault(line, []).append(_odd(group, question.given[line, group.columns] == group.on, schema))
    return {line: Statement("note.one_hot", {"values": tuple(some[:_MOST_NAMED])}) for line, some in statements.items()}


def _odd(group: OneHotGroup, is_on: Bools, schema: Schema) -> Statement:
    names = [schema.names[j] for j in group.columns.tolist()]
    on = [name for name, one in zip(names, is_on.tolist(), strict=True) if one]
    if on:
        return Statement("note.one_hot_several", {"features": Features(tuple(on[:_MOST_NAMED])), "count": len(on)})
    ends = {"first": Features((names[0],)), "last": Features((names[-1],))}
    return Statement("note.one_hot_none", {**ends, "count": len(names)})


class _Several:
    """The statements about one row."""

    def __init__(self, least: int) -> None:
        self._least, self._named, self._count = least, list[Statement](), 0

    def add(self, one: Statement | None) -> None:
        self._count += 1
        if one is not None and len(self._named) < _MOST_NAMED:
            self._named.append(one)

    def statement(self) -> Statement:
        if not self._named:
            return Statement("note.unseen", {"values": (_told("unnamed", {}, self._least),)})
        more = self._count - len(self._named)
        last = [] if not more else [_told("more_one", {}, self._least)]
        if more > 1:
            last = [_told("more", {"count": more}, self._least)]
        return Statement("note.unseen", {"values": (*self._named, *last)})


def _statement(schema: Schema, j: int, value: float, seen: SeenColumn, least: int) -> Statement:
    feature = Features((schema.names[j],))
    cell = Value(_cell(schema, j, value))
    if cell.value is None:
        return _told("missing", {"feature": feature}, least)
    if schema.columns[j].is_categorical or np.isnan(seen.low):  # or a number, where training had none
        return _told("category", {"feature": feature, "value": cell}, least)
    low, high = (Value(_cell(schema, j, end)) for end in (seen.low, seen.high))
    if seen.low == seen.high:
        return _told("constant", {"feature": feature, "value": cell, "only": low}, least)
    return _told("outside", {"feature": feature, "value": cell, "low": low, "high": high}, least)


def _told(kind: str, fields: dict[str, Field], least: int) -> Statement:
    """With a guard, a statement about what at least so many rows share."""
    if least == 1:
        return Statement(f"note.unseen_{kind}", fields)
    return Statement(f"note.rare_{kind}", {**fields, "least": least})


def _cell(schema: Schema, j: int, value: float) -> Any:
    """A value as people read it: of a short float, no more digits than it has."""
    cell, dtype = cell_of(schema, j, value), float_dtype(schema, j)
    if (
        isinstance(cell, float)
        and dtype.itemsize < np.dtype(np.float64).itemsize
        and abs(cell) <= float(np.finfo(dtype).max)
    ):
        short = dtype.type(cell)
        return float(str(short)) if float(short) == cell else cell
    return cell
