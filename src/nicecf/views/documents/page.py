"""One HTML page that needs nothing else: no network, no files beside it, and no script but its own."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from nicecf.views.documents.html import text


def page(title: str, body: str, *, style: str = "", script: str = "", language: str = "en") -> str:
    """A page of a body that is HTML already. The browser is told to load nothing, and to run this script alone."""
    style = _STYLE + style
    allowed = f"default-src 'none'; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    if script:
        allowed += f"; script-src {_digest(script)}"
    return (
        f'<!doctype html>\n<html lang="{text(language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def bar(share: float) -> str:
    """A bar as long as a share, from 0 to 1, of the room it is given; drawn, as styles of its own are forbidden.

    >>> bar(0.25)
    '<svg class="bar" aria-hidden="true"><rect width="25.0%" height="100%"/></svg>'
    """
    width = 100 * min(max(share, 0.0), 1.0)
    return f'<svg class="bar" aria-hidden="true"><rect width="{width:.1f}%" height="100%"/></svg>'


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b646d; --line: #d9dee2; --paper: #ffffff; --head: #f3f6f8;
  --link: #0b5cad; --mark: #ffe9a8; --bar: #3b7fc4; --track: #e9eef2; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e3e6e8; --soft: #9aa4ad; --line: #353d44;
  --paper: #14181b; --head: #1d2328; --link: #7db8f0; --mark: #57470f; --bar: #5b9bd8; --track: #262d33; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .4rem 0 .8rem; max-width: 60rem; }
a { color: var(--link); }
.soft { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .25rem 0 .75rem; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; text-align: left;
  min-width: 4.5rem; }
td.n, th.n { min-width: 0; }
th { color: var(--soft); font-weight: 600; }
.n { text-align: right; white-space: nowrap; }
mark { background: var(--mark); color: inherit; padding: 0 .25rem; border-radius: 3px; }
.bar { display: block; width: 100%; height: .8rem; margin-top: .35rem; background: var(--track); border-radius: 3px; }
.bar rect { fill: var(--bar); }
summary { cursor: pointer; }
details > *:not(summary) { margin-left: 1.1rem; }
@media print { html { font-size: 10.5px; } body { max-width: none; padding: 0; } .wide { overflow: visible; }
  h2 { break-after: avoid; } tr { break-inside: avoid; }
  .bar, mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
