"""``nicecf explain``: explain the rows of a file with a saved explainer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from nicecf.cli import common, explain_files, letters
from nicecf.cli.codes import DONE, INCOMPLETE
from nicecf.cli.language import add_language_option, counted, language, number, phrase, stated
from nicecf.cli.terminal import in_one_line, remark, say, say_beside

if TYPE_CHECKING:
    import pandas as pd

    from nicecf import NICE, Counterfactuals, Wording
    from nicecf.tables.files import FileTable

_EXAMPLE = """\
examples:
  nicecf explain credit.nice new.csv --out out.parquet --target approved
  nicecf explain limits.nice new.csv --out out.csv --target-score 5000:
  nicecf explain credit.nice rows/ --out answers/ --id customer
  cat new.csv | nicecf explain credit.nice - --out - --id customer > out.csv

--out has one line per counterfactual: row, counterfactual (its number), found,
decision, probability, decision_after, probability_after, n_changes, text,
changes (JSON), reason, note, said (JSON, for nicecf show), reason_kind, line
(JSON: what decides), proof (optimal, infeasible or bound), gap (by which share
of its cost it could be better at most), then the features of the
counterfactual; a feature with one of these names gets the prefix cf_.
With --target-score, score and score_after are in place of the probabilities.
A folder of Parquet files, or a Parquet file with a folder as --out, is
explained file by file; so is what goes by --engine, as the engine reads it.
The exit code is 3 if a row has no counterfactual."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="explain the rows of a file, and write what would have to be different",
        description="Explain the rows of a file with an explainer from nicecf fit.",
        usage="nicecf explain EXPLAINER TABLE --out FILE [options]",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("explainer", metavar="EXPLAINER", help="what nicecf fit wrote, such as credit.nice")
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="rows to explain (.csv, .parquet, ...; a folder of Parquet files; - for standard input)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write the results (- standard output)")
    explain_files.add_engine_option(parser)
    parser.add_argument("--report", metavar="FILE", help="also write an HTML report")
    parser.add_argument("--records", metavar="FILE", help="also write audit records (.jsonl), for nicecf replay")
    parser.add_argument(
        "--boxes", action="store_true", help="records also say with which values each answer still holds"
    )
    common.add_model_options(parser, required=False, remembered=" (default: that of fit, unless it is code)")
    rows = parser.add_argument_group("rows")
    rows.add_argument("--id", metavar="COLUMN", help="column with the row labels")
    rows.add_argument("--ignore", type=common.names, default=[], metavar="a,b", help="columns that are not features")
    rows.add_argument(
        "--format", type=common.table_format, metavar="KIND", help="format of TABLE, if its name does not say (-: csv)"
    )
    common.add_layout_options(rows)
    rows.add_argument(
        "--out-format",
        type=common.table_format,
        metavar="KIND",
        help="format of --out, if its name does not say (-: --format)",
    )
    rows.add_argument("--raw-csv", action="store_true", help="write CSV text unchanged: no apostrophe before formulas")
    asked = parser.add_argument_group("counterfactuals")
    asked.add_argument(
        "--target", type=common.names, metavar="CLASS", help="target class, or several: a,b (default: any other)"
    )
    asked.add_argument(
        "--target-score",
        type=_score_range,
        metavar="LOW:HIGH",
        help="scores that are wanted: 5000: for at least 5000, :0.08 for at most 0.08",
    )
    asked.add_argument("--n", type=int, default=1, metavar="N", help="at most N per row (thorough search only)")
    asked.add_argument("--time-budget", type=float, metavar="SECONDS", help="stop improving results after this time")
    asked.add_argument("--optimize", metavar="GOAL", help="a different goal from that of fit")
    asked.add_argument("--search", metavar="HOW", help="a different search from that of fit: greedy, thorough or exact")
    common.add_rule_options(parser)
    _add_word_options(parser)
    letters.add_letter_options(parser)


def _add_word_options(parser: argparse.ArgumentParser) -> None:
    words = parser.add_argument_group("words")
    words.add_argument(
        "--style",
        default="sentence",
        choices=common.STYLES,
        metavar="STYLE",
        help=f"{', '.join(common.STYLES)} (default: sentence)",
    )
    words.add_argument("--wording", metavar="FILE", help="names, units and classes for the texts, in a TOML file")
    words.add_argument(
        "--regions", action="store_true", help="say 'at least 680' where any such value would do, in texts and reports"
    )
    words.add_argument("--title", help="title of the report")
    add_language_option(words)


