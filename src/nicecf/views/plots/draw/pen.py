"""What a sheet draws with: a matplotlib figure, or an SVG element. Places are inches from the top left corner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from nicecf.views.plots.draw.look import Look

Across: TypeAlias = Literal["left", "center", "right"]


class Pen(Protocol):
    """Draws text, lines and signs of a size in points; what is ``over`` more lies on what is over less."""

    def __init__(self, width: float, height: float, alt: str, look: Look) -> None: ...

    def text(
        self, x: float, y: float, words: str, size: float, color: str, *, bold: bool, across: Across, turned: bool
    ) -> None:
        """One line of text, in the middle of ``y``."""

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

    def box(
        self, x: float, y: float, width: float, height: float, color: str, *, edge: str | None, over: float
    ) -> None:
        """A rectangle, from its top left corner."""

    def mark(self, x: float, y: float, form: str, color: str, size: float, *, is_open: bool, over: float) -> None:
        """A sign at a place."""

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
