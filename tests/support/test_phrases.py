"""Languages: the same phrases in each of them, with the same fields, and the same templates of letters."""

import re
import tomllib
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

import nicecf
from nicecf.support.phrases import Statement, Voice, shipped
from nicecf.views.words.templates import Part, Template, shipped_names

PHRASES = Path(nicecf.__file__).parent / "support" / "phrases"
LANGUAGES = sorted(path.stem for path in PHRASES.glob("*.toml"))


def phrases_in(language):
    sections = tomllib.loads((PHRASES / f"{language}.toml").read_text("utf-8"))
    return {f"{section}.{name}": phrase for section, entries in sections.items() for name, phrase in entries.items()}


def fields_of(phrase):
    return sorted({name for _, name, _, _ in Formatter().parse(phrase) if name is not None})


def test_english_and_german_come_with_nicecf():
    assert LANGUAGES == ["de", "en"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_phrase_is_missing_in_a_language_and_none_is_there_for_nothing(language):
    # What a file lacks would be said in English: that is for files of users, not for ours.
    assert sorted(phrases_in(language)) == sorted(phrases_in("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_has_the_fields_of_the_english_one(language):
    english = phrases_in("en")
    for key, phrase in phrases_in(language).items():
        assert fields_of(phrase) == fields_of(english[key]), key


def test_german_is_not_english():
    english, german = phrases_in("en"), phrases_in("de")
    words = {key: re.findall(r"[A-Za-zÄÖÜäöüß]{3,}", re.sub(r"\{\w+\}", "", phrase)) for key, phrase in english.items()}
    same = [key for key in english if words[key] and english[key] == german[key]]
    # What is the same on purpose: a name of a parameter, or a word that both languages have.
    assert all(len(words[key]) <= 2 for key in same), same


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_of_a_language_are_read_in_one_way(language):
    phrases = shipped(language)
    assert phrases["number.thousands"] != phrases["number.decimal_point"]
    voice = Voice(phrases)
    said = voice(Statement("search.neighbors", {"found": 1_200, "asked": 50_000}))
    assert [int(one.replace(phrases["number.thousands"], "")) for one in re.findall(r"[\d.,]+", said)] == [1200, 50000]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_template_with_the_same_fields(language):
    assert shipped_names(language) == shipped_names("en")
    for name in shipped_names("en"):
        english, other = Template.of(name, "en"), Template.of(name, language)
        for part in get_args(Part):
            assert sorted(other.fields(part)) == sorted(english.fields(part)), (name, part)
            has_words = re.search(r"\w", re.sub(r"\{\w+\}", "", english.parts[part]))
            assert language == "en" or not has_words or other.parts[part] != english.parts[part]
