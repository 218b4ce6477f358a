"""Letters: every template and part, several ways in one letter, what the sender fills in, and nothing beside the truth."""

import re
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest

from nicecf import NICE, Constraints, FileError, OptionError, ReasonCodes, Wording, from_score
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.support.phrases import Statement
from nicecf.views.letter_files import write_letters
from nicecf.views.words.formatting import _OBSTACLES
from nicecf.views.words.templates import Template, shipped_names
from reading import LANGUAGES, edited, number, pattern, read_lines, readable

TEMPLATES = ["eu", "eu_authority", "plain", "us_adverse_action"]
FIELDS = {"role": "It prepared the decision.", "reference": "file 7", "creditor": "The bank"}
REASONS = ["income too low for the amount", "late payments"]
# What only a data scientist knows, or Python writes.
INTERNAL = (
    *("donor", "training", "time_budget", "share_donor", "min_count", "robust_to", "justified", "counterfactual"),
    *("min_probability", "Constraints", "'", "None", "nan", "=", "{", "}", "_"),
)


def applicants():
    return pd.DataFrame(
        {
            "late_payments": [3, 0, 1, 0, 5, 2],
            "yearly_income": [12_500, 64_000, 23_700, 31_000, 9_800, 47_250],
            "home": ["rent", "own", "rent", "own", "rent", None],
            "is_married": [False, True, True, False, False, True],
        }
    )


def approve(X):
    late, income = np.asarray(X["late_payments"], dtype=float), np.asarray(X["yearly_income"], dtype=float)
    p = (0.3 - late / 10 + income / 100_000 + 0.1 * (np.asarray(X["home"]) == "own")).clip(0.01, 0.99)
    return np.column_stack([p, 1 - p])


CLASSES = ["approved", "denied"]
CODES = {
    ("late_payments", "decrease"): ("R01", "Delinquent credit obligations"),
    ("late_payments", "increase"): ("X01", "Few late payments"),
    ("yearly_income", "increase"): ("R12", "Income insufficient"),
    ("yearly_income", "decrease"): ("X12", "High income"),
    ("home", "change"): ("R20", "Type of residence"),
    ("is_married", "change"): ("R30", "Household"),
}


@pytest.fixture(scope="module")
def nice():
    X = applicants()
    return NICE(approve, classes=CLASSES).fit(X, np.array(CLASSES)[approve(X).argmax(axis=1)])


@pytest.fixture(scope="module")
def denied(nice):
    """A row that is denied, with two ways out."""
    return nice.explain(applicants()[:1], target_class="approved", n_counterfactuals=2)


def letters_of(cfs, template="plain", **options):
    """With all that any of the templates asks for."""
    rows = len(set(cfs.rows.tolist()))
    return cfs.letters(
        template, **({"fields": FIELDS, "principal_reasons": [REASONS] * rows, "codes": CODES} | options)
    )


# --- templates and parts ----------------------------------------------------------------------------------------------


def scores():
    X = applicants()
    score = lambda X: np.asarray(X["yearly_income"], dtype=float) / 10
    return NICE(from_score(score, kind="score")).fit(X, score(X)), X


@pytest.fixture(scope="module")
def parts(nice, denied):
    """A result for each part of a template, and one with scores for each that there is."""
    regressor, X = scores()
    bound = Constraints(immutable=list(X))
    return {
        "changed": denied[:1],
        "several": denied,
        "unchanged": nice.explain(X[1:2], target_class="approved"),
        "not_found": nice.explain(X[:1], target_class="approved", constraints=bound),
        "score changed": regressor.explain(X[:1], target_score=(3_000, None)),
        "score unchanged": regressor.explain(X[1:2], target_score=(3_000, None)),
        "score not_found": regressor.explain(X[:1], target_score=(9_000, None)),
        "score nearest": regressor.explain(X[:1], target_score=(9_000, None)).nearest(),
    }


