"""Rules, cut-offs and second models: whether what is handed out keeps to them, and what that costs.

Whether a rule is kept is found out from the two frames, the rows and their counterfactuals, by code that shares nothing
with the library. Every counterfactual must keep all rules and be valid by the model's own predict.

    python benchmarks/constraints.py --data DIR --out constraints.md
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from common import Report, machine, markdown_table, progress, short
from nicecf import NICE, Constraints, Counterfactuals

PARTS = ("rules", "thresholds", "robust", "dice")
MODELS = ("forest", "MLP", "boosting")
FREE = "no rules"
N_SINGLE = 30
N_THOROUGH = 200
CUTOFFS = (0.05, 0.12, 0.25, 0.5, 0.75, 0.88, 0.95)
# Cross-model robustness of NICE(none), (spars), (prox) and (plaus) in the paper: means over its 40 tables, percent.
PAPER = {"MLP": (94.3, 68.3, 68.7, 81.3), "forest": (80.9, 64.4, 62.8, 69.6)}
VARIANTS = ("none", "sparsity", "proximity", "plausibility")
N_DICE = 20
DICE_SECONDS = 60

# What each level adds to the one before.
ADULT_LEVELS: dict[str, dict[str, Any]] = {
    FREE: {},
    "+ immutable": {"immutable": ["sex", "race"]},
    "+ upwards": {
        "increasing": {"age": None, "education-num": None},
        "groups": [["education", "education-num"]],
    },
    "+ range": {"ranges": {"hours-per-week": (20, 60)}},
    "+ 3 changes": {"max_changes": 3},
}
GERMAN_LEVELS: dict[str, dict[str, Any]] = {
    FREE: {},
    "+ immutable": {"immutable": ["personal_status_sex", "foreign_worker"]},
    "+ upwards": {
        "increasing": {
            "age": None,
            "employment_since": [
                "unemployed",
                "... < 1 year",
                "1 <= ... < 4 years",
                "4 <= ... < 7 years",
                "... >= 7 years",
            ],
        },
    },
    "+ range": {"ranges": {"duration_months": (6, 36)}},
    "+ 3 changes": {"max_changes": 3},
}


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows, the rows to explain, and rules by the name of their level, each with all that came before."""

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    explained: pd.DataFrame
    levels: dict[str, dict[str, Any]]

    @classmethod
    def of(
        cls, name: str, table: pd.DataFrame, is_one: Any, added: Any, *, n_training: int, rows: int, seed: int
    ) -> Task:
        """Split a table. Rows are explained in an order that begins with those not trained on."""
        order = np.random.default_rng(seed).permutation(len(table))
        training, explained = order[len(order) - n_training :], order[:rows]
        levels: dict[str, dict[str, Any]] = {}
        rules: dict[str, Any] = {}
        for level, more in added.items():
            rules = rules | more
            levels[level] = rules
        labels = is_one.astype(int).iloc[training]
        return cls(name, table.iloc[training], labels, table.iloc[explained], levels)


def adult(folder: Path, *, rows: int, seed: int) -> Task:
    """UCI Adult, 13 features: 20,000 training rows, and others to explain."""
    table = pd.read_csv(folder / "raw" / "adult" / "adult.csv.gz").drop(columns="fnlwgt")
    is_rich = table.pop("income") == ">50K"
    return Task.of(
        "adult", table, is_rich, ADULT_LEVELS, n_training=20_000, rows=min(rows, len(table) - 20_000), seed=seed
    )


def german(folder: Path, *, rows: int, seed: int) -> Task:
    """German credit, 20 features: 700 training rows; all of the 1,000 are explained, the other 300 first."""
    table = pd.read_csv(folder / "raw" / "german_credit" / "german_credit.csv.gz", keep_default_na=False)
    is_good = table.pop("credit_risk") == "good"
    return Task.of("german credit", table, is_good, GERMAN_LEVELS, n_training=700, rows=rows, seed=seed)


