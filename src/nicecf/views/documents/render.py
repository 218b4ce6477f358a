"""A document in each of its formats: Markdown, one HTML page, CSV and LaTeX. Values are text, never markup."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from html import escape

from nicecf.tables.files.formulas import protected
from nicecf.views.documents.document import (
    Block,
    Cell,
    Code,
    Document,
    Folded,
    Listing,
    Picture,
    Row,
    Section,
    Table,
    Text,
)
from nicecf.views.documents.html import TableLook, text
from nicecf.views.documents.html import table as html_table

_MARKDOWN_SPECIAL = re.compile(r"([\\`*\[\]|~#$])|(?<!\w)_|_(?!\w)")
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\N{EN DASH}": "--",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{GREEK SMALL LETTER CHI}": r"$\chi$",
    "\N{SUPERSCRIPT TWO}": r"$^2$",
    "\N{SUPERSCRIPT THREE}": r"$^3$",
    "\N{MIDDLE DOT}": r"$\cdot$",
    **{one: "\\" + one for one in "&%$#_{}"},
}


def csv_text(table: Table) -> str:
    r"""The table with its values at full length, for programs; text that looks like a formula gets an apostrophe.

    >>> csv_text(Table("t", "T", ("a", "b"), (Row((Cell("x, y"), Cell("1,234.5", value=1234.5))),)))
    'a,b\n"x, y",1234.5\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([protected(name) for name in table.head])
    writer.writerows([_plain(cell) for cell in row.cells] for row in table.rows)
    return out.getvalue()


def _plain(cell: Cell) -> str:
    # Ten figures: what differs after them is the order in which a machine adds up, not a result.
    if isinstance(cell.value, float):
        return f"{cell.value:.10g}"
    return protected(" ".join(cell.text.split()) if cell.value is None else cell.value)


