"""The language of rules over several columns: what it means, what it refuses, and that no text can break it."""

import math
import operator
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nicecf.exceptions import OptionError
from nicecf.rules.expressions import Expression, Relation, check_columns
from nicecf.rules.expressions.parser import MAX_DEPTH
from nicecf.rules.expressions.predicates import TextComparison
from nicecf.rules.expressions.tokens import MAX_TOKENS

NAN = math.nan
COLUMNS = ("x1", "b_2", "größe")
SIGNS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne}


def value(text, **columns):
    """The only value of an expression."""
    arrays = {name: np.array([number], dtype=float) for name, number in columns.items()}
    return Expression.parse(text).evaluated(arrays)[0]


def holds(text, **columns):
    """Whether a relation holds for one row."""
    arrays = {
        name: np.array([cell], dtype=float if isinstance(cell, (int, float)) else object)
        for name, cell in columns.items()
    }
    return bool(Relation.parse(text).holds(arrays)[0])


def refusal(kind, text):
    with pytest.raises(OptionError) as error:
        kind.parse(text)
    return str(error.value)


# Values of expressions.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", 2 + 3 * 5),
        ("(a + b) * c", (2 + 3) * 5),
        ("a - b - c", 2 - 3 - 5),
        ("a - (b - c)", 2 - (3 - 5)),
        ("a / b / c", 2 / 3 / 5),
        ("a / (b / c)", 2 / (3 / 5)),
        ("a / b * c", 2 / 3 * 5),
        ("-a * b", -6),
        ("a - -b", 5),
        ("--a", 2),
        ("-(a + b)", -5),
        ("1.5e2 * a + .5 + 2.", 302.5),
        ("round(a / b, 2)", 0.67),
        ("round(a / b)", 1),
        ("round(123 * a, -2)", 200),
        ("min(a, b, c) - max(c, a)", -3),
        ("min(-a, b)", -2),
        ("\ta\n+\nb", 5),
    ],
)
def test_an_expression_is_computed_as_in_arithmetic(text, expected):
    assert value(text, a=2, b=3, c=5) == pytest.approx(expected, rel=1e-15)


def test_halves_are_rounded_to_the_even_neighbor():
    values = Expression.parse("round(a)").evaluated({"a": np.array([0.5, 1.5, 2.5, -0.5])})
    assert values.tolist() == [0, 2, 2, 0]


def test_what_has_no_decimals_to_lose_stays_when_it_is_rounded():
    assert value("round(a, 15)", a=1e300) == 1e300


@pytest.mark.parametrize("text", ["a / b", "0 / b", "a / (b - b)", "1 + a / b", "max(1, a / b)"])
def test_division_by_zero_gives_nan(text):
    assert math.isnan(value(text, a=1.0, b=0.0))


@pytest.mark.parametrize("text", ["a + b", "b * 0", "min(a, b)", "max(b, a)", "round(b, 1)", "-b"])
def test_a_missing_value_gives_a_missing_one(text):
    assert math.isnan(value(text, a=1.0, b=NAN))


def test_values_are_computed_in_float64_whatever_the_columns_are():
    columns = {"a": np.array([0.1, 3], dtype=np.float32), "b": np.array([True, False]), "c": np.array([1, 2])}
    values = Expression.parse("a + b + c").evaluated(columns)
    assert values.dtype == np.float64
    assert values.tolist() == [float(np.float32(0.1)) + 1 + 1, 5.0]


def test_an_expression_never_hands_out_the_array_that_it_was_given():
    a = np.array([1.0])
    Expression.parse("a").evaluated({"a": a})[0] = 5
    assert a[0] == 1


def test_labels_that_are_numbers_can_be_computed_with_but_text_cannot():
    ages = np.array([30, True, None, pd.NA], dtype=object)
    assert Expression.parse("age + 1").evaluated({"age": ages}).tolist() == pytest.approx(
        [31, 2, NAN, NAN], nan_ok=True
    )
    with pytest.raises(OptionError, match="'age' is used as a number, .* but has the value '30'"):
        Expression.parse("age + 1").evaluated({"age": np.array(["30"], dtype=object)})


