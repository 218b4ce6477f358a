"""Templates of letters: text files with a part for each kind of answer, and fields in braces.

A folder for each language, with the same templates in it. A user's own is a copy of one of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Literal, TypeAlias, get_args

from nicecf.exceptions import FileError, OptionError, did_you_mean, listed
from nicecf.support.phrases import REFERENCE, is_path

_FOLDER = Path(__file__).parent
_SUFFIX = ".txt"

# What was found for a row; the names of the parts of a template.
Part: TypeAlias = Literal["changed", "nearest", "unchanged", "not_found"]


@dataclass(frozen=True)
class Template:
    """A letter with fields in braces, for each kind of answer; ``name`` is its own, or its file."""

    name: str
    parts: Mapping[Part, str]

    @classmethod
    def of(cls, template: object, language: object) -> Template:
        """That of a name that comes with nicecf, in a language, or the file of a user.

        A language of the user's own has the templates in English: what they are made of is in its phrases.
        """
        if isinstance(template, os.PathLike) or (isinstance(template, str) and _is_file(template)):
            return cls.read(template)
        folder = _FOLDER / (language if isinstance(language, str) and (_FOLDER / language).is_dir() else REFERENCE)
        known = sorted(path.stem for path in folder.glob(f"*{_SUFFIX}"))
        if template not in known:
            raise OptionError(
                f"template={template!r} is not known; choose one of {listed(known)}, or pass the path of a {_SUFFIX} "
                f"file of your own.{did_you_mean(template, known)}"
            )
        return _shipped(folder / f"{template}{_SUFFIX}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Template:
        """A template from a file; FileError if it cannot be read, OptionError if it is not one."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"the template {path} cannot be read: {error}. Pass a text file in UTF-8.") from error
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        found: dict[str, list[str]] = {}
        part = None
        for line in lines:
            head = re.fullmatch(r"\[(\w+)\]\s*", line)
            if head is not None:
                part = _known_part(head[1], path)
                found[part] = []
            elif part is not None:
                found[part].append(line.rstrip())
            elif line.strip():
                raise OptionError(f"the template {path} has text before its first part; write {_PARTS} before it.")
        missing = [one for one in get_args(Part) if not "".join(found.get(one, [])).strip()]
        if missing:
            raise OptionError(f"the template {path} has nothing for {listed(missing)}; its parts are {_PARTS}.")
        return cls(str(path), {one: "\n".join(found[one]).strip() for one in get_args(Part)})

    def fields(self, part: Part) -> list[str]:
        """The fields in braces of a part; OptionError where the braces hold anything but a name."""
        try:
            parsed = list(Formatter().parse(self.parts[part]))
        except ValueError as error:
            raise OptionError(
                f"the template {self.name} has braces in [{part}] that are not a field ({error}); a brace itself is "
                "written twice."
            ) from error
        for _, name, spec, conversion in parsed:
            if name is not None and (spec or conversion or not name.isidentifier()):
                raise OptionError(
                    f"the template {self.name} has {{{name}}} in [{part}]; a field is a name in braces, and a brace "
                    "itself is written twice."
                )
        return list(dict.fromkeys(name for _, name, _, _ in parsed if name is not None))


_PARTS = ", ".join(f"[{part}]" for part in get_args(Part))


def shipped_names(language: str) -> list[str]:
    """The templates of a language that come with nicecf."""
    return sorted(path.stem for path in (_FOLDER / language).glob(f"*{_SUFFIX}"))


def _is_file(template: str) -> bool:
    return template.endswith(_SUFFIX) or is_path(template)


@cache
def _shipped(path: Path) -> Template:
    return Template(path.stem, Template.read(path).parts)


def _known_part(name: str, path: object) -> str:
    if name not in get_args(Part):
        raise OptionError(f"the template {path} has the part [{name}], which is not known; its parts are {_PARTS}.")
    return name