def latex(table: Table) -> str:
    r"""The table as the paper sets its own: one rule below the head, bold where it is best.

    >>> print(latex(Table("t", "50 % of a_b", ("", "x"), (Row((Cell("r"), Cell("1", is_bold=True))),))))
    \begin{table}
    \footnotesize
    \begin{center}
    \begin{tabular}{l|r}
     & x \\
    \hline
    r & \textbf{1} \\
    \end{tabular}
    \end{center}
    \caption{50 \% of a\_b}
    \label{tab:t}
    \end{table}
    <BLANKLINE>
    """
    n = len(table.head)
    columns = f"p{{{0.92 / n:.3f}\\textwidth}}" * n if table.is_text else "l|" + "r" * (n - 1)
    lines = [
        r"\begin{table}",
        r"\footnotesize",
        r"\begin{center}",
        rf"\begin{{tabular}}{{{columns}}}",
        " & ".join(latex_escaped(one) for one in table.head) + r" \\",
        r"\hline",
        *(" & ".join(_latex_cell(cell, row) for cell in row.cells) + r" \\" for row in table.rows),
        r"\end{tabular}",
        r"\end{center}",
        rf"\caption{{{latex_escaped(' '.join([table.title, table.note]).strip())}}}",
        rf"\label{{tab:{table.name}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell, row: Row) -> str:
    text = latex_escaped(cell.text)
    if cell.is_bold:
        return rf"\textbf{{{text}}}"
    return rf"\textit{{{text}}}" if row.is_quiet and text else text


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX sets as it stands.

    >>> latex_escaped("50% of a_b <x>")
    '50\\% of a\\_b \\textless{}x\\textgreater{}'
    """
    return "".join(_LATEX_SPECIAL.get(one, one) for one in " ".join(text.split()))


def markdown(document: Document) -> str:
    """The document for GitHub; figures are linked as figures/name.png."""
    lines = [f"# {markdown_escaped(document.title)}", ""]
    lines += [f"- [{markdown_escaped(one.title)}](#{_anchor(one.title)})" for one in document.sections]
    for section in document.sections:
        lines += ["", f"## {markdown_escaped(section.title)}"]
        for block in section.blocks:
            lines += ["", *_markdown_block(block)]
    return "\n".join(lines) + "\n"


def _markdown_block(block: Block) -> list[str]:
    match block:
        case Text(words):
            return [markdown_escaped(words)]
        case Listing(points):
            return [f"- {markdown_escaped(point)}" for point in points]
        case Code(code):
            # A fence must be longer than any row of backticks in what it holds.
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
            return [fence, code, fence]
        case Picture(name, title, _):
            return [f"![{markdown_escaped(title)}](figures/{name}.png)"]
        case Table():
            return _markdown_table(block)
        case Folded(title, blocks):
            lines = ["<details>", f"<summary>{escape(title)}</summary>"]
            for one in blocks:
                lines += ["", *_markdown_block(one)]
            return [*lines, "", "</details>"]


def _markdown_table(table: Table) -> list[str]:
    others = "---" if table.is_text else "---:"
    lines = [
        f"**{markdown_escaped(table.title)}**",
        "",
        _markdown_line([markdown_escaped(one) for one in table.head]),
        _markdown_line(["---", *[others] * (len(table.head) - 1)]),
        *(_markdown_line([_markdown_cell(cell, row) for cell in row.cells]) for row in table.rows),
    ]
    return [*lines, "", markdown_escaped(table.note)] if table.note else lines


def _markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(cell: Cell, row: Row) -> str:
    text = "<br>".join(markdown_escaped(one) for one in cell.text.splitlines())
    if cell.is_bold:
        return f"**{text}**"
    return f"*{text}*" if row.is_quiet and text else text


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it stands, on one line.

    >>> markdown_escaped("<b> a|b *c* a_b _d")
    '&lt;b&gt; a\\|b \\*c\\* a_b \\_d'
    """
    safe = escape(" ".join(text.split()), quote=False)
    return _MARKDOWN_SPECIAL.sub(lambda found: "\\" + found[0], safe)


def _anchor(title: str) -> str:
    """The address that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def html(document: Document, svgs: Mapping[str, str]) -> str:
    """One page that needs nothing else; ``svgs`` holds the figures by the names of their pictures."""
    contents = "".join(f'<li><a href="#{_anchor(one.title)}">{text(one.title)}</a></li>' for one in document.sections)
    sections = "\n".join(_html_section(one, svgs) for one in document.sections)
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(document.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{text(document.title)}</h1>\n<nav><ol>{contents}</ol></nav>\n<main>\n{sections}\n</main>\n"
        "</body>\n</html>\n"
    )


def _html_section(section: Section, svgs: Mapping[str, str]) -> str:
    inner: list[str] = []
    for block in section.blocks:
        inner_html = _html_block(block, svgs)
        # Pictures that follow each other stand side by side.
        if isinstance(block, Picture) and inner and inner[-1].startswith(_GALLERY):
            inner[-1] = inner[-1].removesuffix("</div>") + inner_html + "</div>"
        else:
            inner.append(f"{_GALLERY}{inner_html}</div>" if isinstance(block, Picture) else inner_html)
    title = text(section.title)
    return f'<section id="{_anchor(section.title)}">\n<h2>{title}</h2>\n' + "\n".join(inner) + "\n</section>"


def _html_block(block: Block, svgs: Mapping[str, str]) -> str:
    match block:
        case Text(words):
            return f"<p>{text(words)}</p>"
        case Listing(points):
            return "<ul>" + "".join(f"<li>{text(point)}</li>" for point in points) + "</ul>"
        case Code(code):
            return f"<pre>{text(code)}</pre>"
        case Picture(name):
            return f"<figure>{svgs[name]}</figure>"
        case Table():
            return _html_table(block)
        case Folded(title, blocks):
            inner = "\n".join(_html_block(one, svgs) for one in blocks)
            return f"<details><summary>{text(title)}</summary>\n{inner}\n</details>"


def _html_table(table: Table) -> str:
    note = f'<p class="note">{text(table.note)}</p>' if table.note else ""
    kind = "text" if table.is_text else "numbers"
    rows = html_table(
        [text(one) for one in table.head],
        [[_html_cell(cell) for cell in row.cells] for row in table.rows],
        TableLook(f' class="{kind}"'),
        right=() if table.is_text else range(1, len(table.head)),
        row_heads=True,
        quiet=[at for at, row in enumerate(table.rows) if row.is_quiet],
    )
    return (
        f'<div class="table" id="{text(table.name)}"><h3>{text(table.title)}</h3>'
        f'<div class="wide" tabindex="0">{rows}</div>{note}</div>'
    )


def _html_cell(cell: Cell) -> str:
    return f"<b>{text(cell.text)}</b>" if cell.is_bold else text(cell.text)


FORMATS: Mapping[str, Callable[[Table], str]] = {"csv": csv_text, "tex": latex}
_GALLERY = '<div class="gallery">'
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b646d; --line: #d5dade; --paper: #ffffff; --head: #f2f5f7;
  --link: #0b5cad; --mark: #fff1c2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6e8; --soft: #9aa4ad; --line: #3a4249; --paper: #14181b;
  --head: #1f252a; --link: #7db8f0; --mark: #4a3d10; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 100rem; padding: 1.5rem 2rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.4rem; margin: 3rem 0 .75rem; padding-top: .75rem; border-top: 2px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .5rem; max-width: 60rem; }
p, ul { max-width: 60rem; margin: .5rem 0 1rem; }
li { margin: .2rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
nav ol { columns: 18rem; padding-left: 1.4rem; margin: 0 0 1rem; }
pre { background: var(--head); padding: .8rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere;
  border-radius: 6px; }
.table { margin: 1.75rem 0 2rem; }
.wide { overflow: auto; max-height: 90vh; border: 1px solid var(--line); border-radius: 6px; width: fit-content;
  max-width: 100%; }
table { border-collapse: separate; border-spacing: 0; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--head); position: sticky; top: 0; z-index: 2; vertical-align: bottom; text-align: left; }
thead th:first-child { left: 0; z-index: 3; }
thead th.n, td.n { text-align: right; }
td.n { white-space: nowrap; }
tbody th { position: sticky; left: 0; z-index: 1; background: var(--paper); text-align: left; font-weight: 600;
  border-right: 1px solid var(--line); }
.numbers tbody th { white-space: nowrap; max-width: 22rem; overflow: hidden; text-overflow: ellipsis; }
.numbers td b { background: var(--mark); padding: 0 .2rem; margin: 0 -.2rem; border-radius: 3px; }
.text td { min-width: 8.5rem; max-width: 40rem; overflow-wrap: anywhere; white-space: pre-line; }
.text td:last-child { min-width: 22rem; }
.quiet > * { color: var(--soft); font-size: .8125rem; padding-top: .1rem; padding-bottom: .25rem; }
tr:has(+ .quiet) > * { border-bottom-color: transparent; }
.quiet th { font-weight: 400; padding-left: 1.6rem; }
.note { color: var(--soft); font-size: .875rem; margin: .5rem 0 0; }
.gallery { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 1rem;
  margin: 1.25rem 0; }
figure { margin: 0; padding: .5rem; background: #ffffff; border: 1px solid var(--line); border-radius: 6px; }
figure svg { display: block; width: 100%; height: auto; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--link); }
@media print { .wide { max-height: none; overflow: visible; } }
"""
