"""One case: everything in it is drawn from the seed and its number, asked of the library, and checked."""

from __future__ import annotations

import ast
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from fuzz import budgets, models, mutations, options, possible, resumed, tables, unreached
from fuzz.checks import OF_ANSWERS, Answer, Facts, nothing_is_written_to, snapshot
from fuzz.misuse import misused
from fuzz.relations import RELATIONS, Explained
from fuzz.rules import as_constraints
from fuzz.scores import scores_lie_in_their_target
from fuzz.tables import Random, Tables, n_rows


@dataclass
class Outcome:
    """What came of a case: how much was explained, what was covered, what was wrong."""

    number: int
    words: list[str] = field(default_factory=list)
    n_explained: int = 0
    n_found: int = 0
    covered: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    apart: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[str, str]] = field(default_factory=list)

    def note(self, check: str, problems: list[str]) -> None:
        """A check was made; keep what it found, of many problems the first ones."""
        self.checked[check] += 1
        self.violations += [(check, problem) for problem in problems[:3]]

    def cover(self, *names: str) -> None:
        """Something was exercised."""
        self.words += names
        self.covered.update(names)


class Refused(Exception):  # noqa: N818  # no error of ours: it ends a case that was noted already
    """The library raised where it should not have."""


def run_case(seed: int, number: int) -> Outcome:
    """Draw and check a case. Whatever the library raises is noted; what this code does wrong is noted as well."""
    outcome = Outcome(number)
    random = np.random.default_rng([seed, number])
    kind = str(random.choice(list(_KINDS), p=[share for _, share in _KINDS.values()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _KINDS[kind][0](random, outcome)
        except Refused:
            pass
        except Exception as error:
            outcome.note("the campaign itself", [_told(error)])
    return outcome


def ask(outcome: Outcome, what: str, call: Callable[[], Any]) -> Any:
    """Call the library with what it must accept: any error is a violation."""
    from nicecf import NicecfError

    try:
        return call()
    except NicecfError as error:
        # In single precision a scaler rounds otherwise than a twin would: then there is none, and the library says so.
        if str(error).startswith("accelerate knows"):
            outcome.apart["the library says that the model has no faster twin"] += 1
            raise Refused from error
        # Of a guarded column, a rule that names a rare value is refused like one that names an unknown one.
        if "a value that too few training rows have (min_count)" in str(error):
            outcome.apart["a rule names a value that min_count guards"] += 1
            raise Refused from error
        outcome.note("what is allowed is accepted", [f"{what}: {type(error).__name__}: {error}"])
        raise Refused from error
    except Exception as error:
        outcome.note("only nicecf's own errors are raised", [f"{what}: {_told(error)}"])
        raise Refused from error


def _told(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__}: {str(error)[:300]} ({where})"


# --- explained and checked --------------------------------------------------------------------------------------------


def _explain(random: Random, outcome: Outcome, *, plain: bool = False) -> None:
    facts, X, y = drawn(random, outcome, plain=plain)
    settings = facts.settings
    before = snapshot(X, y, facts.tables.rows, settings.options, settings.call)
    explainer = ask(outcome, "fit", lambda: made(settings).fit(X, y))
    cfs = ask(outcome, "explain", lambda: explainer.explain(facts.tables.rows, **settings.call))
    answer = ask(outcome, "reading the answer", lambda: Answer.of(cfs, facts.tables.container))
    outcome.n_explained, outcome.n_found = n_rows(facts.tables.rows), int(answer.found.sum())
    for name, check in OF_ANSWERS.items():
        outcome.note(name, check(facts, answer))
    if settings.search == "thorough" and n_rows(facts.tables.rows):
        _check_front(outcome, facts, cfs)
    explained = Explained(explainer, cfs, facts, answer, random)
    for name, (relation, share) in _RELATIONS.items():
        if random.random() < share:
            _check_relation(outcome, name, relation, explained)
    outcome.note(
        "nothing is written to",
        nothing_is_written_to(before, snapshot(X, y, facts.tables.rows, settings.options, settings.call)),
    )
    outcome.apart.update(facts.apart)


_RELATIONS = {**RELATIONS, scores_lie_in_their_target.__name__: (scores_lie_in_their_target, 0.3)}


def _check_relation(
    outcome: Outcome, name: str, relation: Callable[[Explained], list[str]], explained: Explained
) -> None:
    with suppress(Refused):  # noted; the other checks can still be made
        outcome.note(name, ask(outcome, name, lambda: relation(explained)))


def _check_front(outcome: Outcome, facts: Facts, cfs: Any) -> None:
    """The Pareto set is an answer too: all of it must be valid and keep the rules."""
    try:
        front = ask(outcome, "pareto", lambda: Answer.of(cfs.pareto(), facts.tables.container))
    except Refused:
        return
    for name in _OF_FRONTS:
        outcome.note(f"pareto: {name}", OF_ANSWERS[name](facts, front))


_OF_FRONTS = (
    "the_model_decides_for_the_target",
    "cells_are_the_rows_own_or_the_donors",
    "told_donors_hold_the_new_values",
    "unchanged_objects_are_the_rows_own",
    "changes_say_what_differs",
    "rules_are_kept",
    "guards_are_kept",
    "reasons_are_given",
)


def made(settings: options.Settings) -> Any:
    """The explainer, not fitted."""
    from nicecf import NICE, baselines

    kind = NICE if settings.is_nice else getattr(baselines, settings.explainer)
    return kind(settings.panel.models[0].given, **settings.options)


def drawn(random: Random, outcome: Outcome, *, plain: bool = False) -> tuple[Facts, Any, Any]:
    """What is known of a random case, the training table and its labels."""
    how = (
        "cells"
        if plain
        else str(random.choice(["cells", "light", "pipeline", "heavy", "onnx"], p=[0.8, 0.1, 0.06, 0.03, 0.01]))
    )
    baseline = None
    if not plain and random.random() < 0.15:
        baseline = str(random.choice(options.BASELINES, p=[0.3, 0.2, 0.2, 0.15, 0.13, 0.01, 0.01]))
    table = _table(random, how, numbers_only=how == "onnx" or baseline == "GrowingSpheres")
    model = _model(random, how, table)
    settings = options.draw(random, table, model, baseline=baseline, plain=plain)
    table = _fewer_rows(table, settings)
    labels = _labels(random, table, model, settings)
    outcome.cover(f"container: {table.container}", f"model: {model.kind}", *settings.names)
    outcome.cover(*(f"dtype: {column.family.name}" for column in table.columns), f"explainer: {settings.explainer}")
    facts = Facts.of(table, model, settings, labels)
    outcome.cover(*_oddities(facts))
    y = None if labels is None else _as_given(random, labels, table)
    return facts, table.train, y


def _oddities(facts: Facts) -> list[str]:
    """What is special about the cells."""
    table = facts.tables
    odd = {
        "no rows to explain": not len(facts.rows),
        "one column": len(table.columns) == 1,
        "-0.0": table.has_two_zeros,
        "values that Python takes for one": any(
            len(set(column.pool)) < len(column.pool) and column.is_category for column in table.columns
        ),
        "missing": bool(sum(column.share_missing for column in table.columns)),
        "rows of another dtype": any(column.row_family is not column.family for column in table.columns),
        "odd names": any(not str(name).isalnum() for name in table.names),
    }
    return [f"cells: {name}" for name, is_odd in odd.items() if is_odd]


def _table(random: Random, how: str, *, numbers_only: bool) -> Tables:
    for _ in range(2000):  # tables for ONNX are rare
        table = tables.draw(random, friendly=how in ("pipeline", "onnx"), numbers_only=numbers_only)
        is_array = table.container == "numpy"
        is_float_array = is_array and table.train.dtype == np.float32
        if table.container == "sparse" and how != "cells":
            continue
        if (how == "cells" and n_rows(table.train)) or (how != "cells" and n_rows(table.train) >= 10):
            if how == "pipeline" and (is_array or not all(isinstance(name, str) for name in table.names)):
                continue
            if how != "onnx" or (is_float_array and np.isfinite(table.train).all() and np.isfinite(table.rows).all()):
                return table
    raise RuntimeError(f"no table for {how!r} was drawn")


def _model(random: Random, how: str, table: Tables) -> models.Model:
    if how == "cells":
        return models.cell_model(random, table)
    if how == "pipeline":
        return models.pipeline(random, table, n_classes=int(random.choice([2, 3])))
    if how == "onnx":
        return models.onnx(random, table)
    return models.trained(random, table, heavy=how == "heavy", n_classes=int(random.choice([2, 2, 3])))


# What costs most gets fewer rows, so that a campaign is not spent on it.
_MOST_ROWS = {"CFproto": 4, "DiCE": 2, "GeCo": 15, "GrowingSpheres": 40}


def _fewer_rows(table: Tables, settings: options.Settings) -> Tables:
    most = 60 if settings.search == "thorough" else _MOST_ROWS.get(settings.explainer, 500)
    if settings.panel.models[0].of_cells is None:
        most = min(most, 60)
    if n_rows(table.rows) <= most:
        return table
    target = settings.call.get("target_class")
    if isinstance(target, (np.ndarray, pd.Series)):
        settings.call["target_class"] = target[:most] if isinstance(target, np.ndarray) else target.iloc[:most]
    if isinstance(settings.call_rules, list):
        settings.call_rules = settings.call_rules[:most]
        settings.call["constraints"] = settings.call["constraints"][:most]
    elif settings.call_rules is not None and any(
        np.ndim(end) for pair in settings.call_rules.ranges.values() for end in pair
    ):
        cut = {
            j: tuple(end[:most] if np.ndim(end) else end for end in pair)
            for j, pair in settings.call_rules.ranges.items()
        }
        settings.call_rules = type(settings.call_rules)(**{**vars(settings.call_rules), "ranges": cut})
        settings.call["constraints"] = as_constraints(settings.call_rules, table)
    return Tables(**{**vars(table), "rows": tables.take(table.rows, range(most))})


def _labels(random: Random, table: Tables, model: models.Model, settings: options.Settings) -> list[Any] | None:
    """Labels that mostly agree with the model, or none where none are needed."""
    is_free = not settings.is_nice or not settings.options.get("justified", True)
    if is_free and random.random() < 0.3 and (model.names_classes or "classes" in settings.options):
        return None
    classes = settings.panel.classes
    labels = (
        [classes[at] for at in settings.panel.hear(table.train)[0][1]] if model.labels is None else list(model.labels)
    )
    for at in np.flatnonzero(random.random(len(labels)) < random.choice([0.0, 0.2, 0.6])):
        labels[at] = classes[int(random.integers(len(classes)))]
    if not model.names_classes and "classes" not in settings.options and sorted(set(labels)) != classes:
        settings.options["classes"] = list(classes)
    return labels


def _as_given(random: Random, labels: list[Any], table: Tables) -> Any:
    form = int(random.integers(3))
    if form == 0:
        return labels
    if form == 1 and table.container == "pandas":
        return pd.Series(labels, index=table.train.index)
    if form == 1 and table.container == "polars":
        return pl.Series(labels)
    return np.array(labels)


# --- the other kinds of cases -----------------------------------------------------------------------------------------


def _plain(random: Random, outcome: Outcome) -> None:
    _explain(random, outcome, plain=True)


def _changed_model(random: Random, outcome: Outcome) -> None:
    """A model that is another one by now: ModelError, or answers that are valid for the model as it is."""
    from nicecf import ModelError

    facts, X, y = drawn(random, outcome)
    if facts.model.change is None or not n_rows(facts.tables.rows):
        return
    outcome.cover("model changed in place")
    explainer = ask(outcome, "fit", lambda: made(facts.settings).fit(X, y))
    facts.model.change()
    facts = Facts.of(facts.tables, facts.model, facts.settings, facts.labels)

    def explained() -> Any:
        with suppress(ModelError):
            return explainer.explain(facts.tables.rows, **facts.settings.call)

    cfs = ask(outcome, "explain, model changed", explained)
    if cfs is None:
        outcome.note("a changed model is noticed", [])
        return
    answer = ask(outcome, "reading the answer", lambda: Answer.of(cfs, facts.tables.container))
    outcome.n_explained, outcome.n_found = n_rows(facts.tables.rows), int(answer.found.sum())
    outcome.note("a changed model is noticed", OF_ANSWERS["the_model_decides_for_the_target"](facts, answer))


def _order(random: Random, outcome: Outcome) -> None:
    """A function whose columns are not in the order of the sorted labels is refused, and right ones are not."""
    from nicecf import NICE, OptionError

    table = _table(random, "cells", numbers_only=False)
    model = models.cell_model(random, table)
    while model.names_classes:
        model = models.cell_model(random, table)
    outcome.cover("order of the columns", f"model: {model.kind}")
    X, names = table.train, sorted(model.classes)
    order = [names[at] for at in random.permutation(len(names))]
    decided = model.ask(X).argmax(axis=1)
    labels = [order[at] for at in decided]
    for at in np.flatnonzero(random.random(len(labels)) < random.choice([0.0, 0.1])):
        labels[at] = order[int(random.integers(len(order)))]
    common = {"categorical_features": table.categorical_features, "optimize": "none"}
    refused = "columns in another order than the labels are refused, others are not"
    explainer = ask(outcome, "the right order", lambda: NICE(model.given, classes=order, **common).fit(X, labels))
    said = explainer.explain(X).predicted.tolist()
    outcome.note(refused, [] if said == [order[at] for at in decided] else ["with classes=, decisions differ"])
    if sorted(set(labels)) != names:
        return
    for what, made_with in (
        ("model", lambda order: NICE(model.given, **common | ({} if order is None else {"classes": order}))),
        ("robust_to", lambda order: _beside(model, names if order is None else order, common)),
    ):
        try:
            made_with(None).fit(X, labels)
            wrong = ["the wrong order was accepted"] if _is_clear(labels, decided, order, names) else []
        except OptionError as error:
            wrong = [f"the right order is refused: {error}"] if order == names else []
            if what == "model":
                line = ast.literal_eval(str(error).partition("Pass classes=")[2].partition(". If")[0])
                again = made_with(line)
                ask(outcome, "the line of the error", partial(again.fit, X, labels))
        outcome.note(refused, [f"{what}: {one}" for one in wrong])


def _beside(model: models.Model, names: list[Any], common: dict[str, Any]) -> Any:
    """A function that must agree with an estimator, its columns named as those of that."""
    from nicecf import NICE

    constant = models.CellEstimator(lambda X: np.full((n_rows(X), len(names)), 1 / len(names)), names)
    return NICE(constant, robust_to=[model.given], justified=False, **common)


def _is_clear(labels: list[Any], decided: np.ndarray, order: list[Any], names: list[Any]) -> bool:
    """Whether so many rows speak for the right order that chance is out of the question.

    Of a model that nearly always decides for one class, the labels cannot tell whether it is named wrongly or is poor.
    """
    if np.count_nonzero(np.bincount(decided) >= 20) < 2:
        return False
    right = sum(label == order[at] for label, at in zip(labels, decided, strict=True))
    by_names = sum(label == names[at] for label, at in zip(labels, decided, strict=True))
    return right - by_names > 60 and right - by_names > 0.3 * len(labels)


def _misuse(random: Random, outcome: Outcome) -> None:
    facts, X, y = drawn(random, outcome)
    explainer = ask(outcome, "fit", lambda: made(facts.settings).fit(X, y))
    outcome.cover("misuse")
    for name, problems in misused(random, facts, explainer, X, y):
        outcome.note(f"misuse: {name}", problems)


def _file(random: Random, outcome: Outcome) -> None:
    facts, X, y = drawn(random, outcome)
    if not facts.settings.is_nice or not n_rows(facts.tables.rows):
        return
    outcome.cover("mutated file")
    explainer = ask(outcome, "fit", lambda: made(facts.settings).fit(X, y))
    for problems in mutations.of_file(random, facts, explainer):
        outcome.note("a mutated file is refused or still right", problems)
    outcome.apart.update(facts.apart)


def _record(random: Random, outcome: Outcome) -> None:
    facts, X, y = drawn(random, outcome)
    if not n_rows(facts.tables.rows):
        return
    outcome.cover("mutated record")
    explainer = ask(outcome, "fit", lambda: made(facts.settings).fit(X, y))
    cfs = ask(
        outcome,
        "explain",
        lambda: explainer.explain(tables.take(facts.tables.rows, [0]), **mutations.call_of_first(facts)),
    )
    record = ask(outcome, "record", lambda: cfs[0].to_record())
    for problems in mutations.of_record(random, record, explainer):
        outcome.note("a mutated record is refused or told", problems)


def _possible(random: Random, outcome: Outcome) -> None:
    """Rows that could exist, whatever follows from what; alone and in a batch, and as a second call gives them."""
    case = possible.draw(random)
    name, explainer = possible.explainer_of(random, case)
    outcome.cover("rows that could exist", f"explainer: {name.split()[0]}")
    outcome.words += [name, *(one.text for one in case.derived.values()), *case.constraints["relations"]]
    ask(outcome, "fit", lambda: explainer.fit(case.train))
    cfs = ask(outcome, "explain", lambda: explainer.explain(case.rows))
    outcome.n_explained, outcome.n_found = len(cfs), int(cfs.found.sum())
    outcome.note("every answer could exist", ask(outcome, "reading", lambda: possible.problems_of(case, cfs)))
    line = int(random.integers(len(cfs)))
    alone = ask(outcome, "one row", lambda: explainer.explain(tables.take(case.rows, [line])))
    same = [str(alone[0].changes) == str(cfs[line].changes), alone.reasons[0] == cfs.reasons[line]]
    outcome.note("a row alone gets what it gets in a batch", [] if all(same) else [f"row {line}: {same}"])
    if name.startswith("NICE"):
        copies = ask(outcome, "copies", lambda: possible.problems_of_copies(random, case, explainer, cfs))
        outcome.note("files, pickles and records of what follows come back", copies)


def _resumed(random: Random, outcome: Outcome) -> None:
    """A folder of answers that is there when the call is made again."""
    outcome.cover("folder resumed")
    outcome.note(
        "a folder that is resumed has the answers of a fresh call",
        ask(outcome, "a folder", lambda: resumed.problems_of(random)),
    )


def _budget(random: Random, outcome: Outcome) -> None:
    """More time never finds fewer, whatever the rules are."""
    case = budgets.draw(random)
    outcome.cover("growing time budgets", *(f"rule: {name}" for name in case.rules))
    outcome.n_found, wrong = ask(outcome, "explain, timed", lambda: budgets.fewer_in_more_time(random, case))
    outcome.n_explained = len(case.rows)
    outcome.note("more time never finds fewer", wrong)


def _unreached(random: Random, outcome: Outcome) -> None:
    """A margin beyond all training rows: combinations of their values are found, and are what they must be."""
    case = unreached.draw(random)
    outcome.cover("unreached: adds up" if case.is_additive else "unreached: does not add up")
    outcome.cover(*(f"unreached: {name}" for name in case.constraints))
    labels = case.models[0](case.train).argmax(axis=1)
    explainer = ask(outcome, "fit", lambda: unreached.explainer_of(case).fit(case.train, labels))
    if not len(case.rows):
        return
    cfs = ask(outcome, "explain", lambda: explainer.explain(case.rows, target_class=1))
    outcome.n_explained, outcome.n_found = len(case.rows), int(cfs.found.sum())
    wrong, n_exist, n_found = ask(outcome, "reading", lambda: unreached.problems_of(case, cfs))
    outcome.note("what no training row reaches is found", wrong)
    outcome.apart["rows that no training row helps, though something exists"] += n_exist
    outcome.apart["rows that no training row helps, found by the default search"] += n_found


# Each kind of case, and how many of all cases are of this kind.
_KINDS: dict[str, tuple[Callable[[Random, Outcome], None], float]] = {
    "explain": (_explain, 0.45),
    "plain": (_plain, 0.14),
    "possible": (_possible, 0.1),
    "file": (_file, 0.05),
    "record": (_record, 0.05),
    "misuse": (_misuse, 0.05),
    "changed model": (_changed_model, 0.05),
    "order": (_order, 0.02),
    "resumed": (_resumed, 0.01),
    "budget": (_budget, 0.03),
    "unreached": (_unreached, 0.05),
}
