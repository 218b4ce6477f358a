"""The compiled search gives the donors of the plain one, and those of looking at every one of them, bit by bit."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nicecf.rules.row_rules import Rules
from nicecf.search import sketch
from nicecf.search.distance import Heom
from nicecf.search.neighbors import DonorIndex

# Of the smallest scales and the largest values, distances are infinite; they are searched alike all the same.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
kernel = pytest.importorskip("nicecf.search.kernel", reason="numba is not installed", exc_type=ModuleNotFoundError)


@contextmanager
def compiled(is_on):
    """The compiled search for tables of any size, or for none."""
    with mock.patch.dict(os.environ, {sketch.SWITCH: "1" if is_on else "0"}):
        yield


def found_by(index, rows, wanted, *, is_compiled, k, rules=None):
    """Positions and distances, as bytes: equal to the last bit, or not."""
    with compiled(is_compiled):
        places, distances = index.nearest_many(rows, wanted, k=k, rules=rules)
    positions = np.append(index.positions, -1)[places]
    return positions.tolist(), distances.tobytes()


def brute_force(rows, training, groups, wanted, heom, k):
    """The same, by all distances."""
    positions = np.full((len(rows), k), -1)
    distances = np.full((len(rows), k), np.inf)
    for i, row in enumerate(rows):
        donors = np.flatnonzero((groups >= 0) & wanted[i, groups])
        of_donors = heom.between(np.repeat(row[None], len(donors), axis=0), training[donors])
        nearest = np.lexsort((donors, of_donors))[:k]
        positions[i, : len(nearest)], distances[i, : len(nearest)] = donors[nearest], of_donors[nearest]
    return positions.tolist(), distances.tobytes()


@st.composite
def tables(draw):
    """Training rows and rows that ask: few distinct values, so that distances tie; categories, constants, missing."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, d = draw(st.sampled_from([1, 20, 60, 400])), draw(st.integers(1, 7))
    is_categorical = random.random(d) < draw(st.sampled_from([0.0, 0.4, 1.0]))
    n_values = draw(st.sampled_from([2, 3, 5, 600]))
    values = random.integers(0, n_values, (n + 8, d)).astype(float)
    values[:, ~is_categorical] *= draw(st.sampled_from([1.0, 0.1, 1e6, 5e-324, 1e140]))
    values[:, ~is_categorical] += draw(st.sampled_from([0.0, 1e3, -7.3]))
    share = draw(st.sampled_from([0.0, 0.2, 0.9]))
    missing = random.random(values.shape) < share
    values[missing & ~is_categorical] = np.nan
    values[missing & is_categorical] = -1
    if draw(st.booleans()):
        values[:n, 0] = values[0, 0]
    values[n:][:, ~is_categorical] += draw(st.sampled_from([0.0, 0.25, 50.0, -1e149]))
    weights = draw(st.sampled_from([None, "some", "extreme"]))
    if weights is not None:
        weights = random.choice([0.5, 1.0, 3.7] if weights == "some" else [1e-100, 1.0, 1e100], d)
    heom = Heom.of(values[:n], is_categorical, draw(st.sampled_from(["range", "std"])), weights)
    return values[:n], values[n:], heom


@st.composite
def searches(draw):
    """An index with several groups and levels of boxes, its rows, and what is wanted of each group."""
    training, rows, heom = draw(tables())
    n_groups = draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 100)))
    groups = random.integers(-1, n_groups, len(training))
    wanted = random.random((len(rows), n_groups)) < 0.7
    index = DonorIndex.of(
        training.copy(order="F"), groups, n_groups, heom, leaf_size=draw(st.sampled_from([1, 2, 7, 512]))
    )
    return index, training, groups, rows, wanted


