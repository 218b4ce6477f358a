"""Explanations as HTML, in a notebook and as a page: what is marked, what is folded, and that values are only text."""

import pickle
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from markers import deep
from nicecf import NICE, Constraints, FileError, OptionError, Wording
from nicecf.support.formats import percent
from nicecf.tables import files as tablefiles
from nicecf.testing import Scorecard, applicants
from nicecf.views import exported_table as outcomes
from nicecf.views import listing
from nicecf.views.report import rows as report_rows
from nicecf.views.report.look import SCRIPT
from nicecf.views.words.line import Lines

X, Y = applicants(200)
VOID = {"meta", "br", "rect", "input", "wbr", "path", "circle"}
# Each would run, or break out of where it stands, if it were taken for markup.
EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</td></table></details></title></style><script>alert(2)</script>",
    "' onmouseover='alert(3)",
    "&lt;b&gt; &amp; <!-- ]]>",
]
TURNED = "a\u202eb\x00c"


class Element:
    def __init__(self, tag, attributes, above):
        self.tag, self.attributes, self.above, self.parts = tag, dict(attributes), above, []

    def text(self):
        """The text; a number of percent has a blank before its sign, which a browser does not break."""
        joined = "".join(part if isinstance(part, str) else part.text() for part in self.parts)
        return joined.replace("\N{NO-BREAK SPACE}%", " %")

    def all(self, tag=None):
        for part in self.parts:
            if isinstance(part, Element):
                if tag in (None, part.tag):
                    yield part
                yield from part.all(tag)

    def is_in(self, tag):
        return self.above is not None and (self.above.tag == tag or self.above.is_in(tag))


class Reader(HTMLParser):
    """HTML as a tree; an element that is not closed, or closed elsewhere, is an error."""

    def __init__(self, html):
        super().__init__()
        self.root = self.here = Element("root", [], None)
        self.feed(html)
        self.close()
        assert self.here is self.root, f"<{self.here.tag}> is never closed"

    def handle_starttag(self, tag, attributes):
        element = Element(tag, attributes, self.here)
        assert len(element.attributes) == len(attributes)
        self.here.parts.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.here.tag == tag, f"</{tag}> inside <{self.here.tag}>"
        self.here = self.here.above

    def handle_data(self, text):
        self.here.parts.append(text)


def read(html):
    return Reader(html).root


def cells(table):
    return [[cell.text() for cell in row.parts if isinstance(cell, Element)] for row in table.all("tr")]


@pytest.fixture(scope="module")
def cfs():
    return NICE(Scorecard(), optimize="proximity").fit(X, Y).explain(X.iloc[:30])


@pytest.fixture(scope="module")
def evil():
    """Column, category, class, index label and reason are hostile at once; some rows have no counterfactual."""
    table = pd.DataFrame(
        {EVIL[0]: [*EVIL, TURNED] * 10, EVIL[1]: np.arange(60) % 7 * 1.0},
        index=[f"{EVIL[i % 5]} {i}" for i in range(60)],
    )

    def model(X):
        p = np.where((X[EVIL[0]] == EVIL[1]) | (X[EVIL[1]] > 5), 0.9, 0.2)
        return np.column_stack([1 - p, p])

    classes = [EVIL[2], EVIL[3]]
    labels = [classes[int(p > 0.5)] for p in model(table)[:, 1]]
    nice = NICE(model, classes=classes, constraints=Constraints(immutable=[EVIL[0]])).fit(table, labels)
    cfs = nice.explain(table[:24])
    assert 0 < cfs.found.sum() < 24
    return cfs


def pieces(cfs):
    found = np.flatnonzero(cfs.found)[0]
    lost = np.flatnonzero(~cfs.found)[0]
    by = cfs.batch.schema.names[0]
    shown = [cfs, cfs[:5], cfs[int(found)], cfs[int(lost)], cfs.summary(), cfs.summary(by)]
    return [one._repr_html_() for one in shown]


