"""A record made again: is the explanation still the same, and if not, where is it different?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.util import find_spec
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from nicecf.exceptions import FileError, NicecfError, OptionError, SchemaError, listed, plain
from nicecf.explain.explainer import Explainer
from nicecf.explain.fitted import Fitted
from nicecf.results.counterfactual import Counterfactual
from nicecf.results.provenance import described
from nicecf.results.records import FORMAT, VERSION, digest_of, feature_keys
from nicecf.rules.constraints import Constraints
from nicecf.search.given import Given
from nicecf.support.extras import installing
from nicecf.support.json_values import from_json, to_json
from nicecf.support.phrases import in_english
from nicecf.support.types import Cells, Table
from nicecf.tables import Container
from nicecf.tables.column import Column
from nicecf.tables.schema import Schema

# How far a probability may be from that in the record: a batch adds up its numbers in another order than a row alone.
# Models in single precision answer a batch and one row of it a little differently.
_SAME_PROBABILITY = 1e-6

# What a record must have, and of which kind.
_PARTS: dict[str, type | tuple[type, ...]] = {
    "row": dict,
    "missing": dict,
    "found": bool,
    "counterfactual": (dict, type(None)),
    "changes": list,
    "reason": (str, type(None)),
    "note": (str, type(None)),
    "decision": dict,
    "probabilities": list,
    "donor": (int, type(None)),
    "explainer": str,
    "options": dict,
    "call": dict,
    "seed": int,
    "versions": dict,
    "fingerprints": dict,
    "digest": str,
}
# What it has besides: of any kind, and nothing that is looked at. ``files``: where the explainer and its model were.
_FOR_PEOPLE, _MAY_BE_THERE = ("format", "version", "label"), ("proof", "boxes", "files")

# In this order; the fingerprints, options and versions are told of apart.
_COMPARED = (
    *("found", "reason", "note", "decision", "probabilities", "row", "missing", "counterfactual", "changes", "donor"),
    *("call", "seed"),
)
# What a call has only where it was asked for.
_ASKED_BESIDES = ("target_score", "feature_weights", "min_probability")
# What options mean that a record of before they existed does not name, where that is not their default.
_MEANT_BEFORE = {"mix_donors": False, "ordinal": "overlap"}
_ABSENT = object()


@dataclass(frozen=True, repr=False)
class Replay:
    """What came of making a record again.

    ``differences``: where the record says another thing than the explanation does now, in words; none, if it says the
    same. Not compared are the label of the row, the name of the model (it is known by its fingerprint), the versions
    of packages and, of the command line, the names of files. ``notes``: what is worth knowing, but makes no difference,
    such as other versions. ``again``: the explanation as it is now, None if it could not be made.
    """

    differences: tuple[str, ...]
    notes: tuple[str, ...]
    again: Counterfactual | None

    @property
    def is_same(self) -> bool:
        """Whether the explanation is the same."""
        return not self.differences

    def __str__(self) -> str:
        """Same or different, and where."""
        lines = ["same: the explanation was made again, and nothing in it is different"]
        if self.differences:
            count = len(self.differences)
            lines = [f"different in {count} {'point' if count == 1 else 'points'}:", *_points(self.differences)]
        if self.notes:
            lines += ["worth knowing:", *_points(self.notes)]
        return "\n".join(lines)

    __repr__ = __str__


def replay(record: Mapping[str, Any], nice: Any) -> Replay:
    """Make the explanation of a record again, and say whether it is the same.

    ``record``: what ``cfs.to_records()`` or ``cfs[i].to_record()`` gave, also by way of JSON. ``nice``: a fitted
    explainer, the one that made it or one that was loaded or fitted again. The row is explained as it was then, with
    the same target, rules and number of counterfactuals. Compared is every part of the record: the explanation, cell by
    cell, the decision, the probabilities (to 1e-6), the donor, what was asked, the options (one that the record does
    not name counts as left at its default), the seed, and the fingerprints of model and training data. Not compared,
    since the explainer does not know them, are the label of the row, the name of the model, the versions of packages
    (they are noted) and, of the command line, the names of files.

    FileError for what is no record, was made by hand, or is of a newer format.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from nicecf import NICE
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> nice = NICE(DecisionTreeClassifier(random_state=0).fit(X, y)).fit(X, y)
    >>> print(replay(nice.explain(X.iloc[[0]])[0].to_record(), nice))
    same: the explanation was made again, and nothing in it is different
    """
    _check(record)
    if not isinstance(nice, Explainer):
        raise OptionError(f"replay needs the explainer of the record, a fitted NICE, got {type(nice).__name__}.")
    nice._check_fitted()
    if record["explainer"] != type(nice).__name__:
        raise OptionError(
            f"the record was made by {record['explainer']}, but this is {type(nice).__name__}. Pass the explainer that "
            "it was made by."
        )
    differences: list[str] = []
    if record["digest"] != _digest(record):
        differences.append("the record was changed after it was made: its digest is not that of its content")
    unproven = _why_unproven(record, nice)
    again, why_not = _made_again(record, nice if unproven is None else _told(record, nice))
    differences += [] if why_not is None else [why_not]
    options = _options_that_differ(record["options"], to_json(nice._options), _defaults(nice))
    differences += [text for text, is_difference in options if is_difference]
    notes = [text for text, is_difference in options if not is_difference]
    if again is not None:
        now = again.to_record(boxes="boxes" in record)
        by_fingerprints, unknown = _fingerprints_that_differ(record["fingerprints"], now["fingerprints"])
        differences += by_fingerprints
        if record["note"] != now["note"] and record["note"] == _note_of_before(again):
            now["note"] = record["note"]
            notes.append("values that training never saw are noted now, and were not when the record was made")
        if unproven is not None and not record["found"]:
            now["reason"] = record["reason"]  # that there is none is what was proven
        differences += [line for part in _COMPARED for line in _compared(part, _seen(record, part), _seen(now, part))]
        differences += list(_compared("boxes", record.get("boxes"), now.get("boxes")))
        if unproven is None:
            by_proof, of_solver = _proofs_that_differ(record.get("proof"), now.get("proof"))
            differences, notes = differences + by_proof, notes + of_solver
        else:
            notes.append(unproven)
        notes += [*unknown, *_versions_that_differ(record["versions"], now["versions"])]
    if differences and record["call"].get("time_budget") is not None:
        notes.append("the call had a time_budget: what is found in time may be another thing each time")
    return Replay(tuple(differences), tuple(notes), again)


def _why_unproven(record: Mapping[str, Any], nice: Any) -> str | None:
    """Why what is proven in a record cannot be proven again, if it cannot be."""
    if record.get("proof") is None or nice._options.get("search") != "exact" or find_spec("ortools") is not None:
        return None
    return f"the answer was checked but not proven again: ortools is not installed ({installing('exact')})"


def _told(record: Mapping[str, Any], nice: Any) -> Any:
    """The same explainer, which is told what the record says it found, and checks it."""
    fitted: Fitted = nice._fitted
    values = None
    if record["found"]:
        keys = feature_keys(fitted.schema.full.names)
        table = _table({**record, "row": record["counterfactual"]}, fitted.schema.full, keys)
        encoded, _ = fitted.schema.full.encode(table)
        values = fitted.schema.known(encoded)[0][0]

    def aimed(*call: Any) -> tuple[Fitted, Any, dict[str, Any]]:
        learned, wanted, besides = nice._aimed(*call)
        assert learned.neighborhood is not None
        places = np.flatnonzero(learned.neighborhood.donors.index.positions == record["donor"])
        place = int(places[0]) if values is not None and len(places) else -1
        return replace(learned, search=Given(values, place, learned.distance)), wanted, besides

    told = copy(nice)
    told._aimed = aimed
    return told


def _proofs_that_differ(then: Any, now: Any) -> tuple[list[str], list[str]]:
    """Differences, and notes: another solver, or another version of it, may prove the same."""
    if then is None:  # an older nicecf proved nothing, or less
        return [], []
    if not isinstance(then, dict) or not isinstance(now, dict):
        return list(_compared("proof", then, now)), []
    by = [
        f"{name} of the proof: {then.get(name)} in the record, {now.get(name)} now"
        for name in ("solver", "version")
        if then.get(name) != now.get(name)
    ]
    names = [name for name in (*then, *now) if name not in ("solver", "version")]
    parts = ({name: one.get(name, _ABSENT) for name in dict.fromkeys(names)} for one in (then, now))
    return list(_compared("proof", *parts, is_rounded=True)), by


def _check(record: Any) -> None:
    if not isinstance(record, Mapping):
        raise OptionError(
            f"a record is a dict, as cfs[0].to_record() gives it, got {type(record).__name__}. Of a file: "
            "json.load(file)."
        )
    if record.get("format") != FORMAT:
        raise FileError(f"this is no record of nicecf: its format is {record.get('format')!r}, not {FORMAT!r}.")
    version = record.get("version")
    if type(version) is not int or version < 1:
        raise FileError(f"the record is damaged: its version is {version!r}.")
    if version > VERSION:
        raise FileError(f"the record has format {version}; this nicecf reads up to {VERSION}: upgrade.")
    for name, kind in _PARTS.items():
        if name not in record:
            raise FileError(f"the record is damaged: it has no {name!r}. Make it again.")
        is_number = kind is int or (isinstance(kind, tuple) and int in kind)
        if not isinstance(record[name], kind) or (is_number and isinstance(record[name], bool)):
            raise FileError(f"the record is damaged: its {name!r} is {type(record[name]).__name__}. Make it again.")
    if "label" not in record:
        raise FileError("the record is damaged: it has no 'label'. Make it again.")
    more = [name for name in record if name not in {*_PARTS, *_FOR_PEOPLE, *_MAY_BE_THERE}]
    if more:
        raise FileError(f"the record is damaged: it has {listed(more)}, which no record has. Make it again.")


def _digest(record: Mapping[str, Any]) -> str:
    try:
        return digest_of(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"the record is damaged: it holds what is not JSON ({error}). Make it again.") from error


def _made_again(record: Mapping[str, Any], nice: Any) -> tuple[Counterfactual | None, str | None]:
    """The explanation as it is now; else why it cannot be made."""
    schema: Schema = nice._fitted.schema.full
    keys, row = feature_keys(schema.names), record["row"]
    unknown, lacking = [key for key in row if key not in keys], [key for key in keys if key not in row]
    if unknown or lacking:
        wrong = f"has {listed(unknown)}, which the explainer does not know" if unknown else f"lacks {listed(lacking)}"
        return None, f"it cannot be made again: the row {wrong}"
    try:
        call = {name: from_json(value) for name, value in record["call"].items()}
        asked, which = _asked(call, nice)
        table = _table(record, schema, keys)
    except NicecfError as error:
        return None, f"it cannot be made again: {error}"
    except Exception as error:  # of a record that someone wrote by hand: whatever can be wrong in it
        raise FileError(f"the record is damaged: {type(error).__name__}: {error}. Make it again.") from error
    try:
        cfs = nice.explain(table, **asked, progress=False)
        cfs = cfs.pareto() if call.get("pareto") else cfs.plans() if call.get("plans") else cfs
    except NicecfError as error:
        return None, f"it cannot be made again: {error}"
    if not 0 <= which < len(cfs):
        return None, f"there are {len(cfs)} counterfactuals now, and the record is of number {which + 1}"
    return cfs[which], None


def _asked(call: Mapping[str, Any], nice: Any) -> tuple[dict[str, Any], int]:
    """What to call ``explain`` with, and which of its counterfactuals the record is of; ValueError if it is no call."""
    own = {"n_counterfactuals"} & set(signature(nice.explain).parameters)
    wanted = {"target_class", "time_budget", "constraints", "which", *own}
    choices = {name: call[name] for name in ("pareto", "plans") if name in call}
    is_call = set(call) - {*choices, *_ASKED_BESIDES} == wanted
    if not is_call or len(choices) > 1 or not all(value is True for value in choices.values()):
        raise ValueError(f"its call must have {listed(sorted(wanted))}, and has {listed(call) or 'nothing'}")
    target, which = call["target_class"], call["which"]
    if isinstance(target, dict) or (isinstance(target, list) and any(isinstance(one, (dict, list)) for one in target)):
        raise ValueError("its target_class is no class")
    if type(which) is not int:
        raise ValueError(f"it is of the counterfactual {which!r}")
    asked = {"target_class": target, "time_budget": call["time_budget"]}
    if own:
        rules = Constraints(**call["constraints"])
        # As rules of one row they may contradict those of the explainer.
        asked |= {"n_counterfactuals": call["n_counterfactuals"], "constraints": [rules]}
        asked |= {name: call[name] for name in _ASKED_BESIDES if name in call}
    return asked, which


def _table(record: Mapping[str, Any], schema: Schema, keys: list[str]) -> Table:
    """The row of a record, as a table like the one that ``fit`` got."""
    values = [from_json(record["row"][key]) for key in keys]
    markers = [from_json(record["missing"].get(key)) for key in keys]
    wrong = [one for one in markers if not (pd.api.types.is_scalar(one) and pd.isna(one))]
    if wrong:
        raise ValueError(f"it marks what is missing by {wrong[0]!r}")
    cells = [_cell(*one, schema) for one in zip(values, markers, schema.columns, strict=True)]
    return schema.container.assemble(cells, _header(values, schema), None)


def _header(values: list[Any], schema: Schema) -> Table:
    """What a table has besides its columns: an array has one dtype, and that of rows need not be that of training."""
    header = schema.empty
    if not isinstance(header, np.ndarray) or header.dtype.kind not in "biuf":
        return header
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return header.astype(bool)
    if kinds & {bool, Decimal}:
        return header.astype(object)
    return header.astype(np.float64) if header.dtype.kind == "b" else header


def _cell(value: Any, marker: Any, column: Column, schema: Schema) -> Cells:
    container = schema.container
    if column.temporal is not None:
        return _moment(value, marker, column, container)
    if not column.is_categorical:
        if value is not None and not isinstance(value, (Real, Decimal)):
            raise SchemaError(f"feature {column.name!r} is numeric, but the row has {value!r}")
        like = column.prototype
        number = container.write_numbers(np.array([float("nan") if value is None else float(value)]), like)
        if value is None or _is_alike(plain(next(iter(number))), value):
            return number
        return np.array([value]) if isinstance(like, np.ndarray) else type(like)([value])
    code, levels = -1, column.native_levels
    if value is not None:
        known = column.code(value)
        code = len(column.levels) if known is None else known
    if code == len(column.levels):  # a category that training never saw
        levels = container.native_levels([*column.levels, value], column.prototype)
    cells = container.write_levels(np.array([code]), levels, marker)
    # The categories of a guarded column are nobody's business but for the row's own.
    is_guarded = column.common is not None and isinstance(cells, pd.Categorical)
    return cells.remove_unused_categories() if is_guarded else cells


def _moment(value: Any, marker: Any, column: Column, container: Container) -> Cells:
    assert column.temporal is not None
    try:
        number = np.nan if value is None else column.temporal.number(value)
    except ValueError as error:
        raise SchemaError(
            f"feature {column.name!r} holds {column.temporal.words}, but the row has {value!r}: {error}"
        ) from None
    return container.write_moments(np.array([number]), column.temporal, column.prototype, marker)


def _is_alike(number: Any, other: Any) -> bool:
    """Whether two equal numbers are told apart in a record: decimals are, by their digits, and booleans."""
    if isinstance(number, (bool, Decimal)) or isinstance(other, (bool, Decimal)):
        return repr(number) == repr(other)
    return True


def _defaults(nice: Any) -> dict[str, Any]:
    """What options are where nothing is said of them, as a record has them."""
    options = signature(type(nice)).parameters.values()
    return to_json(described({one.name: one.default for one in options if one.default is not one.empty}))


def _options_that_differ(
    then: Mapping[str, Any], now: Mapping[str, Any], defaults: Mapping[str, Any]
) -> list[tuple[str, bool]]:
    """What to say of options, and whether it is a difference. A model is known by its fingerprint, not its name."""
    said = []
    for name, value in then.items():
        if name not in now:
            said.append((f"option {name}: {value!r} in the record, but there is no such option now", True))
        elif any(_compared(name, value, now[name])):
            said.append((f"option {name}: {value!r} in the record, {now[name]!r} now", name != "model"))
    for name in (name for name in now if name not in then):
        # An older nicecf did not have it yet: then it is what it is by default, or what it would have been then.
        meant = [values[name] for values in (defaults, _MEANT_BEFORE) if name in values]
        is_default = any(not any(_compared(name, one, now[name])) for one in meant)
        said.append((f"option {name}: not in the record, {now[name]!r} now", not is_default))
    return said


def _fingerprints_that_differ(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Differences, and notes: a model is known by what it says of training rows, so that these must be the same."""
    if then.get("training") != now.get("training"):
        why = "whether the model is the same cannot be told: it is known by what it says of the training data"
        return ["training data: not those that the record was made with, by their fingerprint"], [why]
    if then.get("model") != now.get("model"):
        return ["model: not the one that the record was made with, by its fingerprint"], []
    more = [name for name in then if name not in now]
    return [f"fingerprints: of {listed(more)} in the record, which has none now"] if more else [], []


