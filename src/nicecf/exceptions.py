"""Every error that nicecf raises.

::

    NicecfError
    ├── OptionError      an argument is outside what is allowed      (also a ValueError)
    ├── SchemaError      a table or its labels do not fit            (also a ValueError)
    ├── ModelError       the model broke its promise, or raised      (also a RuntimeError)
    ├── NotFittedError   explain was called before fit               (also scikit-learn's NotFittedError)
    ├── FileError        a file cannot be read or written, or is damaged   (also an OSError)
    └── ExperimentError  results cannot be kept, or are not there    (also a RuntimeError)

    DecisionWarning      the model's predict, or the labels, do not fit its probabilities   (a UserWarning)
    LongRunWarning       a fit, or an explain call, will take more than a minute   (a UserWarning)
    SampleWarning        something was learned of a sample of the training rows   (a UserWarning)

A row for which no counterfactual exists is not an error: it is a value, ``found`` is False and
``reasons`` says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class NicecfError(Exception):
    """The root: catch this to catch everything that nicecf raises on purpose."""


class OptionError(NicecfError, ValueError):
    """An argument is outside what is allowed."""


class SchemaError(NicecfError, ValueError):
    """A table, or its labels, do not fit what is needed."""


class ModelError(NicecfError, RuntimeError):
    """The model raised, or returned something that is not a table of probabilities.

    ``row``: the position of the row that the model refused, where it was found out; else None.
    """

    row: int | None = None


class DecisionWarning(UserWarning):
    """What nicecf explains, the highest probability, differs from the model's ``predict`` or from the labels.

    ``predict`` says another class for some rows; or the labels of the training rows fit much better if the model's
    columns are in another order, or fit worse than by chance.
    """


class LongRunWarning(UserWarning):
    """A ``fit`` or an ``explain`` call will take more than a minute.

    By the rows that are done so far; of a wide table, before the search starts, by its columns and what the model takes
    for a row.
    """


class RulesWarning(UserWarning):
    """The training table has columns that follow from others, and no rule says so: answers may contradict it."""


class SampleWarning(UserWarning):
    """What stands for all training rows on a cluster is of a sample of them: answers may be others than with all."""


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
    """The end of a message about a name that is not known: the one that was meant, if there is a near one.

    Near is what one slip makes of a name of three letters, two of one of six and three of nine or more: a letter left
    out, added, replaced or exchanged with the next. Whoever slips twice still begins with the right letter. Near is
    also a name that is cut off, and another case. Other digits are no slip: V29 is not V28, and row 17 is not row 16.

    >>> did_you_mean("sparcity", ["sparsity", "proximity"]), did_you_mean("x", ["sparsity", "y"])
    (" Did you mean 'sparsity'?", '')
    >>> did_you_mean("duration", ["education"]), did_you_mean("lowest", ["low", "high"]), did_you_mean("1", [0, 1])
    ('', " Did you mean 'low'?", ' Did you mean 1?')
    """
    known = [plain(one) for one in choices]
    near = [_slips(str(plain(value)), str(one)) for one in known]
    least = min((n for n in near if n is not None), default=None)
    return "" if least is None else f" Did you mean {known[near.index(least)]!r}?"


# Slips beyond these make another name.
_LETTERS_PER_SLIP, _MOST_SLIPS = 3, 3
_DIGIT = re.compile(r"\d")


def _slips(given: str, name: str) -> int | None:
    """How many slips of the pen make the one name of the other; None if it is not near."""
    given, name = given.casefold(), name.casefold()
    if given == name:
        return 0
    if _DIGIT.sub("0", given) == _DIGIT.sub("0", name):
        return None
    longer, shorter = max(len(given), len(name)), min(len(given), len(name))
    if shorter >= max(_LETTERS_PER_SLIP, longer / 2) and (given.startswith(name) or name.startswith(given)):
        return longer - shorter
    most = min(longer // _LETTERS_PER_SLIP, _MOST_SLIPS if given[:1] == name[:1] else 1)
    if longer - shorter > most:
        return None
    slips = _edits(given, name, most)
    return slips if slips <= most else None


def _edits(given: str, name: str, most: int) -> int:
    """How many letters are left out, added, replaced, or exchanged with the next; not counted on beyond ``most``."""
    # There may be very many names, all alike at both ends.
    while given and name and given[0] == name[0]:
        given, name = given[1:], name[1:]
    while given and name and given[-1] == name[-1]:
        given, name = given[:-1], name[:-1]
    before, row = [0] * (len(name) + 1), list(range(len(name) + 1))
    for i, letter in enumerate(given, 1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(name, 1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and (letter, given[i - 2]) == (name[j - 2], other):
                edits = min(edits, two_before[j - 2] + 1)
            row.append(edits)
        if min(row) > most and min(before) >= most:
            break
    return row[-1]
