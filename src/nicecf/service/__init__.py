"""Explainers behind HTTP: requests that arrive together are explained together, in the form of KServe's V1 protocol."""
