"""Random tables of every container and dtype, and a way to read any of them as floats that shares nothing with nicecf.

A table is read into one matrix: numbers as they are (missing: NaN, -0.0 stays -0.0), categories as a code of what the
cell holds *and* of its type: True, 1, 1.0 and "1" have different codes, and None is not NaN.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from fuzz import moments

Random = np.random.Generator


class _Missing:
    """A cell without a value, before it is known how the column writes that."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


@dataclass(frozen=True)
class Family:
    """A way to write a column: which values it takes, and how a list of them becomes a column of a container."""

    name: str
    is_category: bool
    pool: Callable[[Random], list[Any]]
    build: Callable[[list[Any]], Any]
    may_miss: bool = False
    is_friendly: bool = False
    must_declare: bool = False
    # Other families that a row to explain may come in.
    rows_as: tuple[str, ...] = ()
    # All values from low to high, if its dtype has an order.
    levels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Column:
    """One column of a random table: its name, how it is written for training and for the rows, and its values."""

    name: Hashable
    family: Family
    row_family: Family
    pool: list[Any]
    unseen: list[Any]
    share_missing: float
    # Whether any training cell holds a value: rules can name none where all are missing.
    has_values: bool = True

    @property
    def dtype_levels(self) -> tuple[Any, ...]:
        """The levels of the training dtype from low to high; none if it has no order."""
        return self.family.levels

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return self.family.is_category


@dataclass(frozen=True)
class Tables:
    """A training table, rows to explain, and what is known of their columns."""

    container: str
    columns: list[Column]
    train: Any
    rows: Any
    reader: Reader
    categorical_features: Any
    # The rows to explain as lists of Python values, in the order of training, to be written anew in another order.
    row_values: list[list[Any]] = field(default_factory=list)

    @property
    def names(self) -> list[Hashable]:
        """The names of the columns, in the order of training; those that nicecf gives to the columns of an array."""
        return [column.name for column in self.columns]

    @property
    def has_two_zeros(self) -> bool:
        """Whether some column of numbers holds -0.0."""
        matrices = [self.reader.encode(table) for table in (self.train, self.rows) if n_rows(table)]
        return any(bool((np.signbit(matrix) & (matrix == 0)).any()) for matrix in matrices)


@dataclass(frozen=True)
class Reader:
    """Tables with some columns -> floats, in the order of these columns."""

    names: tuple[Hashable, ...]
    is_category: tuple[bool, ...]

    def encode(self, X: Any) -> np.ndarray:
        """One line of floats for each row."""
        columns = [self._encoded(self._column(X, at), category) for at, category in enumerate(self.is_category)]
        return np.column_stack(columns) if columns else np.empty((n_rows(X), 0))

    def column(self, X: Any, at: int) -> Any:
        """One column, as the container has it."""
        return self._column(X, at)

    def _column(self, X: Any, at: int) -> Any:
        if sparse.issparse(X):
            return X.toarray()[:, at]
        if isinstance(X, np.ndarray):
            return X[:, at]
        if isinstance(X, pd.DataFrame):
            return X.iloc[:, list(X.columns).index(self.names[at])]
        # Under a name of our own: polars reads a name such as ^x.*$ as a pattern.
        return X.to_series(X.columns.index(self.names[at])).alias("cells")

    def _encoded(self, cells: Any, category: bool) -> np.ndarray:
        return _category_codes(cells) if category else _numbers(cells)


def n_rows(X: Any) -> int:
    """The number of rows of any table."""
    if sparse.issparse(X):
        return int(X.shape[0])
    return X.height if isinstance(X, pl.DataFrame) else len(X)


def take(X: Any, rows: Sequence[int]) -> Any:
    """Some rows of any table, by their positions."""
    rows = [int(row) for row in rows]
    if sparse.issparse(X):
        return X.tocsr()[rows].asformat(X.format)
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _numbers(cells: Any) -> np.ndarray:
    if moments.are_moments(cells):
        return np.array([_number(value) for value in cells.to_list()], dtype=float)
    if isinstance(cells, pl.Series):
        if cells.dtype == pl.Object or cells.dtype == pl.String:
            return np.array([_number(value) for value in cells.to_list()])
        return cells.cast(pl.Float64).to_numpy().astype(float)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    if isinstance(cells, pd.Series) and cells.dtype != object:
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array([_number(value) for value in list(cells)], dtype=float)


