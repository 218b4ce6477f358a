"""What an import brings, and what it does not."""

import subprocess
import sys

import pytest

import nicecf


def test_every_public_name_is_there_and_listed():
    for name in nicecf.__all__:
        assert getattr(nicecf, name).__module__.startswith("nicecf."), name
    assert set(nicecf.__all__) <= set(dir(nicecf))
    assert nicecf.__all__ == sorted(nicecf.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'nicecf' has no attribute 'NIECE'"):
        nicecf.NIECE  # noqa: B018 - asking for it is the test


def test_the_package_itself_imports_nothing_but_the_standard_library():
    code = "import sys, nicecf; print([m for m in ('numpy', 'pandas', 'sklearn', 'scipy') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_fresh_interpreter_imports_nothing_heavy():
    code = "import sys; from nicecf import NICE; print([m for m in ('torch', 'polars', 'matplotlib', 'xgboost', 'numba', 'pyarrow.dataset', 'starlette', 'uvicorn', 'msgspec', 'pyspark', 'dask') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_get_params_and_clone_keep_the_fitted_model():
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    nice = nicecf.NICE(model, optimize="proximity", random_state=3)
    assert nice.get_params(deep=False)["optimize"] == "proximity"
    copy = clone(nice)
    assert copy is not nice
    assert copy.model is model
    assert copy.get_params(deep=False) == nice.get_params(deep=False)
    assert not hasattr(copy, "classes_")
    assert "optimize='proximity'" in repr(nice)


def test_learned_attributes_have_their_scikit_learn_names():
    import numpy as np

    nice = nicecf.NICE(lambda X: np.column_stack([X["a"], 1 - X["a"]]))
    import pandas as pd

    nice.fit(pd.DataFrame({"a": [0.0, 1.0]}), ["y", "n"])
    assert nice.classes_.tolist() == ["n", "y"]
    assert nice.feature_names_in_.tolist() == ["a"]
    assert nice.n_features_in_ == 1
