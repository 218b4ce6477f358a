"""Cases with a margin that no training row reaches, though combinations of training values may.

The tables are so small that all combinations can be looked at: for each row it is known whether a counterfactual
exists. Where models add up and rules are about one feature each, the default search must find one; elsewhere it is
counted how often it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from fuzz.tables import Random

_MOST_VALUES, _N_ROWS = 5, 6
_CLASSES = [0, 1]


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: the parameters of Constraints, and whether changed rows keep it. ``is_alone``: it is of one feature."""

    given: dict[str, Any]
    holds: Callable[[np.ndarray, np.ndarray], np.ndarray]
    is_alone: bool = True


@dataclass(frozen=True, eq=False)
class Case:
    """A table of numbers, models that must agree, a margin beyond all training rows, and rules."""

    train: np.ndarray
    rows: np.ndarray
    models: list[Callable[[Any], np.ndarray]]
    margin: float
    rules: list[Rule]
    options: dict[str, Any]
    is_additive: bool

    @property
    def constraints(self) -> dict[str, Any]:
        """The parameters of Constraints."""
        return {name: value for rule in self.rules for name, value in rule.given.items()}

    @property
    def must_be_found(self) -> bool:
        """Whether a search that looks at every feature by itself finds all that exists."""
        is_guarded = not self.options.get("share_donor", True)
        return self.is_additive and all(rule.is_alone for rule in self.rules) and not is_guarded

    def are_good(self, row: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Which rows would do as counterfactuals of a row."""
        good = (values != row).any(axis=1)
        for model in self.models:
            good &= model(values)[:, 1] >= self.margin
        for rule in self.rules:
            good &= rule.holds(np.broadcast_to(row, values.shape), values)
        if not self.options.get("share_donor", True):
            good &= ~(values[:, None] == self.train[None]).all(axis=2).any(axis=1)
        return good

    def exists(self, row: np.ndarray) -> bool:
        """Whether any combination of training values, and the row's own, would do."""
        columns = [np.unique([*column, own]) for column, own in zip(self.train.T, row, strict=True)]
        return bool(self.are_good(row, np.array(list(product(*columns)))).any())


def draw(random: Random) -> Case:
    """A random case."""
    n_features = int(random.integers(2, 6))
    values = [np.round(random.normal(size=int(random.integers(2, _MOST_VALUES + 1))), 2) for _ in range(n_features)]
    train = np.column_stack([random.choice(own, 25) for own in values])
    is_additive = bool(random.random() < 0.5)
    models = [_additive(random, n_features) if is_additive else _tables(random, values)]
    if random.random() < 0.3:
        other = _additive(random, n_features) if is_additive else _tables(random, values)
        # A model that says the opposite of the labels is refused: its columns would be in another order.
        if np.mean(other(train).argmax(axis=1) == models[0](train).argmax(axis=1)) > 0.5:
            models.append(other)
            is_additive = False  # what is best for one model need not be so for the other
    every = np.array(list(product(*map(np.unique, train.T))))
    reached, best = _least(models, train), _least(models, every)
    margin = float(reached.max() + random.choice([0.05, 0.5, 0.95]) * (best.max() - reached.max()))
    # Less what a batch may be rounded otherwise than a row.
    margin = float(np.clip(margin - 1e-9, 0.51, 1.0))
    rows = train[models[0](train)[:, 1] < 0.5][:_N_ROWS]
    options = {"optimize": str(random.choice(["sparsity", "proximity"])), "share_donor": bool(random.random() < 0.85)}
    rules = [rule for rule in _rules(random, train) if random.random() < 0.25]
    return Case(train, rows, models, margin, rules, options, is_additive)


def _least(models: list[Callable[[Any], np.ndarray]], rows: np.ndarray) -> np.ndarray:
    return np.min([model(rows)[:, 1] for model in models], axis=0)


def _additive(random: Random, n_features: int) -> Callable[[Any], np.ndarray]:
    weights = random.normal(size=n_features)

    def model(X: Any) -> np.ndarray:
        chance = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ weights))
        return np.column_stack([1 - chance, chance])

    return model


def _tables(random: Random, values: list[np.ndarray]) -> Callable[[Any], np.ndarray]:
    """Return a model like trees: a sum of tables, each of which looks at two features."""
    parts = []
    for _ in range(2 * len(values)):
        one, other = random.permutation(len(values))[:2]
        cuts = random.choice(values[one]), random.choice(values[other])
        parts.append((one, other, cuts, random.normal(size=(2, 2))))

    def model(X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        total = sum(
            table[(X[:, one] >= cuts[0]).astype(int), (X[:, other] >= cuts[1]).astype(int)]
            for one, other, cuts, table in parts
        )
        chance = 1 / (1 + np.exp(-np.asarray(total)))
        return np.column_stack([1 - chance, chance])

    return model


def _rules(random: Random, train: np.ndarray) -> list[Rule]:
    """Return one rule of each kind; those that are used are drawn from them."""
    a, b = random.permutation(train.shape[1])[:2].tolist()
    low, high = sorted(random.choice(train[:, b], 2).tolist())
    most, pairs = int(random.integers(1, 4)), {tuple(pair) for pair in train[:, [a, b]].tolist()}

    def in_group(rows: np.ndarray, new: np.ndarray) -> np.ndarray:
        is_held = np.array([tuple(pair) in pairs for pair in new[:, [a, b]].tolist()])
        return is_held | (new[:, [a, b]] == rows[:, [a, b]]).all(axis=1)

    return [
        Rule({"immutable": [a]}, lambda rows, new: new[:, a] == rows[:, a]),
        Rule({"increasing": [b]}, lambda rows, new: new[:, b] >= rows[:, b]),
        Rule(
            {"ranges": {b: (low, high)}},
            lambda rows, new: (new[:, b] == rows[:, b]) | ((new[:, b] >= low) & (new[:, b] <= high)),
        ),
        Rule({"max_changes": most}, lambda rows, new: (new != rows).sum(axis=1) <= most, is_alone=False),
        Rule({"groups": [[a, b]]}, in_group, is_alone=False),
    ]


def explainer_of(case: Case) -> Any:
    """Return the explainer, not fitted; the search is the default one."""
    from nicecf import NICE, Constraints

    return NICE(
        case.models[0],
        robust_to=case.models[1:],
        classes=_CLASSES,
        min_probability=case.margin,
        constraints=Constraints(**case.constraints),
        justified=False,
        **case.options,
    )


def problems_of(case: Case, cfs: Any) -> tuple[list[str], int, int]:
    """Return what is wrong with the answers, for how many rows one exists, and how many of these were found."""
    wrong, n_exist, n_found = [], 0, 0
    values = cfs.to_numpy()
    for line, row in enumerate(case.rows):
        exists = case.exists(row)
        n_exist, n_found = n_exist + exists, n_found + bool(cfs.found[line])
        if cfs.found[line]:
            is_held = [
                new == own or new in column for new, own, column in zip(values[line], row, case.train.T, strict=True)
            ]
            if not case.are_good(row, values[line][None])[0] or not all(is_held):
                wrong.append(f"line {line}: {values[line].tolist()} for {row.tolist()} is no counterfactual")
        elif exists and case.must_be_found:
            wrong.append(f"line {line}: nothing was found for {row.tolist()}, though something exists")
    return wrong, n_exist, n_found
