"""The chapter of the page about each case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nicecf.results.batch import Batch
from nicecf.results.counterfactual import Counterfactual
from nicecf.support.types import Bools
from nicecf.views import words
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import text
from nicecf.views.plots.data.changes import Changes, changes_of
from nicecf.views.plots.draw import svg_of_changes
from nicecf.views.report.formatting import HtmlFormatter, breakable, chance, folded, section, table
from nicecf.views.summary.totals import is_changed
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation, formatted
from nicecf.views.words.saying import named_chance

# What a browser opens without a pause.
_MOST_ROWS = 500
_MOST_CELLS = 50_000
# With a picture: each takes some 5 kB.
_MOST_PICTURES = 50
# In the line that a row is folded into.
_CHANGES_SHOWN = 4
_CHANGES_IN_A_SENTENCE = 8
# What can be filtered by: the classes of rows in the style sheet.
_KINDS = ("changed", "same", "none")


def every_row(batch: Batch, formatter: HtmlFormatter) -> str:
    """Each explanation behind a line of its own: the sentence, a picture, the changes, and what stays as it is."""
    if not len(batch):
        return ""
    shown = batch.take(np.arange(min(len(batch), _MOST_ROWS)))
    kinds = np.where(is_changed(shown), "changed", np.where(shown.found, "same", "none"))
    explanations = formatted(shown, formatter.formatter, ask=True)
    parts = zip(
        _labels(shown, formatter),
        kinds.tolist(),
        explanations,
        (words.in_style(one, "sentence", formatter.wording) for one in explanations),
        _pictures(shown, kinds == "changed", formatter),
        _others(shown, formatter),
        strict=True,
    )
    return section(
        formatter.say("every_row"),
        _filters(kinds.tolist(), formatter),
        _search(formatter),
        '<div class="rows">\n' + "\n".join(_entry(formatter, *one) for one in parts) + "\n</div>",
        _rest(len(batch), "cfs.changes(), cfs.to_frame()", formatter),
    )


def _filters(kinds: Sequence[str], formatter: HtmlFormatter) -> str:
    """Which rows to show; the style sheet does it, without a script."""
    counts = {kind: kinds.count(kind) for kind in _KINDS if kind in kinds}
    if len(counts) < 2:
        return ""
    choices = "".join(
        f'<label><input type="radio" name="show" value="{kind}"{" checked" if kind == "all" else ""}> '
        f"{formatter.say(f'show_{kind}', count=count)}</label>"
        for kind, count in {"all": len(kinds), **counts}.items()
    )
    return f'<fieldset class="filter"><legend>{formatter.say("show")}</legend>{choices}</fieldset>'


def _search(formatter: HtmlFormatter) -> str:
    search, open_all, close_all = (formatter.say(one) for one in ("search", "open_all", "close_all"))
    matches = text(formatter.wording.phrases["report.matches"])
    return (
        f'<p class="search" hidden><input type="search" placeholder="{search}" aria-label="{search}"> '
        f'<button type="button" data-other="{close_all}">{open_all}</button> '
        f'<span class="soft" role="status" data-matches="{matches}"></span></p>'
    )


def _rest(count: int, where: str, formatter: HtmlFormatter) -> str:
    more = count - _MOST_ROWS
    return f'<p class="soft">{formatter.say("rest", count=more, where=where)}</p>' if more > 0 else ""


def _labels(batch: Batch, formatter: HtmlFormatter) -> list[str]:
    labels = [str(label) for label in batch.labels]
    if not batch.has_several:
        return [text(label) for label in labels]
    each = zip(labels, batch.numbers.tolist(), strict=True)
    return [formatter.say("numbered", label=label, number=number + 1) for label, number in each]


def _pictures(batch: Batch, changed: Bools, formatter: HtmlFormatter) -> list[str]:
    """A picture of each of the first rows that change; of all others nothing."""
    pictures = [""] * len(batch)
    for place in np.flatnonzero(changed)[:_MOST_PICTURES].tolist():
        shown = changes_of(Counterfactual(batch.take(np.array([place]))), formatter.wording)
        if isinstance(shown, Changes):
            pictures[place] = f'<div class="wide" tabindex="0">{svg_of_changes(shown)}</div>'
    return pictures


def _entry(
    formatter: HtmlFormatter,
    label: str,
    kind: str,
    one: FormattedExplanation,
    sentence: str,
    picture: str,
    others: str,
) -> str:
    wording = formatter.wording
    now = chance(one.decision, named_chance(one, wording, one.chance))
    then = chance(one.other, named_chance(one, wording, one.other_chance))
    in_words = f"<p>{text(sentence)}</p>"
    is_long = len(one.changes) > _CHANGES_IN_A_SENTENCE
    inner = [folded(formatter.say("in_one_sentence"), in_words) if is_long else in_words, picture]
    if one.changes:
        # The sentence begins with what matters most; probabilities are those of the walk, in its order.
        walk = sorted(one.changes, key=lambda each: each.step)
        columns = [formatter.say(name) for name in ("feature", "before", "after")]
        told = one.quantity_of or one.other
        columns.append(formatter.say("score") if one.is_score else formatter.say("probability_of", label=told))
        columns.append(formatter.say("of_distance"))
        derived = [_derived(each, formatter) for each in one.derived]
        inner.append(table(columns, [*map(_change, walk), *derived], right=[3, 4]))
    inner += [_proof(one), _note(one, formatter), others]
    moves = f"{now} &rarr; {then}" if kind == "changed" else now
    return (
        f'<details class="row {kind}"><summary><b>{label}</b> <span class="soft">{moves}</span><br>'
        f"{_brief(kind, one, formatter)}</summary>\n" + "\n".join(part for part in inner if part) + "\n</details>"
    )


def _brief(kind: str, one: FormattedExplanation, formatter: HtmlFormatter) -> str:
    """An explanation in a line."""
    if kind == "none":
        return text(one.reason)
    if not one.changes:
        return formatter.say("nothing")
    changes = ", ".join(
        f"{breakable(each.feature)}: {text(each.before)} &rarr; <mark>{text(each.after)}</mark>"
        for each in one.changes[:_CHANGES_SHOWN]
    )
    more = len(one.changes) - _CHANGES_SHOWN
    if more <= 0:
        return changes
    start, end = text(formatter.teller.say("report.and_more", changes="\0", count=more)).split("\ufffd")
    return start + changes + end


def _proof(one: FormattedExplanation) -> str:
    return f'<p class="soft">{text(one.proof)}</p>' if one.proof else ""


def _note(one: FormattedExplanation, formatter: HtmlFormatter) -> str:
    return f'<p class="soft">{formatter.say("note", note=one.note)}</p>' if one.note else ""


def _change(each: FormattedChange) -> Sequence[str]:
    return [
        breakable(each.feature),
        text(each.before),
        f"<mark>{text(each.after)}</mark>",
        text(each.chance),
        text(each.share),
    ]


def _derived(each: FormattedChange, formatter: HtmlFormatter) -> Sequence[str]:
    """What follows from the changes: no step of the walk, and no part of the distance."""
    follows = f'<span class="soft">{formatter.say("follows")}</span>'
    return [breakable(each.feature), text(each.before), text(each.after), follows, NOTHING]


def _others(batch: Batch, formatter: HtmlFormatter) -> list[str]:
    """What stays as it is in each row, in one paragraph; where that is too much for a page, where to find it."""
    schema, n = batch.schema, len(batch)
    if n * len(schema.columns) > _MOST_CELLS:
        return [f'<p class="soft">{formatter.say("others_elsewhere")}</p>'] * n
    is_changed = np.zeros((n, len(schema.columns)), dtype=bool)
    is_changed[batch.steps.row(), batch.steps.feature] = True
    for line in range(n):
        is_changed[line, list(batch.protected(line))] = True
    parts: list[list[str]] = [[] for _ in range(n)]
    table = schema.container.by_columns(batch.table)
    for j, position in enumerate(schema.positions(batch.table)):
        here = np.flatnonzero(~is_changed[:, j])
        name = formatter.name(schema.columns[j].name)
        values = schema.container.objects(schema.container.column(table, position), here)
        for line, value in zip(here.tolist(), values, strict=True):
            parts[line].append(f"{name}: {formatter.value(schema.columns[j].name, value)}")
    return [_unchanged(those, formatter) for those in parts]


def _unchanged(those: list[str], formatter: HtmlFormatter) -> str:
    if not those:
        return ""
    title = formatter.counted("stay", len(those))
    return f'<details class="others"><summary>{title}</summary><p>{"; ".join(those)}</p></details>'
