"""What proofs are made of: the models of a panel as formulas; OptionError for those that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.models.decision import Panel
from nicecf.models.linear_sums import READABLE as LINEAR
from nicecf.models.readable import Formula
from nicecf.models.trees import READABLE as TREES
from nicecf.models.trees.ensemble import NotSupported
from nicecf.models.twin import TreeTwin, Twin
from nicecf.rules.computed import ByFunction
from nicecf.search.donors import DonorSearch
from nicecf.search.leaf_bounds import LeafBounds
from nicecf.tables.reduced import ReducedSchema
from nicecf.tables.schema import Schema

# Donors on which what was read of a model is compared with the model.
_MOST_COMPARED = 200


@dataclass(frozen=True, eq=False)
class ProofBasis:
    """``formulas``: of all models, for the exact search; ``bounds``: by the leaves of trees, for the thorough one.

    ``read``: how the exact search would read the models, if it could take the place of the search that was chosen.
    """

    formulas: tuple[Formula, ...] = ()
    bounds: LeafBounds | None = None
    read: Callable[[], tuple[Formula, ...]] | None = None

    @cached_property
    def is_readable(self) -> bool:
        """Whether the exact search could read the models; found out once, when first needed."""
        try:
            return self.read is not None and bool(self.read())
        except OptionError:
            return False


NOTHING_READ = ProofBasis()


def bounds_of(twin: Twin | None, schema: Schema, donors: DonorSearch) -> LeafBounds | None:
    """What the leaves of trees that were read prove, if there are few enough of them; None for other models."""
    if not isinstance(twin, TreeTwin) or not len(donors.index.values):
        return None
    return LeafBounds.of(Formula.of_twin(twin), schema, donors.values, donors.index.values[0])


def formulas_of(models: Sequence[Any], panel: Panel, schema: Schema, donors: DonorSearch) -> tuple[Formula, ...]:
    """Read all models of a panel, in its order."""
    _check_computed(schema)
    values = donors.index.values
    some = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_COMPARED)).astype(np.intp))
    formulas = []
    for model, (member, block) in zip(models, panel.blocks(donors.outputs[some]), strict=True):
        rule, why = member.rule, None
        probabilities = np.empty((len(some), len(panel.classes)))
        probabilities[:, member.columns] = block[:, : len(panel.classes)]
        try:
            if panel.is_regressor:
                raise NotSupported("it returns scores, not classes")
            if rule.function is not None or rule.by_predict:
                raise NotSupported("its decision is not made by cut-offs: pass decision=None or a number")
            formulas.append(Formula.of(model, schema, values[some], probabilities))
        except NotSupported as error:
            why = error
        if why is not None:
            raise OptionError(
                f"search='exact' cannot read this {type(model).__name__}: {why}. It reads {TREES}; and {LINEAR}; alone "
                "or behind one preprocessing step that acts column by column. Use search='thorough', which asks any "
                "model."
            ) from why
    return tuple(formulas)


def _check_computed(schema: Schema) -> None:
    """OptionError for columns that are computed by a function of the user: nothing is known of it."""
    computed = schema.computed if isinstance(schema, ReducedSchema) else ()
    for one in computed:
        if isinstance(one, ByFunction):
            raise OptionError(
                f"search='exact' needs to know how {schema.full.names[one.position]!r} is computed, but "
                "Constraints(derived=...) has a function for it. Write it as an expression, such as "
                "'monthly_debt * 12 / income', or use search='thorough'."
            )
