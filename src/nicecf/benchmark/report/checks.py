"""Checks: functions of findings and a classifier that say whether a claim holds, with the figures that show it.

Each raises `NotMeasuredError` where that cannot be said: a comparison with nobody is not won.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from nicecf.benchmark import statistics
from nicecf.benchmark.report.findings import PLAUSIBILITIES, PROXIMITIES, Findings, NotMeasuredError, Numbers, label
from nicecf.benchmark.report.names import BENCHMARKS, NICE_VARIANTS, PAPER_GECO, PROPERTIES, pretty
from nicecf.views.documents.document import joined

_NONE, _SPARS, _PROX, _PLAUS = NICE_VARIANTS
_PROXIMITY, _PLAUSIBILITY = PROPERTIES["proximity"], PROPERTIES["plausibility"]
# The paper calls a correlation of 0.764 high, and prints "all values > 0.900".
_HIGH, _VERY_HIGH = 0.75, 0.9


class Seen(NamedTuple):
    """Whether a claim holds for a model, and the figures that show it. ``doubt``: why these leave it open."""

    holds: bool
    figures: str
    doubt: str = ""


Check: TypeAlias = Callable[[Findings, str], Seen]


def shown(values: Numbers, digits: int = 2) -> str:
    """Methods with their values, the lowest first.

    >>> shown({"wit": 2.42, "nice-none": 1.26})
    'NICE (none) 1.26, WIT 2.42'
    """
    in_order = sorted(values, key=lambda method: values[method])
    return ", ".join(f"{pretty(method)} {values[method]:,.{digits}f}" for method in in_order)


def some(values: Numbers, methods: Iterable[str]) -> dict[str, float]:
    """The values of those of the methods that have one; NotMeasuredError where none has."""
    methods = list(methods)
    return _any({one: values[one] for one in methods if one in values}, [pretty(method) for method in methods])


def rest(values: Numbers, methods: Collection[str]) -> dict[str, float]:
    """The values of all other methods; NotMeasuredError where there are none."""
    return _any({one: value for one, value in values.items() if one not in methods}, ["any other method"])


def _any(values: Mapping[str, float], names: list[str]) -> dict[str, float]:
    known = {method: value for method, value in values.items() if not np.isnan(value)}
    if not known:
        raise NotMeasuredError(f"there are no figures of {joined(names, last='or')}")
    return known


def nearest(values: Numbers) -> dict[str, float]:
    """The lowest of the values, with its method."""
    return dict(sorted(values.items(), key=lambda item: item[1])[:1])


def all_of(*checks: Check) -> Check:
    """Every one of the checks holds."""

    def check(findings: Findings, model: str) -> Seen:
        seen = [one(findings, model) for one in checks]
        figures, doubts = (dict.fromkeys(those) for those in ([one[1] for one in seen], [one[2] for one in seen]))
        return Seen(all(one.holds for one in seen), "; ".join(figures), "; ".join(filter(None, doubts)))

    return check


def lowest_by(metric: str, heroes: tuple[str, ...], than: tuple[str, ...] = (), *, significantly: bool = True) -> Check:
    """The heroes all rank lower (better) than every one of ``than``, or than everybody else."""

    def check(findings: Findings, model: str) -> Seen:
        ranking = findings.model(model).ranking(metric)
        first = some(ranking.averages, heroes)
        others = some(ranking.averages, than) if than else rest(ranking.averages, heroes)
        margin = ranking.least_difference if significantly else 0.0
        holds = all(other - hero > margin for hero in first.values() for other in others.values())
        behind = f"against {shown(others)}" if than else f"next {shown(nearest(others))}"
        cd = f"; CD {ranking.critical_difference:.3f}" if significantly else ""
        return Seen(holds, f"{label(metric)} rank: {shown(first)}; {behind}{cd}")

    return check


def tied_by(metric: str, heroes: tuple[str, ...]) -> Check:
    """None of the heroes differs significantly from another of them."""

    def check(findings: Findings, model: str) -> Seen:
        ranking = findings.model(model).ranking(metric)
        averages = some(ranking.averages, heroes)
        spread = max(averages.values()) - min(averages.values())
        return Seen(spread <= ranking.least_difference, f"{shown(averages)}; CD {ranking.critical_difference:.3f}")

    return check


def worst_by(metric: str, methods: tuple[str, ...]) -> Check:
    """The methods all rank higher (worse) than everybody else."""

    def check(findings: Findings, model: str) -> Seen:
        averages = findings.model(model).ranking(metric).averages
        worst, others = some(averages, methods), rest(averages, methods)
        last = max(others, key=lambda method: others[method])
        return Seen(min(worst.values()) > others[last], f"{shown(worst)}; before {shown({last: others[last]})}")

    return check


def among_best(metrics: tuple[str, ...], heroes: tuple[str, ...]) -> Check:
    """All heroes are the best, or not significantly different from it, by each of the metrics."""

    def check(findings: Findings, model: str) -> Seen:
        failed = []
        for metric in metrics:
            ranking = findings.model(model).ranking(metric)
            rest(ranking.averages, heroes)
            if not set(heroes) <= ranking.best:
                best = joined([pretty(method) for method in findings.methods if method in ranking.best])
                failed.append(f"{label(metric)}: best is {best or 'nobody'}")
        return Seen(not failed, "; ".join(failed) or f"by all of {joined([label(metric) for metric in metrics])}")

    return check


def in_place(metrics: tuple[str, ...], method: str, place: int) -> Check:
    """By each of the metrics the method has that place or a better one, counted by average ranks."""

    def check(findings: Findings, model: str) -> Seen:
        places = {}
        for metric in metrics:
            averages = findings.model(model).ranking(metric).averages
            rest(averages, (method,))
            places[metric] = 1 + sum(value < averages[method] for value in averages.values())
        figures = ", ".join(f"{label(metric)} {at}" for metric, at in places.items())
        return Seen(max(places.values()) <= place, f"place of {pretty(method)}: {figures}")

    return check


def better_by(method: str, metric: str, than: str) -> Check:
    """The method ranks better by one metric than by another."""

    def check(findings: Findings, model: str) -> Seen:
        one, other = (findings.model(model).ranking(by).averages[method] for by in (metric, than))
        return Seen(one < other, f"{pretty(method)} {label(metric)} {one:.2f}, {label(than)} {other:.2f}")

    return check


def frontier(x: str, y: str, findings: Findings, model: str) -> frozenset[str]:
    """The methods that no other dominates by two metrics."""
    by_x, by_y = (findings.model(model).ranking(metric).averages for metric in (x, y))
    is_efficient = statistics.efficient([[by_x[method], by_y[method]] for method in findings.methods])
    return frozenset(method for method, efficient in zip(findings.methods, is_efficient, strict=True) if efficient)


def frontier_is(x: str, y: str, expected: tuple[str, ...]) -> Check:
    """The efficient frontier is made of exactly these methods."""

    def check(findings: Findings, model: str) -> Seen:
        found = frontier(x, y, findings, model)
        names = [pretty(method) for method in findings.methods if method in found]
        return Seen(found == frozenset(expected), f"the frontier is {joined(names)}")

    return check


def covered(methods: tuple[str, ...]) -> Check:
    """The methods find a counterfactual for every row."""

    def check(findings: Findings, model: str) -> Seen:
        coverage = some(findings.model(model).coverage, methods)
        return Seen(min(coverage.values()) == 100, f"%: {shown(coverage, 1)}")

    return check


def only_wit_covers_all(findings: Findings, model: str) -> Seen:
    """Of the benchmarks, WIT alone has perfect coverage."""
    coverage = some(findings.model(model).coverage, BENCHMARKS)
    rest(coverage, ("wit",))
    perfect = [method for method, value in coverage.items() if value == 100]
    return Seen(perfect == ["wit"], f"%: {shown(coverage, 1)}")


def geco_covers_least(findings: Findings, model: str) -> Seen:
    """No other method has a lower coverage than what the paper calls GeCo."""
    coverage = findings.model(model).coverage
    others = rest(coverage, (PAPER_GECO,))
    figures = f"%: {shown(some(coverage, [PAPER_GECO]), 1)}, next {shown(nearest(others), 1)}"
    return Seen(coverage[PAPER_GECO] < min(others.values()), figures)


def coverage_between_cbr_and_sedc(findings: Findings, model: str) -> Seen:
    """Of CBR, SEDC, DiCE and CFproto, CBR covers the least and SEDC the most."""
    coverage = findings.model(model).coverage
    between = some(coverage, ("dice", "cfproto"))
    holds = coverage["cbr"] <= min(between.values()) and max(between.values()) <= coverage["sedc"]
    return Seen(holds, f"%: {shown(some(coverage, ('cbr', 'sedc', 'dice', 'cfproto')), 1)}")


def covers_a_class(method: str) -> Check:
    """On every dataset the method covers one of the two classes completely."""

    def check(findings: Findings, model: str) -> Seen:
        least = findings.model(model).better_class.get(method, np.nan)
        if np.isnan(least):
            raise NotMeasuredError("coverage by class was not measured")
        return Seen(least == 100.0, f"at least {least:.1f} % of the class that {pretty(method)} covers better")

    return check


def nice_none_is_most_robust(findings: Findings, model: str) -> Seen:
    """For more rows than with any other method, NICE(none) has a counterfactual that the other model accepts."""
    robustness = some(findings.model(model).robustness, findings.methods)
    return Seen(robustness[_NONE] > max(rest(robustness, (_NONE,)).values()), f"%: {shown(robustness, 1)}")


def nice_prox_is_slightly_nearer(findings: Findings, model: str) -> Seen:
    """NICE(prox) is not behind NICE(spars) on proximity, and not significantly ahead."""
    averages = findings.model(model).ranking(_PROXIMITY).averages
    tied = tied_by(_PROXIMITY, (_PROX, _SPARS))(findings, model)
    return Seen(tied.holds and averages[_PROX] <= averages[_SPARS], tied.figures)


def neither_spars_nor_prox_dominates(findings: Findings, model: str) -> Seen:
    """NICE(spars) and NICE(prox), by themselves, are both on the frontier of sparsity and proximity."""
    by_both = [findings.model(model).ranking(metric).averages for metric in ("sparsity", _PROXIMITY)]
    is_efficient = statistics.efficient([[averages[one] for averages in by_both] for one in (_SPARS, _PROX)])
    figures = ", ".join(f"{pretty(one)} {by_both[0][one]:.3f} / {by_both[1][one]:.3f}" for one in (_SPARS, _PROX))
    return Seen(bool(is_efficient.all()), f"sparsity / proximity: {figures}")


def nice_plaus_is_between(findings: Findings, model: str) -> Seen:
    """NICE(plaus) is between the best and the worst version by each property; tied with the best is between, too."""
    figures, holds = [], True
    for metric, good, bad in (("sparsity", _SPARS, _NONE), (_PROXIMITY, _PROX, _NONE), (_PLAUSIBILITY, _NONE, _SPARS)):
        ranking = findings.model(model).ranking(metric)
        best, middle, worst = (ranking.averages[method] for method in (good, _PLAUS, bad))
        holds = holds and best - ranking.least_difference <= middle <= worst
        figures.append(f"{label(metric)} {best:.2f} ({pretty(good)}), {middle:.2f}, {worst:.2f} ({pretty(bad)})")
    return Seen(holds, "; ".join(figures))


def nice_is_best(findings: Findings, model: str) -> Seen:
    """By each of the three properties, the lowest average rank is that of a version of NICE."""
    holds, figures = True, []
    for name, metric in PROPERTIES.items():
        averages = findings.model(model).ranking(metric).averages
        nice, others = some(averages, NICE_VARIANTS), some(averages, BENCHMARKS)
        holds = holds and min(nice.values()) < min(others.values())
        figures.append(f"{name}: {shown(nearest(nice))}, best of the others {shown(nearest(others))}")
    return Seen(holds, "; ".join(figures))


def proximities_agree(findings: Findings, model: str) -> Seen:
    """All correlations between proximity metrics are above 0.9."""
    found = _correlations(findings, model, PROXIMITIES, PROXIMITIES)
    return Seen(min(found) > _VERY_HIGH, f"from {min(found):.3f} to {max(found):.3f}")


def sparsity_goes_along(findings: Findings, model: str) -> Seen:
    """Sparsity correlates highly with the proximity metrics, but less than any two of these do."""
    found = _correlations(findings, model, ("sparsity",), PROXIMITIES)
    return _below_proximities(found, _HIGH, findings, model)


def plausibilities_agree_less(findings: Findings, model: str) -> Seen:
    """The plausibility metrics correlate positively, but less than any two proximity metrics do."""
    found = _correlations(findings, model, PLAUSIBILITIES, PLAUSIBILITIES)
    return _below_proximities(found, 0.0, findings, model)


def _below_proximities(found: list[float], least: float, findings: Findings, model: str) -> Seen:
    among = _correlations(findings, model, PROXIMITIES, PROXIMITIES)
    figures = f"from {min(found):.3f} to {max(found):.3f}; among proximity metrics from {min(among):.3f}"
    return Seen(min(found) > least and max(found) < min(among), figures)


def _correlations(findings: Findings, model: str, ones: tuple[str, ...], others: tuple[str, ...]) -> list[float]:
    pairs = dict.fromkeys(frozenset((one, other)) for one in ones for other in others if one != other)
    return [findings.model(model).correlation(*pair) for pair in pairs]


def not_behind(method: str, metric: str) -> Check:
    """By average rank, the method is not significantly worse than the best of the paper's four versions."""

    def check(findings: Findings, model: str) -> Seen:
        ranking = findings.model(model).ranking(metric)
        nice, own = some(ranking.averages, NICE_VARIANTS), some(ranking.averages, [method])
        figures = f"{shown(own)}; {shown(nice)}; CD {ranking.critical_difference:.3f}"
        return Seen(own[method] - min(nice.values()) <= ranking.least_difference, figures)

    return check


