"""NICE fitted to a training table that stays where it is: what its parts say, put together where the rows are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nicecf.engines.training_parts import (
    FEW_CHANGES,
    MOST_LEVELS,
    NEAREST,
    Counts,
    NearestAsked,
    Part,
    Roles,
    Sketcher,
    joined,
    nearest_in,
    predicted,
)
from nicecf.exceptions import OptionError, SampleWarning, SchemaError, did_you_mean, listed
from nicecf.explain.ask import ask
from nicecf.explain.fitted import Fitted
from nicecf.explain.pipeline import explain
from nicecf.models.scores import is_regressor
from nicecf.nice import NICE
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.groups import AUTO
from nicecf.search.question import Question
from nicecf.support.options import check_count
from nicecf.support.progress import Choice
from nicecf.support.types import Bools, Floats, Ints, Table
from nicecf.tables.parts import SketchedTable

# All parts, wherever they are: the nearest candidates of each row among all of them.
Find = Callable[[NearestAsked], Part]


def checked_explainer(model: Any, options: Mapping[str, Any]) -> NICE:
    """The explainer that is asked for, not fitted yet; OptionError for what needs the whole training table."""
    unknown = [name for name in options if name not in NICE._get_param_names() or name == "model"]
    if unknown:
        known = [name for name in NICE._get_param_names() if name != "model"]
        raise OptionError(f"{unknown[0]}= is not an option of NICE.{did_you_mean(unknown[0], known)}")
    nice = NICE(model, **{"search": "greedy", **options})
    whole = "needs all training rows in one place, and here they stay on the cluster"
    if nice.search != "greedy":
        raise OptionError(
            f"search={nice.search!r} {whole}: it mixes the values of many of them. Leave search='greedy', or fit NICE "
            "to a sample of the rows."
        )
    refused = {
        "scale='std'": (nice.scale == "std", "Use scale='range'."),
        "share_donor=False": (not nice.share_donor, "Fit NICE to a table that is here, or leave it out."),
        f"min_count={nice.min_count!r}": (nice.min_count > 1, "Fit NICE to a table that is here, or leave it out."),
        "derived, in constraints,": (
            bool(nice.constraints and nice.constraints.derived),
            "Drop the derived columns, and let the model compute them.",
        ),
        "groups='auto', in constraints,": (
            bool(nice.constraints and AUTO in nice.constraints.groups),
            "Name the groups: groups=[[...], ...].",
        ),
    }
    for what, (is_asked, advice) in refused.items():
        if is_asked:
            raise OptionError(f"{what} {whole}. {advice}")
    if is_regressor(model):
        raise OptionError(f"a model that returns scores {whole}: its targets are compared with all of their scores.")
    return nice


def checked_roles(columns: Sequence[str], label: Any, id: Any, sample: Any) -> Roles:
    """What the columns of a frame are; OptionError where one that is named is not there."""
    check_count("sample", sample)
    for option, name in (("label", label), ("id", id)):
        if name is None and option == "id":
            continue
        if not isinstance(name, str) or list(columns).count(name) != 1:
            raise OptionError(
                f"{option}={name!r} must be the name of one column; the columns are {listed(columns)}."
                f"{did_you_mean(name, columns) if isinstance(name, str) else ''}"
            )
    if label == id:
        raise OptionError(f"label and id are both {label!r}; the labels are not the positions of the rows.")
    features = tuple(name for name in columns if name not in (label, id))
    if not features:
        raise SchemaError(f"the frame has no columns besides {label!r}; it needs at least one feature.")
    return Roles(features, label, id)


@dataclass(frozen=True, eq=False)
class Sketch:
    """The rows that all parts chose, in training order, with dtypes that the whole table would have.

    ``rows``: features and labels. ``counts``: of each part, by its number.
    """

    rows: pd.DataFrame
    positions: Ints
    counts: Mapping[int, Counts]

    def reduced(self, sketcher: Sketcher, sample: int) -> Sketch:
        """The rows that say what the columns of all parts are, where each part has chosen some for its own."""
        chosen, _ = replace(sketcher, n_spread=sample, most_levels=MOST_LEVELS)(self.rows)
        return Sketch(self.rows.iloc[chosen].reset_index(drop=True), self.positions[chosen], self.counts)

    def fitted(self, nice: NICE, sketcher: Sketcher) -> NICE:
        """The explainer, fitted to these rows: with the columns and the distance of the whole table."""
        counts, roles = list(self.counts.values()), sketcher.roles
        n_without = sum(one.n_without_label for one in counts)
        if n_without:
            raise SchemaError(
                f"{n_without:,} training rows have no label in {roles.label!r}. Drop them: "
                f"frame.dropna(subset=[{roles.label!r}])."
            )
        n_levels = np.array([one.n_levels for one in counts])
        is_cut = (n_levels > sketcher.most_levels).any(axis=0) | (n_levels.sum(axis=0) > MOST_LEVELS)
        table = SketchedTable(
            self.rows[list(roles.features)],
            np.sum([one.n_values for one in counts], axis=0),
            np.where(is_cut, n_levels.sum(axis=0), 0),
        )
        nice = nice.fit(table, self.rows[roles.label], progress=False)
        if nice._fitted.plausibility is not None and nice._fitted.plausibility.is_own:
            warnings.warn(
                f"the autoencoder of optimize={nice.optimize!r} was trained on a sample of {len(self.rows):,} rows: "
                "the answers are not those of a fit to all of them. Pass plausibility= for a measure of your own.",
                SampleWarning,
                stacklevel=4,
            )
        return nice._keep(_without_news(nice._fitted, is_cut))

    def part(self, nice: NICE, roles: Roles) -> Part:
        """The rows as one more part."""
        return predicted(nice, self.rows[list(roles.features)], self.rows[roles.label], self.positions)


def _without_news(fitted: Fitted, is_cut: Bools) -> Fitted:
    """What was learned, but that a text is new is not said of columns of which not all texts are known."""
    seen = fitted.statistics.seen
    assert seen is not None
    kept = tuple(replace(one, is_compared=one.is_compared and not cut) for one, cut in zip(seen, is_cut, strict=True))
    return replace(fitted, statistics=replace(fitted.statistics, seen=kept))


def starts_of(counts: Mapping[int, Counts]) -> dict[int, int]:
    """The position of the first row of each part, by its number."""
    numbers = sorted(counts)
    ends = np.cumsum([counts[number].n_rows for number in numbers])
    return {number: int(end) - counts[number].n_rows for number, end in zip(numbers, ends, strict=True)}


def checked_positions(ids: pd.Series[Any], name: str) -> Ints:
    """Positions from the column that has them; SchemaError unless they are whole numbers from 0."""
    if ids.isna().any() or not pd.api.types.is_integer_dtype(ids.dtype):
        raise SchemaError(f"id={name!r} must hold a whole number for each row; it has the dtype {ids.dtype}, or gaps.")
    if len(ids) and int(ids.min()) < 0:
        raise SchemaError(f"id={name!r} must hold positions, from 0; it holds {int(ids.min())}.")
    return ids.to_numpy(dtype=np.intp)


class ClusterNICE:
    """NICE whose training rows are on a cluster; ``spark.fit`` and ``dask.fit`` make one.

    ``nice``: the explainer fitted to the sample, which has the columns, the distance and the model.
    """

    def __init__(
        self, nice: NICE, sketch: Part, n_decided: Ints, find: Find, unpersist: Callable[[], object] = lambda: None
    ) -> None:
        self.nice = nice
        self.classes_ = nice.classes_
        self.feature_names_in_ = nice.feature_names_in_
        self.n_rows_ = int(n_decided.sum())
        self._sketch = sketch
        self._n_decided = n_decided
        self._find = find
        self._unpersist = unpersist

    def explain(
        self,
        X: Table,
        *,
        target_class: Any = "other",
        target_score: Any = None,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        n_counterfactuals: int = 1,
        feature_weights: Any = None,
        time_budget: float | None = None,
        progress: Choice = None,
    ) -> Counterfactuals:
        """A counterfactual for each row of ``X``, a pandas frame: as :meth:`nicecf.NICE.explain`, by one job or two.

        ``donors`` are positions in the whole training table. Where the nearest donor that is accepted, as the row may
        take it, keeps to the rules, the answer is that of a fit to the whole table. For other rows, hybrids are looked
        for among the sample and the 100 nearest donors of the whole table; a :class:`nicecf.SampleWarning` says so.
        ``target_score`` and ``time_budget`` are not supported.
        """
        for name, value in {"target_score": target_score, "time_budget": time_budget}.items():
            if value is not None:
                raise OptionError(f"{name}={value!r} is not supported where training rows are on a cluster.")
        options = {
            "target_class": target_class,
            "constraints": constraints,
            "n_counterfactuals": n_counterfactuals,
            "feature_weights": feature_weights,
        }
        question, _ = self._question(self.nice, X, options)
        asked = NearestAsked(X, options, question.outputs, np.flatnonzero(question.is_open))
        local = self._with([])
        if len(asked.lines):
            candidates = [self._find(replace(asked, within=self._within(asked)))]
            local = self._with(candidates)
            left = self._left(local, asked)
            if len(left):
                warnings.warn(_ON_HYBRIDS.format(n_rows=len(left)), SampleWarning, stacklevel=2)
                local = self._with([*candidates, self._find(replace(asked, lines=left, is_near=True))])
        call, fitted = local._called(X, **options, progress=progress)
        return Counterfactuals(explain(replace(call, outputs=question.outputs), fitted))

    def unpersist(self) -> None:
        """Let the cluster forget what the model said of the training rows; a later ``explain`` asks it again."""
        self._unpersist()

    def _with(self, candidates: list[Part]) -> NICE:
        """The explainer with the rows of the sample, and candidates, to take donors from."""
        part = joined([self._sketch, *candidates]).in_order()
        return self.nice._with_donors(part.rows(self.nice, self._n_decided))

    def _question(
        self, nice: NICE, X: Table, options: Mapping[str, Any], outputs: Floats | None = None
    ) -> tuple[Question, Fitted]:
        call, fitted = nice._called(X, **options, progress=False)
        return ask(replace(call, outputs=outputs), fitted), fitted

    def _within(self, asked: NearestAsked) -> dict[int, Any]:
        """How near donors are in the sample: what is farther is of no use, wherever it is."""
        found = nearest_in(self.nice, self._sketch, asked)
        return {purpose: found.nearness(purpose, len(asked.outputs)) for purpose in (NEAREST, FEW_CHANGES)}

    def _left(self, local: NICE, asked: NearestAsked) -> Ints:
        """The rows under rules that a walk to their nearest donor does not help."""
        question, fitted = self._question(local, asked.X, asked.options, asked.outputs)
        near = fitted.neighborhood
        assert near is not None
        left = [np.empty(0, dtype=np.intp)]
        for lines, some in question.by_rules(question.is_open):
            if some.rules is not None:
                is_helped = near.walk(some, near.donors.nearest(some)).has_answer()
                left.append(lines[~is_helped])
        return np.concatenate(left)


_ON_HYBRIDS = (
    "{n_rows:,} rows keep to their rules by no walk to a training row; hybrids for them are looked for among the "
    "sample of the training rows and the 100 nearest ones, not among the values of all."
)