def check_only_text(root, *, tags, attributes):
    for element in root.all():
        assert element.tag in tags
        assert set(element.attributes) <= attributes
        assert not any(name.startswith("on") or name in ("src", "href", "srcdoc") for name in element.attributes)


def test_hostile_values_are_only_text_in_a_notebook(evil):
    tags = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "mark", "br", "span", "details", "summary"}
    for html in pieces(evil):
        root = read(html)
        check_only_text(root, tags=tags, attributes={"style", "scope", "tabindex"})
        for element in root.all():
            style = element.attributes.get("style", "")
            assert "alert" not in style
            assert "url" not in style
    everything = " ".join(read(html).text() for html in pieces(evil))
    for text in EVIL:
        assert text in everything
    assert "a\ufffdb\ufffdc" in everything
    for sign in ("\u202e", "\x00"):
        assert sign not in everything


def test_hostile_values_are_only_text_on_the_page(evil, tmp_path):
    names = dict.fromkeys(evil.batch.schema.names, f"{EVIL[2]} name")
    wordings = [
        None,
        Wording(names=names, units={EVIL[1]: EVIL[1]}, classes=dict.fromkeys(evil.classes, f"{EVIL[0]} class")),
    ]
    tags = {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "script",
            "section",
            "h1",
            "h2",
            "h3",
            "p",
            "b",
            "i",
            "div",
        ),
        *("table", "thead", "tbody", "tr", "th", "td", "mark", "br", "span", "details", "summary", "svg", "rect"),
        *("input", "button", "main", "fieldset", "legend", "label", "wbr", "path", "circle", "text", "ul", "li"),
    }
    attributes = {
        *("class", "lang", "charset", "content", "http-equiv", "name", "scope", "hidden", "type", "placeholder"),
        *("aria-label", "aria-hidden", "role", "width", "height", "tabindex", "value", "checked"),
        *("data-other", "data-matches", "viewbox", "d", "fill", "stroke", "stroke-width", "stroke-dasharray"),
        *("x", "y", "cx", "cy", "r", "font-size", "font-weight", "text-anchor"),
    }
    for wording in wordings:
        path = tmp_path / "page.html"
        evil.to_html(path, title=f"{EVIL[2]}\ud800", wording=wording)
        root = read(path.read_text(encoding="utf-8"))
        check_only_text(root, tags=tags, attributes=attributes)
        (script,) = root.all("script")
        assert script.text() == SCRIPT
        (title,) = root.all("title")
        assert title.text() == f"{EVIL[2]}\ufffd"
        (heading,) = root.all("h1")
        assert heading.text() == f"{EVIL[2]}\ufffd"
        assert len(list(root.all("details"))) > 16
        for text in EVIL if wording is None else [f"{EVIL[2]} name", f"{EVIL[0]} class"]:
            assert text in root.text()


def test_the_page_may_load_nothing_and_run_nothing_but_its_own_script(cfs):
    root = read(cfs.to_html())
    (policy,) = [one.attributes["content"] for one in root.all("meta") if "http-equiv" in one.attributes]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name in ("style", "script"):
        (element,) = root.all(name)
        assert rules[f"{name}-src"] == f"'sha256-{b64encode(sha256(element.text().encode()).digest()).decode()}'"
    assert "http:" not in cfs.to_html()
    assert "https:" not in cfs.to_html()


def test_one_explanation_shows_its_changes_and_folds_the_rest(cfs):
    for one in cfs:
        root = read(one._repr_html_())
        changes, others = root.all("table")
        (told,) = Lines(one.batch).all()
        assert cells(changes)[0] == ["feature", "before", "after", f"P({told.label})"]
        assert [row[:1] for row in cells(changes)[1:]] == [[change.feature] for change in one.changes]
        marks = [mark.text() for mark in changes.all("mark")]
        assert marks == [row[2] for row in cells(changes)[1:]]
        assert not changes.is_in("details")
        assert others.is_in("details")
        changed = {change.feature for change in one.changes}
        assert [name for name, _ in cells(others)[1:]] == [name for name in X if name not in changed]
        assert not list(others.all("mark"))
        assert repr(one).splitlines()[0] in root.text()
    row = dict(cells(list(read(cfs[0]._repr_html_()).all("table"))[1])[1:])
    assert row["city"] == X["city"].iloc[0]


