"""Checks of an answer that share no code with the library: each says what is wrong, or nothing.

The checks in ``OF_ANSWERS`` look at one answer. Those in `fuzz.relations` ask the explainer again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from fuzz.models import Model
from fuzz.options import Settings, weights_of
from fuzz.oracle import NEAR, Distance, Panel, Ruled, counts_of, identical, plain, same, wanted_classes
from fuzz.tables import Tables, is_missing, n_rows, take
from fuzz.unseen import unseen_values_are_noted

# How far a reported probability may be from what the model says.
SAME_PROBABILITY = 1e-6
# Closer to the border than this, a model that rounds otherwise in a batch may change its mind.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Answer:
    """What the library handed out, by its public names. ``table``: the rows found, as they are; ``whole``: all rows."""

    found: np.ndarray
    reasons: list[Any]
    rows: np.ndarray
    donors: list[Any]
    predicted_after: list[Any]
    probability: np.ndarray
    table: Any
    whole: Any
    changes: pd.DataFrame
    notes: list[Any]
    note_kinds: list[Any]
    # How many rows have something new, by the feature and what it is.
    unseen: dict[tuple[str, str], int]

    @classmethod
    def of(cls, cfs: Any, container: str) -> Answer:
        """Read a Counterfactuals."""
        found = cfs[cfs.found]
        is_array = container == "numpy"
        return cls(
            found=np.asarray(cfs.found),
            reasons=list(cfs.reasons),
            rows=np.asarray(cfs.rows),
            donors=[None if is_missing(donor) else int(donor) for donor in list(cfs.donors)],
            predicted_after=list(cfs.predicted_after),
            probability=np.asarray(cfs.probability, dtype=float),
            table=found.to_numpy() if is_array else found.to_frame(),
            whole=cfs.to_numpy() if is_array else cfs.to_frame(),
            changes=cfs.changes(),
            notes=list(cfs.notes),
            note_kinds=list(cfs.note_kinds),
            unseen={
                (repr(name), kind): int(rows)
                for name, kind, rows in cfs.summary().unseen.itertuples(index=False, name=None)
            },
        )

    @property
    def found_rows(self) -> np.ndarray:
        """The positions of the rows that each line of ``table`` is a counterfactual of."""
        return self.rows[self.found]


@dataclass(eq=False)
class Facts:
    """What is known of a case without asking the library."""

    tables: Tables
    model: Model
    settings: Settings
    labels: list[Any] | None
    rows: np.ndarray
    train: np.ndarray
    wanted: np.ndarray
    in_target: np.ndarray
    train_decided: np.ndarray
    apart: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, tables: Tables, model: Model, settings: Settings, labels: list[Any] | None) -> Facts:
        """Ask the model about the rows and the training rows, and read them."""
        panel = settings.panel
        reader = tables.reader
        heard = panel.hear(tables.rows) if n_rows(tables.rows) else []
        decided = heard[0][1] if heard else np.empty(0, dtype=int)
        target = settings.call.get("target_class", "other")
        wanted = wanted_classes(target, decided, panel.classes)
        in_target = panel.accepts(heard, wanted) if heard else np.empty(0, dtype=bool)
        rows = reader.encode(tables.rows) if n_rows(tables.rows) else np.empty((0, len(tables.columns)))
        train_decided = panel.hear(tables.train)[0][1]
        return cls(tables, model, settings, labels, rows, reader.encode(tables.train), wanted, in_target, train_decided)

    @property
    def panel(self) -> Panel:
        """Who decides."""
        return self.settings.panel

    def ruled(self, line: int) -> Ruled:
        """The rules of one row."""
        min_count = self.settings.options.get("min_count", 1)
        dtypes = [_precision(column.family.name) for column in self.tables.columns]
        counts = self.counts if min_count > 1 else None
        return Ruled(self.settings.rules_of(line), line, self.tables.reader.is_category, dtypes, counts, min_count)

    def precision(self, j: int) -> np.dtype:
        """In which precision a column holds a number."""
        return _precision(self.tables.columns[j].family.name)

    @property
    def counts(self) -> list[dict[Any, int]]:
        """How many training rows hold each value."""
        if not hasattr(self, "_counts"):
            self._counts = counts_of(self.train)
        return self._counts

    @property
    def distance(self) -> Distance:
        """The distance that the options ask for."""
        options = self.settings.options
        weights = weights_of(options.get("feature_weights"), self.tables.names)
        by_rank = self.settings.is_nice and options.get("ordinal", "rank") == "rank"
        orders = {j: column.dtype_levels for j, column in enumerate(self.tables.columns) if column.dtype_levels}
        scale, is_category = options.get("scale", "range"), self.tables.reader.is_category
        return Distance.of(self.train, is_category, scale, weights, orders if by_rank else {})

    @property
    def may_be_donor(self) -> np.ndarray:
        """The training rows that the model gets right, or all where that is not asked for."""
        if not self.settings.options.get("justified", True) or self.labels is None:
            return np.ones(len(self.train), dtype=bool)
        classes = self.panel.classes
        return np.array([classes[at] == label for at, label in zip(self.train_decided, self.labels, strict=True)])


def _precision(family: str) -> np.dtype:
    """In which precision a column holds a number."""
    name = family.lower()
    if "float16" in name or "halffloat" in name:
        return np.dtype(np.float16)
    return np.dtype(np.float32 if "float32" in name or name == "float[pyarrow]" else np.float64)


# --- one answer -------------------------------------------------------------------------------------------------------


def every_row_has_its_place(facts: Facts, answer: Answer) -> list[str]:
    """Rows in their order, each at least once; columns and index of what was explained."""
    count = n_rows(facts.tables.rows)
    several = facts.settings.call.get("n_counterfactuals", 1) > 1
    expected = answer.rows if several else np.arange(count)
    wrong = []
    if not np.array_equal(answer.rows, expected) or set(answer.rows.tolist()) != set(range(count)):
        wrong.append(f"rows are {answer.rows.tolist()[:20]} of {count}")
        return wrong
    rows = facts.tables.rows
    if n_rows(answer.whole) != len(answer.rows) or n_rows(answer.table) != int(answer.found.sum()):
        wrong.append(f"{n_rows(answer.whole)} rows in all and {n_rows(answer.table)} found, of {len(answer.rows)}")
    if isinstance(rows, pd.DataFrame):
        if list(answer.whole.columns) != list(rows.columns):
            wrong.append(f"columns are {list(answer.whole.columns)}, not {list(rows.columns)}")
        if not answer.whole.index.equals(rows.index[answer.rows]):
            wrong.append("the index is not that of the rows")
    elif sparse.issparse(rows) and (type(answer.whole), answer.whole.format) != (type(rows), rows.format):
        wrong.append(f"{type(rows)} of format {rows.format} came back as {type(answer.whole)}, {answer.whole.format}")
    elif isinstance(rows, pl.DataFrame) and answer.whole.columns != rows.columns:
        wrong.append(f"columns are {answer.whole.columns}, not {rows.columns}")
    return wrong


def the_model_decides_for_the_target(facts: Facts, answer: Answer) -> list[str]:
    """Asked about the rows found as they are, in one batch, all models decide as wanted, as reported."""
    if not answer.found.any():
        return []
    heard = facts.panel.hear(answer.table)
    wanted = facts.wanted[answer.found_rows]
    accepted = facts.panel.accepts(heard, wanted)
    probabilities, decided = heard[0]
    said = probabilities[np.arange(len(decided)), decided]
    reported = answer.probability[answer.found]
    after = [label for label, found in zip(answer.predicted_after, answer.found, strict=True) if found]
    wrong = []
    for at, row in enumerate(answer.found_rows):
        label = facts.panel.classes[decided[at]]
        problem = None
        if not accepted[at]:
            problem = f"row {row}: the model says {label!r} ({said[at]:.6f}), which is not the target"
        elif after[at] != label:
            problem = f"row {row}: predicted_after is {after[at]!r}, the model says {label!r}"
        elif not abs(said[at] - reported[at]) <= SAME_PROBABILITY:
            problem = f"row {row}: the probability is reported as {reported[at]!r}, the model says {said[at]!r}"
        if problem is None:
            continue
        if not facts.panel.is_steady and _is_at_the_border(probabilities[at]):
            facts.apart["the model answers a batch of the search and the batch of answers differently"] += 1
        else:
            wrong.append(problem)
    return wrong


def _is_at_the_border(probabilities: np.ndarray) -> bool:
    top = np.sort(probabilities)[-2:]
    return bool(top[1] - top[0] < ROUNDING)


def a_row_alone_is_decided_alike(facts: Facts, answer: Answer) -> list[str]:
    """A sample asked one by one: models that answer otherwise then are counted apart, steady ones are wrong."""
    wrong = []
    for at in range(0, n_rows(answer.table), max(1, n_rows(answer.table) // 3)):
        row = answer.found_rows[at]
        heard = facts.panel.hear(take(answer.table, [at]))
        if facts.panel.accepts(heard, facts.wanted[[row]])[0]:
            continue
        if facts.panel.is_steady:
            wrong.append(f"row {row}: alone, the model decides otherwise")
        else:
            facts.apart["the model answers a row alone otherwise than in a batch"] += 1
    return wrong


def found_rows_are_the_same_in_the_whole_table(facts: Facts, answer: Answer) -> list[str]:
    """to_frame()[found] holds what cfs[found].to_frame() holds, and the other rows are missing."""
    if not len(answer.rows):
        return []
    reader = facts.tables.reader
    found = np.flatnonzero(answer.found)
    wrong = []
    if len(found):
        whole, strict = (reader.encode(table) for table in (take(answer.whole, found), answer.table))
        alike = identical(whole, strict)
        if facts.tables.container == "numpy":
            alike |= np.array(reader.is_category) & _are_alike_categories(facts, answer, found)
        if not alike.all():
            line, j = np.argwhere(~alike)[0]
            wrong.append(f"row {answer.found_rows[line]}: feature {j} differs between to_frame()[found] and cfs[found]")
        wrong += _kinds_that_differ(answer)
    for line in np.flatnonzero(~answer.found)[:50]:
        cells = [_cell(reader.column(answer.whole, j), int(line)) for j in range(len(facts.tables.columns))]
        if not all(is_missing(cell) or (cell == "nan" and facts.tables.container == "numpy") for cell in cells):
            wrong.append(f"row {answer.rows[line]} was not found, but holds {cells!r}")
            break
    return wrong


def _kinds_that_differ(answer: Answer) -> list[str]:
    """Rows that were not found make no floats of whole numbers, and no objects of booleans, in a frame."""
    if not isinstance(answer.whole, pd.DataFrame):
        return []
    kinds = (pd.api.types.is_integer_dtype, pd.api.types.is_bool_dtype)
    return [
        f"column {name!r} is {was} in cfs[found].to_frame(), but {now} in to_frame()"
        for name, was, now in zip(answer.table.columns, answer.table.dtypes, answer.whole.dtypes, strict=True)
        if any(is_kind(was) and not is_kind(now) for is_kind in kinds)
    ]


def _are_alike_categories(facts: Facts, answer: Answer, found: np.ndarray) -> np.ndarray:
    """An array has one dtype: beside missing cells True may be written as 1.0 and None as NaN, but must be equal."""
    reader = facts.tables.reader
    alike = np.zeros((len(found), len(facts.tables.columns)), dtype=bool)
    whole = take(answer.whole, found)
    for j, category in enumerate(reader.is_category):
        if category:
            pairs = zip(_cells(reader.column(whole, j)), _cells(reader.column(answer.table, j)), strict=True)
            alike[:, j] = [
                is_missing(a) and is_missing(b) if is_missing(a) or is_missing(b) else a == b for a, b in pairs
            ]
    return alike


def _cells(cells: Any) -> list[Any]:
    return cells.to_list() if isinstance(cells, pl.Series) else cells.tolist()


def _cell(cells: Any, at: int) -> Any:
    return cells.iloc[int(at)] if isinstance(cells, pd.Series) else cells[int(at)]


def cells_are_the_rows_own_or_the_donors(facts: Facts, answer: Answer) -> list[str]:
    """What is unchanged is the row's own, bit by bit; what is changed is a training row's, all of one of them.

    Where donors are mixed, each changed cell is that of some training row; `rules_are_kept` looks at groups.
    """
    if not answer.found.any():
        return []
    after, before = facts.tables.reader.encode(answer.table), facts.rows[answer.found_rows]
    unlike = ~identical(after, before)
    donors = [donor for donor, found in zip(answer.donors, answer.found, strict=True) if found]
    wrong = []
    for at, row in enumerate(answer.found_rows):
        changed = np.flatnonzero(unlike[at])
        if not len(changed):
            continue
        if facts.in_target[row]:
            wrong.append(f"row {row} is in the target already, but its features {changed.tolist()} changed")
            continue
        problem = _where_from(facts, after[at], changed, donors[at])
        if problem:
            wrong.append(f"row {row}: {problem}")
    return wrong


_MAKES_NEW_NUMBERS = ("SEDC", "CFproto", "DiCE", "GrowingSpheres")


def _where_from(facts: Facts, after: np.ndarray, changed: np.ndarray, donor: int | None) -> str | None:
    """What is wrong with the source of changed cells."""
    if facts.settings.explainer in _MAKES_NEW_NUMBERS:
        return None
    for j in changed:
        if not identical(facts.train[:, j], after[j]).any():
            return f"feature {j} became {after[j]!r}, which no training row holds"
    if not facts.settings.is_nice:
        return None
    if donor is not None:
        if not identical(facts.train[donor, changed], after[changed]).all():
            return f"features {changed.tolist()} are not all those of the donor {donor}"
    elif facts.settings.mixes_donors:
        return None
    elif facts.settings.options.get("share_donor", True):
        return "it has changes, but no donor is told"
    elif not identical(facts.train[:, changed], after[changed]).all(axis=1).any():
        return f"features {changed.tolist()} are not all those of one training row"
    return None


def told_donors_hold_the_new_values(facts: Facts, answer: Answer) -> list[str]:
    """changes() names, for each new value, a training row that holds it: the donor's position, if there is one donor.

    One row is named for all of a group, and none at all under share_donor=False.
    """
    if not facts.settings.is_nice or not answer.found.any():
        return []
    after = facts.tables.reader.encode(answer.table)
    features = [facts.tables.names.index(name) for name in answer.changes["feature"]]
    told = [None if is_missing(one) else int(one) for one in answer.changes["donor"]]
    if not facts.settings.options.get("share_donor", True):
        return [] if set(told) <= {None} else ["changes() tells a donor under share_donor=False"]
    donors = [donor for donor, found in zip(answer.donors, answer.found, strict=True) if found]
    n_changes = (~same(after, facts.rows[answer.found_rows])).sum(axis=1)
    ends = np.cumsum(n_changes)
    wrong = []
    for position, (row, donor) in enumerate(zip(answer.found_rows, donors, strict=True)):
        lines = range(ends[position] - n_changes[position], ends[position])
        named = {features[line]: told[line] for line in lines}
        for j, one in named.items():
            value = after[position, j]
            if one is None:
                wrong.append(f"row {row}: changes() names no training row for feature {j}, {value!r}")
            elif donor is not None and one != donor:
                wrong.append(f"row {row}: changes() names {one} for feature {j}, but the donor is {donor}")
            elif not identical(facts.train[one, j], value):
                wrong.append(f"row {row}: feature {j} became {value!r}, which training row {one} does not hold")
        for group in facts.ruled(int(row)).groups:
            holders = {named[j] for j in group if j in named}
            if len(holders) > 1:
                wrong.append(f"row {row}: changes() names {sorted(holders, key=str)} for the group {sorted(group)}")
    return wrong


def unchanged_objects_are_the_rows_own(facts: Facts, answer: Answer) -> list[str]:
    """Cells of object columns that did not change have the type that they had."""
    wrong = []
    if not answer.found.any():
        return wrong
    after, before = facts.tables.reader.encode(answer.table), facts.rows[answer.found_rows]
    own = take(facts.tables.rows, answer.found_rows.tolist())
    for j in range(len(facts.tables.columns)):
        now, was = (facts.tables.reader.column(table, j) for table in (answer.table, own))
        if isinstance(was, pl.Series):
            if not (now.is_null() == was.is_null()).to_numpy()[identical(after[:, j], before[:, j])].all():
                wrong.append(f"feature {j}: null and NaN were exchanged in a cell that did not change")
            continue
        if was.dtype != object:
            continue
        for at, (a, b) in enumerate(zip(now.tolist(), was.tolist(), strict=True)):
            if identical(after[at, j], before[at, j]) and (type(a) is not type(b) or repr(a) != repr(b)):
                wrong.append(f"row {answer.found_rows[at]}, feature {j}: {b!r} ({type(b).__name__}) came back as {a!r}")
                break
    return wrong


def dtypes_are_the_rows_own(facts: Facts, answer: Answer) -> list[str]:
    """A dtype is widened only where it cannot hold a new value."""
    if not answer.found.any():
        return []
    after, before = facts.tables.reader.encode(answer.table), facts.rows[answer.found_rows]
    unlike = ~identical(after, before)
    rows = facts.tables.rows
    if isinstance(rows, np.ndarray) or sparse.issparse(rows):
        table = answer.table.toarray() if sparse.issparse(rows) else answer.table
        is_held = _array_holds(rows.dtype, table, unlike)
        return [] if not is_held or answer.table.dtype == rows.dtype else [f"{rows.dtype} became {answer.table.dtype}"]
    wrong = []
    for j in range(len(facts.tables.columns)):
        now, was = (facts.tables.reader.column(table, j) for table in (answer.table, rows))
        if now.dtype == was.dtype:
            continue
        new = [value for value, is_new in zip(_cells(now), unlike[:, j], strict=True) if is_new]
        if _column_holds(was, new):
            wrong.append(f"feature {j}: {was.dtype} became {now.dtype}, though it holds {new[:3]!r}")
    return wrong


def _array_holds(dtype: np.dtype, table: np.ndarray, unlike: np.ndarray) -> bool:
    new = table[unlike]
    if dtype.kind in "OU":
        width = max((len(str(value)) for value in new.tolist()), default=0)
        return dtype.kind == "O" or np.dtype(f"U{max(width, 1)}").itemsize <= dtype.itemsize
    return _numbers_fit(dtype, new)


def _numbers_fit(dtype: np.dtype, values: Any) -> bool:
    values = np.array([np.nan if is_missing(value) else float(value) for value in list(values)], dtype=float)
    with np.errstate(all="ignore"):
        return bool(identical(values.astype(dtype).astype(float), values).all())


def _column_holds(cells: Any, new: list[Any]) -> bool:
    """Whether a column's dtype holds new values; False if in doubt."""
    if not new:
        return True
    try:
        if isinstance(cells, pl.Series):
            held = pl.Series(new, dtype=cells.dtype, strict=False).to_list()
            return all(map(_is_held, held, new))
        dtype = cells.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return all(is_missing(value) or value in dtype.categories for value in new)
        if isinstance(dtype, np.dtype):
            may_miss = dtype.kind in "fO" or not any(map(is_missing, new))
            return dtype.kind == "O" or (may_miss and _numbers_fit(dtype, new))
        return all(map(_is_held, pd.array(new, dtype=dtype), new))
    except Exception:
        return False


