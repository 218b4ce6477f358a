"""What several commands share: lists of names, models, rules, explainers, and what is said to people."""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nicecf import NICE, Constraints, Wording
    from nicecf.progress import Choice
    from nicecf.tablefiles import FileTable

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
STYLES = ("sentence", "bullets", "analyst", "letter")


def names(given: str) -> list[str]:
    """Names separated by commas; one that holds a comma is put in double quotes, as in CSV.

    >>> names('age,"income, gross"')
    ['age', 'income, gross']
    """
    try:
        rows = list(csv.reader([given], skipinitialspace=True))
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"{given!r} is no list of names: put a name with a line break in quotes"
        ) from None
    return [name.strip() for name in rows[0] if name.strip()] if rows else []


def add_model_options(parser: argparse.ArgumentParser, *, required: bool, remembered: str = "") -> None:
    """The options by which a model is given."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        required=required,
        metavar="MODEL",
        help=f"file.skops, file.onnx, file.pkl or .joblib (runs code), or module:object{remembered}",
    )
    group.add_argument(
        "--trust-pickle", action="store_true", help="load a pickle: it can run any code, so only one of your own"
    )
    group.add_argument(
        "--trust", type=names, default=[], metavar="TYPES", help="types in a skops file that you know to be safe: a,b"
    )


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """The options for what may change."""
    group = parser.add_argument_group("rules that every counterfactual keeps")
    group.add_argument("--immutable", type=names, default=[], metavar="a,b", help="features that never change")
    group.add_argument("--increasing", type=names, default=[], metavar="a,b", help="features that only increase")
    group.add_argument("--decreasing", type=names, default=[], metavar="a,b", help="features that only decrease")
    group.add_argument("--max-changes", type=int, metavar="N", help="how many features may change at most")
    group.add_argument("--rules", metavar="FILE", help="rules in a TOML file, or in a table with a line per feature")


def rules_of(options: argparse.Namespace) -> Constraints | None:
    """The rules that the options ask for; None if they ask for none."""
    from nicecf import Constraints, tablefiles

    own = Constraints(
        immutable=options.immutable,
        increasing=options.increasing,
        decreasing=options.decreasing,
        max_changes=options.max_changes,
    )
    if options.rules is None:
        return own if own else None
    is_toml = options.rules.lower().endswith(".toml")
    read = Constraints.from_toml(options.rules) if is_toml else Constraints.from_frame(tablefiles.read(options.rules))
    return read & own if own else read


def wording_of(path: str | None) -> Wording | None:
    """The wording in a file; None if none is named."""
    from nicecf import Wording

    return None if path is None else Wording.from_toml(path)


def load_model(options: argparse.Namespace, spec: str | None = None) -> Any:
    """The model of --model, or another, trusted as the options say."""
    from nicecf import modelfiles

    return modelfiles.load(
        options.model if spec is None else spec, trust_pickle=options.trust_pickle, trust=options.trust
    )


def load_explainer(
    path: str, options: argparse.Namespace, *, named: str | None = None
) -> tuple[NICE, dict[str, Any], str]:
    """A saved explainer with its model, what is noted in its file, and by what the model was given.

    ``named``: where else the model may be, by what a record says.
    """
    from nicecf import NICE, saving
    from nicecf.files import existing

    notes = saving.notes(existing(path))
    given = options.model or _remembered(path, notes, named)
    return NICE.load(path, model=load_model(options, given)), notes, given


def _remembered(path: str, notes: Mapping[str, Any], named: str | None) -> str:
    """Where the model is that the explainer was fitted with, if it is still the same."""
    from nicecf import modelfiles
    from nicecf.exceptions import FileError, OptionError

    model = notes.get("model") or {"given": named}
    if not isinstance(model, dict) or not isinstance(model.get("given"), str):
        raise OptionError(f"{path} was not made by nicecf fit, so it does not say where its model is; add --model.")
    given: str = model["given"]
    if modelfiles.kind_of(given) == "python":
        # A file of rows and numbers must not choose which code is run.
        raise OptionError(
            f"{path} was fitted with {given}, which is code; only you can say that it is to be run: add "
            f"--model {given}."
        )
    beside = os.path.dirname(path)
    places = [given, os.path.join(beside, given), os.path.join(beside, os.path.basename(given))]
    place = next((one for one in [*places, *([] if named is None else [named])] if os.path.isfile(one)), None)
    if place is None:
        raise FileError(
            f"{path} was fitted with the model {given}, which is not there, nor beside {path}. Say where it is: "
            "--model."
        )
    if "sha256" in model and modelfiles.checksum(place) != model["sha256"]:
        raise FileError(
            f"the model file {place} has changed since {path} was fitted with it. Fit again; or pass --model {place} "
            "to have it compared by what it says of training rows."
        )
    return place


def label_of(given: str, labels: Iterable[Any], option: str) -> Any:
    """The label that is written so: '1' is the class 1. OptionError if there is none."""
    from nicecf.exceptions import OptionError, did_you_mean, listed, plain

    known = [plain(label) for label in labels]
    for label in known:
        if str(label) == given:
            return label
    raise OptionError(
        f"{option} names {given!r}, which is no class of the model; choose among {listed(known)}."
        f"{did_you_mean(given, known)}"
    )


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str | None]) -> None:
    """OptionError where one file would be written twice, or what is read would be written over."""
    from nicecf.exceptions import OptionError
    from nicecf.files import check_writable

    read = {os.path.realpath(path): path for path in inputs if path is not None and path != "-"}
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        place = os.path.realpath(path)
        if place in read:
            raise OptionError(f"{option} {path} would write over what is read. Give another name.")
        if place in written:
            raise OptionError(f"{option} and {written[place]} name the same file, {path}. Give each its own.")
        written[place] = option
        check_writable(path)


def progress(unit: str) -> Choice:
    """A bar on a terminal, and lines in a log; nothing where there is neither."""
    from nicecf.progress import Lines

    if sys.stderr is None:
        return False
    return None if sys.stderr.isatty() else Lines(unit=unit)


def counted(count: int, thing: str) -> str:
    """``1 row``, ``2,000 rows``.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {thing if count == 1 else thing + 's'}"


def width() -> int:
    """How wide the terminal is; 80 where there is none, and never so wide that text is hard to read."""
    return min(120, shutil.get_terminal_size((80, 24)).columns)


def command(*arguments: str) -> str:
    """What to type for a command of ``nicecf``; what begins with a dash is no option of it.

    >>> command("show", "out.csv", "-1 a")
    "nicecf show -- out.csv '-1 a'"
    """
    name, *rest = arguments
    dashes = ["--"] if any(one.startswith("-") for one in rest) else []
    return shlex.join(["nicecf", name, *dashes, *rest])


def read_cells(options: argparse.Namespace, path: str) -> FileTable:
    """The cells of a table; in what nicecf explain wrote, without the apostrophes that it put before formulas."""
    from nicecf import outcomes, tablefiles

    table = tablefiles.read_cells(path, format=options.format)
    is_ours = not options.raw_csv and outcomes.has_the_columns(table.frame)
    return tablefiles.without_apostrophes(table) if is_ours else table


def facts(lines: Sequence[tuple[str, str]]) -> str:
    """Names and what is said of them, in two columns, folded to the width of the terminal."""
    first = max(len(name) for name, _ in lines) + 2
    return "\n".join(
        textwrap.fill(
            said,
            width(),
            initial_indent=f"  {name:<{first}}",
            subsequent_indent=" " * (first + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, said in lines
    )
