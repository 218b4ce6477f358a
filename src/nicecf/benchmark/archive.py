"""The results of a run as Parquet, one file for each table that is finished: small enough for a repository.

A run takes up what it finds in its folder, on whichever machine that was made. The records are columns; what is known
of the table, its classifiers and its cells stands as JSON in the file's metadata.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nicecf.benchmark.store import FILE, MEASURES, TIMINGS, Store
from nicecf.exceptions import ExperimentError
from nicecf.support.extras import require

FOLDER = "tables"
_KEY, _FORMAT = b"nicecf", 1
_FACTS = ("datasets", "models", "autoencoders", "cells")
_WORDS = ("model", "method", "status", "reason", "note")
_DTYPES = {"row": "int32", "predicted": "int8", "cut": "int8"} | dict.fromkeys((*MEASURES, *TIMINGS), "float32")


def opened(folder: str | Path) -> Store:
    """The results in a folder, where there may be no more than the files of finished tables."""
    if not (Path(folder) / FILE).is_file() and any(_files(Path(folder))):
        store = Store.create(folder)
        take_up(store)
        return store
    return Store.open(folder)


def save(store: Store, dataset: str) -> None:
    """Keep a table that is finished as a file, beside the store; nothing is done without pyarrow."""
    if find_spec("pyarrow") is None:
        return
    records = _of(store.records(), dataset).drop(columns="dataset")
    for name in _WORDS:
        records[name] = records[name].astype("category")
    facts: dict[str, Any] = {table: _lines(_of(getattr(store, table)(), dataset)) for table in _FACTS}
    told = json.dumps({"format": _FORMAT, "about": store.about(), **facts}, sort_keys=True)
    pyarrow, parquet = _pyarrow()
    table = pyarrow.Table.from_pandas(records.astype(_DTYPES), preserve_index=False)
    path = store.folder / FOLDER / f"{dataset}.parquet"
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    parquet.write_table(
        table.replace_schema_metadata({_KEY: told}), unfinished, compression="zstd", compression_level=19
    )
    os.replace(unfinished, path)


def take_up(store: Store) -> None:
    """Put into a store what its folder holds of tables that it does not know."""
    for path in _files(store.folder):
        dataset = path.name.removesuffix(".parquet")
        if store.has("datasets", {"dataset": dataset}):
            continue
        records, told = read(path)
        _check_like(store, told["about"], path)
        store.tell(**{key: value for key, value in told["about"].items() if key not in store.about()})
        lines = {table: told[table] for table in _FACTS} | {"records": _lines(records.assign(dataset=dataset))}
        store.write_all(lines)


def read(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The records in a file, and what else it tells; ExperimentError where it is none of ours."""
    pyarrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
        told = json.loads((table.schema.metadata or {}).get(_KEY, b"null"))
    except (OSError, pyarrow.ArrowException, json.JSONDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}. Delete it, and its table is run again.") from error
    if told is None or told.get("format") != _FORMAT:
        raise ExperimentError(f"{path} holds no results of this version of nicecf. Move it out of the folder.")
    records = table.to_pandas()
    return records.astype(dict.fromkeys(_WORDS, object)), told


def _check_like(store: Store, about: dict[str, Any], path: Path) -> None:
    known = store.about()
    for key in ("profile", "rows", "alone", "seed", "time_limit", "models"):
        if key in known and known[key] != about.get(key):
            raise ExperimentError(
                f"{path} is of a run with {key}={about.get(key)!r}, but its neighbors in {store.folder} are of one "
                f"with {key}={known[key]!r}. Move it out of the folder."
            )


def _files(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER).glob("*.parquet"))


def _of(frame: pd.DataFrame, dataset: str) -> pd.DataFrame:
    return frame[frame["dataset"] == dataset]


def _lines(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Lines of a frame as SQLite and JSON want them: Python's numbers, None for what is missing."""
    return [dict(zip(frame.columns, map(_plain, line), strict=True)) for line in frame.itertuples(index=False)]


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _pyarrow() -> Iterable[Any]:
    import_line = {"extra": "benchmark", "needed_by": "results as Parquet"}
    return require("pyarrow", **import_line), require("pyarrow.parquet", **import_line)