def _is_held(held: Any, value: Any) -> bool:
    """Whether a value came through a dtype as it was; integers do not hold -0.0."""
    if is_missing(held) or is_missing(value):
        return is_missing(held) and is_missing(value)
    is_zero = isinstance(value, float) and value == 0
    return held == value and not (is_zero and np.signbit(float(held)) != np.signbit(value))


def changes_say_what_differs(facts: Facts, answer: Answer) -> list[str]:
    """changes() has a line for every cell that differs, with both values, in the order of the rows; and no other."""
    lines = answer.changes
    table, position = answer.table, -1
    reader = facts.tables.reader
    after = reader.encode(table) if answer.found.any() else np.empty((0, len(facts.tables.columns)))
    labels = facts.tables.rows.index if isinstance(facts.tables.rows, pd.DataFrame) else None
    features, olds, news = list(lines["feature"]), list(lines["before"]), list(lines["after"])
    told, at = list(lines["row"]), 0
    for line, row in enumerate(answer.rows):
        if not answer.found[line]:
            continue
        position += 1
        expected = set(np.flatnonzero(~same(after[position], facts.rows[row])).tolist())
        mine = []
        while at < len(told) and len(mine) < len(expected):
            mine.append(at)
            at += 1
        named = [facts.tables.names.index(features[one]) for one in mine]
        if set(named) != expected:
            return [f"row {row}: changes() names {sorted(set(named))}, but {sorted(expected)} differ"]
        label = row if labels is None else labels[row]
        for one, j in zip(mine, named, strict=True):
            now, was = _cell(reader.column(table, j), position), _cell(reader.column(facts.tables.rows, j), int(row))
            if told[one] != label:
                return [f"row {row}: changes() calls it {told[one]!r}, not {label!r}"]
            if not _is_told(olds[one], was) or not _is_told(news[one], now):
                told_of = f"{olds[one]!r} -> {news[one]!r}"
                return [f"row {row}, feature {j}: changes() says {told_of}, it is {was!r} -> {now!r}"]
    return [] if at == len(told) else [f"changes() has {len(told) - at} lines more than cells that differ"]


