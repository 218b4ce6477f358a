"""Random options, rules and targets for a table and a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fuzz.models import CellEstimator, CellModel, HashCells, LinearCells, Model
from fuzz.oracle import Panel, Rules
from fuzz.rules import MOST_COUNT, as_constraints, contradicting, draw_rules, speaks_of
from fuzz.tables import Random, Tables, n_rows

THOROUGH = 0.3  # how many of the cases, but for plain ones and baselines
BASELINES = ("WIT", "CBR", "SEDC", "GeCo", "GrowingSpheres", "CFproto", "DiCE")


@dataclass(eq=False)
class Settings:
    """What is asked of the library, as it gets it and as the checks see it."""

    explainer: str
    options: dict[str, Any]
    call: dict[str, Any]
    panel: Panel
    own_rules: Rules | None = None
    call_rules: Rules | list[Rules | None] | None = None
    contradicted: set[int] = field(default_factory=set)  # rows whose own rules contradict those of the explainer
    names: list[str] = field(default_factory=list)  # what was chosen, in words, to count and to print

    @property
    def is_nice(self) -> bool:
        """Whether NICE explains, and not a baseline."""
        return self.explainer == "NICE"

    @property
    def has_rules(self) -> bool:
        """Whether anything restricts what may change."""
        return self.own_rules is not None or self.call_rules is not None or self.options.get("min_count", 1) > 1

    @property
    def search(self) -> str:
        """Greedy or thorough: as named, else by the objective."""
        optimize = self.options.get("optimize", "none")
        return self.options.get("search", "thorough" if isinstance(optimize, str) and optimize != "none" else "greedy")

    @property
    def mixes_donors(self) -> bool:
        """Whether a counterfactual may hold values of several training rows."""
        is_compared = self.search == "thorough" and self.options["optimize"] in ("sparsity", "proximity")
        return self.is_nice and is_compared and self.options.get("mix_donors", True)

    def rules_of(self, line: int) -> list[Rules]:
        """All rules of one row."""
        of_call = self.call_rules[line] if isinstance(self.call_rules, list) else self.call_rules
        return [rules for rules in (self.own_rules, of_call) if rules is not None]


@dataclass(frozen=True, eq=False)
class WeightedDecision:
    """A decision function: the class whose probability, times a weight of its own, is the highest."""

    classes: list[Any]
    weights: np.ndarray

    def __call__(self, probabilities: np.ndarray) -> list[Any]:
        return [self.classes[at] for at in (probabilities * self.weights).argmax(axis=1)]


def own_reward(round: Any) -> Any:
    """A reward of one's own: the gain, with a small price for every feature to the left."""
    return round.score - round.previous_score - 0.001 * round.features


@dataclass(frozen=True, eq=False)
class CellError:
    """A measure of plausibility without any structure, in eighths."""

    model: CellModel

    def __call__(self, X: Any) -> np.ndarray:
        return np.round(self.model(X)[:, 0] * 8) / 8


def draw(random: Random, tables: Tables, model: Model, *, baseline: str | None = None, plain: bool = False) -> Settings:
    """Random settings; ``plain``: only those of the paper, so that its own algorithm can be compared with."""
    options: dict[str, Any] = {"categorical_features": tables.categorical_features}
    if not model.names_classes and (random.random() < 0.5 or model.classes != sorted(model.classes)):
        options["classes"] = list(model.classes)
    panel = Panel([model], list(model.classes))
    settings = Settings(baseline or "NICE", options, {}, panel)
    _draw_target(random, tables, model, settings)
    if baseline is not None:
        _draw_baseline(random, tables, baseline, settings)
        return settings
    _draw_search(random, tables, settings, plain)
    if any(column.dtype_levels for column in tables.columns):
        if random.random() < 0.25:
            options["ordinal"] = "overlap"
        settings.names.append(f"ordinal: {options.get('ordinal', 'rank')}")
    if plain:
        return settings
    _draw_decision(random, model, settings)
    _draw_others(random, tables, model, settings)
    _draw_guards(random, settings)
    _draw_rules(random, tables, settings)
    return settings


def _draw_target(random: Random, tables: Tables, model: Model, settings: Settings) -> None:
    count, classes = n_rows(tables.rows), model.classes
    form = str(random.choice(["other", "label", "list", "array", "series"], p=[0.45, 0.2, 0.15, 0.1, 0.1]))
    form = "list" if form in ("array", "series") and "other" in classes else form  # which of the two would be meant?
    target: Any = "other"
    one_each = [classes[at] for at in random.integers(0, len(classes), count)]
    if form == "label":
        target = classes[int(random.integers(len(classes)))]
        target = [target] if target == "other" else target
    elif form == "list":
        target = [classes[at] for at in random.permutation(len(classes))[: int(random.integers(1, len(classes) + 1))]]
    elif form == "array":
        target = np.array(one_each, dtype=np.array(classes).dtype)
    elif form == "series":
        index = tables.rows.index if isinstance(tables.rows, pd.DataFrame) else None
        target = pd.Series(one_each, index=index, dtype=np.array(classes).dtype)
    if form != "other" or random.random() < 0.3:
        settings.call["target_class"] = target
    settings.names.append(f"target: {form}")


