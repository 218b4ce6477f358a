"""What all styles of a text say in the same manner: the decision, and changes that are one."""

from __future__ import annotations

from nicecf.views.words.formatting import FormattedChange, FormattedExplanation
from nicecf.views.words.wording import Wording


def say(one: FormattedExplanation, wording: Wording, phrase: str, **fields: object) -> str:
    """Return a phrase about the model's decision, or about a score and its target.

    ``fields``: those beside what is said of the decision itself.
    """
    own = f"score.{phrase.replace('.', '_')}"
    line = {"line": wording.say("line.in_brackets", line=one.line) if one.line else ""}
    is_own = one.is_score and own in wording.phrases
    return wording.say(own if is_own else phrase, **(one.outcome | line | fields))


def named_chance(one: FormattedExplanation, wording: Wording, chance: str) -> str:
    """Return a probability of an explanation with the class that it is of; a score as it is."""
    if one.is_score:
        return chance
    return wording.say("line.of", quantity_of=one.quantity_of, chance=chance)


def units(one: FormattedExplanation) -> list[list[FormattedChange]]:
    """The changes; those that are one change stand together, or as one if they are one category in several columns."""
    found: list[list[FormattedChange]] = []
    for each in one.changes:
        if each.is_together:
            found[-1].append(each)
        else:
            found.append([each])
    return [[some[0].whole] if some[0].whole is not None else some for some in found]


def put(phrase: str, each: FormattedChange, wording: Wording, **fields: str) -> str:
    """A phrase about a change."""
    return wording.say(phrase, feature=each.feature, before=each.before, after=each.after, **fields)


def lines(phrase: str, one: FormattedExplanation, wording: Wording) -> list[str]:
    """A line for each change: as many as are counted."""
    found = []
    for first, *others in units(one):
        line = put(phrase, first, wording)
        for each in others:
            line = put("together.change", each, wording, change=line)
        found.append(line)
    return found


def follows(phrase: str, one: FormattedExplanation, wording: Wording) -> list[str]:
    """A line about what follows from the changes, if anything does."""
    return [wording.say(phrase, derived=derived(one, wording))] if one.derived else []


def changes_of(one: FormattedExplanation, wording: Wording) -> str:
    """All changes, and what follows from them, as part of a sentence."""
    changes = wording.listed([put("sentence.change", each, wording) for some in units(one) for each in some])
    if not one.derived:
        return changes
    return wording.say("derived.sentence", changes=changes, derived=derived(one, wording))


def derived(one: FormattedExplanation, wording: Wording) -> str:
    """What follows from the changes."""
    return wording.listed([put("derived.change", each, wording) for each in one.derived])
