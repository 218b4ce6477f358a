"""Speed of nicecf and of NICEx 0.2.3, the authors' package, side by side in one run.

Both get the same float64 matrix, the same categorical positions, the same fitted model, the same error function.
NICEx takes one row at a time; nicecf is timed on the same single rows and on all rows in one call. The two take
turns, each measurement is repeated, and medians are reported: a shared machine is noisy.

    python benchmarks/speed.py --data DIR --out speed.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from common import Problem, Report, machine, markdown_table, progress, real_or_generated, short
from nicecf import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.search.autoencoder import Autoencoder
from peer import Peer, Referee, count_invalid

VARIANTS = ("none", "sparsity", "proximity", "plausibility")
# How many times faster than NICEx, per row.
BATCH_TARGETS = {
    "forest": {"sparsity": 250, "proximity": 250, "plausibility": 50},
    "MLP": {"sparsity": 100, "proximity": 100, "plausibility": 50},
}
ONE_ROW_TARGET = 2.5
# One row on the forest: how many times faster than NICEx, plain and accelerated; how many calls of the model one
# explanation may take at most.
FOREST_ROW_TARGET, ACCELERATED_TARGET, CALLS_TARGET = 5, 20, 2.0

# Of the thorough search: how often everything is measured, and how many rows are explained one by one.
THOROUGH_ROUNDS, N_ALONE = 5, 20


class Timed:
    """A function of rows that counts its calls, its rows and its seconds."""

    def __init__(self, function: Callable[[Any], np.ndarray]) -> None:
        self._function = function
        self.calls = self.rows = 0
        self.seconds = 0.0

    def __call__(self, rows: Any) -> np.ndarray:
        start = perf_counter()
        answer = self._function(rows)
        self.seconds += perf_counter() - start
        self.calls += 1
        self.rows += len(rows)
        return answer


@dataclass
class Clock:
    """Times of one thing measured again and again, and how much of each went to the model and the error function."""

    model: Timed
    error: Timed
    total: list[float] = field(default_factory=list)
    in_model: list[float] = field(default_factory=list)
    in_error: list[float] = field(default_factory=list)
    calls: int = 0
    rows: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time what happens inside."""
        model, error = self.model.seconds, self.error.seconds
        calls, rows = self.model.calls, self.model.rows
        start = perf_counter()
        yield
        self.total.append(perf_counter() - start)
        self.in_model.append(self.model.seconds - model)
        self.in_error.append(self.error.seconds - error)
        self.calls += self.model.calls - calls
        self.rows += self.model.rows - rows

    def by_row(self, n_rows: int) -> np.ndarray:
        """The median over the rounds for each row, when the rows were timed one by one, round after round; in ms."""
        return 1000 * np.median(np.reshape(self.total, (-1, n_rows)), axis=0)

    def shares(self) -> str:
        """The share of time outside model and error function, and the share of the error function."""
        total, error = sum(self.total), sum(self.in_error)
        outside = 1 - (sum(self.in_model) + error) / total
        return f"{outside:.0%}" + (f" (error function {error / total:.0%})" if error else "")


@dataclass(frozen=True, eq=False)
class Measured:
    """One model and one variant."""

    model: str
    variant: str
    peer: Clock
    single: Clock
    batch: Clock
    one_call: Clock
    # With a twin of the model, for the models that have one: by "confirmed" and "unconfirmed".
    accelerated: dict[str, Clock]
    n_calls: np.ndarray
    n_single: int
    n_batch: int
    cfs: Counterfactuals
    verdicts: list[tuple[int, str, str]]
    n_equal: int
    n_batch_differs: int
    invalid_peer: int
    invalid_ours: int

    @property
    def peer_ms(self) -> float:
        """NICEx: ms per row, median over the rows."""
        return float(np.median(self.peer.by_row(self.n_single)))

    @property
    def peer_mean_ms(self) -> float:
        """NICEx: ms per row, mean over the rows (long walks weigh in)."""
        return float(np.mean(self.peer.by_row(self.n_single)))

    @property
    def single_ms(self) -> float:
        """Ours, one row per call: ms per row, median over the rows."""
        return float(np.median(self.single.by_row(self.n_single)))

    @property
    def one_call_ms(self) -> float:
        """The model asked for one row: no package that asks it at all can be faster."""
        return float(np.median(self.one_call.by_row(self.n_single)))

    @property
    def in_calls(self) -> float:
        """One explanation as a multiple of one call of the model for one row: the median over the rows."""
        return float(np.median(self.single.by_row(self.n_single) / self.one_call.by_row(self.n_single)))

    def accelerated_ms(self, how: str) -> float:
        """Ours with a twin of the model, one row per call: ms per row, median over the rows."""
        clock = self.accelerated.get(how)
        return float(np.median(clock.by_row(self.n_single))) if clock else np.nan

    @property
    def batch_ms(self) -> float:
        """Ours, all rows in one call: ms per row."""
        return 1000 * float(np.median(self.batch.total)) / self.n_batch

    @property
    def batch_ratio(self) -> float:
        """How many times faster the batch is; it is a mean over rows, so NICEx's mean is what it compares with."""
        return self.peer_mean_ms / self.batch_ms


