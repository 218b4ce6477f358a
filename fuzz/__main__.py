"""``python -m fuzz``: random cases until time is up, every answer checked; exit code 1 if anything was wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from fuzz.cases import run_case
from fuzz.report import Progress, reproducer, table
from fuzz.workers import Worker, finished

SECONDS_BETWEEN_WRITES = 3.0


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="what all cases are drawn from (default: 0)")
    parser.add_argument("--case", type=int, help="run this case alone, and say what is in it")
    parser.add_argument("--rows", type=int, help="stop after so many explained rows")
    parser.add_argument("--state", type=Path, help="a file that keeps the counts, to go on from later")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    given = parser.parse_args(arguments)
    if given.case is not None:
        return _one(given.seed, given.case)
    progress = Progress(seed=given.seed) if given.state is None else Progress.read(given.state, given.seed)
    try:
        run(progress, minutes=given.minutes, rows=given.rows, state=given.state, jobs=given.jobs)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    print(table(progress))
    return 1 if progress.wrong else 0


def _one(seed: int, number: int) -> int:
    outcome = run_case(seed, number)
    print(f"case {number} of seed {seed}: {'; '.join(outcome.words)}")
    print(f"{outcome.n_explained} rows explained, {outcome.n_found} found; {sum(outcome.checked.values())} checks")
    for wrong in Progress(seed=seed).add(outcome):
        print(reproducer(seed, wrong))
    return 1 if outcome.violations else 0


def run(progress: Progress, *, minutes: float, rows: int | None, state: Path | None, jobs: int) -> None:
    """Run cases until time is up or enough rows are explained; what is wrong is printed as it is found."""
    begun, before = monotonic(), progress.seconds
    todo, progress.pending = list(progress.pending), []
    workers = [Worker(progress.seed) for _ in range(jobs)]
    written = begun
    try:
        while True:
            is_over = monotonic() - begun >= 60 * minutes or (rows is not None and progress.n_explained >= rows)
            for worker in workers:
                if worker.number is None and not is_over:
                    worker.begin(todo.pop(0) if todo else progress.next_case)
                    progress.next_case = max(progress.next_case, worker.number + 1)
            if all(worker.number is None for worker in workers):
                return
            for outcome in finished(workers, SECONDS_BETWEEN_WRITES):
                for wrong in progress.add(outcome):
                    print(reproducer(progress.seed, wrong), flush=True)
            progress.seconds = before + monotonic() - begun
            progress.pending = todo + [worker.number for worker in workers if worker.number is not None]
            if state is not None and monotonic() - written > SECONDS_BETWEEN_WRITES:
                progress.write(state)
                written = monotonic()
    finally:
        for worker in workers:
            worker.end()
        if state is not None:
            progress.write(state)


if __name__ == "__main__":
    sys.exit(main())