def test_one_that_was_not_found_shows_why_and_folds_the_row():
    nice = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1)), classes=["no", "yes"]).fit(np.eye(2), ["no", "yes"])
    one = nice.explain(np.eye(2))[0]
    root = read(one._repr_html_())
    (row,) = root.all("table")
    assert row.is_in("details")
    assert cells(row) == [["feature", "value"], ["x0", "1"], ["x1", "0"]]
    assert next(root.all("summary")).text() == "The row (2 features)"
    assert one.reason in root.text()


def test_many_changes_are_folded_and_the_sentence_with_them():
    wide = pd.DataFrame(np.arange(80.0).reshape(2, 40))
    model = lambda X: np.column_stack([X[0] < 1, X[0] >= 1]).astype(float)
    cfs = NICE(model, optimize="none").fit(wide, [0, 1]).explain(wide[:1])
    root = read(cfs[0]._repr_html_())
    shown, more = root.all("table")
    assert (len(cells(shown)), len(cells(more))) == (16, 26)
    assert more.is_in("details")
    assert "With 40 changes together, the model would say 1 (P(1) 100 %) instead of 0 (P(1) 0 %)." in root.text()
    assert [one.text() for one in root.all("summary")] == ["In one sentence", "25 more changes"]
    (many,) = read(cfs._repr_html_()).all("table")
    assert [one.text() for one in many.all("summary")] == ["32 more"]
    assert len(list(many.all("mark"))) == 40


def test_of_many_the_first_are_shown_the_next_folded_and_the_rest_told_of(cfs):
    first, following = read(cfs._repr_html_()).all("table")
    assert [row[0] for row in cells(first)] == ["row", *X.index[:10]]
    assert [row[0] for row in cells(following)] == ["row", *X.index[10:30]]
    assert following.is_in("details")
    assert not first.is_in("details")
    few = read(cfs[:10]._repr_html_())
    assert not list(few.all("details"))
    many = cfs[np.arange(250) % 30]
    root = read(many._repr_html_())
    assert len(list(root.all("tr"))) == 202
    assert "... and 50 more that are not shown" in root.text()
    for line, one in zip(cells(first)[1:], cfs, strict=False):
        (told,) = Lines(one.batch).all()
        for cell, label, number in ((line[1], one.predicted, told.before), (line[2], one.predicted_after, told.after)):
            assert cell == f"{label} (P({told.label}) {number} %)"
        for change in one.changes:
            assert f"{change.feature}: " in line[3]
    assert "0 rows" in cfs[:0]._repr_html_()


def test_lines_are_the_explanations(cfs):
    for line, one in zip(listing.entries(cfs.batch), cfs, strict=True):
        told = (line.found, line.reason, line.note, line.predicted, line.predicted_after)
        assert told == (one.found, one.reason, one.note, one.predicted, one.predicted_after)
        (quantity,) = Lines(one.batch).all()
        of = f"P({quantity.label})"
        assert (line.chance_before, line.chance) == (f"{of} {quantity.before} %", f"{of} {quantity.after} %")
        assert [(c.feature, c.before, c.after, c.probability) for c in line.changes] == [
            (c.feature, c.before, c.after, c.probability) for c in one.changes
        ]


def test_notebook_pieces_bring_no_style_sheet_and_leave_colours_to_their_surroundings(cfs):
    for html in (cfs._repr_html_(), cfs[0]._repr_html_(), cfs.summary("city")._repr_html_()):
        assert "<style" not in html
        assert "class=" not in html
        assert "color:#" not in html
        assert "background:#" not in html


