"""What may change: rules as people write them, by the names of features. What they mean for rows: `rules`."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nicecf._typing import is_number
from nicecf.exceptions import OptionError, listed, plain

# A feature by its name, or by its position in an array.
Feature: TypeAlias = Hashable
# Larger numbers are no numbers that a table could hold.
_LARGEST = 1e300

# One bound for all rows, one for each row, or none.
Bound: TypeAlias = Any


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
            "immutable": tuple(_names("immutable", self.immutable)),
            "increasing": _directions("increasing", self.increasing),
            "decreasing": _directions("decreasing", self.decreasing),
            "ranges": {one: _range(one, pair) for one, pair in _mapping("ranges", self.ranges).items()},
            "allowed": {one: _allowed(one, values) for one, values in _mapping("allowed", self.allowed).items()},
            "forbid": {one: _pairs(one, pairs) for one, pairs in _mapping("forbid", self.forbid).items()},
            "step": {one: _step(one, step) for one, step in _mapping("step", self.step).items()},
            "groups": _groups(self.groups),
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
        """Read rules from a TOML file, whose keys are the parameters of this class::

        immutable = ["sex"]
        increasing = ["age"]
        max_changes = 3
        groups = [["education", "education-num"]]

        [ranges]
        hours-per-week = {low = 20, high = 60}

        [forbid]
        education = [["Masters", "Bachelors"]]
        """
        with open(path, "rb") as file:
            try:
                read = tomllib.load(file)
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise OptionError(f"{path} is not TOML: {error}.") from error
        known = [one.name for one in fields(cls)]
        _check_known(f"{path} has the key", read, known)
        if not read:
            raise OptionError(f"{path} holds no rule; its keys may be {listed(known, limit=20)}.")
        return cls(**read)

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
        if not isinstance(frame, pd.DataFrame):
            raise OptionError(f"from_frame needs a pandas frame, got {type(frame).__name__}.")
        known = ("feature", "immutable", "direction", "order", "low", "high", "allowed", "forbid", "step", "group")
        _check_known("the frame has the column", frame.columns, known)
        if "feature" not in frame or frame.empty:
            raise OptionError("the frame needs a column 'feature' and a line for each feature that has a rule.")
        if frame["feature"].isna().any():
            raise OptionError("the frame has a line without a feature; every rule needs one.")
        if frame["feature"].duplicated().any():
            twice = frame["feature"][frame["feature"].duplicated()]
            raise OptionError(f"the frame has more than one line for {listed(twice)}; use one line for each feature.")
        lines = [
            {name: value for name, value in line.items() if _is_filled(value)} for line in frame.to_dict("records")
        ]
        rules = cls(
            immutable=[line["feature"] for line in lines if _is_true(line)],
            increasing=_of_direction(lines, "increasing"),
            decreasing=_of_direction(lines, "decreasing"),
            ranges={
                line["feature"]: (line.get("low"), line.get("high"))
                for line in lines
                if "low" in line or "high" in line
            },
            allowed={line["feature"]: _split(line["allowed"]) for line in lines if "allowed" in line},
            max_changes=max_changes,
            forbid={line["feature"]: _transitions(line) for line in lines if "forbid" in line},
            step={line["feature"]: line["step"] for line in lines if "step" in line},
            groups=list(_by_word(lines).values()),
        )
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


def _names(option: str, given: Any) -> list[Feature]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise OptionError(f"{option}={given!r} is not a list of features; pass [{given!r}].")
    if isinstance(given, Mapping):
        raise OptionError(f"{option} is a dict; pass a list of features.")
    names = [plain(one) for one in given]
    for one in names:
        if not isinstance(one, Hashable) or isinstance(one, bool) or one is None:
            raise OptionError(f"{option} names {one!r}, which is no feature; pass names, or positions for arrays.")
    return list(dict.fromkeys(names))


def _mapping(option: str, given: Any) -> dict[Feature, Any]:
    if not isinstance(given, Mapping):
        raise OptionError(f"{option} must be a dict with the features as keys, got {type(given).__name__}.")
    return {plain(one): value for one, value in given.items()}


def _directions(option: str, given: Any) -> dict[Feature, tuple[Any, ...] | None]:
    """Each feature that has a direction, and the order of its values where one is given."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(_names(option, given))
    orders: dict[Feature, tuple[Any, ...] | None] = {}
    for one, order in given.items():
        if order is None or order is True:
            orders[plain(one)] = None
            continue
        if isinstance(order, (str, bytes)) or not isinstance(order, Iterable):
            raise OptionError(f"{option} has {order!r} for {one!r}; pass the values from low to high, as a list.")
        values = tuple(_value(option, one, value) for value in order)
        if len(values) < 2 or len(set(values)) < len(values):
            raise OptionError(
                f"{option} has the order {list(values)!r} for {one!r}; it needs two different values at least."
            )
        orders[plain(one)] = values
    return orders


