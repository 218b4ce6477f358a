"""``target_score``: what ``fit`` learned, seen towards scores that are wanted.

A target makes two classes of the training rows, those whose score lies in it and all others. With these, everything
else is as with any two classes: donors, searches, rules and reasons.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.explain.fitted import Fitted, refusal
from nicecf.explain.search_options import SearchOptions
from nicecf.models.decision import Panel
from nicecf.models.scores import Regressor, ScoreTarget
from nicecf.search.donors import DonorSearch

Known = TypeVar("Known")


class LastFew(Generic[Known]):
    """Remembers the results of the last ``most`` keys; pickled, it remembers nothing."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._kept: dict[Hashable, Known] = {}

    def get(self, key: Hashable) -> Known | None:
        """Return what is known of this key."""
        return self._kept.get(key)

    def keep(self, key: Hashable, one: Known) -> Known:
        """Remember a result in place of the oldest: threads that do so at once do no harm."""
        self._kept = dict([*self._kept.items(), (key, one)][-self._most :])
        return one

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": {}}


def target_of(target_class: Any, target_score: Any, panel: Panel) -> ScoreTarget | None:
    """The scores that are wanted, None if it is classes; OptionError where the model has nothing of that kind."""
    is_named = not (isinstance(target_class, str) and target_class == "other")
    if target_score is None:
        if panel.is_regressor:
            named = f"target_class={plain(target_class)!r} names a class, but " if is_named else ""
            scoring = panel.members[0].classifier
            instead = scoring.for_classes if isinstance(scoring, Regressor) else ""
            raise OptionError(
                f"{named}the model returns scores, not classes: say which are wanted, explain(X, target_score=(low, "
                f"high)), with None for an open end, such as (5000, None) for at least 5,000.{instead}"
            )
        return None
    if is_named:
        raise OptionError("target_class and target_score exclude each other: a target is classes, or scores. Pass one.")
    target = ScoreTarget.of(target_score)
    if len(panel.classes) != 2:
        raise OptionError(
            f"target_score needs a model with one score per row, but this one has {len(panel.classes)} classes. Pass "
            "the score of your choice as the model: nicecf.from_score(lambda X: model.predict_proba(X)[:, 0], "
            "kind='score')."
        )
    if panel.min_probability is not None:
        raise OptionError(
            f"min_probability={panel.min_probability!r} is a margin for classes, and target_score says itself which "
            "scores are wanted. Put the margin into target_score, and leave min_probability=None."
        )
    return target


def towards(target: ScoreTarget, fitted: Fitted, options: SearchOptions, *, justified: bool) -> Fitted:
    """What was learned, with two classes of scores: outside the target, and in it.

    ``justified``: the label of a donor must lie where its score does. (That of a classifier's donor agrees with the
    decision on it, as for every target.)
    """
    assert fitted.neighborhood is not None
    donors = fitted.neighborhood.donors
    target = target.scaled_to(fitted.panel.probabilities(donors.outputs)[:, 1])
    panel = replace(fitted.panel, target=target)
    inside = panel.decide(donors.outputs)
    is_accepted = panel.accepts(donors.outputs, np.eye(2, dtype=bool)[inside])
    groups = np.where(is_accepted, inside, 2 + inside)
    if justified and fitted.label_scores is not None:
        groups[target.holds(fitted.label_scores[donors.index.positions]) != inside] = -1
    chosen = donors.regrouped(groups, 2 if panel.is_alone else 4, np.bincount(inside, minlength=2))
    return with_panel(panel, chosen, fitted, options)


def with_panel(panel: Panel, donors: DonorSearch, fitted: Fitted, options: SearchOptions) -> Fitted:
    """Return what was learned, with models that accept other rows, and with the donors for them."""
    search, neighborhood = options.searching(
        donors,
        fitted.distance,
        is_refused=refusal(fitted.privacy, fitted.schema),
        plausibility=fitted.plausibility,
        basis=fitted.models.basis,
    )
    models = replace(fitted.models, panel=panel)
    return replace(fitted, models=models, search=search, neighborhood=neighborhood)
