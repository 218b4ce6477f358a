"""Explanations as one table for a file, a line for each counterfactual, and read back from such a table."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import sparse

from nicecf.exceptions import FileError, listed, plain
from nicecf.models.criterion import Kind
from nicecf.results.batch import Batch
from nicecf.rules.moments import plain_text
from nicecf.search.proofs import NO_PROOF, Proof, Status
from nicecf.support.options import choose
from nicecf.support.phrases import english, in_english
from nicecf.support.types import CellValue, Json, Label
from nicecf.views import words
from nicecf.views.documents.columns import short
from nicecf.views.saved_explanation import Outcome, SavedChange
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedExplanation, formatted
from nicecf.views.words.importance import by_importance
from nicecf.views.words.line import Line, LineKind, lines_of
from nicecf.views.words.wording import Wording

COLUMNS = (
    "row",
    "counterfactual",
    "found",
    "decision",
    "probability",
    "decision_after",
    "probability_after",
    "n_changes",
    "text",
    "changes",
    "reason",
    "note",
    "said",
)
# Those that a file of an earlier version does not have: why there is no counterfactual, in one word; what decides,
# and what is proven.
_PROVEN = ("proof", "gap")
_LATER = ("reason_kind", "line", *_PROVEN)
# What these are called where the target is scores.
_OF_SCORES = {"probability": "score", "probability_after": "score_after"}
# The columns whose numbers depend on the decimal mark of a file, and those that may: classes may be numbers.
NUMBERS = ("probability", "probability_after", *_OF_SCORES.values(), "gap")
CLASSES = ("decision", "decision_after")
# Put before the name of a feature that is one of these.
PREFIX = "cf_"

# Of the message about a damaged line.
_LONGEST = 200


def table(batch: Batch, *, style: words.Style = "sentence", wording: Wording | None = None) -> pd.DataFrame:
    """One line per counterfactual: what was decided, what would be, why, in words, and its features as they are.

    ``row`` is the label of the row and ``counterfactual`` its number among those of the row, from 0. ``changes`` is
    JSON: a list with the feature, its value before and after, the step of the walk and the probability of the new
    decision after that step, what matters most first; what follows from the others comes last, with ``derived``, and
    is not counted in ``n_changes``. ``said`` is the same as the text shows it, so that it can be put into another
    style. If the target is scores, they are in ``score`` and ``score_after`` in place of the probabilities. ``proof``
    and ``gap`` are those of the result, missing where nothing is proven. The features follow; a name that is taken
    gets the prefix ``cf_``.
    """
    choose("style", style, get_args(words.Style))
    formatter = Formatter.of(batch, None)
    plainly = formatted(batch, formatter, ask=True)
    changes, formatted_changes = _changes(batch, plainly, formatter)
    # The model is asked how far numbers can be rounded: not twice, if that can be helped.
    is_plain = wording is None and style != "letter"
    texts = (
        [words.in_style(one, style, Wording()) for one in plainly] if is_plain else words.texts(batch, style, wording)
    )
    frame = pd.DataFrame(
        {
            "row": batch.labels,
            "counterfactual": batch.numbers,
            "found": batch.found,
            "decision": batch.predicted,
            "probability": batch.before.probability,
            "decision_after": batch.predicted_after,
            "probability_after": batch.probability,
            "n_changes": pd.arrays.IntegerArray(batch.n_changes.astype(np.int64), ~batch.found),
            "text": texts,
            "changes": changes,
            "reason": [None if reason is None else english(reason) for reason in batch.reasons],
            "note": [in_english(notes) or None for notes in batch.notes],
            "said": formatted_changes,
            "reason_kind": [None if reason is None else reason.kind for reason in batch.reasons],
            "line": _lines(batch),
            "proof": [None if one.status == "none" else one.status for one in batch.proofs],
            "gap": np.array([one.gap for one in batch.proofs], dtype=np.float64),
        }
    )
    features = batch.to_frame()
    if sparse.issparse(features):
        features = pd.DataFrame(batch.to_numpy(), columns=pd.Index(batch.schema.names))
    features = features if isinstance(features, pd.DataFrame) else features.to_pandas()
    frame = frame if batch.target is None else frame.rename(columns=_OF_SCORES)
    features = features.set_axis(_free_names(features.columns), axis="columns").reset_index(drop=True)
    return pd.concat([frame, features.astype(_still_whole(batch, features))], axis="columns")


def _still_whole(batch: Batch, features: pd.DataFrame) -> dict[str, str]:
    """Columns of whole numbers that became floats only because some rows have no counterfactual."""
    container, X = batch.schema.container, batch.schema.container.by_columns(batch.table)
    given = [container.column(X, position) for position in range(len(features.columns))]
    return {
        name: "Int64"
        for name, before in zip(features.columns, given, strict=True)
        if container.kind(before, name) == "number"
        and container.number_dtype(before).kind in "iu"
        and features[name].dtype == np.float64
        and _is_whole(features[name])
    }


def _is_whole(cells: pd.Series[float]) -> bool:
    values = cells.dropna().to_numpy(dtype=np.float64)
    return bool((values == np.rint(values)).all() and (np.abs(values) < 2**53).all())


def _free_names(names: Sequence[Hashable]) -> list[str]:
    taken = {*COLUMNS, *_LATER, *_OF_SCORES.values()}
    free = []
    for name in map(str, names):
        while name in taken:
            name = f"{PREFIX}{name}"
        taken.add(name)
        free.append(name)
    return free


def _lines(batch: Batch) -> list[str | None]:
    """Return what decides, as JSON, for each counterfactual; None for scores."""
    lines = lines_of(batch)
    if lines is None:
        return [None] * len(batch)
    return [json.dumps(asdict(one) | {"label": _json(one.label)}, ensure_ascii=False) for one in lines.all()]


def _changes(
    batch: Batch, plainly: Sequence[FormattedExplanation], formatter: Formatter
) -> tuple[list[str], list[str]]:
    """The changes of each counterfactual, and how they are said, as JSON; what matters most first."""
    long = batch.changes.iloc[by_importance(batch)]
    starts = batch.steps.starts
    columns = [long[name].tolist() for name in ("feature", "before", "after", "step", "probability")]
    derived = long["derived"].tolist() if "derived" in long else [False] * len(long)
    changes = [
        {
            "feature": str(feature),
            "before": _json(before),
            "after": _json(after),
            "step": step,
            "probability" if batch.target is None else "score": chance,
            **({"derived": True} if is_derived else {}),
        }
        for feature, before, after, step, chance, is_derived in zip(*columns, derived, strict=True)
    ]
    each_formatted = [one for each in plainly for one in (*each.changes, *each.derived)]
    formatted_changes = [
        {
            "before": None if one["before"] is None else text.before if number is None else number.before,
            "after": None if one["after"] is None else text.after if number is None else number.after,
            "direction": text.goes,
            **({} if number is None else {"number": "year" if text.column in formatter.years else "number"}),
            **({"moment": True} if _is_moment(value) else {}),
            **({"together": True} if text.is_together else {}),
            **({} if text.whole is None else {"whole": [text.whole.feature, text.whole.before, text.whole.after]}),
        }
        for one, text, number, value in zip(
            changes, each_formatted, (each.number for each in each_formatted), long["after"], strict=True
        )
    ]
    spans = list(pairwise(starts))
    return _dumped(changes, spans), _dumped(formatted_changes, spans)


def _dumped(items: list[dict[str, Json]], spans: list[tuple[int, int]]) -> list[str]:
    return [json.dumps(items[start:end], ensure_ascii=False) for start, end in spans]


def _is_moment(value: CellValue) -> bool:
    return isinstance(plain(value), (date, timedelta))


def _json(value: CellValue) -> Json:
    value = plain(value)
    if isinstance(value, (date, timedelta)):
        return plain_text(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def has_the_columns(frame: pd.DataFrame) -> bool:
    """Whether a frame from a file has all columns of :func:`table`, and so is one that nicecf wrote."""
    return set(COLUMNS) <= set(_as_probabilities(frame).columns)


def _as_probabilities(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of scores with the names of other tables."""
    is_score = set(_OF_SCORES.values()) <= set(frame.columns) and not set(_OF_SCORES) & set(frame.columns)
    return frame.rename(columns={name: other for other, name in _OF_SCORES.items()}) if is_score else frame


