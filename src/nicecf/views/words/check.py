"""Whether a text that others wrote is true of an explanation: what it names, and what the model says of that."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from nicecf.exceptions import OptionError, plain
from nicecf.results.batch import Batch
from nicecf.results.boxes import held
from nicecf.results.provenance import Maker
from nicecf.support.types import CellValue, Floats, is_number
from nicecf.views.words.exchanged import IS_NUMBER, Exchange, Mention, reads_as, word_pattern
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedChange, formatted
from nicecf.views.words.stated_regions import (
    StatedRegion,
    category_regions,
    date_regions,
    number_regions,
    points_of,
)
from nicecf.views.words.wording import Wording

Kind: TypeAlias = Literal[
    "number", "category", "class", "swapped", "unsaid", "still", "region", "not_found", "no_model"
]

_HAS_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Problem:
    """Something that a text says and that is not so; ``start`` and ``end``: where, 0 and 0 if nowhere in particular."""

    kind: Kind
    message: str
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        """Where and what."""
        return self.message if self.end == 0 else f"{self.start}-{self.end}: {self.message}"


@dataclass(frozen=True)
class TextCheck:
    """What is wrong with a text; true if nothing is."""

    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        """A line for each problem."""
        return "\n".join(map(str, self.problems)) or "ok"


def check_text(batch: Batch, text: str, wording: Wording | None = None) -> TextCheck:
    """Check a text about the only entry of a batch."""
    if not isinstance(text, str):
        raise OptionError(f"the text to check must be text, got {type(text).__name__}.")
    formatter = Formatter.of(batch, wording, is_letter=True)
    if not batch.found[0]:
        return TextCheck((Problem("not_found", formatter.wording.say("check.not_found")),))
    checker = _Checker(batch, formatter, text)
    return TextCheck(tuple(sorted(checker.problems(), key=lambda one: (one.end == 0, one.start))))


@dataclass(frozen=True, eq=False)
class _Checker:
    batch: Batch
    formatter: Formatter
    text: str

    def problems(self) -> Iterable[Problem]:
        """All that is wrong."""
        yield from self._unknown_numbers()
        yield from self._unknown_words()
        exchange = Exchange(self.batch, self.formatter, self.text)
        mentions = [*self._numbers, *self._own_words, *self._other_values]
        for j, one, other in exchange.of_values(mentions, self._changed):
            yield self._wrong_way_round(j, one, other)
        numbers = [one for one in self._every_number if one.is_percent or not one.matches]
        for said, span in exchange.of_outcome(numbers):
            yield Problem("swapped", said, *span)
        yield from self._decision()

    # --- what is there ----------------------------------------------------------------------------------------------

    def _say(self, kind: Kind, **fields: str) -> str:
        return self.formatter.wording.say(f"check.{kind}", **fields)

    @cached_property
    def _changed(self) -> list[int]:
        """The columns to bring about; what follows from others is computed."""
        return [j for j in self.batch.steps.feature.tolist() if not self.batch.is_derived[j]]

    @cached_property
    def _cells(self) -> list[tuple[CellValue, CellValue]]:
        """The value of each column before and after, as the table has it."""
        batch, container, first = self.batch, self.batch.schema.container, np.array([0])
        tables = [container.by_columns(one) for one in (batch.table, batch.filled)]
        positions = batch.schema.positions(batch.table)
        return [
            (
                plain(container.objects(container.column(tables[0], position), first)[0]),
                plain(container.objects(container.column(tables[1], position), first)[0]),
            )
            for position in positions
        ]

    def _is_number(self, j: int) -> bool:
        column = self.batch.schema.columns[j]
        values = [value for value in self._cells[j] if value is not None]
        return not column.is_categorical and column.temporal is None and all(is_number(value) for value in values)

    @cached_property
    def _masked(self) -> str:
        """The text in which digits are blank that are no numbers: those of names, categories, moments and units."""
        schema, formatter = self.batch.schema, self.formatter
        names = {formatter.name(name) for name in schema.names} | {*map(str, schema.names)}
        names |= {formatter.label(label) for label in self.batch.classes}
        names |= {word for word, _, _ in self._levels} | self._units
        for j, pair in enumerate(self._cells):
            if not self._is_number(j):
                names |= {formatter.value(self._name(j), value) for value in pair}
        masked = self.text
        for name in sorted((one for one in names if _HAS_DIGIT.search(one)), key=len, reverse=True):
            if not IS_NUMBER.fullmatch(name):  # a class called 1 is not what the 1 in 1,393 is
                masked = word_pattern(name).sub(lambda found: " " * len(found[0]), masked)
        return masked

    @cached_property
    def _units(self) -> set[str]:
        """What stands around numbers as their unit, and has digits itself."""
        units = self.formatter.wording.units.values()
        return {part.strip() for unit in units for part in unit.split("{}") if part.strip()}

    @cached_property
    def _codes(self) -> set[str]:
        """Classes and categories that are numbers, as the text would write them."""
        known = {self.formatter.label(label) for label in self.batch.classes}
        for j, pair in enumerate(self._cells):
            known |= set() if self._is_number(j) else {self.formatter.value(self._name(j), value) for value in pair}
        return {one for one in known if IS_NUMBER.fullmatch(one)}

    @cached_property
    def _levels(self) -> list[tuple[str, int, CellValue]]:
        """What each category is called, its column and itself; what may not be told is left out."""
        columns = self.batch.schema.columns
        found = []
        for j, column in enumerate(columns):
            own = [value for value in self._cells[j] if isinstance(value, str)]
            told = [plain(level) for level in column.told_levels] if column.is_categorical else []
            for level in dict.fromkeys([*own, *told]):
                if isinstance(level, str) and level.strip():
                    called = self.formatter.wording.value(self._name(j), level)
                    found.append((called or " ".join(level.split()), j, level))
        return found

    @cached_property
    def _dates(self) -> list[tuple[int, int, str]]:
        """Where the text has dates, in the manner of the language or of ISO."""
        by_language = self.formatter.wording.phrases["date.day"]
        pattern = re.escape(by_language)
        for name, digits in (("year", 4), ("month", 2), ("day", 2)):
            pattern = pattern.replace(re.escape(f"{{{name}}}"), rf"\d{{{digits}}}")
        time = r"(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
        every = re.finditer(rf"(?:{pattern}|\d{{4}}-\d{{2}}-\d{{2}}){time}", self._masked)
        return [(one.start(), one.end(), one[0]) for one in every if not self._is_in_region(one.start())]

    @cached_property
    def _numbers(self) -> list[Mention]:
        """The numbers of the text that are values, or nothing that is known."""
        return [one for one in self._every_number if one.matches or not self._may_stand(one)]

    @cached_property
    def _every_number(self) -> list[Mention]:
        phrases = self.formatter.wording.phrases
        point, thousands = re.escape(phrases["number.decimal_point"]), re.escape(phrases["number.thousands"])
        pattern = re.compile(
            rf"(?<![\w.,])(?P<sign>[-\u2212]?)(?P<whole>\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)(?:{point}(?P<rest>\d+))?"
            r"(?P<power>[eE][+-]?\d+)?(?!\d)(?P<percent>\s?(?:%|(?:per ?cent|Prozent)\b))?"
        )
        dates = self._dates
        found = []
        for one in pattern.finditer(self._masked):
            if any(start <= one.start() < end for start, end, _ in dates) or self._is_in_region(one.start()):
                continue
            whole = re.sub(r"\D", "", one["whole"])
            sign = "-" if one["sign"] else ""
            number = float(f"{sign}{whole}.{one['rest'] or 0}{one['power'] or ''}")
            places = len(one["rest"] or "")
            matches = tuple(self._cells_with(number, places))
            found.append(Mention(one.start(), one.end(), one[0], matches, number, places, one["percent"] is not None))
        return found

    def _is_told_number(self, at: int) -> bool:
        """Whether the number at a place is a value, or another that may stand, so that it names no class."""
        return any(one.start == at and (bool(one.matches) or self._is_told(one)) for one in self._every_number)

    def _cells_with(self, number: float, places: int) -> Iterable[tuple[int, bool]]:
        for j, pair in enumerate(self._cells):
            if not self._is_number(j):
                continue
            for is_after, value in enumerate(pair):
                if value is not None and reads_as(float(value), number, places):
                    yield j, bool(is_after)

    def _may_stand(self, one: Mention) -> bool:
        """Whether a number that is no value is one of the model's, a class, a count of changes or that of a line."""
        return (not one.is_percent and one.text.strip() in self._codes) or self._is_told(one)

    def _is_told(self, one: Mention) -> bool:
        number, places = one.number or 0.0, one.places
        if one.is_percent:
            batch = self.batch
            shares = [*batch.before.probabilities[0], *batch.after.probabilities[0], *batch.criterion.cutoffs]
            shares += [] if batch.criterion.least is None else [batch.criterion.least]
            is_edge = self._masked[: one.start].rstrip().endswith((">", "<")) and number in (1, 99)
            return is_edge or any(reads_as(100 * share, number, places) for share in shares if share == share)
        if self.batch.target is not None:
            scores = [self.batch.before.probability[0], self.batch.after.probability[0]]
            bounds = [bound for bound in self.batch.target.given if bound is not None]
            if any(reads_as(float(score), number, places) for score in [*scores, *bounds]):
                return True
        counted = self.formatter.wording.phrases["check.counted"].split()
        behind = re.match(r"\W*(\w+)", self.text[one.end :])
        if number == self.batch.n_changes[0] and behind is not None and behind[1].lower() in counted:
            return True
        line = self.text[: one.start].rpartition("\n")[2]
        return not line.strip() and self.text[one.end : one.end + 1] in (".", ")")

    # --- what is wrong ----------------------------------------------------------------------------------------------

    def _unknown_numbers(self) -> Iterable[Problem]:
        for one in self._numbers:
            if not one.matches:
                yield Problem("number", self._say("number", text=one.text.strip()), one.start, one.end)
        known = {self.formatter.text(v) for pair in self._cells for v in pair if isinstance(v, date)}
        known |= {v.isoformat()[:10] for pair in self._cells for v in pair if isinstance(v, date)}
        for start, end, text in self._dates:
            if not any(text == one or one.startswith(text) for one in known):
                yield Problem("number", self._say("number", text=text), start, end)

    def _unknown_words(self) -> Iterable[Problem]:
        own = {word for word, j, level in self._levels if level in self._cells[j]}
        classes = {self.formatter.label(label) for label in self.batch.classes}
        said = {
            self.formatter.label(self.batch.classes[one.decided[0]]) for one in (self.batch.before, self.batch.after)
        }
        for word, j, _ in self._levels:
            if word in own or word in classes:
                continue
            for one in self._mentions_of(word, self.batch.schema.names[j]):
                name = self.formatter.name(self.batch.schema.names[j])
                yield Problem("category", self._say("category", text=one[0], feature=name), one.start(), one.end())
        for word in classes - said - own:
            for one in self._mentions_of(word, None):
                if IS_NUMBER.fullmatch(word) and self._is_told_number(one.start()):
                    continue
                yield Problem("class", self._say("class", text=one[0]), one.start(), one.end())

    def _mentions_of(self, word: str, feature: Hashable) -> Iterable[re.Match[str]]:
        """Where a word stands that is a value; a word of the language itself only beside the name of its feature."""
        is_common = word.lower() in self._vocabulary
        for one in word_pattern(word).finditer(self.text):
            if any(start <= one.start() and one.end() <= end for start, end in self._taken):
                continue
            if not is_common or (feature is not None and self._is_beside(one.start(), feature)):
                yield one

    @cached_property
    def _taken(self) -> list[tuple[int, int]]:
        """Where the text names features, and categories of the row and of the counterfactual."""
        names = {self.formatter.name(name) for name in self.batch.schema.names} | {*map(str, self.batch.schema.names)}
        spans = [one.span() for name in names for one in word_pattern(name).finditer(self.text)]
        spans += [(one.start, one.end) for one in self._own_words]
        return spans + [(one.start, one.end) for one in self._regions.values()]

    def _is_beside(self, at: int, feature: Hashable) -> bool:
        start = max(self.text.rfind(mark, 0, at) for mark in (".", "\n", ";")) + 1
        sentence = self.text[start:at].lower()
        return any(name.lower() in sentence for name in (self.formatter.name(feature), str(feature)))

    @cached_property
    def _vocabulary(self) -> set[str]:
        phrases = " ".join(self.formatter.wording.phrases.values())
        return {word.lower() for word in re.findall(r"\w+", phrases)}

    @cached_property
    def _own_words(self) -> list[Mention]:
        """Categories of the row and of the counterfactual, where the text names them."""
        found: dict[tuple[int, int, str], list[tuple[int, bool]]] = {}
        for word, j, level in self._levels:
            for is_after, value in enumerate(self._cells[j]):
                if value == level:
                    for one in word_pattern(word, re.IGNORECASE).finditer(self.text):
                        found.setdefault((one.start(), one.end(), one[0]), []).append((j, bool(is_after)))
        return [Mention(*key, tuple(matches)) for key, matches in found.items()]

    @cached_property
    def _regions(self) -> dict[int, StatedRegion]:
        """What the text says that changed columns may be, by their positions: "at least 680", "own or free"."""
        found: dict[int, StatedRegion] = {}
        for j in self._changed:
            for one in self._regions_of(j):
                if self._named_before(one.start) == j:
                    found.setdefault(j, one)
        return found

    def _regions_of(self, j: int) -> Iterable[StatedRegion]:
        column = self.batch.schema.columns[j]
        if column.temporal is not None:
            return date_regions(self.batch, self.text, j, self.formatter)
        if not column.is_categorical:
            return number_regions(self.batch, self.text, j, self.formatter)
        codes = {word: column.code(level) for word, k, level in self._levels if k == j}
        known = {word: float(code) for word, code in codes.items() if code is not None}
        return category_regions(self.text, j, known, self.formatter)

    def _named_before(self, at: int) -> int | None:
        """The column whose name stands last before a place, in the same sentence or line."""
        start = max(self.text.rfind(mark, 0, at) for mark in (". ", ";", "\n")) + 1
        named = [
            (one.end(), len(name), j)
            for name, j in self._names
            for one in word_pattern(name, re.IGNORECASE).finditer(self.text, start, at)
        ]
        return max(named)[2] if named else None

    def _is_in_region(self, at: int) -> bool:
        return any(one.start <= at < one.end for one in self._regions.values())

    @cached_property
    def _other_values(self) -> list[Mention]:
        """Where the text has the moments of changed columns, says yes, no or missing of them, or names a category."""
        of_wholes = [(j, pair) for j, whole in self._wholes.items() for pair in enumerate((whole.before, whole.after))]
        missing = {self.formatter.wording.phrases[key] for key in ("value.missing", "letter.missing")}
        words = [(j, is_after, word) for j, (is_after, word) in of_wholes]
        words += [
            (j, is_after, word)
            for j in self._changed
            for is_after, value in enumerate(self._cells[j])
            if not isinstance(value, str) and not (self._is_number(j) and value is not None)
            for word in (missing if value is None else {self.formatter.text(value)})
        ]
        return [
            Mention(one.start(), one.end(), one[0], ((j, bool(is_after)),))
            for j, is_after, word in words
            for one in word_pattern(word).finditer(self.text)
        ]

    def _wrong_way_round(self, j: int, one: Mention, other: Mention) -> Problem:
        text = self.text[one.start : other.end]
        before, after = (self.formatter.value(self._name(j), v, self._digits(j, v)) for v in self._cells[j])
        name = self.formatter.name(self._name(j))
        message = self._say("swapped", text=text, feature=name, before=before, after=after)
        return Problem("swapped", message, one.start, other.end)

    def _name(self, j: int) -> Hashable:
        return self.batch.schema.names[j]

    def _digits(self, j: int, value: CellValue) -> str | None:
        return f"{value:g}" if self._is_number(j) and value is not None else None

    def _decision(self) -> Iterable[Problem]:
        """Whether what the text states, put into the row, turns the decision."""
        batch, maker = self.batch, self.batch.provenance.maker
        if not self._changed:
            return
        values, unsaid = self._stated()
        if maker is None:
            yield Problem("no_model", self._say("no_model"))
            return
        completed = maker.completed(values) if batch.is_derived.any() else values
        is_held, _ = maker.holds(batch.rows[[0]], completed, batch.after.decided[[0]])
        if self._regions and is_held[0]:
            yield from self._within_regions(maker, values)
        if is_held[0] or not (unsaid or np.any(values != batch.after.values)):
            return
        decision = self.formatter.label(batch.classes[maker.outputs(completed)[0][0]])
        for j in unsaid:
            value = self._cells[j][1]
            after = self.formatter.value(self._name(j), value, self._digits(j, value))
            message = self._say("unsaid", feature=self.formatter.name(self._name(j)), after=after, decision=decision)
            yield Problem("unsaid", message)
        if not unsaid:
            yield Problem("still", self._say("still", decision=decision))

    def _within_regions(self, maker: Maker, values: Floats) -> Iterable[Problem]:
        """Whether the decision turns all over the box that the text states: at its corners, and inside."""
        batch, regions = self.batch, sorted(self._regions.values(), key=lambda one: one.start)
        points = points_of(batch, values, regions)
        completed = maker.completed(points) if batch.is_derived.any() else points
        is_held, _ = maker.holds(
            np.repeat(batch.rows[0], len(points)), completed, np.repeat(batch.after.decided[0], len(points))
        )
        if is_held.all():
            return
        wrong = int(np.argmin(is_held))
        say, said = self.formatter.wording.say, []
        for one in regions:
            value = held(batch, 0, one.feature, float(points[wrong, one.feature]))
            shown = self.formatter.value(self._name(one.feature), value, self._digits(one.feature, value))
            said.append(say("check.region_value", feature=self.formatter.name(self._name(one.feature)), value=shown))
        decision = self.formatter.label(batch.classes[maker.outputs(completed[[wrong]])[0][0]])
        text = ", ".join(one.text for one in regions)
        message = self._say("region", text=text, values=self.formatter.wording.listed(said), decision=decision)
        yield Problem("region", message, regions[0].start, max(one.end for one in regions))

    def _stated(self) -> tuple[Floats, list[int]]:
        """The row with what the text states of the changes, encoded; and the changed columns that it does not name."""
        batch = self.batch
        values = batch.before.values[[0]].copy()
        unsaid = []
        for j in self._changed:
            stated = self._value_of(j)
            if stated is None:
                unsaid.append(j)
            else:
                values[0, j] = stated
        return values, unsaid

    def _value_of(self, j: int) -> float | None:
        """The new value of a column as the text states it, encoded; None where it does not."""
        batch, after = self.batch, self._cells[j][1]
        encoded = float(batch.after.values[0, j])
        if j in self._regions:
            return self._regions[j].nearest(encoded)
        if j in self._wholes:
            return encoded if word_pattern(self._wholes[j].after).search(self.text) else None
        if self._is_number(j) and after is not None:
            told = [one for one in self._numbers if (j, True) in one.matches and self._may_be_of(j, one)]
            stated = [one.number for one in told if one.number is not None]
            return min(stated, key=lambda number: abs(number - encoded)) if stated else None
        if isinstance(after, str):
            names = [word for word, k, level in self._levels if k == j and level == after]
            return encoded if any(word_pattern(word, re.IGNORECASE).search(self.text) for word in names) else None
        if isinstance(after, date):
            said = {self.formatter.text(after), after.isoformat()[:10]}
            return encoded if any(one in self.text for one in said) else None
        # Yes or no, missing, a duration: the words for it are many, so its name has to do.
        called = {self.formatter.name(self._name(j)), str(self._name(j))}
        return encoded if any(word_pattern(name).search(self.text) for name in called) else None

    def _may_be_of(self, j: int, one: Mention) -> bool:
        """Whether a number may be a value of a column: not if the words before it name other columns only."""
        ends = [other.end for other in (*self._numbers, *self._own_words) if other.end <= one.start]
        start = max([0, *ends, *(self.text.rfind(mark, 0, one.start) for mark in (". ", ";", "\n"))])
        words, named = self.text[start : one.start], set()
        for name, place in self._names:
            if word_pattern(name, re.IGNORECASE).search(words):
                named.add(place)
                words = word_pattern(name, re.IGNORECASE).sub(" ", words)  # "income" is not named by "debt to income"
        return not named or j in named

    @cached_property
    def _names(self) -> list[tuple[str, int]]:
        """What columns are called, the longest names first."""
        names = [
            (called, j)
            for j, name in enumerate(self.batch.schema.names)
            for called in {str(name), self.formatter.name(name)}
        ]
        return sorted(names, key=lambda one: -len(one[0]))

    @cached_property
    def _wholes(self) -> dict[int, FormattedChange]:
        """Of a category with a column for each value, its change as one, by both columns that change."""
        (one,) = formatted(self.batch, self.formatter, ask=False)
        place = {name: j for j, name in enumerate(self.batch.schema.names)}
        found: dict[int, FormattedChange] = {}
        for first, second in pairwise(one.changes):
            if first.whole is not None:
                found |= {place[each.column]: first.whole for each in (first, second)}
        return found
