"""Where the results of an experiment are kept: one SQLite file in a folder, a line per explanation.

A cell (dataset x model x method) is written in one transaction, so a process that is killed leaves whole cells or
nothing, and processes that write at the same time wait for each other.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nicecf.exceptions import ExperimentError, OptionError

FILE = "results.sqlite"
# Beside it, a Parquet file for each table that is finished: see `archive`.
TABLES = "tables"
_LOCK = "running.sqlite"
# "nice" in ASCII, and the number of this layout: what tells our file from any other.
_APPLICATION, _FORMAT = 0x6E696365, 2
_PATIENCE = 120.0

MEASURES = (
    "sparsity",
    "l1_range",
    "l1_std",
    "l2_range",
    "l2_std",
    "ae_error",
    "im1",
    "im2",
    "im2_code",
    "nn5",
    "valid_for_other",
)
TIMINGS = ("seconds", "seconds_alone")
# What is known about a run that may differ from one sitting to the next: all of it is kept.
MERGED = ("machine", "versions", "commands")
_TABLES = f"""
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS datasets (
    dataset TEXT PRIMARY KEY, error TEXT, n_rows INTEGER, n_features INTEGER, n_categorical INTEGER,
    n_numerical INTEGER, share_of_class_1 REAL, n_training INTEGER, n_test INTEGER, checksum TEXT);
CREATE TABLE IF NOT EXISTS models (
    dataset TEXT, model TEXT, parameters TEXT, auc REAL, fit_seconds REAL, outputs TEXT, PRIMARY KEY (dataset, model));
CREATE TABLE IF NOT EXISTS autoencoders (
    dataset TEXT PRIMARY KEY, n_inputs INTEGER, latent INTEGER, r2 REAL, r2_pca REAL);
CREATE TABLE IF NOT EXISTS cells (
    dataset TEXT, model TEXT, method TEXT, status TEXT NOT NULL, error TEXT, fit_seconds REAL, seconds REAL,
    model_calls INTEGER, model_rows INTEGER, PRIMARY KEY (dataset, model, method));
CREATE TABLE IF NOT EXISTS records (
    dataset TEXT, model TEXT, method TEXT, row INTEGER, predicted INTEGER, status TEXT NOT NULL, reason TEXT,
    note TEXT, cut INTEGER,
    {", ".join(f"{name} REAL" for name in (*MEASURES, *TIMINGS))}, PRIMARY KEY (dataset, model, method, row));
CREATE TABLE IF NOT EXISTS growth (
    "table" TEXT, model TEXT, method TEXT, n_features INTEGER, n_training INTEGER, ms REAL, ms_in_batch REAL,
    PRIMARY KEY ("table", model, method, n_features, n_training));
