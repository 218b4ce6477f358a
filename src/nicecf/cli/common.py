"""What several commands share: lists of names, models, rules, explainers, output for people."""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicecf.cli.language import phrase

if TYPE_CHECKING:
    import pandas as pd

    from nicecf import NICE, Constraints, Wording
    from nicecf.support.progress import Choice
    from nicecf.tables.files import FileTable, Layout
    from nicecf.tables.files.parquet_parts import ParquetTable

STYLES = ("sentence", "bullets", "analyst", "letter")


def names(given: str) -> list[str]:
    """Names separated by commas; a name that contains a comma goes in double quotes, as in CSV.

    >>> names('age,"income, gross"')
    ['age', 'income, gross']
    """
    try:
        rows = list(csv.reader([given], skipinitialspace=True))
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"{given!r} is not a list of names: put names with a line break in quotes"
        ) from None
    return [name.strip() for name in rows[0] if name.strip()] if rows else []


def table_format(given: str) -> str:
    """Check the name of a table format."""
    from nicecf.exceptions import did_you_mean, listed
    from nicecf.tables.files import FORMATS

    if given not in FORMATS:
        raise argparse.ArgumentTypeError(
            f"{given!r} is not known; choose one of {listed(FORMATS)}.{did_you_mean(given, FORMATS)}".removesuffix(".")
        )
    return given


def add_model_options(parser: argparse.ArgumentParser, *, required: bool, remembered: str = "") -> None:
    """Add the options that name the model."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        required=required,
        metavar="MODEL",
        help=f"file.skops, .onnx, .json, .ubj or .txt, .pkl or .joblib (runs code), or module:object{remembered}",
    )
    group.add_argument(
        "--trust-pickle", action="store_true", help="load a pickle: it can run any code, so only use your own"
    )
    group.add_argument(
        "--trust", type=names, default=[], metavar="TYPES", help="types in a skops file that you know to be safe: a,b"
    )


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a training table is read."""
    table = parser.add_argument_group("table")
    table.add_argument(
        "--format", type=table_format, metavar="KIND", help="format of the training table, if its name does not say"
    )
    add_layout_options(table)
    table.add_argument("--ignore", type=names, default=[], metavar="a,b", help="columns that are not features")
    table.add_argument(
        "--text", type=names, default=[], metavar="a,b", help="CSV columns that are codes, such as 01234"
    )
    table.add_argument(
        "--dates", type=names, default=[], metavar="a,b", help="CSV columns that are dates, such as 2024-03-01"
    )
    table.add_argument(
        "--categorical", type=names, metavar="a,b", help="the categorical features (default: text and booleans)"
    )


