"""How things are called in words: the phrases of a language, names of features and classes, units."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from nicecf.exceptions import OptionError, did_you_mean, listed, plain
from nicecf.support import toml_files
from nicecf.support.formats import one_line
from nicecf.support.phrases import REFERENCE, is_path, phrases_of
from nicecf.support.types import Label


@dataclass(frozen=True, kw_only=True)
class Wording:
    """What people call the features and classes of a table, the units of its numbers, and the language of the texts.

    Parameters
    ----------
    language
        A language that comes with nicecf ("en", "de"), or the path of a TOML file of your own: a copy of nicecf's
        ``phrases/en.toml`` with every phrase translated.
    names
        ``{feature: what people call it}``.
    units
        ``{feature: unit}``: ``"EUR"`` is put after the number; a form with ``{}`` holds the number, such as
        ``"€{}"`` or ``"{} months"``.
    classes
        ``{label: what people call it}``.
    values
        ``{feature: {category: what people call it}}``, in a letter in another language, say.
    probabilities
        ``{label: what people call the probability of this class}``, such as ``"the estimated risk"``.
    regions
        Whether texts, letters and pictures say with which values the answer still holds ("at least 680"), as
        ``cfs.boxes()`` does, and not the new value alone. The model is asked. Numbers are said so where the box is
        proven, categories also where it is only checked; dates, durations, and more than six categories never are.

    Notes
    -----
    Keys that are text also stand for features and labels that are written so: ``"1"`` for the class 1.

    Examples
    --------
    >>> wording = Wording(names={"loan_amount": "the amount"}, units={"loan_amount": "€{}"})
    >>> wording.name("loan_amount"), wording.name("age"), wording.measured("loan_amount", "900")
    ('the amount', 'age', '€900')
    """

    language: str | os.PathLike[str] = REFERENCE
    names: Mapping[Hashable, str] = field(default_factory=dict)
    units: Mapping[Hashable, str] = field(default_factory=dict)
    classes: Mapping[Hashable, str] = field(default_factory=dict)
    values: Mapping[Hashable, Mapping[Hashable, str]] = field(default_factory=dict)
    probabilities: Mapping[Hashable, str] = field(default_factory=dict)
    regions: bool = False
    phrases: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check all that can be checked without a table, and keep copies."""
        for option in ("names", "units", "classes", "probabilities"):
            object.__setattr__(self, option, _texts(option, getattr(self, option)))
        object.__setattr__(self, "values", _texts_by_feature(self.values))
        if not isinstance(self.regions, bool):
            raise OptionError(f"regions must be True or False, got {self.regions!r}.")
        for feature, unit in self.units.items():
            _check_unit(feature, unit)
        object.__setattr__(self, "phrases", phrases_of(self.language))

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

            [values.home]
            own = "owned"

            [classes]
            1 = "approved"

        A ``language`` that is a path is one as seen from the folder of this file.
        """
        read = toml_files.read(path)
        known = [one.name for one in fields(cls) if one.init]
        for key in read:
            if key not in known:
                raise OptionError(
                    f"{path} has the key {key!r}, which is not known; choose among {listed(known)}."
                    f"{did_you_mean(key, known)}"
                )
        language = read.get("language")
        if isinstance(language, str) and is_path(language):
            read["language"] = Path(path).parent / language
        try:
            return cls(**read)
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from error

    @classmethod
    def given(cls, wording: Wording | None, features: Iterable[Hashable], classes: Iterable[Hashable]) -> Wording:
        """What was passed for a table, or the default; OptionError if it is not a wording, or not one for the table."""
        if wording is None:
            return cls()
        if not isinstance(wording, Wording):
            raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
        wording.check(features, classes)
        return wording

    def check(self, features: Iterable[Hashable], classes: Iterable[Hashable]) -> None:
        """Raises OptionError if it names features or classes that a table and its model do not have."""
        features = list(features)
        for option, what, there in (
            ("names", "feature", features),
            ("units", "feature", features),
            ("values", "feature", features),
            ("classes", "class", [plain(label) for label in classes]),
            ("probabilities", "class", [plain(label) for label in classes]),
        ):
            known = {*there, *(text for one in there for text in _spellings(one))}
            for one in getattr(self, option):
                if one not in known:
                    raise OptionError(
                        f"{option} of the wording refers to the {what} {one!r}, which does not exist; choose among "
                        f"{listed(there, limit=20)}.{did_you_mean(one, there)}"
                    )

    def say(self, phrase: str, **fields: object) -> str:
        """A phrase with its fields filled in."""
        return self.phrases[phrase].format(**fields)

    def name(self, feature: Hashable) -> str:
        """What a feature is called, in one line."""
        return one_line(_looked_up(self.names, feature) or str(feature))

    def given_name(self, feature: Hashable) -> str | None:
        """The name that the wording gives a feature, in one line; None if it gives none."""
        given = _looked_up(self.names, feature)
        return None if given is None else one_line(given)

    def label(self, label: Hashable) -> str | None:
        """What a class is called, in one line; None if nothing is said of it."""
        called = _looked_up(self.classes, label)
        return None if called is None else one_line(called)

    def value(self, feature: Hashable, value: Hashable) -> str | None:
        """What a category of a feature is called, in one line; None if nothing is said of it."""
        of_feature = next((self.values[one] for one in (feature, *_spellings(feature)) if one in self.values), {})
        called = _looked_up(of_feature, value)
        return None if called is None else one_line(called)

    def probability(self, label: Hashable) -> str | None:
        """What the probability of a class is called, in one line; None if nothing is said of it."""
        called = _looked_up(self.probabilities, label)
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


def _looked_up(given: Mapping[Hashable, str], key: Hashable) -> str | None:
    if not given:
        return None
    return next((given[one] for one in (key, *_spellings(key)) if one in given), None)


def _spellings(key: Hashable) -> list[str]:
    """How a key is written where it can only be text, as in a TOML file."""
    whole = [str(int(key))] if isinstance(key, float) and key.is_integer() else []
    return [str(key), str(key).lower(), *whole] if isinstance(key, bool) else [str(key), *whole]


def _texts(option: str, given: object) -> dict[Label, str]:
    if not isinstance(given, Mapping):
        what = "classes" if option in ("classes", "probabilities") else "features"
        what = "categories" if option.startswith("values") else what
        raise OptionError(f"{option} must be a dict from {what} to text, got {type(given).__name__}.")
    for one, text in given.items():
        if not isinstance(text, str) or not text.strip():
            raise OptionError(f"{option} has {text!r} for {one!r}; pass text that is not empty.")
    return {plain(one): text for one, text in given.items()}


def _texts_by_feature(given: object) -> dict[Label, dict[Label, str]]:
    if not isinstance(given, Mapping):
        raise OptionError(f"values must be a dict from features to dicts of text, got {type(given).__name__}.")
    return {plain(feature): _texts(f"values of {feature!r}", texts) for feature, texts in given.items()}


def _check_unit(feature: Hashable, unit: str) -> None:
    if "{" in unit.replace("{}", "", 1) or "}" in unit.replace("{}", "", 1):
        raise OptionError(
            f"units has {unit!r} for {feature!r}; pass a unit such as 'EUR', or a form with one {{}} for the number, "
            "such as '€{}'."
        )
