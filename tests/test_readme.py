"""Every snippet in the README runs, top to bottom, and shows what it says."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_every_snippet_runs(capsys):
    snippets = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert snippets
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    shown = re.findall(r"```python\n.*?```\n+```text\n(.*?)```", README, flags=re.DOTALL)
    assert shown
    for text in shown:
        assert text.strip() in printed


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_link_leads_somewhere(link):
    assert (Path(__file__).parent.parent / link).exists()
