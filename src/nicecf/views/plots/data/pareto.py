"""The Pareto set of one row: all counterfactuals that nothing beats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.options import check_count
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs
from nicecf.views.plots.data.common import Caption, Explanation, Message, check_many
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class Point:
    """One counterfactual; ``error`` is NaN where the explainer has no measure of plausibility."""

    n_changes: int
    distance: float
    error: float
    is_chosen: bool
    changes: str


@dataclass(frozen=True)
class Pareto:
    """The points, fewest changes first, then nearest."""

    caption: Caption
    points: tuple[Point, ...]
    has_errors: bool
    teller: Teller


def pareto_of(cfs: Counterfactuals, row: int = 0, wording: Wording | None = None) -> Pareto | Message:
    """The points of the row at a position of the explain call; chosen is what the result holds for it."""
    check_many(cfs, who="pareto()")
    check_count("row", row, least=0)
    mine = np.flatnonzero(cfs.rows == row)
    if not len(mine):
        raise OptionError(
            f"row={row} does not exist: the rows of this result are {_span(cfs.rows)}. Choose one of cfs.rows."
        )
    of_row = cfs[mine]
    members = of_row.pareto().batch
    has_errors = bool(np.isfinite(members.errors[members.found]).all())
    this = Explanation.of(of_row[0], wording, who="pareto()")
    teller = this.teller
    title = teller.say("plot.pareto_title_with_error" if has_errors else "plot.pareto_title")
    if this.nothing:
        return this.message(title)
    is_chosen = np.array([_is_same(members.after.values, values) for values in of_row.batch.after.values])
    every = [(member, bool(is_chosen[:, i].any())) for i, member in enumerate(Explanation.each(members, wording))]
    # Where time ran out, what was chosen may not be a member.
    outside = of_row.batch.take(np.flatnonzero(~is_chosen.any(axis=1)))
    every += [(one, True) for one in Explanation.each(outside, wording) if one.found]
    points = [
        Point(
            one.n_changes,
            one.distance,
            float(one.batch.errors[0]),
            chosen,
            one.told(map(one.step, one.made_to_change()), 4),
        )
        for one, chosen in every
    ]
    points.sort(key=lambda point: (point.n_changes, point.distance, point.error))
    subtitle = teller.counted("plot.pareto_subtitle", len(points), decision=this.now)
    chosen_ones = [point for point in points if point.is_chosen]
    head = teller.counted("plot.pareto_alt", len(points), title=title)
    alt = " ".join([head, *(_chosen(point, teller) for point in chosen_ones)])
    notes = [_described(point, has_errors, teller) for point in chosen_ones[:3]]
    if len(points) == 1:  # A point alone in two axes shows nothing.
        words = teller.say("plot.pareto_only", chosen=_described(points[0], has_errors, teller))
        return Message(Caption(title, subtitle, (), alt), words)
    if has_errors:
        notes.append(teller.say("plot.pareto_paler"))
    return Pareto(Caption(title, subtitle, tuple(notes), alt), tuple(points), has_errors, teller)


def _chosen(point: Point, teller: Teller) -> str:
    distance = teller.number(f"{point.distance:.3f}")
    return teller.counted("plot.pareto_alt_chosen", point.n_changes, distance=distance)


def _described(point: Point, has_errors: bool, teller: Teller) -> str:
    return teller.counted(
        "plot.pareto_chosen_with_error" if has_errors else "plot.pareto_chosen",
        point.n_changes,
        distance=teller.number(f"{point.distance:.3g}"),
        error=teller.number(f"{point.error:.3g}"),
        changes=point.changes,
    )


def _is_same(members: Floats, values: Floats) -> Bools:
    return np.asarray(~differs(members, values[None]).any(axis=1))


def _span(rows: Ints) -> str:
    if not len(rows):
        return "none"
    low, high = int(rows.min()), int(rows.max())
    return f"{low}" if low == high else f"{low} to {high}"
