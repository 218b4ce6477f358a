"""API keys: a file holds their digests, never the keys; a key is checked in the same time, whatever it is."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass

from nicecf.exceptions import FileError
from nicecf.support.files import existing

_LINE = re.compile(r"(?P<name>[\w.@-]{1,100}):sha256:(?P<digest>[0-9a-f]{64})")


@dataclass(frozen=True)
class Keys:
    """The digests of the keys that are accepted.

    >>> Keys((digest("secret"),)).has("secret"), Keys((digest("secret"),)).has("Secret")
    (True, False)
    """

    digests: tuple[str, ...]

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Keys:
        """The keys in a file: a line ``name:sha256:digest`` for each; empty lines and those with a # are left out."""
        with open(existing(path), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file]
        digests = []
        for number, line in enumerate(lines, 1):
            if not line or line.startswith("#"):
                continue
            found = _LINE.fullmatch(line)
            if found is None:  # not shown: it may be a key
                raise FileError(
                    f"{path}, line {number}, is not of the form name:sha256:digest. Write it with --new-key."
                )
            digests.append(found["digest"])
        if not digests:
            raise FileError(f"{path} contains no keys. Add one with --new-key.")
        return cls(tuple(digests))

    def has(self, key: str) -> bool:
        """Whether a key is among them; all are compared, in constant time."""
        given = digest(key)
        return sum(hmac.compare_digest(given, one) for one in self.digests) > 0  # not any(), which stops at one


def digest(key: str) -> str:
    """What is kept of a key. The keys are random and long, so that nothing slower than a hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def new_key(name: str) -> tuple[str, str]:
    """A new key, and its line for the file; FileError for a name that a line cannot have."""
    key = secrets.token_urlsafe(32)
    line = f"{name}:sha256:{digest(key)}"
    if not _LINE.fullmatch(line):
        raise FileError(f"{name!r} cannot be the name of a key: use letters, digits, '.', '_', '@' and '-'.")
    return key, line
