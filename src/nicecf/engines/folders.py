"""Parquet files without an engine: explained file by file and batch by batch, in bounded memory; and fitted to.

Each file of answers is written in one step and says which job it is of. So a job that was stopped goes on where it was:
files that are finished are left as they are, and anything else that is in their way is not overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicecf.engines.asked import Asked
from nicecf.engines.job import Job
from nicecf.engines.opened import opened
from nicecf.exceptions import FileError, OptionError
from nicecf.nice import NICE
from nicecf.rules.constraints import Constraints
from nicecf.support.files import checked, reason, writing
from nicecf.support.json_values import to_json
from nicecf.tables.files.parquet_parts import ParquetTable, opened_parquet, parquet_files

ROWS_AT_ONCE = 10_000
_JOB = b"nicecf.job"
# What a Parquet file ends with: where its columns are, how large, and from where to where their values go.
_FOOTER = 65_536


@dataclass(frozen=True)
class Totals:
    """What came of a job: files, those of them that were finished before, rows, and those with a counterfactual.

    ``reason``: the first one, of a row that has none.
    """

    files: int
    kept: int
    rows: int
    found: int
    reason: str | None


def training(source: str | os.PathLike[str], label: str | None = None) -> tuple[ParquetTable, Any]:
    """The training table in a Parquet file, or in all of a folder, for ``NICE.fit(X, y)``: its features and its labels.

    It is read part by part while it is fitted to, into a file without a name in the folder for temporary files
    (``TMPDIR``), so that it need not fit in memory. FileError if files differ in their columns, or a label is missing.
    """
    table = ParquetTable.of(checked(source))
    return (table, None) if label is None else (table.without([label]), table.labels(label))


def explain(
    source: str | os.PathLike[str],
    explainer: NICE | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    id: str | None = None,
    model: Any = None,
    target_class: Any = "other",
    target_score: Any = None,
    constraints: Constraints | None = None,
    n_counterfactuals: int = 1,
    time_budget: float | None = None,
    progress: Callable[[str, int], object] | None = None,
) -> Totals:
    """Explain the rows of a Parquet file, or of all in a folder, and write a file of answers for each into ``out``.

    A file of answers has the name of the file it is for, and the columns of :func:`nicecf.engines.explain_batches`;
    without ``id``, rows are numbered in each file. It is written in one step: after a full disk or a kill there is no
    half file, and the same call again goes on with those that are missing. A file in its place that is not of the same
    explainer, options and rows is a FileError, before anything is explained. ``progress`` is called with the name of
    each file that is finished, and the number of its rows.
    """
    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice = opened(explainer, model)
    asked.check(nice)
    files = _files(checked(source), checked(out))
    told = {"explainer": to_json(nice._options), **nice._fitted.fingerprints, "asked": repr(asked), "id": id}
    stamps = {place: _stamp(told, path) for path, place in files}
    finished = {place for _, place in files if _is_finished(place, stamps[place])}
    jobs = {place: Job.of(nice, asked, opened_parquet(path).schema_arrow, id) for path, place in files}
    totals = Totals(0, 0, 0, 0, None)
    for path, place in files:
        if place not in finished:
            _write(jobs[place], path, place, stamps[place])
        totals = _added(totals, place, was_there=place in finished)
        if progress is not None:
            progress(str(place), totals.rows)
    return totals


def _files(source: str, out: str) -> list[tuple[Path, Path]]:
    """Each file of rows, and where its answers go."""
    files = parquet_files(source)
    root = Path(source) if os.path.isdir(source) else Path(source).parent
    if os.path.exists(out) and not os.path.isdir(out):
        raise FileError(f"{out} is a file; give the path of a folder for the answers.")
    inner, outer = os.path.realpath(out), os.path.realpath(root)
    if inner == outer or (os.path.isdir(source) and inner.startswith(outer + os.sep)):
        raise OptionError(f"the answers must not go into {source} itself, among the rows. Give another folder.")
    return [(path, Path(out, path.relative_to(root))) for path in files]


def _stamp(told: Any, path: Path) -> bytes:
    """What tells this job from any other: the explainer, what is asked of it, and the rows, by the end of a file."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _FOOTER))
            footer = file.read()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {reason(error)}.") from error
    digest = hashlib.sha256(json.dumps([told, size], sort_keys=True, default=str).encode())
    digest.update(footer)
    return digest.hexdigest().encode()


def _is_finished(place: Path, stamp: bytes) -> bool:
    """Whether the answers are there; FileError if something else is."""
    if not place.exists():
        return False
    if (opened_parquet(place).schema_arrow.metadata or {}).get(_JOB) != stamp:
        raise FileError(
            f"{place} is there already, and does not hold the answers of this explainer with these options for these "
            "rows. Remove it, or give another folder."
        )
    return True


def _write(job: Job, path: Path, place: Path, stamp: bytes) -> None:
    import pyarrow.parquet as pq

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {place.parent} cannot be made: {reason(error)}. Give another path.") from error
    first = 0
    with writing(place) as file, pq.ParquetWriter(file, job.schema.with_metadata({_JOB: stamp})) as writer:
        for batch in opened_parquet(path).iter_batches(batch_size=ROWS_AT_ONCE, columns=job.needed):
            writer.write_batch(job.answered(batch, first))
            first += batch.num_rows


def _added(totals: Totals, place: Path, *, was_there: bool) -> Totals:
    """The totals with those of one file of answers, by the first of each row."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    answers = pq.ParquetFile(place).read(columns=["counterfactual", "found", "reason"])
    answers = answers.filter(pc.equal(answers["counterfactual"], 0))
    reasons = answers["reason"].drop_null()
    return Totals(
        totals.files + 1,
        totals.kept + was_there,
        totals.rows + answers.num_rows,
        totals.found + (pc.sum(answers["found"]).as_py() or 0),
        totals.reason or (reasons[0].as_py() if len(reasons) else None),
    )