PARTS = [
    *("changed", "several", "unchanged", "not_found"),
    *("score changed", "score unchanged", "score not_found", "score nearest"),
]


def test_all_templates_are_there_in_every_language():
    for language in LANGUAGES:
        assert shipped_names(language) == TEMPLATES


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_every_template_reads_as_a_letter(parts, part, template, language):
    (letter,) = letters_of(parts[part], template, wording=Wording(language=language))
    assert not re.search(r"[{}]|\n\n\n| \n|None|\bnan\b|\bTrue\b", letter)
    assert letter == letter.strip()
    if template != "eu_authority":  # the authority gets versions, fingerprints and options
        assert "_" not in letter
        assert "%" not in letter
    phrases = Wording(language=language).phrases
    head = "score.letter_" if part.startswith("score") else "letter."
    if part.endswith("unchanged"):
        assert phrases[f"{head}unchanged"] in letter
        assert phrases["letter.closing"] not in letter
    elif part.endswith("not_found"):
        closing = phrases[f"{head}closing_of_none"]
        assert (closing in letter) == (template != "us_adverse_action")
    else:
        assert phrases[f"{head}closing_of_several" if part == "several" else f"{head}closing"] in letter


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_nothing_is_said_of_reasons_where_nothing_has_to_change(parts, template, language):
    for part in ("unchanged", "score unchanged"):
        (letter,) = letters_of(parts[part], template, wording=Wording(language=language), principal_reasons=None)
        assert not re.search("reason|grund|gründe|adverse|could not|konnte|instead|statt", letter, re.IGNORECASE)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", ["plain", "eu", "eu_authority"])
def test_every_way_of_a_letter_is_true(nice, template, language):
    """The changes of each way, put into the row, give the decision that the letter names."""
    X, wording = applicants(), Wording(language=language)
    cfs = nice.explain(X, n_counterfactuals=2)
    called, phrases = readable(X.columns), wording.phrases
    told = 0
    for row, letter in enumerate(cfs.letters(template, wording=wording, fields=FIELDS)):
        decided = pattern(phrases["letter.assessment"], decision=".+")
        if template == "eu_authority":  # it does not speak to the person
            decided = r"(?:is|lautet): (?P<decision>\w+)\."
        decision = re.search(decided, letter)["decision"]
        assert decision == CLASSES[approve(X[row : row + 1]).argmax()]
        heads = [phrases[f"letter.{one}{end}"] for one in ("otherwise", "either", "or") for end in ("", "_one")]
        ends = "|".join(pattern(one, other=r"\w+", count=r"\d+") for one in heads)
        ways = re.split("|".join(re.sub(r"\(\?P<\w+>", "(?:", one) for one in ends.split("|")), letter)[1:]
        named = [
            re.search(r"[\"„](\w+)[\"“]", one[0])[1] for one in re.finditer(re.sub(r"\(\?P<\w+>", "(?:", ends), letter)
        ]
        assert len(ways) == (cfs.rows == row).sum() == len(named)
        for way, other in zip(ways, named, strict=True):
            changes = read_lines(way, called, language, section="letter")
            assert changes
            after = edited(X[row : row + 1], [changes], language)
            assert CLASSES[approve(after).argmax()] == other != decision
            told += 1
    assert told == len(cfs) > len(X)


def test_several_ways_are_in_one_letter(denied):
    (letter,) = denied.letters()
    assert letter.startswith("Ways to a different decision\n\n")
    assert "each of the following alone would have led to a different decision.\n\nEither " in letter
    assert letter.count("\n\nEither ") == letter.count("\n\nOr ") == 1
    assert "These are some ways to a different decision. They are not a list of the reasons" in letter
    assert len(denied.texts("letter")) == 2
    first, second = (one.text("letter") for one in denied)
    for alone in (first, second):
        assert alone.startswith("One way to a different decision\n\n")
        for line in re.findall("^- .+$", alone, re.MULTILINE):
            assert line in letter