def heads() -> dict[str, Any]:
    """The two models of the benchmark, not fitted yet."""
    return {
        "forest": RandomForestClassifier(100, random_state=0, n_jobs=1),
        "MLP": MLPClassifier((50,), early_stopping=True, random_state=0),
    }


def fitted_models(problem: Problem, rows: np.ndarray) -> dict[str, Any]:
    """The two models of the benchmark, each behind a one-hot encoder."""
    models = {}
    for name, head in heads().items():
        progress(f"training the {name} on {len(rows):,} rows of {problem.name}")
        columns = ColumnTransformer(
            [
                ("categories", OneHotEncoder(handle_unknown="ignore"), problem.categorical),
                ("numbers", StandardScaler(), problem.numeric),
            ]
        )
        models[name] = make_pipeline(columns, head).fit(problem.X[rows], problem.y[rows])
    return models


def measure(
    model_name: str,
    variant: str,
    model: Any,
    error_function: Callable[[np.ndarray], np.ndarray],
    problem: Problem,
    training: np.ndarray,
    rows: np.ndarray,
    *,
    n_single: int,
    repeats: int,
) -> Measured:
    """Time both packages in turns, then compare their answers."""
    X, y = problem.X[training], problem.y[training]
    predict_proba, error = Timed(model.predict_proba), Timed(error_function)
    is_plausible = variant == "plausibility"
    nice = NICE(
        predict_proba,
        optimize=variant,
        search="greedy",
        plausibility=error if is_plausible else None,
        categorical_features=problem.categorical,
        classes=[0, 1],
    ).fit(X, y)
    peer = Peer(predict_proba, X, y, problem.categorical, variant=variant, error=error if is_plausible else None)
    twins = _accelerated(nice, model).items() if model_name == "forest" else []
    twins = {how: explainer.fit(X, y) for how, explainer in twins}

    explained = problem.X[rows]
    some = explained[:n_single]
    nice.explain(some[:2])  # first calls pay for lazy imports, in both packages
    peer.explain(some[:1].copy())
    peer_clock, single_clock, batch_clock, one_call = (Clock(predict_proba, error) for _ in range(4))
    accelerated = {how: Clock(predict_proba, error) for how in twins}
    told = np.zeros(2, dtype=int)
    for _ in range(repeats):
        with batch_clock.running():
            cfs = nice.explain(explained)
        told += (cfs.model_calls, cfs.model_rows)
        theirs, ours = [], []
        for i in range(n_single):
            row = some[i : i + 1].copy()
            with peer_clock.running():
                theirs.append(peer.explain(row)[0])
            with single_clock.running():
                ours.append(nice.explain(some[i : i + 1]))
            with one_call.running():
                predict_proba(row)
            for how, explainer in twins.items():
                with accelerated[how].running():
                    answer = explainer.explain(some[i : i + 1])
                assert np.array_equal(answer.to_numpy(), ours[-1].to_numpy()), "accelerated answers differ"

    assert cfs.found.all(), cfs.reasons[~cfs.found][0]
    longest = int(cfs.metrics()["rounds"].max())
    assert told.tolist() == [batch_clock.calls, batch_clock.rows], "the result miscounts what it asks of the model"
    # One call for the rows, one for their donors.
    assert cfs.model_calls <= longest + 2, f"{cfs.model_calls} model calls for a longest walk of {longest}"
    values = cfs.to_numpy()
    singles = np.concatenate([one.to_numpy() for one in ours])
    referee = Referee(model.predict_proba, X, problem.categorical, variant, error_function if is_plausible else None)
    verdicts = differences(referee, peer, some, singles, np.array(theirs), ours, X)
    return Measured(
        model_name,
        variant,
        peer_clock,
        single_clock,
        batch_clock,
        one_call,
        accelerated,
        np.array([one.model_calls for one in ours]),
        n_single,
        len(rows),
        cfs,
        verdicts,
        n_equal=n_single - len(verdicts),
        n_batch_differs=int((values[:n_single] != singles).any(axis=1).sum()),
        invalid_peer=count_invalid(model.predict_proba, some, np.array(theirs)),
        invalid_ours=count_invalid(model.predict_proba, explained, values),
    )


