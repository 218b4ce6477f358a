"""The page: files that browsers load from the service itself, and the words on it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from nicecf.support.phrases import phrases_of

LANGUAGES = ("en", "de")
_FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def file(name: str) -> bytes | None:
    """A file of the page by its name; None if there is none."""
    return _files().get(name)


@cache
def _files() -> dict[str, bytes]:
    """All of them, by their names: no request names a file of this machine."""
    static = {one.name: one.read_bytes() for one in _FOLDER.iterdir() if one.suffix in _KINDS}
    return static | {f"words.{language}.json": msgspec.json.encode(words(language)) for language in LANGUAGES}


def as_one_module(entry: str) -> str:
    """A module of the page and all that it imports as one, for notebooks, which load no others.

    What modules do not export stays out of each other's way because every name on the page is there once: that is
    tested. A module comes after those that it imports.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        text = _files()[name].decode()
        for imported in _IMPORT.findall(text):
            if imported not in texts:
                add(imported)
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(entry)
    return "\n".join(texts.values())


def kind_of(name: str) -> str:
    """What a file is, for its header."""
    return _KINDS.get(Path(name).suffix, "application/json")


def words(language: str) -> dict[str, str]:
    """Return the phrases of the page in a language, and those for numbers, values and lists."""
    phrases = phrases_of(language)
    wanted = {key: text for key, text in phrases.items() if key.startswith(("page.", "number.", "value.", "list."))}
    return {key.removeprefix("page."): text for key, text in wanted.items()} | {"code": language}
