"""What is offered instead of a rule helps, and nothing smaller of its kind does: tried on small tables."""

from dataclasses import replace
from math import floor

import numpy as np
import pytest

from nicecf import NICE, Constraints, Wording

WEIGHTS = np.array([0.9, -0.6, 0.4])


def linear(X):
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float) @ WEIGHTS))
    return np.column_stack([1 - p, p])


def table(seed, n_rows=40):
    return np.random.default_rng(seed).integers(-4, 5, size=(n_rows, 3)).astype(float)


def taken(row, donor, rules):
    """A donor as a row may take it: what a rule forbids stays the row's own."""
    seen = donor.copy()
    for j in rules.immutable:
        seen[j] = row[j]
    for j in rules.increasing:
        if donor[j] < row[j]:
            seen[j] = row[j]
    for j, (low, high) in rules.ranges.items():
        if not low <= donor[j] <= high:
            seen[j] = row[j]
    return seen


def highest(row, donors, rules, wanted):
    """The highest probability of a wanted class that a training row gives, with no more changes than may be."""
    most = 3 if rules.max_changes is None else rules.max_changes
    seen = [taken(row, donor, rules) for donor in donors]
    probabilities = [linear(one[None])[0, wanted] for one in seen if 0 < (one != row).sum() <= most]
    return max([one for one in probabilities if one > 0.5], default=0.0)


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize(
    "rules",
    [
        Constraints(),
        Constraints(immutable=[0]),
        Constraints(increasing=[1], ranges={2: (-1, 2)}),
        Constraints(max_changes=2),
    ],
)
def test_of_a_margin_the_highest_is_offered_that_a_training_row_reaches(rules, search):
    n_offered = 0
    for seed in range(4):
        X, rows = table(seed), table(100 + seed, 6)
        y = linear(X).argmax(axis=1)
        strict = NICE(linear, min_probability=0.99999, search=search, constraints=rules, classes=[0, 1]).fit(X, y)
        cfs = strict.explain(rows)
        for at in np.flatnonzero(~cfs.found):
            known = highest(rows[at], X, rules, 1 - int(linear(rows[[at]]).argmax()))
            relaxation = cfs.relaxations[at]
            if relaxation is None or relaxation.blocks.kind != "min_probability":
                assert not known or relaxation is not None
                continue
            n_offered += 1
            offered = relaxation.instead.fields["probability"]
            assert floor(1000 * known) / 1000 <= offered < 0.99999
            again = NICE(**{**strict.get_params(), "min_probability": offered}).fit(X, y).explain(rows[[at]])
            assert again.found[0]
    assert n_offered > 1


def test_a_reason_speaks_of_rules_only_where_there_are_some():
    X, rows = table(0), table(100, 1)
    y = linear(X).argmax(axis=1)
    said = {}
    for rules in (Constraints(), Constraints(immutable=[0])):
        nice = NICE(linear, min_probability=0.99999, constraints=rules, classes=[0, 1]).fit(X, y)
        cfs = nice.explain(rows)
        said[bool(rules)] = cfs.reasons[0], cfs.texts(wording=Wording(language="de"))[0]
    without, with_rules = said[False], said[True]
    assert without[0].startswith(
        "no training row gives 1 as required. Blocked by: the probability must be at least 99.999 %."
    )
    assert "nach den Vorgaben ergibt keine Trainingszeile 1. Im Weg steht: die Wahrscheinlichkeit" in without[1]
    assert with_rules[0].startswith("no training row gives 1 under the rules")
    assert "den Regeln ergibt keine Trainingszeile 1" in with_rules[1]


def by_sum(X):
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float).sum(axis=1)))
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize(
    ("rules", "n_columns", "largest"),
    [
        (Constraints(max_changes=1), 8, 1),
        (Constraints(immutable=[0, 1], ranges={2: (-1, 1), 3: (-1, 1)}), 4, 4),
        (Constraints(immutable=[0, 1], within={2: 1, 3: 1}), 4, 4),
    ],
)
def test_an_offer_helps_and_none_that_is_a_step_smaller_does(rules, n_columns, largest):
    kind = "ranges" if rules.ranges else "within" if rules.within else "max_changes"
    n_offered = 0
    for seed in range(4):
        random = np.random.default_rng(seed)
        X, rows = (random.integers(-largest, largest + 1, size=(n, n_columns)).astype(float) for n in (40, 8))
        nice = NICE(by_sum, classes=[0, 1]).fit(X, by_sum(X).argmax(axis=1))
        cfs = nice.explain(rows, constraints=rules)
        for at in np.flatnonzero(~cfs.found):
            offered = cfs.relaxations[at]
            if offered is None or not offered.blocks.kind.startswith(kind):
                continue
            n_offered += 1
            again = nice.explain(rows[[at]], constraints=offered.constraints)
            assert again.found[0]
            assert again.metrics()["sparsity"][0] == offered.n_changes
            for smaller in a_step_smaller(offered.constraints, rules):
                found = nice.explain(rows[[at]], constraints=smaller).found[0]
                assert not found, f"{offered.action} is offered, and {smaller} is enough"
    assert n_offered > 3


def a_step_smaller(offered, rules):
    """Rules between those that block and those that are offered, if there are any."""
    if offered.max_changes is not None:
        return [replace(offered, max_changes=fewer) for fewer in range(rules.max_changes + 1, offered.max_changes)]
    if offered.within:
        limits = {j: limit for j, (limit,) in offered.within.items() if limit != rules.within[j][0]}
        return [replace(offered, within={**offered.within, j: limit - 1}) for j, limit in limits.items() if limit > 1]
    narrower = []
    for j, (low, high) in offered.ranges.items():
        for ends in ((low + 1, high), (low, high - 1)):
            if ends[0] <= rules.ranges[j][0] and ends[1] >= rules.ranges[j][1]:
                narrower.append(replace(offered, ranges={**offered.ranges, j: ends}))
    return [one for one in narrower if one.ranges != rules.ranges]
