"""Named tables: the 40 of the paper and the rest of PMLB, a file of one's own, the readable Adult, a generated book.

Nothing is read or downloaded at import.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nicecf.benchmark.loan_book import loan_book, loan_rules
from nicecf.benchmark.paper_datasets import ALIASES, PAPER, Facts
from nicecf.exceptions import OptionError, SchemaError, did_you_mean, listed
from nicecf.support.extras import installing, require
from nicecf.support.types import Ints
from nicecf.tables.files import arrow

__all__ = [
    "ALIASES",
    "PAPER",
    "Dataset",
    "Facts",
    "adult",
    "checksum",
    "is_path",
    "kinds",
    "load",
    "loan_book",
    "loan_rules",
    "name_of",
]


# PMLB keeps these under another name by now. The released pmlb refuses every name that is not on its own list, which
# knows only the old ones, so they are fetched by their address.
_MOVED = (
    "australian",
    "breast_w",
    "buggyCrx",
    "credit_a",
    "credit_g",
    "crx",
    "diabetes",
    "german",
    "pima",
    "wdbc",
)
_MOVED_TO = "https://github.com/EpistasisLab/pmlb/raw/master/datasets/_deprecated_{0}/_deprecated_{0}.tsv.gz"

_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_ENDINGS = (*_SEPARATORS, ".parquet")
_MOST_CATEGORIES = 10
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")
_CATEGORIES = ("string", "boolean", "categorical", "bytes", "mixed-integer", "mixed", "empty")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with a label of two classes.

    ``X`` is as in the file, missing values among it; ``y`` is 1 where the label is ``labels[1]``, the later of the two
    in sorted order, and 0 elsewhere; ``categorical`` names the columns that :func:`kinds` finds.
    """

    name: str
    X: pd.DataFrame
    y: Ints
    categorical: list[str]
    labels: tuple[Any, Any]


def load(
    name_or_path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None, label: str | None = None
) -> Dataset:
    """The dataset of that name, or the one in that file.

    A name of ``PAPER`` or ``ALIASES``, or another that PMLB knows, comes from ``<folder>/pmlb`` or, where there is no
    such folder, from ``folder`` itself, as ``<name>/<name>.tsv.gz``; what is not there yet is downloaded into it.
    ``folder`` defaults to the environment's NICECF_DATA, and that to the user's cache. A file of the paper's 40 that
    does not hold what the paper used is an error.

    A path to a .csv, .tsv (either may end in .gz) or .parquet file is read as it is, the label being the column
    ``label``, or else ``target``; the dataset is named after the file.
    """
    name = name_of(name_or_path, folder=folder)
    if is_path(name_or_path):
        return _dataset(name, _read_file(_path(name_or_path)), "target" if label is None else label)
    if label is not None:
        raise OptionError(f"label={label!r} is for files; the label of {name!r}, a PMLB dataset, is 'target'.")
    return _dataset(name, _fetched(name, _cache(folder)), "target")


def name_of(name_or_path: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None) -> str:
    """What :func:`load` will call the dataset; an error if there is no such name or no such file. Loads nothing.

    >>> name_of("Hill_Valley")
    'Hill_Valley_without_noise'
    """
    if is_path(name_or_path):
        path = _path(name_or_path)
        name = path.name[: -len(_ending(path))]
        if not path.is_file():
            raise SchemaError(
                f"there is no file {path.absolute()}; give the path of a table, or the name of a dataset."
            )
        return name
    name = ALIASES.get(os.fspath(name_or_path), os.fspath(name_or_path))
    if name not in PAPER and _stored(name, _cache(folder)) is None:
        _check_name(name)
    return name


def is_path(name_or_path: str | os.PathLike[str]) -> bool:
    """Whether :func:`load` takes it for a file. A name of the paper's datasets never is one, whatever lies around.

    >>> is_path("my_table.csv"), is_path("adult")
    (True, False)
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise OptionError(f"a dataset is given by its name or the path of a file, got {name_or_path!r}.")
    given = os.fspath(name_or_path)
    if isinstance(name_or_path, os.PathLike):
        return True
    if given in PAPER or given in ALIASES:
        return False
    return "/" in given or os.sep in given or given.lower().endswith(_ENDINGS) or Path(given).is_file()


def kinds(X: pd.DataFrame) -> list[str]:
    """The columns that the paper's experiments treat as categories; the others are numerical.

    Numbers are categories when all are whole and at most 10 differ, missing ones left out. Text, booleans and pandas
    categories always are. Dates are neither, and an error.

    >>> kinds(pd.DataFrame({"code": [1, 2, 2], "size": [1.5, 2.0, 3.0], "word": ["a", "b", "c"]}))
    ['code', 'word']
    """
    return [name for name in X.columns if _is_categorical(X[name])]


def checksum(table: pd.DataFrame) -> str:
    """The start of a sha256 over the names and the values of a table of numbers, whatever file holds it.

    The values count in single precision: pandas before 3 reads some decimals off in their 13th digit.

    >>> checksum(pd.DataFrame({"a": [1, 2]})) == checksum(pd.DataFrame({"a": [1.0, 2.0 + 1e-13]}))
    True
    """
    # Adding zero makes -0.0 the same as 0.0.
    values = table.to_numpy(dtype="<f4") + np.float32(0)
    return hashlib.sha256("\t".join(table.columns).encode() + b"\n" + values.tobytes()).hexdigest()[:32]


def adult(folder: str | Path) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The UCI Adult census table and its label ``income``: ``"<=50K"`` or ``">50K"``; an unknown value is ``"?"``.

    Read from ``<folder>/raw/adult/adult.csv.gz``: 48,842 rows, the 14 features under their UCI names and ``income``.
    """
    path = Path(folder) / "raw" / "adult" / "adult.csv.gz"
    if not path.is_file():
        raise SchemaError(
            f"there is no file {path}. The folder must hold raw/adult/adult.csv.gz: the UCI Adult rows with a header, "
            "the label in column 'income'. Pass the folder above raw/; nothing is downloaded."
        )
    X = pd.read_csv(path)
    if "income" not in X:
        raise SchemaError(f"{path} has no column 'income', which holds the label; its columns are {list(X.columns)}.")
    return X, X.pop("income")


