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
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

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
from threadpoolctl import threadpool_limits

from common import Report, machine, markdown_table, progress, short
from nicecf import NICE, Constraints, Counterfactuals
from nicecf.benchmark.report import paper
from nicecf.benchmark.report.names import NICE_VARIANTS

MODELS = ("forest", "MLP", "boosting")
FREE = "no rules"
N_SINGLE = 30
N_THOROUGH = 200
RULES_HEAD = f"""## Rules

Each level has the rules of those above it. Violations: by what nicecf handed out, counted from the frames. Without
rules: the share of the answers without rules that break those of the level. Missed: rows without a counterfactual,
though the answer under another level keeps these rules. Valid: by the model's predict. Ratios are to no rules; of
single rows, the median over {N_SINGLE} rows, each with all levels in turn."""
CUTOFFS = (0.05, 0.12, 0.25, 0.5, 0.75, 0.88, 0.95)
# Cross-model robustness in the paper, percent: means over its tables, of which adult is one.
PAPER = {
    name: dict(
        zip(
            ("none", "sparsity", "proximity", "plausibility"),
            (paper.FINDINGS.models[model].robustness[variant] for variant in NICE_VARIANTS),
            strict=True,
        )
    )
    for name, model in (("MLP", "ann"), ("forest", "rf"))
}
N_DICE = 20
DICE_SECONDS = 60
DICE_INSTALL = "pip install --no-deps dice-ml raiutils && pip install tqdm jsonschema"
Explain: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]

