"""The names, numbers, texts and signs that a text is made of, and how a message says where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, NoReturn

from nicecf.exceptions import OptionError
from nicecf.rules.expressions.nodes import KEYWORDS

# Far above what people write. Not a number of characters: what was read is never too long once str writes it out.
MAX_TOKENS = 2_000
# How much of a text a message shows on either side of a mistake.
_SHOWN = 40
# One character at a time in quotes: longer pieces could be divided up in ever so many ways where the end is missing.
_PATTERN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>`(?:[^`]|``)*`)"
    r"|(?P<text>\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*')"
    r"|(?P<foreign>=<|=>|<>|\*\*|//|=(?!=)|&&|\|\|)"
    r"|(?P<sign><=|>=|==|!=|[-+*/(),<>])"
)
_SIGNS = "+ - * / <= >= < > == !="
# What other languages, or a text editor, have in the place of an operator.
_INSTEAD = {
    **{"=<": "<=", "=>": ">=", "<>": "!=", "=": "==", "\u2264": "<=", "\u2265": ">=", "\u2260": "!="},
    **{"\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00f7": "/"},
    **dict.fromkeys("\u201c\u201d\u201e", '"'),
    **dict.fromkeys("\u2018\u2019\u201a", "'"),
}


class Token(NamedTuple):
    """A piece of a text: ``value`` is without its quotes, ``start`` and ``end`` are where it stands with them."""

    kind: Literal["number", "name", "text", "sign", "keyword", "end"]
    value: str
    start: int
    end: int


def tokens_of(text: str) -> Iterator[Token]:
    """The pieces of a text, from left to right, and one for its end; OptionError for what is none."""
    at = 0
    for _ in range(MAX_TOKENS + 1):
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            yield Token("end", "", at, at)
            return
        token = _token(text, at)
        yield token
        at = token.end
    refuse(text, at, f"the text has more than {MAX_TOKENS:,} names, numbers and signs", "Write a shorter one.")


def _token(text: str, start: int) -> Token:
    """The piece that begins here."""
    if text[start].isidentifier():
        end = start + 1
        while end < len(text) and f"a{text[end]}".isidentifier():
            end += 1
        word = text[start:end]
        return Token("keyword" if word in KEYWORDS else "name", word, start, end)
    match = _PATTERN.match(text, start)
    if match is None or match.lastgroup == "foreign":
        _refuse_sign(text, start, match.group() if match else text[start])
    found, end = match.group(), match.end()
    if match.lastgroup == "number":
        return Token("number", found, start, end)
    if match.lastgroup == "sign":
        return Token("sign", found, start, end)
    quote = found[0]
    inside = found[1:-1].replace(quote * 2, quote)
    if quote != "`":
        return Token("text", inside, start, end)
    if not inside:
        refuse(text, start, "there is no name between the backquotes", "Write one backquote on each side: `a b`.")
    return Token("name", inside, start, end)


def _refuse_sign(text: str, start: int, sign: str) -> NoReturn:
    if sign in "\"'`":
        kind = "column name" if sign == "`" else "text"
        refuse(text, start, f"this {sign} is never closed", f"Add a {sign} after the {kind}; inside it, double it.")
    if sign in _INSTEAD:
        refuse(text, start, f"{sign!r} is not known", f"Write {_INSTEAD[sign]} instead.")
    refuse(
        text,
        start,
        f"{sign!r} is not known",
        f"The operators are {_SIGNS}; a column whose name has other characters is written in backquotes: `a b`.",
    )


def refuse(text: str, position: int, problem: str, advice: str) -> NoReturn:
    """OptionError that says what is wrong, at which character (from 1), and what to do."""
    where = "at the end" if position >= len(text) else f"at position {position + 1}"
    raise OptionError(f"{shown(text, position)}, {where}: {problem}. {advice}")


def shown(text: str, position: int = 0) -> str:
    """A text in quotes; of a long one, what is around a position."""
    first, last = max(position - _SHOWN, 0), position + _SHOWN
    if len(text) <= 2 * _SHOWN:
        return repr(text)
    return repr(f"{'...' if first else ''}{text[first:last]}{'...' if last < len(text) else ''}")
