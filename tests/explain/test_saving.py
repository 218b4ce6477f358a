"""An explainer that was saved and loaded gives the same answers; anything else in its place is refused."""

import dataclasses
import io
import json
import subprocess
import sys
import zipfile
from base64 import b64encode
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from columns import COLUMNS, flag, with_flag
from markers import deep
from nicecf import NICE, Constraints, FileError, ModelError, NotFittedError, OptionError, replay
from nicecf.explain import saving
from nicecf.explain.fitted import Fitted
from nicecf.explain.saving import archive, arrays
from nicecf.results.records import digest_of
from nicecf.search.autoencoder import Autoencoder
from nicecf.support import json_values
from nicecf.testing import Scorecard, applicants, assert_same
from saved_files import (
    assert_comes_back,
    assert_same_parts,
    assert_same_to_the_bit,
    changed_at,
    forge,
    leaves,
    others,
    replaced,
    said,
    saved,
    table_of,
)

X, Y = applicants()
ROWS, FEW = X.iloc[:25], X.iloc[:3]


# ---- tables

MORE_COLUMNS = {
    "string in arrow": pd.Series(["a", None, "c", "a", "b", "c"], dtype=pd.StringDtype("pyarrow")),
    "string in python": pd.Series(["a", None, "c", "a", "b", "c"], dtype=pd.StringDtype("python")),
    "arrow large string": pd.Series(["a", None, "c", "a", "b", "c"], dtype="large_string[pyarrow]"),
    "arrow decimal": pd.Series([1, 2, 3, 4, 5, None], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "UInt8": pd.Series([1, 2, 3, 4, 5, None], dtype="UInt8"),
    "Float32": pd.Series([0.1, 2, 3, 4, 5, None], dtype="Float32"),
    "object with nan": pd.Series(["a", np.nan, "c", "a", "b", "c"], dtype=object),
    "object with NA": pd.Series(["a", pd.NA, "c", "a", "b", "c"], dtype=object),
    "object of bytes": pd.Series([b"a", b"\xff", b"c", b"a", b"b", b"c"], dtype=object),
    "object of decimals and text": pd.Series([Decimal("0.10"), "a", Decimal("0.2"), "a", "b", "0.10"], dtype=object),
    "object of tuples": pd.Series([(1, "a"), (2, "b")] * 3, dtype=object),
    "object of numpy numbers": pd.Series([np.float32(0.1), "a", np.int8(3), "a", "b", "3"], dtype=object),
    "object without a value": pd.Series([None] * 6, dtype=object),
    "category of floats": pd.Series(pd.Categorical([0.5, 0.1, None, 0.5, 0.1, 0.5])),
    "category of bools": pd.Series(pd.Categorical([True, False] * 3)),
    "category of mixed": pd.Series(pd.Categorical([1, "1", 1, "1", 1, 2.5])),
    "category of many": pd.Series(pd.Categorical(list("abcdef"), [f"level {i}" for i in range(200)] + list("abcdef"))),
    "lines and quotes": pd.Series(["a\n'\"", "\u00e9\U0001f600", "", " ", "\x00", "a"]),
}


@pytest.mark.parametrize("name", [*COLUMNS, *MORE_COLUMNS])
def test_every_column_comes_back(name, tmp_path):
    table = with_flag({**COLUMNS, **MORE_COLUMNS}[name])
    nice = NICE(flag, optimize="proximity").fit(table, [0, 0, 0, 1, 1, 1])
    again = assert_comes_back(nice, tmp_path, table)
    decoded = again._fitted.schema.decode(nice._fitted.neighborhood.donors.index.values)
    pd.testing.assert_frame_equal(decoded, nice._fitted.schema.decode(nice._fitted.neighborhood.donors.index.values))


NAMES = {
    "numbers": [7, 3],
    "a range": pd.RangeIndex(2),
    "a named range": pd.RangeIndex(5, 3, -1, name="feature"),
    "a named index": pd.Index(["one", "two"], name="feature"),
    "tuples": pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["of", None]),
    "booleans": [True, False],
    "fractions": [0.5, 1.5],
    "a number and a text": [1, "one"],
    "objects": pd.Index(["one", "two"], dtype=object),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_columns_come_back(name, tmp_path):
    table = with_flag(COLUMNS["str"]).set_axis(NAMES[name], axis=1)
    nice = NICE(lambda X: flag({"flag": X.iloc[:, 1]})).fit(table, [0, 0, 0, 1, 1, 1])
    assert_comes_back(nice, tmp_path, table)


POLARS = {
    "int": pl.Series([1, None, 3, 4, 5, 6], dtype=pl.Int16),
    "float": pl.Series([0.1, None, 3, 4, 5, 6], dtype=pl.Float32),
    "nan": pl.Series([0.1, float("nan"), 3, 4, 5, 6]),
    "text": pl.Series(["a", None, "c", "a", "b", "c"]),
    "category": pl.Series(["a", None, "c", "a", "b", "c"], dtype=pl.Categorical),
    "enum": pl.Series(["a", None, "c", "a", "b", "c"], dtype=pl.Enum(["c", "b", "a", "never"])),
    "bool": pl.Series([True, None, False, True, False, False]),
    "decimal": pl.Series([Decimal("1.50"), None] * 3, dtype=pl.Decimal(10, 2)),
    "nothing": pl.Series([None] * 6),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars_frames_come_back(name, tmp_path):
    table = pl.DataFrame({"^a.*$": POLARS[name], "flag": [0, 0, 0, 1, 1, 1]})
    assert_comes_back(NICE(flag).fit(table, [0, 0, 0, 1, 1, 1]), tmp_path, table)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "int64", "uint8", "bool", "object", ">f8", "U4", "S4"]
)
def test_arrays_come_back(dtype, tmp_path):
    array = np.array([[0, 0], [1, 0], [1, 0], [0, 1], [1, 1], [0, 1]]).astype(dtype)
    model = lambda X: np.column_stack([1 - X[:, 1].astype(float), X[:, 1].astype(float)])
    nice = NICE(model, categorical_features=[0, 1] if dtype in ("U4", "S4") else [])
    assert_comes_back(nice.fit(array, [0, 0, 0, 1, 1, 1]), tmp_path, array)


