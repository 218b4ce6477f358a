"""Letters: one for each row, by a template; what is in them is said of the row and its counterfactuals, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.results.batch import Batch
from nicecf.support.formats import one_line
from nicecf.support.types import Ints, Json
from nicecf.views.words.codes import ReasonCodes
from nicecf.views.words.formatter import Formatter
from nicecf.views.words.formatting import FormattedChange, FormattedExplanation, formatted
from nicecf.views.words.rounding import digits
from nicecf.views.words.saying import follows, lines, put, say, units
from nicecf.views.words.templates import Part, Template
from nicecf.views.words.wording import Wording

# As many as Regulation B has in mind: more do not help the reader.
_MOST_REASONS = 4


def letters(
    batch: Batch,
    template: object = "plain",
    wording: Wording | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    principal_reasons: object = None,
    codes: object = None,
) -> list[str]:
    """A letter for each row of a batch, in the order of the rows; several counterfactuals of a row are in one letter.

    ``principal_reasons``: the reasons of each row, in the same order.
    """
    formatter = Formatter.of(batch, wording, is_letter=True)
    one_of_all = Template.of(template, formatter.wording.language)
    own = _own_fields(fields)
    rows = _entries_by_row(batch)
    reasons = _reasons_by_row(principal_reasons, len(rows))
    coded = _codes(codes)
    explanations = formatted(batch, formatter, ask=True)
    return [
        _Letter(
            formatter.wording,
            tuple(explanations[i] for i in entries.tolist()),
            own=own,
            reasons=reasons[at],
            codes=coded,
            of_batch=_OfRow(batch, formatter, int(entries[0])),
        ).by(one_of_all)
        for at, entries in enumerate(rows)
    ]


def plain_letter(one: FormattedExplanation, wording: Wording) -> str:
    """The plain letter about one explanation."""
    return _Letter(wording, (one,)).by(Template.of("plain", wording.language))


def _entries_by_row(batch: Batch) -> list[Ints]:
    """The entries of each row, the rows in the order of the entries; what stands there twice, once."""
    of_row: dict[int, dict[int, int]] = {}
    for entry, (row, number) in enumerate(zip(batch.rows.tolist(), batch.numbers.tolist(), strict=True)):
        of_row.setdefault(row, {}).setdefault(number, entry)
    return [np.array(list(entries.values()), dtype=np.intp) for entries in of_row.values()]


@dataclass(frozen=True, eq=False)
class _OfRow:
    """What a letter may say of the row and of who explained it, beside the explanation."""

    batch: Batch
    formatter: Formatter
    entry: int

    @property
    def has_target(self) -> bool:
        """Whether a certain decision was wanted, and not just another one."""
        return self.batch.target is not None or self.batch.provenance.call["target_class"] != "other"

    def data(self) -> str:
        """Return the information that was used, a line for each feature that may be named."""
        batch, container = self.batch, self.batch.schema.container
        table, here = container.by_columns(batch.table), np.array([self.entry])
        found, protected = [], batch.protected(self.entry)
        for j, position in enumerate(batch.schema.positions(batch.table)):
            if j in protected:
                continue
            column, cells = batch.schema.columns[j], container.column(table, position)
            value = container.objects(cells, here)[0]
            is_number = not (column.is_categorical or column.temporal or isinstance(value, (bool, np.bool_)))
            text = digits(float(value), container.number_dtype(cells)) if is_number and value is not None else None
            found.append(
                self.formatter.wording.say(
                    "letter.value",
                    feature=self.formatter.name(column.name),
                    value=self.formatter.value(column.name, value, text),
                )
            )
        if protected:
            found.append(self.formatter.wording.say("statement.not_listed"))
        return "\n".join(found)

    def technical(self) -> str:
        """Who made the explanation, of what and with which versions."""
        about = self.batch.provenance.about()
        options = self._without_protected(about["options"])
        facts = {
            "nicecf": about["versions"].get("nicecf"),
            **{name: value for name, value in about["versions"].items() if name != "nicecf"},
            "explainer": about["explainer"],
            **{f"fingerprint: {name}": value for name, value in about["fingerprints"].items()},
            **{f"option: {name}": value for name, value in options.items() if value not in (None, [], {})},
        }
        say_fact = self.formatter.wording.say
        return "\n".join(
            say_fact("letter.fact", name=name, value=one_line(value if isinstance(value, str) else json.dumps(value)))
            for name, value in facts.items()
        )

    def _without_protected(self, options: dict[str, Json]) -> dict[str, Json]:
        """Return options without what names a protected feature, at any depth."""
        batch = self.batch
        names = [re.escape(str(batch.schema.names[j])) for j in batch.protected(self.entry)]
        naming = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)")

        def unnamed(value: Json) -> Json:
            if isinstance(value, dict):
                kept = {key: unnamed(one) for key, one in value.items() if not naming.search(key)}
                return {key: one for key, one in kept.items() if one not in (None, [], {})}
            if isinstance(value, list):
                return [kept for one in value if (kept := unnamed(one)) is not None]
            return None if isinstance(value, str) and naming.search(value) else value

        return {name: unnamed(one) for name, one in options.items()} if names else options


@dataclass(frozen=True, eq=False)
class _Letter:
    """One letter: the counterfactuals of a row, all of them found, or one entry that says why there is none."""

    wording: Wording
    ways: tuple[FormattedExplanation, ...]
    own: Mapping[str, str] | None = None
    reasons: Sequence[str] | None = None
    codes: ReasonCodes | None = None
    of_batch: _OfRow | None = None

    def by(self, template: Template) -> str:
        """The letter that a template makes; OptionError for a field that there is nothing for, in any of its parts."""
        part, known, own = self._part, self._fields, self.own or {}
        for name in own:
            if name in _FIELDS:
                raise OptionError(f"fields has {name!r}, which nicecf fills in itself; choose another name.")
        for each in get_args(Part):
            for name in template.fields(each):
                if name not in own and (name not in _FIELDS or (each == part and name not in known)):
                    every = [*(known if each == part else _FIELDS), *own]
                    raise OptionError(
                        f"the template {template.name} has the field {{{name}}}, which nothing is known of: pass "
                        f"fields={{{name!r}: ...}}, or use one of {listed(every)}.{did_you_mean(name, every)}"
                    )
        values = {name: known[name]() if name in known else own[name] for name in template.fields(part)}
        return template.parts[part].format(**values)

    @property
    def _first(self) -> FormattedExplanation:
        return self.ways[0]

    @property
    def _part(self) -> Part:
        if not self._first.is_found:
            return "not_found"
        if not self._first.changes:
            return "unchanged"
        return "changed" if self._first.out_of_reach is None else "nearest"

    @property
    def _fields(self) -> dict[str, Callable[[], str]]:
        of_batch = {} if self.of_batch is None else {"data": self.of_batch.data, "technical": self.of_batch.technical}
        of_changes = {
            "other": lambda: self._first.other,
            "ways": self._ways,
            "coded_ways": self._coded_ways,
        }
        of_none = {
            "obstacle": lambda: self._obstacle(self._first.obstacle),
            "named_obstacle": lambda: self._obstacle(self._first.named_obstacle),
        }
        return {
            "title": self._title,
            "assessment": lambda: self._say("letter.assessment"),
            "decision": lambda: self._first.decision,
            "figures": self._figures,
            "closing": self._closing,
            "principal_reasons": self._principal_reasons,
            **(of_changes if self._part in ("changed", "nearest") else {}),
            **({"nothing_to_change": lambda: self._say("letter.unchanged")} if self._part == "unchanged" else {}),
            **(of_none if self._part == "not_found" else {}),
            **of_batch,
        }

    def _say(self, phrase: str, **more: object) -> str:
        return say(self._first, self.wording, phrase, **more)

    def _title(self) -> str:
        if self._first.is_same:
            return self._say("letter.title_same")
        if self._part == "changed" and len(self.ways) > 1:
            return self._say("letter.title_of_several")
        endings = {"unchanged": "_unchanged", "not_found": "_of_none"}
        return self._say(f"letter.title{endings.get(self._part, '')}")

    def _closing(self) -> str:
        if self._first.is_same:
            return self._say("letter.closing_same")
        if self._part == "changed" and len(self.ways) > 1:
            return self._say("letter.closing_of_several")
        return self._say("letter.closing_of_none" if self._part == "not_found" else "letter.closing")

    def _figures(self) -> str:
        if self._part in ("unchanged", "not_found"):
            return self._say("letter.line_now")
        return "\n".join(say(one, self.wording, "letter.line") for one in self.ways)

    def _ways(self) -> str:
        return self._in_ways(lambda one: lines("letter.change", one, self.wording))

    def _in_ways(self, changes: Callable[[FormattedExplanation], list[str]]) -> str:
        """The changes of each counterfactual; of several, one after the other."""
        if len(self.ways) == 1:
            one = self._first
            if one.out_of_reach is not None:
                head = self._say("letter.nearest", target=one.out_of_reach)
            else:
                head = self._of_count("letter.same" if one.is_same else "letter.otherwise", one)
            return "\n".join([head, *changes(one), *follows("derived.letter_changes", one, self.wording)])
        parts = [self._say("letter.several")]
        for number, one in enumerate(self.ways):
            head = self._of_count("letter.or" if number else "letter.either", one)
            parts.append("\n".join([head, *changes(one), *follows("derived.letter_changes", one, self.wording)]))
        return "\n\n".join(parts)

    def _of_count(self, phrase: str, one: FormattedExplanation) -> str:
        if one.n_changes == 1:
            return say(one, self.wording, f"{phrase}_one")
        return say(one, self.wording, phrase, count=one.n_changes)

    def _coded_ways(self) -> str:
        if self.codes is None:
            raise OptionError(
                "the template has {coded_ways}: pass codes= (--codes), your table of codes, to label the changes by."
            )
        if len(self.ways) > 1:
            ways = self._in_ways(self._coded).partition("\n\n")[2]
            return "\n\n".join([self._say("letter.coded_several"), ways])
        head = "letter.coded_nearest" if self._part == "nearest" else "letter.coded"
        return "\n".join([self._say(head), *self._coded(self._first)])

    def _coded(self, one: FormattedExplanation) -> list[str]:
        found = []
        for some in units(one):
            for each in some:
                code, reason = self._code(each)
                found.append(put("letter.coded_change", each, self.wording, code=code, reason=reason))
        return found

    def _code(self, each: FormattedChange) -> tuple[str, str]:
        assert self.codes is not None
        code = self.codes.of(each.column, each.goes)
        if code is None:
            way = {1: "increase", -1: "decrease"}.get(each.goes, "change")
            raise OptionError(
                f"codes has none for ({each.column!r}, {way!r}), which a counterfactual changes: no letter was "
                "written. Add it to the table, or keep the feature from changing: Constraints(immutable=[...])."
            )
        return code

    def _principal_reasons(self) -> str:
        if self.of_batch is not None and not self.of_batch.has_target:
            raise OptionError(
                "a letter with principal reasons is for a decision that was not the one wanted: say which was, with "
                "explain(X, target_class=...)."
            )
        if self._first.is_same:
            raise OptionError(
                f"a letter with principal reasons is for a decision that was not the one wanted, but it is already "
                f"{self._first.decision!r}, only not clearly enough. Leave the row out."
            )
        if not self.reasons:
            raise OptionError(
                "the template has {principal_reasons}: pass principal_reasons= (--reasons), which are yours and not "
                f"the counterfactual's, from one to {_MOST_REASONS} for each row."
            )
        say_reason = self.wording.say
        numbered = enumerate(self.reasons, start=1)
        return "\n".join(say_reason("letter.reason", number=number, reason=reason) for number, reason in numbered)

    def _obstacle(self, obstacle: str) -> str:
        one, wording = self._first, self.wording
        if one.is_cut:  # nobody knows whether there is something to find
            return obstacle
        phrase = "letter.not_found" if one.target is None or one.is_score else "letter.not_found_for"
        return "\n\n".join(part for part in (say(one, wording, phrase, target=one.target), obstacle) if part)


# All that nicecf fills in; some of it only in some parts.
_FIELDS = (
    *("title", "assessment", "decision", "figures", "closing", "principal_reasons", "other", "ways", "coded_ways"),
    *("nothing_to_change", "obstacle", "named_obstacle", "data", "technical"),
)


def _own_fields(fields: object) -> dict[str, str]:
    if fields is None:
        return {}
    if not isinstance(fields, Mapping) or not all(isinstance(one, str) for pair in fields.items() for one in pair):
        raise OptionError(f"fields must be a dict from names to text, got {fields!r}.")
    return dict(fields)


def _codes(codes: object) -> ReasonCodes | None:
    if codes is None or isinstance(codes, ReasonCodes):
        return codes
    return ReasonCodes(codes)  # type: ignore[arg-type]  # it says what is wrong with anything else


def _reasons_by_row(given: object, n_rows: int) -> list[Sequence[str] | None]:
    if given is None:
        return [None] * n_rows
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise OptionError(f"principal_reasons must be a list of reasons for each row, got {given!r}.")
    if n_rows == 1 and all(isinstance(one, str) for one in given):
        given = [given]
    if len(given) != n_rows:
        raise OptionError(f"principal_reasons has {len(given)} entries for {n_rows} rows; pass a list for each row.")
    for row, reasons in enumerate(given):
        is_list = isinstance(reasons, Sequence) and not isinstance(reasons, str)
        if not is_list or not all(isinstance(one, str) and one.strip() for one in reasons):
            raise OptionError(f"principal_reasons has {reasons!r} for row {row}; pass a list of texts.")
        if len(reasons) > _MOST_REASONS:
            raise OptionError(
                f"principal_reasons has {len(reasons)} for row {row}; name at most {_MOST_REASONS}, the principal ones."
            )
    return list(given)
