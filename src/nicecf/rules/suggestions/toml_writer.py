"""Suggestions as a rules file: active lines for what is certain, commented out what is a guess."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nicecf.rules.suggestions.suggestion import AUTO, LISTS, TABLES, Section, Suggestion, key
from nicecf.support.formats import one_line

_LONGEST_LINE = 120
_HEAD = """\
# Rules suggested by the training table. Active lines are certain: every row shows it, or the name is one that is
# commonly protected. Lines that are commented out are guesses: remove the # of those that are right.
# Read them all. A table does not tell everything: add what you know.
"""
_SAYS: dict[Section, str] = {
    "immutable": "Features that never change. What is added here must leave increasing, step and derived.",
    "protected": "Features that never change, and that no text names. What is added here must leave all others.",
    "increasing": "Features that only increase.",
    "groups": "Features whose values belong together, and come from the same training row.",
    "relations": "Inequalities between features that every counterfactual keeps.",
    "step": "Features that change by whole steps only.",
    "derived": "Features that are computed from others.",
}
_ORDERS = "Of text, in this order of its levels. What only decreases belongs in [decreasing]."
_AUTO = "auto: those that the training table shows for certain, found again at fit; each counts as one change."


def to_toml(suggestions: Iterable[Suggestion]) -> str:
    """A rules file with a section for each kind of rule that is suggested; always valid TOML."""
    of: dict[Section | None, list[Suggestion]] = {}
    for one in suggestions:
        of.setdefault(one.section, []).append(one)
    blocks = [
        "\n".join([_HEAD.rstrip(), *(line for one in of.get(None, []) for line in _comment(_sentence(one.seen)))])
    ]
    # An order of levels needs a table. In TOML, what follows its head belongs to it: the lists come first.
    lists = [section for section in LISTS if all(one.kind != "order" for one in of.get(section, []))]
    for section in (*lists, *(one for one in (*LISTS, *TABLES) if one not in lists)):
        if section in of:
            blocks.append("\n".join(_block(section, of[section], is_list=section in lists)))
    return "\n\n".join(blocks) + "\n"


def _sentence(seen: str) -> str:
    text = one_line(seen)
    return f"{text[:1].upper()}{text[1:]}."


def _comment(text: str, *, begin: str = "# ") -> list[str]:
    """Text as comments, in lines of a readable length."""
    return textwrap.wrap(
        one_line(text),
        _LONGEST_LINE,
        initial_indent=begin,
        subsequent_indent=f"{begin}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _block(section: Section, suggestions: Sequence[Suggestion], *, is_list: bool) -> list[str]:
    # What is certain first, each in the order in which it was found.
    certain = [one for one in suggestions if one.is_certain]
    guesses = [one for one in suggestions if not one.is_certain]
    if not is_list:
        says = f"{_SAYS[section]} {_ORDERS}" if section in LISTS else _SAYS[section]
        one_way = {one: replace(one, toml=f"{key(one.features[0])} = true") for one in guesses if one.kind == "one_way"}
        lines = [line for one in [*certain, *guesses] for line in _lines(one_way.get(one, one))]
        return [*_comment(says), f"[{section}]", *lines]
    auto = [one for one in certain if one.toml == AUTO]
    active = [*_auto(auto), *(line for one in certain if one.toml != AUTO for line in _lines(one, "    ", ","))]
    passive = [line for one in guesses for line in _lines(one, "    ", ",")]
    return [*_comment(_SAYS[section]), f"{section} = [", *active, *passive, "]"]


def _auto(groups: Sequence[Suggestion]) -> list[str]:
    """All certain groups as one item, with a comment on each."""
    if not groups:
        return []
    found = [f"{', '.join(map(str, one.features))}: {one.seen}" for one in groups]
    lines = [line for one in found for line in _comment(one, begin="    #   ")]
    return [*_comment(_AUTO, begin="    # "), *lines, f"    {AUTO},"]


def _lines(one: Suggestion, indent: str = "", end: str = "") -> list[str]:
    entry = f"{indent}{'' if one.is_certain else '# '}{one.toml}{end}"
    seen = one_line(one.seen)
    in_one_line = f"{entry}  # {seen}"
    # The reason stands above an entry that is long by itself.
    return [in_one_line] if len(in_one_line) <= _LONGEST_LINE else [*_comment(f"{seen}:", begin=f"{indent}# "), entry]
