"""The words of a feature's name, and what some words tell: in English and German."""

from __future__ import annotations

import re

from nicecf.rules.parameters import Feature

# Words stand in capitals (IDNumber), in camel case (taxRate), or apart (tax_rate); digits end a word.
_WORD = re.compile(r"[^\W\d_]+")
_CASE = re.compile(r"(?<=[^\W\d_A-ZÄÖÜ])(?=[A-ZÄÖÜ])|(?<=[A-ZÄÖÜ])(?=[A-ZÄÖÜ][^\W\d_A-ZÄÖÜ])")

_PLAIN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

# One word is enough; several must all be in the name.
PROTECTED = (
    "sex", "gender", "race", "ethnicity", "ethnic", "age", "dob", "birth", "birthdate", "birthday", "birthplace",
    "birthyear", "religion", "religious", "nationality", "citizenship", "citizen", "foreign", "foreigner",
    "marital status", "personal status", "civil status", "marital", "married", "marriage", "disability", "disabled",
    "handicap", "pregnancy", "pregnant", "pregnancies", "native country", "country origin", "national origin",
    "native language", "mother tongue", "sexual orientation", "skin color", "skin colour", "veteran",
    "geschlecht", "ethnie", "rasse", "hautfarbe", "alter", "altersgruppe", "lebensalter", "geburt", "geburtsdatum",
    "geburtsjahr", "geburtstag", "geburtsort", "geburtsland", "religionszugehoerigkeit", "konfession", "nationalitaet",
    "staatsangehoerigkeit", "staatsbuergerschaft", "familienstand", "zivilstand", "verheiratet", "behinderung",
    "schwerbehinderung", "behindert", "schwerbehindert", "grad der behinderung", "schwangerschaft", "schwanger",
    "herkunft", "herkunftsland", "migrationshintergrund", "muttersprache",
)  # fmt: skip
# The age of one of these is nobody's age, and where it comes from nobody's origin.
_THINGS = {
    "account", "asset", "building", "car", "card", "company", "contract", "credit", "device", "file", "home", "house",
    "item", "loan", "machine", "policy", "product", "property", "vehicle",
    "fahrzeug", "firma", "gebaeude", "geraet", "haus", "konto", "kredit", "maschine", "produkt", "vertrag",
}  # fmt: skip
# Words beside a protected one that leave no doubt of what is meant.
_OF_PEOPLE = {
    "applicant", "at", "band", "bei", "birth", "borrower", "bracket", "class", "client", "code", "country",
    "customer", "date", "day", "employee", "female", "group", "home", "in", "insured", "is", "male", "member", "month",
    "of", "patient", "person", "place", "respondent", "status", "student", "the", "user", "worker", "year", "years",
    "antragsteller", "bewerber", "datum", "der", "des", "gruppe", "jahr", "jahre", "jahren", "kunde", "kunden",
    "land", "maennlich", "mitarbeiter", "versicherter", "weiblich",
}  # fmt: skip

ONE_WAY = (
    "age", "tenure", "seniority", "experience", "months as customer", "months customer", "years customer",
    "months employed", "years employed", "years employment", "months employment", "years service", "years company",
    "years job", "customer since months", "education num", "education years", "years education",
    "alter", "lebensalter", "dienstalter", "dienstjahre", "betriebszugehoerigkeit", "berufserfahrung",
    "beschaeftigungsdauer", "kundenjahre", "jahre betrieb", "jahre kunde",
)  # fmt: skip
# "months since the last order" starts again, and "desired years of experience" is nobody's.
_NOT_ONE_WAY = {"since", "last", "remaining", "left", "max", "min", "required", "desired", "seit", "letzte", "rest"}

# A name with one of these is an identifier whatever the column holds; with the second, if most values are unique.
IDENTIFIER = {"id", "ids", "uuid", "guid", "identifier", "kennung", "kundennummer", "kontonummer", "iban", "ssn"}
NUMBERED = {"number", "no", "nr", "num", "nummer", "key", "code", "name", "index", "phone", "email", "telefon"}

