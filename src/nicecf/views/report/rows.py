"""The chapters of the page about each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nicecf.results.batch import Batch
from nicecf.views import words
from nicecf.views.documents.document import NOTHING
from nicecf.views.documents.html import text
from nicecf.views.report.formatting import HtmlFormatter, chance, folded, section, table
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation, formatted

# What a browser opens without a pause.
_MOST_ROWS = 500
_MOST_CELLS = 50_000
# In the line that a row is folded into.
_CHANGES_SHOWN = 4
_CHANGES_IN_A_SENTENCE = 8


def not_found(batch: Batch, formatter: HtmlFormatter) -> str:
    """The rows without a counterfactual, and why."""
    places = np.flatnonzero(~batch.found)
    if not len(places):
        return ""
    missing = batch.take(places[:_MOST_ROWS])
    rows = [
        [label, chance(one.decision, one.chance), text(one.reason) + _note(one)]
        for label, one in zip(_labels(missing), formatted(missing, formatter.formatter, ask=False), strict=True)
    ]
    return section(
        f"{len(places):,} {'row' if len(places) == 1 else 'rows'} without a counterfactual",
        table(["row", "the model says", "why none was found"], rows, kind="reasons"),
        _rest(len(places), "cfs.reasons"),
    )


def every_row(batch: Batch, formatter: HtmlFormatter) -> str:
    """Each explanation behind a line of its own: the sentence, the changes, and what stays as it is."""
    places = np.flatnonzero(batch.found)
    if not len(places):
        return ""
    found = batch.take(places[:_MOST_ROWS])
    explanations = formatted(found, formatter.formatter, ask=True)
    parts = zip(
        _labels(found),
        explanations,
        (words.in_style(one, "sentence", formatter.wording) for one in explanations),
        _others(found, formatter),
        strict=True,
    )
    return section(
        "Every row",
        _SEARCH,
        '<div class="rows">\n' + "\n".join(_entry(*one) for one in parts) + "\n</div>",
        _rest(len(places), "cfs.changes() and cfs.to_frame()"),
    )


_SEARCH = (
    '<p class="search" hidden><input type="search" placeholder="Search rows" aria-label="Search rows"> '
    '<button type="button">Open all</button> <span class="soft" role="status"></span></p>'
)


def _rest(count: int, where: str) -> str:
    more = count - _MOST_ROWS
    return f'<p class="soft">{more:,} more are not on this page: {where} hold them.</p>' if more > 0 else ""


def _labels(batch: Batch) -> list[str]:
    labels = [text(str(label)) for label in batch.labels]
    if not batch.has_several:
        return labels
    return [f"{label}, no. {which + 1}" for label, which in zip(labels, batch.numbers.tolist(), strict=True)]


def _entry(label: str, one: FormattedExplanation, sentence: str, others: str) -> str:
    now, then = chance(one.decision, one.chance), chance(one.other, one.other_chance)
    brief = ", ".join(
        f"{text(each.feature)}: {text(each.before)} &rarr; <mark>{text(each.after)}</mark>"
        for each in one.changes[:_CHANGES_SHOWN]
    )
    if len(one.changes) > _CHANGES_SHOWN:
        brief += f" and {len(one.changes) - _CHANGES_SHOWN:,} more"
    in_words = f"<p>{text(sentence)}</p>"
    inner = [folded("In one sentence", in_words) if len(one.changes) > _CHANGES_IN_A_SENTENCE else in_words]
    if one.changes:
        # The sentence begins with what matters most; probabilities are those of the walk, in its order.
        walk = sorted(one.changes, key=lambda each: each.step)
        columns = [
            "feature",
            "before",
            "after",
            "score" if one.is_score else f"P({text(one.other)})",
            "of the distance",
        ]
        inner.append(table(columns, [*map(_change, walk), *map(_derived, one.derived)], right=[3, 4]))
    if one.note:
        inner.append(_note(one))
    inner.append(others)
    moves = f"{now} &rarr; {then}" if one.changes else now
    return (
        f'<details class="row"><summary><b>{label}</b> <span class="soft">{moves}</span><br>'
        f"{brief or 'nothing has to change'}</summary>\n" + "\n".join(inner) + "\n</details>"
    )


def _note(one: FormattedExplanation) -> str:
    return f'<p class="soft">({text(one.note)})</p>' if one.note else ""


def _change(each: FormattedChange) -> Sequence[str]:
    return [
        text(each.feature),
        text(each.before),
        f"<mark>{text(each.after)}</mark>",
        text(each.chance),
        text(each.share),
    ]


def _derived(each: FormattedChange) -> Sequence[str]:
    """What follows from the changes: no step of the walk, and no part of the distance."""
    return [text(each.feature), text(each.before), text(each.after), '<span class="soft">follows</span>', NOTHING]


def _others(batch: Batch, formatter: HtmlFormatter) -> list[str]:
    """What stays as it is in each row, in one paragraph; where that is too much for a page, where to find it."""
    schema, n = batch.schema, len(batch)
    if n * len(schema.columns) > _MOST_CELLS:
        return ['<p class="soft">Everything else stays as it is: cfs.to_frame() holds it.</p>'] * n
    is_changed = np.zeros((n, len(schema.columns)), dtype=bool)
    is_changed[batch.steps.row(), batch.steps.feature] = True
    parts: list[list[str]] = [[] for _ in range(n)]
    table = schema.container.by_columns(batch.table)
    for j, position in enumerate(schema.positions(batch.table)):
        here = np.flatnonzero(~is_changed[:, j])
        name = formatter.name(schema.columns[j].name)
        values = schema.container.objects(schema.container.column(table, position), here)
        for line, value in zip(here.tolist(), values, strict=True):
            parts[line].append(f"{name}: {formatter.value(schema.columns[j].name, value)}")
    return [_unchanged(those) for those in parts]


def _unchanged(those: list[str]) -> str:
    if not those:
        return ""
    title = "1 feature stays as it is" if len(those) == 1 else f"{len(those):,} features stay as they are"
    return f'<details class="others"><summary>{title}</summary><p>{"; ".join(those)}</p></details>'
