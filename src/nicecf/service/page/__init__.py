"""The page: files that browsers load from the service itself, and the words on it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from nicecf.support.phrases import phrases_of

LANGUAGES = ("en", "de")
_FOLDER = Path(__file__).parent
_KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def file(name: str) -> bytes | None:
    """A file of the page by its name; None if there is none."""
    return _files().get(name)


@cache
def _files() -> dict[str, bytes]:
    """All of them, by their names: no request names a file of this machine."""
    static = {one.name: one.read_bytes() for one in _FOLDER.iterdir() if one.suffix in _KINDS}
    return static | {f"words.{language}.json": msgspec.json.encode(words(language)) for language in LANGUAGES}


def kind_of(name: str) -> str:
    """What a file is, for its header."""
    return _KINDS.get(Path(name).suffix, "application/json")


def words(language: str) -> dict[str, str]:
    """The phrases of the page in a language, and those for numbers."""
    phrases = phrases_of(language)
    wanted = {key: text for key, text in phrases.items() if key.startswith(("page.", "number.", "value."))}
    return {key.removeprefix("page."): text for key, text in wanted.items()} | {"code": language}
