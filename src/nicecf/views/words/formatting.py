"""Explanations cut into their parts, each of them in words: what the styles of a text put together."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from nicecf.results.batch import OUT_OF_TIME, Batch, picked
from nicecf.results.box import Box
from nicecf.rules.expressions import Relation
from nicecf.rules.relaxations import Relaxation
from nicecf.support.formats import one_line, readable
from nicecf.support.phrases import Features, Statement
from nicecf.support.types import Ints
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.importance import by_importance, parts_of
from nicecf.views.words.line import lines_of
from nicecf.views.words.proven import formatted_proofs
from nicecf.views.words.regions import formatted_regions
from nicecf.views.words.rounding import FormattedNumber, formatted_numbers

# What stands between the name of a category and one of its values, where each has a column of its own.
_BETWEEN = "_=.:-/| "


@dataclass(frozen=True)
class FormattedChange:
    """A change, said; ``column``: the feature as the table calls it.

    ``goes``: 1 for a number or a date that goes up, -1 for one that goes down, else 0. ``is_together``: it is one
    change with the one before it, such as two columns of one category; ``whole``: such a category as one change, at
    the first of its columns. ``number``: its digits, if it is one, before they are put in the manner of a language.
    ``example``: the new value itself, where ``after`` says what it may be.
    """

    feature: str
    before: str
    after: str
    column: Hashable = None
    goes: int = 0
    step: int = 0
    chance: str = ""
    share: str = ""
    is_together: bool = False
    whole: FormattedChange | None = None
    number: FormattedNumber | None = None
    example: str | None = None


@dataclass(frozen=True)
class FormattedExplanation:
    """An explanation, said: the parts that the styles put together.

    ``derived``: what follows from the changes. ``obstacle``: the reason as a letter says it, without the names of
    features that may not change at all; ``named_obstacle``: with them. ``is_score``: a chance
    is a score, and the decision whether it lies in the target; ``out_of_reach``: the target, if it does not.
    ``quantity``: what every chance here is of, the same before and after, "" for scores; ``quantity_of``: the class
    it is the probability of; ``line``: what decides, where that has to be said. ``is_same``: the decision stays
    as it is, and what changes is that it meets all that was asked for. ``target``: the decision that was asked for, if
    it was a certain one. ``proof``: what is proven of it, a sentence, where that was asked for. ``is_cut``: the search
    ended before it was complete, as its time was up.
    """

    is_found: bool
    decision: str
    chance: str
    other: str
    other_chance: str
    changes: tuple[FormattedChange, ...]
    distance: str
    donor: str | None
    reason: str
    obstacle: str
    note: str | None
    derived: tuple[FormattedChange, ...] = ()
    is_score: bool = False
    out_of_reach: str | None = None
    quantity: str = ""
    quantity_of: str = ""
    line: str = ""
    is_same: bool = False
    target: str | None = None
    proof: str | None = None
    named_obstacle: str = ""
    is_cut: bool = False

    @property
    def n_changes(self) -> int:
        """How many changes there are; what changes together is one."""
        return sum(not each.is_together for each in self.changes)

    @property
    def outcome(self) -> dict[str, str]:
        """What is said of the decision, as fields of a phrase."""
        return {
            "decision": self.decision,
            "chance": self.chance,
            "other": self.other,
            "other_chance": self.other_chance,
            "quantity": self.quantity,
            "quantity_of": self.quantity_of,
        }


def formatted(
    batch: Batch, formatter: Formatter, *, ask: bool, boxes: Sequence[Box | None] | None = None
) -> list[FormattedExplanation]:
    """Return the explanations in parts. ``ask``: whether the model may be asked how far numbers can be rounded.

    ``boxes``: of each entry, to be stated; then no number is rounded.
    """
    changes, derived = _formatted_changes(batch, formatter, ask=ask and boxes is None, boxes=boxes)
    labels = [formatter.label(label) for label in batch.classes]
    proofs, lines = formatted_proofs(batch, formatter.wording), lines_of(batch)
    told: list[dict[str, str]] = [{} for _ in range(len(batch))]
    is_cut = batch.is_cut
    if lines is None:
        now, then = (formatter.chances(one.probability, batch.target) for one in (batch.before, batch.after))
    else:
        every = lines.all()
        now, then = ([formatter.percentage(getattr(one, when)) for one in every] for when in ("before", "after"))
        told = [formatter.told(one) for one in every]
    return [
        FormattedExplanation(
            is_found=bool(batch.found[i]),
            decision=labels[batch.before.decided[i]],
            chance=now[i],
            other=labels[batch.after.decided[i]],
            other_chance=_at_example(then[i], changes[i], formatter),
            changes=changes[i],
            distance=formatter.number(f"{batch.distances[i]:.3g}"),
            donor=_formatted_donor(batch, i, formatter),
            reason="" if batch.reasons[i] is None else formatter.statement(batch.reasons[i]),
            obstacle=_obstacle(batch, i, formatter, is_cut=is_cut[i], names_immutable=False),
            named_obstacle=_obstacle(batch, i, formatter, is_cut=is_cut[i], names_immutable=True),
            is_cut=bool(is_cut[i]),
            note=formatter.statement(*batch.notes[i]) or None,
            derived=derived[i],
            is_score=batch.target is not None,
            out_of_reach=labels[1] if batch.is_best_effort else None,
            is_same=bool(changes[i] and batch.target is None and batch.before.decided[i] == batch.after.decided[i]),
            target=_asked_for(batch, i, formatter),
            proof=proofs[i],
            **told[i],
        )
        for i in range(len(batch))
    ]


def _at_example(chance: str, changes: tuple[FormattedChange, ...], formatter: Formatter) -> str:
    """A chance; where changes may be any of several values, with those that it is of."""
    some = [each for each in changes if each.example is not None]
    if not some:
        return chance
    say = formatter.wording.say
    named = [say("region.example", feature=each.feature, value=each.example) for each in some]
    values = named if len(some) > 1 else [str(each.example) for each in some]
    return say("region.chance", chance=chance, values=formatter.wording.listed(values))


def _asked_for(batch: Batch, i: int, formatter: Formatter) -> str | None:
    """The decision that was asked for, or several of them; None if any other would do."""
    asked = batch.provenance.call_of(int(batch.rows[i]))["target_class"]
    if batch.target is not None or asked == "other":
        return None
    labels = asked if isinstance(asked, list) else [asked]
    return formatter.wording.phrases["statement.or"].join(formatter.label(label) for label in labels)


def _formatted_donor(batch: Batch, i: int, formatter: Formatter) -> str | None:
    """The position of the donor; of several, each with the feature it is for. None if there is nothing to tell."""
    if batch.donors[i] is not pd.NA:
        return str(batch.donors[i])
    features = np.flatnonzero(batch.held[i] >= 0)
    several = [f"{batch.held[i, j]} ({formatter.name(batch.schema.names[j])})" for j in features]
    return ", ".join(several) or None


def _obstacle(batch: Batch, i: int, formatter: Formatter, *, is_cut: bool, names_immutable: bool) -> str:
    if batch.reasons[i] is None:
        return ""
    if is_cut:  # what stands in the way is known only of a search that was complete
        return formatter.wording.say("letter.none_in_time")
    relaxation = batch.relaxations[i]
    if relaxation is not None and not names_immutable and _is_about_immutable(relaxation):
        return formatter.wording.say("letter.none_by_limits")
    return obstacle(batch.reasons[i].kind, relaxation, formatter)


def _is_about_immutable(relaxation: Relaxation) -> bool:
    """Return whether the rule in the way is that a feature may not change at all, or names such a feature."""
    fields, immutable = relaxation.blocks.fields, relaxation.constraints.immutable if relaxation.constraints else ()
    named = [one for value in fields.values() if isinstance(value, Features) for one in value.names]
    if "relation" in fields:
        named += Relation.parse(str(fields["relation"])).columns
    return relaxation.blocks.kind in ("immutable", "contradiction") or any(one in immutable for one in named)


def obstacle(kind: str, relaxation: Relaxation | None, formatter: Formatter) -> str:
    """Why there is no counterfactual, for the person concerned: without words that only a data scientist knows."""
    say = formatter.wording.say
    if relaxation is None:
        phrase = next((phrase for phrase, kinds in _OBSTACLES.items() if kind in kinds), "letter.none_by_method")
        return say(phrase)
    is_not_the_readers = relaxation.blocks.kind in _NOT_THE_READERS
    rule = formatter.statement(for_people(relaxation.blocks, formatter))
    return say("letter.blocked_for_now" if is_not_the_readers else "letter.blocked", rule=rule)


def for_people(rule: Statement, formatter: Formatter) -> Statement:
    """Return a rule as it is said to those who know nothing of models and options."""
    own = f"letter.rule_{rule.kind}"
    return Statement(own, rule.fields) if own in formatter.wording.phrases else rule


# Rules about models and training data: to relax one is nothing that a letter can speak of.
_NOT_THE_READERS = ("robust_to", "min_count", "min_probability")
# Kinds of reasons, by what a letter says of them.
_OBSTACLES = {
    "letter.none_like_this": ("no_donor", "no_score", "not_justified"),
    # Of a result that was read from a file, which rules these are is not known.
    "letter.none_by_limits": ("blocked", "blocked_by_each", "too_rare", "under_rules", "infeasible_under"),
    "letter.none_within_limits": ("not_enough", "not_enough_nearest"),
    "letter.none_to_share": ("kept_back",),
    "letter.none_contradiction": (
        *("contradicts_derived", "contradicts_itself", "contradicts_unnamed"),
        *("not_computed", "breaks_relation"),
    ),
    "letter.none_in_time": OUT_OF_TIME,
}


Said: TypeAlias = list[tuple[FormattedChange, ...]]


def _formatted_changes(
    batch: Batch, formatter: Formatter, *, ask: bool, boxes: Sequence[Box | None] | None
) -> tuple[Said, Said]:
    """The changes of each row in words, what matters most first; and what follows from them."""
    order = by_importance(batch)
    each = _each_formatted(batch, formatter, order, ask=ask, boxes=boxes)
    starts = batch.steps.starts
    ends = starts[1:] - np.bincount(batch.steps.row()[batch.is_derived[batch.steps.feature]], minlength=len(batch))
    spans = [(starts[:-1], ends), (ends, starts[1:])]
    changes, derived = ([tuple(each[a:b]) for a, b in zip(*span, strict=True)] for span in spans)
    return changes, [_nameable(some, batch, i) if some else () for i, some in enumerate(derived)]


def _nameable(derived: tuple[FormattedChange, ...], batch: Batch, entry: int) -> tuple[FormattedChange, ...]:
    """Return what follows from other values, where these were chosen by somebody, without what is protected."""
    protected = {batch.schema.names[j] for j in batch.protected(entry)}
    return tuple(one for one in derived if one.column not in protected)


def _each_formatted(
    batch: Batch, formatter: Formatter, order: Ints, *, ask: bool, boxes: Sequence[Box | None] | None
) -> list[FormattedChange]:
    """All changes in words, in an order in which those that are one stand together."""
    table, steps, line = batch.changes, batch.steps, batch.steps.row()
    numbers, parts = formatted_numbers(batch, ask=ask), parts_of(batch)
    distances = batch.distances[line]
    shares = np.divide(parts, distances, out=np.zeros_like(parts), where=distances > 0)
    share = formatter.chances(shares)
    lines = lines_of(batch)
    if lines is None:
        chance = formatter.chances(picked(steps.reached, batch.after.decided[line]), batch.target)
    else:
        chance = [formatter.percentage(one) for one in lines.steps()]
    feature, before, after, step = (table[name].tolist() for name in ("feature", "before", "after", "step"))
    ups = np.sign(batch.after.values[line, steps.feature] - batch.before.values[line, steps.feature])
    is_ordered = ~batch.schema.by_equality[steps.feature] & ~np.isnan(ups)
    # A column of a category that is spread over several does not go up or down.
    is_ordered &= ~batch.is_together[steps.feature]
    goes = np.where(is_ordered, ups, 0).astype(int).tolist()
    is_together = _are_together(batch, order)
    wholes = _wholes(batch, formatter, order, is_together)
    pairs = [formatter.pair(*one) for one in zip(feature, before, after, numbers, strict=True)]
    regions: list[str | None] = [None] * len(pairs)
    if boxes is not None or (ask and formatter.wording.regions and not batch.is_best_effort):
        regions = formatted_regions(batch, formatter, numbers, boxes)
    return [
        FormattedChange(
            formatter.name(feature[at]),
            pairs[at][0],
            regions[at] or pairs[at][1],
            column=feature[at],
            goes=goes[at],
            step=step[at],
            chance=chance[at],
            share=share[at],
            is_together=together,
            whole=wholes.get(at),
            number=numbers[at],
            example=None if regions[at] is None else pairs[at][1],
        )
        for at, together in zip(order.tolist(), is_together, strict=True)
    ]


def _wholes(batch: Batch, formatter: Formatter, order: Ints, is_together: list[bool]) -> dict[int, FormattedChange]:
    """Categories that have a column for each of their values, as one change: by the first of the two that change."""
    found: dict[int, FormattedChange] = {}
    features, changes = batch.steps.feature, batch.changes
    for place in np.flatnonzero(is_together).tolist():
        first, second = int(order[place - 1]), int(order[place])
        is_pair = not is_together[place - 1] and not (place + 1 < len(order) and is_together[place + 1])
        before, after = ([changes[name].iat[at] for at in (first, second)] for name in ("before", "after"))
        if not (is_pair and before == [1, 0] and after == [0, 1]):
            continue
        is_member = batch.units == batch.units[features[first]]
        members = [str(name) for name, of_it in zip(batch.schema.names, is_member, strict=True) if of_it]
        stem = _stem(members)
        names = [changes["feature"].iat[at] for at in (first, second)]
        if stem and all(formatter.wording.given_name(name) is None for name in names):
            values = [formatter.text(str(name).removeprefix(stem)) for name in names]
            feature = readable(one_line(stem.rstrip(_BETWEEN)))
            found[first] = FormattedChange(feature, values[0], values[1], column=stem.rstrip(_BETWEEN))
    return found


def _stem(names: list[str]) -> str:
    """What the names of a category's columns begin with, up to a mark between it and the value; else nothing.

    >>> _stem(["home_own", "home_other"]), _stem(["job=clerk", "job=chef"]), _stem(["red", "rest"])
    ('home_', 'job=', '')
    """
    common = os.path.commonprefix(names)  # noqa: RUF071  # names, not paths
    stem = common[: max(common.rfind(mark) for mark in _BETWEEN) + 1]
    return stem if stem.rstrip(_BETWEEN) and all(len(name) > len(stem) for name in names) else ""


def _are_together(batch: Batch, order: Ints) -> list[bool]:
    """Whether each change is one with that before it."""
    line, unit = batch.steps.row()[order], batch.units[batch.steps.feature[order]]
    is_same = (line[1:] == line[:-1]) & (unit[1:] == unit[:-1]) & (unit[1:] >= 0)
    return [False, *is_same.tolist()][: len(order)]
