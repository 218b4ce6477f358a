"""The paper, line by line, with plain loops: the oracle. Imports nothing from nicecf and is never optimised.

A row is a list of Python values, None is missing. ``predict`` maps a row to a list of probabilities, one per class in
the order of ``classes``.
"""

import numpy as np


def scales_of(rows, is_categorical, scale):
    """Section 3.1: range(F), or the standard deviation; None for a feature compared by equality alone."""
    scales = []
    for j, categorical in enumerate(is_categorical):
        present = [row[j] for row in rows if row[j] is not None]
        if categorical or not present or max(present) == min(present):
            scales.append(None)
        elif scale == "range":
            scales.append(max(present) - min(present))
        else:
            scales.append(float(np.std(present)))
    return scales


def heom(a, b, scales):
    """Equation 1, with missing values and constant columns as decided in the design."""
    total = 0.0
    for x, y, scale in zip(a, b, scales, strict=True):
        if x is None and y is None:
            total += 0.0
        elif x is None or y is None:
            total += 1.0
        elif scale is None:
            total += 0.0 if x == y else 1.0
        else:
            total += abs(x - y) / scale
    return total


def decide(probabilities):
    best = 0
    for c, p in enumerate(probabilities):
        if p > probabilities[best]:
            best = c
    return best


def score(probabilities, wanted):
    """The multiclass appendix: h_c - h_o."""
    h_c = max(p for c, p in enumerate(probabilities) if c in wanted)
    h_o = max(p for c, p in enumerate(probabilities) if c not in wanted)
    return h_c - h_o


def reward(optimize, x, previous, row, wanted, predict, scales, error):
    gain = score(predict(x), wanted) - score(predict(previous), wanted)
    if optimize == "sparsity":
        return gain  # equation 2
    if optimize == "proximity":
        return gain / (heom(row, x, scales) - heom(row, previous, scales))  # equation 3
    if optimize == "plausibility":
        return gain * (error(previous) - error(x))  # equation 4
    raise ValueError(optimize)


def explain(row, rows, labels, classes, predict, is_categorical, target, optimize, scale, justified, error=None):
    """Algorithm 1. Returns (counterfactual, donor position, features in the order they were swapped) or None."""
    own = decide(predict(row))
    wanted = [c for c in range(len(classes)) if c != own] if target == "other" else [classes.index(t) for t in target]
    if own in wanted:
        return list(row), None, []
    scales = scales_of(rows, is_categorical, scale)

    # Step 2: the nearest unlike neighbour that the model gets right.
    donor, nearest = None, None
    for position, candidate in enumerate(rows):
        decision = decide(predict(candidate))
        if decision not in wanted:
            continue
        if justified and classes[decision] != labels[position]:
            continue
        d = heom(row, candidate, scales)
        if nearest is None or d < nearest:
            donor, nearest = position, d
    if donor is None:
        return None
    x_n = rows[donor]
    feature_list = [j for j in range(len(row)) if row[j] != x_n[j]]
    if optimize == "none":
        return list(x_n), donor, feature_list

    # Step 3, until the class changes.
    x_c = list(row)
    order = []
    while True:
        best, best_reward, b = None, None, None
        for j in feature_list:
            x_j = list(x_c)
            x_j[j] = x_n[j]
            r = reward(optimize, x_j, x_c, row, wanted, predict, scales, error)
            if best is None or r > best_reward:
                best, best_reward, b = x_j, r, j
        x_c = best
        order.append(b)
        feature_list.remove(b)
        if decide(predict(x_c)) in wanted:
            return x_c, donor, order
