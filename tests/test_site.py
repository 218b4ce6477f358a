"""The documentation builds without a warning and without a network, and holds every public name."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nicecf

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytest.importorskip("material", reason="the extra docs is not installed")
pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # A proxy that nobody listens at: whatever needs a network fails.
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | closed | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


class Addresses(HTMLParser):
    """What a browser fetches for a page by itself."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "embed"):
            self.found.append(given.get("src"))
        elif tag == "link":
            self.found.append(given.get("href"))


def pages_of(site):
    return [page for page in site.rglob("*.html") if page.name != "report.html"]


def test_no_page_asks_another_host_for_anything(site):
    pages = pages_of(site)
    assert len(pages) > 40
    for page in pages:
        parser = Addresses()
        parser.feed(page.read_text("utf-8"))
        assert [address for address in parser.found if address and re.match(r"(https?:)?//", address)] == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", style.read_text("utf-8")) == [], style


def test_pages_open_without_a_server(site):
    home = (site / "index.html").read_text("utf-8")
    assert 'href="start.html"' in home
    assert (site / "search" / "search_index.js").exists()


def test_the_reference_has_every_public_name(site):
    anchors = {
        anchor
        for page in (site / "reference").glob("*.html")
        for anchor in re.findall(r'id="(nicecf[\w.]*)"', page.read_text("utf-8"))
    }
    for name in nicecf.__all__:
        assert f"{getattr(nicecf, name).__module__}.{name}" in anchors, name
    for module in ("baselines", "engines", "plots", "metrics"):
        here = importlib.import_module(f"nicecf.{module}")
        public = getattr(here, "__all__", None) or [
            name for name, one in vars(here).items() if getattr(one, "__module__", "") == here.__name__
        ]
        for name in public:
            home = getattr(getattr(here, name), "__module__", None)
            if not name.startswith("_") and home is not None:
                assert {f"{home}.{name}", f"nicecf.{module}.{name}"} & anchors, f"{module}.{name}"
    assert {"nicecf.rewards.Round", "nicecf.testing.LookupModel", "nicecf.testing.applicants"} <= anchors


def test_roles_of_docstrings_became_links(site):
    page = (site / "reference" / "nice.html").read_text("utf-8")
    assert 'href="models.html#nicecf.models.classifier.from_score"' in page
    for page in (site / "reference").glob("*.html"):
        assert re.findall(r":(?:class|func|meth|attr|mod):", page.read_text("utf-8")) == [], page


def test_the_changes_are_all_there(site):
    page = (site / "changelog.html").read_text("utf-8")
    fragments = sorted((ROOT / "changes").glob("*.md"))
    assert fragments
    for fragment in fragments:
        words = re.findall(r"[A-Za-z]{4,}", fragment.read_text("utf-8"))
        assert all(word in page for word in words), fragment


def test_reports_are_there_as_pages_of_the_site_and_as_pages_of_their_own(site):
    for run in ("paper",):
        assert "md-content" in (site / "results" / run / "index.html").read_text("utf-8")
        own = (ROOT / "docs" / "results" / run / "report.html").read_text("utf-8")
        assert (site / "results" / run / "report.html").read_text("utf-8") == own


@pytest.fixture
def hooks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("hooks")


def test_changes_are_ordered_by_issue_the_latest_first(hooks, tmp_path):
    for name, text in {"2.fix.md": "Two.", "10.feature.md": "Ten.", "10.fix.md": "Also ten."}.items():
        (tmp_path / name).write_text(text)
    page = hooks.changelog(tmp_path)
    assert re.findall(r"Ten\.|Also ten\.|Two\.", page) == ["Ten.", "Also ten.", "Two."]


@pytest.mark.parametrize("name", ["ten.fix.md", "10.fixed.md", "10.fix.txt", "10.md"])
def test_a_file_that_is_no_fragment_ends_the_build(hooks, tmp_path, name):
    (tmp_path / name).write_text("text")
    with pytest.raises(ValueError, match=f"{re.escape(name)} is not <issue>.<kind>.md, with one of the kinds feature,"):
        hooks.changelog(tmp_path)


def test_the_list_of_files_is_complete_and_what_their_docstrings_say(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    layout = importlib.import_module("layout")
    assert layout.shown() == layout.layout(), "run: python docs/layout.py"
    rooms = re.findall(r"^\*\*`(\w+)/`\*\* \S", layout.shown(), re.MULTILINE)
    files = re.findall(r"^\| `[\w/.]+` \| \S.* \|$", layout.shown(), re.MULTILINE)
    package = ROOT / "src" / "nicecf"
    assert sorted(rooms) == sorted(door.parent.name for door in package.glob("*/__init__.py"))
    assert len(rooms) + len(files) == len(list(package.rglob("*.py"))), "a file without a docstring"


def test_citation_and_licence_are_those_of_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {settings['version']}\nlicense: {settings['license']}\n" in citation
    assert "\n  doi: 10.1007/s10618-023-00930-y\n" in citation
    licence = (ROOT / "LICENSE").read_text("utf-8")
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", licence)
    assert "END OF TERMS AND CONDITIONS" in licence


def test_the_list_of_decisions_is_complete():
    page = (ROOT / "docs" / "adr" / "README.md").read_text("utf-8")
    assert re.findall(r"\((0\d+-[^)]*)\)", page) == [path.name for path in sorted((ROOT / "docs/adr").glob("0*.md"))]
