"""Write the list of files into docs/contributing.md, from the first lines of docstrings: python docs/layout.py."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contributing.md"
_PACKAGE = ROOT / "src" / "nicecf"
_TABLE = re.compile(r"(?<=<!-- docs/layout.py -->\n\n).*?(?=\n<!-- docs/layout.py: end -->)", re.DOTALL)


def layout() -> str:
    """A table of all files of the package: a file imports only from files above it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = [name for line in settings["tool"]["importlinter"]["contracts"][0]["layers"] for name in line.split(" | ")]
    places = [_PACKAGE.parent / Path(*layer.split(".")) for layer in reversed(layers)]
    files = [file for place in places for file in _files(place)]
    files += [file for file in sorted(_PACKAGE.rglob("*.py")) if file not in files]
    lines = [f"| `{_name(file)}` | {_first_line(file)} |" for file in files]
    return "\n".join(["| file | what it does |", "|---|---|", *lines, ""])


def _files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def _name(file: Path) -> str:
    name = file.relative_to(_PACKAGE).as_posix()
    return name.removesuffix("__init__.py") or name


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.split("\n")[0].rstrip(".").replace("|", r"\|")


def shown() -> str:
    """The table as the page has it."""
    found = _TABLE.search(PAGE.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{PAGE.name} lacks the marks <!-- docs/layout.py --> and <!-- docs/layout.py: end -->.")
    return found[0]


if __name__ == "__main__":
    shown()
    PAGE.write_text(_TABLE.sub(lambda _: layout(), PAGE.read_text("utf-8")), "utf-8")
