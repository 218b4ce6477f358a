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

from nicecf.benchmark.loan_book import loan_book
from nicecf.exceptions import OptionError, SchemaError, did_you_mean, listed
from nicecf.support.extras import require
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
    "name_of",
]


@dataclass(frozen=True)
class Facts:
    """A line of the paper's table of datasets, and what tells that a file is that dataset.

    ``printed`` is the paper's name for it and ``imbalance`` the share of class 1. ``rows`` is what the file has where
    the paper prints another number of instances. ``checksum`` is that of :func:`checksum`.
    """

    printed: str
    instances: int
    features: int
    categorical: int
    numerical: int
    imbalance: float
    auc_ann: float
    auc_rf: float
    checksum: str
    rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the file, the label among them."""
        return self.instances if self.rows is None else self.rows, self.features + 1


# The paper numbers its four GAMETES without saying which is which. They are taken in alphabetical order, like the rest
# of its table: forests reach 0.63, 0.78, 0.67 and 0.69 on them where it prints 0.65, 0.78, 0.72 and 0.71, which settles
# the first two; the last two could be the other way round.
PAPER: dict[str, Facts] = {
    "adult": Facts("adult", 48842, 14, 5, 9, 0.761, 0.903, 0.913, "b8795db2e4b0e74aed92b7ced7616173"),
    "agaricus_lepiota": Facts(
        "agaricus_lepiota", 8154, 22, 21, 1, 0.481, 1.000, 1.000, "cebdf9a33a34778ebcfde09146db19b1", rows=8145
    ),
    "australian": Facts("australian", 690, 14, 7, 7, 0.445, 0.905, 0.940, "5ef02a0df67d4d1ea7e43a14868685e7"),
    "breast_w": Facts("breast_w", 699, 9, 8, 1, 0.345, 0.991, 0.997, "2452c09b10788fa6d02497fa646a271b"),
    "buggyCrx": Facts("buggyCrx", 690, 15, 8, 7, 0.555, 0.921, 0.949, "c068fbe24f4be14801bf1d6696409ef3"),
    "chess": Facts("chess", 3196, 36, 36, 0, 0.522, 1.000, 0.999, "daf4736db5e522f6f1969df9bc11edc5"),
    "churn": Facts("churn", 5000, 20, 4, 16, 0.142, 0.872, 0.919, "dd6c0bb9bbfdff6ba904cb198a58b9f6"),
    "clean2": Facts("clean2", 6598, 168, 0, 168, 0.154, 1.000, 1.000, "786f6818c93b1cbc40c51e4f785814ed"),
    "coil2000": Facts("coil2000", 9822, 85, 84, 1, 0.060, 0.691, 0.745, "850317752698febeee7209d1646723d5"),
    "credit_a": Facts("credit_a", 690, 15, 8, 7, 0.555, 0.902, 0.910, "d2053fa0173515bfc4027299f8c7d04e"),
    "credit_g": Facts("credit_g", 1000, 20, 17, 3, 0.700, 0.663, 0.731, "fa7eac08c35726afb57c605c39c90605"),
    "crx": Facts("crx", 690, 15, 8, 7, 0.445, 0.859, 0.941, "1a8cd4f1898334778bd59bb13ffcf7e4"),
    "diabetes": Facts("diabetes", 768, 8, 0, 8, 0.349, 0.823, 0.851, "0d9a9ae100a327ea1a9162142a76cb0e"),
    "dis": Facts("dis", 3772, 29, 23, 6, 0.985, 0.895, 0.989, "c52cf25aec553abced91cf22e7e2ecc5"),
    "GAMETES_Epistasis_2_Way_20atts_0.1H_EDM_1_1": Facts(
        "GAMETES1", 1600, 20, 20, 0, 0.500, 0.636, 0.648, "f7375b7bc570dde05222ea4da51ee927"
    ),
    "GAMETES_Epistasis_2_Way_20atts_0.4H_EDM_1_1": Facts(
        "GAMETES2", 1600, 20, 20, 0, 0.500, 0.746, 0.780, "7f36213750116b9c1fe313f32c8f25b4"
    ),
    "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001": Facts(
        "GAMETES3", 1600, 20, 20, 0, 0.500, 0.664, 0.722, "decf378f09e2383fdd696eed0e9c6bd9"
    ),
    "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_75_EDM_2_001": Facts(
        "GAMETES4", 1600, 20, 20, 0, 0.500, 0.690, 0.705, "bb2713d186933173849cd3c96f97e9bf"
    ),
    "german": Facts("german", 1000, 20, 17, 3, 0.700, 0.718, 0.758, "017311ed9f2849937897d6ce2c4a3bc9"),
    "Hill_Valley_without_noise": Facts(
        "Hill_Valley", 1212, 100, 0, 100, 0.505, 0.993, 0.557, "ba1b7c49ba4b1c59664ba09a53c9fc9d"
    ),
    "hypothyroid": Facts("hypothyroid", 3163, 25, 18, 7, 0.952, 0.975, 0.988, "e302d6f03b0d9c7de342f22a46d6d518"),
    "kr_vs_kp": Facts("kr_vs_kp", 3196, 36, 36, 0, 0.522, 1.000, 0.999, "1d137ee2a00436e720b4829e4c43e289"),
    "magic": Facts("magic", 19020, 10, 0, 10, 0.352, 0.922, 0.937, "d45dcbc415daf3870432b5d7f9ba02c3"),
    "mofn_3_7_10": Facts("mofn_3_7_10", 1324, 10, 10, 0, 0.779, 1.000, 1.000, "fc583580936c2b827bee0a39b14569aa"),
    "monk1": Facts("monk1", 556, 6, 6, 0, 0.500, 1.000, 1.000, "b3e2c8df61d56fbf0146c4a7cf0acbed"),
    "monk2": Facts("monk2", 601, 6, 6, 0, 0.342, 1.000, 0.896, "9a646fac15a2bf13004c40d6afbc45f0"),
    "monk3": Facts("monk3", 554, 6, 6, 0, 0.520, 0.992, 0.986, "22b51c36510389bf892c05a13a0fbd95"),
    "mushroom": Facts("mushroom", 8124, 22, 21, 1, 0.482, 1.000, 1.000, "d6d92b0d9168fa5773c9b95dfd82d27a"),
    "parity5+5": Facts("parity5+5", 1124, 10, 10, 0, 0.504, 1.000, 0.674, "62b88f51fdb98e5ea4f8c8e20ccc389c"),
    "phoneme": Facts("phoneme", 5404, 5, 0, 5, 0.294, 0.906, 0.970, "cf097069ed7bd8d23d710dbbfdb37de2"),
    "pima": Facts("pima", 768, 8, 0, 8, 0.349, 0.867, 0.819, "b0158a3f5d5f69ba88bba17cf94bd60a"),
    "profb": Facts("profb", 672, 9, 3, 6, 0.333, 0.633, 0.676, "e3bd80bcbc977522d3faf0d4a164e438"),
    "ring": Facts("ring", 7400, 20, 0, 20, 0.505, 0.990, 0.992, "5cf8718d8dae7602f30bdf1f834d2b63"),
    "spambase": Facts("spambase", 4601, 57, 0, 57, 0.394, 0.974, 0.988, "a41db15e3426fcf8dd64a3a265a69ca2"),
    "threeOf9": Facts("threeOf9", 512, 9, 9, 0, 0.465, 0.972, 0.999, "50afc3e588688536bcc11adfd097b0e2"),
    "tic_tac_toe": Facts("tic_tac_toe", 958, 9, 9, 0, 0.653, 0.997, 1.000, "979c595a5ad25931a43ebea8d2728dad"),
    "tokyo1": Facts("tokyo1", 959, 44, 2, 42, 0.639, 0.962, 0.983, "ce563c825c31d426c1d8976ff9645305"),
    "twonorm": Facts("twonorm", 7400, 20, 0, 20, 0.500, 0.996, 0.997, "a9fc8d8cbbef2371788a1c9e9bb04cd3"),
    "wdbc": Facts("wdbc", 569, 30, 0, 30, 0.371, 0.973, 0.981, "8f64ad17923f961228e5f560ecf55945"),
    "xd6": Facts("xd6", 973, 9, 9, 0, 0.331, 1.000, 1.000, "dd172426d109a5ae26c812cb238e6f40"),
}

ALIASES: dict[str, str] = {facts.printed: name for name, facts in PAPER.items() if facts.printed != name}

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
        known = f"the paper's 40 are ({listed(PAPER, limit=4)}); pip install 'nicecf[benchmark]' for the rest of PMLB"
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
