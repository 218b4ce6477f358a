"""Matplotlib figures that belong to nobody, and files of them that are the same bytes for the same figure.

No pyplot and no window; the settings of the user's matplotlib neither count nor change.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nicecf._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE = "#222222", "#6b6b6b"
SMALL, USUAL, LARGE = 9.0, 10.0, 11.0
_DPI = 150
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text, a tenth of the bytes of its outlines
    "svg.hashsalt": "nicecf",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.size": USUAL,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.6,
}


@contextmanager
def style() -> Iterator[None]:
    """Within it, figures are made and written with the settings of this file."""
    with matplotlib("matplotlib.style").context(["default", _SETTINGS]):
        yield


def new_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure; sizes in inches. The title describes it, and is not drawn."""
    figure: Figure = matplotlib("matplotlib.figure").Figure(figsize=(width, height), facecolor="white")
    matplotlib("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)  # it can measure text
    figure.set_label(title)
    return figure


def text_size(axes: Axes, text: str, *, font_size: float = USUAL, weight: str = "normal") -> tuple[float, float]:
    """Width and height of a text, in inches."""
    written = axes.text(0.0, 0.0, text, fontsize=font_size, weight=weight)
    box = written.get_window_extent()
    written.remove()
    dpi = axes.figure.dpi
    return box.width / dpi, box.height / dpi


def save(figure: Figure, path_without_suffix: str | Path) -> list[Path]:
    """Write a figure as PNG and as SVG; gives the two paths. Each file is complete, or not there at all."""
    path = Path(path_without_suffix)
    written = []
    for suffix in ("png", "svg"):
        # Not with_suffix: what follows the dot in "GAMETES_0.1H" is no suffix.
        whole, part = (path.with_name(f"{path.name}.{end}") for end in (suffix, f"{suffix}.part"))
        try:
            part.write_bytes(_drawn(figure, suffix))
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)
        written.append(whole)
    return written


def as_svg(figure: Figure, prefix: str | None = None) -> str:
    """A figure as an ``<svg>`` element to put into a page, with its title as the description.

    ``prefix``: what all ids in it start with, so that several in one page do not clash; by default a digest of what is
    drawn. Text is text: it shows without a network, and can be found and copied.
    """
    drawn = _drawn(figure, "svg").decode()
    drawn = drawn[drawn.index("<svg") :].strip()
    prefix = prefix or f"figure-{hashlib.sha256(drawn.encode()).hexdigest()[:8]}"
    in_tag = re.compile(r'(\bid="|href="#|url\(#)')
    drawn = re.sub("<[^>]+>", lambda tag: in_tag.sub(rf"\g<1>{prefix}-", tag[0]), drawn)  # not in what is written
    # The style sheet of an element within a page counts for the whole page.
    drawn = re.sub(r'(<style type="text/css">)\*', rf"\g<1>#{prefix} *", drawn)
    return drawn.replace("<svg", f'<svg id="{prefix}" role="img" aria-label="{escape(str(figure.get_label()))}"', 1)


def _drawn(figure: Figure, suffix: str) -> bytes:
    # Left to itself, matplotlib writes the day and its version into the file.
    fields = {"png": ["Software"], "svg": ["Creator", "Date", "Format", "Type"]}[suffix]
    written = io.BytesIO()
    with style():
        figure.savefig(written, format=suffix, dpi=_DPI, metadata=dict.fromkeys(fields))
    return written.getvalue()


def matplotlib(module: str) -> Any:
    """One of the modules of matplotlib; ImportError with what to install where it is not there."""
    return require(module, extra="benchmark", needed_by="nicecf benchmark report")
