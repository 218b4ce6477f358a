"""``nicecf benchmark``: the experiments of the paper, on its data or your own."""

from __future__ import annotations

import argparse
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from nicecf.cli.codes import DONE, FAILED
from nicecf.cli.common import progress
from nicecf.cli.terminal import in_one_line, is_text, remark, say


def add(commands: Any) -> None:
    """Add the command to the parser."""
    benchmark = commands.add_parser("benchmark", help="the experiments of the paper, on its data or your own")
    actions = benchmark.add_subparsers(required=True, metavar="action")
    _add_run(actions.add_parser("run", help="explain test rows with many methods and store every explanation"))
    _add_report(actions.add_parser("report", help="statistics, tables and figures for a run"))
    _add_growth(actions.add_parser("growth", help="measure the cost of explanations as tables grow"))


def _folder(given: str) -> Path:
    return Path(given).expanduser()


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run)
    parser.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="folder for the results; an earlier run is resumed"
    )
    parser.add_argument("--profile", default="quick", help="quick: a small part of the grid search; paper: all of it")
    parser.add_argument("--data", metavar="DIR", help="folder with the datasets (default: the variable NICECF_DATA)")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="names, or CSV/Parquet files (default: the 40)")
    parser.add_argument("--label", metavar="COLUMN", help="label column of files (default: target)")
    parser.add_argument("--models", nargs="+", default=["rf", "ann"], metavar="NAME", help="rf, ann")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="default: the ten of the paper and ours")
    parser.add_argument("--rows", type=int, default=200, help="test rows explained (default: 200)")
    parser.add_argument("--alone", type=int, default=5, help="how many of these are timed one by one (default: 5)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="per explanation; after that, not found")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tuned", type=_folder, metavar="DIR", help="an earlier run to take the classifiers' parameters from"
    )
    parser.add_argument("--jobs", type=int, default=1, help="datasets to run in parallel (default: 1)")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_report)
    parser.add_argument("folder", type=_folder, metavar="DIR", help="the --out folder of the run")
    parser.add_argument(
        "splits",
        type=_folder,
        nargs="*",
        metavar="SPLIT",
        help="folders of runs with other seeds, to see what is chance",
    )
    parser.add_argument("--out", type=_folder, metavar="DIR", help="folder for the report (default: DIR/report)")


def _add_growth(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_growth)
    parser.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="folder for the results, for example that of a run"
    )
    parser.add_argument("--data", metavar="DIR", help="folder with the datasets (default: the variable NICECF_DATA)")
    parser.add_argument("--tables", nargs="+", default=["clean2", "adult", "covertype"], metavar="NAME")
    parser.add_argument("--rows", type=int, default=20, help="test rows explained at every size (default: 20)")
    parser.add_argument("--seed", type=int, default=0)


def _run(options: argparse.Namespace) -> int:
    from nicecf.benchmark import plan as plans
    from nicecf.benchmark.run import run
    from nicecf.exceptions import OptionError

    for dataset in options.datasets or ():
        if not is_text(dataset):
            raise OptionError(f"--datasets names {dataset!r}, a name with bytes that are not text. Rename the file.")
    plan = plans.Plan(
        datasets=tuple(options.datasets or plans.all_datasets()),
        models=tuple(options.models),
        methods=tuple(options.methods or plans.DEFAULT_METHODS),
        profile=options.profile,
        rows=options.rows,
        alone=options.alone,
        seed=options.seed,
        time_limit=options.time_limit,
        data=options.data or os.environ.get("NICECF_DATA"),
        label=options.label,
        tuned=None if options.tuned is None else str(options.tuned),
    )
    outcome = run(plan, options.out, jobs=options.jobs, progress=progress("cells"), command=options.command_line)
    hint = (
        f" For the report: nicecf benchmark report {in_one_line(shlex.quote(str(options.out)))}"
        if outcome.n_done
        else ""
    )
    say(f"{outcome.n_done:,} of {outcome.n_cells:,} cells are done.{hint}")
    for name, error in outcome.failures.items():
        remark(f"failed: {name}: {error}")
    return FAILED if outcome.failures else DONE


def _report(options: argparse.Namespace) -> int:
    from nicecf.benchmark import archive, report

    main, *splits = [_frames(archive.opened(folder)) for folder in (options.folder, *options.splits)]
    out = options.out or options.folder / "report"
    report.write(main, out, source=options.folder, splits=splits)
    say(f"The report is in {in_one_line(out)}: report.html, report.md, tables and figures.")
    return DONE


def _frames(store: Any) -> Any:
    """What a run left behind, for its report."""
    from nicecf.benchmark.report import RunFrames
    from nicecf.exceptions import ExperimentError

    autoencoders = None
    if hasattr(store, "autoencoders"):
        # Of a run of an older version there is no such table. What is damaged is said by the others.
        with suppress(ExperimentError):
            autoencoders = store.autoencoders()
    frames = (store.records(), store.cells(), store.models(), store.datasets(), store.about(), store.growth())
    return RunFrames(*frames, autoencoders)


def _growth(options: argparse.Namespace) -> int:
    from nicecf.benchmark import growth
    from nicecf.exceptions import OptionError

    unknown = [table for table in options.tables if table not in growth.TABLES]
    if unknown:
        raise OptionError(f"--tables names {unknown[0]!r}; choose from {', '.join(growth.TABLES)}.")
    growth.measure(
        options.out,
        data=options.data or os.environ.get("NICECF_DATA"),
        tables=tuple(options.tables),
        rows=options.rows,
        seed=options.seed,
        progress=progress("sizes"),
        command=options.command_line,
    )
    say(f"Measured. For the report: nicecf benchmark report {in_one_line(shlex.quote(str(options.out)))}")
    return DONE