def test_columns_are_named_once_in_the_order_of_their_appearance():
    assert Expression.parse("max(b, a) / b + `a b`").columns == ("b", "a", "a b")
    assert Relation.parse('c == "x" implies a <= c2 + a').columns == ("c", "a", "c2")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("`hours-per-week`", "hours-per-week"),
        ("`a.b`", "a.b"),
        ("`2nd`", "2nd"),
        ("`min`", "min"),
        ("`implies`", "implies"),
        ("`a``b`", "a`b"),
        ("`a`", "a"),
        ("größe", "größe"),
        ("年収_2", "年収_2"),
        ("आयु", "आयु"),  # its vowel sign is not a letter to Python's re
        ("minimum", "minimum"),
        ("impliesx", "impliesx"),
    ],
)
def test_any_column_can_be_named(text, name):
    assert Expression.parse(f"{text} + 1").columns == (name,)
    assert Expression.parse(str(Expression.parse(text))).columns == (name,)


def test_digits_are_those_of_the_last_rounding():
    digits = [
        Expression.parse(text).digits for text in ("round(a, 2)", "(round(a))", "round(a, -1)", "round(a, 2) + 1")
    ]
    assert digits == [2, 0, -1, None]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a+b", "a + b"),
        ("((a))", "a"),
        ("(a*b)+c", "a * b + c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a+b)+c", "(a + b) + c"),
        ("-(a*b)", "-(a * b)"),
        ("round(a,0)", "round(a)"),
        ("round(a, -02)", "round(a, -2)"),
        ("12.0*`a`", "12 * a"),
        ("`a b`*1e30", "`a b` * 1e+30"),
    ],
)
def test_an_expression_is_written_with_as_few_brackets_as_it_needs(text, written):
    assert str(Expression.parse(text)) == written


def test_expressions_and_relations_are_values():
    for kind, text in ((Expression, "a + `b c`"), (Relation, 'a == "x" implies b < 1')):
        one = kind.parse(text)
        assert one == kind.parse(text)
        assert hash(one) == hash(kind.parse(text))
        assert one != kind.parse(text.replace("a", "z"))
        assert pickle.loads(pickle.dumps(one)) == one
        assert eval(repr(one), {"Expression": Expression, "Relation": Relation}) == one


# Relations.


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("a", [1.0, 2.0, 3.0])
def test_a_comparison_compares(sign, a):
    assert holds(f"a {sign} 2", a=a) == SIGNS[sign](a, 2)
    assert holds(f"a + 1 {sign} b", a=a, b=3) == SIGNS[sign](a, 2)
    assert holds(f"-2 {sign} -a", a=a) == SIGNS[sign](a, 2)


@pytest.mark.parametrize("sign", SIGNS)
def test_rounding_of_decimals_makes_no_difference(sign):
    columns = {"a": 0.1, "b": 0.2, "c": 0.3}
    expected = sign in ("<=", ">=", "==")
    assert holds(f"a + b {sign} c", **columns) == expected
    assert holds(f"a + b - c {sign} 0", **columns) == expected
    assert holds(f"0 {sign} c - b - a", **columns) == expected
    assert holds(f"z + 0.1 + 0.2 {sign} 0.3", z=0) == expected
    assert holds(f"0.1 * x + 0.2 * x + y {sign} 0.3 * x", x=1, y=0) == expected
    assert holds(f"(a + b) / 10 {sign} c / 10", **columns) == expected
    # What is more than rounding counts, however small it is.
    assert holds(f"a {sign} b", a=1e-20, b=2e-20) == (sign in ("<=", "<", "!="))


def test_the_rounding_that_is_forgiven_can_be_chosen():
    columns = {name: np.float32([number]) for name, number in {"a": 0.1, "b": 0.7, "c": 0.8}.items()}
    relation = Relation.parse("a + b == c")
    assert not relation.holds(columns)[0]
    assert relation.holds(columns, rounding=1e-6)[0]


def test_whole_numbers_are_compared_exactly():
    assert holds("a < b", a=1_700_000_000_000, b=1_700_000_000_001)
    assert not holds("a == b", a=1_700_000_000_000, b=1_700_000_000_001)
    assert holds("a == b", a=1_700_000_000_000.5, b=1_700_000_000_001)
    # So large that floats hold whole numbers only, and not all of them.
    assert holds("0.1 * a == b", a=3e23, b=3e22 * (1 + 1e-12))


