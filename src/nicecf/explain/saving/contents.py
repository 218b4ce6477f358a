"""What a file holds, put back together: everything that was learned, except for the models.

Nothing is taken on trust: what `put_together` makes is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nicecf.exceptions import ModelError, OptionError, listed
from nicecf.explain.fitted import Fitted, Plausibility, refusal
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.arrays import (
    Reader,
    autoencoder_from_members,
    canaries_from_members,
    leaf_starts_from_members,
    n_rows_of,
    positions_from_members,
    privacy_from_members,
)
from nicecf.explain.saving.checks import (
    check_autoencoder,
    check_canaries,
    check_cells,
    check_distance,
    check_free_text,
    check_histograms,
    check_index,
    check_kinds,
    check_ordinal,
    check_outputs,
    check_privacy,
    check_rows,
    check_scores,
    check_weights,
    floats,
    whole,
    wholes,
)
from nicecf.explain.saving.columns import table_from_arrow
from nicecf.explain.saving.large import index_from_mapped, mapped_rows
from nicecf.explain.saving.models import check_measured, models_of
from nicecf.explain.saving.moving import (
    moving_from_members,
)
from nicecf.explain.saving.seen import check_seen
from nicecf.explain.training import Canaries, ModelOptions, sample_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.privacy import Privacy
from nicecf.rules.reading import rules_of
from nicecf.search.autoencoder import Autoencoder
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.neighbors import DonorIndex
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Floats, Ints
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything that was learned, except for the models; ``rows`` are the training rows with all columns.

    ``is_mapped``: they are in the file, of which some only are looked at.
    """

    schema: Schema
    statistics: TableStatistics
    rows: Floats
    positions: Ints
    index: DonorIndex
    outputs: Floats
    canaries: Canaries
    n_decided: Ints
    privacy: Privacy
    autoencoder: Autoencoder | None
    cells: Ints | None
    label_scores: Floats | None
    is_mapped: bool = False

    def some(self, rows: Floats) -> Floats:
        """The rows that are checked: all, or of those that are mapped a sample."""
        return rows[sample_of(len(rows))] if self.is_mapped else rows


def put_together(
    manifest: Mapping[str, Any],
    members: Mapping[str, Any],
    table: tuple[Schema, TableStatistics],
    constraints: Constraints | None,
) -> Contents:
    """The contents of a file, with the columns of its ``table`` that move under the ``constraints``."""
    read = Reader(members)
    (whole_schema, statistics), (n_donors, n_others) = table, n_rows_of(manifest["index"])
    mapped = mapped_rows(members, n_donors + n_others, len(whole_schema.columns), read)
    rows = table_from_arrow(members["training.arrow"], whole_schema, n_donors + n_others) if mapped is None else mapped
    positions = positions_from_members(manifest["index"], read)
    # Files of before columns could follow from others do not say so.
    schema, values = moving_from_members(manifest.get("moving"), whole_schema, rows, positions, constraints, read)
    n_features, n_classes, width = len(schema.columns), len(manifest["models"]["classes"]), sum(_widths(manifest))
    weights = None if manifest["weights"] is None else floats(manifest["weights"], "weights", n_features)
    distance = Heom(floats(manifest["scales"], "scales", n_features), weights)
    of_network = manifest["autoencoder"]
    starts = leaf_starts_from_members(manifest["index"], positions, read)
    parts = Contents(
        schema,
        statistics,
        rows,
        positions,
        DonorIndex.cut(values, positions, starts, distance)
        if mapped is None
        else index_from_mapped(members, values, positions, starts, distance, read),
        read("outputs", np.float64, [n_donors, width]),
        canaries_from_members(n_features, width, read),
        np.array(wholes(manifest["n_decided"], "n_decided"), dtype=np.intp),
        privacy_from_members(manifest["privacy"], n_features, read),
        None if of_network is None else autoencoder_from_members(of_network, schema.by_equality, read),
        _cells(manifest, read),
        _label_scores(manifest, read),
        is_mapped=mapped is not None,
    )
    if parts.n_decided.shape != (n_classes,) or len(parts.index.leaves) not in (n_classes, 2 * n_classes):
        raise Damaged("its donors do not match its classes")
    if read.names != set(members):
        raise Damaged(f"its manifest does not mention {listed(sorted(set(members) - read.names))}")
    return parts


def _cells(manifest: Mapping[str, Any], read: Reader) -> Ints | None:
    """Which values the model could not tell apart; files of before do not say."""
    if manifest.get("n_cells") is None:
        return None
    return read("cells", np.int64, [whole(manifest["n_cells"], "n_cells")]).astype(np.intp)


def _label_scores(manifest: Mapping[str, Any], read: Reader) -> Floats | None:
    """The labels of a regressor's training rows; files of before have none."""
    if not manifest.get("has_label_scores"):
        return None
    labels = read("label_scores", np.float64, [sum(wholes(manifest["n_decided"], "n_decided"))])
    if not (manifest["models"].get("are_scores") and np.isfinite(labels).all()):
        raise Damaged("its labels are not those of a regressor")
    return labels


