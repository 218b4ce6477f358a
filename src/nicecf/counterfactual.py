"""One explanation, and each change in it: frozen values that print themselves."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from nicecf import metrics as measures
from nicecf import notebook, plots, words
from nicecf._typing import Floats, Ints
from nicecf.constraints import Relaxation
from nicecf.plots import Picture
from nicecf.records import records_of
from nicecf.words.wording import Wording

if TYPE_CHECKING:
    from nicecf.result import Counterfactuals


@dataclass(frozen=True)
class Change:
    """One feature that differs between a row and its counterfactual.

    ``probability`` is that of the counterfactual's class once this change and all earlier ones are made.
    """

    feature: Hashable
    before: Any
    after: Any
    step: int
    probability: float

    def __str__(self) -> str:
        """``age: 39 -> 41``."""
        return words.change(self)


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """One explanation: what would have to be different for the decision to change."""

    _batch: Counterfactuals

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self._batch.found[0])

    @property
    def reason(self) -> str | None:
        """Why there is none, in words."""
        reason: str | None = self._batch.reasons[0]
        return reason

    @property
    def relaxation(self) -> Relaxation | None:
        """Which rule to relax for there to be one, if one is enough."""
        relaxation: Relaxation | None = self._batch.relaxations[0]
        return relaxation

    @property
    def note(self) -> str | None:
        """Where less was done than asked for, in words."""
        note: str | None = self._batch.notes[0]
        return note

    @property
    def donor(self) -> int | None:
        """The position of the donor in the training data."""
        donor = self._batch.donors[0]
        return None if donor is pd.NA else int(donor)

    @property
    def predicted(self) -> Any:
        """The model's decision on the row."""
        return self._batch.predicted[0]

    @property
    def predicted_after(self) -> Any:
        """The model's decision on the counterfactual."""
        return self._batch.predicted_after[0]

    @property
    def probability_before(self) -> float:
        """The probability of the decision on the row."""
        return float(picked(self._batch._before, self._batch._decided)[0])

    @property
    def probability(self) -> float:
        """The probability of the decision on the counterfactual."""
        return float(self._batch.probability[0])

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes, in the order of the walk."""
        table = self._batch.changes()[["feature", "before", "after", "step", "probability"]]
        return tuple(
            Change(feature, before, after, int(step), float(probability))
            for feature, before, after, step, probability in table.itertuples(index=False)
        )

    def to_frame(self) -> Any:
        """The counterfactual as a frame of one row."""
        return self._batch.to_frame()

    def to_record(self) -> dict[str, Any]:
        """The record of this explanation for an audit: its line in ``cfs.to_records()``."""
        return records_of(self._batch)[0]

    def to_numpy(self) -> Any:
        """The counterfactual as an array of one row."""
        return self._batch.to_numpy()

    def metrics(
        self,
        reference: measures.Reference | None = None,
        *,
        model: Any = None,
        other_model: Any = None,
        decision: Any = None,
    ) -> pd.DataFrame:
        """The line of this row in ``cfs.metrics(...)``."""
        return self._batch.metrics(reference, model=model, other_model=other_model, decision=decision)

    def text(self, style: words.Style = "sentence", *, wording: Wording | None = None) -> str:
        """The explanation in words; what matters most comes first.

        ``style``: "sentence"; "bullets", one line for each change; "analyst", dense, with steps, probabilities and
        shares of the distance; "letter", reasons for the person concerned, without figures of the model.
        ``wording``: a :class:`nicecf.Wording` with names, units and the language.

        Numbers have the decimals of their column, or as many more as the decision needs: whoever puts them into the row
        gets the decision that the text names. Where numbers must be shortened, the model is asked about that. A result
        that was pickled has no model to ask, and says all digits.
        """
        return words.texts(self._batch, style, wording)[0]

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
        return plots.plot_one(self, kind, dark=dark, wording=wording)

    def __repr__(self) -> str:
        """The sentence, the changes as a table, and the note. The model is not asked: numbers may have all digits."""
        sentence = words.texts(self._batch, ask=False)[0]
        parts = [sentence, words.text_table(self) if self.changes else "", f"({self.note})" if self.note else ""]
        return "\n\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        sentence = words.texts(self._batch, ask=False)[0]
        return notebook.one_html(self, sentence, notebook.unchanged(self._batch))


def picked(probabilities: Floats, classes: Ints) -> Floats:
    """Of each line the probability of one class."""
    return np.asarray(probabilities[np.arange(len(classes)), classes])
