"""What the service does for one request, and for all of them together, at most."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a service.

    Of a request: ``rows`` and ``bytes`` of it; ``seconds`` until the search ends with the best valid answer so far, and
    the most that a request can ask for; ``n`` counterfactuals of a row; ``table_rows`` and ``file_bytes`` of a file
    that is uploaded, and ``report_rows`` of a report. ``patience``: how many seconds a model may take
    beyond that, before it counts as hanging. Of each explainer: ``queue``, the requests that may wait; ``together``,
    the rows in one call; ``window``, the seconds to wait for others, 0 for no merging at all. Of the server:
    ``connections`` that may be open; ``header_seconds`` until the headers of a request must be there.
    """

    rows: int = 100
    bytes: int = 1_000_000
    seconds: float = 10.0
    n: int = 10
    table_rows: int = 10_000
    file_bytes: int = 10_000_000
    report_rows: int = 1_000
    patience: float = 10.0
    queue: int = 256
    together: int = 256
    window: float = 0.003
    connections: int = 512
    header_seconds: float = 10.0