def _versions_that_differ(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, version in now.items():
        if then.get(name) != version:
            yield f"{name} {then.get(name, 'of an unknown version')} made the record, this is {version}"
    for name in (name for name in then if name not in now):
        yield f"{name} {then[name]} made the record, and is not looked at here"


def _note_of_before(again: Counterfactual) -> str | None:
    """The note of an explanation without what is said of values that training never saw."""
    said = (*again.batch.search[0], *again.batch.notes[0])
    return in_english(one for one in said if one.kind not in ("unseen", "one_hot")) or None


def _seen(record: Mapping[str, Any], part: str) -> Any:
    """A part of a record; probabilities by their classes."""
    value = record[part]
    if part == "probabilities" and all(isinstance(one, dict) and "class" in one for one in value):
        by_class = {str(one["class"]): one for one in value}
        return by_class if len(by_class) == len(value) else value
    return value


def _compared(where: str, then: Any, now: Any, *, is_rounded: bool = False) -> Iterator[str]:
    """Where two values of JSON differ, in words; ``is_rounded``: numbers may differ a little."""
    is_rounded |= where == "probabilities"
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            is_probability = where.startswith("changes, ") and key == "probability"
            yield from _compared(
                f"{where}, {key}",
                then.get(key, _ABSENT),
                now.get(key, _ABSENT),
                is_rounded=is_rounded or is_probability,
            )
    elif isinstance(then, list) and isinstance(now, list):
        if len(then) != len(now):
            yield f"{where}: {len(then)} in the record, {len(now)} now"
        for number, (one, other) in enumerate(zip(then, now, strict=False), start=1):
            yield from _compared(f"{where}, {number}", one, other, is_rounded=is_rounded)
    elif isinstance(then, bool) != isinstance(now, bool) or not _is_equal(then, now, is_rounded):
        yield f"{where}: {_said(then)} in the record, {_said(now)} now"


def _is_equal(then: Any, now: Any, is_rounded: bool) -> bool:
    if is_rounded and isinstance(then, (int, float)) and isinstance(now, (int, float)):
        return abs(then - now) <= _SAME_PROBABILITY * max(1.0, abs(then))  # scores may be large
    return bool(then == now)


def _said(value: Any) -> str:
    if value is None or value is _ABSENT:
        return "none" if value is None else "nothing"
    return "one" if isinstance(value, (dict, list)) else repr(value)


def _points(lines: tuple[str, ...]) -> Iterator[str]:
    return (f"  - {line}" for line in lines)
