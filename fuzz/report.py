"""What a campaign has done so far: counts that add up over resumes, a file that keeps them, and a table for people."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.cases import Outcome

# So that the file of a long campaign over a broken library stays small.
MOST_KEPT = 1_000


@dataclass
class Progress:
    """The state of a campaign. ``pending``: cases that were begun and not finished when it was written."""

    seed: int = 0
    next_case: int = 0
    pending: list[int] = field(default_factory=list)
    seconds: float = 0.0
    n_cases: int = 0
    n_explained: int = 0
    n_found: int = 0
    covered: Counter[str] = field(default_factory=Counter)
    rows_covered: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    wrong_cases: int = 0
    violations: list[dict[str, Any]] = field(default_factory=list)  # the first of them

    def add(self, outcome: Outcome) -> list[dict[str, Any]]:
        """Count a case; what was wrong in it is handed back."""
        self.n_cases += 1
        self.n_explained += outcome.n_explained
        self.n_found += outcome.n_found
        self.covered.update(set(outcome.covered))
        for name in outcome.covered:
            self.rows_covered[name] += outcome.n_explained
        self.checked.update(outcome.checked)
        self.apart.update(outcome.apart)
        wrong = [
            {"case": outcome.number, "check": check, "problem": problem, "ingredients": outcome.words}
            for check, problem in outcome.violations
        ]
        self.wrong.update(one["check"] for one in wrong)
        self.wrong_cases += bool(wrong)
        self.violations += wrong[: max(0, MOST_KEPT - len(self.violations))]
        return wrong

    @classmethod
    def read(cls, path: Path, seed: int) -> Progress:
        """The state in a file; a new one if there is none. ValueError for a file of another seed."""
        if not path.exists():
            return cls(seed=seed)
        held = json.loads(path.read_text())
        if held["seed"] != seed:
            raise ValueError(
                f"{path} is of the seed {held['seed']}, not {seed}. Go on with that, or name another file."
            )
        for name in ("covered", "rows_covered", "checked", "apart", "wrong"):
            held[name] = Counter(held[name])
        return cls(**held)

    def write(self, path: Path) -> None:
        """In one step, so that a campaign that is killed leaves the whole file or the one before."""
        beside = path.with_name(path.name + ".new")
        beside.write_text(json.dumps(vars(self)))
        os.replace(beside, path)


def reproducer(seed: int, wrong: dict[str, Any]) -> str:
    """A violation in a few lines: how to see it again, what was in it, what was wrong."""
    return (
        f"VIOLATION  python -m fuzz --seed {seed} --case {wrong['case']}\n"
        f"  made of  {'; '.join(wrong['ingredients'])}\n"
        f"  check    {wrong['check'].replace('_', ' ')}\n"
        f"  wrong    {wrong['problem'][:600]}"
    )


def table(progress: Progress) -> str:
    """Everything that was counted, for people."""
    per_second = progress.n_explained / progress.seconds if progress.seconds else 0.0
    lines = [
        f"cases {progress.n_cases:,}, rows explained {progress.n_explained:,}, found {progress.n_found:,}, "
        f"{progress.seconds:,.0f} s, {per_second:,.0f} rows/s, seed {progress.seed}",
    ]
    groups: dict[str, list[str]] = {}
    for name in sorted(progress.covered):
        kind, _, what = name.partition(": ")
        groups.setdefault(kind if what else "other", []).append(name)
    for kind, names in sorted(groups.items()):
        lines.append(f"\n{kind:<55} {'cases':>9} {'rows':>11}")
        for name in names:
            what = name.partition(": ")[2] or name
            lines.append(f"  {what:<53} {progress.covered[name]:>9,} {progress.rows_covered[name]:>11,}")
    lines.append(f"\n{'check':<55} {'made':>9} {'violations':>11}")
    for name, count in sorted(progress.checked.items()):
        lines.append(f"  {name.replace('_', ' '):<53} {count:>9,} {progress.wrong[name]:>11,}")
    if progress.apart:
        lines.append(f"\n{'counted apart':<75} {'times':>9}")
        lines += [f"  {name:<73} {count:>9,}" for name, count in sorted(progress.apart.items())]
    lines.append(f"\nviolations: {sum(progress.wrong.values()):,} in {progress.wrong_cases:,} cases")
    return "\n".join(lines)