def test_letters_are_in_the_order_of_the_rows(nice):
    X = applicants()
    cfs = nice.explain(X, n_counterfactuals=2)
    letters = cfs.letters("eu", fields=FIELDS)
    assert len(letters) == len(X)
    for row, letter in enumerate(letters):
        assert f"\n- yearly income: {X['yearly_income'][row]:,}\n" in letter
    assert cfs[:0].letters() == []
    assert cfs[0].letter("eu", fields=FIELDS).splitlines()[2:12] == letters[0].splitlines()[2:12]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_data_are_those_of_the_row(nice, language):
    X, phrases = applicants(), Wording(language=language).phrases
    letter = nice.explain(X[5:6]).letters("eu", wording=Wording(language=language), fields=FIELDS)[0]
    said = dict(re.findall("^- (.+): (.+)$", letter, re.MULTILINE)[:4])
    assert list(said) == ["late payments", "yearly income", "home", "is married"]
    assert number(said["yearly income"], language) == 47_250
    assert said["home"] == phrases["letter.missing"]
    assert said["is married"] == phrases["value.true"]


def test_an_authority_is_told_by_whom_and_with_which_options():
    X = applicants()
    y = np.array(CLASSES)[approve(X).argmax(axis=1)]
    cfs = NICE(approve, classes=CLASSES, decision={"denied": 0.6}, optimize="proximity").fit(X, y).explain(X[:1])
    letter = cfs.letters("eu_authority", fields=FIELDS)[0]
    assert letter.startswith("Explanation of a decision: file 7\n\n1. The role of the system\nIt prepared")
    assert f"\n- nicecf: {version('nicecf')}\n" in letter
    assert re.search(r"^- fingerprint: model: sha256:\w{64}$", letter, re.MULTILINE)
    assert "\n- option: optimize: proximity" in letter
    assert re.search(
        r"In figures: .+ would have been .+ % instead of .+ % \(the decision is denied from 60 % on\)", letter
    )


# --- not found --------------------------------------------------------------------------------------------------------

RULES = {
    "immutable": {"constraints": Constraints(immutable=list(applicants()))},
    "max_changes": {"constraints": Constraints(max_changes=1, ranges={"yearly_income": (None, 15_000)})},
    "ranges": {"constraints": Constraints(ranges={"yearly_income": (None, 15_000)}, immutable=["late_payments"])},
    "relations": {"constraints": Constraints(relations=["late_payments > 20"])},
    "min_probability": {"min_probability": 0.9999},
    "robust_to": {"robust_to": [lambda X: np.tile([0.1, 0.9], (len(X), 1))]},
    "min_count": {"min_count": 5},
    "several": {"constraints": Constraints(immutable=list(applicants())), "min_probability": 0.9999},
}


def refused_by(name):
    X = applicants()
    y = np.array(CLASSES)[approve(X).argmax(axis=1)]
    cfs = NICE(approve, classes=CLASSES, **RULES[name]).fit(X, y).explain(X[:1], target_class="approved")
    assert not cfs.found[0]
    return cfs


def assert_without_internal_words(letter):
    for word in INTERNAL:
        assert word not in letter.replace("person's", "person"), (word, letter)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", RULES)
def test_what_stands_in_the_way_is_said_without_internal_words(name, language):
    for template in ("plain", "eu", "us_adverse_action"):
        (letter,) = letters_of(refused_by(name), template, wording=Wording(language=language))
        assert_without_internal_words(letter)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_reason_has_words_for_a_letter(language):
    """Those of all methods, with and without a rule that could be relaxed."""
    kinds = [key.partition(".")[2] for key in Wording().phrases if key.startswith("reason.")]
    assert {kind for some in _OBSTACLES.values() for kind in some} <= set(kinds)
    batch = refused_by("immutable").batch
    said = set()
    for kind in kinds:
        reasons, relaxations = np.empty(1, dtype=object), np.empty(1, dtype=object)
        reasons[0] = Statement(f"reason.{kind}")
        cfs = Counterfactuals(replace(batch, reasons=reasons, relaxations=relaxations))
        letter = letters_with_reason(cfs, language)
        assert_without_internal_words(letter)
        said.add(letter)
    assert len(said) == 7