def _number(value: Any) -> float:
    if is_missing(value):
        return float("nan")
    return moments.hours(value) if moments.is_moment(value) else float(value)


def _category_codes(cells: Any) -> np.ndarray:
    if isinstance(cells, pd.Series) and isinstance(cells.dtype, pd.CategoricalDtype):
        known = np.array([code_of(value) for value in cells.cat.categories] + [code_of(MISSING)])
        return known[cells.cat.codes.to_numpy()]
    if isinstance(cells, pl.Series):
        return np.array([code_of(MISSING if value is None else value) for value in cells.to_list()], dtype=float)
    is_object = cells.dtype == np.dtype(object)
    values = cells.tolist()
    if is_object:
        return np.array([code_of(value) for value in values], dtype=float)
    return np.array([code_of(MISSING if is_missing(value) else value) for value in values], dtype=float)


_CODES: dict[tuple[type, Any], float] = {}


def code_of(value: Any) -> float:
    """The code of what a cell of a category holds; of one type and value, whatever its width, there is one."""
    value = value.item() if isinstance(value, np.generic) else value
    kind = type(value)
    if kind is float:
        return _crc(f"float {value!r}")
    key = (kind, value)
    try:
        return _CODES[key]
    except (KeyError, TypeError):
        _CODES[key] = code = _crc(f"{kind.__name__} {value!r}")
        return code


