"""Statements about rows: kinds with fields, which the phrases of a language put into words at the very end.

One file for each language, with the same phrases and in each of them the same fields.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, TypeAlias

import numpy as np

from nicecf.exceptions import NicecfError, OptionError, did_you_mean, listed, plain
from nicecf.support import toml_files
from nicecf.support.formats import localised, said_moment, shown, whole_percent
from nicecf.support.types import is_number

_FOLDER = Path(__file__).parent
# The language whose phrases say which there are, and which fields each of them has.
REFERENCE = "en"
# Sections that grow with nicecf: a phrase of theirs that an older file of a user does not have is in English then.
_LATER = (
    *("statement", "reason", "note", "search", "rule", "relaxation", "together", "derived", "score", "date"),
    *("duration", "line", "target", "table", "check", "files", "cli", "report", "plot", "notebook", "summary"),
    *("listing", "page", "what_if", "proof"),
)
_MOST_LISTED = 8
_FIVE_DIGITS = 10_000


@dataclass(frozen=True)
class Classes:
    """Classes of the model, any of which will do; or, ``are_all``, a list of them."""

    labels: tuple[Hashable, ...]
    are_all: bool = False


@dataclass(frozen=True)
class Features:
    """Features of the table, one or all of some."""

    names: tuple[Hashable, ...]


@dataclass(frozen=True)
class Value:
    """A value of a feature, or a score; None if missing."""

    value: Any
    is_score: bool = False


@dataclass(frozen=True)
class Values:
    """Some values of a feature, or statements of them, of which the first few are named."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Probability:
    """A probability, shown in whole percent; one that somebody set, ``is_exact``, with all its digits."""

    value: float
    is_exact: bool = False


@dataclass(frozen=True)
class Statement:
    """A statement about a row, before it is put into words: the name of a phrase, and what its fields hold.

    >>> english(Statement("search.neighbors", {"found": 3, "asked": 5}))
    '3 of 5 neighbors: there are no more donors'
    """

    phrase: str
    fields: Mapping[str, Field] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Which of the reasons, notes or rules it is: the name of the phrase in its section."""
        return self.phrase.partition(".")[2]


Field: TypeAlias = (
    str | int | float | Classes | Features | Value | Values | Probability | Statement | tuple[Statement, ...]
)


def plain_classes(labels: Iterable[Any], *, are_all: bool = False) -> Classes:
    """Labels as the Python values they stand for."""
    return Classes(tuple(_plain(label) for label in labels), are_all)


def plain_features(names: Iterable[Any]) -> Features:
    """Names of features as the Python values they stand for."""
    return Features(tuple(_plain(name) for name in names))


def _plain(value: Any) -> Any:
    return plain(value)


@dataclass(frozen=True)
class Voice:
    """Puts statements into words: the phrases of a language, and what features and classes are called."""

    phrases: Mapping[str, str]
    feature: Callable[[Hashable], str] = repr
    label: Callable[[Hashable], str] = repr

    def __call__(self, one: Statement) -> str:
        """The statement in words."""
        if one.phrase not in self.phrases:
            raise NicecfError(f"there is no phrase {one.phrase!r}; add it to phrases/{REFERENCE}.toml.")
        return self.phrases[one.phrase].format(**{name: self._field(value) for name, value in one.fields.items()})

    def joined(self, statements: Iterable[Statement]) -> str:
        """Several statements in a row."""
        return self.phrases["statement.between"].join(map(self, statements))

    def _field(self, value: Field) -> str:
        match value:
            case Statement():
                return self(value)
            case tuple():
                return self.joined(value)
            case Classes(labels, are_all):
                return self._list([self.label(one) for one in labels], "list.between" if are_all else "statement.or")
            case Features(names):
                return self._and([self.feature(one) for one in names])
            case Value(value=one, is_score=True):
                return self._number(shown(one))
            case Value(value=one):
                return self._value(one)
            case Values(values):
                return ", ".join([*map(self._value, values[:5]), *(["..."] if len(values) > 5 else [])])
            case Probability(value=probability, is_exact=True):
                return self.phrases["number.percent"].format(number=self._number(f"{100 * probability:.10g}"))
            case Probability(value=probability):
                return percent_of(int(whole_percent(np.array(probability))), self.phrases)
            case bool() | str():
                return str(value)
            case int():
                return self._number(str(value))
            case float():
                return self._number(f"{value:g}")

    def _value(self, value: Any) -> str:
        if value is None:
            return self.phrases["value.missing"]
        if isinstance(value, Statement):
            return self(value)
        if isinstance(value, (date, timedelta)):
            return said_moment(value, self.phrases)
        if not is_number(value):
            return shown(value)
        # Which feature it is of is not known here, and years have no thousands.
        return localised(shown(value), self.phrases, is_grouped=abs(value) >= _FIVE_DIGITS)

    def _number(self, text: str) -> str:
        return localised(text, self.phrases)

    def _and(self, parts: list[str]) -> str:
        if len(parts) < 2:
            return "".join(parts)
        return f"{self.phrases['list.between'].join(parts[:-1])}{self.phrases['list.last']}{parts[-1]}"

    def _list(self, parts: list[str], between: str) -> str:
        more = len(parts) - _MOST_LISTED
        if more <= 0:
            return self.phrases[between].join(parts)
        named = self.phrases[between].join(parts[:_MOST_LISTED])
        return self.phrases["statement.more"].format(named=named, count=more)


def percent_text(number: str, phrases: Mapping[str, str]) -> str:
    """A number of percent as text, such as ``31``, ``30.04``, ``>99`` or ``<1``, in the phrases of a language."""
    if number.startswith((">", "<")):
        phrase = phrases["number.percent_above" if number.startswith(">") else "number.percent_below"]
        return phrase.format(number=number[1:])
    return phrases["number.percent"].format(number=localised(number, phrases))


def percent_of(whole: int, phrases: Mapping[str, str]) -> str:
    """A probability in the phrases of a language, of what `whole_percent` makes of it."""
    if whole == 101:
        return phrases["number.percent_above"].format(number=99)
    if whole == -1:
        return phrases["number.percent_below"].format(number=1)
    return phrases["number.percent"].format(number=whole)


@cache
def _english() -> Voice:
    return Voice(shipped(REFERENCE))


def english(one: Statement) -> str:
    """A statement in English, with the names of the table itself."""
    return _english()(one)


def in_english(statements: Iterable[Statement]) -> str:
    """Several statements in a row."""
    return _english().joined(statements)


def is_path(language: str) -> bool:
    """Whether it is a file of the user's, and no language that comes with nicecf."""
    return language.endswith(".toml") or "/" in language or os.sep in language


