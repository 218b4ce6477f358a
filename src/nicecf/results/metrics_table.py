"""The measures of all counterfactuals of a batch as one table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nicecf.results import metrics
from nicecf.results.batch import Batch, with_scores_named
from nicecf.results.reference import Reference
from nicecf.support.types import Floats


def metrics_table(
    batch: Batch,
    reference: Reference | None = None,
    *,
    model: object = None,
    other_model: object = None,
    decision: object = None,
) -> pd.DataFrame:
    """One line per entry, missing where none was found: what ``Counterfactuals.metrics`` documents."""
    rounds = np.zeros(len(batch), dtype=np.intp)
    np.maximum.at(rounds, batch.steps.row(), batch.steps.step)
    not_found = ~batch.found
    table = pd.DataFrame(
        {
            **({"counterfactual": batch.numbers} if batch.has_several else {}),
            "sparsity": pd.arrays.IntegerArray(batch.n_changes.astype(np.int64), not_found),
            "proximity": np.where(batch.found, batch.distances, np.nan),
            "plausibility": batch.errors,
            "probability": batch.probability,
            "rounds": pd.arrays.IntegerArray(rounds.astype(np.int64), not_found),
            **({} if reference is None else _measured_against(batch, reference)),
            **({} if model is None else {"valid": _holds_for(batch, model, decision) == 1.0}),
            **({} if other_model is None else {"valid_for_other": _holds_for(batch, other_model)}),
        },
        index=batch.labels,
    )
    return with_scores_named(table, batch)


def _measured_against(batch: Batch, reference: Reference) -> dict[str, Floats]:
    table, found = batch.counterfactuals, batch.found
    measured = {
        f"{norm}_{scale}": metrics.proximity(batch.table, table, reference, norm=norm, scale=scale, found=found)
        for norm in ("l1", "l2")
        for scale in ("range", "std")
    }
    measured["ae_error"] = metrics.autoencoder_error(table, reference, found=found)
    if reference.labels is not None and batch.target is None:
        before, after = batch.predicted, batch.predicted_after
        measured["im1"] = metrics.im1(table, reference, before=before, after=after, found=found)
        measured["im2"] = metrics.im2(table, reference, after=after, found=found)
    return measured | {"nn5": metrics.neighbor_distance(table, reference, found=found)}


def _holds_for(batch: Batch, model: object, decision: object = None) -> Floats:
    if batch.target is not None:
        return metrics.score_holds_for(model, batch.filled, target=batch.target, found=batch.found)
    return metrics.holds_for(
        model,
        batch.filled,  # of the rows found, in the dtypes that the model saw
        after=batch.predicted_after,
        classes=None if hasattr(model, "classes_") else batch.classes,
        decision=decision,
        found=batch.found,
    )
