"""The thorough search: as good as looking at every hybrid, never worse than the paper, and honest about its limits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

import best
import paper
from markers import deep
from nicecf import NICE, Constraints, ModelError, OptionError, rewards, testing
from nicecf.explain import search_options
from nicecf.models.classifier import Classifier
from nicecf.models.decision import Member, Panel, Rule
from nicecf.models.scorer import Cost, Scorer
from nicecf.search import row_search, single_changes
from nicecf.search.distance import Heom
from nicecf.search.front import unlike
from nicecf.search.lattice import Lattices
from nicecf.search.lock_step import in_lock_step
from nicecf.search.row_search import RowSearch, RowTask
from nicecf.search.thorough import Thorough
from strategies import as_lists, fewer, problems

OWN = {"sparsity": 0, "proximity": 1, "plausibility": 2}


def explained(p, optimize, k, **options):
    nice = p.nice(optimize, search="thorough", mix_donors=False, neighbors=k).fit(p.frame(p.rows), p.labels)
    return nice.explain(p.frame(p.to_explain), target_class=p.target, **options)


def every_hybrid(p, row, k):
    positions = best.donors(
        row, p.rows, p.labels, p.classes, p.model.probabilities, p.is_categorical, p.target, p.scale, p.justified, k
    )
    return best.valid_hybrids(
        row, positions, p.rows, p.classes, p.model.probabilities, p.is_categorical, p.target, p.scale, p.error.of
    )


def by_the_paper(p, row, optimize):
    """Changes, distance and error of the paper's answer; None if it has none or the row is in the target."""
    answer = paper.explain(
        row, p.rows, p.labels, p.classes, p.model.probabilities, p.is_categorical, p.target, optimize, p.scale,
        p.justified, p.error.of,
    )  # fmt: skip
    if answer is None or not answer[2]:
        return None
    scales = paper.scales_of(p.rows, p.is_categorical, p.scale)
    return len(answer[2]), paper.heom(row, answer[0], scales), p.error.of(answer[0])


def measures(cfs):
    table = cfs.metrics()[["sparsity", "proximity", "plausibility"]]
    return [(int(changes), distance, error) for changes, distance, error in table.itertuples(index=False)]


def in_order(measures, optimize):
    changes, distance, error = measures
    return {
        "sparsity": (changes, distance, error),
        "proximity": (distance, changes, error),
        "plausibility": (error, changes, distance),
    }[optimize]


@pytest.mark.parametrize("optimize", ["sparsity", "proximity", "plausibility"])
@given(p=problems(n_to_explain=st.integers(1, 3)), k=st.sampled_from([1, 2, 5, 50]))
def test_the_answer_is_the_best_of_every_hybrid(optimize, p, k):
    assume(p.scale == "range")  # exact sums: a tie is a tie
    cfs = explained(p, optimize, k)
    for i, row in enumerate(p.to_explain):
        one = cfs[i]
        if by_the_paper(p, row, "none") is None:
            assert not one.found or not one.changes
            continue
        hybrids = every_hybrid(p, row, k)
        assert in_order(measures(cfs[i : i + 1])[0], optimize) == min(in_order(h[:3], optimize) for h in hybrids)
        assert as_lists(one.to_frame())[0] in [h[4] for h in hybrids]


@given(p=problems(n_to_explain=st.integers(1, 3)), k=st.sampled_from([1, 3, 50]))
def test_the_pareto_set_is_the_front_of_every_hybrid(p, k):
    assume(p.scale == "range")
    cfs = explained(p, "sparsity", k)
    front = cfs.pareto()
    for i, row in enumerate(p.to_explain):
        mine = front[front.rows == i]
        if by_the_paper(p, row, "none") is None:
            assert len(mine) == 1
            continue
        assert len(mine) == len(set(measures(mine)))
        assert set(measures(mine)) == best.front([h[:3] for h in every_hybrid(p, row, k)])
        assert all(values in [h[4] for h in every_hybrid(p, row, k)] for values in as_lists(mine.to_frame()))