def read_outcomes(frame: pd.DataFrame, name: str) -> list[Outcome]:
    """The lines of a table that :func:`table` made, from a file called ``name``; FileError if it is another table."""
    named, is_score = _as_probabilities(frame), "score_after" in frame and "probability_after" not in frame
    missing = [column for column in COLUMNS if column not in named]
    if missing:
        raise FileError(
            f"{name} does not hold explanations: it has no column {listed(missing, limit=3)}. Give what nicecf explain "
            "wrote (--out)."
        )
    if not set(_PROVEN) <= set(named.columns):  # one of these alone is a feature, in a file of an earlier version
        named = named.drop(columns=list(_PROVEN), errors="ignore")
    named = named.reindex(columns=[*COLUMNS, *_LATER])
    lines = named.astype(object).to_dict("records")
    outcomes = []
    for number, line in enumerate(lines, 1):
        try:
            outcomes.append(_outcome(line, is_score=is_score))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            problem = short(f"{type(error).__name__}: {error}", _LONGEST)
            raise FileError(
                f"{name} is damaged: row {number} is not as nicecf explain writes it ({problem})."
            ) from error
    return outcomes


def by_row(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """The counterfactuals of each row. Of rows with the same label, the numbers start again."""
    rows: list[list[Outcome]] = []
    latest: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.row not in latest or any(one.number == other.number for other in latest[one.row]):
            latest[one.row] = []
            rows.append(latest[one.row])
        latest[one.row].append(one)
    return rows


def _label(value: CellValue) -> Label:
    """A class as it was, as far as a file without types tells; an empty cell is the class without a name."""
    if isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value):
        return float(value)
    return {"True": True, "False": False, None: ""}.get(value, value)


