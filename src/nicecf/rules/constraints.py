"""What may change: rules as people write them, by the names of features. What they mean: `kinds`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from nicecf.exceptions import OptionError, listed
from nicecf.rules import sheets
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.derived import Derived
from nicecf.rules.kinds.kind import Contradiction
from nicecf.rules.parameters import Feature, check_known
from nicecf.support import toml_files as tomlfiles
from nicecf.support.types import Ints


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Constraints:
    """Rules that every counterfactual keeps. They speak of changes: what a row has may always stay as it is.

    Parameters
    ----------
    immutable
        Features that never change.
    increasing, decreasing
        Features that change in one direction only; of dates, later or earlier. Of a categorical feature, a dict names
        the order: ``{"education": ["school", "college", "university"]}``; a level without an order never changes.
    ranges
        ``{feature: (low, high)}``: where a changed value must lie, both bounds included; None for no bound. A bound
        may be a number for all rows, or an array or Series with one for each row (NaN: none); of a date, a date or
        ISO text (``"2024-03-01"``), of a duration a timedelta or text (``"30 days"``).
    allowed
        ``{feature: [values]}``: what a feature may change to. None among them allows it to become missing.
    max_changes
        How many features may change at most.
    forbid
        ``{feature: [(before, after), ...]}``: changes that are not possible.
    step
        ``{feature: step}``: a feature changes by whole steps only; of a date, a duration such as ``"30 days"``.
    within
        ``{feature: limit}``: a feature changes by at most so much, up or down: a number, a percentage of the row's own
        value (``"10%"``), or, of a date, a duration.
    groups
        Lists of features whose values belong together: a counterfactual has all of them from the row, or all from the
        same training row. ``"auto"``, alone or in the list, finds columns in the training table that can only change
        together: one-hot groups, and twins that determine each other. They count as one change.
    relations
        What must hold between columns: ``"months_since_late <= months_as_customer"``, ``"a + b <= c"``, or an
        implication, ``"has_guarantor implies guarantors >= 1"``. A name that is no identifier is in backquotes.
    derived
        ``{feature: expression}``: columns that follow from others, such as ``"round(monthly_debt * 12 / income, 2)"``
        (+ - * /, brackets, round, min, max), or a function of the table that returns the column. They are computed
        anew for every counterfactual, and count neither as a change nor in the distance. For an explainer only. A
        function may use what was computed before it: by expressions, and by functions that are named before it.
    may_change
        Text columns in which most values are unlike look like free text, and never change unless they are named here.
    may_become_missing
        False: no feature changes to a missing value.
    protected
        Features that never change and are not named in what is addressed to a person: texts, letters, reasons,
        relaxations and notes. Records and rules hold them, and ``summary(by=...)`` may group by them. A feature that
        is ``immutable`` as well is protected.

    Examples
    --------
    >>> rules = Constraints(immutable=["sex"], increasing=["age"], ranges={"hours": (None, 60)}, max_changes=3)
    >>> rules
    Constraints(immutable=['sex'], increasing=['age'], ranges={'hours': {'high': 60}}, max_changes=3)
    >>> (rules & Constraints(immutable=["age"], max_changes=2)).to_dict()
    {'immutable': ['sex', 'age'], 'ranges': {'hours': {'high': 60}}, 'max_changes': 2}
    """

    immutable: Sequence[Feature] = ()
    increasing: Sequence[Feature] | Mapping[Feature, Any] = ()
    decreasing: Sequence[Feature] | Mapping[Feature, Any] = ()
    ranges: Mapping[Feature, Any] = field(default_factory=dict)
    allowed: Mapping[Feature, Iterable[Any]] = field(default_factory=dict)
    max_changes: int | None = None
    forbid: Mapping[Feature, Iterable[Any]] = field(default_factory=dict)
    step: Mapping[Feature, Any] = field(default_factory=dict)
    within: Mapping[Feature, Any] = field(default_factory=dict)
    groups: str | Sequence[str | Sequence[Feature]] = ()
    relations: Sequence[str] = ()
    derived: Mapping[Feature, Any] = field(default_factory=dict)
    may_change: Sequence[Feature] = ()
    may_become_missing: bool = True
    protected: Sequence[Feature] = ()

    def __post_init__(self) -> None:
        """Check all that can be checked without a table, and keep what was given in one form, as copies."""
        for kind in KINDS:
            object.__setattr__(self, kind.name, kind.read(getattr(self, kind.name)))
        # A reason would name what is immutable.
        object.__setattr__(self, "immutable", tuple(one for one in self.immutable if one not in self.protected))
        for kind in KINDS:
            kind.check(self)

    @property
    def is_per_row(self) -> bool:
        """Whether some bound differs from row to row."""
        return any(kind.is_per_row(getattr(self, kind.name)) for kind in KINDS)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.to_dict())

    def __and__(self, other: Constraints) -> Constraints:
        """Rules that keep both: the stricter one wherever they meet. OptionError where they contradict each other."""
        if not isinstance(other, Constraints):
            return NotImplemented
        found = contradictions(self, other)
        if found:
            raise OptionError(found[0].message)
        return merged(self, other)

    def for_row(self, row: int) -> Constraints:
        """The rules of one row, with its own bounds."""
        if not self.is_per_row:
            return self
        return replace(self, **{kind.name: kind.for_row(getattr(self, kind.name), row) for kind in KINDS})

    def take(self, rows: Ints) -> Constraints:
        """Return the rules of some of the rows, with their bounds."""
        return replace(self, **{kind.name: kind.take(getattr(self, kind.name), rows) for kind in KINDS})

    def without_functions(self) -> Constraints:
        """The same rules, in which functions are only named: what can be stored without anybody's code."""
        return replace(self, derived=Derived().to_plain(dict(self.derived))) if self.derived else self

    def to_dict(self) -> dict[str, Any]:
        """The rules that are set, as lists, dicts, strings and numbers: ``Constraints(**rules.to_dict())``."""
        kind_of = {kind.name: kind for kind in KINDS}
        plain_forms = {one.name: kind_of[one.name].to_plain(getattr(self, one.name)) for one in fields(self)}
        return {name: value for name, value in plain_forms.items() if value not in ({}, [], None)}

    @classmethod
    def from_toml(cls, path: str | Path) -> Constraints:
        """Read rules from a TOML file, whose keys are the parameters of this class.

        Such as::

            immutable = ["sex"]
            increasing = ["age"]
            max_changes = 3
            groups = [["education", "education-num"]]

            [ranges]
            hours-per-week = {low = 20, high = 60}

            [forbid]
            education = [["Masters", "Bachelors"]]

        Raises FileError if the file cannot be read, OptionError if it contains no rules, or wrong ones.
        """
        read = tomlfiles.read(path)
        known = [one.name for one in fields(cls)]
        check_known(f"{path} has the key", read, known)
        if not read:
            raise OptionError(f"{path} contains no rules; its keys may be {listed(known, limit=20)}.")
        try:
            return cls(**read)
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from error

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, max_changes: int | None = None) -> Constraints:
        """Read rules from a table with one line for each feature, such as a sheet; empty cells mean no rule.

        Its columns: ``feature``, and any of ``immutable`` and ``protected`` (true), ``direction`` (increasing or
        decreasing; of dates, later or earlier), ``order`` (of the values of a categorical feature that has a
        direction), ``low``, ``high``, ``allowed``, ``forbid`` (before > after), ``step``, ``within``, ``group``
        (features with the same word belong together), ``derived`` (an expression), ``relations`` and ``may_change``
        (true). Several values in a cell are separated by ``|``, or are a list.

        >>> sheet = pd.DataFrame({"feature": ["sex", "age"], "immutable": ["yes", ""], "direction": ["", "increasing"]})
        >>> Constraints.from_frame(sheet)
        Constraints(immutable=['sex'], increasing=['age'])
        """
        rules = cls(**{**sheets.parameters(frame), "max_changes": max_changes})
        if not rules:
            raise OptionError("the frame contains no rules; at least one feature must have one.")
        return rules

    def __repr__(self) -> str:
        """What would make it again."""
        return f"Constraints({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def contradictions(mine: Constraints, theirs: Constraints) -> list[Contradiction]:
    """Return the features that two sets of rules leave no value to change to, but for those that one of them fixes."""
    fixed = _fixed(mine, theirs)
    return [one for kind in KINDS for one in kind.contradictions(mine, theirs) if one.feature not in fixed]


def merged(mine: Constraints, theirs: Constraints, contradicted: Iterable[Feature] = ()) -> Constraints:
    """Merge two sets of rules into one that keeps both. Features whose rules contradict each other do not change."""
    fixed = list(dict.fromkeys([*_fixed(mine, theirs), *contradicted]))
    return Constraints(
        **{kind.name: kind.merge(getattr(mine, kind.name), getattr(theirs, kind.name), fixed) for kind in KINDS}
    )


def _fixed(mine: Constraints, theirs: Constraints) -> list[Feature]:
    return [feature for rules in (mine, theirs) for feature in (*rules.immutable, *rules.protected)]
