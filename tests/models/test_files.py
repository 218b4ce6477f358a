"""Models in files: each kind answers as the model did, and what cannot be loaded is said in one line."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from nicecf import NICE, FileError, ModelError
from nicecf.benchmark.datasets import loan_book
from nicecf.models import files as modelfiles
from nicecf.models.files import load

NUMBERS = ["age", "income", "loan_amount"]
WORDS = ["employment", "purpose"]


@pytest.fixture(scope="module")
def book() -> tuple[pd.DataFrame, Any]:
    X, y = loan_book(400, seed=5)
    return X[[*NUMBERS, *WORDS]].astype(dict.fromkeys(NUMBERS, float)), y


def pipeline(classifier: Any) -> Any:
    by_kind = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(by_kind, classifier)


@pytest.fixture(scope="module")
def linear(book) -> Any:
    return pipeline(LogisticRegression(max_iter=1_000)).fit(*book)


@pytest.fixture(scope="module")
def forest(book) -> Any:
    return pipeline(RandomForestClassifier(5, random_state=0)).fit(*book)


def refusal(spec: Any, **options: Any) -> str:
    with pytest.raises(FileError) as error:
        load(spec, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def assert_same(model: Any, loaded: Any, X: pd.DataFrame) -> None:
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert list(loaded.classes_) == list(model.classes_)


class TestSkops:
    @pytest.fixture
    def dump(self) -> Any:
        return pytest.importorskip("skops.io").dump

    def test_a_model_of_known_types_is_loaded(self, tmp_path, dump, linear, book):
        dump(linear, tmp_path / "m.skops")
        assert_same(linear, load(tmp_path / "m.skops"), book[0])

    def test_one_that_would_become_much_more_memory_is_not_read(self, dump, linear, book, tmp_path, monkeypatch):
        path = tmp_path / "m.skops"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("schema.json", b" " * 110_000_000)
        with monkeypatch.context() as patch:
            patch.setattr("zlib.decompressobj", lambda *_: pytest.fail("something is decompressed"))
            assert "and would become 110,000,000: no model is compressed so much" in refusal(path)
        dump(linear, path, compression=zipfile.ZIP_DEFLATED)  # as anybody may
        assert_same(linear, load(path), book[0])

    def test_types_that_are_not_known_to_be_safe_must_be_named(self, tmp_path, dump, book):
        dump(pipeline(OwnClassifier()).fit(*book), tmp_path / "m.skops")
        name = f"{__name__}.OwnClassifier"
        message = refusal(tmp_path / "m.skops")
        assert f"holds types that are not known to be safe: {name}. If you trust" in message
        assert f"--trust {name}" in message
        assert isinstance(load(tmp_path / "m.skops", trust=[name])[-1], OwnClassifier)

    def test_a_forest_is_loaded_once_its_types_are_trusted(self, tmp_path, dump, forest, book):
        import skops.io

        dump(forest, tmp_path / "m.skops")
        assert_same(
            forest, load(tmp_path / "m.skops", trust=skops.io.get_untrusted_types(file=tmp_path / "m.skops")), book[0]
        )

    @pytest.mark.parametrize("content", [b"", b"junk" * 99])
    def test_a_damaged_file_is_said_in_one_line(self, tmp_path, dump, content):
        (tmp_path / "m.skops").write_bytes(content)
        assert "is not a skops file, or is damaged" in refusal(tmp_path / "m.skops")

    def test_a_file_that_lost_its_middle_is_said_in_one_line(self, tmp_path, dump, linear):
        dump(linear, tmp_path / "m.skops")
        content = (tmp_path / "m.skops").read_bytes()
        (tmp_path / "m.skops").write_bytes(content[:200] + bytes(200) + content[400:])
        assert "cannot be loaded" in refusal(tmp_path / "m.skops")

    def test_without_skops_the_message_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "skops.io", None)
        (tmp_path / "m.skops").write_bytes(b"")
        with pytest.raises(ImportError, match=r"loading .*m.skops needs skops.*pip install 'nicecf\[skops\]'"):
            load(tmp_path / "m.skops")


class TestOnnx:
    @pytest.fixture
    def to_onnx(self) -> Any:
        pytest.importorskip("onnxruntime")
        return pytest.importorskip("skl2onnx")

    def saved(self, to_onnx: Any, path: Path, model: Any, types: Any, *, zipmap: bool) -> Path:
        options = {"zipmap": zipmap} if hasattr(model, "predict_proba") else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = to_onnx.convert_sklearn(model, initial_types=types, options=options)
        path.write_bytes(made.SerializeToString())
        return path

    @pytest.fixture(params=[True, False], ids=["zipmap", "tensor"])
    def zipmap(self, request) -> bool:
        return bool(request.param)

    def test_one_tensor_for_all_columns(self, tmp_path, to_onnx, book, zipmap):
        X = book[0][NUMBERS]
        y = np.where(X["income"] > X["income"].median(), "high", "low")
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), y)
        types = [("X", to_onnx.common.data_types.FloatTensorType([None, 3]))]
        loaded = load(self.saved(to_onnx, tmp_path / "m.onnx", model, types, zipmap=zipmap))
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X.to_numpy()), atol=1e-5)
        np.testing.assert_allclose(loaded.predict_proba(X.to_numpy()), model.predict_proba(X.to_numpy()), atol=1e-5)
        assert loaded.predict(X[:5]).tolist() == model.predict(X.to_numpy()[:5]).tolist()
        assert list(getattr(loaded, "classes_", [])) == (["high", "low"] if zipmap else [])
        cfs = NICE(loaded).fit(X, y).explain(X[:5])
        assert cfs.found.all()
        assert list(cfs.classes) == ["high", "low"]
        with pytest.raises(ModelError, match="takes 3 columns, but the table has 2"):
            loaded.predict_proba(X[["age", "income"]])

    def test_one_input_for_each_column_by_its_name(self, tmp_path, to_onnx, book, zipmap):
        X, y = book
        X = X.rename(columns={"income": "income (EUR)"}).assign(loan_amount=X["loan_amount"].where(X["age"] > 25))
        model = pipeline(LogisticRegression(max_iter=1_000)).fit(X, y)
        data_types = to_onnx.common.data_types
        types = [
            (name, data_types.StringTensorType([None, 1]) if name in WORDS else data_types.FloatTensorType([None, 1]))
            for name in X
        ]
        loaded = load(self.saved(to_onnx, tmp_path / "m.onnx", model, types, zipmap=zipmap))
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-5)
        shuffled = X[["purpose", "age", "loan_amount", "employment", "income (EUR)"]].assign(unused=1)
        np.testing.assert_array_equal(loaded.predict_proba(shuffled), loaded.predict_proba(X))
        assert loaded.predict_proba(X[:2].assign(purpose=None)).shape == (2, 2)
        with pytest.raises(
            ModelError, match="takes 'age', which is not a column of the table; its columns are 'income"
        ):
            loaded.predict_proba(X.drop(columns="age"))
        with pytest.raises(ModelError, match="takes numbers in 'age', but column 'age' holds 'old'"):
            loaded.predict_proba(X.assign(age="old"))

    def test_a_model_that_refuses_what_it_has_not_seen_is_quiet_about_it(self, tmp_path, to_onnx, book, capfd):
        X, y = book[0][WORDS], book[1]
        model = make_pipeline(OneHotEncoder(handle_unknown="error"), LogisticRegression()).fit(X, y)
        types = [("X", to_onnx.common.data_types.StringTensorType([None, 2]))]
        loaded = load(self.saved(to_onnx, tmp_path / "m.onnx", model, types, zipmap=True))
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-5)
        with pytest.raises(ModelError, match="the model raised"):
            NICE(loaded).fit(X, y).explain(X[:1].assign(purpose="unheard of"))
        assert capfd.readouterr().err == ""

    def test_whole_numbers_must_be_whole(self, tmp_path, to_onnx, book):
        X, y = book[0][NUMBERS], book[1]
        model = LogisticRegression(max_iter=1_000).fit(X.to_numpy(), y)
        types = [("X", to_onnx.common.data_types.Int64TensorType([None, 3]))]
        loaded = load(self.saved(to_onnx, tmp_path / "m.onnx", model, types, zipmap=False))
        assert loaded.predict_proba(X[:3]).shape == (3, 2)
        with pytest.raises(ModelError, match="takes whole numbers in 'X', but column 'age' has other numbers"):
            loaded.predict_proba(X[:3].assign(age=[1.5, 2, 3]))

    def test_a_model_without_probabilities_is_said_in_one_line(self, tmp_path, to_onnx, book):
        X, y = book[0][NUMBERS], book[1]
        model = LinearRegression().fit(X.to_numpy(), y == "denied")
        types = [("X", to_onnx.common.data_types.FloatTensorType([None, 3]))]
        path = self.saved(to_onnx, tmp_path / "m.onnx", model, types, zipmap=False)
        assert "has no output of probabilities, which an explanation needs: its outputs are 'variable" in refusal(path)

    @pytest.mark.parametrize("content", [b"", b"junk" * 9])
    def test_a_damaged_file_is_said_in_one_line(self, tmp_path, to_onnx, content, capfd):
        (tmp_path / "m.onnx").write_bytes(content)
        assert "cannot be loaded as ONNX" in refusal(tmp_path / "m.onnx")
        assert capfd.readouterr().err == ""

    def test_without_onnxruntime_the_message_says_what_to_install(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        (tmp_path / "m.onnx").write_bytes(b"")
        with pytest.raises(ImportError, match=r"needs onnxruntime.*pip install 'nicecf\[onnx\]'"):
            load(tmp_path / "m.onnx")


class OwnClassifier(LogisticRegression):
    """A type that skops does not know."""


class Bomb:
    """Whose loading leaves a trace."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


