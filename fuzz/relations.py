"""Checks that ask the explainer again: the same call, one row, other columns first, from a file, by another search."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.checks import Answer, Facts
from fuzz.oracle import Paper, Rules, identical, same
from fuzz.rules import as_constraints
from fuzz.tables import Random, n_rows, take
from nicecf.exceptions import OptionError

MEASURED = 1e-9
# Entries that are put into words, each in two languages and seven forms.
_FEW = 4


@dataclass(frozen=True, eq=False)
class Explained:
    """An explainer that was fitted, its answer as the library gives it, and what is known of the case."""

    explainer: Any
    cfs: Any
    facts: Facts
    answer: Answer
    random: Random

    def again(self, X: Any, call: dict[str, Any]) -> Answer:
        """Another call, read."""
        return Answer.of(self.explainer.explain(X, **call), self.facts.tables.container)

    @property
    def is_repeatable(self) -> bool:
        """Whether the same question must get the same answer, whatever it is asked together with."""
        settings = self.facts.settings
        is_timed = "time_budget" in settings.call or settings.explainer == "DiCE"
        return self.facts.panel.is_steady and not is_timed and n_rows(self.facts.tables.rows) > 0


def _differences(one: Explained, expected: Answer, other: Answer, lines: np.ndarray | None = None) -> list[str]:
    """Where two answers are not the same; ``lines``: of the first one, those to compare."""
    lines = np.arange(len(expected.rows)) if lines is None else lines
    found = expected.found[lines]
    if not np.array_equal(found, other.found):
        return [f"found {found.tolist()[:20]}, then {other.found.tolist()[:20]}"]
    reasons = [expected.reasons[line] for line in lines]
    if reasons != other.reasons:
        a, b = next((a, b) for a, b in zip(reasons, other.reasons, strict=True) if a != b)
        return [f"the reason was {a!r}, then {b!r}"]
    if not found.any():
        return []
    reader = one.facts.tables.reader
    places = (np.cumsum(expected.found) - 1)[lines][found]
    before, now = reader.encode(take(expected.table, places)), reader.encode(other.table)
    if not identical(before, now).all():
        at = int(np.argmax(~identical(before, now).all(axis=1)))
        return [f"row {expected.rows[lines][found][at]}: the answer was {before[at].tolist()}, then {now[at].tolist()}"]
    return []


def a_second_call_gives_the_same(one: Explained) -> list[str]:
    """Same input, same answer."""
    if not one.is_repeatable:
        return []
    return _differences(one, one.answer, one.again(one.facts.tables.rows, one.facts.settings.call))


def a_batch_gives_what_its_rows_give(one: Explained) -> list[str]:
    """Some rows by themselves."""
    if not one.is_repeatable:
        return []
    wrong = []
    for row in one.random.integers(0, n_rows(one.facts.tables.rows), 3).tolist():
        answer = one.again(take(one.facts.tables.rows, [row]), call_of_row(one.facts, row))
        wrong += [
            f"row {row} alone: {what}"
            for what in _differences(one, one.answer, answer, np.flatnonzero(one.answer.rows == row))
        ]
    return wrong


def call_of_row(facts: Facts, row: int) -> dict[str, Any]:
    """The options of the call, for one row of it."""
    call = dict(facts.settings.call)
    target = call.get("target_class")
    if isinstance(target, pd.Series):
        call["target_class"] = target.iloc[[row]]
    elif isinstance(target, np.ndarray):
        call["target_class"] = target[[row]]
    if "constraints" in call:
        rules = facts.settings.call_rules
        if isinstance(rules, list):
            call["constraints"] = [call["constraints"][row]]
        elif rules is not None:
            ranges = {j: tuple(end[[row]] if np.ndim(end) else end for end in pair) for j, pair in rules.ranges.items()}
            call["constraints"] = as_constraints(Rules(**{**vars(rules), "ranges": ranges}), facts.tables)
    return call


def the_order_of_columns_makes_no_difference(one: Explained) -> list[str]:
    """Frames are read by the names of their columns."""
    if not one.is_repeatable or one.facts.tables.container in ("numpy", "sparse"):
        return []
    rows = one.facts.tables.rows
    order = one.random.permutation(len(one.facts.tables.columns)).tolist()
    turned = rows.iloc[:, order] if isinstance(rows, pd.DataFrame) else rows[[rows.columns[at] for at in order]]
    return _differences(one, one.answer, one.again(turned, one.facts.settings.call))


def a_saved_explainer_gives_the_same(one: Explained) -> list[str]:
    """Saved and loaded, it answers as before."""
    from nicecf import NICE

    if not one.facts.settings.is_nice or not one.is_repeatable:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.nice"
        if not is_saved(one.explainer, one.facts, path):
            return []
        loaded = NICE.load(path, model=one.facts.model.given, **functions_of(one.facts))
    answer = Answer.of(loaded.explain(one.facts.tables.rows, **one.facts.settings.call), one.facts.tables.container)
    return _differences(one, one.answer, answer)


def is_saved(explainer: Any, facts: Facts, path: Path) -> bool:
    """Write an explainer to a file; False where the library says that a file cannot hold its columns."""
    from nicecf import FileError

    try:
        explainer.save(path)
    except FileError as error:
        if "cannot be saved" not in str(error):
            raise
        facts.apart["the library says that the explainer cannot be saved"] += 1
        return False
    return True


def functions_of(facts: Facts) -> dict[str, Any]:
    """What a file cannot hold."""
    options = facts.settings.options
    functions = {
        name: options[name] for name in ("optimize", "plausibility", "decision") if callable(options.get(name))
    }
    return functions | ({"robust_to": options["robust_to"]} if options.get("robust_to") else {})


def records_are_made_again(one: Explained) -> list[str]:
    """A record goes through JSON as it is, and its replay says: the same."""
    from nicecf import replay

    if not one.is_repeatable:
        return []
    wrong = []
    for at in one.random.integers(0, len(one.cfs), 2).tolist() if len(one.cfs) else []:
        record = one.cfs[at].to_record()
        read = json.loads(json.dumps(record, allow_nan=False))
        if read != record:
            wrong.append(f"the record of number {at} is not the same after JSON")
        replayed = replay(read, one.explainer)
        if not replayed.is_same:
            wrong.append(f"the replay of number {at}: {'; '.join(replayed.differences)}")
    return wrong


def words_and_tables_are_made(one: Explained) -> list[str]:
    """Texts, metrics, summary and report come without an error, with a line for each row.

    The model is asked about no number beyond those of training and of the rows: it may be one with a logarithm.
    """
    facts = one.facts
    function, tables = facts.model.function, facts.tables
    if function is None or not facts.settings.is_nice or not len(facts.rows):
        return _words_and_tables(one)
    cells = np.concatenate([tables.reader.encode(tables.train), tables.reader.encode(tables.rows)])
    function.reach = np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)
    try:
        wrong = _words_and_tables(one)
    finally:
        function.reach = None
    if function.beyond:
        wrong.append(f"a view asked the model about {function.beyond[:5]}, beyond training and the rows")
    return wrong


def _words_and_tables(one: Explained) -> list[str]:
    cfs = one.cfs[: min(len(one.cfs), 8)]
    wrong = []
    for style in ("sentence", "bullets", "analyst", "letter"):
        texts = cfs.texts(style)
        if len(texts) != len(cfs) or not all(isinstance(text, str) and text for text in texts):
            wrong.append(f"texts({style!r}) gave {texts!r}")
    if len(one.cfs.metrics()) != len(one.cfs):
        wrong.append("metrics() has another number of rows")
    for made in (repr(one.cfs), one.cfs._repr_html_(), str(one.cfs.summary()), cfs.to_html()):
        if not isinstance(made, str) or not made:
            wrong.append("an empty text")
    if len(cfs):
        repr(cfs[0])
    return wrong


def distances_are_measured_right(one: Explained) -> list[str]:
    """Changes and distance in metrics() are those between the row and the counterfactual."""
    if not one.answer.found.any():
        return []
    facts, metrics = one.facts, one.cfs.metrics()
    after, before = facts.tables.reader.encode(one.answer.table), facts.rows[one.answer.found_rows]
    counts = (~same(after, before)).sum(axis=1)
    told = metrics["sparsity"].to_numpy(dtype=float, na_value=np.nan)[one.answer.found]
    wrong = (
        [] if np.array_equal(told, counts) else [f"sparsity is {told.tolist()[:20]}, counted {counts.tolist()[:20]}"]
    )
    distance = facts.distance.between(before, after)
    told = metrics["proximity"].to_numpy(dtype=float)[one.answer.found]
    is_near = np.abs(told - distance) <= MEASURED * np.maximum(1.0, distance)
    if not is_near.all():
        at = int(np.argmin(is_near))
        wrong.append(f"row {one.answer.found_rows[at]}: proximity is {told[at]!r}, measured {distance[at]!r}")
    return wrong


def the_walk_is_the_papers(one: Explained) -> list[str]:
    """Without rules, the greedy search comes to what the paper's algorithm, in plain loops, comes to."""
    facts, options = one.facts, one.facts.settings.options
    is_plain = facts.settings.is_nice and facts.settings.search == "greedy" and not facts.settings.has_rules
    is_plain = is_plain and options["optimize"] in ("none", "sparsity", "proximity") and facts.panel.decision is None
    is_plain = is_plain and len(facts.panel.models) == 1 and facts.panel.min_probability is None
    is_plain = is_plain and options.get("share_donor", True) and facts.panel.is_of_cells and one.is_repeatable
    if not is_plain or facts.tables.has_two_zeros:
        return []
    paper = Paper(
        facts.train, facts.may_be_donor, facts.train_decided, facts.panel, facts.distance, options["optimize"]
    )
    places = np.cumsum(one.answer.found) - 1
    wrong = []
    for row in np.unique(one.random.integers(0, len(facts.rows), 25)).tolist():
        if facts.in_target[row]:
            continue
        expected = paper.answers(facts.rows[row], facts.wanted[row])
        if expected is None:
            facts.apart["the paper's walk ties by rounding"] += 1
        elif not expected or not one.answer.found[row]:
            if bool(expected) != bool(one.answer.found[row]):
                wrong.append(f"row {row}: the paper finds {expected!r}, found is {one.answer.found[row]}")
        else:
            after = facts.tables.reader.encode(take(one.answer.table, [places[row]]))[0]
            if not any(same(after, other).all() for other in expected):
                wrong.append(f"row {row}: {after.tolist()}, but by the paper {[x.tolist() for x in expected][:3]}")
    return wrong


