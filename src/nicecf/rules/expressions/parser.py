"""From text to the parts of expressions and relations, or an OptionError that says where the text is wrong."""

from __future__ import annotations

import math
from typing import NoReturn

from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.rules.expressions.dates import Moment
from nicecf.rules.expressions.nodes import (
    FUNCTIONS,
    KEYWORDS,
    ColumnName,
    Extreme,
    Negated,
    Node,
    Number,
    Product,
    Rounded,
    Sum,
)
from nicecf.rules.expressions.predicates import COMPARISONS, Comparison, IsTrue, Predicate, TextComparison
from nicecf.rules.expressions.tokens import Token, refuse, shown, tokens_of

# Far above what people write. It bounds the recursion of the parser, and of everything that walks what it read.
MAX_DEPTH = 25
MAX_DIGITS = 15  # a float has no more


def parse_expression(text: str) -> Node:
    """Read an expression; OptionError if it is not one, or names no column."""
    parser = _Parser(text)
    root = parser.sum()
    parser.expect_end("An expression computes a value; a comparison belongs in relations.")
    if not any(True for _ in root.names()):
        raise OptionError(f"{shown(text)} names no column; an expression says how a column follows from others.")
    return root


def parse_relation(text: str) -> tuple[Predicate | None, Predicate]:
    """Read a relation: what implies, if anything does, and what holds. OptionError if it is not one, or not linear."""
    parser = _Parser(text)
    first = parser.predicate()
    if parser.is_next("keyword", "implies"):
        parser.advance()
        second = parser.predicate()
        if parser.is_next("keyword", "implies"):
            parser.refuse("this is a second 'implies'", "Write two relations, with one 'implies' each.")
        parser.expect_end("")
        return first, second
    parser.expect_end("")
    if isinstance(first, IsTrue):
        parser.refuse("a comparison is missing", f"Compare '{first}' with something, such as {first} >= 0.")
    return None, first