def test_infinity_is_larger_than_any_number():
    assert not holds("a <= 3", a=math.inf)
    assert holds("a >= b", a=math.inf, b=1e308)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_relation_holds_where_a_value_is_missing(sign):
    assert holds(f"a {sign} b", a=NAN, b=1)
    assert holds(f"a {sign} b + 1", a=1, b=NAN)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(1, 0, True), (1, 5, False), (0, 5, True), (0, 0, True), (NAN, 5, True), (1, NAN, True), (0, NAN, True)],
)
def test_an_implication_fails_only_where_it_is_known_to(a, b, expected):
    assert holds("a >= 1 implies b == 0", a=a, b=b) == expected
    assert holds("a implies b == 0", a=a, b=b) == expected


@pytest.mark.parametrize(
    ("cell", "expected"), [(True, False), (False, True), (1, False), (0, True), (None, True), (-2, False)]
)
def test_a_column_alone_means_that_it_is_true(cell, expected):
    flags = {"flag": np.array([cell], dtype=object), "b": np.array([0.0])}
    assert Relation.parse("flag implies b > 0").holds(flags)[0] == expected
    # The other way round: where b is 0, the flag must be true.
    assert Relation.parse("b == 0 implies flag").holds(flags)[0] == (not expected or cell is None)


def test_a_column_of_text_is_not_true_or_false():
    with pytest.raises(
        OptionError, match="'flag' is used .* as true or false, but has the value 'no'.* flag == \"no\""
    ):
        holds("flag implies b > 0", flag="no", b=0)


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ('housing == "rent"', "rent", True),
        ('housing == "rent"', "Rent", False),
        ('housing != "rent"', "rent", False),
        ('housing != "rent"', "own", True),
        ('housing == "rent"', None, True),
        ('housing != "rent"', None, True),
        ("housing == 'rent'", "rent", True),
        ("'rent' == housing", "own", False),
        ('housing == "a ""b"""', 'a "b"', True),
        ("housing == 'it''s'", "it's", True),
        ('housing == ""', "", True),
        ('housing == "true"', True, True),
        ('housing == "1"', True, False),
    ],
)
def test_a_categorical_column_is_compared_with_text(text, label, expected):
    relation = Relation.parse(text)
    labels = {"housing": np.array([label], dtype=object)}
    assert relation.holds(labels)[0] == expected
    assert Relation.parse(str(relation)) == relation


def test_text_implies_numbers():
    columns = {"housing": np.array(["rent", "rent", "own", None], dtype=object), "rent": np.array([500.0, 0, 0, 0])}
    assert Relation.parse('housing == "rent" implies rent > 0').holds(columns).tolist() == [True, False, True, True]


def test_numbers_are_not_compared_with_text():
    with pytest.raises(OptionError, match="'age', a column of numbers, with a text. Write the number without quotes"):
        holds('age == "30"', age=30)


def test_a_comparison_knows_its_coefficients():
    comparison = Relation.parse("2 * (a - b) / 4 + 0.1 <= 3 * a - -1.1 + 0 * c").consequent
    assert comparison.coefficients == {"a": -2.5, "b": -0.5}
    assert comparison.bound == pytest.approx(1.0)
    assert Relation.parse("a + 0.1 + 0.2 <= 0.3").consequent.bound == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a * b <= 3", "'a * b' multiplies columns with each other"),
        ("3 <= 2 * (a + 1) * b", "'2 * (a + 1) * b' multiplies columns with each other"),
        ("a * a <= 3", "'a * a' multiplies columns with each other"),
        ("1 / a <= 3", "'1 / a' divides by a column"),
        ("a / b <= 3", "'a / b' divides by a column"),
        ("max(a, b) <= 3", "'max(a, b)' is a function of columns"),
        ("b implies round(a) <= 3", "'round(a)' is a function of columns"),
    ],
)
def test_a_relation_that_is_not_linear_is_refused(text, why):
    message = refusal(Relation, text)
    assert message.startswith(f"{text!r}: {why}; a relation compares sums of columns, each of them times a number")
    assert "declare that column as derived" in message
    with pytest.raises(OptionError, match="is not allowed here"):
        Expression.parse(text.removeprefix("b implies "))


def test_functions_of_numbers_are_numbers_in_relations():
    assert Relation.parse("a <= max(1, 2) * round(2.4)").consequent.bound == 4


