"""The chapters of a report: which tables, figures and words stand in it, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from nicecf.benchmark.report import about, auc_tables, claim_tables, paper, pictures, split_tables
from nicecf.benchmark.report import comparison_tables as comparisons
from nicecf.benchmark.report import significance_tables as significance
from nicecf.benchmark.report import tables as plain
from nicecf.benchmark.report.claim_tables import Judged
from nicecf.benchmark.report.claims import BESIDE_THE_VERDICT, BY_FOUND, HOW_JUDGED, OVER_DATASETS, VERDICTS_IN_WORDS
from nicecf.benchmark.report.findings import PLAUSIBILITIES, PROXIMITIES
from nicecf.benchmark.report.names import pretty
from nicecf.benchmark.report.paper_claims import OWN_CLAIMS, PAPER_CLAIMS
from nicecf.benchmark.report.results import Comparison, Results, model_name
from nicecf.views.documents.document import Block, Document, Folded, Listing, Section, Table, Text, joined

_COMPLEXITY_DATASETS = ("adult", "clean2")


def compose(results: Results) -> Document:
    """The document: verdicts, what was run, the paper's tables with its own figures beside, and what goes beyond it."""
    judged = claim_tables.of_paper(results, PAPER_CLAIMS)
    sections = [
        Section("In short", tuple(_summary(results, judged))),
        Section("What was run", tuple(about.blocks(results))),
        Section("Data", tuple(_data(results))),
        Section("Main results", tuple(_main(results))),
        Section("Other metrics", tuple(_metrics(results))),
        Section("Rank correlations", tuple(_correlations(results))),
        Section("Trade-offs", tuple(_trade_offs(results))),
        Section("Time", tuple(_time(results))),
        Section("Ranks of what was not found", tuple(_rules(results, judged))),
        Section("Rows and datasets as observations", tuple(_tests(results, judged))),
        Section("Splits", tuple(_splits(results))),
        Section("The claims of the paper", tuple(_claims(results, judged))),
        Section("Beyond the paper", tuple(_beyond(results))),
        Section("Appendix: every dataset", tuple(_appendix(results))),
    ]
    kept = [section for section in sections if section.blocks]
    return Document("NICE and its benchmarks: the paper's experiment, run again", tuple(kept))


def _summary(results: Results, judged: Sequence[Judged]) -> list[Block]:
    splits = "" if not results.splits else f" The fast methods were run on {_counted(results.splits, 'further split')}."
    found: list[Block] = [
        Text(
            f'The experiment of {paper.AUTHORS}, "{paper.TITLE}", run again: {len(results.records):,} explanations by '
            f"{_counted(results.method_names, 'method')}, for {_counted(results.model_names, 'classifier')} on "
            f"{_counted(results.dataset_names, 'dataset')}.{splits} Beside the figures stand those that the paper "
            "prints."
        ),
        claim_tables.counts(judged),
    ]
    if points := claim_tables.failures(judged):
        found += [
            Text("Those that do not hold (what is borderline is in the table of claims):"),
            Listing(tuple(points)),
        ]
    return found


def _data(results: Results) -> list[Block]:
    tables = (
        auc_tables.auc_agreement(results),
        auc_tables.auc_exceptions(results),
        plain.data_summary(results),
        plain.autoencoders(results),
    )
    return [table for table in tables if table is not None]


def _counted(names: Sequence[object], noun: str) -> str:
    return f"{len(names)} {noun}" + ("" if len(names) == 1 else "s")


def _main(results: Results) -> list[Block]:
    found: list[Block] = [
        Text(
            "Ranks as in the paper: for each row and classifier the methods are ranked, 1 is the best; ties share the "
            "lowest rank, and a method that found nothing has the worst. Proximity is the L1 distance over ranges, "
            "plausibility the error of an autoencoder."
        )
    ]
    for comparison in _of_paper(results):
        found += [Text(_introduced(comparison, results)), *_of_models(comparison, results, is_main=True)]
    if (table := comparisons.geco_of_one_class(results)) is not None:
        found.append(table)
    return found


def _of_paper(results: Results) -> list[Comparison]:
    """The paper's methods, everywhere and on the part with the most of them."""
    return [one for one in _comparisons(results) if one in (results.of_paper, results.of_more_of_paper)]


def _beyond_paper(results: Results) -> list[Comparison]:
    return [one for one in _comparisons(results) if one not in (results.of_paper, results.of_more_of_paper)]


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
    for comparison in _of_paper(results):
        found += [Text(_introduced(comparison, results)), *_of_models(comparison, results, is_main=False)]
    return found + [plain.plain_means(results, model) for model in results.of_all.findings.models]


