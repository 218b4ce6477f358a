"""Explanations as JSON, row by row."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.results.batch import Batch
from nicecf.results.box import Box, Side
from nicecf.results.boxes import each_box, held
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.results.records import feature_keys
from nicecf.service.display import Display
from nicecf.service.messages import Parameters
from nicecf.service.rows import RowReader
from nicecf.support.clock import now
from nicecf.support.types import Bools, Json
from nicecf.tables.files.json_lines import json_cell
from nicecf.views import words
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedExplanation, formatted
from nicecf.views.words.what_if import what_if_sentence
from nicecf.views.words.wording import Wording

log = logging.getLogger("nicecf.service")


@dataclass(frozen=True, eq=False)
class Answers:
    """What one call gave: JSON for each row, or one page; how many were not found; what the model was asked.

    Rows whose search was stopped early do not count as not found.
    """

    explanations: list[Json]
    n_not_found: int
    n_stopped_early: int
    model_calls: int
    model_rows: int


def answers_of(
    cfs: Counterfactuals,
    reader: RowReader,
    n_rows: int,
    parameters: Parameters,
    wording: Wording | None,
    *,
    are_chosen: bool = False,
    deadline: float = np.inf,
) -> Answers:
    """The answers for the rows of one call.

    ``are_chosen``: somebody chose the other values, and nothing was searched for; those found are what was asked for.
    ``deadline``: when no more regions are looked for.
    """
    explanations = _Telling(cfs, reader, parameters, wording, are_chosen, deadline).explanations(n_rows)
    answers = counted(cfs, explanations, n_rows)
    return replace(answers, n_not_found=0) if are_chosen else answers


def counted(cfs: Counterfactuals, explanations: list[Json], n_rows: int) -> Answers:
    """Answers, with what is measured of them."""
    is_stopped = cfs.batch.is_cut
    n_not_found = n_rows - len(set(cfs.rows[cfs.found | is_stopped].tolist()))
    return Answers(explanations, n_not_found, len(set(cfs.rows[is_stopped].tolist())), cfs.model_calls, cfs.model_rows)


@dataclass(frozen=True, eq=False)
class _Telling:
    """A result on its way into JSON, with all that a request asks for."""

    cfs: Counterfactuals
    reader: RowReader
    asked: Parameters
    wording: Wording | None
    are_chosen: bool
    deadline: float

    @property
    def batch(self) -> Batch:
        """What was found."""
        return self.cfs.batch

    @cached_property
    def formatter(self) -> Formatter:
        """What puts it into words."""
        return Formatter.of(self.batch, self.wording)

    @cached_property
    def is_stopped(self) -> Bools:
        """Whether the search for each entry ended before it was complete."""
        return self.batch.is_cut

    @cached_property
    def display(self) -> Display:
        """What a page shows of it."""
        return Display(self.batch, self.formatter, self.are_chosen)

    @cached_property
    def boxes(self) -> list[Box | None] | None:
        """The box of each entry, None if there was no time for it; None in all if regions are not wanted."""
        if "regions" not in self.asked.include:
            return None
        boxes: list[Box | None] = []
        try:
            if now() < self.deadline:
                for box in each_box(self.batch):
                    boxes.append(box)
                    if now() >= self.deadline:
                        break
        except ModelError as error:  # the answers are there without them
            log.warning("regions could not be found: %s", error)
        return [*boxes, *[None] * (len(self.batch) - len(boxes))]

    @cached_property
    def keys(self) -> list[str]:
        """The features as requests name them."""
        return feature_keys(self.batch.schema.names)

    def explanations(self, n_rows: int) -> list[Json]:
        """One for each row, with all its counterfactuals."""
        batch, asked = self.batch, self.asked
        # A page is to answer at once: how far numbers can be rounded, the model would have to be asked. What somebody
        # chose is said as it was chosen.
        said = formatted(batch, self.formatter, ask=not asked.display and not self.are_chosen, boxes=self.boxes)
        # What a page shows has the new values themselves, and what they may be beside them.
        shown = formatted(batch, self.formatter, ask=False) if asked.display and self.boxes is not None else said
        values = self.reader.shown(batch.filled, len(batch))
        records = self.cfs.to_records() if asked.record else None
        strengths = self.cfs.strengths if asked.plans else None
        explained: list[dict[str, Any]] = [{} for _ in range(n_rows)]
        for at, row in enumerate(batch.rows.tolist()):
            if not explained[row]:
                explained[row] = self._outcome(at, said[at], shown[at])
            if not explained[row]["found"]:
                continue
            one = self._counterfactual(at, values[at], said[at], shown[at])
            if strengths is not None:
                one |= {"strengths": strengths[at], "n_changes": int(batch.n_changes[at])}
                one |= {"distance": float(batch.distances[at]), "error": _number(batch.errors[at])}
            if records is not None:
                one["record"] = records[at]
            explained[row]["counterfactuals"].append(one)
        return list(explained)

    def _outcome(self, at: int, said: FormattedExplanation, shown: FormattedExplanation) -> dict[str, Any]:
        """What holds for a row, whatever was found."""
        batch, reason = self.batch, self.batch.reasons[at]
        is_found = reason is None if self.are_chosen else bool(batch.found[at])
        return {
            "found": is_found,
            **({"stopped_early": True} if self.is_stopped[at] else {}),
            **_decided(batch, batch.before.decided[at], batch.before.probability[at]),
            "text": self._sentence(said),
            "counterfactuals": [],
            "reason": None if reason is None else self.formatter.statement(reason),
            "notes": [self.formatter.statement(one) for one in batch.notes[at]],
            **({} if self.are_chosen else _proven(batch, int(batch.rows[at]))),
            **({"letter": self.letters.get(at)} if self.asked.letter and not is_found else {}),
            **({"display": self.display.of_row(at, shown)} if self.asked.display else {}),
        }

    def _counterfactual(
        self, at: int, values: dict[str, Json], said: FormattedExplanation, shown: FormattedExplanation
    ) -> dict[str, Any]:
        batch = self.batch
        changes = batch.changes.iloc[batch.steps.starts[at] : batch.steps.starts[at + 1]]
        derived = changes["derived"].tolist() if "derived" in changes else [False] * len(changes)
        cells = zip(changes["feature"], changes["before"], changes["after"], derived, strict=True)
        return {
            **_decided(batch, batch.after.decided[at], batch.after.probability[at]),
            **({"reached": bool(batch.found[at])} if self.are_chosen else {}),
            "values": values,
            "changes": [
                {
                    "feature": str(feature),
                    "before": json_cell(before),
                    "after": json_cell(after),
                    **({"derived": True} if is_derived else {}),
                }
                for feature, before, after, is_derived in cells
            ],
            "text": self._sentence(said),
            **({"letter": self.letters.get(at)} if self.asked.letter else {}),
            **({} if self.boxes is None else {"regions": self._region(at, self.boxes[at])}),
            **({"display": self._display(at, said, shown)} if self.asked.display else {}),
        }

    def _display(self, at: int, said: FormattedExplanation, shown: FormattedExplanation) -> dict[str, Any]:
        """Return what a page shows of a counterfactual; with what each new value may be, if that is wanted."""
        display = self.display.of_counterfactual(at, shown)
        if self.boxes is not None:
            for change, in_words in zip(display["changes"], said.changes, strict=True):
                change["region"] = None if in_words.example is None else in_words.after
        return display

    def _region(self, at: int, box: Box | None) -> Json:
        if box is None:
            return None
        return {"proof": box.proof, "features": {self.keys[one.feature]: self._side(at, one) for one in box.sides}}

    def _side(self, at: int, side: Side) -> dict[str, Json]:
        """Return what a feature may be: a number or a date lies between two values, null for an open end."""

        def cell(value: float) -> Json:
            return json_cell(held(self.batch, at, side.feature, value))

        if side.codes is not None:
            return {"low": None, "high": None, "values": [cell(code) for code in side.codes]}
        if np.isnan(side.low):
            return {"low": None, "high": None, "values": [None]}
        low, high = (cell(end) if np.isfinite(end) else None for end in (side.low, side.high))
        return {"low": low, "high": high, "values": None}

    def _sentence(self, said: FormattedExplanation) -> str:
        if self.are_chosen:
            return what_if_sentence(said, self.formatter.wording)
        return words.in_style(said, "sentence", self.formatter.wording)

    @cached_property
    def letters(self) -> dict[int, str]:
        """The letter about each entry; of values that somebody chose there is one only if they are a counterfactual."""
        batch, found = self.batch, dict[int, str]()
        is_told = batch.found if self.are_chosen else np.ones(len(batch), dtype=bool)
        # One call for the first of all rows, one for the second, and so on: the model is asked a few times in each.
        for number in np.unique(batch.numbers).tolist():
            entries = np.flatnonzero(is_told & (batch.numbers == number))
            found |= zip(entries.tolist(), self.cfs[entries].letters(wording=self.wording), strict=True)
        return found


def _proven(batch: Batch, row: int) -> dict[str, Json]:
    """What is proven of the best answer of a row, or that it has none; nothing where nothing is."""
    proofs = (one for one in batch.proofs[batch.rows == row] if one.status != "none")
    return next(({"proof": one.status, "gap": _number(one.gap)} for one in proofs), {})


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _decided(batch: Batch, decided: int, probability: float) -> dict[str, Json]:
    """The decision and its probability; of a model that returns scores, the score."""
    if batch.target is not None:
        return {"score": float(probability)}
    return {"decision": json_cell(batch.classes[decided]), "probability": float(probability)}
