"""Random rules for the columns of a table, as the checks see them and as the library gets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from fuzz import moments
from fuzz.oracle import Rules
from fuzz.tables import Column, Random, Tables, code_of, n_rows

MOST_COUNT = 5  # the highest min_count


def speaks_of(rules: Rules, j: int) -> bool:
    """Whether a rule names a column by itself."""
    one_by_one = ("immutable", "protected", "increasing", "decreasing", "ranges", "allowed", "forbid", "step", "within")
    return any(j in getattr(rules, kind) for kind in one_by_one)


def contradicting(random: Random, rules: Rules, tables: Tables) -> tuple[int, Rules] | None:
    """Rules for a column that contradict those that it has, and the column; None if there are no such rules."""
    found: list[tuple[int, Rules]] = []
    for j, (low, high) in rules.ranges.items():
        numbers = (isinstance(bound, float) and abs(bound) < 1e200 for bound in (low, high))
        has_low, has_high = numbers
        if has_high:
            found.append((j, Rules(ranges={j: (high + abs(high) + 1.0, None)})))
        elif has_low:
            found.append((j, Rules(ranges={j: (None, low - abs(low) - 1.0)})))
    for j, values in rules.allowed.items():
        others = [value for value in map(_as_people_write, tables.columns[j].pool) if value not in values]
        found += [(j, Rules(allowed={j: others}))] if others else []
    found += [(j, Rules(decreasing={j: order})) for j, order in rules.increasing.items()]
    found += [(j, Rules(increasing={j: order})) for j, order in rules.decreasing.items()]
    # No number but 0 is a multiple of both.
    found += [(j, Rules(step={j: step * 2**0.5})) for j, step in rules.step.items() if isinstance(step, float)]
    return found[int(random.integers(len(found)))] if found else None


def draw_rules(random: Random, tables: Tables, free: Any, *, per_row: bool = False) -> Rules:
    """Rules for the columns that are ``free``, at most one of each column, and for all of them together."""
    rules = Rules()
    for j in free:
        column = tables.columns[j]
        if not column.has_values:
            continue
        kinds = ["free"] * 5 + ["immutable", "protected", "increasing", "decreasing", "allowed", "forbid"]
        kinds += [] if column.is_category else ["ranges", "ranges", "step", "within"]
        kind = str(random.choice(kinds))
        _RULES.get(kind, _no_rule)(random, rules, j, column, n_rows(tables.rows) if per_row else 0)
    for orders in (rules.increasing, rules.decreasing):
        for j, order in orders.items():
            if order is not None and random.random() < 0.4:
                orders[j] = _with_gaps(random, order, j, tables)
    n_columns = len(tables.columns)
    if n_columns > 1 and random.random() < 0.2:
        rules.groups.append(sorted(random.permutation(n_columns)[: int(random.integers(2, 4))].tolist()))
    limit = int(random.integers(1, 4)) if random.random() < 0.3 else None
    return Rules(**{**vars(rules), "max_changes": limit})


def _no_rule(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    pass


def _immutable(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    rules.immutable.append(j)


def _protected(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    rules.protected.append(j)


def _direction(kind: str) -> Callable[..., None]:
    def add(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
        if column.is_category and (_has_alike(column.pool) or len(column.pool) < 2):
            return
        values = column.dtype_levels or column.pool
        order = [values[at] for at in random.permutation(len(values))] if column.is_category else None
        getattr(rules, kind)[j] = order

    return add


def _with_gaps(random: Random, order: list[Any], j: int, tables: Tables) -> list[Any]:
    """An order without some of its levels; those that it names are held often enough for any min_count."""
    held = Counter(tables.reader.encode(tables.train)[:, j].tolist())
    known = [value for value in order if held[code_of(value)] >= MOST_COUNT]
    return known[: int(random.integers(2, len(known) + 1))] if len(known) > 1 else order


def _ranges(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    if moments.is_moment(column.pool[0]):
        low, high = (None if random.random() < 0.3 else end for end in moments.bounds(random, column.pool))
        if (low, high) != (None, None):
            rules.ranges[j] = (low, high)
        return
    values = sorted(float(value) for value in column.pool)
    ends = sorted(random.choice([values[0], values[-1], *values, values[0] - 1, 0.1, 0.3], 2).tolist())
    low, high = (None if random.random() < 0.3 else end for end in ends)
    if (low, high) == (None, None):
        return
    if n_bounds and random.random() < 0.7:
        bounds = random.choice([values[0], values[-1], np.nan, values[len(values) // 2]], n_bounds)
        low, high = (bounds, None) if random.random() < 0.5 else (None, bounds)
    rules.ranges[j] = (low, high)


def _allowed(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    pool = [_as_people_write(value) for value in column.pool]
    rules.allowed[j] = [pool[at] for at in random.permutation(len(pool))[: int(random.integers(1, len(pool) + 1))]]
    if _can_name_missing(column) and random.random() < 0.3:
        rules.allowed[j].append(None)


def _forbid(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    pool = [_as_people_write(value) for value in column.pool]
    if len(pool) < 2 or _has_alike(pool):
        return
    pairs = [random.choice(len(pool), 2, replace=False) for _ in range(int(random.integers(1, 5)))]
    rules.forbid[j] = [(pool[a], pool[b]) for a, b in pairs]


def _step(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    if moments.is_moment(column.pool[0]):
        rules.step[j] = timedelta(hours=float(random.choice([0.5, 12, 24, 240])))
        return
    rules.step[j] = float(random.choice([0.1, 0.5, 1.0, 2.0]))


def _within(random: Random, rules: Rules, j: int, column: Column, n_bounds: int) -> None:
    share = f"{random.choice([0.5, 10, 50, 150]):g}%"
    if moments.is_moment(column.pool[0]):
        is_lasting = isinstance(column.pool[0], timedelta)
        rules.within[j] = (
            share if is_lasting and random.random() < 0.5 else timedelta(hours=float(random.choice([12, 720])))
        )
        return
    apart = np.abs(np.subtract.outer(*[np.array(column.pool, dtype=float)] * 2)).ravel()
    apart = apart[(apart > 0) & (apart < 1e300)].tolist()
    rules.within[j] = share if random.random() < 0.4 or not apart else float(random.choice([0.1, 1.0, *apart]))


_RULES: dict[str, Callable[..., None]] = {
    "immutable": _immutable,
    "protected": _protected,
    "increasing": _direction("increasing"),
    "decreasing": _direction("decreasing"),
    "ranges": _ranges,
    "allowed": _allowed,
    "forbid": _forbid,
    "step": _step,
    "within": _within,
}


def _as_people_write(value: Any) -> Any:
    """0.1, also where a column of few digits holds 0.0999755859375."""
    for digits, dtype in ((3, np.float16), (6, np.float32)) if isinstance(value, float) else ():
        if float(dtype(round(value, digits))) == value:
            return round(value, digits)
    return value


def _has_alike(pool: list[Any]) -> bool:
    """Whether Python itself takes two of the values for one, as True and 1: a rule could not name one of them."""
    return len(set(pool)) < len(pool)


def _can_name_missing(column: Column) -> bool:
    """Whether None in a rule means the column's own way to say missing: in columns of objects there are several."""
    return column.share_missing > 0 and not (column.is_category and "object" in column.family.name)


def as_constraints(rules: Rules, tables: Tables) -> Any:
    """Rules by position as nicecf's own, by the names of the features."""
    from nicecf import Constraints

    names = tables.names

    def named(by_position: dict[int, Any]) -> dict[Any, Any]:
        return {names[j]: value for j, value in by_position.items()}

    def directions(orders: dict[int, list[Any] | None]) -> Any:
        return [names[j] for j in orders] if all(order is None for order in orders.values()) else named(orders)

    return Constraints(
        immutable=[names[j] for j in rules.immutable],
        protected=[names[j] for j in rules.protected],
        increasing=directions(rules.increasing),
        decreasing=directions(rules.decreasing),
        ranges=named(rules.ranges),
        allowed=named(rules.allowed),
        forbid=named(rules.forbid),
        step=named(rules.step),
        within=named(rules.within),
        groups=[[names[j] for j in group] for group in rules.groups],
        max_changes=rules.max_changes,
    )
