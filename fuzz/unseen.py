"""Values that training never saw, found again by plain counting: the notes must say so, and say nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fuzz.tables import is_missing

if TYPE_CHECKING:
    from fuzz.checks import Answer, Facts

# How many features a note names.
_NAMED = 3


def unseen_values_are_noted(facts: Facts, answer: Answer) -> list[str]:
    """A row has a note about values that training never saw if, and only if, it has such values; so has the summary."""
    wrong, new = [], {}
    missing = [_missing_codes(facts, j) for j in range(facts.rows.shape[1])]
    for row in range(len(facts.rows)):
        kinds = [_what_is_new(facts, row, j, are_missing) for j, are_missing in enumerate(missing)]
        if any(kind == "unknown" for kind in kinds):
            facts.apart["a column may count as free text"] += 1
            return []
        new[row] = {j: kind for j, kind in enumerate(kinds) if kind}
    names = facts.tables.names
    for row, note, told in zip(answer.rows.tolist(), answer.notes, answer.note_kinds, strict=True):
        if ("unseen" in (told or ())) != bool(new[row]):
            wrong.append(f"row {row}: {new[row]} are new, but the note is {note!r}")
            continue
        if not new[row]:
            continue
        protected = facts.ruled(row).protected
        first = [names[j] for j in new[row] if j not in protected][:_NAMED]
        missed = [name for name in first if f"{name!r} is " not in note]
        more = len(new[row]) - len(first)
        is_counted = f"{more} more feature" in note if first else "the row has values that" in note
        if missed or is_counted != (more > 0):
            wrong.append(f"row {row}: the note {note!r} does not name {missed} of {len(new[row])} features")
    expected = Counter((repr(names[j]), kind) for row in set(answer.rows.tolist()) for j, kind in new[row].items())
    if answer.unseen != dict(expected):
        wrong.append(f"the summary counts {answer.unseen}, not {dict(expected)}")
    return wrong


def _what_is_new(facts: Facts, row: int, j: int, are_missing: set[float]) -> str | None:
    """What is new about a cell: "outside", "category" or "missing"; "unknown" where another rule may silence it."""
    value, least = facts.rows[row, j], facts.settings.options.get("min_count", 1)
    is_category = facts.tables.reader.is_category[j]
    train = facts.train[:, j].tolist()
    present = [one for one in train if one not in are_missing and one == one]
    if value in are_missing or value != value:
        return None if len(train) - len(present) >= least or not _tells(facts, j) else "missing"
    counts = Counter(present)
    common = [one for one, count in counts.items() if count >= least]
    if is_category:
        if len(present) >= 50 and _n_levels(facts, j) > len(present) / 2:
            return "unknown"
        n_beside = len(present) - sum(counts[one] for one in common)
        is_new = value not in common
    else:
        if facts.precision(j).itemsize < 8:
            limit = float(np.finfo(facts.precision(j)).max)
            value = float(facts.precision(j).type(min(max(value, -limit), limit)))
        low, high = min(common, default=np.inf), max(common, default=-np.inf)
        n_beside = sum(not low <= one <= high for one in present)
        is_new = not low <= value <= high
    # With a guard, what most rows have may be rare: then a rare value is nothing unusual.
    if least > 1 and (not common or n_beside > 0.1 * len(present)):
        return None
    return ("category" if is_category else "outside") if is_new else None


def _tells(facts: Facts, j: int) -> bool:
    """Whether a guard leaves anything of a column to be told."""
    least = facts.settings.options.get("min_count", 1)
    return least == 1 or any(count >= least for count in facts.counts[j].values())


def _missing_codes(facts: Facts, j: int) -> set[float]:
    """The codes of missing categories: among objects, each way to mark them has one of its own."""
    if not facts.tables.reader.is_category[j]:
        return set()
    column, tables = facts.tables.reader.column, facts.tables
    codes = [(column(tables.train, j), facts.train[:, j]), (column(tables.rows, j), facts.rows[:, j])]
    return {
        code for cells, of in codes for cell, code in zip(list(cells), of.tolist(), strict=True) if is_missing(cell)
    }


def _n_levels(facts: Facts, j: int) -> int:
    cells = facts.tables.reader.column(facts.tables.train, j)
    declared = getattr(cells.dtype, "categories", ())
    n_declared = len(declared) if hasattr(declared, "__len__") else 0  # not those that all columns of polars share
    return max(len(set(facts.train[:, j].tolist())), n_declared)