# What is refused, and where.


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("", "at the end", "a number or a column is missing"),
        ("  ", "at the end", "a number or a column is missing"),
        ("a +", "at the end", r"missing after '\+'"),
        ("a + * b", "at position 5", r"missing after '\+'. Write a number, a column"),
        ("+a", "at position 1", "a number or a column is missing"),
        ("()", "at position 2", r"missing after '\('"),
        ("a b", "at position 3", "an operator is missing before 'b'.* name has spaces is written in backquotes"),
        ("a (b)", "at position 1", "the function 'a' is not known"),
        ("`a` (b)", "at position 5", r"an operator is missing before '\('"),
        ("5x", "at position 2", "an operator is missing before 'x'.*backquotes: `2nd-income`"),
        ("(a + b", "at position 1", r"this bracket is never closed. Add the missing '\)'"),
        ("round(a, 2", "at position 6", "this bracket is never closed"),
        ("a + b)", "at position 6", "this bracket was never opened"),
        ("1,5 * a", "at position 2", "between the arguments of a function. Write decimals as 0.5"),
        ("log(a)", "at position 1", "the function 'log' is not known. Choose among 'round', 'min', 'max'.$"),
        ("1 + Round(a)", "at position 5", "'Round' is not known.* Did you mean 'round'?"),
        ("min + 1", "at position 1", "'min' has no brackets.* backquotes: `min`"),
        ("min(a)", "at position 1", "'min' has one argument. Give it two or more"),
        ("max()", "at position 5", r"missing after '\('"),
        ("min(a, b,)", "at position 10", "missing after ','"),
        ("round(a, 2, 3)", "at position 11", "'round' has more than two arguments"),
        ("round(a, b)", "at position 10", "digits of 'round' are not a whole number. Write one from -15 to 15"),
        ("round(a, 1.5)", "at position 10", "digits of 'round'"),
        ("round(a, 1 + 1)", "at position 10", "digits of 'round'"),
        ("round(a, 16)", "at position 10", "digits of 'round'"),
        ("round(a, --1)", "at position 10", "digits of 'round'"),
        ("round(a, 1e999)", "at position 10", "digits of 'round'"),
        ("a % b", "at position 3", "'%' is not known. The operators are .* in backquotes"),
        ("a ** 2", "at position 3", r"'\*\*' is not known"),
        ("a.b", "at position 2", r"'\.' is not known"),
        ("a \u2212 b", "at position 3", "is not known. Write - instead"),
        ("`a", "at position 1", "this ` is never closed. Add a ` after the column name"),
        ("``a``", "at position 1", "there is no name between the backquotes"),
        ("a + 'b'", "at position 5", "a text cannot be computed with"),
        ("a * 1e999", "at position 5", "this number is too large"),
        ("a <= b", "at position 3", "'<=' is not allowed here.* a comparison belongs in relations"),
        ("a implies b", "at position 3", "'implies' is not allowed here"),
        ("a == 1", "at position 3", "'==' is not allowed here"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_place(text, where, why):
    assert re.search(f"^{re.escape(repr(text))}, {where}: .*{why}", refusal(Expression, text))


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("a", "at the end", "a comparison is missing. Compare 'a' with something"),
        ("a + b", "at the end", "a comparison is missing. Compare with one of <= >= < > == !="),
        ("'x'", "at the end", "a comparison is missing"),
        ("a <=", "at the end", "a number or a column is missing after '<='"),
        ("<= a", "at position 1", "a number or a column is missing"),
        ("a < b < c", "at position 7", "second comparison. Write two relations.*'a < b' and 'b < ...'"),
        ("a implies b == c == 1", "at position 18", "second comparison"),
        ("a implies b implies c", "at position 13", "second 'implies'. Write two relations"),
        ("implies b > 1", "at position 1", "missing.* 'implies' is written in backquotes"),
        ("a implies", "at the end", "missing after 'implies'"),
        ("a implies b + c", "at the end", "a comparison is missing"),
        ("a + 1 implies b", "at position 7", "a comparison is missing"),
        ("a >= 1 IMPLIES b", "at position 8", "Write 'implies' in lower case"),
        ("a >= 1 and b >= 1", "at position 8", "There is no and, or, not"),
        ("not a implies b", "at position 5", "There is no and, or, not"),
        ("(a >= 1) implies b", "at position 4", "without brackets around it"),
        ("a = 1", "at position 3", "'=' is not known. Write == instead"),
        ("a => 1", "at position 3", "'=>' is not known. Write >= instead"),
        ("a \u2264 1", "at position 3", "is not known. Write <= instead"),
        ("a == \u201cx\u201d", "at position 6", 'is not known. Write " instead'),
        ("a == 'x", "at position 6", "this ' is never closed. Add a ' after the text"),
        ('a < "x"', "at position 3", "a text cannot be compared by '<'. Text has no order: use == or !="),
        ('a + 1 == "x"', "at position 7", "a text can only be compared with a column"),
        ('"x" == "y"', "at position 5", "a text can only be compared with a column"),
        ('a + "x" == 1', "at position 5", "a text cannot be computed with"),
        ("1 <= 2", "at position 3", "does not depend on any column"),
        ("a <= a + 1", "at position 3", "does not depend on any column"),
        ("0.1 * a + 0.2 * a <= 0.3 * a", "at position 19", "does not depend on any column"),
        ("a <= 1e300 * 1e300", "at position 3", "a number of this comparison is too large"),
        ("1e308 * a + 1e308 * a <= 1", "at position 23", "a number of this comparison is too large"),
    ],
)
def test_a_wrong_relation_is_refused_with_its_place(text, where, why):
    assert re.search(f"^{re.escape(repr(text))}, {where}: .*{why}", refusal(Relation, text))


