"""What the service counts, for Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Measures:
    """The counters of one service.

    ``model`` is always the name of an explainer, and ``key`` that of a key, never what a request calls it.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        by_model: dict[str, Any] = {"labelnames": ("model",), "registry": registry}
        self.requests = Counter(
            "nicecf_requests", "Answered requests for explanations", ("model", "status", "key"), registry=registry
        )
        self.refused = Counter(
            "nicecf_refused",
            "Requests that were not searched: queue_full, no_time, hanging",
            ("model", "reason"),
            registry=registry,
        )
        self.unauthorized = Counter("nicecf_unauthorized", "Requests without a valid key", registry=registry)
        self.seconds = Histogram(
            "nicecf_request_seconds", "From the request to its answer", ("model",), buckets=_SECONDS, registry=registry
        )
        self.batch_rows = Histogram(
            "nicecf_batch_rows", "Rows explained in one call", ("model",), buckets=_ROWS, registry=registry
        )
        self.rows = Counter("nicecf_rows", "Rows explained", **by_model)
        self.not_found = Counter("nicecf_not_found", "Rows without a counterfactual, searched to the end", **by_model)
        self.stopped_early = Counter("nicecf_stopped_early", "Rows whose search ended as time was up", **by_model)
        self.model_calls = Counter("nicecf_model_calls", "Calls of the model", **by_model)
        self.model_rows = Counter("nicecf_model_rows", "Rows sent to the model", **by_model)
        self.waiting = Gauge("nicecf_waiting_requests", "Requests that wait", **by_model)
        self.reloads = Counter("nicecf_reloads", "Changed files", ("model", "result"), registry=registry)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)
