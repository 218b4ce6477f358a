"""One function, many engines: rows in Arrow batches, wherever these come from, and explanations in batches out.

``explain_batches`` is the whole of it: a process, an explainer, a stream of batches. The engines differ only in how
they bring the explainer to their workers and the batches to this function: a file for each (``spark.py``,
``dask.py``), and ``folders.py`` for a folder of Parquet files without any engine.
"""

from nicecf.engines.batches import explain_batches

__all__ = ["explain_batches"]