def letters_with_reason(cfs, language):
    from nicecf.views.words.formatting import Formatter, obstacle

    formatter = Formatter(Wording(language=language), is_letter=True)
    return obstacle(cfs.batch.reasons[0].kind, cfs.batch.relaxations[0], formatter)


def test_a_rule_that_stands_in_the_way_is_named_and_what_would_do():
    letter = refused_by("ranges")[0].text("letter")
    said = "a limit that we set for the changes that we look for: yearly income may only change to at most 15,000."
    assert f"{said} Without this limit, there" in letter
    assert "the result must be clear enough.\n" in refused_by("min_probability")[0].text("letter")
    assert "another of our models must agree as well.\n" in refused_by("robust_to")[0].text("letter")
    assert "We looked for changes to this information" in letter
    assert "Ways" not in letter


@pytest.mark.parametrize(
    ("language", "said", "named"),
    [
        ("en", "are limits that we set for such changes.", "yearly income may not change. Without this limit"),
        (
            "de",
            "Grenzen, die wir solchen Änderungen setzen.",
            "yearly income darf sich nicht ändern. Ohne diese Grenze",
        ),
    ],
)
def test_what_may_not_change_is_named_only_where_the_template_asks_for_it(tmp_path, language, said, named):
    wording, cfs = Wording(language=language), refused_by("immutable")
    for template in TEMPLATES:
        assert "income may not" not in (letters_of(cfs, template, wording=wording)[0])
    (letter,) = cfs.letters(wording=wording)
    assert said in letter
    assert "yearly" not in letter
    assert letter == cfs[0].text("letter", wording=wording)
    (letter,) = letters_of(cfs, own(tmp_path, OWN.replace("{obstacle}", "{named_obstacle}")), wording=wording)
    assert named in letter


def test_a_letter_does_not_tell_a_person_that_two_rules_contradict_each_other():
    X = applicants()
    y = np.array(CLASSES)[approve(X).argmax(axis=1)]
    own = Constraints(ranges={"yearly_income": (0, 1000)}, immutable=["late_payments"])
    nice = NICE(approve, classes=CLASSES, constraints=own).fit(X, y)
    contradicting = Constraints(ranges={"yearly_income": (90_000, 99_000)})
    cfs = nice.explain(X[:1], target_class="approved", constraints=[contradicting])
    assert "two rules contradict each other" in cfs.reasons[0]
    (letter,) = cfs.letters()
    assert "are limits that we set for such changes." in letter
    assert "income" not in letter


def test_a_rule_about_several_features_does_not_name_one_that_may_not_change(tmp_path):
    X = applicants()
    y = np.array(CLASSES)[approve(X).argmax(axis=1)]
    for rules in (
        Constraints(groups=[["yearly_income", "home"]], immutable=["home", "late_payments"]),
        Constraints(relations=["late_payments * 1000 + yearly_income <= 15600"], immutable=["late_payments"]),
    ):
        nice = NICE(lambda X: approve(X.assign(home="rent")), classes=CLASSES, constraints=rules, justified=False)
        cfs = nice.fit(X, y).explain(X[:1], target_class="approved")
        assert cfs.relaxations[0].rule.startswith(("'yearly", "late"))
        assert "are limits that we set" in cfs.letters()[0]
        (letter,) = letters_of(cfs, own(tmp_path, OWN.replace("{obstacle}", "{named_obstacle}")))
        assert "Without this limit" in letter


# --- templates of one's own -------------------------------------------------------------------------------------------

OWN = "[changed]\n{ways}\n[nearest]\n{ways}\n[unchanged]\n{decision}\n[not_found]\n{obstacle}\n"


