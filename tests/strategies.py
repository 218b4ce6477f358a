"""Small tables and models: few distinct values, so that ties happen; labels drawn apart from the model.

All numbers are halves and quarters, so that sums and differences of distances are exact and a tie is a tie.
"""

import functools
import zlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

import by_rules
from nicecf import NICE, Constraints


def fewer(share):
    """A part of the examples that the profile has: for properties of which one example is many searches."""
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


@dataclass(frozen=True)
class HashModel:
    """A model without any structure: the probabilities of a row are drawn from a hash of its values, in sixteenths.

    Picklable, the same for frames and arrays, and blind to dtypes.
    """

    n_classes: int
    seed: int

    def __call__(self, X):
        return np.array([self.probabilities(row) for row in as_lists(X)])

    def probabilities(self, row):
        draws = [zlib.crc32(f"{self.seed}:{c}:{row!r}".encode()) for c in range(self.n_classes)]
        parts = [0] * self.n_classes
        for k in range(16):
            parts[draws[k % self.n_classes] // (k + 7) % self.n_classes] += 1
        return [part / 16 for part in parts]


@dataclass(frozen=True)
class HashError:
    """A measure of plausibility without any structure, in eighths."""

    seed: int

    def __call__(self, X):
        return np.array([self.of(row) for row in as_lists(X)])

    def of(self, row):
        return zlib.crc32(f"error {self.seed}:{row!r}".encode()) % 8 / 8


@dataclass(frozen=True)
class Problem:
    rows: list
    labels: list
    to_explain: list
    is_categorical: list
    classes: list
    model: HashModel
    error: HashError
    target: object
    scale: str
    justified: bool

    @property
    def names(self):
        return [f"f{j}" for j in range(len(self.is_categorical))]

    @property
    def categorical_names(self):
        return [name for name, categorical in zip(self.names, self.is_categorical, strict=True) if categorical]

    def nice(self, optimize, model=None, **options):
        """The explainer that the problem asks for, not fitted yet."""
        return NICE(
            self.model if model is None else model,
            **options,
            optimize=optimize,
            scale=self.scale,
            justified=self.justified,
            classes=self.classes,
            plausibility=self.error,
            categorical_features=self.is_categorical,
        )

    def frame(self, rows):
        columns = {
            name: pd.Series([row[j] for row in rows], dtype=object if categorical else float)
            for j, (name, categorical) in enumerate(zip(self.names, self.is_categorical, strict=True))
        }
        return pd.DataFrame(columns)

    def array(self, rows):
        array = np.empty((len(rows), len(self.names)), dtype=object)
        for i, row in enumerate(rows):
            array[i] = row
        return array


def as_lists(X):
    """A table as lists of plain values: numbers as floats, missing as None."""
    if hasattr(X, "rows") and not isinstance(X, pd.DataFrame):
        rows = X.rows()
    else:
        rows = (X.to_numpy(dtype=object) if isinstance(X, pd.DataFrame) else X).tolist()
    return [[_plain(value) for value in row] for row in rows]


def _plain(value):
    if value is None or value is pd.NA or value != value:
        return None
    return value if isinstance(value, str) else float(value)


@functools.cache  # making a strategy takes longer than drawing from it
def _rows(kinds, *, known):
    """Rows of a table; its columns are categorical or not, hold missing values or not, and are constant or not."""

    def cell(is_categorical, maybe_missing, constant):
        maybe = [None] if maybe_missing else []
        if known and constant:
            return st.just("a" if is_categorical else 1.0)
        if is_categorical:
            return st.sampled_from(["a", "b", "c", *maybe, *([] if known else ["unseen"])])
        return st.sampled_from([0.0, 1.0, 2.0, *maybe, *([] if known else [-1.0, 1.5, 4.0])])

    return st.tuples(*(cell(*kind) for kind in kinds)).map(list)


@st.composite
def problems(draw, *, n_to_explain=None, missing=True):
    n_classes = draw(st.integers(2, 5))
    labels = {2: ["bad", "good"], 3: [1, 2, 3], 4: [-1, 0, 1, 2], 5: list("abcde")}[n_classes]
    is_categorical = draw(st.lists(st.booleans(), min_size=1, max_size=6))
    constant = draw(st.lists(st.sampled_from([False, False, False, True]), min_size=6, max_size=6))
    maybe_missing = missing and draw(st.booleans())
    kinds = tuple((one, maybe_missing, constant[j]) for j, one in enumerate(is_categorical))

    n_rows = draw(st.integers(1, 14))
    n = 1 if n_to_explain is None else draw(n_to_explain)
    rows = draw(st.lists(_rows(kinds, known=True), min_size=n_rows, max_size=n_rows))
    return Problem(
        rows=rows,
        labels=draw(st.lists(st.sampled_from(labels), min_size=n_rows, max_size=n_rows)),
        to_explain=draw(st.lists(_rows(kinds, known=draw(st.booleans())), min_size=n, max_size=n)),
        is_categorical=is_categorical,
        classes=labels,
        model=HashModel(n_classes, draw(st.integers(0, 10_000))),
        error=HashError(draw(st.integers(0, 10_000))),
        target=draw(
            st.one_of(
                st.just("other"),
                st.sampled_from(labels).map(lambda label: [label]),
                st.lists(st.sampled_from(labels), min_size=1, max_size=n_classes, unique=True),
            )
        ),
        scale=draw(st.sampled_from(["range", "std"])),
        justified=draw(st.booleans()),
    )


@st.composite
def rules_for(draw, p, *, per_row=False, limit=True):
    """Rules for a problem, by the positions of its features; values of training rows where values are named."""
    rules = {}
    for j, is_categorical in enumerate(p.is_categorical):
        values = sorted({row[j] for row in p.rows if row[j] is not None})
        kinds = ["free", "free", "immutable", "increasing", "decreasing"]
        kinds += ["allowed", "forbid"] if values else []
        kinds += [] if is_categorical else ["ranges", "step", "within"]
        kind = draw(st.sampled_from(kinds))
        if kind == "immutable":
            rules.setdefault("immutable", []).append(j)
        elif kind in ("increasing", "decreasing"):
            rules.setdefault(kind, {})[j] = by_rules.ORDER if is_categorical else None
        elif kind == "ranges":
            ends = draw(st.sampled_from([(None, 1.0), (0.5, None), (1.0, 2.0), (0.0, 0.0), (-2.0, 1.5)]))
            if per_row:
                low = [draw(st.sampled_from([None, 0.0, 0.5, 1.0])) for _ in p.to_explain]
                ends = (low, [draw(st.sampled_from([None, 1.0, 2.0])) for _ in p.to_explain])
            rules.setdefault("ranges", {})[j] = ends
        elif kind == "allowed":
            rules.setdefault("allowed", {})[j] = draw(
                st.lists(st.sampled_from([*values, None]), min_size=1, unique=True)
            )
        elif kind == "forbid" and len(values) > 1:
            pairs = st.tuples(st.sampled_from(values), st.sampled_from(values)).filter(lambda pair: pair[0] != pair[1])
            rules.setdefault("forbid", {})[j] = draw(st.lists(pairs, min_size=1, max_size=3, unique=True))
        elif kind == "within":
            rules.setdefault("within", {})[j] = draw(st.sampled_from([0.5, 1.0, 2.0]))
        elif kind == "step":
            rules.setdefault("step", {})[j] = draw(st.sampled_from([0.5, 1.0, 2.0]))
    n_features = len(p.is_categorical)
    if n_features > 1 and draw(st.booleans()):
        rules["groups"] = [
            draw(st.lists(st.integers(0, n_features - 1), min_size=2, max_size=3, unique=True).map(sorted))
        ]
    if limit and draw(st.booleans()):
        rules["max_changes"] = draw(st.integers(1, 3))
    return rules


def constraints_of(rules, p, line=None):
    """Rules by position as Constraints by name; those of one line where bounds differ from row to row."""
    names = p.names

    def own(end):
        return end[line] if isinstance(end, list) and line is not None else end

    named = {}
    for name, given in rules.items():
        if name == "max_changes":
            named[name] = given
        elif name == "groups":
            named[name] = [[names[j] for j in group] for group in given]
        elif isinstance(given, dict):
            named[name] = {names[j]: value for j, value in given.items()}
        else:
            named[name] = [names[j] for j in given]
    if line is not None and "ranges" in named:
        pairs = {one: tuple(map(own, pair)) for one, pair in named["ranges"].items()}
        named["ranges"] = {one: pair for one, pair in pairs.items() if pair != (None, None)}
    return Constraints(**named)
