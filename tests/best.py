"""Every hybrid of the nearest donors, by plain loops: the oracle of the thorough search. Imports nothing from nicecf."""

from itertools import combinations

import paper


def donors(row, rows, labels, classes, predict, is_categorical, target, scale, justified, k):
    """The k nearest training rows that the model puts in the target (and gets right), nearest first."""
    wanted = wanted_of(row, classes, predict, target)
    scales = paper.scales_of(rows, is_categorical, scale)
    candidates = []
    for position, candidate in enumerate(rows):
        decision = paper.decide(predict(candidate))
        if decision in wanted and (not justified or classes[decision] == labels[position]):
            candidates.append((paper.heom(row, candidate, scales), position))
    return [position for _, position in sorted(candidates)[:k]]


def wanted_of(row, classes, predict, target):
    own = paper.decide(predict(row))
    return [c for c in range(len(classes)) if c != own] if target == "other" else [classes.index(t) for t in target]


def valid_hybrids(row, positions, rows, classes, predict, is_categorical, target, scale, error):
    """All valid hybrids as (changes, distance, error, features, values)."""
    wanted = wanted_of(row, classes, predict, target)
    scales = paper.scales_of(rows, is_categorical, scale)
    found = []
    for position in positions:
        unlike = [j for j in range(len(row)) if row[j] != rows[position][j]]
        for size in range(1, len(unlike) + 1):
            for features in combinations(unlike, size):
                hybrid = [rows[position][j] if j in features else row[j] for j in range(len(row))]
                if paper.decide(predict(hybrid)) in wanted:
                    found.append((size, paper.heom(row, hybrid, scales), error(hybrid), features, hybrid))
    return found


def front(measures):
    """The triples that no other is at most as large as in all three."""
    measures = set(measures)
    return {one for one in measures if not any(other != one and no_worse(other, one) for other in measures)}


def no_worse(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


def alternatives(found):
    """Those that no other beats which changes the same features or some of them."""
    return [
        one
        for one in found
        if not any(
            set(other[3]) <= set(one[3])
            and no_worse(other[:3], one[:3])
            and (other[:3] != one[:3] or other[3] != one[3])
            for other in found
        )
    ]


def are_unlike(features, others):
    """Neither has all features of the other, and they share at most half of what they change together."""
    one, other = set(features), set(others)
    return not (one <= other or other <= one) and 2 * len(one & other) <= len(one | other)
