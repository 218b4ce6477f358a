"""The Pareto set of one row: all counterfactuals that nothing beats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.options import check_count
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs
from nicecf.views.plots.data.common import Caption, Explanation, Message, check_many, counted, listed
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
    qualities = "changes, distance and plausibility" if has_errors else "changes and distance"
    title = f"What nothing beats in {qualities} together"
    this = Explanation.of(of_row[0], wording, who="pareto()")
    if this.nothing:
        return Message(Caption(title, f"The model says {this.now}.", (), f"{title}. {this.nothing}"), this.nothing)
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
            listed(map(one.step, one.made_to_change()), 4),
        )
        for one, chosen in every
    ]
    points.sort(key=lambda point: (point.n_changes, point.distance, point.error))
    subtitle = f"{counted(len(points), 'counterfactual')} of a row of which the model says {this.now}; less is better"
    chosen_ones = [point for point in points if point.is_chosen]
    alt = f"{title}: {counted(len(points), 'counterfactual')}. " + " ".join(
        f"Chosen: {counted(point.n_changes, 'change')} at distance {point.distance:.3f}." for point in chosen_ones
    )
    notes = [f"★ chosen: {_described(point, has_errors)}" for point in chosen_ones[:3]]
    if has_errors and len(points) > 1:
        notes.append("The paler a point, the lower its plausibility error.")
    return Pareto(Caption(title, subtitle, tuple(notes), alt), tuple(points), has_errors)


def _described(point: Point, has_errors: bool) -> str:
    error = f", plausibility error {point.error:.3g}" if has_errors else ""
    return f"{counted(point.n_changes, 'change')}, distance {point.distance:.3g}{error}: {point.changes}"


def _is_same(members: Floats, values: Floats) -> Bools:
    return np.asarray(~differs(members, values[None]).any(axis=1))


def _span(rows: Ints) -> str:
    if not len(rows):
        return "none"
    low, high = int(rows.min()), int(rows.max())
    return f"{low}" if low == high else f"{low} to {high}"
