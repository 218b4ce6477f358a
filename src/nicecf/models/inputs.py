"""From encoded rows to the inputs of trees: through a preprocessing step, or straight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import _safe_indexing

from nicecf.models.trees.ensemble import Categories, Input, NamedCategories, NotSupported
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.column import Column
from nicecf.tables.ordered import codes_of
from nicecf.tables.schema import Schema

_BY_COLUMN = (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SimpleImputer,
    StandardScaler,
)


class Asked(Protocol):
    """What a model that was read says of its inputs: see `TreeEnsemble`."""

    @property
    def inputs(self) -> tuple[Input, ...]: ...
    @property
    def is_used(self) -> Bools: ...
    @property
    def frame_categories(self) -> tuple[Categories, ...]: ...
    @property
    def absent_is_missing(self) -> bool: ...


class Direct:
    """The columns as they are: no table is written where numbers and codes say the same."""

    def __init__(self, ensemble: Asked, schema: Schema) -> None:
        if len(ensemble.inputs) != len(schema.columns):
            raise NotSupported(f"it has {len(ensemble.inputs)} inputs, but the table has {len(schema.columns)} columns")
        named = _categories(ensemble, schema)
        self._categories = named
        _refuse_dates(schema, np.flatnonzero(ensemble.is_used).tolist())
        plain = [j for j in range(len(schema.columns)) if named[j] is None and ensemble.is_used[j]]
        # What a sparse matrix leaves out is zero to some models and missing to others.
        is_told = not (ensemble.absent_is_missing and sparse.issparse(schema.empty))
        is_exact = is_told and all(_holds_numbers(schema, j) for j in plain)
        if not is_exact and any(named):
            raise NotSupported("it has categories of its own, and other columns that are not numbers")
        self._whole = None if is_exact else Whole(None, ensemble)
        used = np.flatnonzero(ensemble.is_used & is_exact).tolist()
        self._looked_up = [j for j in used if schema.columns[j].is_categorical]
        self._numbers_as_categories = [j for j, one in enumerate(named) if one and not schema.columns[j].is_categorical]
        self._known = {j: (schema.columns[j], _codes(schema.columns[j], named[j])) for j in self._looked_up}

    def by_column(self, n_features: int) -> Bools:
        """See `Whole.by_column`: all of them."""
        return np.ones(n_features, dtype=bool)

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The inputs of the trees."""
        if self._whole is not None:
            return self._whole(rows, schema)
        if not (self._looked_up or self._numbers_as_categories):
            return rows
        table = rows.copy()
        for j in self._looked_up:
            column, codes = self._known[j]
            if schema.columns[j] is not column:  # categories that fit never saw
                codes = _codes(schema.columns[j], self._categories[j])
            table[:, j] = codes[codes_of(rows[:, j])]
        for j in self._numbers_as_categories:
            is_whole = schema.container.number_dtype(schema.columns[j].prototype).kind in "iu"
            table[:, j] = _codes_of_numbers(rows[:, j], self._categories[j], is_whole=is_whole)
        if np.isinf(table).any():
            raise NotSupported("what becomes of a category that the rows hold only the model can tell")
        return table