def fitted_model(name: str, task: Task) -> Any:
    """A model on the columns as they are: text one-hot, numbers scaled for the network only."""
    text = list(task.X.select_dtypes(exclude="number"))
    numbers = [column for column in task.X if column not in text]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        (StandardScaler() if name == "MLP" else "passthrough", numbers),
    )
    heads = {
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1),
        "MLP": MLPClassifier((100,), max_iter=50, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }
    progress(f"{task.name}: training the {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a bounded effort will do: it is only to be explained
        return make_pipeline(columns, heads[name]).fit(task.X, task.y)


def broken_rules(
    before: pd.DataFrame, after: pd.DataFrame, rules: dict[str, Any], training: pd.DataFrame
) -> list[tuple[Any, str]]:
    """Each rule that a counterfactual breaks: the label of the row, and which; by the values alone."""
    changed = before.astype(object) != after.astype(object)
    found: list[tuple[Any, str]] = []

    def look(is_broken: Any, words: str) -> None:
        found.extend((label, words) for label in before.index[np.asarray(is_broken, dtype=bool)])

    for name in rules.get("immutable", []):
        look(changed[name], f"{name} changed")
    for name, order in rules.get("increasing", {}).items():
        old, new = (frame[name] if order is None else frame[name].map(order.index) for frame in (before, after))
        look(new < old, f"{name} went down")
    for name, (low, high) in rules.get("ranges", {}).items():
        look(changed[name] & ((after[name] < low) | (after[name] > high)), f"{name} left its range")
    for group in rules.get("groups", []):
        known = set(training[group].itertuples(index=False, name=None))
        is_torn = [values not in known for values in after[group].itertuples(index=False, name=None)]
        look(changed[group].any(axis=1) & is_torn, f"{' and '.join(group)} torn apart")
    look(changed.sum(axis=1) > rules.get("max_changes", changed.shape[1]), "too many changes")
    return found


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one call handed out for some rows, as it looks from outside."""

    n_rows: int
    before: pd.DataFrame
    after: pd.DataFrame
    broken: list[tuple[Any, str]]
    is_valid: np.ndarray
    distance: float = np.nan

    @classmethod
    def of(
        cls, rows: pd.DataFrame, after: pd.DataFrame, rules: dict[str, Any], task: Task, decide: Callable[[Any], Any]
    ) -> Verdict:
        """Judge counterfactuals of some of the rows, told by the index."""
        before = rows.loc[after.index]
        is_valid = np.asarray(decide(before)) != np.asarray(decide(after)) if len(after) else np.zeros(0, dtype=bool)
        return cls(len(rows), before, after, broken_rules(before, after, rules, task.X), is_valid)

    @classmethod
    def of_cfs(
        cls, rows: pd.DataFrame, cfs: Counterfactuals, rules: dict[str, Any], task: Task, decide: Callable[[Any], Any]
    ) -> Verdict:
        """Judge what an explainer handed out."""
        verdict = cls.of(rows, cfs.to_frame()[cfs.found], rules, task, decide)
        return replace(verdict, distance=float(cfs.metrics()["proximity"].mean()))

    @property
    def found(self) -> str:
        """The share of rows with a counterfactual."""
        return percent(len(self.after), self.n_rows)

    @property
    def valid(self) -> str:
        """The share of counterfactuals that the decision is another one for."""
        return percent(self.is_valid.sum(), len(self.after))

    @property
    def changes(self) -> str:
        """The mean number of changes."""
        changed = self.before.astype(object) != self.after.astype(object)
        return f"{changed.sum(axis=1).mean():.2f}" if len(changed) else "-"

    def wrongs(self, where: str) -> list[str]:
        """Each wrong answer, in words."""
        wrong = [*self.broken, *((label, "not valid") for label in self.after.index[~self.is_valid])]
        return [f"{where}, row {label}: {words}" for label, words in wrong]


def percent(part: float, whole: int) -> str:
    """A share; never rounded to 100 % where something is missing.

    >>> percent(999, 1000), percent(9999, 10000), percent(5, 5), percent(0, 0)
    ('99.9 %', '99.9 %', '100 %', '-')
    """
    if not whole:
        return "-"
    return "100 %" if part == whole else f"{min(99.9, 100 * part / whole):.1f} %"


def rule_parts(task: Task, report: Report) -> list[str]:
    """Both searches under every level of rules, with each model; what was wrong."""
    wrongs = []
    models = {name: fitted_model(name, task) for name in MODELS}
    for search in ("greedy", "thorough"):
        lines = []
        for name, model in models.items():
            progress(f"{task.name}, {name}, {search}")
            more, wrong = level_lines(task, name, model, search)
            lines += more
            wrongs += wrong
        n_rows = len(task.explained) if search == "greedy" else min(N_THOROUGH, len(task.explained))
        single = ["1 row: ms", "ratio"] if search == "greedy" else []
        head = ["model", "rules", "found", "violations", "without rules", "valid", "changes", "distance"]
        head += ["ms/row", "ratio", *single]
        report.say(f"### {task.name}, {search}: {n_rows:,} rows\n\n" + markdown_table(head, lines))
    return wrongs


def level_lines(task: Task, name: str, model: Any, search: Any) -> tuple[list[list[Any]], list[str]]:
    """One line for each level of rules, and what was wrong."""
    nice = NICE(model, search=search, optimize="sparsity", random_state=0).fit(task.X, task.y)
    levels = {level: Constraints(**rules) for level, rules in task.levels.items()}
    rows = task.explained if search == "greedy" else task.explained.iloc[:N_THOROUGH]
    nice.explain(rows.iloc[:1], progress=False)  # the first call pays for lazy imports
    batch, answers = {}, {}
    for level, rules in levels.items():
        start = perf_counter()
        answers[level] = nice.explain(rows, constraints=rules, progress=False)
        batch[level] = 1000 * (perf_counter() - start) / len(rows)
    verdicts = {
        level: Verdict.of_cfs(rows, cfs, task.levels[level], task, model.predict) for level, cfs in answers.items()
    }
    single, wrongs = {}, []
    if search == "greedy":
        single, wrongs = single_rows(nice, rows.iloc[:N_SINGLE], levels, answers)
    lines: list[list[Any]] = []
    for level, verdict in verdicts.items():
        free = verdicts[FREE]
        would_break = {label for label, _ in broken_rules(free.before, free.after, task.levels[level], task.X)}
        line = [name, level, verdict.found, len(verdict.broken), percent(len(would_break), len(free.after))]
        line += [verdict.valid, verdict.changes, short(verdict.distance)]
        line += [short(batch[level]), f"{batch[level] / batch[FREE]:.2f}x"]
        if single:
            line += [short(np.median(single[level])), f"{np.median(single[level] / single[FREE]):.2f}x"]
        lines.append(line)
        wrongs += verdict.wrongs(f"{task.name}, {name}, {search}, {level}")
    return lines, [f"{task.name}, {name}, {wrong}" if wrong.startswith("alone") else wrong for wrong in wrongs]


def single_rows(
    nice: NICE, rows: pd.DataFrame, levels: dict[str, Constraints], answers: dict[str, Counterfactuals]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Milliseconds of each row alone, and the rows that get another answer than in the batch.

    Row by row, under all levels in turn, so that a noisy moment hits them alike; each time another level goes first.
    """
    names = list(levels)
    times = {level: np.empty(len(rows)) for level in names}
    wrongs = []
    for i in range(len(rows)):
        for level in (*names[i % len(names) :], *names[: i % len(names)]):
            start = perf_counter()
            alone = nice.explain(rows.iloc[[i]], constraints=levels[level], progress=False)
            times[level][i] = 1000 * (perf_counter() - start)
            if not alone.to_frame().astype(object).equals(answers[level][[i]].to_frame().astype(object)):
                wrongs.append(f"alone, {level}, row {rows.index[i]}: another answer than in the batch")
    return times, wrongs


def threshold_part(task: Task, report: Report) -> list[str]:
    """The forest with cut-offs, given as an option and by scikit-learn's classifier."""
    forest = fitted_model("forest", task)
    lines, wrongs = [], []

    def side(rows: pd.DataFrame, cutoff: float) -> np.ndarray:
        return forest.predict_proba(rows)[:, 1] >= cutoff

    for cutoff in CUTOFFS:
        progress(f"cut-off {cutoff}")
        deployed = FixedThresholdClassifier(FrozenEstimator(forest), threshold=cutoff).fit(task.X, task.y)
        ours = NICE(forest, decision=cutoff).fit(task.X, task.y).explain(task.explained, progress=False)
        theirs = NICE(deployed).fit(task.X, task.y).explain(task.explained, progress=False)
        by_option = Verdict.of_cfs(task.explained, ours, {}, task, lambda rows, cutoff=cutoff: side(rows, cutoff))
        by_sklearn = Verdict.of_cfs(task.explained, theirs, {}, task, deployed.predict)
        n_equal = (ours.to_frame().astype(object) == theirs.to_frame().astype(object)).all(axis=1)[ours.found].sum()
        share_above = percent(side(task.explained, cutoff).sum(), len(task.explained))
        cells = [cell for one in (by_option, by_sklearn) for cell in (one.found, one.valid, one.changes)]
        lines.append([cutoff, share_above, *cells, percent(n_equal, len(by_option.after))])
        wrongs += by_option.wrongs(f"cut-off {cutoff}") + by_sklearn.wrongs(f"FixedThresholdClassifier {cutoff}")
    head = ["cut-off", "rows above", "found", "pass", "changes"]
    head += ["FixedThreshold: found", "pass", "changes", "same answer"]
    report.say(f"## Cut-offs\n\nadult, forest, {len(task.explained):,} rows.\n\n" + markdown_table(head, lines))
    return wrongs


def robust_part(task: Task, report: Report) -> list[str]:
    """Forest and network of the paper, one explained and the other one asked, with and without ``robust_to``."""
    models = {name: fitted_model(name, task) for name in PAPER}
    lines, wrongs = [], []
    for name, model in models.items():
        (other,) = (one for key, one in models.items() if key != name)
        for variant, in_paper in zip(VARIANTS, PAPER[name], strict=True):
            line: list[Any] = [name, variant, f"{in_paper} %"]
            for judges in ((), (other,)):
                progress(f"robust: {name}, {variant}, {len(judges)} other models")
                nice = NICE(model, optimize=variant, robust_to=judges, random_state=0).fit(task.X, task.y)
                cfs = nice.explain(task.explained, progress=False)
                verdict = Verdict.of_cfs(task.explained, cfs, {}, task, model.predict)
                agrees = other.predict(verdict.after) == model.predict(verdict.after)
                line += [percent(agrees.sum(), len(agrees)), verdict.found, short(verdict.distance)]
                where = f"{name}, {variant}, {len(judges)} other models"
                wrongs += verdict.wrongs(where)
                if judges:
                    unlike = verdict.after.index[~agrees]
                    wrongs += [f"{where}, row {label}: the other model disagrees" for label in unlike]
            lines.append(line)
    head = ["explained", "variant", "paper", "agree", "found", "distance"]
    head += ["robust_to: agree", "found", "distance"]
    report.say(
        f"## Another model must agree\n\nadult, {len(task.explained):,} rows; forest and MLP. Agree: counterfactuals "
        "that the other model puts into the same class. Paper: its cross-model robustness, a mean over 40 tables.\n\n"
        + markdown_table(head, lines)
    )
    return wrongs


def dice_part(task: Task, report: Report, seed: int) -> list[str]:
    """DiCE and nicecf under the same rules, one row at a time."""
    if find_spec("dice_ml") is None:
        report.say("## DiCE\n\nNot installed: pip install --no-deps dice-ml raiutils tqdm jsonschema")
        return []
    forest = fitted_model("forest", task)
    rules = task.levels["+ range"]
    low, high = rules["ranges"]["hours-per-week"]
    rows = task.explained[task.explained["hours-per-week"].between(low, high)].iloc[:N_DICE]
    rivals: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
        f"DiCE {method}": dice_explainer(method, task, forest, rules, seed) for method in ("random", "genetic")
    }
    rivals |= {f"nicecf {search}": nice_explainer(search, task, forest, rules) for search in ("greedy", "thorough")}
    told = {name: value for name, value in rules.items() if name != "groups"}
    lines, wrongs = [], []
    for name, explain in rivals.items():
        progress(name)
        after, milliseconds, failures = one_by_one(explain, rows)
        verdict = Verdict.of(rows, after, told, task, forest.predict)
        torn = broken_rules(verdict.before, after, {"groups": rules["groups"]}, task.X)
        line = [name, verdict.found, len(verdict.broken), len(torn), verdict.valid, verdict.changes]
        lines.append([*line, short(np.median(milliseconds)), short(max(milliseconds)), "; ".join(failures) or "-"])
        if name.startswith("nicecf"):
            wrongs += [*verdict.wrongs(name), *(f"{name}, row {label}: {words}" for label, words in torn)]
    head = ["method", "found", "violations", "education torn", "valid", "changes", "ms (median)", "slowest", "failures"]
    report.say(
        f"## DiCE\n\nadult, forest, the first {len(rows)} rows with {low} to {high} hours, one at a time, at most "
        f"{DICE_SECONDS} s each. DiCE is told what may vary, the range of the hours and, for each row, that age and "
        "education-num start at what they are; violations are of that. That education and education-num belong "
        "together it cannot be told. " + machine("dice-ml") + "\n\n" + markdown_table(head, lines)
    )
    return wrongs


