"""A column of every dtype of pandas, in a table whose other column alone decides."""

import numpy as np
import pandas as pd

TEXT = ["a", "b", "c", "a", "b", "c"]
COLUMNS = {
    "int8": pd.Series([1, 2, 3, 4, 5, 6], dtype="int8"),
    "int64": pd.Series([1, 2, 3, 4, 5, 6], dtype="int64"),
    "uint16": pd.Series([1, 2, 3, 4, 5, 6], dtype="uint16"),
    "float16": pd.Series([1, 2.5, 3, 4, 5, 6], dtype="float16"),
    "float32": pd.Series([0.1, 2.5, np.nan, 4, 5, 6], dtype="float32"),
    "float64": pd.Series([0.1, 2.5, np.nan, 4, 5, 6]),
    "bool": pd.Series([True, False, True, True, False, False]),
    "Int64": pd.Series([1, None, 3, 4, 5, 6], dtype="Int64"),
    "Float64": pd.Series([0.1, None, 3, 4, 5, 6], dtype="Float64"),
    "boolean": pd.Series([True, None, True, True, False, False], dtype="boolean"),
    "string": pd.Series(["a", None, "c", "a", "b", "c"], dtype="string"),
    "str": pd.Series(["a", None, "c", "a", "b", "c"], dtype="str"),
    "object text": pd.Series(["a", None, "c", "a", "b", "c"], dtype=object),
    "object bool": pd.Series([True, None, False, True, False, False], dtype=object),
    "object mixed": pd.Series([1, "one", 2, "two", 1, "one"], dtype=object),
    "category": pd.Series(pd.Categorical(["a", None, "c", "a", "b", "c"], ["c", "b", "a", "never"])),
    "ordered": pd.Series(pd.Categorical(TEXT, ["c", "b", "a"], ordered=True)),
    "category of ints": pd.Series(pd.Categorical([3, 1, 2, 3, 1, 2])),
    "category of intervals": pd.Series(pd.cut(pd.Series([1, 5, 9, 1, 5, 9]), 3)),
    "arrow int": pd.Series([1, None, 3, 4, 5, 6], dtype="int64[pyarrow]"),
    "arrow double": pd.Series([1.5, None, 3, 4, 5, 6], dtype="double[pyarrow]"),
    "arrow string": pd.Series(["a", None, "c", "a", "b", "c"], dtype="string[pyarrow]"),
    "arrow bool": pd.Series([True, None, True, True, False, False], dtype="bool[pyarrow]"),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.0, 0.0, 2.0, 0.0])),
}


def with_flag(column):
    """A table of the column and a number that alone decides."""
    return pd.DataFrame({"column": column, "flag": [0, 0, 0, 1, 1, 1]})


def flag(X):
    p = np.asarray(X["flag"], dtype=float)
    return np.column_stack([1 - p, p])
