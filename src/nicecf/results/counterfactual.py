"""One explanation, and each change in it: frozen values that print themselves."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pandas as pd

from nicecf.results.batch import Batch
from nicecf.results.boxes import boxes_table
from nicecf.results.metrics_table import metrics_table
from nicecf.results.records import Record, records_of
from nicecf.results.reference import Reference
from nicecf.rules.relaxations import Relaxation
from nicecf.support.phrases import english, in_english
from nicecf.support.types import CellValue, Label, Table

if TYPE_CHECKING:
    from nicecf.views.plots import Picture
    from nicecf.views.words import Style
    from nicecf.views.words.check import TextCheck
    from nicecf.views.words.codes import ReasonCodes
    from nicecf.views.words.wording import Wording


@dataclass(frozen=True)
class Change:
    """One feature that differs between a row and its counterfactual.

    ``probability`` is that of the counterfactual's class once this change and all earlier ones are made. ``derived``:
    it follows from other changes, by ``Constraints(derived=...)``, and is not counted among them.
    """

    feature: Hashable
    before: CellValue
    after: CellValue
    step: int
    probability: float
    derived: bool = False

    def __str__(self) -> str:
        """``age: 39 -> 41``, or with ``(follows)`` behind it."""
        from nicecf.views import listing

        return listing.change_line(self)


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """One explanation: what would have to be different for the decision to change."""

    batch: Batch
    wording: Wording | None = None

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.batch.counted.found[0])

    @property
    def reason(self) -> str | None:
        """Why there is none, in words."""
        reason = self.batch.reasons[0]
        return None if reason is None else english(reason)

    @property
    def relaxation(self) -> Relaxation | None:
        """Which rule to relax for there to be one, if one is enough."""
        relaxation: Relaxation | None = self.batch.relaxations[0]
        return relaxation

    @property
    def note(self) -> str | None:
        """Where less was done than asked for, or the row has values that training never saw, in words."""
        return in_english(self.batch.notes[0]) or None

    @property
    def search(self) -> str | None:
        """How the search went, in words, where not all hybrids or donors were looked at."""
        return in_english(self.batch.search[0]) or None

    @property
    def proof(self) -> str:
        """What is proven of it: ``"optimal"``, ``"infeasible"``, ``"bound"`` or ``"none"``; see `Counterfactuals`."""
        return str(self.batch.proofs[0].status)

    @property
    def gap(self) -> float:
        """By which share of its cost it could be better at most: 0 if it is optimal, NaN if that is not known."""
        return float(self.batch.proofs[0].gap)

    @property
    def donor(self) -> int | None:
        """The position of the donor in the training data."""
        donor = self.batch.donors[0]
        return None if donor is pd.NA else int(donor)

    @property
    def predicted(self) -> Label:
        """The model's decision on the row; its score, if the target is scores."""
        return self.batch.predicted[0] if self.batch.target is None else self.probability_before

    @property
    def predicted_after(self) -> Label:
        """The model's decision on the counterfactual, or its score."""
        return self.batch.predicted_after[0] if self.batch.target is None else self.probability

    @property
    def probability_before(self) -> float:
        """The probability of the decision on the row."""
        return float(self.batch.before.probability[0])

    @property
    def probability(self) -> float:
        """The probability of the decision on the counterfactual."""
        return float(self.batch.probability[0])

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes, in the order of the walk, and what follows from them (``derived``)."""
        return changes_of(self.batch)[0]

    def boxes(self) -> pd.DataFrame:
        """For each changed feature the values with which the answer still holds: see :meth:`Counterfactuals.boxes`."""
        return boxes_table(self.batch.answers)

    def to_frame(self) -> Table:
        """The counterfactual as a frame of one row."""
        return self.batch.to_frame()

    def to_record(self, *, boxes: bool = False) -> Record:
        """The record of this explanation for an audit: its line in ``cfs.to_records()``."""
        return records_of(self.batch.answers, boxes=boxes)[0]

    def to_numpy(self) -> Table:
        """The counterfactual as an array of one row."""
        return self.batch.to_numpy()

    def metrics(
        self,
        reference: Reference | None = None,
        *,
        model: object = None,
        other_model: object = None,
        decision: object = None,
    ) -> pd.DataFrame:
        """The line of this row in ``cfs.metrics(...)``."""
        return metrics_table(self.batch, reference, model=model, other_model=other_model, decision=decision)

    def text(self, style: Style = "sentence", *, wording: Wording | None = None) -> str:
        """The explanation in words; what matters most comes first.

        ``style``: "sentence"; "bullets", one line for each change; "analyst", dense, with steps, probabilities and
        shares of the distance; "letter", the plain one of :meth:`letter`, for the person concerned.
        ``wording``: a :class:`nicecf.Wording` with names, units and the language.

        Numbers have the decimals of their column, or as many more as the decision needs: whoever puts them into the row
        gets the decision that the text names. Where numbers must be shortened, the model is asked about that. A result
        that was pickled has no model to ask, and shows all digits.
        """
        from nicecf.views import words

        return words.texts(self.batch, style, self.wording if wording is None else wording)[0]

    def letter(
        self,
        template: str | os.PathLike[str] = "plain",
        *,
        wording: Wording | None = None,
        fields: Mapping[str, str] | None = None,
        principal_reasons: Sequence[str] | None = None,
        codes: ReasonCodes | Mapping[tuple[Hashable, str], tuple[str, str]] | None = None,
    ) -> str:
        """The letter of this explanation: see :meth:`Counterfactuals.letters`."""
        from nicecf.views.words.letters import letters

        reasons = None if principal_reasons is None else [principal_reasons]
        wording = self.wording if wording is None else wording
        return letters(self.batch, template, wording, fields=fields, principal_reasons=reasons, codes=codes)[0]

    def check_text(self, text: str, *, wording: Wording | None = None) -> TextCheck:
        """Whether a text that somebody else wrote is true of this explanation: a person, or a language model.

        Every number and category in it must be the row's or the counterfactual's, and the values that it states, put
        into the row, must still turn the decision: the model is asked. The result is true if nothing is wrong, and
        its ``problems`` say what is wrong, and where.
        """
        from nicecf.views.words.check import check_text

        return check_text(self.batch, text, self.wording if wording is None else wording)

    def plot(
        self,
        kind: Literal["changes", "walk", "pareto", "regions"] = "changes",
        *,
        dark: bool = False,
        wording: Wording | None = None,
    ) -> Picture:
        """The explanation as a picture: see :mod:`nicecf.plots`, whose functions have the names of the kinds.

        ``dark``: for a dark page. ``wording``: a :class:`nicecf.Wording` with names and units.
        """
        from nicecf.views import plots

        return plots.plot_one(self, kind, dark=dark, wording=self.wording if wording is None else wording)

    def __repr__(self) -> str:
        """The sentence, the changes as a table, and the note. The model is not asked: numbers may have all digits."""
        from nicecf.views import listing

        return listing.one_as_text(self.batch, self.wording)

    def _repr_html_(self) -> str:
        from nicecf.views import notebook

        return notebook.one_as_html(self.batch, self.wording)


def changes_of(batch: Batch) -> list[tuple[Change, ...]]:
    """The changes of each entry, in the order of its walk."""
    table = batch.changes
    columns = (table[name].tolist() for name in ("feature", "before", "after", "step", "probability"))
    derived = batch.is_derived[batch.steps.feature].tolist()
    changes = [Change(*values) for values in zip(*columns, derived, strict=True)]
    return [tuple(changes[start:end]) for start, end in pairwise(batch.steps.starts.tolist())]
