"""Measures of counterfactuals, of whichever method: see `nicecf.results.metrics`."""

from nicecf.results.metrics import (
    autoencoder_error,
    best_by_row,
    coverage,
    cpu_seconds,
    holds_for,
    im1,
    im2,
    is_valid,
    neighbor_distance,
    proximity,
    sparsity,
)
from nicecf.results.reference import Reference

__all__ = [
    "Reference",
    "autoencoder_error",
    "best_by_row",
    "coverage",
    "cpu_seconds",
    "holds_for",
    "im1",
    "im2",
    "is_valid",
    "neighbor_distance",
    "proximity",
    "sparsity",
]
