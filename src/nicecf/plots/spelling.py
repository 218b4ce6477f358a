"""How features, classes and values are written in pictures: as in the texts, each in one line."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.profile import Profile
from nicecf.schema import Schema
from nicecf.words.rounding import digits, whole_percent, written
from nicecf.words.telling import Speaker
from nicecf.words.wording import Wording
from nicecf.words.wording import one_line as in_one_line

# What a float holds: more digits than that are not in the data.
_MOST_DECIMALS = 15
# How many more than its column a value may have that is longer.
_MORE = 6


@dataclass(frozen=True, eq=False)
class Spelling:
    """The names and values of one result, in a wording."""

    schema: Schema
    profile: Profile
    speaker: Speaker
    classes: tuple[Hashable, ...]

    @classmethod
    def of(cls, batch: Any, wording: Any | None) -> Spelling:
        """For a Counterfactuals and a :class:`nicecf.Wording`, or None; OptionError for anything else."""
        if wording is not None and not isinstance(wording, Wording):
            raise OptionError(f"wording must be a nicecf.Wording, or None, got {type(wording).__name__}.")
        wording = wording or Wording()
        wording.check(batch._schema.names, batch.classes)
        classes = tuple(plain(label) for label in batch.classes)
        return cls(batch._schema, batch._origin.profile, Speaker(wording, is_letter=False), classes)

    @property
    def missing(self) -> str:
        """What a missing value is called."""
        return self.speaker.wording.phrases["value.missing"]

    def feature(self, j: int) -> str:
        """The name of a feature."""
        return seen(self.speaker.name(self.schema.columns[j].name))

    def label(self, code: int) -> str:
        """The name of a class, by its position."""
        called = self.speaker.wording.label(self.classes[code])
        return self._text(self.classes[code]) if called is None else seen(called)

    def percent(self, probability: float) -> str:
        """A probability; never rounded to certainty."""
        return self.speaker.percent(int(whole_percent(np.array([probability]))[0]))

    def reason(self, text: str) -> str:
        """Why there is no counterfactual, with the names that people use."""
        return self.speaker.renamed(text, self.schema.names, self.classes)

    def value(self, j: int, value: float) -> str:
        """An encoded value."""
        return self.pair(j, value, value)[0]

    def pair(self, j: int, before: float, after: float) -> tuple[str, str]:
        """Two encoded values of a feature; if they differ, so does what is written."""
        if self.schema.columns[j].is_categorical:
            return self._level(j, before), self._level(j, after)
        decimals = self.profile.columns[j].decimals
        while decimals < _MOST_DECIMALS and before != after and number(before, decimals) == number(after, decimals):
            decimals += 1
        return self._number(j, before, decimals), self._number(j, after, decimals)

    def changes(self, batch: Any) -> list[dict[int, tuple[str, str]]]:
        """For each counterfactual the values before and after each change, by feature, as the texts say them."""
        said: list[dict[int, tuple[str, str]]] = [{} for _ in range(len(batch))]
        lines, features = batch._steps.row().tolist(), batch._steps.feature.tolist()
        for line, j, pair in zip(lines, features, written(batch), strict=True):
            if pair is None:
                said[line][j] = self.pair(j, batch._rows[line, j], batch._values[line, j])
            else:
                said[line][j] = self._measured(j, pair.before), self._measured(j, pair.after)
        return said

    def _level(self, j: int, code: float) -> str:
        return self.missing if code < 0 else self._text(self.schema.columns[j].levels[int(code)])

    def _text(self, value: Any) -> str:
        if isinstance(value, (bool, np.bool_)):
            return self.speaker.wording.phrases["value.true" if value else "value.false"]
        value = plain(value)
        return self.speaker.number(digits(value)) if isinstance(value, float) else seen(str(value))

    def _number(self, j: int, value: float, decimals: int) -> str:
        if np.isnan(value):
            return self.missing
        if self.profile.columns[j].is_exact and round(value, decimals) != value and abs(value) < 1e15:
            return self._measured(j, digits(round(value, decimals + _MORE)))
        return self._measured(j, number(value, decimals))

    def _measured(self, j: int, text: str | None) -> str:
        if text is None:
            return self.missing
        return seen(self.speaker.wording.measured(self.schema.columns[j].name, self.speaker.number(text)))


def number(value: float, decimals: int) -> str:
    """A number with so many decimals.

    >>> number(1234.5, 2), number(-0.001, 1), number(2.5e17, 0)
    ('1234.50', '0.0', '2.5e+17')
    """
    if abs(value) >= 1e15:
        return f"{value:.6g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def seen(text: str) -> str:
    r"""Any text in one line that can be seen.

    >>> seen("a\n b"), seen(" ")
    ('a b', '(empty)')
    """
    return in_one_line(text) or "(empty)"
