"""What a local search begins with: single changes of the rows, several of them, and donors with features put back."""

from __future__ import annotations

import numpy as np

from nicecf.search.block import Block, RowMoves
from nicecf.search.candidates import LEAST, Candidates, Moves, Proposals, first_places, joined_moves
from nicecf.search.training_values import TrainingValues
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs

# Values of an ordered feature that are tried in the beginning: so many cells away, on both sides, if there is room.
_OFFSETS = np.unique(np.round(1.5 ** np.arange(45)).astype(np.intp)) - 1
# Of a feature with at most so many of them, all are tried.
_ALL_CELLS = 12
# Single changes that are asked about for one row; wide tables get fewer values of each feature.
_SINGLE_CHANGES = 4096
# What is tried for one row at once is a whole row for each try: in cells, so that very wide tables get fewer tries.
CELLS_TRIED = 2**25
# Gaps between the values that were tried that are looked into, and where.
_PEAKS, _SHARES = 16, np.array([0.25, 0.5, 0.75])
# Steps of the paths from the row by the best single changes.
_PATH = 64
# Single changes of which pairs are made, and how many pairs are asked about.
_PAIRED, _PAIRS = 24, 32
# Invalid candidates with the highest scores, single changes that each is combined with, and how many are asked about.
_NEARLY_VALID, _STEPS, _EXTENDED = 4, 64, 32
# Where a donor differs in more features than this, not every number of steps back is tried.
_ALL_STEPS = 48


