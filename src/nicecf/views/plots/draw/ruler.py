"""How wide a text is, and how it is cut or broken to fit: before there is a figure to draw it on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

from nicecf.views.plots.canvas import matplotlib
from nicecf.views.plots.data.common import Step
from nicecf.views.plots.draw.widths import is_known, width_of

SMALL, USUAL, LARGE = 8.5, 9.5, 12.0
# Wide enough for what a file of another resolution, or hinting, makes of the widths.
_SLACK = 1.035
_DPI = 100.0
_MOST_ROUNDS = 4
_FAMILY = ("DejaVu Sans", "sans-serif")  # matplotlib brings the first; the user's own for what signs it lacks


def font(size: float, *, bold: bool = False) -> Any:  # matplotlib has no types
    """A font, whatever the settings of matplotlib are."""
    return matplotlib("matplotlib.font_manager").FontProperties(
        family=list(_FAMILY),
        size=size,
        weight="bold" if bold else "normal",
        style="normal",
        variant="normal",
        stretch="normal",
    )


def width(text: str, size: float = USUAL, *, bold: bool = False) -> float:
    """The width of one line, in inches: that of its signs one after the other, since to set a line takes long.

    It is a little less where signs move together, as in "AV".
    """
    return _SLACK * sum(_sign_width(sign, size, bold) for sign in text)


@lru_cache(maxsize=4096)
def _sign_width(sign: str, size: float, bold: bool) -> float:
    if is_known(sign) or not _has_matplotlib():
        return size / 72 * width_of(sign, bold=bold)
    # Between two others: alone, a sign is as wide as its ink, and a space has none.
    return (_drawn_width(f"|{sign}|", size, bold) - _drawn_width("||", size, bold)) / _DPI


@cache
def _has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


@lru_cache(maxsize=1024)
def _drawn_width(text: str, size: float, bold: bool) -> float:
    renderer = matplotlib("matplotlib.backends.backend_agg").RendererAgg(8, 8, _DPI)
    with warnings.catch_warnings():
        # A sign that no font has is a box, which has a width as well: nobody needs to be told of it here.
        warnings.simplefilter("ignore", UserWarning)
        pixels, _, _ = renderer.get_text_width_height_descent(text, font(size, bold=bold), ismath=False)
    return float(pixels)


def line_height(size: float = USUAL) -> float:
    """From one line of text to the next, in inches."""
    return 1.36 * size / 72


def cut(text: str, room: float, size: float = USUAL, *, bold: bool = False) -> str:
    """The text, or as much of its start as fits and an ellipsis."""
    if width(text, size, bold=bold) <= room:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if width(_shortened(text, middle), size, bold=bold) <= room:
            low = middle
        else:
            high = middle - 1
    return _shortened(text, low)


def cut_apart(texts: Sequence[str], rooms: Sequence[float], size: float = USUAL, *, bold: bool = False) -> list[str]:
    """Each text cut to its room; of those that would then look alike, what tells them apart is kept."""
    shown = [cut(text, room, size, bold=bold) for text, room in zip(texts, rooms, strict=True)]
    starts = [0] * len(texts)
    for _ in range(_MOST_ROUNDS):
        alike: dict[str, list[int]] = {}
        for i, one in enumerate(shown):
            alike.setdefault(one, []).append(i)
        groups = [group for group in alike.values() if len({texts[i] for i in group}) > 1]
        if not groups:
            break
        for group in groups:
            shared = _shared([texts[i] for i in group])
            start = max(_word_start(shared), max(starts[i] for i in group) + 1)
            for i in group:
                starts[i] = min(start, len(texts[i]))
                shown[i] = _around(texts[i], starts[i], rooms[i], size, bold=bold)
    return shown


def cut_steps(steps: Sequence[Step], room: float, size: float = USUAL) -> list[str]:
    """Changes in one line each: first the names are cut, then the values."""
    gap = width("x x", size) - 2 * width("x", size)
    values = []
    for step in steps:
        space = max(room - gap - width(step.feature, size), 0.6 * room)
        ends = [step.before, step.after]
        if width(f"{step.before} → {step.after}", size) > space:
            half = (space - width(" → ", size)) / 2
            # What the shorter one leaves is for the other.
            taken = [min(width(end, size), half) for end in ends]
            ends = cut_apart(ends, [2 * half - taken[1], 2 * half - taken[0]], size)
        values.append(" → ".join(ends))
    names = cut_apart([s.feature for s in steps], [room - gap - width(value, size) for value in values], size)
    return [f"{name} {value}" for name, value in zip(names, values, strict=True)]


def broken(text: str, room: float, size: float = USUAL, *, bold: bool = False, most: int = 2) -> list[str]:
    """Break text into at most ``most`` lines that fit: at spaces, but not before %, or anywhere in a long word.

    The last line is cut.
    """
    lines: list[str] = []
    rest = text.replace(" %", "\N{NO-BREAK SPACE}%")
    while rest and len(lines) < most - 1 and width(rest, size, bold=bold) > room:
        head = _head(rest, room, size, bold=bold)
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    lines += [cut(rest, room, size, bold=bold)] if rest or not lines else []
    return [line.replace("\N{NO-BREAK SPACE}%", " %") for line in lines]


def _head(text: str, room: float, size: float, *, bold: bool) -> str:
    """What goes on the first line."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if width(text[:middle], size, bold=bold) <= room:
            low = middle
        else:
            high = middle - 1
    if low == len(text) or text[low] == " ":
        return text[:low]
    # After a space, else another sign at which one may break; not so early that the line is nearly empty.
    for signs in (" ", "_-/.,;:|"):
        ends = [i + 1 for i in range(low // 2, low) if text[i] in signs]
        if ends:
            return text[: ends[-1]]
    return text[:low]


def _around(text: str, start: int, room: float, size: float, *, bold: bool) -> str:
    """The text from a place on, and before that as much of its start as fits."""
    rest = cut("…" + text[start:], room, size, bold=bold)
    space = room - width(rest, size, bold=bold)
    head = text[:start]
    while head and width(head, size, bold=bold) > space:
        head = head[:-1]
    return head.rstrip() + rest


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with: no others differ earlier than the first and the last in the alphabet."""
    first, last = min(texts), max(texts)
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _word_start(shared: str) -> int:
    """Where the word begins, or nearly, in which texts that begin alike differ."""
    near = max(shared.rfind(sign) + 1 for sign in " _-/.,;:|")
    return near if len(shared) - near <= 10 else max(len(shared) - 3, 0)


def _shortened(text: str, length: int) -> str:
    return text[:length].rstrip() + "…"
