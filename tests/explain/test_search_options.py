"""Which search runs: the one that is named, else the one that goes with the objective."""

import numpy as np
import pytest
from sklearn.base import clone

from nicecf import NICE, NotFittedError, OptionError, replay
from nicecf.explain import saving
from nicecf.explain.saving import archive
from nicecf.explain.search_options import SearchOptions
from nicecf.testing import Scorecard, applicants, assert_same

X, Y = applicants()
ROWS = X[:8]


def by_gain(round):
    return round.score - round.previous_score


def fitted(**options):
    return NICE(Scorecard(), **options).fit(X, Y)


def loaded(nice, path, **functions):
    nice.save(path)
    return NICE.load(path, model=Scorecard(), **functions)


@pytest.mark.parametrize(
    ("optimize", "search"),
    [
        ("sparsity", "thorough"),
        ("proximity", "thorough"),
        ("plausibility", "thorough"),
        ("balanced", "thorough"),
        ("none", "greedy"),
        (by_gain, "greedy"),
    ],
)
def test_the_default_is_thorough_where_counterfactuals_can_be_compared(optimize, search):
    options = {"optimize": optimize, "plausibility": lambda X: X["age"].to_numpy(float)}
    nice = fitted(**options)
    assert nice.search is None
    assert nice.search_ == search
    by_name = fitted(**options, search=search)
    assert_same(nice.explain(ROWS), by_name.explain(ROWS))
    assert (nice.search_, by_name.search_) == (search, search)


def test_it_is_stored_as_given_and_settled_by_fit():
    nice = NICE(Scorecard())
    assert nice.get_params()["search"] is None
    assert "search" not in repr(nice)
    with pytest.raises(NotFittedError):
        _ = nice.search_
    nice.fit(X, Y)
    assert clone(nice).search is None
    nice.set_params(optimize="none")
    with pytest.raises(OptionError, match="^'optimize' was changed after fit"):
        nice.with_search(neighbors=1)
    assert nice.fit(X, Y).search_ == "greedy"
    nice.set_params(search="greedy")
    with pytest.raises(OptionError, match="'search' was changed after fit"):
        nice.with_search(optimize="sparsity")


def test_what_does_not_go_together_by_name_is_still_refused():
    for optimize in ("none", by_gain):
        with pytest.raises(OptionError, match="search='thorough' needs an objective that compares counterfactuals"):
            NICE(Scorecard(), optimize=optimize, search="thorough")
    with pytest.raises(OptionError, match="optimize='balanced' needs search='thorough'"):
        NICE(Scorecard(), optimize="balanced", search="greedy")
    with pytest.raises(OptionError, match="neighbors=5 needs search='thorough'"):
        NICE(Scorecard(), optimize="none", neighbors=5)
    with pytest.raises(OptionError, match="search='best' is not known; choose one of 'greedy', 'thorough'"):
        NICE(Scorecard(), search="best")


def test_a_search_that_nobody_named_goes_with_the_objective():
    nice = fitted(neighbors=5)
    donors = nice.with_search(optimize="none")
    assert (donors.search, donors.search_, donors.neighbors) == (None, "greedy", None)
    assert_same(donors.explain(ROWS), fitted(optimize="none").explain(ROWS))
    back = donors.with_search(optimize="proximity")
    assert (back.search_, back.explain(ROWS).batch.provenance.options["search"]) == ("thorough", "thorough")
    assert_same(back.explain(ROWS), fitted(optimize="proximity").explain(ROWS))
    assert nice.with_search(optimize=by_gain).search_ == "greedy"


def test_a_search_that_was_named_stays():
    by_name = fitted(search="thorough")
    with pytest.raises(OptionError, match="search='thorough' needs an objective"):
        by_name.with_search(optimize="none")
    assert by_name.with_search(optimize="none", search="greedy").search_ == "greedy"
    assert fitted(search="greedy").with_search(optimize="proximity").search_ == "greedy"
    assert fitted().with_search(search="greedy").with_search(optimize="proximity").search_ == "greedy"


@pytest.mark.parametrize(("optimize", "search"), [("sparsity", "thorough"), ("none", "greedy"), (by_gain, "greedy")])
def test_a_file_and_a_record_name_the_search_that_runs(optimize, search, tmp_path):
    nice = fitted(optimize=optimize)
    manifest, _ = saving.taken_apart(nice)
    assert (manifest["options"]["search"], manifest["described"]["search"]) == (search, search)
    again = loaded(nice, tmp_path / "some.nice", **({} if isinstance(optimize, str) else {"optimize": optimize}))
    assert (again.search, again.search_) == (None, search)
    assert again.with_search(optimize="none").search_ == "greedy"
    record = nice.explain(ROWS)[0].to_record()
    assert record["options"]["search"] == search
    assert replay(record, again).is_same


@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_an_older_file_keeps_its_search(search, tmp_path):
    nice = fitted(search=search)
    manifest, members = saving.taken_apart(nice)
    del manifest["search_is_named"]  # every search was, then
    archive.write(tmp_path / "old.nice", {**manifest, "notes": {}}, members, by="0.1.0")
    again = NICE.load(tmp_path / "old.nice", model=Scorecard())
    assert (again.search, again.search_) == (search, search)
    assert_same(again.explain(ROWS), nice.explain(ROWS))


def test_a_file_means_the_same_when_the_default_is_another_one(tmp_path, monkeypatch):
    nice = fitted()
    nice.save(tmp_path / "some.nice")
    monkeypatch.setattr(SearchOptions, "chosen", property(lambda options: options.search or "greedy"))
    assert fitted().search_ == "greedy"
    again = NICE.load(tmp_path / "some.nice", model=Scorecard())
    assert (again.search, again.search_) == ("thorough", "thorough")
    assert_same(again.explain(ROWS), nice.explain(ROWS))


def test_several_counterfactuals_need_no_option():
    assert np.bincount(fitted().explain(ROWS, n_counterfactuals=2).rows).max() == 2