def own(folder, text):
    path = folder / "mine.txt"
    path.write_text(text, "utf-8")
    return path


def test_a_copy_of_a_template_makes_the_same_letter(tmp_path, denied):
    from nicecf.views.words import templates

    for name in TEMPLATES:
        shipped = templates._FOLDER / "en" / f"{name}.txt"
        path = own(tmp_path, shipped.read_text("utf-8"))
        for given in (path, str(path)):
            assert letters_of(denied, given) == letters_of(denied, name)


def test_a_template_of_ones_own_has_fields_of_ones_own_and_braces(tmp_path, denied):
    path = own(tmp_path, "# not in the letter\n" + OWN.replace("{ways}", "Dear {who}, {{sic}}:  \n#nor this\n{ways}"))
    (letter,) = denied.letters(path, fields={"who": "Ms {X}", "unused": "-"})
    assert letter.startswith("Dear Ms {X}, {sic}:\nWith everything else unchanged, each")
    assert "nor this" not in letter


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("{ways}", "{wasy}"), r"has the field \{wasy\}, which nothing is known of: pass fields=.*'closing'.*Did you mean 'ways'\?"),
        (OWN.replace("{ways}", "{obstacle}", 1), r"has the field \{obstacle\}, which nothing is known of"),
        (OWN.replace("[nearest]\n{ways}\n", ""), r"has nothing for 'nearest'; its parts are \[changed\], \[nearest\], \[unchanged\]"),
        (OWN.replace("{decision}", " "), r"has nothing for 'unchanged'; its parts are"),
        (OWN + "[found]\nx\n", r"has the part \[found\], which is not known; its parts are \[changed\]"),
        ("Dear all\n" + OWN, r"has text before its first part; write \[changed\]"),
        (OWN.replace("{ways}", "{ways"), r"has braces in \[changed\] that are not a field"),
        (OWN.replace("{ways}", "ways}"), r"has braces in \[changed\] that are not a field"),
        (OWN.replace("{ways}", "{}"), r"has \{\} in \[changed\]; a field is a name in braces"),
        (OWN.replace("{ways}", "{ways!r}"), r"has \{ways\} in \[changed\]; a field is a name in braces"),
        (OWN.replace("{ways}", "{ways:>9}"), r"has \{ways\} in \[changed\]; a field is a name in braces"),
        (OWN.replace("{ways}", "{ways.__class__}"), r"in \[changed\]; a field is a name in braces"),
        (OWN.replace("{ways}", "{ways[0]}"), r"in \[changed\]; a field is a name in braces"),
        ("", "has nothing for 'changed', 'nearest', 'unchanged', 'not_found'"),
    ],
)  # fmt: skip
def test_a_template_with_a_mistake_is_refused(tmp_path, denied, text, message):
    path = own(tmp_path, text)
    with pytest.raises(OptionError, match=message) as caught:
        denied.letters(path)
    assert "mine.txt" in str(caught.value)


def test_a_template_that_is_not_there(tmp_path, denied):
    with pytest.raises(
        OptionError, match=r"template='plian' is not known; choose one of 'eu', .*Did you mean 'plain'\?"
    ):
        denied.letters("plian")
    with pytest.raises(OptionError, match=r"template=3 is not known"):
        denied.letters(3)
    for path in (tmp_path / "none.txt", str(tmp_path / "none.txt"), tmp_path):
        with pytest.raises(FileError, match=r"the template .* cannot be read: .* Pass a text file in UTF-8"):
            denied.letters(path)
    (tmp_path / "latin.txt").write_bytes(OWN.replace("{ways}", "für {ways}").encode("latin-1"))
    with pytest.raises(FileError, match="Pass a text file in UTF-8"):
        denied.letters(tmp_path / "latin.txt")


