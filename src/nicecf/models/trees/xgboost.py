"""The trees of XGBoost: XGBClassifier or Booster with trees that are added up (gbtree), for two or more classes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from nicecf.models.trees.ensemble import Input, Link, NamedCategories, Nodes, NotSupported, Tree, TreeEnsemble
from nicecf.support.types import Floats, Json

_LINKS: dict[str, Link] = {"binary:logistic": "sigmoid", "multi:softprob": "softmax"}
# Of these, a booster returns one score, and we make two probabilities of it; XGBClassifier does not.
_LINKS_OF_BOOSTERS: dict[str, Link] = {"binary:logitraw": "sigmoid", "reg:logistic": "sigmoid"}


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted XGBClassifier, or of a booster; NotSupported for other models and objectives."""
    is_booster = type(model).__name__ == "Booster"
    if not is_booster and type(model).__name__ != "XGBClassifier":
        raise NotSupported(f"{type(model).__name__} is not XGBoost's XGBClassifier or Booster")
    if not is_booster and not np.isnan(model.missing):
        raise NotSupported(f"missing={model.missing} stands for a missing value")
    learner = json.loads((model if is_booster else model.get_booster()).save_raw("json"))["learner"]
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree":
        raise NotSupported(f"its booster is {booster['name']!r}, not 'gbtree'")
    links = _LINKS | _LINKS_OF_BOOSTERS if is_booster else _LINKS
    if objective not in links:
        raise NotSupported(f"its objective is {objective!r}, not one of {list(links)}")
    stored = booster["model"]
    # The predict of a booster asks all of its trees, whether training stopped early or not.
    n_trees = len(stored["trees"]) if is_booster else _trees_asked(model, stored)
    nodes, roots = Nodes.of([_tree(one) for one in stored["trees"][:n_trees]])
    link = links[objective]
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.array(stored["tree_info"][:n_trees], dtype=np.intp),
        base=_base(learner["learner_model_param"], is_probability=link == "sigmoid" and objective != "binary:logitraw"),
        link=link,
        inputs=_inputs(learner, stored),
        adds_in=np.float32,
        compares_in=np.float32,
        absent_is_missing=True,
    )


def trained(model: Any) -> object:
    """What another training replaces; of a booster, which is trained further in place, how far that went."""
    return f"{id(model)} {model.num_boosted_rounds()}" if type(model).__name__ == "Booster" else model.get_booster()


def _trees_asked(model: Any, stored: Json) -> int:
    """How many trees predict_proba asks: after early stopping, those up to the best iteration."""
    best = model.get_booster().attributes().get("best_iteration")
    if best is None:
        return len(stored["trees"])
    if "iteration_indptr" not in stored:
        raise NotSupported("it stopped early, and this version of XGBoost does not tell which trees it uses")
    return int(stored["iteration_indptr"][int(best) + 1])


def _base(parameters: Json, *, is_probability: bool) -> Floats:
    """Where the sums start: a number, or one per class; a probability, if there are two classes and it is one."""
    written = json.loads(parameters["base_score"])
    base = np.array(written, dtype=np.float32).ravel()
    if is_probability:
        # In double precision, then rounded: numpy's logarithm of singles is off by a digit now and then.
        base = -np.log((np.float32(1.0) / base - np.float32(1.0)).astype(np.float64)).astype(np.float32)
    n_outputs = max(1, int(parameters["num_class"]))
    return np.broadcast_to(base, n_outputs).astype(np.float64)


def _inputs(learner: Json, stored: Json) -> tuple[Input, ...]:
    """The inputs: the categories of a frame are part of the model, those of an array are their own codes."""
    n_inputs = int(learner["learner_model_param"]["num_feature"])
    kinds = learner.get("feature_types") or ["float"] * n_inputs
    encodings = stored.get("cats", {}).get("enc") or [{"values": []}] * n_inputs
    return tuple(
        Input(NamedCategories(_names(encoding), unknown=np.inf)) if kind == "c" and encoding["values"] else Input()
        for kind, encoding in zip(kinds, encodings, strict=True)
    )


def _names(encoding: Json) -> tuple[object, ...]:
    """Categories as they are stored: numbers as a list, text as bytes and where each one starts."""
    if "offsets" not in encoding:
        return tuple(encoding["values"])
    if not all(0 <= byte < 128 for byte in encoding["values"]):
        # XGBoost 3 counts characters where it means bytes, and cuts off the rest.
        raise NotSupported("it has categories with letters beyond ASCII, whose names XGBoost does not store right")
    text = bytes(encoding["values"]).decode()
    return tuple(text[start:end] for start, end in pairwise(encoding["offsets"]))


def _tree(stored: Json) -> Tree:
    if int(stored["tree_param"]["size_leaf_vector"]) > 1:
        raise NotSupported("its trees have several outputs (multi_strategy='multi_output_tree')")
    conditions = np.array(stored["split_conditions"], dtype=np.float32)
    left, right = (np.array(stored[f"{side}_children"], dtype=np.intp) for side in ("left", "right"))
    missing_left = np.array(stored["default_left"], dtype=bool)
    segments = zip(stored["categories_nodes"], stored["categories_segments"], stored["categories_sizes"], strict=True)
    sets = {node: stored["categories"][start : start + size] for node, start, size in segments}
    # XGBoost sends the categories of a set to the right, all others to the left.
    is_set = np.isin(np.arange(len(left)), list(sets))
    return Tree(
        np.array(stored["split_indices"], dtype=np.intp),
        # x < t is x <= the number before t, in single precision.
        np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
        np.where(is_set, right, left),
        np.where(is_set, left, right),
        missing_left ^ is_set,
        conditions.astype(np.float64)[:, None],
        sets,
    )
