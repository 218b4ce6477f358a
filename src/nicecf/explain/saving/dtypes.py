"""The dtypes of pandas, polars and numpy, and the header of a table, as JSON and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from nicecf.exceptions import FileError
from nicecf.support.extras import require
from nicecf.support.json_values import from_json, to_json
from nicecf.support.time_zones import zone_of
from nicecf.support.types import Cells, Table
from nicecf.tables import Container
from nicecf.tables.column import Column
from nicecf.tables.files.arrow import extension_in
from nicecf.tables.numpy_arrays import NumpyArrays
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.tables.polars_frames import PolarsFrames
from nicecf.tables.schema import Schema
from nicecf.tables.sparse_matrices import SparseMatrices

CONTAINERS: dict[str, type[Container]] = {
    "pandas": PandasFrames,
    "polars": PolarsFrames,
    "numpy": NumpyArrays,
    "sparse matrix": SparseMatrices,
    "sparse array": SparseMatrices,
}
# Those whose columns have no names: they are counted.
WITHOUT_NAMES = ("numpy", "sparse matrix", "sparse array")
_SPARSE = {"sparse matrix": sparse.csr_matrix, "sparse array": sparse.csr_array}

# By name; those with parameters are read differently.
_POLARS = {
    *("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"),
    *("Boolean", "String", "Categorical", "Null", "Date"),
}

_OF_TIME = {f"{kind}8[{unit}]" for kind in "mM" for unit in ("s", "ms", "us", "ns")}

# In bytes: for the texts of an array, which all take the space of the longest.
_LONGEST_TEXT = 2**24


def arrow(part: str = "") -> Any:
    """The package pyarrow, or a part of it, such as ".ipc"."""
    return require(f"pyarrow{part}", extra="files", needed_by="an explainer in a file")


def container_name(schema: Schema) -> str:
    """What a file calls the container of a table."""
    if isinstance(schema.container, SparseMatrices):
        return "sparse array" if isinstance(schema.empty, sparse.sparray) else "sparse matrix"
    return next(name for name, one in CONTAINERS.items() if isinstance(schema.container, one))


def prototype_to_json(cells: Cells, container: str) -> Any:
    """A prototype of a column (see `Container.prototype`): its dtype and its missing marker."""
    if container == "polars":
        return {"dtype": _polars_to_json(cells.dtype), "marks_nan": len(cells) > 0}
    return _numpy_to_json(cells.dtype) if container in WITHOUT_NAMES else _pandas_to_json(cells.dtype)


def prototype_from_json(said: Any, levels: Sequence[Any], container: str) -> Cells:
    """The prototype from its description; ``levels``: the categories of a pandas column of that dtype."""
    if container == "polars":
        pl = _polars()
        return pl.Series([float("nan")] if said["marks_nan"] is True else [], dtype=_polars_from_json(said["dtype"]))
    if container in WITHOUT_NAMES:
        return np.empty(0, dtype=_numpy_from_json(said))
    return pd.Series([], dtype=_pandas_from_json(said, levels))


def header_to_json(schema: Schema, container: str) -> Any:
    """What a table has apart from its columns: the index of its names, or the dtype of an array."""
    if container == "polars":
        return None
    if container in WITHOUT_NAMES:
        return _numpy_to_json(schema.empty.dtype)
    names = schema.empty.columns
    if isinstance(names.dtype, pd.CategoricalDtype):
        raise FileError(
            "the names of the columns are categories, which cannot be saved. Use text, X.columns = list(X.columns), "
            "and fit again."
        )
    said = {"name": to_json(list(names.names))}
    if isinstance(names, pd.MultiIndex):
        return {"index": "multi", **said}
    if isinstance(names, pd.RangeIndex):
        return {"index": "range", "range": [names.start, names.stop, names.step], **said}
    return {"index": "plain", "dtype": _pandas_to_json(names.dtype), **said}


def header_from_json(said: Any, columns: Sequence[Column], container: str) -> Table:
    """A table with this header and no rows."""
    if container == "polars":
        return _polars().DataFrame([one.prototype.clear().alias(one.name) for one in columns])
    if container == "numpy":
        return np.empty((0, len(columns)), dtype=_numpy_from_json(said))
    if container in _SPARSE:
        return _SPARSE[container]((0, len(columns)), dtype=_numpy_from_json(said))
    names, of_names = [one.name for one in columns], from_json(said["name"])
    index: pd.Index[Any]
    if said["index"] == "multi":
        index = pd.MultiIndex.from_tuples(names, names=of_names)
    elif said["index"] == "range":
        index = pd.RangeIndex(*said["range"], name=of_names[0])
    else:
        index = pd.Index(names, dtype=_pandas_from_json(said["dtype"], ()), name=of_names[0])
    frame = pd.concat([one.prototype for one in columns], axis=1)
    frame.columns = index
    return frame


def is_same_dtype(one: Any, other: Any) -> bool:
    """Whether two dtypes are equal, and store their values in the same way."""
    return bool(one == other) and getattr(one, "storage", None) == getattr(other, "storage", None)


def _pandas_to_json(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return {"category": _pandas_to_json(dtype.categories.dtype), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.StringDtype):
        # Older versions of pandas have a separate storage for strings with NaN as the missing value.
        return {"string": dtype.storage.removesuffix("_numpy"), "missing": "nan" if dtype.na_value is np.nan else "NA"}
    if isinstance(dtype, pd.ArrowDtype):
        # As Arrow serialises it: types with parameters, such as decimals, cannot be read from their names.
        held = arrow().schema([("column", dtype.pyarrow_dtype)]).serialize().to_pybytes()
        return {"arrow": str(dtype.pyarrow_dtype), "schema": b64encode(held).decode()}
    return _numpy_to_json(dtype) if isinstance(dtype, np.dtype) else str(dtype)


def _pandas_from_json(said: Any, levels: Sequence[Any]) -> Any:
    if isinstance(said, str):
        return _known(pd.api.types.pandas_dtype(said))
    if "category" in said:
        categories = pd.Index(list(levels), dtype=_pandas_from_json(said["category"], ()))
        if type(said["ordered"]) is not bool:
            raise ValueError("it does not say whether categories are ordered")
        return pd.CategoricalDtype(categories, ordered=said["ordered"])
    if "arrow" in said:
        return pd.ArrowDtype(_arrow_from_json(said))
    if said["missing"] == "NA":
        return pd.StringDtype(said["string"])
    try:
        return pd.StringDtype(said["string"], na_value=np.nan)
    except TypeError:
        if said["string"] == "pyarrow":
            return pd.StringDtype("pyarrow_numpy")
        raise FileError(
            f"the explainer has text of dtype str, which pandas {pd.__version__} does not support; upgrade pandas."
        ) from None


def _arrow_from_json(said: Any) -> Any:
    schema = arrow(".ipc").read_schema(arrow().py_buffer(b64decode(said["schema"], validate=True)))
    found = extension_in(schema)
    if found is not None or len(schema) != 1 or str(schema[0].type) != said["arrow"]:
        raise ValueError(
            f"a column has the extension type {found[1]!r}" if found else "a dtype does not match its description"
        )
    return schema[0].type


def _known(dtype: Any) -> Any:
    """The dtype, if it is one of numbers, booleans, dates or objects; other dtypes can be arbitrarily large."""
    if isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.str[1:] in _OF_TIME):
        return dtype
    plain = dtype.subtype if isinstance(dtype, (pd.SparseDtype, pd.IntervalDtype)) else dtype
    kind = getattr(plain, "kind", "")
    is_masked = not isinstance(plain, np.dtype) and hasattr(plain, "numpy_dtype") and kind in tuple("biuf")
    if not (is_masked or (isinstance(plain, np.dtype) and kind in "biufO" and plain.itemsize <= 8)):
        raise ValueError(f"{dtype} is not a dtype of numbers, text or booleans")
    return dtype


def _numpy_from_json(said: Any) -> np.dtype[Any]:
    if not isinstance(said, str):
        raise ValueError("a dtype has no name")
    dtype = np.dtype(said)
    if dtype.kind == "T" or (dtype.kind in "US" and dtype.itemsize <= _LONGEST_TEXT):
        return dtype
    known: np.dtype[Any] = _known(dtype)
    if known.kind in "mM":
        raise ValueError("an array does not hold dates")
    return known


def _numpy_to_json(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "T":
        return "T"
    return dtype.name if dtype.isnative and dtype.kind not in "US" else dtype.str


def _polars_to_json(dtype: Any) -> Any:
    pl = _polars()
    if dtype == pl.Enum:
        return {"enum": dtype.categories.to_list()}
    if dtype == pl.Decimal:
        return {"decimal": [dtype.precision, dtype.scale]}
    if dtype == pl.Datetime:
        return {"datetime": [dtype.time_unit, dtype.time_zone]}
    if dtype == pl.Duration:
        return {"duration": dtype.time_unit}
    return str(dtype)


def _polars_from_json(said: Any) -> Any:
    pl = _polars()
    if isinstance(said, str):
        if said not in _POLARS:
            raise ValueError(f"{said!r} is not a dtype of numbers, text or booleans")
        return getattr(pl, said)
    # If polars cannot read this, it may panic, which is not an Exception.
    if "enum" in said:
        names = said["enum"]
        if (
            not isinstance(names, list)
            or not all(isinstance(one, str) for one in names)
            or len(set(names)) < len(names)
        ):
            raise ValueError("the categories of an Enum must be distinct texts")
        return pl.Enum(names)
    if "datetime" in said or "duration" in said:
        unit, zone = said["datetime"] if "datetime" in said else (said["duration"], None)
        if unit not in ("ms", "us", "ns") or not (zone is None or isinstance(zone, str)):
            raise ValueError("the unit or the zone of a time is invalid")
        if zone is not None:
            zone_of(zone)
        return pl.Datetime(unit, zone) if "datetime" in said else pl.Duration(unit)
    precision, scale = said["decimal"]
    if not (type(scale) is int and (precision is None or type(precision) is int)):
        raise ValueError("the digits of a Decimal are missing")
    if not 0 <= scale <= (38 if precision is None else precision) <= 38:
        raise ValueError("the digits of a Decimal are invalid")
    return pl.Decimal(precision, scale)


def _polars() -> Any:
    return require("polars", extra="polars", needed_by="an explainer of polars frames")