def thorough_is_no_worse_than_greedy(one: Explained) -> list[str]:
    """By its own objective, row by row; and no fewer rows are found."""
    facts, settings = one.facts, one.facts.settings
    if settings.search != "thorough" or not one.is_repeatable:
        return []
    objective = settings.options["optimize"]
    walk = "sparsity" if objective == "balanced" else objective
    call = {name: value for name, value in settings.call.items() if name != "n_counterfactuals"}
    greedy = one.explainer.with_search(search="greedy", optimize=walk).explain(facts.tables.rows, **call)
    first = np.unique(one.answer.rows, return_index=True)[1]
    ours, theirs = one.cfs[first], greedy
    wrong = [f"row {row}: greedy finds one, thorough does not" for row in np.flatnonzero(~ours.found & theirs.found)]
    both = np.flatnonzero(ours.found & theirs.found)
    mine, others = (_measures(cfs.metrics()) for cfs in (ours, theirs))
    for row in both.tolist():
        if _is_worse(objective, mine[row], others[row]):
            wrong.append(f"row {row}: {objective} {_said(mine[row])} by thorough, {_said(others[row])} by greedy")
    if settings.call.get("n_counterfactuals", 1) > 1:
        wrong += _first_is_as_good(one, call, mine, ours)
    return wrong