def test_a_language_of_ones_own_has_the_templates_in_english(tmp_path):
    assert Template.of("plain", tmp_path / "own.toml") is Template.of("plain", "en")
    assert Template.of("plain", "de") is not Template.of("plain", "en")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (None, r"the template eu has the field \{role\}, which nothing is known of: pass fields=\{'role': ...\}"),
        ({"rolle": "x"}, r"has the field \{role\}.*Did you mean 'rolle'\?"),
        ({"role": 3}, "fields must be a dict from names to text, got"),
        ({3: "x"}, "fields must be a dict from names to text, got"),
        ("role", "fields must be a dict from names to text, got 'role'"),
        ({"role": "x", "ways": "x"}, "fields has 'ways', which nicecf fills in itself; choose another name"),
    ],
)
def test_fields_that_are_missing_or_wrong(denied, fields, message):
    with pytest.raises(OptionError, match=message):
        denied.letters("eu", fields=fields)


# --- principal reasons and codes --------------------------------------------------------------------------------------


def test_principal_reasons_are_the_senders_and_changes_only_labelled(denied):
    letter = denied[0].letter("us_adverse_action", fields=FIELDS, principal_reasons=REASONS, codes=CODES)
    assert (
        "reasons for the decision:\n1. income too low for the amount\n2. late payments\n\nThe following is not"
        in letter
    )
    assert letter.startswith("Notice of action taken\n\nThe bank could not grant")
    coded = re.findall(r"^- (\w\d\d) (.+): (.+) (\S+) instead of (\S+)$", letter, re.MULTILINE)
    assert [one[2] for one in coded] == [
        one.partition(":")[0][2:] for one in denied[0].text("bullets").splitlines()[1:]
    ]
    for code, reason, feature, after, before in coded:
        name = feature.replace(" ", "_")
        way = "change"
        if name in ("late_payments", "yearly_income"):
            way = "increase" if number(after) > number(before) else "decrease"
        assert CODES[name, way] == (code, reason)


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        (None, r"has \{principal_reasons\}: pass principal_reasons= .*which are yours and not the counterfactual's, from one to 4"),
        ([[]], r"pass principal_reasons= .*which are yours"),
        ([["a", "b", "c", "d", "e"]], "principal_reasons has 5 for row 0; name at most 4, the principal ones"),
        ([["a", " "]], r"principal_reasons has \['a', ' '\] for row 0; pass a list of texts"),
        ([["a", 3]], r"principal_reasons has \['a', 3\] for row 0; pass a list of texts"),
        ([["a"], ["b"]], "principal_reasons has 2 entries for 1 rows; pass a list for each row"),
        ("late", "principal_reasons must be a list of reasons for each row, got 'late'"),
        (3, "principal_reasons must be a list of reasons for each row, got 3"),
    ],
)  # fmt: skip
def test_principal_reasons_that_are_missing_or_wrong(denied, reasons, message):
    with pytest.raises(OptionError, match=message):
        letters_of(denied, "us_adverse_action", principal_reasons=reasons)


def test_each_row_has_its_own_principal_reasons(nice):
    cfs = nice.explain(applicants()[[True, False, True, False, True, False]], target_class="approved")
    letters = letters_of(cfs, "us_adverse_action", principal_reasons=[["a"], ["b", "c"], ["d"] * 4])
    for letter, last in zip(letters, ("1. a", "2. c", "4. d"), strict=True):
        assert f"\n{last}\n\n" in letter


def test_a_change_without_a_code_is_refused_by_name_and_direction(denied):
    changed = {change.feature for one in denied for change in one.changes}
    assert changed
    for feature in changed:
        less = {key: value for key, value in CODES.items() if key[0] != feature}
        way = "change" if feature in ("home", "is_married") else "(increase|decrease)"
        with pytest.raises(
            OptionError, match=rf"codes has none for \('{feature}', '{way}'\), which .* no letter was written"
        ):
            letters_of(denied, "us_adverse_action", codes=less)
    with pytest.raises(OptionError, match=r"the template has \{coded_ways\}: pass codes= .*your table of codes"):
        letters_of(denied, "us_adverse_action", codes=None)


