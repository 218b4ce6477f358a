"""What an import brings, and what it does not."""

import subprocess
import sys
import types

import nicecf


def test_the_public_names_are_listed():
    public = {
        name
        for name, value in vars(nicecf).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert set(nicecf.__all__) == public
    assert nicecf.__all__ == sorted(nicecf.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_a_fresh_interpreter_imports_nothing_heavy():
    code = "import sys, nicecf; print([m for m in ('torch', 'polars', 'matplotlib', 'xgboost', 'numba', 'pyarrow.dataset') if m in sys.modules])"
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
