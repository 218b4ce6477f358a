"""Printing: control characters are shown as codes, and output that cannot be printed is an error."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nicecf.exceptions import FileError

# Control characters except the line break, characters that change the direction of text or are invisible, and halves
# of surrogate pairs, which Python uses for bytes of file names that are not text.
_OBEYED = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Text in which every character that would control the terminal is written as its code.

    >>> print(visible("\x1b[2J\u202eevil\r"))
    \x1b[2J\u202eevil\r
    """
    return _OBEYED.sub(_code, text)


def in_one_line(value: object) -> str:
    r"""A name from outside as part of one line: it cannot start another line.

    >>> print(in_one_line("a\nnicecf: all is well"))
    a\nnicecf: all is well
    """
    return visible(str(value)).replace("\n", r"\n")


def is_text(given: str) -> bool:
    r"""Whether it is valid text; a path with undecodable bytes is not.

    >>> is_text("plain"), is_text("\udcff.csv")
    (True, False)
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def say(text: str) -> None:
    """Print on standard output; raises FileError if it cannot be written."""
    try:
        print(visible(text))
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        raise not_printed(error) from error


def say_in_utf8(text: str) -> None:
    """Print the text of a file on standard output: as UTF-8, whatever the terminal's encoding."""
    content = visible(text).encode()
    raw = getattr(sys.stdout, "buffer", None)
    try:
        if raw is None:  # not a stream of bytes, such as a notebook's
            print(content.decode(), end="")
            return
        sys.stdout.flush()
        raw.write(content)
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        raise not_printed(error) from error


def not_printed(error: OSError) -> FileError:
    """The error for standard output that cannot be written."""
    from nicecf.exceptions import FileError
    from nicecf.support.files import reason

    return FileError(f"standard output cannot be written: {reason(error)}.")


def say_beside(text: str) -> None:
    """Print on standard error, if there is one."""
    if sys.stderr is None:  # print would use standard output instead
        return
    with suppress(OSError, ValueError):
        print(visible(text), file=sys.stderr, flush=True)


def remark(message: str) -> None:
    """Print a message on standard error, in one line."""
    say_beside(f"nicecf: {' '.join(message.split())}")


def _code(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")
