"""Claims and their verdicts as tables: how many hold, each with its cause, and how each verdict was reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from nicecf.benchmark.report import paper
from nicecf.benchmark.report.causes import cause_of
from nicecf.benchmark.report.claims import (
    BY_CODE,
    BY_FOUND,
    OVER_DATASETS,
    OVER_ROWS,
    Claim,
    Evidence,
    Kind,
    Verdict,
    judge,
)
from nicecf.benchmark.report.names import pretty
from nicecf.benchmark.report.results import Comparison, Results, model_name
from nicecf.views.documents.document import NOTHING, Cell, Row, Table, joined, line, number, words

MODELS = ("ann", "rf")
_BROKEN: tuple[Kind, ...] = ("borderline", "does not hold")


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with what it comes to for each classifier; without one that it is not about."""

    claim: Claim
    verdicts: Mapping[str, Verdict]

    def why(self, model: str) -> str:
        """The remark and the cause of a verdict; empty where there is nothing to explain."""
        verdict = self.verdicts[model]
        cause = cause_of(self.claim, model, verdict)
        return "; ".join(filter(None, [verdict.remark, cause.removesuffix(".")]))


def evidence_of(results: Results, comparison: Comparison) -> Evidence:
    """All that the run and its other splits say about the methods of a comparison."""
    part = f"over the part with {joined([pretty(one) for one in comparison.extra])}" if comparison.extra else ""
    shared = () if part else results.in_all_splits(comparison.methods)
    if len(shared) < 2:
        return Evidence(
            comparison.findings, comparison.by_found, partly=results.partly, part=part, by_code=comparison.by_code
        )
    splits = {f"in {split.seed}": split.compare(shared) for split in results.splits}
    return Evidence(
        comparison.findings,
        comparison.by_found,
        results.compare(shared),
        splits,
        results.partly,
        part,
        comparison.by_code,
    )


def judged(claims: Sequence[Claim], evidence: Evidence, otherwise: Evidence | None = None) -> list[Judged]:
    """Each claim for each classifier; what cannot be said by the evidence, by the other evidence."""
    found = []
    for claim in claims:
        verdicts = {}
        for model in MODELS:
            if (of := claim.model_for(model)) is None:
                continue
            verdict = judge(claim, evidence, of)
            if verdict.kind == "not run" and otherwise is not None:
                second = judge(claim, otherwise, of)
                verdict = verdict if second.kind == "not run" else second
            verdicts[model] = verdict
        found.append(Judged(claim, verdicts))
    return found


def of_paper(results: Results, claims: Sequence[Claim]) -> list[Judged]:
    """The claims of the paper, by its methods."""
    more = results.of_more_of_paper
    otherwise = None if more is None else evidence_of(results, more)
    return judged(claims, evidence_of(results, results.of_paper), otherwise)


def counts(all_judged: Sequence[Judged]) -> Table:
    """How many claims hold for each classifier."""
    kinds = {
        model: Counter(one.verdicts[model].kind for one in all_judged if model in one.verdicts) for model in MODELS
    }
    rows = [
        line(kind[0].upper() + kind[1:], [number(float(kinds[model][kind]), 0) for model in MODELS])
        for kind in get_args(Kind)
    ]
    rows.append(line("Claims", [number(float(kinds[model].total()), 0) for model in MODELS]))
    title = f"Verdicts on the {len(all_judged)} claims of the paper"
    note = "A claim that is about both classifiers at once counts for each; some are about one alone."
    return Table("verdicts", title, ("", *(model_name(model) for model in MODELS)), tuple(rows), note)


def failures(all_judged: Sequence[Judged]) -> list[str]:
    """The claims that do not hold, in a line each, with the cause."""
    points = []
    for place, one in enumerate(all_judged, start=1):
        failed = [model for model, verdict in one.verdicts.items() if verdict.kind == "does not hold"]
        if failed:
            points.append(f"{place}. {one.claim.text} ({_by_model({model: one.why(model) for model in failed})}).")
    return points