class Whole:
    """Any fitted transformer of the whole table, or none, called unchanged."""

    def __init__(self, transformer: Any, ensemble: Asked) -> None:
        self._transformer, self._ensemble = transformer, ensemble
        self._categories = _number_categories(ensemble)

    def by_column(self, n_features: int) -> Bools:
        """Which features the step is known to look at one by one: what it makes of one says nothing of another."""
        return np.full(n_features, self._transformer is None or acts_by_column(self._transformer))

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The inputs of the trees."""
        table = schema.decode(rows)
        if self._transformer is not None:
            table = self._transformer.transform(table)
        is_sparse = hasattr(table, "toarray")
        return _renumbered(_doubles(table), self._categories, is_sparse and self._ensemble.absent_is_missing)


class ByColumn:
    """A fitted ColumnTransformer: one-hot codes are looked up, scalers and imputers applied, others called."""

    def __init__(self, transformer: ColumnTransformer, ensemble: Asked, schema: Schema) -> None:
        self._n_inputs = len(ensemble.inputs)
        self._categories = _number_categories(ensemble)
        self._zero_is_missing = bool(transformer.sparse_output_) and ensemble.absent_is_missing
        self._parts = [
            _Part.of(step, _positions(transformer, name, schema), transformer.output_indices_[name], schema)
            for name, step, _ in transformer.transformers_
            if transformer.output_indices_[name].start < transformer.output_indices_[name].stop
        ]

    def by_column(self, n_features: int) -> Bools:
        """See `Whole.by_column`."""
        are = np.ones(n_features, dtype=bool)
        for part in self._parts:
            if not (is_passed_through(part.step) or acts_by_column(part.step)):
                are[part.columns] = False
        return are

    def __call__(self, rows: Floats, schema: Schema) -> Floats:
        """The inputs of the trees."""
        table = np.zeros((len(rows), self._n_inputs))
        decoded: Table = None
        for part in self._parts:
            if part.is_looked_up:
                part.look_up(table, rows, schema)
            elif part.is_arithmetic:
                table[:, part.place] = _computed(part.step, rows[:, part.columns])
            else:
                decoded = schema.decode(rows) if decoded is None else decoded
                table[:, part.place] = _doubles(part.step.transform(_safe_indexing(decoded, part.columns, axis=1)))
        return _renumbered(table, self._categories, self._zero_is_missing)


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
        is_number = not is_categorical.any()
        if is_passed_through(step):
            _refuse_dates(schema, positions)
        if any(schema.columns[j].temporal is not None for j in positions):
            is_number = False  # what a step makes of dates only the step itself can tell
        # A step computes in single precision what it gets in it.
        is_computed = is_number and (type(step) in (StandardScaler, MinMaxScaler) or _fills_in_numbers(step))
        is_computed = is_computed and not _has_short_floats(schema, positions)
        known = tuple(
            (schema.columns[j], _places(schema.columns[j], categories))
            for j, categories in zip(positions, step.categories_ if is_looked_up else [], strict=False)
        )
        is_arithmetic = is_computed or (is_number and is_passed_through(step))
        return cls(step, positions, place, is_looked_up, is_arithmetic, known)

    def look_up(self, table: Floats, rows: Floats, schema: Schema) -> None:
        """Set the input of each category to 1."""
        start = self.place.start
        for j, categories, (column, places) in zip(self.columns, self.step.categories_, self.known, strict=True):
            if schema.columns[j] is not column:  # categories that fit never saw
                places = _places(schema.columns[j], categories)
            place = places[codes_of(rows[:, j])]
            is_known = place >= 0
            if self.step.handle_unknown == "error" and not is_known.all():
                raise NotSupported("an encoder refuses a category")
            table[np.flatnonzero(is_known), start + place[is_known]] = 1.0
            start += len(categories)


def acts_by_column(step: Any) -> bool:
    """Whether a transformer is known to look at its columns one by one; one of our own says so itself."""
    return type(step) in _BY_COLUMN or getattr(step, "acts_by_column", None) is True


def is_passed_through(step: Any) -> bool:
    """Whether a step passes its input through."""
    if isinstance(step, str):
        return step == "passthrough"
    return type(step) is FunctionTransformer and step.func is None


def _categories(ensemble: Asked, schema: Schema) -> list[Categories | None]:
    """The model's own categories of each column of the table, None where it takes numbers."""
    categories = [one.categories for one in ensemble.inputs]
    if ensemble.frame_categories:
        frames = [j for j, column in enumerate(schema.columns) if _is_category_dtype(column)]
        if len(frames) != len(ensemble.frame_categories):
            raise NotSupported("its category columns are not those of the table")
        for j, one in zip(frames, ensemble.frame_categories, strict=True):
            categories[j] = one
    return categories


def _is_category_dtype(column: Column) -> bool:
    return isinstance(column.prototype.dtype, pd.CategoricalDtype)


