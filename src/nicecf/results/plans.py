"""A menu for each row: few counterfactuals, each of them the best in some way, or unlike the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from nicecf.results.batch import Batch
from nicecf.support.types import Floats, Ints

# A plan that is best by another measure has at most so many changes more than the one with the fewest.
_MORE_CHANGES = 3

Strength: TypeAlias = Literal["fewest", "nearest", "most_plausible"]


def plans_of(batch: Batch) -> Batch:
    """The best of each row by each measure, of all that the search found; then the other answers, unlike the first."""
    n_own, first = len(batch), batch.first_of_rows
    every = batch
    if batch.front is not None:
        entries, members = batch.front.members(batch.rows, first)
        is_member = members >= 0
        entries = np.append(np.arange(n_own), entries[is_member])
        every = batch.with_members(batch.front, entries, np.append(np.full(n_own, -1), members[is_member]))
    chosen = [np.empty(0, dtype=np.intp)]
    chosen += [_menu(every, np.flatnonzero(every.rows == row), n_own) for row in batch.rows[first].tolist()]
    return replace(
        every.take(np.concatenate(chosen)),
        has_several=True,
        provenance=batch.provenance.chosen_by("plans"),
        numbers=np.concatenate([np.arange(len(of_row)) for of_row in chosen]),
    )


def strengths(batch: Batch) -> list[tuple[Strength, ...]]:
    """What each entry is best at among those of its row, the first of equal ones; nothing, where there is one alone."""
    found: list[tuple[Strength, ...]] = [()] * len(batch)
    for row in np.unique(batch.rows).tolist():
        own = np.flatnonzero(batch.rows == row)
        for name, values in _measures(batch, own) if len(own) > 1 else ():
            best = int(own[np.argmin(values)])
            found[best] = (*found[best], name)
    return found


def _measures(batch: Batch, entries: Ints) -> list[tuple[Strength, Floats]]:
    """By what plans are compared, lower is better."""
    measures: list[tuple[Strength, Floats]] = [
        ("fewest", batch.n_changes[entries].astype(np.float64)),
        ("nearest", batch.distances[entries]),
    ]
    errors = batch.errors[entries]
    return measures if np.isnan(errors).any() else [*measures, ("most_plausible", errors)]


def _menu(batch: Batch, entries: Ints, n_own: int) -> Ints:
    """Of all entries of one row those of its menu, each once; those before ``n_own`` are its answers."""
    if not batch.found[entries].all():
        return entries[:1]
    measured = [values for _, values in _measures(batch, entries)]
    # What is most plausible may change nearly everything: that is nobody's plan.
    is_plan = measured[0] <= measured[0].min() + _MORE_CHANGES
    # Of those that are equal by one measure, the best by the others, in their order.
    best = [np.lexsort((*measured[::-1], by, ~is_plan))[0] for by in measured]
    order = np.concatenate([entries[best], entries[entries < n_own]])
    values = batch.after.values[order] + 0.0
    _, first = np.unique(np.where(np.isnan(values), np.inf, values), axis=0, return_index=True)
    return order[np.sort(first)]
