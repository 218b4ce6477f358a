"""``nicecf show``: one explanation of a file that ``nicecf explain`` wrote, for people."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE

if TYPE_CHECKING:
    from nicecf import Wording
    from nicecf.outcomes import Outcome

_MOST_LISTED = 10


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "show",
        help="one explanation in words and as a small table",
        description="Show one explanation of a file that nicecf explain wrote; without a row, the first few.",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="FILE", help="what nicecf explain wrote (--out)")
    parser.add_argument("row", nargs="?", metavar="ROW", help="label of the row, or its position from 0")
    parser.add_argument(
        "--style",
        choices=("sentence", "bullets", "letter"),
        metavar="STYLE",
        help="say it in another style than the file does: sentence, bullets or letter (alone, to be sent)",
    )
    parser.add_argument("--wording", metavar="FILE", help="names, units and classes for the text, in a TOML file")
    parser.add_argument(
        "--format", choices=common.FORMATS, metavar="KIND", help="kind of the file, if its name does not tell"
    )


def _run(options: argparse.Namespace) -> int:
    from nicecf import tablefiles
    from nicecf.outcomes import read_outcomes

    wording = common.wording_of(options.wording)
    table = tablefiles.read_cells(options.file, format=options.format)
    outcomes = read_outcomes(table.frame, table.name)
    if options.row is None:
        print(_listed(outcomes, options))
        return DONE
    chosen = _chosen(outcomes, options.row, table.name)
    for number, one in enumerate(chosen):
        print(_told(one, number, len(chosen), options.style, wording), end="\n\n" if number < len(chosen) - 1 else "\n")
    return DONE


def _chosen(outcomes: Sequence[Outcome], given: str, name: str) -> list[Outcome]:
    """The counterfactuals of the row with that label, else of the row at that position."""
    from nicecf.exceptions import OptionError, did_you_mean, listed

    labels = list(dict.fromkeys(one.row for one in outcomes))
    label = given
    if given not in labels and given.isdecimal() and int(given) < len(labels):
        label = labels[int(given)]
    if label not in labels:
        raise OptionError(
            f"{name} has no row {given!r}; its rows are {listed(labels, limit=6)}.{did_you_mean(given, labels)}"
        )
    return [one for one in outcomes if one.row == label]


def _told(one: Outcome, number: int, count: int, style: str | None, wording: Wording | None) -> str:
    from nicecf.documents.columns import aligned
    from nicecf.words import percent

    text = one.text if style is None and wording is None else one.retold(style or "sentence", wording)
    if style == "letter":  # as it is, to be sent
        return text
    which = f" ({number + 1} of {count})" if count > 1 else ""
    then = "no counterfactual" if not one.found else "nothing has to change"
    if one.changes:
        then = f"would be {one.decision_after} ({percent(one.probability)})"
    parts = [f"Row {one.row}{which}: {one.decision} ({percent(one.probability_before)}), {then}"]
    parts.append(_folded(text))
    if one.changes:
        rows = [
            (each.feature, each.before or "missing", each.after or "missing", percent(each.probability))
            for each in sorted(one.changes, key=lambda each: each.step)
        ]
        head = ("feature", "now", "then", f"P({one.decision_after})")
        parts.append(aligned(head, rows, right=[3], cut=[0, 1, 2], width=common.width()))
    if one.note:
        parts.append(_folded(f"({one.note})"))
    return "\n\n".join(parts)


def _folded(text: str) -> str:
    return "\n".join(
        textwrap.fill(line, common.width(), break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
        for line in text.split("\n")
    )


def _listed(outcomes: Sequence[Outcome], options: argparse.Namespace) -> str:
    """How many there are, and the first: those with something to change before those without."""
    from nicecf.documents.columns import aligned

    rows, found, still = (
        len({one.row for one in some})
        for some in (
            outcomes,
            [one for one in outcomes if one.found],
            [one for one in outcomes if one.found and not one.changes],
        )
    )
    first = sorted(outcomes, key=lambda one: one.found and not one.changes)[:_MOST_LISTED]
    lines = [(one.row, one.decision, one.decision_after if one.found else "-", _in_short(one)) for one in first]
    nothing = f"; for {still:,} nothing has to change" if still else ""
    head = f"{options.file}: {common.counted(rows, 'row')}, {found:,} with a counterfactual{nothing}"
    table = aligned(("row", "decision", "becomes", "changes"), lines, cut=[0, 1, 2, 3], width=common.width())
    more = f"... and {len(outcomes) - len(first):,} more\n" if len(outcomes) > len(first) else ""
    return f"{head}\n\n{table}\n{more}\nOne of them: {shlex.join(['nicecf', 'show', options.file, first[0].row])}"


def _in_short(one: Outcome) -> str:
    if not one.found:
        return one.reason or ""
    arrow = "\N{RIGHTWARDS ARROW}"
    parts = [f"{each.feature} {each.before or 'missing'} {arrow} {each.after or 'missing'}" for each in one.changes]
    return ", ".join(parts) or "nothing has to change"