def test_an_expression_needs_a_column():
    assert "names no column" in refusal(Expression, "1 + 2")


def test_a_relation_does_not_divide_by_zero():
    assert "'a / (1 - 1)' divides by zero" in refusal(Relation, "a / (1 - 1) <= 2")


@pytest.mark.parametrize("kind", [Expression, Relation])
@pytest.mark.parametrize("given", [3, None, ["a"], b"a"])
def test_only_text_is_read(kind, given):
    assert re.search(f"written as text.*, not as {type(given).__name__}", refusal(kind, given))


def test_of_a_long_text_a_message_shows_what_is_around_the_mistake():
    message = refusal(Expression, "abc + " * 100 + "$" + " + abc" * 100)
    assert "at position 601: '$' is not known" in message
    assert message.startswith("'...")
    assert len(message) < 300


@pytest.mark.parametrize(
    ("before", "after"), [("(", ")"), ("-", ""), ("round(", ")"), ("max(1, ", ")"), ("1 - (2 * -(", "))")]
)
def test_nesting_is_limited(before, after):
    deepest = MAX_DEPTH if before != "1 - (2 * -(" else MAX_DEPTH // 3
    read = Expression.parse(before * deepest + "a" + after * deepest)
    assert Expression.parse(str(read)) == read
    too_deep = before * (deepest + 1) + "a" + after * (deepest + 1)
    assert f"nested more than {MAX_DEPTH} deep" in refusal(Expression, too_deep)
    assert f"nested more than {MAX_DEPTH} deep" in refusal(Relation, f"{too_deep} <= 1")
    assert f"more than {MAX_TOKENS:,} names" in refusal(Expression, before * 100_000)


def test_brackets_side_by_side_are_not_deep():
    assert value(" + ".join(["(-a)"] * 2 * MAX_DEPTH), a=1) == -2 * MAX_DEPTH


def test_length_is_limited():
    n = MAX_TOKENS // 2 - 1
    longest = "-a" + "+b" * n
    assert value(longest, a=1, b=2) == -1 + 2 * n
    assert Expression.parse(str(Expression.parse(longest))) == Expression.parse(longest)
    assert f"more than {MAX_TOKENS:,} names, numbers and signs" in refusal(Expression, longest + "+b")
    assert f"more than {MAX_TOKENS:,} names, numbers and signs" in refusal(Relation, "a <= " + "b+" * 1_000_000)


@pytest.mark.parametrize(
    "text", ["`" * 100_001, '"' * 100_001, "`" + "a" * 100_000, "9" * 100_000 + "*a", "1e" + "9" * 100_000]
)
def test_a_long_piece_is_refused_at_once(text):
    refusal(Expression, text)


# Names that a table does not have.


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("incme", "relations names 'incme', which is not a column. Did you mean 'income'?"),
        ("hours", "'hours', .* is written in backquotes: `hours-per-week`"),
        ("week", "'week', .* is written in backquotes: `hours-per-week`"),
        ("rent", "'rent', .* The columns are 'income', 'hours-per-week', 7. A text .* is written in quotes"),
    ],
)
def test_an_unknown_column_is_refused(name, why):
    with pytest.raises(OptionError, match=why):
        check_columns(["income", name], ["income", "hours-per-week", 7], option="relations")


def test_known_columns_are_accepted():
    check_columns(Relation.parse("income <= `hours-per-week`").columns, iter(["income", "hours-per-week"]))