def _accelerated(nice: NICE, model: Any) -> dict[str, NICE]:
    """The same explainer for the model itself, which has a twin, confirmed by the model or not."""
    options = {**nice.get_params(deep=False), "model": model, "classes": None}
    return {
        how: NICE(**{**options, "accelerate": accelerate})
        for how, accelerate in (("confirmed", True), ("unconfirmed", "unconfirmed"))
    }


def differences(
    referee: Referee,
    peer: Peer,
    rows: np.ndarray,
    ours: np.ndarray,
    theirs: np.ndarray,
    results: list[Counterfactuals],
    X: np.ndarray,
) -> list[tuple[int, str, str]]:
    """Each row that the two packages answer differently: which, why, and the numbers."""
    verdicts = []
    for i in np.flatnonzero((ours != theirs).any(axis=1)):
        answer = peer.explain_with_path(rows[i : i + 1])
        assert np.array_equal(answer.values, theirs[i]), "NICEx answers the same row in two ways"
        changes = results[i].changes().sort_values("step", kind="stable")
        path = [int(str(name)[1:]) for name in changes["feature"]]  # columns of an array are called x0, x1, ...
        donor = X[int(results[i].donors[0])]
        verdicts.append((int(i), *referee.verdict(rows[i], donor, path, answer)))
    return verdicts


def say_thorough(
    report: Report, models: dict[str, Any], problem: Problem, training: np.ndarray, rows: np.ndarray
) -> None:
    """What there is to say of the thorough search."""
    report.say("## The thorough search\n\n" + thorough_table(models, problem, training, rows))
    report.say("## Both searches, processor time\n\n" + searches_table(models, problem, training, rows))


def thorough_table(models: dict[str, Any], problem: Problem, training: np.ndarray, rows: Any) -> str:
    """The thorough search beside NICEx's greedy one for the same objective: one row at a time, and 100 in a call."""
    X, y = problem.X[training], problem.y[training]
    lines = []
    for name, model in models.items():
        for variant in ("sparsity", "proximity"):
            peer = Peer(Timed(model.predict_proba), X, y, problem.categorical, variant=variant, error=None)
            peer.explain(problem.X[rows[:1]].copy())
            for accelerate in (None, False) if name == "forest" else (None,):
                progress(f"measuring {name}, thorough, {variant}, accelerate={accelerate}")
                nice = NICE(
                    model,
                    search="thorough",
                    optimize=variant,
                    categorical_features=problem.categorical,
                    accelerate=accelerate,
                ).fit(X, y)
                nice.explain(problem.X[rows[:2]])
                theirs, ours, calls, batches = [], [], [], []
                for _ in range(THOROUGH_ROUNDS):  # in turns: what slows the machine slows both
                    for row in rows[:N_ALONE]:
                        start = perf_counter()
                        peer.explain(problem.X[[row]].copy())
                        between = perf_counter()
                        calls.append(nice.explain(problem.X[[row]]).model_calls)
                        theirs.append(between - start)
                        ours.append(perf_counter() - between)
                    start = perf_counter()
                    cfs = nice.explain(problem.X[rows[:100]])
                    batches.append((perf_counter() - start) / len(cfs))
                by_peer, one = (np.median(np.reshape(times, (THOROUGH_ROUNDS, -1)), axis=0) for times in (theirs, ours))
                by_peer, one, batch = np.mean(by_peer), np.median(one), np.median(batches)
                lines.append(
                    (
                        name,
                        variant,
                        str(accelerate),
                        short(1000 * by_peer),
                        short(1000 * one),
                        _ratio(by_peer / one),
                        f"{np.median(calls):g}",
                        short(1000 * batch),
                        _ratio(by_peer / batch),
                    )
                )
    head = ["model", "objective", "accelerate", "NICEx ms", "1 row: ms", "ratio", "model calls", "100 rows: ms/row"]
    return markdown_table([*head, "ratio"], lines)


