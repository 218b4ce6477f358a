"""Counterfactuals: the answer of ``explain``, a frozen value that prints itself."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError
from nicecf.results.batch import Batch, with_scores_named
from nicecf.results.boxes import boxes_table
from nicecf.results.counterfactual import Counterfactual
from nicecf.results.metrics_table import metrics_table
from nicecf.results.plans import Strength, plans_of, strengths
from nicecf.results.records import Record, records_of
from nicecf.results.reference import Reference
from nicecf.support.phrases import english, in_english
from nicecf.support.types import Bools, Floats, Ints, Objects, Table

if TYPE_CHECKING:
    from nicecf.views.plots import Picture
    from nicecf.views.summary import Summary
    from nicecf.views.summary.grouping import By
    from nicecf.views.words import Style
    from nicecf.views.words.codes import ReasonCodes
    from nicecf.views.words.wording import Wording


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactuals:
    """The answer of ``explain``: a counterfactual, or the reason why there is none, for each row.

    ``found``: whether there is one. ``reasons``: why not, in words; None where found. ``relaxations``: which rule to
    relax then, a :class:`nicecf.Relaxation`, where that alone would help. ``notes``: where less was done than asked
    for, the row has values that training never saw, or the model's own ``predict`` does not confirm the counterfactual,
    in words; else None. ``search``: how the search went, where that is worth a word; else None. ``donors``: the
    position of the donor in the training data; missing where none was needed or found, where no donor is known to hold
    all the new values (:meth:`changes` has one for each), and with ``share_donor=False``. ``rows``: the position of the
    row that each belongs to; with ``n_counterfactuals`` above 1, and in :meth:`pareto`, a row may have several.
    ``model_calls`` and
    ``model_rows``: what the ``explain`` call asked of the model.

    ``cfs[3]`` is one :class:`Counterfactual`; ``cfs[10:20]``, ``cfs[mask]`` and ``cfs[[1, 5]]`` are fewer of them.
    """

    batch: Batch
    wording: Wording | None = None

    def worded(self, wording: Wording | None) -> Counterfactuals:
        """The same result, which prints, shows and draws itself in a :class:`nicecf.Wording`: names and a language."""
        if wording is not None:
            from nicecf.views.telling import Teller

            Teller.of(self.batch, wording)
        return replace(self, wording=wording)

    @property
    def found(self) -> Bools:
        """Whether each has a counterfactual."""
        return self.batch.counted.found

    @cached_property
    def reasons(self) -> Objects:
        """Why not, in words; None where found."""
        return _objects(None if one is None else english(one) for one in self.batch.reasons)

    @cached_property
    def reason_kinds(self) -> Objects:
        """Why not, in one word for programs; None where found."""
        return _objects(None if one is None else one.kind for one in self.batch.reasons)

    @property
    def relaxations(self) -> Objects:
        """Which rule to relax where that alone would help, a :class:`nicecf.Relaxation`; else None."""
        return self.batch.relaxations

    @cached_property
    def notes(self) -> Objects:
        """Where less was done than asked for, or the row has values that training never saw, in words; else None."""
        return _objects(in_english(notes) or None for notes in self.batch.notes)

    @cached_property
    def note_kinds(self) -> Objects:
        """The same for programs: a tuple of words, such as ``"unseen"``; None where there is nothing to say."""
        return _objects(tuple(note.kind for note in notes) or None for notes in self.batch.notes)

    @cached_property
    def search(self) -> Objects:
        """How the search went, in words, where not all hybrids or donors were looked at; else None."""
        return _objects(in_english(said) or None for said in self.batch.search)

    @cached_property
    def proof(self) -> Objects:
        """What is proven of each: ``"optimal"``, ``"infeasible"``, ``"bound"`` or ``"none"``.

        ``"optimal"``: over all values that training rows hold, and under the rules, nothing has fewer changes
        (``optimize="sparsity"``) or is nearer (``"proximity"``). ``"infeasible"``: there is no counterfactual, whatever
        the values. ``"bound"``: nothing is better by more than :attr:`gap`. ``search="exact"`` proves; of trees, the
        thorough search proves some, too.
        """
        return _objects(one.status for one in self.batch.proofs)

    @cached_property
    def gap(self) -> Floats:
        """By which share of its cost each could be better at most: 0 if it is optimal, NaN if that is not known."""
        return np.array([one.gap for one in self.batch.proofs], dtype=np.float64)

    @property
    def strengths(self) -> list[tuple[Strength, ...]]:
        """What each is best at among those of its row: ``"fewest"`` changes, ``"nearest"``, ``"most_plausible"``.

        Of a row that has one alone, nothing. Plausibility is compared if it is known of all of them.
        """
        return strengths(self.batch)

    @property
    def rows(self) -> Ints:
        """The position of the row that each belongs to."""
        return self.batch.rows

    @property
    def donors(self) -> pd.arrays.IntegerArray:
        """The position of the donor in the training data; missing where none was needed or found."""
        return self.batch.donors

    @property
    def classes(self) -> Objects:
        """The classes of the model."""
        return self.batch.classes

    @property
    def model_calls(self) -> int:
        """How many calls of the model the ``explain`` call took."""
        return self.batch.model_calls

    @property
    def model_rows(self) -> int:
        """About how many rows it asked the model."""
        return self.batch.model_rows

    def __len__(self) -> int:
        """The number of rows explained; of counterfactuals, where a row may have several."""
        return len(self.batch)

    def __iter__(self) -> Iterator[Counterfactual]:
        """One by one."""
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[int] | Sequence[bool] | Ints | Bools) -> Counterfactuals: ...
    def __getitem__(
        self, rows: int | slice | Sequence[int] | Sequence[bool] | Ints | Bools
    ) -> Counterfactual | Counterfactuals:
        """One row by its position, or some rows by a slice, a mask or a list of positions."""
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} does not exist: {len(self)} rows were explained.")
            return Counterfactual(self.batch.take(np.array([rows % len(self)])), self.wording)
        try:
            chosen = rows if isinstance(rows, slice) else np.asarray(rows)
            if isinstance(chosen, np.ndarray) and not chosen.size:
                chosen = chosen.astype(np.intp)
            places = np.arange(len(self))[chosen]
        except (IndexError, TypeError, ValueError) as error:
            raise OptionError(self._how_to_choose(str(error))) from error
        if places.ndim != 1:
            raise OptionError(self._how_to_choose(f"got {rows!r}"))
        return Counterfactuals(self.batch.take(places), self.wording)

    def _how_to_choose(self, wrong: str) -> str:
        return f"cfs[...] takes a position, a slice, a mask of {len(self)} rows or a list of positions: {wrong}."

    @property
    def predicted(self) -> Objects | Floats:
        """The model's decision on each row as it is; its score, if the target is scores."""
        return self.batch.predicted if self.batch.target is None else self.batch.before.probability

    @property
    def predicted_after(self) -> Objects | Floats:
        """The model's decision on each counterfactual, None where none was found; or its score, NaN."""
        return self.batch.predicted_after if self.batch.target is None else self.batch.probability

    @property
    def probability(self) -> Floats:
        """The probability of that decision, or the score; NaN where none was found."""
        return self.batch.probability

    def to_frame(self) -> Table:
        """The counterfactual rows as a frame: columns, dtypes and index of the rows explained; not found: missing.

        A dtype or a set of categories is widened only where it cannot hold a new value. Where a row has no
        counterfactual, integers and booleans of pandas become its nullable ones (Int64, boolean), so that all other
        rows keep their values as they are; ``cfs[cfs.found].to_frame()`` has the dtypes themselves. Arrays get columns
        x0, x1, ...; sparse matrices stay sparse matrices, in the format of the rows.
        """
        return self.batch.to_frame()

    def to_numpy(self) -> Table:
        """The counterfactual rows as an array, never sparse; for rows given as one, of their dtype if that holds them.

        An array of integers or booleans holds no missing value: where a row has no counterfactual, it becomes one of
        objects.
        """
        return self.batch.to_numpy()

    def changes(self) -> pd.DataFrame:
        """One line per change: row, feature, before, after, step, probability, donor.

        ``row`` is the index label of the row; ``probability`` that of the counterfactual's class after this step;
        ``donor`` the position of a training row that holds the new value, missing where that is not known or not to be
        told. Where a row may have several counterfactuals, a column ``counterfactual`` counts them from 0. If the
        target is scores, ``score`` is in the place of ``probability``.
        """
        return with_scores_named(self.batch.changes.copy(), self.batch)

    def boxes(self) -> pd.DataFrame:
        """One line per changed feature: the values with which the answer still holds, for all of them at once.

        Columns: row, feature, before, after, ``low`` and ``high``, which both belong to it (missing: no end), for
        categories ``values``, the new one first, and ``proof``. Together the lines of a row are a box: whatever the
        features are in it, the decision is the same, with all that was asked of it, and the rules are kept. Features
        are widened in the order of the changes, each first towards the row and then away from it.

        "proven": for trees and linear models, of every point of the box, and where every point was asked about.
        "checked": for other models, of all combinations of values that training rows hold, at most 4,096 for a box; the
        ends are such values. What rules tie to other features, what others are computed from, missing values, and all
        features of an explainer with ``share_donor=False`` or ``min_count`` keep the new value alone. Columns that
        follow from others have no line. The model is asked: not of a result that was pickled.
        """
        return boxes_table(self.batch.answers)

    def texts(self, style: Style = "sentence", *, wording: Wording | None = None) -> list[str]:
        """``text`` of each of them (:meth:`Counterfactual.text`), with a handful of model calls for all together."""
        from nicecf.views import words

        return words.texts(self.batch, style, self.wording if wording is None else wording)

    def letters(
        self,
        template: str | os.PathLike[str] = "plain",
        *,
        wording: Wording | None = None,
        fields: Mapping[str, str] | None = None,
        principal_reasons: Sequence[Sequence[str]] | None = None,
        codes: ReasonCodes | Mapping[tuple[Hashable, str], tuple[str, str]] | None = None,
    ) -> list[str]:
        """A letter for each row; where a row has several counterfactuals, they are in one letter.

        ``template``: "plain", "eu", "eu_authority", "us_adverse_action", or a text file of your own: a copy of one of
        these. ``fields``: what you fill in yourself, by the names in braces. ``principal_reasons``: of
        "us_adverse_action", your own reasons for each row, at most four. ``codes``: what you call each change, a
        :class:`nicecf.ReasonCodes`; OptionError where a change has none.
        """
        from nicecf.views.words.letters import letters

        return letters(
            self.batch,
            template,
            self.wording if wording is None else wording,
            fields=fields,
            principal_reasons=principal_reasons,
            codes=codes,
        )

    def metrics(
        self,
        reference: Reference | None = None,
        *,
        model: object = None,
        other_model: object = None,
        decision: object = None,
    ) -> pd.DataFrame:
        """One line per row: sparsity, proximity, plausibility, probability, rounds; missing where none was found.

        sparsity: number of changes. proximity: distance from the row. plausibility: error of the counterfactual (lower
        is better), missing unless the explainer was fitted with a measure of it (``optimize="plausibility"`` or
        ``"balanced"``, or ``plausibility=``). probability: that of the decision on the counterfactual. rounds: steps of
        the walk.

        With ``reference``, a :class:`nicecf.metrics.Reference` of the training data, also the measures of the paper's
        experiments: ``l1_range``, ``l1_std``, ``l2_range``, ``l2_std``, ``ae_error``, ``im1`` and ``im2`` (where it
        has labels) and ``nn5``. With ``model``, ``valid``: whether the model (by ``decision``), asked again about the
        rows as they are handed out, says what the result says. With ``other_model``, ``valid_for_other``: 1 where that
        model agrees with it, else 0.
        """
        return metrics_table(self.batch, reference, model=model, other_model=other_model, decision=decision)

    def summary(self, by: By = None, *, wording: Wording | None = None) -> Summary:
        """Which features change how often and by how much, and what that costs, for each class decided on.

        With ``by``, also for each group: the name of a column, or one value per row (a Series is aligned by its
        labels). Numbers with many values are cut into quartiles; missing values are a group of their own. Each row
        counts once: of several counterfactuals, the first. ``wording``: names, units, classes and the language in
        which it prints itself.
        """
        from nicecf.views.summary import summary_of

        return summary_of(self.batch.counted, by, self.wording if wording is None else wording)

    def plot(
        self, kind: Literal["frequencies"] = "frequencies", *, dark: bool = False, wording: Wording | None = None
    ) -> Picture:
        """All explanations in one picture: see :func:`nicecf.plots.frequencies`.

        ``dark``: for a dark page. ``wording``: a :class:`nicecf.Wording` with names of features and classes.
        """
        from nicecf.views import plots

        return plots.plot_many(self, kind, dark=dark, wording=self.wording if wording is None else wording)

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        wording: Wording | None = None,
        about: Mapping[str, str] | None = None,
    ) -> str:
        """Return one HTML page for people: what the model asks of them, what it costs, every case.

        Written to ``path`` if given, completely or not at all; raises FileError if that fails. It holds the rows
        of at most 500 explanations, the first 50 of those that change with a picture, and opens without a network.
        ``wording``: names, units, classes and the language. ``about``: what else its end should say, such as
        ``{"Applications": "march.csv"}``.
        """
        from nicecf.views.report import report_html, write_report

        text = report_html(
            self.batch.counted, title=title, wording=self.wording if wording is None else wording, about=about
        )
        if path is not None:
            write_report(text, path)
        return text

    def to_records(self, *, boxes: bool = False) -> list[Record]:
        """A record of each for an audit, of values that JSON holds: what was asked, what was answered, and by whom.

        The row and its counterfactual, the changes in their order, the decision and the probabilities before and after,
        the donor, options, call, seed and versions, fingerprints of model and training data, and a digest of it all.
        :func:`nicecf.replay` makes it again. The same explanation gives the same record. ``boxes``: whether it also
        has what :meth:`boxes` says, for which the model is asked.
        """
        return records_of(self.batch.answers, boxes=boxes)

    def nearest(self) -> Counterfactuals:
        """For rows whose ``target_score`` is out of reach, the answer within reach whose score comes nearest to it.

        An entry for each such row; :attr:`rows` tells whose it is. None of them is in the target, so :attr:`found` is
        False for all, and they count nowhere as counterfactuals; ``to_frame()``, ``changes()``, ``texts()`` and plots
        show them, and say so. Empty where every row has an answer, or nothing comes nearer than the row itself.
        """
        if self.batch.target is None:
            raise OptionError("nearest() is for targets that are scores: explain(X, target_score=(low, high)).")
        if self.batch.is_best_effort:
            return self
        nothing = replace(self.batch.take(np.empty(0, dtype=np.intp)), is_best_effort=True)
        return Counterfactuals(self.batch.nearest or nothing, self.wording)

    def pareto(self) -> Counterfactuals:
        """All counterfactuals of each row that nothing beats in changes and distance, and in plausibility if compared.

        Plausibility is compared if the explainer was fitted with ``optimize="plausibility"`` or ``"balanced"``, or with
        ``plausibility=``; after ``with_search(optimize="sparsity")`` or ``"proximity"``, only if it was given as
        ``plausibility=``, with ``mix_donors=False``, or for ``n_counterfactuals`` above 1. Of the valid counterfactuals
        that ``search="thorough"`` looked at (more of them for ``n_counterfactuals`` above 1); ordered by row, fewest
        changes first. Of several that are equal in all measures, one. Its :attr:`rows` tells whose each is, by the
        positions of ``explain``. All changes of one are made in one step.
        """
        front = self.batch.answers.front
        if front is None:
            raise OptionError(
                "pareto() needs the hybrids that only the thorough search looks at; use NICE(..., search='thorough')."
            )
        return Counterfactuals(self.batch.pareto(front), self.wording)

    def plans(self) -> Counterfactuals:
        """A menu for each row: fewest changes, nearest, most plausible, and the others that it was asked for.

        The first three are the best that the search came across, by each measure (plausibility if there is a measure
        of it, as for :meth:`pareto`), with at most three changes more than the fewest; the others are those of
        ``explain(..., n_counterfactuals=)``, which change different features. Each is there once, so that there may
        be fewer. :attr:`strengths` says what each is best at.
        """
        if "pareto" in self.batch.provenance.call:
            raise OptionError("plans() chooses from what explain found, not from a Pareto set: call it before pareto()")
        return Counterfactuals(plans_of(self.batch.answers), self.wording)

    def __repr__(self) -> str:
        """A summary and the first rows."""
        from nicecf.views import listing

        return listing.many_as_text(self.batch, self.wording)

    def _repr_html_(self) -> str:
        from nicecf.views import notebook

        return notebook.many_as_html(self.batch, self.wording)


def _objects(values: Iterable[object]) -> Objects:
    """An array of any values: numpy would make a table of tuples."""
    every = list(values)
    objects = np.empty(len(every), dtype=object)
    for at, value in enumerate(every):
        objects[at] = value
    return objects
