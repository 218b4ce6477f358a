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

from nicecf.benchmark.store import FILE, MEASURES, MERGED, TABLES, TIMINGS, Store
from nicecf.exceptions import ExperimentError
from nicecf.support.extras import require

FOLDER = TABLES
_KEY, _FORMAT = b"nicecf", 1
_FACTS = ("datasets", "models", "autoencoders", "cells")
_WORDS = ("model", "method", "status", "reason", "note")
_DTYPES = {"row": "int32", "predicted": "int8", "cut": "int8"} | dict.fromkeys((*MEASURES, *TIMINGS), "float32")


def opened(folder: str | Path) -> Store:
    """The results in a folder, where there may be no more than the files of finished tables."""
    if not any(_files(Path(folder))):
        return Store.open(folder)
    store = Store.open(folder) if (Path(folder) / FILE).is_file() else Store.create(folder)
    take_up(store)
    return store


def has_file(store: Store, dataset: str) -> bool:
    """Whether a table is kept as a file."""
    return _file(store, dataset).is_file()


def save(store: Store, dataset: str) -> None:
    """Keep a table that is finished as a file, beside the store; nothing is done without pyarrow.

    ExperimentError if the file cannot be written.
    """
    if find_spec("pyarrow") is None:
        return
    records = _of(store.records(), dataset).drop(columns="dataset")
    for name in _WORDS:
        records[name] = records[name].astype("category")
    facts: dict[str, Any] = {table: _lines(_of(getattr(store, table)(), dataset)) for table in _FACTS}
    told = json.dumps({"format": _FORMAT, "about": store.about(), **facts}, sort_keys=True)
    pyarrow, parquet = _pyarrow()
    table = pyarrow.Table.from_pandas(records.astype(_DTYPES), preserve_index=False)
    path = _file(store, dataset)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(
            table.replace_schema_metadata({_KEY: told}), unfinished, compression="zstd", compression_level=19
        )
        os.replace(unfinished, path)
    except OSError as error:
        raise ExperimentError(
            f"{path} cannot be written: {error.strerror or error}. The results are safe in {FILE}; make room or mend "
            "the folder, and run the same command again."
        ) from error


def take_up(store: Store) -> None:
    """Put into a store what the files in its folder have and it has not; ExperimentError if they do not go together."""
    finished = store.finished()
    for path in _files(store.folder):
        dataset = path.name.removesuffix(".parquet")
        told = _told(path)
        new = [cell for cell in told["cells"] if _key(cell) not in finished]
        if not new:
            continue
        _check_like(store, told["about"], path)
        _check_models(store, told["models"], path)
        records = _records(path)
        lines = {table: told[table] for table in _FACTS} | {"cells": new}
        missing = records[[key not in finished for key in _keys(records, dataset)]]
        store.write_all(lines | {"records": _lines(missing.assign(dataset=dataset))})
        store.tell(**{key: value for key, value in told["about"].items() if key not in store.about()})
        store.tell_also(**{key: told["about"][key] for key in MERGED if key in told["about"]})


def _told(path: Path) -> dict[str, Any]:
    """What a file tells besides its records; ExperimentError where it is none of ours."""
    pyarrow, parquet = _pyarrow()
    try:
        told = json.loads((parquet.read_schema(path).metadata or {}).get(_KEY, b"null"))
    except (OSError, pyarrow.ArrowException, json.JSONDecodeError) as error:
        raise ExperimentError(f"{path} cannot be read: {error}. Delete it, and its table is run again.") from error
    if told is None or told.get("format") != _FORMAT:
        raise ExperimentError(f"{path} holds no results of this version of nicecf. Move it out of the folder.")
    return dict(told)


def _records(path: Path) -> pd.DataFrame:
    _, parquet = _pyarrow()
    frame: pd.DataFrame = parquet.read_table(path).to_pandas()
    return frame.astype(dict.fromkeys(_WORDS, object))


def _check_models(store: Store, models: list[dict[str, Any]], path: Path) -> None:
    known = {(one["dataset"], one["model"]): one["outputs"] for one in _lines(store.models())}
    begun = {cell[:2] for cell in store.finished()}
    for one in models:
        key = one["dataset"], one["model"]
        if key in begun and known.get(key) != one["outputs"]:
            raise ExperimentError(
                f"{path} is of another {one['model']} than the results in {store.folder / FILE}: they are of other "
                "machines or versions. Keep one of the two, and move the other out of the folder."
            )


def _check_like(store: Store, about: dict[str, Any], path: Path) -> None:
    known = store.about()
    for key in ("profile", "rows", "alone", "seed", "time_limit", "models", "tuned_by_seed"):
        if key in known and known[key] != about.get(key):
            raise ExperimentError(
                f"{path} is of a run with {key}={about.get(key)!r}, but its neighbors in {store.folder} are of one "
                f"with {key}={known[key]!r}. Move it out of the folder."
            )


def _file(store: Store, dataset: str) -> Path:
    return store.folder / FOLDER / f"{dataset}.parquet"


def _key(cell: dict[str, Any]) -> tuple[str, str, str]:
    return cell["dataset"], cell["model"], cell["method"]


def _keys(records: pd.DataFrame, dataset: str) -> list[tuple[str, str, str]]:
    return [(dataset, model, method) for model, method in zip(records["model"], records["method"], strict=True)]


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