def test_the_summary_in_html_folds_what_is_long():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 30)))
    model = lambda X: np.column_stack([X[0] < 0, X[0] >= 0]).astype(float)
    cfs = NICE(model, optimize="none").fit(wide, (wide[0] >= 0).astype(int)).explain(wide)
    tables = list(read(cfs.summary()._repr_html_()).all("table"))
    assert [len(cells(one)) - 1 for one in tables] == [2, 10, 20, 10, 20]
    assert [one.is_in("details") for one in tables] == [False, False, True, False, True]
    by_row = read(cfs.summary([f"g{i}" for i in range(60)])._repr_html_())
    assert "more groups in .features" in by_row.text()


def heads(root):
    return [one.text() for one in root.all("h2")]


def rows_of(root):
    return [one for one in root.all("details") if one.attributes.get("class", "").startswith("row ")]


def section(root, title):
    (found,) = [one for one in root.all("section") if next(one.all("h2")).text() == title]
    return found


def test_the_page_of_a_batch_has_its_chapters_in_order(evil):
    root = read(evil.to_html())
    lost = int((~evil.found).sum())
    without = f"{lost} cases without a way, and why"
    assert heads(root) == [
        *("What changes", "Real examples", without, "What it costs"),
        *("What was asked", "Every case", "How this was made"),
    ]
    seen = str.maketrans("\u202e\x00", "\ufffd\ufffd")
    rows = rows_of(section(root, "Every case"))
    for one, reason in zip(rows, evil.reasons, strict=True):
        assert reason is None or reason.translate(seen) in next(one.all("summary")).text()
    assert [next(one.all("b")).text() for one in rows] == [str(label) for label in evil.batch.labels]
    asked = section(root, "What was asked").text()
    assert f"these may not change: {EVIL[0]}" in asked
    assert f"immutable{EVIL[0]}" in section(root, "How this was made").text()
    assert "any other class than the one decided on" in asked
    options = evil.batch.provenance.about()
    assert options["fingerprints"]["training"] in root.text()
    for name, version in options["versions"].items():
        assert f"{name} {version}" in root.text()


def test_each_row_of_the_page_has_its_sentence_its_changes_and_what_stays(cfs):
    rows = rows_of(read(cfs.to_html()))
    for one, entry, sentence in zip(cfs, rows, cfs.texts(), strict=True):
        assert sentence in entry.text()
        (table,) = entry.all("table")
        changed = [change.feature for change in one.changes]
        assert [row[0] for row in cells(table)[1:]] == changed
        assert [mark.text() for mark in table.all("mark")] == [row[2] for row in cells(table)[1:]]
        (others,) = entry.all("details")
        assert next(others.all("summary")).text().startswith(f"{len(X.columns) - len(changed)} feature")
        told = next(others.all("p")).text()
        assert [part.split(": ")[0] for part in told.split("; ")] == [name for name in X if name not in changed]


def test_the_page_counts_decisions_and_changes(cfs):
    root = read(cfs.to_html())
    decisions = cells(list(section(root, "What it costs").all("table"))[1])
    pairs = pd.Series(zip(cfs.predicted, cfs.predicted_after, strict=True)).value_counts()
    assert {(now, then): int(count) for now, then, count in decisions[1:]} == {
        pair: int(count) for pair, count in pairs.items()
    }
    counts = [int(line[2]) for line in decisions[1:]]
    assert counts == sorted(counts, reverse=True)
    features = cfs.summary().features
    shares = features[(features["predicted"] == "no") & (features["changed"] > 0)]
    lines = cells(next(section(root, "What changes").all("table")))
    assert [(line[0], line[1]) for line in lines[1:]] == [
        (one.feature, percent(one.share)) for one in shares.itertuples()
    ]
    bars = [one.attributes["width"] for one in next(section(root, "What changes").all("table")).all("rect")]
    assert bars == [f"{100 * share:.1f}%" for share in shares["share"]]


def test_the_page_speaks_the_words_of_the_reader(cfs):
    wording = Wording(names={"income": "yearly income"}, units={"income": "kEUR"}, classes={"no": "declined"})
    text = read(cfs.to_html(title="Loans", wording=wording)).text()
    assert "yearly income" in text
    assert " kEUR" in text
    assert "declined" in text
    assert "no (9" not in text
    assert text.lstrip().startswith("Loans")
    with pytest.raises(OptionError, match="wording must be a nicecf.Wording, or None, got dict"):
        cfs.to_html(wording={})
    with pytest.raises(OptionError, match="refers to the feature 'incomes', which does not exist"):
        cfs.to_html(wording=Wording(names={"incomes": "x"}))


