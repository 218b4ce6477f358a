"""Fitted objects of Python libraries: skops files, and pickles if trusted."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from nicecf.exceptions import FileError
from nicecf.models.files.model_format import Trust, said
from nicecf.support.extras import require

# Types that skops does not trust although they only hold values: the dtype of an empty array, a column selector. A tree
# of scikit-learn is not among them: it does not check which node follows which, so that a forged one makes predict read
# memory that is not its own.
_HARMLESS = {"numpy.dtype", "sklearn.compose._column_transformer.make_column_selector"}
# A file of skops may be compressed. A forest then has a tenth of its bytes; zeros would have a thousandth. What is
# small either way does no harm.
_MOST_TIMES, _LITTLE = 100, 100_000_000


def from_skops(path: str, trust: Trust) -> Any:
    """The model in a skops file; types that skops does not consider safe must be trusted by name."""
    with _versions_told(path):
        return _from_skops(path, trust.types)


def _from_skops(path: str, trust: Collection[str]) -> Any:
    skops = require("skops.io", extra="skops", needed_by=f"loading {path}")
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path} is not a skops file, or is damaged. Save the model with skops.io.dump(model, path).")
    try:
        _check_size(path)
        unknown = skops.get_untrusted_types(file=path)
        refused = [name for name in unknown if name not in {*trust, *_HARMLESS}]
        if not refused:
            return skops.load(path, trusted=unknown)
    except FileError:
        raise
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded ({said(error)}). Save the model again with skops.io.dump(model, path)."
        ) from error
    raise FileError(
        f"{path} holds types that are not known to be safe: {', '.join(refused)}. If you trust its source, "
        f"add --trust {','.join(refused)} (trust=[...] in Python)."
    )


def _check_size(path: str) -> None:
    """Raise FileError, before anything is read, if a zip would become much more memory than it has bytes."""
    with zipfile.ZipFile(path) as zipped:
        whole, size = sum(entry.file_size for entry in zipped.infolist()), os.path.getsize(path)
    if whole > max(_MOST_TIMES * size, _LITTLE):
        raise FileError(
            f"{path} has {size:,} bytes and would become {whole:,}: no model is compressed so much. Save the model "
            "again with skops.io.dump(model, path)."
        )


def from_pickle(path: str, trust: Trust) -> Any:
    """The model in a pickle, from joblib or Python itself; FileError unless it is trusted."""
    if not trust.pickles:
        raise FileError(
            f"{path} is a pickle, and loading one runs any code in it. If you trust its source, add "
            "--trust-pickle (trust_pickle=True in Python); to be safe, save the model as .skops or .onnx."
        )
    import joblib

    try:
        with _versions_told(path):
            return joblib.load(path)
    except Exception as error:
        raise FileError(
            f"{path} cannot be loaded ({said(error)}). Is it complete, and are the packages that it needs installed?"
        ) from error


@contextmanager
def _versions_told(path: str) -> Iterator[None]:
    """One warning instead of one for each part of a model from another version of scikit-learn."""
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warnings.simplefilter("always", InconsistentVersionWarning)
        yield
    told = False
    for one in caught:
        if not issubclass(one.category, InconsistentVersionWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        elif not told:
            told = True
            warning: Any = one.message
            warnings.warn(
                f"{path} was saved with scikit-learn {warning.original_sklearn_version}, but "
                f"{warning.current_sklearn_version} is installed: it may answer differently, or fail. Use the "
                "same version, or retrain the model.",
                stacklevel=5,
            )