def _first_is_as_good(one: Explained, call: dict[str, Any], mine: np.ndarray, ours: Any) -> list[str]:
    """Of several counterfactuals the first is as good as the only one."""
    single = one.explainer.explain(one.facts.tables.rows, **call)
    objective = one.facts.settings.options["optimize"]
    measures = _measures(single.metrics())
    return [
        f"row {row}: the first of several has {_said(mine[row])}, the only one {_said(measures[row])}"
        for row in np.flatnonzero(ours.found & single.found).tolist()
        if _is_worse(objective, mine[row], measures[row], by_mean=True)
    ]


def what_is_proven_holds(one: Explained) -> list[str]:
    """The exact search is no worse than the thorough one, and contradicts nothing that either says is proven."""
    settings, rows = one.facts.settings, one.facts.tables.rows
    if settings.search != "thorough" or not one.is_repeatable:
        return []
    objective = settings.options["optimize"]
    if objective not in ("sparsity", "proximity"):
        return []
    call = {name: value for name, value in settings.call.items() if name != "n_counterfactuals"}
    try:
        exact = one.explainer.with_search(search="exact").explain(rows, **call, time_budget=3.0)
    except OptionError:  # of models and columns that cannot be read
        return []
    ours = one.cfs[np.unique(one.answer.rows, return_index=True)[1]]
    mine, others = (_measures(cfs.metrics()) for cfs in (exact, ours))
    at, wrong = 0 if objective == "sparsity" else 1, []
    for row in range(len(exact)):
        if exact.proof[row] == "infeasible" and (exact.found[row] or ours.found[row]):
            wrong.append(f"row {row}: proven to have none, and there is one")
        if ours.found[row] and not exact.found[row]:
            wrong.append(f"row {row}: thorough finds one, exact does not")
        if not (ours.found[row] and exact.found[row]):
            continue
        cost, best = others[row, at], mine[row, at]
        near = MEASURED * max(1.0, abs(cost))
        if best > cost + near:
            wrong.append(f"row {row}: {objective} {best!r} by exact, {cost!r} by thorough")
        if ours.proof[row] in ("optimal", "bound") and best < cost * (1 - ours.gap[row]) - 1e-7 * max(1.0, cost):
            wrong.append(
                f"row {row}: {ours.proof[row]} with a gap of {ours.gap[row]:g} at {cost!r}, but {best!r} is there"
            )
    return wrong


