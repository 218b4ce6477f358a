"""Cases about rows that could exist: derived columns, relations, one-hot groups and twins, all drawn at random.

What must hold is computed here by plain Python, cell by cell, and shares nothing with the library.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from fuzz.tables import Random

_NUMBERS = ("a", "b", "c d", "e")
_CODES = {"low": 3, "middle": 7, "high": 11}
_DUMMIES = ("kind_x", "kind_y", "kind_z")
_CLASSES = [0, 1]
_N_TRAINING, _N_ROWS = 90, 12


@dataclass(frozen=True)
class Derived:
    """A derived column: its expression as the library gets it, and by Python. ``by_function``: it gets a function."""

    text: str
    value: Callable[[dict[str, float]], float | None]
    digits: int | None
    by_function: bool = False

    @property
    def given(self) -> Any:
        """What the library gets."""
        return self.of_table if self.by_function else self.text

    def of_table(self, X: Any) -> list[float | None]:
        """The column, row by row."""
        exact = [self.value(row) for row in _frame(X).to_dict("records")]
        return [one if one is None or self.digits is None else round(one, self.digits) for one in exact]

    def is_right(self, row: dict[str, float], given: float | None) -> bool:
        """Whether a cell is what follows, within the rounding."""
        exact = self.value(row)
        if exact is None or given is None:
            return exact is None and given is None
        half = 0.0 if self.digits is None else 0.5 * 10**-self.digits
        return abs(exact - given) <= half + 1e-7 * max(1.0, abs(exact))


@dataclass(frozen=True)
class Relation:
    """A relation: its text, and whether it holds, by Python; a missing number leaves it open."""

    text: str
    holds: Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, eq=False)
class Case:
    """A table with all that follows, rows to explain, the rules, and a model without any structure."""

    train: Any
    rows: Any
    derived: dict[str, Derived]
    relations: list[Relation]
    has_groups: bool
    model: Callable[[Any], np.ndarray]

    @property
    def constraints(self) -> dict[str, Any]:
        """The parameters of Constraints."""
        rules: dict[str, Any] = {"derived": {name: one.given for name, one in self.derived.items()}}
        rules["relations"] = [one.text for one in self.relations]
        return {**rules, **({"groups": "auto"} if self.has_groups else {})}

    @property
    def functions(self) -> dict[str, Any]:
        """The derived columns that a file cannot hold."""
        return {name: one.of_table for name, one in self.derived.items() if one.by_function}


def draw(random: Random) -> Case:
    """A random case."""
    relations = [_relation(random) for _ in range(int(random.integers(0, 3)))]
    derived = {"follows": _derived(random, _NUMBERS)}
    if random.random() < 0.4:
        derived["then"] = _derived(random, ("follows", "a"))
    has_groups = bool(random.random() < 0.7)
    kinds = {name: bool(random.random() < 0.4) for name in _NUMBERS}
    gaps = bool(random.random() < 0.3)

    def table(count: int) -> pd.DataFrame:
        lines: list[dict[str, Any]] = []
        # Ends: most random rows will do.
        while len(lines) < count:
            row = _row(random, kinds, gaps=gaps, has_groups=has_groups)
            for name, one in derived.items():
                exact = one.value(row)
                row[name] = exact if exact is None or one.digits is None else round(exact, one.digits)
            is_whole = gaps or all(row[name] is not None for name in derived)
            if is_whole and all(one.holds(row) for one in relations):
                lines.append(row)
        frame = pd.DataFrame(lines)
        return frame.astype(dict.fromkeys(derived, float))

    train, rows = table(_N_TRAINING), table(_N_ROWS)
    if has_groups and random.random() < 0.4:  # rows of nobody: several dummies on, or none
        for line in np.flatnonzero(random.random(_N_ROWS) < 0.3).tolist():
            rows.loc[line, list(_DUMMIES)] = random.integers(0, 2, len(_DUMMIES))
    weights = dict(zip(train.columns, random.normal(size=train.shape[1]), strict=True))
    model = _Model(weights, {name: float(train[name].std()) or 1.0 for name in train.select_dtypes("number")})
    if random.random() < 0.25 and not gaps:
        return Case(pl.from_pandas(train), pl.from_pandas(rows), derived, relations, has_groups, model)
    return Case(train, rows, derived, relations, has_groups, model)


def _row(random: Random, is_whole: dict[str, bool], *, gaps: bool, has_groups: bool) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in _NUMBERS:
        number = float(random.integers(-3, 9)) if is_whole[name] else float(np.round(random.normal(2, 3), 1))
        row[name] = None if gaps and random.random() < 0.1 else number
    if has_groups:
        row["grade"] = str(random.choice([*_CODES]))
        row["grade_code"] = _CODES[row["grade"]]
        chosen = str(random.choice(_DUMMIES))
        row |= {name: int(name == chosen) for name in _DUMMIES}
    row["free"] = str(random.choice(["p", "q"]))
    return row


def _derived(random: Random, names: tuple[str, ...]) -> Derived:
    one, other = (names[at] for at in random.permutation(len(names))[:2])
    a, b = (f"`{name}`" for name in (one, other))
    factor, digits = int(random.integers(1, 13)), int(random.integers(0, 4)) if random.random() < 0.6 else None
    forms: list[tuple[str, Callable[[float, float], float | None]]] = [
        (f"{a} + {b} * {factor}", lambda x, y: x + y * factor),
        (f"({a} - {b}) / {factor}", lambda x, y: (x - y) / factor),
        (f"{a} * {b}", lambda x, y: x * y),
        (f"{a} / {b}", lambda x, y: None if y == 0 else x / y),
        (f"min({a}, {b}, {factor})", lambda x, y: min(x, y, factor)),
        (f"max({a}, -{b})", lambda x, y: max(x, -y)),
    ]
    text, function = forms[int(random.integers(len(forms)))]

    def value(row: dict[str, float]) -> float | None:
        x, y = row[one], row[other]
        return None if _is_missing(x) or _is_missing(y) else function(x, y)

    by_function = bool(random.random() < 0.3)
    return Derived(text if digits is None else f"round({text}, {digits})", value, digits, by_function)


def _relation(random: Random) -> Relation:
    one, other = (_NUMBERS[at] for at in random.permutation(len(_NUMBERS))[:2])
    bound = float(random.integers(0, 6))
    forms: list[tuple[str, Callable[[float, float, str], bool]]] = [
        (f"`{one}` <= `{other}` + {bound:g}", lambda x, y, free: x <= y + bound + 1e-9),
        (f"`{one}` + `{other}` >= -{bound:g}", lambda x, y, free: x + y >= -bound - 1e-9),
        (
            f'free == "p" implies `{one}` < `{other}` + {bound + 2:g}',
            lambda x, y, free: free != "p" or x < y + bound + 2,
        ),
    ]
    text, function = forms[int(random.integers(len(forms)))]

    def holds(row: dict[str, Any]) -> bool:
        x, y = row[one], row[other]
        return _is_missing(x) or _is_missing(y) or function(x, y, row["free"])

    return Relation(text, holds)


@dataclass(frozen=True, eq=False)
class _Model:
    """Probabilities by a weighted sum of all cells, wrapped round: nearly any change may change the decision."""

    weights: dict[str, float]
    scales: dict[str, float]

    def __call__(self, X: Any) -> np.ndarray:
        frame = X.to_pandas() if isinstance(X, pl.DataFrame) else X
        total = np.zeros(len(frame))
        for name, weight in self.weights.items():
            if name in self.scales:
                total += weight * np.nan_to_num(frame[name].to_numpy(dtype=float), nan=1.7) / self.scales[name]
            else:
                total += weight * np.array([sum(map(ord, str(cell))) % 5 for cell in frame[name]])
        chance = 0.5 + 0.5 * np.sin(2 * total)
        return np.column_stack([1 - chance, chance])


def explainer_of(random: Random, case: Case) -> tuple[str, Any]:
    """An explainer by any search or baseline, with the rules; and what it is called."""
    from nicecf import NICE, Constraints, baselines

    rules = Constraints(**case.constraints)
    if random.random() < 0.2 and not isinstance(case.train, pl.DataFrame):
        name = str(random.choice(["WIT", "CBR", "SEDC", "GeCo"]))
        short = {"population": 20, "max_generations": 6} if name == "GeCo" else {}
        return name, getattr(baselines, name)(case.model, classes=_CLASSES, constraints=rules, **short)
    options: dict[str, Any] = {"optimize": str(random.choice(["sparsity", "proximity", "none"]))}
    if options["optimize"] != "none":
        options["search"] = str(random.choice(["greedy", "thorough"]))
        options["mix_donors"] = bool(random.random() < 0.7) if options["search"] == "thorough" else True
    if random.random() < 0.2:
        options["share_donor"] = False
    if random.random() < 0.15:
        options["min_count"] = 2
    if random.random() < 0.3:
        more = [
            {"immutable": ["a"]},
            {"max_changes": 2},
            {"ranges": {"follows": (-5, 20)}},
            {"increasing": ["b"]},
            {"within": {"follows": 4, "a": "50%"}},
        ]
        rules = rules & Constraints(**more[int(random.integers(len(more)))])
    return f"NICE {options}", NICE(case.model, classes=_CLASSES, constraints=rules, justified=False, **options)


def problems_of(case: Case, cfs: Any) -> list[str]:
    """What is impossible, not valid or wrongly counted in an answer."""
    wrong, found = _odd_dummies(case, cfs), cfs[cfs.found]
    if not len(found):
        return wrong
    after, before = (_frame(table) for table in (found.to_frame(), found.batch.table))
    for line in range(len(after)):
        wrong += _impossible(case, before.iloc[line], after.iloc[line], line)
    decided = case.model(found.to_frame() if isinstance(case.train, pl.DataFrame) else after).argmax(axis=1)
    at = case.model(before).argmax(axis=1)
    wrong += [f"line {line}: the model still says {at[line]}" for line in np.flatnonzero(decided == at)]
    counted = [_n_changes(case, before.iloc[line], after.iloc[line]) for line in range(len(after))]
    told = found.metrics()["sparsity"].tolist()
    wrong += [f"line {line}: {told[line]} changes told, {n} made" for line, n in enumerate(counted) if n != told[line]]
    return wrong


def problems_of_copies(random: Random, case: Case, explainer: Any, cfs: Any) -> list[str]:
    """What a file, a pickle or a record does not bring back."""
    from nicecf import NICE, replay

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.nice"
        explainer.save(path)
        loaded = NICE.load(path, model=case.model, derived=case.functions)
    records, wrong = cfs.to_records(), []
    if loaded.explain(case.rows).to_records() != records:
        wrong.append("a loaded explainer gives other answers")
    again = pickle.loads(pickle.dumps(cfs))
    if again.to_records() != records or again.batch.n_changes.tolist() != cfs.batch.n_changes.tolist():
        wrong.append("a pickled result is another one")
    line = int(random.integers(len(records)))
    made = replay(json.loads(json.dumps(records[line])), loaded)
    return wrong + [f"record {line}: {difference}" for difference in made.differences]


def _odd_dummies(case: Case, cfs: Any) -> list[str]:
    """Rows of nobody have a note, and no others; with min_count none has."""
    is_told = case.has_groups and cfs.to_records()[0]["options"].get("min_count", 1) == 1
    rows = _frame(case.rows)
    odd = [is_told and row[list(_DUMMIES)].sum() != 1 for _, row in rows.iterrows()]
    noted = ["one_hot" in (kinds or ()) for kinds in cfs.note_kinds]
    return [
        f"row {line}: noted {noted[line]}, odd {odd[line]}" for line in range(len(rows)) if noted[line] != odd[line]
    ]


def _impossible(case: Case, before: pd.Series[Any], row: pd.Series[Any], line: int) -> list[str]:
    cells: dict[str, Any] = {name: None if _is_missing(value) else value for name, value in row.items()}
    wrong = [
        f"line {line}: {name} is {cells[name]!r}, not {one.text} = {one.value(cells)!r}"
        for name, one in case.derived.items()
        if not one.is_right(cells, cells[name])
    ]
    wrong += [f"line {line}: {one.text} does not hold" for one in case.relations if not one.holds(cells)]
    is_own = case.has_groups and all(before[name] == row[name] for name in _DUMMIES)
    if case.has_groups and not is_own and sum(cells[name] for name in _DUMMIES) != 1:
        wrong.append(f"line {line}: the dummies are {[cells[name] for name in _DUMMIES]}")
    if case.has_groups and _CODES[cells["grade"]] != cells["grade_code"]:
        wrong.append(f"line {line}: {cells['grade']} has the code {cells['grade_code']}")
    return wrong


def _n_changes(case: Case, before: pd.Series[Any], after: pd.Series[Any]) -> int:
    together = {**dict.fromkeys(_DUMMIES, "dummies"), "grade_code": "grade"}
    changed = {
        together.get(name, name)
        for name in before.index
        if name not in case.derived
        and not (_is_missing(before[name]) and _is_missing(after[name]))
        and before[name] != after[name]
    }
    return len(changed)


def _frame(table: Any) -> pd.DataFrame:
    return table.to_pandas() if isinstance(table, pl.DataFrame) else table


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
