"""Proofs in words: that no counterfactual is better, that there is none, or how much better one could be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nicecf.results.batch import Batch
from nicecf.search.proofs import Proof
from nicecf.support.formats import localised
from nicecf.support.phrases import percent_text
from nicecf.views.words.wording import Wording

# Reasons that are proofs in themselves: the rest of a sentence would repeat them.
_SAID_BY_REASON = (
    *("infeasible", "infeasible_under"),
    *("contradicts_derived", "contradicts_itself", "contradicts_unnamed", "not_computed", "breaks_relation"),
)


def is_to_prove(batch: Batch) -> bool:
    """Whether proofs were asked for: what other searches prove by the way is not told unasked."""
    return batch.provenance.options.get("search") == "exact"


def formatted_proofs(batch: Batch, wording: Wording) -> list[str | None]:
    """What is proven of each entry, in a sentence; None where proofs were not asked for, or nothing has to change."""
    if not is_to_prove(batch):
        return [None] * len(batch)
    kinds = [None if reason is None else str(reason.kind) for reason in batch.reasons]
    changed = (batch.n_changes > 0).tolist()
    return [
        proof_sentence(proof, wording, is_changed=is_changed, reason_kind=kind)
        for proof, is_changed, kind in zip(batch.proofs, changed, kinds, strict=True)
    ]


def proof_sentence(proof: Proof, wording: Wording, *, is_changed: bool, reason_kind: str | None) -> str | None:
    """What is proven of an answer that changes something, or of a row that has none for a reason of this kind."""
    if not is_changed:
        return _of_none(proof, wording, reason_kind) if reason_kind is not None else None
    of = f"_{proof.objective}" if proof.objective else ""
    if proof.status == "optimal":
        return wording.say(f"proof.optimal{of}")
    if not _is_bounded(proof):
        return wording.say("proof.none")
    if proof.objective == "changes":
        return wording.say("proof.bound_changes", least=localised(f"{proof.bound:.0f}", wording.phrases))
    return wording.say(f"proof.bound{of}", gap=percent_at_most(proof.gap, wording.phrases))


def _of_none(proof: Proof, wording: Wording, reason_kind: str) -> str | None:
    if reason_kind in _SAID_BY_REASON:
        return None
    return wording.say("proof.infeasible" if proof.status == "infeasible" else "proof.none_without")


def _is_bounded(proof: Proof) -> bool:
    """Whether it says more than that an answer costs at least nothing."""
    return proof.status == "bound" and proof.gap < 1


def counted_proofs(batch: Batch, wording: Wording) -> str:
    """How many answers are proven to be what; nothing where proofs were not asked for."""
    if not (is_to_prove(batch) and len(batch)):
        return ""
    objective = "changes" if batch.provenance.options.get("optimize") == "sparsity" else "distance"
    proofs: list[Proof] = batch.proofs.tolist()
    n_best, n_none = (sum(one.status == status for one in proofs) for status in ("optimal", "infeasible"))
    gaps = [one.gap for one in proofs if _is_bounded(one)]
    counts = [
        (n_best, f"all_optimal_{objective}", {}),
        (len(gaps), f"all_bound_{objective}", {"gap": percent_at_most(max(gaps, default=0.0), wording.phrases)}),
        (n_none, "all_infeasible", {}),
        (len(proofs) - n_best - n_none - len(gaps), "all_none", {}),
    ]
    return wording.phrases["list.between"].join(
        _counted(phrase, count, fields, wording) for count, phrase, fields in counts if count
    )


def _counted(phrase: str, count: int, fields: Mapping[str, str], wording: Wording) -> str:
    number = localised(str(count), wording.phrases, is_grouped=True)
    return wording.say(f"proof.{phrase}{'_one' if count == 1 else ''}", count=number, **fields)


def percent_at_most(share: float, phrases: Mapping[str, str]) -> str:
    """A share that is not more than what this says: rounded up, and never to nothing.

    >>> [percent_at_most(share, Wording().phrases) for share in (0.12, 0.1201, 0.003, 0.00031, 1e-9)]
    ['12 %', '13 %', '0.3 %', '0.04 %', '0.01 %']
    """
    percent = 100 * share
    parts = 1 if percent >= 1 else 10 if percent >= 0.1 else 100
    # The difference of two floats is no reason to round up.
    return percent_text(f"{max(np.ceil(round(percent * parts, 6)), 1) / parts:g}", phrases)