@given(p=problems(n_to_explain=st.integers(1, 3)), k=st.sampled_from([1, 3, 50]))
def test_balanced_is_no_worse_than_the_papers_sparsity_in_anything(p, k):
    assume(p.scale == "range")
    cfs = explained(p, "balanced", k)
    for i, row in enumerate(p.to_explain):
        reference = by_the_paper(p, row, "sparsity")
        if reference is None:
            continue
        mine = measures(cfs[i : i + 1])[0]
        assert best.no_worse(mine, reference)
        dominated = [h[:3] for h in every_hybrid(p, row, k) if best.no_worse(h[:3], mine) and h[:3] != mine]
        assert not dominated


@pytest.mark.parametrize("limits", [(1, 4096, 1500, 1500), (8, 1, 10, 10), (4, 4, 0, 50), (1, 2, 50, 0)])
@given(p=problems(n_to_explain=st.integers(1, 3)), optimize=st.sampled_from(sorted(OWN)))
@fewer(0.5)
def test_where_lattices_are_too_large_it_is_valid_and_never_worse_than_the_paper(limits, optimize, p):
    assume(p.scale == "range")
    names = ("WHOLE_LATTICES", "FIRST_STEPS", "IN_BEAM", "AROUND")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(names, limits, strict=True):
            patch.setattr(row_search, name, value)
        cfs = explained(p, optimize, 5)
    for i, row in enumerate(p.to_explain):
        reference = by_the_paper(p, row, optimize)
        if reference is None:
            continue
        mine = measures(cfs[i : i + 1])[0]
        assert mine[OWN[optimize]] <= reference[OWN[optimize]]
        assert mine in [h[:3] for h in every_hybrid(p, row, 5)]


@given(p=problems(n_to_explain=st.integers(1, 2)), n=st.integers(2, 4), optimize=st.sampled_from(sorted(OWN)))
def test_several_counterfactuals_change_unlike_features(p, n, optimize):
    assume(p.scale == "range")
    cfs = explained(p, optimize, 50, n_counterfactuals=n)
    for i, row in enumerate(p.to_explain):
        mine = cfs[cfs.rows == i]
        if by_the_paper(p, row, "none") is None:
            assert len(mine) == 1
            continue
        features = [tuple(p.names.index(c.feature) for c in one.changes) for one in mine]
        assert all(best.are_unlike(a, b) for k, a in enumerate(features) for b in features[:k])
        valid = [h[4] for h in every_hybrid(p, row, 50)]
        assert all(values in valid for values in as_lists(mine.to_frame()))
        order = [in_order(m, optimize) for m in measures(mine)]
        assert order == sorted(order)
        assert order[0] == min(in_order(h[:3], optimize) for h in every_hybrid(p, row, 50))
        # No better one was left out at any place, and none at all where fewer came back than were asked for.
        others = best.alternatives(every_hybrid(p, row, 50))
        for place in range(len(mine), n)[:1]:
            assert not [h for h in others if all(best.are_unlike(h[3], f) for f in features)], place
        for place, reached in enumerate(order):
            rivals = [h for h in others if all(best.are_unlike(h[3], f) for f in features[:place])]
            assert reached <= min(in_order(h[:3], optimize) for h in rivals)
        assert (len(mine) < n) == any("counterfactuals: no more" in (note or "") for note in mine.notes)


def noisy_table(n_rows=300, n_features=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).round(1)
    return X, (X @ np.linspace(1, 0.2, n_features) > 0).astype(int)


def linear(X):
    p = 1 / (1 + np.exp(-(X @ np.linspace(1, 0.2, X.shape[1]))))
    return np.column_stack([1 - p, p])


def spread(X):
    return np.abs(X).sum(axis=1)


def test_large_lattices_are_searched_and_what_is_told_of_the_search_says_so():
    X, y = noisy_table()
    options = {"plausibility": spread, "categorical_features": []}
    greedy = NICE(linear, search="greedy", **options).fit(X, y).explain(X[:20])
    thorough = NICE(linear, search="thorough", mix_donors=False, **options).fit(X, y).explain(X[:20])
    assert (thorough.metrics()["sparsity"] <= greedy.metrics()["sparsity"]).all()
    assert thorough.metrics()["sparsity"].sum() < greedy.metrics()["sparsity"].sum()
    assert all("beam and local search: for" in said for said in thorough.search)
    assert thorough.notes.tolist() == greedy.notes.tolist() == greedy.search.tolist() == [None] * 20
    assert "notes" not in repr(thorough)