def dice_explainer(
    method: str, task: Task, model: Any, rules: dict[str, Any], seed: int
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """One row -> its counterfactual by DiCE; no row if it has none."""
    import dice_ml  # optional

    numbers = list(task.X.select_dtypes("number"))
    table = dice_ml.Data(dataframe=task.X.assign(label=task.y), continuous_features=numbers, outcome_name="label")
    wrapped = dice_ml.Model(model=model, backend="sklearn")
    free = [name for name in task.X if name not in rules["immutable"]]
    highest = task.X[numbers].max()

    def explain(row: pd.DataFrame) -> pd.DataFrame:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - DiCE draws from the global generators
        upwards = {name: [row[name].iloc[0], max(row[name].iloc[0], highest[name])] for name in rules["increasing"]}
        ranges = {name: list(pair) for name, pair in rules["ranges"].items()}
        # A new explainer for each row: the genetic one keeps its population.
        found = dice_ml.Dice(table, wrapped, method=method).generate_counterfactuals(
            row, total_CFs=1, desired_class="opposite", features_to_vary=free, permitted_range=ranges | upwards
        )
        answer = found.cf_examples_list[0].final_cfs_df_sparse
        if answer is None:
            return row.iloc[:0]
        return answer[list(row)].iloc[:1].set_axis(row.index).astype(row.dtypes.to_dict())

    return explain


def nice_explainer(
    search: Any, task: Task, model: Any, rules: dict[str, Any]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """One row -> its counterfactual by nicecf; no row if it has none."""
    nice = NICE(model, search=search, constraints=Constraints(**rules), random_state=0).fit(task.X, task.y)

    def explain(row: pd.DataFrame) -> pd.DataFrame:
        cfs = nice.explain(row, progress=False)
        return cfs.to_frame()[cfs.found]

    return explain


def one_by_one(
    explain: Callable[[pd.DataFrame], pd.DataFrame], rows: pd.DataFrame
) -> tuple[pd.DataFrame, list[float], list[str]]:
    """All counterfactuals, milliseconds of each row, and each failure with how often it came."""
    answers, milliseconds, failures = [rows.iloc[:0]], [], []
    for i in range(len(rows)):
        start = perf_counter()
        try:
            with silence(), time_limit(DICE_SECONDS):
                answers.append(explain(rows.iloc[[i]]))
        except Exception as error:  # whatever a peer raises is its answer
            failures.append(f"{type(error).__name__}: {str(error)[:80]}".replace("|", "/").replace("\n", " "))
        milliseconds.append(1000 * (perf_counter() - start))
    counted = [f"{failures.count(words)} x {words}" for words in dict.fromkeys(failures)]
    return pd.concat(answers), milliseconds, counted


@contextmanager
def silence() -> Iterator[None]:
    """Nothing printed, no warning shown."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done in {seconds:g} s")

    usual = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


def main() -> int:
    """Measure and report; 1 if nicecf breaks a rule or hands out what is not valid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult and raw/german_credit; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=1000, help="rows explained of each table")
    parser.add_argument("--seed", type=int, default=0, help="which rows are training rows and which are explained")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts of the report")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    folder = Path(options.data or os.environ.get("NICECF_DATA") or "")
    if options.rows < 1:
        parser.error(f"--rows {options.rows} leaves nothing to explain; pass 1 or more.")
    if not (folder / "raw" / "adult" / "adult.csv.gz").is_file():
        parser.error(f"{folder} has no raw/adult/adult.csv.gz; pass --data, or set NICECF_DATA.")

    report = Report(options.out)
    report.say("# Rules, cut-offs and second models")
    report.say(f"Seed {options.seed}. " + machine("nicecf", "numpy", "pandas", "scikit-learn"))
    task = adult(folder, rows=options.rows, seed=options.seed)
    wrongs = []
    if "rules" in options.only:
        report.say(
            "## Rules\n\nEach level has the rules of those above it. Violations: by nicecf's answers, counted from the "
            "frames. Without rules: of the answers without rules, those that break the rules of the level. Valid: by "
            "the model's predict. Ratios: to no rules; of single rows, the median over rows "
            f"({min(N_SINGLE, options.rows)} of them)."
        )
        for one in (task, german(folder, rows=options.rows, seed=options.seed)):
            wrongs += rule_parts(one, report)
    if "thresholds" in options.only:
        wrongs += threshold_part(task, report)
    if "robust" in options.only:
        wrongs += robust_part(task, report)
    if "dice" in options.only:
        wrongs += dice_part(task, report, options.seed)
    report.say(
        "\n".join([f"In all, {len(wrongs):,} wrong answers of nicecf.", "", *(f"- {w}." for w in wrongs)]).strip()
    )
    report.save()
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
