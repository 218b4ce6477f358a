"""Draw the pictures of the documentation: ``python docs/make_pictures.py`` writes them to docs/pictures.

Each one light and dark; the same bytes every time, with one version of matplotlib. The loan book, its model and rows
are those of docs/pictures.md; the two figures of the paper are drawn on tables made for them; pictures of tutorials
show what the blocks of their pages have found.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image  # matplotlib brings it
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nicecf import NICE, Constraints, Wording, plots
from nicecf.benchmark.datasets import loan_book
from nicecf.plots import Picture

FOLDER = Path(__file__).parent / "pictures"
# Text and flat colours: with so many shades nobody sees the difference, in a third of the bytes.
_COLORS = 256


def main() -> None:
    """Write all pictures, and say how large they are."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in [*of_the_loan_book(), ("paper-1", figure_1()), ("paper-2", figure_2()), *of_the_tutorials()]:
        for ground, dark in (("", False), ("-dark", True)):
            path = FOLDER / f"{name}{ground}.png"
            path.write_bytes(_smaller(draw(dark), path))
            print(f"{path.relative_to(FOLDER.parent)}  {path.stat().st_size / 1000:.0f} kB")


def of_the_loan_book() -> Iterator[tuple[str, Callable[[bool], Picture]]]:
    """The six pictures of docs/pictures.md."""
    X, y = loan_book(1_500)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=SimpleImputer(strategy="median"),
    )
    model = make_pipeline(encode, RandomForestClassifier(50, min_samples_leaf=3, random_state=0))
    model.fit(X[:1_200], y[:1_200])
    denied = X[1_200:][model.predict(X[1_200:]) == "denied"]
    cfs = NICE(model).fit(X[:1_200], y[:1_200]).explain(denied)
    one = cfs[5]
    yield "changes", lambda dark: plots.changes(one, dark=dark)
    # Of the paper's walk, which takes more steps, by what an applicant can do something about.
    own = ["savings", "monthly_debt", "utilisation", "loan_amount", "term_months"]
    rules = Constraints(immutable=[name for name in X if name not in own])
    walked = NICE(model, search="greedy", constraints=rules).fit(X[:1_200], y[:1_200]).explain(denied[58:59])[0]
    yield "walk", lambda dark: plots.walk(walked, dark=dark)
    yield "regions", lambda dark: plots.regions(cfs[2], dark=dark)
    variants = {
        goal: NICE(model, optimize=goal, search="greedy").fit(X[:1_200], y[:1_200]).explain(denied[5:6])[0]
        for goal in ("none", "sparsity", "proximity", "plausibility")
    }
    yield "variants", lambda dark: plots.variants(variants, dark=dark)
    balanced = NICE(model, optimize="balanced").fit(X[:1_200], y[:1_200])
    thorough = balanced.explain(denied[5:6])
    yield "pareto", lambda dark: plots.pareto(thorough, dark=dark)
    yield "frequencies", lambda dark: plots.frequencies(cfs, dark=dark)


def figure_1() -> Callable[[bool], Picture]:
    """The paper's first figure: a loan by age and income, for somebody of 39 years with 32,000 a year."""
    random = np.random.default_rng(7)
    X = pd.DataFrame({"income": random.normal(38_000, 9_000, 400).round(-2), "age": random.integers(21, 66, 400)})
    X.loc[0] = [40_000, 44]
    points = X["income"] / 1_000 + 0.35 * X["age"]
    # Nobody else who is approved is as near: the first is the donor.
    X = X[(points < 52) | ((X["income"] - 32_000).abs() / 1_000 + (X["age"] - 39).abs() > 16) | (X.index == 0)]

    def model(X: pd.DataFrame) -> np.ndarray:
        p = 1 / (1 + np.exp(-(X["income"] / 1_000 + 0.35 * X["age"] - 52) / 3))
        return np.column_stack([p, 1 - p])

    labels = np.where(model(X)[:, 0] > 0.5, "approved", "denied")
    nice = NICE(model, search="greedy").fit(X, labels)
    one = nice.explain(pd.DataFrame({"income": [32_000.0], "age": [39]}))[0]
    wording = Wording(units={"income": "${}", "age": "{} years"})
    return lambda dark: plots.regions(one, ["income", "age"], dark=dark, wording=wording)


def figure_2() -> Callable[[bool], Picture]:
    """The paper's second figure: six features, of which three differ; the fifth, then the second, is the donor's."""
    names = [f"feature {j}" for j in range(1, 7)]
    X = pd.DataFrame([["a", "b", "c", "d", "e", "f"], ["a", "B", "C", "d", "E", "f"]], columns=names)

    def model(X: pd.DataFrame) -> np.ndarray:
        p = 0.15 + 0.25 * (X["feature 2"] == "B") + 0.05 * (X["feature 3"] == "C") + 0.3 * (X["feature 5"] == "E")
        return np.column_stack([1 - p, p])

    found = {
        name: NICE(model, optimize=goal, search="greedy").fit(X, ["no", "yes"]).explain(X[:1])[0]
        for name, goal in (("donor", "none"), ("counterfactual", "sparsity"))
    }
    return lambda dark: plots.variants(found, dark=dark)


def of_the_tutorials() -> Iterator[tuple[str, Callable[[bool], Picture]]]:
    """One picture of each tutorial that has one."""
    pages = ("credit", "fraud", "multiclass", "dates")
    credit, fraud, wines, dates = (_names_after(f"tutorials/{page}.md") for page in pages)
    yield "letter", lambda dark: plots.changes(credit["cfs"][7], dark=dark, wording=credit["wording"])
    yield "alerts", lambda dark: plots.frequencies(fraud["cfs"], dark=dark)
    yield "wines", lambda dark: plots.regions(wines["several"][2], dark=dark)
    yield "dates", lambda dark: plots.changes(dates["cfs"][4], dark=dark)


def _names_after(page: str) -> dict[str, Any]:
    """What the blocks of a page define, once all of them have run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```$", (FOLDER.parent / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    return names


def _smaller(picture: Picture, path: Path) -> bytes:
    """A PNG of the picture in few colours."""
    picture.save(path)
    few = Image.open(path).convert("RGB").quantize(_COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, format="png", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
