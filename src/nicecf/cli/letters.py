"""Letters of ``nicecf explain --letters``: a text and a page for each row."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from nicecf.cli.language import language

if TYPE_CHECKING:
    from nicecf import Counterfactuals, Wording


def add_letter_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for letters."""
    group = parser.add_argument_group("letters")
    group.add_argument("--letters", metavar="DIR", help="also write a letter for each row, as text and HTML")
    group.add_argument(
        "--template",
        default="plain",
        metavar="NAME",
        help="plain, eu, eu_authority, us_adverse_action, or a text file (default: plain)",
    )
    group.add_argument(
        "--field",
        action="append",
        default=[],
        type=_field,
        metavar="NAME=TEXT",
        help="what a field of the template holds; may be repeated",
    )
    group.add_argument("--codes", metavar="FILE", help="CSV: feature, direction, code, wording")
    group.add_argument("--reasons", metavar="FILE", help="CSV: row, reason (at most 4 per row, the principal ones)")


def letters_of(cfs: Counterfactuals, options: argparse.Namespace, wording: Wording | None) -> list[str]:
    """The letters, before anything is written; OptionError or FileError for what they lack."""
    from nicecf import ReasonCodes

    return cfs.letters(
        options.template,
        wording=wording,
        fields=dict(options.field),
        principal_reasons=None if options.reasons is None else _reasons(options.reasons, _labels(cfs)),
        codes=None if options.codes is None else ReasonCodes.from_csv(options.codes),
    )


def check_folder(X: Any, folder: str) -> None:
    """Raise FileError if a folder holds letters of other rows, before these are explained."""
    from nicecf.views import letter_files

    letter_files.check_folder(folder, list(X.index) if hasattr(X, "index") else range(len(X)))


def write_letters(cfs: Counterfactuals, letters: list[str], folder: str, wording: Wording | None) -> None:
    """Write them; FileError if that fails."""
    from nicecf.views import letter_files

    spoken = language() if wording is None else str(wording.language)
    letter_files.write_letters(letters, _labels(cfs), folder, language=spoken if len(spoken) <= 3 else "en")


def _labels(cfs: Counterfactuals) -> list[Any]:
    return list(cfs.batch.labels[cfs.batch.first_of_rows])


def _reasons(path: str, labels: list[Any]) -> list[list[str]]:
    """The principal reasons of each row, by its label."""
    import pandas as pd

    from nicecf.exceptions import FileError

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise FileError(f"the reasons in {path} cannot be read: {error}. {_EXPECTED}") from error
    if not {"row", "reason"} <= set(table.columns):
        raise FileError(f"{path} has no column 'row', or none 'reason'. {_EXPECTED}")
    by_row = {row: part["reason"].tolist() for row, part in table.groupby("row", sort=False)}
    twice = [label for label, count in Counter(map(str, labels)).items() if count > 1 and label in by_row]
    if twice:
        raise FileError(f"{path} has reasons for {twice[0]!r}, but several rows have that label. Use another --id.")
    return [by_row.get(str(label), []) for label in labels]


def _field(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not a field; write NAME=TEXT, such as creditor='First Bank'")
    return name, value


_EXPECTED = "Pass a CSV file with a line for each reason: row (its label) and reason."
