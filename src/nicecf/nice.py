"""NICE: checks options, wires the other files, holds no logic of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np

from nicecf import rewards, saving
from nicecf._typing import Table
from nicecf.autoencoder import Autoencoder
from nicecf.constraints import Constraints
from nicecf.decision import check_min_probability
from nicecf.distance import Heom, Scale, weights_of
from nicecf.exceptions import OptionError, listed
from nicecf.explainer import Explainer
from nicecf.fitted import Call, Fitted
from nicecf.method import Training, Witnesses, find_twin, in_order_of_rows, learn, measure
from nicecf.neighbors import DonorIndex
from nicecf.options import check_count, check_seconds, check_seed, choose
from nicecf.origin import described
from nicecf.privacy import Privacy
from nicecf.profile import Profile
from nicecf.progress import Choice, check_choice
from nicecf.reading import rules_of
from nicecf.result import Counterfactuals
from nicecf.rewards import Reward
from nicecf.search.donors import DonorSearch


class NICE(Explainer):
    """Nearest instance counterfactual explanations (Brughmans, Leyman and Martens).

    A counterfactual is a walk from a row to one *donor*, the nearest training row that the model puts in another
    class (and gets right), one feature at a time, until the decision changes. Under rules, a donor is a training row as
    the row may take it: what may not change is put back to the row's own.

    Parameters
    ----------
    model
        Any fitted classifier with ``predict_proba``, or a function rows -> probabilities with one column per class.
        One score per row: see :func:`nicecf.from_score`.
    optimize
        ``"none"``: the donor itself. ``"sparsity"``: few changes. ``"proximity"``: a short distance.
        ``"plausibility"``: close to the training data. ``"balanced"`` (thorough search only): no worse than the
        paper's NICE(spars) in changes, distance and plausibility at once. Or, for the greedy search, a reward of your
        own: a function of a :class:`nicecf.rewards.Round` that returns one number per hybrid.
    search
        ``"greedy"``: the paper's search, one walk to one donor. ``"thorough"``: the best of the hybrids of many donors,
        for the price of some hundred to some thousand rows asked of the model; never worse than the paper's.
    neighbors
        How many of the nearest donors the thorough search looks at. None is 100, and single changes towards all donors
        besides; under rules and with ``share_donor=False`` no fewer. The greedy search walks to one.
    distance
        ``"heom"``: the paper's distance.
    scale
        What a difference of numbers is divided by: the ``"range"`` of the training column (the paper's formula) or
        its ``"std"``.
    justified
        Whether a donor's label must agree with the model's decision on it.
    classes
        The names of the columns that a function returns; by default the sorted labels of ``y``. An estimator names
        them itself.
    plausibility
        A function rows -> error, lower is better, in place of the autoencoder that is trained at ``fit`` when
        ``optimize="plausibility"`` or ``search="thorough"``.
    categorical_features
        ``"auto"``: the text, category and bool columns of a frame, none of an array. Or names, positions or a mask.
    decision
        What counts as the model's decision. None: the highest probability, or the threshold of scikit-learn's
        FixedThresholdClassifier and TunedThresholdClassifierCV. A number: the cut-off for the probability of the
        second of two classes. A dict ``{class: cut-off}``: a class is decided on as soon as it reaches its cut-off (of
        several, the one furthest past it, as a share of the cut-off), else the best of the classes without one. A
        function: probabilities, one column per class, -> labels. ``"predict"``: what the model's ``predict`` says.
    min_probability
        What the class decided on must have at least: a margin past the decision.
    robust_to
        Other models, with the same classes, that must all put a counterfactual in the target too, by the same
        ``decision`` and ``min_probability``. A donor is then a training row on which they agree.
    feature_weights
        What it costs to change a feature, 1 by default: ``{feature: weight}``, or one number for each. It multiplies
        the part of the feature in the distance, wherever the distance is used.
    constraints
        :class:`nicecf.Constraints`: rules that every counterfactual keeps.
    share_donor
        Whether a counterfactual may be a training row as it is: somebody's row. If not, one more feature is put back to
        the row's own where the decision stays, or another donor is taken; where nothing else helps, there is none, and
        the reason says so. ``donors`` are not told then.
    min_count
        Only values that at least so many training rows hold are used: 5 gives away no value of fewer than five people.
        (Of a column of measurements, in which no two rows are alike, none is left: round it first.)
    random_state
        Seed of the autoencoder; None is 0. Nothing else is random.
    accelerate
        True: search with a faster twin of the model (scikit-learn's forests, alone or behind one preprocessing step)
        that gives the same digits, and ask the model itself once, about what is handed out; should it disagree, the
        search is done again with the model. ``"unconfirmed"`` leaves that call out: for single rows it is what takes
        longest. Either way the twin is compared with the model on training rows at ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> nice = NICE(model, optimize="sparsity").fit(X, y)
    >>> nice.explain(X.iloc[[0]], target_class=1)[0].text()
    'If petal width (cm) were 1.1 instead of 0.2, the model would say 1 (91 %) instead of 0 (100 %).'
    """

    def __init__(
        self,
        model: Any,
        *,
        optimize: Literal["none", "sparsity", "proximity", "plausibility", "balanced"] | Reward = "sparsity",
        search: Literal["greedy", "thorough"] = "greedy",
        neighbors: int | None = None,
        distance: Literal["heom"] = "heom",
        scale: Scale = "range",
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
        accelerate: bool | Literal["unconfirmed"] = False,
    ) -> None:
        self.model = model
        self.optimize = optimize
        self.search = search
        self.neighbors = neighbors
        self.distance = distance
        self.scale = scale
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

    def fit(self, X: Table, y: Any = None) -> Self:
        """Learn the columns, the model's decision on every training row, and the donors of each class.

        ``y`` holds the labels; it may be left out with ``justified=False``. The tables are read, never written to.
        """
        self._check_options()  # again, for set_params
        training = learn(
            self.model,
            X,
            y,
            classes=self.classes,
            categorical_features=self.categorical_features,
            needs_labels=self.justified,
            decision=self.decision,
            min_probability=self.min_probability,
            robust_to=self.robust_to,
        )
        return self._keep(self._fitted_to(training))

    def explain(
        self,
        X: Table,
        *,
        target_class: Any = "other",
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        n_counterfactuals: int = 1,
        time_budget: float | None = None,
        progress: Choice = None,
    ) -> Counterfactuals:
        """A counterfactual for each row of ``X``: a table with the columns of ``fit``, one row or a million, or none.

        ``target_class``: ``"other"``, any class but the one the model gives the row; a label; a list of labels that
        will all do; or an array with one label per row (a Series is aligned with the rows by its labels). A row that
        is in the target already comes back unchanged. (Should a class really be called "other", ``["other"]`` names
        it.)

        ``constraints``: rules for this call, on top of those of the explainer; or a list with one (or None) for each
        row. A donor is seen through them: what a row may not take of it stays the row's own. Training rows are tried
        nearest first and in the end all of them; where none helps, ``reasons`` names the rules that block, and
        ``relaxations`` the cheapest that would help.

        ``n_counterfactuals``: up to so many for each row, which change unlike features; thorough search only. The first
        is the one that the row gets alone. Where there are fewer, ``notes`` says so.

        ``time_budget``: seconds. The rows are scored in any case, and then each has its donor for an answer; it is
        improved while time lasts. What was left undone is in ``notes``. A call of the model that has begun is waited
        for; none is begun that is expected to take too long. (Under rules the donor must be looked for: a row for which
        time was too short then has none.)

        ``progress``: True shows a bar on stderr, False none, None one on a terminal if it takes longer than a second;
        or a function of (rows done, rows in all).

        The same input gives the same answer, a batch the same as its rows one by one, and threads may share one
        explainer.
        """
        started = perf_counter()
        self._check_fitted()
        self._check_call(n_counterfactuals, time_budget, progress)
        deadline = None if time_budget is None else started + time_budget
        target_class = in_order_of_rows(target_class, X)
        call = Call(X, target_class, constraints, n_counterfactuals, deadline, progress, self._options, time_budget)
        return self._fitted.explain(call)

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted explainer to a file, in one step: a zip of JSON, an Arrow table and numpy arrays.

        The file holds training rows as they are (the donors) and what the model says of them: keep it as you keep
        those. It holds no model and no function, and nothing that is run when it is loaded. Needs pyarrow
        (``nicecf[files]``). ``notes``: values that JSON holds, kept in the file for whoever reads it
        (:func:`nicecf.saving.notes`), such as where the model is.
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
    ) -> Self:
        """The explainer that :meth:`save` wrote: it gives the same answers, without being fitted again.

        ``model``: the model that it was saved with. It is asked about up to 1,000 of the rows in the file; ModelError
        if its classes, its features or its answers are others. FileError for a file that is damaged, incomplete, of a
        newer format or no such file. ``optimize``, ``plausibility``, ``decision``, ``robust_to``: the function or
        models that the explainer was saved with, exactly where it was; a file cannot hold them. (Whether a reward is
        the same cannot be checked.)
        """
        functions = {"optimize": optimize, "plausibility": plausibility, "decision": decision, "robust_to": robust_to}
        return saving.load(cls, path, model, functions)

    def with_search(
        self,
        *,
        optimize: Literal["none", "sparsity", "proximity", "plausibility", "balanced"] | Reward | None = None,
        search: Literal["greedy", "thorough"] | None = None,
        neighbors: int | None = None,
    ) -> Self:
        """The same explainer with another objective or search, sharing what ``fit`` learned; None: as it is.

        OptionError where ``fit`` had no reason to learn what is plausible, and that is needed now.
        """
        self._check_fitted()
        self._check_unchanged()
        asked = {"optimize": optimize, "search": search, "neighbors": neighbors}
        asked = {name: value for name, value in asked.items() if value is not None}
        if search == "greedy" and neighbors is None:
            asked["neighbors"] = None  # the number for the thorough search means nothing now
        other = type(self)(**self.get_params(deep=False) | asked)
        fitted: Fitted = replace(self._fitted, **other._choices())
        if fitted.measure_error is None and (fitted.thorough or rewards.needs_plausibility(fitted.reward)):
            raise OptionError(
                "this explainer was fitted without a measure of plausibility, which optimize='plausibility' and "
                "search='thorough' need. Fit it with one of them, or with plausibility=."
            )
        if "donor_values" in vars(self._fitted):  # they depend on the donors alone
            vars(fitted)["donor_values"] = self._fitted.donor_values
        other._keep(fitted)
        other._options = self._options | described(asked)
        return other

    def _fitted_to(self, training: Training) -> Fitted:
        privacy = Privacy.of(training.values, share_donor=bool(self.share_donor), min_count=self.min_count)
        guarded = privacy.guarded(training.schema)
        if self.constraints is not None:  # for its errors: what is wrong should be said before anything takes long
            rules_of(self.constraints, guarded, training.values[:1], trained=guarded)
        decisions, n_classes = training.decisions, len(training.jury.classes)
        choices = self._choices()
        is_categorical = training.schema.is_categorical
        measure_error, is_own_measure = self.plausibility, False
        if (choices["thorough"] or rewards.needs_plausibility(choices["reward"])) and measure_error is None:
            seed = 0 if self.random_state is None else self.random_state
            measure_error, is_own_measure = Autoencoder.train(training.values, is_categorical, seed=seed), True
        is_donor = training.labels == decisions if self.justified else np.ones(len(decisions), dtype=bool)
        # Rows that are put into a class, but not accepted there, follow in groups of their own.
        is_accepted = training.jury.accepts(training.outputs, np.eye(n_classes, dtype=bool)[decisions])
        groups = np.where(is_accepted, decisions, n_classes + decisions)
        n_groups = n_classes if training.jury.is_alone else 2 * n_classes
        witnesses = Witnesses.of(training)
        cost = measure(training, witnesses)
        twin, twin_cost = find_twin(self.model, training, witnesses) if self.accelerate else (None, cost)
        weights = weights_of(self.feature_weights, training.schema)
        distance = Heom.of(training.values, is_categorical, self.scale, weights)
        fingerprints = training.fingerprints
        profile = training.profile if guarded is training.schema else Profile.of(training.values, guarded)
        # The index takes the encoded rows over and reorders them: no one may use them after this line.
        index = DonorIndex.of(training.values, np.where(is_donor, groups, -1), n_groups, distance)
        fitted = Fitted(
            schema=guarded,
            cost=cost,
            twin=twin,
            twin_cost=twin_cost,
            witnesses=witnesses,
            distance=distance,
            donors=DonorSearch(index, training.outputs[index.positions], training.jury),
            n_decided=np.bincount(decisions, minlength=n_classes),
            profile=profile,
            fingerprints=fingerprints,
            privacy=privacy,
            measure_error=measure_error,
            is_own_measure=is_own_measure,
            **choices,
        )
        if choices["thorough"]:
            _ = fitted.donor_values  # now, not in the first call of explain
        return fitted

    def _choices(self) -> dict[str, Any]:
        """What is an option and not learned: the parts of `Fitted` that need no training data."""
        return {
            "confirms": self.accelerate != "unconfirmed",
            "constraints": self.constraints or Constraints(),
            "reward": self._reward,
            "thorough": None if self.search != "thorough" else (str(self.optimize), self.neighbors),
        }

    @property
    def _reward(self) -> Reward | None:
        if not isinstance(self.optimize, str):
            return self.optimize
        return rewards.BY_NAME[self.optimize].reward if self.optimize in rewards.BY_NAME else None

    def _check_options(self) -> None:
        choose("search", self.search, ("greedy", "thorough"))
        choose("optimize", self.optimize, ("none", *rewards.BY_NAME, "balanced"), or_function=True)
        self._check_search()
        choose("distance", self.distance, ("heom",))
        choose("scale", self.scale, ("range", "std"))
        for name in ("justified", "share_donor"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise OptionError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        check_count("min_count", self.min_count)
        if self.plausibility is not None and not callable(self.plausibility):
            raise OptionError(f"plausibility must be a function rows -> error, got {type(self.plausibility).__name__}.")
        if self.accelerate not in (True, False, "unconfirmed"):
            raise OptionError(f"accelerate must be True, False or 'unconfirmed', got {self.accelerate!r}.")
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
                "constraints of the explainer cannot have a bound for each row: the rows are not known yet. Pass them "
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
                f"accelerate and {option} exclude each other: a twin stands in for the probabilities of one model. "
                "Leave accelerate=False."
            )

    def _check_search(self) -> None:
        """Options that only one kind of search knows."""
        if self.neighbors is not None:
            check_count("neighbors", self.neighbors, or_none=True)
        objectives = (*rewards.BY_NAME, "balanced")
        if self.search == "thorough" and self.optimize not in objectives:
            what = repr(self.optimize) if isinstance(self.optimize, str) else "a reward function"
            raise OptionError(
                f"search='thorough' needs an objective that compares counterfactuals; optimize={what} compares none. "
                f"Choose one of {listed(objectives)}, or search='greedy'."
            )
        if self.search == "greedy" and isinstance(self.optimize, str) and self.optimize == "balanced":
            raise OptionError("optimize='balanced' needs search='thorough': the greedy search has no reward for it.")
        if self.search == "greedy" and self.neighbors not in (None, 1):
            raise OptionError(
                f"neighbors={self.neighbors} needs search='thorough': the greedy search walks to one donor."
            )

    def _check_call(self, n_counterfactuals: Any, time_budget: Any, progress: Any) -> None:
        """Options of ``explain``."""
        check_choice(progress)
        check_count("n_counterfactuals", n_counterfactuals)
        if n_counterfactuals > 1 and self._fitted.thorough is None:
            raise OptionError(
                f"n_counterfactuals={n_counterfactuals} needs search='thorough': the greedy search finds one for each "
                "row."
            )
        check_seconds("time_budget", time_budget)
