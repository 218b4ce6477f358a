"""Values that training never saw: noted for each row, counted in the summary, and nothing else changes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nicecf import NICE, Constraints, Wording, replay
from nicecf.baselines import CBR, SEDC, WIT, CFproto, GeCo, GrowingSpheres
from nicecf.cli import main
from nicecf.explain.saving import archive
from nicecf.support.phrases import Voice, shipped
from nicecf.testing import Scorecard, applicants, assert_same

N = 120
RNG = np.random.default_rng(0)
TRAIN = pd.DataFrame(
    {
        "age": RNG.integers(18, 91, N),
        "rate": RNG.integers(1, 9, N) / 10,
        "housing": pd.Categorical(RNG.choice(["own", "rent"], N), ["own", "rent", "boat"]),
        "job": RNG.choice(["clerk", "smith"], N),
        "member": RNG.random(N) < 0.5,
        "branch": 7,
        "bonus": np.where(RNG.random(N) < 0.3, np.nan, 5.0 + RNG.integers(0, 3, N)),
    }
)
TRAIN.loc[:3, "age"] = [18, 90, 50, 51]
LABELS = np.where(TRAIN["age"] > 50, "yes", "no")


def model(X):
    """By the age alone, whatever the container; a missing one is denied."""
    age = np.asarray(X[:, 0] if isinstance(X, np.ndarray) else X["age"], dtype=float)
    return np.column_stack([~(age > 50), age > 50]).astype(float)


def explainer(**options):
    return NICE(model, classes=["no", "yes"], **options).fit(TRAIN, LABELS)


def row(**cells):
    """A row as training rows are, but for some cells."""
    frame = TRAIN.iloc[[2]].astype({"age": "Int64"})
    for name, value in cells.items():
        frame[name] = pd.Categorical([value]) if name == "housing" else [value]
    return frame


NICELY = explainer()


def note(**cells):
    return NICELY.explain(row(**cells)).notes[0]


class TestOneRow:
    def test_a_row_like_those_of_training_has_no_note(self):
        assert NICELY.explain(TRAIN).notes.tolist() == [None] * N
        assert note() is None

    def test_a_number_outside_the_range(self):
        assert note(age=93) == "'age' is 93, outside the 18 to 90 of the training rows"
        assert note(age=17) == "'age' is 17, outside the 18 to 90 of the training rows"
        assert note(age=90) is None
        assert note(age=18) is None
        assert note(rate=0.85) == "'rate' is 0.85, outside the 0.1 to 0.8 of the training rows"

    def test_an_unseen_category(self):
        assert note(job="baker") == "'job' is baker, which no training row has"
        assert note(member=True) is None

    def test_a_category_of_the_dtype_that_no_training_row_holds(self):
        assert note(housing="boat") == "'housing' is boat, which no training row has"
        assert note(housing="rent") is None
        assert note(housing="tent") == "'housing' is tent, which no training row has"

    def test_a_missing_value_where_training_had_none(self):
        assert note(age=pd.NA) == "'age' is missing, as in no training row"
        assert note(job=None) == "'job' is missing, as in no training row"
        assert note(housing=None) == "'housing' is missing, as in no training row"
        assert note(bonus=np.nan) is None

    def test_a_column_that_never_varies(self):
        assert note(branch=8) == "'branch' is 8, but 7 in all training rows"

    def test_all_together_at_most_three_are_named(self):
        assert note(age=93, job="baker", bonus=9.0) == (
            "'age' is 93, outside the 18 to 90 of the training rows; 'job' is baker, which no training row has; "
            "'bonus' is 9, outside the 5 to 7 of the training rows"
        )
        four = note(age=93, job="baker", branch=8, bonus=9.0)
        assert four == (
            "'age' is 93, outside the 18 to 90 of the training rows; 'job' is baker, which no training row has; "
            "'branch' is 8, but 7 in all training rows; 1 more feature has a value that no training row has"
        )
        five = note(age=93, rate=2.0, job="baker", branch=8, bonus=9.0)
        assert five.endswith("; 2 more features have values that no training row has")

    def test_it_is_one_statement_of_one_kind(self):
        cfs = NICELY.explain(row(age=93, job="baker"))
        assert cfs.note_kinds[0] == ("unseen",)
        ((statement,),) = cfs.batch.notes
        assert [one.kind for one in statement.fields["values"]] == ["unseen_outside", "unseen_category"]

    def test_rows_found_not_found_and_without_need(self):
        rows = pd.concat([row(age=17), row(age=93), row(branch=8)], ignore_index=True)
        free = NICELY.explain(rows, target_class="yes")
        bound = NICELY.explain(rows, target_class="yes", constraints=Constraints(immutable=["age"]))
        assert free.found.tolist() == [True, True, True]
        assert bound.found.tolist() == [False, True, False]
        assert free.notes.tolist() == bound.notes.tolist()
        assert all(free.notes)
        assert len(free[1].changes) == 0

    def test_how_the_search_went_is_not_among_the_notes(self):
        cfs = explainer(neighbors=500, mix_donors=False).explain(row(branch=8))
        assert cfs.note_kinds[0] == ("unseen",)
        assert cfs.notes[0] == "'branch' is 8, but 7 in all training rows"
        assert cfs.search[0].endswith("of 500 neighbors: there are no more donors")
        assert cfs[0].search == cfs.search[0]

    def test_it_follows_notes_about_what_was_left_undone(self):
        cfs = explainer().explain(row(branch=8), n_counterfactuals=30)
        assert cfs.note_kinds[0][-1] == "unseen"
        assert len(cfs.note_kinds[0]) == 2

    def test_several_counterfactuals_of_a_row_all_have_it(self):
        cfs = NICELY.explain(row(branch=8), n_counterfactuals=2)
        assert all("'branch' is 8" in one for one in cfs.notes)


class TestValues:
    def arrays(self, train, rows):
        """The notes for rows of an array."""
        labels = np.arange(len(train)) % 2
        nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False)
        return nice.fit(train, labels).explain(rows).notes.tolist()

    def test_arrays(self):
        train = np.array([[1.0, 2.0], [3.0, 2.5]])
        assert self.arrays(train, np.array([[2.0, 2.2], [0.0, 2.2], [np.nan, 2.0]])) == [
            None,
            "'x0' is 0, outside the 1 to 3 of the training rows",
            "'x0' is missing, as in no training row",
        ]

    def test_the_two_zeros_are_one(self):
        assert self.arrays(np.array([[0.0], [1.0]]), np.array([[-0.0], [0.0]])) == [None, None]
        assert self.arrays(np.array([[-0.0], [-1.0]]), np.array([[0.0], [-0.0]])) == [None, None]

    def test_single_precision_is_compared_and_told_as_such(self):
        train = np.array([[0.1], [0.7]], dtype=np.float32)
        rows = np.array([[0.1], [0.7], [0.1 - 1e-12], [0.8]])
        assert self.arrays(train, rows) == [
            None,
            None,
            None,  # the column would hold 0.1 for it
            "'x0' is 0.8, outside the 0.1 to 0.7 of the training rows",
        ]
        assert self.arrays(train, np.array([[0.8]], dtype=np.float32)) == [
            "'x0' is 0.8, outside the 0.1 to 0.7 of the training rows"
        ]
        assert "outside the 0.1 to 0.7" in self.arrays(train, np.array([[1e60]]))[0]

    def test_integers_do_not_round_what_they_are_compared_with(self):
        assert self.arrays(np.array([[1], [90]]), np.array([[90.4]])) == [
            "'x0' is 90.4, outside the 1 to 90 of the training rows"
        ]

    def test_a_column_without_any_number(self):
        train = np.array([[np.nan, 0.0], [np.nan, 1.0]])
        assert self.arrays(train, np.array([[np.nan, 0.5], [3.0, 0.5]])) == [
            None,
            "'x0' is 3, which no training row has",
        ]

    def test_booleans(self):
        train = pd.DataFrame({"is_on": [True, True], "n": [1, 2]})
        nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False).fit(train)
        rows = pd.DataFrame({"is_on": [True, False], "n": [1, 2]})
        assert nice.explain(rows).notes.tolist() == [None, "'is_on' is False, which no training row has"]

    def test_ordered_categories(self):
        sizes = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
        train = pd.DataFrame({"size": pd.Series(["s", "l", "l"], dtype=sizes)})
        nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False).fit(train)
        cfs = nice.explain(pd.DataFrame({"size": pd.Series(["m", "l", "xl"], dtype=sizes)}))
        # Nothing is said of an order: m is between, yet no training row has it.
        assert cfs.notes.tolist() == [
            "'size' is m, which no training row has",
            None,
            "'size' is xl, which no training row has",
        ]

    def test_polars(self):
        train = pl.DataFrame(
            {"age": [18, 90], "job": ["clerk", "smith"], "ok": pl.Series(["a", "a"], dtype=pl.Enum(["a", "b"]))}
        )
        nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False).fit(train)
        rows = pl.DataFrame(
            {"age": [93, None], "job": ["clerk", "baker"], "ok": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))}
        )
        assert nice.explain(rows).notes.tolist() == [
            "'age' is 93, outside the 18 to 90 of the training rows",
            "'age' is missing, as in no training row; 'job' is baker, which no training row has; 'ok' is b, which no training row has",
        ]

    def test_free_text_is_always_new_and_not_noted(self):
        train = pd.DataFrame({"note": [f"text {at}" for at in range(60)], "n": range(60)})
        for method in (NICE, WIT):
            nice = method(lambda X: (X["n"].to_numpy() > 30)[:, None] ^ np.array([True, False]), classes=[0, 1])
            nice.fit(train, (train["n"] > 30).astype(int))
            cfs = nice.explain(pd.DataFrame({"note": ["another", None], "n": [3, 99]}))
            said = [[one.fields for one in some if one.kind == "unseen"] for some in cfs.batch.notes]
            assert [len(some) for some in said] == [0, 1]
            assert cfs.notes[1].endswith(
                "'note' is missing, as in no training row; 'n' is 99, outside the 0 to 59 of the training rows"
            )


def as_expected(train, rows):
    """Which cells of rows are new, cell by cell in plain Python, for columns of numbers and text."""
    new = []
    for _, one in rows.iterrows():
        for name in rows:
            held = [value for value in train[name] if not pd.isna(value)]
            if pd.isna(one[name]):
                new.append(len(held) == len(train))
            elif isinstance(one[name], str):
                new.append(one[name] not in held)
            else:
                new.append(not held or not min(held) <= one[name] <= max(held))
    return np.array(new, dtype=bool).reshape(rows.shape)


NUMBERS = st.one_of(st.none(), st.integers(-2, 2), st.sampled_from([-0.0, 0.5]))
TEXTS = st.one_of(st.none(), st.sampled_from("abcd"))
ROWS = st.lists(st.tuples(NUMBERS, TEXTS), min_size=1, max_size=6)


@given(ROWS, ROWS)
def test_what_is_noted_is_what_a_look_at_each_cell_shows(train, rows):
    train, rows = (pd.DataFrame(some, columns=["n", "t"]).astype({"n": float, "t": object}) for some in (train, rows))
    nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False).fit(train)
    try:
        cfs = nice.explain(rows)
    except Exception as error:  # text where training had nothing but missing values
        assert "marks missing" in str(error) or "held" in str(error)  # noqa: PT017
        return
    new = as_expected(train, rows)
    noted = [[f"'{name}' is" in (note or "") for name in rows] for note in cfs.notes]
    assert np.array_equal(noted, new)
    summary = cfs.summary()
    assert summary.n_unseen == new.any(axis=1).sum()
    assert summary.unseen["rows"].sum() == new.sum()


class TestBatches:
    ROWS = pd.concat([row(age=93), row(job="baker"), row(), row(age=17, job="cook", housing="tent")], ignore_index=True)

    def test_a_batch_equals_its_rows(self):
        cfs = NICELY.explain(self.ROWS)
        alone = [NICELY.explain(self.ROWS.iloc[[at]]).notes[0] for at in range(4)]
        assert cfs.notes.tolist() == alone

    def test_answers_do_not_change(self):
        fitted = NICELY._fitted
        silent = explainer()
        object.__setattr__(silent._fitted, "statistics", type(fitted.statistics)(*vars(fitted.statistics).values()))
        object.__setattr__(silent._fitted.statistics, "seen", None)
        with_notes, without = NICELY.explain(self.ROWS), silent.explain(self.ROWS)
        assert_same(with_notes, without)
        assert without.notes.tolist() == [None] * 4

    @pytest.mark.parametrize("method", [WIT, SEDC, CBR, GeCo], ids=lambda one: one.__name__)
    def test_baselines(self, method):
        cfs = method(model, classes=["no", "yes"]).fit(TRAIN, LABELS).explain(self.ROWS)
        assert cfs.notes.tolist() == NICELY.explain(self.ROWS).notes.tolist()

    @pytest.mark.parametrize("method", [GrowingSpheres, CFproto], ids=lambda one: one.__name__)
    def test_baselines_of_numbers(self, method):
        table = TRAIN[["age", "rate"]].to_numpy()
        cfs = method(model, classes=["no", "yes"]).fit(table, LABELS).explain(np.array([[93.0, 0.5], [40.0, 0.5]]))
        assert cfs.notes.tolist() == ["'x0' is 93, outside the 18 to 90 of the training rows", None]

    def test_pickles(self):
        cfs = pickle.loads(pickle.dumps(NICELY.explain(self.ROWS)))
        assert cfs.notes.tolist() == NICELY.explain(self.ROWS).notes.tolist()
        assert cfs.summary().n_unseen == 3


class TestDerived:
    RULES = Constraints(derived={"total": "a + b"})

    def test_notes_speak_of_the_table_as_it_was_handed_in(self):
        train = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 1.0, 2.0, 2.0]}).eval("total = a + b")
        nice = NICE(lambda X: (X["total"].to_numpy() > 4)[:, None] ^ np.array([True, False]), constraints=self.RULES)
        nice.fit(train, (train["total"] > 4).astype(int))
        rows = pd.DataFrame({"a": [9.0, 2.0], "b": [1.0, 2.0]}).eval("total = a + b")
        assert nice.explain(rows).notes.tolist() == [
            "'a' is 9, outside the 1 to 4 of the training rows; 'total' is 10, outside the 2 to 6 of the training rows",
            None,
        ]
        contradicting = nice.explain(rows.assign(total=[77.0, 4.0]))
        assert contradicting.found.tolist() == [False, True]
        assert "'total' is 77, outside the 2 to 6" in contradicting.notes[0]

    def test_columns_that_move_together(self):
        train = pd.get_dummies(TRAIN[["age", "job"]], dtype=int)
        nice = NICE(model, classes=["no", "yes"], constraints=Constraints(groups="auto")).fit(train, LABELS)
        rows = train[:2].assign(job_smith=[0, 2], job_clerk=[1, 0])
        assert nice.explain(rows).notes.tolist() == [None, "'job_smith' is 2, outside the 0 to 1 of the training rows"]


class TestGuarded:
    def test_what_enough_rows_share_is_told_as_such(self):
        train = TRAIN.assign(
            age=RNG.choice([20, 50, 51, 80], N), job=np.where(np.arange(N) < 2, "sheriff", TRAIN["job"])
        )
        train.loc[5, "age"] = 99  # of one person
        nice = NICE(model, classes=["no", "yes"], min_count=3).fit(train, LABELS)
        # The person's own age and an age that nobody has are told alike; so are the job of two, and that of nobody.
        rows = pd.concat([row(age=99), row(age=98), row(job="sheriff"), row(job="baker"), row(age=60), row(age=pd.NA)])
        cfs = nice.explain(rows)
        assert cfs.notes.tolist() == [
            "'age' is 99, outside 20 to 80, the range of what at least 3 training rows share",
            "'age' is 98, outside 20 to 80, the range of what at least 3 training rows share",
            "'job' is sheriff, which fewer than 3 training rows have",
            "'job' is baker, which fewer than 3 training rows have",
            None,
            "'age' is missing, as in fewer than 3 training rows",
        ]
        assert cfs.summary().unseen_note == (
            "5 of 6 rows have values that training never saw, or rarely (min_count): 2 outside the range (age 2), 2 "
            "unseen categories (job 2), 1 missing (age 1)"
        )
        assert "which fewer" not in str(nice.explain(train[:2]).reasons)

    def test_a_column_that_never_varies_and_more_than_three(self):
        nice = explainer(min_count=3)
        assert nice.explain(row(branch=8)).notes[0] == (
            "'branch' is 8, not 7, the only value that at least 3 training rows share"
        )
        four = nice.explain(row(rate=2.0, job="baker", branch=8, bonus=9.0)).notes[0]
        assert four.endswith("; 1 more feature has a value that fewer than 3 training rows have")
        five = nice.explain(row(rate=2.0, job="baker", housing="tent", branch=8, bonus=9.0)).notes[0]
        assert five.endswith("; 2 more features have values that fewer than 3 training rows have")

    def test_where_most_values_are_rare_nothing_is_compared(self):
        train = np.column_stack([np.arange(N) / 7, np.where(np.arange(N) < 100, 0.0, np.arange(N))])
        nice = NICE(lambda X: (X[:, 0] > 8)[:, None] ^ np.array([True, False]), min_count=5)
        nice.fit(train, (train[:, 0] > 8).astype(int))
        assert nice.explain(np.array([[1e6, 1e6]])).notes.tolist() == [None]

    def test_share_donor_alone_hides_no_range(self):
        cfs = explainer(share_donor=False).explain(row(age=93))
        assert cfs.notes[0] == "'age' is 93, outside the 18 to 90 of the training rows"

    def test_what_is_computed_is_not_told(self):
        train = pd.DataFrame({"a": np.repeat([1.0, 2.0, 3.0], 20)}).eval("twice = 2 * a")
        nice = NICE(
            lambda X: (X["a"].to_numpy() > 2)[:, None] ^ np.array([True, False]),
            min_count=5,
            constraints=Constraints(derived={"twice": "2 * a"}),
        ).fit(train, (train["a"] > 2).astype(int))
        assert nice.explain(pd.DataFrame({"a": [9.0], "twice": [18.0]})).notes.tolist() == [
            "'a' is 9, outside 1 to 3, the range of what at least 5 training rows share"
        ]
        assert nice.explain(pd.DataFrame({"a": [2.0], "twice": [np.nan]})).notes.tolist() == [None]


class TestSaved:
    ROWS = TestBatches.ROWS

    @pytest.mark.parametrize("min_count", [1, 3])
    def test_saved_and_loaded(self, tmp_path, min_count):
        nice = explainer(min_count=min_count)
        nice.save(tmp_path / "one.nice")
        loaded = NICE.load(tmp_path / "one.nice", model=model)
        assert loaded.explain(self.ROWS).notes.tolist() == nice.explain(self.ROWS).notes.tolist()
        assert any(nice.explain(self.ROWS).notes)

    def test_a_file_of_before_gives_no_such_notes(self, tmp_path):
        NICELY.save(tmp_path / "one.nice")
        manifest, members = archive.read(tmp_path / "one.nice", by="x")
        del manifest["table"]["seen"]
        archive.write(tmp_path / "old.nice", manifest, members, by="x")
        loaded = NICE.load(tmp_path / "old.nice", model=model)
        assert loaded.explain(self.ROWS).notes.tolist() == [None] * 4
        assert loaded.explain(self.ROWS).summary().unseen_note is None
        loaded.save(tmp_path / "again.nice")
        NICE.load(tmp_path / "again.nice", model=model)

    @pytest.mark.parametrize(
        ("at", "change", "words"),
        [
            (0, {"low": 20.0}, "its training rows have values in column 'age' that no training row is said to hold"),
            (0, {"low": 99.0}, "column 'age' is said to have held what it cannot hold"),
            (2, {"held": [0]}, "its training rows have values in column 'housing' that no"),
            (2, {"held": [3]}, "column 'housing' is said to have held what it cannot hold"),
            (2, {"low": 1.0, "high": 2.0}, "column 'housing' is said to have held what it cannot hold"),
            (6, {"has_missing": False}, "its training rows have values in column 'bonus' that no"),
            (0, {"low": None}, "a range"),
            (0, {"has_missing": 1}, "has_missing is 1, neither true nor false"),
        ],
    )
    def test_a_forged_file_is_refused(self, tmp_path, at, change, words):
        from nicecf import FileError

        NICELY.save(tmp_path / "one.nice")
        manifest, members = archive.read(tmp_path / "one.nice", by="x")
        manifest["table"]["seen"][at] |= change
        archive.write(tmp_path / "one.nice", manifest, members, by="x")
        with pytest.raises(FileError, match=words):
            NICE.load(tmp_path / "one.nice", model=model)


class TestShown:
    ROWS = TestBatches.ROWS
    LINE = (
        "3 of 4 rows have values that training never saw: 2 outside the range (age 2), 3 unseen categories (job 2, "
        "housing 1)"
    )

    def test_the_summary(self):
        summary = NICELY.explain(self.ROWS).summary()
        assert summary.unseen_note == self.LINE
        assert f"\n\n{self.LINE}." in repr(summary)
        assert self.LINE in summary._repr_html_()
        assert summary.n_unseen == 3
        assert summary.unseen.to_dict("list") == {
            "feature": ["age", "job", "housing"],
            "kind": ["outside", "category", "category"],
            "rows": [2, 2, 1],
        }

    def test_a_summary_without_any(self):
        summary = NICELY.explain(TRAIN[:5]).summary()
        assert (summary.unseen_note, summary.n_unseen, len(summary.unseen)) == (None, 0, 0)
        assert list(summary.unseen) == ["feature", "kind", "rows"]
        assert "never saw" not in repr(summary)
        assert NICELY.explain(TRAIN[:0]).summary().n_unseen == 0

    def test_the_summary_names_three_features_of_a_kind(self):
        train = RNG.random((20, 5))
        nice = NICE(lambda X: np.tile([0.4, 0.6], (len(X), 1)), classes=[0, 1], justified=False).fit(train)
        line = nice.explain(np.full((1, 5), 2.0)).summary().unseen_note
        assert line == (
            "1 of 1 row has values that training never saw: 5 outside the range (x0 1, x1 1, x2 1, and 2 more)"
        )

    def test_each_row_counts_once(self):
        cfs = NICELY.explain(self.ROWS, n_counterfactuals=3)
        assert len(cfs) >= 4
        assert cfs.summary().unseen_note == self.LINE

    def test_one_explanation_and_many(self):
        cfs = NICELY.explain(self.ROWS)
        words = "'age' is 93, outside the 18 to 90 of the training rows"
        assert f"({words})" in repr(cfs[0])
        assert "is 93, outside the 18 to 90" in cfs[0]._repr_html_()
        assert f"note: {words}" in cfs[0].text("analyst")
        assert "3 rows have notes: cfs.notes" in repr(cfs)
        assert cfs[0].to_record()["note"] == words
        named = cfs[0].text("analyst", wording=Wording(names={"age": "years"}))
        assert "note: years is 93, outside the 18 to 90" in named

    def test_the_report(self):
        bound = NICELY.explain(self.ROWS, constraints=Constraints(immutable=["age"]))
        assert not bound.found.any()
        for cfs in (NICELY.explain(self.ROWS), bound):
            page = cfs.to_html()
            assert "<h2>Values that training never saw</h2>" in page
            assert self.LINE in page
            assert "is 93, outside the 18 to 90 of the training rows)</p>" in page
        assert "never saw" not in NICELY.explain(TRAIN[:5]).to_html()

    def test_the_command_line(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "by_age.py").write_text(
            "import numpy as np\n\n\ndef model(X):\n    age = X['age'].to_numpy(dtype=float)\n"
            "    return np.column_stack([~(age > 50), age > 50]).astype(float)\n"
        )
        TRAIN.assign(decision=LABELS).drop(columns="member").to_csv("train.csv", index=False)
        self.ROWS.drop(columns="member").to_csv("new.csv", index=False)
        fit = ["fit", "--train", "train.csv", "--label", "decision", "--model", "by_age:model", "--out", "one.nice"]
        assert main(fit) == 0
        capsys.readouterr()
        assert main(["explain", "one.nice", "new.csv", "--model", "by_age:model", "--out", "out.csv"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert f"unseen {self.LINE} written" in told
        assert "notes 3; the first: 'age' is 93, outside the 18 to 90 of the training rows unseen" in told
        assert pd.read_csv("out.csv")["note"][0] == "'age' is 93, outside the 18 to 90 of the training rows"
        assert main(["show", "out.csv", "0"]) == 0
        assert "('age' is 93, outside the 18 to 90 of the training rows)" in capsys.readouterr().out


def test_a_record_of_before_replays(tmp_path):
    from nicecf.results.records import digest_of

    record = NICELY.explain(row(age=93))[0].to_record()
    assert replay(record, NICELY).is_same
    old = {name: value for name, value in record.items() if name != "digest"} | {"note": None}
    again = replay({**old, "digest": digest_of(old)}, NICELY)
    assert again.is_same
    assert again.notes == ("values that training never saw are noted now, and were not when the record was made",)
    wrong = old | {"note": "something else"}
    assert not replay({**wrong, "digest": digest_of(wrong)}, NICELY).is_same


def test_the_contract_of_the_applicants():
    X, y = applicants()
    assert not any(NICE(Scorecard()).fit(X, y).explain(X).notes)


def dummies(n_rows=120, *, dtype=float, drop_first=False):
    color = pd.Series(np.tile(["red", "green", "blue", "grey"], n_rows // 4), name="color")
    table = pd.get_dummies(color.to_frame(), drop_first=drop_first, dtype=dtype)
    return table.assign(age=np.arange(n_rows, dtype=float))


AUTO = Constraints(groups="auto")


def of_groups(X, rules=AUTO, **options):
    says = lambda X: np.column_stack([X["age"] < 50, X["age"] >= 50]).astype(float)
    return NICE(says, classes=["no", "yes"], justified=False, constraints=rules, **options).fit(X)


def with_on(X, *on):
    return X[:1].assign(**{name: pd.Series([name in on]).astype(X[name].dtype) for name in X.columns[:-1]})


class TestOneHotGroups:
    @pytest.mark.parametrize("dtype", [float, bool, "Int64"])
    @pytest.mark.parametrize(
        "rules",
        [AUTO, Constraints(immutable=list(dummies().columns[:-1]))],
        ids=["auto", "fixed"],
    )
    def test_several_or_none_of_a_group_are_noted(self, dtype, rules):
        X = dummies(dtype=dtype)
        nice = of_groups(X, rules)
        assert nice.explain(X).notes.tolist() == [None] * len(X)
        cfs = nice.explain(with_on(X, "color_red", "color_blue", "color_grey"))
        assert cfs.notes[0] == (
            "3 columns of a one-hot group are 1 ('color_blue', 'color_grey' and 'color_red'), of which no training row has "
            "more than one"
        )
        assert cfs.note_kinds[0] == ("one_hot",)
        assert cfs.found[0]
        none = nice.explain(with_on(X))
        assert none.notes[0] == (
            "none of the 4 columns from 'color_blue' to 'color_red' is 1, of which every training row has one"
        )
        german = Voice(shipped("de"))(none.batch.notes[0][0])
        assert german == (
            "von den 4 Spalten von 'color_blue' bis 'color_red' ist keine 1, in jeder Trainingszeile aber eine"
        )

    def test_none_of_a_group_is_nothing_new_where_the_first_category_was_left_out(self):
        X = dummies(drop_first=True)
        nice = of_groups(X)
        assert nice.explain(with_on(X)).notes[0] is None
        assert "2 columns of a one-hot group are 1" in nice.explain(with_on(X, "color_red", "color_grey")).notes[0]

    def test_what_is_missing_is_noted_as_missing_alone(self):
        X = dummies()
        row = with_on(X).assign(color_red=np.nan)
        assert of_groups(X).explain(row).notes[0] == "'color_red' is missing, as in no training row"

    def test_under_min_count_nothing_is_told_of_groups(self):
        X = dummies()
        assert of_groups(X, min_count=2).explain(with_on(X)).notes[0] is None

    def test_a_saved_explainer_notes_the_same_and_a_record_is_replayed(self, tmp_path):
        X = dummies(dtype=bool)
        nice = of_groups(X)
        nice.save(tmp_path / "one.nice")
        loaded = NICE.load(tmp_path / "one.nice", model=nice.model)
        row = with_on(X, "color_red", "color_grey")
        assert loaded.explain(row).notes[0] == nice.explain(row).notes[0] is not None
        assert replay(nice.explain(row)[0].to_record(), loaded).is_same

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"columns": [0, 1]}, "a one-hot group has the columns"),
            ({"columns": [0, 1, 2, 9]}, r"a one-hot group has the columns \[0, 1, 2, 9\], which are none of its table"),
            ({"on": [0, 0, 0, 0]}, "its training rows have several columns of a one-hot group on, or none"),
            ({"has_none": 1}, "has_none is 1, neither true nor false"),
        ],
    )
    def test_a_forged_group_is_refused(self, tmp_path, change, words):
        from nicecf import FileError

        nice = of_groups(dummies())
        nice.save(tmp_path / "one.nice")
        manifest, members = archive.read(tmp_path / "one.nice", by="x")
        manifest["table"]["one_hot"][0] |= change
        archive.write(tmp_path / "one.nice", manifest, members, by="x")
        with pytest.raises(FileError, match=words):
            NICE.load(tmp_path / "one.nice", model=nice.model)
