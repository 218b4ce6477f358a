"""Ordered categories by rank: the distance and the donors, against plain loops of their own."""

import numpy as np
import pandas as pd
import pytest

from markers import deep
from nicecf import NICE
from nicecf.metrics import Reference, proximity

LEVELS = ["none", "school", "college", "university"]
COLORS = ["red", "green", "blue"]


def drawn(seed, n_rows=60):
    """A random table with two ordered columns, numbers, a category and missing values, and ties."""
    random = np.random.default_rng(seed)

    def some(values, share):
        return [None if random.random() < share else values[at] for at in random.integers(0, len(values), n_rows)]

    return pd.DataFrame(
        {
            "education": pd.Categorical(some(LEVELS[:3], 0.1), LEVELS, ordered=True),  # the last one is never held
            "income": [np.nan if one is None else one for one in some([0.5, 1.0, 2.5, 4.0], 0.1)],
            "color": pd.Categorical(some(COLORS, 0.1), COLORS),
            "grade": pd.Categorical(some([1, 2, 3], 0.0), [1, 2, 3], ordered=True),
            "same": pd.Categorical(["x"] * n_rows, ["x"], ordered=True),
        }
    )


def part(a, b, column, training, scale):
    """What one feature adds, by plain loops."""
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    if column in ("education", "grade"):
        order = LEVELS if column == "education" else [1, 2, 3]
        return abs(order.index(a) - order.index(b)) / (len(order) - 1)
    if column in ("color", "same"):
        return 0.0 if a == b else 1.0
    present = [one for one in training if one is not None]
    spread = max(present) - min(present) if scale == "range" else float(np.std(present))
    return abs(a - b) / spread


def cells(frame):
    return [[None if pd.isna(one) else one for one in frame[name]] for name in frame]


def by_hand(one, other, training, weights, scale):
    columns = zip(training.columns, cells(training), one, other, weights, strict=True)
    return sum(weight * part(a, b, name, held, scale) for name, held, a, b, weight in columns)


def model(X):
    """Several classes, from everything in the row: a function of the cells."""
    points = X["education"].cat.codes.to_numpy() * 1.0 + X["grade"].cat.codes.to_numpy() - 1.7
    points = points + np.nan_to_num(X["income"].to_numpy(dtype=float), nan=0.2) * 0.7
    points = points - (X["color"].cat.codes.to_numpy() == 1)
    yes = 1 / (1 + np.exp(-points))
    return np.column_stack([1 - yes, yes])


WEIGHTS = {"education": 3.0, "color": 0.5}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("scale", ["range", "std"])
@pytest.mark.parametrize("seed", [0, *deep(1, 2, 3)])
def test_distances_and_donors_are_those_of_plain_loops(seed, scale, weights):
    X, rows = drawn(seed), drawn(seed + 100, 25)
    y = model(X).argmax(axis=1)
    nice = NICE(model, optimize="none", scale=scale, feature_weights=weights).fit(X, y)
    cfs = nice.explain(rows)
    of = [(weights or {}).get(name, 1.0) for name in X]
    training, asked = list(zip(*cells(X), strict=True)), list(zip(*cells(rows), strict=True))
    decided = model(rows).argmax(axis=1)
    for i, row in enumerate(asked):
        distances = [
            by_hand(row, donor, X, of, scale) if y[at] != decided[i] else np.inf for at, donor in enumerate(training)
        ]
        nearest = int(np.argmin(np.round(distances, 9)))
        assert int(cfs.donors[i]) == nearest
        assert cfs.metrics()["proximity"].iloc[i] == pytest.approx(distances[nearest])


@pytest.mark.parametrize("optimize", ["sparsity", "proximity"])
@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_answers_are_valid_and_measured_by_rank(search, optimize):
    X, rows = drawn(7, 150), drawn(8, 40)
    y = model(X).argmax(axis=1)
    cfs = NICE(model, optimize=optimize, search=search).fit(X, y).explain(rows)
    found = cfs.to_frame()
    assert cfs.found.all()
    assert (model(found).argmax(axis=1) != model(rows).argmax(axis=1)).all()
    assert (found.dtypes == rows.dtypes).all()
    training, before, after = X, list(zip(*cells(rows), strict=True)), list(zip(*cells(found), strict=True))
    expected = [by_hand(a, b, training, [1.0] * 5, "range") for a, b in zip(before, after, strict=True)]
    assert cfs.metrics()["proximity"].to_numpy() == pytest.approx(expected)
    assert proximity(rows, found, Reference.of(X)) == pytest.approx(expected)
    assert (proximity(rows, found, Reference.of(X, ordinal="overlap")) > np.array(expected) + 0.1).any()


def test_one_step_is_nearer_than_three_and_by_overlap_they_are_the_same():
    X = pd.DataFrame({"education": pd.Categorical(["university", "school", "none"], LEVELS, ordered=True), "n": 0.0})
    says = lambda X: np.eye(2)[(X["education"] != "none").to_numpy().astype(int)]
    for ordinal, donor, distance in (("rank", 1, 1 / 3), ("overlap", 0, 1.0)):
        cfs = NICE(says, optimize="none", ordinal=ordinal).fit(X, [1, 1, 0]).explain(X.iloc[[2]])
        assert cfs.donors[0] == donor
        assert cfs.metrics()["proximity"].iloc[0] == pytest.approx(distance)


def test_the_option_has_two_values():
    from nicecf import OptionError

    with pytest.raises(OptionError, match="ordinal='ranks' is not known; choose .* Did you mean 'rank'?"):
        NICE(model, ordinal="ranks")
    with pytest.raises(OptionError, match="ordinal=None is not known"):
        Reference.of(drawn(0), ordinal=None)