def nothing_protected_is_named(one: Explained) -> list[str]:
    """No text, letter or page about a row names what is protected of it: each feature has a name of its own."""
    from nicecf import Wording

    facts, wrong = one.facts, []
    marks = [f"QQ{j}QQ" for j in range(len(facts.tables.columns))]
    named = dict(zip(facts.tables.names, marks, strict=True))
    for entry in range(min(len(one.answer.rows), _FEW)):
        protected = facts.ruled(int(one.answer.rows[entry])).protected
        if not protected:
            continue
        for language in ("en", "de"):
            cf = one.cfs.worded(Wording(names=named, language=language))[entry]
            said = [cf.text(style) for style in ("sentence", "bullets", "analyst")]
            said += [cf.letter(), cf.letter("eu", fields={"role": "-"}), cf._repr_html_(), repr(cf)]
            wrong += [f"{marks[j]} is protected: {text}" for text in said for j in protected if marks[j] in text]
        relaxation = cf.relaxation
        if relaxation is not None and relaxation.constraints is not None:
            names = {facts.tables.names[j] for j in protected}
            if names - set(relaxation.constraints.protected):
                wrong.append(f"relaxed: {relaxation.constraints.protected}, though {names} are protected")
    return wrong


def _said(measures: np.ndarray) -> str:
    return f"{measures[0]:.0f} changes, distance {measures[1]!r}, error {measures[2]!r}"


def _measures(metrics: pd.DataFrame) -> np.ndarray:
    return metrics[["sparsity", "proximity", "plausibility"]].to_numpy(dtype=float, na_value=np.nan)


def _is_worse(objective: str, mine: np.ndarray, other: np.ndarray, *, by_mean: bool = False) -> bool:
    near = MEASURED * np.maximum(1.0, np.abs(other))
    if objective == "sparsity":
        return bool(mine[0] > other[0] or (mine[0] == other[0] and mine[1] > other[1] + near[1]))
    if objective == "proximity":
        return bool(mine[1] > other[1] + near[1])
    if objective == "plausibility":
        return bool(mine[2] > other[2] + near[2])
    if by_mean:  # balanced: the mean of the three depends on the paper's answer; none may be better in all
        return bool((mine > other + near).all())
    return bool((mine > other + near).any())


RELATIONS: dict[str, tuple[Callable[[Explained], list[str]], float]] = {
    check.__name__: (check, share)
    for check, share in (
        (the_walk_is_the_papers, 1.0),
        (thorough_is_no_worse_than_greedy, 0.7),
        (what_is_proven_holds, 0.3),
        (distances_are_measured_right, 0.5),
        (a_batch_gives_what_its_rows_give, 0.5),
        (a_second_call_gives_the_same, 0.15),
        (the_order_of_columns_makes_no_difference, 0.15),
        (a_saved_explainer_gives_the_same, 0.1),
        (records_are_made_again, 0.15),
        (words_and_tables_are_made, 0.2),
        (nothing_protected_is_named, 0.7),
    )
}
