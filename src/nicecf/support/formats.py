"""Values, probabilities and texts as people read them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from nicecf.support.types import Floats, Ints

# How long they last, in microseconds; what is left is said in seconds.
_LONGER_UNITS = {"days": 86_400_000_000, "hours": 3_600_000_000, "minutes": 60_000_000}
# Where one word of a name in camel case ends and another begins.
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
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


def readable(name: str) -> str:
    """The name of a column as people would write it; what has spaces is theirs already.

    >>> [readable(one) for one in ("late_payments", "capital-gain", "hoursPerWeek", "FICOScore", "kWh_avg", "x-1")]
    ['late payments', 'capital gain', 'hours per week', 'FICO score', 'kWh avg', 'x-1']
    """
    if any(mark.isspace() for mark in name):
        return name
    words = re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", " ", name.replace("_", " ")).split()
    parts = [part for word in words for part in _parts(word)]
    return " ".join(parts) if len(parts) > 1 else name


def _parts(word: str) -> list[str]:
    """The words in a word of camel case; units and symbols such as kWh are one."""
    parts = _HUMP.sub(" ", word).split()
    if len(parts) < 2 or not all(re.fullmatch(r"[A-Z]{2,}|[A-Z]?[a-z]{2,}\d*", part) for part in parts):
        return [word]
    return [part if part.isupper() else part.lower() for part in parts]


def localised(text: str, phrases: Mapping[str, str], *, is_grouped: bool = True) -> str:
    """A number as Python writes it in the manner of a language: thousands apart, and a true minus.

    >>> english = {"number.decimal_point": ".", "number.thousands": ",", "number.minus": "\N{MINUS SIGN}"}
    >>> localised("-12345.60", english), localised("2019", english, is_grouped=False), localised("1e+30", english)
    ('\N{MINUS SIGN}12,345.60', '2019', '1e+30')
    """
    sign = phrases["number.minus"] if text.startswith("-") else ""
    whole, point, rest = text.removeprefix("-").partition(".")
    if is_grouped and whole.isdigit():
        whole = f"{int(whole):,}".replace(",", phrases["number.thousands"])
    return f"{sign}{whole}{phrases['number.decimal_point'] if point else ''}{rest}"


def shown(value: Any) -> str:
    """A value for people.

    >>> shown(None), shown(23700.0), shown(0.5), shown("own")
    ('missing', '23700', '0.5', 'own')
    >>> shown(dt.datetime(2024, 3, 1)), shown(dt.timedelta(days=1, hours=6))
    ('2024-03-01', '1 day 6 hours')
    """
    if value is None:
        return "missing"
    if isinstance(value, dt.date):
        return shown_date(value)
    if isinstance(value, dt.timedelta):
        return shown_duration(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else one_line(str(value))


def padded(number: str, decimals: int) -> str:
    """Return a number with at least so many decimals, as others of its column have them.

    >>> padded("9", 2), padded("8.125", 2), padded("1e-07", 2)
    ('9.00', '8.125', '1e-07')
    """
    whole, _, rest = number.partition(".")
    is_plain = whole.removeprefix("-").isdigit() and len(rest) < decimals
    return f"{whole}.{rest:0<{decimals}}" if is_plain else number


def shown_date(value: dt.date, phrases: Mapping[str, str] | None = None) -> str:
    """A date as the phrases of a language write it, else as ISO does, with as much of its time as there is.

    At midnight there is none.

    >>> shown_date(dt.datetime(2024, 3, 1, 14, 5)), shown_date(dt.datetime(2024, 3, 1, 14, 5, 7, tzinfo=dt.UTC))
    ('2024-03-01 14:05', '2024-03-01 14:05:07+00:00')
    """
    written = "{year}-{month}-{day}" if phrases is None else phrases["date.day"]
    day = written.format(year=f"{value.year:04d}", month=f"{value.month:02d}", day=f"{value.day:02d}")
    if not isinstance(value, dt.datetime) or value.time() == dt.time():
        return day
    rest = "auto" if value.microsecond else "seconds" if value.second else "minutes"
    time = value.isoformat(" ", timespec=rest).partition(" ")[2]
    return f"{day} {time}" if phrases is None else phrases["date.with_time"].format(date=day, time=time)


def shown_duration(value: dt.timedelta, phrases: Mapping[str, str] | None = None) -> str:
    """A duration in words, by the phrases of a language (those of its section ``duration``), else in English.

    >>> shown_duration(dt.timedelta(days=12)), shown_duration(-dt.timedelta(minutes=1, seconds=0.5))
    ('12 days', 'minus 1 minute 0.5 seconds')
    """
    left = abs(value) // dt.timedelta(microseconds=1)
    parts = []
    for unit, length in _LONGER_UNITS.items():
        count, left = divmod(left, length)
        parts += [_counted(str(count), unit, phrases)] if count else []
    if left or not parts:
        whole, rest = divmod(left, 1_000_000)
        point = "." if phrases is None else phrases["number.decimal_point"]
        seconds = f"{whole}{point}{rest:06d}".rstrip("0") if rest else str(whole)
        parts.append(_counted(seconds, "seconds" if left else "days", phrases))
    text = " ".join(parts)
    if value >= dt.timedelta(0):
        return text
    return f"minus {text}" if phrases is None else phrases["duration.negative"].format(duration=text)


def signed_duration(value: dt.timedelta, phrases: Mapping[str, str] | None = None) -> str:
    """A difference of dates or durations, for a column of a table.

    >>> signed_duration(dt.timedelta(days=-3)), signed_duration(dt.timedelta(days=3))
    ('-3 days', '+3 days')
    """
    sign = "-" if value < dt.timedelta(0) else "+" if value else ""
    return f"{sign}{shown_duration(abs(value), phrases)}"


def said_moment(value: dt.date | dt.timedelta, phrases: Mapping[str, str]) -> str:
    """A date or a duration in the phrases of a language."""
    return shown_duration(value, phrases) if isinstance(value, dt.timedelta) else shown_date(value, phrases)


def _counted(count: str, unit: str, phrases: Mapping[str, str] | None) -> str:
    if phrases is not None:
        return phrases[f"duration.{unit}_one" if count == "1" else f"duration.{unit}"].format(count=count)
    return f"{count} {unit.removesuffix('s') if count == '1' else unit}"


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