# The file, the column of the label and the value that is class 1, and the number of training rows.
TABLES = {
    "adult": ("adult/adult.csv.gz", "income", ">50K", 20_000),
    "german credit": ("german_credit/german_credit.csv.gz", "credit_risk", "good", 700),
}
EMPLOYMENT = ["unemployed", "... < 1 year", "1 <= ... < 4 years", "4 <= ... < 7 years", "... >= 7 years"]
# What each level adds to the one before.
LEVELS: dict[str, dict[str, dict[str, Any]]] = {
    "adult": {
        FREE: {},
        "+ immutable": {"immutable": ["sex", "race"]},
        "+ upwards": {"increasing": {"age": None, "education-num": None}, "groups": [["education", "education-num"]]},
        "+ range": {"ranges": {"hours-per-week": (20, 60)}},
        "+ 3 changes": {"max_changes": 3},
    },
    "german credit": {
        FREE: {},
        "+ immutable": {"immutable": ["personal_status_sex", "foreign_worker"]},
        "+ upwards": {"increasing": {"age": None, "employment_since": EMPLOYMENT}},
        "+ range": {"ranges": {"duration_months": (6, 36)}},
        "+ 3 changes": {"max_changes": 3},
    },
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
    def read(cls, name: str, folder: Path, *, rows: int, seed: int) -> Task:
        """A table, split. The rows explained are in an order that begins with those not trained on."""
        file, label, one, n_training = TABLES[name]
        table = pd.read_csv(folder / "raw" / file, keep_default_na=False).drop(columns="fnlwgt", errors="ignore")
        labels = (table.pop(label) == one).astype(int)
        order = np.random.default_rng(seed).permutation(len(table))
        training = order[len(order) - n_training :]
        levels: dict[str, dict[str, Any]] = {}
        rules: dict[str, Any] = {}
        for level, added in LEVELS[name].items():
            levels[level] = rules = rules | added
        return cls(name, table.iloc[training], labels.iloc[training], table.iloc[order[:rows]], levels)


@cache
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
    changed = differing(before, after)
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
        is_torn = np.array([values not in known for values in after[group].itertuples(index=False, name=None)], bool)
        look(changed[group].any(axis=1) & is_torn, f"{' and '.join(group)} torn apart")
    look(changed.sum(axis=1) > rules.get("max_changes", changed.shape[1]), "too many changes")
    return found


def differing(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Which values changed; a number is the same whatever its dtype."""
    return before.astype(object) != after.astype(object)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Counterfactuals of some rows as they look from outside."""

    n_rows: int
    before: pd.DataFrame
    after: pd.DataFrame
    broken: list[tuple[Any, str]]
    is_valid: np.ndarray

    @classmethod
    def of(cls, rows: pd.DataFrame, after: pd.DataFrame, rules: dict[str, Any], task: Task, decide: Any) -> Verdict:
        """Judge counterfactuals, whose index tells the rows that they are for, by rules and a function rows -> side."""
        before = rows.loc[after.index]
        is_valid = decide(before) != decide(after) if len(after) else np.zeros(0, dtype=bool)
        return cls(len(rows), before, after, broken_rules(before, after, rules, task.X), is_valid)

    def cells(self) -> list[str]:
        """Found, of the rows; valid, of the counterfactuals; their mean number of changes."""
        changes = short(differing(self.before, self.after).sum(axis=1).mean())
        return [percent(len(self.after), self.n_rows), percent(self.is_valid.sum(), len(self.after)), changes]

    def wrongs(self, where: str) -> list[str]:
        """Each wrong answer, in words."""
        wrong = [*self.broken, *((label, "not valid") for label in self.after.index[~self.is_valid])]
        return [f"{where}, row {label}: {words}" for label, words in wrong]


def handed_out(cfs: Counterfactuals) -> pd.DataFrame:
    """The lines of the frame that hold a counterfactual."""
    return cfs.to_frame()[cfs.found]


def mean_distance(cfs: Counterfactuals) -> str:
    """Over the rows that have a counterfactual."""
    return short(cfs.metrics()["proximity"].mean())


def percent(part: float, whole: int) -> str:
    """A share; never rounded to 100 % where something is missing."""
    share = 100 * part / whole if whole else np.nan
    return "-" if np.isnan(share) else "100 %" if part == whole else f"{min(99.9, share):.1f} %"


def rules_part(task: Task, report: Report) -> list[str]:
    """Both searches under every level of rules, with each model; what was wrong."""
    head = ["model", "rules", "found", "valid", "changes", "distance", "violations", "without rules", "missed"]
    wrongs = []
    for search, rows in (("greedy", task.explained), ("thorough", task.explained.iloc[:N_THOROUGH])):
        lines = []
        for name in MODELS:
            more, wrong = level_lines(task, name, search, rows)
            lines += more
            wrongs += wrong
        times = ["ms/row", "ratio", *(["1 row: ms", "ratio"] if search == "greedy" else [])]
        report.say(f"### {task.name}, {search}: {len(rows):,} rows\n\n" + markdown_table([*head, *times], lines))
    return wrongs


def level_lines(task: Task, name: str, search: Any, rows: pd.DataFrame) -> tuple[list[list[Any]], list[str]]:
    """One line for each level of rules, with times of single rows for the greedy search; what was wrong."""
    model = fitted_model(name, task)
    where = f"{task.name}, {name}, {search}"
    progress(where)
    nice = NICE(model, search=search, optimize="sparsity", random_state=0).fit(task.X, task.y)
    answers, batch = in_one_call(nice, rows, task)
    alone, unlike = one_at_a_time(nice, rows.iloc[:N_SINGLE], task, answers) if search == "greedy" else ({}, [])
    lines, wrongs = [], [f"{where}, {words}" for words in unlike]
    frames = {level: handed_out(cfs) for level, cfs in answers.items()}
    for level, rules in task.levels.items():
        verdict = Verdict.of(rows, frames[level], rules, task, model.predict)
        wrongs += verdict.wrongs(f"{where}, {level}")
        kept = {other: keeping(rows, frame, rules, task) for other, frame in frames.items()}
        missed = set().union(*kept.values()) - set(frames[level].index)
        line = [name, level, *verdict.cells(), mean_distance(answers[level]), len(verdict.broken)]
        line += [percent(len(frames[FREE]) - len(kept[FREE]), len(frames[FREE])), len(missed)]
        line += [short(batch[level]), f"{batch[level] / batch[FREE]:.2f}x"]
        if alone:
            line += [short(np.median(alone[level])), f"{np.median(alone[level] / alone[FREE]):.2f}x"]
        lines.append(line)
    return lines, wrongs


def keeping(rows: pd.DataFrame, after: pd.DataFrame, rules: dict[str, Any], task: Task) -> set[Any]:
    """The labels of the counterfactuals that keep the rules, whatever they were made for."""
    return set(after.index) - {label for label, _ in broken_rules(rows.loc[after.index], after, rules, task.X)}


def in_one_call(nice: NICE, rows: pd.DataFrame, task: Task) -> tuple[dict[str, Counterfactuals], dict[str, float]]:
    """The answers for all rows under each level, and milliseconds per row."""
    nice.explain(rows.iloc[:1], progress=False)  # the first call pays for lazy imports
    answers, times = {}, {}
    for level, rules in task.levels.items():
        start = perf_counter()
        answers[level] = nice.explain(rows, constraints=Constraints(**rules), progress=False)
        times[level] = 1000 * (perf_counter() - start) / len(rows)
    return answers, times


def one_at_a_time(
    nice: NICE, rows: pd.DataFrame, task: Task, answers: dict[str, Counterfactuals]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Milliseconds of each row alone, and the rows that then get another answer than in one call for all.

    Row by row, under all levels in turn, so that a noisy moment hits them alike; each time another level goes first.
    """
    levels = [(level, Constraints(**rules)) for level, rules in task.levels.items()]
    times = {level: np.empty(len(rows)) for level in task.levels}
    unlike = []
    for i in range(len(rows)):
        first = i % len(levels)
        for level, rules in levels[first:] + levels[:first]:
            start = perf_counter()
            alone = nice.explain(rows.iloc[[i]], constraints=rules, progress=False)
            times[level][i] = 1000 * (perf_counter() - start)
            if not handed_out(alone).equals(handed_out(answers[level][[i]])):
                unlike.append(f"{level}, row {rows.index[i]}: another answer than in one call for all")
    return times, unlike


def thresholds_part(task: Task, report: Report) -> list[str]:
    """The forest with cut-offs, given as an option and by scikit-learn's classifier; what was wrong."""
    forest, rows = fitted_model("forest", task), task.explained
    lines, wrongs = [], []

    def is_above(some: pd.DataFrame, cutoff: float) -> np.ndarray:
        return forest.predict_proba(some)[:, 1] >= cutoff

    for cutoff in CUTOFFS:
        progress(f"cut-off {cutoff}")
        deployed = FixedThresholdClassifier(FrozenEstimator(forest), threshold=cutoff).fit(task.X, task.y)
        by_option = (NICE(forest, search="greedy", decision=cutoff), partial(is_above, cutoff=cutoff))
        line = [cutoff, percent(is_above(rows, cutoff).sum(), len(rows))]
        frames = []
        for nice, decide in (by_option, (NICE(deployed, search="greedy"), deployed.predict)):
            frames.append(handed_out(nice.fit(task.X, task.y).explain(rows, progress=False)))
            verdict = Verdict.of(rows, frames[-1], {}, task, decide)
            line += verdict.cells()
            wrongs += verdict.wrongs(f"cut-off {cutoff} of {type(nice.model).__name__}")
        lines.append([*line, "yes" if frames[0].equals(frames[1]) else "no"])
    head = ["cut-off", "rows above", "found", "pass", "changes", "FixedThreshold: found", "pass", "changes", "same"]
    report.say(
        f"## Cut-offs\n\nadult, forest, {len(rows):,} rows. Pass: counterfactuals on the other side of the "
        "cut-off from their row, by predict_proba and numpy; for scikit-learn's FixedThresholdClassifier, by its "
        "predict. Same: whether both give the same answers.\n\n" + markdown_table(head, lines)
    )
    return wrongs


def robust_part(task: Task, report: Report) -> list[str]:
    """One model explained and the other asked, with and without ``robust_to``; what was wrong."""
    lines, wrongs = [], []
    for name, other in (("MLP", "forest"), ("forest", "MLP")):
        for variant, in_paper in PAPER[name].items():
            plain, wrong = robust_cells(task, name, other, variant, is_robust=False)
            robust, more_wrong = robust_cells(task, name, other, variant, is_robust=True)
            lines.append([name, variant, f"{in_paper} %", *plain, *robust])
            wrongs += wrong + more_wrong
    head = ["explained", "variant", "paper", "agree", "found", "distance", "robust_to: agree", "found", "distance"]
    report.say(
        f"## Another model must agree\n\nadult, {len(task.explained):,} rows. Agree: counterfactuals that the other "
        "model, forest or MLP, puts into the same class. Paper: its cross-model robustness, a mean over its tables.\n\n"
        + markdown_table(head, lines)
    )
    return wrongs


def robust_cells(
    task: Task, name: str, other_name: str, variant: Any, *, is_robust: bool
) -> tuple[list[str], list[str]]:
    """How many counterfactuals the other model agrees on, found, and distance; what was wrong."""
    model, other = fitted_model(name, task), fitted_model(other_name, task)
    where = f"{name}, {variant}, {'robust' if is_robust else 'not robust'}"
    progress(where)
    nice = NICE(model, optimize=variant, search="greedy", robust_to=[other] if is_robust else [], random_state=0)
    nice.fit(task.X, task.y)
    cfs = nice.explain(task.explained, progress=False)
    verdict = Verdict.of(task.explained, handed_out(cfs), {}, task, model.predict)
    after = verdict.after
    agrees = other.predict(after) == model.predict(after) if len(after) else np.zeros(0, dtype=bool)
    disagreed = after.index[~agrees] if is_robust else []
    wrongs = verdict.wrongs(where) + [f"{where}, row {label}: the other model disagrees" for label in disagreed]
    return [percent(agrees.sum(), len(agrees)), verdict.cells()[0], mean_distance(cfs)], wrongs


def dice_part(task: Task, report: Report) -> list[str]:
    """DiCE and nicecf under the same rules, one row at a time; what was wrong with nicecf."""
    if find_spec("dice_ml") is None:
        report.say(f"## DiCE\n\nNot installed. Without what it does not need: {DICE_INSTALL}")
        return []
    forest, rules = fitted_model("forest", task), task.levels["+ range"]
    low, high = rules["ranges"]["hours-per-week"]
    rows = task.explained[task.explained["hours-per-week"].between(low, high)].iloc[:N_DICE]
    told = {name: value for name, value in rules.items() if name != "groups"}
    lines, wrongs = [], []
    for name in ("DiCE random", "DiCE genetic", "nicecf greedy", "nicecf thorough"):
        progress(name)
        package, how = name.split()
        explain = (dice_explainer if package == "DiCE" else nice_explainer)(how, task, forest, rules)
        after, milliseconds, failures = one_by_one(explain, rows)
        verdict = Verdict.of(rows, after, told, task, forest.predict)
        torn = broken_rules(verdict.before, after, {"groups": rules["groups"]}, task.X)
        times = [short(np.median(milliseconds)), short(max(milliseconds))]
        lines.append([name, *verdict.cells(), len(verdict.broken), len(torn), *times, "; ".join(failures) or "-"])
        if package == "nicecf":
            wrongs += [*verdict.wrongs(name), *(f"{name}, row {label}: {words}" for label, words in torn), *failures]
    head = ["method", "found", "valid", "changes", "violations", "education torn", "ms (median)", "slowest", "failures"]
    report.say(
        f"## DiCE\n\nadult, forest, {len(rows)} rows with {low} to {high} hours, one at a time, at most "
        f"{DICE_SECONDS} s each. DiCE is told which features may vary, the range of the hours and, for each row, "
        "that age and education-num start at their current values; violations are counted against that. DiCE has no "
        "way to say that education and education-num belong together.\n\n" + markdown_table(head, lines)
    )
    return wrongs


def dice_explainer(method: str, task: Task, model: Any, rules: dict[str, Any]) -> Explain:
    """One row -> its counterfactual by DiCE; no row if it has none."""
    import dice_ml  # optional

    numbers = list(task.X.select_dtypes("number"))
    table = dice_ml.Data(dataframe=task.X.assign(label=task.y), continuous_features=numbers, outcome_name="label")
    explainer = dice_ml.Dice(table, dice_ml.Model(model=model, backend="sklearn"), method=method)
    free = [name for name in task.X if name not in rules["immutable"]]
    highest = task.X[numbers].max()

    def explain(row: pd.DataFrame) -> pd.DataFrame:
        random.seed(0)
        np.random.seed(0)  # DiCE draws from the global generators
        upwards = {name: [row[name].iloc[0], max(row[name].iloc[0], highest[name])] for name in rules["increasing"]}
        ranges = {name: list(pair) for name, pair in rules["ranges"].items()}
        found = explainer.generate_counterfactuals(
            row, total_CFs=1, desired_class="opposite", features_to_vary=free, permitted_range=ranges | upwards
        )
        answer = found.cf_examples_list[0].final_cfs_df_sparse
        if answer is None:
            return row.iloc[:0]
        return answer[list(row)].iloc[:1].set_axis(row.index).astype(row.dtypes.to_dict())

    return explain


def nice_explainer(search: Any, task: Task, model: Any, rules: dict[str, Any]) -> Explain:
    """One row -> its counterfactual by nicecf; no row if it has none."""
    nice = NICE(model, search=search, constraints=Constraints(**rules), random_state=0).fit(task.X, task.y)
    return lambda row: handed_out(nice.explain(row, progress=False))


def one_by_one(explain: Explain, rows: pd.DataFrame) -> tuple[pd.DataFrame, list[float], list[str]]:
    """All counterfactuals, milliseconds of each row, and each failure with how often it came."""
    answers, milliseconds, failures = [rows.iloc[:0]], [], []
    for i in range(len(rows)):
        start = perf_counter()
        try:
            with quietly(DICE_SECONDS):
                answers.append(explain(rows.iloc[[i]]))
        except Exception as error:  # whatever a peer raises is its answer
            failures.append(f"{type(error).__name__}: {str(error)[:80]}".replace("|", "/").replace("\n", " "))
        milliseconds.append(1000 * (perf_counter() - start))
    counted = [f"{failures.count(words)} x {words}" for words in dict.fromkeys(failures)]
    return pd.concat(answers), milliseconds, counted


@contextmanager
def quietly(seconds: float) -> Iterator[None]:
    """Nothing printed, no warning shown, and TimeoutError after so many seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done in {seconds:g} s")

    usual = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with open(os.devnull, "w") as out, redirect_stdout(out), redirect_stderr(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


def with_derived(table: pd.DataFrame) -> pd.DataFrame:
    """The table of adult with two columns that follow from others."""
    return table.assign(
        **{"capital-net": table["capital-gain"] - table["capital-loss"]},
        **{"hours-share": (table["hours-per-week"] / 168).round(2)},
    )


def impossible(after: pd.DataFrame, rules: dict[str, Any], training: pd.DataFrame) -> list[tuple[Any, str]]:
    """Each counterfactual that could not exist: its label, and why; by plain pandas."""
    broken = {}
    if "derived" in rules:
        net = after["capital-gain"] - after["capital-loss"]
        broken["capital-net is not what follows"] = after["capital-net"] != net
        broken["hours-share is not what follows"] = (
            after["hours-share"] - after["hours-per-week"] / 168
        ).abs() > 0.00501
    if "relations" in rules:
        broken["more years at school than in life"] = after["education-num"] > after["age"]
        broken["a wife who never married"] = (after["relationship"] == "Wife") & (
            after["marital-status"] == "Never-married"
        )
    if "groups" in rules:
        pair = ["education", "education-num"]
        known = set(training[pair].itertuples(index=False, name=None))
        broken["education torn apart"] = [one not in known for one in after[pair].itertuples(index=False, name=None)]
    return [(label, why) for why, is_broken in broken.items() for label in after.index[np.asarray(is_broken, bool)]]


def possible_part(task: Task, report: Report) -> list[str]:
    """What it costs that every answer could exist; what was wrong."""
    task = replace(task, name="adult with derived columns", X=with_derived(task.X))
    relations = ["`education-num` <= age", 'relationship == "Wife" implies `marital-status` != "Never-married"']
    derived = {"capital-net": "`capital-gain` - `capital-loss`", "hours-share": "round(`hours-per-week` / 168, 2)"}
    levels = {FREE: {}, "relations": {"relations": relations}, "derived": {"derived": derived}}
    levels["all, groups='auto'"] = {"relations": relations, "derived": derived, "groups": "auto"}
    # Rows that are themselves impossible are told so: these are not what is measured.
    rows = with_derived(task.explained)
    rows = rows.drop([label for label, _ in impossible(rows, levels["all, groups='auto'"], task.X)])
    wrongs = []
    for search, n_rows in (("greedy", len(rows)), ("thorough", N_THOROUGH)):
        lines = []
        for name in ("forest", "boosting"):
            more, wrong = possible_lines(task, name, search, rows.iloc[:n_rows], levels)
            lines += more
            wrongs += wrong
        head = [
            "model",
            "rules",
            "found",
            "valid",
            "changes",
            "impossible",
            "without rules",
            "ms/row",
            "ratio",
            "1 row: ms",
            "ratio",
        ]
        report.say(
            f"## Rows that could exist, {search}\n\nadult with two derived columns (`capital-net`, `hours-share`), "
            f"{n_rows:,} rows. Impossible: answers that contradict a derived column, a relation or the pair of "
            "education and education-num, counted from the frames. Without rules: the share of the answers without "
            f"rules that do. Ratios are to no rules; of single rows, the median over {N_SINGLE} rows, each with all in "
            "turn.\n\n" + markdown_table(head, lines)
        )
    return wrongs


def possible_lines(
    task: Task, name: str, search: Any, rows: pd.DataFrame, levels: dict[str, dict[str, Any]]
) -> tuple[list[list[Any]], list[str]]:
    """One line for each set of rules; what was wrong."""
    model, where = fitted_model(name, task), f"{task.name}, {name}, {search}"
    progress(where)
    explainers = {
        level: NICE(model, search=search, constraints=Constraints(**rules), random_state=0).fit(task.X, task.y)
        for level, rules in levels.items()
    }
    batch, frames, changes = {}, {}, {}
    for level, nice in explainers.items():
        nice.explain(rows.iloc[:1], progress=False)  # the first call pays for lazy imports
        start = perf_counter()
        cfs = nice.explain(rows, progress=False)
        batch[level] = 1000 * (perf_counter() - start) / len(rows)
        frames[level], changes[level] = handed_out(cfs), cfs.metrics()["sparsity"].mean()
    alone = {level: np.empty(N_SINGLE) for level in levels}
    for i in range(N_SINGLE):
        first = i % len(levels)
        for level in [*levels][first:] + [*levels][:first]:
            start = perf_counter()
            explainers[level].explain(rows.iloc[[i]], progress=False)
            alone[level][i] = 1000 * (perf_counter() - start)
    lines, wrongs = [], []
    for level, rules in levels.items():
        verdict = Verdict.of(rows, frames[level], {}, task, model.predict)
        broken = impossible(frames[level], rules, task.X)
        free = {label for label, _ in impossible(frames[FREE], rules, task.X)}
        wrongs += [
            *verdict.wrongs(f"{where}, {level}"),
            *(f"{where}, {level}, row {row}: {why}" for row, why in broken),
        ]
        line = [name, level, *verdict.cells()[:2], short(changes[level]), len(broken)]
        line += [percent(len(free), len(frames[FREE])), short(batch[level]), f"{batch[level] / batch[FREE]:.2f}x"]
        lines.append([*line, short(np.median(alone[level])), f"{np.median(alone[level] / alone[FREE]):.2f}x"])
    return lines, wrongs


PARTS = {"possible": possible_part, "thresholds": thresholds_part, "robust": robust_part, "dice": dice_part}


def main() -> int:
    """Measure and report; 1 if nicecf breaks a rule or hands out what is not valid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult and raw/german_credit; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=1000, help="rows explained of each table")
    parser.add_argument("--seed", type=int, default=0, help="which rows are training rows and which are explained")
    parser.add_argument(
        "--only", nargs="+", choices=["rules", *PARTS], default=["rules", *PARTS], help="parts of the report"
    )
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if not (options.data or os.environ.get("NICECF_DATA")):
        print("Nothing measured: the rules are about the columns of adult and german credit. Set NICECF_DATA.")
        return 0
    folder = Path(options.data or os.environ["NICECF_DATA"])
    if options.rows < 1:
        parser.error(f"--rows {options.rows} leaves nothing to explain; pass 1 or more.")
    missing = [file for file, *_ in TABLES.values() if not (folder / "raw" / file).is_file()]
    if missing:
        parser.error(f"{folder} has no raw/{missing[0]}; pass --data, or set NICECF_DATA.")

    report = Report(options.out)
    report.say("# Rules, cut-offs and second models")
    report.say(
        f"Seed {options.seed}; all on one thread. " + machine("nicecf", "numpy", "pandas", "scikit-learn", "dice-ml")
    )
    with threadpool_limits(1):  # two that share a core with another process wait for each other
        wrongs = measured(options, folder, report)
    listed = "".join(f"\n- {wrong}." for wrong in wrongs)
    report.say(f"In all, {len(wrongs):,} wrong answers of nicecf.\n{listed}".rstrip())
    report.save()
    return 1 if wrongs else 0


def measured(options: argparse.Namespace, folder: Path, report: Report) -> list[str]:
    """Say all parts that are asked for; what was wrong."""
    tasks = [Task.read(name, folder, rows=options.rows, seed=options.seed) for name in TABLES]
    wrongs = []
    if "rules" in options.only:
        report.say(RULES_HEAD)
        wrongs += [wrong for task in tasks for wrong in rules_part(task, report)]
    for name, part in PARTS.items():
        wrongs += part(tasks[0], report) if name in options.only else []
    return wrongs


if __name__ == "__main__":
    sys.exit(main())