def _is_told(told: Any, cell: Any) -> bool:
    if is_missing(cell) or is_missing(told):
        return is_missing(told) and (is_missing(cell) or str(cell) == "nan")
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return told == cell and (type(told) is type(cell) or not isinstance(cell, (bool, str)))


def rules_are_kept(facts: Facts, answer: Answer) -> list[str]:
    """No change breaks a rule of the explainer, of the call or of the row."""
    if (facts.settings.own_rules is None and facts.settings.call_rules is None) or not answer.found.any():
        return []
    after = facts.tables.reader.encode(answer.table)
    wrong = []
    for at, row in enumerate(answer.found_rows):
        if not same(after[at], facts.rows[row]).all():
            ruled = facts.ruled(int(row))
            broken = Ruled(ruled.rules, ruled.line, ruled.is_category, ruled.dtypes).broken(
                facts.rows[row], after[at], facts.train
            )
            wrong += [f"row {row}: {one}" for one in broken]
    return wrong


def guards_are_kept(facts: Facts, answer: Answer) -> list[str]:
    """No training row is handed out under share_donor=False, no rare value under min_count."""
    options = facts.settings.options
    if not answer.found.any() or (options.get("share_donor", True) and options.get("min_count", 1) == 1):
        return []
    after = facts.tables.reader.encode(answer.table)
    wrong = []
    for at, row in enumerate(answer.found_rows):
        changed = np.flatnonzero(~same(after[at], facts.rows[row]))
        if not len(changed):
            continue
        if not options.get("share_donor", True) and same(facts.train, after[at]).all(axis=1).any():
            wrong.append(f"row {row}: a training row is handed out as it is")
        for j in changed:
            count = int(same(facts.train[:, j], after[at, j]).sum())
            if count < options.get("min_count", 1):
                wrong.append(f"row {row}: feature {j} became {after[at, j]!r}, which {count} training rows hold")
    if not options.get("share_donor", True) and any(donor is not None for donor in answer.donors):
        wrong.append("a donor is told under share_donor=False")
    return wrong