def _plain_directions(orders: Any) -> Any:
    if all(order is None for order in orders.values()):
        return list(orders)
    return {one: True if order is None else list(order) for one, order in orders.items()}


def _range(one: Feature, pair: Any) -> tuple[Bound, Bound]:
    if isinstance(pair, Mapping):
        _check_known(f"the range of {one!r} has", pair, ("low", "high"))
        pair = (pair.get("low"), pair.get("high"))
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise OptionError(f"the range of {one!r} must be (low, high), with None for an open end, got {pair!r}.")
    low: Bound = _bound(one, pair[0], open_end=-np.inf)
    high: Bound = _bound(one, pair[1], open_end=np.inf)
    if low is None and high is None:
        raise OptionError(f"the range of {one!r} is open at both ends, so it says nothing. Leave it out.")
    if np.ndim(low) and np.ndim(high) and len(low) != len(high):
        raise OptionError(f"the range of {one!r} has {len(low)} low ends and {len(high)} high ends; pass as many.")
    if any(is_number(end) and end == closed for end, closed in ((low, np.inf), (high, -np.inf))):
        raise OptionError(f"the range of {one!r} is empty. A feature that may not change at all is immutable.")
    if low is not None and high is not None and np.any(np.asarray(low) > np.asarray(high)):
        raise OptionError(
            f"the range of {one!r} is empty: its low end {_first_above(low, high)}. Exchange the ends; a feature that "
            "may not change at all is immutable."
        )
    return low, high


def _first_above(low: Bound, high: Bound) -> str:
    lows, highs = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    row = int(np.argmax(lows > highs))
    where = f" (row {row})" if np.ndim(low) or np.ndim(high) else ""
    return f"{plain(lows[row])} is above its high end {plain(highs[row])}{where}"


def _bound(one: Feature, bound: Any, *, open_end: float) -> Bound:
    if bound is None:
        return None
    if is_number(bound):
        if bound != bound:
            raise OptionError(f"the range of {one!r} has an end that is missing (NaN); use None for an open end.")
        if abs(bound) > _LARGEST:
            return None if (bound > 0) == (open_end > 0) else -open_end
        return plain(bound)
    has_numbers = isinstance(bound, (Sequence, np.ndarray)) or hasattr(bound, "to_numpy")
    if isinstance(bound, (str, bytes)) or not has_numbers:
        return _refuse_bound(one, bound)
    try:
        array = np.array([np.nan if _is_missing(value) else value for value in bound], dtype=np.float64)
    except (TypeError, ValueError):
        return _refuse_bound(one, bound)
    # A Series keeps its index: that it is the index of the rows is checked once they are known.
    return pd.Series(array, index=bound.index) if isinstance(bound, pd.Series) else array


def _refuse_bound(one: Feature, bound: Any) -> Bound:
    raise OptionError(
        f"the range of {one!r} has an end that is no number: {str(bound)[:60]!r}. Pass a number, None for an open "
        "end, or one number per row. For categories, use allowed."
    )


