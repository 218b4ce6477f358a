"""CBR: what made the difference for a similar pair of training rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from nicecf.baselines.asking import towards
from nicecf.baselines.baseline import Baseline, Find, Found
from nicecf.baselines.good_pairs import Difference, Partner, best_partners
from nicecf.explain.training import Training
from nicecf.models.classifier import CELLS_PER_CALL
from nicecf.models.scorer import OutOfTime
from nicecf.rules.constraints import Constraints
from nicecf.search.neighbors import DonorIndex
from nicecf.search.question import Question
from nicecf.support.options import check_amount, check_count, choose
from nicecf.support.phrases import Statement, plain_classes, plain_features
from nicecf.support.types import Bools, Floats, Ints


class CBR(Baseline):
    """Case-based counterfactuals (Keane and Smyth, "Good counterfactuals and where to find them", 2020).

    The case base holds "good" pairs of training rows: the model puts them into unlike classes, and they differ in one
    to ``max_differences`` features. For a row, the pair is taken whose like side is nearest to it, and the row gets
    what its unlike side has in the features in which the pair differs. If that does not change the decision, it gets
    in the same features what the training rows nearest to that unlike side have that are in its class, one after the
    other. If none of them does, there is no counterfactual.

    Parameters
    ----------
    max_differences
        In how many features the rows of a pair may differ.
    tolerance
        Numbers that are no more than this share of their training range apart count as equal: 0.2 in the experiments of
        the NICE paper.
    neighbors
        How many training rows are tried when the pair itself does not help; None for all of the class.
    partner
        Which partner a training row keeps of several in a class: the "nearest", or of those with the
        "fewest_differences" the nearest. The paper does not say; the experiments of the NICE paper took the second.

    Notes
    -----
    Where it is not the paper: distances are NICE's, and unless ``neighbors`` is None, the rows that are tried are
    bounded. All rows are adapted together, in two rounds of model calls.

    The experiments of the NICE paper are ``partner="fewest_differences", neighbors=None``, but for the order in which
    training rows are tried: they took those first that are nearest to the row as the pair had adapted it, here it is
    those nearest to the pair's unlike side, as in the paper. That makes no difference to which rows are explained.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [9.0, 1.0], [9.0, 2.0]])
    >>> model = lambda X: np.column_stack([X[:, 0] < 5, X[:, 0] >= 5]).astype(float)
    >>> CBR(model, classes=[0, 1]).fit(X).explain(np.array([[1.0, 7.0]])).to_numpy().tolist()
    [[9.0, 7.0]]
    """

    def __init__(
        self,
        model: Any,
        *,
        max_differences: int = 2,
        tolerance: float = 0.2,
        neighbors: int | None = 100,
        partner: Partner = "nearest",
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
        self.max_differences = max_differences
        self.tolerance = tolerance
        self.neighbors = neighbors
        self.partner = partner

    def _check_options(self) -> None:
        check_count("max_differences", self.max_differences)
        check_amount("tolerance", self.tolerance)
        if self.neighbors is not None:
            check_count("neighbors", self.neighbors, or_none=True)
        choose("partner", self.partner, get_args(Partner))

    def _search_of(self, training: Training, values: Floats) -> Find:
        n_classes = len(training.panel.classes)
        distance = training.by_range
        difference = Difference.of(distance, self.tolerance)
        partners = best_partners(
            values,
            training.decisions,
            n_classes,
            difference=difference,
            most=self.max_differences,
            distance=distance,
            partner=self.partner,
        )
        # One index for each class wanted, of the rows that have a partner in it, by their own class.
        like_sides = [
            DonorIndex.of(values.copy(), np.where(of_class >= 0, training.decisions, -1), n_classes, distance)
            for of_class in partners.T
        ]
        index = DonorIndex.of(values, training.decisions, n_classes, distance)
        place_of = np.empty(len(partners), dtype=np.intp)
        place_of[index.positions] = np.arange(len(partners))
        neighbors = len(partners) if self.neighbors is None else self.neighbors
        return _Adaptation(difference, partners, tuple(like_sides), index, place_of, self.max_differences, neighbors)


@dataclass(frozen=True, eq=False)
class _Adaptation:
    """The search: ``index`` has all training rows, at the places ``place_of`` their positions."""

    difference: Difference
    partners: Ints
    like_sides: tuple[DonorIndex, ...]
    index: DonorIndex
    place_of: Ints
    max_differences: int
    neighbors: int

    def __call__(self, question: Question) -> Found:
        found = Found.nothing(question)
        own = question.panel.decide(question.outputs)
        like, unlike = self._nearest_pairs(question, own)
        for line in np.flatnonzero(like < 0).tolist():
            kind = "reason.cbr_no_pair_one" if self.max_differences == 1 else "reason.cbr_no_pair"
            most = {} if self.max_differences == 1 else {"most": self.max_differences}
            own_class = plain_classes([question.panel.classes[own[line]]])
            found.reasons[line] = Statement(kind, {"own": own_class, "target": question.target(line), **most})
        lines = np.flatnonzero(like >= 0)
        is_taken = self.difference.features(self._values(like[lines]), self._values(unlike[lines]))
        n_others = np.zeros(len(lines), dtype=np.intp)
        try:
            is_helped = self._try(question, found, lines, is_taken, unlike[lines, None])
            left = np.flatnonzero(~is_helped)
            block = max(1, CELLS_PER_CALL // ((self.neighbors + 1) * question.rows.shape[1]))
            for start in range(0, len(left), block):
                question.report(len(question) - len(left) + start)
                some = left[start : start + block]
                others = self._like_target(unlike[lines[some]])
                n_others[some] = (others >= 0).sum(axis=1) - 1
                is_helped[some] = self._try(question, found, lines[some], is_taken[some], others)
        except OutOfTime:
            found.is_cut[lines] = ~found.is_found[lines]
            return found
        for at in np.flatnonzero(~is_helped).tolist():
            line = int(lines[at])
            found.reasons[line] = Statement(
                "reason.cbr_not_adapted",
                {
                    "like": str(like[line]),
                    "unlike": str(unlike[line]),
                    "features": plain_features(question.schema.names[j] for j in np.flatnonzero(is_taken[at])),
                    "target": question.target(line),
                    "tried": int(n_others[at]),
                },
            )
        return found

    def _values(self, positions: Ints) -> Floats:
        return self.index.values[self.place_of[positions]]

    def _nearest_pairs(self, question: Question, own: Ints) -> tuple[Ints, Ints]:
        """The pair whose like side is nearest to each row: positions of both sides, -1 where there is none."""
        like, unlike = np.full(len(question), -1, dtype=np.intp), np.full(len(question), -1, dtype=np.intp)
        nearest = np.full(len(question), np.inf)
        is_own = np.eye(len(question.panel.classes), dtype=bool)[own]
        for target, index in enumerate(self.like_sides):
            asking = np.flatnonzero(question.wanted[:, target])
            places, distances = index.nearest(question.rows[asking], is_own[asking])
            is_nearer = (places >= 0) & (distances < nearest[asking])
            lines = asking[is_nearer]
            like[lines] = index.positions[places[is_nearer]]
            unlike[lines] = self.partners[like[lines], target]
            nearest[lines] = distances[is_nearer]
        return like, unlike

    def _like_target(self, unlike: Ints) -> Ints:
        """The training rows nearest to each unlike side that are in its class: positions, -1 where there are fewer."""
        places = self.place_of[unlike]
        classes = np.eye(len(self.index.leaves), dtype=bool)[self.index.group(places)]
        k = min(self.neighbors + 1, len(self.index.values))  # the nearest is the row itself
        near, _ = self.index.nearest_many(self.index.values[places], classes, k=k)
        return np.where(near >= 0, self.index.positions[near], -1)

    def _try(self, question: Question, found: Found, lines: Ints, is_taken: Bools, donors: Ints) -> Bools:
        """Give rows what training rows have in some features: the first that is accepted counts, for each row."""
        at, column = np.nonzero(donors >= 0)
        positions = donors[at, column]
        values = np.where(is_taken[at], self._values(positions), question.rows[lines[at]])
        is_accepted, _ = towards(question, lines[at], values)
        good = np.flatnonzero(is_accepted)
        helped, first = np.unique(at[good], return_index=True)  # those of a row are in order
        for place, row in zip(good[first].tolist(), helped.tolist(), strict=True):
            found.take(int(lines[row]), values[place])
            found.donors[lines[row]] = positions[place]
        return np.isin(np.arange(len(lines)), helped)
