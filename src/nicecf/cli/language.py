"""The language that a command speaks; messages about what went wrong, and ``--help``, are in English."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nicecf.support.phrases import Field, Statement

_language: ContextVar[str] = ContextVar("language", default="en")


def add_language_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option that names the language."""
    parser.add_argument("--language", metavar="LANG", help="en, de, or a TOML file with phrases of your own")


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """Inside, `phrase` is in this language; raises OptionError if it is not known."""
    from nicecf.support.phrases import phrases_of

    if language is not None:
        phrases_of(language)
    token = _language.set(language or "en")
    try:
        yield
    finally:
        _language.reset(token)


def language() -> str:
    """The language that is spoken."""
    return _language.get()


def phrase(name: str, **fields: Field) -> str:
    """A phrase of the command line; numbers are in the manner of the language."""
    from nicecf.support.phrases import Statement

    return stated(Statement(name, fields))


def counted(name: str, count: int, **fields: Field) -> str:
    """What is said of so many: of one, the phrase with ``_one`` behind its name.

    >>> counted("cli.rows", 1), counted("cli.rows", 2000)
    ('1 row', '2,000 rows')
    """
    return phrase(f"{name}_one", **fields) if count == 1 else phrase(name, count=count, **fields)


def number(value: float, decimals: int = 0) -> str:
    """A number in the manner of the language.

    >>> number(1234.56, 1)
    '1,234.6'
    """
    from nicecf.support.formats import localised
    from nicecf.support.phrases import phrases_of

    return localised(f"{value:.{decimals}f}", phrases_of(_language.get()))


def stated(*statements: Statement) -> str:
    """Reasons and notes in words."""
    from nicecf.support.phrases import Voice, phrases_of

    return Voice(phrases_of(_language.get())).joined(statements)