def test_a_code_for_a_change_in_either_direction_will_do():
    codes = ReasonCodes({("a", "change"): ("1", "x"), ("a", "decrease"): ("2", "y"), ("3", "increase"): ("4", "z")})
    assert codes.of("a", 1) == codes.of("a", 0) == ("1", "x")
    assert codes.of("a", -1) == ("2", "y")
    assert codes.of(3, 1) == ("4", "z")
    assert codes.of(3, -1) is codes.of(3, 0) is codes.of("b", 0) is None


def test_codes_from_a_file(tmp_path, denied):
    lines = [f'{feature},{way},{code},"{text}"' for (feature, way), (code, text) in CODES.items()]
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(["feature,direction,code,wording", *lines]))
    codes = ReasonCodes.from_csv(path)
    assert codes == ReasonCodes(CODES)
    assert letters_of(denied, "us_adverse_action", codes=codes) == letters_of(denied, "us_adverse_action")
    path.write_text("feature,code,wording\na,b,c\n")
    with pytest.raises(
        FileError, match=r"codes.csv has no column 'direction'; a table of codes has the columns feature"
    ):
        ReasonCodes.from_csv(path)
    for missing in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(FileError, match="cannot be read: .* Pass a CSV file with the columns"):
            ReasonCodes.from_csv(missing)
    path.write_text("")
    with pytest.raises(FileError, match="cannot be read"):
        ReasonCodes.from_csv(path)
    path.write_text("feature,direction,code,wording\na,up,b,c\n")
    with pytest.raises(OptionError, match=r"codes has the key \('a', 'up'\); it must be a dict"):
        ReasonCodes.from_csv(path)


@pytest.mark.parametrize(
    "codes", [3, "a", {"a": ("1", "x")}, {("a", "up"): ("1", "x")}, {("a", "change"): "x"}, {("a", "change"): ("x",)}]
)
def test_codes_that_are_no_table_are_refused(denied, codes):
    with pytest.raises(OptionError, match=r"codes (must be|has) .*\(feature, 'increase' \| 'decrease' \| 'change'\)"):
        letters_of(denied, "us_adverse_action", codes=codes)


def test_a_category_over_several_columns_has_one_code():
    X = pd.DataFrame({"home_own": [0, 1, 0] * 20, "home_rent": [1, 0, 0] * 20, "home_family": [0, 0, 1] * 20})
    model = lambda X: np.column_stack([1 - X["home_own"], X["home_own"]]) * 0.8 + 0.1
    nice = NICE(model, classes=["denied", "approved"], constraints=Constraints(groups="auto"))
    cfs = nice.fit(X, ["denied", "approved", "denied"] * 20).explain(X[:1], target_class="approved")
    letter = letters_of(cfs, "us_adverse_action", codes={("home", "change"): ("R20", "Residence")})[0]
    assert "\n- R20 Residence: home own instead of rent\n" in letter
    with pytest.raises(OptionError, match=r"codes has none for \('home', 'change'\)"):
        letters_of(cfs, "us_adverse_action", codes={})


# --- whose letter it is -----------------------------------------------------------------------------------------------


def test_letters_are_in_the_order_of_the_rows_however_these_were_chosen(nice):
    X = applicants()
    cfs = nice.explain(X)
    for chosen in ([2, 0], [1, 1, 0], list(range(len(X)))[::-1]):
        letters = cfs[chosen].letters()
        assert letters == [cfs[row].letter() for row in dict.fromkeys(chosen)]


def test_no_letter_takes_the_file_of_another(tmp_path):
    labels = ["a", "a", "a-1", "A", "../a", "a?", "", "x" * 300]
    written = write_letters([f"{n}" for n in range(len(labels))], labels, tmp_path, language="en")
    texts = [path for path in written if path.suffix == ".txt"]
    assert [path.read_text() for path in texts] == [f"{n}\n" for n in range(len(labels))]
    assert {path.parent for path in written} == {tmp_path}
    assert len({path.name.lower() for path in written}) == len(written) == 2 * len(labels)


