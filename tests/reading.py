"""Texts read back by the phrases of their language: what they name, what they say of the model, and in which numbers."""

import re
from dataclasses import dataclass
from string import Formatter

import numpy as np
import pandas as pd

from nicecf import Wording

LANGUAGES = ["en", "de"]


@dataclass(frozen=True)
class Told:
    """What a text says: changes as {column: (after, before)}, in its own words, and the fields of its phrase."""

    changes: dict
    kind: str
    fields: dict


def pattern(phrase, **own):
    """A phrase as a pattern, with a group for each field; ``own``: what a field looks like, if not anything."""
    found, seen = "", set()
    for text, name, _, _ in Formatter().parse(phrase):
        found += re.escape(text)
        if name is not None:
            found += f"(?P={name})" if name in seen else f"(?P<{name}>{own.get(name, '.+?')})"
            seen.add(name)
    return found


def readable(names):
    """{what a text calls it: the name of the column}, of tables that are all in snake case."""
    called = {str(name).replace("_", " "): name for name in names}
    assert len(called) == len(names)
    return called


def one_of(called):
    return "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))


def read_sentence(text, called, language="en"):
    """A sentence about changes; ``called``: {what the text calls it: column}."""
    phrases = Wording(language=language).phrases
    chance = r"[<>]?[\d.,]+ %"
    kind, found = first_match(
        text,
        phrases,
        {
            "line": pattern(phrases["sentence.found"], other_chance=chance, chance=chance, line=line_of(phrases)),
            "score": pattern(phrases["score.sentence_found"]),
            "nearest": pattern(phrases["score.sentence_nearest"]),
        },
    )
    return Told(read_changes(found["changes"], called, phrases), kind, found)


def line_of(phrases):
    """What may stand behind a probability: nothing, or what decides, in brackets."""
    return f"(?:{re.escape(phrases['line.in_brackets']).replace(re.escape('{line}'), '.+?')})?"


def first_match(text, phrases, patterns):
    """The first of some kinds that a text is one of, and what it says; "plain" where it names no line."""
    found = {kind: re.fullmatch(one, text) for kind, one in patterns.items()}
    kind = next((kind for kind, match in found.items() if match), None)
    assert kind is not None, text
    fields = found[kind].groupdict()
    if kind == "line":
        before, after = phrases["line.in_brackets"].split("{line}")
        fields["line"] = fields["line"].removeprefix(before).removesuffix(after)
    return ("plain" if kind == "line" and not fields["line"] else kind), fields


def read_changes(condition, called, phrases):
    """The changes of a sentence; nothing else may stand between them."""
    change = phrases["sentence.change"]
    parts = list(Formatter().parse(change))
    assert [name for _, name, _, _ in parts[:1]] == ["feature"]
    begins = re.escape(parts[0][0]) + f"(?:{one_of(called)})" + re.escape(parts[1][0])
    joints = "|".join(re.escape(phrases[key]) for key in ("list.between", "list.last"))
    one = pattern(change, feature=one_of(called)) + rf"(?:(?:{joints})(?={begins})|$)"
    found, at = {}, 0
    while at < len(condition):
        each = re.compile(one).match(condition, at)
        assert each, condition[at:]
        assert called[each["feature"]] not in found
        found[called[each["feature"]]] = (each["after"], each["before"])
        at = each.end()
    return found


def read_lines(text, called, language="en", section="bullets"):
    """The changes of a list, each in a line of its own, as {column: (after, before)}."""
    phrases = Wording(language=language).phrases
    line = re.compile(pattern(phrases[f"{section}.change"], feature=one_of(called)))
    found = [each for each in map(line.fullmatch, text.splitlines()) if each]
    changes = {called[each["feature"]]: (each["after"], each["before"]) for each in found}
    assert len(changes) == len(found)
    return changes


def read_bullets(text, called, language="en"):
    """A list of changes with its head."""
    phrases = Wording(language=language).phrases
    head, *lines = text.splitlines()
    changes = read_lines(text, called, language)
    assert len(changes) == len(lines), text
    one = "_one" if len(lines) == 1 else ""
    keys = {"line": "bullets.found", "score": "score.bullets_found"}
    own = {"count": r"\d+", "line": line_of(phrases)}
    patterns = {kind: pattern(phrases[f"{key}{one}"], **own) for kind, key in keys.items()}
    kind, found = first_match(head, phrases, patterns)
    assert int(found.get("count", 1)) == len(lines)
    return Told(changes, kind, found)


def number(text, language="en"):
    """The number that a text shows in the manner of its language; never one of another language."""
    phrases = Wording(language=language).phrases
    point, thousands, minus = (phrases[f"number.{name}"] for name in ("decimal_point", "thousands", "minus"))
    shape = rf"{minus}?(\d{{1,3}}({re.escape(thousands)}\d{{3}})+|\d+)({re.escape(point)}\d+)?(e[+-]\d+)?"
    assert re.fullmatch(shape, text), text
    return float(text.replace(thousands, "").replace(point, ".").replace(minus, "-"))


