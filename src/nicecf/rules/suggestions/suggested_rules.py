"""``suggest_rules``: a training table -> a commented rules file for a person to edit, and the certain rules in it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nicecf.exceptions import ModelError, SchemaError
from nicecf.rules.suggestions.findings import findings
from nicecf.rules.suggestions.label import label_columns
from nicecf.rules.suggestions.suggestion import LISTS, TABLES, Section, Suggestion
from nicecf.rules.suggestions.table_facts import TableFacts
from nicecf.rules.suggestions.toml_writer import to_toml
from nicecf.support.formats import one_line
from nicecf.support.types import Table
from nicecf.tables.requirements import check_order, untrained

if TYPE_CHECKING:
    from nicecf.rules.constraints import Constraints

_MOST_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class SuggestedRules:
    """What :func:`nicecf.suggest_rules` found: ``str()`` is a rules file, with comments, for a person to edit.

    ``suggestions`` are the findings one by one, ``constraints`` the rules of those that are certain. Keep the file with
    ``Path("rules.toml").write_text(str(rules), "utf-8")``, and read it with ``Constraints.from_toml``.
    """

    suggestions: tuple[Suggestion, ...]

    def to_toml(self) -> str:
        """The rules file: an active line for what is certain, a commented one for a guess, and what was seen of each.

        Always valid TOML, whatever the features are called.
        """
        return to_toml(self.suggestions)

    @property
    def constraints(self) -> Constraints:
        """The rules of the active lines of the file; without any rule if nothing is certain."""
        from nicecf.rules.constraints import Constraints

        return Constraints(**tomllib.loads(self.to_toml()))

    def __str__(self) -> str:
        """The rules file."""
        return self.to_toml()

    def __repr__(self) -> str:
        """How much was found of each kind, in a few lines."""
        rules = [one for one in self.suggestions if one.section is not None]
        n_certain = sum(one.is_certain for one in rules)
        lines = [f"SuggestedRules: {n_certain} certain, {_counted(len(rules) - n_certain)}"]
        for section in (*LISTS, *TABLES):
            for is_certain in (True, False):
                line = _line(section, [one for one in rules if (one.section, one.is_certain) == (section, is_certain)])
                lines += [line] if line else []
        lines += [f"  note        {one_line(one.seen)}" for one in self.suggestions if one.kind == "label"]
        return "\n".join([*lines, "print() shows the rules file, .constraints are the certain rules."])


def suggest_rules(X: Table, y: Any = None, model: Any = None, *, categorical_features: Any = "auto") -> SuggestedRules:
    """Rules that a training table suggests, before they are missed: a commented file that a person edits.

    It looks for one-hot groups, columns that determine each other, columns that are computed from others (also sums,
    shares, times between dates, and parts of a date), relations that hold in every row, identifiers and free text,
    names that are commonly protected, steps, names of what only grows, and levels of text with an order. Each line says
    what was seen. What could be otherwise is a guess, and commented out.

    Parameters
    ----------
    X
        The training table, as ``fit`` takes it: the features, without the label.
    y
        The labels of its rows, if at hand. They only serve to find the label among the features: a column that goes
        one to one with them is named at the top of the file. No rule follows from labels.
    model
        The model that will be explained, if at hand. It is not asked for predictions. If it says which features it
        was trained on (``feature_names_in_``, as scikit-learn's do), ``X`` must have exactly these columns: rules for
        others would be refused later.
    categorical_features
        As for :class:`nicecf.NICE`: which columns are categories.

    Raises
    ------
    SchemaError
        For a table that ``fit`` would not take, labels for another number of rows, or columns that are not the model's.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": ["f", "m"] * 30, "age": [*range(20, 50)] * 2, "amount": range(0, 3000, 50)})
    >>> rules = suggest_rules(X)
    >>> rules
    SuggestedRules: 3 certain, 1 guess
      protected   certain: sex, age
      increasing  guess: age
      step        certain: amount
    print() shows the rules file, .constraints are the certain rules.
    >>> rules.constraints
    Constraints(step={'amount': 50}, protected=['sex', 'age'])
    """
    facts = TableFacts.of(X, categorical_features)
    if model is not None and hasattr(X, "columns"):
        _check_columns([one.name for one in facts.columns], model)
    check_order(y, X)
    leaked = [] if y is None else label_columns(facts, y)
    return SuggestedRules((*leaked, *findings(facts)))


def _check_columns(names: list[Any], model: Any) -> None:
    """SchemaError unless the columns are those that the model was trained on, if it says so; their order is free."""
    try:
        trained = getattr(model, "feature_names_in_", None)
    except Exception as error:
        raise ModelError(
            f"the model raised {type(error).__name__} when asked for its feature_names_in_: {error}"
        ) from error
    if trained is None:
        return
    known = list(trained)
    missing, extra = [one for one in known if one not in names], [one for one in names if one not in known]
    if missing:
        raise SchemaError(f"{untrained('X', missing, extra)}. Pass the table that it was trained on.")
    if extra:
        raise SchemaError(f"{untrained('X', missing, extra)}. Leave it out: a rule for it could not be used.")


def _line(section: Section, found: list[Suggestion]) -> str:
    if not found:
        return ""
    names = [_name(one) for one in found]
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    kind = "certain" if found[0].is_certain else "guess" if len(found) == 1 else "guesses"
    return f"  {section:<10}  {kind}: {', '.join(names[:_MOST_SHOWN])}{more}"


def _name(one: Suggestion) -> str:
    """What a suggestion is about; of many features, the first few."""
    if one.section in ("groups", "relations"):
        joined = " + " if one.section == "groups" else " <= "
        more = f"{joined}{len(one.features) - 3} more" if len(one.features) > 3 else ""
        return one_line(joined.join(map(str, one.features[:3])) + more)
    features = one.features if one.section in ("immutable", "protected") else one.features[:1]
    return one_line(", ".join(map(str, features)))


def _counted(n_guesses: int) -> str:
    return f"{n_guesses} guess" if n_guesses == 1 else f"{n_guesses} guesses"
