"""What the sums of a model must be for it to be accepted: alternatives of linear inequalities.

Nothing that the model accepts breaks all alternatives: they may allow a little more, since the model's own arithmetic
is rounded. What is found is shown to the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import logit, logsumexp, softmax

from nicecf.models.decision import Member, Panel
from nicecf.models.readable import Formula, Sums
from nicecf.models.trees.ensemble import NotSupported, TreeEnsemble
from nicecf.support.types import Bools, Floats, Ints

# How far probabilities may be from what the sums say, in double and in single precision.
_ROUNDING = {np.float64: 1e-15, np.float32: 4e-7}


@dataclass(frozen=True, eq=False)
class Inequality:
    """``weights`` times the sums are at least ``bound``; above it where ``is_strict``."""

    weights: Floats
    bound: float
    is_strict: bool = False


@dataclass(frozen=True, eq=False)
class Share:
    """The probability of one class among all is at least ``least``: a convex set, cut out by inequalities."""

    output: int
    least: float
    steepness: float

    def tangent(self, sums: Floats) -> Inequality:
        """The inequality that holds wherever the share is large enough, and is tightest at some sums."""
        differences = self.steepness * (sums - sums[self.output])
        shares = softmax(differences)
        slack = logsumexp(differences) - shares @ differences
        weights = -shares * self.steepness
        weights[self.output] += self.steepness * shares.sum()
        return Inequality(weights, float(slack + np.log(self.least)))


@dataclass(frozen=True, eq=False)
class Alternative:
    """Inequalities that all hold, and a share that is large enough, if that is asked for."""

    inequalities: tuple[Inequality, ...]
    share: Share | None = None


def alternatives(panel: Panel, member: Member, formula: Formula, wanted: Bools) -> list[Alternative]:
    """Ways in which a member of a panel accepts a row for wanted classes; NotSupported if they are not known."""
    rule, sums = member.rule, formula.sums
    if rule.function is not None or rule.by_predict:
        what = "a function" if rule.function is not None else "predict"
        raise NotSupported(f"its decision is made by {what}, not by cut-offs")
    if len(panel.classes) == 2:
        is_pairwise = sums.link == "identity" and rule.is_highest and panel.min_probability is None
        if not (is_pairwise and panel.target is None):
            return list(_by_intervals(panel, member, sums, wanted))
    columns = member.columns
    return [
        Alternative(tuple(inequalities), share)
        for c in np.flatnonzero(wanted).tolist()
        for inequalities, share in _of_class(panel, member, sums, wanted, c, columns)
    ]


def _by_intervals(panel: Panel, member: Member, sums: Sums, wanted: Bools) -> Iterator[Alternative]:
    """Of two classes: the intervals of one probability in which a member accepts."""
    low, high = _critical_points(panel, member)
    points = np.unique(np.clip(np.concatenate([low, high, [0.0, 0.5, 1.0]]), 0.0, 1.0))

    def is_accepted(shares: Floats) -> Bools:
        block = np.column_stack([1 - shares, shares])[:, member.columns]
        return panel.is_accepted_by(member, block, np.broadcast_to(wanted, (len(shares), 2)))

    between = is_accepted((points[1:] + points[:-1]) / 2)
    alone = is_accepted(points)
    pieces = [(a, b) for (a, b), is_in in zip(pairwise(points), between, strict=True) if is_in]
    pieces += [(point, point) for point, is_in in zip(points, alone, strict=True) if is_in]
    merged: list[list[float]] = []
    for a, b in sorted(pieces):
        if merged and a <= merged[-1][1]:
            merged[-1][1] = max(b, merged[-1][1])
        else:
            merged.append([a, b])
    for a, b in merged:
        yield Alternative(tuple(_within(sums, a, b)))


def _critical_points(panel: Panel, member: Member) -> tuple[Floats, Floats]:
    """Where the decision on the second of two outputs can change."""
    points = [0.5]
    cutoffs = member.rule.cutoffs
    if cutoffs is not None:
        known = cutoffs[~np.isnan(cutoffs)].tolist()
        points += known
        if len(known) == 2:
            points.append(cutoffs[1] / cutoffs.sum())
    if panel.min_probability is not None:
        points.append(panel.min_probability)
    if panel.target is not None:
        points += [panel.target.low, panel.target.high]
    low = np.array([point for point in points if 0 <= point <= 1])
    return low, 1 - low


def _within(sums: Sums, low: float, high: float) -> Iterator[Inequality]:
    """The second of two probabilities lies between two numbers."""
    rounding = _rounding(sums)
    if sums.link == "identity":
        weights, (low_sum, high_sum) = np.array([0.0, 1.0]), (low * _divisor(sums), high * _divisor(sums))
    else:
        weights = np.array([1.0]) if len(sums.base) == 1 else np.array([-1.0, 1.0])
        if sums.link == "sigmoids":
            weights = np.array([0.0, 1.0])
        with np.errstate(divide="ignore"):
            low_sum = logit(max(low - rounding, 0.0)) / _steepness(sums)
            high_sum = logit(min(high + rounding, 1.0)) / _steepness(sums)
    # What is infinite holds always: so near to certainty, probabilities are not told apart.
    if low > 0 and np.isfinite(low_sum):
        yield Inequality(weights, float(low_sum))
    if high < 1 and np.isfinite(high_sum):
        yield Inequality(-weights, float(-high_sum))


def _of_class(
    panel: Panel, member: Member, sums: Sums, wanted: Bools, c: int, columns: Ints
) -> Iterator[tuple[list[Inequality], Share | None]]:
    """Ways to be decided for class ``c``, or for another one that is wanted."""
    n_classes, cutoffs = len(panel.classes), member.rule.cutoffs
    least = panel.min_probability
    # With a margin, it must be this very class that is decided on: the margin is asked of it.
    others = [k for k in range(n_classes) if k != c and (not wanted[k] or least is not None)]

    def above(k: int, log_ratio: float = 0.0, *, is_strict: bool = False) -> Inequality:
        """The probability of ``c`` is at least that of ``k``, times a ratio."""
        weights = np.zeros(len(sums.base))
        weights[columns[c]] = 1.0
        weights[columns[k]] -= np.exp(log_ratio) if sums.link == "identity" else 1.0
        bound = 0.0 if sums.link == "identity" else log_ratio / _steepness(sums)
        return Inequality(weights, bound, is_strict)

    def reaches(k: int, share: float, sign: float = 1.0) -> list[Inequality]:
        """The probability of ``k`` is at least a share (or with the other sign at most): of independent outputs."""
        weights = np.zeros(len(sums.base))
        weights[columns[k]] = sign
        if sums.link == "identity":
            return [Inequality(weights, sign * share * _divisor(sums))]
        with np.errstate(divide="ignore"):
            bound = float(logit(np.clip(share - sign * _rounding(sums), 0.0, 1.0)))
        return [Inequality(weights, sign * bound / _steepness(sums))] if np.isfinite(bound) else []

    def at_least(share: float | None) -> tuple[list[Inequality], Share | None]:
        if share is None:
            return [], None
        if sums.link != "softmax":
            return reaches(c, share), None
        least = share - _rounding(sums)
        return [], Share(int(columns[c]), least, _steepness(sums)) if least > 0 else None

    if cutoffs is None:
        more, share = at_least(least)
        yield [*(above(k, is_strict=k < c) for k in others), *more], share
        return
    has_cutoff = ~np.isnan(cutoffs)
    can_compare = sums.link in ("identity", "softmax")
    if has_cutoff[c]:
        more, share = at_least(max(cutoffs[c], least or 0.0))
        ratios = [above(k, np.log(cutoffs[c] / cutoffs[k])) for k in others if has_cutoff[k] and can_compare]
        yield [*ratios, *more], share
    if not has_cutoff[c] or has_cutoff.all():
        below = [
            one
            for k in np.flatnonzero(has_cutoff).tolist()
            if sums.link != "softmax"
            for one in reaches(k, cutoffs[k], -1.0)
        ]
        rivals = [k for k in others if has_cutoff[k] == has_cutoff[c]]
        if has_cutoff[c]:
            ahead = [above(k, np.log(cutoffs[c] / cutoffs[k])) for k in rivals if can_compare]
        else:
            ahead = [above(k) for k in rivals]
        more, share = at_least(least)
        yield [*ahead, *below, *more], share


def _steepness(sums: Sums) -> float:
    return sums.steepness if isinstance(sums, TreeEnsemble) else 1.0


def _divisor(sums: Sums) -> float:
    return sums.divisor if isinstance(sums, TreeEnsemble) else 1.0


def _rounding(sums: Sums) -> float:
    return _ROUNDING[sums.adds_in] if isinstance(sums, TreeEnsemble) else _ROUNDING[np.float64]
