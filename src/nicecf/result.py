"""Counterfactuals: the answer of ``explain``, a frozen value that prints itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from nicecf import metrics as measures
from nicecf import notebook, plots, words
from nicecf._typing import Bools, Floats, Ints, Objects, Table
from nicecf.counterfactual import Counterfactual, picked
from nicecf.distance import Heom
from nicecf.exceptions import OptionError
from nicecf.long_tables import Front, Steps
from nicecf.origin import Origin
from nicecf.plots import Picture
from nicecf.records import records_of
from nicecf.report import report_html, write_report
from nicecf.schema import Schema, differs
from nicecf.summary import Summary, summary_of
from nicecf.tables.pandas_frames import PandasFrames
from nicecf.words.wording import Wording, one_line

_ROWS_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactuals:
    """The answer of ``explain``: a counterfactual, or the reason why there is none, for each row.

    ``found``: whether there is one. ``reasons``: why not, in words; None where found. ``relaxations``: which rule to
    relax then, a :class:`nicecf.Relaxation`, where that alone would help. ``notes``: where less was done
    than asked for, in words; else None. ``donors``: the position of the donor in the training data; missing where none
    was needed or found. ``rows``: the position of the row that each belongs to; with ``n_counterfactuals`` above 1,
    and in :meth:`pareto`, a row may have several. ``model_calls`` and ``model_rows``: what the ``explain`` call asked
    of the model.

    ``cfs[3]`` is one :class:`Counterfactual`; ``cfs[10:20]``, ``cfs[mask]`` and ``cfs[[1, 5]]`` are fewer of them.
    """

    found: Bools
    reasons: Objects
    relaxations: Objects
    notes: Objects
    rows: Ints
    donors: pd.arrays.IntegerArray
    classes: Objects
    model_calls: int
    model_rows: int
    _X: Table
    _labels: pd.Index[Any]
    _schema: Schema
    _rows: Floats
    _values: Floats
    _before: Floats
    _after: Floats
    _decided: Ints
    _decided_after: Ints
    _steps: Steps
    _distance: Heom
    _errors: Floats
    _front: Front | None
    _several: bool
    _origin: Origin
    # The number of each among the counterfactuals of its row, from 0.
    _numbers: Ints

    def __len__(self) -> int:
        """The number of rows explained; of counterfactuals, where a row may have several."""
        return len(self.found)

    def __iter__(self) -> Iterator[Counterfactual]:
        """One by one."""
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, rows: slice | Any) -> Counterfactuals: ...
    def __getitem__(self, rows: Any) -> Counterfactual | Counterfactuals:
        """One row by its position, or some rows by a slice, a mask or a list of positions."""
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} is not there: {len(self)} rows were explained.")
            return Counterfactual(self._take(np.array([rows % len(self)])))
        try:
            chosen = rows if isinstance(rows, slice) else np.asarray(rows)
            if isinstance(chosen, np.ndarray) and not chosen.size:
                chosen = chosen.astype(np.intp)
            places = np.arange(len(self))[chosen]
        except (IndexError, TypeError, ValueError) as error:
            raise OptionError(self._how_to_choose(str(error))) from error
        if places.ndim != 1:
            raise OptionError(self._how_to_choose(f"got {rows!r}"))
        return self._take(places)

    def _how_to_choose(self, wrong: str) -> str:
        return f"cfs[...] takes a position, a slice, a mask of {len(self)} rows or a list of positions: {wrong}."

    def _take(self, rows: Ints) -> Counterfactuals:
        return replace(
            self,
            found=self.found[rows],
            reasons=self.reasons[rows],
            relaxations=self.relaxations[rows],
            notes=self.notes[rows],
            rows=self.rows[rows],
            donors=self.donors[rows],
            _X=self._schema.container.take(self._X, rows),
            _labels=self._labels[rows],
            _rows=self._rows[rows],
            _values=self._values[rows],
            _before=self._before[rows],
            _after=self._after[rows],
            _decided=self._decided[rows],
            _decided_after=self._decided_after[rows],
            _steps=self._steps.take(rows),
            _errors=self._errors[rows],
            _numbers=self._numbers[rows],
        )

    @cached_property
    def predicted(self) -> Objects:
        """The model's decision on each row as it is."""
        return self.classes[self._decided]

    @cached_property
    def predicted_after(self) -> Objects:
        """The model's decision on each counterfactual; None where none was found."""
        labels = self.classes[self._decided_after]
        labels[~self.found] = None
        return labels

    @cached_property
    def probability(self) -> Floats:
        """The probability of that decision; NaN where none was found."""
        return np.where(self.found, picked(self._after, self._decided_after), np.nan)

    @cached_property
    def _filled(self) -> Table:
        """The counterfactuals, and rows without one as they are: no column is widened for missing cells."""
        return self._schema.restore(self._X, self._rows, self._values)

    @cached_property
    def _table(self) -> Table:
        return self._filled if self.found.all() else self._schema.container.blank(self._filled, ~self.found)

    def to_frame(self) -> Any:
        """The counterfactual rows as a frame: columns, dtypes and index of the rows explained; not found: missing.

        A dtype or a set of categories is widened only where it cannot hold a new value. Where a row has no
        counterfactual, integers and booleans of pandas become its nullable ones (Int64, boolean), so that all other
        rows keep their values as they are; ``cfs[cfs.found].to_frame()`` has the dtypes themselves. Arrays get columns
        x0, x1, ...
        """
        if isinstance(self._filled, np.ndarray):
            frame = pd.DataFrame(self._filled.copy(), columns=pd.Index(self._schema.names))
            return frame if self.found.all() else PandasFrames().blank(frame, ~self.found)
        return self._table.copy() if isinstance(self._table, pd.DataFrame) else self._table.clone()

    def to_numpy(self) -> Any:
        """The counterfactual rows as an array; for rows given as an array, of their dtype where that can hold them.

        An array of integers or booleans holds no missing value: where a row has no counterfactual, it becomes one of
        objects.
        """
        return self._table.copy() if isinstance(self._table, np.ndarray) else self._table.to_numpy()

    def changes(self) -> pd.DataFrame:
        """One line per change: row, feature, before, after, step, probability.

        ``row`` is the index label of the row; ``probability`` that of the counterfactual's class after this step. Where
        a row may have several counterfactuals, a column ``counterfactual`` counts them from 0.
        """
        container = self._schema.container
        steps, row = self._steps, self._steps.row()
        before, after = np.empty(len(row), dtype=object), np.empty(len(row), dtype=object)
        for j, position in enumerate(self._schema.positions(self._X)):
            here = np.flatnonzero(steps.feature == j)
            if not len(here):
                continue
            before[here] = container.objects(container.column(self._X, position), row[here])
            after[here] = container.objects(container.column(self._filled, position), row[here])
        names = np.empty(len(self._schema.names), dtype=object)
        names[:] = self._schema.names
        which = {"counterfactual": self._which()[row]} if self._several else {}
        return pd.DataFrame(
            {
                "row": self._labels[row],
                **which,
                "feature": names[steps.feature],
                "before": pd.Series(before, dtype=object),
                "after": pd.Series(after, dtype=object),
                "step": steps.step,
                "probability": picked(steps.reached, self._decided_after[row]),
            }
        )

    def texts(self, style: words.Style = "sentence", *, wording: Wording | None = None) -> list[str]:
        """``text`` of each of them (:meth:`Counterfactual.text`), with a handful of model calls for all together."""
        return words.texts(self, style, wording)

    def metrics(
        self,
        reference: measures.Reference | None = None,
        *,
        model: Any = None,
        other_model: Any = None,
        decision: Any = None,
    ) -> pd.DataFrame:
        """One line per row: sparsity, proximity, plausibility, probability, rounds; missing where none was found.

        sparsity: number of changes. proximity: distance from the row. plausibility: error of the counterfactual (lower
        is better), missing unless the explainer has a measure of it (``optimize="plausibility"``,
        ``search="thorough"`` or ``plausibility=``). probability: that of the decision on the counterfactual. rounds:
        steps of the walk.

        With ``reference``, a :class:`nicecf.metrics.Reference` of the training data, also the measures of the paper's
        experiments: ``l1_range``, ``l1_std``, ``l2_range``, ``l2_std``, ``ae_error``, ``im1`` and ``im2`` (where it
        has labels) and ``nn5``. With ``model``, ``valid``: whether the model (by ``decision``), asked again about the
        rows as they are handed out, says what the result says. With ``other_model``, ``valid_for_other``: 1 where that
        model agrees with it, else 0.
        """
        counts = np.diff(self._steps.starts)
        rounds = np.zeros(len(self), dtype=np.intp)
        np.maximum.at(rounds, self._steps.row(), self._steps.step)
        not_found = ~self.found
        which = {"counterfactual": self._which()} if self._several else {}
        return pd.DataFrame(
            {
                **which,
                "sparsity": pd.arrays.IntegerArray(counts.astype(np.int64), not_found),
                "proximity": np.where(self.found, self._distance.between(self._rows, self._values), np.nan),
                "plausibility": self._errors,
                "probability": self.probability,
                "rounds": pd.arrays.IntegerArray(rounds.astype(np.int64), not_found),
                **({} if reference is None else self._measured_against(reference)),
                **({} if model is None else {"valid": self._holds_for(model, decision) == 1.0}),
                **({} if other_model is None else {"valid_for_other": self._holds_for(other_model)}),
            },
            index=self._labels,
        )

    def _measured_against(self, reference: measures.Reference) -> dict[str, Floats]:
        measured = {
            f"{norm}_{scale}": measures.proximity(
                self._X, self._table, reference, norm=norm, scale=scale, found=self.found
            )
            for norm in ("l1", "l2")
            for scale in ("range", "std")
        }
        measured["ae_error"] = measures.autoencoder_error(self._table, reference, found=self.found)
        if reference.labels is not None:
            before, after = self.predicted, self.predicted_after
            measured["im1"] = measures.im1(self._table, reference, before=before, after=after, found=self.found)
            measured["im2"] = measures.im2(self._table, reference, after=after, found=self.found)
        return measured | {"nn5": measures.neighbor_distance(self._table, reference, found=self.found)}

    def _holds_for(self, model: Any, decision: Any = None) -> Floats:
        classes = None if hasattr(model, "classes_") else self.classes
        return measures.holds_for(
            model,
            self._filled,  # of the rows found, in the dtypes that the model saw
            after=self.predicted_after,
            classes=classes,
            decision=decision,
            found=self.found,
        )

    def summary(self, by: Any = None) -> Summary:
        """Which features change how often and by how much, and what that costs, for each class decided on.

        With ``by``, also for each group: the name of a column, or one value per row (a Series is aligned by its
        labels). Numbers with many values are cut into quartiles; missing values are a group of their own. Each row
        counts once: of several counterfactuals, the first.
        """
        return summary_of(self, by)

    def plot(
        self, kind: Literal["frequencies"] = "frequencies", *, dark: bool = False, wording: Wording | None = None
    ) -> Picture:
        """All explanations in one picture: see :func:`nicecf.plots.frequencies`.

        ``dark``: for a dark page. ``wording``: a :class:`nicecf.Wording` with names of features and classes.
        """
        return plots.plot_many(self, kind, dark=dark, wording=wording)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, title: str | None = None, wording: Wording | None = None
    ) -> str:
        """One HTML page for people that needs nothing else: what was asked, what changes, what it costs, every row.

        Written to ``path`` if there is one, all of it or nothing; FileError where that cannot be. It holds the rows,
        of at most 500 explanations, and opens without a network. ``wording``: names, units and classes.
        """
        text = report_html(self, title=title, wording=wording)
        if path is not None:
            write_report(text, path)
        return text

    def to_records(self) -> list[dict[str, Any]]:
        """A record of each for an audit, of values that JSON holds: what was asked, what was answered, and by whom.

        The row and its counterfactual, the changes in their order, the decision and the probabilities before and after,
        the donor, options, call, seed and versions, fingerprints of model and training data, and a digest of it all.
        :func:`nicecf.replay` makes it again. The same explanation gives the same record.
        """
        return records_of(self)

    def pareto(self) -> Counterfactuals:
        """All counterfactuals of each row that nothing beats in changes, distance and plausibility together.

        Of the valid hybrids that ``search="thorough"`` looked at (more of them for ``n_counterfactuals`` above 1);
        ordered by row, fewest changes first. Of several that are equal in all three, one. Its :attr:`rows` tells whose
        each is, by the positions of ``explain``. All changes of one are made in one step.
        """
        if self._front is None:
            raise OptionError(
                "pareto() needs the hybrids that only the thorough search looks at; use NICE(..., search='thorough')."
            )
        _, first = np.unique(self.rows, return_index=True)
        entries, members = self._front.members(self.rows, np.sort(first))
        batch = self._take(entries)
        is_point = members >= 0
        values, after, errors = batch._values.copy(), batch._after.copy(), batch._errors.copy()
        donors, decided = batch.donors.copy(), batch._decided_after.copy()
        values[is_point] = self._front.values[members[is_point]]
        after[is_point] = self._front.probabilities[members[is_point]]
        decided[is_point] = self._front.decided[members[is_point]]
        errors[is_point] = self._front.errors[members[is_point]]
        donors[is_point] = self._front.donors[members[is_point]]
        donors[donors == -1] = pd.NA  # those of a guarded explainer are not told
        line, feature = np.nonzero(differs(batch._rows, values))
        steps = Steps.of(len(entries), line, feature, np.ones_like(line), after[line])
        return replace(
            batch,
            donors=donors,
            _values=values,
            _after=after,
            _decided_after=decided,
            _errors=errors,
            _steps=steps,
            _several=True,
            _origin=replace(self._origin, call={**self._origin.call, "pareto": True}),
            _numbers=np.arange(len(entries)) - np.searchsorted(entries, entries),
        )

    def _which(self) -> Ints:
        """The number of each counterfactual among those of its row."""
        return self._numbers

    def __repr__(self) -> str:
        """A summary and the first rows."""
        first = self[:_ROWS_SHOWN]
        labels = [one_line(str(label)) for label in first._labels]
        width = max(map(len, labels), default=0)
        lines = [f"  {label:>{width}}  {words.line(one)}" for label, one in zip(labels, first, strict=True)]
        return "\n".join([self._summary(), *lines, *(f"  {line}" for line in self._more() + self._noted())])

    def _repr_html_(self) -> str:
        first = notebook.lines(self[: notebook.MOST_ROWS])
        return notebook.many_html(self._summary(), first, n_lines=len(self), remarks=self._noted())

    def _summary(self) -> str:
        n_rows, n_found = len(np.unique(self.rows)), len(np.unique(self.rows[self.found]))
        n_counterfactuals = int(self.found.sum())
        share = f"{n_found / n_rows:.1%}" if n_rows else "-"
        several = f", {n_counterfactuals:,} counterfactuals" if self._several else ""
        changes = f", {len(self._steps.feature) / n_counterfactuals:.1f} changes on average" if n_found else ""
        return f"Counterfactuals: {n_rows:,} rows, {n_found:,} found ({share}){several}{changes}"

    def _more(self) -> list[str]:
        if len(self) <= _ROWS_SHOWN:
            return []
        return [f"... and {len(self) - _ROWS_SHOWN:,} more {'counterfactuals' if self._several else 'rows'}"]

    def _noted(self) -> list[str]:
        count = len(np.unique(self.rows[[note is not None for note in self.notes]]))
        return [f"{count:,} {'row has a note' if count == 1 else 'rows have notes'}: cfs.notes"] if count else []
