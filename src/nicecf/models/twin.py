"""Forests, scored without the overhead of a call: the same trees, the same sums, the same digits.

A scikit-learn forest spends most of a small call on bookkeeping for each tree, and a `ColumnTransformer` in front of it
as much again on splitting and joining tables. A twin holds the user's own fitted trees and encoders and does only the
arithmetic. Whether it answers as the model does is checked: `twin_of` compares both on training rows, and unless told
otherwise `explain` asks the model itself about what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing

from nicecf.support.types import Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema

# Encoded rows and their schema -> probabilities.
Twin = Callable[[Floats, Schema], Floats]
Singles = npt.NDArray[np.float32]

# With n_jobs the model adds up its trees in threads, in any order: this much rounding may come of it.
_ROUNDING = 1e-12


class NotSupported(Exception):  # noqa: N818  # not an error: the model itself is asked instead
    """There is no twin for this model, or none for these rows."""


def twin_of(model: Any, schema: Schema, rows: Floats, probabilities: Floats) -> Twin | None:
    """A faster twin of a fitted model; None if the model is of an unknown kind, or the twin answers differently.

    The two are compared on ``rows``, for which the model gives ``probabilities``.
    """
    # Private parts of scikit-learn may be missing or changed in another version: then there is no twin.
    with suppress(Exception):
        twin = Forest(model, schema)
        if np.abs(twin(rows, schema) - probabilities).max() <= _ROUNDING:
            return twin
    return None


class Forest:
    """The trees of a fitted forest, after the step that turns encoded rows into their inputs."""

    def __init__(self, model: Any, schema: Schema) -> None:
        *before, forest = [step for _, step in model.steps] if type(model) is Pipeline else [model]
        before = [step for step in before if not _is_passed_through(step)]
        if type(forest) not in (RandomForestClassifier, ExtraTreesClassifier) or len(before) > 1:
            raise NotSupported
        self._forest, self._estimators = forest, forest.estimators_
        self._trees = tuple(tree.tree_ for tree in forest.estimators_)
        self._n_classes = len(forest.classes_)
        is_by_column = bool(before) and type(before[0]) is ColumnTransformer
        self._inputs: Callable[[Floats, Schema], Singles] = (
            _Columns(before[0], forest.n_features_in_, schema)
            if is_by_column
            else _Whole(before[0] if before else None)
        )

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The mean of the trees' outputs, added up in the order of the forest."""
        if self._forest.estimators_ is not self._estimators:  # retrained
            raise NotSupported
        table = self._inputs(rows, schema)
        total = np.zeros((len(rows), self._n_classes))
        for tree in self._trees:
            total += tree.predict(table)[:, : self._n_classes]
        return total / len(self._trees)


class _Whole:
    """Any fitted transformer of the whole table, or none, called unchanged."""

    def __init__(self, transformer: Any) -> None:
        self._transformer = transformer

    def __call__(self, rows: Floats, schema: Schema) -> Singles:
        table = schema.decode(rows)
        return _singles(table if self._transformer is None else self._transformer.transform(table))


class _Columns:
    """A fitted ColumnTransformer: one-hot codes are looked up, scalers applied, other transformers called."""

    def __init__(self, transformer: ColumnTransformer, n_inputs: int, schema: Schema) -> None:
        self._n_inputs = n_inputs
        self._parts = [
            _Part.of(step, _positions(transformer, name, schema), transformer.output_indices_[name], schema)
            for name, step, _ in transformer.transformers_
            if transformer.output_indices_[name].start < transformer.output_indices_[name].stop
        ]

    def __call__(self, rows: Floats, schema: Schema) -> Singles:
        table = np.zeros((len(rows), self._n_inputs), dtype=np.float32)
        decoded: Table = None
        for part in self._parts:
            if part.is_looked_up:
                part.look_up(table, rows, schema)
            elif part.is_arithmetic:
                table[:, part.place] = _singles(_scaled(part.step, rows[:, part.columns]))
            else:
                decoded = schema.decode(rows) if decoded is None else decoded
                table[:, part.place] = _singles(part.step.transform(_safe_indexing(decoded, part.columns, axis=1)))
        return table


