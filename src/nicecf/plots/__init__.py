"""Pictures of counterfactuals, drawn with matplotlib (``pip install 'nicecf[plots]'``).

One explanation: :func:`changes`, :func:`walk`, :func:`regions`; several of one row: :func:`variants`, :func:`pareto`;
many rows: :func:`frequencies`. Each gives a :class:`Picture`. ``dark=True`` is for dark pages; ``wording``, a
:class:`nicecf.Wording`, says what people call the features and classes. What is shown is computed in ``data``, how it
is drawn is in ``draw``. Neither pyplot nor the settings of matplotlib are used or changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicecf.options import choose
from nicecf.plots.canvas import matplotlib
from nicecf.plots.data.changes import changes_of
from nicecf.plots.data.frequencies import frequencies_of
from nicecf.plots.data.pareto import pareto_of
from nicecf.plots.data.regions import regions_of
from nicecf.plots.data.variants import variants_of
from nicecf.plots.data.walk import walk_of
from nicecf.plots.draw import Shown, figure_of
from nicecf.plots.picture import Picture

__all__ = ["Picture", "changes", "frequencies", "pareto", "regions", "variants", "walk"]


def variants(by_name: Mapping[str, Any], *, dark: bool = False, wording: Any | None = None) -> Picture:
    """Several explanations of one row as a table, such as those of the four variants.

    ``by_name``: each explanation under the name of its column, ``{"sparsity": cfs[0], "proximity": others[0]}``. One
    line for each feature; changed cells are marked, features that nobody changes are folded where there are many.
    """
    return _picture(variants_of, by_name, wording, dark=dark)


def walk(one: Any, *, dark: bool = False, wording: Any | None = None) -> Picture:
    """The probability of the counterfactual's class after each step of one explanation."""
    return _picture(walk_of, one, wording, dark=dark)


def changes(one: Any, *, dark: bool = False, wording: Any | None = None) -> Picture:
    """Each change of one explanation as an arrow on the distribution of its feature in the training data.

    The most important first: those that gain most on the way to the new decision.
    """
    return _picture(changes_of, one, wording, dark=dark)


def pareto(cfs: Any, row: int = 0, *, dark: bool = False, wording: Any | None = None) -> Picture:
    """All counterfactuals of one row that nothing beats, with the chosen one: changes against distance, plausibility.

    ``row``: the position of the row in the ``explain`` call, one of ``cfs.rows``. Needs ``search="thorough"``.
    """
    return _picture(pareto_of, cfs, row, wording, dark=dark)


def frequencies(cfs: Any, *, dark: bool = False, wording: Any | None = None) -> Picture:
    """How often each feature changes over many rows, by the model's decision on the row; for numbers up or down."""
    return _picture(frequencies_of, cfs, wording, dark=dark)


def regions(one: Any, features: Any = None, *, dark: bool = False, wording: Any | None = None) -> Picture:
    """What the model says as two features vary, with the row, its donor and its counterfactual.

    ``features``: two names or positions, at least one of them a number; by default the two most important numbers that
    change, or one and the number in which the donor differs most. All others are as in the row. The model is asked
    about some 19,000 rows, in one batch.
    """
    return _picture(regions_of, one, features, wording, dark=dark)


def plot_one(one: Any, kind: str, *, dark: bool, wording: Any | None) -> Picture:
    """A picture of one explanation, by its name."""
    choose("kind", kind, ("changes", "walk", "pareto", "regions"))
    if kind == "pareto":
        return pareto(one._batch, int(one._batch.rows[0]), dark=dark, wording=wording)
    return {"changes": changes, "walk": walk, "regions": regions}[kind](one, dark=dark, wording=wording)


def plot_many(cfs: Any, kind: str, *, dark: bool, wording: Any | None) -> Picture:
    """A picture of many explanations, by its name."""
    choose("kind", kind, ("frequencies",))
    return frequencies(cfs, dark=dark, wording=wording)


def _picture(compute: Callable[..., Shown], *asked: Any, dark: bool) -> Picture:
    matplotlib("matplotlib")  # before the model is asked in vain
    shown = compute(*asked)
    return Picture(figure_of(shown, dark=dark), shown.caption.alt)
