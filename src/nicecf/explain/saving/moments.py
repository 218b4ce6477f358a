"""What the dates and durations of a column are, as JSON and back."""

from __future__ import annotations

from typing import Any

from nicecf.exceptions import FileError
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.checks import keys
from nicecf.support.time_zones import zone_of
from nicecf.support.types import Cells
from nicecf.tables import Container
from nicecf.tables.temporal import CELL_TYPES, DAY, KINDS, UNITS, Temporal


def temporal_to_json(temporal: Temporal) -> dict[str, Any]:
    """The description; raises FileError if the time zone cannot be restored from its name."""
    if temporal.zone is not None:
        try:
            is_known = str(zone_of(temporal.zone)) == temporal.zone
        except ValueError:
            is_known = False
        if not is_known:
            raise FileError(
                f"the time zone {temporal.zone} cannot be saved: it cannot be restored from its name. Use one of the "
                "time zone database, such as tz_convert('Europe/Berlin'), and fit again."
            )
    return {"kind": temporal.kind, "zone": temporal.zone, "unit": temporal.unit, "cell": temporal.cell}


def temporal_from_json(said: Any, is_number: bool, prototype: Cells, container: Container) -> Temporal | None:
    """The value from its description, None if there is none; Damaged unless it is one of such a column."""
    read = container.moments(prototype, "column")
    if said is None or not is_number:  # dates may be categories too
        if said is not None or (read is not None and is_number):
            raise Damaged("a column of dates does not say what they are")
        return None
    keys(said, ("kind", "zone", "unit", "cell"), "what dates a column holds")
    kind, zone, unit, cell = (said[key] for key in ("kind", "zone", "unit", "cell"))
    is_valid = kind in KINDS and type(unit) is int and unit in UNITS and (kind != "date" or unit == DAY)
    is_valid = is_valid and (zone is None or (kind == "datetime" and isinstance(zone, str)))
    is_valid = is_valid and (cell is None or CELL_TYPES.get(cell) == kind) and (cell is None) == (read is not None)
    if not is_valid or (read is not None and (read[0].kind, read[0].zone) != (kind, zone)):
        raise Damaged("what it says of a column of dates does not match its dtype")
    return Temporal(kind, zone, unit, cell, None if zone is None else zone_of(zone))
