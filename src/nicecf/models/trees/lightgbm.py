"""The trees of LightGBM: LGBMClassifier or Booster, boosted or as a random forest, for two or more classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nicecf.models.trees.ensemble import Input, Link, NamedCategories, Nodes, NotSupported, Tree, TreeEnsemble
from nicecf.support.types import Ints

_LINKS: dict[str, Link] = {"binary": "sigmoid", "multiclass": "softmax", "multiclassova": "sigmoids"}
# Of these, a booster returns one score, and we make two probabilities of it; LGBMClassifier does not.
_LINKS_OF_BOOSTERS: dict[str, Link] = {"cross_entropy": "sigmoid"}
# LightGBM's own: numbers this close to zero are zero.
_ZERO = float(np.float32(1e-35))
# The bits of a decision, and what they say of missing values.
_IS_SET, _IS_LEFT, _KIND = 1, 2, 2
_NEVER_MISSING, _ZERO_IS_MISSING = 0, 1


def read(model: Any) -> TreeEnsemble:
    """The trees of a fitted LGBMClassifier or a booster; NotSupported for other objectives, and for linear trees."""
    is_booster = type(model).__name__ == "Booster"
    if not is_booster and type(model).__name__ != "LGBMClassifier":
        raise NotSupported(f"{type(model).__name__} is not LightGBM's LGBMClassifier or Booster")
    booster = model if is_booster else model.booster_
    # Up to the best iteration, as predict_proba asks; numbers are written so that they are read back exactly.
    header, *blocks = booster.model_to_string().partition("end of trees")[0].split("\nTree=")
    said = _fields(header)
    objective, *options = said.get("objective", "custom").split()
    links = _LINKS | _LINKS_OF_BOOSTERS if is_booster else _LINKS
    if objective not in links:
        raise NotSupported(f"its objective is {objective!r}, not one of {list(links)}")
    fields = [_fields(block) for block in blocks]
    trees = [_tree(one) for one in fields]
    nodes, roots = Nodes.of(trees)
    n_outputs = int(said["num_tree_per_iteration"])
    n_iterations = len(trees) // n_outputs
    steepness = dict(option.split(":") for option in options if ":" in option).get("sigmoid", "1")
    return TreeEnsemble(
        nodes,
        roots,
        outputs=np.tile(np.arange(n_outputs), n_iterations),
        base=np.zeros(n_outputs),
        link=links[objective],
        inputs=_inputs(said, fields),
        frame_categories=tuple(NamedCategories(tuple(some)) for some in booster.pandas_categorical or []),
        divisor=n_iterations if "average_output" in header.splitlines() else 1.0,
        steepness=float(steepness),
        tiny=_ZERO,
    )


def trained(model: Any) -> object:
    """What another training replaces; of a booster, which is trained further in place, how far that went."""
    if type(model).__name__ != "Booster":
        return model.booster_
    return f"{id(model)} {model.num_trees()} {model.best_iteration}"


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _inputs(said: Mapping[str, str], trees: Sequence[Mapping[str, str]]) -> tuple[Input, ...]:
    """The inputs; whether zeros are missing values is said by every split, and must be said alike for a feature."""
    n_inputs = int(said["max_feature_idx"]) + 1
    says = np.zeros((n_inputs, 2), dtype=bool)
    for tree in trees:
        kinds = _ints(tree, "decision_type")
        is_number = (kinds & _IS_SET) == 0
        is_zero = (kinds >> _KIND) == _ZERO_IS_MISSING
        says[_ints(tree, "split_feature")[is_number], is_zero[is_number].astype(np.intp)] = True
    if says.all(axis=1).any():
        raise NotSupported("zero is a missing value in some of its splits of a feature, and a number in others")
    return tuple(Input(zero_is_missing=bool(is_zero)) for _, is_zero in says)


def _ints(tree: Mapping[str, str], name: str) -> Ints:
    return np.array(tree.get(name, "").split(), dtype=np.intp)


def _tree(tree: Mapping[str, str]) -> Tree:
    """One tree: its splits come first, then its leaves, which children name by their negative position less one."""
    if tree.get("is_linear", "0") != "0":
        raise NotSupported("its leaves hold linear models (linear_tree=True)")
    values = np.array(tree["leaf_value"].split(), dtype=np.float64)
    feature, kinds = _ints(tree, "split_feature"), _ints(tree, "decision_type")
    left, right = _ints(tree, "left_child"), _ints(tree, "right_child")
    threshold = np.array(tree.get("threshold", "").split(), dtype=np.float64)
    n_splits, n_leaves = len(feature), len(values)
    is_set = (kinds & _IS_SET) > 0
    # Where training saw no missing value, one counts as zero; among categories, it is in no set.
    is_left = np.where((kinds >> _KIND) == _NEVER_MISSING, threshold >= 0, (kinds & _IS_LEFT) > 0) & ~is_set
    return Tree(
        np.concatenate([feature, np.zeros(n_leaves, dtype=np.intp)]),
        np.concatenate([threshold, np.zeros(n_leaves)]),
        np.concatenate([np.where(left < 0, n_splits - left - 1, left), np.full(n_leaves, -1)]),
        np.concatenate([np.where(right < 0, n_splits - right - 1, right), np.full(n_leaves, -1)]),
        np.concatenate([is_left, np.ones(n_leaves, dtype=bool)]),
        np.concatenate([np.zeros(n_splits), values])[:, None],
        {int(at): _codes(tree, int(threshold[at])) for at in np.flatnonzero(is_set)},
    )


def _codes(tree: Mapping[str, str], number: int) -> Ints:
    """The categories of a split, which are stored as bits of 32-bit words."""
    start, end = _ints(tree, "cat_boundaries")[number : number + 2]
    words = _ints(tree, "cat_threshold")[start:end].astype("<u4")
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
