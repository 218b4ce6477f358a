"""Every error that nicecf raises.

::

    NicecfError
    ├── OptionError      an argument is outside what is allowed      (also a ValueError)
    ├── SchemaError      a table or its labels do not fit            (also a ValueError)
    ├── ModelError       the model broke its promise, or raised      (also a RuntimeError)
    ├── NotFittedError   explain was called before fit               (also scikit-learn's NotFittedError)
    ├── FileError        a file cannot be read or written, or is damaged   (also an OSError)
    └── ExperimentError  results cannot be kept, or are not there    (also a RuntimeError)

    DecisionWarning      the model's predict does not follow its probabilities   (a UserWarning)
    LongRunWarning       the rest of an explain call will take more than a minute   (a UserWarning)

A row for which no counterfactual exists is not an error: it is a value, ``found`` is False and
``reasons`` says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class NicecfError(Exception):
    """The root: catch this to catch everything that nicecf raises on purpose."""


class OptionError(NicecfError, ValueError):
    """An argument is outside what is allowed."""


class SchemaError(NicecfError, ValueError):
    """A table, or its labels, do not fit what is needed."""


class ModelError(NicecfError, RuntimeError):
    """The model raised, or returned something that is not a table of probabilities."""


class DecisionWarning(UserWarning):
    """The model's ``predict`` differs from the class with the highest probability, which is what nicecf explains."""


class LongRunWarning(UserWarning):
    """The rest of an ``explain`` call will take more than a minute, by the rows that it has searched so far."""


class RulesWarning(UserWarning):
    """The training table has columns that follow from others, and no rule says so: answers may contradict it."""


class NotFittedError(NicecfError, _SklearnNotFittedError):
    """``explain`` was called before ``fit``."""


class FileError(NicecfError, OSError):
    """A file cannot be read or written, is damaged, or is of another kind than is needed."""


class ExperimentError(NicecfError, RuntimeError):
    """The results of an experiment cannot be kept, or are not there."""


def listed(names: Iterable[object], *, limit: int = 8) -> str:
    """Names for a message: quoted, separated by commas, cut after ``limit``.

    >>> listed(["age", "income"])
    "'age', 'income'"
    >>> listed(range(20), limit=3)
    '0, 1, 2 and 17 more'
    """
    shown = [repr(plain(name)) for name in names]
    if len(shown) <= limit:
        return ", ".join(shown)
    return f"{', '.join(shown[:limit])} and {len(shown) - limit} more"


def plain(value: object) -> object:
    """A numpy scalar as the Python value it stands for, so that messages read 1, not np.int64(1)."""
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value


def did_you_mean(value: object, choices: Iterable[object]) -> str:
    """The end of a message about a name that is not known: the one that was meant, if it is close.

    >>> did_you_mean("sparcity", ["sparsity", "proximity"]), did_you_mean("x", ["sparsity"])
    (" Did you mean 'sparsity'?", '')
    """
    close = get_close_matches(str(value), [str(one) for one in choices], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
