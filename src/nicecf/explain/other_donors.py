"""Donors among training rows: those that ``fit`` was given or, for what it learned, others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nicecf.explain.fitted import Fitted, refusal
from nicecf.explain.search_options import SearchOptions
from nicecf.models.decision import Panel
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.neighbors import DonorIndex
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Encoded training rows, in training order, what all models say of each, and the class decided on.

    ``labels``: positions among the classes, as ``decisions`` are; None if labels need not agree with decisions.
    """

    values: Floats
    outputs: Floats
    decisions: Ints
    labels: Ints | None


def donors_of(rows: TrainingRows, panel: Panel, distance: Heom) -> DonorSearch:
    """The donors; reorders the encoded rows, which nothing else may use."""
    decisions, n_classes = rows.decisions, len(panel.classes)
    is_donor = np.ones(len(decisions), dtype=bool) if rows.labels is None else rows.labels == decisions
    # Rows that are decided to be in a class, but not accepted there, follow in separate groups.
    is_accepted = panel.accepts(rows.outputs, np.eye(n_classes, dtype=bool)[decisions])
    groups = np.where(is_accepted, decisions, n_classes + decisions)
    n_groups = n_classes if panel.is_alone else 2 * n_classes
    index = DonorIndex.of(rows.values, np.where(is_donor, groups, -1), n_groups, distance)
    return DonorSearch(index, rows.outputs[index.positions], np.bincount(decisions, minlength=n_classes))


@dataclass(frozen=True, eq=False)
class OtherRows:
    """Some rows of a training table that is not here as a whole.

    ``positions``: where they are in it, ascending. ``n_decided``: how many rows of the whole table the model puts into
    each class. ``schema``: the one that ``fit`` learned, with the levels of these rows, if it did not know them.
    """

    rows: TrainingRows
    positions: Ints
    n_decided: Ints
    schema: Schema


def with_donors(fitted: Fitted, others: OtherRows, options: SearchOptions) -> Fitted:
    """What was learned, with other rows to take donors from; reorders the encoded rows."""
    donors = donors_of(others.rows, fitted.panel, fitted.distance)
    donors = replace(donors, index=donors.index.numbered(others.positions), n_decided=others.n_decided)
    search, neighborhood = options.searching(
        donors,
        fitted.distance,
        is_refused=refusal(fitted.privacy, others.schema),
        plausibility=fitted.plausibility,
        basis=fitted.models.basis,
    )
    return replace(fitted, schema=others.schema, search=search, neighborhood=neighborhood)
