"""Explanations for people: texts in four styles, a line, a plain table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.options import choose
from nicecf.words.rounding import whole_percent
from nicecf.words.telling import Speaker, Told, told
from nicecf.words.wording import Wording, one_line

Style: TypeAlias = Literal["sentence", "bullets", "analyst", "letter"]

# More reasons than these do not help a reader; what would have to change is said in full.
_MOST_REASONS = 4


class Changed(Protocol):
    """What the words need to know of a change."""

    @property
    def feature(self) -> Hashable: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    @property
    def probability(self) -> float: ...


class Explained(Protocol):
    """What the words need to know of an explanation."""

    @property
    def found(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def predicted(self) -> Any: ...
    @property
    def predicted_after(self) -> Any: ...
    @property
    def probability_before(self) -> float: ...
    @property
    def probability(self) -> float: ...
    @property
    def changes(self) -> Sequence[Changed]: ...


def texts(cfs: Any, style: str = "sentence", wording: Wording | None = None, *, ask: bool = True) -> list[str]:
    """Explanations in words, one for each of some counterfactuals; what matters most comes first.

    Numbers have the decimals of their column, or as many more as the decision needs: the model is asked, at most a few
    times for all of them. Without ``ask`` it is not, and numbers longer than their column have all digits.
    """
    choose("style", style, get_args(Style))
    if wording is None:
        wording = Wording()
    if not isinstance(wording, Wording):
        raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
    wording.check(cfs._schema.names, cfs.classes)
    return [put(one, style, wording) for one in told(cfs, Speaker(wording, is_letter=style == "letter"), ask=ask)]


def put(one: Told, style: str, wording: Wording) -> str:
    """The parts of an explanation, put together in a style that is known."""
    return _STYLES[style](one, wording)


def _sentence(one: Told, wording: Wording) -> str:
    if not one.is_found:
        return wording.say("sentence.not_found", reason=one.reason)
    if not one.changes:
        return wording.say("sentence.unchanged", decision=one.decision, chance=one.chance)
    changes = wording.listed(_changes("sentence.change", one, wording))
    return wording.say("sentence.found", changes=changes, **one.outcome)


def _bullets(one: Told, wording: Wording) -> str:
    if not one.is_found:
        head = wording.say("bullets.not_found", decision=one.decision, chance=one.chance)
        return "\n".join([head, wording.say("bullets.reason", reason=one.reason)])
    if not one.changes:
        return wording.say("bullets.unchanged", decision=one.decision, chance=one.chance)
    if len(one.changes) == 1:
        head = wording.say("bullets.found_one", **one.outcome)
    else:
        head = wording.say("bullets.found", count=len(one.changes), **one.outcome)
    return "\n".join([head, *_changes("bullets.change", one, wording)])


def _analyst(one: Told, wording: Wording) -> str:
    lines = [_analyst_head(one, wording)]
    for number, each in enumerate(one.changes, start=1):
        line = wording.say(
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
    if one.note is not None:
        lines.append(wording.say("analyst.note", note=one.note))
    return "\n".join(lines)


def _analyst_head(one: Told, wording: Wording) -> str:
    if not one.is_found:
        return wording.say("analyst.not_found", decision=one.decision, chance=one.chance, reason=one.reason)
    if not one.changes:
        return wording.say("analyst.unchanged", decision=one.decision, chance=one.chance)
    donor = wording.phrases["analyst.no_donor"]
    if one.donor is not None:
        donor = wording.say("analyst.donor", position=one.donor)
    return wording.say(
        "analyst.found",
        **one.outcome,
        other_chance_before=one.other_chance_before,
        changes=_counted(wording, "analyst.changes", len(one.changes)),
        steps=_counted(wording, "analyst.steps", max(each.step for each in one.changes)),
        distance=one.distance,
        donor=donor,
    )


def _letter(one: Told, wording: Wording) -> str:
    phrases = wording.phrases
    parts = [phrases["letter.title"], wording.say("letter.decision", decision=one.decision)]
    if not one.is_found:
        parts += [phrases["letter.not_found"], _letter_obstacle(one, wording), phrases["letter.closing_of_none"]]
    elif not one.changes:
        parts.append(phrases["letter.unchanged"])
    else:
        parts += [_letter_reasons(one, wording), _letter_changes(one, wording), phrases["letter.closing"]]
    return "\n\n".join(parts)


def _letter_obstacle(one: Told, wording: Wording) -> str:
    if one.relaxation is None:
        return wording.say("letter.reason_of_none", reason=one.reason)
    rule, action = one.relaxation
    return wording.say("letter.blocked", rule=rule, action=action)


def _letter_reasons(one: Told, wording: Wording) -> str:
    reasons = []
    for number, each in enumerate(one.changes[:_MOST_REASONS], start=1):
        phrase = {-1: "letter.reason_high", 0: "letter.reason", 1: "letter.reason_low"}[each.direction]
        reasons.append(wording.say(phrase, number=number, feature=each.feature, before=each.before))
    return "\n".join([wording.phrases["letter.reasons_one" if len(reasons) == 1 else "letter.reasons"], *reasons])


def _letter_changes(one: Told, wording: Wording) -> str:
    if len(one.changes) == 1:
        head = wording.say("letter.otherwise_one", other=one.other)
    else:
        head = wording.say("letter.otherwise", other=one.other, count=len(one.changes))
    return "\n".join([head, *_changes("letter.change", one, wording)])


def _changes(phrase: str, one: Told, wording: Wording) -> list[str]:
    return [wording.say(phrase, feature=each.feature, before=each.before, after=each.after) for each in one.changes]


def _counted(wording: Wording, phrase: str, count: int) -> str:
    return wording.phrases[f"{phrase}_one"] if count == 1 else wording.say(phrase, count=count)


_STYLES: dict[str, Callable[[Told, Wording], str]] = {
    "sentence": _sentence,
    "bullets": _bullets,
    "analyst": _analyst,
    "letter": _letter,
}


def line(one: Explained) -> str:
    """The explanation in one line of a list."""
    if not one.found:
        return one_line(f"{one.predicted}: not found, {one.reason}")
    changes = ", ".join(map(change, one.changes)) or "nothing has to change"
    return f"{one_line(str(one.predicted))} -> {one_line(str(one.predicted_after))}  {changes}"


def change(one: Changed) -> str:
    """``age: 39 -> 41``."""
    return f"{one_line(str(one.feature))}: {shown(one.before)} -> {shown(one.after)}"


def text_table(one: Explained) -> str:
    """The changes, one line each, in columns."""
    head = ("feature", "before", "after", f"P({one_line(str(one.predicted_after))})")
    rows = [(one_line(str(c.feature)), shown(c.before), shown(c.after), percent(c.probability)) for c in one.changes]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    )


def shown(value: Any) -> str:
    """A value for people.

    >>> shown(None), shown(23700.0), shown(0.5), shown("own")
    ('missing', '23700', '0.5', 'own')
    """
    if value is None:
        return "missing"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else one_line(str(value))


def percent(probability: float) -> str:
    """A probability for people; never rounded to certainty.

    >>> percent(0.614), percent(0.9999), percent(0.0004)
    ('61 %', '>99 %', '<1 %')
    """
    whole = int(whole_percent(np.array(probability)))
    return {101: ">99 %", -1: "<1 %"}.get(whole, f"{whole} %")
