"""The bytes of a text file -> its text: UTF-8, UTF-16 and Western European are recognised, others are named."""

from __future__ import annotations

import codecs
import re

from nicecf.exceptions import FileError

UTF8 = "utf-8"
# UTF-8 with a byte order mark, by which a spreadsheet knows it.
UTF8_MARKED = "utf-8-sig"
WESTERN = "cp1252"

# How files begin that are taken for text by a wrong name.
_OTHER_KINDS = {
    b"PAR1": "a Parquet file; call it .parquet, or say so with the option format (--format parquet)",
    b"ARROW1": "an Arrow file; call it .arrow, or say so with the option format (--format arrow)",
    b"PK\x03\x04": "a zip archive, such as those of Excel, not text; if it is one of these, call it .xlsx, or say so "
    "with the option format (--format xlsx)",
    b"\xd0\xcf\x11\xe0": "an old file of Excel, not text; save it as .xlsx",
}
_ASCII = bytes(range(128))
# Those in which every byte is some character: they decode whatever they are asked to.
_OF_SINGLE_BYTES = (WESTERN, "iso8859-1", "iso8859-15")
_MARKS_OF_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Characters of UTF-8 that take several bytes, and all other bytes that ASCII does not have.
_SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# In a Western language, four letters with accents never follow each other (Cyrillic or Greek words do), and these signs
# do not stand within words (letters of Polish or Hungarian do).
_NOT_WESTERN = re.compile(rb"[\xc0-\xff]{4}|[A-Za-z\xc0-\xff][\xa1\xa3\xb3\xb9\xbc\xbe\xbf][A-Za-z\xc0-\xff]")


def decoded(content: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """The text of a file, and the encoding that it is in: the one given, or the one that is recognised.

    UTF-8 is what decodes as such, with or without a byte order mark; UTF-16 needs one. Other text is taken for cp1252,
    which has latin-1 in it, unless it looks like another language, or like damaged UTF-8. Raises FileError that names
    the first line which is not text.
    """
    for start, what in _OTHER_KINDS.items():
        if content.startswith(start):
            raise FileError(f"{name} is {what}.")
    if encoding is not None:
        _check_given(content, name, encoding)
    found = _recognised(content, name) if encoding is None else encoding
    if found == UTF8 and content.startswith(codecs.BOM_UTF8):
        found = UTF8_MARKED
    text = _as_text(content, name, found, is_given=encoding is not None).removeprefix("\ufeff")
    wrong = text.find("\0")
    if wrong >= 0:
        line = text.count("\n", 0, wrong) + 1
        raise FileError(
            f"{name}, line {line:,}, holds a zero byte, which text never does: it is not text, or it is damaged, or "
            "its encoding must be named (--encoding, such as utf-16-le)."
        )
    return text, found


def in_utf8(content: bytes, name: str) -> str:
    """The text of a file that must be UTF-8; raises FileError that names the first byte which is not."""
    if content.startswith(_MARKS_OF_UTF16):
        raise FileError(f"{name} is text in UTF-16; save it as UTF-8.")
    try:
        content.decode(UTF8)
    except UnicodeDecodeError as error:
        raise FileError(
            f"{_place(content, name, error)}. If it is text, save it as UTF-8 (such as by iconv -f latin1 -t utf-8)."
        ) from error
    return decoded(content, name, UTF8)[0]


def _recognised(content: bytes, name: str) -> str:
    if content.startswith(_MARKS_OF_UTF16):
        return "utf-16"
    try:
        content.decode(UTF8)
        return UTF8
    except UnicodeDecodeError as error:
        wrong = error
    place = _place(content, name, wrong)
    rest, n_whole = _SEVERAL_BYTES.subn(b"", content)
    n_other = len(rest.translate(None, delete=_ASCII))
    if content.startswith(codecs.BOM_UTF8) or n_whole >= n_other:
        raise FileError(
            f"{place}, though the rest of it is. It is damaged there, or its encoding must be named (--encoding)."
        )
    odd = _NOT_WESTERN.search(content)
    try:
        content.decode(WESTERN)
    except UnicodeDecodeError as error:
        raise FileError(f"{place}, nor {WESTERN} (byte {error.start:,}). Name its encoding (--encoding).") from error
    if odd is not None:
        line = content.count(b"\n", 0, odd.start()) + 1
        raise FileError(
            f"{place}, and as {WESTERN} line {line:,} would hold {odd.group().decode(WESTERN)!r}. Name its encoding "
            "(--encoding, such as cp1250 or cp1251)."
        )
    return WESTERN


def _check_given(content: bytes, name: str, encoding: str) -> None:
    """FileError for an encoding that decodes the file, but to what it does not say."""
    advice = f"Leave encoding={encoding!r} (--encoding) out to have it recognised, or name another."
    if encoding.startswith(("utf-16", "utf-32")) and b"\0" not in content:
        raise FileError(f"{name} is not {encoding} text: it has no zero byte, as every line end would have. {advice}")
    if encoding in _OF_SINGLE_BYTES and (wrong := _SEVERAL_BYTES.search(content)):
        try:
            content.decode(UTF8)
        except UnicodeDecodeError:
            return
        line = content.count(b"\n", 0, wrong.start()) + 1
        raise FileError(f"{name}, line {line:,}, holds {wrong.group().decode()!r} in UTF-8. {advice}")


def _as_text(content: bytes, name: str, encoding: str, *, is_given: bool) -> str:
    try:
        return content.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content.count(b"\n", 0, start) + 1
        advice = (
            "Leave encoding (--encoding) out to have it recognised, or name another." if is_given else "Save it again."
        )
        what = getattr(error, "reason", error)
        raise FileError(f"{name}, line {line:,}, is not {encoding} text (byte {start:,}: {what}). {advice}.") from error


def _place(content: bytes, name: str, error: UnicodeDecodeError) -> str:
    line = content.count(b"\n", 0, error.start) + 1
    return f"{name}, line {line:,}, is not UTF-8: byte {error.start:,} is 0x{content[error.start]:02x}"