def test_a_batch_asks_about_as_often_as_its_longest_search():
    X, y = noisy_table(n_features=6)
    nice = NICE(linear, search="thorough", mix_donors=False, plausibility=spread).fit(X, y)
    calls = [nice.explain(X[[i]]).model_calls for i in range(20)]
    assert nice.explain(X[:20]).model_calls <= 2 * max(calls) < sum(calls)


def test_each_distinct_row_is_asked_for_once():
    asked = []

    def model(X):
        asked.extend(map(bytes, X))
        return linear(X)

    X, y = noisy_table(n_features=6)
    nice = NICE(model, search="thorough", mix_donors=False, plausibility=spread).fit(X, y)
    asked.clear()
    cfs = nice.explain(X[:5])
    assert len(asked) == len(set(asked)) == cfs.model_rows


def test_fewer_donors_than_neighbors_is_said():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    model = lambda X: np.column_stack([X[:, 0] <= 0.5, X[:, 0] > 0.5]).astype(float)
    cfs = (
        NICE(model, search="thorough", mix_donors=False, neighbors=5, plausibility=spread)
        .fit(X, [0, 1, 1])
        .explain(X[:1])
    )
    assert cfs.search[0] == "2 of 5 neighbors: there are no more donors"
    assert cfs[0].search == cfs.search[0]
    assert cfs[0].note is None
    assert "neighbors" not in repr(cfs[0]) + cfs[0]._repr_html_()


def test_the_default_number_of_neighbors_says_nothing_about_small_tables():
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    model = lambda X: np.column_stack([X[:, 0] <= 0.5, X[:, 0] > 0.5]).astype(float)
    cfs = NICE(model, search="thorough", mix_donors=False, plausibility=spread).fit(X, [0, 1]).explain(X[:1])
    assert cfs.notes[0] is None


def test_steps_are_in_the_order_of_a_greedy_walk():
    X, y = noisy_table(n_features=5)
    cfs = (
        NICE(linear, search="thorough", mix_donors=False, optimize="plausibility", plausibility=spread)
        .fit(X, y)
        .explain(X[:30])
    )
    changes = cfs.changes()
    several = changes[changes["row"].isin(changes["row"].value_counts().loc[lambda n: n > 1].index)]
    assert len(several)
    for label, steps in several.groupby("row"):
        assert steps["step"].tolist() == list(range(1, len(steps) + 1))
        row = X[int(label)].copy()
        for feature, after, probability in steps[["feature", "after", "probability"]].itertuples(index=False):
            row[int(feature[1:])] = after
            assert probability == pytest.approx(
                linear(row[None])[0].max() if probability > 0.5 else linear(row[None])[0].min()
            )


def test_results_with_several_counterfactuals_keep_their_rows():
    X, y = noisy_table(n_features=6)
    frame = pd.DataFrame(X, columns=list("abcdef"), index=[f"r{i}" for i in range(len(X))])
    model = lambda X: linear(X.to_numpy())
    nice = NICE(model, search="thorough", mix_donors=False, plausibility=lambda X: spread(X.to_numpy())).fit(frame, y)
    cfs = nice.explain(frame.iloc[:4], n_counterfactuals=3)
    assert cfs.rows.tolist() == sorted(cfs.rows.tolist())
    assert cfs.to_frame().index.tolist() == [f"r{i}" for i in cfs.rows]
    assert cfs.changes().columns[:2].tolist() == ["row", "counterfactual"]
    assert cfs.metrics()["counterfactual"].tolist() == [
        int((cfs.rows[:i] == row).sum()) for i, row in enumerate(cfs.rows)
    ]
    assert f"4 rows, 4 found (100.0%), {len(cfs)} counterfactuals" in repr(cfs)
    assert (model(cfs.to_frame()).argmax(axis=1) != model(frame.iloc[cfs.rows]).argmax(axis=1)).all()
    front = cfs[cfs.rows == 2].pareto()
    assert set(front.rows.tolist()) == {2}
    assert set(front.to_frame().index) == {"r2"}
    assert len(front) == (cfs.pareto().rows == 2).sum()


