"""What the parameters of all kinds of rules are made of: features, values of features, cells of a sheet."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nicecf.exceptions import OptionError, did_you_mean, listed, plain
from nicecf.tables.cells import level_key

# A feature by its name, or by its position in an array.
Feature: TypeAlias = Hashable
# A line of a sheet: its filled cells by their columns.
Line: TypeAlias = Mapping[str, Any]
_IS_TRUE = {"true": True, "yes": True, "x": True, "1": True, "false": False, "no": False, "0": False}


def features(option: str, given: Any) -> tuple[Feature, ...]:
    """The features of a list, without repeats; OptionError where it is not one."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise OptionError(f"{option}={given!r} is not a list of features; pass [{given!r}].")
    if isinstance(given, Mapping):
        raise OptionError(f"{option} is a dict; pass a list of features.")
    names = [plain(one) for one in given]
    for one in names:
        if not isinstance(one, Hashable) or isinstance(one, bool) or one is None:
            raise OptionError(f"{option} names {one!r}, which is not a feature; pass names, or positions for arrays.")
    return tuple(dict.fromkeys(names))


def by_feature(option: str, given: Any) -> dict[Feature, Any]:
    """What a dict says of each feature; OptionError where it is not one."""
    if not isinstance(given, Mapping):
        raise OptionError(f"{option} must be a dict with the features as keys, got {type(given).__name__}.")
    return {plain(one): said for one, said in given.items()}


def value_of(option: str, feature: Feature, given: Any) -> Any:
    """A value of a feature; None if it is missing, OptionError where no cell could hold it."""
    if is_missing(given):
        return None
    if not isinstance(plain(given), Hashable):
        raise OptionError(f"{option} has {given!r} for {feature!r}, which is not a value of a feature.")
    return plain(given)


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Each of them once. A column of objects can hold 0, 0.0 and False as categories of their own.

    >>> distinct([0, False, 0.0, "x", 0])
    (0, False, 0.0, 'x')
    """
    first: dict[Any, Any] = {}
    for value in values:
        first.setdefault(_key(value), value)
    return tuple(first.values())


def are_alike(one: Any, other: Any) -> bool:
    """Whether two values of rules mean the same cell, as far as can be told without its column.

    >>> are_alike(1, 1.0), are_alike(1, True)
    (True, False)
    """
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _key(value: Any) -> Any:
    return tuple(map(_key, value)) if isinstance(value, tuple) else level_key(value, by_type=True)


def is_missing(value: Any) -> bool:
    """Whether it stands for a missing value."""
    return value is None or (np.ndim(value) == 0 and bool(pd.isna(value)))


def is_list(given: Any) -> bool:
    """Whether several can be read from it: text cannot."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes))


def is_pair(given: Any) -> bool:
    """Whether it is two of something, in an order."""
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes)) and len(given) == 2


def in_cell(cell: Any) -> list[Any]:
    """The values in a cell of a sheet, where ``|`` separates them.

    >>> in_cell("school | college"), in_cell(5)
    (['school', 'college'], [5])
    """
    if isinstance(cell, str):
        return [part.strip() for part in cell.split("|")]
    return list(cell) if isinstance(cell, Iterable) else [cell]


def check_known(who: str, given: Iterable[Any], known: Sequence[str]) -> None:
    """OptionError for a key or column that nobody reads."""
    for one in given:
        if one not in known:
            raise OptionError(
                f"{who} {one!r}, which is not known; choose among {listed(known, limit=20)}.{did_you_mean(one, known)}"
            )


def is_true(line: Line, column: str) -> bool:
    """What a line of a sheet says in a column of yes and no; no where it says nothing."""
    given = line.get(column, False)
    answer = _IS_TRUE.get(str(plain(given)).strip().lower().removesuffix(".0"))
    if answer is None:
        raise OptionError(f"{column} is {given!r} for {line['feature']!r}; write true or false.")
    return answer