"""


@dataclass(frozen=True)
class Store:
    """The results in a folder; made by :meth:`open` or :meth:`create`."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """The results that are there; ExperimentError where there are none."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise ExperimentError(
                f"{folder} holds no results: there is no file {FILE}. Pass the folder that `nicecf benchmark run` was "
                "given as --out."
            )
        _check_ours(path)
        return cls(Path(folder))

    @classmethod
    def create(cls, folder: str | Path) -> Store:
        """The store in a folder, made if it is new; a folder with other files in it is refused."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            others = sorted(one.name for one in folder.iterdir())
        except OSError as error:
            raise ExperimentError(
                f"results cannot be kept in {folder}: {error.strerror}. Pass another folder."
            ) from error
        if FILE in others:
            _check_ours(folder / FILE)
        elif set(others) - {_LOCK, f"{_LOCK}-journal", f"{FILE}-journal"} and not _has_tables(folder):
            raise ExperimentError(
                f"{folder} is not empty and holds no results of nicecf ({others[0]!r} is there): nothing was written. "
                "Pass a new folder, or that of an earlier run."
            )
        if not os.access(folder, os.W_OK):
            raise ExperimentError(f"results cannot be kept in {folder}: it may not be written to. Pass another folder.")
        store = cls(folder)
        with store.writing() as connection:
            for statement in _TABLES.strip().split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return store

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs out of this folder; the system lets go of it when the process ends, however it ends."""
        try:
            connection = sqlite3.connect(self.folder / _LOCK, timeout=0.0, isolation_level=None)
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if "locked" not in str(error):
                raise ExperimentError(
                    f"{self.folder / _LOCK}, which keeps a second run out, cannot be used: {error}. Delete it."
                ) from error
            raise ExperimentError(
                f"another run is at work in {self.folder}. Wait for it to end, or pass another folder."
            ) from error
        with closing(connection):
            yield

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is kept, or nothing."""
        try:
            with closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise ExperimentError(
                f"the results in {self.folder} cannot be written: {error}. What was written before is safe; make room "
                "or mend the folder, and run the same command again: it goes on from there."
            ) from error

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.folder / FILE, timeout=_PATIENCE, isolation_level=None)

    def tell(self, **facts: Any) -> None:
        """Keep something about the run."""
        with self.writing() as connection:
            for key, value in facts.items():
                connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, json.dumps(value)))

    def tell_command(self, command: str) -> None:
        """Keep a command that results came from, once."""
        commands = self.about().get("commands", [])
        if command and command not in commands:
            self.tell(commands=[*commands, command])

    def tell_also(self, **facts: Any) -> None:
        """Keep what results came from beside what others came from: a text, a list, or texts by name."""
        known = self.about()
        self.tell(**{key: _both(known[key], value) if key in known else value for key, value in facts.items()})

    def about(self) -> dict[str, Any]:
        """What is known about the run."""
        return {key: json.loads(value) for key, value in self._read("SELECT key, value FROM about ORDER BY key")}

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """OptionError where the store holds results of an experiment with other settings."""
        about = self.about() if len(self.finished()) or len(self.growth()) else {}
        for key, value in settings.items():
            if key in about and about[key] != value:
                raise OptionError(
                    f"{self.folder} holds a run with {key}={about[key]!r}, but this one has {key}={value!r}. Their "
                    "results cannot stand side by side: pass another folder, or the same settings."
                )
        self.tell(**settings)

    def write(self, table: str, line: Mapping[str, Any]) -> None:
        """One line of a table, in place of an earlier one with the same key."""
        with self.writing() as connection:
            _insert(connection, table, [line])

    def write_failure(self, dataset: str, error: str) -> None:
        """Why a dataset could not be used, or not to the end; what is known of it stays."""
        with self.writing() as connection:
            connection.execute(
                "INSERT INTO datasets (dataset, error) VALUES (?, ?) "
                "ON CONFLICT (dataset) DO UPDATE SET error = excluded.error",
                (dataset, error),
            )

    def write_cell(self, cell: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
        """A cell with all its explanations; one that failed may be tried again, one that is done stays as it is."""
        key = (cell["dataset"], cell["model"], cell["method"])
        where = "WHERE dataset = ? AND model = ? AND method = ?"
        with self.writing() as connection:
            # A process whose run was killed may come to the end of a cell that the next run has done meanwhile.
            if connection.execute(f"SELECT 1 FROM cells {where} AND status != 'failed'", key).fetchone():
                return
            connection.execute(f"DELETE FROM records {where}", key)
            _insert(connection, "cells", [cell])
            _insert(connection, "records", records)

    def write_all(self, lines: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Lines of several tables, all of them or none."""
        with self.writing() as connection:
            for table, some in lines.items():
                _insert(connection, table, some)

    def cells(self) -> pd.DataFrame:
        """Datasets x models x methods."""
        return self._frame("cells", "dataset, model, method")

    def records(self) -> pd.DataFrame:
        """Explanations."""
        return self._frame("records", "dataset, model, method, row")

    def models(self) -> pd.DataFrame:
        """Trained classifiers."""
        return self._frame("models", "dataset, model")

    def autoencoders(self) -> pd.DataFrame:
        """How well the autoencoder of each table does on test rows, and a PCA of the same latent size."""
        return self._frame("autoencoders", "dataset")

    def datasets(self) -> pd.DataFrame:
        """Tables; ``error`` where one could not be used."""
        return self._frame("datasets", "dataset")

    def growth(self) -> pd.DataFrame:
        """What an explanation takes at every size of a table; see `growth`."""
        return self._frame("growth", '"table", model, method, n_features, n_training')

    def has(self, table: str, key: Mapping[str, Any]) -> bool:
        """Whether a table has a line with these values."""
        where = " AND ".join(f'"{name}" = ?' for name in key)
        return bool(self._read(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1", tuple(key.values())))

    def finished(self) -> set[tuple[str, str, str]]:
        """The cells that need no more work."""
        done = self._read("SELECT dataset, model, method FROM cells WHERE status != 'failed'")
        return {(dataset, model, method) for dataset, model, method in done}

    def _frame(self, table: str, order: str) -> pd.DataFrame:
        with self._reading() as connection:
            return pd.read_sql_query(f"SELECT * FROM {table} ORDER BY {order}", connection)

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._reading() as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._connect()) as connection:
                yield connection
        except (sqlite3.Error, pd.errors.DatabaseError) as error:
            raise ExperimentError(f"the results in {self.folder} cannot be read: {error}.") from error


def _has_tables(folder: Path) -> bool:
    return any(folder.glob(f"{TABLES}/*.parquet"))


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, dict):
        return {key: _both(one.get(key, other.get(key)), other.get(key, one.get(key))) for key in {**one, **other}}
    if isinstance(one, list):
        return list(dict.fromkeys([*one, *other]))
    return one if other in one.split("; ") else f"{one}; {other}"


def _insert(connection: sqlite3.Connection, table: str, lines: Sequence[Mapping[str, Any]]) -> None:
    if lines:
        names = list(lines[0])
        quoted, places = ", ".join(f'"{name}"' for name in names), ", ".join("?" for _ in names)
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} ({quoted}) VALUES ({places})",
            [tuple(line[name] for name in names) for line in lines],
        )


def _check_ours(path: Path) -> None:
    try:
        # Not read-only: what a killed process was writing must be taken back before anything can be read.
        address = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.Error as error:
        raise ExperimentError(f"{path} is damaged, or not a file of results: {error}. Pass another folder.") from error
    if is_empty:
        return
    if application != _APPLICATION:
        raise ExperimentError(f"{path} is an SQLite file of another program: nothing was written. Pass another folder.")
    if version != _FORMAT:
        raise ExperimentError(
            f"{path} has format {version}, and this nicecf knows format {_FORMAT} alone. Use the version of nicecf "
            "that made it, or pass another folder."
        )