def test_rows_without_a_counterfactual_keep_one_place():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    model = lambda X: np.column_stack([X[:, 0] <= 0.5, X[:, 0] > 0.5, np.zeros(len(X))]).astype(float)
    nice = NICE(model, search="thorough", mix_donors=False, plausibility=spread, classes=["no", "yes", "never"]).fit(
        X, ["no", "yes", "no"]
    )
    cfs = nice.explain(X, target_class=np.array(["yes", "yes", "never"]), n_counterfactuals=2)
    assert cfs.rows.tolist() == [0, 1, 2]
    assert cfs.found.tolist() == [True, True, False]
    assert "never" in cfs.reasons[2]
    assert cfs.pareto().found.tolist() == [True, True, False]
    assert cfs.pareto().to_numpy()[2].tolist() != cfs.pareto().to_numpy()[1].tolist()
    assert [len(one.changes) for one in cfs.pareto()] == [1, 0, 0]


def test_pareto_needs_the_thorough_search():
    X, y = noisy_table()
    with pytest.raises(OptionError, match=r"pareto\(\) needs .* use NICE\(..., search='thorough'\)"):
        NICE(linear, search="greedy").fit(X, y).explain(X[:1]).pareto()


@pytest.mark.parametrize("scale", [1.0, 1e40, 1e-50])
@pytest.mark.parametrize("offset", [0.0, 1e9, -1e3])
def test_errors_of_any_size_are_compared_as_they_are(scale, offset):
    X, y = noisy_table(n_features=5)
    error = lambda X: scale * (offset + spread(X))
    options = {"optimize": "plausibility", "plausibility": error}
    greedy = NICE(linear, search="greedy", **options).fit(X, y).explain(X[:12]).metrics()["plausibility"]
    thorough = NICE(linear, search="thorough", mix_donors=False, **options).fit(X, y).explain(X[:12])
    assert len(thorough) == 12
    assert (thorough.metrics()["plausibility"] <= greedy).all()


def test_balanced_with_negative_errors():
    X, y = noisy_table(n_features=5)
    error = lambda X: -10 + X[:, 2] + np.abs(X[:, 3])
    greedy = NICE(linear, search="greedy", plausibility=error).fit(X, y).explain(X[:60]).metrics()
    options = {"search": "thorough", "optimize": "balanced", "plausibility": error}
    balanced = NICE(linear, **options).fit(X, y).explain(X[:60]).metrics()
    for measure in ("sparsity", "proximity", "plausibility"):
        assert (balanced[measure] <= greedy[measure]).all()


def test_a_row_far_outside_keeps_the_papers_answer_or_better():
    X, y = noisy_table(n_features=4)
    row = X[[0]].copy()
    row[0, 3] = 1e25
    greedy = NICE(linear, search="greedy").fit(X, y).explain(row)
    thorough = NICE(linear, search="thorough", mix_donors=False, neighbors=5).fit(X, y).explain(row)
    assert thorough.metrics()["sparsity"][0] <= greedy.metrics()["sparsity"][0]


def test_more_neighbors_than_memory_could_hold():
    X, y = noisy_table(n_rows=50, n_features=3)
    cfs = (
        NICE(linear, search="thorough", mix_donors=False, neighbors=10**12, plausibility=spread)
        .fit(X, y)
        .explain(X[:2])
    )
    assert all("neighbors: there are no more donors" in said for said in cfs.search)


@pytest.mark.deep
def test_wide_tables_stay_within_memory():
    X, y = noisy_table(n_rows=60, n_features=300)
    cfs = (
        NICE(linear, search="thorough", mix_donors=False, optimize="plausibility", plausibility=spread)
        .fit(X, y)
        .explain(X[:2])
    )
    assert cfs.found.all()


def test_a_model_that_contradicts_itself_is_noticed():
    seen = []

    def fickle(X):
        seen.append(len(X))
        p = np.full(len(X), 0.9 if len(seen) < 3 else 0.1)  # another answer once it was fitted
        p[X[:, 0] == 0] = 0.1
        return np.column_stack([1 - p, p])

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    nice = NICE(fickle, search="thorough", mix_donors=False, plausibility=spread, classes=[0, 1]).fit(X, [0, 0, 1, 1])
    with pytest.raises(ModelError, match="the model is not the one that fit saw"):
        nice.explain(np.array([[1.0, 1.0]]))