def is_efficient(method: str) -> Check:
    """No other method dominates it by any two of the three properties."""

    def check(findings: Findings, model: str) -> Seen:
        holds, figures = True, []
        for x, y in (("sparsity", "proximity"), ("sparsity", "plausibility"), ("proximity", "plausibility")):
            found = frontier(PROPERTIES[x], PROPERTIES[y], findings, model)
            holds = holds and method in found
            figures.append(f"{x}-{y}: {joined([pretty(one) for one in findings.methods if one in found])}")
        return Seen(holds, "; ".join(figures))

    return check


def never_worse(method: str, metric: str, than: str) -> Check:
    """Row by row: no counterfactual of the method is worse than that of the other."""

    def check(findings: Findings, model: str) -> Seen:
        better, equal, worse = head_to_head(findings, model, method, than, metric)
        return Seen(worse == 0, f"better in {better:.1f} %, equal in {equal:.1f} %, worse in {worse:.2f} % of the rows")

    return check


def head_to_head(findings: Findings, model: str, one: str, other: str, metric: str) -> tuple[float, float, float]:
    """In how many percent of the rows that both found a counterfactual for, one is better, equal and worse."""
    values = findings.model(model).values.get(metric)
    if values is None:
        raise NotMeasuredError(f"{label(metric)} was not measured")
    a, b = (values[:, findings.methods.index(method)] for method in (one, other))
    is_both = ~np.isnan(a) & ~np.isnan(b)
    if not is_both.any():
        raise NotMeasuredError(f"{pretty(one)} and {pretty(other)} found no counterfactual for the same row")
    a, b = a[is_both], b[is_both]
    # Sums of the same parts in another order differ in their last digits.
    is_equal = np.isclose(a, b, rtol=1e-9, atol=1e-12)
    better, equal, worse = (
        100 * float(np.mean(those)) for those in ((a < b) & ~is_equal, is_equal, (a > b) & ~is_equal)
    )
    return better, equal, worse
