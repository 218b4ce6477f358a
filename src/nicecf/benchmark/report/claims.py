"""Claims as values: what is said, where, and a check that reads it off the findings of a run, or of the paper."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nicecf.benchmark.report.checks import Check, Seen
from nicecf.benchmark.report.findings import Findings, NotMeasuredError
from nicecf.benchmark.report.names import PAPER_METHODS, pretty
from nicecf.benchmark.report.results import model_name
from nicecf.views.documents.document import joined

Kind: TypeAlias = Literal["holds", "holds in part", "does not hold here", "cannot be said"]
# The place of a model's name for a claim that is about both of them at once.
BOTH = "ANN and RF"


@dataclass(frozen=True)
class Claim:
    """Something that the findings of a comparison confirm or not.

    ``needs``: the methods without which nothing can be said. ``against_all``: it is about every other method, too.
    """

    text: str
    where: str
    check: Check
    needs: tuple[str, ...] = ()
    models: tuple[str, ...] = ("ann", "rf")
    against_all: bool = False


@dataclass(frozen=True)
class Verdict:
    """What a claim comes to: in a word, with a remark on what it rests on, and the figures."""

    kind: Kind
    remark: str = ""
    figures: str = ""

    def __str__(self) -> str:
        """``holds (for ANN; RF was not run)``."""
        return f"{self.kind} ({self.remark})" if self.remark else self.kind


def judge(claim: Claim, findings: Findings, *, partly: Collection[str] = ()) -> Verdict:
    """Check a claim for each classifier that it is about, and say what that comes to.

    ``partly``: methods that were run, but not on everything that the findings are about.
    """
    seen: dict[str, Seen] = {}
    reasons: dict[str, str] = {}
    for model in claim.models:
        try:
            seen[model] = _checked(claim, findings, model, partly)
        except NotMeasuredError as error:
            reasons[model] = str(error)
    if not seen:
        return Verdict("cannot be said", joined(list(dict.fromkeys(reasons.values()))))
    figures = ";\n".join(f"{model_name(model)}: {one.figures}" for model, one in seen.items())
    yes = [model_name(model) for model, one in seen.items() if one.holds]
    no = [model_name(model) for model, one in seen.items() if not one.holds]
    remarks = [f"for {joined(yes or no)}; {joined(list(reasons.values()))}"] if reasons else []
    if yes and no:
        remarks = [f"{joined(yes)} yes, {joined(no)} no"]
    absent = [method for method in PAPER_METHODS if method not in findings.methods]
    if yes and claim.against_all and absent:
        remarks.append(f"among {len(findings.methods)} methods; {_not_run(absent, partly)}")
    kind: Kind = "holds in part" if yes and no else "holds" if yes else "does not hold here"
    return Verdict(kind, "; ".join(remarks), figures)


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