def table_with_a_far_donor():
    """All near donors are two changes away; one value of a donor far beyond them would do alone."""
    near = np.column_stack([np.ones(150), np.ones(150), np.linspace(0, 1, 150)])
    return np.vstack([np.zeros((20, 3)), near, [[9.0, 9.0, 10.0]]]), np.r_[np.zeros(20), np.ones(151)].astype(int)


def two_or_one(X):
    is_yes = ((X[:, 0] >= 1) & (X[:, 1] >= 1)) | (X[:, 2] >= 10)
    return np.column_stack([~is_yes, is_yes]).astype(float)


def test_single_changes_are_looked_for_among_all_donors_unless_neighbors_are_named():
    X, y = table_with_a_far_donor()
    row = np.zeros((1, 3))
    for neighbors, changes, donor in ((100, 2, 20), (None, 1, 170)):
        cfs = (
            NICE(two_or_one, search="thorough", mix_donors=False, neighbors=neighbors, plausibility=spread)
            .fit(X, y)
            .explain(row)
        )
        assert cfs.metrics()["sparsity"].tolist() == [changes]
        assert cfs[0].donor == donor


@given(problems(), st.sampled_from([1, 20, 1000]))
def test_donor_values_are_those_of_the_donors_in_the_target(p, most):
    fitted = p.nice("sparsity", search="thorough", mix_donors=False).fit(p.frame(p.rows), p.labels)._fitted
    row, _ = fitted.schema.encode(p.frame(p.to_explain))
    donors = fitted.neighborhood.donors
    wanted = np.arange(len(p.classes)) % 2 == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(single_changes, "MOST_VALUES", most)
        places, features = donors.distinct.towards(row[0], wanted)
    cells = donors.index.values[places, features]
    assert wanted[donors.index.group(places)].all()
    of_each_class = [
        {
            (c, j, str(value))
            for j in range(row.shape[1])
            for value in donors.index.values[donors.index.group(np.arange(len(donors.index.values))) == c, j]
        }
        for c in np.flatnonzero(wanted)
    ]
    looked_at = {(c, j, str(value)) for c, j, value in zip(donors.index.group(places), features, cells, strict=True)}
    every = set().union(*of_each_class)
    assert looked_at <= every
    if most >= 5 * 6 * 5 * 2:
        assert looked_at == every
    assert len(looked_at) == len(places)


def only_around(patch):
    """Nothing is left of the search but single changes and looking around what is known."""
    for name, value in (("WHOLE_LATTICES", 1), ("IN_BEAM", 0)):
        patch.setattr(row_search, name, value)


def by_set(table):
    """A model that looks at which of the features a, b and c are not zero."""

    def model(X):
        p = np.array([table["".join(n for n, value in zip("abc", row, strict=True) if value)] for row in X])
        return np.column_stack([1 - p, p])

    return model


ODDS = {"": 0.05, "a": 0.4, "b": 0.1, "c": 0.1}


def test_changes_that_are_not_needed_are_taken_back(monkeypatch):
    model = by_set({**ODDS, "ab": 0.45, "ac": 0.42, "bc": 0.6, "abc": 0.9})
    X = np.array([[0.0, 0, 0], [1, 1, 1]])
    greedy = NICE(model, search="greedy", plausibility=spread).fit(X, [0, 1]).explain(X[:1])
    assert [c.feature for c in greedy[0].changes] == ["x0", "x1", "x2"]
    only_around(monkeypatch)
    cfs = (
        NICE(model, search="thorough", mix_donors=False, neighbors=1, plausibility=spread).fit(X, [0, 1]).explain(X[:1])
    )
    assert sorted(c.feature for c in cfs[0].changes) == ["x1", "x2"]


def test_a_swap_is_exchanged_for_a_shorter_one(monkeypatch):
    model = by_set({**ODDS, "ab": 0.9, "ac": 0.51, "bc": 0.1, "abc": 0.95})
    X = np.array([[0.0, 0, 0], [1, 1, 0.3], [0, 0, 1]])
    labels = [0, 1, 0]
    options = {"plausibility": lambda X: np.ones(len(X))}
    greedy = NICE(model, search="greedy", optimize="proximity", **options).fit(X, labels).explain(X[:1])
    assert sorted(c.feature for c in greedy[0].changes) == ["x0", "x1"]
    only_around(monkeypatch)
    cfs = NICE(model, search="thorough", mix_donors=False, neighbors=1, **options).fit(X, labels).explain(X[:1])
    assert sorted(c.feature for c in cfs[0].changes) == ["x0", "x2"]