def _correlations(results: Results) -> list[Block]:
    if not results.of_paper.findings.models:
        return [Text("No two methods of the paper were given the same rows.")]
    has_both = any("im2_code" in one.ranks for one in results.of_paper.findings.models.values())
    proximity, plausibility = ("sparsity", *PROXIMITIES), (*PLAUSIBILITIES, *(("im2",) if has_both else ()))
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
    for comparison in _of_paper(results):
        found += [Text(_introduced(comparison, results)), *pictures.trade_offs(comparison)]
    if results.of_paper.findings.models:
        found += [Text(_BARS), *pictures.critical_differences(results.of_paper)]
    return found


_BARS = "Methods joined by a bar do not differ significantly (over rows):"
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


def _rules(results: Results, judged: Sequence[Judged]) -> list[Block]:
    models = results.of_paper.findings.models
    if not models:
        return []
    found: list[Block] = [
        Text(
            "The paper says that a method without a counterfactual has the worst rank: the last place, which is the "
            "number of methods, in all other tables here. The authors' code gives all such methods of a row the rank "
            f"after those that found something. {claim_tables.flips(judged, BY_FOUND)}"
        )
    ]
    tables = tuple(significance.ranking_rules(results.of_paper, model) for model in models)
    return [*found, Folded("Average ranks by both rules", tables)]


def _tests(results: Results, judged: Sequence[Judged]) -> list[Block]:
    models = results.of_paper.findings.models
    if not models:
        return []
    found: list[Block] = [
        Text(
            "The paper tests over all rows. Rows of one dataset share a model and training rows and are not "
            "independent, so that its critical difference is too small; over the datasets it is not. "
            f"{claim_tables.survivors(judged)} {claim_tables.flips(judged, OVER_DATASETS)}"
        )
    ]
    found += [significance.friedman_tests(results.of_paper, model) for model in models]
    details = [
        make(results.of_paper, model) for model in models for make in (significance.dataset_ranks, significance.pairs)
    ]
    return [*found, Folded("Average ranks over datasets, and every pair", tuple(details))]


def _splits(results: Results) -> list[Block]:
    if not results.splits:
        return []
    groups = {
        "paper": results.in_all_splits(results.of_paper.methods),
        "all": results.in_all_splits(results.everywhere),
    }
    if groups["all"] == groups["paper"]:
        del groups["all"]
    shown: list[Table] = []
    folded: list[Table] = []
    for name, methods in groups.items():
        for model in results.model_names:
            if (tables := split_tables.rank_tables(results, name, methods, model)) is not None:
                # Of the methods beyond the paper the main figures are enough.
                (shown if name == "paper" else folded).append(tables[0])
                folded += tables[1:] if name == "paper" else ()
    if not shown and not folded:
        return [Text("No two methods are in all splits.")]
    text = (
        "The same datasets with other seeds: other training and test rows, other models. The slow methods are in the "
        "main split alone, so ranks are among those that are in all of them. The range, not a confidence interval: of "
        "so few splits the latter would say little."
    )
    return [Text(text), *shown, Folded("Other metrics, and all methods", tuple(folded))]


def _claims(results: Results, judged: Sequence[Judged]) -> list[Block]:
    title = "What the paper says, and what is seen here"
    note = f"Here: {_observations(results.of_paper)}"
    return [
        Text(
            "Each claim is checked by the same function on the figures that the paper prints and on those of this run. "
            "Significant means further apart than the critical difference (CD) of the comparison; it is large where "
            "few rows were run, and a claim of significance can fail by that alone."
        ),
        Text(VERDICTS_IN_WORDS),
        Listing(HOW_JUDGED),
        *map(Text, BESIDE_THE_VERDICT),
        claim_tables.verdict_table("claims", title, judged, is_printed=True, note=note),
        Folded("How each verdict was reached", (claim_tables.look_table("claim_looks", judged),)),
        Text("Where the paper contradicts itself, and what that means here:"),
        Listing(paper.CONTRADICTIONS),
    ]


def _beyond(results: Results) -> list[Block]:
    judged = claim_tables.judged(OWN_CLAIMS, claim_tables.evidence_of(results, results.of_all))
    title = "What is said of the searches beyond the paper, and what is seen here"
    found: list[Block] = [
        claim_tables.verdict_table(
            "own_claims", title, judged, is_printed=False, note=f"Here: {_observations(results.of_all)}"
        ),
        Folded("How each verdict was reached", (claim_tables.look_table("own_claim_looks", judged),)),
    ]
    for comparison in _beyond_paper(results):
        found += [Text(_introduced(comparison, results)), *_of_models(comparison, results, is_main=True)]
        details = tuple(_of_models(comparison, results, is_main=False))
        if comparison is results.of_all:
            details += tuple(significance.friedman_tests(comparison, model) for model in comparison.findings.models)
        found.append(Folded("Other metrics of these", details))
        if comparison is results.of_all:
            found += [*pictures.trade_offs(comparison), Text(_BARS), *pictures.critical_differences(comparison)]
    for model in results.of_all.findings.models:
        if (table := comparisons.head_to_heads(results, model)) is not None:
            found.append(table)
    return found


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
