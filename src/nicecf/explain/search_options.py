"""The options of NICE that choose its search, and the search that they choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nicecf.exceptions import OptionError, listed
from nicecf.explain.fitted import Neighborhood, Plausibility
from nicecf.explain.formulas import NOTHING_READ, ProofBasis
from nicecf.search import objectives
from nicecf.search.bounded import Bounded
from nicecf.search.chain import FewChanges, FirstThatHelps, FromDonors
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.exact import Exact
from nicecf.search.greedy import Greedy
from nicecf.search.mixed import Mixed
from nicecf.search.objectives import Reward
from nicecf.search.question import Search
from nicecf.search.thorough import Thorough
from nicecf.support.options import check_count, choose
from nicecf.support.types import Bools, Floats

# Of these, a solver can tell that nothing is better.
_PROVABLE = ("sparsity", "proximity")


@dataclass(frozen=True)
class SearchOptions:
    """``search``, ``optimize``, ``neighbors`` and ``mix_donors`` of :class:`nicecf.NICE`; ``search``: None for any."""

    search: str | None
    optimize: str | Reward
    neighbors: int | None
    mix_donors: bool

    @property
    def chosen(self) -> str:
        """The search that runs: unless one is named, the thorough one, if it has anything to compare by."""
        if self.search is not None:
            return self.search
        return "thorough" if isinstance(self.optimize, str) and self.optimize in _comparing() else "greedy"

    @property
    def is_thorough(self) -> bool:
        """Whether many donors are looked at, and not the nearest alone."""
        return self.chosen != "greedy"

    @property
    def is_exact(self) -> bool:
        """Whether what is found is proven to be the best."""
        return self.chosen == "exact"

    @property
    def is_bounded(self) -> bool:
        """Whether what is found can be compared with what the leaves of trees prove."""
        return self.chosen == "thorough" and self.mix_donors and self.optimize in _PROVABLE

    @property
    def reward(self) -> Reward | None:
        """What the greedy search follows; None if it follows nothing, or the objective has no reward of its own."""
        if not isinstance(self.optimize, str):
            return self.optimize
        return objectives.BY_NAME[self.optimize].reward if self.optimize in objectives.BY_NAME else None

    @property
    def needs_plausibility(self) -> bool:
        """Whether the search asks how plausible hybrids are."""
        is_balanced = isinstance(self.optimize, str) and self.optimize == "balanced"
        return is_balanced or objectives.needs_plausibility(self.reward)

    def check(self) -> None:
        """OptionError for options that are not known, or do not go together."""
        if self.search is not None:
            choose("search", self.search, ("greedy", "thorough", "exact"))
        choose("optimize", self.optimize, ("none", *_comparing()), or_function=True)
        if self.neighbors is not None:
            check_count("neighbors", self.neighbors, or_none=True)
        if self.is_exact and self.optimize not in _PROVABLE:
            what = repr(self.optimize) if isinstance(self.optimize, str) else "a reward function"
            raise OptionError(
                f"search='exact' proves that nothing has fewer changes, or is nearer; optimize={what} asks for "
                f"something else. Choose one of {listed(_PROVABLE)}, or search='thorough'."
            )
        if self.is_thorough and self.optimize not in _comparing():
            what = repr(self.optimize) if isinstance(self.optimize, str) else "a reward function"
            raise OptionError(
                f"search='thorough' needs an objective that compares counterfactuals; optimize={what} compares none. "
                f"Choose one of {listed(_comparing())}, or search='greedy'."
            )
        if not self.is_thorough and isinstance(self.optimize, str) and self.optimize == "balanced":
            raise OptionError("optimize='balanced' needs search='thorough': the greedy search has no reward for it.")
        if not self.is_thorough and self.neighbors not in (None, 1):
            raise OptionError(
                f"neighbors={self.neighbors} needs search='thorough': the greedy search walks to one donor."
            )

    def searching(
        self,
        donors: DonorSearch,
        distance: Heom,
        *,
        is_refused: Callable[[Floats], Bools] | None,
        plausibility: Plausibility | None,
        basis: ProofBasis = NOTHING_READ,
    ) -> tuple[Search, Neighborhood]:
        """The search among some donors; ``is_refused``: rows that may not be handed out.

        ``basis``: what proofs are made of. ``plausibility``: the measure of it, if there is one. Hybrids are compared
        by it where the objective needs that or the user gave it; by the autoencoder also where donors are not mixed, as
        in files from before they could be.
        """
        is_compared = self.needs_plausibility or not self.mix_donors
        has_errors = plausibility is not None and (is_compared or not plausibility.is_own)
        walk = Greedy(objectives.sparsity if self.is_thorough else self.reward, distance)
        hybrids = Thorough(
            donors,
            distance,
            objectives.without_errors(self.reward),
            is_refused=is_refused,
            has_errors=False,
            wants_front=self.is_thorough,
        )
        first: FromDonors = walk
        if self.is_thorough:
            first = thorough = replace(
                hybrids, objective=str(self.optimize), neighbors=self.neighbors, has_errors=has_errors
            )
            if plausibility is not None and plausibility.is_own and objectives.needs_plausibility(self.reward):
                # All at once, not again in every call of explain.
                first = replace(thorough, donor_errors=plausibility.measure(donors.index.values))
            _ = donors.distinct  # now, not in the first call of explain
            if self.mix_donors and not self.needs_plausibility:
                _ = donors.values
                first = Mixed(
                    donors, distance, str(self.optimize), thorough, self.neighbors, is_refused, has_errors=has_errors
                )
        mixed = first if isinstance(first, Mixed) else None
        last = None if mixed is None else replace(mixed, climbs=True)
        is_guarded = is_refused is not None
        others = (hybrids, FewChanges(donors, walk))
        search = FirstThatHelps(donors, first, under_rules=others, last=None if is_guarded else last)
        neighborhood = Neighborhood(
            donors,
            hybrids,
            walk,
            relaxed=search if self.is_thorough else None,
            # "balanced" has no reward of its own, so that nobody knows which hybrids to look ahead for.
            has_hybrids=self.reward is not None,
            first_questions=mixed,
            last_resort=last if is_guarded else None,
        )
        if self.is_exact:
            return Exact(search, donors, distance, str(self.optimize), basis.formulas, is_refused), neighborhood
        if basis.bounds is not None:
            return Bounded(search, basis.bounds, distance, str(self.optimize)), neighborhood
        return search, neighborhood


def _comparing() -> tuple[str, ...]:
    """The objectives that compare counterfactuals: any in the registry, also those that were added to it later."""
    return (*objectives.BY_NAME, "balanced")