def verdict_table(name: str, title: str, all_judged: Sequence[Judged], *, is_printed: bool, note: str = "") -> Table:
    """A line for each claim: a word for each classifier, why, and the figures."""
    rows = []
    for place, one in enumerate(all_judged, start=1):
        printed = [one.claim.where, by_printed_tables(one.claim)] if is_printed else []
        first = words(place, one.claim.text, *printed)
        said = [_word(one.verdicts.get(model)) for model in MODELS]
        rows.append(Row((*first.cells, *said, Cell(_whys(one)), Cell(_figures(one)))))
    head = ["#", "Claim", *(["Where", "By the paper's tables"] if is_printed else [])]
    head += [*(model_name(model) for model in MODELS), "Why", "What is seen"]
    return Table(name, title, tuple(head), tuple(rows), note, is_text=True)


def _word(verdict: Verdict | None) -> Cell:
    """Bold where the eye should stop."""
    return Cell(NOTHING) if verdict is None else Cell(verdict.kind, is_bold=verdict.kind in _BROKEN)


def _whys(one: Judged) -> str:
    return _by_model({model: one.why(model) for model in one.verdicts})


def _figures(one: Judged) -> str:
    return _by_model({model: verdict.figures for model, verdict in one.verdicts.items()})


def _by_model(said: Mapping[str, str]) -> str:
    """A line for each classifier that there is something to say of; what is said of all is said once."""
    told = {model: text for model, text in said.items() if text}
    if len(told) > 1 and len(set(told.values())) == 1:
        return f"{joined([model_name(model) for model in told])}: {next(iter(told.values()))}"
    return ";\n".join(f"{model_name(model)}: {text}" for model, text in told.items())


def by_printed_tables(claim: Claim) -> str:
    """Whether a claim follows from the figures that the paper prints: "yes", "no", "ANN yes, RF no", "not printed"."""
    verdicts = {model: judge(claim, Evidence(paper.FINDINGS), model).kind for model in claim.models}
    said = {"holds": "yes", "does not hold": "no"}
    answers = {model_name(model): said.get(kind, "not printed") for model, kind in verdicts.items()}
    if len(set(answers.values())) == 1:
        return next(iter(answers.values()))
    return ", ".join(f"{model} {answer}" for model, answer in answers.items())


def look_table(name: str, all_judged: Sequence[Judged]) -> Table:
    """How each verdict was reached: what each way of looking says."""
    verdicts = [
        (place, model, verdict)
        for place, one in enumerate(all_judged, start=1)
        for model, verdict in one.verdicts.items()
    ]
    there = dict.fromkeys(look for _, _, verdict in verdicts for look in verdict.looks)
    first = [look for look in (OVER_ROWS, BY_FOUND, OVER_DATASETS, BY_CODE) if look in there]
    looks = [*first, *(look for look in there if look not in first)]
    said = {True: "yes", False: "no", None: NOTHING}
    rows = [
        words(place, model_name(model), *(said[verdict.looks.get(look)] for look in looks), verdict.kind)
        for place, model, verdict in verdicts
    ]
    head = ("#", "Classifier", *(look[0].upper() + look[1:] for look in looks), "Verdict")
    return Table(name, "How each verdict was reached", head, tuple(rows), is_text=True)


def flips(all_judged: Sequence[Judged], look: str) -> str:
    """Which claims another way of looking would change, in a sentence."""
    changed = [
        f"{place} ({joined(models)})"
        for place, one in enumerate(all_judged, start=1)
        if (models := [model_name(model) for model, verdict in one.verdicts.items() if _changes(verdict, look)])
    ]
    return f"Claims that this would change: {joined(changed)}." if changed else "No claim would change by this."


def _changes(verdict: Verdict, look: str) -> bool:
    return look in verdict.looks and verdict.looks[look] != verdict.looks[OVER_ROWS]


def survivors(all_judged: Sequence[Judged]) -> str:
    """How many claims of significance hold over rows, and how many of these over datasets, too."""
    parts = []
    for model in MODELS:
        looks = [one.verdicts[model].looks for one in all_judged if model in one.verdicts]
        those = [look for look in looks if OVER_DATASETS in look and look[OVER_ROWS]]
        n_over_datasets = sum(one[OVER_DATASETS] for one in those)
        parts.append(f"{len(those)} hold over rows and {n_over_datasets} of these over datasets ({model_name(model)})")
    return f"Of the claims of significance, {joined(parts)}."
