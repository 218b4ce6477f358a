"""Misuse: a named error that says what is wrong, what is allowed and what to do, before any work is lost."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy
import sklearn.exceptions
from scipy.sparse import csr_matrix
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from nicecf import (
    NICE,
    DecisionWarning,
    ModelError,
    NicecfError,
    NotFittedError,
    OptionError,
    SchemaError,
    baselines,
    from_score,
    metrics,
    replay,
    suggest_rules,
)
from nicecf.exceptions import did_you_mean

X = pd.DataFrame({"age": [20.0, 40.0, 60.0, 30.0], "home": ["own", "rent", "own", "rent"]})
Y = ["no", "yes", "yes", "no"]


def model(X):
    p = (X["age"] > 35).to_numpy(dtype=float)
    return np.column_stack([1 - p, p])


@pytest.fixture
def nice():
    return NICE(model).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"optimize": "sparcity"}, r"optimize='sparcity' is not known; choose one of 'none', 'sparsity', 'proximity', 'plausibility', 'balanced' or pass a reward function\. Did you mean 'sparsity'\?"),
        ({"optimize": 3}, "optimize=3 is not known"),
        ({"search": "thorogh"}, r"search='thorogh' is not known; choose one of 'greedy', 'thorough', 'exact'\. Did you mean 'thorough'\?"),
        ({"search": "thorough", "optimize": "none"}, "search='thorough' needs an objective that compares counterfactuals; optimize='none' compares none. Choose one of 'sparsity'"),
        ({"search": "thorough", "optimize": lambda round: round.score}, "optimize=a reward function compares none"),
        ({"search": "greedy", "optimize": "balanced"}, "optimize='balanced' needs search='thorough'"),
        ({"search": "greedy", "neighbors": 5}, "neighbors=5 needs search='thorough': the greedy search walks to one donor"),
        ({"search": "thorough", "neighbors": 0}, "neighbors must be a whole number of at least 1, or None, got 0"),
        ({"search": "thorough", "neighbors": 2.5}, "neighbors must be a whole number of at least 1, or None, got 2.5"),
        ({"search": "thorough", "neighbors": True}, "neighbors must be"),
        ({"distance": "l2"}, "distance='l2' is not known; choose 'heom'"),
        ({"scale": "mad"}, "scale='mad' is not known; choose one of 'range', 'std'"),
        ({"justified": "yes"}, "justified must be True or False, got 'yes'"),
        ({"plausibility": 3}, "plausibility must be a function rows -> error, got int"),
        ({"random_state": -1}, r"random_state must be an integer in \[0, 2\*\*32\), or None, got -1"),
        ({"random_state": 1.5}, "random_state must be"),
        ({"random_state": 2**32}, "random_state must be"),
    ],
)  # fmt: skip
def test_options_are_checked_when_given_and_when_set(options, said):
    with pytest.raises(OptionError, match=said):
        NICE(model, **options)
    nice = NICE(model).set_params(**options)
    with pytest.raises(OptionError, match=said):
        nice.fit(X, Y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"categorical_features": "home"}, r"categorical_features='home' is not known; pass 'auto', or a list of column names, such as \['home'\]"),
        ({"categorical_features": None}, "categorical_features=None is not known"),
        ({"categorical_features": ["hom"]}, "names 'hom', which is not a column of X; its columns are 'age', 'home'. Did you mean 'home'?"),
        ({"categorical_features": [5]}, "names 5, which is not a column"),
        ({"categorical_features": [True]}, "is a mask of 1 columns, but X has 2"),
        ({"categorical_features": 0}, "categorical_features=0 is not known"),
        ({"classes": 2}, "classes=2 does not name the model's columns"),
        ({"classes": {"no", "yes"}}, "does not name the model's columns; pass a list in the order"),
        ({"classes": "no"}, "classes='no' does not name"),
        ({"classes": [["no"], ["yes"]]}, "are not all valid labels"),
        ({"classes": ["no"]}, "there is only one class"),
        ({"classes": ["no", "no"]}, "name a class twice"),
    ],
)  # fmt: skip
def test_options_that_need_the_table(options, said):
    with pytest.raises(OptionError, match=said):
        NICE(model, **options).fit(X, Y)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (X[[]], "columns that fit saw are missing: 'age', 'home'"),
        (X.drop(columns="home"), "columns that fit saw are missing: 'home'"),
        (X.assign(decision=1), "columns that fit did not see: 'decision'"),
        (X.rename(columns={"age": "Age"}), "missing: 'age'; columns that fit did not see: 'Age'"),
        (pd.concat([X, X["age"]], axis=1), "some column occurs more than once"),
        (X.assign(age=[np.inf, 1, 2, 3]), r"column 'age' holds an infinite value, or one beyond 1e150 \(row 0\)"),
        (X.assign(age=["12k", "x", "y", "z"]), "column 'age' (was numeric when fit saw it, but has dtype|is declared numeric but row 0 holds '12k')"),
        (X.assign(age=pd.Series([1, 2, "12k", 4], dtype=object)), "column 'age' is declared numeric but row 2 holds '12k'"),
        (X.assign(home=[1, 2, 3, 4]), r"column 'home' held text when fit saw it \(such as 'own'\), but now holds numbers \(such as 1\)"),
        (X.iloc[0], r"Pass one row as a table, table.iloc\[\[0\]\]: it keeps the columns"),
        (pl.Series([1]), r"got polars.*Series. A Series is one column: pass a frame, such as table\[:1\]"),
        (X.to_numpy(), "fit got a pandas DataFrame, but this is a numpy array"),
        (pl.from_pandas(X), "fit got a pandas DataFrame, but this is a polars DataFrame"),
        (X.to_dict(), r"got builtins.dict. Pass pd.DataFrame\(X\)"),
        ([[1, 2]], r"got builtins.list. Pass pd.DataFrame\(X, columns=\[...\]\) with the names of its columns"),
        (pl.from_pandas(X).lazy(), r"Call .collect\(\) first"),
        (csr_matrix(np.eye(2)), "fit got a pandas DataFrame, but this is a scipy sparse matrix"),
        (None, "X must be a pandas DataFrame, a polars DataFrame, a two-dimensional numpy array or a scipy sparse matrix, got builtins.NoneType"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit(nice, table, said):
    with pytest.raises(SchemaError, match=said):
        nice.explain(table)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (X.iloc[:0], "X has no rows"),
        (X[[]], "X has no columns"),
        (np.arange(3.0), r"X must have two dimensions, got an array of shape \(3,\)"),
        (pd.concat([X, X["age"]], axis=1), "X has more than one column called 'age'"),
        (X.assign(age=[np.inf, 1, 2, 3]), "column 'age' holds an infinite value"),
        (X.assign(home=[[1], [2], [3], [4]]), "column 'home' holds a value that cannot be a category"),
        (X.assign(home=pd.Series([None, np.nan, "a", "b"], dtype=object)), "column 'home' marks missing values in more than one way"),
        (X.assign(age=[1e200, 1, 2, 3]), "column 'age' holds an infinite value, or one beyond 1e150"),
        (X.rename(columns={"home": np.nan}), "a column of X has no name"),
        (np.matrix([[1.0]]), r"X is a numpy matrix.*Pass np.asarray\(X\)"),
        (np.ma.masked_array([[1.0]]), r"X is a numpy MaskedArray.*filled"),
        (X.to_numpy(), "column 'x1' is declared numeric but row 0 holds 'own'. Clean the value, or name the column in categorical_features"),
    ],
)  # fmt: skip
def test_training_tables_that_do_not_fit(table, said):
    with pytest.raises(SchemaError, match=said):
        NICE(model).fit(table, Y)


ROW = {"age": 39, "home": "rent"}
RECORDS = pd.DataFrame([ROW, ROW]).to_records(index=False)
NUMBERS = pd.DataFrame([{"age": 39, "n": 1}]).to_records(index=False)


@pytest.mark.parametrize(
    ("given", "table", "line"),
    [
        (ROW, X, "A dict of single values is one row: pass pd.DataFrame([X])."),
        (ROW, pl.from_pandas(X), "A dict of single values is one row: pass pl.DataFrame([X])."),
        ({"age": [39], "home": ["rent"]}, X, "Pass pd.DataFrame(X)."),
        ({"age": [39], "home": ["rent"]}, pl.from_pandas(X), "Pass pl.DataFrame(X)."),
        ([ROW, ROW], X, "A list of dicts is a table: pass pd.DataFrame(X)."),
        ([ROW, ROW], pl.from_pandas(X), "A list of dicts is a table: pass pl.DataFrame(X)."),
        ([39, 1], X.to_numpy()[:, :1].repeat(2, axis=1).astype(float), "Pass np.asarray([X])."),
        ([[39, 1]], X.to_numpy()[:, :1].repeat(2, axis=1).astype(float), "Pass np.asarray(X)."),
        ([[39, 1]], csr_matrix([[20.0, 0], [40, 1], [60, 0], [30, 1]]), "Pass scipy.sparse.csr_array(X)."),
        (RECORDS, X, "Pass pd.DataFrame(X)."),
        (RECORDS[0], X, "Pass pd.DataFrame(X.reshape(-1))."),
        (RECORDS.view(np.ndarray).reshape(1, 2), X, "Pass pd.DataFrame(X.reshape(-1))."),
        (RECORDS, pl.from_pandas(X), "Pass pl.DataFrame(X)."),
        (NUMBERS, X.to_numpy()[:, :1].repeat(2, axis=1).astype(float), "Pass np.asarray(X.tolist())."),
        (NUMBERS, csr_matrix([[20.0, 0], [40, 1], [60, 0], [30, 1]]), "Pass scipy.sparse.csr_array(np.asarray(X.tolist()))."),
    ],
)  # fmt: skip
def test_what_is_not_a_table_is_refused_with_the_line_that_works(given, table, line):
    def over_35(X):
        first = X["age"] if hasattr(X, "columns") else X.toarray()[:, 0] if hasattr(X, "toarray") else X[:, 0]
        p = np.asarray(first > 35, dtype=float)
        return np.column_stack([1 - p, p])

    nice = NICE(over_35).fit(table, Y)
    with pytest.raises(SchemaError) as refused:
        nice.explain(given)
    assert str(refused.value).endswith(f". {line}")
    written = line.rpartition("ass ")[2].removesuffix(".")
    rows = eval(written, {"X": given, "pd": pd, "pl": pl, "np": np, "scipy": scipy})
    assert set(nice.explain(rows).predicted) == {"yes"}


def test_a_dict_has_no_order_for_an_array():
    nice = NICE(lambda X: np.column_stack([X[:, 0] < 1, X[:, 0] >= 1]).astype(float)).fit(np.eye(2), [1, 0])
    with pytest.raises(
        SchemaError, match=r"fit got a numpy array, which has no names: pass np.asarray\(\[\[\.\.\.\]\]\)"
    ):
        nice.explain({"x0": 1.0, "x1": 0.0})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (ROW, "A dict of single values is one row: pass pd.DataFrame([X])."),
        ({}, "Pass pd.DataFrame(X)."),
        ({"age": 39, "tags": ["a"]}, "Pass pd.DataFrame(X)."),
        ([[1, 2], [3]], "Pass np.asarray(X), or a DataFrame to keep each column's type."),
        (([1, 2], [3, 4]), "Pass np.asarray(X), or a DataFrame to keep each column's type."),
    ],
)
def test_fit_refuses_it_too(given, line):
    with pytest.raises(SchemaError) as refused:
        NICE(model).fit(given, Y)
    assert str(refused.value).endswith(f". {line}")


@pytest.mark.parametrize(
    ("given", "choices", "meant"),
    [
        ("aeg", ["age", "sex"], "'age'"),  # exchanged
        ("hom", ["age", "home"], "'home'"),  # left out
        ("zap", ["n", "zip"], "'zip'"),  # replaced
        ("incomme", ["income"], "'income'"),  # added
        ("icnoem", ["income"], "'income'"),  # twice
        ("freqvency_e", ["frequency"], "'frequency'"),  # three times
        ("AGE", ["wage", "age"], "'age'"),  # in capitals
        ("low", ["high", "lowest"], "'lowest'"),  # cut off
        ("monk22", ["monk1", "monk2"], "'monk2'"),
        ("incme", ["incomes", "income"], "'income'"),  # the nearer one
        ("1", [0, 1], "1"),
        (1, ["0", "1"], "'1'"),
    ],
)
def test_the_name_that_was_meant_is_said(given, choices, meant):
    assert did_you_mean(given, choices) == f" Did you mean {meant}?"


@pytest.mark.parametrize(
    ("given", "choices"),
    [
        ("x", ["age", "y", "xy", ""]),
        ("rate", ["age"]),
        ("duration", ["education"]),  # two slips, the first letter among them
        ("petal width (cm)", ["petal length (cm)", "sepal width (cm)"]),
        ("low", ["lowest_rate"]),  # less than half of it
        ("V29", ["V27", "V28"]),  # names that count on
        ("customer_17", ["customer_16", "customer_18"]),
        ("17", [16, 18, 1, 7]),
        ("income", ["outcome", "age", "education"]),
        ("anything", []),
    ],
)
def test_a_name_that_is_not_near_is_not_suggested(given, choices):
    assert did_you_mean(given, choices) == ""


def test_columns_of_an_array_are_counted():
    nice = NICE(lambda X: np.column_stack([X[:, 0] < 1, X[:, 0] >= 1]).astype(float)).fit(np.eye(2), [1, 0])
    with pytest.raises(SchemaError, match="X has 3 columns, but fit got 2"):
        nice.explain(np.eye(3))


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "y is missing"),
        (Y[:3], "y has 3 labels, but X has 4 rows"),
        (np.array(Y)[:, None], r"y must have one label per row, got shape \(4, 1\)"),
        (["no", None, "yes", "no"], "y has no label for row 1"),
        (["no", "yes", "yes", np.nan], "y has no label for row 3"),
    ],
)
def test_labels_that_do_not_fit(y, said):
    with pytest.raises(SchemaError, match=said):
        NICE(model).fit(X, y)


SHUFFLED = pd.Series(["yes", "no", "no", "yes"], index=[2, 0, 3, 1])


@pytest.mark.parametrize("method", [NICE(model), baselines.CBR(model)], ids=["NICE", "CBR"])
def test_labels_in_another_order_than_the_rows_are_refused(method):
    with pytest.raises(SchemaError, match=r"y has the index labels of X in another order.*: pass y\.loc\[X\.index\]\. If y is in the order of the rows all the same, pass y\.to_numpy\(\)"):  # fmt: skip
        method.fit(X, SHUFFLED)
    method.fit(X, SHUFFLED.loc[X.index])
    method.fit(X, pd.Series(Y).to_numpy())


def test_labels_with_another_index_go_by_position():
    for index in ([7, 8, 9, 10], [0, 1, 2, 4], list("abcd"), [0, 1, 2, 2]):
        assert NICE(model).fit(X, pd.Series(Y, index=index)).explain(X).found.all()
    twice = X.set_axis([0, 0, 1, 1])
    NICE(model).fit(twice, pd.Series(Y, index=twice.index))
    with pytest.raises(SchemaError, match=r"give both the same order \(some labels repeat\)"):
        NICE(model).fit(twice, pd.Series(Y, index=[0, 1, 0, 1]))


def test_labels_in_another_order_are_refused_wherever_rows_have_labels():
    with pytest.raises(SchemaError, match=r"pass y\.loc\[X\.index\]"):
        suggest_rules(X, SHUFFLED)
    with pytest.raises(SchemaError, match=r"pass y\.loc\[X\.index\]"):
        metrics.Reference.of(X, SHUFFLED)
    reference = metrics.Reference.of(X, Y)
    with pytest.raises(SchemaError, match=r"pass after\.loc\[counterfactuals\.index\]"):
        metrics.im2(X, reference, after=SHUFFLED)


def test_one_class_only():
    with pytest.raises(OptionError, match=r"there is only one class \('no'\), so a decision cannot change"):
        NICE(model).fit(X, ["no"] * 4)


def test_labels_that_the_model_does_not_know():
    numbers = X[["age"]]
    fitted = LogisticRegression().fit(numbers, Y)
    with pytest.raises(SchemaError, match=r"y holds 0, 1, which the model does not know; its classes are 'no', 'yes'"):
        NICE(fitted).fit(numbers, [0, 1, 1, 0])
    with pytest.raises(OptionError, match="classes='a', 'b' differ from the model's own classes_"):
        NICE(fitted, classes=["a", "b"]).fit(numbers, Y)


def test_labels_that_cannot_be_sorted():
    with pytest.raises(
        OptionError, match=r"cannot be sorted, so the order of the model's columns is unknown.*classes="
    ):
        NICE(model).fit(X, ["no", 1, 1, "no"])


def test_classes_must_be_known():
    with pytest.raises(OptionError, match="the class names are unknown"):
        NICE(model, justified=False).fit(X)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            LinearSVC(),
            r"LinearSVC has no predict_proba. Pass nicecf.from_score\(model.decision_function, kind='margin'\)",
        ),
        (LogisticRegression, r"model is the class LogisticRegression, not a fitted model"),
        (
            "forest",
            "model must be a fitted classifier with predict_proba, a booster .*, or a function rows -> probabilities; got str.$",
        ),
        (None, "model must be a fitted classifier"),
    ],
)
def test_things_that_are_no_model(wrong, said):
    with pytest.raises(OptionError, match=said):
        NICE(wrong).fit(X, Y)


def three_classes():
    random = np.random.default_rng(0)
    table = random.normal(size=(90, 2))
    return table, np.array(["low", "middle", "high"])[np.digitize(table[:, 0] + table[:, 1], [-0.7, 0.7])]


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (LinearSVC(), "lambda X: scipy.special.softmax(model.decision_function(X), axis=1) as the model, with classes=model.classes_"),
        (RidgeClassifier(), "lambda X: scipy.special.softmax(model.decision_function(X), axis=1) as the model, with classes=model.classes_"),
        (SVC(), "lambda X: (model.predict(X)[:, None] == model.classes_).astype(float) as the model, with classes=model.classes_"),
        (make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")), "lambda X: (model.predict(X)[:, None] == model.classes_).astype(float) as the model, with classes=model.classes_"),
        (VotingClassifier([("a", LinearSVC()), ("b", RidgeClassifier())]), "lambda X: (model.predict(X)[:, None] == model.classes_).astype(float) as the model, with classes=model.classes_"),
        (OutputCodeClassifier(LinearSVC(), random_state=0), "lambda X: (model.predict(X)[:, None] == model.classes_).astype(float) as the model, with classes=model.classes_"),
    ],
)  # fmt: skip
def test_a_classifier_without_probabilities_is_told_what_works(model, line):
    table, y = three_classes()
    model.fit(table, y)
    with pytest.raises(OptionError, match="has no predict_proba") as refused:
        NICE(model, search="greedy").fit(table, y)
    assert str(refused.value).endswith(f". Pass {line}.")
    instead = eval(line.partition(" as the model")[0], {"model": model, "scipy": scipy})
    cfs = NICE(instead, classes=model.classes_, search="greedy").fit(table, y).explain(table[:20])
    assert cfs.found.all()
    assert (cfs.predicted == model.predict(table[:20])).all()
    assert (model.predict(cfs.to_numpy()) == cfs.predicted_after).all()


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (lambda f: f, "lambda X: scipy.special.softmax(f(X), axis=1)"),
        (lambda f: from_score(f, kind="margin"), "lambda X: scipy.special.softmax(f(X), axis=1)"),
        (lambda f: from_score(f), "lambda X: scipy.special.softmax(f(X), axis=1)"),
    ],
)
def test_scores_of_several_classes_are_told_what_works_whatever_was_tried(wrong, line):
    table, y = three_classes()
    f = LinearSVC().fit(table, y).decision_function
    with pytest.raises(ModelError) as refused:
        NICE(wrong(f)).fit(table, y)
    assert f"pass {line}" in str(refused.value)
    NICE(eval(line, {"f": f, "scipy": scipy})).fit(table, y)


@pytest.mark.parametrize("wrong", [lambda f: f, from_score])
@pytest.mark.parametrize("names", [["low", "high"], [1, 2], [0, 1], [False, True]])
def test_labels_instead_of_probabilities_are_told_what_works_whatever_was_tried(wrong, names):
    f = lambda table: np.array(names)[(table["age"] > 35).to_numpy().astype(int)]
    y, classes = f(X), sorted(names)
    if wrong is from_score and names in ([0, 1], [False, True]):  # a probability of 1 for the label, in other words
        assert NICE(wrong(f)).fit(X, y).explain(X).found.all()
        return
    with pytest.raises(ModelError) as refused:
        NICE(wrong(f)).fit(X, y)
    is_text = wrong is from_score and isinstance(classes[0], str)  # from_score does not know the classes
    line = f"lambda X: (np.asarray(f(X))[:, None] == {'classes' if is_text else classes}).astype(float)"
    assert f"pass {line}" in str(refused.value)
    cfs = NICE(eval(line, {"f": f, "np": np, "classes": classes}), classes=classes).fit(X, y).explain(X)
    assert cfs.found.all()
    assert (cfs.predicted == y).all()


def test_one_score_beyond_probabilities_is_told_what_works():
    margin = lambda table: table["age"].to_numpy() - 35
    with pytest.raises(ModelError, match=r"If a score above zero means the second class, pass nicecf.from_score\(f, kind='margin'\)"):  # fmt: skip
        NICE(from_score(margin)).fit(X, Y)
    with pytest.raises(ModelError, match="needs no from_score: pass it as the model"):
        NICE(from_score(model)).fit(X, Y)


def test_a_model_that_is_not_fitted_is_reported_with_its_own_words():
    with pytest.raises(ModelError, match="the model raised NotFittedError when asked for 4 rows"):
        NICE(LogisticRegression(), classes=["no", "yes"]).fit(X[["age"]], Y)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda p: p[:, 1], r"returned shape \(4,\), expected \(4, 2\).*nicecf.from_score\(f\)"),
        (lambda p: p[:, [1]], r"returned shape \(4, 1\).*from_score"),
        (lambda p: np.column_stack([p, p]), r"returned shape \(4, 4\).*The classes are 'no', 'yes'; name the model's columns with classes="),
        (lambda p: p[:2], r"returned shape \(2, 2\), expected \(4, 2\)"),
        (lambda p: p * np.nan, r"returned \[nan, nan\] for row 0 of 4: probabilities must be numbers"),
        (lambda p: p * 8 - 4, r"returned values between -4 and 4: probabilities lie in \[0, 1\]"),
        (lambda p: [p, p], r"returned shape \(2, 4, 2\)"),
        (lambda p: p * 1j, "which is not a table of numbers: probabilities cannot be complex"),
        (lambda p: np.ma.masked_array(p, mask=[[1, 0]] + [[0, 0]] * 3), r"returned \[nan, 0.0\] for row 0 of 4"),
        (lambda p: "yes", "the model returned str, which is not a table of numbers"),
        (lambda p: None, "the model returned NoneType|returned shape"),
    ],
)  # fmt: skip
def test_answers_that_are_no_probabilities(answer, said):
    with pytest.raises(ModelError, match=said):
        NICE(lambda X: answer(model(X))).fit(X, Y)


def test_a_model_that_raises_is_passed_on_with_the_number_of_rows():
    is_down = []

    def service(X):
        if is_down:
            raise TimeoutError("no answer from the service")
        return model(X)

    explainer = NICE(service).fit(X, Y)
    is_down.append(True)
    with pytest.raises(ModelError, match=r"the model raised TimeoutError when asked for 2 rows: no answer") as caught:
        explainer.explain(X.iloc[[0]])
    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda X: np.zeros(3), r"plausibility returned shape \(3,\); expected one finite error per row"),
        (lambda X: np.full(len(X), np.nan), "plausibility returned NaN or infinity"),
        (lambda X: 1 / 0, "plausibility raised ZeroDivisionError"),
    ],
)
def test_measures_of_plausibility_that_do_not_measure(measure, said):
    nice = NICE(model, optimize="plausibility", plausibility=measure).fit(X, Y)
    with pytest.raises(ModelError, match=said):
        nice.explain(X.iloc[[0]])


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("maybe", "target_class='maybe' is not a class of the model; choose one of 'no', 'yes', a list of them"),
        (1, "target_class=1 is not a class"),
        ([], "target_class names no class"),
        (["yes", "maybe"], "target_class='maybe' is not a class"),
        (np.array(["yes"]), r"target_class is an array of shape \(1,\), one class per row, but X has 4 rows"),
        (np.array(["yes", "no", "maybe", "no"]), "target_class of row 2='maybe' is not a class"),
        (pd.Series(["yes", None, "no", "no"]), "target_class of row 1="),
        ([None], "target_class=None is not a class"),
        (np.array(["yes", None, "no", "no"]), "target_class of row 1=None is not a class .* or 'other'"),
        ([["yes"]], "is not a class of the model"),
    ],
)
def test_targets_that_the_model_does_not_know(target, said):
    asked = []
    nice = NICE(lambda X: asked.append(len(X)) or model(X)).fit(X, Y)
    with pytest.raises(OptionError, match=said):
        nice.explain(X, target_class=target)
    assert asked == [4, 2]  # by fit; explain complained before it asked the model for anything


def test_explain_before_fit():
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call fit\(X, y\)") as caught:
        NICE(model).explain(X)
    assert isinstance(caught.value, sklearn.exceptions.NotFittedError)
    assert isinstance(caught.value, NicecfError)


def test_a_failed_fit_leaves_the_explainer_as_it_was(nice):
    before = nice.explain(X).to_frame()
    with pytest.raises(SchemaError):
        nice.fit(X, Y[:2])
    pd.testing.assert_frame_equal(nice.explain(X).to_frame(), before)


def test_options_set_after_fit_count_from_the_next_fit(nice):
    before = nice.explain(X).to_frame()
    nice.set_params(optimize="plausibility", plausibility=len)
    pd.testing.assert_frame_equal(nice.explain(X).to_frame(), before)


def test_a_category_column_that_is_not_named_is_refused_at_fit():
    table = X.assign(rooms=pd.Categorical([1, 2, 1, 2]))
    with pytest.raises(SchemaError, match="column 'rooms' has dtype category but is not named in categorical_features"):
        NICE(model, categorical_features=["home"]).fit(table, Y)


def test_a_class_that_is_really_called_other():
    table = np.array([[0.0], [1.0], [2.0]])
    likes = lambda X: np.eye(3)[X[:, 0].astype(int)]
    nice = NICE(likes, classes=["bird", "cat", "other"]).fit(table, ["bird", "cat", "other"])
    assert nice.explain(table[:1]).predicted_after.tolist() == ["cat"]
    assert nice.explain(table[:1], target_class=["other"]).predicted_after.tolist() == ["other"]
    assert nice.explain(table[:1], target_class=np.array("cat")).predicted_after.tolist() == ["cat"]
    with pytest.raises(OptionError, match="target_class of row 0='other' could be the class of that name or any other"):
        nice.explain(table[:1], target_class=np.array(["other"]))
    usual = NICE(likes, classes=["bird", "cat", "dog"]).fit(table, ["bird", "cat", "dog"])
    assert usual.explain(table[:2], target_class=np.array(["other", "dog"])).predicted_after.tolist() == ["cat", "dog"]


@pytest.mark.parametrize("none", [None, np.array(None)])
@pytest.mark.parametrize("method", [NICE, baselines.WIT])
def test_no_target_class_is_any_other_in_the_answer_and_in_its_record(method, none):
    explainer = method(model).fit(X, Y)
    asked, usual = explainer.explain(X, target_class=none), explainer.explain(X)
    assert asked.to_records() == usual.to_records()
    record = asked[0].to_record()
    assert record["call"]["target_class"] == "other"
    assert replay(record, explainer).is_same


def test_a_class_that_is_really_none():
    table = np.array([[0.0], [1.0], [2.0]])
    likes = lambda X: np.eye(3)[X[:, 0].astype(int)]
    nice = NICE(likes, classes=["bird", "cat", None], justified=False).fit(table)
    asked = nice.explain(table[:1], target_class=None)
    assert asked.predicted_after.tolist() == [None]
    assert replay(asked[0].to_record(), nice).is_same
    assert nice.explain(table[:1], target_class=[None]).predicted_after.tolist() == [None]
    assert nice.explain(table[:1]).predicted_after.tolist() == ["cat"]


class Lenient(LogisticRegression):
    """A model that decides by a threshold of its own."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.99).astype(int)]