def searches_table(models: dict[str, Any], problem: Problem, training: np.ndarray, rows: Any) -> str:
    """Both searches beside each other: one row at a time, and all rows in a call; processor time on one thread."""
    X, y, lines = problem.X[training], problem.y[training], []
    for name, model in models.items():
        for variant in ("sparsity", "proximity"):
            progress(f"measuring {name}, both searches, {variant}")
            options = {"optimize": variant, "categorical_features": problem.categorical}
            thorough = NICE(model, search="thorough", **options).fit(X, y)
            greedy = NICE(model, search="greedy", **options).fit(X, y)
            alone, together, by_greedy = [], [], []
            thorough.explain(problem.X[rows[:2]])  # the first call pays for lazy imports
            for _ in range(THOROUGH_ROUNDS):
                alone += [_processor_time(thorough, problem.X[[row]]) for row in rows[:N_ALONE]]
                together.append(_processor_time(thorough, problem.X[rows]) / len(rows))
                by_greedy.append(_processor_time(greedy, problem.X[rows]) / len(rows))
            seconds, quick = np.median(together), np.median(by_greedy)
            one = np.median(np.median(np.reshape(alone, (THOROUGH_ROUNDS, -1)), axis=0))
            speeds = f"{1 / seconds:,.0f}", f"{1 / quick:,.0f}"
            lines.append((f"{name}, {variant}", short(1000 * one), short(1000 * seconds), *speeds))
    head = ["", "one row, ms", f"{len(rows):,} rows, ms/row", "rows per second", "greedy, rows per second"]
    return markdown_table(head, lines)


def _processor_time(nice: NICE, rows: np.ndarray) -> float:
    with threadpool_limits(1):
        start = process_time()
        nice.explain(rows, progress=False)
        return process_time() - start


def time_table(all_measured: list[Measured]) -> str:
    """Milliseconds per row, and how many times faster."""
    head = [
        "model",
        "variant",
        "NICEx ms/row",
        "1 row: ms",
        "ratio",
        "at most",
        "{n:,} rows: ms/row",
        "ratio",
        "outside the model",
    ]
    head = [name.format(n=all_measured[0].n_batch) for name in head]
    rows = [
        (
            m.model,
            m.variant,
            f"{short(m.peer_ms)} (mean {short(m.peer_mean_ms)})",
            short(m.single_ms),
            f"{m.peer_ms / m.single_ms:.1f}x",
            f"{m.peer_ms / m.one_call_ms:.1f}x",
            short(m.batch_ms),
            f"{m.batch_ratio:,.0f}x",
            m.batch.shares(),
        )
        for m in all_measured
    ]
    return markdown_table(head, rows)


def latency_table(all_measured: list[Measured]) -> str:
    """One row at a time: calls of the model, and time as a multiple of one call."""
    head = [
        "model",
        "variant",
        "NICEx ms",
        "ms",
        "ratio",
        "calls (median)",
        "rows with one call",
        "x one predict_proba",
        "accelerated ms",
        "ratio",
        "unconfirmed ms",
        "ratio",
    ]
    rows = []
    for m in all_measured:
        fast = [
            cell
            for how in ("confirmed", "unconfirmed")
            for cell in (short(m.accelerated_ms(how)), _ratio(m.peer_ms / m.accelerated_ms(how)))
        ]
        rows.append(
            (
                m.model,
                m.variant,
                short(m.peer_ms),
                short(m.single_ms),
                _ratio(m.peer_ms / m.single_ms),
                f"{np.median(m.n_calls):g}",
                f"{np.mean(m.n_calls == 1):.0%}",
                f"{m.in_calls:.2f}",
                *fast,
            )
        )
    return markdown_table(head, rows)


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}x" if np.isfinite(ratio) else "-"


