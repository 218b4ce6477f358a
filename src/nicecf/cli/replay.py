"""``nicecf replay``: repeat recorded explanations, and say whether they are still the same."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE, INCOMPLETE
from nicecf.cli.language import add_language_option, counted, phrase
from nicecf.cli.terminal import in_one_line, say

if TYPE_CHECKING:
    from nicecf import NICE

_MOST_SHOWN = 5


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay",
        help="repeat recorded explanations: the same, or what differs",
        description="Repeat explanations from their records, and say whether they are the same. The exit code is 3 if "
        "one is not.",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("records", metavar="RECORDS", help="record.json, or records.jsonl of nicecf explain --records")
    parser.add_argument("--explainer", metavar="FILE", help="the explainer (default: the one that the records name)")
    common.add_model_options(parser, required=False, remembered=" (default: that of fit, unless it is code)")
    add_language_option(parser)


def _run(options: argparse.Namespace) -> int:
    import nicecf
    from nicecf.exceptions import NicecfError
    from nicecf.support.progress import reporting

    records = _read(options.records)
    explainers: dict[str, NICE] = {}
    different: list[tuple[Any, tuple[str, ...]]] = []
    notes: dict[str, None] = {}
    with reporting(common.progress("records"), len(records), verb="replaying", unit="records") as report:
        for number, record in enumerate(records, 1):
            path, model = _files_of(record, number, options)
            if path not in explainers:
                explainers[path] = common.load_explainer(path, options, named=model)[0]
            try:
                again = nicecf.replay(record, _searching_as(record, explainers[path]))
            except NicecfError as error:
                raise type(error)(f"{options.records}, record {number}: {error}") from error
            notes.update(dict.fromkeys(again.notes))
            if not again.is_same:
                different.append((record.get("label"), again.differences))
            report(number)
    return _conclude(len(records), different, list(notes))


def _searching_as(record: dict[str, Any], nice: NICE) -> NICE:
    """The explainer with the search of the recorded call, if it was not the explainer's own."""
    files = record.get("files")
    search = files.get("search") if isinstance(files, dict) else None
    if not isinstance(search, dict):
        return nice
    return nice.with_search(optimize=search.get("optimize"), search=search.get("search"))


def _conclude(count: int, different: list[tuple[Any, tuple[str, ...]]], notes: list[str]) -> int:
    """Print what differs, and return the exit code."""
    for label, differences in different[:_MOST_SHOWN]:
        say(phrase("cli.row_differs", row=in_one_line(label), points=_points(differences)))
    if len(different) > _MOST_SHOWN:
        say(phrase("cli.more_differ", count=len(different) - _MOST_SHOWN))
    if notes:
        say(phrase("cli.note", points=_points(notes)))
    if not different:
        say(counted("cli.same", count))
        return DONE
    n_same, every = count - len(different), counted("cli.records", count)
    say(phrase("cli.differ", same=n_same, records=every, different=len(different)))
    return INCOMPLETE


def _points(lines: Iterable[str]) -> str:
    return "".join(f"\n  - {in_one_line(line)}" for line in lines)


def _read(path: str) -> list[dict[str, Any]]:
    """One record, a list of records, or one record per line."""
    from nicecf.exceptions import FileError
    from nicecf.support.files import contents

    try:
        text = contents(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} holds no records: it is not UTF-8 text (byte {error.start:,}).") from error
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = [_line(path, number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    records = read if isinstance(read, list) else [read]
    if not records:
        raise FileError(f"{path} holds no records; use a file from nicecf explain --records.")
    if not all(isinstance(record, dict) for record in records):
        raise FileError(f"{path} holds no records: each must be an object. Use a file from nicecf explain --records.")
    return records


def _line(path: str, number: int, line: str) -> Any:
    from nicecf.exceptions import FileError

    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{path}, line {number:,}, is not JSON ({error}). Use a record.json, or a .jsonl with one record per line."
        ) from error


def _files_of(record: dict[str, Any], number: int, options: argparse.Namespace) -> tuple[str, str | None]:
    """The path of a record's explainer, as recorded or in the folder of the records, and that of its model."""
    from nicecf.exceptions import FileError, OptionError

    files = record.get("files")
    explainer, model = (files.get(name) if isinstance(files, dict) else None for name in ("explainer", "model"))
    model = model if isinstance(model, str) else None
    if options.explainer is not None:
        return options.explainer, model
    if not isinstance(explainer, str):
        raise OptionError(
            f"{options.records}, record {number}, does not say which explainer made it; add --explainer FILE."
        )
    if not _is_path(explainer):
        raise FileError(
            f"{options.records}, record {number}, names the explainer {explainer!r}, which is not a valid path; add "
            "--explainer FILE."
        )
    beside = os.path.join(os.path.dirname(options.records), os.path.basename(explainer))
    return explainer if os.path.isfile(explainer) or not os.path.isfile(beside) else beside, model


def _is_path(given: str) -> bool:
    try:
        return b"\0" not in os.fsencode(given)
    except UnicodeEncodeError:
        return False
