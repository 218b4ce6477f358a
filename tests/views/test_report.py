"""The report: what its head says, which rows it shows and when, its pictures, and what a screen reader needs."""

import datetime as dt
import re

import pandas as pd
import pytest

from nicecf import NICE, Constraints, Wording
from nicecf.cli import main
from nicecf.support.phrases import shipped
from nicecf.testing import Scorecard, applicants
from nicecf.views.report import report_html
from nicecf.views.report import rows as report_rows
from nicecf.views.report.look import STYLE
from views.test_notebook import Element, cells, read, rows_of, section

X, Y = applicants(200)


@pytest.fixture(scope="module")
def cfs():
    """Rows that change, that are in the target already, and that cannot get there."""
    rules = [Constraints(immutable=list(X)) if i % 3 == 0 else Constraints() for i in range(30)]
    cfs = NICE(Scorecard()).fit(X, Y).explain(X[:30], target_class="yes", constraints=rules)
    totals = cfs.summary().totals
    assert min(totals.changed, totals.unchanged, totals.not_found) > 0
    return cfs


@pytest.fixture(scope="module")
def page(cfs):
    return read(cfs.to_html(about={"Applications": "march.csv"}))


def facts_of(page):
    return dict(cells(next(section(page, "How this was made").all("table"))))


def tiles_of(page):
    (found,) = [one for one in page.all("div") if one.attributes.get("class") == "tiles"]
    return {next(tile.all("span")).text(): next(tile.all("b")).text() for tile in found.parts}


def test_all_of_the_page_is_in_one_main_part(page):
    (body,) = page.all("body")
    (part,) = [part for part in body.parts if isinstance(part, Element) and part.tag != "script"]
    assert part.tag == "main"
    assert len(list(page.all("h1"))) == 1


def test_every_head_of_a_table_has_words(page):
    heads = list(page.all("th"))
    assert len(heads) > 50
    assert all(head.text().strip() for head in heads)


def test_what_scrolls_can_be_reached_by_keys_and_what_is_chosen_has_a_name(page):
    wide = [one for one in page.all("div") if one.attributes.get("class") == "wide"]
    assert wide
    assert all(one.attributes["tabindex"] == "0" for one in wide)
    for one in page.all("input"):
        assert one.is_in("label") or one.attributes["aria-label"]


def test_the_head_says_the_day_and_the_end_files_model_training_data_and_versions(cfs, page):
    known = facts_of(page)
    assert known["Applications"] == "march.csv"
    assert known["Model"] == "nicecf.testing.Scorecard"
    assert known["Training data"] == f"200 rows, {X.shape[1]} features"
    assert next(page.all("p")).text() == dt.date.today().isoformat()
    versions = cfs.batch.provenance.about()["versions"]
    assert known["Made with"] == ", ".join(f"{name} {version}" for name, version in versions.items())
    assert ">2024-12-31</p>" in report_html(cfs.batch, date=dt.date(2024, 12, 31))


def test_the_version_of_the_library_of_the_model_is_told(monkeypatch):
    class Model(Scorecard):
        pass

    monkeypatch.setattr(Model, "__module__", "pytest.models")
    page = read(NICE(Model()).fit(X, Y).explain(X[:1]).to_html())
    assert facts_of(page)["Made with"].endswith(f", pytest {pytest.__version__}")


def test_each_row_is_found_by_the_filter_of_what_became_of_it(cfs, page):
    outcomes = zip(cfs.found, cfs.batch.n_changes > 0, strict=True)
    expected = ["none" if not found else "changed" if is_changed else "same" for found, is_changed in outcomes]
    assert [one.attributes["class"].split()[1] for one in rows_of(page)] == expected
    totals = cfs.summary().totals
    (choices,) = page.all("fieldset")
    assert [label.text().strip() for label in choices.all("label")] == [
        "all (30)",
        f"changed ({totals.changed})",
        f"nothing to change ({totals.unchanged})",
        f"no way ({totals.not_found})",
    ]
    assert [one.attributes["value"] for one in choices.all("input") if "checked" in one.attributes] == ["all"]
    for kind in ("changed", "same", "none"):
        assert f'[value="{kind}"]:checked) .row:not(.{kind})' in STYLE


def test_there_is_nothing_to_filter_where_all_rows_are_alike():
    alike = NICE(Scorecard()).fit(X, Y).explain(X[:5])
    assert not list(read(alike.to_html()).all("fieldset"))


