"""What a report is made of, before it has a format: sections of texts, lists, code, tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An empty cell: a dash, which cannot be taken for a minus.
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """One cell as it is shown, line breaks included, and what a file for programs holds instead (None: the text)."""

    text: str
    is_bold: bool = False
    value: float | str | None = None


@dataclass(frozen=True)
class Row:
    """A line of a table; a quiet one belongs to the line above it and is set smaller."""

    cells: tuple[Cell, ...]
    is_quiet: bool = False


@dataclass(frozen=True)
class Table:
    """``name`` is that of its files; ``is_text``: cells hold sentences and are set to the left."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    is_text: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.head):
                raise AssertionError(f"table {self.name}: {len(row.cells)} cells under {len(self.head)} heads")


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, the name of its files and what it shows, in words."""

    name: str
    title: str
    figure: Figure


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str


@dataclass(frozen=True)
class Listing:
    """Points, one per line."""

    points: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines to type, shown as they are."""

    lines: str


@dataclass(frozen=True)
class Folded:
    """Blocks that few readers want: behind a line to click on, where the format can do that."""

    title: str
    blocks: tuple[Table | Text, ...]


Block: TypeAlias = Table | Picture | Text | Listing | Code | Folded


@dataclass(frozen=True, eq=False)
class Section:
    """A chapter with its blocks."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, eq=False)
class Document:
    """The whole report."""

    title: str
    sections: tuple[Section, ...]

    def tables(self) -> list[Table]:
        """All tables, the folded ones included, in order."""
        found: list[Table] = []
        for block in self._blocks():
            inner = block.blocks if isinstance(block, Folded) else (block,)
            found += [one for one in inner if isinstance(one, Table)]
        return found

    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [block for block in self._blocks() if isinstance(block, Picture)]

    def _blocks(self) -> Iterable[Block]:
        return (block for section in self.sections for block in section.blocks)


def number(value: float | None, digits: int = 2, *, is_bold: bool = False, sign: bool = False) -> Cell:
    """A number with ``digits`` decimals and commas between thousands; a dash where there is none.

    >>> number(1606.54, 1).text, number(0.25, sign=True).text, number(-0.001, sign=True).text
    ('1,606.5', '+0.25', '0.00')
    """
    if value is None or isnan(value):
        return Cell(NOTHING, value="")
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = f"{0:.{digits}f}"
    return Cell(text, is_bold, value=float(value))


def factor(value: float | None) -> Cell:
    """How many times as much, with two figures that count.

    >>> factor(0.0312).text, factor(12.44).text, factor(1234.5).text
    ('0.031x', '12x', '1,234x')
    """
    if value is None or isnan(value):
        return Cell(NOTHING, value="")
    digits = 0 if value >= 10 else 1 if value >= 1 else 2 if value >= 0.1 else 3
    return Cell(f"{value:,.{digits}f}x", value=float(value))


def words(*texts: object) -> Row:
    """A line of plain texts."""
    return Row(tuple(Cell(str(text)) for text in texts))


def line(label: str, cells: Iterable[Cell], *, of: str = "") -> Row:
    """A line of numbers behind its label; with ``of`` it is a quiet one about the line named so."""
    first = Cell(label, value=f"{of}: {label}") if of else Cell(label)
    return Row((first, *cells), is_quiet=bool(of))


def joined(names: Sequence[str], *, last: str = "and") -> str:
    """Names in a sentence.

    >>> joined(["a", "b", "c"]), joined(["a"]), joined([])
    ('a, b and c', 'a', '')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"
