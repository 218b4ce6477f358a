"""What ``fit`` learned: all that the stages of ``explain`` read, and never write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nicecf.explain.formulas import NOTHING_READ, ProofBasis
from nicecf.explain.training import Canaries
from nicecf.models.decision import Panel
from nicecf.models.scorer import Cost, RowFunction, Scorer
from nicecf.models.twin import NotSupported, Twin
from nicecf.rules.constraints import Constraints
from nicecf.rules.privacy import Privacy
from nicecf.search.autoencoder import error_by
from nicecf.search.chain import FromDonors
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch, FirstQuestions
from nicecf.search.greedy import Greedy
from nicecf.search.question import Search
from nicecf.search.thorough import Thorough
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics


@dataclass(frozen=True, eq=False)
class Models:
    """The models that must agree: what they cost, rows that tell whether they are still the same, a faster twin.

    ``uses_twin``: whether the twin is asked in the model's place; ``confirms``: whether what it said is asked of the
    model itself in the end. ``basis``: what proofs are made of, as far as they are asked for.
    """

    panel: Panel
    cost: Cost
    canaries: Canaries
    twin: Twin | None
    twin_cost: Cost
    uses_twin: bool = False
    confirms: bool = True
    basis: ProofBasis = NOTHING_READ

    def scorer(self, schema: Schema, *, by_twin: bool, deadline: float | None = None) -> Scorer:
        """The models, or the twin, for one call; ``schema`` is that of its rows."""
        panel, twin = self.panel, self.twin

        def by_the_models(rows: Floats) -> Floats:
            return panel.outputs(schema.decode(rows), len(rows))

        def by_the_twin(rows: Floats) -> Floats:
            assert twin is not None
            try:
                return twin(rows, schema)
            except Exception as error:  # what the model makes of these rows is for the model to say
                raise NotSupported from error

        predict, cost = (by_the_twin, self.twin_cost) if by_twin else (by_the_models, self.cost)
        return Scorer.of(predict, width=panel.width, cost=cost, deadline=deadline)


@dataclass(frozen=True, eq=False)
class Plausibility:
    """How implausible rows are. ``is_own``: the autoencoder of ``fit``, a function of encoded rows, not of tables."""

    measure: Callable[[Any], Any]
    is_own: bool

    def for_rows(self, schema: Schema) -> RowFunction:
        """The measure for the encoded rows of one call."""
        return self.measure if self.is_own else error_by(self.measure, schema)


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """What only a search among training rows has.

    ``hybrids``: the search among many donors, where a donor as a whole is of no use. ``walk``: how the rows get to
    their donors when a rule is relaxed; ``relaxed``: the search that then says what they get, None if the walk is all
    there is to it. ``has_hybrids``: whether the search asks about hybrids, so that some may be asked for ahead.
    ``first_questions``: what else it will ask about first, if that is known. ``last_resort``: the search for rows that
    nothing else helps where training rows are kept back: what can be given in their place comes first.
    """

    donors: DonorSearch
    hybrids: Thorough
    walk: Greedy
    relaxed: Search | None
    has_hybrids: bool
    first_questions: FirstQuestions | None = None
    last_resort: FromDonors | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """What ``fit`` learned, of NICE or of a baseline.

    ``schema`` is that of the training data, with the values that may be taken of it and told. ``label_scores``: the
    labels of a regressor's training rows, None if there are none.
    """

    explainer: str
    schema: Schema
    models: Models
    distance: Heom
    statistics: TableStatistics
    fingerprints: dict[str, str]
    search: Search
    constraints: Constraints = field(default_factory=Constraints)
    privacy: Privacy = field(default_factory=Privacy)
    plausibility: Plausibility | None = None
    neighborhood: Neighborhood | None = None
    label_scores: Floats | None = None

    @property
    def panel(self) -> Panel:
        """The models that must agree."""
        return self.models.panel

    @cached_property
    def is_refused(self) -> Callable[[Floats], Bools]:
        """Which rows may not be handed out."""
        return refusal(self.privacy, self.schema) or _none

    def positions(self, places: Ints) -> Ints:
        """What is told of donors: their positions in the training data, or -1 for nothing."""
        if self.neighborhood is None:
            return places
        positions = np.full_like(places, -1)
        if self.privacy.digests is None:
            positions[places >= 0] = self.neighborhood.donors.index.positions[places[places >= 0]]
        return positions

    def donor_at(self, position: int) -> Floats | None:
        """The training row at a position; None if it is not kept, or not to be told."""
        if self.neighborhood is None or self.privacy.digests is not None or self.privacy.common is not None:
            return None
        index = self.neighborhood.donors.index
        place = np.flatnonzero(index.positions == position)
        return index.values[place[0]] if len(place) else None


def refusal(privacy: Privacy, schema: Schema) -> Callable[[Floats], Bools] | None:
    """Which rows are training rows that may not be handed out, as they are or as training columns hold them.

    None if all may be.
    """
    return None if privacy.digests is None else _TrainingRows(privacy, schema)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """A class and not a function inside of one: explainers are pickled."""

    privacy: Privacy
    schema: Schema

    def __call__(self, values: Floats) -> Bools:
        is_training_row = self.privacy.is_training_row
        return is_training_row(values) | is_training_row(self.schema.rounded(values))


def _none(values: Floats) -> Bools:
    return np.zeros(len(values), dtype=bool)