def reasons_are_given(facts: Facts, answer: Answer) -> list[str]:
    """Where nothing was found a reason in words, else none."""
    wrong = []
    for line, (found, reason) in enumerate(zip(answer.found, answer.reasons, strict=True)):
        if found and reason is not None:
            wrong.append(f"row {answer.rows[line]} was found, but has the reason {reason!r}")
        if not found and not (isinstance(reason, str) and reason.strip()):
            wrong.append(f"row {answer.rows[line]} was not found, and the reason is {reason!r}")
    return wrong


def whoever_can_be_helped_is_helped(facts: Facts, answer: Answer) -> list[str]:
    """If a training row, seen through the rules, is accepted, the row is found; a row in the target too."""
    settings = facts.settings
    is_known = settings.is_nice or settings.explainer == "WIT"
    if not is_known or "time_budget" in settings.call or not facts.panel.is_steady:
        return []
    missed = [int(row) for row in np.unique(answer.rows[~answer.found])]
    wrong = [f"row {row} is in the target already, but not found" for row in missed if facts.in_target[row]]
    if not facts.panel.is_of_cells or facts.tables.has_two_zeros:
        return wrong
    for row in missed[:25]:
        seen = _all_seen(facts, row)
        if not len(seen):
            continue
        accepted = facts.panel.accepts(facts.panel.hear_cells(seen), np.repeat(facts.wanted[[row]], len(seen), axis=0))
        if accepted.any():
            wrong.append(f"row {row} was not found, but {seen[accepted][0].tolist()!r} is accepted and keeps the rules")
    return wrong


