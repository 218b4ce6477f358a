"""How the house is built: habits that are easy to keep, and easy to lose one by one."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "nicecf"
FILES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
ROOMS = sorted(door.parent.name for door in PACKAGE.glob("*/__init__.py"))
PAGE = (ROOT / "docs" / "contributing.md").read_text("utf-8")

MOST_LINES = 60
MOST_PARAMETERS = 8
# Rooms in which whatever takes more has not been given a name yet. (The options of public estimators are their API.)
FEW_PARAMETERS = ("explain", "search", "rules", "results", "views")
# Rooms in which everything has a type, except what takes what another package made.
TYPED = ("results", "views")
ANY = {
    "views/plots/canvas.py: matplotlib": "returns the package, which has no types",
    "views/plots/draw/ruler.py: font": "a font of matplotlib, which has no types",
    "views/summary/__init__.py: _costs": "the columns of a pandas frame",
    "views/summary/__init__.py: _features": "the columns of a pandas frame",
}


def functions(*rooms):
    """All functions of some rooms, or of all, by their file and name."""
    for file, tree in FILES.items():
        if rooms and file.partition("/")[0] not in rooms:
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{file}: {node.name}", node


def parameters(function):
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return [one for one in named if one.arg not in ("self", "cls")]


def mentions_any(function):
    types = [function.returns, *(one.annotation for one in parameters(function))]
    nodes = [node for one in types if one is not None for node in ast.walk(one)]
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)


def test_no_function_is_long():
    lengths = {name: one.end_lineno - one.lineno + 1 for name, one in functions()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_function_takes_many_parameters():
    counts = {name: len(parameters(one)) for name, one in functions(*FEW_PARAMETERS)}
    assert {name: count for name, count in counts.items() if count > MOST_PARAMETERS} == {}


def test_results_and_views_say_what_they_take_and_give():
    assert {name for name, one in functions(*TYPED) if mentions_any(one)} == set(ANY)


def test_the_root_of_the_package_is_a_short_list():
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 22, sorted(entries)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is(room):
    assert ast.get_docstring(FILES[f"{room}/__init__.py"])


def test_every_room_is_in_the_contract_of_imports_and_in_the_picture():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers = [name.removeprefix("nicecf.") for line in contract["layers"] for name in line.split(" | ")]
    files = [path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")]
    assert sorted(layers) == sorted([*ROOMS, *files])
    # From top to bottom, as in the contract; but for the files that only name what is in the rooms.
    picture = re.search(r"^## The rooms\n.*?^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    drawn = [name for line in picture.splitlines() for name in re.findall(r"(\w+)(?:/|\.py)", line[:29])]
    assert drawn == [name for name in layers if name not in ("metrics", "plots", "rewards")]


def test_only_results_import_upwards_and_only_views_but_for_the_widget():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    for one in contract["ignore_imports"]:
        is_view = re.fullmatch(r"nicecf\.results\.\w+ -> nicecf\.views\.\*\*", one)
        assert is_view or one == "nicecf.nice -> nicecf.service.widget", one


def test_a_row_walks_as_the_page_draws_it():
    from nicecf import NICE, testing

    picture = re.search(r"^### The walk of one row\n.*?^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    drawn = re.findall(r"(\S+\.py)$", picture, re.MULTILINE)
    files, hops = re.search(r"(\d+) files, (\d+) hops", PAGE).groups()
    assert (len(drawn), len(drawn) - 1) == (int(files), int(hops))
    assert len(drawn) - 1 <= 16
    X, y = testing.applicants()
    nice = NICE(testing.Scorecard()).fit(X, y)
    entered = dict.fromkeys([])
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: entered.setdefault(frame.f_code.co_filename))
    try:
        nice.explain(X.iloc[[3]]).to_frame()
    finally:
        sys.setprofile(before)
    passed = [path.relative_to(PACKAGE).as_posix() for path in map(Path, entered) if path.is_relative_to(PACKAGE)]
    assert [file for file in drawn if file not in passed] == []
    stages = [file for file in drawn if file.startswith("explain/")]
    assert [file for file in passed if file in stages] == stages