def _widths(manifest: Mapping[str, Any]) -> list[int]:
    """The number of output columns of each model."""
    return [len(manifest["models"]["classes"]) + rule["by_predict"] for rule in manifest["models"]["rules"]]


def check_contents(nice: Any, parts: Contents, manifest: Mapping[str, Any]) -> None:
    """Damaged unless a ``fit`` with these options can have learned the parts."""
    schema, index, canaries = parts.schema, parts.index, parts.canaries
    n_classes, n_rows = len(parts.n_decided), int(parts.n_decided.sum())
    check_kinds(nice.categorical_features, schema.full.is_categorical)
    check_ordinal(nice.ordinal, schema.full)
    check_weights(index.distance.weights, nice.feature_weights, schema)
    if parts.cells is not None:
        check_cells(parts.cells, TrainingValues.of(index))
    rows = parts.some(parts.rows)
    known = np.concatenate([parts.some(index.values), parts.some(index.other_values), canaries.values])
    check_rows(rows, schema.full, "its rows")
    # Files of before: every text may change in them.
    if "is_free_text" in manifest["table"]["columns"][0] and not parts.is_mapped:
        check_free_text(schema.full, parts.rows)
    check_rows(known, schema, "its rows")
    check_index(index, parts.n_decided, n_classes)
    check_canaries(canaries, index, parts.n_decided)
    outputs = np.concatenate([parts.outputs, canaries.outputs])
    if manifest["models"].get("are_scores"):
        check_scores(outputs, "its outputs")
    else:
        check_outputs(outputs, _widths(manifest), n_classes, "its outputs")
    is_guarded = parts.privacy.common is not None
    whole_rows = np.concatenate([rows, schema.expand(canaries.values)])
    check_histograms(parts.statistics, schema, whole_rows, n_rows, is_guarded=is_guarded)
    check_seen(parts.statistics, schema, whole_rows, is_guarded=is_guarded)
    check_distance(index.distance, nice.scale, schema, parts.statistics, known, n_rows, is_guarded=is_guarded)
    if (parts.privacy.min_count, parts.privacy.digests is None) != (nice.min_count, bool(nice.share_donor)):
        raise Damaged("its guard does not match its options")
    if is_guarded != (nice.min_count > 1):
        raise Damaged("its common values do not match its options")
    check_privacy(parts.privacy, schema, parts.some(index.values), n_rows)
    if manifest["plausibility"] is None and nice.plausibility is not None:
        raise Damaged("its measure of plausibility is missing")
    if parts.autoencoder is not None:
        then = manifest["plausibility"]
        check_autoencoder(parts.autoencoder, index.distance, nice.scale, schema, canaries.values, then)
    elif manifest["plausibility"] is not None:
        floats(manifest["plausibility"], "plausibility", len(canaries.values))
    if nice.constraints is not None:  # for its errors
        rules_of(nice.constraints, schema, canaries.values[:1], trained=schema)


def fitted_from(nice: Any, parts: Contents, manifest: Mapping[str, Any]) -> Fitted:
    """What was learned, with the models, which are asked about some of the rows."""
    donors = DonorSearch(parts.index, parts.outputs, parts.n_decided, parts.cells)
    models = models_of(
        ModelOptions(nice.model, None, nice.decision, nice.min_probability, nice.robust_to),
        manifest["models"],
        accelerate=nice.accelerate,
        may_be_read=nice._may_be_read,
        schema=parts.schema,
        donors=donors,
        canaries=parts.canaries,
    )
    n_groups = len(parts.n_decided) * (1 if models.panel.is_alone else 2)
    if len(parts.index.leaves) != n_groups:
        raise ModelError(
            "the models or min_probability differ from those that the explainer was saved with. Fit again."
        )
    plausibility = None
    if parts.autoencoder is not None:
        plausibility = Plausibility(parts.autoencoder, is_own=True)
    elif nice.plausibility is not None:
        plausibility = Plausibility(nice.plausibility, is_own=False)
    if nice._search_options.needs_plausibility and plausibility is None:
        raise OptionError(
            "optimize is a reward that reads the error of hybrids, but the explainer was saved with one that does not. "
            "Pass the same function, or fit again."
        )
    schema, distance = parts.privacy.guarded(parts.schema), parts.index.distance
    models = replace(models, basis=nice._proof_basis(models.panel, schema, donors, models.twin))
    search, neighborhood = nice._search_options.searching(
        donors,
        distance,
        is_refused=refusal(parts.privacy, schema),
        plausibility=plausibility,
        basis=models.basis,
    )
    fitted = Fitted(
        explainer="NICE",
        schema=schema,
        models=replace(models, confirms=nice.accelerate != "unconfirmed"),
        distance=distance,
        statistics=parts.statistics,
        fingerprints={name: str(one) for name, one in manifest["fingerprints"].items()},
        search=search,
        constraints=nice.constraints or Constraints(),
        privacy=parts.privacy,
        plausibility=plausibility,
        neighborhood=neighborhood,
        label_scores=parts.label_scores,
    )
    check_measured(fitted, manifest["plausibility"])
    return fitted
