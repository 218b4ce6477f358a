"""Checks of claims about time; as those of `nicecf.benchmark.report.checks`, of which they are the other half."""

from __future__ import annotations

import numpy as np

from nicecf.benchmark.report.checks import Check, Seen, nearest, rest, shown, some
from nicecf.benchmark.report.findings import Findings, NotMeasuredError
from nicecf.benchmark.report.names import NICE_VARIANTS, pretty

_MINUTE_MS = 60_000.0
# Of the time limit: the clock that it is measured by is not the processor's, by which explanations are timed.
_NEARLY = 0.8


def slower_with_forest(findings: Findings, model: str) -> Seen:
    """Every method takes longer with the RF."""
    ann, rf = some(findings.model("ann").ms, findings.methods), some(findings.model("rf").ms, findings.methods)
    ratios = {method: rf[method] / ann[method] for method in ann if method in rf and ann[method] > 0}
    return Seen(min(ratios.values()) > 1, f"times as long with the RF: {shown(ratios, 1)}")


def fastest_are(*methods: str) -> Check:
    """Everybody else takes longer, in milliseconds."""

    def check(findings: Findings, model: str) -> Seen:
        ms = findings.model(model).ms
        first, others = some(ms, methods), rest(ms, methods)
        figures = f"ms: {shown(first, 1)}; next {shown(nearest(others), 1)}"
        return Seen(max(first.values()) < min(others.values()), figures)

    return check


def slowest_are(*methods: str) -> Check:
    """Everybody else takes less, in milliseconds."""

    def check(findings: Findings, model: str) -> Seen:
        ms = findings.model(model).ms
        last, others = some(ms, methods), rest(ms, methods)
        before = max(others, key=lambda method: others[method])
        figures = f"ms: {shown(last, 1)}; before {shown({before: others[before]}, 1)}"
        return Seen(min(last.values()) > others[before], figures)

    return check


def ever_slower(*methods: str) -> Check:
    """Each of the methods takes longer than the one before it."""

    def check(findings: Findings, model: str) -> Seen:
        ms = [findings.model(model).ms[method] for method in methods]
        figures = ", ".join(f"{pretty(method)} {value:,.1f}" for method, value in zip(methods, ms, strict=True))
        return Seen(bool(np.all(np.diff(ms) > 0)), f"ms: {figures}")

    return check


def ms_below(methods: tuple[str, ...], limit: float) -> Check:
    """None of the methods takes longer than that on average."""

    def check(findings: Findings, model: str) -> Seen:
        ms = some(findings.model(model).ms, methods)
        return Seen(max(ms.values()) <= limit, f"ms: {shown(ms, 1)}")

    return check


def takes_minutes(*methods: str) -> Check:
    """Each of the methods takes at least a minute on average; open where a time limit may have kept it from that."""

    def check(findings: Findings, model: str) -> Seen:
        ms = some(findings.model(model).ms, methods)
        holds, doubt = min(ms.values()) >= _MINUTE_MS, ""
        longest = [
            table.get(method, 0.0) for (_, of), table in findings.longest_ms_of.items() if of == model for method in ms
        ]
        limit = findings.time_limit
        if not holds and limit is not None and max(longest, default=0.0) > _NEARLY * 1000 * limit:
            doubt = f"explanations were stopped by the time limit of {limit:g} s"
        return Seen(holds, f"ms: {shown(ms, 0)}", doubt)

    return check


def ms_on(dataset: str, methods: tuple[str, ...], limit: float, *, longest: bool = False) -> Check:
    """On that dataset none of the methods takes so long, on average or in the longest case."""

    def check(findings: Findings, model: str) -> Seen:
        table = findings.longest_ms_of if longest else findings.ms_of
        if (dataset, model) not in table:
            raise NotMeasuredError(f"{dataset} was not run")
        ms = some(table[dataset, model], methods)
        return Seen(max(ms.values()) < limit, f"{dataset}, {'longest' if longest else 'mean'} ms: {shown(ms, 1)}")

    return check


def nice_plaus_with_forest_is_slowest(findings: Findings, model: str) -> Seen:
    """Of the four versions with both classifiers, NICE(plaus) with the RF takes the longest."""
    ms = {(one, method): findings.model(one).ms[method] for method in NICE_VARIANTS for one in ("ann", "rf")}
    one, method = max(ms, key=lambda key: ms[key])
    figures = f"the longest is {pretty(method)} with the {one.upper()}, {ms[one, method]:,.1f} ms"
    return Seen((one, method) == ("rf", "nice-plaus"), figures)
