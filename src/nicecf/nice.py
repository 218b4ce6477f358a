"""NICE: checks options and connects the other files; no logic of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from nicecf.exceptions import OptionError
from nicecf.explain import saving
from nicecf.explain.ask import Call
from nicecf.explain.explainer import Explainer
from nicecf.explain.feature_weights import weighed
from nicecf.explain.fitted import Fitted, Models, Plausibility, refusal
from nicecf.explain.formulas import ProofBasis, bounds_of, formulas_of
from nicecf.explain.min_probability import check_margin, with_margin
from nicecf.explain.other_donors import OtherRows, TrainingRows, donors_of, with_donors
from nicecf.explain.pipeline import explain
from nicecf.explain.saving import large
from nicecf.explain.score_targets import LastFew, target_of, towards
from nicecf.explain.search_options import SearchOptions
from nicecf.explain.targets import meant
from nicecf.explain.training import ModelOptions, Training, TreeCells, learn, measured_cost, twin_for
from nicecf.models.decision import Panel, check_min_probability
from nicecf.models.threads import advice_on_threads
from nicecf.models.twin import Twin
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.results.provenance import called, described
from nicecf.rules.constraints import Constraints
from nicecf.rules.privacy import Privacy
from nicecf.rules.reading import rules_of
from nicecf.search.autoencoder import Autoencoder
from nicecf.search.distance import Heom, Scale, weights_of
from nicecf.search.donors import DonorSearch
from nicecf.search.objectives import Goal, Reward
from nicecf.support.clock import now
from nicecf.support.extras import require
from nicecf.support.options import check_count, check_flag, check_seconds, check_seed, choose
from nicecf.support.progress import Choice, check_choice
from nicecf.support.types import Floats, Table
from nicecf.tables.ordered import Ordinal
from nicecf.tables.parts import TableInParts
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics

if TYPE_CHECKING:
    from nicecf.views.words.wording import Wording


class NICE(Explainer):
    """Nearest instance counterfactual explanations (Brughmans, Leyman and Martens).

    In the paper, a counterfactual is a walk from a row to one *donor*, the nearest training row that the model
    correctly puts in another class, one feature at a time, until the decision changes. The default search starts from
    there and looks for a better one among the values of many training rows. Under rules, a donor is a training row seen
    through the rules: every value that the row must not take is replaced by the row's own.

    Parameters
    ----------
    model
        Any fitted classifier with ``predict_proba``, a booster of XGBoost or LightGBM, or a function rows ->
        probabilities with one column per class. One score per row: see :func:`nicecf.from_score`. Or a fitted
        regressor: then ``explain`` needs a ``target_score``.
    optimize
        ``"none"``: the donor itself. ``"sparsity"``: few changes. ``"proximity"``: a short distance.
        ``"plausibility"``: close to the training data. ``"balanced"`` (thorough search only): no worse than the
        paper's NICE(spars) in changes, distance and plausibility at once. Or your own reward, which the greedy search
        follows: a function of a :class:`nicecf.search.objectives.Round` that returns one number per hybrid.
    search
        ``"thorough"``: the best counterfactual from the values of many training rows, at the cost of hundreds to
        thousands of model rows per row; never worse than the paper's. ``"greedy"``: the paper's search, one walk to one
        donor, and the faster one. ``"exact"`` (trees and linear models, ``"sparsity"`` and ``"proximity"``; needs
        ortools, the extra ``exact``): the best of all combinations of values that training rows hold, and a proof that
        nothing is better, or that there is none: see :attr:`nicecf.Counterfactuals.proof`. None: ``"thorough"``; but
        ``"greedy"`` for ``optimize="none"`` and for a reward of your own, by which finished counterfactuals cannot be
        compared. After ``fit``, ``search_`` says which one it is.
    neighbors
        How many of the nearest donors the thorough search considers. None means up to 8 if donors are mixed, else 100
        and in addition single changes towards all donors, and for ``"plausibility"`` the most plausible donors. (With
        one donor, under rules and with ``share_donor=False``, it is at least 100.) The greedy search walks to one.
    mix_donors
        Whether a counterfactual of the thorough search, for ``"sparsity"`` and ``"proximity"``, may hold values of
        several training rows: on average nearer, with fewer changes, and faster to find. If not, all its new values are
        those of one donor. ``"plausibility"`` and ``"balanced"`` always take one donor.
    distance
        ``"heom"``: the paper's distance.
    scale
        The divisor for differences of numbers: the ``"range"`` of the training column (the paper's formula) or its
        ``"std"``.
    ordinal
        How far apart two values of an ordered category are (an ordered dtype of pandas, an Enum of polars). ``"rank"``:
        as many steps as lie between them, over those from the lowest level of the dtype to the highest.
        ``"overlap"``: 1, as for other categories and in the paper.
    justified
        Whether a donor's label must agree with the model's decision on it.
    classes
        The class of each column that a function returns; by default the sorted labels of ``y``. An estimator names its
        classes itself. ``fit`` compares the columns with ``y``: if another order is clearly right, it raises an
        OptionError with the line to write, or warns if the order was passed or is the estimator's own.
    plausibility
        A function rows -> error, where lower is better. It replaces the autoencoder that ``fit`` trains for
        ``optimize="plausibility"`` or ``"balanced"``.
    categorical_features
        ``"auto"``: the text, category and bool columns of a frame, no column of an array; dates and durations are
        numbers. Or names, positions or a mask.
    decision
        What counts as the model's decision. None: the highest probability, or the threshold of scikit-learn's
        FixedThresholdClassifier and TunedThresholdClassifierCV. A number: the cut-off for the probability of the
        second of two classes. A dict ``{class: cut-off}``: a class whose probability reaches its cut-off (of several,
        the one with the highest ratio to its cut-off), else the most probable of the classes without one. A function:
        probabilities, one column per class, -> labels. ``"predict"``: what the model's ``predict`` says.
    min_probability
        The minimum probability of a counterfactual's class: a margin beyond the decision.
    robust_to
        Other models, with the same classes, that must all put a counterfactual in the target too, with the same
        ``decision`` and ``min_probability``. A donor is then a training row on which all of them agree.
    feature_weights
        The cost of changing a feature, 1 by default: ``{feature: weight}``, or one number per feature. It multiplies
        the feature's part of the distance wherever the distance is used.
    constraints
        :class:`nicecf.Constraints`: rules that every counterfactual keeps.
    share_donor
        Whether a counterfactual may equal a training row: a real person's data. If not, one more feature keeps the
        row's own value if the decision allows it, or another donor is used; if nothing helps, there is no
        counterfactual, and the reason says so. The donors are then missing, in ``donors`` and in ``changes()``.
    min_count
        Only values that at least this many training rows share are used: 5 discloses no value of fewer than five
        people. (In a column of measurements without repeated values none is left: round it first.)
    random_state
        The seed of the autoencoder; None means 0. Nothing else is random.
    accelerate
        True: search with a faster twin of the model (trees of scikit-learn, XGBoost, LightGBM or CatBoost, alone or
        after one preprocessing step) that gives the same digits, and ask the model itself once, about what is returned;
        if it disagrees, the search is repeated with the model. ``"unconfirmed"`` skips that call, which takes most of
        the time for single rows. None: as True for the thorough search, if the model's trees can be read and reading
        them is not much slower; else, and for the greedy search, as False. ``fit`` always compares the twin with the
        model on training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> nice = NICE(model, optimize="sparsity").fit(X, y)
    >>> print(nice.explain(X.iloc[[0]])[0].text())  # doctest: +NORMALIZE_WHITESPACE
    If worst texture were 19.93 instead of 17.33, the model would say 0 instead of 1: the probability of 0 would be
    99 % instead of 47 %.
    """

    def __init__(
        self,
        model: Any,
        *,
        optimize: Goal | Reward = "sparsity",
        search: Literal["greedy", "thorough", "exact"] | None = None,
        neighbors: int | None = None,
        mix_donors: bool = True,
        distance: Literal["heom"] = "heom",
        scale: Scale = "range",
        ordinal: Ordinal = "rank",
        justified: bool = True,
        classes: Iterable[Any] | None = None,
        plausibility: Callable[[Any], Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
        min_probability: float | None = None,
        robust_to: Sequence[Any] = (),
        feature_weights: Any = None,
        constraints: Constraints | None = None,
        share_donor: bool = True,
        min_count: int = 1,
        random_state: int | None = None,
        accelerate: bool | Literal["unconfirmed"] | None = None,
    ) -> None:
        self.model = model
        self.optimize = optimize
        self.search = search
        self.neighbors = neighbors
        self.mix_donors = mix_donors
        self.distance = distance
        self.scale = scale
        self.ordinal = ordinal
        self.justified = justified
        self.classes = classes
        self.plausibility = plausibility
        self.categorical_features = categorical_features
        self.decision = decision
        self.min_probability = min_probability
        self.robust_to = robust_to
        self.feature_weights = feature_weights
        self.constraints = constraints
        self.share_donor = share_donor
        self.min_count = min_count
        self.random_state = random_state
        self.accelerate = accelerate
        self._check_options()

    def fit(self, X: Table | TableInParts, y: Any = None, *, progress: Choice = None) -> Self:
        """Learn the columns, the model's decision on every training row, and the donors of each class.

        ``X`` may also be a table in parts, from :func:`nicecf.engines.folders.training`, which need not fit in memory.
        ``y`` holds the labels, in the order of the rows; with ``justified=False`` it can be left out. The tables are
        never modified.
        ``progress``: as for :meth:`explain`, of the training rows that the model was asked about. If that, or training
        the autoencoder, will take more than a minute, a :class:`nicecf.LongRunWarning` says so; not with False.
        """
        self._check_options()  # again, for set_params
        check_choice(progress)
        options = ModelOptions(self.model, self.classes, self.decision, self.min_probability, self.robust_to, progress)
        training, values = learn(
            options,
            X,
            y,
            categorical_features=self.categorical_features,
            ordinal=self.ordinal,
            needs_labels=self.justified,
            constraints=self.constraints,
        )
        return self._keep(self._fitted_to(training, values, progress))

    def explain(
        self,
        X: Table,
        *,
        target_class: Any = "other",
        target_score: tuple[float | None, float | None] | None = None,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        n_counterfactuals: int = 1,
        feature_weights: Any = None,
        min_probability: float | None = None,
        time_budget: float | None = None,
        progress: Choice = None,
    ) -> Counterfactuals:
        """A counterfactual for each row of ``X``: a table with the columns of ``fit``, one row or a million, or none.

        ``target_class``: ``"other"`` or None, any class but the model's decision for the row; a label; a list of
        acceptable labels; or an array with one label per row (a Series is aligned with the rows by its index). A row
        already in the target comes back unchanged. (If a class is really called "other", use ``["other"]``.)

        ``target_score``: ``(low, high)``, the scores that are wanted, both bounds included and None for an open end, of
        a regressor or a model of :func:`nicecf.from_score` with ``kind="score"``; of a classifier with two classes, the
        score is the probability of the second. Donors are training rows whose score lies there and, of a regressor with
        ``justified``, whose label does too. The score stands where probabilities stand. Where no answer gets there,
        :meth:`Counterfactuals.nearest` has the one that comes nearest.

        ``constraints``: rules for this call, in addition to those of the explainer; or a list with one (or None) per
        row. A donor is seen through them: where a row must not take its value, the row's own stays. All training rows
        are tried, nearest first; if none helps, ``reasons`` names the blocking rules, ``relaxations`` the cheapest way.

        ``n_counterfactuals``: at most this many per row, each changing different features; thorough search only. The
        first is the one that the row gets without this option. If there are fewer, ``notes`` says so.
        ``feature_weights``: the cost of changing a feature, in place of the explainer's: the answers of a fit with it.
        ``min_probability``: the minimum probability of a counterfactual's class, at least the explainer's own: the
        answers of a fit with it.

        ``time_budget``: in seconds. The rows are always scored, and then each has its donor as an answer, which is
        improved while time lasts; ``notes`` says what was left out. A model call that has started is waited for; none
        is started that is expected to take too long. (Under rules the donor must be searched for: if time runs out
        first, the row has no answer; more time never finds fewer.)

        ``progress``: True shows a bar on stderr, False none, None one on a terminal if the call takes longer than a
        second; or a function of (rows done, total rows). If the rest of the call will take more than a minute, by the
        first rows or by the columns, a :class:`nicecf.LongRunWarning` says how long; not with ``time_budget`` or False.

        The same input gives the same answer, a batch gives the same as its rows one by one, and threads may share one
        explainer.
        """
        call, fitted = self._called(
            X,
            target_class=target_class,
            target_score=target_score,
            constraints=constraints,
            n_counterfactuals=n_counterfactuals,
            feature_weights=feature_weights,
            min_probability=min_probability,
            time_budget=time_budget,
            progress=progress,
        )
        return Counterfactuals(explain(call, fitted))

    def _called(
        self,
        X: Table,
        *,
        target_class: Any = "other",
        target_score: Any = None,
        constraints: Any = None,
        n_counterfactuals: int = 1,
        feature_weights: Any = None,
        min_probability: float | None = None,
        time_budget: float | None = None,
        progress: Choice = None,
    ) -> tuple[Call, Fitted]:
        """A call of ``explain``, checked, and what was learned, for its target and weights."""
        started = now()
        self._check_call(n_counterfactuals, time_budget, progress)
        target_class = meant(target_class, X, self._fitted.panel.classes)
        fitted, wanted, asked = self._aimed(target_class, target_score, feature_weights, min_probability)
        call = Call(
            X,
            wanted,
            options=self._options,
            asked=called(target_class, n_counterfactuals=n_counterfactuals, time_budget=time_budget, **asked),
            constraints=constraints,
            n_wanted=n_counterfactuals,
            deadline=None if time_budget is None else started + time_budget,
            progress=progress,
            if_long=self._if_long if time_budget is None else None,
        )
        return call, fitted

    def _with_donors(self, others: OtherRows) -> Self:
        """The same explainer with other rows to take donors from: see `with_donors`."""
        other = copy(self)
        return other._keep(with_donors(self._fitted, others, self._searched_by[0]))

    def _with_margin(self, least: float | None) -> Fitted:
        """Return what was learned, with the margin of a call."""
        fitted = self._fitted
        if least is not None:
            check_margin(least, fitted.panel)
        if least in (None, fitted.panel.min_probability):
            return fitted
        return self._last_margins.get(least) or self._last_margins.keep(
            least, with_margin(float(least), fitted, self._searched_by[0])
        )

    def _weighed(self, fitted: Fitted, feature_weights: Any) -> tuple[Fitted, tuple[float, ...] | None]:
        """What was learned, with the weights of a call; and these, one for each column, None if there are none."""
        weights = weights_of(feature_weights, fitted.schema.full)
        if weights is None:
            return fitted, None
        by_column = tuple(weights.tolist())
        key = (fitted.panel.min_probability, by_column)
        known = self._last_weights.get(key)
        return known or self._last_weights.keep(key, weighed(weights, fitted, self._searched_by[0])), by_column

    def _aimed(
        self, target_class: Any, target_score: Any, feature_weights: Any, min_probability: float | None
    ) -> tuple[Fitted, Any, dict[str, Any]]:
        """What was learned, for the target of a call; the classes wanted then, and what a record says of it besides."""
        learned, weights = self._weighed(self._with_margin(min_probability), feature_weights)
        asked: dict[str, Any] = {} if min_probability is None else {"min_probability": float(min_probability)}
        asked |= {} if weights is None else {"feature_weights": list(weights)}
        target = target_of(target_class, target_score, learned.panel)
        if target is None:
            return learned, target_class, asked
        # The last one is kept, since the donors are sorted for it.
        options, justified = self._searched_by
        key = (target, weights)
        fitted = self._last_target.get(key) or self._last_target.keep(
            key, towards(target, learned, options, justified=justified)
        )
        return fitted, [fitted.panel.classes[1]], asked | {"target_score": list(target.given)}

    def _keep(self, fitted: Fitted) -> Self:
        self._last_target: LastFew[Fitted] = LastFew()
        self._last_weights: LastFew[Fitted] = LastFew()
        # Each holds a copy of the training rows: enough for requests by turns, such as "just enough" and "safely". Of a
        # table so large that it is mapped from its file, one is a lot.
        assert fitted.neighborhood is not None
        is_large = fitted.neighborhood.donors.index.values.size >= large.LEAST_VALUES
        self._last_margins: LastFew[Fitted] = LastFew(1 if is_large else 4)
        self._searched_by = self._search_options, bool(self.justified)  # options set later are for the next fit
        return super()._keep(fitted)

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted explainer to a file, in one step: a zip of JSON, an Arrow table and numpy arrays.

        Of a large one (from 33 million values on), the rows are numpy arrays too, which :meth:`load` does not read but
        maps from the file; :func:`nicecf.explain.saving.verify` reads and checks them.

        The file contains all training rows, and the model's outputs for the donors: protect it like your training
        data. It contains no model and no function, and loading it runs no code. Needs pyarrow (the extra ``files``).
        ``notes``: JSON values to store in the file (:func:`nicecf.explain.saving.notes`), such as where the model is.
        """
        self._check_fitted()
        saving.save(self, path, notes=notes)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        model: Any,
        optimize: Reward | None = None,
        plausibility: Callable[[Any], Any] | None = None,
        decision: Callable[[Any], Any] | None = None,
        robust_to: Sequence[Any] = (),
        derived: Mapping[Any, Callable[[Any], Any]] | None = None,
    ) -> Self:
        """Load an explainer that :meth:`save` wrote: it gives the same answers, without fitting again.

        ``model``: the model that it was saved with. It is asked about up to 1,000 of the rows in the file; raises
        ModelError if its classes, features or answers differ, and FileError for a file that is damaged, incomplete, of
        a newer format, or not an explainer. ``optimize``, ``plausibility``, ``decision``, ``robust_to``: the functions
        or models that the explainer was saved with, and only those; a file cannot hold them. (Whether a reward is the
        same cannot be checked.) ``derived``: ``{column: function}``, where its constraints have functions for derived
        columns; each must compute what the training rows in the file have. Expressions are in the file.
        """
        functions = {"optimize": optimize, "plausibility": plausibility, "decision": decision, "robust_to": robust_to}
        return saving.load(cls, path, model, functions, derived)

    def with_search(
        self,
        *,
        optimize: Goal | Reward | None = None,
        search: Literal["greedy", "thorough", "exact"] | None = None,
        neighbors: int | None = None,
    ) -> Self:
        """The same explainer with another objective or search, without fitting again; None keeps the current one.

        If nobody has chosen the search by its name, it goes with the objective, as in ``NICE(model, optimize=...)``.
        Raises OptionError if plausibility is needed now but ``fit`` did not learn it.
        """
        self._check_fitted()
        self._check_unchanged()
        asked = {"optimize": optimize, "search": search, "neighbors": neighbors}
        asked = {name: value for name, value in asked.items() if value is not None}
        options = self.get_params(deep=False) | asked
        is_thorough = SearchOptions(options["search"], options["optimize"], neighbors, mix_donors=True).is_thorough
        if neighbors is None and not is_thorough:
            asked["neighbors"] = None  # the number is for the thorough search only
        other = type(self)(**options | asked)
        fitted = self._fitted
        if fitted.plausibility is None and other._search_options.needs_plausibility:
            raise OptionError(
                "this explainer was fitted without a measure of plausibility, which optimize='plausibility' and "
                "'balanced' need. Fit it with one of them, or with plausibility=."
            )
        assert fitted.neighborhood is not None
        donors = fitted.neighborhood.donors
        basis = other._proof_basis(fitted.panel, fitted.schema, donors, fitted.models.twin)
        search_, neighborhood = other._search_options.searching(
            donors,
            fitted.distance,
            is_refused=refusal(fitted.privacy, fitted.schema),
            plausibility=fitted.plausibility,
            basis=basis,
        )
        models = replace(fitted.models, basis=basis)
        other._keep(replace(fitted, models=models, search=search_, neighborhood=neighborhood))
        other._options = self._options | described(asked) | other._chosen()
        return other

    def widget(self, X: Table | None = None, *, wording: Wording | None = None) -> Any:
        """A widget for notebooks: the rows of ``X``, their plans, and controls to shape them; see ``nicecf serve``.

        Without ``X``, it has examples. ``wording``: names of features and classes, units, and the language. Its
        ``kept`` are the plans that were kept in it, each as ``{feature: new value}``. Needs anywidget (the extra
        ``notebook``); works in Jupyter, VS Code and marimo.
        """
        self._check_fitted()
        for module in ("anywidget", "msgspec"):
            require(module, extra="notebook", needed_by="nice.widget()")
        from nicecf.service.widget import widget_of

        return widget_of(self, X, wording)

    def _fitted_to(self, training: Training, values: Floats, progress: Choice) -> Fitted:
        privacy = Privacy.of(values, share_donor=bool(self.share_donor), min_count=self.min_count)
        schema, panel, canaries = privacy.guarded(training.schema), training.panel, training.canaries
        if self.constraints is not None:  # for its errors: they should come before anything slow
            rules_of(self.constraints, schema, values[:1], trained=schema)
        plausibility = self._learned_plausibility(values, schema, progress)
        cost = measured_cost(
            panel, schema, canaries, seconds=training.seconds, calls=training.calls, n_rows=len(values)
        )
        places, rows = training.sample
        sample = rows, training.outputs[places]
        twin, twin_cost, uses_twin = twin_for(
            self.accelerate, self.model, training.schema, canaries, sample, cost, may_be_read=self._may_be_read
        )
        weights = schema.reduced_weights(weights_of(self.feature_weights, schema.full))
        distance = Heom.of_table(values, schema, self.scale, weights)
        is_guarded = schema is not training.schema
        statistics = training.statistics
        if is_guarded:
            statistics = TableStatistics.of(schema.expand(values), schema.full, min_count=self.min_count)
        labels = training.labels if self.justified else None
        donors = donors_of(TrainingRows(values, training.outputs, training.decisions, labels), panel, distance)
        if twin is not None:
            donors = donors.with_cells(TreeCells(twin, training.schema))
        basis = self._proof_basis(panel, schema, donors, twin)
        search, neighborhood = self._search_options.searching(
            donors, distance, is_refused=refusal(privacy, schema), plausibility=plausibility, basis=basis
        )
        return Fitted(
            explainer="NICE",
            schema=schema,
            models=Models(
                panel,
                cost,
                canaries,
                twin,
                twin_cost,
                uses_twin,
                confirms=self.accelerate != "unconfirmed",
                basis=basis,
            ),
            distance=distance,
            statistics=statistics,
            fingerprints=training.fingerprints,
            search=search,
            constraints=self.constraints or Constraints(),
            privacy=privacy,
            plausibility=plausibility,
            neighborhood=neighborhood,
            label_scores=training.label_scores,
        )

    def _proof_basis(self, panel: Panel, schema: Schema, donors: DonorSearch, twin: Twin | None) -> ProofBasis:
        """What is read of the models for proofs: all of it if they are asked for, else what costs little."""
        options = self._search_options
        read = partial(formulas_of, [self.model, *self.robust_to], panel, schema, donors)
        if options.is_exact:
            return ProofBasis(read())
        # A bound tells how near the nearest training value of a leaf is: not of guarded training rows.
        is_bounded = options.is_bounded and self.share_donor and self.min_count == 1
        bounds = bounds_of(twin, schema, donors) if is_bounded else None
        return ProofBasis(bounds=bounds, read=read if options.is_bounded else None)

    def _learned_plausibility(self, values: Floats, schema: Schema, progress: Choice) -> Plausibility | None:
        if self.plausibility is not None:
            return Plausibility(self.plausibility, is_own=False)
        if not self._search_options.needs_plausibility:
            return None
        seed = 0 if self.random_state is None else self.random_state
        network = Autoencoder.train(values, schema.by_equality, seed=seed, progress=progress)
        return Plausibility(network, is_own=True)

    @property
    def search_(self) -> str:
        """The search that runs, ``"thorough"``, ``"greedy"`` or ``"exact"``: what ``search=None`` came to."""
        self._check_fitted()
        return str(self._options["search"])

    @property
    def _if_long(self) -> str:
        """What can be done about a call that takes long."""
        is_quicker = self.search_ != "greedy" and self._search_options.reward is not None
        greedy = "search='greedy' is faster and gives the paper's answers; " if is_quicker else ""
        models = self._fitted.models
        threads = "" if models.uses_twin else advice_on_threads(self.model, models.cost)
        return f"{greedy}time_budget= limits the time.{threads}"

    @property
    def _may_be_read(self) -> bool:
        """Whether the trees of the model are read, if it has any, though nobody asked for it."""
        by_probabilities = not self.robust_to and not isinstance(self.decision, str)
        return self._search_options.is_thorough and by_probabilities

    @property
    def _search_options(self) -> SearchOptions:
        return SearchOptions(self.search, self.optimize, self.neighbors, bool(self.mix_donors))

    def _chosen(self) -> dict[str, Any]:
        return {"search": self._search_options.chosen}

    def _check_options(self) -> None:
        self._search_options.check()
        choose("distance", self.distance, ("heom",))
        choose("scale", self.scale, ("range", "std"))
        choose("ordinal", self.ordinal, ("rank", "overlap"))
        for name in ("justified", "share_donor", "mix_donors"):
            check_flag(name, getattr(self, name))
        check_count("min_count", self.min_count)
        if self.plausibility is not None and not callable(self.plausibility):
            raise OptionError(f"plausibility must be a function rows -> error, got {type(self.plausibility).__name__}.")
        if self.accelerate not in (True, False, "unconfirmed", None):
            raise OptionError(f"accelerate must be True, False, 'unconfirmed' or None, got {self.accelerate!r}.")
        check_min_probability(self.min_probability)
        if self.constraints is not None:
            self._check_constraints(self.constraints)
        self._check_robust_to()
        check_seed(self.random_state)

    @staticmethod
    def _check_constraints(constraints: Any) -> None:
        if not isinstance(constraints, Constraints):
            raise OptionError(f"constraints must be nicecf.Constraints, or None, got {type(constraints).__name__}.")
        if constraints.is_per_row:
            raise OptionError(
                "constraints of the explainer cannot have bounds per row: the rows are not known yet. Pass them "
                "to explain(X, constraints=...)."
            )

    def _check_robust_to(self) -> None:
        if not isinstance(self.robust_to, (list, tuple)):
            raise OptionError(
                f"robust_to must be a list of models that must agree on every counterfactual, got "
                f"{type(self.robust_to).__name__}. Pass [model], or () for none."
            )
        if self.accelerate and (self.robust_to or self.decision == "predict"):
            option = "robust_to" if self.robust_to else "decision='predict'"
            raise OptionError(
                f"accelerate and {option} exclude each other: a twin replaces the probabilities of one model. "
                "Leave accelerate=False."
            )

    def _check_call(self, n_counterfactuals: Any, time_budget: Any, progress: Any) -> None:
        """Options of ``explain``."""
        self._check_fitted()
        check_choice(progress)
        check_count("n_counterfactuals", n_counterfactuals)
        if n_counterfactuals > 1 and self.search_ != "thorough":
            raise OptionError(
                f"n_counterfactuals={n_counterfactuals} needs search='thorough': the {self.search_} search finds one "
                "per row."
            )
        check_seconds("time_budget", time_budget)
