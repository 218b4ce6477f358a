"""First stage: what was called -> the question that a search answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nicecf.exceptions import ModelError
from nicecf.explain.fitted import Fitted
from nicecf.explain.refused_rows import located
from nicecf.explain.targets import targets_of
from nicecf.models.scorer import Scorer
from nicecf.rules.parts import parts_of
from nicecf.search.donors import Ahead, look_ahead
from nicecf.search.question import Question
from nicecf.support.progress import Choice
from nicecf.support.types import Bools, Floats, Table
from nicecf.tables.schema import Schema, differs


@dataclass(frozen=True, eq=False)
class Call:
    """What ``explain`` was called with.

    ``deadline`` is a time of ``clock.now``, ``options`` are the explainer's, ``if_long`` says what can be done if
    the call takes long. ``outputs``: what the models say of the rows, if they were asked about them already.
    """

    X: Table
    target_class: Any
    options: dict[str, Any]
    asked: dict[str, Any]
    constraints: Any = None
    n_wanted: int = 1
    deadline: float | None = None
    progress: Choice = None
    if_long: str | None = None
    outputs: Floats | None = None


def ask(call: Call, fitted: Fitted, *, by_twin: bool = False) -> Question:
    """Encode the rows, read targets and rules, and score the rows in one call; what is wrong is said before that call.

    The deadline holds for all later calls: without this one, there is no answer at all. ``by_twin``: the twin of the
    model is asked in its place; NotSupported where it cannot answer.
    """
    given, full = fitted.schema.full.encode(call.X)
    rows, schema = fitted.schema.reduce(given, full)
    index = schema.container.labels(call.X)
    parts = parts_of(
        fitted.constraints, call.constraints, schema, rows, trained=fitted.schema, index=index, given=given
    )
    targets = targets_of(call.target_class, fitted.panel.classes, len(rows))
    score = fitted.models.scorer(schema, by_twin=by_twin, deadline=call.deadline)
    ahead, outputs = Ahead(rows[:0]), np.empty((0, fitted.panel.width))
    if call.outputs is not None:
        outputs = call.outputs
    elif len(rows):  # of no rows there is nothing to ask
        if fitted.neighborhood is not None and len(parts) == 1 and score.looks_ahead:
            near = fitted.neighborhood
            ahead = look_ahead(
                near.donors,
                rows,
                targets,
                parts[0].rules,
                budget=score.cost.rows_worth_a_call,
                has_hybrids=near.has_hybrids,
                first_questions=near.first_questions,
            )
        canaries = fitted.models.canaries
        asked = rows if by_twin else np.concatenate([rows, canaries.values])
        try:
            answers = score.until(None)(asked, lambda: ahead.rows)
        except ModelError as error:
            known = schema.expand(canaries.values)
            raise located(error, fitted.panel, schema.full, given, known) from error.__cause__
        if not by_twin:
            canaries.check(answers[len(rows) :], fitted.panel)
        said = answers[: len(rows)]
        outputs = as_given(said, given, rows, schema, fitted.models.scorer(schema.full, by_twin=by_twin), score)
    wanted = _wanted(targets, fitted.panel.decide(outputs))
    return Question(
        schema=schema,
        trained=fitted.schema,
        panel=fitted.panel,
        score=score,
        rows=rows,
        outputs=outputs,
        wanted=wanted,
        parts=tuple(parts),
        error=None if fitted.plausibility is None else fitted.plausibility.for_rows(schema),
        n_wanted=call.n_wanted,
        given=given,
        likely=None if fitted.neighborhood is None else ahead.likely(fitted.neighborhood.donors.index, wanted),
    )


def as_given(outputs: Floats, given: Floats, rows: Floats, schema: Schema, of_whole: Scorer, score: Scorer) -> Floats:
    """What the models say of the rows as they were handed in: what is computed may be rounded otherwise in them.

    ``outputs``: what they say of ``rows``. ``of_whole`` asks about rows with all columns; it is counted with ``score``.
    """
    is_other = differs(given, schema.expand(rows)).any(axis=1)
    if not is_other.any():
        return outputs
    outputs = outputs.copy()
    outputs[is_other] = of_whole(given[is_other])
    score.meter.add(of_whole.meter)
    return outputs


def _wanted(targets: Bools, decided: Any) -> Bools:
    """The classes wanted of each row: those named or, where none is, all but the one decided on."""
    other = np.arange(targets.shape[1])[None, :] != decided[:, None]
    return np.where(targets.any(axis=1, keepdims=True), targets, other)