def phrases_of(language: object) -> Mapping[str, str]:
    """The phrases of a language, by ``section.phrase``."""
    if isinstance(language, os.PathLike) or (isinstance(language, str) and is_path(language)):
        return _checked(_flat(toml_files.read(language), language), shipped(REFERENCE), language)
    known = sorted(path.stem for path in _FOLDER.glob("*.toml"))
    if isinstance(language, str) and language in known:
        return shipped(language)
    raise OptionError(
        f"language={language!r} is not known; choose {'one of ' if len(known) > 1 else ''}{listed(known)}, or pass the "
        f"path of a .toml file of your own.{did_you_mean(language, known)}"
    )


@cache
def shipped(language: str) -> Mapping[str, str]:
    """The phrases of a language that comes with nicecf."""
    path = _FOLDER / f"{language}.toml"
    phrases = _flat(toml_files.read(path), path)
    return phrases if language == REFERENCE else _checked(phrases, shipped(REFERENCE), path)


def _flat(read: dict[str, Any], path: object) -> dict[str, str]:
    phrases = {}
    for section, entries in read.items():
        if not isinstance(entries, dict):
            raise OptionError(f"{path} has {section!r} outside of a section; write it under its [section].")
        for key, phrase in entries.items():
            if not isinstance(phrase, str):
                raise OptionError(f"{path} has {phrase!r} for the phrase '{section}.{key}'; it must be text.")
            phrases[f"{section}.{key}"] = phrase
    return phrases


def _checked(phrases: dict[str, str], reference: Mapping[str, str], path: object) -> dict[str, str]:
    """The phrases, if they are those of the reference language, each with its fields; else OptionError."""
    for key in phrases:
        if key not in reference:
            raise OptionError(
                f"{path} has the phrase {key!r}, which is not known; the phrases are those of phrases/"
                f"{REFERENCE}.toml.{did_you_mean(key, reference)}"
            )
    later = {key: one for key, one in reference.items() if key.partition(".")[0] in _LATER}
    later |= {"number.minus": reference["number.minus"], "number.thousands": _thousands(phrases)}
    phrases = later | phrases
    missing = [key for key in reference if key not in phrases]
    if missing:
        raise OptionError(f"{path} lacks the phrases {listed(missing)}; every phrase of {REFERENCE}.toml is needed.")
    for key, phrase in phrases.items():
        allowed, there = _fields_of(reference[key]), _fields_of(phrase)
        if there is None or there != allowed:
            need = " and ".join(f"{{{one}}}" for one in sorted(allowed or ())) or "no field"
            raise OptionError(f"{path} has {phrase!r} for the phrase {key!r}; it needs {need} in braces, and no other.")
    return phrases


def _thousands(phrases: Mapping[str, str]) -> str:
    """What stands between thousands, where a file does not say: never what its decimals begin with."""
    return "." if phrases.get("number.decimal_point") == "," else ","


def _fields_of(phrase: str) -> set[str] | None:
    """The names in braces; None where the braces hold anything but plain names."""
    try:
        parts = list(Formatter().parse(phrase))
    except ValueError:
        return None
    if any(spec or conversion or name == "" for _, name, spec, conversion in parts):
        return None
    return {name for _, name, _, _ in parts if name is not None}
