"""Checks of options that several explainers have."""

from __future__ import annotations

from typing import Any

import numpy as np

from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.support.types import is_number

_MOST_SECONDS = 100 * 365.25 * 86_400


def choose(option: str, value: object, choices: tuple[str, ...], *, or_function: bool = False) -> None:
    """OptionError unless the value is one of the choices."""
    if (isinstance(value, str) and value in choices) or (or_function and callable(value)):
        return
    last = " or pass a reward function" if or_function else ""
    allowed = f"choose one of {listed(choices)}" if len(choices) > 1 else f"choose {choices[0]!r}"
    raise OptionError(f"{option}={value!r} is not known; {allowed}{last}.{did_you_mean(value, choices)}")


def check_count(option: str, value: Any, *, least: int = 1, or_none: bool = False) -> None:
    """OptionError unless the value is a whole number, large enough."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        last = ", or None" if or_none else ""
        raise OptionError(f"{option} must be a whole number of at least {least}{last}, got {value!r}.")


def check_flag(option: str, value: Any) -> None:
    """OptionError unless the value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{option} must be True or False, got {value!r}.")


def check_amount(option: str, value: Any, *, may_be_zero: bool = True) -> None:
    """OptionError unless the value is a finite number, not below zero."""
    if not (is_number(value) and (value > 0 or (may_be_zero and value == 0)) and value < 1e100):
        least = "of at least 0" if may_be_zero else "above 0"
        least += " and below 1e100" if is_number(value) and value >= 1e100 else ""
        raise OptionError(f"{option} must be a number {least}, got {value!r}.")


def check_seconds(option: str, value: Any) -> None:
    """OptionError unless the value is a time in seconds, or None."""
    if value is not None and not (is_number(value) and 0 < value <= _MOST_SECONDS):
        raise OptionError(
            f"{option} must be a number of seconds above 0 (a century at most), or None for no limit, got {value!r}."
        )


def check_seed(value: Any) -> None:
    """OptionError unless the value is a seed, or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 2**32:
        raise OptionError(f"random_state must be an integer in [0, 2**32), or None, got {value!r}.")