def test_letters_of_other_rows_in_the_folder_are_an_error(tmp_path):
    write_letters(["1", "2"], ["Anna", "Ben"], tmp_path, language="en")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(
        FileError,
        match=r"holds letters that are not of these rows, such as those of an earlier call: 'letter-Ben.html', "
        r"'letter-Ben.txt'. Move them away, or give another folder, so that nobody sends them by mistake.",
    ):
        write_letters(["3"], ["Anna"], tmp_path, language="en")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    # The same rows, more of them, and what is no letter.
    for name in ("letter-head.png", "letters.txt", "notes.txt"):
        (tmp_path / name).write_text("mine")
    write_letters(["3", "4", "5"], ["Anna", "Ben", "Cleo"], tmp_path, language="en")
    assert (tmp_path / "letter-Anna.txt").read_text() == "3\n"
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_decision_that_only_becomes_clearer_is_not_called_a_different_one(language):
    X, wording = applicants(), Wording(language=language)
    clear = float(np.sort(approve(X).max(axis=1))[-2])
    y = np.array(CLASSES)[approve(X).argmax(axis=1)]
    nice = NICE(approve, classes=CLASSES, min_probability=clear, justified=False).fit(X, y)
    is_vague = (y == "approved") & (approve(X).max(axis=1) < clear)
    cfs = nice.explain(X[is_vague], target_class="approved")
    assert cfs.found.any()
    for one in cfs[cfs.found]:
        for text in (one.text(wording=wording), one.text("bullets", wording=wording), one.letter(wording=wording)):
            assert not re.search(
                "approved (instead of|statt( auf)?) approved|different decision|anderen Entscheidung", text
            )
        with pytest.raises(OptionError, match="but it is already 'approved', only not clearly enough"):
            letters_of(cfs[cfs.found][:1], "us_adverse_action")


def test_an_adverse_action_needs_to_know_what_was_wanted(nice):
    with pytest.raises(OptionError, match=r"say which was, with explain\(X, target_class=\.\.\.\)"):
        letters_of(nice.explain(applicants()[:1]), "us_adverse_action")


def test_who_asked_for_one_decision_is_told_which_was_not_found(nice):
    bound = Constraints(immutable=list(applicants()))
    named, other = (
        nice.explain(applicants()[:1], target_class=target, constraints=bound)[0].letter()
        for target in ("approved", "other")
    )
    assert 'would have led to the decision "approved", and found none' in named
    assert "would have led to a different decision, and found none" in other


@pytest.mark.parametrize(
    ("language", "opening"),
    [("en", "was stopped before it was complete"), ("de", "wurde beendet, bevor sie vollständig war")],
)
def test_a_search_that_was_stopped_is_not_told_as_one_that_found_none(nice, language, opening):
    income = list(applicants())
    income.remove("yearly_income")
    ruled = Constraints(immutable=income)
    cfs = nice.explain(applicants(), target_class="approved", constraints=ruled, time_budget=1e-9)
    stopped = cfs[~cfs.found]
    assert len(stopped)
    assert all("cut_search" in kinds for kinds in stopped.note_kinds)
    for letter in stopped.letters(wording=Wording(language=language)):
        assert opening in letter
        assert "found none" not in letter
        assert "keine gefunden" not in letter


def test_a_field_that_is_mistyped_in_a_part_that_is_not_used_is_an_error_too(denied, tmp_path):
    template = tmp_path / "own.txt"
    template.write_text("[changed]\n{ways}\n[nearest]\n{ways}\n[unchanged]\n{title}\n[not_found]\n{obstakle}\n")
    with pytest.raises(OptionError, match=r"\{obstakle\}.* Did you mean 'obstacle'\?"):
        denied.letters(template)
