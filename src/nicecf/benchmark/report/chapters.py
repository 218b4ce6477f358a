"""The chapters of a report: which tables, figures and words stand in it, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nicecf.benchmark.report import about, paper, pictures
from nicecf.benchmark.report import comparison_tables as comparisons
from nicecf.benchmark.report import tables as plain
from nicecf.benchmark.report.claims import Claim, Kind, Verdict, judge
from nicecf.benchmark.report.findings import PLAUSIBILITIES, PROXIMITIES
from nicecf.benchmark.report.names import pretty
from nicecf.benchmark.report.paper_claims import OWN_CLAIMS, PAPER_CLAIMS
from nicecf.benchmark.report.results import Comparison, Results, model_name
from nicecf.views.documents.document import (
    Block,
    Cell,
    Document,
    Folded,
    Listing,
    Row,
    Section,
    Table,
    Text,
    joined,
    words,
)

_PLURALS: dict[Kind, str] = {
    "holds": "hold here",
    "holds in part": "hold in part",
    "does not hold here": "do not hold here",
    "cannot be said": "cannot be judged",
}
_IN_THE_PAPER: dict[Kind, str] = {
    "holds": "yes",
    "holds in part": "in part",
    "does not hold here": "no",
    "cannot be said": "not printed",
}
_BROKEN: tuple[Kind, ...] = ("holds in part", "does not hold here")
_COMPLEXITY_DATASETS = ("adult", "clean2")


def compose(results: Results) -> Document:
    """The document: what was run, the paper's tables with its own figures beside, figures, claims, every dataset."""
    sections = [
        Section("In short", tuple(_summary(results))),
        Section("What was run", tuple(about.blocks(results))),
        Section("Data", (plain.data_summary(results),)),
        Section("Main results", tuple(_main(results))),
        Section("Other metrics", tuple(_metrics(results))),
        Section("Rank correlations", tuple(_correlations(results))),
        Section("Trade-offs", tuple(_trade_offs(results))),
        Section("Time", tuple(_time(results))),
        Section("The claims of the paper", tuple(_claims(results))),
        Section("Beyond the paper", tuple(_beyond(results))),
        Section("Appendix: every dataset", tuple(_appendix(results))),
    ]
    return Document("NICE and its benchmarks: the paper's experiment, run again", tuple(sections))


def _summary(results: Results) -> list[Block]:
    verdicts = [judge(claim, results.of_paper.findings, partly=results.partly) for claim in PAPER_CLAIMS]
    counts = Counter(verdict.kind for verdict in verdicts)
    said = joined([f"{counts[kind]} {plural}" for kind, plural in _PLURALS.items() if counts[kind]])
    found: list[Block] = [
        Text(
            f'The experiment of {paper.AUTHORS}, "{paper.TITLE}", run again: {len(results.records):,} explanations by '
            f"{_counted(results.method_names, 'method')}, for {_counted(results.model_names, 'classifier')} on "
            f"{_counted(results.dataset_names, 'dataset')}. Beside the figures stand those that the paper prints."
        ),
        Text(f"Of {len(PAPER_CLAIMS)} claims of the paper, {said}."),
    ]
    broken = [
        f"{claim.text}: {verdict}."
        for claim, verdict in zip(PAPER_CLAIMS, verdicts, strict=True)
        if verdict.kind in _BROKEN
    ]
    if broken:
        found += [Text("Those that do not hold, or hold in part:"), Listing(tuple(broken))]
    return found


def _counted(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}" + ("" if len(names) == 1 else "s")


def _main(results: Results) -> list[Block]:
    found: list[Block] = [
        Text(
            "Ranks as in the paper: for each row and classifier the methods are ranked, 1 is the best; ties share the "
            "lowest rank, and a method that found nothing has the worst. Proximity is the L1 distance over ranges, "
            "plausibility the error of an autoencoder."
        )
    ]
    for comparison in _comparisons(results):
        found += [Text(_introduced(comparison, results)), *_of_models(comparison, results, is_main=True)]
    return found


def _comparisons(results: Results) -> list[Comparison]:
    """The paper's methods; all methods; those that were run on a part. None twice, and none without a common row."""
    candidates = (results.of_paper, results.of_all, results.of_more_of_paper, *results.of_some)
    found: dict[tuple[str, ...], Comparison] = {}
    for one in candidates:
        if one is not None and one.findings.models:
            found.setdefault(one.methods, one)
    return list(found.values())


def _introduced(comparison: Comparison, results: Results) -> str:
    if comparison is results.of_paper:
        return "The methods of the paper, ranked among themselves:"
    if comparison is results.of_all:
        beyond = [pretty(method) for method in comparison.methods if method not in results.of_paper.methods]
        return f"All methods that were run everywhere, with {joined(beyond)}, which the paper does not have:"
    extra = joined([pretty(method) for method in comparison.extra])
    if comparison is results.of_more_of_paper:
        return (
            f"The methods of the paper with {extra}, over the part of the experiment that has results of all of them:"
        )
    return f"With {extra}, over the part of the experiment that has results of all of these methods:"


def _of_models(comparison: Comparison, results: Results, *, is_main: bool) -> list[Table]:
    found = []
    for model in comparison.findings.models:
        beside_paper = comparison in (results.of_paper, results.of_more_of_paper)
        if is_main:
            alone = results.is_timed_alone
            found.append(comparisons.main_results(comparison, model, is_timed_alone=alone, beside_paper=beside_paper))
        else:
            found.append(comparisons.alternative_metrics(comparison, model, beside_paper=beside_paper))
    return found