def add_layout_options(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the options that say how a table is laid out in its file, where that is not recognised."""
    group.add_argument("--sep", metavar="MARK", help="CSV: between fields, such as ';' or tab (default: recognised)")
    group.add_argument("--decimal", metavar="MARK", help="CSV: decimal mark of numbers, . or , (default: recognised)")
    group.add_argument("--encoding", metavar="NAME", help="CSV: such as utf-8 or cp1252 (default: recognised)")
    group.add_argument("--sheet", metavar="NAME", help="Excel: the sheet to read (default: the first)")


def layout_of(
    options: argparse.Namespace, path: str, format: str | None = None, *, beside: str | None = None
) -> Layout:
    """What the options say about the layout of a file, without what is only for ``beside``, another table."""
    from dataclasses import replace

    from nicecf.tables import files as tablefiles

    given = tablefiles.Layout(options.sep, options.decimal, options.encoding, options.sheet)
    if not given.given or beside is None or _is_toml(beside):
        return given
    own, others = tablefiles.takes(path, format), tablefiles.takes(beside)
    return replace(given, **{name: None for name in given.given if name in others and name not in own})


def told(table: FileTable, numbers: Sequence[str]) -> FileTable:
    """A table of cells with the decimal mark that some columns of numbers tell, after saying what was recognised."""
    from nicecf.tables import files as tablefiles

    table = tablefiles.with_decimal(table, numbers)
    say_layout(table)
    return table


def say_layout(table: FileTable) -> None:
    """Say on standard error what was recognised in a file, if that is anything unusual."""
    from nicecf.cli.terminal import in_one_line, say_beside
    from nicecf.exceptions import listed

    found, file = table.recognised, in_one_line(table.name)
    parts = []
    if "sep" in found:
        parts.append(phrase("files.tabs") if found["sep"] == "\t" else phrase("files.separator", mark=found["sep"]))
    if "decimal" in found:
        parts.append(phrase("files.decimal_comma"))
    if table.grouped:
        kind = "files.thousands_points" if table.layout.decimal == "," else "files.thousands_commas"
        parts.append(phrase(kind, columns=listed(table.grouped, limit=3)))
    if "encoding" in found:
        parts.append(phrase("files.encoding", encoding=found["encoding"]))
    if parts:
        say_beside(phrase("files.recognised", file=file, parts=", ".join(parts)))
    if "sheet" in found:
        say_beside(phrase("files.first_sheet", file=file, sheet=in_one_line(found["sheet"])))


def training_table(path: str, options: argparse.Namespace) -> pd.DataFrame:
    """The training table in a file, read as the options say; columns of text that look like dates are told of."""
    from nicecf.cli.terminal import say_beside
    from nicecf.exceptions import listed
    from nicecf.tables import files as tablefiles

    layout = layout_of(options, path, options.format, beside=getattr(options, "rules", None))
    read = tablefiles.read_typed(
        path, format=options.format, text=options.text, dates=options.dates, ignore=options.ignore, layout=layout
    )
    say_layout(read)
    table = read.frame
    known = {*options.text, *options.ignore, options.label}
    unread = [name for name in tablefiles.look_like_dates(table) if name not in known]
    if unread:
        say_beside(phrase("cli.look_like_dates", columns=listed(unread), names=",".join(unread)))
    numbers = [name for name in tablefiles.look_like_decimal_commas(read) if name not in known]
    if numbers:
        say_beside(phrase("files.commas_as_text", columns=listed(numbers)))
    if read.zero_padded:
        columns, first = list(read.zero_padded), next(iter(read.zero_padded.values()))
        said = {"columns": listed(columns), "first": first, "number": str(int(first)), "names": ",".join(columns)}
        say_beside(phrase("files.zeros_lost", **said))
    return table.reset_index(drop=True)


def training_parts(options: argparse.Namespace) -> tuple[ParquetTable, Any]:
    """The features of a training table in a folder of Parquet files, which is read in parts, and its labels."""
    from nicecf.exceptions import OptionError
    from nicecf.tables.files.parquet_parts import ParquetTable

    for option in ("format", "text", "dates"):
        if getattr(options, option):
            raise OptionError(
                f"--{option} is for a file, and {options.train} is a folder, of Parquet files, which have types of "
                "their own. Leave it out."
            )
    table = ParquetTable.of(options.train)
    label, ignored = options.label, options.ignore
    _check_columns(table.columns, options.train, label, ignored)
    features = table.without([*ignored, *([] if label is None else [label])])
    return features, None if label is None else table.labels(label)


def _check_columns(columns: Collection[Any], path: str, label: str | None, ignored: Sequence[str]) -> None:
    """FileError unless a table has the columns that --label and --ignore name."""
    from nicecf.exceptions import FileError, did_you_mean, listed

    for option, wanted in (("--label", [label] if label is not None else []), ("--ignore", ignored)):
        for name in wanted:
            if name not in columns:
                raise FileError(
                    f"{path} has no column {name!r}, which {option} names; its columns are "
                    f"{listed(columns)}.{did_you_mean(name, columns)}"
                )
    if label in ignored:
        raise FileError(f"{label!r} is the label column; it cannot be ignored.")


def split(table: pd.DataFrame, path: str, *, label: str | None, ignored: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """The features of a training table and its labels, None if no column is named; FileError if one is not there."""
    from nicecf.exceptions import FileError

    _check_columns(table.columns, path, label, ignored)
    y = None if label is None else table[label]
    if y is not None and y.isna().any():
        raise FileError(f"{path} has {int(y.isna().sum()):,} rows without a label in {label!r}; remove them.")
    return table.drop(columns=[*ignored, *([] if y is None else [label])]), y


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for rules."""
    group = parser.add_argument_group("rules that every counterfactual keeps")
    group.add_argument("--immutable", type=names, default=[], metavar="a,b", help="features that never change")
    group.add_argument(
        "--protected", type=names, default=[], metavar="a,b", help="features that never change, and that no text names"
    )
    group.add_argument("--increasing", type=names, default=[], metavar="a,b", help="features that only increase")
    group.add_argument("--decreasing", type=names, default=[], metavar="a,b", help="features that only decrease")
    group.add_argument("--max-changes", type=int, metavar="N", help="maximum number of features that change")
    group.add_argument("--rules", metavar="FILE", help="rules in a TOML file, or in a table with one line per feature")


def rules_of(options: argparse.Namespace) -> Constraints | None:
    """The rules in the options; None if there are none."""
    from nicecf import Constraints

    own = Constraints(
        immutable=options.immutable,
        protected=options.protected,
        increasing=options.increasing,
        decreasing=options.decreasing,
        max_changes=options.max_changes,
    )
    if options.rules is None:
        return own if own else None
    read = Constraints.from_toml(options.rules) if _is_toml(options.rules) else _rules_in_table(options)
    return read & own if own else read


def _is_toml(path: str) -> bool:
    return path.lower().endswith(".toml")


def _rules_in_table(options: argparse.Namespace) -> Constraints:
    """The rules in a table, which is laid out as the options say, if it is CSV; its sheet is the first."""
    from nicecf import Constraints
    from nicecf.tables import files as tablefiles

    layout = tablefiles.Layout(options.sep, options.decimal, options.encoding)
    is_csv = "sep" in tablefiles.takes(options.rules)
    table = tablefiles.read_typed(options.rules, layout=layout if is_csv else None)
    say_layout(table)
    return Constraints.from_frame(table.frame)


def wording_of(options: argparse.Namespace) -> Wording | None:
    """The wording in a file, in the language and with the regions that are asked for; None where nothing is."""
    from dataclasses import replace

    from nicecf import Wording

    wording = None if options.wording is None else Wording.from_toml(options.wording)
    asked = {"language": options.language, "regions": getattr(options, "regions", False) or None}
    asked = {name: value for name, value in asked.items() if value is not None}
    return replace(wording or Wording(), **asked) if asked else wording


def load_model(options: argparse.Namespace, spec: str | None = None) -> Any:
    """Load the model of --model, or of ``spec``, trusted as the options say."""
    from nicecf.models import files as modelfiles

    return modelfiles.load(
        options.model if spec is None else spec, trust_pickle=options.trust_pickle, trust=options.trust
    )


def load_explainer(
    path: str, options: argparse.Namespace, *, named: str | None = None
) -> tuple[NICE, dict[str, Any], str]:
    """A saved explainer with its model, the notes in its file, and the model's file or ``module:object``.

    ``named``: another place to look for the model, from a record.
    """
    from nicecf import NICE
    from nicecf.explain import saving
    from nicecf.support.files import existing

    notes = saving.notes(existing(path))
    given = options.model or _remembered(path, notes, named)
    return NICE.load(path, model=load_model(options, given)), notes, given


def _remembered(path: str, notes: Mapping[str, Any], named: str | None) -> str:
    """The file of the model that the explainer was fitted with, if it has not changed."""
    from nicecf.exceptions import FileError, OptionError
    from nicecf.models import files as modelfiles

    model = notes.get("model") or {"given": named}
    if not isinstance(model, dict) or not isinstance(model.get("given"), str):
        raise OptionError(f"{path} was not written by nicecf fit, so it does not say where its model is; add --model.")
    given: str = model["given"]
    if modelfiles.kind_of(given) == "python":
        # A data file must not decide which code is run.
        raise OptionError(
            f"{path} was fitted with {given}, which is code and is not run unless you ask for it: add --model {given}."
        )
    beside = os.path.dirname(path)
    places = [given, os.path.join(beside, given), os.path.join(beside, os.path.basename(given))]
    place = next((one for one in [*places, *([] if named is None else [named])] if os.path.isfile(one)), None)
    if place is None:
        raise FileError(
            f"{path} was fitted with the model {given}, which is neither there nor in the folder of {path}. Say "
            "where it is with --model."
        )
    if "sha256" in model and modelfiles.checksum(place) != model["sha256"]:
        raise FileError(
            f"the model file {place} has changed since {path} was fitted with it. Fit again; or pass --model {place} "
            "to compare the models by their answers for training rows."
        )
    return place


def label_of(given: str, labels: Iterable[Any], option: str) -> Any:
    """The label with this text: '1' is the class 1. OptionError if there is none."""
    from nicecf.exceptions import OptionError, did_you_mean, listed, plain

    known = [plain(label) for label in labels]
    for label in known:
        if str(label) == given:
            return label
    raise OptionError(
        f"{option} names {given!r}, which is not a class of the model; choose one of {listed(known)}."
        f"{did_you_mean(given, known)}"
    )


def search_of(options: argparse.Namespace) -> dict[str, str]:
    """The goal and the search that the options ask for, in place of those of fit."""
    return {name: asked for name in ("optimize", "search") if (asked := getattr(options, name)) is not None}


def searched(nice: NICE, options: argparse.Namespace) -> NICE:
    """The explainer with that goal and search."""
    search = search_of(options)
    return nice.with_search(**search) if search else nice  # type: ignore[arg-type]  # with_search checks them


def target_of(nice: NICE, options: argparse.Namespace) -> Any:
    """The classes of --target, or "other"; OptionError if the model has scores, and none are asked for."""
    from nicecf.exceptions import OptionError

    if not len(nice.classes_) and options.target_score is None:
        named = "--target names a class, but " if options.target is not None else ""
        raise OptionError(
            f"{named}the model of {options.explainer} returns scores: say which are wanted, such as --target-score "
            "5000: for at least 5000."
        )
    if options.target is None:
        return "other"
    return [label_of(one, nice.classes_, "--target") for one in options.target]


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[str | None]) -> None:
    """OptionError if a file would be written twice, or an input would be overwritten."""
    from nicecf.exceptions import OptionError
    from nicecf.support.files import check_writable

    read = {os.path.realpath(path): path for path in inputs if path is not None and path != "-"}
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        place = os.path.realpath(path)
        if place in read:
            raise OptionError(f"{option} {path} would overwrite an input file. Use another name.")
        if place in written:
            raise OptionError(f"{option} and {written[place]} name the same file, {path}. Use two files.")
        written[place] = option
        check_writable(path)


