"""Where counterfactuals come from: who made them, what was asked, and whom to ask again."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Literal, Protocol

import numpy as np

from nicecf.exceptions import plain
from nicecf.models.decision import Panel
from nicecf.results.box import Box
from nicecf.support.types import Bools, Floats, Ints, Json, Label, Objects
from nicecf.tables.statistics import TableStatistics

_PACKAGES = ("nicecf", "numpy", "pandas", "scikit-learn")


class Maker(Protocol):
    """The explainer that made a result, to be asked again about encoded rows."""

    @property
    def panel(self) -> Panel:
        """The model, first, and all others that must agree."""

    def outputs(self, values: Floats) -> tuple[Ints, Floats]:
        """The class decided on for each row, as a position, and the probabilities."""

    def holds(self, lines: Ints, values: Floats, decided: Ints) -> tuple[Bools, Floats]:
        """Whether values for some rows of the call are decided as ``decided`` by all models, and keep the rules.

        Also the probabilities: the model is asked once for both.
        """

    def completed(self, values: Floats) -> Floats:
        """Rows in which what follows from other columns is computed anew."""

    def donor(self, position: int) -> Floats | None:
        """The training row at a position; None if it is not kept, or not to be shared."""

    def boxes(
        self, lines: Ints, before: Floats, after: Floats, decided: Ints, features: Sequence[Ints]
    ) -> Iterator[Box]:
        """Yield the box of each counterfactual of some rows; ``features``: what it changes, in this order."""


@dataclass(frozen=True, eq=False)
class Provenance:
    """What a result remembers. In a pickle the maker is left out: it holds the model and the training data.

    ``explainer`` and ``options`` are those of ``fit``; ``call`` is what ``explain`` was called with, where
    ``target_class`` may have one entry for each row; ``rules`` gives the rules of a row, by its position, as
    ``Constraints.to_dict`` does.
    """

    statistics: TableStatistics
    maker: Maker | None
    explainer: str
    options: dict[str, Json]
    call: dict[str, Json]
    rules: Callable[[int], dict[str, Json]]
    fingerprints: dict[str, str]

    def about(self) -> dict[str, Json]:
        """Who made this, of what, with which versions: values that JSON holds."""
        target = self.call["target_class"]
        call = {**self.call, "target_class": "one for each row" if isinstance(target, _PerRow) else target}
        return {
            "explainer": self.explainer,
            "options": self.options,
            "call": call,
            "fingerprints": self.fingerprints,
            "versions": dict(versions()),
        }

    def call_of(self, line: int) -> dict[str, Json]:
        """What was asked for one row: the call that asks the same for it alone."""
        target = self.call["target_class"]
        own = plain(target.labels[line]) if isinstance(target, _PerRow) else target
        return {**self.call, "target_class": own, "constraints": self.rules(line)}

    def chosen_by(self, choice: Literal["pareto", "plans"]) -> Provenance:
        """The same, of what was chosen afterwards of all that was found."""
        call = {name: value for name, value in self.call.items() if name not in ("pareto", "plans")}
        return replace(self, call={**call, choice: True})

    def __getstate__(self) -> dict[str, Json]:
        return {**vars(self), "maker": None}

    def __deepcopy__(self, memo: dict[int, object]) -> Provenance:
        """The same: a copy within this process may go on asking the explainer."""
        return self


@dataclass(frozen=True)
class _PerRow:
    labels: Objects


@cache  # to look one up takes longer than to explain a row
def versions() -> dict[str, str]:
    """What is installed of what an answer may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def called(target_class: Label, **options: Json) -> dict[str, Json]:
    """What ``explain`` was called with, as values that JSON holds."""
    if isinstance(target_class, (set, frozenset)):
        target_class = sorted(target_class, key=str)
    if isinstance(target_class, (list, tuple)):
        target: Json = [plain(one) for one in target_class]
    elif hasattr(target_class, "__len__") and not isinstance(target_class, (str, bytes)) and np.ndim(target_class):
        target = _PerRow(np.array(target_class, dtype=object))
    else:
        target = plain(target_class)
    return {"target_class": target, **options}


def described(options: Mapping[str, object]) -> dict[str, Json]:
    """Options of an explainer as values that JSON holds: models and functions by their names.

    >>> described({"optimize": "sparsity", "decision": {1: 0.3}, "plausibility": len})
    {'optimize': 'sparsity', 'decision': {'1': 0.3}, 'plausibility': 'builtins.len'}
    """
    return {name: _described(value) for name, value in options.items()}


def _described(value: object) -> Json:
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "to_dict") and not hasattr(value, "columns"):  # Constraints
        return _described(value.to_dict())
    if isinstance(value, Mapping):
        return {str(plain(key)): _described(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return [_described(one) for one in value]
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
