"""How things are called in words: the phrases of a language, names of features and classes, units."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from nicecf import tomlfiles
from nicecf.documents.inline import harmless
from nicecf.exceptions import OptionError, did_you_mean, listed, plain

_FOLDER = Path(__file__).parent / "phrases"
# The language whose phrases say which there are, and which fields each of them has.
_REFERENCE = "en"


@dataclass(frozen=True, kw_only=True)
class Wording:
    """What people call the features and classes of a table, the units of its numbers, and the language of the texts.

    Parameters
    ----------
    language
        A language that comes with nicecf ("en"), or the path of a TOML file of your own: a copy of nicecf's
        ``phrases/en.toml`` with every phrase translated.
    names
        ``{feature: what people call it}``.
    units
        ``{feature: unit}``: ``"EUR"`` is put after the number; a form with ``{}`` holds the number, such as
        ``"€{}"`` or ``"{} months"``.
    classes
        ``{label: what people call it}``.

    Notes
    -----
    Keys that are text also stand for features and labels that are written so: ``"1"`` for the class 1.

    Examples
    --------
    >>> wording = Wording(names={"loan_amount": "the amount"}, units={"loan_amount": "€{}"})
    >>> wording.name("loan_amount"), wording.name("age"), wording.measured("loan_amount", "900")
    ('the amount', 'age', '€900')
    """

    language: str | os.PathLike[str] = _REFERENCE
    names: Mapping[Hashable, str] = field(default_factory=dict)
    units: Mapping[Hashable, str] = field(default_factory=dict)
    classes: Mapping[Hashable, str] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check all that can be checked without a table, and keep copies."""
        for option in ("names", "units", "classes"):
            object.__setattr__(self, option, _texts(option, getattr(self, option)))
        for feature, unit in self.units.items():
            _check_unit(feature, unit)
        object.__setattr__(self, "phrases", _phrases_of(self.language))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Wording:
        """Read a wording from a TOML file, whose keys are the parameters of this class.

        Such as::

            language = "en"

            [names]
            loan_amount = "amount of the loan"

            [units]
            loan_amount = "EUR"
            term_months = "{} months"

            [classes]
            1 = "approved"

        A ``language`` that is a path is one as seen from the folder of this file.
        """
        read = tomlfiles.read(path)
        known = [one.name for one in fields(cls) if one.init]
        for key in read:
            if key not in known:
                raise OptionError(
                    f"{path} has the key {key!r}, which is not known; choose among {listed(known)}."
                    f"{did_you_mean(key, known)}"
                )
        language = read.get("language")
        if isinstance(language, str) and _is_path(language):
            read["language"] = Path(path).parent / language
        try:
            return cls(**read)
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from error

    def check(self, features: Iterable[Hashable], classes: Iterable[Hashable]) -> None:
        """OptionError where it speaks of features or classes that a table and its model do not have."""
        for option, what, there in (
            ("names", "feature", list(features)),
            ("units", "feature", list(features)),
            ("classes", "class", [plain(label) for label in classes]),
        ):
            known = {*there, *(text for one in there for text in _spellings(one))}
            for one in getattr(self, option):
                if one not in known:
                    raise OptionError(
                        f"{option} of the wording speaks of the {what} {one!r}, which is not there; choose among "
                        f"{listed(there, limit=20)}.{did_you_mean(one, there)}"
                    )

    def say(self, phrase: str, **fields: object) -> str:
        """A phrase with its fields filled in."""
        return self.phrases[phrase].format(**fields)

    def name(self, feature: Hashable) -> str:
        """What a feature is called, in one line."""
        return one_line(_looked_up(self.names, feature) or str(feature))

    def label(self, label: Hashable) -> str | None:
        """What a class is called, in one line; None if nothing is said of it."""
        called = _looked_up(self.classes, label)
        return None if called is None else one_line(called)

    def measured(self, feature: Hashable, number: str) -> str:
        """A number with the unit of its feature."""
        unit = _looked_up(self.units, feature)
        if unit is None:
            return number
        return unit.replace("{}", number) if "{}" in unit else self.say("number.unit", number=number, unit=unit)

    def listed(self, parts: list[str]) -> str:
        """Parts of a sentence, one after the other.

        >>> Wording().listed(["a", "b", "c"])
        'a, b and c'
        """
        if len(parts) < 2:
            return "".join(parts)
        return f"{self.phrases['list.between'].join(parts[:-1])}{self.phrases['list.last']}{parts[-1]}"


