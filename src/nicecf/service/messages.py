"""The message of a request, read strictly: whatever is wrong is said with the field that it is in."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from nicecf.service.refusals import Refused, wrong

Cell: TypeAlias = str | int | float | bool | None
Label: TypeAlias = str | int | float | bool
# Larger whole numbers than those of 64 bits have no float.
Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Number: TypeAlias = Whole | float

_WHERE = re.compile(r"^(.*) - at `\$\.?(.*)`$", re.DOTALL)


class Range(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """Where a changed value must lie, both bounds included; a bound of a date is text."""

    low: str | int | float | None = None
    high: str | int | float | None = None


# Names of features, values of one feature, and pairs or groups: what one request can ask to be checked is bounded.
Names: TypeAlias = Annotated[list[str], Meta(max_length=10_000)]
Values: TypeAlias = Annotated[list[Cell], Meta(max_length=10_000)]
Order: TypeAlias = Annotated[list[Label], Meta(max_length=1_000)]
Pair: TypeAlias = Annotated[list[Cell], Meta(min_length=2, max_length=2)]
Ends: TypeAlias = Annotated[list[str | int | float], Meta(min_length=2, max_length=2)]


class Rules(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """Rules that every counterfactual keeps, on top of those of the explainer: see nicecf.Constraints."""

    immutable: Names = []
    increasing: Names | dict[str, Order] = []
    decreasing: Names | dict[str, Order] = []
    ranges: dict[str, Range] = {}
    allowed: dict[str, Values] = {}
    max_changes: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    forbid: dict[str, Annotated[list[Pair], Meta(max_length=1_000)]] = {}
    step: dict[str, str | Whole | float] = {}
    within: dict[str, str | int | float | Ends] = {}
    groups: Annotated[list[Names], Meta(max_length=1_000)] = []
    relations: Annotated[list[Annotated[str, Meta(max_length=1_000)]], Meta(max_length=100)] = []
    may_change: Names = []
    may_become_missing: bool = True
    protected: Names = []


class Parameters(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """What is asked about the rows; whatever is left out is as the explainer was fitted.

    ``target``: a class, or several; any other class without it. ``target_score``: the scores wanted, low and high, null
    for an open end. ``n``: at most so many counterfactuals per row. ``budget``: seconds until the best valid answer so
    far is returned. ``feature_weights``: what it costs to change a feature, 1 by default. ``plans``: a menu for each
    row, with the best by each measure before the ``n`` that change different features. ``min_probability``: the least
    probability of a counterfactual's class. ``include``: what else is added; ``"regions"``: the values with which each
    counterfactual still holds. ``language``: that of all texts. ``display``: add what a page shows: names, values and
    the line as people read them. ``letter``: add the letter about each counterfactual. ``record``: add the audit record
    of each, for nicecf replay.
    """

    target: Label | list[Label] | None = None
    target_score: Annotated[list[Number | None], Meta(min_length=2, max_length=2)] | None = None
    optimize: Literal["none", "sparsity", "proximity", "plausibility", "balanced"] | None = None
    search: Literal["greedy", "thorough", "exact"] | None = None
    rules: Rules | None = None
    n: Annotated[int, Meta(ge=1)] = 1
    budget: Annotated[float, Meta(gt=0)] | None = None
    feature_weights: dict[str, Annotated[float, Meta(gt=0)]] | None = None
    plans: bool = False
    min_probability: Annotated[float, Meta(gt=0, le=1)] | None = None
    include: Annotated[list[Literal["regions"]], Meta(max_length=1)] = []
    language: Literal["en", "de"] = "en"
    display: bool = False
    letter: bool = False
    record: bool = False


class Request(Struct, forbid_unknown_fields=True, frozen=True):
    """A request of KServe's V1 protocol, with parameters. The rows are checked by the columns of the explainer.

    ``changes``: for ``:what-if``, what each row is to become instead. ``labels``: for ``:report``, what each row is
    called.
    """

    instances: list[Any]
    parameters: Parameters = Parameters()
    changes: list[dict[str, Cell]] | None = None
    labels: list[Annotated[str, Meta(max_length=1_000)]] | None = None


_DECODER = msgspec.json.Decoder(Request)


def read(body: bytes) -> Request:
    """The message in a body; Refused if it is no such message."""
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise _told(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(400, f'the body is not JSON ({said}). Send {{"instances": [...]}}.') from None


def _told(error: msgspec.ValidationError) -> Refused:
    """What msgspec says, the field first."""
    found = _WHERE.match(str(error))
    said, field = (found[1], found[2]) if found else (str(error), "")
    said = said.replace("`", "'")
    return wrong(field or "the body", said[:1].lower() + said[1:])