def _outcome(line: Mapping[str, CellValue], *, is_score: bool) -> Outcome:
    read = float if is_score else _share
    values: dict[str, CellValue] = {name: None if _is_empty(value) else plain(value) for name, value in line.items()}
    found = str(values["found"]).lower()
    if found not in ("true", "false"):
        raise ValueError(f"found is {values['found']!r}")
    changes = zip(json.loads(values["changes"] or "[]"), json.loads(values["said"] or "[]"), strict=True)
    return Outcome(
        row=str(values["row"]),
        number=int(float(values["counterfactual"])),
        found=found == "true",
        predicted=_label(values["decision"]),
        probability_before=read(values["probability"]),
        predicted_after=_label(values["decision_after"]),
        probability=np.nan if values["probability_after"] is None else read(values["probability_after"]),
        changes=tuple(
            SavedChange(
                str(one["feature"]),
                _text_or_none(texts["before"]),
                _text_or_none(texts["after"]),
                int(one["step"]),
                read(one["score" if is_score else "probability"]),
                _sign(texts["direction"]),
                _kind_of(texts),
                texts.get("together") is True,
                _whole(texts.get("whole")),
                one.get("derived") is True,
            )
            for one, texts in changes
        ),
        text=str(values["text"]),
        reason=values["reason"],
        note=values["note"],
        is_score=is_score,
        reason_kind=values["reason_kind"],
        line=None if values["line"] is None else _line(json.loads(values["line"])),
        proof=_proof(values["proof"], values["gap"]),
    )


def _proof(status: CellValue, gap: CellValue) -> Proof:
    """What a file holds of a proof: of an answer that costs 1, whatever it cost."""
    if status is None:
        return NO_PROOF
    if status not in get_args(Status):
        raise ValueError(f"a proof is {status!r}")
    return Proof(status, cost=1.0, bound=1.0 - (0.0 if gap is None else _share(gap)))


def _kind_of(texts: Mapping[str, Json]) -> Literal["text", "number", "year", "moment"]:
    if texts.get("moment") is True:
        return "moment"
    number = texts.get("number")
    if number not in (None, "number", "year"):
        raise ValueError(f"a number is {number!r}")
    return "text" if number is None else "year" if number == "year" else "number"


def _whole(value: Json) -> tuple[str, str, str] | None:
    if value is None:
        return None
    feature, before, after = map(str, value)
    return feature, before, after


def _line(read: Mapping[str, Json]) -> Line:
    cutoff, least = (None if read[name] is None else _share(read[name]) for name in ("cutoff", "least"))
    kind: LineKind = read["kind"]
    if kind not in (*get_args(Kind), "plain"):
        raise ValueError(f"what decides is {kind!r}")
    before, after = (str(read[name]) for name in ("before", "after"))
    return Line(_label(read["label"]), before, after, kind, cutoff, least, int(read["n_more"]))


def _share(value: Json) -> float:
    share = float(value)
    if not 0 <= share <= 1:
        raise ValueError(f"a probability is {value!r}")
    return share


def _sign(value: Json) -> int:
    if value not in (-1, 0, 1):
        raise ValueError(f"a direction is {value!r}")
    return int(value)


def _text_or_none(value: Json) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise TypeError(f"a value is {value!r}, not text")
    return value


def _is_empty(value: CellValue) -> bool:
    return value is None or (isinstance(value, str) and not value) or (pd.api.types.is_scalar(value) and pd.isna(value))
