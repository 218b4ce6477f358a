"""``nicecf rules``: rules that a training table suggests, as a commented file to edit."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE
from nicecf.cli.language import add_language_option, counted, phrase
from nicecf.cli.terminal import in_one_line, say_beside, say_in_utf8

if TYPE_CHECKING:
    from nicecf import SuggestedRules

_STANDARD = "-"
_EXAMPLE = """\
example:
  nicecf rules train.csv --label income > rules.toml
  (read and edit rules.toml)
  nicecf fit --train train.csv --label income --rules rules.toml ..."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "rules",
        help="suggest rules for a training table, as a file to edit",
        description="Suggest rules for a training table, as a commented TOML file to read and edit.",
        usage="nicecf rules TABLE [--label COLUMN] [--out FILE] [options]",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("table", metavar="TABLE", help="training table (.csv, .parquet, ...; - stdin)")
    parser.add_argument("--label", metavar="COLUMN", help="column with the labels, which is not a feature")
    parser.add_argument("--out", metavar="FILE", default=_STANDARD, help="where to write the rules (default: - stdout)")
    common.add_table_options(parser)
    add_language_option(parser)


def _run(options: argparse.Namespace) -> int:
    from nicecf import suggest_rules
    from nicecf.support.files import writing

    common.check_outputs({"--out": options.out}, [options.table])
    table = common.training_table(options.table, options)
    X, y = common.split(table, options.table, label=options.label, ignored=options.ignore)
    kinds = "auto" if options.categorical is None else options.categorical
    rules = suggest_rules(X, y, categorical_features=kinds)
    if options.out == _STANDARD:
        say_in_utf8(str(rules))
    else:
        with writing(options.out) as file:
            file.write(str(rules).encode())
    say_beside(_told(rules, options.out))
    return DONE


def _told(rules: SuggestedRules, out: str) -> str:
    """What was found, and what to do with it; on standard error, as the rules themselves go to standard output."""
    found = [one for one in rules.suggestions if one.section is not None]
    n_certain = sum(one.is_certain for one in found)
    n_guesses = len(found) - n_certain
    guesses = counted("cli.guesses", n_guesses)
    alarms = [phrase("cli.beware", what=in_one_line(one.seen)) for one in rules.suggestions if one.kind == "label"]
    command = shlex.join(["nicecf", "fit", "--rules", "rules.toml" if out == _STANDARD else out])
    return "\n".join(
        [
            counted("cli.rules_found", n_certain, guesses=guesses),
            *alarms,
            phrase("cli.next_open", command=in_one_line(command)),
        ]
    )
