"""Large explainers: their rows are mapped from the file, the answers are the same, and damage is found."""

import json
import mmap
import pickle
import zipfile

import numpy as np
import pytest

from nicecf import NICE, FileError
from nicecf.explain import saving
from nicecf.explain.saving import large
from nicecf.testing import Scorecard, applicants, assert_same

X, Y = applicants()


@pytest.fixture(params=["0", "1"], ids=["plain", "compiled"])
def path(request, tmp_path, monkeypatch):
    """An explainer that is taken for a large one, saved."""
    if request.param == "1":
        pytest.importorskip("numba")
    monkeypatch.setenv("NICECF_COMPILED", request.param)
    monkeypatch.setattr(large, "LEAST_VALUES", 1)
    NICE(Scorecard(), search="greedy").fit(X, Y).save(tmp_path / "large.nice", notes={"a": 1})
    return tmp_path / "large.nice"


def contents(path):
    with zipfile.ZipFile(path) as zipped:
        return json.loads(zipped.read("manifest.json")), {
            name: zipped.getinfo(name).header_offset for name in zipped.namelist()
        }


def begin(path, name):
    """Where the bytes of a member begin."""
    held = path.read_bytes()
    at = contents(path)[1][name]
    return (
        at + 30 + int.from_bytes(held[at + 26 : at + 28], "little") + int.from_bytes(held[at + 28 : at + 30], "little")
    )


def changed(path, at):
    """The file with one bit of the byte at a place flipped."""
    held = bytearray(path.read_bytes())
    held[at] ^= 1
    path.write_bytes(held)
    return path


def test_answers_are_the_same_and_the_rows_are_not_read(path):
    fitted, loaded = NICE(Scorecard(), search="greedy").fit(X, Y), NICE.load(path, model=Scorecard())
    assert_same(loaded.explain(X.iloc[:25]), fitted.explain(X.iloc[:25]))
    index = loaded._fitted.neighborhood.donors.index
    manifest, _ = contents(path)
    assert manifest["version"] == 2
    assert "training.arrow" not in manifest["members"]
    whole = index.values
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    assert isinstance(whole.base, mmap.mmap)
    assert index.values.flags.aligned
    with pytest.raises(ValueError, match="read-only"):
        index.values[0, 0] = 0.0
    for name in ("rows", "leaf_bytes"):
        assert name not in manifest["members"] or begin(path, name) % 64 == 0
    assert ("leaf_bytes" in manifest["members"]) == (index.sketches.codes is not None)


def test_all_training_rows_may_be_donors(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LEAST_VALUES", 1)
    nice = NICE(Scorecard(), search="greedy", justified=False).fit(X)
    nice.save(tmp_path / "all.nice")
    assert_same(NICE.load(tmp_path / "all.nice", model=Scorecard()).explain(X.iloc[:5]), nice.explain(X.iloc[:5]))


def test_a_loaded_one_is_saved_again_and_pickled(path, tmp_path):
    loaded = NICE.load(path, model=Scorecard())
    loaded.save(tmp_path / "again.nice", notes={"a": 1})
    assert (tmp_path / "again.nice").read_bytes() == path.read_bytes()
    assert_same(pickle.loads(pickle.dumps(loaded)).explain(X.iloc[:5]), loaded.explain(X.iloc[:5]))
    assert saving.notes(path) == {"a": 1}


def test_damage_is_found_by_verify_and_in_what_is_read_by_load(path):
    saving.verify(path)
    whole = path.read_bytes()
    rows = begin(path, "rows")
    with pytest.raises(FileError, match=r"damaged: 'rows' is not what was saved"):
        saving.verify(changed(path, rows + 8 * X.shape[1] * 5))
    path.write_bytes(whole)
    for name in ("outputs.npy", "boxes_low.npy", "manifest.json"):
        at = begin(path, name) + 200
        with pytest.raises(FileError, match=r"is damaged|is not a saved explainer"):
            NICE.load(changed(path, at), model=Scorecard())
        path.write_bytes(whole)
    path.write_bytes(whole[:-100])
    with pytest.raises(FileError, match=r"is not a complete saved explainer|is not a saved explainer"):
        NICE.load(path, model=Scorecard())


def test_boxes_and_bytes_that_are_not_those_of_the_rows_are_found(path):
    """What is mapped has no digest that is checked: some leaves are looked at."""
    index = NICE.load(path, model=Scorecard())._fitted.neighborhood.donors.index
    first = begin(path, "rows") + 8 * X.shape[1] * int(index.leaves[0].starts[0])
    held = bytearray(path.read_bytes())
    held[first : first + 8] = np.float64(1e6).tobytes()
    path.write_bytes(held)
    with pytest.raises(FileError, match="the boxes of its leaves are not those of its rows"):
        NICE.load(path, model=Scorecard())


def test_bytes_of_other_rows_are_found(path):
    if "leaf_bytes" not in contents(path)[0]["members"]:
        pytest.skip("the plain search has none")
    with pytest.raises(FileError, match="the bytes of its leaves are not those of its rows"):
        NICE.load(changed(path, begin(path, "leaf_bytes")), model=Scorecard())


def test_small_explainers_and_those_with_derived_columns_are_saved_as_before(tmp_path, monkeypatch):
    nice = NICE(Scorecard(), search="greedy").fit(X, Y)
    nice.save(tmp_path / "small.nice")
    assert contents(tmp_path / "small.nice")[0]["version"] == 1
    assert not large.is_large(nice._fitted)
    monkeypatch.setattr(large, "LEAST_VALUES", X.size)
    assert large.is_large(nice._fitted)
    monkeypatch.setattr(large, "LEAST_VALUES", X.size + 1)
    assert not large.is_large(nice._fitted)