def test_a_page_of_many_rows_says_where_the_rest_is(cfs, monkeypatch):
    monkeypatch.setattr(report_rows, "_MOST_ROWS", 3)
    root = read(cfs.to_html())
    assert len(rows_of(root)) == 3
    assert "27 more are not on this page: cfs.changes(), cfs.to_frame() hold them." in root.text()
    monkeypatch.setattr(report_rows, "_MOST_CELLS", 3)
    assert "Everything else stays as it is: cfs.to_frame() holds it." in read(cfs.to_html()).text()


def test_pages_of_little(cfs):
    nothing = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1))).fit(np.eye(2), [0, 1]).explain(np.eye(2))
    root = read(nothing.to_html())
    end = ["What was asked", "Every case", "How this was made"]
    assert heads(root) == ["2 cases without a way, and why", *end]
    already = NICE(Scorecard()).fit(X, Y).explain(X[Scorecard().predict(X) == "yes"][:3], target_class="yes")
    root = read(already.to_html())
    assert "nothing has to change" in root.text()
    assert heads(root) == end
    assert heads(read(cfs[:0].to_html())) == ["What was asked", "How this was made"]
    assert heads(read(cfs[:1].to_html()))[-2] == "Every case"


def test_several_counterfactuals_of_a_row_are_numbered():
    cfs = NICE(Scorecard(), search="thorough").fit(X, Y).explain(X[:3], n_counterfactuals=2)
    root = read(cfs.to_html())
    labels = [next(one.all("b")).text() for one in rows_of(root)]
    assert labels[:2] == ["applicant 0, no. 1", "applicant 0, no. 2"]
    assert f"{len(cfs)}counterfactuals" in root.text()


def test_rules_of_the_rows_are_told_as_they_are(cfs):
    nice = NICE(Scorecard(), constraints=Constraints(max_changes=3)).fit(X, Y)
    same = nice.explain(X[:4], target_class=["yes", "perhaps"], constraints=Constraints(increasing=["age"]))
    text = section(read(same.to_html()), "What was asked").text()
    assert "age may only increase" in text
    assert "at most 3 features may change" in text
    assert "Wantedyes or perhaps" in text
    own = nice.explain(X[:2], constraints=[Constraints(immutable=["city"]), Constraints(immutable=["home"])])
    text = section(read(own.to_html()), "What was asked").text()
    assert "Rules, which differ from case to case: those of the first" in text
    assert "these may not change: city" in text
    assert "none" in section(read(cfs.to_html()), "What was asked").text()


def test_a_result_that_was_pickled_makes_the_same_page(cfs):
    again = pickle.loads(pickle.dumps(cfs))
    assert again.to_html() == cfs.to_html()
    assert again._repr_html_() == cfs._repr_html_()


def test_polars_frames_and_arrays_have_pages_too():
    polars = pytest.importorskip("polars")
    numbers = pd.DataFrame({"x0": [0.0, 1.0, 2.0, 3.0], "x1": [1.0, 0.0, 1.0, np.nan]})
    model = lambda X: (lambda p: np.column_stack([p < 1.5, p >= 1.5]).astype(float))(np.asarray(X)[:, 0].astype(float))
    texts = []
    for table in (numbers, polars.from_pandas(numbers), numbers.to_numpy()):
        cfs = NICE(model).fit(table, [0, 0, 1, 1]).explain(table)
        texts.append(section(read(cfs.to_html()), "Every case").text())
        texts.append(read(cfs._repr_html_()).text())
        texts.append(read(cfs[3]._repr_html_()).text())
    assert texts[:3] == texts[3:6] == texts[6:]
    assert "x1missing" in texts[2]


