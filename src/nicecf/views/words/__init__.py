"""Explanations for people: texts in four styles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from nicecf.results.batch import Batch
from nicecf.support.options import choose
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedExplanation, formatted
from nicecf.views.words.letters import plain_letter
from nicecf.views.words.saying import changes_of, follows, lines, put, say
from nicecf.views.words.wording import Wording

Style: TypeAlias = Literal["sentence", "bullets", "analyst", "letter"]


def texts(batch: Batch, style: str = "sentence", wording: Wording | None = None, *, ask: bool = True) -> list[str]:
    """Explanations in words, one for each entry of a batch; what matters most comes first.

    Numbers have the decimals of their column, or as many more as the decision needs: the model is asked, at most a few
    times for all of them. Without ``ask`` it is not, and numbers longer than their column have all digits.
    """
    choose("style", style, get_args(Style))
    formatter = Formatter.of(batch, wording, is_letter=style == "letter")
    return [in_style(one, style, formatter.wording) for one in formatted(batch, formatter, ask=ask)]


def in_style(one: FormattedExplanation, style: str, wording: Wording) -> str:
    """The parts of an explanation, put together in a style that is known."""
    return _STYLES[style](one, wording)


def _sentence(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        return wording.say("sentence.not_found", reason=one.reason)
    if not one.changes:
        return say(one, wording, "sentence.unchanged")
    changes = changes_of(one, wording)
    if one.out_of_reach is not None:
        return say(one, wording, "sentence.nearest", changes=changes, target=one.out_of_reach)
    return say(one, wording, "sentence.same" if one.is_same else "sentence.found", changes=changes)


def _bullets(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        return "\n".join([say(one, wording, "bullets.not_found"), wording.say("bullets.reason", reason=one.reason)])
    if not one.changes:
        return say(one, wording, "bullets.unchanged")
    if one.out_of_reach is not None:
        head = say(one, wording, "bullets.nearest", target=one.out_of_reach)
    else:
        phrase = "bullets.same" if one.is_same else "bullets.found"
        head = say(one, wording, f"{phrase}_one" if one.n_changes == 1 else phrase, count=one.n_changes)
    return "\n".join([head, *lines("bullets.change", one, wording), *follows("derived.bullets", one, wording)])


def _analyst(one: FormattedExplanation, wording: Wording) -> str:
    """Every column by itself, with the step that it changes in."""
    found, number = [_analyst_head(one, wording)], 0
    for each in one.changes:
        number += not each.is_together
        found.append(
            say(
                one,
                wording,
                "analyst.change",
                number=number,
                feature=each.feature,
                before=each.before,
                after=each.after,
                step=each.step,
                chance=each.chance,
                share=each.share,
            )
        )
    for each in one.derived:
        found.append(put("derived.analyst", each, wording))
    if one.note is not None:
        found.append(wording.say("analyst.note", note=one.note))
    return "\n".join(found)


def _analyst_head(one: FormattedExplanation, wording: Wording) -> str:
    if not one.is_found:
        return say(one, wording, "analyst.not_found", reason=one.reason)
    if not one.changes:
        return say(one, wording, "analyst.unchanged")
    donor = wording.phrases["analyst.no_donor"]
    if one.donor is not None:
        donor = wording.say("analyst.donor", position=one.donor)
    phrase, target = ("analyst.found", "") if one.out_of_reach is None else ("analyst.nearest", one.out_of_reach)
    return say(
        one,
        wording,
        phrase,
        target=target,
        changes=_counted(wording, "analyst.changes", one.n_changes),
        steps=_counted(wording, "analyst.steps", max(each.step for each in one.changes)),
        distance=one.distance,
        donor=donor,
    )


def _counted(wording: Wording, phrase: str, count: int) -> str:
    return wording.phrases[f"{phrase}_one"] if count == 1 else wording.say(phrase, count=count)


_STYLES: dict[str, Callable[[FormattedExplanation, Wording], str]] = {
    "sentence": _sentence,
    "bullets": _bullets,
    "analyst": _analyst,
    "letter": plain_letter,
}
