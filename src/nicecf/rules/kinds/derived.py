"""``derived={"debt_to_income": "round(debt * 12 / income, 2)"}``: columns that follow from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from nicecf.exceptions import OptionError, listed
from nicecf.rules.columns import RuledRows
from nicecf.rules.expressions import Expression
from nicecf.rules.kinds.kind import Candidate, Kind, Relaxed
from nicecf.rules.parameters import Feature, Line, by_feature
from nicecf.rules.row_rules import Meaning
from nicecf.support.phrases import Features, Statement

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints


@dataclass(frozen=True)
class FunctionName:
    """A function that is not there: files and records only know what it was called."""

    name: str


Derivation: TypeAlias = Expression | FunctionName | Callable[[Any], Any]


class Derived(Kind[dict[Feature, Derivation]]):
    """How columns follow from others: an expression, or a function of the table."""

    name = "derived"
    columns = ("derived",)

    def read(self, given: Any) -> dict[Feature, Derivation]:
        return {feature: _read_one(feature, one) for feature, one in by_feature(self.name, given).items()}

    def to_plain(self, rule: dict[Feature, Derivation]) -> dict[Feature, Any]:
        return {
            feature: str(one) if isinstance(one, Expression) else {"function": function_name(one)}
            for feature, one in rule.items()
        }

    def from_sheet(self, lines: Sequence[Line]) -> dict[Feature, Any]:
        return {line["feature"]: line["derived"] for line in lines if "derived" in line}

    def merge(
        self, mine: dict[Feature, Derivation], theirs: dict[Feature, Derivation], fixed: Sequence[Feature]
    ) -> dict[Feature, Derivation]:
        for feature in mine:
            ways = [self.to_plain({feature: one[feature]})[feature] for one in (mine, theirs) if feature in one]
            if len(ways) > 1 and ways[0] != ways[1]:
                one, other = (way if isinstance(way, str) else f"the function {way['function']!r}" for way in ways)
                raise OptionError(f"{feature!r} is derived in two ways, by {one} and by {other}. Give one.")
        return {**theirs, **mine}

    def abouts(self, rule: dict[Feature, Derivation]) -> Iterable[Feature]:
        return ()  # it is how the table is made, not a rule that could be relaxed

    def without(self, rule: dict[Feature, Derivation], about: Any) -> dict[Feature, Derivation]:
        return rule

    def meaning(self, rule: dict[Feature, Derivation], rows: RuledRows) -> Meaning:
        return Meaning()  # the columns are left out of the rows that a search gets: see `rules.moving`

    def words(self, rules: Constraints, about: Any) -> Statement:
        how, feature = rules.derived[about], Features((about,))
        if isinstance(how, Expression):
            return Statement("rule.derived", {"feature": feature, "how": str(how)})
        return Statement("rule.computed", {"feature": feature})  # the name of a function says nothing to people

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return self.words(rules, about), None

    def check(self, rules: Constraints) -> None:
        own = {one for group in rules.groups if group != "auto" for one in group}
        grouped = [feature for feature in rules.derived if feature in own]
        if grouped:
            raise OptionError(
                f"{listed(grouped)} is derived, so it cannot be in a group as well: it follows from other columns, "
                "not from a training row. Take it out of one of them."
            )


def function_name(one: Any) -> str:
    """What a function is called."""
    return one.name if isinstance(one, FunctionName) else str(getattr(one, "__name__", type(one).__name__))


def _read_one(feature: Feature, given: Any) -> Derivation:
    if isinstance(given, (Expression, FunctionName)):
        return given
    if isinstance(given, str):
        try:
            return Expression.parse(given)
        except OptionError as error:
            raise OptionError(f"derived has {given!r} for {feature!r}: {error}") from error
    if isinstance(given, Mapping) and set(given) == {"function"} and isinstance(given["function"], str):
        return FunctionName(given["function"])
    if callable(given):
        return given
    raise OptionError(
        f"derived has {given!r} for {feature!r}; pass an expression, such as 'round(debt * 12 / income, 2)', or a "
        "function of the table that returns the column."
    )
