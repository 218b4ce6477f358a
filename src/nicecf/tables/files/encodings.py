"""Decode text files: Unicode is recognised, and so are the letters that all Latin encodings of Windows share."""

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
_ASCII, _NOT_ASCII = bytes(range(128)), bytes(range(128, 256))
# Encodings of single bytes have more characters than this beyond ASCII; others, such as gbk, have fewer.
_MOST_OF_THEM = 95
_MARKS_OF_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Characters of UTF-8 that take several bytes, and all other bytes that ASCII does not have.
_SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# cp1250, cp1252, cp1254 and cp1257 have these letters in one place. All others are in doubt: 0xf2 is \xf2 in cp1252 and
# \u0148 in cp1250, and a short column of names does not tell which.
_SHARED = "\xc4\xd6\xdc\xe4\xf6\xfc\xdf\xe9\xf3".encode(WESTERN)
_IN_DOUBT = re.compile(rb"[^\x00-\x7f" + _SHARED + rb"]")
# A word in doubt is shown in these, so that a person can tell.
_WORD_BEFORE, _WORD_FROM = re.compile(rb"[A-Za-z\x80-\xff]*$"), re.compile(rb"[A-Za-z\x80-\xff]*")
_LONGEST_HALF = 20
_LIKELY = (WESTERN, "cp1250", "cp1251", "mac-roman")


def decoded(content: bytes, name: str, encoding: str | None = None) -> tuple[str, str]:
    """The text of a file, and the encoding that it is in: the one given, or the one that is recognised.

    UTF-8 is what decodes as such, with or without a byte order mark; UTF-16 needs one. Other text is taken for cp1252
    if beyond ASCII it has only letters that the Latin encodings of Windows have in one place. Raises FileError that
    names the first line which is not text, or which could be read in several ways.
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


def first_in_doubt(content: bytes) -> str | None:
    """Return the first character of a text in cp1252 that other encodings have elsewhere; None if there is none."""
    found = _IN_DOUBT.search(content)
    return None if found is None else found.group().decode(WESTERN)


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
    if in_doubt := _IN_DOUBT.search(content):
        raise FileError(
            f"{name}, line {_line_at(content, in_doubt.start()):,}, is not UTF-8, and its encoding cannot be told from "
            f"its letters: it holds {_readings(content, in_doubt.start())}. Name its encoding (such as --encoding "
            f"{WESTERN}), or save it as UTF-8."
        )
    return WESTERN


def _check_given(content: bytes, name: str, encoding: str) -> None:
    """FileError for an encoding that decodes the file, but to what it does not say."""
    advice = f"Leave encoding={encoding!r} (--encoding) out to have it recognised, or name another."
    if encoding.startswith(("utf-16", "utf-32")) and b"\0" not in content:
        raise FileError(f"{name} is not {encoding} text: it has no zero byte, as every line end would have. {advice}")
    # Where nearly every byte is a character, UTF-8 decodes to wrong text and not to an error.
    has_single_bytes = len(_NOT_ASCII.decode(encoding, "ignore")) > _MOST_OF_THEM
    if has_single_bytes and (wrong := _SEVERAL_BYTES.search(content)):
        try:
            content.decode(UTF8)
        except UnicodeDecodeError:
            return
        raise FileError(
            f"{name}, line {_line_at(content, wrong.start()):,}, holds {wrong.group().decode()!r} in UTF-8. {advice}"
        )


def _as_text(content: bytes, name: str, encoding: str, *, is_given: bool) -> str:
    try:
        return content.decode(encoding)
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        advice = (
            "Leave encoding (--encoding) out to have it recognised, or name another." if is_given else "Save it again."
        )
        what = getattr(error, "reason", error)
        raise FileError(
            f"{name}, line {_line_at(content, start):,}, is not {encoding} text (byte {start:,}: {what}). {advice}."
        ) from error


def _place(content: bytes, name: str, error: UnicodeDecodeError) -> str:
    line = _line_at(content, error.start)
    return f"{name}, line {line:,}, is not UTF-8: byte {error.start:,} is 0x{content[error.start]:02x}"


def _readings(content: bytes, start: int) -> str:
    """Return the word with the byte at ``start`` in each likely encoding that has it."""
    before = _WORD_BEFORE.search(content[max(0, start - _LONGEST_HALF) : start])
    after = _WORD_FROM.match(content, start, start + _LONGEST_HALF)
    assert before is not None
    assert after is not None
    raw = before.group() + after.group()
    words = {encoding: raw.decode(encoding, "replace") for encoding in _LIKELY}
    return ", ".join(f"{word!r} in {encoding}" for encoding, word in words.items() if "\ufffd" not in word)


def _line_at(content: bytes, start: int) -> int:
    return content.count(b"\n", 0, start) + 1
