"""A table as a file has it, and where in the file a row stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pandas as pd

from nicecf.exceptions import FileError, listed
from nicecf.tables.files.layout import Layout

# What pandas.read_csv takes for a missing cell: a training table that was read by it has none of these.
MISSING_WORDS = frozenset(
    [
        *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>", "NULL", "null", "None", "NaN", "nan"),
        *("-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ]
)


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table as a file has it.

    ``is_text``: whether the file knows no types, and every cell is text. ``where``: where the row at a position stands
    in the file, for messages: ``line 18``. ``layout``: how it was read, and ``given``: what of that was not recognised
    but said by the caller; ``grouped``: the columns whose numbers have marks between thousands. ``zero_padded``: a cell
    with leading zeros from each column that has one and was read as numbers. ``usual_sep``: what its format has between
    fields, unless a file is unusual.
    """

    name: str
    frame: pd.DataFrame
    is_text: bool
    where: Callable[[int], str]
    layout: Layout = field(default_factory=Layout)
    given: Layout = field(default_factory=Layout)
    grouped: tuple[str, ...] = ()
    zero_padded: Mapping[str, str] = field(default_factory=dict)
    usual_sep: str = ","

    @property
    def recognised(self) -> dict[str, str]:
        """The fields of ``layout`` that were recognised as something unusual."""
        usual = {"sep": (self.usual_sep,), "decimal": (".",), "encoding": ("utf-8", "utf-8-sig")}
        found = {name: value for name, value in self.layout.given.items() if name not in self.given.given}
        return {name: value for name, value in found.items() if value not in usual.get(name, ())}


@dataclass(frozen=True)
class TableFormat:
    """A format of table files, whose names have one of some ``endings``.

    ``read``: the bytes of a file, and its name for messages -> its table; ``write``: a frame, and the name -> bytes. A
    format of text without types has two more: ``guess``, as ``read``, but each column has the type that its cells look
    like, except for those named, and ``write_protected``, for text that a spreadsheet would take for a formula.
    ``needs``: what an empty file lacks. ``check``: raises if a package is missing that the format needs. ``takes``: the
    fields of a layout that mean something to the format, and ``laid_out``: the format as a layout says.
    """

    endings: tuple[str, ...]
    read: Callable[[bytes, str], FileTable]
    write: Callable[[pd.DataFrame, str], bytes]
    guess: Callable[[bytes, str, Collection[str]], FileTable] | None = None
    write_protected: Callable[[pd.DataFrame, str], bytes] | None = None
    can_be_zipped: bool = True
    needs: str = "a header with the names of the columns, and rows below it"
    check: Callable[[str], object] | None = None
    takes: tuple[str, ...] = ()
    laid_out: Callable[[Layout], TableFormat] | None = None


def check_header(names: Sequence[Hashable], name: str, *, is_text: bool) -> None:
    """FileError unless every column of the file called ``name`` has a name of its own."""
    if not names:
        raise FileError(f"{name} has no columns.")
    repeated = [one for one, count in Counter(names).items() if count > 1]
    if repeated:
        raise FileError(f"{name} has several columns called {listed(repeated)}; give each a name of its own.")
    nameless = [number for number, one in enumerate(names, 1) if not str(one).strip()]
    if nameless:
        raise FileError(
            f"{name} has no name over column {listed(nameless)}. If that is a saved index, write the table "
            "without it (index=False in pandas); else name it."
        )
    if is_text and _are_numbers(names):
        raise FileError(
            f"{name} has no header: its first line holds numbers ({listed(names, limit=4)}). Put the names of "
            "the columns above them."
        )


def _are_numbers(names: Sequence[Hashable]) -> bool:
    """Whether these are cells, not names. Columns may be numbered, by years or from 0."""
    try:
        numbers = [float(str(name)) for name in names]
    except ValueError:
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) < 2 or steps != {1.0}
