"""Which row, and which of its features, a model refuses: it raises for a whole call, and often names neither.

Calls about parts of the rows tell which row it was. Calls about that row with values of an accepted row tell which
feature. There are about as many calls as the numbers of rows and features have binary digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nicecf.exceptions import ModelError, plain
from nicecf.models.decision import Panel
from nicecf.rules.columns import cell_of
from nicecf.support.types import Floats
from nicecf.tables.schema import Schema, differs


def located(error: ModelError, panel: Panel, schema: Schema, rows: Floats, known: Floats, first: int = 0) -> ModelError:
    """Return an error that names the row and the feature that a model refuses, or the same if it refuses no one row.

    ``rows``: what it was asked about, with all columns of the table; ``first``: the position of the first of them.
    ``known``: rows that it may accept, of which one has to be accepted to find the feature.
    """
    if error.__cause__ is None or not len(rows):  # the model did not raise, or a server did not answer
        return error
    model = _Model(panel, schema)
    accepted = next((row for row in known if model.accepts(row[None])), None)
    if accepted is None:
        return error
    row = model.first_refused(rows)
    if model.accepts(rows[[row]]) or not differs(rows[row], accepted).any():  # it depends on the call, or on chance
        return error
    feature = model.refused_feature(rows[row], accepted)
    cell = cell_of(schema, feature, rows[row, feature])
    column = schema.columns[feature]
    value = "the missing value" if cell is None else f"the value {plain(cell)!r}"
    advice = ", or let its encoder ignore categories that it does not know" if column.is_categorical else ""
    reason = str(error.__cause__).partition("\n")[0][:300]
    found = ModelError(
        f"the model raised {type(error.__cause__).__name__} for row {first + row}: it does not accept {value} of "
        f"feature {plain(column.name)!r}: {reason} (the original error is above). Replace the value or leave the row "
        f"out{advice}."
    )
    found.row = first + row
    return found


@dataclass(frozen=True, eq=False)
class _Model:
    """The models that are asked, and the columns of the rows."""

    panel: Panel
    schema: Schema

    def accepts(self, rows: Floats) -> bool:
        """Return whether the models answer."""
        try:
            self.panel.outputs(self.schema.decode(rows), len(rows))
        except ModelError:
            return False
        return True

    def first_refused(self, rows: Floats) -> int:
        """Return the position of the first row that is refused, if some row is."""
        low, high = 0, len(rows)
        while high - low > 1:  # no row before `low` is refused, and some row before `high` is
            middle = (low + high) // 2
            low, high = (middle, high) if self.accepts(rows[low:middle]) else (low, middle)
        return low

    def refused_feature(self, refused: Floats, accepted: Floats) -> int:
        """Return a feature of a refused row with a value that is not accepted."""
        row, suspects = refused.copy(), np.flatnonzero(differs(refused, accepted))
        while len(suspects) > 1:  # with all of the suspects' values replaced, the row is accepted
            half, rest = np.array_split(suspects, 2)
            replaced = row.copy()
            replaced[half] = accepted[half]
            row, suspects = (row, half) if self.accepts(replaced[None]) else (replaced, rest)
        return int(suspects[0])