def _run(options: argparse.Namespace) -> int:
    from nicecf.exceptions import NicecfError, OptionError
    from nicecf.tables import files as tablefiles
    from nicecf.views import exported_table as outcomes

    if explain_files.is_meant(options):
        return explain_files.run(options)
    for option, path in (("--report", options.report), ("--records", options.records)):
        if path == "-":
            raise OptionError(f"{option} needs a file; only --out can go to standard output.")
    out_format = options.out_format or (options.format if options.out == "-" else None)
    if options.boxes and options.records is None:
        raise OptionError("--boxes is for records: add --records FILE.")
    tablefiles.check_format(options.out, out_format)
    common.check_outputs(
        {"--out": options.out, "--report": options.report, "--records": options.records},
        [options.explainer, options.table, options.rules, options.wording, options.model],
    )
    with _own_stdout(options.out):
        wording = common.wording_of(options)
        rules = common.rules_of(options)
        nice, notes, model = common.load_explainer(options.explainer, options)
        nice = common.searched(nice, options)
        target = common.target_of(nice, options)
        X, read = _rows(nice, notes, options)
        if options.letters is not None:
            letters.check_folder(X, options.letters)
        cfs = nice.explain(
            X,
            target_class=target,
            target_score=options.target_score,
            constraints=rules,
            n_counterfactuals=options.n,
            time_budget=options.time_budget,
            progress=common.progress("rows"),
        )
        failure = None
        try:
            table = outcomes.table(cfs.batch, style=options.style, wording=wording)
        except NicecfError as error:  # The words must not cost the answers, which may have taken hours.
            table, failure = outcomes.table(cfs.batch), error
    # The answers first: a template that lacks a field, or a full disk, must not cost them either.
    lacking = tablefiles.write(table, options.out, format=out_format, protect=not options.raw_csv, beside=read)
    with _own_stdout(options.out):
        if options.records is not None:
            _write_records(cfs, options, model, common.search_of(options))
        if failure is not None:
            raise failure
        if options.letters is not None:
            letters.write_letters(cfs, letters.letters_of(cfs, options, wording), options.letters, wording)
        if options.report is not None:
            cfs.to_html(options.report, title=options.title, wording=wording, about=_files(options, model, wording))
    if lacking is not None:
        say_beside(_in_utf8(read, options.out, lacking))
    (say_beside if options.out == "-" else say)(_told(cfs, options))
    return DONE if cfs.found.all() else INCOMPLETE


def _files(options: argparse.Namespace, model: str, wording: Wording | None) -> dict[str, str]:
    """The files that a report is about."""
    from nicecf import Wording
    from nicecf.views.telling import Teller

    teller = Teller(wording or Wording())
    named = {"rows": options.table, "explainer": options.explainer, "model": model}
    return {teller.say(f"report.file_{what}"): str(path) for what, path in named.items() if path not in (None, "-")}


def _score_range(text: str) -> tuple[float | None, float | None]:
    low, colon, high = text.partition(":")
    try:
        if not colon or not (low.strip() or high.strip()):
            raise ValueError
        return (float(low) if low.strip() else None, float(high) if high.strip() else None)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range of scores; write LOW:HIGH, such as 5000: for at least 5000, or :0.08 for at most "
            "0.08"
        ) from None


@contextmanager
def _own_stdout(out: str) -> Iterator[None]:
    """Keeps what a model prints out of the results on standard output."""
    with redirect_stdout(sys.stderr) if out == "-" else nullcontext():
        yield


def _in_utf8(read: FileTable, out: str, lacking: str) -> str:
    """That the results are in another encoding than the table."""
    encoding = str(read.layout.encoding)
    return phrase("files.in_utf8", file=in_one_line(out), encoding=encoding, character=lacking)


