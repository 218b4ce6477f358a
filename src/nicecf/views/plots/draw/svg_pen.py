"""Draws an ``<svg>`` element for a page: small, in the colours of the page's style sheet, and without matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from nicecf.views.documents.html import text as escaped
from nicecf.views.plots.draw.look import Look
from nicecf.views.plots.draw.pen import Across

_PIXELS = 96  # of an inch
_POINTS = _PIXELS / 72
_ANCHORS: dict[Across, str] = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}
_CROP = 0.2  # of the margin: a page has one of its own
_BASELINE = 0.36  # from the middle of a line of text to what it stands on, as a share of its size


class SvgPen:
    """A pen whose picture is text: no style in it, since the page forbids styles of their own."""

    def __init__(self, width: float, height: float, alt: str, look: Look) -> None:
        self.background = look.background
        self._head = (
            f'<svg class="picture" role="img" aria-label="{escaped(alt)}" '
            f'viewBox="{_px(_CROP)} {_px(_CROP)} {_px(width - 2 * _CROP)} {_px(height - 2 * _CROP)}" '
            f'width="{_px(width - 2 * _CROP)}" height="{_px(height - 2 * _CROP)}">'
        )
        self._parts: list[tuple[float, str]] = []
        # Boxes of one colour in a row, such as the bars of a histogram, are one path.
        self._boxes: tuple[float, str, list[str]] = (0.0, "", [])

    @property
    def svg(self) -> str:
        """The picture."""
        self._end_boxes()
        return self._head + "".join(part for _, part in sorted(self._parts, key=lambda one: one[0])) + "</svg>"

    def text(
        self, x: float, y: float, words: str, size: float, color: str, *, bold: bool, across: Across, turned: bool
    ) -> None:
        """One line of text."""
        pixels = size * _POINTS
        weight = ' font-weight="bold"' if bold else ""
        place = f'x="{_px(x)}" y="{_number(y * _PIXELS + _BASELINE * pixels)}"'
        if turned:
            place = f'transform="translate({_number(x * _PIXELS + _BASELINE * pixels)} {_px(y)}) rotate(-90)"'
        self._add(
            10,
            f'<text {place} font-size="{_number(pixels)}" fill="{color}"{weight}{_ANCHORS[across]}>'
            f"{escaped(words)}</text>",
        )

    def line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        color: str,
        width: float,
        *,
        dashes: tuple[float, ...] | None,
        over: float,
    ) -> None:
        """A line through some places."""
        path = "M" + "L".join(f"{_px(x)} {_px(y)}" for x, y in zip(xs, ys, strict=True))
        self._add(over, f'<path d="{path}" fill="none"{_stroke(color, width, dashes)}/>')

    def box(
        self, x: float, y: float, width: float, height: float, color: str, *, edge: str | None, over: float
    ) -> None:
        """A rectangle, from its top left corner."""
        path = f"M{_px(x)} {_px(y)}h{_px(width)}v{_px(height)}h-{_px(width)}z"
        if edge is not None:
            self._add(over, f'<path d="{path}" fill="{color}"{_stroke(edge, 0.8)}/>')
        elif self._boxes[:2] == (over, color):
            self._boxes[2].append(path)
        else:
            self._end_boxes()
            self._boxes = (over, color, [path])

    def mark(self, x: float, y: float, form: str, color: str, size: float, *, is_open: bool, over: float) -> None:
        """A circle, or a diamond on its corner."""
        fill, edge = (self.background, color) if is_open else (color, self.background)
        look = f'fill="{fill}"{_stroke(edge, 1.4 if is_open else 1.0)}'
        half = size / 2 * _POINTS
        if form == "D":
            reach = half * 2**0.5
            one, other = _number(reach), _number(-reach)
            path = f"M{_px(x)} {_number(y * _PIXELS - reach)}l{one} {one}l{other} {one}l{other} {other}z"
            self._add(over, f'<path d="{path}" {look}/>')
        else:
            self._add(over, f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_number(half)}" {look}/>')

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        color: str,
        width: float,
        *,
        bend: float,
        shrink: tuple[float, float],
        over: float,
    ) -> None:
        """An arrow, bent to one side by a share of its length; shrunk at its ends by some points."""
        (x, y), (to_x, to_y) = ((a * _PIXELS, b * _PIXELS) for a, b in (start, end))
        # As matplotlib bends: the middle is moved across the way, by a share of its length.
        middle_x = (x + to_x) / 2 + bend * (y - to_y) * -1
        middle_y = (y + to_y) / 2 + bend * (x - to_x)
        x, y = _towards((x, y), (middle_x, middle_y), shrink[0] * _POINTS)
        to_x, to_y = _towards((to_x, to_y), (middle_x, middle_y), shrink[1] * _POINTS)
        length = hypot(to_x - middle_x, to_y - middle_y) or 1.0
        along = (to_x - middle_x) / length, (to_y - middle_y) / length
        head, half = 7.0, 3.4
        base = to_x - head * along[0], to_y - head * along[1]
        corners = [(base[0] + side * half * along[1], base[1] - side * half * along[0]) for side in (1, -1)]
        path = (
            f"M{_number(x)} {_number(y)}Q{_number(middle_x)} {_number(middle_y)} {_number(base[0])} {_number(base[1])}"
        )
        tip = "L".join(f"{_number(a)} {_number(b)}" for a, b in (corners[0], (to_x, to_y), corners[1]))
        self._add(over, f'<path d="{path}" fill="none"{_stroke(color, width)}/><path d="M{tip}z" fill="{color}"/>')

    def _add(self, over: float, part: str) -> None:
        self._end_boxes()
        self._parts.append((over, part))

    def _end_boxes(self) -> None:
        over, color, paths = self._boxes
        if paths:
            self._parts.append((over, f'<path d="{"".join(paths)}" fill="{color}"/>'))
        self._boxes = (0.0, "", [])


def _towards(place: tuple[float, float], other: tuple[float, float], far: float) -> tuple[float, float]:
    """A place moved some way towards another."""
    length = hypot(other[0] - place[0], other[1] - place[1]) or 1.0
    return place[0] + far * (other[0] - place[0]) / length, place[1] + far * (other[1] - place[1]) / length


def _stroke(color: str, width: float, dashes: tuple[float, ...] | None = None) -> str:
    # Dashes of matplotlib are in widths of their line.
    drawn = f' stroke-dasharray="{" ".join(_number(dash * width * _POINTS) for dash in dashes)}"' if dashes else ""
    return f' stroke="{color}" stroke-width="{_number(width * _POINTS)}"{drawn}'


def _px(inches: float) -> str:
    return _number(inches * _PIXELS)


def _number(value: float) -> str:
    """With one decimal, and none where it is zero.

    >>> _number(12.04), _number(3.25), _number(-0.01)
    ('12', '3.2', '0')
    """
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")
    )