def _all_seen(facts: Facts, row: int) -> np.ndarray:
    """The training rows as one row may take them, but for those that no promise speaks of."""
    settings = facts.settings
    candidates = facts.train if not settings.is_nice else facts.train[facts.may_be_donor]
    if settings.has_rules:
        ruled = facts.ruled(row)
        candidates = np.array([ruled.seen(facts.rows[row], donor) for donor in candidates]).reshape(
            -1, facts.train.shape[1]
        )
        limit = ruled.max_changes
        if limit is not None and len(candidates):
            candidates = candidates[(~same(candidates, facts.rows[row])).sum(axis=1) <= limit]
    if len(candidates):
        candidates = candidates[~same(candidates, facts.rows[row]).all(axis=1)]
    if len(candidates) and not settings.options.get("share_donor", True):
        candidates = np.array([one for one in candidates if not same(facts.train, one).all(axis=1).any()])
    return candidates


def contradicting_rules_are_noted(facts: Facts, answer: Answer) -> list[str]:
    """A note says that a feature does not change, where rules of a row contradict those of the explainer; else none."""
    wrong = []
    for row, kinds in zip(answer.rows.tolist(), answer.note_kinds, strict=True):
        is_contradicted = row in facts.settings.contradicted and not facts.in_target[row]
        if ("contradiction" in (kinds or ())) != is_contradicted:
            wrong.append(f"row {row} is {'' if is_contradicted else 'not '}contradicted, and its notes are {kinds}")
    return wrong