def _metrics(results: Results) -> list[Block]:
    found: list[Block] = []
    for comparison in _comparisons(results):
        found += [Text(_introduced(comparison, results)), *_of_models(comparison, results, is_main=False)]
    return found + [plain.plain_means(results, model) for model in results.of_all.findings.models]


def _correlations(results: Results) -> list[Block]:
    if not results.of_paper.findings.models:
        return [Text("No two methods of the paper were given the same rows.")]
    proximity, plausibility = ("sparsity", *PROXIMITIES), PLAUSIBILITIES
    return [
        comparisons.correlations(
            results, proximity, "correlations_proximity", "Ranks by sparsity and proximity metrics"
        ),
        comparisons.correlations(results, plausibility, "correlations_plausibility", "Ranks by plausibility metrics"),
    ]


def _trade_offs(results: Results) -> list[Block]:
    found: list[Block] = [
        Text(
            "Average ranks by two properties, lower is better by both. The line joins the methods that no other "
            "dominates: the efficient frontier."
        )
    ]
    for comparison in _drawn(results):
        found += [Text(_introduced(comparison, results)), *pictures.trade_offs(comparison)]
    if results.of_all.findings.models:
        found.append(Text("Methods joined by a bar do not differ significantly:"))
        found += pictures.critical_differences(results.of_all)
    return found


def _drawn(results: Results) -> list[Comparison]:
    """Pictures of a part of the run are worth their room only where it has more of the paper's methods."""
    return [one for one in _comparisons(results) if one not in results.of_some]


_GROWTH = (
    "How long a row takes, explained alone, as the table grows. clean2 grows by features, with models trained anew; "
    "adult and covertype by training rows, with models that stay the same (trained on 10,000 rows), so that what grows "
    "is NICE alone. Forests of 100 trees of depth 10, networks of 0.75 neurons per input."
)


def _time(results: Results) -> list[Block]:
    found: list[Block] = [plain.costs(results, model) for model in results.model_names]
    for dataset in _COMPLEXITY_DATASETS:
        if any((dataset, model) in results.of_paper.findings.ms_of for model in results.model_names):
            found.append(plain.complexity(results, dataset))
    if results.growth is not None and len(results.growth):
        frame = results.growth
        found.append(Text(_GROWTH))
        keys = sorted(set(zip(frame["table"], frame["model"], strict=True)))
        found += [plain.growth(frame, table, model) for table, model in keys]
        found += pictures.growths(frame)
    return found


def _claims(results: Results) -> list[Block]:
    compared = [one for one in (results.of_paper, results.of_more_of_paper) if one is not None]
    found: list[Block] = [
        Text(
            "Each claim is checked by the same function on the figures that the paper prints and on those of this run. "
            "Significant means further apart than the critical difference (CD) of the comparison; it is large where "
            "few rows were run, and a claim of significance can fail by that alone."
        ),
        _verdicts("claims", "What the paper says, and what is seen here", PAPER_CLAIMS, results, compared),
        Text("Where the paper contradicts itself, and what that means here:"),
        Listing(paper.CONTRADICTIONS),
    ]
    return found


def _beyond(results: Results) -> list[Block]:
    title = "What is said of the searches beyond the paper, and what is seen here"
    found: list[Block] = [_verdicts("own_claims", title, OWN_CLAIMS, results, [results.of_all], is_printed=False)]
    for model in results.of_all.findings.models:
        if (table := comparisons.head_to_heads(results, model)) is not None:
            found.append(table)
    return found


def _verdicts(
    name: str,
    title: str,
    claims: Sequence[Claim],
    results: Results,
    compared: Sequence[Comparison],
    *,
    is_printed: bool = True,
) -> Table:
    """A line for each claim, with a verdict for each of the comparisons; the figures are of the first that has any."""
    rows = []
    for place, claim in enumerate(claims, start=1):
        verdicts = [judge(claim, one.findings, partly=results.partly) for one in compared]
        printed = [claim.where, _printed(judge(claim, paper.FINDINGS))] if is_printed else []
        seen = next((verdict.figures for verdict in verdicts if verdict.figures), "")
        first, last = words(place, claim.text, *printed), words(seen)
        rows.append(Row((*first.cells, *map(_verdict_cell, verdicts), *last.cells)))
    heads = [f"With {joined([pretty(one) for one in other.extra])}" for other in compared[1:]]
    head = ["#", "Claim", *(["Where", "By the paper's tables"] if is_printed else []), "Here", *heads, "What is seen"]
    note = " ".join(f"{what}: {_observations(one)}" for what, one in zip(["Here", *heads], compared, strict=True))
    return Table(name, title, tuple(head), tuple(rows), note, is_text=True)


def _verdict_cell(verdict: Verdict) -> Cell:
    """Bold where the eye should stop."""
    return Cell(str(verdict), is_bold=verdict.kind in _BROKEN)


def _printed(verdict: Verdict) -> str:
    word = _IN_THE_PAPER[verdict.kind]
    return f"{word} ({verdict.remark})" if verdict.kind == "holds in part" else word


def _observations(comparison: Comparison) -> str:
    sizes = [
        f"{one.n_observations:,} rows of {one.n_datasets} datasets ({model_name(model)})"
        for model, one in comparison.findings.models.items()
    ]
    return f"{len(comparison.methods)} methods, {joined(sizes)}." if sizes else "Nothing to compare."


def _appendix(results: Results) -> list[Block]:
    return [
        Folded(f"{model_name(model)} classifier, dataset by dataset", tuple(plain.per_dataset(results, model)))
        for model in results.model_names
    ]
