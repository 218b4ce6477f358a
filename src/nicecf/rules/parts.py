"""The rows of a call by the rules that they are under: those of the explainer, and on top those of the call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.rules.columns import is_date, positions_of
from nicecf.rules.constraints import Constraints, contradictions, merged
from nicecf.rules.kinds.groups import AUTO
from nicecf.rules.kinds.kind import Contradiction
from nicecf.rules.kinds.may_change import fixed_text
from nicecf.rules.kinds.one_way import of_dates
from nicecf.rules.kinds.ranges import conflicting_rows, with_stricter_levels
from nicecf.rules.reading import rules_of
from nicecf.rules.row_rules import Rules
from nicecf.support.phrases import Features, Statement
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that share their rules: their positions, and the rules for them as constraints and as read for the rows.

    ``recorded``: the constraints that a record holds, to be merged with those of the explainer again, with all
    protected features.
    ``contradictions``: features that do not change, since the rules of the call contradict those of the explainer.
    """

    lines: Ints
    constraints: Constraints
    rules: Rules | None
    recorded: Constraints
    contradictions: tuple[Contradiction, ...] = ()


def parts_of(
    own: Constraints,
    of_call: Any,
    schema: Schema,
    rows: Floats,
    *,
    trained: Schema,
    index: pd.Index[Any],
    given: Floats,
) -> list[Part]:
    """The rows by the rules that they are under: those of the explainer and, on top, those of the call.

    ``given``: the rows with all columns, as they were handed in. ``of_call``: constraints, a list with one for each
    row, or None.
    """

    def read(constraints: Constraints, lines: Ints) -> Rules:
        return rules_of(constraints, schema, rows[lines], trained=trained, index=index[lines], given=given[lines])

    guards = any(column.common is not None or column.is_free_text for column in trained.columns)
    parts = []
    for lines, one, is_of_row in _of_rows(own, of_call, len(rows)):
        both, found = own, list[Contradiction]()
        if one is not None:
            _check_for_call(own, one)
            mine, theirs, levels = with_stricter_levels(own, one, trained.full)
            found = [*levels, *contradictions(mine, theirs)]
            if found:
                read(one, lines)  # what does not fit the table is not only contradicted, but wrong
            if found and not is_of_row:
                raise OptionError(found[0].message)
            both = merged(mine, theirs, [contradiction.feature for contradiction in found])
        rules = read(both, lines) if both or guards else None
        recorded = both if one is None or not found else merged(Constraints(protected=own.protected), one)
        parts.append(Part(lines, both, rules, recorded, tuple(found)))
    return parts


def _of_rows(own: Constraints, of_call: Any, n_rows: int) -> Iterator[tuple[Ints, Constraints | None, bool]]:
    """Return rows with the constraints of the call for them, and whether these are for single rows.

    Where bounds for each row contradict those of the explainer, a row is under rules of its own.
    """
    lines = np.arange(n_rows)
    if of_call is not None and not isinstance(of_call, Constraints):
        yield from _by_constraints(of_call, lines)
        return
    if of_call is not None and of_call.is_per_row:
        conflicts = np.zeros(n_rows, dtype=bool)
        for feature in set(own.ranges) & set(of_call.ranges):
            of_rows = conflicting_rows(feature, own.ranges[feature], of_call.ranges[feature])
            if len(of_rows) == n_rows:  # else the bounds are for other rows: that is an error when they are read
                conflicts |= of_rows
        if conflicts.any():
            yield from _by_constraints([of_call.for_row(line) for line in lines[conflicts].tolist()], lines[conflicts])
            lines, of_call = lines[~conflicts], of_call.take(lines[~conflicts])
            if not len(lines):
                return
    yield lines, of_call, False


def _check_for_call(own: Constraints, of_call: Constraints) -> None:
    """OptionError for rules that say what the columns are: they are those of ``fit``."""
    if any(feature not in own.derived for feature in of_call.derived):
        option = "derived"
    elif AUTO in of_call.groups and AUTO not in own.groups:
        option = "groups='auto'"
    else:
        return
    raise OptionError(
        f"{option} cannot be set for one call: it says what the columns of the table are, which fit learns. Pass it to "
        "the explainer: NICE(model, constraints=...)."
    )


def keep_rules(parts: list[Part], lines: Ints, values: Floats) -> Bools:
    """Whether values for rows of a call keep their rules, but for those of groups: they are about the training row."""
    kept = np.ones(len(lines), dtype=bool)
    for part in parts:
        if part.rules is not None:
            mine = np.flatnonzero(np.isin(lines, part.lines))
            own = np.searchsorted(part.lines, lines[mine])
            kept[mine] = replace(part.rules, groups=()).are_kept(own, values[mine], values[mine])
    return kept


def kept_text(constraints: Constraints, trained: Schema) -> Features | None:
    """The columns that do not change because they look like free text, and nothing else; None if there are none."""
    said = positions_of((*constraints.immutable, *constraints.protected), trained, "immutable")
    kept = [j for j in fixed_text(constraints.may_change, trained) if j not in said]
    return Features(tuple(trained.names[j] for j in kept)) if kept else None


def note_of(contradiction: Contradiction, trained: Schema) -> Statement:
    """Return the note that a feature does not change, with the two rules that contradict each other."""
    said = tuple(
        of_dates(one, lambda feature: is_date(trained, trained.position(feature, "constraints")))
        for one in contradiction.rules
    )
    return Statement("note.contradiction", {"feature": Features((contradiction.feature,)), "rules": said})


def rules_at(parts: list[tuple[Ints, Constraints]], line: int) -> dict[str, Any]:
    """The rules of one row."""
    for lines, constraints in parts:
        own = int(np.searchsorted(lines, line))
        if own < len(lines) and lines[own] == line:
            return constraints.for_row(own).to_dict()
    return {}


def _by_constraints(constraints: Any, rows: Ints) -> Iterator[tuple[Ints, Constraints | None, bool]]:
    """The rows that each of the constraints is for, given one for each row."""
    n_rows = len(rows)
    if isinstance(constraints, (str, bytes, dict)) or not isinstance(constraints, (Sequence, np.ndarray)):
        raise OptionError(
            f"constraints must be nicecf.Constraints, or a list with one (or None) for each row, got "
            f"{type(constraints).__name__}."
        )
    if len(constraints) != n_rows:
        raise OptionError(f"constraints has {len(constraints)} entries, one for each row, but X has {n_rows} rows.")
    lines: dict[str, list[int]] = {}
    first: dict[str, Constraints | None] = {}
    for line, one in enumerate(constraints):
        if one is not None and not isinstance(one, Constraints):
            raise OptionError(
                f"constraints of row {line} must be nicecf.Constraints or None, got {type(one).__name__}."
            )
        if one is not None and one.is_per_row:
            raise OptionError(f"constraints of row {line} have bounds for each row; in a list, give each its own.")
        first.setdefault(repr(one), one)
        lines.setdefault(repr(one), []).append(line)
    if not n_rows:  # one part, without rows
        yield rows, None, True
    for key, one in first.items():
        yield rows[lines[key]], one, True
