"""How far counterfactuals are from their rows, and in how many changes, by the columns of the table itself."""

from __future__ import annotations

from dataclasses import dataclass

from nicecf.search.distance import Heom
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class TableDistance:
    """The distance of a search, of whole rows: what moves together is one part, what is computed none."""

    schema: Schema
    distance: Heom

    def between(self, rows: Floats, others: Floats) -> Floats:
        """The distance of paired rows."""
        return self.distance.between(*self._moving(rows, others))

    def features(self, rows: Floats, others: Floats) -> Floats:
        """The parts of all columns in the distance of paired rows; what moves together shares its part."""
        return self.schema.spread(self.distance.features(*self._moving(rows, others)), rows, others)

    def n_changes(self, rows: Floats, others: Floats) -> Ints:
        """In how many changes paired rows differ."""
        return self.schema.n_changes(rows, others)

    def _moving(self, rows: Floats, others: Floats) -> tuple[Floats, Floats]:
        moving, schema = self.schema.reduce(rows, self.schema.full)
        return moving, schema.reduce(others, self.schema.full)[0]
