"""Folders of answers that a second call finds: whatever has changed since, they become those of a fresh call."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import Random

# Files are told from each other by their content: all have the same time.
_TIME = (1_700_000_000, 1_700_000_000)
# The last column, so that files of other values have the same size, and end in the same way.
_TAIL = "x" * 30_000


class Cut:
    """A model of one sum, which says something else for sums between two numbers."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, limit: float, odd: tuple[float, float]) -> None:
        self.limit, self.odd = limit, odd

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """The probabilities of no and yes."""
        total = X["a"].to_numpy(dtype=float) + X["b"].to_numpy(dtype=float)
        is_odd = (total > self.odd[0]) & (total < self.odd[1])
        p = np.where((total > self.limit) != is_odd, 0.75, 0.25)
        return np.column_stack([1 - p, p])


@dataclass(frozen=True, eq=False)
class Job:
    """All that the answers of a call depend on."""

    train: pd.DataFrame
    model: Cut
    files: dict[str, pd.DataFrame]
    of_explainer: dict[str, Any] = field(default_factory=dict)
    of_call: dict[str, Any] = field(default_factory=dict)

    def explained(self, source: Path, out: Path) -> Any:
        """Write the rows, and call the library."""
        from nicecf import NICE
        from nicecf.engines import folders

        for name, rows in self.files.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            rows.assign(tail=_TAIL).to_parquet(path, compression=None, use_dictionary=False, write_statistics=False)
            os.utime(path, _TIME)
        nice = NICE(self.model, justified=False, **self.of_explainer).fit(self.train)
        return folders.explain(source, nice, out=out, id="who", **self.of_call)


def draw(random: Random) -> Job:
    """A job with some files."""
    n_files = int(random.integers(1, 4))
    return Job(
        _rows(random, 12),
        Cut(float(random.integers(8, 12)), (-2.0, -1.0)),
        {f"{'x/' * (at % 2)}{at}.parquet": _rows(random, int(random.integers(0, 9))) for at in range(n_files)},
    )


def _rows(random: Random, n_rows: int) -> pd.DataFrame:
    columns = {name: random.integers(0, 21, n_rows) / 2 for name in "ab"}
    kinds = random.choice(["p", "q"], n_rows)
    return pd.DataFrame({**columns, "kind": kinds.astype(object), "who": np.arange(n_rows)})


def problems_of(random: Random) -> list[str]:
    """A call, something that changes or does not, the call again, and a fresh one: the last two must be the same."""
    job = draw(random)
    job = replace(job, train=job.train.drop(columns="who"))
    name, change = _CHANGES[int(random.integers(len(_CHANGES)))]
    with tempfile.TemporaryDirectory(prefix="nicecf-fuzz-") as folder:
        source, out, fresh = (Path(folder, one) for one in ("rows", "out", "fresh"))
        job.explained(source, out)
        changed = change(random, job, out)
        totals, expected = changed.explained(source, out), changed.explained(source, fresh)
        same = {one: _table(out / one).equals(_table(fresh / one)) for one in changed.files}
    wrong = [
        f"{name}: the answers in {one} are not those of a fresh call" for one, is_same in same.items() if not is_same
    ]
    if (totals.rows, totals.found, totals.reason) != (expected.rows, expected.found, expected.reason):
        wrong.append(f"{name}: {totals} is told, and not {expected}")
    if name == "nothing" and totals.kept != len(job.files):
        wrong.append(f"nothing has changed, but {totals.kept} of {len(job.files)} files are kept")
    return wrong


def _table(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read()


def _exchanged(random: Random, job: Job, out: Path) -> Job:
    """Two values of a column change places."""
    name = str(random.choice(list(job.files)))
    rows = job.files[name].copy()
    if len(rows) > 1:
        one, other = random.choice(len(rows), 2, replace=False)
        column = str(random.choice(["a", "b", "kind", "who"]))
        rows.loc[[one, other], column] = rows.loc[[other, one], column].to_numpy()
    return replace(job, files={**job.files, name: rows})


def _one_bit(random: Random, job: Job, out: Path) -> Job:
    name = str(random.choice(list(job.files)))
    rows = job.files[name].copy()
    if len(rows):
        rows.loc[int(random.integers(len(rows))), "a"] += 0.5
    return replace(job, files={**job.files, name: rows})


def _other_model(random: Random, job: Job, out: Path) -> Job:
    """A model that says the same of all training rows, as far as they tell."""
    low = float(random.integers(0, 40)) / 2 + 0.1
    return replace(job, model=Cut(job.model.limit, (low, low + 0.5)))


def _other_training(random: Random, job: Job, out: Path) -> Job:
    order = random.permutation(len(job.train))
    return replace(job, train=job.train.assign(b=job.train["b"].to_numpy()[order]))


def _other_options(random: Random, job: Job, out: Path) -> Job:
    from nicecf import Constraints

    calls: list[dict[str, Any]] = [
        {"target_class": "yes"},
        {"n_counterfactuals": 2},
        {"constraints": Constraints(immutable=["a"])},
        {"constraints": Constraints(ranges={"b": (None, float(random.integers(4, 9)))})},
    ]
    return replace(job, of_call=calls[int(random.integers(len(calls)))])


def _other_goal(random: Random, job: Job, out: Path) -> Job:
    from nicecf import Constraints

    options: list[dict[str, Any]] = [
        {"optimize": "proximity"},
        {"search": "greedy"},
        {"constraints": Constraints(immutable=["kind", "a"])},
        {"robust_to": [Cut(job.model.limit + 1, (-2.0, -1.0))]},
    ]
    return replace(job, of_explainer=options[int(random.integers(len(options)))])


def _cut_answers(random: Random, job: Job, out: Path) -> Job:
    """The answers lose some rows, and keep what is said of them."""
    import pyarrow.parquet as pq

    path = out / str(random.choice(list(job.files)))
    answers = _table(path)
    pq.write_table(answers.slice(int(random.integers(0, answers.num_rows + 1))), path)
    return job


def _stopped(random: Random, job: Job, out: Path) -> Job:
    """Some answers were never written."""
    for name in job.files:
        if random.random() < 0.5:
            (out / name).unlink()
    return job


_CHANGES: list[tuple[str, Callable[[Random, Job, Path], Job]]] = [
    ("nothing", lambda random, job, out: job),
    ("exchanged values", _exchanged),
    ("one other value", _one_bit),
    ("another model", _other_model),
    ("other training rows", _other_training),
    ("other options of the call", _other_options),
    ("other options of the explainer", _other_goal),
    ("answers that lost rows", _cut_answers),
    ("stopped", _stopped),
]