def what_predict_denies_is_noted(facts: Facts, answer: Answer) -> list[str]:
    """Where the model's own predict differs on training rows, a note for each answer that it does not confirm."""
    predict, found = facts.model.predict, answer.found
    noted = np.array(["own_predict" in (kinds or ()) for kinds in answer.note_kinds])
    if predict is None or facts.panel.decision is not None:
        return ["an answer is noted that predict was not asked about"] if noted.any() else []
    probabilities = facts.model.ask(facts.tables.train)
    highest = np.sort(probabilities, axis=1)
    is_clear = highest[:, -1] - highest[:, -2] > NEAR
    said = [plain(label) for label in predict(facts.tables.train)]
    decided = [facts.model.classes[at] for at in probabilities.argmax(axis=1)]
    differs = any(a != b for a, b, clear in zip(said, decided, is_clear, strict=True) if clear)
    if not differs and not facts.model.kind.startswith("SVC, probability"):
        return ["an answer is noted though predict is the highest probability"] if noted.any() else []
    if not found.any():
        return []
    of_rows = [plain(label) for label in predict(facts.tables.rows)]
    after = [plain(label) for label in predict(answer.table)]
    is_other = ~same(facts.tables.reader.encode(answer.table), facts.rows[answer.found_rows]).all(axis=1)
    wanted = facts.wanted[answer.found_rows]
    denied = np.array(
        [
            not wanted[at, facts.panel.classes.index(label)] or (is_other[at] and label == of_rows[row])
            for at, (row, label) in enumerate(zip(answer.found_rows, after, strict=True))
        ]
    )
    wrong = np.flatnonzero(denied != noted[found])
    return [f"row {answer.found_rows[at]}: predict says {after[at]!r}, noted: {noted[found][at]}" for at in wrong]


