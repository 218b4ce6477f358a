"""``nicecf show``: one explanation from a file that ``nicecf explain`` wrote."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from nicecf.cli import common
from nicecf.cli.codes import DONE
from nicecf.cli.terminal import in_one_line, remark, say

if TYPE_CHECKING:
    from nicecf import Wording
    from nicecf.views.exported_table import Outcome, SavedChange

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
    parser.add_argument(
        "--format", type=common.table_format, metavar="KIND", help="format of the file, if its name does not say"
    )
    common.add_layout_options(parser)
    parser.add_argument("--raw-csv", action="store_true", help="the file was written by nicecf explain --raw-csv")


def _run(options: argparse.Namespace) -> int:
    from nicecf.exceptions import listed
    from nicecf.tables.files import in_plain_numbers
    from nicecf.views.exported_table import CLASSES, NUMBERS, by_row, read_outcomes

    wording = common.wording_of(options.wording)
    table = common.told(common.read_cells(options, options.file), NUMBERS)
    table = in_plain_numbers(table, NUMBERS, if_all=CLASSES)
    rows = by_row(read_outcomes(table.frame, table.name))
    if options.row is None:
        say(_listed(rows, options))
        return DONE
    chosen = _chosen(rows, options.row, table.name)
    if len(chosen) > 1:
        remark(
            f"{len(chosen):,} rows of {table.name} have the label {options.row!r}, at positions {listed(chosen)} "
            "(counted from 0); all of them are shown."
        )
    told = [
        _told(one, number, len(row), f", at position {at}" if len(chosen) > 1 else "", options.style, wording)
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
    which = f" ({number + 1} of {count})" if count > 1 else ""
    then = "no counterfactual" if not one.found else "nothing has to change"
    if one.changes:
        then = f"would be {one.decision_after} ({one.chance(one.probability)})"
    now = f"{one.decision} ({one.chance(one.probability_before)})"
    parts = [f"Row {in_one_line(one.row)}{where}{which}: {now}, {then}", _folded(text)]
    if one.changes:
        rows = [
            (each.feature, each.before or "missing", each.after or "missing", _chance_of(one, each))
            for each in sorted(one.changes, key=lambda each: each.step)
        ]
        head = ("feature", "now", "then", one.chance_of)
        parts.append(aligned(head, rows, right=[3], cut=[0, 1, 2], width=common.width()))
    if one.note:
        parts.append(_folded(f"({one.note})"))
    return "\n\n".join(parts)


def _chance_of(one: Outcome, each: SavedChange) -> str:
    from nicecf.views.listing import FOLLOWS

    return FOLLOWS if each.derived else one.chance(each.probability)


def _folded(text: str) -> str:
    return "\n".join(
        textwrap.fill(line, common.width(), break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
        for line in text.split("\n")
    )


def _listed(rows: Rows, options: argparse.Namespace) -> str:
    """The number of rows, and the first ones: those with changes before those without."""
    from nicecf.views.documents.columns import aligned

    found = sum(any(one.found for one in row) for row in rows)
    still = sum(any(one.found and not one.changes for one in row) for row in rows)
    outcomes = [one for row in rows for one in row]
    first = sorted(outcomes, key=lambda one: one.found and not one.changes)[:_MOST_LISTED]
    lines = [(one.row, one.decision, one.decision_after if one.found else "-", _in_short(one)) for one in first]
    nothing = f"; for {still:,} nothing has to change" if still else ""
    head = f"{in_one_line(options.file)}: {common.counted(len(rows), 'row')}, {found:,} with a counterfactual{nothing}"
    if not rows:
        return head
    table = aligned(("row", "decision", "becomes", "changes"), lines, cut=[0, 1, 2, 3], width=common.width())
    more = f"... and {len(outcomes) - len(first):,} more\n" if len(outcomes) > len(first) else ""
    return f"{head}\n\n{table}\n{more}\nOne of them: {in_one_line(common.command('show', options.file, first[0].row))}"


def _in_short(one: Outcome) -> str:
    if not one.found:
        return one.reason or ""
    arrow = "\N{RIGHTWARDS ARROW}"
    parts = [
        f"{each.feature} {each.before or 'missing'} {arrow} {each.after or 'missing'}{' (follows)' * each.derived}"
        for each in one.changes
    ]
    return ", ".join(parts) or "nothing has to change"