def _crc(text: str) -> float:
    return float(zlib.crc32(text.encode("utf-8", "surrogatepass")))


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing, however that is written."""
    if value is None or value is MISSING or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


# --- values -----------------------------------------------------------------------------------------------------------


def _whole(low: int, high: int) -> Callable[[Random], list[Any]]:
    def pool(random: Random) -> list[Any]:
        if random.random() < 0.1:
            return [int(random.integers(low, high, endpoint=True))]
        if random.random() < 0.15:  # the ends of what the dtype holds
            return [low, low + 1, high - 1, high]
        span_low, span_high = max(low, -20), min(high, 100)
        count = int(random.integers(2, 9))
        return sorted({int(value) for value in random.integers(span_low, span_high, count, endpoint=True)})

    return pool


def _real(dtype: str) -> Callable[[Random], list[Any]]:
    def pool(random: Random) -> list[Any]:
        style = random.choice(
            ["halves", "decimals", "normal", "zeros", "constant", "large"], p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]
        )
        values: Any = {
            "halves": [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 4.0],
            "decimals": [0.1, 0.2, 0.3, 0.7, 1.1, 2.9],
            "normal": random.normal(size=40).tolist(),
            "zeros": [0.0, -0.0, 1.0, -1.0],
            "constant": [2.5],
            "large": [1e4, 2.5e4, 6e4, -3e4],
        }[style]
        return [float(np.dtype(dtype).type(value)) for value in values]

    return pool


TEXTS = ["a", "b", "c", "ä ö", "<b>&amp;", "", "1", "True", "a longer text", "None", "=1+1", "x\ny"]


def _texts(random: Random) -> list[Any]:
    return random.choice(TEXTS, int(random.integers(1, 6)), replace=False).tolist()


def _numbers_as_categories(random: Random) -> list[Any]:
    return [1, 2, 3, 10][: int(random.integers(2, 5))]


def _few_floats(random: Random) -> list[Any]:
    return [0.0, 1.0, 2.0]


def _mixed(random: Random) -> list[Any]:
    return [["x", 1, 2, "1"], [True, "yes", "True"], ["a", 2.5, 7], [True, 1, "x"], [False, 0, "x", 0.0]][
        int(random.integers(5))
    ]


def _decimals(random: Random) -> list[Any]:
    return [Decimal("0.10"), Decimal("1.5"), Decimal("2"), Decimal("-3.25")]


def _unseen_for(family: Family, pool: list[Any]) -> list[Any]:
    """Values that no training row holds, as far as the family can write any."""
    if family.levels:
        return []
    if not family.is_category:
        if moments.is_moment(pool[0]):
            return moments.unseen(pool)
        if all(isinstance(value, int) for value in pool):
            return [value for value in (max(pool) + 3, min(pool) - 2) if abs(value) <= 2**53 and _fits(family, value)]
        if isinstance(pool[0], Decimal):
            return [Decimal("9.75")]
        return [value for value in (max(pool) + 1.0, min(pool) - 0.5) if _fits(family, value)]
    if all(isinstance(value, str) for value in pool):
        return ["unseen", "zz"]
    if all(isinstance(value, bool) for value in pool):
        return []
    if isinstance(pool[0], Decimal):
        return [Decimal("9.75")]
    has_numbers = any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in pool)
    return [77] if has_numbers and "object" in family.name else []


def _fits(family: Family, value: Any) -> bool:
    try:
        built = family.build([value])
        return _numbers(built)[0] == value
    except (OverflowError, ValueError, TypeError, pa.ArrowInvalid, pl.exceptions.PolarsError):
        return False


# --- pandas -----------------------------------------------------------------------------------------------------------


def _filled(values: list[Any], marker: Any) -> list[Any]:
    return [marker if value is MISSING else value for value in values]


def _pandas_numpy(dtype: str) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(np.array(_filled(values, np.nan), dtype=dtype))


def _pandas_extension(dtype: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(pd.array(_filled(values, None), dtype=dtype))


def _pandas_arrow_half(values: list[Any]) -> pd.Series:
    cells = pa.array([None if value is MISSING else np.float16(value) for value in values], type=pa.float16())
    return pd.Series(pd.arrays.ArrowExtensionArray(cells))


def _pandas_objects(marker: Any) -> Callable[[list[Any]], pd.Series]:
    def build(values: list[Any]) -> pd.Series:
        cells = np.empty(len(values), dtype=object)
        cells[:] = _filled(values, marker)
        return pd.Series(cells, dtype=object)

    return build


def _pandas_category() -> Callable[[list[Any]], pd.Series]:
    def build(values: list[Any]) -> pd.Series:
        held = list(dict.fromkeys(value for value in values if value is not MISSING))
        return pd.Series(pd.Categorical(_filled(values, None), held))

    return build


# An order that is not that of the alphabet; tables hold some of it.
LADDER = ("c", "a", "", "1", "ä ö", "b", "a longer text")


def _rungs(random: Random) -> list[Any]:
    return random.choice(LADDER, int(random.integers(1, 6)), replace=False).tolist()


def _pandas_ordered(*, fewer: bool) -> Callable[[list[Any]], pd.Series]:
    """``fewer``: only the levels that cells hold, in their order."""

    def build(values: list[Any]) -> pd.Series:
        levels = [one for one in LADDER if one in values] if fewer else LADDER
        return pd.Series(pd.Categorical(_filled(values, None), levels, ordered=True))

    return build


def _polars_ordered(*, fewer: bool) -> Callable[[list[Any]], pl.Series]:
    def build(values: list[Any]) -> pl.Series:
        levels = [one for one in LADDER if one in values] if fewer else LADDER
        return pl.Series(_filled(values, None), dtype=pl.Enum(levels))

    return build


_INTS = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)} | {
    "int64": (-(2**53), 2**53),
    "uint8": (0, 255),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**53),
}
_INT_NAMES = tuple(_INTS)


def _capital(name: str) -> str:
    return name.replace("uint", "UInt").replace("int", "Int") if name[0] == "i" else name.replace("uint", "UInt")


def _pandas_families() -> list[Family]:
    families = []
    for name, (low, high) in _INTS.items():
        friendly = name in ("int64", "int32", "int8")
        families.append(
            Family(name, False, _whole(low, high), _pandas_numpy(name), is_friendly=friendly, rows_as=("float64",))
        )
        families.append(
            Family(_capital(name), False, _whole(low, high), _pandas_extension(_capital(name)), may_miss=True)
        )
        arrow = f"{name}[pyarrow]"
        families.append(Family(arrow, False, _whole(low, high), _pandas_extension(arrow), may_miss=True))
    for name in ("float16", "float32", "float64"):
        rows_as = ("int64",) if name == "float64" else ("float64",)
        families.append(
            Family(name, False, _real(name), _pandas_numpy(name), True, is_friendly=name != "float16", rows_as=rows_as)
        )
    families += [
        Family("Float32", False, _real("float32"), _pandas_extension("Float32"), True),
        Family("Float64", False, _real("float64"), _pandas_extension("Float64"), True, rows_as=("float64",)),
        Family("float[pyarrow]", False, _real("float32"), _pandas_extension("float[pyarrow]"), True),
        Family("double[pyarrow]", False, _real("float64"), _pandas_extension("double[pyarrow]"), True),
        Family("halffloat[pyarrow]", False, _real("float16"), _pandas_arrow_half, True),
        Family("object numbers", False, _real("float64"), _pandas_objects(None), True, must_declare=True),
        Family("object decimals as numbers", False, _decimals, _pandas_objects(None), True, must_declare=True),
        Family("bool", True, lambda random: [False, True], _pandas_numpy("bool"), is_friendly=True),
        Family("boolean", True, lambda random: [False, True], _pandas_extension("boolean"), True),
        Family("bool[pyarrow]", True, lambda random: [False, True], _pandas_extension("bool[pyarrow]"), True),
        Family("object text", True, _texts, _pandas_objects(None), True),
        Family("object text, nan", True, _texts, _pandas_objects(np.nan), True),
        Family("object text, NA", True, _texts, _pandas_objects(pd.NA), True),
        Family("string", True, _texts, _pandas_extension("string[python]"), True),
        Family("string[pyarrow]", True, _texts, _pandas_extension("string[pyarrow]"), True),
        Family("arrow string", True, _texts, _pandas_extension(pd.ArrowDtype(pa.string())), True),
        Family("category", True, _texts, _pandas_category(), True, is_friendly=True),
        Family(
            "category, ordered",
            True,
            _rungs,
            _pandas_ordered(fewer=False),
            True,
            rows_as=("category, ordered, fewer", "string", "category"),
            levels=LADDER,
        ),
        Family("category, ordered, fewer", True, _rungs, _pandas_ordered(fewer=True), True, levels=LADDER),
        Family("category of ints", True, _numbers_as_categories, _pandas_category(), True),
        Family("int64 as category", True, _numbers_as_categories, _pandas_numpy("int64"), must_declare=True),
        Family("object ints as category", True, _numbers_as_categories, _pandas_objects(None), True, must_declare=True),
        Family("object mixed", True, _mixed, _pandas_objects(None), True, must_declare=True),
        Family("object bools", True, lambda random: [False, True], _pandas_objects(None), True),
        Family("object decimals", True, _decimals, _pandas_objects(None), True, must_declare=True),
    ]
    if int(pd.__version__.split(".")[0]) >= 3:  # before, str was no dtype of its own
        families.append(Family("str", True, _texts, _pandas_extension("str"), True, is_friendly=True))
    return [*families, *moments.pandas_families(Family)]


# --- polars -----------------------------------------------------------------------------------------------------------


def _polars(dtype: Any, marker: Any = None) -> Callable[[list[Any]], pl.Series]:
    return lambda values: pl.Series(_filled(values, marker), dtype=dtype)


def _polars_families() -> list[Family]:
    families = []
    for name, (low, high) in _INTS.items():
        dtype = getattr(pl, _capital(name))
        families.append(Family(f"pl.{dtype}", False, _whole(low, high), _polars(dtype), True, rows_as=("pl.Float64",)))
    if hasattr(pl, "Int128"):
        families.append(Family("pl.Int128", False, _whole(-(2**53), 2**53), _polars(pl.Int128), True))
    if hasattr(pl, "Float16"):
        families.append(Family("pl.Float16", False, _real("float16"), _polars(pl.Float16), True))
    families += [
        Family("pl.Float32", False, _real("float32"), _polars(pl.Float32), True),
        Family("pl.Float64", False, _real("float64"), _polars(pl.Float64), True, rows_as=("pl.Int64",)),
        Family("pl.Float64, NaN", False, _real("float64"), _polars(pl.Float64, float("nan")), True),
        Family("pl.String", True, _texts, _polars(pl.String), True),
        Family("pl.Categorical", True, _texts, _polars(pl.Categorical), True),
        Family(
            "pl.Enum",
            True,
            _rungs,
            _polars_ordered(fewer=False),
            True,
            rows_as=("pl.Enum, fewer", "pl.String"),
            levels=LADDER,
        ),
        Family("pl.Enum, fewer", True, _rungs, _polars_ordered(fewer=True), True, levels=LADDER),
        Family("pl.Boolean", True, lambda random: [False, True], _polars(pl.Boolean), True),
    ]
    return [*families, *moments.polars_families(Family)]


# --- numpy: the whole array has one dtype -----------------------------------------------------------------------------


def _array(dtype: Any, marker: Any = np.nan) -> Callable[[list[Any]], np.ndarray]:
    def build(values: list[Any]) -> np.ndarray:
        cells = np.empty(len(values), dtype=object)
        cells[:] = _filled(values, marker)
        return cells if dtype is object else cells.astype(dtype)

    return build


def _numpy_families() -> dict[str, list[Family]]:
    """The families of the columns of an array, by the dtype of the array."""
    kinds: dict[str, list[Family]] = {}
    for name, (low, high) in _INTS.items():
        kinds[name] = [
            Family(f"numpy {name}", False, _whole(low, high), _array(name), is_friendly=name == "int64"),
            Family(
                f"numpy {name} as category", True, _whole(max(low, 0), min(high, 5)), _array(name), must_declare=True
            ),
        ]
    for name in ("float16", "float32", "float64"):
        kinds[name] = [
            Family(f"numpy {name}", False, _real(name), _array(name), True, is_friendly=name != "float16"),
            Family(f"numpy {name} as category", True, _few_floats, _array(name), True, must_declare=True),
        ]
    kinds["bool"] = [
        Family("numpy bool", False, lambda random: [False, True], _array("bool"), is_friendly=True),
        Family("numpy bool as category", True, lambda random: [False, True], _array("bool"), must_declare=True),
    ]
    kinds["object"] = [
        Family("numpy object numbers", False, _real("float64"), _array(object, None), True),
        Family("numpy object text", True, _texts, _array(object, None), True, must_declare=True),
        Family("numpy object mixed", True, _mixed, _array(object, None), True, must_declare=True),
    ]
    kinds["str"] = [
        Family(
            "numpy str", True, lambda random: ["a", "b", "cc", "a longer text", "ü"], _array("str"), must_declare=True
        )
    ]
    return kinds


PANDAS = {family.name: family for family in _pandas_families()}
POLARS = {family.name: family for family in _polars_families()}
NUMPY = _numpy_families()


# --- whole tables -----------------------------------------------------------------------------------------------------


def draw(random: Random, *, friendly: bool = False, numbers_only: bool = False) -> Tables:
    """A random training table and rows to explain. ``friendly``: of dtypes that scikit-learn itself takes."""
    container = str(random.choice(["pandas", "numpy", "polars", "sparse"], p=[0.53, 0.23, 0.18, 0.06]))
    container = "pandas" if friendly and container in ("polars", "sparse") else container
    n_columns = int(random.choice([1, 2, 3, 4, 5, 6, 8], p=[0.06, 0.12, 0.22, 0.22, 0.18, 0.12, 0.08]))
    families, array_dtype = _families(random, container, n_columns, friendly, numbers_only)
    names = _names(random, container, n_columns)
    columns = [_column(random, name, family, container, friendly) for name, family in zip(names, families, strict=True)]
    n_train = int(
        random.choice([random.integers(2, 12), random.integers(12, 60), random.integers(60, 300)], p=[0.15, 0.55, 0.3])
    )
    train_values = [_drawn_rows(random, column, n_train, known=True) for column in columns]
    if random.random() < 0.3:  # rows that occur more than once
        again = random.integers(0, n_train, n_train)
        train_values = [[values[at] for at in again] for values in train_values]
    columns = [_as_drawn(column, values) for column, values in zip(columns, train_values, strict=True)]
    n_explained = int(random.choice([0, 1, random.integers(2, 30), random.integers(50, 300)], p=[0.02, 0.08, 0.3, 0.6]))
    row_values = _rows_like(random, columns, train_values, n_explained)
    reader = Reader(tuple(names), tuple(column.is_category for column in columns))
    train = _written(random, container, columns, train_values, array_dtype, of_rows=False)
    rows = _written(random, container, columns, row_values, array_dtype, of_rows=True)
    return Tables(container, columns, train, rows, reader, _declared(random, container, columns), row_values)


def _families(
    random: Random, container: str, n_columns: int, friendly: bool, numbers_only: bool
) -> tuple[list[Family], str]:
    if container == "sparse":
        dtype = str(random.choice(["float64", "float32", "int64", "int8", "bool"], p=[0.5, 0.2, 0.1, 0.1, 0.1]))
        return [next(f for f in NUMPY[dtype] if not f.is_category)] * n_columns, dtype
    if container == "numpy":
        dtypes = [name for name in NUMPY if not (numbers_only and name in ("object", "str"))]
        dtypes = [name for name in dtypes if not friendly or any(family.is_friendly for family in NUMPY[name])]
        weights = np.array([4.0 if name in ("float64", "object") else 1.0 for name in dtypes])
        dtype = str(random.choice(dtypes, p=weights / weights.sum()))
        choices = [f for f in NUMPY[dtype] if not (numbers_only and f.is_category) and (f.is_friendly or not friendly)]
        return [choices[int(random.integers(len(choices)))] for _ in range(n_columns)], dtype
    known = PANDAS if container == "pandas" else POLARS
    choices = [f for f in known.values() if (f.is_friendly or not friendly) and not (numbers_only and f.is_category)]
    choices = [f for f in choices if "fewer" not in f.name]  # for rows to explain
    weights = np.array([3.0 if f.is_category else 1.0 for f in choices])
    if random.random() < 0.3 and not numbers_only:
        weights = np.ones(len(choices))
    picked = random.choice(len(choices), n_columns, p=weights / weights.sum())
    return [choices[at] for at in picked], ""


def _names(random: Random, container: str, n_columns: int) -> list[Hashable]:
    plain: list[Hashable] = [f"f{at}" for at in range(n_columns)]
    if container in ("numpy", "sparse"):
        return [f"x{at}" for at in range(n_columns)]
    odd: list[list[Hashable]] = [
        plain,
        [["^x.*$", "age (years)", "größe", "*", "x0", "<i>", "row", "feature"][at] for at in range(n_columns)],
    ]
    if container == "pandas":
        odd += [
            list(range(n_columns)),
            list(range(n_columns, 0, -1)),
            [("a", at) for at in range(n_columns)],
            [*plain[:-1], 7],
        ]
    return odd[int(random.integers(len(odd)))] if random.random() < 0.4 else plain


def _column(random: Random, name: Hashable, family: Family, container: str, friendly: bool) -> Column:
    known = {"pandas": PANDAS, "polars": POLARS, "numpy": {}, "sparse": {}}[container]
    row_family = family
    if family.rows_as and random.random() < 0.12:
        row_family = known[family.rows_as[int(random.integers(len(family.rows_as)))]]
    pool = family.pool(random)
    share = float(random.choice([0.0, 0.1, 0.4], p=[0.65, 0.25, 0.1])) if family.may_miss and not friendly else 0.0
    return Column(name, family, row_family, pool, [], share)


def _as_drawn(column: Column, values: list[Any]) -> Column:
    """The column with the values that occur: rules may name no others, and what is unseen is of their sort."""
    known = {(type(value), repr(value)) for value in values}
    seen = [value for value in column.pool if (type(value), repr(value)) in known]
    pool = seen or column.pool[:1]
    # Objects of which none has a value do not tell that they are dates: then the rows must have none either.
    is_lost = not seen and column.family.name in ("object Timestamps", "object timedeltas")
    share_missing = 1.0 if is_lost else column.share_missing
    return replace(
        column, pool=pool, unseen=_unseen_for(column.family, pool), has_values=bool(seen), share_missing=share_missing
    )


def _drawn_rows(random: Random, column: Column, count: int, *, known: bool) -> list[Any]:
    values = column.pool if known else [*column.pool, *column.unseen]
    drawn = [values[at] for at in random.integers(0, len(values), count)]
    is_missing_cell = random.random(count) < column.share_missing
    return [MISSING if missing else value for value, missing in zip(drawn, is_missing_cell, strict=True)]


def _rows_like(random: Random, columns: list[Column], train: list[list[Any]], count: int) -> list[list[Any]]:
    """Rows to explain: training rows, training rows with other values in some cells, and rows of any values."""
    n_train = len(train[0])
    known = random.random() < 0.5
    fresh = [_drawn_rows(random, column, count, known=known) for column in columns]
    copied = random.integers(0, n_train, count)
    keeps = random.random((count, len(columns))) < random.choice([0.0, 0.5, 0.9, 1.0], count)[:, None]
    rows = [[train[j][copied[i]] if keeps[i, j] else fresh[j][i] for i in range(count)] for j in range(len(columns))]
    return [[_as_row_family(value, column) for value in cells] for cells, column in zip(rows, columns, strict=True)]


def _as_row_family(value: Any, column: Column) -> Any:
    """A value that the rows' own family holds: whole numbers where it holds no others."""
    if column.row_family is column.family or value is MISSING:
        return column.pool[0] if value is MISSING and not column.row_family.may_miss else value
    return int(value) if column.row_family.name.lower().endswith("int64") else value