def _rows(nice: NICE, notes: Mapping[str, Any], options: argparse.Namespace) -> tuple[Any, FileTable]:
    """The rows in the form of the training table, without the columns that were not features, and as they were read."""
    from nicecf.exceptions import FileError, OptionError
    from nicecf.tables import files as tablefiles

    schema = nice._fitted.schema.full
    table = common.read_cells(options, options.table)
    if schema.container.label == "numpy array":
        table = common.told(_by_position(table, schema, options), tablefiles.number_columns(schema.columns))
        rows: pd.DataFrame = tablefiles.like(table, schema.columns)
        return rows.to_numpy(dtype=schema.empty.dtype), table
    if schema.container.label != "pandas DataFrame":
        raise FileError(
            f"{options.explainer} was fitted on a {schema.container.label}, but rows from files are pandas frames. Fit "
            "it with nicecf fit, or on a pandas frame."
        )
    known = {str(name) for name in nice.feature_names_in_}
    if options.id in options.ignore:
        raise OptionError(f"--id and --ignore both name {options.id!r}; give it once.")
    ignored = [name for name in [notes.get("label"), *(notes.get("ignored") or [])] if name is not None]
    dropped = [
        name
        for name in ignored
        if name in table.frame and name not in known and name != options.id and name not in options.ignore
    ]
    if dropped:
        remark(phrase("cli.ignored", columns=", ".join(dropped)))
    table = common.told(table, tablefiles.number_columns(schema.columns))
    return tablefiles.like(table, schema.columns, ignore=[*options.ignore, *dropped], id=options.id), table


def _by_position(table: FileTable, schema: Any, options: argparse.Namespace) -> FileTable:
    """Rows for an explainer that was fitted on an array, whose columns have no names."""
    from dataclasses import replace

    from nicecf.exceptions import FileError

    left_out = [*options.ignore, *([] if options.id is None else [options.id])]
    frame = table.frame.drop(columns=left_out, errors="ignore")
    if frame.shape[1] != len(schema.columns):
        raise FileError(
            f"{table.name} has {common.counted(frame.shape[1], 'feature column')}, but {options.explainer} was "
            f"fitted on an array with {len(schema.columns)}. Leave out the others with --ignore or --id."
        )
    return replace(table, frame=frame.set_axis(schema.names, axis="columns"))


def _write_records(cfs: Counterfactuals, options: argparse.Namespace, model: str, search: dict[str, str]) -> None:
    from nicecf.results.records import with_files
    from nicecf.support.files import writing

    made_of = {"explainer": options.explainer, "model": model, **({"search": search} if search else {})}
    records = with_files(cfs.to_records(boxes=options.boxes), made_of)
    lines = "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)
    with writing(options.records) as file:
        file.write(lines.encode("utf-8", "surrogatepass"))


def _told(cfs: Counterfactuals, options: argparse.Namespace) -> str:
    """The results in a few lines."""
    import numpy as np

    from nicecf import Wording
    from nicecf.views.words.proven import counted_proofs

    is_changed = cfs.batch.n_changes > 0
    summary = cfs.summary(wording=None if language() == "en" else Wording(language=language()))
    totals = summary.totals
    head = phrase("cli.explained", rows=counted("cli.rows", totals.rows), found=totals.found)
    if options.n > 1:
        several = counted("cli.counterfactuals", int(cfs.found.sum()))
        head = phrase("cli.explained_several", explained=head, counterfactuals=several)
    if totals.unchanged:
        head = phrase("cli.explained_still", explained=head, still=totals.unchanged)
    lines = []
    changes = cfs.changes()
    if len(changes):
        made = ~changes["derived"] if "derived" in changes else slice(None)
        often = changes.loc[made, "feature"].value_counts(sort=True)
        shown = ", ".join(f"{feature} {number(count)}" for feature, count in often.head(6).items())
        lines.append(("changes", phrase("cli.changes", mean=number(totals.mean_changes, 1), features=shown)))
    without = [one for one in cfs.batch.reasons if one is not None]
    if without:
        lines.append(("without", phrase("cli.first_of", count=totals.rows - totals.found, first=stated(without[0]))))
    proven = counted_proofs(cfs.batch, Wording(language=language()))
    if proven:
        lines.append(("proven", proven))
    noted = [notes for notes in cfs.batch.notes if notes]
    if noted:
        lines.append(("notes", phrase("cli.first_of", count=len(noted), first=stated(*noted[0]))))
    if summary.unseen_note is not None:
        lines.append(("unseen", summary.unseen_note))
    written = [path for path in (options.out, options.report, options.records) if path not in (None, "-")]
    if written:
        lines.append(("written", ", ".join(map(in_one_line, written))))
    if options.letters is not None:
        lines.append(("letters", phrase("cli.letters", count=totals.rows, folder=in_one_line(options.letters))))
    if options.out != "-" and len(cfs):
        first = cfs.batch.labels[int(np.argmax(is_changed))]
        lines.append(("look", in_one_line(common.command("show", options.out, str(first)))))
    facts = [(phrase(f"cli.fact_{name}"), said) for name, said in lines]
    return f"{head}.\n{common.facts(facts)}" if facts else f"{head}."
