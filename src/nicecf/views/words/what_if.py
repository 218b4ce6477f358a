"""What the model would say of values that somebody chose, in one sentence: it may well be the same."""

from __future__ import annotations

from nicecf.views.words.formatting import FormattedExplanation
from nicecf.views.words.saying import changes_of, say
from nicecf.views.words.wording import Wording


def what_if_sentence(one: FormattedExplanation, wording: Wording) -> str:
    """What the model would say of other values: another decision, or still the same; or why they cannot be."""
    kind = "score_" if one.is_score else ""
    if one.reason:
        return wording.say("what_if.impossible", reason=one.reason)
    if not one.changes:
        return say(one, wording, f"what_if.{kind}unchanged")
    if one.is_score or one.is_same:
        return say(one, wording, f"what_if.{kind}still", changes=changes_of(one, wording))
    return say(one, wording, "sentence.found", changes=changes_of(one, wording))