# What may be unique in each row, and is no identifier.
AMOUNTS = {
    "price", "cost", "costs", "income", "salary", "wage", "value", "revenue", "sales", "fee", "tax", "rent", "savings",
    "debt", "population", "distance", "duration", "weight", "size", "preis", "kosten", "einkommen", "gehalt", "lohn",
    "wert", "umsatz", "steuer", "miete", "schulden", "einwohner", "flaeche", "dauer", "gewicht", "groesse",
}  # fmt: skip

# Levels of categories with an order, from low to high; and words that say that a number is the largest, or smallest.
SCALES = (
    ("none", "very low", "low", "moderate", "high", "very high"), ("very low", "low", "medium", "high", "very high"),
    ("low", "normal", "high"), ("xs", "s", "m", "l", "xl"), ("small", "medium", "large"), 
    ("never", "rarely", "sometimes", "often", "always"), ("mild", "moderate", "severe"), ("minor", "moderate", "major"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"), ("bronze", "silver", "gold", "platinum"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("none", "primary", "secondary", "tertiary"), ("primary", "secondary", "bachelor", "master", "phd"),
    ("sehr niedrig", "niedrig", "mittel", "hoch", "sehr hoch"), ("gering", "mittel", "hoch"),
    ("klein", "mittel", "groß"), ("nie", "selten", "manchmal", "oft", "immer"), ("schlecht", "mittel", "gut"),
)  # fmt: skip
AT_MOST = {"under", "below", "less", "up", "until", "most", "fewer", "unter", "bis", "weniger", "hoechstens"}
AT_LEAST = {"over", "above", "more", "least", "older", "plus", "ueber", "ab", "mehr", "mindestens"}

# What names a column that was computed from others.
COMPUTED = {
    "total", "sum", "net", "balance", "difference", "diff", "delta", "overall", "combined", "ratio", "rate", "share",
    "pct", "percent", "percentage", "per", "index", "bmi", "dti", "ltv", "margin", "profit", "amount", "area",
    "gesamt", "summe", "saldo", "differenz", "quote", "anteil", "prozent", "gewinn", "betrag",
}  # fmt: skip

# Of two names that are otherwise alike, the one with a word of the first is at most the one with one of the second.
LOW = {"min", "minimum", "low", "lower", "start", "first", "begin", "used", "paid", "net", "avg", "average", "mean",
       "late", "unteres", "untere", "anfang", "netto"}  # fmt: skip
HIGH = {"max", "maximum", "high", "higher", "upper", "end", "last", "limit", "total", "gross", "worst", "peak", "all",
        "due", "oberes", "obere", "ende", "gesamt", "brutto"}  # fmt: skip


def words_of(name: Feature) -> tuple[str, ...]:
    """The words of a name, in small letters, without umlauts.

    >>> words_of("personal_status-Sex"), words_of("customerID2"), words_of("Staatsangehörigkeit")
    (('personal', 'status', 'sex'), ('customer', 'id'), ('staatsangehoerigkeit',))
    """
    parts = [part for word in _WORD.findall(str(name)) for part in _CASE.split(word)]
    return tuple(part.lower().translate(_PLAIN) for part in parts)


def protected_by(words: tuple[str, ...]) -> str | None:
    """What of a name is commonly protected; None if nothing is.

    >>> protected_by(("native", "country")), protected_by(("page",)), protected_by(("vehicle", "age"))
    ('native country', None, None)
    """
    return None if _THINGS & set(words) else _first_in(PROTECTED, words)


def is_plainly_protected(words: tuple[str, ...]) -> bool:
    """Whether a name says nothing but what is protected, and of whom.

    >>> [is_plainly_protected(words_of(name)) for name in ("age", "customer-age", "personal_status_sex", "race_time")]
    [True, True, True, False]
    """
    protected = {word for phrase in PROTECTED if set(phrase.split()) <= set(words) for word in phrase.split()}
    return protected_by(words) is not None and set(words) <= protected | _OF_PEOPLE


def one_way_by(words: tuple[str, ...]) -> str | None:
    """What of a name says that its numbers only grow; None if nothing does."""
    return None if _NOT_ONE_WAY & set(words) else _first_in(ONE_WAY, words)


def _first_in(phrases: tuple[str, ...], words: tuple[str, ...]) -> str | None:
    there = set(words)
    return next((phrase for phrase in phrases if there.issuperset(phrase.split())), None)
