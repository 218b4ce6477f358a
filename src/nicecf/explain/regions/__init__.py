"""Regions: the box around a counterfactual in which the answer still holds, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.explain.fitted import Fitted
from nicecf.explain.regions.grid import Asked, Axis, Holds, grown, observed, rows_of
from nicecf.explain.regions.linear import Linear
from nicecf.explain.regions.rooms import Room, Rooms
from nicecf.explain.regions.trees import Bounded, margins, tree_cells
from nicecf.models.linear import LinearModel, linear_of
from nicecf.models.twin import NotSupported, TreeTwin
from nicecf.results.box import Box, Side
from nicecf.rules.parts import Part
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import Schema

# How many rows a model that cannot be read is asked about for one box.
MOST_ROWS = 4096
# Corners of a proven box at which the model itself is asked whether it is so.
_MOST_CORNERS = 64
# How far the probabilities at corners must be from where the decision turns.
_CLEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Regions:
    """Finds boxes. ``holds``: whether whole rows would do in place of counterfactuals, and their probabilities."""

    schema: Schema
    fitted: Fitted
    parts: tuple[Part, ...]
    holds: Callable[[Ints, Floats, Ints], tuple[Bools, Floats]]

    def boxes(
        self, lines: Ints, before: Floats, after: Floats, decided: Ints, features: Sequence[Ints]
    ) -> Iterator[Box]:
        """Yield the box of each counterfactual; ``features``: what it changes, in the order of its sides."""
        is_valid = np.ones(len(lines), dtype=bool)
        changed = np.flatnonzero([len(of_entry) > 0 for of_entry in features])
        if len(changed):  # one call of the model for all
            is_valid[changed] = self.holds(lines[changed], after[changed], decided[changed])[0]
        entries = zip(lines.tolist(), before, after, decided.tolist(), features, is_valid.tolist(), strict=True)
        return (self._box(*entry) for entry in entries)

    def _box(self, line: int, before: Floats, after: Floats, decided: int, features: Ints, is_valid: bool) -> Box:
        """Find the box of a counterfactual, which is valid itself or not.

        Each is grown towards the row, and then away from it, as far as all points of the box are valid. Where models
        must agree, the counterfactual itself need not be: each of them may decide on another class that will do.
        """
        rooms = [self._rooms.of(line, j, float(before[j]), float(after[j])) for j in features.tolist()]
        free = [room for room in rooms if room.is_free]
        sides, is_proven = self._grown(line, after, decided, free) if free and is_valid else ([], is_valid)
        found = {side.feature: side for side in sides}
        every = tuple(found.get(room.position) or _single(room) for room in rooms)
        return Box(every, "proven" if is_proven else "checked")

    def _grown(self, line: int, after: Floats, decided: int, rooms: list[Room]) -> tuple[list[Side], bool]:
        def holds(rows: Floats) -> Bools:
            return self.holds(np.full(len(rows), line), rows, np.full(len(rows), decided))[0]

        proven = self._by_trees(after, decided, rooms, holds) or self._by_slopes(line, after, decided, rooms)
        if proven is not None:
            return proven, True
        axes = [
            Axis.of_categories(room) if room.codes is not None else observed(room, self._seen(room)) for room in rooms
        ]
        box = grown(axes, Asked(after, holds, MOST_ROWS))
        sides = [axis.side(chosen) for axis, chosen in zip(axes, box, strict=True)]
        # Of categories every combination was asked about.
        return sides, all(side.is_single for side in sides if side.codes is None)

    def _by_trees(self, after: Floats, decided: int, rooms: list[Room], holds: Holds) -> list[Side] | None:
        """The sides, if the only model is trees that can be read, and they say what the model does."""
        twin, panel = self.fitted.models.twin, self.fitted.panel
        if not isinstance(twin, TreeTwin) or len(panel.members) > 1 or panel.target is not None:
            return None
        with suppress(NotSupported, ModelError):
            twin(after[None], self.schema.full)  # says if the model was trained again
            axes, bounds = tree_cells(twin, self.schema.full, after, rooms, decided)
            box = grown(axes, Bounded(after, bounds, panel, holds))
            ends = product(*({int(cells[0]), int(cells[-1])} for cells in box))
            corners = [cell for cell, _ in zip(ends, range(_MOST_CORNERS), strict=False)]
            if holds(rows_of(after, axes, corners)).all():
                return [axis.side(chosen) for axis, chosen in zip(axes, box, strict=True)]
        return None

    def _by_slopes(self, line: int, after: Floats, decided: int, rooms: list[Room]) -> list[Side] | None:
        """The sides, if the only model is linear and each feature acts alone."""
        model, panel = self._linear, self.fitted.panel
        if model is None or not all(
            model.acts_alone(room.position, is_categorical=room.codes is not None) for room in rooms
        ):
            return None

        def are_clear(rows: Floats) -> Bools:
            held, probabilities = self.holds(np.full(len(rows), line), rows, np.full(len(rows), decided))
            own, others = probabilities[:, decided], np.delete(probabilities, decided, axis=1).max(axis=1)
            return held & (margins(panel, decided, own - others, own) > _CLEAR)

        return Linear(after, decided, model, are_clear).grown(rooms)

    @cached_property
    def _linear(self) -> LinearModel | None:
        panel = self.fitted.panel
        (first, *others), rule = panel.members, panel.members[0].rule
        is_one_line = rule.is_highest or (rule.cutoffs is not None and len(panel.classes) == 2)
        if others or panel.target is not None or panel.is_regressor or not is_one_line:
            return None
        model = getattr(getattr(first.classifier, "predict_proba", None), "__self__", None)
        linear = None if model is None else linear_of(model, self.schema.full)
        # One-vs-rest: far out all sigmoids are 0 or 1, and the decision is between equals.
        return linear if linear is not None and linear.is_softmax else None

    @cached_property
    def _rooms(self) -> Rooms:
        privacy = self.fitted.privacy
        is_guarded = privacy.digests is not None or privacy.common is not None
        return Rooms(self.schema, self.parts, self.fitted.statistics, self._values, is_guarded)

    def _seen(self, room: Room) -> Floats:
        return self._values(self.schema.moving(room.position))

    def _values(self, unit: int) -> Floats:
        """The values of a column that training rows hold; none if they were not kept."""
        near = self.fitted.neighborhood
        values = np.empty(0) if near is None else near.donors.values.of_feature(unit)
        return values[values >= 0] if self.schema.columns[unit].is_categorical else values


def _single(room: Room) -> Side:
    if room.codes is not None:
        return Side(room.position, np.nan, np.nan, (room.after,))
    return Side(room.position, room.after, room.after)