# Any text.

numbers = st.one_of(
    st.integers(0, 12).map(str), st.sampled_from(["0.1", "2.5", ".5", "3.", "1e3", "7E-2", "0.30000000000000004"])
)


def in_brackets(texts):
    return texts.map("({})".format)


def arithmetic(operands):
    """Texts that Python reads the same way, as long as the columns are variables."""
    pairs = st.tuples(operands, st.sampled_from(["+", " - ", "*", " / "]), operands).map("".join)
    negated = operands.map("-{}".format)
    calls = st.tuples(st.sampled_from(["min", "max"]), st.lists(operands, min_size=2, max_size=3)).map(
        lambda call: f"{call[0]}({', '.join(call[1])})"
    )
    rounded = st.tuples(operands, st.integers(-2, 3)).map(lambda call: f"round({call[0]}, {call[1]})")
    return st.one_of(pairs, negated, in_brackets(operands), calls, rounded)


expressions = st.recursive(st.one_of(st.sampled_from(COLUMNS), numbers), arithmetic, max_leaves=12)
values = st.dictionaries(st.sampled_from(COLUMNS), st.sampled_from([-2.5, -1.0, 0.0, 0.1, 1.0, 3.0, 1e6]), min_size=3)


@given(expressions, values)
def test_an_expression_is_what_python_makes_of_it(text, columns):
    assume(any(name in text for name in COLUMNS))
    functions = {"min": min, "max": max, "round": lambda x, digits: float(np.round(x, digits))}
    try:
        expected = float(eval(text, functions, columns))
    except ZeroDivisionError:
        expected = NAN
    assert value(text, **columns) == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True)


@given(expressions, values)
def test_an_expression_as_it_is_written_is_the_same_one(text, columns):
    assume(any(name in text for name in COLUMNS))
    expression = Expression.parse(text)
    again = Expression.parse(str(expression))
    assert again == expression
    assert str(again) == str(expression)
    arrays = {name: np.array([number, NAN]) for name, number in columns.items()}
    assert np.array_equal(again.evaluated(arrays), expression.evaluated(arrays), equal_nan=True)


@given(st.text(min_size=1), st.text())
def test_any_name_and_any_text_can_be_written(name, text):
    column = "`" + name.replace("`", "``") + "`"
    relation = Relation.parse(f'{column} implies {column} != "' + text.replace('"', '""') + '"')
    assert relation.columns == (name,)
    assert relation.consequent.text == text
    assert Relation.parse(str(relation)) == relation


linear = st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([*COLUMNS, "1"])), min_size=1, max_size=4)


@given(linear, linear, st.sampled_from(sorted(SIGNS)), st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_a_comparison_is_what_python_makes_of_it(left, right, sign, cells):
    sides = [" + ".join(f"{number} * {name}" for number, name in side) for side in (left, right)]
    variables = dict(zip(COLUMNS, cells, strict=True))
    text = f"{sides[0]} {sign} {sides[1]}"
    sums = {
        name: sum(n for n, one in left if one == name) - sum(n for n, one in right if one == name) for name in COLUMNS
    }
    if not any(sums.values()):
        assert "does not depend on any column" in refusal(Relation, text)
        return
    relation = Relation.parse(text)
    assert Relation.parse(str(relation)) == relation
    expected = eval(text, {}, variables)
    assert holds(text, **variables) == expected
    comparison = relation.consequent
    total = sum(number * variables[name] for name, number in comparison.coefficients.items())
    assert SIGNS[sign](total, comparison.bound) == expected


pieces = st.sampled_from(
    [*"+-*/(),<>=!`'\"$ \n", "<=", ">=", "==", "!=", "implies", " implies ", "round(", "min(", "max", "a", "b", " a ",
     "é", "1", "2.5", "1e999", "0", '"x"', "`a b`", "and", "``", "\0", "\ud800", "²", "٣"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(pieces, max_size=25).map("".join)))
def test_no_text_raises_anything_but_an_option_error(text):
    for kind in (Expression, Relation):
        try:
            read = kind.parse(text)
        except OptionError:
            continue
        assert kind.parse(str(read)) == read
        columns = {name: np.array([0.0, 1.0, NAN]) for name in read.columns}
        if kind is Expression:
            assert read.evaluated(columns).shape == (3,)
        elif not any(isinstance(one, TextComparison) for one in read.predicates):
            assert read.holds(columns).shape == (3,)
