"""Plain tables for a terminal, and what stands in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, log10

from nicecf.support.formats import harmless

_LONGEST = 400
_NARROWEST = 6


def aligned(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    cut: Sequence[int] = (),
    width: int = 100,
) -> str:
    """Cells under their heads, two blanks between columns; the columns in ``right`` are set to the right.

    Those in ``cut`` hold texts that are cut, the widest first, where the table would be wider than ``width``.

    >>> print(aligned(["name", "n"], [["a", "1"], ["bcdef", "10"]], right=[1]))
    name    n
    a       1
    bcdef  10
    >>> print(aligned(["name", "n"], [["a", "1"], ["bcdefghijkl", "10"]], right=[1], cut=[0], width=10))
    name     n
    a        1
    bcdef…  10
    """
    lines = [[short(cell, _LONGEST) for cell in line] for line in (head, *rows)]
    to_right = set(right)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    while cut and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(cut, key=lambda at: widths[at])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return "\n".join(
        "  ".join(
            short(cell, most).rjust(most) if at in to_right else short(cell, most).ljust(most)
            for at, (cell, most) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def short(value: object, most: int) -> str:
    r"""A text on one line, cut to ``most`` characters.

    >>> short("a long name", 8), short("two\nlines", 20)
    ('a long …', 'two lines')
    """
    line = harmless(" ".join(str(value).split()))
    return line if len(line) <= most else line[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def significant(value: float, digits: int = 4) -> str:
    """A number with ``digits`` significant digits; whole digits are never cut.

    >>> significant(0.0123456), significant(12345.6), significant(620.0), significant(-1.5e-7)
    ('0.01235', '12346', '620', '-1.5e-07')
    """
    if value == 0 or (float(value).is_integer() and abs(value) < 1e15):
        return f"{value:.0f}" if value else "0"
    if not 1e-5 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
