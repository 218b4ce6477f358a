"""Many explanations in two tables: which features change how often and by how much, and what recourse costs whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import listed, plain
from nicecf.results.batch import Batch
from nicecf.results.table_distance import TableDistance
from nicecf.support.types import Bools, CellValue, Floats, Ints, Label, Objects
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema, differs
from nicecf.tables.temporal import Temporal
from nicecf.views.summary import tables
from nicecf.views.summary.grouping import By, Groups, groups_by
from nicecf.views.summary.totals import Totals, totals_of
from nicecf.views.summary.unseen import in_words, unseen_in, unseen_table
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """Over many rows: what changes, and what it costs, for each class that the model decided on.

    With ``by``, also for each group of a column. Each row counts once: of several counterfactuals, the first.

    ``totals``: over all rows, how many ``changed``, stay ``unchanged`` or were ``not_found``, and the ``mean_changes``
    and ``mean_distance`` of those that changed.

    ``groups``, one line per class (and ``group``): ``rows``; ``found``, how many have a counterfactual; ``coverage``,
    their share; ``changed``, for how many of them something has to change; of those, ``mean_changes``,
    ``mean_distance`` and ``median_distance`` (the cost of recourse), ``mean_plausibility`` where the explainer has a
    measure of it; with ``by`` the ``ratio`` of the mean distance to that of the group that is best off in this class.
    Rows that are in the target already are in no mean. Columns that move together are one change.

    ``features``, one line per class (and ``group``) and feature, the most frequent first: ``rows`` that were found;
    ``changed``, in how many of them the feature changes, and their ``share``. Numbers: ``median_change``, with a sign,
    ``p10_change`` and ``p90_change``, each the change of some row, and the share ``increased`` of the changes, all of
    them without changes from or to a missing value (of dates and durations, they are durations); ``before`` and
    ``after`` are those of a row with the median change, of several the one in the middle. Categories: ``before`` and
    ``after`` of the most frequent change, which happened ``times`` times. ``distance_share``: the part of the feature
    in the distance, on average over the rows that change at all. Columns that follow from others
    (``Constraints(derived=...)``) have no line, since nobody changes them: ``note`` names them.

    ``unseen``, one line per feature with values that training never saw, and per ``kind`` ("outside", a number outside
    the range; "category"; "missing", where training had a value in every row): in how many ``rows``. With
    ``min_count``, what too few training rows hold counts as unseen. ``n_unseen``: the rows with any such value.
    ``unseen_note``: the same in a line, None where there is none.

    ``n_denied_by_predict``: rows whose counterfactual the model's own ``predict`` does not put in the wanted class, for
    a model whose ``predict`` can differ from its highest probability; ``note`` says so too.
    """

    features: pd.DataFrame
    groups: pd.DataFrame
    by: str | None = None
    note: str | None = None
    unseen: pd.DataFrame = field(default_factory=lambda: unseen_table(()))
    n_unseen: int = 0
    unseen_note: str | None = None
    n_denied_by_predict: int = 0
    totals: Totals = field(default_factory=lambda: Totals(0, 0, 0, 0, np.nan, np.nan))
    wording: Wording = field(default_factory=Wording)

    def __repr__(self) -> str:
        """Both tables, as far as 100 columns and a screen take them."""
        return tables.as_text(self)

    def _repr_html_(self) -> str:
        return tables.as_html(self)


@dataclass(frozen=True, eq=False)
class Lines:
    """What is summarised, one line per row: encoded rows and counterfactuals, and what is known of them."""

    rows: Floats
    values: Floats
    found: Bools
    decided: Ints
    errors: Floats
    changes: Ints


def summary_of(batch: Batch, by: By = None, wording: Wording | None = None) -> Summary:
    """The summary of a batch, by the first counterfactual of each row; it prints itself in a wording."""
    teller = Teller.of(batch, wording)
    first = batch.first_of_rows
    groups = None if by is None else groups_by(by, batch.schema, batch.before.values, batch.labels, first, teller)
    lines = Lines(
        batch.before.values[first],
        batch.after.values[first],
        batch.found[first],
        batch.before.decided[first],
        batch.errors[first],
        batch.n_changes[first],
    )
    n_denied = _denied_by_predict(batch, first)
    note = _note(batch, len(first), n_denied, teller)
    summary = summarize(lines, batch.schema, batch.distance, batch.classes, groups, note=note)
    unseen, n_unseen = unseen_in(batch, first)
    is_guarded = any(column.common is not None for column in batch.schema.columns)
    return replace(
        summary,
        unseen=unseen,
        n_unseen=n_unseen,
        unseen_note=in_words(unseen, n_unseen, len(first), is_guarded=is_guarded, teller=teller),
        n_denied_by_predict=n_denied,
        totals=totals_of(batch),
        wording=teller.wording,
    )


def _denied_by_predict(batch: Batch, entries: Ints) -> int:
    """Return how many entries have a note that the ``predict`` of a model does not confirm them."""
    return sum(any(one.kind.startswith("own_predict") for one in notes) for notes in batch.notes[entries])


def _note(batch: Batch, n_rows: int, n_denied: int, teller: Teller) -> str | None:
    """What is not counted."""
    notes = []
    if n_rows < len(batch):
        notes.append(teller.say("summary.counts_once", count=len(batch)))
    if n_denied:
        notes.append(teller.counted("summary.own_predict", n_denied))
    if batch.is_derived.any():
        names = [batch.schema.names[j] for j in np.flatnonzero(batch.is_derived)]
        given = [teller.wording.given_name(name) for name in names]
        derived = listed(names) if not any(given) else ", ".join(map(teller.name, names))
        notes.append(teller.say("summary.derived", derived=derived))
    return " ".join(notes) or None


def summarize(
    lines: Lines,
    schema: Schema,
    distance: TableDistance,
    classes: Objects,
    groups: Groups | None,
    *,
    note: str | None = None,
) -> Summary:
    """Both tables. Classes stand in the order of ``classes``, groups in theirs; those without a row are left out."""
    n_groups = 1 if groups is None else max(len(groups.labels), 1)
    keys = lines.decided * n_groups + (0 if groups is None else groups.codes)
    # A cell is a class, or a group in it.
    present, cell = np.unique(keys, return_inverse=True)
    cell = cell.reshape(-1)
    names: dict[str, list[Label]] = {"predicted": [plain(classes[key // n_groups]) for key in present]}
    if groups is not None:
        names["group"] = [groups.labels[key % n_groups] for key in present]
    total = np.where(lines.found, distance.between(lines.rows, lines.values), np.nan)
    costs = _costs(lines, cell, len(present), total)
    if groups is not None:
        costs["ratio"] = _to_best(costs["mean_distance"], present // n_groups)
    features = _features(lines, schema, cell, len(present), distance, total)
    each = features.pop("cell")
    return Summary(
        pd.DataFrame({name: _objects([labels[at] for at in each]) for name, labels in names.items()} | features),
        pd.DataFrame({name: _objects(labels) for name, labels in names.items()} | costs),
        None if groups is None else groups.name,
        note,
    )


def _costs(lines: Lines, cell: Ints, n_cells: int, total: Floats) -> dict[str, Any]:  # columns of a frame
    rows = np.bincount(cell, minlength=n_cells)
    found = np.bincount(cell[lines.found], minlength=n_cells)
    changed = lines.found & (lines.changes > 0)
    measured = {"changes": lines.changes, "distance": total, "error": lines.errors}
    of = pd.DataFrame({name: np.where(changed, one, np.nan) for name, one in measured.items()}).groupby(cell)
    table = {
        "rows": rows,
        "found": found,
        "coverage": found / rows,
        "changed": np.bincount(cell[changed], minlength=n_cells),
        "mean_changes": of["changes"].mean().to_numpy(),
        "mean_distance": of["distance"].mean().to_numpy(),
        "median_distance": of["distance"].median().to_numpy(),
    }
    error = of["error"].mean().to_numpy()
    return table if np.isnan(error).all() else {**table, "mean_plausibility": error}


def _to_best(mean: Floats, decided: Ints) -> Floats:
    """Each mean beside the least one by the same decision."""
    best = pd.Series(mean).groupby(decided).transform("min").to_numpy(dtype=np.float64)
    # If the best-off group pays nothing, no other group pays a multiple of it.
    ratio = np.divide(mean, best, out=np.full(len(mean), np.nan), where=best > 0)
    return np.where(mean == best, 1.0, ratio)


_DIFFERENCES = ("median_change", "p10_change", "p90_change")


def _features(
    lines: Lines, schema: Schema, cell: Ints, n_cells: int, distance: TableDistance, total: Floats
) -> dict[str, Any]:  # columns of a frame
    """Columns with an entry for each feature of each cell, the most frequent change of a cell first.

    What follows from others is left out.
    """
    n_features = len(schema.columns)
    line, feature = np.nonzero(differs(lines.rows, lines.values) & lines.found[:, None])
    moves = pd.DataFrame({"before": lines.rows[line, feature], "after": lines.values[line, feature]})
    place, n_places = cell[line] * n_features + feature, n_cells * n_features
    changed = np.bincount(place, minlength=n_places)
    is_category = schema.is_categorical[feature]
    numbers = _of_numbers(moves[~is_category], place[~is_category], n_places)
    most = _most_frequent(moves[is_category].fillna(-1.0), place[is_category], n_places)
    order = np.lexsort((np.arange(n_places), -changed, np.arange(n_places) // n_features))
    order = order[~distance.schema.is_computed[order % n_features]]
    each, of = order // n_features, order % n_features
    found = np.bincount(cell[lines.found], minlength=n_cells)[each]
    sides = {
        side: _objects(
            [
                _level(most[side][at], schema.columns[j])
                if schema.columns[j].is_categorical
                else _known(numbers[side][at], schema.columns[j])
                for at, j in zip(order.tolist(), of.tolist(), strict=True)
            ]
        )
        for side in ("before", "after")
    }
    return {
        "cell": each,
        "feature": _objects([schema.columns[j].name for j in of]),
        "rows": found,
        "changed": changed[order],
        "share": _ratio(changed[order], found),
        **{name: _differences(numbers[name][order], of, schema) for name in _DIFFERENCES},
        "increased": numbers["increased"][order],
        **sides,
        "times": pd.array(most["times"][order], dtype="Int64"),
        "distance_share": _parts(lines, cell, n_cells, distance, total).ravel()[order],
    }


def _of_numbers(moves: pd.DataFrame, place: Ints, n_places: int) -> dict[str, Floats]:
    change = (moves["after"] - moves["before"]).to_numpy()
    is_whole = ~np.isnan(change)
    # Each is the change of some row, so that the row of the median can be shown beside it.
    quantiles = pd.Series(change).groupby(place).quantile([0.1, 0.5, 0.9], interpolation="nearest").unstack()
    quantiles = quantiles.reindex(index=range(n_places), columns=[0.1, 0.5, 0.9])
    is_median = change == quantiles[0.5].to_numpy(dtype=np.float64)[place]
    typical = _middle(moves[is_median], place[is_median]).reindex(range(n_places))
    # Where every change is from or to a missing value, a median of the side that is known that some row has.
    medians = moves.groupby(place).quantile(0.5, interpolation="lower")
    typical = typical.fillna(medians.reindex(range(n_places)))
    return {
        "p10_change": quantiles[0.1].to_numpy(dtype=np.float64),
        "median_change": quantiles[0.5].to_numpy(dtype=np.float64),
        "p90_change": quantiles[0.9].to_numpy(dtype=np.float64),
        "increased": _ratio(
            np.bincount(place[change > 0], minlength=n_places), np.bincount(place[is_whole], minlength=n_places)
        ),
        "before": typical["before"].to_numpy(dtype=np.float64),
        "after": typical["after"].to_numpy(dtype=np.float64),
    }


def _middle(moves: pd.DataFrame, place: Ints) -> pd.DataFrame:
    """Return of each place the row in the middle by its value before, the lower of two."""
    ordered = moves.assign(place=place).sort_values(["place", "before"], kind="stable")
    of_place = ordered.groupby("place")["before"]
    is_middle = of_place.cumcount() == (of_place.transform("size") - 1) // 2
    return ordered[is_middle].set_index("place")


def _most_frequent(moves: pd.DataFrame, place: Ints, n_places: int) -> dict[str, Floats]:
    """The codes before and after, and how often; on a tie the change whose categories training showed first."""
    counts = moves.assign(place=place).groupby(["place", "before", "after"]).size().rename("times").reset_index()
    most = counts.sort_values(["place", "times"], ascending=[True, False], kind="stable").drop_duplicates("place")
    most = most.set_index("place").reindex(range(n_places))
    return {name: most[name].to_numpy(dtype=np.float64) for name in ("before", "after", "times")}


def _parts(lines: Lines, cell: Ints, n_cells: int, distance: TableDistance, total: Floats) -> Floats:
    """The part of each feature in the distance, averaged over the rows of a cell that change: (cells, features)."""
    is_moving = total > 0
    cell, rows, values, total = cell[is_moving], lines.rows[is_moving], lines.values[is_moving], total[is_moving]
    moving = np.bincount(cell, minlength=n_cells)
    shares = distance.features(rows, values) / total[:, None]
    sums = [np.bincount(cell, weights=of_feature, minlength=n_cells) for of_feature in shares.T]
    return np.column_stack([_ratio(one, moving) for one in sums])


def _level(code: float, column: Column) -> CellValue:
    return None if np.isnan(code) or code < 0 else plain(column.levels[int(code)])


def _known(value: float, column: Column) -> CellValue:
    if np.isnan(value):
        return None
    return float(value) if column.temporal is None else column.temporal.value(_rounded(value, column.temporal))


def _differences(values: Floats, features: Ints, schema: Schema) -> Floats | pd.Series[CellValue]:
    """Differences of numbers as they are, of dates and durations as durations."""
    temporal = [schema.columns[j].temporal for j in features]
    if all(one is None for one in temporal):
        return values
    duration = Temporal("duration")
    return _objects(
        [
            value if one is None or np.isnan(value) else duration.value(_rounded(value, one))
            for value, one in zip(values.tolist(), temporal, strict=True)
        ]
    )


def _rounded(value: float, temporal: Temporal) -> float:
    """Between two dates, a median may be no date."""
    return float(temporal.rounded(np.array([value]))[0])


def _ratio(counts: Ints | Floats, of: Ints) -> Floats:
    """A share; missing where there is nothing to have a share of."""
    return np.divide(counts, of, out=np.full(len(of), np.nan), where=of > 0)


def _objects(values: Sequence[CellValue]) -> pd.Series[CellValue]:
    """A column of anything: pandas would make strings of its own, and nan of None, of an array of objects."""
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):  # one by one: numpy would take a list of tuples for a table
        objects[at] = value
    return pd.Series(objects, dtype=object)
