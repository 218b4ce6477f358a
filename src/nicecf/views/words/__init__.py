"""Explanations for people: texts in four styles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from nicecf.results.batch import Batch
from nicecf.support.options import choose
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation, Formatter, formatted
from nicecf.views.words.wording import Wording

Style: TypeAlias = Literal["sentence", "bullets", "analyst", "letter"]

# More reasons than these do not help a reader; what would have to change is listed in full.
_MOST_REASONS = 4


def texts(batch: Batch, style: str = "sentence", wording: Wording | None = None, *, ask: bool = True) -> list[str]:
    """Explanations in words, one for each entry of a batch; what matters most comes first.

    Numbers have the decimals of their column, or as many more as the decision needs: the model is asked, at most a few
    times for all of them. Without ``ask`` it is not, and numbers longer than their column have all digits.
    """
    choose("style", style, get_args(Style))
    formatter = Formatter.of(batch, wording, is_letter=style == "letter")
    return [put(one, style, formatter.wording) for one in formatted(batch, formatter, ask=ask)]


def put(one: FormattedExplanation, style: str, wording: Wording) -> str:
    """The parts of an explanation, put together in a style that is known."""
    return _STYLES[style](one, wording)


def _say(one: FormattedExplanation, wording: Wording, phrase: str, **fields: object) -> str:
    """What a style says of the model: of its decision, or of its score and the target for it."""
    return wording.say(f"score.{phrase.replace('.', '_')}" if one.is_score else phrase, **fields)


def _sentence(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        return wording.say("sentence.not_found", reason=one.reason)
    if not one.changes:
        return _say(one, wording, "sentence.unchanged", decision=one.decision, chance=one.chance)
    changes = wording.listed([_put("sentence.change", each, wording) for each in one.changes])
    if one.derived:
        changes = wording.say("derived.sentence", changes=changes, derived=_derived(one, wording))
    if one.out_of_reach is not None:
        return _say(one, wording, "sentence.nearest", changes=changes, target=one.out_of_reach, **one.outcome)
    return _say(one, wording, "sentence.found", changes=changes, **one.outcome)


def _bullets(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        head = _say(one, wording, "bullets.not_found", decision=one.decision, chance=one.chance)
        return "\n".join([head, wording.say("bullets.reason", reason=one.reason)])
    if not one.changes:
        return _say(one, wording, "bullets.unchanged", decision=one.decision, chance=one.chance)
    if one.out_of_reach is not None:
        head = _say(one, wording, "bullets.nearest", target=one.out_of_reach, **one.outcome)
    elif one.n_changes == 1:
        head = _say(one, wording, "bullets.found_one", **one.outcome)
    else:
        head = _say(one, wording, "bullets.found", count=one.n_changes, **one.outcome)
    return "\n".join([head, *_lines("bullets.change", one, wording), *_follows("derived.bullets", one, wording)])


def _analyst(one: FormattedExplanation, wording: Wording) -> str:
    lines, number = [_analyst_head(one, wording)], 0
    for each in one.changes:
        number += not each.is_together
        line = _say(
            one,
            wording,
            "analyst.change",
            number=number,
            feature=each.feature,
            before=each.before,
            after=each.after,
            step=each.step,
            other=one.other,
            chance=each.chance,
            share=each.share,
        )
        lines.append(line)
    for each in one.derived:
        lines.append(_put("derived.analyst", each, wording))
    if one.note is not None:
        lines.append(wording.say("analyst.note", note=one.note))
    return "\n".join(lines)


def _analyst_head(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        return _say(one, wording, "analyst.not_found", decision=one.decision, chance=one.chance, reason=one.reason)
    if not one.changes:
        return _say(one, wording, "analyst.unchanged", decision=one.decision, chance=one.chance)
    donor = wording.phrases["analyst.no_donor"]
    if one.donor is not None:
        donor = wording.say("analyst.donor", position=one.donor)
    phrase, target = ("analyst.found", "") if one.out_of_reach is None else ("analyst.nearest", one.out_of_reach)
    return _say(
        one,
        wording,
        phrase,
        target=target,
        **one.outcome,
        other_chance_before=one.other_chance_before,
        changes=_counted(wording, "analyst.changes", one.n_changes),
        steps=_counted(wording, "analyst.steps", max(each.step for each in one.changes)),
        distance=one.distance,
        donor=donor,
    )


def _letter(one: FormattedExplanation, wording: Wording) -> str:
    phrases = wording.phrases
    parts = [_say(one, wording, "letter.title"), _say(one, wording, "letter.decision", decision=one.decision)]
    if not one.is_found:
        parts += [
            _say(one, wording, "letter.not_found"),
            _letter_obstacle(one, wording),
            phrases["letter.closing_of_none"],
        ]
    elif not one.changes:
        parts.append(_say(one, wording, "letter.unchanged"))
    else:
        parts += [_letter_reasons(one, wording), _letter_changes(one, wording), phrases["letter.closing"]]
    return "\n\n".join(parts)


def _letter_obstacle(one: FormattedExplanation, wording: Wording) -> str:
    if one.relaxation is None:
        return wording.say("letter.reason_of_none", reason=one.reason)
    rule, action = one.relaxation
    return wording.say("letter.blocked", rule=rule, action=action)


def _letter_reasons(one: FormattedExplanation, wording: Wording) -> str:
    """What the person can act on; what is calculated from it is told, but is no reason of its own."""
    reasons = []
    causes = [each for each in one.changes if not each.is_together]
    for number, each in enumerate(causes[:_MOST_REASONS], start=1):
        phrase = _REASONS[each.kind][each.direction + 1]
        reasons.append(wording.say(phrase, number=number, feature=each.feature, before=each.before))
    head = wording.phrases["letter.reasons_one" if len(reasons) == 1 else "letter.reasons"]
    now = [wording.say("derived.before", feature=each.feature, before=each.before) for each in one.derived]
    calculated = [wording.say("derived.letter_reasons", derived=wording.listed(now))] if now else []
    return "\n".join([head, *reasons, *calculated])


def _letter_changes(one: FormattedExplanation, wording: Wording) -> str:
    if one.out_of_reach is not None:
        head = _say(one, wording, "letter.nearest", target=one.out_of_reach)
    elif one.n_changes == 1:
        head = _say(one, wording, "letter.otherwise_one", other=one.other)
    else:
        head = _say(one, wording, "letter.otherwise", other=one.other, count=one.n_changes)
    follows = _follows("derived.letter_changes", one, wording)
    return "\n".join([head, *_lines("letter.change", one, wording), *follows])


def _lines(phrase: str, one: FormattedExplanation, wording: Wording) -> list[str]:
    """A line for each change: as many as are counted."""
    lines: list[str] = []
    for each in one.changes:
        if each.is_together:
            lines.append(_put("together.change", each, wording, change=lines.pop()))
        else:
            lines.append(_put(phrase, each, wording))
    return lines


def _put(phrase: str, each: FormattedChange, wording: Wording, **fields: str) -> str:
    return wording.say(phrase, feature=each.feature, before=each.before, after=each.after, **fields)


def _follows(phrase: str, one: FormattedExplanation, wording: Wording) -> list[str]:
    """A line about what follows from the changes, if anything does."""
    return [wording.say(phrase, derived=_derived(one, wording))] if one.derived else []


def _derived(one: FormattedExplanation, wording: Wording) -> str:
    return wording.listed([_put("derived.change", each, wording) for each in one.derived])


def _counted(wording: Wording, phrase: str, count: int) -> str:
    return wording.phrases[f"{phrase}_one"] if count == 1 else wording.say(phrase, count=count)


# Of what is too high, of what has no direction, and of what is too low.
_REASONS = {
    "number": ("letter.reason_high", "letter.reason", "letter.reason_low"),
    "date": ("date.reason_late", "letter.reason", "date.reason_early"),
    "duration": ("duration.reason_long", "letter.reason", "duration.reason_short"),
}

_STYLES: dict[str, Callable[[FormattedExplanation, Wording], str]] = {
    "sentence": _sentence,
    "bullets": _bullets,
    "analyst": _analyst,
    "letter": _letter,
}
