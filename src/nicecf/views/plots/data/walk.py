"""The walk from a row to its counterfactual: the probability after each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.models.decision import Rule
from nicecf.models.scores import ScoreTarget
from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Counterfactual
from nicecf.support.types import Floats
from nicecf.views.plots.data.common import Caption, Explanation, Message, Step
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

_MOST_STEPS = 30
_MOST_CHANGES = 6


@dataclass(frozen=True)
class Stop:
    """Where the walk is after a step, with its changes and how many more there are; the row is number 0.

    ``decision`` is named where it is another than at the stop before; ``is_there``: it is the target.
    """

    number: int
    changes: tuple[Step, ...]
    n_more: int
    probability: float
    chance: str
    rival: float
    decision: str | None
    is_there: bool


@dataclass(frozen=True)
class Walk:
    """The probability of ``target`` at each stop, and that of ``rival``, the row's class, where there are others.

    Or the score, where the target is scores: ``limits`` are those of the axis, None for probabilities.
    ``threshold``: the target is decided on from there, as ``turn`` says; None where one number does not tell.
    ``folded``: how many steps are left out after the stop ``fold``.
    """

    caption: Caption
    target: str
    rival: str | None
    threshold: float | None
    turn: str
    stops: tuple[Stop, ...]
    fold: int | None
    folded: int
    teller: Teller
    limits: tuple[float, float] | None = None


def walk_of(one: Counterfactual, wording: Wording | None = None) -> Walk | Message:
    """The stops of a walk, the row first; beyond thirty steps those in the middle are left out."""
    this = Explanation.of(one, wording, who="walk()")
    teller = this.teller
    if this.nothing:
        return this.message(teller.say("plot.walk_title_of_none"))
    title = teller.say("plot.walk_title", target=this.target)
    batch = this.batch
    steps, target, own = batch.steps, batch.after.decided[0], batch.before.decided[0]
    numbers = np.unique(steps.step)
    reached = np.concatenate(
        [batch.before.probabilities[:1], *(steps.reached[np.flatnonzero(steps.step == n)[:1]] for n in numbers)]
    )
    decided = _decided(batch, reached)
    stops = [_stop(this, 0, (), reached[0], this.decided, is_there=False)]
    for i, number in enumerate(numbers, start=1):
        here = steps.feature[steps.step == number]
        changes = tuple(this.step(j) for j in this.made_to_change() if j in here)
        is_new = decided[i] != decided[i - 1]
        decision = this.formatter.label(decided[i]) if is_new else None
        stops.append(_stop(this, i, changes, reached[i], decision, is_there=decided[i] == int(target)))
    head = _MOST_STEPS // 2
    folded = max(len(stops) - 1 - _MOST_STEPS, 0)
    shown = stops[: head + 1] + stops[head + 1 + folded :] if folded else stops
    threshold = _threshold(batch)
    alt = teller.counted(
        "plot.walk_alt" if batch.target is None else "plot.walk_alt_score",
        len(stops) - 1,
        title=title,
        first=stops[0].chance,
        last=stops[-1].chance,
        changes=this.told(map(this.step, this.made_to_change()), 5),
    )
    follows = [teller.say("plot.walk_end", changes=this.told(this.derived(), 5))] if this.derived() else []
    return Walk(
        Caption(
            title,
            _heading(this),
            tuple(follows),
            alt,
        ),
        this.target,
        this.decided if len(batch.classes) > 2 and own != target else None,
        threshold,
        _turn(this, threshold),
        tuple(shown),
        head if folded else None,
        folded,
        teller,
        None if batch.target is None else _limits([*(stop.probability for stop in stops), *_bounds(batch.target)]),
    )


def _heading(this: Explanation) -> str:
    phrase = "plot.walk_subtitle" if this.batch.target is None else "plot.walk_subtitle_score"
    if this.batch.target is not None:
        return this.teller.say(phrase, target=this.target, now=this.now, then=this.then)
    # Both of the class that is drawn: the decision on the row has another.
    decided = this.batch.after.decided[0]
    now, then = (this.formatter.chance(one.probabilities[0, decided]) for one in (this.batch.before, this.batch.after))
    return this.teller.say(phrase, target=this.target, now=now, then=then)


def _turn(this: Explanation, threshold: float | None) -> str:
    """What is said of the line that must be crossed."""
    if threshold is None:
        return ""
    if this.batch.target is not None:
        return this.target
    return this.teller.say("plot.walk_turn", target=this.target, threshold=this.formatter.percent(threshold))


def _bounds(target: ScoreTarget) -> list[float]:
    return [bound for bound in target.given if bound is not None]


def _limits(values: list[float]) -> tuple[float, float]:
    """From below the lowest to above the highest, with some room; not below zero if nothing is."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or max(1.0, 0.06 * abs(high))
    return (max(low - room, 0.0) if low >= 0 else low - room), high + room


def _stop(
    this: Explanation, number: int, changes: tuple[Step, ...], reached: Floats, decision: str | None, *, is_there: bool
) -> Stop:
    probability = float(reached[this.batch.after.decided[0]])
    rival = float(reached[this.batch.before.decided[0]])
    shown = changes if len(changes) <= _MOST_CHANGES else changes[: _MOST_CHANGES - 1]
    n_more = len(changes) - len(shown)
    return Stop(number, shown, n_more, probability, this.formatter.chance(probability), rival, decision, is_there)


def _rule(batch: Batch) -> Rule | None:
    """How the model's probabilities become a decision, where that is known and nothing but they count."""
    maker = batch.provenance.maker
    rule = None if maker is None else maker.panel.members[0].rule
    return None if rule is None or rule.by_predict else rule


def _decided(batch: Batch, reached: Floats) -> list[int]:
    """The class decided on at each stop; where only the ends are known, the row's until the last."""
    before, after = int(batch.before.decided[0]), int(batch.after.decided[0])
    if batch.target is not None:
        return [int(one) for one in batch.target.holds(reached[:, 0])]
    rule = _rule(batch)
    if rule is None:
        return [*[before] * (len(reached) - 1), after]
    decided = [int(one) for one in rule.decide(reached, batch.classes)]
    return [before, *decided[1:-1], after]


def _threshold(batch: Batch) -> float | None:
    """From which probability on the target is decided on; None where it takes more than one number to say.

    Of scores, the bound of the target that is nearer to the row.
    """
    if batch.target is not None:
        own = float(batch.before.probability[0])
        return batch.target.low if own < batch.target.low else batch.target.high
    rule = _rule(batch)
    if rule is None or rule.function is not None or len(batch.classes) != 2:
        return None
    if rule.cutoffs is None:
        return 0.5
    target = int(batch.after.decided[0])
    own, other = float(rule.cutoffs[target]), float(rule.cutoffs[1 - target])
    if np.isnan(own) == np.isnan(other):
        return None
    return 1.0 - other if np.isnan(own) else own