def _draw_baseline(random: Random, tables: Tables, baseline: str, settings: Settings) -> None:
    if baseline == "GeCo":
        settings.options |= {"population": 20, "max_generations": 6, "first_samples": 8}
    elif baseline == "GrowingSpheres":
        settings.options |= {"n_samples": 60, "max_shells": 12}
    elif baseline == "CFproto":
        settings.options |= {"c_steps": 2, "max_iterations": 12}
    elif baseline == "DiCE":
        settings.options |= {"seconds_per_row": 2.0}
    _draw_decision(random, settings.panel.models[0], settings)
    settings.names.append(f"baseline: {baseline}")


def _draw_search(random: Random, tables: Tables, settings: Settings, plain: bool) -> None:
    options = settings.options
    thorough = not plain and random.random() < THOROUGH
    if thorough:
        options["optimize"] = str(
            random.choice(["sparsity", "proximity", "plausibility", "balanced"], p=[0.35, 0.35, 0.15, 0.15])
        )
        if random.random() < 0.5:
            options["search"] = "thorough"  # else by default
            options["mix_donors"] = bool(random.random() < 0.4)
        settings.names.append(f"donors: {'mixed' if settings.mixes_donors else 'one'}")
        if random.random() < 0.4:
            options["neighbors"] = int(random.choice([1, 2, 5, 30]))
            settings.names.append("neighbors")
        if random.random() < 0.3:
            settings.call["n_counterfactuals"] = int(random.integers(2, 5))
            settings.names.append("n_counterfactuals")
    else:
        kinds = ["none", "sparsity", "proximity"] if plain else ["none", "sparsity", "proximity", "plausibility", "own"]
        kind = str(random.choice(kinds))
        options["optimize"] = own_reward if kind == "own" else kind
        if kind not in ("none", "own"):
            options["search"] = "greedy"
    if not plain and random.random() < 0.04:
        settings.call["time_budget"] = float(random.choice([1e-6, 0.01, 5.0]))
        settings.names.append("time_budget")
    settings.names.append(f"search: {settings.search}")
    name = options["optimize"] if isinstance(options["optimize"], str) else "own reward"
    settings.names.append(f"optimize: {name}")
    # Training an autoencoder takes most of a case: a cheap measure most of the time.
    needs_error = options["optimize"] in ("plausibility", "balanced")
    if random.random() < (0.93 if needs_error else 0.3 if thorough else 0.05):
        hidden = CellModel(tables.reader, HashCells(2, int(random.integers(1, 2**31)), False))
        options["plausibility"] = CellError(hidden)
        settings.names.append("plausibility function")
    if random.random() < 0.3:
        options["scale"] = "std"
        settings.names.append("scale: std")
    if random.random() < 0.3:
        options["justified"] = False
        settings.names.append("justified: False")


def _draw_decision(random: Random, model: Model, settings: Settings) -> None:
    if random.random() > 0.25:
        return
    classes = model.classes
    forms = ["dict", "function"] + (["cut-off"] if len(classes) == 2 else []) + (["predict"] if model.predict else [])
    form = str(random.choice(forms))
    decision: Any = "predict"
    if form == "cut-off":
        decision = float(random.choice([0.1, 0.3, 0.5, 0.7]))
    elif form == "dict":
        chosen = random.permutation(len(classes))[: int(random.integers(1, len(classes) + 1))]
        decision = {classes[at]: float(random.choice([0.1, 0.25, 0.4, 0.6])) for at in chosen}
    elif form == "function":
        decision = WeightedDecision(classes, random.choice([0.5, 1.0, 2.0], len(classes)))
    settings.options["decision"] = decision
    settings.panel = Panel(settings.panel.models, settings.panel.classes, decision, settings.panel.min_probability)
    settings.names.append(f"decision: {form}")


def _draw_others(random: Random, tables: Tables, model: Model, settings: Settings) -> None:
    options, panel = settings.options, settings.panel
    if random.random() < 0.12:
        options["min_probability"] = float(random.choice([0.4, 0.55, 0.7]))
        settings.names.append("min_probability")
    models = [model]
    if random.random() < 0.1 and panel.decision != "predict":
        models += [_another(random, tables, model) for _ in range(int(random.integers(1, 3)))]
        options["robust_to"] = [other.given for other in models[1:]]
        settings.names.append("robust_to")
    settings.panel = Panel(models, panel.classes, panel.decision, options.get("min_probability"))
    if random.random() < 0.15:
        options["feature_weights"] = _weights(random, tables)
        settings.names.append("feature_weights")
    if model.is_forest and "robust_to" not in options and panel.decision != "predict" and random.random() < 0.7:
        options["accelerate"] = bool(random.random() < 0.8) or "unconfirmed"
        settings.names.append("accelerate")


