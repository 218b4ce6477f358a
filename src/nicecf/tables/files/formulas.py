"""Text that a spreadsheet would take for a formula: an apostrophe before it keeps it text."""

from __future__ import annotations

import re

# What is not seen may stand before a sign, and so may apostrophes: text that had one already gets another, so that
# taking one off always gives back what was there.
_UNSEEN = r"[\s'\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*"
_FORMULA = re.compile(rf"{_UNSEEN}[=+\-@\uff1d\uff0b\uff0d\uff20]\s*\S|'*[\t\r\n]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def protected(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet could take it for a formula; a number is not one.

    >>> protected("=1+1"), protected("'=1+1"), protected("-1.5"), protected("rock 'n' roll")
    ("'=1+1", "''=1+1", '-1.5', "rock 'n' roll")
    """
    return f"'{text}" if _is_like_a_formula(text) else text


def unprotected(text: str) -> str:
    """What :func:`protected` was given.

    >>> unprotected("'=1+1"), unprotected("''=1+1"), unprotected("'tis"), unprotected("=1+1")
    ('=1+1', "'=1+1", "'tis", '=1+1')
    """
    return text[1:] if text.startswith("'") and _is_like_a_formula(text[1:]) else text


def _is_like_a_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
