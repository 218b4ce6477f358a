"""A lender's table of codes: what it calls each change of a counterfactual, by the feature and its direction."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import pandas as pd

from nicecf.exceptions import FileError, OptionError, listed

# Of a number or a date that goes up or down; of anything else, and of both.
_DIRECTIONS = ("increase", "decrease", "change")


@dataclass(frozen=True)
class ReasonCodes:
    """``{(feature, direction): (code, wording)}``; a direction is "increase", "decrease", or "change" for either.

    >>> codes = ReasonCodes({("savings", "increase"): ("R12", "Insufficient savings")})
    >>> codes.of("savings", 1)
    ('R12', 'Insufficient savings')
    """

    by_change: Mapping[tuple[Hashable, str], tuple[str, str]]

    def __post_init__(self) -> None:
        """Check what was given."""
        if not isinstance(self.by_change, Mapping):
            raise OptionError(f"codes must be {_EXPECTED}, got {type(self.by_change).__name__}.")
        for key, value in self.by_change.items():
            if not (isinstance(key, tuple) and len(key) == 2 and key[1] in _DIRECTIONS):
                raise OptionError(f"codes has the key {key!r}; it must be {_EXPECTED}.")
            if not (isinstance(value, tuple) and len(value) == 2 and all(isinstance(one, str) for one in value)):
                raise OptionError(f"codes has {value!r} for {key!r}; it must be {_EXPECTED}.")

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> ReasonCodes:
        """From a CSV file with the columns feature, direction, code and wording."""
        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise FileError(f"the codes in {path} cannot be read: {error}. Pass a CSV file with {_COLUMNS}.") from error
        missing = [name for name in _NAMES if name not in frame]
        if missing:
            raise FileError(f"{path} has no column {listed(missing)}; a table of codes has {_COLUMNS}.")
        lines = frame[list(_NAMES)].itertuples(index=False, name=None)
        return cls({(feature, direction): (code, wording) for feature, direction, code, wording in lines})

    def of(self, feature: Hashable, direction: int) -> tuple[str, str] | None:
        """The code and the wording of a change that goes up (1), down (-1) or neither (0); None if there is none."""
        keys = [(feature, _DIRECTIONS[0 if direction > 0 else 1])] if direction else []
        keys.append((feature, "change"))
        keys += [(str(one), way) for one, way in keys]
        return next((self.by_change[key] for key in keys if key in self.by_change), None)


_NAMES = ("feature", "direction", "code", "wording")
_COLUMNS = "the columns feature, direction (increase, decrease or change), code and wording"
_EXPECTED = "a dict {(feature, 'increase' | 'decrease' | 'change'): (code, wording)}, or nicecf.ReasonCodes"
