"""What baselines ask of a question: how far values are from the wanted class, and random numbers for each row."""

from __future__ import annotations

import zlib

import numpy as np

from nicecf.search.question import Question
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.schema import differs, with_own_cells


def towards(question: Question, lines: Ints, values: Floats) -> tuple[Bools, Floats]:
    """Ask the model about values for some of the rows: whether it accepts them, and how far they are, in [0, 1].

    With two classes and no cut-off, how far is the probability of the wanted one. It is above a half exactly where
    the values are accepted, whatever the decision rule, and grows with the score on both sides of it. Raises
    OutOfTime past the deadline.
    """
    return read(question, lines, values, question.score(values))


def read(question: Question, lines: Ints | int, values: Floats, outputs: Floats) -> tuple[Bools, Floats]:
    """The same for what the model has said already, of values for some rows, or all for one."""
    lines = np.broadcast_to(lines, len(outputs))
    panel, wanted = question.panel, question.wanted[lines]
    is_accepted = question.accepts(lines, values, outputs)
    far = (1.0 + panel.scores(outputs, wanted)) / 2.0
    if not all(member.rule.is_highest for member in panel.members):
        # Another rule of the decision puts the border elsewhere: each side of it gets a half.
        far = np.where(is_accepted, 1.0 + far, far) / 2.0
    just_past, just_before = np.nextafter(0.5, 1.0), np.nextafter(0.5, 0.0)
    return is_accepted, np.where(is_accepted, np.maximum(far, just_past), np.minimum(far, just_before))


def rounded(question: Question, lines: Ints, values: Floats) -> Floats:
    """New numbers as the training columns hold them; what is a row's own stays as it is."""
    rows = question.rows[lines]
    return with_own_cells(rows, np.where(differs(rows, values), question.trained.rounded(values), rows))[0]


def generators(question: Question, random_state: int | None) -> list[np.random.Generator]:
    """Random numbers for each row, which depend on its values alone: a batch draws what its rows would."""
    # Unseen categories are numbered as they come: they all count as one.
    n_levels = [len(one.levels) if one.is_categorical else np.inf for one in question.trained.columns]
    keys = np.where(np.isnan(question.rows), -np.inf, np.minimum(question.rows, n_levels)) + 0.0
    return [np.random.default_rng([random_state or 0, zlib.crc32(key.tobytes())]) for key in keys]
