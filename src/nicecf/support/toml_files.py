"""TOML files that people write: rules and wordings."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from nicecf.exceptions import OptionError
from nicecf.support.files import contents

# Nothing that is read from such files is nested more than four deep; what shows or copies it takes far more than this.
_DEEPEST = 20


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a TOML file holds; raises FileError if there is no file, OptionError if it is not TOML."""
    content, name = contents(path), os.fspath(path)
    try:
        read = tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise OptionError(_too_deep(name)) from None
    except ValueError as error:  # also bytes that are not text, and numbers with more digits than Python reads
        raise OptionError(f"{name} is not TOML: {error}.") from error
    if _is_deep(read):
        raise OptionError(_too_deep(name))
    return read


def _too_deep(name: str) -> str:
    return f"{name} is nested more than {_DEEPEST} deep; write its lists and tables flat."


def _is_deep(value: object) -> bool:
    """Whether it is nested too deeply; found level by level, since that may be too deep for recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)