def _written(
    random: Random, container: str, columns: list[Column], values: list[list[Any]], dtype: str, *, of_rows: bool
) -> Any:
    families = [column.row_family if of_rows else column.family for column in columns]
    cells = [family.build(column) for family, column in zip(families, values, strict=True)]
    if container == "sparse":
        dense = np.column_stack(cells) if len(values[0]) else np.empty((0, len(columns)), dtype=dtype)
        of = sparse.csr_matrix if len(columns) % 2 else sparse.csr_array  # the same for both tables
        return of(dense).asformat(str(random.choice(["csr", "csc", "coo", "bsr"] if len(dense) else ["csr"])))
    if container == "numpy":
        if dtype == "object":
            table = np.empty((len(values[0]), len(columns)), dtype=object)
            for at, column in enumerate(cells):
                table[:, at] = column
            return table
        return np.column_stack(cells) if len(values[0]) else np.empty((0, len(columns)), dtype=dtype)
    order = list(range(len(columns)))
    if of_rows and random.random() < 0.15:
        order = random.permutation(len(columns)).tolist()
    if container == "polars":
        return pl.DataFrame([cells[at].alias(columns[at].name) for at in order])
    frame = pd.DataFrame({at: cells[at] for at in order})
    frame.columns = _header([columns[at].name for at in order], as_levels=random.random() < 0.3)
    frame.index = _index(random, len(frame))
    return frame


