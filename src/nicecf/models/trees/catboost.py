"""The trees of CatBoost: CatBoostClassifier, symmetric or not, for two or more classes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nicecf.exceptions import plain
from nicecf.models.trees.ensemble import Input, Link, Nodes, NotSupported, Tree, TreeEnsemble
from nicecf.support.types import Json

_LINKS: dict[str, Link] = {"Logloss": "sigmoid", "CrossEntropy": "sigmoid", "MultiClass": "softmax"}
_KINDS = {"text_features": "text", "embedding_features": "embedding"}


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted CatBoostClassifier; NotSupported for other models, losses and encoded categories."""
    if type(model).__name__ != "CatBoostClassifier":
        raise NotSupported(f"{type(model).__name__} is not CatBoost's CatBoostClassifier")
    stored = _stored(model)
    loss = _loss(stored)
    if loss not in _LINKS:
        raise NotSupported(f"its loss is {loss!r}, not one of {list(_LINKS)}")
    features = stored["features_info"]
    for name, kind in _KINDS.items():
        if features.get(name):
            raise NotSupported(f"it has {kind} features")
    if features.get("ctrs") or stored.get("ctr_data"):
        raise NotSupported("it replaces categories by statistics of the target (CTRs)")
    scale, bias = stored["scale_and_bias"]
    splits = _Splits(features, scale)
    trees = [splits.symmetric_tree(one) for one in stored.get("oblivious_trees", [])]
    trees += [splits.tree(one) for one in stored.get("trees", [])]
    nodes, roots = Nodes.of(trees)
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.zeros(len(roots), dtype=np.intp),
        base=np.broadcast_to(np.array(bias, dtype=np.float64), nodes.values.shape[1]),
        link=_LINKS[loss],
        inputs=_inputs(model, features),
        compares_in=np.float32,
    )


def trained(model: Any) -> object:
    """An identifier that every training draws anew: the object itself stays the same."""
    return str(model.get_metadata()["model_guid"])


@dataclass(frozen=True, eq=False)
class HashedCategories:
    """The categories of one column, which CatBoost knows by their hashes only; all that no split names are one."""

    model: Any
    number: int
    # CatBoost raises an error.
    missing: float = np.inf

    def code(self, level: object) -> float:
        level = plain(level)
        if type(level) is not str and type(level) is not int:
            return np.inf  # written in CatBoost's own way
        return float(self.model._object._calc_cat_feature_perfect_hash(str(level), self.number))


class _Splits:
    """What the splits of a model mean, by the features they name."""

    def __init__(self, features: Json, scale: float) -> None:
        self._scale = scale
        self._floats = {one["feature_index"]: one for one in features.get("float_features", [])}
        self._categories = {one["feature_index"]: one for one in features.get("categorical_features", [])}

    def symmetric_tree(self, stored: Json) -> Tree:
        """A tree with one split per level; the last one is the root's, so that leaves stand in their order."""
        splits = (stored.get("splits") or [])[::-1]
        levels = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
        n_leaves = 2 ** len(splits)
        values = np.array(stored["leaf_values"], dtype=np.float64).reshape(n_leaves, -1)
        first = 2 * np.arange(len(levels)) + 1
        return self._tree([splits[level] for level in levels], np.column_stack([first, first + 1]), values)

    def tree(self, stored: Json) -> Tree:
        """A tree of nested nodes: first all splits, then all leaves."""
        splits, leaves, open_nodes = [], [], [stored]
        while open_nodes:
            node = open_nodes.pop()
            if "split" in node:
                splits.append(node)
                open_nodes += [node["left"], node["right"]]
            else:
                leaves.append(node)
        position = {id(node): at for at, node in enumerate([*splits, *leaves])}
        children = [[position[id(node["left"])], position[id(node["right"])]] for node in splits]
        values = np.array([np.ravel(leaf["value"]) for leaf in leaves], dtype=np.float64)
        return self._tree([node["split"] for node in splits], np.array(children, dtype=np.intp).reshape(-1, 2), values)

    def _tree(self, splits: Sequence[Json], children: Any, values: Any) -> Tree:
        """A tree whose ``children`` are where each split sends False and True."""
        is_set = np.array([split["split_type"] == "OneHotFeature" for split in splits], dtype=bool)
        left, right = children.T
        n_leaves = len(values)
        return Tree(
            np.array([self._column(split) for split in splits] + [0] * n_leaves, dtype=np.intp),
            np.array([split.get("border", 0.0) for split in splits] + [0.0] * n_leaves),
            # A category that is the split's own is True, a number above the border too.
            np.concatenate([np.where(is_set, right, left), np.full(n_leaves, -1)]).astype(np.intp),
            np.concatenate([np.where(is_set, left, right), np.full(n_leaves, -1)]).astype(np.intp),
            np.array([self._is_missing_left(split) for split in splits] + [True] * n_leaves),
            np.concatenate([np.zeros((len(splits), values.shape[1])), self._scale * values]),
            {at: [self._code(split)] for at, split in enumerate(splits) if is_set[at]},
        )

    def _column(self, split: Json) -> int:
        if split["split_type"] == "FloatFeature":
            return int(self._floats[split["float_feature_index"]]["flat_feature_index"])
        if split["split_type"] == "OneHotFeature":
            return int(self._categories[split["cat_feature_index"]]["flat_feature_index"])
        raise NotSupported("it replaces categories by statistics of the target (CTRs)")

    def _is_missing_left(self, split: Json) -> bool:
        if split["split_type"] != "FloatFeature":
            return False
        return bool(self._floats[split["float_feature_index"]]["nan_value_treatment"] != "AsTrue")

    def _code(self, split: Json) -> int:
        """The position of a split's category among all that splits of its feature name."""
        return int(self._categories[split["cat_feature_index"]]["values"].index(split["value"]))


def _stored(model: Any) -> Json:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        return json.loads(file.read_text("utf-8"))


def _loss(stored: Json) -> str:
    parameters = stored["model_info"].get("params", "{}")
    parameters = json.loads(parameters) if isinstance(parameters, str) else parameters
    return str(parameters.get("loss_function", {}).get("type", "not known"))


def _inputs(model: Any, features: Json) -> tuple[Input, ...]:
    floats, categories = features.get("float_features", []), features.get("categorical_features", [])
    inputs = [Input()] * (len(floats) + len(categories))
    for one in categories:
        if one.get("values"):
            inputs[one["flat_feature_index"]] = Input(HashedCategories(model, one["feature_index"]))
    return tuple(inputs)
