"""Every word that a person sees in a view is a phrase: with all of them in another alphabet, none is left in Latin."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nicecf
from nicecf import NICE, Constraints, Wording
from nicecf.support import toml_files
from nicecf.support.phrases import shipped
from nicecf.views.plots.data.changes import changes_of
from nicecf.views.plots.data.frequencies import frequencies_of
from nicecf.views.plots.data.pareto import pareto_of
from nicecf.views.plots.data.regions import regions_of
from nicecf.views.plots.data.variants import variants_of
from nicecf.views.plots.data.walk import walk_of
from nicecf.views.plots.draw import figure_of
from views.test_notebook import Element, read

PHRASES = Path(nicecf.__file__).parent / "support" / "phrases"
# What is no phrase: names, categories and classes of the table, and what is written in code.
DATA = {"wage", "home", "since", "quota", "rent", "own", "flat", "denied", "approved", "one", "other"}
TECHNICAL = re.compile(r"cfs\.\w+\(?\)?|\d+x\b|sha256:\w+|[\w.-]+ \d+\.[\w.]+|__main__\S*|\w+=\w+|views\S*")
SIGNS = {chr(ord("a") + i): chr(0x430 + i) for i in range(26)} | {chr(ord("A") + i): chr(0x410 + i) for i in range(26)}


def in_another_alphabet(phrase):
    """A phrase with its fields, and every letter of the rest replaced."""
    parts = re.split(r"(\{[^{}]*\})", phrase)
    return "".join(part if part.startswith("{") else "".join(SIGNS.get(s, s) for s in part) for part in parts)


@pytest.fixture(scope="module")
def wording(tmp_path_factory):
    path = tmp_path_factory.mktemp("language") / "other.toml"
    lines = []
    for key, phrase in shipped("en").items():
        section, name = key.split(".")
        if f"[{section}]" not in lines:
            lines.append(f"[{section}]")
        changed = in_another_alphabet(phrase).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{name} = "{changed}"')
    path.write_text("\n".join(lines), encoding="utf-8")
    return Wording(language=path)


def model(X):
    p = np.clip(0.1 + X["wage"].fillna(0) / 100 + (X["home"] == "own") * 0.25 - X["quota"] / 500, 0.01, 0.99)
    return np.column_stack([1 - p, p])


@pytest.fixture(scope="module")
def cfs():
    """Rows that change, that need not and that cannot; a derived column, a date, missing and unseen values, notes."""
    random = np.random.default_rng(0)
    wage = random.integers(0, 70, 120).astype(float)
    X = pd.DataFrame(
        {
            "wage": wage,
            "home": random.choice(["rent", "own", "flat"], 120),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 120), "D"),
            "quota": wage / 2,
        }
    )
    X.loc[:3, "since"] = pd.Timestamp("2031-01-01")
    X.loc[5, "home"] = None
    follows = Constraints(derived={"quota": "wage / 2"})
    free, bound = Constraints(immutable=["since"]), Constraints(immutable=["since", "wage", "home"])
    y = np.where(model(X)[:, 1] >= 0.5, "approved", "denied")
    nice = NICE(model, classes=["denied", "approved"], constraints=follows).fit(X[6:], y[6:])
    rules = [bound if i % 5 == 0 else free for i in range(30)]
    result = nice.explain(X[:30], target_class="approved", constraints=rules)
    totals = result.summary().totals
    assert min(totals.changed, totals.unchanged, totals.not_found) > 0
    assert result.batch.is_derived.any()
    return result


def left_in_latin(text):
    """Words that no phrase and no data hold."""
    text = TECHNICAL.sub(" ", text)
    return sorted(set(re.findall(r"[A-Za-z]+", text)) - DATA)


def visible(html):
    """The text of a page, and what is said instead of it; without what is code, such as the names of options."""
    root = read(html)
    said = []

    def walk(element):
        if element.tag in ("style", "script") or "facts" in element.attributes.get("class", ""):
            if element.tag == "table":
                said.extend(th.text() for th in element.all("th") if not th.is_in("details"))
            return
        said.extend(element.attributes.get(name, "") for name in ("aria-label", "placeholder", "alt", "data-other"))
        for part in element.parts:
            if isinstance(part, Element):
                walk(part)
            else:
                said.append(part)

    walk(root)
    return "\n".join(said)


def test_the_other_alphabet_is_seen_and_english_would_be_too(cfs, wording):
    assert left_in_latin(repr(cfs.summary())) != []
    assert "changes" not in left_in_latin(repr(cfs.summary(wording=wording)))
    assert SIGNS["S"] in repr(cfs.summary(wording=wording))


def test_no_word_of_a_report_is_left_in_english(cfs, wording):
    assert left_in_latin(visible(cfs.to_html(wording=wording))) == []
    assert left_in_latin(visible(cfs[~cfs.found].to_html(wording=wording))) == []


@pytest.mark.parametrize("by", [None, "home", "wage", "since"])
def test_no_word_of_a_summary_is_left_in_english(cfs, wording, by):
    summary = cfs.summary(by, wording=wording)
    assert left_in_latin(repr(summary)) == []
    assert left_in_latin(visible(summary._repr_html_())) == []


def test_no_word_of_a_result_that_prints_and_shows_itself_is_left_in_english(cfs, wording):
    worded = cfs.worded(wording)
    for shown in (worded, *worded):
        assert left_in_latin(repr(shown)) == []
        assert left_in_latin(visible(shown._repr_html_())) == []
    assert left_in_latin(repr(cfs)) != []


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed: pip install 'nicecf[plots]'")
def test_no_word_of_a_picture_is_left_in_english(cfs, wording):
    changed = cfs[cfs.found & (cfs.batch.n_changes > 0)]
    shown = [
        frequencies_of(cfs, wording),
        frequencies_of(cfs[~cfs.found], wording),
        pareto_of(cfs, int(changed.rows[0]), wording),
    ]
    for one in (changed[0], cfs[~cfs.found][0], cfs[cfs.batch.found & (cfs.batch.n_changes == 0)][0]):
        shown += [changes_of(one, wording), walk_of(one, wording), regions_of(one, ["wage", "home"], wording)]
        shown += [variants_of({"one": one, "other": one}, wording)]
    for each in shown:
        figure = figure_of(each)
        drawn = [text.get_text() for text in figure.axes[0].texts]
        assert left_in_latin("\n".join([*drawn, each.caption.alt])) == [], type(each).__name__


@pytest.mark.parametrize("language", sorted(path.stem for path in PHRASES.glob("*.toml")))
def test_every_language_has_every_phrase(language):
    """Also those that a file of a user may lack."""
    there = toml_files.read(PHRASES / f"{language}.toml")
    keys = {f"{section}.{name}" for section, entries in there.items() for name in entries}
    assert keys == set(shipped("en"))
