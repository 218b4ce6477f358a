"""Suggestions as a rules file: active lines for what is certain, commented out what is a guess."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from nicecf.rules.suggestions.suggestion import AUTO, LISTS, TABLES, Section, Suggestion
from nicecf.support.formats import one_line

_LONGEST_LINE = 120
_HEAD = """\
# Rules suggested by the training table. Active lines are certain: every row shows it, or the name is one that is
# commonly protected. Lines that are commented out are guesses: remove the # of those that are right.
# Read them all. A table does not tell everything: add what you know.
"""
_SAYS: dict[Section, str] = {
    "immutable": "Features that never change. What is added here must leave increasing, step and derived.",
    "increasing": "Features that only increase.",
    "groups": "Features whose values belong together, and come from the same training row.",
    "relations": "Inequalities between features that every counterfactual keeps.",
    "step": "Features that change by whole steps only.",
    "derived": "Features that are computed from others.",
}
_AUTO = "auto: those that the training table shows for certain, found again at fit; each counts as one change."


def to_toml(suggestions: Iterable[Suggestion]) -> str:
    """A rules file with a section for each kind of rule that is suggested; always valid TOML."""
    of: dict[Section | None, list[Suggestion]] = {}
    for one in suggestions:
        of.setdefault(one.section, []).append(one)
    blocks = [
        "\n".join([_HEAD.rstrip(), *(line for one in of.get(None, []) for line in _comment(_sentence(one.seen)))])
    ]
    for section in (*LISTS, *TABLES):
        if section in of:
            blocks.append("\n".join(_block(section, of[section])))
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


def _block(section: Section, suggestions: Sequence[Suggestion]) -> list[str]:
    # What is certain first, each in the order in which it was found.
    certain = [one for one in suggestions if one.is_certain]
    guesses = [one for one in suggestions if not one.is_certain]
    if section not in LISTS:
        lines = [line for one in [*certain, *guesses] for line in _lines(one)]
        return [*_comment(_SAYS[section]), f"[{section}]", *lines]
    active = _auto(certain) if section == "groups" else [line for one in certain for line in _lines(one, "    ", ",")]
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
