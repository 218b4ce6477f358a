"""How a file is laid out, where the file itself does not say: separator, decimal mark, encoding, sheet."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields

from nicecf.exceptions import OptionError, did_you_mean, listed

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_MARKS = {"comma": ",", "point": "."}
_ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16")


@dataclass(frozen=True)
class Layout:
    r"""How a table is laid out in a file; None is for the reader to recognise.

    ``sep`` stands between the fields of CSV, ``decimal`` before the decimals of its numbers, and ``encoding`` is that
    of its text; ``sheet`` is the name of a sheet of Excel. Raises OptionError for what cannot be.

    >>> Layout(sep="tab", decimal=",", encoding="Latin1")
    Layout(sep='\t', decimal=',', encoding='iso8859-1', sheet=None)
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if not (given is None or isinstance(given, str)):
                raise OptionError(f"{field.name} must be text, or None to have it recognised, got {given!r}.")
        object.__setattr__(self, "sep", _separator(self.sep))
        object.__setattr__(self, "decimal", _decimal(self.decimal))
        object.__setattr__(self, "encoding", _encoding(self.encoding))

    @property
    def given(self) -> dict[str, str]:
        """What is not None."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}


def _separator(given: str | None) -> str | None:
    if given is None:
        return None
    mark = _NAMED.get(given.lower(), given)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "\"'.+-\r\n" or mark < "\t":
        raise OptionError(
            f"sep={given!r} cannot stand between fields; use ',', ';', '|', 'tab' or another single character that is "
            "not a letter, a digit, a quote, a sign or a point."
        )
    return mark


def _decimal(given: str | None) -> str | None:
    if given is None:
        return None
    mark = _MARKS.get(given.lower(), given)
    if mark not in _MARKS.values():
        raise OptionError(f"decimal={given!r} is not a decimal mark; use '.' or ','.")
    return mark


def _encoding(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        codec = codecs.lookup(given)
        if codec._is_text_encoding:
            return codec.name
    except (LookupError, ValueError):
        pass
    raise OptionError(
        f"encoding={given!r} is not known; use one of {listed(_ENCODINGS)}, or another that Python has."
        f"{did_you_mean(given, _ENCODINGS)}"
    )