def progress(unit: str) -> Choice:
    """A bar on a terminal, lines in a log; nothing without standard error."""
    from nicecf.support.progress import Lines

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
    """The width of the terminal, at most 120 to keep text readable; 80 without a terminal."""
    return min(120, shutil.get_terminal_size((80, 24)).columns)


def command(*arguments: str) -> str:
    """The command line for a command of ``nicecf``; after ``--``, arguments that start with a dash are not options.

    >>> command("show", "out.csv", "-1 a")
    "nicecf show -- out.csv '-1 a'"
    """
    name, *rest = arguments
    dashes = ["--"] if any(one.startswith("-") for one in rest) else []
    return shlex.join(["nicecf", name, *dashes, *rest])


def read_cells(options: argparse.Namespace, path: str) -> FileTable:
    """The cells of a table; without the apostrophes before formulas if nicecf explain wrote it."""
    from nicecf.tables import files as tablefiles
    from nicecf.views import exported_table as outcomes

    layout = layout_of(options, path, options.format, beside=getattr(options, "rules", None))
    table = tablefiles.read_cells(path, format=options.format, layout=layout)
    is_ours = not options.raw_csv and outcomes.has_the_columns(table.frame)
    return tablefiles.without_apostrophes(table) if is_ours else table


def facts(lines: Sequence[tuple[str, str]]) -> str:
    """Names and descriptions in two columns, wrapped to the width of the terminal."""
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
