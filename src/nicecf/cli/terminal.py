"""What is printed: whatever a terminal would obey is shown, and what cannot be printed is said."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nicecf.exceptions import FileError

# Control characters but for the line break, those that turn the direction of text or are not seen, and halves of
# surrogate pairs, by which Python writes bytes of file names that are no text.
_OBEYED = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Text in which every character that a terminal would obey is written as its code.

    >>> print(visible("\x1b[2J\u202eevil\r"))
    \x1b[2J\u202eevil\r
    """
    return _OBEYED.sub(_code, text)


def in_one_line(value: object) -> str:
    r"""A name from outside within a line of ours: it cannot begin another.

    >>> print(in_one_line("a\nnicecf: all is well"))
    a\nnicecf: all is well
    """
    return visible(str(value)).replace("\n", r"\n")


def is_text(given: str) -> bool:
    r"""Whether it can be kept as text; a path with bytes that are none cannot.

    >>> is_text("plain"), is_text("\udcff.csv")
    (True, False)
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def say(text: str) -> None:
    """Print on standard output; FileError where that cannot be."""
    try:
        print(visible(text))
    except BrokenPipeError:  # whoever read it has had enough
        raise
    except OSError as error:
        raise not_printed(error) from error


def not_printed(error: OSError) -> FileError:
    """What the system said of standard output."""
    from nicecf.exceptions import FileError
    from nicecf.files import reason

    return FileError(f"standard output cannot be written: {reason(error)}.")


def say_beside(text: str) -> None:
    """Print beside the results, on standard error, if there is one."""
    if sys.stderr is None:  # print would take standard output in its place
        return
    with suppress(OSError, ValueError):
        print(visible(text), file=sys.stderr, flush=True)


def remark(message: str) -> None:
    """Say something beside the results, in one line."""
    say_beside(f"nicecf: {' '.join(message.split())}")


def _code(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")
