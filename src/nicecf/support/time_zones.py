"""Time zones by their names."""

from __future__ import annotations

from typing import Any

import pandas as pd

# No name of a zone is longer: what is longer comes from a file that somebody made.
_LONGEST = 100


def zone_of(name: str) -> Any:
    """The time zone of this name, as pandas reads it; ValueError if there is none.

    >>> str(zone_of("Europe/Berlin")), str(zone_of("UTC+01:00"))
    ('Europe/Berlin', 'UTC+01:00')
    """
    try:
        if len(name) > _LONGEST:
            raise KeyError(name[:_LONGEST])
        return pd.DatetimeTZDtype("us", name).tz
    except (TypeError, LookupError, AttributeError, OSError) as error:
        raise ValueError(f"{name[:_LONGEST]!r} is not a time zone") from error