class _Parser:
    """Reads tokens from left to right; each method reads one part and leaves the reader behind it.

    ::

        sum      = product (("+" | "-") product)*
        product  = factor (("*" | "/") factor)*
        factor   = "-" factor | number | column | moment | "(" sum ")" | function "(" sum ("," sum)* ")"
        moment   = a date or a duration in quotes
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise OptionError(
                f"expressions and relations are written as text, such as 'a + b', not as {type(text).__name__}."
            )
        self._text = text
        self._tokens = list(tokens_of(text))
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._next]

    def is_next(self, kind: str, *values: str) -> bool:
        return self.token.kind == kind and self.token.value in values

    def advance(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def refuse(self, problem: str, advice: str, at: Token | None = None) -> NoReturn:
        refuse(self._text, (at or self.token).start, problem, advice)

    def predicate(self) -> Predicate:
        left = self._side()
        if not self.is_next("sign", *COMPARISONS):
            if not (self.token.kind == "end" or self.is_next("keyword", "implies")):
                self._refuse_token("")
            if isinstance(left, ColumnName):
                return IsTrue(left.name)
            self.refuse("a comparison is missing", f"Compare with one of {' '.join(COMPARISONS)}.")
        sign = self.advance()
        right = self._side()
        if self.is_next("sign", *COMPARISONS):
            first, second = f"{_side_text(left)} {sign.value} {_side_text(right)}", self.token.value
            self.refuse(
                "this is a second comparison",
                f"Write two relations, with one comparison each: '{first}' and '{_side_text(right)} {second} ...'.",
            )
        if isinstance(left, str) or isinstance(right, str):
            return self._text_comparison(left, sign, right)
        return self._comparison(left, sign, right)

    def _side(self) -> Node | str:
        """One side of a comparison: a sum, or a text."""
        is_alone = self.token.kind == "text" and not (
            self._tokens[self._next + 1].kind == "sign" and self._tokens[self._next + 1].value in "+-*/"
        )
        return self.advance().value if is_alone else self.sum()

    def _text_comparison(self, left: Node | str, sign: Token, right: Node | str) -> Predicate:
        column, text = (right, left) if isinstance(left, str) else (left, right)
        moment = Moment.read(text) if isinstance(text, str) else None
        is_of_order = not isinstance(column, ColumnName) or sign.value not in ("==", "!=")
        if moment is not None and not isinstance(column, str) and is_of_order:
            sides = (moment, column) if isinstance(left, str) else (column, moment)
            return self._comparison(sides[0], sign, sides[1])
        if not (isinstance(column, ColumnName) and isinstance(text, str)):
            self.refuse("a text can only be compared with a column", 'Write column == "text".', sign)
        if sign.value not in ("==", "!="):
            self.refuse(
                f"a text cannot be compared by '{sign.value}'",
                'Text has no order: use == or !=. A date is written as "2024-03-01".',
                sign,
            )
        return TextComparison(column.name, "==" if sign.value == "==" else "!=", text)

    def _comparison(self, left: Node, sign: Token, right: Node) -> Comparison:
        found = Comparison(left, sign.value, right)
        try:
            terms = found.terms
        except OptionError as error:
            raise OptionError(f"{shown(self._text)}: {error}") from None
        if not all(map(math.isfinite, (found.bound, *found.coefficients.values(), *(number for _, number in terms)))):
            self.refuse("a number of this comparison is too large", "Use smaller numbers.", sign)
        if not found.coefficients:
            self.refuse(
                "this comparison does not depend on any column",
                "Name a column in it, and not on both sides so that it cancels out.",
                sign,
            )
        return found

    def sum(self) -> Node:
        parts = [("+", self._product())]
        while self.is_next("sign", "+", "-"):
            parts.append((self.advance().value, self._product()))
        return Sum(tuple(parts)) if len(parts) > 1 else parts[0][1]

    def _product(self) -> Node:
        factors = [("*", self._factor())]
        while self.is_next("sign", "*", "/"):
            factors.append((self.advance().value, self._factor()))
        return Product(tuple(factors)) if len(factors) > 1 else factors[0][1]

    def _factor(self) -> Node:
        token = self.token
        if token.kind == "number":
            return self._number(self.advance())
        if token.kind == "name":
            return self._column(self.advance())
        moment = Moment.read(token.value) if token.kind == "text" else None
        if moment is not None:
            self.advance()
            return moment
        if not (self.is_next("sign", "-", "(") or self.is_next("keyword", *FUNCTIONS)):
            self._refuse_missing_operand()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.refuse(
                f"brackets, functions and minus signs are nested more than {MAX_DEPTH} deep, which is the limit",
                "Write it with fewer brackets.",
            )
        self.advance()
        if token.value == "-":
            found: Node = Negated(self._factor())
        elif token.value == "(":
            found = self.sum()
            self._close(token)
        else:
            found = self._function(token)
        self._depth -= 1
        return found

    def _number(self, token: Token) -> Number:
        number = float(token.value)
        if math.isinf(number):
            self.refuse("this number is too large", "Use numbers below 1e308.", token)
        return Number(number)

    def _column(self, token: Token) -> ColumnName:
        is_bare = self._text[token.start] != "`"
        if is_bare and self.is_next("sign", "("):
            self.refuse(
                f"the function {token.value!r} is not known",
                f"Choose among {listed(FUNCTIONS)}.{did_you_mean(token.value.lower(), FUNCTIONS)}",
                token,
            )
        return ColumnName(token.value)

    def _function(self, name: Token) -> Node:
        if not self.is_next("sign", "("):
            self.refuse(
                f"'{name.value}' has no brackets",
                f"Write {name.value}(...); a column of this name is written in backquotes: `{name.value}`.",
                name,
            )
        bracket = self.advance()
        operands = [self.sum()]
        digits = 0
        while self.is_next("sign", ","):
            self.advance()
            if name.value == "round":
                digits = self._digits()
                break
            operands.append(self.sum())
        if name.value == "round" and self.is_next("sign", ","):
            self.refuse("'round' has more than two arguments", "Write round(x) or round(x, digits).")
        self._close(bracket)
        if name.value == "round":
            return Rounded(operands[0], digits)
        if len(operands) < 2:
            self.refuse(f"'{name.value}' has one argument", f"Give it two or more, such as {name.value}(a, b).", name)
        return Extreme("min" if name.value == "min" else "max", tuple(operands))

    def _digits(self) -> int:
        first, is_negative = self.token, self.is_next("sign", "-")
        if is_negative:
            self.advance()
        number = float(self.advance().value) if self.token.kind == "number" else math.inf
        is_complete = self.token.kind == "end" or self.is_next("sign", ")", ",")
        if not (is_complete and number <= MAX_DIGITS and number.is_integer()):
            self.refuse(
                "the digits of 'round' are not a whole number",
                f"Write one from -{MAX_DIGITS} to {MAX_DIGITS}, such as round(x, 2).",
                first,
            )
        return -int(number) if is_negative else int(number)

    def _close(self, bracket: Token) -> None:
        if self.is_next("sign", ")"):
            self.advance()
            return
        if self.token.kind == "end":
            self.refuse("this bracket is never closed", "Add the missing ')'.", bracket)
        self._refuse_token("Brackets are for arithmetic; write a comparison without brackets around it.")

    def expect_end(self, about_comparisons: str) -> None:
        """Refuse whatever is left of the text."""
        if self.token.kind != "end":
            self._refuse_token(about_comparisons)

    def _refuse_missing_operand(self) -> NoReturn:
        if self.token.kind == "text":
            self.refuse(
                "a text cannot be computed with",
                'Relations compare it with a column: column == "text". Names of columns have backquotes.',
            )
        before = self._tokens[self._next - 1].value if self._next else ""
        where = f" after '{before}'" if before else ""
        advice = "Write a number, a column, a function or a bracket there."
        if self.is_next("keyword", "implies"):
            advice += " A column of the name 'implies' is written in backquotes."
        self.refuse(f"a number or a column is missing{where}", advice)

    def _refuse_token(self, about_comparisons: str) -> NoReturn:
        """Refuse what follows a complete part, where only an operator could. ``about_comparisons``: why not one."""
        token, before = self.token, self._tokens[self._next - 1]
        if self.is_next("sign", ")"):
            self.refuse("this bracket was never opened", "Remove the ')', or add the missing '('.")
        if self.is_next("sign", ","):
            self.refuse(
                "a ',' belongs between the arguments of a function", "Write decimals as 0.5, and thousands as 1000."
            )
        if self.is_next("sign", *COMPARISONS):
            self.refuse(f"a '{token.value}' is not allowed here", about_comparisons)
        if self.is_next("keyword", "implies"):
            self.refuse("an 'implies' is not allowed here", "It belongs between the two comparisons of a relation.")
        advice = "Choose among + - * / and, in relations, a comparison or 'implies'."
        if {"and", "or", "not"} & {token.value.lower(), before.value.lower()}:
            advice = "There is no and, or, not: all relations hold together, and a == 0 says that a is not true."
        elif token.value.lower() in KEYWORDS and token.kind == "name":
            advice = f"Write '{token.value.lower()}' in lower case."
        elif token.kind in ("name", "number") and before.end == token.start:
            advice = "A column whose name is not made of letters, digits and _ is written in backquotes: `2nd-income`."
        elif token.kind in ("name", "number"):
            advice += " A column whose name has spaces is written in backquotes."
        self.refuse(f"an operator is missing before '{token.value}'", advice)


def _side_text(side: Node | str) -> str:
    return f'"{side}"' if isinstance(side, str) else str(side)
