"""Every snippet in the README and the guides runs, top to bottom, and shows what it says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("thorough.md", "constraints.md", "baselines.md", "experiments.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_snippet_runs(page, capsys):
    text = page.read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert snippets
    names = {}
    for snippet in snippets:
        exec(compile(snippet, page.name, "exec"), names)
    printed = capsys.readouterr().out
    shown = re.findall(r"```python\n.*?```\n+```text\n(.*?)```", text, flags=re.DOTALL)
    assert shown
    for text in shown:
        assert text.strip() in printed


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.name
)
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link
