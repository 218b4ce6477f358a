"""Checks that a file is plausible: its parts must be such as a ``fit`` learns, and match each other.

The digests of a file detect accidents. A file that someone made by hand can have correct digests, so nothing in it is
taken on trust: the range of every number is checked, and parts are checked against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import listed
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.training import Canaries
from nicecf.rules.privacy import Privacy
from nicecf.search.autoencoder import Autoencoder
from nicecf.search.distance import Heom, weights_of
from nicecf.search.neighbors import DonorIndex
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints, is_number
from nicecf.tables import Container
from nicecf.tables.column import Column, looks_like_free_text
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import ColumnStatistics, TableStatistics

# As for input tables: squares and sums of larger numbers overflow.
_LARGEST_NUMBER = 1e150
# Probabilities may be off by this much.
_ROUNDING = 1e-6
_MOST_DECIMALS = 15
# How much the error of an autoencoder may differ from the saved one.
_SAME_ERROR = 1e-4


def whole(value: Any, what: str, *, least: int = 0, most: int = 2**53) -> int:
    """A whole number from the manifest; Damaged if it is not one, or out of bounds."""
    if type(value) is not int or not least <= value <= most:
        raise Damaged(f"{what} is {_shown(value)}, not a whole number of at least {least}")
    return value


def wholes(values: Any, what: str, *, least: int = 0) -> list[int]:
    """Whole numbers from the manifest."""
    return [whole(value, what, least=least) for value in sequence(values, what)]


def switch(value: Any, what: str) -> bool:
    """True or False from the manifest."""
    if type(value) is not bool:
        raise Damaged(f"{what} is {_shown(value)}, neither true nor false")
    return value


def sequence(values: Any, what: str, length: int | None = None) -> list[Any]:
    """A list from the manifest."""
    if not isinstance(values, list):
        raise Damaged(f"{what} is {_shown(values)}, not a list")
    if length is not None and len(values) != length:
        raise Damaged(f"{what}: {len(values)} numbers instead of {length}")
    return values


def floats(values: Any, what: str, length: int | None = None) -> Floats:
    """Finite numbers from the manifest."""
    numbers = sequence(values, what, length)
    wrong = [value for value in numbers if not is_number(value)]
    array = np.array(numbers if not wrong else [], dtype=np.float64)
    if wrong or not np.isfinite(array).all():
        raise Damaged(f"{what} has {_shown(wrong[0]) if wrong else 'NaN or infinity'}, which is not a finite number")
    return array


def keys(said: Any, expected: Sequence[str], what: str) -> dict[str, Any]:
    """A part of the manifest with exactly these names."""
    if not isinstance(said, dict) or set(said) != set(expected):
        raise Damaged(f"{what} must have {listed(expected)}, but has {listed(said) if said else 'nothing'}")
    return said


def check_column(column: Column, container: Container) -> None:
    """Damaged unless the categories are distinct, in the order that they are said to have, and missing is missing."""
    levels = column.levels
    if any(column.code(one) != code for code, one in enumerate(levels)) or any(
        pd.api.types.is_scalar(one) and pd.isna(one) for one in levels
    ):
        raise Damaged(f"column {column.name!r} has a category twice, or a missing one")
    if not (pd.api.types.is_scalar(column.missing) and pd.isna(column.missing)):
        raise Damaged(f"column {column.name!r} marks missing values with {column.missing!r}")
    ordered = container.ordered(column.prototype)
    if column.is_ordinal and (ordered is None or ordered[1] != list(levels)):
        raise Damaged(f"column {column.name!r} has no order, or another than its dtype")


def check_ordinal(option: str, schema: Schema) -> None:
    """Damaged unless the columns that are read by their order are those that the option means."""
    for column in schema.columns:
        has_order = column.is_categorical and schema.container.ordered(column.prototype) is not None
        if column.is_ordinal != (has_order and option == "rank"):
            raise Damaged(f"column {column.name!r} does not match its option ordinal")


def check_free_text(schema: Schema, rows: Floats) -> None:
    """Damaged unless the columns that are said to be free text are those that look like it in all training rows."""
    for column, cells in zip(schema.columns, rows.T, strict=True):
        is_text = column.is_categorical and not column.is_ordinal
        is_free_text = is_text and looks_like_free_text(column.levels, int(np.count_nonzero(cells >= 0)))
        if column.is_free_text != is_free_text:
            raise Damaged(f"column {column.name!r} is said to be free text, or not to be, unlike its training rows")


def check_statistics(statistics: ColumnStatistics, column: Column) -> None:
    """Damaged unless the histogram is valid for such a column."""
    edges, counts = statistics.edges, statistics.counts
    n_counts = len(column.levels) if column.is_categorical else max(0, len(edges) - 1)
    is_ordered = bool((np.diff(edges) >= 0).all()) and len(edges) != 1 and not (column.is_categorical and len(edges))
    if len(counts) != n_counts or not is_ordered or statistics.decimals > _MOST_DECIMALS:
        raise Damaged(f"the histogram of column {column.name!r} is invalid")


def check_rows(values: Floats, schema: Schema, what: str) -> None:
    """Damaged unless float rows can be rows of the training table."""
    for j, column in enumerate(schema.columns):
        cells = values[:, j]
        if column.is_categorical:
            is_missing = np.isnan(cells) if column.is_ordinal else cells == column.missing_code
            is_right = (cells >= 0) & (cells < len(column.levels)) & (cells == np.floor(cells))
            is_right |= is_missing & column.has_missing
        else:
            is_right = np.isnan(cells) | (np.abs(cells) <= _LARGEST_NUMBER)
        if not is_right.all():
            raise Damaged(
                f"{what} have {cells[~is_right][0]} in column {column.name!r}, which no training row can have"
            )
    if not np.array_equal(schema.rounded(values), values, equal_nan=True):
        raise Damaged(f"{what} have a number that its column cannot hold")


def check_outputs(outputs: Floats, widths: Sequence[int], n_classes: int, what: str) -> None:
    """Damaged unless each model has probabilities, and a class in the next column if it has one more."""
    at = 0
    for width in widths:
        probabilities, classes = outputs[:, at : at + n_classes], outputs[:, at + n_classes : at + width]
        is_right = (probabilities >= -_ROUNDING) & (probabilities <= 1 + _ROUNDING)
        if not (is_right.all() and np.isin(classes, np.arange(n_classes)).all()):
            raise Damaged(f"{what} are not probabilities")
        at += width


def check_scores(outputs: Floats, what: str) -> None:
    """Damaged unless each model has a score, twice."""
    if not np.isfinite(outputs).all() or outputs.shape[1] % 2 or (outputs[:, ::2] != outputs[:, 1::2]).any():
        raise Damaged(f"{what} are not scores")


def check_index(index: DonorIndex, n_decided: Ints, n_classes: int) -> None:
    """Damaged unless the donors, and the other rows, are training rows that were decided on, in their order."""
    positions, others = index.positions, index.other_positions
    everyone = np.concatenate([positions, others])
    n_rows = int(n_decided.sum())
    if len(everyone) > n_rows or (everyone >= n_rows).any() or np.bincount(everyone, minlength=1).max() > 1:
        raise Damaged("its donors name a training row twice, or one that does not exist")
    if len(others) and (len(everyone) < n_decided.sum() or (np.diff(others) <= 0).any()):
        raise Damaged("the training rows that are no donors are not all there, or not in their order")
    bounds = np.concatenate([leaves.starts for leaves in index.leaves])
    is_next = np.diff(positions) > 0
    is_next[bounds[(bounds > 0) & (bounds < len(positions))] - 1] = True  # from one leaf to the next
    if not is_next.all():
        raise Damaged("the donors of a leaf are not in the order of the training rows")
    of_groups = [int(leaves.starts[-1] - leaves.starts[0]) for leaves in index.leaves]
    n_donors = np.reshape(of_groups, (-1, n_classes)).sum(axis=0)
    if (n_donors > n_decided).any():
        raise Damaged("it has more donors in a class than training rows that were decided to be in it")


def check_canaries(canaries: Canaries, index: DonorIndex, n_decided: Ints) -> None:
    """Damaged unless there is a canary for each class that was decided on."""
    positions, n_rows = canaries.positions, int(n_decided.sum())
    is_right = (positions >= 0) & (positions < n_rows)
    if len(np.unique(positions)) != np.count_nonzero(n_decided) or len(positions) != np.count_nonzero(n_decided):
        raise Damaged("it does not have one canary per class")
    if not is_right.all():
        raise Damaged("its canaries are not training rows")
    for row, position in zip(canaries.values, positions.tolist(), strict=True):
        held = [index.values[index.positions == position], index.other_values[index.other_positions == position]]
        if any(len(rows) and not np.array_equal(rows[0], row, equal_nan=True) for rows in held):
            raise Damaged(f"training row {position} is there twice, with different values")


def check_histograms(
    statistics: TableStatistics, schema: Schema, known: Floats, n_rows: int, *, is_guarded: bool
) -> None:
    """Damaged unless the histograms can be those of the training table, of which ``known`` are some whole rows."""
    for j, (column, of) in enumerate(zip(schema.full.columns, statistics.columns, strict=True)):
        n_seen = int(of.counts.sum()) + of.n_missing
        if statistics.n_rows > n_rows or n_seen > statistics.n_rows or (n_seen < statistics.n_rows and not is_guarded):
            raise Damaged(f"the histogram of column {column.name!r} does not match its training rows")
        # What is computed may be rounded otherwise than in the training table.
        is_told = statistics.n_rows == n_rows and not is_guarded and not schema.is_computed[j]
        if is_told and not column.is_categorical:
            _check_within(known[~np.isnan(known[:, j]), j], of, column)


def check_distance(
    distance: Heom,
    option: str,
    schema: Schema,
    statistics: TableStatistics,
    known: Floats,
    n_rows: int,
    *,
    is_guarded: bool,
) -> None:
    """Damaged unless the scales can be those of the training data, of which ``known`` are some rows.

    If the statistics cover all rows and all values, they determine the ranges.
    """
    for j, column in enumerate(schema.columns):
        least, most, slack = 0.0, 0.0, 0.0
        if column.is_ordinal:
            least = most = schema.n_steps[j]
        elif not column.is_categorical:
            of = statistics.columns[schema.full.position(column.name, "scales")]
            present = known[~np.isnan(known[:, j]), j]
            least, most = float(np.ptp(present)) if len(present) else 0.0, 2 * _LARGEST_NUMBER
            if statistics.n_rows == n_rows and not is_guarded:
                least = most = _range_of(of)
            # With very large numbers the mean is rounded, and so is the deviation.
            slack = 2 * float(np.spacing(np.abs(of.edges).max(initial=0.0)))
        if option == "std" and not column.is_ordinal:
            # The smallest deviation: all other rows lie in the middle. The largest: half of them at each end.
            least, most = least / np.sqrt(2 * n_rows), most / 2
        if not least * (1 - 1e-9) - slack <= distance.scales[j] <= most * (1 + 1e-9) + slack:
            raise Damaged(
                f"the scale of column {column.name!r} is {distance.scales[j]:g}, which its training data cannot have"
            )


def check_weights(weights: Floats | None, option: Any, schema: Schema) -> None:
    """Damaged unless the weights match the option."""
    asked = schema.reduced_weights(weights_of(option, schema.full))
    if (None if weights is None else weights.tolist()) != (None if asked is None else asked.tolist()):
        raise Damaged("its weights do not match its option feature_weights")


def check_privacy(privacy: Privacy, schema: Schema, donors: Floats, n_rows: int) -> None:
    """Damaged unless the guard knows the training rows, and the values that enough of them hold."""
    digests = privacy.digests
    if digests is not None:
        if not 0 < len(digests) <= n_rows or not (digests[1:] > digests[:-1]).all():
            raise Damaged("its digests of training rows are not sorted")
        if not privacy.is_training_row(donors).all():
            raise Damaged("its digests lack some of its training rows")
    for values, column, cells in zip(privacy.common or (), schema.columns, donors.T, strict=False):
        present = values[~np.isnan(values)]
        n_missing = len(values) - len(present)  # for numbers, at most one, at the end
        if n_missing > 1 or np.isnan(values[: len(present)]).any() or (np.diff(present) <= 0).any():
            raise Damaged(f"the common values of column {column.name!r} are not sorted")
        check_rows(values[:, None], _only(schema, column), "its common values")
        held, counts = np.unique(cells, return_counts=True)
        often = held[counts >= privacy.min_count]
        if not (np.isin(often, values) | np.isnan(often)).all():
            raise Damaged(f"the common values of column {column.name!r} lack one that many training rows hold")


def check_autoencoder(
    autoencoder: Autoencoder, distance: Heom, option: str, schema: Schema, canaries: Floats, then: Any
) -> None:
    """Damaged unless the network has finite weights, and its errors for the canaries are those that were saved.

    It knows the range of each numeric column, which must match the scales.
    """
    inputs = autoencoder.inputs
    if not all(np.isfinite(part).all() for part in (*autoencoder.weights, *autoencoder.biases)):
        raise Damaged("its autoencoder has weights that are not numbers")
    most = (inputs.high - inputs.low) * (0.5 if option == "std" else 1.0)
    slack = 2 * np.spacing(np.maximum(np.abs(inputs.low), np.abs(inputs.high)))
    is_near = np.isclose(distance.scales, most) if option == "range" else distance.scales <= most * (1 + 1e-9) + slack
    # Of ordered categories the scale is that of their dtype: training rows need not hold all of it.
    is_near |= schema.is_ordinal & (inputs.low >= -1) & (inputs.high <= np.maximum(schema.n_steps, 0) + 1)
    if not (inputs.low < inputs.high).all() or not (is_near | (distance.scales == 0)).all():
        raise Damaged("the ranges of its autoencoder do not match the scales of its columns")
    for column, levels in zip(schema.columns, inputs.levels, strict=True):
        n_levels = len(column.levels) if column.is_categorical and not column.is_ordinal else 0
        if not (np.isin(levels, np.arange(n_levels)).all() and (np.diff(levels) > 0).all()):
            raise Damaged(f"its autoencoder has different categories from column {column.name!r}")
    if then is None:  # the first versions did not store it
        return
    errors = floats(then, "plausibility", len(canaries))
    with np.errstate(all="ignore"):
        now = autoencoder(canaries)
    if not np.allclose(now, errors, rtol=_SAME_ERROR, atol=1e-9):
        raise Damaged("the errors of its autoencoder for the canaries are not those that were saved")


def _check_within(present: Floats, statistics: ColumnStatistics, column: Column) -> None:
    edges = statistics.edges
    if len(present) and (not len(edges) or present.min() < edges[0] or present.max() > edges[-1]):
        raise Damaged(f"its training rows are outside the histogram of column {column.name!r}")


def _range_of(statistics: ColumnStatistics) -> float:
    """The range of a column from its histogram, see `nicecf.tables.statistics`."""
    edges = statistics.edges
    if len(edges) <= 2:  # no values, or one
        return 0.0
    has_bar_for_each = statistics.is_exact and statistics.decimals == 0 and edges[0] % 1 == 0.5
    return float(edges[-1] - edges[0]) - has_bar_for_each


def _only(schema: Schema, column: Column) -> Schema:
    return Schema(schema.container, (column,), schema.empty)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} ..."


def is_list_of(values: Any, kind: type) -> bool:
    """Whether it is a list of only such values."""
    return isinstance(values, list) and all(type(value) is kind for value in values)


def check_said_of_models(said: Mapping[str, Any], n_models: int, functions: Sequence[str]) -> None:
    """Damaged unless the manifest has everything about the models that is read from it."""
    some = [name for name in ("are_scores", "predict_differs") if name in said]
    keys(said, ("classes", "rules", "features", *some), "the description of its models")
    if "predict_differs" in said and (
        not is_list_of(said["predict_differs"], bool) or len(said["predict_differs"]) != n_models
    ):
        raise Damaged("it does not say which of its models have a predict that differs")
    if "are_scores" in said and said["are_scores"] is not True:
        raise Damaged("it does not say whether its models return scores")
    n_classes = len(sequence(said["classes"], "classes"))
    for name, expected in (("rules", ("cutoffs", "by_function", "by_predict")), ("features", ("names", "n"))):
        if len(sequence(said[name], name)) != n_models or any(
            not isinstance(one, dict) or set(one) != set(expected) for one in said[name]
        ):
            raise Damaged(f"the {name} of its models are invalid")
    for rule in said["rules"]:
        cutoffs = rule["cutoffs"]
        if cutoffs is not None:
            named = [one for one in sequence(cutoffs, "cutoffs", n_classes) if one is not None]
            if not all(is_number(one) and 0 < one < 1 for one in named):
                raise Damaged("the cut-offs of its models are not between 0 and 1")
        switch(rule["by_predict"], "by_predict")
        if switch(rule["by_function"], "by_function") != ("decision" in functions):
            raise Damaged("the decision rules of its models are invalid")
    for features in said["features"]:
        if features["names"] is not None and not is_list_of(features["names"], str):
            raise Damaged("the features of its models are invalid")
        if features["n"] is not None:
            whole(features["n"], "the number of features of its models", least=1)


def check_kinds(option: Any, is_categorical: Bools) -> None:
    """Damaged unless the option names the columns that are categories."""
    if option != "auto" and not (is_list_of(option, bool) and option == is_categorical.tolist()):
        raise Damaged("its option categorical_features does not match its columns")


def check_cells(cells: Ints, values: TrainingValues) -> None:
    """Damaged unless each value has a cell, and each feature its own, numbered from 0 in ascending order."""
    if len(cells) != len(values.flat):
        raise Damaged("its cells are not those of its values")
    starts = values.starts[:-1][values.counts > 0]
    steps = np.diff(cells, prepend=0)
    is_first = np.isin(np.arange(len(cells)), starts)
    if (cells[starts] != 0).any() or not np.isin(steps[~is_first], (0, 1)).all():
        raise Damaged("its cells are not in order")
