"""What only the name of a column tells: that it is commonly protected, or that its numbers only grow."""

from __future__ import annotations

from collections.abc import Sequence

from nicecf.rules.parameters import Feature
from nicecf.rules.suggestions.suggestion import Suggestion, named, suggest, suggest_immutable
from nicecf.rules.suggestions.table_facts import ColumnFacts, TableFacts
from nicecf.rules.suggestions.words import is_plainly_protected, one_way_by, protected_by


def protected(facts: TableFacts, groups: Sequence[Sequence[Feature]] = ()) -> list[Suggestion]:
    """Features with a name that is commonly protected, by whole words in English and German.

    Those of one of the ``groups``, such as the columns of a one-hot encoding, stand in one line. A guess if the name,
    or what the names in the line have in common, says something else as well: ``race_time``.
    """
    group_of = {feature: tuple(group) for group in groups for feature in group}
    lines: dict[tuple[object, str], list[ColumnFacts]] = {}
    for column in facts.columns:
        word = protected_by(column.words)
        if word is not None:
            lines.setdefault((group_of.get(column.name, column.name), word), []).append(column)
    return [
        suggest_immutable(
            "protected",
            *(column.name for column in columns),
            is_certain=is_plainly_protected(_in_common(columns)),
            seen=f"often protected by law, or not for a person to change: the name says {word}",
            section="protected",
        )
        for (_, word), columns in lines.items()
    ]


def _in_common(columns: Sequence[ColumnFacts]) -> tuple[str, ...]:
    """The words that all names have."""
    return tuple(word for word in columns[0].words if all(word in column.words for column in columns))


def one_way(facts: TableFacts) -> list[Suggestion]:
    """Numbers with a name that only grows, such as an age: guesses. Categories would need an order."""
    found = []
    for column in facts.columns:
        word = one_way_by(column.words)
        if word is not None and column.is_number and not column.is_binary:
            seen = f"the name says {word}, which only grows"
            toml = named(column.name)
            found.append(suggest("one_way", "increasing", (column.name,), toml, is_certain=False, seen=seen))
    return found
