"""Parquet files without an engine: explained file by file and batch by batch, in bounded memory; and fitted to.

Each file of answers is written in one step, with a digest of all that its answers depend on. So a job that was stopped
goes on where it was: files whose digest is the same are kept, and answers of anything else are computed again. Files
that hold no answers are not overwritten.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nicecf.engines.asked import Asked
from nicecf.engines.job import Job
from nicecf.engines.opened import opened
from nicecf.engines.packed import functions_of
from nicecf.exceptions import FileError, OptionError
from nicecf.models.files.onnx import OnnxModel
from nicecf.models.remote import RemoteModel
from nicecf.nice import NICE
from nicecf.results.provenance import versions
from nicecf.rules.constraints import Constraints
from nicecf.support.digests import file_digest, object_digest
from nicecf.support.files import checked, reason, writing
from nicecf.tables.files.parquet_parts import ENDINGS, ParquetTable, opened_parquet, parquet_files

ROWS_AT_ONCE = 10_000
_JOB = b"nicecf.job"
# In place of a digest, where the model cannot be compared.
_UNKNOWN = b"unknown"


@dataclass(frozen=True)
class Totals:
    """What came of a job: files, those of them that were finished before, rows, and those with a counterfactual.

    ``reason``: the first one, of a row that has none. ``replaced``: files whose answers were of other rows, or of
    another model, explainer or options, and which were written again.
    """

    files: int
    kept: int
    rows: int
    found: int
    reason: str | None
    replaced: int = 0


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
    half file, and the same call again goes on with those that are missing. Answers that are there are kept if the whole
    content of their rows, the model, the explainer and the options are the same, and computed again if not, or if the
    model has no content that can be compared: a function, or a service. A file in their place that holds no answers,
    and answers for a file that is not in the folder any more, are a FileError, before anything is explained.
    ``progress`` is called with the name of each file that is finished, and the number of its rows.
    """
    asked = Asked(target_class, target_score, constraints, n_counterfactuals, time_budget)
    nice = opened(explainer, model)
    asked.check(nice)
    files = _files(checked(source), checked(out))
    _check_in_place({place for _, place in files}, Path(out), is_whole=os.path.isdir(source))
    jobs = {place: Job.of(nice, asked, opened_parquet(path).schema_arrow, id) for path, place in files}
    of_job = _digest(nice, asked, id)
    totals = Totals(0, 0, 0, 0, None)
    for path, place in files:
        was_there, stamp = place.exists(), _stamp(of_job, path)
        is_finished = was_there and _is_finished(path, place, stamp)
        if not is_finished:
            _write(jobs[place], path, place, stamp)
        totals = _added(totals, place, kept=is_finished, replaced=was_there and not is_finished)
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


def _check_in_place(places: set[Path], out: Path, *, is_whole: bool) -> None:
    """Raise FileError for a file in the place of answers that holds none, and for answers of rows that are gone.

    ``is_whole``: whether all files of the folder of answers are of this job.
    """
    for place in places:
        if place.exists() and _job_of(place) is None:
            raise FileError(
                f"{place} is there already, and does not hold answers of nicecf. Remove it, or give another folder."
            )
    has_answers = is_whole and any(path.suffix.lower() in ENDINGS for path in out.rglob("*"))
    for path in parquet_files(out) if has_answers else ():
        if path not in places and _job_of(path) is not None:
            raise FileError(
                f"{path} holds answers of an earlier call, for a file of rows that is not there any more. Remove it, "
                "or give another folder: whoever reads this one would take them for answers of this call."
            )


def _job_of(path: Path) -> bytes | None:
    """Return the stamp of the job that a file holds the answers of; None if it holds none."""
    stamp: bytes | None = (opened_parquet(path).schema_arrow.metadata or {}).get(_JOB)
    return stamp


def _digest(nice: NICE, asked: Asked, id: str | None) -> str | None:
    """Return a digest of explainer, models and options; None if a function or a service is among them.

    The explainer is told by its training data and its options, since these are all that a fit depends on.
    """
    functions = functions_of(nice)
    derived = {} if asked.constraints is None else asked.constraints.derived
    models = [nice.model, *functions.pop("robust_to", [])]
    is_service = any(isinstance(model, RemoteModel) for model in models)
    if functions or is_service or any(callable(how) for how in derived.values()):
        return None
    contents = [file_digest(one.path) if isinstance(one, OnnxModel) else object_digest(one) for one in models]
    dtypes = [str(column.prototype.dtype) for column in nice._fitted.schema.full.columns]
    rest = object_digest([versions(), nice._options, nice._fitted.fingerprints, dtypes, asked, id])
    digests = [*contents, rest]
    return None if None in digests else " ".join(map(str, digests))


def _stamp(of_job: str | None, path: Path) -> bytes:
    """Return what tells the answers for one file from any others."""
    if of_job is None:
        return _UNKNOWN
    return hashlib.sha256(f"{of_job} {file_digest(path)}".encode()).hexdigest().encode()


def _is_finished(path: Path, place: Path, stamp: bytes) -> bool:
    """Return whether the answers are those of this job, for every row."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if stamp == _UNKNOWN or _job_of(place) != stamp:
        return False
    numbers = pq.ParquetFile(place).read(columns=["counterfactual"])["counterfactual"]
    return bool((pc.sum(pc.equal(numbers, 0)).as_py() or 0) == opened_parquet(path).metadata.num_rows)


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


def _added(totals: Totals, place: Path, *, kept: bool, replaced: bool) -> Totals:
    """The totals with those of one file of answers, by the first of each row."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    answers = pq.ParquetFile(place).read(columns=["counterfactual", "found", "reason"])
    answers = answers.filter(pc.equal(answers["counterfactual"], 0))
    reasons = answers["reason"].drop_null()
    return Totals(
        totals.files + 1,
        totals.kept + kept,
        totals.rows + answers.num_rows,
        totals.found + (pc.sum(answers["found"]).as_py() or 0),
        totals.reason or (reasons[0].as_py() if len(reasons) else None),
        totals.replaced + replaced,
    )