def work_table(all_measured: list[Measured]) -> str:
    """What each package asks of the model: exact, the same on every machine."""
    head = [
        "model",
        "variant",
        "calls for all rows",
        "longest walk",
        "model rows per row",
        "1 row: calls",
        "1 row: model rows",
        "NICEx: calls per row",
        "NICEx: model rows per row",
        "1 row: outside the model",
        "NICEx: outside the model",
    ]
    rows = []
    for m in all_measured:
        n_singles = len(m.single.total)
        rows.append(
            (
                m.model,
                m.variant,
                m.cfs.model_calls,
                int(m.cfs.metrics()["rounds"].max()),
                short(m.cfs.model_rows / m.n_batch),
                short(m.single.calls / n_singles),
                short(m.single.rows / n_singles),
                short(m.peer.calls / n_singles),
                short(m.peer.rows / n_singles),
                m.single.shares(),
                m.peer.shares(),
            )
        )
    return markdown_table(head, rows)


def answer_table(all_measured: list[Measured]) -> str:
    """Equal answers, and reasons for the others."""
    head = [
        "model",
        "variant",
        "equal",
        "batch unlike single",
        "invalid, NICEx",
        "invalid, nicecf",
        "why others differ",
    ]
    rows = []
    for m in all_measured:
        reasons = Counter(reason for _, reason, _ in m.verdicts)
        rows.append(
            (
                m.model,
                m.variant,
                f"{m.n_equal} of {m.n_single}",
                m.n_batch_differs,
                f"{m.invalid_peer} of {m.n_single}",
                f"{m.invalid_ours} of {m.n_batch:,}",
                "; ".join(f"{count}: {reason}" for reason, count in reasons.items()) or "-",
            )
        )
    return markdown_table(head, rows)


def target_table(all_measured: list[Measured]) -> str:
    """The targets, and whether they are met."""
    rows = []
    for m in all_measured:
        at_most = m.peer_ms / m.one_call_ms
        compared = [
            (f"{m.n_batch:,} rows", m.batch_ratio, BATCH_TARGETS[m.model].get(m.variant), np.inf),
            ("1 row", m.peer_ms / m.single_ms, ONE_ROW_TARGET, at_most),
        ]
        if m.model == "forest" and m.variant != "none":
            compared.append(("1 row", m.peer_ms / m.single_ms, FOREST_ROW_TARGET, at_most))
            for how in ("confirmed", "unconfirmed"):
                limit = at_most if how == "confirmed" else np.inf
                compared.append((f"1 row, {how} twin", m.peer_ms / m.accelerated_ms(how), ACCELERATED_TARGET, limit))
            is_few = np.median(m.n_calls) <= CALLS_TARGET and np.mean(m.n_calls == 1) >= 0.5
            calls = f"{np.median(m.n_calls):g}, {np.mean(m.n_calls == 1):.0%} with 1"
            verdict = "pass" if is_few else "FAIL"
            rows.append((m.model, m.variant, "1 row: calls", f"{CALLS_TARGET:g}, half with 1", calls, verdict))
            verdict = "pass" if m.in_calls <= CALLS_TARGET else "FAIL"
            target = f"{CALLS_TARGET:g}"
            rows.append((m.model, m.variant, "1 row: x one predict_proba", target, f"{m.in_calls:.2f}", verdict))
        for what, ratio, target, limit in compared:
            if target is None:
                continue
            verdict = "pass" if ratio >= target else "FAIL"
            if limit < target:
                # Both packages ask the model about the row: with its call alone the target is missed.
                verdict = f"out of reach: the model's call alone allows {limit:.1f}x"
            rows.append((m.model, m.variant, what, f"{target:g}x", f"{ratio:,.1f}x", verdict))
    return markdown_table(["model", "variant", "what", "target", "measured", ""], rows)