def _another(random: Random, tables: Tables, model: Model) -> Model:
    """Another model with the same classes, that agrees on some rows."""
    is_category = tables.reader.is_category
    zeros, ones = np.zeros(len(is_category)), np.ones(len(is_category))
    of_cells = LinearCells(len(model.classes), int(random.integers(2**31)), is_category, zeros, ones * 10)
    function = CellModel(tables.reader, of_cells)
    estimator = CellEstimator(function, model.classes)
    return Model("linear", estimator, function, model.classes, True, True, of_cells)


def _weights(random: Random, tables: Tables) -> Any:
    kinds = [0.5, 1.0, 3.0] if random.random() < 0.7 else [1e-100, 1e-9, 1.0, 1e9, 1e100]
    numbers = [float(random.choice(kinds)) for _ in tables.columns]
    if random.random() < 0.5:
        return numbers
    chosen = random.permutation(len(numbers))[: max(1, len(numbers) // 2)]
    return {tables.names[at]: numbers[at] for at in chosen}


def weights_of(given: Any, names: list[Any]) -> list[float]:
    """One weight for each feature, whatever the form they were given in."""
    if given is None:
        return [1.0] * len(names)
    return [given.get(name, 1.0) for name in names] if isinstance(given, dict) else list(given)


def _draw_guards(random: Random, settings: Settings) -> None:
    if random.random() < 0.1:
        settings.options["share_donor"] = False
        settings.names.append("guard: share_donor")
    if random.random() < 0.1:
        settings.options["min_count"] = int(random.integers(2, MOST_COUNT + 1))
        settings.names.append("guard: min_count")


def _draw_rules(random: Random, tables: Tables, settings: Settings) -> None:
    if random.random() > 0.45:
        return
    where = str(random.choice(["explainer", "call", "both", "rows", "contradicting"]))
    if where in ("explainer", "both", "contradicting"):
        settings.own_rules = draw_rules(random, tables, range(len(tables.columns)))
        settings.options["constraints"] = as_constraints(settings.own_rules, tables)
    free = range(len(tables.columns))
    if where == "contradicting":
        _draw_contradiction(random, tables, settings)
    if settings.own_rules is not None:  # two rules of one feature may contradict each other: that is misuse
        free = [j for j in free if not speaks_of(settings.own_rules, j)]
    if where in ("call", "both"):
        settings.call_rules = draw_rules(random, tables, free, per_row=random.random() < 0.3)
        settings.call["constraints"] = as_constraints(settings.call_rules, tables)
    if where == "rows":
        sets = [draw_rules(random, tables, free) for _ in range(int(random.integers(1, 4)))]
        choices: list[Rules | None] = [*sets, None]
        picked = [choices[at] for at in random.integers(0, len(choices), n_rows(tables.rows))]
        made = {id(one): as_constraints(one, tables) for one in sets}
        settings.call_rules = picked
        settings.call["constraints"] = [None if one is None else made[id(one)] for one in picked]
    kinds = {
        kind for line in range(min(n_rows(tables.rows), 50)) for one in settings.rules_of(line) for kind in one.kinds
    }
    settings.names += [f"rule: {kind}" for kind in sorted(kinds)] + [f"rules of the {where}"]


def _draw_contradiction(random: Random, tables: Tables, settings: Settings) -> None:
    """Rules of some rows that contradict those of the explainer, as a list or as a bound for each row."""
    assert settings.own_rules is not None
    found = contradicting(random, settings.own_rules, tables)
    chosen = random.random(n_rows(tables.rows)) < 0.4
    if found is None or not chosen.any():
        return
    j, opposite = found
    settings.names.append("rule: contradicted in some rows")
    settings.contradicted = set(np.flatnonzero(chosen).tolist())
    bounds = opposite.ranges.get(j, (None, None))
    if any(isinstance(bound, float) for bound in bounds) and random.random() < 0.5:
        low, high = (None if bound is None else np.where(chosen, bound, np.nan) for bound in bounds)
        settings.call_rules = Rules(ranges={j: (low, high)})
        settings.call["constraints"] = as_constraints(settings.call_rules, tables)
        return
    made = as_constraints(opposite, tables)
    settings.call_rules = [opposite if one else None for one in chosen]
    settings.call["constraints"] = [made if one else None for one in chosen]