@settings(max_examples=10 * settings.default.max_examples)  # they are quick, and a wrong margin shows rarely
@given(searches(), st.integers(1, 5) | st.just(100))
def test_the_compiled_search_equals_the_plain_one_and_brute_force(search, k):
    index, training, groups, rows, wanted = search
    expected = brute_force(rows, training, groups, wanted, index.distance, k)
    assert found_by(index, rows, wanted, is_compiled=True, k=k) == expected
    assert found_by(index, rows, wanted, is_compiled=False, k=k) == expected


@given(searches(), st.integers(1, 3), st.data())
def test_rules_that_only_fix_features_are_searched_compiled(search, k, data):
    index, _, _, rows, wanted = search
    d = rows.shape[1]
    is_fixed = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    rules = Rules(rows, is_fixed, ((),) * d)
    assert rules.only_fixes
    with mock.patch.object(DonorIndex, "_search", side_effect=AssertionError("not compiled")):
        found = found_by(index, rows, wanted, is_compiled=True, k=k, rules=rules)
    assert found == found_by(index, rows, wanted, is_compiled=False, k=k, rules=rules)


@given(searches())
def test_an_index_with_other_weights_or_groups_or_from_a_pickle_is_searched_alike(search):
    index, _, _, rows, wanted = search
    with compiled(True):
        index.nearest(rows, wanted)
    weighed = index.weighed(Heom(index.distance.scales, np.linspace(0.5, 2.0, rows.shape[1])))
    assert weighed.sketches is index.sketches  # made once for all weights
    again = pickle.loads(pickle.dumps(index))
    assert "of_groups" not in vars(again.sketches)
    assert again.sketches.values is again.values  # the table is not in the file twice
    regrouped, _ = index.regrouped(np.zeros(len(index.values), np.intp), wanted.shape[1])
    for one in (weighed, again, regrouped):
        found = [found_by(one, rows, wanted, is_compiled=is_on, k=2) for is_on in (True, False)]
        assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["uniform", "factors", "mixed"])
def test_larger_tables_are_searched_alike(kind):
    random = np.random.default_rng(0)
    values = random.random((30_100, 12))
    if kind == "factors":
        values = random.normal(size=(30_100, 3)) @ random.normal(size=(3, 12)) + 0.01 * values
    is_categorical = np.zeros(12, bool)
    if kind == "mixed":
        is_categorical[6:] = True
        values[:, 6:] = np.floor(values[:, 6:] ** 2 * [2, 3, 5, 9, 40, 3000])
        values[:, 3] = np.exp(40 * values[:, 3])  # most values of the column are in a corner of their range
        values[random.random(30_100) < 0.1, 4] = np.nan
    training, rows = values[:30_000], values[30_000:]
    groups = random.integers(-1, 2, 30_000)
    index = DonorIndex.of(training.copy(order="F"), groups, 2, Heom.of(training, is_categorical, "range"))
    wanted = random.random((100, 2)) < 0.7
    for k in (1, 10):
        plain = found_by(index, rows, wanted, is_compiled=False, k=k)
        assert found_by(index, rows, wanted, is_compiled=True, k=k) == plain


def test_most_leaves_and_donors_are_never_looked_at(monkeypatch):
    """What makes it fast, counted in the same code run by Python: of 200 leaves a row reads few, of donors very few."""
    random = np.random.default_rng(0)
    centers = random.random((300, 5)) * 100
    training = centers[random.integers(0, 300, 20_000)] + random.random((20_000, 5))
    heom = Heom.of(training, np.zeros(5, bool), "range")
    index = DonorIndex.of(training.copy(order="F"), np.zeros(20_000, np.intp), 1, heom, leaf_size=100)
    assert len(index.leaves[0].starts) > 150
    counts = {"_sum_bytes": 0, "_distance": 0}
    for name in counts:
        function = getattr(kernel, name).py_func

        def counted(*values, name=name, function=function):
            counts[name] += 1
            return function(*values)

        monkeypatch.setattr(kernel, name, counted)
    for name in ("search", "_compare"):
        monkeypatch.setattr(kernel, name, getattr(kernel, name).py_func)
    rows, wanted = centers[:20] + 0.3, np.ones((20, 1), bool)
    assert found_by(index, rows, wanted, is_compiled=True, k=1) == found_by(index, rows, wanted, is_compiled=False, k=1)
    assert 1 <= counts["_sum_bytes"] / 20 < 8
    assert 1 <= counts["_distance"] / 20 < 4