def _holds_numbers(schema: Schema, j: int) -> bool:
    """Whether a column is numbers, or categories that are numbers, for every model in the same way."""
    column = schema.columns[j]
    if _is_category_dtype(column):
        return False
    try:
        return schema.container.number_dtype(column.prototype).kind in "biuf"
    except TypeError:  # not a dtype of numbers
        return False


def _refuse_dates(schema: Schema, positions: list[int]) -> None:
    """NotSupported for dates that reach the trees as they are: how a library reads them as numbers it alone knows."""
    dates = [schema.names[j] for j in positions if schema.columns[j].temporal is not None]
    if dates:
        raise NotSupported(f"it takes dates or durations as they are, in column {dates[0]!r}")


def _has_short_floats(schema: Schema, positions: list[int]) -> bool:
    dtypes = [schema.container.number_dtype(schema.columns[j].prototype) for j in positions]
    return any(dtype.kind == "f" and dtype.itemsize < 8 for dtype in dtypes)


def _codes(column: Column, categories: Categories | None) -> Floats:
    """The input for each code of a column; the last one is for the missing value, code -1."""
    if categories is None:
        return np.array([*map(float, column.levels), np.nan])
    return np.array([*map(categories.code, column.levels), categories.missing])


def _number_categories(ensemble: Asked) -> list[Categories | None]:
    """The model's own categories of each of its inputs, which a preprocessing step has turned into numbers."""
    if ensemble.frame_categories:
        raise NotSupported("it takes the categories of a frame behind a preprocessing step")
    categories = [one.categories for one in ensemble.inputs]
    if not all(one is None or isinstance(one, NamedCategories) for one in categories):
        raise NotSupported("it takes categories that are text behind a preprocessing step")
    return categories


def _renumbered(table: Floats, categories: list[Categories | None], zero_is_missing: bool) -> Floats:
    """Inputs in which the model's own categories are codes, and what a sparse matrix leaves out may be missing."""
    if zero_is_missing:
        table[table == 0] = np.nan
    for j, one in enumerate(categories):
        if one is not None:
            table[:, j] = _codes_of_numbers(table[:, j], one)
    return table


def _codes_of_numbers(numbers: Floats, categories: Categories | None, *, is_whole: bool = False) -> Floats:
    """The codes of categories that are numbers. ``is_whole``: the model sees integers, where they are."""
    assert categories is not None
    values, places = np.unique(numbers, return_inverse=True)
    cells = [int(value) if is_whole and value.is_integer() else value for value in values.tolist()]
    return np.array([categories.missing if cell != cell else categories.code(cell) for cell in cells])[places]


def _positions(transformer: ColumnTransformer, name: str, schema: Schema) -> list[int]:
    """The positions of a transformer's columns in our rows."""
    places = transformer._transformer_to_input_indices[name]
    names = getattr(transformer, "feature_names_in_", None)
    return [int(place) if names is None else schema.names.index(names[place]) for place in places]


def _is_plain(encoder: OneHotEncoder) -> bool:
    return (
        encoder.drop_idx_ is None and not encoder._infrequent_enabled and encoder.handle_unknown in ("ignore", "error")
    )


def _fills_in_numbers(step: Any) -> bool:
    """Whether a step does nothing but put a number in the place of missing ones, in every column."""
    if type(step) is not SimpleImputer or step.add_indicator or step.missing_values == step.missing_values:
        return False  # missing is what is not equal to itself; not by identity, which is lost when a model is saved
    return step.statistics_.dtype.kind == "f" and not np.isnan(step.statistics_).any()


def _computed(step: Any, numbers: Floats) -> Floats:
    """Numbers as a step computes them, in its order of operations; writes to the rows, which are a copy."""
    if type(step) is SimpleImputer:
        return np.where(np.isnan(numbers), step.statistics_, numbers)
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


def _doubles(table: Any) -> Floats:
    """A table as a matrix of floats that may be written to."""
    if hasattr(table, "toarray"):
        table = table.toarray()
    return np.array(table, dtype=np.float64)
