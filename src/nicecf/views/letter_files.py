"""Letters as files: a text and a page for each row."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from nicecf.exceptions import FileError, listed
from nicecf.support.files import writing
from nicecf.support.types import Label
from nicecf.views.documents.html import text
from nicecf.views.documents.page import page

_PREFIX, _SUFFIXES = "letter-", (".txt", ".html")
# Of a file's name: what every system takes, and no more than any of them does.
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST = 100

_LOOK = """
main { max-width: 42rem; margin: 2rem auto; }
ul, ol { padding-left: 1.4rem; }
li { margin: .2rem 0; }
@media print { main { margin: 0; max-width: none; } }
"""


def write_letters(
    letters: Sequence[str], labels: Sequence[Label], folder: str | os.PathLike[str], *, language: str
) -> list[Path]:
    """Write each letter as ``letter-<label>.txt`` and ``.html``; FileError if that fails. The files, in their order.

    Rows with the same label get a number behind it. Letters of other rows must not be in the folder.
    """
    check_folder(folder, labels)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {folder} for letters cannot be made: {error.strerror}. Use another.") from error
    written = []
    for name, letter in zip(_names(labels), letters, strict=True):
        contents = dict(zip(_SUFFIXES, (f"{letter}\n", letter_page(letter, language=language)), strict=True))
        for suffix, content in contents.items():
            path = Path(folder) / f"{name}{suffix}"
            with writing(path) as file:
                file.write(content.encode("utf-8", "replace"))
            written.append(path)
    return written


def check_folder(folder: str | os.PathLike[str], labels: Sequence[Label]) -> None:
    """Raise FileError if a folder holds letters of rows other than these, from which they could not be told.

    They may be of an earlier call, for people whose rows are not explained now, or of somebody else: none is removed.
    """
    names = {f"{name}{suffix}" for name in _names(labels) for suffix in _SUFFIXES}
    found = Path(folder).glob(f"{_PREFIX}*") if os.path.isdir(folder) else ()
    old = sorted(path.name for path in found if path.suffix.lower() in _SUFFIXES and path.name not in names)
    if old:
        raise FileError(
            f"the folder {os.fspath(folder)} holds letters that are not of these rows, such as those of an earlier "
            f"call: {listed(old, limit=3)}. Move them away, or give another folder, so that nobody sends them "
            "by mistake."
        )


def letter_page(letter: str, *, language: str = "en") -> str:
    r"""A letter as one HTML page that needs nothing else: its first line is the heading.

    >>> print(letter_page("Hello\n\nA <b>\n- one\n- two").partition("<body>")[2].partition("</body>")[0].strip())
    <main>
    <h1>Hello</h1>
    <p>A &lt;b&gt;</p>
    <ul><li>one</li><li>two</li></ul>
    </main>
    """
    title, _, rest = letter.partition("\n")
    paragraphs = [part for part in rest.split("\n\n") if part.strip()]
    body = "\n".join([f"<h1>{text(title)}</h1>", *(_paragraph(part) for part in paragraphs)])
    return page(title, body, style=_LOOK, language=language)


def _paragraph(part: str) -> str:
    """Lines of a paragraph; those that begin with a dash are a list."""
    pieces = []
    for mark, lines in groupby(part.strip("\n").split("\n"), key=_mark):
        every = [text(line[2:] if mark == "ul" else line) for line in lines]
        if mark == "ul":
            pieces.append("<ul>" + "".join(f"<li>{line}</li>" for line in every) + "</ul>")
        else:
            pieces.append("<p>" + "<br>".join(every) + "</p>")
    return "\n".join(pieces)


def _mark(line: str) -> str:
    return "ul" if line.startswith("- ") else "p"


def _names(labels: Sequence[Label]) -> list[str]:
    """A name of a file for each label, all of them unlike, whatever the system makes of capitals."""
    cleaned = [f"{_PREFIX}{_UNSAFE.sub('_', str(label))[:_LONGEST].strip('._') or 'row'}" for label in labels]
    times = Counter(name.lower() for name in cleaned)
    taken = {name for name, count in times.items() if count == 1}
    names = []
    for name in cleaned:
        own, number = name, 1
        # Terminates: there are fewer names than numbers.
        while times[name.lower()] > 1 and (own == name or own.lower() in taken):
            own, number = f"{name}-{number}", number + 1
        taken.add(own.lower())
        names.append(own)
    return names
