"""Saved explainers: written, read again and compared to the last bit, or forged with all digests right."""

import dataclasses
import inspect
import operator

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from nicecf import NICE, Constraints
from nicecf.explain.saving import archive
from nicecf.testing import assert_same


def saved(nice, folder, name="some.nice"):
    path = folder / name
    nice.save(path)
    return path


def assert_same_to_the_bit(one, other):
    assert_same(one, other)
    for part in (
        "before.values",
        "before.probabilities",
        "after.values",
        "after.probabilities",
        "errors",
        "rows",
        "numbers",
    ):
        of = operator.attrgetter(part)
        assert np.array_equal(of(one.batch), of(other.batch), equal_nan=True), part
    assert one.notes.tolist() == other.notes.tolist()
    assert [str(relaxation) for relaxation in one.relaxations] == [str(relaxation) for relaxation in other.relaxations]
    assert one.classes.tolist() == other.classes.tolist()
    assert one.to_records() == other.to_records()


def assert_same_parts(one, other, where="fitted"):
    """Everything that fit learned, field by field: also what is added to these classes later."""
    if dataclasses.is_dataclass(one):
        assert type(one) is type(other), where
        for field in dataclasses.fields(one):
            # What a call costs is measured anew; the models are those that were passed.
            if field.name not in ("cost", "twin_cost", "twin", "predict_proba", "predict", "read"):
                assert_same_parts(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for at, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_same_parts(mine, theirs, f"{where}[{at}]")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        assert one.tolist() == other.tolist() or np.array_equal(one, other, equal_nan=True), where
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))
        assert one.columns.identical(other.columns)
    elif isinstance(one, pd.Series):
        assert one.dtype == other.dtype, where
        assert getattr(one.dtype, "storage", None) == getattr(other.dtype, "storage", None), where
    elif isinstance(one, (pl.Series, pl.DataFrame)):
        assert one.equals(other), where
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None), where
    elif sparse.issparse(one):
        assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape), where
        assert one.toarray().tolist() == other.toarray().tolist(), where
    elif isinstance(one, (Constraints, pd.api.extensions.ExtensionArray)):
        assert repr(one) == repr(other), where
    elif inspect.isfunction(one) and one.__module__.startswith("nicecf"):
        assert one.__qualname__ == other.__qualname__, where
        assert_same_parts(*(tuple(inspect.getclosurevars(of).nonlocals.values()) for of in (one, other)), where)
    elif isinstance(one, dict):
        assert list(one.items()) == list(other.items()), where
    elif type(one).__module__.startswith("nicecf"):
        assert type(one) is type(other), where
    else:
        assert type(one) is type(other), where
        assert one is other or one == other or (one != one and other != other), where


def assert_comes_back(nice, folder, rows, **functions):
    path = saved(nice, folder)
    again = NICE.load(path, model=nice.model, **functions)
    assert_same_to_the_bit(nice.explain(rows), again.explain(rows))
    assert_same_parts(nice._fitted, again._fitted)
    assert again._fitted.fingerprints == nice._fitted.fingerprints
    for name in ("classes_", "feature_names_in_"):
        assert_same_parts(getattr(nice, name), getattr(again, name))
    assert saved(again, folder, "again.nice").read_bytes() == path.read_bytes()
    return again


def forge(path, folder, change):
    """The file again, with something in it changed and all of its digests right."""
    manifest, members = archive.read(path, "0")
    change(manifest, members)
    manifest = {name: value for name, value in manifest.items() if name not in ("format", "version", "nicecf")}
    archive.write(folder / "forged.nice", manifest, members, by="0")
    return folder / "forged.nice"


def replaced(**arrays_):
    return lambda manifest, members: members.update({f"{name}.npy": held for name, held in arrays_.items()})


def table_of(change):
    def changed(manifest, members):
        table = change(pa.ipc.open_file(members["training.arrow"]).read_all())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        members["training.arrow"] = sink.getvalue().to_pybytes()

    return changed


def said(change):
    return lambda manifest, members: change(manifest)


def leaves(value, path=()):
    yield path, value
    if isinstance(value, (dict, list)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            if len(value) <= 8 or isinstance(value, dict) or key in (0, len(value) - 1):  # of long ones, some
                yield from leaves(one, (*path, key))


def changed_at(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed_at(value[path[0]], path[1:], new)
    return copy


def others(value):
    wrong = [None, -1, "x", []]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        wrong += [value + 1, 0, 2**70, 1e308, True, float("nan")]
    elif isinstance(value, str):
        wrong += [value + "!"]
    elif isinstance(value, bool):
        wrong += [not value, int(value)]
    elif isinstance(value, list):
        wrong += [value[1:], [*value, *value[:1]], value[::-1], {}]
    return [one for one in wrong if not (type(one) is type(value) and one == value)]