def value(text, dtype, language="en"):
    """The value that a text means, in a column of this dtype."""
    phrases = Wording(language=language).phrases
    if text in (phrases["value.missing"], phrases["letter.missing"]):
        return None if dtype.kind == "O" else np.nan
    words = {phrases["value.true"]: True, phrases["value.false"]: False}
    if dtype.kind == "b" and text in words:
        return words[text]
    if is_number(dtype):
        return number(text, language)
    quoted = re.fullmatch(pattern(phrases["value.quoted"]), text)
    return quoted["text"] if quoted else text


def is_number(dtype):
    return pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "b"


def percentage(text, language="en"):
    """A number of percent: (what it reads as, by how much it may be off); ``<1`` and ``>99`` as 0 and 100."""
    phrases = Wording(language=language).phrases
    shape = re.escape(phrases["number.percent"]).replace(re.escape("{number}"), r"([<>]?)([\d.,]+)")
    edge, digits = re.fullmatch(shape, text).groups()
    shown = number(digits, language)
    if edge:
        assert (edge, shown) in (("<", 1), (">", 99))
        return (0.0, 1.0) if edge == "<" else (100.0, 1.0)
    decimals = len(digits.partition(phrases["number.decimal_point"])[2])
    return shown, 0.5 * 10.0**-decimals


def assert_reads_as(text, probability, language="en"):
    """A percentage is that of a probability: rounded to its digits, and certain only of what is certain."""
    shown, off = percentage(text, language)
    assert abs(shown - 100 * probability) <= off + 1e-9, (text, probability)
    if text[0] not in "<>" and shown in (0, 100):
        assert probability == shown / 100
    if text[0] in "<>":
        assert 0 < probability < 1


def edited(rows, changes, language="en"):
    """Rows with what some texts say put into them: ``changes`` has {column: (after, before)} for each row."""
    columns = {name: rows[name].astype(object).tolist() for name in rows}
    for at, own in enumerate(changes):
        for name, (after, _) in own.items():
            columns[name][at] = value(after, rows[name].dtype, language)
    return pd.DataFrame({name: pd.Series(cells, dtype=rows[name].dtype) for name, cells in columns.items()})


def assert_says_what_changes(told, own, rows, language="en"):
    """A text names exactly what changes, numbers in the right direction; ``own``: the lines of ``changes()``."""
    assert sorted(told, key=str) == sorted(own["feature"], key=str)
    for change in own.itertuples():
        after, before = told[change.feature]
        assert after != before
        dtype = rows[change.feature].dtype
        pair = [value(text, dtype, language) for text in (before, after)]
        if is_number(dtype) and not np.isnan(pair).any():
            assert np.sign(pair[1] - pair[0]) == np.sign(change.after - change.before)


def changes_by_line(cfs):
    """The lines of ``changes()`` of each entry that has some."""
    return dict(iter(cfs.changes().groupby(np.repeat(np.arange(len(cfs)), np.diff(cfs.batch.steps.starts)))))


def assert_true(cfs, model, rows, language="en", decide=None):
    """Every sentence names exactly what changes, and the model says what the sentence says: its texts.

    ``decide``: turns probabilities into positions of classes; else the most probable is decided.
    """
    wording, called = Wording(language=language), readable(rows.columns)
    texts, bullets = cfs.texts(wording=wording), cfs.texts("bullets", wording=wording)
    assert len(texts) == len(cfs)
    by_line = changes_by_line(cfs)
    assert by_line
    told = {line: read_sentence(texts[line], called, language) for line in by_line}
    given = rows.iloc[cfs.rows[list(by_line)]]
    now = model.predict_proba(given)
    then = model.predict_proba(edited(given, [each.changes for each in told.values()], language))
    classes = [str(label) for label in model.classes_]
    decide = (lambda probabilities: probabilities.argmax(axis=1)) if decide is None else decide
    decided, decided_then = decide(now), decide(then)
    for at, (line, own) in enumerate(by_line.items()):
        one, fields = told[line], told[line].fields
        assert_says_what_changes(one.changes, own, rows, language)
        assert classes[decided[at]] == fields["decision"]
        assert classes[decided_then[at]] == fields["other"]
        assert_says_the_same(one, read_bullets(bullets[line], called, language))
        of = quantity_of(fields["quantity"], classes, wording)
        assert_reads_as(fields["chance"], now[at, of], language)
        assert_reads_as(fields["other_chance"], then[at, of], language)
        if one.kind == "plain":
            assert of == decided_then[at]
            assert percentage(fields["chance"], language)[0] <= 50 <= percentage(fields["other_chance"], language)[0]
            assert fields["chance"] != fields["other_chance"]
    return texts


def quantity_of(quantity, classes, wording):
    """The position of the class that a quantity is the probability of."""
    return [wording.say("line.quantity", label=label) for label in classes].index(quantity)


def assert_says_the_same(sentence, bullets):
    assert bullets.changes == sentence.changes
    assert list(bullets.changes) == list(sentence.changes)
    shared = set(bullets.fields) & set(sentence.fields)
    assert {"decision", "other", "chance", "other_chance"} <= shared
    assert {name: bullets.fields[name] for name in shared} == {name: sentence.fields[name] for name in shared}
