"""API keys: a file holds their names and digests, never the keys; a key is checked in the same time, whatever it is."""

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
    """The keys that are accepted: a name and a digest of each. Several may have the same name.

    >>> keys = Keys((("backoffice", digest("secret")),))
    >>> keys.name_of("secret"), keys.name_of("Secret")
    ('backoffice', None)
    """

    entries: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Keys:
        """Read a line ``name:sha256:digest`` for each key; empty lines and those with a # are left out."""
        keys, errors = cls.parse(path)
        if errors:
            raise FileError(errors[0])
        if not keys.entries:
            raise FileError(f"{path} contains no keys. Add one with --new-key.")
        return keys

    @classmethod
    def parse(cls, path: str | os.PathLike[str]) -> tuple[Keys, list[str]]:
        """Return the keys in a file, and what is wrong with its other lines."""
        entries, errors = [], []
        with open(existing(path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(map(str.strip, file), 1):
                if not line or line.startswith("#"):
                    continue
                found = _LINE.fullmatch(line)
                if found is None:  # not shown: it may be a key
                    errors.append(
                        f"{path}, line {number}, is not of the form name:sha256:digest. Write it with --new-key."
                    )
                else:
                    entries.append((found["name"], found["digest"]))
        return cls(tuple(entries)), errors

    def name_of(self, key: str) -> str | None:
        """Return the name of a key, None if it is not accepted; all are compared, in constant time."""
        given = digest(key)
        names = [name for name, one in self.entries if hmac.compare_digest(given, one)]
        return names[0] if names else None


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