def test_other_tools_can_read_the_table(tmp_path):
    nice = NICE(Scorecard(), justified=False).fit(X, Y)
    with zipfile.ZipFile(saved(nice, tmp_path)) as zipped:
        assert {name.rpartition(".")[2] for name in zipped.namelist()} == {"json", "arrow", "npy"}
        table, manifest = zipped.read("training.arrow"), json.loads(zipped.read("manifest.json"))
        positions = np.load(io.BytesIO(zipped.read("positions.npy")), allow_pickle=False)
    frame = pa.ipc.open_file(table).read_pandas()
    assert frame["age"].tolist() == X["age"].iloc[positions].tolist()
    assert frame["home"].tolist() == X["home"].iloc[positions].tolist()
    assert frame["guarantor"].dtype == bool
    assert pl.read_ipc(io.BytesIO(table)).shape == X.shape
    assert manifest["table"]["columns"][2]["levels"] == ["other", "own", "rent"]
    assert manifest["options"]["optimize"] == "sparsity"


# ---- options

RULES = Constraints(
    immutable=["city"], increasing={"age": True}, ranges={"income": (None, 2.5)}, allowed={"home": ["own", None]},
    forbid={"guarantor": [(True, False)]}, step={"age": 1}, groups=[["home", "children"]], max_changes=4,
)  # fmt: skip
OPTIONS = {
    "none": {"optimize": "none"},
    "greedy": {"search": "greedy"},
    "plausibility": {"search": "greedy", "optimize": "plausibility", "random_state": np.int64(3)},
    "thorough": {"search": "thorough", "neighbors": 10},
    "thorough balanced": {"search": "thorough", "optimize": "balanced", "neighbors": 5},
    "std unjustified": {"scale": "std", "justified": False},
    "named categories": {"categorical_features": ("home", "guarantor", "city", 4)},
    "a mask": {"categorical_features": np.array([False, False, True, True, False, True])},
    "predict": {"decision": "predict"},
    "cut-offs": {"decision": {"yes": 0.45, "perhaps": 0.3}, "min_probability": 0.4},
    "weights by name": {"feature_weights": {"age": 3, "city": np.float64(0.5)}},
    "weights": {"feature_weights": np.arange(1.0, 7.0)},
    "rules": {"constraints": RULES},
    "thorough under rules": {"constraints": RULES, "search": "thorough", "neighbors": 5},
    "no rules": {"constraints": Constraints()},
    "private": {"share_donor": False, "min_count": 5},
    "private and thorough": {"share_donor": False, "search": "thorough", "neighbors": 5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_comes_back(name, tmp_path, monkeypatch):
    nice = NICE(Scorecard(), **OPTIONS[name]).fit(X[:50], Y[:50])
    path = saved(nice, tmp_path)
    monkeypatch.setattr(Autoencoder, "train", None)  # it is not trained again
    again = NICE.load(path, model=Scorecard())
    assert again._options == nice._options
    assert again.search == nice.search
    calls = [
        {"n_counterfactuals": 3} if nice.search_ == "thorough" else {},
        {"target_class": Y.iloc[:3].to_numpy(), "constraints": Constraints(immutable=["age", "income"], max_changes=1)},
    ]  # fmt: skip
    for call in calls:
        assert_same_to_the_bit(nice.explain(FEW, **call), again.explain(FEW, **call))
    assert_same_parts(nice._fitted, again._fitted)
    assert saved(again, tmp_path, "again.nice").read_bytes() == path.read_bytes()
    refitted = {name: value for name, value in again.get_params(deep=False).items() if name != "model"}
    monkeypatch.undo()
    assert_same(nice.explain(FEW), NICE(Scorecard(), **refitted).fit(X[:50], Y[:50]).explain(FEW))


def reward(round):
    return (round.score - round.previous_score) - 0.01 * round.error


reward.needs_plausibility = True
FUNCTIONS = {
    "optimize": reward,
    "plausibility": lambda X: X["age"].to_numpy() / 100,
    "decision": lambda p: np.array(["no", "perhaps", "yes"], dtype=object)[(p * [1, 1.2, 0.9]).argmax(axis=1)],
    "robust_to": [Scorecard(), Scorecard().predict_proba],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_asked_for_again(name, tmp_path):
    given = {name: FUNCTIONS[name]}
    nice = NICE(Scorecard(), **given).fit(X, Y)
    assert_comes_back(nice, tmp_path, ROWS, **given)
    path = saved(nice, tmp_path)
    with pytest.raises(
        OptionError, match=rf"as {name}, which a file cannot hold. Pass it again: NICE.load\(path, model=model, {name}="
    ):
        NICE.load(path, model=Scorecard())
    plain = saved(NICE(Scorecard()).fit(X, Y), tmp_path)
    with pytest.raises(OptionError, match=f"{name} was passed, but .* was saved without such a function"):
        NICE.load(plain, model=Scorecard(), **given)


def test_other_functions_than_those_of_fit_are_refused(tmp_path):
    path = saved(NICE(Scorecard(), plausibility=FUNCTIONS["plausibility"]).fit(X, Y), tmp_path)
    with pytest.raises(ModelError, match="plausibility is not the function that the explainer was saved with"):
        NICE.load(path, model=Scorecard(), plausibility=lambda X: X["age"].to_numpy() / 99)
    with pytest.raises(OptionError, match="plausibility must be the function that .* was saved with, got 'x'"):
        NICE.load(path, model=Scorecard(), plausibility="x")
    path = saved(NICE(Scorecard(), decision=FUNCTIONS["decision"]).fit(X, Y), tmp_path)
    with pytest.raises(ModelError, match=r"decision is not the one .*: it differs for \d+ of \d+ training rows"):
        NICE.load(path, model=Scorecard(), decision=lambda p: np.full(len(p), "yes", dtype=object))
    path = saved(NICE(Scorecard(), robust_to=[Scorecard()]).fit(X, Y), tmp_path)
    with pytest.raises(OptionError, match="robust_to must be a list of models, got Scorecard"):
        NICE.load(path, model=Scorecard(), robust_to=Scorecard())
    with pytest.raises(OptionError, match="was saved with 1 models in robust_to; got 2"):
        NICE.load(path, model=Scorecard(), robust_to=[Scorecard(), Scorecard()])
    with pytest.raises(ModelError, match="model 1 of robust_to .* its classes are 0, 1, they were 'no'"):
        NICE.load(path, model=Scorecard(), robust_to=[LogisticRegression().fit([[0.0], [1.0]], [0, 1])])
    path = saved(NICE(Scorecard(), optimize=lambda round: round.score).fit(X, Y), tmp_path)
    with pytest.raises(OptionError, match="a reward that reads the error of hybrids, but the explainer was saved with"):
        NICE.load(path, model=Scorecard(), optimize=reward)


def test_a_threshold_of_the_model_comes_back_and_another_is_refused(tmp_path):
    sklearn = pytest.importorskip("sklearn", minversion="1.5")
    from sklearn.model_selection import FixedThresholdClassifier

    assert sklearn
    table, labels = np.arange(40.0).reshape(-1, 1), np.arange(40) > 20
    fitted = LogisticRegression().fit(table, labels)
    thresholded = lambda threshold: FixedThresholdClassifier(fitted, threshold=threshold).fit(table, labels)
    nice = NICE(thresholded(0.3)).fit(table, labels)
    assert_comes_back(nice, tmp_path, table)
    path = saved(nice, tmp_path)
    with pytest.raises(ModelError, match=r"decides by the cut-offs \[None, 0.4\], not by the cut-offs \[None, 0.3\]"):
        NICE.load(path, model=thresholded(0.4))
    with pytest.raises(ModelError, match="decides by the highest probability, not by the cut-offs"):
        NICE.load(path, model=fitted)

    class Stubborn(FixedThresholdClassifier):
        def predict(self, X):
            return X[:, 0] > 30

    stubborn = NICE(Stubborn(fitted, threshold=0.3).fit(table, labels)).fit(table, labels)
    assert stubborn._fitted.panel.members[0].rule.by_predict
    assert_comes_back(stubborn, tmp_path, table)


def test_a_twin_is_made_again(tmp_path):
    numbers = X[["age", "income"]].fillna(1.0)
    forest = RandomForestClassifier(10, random_state=0).fit(numbers, Y)
    for accelerate in (True, "unconfirmed"):
        nice = NICE(forest, accelerate=accelerate).fit(numbers, Y)
        again = assert_comes_back(nice, tmp_path, numbers.iloc[:25])
        assert again._fitted.models.twin is not None
        assert again.explain(numbers.iloc[:5]).model_calls == nice.explain(numbers.iloc[:5]).model_calls
    with pytest.raises(
        ModelError, match="saved with accelerate=, and there is no faster way to the same digits for this method"
    ):
        NICE.load(saved(nice, tmp_path), model=forest.predict_proba)


def test_rows_that_no_donor_helps_keep_their_reasons(tmp_path):
    only_no = Y[Y == "no"].index
    nice = NICE(Scorecard(), search="greedy").fit(X.loc[only_no], Y[only_no])
    assert not assert_comes_back(nice, tmp_path, ROWS).explain(ROWS, target_class="yes").found.all()
    nobody = NICE(lambda X: np.tile([0.8, 0.2], (len(X), 1)), classes=["no", "yes"]).fit(np.eye(3), ["yes"] * 3)
    assert_comes_back(nobody, tmp_path, np.eye(3))


def test_loading_asks_the_model_about_a_thousand_rows_at_most(tmp_path):
    asked = []

    def model(X):
        asked.append(len(X))
        return np.column_stack([X[:, 0] < 0.5, X[:, 0] >= 0.5]).astype(float)

    table = np.random.default_rng(0).random((3000, 2))
    path = saved(NICE(model).fit(table, table[:, 0] >= 0.5), tmp_path)
    asked.clear()
    NICE.load(path, model=model)
    assert asked == [1002, 2]


def test_every_field_that_fit_learns_is_known_to_saving():
    # A field that is not named here is not saved: teach nicecf.explain.saving of it, then add it.
    assert [field.name for field in dataclasses.fields(Fitted)] == [
        "explainer", "schema", "models", "distance", "statistics", "fingerprints", "search", "constraints", "privacy",
        "plausibility", "neighborhood", "label_scores",
    ]  # fmt: skip


@pytest.mark.deep
def test_a_fresh_process_gives_the_same_answers(tmp_path):
    nice = NICE(Scorecard(), search="thorough", neighbors=5).fit(X, Y)
    path = saved(nice, tmp_path)
    code = (
        "import json, sys; from nicecf import NICE; from nicecf.testing import Scorecard, applicants\n"
        "nice = NICE.load(sys.argv[1], model=Scorecard())\n"
        "print(json.dumps(nice.explain(applicants()[0].iloc[:25], n_counterfactuals=2).to_records()))\n"
        "nice.save(sys.argv[2])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, path, tmp_path / "again.nice"], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(out) == nice.explain(ROWS, n_counterfactuals=2).to_records()
    assert (tmp_path / "again.nice").read_bytes() == path.read_bytes()


def test_two_fits_of_the_same_data_give_the_same_bytes(tmp_path):
    one, other = (saved(NICE(Scorecard()).fit(X, Y), tmp_path, name) for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


# ---- what is refused


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    nice = NICE(Scorecard(), optimize="plausibility", share_donor=False, min_count=2).fit(X.iloc[:30], Y.iloc[:30])
    return saved(nice, tmp_path_factory.mktemp("saved"))


def test_a_file_that_was_cut_off_is_refused(path, tmp_path):
    held, cut = path.read_bytes(), tmp_path / "cut.nice"
    for length in sorted({*np.linspace(0, len(held) - 1, 50).astype(int), 1, 2, 3, 4, 22, 77, 78, 79, len(held) - 78}):
        cut.write_bytes(held[:length])
        with pytest.raises(FileError, match=r"cut.nice is (not a (complete )?saved explainer|damaged)"):
            NICE.load(cut, model=Scorecard())
    cut.write_bytes(held + b"\0")
    with pytest.raises(FileError):
        NICE.load(cut, model=Scorecard())


def test_a_file_with_one_bit_turned_over_is_refused(path, tmp_path):
    held, damaged = bytearray(path.read_bytes()), tmp_path / "damaged.nice"
    random = np.random.default_rng(0)
    ends = [*range(40), *range(len(held) - 120, len(held))]  # of the zip, where its own words are
    for at in [*random.integers(0, len(held), 200).tolist(), *ends]:
        bit = 1 << int(random.integers(8))
        held[at] ^= bit
        damaged.write_bytes(held)
        with pytest.raises(FileError, match=r"damaged.nice is (not a (complete )?saved explainer|damaged)"):
            NICE.load(damaged, model=Scorecard())
        held[at] ^= bit
    damaged.write_bytes(held)
    NICE.load(damaged, model=Scorecard())


def zipped(path, members, *, compression=zipfile.ZIP_STORED):
    """A zip as someone else would write it, with our seal on it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, held in members:
            file.writestr(name, held)
        file.comment = bytes(78)
    held = buffer.getbuffer()[:-78]
    path.write_bytes(bytes(held) + archive._seal_of(held))
    return path


def members_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_a_zip_that_is_none_of_ours_is_refused(path, tmp_path):
    members, forged = members_of(path), tmp_path / "forged.nice"
    without = [(name, held) for name, held in members.items() if name != "outputs.npy"]
    cases = [
        ("'outputs.npy' is missing", without, {}),
        ("'more.npy' was added", [*members.items(), ("more.npy", b"")], {}),
        ("'outputs.npy' is not what was saved", [*without, ("outputs.npy", members["outputs.npy"] + b"\0")], {}),
        ("'outputs.npy' is not what was saved", [*without, ("outputs.npy", members["outputs.npy"][:-1] + b"\0")], {}),
        ("the zip has no manifest.json", without[1:], {}),
        ("'manifest.json' is compressed", members.items(), {"compression": zipfile.ZIP_DEFLATED}),
        ("'zeros' is compressed", [*members.items(), *compressed_zeros()], {}),
        ("its manifest.json has another format", [("manifest.json", b"{}")], {}),
        ("its manifest.json has another format", [("manifest.json", b"[]")], {}),
        ("JSONDecodeError", [("manifest.json", b"{")], {}),
        ("UnicodeDecodeError", [("manifest.json", b"\xff\xfe\xff")], {}),
        ("RecursionError", [("manifest.json", b"[" * 100_000)], {}),
    ]
    for match, some, options in cases:
        zipped(forged, some, **options)
        with pytest.raises(FileError, match=match):
            NICE.load(forged, model=Scorecard())
    with pytest.warns(UserWarning, match="Duplicate name"):
        zipped(forged, [*members.items(), ("outputs.npy", b"")])
    with pytest.raises(FileError, match="two members with the same name"):
        NICE.load(forged, model=Scorecard())
    zipped(forged, members.items())
    NICE.load(forged, model=Scorecard())


def compressed_zeros():
    entry = zipfile.ZipInfo("zeros")
    entry.compress_type = zipfile.ZIP_DEFLATED
    return [(entry, bytes(10_000_000))]


def test_a_newer_format_is_refused(path, tmp_path):
    members = members_of(path)
    for version, match in [
        (3, r"was written by nicecf 9.9 in format 3; this is nicecf \S+, which reads formats up to 2: upgrade"),
        ("1", "its format has the version '1'"),
        (0, "its format has the version 0"),
    ]:
        manifest = {**json.loads(members["manifest.json"]), "version": version, "nicecf": "9.9"}
        zipped(tmp_path / "new.nice", [("manifest.json", json.dumps(manifest)), ("anything", b"")])
        with pytest.raises(FileError, match=match):
            NICE.load(tmp_path / "new.nice", model=Scorecard())


def object_array():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"run": "me"}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def by_columns(held):
    buffer = io.BytesIO()
    np.save(buffer, np.asfortranarray(np.load(io.BytesIO(held))))
    return buffer.getvalue()


def too_large():
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 3)})
    return header.getvalue()


def other_levels(table):
    column = table["home"].chunk(0)
    names = pa.array([f"{name}!" for name in column.dictionary.to_pylist()])
    return table.set_column(2, "home", pa.DictionaryArray.from_arrays(column.indices, names))


LIES = {
    "an array of objects": (replaced(outputs=object_array()), "'outputs.npy' has the dtype object"),
    "an array of singles": (
        replaced(witness_values=arrays.npy(np.zeros((3, 6), dtype=np.float32))),
        "'witness_values.npy' has the dtype float32 and the shape",
    ),
    "too few donors": (replaced(positions=arrays.npy(np.arange(3))), r"'positions.npy' has the shape \(3,\)"),
    "a shape without an array": (replaced(witness_values=too_large()), "'witness_values.npy' has the shape"),
    "a long shape": (
        lambda manifest, members: members.update({"row_digests.npy": members["row_digests.npy"][:-8]}),
        "'row_digests.npy' is not as long as its shape",
    ),
    "no array": (replaced(outputs=b"no array at all"), "its manifest and its tables do not match"),
    "an array by columns": (
        lambda manifest, members: members.update({"witness_values.npy": by_columns(members["witness_values.npy"])}),
        "'witness_values.npy' has the dtype float64",
    ),
    "leaves that go back": (
        lambda manifest, members: members.update(
            {"leaf_starts.npy": arrays.npy(np.array([0, 5, 5, 3, 3, manifest["index"]["n_donors"]]))}
        ),
        "its leaves are not consecutive",
    ),
    "leaves in disorder": (
        lambda manifest, members: members.update(
            {"leaf_starts.npy": arrays.npy(np.arange(sum(manifest["index"]["n_starts"]))[::-1].copy())}
        ),
        "its leaves are not consecutive",
    ),
    "another network": (
        lambda manifest, members: members.update(
            {"autoencoder_biases_0.npy": members["autoencoder_biases_1.npy"]}
        ),
        "'autoencoder_biases_0.npy' has the shape",
    ),
    "half a network": (said(lambda m: m["autoencoder"].update(n_layers=2)), "its autoencoder does not have as many outputs"),
    "unread members": (said(lambda m: m.update(autoencoder=None)), "its manifest does not mention 'autoencoder_biases_0.npy'"),
    "no table": (lambda manifest, members: members.update({"training.arrow": b"ARROW1"}), "its table is not an Arrow file"),
    "half a table": (lambda manifest, members: members.update({"training.arrow": members["training.arrow"][:40]}), "do not match"),
    "a column more": (table_of(lambda t: t.append_column("more", t["age"])), "the columns of its table do not match its manifest"),
    "a column less": (table_of(lambda t: t.drop_columns(["age"])), "the columns of its table do not match its manifest"),
    "another name": (table_of(lambda t: t.rename_columns([*"abcdef"])), "the columns of its table do not match its manifest"),
    "another type": (
        table_of(lambda t: t.set_column(0, "age", t["age"].cast(pa.float64()))),
        "the columns of its table do not match its manifest",
    ),
    "a row less": (table_of(lambda t: t.slice(1)), r"its table has \d+ rows, but its manifest says \d+"),
    "other categories": (table_of(other_levels), "column 'home' of its table has other categories than its manifest"),
    "an unknown container": (said(lambda m: m["table"].update(container="spark")), "do not match"),
    "an unknown dtype": (said(lambda m: m["table"]["columns"][0].update(dtype="int65")), "do not match"),
    "a missing word": (said(lambda m: m.pop("scales")), r"do not match \(KeyError: 'scales'\)"),
    "fewer scales": (said(lambda m: m["scales"].pop()), "5 numbers instead of 6"),
    "fewer classes": (said(lambda m: m["n_decided"].pop()), "its donors do not match its classes"),
    "an option of tomorrow": (said(lambda m: m["options"].update(speed=1)), "the option 'speed', which this nicecf does"),
    "an option that cannot be": (said(lambda m: m["options"].update(scale="feet")), "it contains an invalid option. scale='feet'"),
    "a model more": (said(lambda m: m.update(n_robust_to=1)), "the rules of its models are invalid"),
    "no features": (said(lambda m: m["models"].update(features=[{}])), "the features of its models are invalid"),
    "an unknown function": (said(lambda m: m["functions"].append("model")), "its functions or fingerprints are invalid"),
    "one class": (said(lambda m: m["models"].update(classes=["no"] * 3)), "its models have fewer than two classes, or the same class twice"),
    "options in no words": (said(lambda m: m.update(described=[])), "its options are not described"),
    "an unknown rule": (said(lambda m: m["options"].update(constraints={"imutable": ["age"]})), "do not match"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_is_refused(name, path, tmp_path):
    change, match = LIES[name]
    with pytest.raises(FileError, match=rf"forged.nice is damaged: .*{match}"):
        NICE.load(forge(path, tmp_path, change), model=Scorecard())


def test_forging_alone_is_no_reason_to_refuse(path, tmp_path):
    NICE.load(forge(path, tmp_path, lambda manifest, members: None), model=Scorecard())


def test_a_path_that_cannot_be_read_or_written_is_said(path, tmp_path):
    nice = NICE(Scorecard()).fit(X, Y)
    (tmp_path / "text.nice").write_text("row,label\n1,2\n")
    (tmp_path / "closed.nice").write_bytes(path.read_bytes())
    with pytest.raises(FileError, match="nowhere.nice does not exist. Pass a file from"):
        NICE.load(tmp_path / "nowhere.nice", model=Scorecard())
    with pytest.raises(FileError, match="is a folder; pass a file from"):
        NICE.load(tmp_path, model=Scorecard())
    with pytest.raises(FileError, match="text.nice is not a saved explainer: it is not a zip"):
        NICE.load(tmp_path / "text.nice", model=Scorecard())
    with pytest.raises(OptionError, match=r"cannot be the path of a file"):
        NICE.load("a\0b", model=Scorecard())
    with pytest.raises(FileError, match="cannot be written: there is no folder"):
        nice.save(tmp_path / "no" / "where.nice")
    with pytest.raises(FileError, match="is a folder"):
        nice.save(tmp_path)
    for wrong in (None, 3, b"a.nice"):
        with pytest.raises(OptionError, match="path must be the path of a file, got"):
            nice.save(wrong)
        with pytest.raises(OptionError, match="path must be the path of a file, got"):
            NICE.load(wrong, model=Scorecard())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["closed.nice", "text.nice"]


def test_what_is_not_fitted_or_was_changed_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        NICE(Scorecard()).save(tmp_path / "a.nice")
    nice = NICE(Scorecard()).fit(X, Y)
    nice.set_params(optimize="proximity")
    with pytest.raises(OptionError, match="'optimize' was changed after fit. Call fit again"):
        nice.save(tmp_path / "a.nice")
    assert not list(tmp_path.iterdir())


def test_what_a_file_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    dates = pd.Series(pd.Categorical(pd.PeriodIndex(["2020-01", "2021-01"] * 3, freq="M")))
    tables = [
        (with_flag(dates), "column 'column' cannot be saved: values of type Period"),
        (with_flag(pd.Series(["\ud800", "a"] * 3, dtype=object)), "column 'column' cannot be saved: .* not valid text"),
        (
            with_flag(dates.cat.codes).set_axis(pd.CategoricalIndex(["column", "flag"]), axis=1),
            "the names of the columns are categories, which cannot be saved",
        ),
        (
            with_flag(pd.Series(pd.arrays.SparseArray([0, 0, 1, 0, 2, 0], fill_value=7))),
            r"column 'column' cannot be saved: its dtype Sparse\[int64, 7\] cannot be restored from its name",
        ),
    ]  # fmt: skip
    for table, match in tables:
        nice = NICE(flag).fit(table, [0, 0, 0, 1, 1, 1])
        with pytest.raises(FileError, match=match):
            nice.save(tmp_path / "a.nice")
    moments = with_flag(dates.cat.codes).set_axis(pd.PeriodIndex(["2020-01", "2021-01"], freq="M"), axis=1)
    nice = NICE(lambda X: flag({"flag": X.iloc[:, 1]})).fit(moments, [0, 0, 0, 1, 1, 1])
    with pytest.raises(FileError, match="cannot be saved: values of type Period"):
        nice.save(tmp_path / "a.nice")
    assert not list(tmp_path.iterdir())


def test_another_model_is_refused(tmp_path):
    numbers = X[["age", "income"]].fillna(1.0)
    tree = lambda columns, labels, **options: DecisionTreeClassifier(random_state=0, **options).fit(columns, labels)
    model = tree(numbers, Y)
    path = saved(NICE(model).fit(numbers, Y), tmp_path)
    others = [
        (tree(numbers, Y == "yes"), "its classes are False, True, they were 'no', 'perhaps', 'yes'"),
        (tree(numbers, Y, max_depth=1), r"not the one that fit saw: for training row \d+ it gave .* a probability of"),
        (tree(numbers[["age"]], Y), "its features differ; the explainer has the column 'income', which the model was not trained on"),
        (tree(numbers[["income", "age"]], Y), "its features differ; they are in another order"),
        (tree(numbers.assign(more=1), Y), "its features differ; the explainer has no column 'more', which the model was trained on"),
        (tree(numbers.assign(more=1).to_numpy(), Y), "it has 3 features, not 2"),
        (lambda X: np.tile([0.2, 0.3, 0.5], (len(X), 1)), "not the one that fit saw"),
        (lambda X: np.tile([0.5, 0.5], (len(X), 1)), r"returned shape \(\d+, 2\), expected \(\d+, 3\)"),
        (LogisticRegression, "the model cannot be explained: model is the class LogisticRegression"),
        (None, "the model cannot be explained: model must be a fitted classifier"),
    ]  # fmt: skip
    for other, match in others:
        with pytest.raises(ModelError, match=match):
            NICE.load(path, model=other)
    # The same answers by another name will do.
    assert_same(
        NICE.load(path, model=model.predict_proba).explain(numbers), NICE.load(path, model=model).explain(numbers)
    )
    path = saved(NICE(Scorecard(), decision="predict").fit(X, Y), tmp_path)
    with pytest.raises(
        ModelError, match="the model cannot decide like the one .* decision='predict' needs a model with"
    ):
        NICE.load(path, model=Scorecard().predict_proba)


def test_a_model_that_differs_for_one_stored_row_only_is_refused(tmp_path):
    table = np.arange(20.0).reshape(-1, 1)
    model = lambda X: np.column_stack([X[:, 0] < 9, X[:, 0] >= 9]).astype(float)
    path = saved(NICE(model).fit(table, table[:, 0] >= 9), tmp_path)
    other = lambda X: np.where(X == 5.0, [[0.9, 0.1]], model(X))
    with pytest.raises(
        ModelError, match="for training row 5 it gave False a probability of 1 then and gives it 0.9 now"
    ):
        NICE.load(path, model=other)


def test_an_explainer_with_another_search_comes_back(tmp_path):
    nice = NICE(Scorecard(), search="thorough", optimize="balanced", neighbors=5).fit(X[:50], Y[:50])
    assert_comes_back(nice.with_search(search="greedy", neighbors=1, optimize="proximity"), tmp_path, FEW)
    again = NICE.load(saved(nice, tmp_path), model=Scorecard())
    assert_same(
        again.with_search(optimize="plausibility").explain(FEW), nice.with_search(optimize="plausibility").explain(FEW)
    )


def test_without_pyarrow_it_says_what_to_install(path, monkeypatch, tmp_path):
    nice = NICE(Scorecard()).fit(X[["age", "income"]], Y)
    for module in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for use in (lambda: nice.save(tmp_path / "a.nice"), lambda: NICE.load(path, model=Scorecard())):
        with pytest.raises(ImportError, match=r"an explainer in a file needs pyarrow.*pip install 'nicecf\[files\]'"):
            use()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value",
    [None, True, 2**70, -0.0, float("inf"), "\ud800", b"\0", Decimal("1E+3"), (1, (2,)), {"a": [1]}, {1: "a", "1": 2},
     {"type": "a"}, pd.Interval(0, 1, "left"), np.float32(0.1), np.bool_(True), np.str_("a"), np.bytes_(b"a")],
    ids=repr,
)  # fmt: skip
def test_values_come_back_from_json_as_what_they_were(value):
    again = json_values.from_json(json.loads(json.dumps(json_values.to_json(value), allow_nan=False)))
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_markers_of_missing_values_come_back_from_json():
    for value in (float("nan"), pd.NA, pd.NaT):
        assert repr(json_values.from_json(json_values.to_json(value))) == repr(value)
    with pytest.raises(json_values.NotHeld, match="set"):
        json_values.to_json([{1, 2}])


def test_numbers_that_python_has_no_word_for_are_not_held():
    for value in (np.longdouble(1), [np.longdouble("0.1")], np.complex128(1j), np.void(b"a"), np.datetime64("2020")):
        with pytest.raises(json_values.NotHeld):
            json_values.to_json(value)
    for value in (Decimal("1E+99999999"), Decimal("1E-99999999"), Decimal("sNaN"), Decimal("1" * 10_001)):
        with pytest.raises(json_values.NotHeld, match="Decimal"):
            json_values.to_json(value)


def test_what_is_nested_too_deeply_is_not_held():
    value, written = (), []
    for _ in range(10_000):
        value, written = (value,), [written]
    with pytest.raises(json_values.NotHeld, match="tuple nested too deeply"):
        json_values.to_json(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        json_values.from_json(written)


NEVER_WRITTEN = [
    ("numpy", ["|V2147483648", 2**31]),
    ("numpy", ["|V2147483648", 0]),
    ("numpy", ["<U2147483647", 5]),
    ("numpy", ["|O", 1]),
    ("numpy", ["<M8[ns]", 1]),
    ("numpy", ["<f16", 1.0]),
    ("numpy", ["<c16", 1.0]),
    ("numpy", ["i4,i4", 1]),
    ("numpy", ["|i1", 300]),
    ("numpy", ["|u1", -1]),
    ("numpy", ["<i8", 1.5]),
    ("numpy", ["<i8", True]),
    ("numpy", ["<i8", "1"]),
    ("numpy", ["|b1", 1]),
    ("numpy", ["<f2", 1e10]),
    ("numpy", ["<f4", 0.1]),
    ("numpy", ["<f8", [1.0]]),
    ("numpy", ["<U1", {"type": "bytes", "value": "YQ=="}]),
    ("numpy", [1, 1]),
    ("numpy", ["<i8"]),
    ("numpy", "<i8"),
    ("float", "1.5"),
    ("float", 1.5),
    ("float", "infinity"),
    ("tuple", "abc"),
    ("tuple", {"a": 1}),
    ("bytes", "YQ"),
    ("bytes", "Y Q = ="),
    ("bytes", "é"),
    ("bytes", 5),
    ("decimal", 5),
    ("decimal", "1E+999999999999999999"),
    ("decimal", "1E+99999999"),
    ("decimal", "1" * 100_000),
    ("decimal", "sNaN"),
    ("decimal", "\uff11"),
    ("decimal", " 1_0"),
    ("decimal", "one"),
    ("interval", [1, 0, "left"]),
    ("interval", [0, 1, "somewhere"]),
    ("interval", ["a", "b", "left"]),
    ("interval", [0, 1]),
    ("interval", 5),
    ("NA", 1),
    ("NaT", "x"),
    ("dict", [[1, 2], [1, 3]]),
    ("dict", [[[1], 2]]),
    ("dict", [[1, 2, 3]]),
    ("dict", {"a": 1}),
    ("file", "/etc/passwd"),
    (["float"], "inf"),
    (None, None),
]


@pytest.mark.parametrize(("kind", "value"), NEVER_WRITTEN, ids=lambda one: str(one)[:40])
def test_what_is_never_written_is_not_read(kind, value):
    with pytest.raises(ValueError, match="."):
        json_values.from_json({"type": kind, "value": value})


def test_a_type_without_a_value_or_with_more_is_not_read():
    for wrong in ({"type": "NA"}, {"type": "NA", "value": None, "more": 1}, {1, 2}, object(), {1: 2}, float("nan")):
        with pytest.raises(ValueError, match="."):
            json_values.from_json(wrong)


# ---- every leaf and every array of a file, forged


SMALL = pd.DataFrame(
    {
        "age": [20, 35, 42, 53, 64, 35, 20, 64, 42, 39, 39, 53],
        "income": [0.5, 1.5, 2.5, None, 4.5, 1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5],
        "home": ["own", "rent", None, "own", "rent", "own", "rent", "own", "own", "rent", "own", "rent"],
        "is_member": [True, False] * 6,
        "constant": [7] * 12,
    }
)


class ByAge:
    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(-(X["age"].to_numpy(float) - 40.5) / 10))
        return np.column_stack([1 - share, share])


def small(**options):
    return NICE(ByAge(), **options).fit(SMALL, (SMALL["age"] > 40).astype(int))


FORGED = {
    "plain": {"justified": False},
    "all": {
        "optimize": "plausibility", "share_donor": False, "min_count": 2, "feature_weights": {"age": 2.0},
        "constraints": Constraints(immutable=["is_member"], ranges={"income": (None, 9.0)}, max_changes=4),
        "decision": {1: 0.45}, "min_probability": 0.2, "random_state": 3,
    },
}  # fmt: skip
REFUSED = (FileError, ModelError, OptionError)


@pytest.fixture(params=FORGED)
def forged(request, tmp_path, monkeypatch):
    """Forge a file: load it, and see that it is refused, or gives the answers of the one that was saved."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # some thousand files, of which none must last
    nice = small(**FORGED[request.param])
    path = saved(nice, tmp_path)
    manifest, members = archive.read(path, "0")
    manifest = {name: value for name, value in manifest.items() if name not in ("format", "version", "nicecf", "notes")}
    expected = nice.explain(SMALL.iloc[:2])
    assert expected.found.all()

    def check(what, manifest, members):
        with monkeypatch.context() as patched:
            dumps = json.dumps
            patched.setattr(json, "dumps", lambda value, **options: dumps(value, **{**options, "allow_nan": True}))
            archive.write(tmp_path / "forged.nice", manifest, members, by="0")
        try:
            again = NICE.load(tmp_path / "forged.nice", model=ByAge())
        except REFUSED:
            return False
        except Exception as error:
            raise AssertionError(f"{what} raised {type(error).__name__}: {error}") from error
        try:
            assert_same(again.explain(SMALL.iloc[:2]), expected)
        except Exception as error:
            raise AssertionError(f"{what} was loaded: {error}") from error
        return True

    assert check("nothing", manifest, members)
    return manifest, members, check


@pytest.mark.parametrize("share", [9, *deep(1)])
def test_no_leaf_of_a_manifest_can_be_forged_to_other_answers(forged, share):
    manifest, members, check = forged
    n_loaded = n_refused = 0
    is_plain = manifest["autoencoder"] is None
    for turn, (path, value) in enumerate(leaves(manifest)):
        if is_plain and path[:1] not in [("table",), ("scales",), ("n_decided",), ("privacy",), ("weights",)]:
            continue  # the other parts are those of the one with all options
        for new in others(value)[turn % share :: share] if path else ():
            is_loaded = check(f"{new!r} at {path}", changed_at(manifest, path, new), members)
            n_loaded, n_refused = n_loaded + is_loaded, n_refused + (not is_loaded)
    assert n_refused > 10 * n_loaded


@pytest.mark.deep
def test_no_key_of_a_manifest_can_be_left_out_or_added(forged):
    manifest, members, check = forged
    for path, value in leaves(manifest):
        if isinstance(value, dict):
            check(f"more at {path}", changed_at(manifest, path, {**value, "more": 1}), members)
            for key in value:
                check(
                    f"no {key} at {path}",
                    changed_at(manifest, path, {k: v for k, v in value.items() if k != key}),
                    members,
                )


@pytest.mark.deep
def test_no_array_can_be_forged_to_other_answers(forged):
    manifest, members, check = forged
    for name, held in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(held))
            wrong = [
                -array,
                array[:-1],
                array[::-1],
                np.zeros_like(array),
                array * 0 + array.flat[0],
                array.astype(np.float32),
            ]
            if array.dtype.kind == "f":
                for bad in (np.nan, np.inf, -np.inf, -1.0, 1e308, 0.5):
                    one = array.copy()
                    one.flat[0] = bad
                    wrong += [one, np.full_like(array, bad)]
            else:
                for bad in (2**62, 1):
                    one = array.copy()
                    one.flat[-1] = bad
                    wrong.append(one)
            for number, new in enumerate(wrong):
                if not np.array_equal(new, array, equal_nan=array.dtype.kind == "f") or new.dtype != array.dtype:
                    check(f"{name}, {number}", manifest, {**members, name: arrays.npy(new)})
        check(f"{name} cut off", manifest, {**members, name: held[:-8]})
        check(f"no {name}", manifest, {one: other for one, other in members.items() if one != name})


def test_no_table_can_be_forged_to_what_it_cannot_be(forged):
    manifest, members, check = forged

    def with_column(name, cells):
        forged_members = dict(members)
        at = lambda table: table.schema.get_field_index(name)
        change = lambda table: table.set_column(
            at(table), table.schema.field(name), pa.chunked_array([cells(table[name].combine_chunks())])
        )
        table_of(change)(manifest, forged_members)
        return forged_members

    floats = lambda value: lambda cells: pa.array([value, *cells.to_pylist()[1:]], pa.float64(), from_pandas=False)
    for value in (float("nan"), float("inf"), -1e300, 1e308):
        assert not check(f"income {value}", manifest, with_column("income", floats(value)))
    beyond = lambda cells: pa.DictionaryArray.from_arrays(
        pa.array([99] * len(cells), pa.int8()), cells.dictionary, safe=False
    )
    assert not check("codes beyond the levels", manifest, with_column("home", beyond))
    far = lambda cells: pa.array([10_000, *cells.to_pylist()[1:]], cells.type)
    assert not check("age beyond the training data", manifest, with_column("age", far))


@pytest.mark.parametrize(
    "wrong", [None, [], [1], "x", [None, None], [2**70, 1], ["1", "1"], [True, True], [0.5, 1e308]]
)
def test_forged_errors_of_a_plausibility_are_refused(wrong, tmp_path):
    measure = lambda X: X["age"].to_numpy(float) / 100
    path = saved(small(optimize="plausibility", plausibility=measure), tmp_path)
    with pytest.raises(REFUSED):
        NICE.load(
            forge(path, tmp_path, said(lambda m: m.update(plausibility=wrong))), model=ByAge(), plausibility=measure
        )


SCALES = {"negative": -1.0, "zero": 0.0, "huge": 1e308, "large": 1e100, "tiny": 1e-9, "other": 45.0}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("options", [{}, {"scale": "std"}, {"share_donor": False}], ids=str)
def test_a_scale_that_the_training_data_cannot_have_is_refused(name, options, tmp_path):
    path = saved(small(**options), tmp_path)
    change = said(lambda m: m["scales"].__setitem__(0, SCALES[name]))
    with pytest.raises(FileError, match="forged.nice is damaged: .*scale"):
        NICE.load(forge(path, tmp_path, change), model=ByAge())


def test_a_forged_dtype_is_no_way_to_all_memory(tmp_path):
    array = np.array([["a", "0"], ["b", "0"], ["a", "1"], ["b", "1"]])
    model = lambda X: np.column_stack([1 - X[:, 1].astype(float), X[:, 1].astype(float)])
    path = saved(NICE(model, categorical_features=[0, 1]).fit(array, [0, 0, 1, 1]), tmp_path)
    for dtype in (
        "V2147483647",
        "<U536870911",
        "S2147483647",
        "O",
        "i4,i4",
        "M8[s]",
        "c16",
        "float128",
        "x",
        5,
        None,
        ["<U1"],
    ):
        change = said(lambda m, dtype=dtype: m["table"].update(header=dtype))
        if dtype != "O":
            with pytest.raises(FileError, match="is damaged"):
                NICE.load(forge(path, tmp_path, change), model=model)


@pytest.mark.parametrize("wrong", ["pandas.period", "test.unknown"])
def test_a_forged_extension_type_is_not_read(wrong, tmp_path):
    nice = small()
    path = saved(nice, tmp_path)

    def marked(table):
        metadata = {"ARROW:extension:name": wrong, "ARROW:extension:metadata": '{"freq": "D"}'}
        field = pa.field("age", pa.int64(), metadata=metadata)
        return table.cast(pa.schema([field, *[table.schema.field(at) for at in range(1, table.num_columns)]]))

    with pytest.raises(FileError, match=f"is damaged: .*'{wrong}'"):
        NICE.load(forge(path, tmp_path, table_of(marked)), model=ByAge())
    frame = SMALL.assign(age=SMALL["age"].astype("int64[pyarrow]"))
    path = saved(NICE(ByAge()).fit(frame, (SMALL["age"] > 40).astype(int)), tmp_path)
    schema = pa.schema([pa.field("column", pa.int64(), metadata={"ARROW:extension:name": wrong})]).serialize()
    change = said(lambda m: m["table"]["columns"][0]["dtype"].update(schema=b64encode(schema.to_pybytes()).decode()))
    # Where pandas has registered its own types, Arrow fails on the one without its parameters.
    with pytest.raises(FileError, match=f"is damaged: .*('{wrong}'|JSONDecodeError)"):
        NICE.load(forge(path, tmp_path, change), model=ByAge())


@pytest.mark.parametrize("low", [0, 2**52 - 1, 2**53 - 4])
@pytest.mark.parametrize("n_values", [1, 4])
@pytest.mark.parametrize("scale", ["range", "std"])
def test_the_largest_whole_numbers_come_back(low, n_values, scale, tmp_path):
    frame = pd.DataFrame({"a": low + np.arange(12) % n_values, "b": np.arange(12.0)})
    model = lambda X: np.column_stack([X["b"] < 6, X["b"] >= 6]).astype(float)
    nice = NICE(model, classes=[0, 1], justified=False, scale=scale).fit(frame)
    assert [int(of.counts.sum()) for of in nice._fitted.statistics.columns] == [12, 12]
    again = NICE.load(saved(nice, tmp_path), model=model)
    assert_same(again.explain(frame), nice.explain(frame))


def test_a_file_of_before_donors_could_be_mixed_means_one_donor(tmp_path):
    nice = NICE(Scorecard(), search="thorough", optimize="proximity", mix_donors=False).fit(X, Y)
    path = saved(nice, tmp_path)
    record = nice.explain(FEW)[0].to_record()
    manifest, members = saving.taken_apart(nice)
    for of in (manifest["options"], manifest["described"]):
        del of["mix_donors"]
    # Nor were there training rows that are no donors.
    n_donors = manifest["index"]["n_donors"]
    assert manifest["index"].pop("n_others")
    donors = nice._fitted.neighborhood.donors.index
    members |= {
        "training.arrow": saving.table_to_arrow(donors.values, nice._fitted.schema),
        "positions.npy": arrays.npy(donors.positions[:n_donors]),
    }
    archive.write(path, {**manifest, "notes": {}}, members, by="0.1.0")
    again = NICE.load(path, model=Scorecard())
    assert again.mix_donors is False
    assert_same(again.explain(FEW), nice.explain(FEW))
    before = {key: value for key, value in record.items() if key != "digest"}
    before["options"] = {name: value for name, value in record["options"].items() if name != "mix_donors"}
    assert replay(before | {"digest": digest_of(before)}, again).is_same
