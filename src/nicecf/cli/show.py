"""``nicecf show``: one explanation from a file that ``nicecf explain`` wrote."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from nicecf.cli import common
from nicecf.cli.codes import DONE
from nicecf.cli.language import add_language_option, counted, language, phrase
from nicecf.cli.terminal import in_one_line, remark, say

if TYPE_CHECKING:
    from nicecf import Wording
    from nicecf.views.saved_explanation import Outcome, SavedChange

_MOST_LISTED = 10
# Of a position: Python refuses to read numbers with thousands of digits.
_MOST_DIGITS = 19

# The counterfactuals of each row of a file.
Rows: TypeAlias = "Sequence[Sequence[Outcome]]"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "show",
        help="one explanation in words and as a small table",
        description="Show one explanation from a file that nicecf explain wrote; without a row, list the first few.",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="FILE", help="what nicecf explain wrote (--out)")
    parser.add_argument("row", nargs="?", metavar="ROW", help="label of the row, or its position, counted from 0")
    parser.add_argument(
        "--style",
        choices=("sentence", "bullets", "letter"),
        metavar="STYLE",
        help="another style than in the file: sentence, bullets or letter (on its own, ready to send)",
    )
    parser.add_argument("--wording", metavar="FILE", help="names, units and classes for the text, in a TOML file")
    add_language_option(parser)
    parser.add_argument(
        "--format", type=common.table_format, metavar="KIND", help="format of the file, if its name does not say"
    )
    common.add_layout_options(parser)
    parser.add_argument("--raw-csv", action="store_true", help="the file was written by nicecf explain --raw-csv")


def _run(options: argparse.Namespace) -> int:
    from nicecf.exceptions import listed
    from nicecf.tables.files import in_plain_numbers
    from nicecf.views.exported_table import CLASSES, NUMBERS, by_row, read_outcomes

    wording = common.wording_of(options)
    table = common.told(common.read_cells(options, options.file), NUMBERS)
    table = in_plain_numbers(table, NUMBERS, if_all=CLASSES)
    rows = by_row(read_outcomes(table.frame, table.name))
    if options.row is None:
        say(_listed(rows, options))
        return DONE
    chosen = _chosen(rows, options.row, table.name)
    if len(chosen) > 1:
        remark(
            phrase(
                "cli.same_label",
                count=len(chosen),
                file=table.name,
                label=repr(options.row),
                positions=listed(chosen),
            )
        )
    told = [
        _told(
            one,
            number,
            len(row),
            phrase("cli.show_at", position=at) if len(chosen) > 1 else "",
            options.style,
            wording,
        )
        for at, row in chosen.items()
        for number, one in enumerate(row)
    ]
    say("\n\n".join(told))
    return DONE


def _chosen(rows: Rows, given: str, name: str) -> dict[int, Sequence[Outcome]]:
    """The rows with this label, by position; if there are none, the row at this position."""
    from nicecf.exceptions import OptionError, did_you_mean, listed

    labels = [row[0].row for row in rows]
    called_so = {at: row for at, row in enumerate(rows) if labels[at] == given}
    if called_so:
        return called_so
    if given.isdecimal() and len(given) < _MOST_DIGITS and int(given) < len(rows):
        return {int(given): rows[int(given)]}
    there = f"its rows are {listed(dict.fromkeys(labels), limit=6)}" if labels else "it has no rows"
    raise OptionError(f"{name} has no row {given!r}; {there}.{did_you_mean(given, labels)}")


def _told(one: Outcome, number: int, count: int, where: str, style: str | None, wording: Wording | None) -> str:
    from nicecf.views.documents.columns import aligned

    text = one.text if style is None and wording is None else one.restyled(style or "sentence", wording)
    if style == "letter":  # unchanged, ready to send
        return text
    which = where + (phrase("cli.show_number", number=number + 1, count=count) if count > 1 else "")
    then = phrase("cli.show_none" if not one.found else "cli.show_unchanged")
    if one.changes:
        then = phrase("cli.show_then", decision=one.decided(is_after=True, wording=wording))
    now = one.decided(is_after=False, wording=wording)
    parts = [phrase("cli.show_row", row=in_one_line(one.row), which=which, now=now, then=then), _folded(text)]
    if one.changes:
        rows: list[tuple[str, ...]] = [
            (each.feature, *_values(each, wording), _chance_of(one, each, wording))
            for each in sorted(one.changes, key=lambda each: each.step)
        ]
        head: tuple[str, ...] = (
            *(phrase(f"cli.show_{name}") for name in ("feature", "now", "becomes_value")),
            one.chance_of,
        )
        if one.line is not None and one.line.label != one.predicted_after:  # one quantity: a file has not that of steps
            rows, head = [row[:3] for row in rows], head[:3]
        parts.append(aligned(head, rows, right=[3], cut=[0, 1, 2], width=common.width()))
    proven = _proven(one, wording)
    if proven is not None:
        parts.append(_folded(proven))
    if one.note:
        parts.append(_folded(phrase("cli.show_note", note=one.note)))
    return "\n\n".join(parts)


def _values(each: SavedChange, wording: Wording | None) -> tuple[str, str]:
    from nicecf import Wording
    from nicecf.views.words.formatter import Formatter

    said = each.formatted(Formatter(Wording() if wording is None else wording))
    return said.before, said.after


def _proven(one: Outcome, wording: Wording | None) -> str | None:
    from nicecf import Wording
    from nicecf.views.words.formatter import Formatter

    return one.parts(Formatter(Wording() if wording is None else wording)).proof


def _chance_of(one: Outcome, each: SavedChange, wording: Wording | None) -> str:
    return phrase("cli.show_follows") if each.derived else one.chance_after(each, wording)


def _folded(text: str) -> str:
    # textwrap breaks lines at blanks only: a number of percent stays beside its sign.
    return "\n".join(
        textwrap.fill(line, common.width(), break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
        for line in text.replace(" %", "\N{NO-BREAK SPACE}%").split("\n")
    ).replace("\N{NO-BREAK SPACE}%", " %")


def _listed(rows: Rows, options: argparse.Namespace) -> str:
    """The number of rows, and the first ones: those with changes before those without."""
    from nicecf.views.documents.columns import aligned

    found = sum(any(one.found for one in row) for row in rows)
    still = sum(any(one.found and not one.changes for one in row) for row in rows)
    outcomes = [one for row in rows for one in row]
    first = sorted(outcomes, key=lambda one: one.found and not one.changes)[:_MOST_LISTED]
    lines = [(one.row, one.decision, one.decision_after if one.found else "-", _in_short(one)) for one in first]
    explained = phrase("cli.explained", rows=counted("cli.rows", len(rows)), found=found)
    if still:
        explained = phrase("cli.explained_still", explained=explained, still=still)
    head = phrase("cli.show_file", file=in_one_line(options.file), explained=explained)
    if not rows:
        return head
    names = [phrase(f"cli.show_{name}") for name in ("row_head", "decision", "becomes", "changes")]
    table = aligned(names, lines, cut=[0, 1, 2, 3], width=common.width())
    n_more = len(outcomes) - len(first)
    more = f"{phrase('cli.show_more', count=n_more)}\n" if n_more else ""
    command = in_one_line(common.command("show", options.file, first[0].row))
    return f"{head}\n\n{table}\n{more}\n{phrase('cli.show_one', command=command)}"


def _in_short(one: Outcome) -> str:
    from nicecf import Wording

    if not one.found:
        return one.reason or ""
    parts = []
    for each in one.changes:
        before, after = _values(each, Wording(language=language()))
        kind = "cli.show_change_follows" if each.derived else "cli.show_change"
        parts.append(phrase(kind, feature=each.feature, before=before, after=after))
    return ", ".join(parts) or phrase("cli.show_unchanged")
