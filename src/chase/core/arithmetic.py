"""The calculator: exact arithmetic on integers and decimals, shown to six decimals, by a parser of its own grammar.

There is no `eval` in it.

sum     = product (("+" | "-") product)*
product = factor (("*" | "/") factor)*
factor  = ("+" | "-") factor | "(" sum ")" | number
"""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 200
"""Characters of an expression."""
DEEPEST = 60
"""Signs and parentheses around a number."""

_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-"})
_TOKENS = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+|[-+*/()]|\s+|(?P<foreign>.)", re.DOTALL)


def calculate(expression: str) -> str:
    """The value of an expression of numbers, + - * / and parentheses; a ValueError says what is wrong."""
    if len(expression) > LONGEST:
        raise ValueError(f"the expression is longer than {LONGEST} characters")
    found = list(_TOKENS.finditer(expression.translate(_SIGNS)))
    if any(token["foreign"] for token in found):
        raise ValueError("only numbers, + - * / and parentheses are allowed")
    return _text(_Parser([token[0] for token in found if not token[0].isspace()]).value())


class _Parser:
    """Reads tokens from left to right, one method for each line of the grammar."""

    def __init__(self, tokens: list[str]) -> None:
        self._rest = [*reversed(tokens)]

    def value(self) -> Fraction:
        value = self._sum(0)
        if self._rest:
            raise ValueError("the expression is not valid arithmetic")
        return value

    def _take(self, among: str) -> str:
        """The next token if it is one of these signs, else ''."""
        return self._rest.pop() if self._rest and self._rest[-1] in among else ""

    def _sum(self, depth: int) -> Fraction:
        value = self._product(depth)
        while sign := self._take("+-"):
            term = self._product(depth)
            value = value + term if sign == "+" else value - term
        return value

    def _product(self, depth: int) -> Fraction:
        value = self._factor(depth)
        while sign := self._take("*/"):
            factor = self._factor(depth)
            if sign == "/" and not factor:
                raise ValueError("division by zero")
            value = value * factor if sign == "*" else value / factor
        return value

    def _factor(self, depth: int) -> Fraction:
        if depth > DEEPEST:
            raise ValueError("the expression is nested too deeply")
        if sign := self._take("+-"):
            value = self._factor(depth + 1)
            return -value if sign == "-" else value
        if self._take("("):
            value = self._sum(depth + 1)
            if not self._take(")"):
                raise ValueError("the expression is not valid arithmetic")
            return value
        if not self._rest or self._rest[-1] in ")*/":
            raise ValueError("the expression is not valid arithmetic")
        return Fraction(self._rest.pop())


def _text(value: Fraction) -> str:
    """An integer in full, anything else rounded to six decimals; never by way of a float."""
    if value.denominator == 1:
        return str(value.numerator)
    whole, rest = divmod(round(abs(value) * 10**6), 10**6)
    return f"{'-' if value < 0 else ''}{whole}.{rest:06d}"
