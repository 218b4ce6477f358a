"""What the documentation promises, worked out again with plain loops and arrays. Imports nothing from nicecf.

Rows are lines of the matrix that `fuzz.tables.Reader` makes; features are positions in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fuzz.models import Model
from fuzz.moments import number_of
from fuzz.tables import MISSING, code_of

NEAR = 1e-9


def same(a: Any, b: Any) -> np.ndarray:
    """Where two matrices hold the same value; two missing values are the same, and so are the two zeros."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return (a == b) | (np.isnan(a) & np.isnan(b))


def identical(a: Any, b: Any) -> np.ndarray:
    """Where two matrices hold the same bits: -0.0 is not 0.0; any NaN is any other."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return same(a, b) & ((np.signbit(a) == np.signbit(b)) | np.isnan(a))


# --- the decision -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Panel:
    """The model explained and those that must agree, and how each decides."""

    models: list[Model]
    classes: list[Any]
    decision: Any = None
    min_probability: float | None = None

    def hear(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """What each model says of a table: probabilities in the order of the classes, and positions decided on."""
        heard = []
        for model in self.models:
            probabilities = model.ask(X)[:, [model.classes.index(label) for label in self.classes]]
            heard.append((probabilities, self._decided(probabilities, model, X)))
        return heard

    def hear_cells(self, cells: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The same for lines of a matrix, of models that are functions of the cells."""
        heard = []
        for model in self.models:
            assert model.of_cells is not None
            probabilities = model.of_cells(cells)[:, [model.classes.index(label) for label in self.classes]]
            heard.append((probabilities, self._decided(probabilities, model, None)))
        return heard

    @property
    def is_of_cells(self) -> bool:
        """Whether all models, and what they decide, are functions of the cells."""
        has_own = self.decision == "predict" and any("its own predict" in model.kind for model in self.models)
        return not has_own and all(model.of_cells is not None for model in self.models)

    @property
    def is_steady(self) -> bool:
        """Whether all models answer a row alone as in a batch."""
        return all(model.is_steady for model in self.models)

    def _decided(self, probabilities: np.ndarray, model: Model, X: Any) -> np.ndarray:
        decision = self.decision
        if isinstance(decision, str):  # "predict": of functions of cells, the highest probability
            labels = [self.classes[at] for at in probabilities.argmax(axis=1)] if X is None else model.predict(X)
            return np.array([self.classes.index(plain(label)) for label in labels], dtype=int)
        if callable(decision):
            labels = decision(probabilities) if len(probabilities) else []
            return np.array([self.classes.index(plain(label)) for label in labels], dtype=int)
        if isinstance(decision, float):
            decision = {self.classes[1]: decision}
        if isinstance(decision, Mapping):
            cutoffs = {self.classes.index(label): cutoff for label, cutoff in decision.items()}
            return np.array([by_cutoffs(line, cutoffs) for line in probabilities], dtype=int)
        return probabilities.argmax(axis=1)

    def accepts(self, heard: list[tuple[np.ndarray, np.ndarray]], wanted: np.ndarray) -> np.ndarray:
        """Whether all put a row into a wanted class, with the probability asked for."""
        lines = np.arange(len(wanted))
        accepted = np.ones(len(wanted), dtype=bool)
        for probabilities, decided in heard:
            accepted &= wanted[lines, decided]
            if self.min_probability is not None:
                accepted &= probabilities[lines, decided] >= self.min_probability
        return accepted


def by_cutoffs(probabilities: np.ndarray, cutoffs: dict[int, float]) -> int:
    """A class from its cut-off on, of several the one furthest past it; else the best of those that have none."""
    shares = {at: probabilities[at] / cutoff for at, cutoff in cutoffs.items()}
    reached = {at: share for at, share in shares.items() if probabilities[at] >= cutoffs[at]}
    others = {at: p for at, p in enumerate(probabilities) if at not in cutoffs}
    choices = reached or others or shares
    return max(sorted(choices), key=lambda at: choices[at])


def plain(label: Any) -> Any:
    """A label as the Python value it stands for."""
    label = label[0] if isinstance(label, np.ndarray) else label
    return label.item() if isinstance(label, np.generic) else label


