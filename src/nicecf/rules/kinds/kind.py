"""What a kind of rule has to say: how it is read and merged, what it means for rows, its words, how it is relaxed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from nicecf.exceptions import OptionError, listed
from nicecf.rules.columns import RuledRows
from nicecf.rules.parameters import Feature, Line, by_feature, features, is_true
from nicecf.rules.row_rules import Condition, Meaning
from nicecf.support.phrases import Features, Statement, Value, in_english
from nicecf.support.types import Ints

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

Rule = TypeVar("Rule")
One = TypeVar("One")
# What to allow instead of a rule, and the parameters of Constraints that must change for it; None if none does.
Relaxed: TypeAlias = tuple[Statement, dict[str, Any] | None]


@dataclass(frozen=True, eq=False)
class Candidate:
    """What a row would get without some rule.

    ``change`` gives the values of row and donor for a feature, None if missing, and whether it is numeric.
    ``is_change`` tells whether these are what a pair (before, after) of a rule means. ``probability`` is what the
    least convinced model gives the class.
    """

    change: Callable[[Feature], tuple[Any, Any, bool]]
    is_change: Callable[[Feature, tuple[Any, Any]], bool]
    probability: float
    n_changes: int
    distance: float

    @property
    def margin(self) -> float:
        """The highest margin within which the candidate lies, in thousandths: rounded down, what is offered must do."""
        return floor(1000 * self.probability) / 1000

    def direction(self, feature: Feature) -> str | None:
        """``increasing`` or ``decreasing``; None for a category, and from or to a missing value."""
        before, after, is_numeric = self.change(feature)
        if not is_numeric or before is None or after is None:
            return None
        return "increasing" if after > before else "decreasing"

    def allowed(self, feature: Feature) -> Statement:
        """In words, to allow exactly this change of a feature."""
        before, after, _ = self.change(feature)
        return Statement(
            "relaxation.change", {"feature": Features((feature,)), "before": Value(before), "after": Value(after)}
        )


@dataclass(frozen=True)
class Contradiction:
    """Two rules of one feature that together leave it no value to change to."""

    feature: Feature
    rules: tuple[Statement, Statement]

    @property
    def message(self) -> str:
        """What is wrong, and what to do."""
        return (
            f"two rules of {self.feature!r} contradict each other: {in_english(self.rules)}. Take one of them back; a "
            "feature that may not change at all is immutable."
        )


class Kind(ABC, Generic[Rule]):
    """One kind of rule: all there is to know of it.

    ``name`` is its parameter of Constraints, and that of its phrase in every language, ``rule.<name>``. ``columns`` are
    those that it reads of a sheet. A ``rule`` is what the parameter holds once it is read. ``about`` is what a part of
    it is about that can be left out by itself: a feature, or a group of them.
    """

    name: str
    columns: tuple[str, ...] = ()

    @abstractmethod
    def read(self, given: Any) -> Rule:
        """What was given, checked and in one form, as a copy; OptionError if it makes no sense.

        What was read can be read again, and so can what ``to_plain`` and ``from_sheet`` return.
        """

    @abstractmethod
    def to_plain(self, rule: Rule) -> Any:
        """The rule as lists, dicts, strings and numbers; empty or None where nothing is ruled."""

    @abstractmethod
    def from_sheet(self, lines: Sequence[Line]) -> Any:
        """What the lines of a sheet, one for each feature, give as the parameter."""

    @abstractmethod
    def merge(self, mine: Rule, theirs: Rule, fixed: Sequence[Feature]) -> Rule:
        """Merge two rules into one that keeps both. ``fixed``: features that can no longer change at all."""

    @abstractmethod
    def abouts(self, rule: Rule) -> Iterable[Any]:
        """What each part of the rule is about that can be left out by itself."""

    def features_of(self, about: Any) -> Iterable[Feature]:
        """Return the features that one part of the rule names."""
        return (about,)

    @abstractmethod
    def without(self, rule: Rule, about: Any) -> Rule:
        """The rule with one part left out."""

    @abstractmethod
    def meaning(self, rule: Rule, rows: RuledRows) -> Meaning:
        """What the rule means for rows; OptionError if it does not fit their table."""

    @abstractmethod
    def words(self, rules: Constraints, about: Any) -> Statement:
        """One part of this kind of rule, among all rules of a row."""

    @abstractmethod
    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        """The least that must be relaxed of one part of all rules of a row for it to get the candidate."""

    def less(self, rules: Constraints, about: Any, found: Candidate) -> dict[str, Any] | None:
        """Return parameters that allow a little less than the candidate needs of one part; None if nothing is less."""
        return None

    def check(self, rules: Constraints) -> None:
        """OptionError where a rule contradicts those of other kinds."""

    def contradictions(self, mine: Constraints, theirs: Constraints) -> Iterable[Contradiction]:
        """Return the features that two sets of rules leave no value to change to, by this kind of rule."""
        return ()

    def is_per_row(self, rule: Rule) -> bool:
        """Whether the rule differs from row to row."""
        return False

    def for_row(self, rule: Rule, row: int) -> Rule:
        """The rule of one row."""
        return rule

    def take(self, rule: Rule, rows: Ints) -> Rule:
        """Return the rule of some of the rows."""
        return rule


def check_may_change(rules: Constraints, name: str) -> None:
    """Raise OptionError if the rule ``name`` says how a feature may change that may not change at all."""
    for fixed in ("immutable", "protected"):
        twice = [one for one in getattr(rules, fixed) if one in getattr(rules, name)]
        if twice:
            raise OptionError(
                f"{listed(twice)} is {fixed}, so it cannot be in {name} as well. Take it out of one of them."
            )


class FeatureList(Kind[tuple[Feature, ...]]):
    """A kind of rule that is a list of features; in a sheet, a column of yes and no."""

    def read(self, given: Any) -> tuple[Feature, ...]:
        return features(self.name, given)

    def to_plain(self, rule: tuple[Feature, ...]) -> list[Feature]:
        return list(rule)

    def from_sheet(self, lines: Sequence[Line]) -> list[Feature]:
        return [line["feature"] for line in lines if is_true(line, self.name)]


class PerFeature(Kind[dict[Feature, One]]):
    """A kind of rule that says of single features how they may change: a dict by feature."""

    @abstractmethod
    def read_one(self, feature: Feature, given: Any) -> One:
        """What is said of a feature, checked and in one form; OptionError if it makes no sense."""

    def plain_one(self, one: One) -> Any:
        """What is said of a feature, as lists, dicts, strings and numbers."""
        return one

    @abstractmethod
    def from_line(self, line: Line) -> Any:
        """What the line of a feature in a sheet says; None if nothing."""

    @abstractmethod
    def merge_one(self, feature: Feature, mine: One, theirs: One) -> One:
        """Merge what is said of a feature into what keeps both."""

    def conflict(self, feature: Feature, mine: One, theirs: One) -> int | None:
        """Return the first row for which both leave no value to change to; None if there is none."""
        return None

    @abstractmethod
    def condition(self, feature: Feature, one: One, rows: RuledRows) -> Condition:
        """When rows may take a new value; OptionError if the rule does not fit their table."""

    @abstractmethod
    def words_of(self, feature: Feature, one: One) -> Statement:
        """The rule of a feature."""

    def relax(self, rules: Constraints, about: Any, found: Candidate) -> Relaxed:
        return found.allowed(about), {self.name: self.without(getattr(rules, self.name), about)}

    def read(self, given: Any) -> dict[Feature, One]:
        return {feature: self.read_one(feature, one) for feature, one in by_feature(self.name, given).items()}

    def to_plain(self, rule: dict[Feature, One]) -> Any:
        return {feature: self.plain_one(one) for feature, one in rule.items()}

    def from_sheet(self, lines: Sequence[Line]) -> dict[Feature, Any]:
        said = {line["feature"]: self.from_line(line) for line in lines}
        return {feature: one for feature, one in said.items() if one is not None}

    def merge(
        self, mine: dict[Feature, One], theirs: dict[Feature, One], fixed: Sequence[Feature]
    ) -> dict[Feature, One]:
        mine, theirs = (
            {feature: one for feature, one in rule.items() if feature not in fixed} for rule in (mine, theirs)
        )
        both = {
            feature: self.merge_one(feature, one, theirs[feature]) for feature, one in mine.items() if feature in theirs
        }
        return {**mine, **theirs, **both}

    def contradictions(self, mine: Constraints, theirs: Constraints) -> Iterable[Contradiction]:
        for feature, one in getattr(mine, self.name).items():
            other = getattr(theirs, self.name).get(feature)
            row = None if other is None else self.conflict(feature, one, other)
            if row is not None:
                first, last = (
                    self.words_of(feature, self.for_row({feature: rule}, row)[feature]) for rule in (one, other)
                )
                yield Contradiction(feature, (first, last))

    def check(self, rules: Constraints) -> None:
        check_may_change(rules, self.name)

    def abouts(self, rule: dict[Feature, One]) -> Iterable[Feature]:
        return rule

    def without(self, rule: dict[Feature, One], about: Any) -> dict[Feature, One]:
        return {feature: one for feature, one in rule.items() if feature != about}

    def meaning(self, rule: dict[Feature, One], rows: RuledRows) -> Meaning:
        return Meaning(
            conditions=tuple(
                (rows.position(feature, self.name), self.condition(feature, one, rows)) for feature, one in rule.items()
            )
        )

    def words(self, rules: Constraints, about: Any) -> Statement:
        return self.words_of(about, getattr(rules, self.name)[about])