def _dataset(name: str, table: pd.DataFrame, label: str) -> Dataset:
    if label not in table:
        hint = " The label is looked for in 'target'; name another column with label=." if label == "target" else ""
        if len(table.columns) == 1:
            hint = " Is it separated as its name says: by commas in .csv, by tabs in .tsv?"
        raise SchemaError(
            f"{name} has no column {label!r}; its columns are {listed(table.columns, limit=30)}."
            f"{did_you_mean(label, table.columns)}{hint}"
        )
    X = table.drop(columns=label)
    if not len(X.columns):
        raise SchemaError(f"{name} has no features: its only column is the label {label!r}. Add what it depends on.")
    empty = [column for column in X if X[column].isna().all()]
    if empty:
        raise SchemaError(f"{name} has no value at all in {listed(empty)}; leave such columns out of the table.")
    y, labels = _coded(name, table[label])
    return Dataset(name, X, y, kinds(X), labels)


def _coded(name: str, column: pd.Series[Any]) -> tuple[Ints, tuple[Any, Any]]:
    """The label as 0 and 1, and the two values that these stand for."""
    n_missing = int(column.isna().sum())
    if n_missing:
        raise SchemaError(
            f"{name} has {n_missing:,} of {len(column):,} rows without a label in {column.name!r}; remove these rows."
        )
    counts = column.astype(object).value_counts(sort=False)
    if len(counts) != 2:
        shown = [f"{value!r} ({count:,} rows)" for value, count in counts.head(8).items()]
        shown += [f"{len(counts) - 8:,} more"] * (len(counts) > 8)
        raise SchemaError(
            f"{name} has {len(counts):,} class(es) in {column.name!r}, but exactly two are needed: {', '.join(shown)}. "
            "Leave rows out, join classes, or name another column with label=."
        )
    try:
        first, second = sorted(counts.index)
    except TypeError:
        raise SchemaError(
            f"{name} has labels that cannot be put in order: {listed(counts.index)}. Make both text, or both numbers."
        ) from None
    return np.asarray(column == second, dtype=np.intp), (first, second)


def _is_categorical(column: pd.Series[Any]) -> bool:
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in _CATEGORIES:
        return True
    if kind not in _NUMBERS:
        raise SchemaError(
            f"column {column.name!r} holds values of kind {kind}; only numbers, text, booleans and categories can be "
            "used. Make it a number (days since some date, say), or leave it out."
        )
    values = column.dropna().to_numpy(dtype=np.float64)
    whole = np.isfinite(values) & (values == np.rint(values))
    return bool(whole.all()) and len(np.unique(values)) <= _MOST_CATEGORIES


def _path(given: str | os.PathLike[str]) -> Path:
    return Path(os.fspath(given)).expanduser()


def _ending(path: Path) -> str:
    """Which of the endings the file has, in its own capitals; an error if none."""
    endings = [ending for ending in _ENDINGS if path.name.lower().endswith(ending)]
    if not endings:
        raise OptionError(f"{path} is no table that can be read; the name must end in one of {listed(_ENDINGS)}.")
    return path.name[-len(endings[0]) :]


def _read_file(path: Path) -> pd.DataFrame:
    ending = _ending(path).lower()
    with _readable(path, "Check that it is a whole table of the kind that its name says."):
        table = _read_parquet(path) if ending == ".parquet" else _read_text(path, _SEPARATORS[ending])
    repeated = table.columns[table.columns.duplicated()].unique()
    if len(repeated):
        raise SchemaError(f"{path} has several columns named {listed(repeated)}; give each a name of its own.")
    nameless = [number for number, column in enumerate(table.columns, 1) if not str(column).strip()]
    if nameless:
        raise SchemaError(
            f"{path} has no name over column {listed(nameless)}. If it is a saved index, write the table without "
            "(index=False in pandas); else name it."
        )
    if table.empty:
        raise SchemaError(f"{path} has no rows below its header.")
    return table


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    # The header is read by itself because pandas renames what is repeated or nameless.
    header = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
    with warnings.catch_warnings():
        # Where rows are longer than the header pandas only warns, or else makes an index of the first column.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        table = pd.read_csv(path, sep=separator, index_col=False, low_memory=False)
    return table.set_axis(header.iloc[0].tolist(), axis="columns")