def one_line(text: str) -> str:
    r"""Text without line breaks or other white space that nobody sees.

    >>> one_line("of which\n  rent ")
    'of which rent'
    """
    if text.isprintable() and "  " not in text and text == text.strip():
        return text
    return harmless(" ".join(text.split()))


def _looked_up(given: Mapping[Hashable, str], key: Hashable) -> str | None:
    if not given:
        return None
    return next((given[one] for one in (key, *_spellings(key)) if one in given), None)


def _spellings(key: Hashable) -> list[str]:
    """How a key is written where it can only be text, as in a TOML file."""
    whole = [str(int(key))] if isinstance(key, float) and key.is_integer() else []
    return [str(key), str(key).lower(), *whole] if isinstance(key, bool) else [str(key), *whole]


def _texts(option: str, given: object) -> dict[Any, str]:
    if not isinstance(given, Mapping):
        what = "classes" if option == "classes" else "features"
        raise OptionError(f"{option} must be a dict from {what} to text, got {type(given).__name__}.")
    for one, text in given.items():
        if not isinstance(text, str) or not text.strip():
            raise OptionError(f"{option} has {text!r} for {one!r}; pass text that is not empty.")
    return {plain(one): text for one, text in given.items()}


def _check_unit(feature: Hashable, unit: str) -> None:
    if "{" in unit.replace("{}", "", 1) or "}" in unit.replace("{}", "", 1):
        raise OptionError(
            f"units has {unit!r} for {feature!r}; pass a unit such as 'EUR', or a form with one {{}} for the number, "
            "such as '€{}'."
        )


def _is_path(language: str) -> bool:
    return language.endswith(".toml") or "/" in language or os.sep in language


def _phrases_of(language: object) -> Mapping[str, str]:
    """The phrases of a language, by ``section.phrase``."""
    if isinstance(language, os.PathLike) or (isinstance(language, str) and _is_path(language)):
        return _checked(_flat(tomlfiles.read(language), language), _shipped(_REFERENCE), language)
    known = sorted(path.stem for path in _FOLDER.glob("*.toml"))
    if isinstance(language, str) and language in known:
        return _shipped(language)
    raise OptionError(
        f"language={language!r} is not known; choose {'one of ' if len(known) > 1 else ''}{listed(known)}, or pass the "
        f"path of a .toml file of your own.{did_you_mean(language, known)}"
    )


@cache
def _shipped(language: str) -> Mapping[str, str]:
    path = _FOLDER / f"{language}.toml"
    phrases = _flat(tomlfiles.read(path), path)
    return phrases if language == _REFERENCE else _checked(phrases, _shipped(_REFERENCE), path)


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
                f"{path} has the phrase {key!r}, which is not known; the phrases are those of {_FOLDER.name}/"
                f"{_REFERENCE}.toml.{did_you_mean(key, reference)}"
            )
    missing = [key for key in reference if key not in phrases]
    if missing:
        raise OptionError(f"{path} lacks the phrases {listed(missing)}; every phrase of {_REFERENCE}.toml is needed.")
    for key, phrase in phrases.items():
        allowed, there = _fields_of(reference[key]), _fields_of(phrase)
        if there is None or there != allowed:
            need = " and ".join(f"{{{one}}}" for one in sorted(allowed or ())) or "no field"
            raise OptionError(f"{path} has {phrase!r} for the phrase {key!r}; it needs {need} in braces, and no other.")
    return phrases


def _fields_of(phrase: str) -> set[str] | None:
    """The names in braces; None where the braces hold anything but plain names."""
    try:
        parts = list(Formatter().parse(phrase))
    except ValueError:
        return None
    if any(spec or conversion or name == "" for _, name, spec, conversion in parts):
        return None
    return {name for _, name, _, _ in parts if name is not None}
