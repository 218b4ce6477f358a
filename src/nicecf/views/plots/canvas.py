"""Matplotlib figures that belong to nobody, and files of them that are the same bytes for the same figure.

No pyplot and no window. A figure is made by one thread; writing it is safe from many.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nicecf.support.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Suffix: TypeAlias = Literal["png", "svg", "pdf"]

INK, PALE = "#222222", "#6b6b6b"
SMALL, USUAL, LARGE = 9.0, 10.0, 11.0
DPI = 150
# Left to itself, matplotlib writes the day and its version into a file.
_UNWANTED: dict[Suffix, tuple[str, ...]] = {
    "png": ("Software",),
    "svg": ("Creator", "Date", "Format", "Type"),
    "pdf": ("Creator", "Producer", "CreationDate"),
}
# Who changes the settings of matplotlib, if only for a moment, or those of a figure, as writing does, is alone.
_ALONE = RLock()
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
def style(*, extra: str = "plots", needed_by: str = "nicecf.plots") -> Iterator[None]:
    """Within it, figures are made and written with the settings of this file, in one thread at a time.

    ``extra`` and ``needed_by`` are for the error where matplotlib is not installed. For figures that leave the look to
    the settings; what says of every line how it looks needs none of it.
    """
    styles = matplotlib("matplotlib.style", extra=extra, needed_by=needed_by)
    with _ALONE, styles.context(["default", _SETTINGS]):
        yield


def new_figure(width: float, height: float, title: str, *, background: str = "white", dpi: float = 100.0) -> Figure:
    """An empty figure; sizes in inches. The title describes it, and is not drawn."""
    figure: Figure = matplotlib("matplotlib.figure").Figure(
        figsize=(width, height), dpi=dpi, facecolor=background, edgecolor=background, linewidth=0, layout="none"
    )
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
    suffixes: tuple[Suffix, ...] = ("png", "svg")
    for suffix in suffixes:
        # Not with_suffix: what follows the dot in "GAMETES_0.1H" is not a suffix.
        whole, part = (path.with_name(f"{path.name}.{end}") for end in (suffix, f"{suffix}.part"))
        try:
            with style():
                part.write_bytes(drawn(figure, suffix))
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
    with style():
        svg = drawn(figure, "svg").decode()
    svg = svg[svg.index("<svg") :].strip()
    prefix = prefix or f"figure-{hashlib.sha256(svg.encode()).hexdigest()[:8]}"
    in_tag = re.compile(r'(\bid="|href="#|url\(#)')
    svg = re.sub("<[^>]+>", lambda tag: in_tag.sub(rf"\g<1>{prefix}-", tag[0]), svg)  # not in what is written
    # The style sheet of an element within a page counts for the whole page.
    svg = re.sub(r'(<style type="text/css">)\*', rf"\g<1>#{prefix} *", svg)
    return svg.replace("<svg", f'<svg id="{prefix}" role="img" aria-label="{escape(str(figure.get_label()))}"', 1)


def drawn(figure: Figure, suffix: Suffix, *, dpi: float = DPI, alt: str = "") -> bytes:
    """The bytes of a file of a figure: the same for the same figure, if its settings are.

    ``alt``: what it shows in words, kept in the metadata of the file for those who cannot see it.
    """
    written = io.BytesIO()
    with _ALONE:
        is_to_be_cropped = matplotlib("matplotlib").rcParams["savefig.bbox"] is not None
        # All of the figure, in its own colour, whatever the user's settings say.
        figure.savefig(
            written,
            format=suffix,
            dpi=dpi,
            facecolor=figure.get_facecolor(),
            edgecolor=figure.get_edgecolor(),
            bbox_inches=figure.bbox_inches if is_to_be_cropped else None,
            metadata={**dict.fromkeys(_UNWANTED[suffix]), **_described(alt, suffix)},
        )
    return written.getvalue()


def _described(alt: str, suffix: Suffix) -> dict[str, str]:
    return {{"png": "Description", "svg": "Description", "pdf": "Subject"}[suffix]: alt} if alt else {}


def matplotlib(module: str, *, extra: str = "plots", needed_by: str = "nicecf.plots") -> Any:  # it has no types
    """One of the modules of matplotlib; raises ImportError with what to install if it is missing."""
    return require(module, extra=extra, needed_by=needed_by)
