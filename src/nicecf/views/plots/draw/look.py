"""The colours of the pictures, for light and for dark pages.

Okabe and Ito's colours, which all eyes tell apart, a little lighter on dark; what they mean is also said by a form, a
sign or a word.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Colours by what they are for."""

    background: str
    ink: str
    pale: str  # what is said aside
    faint: str  # lines of a grid
    bar: str  # how training values are spread
    row: str
    after: str
    donor: str
    marked: str  # behind a cell that changed
    stripe: str  # behind every second line
    classes: tuple[str, ...]  # regions of a map
    shades: tuple[str, ...]  # from little to much


LIGHT = Look(
    background="#ffffff",
    ink="#1f2328",
    pale="#59636e",
    faint="#e2e6ea",
    bar="#c3ccd5",
    row="#0060a0",
    after="#b84a00",
    donor="#007a58",
    marked="#ffe3c2",
    stripe="#f6f8fa",
    classes=("#8fc1e8", "#f5bd86", "#8fd3b8", "#e3b5d2", "#e9dc7c", "#c2c8ce"),
    shades=("#f2b366", "#b84a00", "#3d1400"),
)
DARK = Look(
    background="#12161c",
    ink="#e8edf2",
    pale="#a3afbb",
    faint="#2c343d",
    bar="#47525e",
    row="#6cbcf2",
    after="#ffa552",
    donor="#3fcf9f",
    marked="#5a3510",
    stripe="#191f27",
    classes=("#1f4f75", "#7a4a17", "#1c5f4a", "#693f5a", "#5f581d", "#454d56"),
    shades=("#ffe6bf", "#ffa552", "#b3590f"),
)
# Of a page whose style sheet has the colours, light or dark: see PAGE_STYLE.
PAGE = Look(
    background="var(--paper)",
    ink="var(--ink)",
    pale="var(--soft)",
    faint="var(--line)",
    bar="var(--plot-bar)",
    row="var(--plot-row)",
    after="var(--plot-after)",
    donor="var(--plot-donor)",
    marked="var(--mark)",
    stripe="var(--head)",
    classes=(),
    shades=(),
)
PAGE_STYLE = f"""
:root {{ --plot-bar: {LIGHT.bar}; --plot-row: {LIGHT.row}; --plot-after: {LIGHT.after}; --plot-donor: {LIGHT.donor}; }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ --plot-bar: {DARK.bar}; --plot-row: {DARK.row};
  --plot-after: {DARK.after}; --plot-donor: {DARK.donor}; }} }}
.picture {{ font-family: "DejaVu Sans", Verdana, sans-serif; }}
"""
