"""Write the list of files into docs/contributing.md, from the first lines of docstrings: python docs/layout.py."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contributing.md"
_BLOCK = re.compile(r"(?<=<!-- docs/layout.py -->\n\n```text\n).*?(?=```)", re.DOTALL)


def layout() -> str:
    """One line for each file of the package: a file imports only from files above it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [name for line in contracts[0]["layers"] for name in line.split(" | ")]
    lines = []
    for layer in reversed(layers):
        place = ROOT / "src" / Path(*layer.split("."))
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        lines += [(file.relative_to(ROOT / "src" / "nicecf").as_posix(), _first_line(file)) for file in files]
    width = max(len(name) for name, _ in lines)
    return "".join(f"{name.replace('__init__.py', ''):<{width}}  {what}\n" for name, what in lines)


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.split("\n")[0].replace("``", "").rstrip(".")


def shown() -> str:
    """The list as the page has it."""
    found = _BLOCK.search(PAGE.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{PAGE.name} has no block of text after the mark <!-- docs/layout.py -->.")
    return found[0]


if __name__ == "__main__":
    shown()
    PAGE.write_text(_BLOCK.sub(lambda _: layout(), PAGE.read_text("utf-8")), "utf-8")
