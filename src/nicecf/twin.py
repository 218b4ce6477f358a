"""Forests, scored without the overhead of a call: the same trees, the same sums, the same digits.

A scikit-learn forest spends most of a small call on bookkeeping for each tree, and a `ColumnTransformer` in front of it
as much again on cutting tables up and gluing them together. A twin holds the user's own fitted trees and encoders and
does nothing but the arithmetic. Whether it really answers as the model does is measured, not believed: `twin_of` compares
both on training rows, and whoever uses a twin asks the model itself about what is handed out.
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
from sklearn.preprocessing import OneHotEncoder

from nicecf._typing import Floats, Ints, Table
from nicecf.schema import Schema

# Encoded rows and the schema that they are encoded by -> probabilities.
Twin = Callable[[Floats, Schema], Floats]
Singles = npt.NDArray[np.float32]

# The model adds up its trees in threads, in any order, if it is told to: so much may come of it.
_ROUNDING = 1e-12


class NotSupported(Exception):  # noqa: N818  # no error: the model itself is asked instead
    """There is no twin for this model, or none for these rows."""


def twin_of(model: Any, schema: Schema, rows: Floats, probabilities: Floats) -> Twin | None:
    """A faster twin of a fitted model; None if the model is of no known kind or the twin does not answer as it does.

    ``rows`` are what the two are compared on, ``probabilities`` what the model says of them.
    """
    # A private part of scikit-learn may be missing or mean something else in another version: then there is no twin.
    with suppress(Exception):
        twin = _twin(model)
        if np.abs(twin(rows, schema) - probabilities).max() <= _ROUNDING:
            return twin
    return None


def _twin(model: Any) -> Twin:
    steps = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    *before, forest = steps
    if type(forest) not in (RandomForestClassifier, ExtraTreesClassifier) or len(before) > 1:
        raise NotSupported
    trees = tuple(tree.tree_ for tree in forest.estimators_)
    n_classes = len(forest.classes_)
    inputs = _inputs(before[0] if before else None, forest.n_features_in_)

    def twin(rows: Floats, schema: Schema) -> Floats:
        table = inputs(rows, schema)
        total = np.zeros((len(rows), n_classes))
        for tree in trees:
            total += tree.predict(table)[:, :n_classes]
        return total / len(trees)

    return twin


def _inputs(transformer: Any, n_inputs: int) -> Callable[[Floats, Schema], Singles]:
    """Encoded rows -> what the trees see."""
    if type(transformer) is ColumnTransformer:
        return _Columns(transformer, n_inputs)
    if transformer is None:
        return lambda rows, schema: _singles(schema.decode(rows))
    return lambda rows, schema: _singles(transformer.transform(schema.decode(rows)))


class _Columns:
    """A fitted ColumnTransformer: one-hot codes are looked up, all other transformers are called as they are."""

    def __init__(self, transformer: ColumnTransformer, n_inputs: int) -> None:
        self._transformer = transformer
        self._n_inputs = n_inputs

    def __call__(self, rows: Floats, schema: Schema) -> Singles:
        table = np.zeros((len(rows), self._n_inputs), dtype=np.float32)
        positions = {name: position for position, name in enumerate(schema.names)}
        decoded: Table = None
        for name, step, columns in self._transformer.transformers_:
            place = self._transformer.output_indices_[name]
            if isinstance(step, str) and step == "drop" or place.start == place.stop:
                continue
            if type(step) is OneHotEncoder and _is_plain(step):
                at = [positions[column] if not isinstance(column, int) else column for column in columns]
                self._look_up(table, rows, schema, step, at, place.start)
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
            place = _places(schema, j, categories, encoder.handle_unknown)[rows[:, j].astype(np.intp)]
            known = np.flatnonzero(place >= 0)
            table[known, start + place[known]] = 1.0
            start += len(categories)


def _is_plain(encoder: OneHotEncoder) -> bool:
    return encoder.drop_idx_ is None and not encoder._infrequent_enabled and encoder.handle_unknown in ("ignore", "error")


def _places(schema: Schema, j: int, categories: Any, handle_unknown: str) -> Ints:
    """The input of each code of column ``j``; -1 for none. The last one is that of the missing value, code -1."""
    column = schema.columns[j]
    if not column.is_categorical:
        raise NotSupported
    place_of = {value: place for place, value in enumerate(categories) if value == value}
    missing = next((place for place, value in enumerate(categories) if value != value), place_of.get(None, -1))
    places = np.array([place_of.get(level, -1) for level in column.levels] + [missing], dtype=np.intp)
    if handle_unknown != "ignore" and (places < 0).any():
        raise NotSupported
    return places


def _singles(table: Any) -> Singles:
    """A table as the single-precision matrix that trees read."""
    if hasattr(table, "toarray"):
        table = table.toarray()
    return np.ascontiguousarray(np.asarray(table, dtype=np.float64), dtype=np.float32)
