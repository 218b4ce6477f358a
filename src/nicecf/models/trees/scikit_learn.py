"""The trees of scikit-learn: forests, single trees and both kinds of gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from nicecf.models.trees.ensemble import Input, Link, NamedCategories, Nodes, NotSupported, Tree, TreeEnsemble
from nicecf.support.types import Floats, Ints


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted classifier; NotSupported if it is none of those that are known, or a subclass."""
    if type(model) in (RandomForestClassifier, ExtraTreesClassifier):
        return _forest(model, model.estimators_)
    if type(model) is DecisionTreeClassifier:
        return _forest(model, [model])
    if type(model) is GradientBoostingClassifier:
        return _gradient_boosting(model)
    if type(model) is HistGradientBoostingClassifier:
        return _histogram_boosting(model)
    raise NotSupported(f"{type(model).__name__} is not a known classifier made of trees")


def trained(model: Any) -> object:
    """What another training replaces."""
    name = {DecisionTreeClassifier: "tree_", HistGradientBoostingClassifier: "_predictors"}
    return getattr(model, name.get(type(model), "estimators_"))


def _forest(model: Any, estimators: Any) -> TreeEnsemble:
    if model.n_outputs_ > 1:
        raise NotSupported("the forest has several outputs")
    n_classes = len(model.classes_)
    nodes, roots = Nodes.of([_tree(one.tree_, one.tree_.value[:, 0, :n_classes]) for one in estimators])
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.zeros(len(roots), dtype=np.intp),
        base=np.zeros(n_classes),
        link="identity",
        inputs=(Input(),) * model.n_features_in_,
        divisor=len(roots),
        compares_in=np.float32,
        takes_missing=bool(estimators[0]._support_missing_values(np.zeros((1, model.n_features_in_)))),
        compiled=tuple(one.tree_.apply for one in estimators),
    )


def _tree(tree: Any, values: Floats) -> Tree:
    return Tree(
        tree.feature,
        tree.threshold,
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        values,
    )


def _gradient_boosting(model: Any) -> TreeEnsemble:
    if not (model.init_ == "zero" or type(model.init_) is DummyClassifier):
        raise NotSupported("its boosting starts from another model (init=)")
    n_features, n_outputs = model.n_features_in_, model.estimators_.shape[1]
    base = np.zeros(n_outputs) if model.init_ == "zero" else model._raw_predict_init(np.zeros((1, n_features)))[0]
    trees = [_tree(one.tree_, model.learning_rate * one.tree_.value[:, 0]) for one in model.estimators_.ravel()]
    nodes, roots = Nodes.of(trees)
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.tile(np.arange(n_outputs), len(model.estimators_)),
        base=base,
        link=_link(n_outputs),
        inputs=(Input(),) * n_features,
        steepness=2.0 if model.loss == "exponential" else 1.0,
        compares_in=np.float32,
        takes_missing=False,
        compiled=tuple(one.tree_.apply for one in model.estimators_.ravel()),
    )


def _link(n_outputs: int) -> Link:
    return "sigmoid" if n_outputs == 1 else "softmax"


def _histogram_boosting(model: Any) -> TreeEnsemble:
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    inputs, columns = _inputs(model)
    nodes, roots = Nodes.of([_histogram_tree(one, columns) for line in model._predictors for one in line])
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.tile(np.arange(len(base)), len(model._predictors)),
        base=base,
        link=_link(len(base)),
        inputs=inputs,
    )


def _inputs(model: Any) -> tuple[tuple[Input, ...], Ints]:
    """The inputs in the order of the table, and where each column stands in it: its own encoder moves categories."""
    is_categorical = model.is_categorical_
    if is_categorical is None:
        return (Input(),) * model.n_features_in_, np.arange(model.n_features_in_)
    encoder = model._preprocessor.named_transformers_["encoder"]
    categories = iter(encoder.categories_)
    inputs = [Input(NamedCategories(tuple(next(categories).tolist()))) if one else Input() for one in is_categorical]
    return tuple(inputs), np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])


def _histogram_tree(predictor: Any, columns: Ints) -> Tree:
    nodes = predictor.nodes
    is_leaf, is_set = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    bits = np.unpackbits(predictor.raw_left_cat_bitsets.view(np.uint8), axis=1, bitorder="little")
    return Tree(
        columns[nodes["feature_idx"]],
        nodes["num_threshold"],
        np.where(is_leaf, -1, nodes["left"].astype(np.intp)),
        np.where(is_leaf, -1, nodes["right"].astype(np.intp)),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, None],
        {int(at): np.flatnonzero(bits[nodes["bitset_idx"][at]]) for at in np.flatnonzero(is_set & ~is_leaf)},
    )
