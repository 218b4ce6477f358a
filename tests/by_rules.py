"""Counterfactuals under rules, by plain loops: the oracle. Imports nothing from nicecf.

A row is a list of values, None is missing. Rules are a dict with the names of nicecf.Constraints; features are positions.
"""

import paper

ORDER = ["a", "b", "c"]


def may_change(j, before, after, rules, i):
    """Whether feature ``j`` of row ``i`` may go from one value to another one."""
    if j in rules.get("immutable", ()):
        return False
    for name, sign in (("increasing", 1), ("decreasing", -1)):
        if j in rules.get(name, ()):
            ranked = [ORDER.index(v) if v in ORDER else None if isinstance(v, str) else v for v in (before, after)]
            if None in ranked or sign * (ranked[1] - ranked[0]) < 0:
                return False
    if j in rules.get("ranges", {}):
        low, high = (end[i] if isinstance(end, list) else end for end in rules["ranges"][j])
        if (low, high) != (None, None) and after is None:
            return False
        if (low is not None and after < low) or (high is not None and after > high):
            return False
    if j in rules.get("allowed", {}) and after not in rules["allowed"][j]:
        return False
    if (before, after) in rules.get("forbid", {}).get(j, ()):
        return False
    if j in rules.get("within", {}) and (before is None or after is None or abs(after - before) > rules["within"][j]):
        return False
    if j in rules.get("step", {}):
        if before is None or after is None:
            return False
        steps = (after - before) / rules["step"][j]
        return steps == int(steps)
    return True


def group_of(j, rules):
    return next((group for group in rules.get("groups", ()) if j in group), [j])


def as_seen(row, donor, rules, i):
    """The donor with what the row may not take put back to the row's own."""
    seen = []
    for j in range(len(row)):
        group = group_of(j, rules)
        is_open = all(row[k] == donor[k] or may_change(k, row[k], donor[k], rules, i) for k in group)
        seen.append(donor[j] if is_open else row[j])
    return seen


def broken(row, counterfactual, donors, rules, i):
    """The rules that a counterfactual breaks; ``donors``: the training rows that its new values may come from."""
    changed = [j for j in range(len(row)) if row[j] != counterfactual[j]]
    found = [("change", j) for j in changed if not may_change(j, row[j], counterfactual[j], rules, i)]
    if rules.get("max_changes") is not None and len(changed) > rules["max_changes"]:
        found.append(("max_changes", len(changed)))
    for group in rules.get("groups", ()):
        is_rows = all(counterfactual[j] == row[j] for j in group)
        is_donors = any(all(counterfactual[j] == donor[j] for j in group) for donor in donors)
        if not is_rows and not is_donors:
            found.append(("group", group))
    return found


def donors(row, i, rows, labels, classes, predict, is_categorical, wanted, scale, justified, rules):
    """All training rows that, as the row sees them, are in the target: (position, values), nearest first.

    Those that the model puts in the target as they are come first.
    """
    scales = paper.scales_of(rows, is_categorical, scale)
    found = []
    for position, candidate in enumerate(rows):
        decision = paper.decide(predict(candidate))
        if justified and classes[decision] != labels[position]:
            continue
        seen = as_seen(row, candidate, rules, i)
        if seen != row and paper.decide(predict(seen)) in wanted:
            found.append((decision not in wanted, paper.heom(row, seen, scales), position, seen))
    return [(position, seen) for _, _, position, seen in sorted(found, key=lambda one: one[:3])]


def walk(row, donor, rows, predict, is_categorical, wanted, optimize, scale, error, rules):
    """The paper's walk to a donor, features of a group in one step."""
    scales = paper.scales_of(rows, is_categorical, scale)
    current = list(row)
    left = []
    for j in range(len(row)):
        group = [k for k in group_of(j, rules) if row[k] != donor[k]]
        if j in group and min(group) == j:
            left.append(group)
    if optimize == "none":
        return list(donor)
    while True:
        hybrids = [[donor[j] if j in group else current[j] for j in range(len(row))] for group in left]
        rewards = [paper.reward(optimize, x, current, row, wanted, predict, scales, error) for x in hybrids]
        best = max(range(len(left)), key=lambda k: (rewards[k], -k))
        current = hybrids[best]
        del left[best]
        if paper.decide(predict(current)) in wanted:
            return current