def test_many_threads_may_search_at_once():
    random = np.random.default_rng(0)
    training = random.random((20_000, 6))
    heom = Heom.of(training, np.zeros(6, bool), "range")
    index = DonorIndex.of(training.copy(order="F"), np.zeros(20_000, np.intp), 1, heom)
    batches = random.random((40, 25, 6))

    def found(rows):
        return [array.tobytes() for array in index.nearest_many(rows, np.ones((25, 1), bool), k=3)]

    with compiled(True), ThreadPoolExecutor(4) as threads:
        at_once = list(threads.map(found, batches))
    with compiled(False):
        assert at_once == [found(rows) for rows in batches]


def test_arrays_that_cannot_be_written_are_searched():
    """As they are in a process that shares memory with others."""
    training = np.asfortranarray(np.random.default_rng(0).random((50, 3)))
    index = DonorIndex.of(training, np.zeros(50, np.intp), 1, Heom.of(training, np.zeros(3, bool), "range"))
    rows = np.random.default_rng(1).random((4, 3))
    for array in (index.values, index.positions, index.distance.scales, rows):
        array.setflags(write=False)
    wanted = np.ones((4, 1), bool)
    plain = found_by(index, rows, wanted, is_compiled=False, k=2)
    assert found_by(index, rows, wanted, is_compiled=True, k=2) == plain


def test_only_large_tables_are_searched_compiled_unless_it_is_switched(monkeypatch):
    monkeypatch.delenv(sketch.SWITCH, raising=False)
    assert sketch.compiled_for(sketch.FEWEST_DONORS - 1) is None
    assert sketch.compiled_for(sketch.FEWEST_DONORS) is kernel
    with compiled(True):
        assert sketch.compiled_for(1) is kernel
    with compiled(False):
        assert sketch.compiled_for(10**9) is None


@pytest.fixture
def forgotten():
    """The kernel is looked for again, then and afterwards."""
    sketch._kernel.cache_clear()
    yield
    sketch._kernel.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_without_numba_the_plain_search_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "nicecf.search.kernel")
    monkeypatch.setitem(sys.modules, "numba", None)
    with compiled(True):
        assert sketch.compiled_for(10**6) is None


@pytest.mark.usefixtures("forgotten")
def test_a_numba_that_cannot_be_imported_is_said_and_done_without(monkeypatch):
    def broken(name):
        raise ImportError("Numba needs NumPy 2.0 or less")

    monkeypatch.setattr(sketch, "import_module", broken)
    with (
        compiled(True),
        pytest.warns(UserWarning, match="without numba, which cannot be imported: Numba needs NumPy 2.0"),
    ):
        assert sketch.compiled_for(10**6) is None


def test_a_small_table_does_not_wait_for_numba():
    code = """
import sys, numpy as np
from nicecf import NICE
X = np.random.default_rng(0).random((500, 3))
nice = NICE(lambda X: np.column_stack([X[:, 0], 1 - X[:, 0]]), search="greedy").fit(X, X[:, 0] < 0.5)
print(nice.explain(X[:5]).found.all(), "numba" in sys.modules)
"""
    environment = {name: value for name, value in os.environ.items() if name != sketch.SWITCH}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert out.split() == ["True", "False"]


def test_what_is_compiled_is_not_kept_where_nothing_can_be_written(monkeypatch):
    asked = []

    def njit(signature, **options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'search': no locator available for file 'kernel.py'")
        return lambda function: function

    monkeypatch.setattr(kernel.numba, "njit", njit)
    assert kernel._compiled("void()")(len) is len
    assert asked == [{"nogil": True, "cache": True}, {"nogil": True}]
