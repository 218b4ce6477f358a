"""``min_probability`` of one call: what ``fit`` learned, as a fit with this margin would have learned it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.explain.fitted import Fitted
from nicecf.explain.score_targets import with_panel
from nicecf.explain.search_options import SearchOptions
from nicecf.models.decision import Panel, check_min_probability


def check_margin(least: float, panel: Panel) -> None:
    """Raise OptionError unless a call of the panel's explainer may ask for this margin."""
    check_min_probability(least)
    if panel.is_regressor:
        raise OptionError(
            f"min_probability={least!r} is for models with classes, and this model returns scores. Leave it out; "
            "target_score=(low, high) says which scores are wanted."
        )
    if panel.min_probability is not None and least < panel.min_probability:
        raise OptionError(
            f"min_probability={least!r} is less than the explainer's own, {panel.min_probability!r}, which every "
            f"counterfactual keeps. Pass at least {panel.min_probability!r}, or leave it out."
        )


def with_margin(least: float, fitted: Fitted, options: SearchOptions) -> Fitted:
    """Return what was learned, with donors that reach the probability ``least``. The model is not asked again.

    The donors of a class that do not reach it move to the group of rows that are decided to be in the class, but not
    accepted there. Nothing that is read of a model depends on a margin.
    """
    assert fitted.neighborhood is not None
    donors, panel = fitted.neighborhood.donors, replace(fitted.panel, min_probability=least)
    decisions, n_classes = panel.decide(donors.outputs), len(panel.classes)
    is_accepted = panel.accepts(donors.outputs, np.eye(n_classes, dtype=bool)[decisions])
    groups = np.where(is_accepted, decisions, n_classes + decisions)
    donors = donors.regrouped(groups, 2 * n_classes, donors.n_decided)
    return with_panel(panel, donors, fitted, options)
