"""Suggestions as a rules file: active lines for what is certain, commented out what is a guess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nicecf.rules.suggestions.suggestion import LISTS, TABLES, Section, Suggestion
from nicecf.support.formats import one_line

_LONGEST_LINE = 120
_HEAD = """\
# Rules suggested by the training table. Active lines hold for every row of it; lines that are commented out are
# guesses: read them, and remove the # of those that are right. A table does not tell everything: add what you know.
"""
_SAYS: dict[Section, str] = {
    "immutable": "Features that never change. Take them out of increasing and step.",
    "increasing": "Features that only increase.",
    "groups": "Features whose values belong together, and come from the same training row.",
    "relations": "Inequalities between features that every counterfactual keeps.",
    "step": "Features that change by whole steps only.",
    "derived": "Features that are computed from others.",
}


def to_toml(suggestions: Iterable[Suggestion]) -> str:
    """A rules file with a section for each kind of rule that is suggested; always valid TOML."""
    of: dict[Section | None, list[Suggestion]] = {}
    for one in suggestions:
        of.setdefault(one.section, []).append(one)
    blocks = [_HEAD + "".join(f"# {_sentence(one.seen)}\n" for one in of.get(None, []))]
    for section in (*LISTS, *TABLES):
        if section in of:
            blocks.append(_block(section, of[section]))
    return "\n".join(blocks)


def _sentence(seen: str) -> str:
    text = one_line(seen)
    return f"{text[:1].upper()}{text[1:]}."


def _block(section: Section, suggestions: Sequence[Suggestion]) -> str:
    is_list = section in LISTS
    # What is certain first, each in the order in which it was found.
    ordered = sorted(suggestions, key=lambda one: not one.is_certain)
    lines = [line for one in ordered for line in _lines(one, indent="    " if is_list else "", end="," * is_list)]
    head, tail = (f"{section} = [", ["]"]) if is_list else (f"[{section}]", [])
    return "\n".join([f"# {_SAYS[section]}", head, *lines, *tail]) + "\n"


def _lines(one: Suggestion, *, indent: str, end: str) -> list[str]:
    entry = f"{indent}{'' if one.is_certain else '# '}{one.toml}{end}"
    seen = one_line(one.seen)
    in_one_line = f"{entry}  # {seen}"
    # The reason stands above an entry that is long by itself, such as a group.
    return [in_one_line] if len(in_one_line) <= _LONGEST_LINE else [f"{indent}# {seen}:", entry]
