"""Claims as values: what is said, where, and a check; and what it comes to for a classifier, by all the evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nicecf.benchmark.report.checks import Check, Seen
from nicecf.benchmark.report.findings import Findings, NotMeasuredError
from nicecf.benchmark.report.names import PAPER_METHODS, pretty
from nicecf.views.documents.document import joined

Kind: TypeAlias = Literal["holds", "borderline", "does not hold", "not run"]
# The place of a model's name for a claim that is about both of them at once.
BOTH = "ANN and RF"

OVER_ROWS, BY_FOUND, OVER_DATASETS = "over all rows", "by found plus one", "over dataset means"
AMONG_SHARED = "in this split, among the methods of all splits"
BY_CODE = "with the target of the paper's GeCo"
# Ways of looking that are told beside a verdict, and do not change it.
_BESIDE = (OVER_DATASETS, BY_CODE)
# What the words mean, for the reader of a report. `judge` is this in code.
HOW_JUDGED: tuple[str, ...] = (
    f"{OVER_ROWS}: as in the paper, ranks of all rows, the last place for what was not found, and the critical "
    "difference of that many rows.",
    f"{BY_FOUND}: the same, but what was not found has the rank after those that were found.",
    f"in every split: in the others with other training and test rows, and {AMONG_SHARED}, which are those that take "
    "minutes. For a claim about all methods the main split among these does not count, and where it would change the "
    "verdict the others do not, either: then the methods that are missing decide.",
)
BESIDE_THE_VERDICT: tuple[str, ...] = (
    f"For claims of significance it is said beside the verdict what comes of them {OVER_DATASETS}: each dataset is one "
    "observation, with the critical difference of that many datasets. Rows of one dataset are not independent of each "
    "other, so this is the stricter test; the paper's claims are made over rows.",
    f"For claims that do not hold over all rows, it is also said what comes of them {BY_CODE}, which in the authors' "
    "code is always class 1: rows that have it already count as not found. Where they hold then, this is the cause.",
)
VERDICTS_IN_WORDS = (
    "A claim holds for a classifier if it does in each of these ways, does not hold if it does in none, and is "
    "borderline if it does in some, or if a time limit leaves it open:"
)


@dataclass(frozen=True)
class Claim:
    """Something that the findings of a comparison confirm or not.

    ``needs``: the methods without which nothing can be said. ``against_all``: it is about every other method, too.
    ``is_of_significance``: it says that methods differ significantly, or that they do not.
    """

    text: str
    where: str
    check: Check
    needs: tuple[str, ...] = ()
    models: tuple[str, ...] = ("ann", "rf")
    against_all: bool = False
    is_of_significance: bool = False

    @property
    def is_about_all(self) -> bool:
        """Whether methods that are not there could change it."""
        return self.against_all or not self.needs

    def model_for(self, model: str) -> str | None:
        """What to check the claim for where one asks for a classifier; None where it is not about that one."""
        if BOTH in self.models:
            return BOTH
        return model if model in self.models else None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What claims are judged by: ``findings`` first of all; without the others, by these alone.

    ``by_found``: where what is not found has the rank after those found. ``by_code``: where GeCo has found what it
    would with the target of the authors' code. ``splits``: other splits by name, and
    ``of_shared``, the main one, among the methods that are in all of them. ``partly``: methods that were run, but not
    on everything that the findings are about. ``part``: what the findings are about, if that is not the whole run.
    """

    findings: Findings
    by_found: Findings | None = None
    of_shared: Findings | None = None
    splits: Mapping[str, Findings] = field(default_factory=dict)
    partly: Collection[str] = ()
    part: str = ""
    by_code: Findings | None = None


@dataclass(frozen=True)
class Verdict:
    """What a claim comes to for a classifier: in a word, why, the figures, and what each way of looking says."""

    kind: Kind
    remark: str = ""
    figures: str = ""
    looks: Mapping[str, bool] = field(default_factory=dict)

    def __str__(self) -> str:
        """``not run (GeCo (of the paper) was not run)``."""
        return f"{self.kind} ({self.remark})" if self.remark else self.kind


def judge(claim: Claim, evidence: Evidence, model: str) -> Verdict:
    """What the claim comes to for a classifier (or for `BOTH`); see `HOW_JUDGED`."""
    try:
        seen = _checked(claim, evidence.findings, model, evidence.partly)
    except NotMeasuredError as error:
        return Verdict("not run", str(error))
    looks = {OVER_ROWS: seen.holds} | _other_looks(claim, evidence, model, seen.holds)
    remarks = []
    against = [name for name, holds in looks.items() if holds != seen.holds and name not in _BESIDE]
    if against:
        remarks.append(f"{_said(seen.holds)} {OVER_ROWS}, {_said(not seen.holds)} {joined(against)}")
    if seen.doubt:
        remarks.append(seen.doubt)
    kind: Kind = "borderline" if remarks else _said(seen.holds)
    if looks.get(OVER_DATASETS, seen.holds) != seen.holds:
        remarks.append(f"{_said(not seen.holds)} {OVER_DATASETS}")
    absent = [method for method in PAPER_METHODS if method not in evidence.findings.methods]
    if kind == "holds" and claim.against_all and absent:
        remarks.append(f"among {len(evidence.findings.methods)} methods; {_not_run(absent, evidence.partly)}")
    if evidence.part:
        remarks.append(evidence.part)
    return Verdict(kind, "; ".join(remarks), seen.figures, looks)


def _said(holds: bool) -> Literal["holds", "does not hold"]:
    return "holds" if holds else "does not hold"


def _other_looks(claim: Claim, evidence: Evidence, model: str, holds: bool) -> dict[str, bool]:
    others: dict[str, Findings] = {}
    if evidence.by_found is not None:
        others[BY_FOUND] = evidence.by_found
        if claim.is_of_significance:
            others[OVER_DATASETS] = evidence.findings.over_datasets()
    if evidence.by_code is not None and not holds:
        others[BY_CODE] = evidence.by_code
    found = _looked(claim, others, model)
    if evidence.of_shared is None or not set(claim.needs) <= set(evidence.of_shared.methods):
        return found
    here = _looked(claim, {AMONG_SHARED: evidence.of_shared}, model)
    if claim.is_about_all:
        # Among fewer methods a claim can hold that the missing ones break: the other splits know nothing of these.
        return found | (_looked(claim, evidence.splits, model) if set(here.values()) == {holds} else {})
    return found | here | _looked(claim, evidence.splits, model)


def _looked(claim: Claim, others: Mapping[str, Findings], model: str) -> dict[str, bool]:
    found = {}
    for name, findings in others.items():
        try:
            found[name] = _checked(claim, findings, model, ()).holds
        except NotMeasuredError:
            continue
    return found


def _checked(claim: Claim, findings: Findings, model: str, partly: Collection[str]) -> Seen:
    if absent := [method for method in claim.needs if method not in findings.methods]:
        raise NotMeasuredError(_not_run(absent, partly))
    for one in ("ann", "rf") if model == BOTH else (model,):
        findings.model(one)
    return claim.check(findings, model)


def _not_run(methods: Sequence[str], partly: Collection[str]) -> str:
    names = joined([pretty(method) for method in methods])
    where = " everywhere" if any(method in partly for method in methods) else ""
    return f"{names} {'was' if len(methods) == 1 else 'were'} not run{where}"
