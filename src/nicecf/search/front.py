"""Which hybrids nothing beats in changes, distance and error together; and how to choose among them."""

from __future__ import annotations

import numpy as np

from nicecf.search import objectives
from nicecf.search.lattice import Hybrids
from nicecf.search.small_products import on_one_thread
from nicecf.support.types import Bools, Floats, Ints


class Front:
    """Which hybrids are worth keeping, and which are worth asking the model about.

    One hybrid beats another if it is no worse in changes, distance and error. With ``by_features`` it must also
    change no other features, so that alternatives are kept that change something else.
    """

    def __init__(self, *, by_features: bool) -> None:
        self._by_features = by_features

    def of(self, hybrids: Hybrids) -> Ints:
        """The places of those that no other beats, by changes, then distance; one of several equal ones."""
        if not self._by_features:
            return unbeaten(hybrids.changes, hybrids.distances, hybrids.errors)
        order = np.lexsort((hybrids.errors, hybrids.distances, hybrids.changes))
        ordered = hybrids.take(order)
        return order[~np.tril(_beats_with_fewer_features(ordered, ordered), k=-1).any(axis=1)]

    def beats(self, known: Hybrids, hybrids: Hybrids) -> Bools:
        """Which of the hybrids are beaten by a known one."""
        if self._by_features:
            return np.asarray(_beats_with_fewer_features(hybrids, known).any(axis=1))
        beaten = np.zeros(len(hybrids), dtype=bool)
        for level in np.unique(hybrids.changes):
            here = hybrids.changes == level
            fewer = known.changes <= level
            distances, errors = _staircase(known.distances[fewer], known.errors[fewer])
            beaten[here] = _lowest(distances, errors, hybrids.distances[here]) <= hybrids.errors[here]
        return beaten


def unbeaten(changes: Ints, distances: Floats, errors: Floats) -> Ints:
    """The places of those that no other beats in all three, by changes, then distance; one of several equal ones.

    >>> unbeaten(np.array([2, 1, 1, 2]), np.array([0.3, 0.4, 0.5, 0.4]), np.array([1.0, 1.0, 1.0, 0.5])).tolist()
    [1, 0, 3]
    """
    order = np.lexsort((errors, distances, changes))
    kept = [np.empty(0, dtype=np.intp)]
    near, low = np.empty(0), np.empty(0)
    for level in np.unique(changes):
        here = order[changes[order] == level]
        # The lowest error among those that are no farther: at this number of changes, and at fewer. NaN is none.
        before = np.concatenate([[np.nan], np.minimum.accumulate(errors[here])[:-1]])
        lowest = np.fmin(before, _lowest(near, low, distances[here]))
        here = here[~(lowest <= errors[here])]
        kept.append(here)
        near, low = _staircase(np.concatenate([near, distances[here]]), np.concatenate([low, errors[here]]))
    return np.concatenate(kept)


class Sparsest:
    """A front of one: the hybrid with the fewest changes, then the nearest, where all errors are alike."""

    def of(self, hybrids: Hybrids) -> Ints:
        """The place of the best one; the first of several equal ones."""
        return np.lexsort((hybrids.distances, hybrids.changes))[:1]

    def beats(self, known: Hybrids, hybrids: Hybrids) -> Bools:
        """Which of the hybrids are no better than a known one."""
        if not len(known):
            return np.zeros(len(hybrids), dtype=bool)
        best = known.take(self.of(known))
        is_nearer = hybrids.distances < best.distances
        return ~((hybrids.changes < best.changes) | ((hybrids.changes == best.changes) & is_nearer))


def orders(hybrids: Hybrids) -> list[Ints]:
    """The places of hybrids, best first: by changes, by distance and by error."""
    by_changes, by_distance = (_in_order(hybrids, by) for by in (hybrids.changes, hybrids.distances))
    errors = hybrids.errors
    is_measured = not len(errors) or errors.min() != errors.max()
    return [by_changes, by_distance, _in_order(hybrids, errors) if is_measured else by_changes]


def _in_order(hybrids: Hybrids, by: Ints | Floats) -> Ints:
    """The places of hybrids by a cost; ties by changes, distance and error."""
    return np.lexsort((hybrids.errors, hybrids.distances, hybrids.changes, by))


def best_first(objective: str, hybrids: Hybrids, reference: Hybrids) -> Ints:
    """The places of hybrids by one objective, best first.

    ``"balanced"``: those first that are no worse than the reference, the paper's NICE(spars), in changes, distance and
    error; among them, those that differ most from it, each of the three as a share of the reference's.
    """
    if objective != "balanced":
        cost = objectives.BY_NAME[objective].cost(hybrids.changes, hybrids.distances, hybrids.errors)
        return _in_order(hybrids, cost)
    pairs = [(getattr(hybrids, of), getattr(reference, of)) for of in ("changes", "distances", "errors")]
    is_worse = np.column_stack([own > other for own, other in pairs]).any(axis=1)
    more = np.column_stack([_share(own - other, other) for own, other in pairs]).sum(axis=1)
    return np.lexsort((more, is_worse))


def unlike(changed: Bools, n: int) -> Ints:
    """Up to ``n`` places of counterfactuals that change unlike features, in their order; lines of ``changed``.

    Of two of them neither changes all the features of the other, and at most half of the features that they change
    together are changed by both.
    """
    chosen: list[int] = []
    n_changed = changed.sum(axis=1)
    for place, mine in enumerate(changed):
        if len(chosen) == n:
            break
        shared, either = (changed[chosen] & mine).sum(axis=1), (changed[chosen] | mine).sum(axis=1)
        is_nested = (shared == n_changed[chosen]) | (shared == n_changed[place])
        if not (is_nested | (2 * shared > either)).any():
            chosen.append(place)
    return np.array(chosen, dtype=np.intp)


def _share(difference: Floats, of: Floats) -> Floats:
    """A difference as a share of a size; as it is where there is no size."""
    size = np.abs(of)
    return difference / np.where(size > 0, size, 1.0)


def _beats_with_fewer_features(hybrids: Hybrids, known: Hybrids) -> Bools:
    """Which of the hybrids (lines) each known one (columns) beats, changing the same features or some of them."""
    beaten = hybrids.changes[:, None] >= known.changes
    beaten &= hybrids.distances[:, None] >= known.distances
    beaten &= hybrids.errors[:, None] >= known.errors
    with np.errstate(invalid="ignore"):  # of zeros and ones: now and then the linear algebra warns of what it read past
        shared = on_one_thread(hybrids.swapped.astype(np.float32), known.swapped.T.astype(np.float32))
    beaten &= shared == known.changes
    return np.asarray(beaten)


def _staircase(distances: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Distances in ascending order, and the lowest error up to each of them."""
    order = np.lexsort((errors, distances))
    return distances[order], np.minimum.accumulate(errors[order])


def _lowest(distances: Floats, errors: Floats, up_to: Floats) -> Floats:
    """The lowest error on a staircase up to some distances; NaN before its first step."""
    if not len(distances):
        return np.full(len(up_to), np.nan)
    at = np.searchsorted(distances, up_to, side="right") - 1
    return np.where(at >= 0, errors[np.maximum(at, 0)], np.nan)
