"""A classifier in an ONNX file, run by onnxruntime, with the methods of scikit-learn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError, ModelError, listed
from nicecf.models.files.model_format import Trust
from nicecf.support.extras import require
from nicecf.support.types import Floats, Table

_DTYPES: Mapping[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
_FATAL_ONLY = 4


def load(path: str, trust: Trust) -> OnnxModel:
    """The model in a file; FileError if it is damaged, or not a classifier with probabilities."""
    runtime = require("onnxruntime", extra="onnx", needed_by=f"loading {path}")
    options = runtime.SessionOptions()
    options.log_severity_level = _FATAL_ONLY  # it would also write to stderr what it raises
    try:
        session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        words = " ".join(str(error).split())[:200]
        raise FileError(f"{path} cannot be loaded as ONNX ({words}). Is it a complete model?") from error
    return OnnxModel(path, session)


@dataclass(frozen=True)
class _Input:
    name: str
    dtype: Any
    # The number of columns; None if the file does not say.
    width: int | None


class OnnxModel:
    """A classifier in an ONNX file.

    It takes one tensor with all columns in the order of the training table, or one per column, found by name (with
    characters other than letters, digits and _ replaced by _, as skl2onnx does). A missing number is NaN, a missing
    category the empty string. Columns without an input are not used.

    It has ``classes_`` if the model's answers name its classes, and ``predict`` if it has an output of labels.
    """

    classes_: Any

    def __init__(self, path: str, session: Any) -> None:
        self.path = path
        self._session = session
        self._inputs = [_Input(one.name, self._dtype(one), _width(one)) for one in session.get_inputs()]
        types = {one.name: one.type for one in session.get_outputs()}
        self._output = self._find_probabilities({one.name: _width(one) for one in session.get_outputs()}, types)
        label = next((name for name in types if name != self._output and types[name] in _LABELS), None)
        if label is not None:
            self.predict = partial(self._ask, output=label)
        names = self._names_of_classes() if "map" in types[self._output] else None
        if names:
            self.classes_ = np.array(names)

    def predict_proba(self, X: Table) -> Floats:
        """Probabilities, one line per row and one column per class."""
        answer = self._ask(X, output=self._output)
        return np.array([list(one.values()) for one in answer]) if isinstance(answer, list) else np.asarray(answer)

    def _ask(self, X: Table, *, output: str) -> Any:
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        return self._session.run([output], self._tensors(frame))[0]

    def _dtype(self, one: Any) -> Any:
        if one.type not in _DTYPES:
            raise FileError(
                f"{self.path} takes {one.type} as {one.name!r}; only tensors of numbers, booleans and text are "
                "supported."
            )
        return _DTYPES[one.type]

    def _find_probabilities(self, widths: dict[str, int | None], types: dict[str, str]) -> str:
        """The name of the output of probabilities: a map from classes, else a table of numbers."""
        maps = [name for name in types if types[name].startswith("seq(map(")]
        tables = [name for name in types if types[name] in ("tensor(float)", "tensor(double)") and widths[name] != 1]
        tables.sort(key=lambda name: "prob" not in name.lower())
        if not [*maps, *tables]:
            raise FileError(
                f"{self.path} has no output of probabilities, which an explanation needs: its outputs are "
                f"{listed(f'{name} ({type})' for name, type in types.items())}. Convert a classifier with one "
                "probability per class."
            )
        return [*maps, *tables][0]

    def _names_of_classes(self) -> list[Any] | None:
        """The names of the classes, from the answer for a row of zeros and empty strings."""
        row = {
            one.name: np.full((1, one.width or 1), "" if one.dtype is np.object_ else 0, dtype=one.dtype)
            for one in self._inputs
        }
        try:
            answer = self._session.run([self._output], row)[0]
        except Exception:  # a model may refuse such a row; then the names come from the training labels
            return None
        return list(answer[0]) if answer else None

    def _tensors(self, frame: pd.DataFrame) -> dict[str, Any]:
        width = frame.shape[1]
        if len(self._inputs) > 1 or (self._inputs[0].width == 1 and width > 1):
            place = self._places([str(name) for name in frame.columns])
            return {one.name: _cells(frame, place[one.name], one)[:, None] for one in self._inputs}
        (only,) = self._inputs
        if only.width not in (None, width):
            raise ModelError(
                f"{self.path} takes {only.width} columns, but the table has {width} ({listed(frame.columns)}). Use "
                "those that it was trained on, in that order."
            )
        return {only.name: np.column_stack([_cells(frame, at, only) for at in range(width)])}

    def _places(self, columns: list[str]) -> dict[str, int]:
        """The column position of each input."""
        wide = [one.name for one in self._inputs if one.width not in (None, 1)]
        if wide:
            raise ModelError(
                f"{self.path} takes several columns at once in {listed(wide)}, and has other inputs. Convert the model "
                "with one input for all columns, or one per column."
            )
        place_of = {re.sub(r"[^\w+]", "_", name): place for place, name in enumerate(columns)}
        place_of |= {name: place for place, name in enumerate(columns)}
        unknown = [one.name for one in self._inputs if one.name not in place_of]
        if unknown:
            raise ModelError(
                f"{self.path} takes {listed(unknown)}, which is not a column of the table; its columns are "
                f"{listed(columns, limit=30)}. Use the names of the training table."
            )
        return {one.name: place_of[one.name] for one in self._inputs}


_LABELS = ("tensor(string)", "tensor(int64)")


def _width(one: Any) -> int | None:
    """The number of columns of a tensor; None if it is open, or there is no shape."""
    if len(one.shape) < 2:
        return None if not one.shape else 1
    return one.shape[1] if isinstance(one.shape[1], int) else None


def _cells(frame: pd.DataFrame, at: int, into: _Input) -> Any:
    """A column in the form that the model takes."""
    cells = frame.iloc[:, at]
    if into.dtype is np.object_:
        words = cells.astype(object)
        return np.array(
            ["" if missing else str(cell) for cell, missing in zip(words, words.isna(), strict=True)], dtype=object
        )
    try:
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ModelError(
            f"the model takes numbers in {into.name!r}, but column {frame.columns[at]!r} holds {cells.iloc[0]!r}. "
            "Use the table that it was trained on, or a model that encodes text itself."
        ) from None
    if np.issubdtype(into.dtype, np.floating):
        return numbers.astype(into.dtype)
    if not (numbers == np.rint(numbers)).all():
        raise ModelError(
            f"the model takes whole numbers in {into.name!r}, but column {frame.columns[at]!r} has other numbers, or "
            "missing values. Convert the model with a float input."
        )
    return numbers.astype(into.dtype)
