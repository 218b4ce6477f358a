"""The explainers of an experiment, by the names that the command line knows them by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from nicecf import NICE, baselines
from nicecf.explain.explainer import Explainer
from nicecf.support.extras import require

_BASELINES = {one.__module__.rpartition(".")[2].replace("_", "-"): one for one in baselines.ALL}

# The paper's variants of NICE, ours, and every baseline by the name of its file: "growing-spheres".
METHODS: dict[str, Callable[..., Explainer]] = {
    "nice-none": partial(NICE, optimize="none", search="greedy"),
    "nice-spars": partial(NICE, optimize="sparsity", search="greedy"),
    "nice-prox": partial(NICE, optimize="proximity", search="greedy"),
    "nice-plaus": partial(NICE, optimize="plausibility", search="greedy"),
    "nice-thorough": partial(NICE, optimize="balanced", search="thorough"),
    "nice-thorough-spars": partial(NICE, optimize="sparsity", search="thorough"),
    "nice-thorough-prox": partial(NICE, optimize="proximity", search="thorough"),
    "nice-thorough-plaus": partial(NICE, optimize="plausibility", search="thorough"),
    **_BASELINES,
    # As in the experiments of the paper, which differ from our defaults; of three counterfactuals for a row, the best
    # in each measure counts.
    "cbr": partial(baselines.CBR, partner="fewest_differences", neighbors=None),
    "sedc": partial(baselines.SEDC, expansions=100),
    "dice": partial(baselines.DiCE, n_counterfactuals=3),
    # What the paper's tables call GeCo is the genetic search of dice-ml.
    "paper-geco": partial(baselines.DiCE, method="genetic", n_counterfactuals=3),
}
_NEED_DICE = ("dice", "paper-geco")


def make(method: str, model: Any, *, categorical: list[int], seed: int, time_limit: float | None) -> Any:
    """The explainer of that name, to be fitted; every one of them that draws random numbers draws them by the seed."""
    explainer: Any = METHODS[method](model, categorical_features=categorical)
    known = explainer.get_params(deep=False)
    options: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    # Without a limit for the run, a method keeps its own: some would never end.
    if "seconds_per_row" in known and time_limit is not None:
        options["seconds_per_row"] = time_limit
    return explainer.set_params(**options)


def why_not(method: str, *, n_categorical: int) -> str | None:
    """Why a method does not apply to a table; None where it does."""
    if n_categorical and method in _BASELINES and not _BASELINES[method].takes_categories:
        features = "1 feature is" if n_categorical == 1 else f"{n_categorical} features are"
        return f"it takes numbers alone, and {features} categorical"
    return None


def check_installed(methods: Iterable[str]) -> None:
    """ImportError, with what to install, for a method whose package is not there."""
    for method in methods:
        if method in _NEED_DICE:
            require("dice_ml", extra="dice", needed_by=f"the method {method}", package="dice-ml")
