"""Why a row has no counterfactual under its rules: which of them block, and the cheapest to relax.

Each rule is left out in turn, and the row tried again. What is offered in the end is the least that helps: not "let age
change", but "allow 'age' to increase".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import Any

from nicecf.constraints import Constraints, Relaxation
from nicecf.decision import Jury
from nicecf.given import Feature
from nicecf.words import percent, shown


@dataclass(frozen=True, eq=False)
class Candidate:
    """What a row would get without some rule.

    ``change`` gives the values of row and donor for a feature, None if missing, and whether it is numeric.
    ``is_change`` tells whether these are what a pair (before, after) of a rule means. ``probability`` is what the
    least convinced model gives the class.
    """

    change: Callable[[Feature], tuple[Any, Any, bool]]
    is_change: Callable[[Feature, tuple[Any, Any]], bool]
    probability: float
    n_changes: int
    distance: float


@dataclass(frozen=True, eq=False)
class Relaxable:
    """One rule that can be left out: the parameter it stands in, the feature it is about (or group, or model).

    ``constraints`` and ``jury`` are all rules but this one.
    """

    name: str
    about: Any
    constraints: Constraints
    jury: Jury

    def relaxation(self, rules: Constraints, found: Candidate) -> Relaxation:
        """The least that must be relaxed for a candidate to be allowed; ``rules`` are all rules of its row."""
        action, relaxed = _least(self, rules, found)
        return Relaxation(_words(self.name, self.about, rules), action, found.n_changes, found.distance, relaxed)


def in_words(rules: Constraints, jury: Jury) -> list[str]:
    """All rules of a row, those of the decision last."""
    return [_words(rule.name, rule.about, rules) for rule in relaxables(rules, jury)]


def relaxables(rules: Constraints, jury: Jury) -> Iterator[Relaxable]:
    """All rules that can be left out one at a time, those of the decision last."""
    for name in ("immutable", "increasing", "decreasing", "ranges", "allowed", "forbid", "step", "groups"):
        for about in getattr(rules, name):
            yield Relaxable(name, about, _without(rules, name, about), jury)
    if rules.max_changes is not None:
        yield Relaxable("max_changes", rules.max_changes, _with(rules, max_changes=None), jury)
    if jury.min_probability is not None:
        yield Relaxable("min_probability", jury.min_probability, rules, replace(jury, min_probability=None))
    for number in range(1, len(jury.jurors)):
        yield Relaxable("robust_to", number, rules, jury.without(number))


def _with(rules: Constraints, **changes: Any) -> Constraints:
    return replace(rules, **changes)


def _without(rules: Constraints, name: str, about: Any) -> Constraints:
    given = getattr(rules, name)
    if isinstance(given, Mapping):
        return _with(rules, **{name: {one: value for one, value in given.items() if one != about}})
    return _with(rules, **{name: [one for one in given if one != about]})


def _words(name: str, about: Any, rules: Constraints) -> str:
    match name:
        case "max_changes":
            return "only 1 feature may change" if about == 1 else f"at most {about} features may change"
        case "min_probability":
            return f"the probability must be at least {percent(about)}"
        case "robust_to":
            return f"model {about} of robust_to must agree"
        case "immutable":
            return f"{about!r} may not change"
        case "increasing" | "decreasing":
            return f"{about!r} may only {name.removesuffix('ing')}e"
        case "ranges":
            return f"{about!r} may only change {_span(*rules.ranges[about])}"
        case "allowed":
            return f"{about!r} may only become {_some(map(shown, rules.allowed[about]))}"
        case "forbid":
            return f"{about!r} may not go from {_some(f'{shown(a)} to {shown(b)}' for a, b in rules.forbid[about])}"
        case "step":
            return f"{about!r} may only change by whole steps of {shown(rules.step[about])}"
    return f"{_and(about)} may only change together"


def _least(rule: Relaxable, rules: Constraints, found: Candidate) -> tuple[str, Constraints | None]:
    one = rule.about
    if rule.name == "max_changes":
        return f"allow {found.n_changes} changes", _with(rules, max_changes=found.n_changes)
    if rule.name == "min_probability":
        # Rounded down: what is offered must do.
        return f"accept a probability of {floor(1000 * found.probability) / 1000:g}", None
    if rule.name == "robust_to":
        return f"leave out model {one} of robust_to", None
    without = _without(rules, rule.name, one)
    if rule.name == "groups":
        return f"allow {_and(one)} to change apart", without
    before, after, is_numeric = found.change(one)
    is_ordered = is_numeric and before is not None and after is not None
    to_value = f"allow {one!r} to change from {shown(before)} to {shown(after)}"
    match rule.name:
        case "immutable" if is_ordered:
            direction = "increasing" if after > before else "decreasing"
            one_way = {**getattr(without, direction), one: None}
            return f"allow {one!r} to {direction.removesuffix('ing')}e", _with(without, **{direction: one_way})
        case "immutable":
            return to_value, _with(without, allowed={**without.allowed, one: [after]})
        case "increasing" | "decreasing" if is_ordered:
            return f"allow {one!r} to {'decrease' if rule.name == 'increasing' else 'increase'}", without
        case "ranges" if is_ordered:
            low, high = rules.ranges[one]
            wider = (None if low is None else min(low, after), None if high is None else max(high, after))
            return f"allow {one!r} to change to {shown(after)}", _with(rules, ranges={**rules.ranges, one: wider})
        case "allowed":
            return to_value, _with(rules, allowed={**rules.allowed, one: [*rules.allowed[one], after]})
        case "forbid":
            kept = [pair for pair in rules.forbid[one] if not found.is_change(one, pair)]
            return to_value, _with(without, forbid={**without.forbid, **({one: kept} if kept else {})})
    return to_value, without


def _span(low: Any, high: Any) -> str:
    if low is None or high is None:
        return f"to at most {shown(high)}" if low is None else f"to at least {shown(low)}"
    return f"to between {shown(low)} and {shown(high)}"


def _and(names: Any) -> str:
    return f"{', '.join(repr(one) for one in names[:-1])} and {names[-1]!r}"


def _some(words: Any, most: int = 5) -> str:
    words = list(words)
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")
