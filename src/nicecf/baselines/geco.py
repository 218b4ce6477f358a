"""GeCo: a genetic search that begins with single changes and adds more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nicecf.baselines.asking import generators, read
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.feasible import Draws, FeasibleSpace, NearerDraws, as_wide, distinct
from nicecf.baselines.lock_step import RowSearch, found_row_by_row
from nicecf.exceptions import OptionError
from nicecf.explain.training import Training
from nicecf.models.scorer import OutOfTime
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.groups import Groups, joined_groups, own_groups
from nicecf.search.distance import Heom
from nicecf.search.question import Question
from nicecf.support.options import check_amount, check_count, check_seed
from nicecf.support.phrases import Statement
from nicecf.support.types import Floats, Ints


class GeCo(Baseline):
    """GeCo (Schleich, Geng, Zhang and Suciu, "GeCo: quality counterfactual explanations in real time", 2021).

    A change gives a feature, or a group of features that belong together, the values of a training row. The first
    population has one change each. Then, in each generation, the best candidates of unlike features are crossed, and
    mutated selectively: changes of numbers are replaced by nearer ones, one by one and all at once. All candidates are
    mutated by one more change, and the fittest are kept: those in a wanted class first, by their distance; the others
    by distance and by what the model lacks. It ends when the best no longer change.

    Parameters
    ----------
    groups
        Features that change together, to what one training row has in all of them: ``[["city", "zip"]]``.
    weight_l0, weight_l1
        The distance: the share of features that change times ``weight_l0``, plus their average difference (over the
        training range) times ``weight_l1``.
    population
        How many candidates are kept.
    first_samples, samples
        How many values of each feature, drawn as often as they occur, are tried in the first population, and for each
        candidate in the later ones.
    stable
        The search ends when so many of the best candidates are all in a wanted class and the same as in the generation
        before.
    min_generations, max_generations
        At least and at most so many generations.
    random_state
        Seed; None is 0.

    Notes
    -----
    Until something is accepted, a candidate is fit by its distance plus one minus the probability of the target. Where
    a model is so sure of a row that no single change moves that probability, distance alone decides, the candidates
    stay near the row, and the search may end with nothing after all its generations.

    The version of GeCo.jl of the paper's time mutates selectively as here, with one nearer value for each change; its
    last version no longer does.

    Where it is not the paper: its language of constraints is not here, only its groups; its norm has two more parts
    (L2 and the largest difference), here without weight; values are drawn with replacement; models are not evaluated
    in part. A change never makes a value missing. The experiments of the NICE paper ran a patched DiCE genetic under
    this name (see :class:`DiCE`), not this algorithm. All rows go from generation to generation together, each with
    random numbers of its own.

    Examples
    --------
    >>> X, model = np.array([[0.0], [4.0], [9.0]]), lambda X: np.column_stack([X < 3, X >= 3]).astype(float)
    >>> GeCo(model, classes=[0, 1], random_state=0).fit(X).explain(np.array([[1.0]])).to_numpy().tolist()
    [[4.0]]
    """

    def __init__(
        self,
        model: Any,
        *,
        groups: Sequence[Sequence[Any]] = (),
        weight_l0: float = 0.5,
        weight_l1: float = 0.5,
        population: int = 100,
        first_samples: int = 20,
        samples: int = 5,
        stable: int = 5,
        min_generations: int = 3,
        max_generations: int = 100,
        random_state: int | None = None,
        classes: Iterable[Any] | None = None,
        categorical_features: Any = "auto",
        decision: Any = None,
        constraints: Constraints | None = None,
    ) -> None:
        super().__init__(
            model,
            classes=classes,
            categorical_features=categorical_features,
            decision=decision,
            constraints=constraints,
        )
        self.groups = groups
        self.weight_l0 = weight_l0
        self.weight_l1 = weight_l1
        self.population = population
        self.first_samples = first_samples
        self.samples = samples
        self.stable = stable
        self.min_generations = min_generations
        self.max_generations = max_generations
        self.random_state = random_state

    def _check_options(self) -> None:
        for option in ("population", "first_samples", "samples", "stable", "min_generations", "max_generations"):
            check_count(option, getattr(self, option))
        if self.min_generations > self.max_generations:
            raise OptionError(
                f"min_generations={self.min_generations} is more than max_generations={self.max_generations}. Pass a "
                "smaller min_generations or a larger max_generations."
            )
        check_amount("weight_l0", self.weight_l0)
        check_amount("weight_l1", self.weight_l1)
        if not self.weight_l0 + self.weight_l1:
            raise OptionError("weight_l0 and weight_l1 are both 0: then no candidate is nearer than another.")
        Groups().read(self.groups)
        check_seed(self.random_state)

    def _search_of(self, training: Training, values: Floats) -> Find:
        schema = training.schema
        # A name and a position may mean the same feature, so that only now is it clear which groups are one.
        together: Any = joined_groups(
            [schema.moving(schema.full.position(feature, "groups")) for feature in group]
            for group in own_groups(Groups().read(self.groups))
        )
        options = _Options(**{field.name: getattr(self, field.name) for field in fields(_Options)})
        space = FeasibleSpace.of(values, schema.is_categorical, together)
        return _Evolution(options, space, training.by_range)


@dataclass(frozen=True)
class _Options:
    weight_l0: float
    weight_l1: float
    population: int
    first_samples: int
    samples: int
    stable: int
    min_generations: int
    max_generations: int
    random_state: int | None


@dataclass(frozen=True, eq=False)
class _Evolution:
    options: _Options
    space: FeasibleSpace
    distance: Heom

    def __call__(self, question: Question) -> Found:
        random = generators(question, self.options.random_state)
        n_mutants = self.options.population * self.options.samples * len(self.space.groups)
        return found_row_by_row(
            question, lambda line: self._search(question, line, random[line]), values_each=n_mutants
        )

    def _search(self, question: Question, line: int, random: np.random.Generator) -> RowSearch:
        options, space, row = self.options, self.space, question.rows[line]
        n_features, distances = space.around(row, self.distance)
        costs = (options.weight_l0 * n_features + options.weight_l1 * distances) / len(row)
        draws = Draws.of(space, is_change=n_features > 0, random=random)
        nearer = NearerDraws.of(space, costs, is_change=n_features > 0, random=random)
        target = question.target(line)
        if not draws.n_rows.any():
            return Statement("reason.geco_nothing_to_take", {"target": target})
        candidates = self._mutated(np.full((1, 1), space.none), draws, options.first_samples)
        best: Floats | None = None
        fittest = candidates[:0]
        try:
            # The first turn selects the initial population; the generations follow.
            for generation in range(options.max_generations + 1):
                values = space.applied(row, candidates)
                is_accepted, far = read(question, line, values, (yield "score", values))
                lacking = costs[candidates].sum(axis=1) + np.where(is_accepted, 0.0, 1.0 - far)
                kept = np.lexsort((lacking, ~is_accepted))[: options.population]
                before, fittest = fittest, candidates[kept]
                if is_accepted[kept[0]]:
                    best = space.applied(row, fittest[:1])[0]
                is_stable = is_accepted[kept[: options.stable]].all() and _same(
                    before, fittest, options.stable, space.none
                )
                if best is not None and is_stable and generation >= options.min_generations:
                    return best
                parents = self._parents(fittest)
                children = [self._crossed(parents, random), self._selectively_mutated(parents, nearer)]
                children.append(self._mutated(fittest, draws, options.samples))
                candidates = distinct([fittest, *children], space.none)
        except OutOfTime:
            if best is None:
                raise
        if best is not None:
            return best
        return Statement("reason.geco_none", {"generations": options.max_generations, "target": target})

    def _mutated(self, candidates: Ints, draws: Draws, n_samples: int) -> Ints:
        """Each candidate with one more change, for each group that it has none in: as often as values occur."""
        line, group = np.nonzero((self.space.by_group(candidates) < 0) & (draws.n_rows > 0))
        line, group = np.repeat(line, n_samples), np.repeat(group, n_samples)
        added = draws.of_groups(group)
        return distinct([np.sort(np.column_stack([candidates[line], added]), axis=1)], self.space.none)

    def _parents(self, candidates: Ints) -> Ints:
        """The fittest candidate of each set of groups: its change in each group, -1 for none."""
        table = self.space.by_group(candidates)
        _, first = np.unique(table >= 0, axis=0, return_index=True)
        return table[np.sort(first)]

    def _crossed(self, parents: Ints, random: np.random.Generator) -> Ints:
        """Each parent with each other one; where both have a change, either one's."""
        one, other = np.triu_indices(len(parents), k=1)
        mother, father = parents[one], parents[other]
        is_coin = (random.random(mother.shape) < 0.5) & (mother >= 0) & (father >= 0)
        return self.space.from_groups(np.where(is_coin, father, np.where(mother >= 0, mother, father)))

    def _selectively_mutated(self, parents: Ints, nearer: NearerDraws) -> Ints:
        """Parents with a nearer change in a group, for each group that has any, and in all of these at once."""
        has_nearer = (parents >= 0) & (nearer.n_rows[parents] > 0)
        line, group = np.nonzero(has_nearer)
        each = parents[line]
        each[np.arange(len(line)), group] = nearer.than(parents[line, group])
        at_once = parents.copy()
        at_once[line, group] = nearer.than(parents[line, group])
        return self.space.from_groups(np.concatenate([each, at_once]))


def _same(before: Ints, now: Ints, count: int, none: int) -> bool:
    """Whether the first candidates are those of the generation before."""
    one, other = as_wide([before[:count], now[:count]], none)
    return np.array_equal(one, other)
