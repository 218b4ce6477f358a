"""What the models say of the training rows, compared with their labels: columns in a wrong order are noticed."""

import ast
import re

import numpy as np
import pytest

from nicecf import NICE, DecisionWarning, OptionError, baselines, from_score

N_ROWS = 120
X = np.arange(float(N_ROWS)).reshape(-1, 1)
Y = np.where(X[:, 0] < 50, "malignant", "benign")
IN_ORDER = ["malignant", "benign"]


def risk(X):
    """One column for each class, not in the order of their names."""
    p = 1 / (1 + np.exp((X[:, 0] - 49.5) / 8))
    return np.column_stack([p, 1 - p])


class Named:
    """The same with names for its columns."""

    def __init__(self, classes=IN_ORDER):
        self.classes_ = classes

    def predict_proba(self, X):
        return risk(X)


SORTED = lambda X: risk(X)[:, ::-1]
MARGIN = lambda X: (X[:, 0] - 49.5) / 8


@pytest.mark.parametrize("model", [risk, from_score(MARGIN, kind="margin"), from_score(lambda X: risk(X)[:, 1])])
@pytest.mark.parametrize("method", [NICE, baselines.CBR])
def test_columns_in_another_order_than_the_sorted_labels_are_refused_with_the_line_to_write(model, method):
    said = r"0\.0 % of the 120 training rows, but to that of 100\.0 % if its columns were \['malignant', 'benign'\].*Pass classes=\['malignant', 'benign'\]\. If"
    with pytest.raises(OptionError, match=said):
        method(model).fit(X, Y)
    cfs = method(model, classes=IN_ORDER).fit(X, Y).explain(X)
    assert (cfs.predicted == Y).all()


def test_the_order_that_users_insist_on_is_only_warned_of():
    with pytest.warns(DecisionWarning, match=r"If that is their order, pass classes=\['malignant', 'benign'\]"):
        NICE(risk, classes=["benign", "malignant"]).fit(X, Y)


def test_an_estimator_that_names_its_columns_wrongly_is_warned_of():
    wrong = Named(["benign", "malignant"])
    with pytest.warns(DecisionWarning, match=r"Its classes_ say \['benign', 'malignant'\]: check the labels.*pass NICE\(model.predict_proba, classes=\['malignant', 'benign'\]\)"):  # fmt: skip
        NICE(wrong).fit(X, Y)
    NICE(wrong.predict_proba, classes=IN_ORDER).fit(X, Y)
    NICE(Named()).fit(X, Y)
    with pytest.warns(
        DecisionWarning, match=r"the model robust_to\[0\] .*Its classes_ say so; check what it was trained on\."
    ):
        NICE(Named(), robust_to=[wrong]).fit(X, Y)


@pytest.mark.parametrize(
    ("other", "line"),
    [
        (SORTED, "lambda X: f(X)[:, [1, 0]]"),
        (from_score(lambda X: -MARGIN(X), kind="margin"), "nicecf.from_score(lambda X: -f(X), kind='margin')"),
        (from_score(lambda X: risk(X)[:, 0]), "nicecf.from_score(lambda X: 1 - f(X))"),
    ],
)
def test_a_model_that_must_agree_is_refused_too_with_the_line_to_write(other, line):
    import nicecf

    with pytest.raises(OptionError, match=r"the model robust_to\[0\] .*leave it out of robust_to") as refused:
        NICE(Named(), robust_to=[other]).fit(X, Y)
    assert f"Pass {line} in its place" in str(refused.value)
    turned = eval(line, {"f": getattr(other, "score", other), "nicecf": nicecf})
    assert NICE(Named(), robust_to=[turned]).fit(X, Y).explain(X).found.all()


def test_a_function_that_must_agree_is_refused_whatever_the_order_of_the_other_model():
    rows = np.arange(120) % 3
    table, names = rows[:, None].astype(float), ["c", "a", "b"]
    y = np.array(names)[rows]
    model = lambda X: np.eye(3)[X[:, 0].astype(int)]
    other = lambda X: model(X)[:, [1, 2, 0]]
    with pytest.raises(OptionError, match=r"robust_to\[0\] .* Pass lambda X: f\(X\)\[:, \[2, 0, 1\]\] in its place"):
        NICE(model, classes=names, robust_to=[other]).fit(table, y)
    NICE(model, classes=names, robust_to=[lambda X: other(X)[:, [2, 0, 1]]]).fit(table, y)


def test_thirty_classes_are_put_in_order():
    random = np.random.default_rng(0)
    rows = random.integers(0, 30, 300)
    given = random.permutation(30)
    model = lambda X: 0.9 * (X[:, [0]] == given) + 0.1 / 30
    table = rows[:, None].astype(float)
    y = np.array([f"class {code:02}" for code in rows])
    y[::7] = "class 03"  # labels are not always right
    with pytest.raises(OptionError, match="training rows, but to that of") as refused:
        NICE(model, optimize="none").fit(table, y)
    order = ast.literal_eval(re.search(r"Pass classes=(\[.*?\])\.", str(refused.value)).group(1))
    assert order == [f"class {code:02}" for code in given]
    NICE(model, optimize="none", classes=order).fit(table, y)


@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 20), (2, 500), (5, 60), (30, 90), (30, 300)])
def test_labels_that_say_nothing_are_never_refused(n_classes, n_rows):
    random = np.random.default_rng(n_rows)
    table = np.arange(float(n_rows)).reshape(-1, 1)
    for _ in range(10):
        said, y = np.eye(n_classes)[random.integers(0, n_classes, n_rows)], random.integers(0, n_classes, n_rows)
        y[:n_classes] = np.arange(n_classes)
        NICE(lambda X, said=said: said[X[:, 0].astype(int)], optimize="none", justified=False).fit(table, y)


def test_a_model_that_needs_a_cut_off_is_not_taken_for_its_opposite():
    table = np.arange(1000.0).reshape(-1, 1)
    y = np.where(table[:, 0] >= 980, "fraud", "genuine")  # 2 %
    p = lambda X: np.clip(0.45 + X[:, 0] / 2000, 0, 1)  # fraud has the highest probability in 90 % of the rows
    model = lambda X: np.column_stack([p(X), 1 - p(X)])
    NICE(model, decision={"fraud": 0.93}).fit(table, y)


def test_a_cut_off_does_not_make_columns_look_wrong():
    NICE(SORTED, decision={"malignant": 0.001}).fit(X, Y)


def test_fewer_hits_than_by_chance_are_warned_of():
    table = np.arange(10_000.0).reshape(-1, 1)
    codes = np.arange(10_000) % 2
    said = np.where(np.arange(10_000) % 200 < 92, codes, 1 - codes)  # 46 %, and 54 % the other way round
    model = lambda X: np.eye(2)[said[X[:, 0].astype(int)]]
    with pytest.warns(DecisionWarning, match=r"46\.0 % of the 10,000 training rows, fewer than by chance \(50\.0 %\)"):
        NICE(model, optimize="none").fit(table, codes)
