"""``nicecf explain`` of tables that are too large for one file in memory: folders of Parquet files, and engines."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nicecf.cli import common
from nicecf.cli.codes import DONE, INCOMPLETE
from nicecf.cli.language import counted, number, phrase
from nicecf.cli.terminal import in_one_line, say

if TYPE_CHECKING:
    from nicecf import NICE
    from nicecf.engines.folders import Totals

_ENGINES = {
    "spark": re.compile(r"(spark|k8s)://.+|local(-cluster)?\[.+\]|local|yarn"),
    "dask": re.compile(r"(dask|tcp|tls)://.+"),
}
# Options about one file, or for people: what they are when nobody gave them.
_NOT_HERE: dict[str, Any] = {
    **dict.fromkeys(("report", "records", "letters", "wording", "title", "codes", "reasons"), None),
    **dict.fromkeys(("format", "out_format", "sep", "decimal", "encoding", "sheet"), None),
    **dict.fromkeys(("raw_csv", "regions", "boxes"), False),
    "style": "sentence",
    "template": "plain",
    "field": [],
}
# How Spark shows an error of a worker: somewhere in a stack.
_ERROR = re.compile(r"nicecf\.exceptions\.(\w+): (.+)")


def add_engine_option(group: Any) -> None:
    """Add the option that says where it runs."""
    group.add_argument(
        "--engine",
        metavar="ADDRESS",
        help="run on Spark (local[2], spark://host:7077) or Dask (tcp://host:8786); reads and writes Parquet",
    )


def is_meant(options: argparse.Namespace) -> bool:
    """Whether the rows are in a folder, or the results go into one, or an engine does it."""
    if options.engine is not None or os.path.isdir(options.table):
        return True
    is_folder = options.out.endswith(("/", os.sep)) or os.path.isdir(options.out)
    return is_folder and options.table.lower().endswith((".parquet", ".pq"))


def run(options: argparse.Namespace) -> int:
    """Explain them, and say how many there were."""
    from nicecf.exceptions import OptionError

    for name, default in _NOT_HERE.items():
        if getattr(options, name) != default:
            option = "--" + name.replace("_", "-")
            raise OptionError(
                f"{option} is for results in one file; a folder or an engine has Parquet files with Parquet files of "
                f"results, in plain words. Leave out {option}."
            )
    if options.out == "-" or options.table == "-":
        raise OptionError("a folder or an engine needs paths: neither TABLE nor --out can be -.")
    engine = None if options.engine is None else _kind_of(options.engine)
    if engine is not None and options.id is None:
        raise OptionError("--engine needs --id: an engine keeps no order, and rows are known again by a column.")
    rules = common.rules_of(options)
    nice, _, model = common.load_explainer(options.explainer, options)
    nice = common.searched(nice, options)
    ignored = [name for name in options.ignore if name in {str(one) for one in nice.feature_names_in_}]
    if ignored:
        raise OptionError(f"--ignore names {ignored[0]!r}, which the explainer needs: the model was trained on it.")
    asked = {
        "id": options.id,
        "target_class": common.target_of(nice, options),
        "target_score": options.target_score,
        "constraints": rules,
        "n_counterfactuals": options.n,
        "time_budget": options.time_budget,
    }
    totals = _in_files(nice, options, asked) if engine is None else _by_engine(engine, nice, model, options, asked)
    say(_told(totals, options))
    return DONE if totals.found == totals.rows else INCOMPLETE


def _kind_of(engine: str) -> str:
    from nicecf.exceptions import OptionError

    for kind, pattern in _ENGINES.items():
        if pattern.fullmatch(engine):
            return kind
    raise OptionError(
        f"--engine {engine!r} is not known; write the address of Spark, such as local[2], local-cluster[2,1,1024] or "
        "spark://host:7077, or of the scheduler of Dask: tcp://host:8786."
    )


def _in_files(nice: NICE, options: argparse.Namespace, asked: dict[str, Any]) -> Totals:
    from nicecf.cli.terminal import say_beside
    from nicecf.engines import folders

    def finished(place: str, rows: int) -> None:
        say_beside(phrase("cli.finished", file=in_one_line(place), rows=counted("cli.rows", rows)))

    return folders.explain(options.table, nice, out=options.out, progress=finished, **asked)


def _by_engine(engine: str, nice: NICE, model: str, options: argparse.Namespace, asked: dict[str, Any]) -> Totals:
    from nicecf.exceptions import FileError
    from nicecf.models import files as modelfiles
    from nicecf.tables.files.parquet_parts import parquet_files

    if "://" not in options.table:
        parquet_files(options.table)
    if os.path.exists(options.out) and not (os.path.isdir(options.out) and not os.listdir(options.out)):
        raise FileError(f"--out {options.out} is there already; an engine writes a new folder. Give another name.")
    # A session of onnxruntime cannot be sent; its file can.
    shipped = model if modelfiles.kind_of(model) == "onnx" else None
    by = _by_spark if engine == "spark" else _by_dask
    return by(nice, shipped, options, asked)


def _by_spark(nice: NICE, model: str | None, options: argparse.Namespace, asked: dict[str, Any]) -> Totals:
    from nicecf.engines import spark
    from nicecf.engines.folders import Totals

    session = spark.session_of(options.engine)
    with _errors_of_workers():
        rows = session.read.parquet(options.table)
        answers = spark.explain(rows, nice, model=model, **asked)
        answers.write.mode("append").parquet(options.out)
        firsts = session.read.parquet(options.out).where("counterfactual = 0")
        without = firsts.where("NOT found")
        reason = without.select("reason").first()
        n_rows, n_without = firsts.count(), without.count()
        totals = Totals(
            rows.rdd.getNumPartitions(), 0, n_rows, n_rows - n_without, None if reason is None else reason[0]
        )
    session.stop()
    return totals


def _by_dask(nice: NICE, model: str | None, options: argparse.Namespace, asked: dict[str, Any]) -> Totals:
    from nicecf.engines import dask
    from nicecf.engines.folders import Totals
    from nicecf.exceptions import OptionError
    from nicecf.support.extras import require

    dd = require("dask.dataframe", extra="dask", needed_by=f"--engine {options.engine}")
    distributed = require("distributed", extra="dask", needed_by=f"--engine {options.engine}")
    address = options.engine.replace("dask://", "tcp://")
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise OptionError(f"--engine {options.engine}: no scheduler of Dask answers there ({error}).") from error
    with client:
        rows = dd.read_parquet(os.path.abspath(options.table))
        answers = dask.explain(rows, nice, model=model, **asked)
        answers.to_parquet(os.path.abspath(options.out), write_index=False)
        firsts = dd.read_parquet(os.path.abspath(options.out), columns=["counterfactual", "found", "reason"])
        firsts = firsts[firsts["counterfactual"] == 0]
        n_rows, n_found = len(firsts), int(firsts["found"].sum().compute())
        reason = firsts["reason"].dropna().head(1, npartitions=-1)
    return Totals(rows.npartitions, 0, n_rows, n_found, reason.iloc[0] if len(reason) else None)


@contextmanager
def _errors_of_workers() -> Iterator[None]:
    """An error of Spark as one of nicecf: what a worker said, and not its stack."""
    from nicecf import exceptions

    try:
        yield
    except exceptions.NicecfError:
        raise
    except Exception as error:
        said = _ERROR.findall(str(error))
        if said:
            kind, words = said[-1]
            raise getattr(exceptions, kind, exceptions.NicecfError)(words.strip()) from error
        lines = str(error).strip().splitlines() or [""]
        raise exceptions.NicecfError(f"Spark failed: {type(error).__name__}: {lines[0]}") from error


def _told(totals: Totals, options: argparse.Namespace) -> str:
    """The results in a few lines."""
    head = phrase("cli.explained", rows=counted("cli.rows", totals.rows), found=totals.found)
    lines = []
    if totals.reason is not None:
        count = totals.rows - totals.found
        lines.append(("without", phrase("cli.first_of", count=count, first=totals.reason)))
    if totals.kept:
        lines.append(("kept", phrase("cli.kept", count=totals.kept, files=number(totals.files))))
    if totals.replaced:
        lines.append(("replaced", phrase("cli.replaced", count=totals.replaced, files=number(totals.files))))
    lines.append(("written", in_one_line(options.out)))
    return f"{head}.\n{common.facts([(phrase(f'cli.fact_{name}'), said) for name, said in lines])}"