def test_the_same_features_are_tried_with_the_values_of_other_donors(monkeypatch):
    def model(X):
        is_yes = (X[:, 0] >= 3) & (X[:, 1] >= 3)
        return np.column_stack([~is_yes, is_yes]).astype(float)

    X = np.array([[0.0, 0, 0], [4, 4, 0], [3, 3, 9]])
    only_around(monkeypatch)
    cfs = (
        NICE(model, search="thorough", mix_donors=False, neighbors=2, plausibility=spread)
        .fit(X, [0, 1, 1])
        .explain(X[:1])
    )
    assert cfs.to_numpy().tolist() == [[3.0, 3.0, 0.0]]
    assert cfs[0].donor == 2


def test_a_search_that_had_no_time_to_measure_its_start_has_no_answer():
    row, donors = np.zeros(2), np.ones((1, 2))
    lattices = Lattices(row, donors, Heom(np.ones(2)), n_near=1, width=2)
    start = lattices.ends().scored(np.array([[0.0, 1.0]]))
    panel = Panel((Member(Classifier(linear, np.array([0, 1], dtype=object)), Rule(), np.arange(2), None),))
    task = RowTask(
        lattices,
        start,
        n_asked=1,
        score=-1.0,
        wanted=np.array([False, True]),
        singles=start.take(slice(0, 0)),
        panel=panel,
        accepts=lambda values, outputs: panel.accepts(outputs, np.array([False, True])),
        check=lambda hybrids, outputs: None,
    )
    score = Scorer.of(linear, width=2, cost=Cost(0.0, 0.0))
    (cut,) = in_lock_step([("row", RowSearch(task).run())], score.until(-np.inf), error=spread, at_once=1)
    assert (cut.result, cut.is_cut) == (None, True)
    (ended,) = in_lock_step([("row", RowSearch(task).run())], score, error=spread, at_once=1)
    assert ended.label == "row"
    assert ended.result.is_done
    assert not ended.is_cut


@pytest.mark.parametrize(("optimize", "changed"), [("sparsity", ["x2"]), ("proximity", ["x0", "x1"])])
def test_one_long_change_or_two_short_ones(optimize, changed):
    def model(X):
        is_yes = ((X[:, 0] > 0) & (X[:, 1] > 0)) | (X[:, 2] > 0)
        return np.column_stack([~is_yes, is_yes]).astype(float)

    X = np.array([[0.0, 0, 0], [0.1, 0.1, 1], [-1, -1, 0]])
    nice = NICE(model, search="thorough", mix_donors=False, optimize=optimize, neighbors=1, plausibility=spread).fit(
        X, [0, 1, 0]
    )
    assert sorted(c.feature for c in nice.explain(X[:1])[0].changes) == changed


@pytest.mark.parametrize(("n_features", "decimals"), [(4, 0), (12, 0), *deep((6, 1), (12, 1))])
def test_where_the_best_alone_is_asked_for_it_is_the_same_one_for_fewer_questions(n_features, decimals, monkeypatch):
    random = np.random.default_rng(n_features + decimals)
    X = np.round(random.normal(size=(300, n_features)), decimals) + 0.0
    weights = random.normal(size=n_features)
    model = lambda X: np.column_stack([X @ weights < 0.5, X @ weights >= 0.5]).astype(float)
    n_asked = np.zeros(2)
    for options in ({"optimize": "none"}, {"optimize": "sparsity", "share_donor": False}):
        nice = NICE(model, search="greedy", classes=[0, 1], justified=False, **options).fit(X[60:])
        for most in (1, 2, 3):
            rules = Constraints(max_changes=most, increasing=[0])
            alone = nice.explain(X[:40], constraints=rules)
            with monkeypatch.context() as patched:
                patched.setattr(
                    search_options, "Thorough", lambda *given, wants_front, **more: Thorough(*given, **more)
                )
                by_the_front = clone(nice).fit(X[60:]).explain(X[:40], constraints=rules)
            testing.assert_same(alone, by_the_front)
            assert list(map(str, alone.relaxations)) == list(map(str, by_the_front.relaxations))
            n_asked += alone.model_rows, by_the_front.model_rows
    assert n_asked[0] < n_asked[1]


