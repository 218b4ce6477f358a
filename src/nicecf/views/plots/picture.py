"""A picture: a figure that shows itself in a notebook and writes itself into a file."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, get_args

from nicecf.exceptions import OptionError
from nicecf.support.files import checked, writing
from nicecf.views.documents.html import text
from nicecf.views.plots.canvas import DPI, Suffix, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ON_SCREEN = 100.0
_MADE_UP = re.compile(r'(?<=\bid=")([a-z]+)([0-9a-f]{10})(?=")')


@dataclass(frozen=True, eq=False, repr=False)
class Picture:
    """What the functions of :mod:`nicecf.plots` give.

    ``figure`` is a matplotlib figure to go on with; ``alt`` says in words what it shows, for those who cannot see it.
    Shown by itself in a notebook.
    """

    figure: Figure
    alt: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: PNG, SVG or PDF, by the end of its name. It is there as a whole, or as it was before.

        The same picture gives the same bytes, with one version of matplotlib.
        """
        suffix = PurePath(checked(path)).suffix.lower().removeprefix(".")
        known = next((one for one in get_args(Suffix) if one == suffix), None)
        if known is None:
            raise OptionError(
                f"a picture is a .png, .svg or .pdf file, not {os.fspath(path)!r}. End the name with one of them."
            )
        contents = _bytes(self.figure, known)
        with writing(path) as file:
            file.write(contents)

    def _repr_png_(self) -> bytes:
        return _bytes(self.figure, "png", dpi=_ON_SCREEN)

    def _repr_html_(self) -> str:
        png = b64encode(self._repr_png_()).decode()
        return f'<img alt="{text(self.alt)}" style="max-width:100%" src="data:image/png;base64,{png}">'

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, object], dict[str, dict[str, str]]]:
        """What a notebook keeps: programs that show the PNG find the description beside it."""
        shown: dict[str, object] = {
            "text/html": self._repr_html_(),
            "image/png": self._repr_png_(),
            "text/plain": repr(self),
        }
        return shown, {"image/png": {"alt": self.alt}}

    def __repr__(self) -> str:
        """What it shows, and how to keep it."""
        return f"<Picture: {self.alt} Keep it with .save('picture.png'), .svg or .pdf.>"


def _bytes(figure: Figure, suffix: Suffix, *, dpi: float = DPI) -> bytes:
    contents = drawn(figure, suffix, dpi=dpi, alt=str(figure.get_label()))
    if suffix != "svg":
        return contents
    svg = _numbered(contents.decode())
    return svg.replace("<svg", f'<svg role="img" aria-label="{text(figure.get_label())}"', 1).encode()


def _numbered(svg: str) -> str:
    """An SVG with its random ids replaced by numbers: the same for the same picture."""
    names = {
        f"{kind}{made_up}": f"{kind}-{i}" for i, (kind, made_up) in enumerate(dict.fromkeys(_MADE_UP.findall(svg)))
    }
    if not names:
        return svg
    return re.sub("|".join(map(re.escape, names)), lambda found: names[found[0]], svg)
