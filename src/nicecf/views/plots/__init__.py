"""Pictures of counterfactuals, drawn with matplotlib (the extra ``plots``).

One explanation: :func:`changes`, :func:`walk`, :func:`regions`; several of one row: :func:`variants`, :func:`pareto`;
many rows: :func:`frequencies`. Each gives a :class:`Picture`. ``dark=True`` is for dark pages; ``wording``, a
:class:`nicecf.Wording`, says what people call the features and classes. What is shown is computed in ``data``, how it
is drawn is in ``draw``. Neither pyplot nor the settings of matplotlib are used or changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nicecf.results.counterfactual import Counterfactual
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.options import choose
from nicecf.views.plots.canvas import matplotlib
from nicecf.views.plots.data.changes import changes_of
from nicecf.views.plots.data.frequencies import frequencies_of
from nicecf.views.plots.data.pareto import pareto_of
from nicecf.views.plots.data.regions import Pair, regions_of
from nicecf.views.plots.data.variants import variants_of
from nicecf.views.plots.data.walk import walk_of
from nicecf.views.plots.draw import Shown, figure_of
from nicecf.views.plots.picture import Picture
from nicecf.views.words.wording import Wording

__all__ = ["Picture", "changes", "frequencies", "pareto", "regions", "variants", "walk"]


def variants(by_name: Mapping[str, Counterfactual], *, dark: bool = False, wording: Wording | None = None) -> Picture:
    """Several explanations of one row as a table, such as those of the four variants.

    ``by_name``: each explanation under the name of its column, ``{"sparsity": cfs[0], "proximity": others[0]}``. One
    line for each feature; changed cells are marked, features that nobody changes are folded where there are many.
    """
    return _picture(lambda: variants_of(by_name, wording), dark=dark)


def walk(one: Counterfactual, *, dark: bool = False, wording: Wording | None = None) -> Picture:
    """The probability of the counterfactual's class after each step of one explanation."""
    return _picture(lambda: walk_of(one, wording), dark=dark)


def changes(one: Counterfactual, *, dark: bool = False, wording: Wording | None = None) -> Picture:
    """Each change of one explanation as an arrow on the distribution of its feature in the training data.

    The most important first: those that gain most on the way to the new decision.
    """
    return _picture(lambda: changes_of(one, wording), dark=dark)


def pareto(cfs: Counterfactuals, row: int = 0, *, dark: bool = False, wording: Wording | None = None) -> Picture:
    """All counterfactuals of one row that nothing beats, with the chosen one: changes against distance, plausibility.

    ``row``: the position of the row in the ``explain`` call, one of ``cfs.rows``. Needs ``search="thorough"``.
    """
    return _picture(lambda: pareto_of(cfs, row, wording), dark=dark)


def frequencies(cfs: Counterfactuals, *, dark: bool = False, wording: Wording | None = None) -> Picture:
    """How often each feature changes over many rows, by the model's decision on the row; for numbers up or down."""
    return _picture(lambda: frequencies_of(cfs, wording), dark=dark)


def regions(
    one: Counterfactual, features: Pair | None = None, *, dark: bool = False, wording: Wording | None = None
) -> Picture:
    """What the model says as two features vary, with the row, its donor and its counterfactual.

    ``features``: two names or positions, at least one of them a number; by default the two most important numbers that
    change, or one and the number in which the donor differs most. All others are as in the row. The model is asked
    about some 19,000 rows, in one batch.
    """
    return _picture(lambda: regions_of(one, features, wording), dark=dark)


def plot_one(one: Counterfactual, kind: str, *, dark: bool, wording: Wording | None) -> Picture:
    """A picture of one explanation, by its name."""
    choose("kind", kind, ("changes", "walk", "pareto", "regions"))
    if kind == "pareto":
        return pareto(Counterfactuals(one.batch), int(one.batch.rows[0]), dark=dark, wording=wording)
    return {"changes": changes, "walk": walk, "regions": regions}[kind](one, dark=dark, wording=wording)


def plot_many(cfs: Counterfactuals, kind: str, *, dark: bool, wording: Wording | None) -> Picture:
    """A picture of many explanations, by its name."""
    choose("kind", kind, ("frequencies",))
    return frequencies(cfs, dark=dark, wording=wording)


def _picture(compute: Callable[[], Shown], *, dark: bool) -> Picture:
    matplotlib("matplotlib")  # before the model is asked for nothing
    shown = compute()
    return Picture(figure_of(shown, dark=dark), shown.caption.alt)
