"""Forests, scored without the overhead of a call: the same trees, the same sums, the same digits.

A scikit-learn forest spends most of a small call on bookkeeping for each tree, and a `ColumnTransformer` in front of it
as much again on cutting tables up and gluing them together. A twin holds the user's own fitted trees and encoders and
does nothing but the arithmetic. Whether it really answers as the model does is measured, not believed: `twin_of`
compares both on training rows, and whoever uses a twin asks the model itself about what is handed out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from nicecf._typing import Floats, Ints, Table
from nicecf.schema import Column, Schema

# Encoded rows and the schema that they are encoded by -> probabilities.
Twin = Callable[[Floats, Schema], Floats]
Singles = npt.NDArray[np.float32]

# The model adds up its trees in threads, in any order, if it is told to: so much may come of it.
_ROUNDING = 1e-12
_MOST_COLUMNS = 10_000


class NotSupported(Exception):  # noqa: N818  # no error: the model itself is asked instead
    """There is no twin for this model, or none for these rows."""


def twin_of(model: Any, schema: Schema, rows: Floats, probabilities: Floats) -> Twin | None:
    """A faster twin of a fitted model; None if the model is of no known kind or the twin does not answer as it does.

    ``rows`` are what the two are compared on, ``probabilities`` what the model says of them.
    """
    # A private part of scikit-learn may be missing or mean something else in another version: then there is no twin.
    with suppress(Exception):
        twin = Forest(model)
        if np.abs(twin(rows, schema) - probabilities).max() <= _ROUNDING:
            return twin
    return None


class Forest:
    """The trees of a fitted forest, behind what turns encoded rows into their inputs."""

    def __init__(self, model: Any) -> None:
        *before, forest = [step for _, step in model.steps] if type(model) is Pipeline else [model]
        if type(forest) not in (RandomForestClassifier, ExtraTreesClassifier) or len(before) > 1:
            raise NotSupported
        self._trees = tuple(tree.tree_ for tree in forest.estimators_)
        self._n_classes = len(forest.classes_)
        is_by_column = bool(before) and type(before[0]) is ColumnTransformer
        self._inputs: Callable[[Floats, Schema], Singles] = (
            _Columns(before[0], forest.n_features_in_) if is_by_column else _Whole(before[0] if before else None)
        )

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The mean of what the trees say, added up in the order of the forest."""
        table = self._inputs(rows, schema)
        total = np.zeros((len(rows), self._n_classes))
        for tree in self._trees:
            total += tree.predict(table)[:, : self._n_classes]
        return total / len(self._trees)


class _Whole:
    """Any fitted transformer of the whole table, or none, called as it is."""

    def __init__(self, transformer: Any) -> None:
        self._transformer = transformer

    def __call__(self, rows: Floats, schema: Schema) -> Singles:
        table = schema.decode(rows)
        return _singles(table if self._transformer is None else self._transformer.transform(table))


class _Columns:
    """A fitted ColumnTransformer: one-hot codes are looked up, all other transformers are called as they are."""

    def __init__(self, transformer: ColumnTransformer, n_inputs: int) -> None:
        self._transformer = transformer
        self._n_inputs = n_inputs
        self._places: dict[Column, Ints] = {}

    def __call__(self, rows: Floats, schema: Schema) -> Singles:
        table = np.zeros((len(rows), self._n_inputs), dtype=np.float32)
        decoded: Table = None
        for name, step, columns in self._transformer.transformers_:
            place = self._transformer.output_indices_[name]
            if place.start == place.stop:
                continue
            if type(step) is OneHotEncoder and _is_plain(step):
                self._look_up(table, rows, schema, step, _positions(columns, schema), place.start)
                continue
            if _is_arithmetic(step):
                table[:, place] = _scaled(step, rows[:, _number_positions(columns, schema)])
                continue
            if decoded is None:
                decoded = schema.decode(rows)
            part = decoded[:, columns] if isinstance(decoded, np.ndarray) else decoded[columns]
            table[:, place] = _singles(part if isinstance(step, str) else step.transform(part))
        return table

    def _look_up(
        self, table: Singles, rows: Floats, schema: Schema, encoder: OneHotEncoder, columns: list[int], start: int
    ) -> None:
        for j, categories in zip(columns, encoder.categories_, strict=True):
            place = self._places_of(schema.columns[j], categories)[rows[:, j].astype(np.intp)]
            known = np.flatnonzero(place >= 0)
            if len(known) < len(place) and encoder.handle_unknown == "error":
                raise NotSupported
            table[known, start + place[known]] = 1.0
            start += len(categories)

    def _places_of(self, column: Column, categories: Any) -> Ints:
        # A column with categories that fit never saw belongs to one explain call: nothing to keep.
        if (places := self._places.get(column)) is None:
            places = _places(column, categories)
            if len(self._places) < _MOST_COLUMNS:
                self._places[column] = places
        return places


def _is_plain(encoder: OneHotEncoder) -> bool:
    return (
        encoder.drop_idx_ is None and not encoder._infrequent_enabled and encoder.handle_unknown in ("ignore", "error")
    )


def _is_arithmetic(step: Any) -> bool:
    return type(step) in (StandardScaler, MinMaxScaler) or (isinstance(step, str) and step == "passthrough")


def _scaled(step: Any, numbers: Floats) -> Floats:
    """Numbers as a scaler makes them, in its own order of operations; a copy of the rows, so it may be written to."""
    if type(step) is StandardScaler:
        numbers -= step.mean_ if step.with_mean else 0.0
        numbers /= step.scale_ if step.with_std else 1.0
    elif type(step) is MinMaxScaler:
        numbers *= step.scale_
        numbers += step.min_
        if step.clip:
            np.clip(numbers, *step.feature_range, out=numbers)
    return numbers


def _number_positions(columns: Any, schema: Schema) -> list[int]:
    positions = _positions(columns, schema)
    if schema.is_categorical[positions].any():  # encoded by codes of our own
        raise NotSupported
    return positions


def _positions(columns: Any, schema: Schema) -> list[int]:
    return [column if isinstance(column, int) else schema.names.index(column) for column in columns]


def _places(column: Column, categories: Any) -> Ints:
    """The input of each code of a column; -1 for none. The last one is that of the missing value, code -1."""
    if not column.is_categorical:
        raise NotSupported
    place_of = {value: place for place, value in enumerate(categories) if value == value}
    missing = next((place for place, value in enumerate(categories) if value != value), place_of.get(None, -1))
    places: Ints = np.array([place_of.get(level, -1) for level in column.levels] + [missing], dtype=np.intp)
    return places


def _singles(table: Any) -> Singles:
    """A table as the single-precision matrix that trees read."""
    if hasattr(table, "toarray"):
        table = table.toarray()
    return np.ascontiguousarray(np.asarray(table, dtype=np.float64), dtype=np.float32)