def test_a_page_is_written_whole_or_not_at_all(cfs, tmp_path):
    path = tmp_path / "page.html"
    text = cfs.to_html(path)
    assert path.read_text(encoding="utf-8") == text == cfs.to_html()
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    for wrong in (tmp_path, tmp_path / "no folder" / "page.html", path / "page.html"):
        with pytest.raises(FileError, match=str(tmp_path)) as error:
            cfs.to_html(wrong)
        assert "\n" not in str(error.value)
    assert path.read_text(encoding="utf-8") == text
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


NAMES = {
    "levels": pd.MultiIndex.from_tuples([("income", "gross"), ("income", 2), ("home", "kind")]),
    "tuples": pd.Index([("income", "gross"), ("income", 2), ("home", "kind")], dtype=object, tupleize_cols=False),
    "numbers": pd.Index([0, 1, 2]),
    "odd": pd.Index([pd.Timestamp("2020-01-01"), b"x", frozenset([1])], dtype=object),
}


@pytest.mark.deep
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["odd", *deep("levels", "tuples", "numbers")])
def test_names_that_are_no_text_are_shown_everywhere(name, tmp_path):
    names = NAMES[name]
    plots = pytest.importorskip("nicecf.plots")
    pytest.importorskip("matplotlib").use("agg")
    amount, rate, home = names
    random = np.random.default_rng(0)
    frame = pd.DataFrame({0: random.normal(size=60), 1: random.normal(size=60), 2: random.choice(["own", "rent"], 60)})
    frame.columns = names

    def model(X):
        p = 1 / (1 + np.exp(-3 * (X.iloc[:, 0] + X.iloc[:, 1] + (X.iloc[:, 2] == "own")).to_numpy(float)))
        return np.column_stack([1 - p, p])

    rules = Constraints(
        increasing={home: ["rent", "own"]},
        ranges={amount: (-3, 3)},
        allowed={home: ["own", "rent"]},
        forbid={home: [("own", "rent")]},
        step={rate: 0.001},
        max_changes=2,
    )
    more = Constraints(groups=[[amount, rate]], immutable=[home], ranges={rate: (np.linspace(-4, -3, 10), None)})
    said = Wording(names={amount: "the amount"}, units={amount: "EUR"})
    for options, call in [
        ({}, {"constraints": more}),
        ({"constraints": rules, "feature_weights": {amount: 2.0}}, {}),
        ({"search": "thorough"}, {"n_counterfactuals": 2}),
    ]:
        nice = NICE(model, **options).fit(frame, model(frame)[:, 1] > 0.5)
        cfs = nice.explain(frame[:10], **call)
        assert cfs.found.any()
        for wording in (None, said):
            page = cfs.to_html(tmp_path / "page.html", wording=wording)
            assert str(rate).replace("'", "&#x27;") in page
            assert ("the amount" in page) == (wording is not None)
            for style in ("sentence", "bullets", "analyst", "letter"):
                assert len(cfs.texts(style, wording=wording)) == len(cfs)
        found, wording = cfs[cfs.found][0], said if options else None
        for kind in ("changes", "walk", "regions"):
            assert found.plot(kind, wording=wording).alt
        assert cfs.plot(wording=wording).alt
        assert plots.variants({"one": found, "other": found}).alt
        assert {change.feature for one in cfs for change in one.changes} <= set(names)
        assert set(cfs.changes()["feature"]) <= set(names)
        for shown in (cfs, found, cfs.summary(), cfs.summary(by=home)):
            assert str(found.changes[0].feature) in repr(shown)
            assert str(found.changes[0].feature).replace("'", "&#x27;") in shown._repr_html_()
        table = outcomes.table(cfs.batch)
        assert list(table.columns[-3:]) == [str(name) for name in names]
        assert next(one.restyled("sentence") for one in outcomes.read_outcomes(table, "t"))
        for ending in ("csv", "jsonl"):
            tablefiles.write(table, tmp_path / f"t.{ending}")
            assert list(tablefiles.read(tmp_path / f"t.{ending}").columns) == list(table.columns)
