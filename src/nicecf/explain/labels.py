"""The labels of the training rows: read from what people pass, and compared with what the models say of the rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from nicecf.exceptions import DecisionWarning, OptionError, SchemaError, plain
from nicecf.models.classifier import ScoreModel, names_its_classes
from nicecf.models.decision import Panel
from nicecf.support.progress import outside
from nicecf.support.types import Bools, Floats, Ints, Objects

# Another order of the columns must agree with the labels for at least this share of the rows more. A guess: columns in
# the wrong order lose most of the rows, a poor model or a few wrong labels lose few.
_MUCH_BETTER = 0.1
# How unlikely a difference must be by chance. Small tables with labels that say nothing are never this unlikely.
_BY_CHANCE = 1e-6


def labels_of(y: Any, n_rows: int, *, is_needed: bool) -> Objects | None:
    """Return the labels as an array of objects, None if there are none; SchemaError unless each row has one."""
    if y is None and is_needed:
        raise SchemaError(
            "y is missing: pass the labels of the training rows, fit(X, y). They tell which rows the model gets right; "
            "with justified=False rows that it gets wrong may be donors too, and y is not needed."
        )
    if y is None:
        return None
    labels = _objects(y)
    if labels.ndim != 1:
        raise SchemaError(
            f"y must have one label per row, got shape {labels.shape}. Pass one column, such as y.iloc[:, 0]."
        )
    if len(labels) != n_rows:
        raise SchemaError(f"y has {len(labels)} labels, but X has {n_rows} rows. Pass one label per row.")
    missing = pd.isna(labels)
    if missing.any():
        raise SchemaError(f"y has no label for row {int(np.argmax(missing))}. Drop the rows without a label.")
    return labels


def _objects(y: Any) -> Objects:
    if isinstance(y, pd.Series) and isinstance(y.dtype, pd.CategoricalDtype):  # an object for each class, not each row
        return np.array([*y.cat.categories, np.nan], dtype=object)[y.cat.codes]
    return np.asarray(y.to_list() if hasattr(y, "to_list") else y, dtype=object)


@dataclass(frozen=True, eq=False)
class _Agreement:
    """How often the highest probability is that of the label: as the columns are named, and in the best order.

    ``order``: for each column the position of the class that it fits best, None if no other order is clearly better.
    """

    n_rows: int
    share: float
    best_share: float
    order: Ints | None
    is_below_chance: bool
    by_chance: float

    @classmethod
    def of(cls, codes: Ints, probabilities: Floats) -> _Agreement:
        """Compare labels, as positions among the classes, with probabilities of shape ``(n_rows, n_classes)``.

        The highest probability is compared and not the decision: by a cut-off at 5 %, most decisions may be wrong on
        purpose.
        """
        n_rows, n_classes = probabilities.shape
        highest = probabilities.argmax(axis=1)
        counts = np.bincount(codes * n_classes + highest, minlength=n_classes**2).reshape(n_classes, n_classes)
        # Ties, as between classes that no row has, leave a column where it is.
        _, order = linear_sum_assignment(counts.T + np.eye(n_classes) / (n_classes + 1), maximize=True)
        is_right, is_right_then = highest == codes, order[highest] == codes
        share, best_share = float(is_right.mean()), float(is_right_then.mean())
        by_chance = float(counts.sum(axis=0) @ counts.sum(axis=1)) / n_rows**2
        is_better = best_share - share >= _MUCH_BETTER and (
            _chance_of(is_right, is_right_then, order) < _BY_CHANCE and _fits_better(codes, probabilities, order)
        )
        return cls(
            n_rows,
            share,
            best_share,
            order if is_better else None,
            bool(binom.cdf(is_right.sum(), n_rows, by_chance) < _BY_CHANCE),
            by_chance,
        )


def _chance_of(is_right: Bools, is_right_then: Bools, order: Ints) -> float:
    """Return how likely one of the orders that move so many columns does so well on labels that say nothing."""
    gained, lost = int((is_right_then & ~is_right).sum()), int((is_right & ~is_right_then).sum())
    n_moved = int((order != np.arange(len(order))).sum())
    # With 30 classes and few rows, the best of very many orders fits any labels better than the one that is given.
    return float(np.exp(binom.logsf(gained - 1, gained + lost, 0.5) + math.log(math.perm(len(order), n_moved))))


def _fits_better(codes: Ints, probabilities: Floats, order: Ints) -> bool:
    """Return whether each class, on average over its rows, gets a higher probability in the other order.

    Where nearly all rows have one label, a model that often gives the rare class the highest probability (and needs a
    cut-off) agrees with fewer labels than its opposite does; its probabilities are the right way round all the same.
    """
    n_rows = np.maximum(np.bincount(codes, minlength=len(order)), 1)
    mean = np.array([np.bincount(codes, column, minlength=len(order)) / n_rows for column in probabilities.T]).T
    return bool(mean[order, np.arange(len(order))].sum() > mean.trace() + 1e-9)


def check_agreement(models: Sequence[Any], classes: Any, panel: Panel, outputs: Floats, codes: Ints) -> None:
    """Raise OptionError if the columns of a function are clearly named in a wrong order, by the labels; or warn.

    ``classes``: the option. An order that a model or a user names explicitly is only warned of: it may be right, and
    the model poor on these rows. Also warn of a model that agrees with fewer labels than by chance.
    """
    for number, (model, (_, block)) in enumerate(zip(models, panel.blocks(outputs), strict=True)):
        found = _Agreement.of(codes, block[:, : len(panel.classes)])
        who = "the model" if number == 0 else f"the model robust_to[{number - 1}]"
        said = (
            f"{who} gives the highest probability to the label of {_percent(found.share)} of the "
            f"{found.n_rows:,} training rows"
        )
        if found.order is not None:
            is_explicit = names_its_classes(model) or (number == 0 and classes is not None)
            message = f"{said}{_in_best_order(model, found, panel.classes, number, is_explicit=is_explicit)}"
            if not is_explicit:
                raise OptionError(message)
        elif found.is_below_chance:
            message = (
                f"{said}, fewer than by chance ({_percent(found.by_chance)}). Check that these are the rows and the "
                "labels that it was trained for, and that its columns are in the order of the classes."
            )
        else:
            continue
        warnings.warn(message, DecisionWarning, stacklevel=outside())


def _in_best_order(model: Any, found: _Agreement, classes: Objects, number: int, *, is_explicit: bool) -> str:
    """Return the end of a message about an order of the columns that fits the labels better: what to write."""
    assert found.order is not None
    now, better = ([plain(label) for label in labels] for labels in (classes, classes[found.order]))
    said = f", but to that of {_percent(found.best_share)} if its columns were {better!r} and not {now!r}. "
    if number > 0:
        own = "its classes_ say so; check what it was trained on" if is_explicit else _reordered(model, found.order)
        end = "." if is_explicit else ". If it really is that far off, leave it out of robust_to."
        return f"{said}{own[0].upper()}{own[1:]}{end}"
    if names_its_classes(model):
        return (
            f"{said}Its classes_ say {now!r}: check the labels. If it is classes_ that are wrong, pass "
            f"NICE(model.predict_proba, classes={better!r})."
        )
    if is_explicit:
        return f"{said}If that is their order, pass classes={better!r}."
    return (
        f"{said}Pass classes={better!r}. If it really is that far off, pass classes={now!r}, and this becomes a "
        "warning."
    )


def _reordered(model: Any, order: Ints) -> str:
    """Return what to pass in ``robust_to`` instead of a function with its columns in another order."""
    if isinstance(model, ScoreModel):
        if model.kind == "margin":
            return "pass nicecf.from_score(lambda X: -f(X), kind='margin') in its place, with f its function"
        return "pass nicecf.from_score(lambda X: 1 - f(X)) in its place, with f its function"
    return f"pass lambda X: f(X)[:, {np.argsort(order).tolist()}] in its place, with f its probabilities"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
