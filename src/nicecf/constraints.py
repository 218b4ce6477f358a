"""What may change: rules as people write them, by the names of features. What they mean for rows: `rules`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nicecf import given, sheets, tomlfiles
from nicecf.exceptions import OptionError, listed, plain
from nicecf.given import Bound, Feature


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Constraints:
    """Rules that every counterfactual keeps. They speak of changes: what a row has may always stay as it is.

    Parameters
    ----------
    immutable
        Features that never change.
    increasing, decreasing
        Features that change in one direction only. Of a categorical feature, a dict names the order:
        ``{"education": ["school", "college", "university"]}``.
    ranges
        ``{feature: (low, high)}``: where a changed value must lie, both ends included; None for an open end. A bound
        may be a number for all rows, or an array or Series with one for each row (NaN: none).
    allowed
        ``{feature: [values]}``: what a feature may change to. None among them allows it to become missing.
    max_changes
        How many features may change at most.
    forbid
        ``{feature: [(before, after), ...]}``: changes that are not possible.
    step
        ``{feature: step}``: a feature changes by whole steps only.
    groups
        Lists of features whose values belong together: a counterfactual has all of them from the row, or all from the
        same training row.

    Examples
    --------
    >>> rules = Constraints(immutable=["sex"], increasing=["age"], ranges={"hours": (None, 60)}, max_changes=3)
    >>> rules
    Constraints(immutable=['sex'], increasing=['age'], ranges={'hours': {'high': 60}}, max_changes=3)
    >>> (rules & Constraints(immutable=["age"], max_changes=2)).to_dict()
    {'immutable': ['sex', 'age'], 'ranges': {'hours': {'high': 60}}, 'max_changes': 2}
    """

    immutable: Sequence[Feature] = ()
    increasing: Sequence[Feature] | Mapping[Feature, Any] = ()
    decreasing: Sequence[Feature] | Mapping[Feature, Any] = ()
    ranges: Mapping[Feature, Any] = field(default_factory=dict)
    allowed: Mapping[Feature, Iterable[Any]] = field(default_factory=dict)
    max_changes: int | None = None
    forbid: Mapping[Feature, Iterable[Any]] = field(default_factory=dict)
    step: Mapping[Feature, float] = field(default_factory=dict)
    groups: Sequence[Sequence[Feature]] = ()

    def __post_init__(self) -> None:
        """Check all that can be checked without a table, and keep what was given in one form, as copies."""
        read = {
            "immutable": tuple(given.names("immutable", self.immutable)),
            "increasing": given.directions("increasing", self.increasing),
            "decreasing": given.directions("decreasing", self.decreasing),
            "ranges": {one: given.range_of(one, pair) for one, pair in given.mapping("ranges", self.ranges).items()},
            "allowed": {
                one: given.allowed(one, values) for one, values in given.mapping("allowed", self.allowed).items()
            },
            "forbid": {
                one: given.transitions(one, pairs) for one, pairs in given.mapping("forbid", self.forbid).items()
            },
            "step": {one: given.step_of(one, step) for one, step in given.mapping("step", self.step).items()},
            "groups": given.groups(self.groups),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)
        most = self.max_changes
        if most is not None and (not isinstance(most, (int, np.integer)) or isinstance(most, bool) or most < 1):
            raise OptionError(f"max_changes must be a whole number of at least 1, or None for no limit, got {most!r}.")
        self._check_contradictions()

    def _check_contradictions(self) -> None:
        both = [one for one in self.increasing if one in self.decreasing]
        if both:
            raise OptionError(
                f"{listed(both)} may only increase and only decrease. Name it once; if it may not change, as immutable."
            )
        for name in ("increasing", "decreasing", "ranges", "allowed", "forbid", "step"):
            twice = [one for one in self.immutable if one in getattr(self, name)]
            if twice:
                raise OptionError(
                    f"{listed(twice)} is immutable, so {name} has nothing to say of it. Take it out of one of them."
                )

    @property
    def is_per_row(self) -> bool:
        """Whether some bound differs from row to row."""
        return any(np.ndim(bound) for pair in self.ranges.values() for bound in pair)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.to_dict())

    def __and__(self, other: Constraints) -> Constraints:
        """Rules that keep both: the stricter one wherever they meet."""
        if not isinstance(other, Constraints):
            return NotImplemented
        one_way = [
            feature
            for mine, theirs in ((self.increasing, other.decreasing), (self.decreasing, other.increasing))
            for feature in mine
            if feature in theirs
        ]
        fixed = dict.fromkeys([*self.immutable, *other.immutable, *one_way])

        def either(name: str, merge: Any) -> dict[Feature, Any]:
            mine, theirs = getattr(self, name), getattr(other, name)
            both = {one: merge(one, mine[one], theirs[one]) for one in mine if one in theirs}
            return {one: value for one, value in {**mine, **theirs, **both}.items() if one not in fixed}

        most = [limit for limit in (self.max_changes, other.max_changes) if limit is not None]
        return Constraints(
            immutable=list(fixed),
            increasing=either("increasing", _one_order),
            decreasing=either("decreasing", _one_order),
            ranges=either("ranges", lambda _, mine, theirs: _overlap(mine, theirs)),
            allowed=either("allowed", _in_both),
            max_changes=min(most, default=None),
            forbid=either("forbid", lambda _, mine, theirs: tuple(dict.fromkeys([*mine, *theirs]))),
            step=either("step", _one_step),
            groups=merged_groups([*self.groups, *other.groups]),
        )

    def for_row(self, row: int) -> Constraints:
        """The rules of one row, with its own bounds."""
        if not self.is_per_row:
            return self
        ranges = {}
        for one, pair in self.ranges.items():
            own = [np.asarray(bound)[row] if np.ndim(bound) else bound for bound in pair]
            low, high = (None if bound is None or not np.isfinite(bound) else plain(bound) for bound in own)
            if low is not None or high is not None:
                ranges[one] = (low, high)
        return replace(self, ranges=ranges)

    def to_dict(self) -> dict[str, Any]:
        """The rules that are set, as lists, dicts, strings and numbers: ``Constraints(**rules.to_dict())``."""
        plain_forms = {
            "immutable": list(self.immutable),
            "increasing": _plain_directions(self.increasing),
            "decreasing": _plain_directions(self.decreasing),
            "ranges": {
                one: {
                    name: bound.tolist() if hasattr(bound, "tolist") else bound
                    for name, bound in zip(("low", "high"), pair, strict=True)
                    if bound is not None
                }
                for one, pair in self.ranges.items()
            },
            "allowed": {one: list(values) for one, values in self.allowed.items()},
            "max_changes": None if self.max_changes is None else int(self.max_changes),
            "forbid": {one: [list(pair) for pair in pairs] for one, pairs in self.forbid.items()},
            "step": dict(self.step),
            "groups": [list(group) for group in self.groups],
        }
        return {name: value for name, value in plain_forms.items() if value not in ({}, [], None)}

    @classmethod
    def from_toml(cls, path: str | Path) -> Constraints:
        """Read rules from a TOML file, whose keys are the parameters of this class.

        Such as::

            immutable = ["sex"]
            increasing = ["age"]
            max_changes = 3
            groups = [["education", "education-num"]]

            [ranges]
            hours-per-week = {low = 20, high = 60}

            [forbid]
            education = [["Masters", "Bachelors"]]

        FileError where there is no file that can be read, OptionError where it holds no rules.
        """
        read = tomlfiles.read(path)
        known = [one.name for one in fields(cls)]
        given.check_known(f"{path} has the key", read, known)
        if not read:
            raise OptionError(f"{path} holds no rule; its keys may be {listed(known, limit=20)}.")
        try:
            return cls(**read)
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from error

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, max_changes: int | None = None) -> Constraints:
        """Read rules from a table with one line for each feature, such as a sheet; empty cells mean no rule.

        Its columns: ``feature``, and any of ``immutable`` (true), ``direction`` (increasing or decreasing), ``order``
        (of the values of a categorical feature that has a direction), ``low``, ``high``, ``allowed``, ``forbid``
        (before > after), ``step`` and ``group`` (features with the same word belong together). Several values in a
        cell are separated by ``|``, or are a list.

        >>> sheet = pd.DataFrame({"feature": ["sex", "age"], "immutable": ["yes", ""], "direction": ["", "increasing"]})
        >>> Constraints.from_frame(sheet)
        Constraints(immutable=['sex'], increasing=['age'])
        """
        rules = cls(**sheets.parameters(frame), max_changes=max_changes)
        if not rules:
            raise OptionError("the frame holds no rule; leave out features that may change freely.")
        return rules

    def __repr__(self) -> str:
        """What would make it again."""
        return f"Constraints({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What would have to be relaxed for a row to get a counterfactual, and what that one would be like.

    ``rule``: what blocks, in words; ``action``: what to allow instead. ``constraints``: all rules of the row, with this
    one relaxed; None where it is no constraint that blocks. (Rules of the explainer still hold in its ``explain``: to
    relax one of those, make an explainer with these.)
    """

    rule: str
    action: str
    n_changes: int
    distance: float
    constraints: Constraints | None

    def __str__(self) -> str:
        """``allow 'age' to increase: 3 changes, distance 0.4``."""
        changes = "1 change" if self.n_changes == 1 else f"{self.n_changes} changes"
        said = "" if self.action.endswith(f" {changes}") else f"{changes}, "
        return f"{self.action}: {said}distance {self.distance:.2g}"


