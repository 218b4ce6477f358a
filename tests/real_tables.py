"""Samples of real tables, explained here: what an engine is compared with."""

import os
from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE
from nicecf.benchmark.datasets import adult


def explained_here(name, n_rows=200):
    """A fitted explainer, rows with labels (customer), and the answers for them."""
    X, y = adult(os.environ["NICECF_DATA"]) if name == "adult" else covertype(os.environ["NICECF_DATA"])
    X, y = X.iloc[:4000], y.iloc[:4000]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    train, rows = slice(0, -n_rows), slice(-n_rows, None)
    model = make_pipeline(columns, RandomForestClassifier(20, random_state=0)).fit(X[train], y[train])
    nice = NICE(model, search="greedy").fit(X[train], y[train])
    rows = X[rows].assign(customer=[f"C{at}" for at in range(n_rows)])
    return nice, rows, nice.explain(rows.drop(columns="customer").set_axis(rows["customer"]))


def covertype(folder):
    table = pd.read_csv(Path(folder) / "raw" / "covertype" / "covertype.csv.gz", nrows=4000)
    return table.iloc[:, :-1], table.iloc[:, -1]
