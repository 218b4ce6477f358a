"""``nicecf fit --ordinal``: the order of a category in a Parquet file counts, and a level that it lacks is refused."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE
from nicecf.cli import main

RATINGS = ["C", "B", "A"]


@pytest.mark.parametrize(("option", "scale"), [([], 2.0), (["--ordinal", "overlap"], 0.0)])
def test_an_order_in_a_file_counts_unless_overlap_is_asked_for(option, scale, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "rating": pd.Categorical(random.choice(RATINGS, 80), RATINGS, ordered=True),
            "income": random.integers(1, 9, 80),
        }
    )
    y = np.where(X["rating"].cat.codes + X["income"] / 4 > 2, "yes", "no")
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["rating"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    skops.io.dump(model, "model.skops")
    X.assign(y=y).to_parquet("train.parquet")
    given = ["--train", "train.parquet", "--label", "y", "--model", "model.skops", "--out", "some.nice"]
    assert main(["fit", *given, *option]) == 0
    assert NICE.load("some.nice", model=model)._fitted.distance.scales[0] == scale
    X.iloc[:5].assign(rating="D").to_csv("rows.csv", index=False)
    assert main(["explain", "some.nice", "rows.csv", "--out", "out.csv"]) == (0 if option else 1)
    said = capsys.readouterr().err
    assert ("line 2: column 'rating' holds 'D', which is not one of its levels" in said) == (not option)