@dataclass(frozen=True, eq=False)
class _Part:
    """One transformer of a ColumnTransformer, with the positions of its columns and of its outputs."""

    step: Any
    columns: list[int]
    place: slice
    is_looked_up: bool
    is_arithmetic: bool
    # For each column, the input for each code, with the categories of fit.
    known: tuple[tuple[Column, Ints], ...]

    @classmethod
    def of(cls, step: Any, positions: list[int], place: slice, schema: Schema) -> _Part:
        """Find out what can be done without calling the transformer."""
        is_categorical = schema.is_categorical[positions]
        is_looked_up = type(step) is OneHotEncoder and _is_plain(step) and bool(is_categorical.all())
        is_scaler = type(step) in (StandardScaler, MinMaxScaler) or _is_passed_through(step)
        known = tuple(
            (schema.columns[j], _places(schema.columns[j], categories))
            for j, categories in zip(positions, step.categories_ if is_looked_up else [], strict=False)
        )
        return cls(step, positions, place, is_looked_up, is_scaler and not is_categorical.any(), known)

    def look_up(self, table: Singles, rows: Floats, schema: Schema) -> None:
        """Set the input of each category to 1."""
        start = self.place.start
        for j, categories, (column, places) in zip(self.columns, self.step.categories_, self.known, strict=True):
            if schema.columns[j] is not column:  # categories that fit never saw
                places = _places(schema.columns[j], categories)
            place = places[rows[:, j].astype(np.intp)]
            is_known = place >= 0
            if self.step.handle_unknown == "error" and not is_known.all():
                raise NotSupported
            table[np.flatnonzero(is_known), start + place[is_known]] = 1.0
            start += len(categories)


def _positions(transformer: ColumnTransformer, name: str, schema: Schema) -> list[int]:
    """The positions of a transformer's columns in our rows."""
    places = transformer._transformer_to_input_indices[name]
    names = getattr(transformer, "feature_names_in_", None)
    return [int(place) if names is None else schema.names.index(names[place]) for place in places]


def _is_plain(encoder: OneHotEncoder) -> bool:
    return (
        encoder.drop_idx_ is None and not encoder._infrequent_enabled and encoder.handle_unknown in ("ignore", "error")
    )


def _is_passed_through(step: Any) -> bool:
    """Whether a step passes its input through."""
    if isinstance(step, str):
        return step == "passthrough"
    return type(step) is FunctionTransformer and step.func is None


def _scaled(step: Any, numbers: Floats) -> Floats:
    """Numbers as a scaler computes them, in its order of operations; writes to the rows, which are a copy."""
    if type(step) is StandardScaler:
        numbers -= step.mean_ if step.with_mean else 0.0
        numbers /= step.scale_ if step.with_std else 1.0
    elif type(step) is MinMaxScaler:
        numbers *= step.scale_
        numbers += step.min_
        if step.clip:
            np.clip(numbers, *step.feature_range, out=numbers)
    return numbers


def _places(column: Column, categories: Any) -> Ints:
    """The input for each code of a column, -1 for none; the last one is for the missing value, code -1."""
    place_of = {value: place for place, value in enumerate(categories) if value == value}
    missing = place_of.get(None, -1)
    if column.missing is not None:
        missing = next((place for place, value in enumerate(categories) if value != value), -1)
    places: Ints = np.array([place_of.get(level, -1) for level in column.levels] + [missing], dtype=np.intp)
    return places


def _singles(table: Any) -> Singles:
    """A table as the single-precision matrix that trees need."""
    if hasattr(table, "toarray"):
        table = table.toarray()
    doubles = np.asarray(table, dtype=np.float64)
    with np.errstate(over="ignore"):
        singles = np.ascontiguousarray(doubles, dtype=np.float32)
    if (np.isinf(singles) & np.isfinite(doubles)).any():  # the forest would refuse it
        raise NotSupported
    return singles
