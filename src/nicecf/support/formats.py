"""Values, probabilities and texts as people read them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from nicecf.support.types import Floats, Ints

_OBEYED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""Text in which what a terminal or a page would obey, or no file can hold, is shown as unknown.

    >>> harmless("\x1b[2J\u202eevil")
    '\ufffd[2J\ufffdevil'
    """
    return _OBEYED.sub("\ufffd", text)


def one_line(text: str) -> str:
    r"""Text without line breaks or other white space that nobody sees.

    >>> one_line("of which\n  rent ")
    'of which rent'
    """
    if text.isprintable() and "  " not in text and text == text.strip():
        return text
    return harmless(" ".join(text.split()))


def shown(value: Any) -> str:
    """A value for people.

    >>> shown(None), shown(23700.0), shown(0.5), shown("own")
    ('missing', '23700', '0.5', 'own')
    """
    if value is None:
        return "missing"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else one_line(str(value))


def percent(probability: float) -> str:
    """A probability for people; never rounded to certainty.

    >>> percent(0.614), percent(0.996), percent(0.0004)
    ('61 %', '>99 %', '<1 %')
    """
    whole = int(whole_percent(np.array(probability)))
    return {101: ">99 %", -1: "<1 %"}.get(whole, f"{whole} %")


def whole_percent(probabilities: Floats) -> Ints:
    """Probabilities as people read them: in whole percent; 101 and -1 for what is nearly certain, but is not.

    >>> whole_percent(np.array([0.0, 0.004, 0.614, 0.9999, 1.0])).tolist()
    [0, -1, 61, 101, 100]
    """
    values = 100 * probabilities
    nearly = np.where((values >= 99.5) & (values < 100), 101, np.where((values > 0) & (values < 0.5), -1, 0))
    return np.where(nearly != 0, nearly, np.rint(values)).astype(np.intp)
