"""What `make docs` does beyond MkDocs: decisions, changes, places of reports, dark pictures, links in docstrings."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

_ROOT = Path(__file__).parent.parent
_KINDS = {"feature": "New", "change": "Changed", "fix": "Fixed"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of all decisions to the navigation."""
    project = next(part["Project"] for part in config.nav if "Project" in part)
    decisions = next(part["Decisions"] for part in project if "Decisions" in part)
    decisions += [f"adr/{path.name}" for path in sorted(Path(config.docs_dir, "adr").glob("0*.md"))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of changes; make room for each report.html beside its report.md, whose page has that name, too."""
    files.append(File.generated(config, "changelog.md", content=changelog(_ROOT / "changes")))
    for page in files.documentation_pages():
        if page.src_uri.startswith("results/") and page.name == "report":
            page.dest_uri = page.dest_uri.replace("report.html", "index.html")
            html = File(page.src_uri.replace(".md", ".html"), config.docs_dir, config.site_dir, False)
            html.inclusion = InclusionLevel.INCLUDED
            files.append(html)
    return files


def changelog(folder: Path) -> str:
    """One page of the fragments ``<issue>.<kind>.md`` in a folder: the latest first.

    ValueError for a fragment of another kind, and for other files.
    """
    fragments = []
    for path in folder.iterdir():
        named = re.fullmatch(r"(\d+)\.(\w+)\.md", path.name)
        if named is None or named[2] not in _KINDS:
            raise ValueError(f"{path.name} is not <issue>.<kind>.md, with one of the kinds {', '.join(_KINDS)}.")
        fragments.append((-int(named[1]), list(_KINDS).index(named[2]), _KINDS[named[2]], path.read_text("utf-8")))
    parts = [f"**{kind}** (issue {-number})\n\n{text.strip()}\n" for number, _, kind, text in sorted(fragments)]
    return "\n".join(["# Changes\n", "## Not released yet\n", *parts])


def on_page_content(html: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Beside every picture that has a twin for dark ground (walk.png: walk-dark.png), its twin.

    A corner of a table without words is no head of anything.
    """

    def both(found: re.Match[str]) -> str:
        start, source, suffix, end = found.groups()
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.dest_uri), source))
        if files.get_file_from_path(f"{place}-dark{suffix}") is None:
            return found[0]
        return f"{start}{source}{suffix}#only-light{end}{start}{source}-dark{suffix}#only-dark{end}"

    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    return re.sub(r'(<img [^>]*src=")([^":]+)(\.png|\.svg)("[^>]*>)', both, html)


# A line that begins with >>>, and all to the next empty one.
_DOCTEST = re.compile(r"^>>> .+(?:\n.+)*", re.MULTILINE)


class Roles(griffe.Extension):
    """What docstrings have because help() shows it well, as Markdown: roles of Sphinx, ``::``, doctests."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is None:
            return
        text = re.sub(r"^::\n", "", obj.docstring.value, flags=re.MULTILINE)
        text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
        if "Examples\n---" not in text:  # that section is known to the parser
            text = _DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
        obj.docstring.value = re.sub(r":[a-z]+:`([\w.]+)`", lambda found: _linked(obj, found[1]), text)


def _linked(obj: griffe.Object, name: str) -> str:
    return f'<autoref identifier="{_home(obj, name)}" optional><code>{name}</code></autoref>'


def _home(obj: griffe.Object, name: str) -> str:
    """The full path of a name in a docstring: of a public name that of its module, where the reference has it."""
    if name.startswith("nicecf."):
        first, *rest = name.removeprefix("nicecf.").split(".")
        public = obj.package.members.get(first)
        return ".".join([public.target_path, *rest]) if isinstance(public, griffe.Alias) else name
    scope: Any = obj
    while scope is not None:
        if name in scope.members:
            return f"{scope.path}.{name}"
        scope = scope.parent
    return name