def _allowed(one: Feature, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise OptionError(f"allowed has {values!r} for {one!r}; pass a list of values.")
    read = tuple(dict.fromkeys(_value("allowed", one, value) for value in values))
    if not read:
        raise OptionError(f"allowed names no value for {one!r}. A feature that may not change is immutable.")
    return read


def _pairs(one: Feature, pairs: Any) -> tuple[tuple[Any, Any], ...]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise OptionError(f"forbid has {pairs!r} for {one!r}; pass a list of pairs (before, after).")
    read = []
    for pair in pairs:
        if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise OptionError(f"forbid has {pair!r} for {one!r}; pass pairs (before, after).")
        before, after = (_value("forbid", one, value) for value in pair)
        if before == after:
            raise OptionError(
                f"forbid has ({before!r}, {after!r}) for {one!r}: what stays is no change, it is always allowed."
            )
        read.append((before, after))
    if not read:
        raise OptionError(f"forbid names no change of {one!r}. Leave it out.")
    return tuple(dict.fromkeys(read))


def _step(one: Feature, step: Any) -> float:
    if not (is_number(step) and 0 < step < np.inf):
        raise OptionError(f"step has {step!r} for {one!r}; it must be a number above 0.")
    return plain(step)  # type: ignore[return-value]  # a Python number


def _groups(given: Any) -> tuple[tuple[Feature, ...], ...]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise OptionError(f"groups={given!r} is not a list of lists of features.")
    groups = [tuple(_names("groups", group)) for group in given]
    seen: set[Feature] = set()
    for group in groups:
        if len(group) < 2:
            raise OptionError(f"groups has {list(group)!r}; two features at least can belong together.")
        twice = [one for one in group if one in seen]
        if twice:
            raise OptionError(f"{listed(twice)} is in two groups; join them if all of their features belong together.")
        seen.update(group)
    return tuple(groups)


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


def _check_known(who: str, given: Iterable[Any], known: Sequence[str]) -> None:
    for one in given:
        if one not in known:
            close = get_close_matches(str(one), known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise OptionError(f"{who} {one!r}, which is not known; choose among {listed(known, limit=20)}.{hint}")


def _value(option: str, one: Feature, value: Any) -> Any:
    """A value of a feature; None if it is missing."""
    if _is_missing(value):
        return None
    if not isinstance(plain(value), Hashable):
        raise OptionError(f"{option} has {value!r} for {one!r}, which is not a value of a feature.")
    return plain(value)


def _is_missing(value: Any) -> bool:
    return value is None or (np.ndim(value) == 0 and bool(pd.isna(value)))


def _is_filled(value: Any) -> bool:
    return not _is_missing(value) and not (isinstance(value, str) and not value.strip())


def _is_true(line: dict[str, Any]) -> bool:
    value = line.get("immutable", False)
    words = {"true": True, "yes": True, "x": True, "1": True, "false": False, "no": False, "0": False}
    is_true = words.get(str(plain(value)).strip().lower().removesuffix(".0"))
    if is_true is None:
        raise OptionError(f"immutable is {value!r} for {line['feature']!r}; write true or false.")
    return is_true


def _of_direction(lines: list[dict[str, Any]], direction: str) -> dict[Feature, Any]:
    for line in lines:
        if line.get("direction", "increasing") not in ("increasing", "decreasing"):
            raise OptionError(
                f"direction is {line['direction']!r} for {line['feature']!r}; write 'increasing' or 'decreasing'."
            )
        if "order" in line and "direction" not in line:
            raise OptionError(f"{line['feature']!r} has an order but no direction; write 'increasing' or 'decreasing'.")
    return {
        line["feature"]: _split(line["order"]) if "order" in line else None
        for line in lines
        if line.get("direction") == direction
    }


def _split(cell: Any) -> list[Any]:
    if isinstance(cell, str):
        return [part.strip() for part in cell.split("|")]
    return list(cell) if isinstance(cell, Iterable) else [cell]


def _transitions(line: dict[str, Any]) -> list[tuple[Any, Any]]:
    if not isinstance(line["forbid"], str):
        return list(line["forbid"])
    pairs = [tuple(part.strip() for part in one.split(">")) for one in line["forbid"].split("|")]
    if any(len(pair) != 2 for pair in pairs):
        raise OptionError(
            f"forbid is {line['forbid']!r} for {line['feature']!r}; write before > after, with | between pairs."
        )
    return pairs  # type: ignore[return-value]  # pairs, as was just checked


def _by_word(lines: list[dict[str, Any]]) -> dict[Any, list[Feature]]:
    groups: dict[Any, list[Feature]] = {}
    for line in lines:
        if "group" in line:
            groups.setdefault(line["group"], []).append(line["feature"])
    return groups
