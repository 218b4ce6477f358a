"""Why a request gets no explanation: a status of HTTP, and a sentence that names the field or says what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# Of a message, and of a value in it: whoever sends much is not sent it back.
_LONGEST_MESSAGE, _LONGEST_VALUE = 2_000, 60


class Refused(Exception):  # noqa: N818  # most are no errors of ours, but of the request
    """What is answered in place of an explanation; the message is for whoever sent the request."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(_cut(message, _LONGEST_MESSAGE))
        self.status = status
        self.headers = dict(headers or {})


def wrong(field: str, message: str) -> Refused:
    """400 for a field of a request.

    >>> str(wrong("parameters.n", "expected at most 10, got 11"))
    'parameters.n: expected at most 10, got 11'
    """
    return Refused(400, f"{field}: {message}" if field else message)


def busy(status: int, message: str, seconds: float) -> Refused:
    """429 or 503: come back in so many seconds."""
    return Refused(status, message, {"Retry-After": str(max(1, round(seconds + 0.5)))})


def shown(value: Any) -> str:
    """Return a value of a request for a message, cut where it is long.

    >>> shown("39"), shown("a" * 900)[-8:]
    ('"39"', 'aaaaa...')
    """
    return _cut(json.dumps(value, ensure_ascii=True), _LONGEST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