def main() -> int:
    """Measure and report; 1 if a target is missed or an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with raw/adult/adult.csv.gz; default: NICECF_DATA")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the one nicecf call")
    parser.add_argument("--peer-rows", type=int, default=30, help="rows explained one by one by both packages")
    parser.add_argument("--repeats", type=int, default=5, help="how often each measurement is made")
    parser.add_argument("--seed", type=int, default=0, help="which rows are training rows and which are explained")
    parser.add_argument("--models", nargs="+", choices=list(BATCH_TARGETS), default=list(BATCH_TARGETS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--thorough", action="store_true", help="only the thorough search")
    parser.add_argument("--out", help="also write the report to this file")
    options = parser.parse_args()
    if find_spec("nice") is None:
        parser.error("NICEx is not installed. Install it without its pins: pip install --no-deps NICEx==0.2.3")

    problem = real_or_generated(options.data)
    order = np.random.default_rng(options.seed).permutation(len(problem.X))
    training, held_out = np.sort(order[: int(0.8 * len(order))]), order[int(0.8 * len(order)) :]
    rows = held_out[: options.rows]
    models = fitted_models(problem, training)
    chosen = {name: models[name] for name in options.models}
    if options.thorough:
        report = Report(options.out)
        say_thorough(report, chosen, problem, training, rows)
        report.save()
        return 0
    progress("training the autoencoder")
    is_categorical = np.isin(np.arange(problem.X.shape[1]), problem.categorical)
    error = Autoencoder.train(problem.X[training], is_categorical, seed=0)

    report = Report(options.out)
    report.say("# Speed: nicecf beside NICEx")
    report.say(
        f"{problem.name}: {len(training):,} training rows, {problem.X.shape[1]} features of which "
        f"{len(problem.categorical)} categorical. Medians of {options.repeats} repeats. "
        + machine("nicecf", "NICEx", "numpy", "scikit-learn")
    )
    all_measured = []
    for model_name in options.models:
        accuracy = np.mean(models[model_name].predict(problem.X[held_out]) == problem.y[held_out])
        progress(f"{model_name}: accuracy {accuracy:.3f}")
        for variant in options.variants:
            progress(f"measuring {model_name}, {variant}")
            all_measured.append(
                measure(
                    model_name,
                    variant,
                    models[model_name],
                    error,
                    problem,
                    training,
                    rows,
                    n_single=min(options.peer_rows, len(rows)),
                    repeats=options.repeats,
                )
            )
    report.say("## Time\n\n" + time_table(all_measured))
    report.say(
        "NICEx and 1 row: medians over the rows explained one by one, compared with each other; the call for all rows "
        "is compared with the mean of NICEx, being a mean itself. At most: the ratio if explaining a row took no "
        "longer than one call of the model for it. "
        "Outside the model: the share of time in one call for all rows that is spent outside predict_proba "
        "(and outside the error function, whose share is named)."
    )
    report.say("## One row at a time\n\n" + latency_table(all_measured))
    report.say(
        "Calls: of the model, for one explanation. Accelerated: the search asks a twin of the forest, the model "
        "itself is asked once about what is handed out; unconfirmed: it is not asked at all."
    )
    say_thorough(report, chosen, problem, training, rows)
    report.say("## Work\n\n" + work_table(all_measured))
    report.say("## Answers\n\n" + answer_table(all_measured))
    details = [
        f"- {m.model}, {m.variant}, row {row}: {reason}: {numbers}."
        for m in all_measured
        for row, reason, numbers in m.verdicts
    ]
    report.say("Each answer that differs:\n\n" + ("\n".join(details) or "none"))
    report.say("## Targets\n\n" + target_table(all_measured))
    report.save()
    assert all(m.invalid_ours == 0 for m in all_measured), "nicecf returned an invalid counterfactual"
    assert all(m.n_batch_differs == 0 for m in all_measured), "nicecf answers a batch otherwise than its rows"
    is_ours_right = not any(
        "NICECF" in reason or "UNEXPLAINED" in reason for m in all_measured for _, reason, _ in m.verdicts
    )
    return 0 if is_ours_right else 1  # a target missed on a busy machine is printed, a wrong answer is an error


if __name__ == "__main__":
    sys.exit(main())
