"""A table in which columns follow from others, of every kind that rules know, and a model that reads them all."""

import numpy as np
import pandas as pd

N_ROWS = 120
RATIO = "round(debt * 12 / income, 2)"


def households(n_rows=N_ROWS):
    """A ratio of two columns, one-hot columns of which the first was left out, a word and its code, a sum twice."""
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "income": random.integers(10, 60, n_rows) * 500,
            "debt": random.integers(1, 50, n_rows) * 10.0,
            "age": random.integers(18, 80, n_rows),
        }
    )
    table["ratio"] = (table["debt"] * 12 / table["income"]).round(2)
    home = random.integers(0, 4, n_rows)
    for code, name in enumerate(["own", "free", "shared"], start=1):
        table[f"home_{name}"] = (home == code).astype(int)
    table["level"] = random.integers(1, 5, n_rows)
    table["level_name"] = np.array(["none", "low", "middle", "high"])[table["level"] - 1]
    table["dollars"] = table["income"] * 1.25
    return table


def ratio(X):
    """The derived column, by a function of the table."""
    return (X["debt"] * 12 / X["income"]).round(2)


class Lender:
    """Likes a low ratio, people who own their home, and a high level."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        number = lambda name: np.nan_to_num(np.asarray(X[name], dtype=float))
        score = 6 * (0.25 - number("ratio")) + number("home_own") - number("home_shared") + 0.3 * (number("level") - 2)
        share = 1 / (1 + np.exp(-np.clip(score + number("dollars") / 1e5 - number("age") / 200, -30, 30)))
        return np.column_stack([1 - share, share])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
