"""Baselines line by line, with plain loops: oracles. Imports nothing from nicecf and is never optimised.

Rows, models and classes are as in paper.py, whose distance is used.
"""

import numpy as np

import paper


def wanted_of(row, classes, predict, target):
    own = paper.decide(predict(row))
    return [c for c in range(len(classes)) if c != own] if target == "other" else [classes.index(t) for t in target]


def wit(row, rows, classes, predict, is_categorical, target):
    """The nearest row of a wanted class by standard deviations, right or wrong."""
    labels = [None] * len(rows)
    return paper.explain(row, rows, labels, classes, predict, is_categorical, target, "none", "std", False)


def center_of(rows, is_categorical):
    center = []
    for j, categorical in enumerate(is_categorical):
        present = [row[j] for row in rows if row[j] is not None]
        if not present:
            center.append(None)
        elif categorical:
            center.append(max(dict.fromkeys(present), key=present.count))  # the first of the most frequent
        else:
            center.append(float(np.mean(present)))
    return center


def sedc(row, rows, classes, predict, is_categorical, target):
    """One feature after the other takes its mean or mode. Returns (counterfactual, features in order) or None."""
    wanted = wanted_of(row, classes, predict, target)
    if paper.decide(predict(row)) in wanted:
        return list(row), []
    center = center_of(rows, is_categorical)
    left = [j for j in range(len(row)) if center[j] is not None and row[j] != center[j]]
    x, order = list(row), []
    while left:
        best, best_score, b = None, None, None
        for j in left:
            x_j = list(x)
            x_j[j] = center[j]
            s = paper.score(predict(x_j), wanted) - paper.score(predict(x), wanted)
            if best is None or s > best_score:
                best, best_score, b = x_j, s, j
        x = best
        order.append(b)
        left.remove(b)
        if paper.decide(predict(x)) in wanted:
            return x, order
    return None


def sedc_best_first(row, rows, classes, predict, is_categorical, target, expansions):
    """The best set so far is extended by one more feature at its mean or mode. Returns the counterfactual or None."""
    wanted = wanted_of(row, classes, predict, target)
    if paper.decide(predict(row)) in wanted:
        return list(row)
    center = center_of(rows, is_categorical)
    features = [j for j in range(len(row)) if center[j] is not None and row[j] != center[j]]
    queue, known = [(0.0, [], row, False)], [[]]
    while queue and expansions:
        expansions -= 1
        taken = queue.pop(0)[1]
        for j in features:
            larger = sorted({*taken, j})
            if larger in known:
                continue
            known.append(larger)
            x = [center[k] if k in larger else value for k, value in enumerate(row)]
            queue.append((paper.score(predict(x), wanted), larger, x, paper.decide(predict(x)) in wanted))
        queue.sort(key=lambda one: (not one[3], -one[0]))  # stable: of equals the first that was tried
        if queue and queue[0][3]:
            return queue[0][2]
    return None


def differing(a, b, scales, tolerance):
    """The features in which two rows differ."""
    features = []
    for j, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is None and y is None:
            continue
        both = x is not None and y is not None
        if both and scales[j] is not None and abs(x - y) <= tolerance * scales[j]:
            continue
        if both and x == y:
            continue
        features.append(j)
    return features


def cbr(row, rows, classes, predict, is_categorical, target, most, tolerance, neighbors, partner="nearest"):
    """Keane and Smyth. Returns (counterfactual, the training row that it leans on), or None."""
    wanted = wanted_of(row, classes, predict, target)
    own = paper.decide(predict(row))
    if own in wanted:
        return list(row), None
    scales = paper.scales_of(rows, is_categorical, "range")
    decided = [paper.decide(predict(one)) for one in rows]

    # The nearest like side of a good pair, by class wanted and then in training order.
    like, unlike, nearest = None, None, None
    for c in sorted(wanted):
        for i, one in enumerate(rows):
            if decided[i] != own:
                continue
            partners = [
                (
                    len(differing(one, other, scales, tolerance)) if partner == "fewest_differences" else 0,
                    paper.heom(one, other, scales),
                    j,
                )
                for j, other in enumerate(rows)
                if decided[j] == c and 1 <= len(differing(one, other, scales, tolerance)) <= most
            ]
            d = paper.heom(row, one, scales)
            if partners and (nearest is None or d < nearest):
                like, unlike, nearest = i, min(partners)[2], d
    if like is None:
        return None
    features = differing(rows[like], rows[unlike], scales, tolerance)
    others = sorted(
        (paper.heom(rows[unlike], other, scales), j) for j, other in enumerate(rows) if decided[j] == decided[unlike]
    )
    for j in [unlike] + [j for _, j in others[: None if neighbors is None else neighbors + 1]]:
        x = [rows[j][k] if k in features else value for k, value in enumerate(row)]
        if paper.decide(predict(x)) in wanted:
            return x, j
    return None