OF_ANSWERS: dict[str, Callable[[Facts, Answer], list[str]]] = {
    check.__name__: check
    for check in (
        every_row_has_its_place,
        the_model_decides_for_the_target,
        a_row_alone_is_decided_alike,
        found_rows_are_the_same_in_the_whole_table,
        cells_are_the_rows_own_or_the_donors,
        told_donors_hold_the_new_values,
        unchanged_objects_are_the_rows_own,
        dtypes_are_the_rows_own,
        changes_say_what_differs,
        rules_are_kept,
        guards_are_kept,
        reasons_are_given,
        whoever_can_be_helped_is_helped,
        unseen_values_are_noted,
        contradicting_rules_are_noted,
        what_predict_denies_is_noted,
    )
}


# --- what must not be written to --------------------------------------------------------------------------------------


def snapshot(*things: Any) -> list[str]:
    """All that can be seen of tables, labels and options, as text."""
    return [_seen(thing) for thing in things]


def _seen(thing: Any) -> str:
    if isinstance(thing, pd.DataFrame):
        cells = [repr([(type(v).__name__, v) for v in thing.iloc[:, at].tolist()]) for at in range(thing.shape[1])]
        return repr((list(thing.columns), list(thing.index), list(map(str, thing.dtypes)), cells))
    if isinstance(thing, pl.DataFrame):
        return repr((thing.columns, list(map(str, thing.dtypes)), thing.rows()))
    if sparse.issparse(thing):
        return repr((type(thing), thing.format, thing.nnz, _seen(thing.toarray())))
    if isinstance(thing, np.ndarray):
        return repr((thing.dtype.str, thing.shape, thing.tolist()))
    if isinstance(thing, (pd.Series, pl.Series)):
        index = list(thing.index) if isinstance(thing, pd.Series) else None
        return repr((str(thing.dtype), list(thing), index))
    if isinstance(thing, dict):
        return repr({key: _seen(value) for key, value in thing.items()})
    if isinstance(thing, (list, tuple)):
        return repr([_seen(value) for value in thing])
    return repr(thing)


def nothing_is_written_to(before: list[str], after: list[str]) -> list[str]:
    """Tables, labels and options are what they were."""
    return [
        f"the input was written to: {a[:200]} became {b[:200]}" for a, b in zip(before, after, strict=True) if a != b
    ]
