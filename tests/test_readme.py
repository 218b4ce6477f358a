"""Every block of code in the README and the guides runs, top to bottom, and shows what it says; links lead somewhere."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from nicecf.cli import main

ROOT = Path(__file__).parent.parent
ALL_PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
# Reports are printed by `nicecf benchmark report`, and decisions show what was, not what to do.
PAGES = [page for page in ALL_PAGES if not {"results", "adr"} & set(page.relative_to(ROOT).parts)]

# Commands in the pages that are not run here: what a line begins with, and why.
NOT_RUN = {
    "make ": "builds environments, runs these tests, or takes hours",
    "pip install ": "changes the environment",
    "pip wheel ": "builds the package",
    "podman ": "needs podman, and images from elsewhere; tests/service/test_deployment.py runs what the image is made of",
    "kubectl ": "needs a cluster; tests/service/test_deployment.py reads what it is given",
    "python -m venv ": "changes the environment",
    "nicecf explain loans.nice rows --out spark-answers ": "starts Spark; tests/engines does",
    "nicecf serve ": "serves until it is stopped; tests/service runs it",
    "curl ": "asks a service that is not there; tests/service asks one",
    "nicecf benchmark run --out results --datasets monk3 ": "downloads; test_experiment runs it on tables of its own",
    "nicecf benchmark report results": "needs what the line before gives; test_report writes reports",
    "nicecf benchmark growth --out results": "takes minutes; test_growth runs a smaller one",
}
# What these show is tested elsewhere as well: `make test-deep` runs them.
SLOW_PAGES = {
    "docs/baselines.md",
    "docs/cli.md",
    "docs/pictures.md",
    "docs/records.md",
    "docs/words.md",
    "docs/experiments.md",
    "docs/thorough.md",
    "docs/constraints.md",
    "docs/tutorials/credit.md",
    "docs/tutorials/dates.md",
    "docs/tutorials/limits.md",
    "docs/tutorials/multiclass.md",
    "docs/tutorials/fraud.md",
    "docs/tutorials/reward.md",
}
# Languages of blocks, and of those that are not run here where they may be.
LANGUAGES = {"python", "sh", "bash", "text", "toml"}
ELSEWHERE = {
    "docs/service.md": {"yaml": "a file that tests/service/test_deployment.py reads"},
    "docs/coming_from.md": {"py": "code for other packages, which the tests do not have"},
    "docs/engines.md": {"py": "needs a cluster, which tests/engines has, or packages that the tests do not have"},
}
# What a shell does before the command gets anything.
_IS_FOR_A_SHELL = re.compile(r"[|<>;&$`*]")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that its title names, and its text."""

    language: str
    title: str | None
    text: str


def blocks_of(page):
    found = re.findall(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [Block(language, title or None, text) for language, title, text in found]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def commands_of(block):
    """The lines of a shell block, without comments; a backslash joins a line to the next."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [command for line in lines if (command := re.sub(r"(^|\s)#.*", "", line).strip())]


def codes_of(block):
    """The exit code that each of these commands has by its comment, 0 if that does not say."""
    lines = [line for line in block.text.replace("\\\n", " ").splitlines() if re.sub(r"(^|\s)#.*", "", line).strip()]
    return [int(said[1]) if (said := re.search(r"# exit code (\d+)", line)) else 0 for line in lines]


def run_command(command, expected=0):
    """What a command of nicecf prints; its exit code must be as expected."""
    if _IS_FOR_A_SHELL.search(command):
        script = f'nicecf() {{ {shlex.quote(sys.executable)} -m nicecf.cli "$@"; }}\n{command}'
        done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True)
        code, printed, complaint = done.returncode, done.stdout, done.stderr
    else:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(shlex.split(command)[1:])
            except SystemExit as end:
                code = end.code
        printed, complaint = out.getvalue(), err.getvalue()
    assert (code or 0) == expected, f"{command}\nexit code {code}\n{complaint}"
    return printed


def run_block(block, names, page):
    """Run a block, and return what it prints; a block with a title is a file."""
    if block.title is not None:
        Path(block.title).parent.mkdir(parents=True, exist_ok=True)
        Path(block.title).write_text(block.text, "utf-8")
    elif block.language == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, name_of(page), "exec"), names)
        return printed.getvalue()
    elif block.language in ("sh", "bash"):
        printed = []
        for command, expected in zip(commands_of(block), codes_of(block), strict=True):
            if not command.startswith(tuple(NOT_RUN)):
                assert "nicecf " in command, f"{command}: neither run nor among what is not run"
                printed.append(run_command(command, expected))
        return "".join(printed) if printed else None
    return None


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.deep] * (name_of(page) in SLOW_PAGES), id=name_of(page))
        for page in PAGES
        if blocks_of(page)
    ],
)
def test_every_block_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("NICECF_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    names = {"__name__": "__main__"}
    printed = None
    for block in blocks_of(page):
        if block.language != "text" or block.title is not None:
            printed = run_block(block, names, page)
        elif printed is not None:
            assert block.text.strip() in printed, f"the page shows\n{block.text}\nand this was printed:\n{printed}"
            printed = None
    for name, module in list(sys.modules.items()):  # made of files of this page; another may have some of that name
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_escapes_the_tests(page):
    fences = re.findall(r"^ *```.*$", page.read_text("utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(blocks_of(page)), "a block that is indented, or of another form"
    assert {block.language for block in blocks_of(page)} <= LANGUAGES | set(ELSEWHERE.get(name_of(page), ()))


@pytest.mark.parametrize("command", ["demo", "rules", "fit", "explain", "show", "replay", "serve", "benchmark"])
def test_the_page_of_the_command_line_has_exactly_the_options_that_there_are(command, capsys):
    asked = [[command, action] for action in ("run", "report", "growth")] if command == "benchmark" else [[command]]
    for words in asked:
        assert main([*words, "--help"]) == 0
    # In the lists of options, not in the examples below them.
    there = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    section = re.search(rf"^## nicecf {command}$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    tables = "\n".join(line.split(" | ")[0] for line in section.splitlines() if line.startswith("|"))
    assert set(re.findall(r"--[a-z][a-z-]*", tables)) == there


def test_every_exception_is_still_in_a_page():
    lines = [one for page in PAGES for block in blocks_of(page) for one in commands_of(block)]
    assert [begin for begin in NOT_RUN if not any(line.startswith(begin) for line in lines)] == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link, anchor in re.findall(r"\]\(([^):#]*)(?:#([^)]*))?\)", prose):
        target = page.parent / link if link else page
        assert target.exists(), link
        if anchor and not anchor.startswith("nicecf."):  # those of the reference: test_site
            assert anchor in anchors_of(target), f"{link}#{anchor}"


def anchors_of(page):
    """The anchors that GitHub gives the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-") for title in titles}