def wanted_classes(target: Any, decided: np.ndarray, classes: list[Any]) -> np.ndarray:
    """Which classes each row wants, given target_class and what the model says of the rows as they are."""
    wanted = np.zeros((len(decided), len(classes)), dtype=bool)
    for line, own in enumerate(decided):
        if isinstance(target, str) and target == "other":
            wanted[line] = True
            wanted[line, own] = False
        elif isinstance(target, list):
            wanted[line, [classes.index(label) for label in target]] = True
        elif hasattr(target, "__len__") and not isinstance(target, str):
            wanted[line, classes.index(plain(list(target)[line]))] = True
        else:
            wanted[line, classes.index(target)] = True
    return wanted


# --- the distance -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Distance:
    """HEOM over the training rows, column by column."""

    scales: list[float | None]
    weights: list[float]
    # Of each feature with an order the ranks of its codes; what is not in there is missing.
    ranks: dict[int, dict[float, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        train: np.ndarray,
        is_category: Iterable[bool],
        scale: str,
        weights: list[float],
        orders: Mapping[int, Iterable[Any]],
    ) -> Distance:
        """None stands for a feature that is compared by equality alone; ``orders``: levels from low to high."""
        scales: list[float | None] = []
        for column, category in zip(train.T, is_category, strict=True):
            known = column[~np.isnan(column)]
            if category or not len(known) or known.max() == known.min():
                scales.append(None)
            else:
                scales.append(float(known.max() - known.min() if scale == "range" else np.std(known)))
        ranks = {j: {code_of(level): rank for rank, level in enumerate(levels)} for j, levels in orders.items()}
        for j, of in ranks.items():
            scales[j] = float(len(of) - 1) if len(of) > 1 else None
        return cls(scales, weights, ranks)

    def between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The distance of each row from the other one; they broadcast."""
        return sum(self.by_feature(rows, others).T, start=np.zeros(1)).T

    def by_feature(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What each feature adds."""
        rows, others = np.broadcast_arrays(np.atleast_2d(rows), np.atleast_2d(others))
        parts = np.zeros(rows.shape)
        for j, (scale, weight) in enumerate(zip(self.scales, self.weights, strict=True)):
            a, b = rows[:, j], others[:, j]
            if j in self.ranks:
                a, b = ([self.ranks[j].get(code, np.nan) for code in codes] for codes in (a, b))
                a, b = np.array(a, dtype=float), np.array(b, dtype=float)
            one_missing = np.isnan(a) != np.isnan(b)
            apart = (~same(a, b)).astype(float) if scale is None else np.nan_to_num(np.abs(a - b) / scale)
            parts[:, j] = weight * np.where(one_missing, 1.0, apart)
        return parts


# --- rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of one `Constraints`, by positions; values as a user writes them."""

    immutable: list[int] = field(default_factory=list)
    protected: list[int] = field(default_factory=list)
    increasing: dict[int, list[Any] | None] = field(default_factory=dict)
    decreasing: dict[int, list[Any] | None] = field(default_factory=dict)
    ranges: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    allowed: dict[int, list[Any]] = field(default_factory=dict)
    forbid: dict[int, list[tuple[Any, Any]]] = field(default_factory=dict)
    step: dict[int, float] = field(default_factory=dict)
    within: dict[int, Any] = field(default_factory=dict)
    groups: list[list[int]] = field(default_factory=list)
    max_changes: int | None = None

    @property
    def kinds(self) -> list[str]:
        """Which kinds of rules there are."""
        return [name for name, value in vars(self).items() if not (value is None or value == [] or value == {})]


@dataclass(frozen=True, eq=False)
class Ruled:
    """All rules of one row: those of the explainer and those of the call.

    ``dtypes``: of each column of numbers, the precision in which it holds them. A rule names values as people write
    them, 0.1, and means what the column holds of that. How near to a whole step is near enough, nobody says: a change
    counts as broken only where it is clearly none (``strictly=False``), as possible where it clearly is one.
    """

    rules: list[Rules]
    line: int
    is_category: tuple[bool, ...]
    dtypes: list[np.dtype]
    counts: list[dict[Any, int]] | None = None  # how many training rows hold a value, where min_count asks
    min_count: int = 1

    def may_change(self, j: int, before: float, after: float, *, strictly: bool) -> bool:
        """Whether a feature may go from one value to another one."""
        if self.counts is not None and self.counts[j].get(_key(after), 0) < self.min_count:
            return False
        return all(self._may(one, j, before, after, strictly) for one in self.rules)

    def _may(self, rules: Rules, j: int, before: float, after: float, strictly: bool) -> bool:
        if j in rules.immutable or j in rules.protected:
            return False
        for orders, sign in ((rules.increasing, 1), (rules.decreasing, -1)):
            if j in orders and not _in_direction(before, after, orders[j], sign, self.is_category[j]):
                return False
        if j in rules.ranges and not self._is_within(j, after, *rules.ranges[j]):
            return False
        if j in rules.allowed and not any(same(after, self._read(j, value)) for value in rules.allowed[j]):
            return False
        if self._is_forbidden(j, before, after, rules.forbid.get(j, ()), strictly):
            return False
        if j in rules.within and not self._is_near(j, before, after, rules.within[j]):
            return False
        return j not in rules.step or self._is_in_steps(j, before, after, rules.step[j], strictly)

    def _read(self, j: int, value: Any) -> float:
        """A value of a rule as the column holds it."""
        read = _encoded(value, self.is_category[j])
        return read if self.is_category[j] else float(self.dtypes[j].type(read))

    def _is_within(self, j: int, after: float, low: Any, high: Any) -> bool:
        low, high = (end[self.line] if np.ndim(end) else end for end in (low, high))
        low, high = (None if end is None or end != end else self._read(j, end) for end in (low, high))
        if np.isnan(after):
            return low is None and high is None
        return (low is None or after >= low) and (high is None or after <= high)

    def _is_forbidden(self, j: int, before: float, after: float, pairs: Iterable[Any], strictly: bool) -> bool:
        """A row may hold a value in more digits than training did: then both may be meant, as written and as held."""
        judge = any if strictly else all
        return any(
            same(after, self._read(j, b))
            and judge(same(before, read) for read in (self._read(j, a), _encoded(a, self.is_category[j])))
            for a, b in pairs
        )

    def _is_in_steps(self, j: int, before: float, after: float, step: float, strictly: bool) -> bool:
        if np.isnan(before) or np.isnan(after):
            return False
        step = number_of(step)
        away = abs(after - before - round((after - before) / step) * step)
        rounding = float(np.finfo(self.dtypes[j]).eps) * (1 if strictly else 16)
        return away <= max(rounding, 0.0 if strictly else 1e-6) * max(abs(before), abs(after))

    def _is_near(self, j: int, before: float, after: float, limit: Any) -> bool:
        """Exactly as far as the limit is near enough, also where decimal fractions are not exact."""
        if np.isnan(before) or np.isnan(after):
            return False
        is_share = isinstance(limit, str)
        limit = abs(before) * float(limit.rstrip("%")) / 100 if is_share else number_of(limit)
        return abs(after - before) <= limit + 2 * float(np.finfo(self.dtypes[j]).eps) * (abs(before) + limit)

    @property
    def protected(self) -> set[int]:
        """Features that nothing said of the row names."""
        return {j for one in self.rules for j in one.protected}

    @property
    def groups(self) -> list[set[int]]:
        """Features that belong together; groups that share one are one."""
        merged: list[set[int]] = []
        for group in [set(group) for one in self.rules for group in one.groups]:
            touching = [other for other in merged if other & group]
            merged = [other for other in merged if other not in touching] + [group.union(*touching)]
        return merged

    @property
    def max_changes(self) -> int | None:
        """The lowest limit."""
        return min((one.max_changes for one in self.rules if one.max_changes is not None), default=None)

    def broken(self, row: np.ndarray, after: np.ndarray, train: np.ndarray) -> list[str]:
        """The rules that a counterfactual breaks, in words."""
        changed = np.flatnonzero(~same(row, after)).tolist()
        found = [
            f"feature {j} may not go from {row[j]!r} to {after[j]!r}"
            for j in changed
            if not self.may_change(j, row[j], after[j], strictly=False)
        ]
        if self.max_changes is not None and len(changed) > self.max_changes:
            found.append(f"{len(changed)} changes, {self.max_changes} are allowed")
        for group in self.groups:
            at = sorted(group)
            if not same(row[at], after[at]).all() and not same(train[:, at], after[at]).all(axis=1).any():
                found.append(f"the group {at} is neither the row's nor that of one training row")
        return found

    def seen(self, row: np.ndarray, donor: np.ndarray) -> np.ndarray:
        """The donor with what the row may not take put back to the row's own."""
        may = np.array(
            [
                bool(same(row[j], donor[j])) or self.may_change(j, row[j], donor[j], strictly=True)
                for j in range(len(row))
            ]
        )
        for group in self.groups:
            at = sorted(group)
            may[at] = may[at].all()
        return np.where(may, donor, row)


def _key(value: float) -> float | str:
    return "missing" if np.isnan(value) else value + 0.0


def counts_of(train: np.ndarray) -> list[dict[Any, int]]:
    """How many training rows hold each value of each column."""
    counts: list[dict[Any, int]] = []
    for column in train.T:
        held: dict[Any, int] = {}
        for value in column.tolist():
            held[_key(value)] = held.get(_key(value), 0) + 1
        counts.append(held)
    return counts


def _encoded(value: Any, is_category: bool) -> float:
    if is_category:
        return code_of(MISSING if value is None else value)
    return float("nan") if value is None else number_of(value)


def _in_direction(before: float, after: float, order: list[Any] | None, sign: int, is_category: bool) -> bool:
    if is_category:
        assert order is not None
        ranks = {code_of(value): rank for rank, value in enumerate(order)}
        if before not in ranks or after not in ranks:
            return False
        return sign * (ranks[after] - ranks[before]) >= 0
    return not np.isnan(before) and not np.isnan(after) and sign * (after - before) >= 0


# --- the paper's walk -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Paper:
    """Algorithm 1 in plain loops, for one model that decides by its highest probability."""

    train: np.ndarray
    is_donor: np.ndarray
    decided: np.ndarray
    panel: Panel
    distance: Distance
    optimize: str

    def answers(self, row: np.ndarray, wanted: np.ndarray) -> list[np.ndarray] | None:
        """What the walk may come to: one row, several where donors tie by rounding, none without a donor.

        None where the steps of a walk tie by rounding, so that it cannot be told.
        """
        candidates = np.flatnonzero(self.is_donor & wanted[self.decided])
        if not len(candidates):
            return []
        distances = self.distance.between(row, self.train[candidates])
        nearest = candidates[distances <= distances.min() * (1 + NEAR) + 1e-12]
        answers = [self._walk(row, donor, wanted) for donor in np.unique(self.train[nearest], axis=0)]
        return None if any(answer is None for answer in answers) else answers  # type: ignore[return-value]

    def _walk(self, row: np.ndarray, donor: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
        if self.optimize == "none":
            return donor
        current, left = row.copy(), np.flatnonzero(~same(row, donor)).tolist()
        reached = self._scores(current[None], wanted)[0][0]
        while left:
            hybrids = np.repeat(current[None], len(left), axis=0)
            hybrids[np.arange(len(left)), left] = donor[left]
            scores, accepted = self._scores(hybrids, wanted)
            best = self._best(scores - reached, self.distance.by_feature(row, donor)[0][left])
            if best is None:
                return None
            current, reached = hybrids[best], scores[best]
            del left[best]
            if accepted[best]:
                return current
        return current

    def _scores(self, rows: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        [(probabilities, decided)] = self.panel.hear_cells(rows)
        best = np.where(wanted, probabilities, -np.inf).max(axis=1)
        other = np.where(wanted, -np.inf, probabilities).max(axis=1)
        return best - np.where(np.isinf(other), 0.0, other), wanted[decided]

    def _best(self, gains: np.ndarray, steps: np.ndarray) -> int | None:
        """The step with the highest reward, the leftmost on a tie; None if rounding could decide."""
        rewards = gains if self.optimize == "sparsity" else np.where(gains == 0, 0.0, gains / np.maximum(steps, 1e-300))
        best = int(np.argmax(rewards))
        close = np.flatnonzero(np.abs(rewards - rewards[best]) <= NEAR * max(abs(rewards[best]), 1e-3))
        is_exact = bool((gains[close] == gains[best]).all())
        if len(close) > 1 and not (is_exact and (self.optimize == "sparsity" or gains[best] == 0)):
            return None
        return best