def test_the_first_rows_that_change_have_a_picture_with_words(cfs, page, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = [list(row.all("svg")) for row in rows_of(page)]
    assert [len(pictures) for pictures in drawn] == (cfs.batch.n_changes > 0).astype(int).tolist()
    for one, pictures in zip(cfs, drawn, strict=True):
        for picture in pictures:
            assert picture.attributes["role"] == "img"
            assert picture.attributes["aria-label"].replace("\N{NO-BREAK SPACE}%", " %") == one.plot().alt
            assert str(one.changes[0].feature) in picture.text()
    monkeypatch.setattr(report_rows, "_MOST_PICTURES", 2)
    assert sum(one.attributes.get("class") == "picture" for one in read(cfs.to_html()).all("svg")) == 2


def test_pictures_have_the_colours_of_the_page_and_no_style_of_their_own(cfs):
    html = cfs.to_html()
    assert "style=" not in html
    colors = ("ink", "soft", "paper", "plot-bar", "plot-row", "plot-after")
    assert set(re.findall(r'fill="([^"]+)"', html)) <= {"none", *(f"var(--{name})" for name in colors)}
    for name in colors:
        assert f"--{name}: #" in html


def test_the_figures_of_the_head_are_those_of_the_summary(cfs, page):
    totals, shown = cfs.summary().totals, tiles_of(page)
    changed = cfs.batch.n_changes[cfs.batch.n_changes > 0]
    assert (shown["cases"], shown["change"]) == ("30", str(len(changed)))
    assert (shown["need no change"], shown["without a way"]) == (str(totals.unchanged), str(totals.not_found))
    assert totals.mean_changes == changed.mean()
    assert float(shown["average number of changes"]) == pytest.approx(totals.mean_changes, abs=0.005)


def test_the_average_on_the_command_line_is_that_of_the_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.py").write_text("from nicecf.testing import Scorecard\nmodel = Scorecard()\n")
    monkeypatch.syspath_prepend(tmp_path)
    X.assign(label=Y).to_csv("train.csv", index=False)
    X[:30].to_csv("new.csv", index=False)
    main(["fit", "--train", "train.csv", "--label", "label", "--model", "scores:model", "--out", "e.nice"])
    capsys.readouterr()
    ask = ["e.nice", "new.csv", "--model", "scores:model", "--target", "yes"]
    main(["explain", *ask, "--out", "out.csv", "--report", "report.html"])
    told, page = capsys.readouterr().out, read((tmp_path / "report.html").read_text(encoding="utf-8"))
    changed = pd.read_csv("out.csv").query("n_changes > 0")["n_changes"]
    assert 0 < len(changed) < 30
    assert float(tiles_of(page)["average number of changes"]) == pytest.approx(changed.mean(), abs=0.005)
    assert f"{changed.mean():.1f} on average" in " ".join(told.split())
    assert (facts_of(page)["Rows"], facts_of(page)["Explainer"]) == ("new.csv", "e.nice")
    assert facts_of(page)["Model file"] == "scores:model"


def test_long_names_are_broken_between_their_parts_alone(cfs):
    text = cfs.to_html(wording=Wording(names={"income": "yearly_income_of_the_household"}))
    assert "yearly_<wbr>income_<wbr>of_<wbr>the_<wbr>household" in text
    assert "overflow-wrap: anywhere" not in text.replace(".facts td { overflow-wrap: anywhere; }", "")


def test_numbers_and_dates_are_in_the_manner_of_the_language(cfs, tmp_path):
    own = {"number.decimal_point": ",", "number.thousands": ".", "date.day": "{day}.{month}.{year}"}
    sections: dict[str, list[str]] = {}
    for key, phrase in (dict(shipped("en")) | own | {"report.language": "de"}).items():
        name, _, entry = key.partition(".")
        sections.setdefault(name, []).append(f'{entry} = """{phrase}"""')
    path = tmp_path / "de.toml"
    path.write_text("\n".join("\n".join([f"[{name}]", *lines]) for name, lines in sections.items()), encoding="utf-8")
    text = report_html(cfs.batch, wording=Wording(language=path), date=dt.date(2024, 12, 31))
    assert '<html lang="de">' in text
    assert ">31.12.2024</p>" in text
    assert f"<b>{cfs.summary().totals.mean_changes:.2f}".replace(".", ",").rstrip("0,") in text