def _plain_directions(orders: Any) -> Any:
    if all(order is None for order in orders.values()):
        return list(orders)
    return {one: True if order is None else list(order) for one, order in orders.items()}


def merged_groups(groups: Iterable[Sequence[Feature]]) -> list[list[Feature]]:
    """Groups that share no feature: those that do are one."""
    separate: list[list[Feature]] = []
    for group in groups:
        touching = [other for other in separate if set(other) & set(group)]
        separate = [other for other in separate if other not in touching]
        separate.append(list(dict.fromkeys([*(one for other in touching for one in other), *group])))
    return separate


def _one_order(one: Feature, mine: Any, theirs: Any) -> Any:
    if mine is not None and theirs is not None and mine != theirs:
        raise OptionError(f"{one!r} has two orders, {list(mine)!r} and {list(theirs)!r}. Give one.")
    return theirs if mine is None else mine


def _one_step(one: Feature, mine: float, theirs: float) -> float:
    larger, smaller = max(mine, theirs), min(mine, theirs)
    if not np.isclose(larger / smaller, np.round(larger / smaller), rtol=1e-9, atol=0):
        raise OptionError(
            f"{one!r} has two steps, {mine!r} and {theirs!r}, neither of them whole in the other. Give one."
        )
    return larger


def _in_both(one: Feature, mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    both = tuple(value for value in mine if value in theirs)
    if not both:
        raise OptionError(
            f"no value of {one!r} is allowed by both of two rules: {listed(mine)} and {listed(theirs)}. If it may not "
            "change, name it immutable."
        )
    return both


def _overlap(mine: tuple[Bound, Bound], theirs: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    lows = [pair[0] for pair in (mine, theirs) if pair[0] is not None]
    highs = [pair[1] for pair in (mine, theirs) if pair[1] is not None]
    low = lows[0] if len(lows) == 1 else np.fmax(*_alike(lows)) if lows else None
    high = highs[0] if len(highs) == 1 else np.fmin(*_alike(highs)) if highs else None
    return low, high


def _alike(bounds: list[Bound]) -> list[Bound]:
    """Bounds that can be compared row by row, not by their labels."""
    if sum(np.ndim(bound) for bound in bounds) > 1:
        if len({len(bound) for bound in bounds}) > 1:
            raise OptionError("two rules have bounds for different numbers of rows.")
        return [np.asarray(bound) for bound in bounds]
    return bounds