def _read_parquet(path: Path) -> pd.DataFrame:
    require("pyarrow", extra="benchmark", needed_by=f"reading {path.name}")
    return arrow.read(path.read_bytes(), str(path), kind="parquet").frame.reset_index(drop=True)


@contextmanager
def _readable(path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except (SchemaError, ImportError):
        raise
    except Exception as error:
        raise SchemaError(f"{path} cannot be read ({_told(error)}). {remedy}") from error


def _told(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words if len(words) <= 200 else words[:200] + ' ...'}".rstrip(": ")


def _cache(folder: str | os.PathLike[str] | None) -> Path:
    """The folder that holds PMLB's files, or will."""
    chosen = os.environ.get("NICECF_DATA") if folder is None else os.fspath(folder)
    if not chosen:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nicecf" / "pmlb"
    top = Path(chosen).expanduser()
    if top.exists() and not top.is_dir():
        raise OptionError(f"folder={chosen!r} is a file; name the folder that holds, or shall hold, the datasets.")
    return top / "pmlb" if (top / "pmlb").is_dir() else top


def _place(cache: Path, name: str) -> Path:
    return cache / name / f"{name}.tsv.gz"


def _stored(name: str, cache: Path) -> str | None:
    """Under which name the cache has the table, if it has."""
    return next((one for one in (name, f"_deprecated_{name}") if _place(cache, one).is_file()), None)


def _fetched(name: str, cache: Path) -> pd.DataFrame:
    """The table of that name, from the cache if it is there, else downloaded and kept."""
    stored = _stored(name, cache)
    pmlb = require("pmlb", extra="benchmark", needed_by=f"loading the dataset {name!r}")
    if stored is not None:
        path = _place(cache, stored)
        with _readable(path, "Delete it, and load the dataset again to fetch it anew."):
            table: pd.DataFrame = pmlb.fetch_data(stored, local_cache_dir=str(cache), dropna=False)
        _check_facts(name, table, f"{path} is not the dataset of the paper", "Delete it to fetch it anew")
        return table
    table = _downloaded(pmlb, name, _place(cache, name))
    _check_facts(name, table, f"what PMLB offers as {name!r} is not the dataset of the paper", "It was not kept")
    _keep(table, _place(cache, name))
    return table


def _check_name(name: str) -> None:
    """OptionError unless PMLB knows the name."""
    try:
        others = require("pmlb", extra="benchmark", needed_by="").dataset_names
        known = f"choose one of the paper's 40 ({listed(PAPER, limit=4)}) or another name of PMLB's"
    except ImportError:
        others = []
        known = f"the paper's 40 are ({listed(PAPER, limit=4)}); {installing('benchmark')} for the rest of PMLB"
    if name not in others:
        raise OptionError(
            f"dataset {name!r} is not known; {known}, or give the path of a CSV or Parquet file."
            f"{did_you_mean(name, [*PAPER, *ALIASES, *others])}"
        )


def _downloaded(pmlb: Any, name: str, path: Path) -> pd.DataFrame:
    try:
        try:
            return pmlb.fetch_data(name, dropna=False)
        except Exception:
            if name not in _MOVED:
                raise
            return pd.read_csv(_MOVED_TO.format(name), sep="\t", compression="gzip")
    except Exception as error:
        raise SchemaError(
            f"there is no file {path}, and the dataset {name!r} could not be downloaded ({_told(error)}). Connect to "
            "the internet, put the file there, or name the folder that holds it: folder= here, --data in the "
            "command line, NICECF_DATA in the environment."
        ) from error


def _keep(table: pd.DataFrame, path: Path) -> None:
    """Write the file in one step: another process that looks for it finds all of it or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as workshop:
            written = Path(workshop) / path.name
            table.to_csv(written, sep="\t", compression="gzip", index=False)
            os.replace(written, path)
    except OSError as error:
        raise OptionError(
            f"the downloaded dataset cannot be kept as {path} ({_told(error)}). Name a folder that can be written to: "
            "folder= here, --data in the command line, NICECF_DATA in the environment."
        ) from error


def _check_facts(name: str, table: pd.DataFrame, complaint: str, remedy: str) -> None:
    """SchemaError if a dataset of the paper is not what it should be."""
    facts = PAPER.get(name)
    if facts is None:
        return
    end = f"{remedy}; to use a table of your own, give the path of its file."
    if table.shape != facts.shape:
        found, due = (f"{rows:,} rows and {columns} columns" for rows, columns in (table.shape, facts.shape))
        raise SchemaError(f"{complaint}: it has {found} instead of {due}. {end}")
    try:
        found = checksum(table)
    except (TypeError, ValueError):
        raise SchemaError(f"{complaint}: it holds values that are no numbers. {end}") from None
    if found != facts.checksum:
        raise SchemaError(f"{complaint}: names or values differ (checksum {found}, not {facts.checksum}). {end}")