def single_changes(block: RowMoves) -> Moves:
    """For each row and feature the values to begin with, as far as the row may take them.

    In a very wide table not for every feature: see `_features_of`.
    """
    n_rows, n_features = block.rows.shape
    room = max(2, _SINGLE_CHANGES // n_features)
    features, everyone = np.flatnonzero(~block.in_group), np.arange(n_rows)
    parts = [Moves(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))]
    most = max(1, CELLS_TRIED // (room * n_features))
    if len(features) <= most:
        parts += [_of_feature(block, j, everyone, room) for j in features.tolist()]
    else:
        parts += [
            _of_feature(block, j, everyone[line : line + 1], room)
            for line in range(n_rows)
            for j in _features_of(block, line, features, most).tolist()
        ]
    return _allowed(block, joined_moves(parts))


def _features_of(block: RowMoves, line: int, features: Ints, most: int) -> Ints:
    """So many of the features: a row for each change of each of them would not fit into memory.

    Those first in which the row is not 0, as nearly all cells of such a table are, and then those of which training
    rows hold most values. By the row alone: what is tried must not depend on the rows beside it.
    """
    is_zero = block.rows[line, features] == 0
    order = np.lexsort((-block.training.counts[features], is_zero))
    return np.sort(features[order[:most]])


def _of_feature(block: RowMoves, j: int, lines: Ints, room: int) -> Moves:
    training = block.training
    if training.is_ordered[j]:
        at, value = _around(training, j, block.rows[lines, j], room)
        line = lines[at]
    else:
        levels = training.common[j][:room]
        line, value = np.repeat(lines, len(levels)), np.tile(levels, len(lines))
    if training.missing[j] >= 0:
        line, value = np.append(line, lines), np.append(value, np.full(len(lines), np.nan))
    return Moves(line, np.full(len(line), j), value)


def _around(training: TrainingValues, j: int, own: Floats, room: int) -> tuple[Ints, Floats]:
    """Values of an ordered feature on both sides of each row's own: of all cells, or of cells more and more away."""
    n_rows, n_cells, features = len(own), int(training.n_cells[j]), np.full(len(own), j)
    below, above = training.beside(features, own)
    if n_cells <= min(room, _ALL_CELLS):
        cells = np.tile(np.arange(n_cells), (n_rows, 1))
    else:
        offsets = _OFFSETS[n_cells > _OFFSETS]
        offsets = offsets[:: -(-2 * len(offsets) // max(1, room - 2))]
        ends = np.tile([0, n_cells - 1], (n_rows, 1))
        cells = np.sort(np.concatenate([below[:, None] - offsets, above[:, None] + offsets, ends], axis=1), axis=1)
    is_one = (cells >= 0) & (cells < n_cells) & ((cells <= below[:, None]) | (cells >= above[:, None]))
    is_one[:, 1:] &= cells[:, 1:] != cells[:, :-1]
    line, at = np.nonzero(is_one)
    return line, training.at(features[line], cells[line, at], own[line])


def between(block: Block, moves: Moves, asked: Candidates) -> Moves:
    """Values between those of an ordered feature that were tried, on both sides of the best ones.

    The score of many trees has peaks that the first values miss.
    """
    training = block.training
    ordered = np.flatnonzero(training.is_ordered[moves.feature] & ~np.isnan(moves.value))
    ordered = ordered[np.lexsort((moves.value[ordered], moves.feature[ordered], moves.of[ordered]))]
    of, feature = moves.of[ordered], moves.feature[ordered]
    cell = training.cell(feature, moves.value[ordered])
    is_next = np.concatenate([(of[1:] == of[:-1]) & (feature[1:] == feature[:-1]), [False]])[: len(of)]
    gap = np.where(is_next, np.append(cell[1:], 0)[: len(cell)] - cell, 0)
    score = asked.scores[ordered]
    worth = np.maximum(score, np.append(score[1:], 0)[: len(score)])
    open_ = np.flatnonzero(gap > 1)
    places = first_places(of[open_], worth[open_], len(block.rows), _PEAKS)
    chosen = open_[places[places >= 0]]
    cells = cell[chosen][:, None] + gap[chosen][:, None] * _SHARES
    lines = np.column_stack([of[chosen], feature[chosen]]).repeat(len(_SHARES), axis=0)
    of, feature, cell = np.unique(np.column_stack([lines, cells.ravel().astype(np.intp)]), axis=0).T
    return _allowed(block, Moves(of, feature, training.at(feature, cell, block.rows[of, feature])))


def all_cells(block: RowMoves, lines: Ints, most: int) -> Moves:
    """Return values of all cells of the ordered features for some rows; at most so many, evenly over each feature."""
    training = block.training
    features = np.flatnonzero(training.is_ordered & ~block.in_group & (training.n_cells > 0))
    of_each = max(1, most // max(1, len(features)))
    cells = [np.unique(np.linspace(0, n - 1, min(n, of_each)).astype(np.intp)) for n in training.n_cells[features]]
    feature = np.repeat(features, [len(own) for own in cells])[:most]
    cell = np.concatenate([np.empty(0, dtype=np.intp), *cells])[:most]
    of, feature, cell = np.repeat(lines, len(cell)), np.tile(feature, len(lines)), np.tile(cell, len(lines))
    return _allowed(block, Moves(of, feature, training.at(feature, cell, block.rows[of, feature])))


def _allowed(block: RowMoves, moves: Moves) -> Moves:
    """Moves of the rows themselves that change something and that they may make."""
    is_change = differs(block.rows[moves.of, moves.feature], moves.value)
    return moves.take(is_change & block.may_take(moves.of, moves))


def paths(block: Block, moves: Moves, gains: Floats, worth: Floats) -> Proposals:
    """From each row by its best single changes, one after the other: by ``worth``, gain for cost, and by gain."""
    lines, values, scores = [np.empty(0, dtype=np.intp)], [block.rows[:0]], [block.scores[:0]]
    for by in (worth, gains):
        places = first_places(moves.of, by, len(block.rows), _PATH)
        current, reached = block.rows.copy(), np.zeros(block.rows.shape)
        for step in range(places.shape[1]):
            line = np.flatnonzero(places[:, step] >= 0)
            place = places[line, step]
            is_more = gains[place] > reached[line, moves.feature[place]]
            line, place = line[is_more], place[is_more]
            current[line, moves.feature[place]] = moves.value[place]
            reached[line, moves.feature[place]] = gains[place]
            if step:
                lines.append(line)
                values.append(current[line])
                scores.append(block.scores[line] + reached[line].sum(axis=1))
    return Proposals(np.concatenate(lines), np.concatenate(values), np.concatenate(scores))


def pairs(block: Block, moves: Moves, gains: Floats, worth: Floats) -> Proposals:
    """Two single changes at once, of those that gain most, and most for their cost: the best that seem enough."""
    n_rows = len(block.rows)
    places = np.column_stack([first_places(moves.of, by, n_rows, _PAIRED) for by in (worth, gains)])
    first, second = np.triu_indices(places.shape[1], k=1)
    line, at = np.nonzero((places[:, first] >= 0) & (places[:, second] >= 0))
    one, other = places[line, first[at]], places[line, second[at]]
    is_pair = moves.feature[one] != moves.feature[other]
    line, one, other = line[is_pair], one[is_pair], other[is_pair]
    distances = block.alone_distance(moves)
    costs = block.costs(np.full(len(line), 2), distances[one] + distances[other])
    scores = block.scores[line] + gains[one] + gains[other]
    useful = np.flatnonzero(costs < block.lowest[line] - LEAST)
    by_cost = np.where(scores > 0, -costs, -1e15 + scores)
    chosen = np.concatenate([first_places(line[useful], by[useful], n_rows, _PAIRS // 2) for by in (by_cost, scores)])
    chosen = useful[np.unique(chosen[chosen >= 0])]
    values = block.rows[line[chosen]]
    at = np.arange(len(chosen))
    for move in (one[chosen], other[chosen]):
        values[at, moves.feature[move]] = moves.value[move]
    return Proposals(line[chosen], values, scores[chosen])


def extended(block: Block, candidates: Candidates, moves: Moves, gains: Floats) -> Proposals:
    """The candidates that come closest to being valid, each with one more single change: what promises most."""
    n_rows = len(block.rows)
    invalid = np.flatnonzero(~candidates.is_valid & (candidates.costs < block.lowest[candidates.line]))
    places = first_places(candidates.line[invalid], candidates.scores[invalid], n_rows, _NEARLY_VALID)
    nearly = invalid[places[places >= 0]]
    steps = first_places(moves.of, gains, n_rows, _STEPS)[candidates.line[nearly]]
    at, which = np.nonzero(steps >= 0)
    of, step = nearly[at], steps[at, which]
    line, feature = candidates.line[of], moves.feature[step]
    distances = candidates.distances[of] + block.alone_distance(moves)[step]
    is_useful = block.costs(candidates.changes[of] + 1, distances) < block.lowest[line] - LEAST
    is_useful &= ~differs(block.rows[line, feature], candidates.values[of, feature])
    scores = candidates.scores[of] + gains[step]
    useful = np.flatnonzero(is_useful)
    places = first_places(line[useful], scores[useful], n_rows, _EXTENDED)
    chosen = useful[places[places >= 0]]
    longer = Moves(of[chosen], feature[chosen], moves.value[step[chosen]])
    return Proposals(line[chosen], longer.applied_to(candidates.values), scores[chosen])


def steps_back(block: Block, donors: Candidates, back: Moves, asked: Candidates) -> tuple[Ints, Proposals]:
    """Donors with more and more features put back, those first that cost little score; and which donor each is.

    ``asked``: what the model says if one of them is put back.
    """
    lost, saved = donors.scores[back.of] - asked.scores, donors.costs[back.of] - asked.costs
    worth = np.where(lost <= 0, 1e9 + saved, saved / np.maximum(lost, LEAST))
    order, n_each = np.lexsort((-worth, back.of)), np.bincount(back.of, minlength=len(donors))
    feature, first, lost = back.feature[order], np.cumsum(n_each) - n_each, lost[order]
    of, values, scores = [back.of[:0]], [donors.values[:0]], [donors.scores[:0]]
    current, left = donors.values.copy(), donors.scores.copy()
    for step in range(int(n_each.max(initial=0)) - 1):
        here = np.flatnonzero(n_each > step + 1)
        moves = Moves(here, feature[first[here] + step], np.empty(len(here)))
        current[here] = block.put_back(donors.line, current, moves)
        left[here] -= lost[first[here] + step]
        is_tried = (n_each[here] <= _ALL_STEPS) | _is_round(step + 2) | _is_round(n_each[here] - step - 1)
        of.append(here[is_tried])
        values.append(current[here[is_tried]])
        scores.append(left[here[is_tried]])
    which = np.concatenate(of)
    return which, Proposals(donors.line[which], np.concatenate(values), np.concatenate(scores))


def _is_round(numbers: Ints | int) -> Bools:
    """Whether a number is a power of two, or one and a half of one: about two of each size."""
    exponents = np.log2(np.maximum(numbers, 1))
    fraction = exponents - np.floor(exponents)
    return np.asarray((fraction < 1e-9) | (np.abs(fraction - np.log2(1.5)) < 1e-9))
