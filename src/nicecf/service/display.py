"""What a page shows of an explanation: names, values and the line to cross, as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from nicecf.models.criterion import percentages
from nicecf.results.batch import CUT_SHORT, Batch
from nicecf.results.records import feature_keys
from nicecf.rules.kinds import KINDS
from nicecf.rules.relaxations import Relaxation
from nicecf.support.phrases import Features, Statement
from nicecf.support.types import Floats, Ints
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation
from nicecf.views.words.importance import gains_of
from nicecf.views.words.line import Line, Lines
from nicecf.views.words.proven import is_to_prove, percent_at_most
from nicecf.views.words.rounding import digits

Object: TypeAlias = dict[str, Any]

_HALF = 0.5
_RULES = tuple(kind.name for kind in KINDS)
# Notes that name options, by the phrases that a page has for them; it asks for more plans than there need be.
_NOTES = {
    **dict.fromkeys((*CUT_SHORT, "row_limit"), "page.note_stopped"),
    "undecided": "page.note_undecided",
    "free_text": "page.note_free_text",
    "own_predict": "page.note_own_predict",
    "own_predict_of_another": "page.note_own_predict",
}
_NOT_SHOWN = ("fewer", "one_of")
# Reasons that limits stand in the way, of which to undo one does not help.
_SEVERAL = ("not_enough", "not_enough_nearest")


@dataclass(frozen=True, eq=False)
class Display:
    """A batch, as a page shows it in the words of a formatter; ``are_chosen``: of values that somebody chose."""

    batch: Batch
    formatter: Formatter
    are_chosen: bool = False

    def of_row(self, at: int, said: FormattedExplanation) -> Object:
        """What is shown of the row of an entry, whatever was found."""
        return {
            "decision": said.decision,
            "quantity": self._quantity(at, said),
            "obstacle": self._obstacle(at, said),
            "relaxation": self._relaxation(self.batch.relaxations[at]),
            "notes": [self._note(one) for one in self.batch.notes[at] if one.kind not in _NOT_SHOWN],
            "proof": self._proof(int(self.batch.rows[at])),
        }

    def of_counterfactual(self, at: int, said: FormattedExplanation) -> Object:
        """What is shown of a counterfactual."""
        return {
            "decision": said.other,
            "quantity": self._quantity(at, said),
            "changes": [
                {**self._change(each), "contribution": self._contributions[at].get(each.column, "")}
                for each in said.changes
            ],
            "derived": [self._change(each) for each in said.derived],
        }

    def _obstacle(self, at: int, said: FormattedExplanation) -> str:
        reason = self.batch.reasons[at]
        if self.are_chosen or reason is None:
            return ""
        return self.formatter.wording.say("page.blocked_by_several") if reason.kind in _SEVERAL else said.named_obstacle

    def _note(self, note: Statement) -> str:
        """Return a note for people, who do not know the options."""
        phrase = _NOTES.get(note.kind, note.phrase)
        fields = {} if phrase == "page.note_stopped" else note.fields
        return self.formatter.clauses(Statement(phrase, fields))

    def _proof(self, row: int) -> str:
        """Return what is proven of the best answer of a row, or that there is none; "" where nothing is proven."""
        if not is_to_prove(self.batch):
            return ""
        say, phrases = self.formatter.wording.say, self.formatter.wording.phrases
        for proof in self.batch.proofs[self.batch.rows == row]:
            if proof.status in ("optimal", "infeasible"):
                return say(
                    f"page.proof_{proof.objective or 'best'}" if proof.status == "optimal" else "page.proof_none"
                )
            if proof.status == "bound" and proof.gap < 1:
                return say("page.proof_bound", gap=percent_at_most(proof.gap, phrases))
        return ""

    @cached_property
    def _contributions(self) -> list[dict[Any, str]]:
        """How far each change of each entry moves the number that decides; nothing of values that somebody chose."""
        batch = self.batch
        if self.are_chosen:
            return [{} for _ in range(len(batch))]
        label = self._deciding
        gains = gains_of(batch, label, lambda values: values)
        return [
            self._told_contributions(slice(*batch.steps.starts[at : at + 2]), start, gains)
            for at, start in enumerate(batch.before.probabilities[np.arange(len(batch)), label].tolist())
        ]

    @property
    def _is_plain(self) -> bool:
        """Whether the more probable of two classes is decided; a page may have asked for more than that."""
        return replace(self.batch.criterion, least=None).is_plain

    @cached_property
    def _deciding(self) -> Ints:
        """The class of each entry whose probability, or the score that stands for it, is shown."""
        batch = self.batch
        if batch.target is not None:
            return batch.after.decided
        if not self._is_plain:
            return Lines(batch).quantities[0]
        is_same = (batch.after.decided == batch.before.decided) & (batch.n_changes > 0) & (not self.are_chosen)
        return np.where(is_same, batch.before.decided, 1 - batch.before.decided)

    def _plain_line(self, least: float | None) -> str:
        """Return the two lines of a plain decision, where more was asked for than to cross the one."""
        if least is None:
            return ""
        ends = (self.formatter.percentage(digits(100 * one)) for one in (_HALF, least))
        return self.formatter.wording.say("page.line_and_least", **dict(zip(("limit", "least"), ends, strict=True)))

    def _told_contributions(self, steps: slice, start: float, gains: Floats) -> dict[Any, str]:
        """Return what the changes of an entry add, in words; together they are the whole way, as it is shown."""
        whole = np.append(start, start + np.cumsum(gains[steps]))
        names = [self.batch.schema.names[feature] for feature in self.batch.steps.feature[steps].tolist()]
        amounts = self._amounts(whole, decimals=0)
        if any(not amount and gain for amount, gain in zip(amounts, gains[steps].tolist(), strict=True)):
            amounts = self._amounts(whole, decimals=1)
        return {name: self._contribution(amount) for name, amount in zip(names, amounts, strict=True)}

    def _amounts(self, whole: Floats, *, decimals: int) -> list[Decimal]:
        """Return the steps of a way, of which each end is rounded as it is shown."""
        target = self.batch.target
        texts = [f"{100 * one:.{decimals}f}" if target is None else target.text(one) for one in whole.tolist()]
        return [Decimal(then) - Decimal(now) for now, then in pairwise(texts)]

    def _contribution(self, amount: Decimal) -> str:
        phrases = self.formatter.wording.phrases
        sign = "±" if not amount else phrases["number.minus"] if amount < 0 else "+"
        number = f"{sign}{self.formatter.number(f'{abs(amount):f}')}"
        if self.batch.target is not None:
            return number
        return self.formatter.wording.say(f"page.points{'_one' if abs(amount) == 1 else ''}", number=number)

    @cached_property
    def _keys(self) -> dict[Any, str]:
        names = self.batch.schema.names
        return dict(zip(names, feature_keys(names), strict=True))

    def _key(self, feature: Any) -> str:
        """A feature as requests name it; rules may also count it."""
        return self._keys[self.batch.schema.names[self.batch.schema.position(feature, "rules")]]

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
        lines = Lines(batch)
        if self._is_plain:
            least = batch.criterion.least if said.changes else None
            limits = [_HALF] if least is None else [_HALF, least]
            return self._probability(at, int(self._deciding[at]), limits, self._plain_line(least))
        wanted = self._wanted(at) if self.are_chosen and not batch.found[at] else None
        if wanted is not None:
            one = batch.criterion
            line = Line(batch.classes[wanted], "", "", one.kind, None, one.least, one.n_more)
            limits = [] if one.least is None else [one.least]
            return self._probability(at, wanted, limits, self.formatter.clauses(*line.clauses))
        of, cutoffs = lines.quantities
        label, least = int(of[at]), batch.criterion.least
        before, after = (float(one.probabilities[at, label]) for one in (batch.before, batch.after))
        limits = [] if np.isnan(cutoffs[at]) else [float(cutoffs[at])]
        limits += [] if least is None or not batch.found[at] else [least]
        return _shown(said.quantity, (before, after), (said.chance, said.other_chance), limits, said.line)

    def _probability(self, at: int, label: int, limits: list[float], line: str) -> Object:
        """That of one class."""
        batch = self.batch
        before, after = (float(one.probabilities[at, label]) for one in (batch.before, batch.after))
        first, second = map(self.formatter.percentage, percentages(before, after, tuple(limits)))
        return _shown(self.formatter.quantity(batch.classes[label]), (before, after), (first, second), limits, line)

    def _wanted(self, at: int) -> int | None:
        """The class that is wanted of a row, if it is one alone, and no cut-off decides on another."""
        batch = self.batch
        asked = batch.provenance.call_of(int(batch.rows[at]))["target_class"]
        labels = batch.classes.tolist()
        places = [j for j in range(len(labels)) if j != batch.before.decided[at]]
        if asked != "other":
            places = [labels.index(one) for one in (asked if isinstance(asked, list) else [asked])]
        return places[0] if len(places) == 1 and batch.criterion.kind not in ("cutoff", "cutoffs") else None

    def _for_people(self, statement: Statement, section: str) -> Statement:
        """Return a rule, or what to do about it, without the names of options, where there is a phrase for that."""
        own = f"{section}_{statement.kind}"
        return Statement(own, statement.fields) if own in self.formatter.wording.phrases else statement

    def _relaxation(self, one: Relaxation | None) -> Object | None:
        """What could be relaxed; also which rule and features that is about, so that a page can do it."""
        if one is None:
            return None
        return {
            "rule": _parameter(one.blocks.kind),
            "features": [self._key(name) for name in _features_in(one.blocks)],
            "blocks": self.formatter.clauses(self._for_people(one.blocks, "letter.rule")),
            "text": self.formatter.clauses(self._for_people(one.instead, "page.relaxation")),
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


def _parameter(kind: str) -> str:
    """The rule that a phrase is about, as parameters and options call it.

    >>> _parameter("ranges_high"), _parameter("later"), _parameter("max_changes_one"), _parameter("min_count")
    ('ranges', 'increasing', 'max_changes', 'min_count')
    """
    kind = {"later": "increasing", "earlier": "decreasing"}.get(kind, kind)
    return next((one for one in _RULES if kind.startswith(f"{one}_")), kind)


def _features_in(statement: Statement) -> Iterator[Any]:
    for value in statement.fields.values():
        if isinstance(value, Features):
            yield from value.names
