"""What a page shows of an explanation: names, values and the line to cross, as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from nicecf.models.criterion import percentages
from nicecf.results.batch import Batch
from nicecf.results.records import feature_keys
from nicecf.rules.relaxations import Relaxation
from nicecf.support.phrases import Features, Statement
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation
from nicecf.views.words.line import lines_of

Object: TypeAlias = dict[str, Any]

_HALF = 0.5


@dataclass(frozen=True, eq=False)
class Display:
    """A batch, as a page shows it in the words of a formatter."""

    batch: Batch
    formatter: Formatter

    def of_row(self, at: int, said: FormattedExplanation) -> Object:
        """What is shown of the row of an entry, whatever was found."""
        return {
            "decision": said.decision,
            "quantity": self._quantity(at, said),
            "obstacle": said.obstacle,
            "relaxation": self._relaxation(self.batch.relaxations[at]),
            "notes": [self.formatter.clauses(one) for one in self.batch.notes[at]],
        }

    def of_counterfactual(self, at: int, said: FormattedExplanation) -> Object:
        """What is shown of a counterfactual."""
        return {
            "decision": said.other,
            "quantity": self._quantity(at, said),
            "changes": [self._change(each) for each in said.changes],
            "derived": [self._change(each) for each in said.derived],
        }

    @cached_property
    def _keys(self) -> dict[Any, str]:
        names = self.batch.schema.names
        return dict(zip(names, feature_keys(names), strict=True))

    def _change(self, said: FormattedChange) -> Object:
        return {
            "feature": self._keys[said.column],
            "name": said.feature,
            "before": said.before,
            "after": said.after,
            "goes": said.goes,
            "together": said.is_together,
        }

    def _quantity(self, at: int, said: FormattedExplanation) -> Object:
        """The number that decides, before and after, and where the line is, if there is one to draw.

        Of a model of scores it is the score. Of two classes, of which the more probable is decided, it is the
        probability of the one that the row is not in: then all plans of a row are shown on one scale.
        """
        batch = self.batch
        if batch.target is not None:
            before, after = (float(one.probability[at]) for one in (batch.before, batch.after))
            ends = [one for one in (batch.target.low, batch.target.high) if np.isfinite(one)]
            texts = said.chance, said.other_chance
            return _shown(None, (before, after), texts, ends, self.formatter.label(batch.classes[1]))
        lines = lines_of(batch)
        if lines is None:
            label = 1 - int(batch.before.decided[at])
            before, after = (float(one.probabilities[at, label]) for one in (batch.before, batch.after))
            first, second = map(self.formatter.percentage, percentages(before, after, (_HALF,)))
            name = self.formatter.quantity(batch.classes[label])
            return _shown(name, (before, after), (first, second), [_HALF], "")
        of, cutoffs = lines.quantities
        label, least = int(of[at]), batch.criterion.least
        before, after = (float(one.probabilities[at, label]) for one in (batch.before, batch.after))
        limits = [] if np.isnan(cutoffs[at]) else [float(cutoffs[at])]
        limits += [] if least is None or not batch.found[at] else [least]
        return _shown(said.quantity, (before, after), (said.chance, said.other_chance), limits, said.line)

    def _relaxation(self, one: Relaxation | None) -> Object | None:
        """What could be relaxed; also which rule and features that is about, so that a page can do it."""
        if one is None:
            return None
        return {
            "rule": one.blocks.kind,
            "features": [self._keys[name] for name in _features_in(one.blocks) if name in self._keys],
            "blocks": self.formatter.clauses(one.blocks),
            "text": self.formatter.clauses(one.instead),
            "n_changes": one.n_changes,
        }


def _shown(
    name: str | None, numbers: tuple[float, float], texts: tuple[str, str], limits: list[float], line: str
) -> Object:
    """A quantity; without a name it is a score."""
    return {
        "name": name,
        "before": numbers[0],
        "after": numbers[1],
        "before_text": texts[0],
        "after_text": texts[1],
        "limits": limits,
        "line": line,
    }


def _features_in(statement: Statement) -> Iterator[Any]:
    for value in statement.fields.values():
        if isinstance(value, Features):
            yield from value.names
