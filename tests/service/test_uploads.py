"""A CSV file that somebody uploads -> rows that the other verbs take."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nicecf import NICE
from nicecf.service.description import features
from nicecf.service.keys import Keys, digest
from nicecf.service.limits import Limits
from nicecf.tables import files
from service.conftest import explained, fitted, post, rows_of, served, table

READ = "/v1/models/credit:read"
HEAD = "age,income,job,is_customer,since\n"


def sent(service, content, kind="text/csv", **headers):
    content = content.encode() if isinstance(content, str) else content
    return post(service, b"", path=READ, content=content, headers={"Content-Type": kind, **headers})


def read(service, content):
    answer = sent(service, content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(service, content):
    answer = sent(service, content)
    assert answer.status_code == 400, answer.text
    assert list(answer.json()) == ["error"]
    return answer.json()["error"]


class TestRows:
    def test_they_are_those_of_the_file_and_can_be_explained(self, nice):
        X = table(5, seed=1)
        service = served(nice)
        upload = read(service, X.to_csv(index=False))
        assert upload == {"instances": rows_of(X), "labels": list("12345"), "left_out": [], "layout": {}}
        assert [one["text"] for one in explained(service, upload["instances"])] == nice.explain(X).texts()

    def test_a_german_file_is_recognised(self, nice):
        X = table(5, seed=2).assign(income=[1234.5, 20.25, 0.5, 7, 12345.75])
        content = X.to_csv(index=False, sep=";", decimal=",")
        upload = read(served(nice), content)
        assert upload["instances"] == rows_of(X)
        assert upload["layout"] == {"sep": ";", "decimal": ","}
        in_thousands = content.replace("1234,5", "1.234,5").replace("12345,75", "12.345,75")
        assert in_thousands != content
        german = in_thousands.replace("True", "WAHR").replace("False", "FALSCH")
        assert german != in_thousands
        assert read(served(nice), german.encode("cp1252"))["instances"] == rows_of(X)
        assert read(served(nice), german.encode("utf-16"))["instances"] == rows_of(X)

    def test_columns_may_stand_in_any_order_and_others_are_left_out(self, nice):
        X = table(3, seed=3)
        more = X[X.columns[::-1]].assign(branch="North", name=["Ada", "Émile", "Zoë"])
        upload = read(served(nice), more.to_csv(index=False))
        assert upload["instances"] == rows_of(X)
        assert upload["left_out"] == ["branch", "name"]
        assert upload["labels"] == ["Ada", "Émile", "Zoë"]

    def test_labels_that_are_empty_or_the_same_are_none(self, nice):
        X = table(3, seed=3)
        for names in (["a", "b", ""], ["a", "b", " "], ["a", "a", "b"]):
            assert read(served(nice), X.assign(name=names).to_csv(index=False))["labels"] == ["1", "2", "3"]

    def test_what_is_missing_or_new_is_kept(self, nice):
        content = f"{HEAD},,,,\n30,NA,pilot,yes,2020-01-01 12:30\n"
        first, second = read(served(nice), content)["instances"]
        assert set(first.values()) == {None}
        assert second == {"age": 30, "income": None, "job": "pilot", "is_customer": True, "since": "2020-01-01 12:30"}

    @pytest.mark.parametrize("head", ["Case,Result", "Fall,Ergebnis"])
    def test_what_the_page_saved_has_no_apostrophes_before_formulas_any_more(self, nice, head):
        line = "'=A1,x,30,1,'+pilot,true,2020-01-01"
        upload = read(served(nice), f"{head},{HEAD}{line}\n")
        assert (upload["labels"], upload["instances"][0]["job"]) == (["=A1"], "+pilot")
        other = read(served(nice), f"{head}s,{HEAD}{line}\n")
        assert (other["labels"], other["instances"][0]["job"]) == (["'=A1"], "'+pilot")

    def test_codes_with_leading_zeros_stay_text(self):
        X = table().assign(job=np.tile(["01", "02", "10"], 100))
        y = np.tile(["no", "yes"], 150)
        nice = NICE(lambda X: np.full((len(X), 2), 0.5), classes=["no", "yes"], justified=False).fit(X, y)
        assert [row["job"] for row in read(served(nice), X[:2].to_csv(index=False))["instances"]] == ["01", "02"]


class TestContainers:
    def test_an_array_takes_columns_by_their_places_or_by_its_own_names(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
        model = NICE(lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float), classes=[0, 1])
        service = served(model.fit(X, (X[:, 0] >= 0).astype(int)))
        expected = [{"x0": 1.5, "x1": 2, "x2": None}]
        assert read(service, "a;b;c\n1,5;2;\n")["instances"] == expected
        assert read(service, "x2,x1,x0\n,2,1.5\n")["instances"] == expected
        assert read(service, "name,x0,x1,x2\nAda,1.5,2,\n")["labels"] == ["Ada"]
        # One of these is ours: to count the others would take it for another.
        assert "has no column 'x2'" in refused(service, "c,x0,x1\n1,2,3\n")
        assert "has no column 'x0', 'x1', 'x2'" in refused(service, "a,b\n1,2\n")

    def test_a_frame_of_polars(self):
        X = pl.DataFrame(
            {
                "number": [1, 2, 3] * 20,
                "measure": [0.5, None, 1.5] * 20,
                "text": ["x", "y", None] * 20,
                "flag": [True, False, True] * 20,
                "day": [datetime.date(2020, 1, day + 1) for day in range(20)] * 3,
                "level": pl.Series(["low", "high", "low"] * 20, dtype=pl.Enum(["low", "high"])),
            }
        )
        y = (X["flag"].to_numpy()).astype(int)
        nice = NICE(lambda X: np.column_stack([1 - X["flag"].to_numpy(), X["flag"].to_numpy()]) * 0.8 + 0.1, classes=[0, 1])  # fmt: skip
        with pytest.warns(UserWarning, match="no rule says what follows"):
            service = served(nice.fit(X, y))
        content = "number;measure;text;flag;day;level\n1;0,5;x;ja;2020-01-02;low\n2;;new;nein;;\n"
        upload = read(service, content)
        assert upload["instances"] == [
            {"number": 1, "measure": 0.5, "text": "x", "flag": True, "day": "2020-01-02", "level": "low"},
            {"number": 2, "measure": None, "text": "new", "flag": False, "day": None, "level": None},
        ]
        assert explained(service, upload["instances"][:1])[0]["decision"] == 1
        assert "line 2: column 'level' holds 'lo'" in refused(service, content.replace(";low", ";lo"))

    def test_a_sparse_matrix(self):
        X = sparse.csr_matrix(np.random.default_rng(0).integers(0, 3, size=(60, 3)).astype(float))

        def model(X):
            yes = np.asarray(X[:, [0]].todense()).ravel() > 1
            return np.column_stack([~yes, yes]).astype(float)

        service = served(NICE(model, classes=[0, 1]).fit(X, model(X)[:, 1].astype(int)))
        names = [one["name"] for one in service_schema(service)]
        assert read(service, ",".join(names) + "\n1,0,2\n")["instances"] == [dict(zip(names, (1, 0, 2), strict=True))]


def service_schema(service):
    return features(service.versions["credit"])


WRONG = {
    "no number": (f"{HEAD}30,1,nurse,true,2020-01-01\nold,1,nurse,true,2020-01-01\n", "the file, line 3: column 'age' holds 'old', which is not a number"),
    "no date": (f"{HEAD}30,1,nurse,true,soon\n", "the file, line 2: column 'since' holds 'soon'"),
    "no boolean": (f"{HEAD}30,1,nurse,perhaps,2020-01-01\n", "the file, line 2: column 'is_customer' holds 'perhaps', but is true or false"),
    "a number that is too large": (f"{HEAD}30,1,nurse,true,2020-01-01\n30,1e200,nurse,true,2020-01-01\n", "the file, line 3: column 'income': the number is too large, got 1e\\+200"),
    "infinity": (f"{HEAD}30,1e999,nurse,true,2020-01-01\n", "line 2: column 'income' holds an infinite value"),
    "text that is too long": (f"{HEAD}30,1,{'x' * 10_001},true,2020-01-01\n", "line 2: column 'job': text has at most 10,000 characters"),
    "a column that is missing": ("age,income,job,is_customer\n30,1,nurse,true\n", "the file has no column 'since', which the explainer needs"),
    "a name that is wrong": (HEAD.replace("income", "Income") + "30,1,nurse,true,2020-01-01\n", "has no column 'income', .*Is it 'Income'"),
    "two of one name": ("age,age\n1,2\n", "several columns called 'age'"),
    "no name": (",age\n1,2\n", "no name over column 1"),
    "a short line": (f"{HEAD}30,1\n", "line 2, has 2 cells, but the header has 5"),
    "nothing": ("", "the file is empty; it needs a header"),
    "white space": (" \n\n", "the file is empty; it needs a header"),
    "a header": (HEAD, "the file has no rows below its header"),
    "zeros": (b"\x00\x01\x02", "holds a zero byte, which text never does. Save the file again as CSV"),
    "an encoding that cannot be told": (f"{HEAD}30,20,Plzeň,true,2020-01-01\n".encode("cp1250"), "the file, line 2, is not UTF-8, and its encoding cannot be told from its letters: it holds 'Plzeò' in cp1252, 'Plzeň' in cp1250, .* Save the file again as CSV in UTF-8"),
    "an Excel file": (b"PK\x03\x04" + b"x" * 99, "a zip archive, such as those of Excel, not text. Save the file again as CSV"),
    "a compressed file": (b"\x1f\x8b\x08\x00", "the file is compressed; unpack it first"),
    "both marks": ("age;income;job;is_customer;since\n30;1,5;nurse;true;2020-01-01\n30;1.5;nurse;true;2020-01-01\n", "income"),
    "a mark that reads both ways": ("age;income;job;is_customer;since\n30;1.234;nurse;true;2020-01-01\n", "which reads both ways: as 1.234 .* Save the file again as CSV"),
    "an open quote": (f'{HEAD}30,1,"nurse,true,2020-01-01\n', "cannot be read as a table|has 3 cells"),
    "JSON": ('{"instances": []}', "the file has no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(nice, case):
    content, message = WRONG[case]
    said = refused(served(nice), content)
    assert re.search(message, said), said
    assert "--" not in said  # whoever uploads a file has no options
    assert "Traceback" not in said


class TestLimits:
    def test_a_file_has_so_many_rows_at_most(self, nice):
        service = served(nice, limits=Limits(table_rows=10))
        assert len(read(service, table(10).to_csv(index=False))["instances"]) == 10
        assert refused(service, table(11).to_csv(index=False)) == "the file has 11 rows; send at most 10 at a time."

    def test_a_file_has_so_many_bytes_at_most(self, nice):
        content = table(5).to_csv(index=False)
        assert sent(served(nice, limits=Limits(file_bytes=len(content) - 1)), content).status_code == 413
        assert sent(served(nice, limits=Limits(file_bytes=len(content), bytes=50)), content).status_code == 200

    def test_a_file_of_ten_thousand_rows_is_read(self, nice):
        X = table(10_000, seed=5)
        content = X.to_csv(index=False)
        assert len(read(served(nice), content)["instances"]) == 10_000

    def test_files_with_far_too_many_lines_or_columns_are_refused_before_they_are_read(self, nice, monkeypatch):
        monkeypatch.setattr(files.separated, "read", lambda *_, **__: pytest.fail("it was read"))
        service = served(nice, limits=Limits(table_rows=10))
        for end in "\n", "\r", "\r\n":
            content = end.join(["a,b", *["1,2"] * 201, ""])
            said = "the file has more than 200 lines; send at most 10 rows at a time."
            assert refused(service, content) == said
        for sep in ",;\t|":
            wide = sep.join(f"c{at}" for at in range(1_006))
            said = "the file has more than 1,005 columns; leave out those that nobody needs."
            for content in (f"{wide}\n", f"\n\n{wide}\n", f"sep={sep}\n{wide}\n", f'"a\nb"{sep}{wide}\n'):
                assert refused(service, content) == said
                assert refused(service, content.encode("utf-16")) == said

    def test_text_in_quotes_may_go_over_several_lines_and_other_columns_are_many(self, nice):
        more = pd.DataFrame(0, index=range(10), columns=[f"c{at}" for at in range(1_000)])
        X = pd.concat([table(10, seed=6).assign(job="a\nb\nc"), more], axis=1)
        upload = read(served(nice, limits=Limits(table_rows=10)), X.to_csv(index=False))
        assert [row["job"] for row in upload["instances"]] == ["a\nb\nc"] * 10

    @pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", ""])
    def test_another_kind_of_content_is_refused(self, nice, kind):
        answer = sent(served(nice), table(1).to_csv(index=False), kind)
        assert (answer.status_code, answer.json()["error"]) == (415, "send the body as Content-Type: text/csv")

    def test_the_charset_may_be_named(self, nice):
        assert sent(served(nice), table(1).to_csv(index=False), "text/csv; charset=utf-8").status_code == 200

    def test_it_needs_a_key(self, nice):
        service = served(nice, keys=Keys((("office", digest("key")),)))
        content = table(1).to_csv(index=False)
        assert sent(service, content).status_code == 401
        assert sent(service, content, Authorization="Bearer key").status_code == 200

    def test_categories_that_are_rare_are_not_told(self):
        X = table()
        X["job"] = pd.Categorical(["judge", *X["job"][1:]], categories=["clerk", "judge", "nurse", "smith"], ordered=True)  # fmt: skip
        y = np.tile(["no", "yes"], 150)
        nice = NICE(lambda X: np.full((len(X), 2), 0.5), classes=["no", "yes"], justified=False, min_count=5).fit(X, y)
        said = refused(served(nice), f"{HEAD}30,1,pilot,true,2020-01-01\n")
        assert "'clerk', 'nurse', 'smith'" in said
        assert "judge" not in said


def test_an_upload_of_a_guarded_explainer_takes_values_that_it_does_not_tell():
    rows = rows_of(table(3, seed=4))
    assert read(served(fitted(min_count=5)), pd.DataFrame(rows).to_csv(index=False))["instances"] == rows
