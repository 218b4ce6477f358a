"""Write the list of files into docs/contributing.md, from the first lines of docstrings: python docs/layout.py."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contributing.md"
_PACKAGE = ROOT / "src" / "nicecf"
_LIST = re.compile(r"(?<=<!-- docs/layout.py -->\n\n).*?(?=\n<!-- docs/layout.py: end -->)", re.DOTALL)


def layout() -> str:
    """The rooms of the package, each with a table of its files; a room imports only from those above it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = [name for line in settings["tool"]["importlinter"]["contracts"][0]["layers"] for name in line.split(" | ")]
    places = [_PACKAGE.parent / Path(*layer.split(".")) for layer in reversed(layers)]
    rooms = [place for place in places if place.is_dir()]
    alone = [file for place in places if (file := place.with_suffix(".py")).exists()]
    alone += [file for file in sorted(_PACKAGE.glob("*.py")) if file not in alone]
    return "\n".join([*map(_room, rooms), "**Files of their own**\n", _table(alone)])


def _room(place: Path) -> str:
    door = place / "__init__.py"
    return f"**`{place.name}/`** {_first_line(door)}\n\n{_table([one for one in _sorted(place) if one != door])}"


def _sorted(place: Path) -> list[Path]:
    """The files of a room, those of a folder in it after its own."""
    return sorted(place.rglob("*.py"), key=lambda file: (file.parent.parts, file.name != "__init__.py", file.name))


def _table(files: list[Path]) -> str:
    lines = [f"| `{_name(file)}` | {_first_line(file)} |" for file in files]
    return "\n".join(["| file | what it does |", "|---|---|", *lines, ""])


def _name(file: Path) -> str:
    name = file.relative_to(_PACKAGE).as_posix()
    return name.removesuffix("__init__.py") or name


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return text.split("\n")[0].rstrip(".").replace("|", r"\|")


def shown() -> str:
    """The list as the page has it."""
    found = _LIST.search(PAGE.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{PAGE.name} lacks the marks <!-- docs/layout.py --> and <!-- docs/layout.py: end -->.")
    return found[0]


if __name__ == "__main__":
    shown()
    PAGE.write_text(_LIST.sub(lambda _: layout(), PAGE.read_text("utf-8")), "utf-8")
