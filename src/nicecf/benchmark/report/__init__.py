"""Statistics -> tables and figures for people: a folder with Markdown, one HTML page, CSV, LaTeX, PNG and SVG."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nicecf.benchmark.report import figures
from nicecf.benchmark.report.chapters import compose
from nicecf.benchmark.report.results import Results, RunFrames
from nicecf.exceptions import ExperimentError
from nicecf.views.documents import render
from nicecf.views.documents.document import Document

__all__ = ["RunFrames", "write"]


def write(
    run: RunFrames, out: str | Path, *, source: object = "this run", splits: Sequence[RunFrames] = ()
) -> list[Path]:
    """Write the report of a run into a folder, made if it is not there, and give the paths of its files.

    ``splits``: runs of the same experiment with other seeds, by which claims are judged, too. Written are report.md,
    report.html (a page by itself), tables/*.csv and *.tex, figures/*.png and *.svg. The same run gives the same bytes.
    Files of an earlier report are replaced only once all of the new ones are there. OptionError where nothing was done
    in a run, or where two have the same seed, ExperimentError where the folder cannot be written to.
    """
    document = compose(Results.of(run, source=source, splits=splits))
    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=out, prefix=".report-"))
        try:
            return [_moved(path, draft, out) for path in _written(document, draft)]
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise ExperimentError(
            f"the report cannot be written to {out}: {error.strerror or error}. Make room, or pass another folder."
        ) from error


def _written(document: Document, folder: Path) -> list[Path]:
    paths = []
    for kind in ("tables", "figures"):
        (folder / kind).mkdir()
    svgs = {}
    for picture in document.pictures():
        paths += figures.save(picture.figure, folder / "figures" / picture.name)
        svgs[picture.name] = figures.as_svg(picture.figure, picture.name)
    texts = {"report.md": render.markdown(document), "report.html": render.html(document, svgs)}
    for table in document.tables():
        texts |= {f"tables/{table.name}.{ending}": make(table) for ending, make in render.FORMATS.items()}
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8", newline="\n")
    return sorted(paths)


def _moved(path: Path, draft: Path, out: Path) -> Path:
    target = out / path.relative_to(draft)
    target.parent.mkdir(exist_ok=True)
    os.replace(path, target)
    return target
