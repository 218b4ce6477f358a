"""Several explanations of one row, side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.results.counterfactual import Counterfactual
from nicecf.views.plots.data.common import Caption, Explanation
from nicecf.views.plots.formatting import seen
from nicecf.views.telling import Teller
from nicecf.views.words.wording import Wording

# A table of this many lines is shown in full.
_FEW = 12
_MOST = 30
NOTHING = "-"


@dataclass(frozen=True)
class Cell:
    """A value, and whether it is another than in the row because it was changed."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True)
class Line:
    """One feature, or one line of the foot: the row, then each variant."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Variants:
    """A table: one line for each feature, a column for the row and one for each variant."""

    caption: Caption
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    folded: tuple[str, ...]
    foot: tuple[Line, ...]


def variants_of(by_name: Mapping[str, Counterfactual], wording: Wording | None = None) -> Variants:
    """The table. Of many features, those that more variants change come first, and what nobody changes is folded."""
    if not isinstance(by_name, Mapping) or not by_name:
        raise OptionError(
            "variants() takes the explanations by their names, such as "
            f"{{'sparsity': cfs[0], 'proximity': others[0]}}, got {by_name!r}."
        )
    ones = [Explanation.of(one, wording, who=f"variants({name!r})") for name, one in by_name.items()]
    first, teller = ones[0], ones[0].teller
    names = [seen(str(name), teller.wording) for name in by_name]
    _check_same_row(names, ones)
    changed = np.array([one.is_changed for one in ones])
    order = np.argsort(-changed.sum(axis=0), kind="stable")
    n_changed = int(changed.any(axis=0).sum())
    n_features = len(order)
    shown = np.arange(n_features) if n_features <= _FEW else order[: min(n_changed, _MOST)]
    n_unchanged = n_features - max(n_changed, len(shown))
    n_more = max(n_changed - len(shown), 0)
    nobody = "plot.variants_nobody" if len(ones) > 1 else "plot.variants_stay"
    folded = [
        teller.counted(phrase, count)
        for phrase, count in (("plot.variants_more", n_more), (nobody, n_unchanged))
        if count
    ]
    lines = tuple(
        Line(
            first.formatter.feature(j), (Cell(first.formatter.value(j, first.row[j])), *(_cell(one, j) for one in ones))
        )
        for j in shown
    )
    notes = tuple(f"{name}: {one.nothing}" for name, one in zip(names, ones, strict=True) if one.nothing)
    title = teller.say("plot.variants_title")
    subtitle = teller.say("plot.variants_subtitle", decision=first.now)
    head = teller.say("plot.variants_alt", title=title, decision=first.now)
    alt = " ".join([head, *(f"{name}: {_in_short(one)}" for name, one in zip(names, ones, strict=True))])
    return Variants(
        Caption(title, subtitle, notes, alt),
        (teller.say("plot.row"), *names),
        lines,
        tuple(folded),
        _foot(first, ones, teller),
    )


def _in_short(one: Explanation) -> str:
    changes = "" if one.nothing else one.told(map(one.step, one.made_to_change()), 3)
    return one.nothing or one.teller.say("plot.variants_alt_one", decision=one.then, changes=changes)


def _check_same_row(names: list[str], ones: list[Explanation]) -> None:
    def read(one: Explanation) -> list[tuple[Hashable, str]]:
        return [(c.name, one.formatter.value(j, one.row[j])) for j, c in enumerate(one.batch.schema.columns)]

    expected = read(ones[0])
    for name, one in zip(names, ones, strict=True):
        if read(one) != expected:
            raise OptionError(
                f"variants() takes several explanations of one row, but {names[0]!r} and {name!r} explain different "
                "rows. Explain the same row with each, and pass the same position of each, such as cfs[0]."
            )


def _cell(one: Explanation, j: int) -> Cell:
    if not one.found:
        return Cell(NOTHING)
    if j not in one.formatted:
        return Cell(one.formatter.value(j, one.row[j]))
    if one.batch.is_derived[j]:
        return Cell(one.teller.say("plot.variants_follows", value=one.formatted[j][1]))
    return Cell(one.formatted[j][1], is_changed=True)


def _foot(first: Explanation, ones: list[Explanation], teller: Teller) -> tuple[Line, ...]:
    def line(name: str, row: str, cells: list[str]) -> Line:
        return Line(teller.say(f"plot.{name}"), tuple(Cell(text) for text in (row, *cells)))

    return (
        line("decision", first.now, [one.then if one.found else teller.say("plot.none") for one in ones]),
        line("changes", "", [str(one.n_changes) if one.found else NOTHING for one in ones]),
        line("distance", "", [teller.number(f"{one.distance:.3f}") if one.found else NOTHING for one in ones]),
    )