class TestPickle:
    @pytest.mark.parametrize("ending", [".pkl", ".pickle", ".joblib"])
    def test_it_is_loaded_only_if_trusted(self, tmp_path, forest, book, ending):
        path = tmp_path / f"m{ending}"
        if ending == ".joblib":
            joblib.dump(forest, path)
        else:
            path.write_bytes(pickle.dumps(forest))
        message = refusal(path)
        assert "loading one runs any code in it" in message
        assert "add --trust-pickle" in message
        assert_same(forest, load(path, trust_pickle=True), book[0])

    def test_nothing_of_it_runs_before_that(self, tmp_path):
        trace = tmp_path / "trace"
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(Bomb(trace)))
        refusal(tmp_path / "m.pkl")
        assert not trace.exists()
        load(tmp_path / "m.pkl", trust_pickle=True)
        assert trace.exists()

    @pytest.mark.parametrize("content", [b"", b"junk" * 9, pickle.dumps(list(range(999)))[:-20]])
    def test_a_damaged_file_is_said_in_one_line(self, tmp_path, content):
        (tmp_path / "m.pkl").write_bytes(content)
        assert "cannot be loaded" in refusal(tmp_path / "m.pkl", trust_pickle=True)

    def test_a_class_that_is_not_there_is_said_in_one_line(self, tmp_path):
        (tmp_path / "m.pkl").write_bytes(b"cno_such_module\nModel\n.")
        assert "No module named 'no_such_module'" in refusal(tmp_path / "m.pkl", trust_pickle=True)

    def test_another_version_of_scikit_learn_is_one_warning(self, tmp_path, forest, book, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr("sklearn.base.__version__", "1.0.2")
            (tmp_path / "m.pkl").write_bytes(pickle.dumps(forest))
        with pytest.warns(UserWarning, match="m.pkl was saved with scikit-learn 1.0.2, but .* is installed") as caught:
            loaded = load(tmp_path / "m.pkl", trust_pickle=True)
        assert len(caught) == 1
        assert_same(forest, loaded, book[0])


class TestPython:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch) -> Path:
        (tmp_path / "nicecf_own_models.py").write_text(
            "class bank:\n    @staticmethod\n    def credit(X):\n        return [[0.5, 0.5]] * len(X)\n"
        )
        (tmp_path / "nicecf_broken_import.py").write_text("import no_such_thing\n")
        (tmp_path / "nicecf_broken.py").write_text("raise ValueError('two\\nlines')\n")
        (tmp_path / "nicecf_script.py").write_text("raise SystemExit(3)\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
        return tmp_path

    def test_an_object_of_a_module_in_the_current_folder(self, folder):
        assert load("nicecf_own_models:bank.credit")([1, 2]) == [[0.5, 0.5]] * 2

    def test_what_is_not_there_is_said_in_one_line(self, folder):
        assert "there is no module 'no_such'" in refusal("no_such:model")
        assert "there is no module 'sklearn.nothing'" in refusal("sklearn.nothing:model")
        message = refusal("nicecf_own_models:bnk")
        assert "there is no 'bnk' in nicecf_own_models. Did you mean 'bank'?" in message
        assert "there is no 'debit'" in refusal("nicecf_own_models:bank.debit")

    def test_what_its_code_raises_is_said_in_one_line(self, folder):
        assert "importing it raised ModuleNotFoundError: No module named 'no_such_thing'" in refusal(
            "nicecf_broken_import:m"
        )
        assert "importing it raised ValueError: two lines" in refusal("nicecf_broken:m")
        assert "importing it raised SystemExit: 3" in refusal("nicecf_script:m")


def test_what_is_no_model_is_said_in_one_line(tmp_path):
    assert "use a file that ends in .onnx, .skops, .json, .ubj, .txt, .pkl" in refusal("model.h5")
    assert "or module:object" in refusal("model")
    assert f"there is no file {tmp_path / 'm.skops'}." in refusal(tmp_path / "m.skops")
    (tmp_path / "f.onnx").mkdir()
    assert "is a folder" in refusal(tmp_path / "f.onnx")


def test_a_file_has_a_checksum_and_a_module_has_none(tmp_path):
    (tmp_path / "m.pkl").write_bytes(b"abc")
    assert modelfiles.checksum(tmp_path / "m.pkl") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert modelfiles.checksum("bank:model") is None


@pytest.mark.deep
def test_the_libraries_of_other_kinds_are_not_imported():
    code = "import sys\nfrom nicecf.models import files\nprint([m for m in ('onnxruntime', 'skops', 'onnx') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