def _header(names: list[Hashable], *, as_levels: bool) -> pd.Index:
    if as_levels and all(isinstance(name, tuple) for name in names):
        return pd.MultiIndex.from_tuples(names)
    return pd.Index(names, tupleize_cols=False)


def _index(random: Random, count: int) -> pd.Index:
    kind = random.choice(["range", "same", "text", "dates", "levels", "numbers"], p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    if kind == "same":
        return pd.Index(random.integers(0, max(count // 3, 1), count))
    if kind == "text":
        return pd.Index([f"row {at}" for at in range(count)])
    if kind == "dates":
        return pd.date_range("2020-01-31", periods=count, freq="D")
    if kind == "levels":
        return pd.MultiIndex.from_arrays([[at % 3 for at in range(count)], [f"r{at}" for at in range(count)]])
    return pd.Index(random.permutation(count) * 7) if kind == "numbers" else pd.RangeIndex(count)


def _declared(random: Random, container: str, columns: list[Column]) -> Any:
    """The option categorical_features: only where it is needed, or now and then."""
    if not any(column.family.must_declare for column in columns) and random.random() < 0.85:
        return "auto"
    mask = [column.is_category for column in columns]
    form = str(random.choice(["mask", "names", "positions"]))
    if form == "names" and container != "numpy":
        return [column.name for column in columns if column.is_category]
    has_int_names = any(isinstance(column.name, int) for column in columns)
    if form == "positions" and not has_int_names:
        return [at for at, category in enumerate(mask) if category]
    return mask