def noise(n_features, seed):
    """A table of noise, its linear model, and an error that is large far away from whole numbers."""
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(240, n_features)), 1) + 0.0
    weights = random.normal(size=n_features)
    model = lambda X: np.column_stack([X @ weights < 0.5, X @ weights >= 0.5]).astype(float)
    return X, model, lambda X: np.abs(X - np.rint(X)).sum(axis=1)


def assert_first_is(several, alone):
    first = several[np.unique(several.rows, return_index=True)[1]]
    assert np.array_equal(first.batch.after.values, alone.batch.after.values, equal_nan=True)
    assert (first.found.tolist(), list(first.donors)) == (alone.found.tolist(), list(alone.donors))
    assert first.reasons.tolist() == alone.reasons.tolist()


@pytest.mark.parametrize("optimize", [*OWN, "balanced"])
@pytest.mark.parametrize(("n_features", "rules"), [(5, None), (14, None), (8, {"max_changes": 3}), *deep((8, None))])
def test_the_first_of_several_is_the_answer_alone(optimize, n_features, rules):
    X, model, error = noise(n_features, seed=n_features)
    options = {"classes": [0, 1], "justified": False, "search": "thorough", "mix_donors": False, "plausibility": error}
    nice = NICE(model, optimize=optimize, **options).fit(X[40:])
    constraints = None if rules is None else Constraints(**rules)
    rows = X[: 40 // n_features]
    alone = nice.explain(rows, constraints=constraints)
    several = nice.explain(rows, constraints=constraints, n_counterfactuals=3)
    assert len(several) > len(alone)
    assert_first_is(several, alone)


@pytest.mark.parametrize("optimize", [*OWN, "balanced"])
@fewer(0.5)
@given(p=problems(n_to_explain=st.integers(1, 3)))
def test_the_first_of_several_is_the_answer_alone_for_every_problem(optimize, p):
    alone, several = explained(p, optimize, None), explained(p, optimize, None, n_counterfactuals=3)
    assert_first_is(several, alone)


@pytest.mark.deep
def test_an_objective_that_is_added_as_the_page_says_works_in_both_searches(monkeypatch):
    def thrift(round):
        return (round.score - round.previous_score) / (1 + round.distance)

    cost = lambda changes, distances, errors: changes + 2 * distances
    monkeypatch.setitem(rewards.BY_NAME, "thrift", rewards.Objective(thrift, cost))
    X, model, error = noise(6, seed=2)
    options = {"optimize": "thrift", "classes": [0, 1], "justified": False, "plausibility": error}
    walked, by_function = (
        NICE(model, search="greedy", **options | {"optimize": one}).fit(X[20:]).explain(X[:12])
        for one in ("thrift", thrift)
    )
    testing.assert_same(walked, by_function)
    thorough = NICE(model, search="thorough", mix_donors=False, **options).fit(X[20:])
    costs = {}
    for name in ("thrift", *OWN):
        measured = thorough.with_search(optimize=name).explain(X[:12]).metrics()
        costs[name] = measured["sparsity"].to_numpy() + 2 * measured["proximity"].to_numpy()
    assert all((costs["thrift"] <= costs[name]).all() for name in OWN)
    assert any((costs["thrift"] < costs[name]).any() for name in OWN)
    rules = Constraints(max_changes=1)
    for nice in (thorough, NICE(model, **options).fit(X[20:]), NICE(model, search="greedy", **options).fit(X[20:])):
        assert nice.explain(X[:12], constraints=rules).found.any()
    assert_first_is(thorough.explain(X[:5], n_counterfactuals=2), thorough.explain(X[:5]))
    with pytest.raises(OptionError, match="'thrift'"):
        NICE(model, optimize="thrifty")


def test_of_two_that_are_unlike_neither_changes_all_the_features_of_the_other():
    features = [[0], [0, 1, 2, 3], [1, 2], [1, 4], [3, 4]]
    changed = np.array([[j in some for j in range(5)] for some in features])
    # The second has all of the first, the fourth half of the third and as much else: that is unlike enough.
    assert unlike(changed, 5).tolist() == [0, 2, 3, 4]
    assert unlike(changed, 2).tolist() == [0, 2]