def test_a_model_that_does_not_decide_by_its_highest_probability_is_warned_of():
    numbers = X[["age"]]
    with pytest.warns(DecisionWarning, match=r"predict differs from its highest probability for \d of 4 training rows"):
        NICE(Lenient().fit(numbers, Y)).fit(numbers, Y)
    NICE(LogisticRegression().fit(numbers, Y)).fit(numbers, Y)  # warnings are errors here


def test_a_random_model_is_noticed_at_fit():
    random = np.random.default_rng(0)

    def dropout(X):
        p = random.random(len(X))
        return np.column_stack([1 - p, p])

    with pytest.raises(ModelError, match=r"the model is not the one that fit saw.*dropout left on"):
        NICE(dropout).fit(X, Y)


def test_a_long_error_of_the_model_is_cut_to_its_first_line():
    def broken(X):
        raise ValueError("category not in the training set\n" + "stack trace\n" * 100)

    with pytest.raises(ModelError, match=r"4 rows: category not in the training set \(the original error is above\)"):
        NICE(broken).fit(X, Y)


def test_a_reward_cannot_write_into_what_it_is_shown():
    def vandal(round):
        round.features[:] = 0
        return round.score

    with pytest.raises(ValueError, match="read-only"):
        NICE(model, optimize=vandal).fit(X, Y).explain(X.iloc[[0]])


def test_a_reward_of_words_is_refused():
    nice = NICE(model, optimize=lambda round: ["good"] * len(round.score)).fit(X, Y)
    with pytest.raises(OptionError, match="must return one number per hybrid"):
        nice.explain(X.iloc[[0]])


def test_a_list_that_looks_like_one_class_for_each_row_is_refused():
    nice = NICE(lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])).fit(np.array([[0.0], [1.0]]), [0, 1])
    rows = np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(OptionError, match="names a class twice.*pass an array"):
        nice.explain(rows, target_class=[1, 1, 0])
    assert nice.explain(rows, target_class=np.array([1, 1, 0])).predicted_after.tolist() == [1, 1, 0]


def test_a_reward_that_reads_errors_without_saying_so_is_told_how():
    reward = lambda round: round.previous_error - round.error
    nice = NICE(lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]), optimize=reward)
    nice.fit(np.array([[0.0, 0.0], [1.0, 1.0]]), [0, 1])
    with pytest.raises(OptionError, match="needs_plausibility = True"):
        nice.explain(np.array([[0.0, 0.0]]))
