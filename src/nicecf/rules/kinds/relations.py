"""``relations=["months_since_late <= months_as_customer"]``: what must hold between columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.rules.columns import RuledRows, labels_of, missing
from nicecf.rules.expressions import Relation, check_columns
from nicecf.rules.expressions.dates import relation_of
from nicecf.rules.kinds.kind import Candidate, Kind, Relaxed
from nicecf.rules.parameters import Feature, Line, in_cell, is_list
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Statement
from nicecf.tables.schema import Schema
from nicecf.tables.temporal import Temporal

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

Written: TypeAlias = tuple[Relation, ...]


class Relations(Kind[Written]):
    """Comparisons of columns, and implications, that every counterfactual keeps."""

    name = "relations"
    columns = ("relations",)

    def read(self, given: Any) -> Written:
        if not is_list(given):
            raise OptionError(f"relations={given!r} is not a list of relations; pass [{given!r}].")
        return tuple(dict.fromkeys(_read_one(one) for one in given))

    def to_plain(self, rule: Written) -> list[str]:
        return [str(one) for one in rule]

    def from_sheet(self, lines: Sequence[Line]) -> list[Any]:
        return [one for line in lines if "relations" in line for one in in_cell(line["relations"])]

    def merge(self, mine: Written, theirs: Written, fixed: Sequence[Feature]) -> Written:
        return tuple(dict.fromkeys([*mine, *theirs]))

    def abouts(self, rule: Written) -> Iterable[Relation]:
        return rule

    def features_of(self, about: Any) -> Iterable[Feature]:
        return tuple(about.columns)

    def without(self, rule: Written, about: Any) -> Written:
        return tuple(one for one in rule if one != about)

    def meaning(self, rule: Written, rows: RuledRows) -> Meaning:
        for one in rule:
            check_columns(one.columns, rows.schema.names, option=f"the relation '{one}'")
            _check_kinds(one, rows)
        return Meaning(relations=rule)

    def words(self, rules: Constraints, about: Any) -> Statement:
        return Statement("rule.relations", {"relation": str(about)})

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return Statement("relaxation.relations", {"relation": str(about)}), {
            self.name: self.without(self.read(rules.relations), about)
        }


def _check_kinds(relation: Relation, rows: RuledRows) -> None:
    """OptionError where a relation computes with text, or compares a number with one: each level is tried."""
    schema = rows.trained
    try:
        relation = relation_of(relation, _temporals(relation, schema))
    except OptionError as error:
        raise OptionError(f"the relation '{relation}' does not fit its columns: {error}") from error
    at = {name: schema.position(name, "relations") for name in relation.columns}
    for name, j in at.items():
        n_levels = max(1, len(schema.columns[j].levels))
        trial = {other: labels_of(schema, k, np.full(n_levels, missing(schema, k))) for other, k in at.items()}
        if schema.columns[j].is_categorical:
            trial[name] = labels_of(schema, j, np.arange(len(schema.columns[j].levels), dtype=np.float64))
        try:
            relation.holds(trial)
        except OptionError as error:
            raise OptionError(f"the relation '{relation}' does not fit its columns: {error}") from error


def _temporals(relation: Relation, schema: Schema) -> tuple[tuple[str, Temporal], ...]:
    columns = ((name, schema.columns[schema.position(name, "relations")]) for name in relation.columns)
    return tuple((name, column.temporal) for name, column in columns if column.temporal is not None)


def _read_one(given: Any) -> Relation:
    if isinstance(given, Relation):
        return given
    if not isinstance(given, str):
        raise OptionError(f"relations has {given!r}; a relation is a text, such as 'a + b <= c'.")
    try:
        return Relation.parse(given)
    except OptionError as error:
        raise OptionError(f"relations has {given!r}: {error}") from error
