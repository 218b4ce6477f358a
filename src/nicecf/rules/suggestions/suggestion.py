"""One suggested rule: what was found of which features, and the line of TOML that says so."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nicecf.exceptions import listed
from nicecf.rules.expressions.nodes import KEYWORDS
from nicecf.rules.parameters import Feature
from nicecf.support.formats import harmless

Finding: TypeAlias = Literal[
    "one_hot", "twins", "calendar", "derived", "relation", "identifier", "free_text", "protected", "step", "one_way",
    "order", "never_missing", "label",
]  # fmt: skip
# The keys of a rules file. Lists come first: in TOML, what follows the head of a table belongs to that table.
Section: TypeAlias = Literal["immutable", "protected", "increasing", "groups", "relations", "step", "derived"]
LISTS: tuple[Section, ...] = ("immutable", "protected", "increasing", "groups", "relations")
TABLES: tuple[Section, ...] = ("step", "derived")

# Sections in which features are named by text only: as keys of a table, or within an expression.
_NAMED_BY_TEXT = ("relations", "step", "derived")
# The item of groups that stands for all certain ones.
AUTO = '"auto"'
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Suggestion:
    """A rule that a training table suggests.

    ``toml`` is its entry in the ``section`` of a rules file: an item of a list (``"sex"``), or a line of a table
    (``amount = 50``). A certain one becomes an active line, a guess is commented out. All certain groups are one line,
    ``"auto"``, which finds them again at ``fit``. ``seen`` says in a sentence what it rests on. A finding that needs no
    rule has no section, and only its sentence.
    """

    kind: Finding
    section: Section | None
    features: tuple[Feature, ...]
    toml: str
    is_certain: bool
    seen: str


def suggest(
    kind: Finding, section: Section, features: Sequence[Feature], toml: str, *, is_certain: bool, seen: str
) -> Suggestion:
    """A suggestion; never a certain one if TOML cannot name its features, as its line would name none, or others."""
    by_text = section in _NAMED_BY_TEXT
    unnamed = [one for one in features if not _is_writable(one, by_text=by_text)]
    if unnamed:
        seen = f"{seen}; TOML cannot name {harmless(listed(unnamed))}: write this rule in Python"
    return Suggestion(kind, section, tuple(features), toml, is_certain and not unnamed, seen)


def suggest_immutable(
    kind: Finding, *features: Feature, is_certain: bool, seen: str, section: Section = "immutable"
) -> Suggestion:
    """Return a suggestion that features should never change."""
    toml = ", ".join(named(one) for one in features)
    return suggest(kind, section, features, toml, is_certain=is_certain, seen=seen)


def suggest_group(kind: Finding, features: Sequence[Feature], *, is_certain: bool, seen: str) -> Suggestion:
    """A suggestion that the values of features belong together."""
    if is_certain:  # whatever its features are called: the file does not name them
        return Suggestion(kind, "groups", tuple(features), AUTO, True, seen)
    toml = f"[{', '.join(named(one) for one in features)}]"
    return suggest(kind, "groups", features, toml, is_certain=False, seen=seen)


def named(feature: Feature) -> str:
    r"""A feature as an item of a TOML list.

    >>> print(named('of which "rent"\n'), named(3))
    "of which \"rent\"\n" 3
    """
    return str(feature) if _is_position(feature) else quoted(str(feature))


def key(feature: Feature) -> str:
    """A feature as the key of a TOML table.

    >>> print(key("hours-per-week"), key("loan amount"))
    hours-per-week "loan amount"
    """
    text = str(feature)
    return text if _BARE_KEY.fullmatch(text) else quoted(text)


def quoted(text: str) -> str:
    r"""Text as a basic string of TOML, on one line; what nobody sees, or a terminal would obey, is written as its code.

    >>> print(quoted('"rent"\u202e'))
    "\"rent\"\u202E"
    """
    # A lone surrogate is in no UTF-8 file: it is shown as unknown.
    whole = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    return "".join(one if one.isprintable() else _code(one) for one in json.dumps(whole, ensure_ascii=False))


def _code(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def in_expression(feature: Feature) -> str:
    """A feature in an expression: as it is where that reads as one name, else in backquotes.

    >>> print(in_expression("income"), in_expression("hours-per-week"), in_expression("a`b"))
    income `hours-per-week` `a``b`
    """
    text = str(feature)
    if text.isidentifier() and not keyword.iskeyword(text) and text not in KEYWORDS:
        return text
    return "`" + text.replace("`", "``") + "`"


def _is_position(feature: Feature) -> bool:
    return isinstance(feature, int) and not isinstance(feature, bool)


def _is_writable(feature: Feature, *, by_text: bool) -> bool:
    if isinstance(feature, str):
        return not re.search(r"[\ud800-\udfff]", feature)
    return _is_position(feature) and not by_text
