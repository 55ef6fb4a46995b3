"""Operations that a question can name, and what they make of figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, DivisionByZero, InvalidOperation
from statistics import median

from chase.models.lexical.words import bag

DEFAULT_PLACES = 2
"""Of an answer that does not come out even, where nothing is asked."""
_HIGH = r"largest|highest|greatest|biggest|maximum|peak|most"
_LOW = r"smallest|lowest|least|minimum|fewest"
_EXTREME = re.compile(rf"\b(?:(?P<high>{_HIGH})|(?P<low>{_LOW}))\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\b(?:which|what)\s+(?:(?:\w+\s+){0,2}?(?P<when>years?|months?|quarters?|periods?)\b|(?P<many>two|three)?\s*"
    r"(?P<what>(?!was\b|were\b|is\b|are\b|the\b|did\b)\w+(?:\s+\w+)?)\s+(?:had|has|have|recorded|reported|showed|saw))",
    re.IGNORECASE,
)
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for name, pattern in {
        "percent change": r"""
            \b(?:percent(?:age)?|per\ cent|%)\s+(?:\w+\s+)?
                (?:change|increase|decrease|growth|decline|rise|drop|reduction|difference)
            | \b(?:by|at)\ what\ percent(?:age)?\b | \bhow\ much\ (?:higher|lower|more|less)\b[^?]*\bin\ percent\b
            | \bgrowth\ rate\b | \brate\ of\ (?:growth|change)\b""",
        "share": r"""
            \b(?:percent(?:age)?|share|proportion)\b[^?]*\bof\ the\ (?:sum|total)\ (?:of|is|was)\b
            | \b(?:sum|total)\ of\b[^?]*\bwhat\ (?:percent(?:age)?|share|proportion)\b""",
        "percent of": r"""
            \bwhat\ (?:percent(?:age)?|share|proportion|fraction)\ of\b | \bas\ an?\ (?:percent(?:age)?|share)\ of\b""",
        "ratio": r"\bratio\b | \bdivided\ by\b | \bhow\ many\ times\b",
        "difference": r"""
            \bdiffer(?:ed|ence)?\b | \bby\ how\ much\b | \bexceed | \b(?:net|absolute)\ change\b | \bchange\ in\b
            | \bhow\ much\ (?:did|more|less|higher|lower|larger|greater|smaller|was\ the\ change)\b
            | \b(?:increase|decrease|decline)(?:\s*/\s*\(?(?:increase|decrease|decline)\)?)?\ in\b""",
        "median": r"\bmedian\b",
        "average": r"\b(?:averaged?|mean)\b",
        "sum": r"""
            \b(?:sum|combined|altogether|cumulative|add(?:ed)?\ (?:up|together)|adding\ up|together)\b
            | \btotal(?:ed|led)?\ (?:of|over|across|for\ all)\b""",
    }.items()
)
_PARTS = {
    name: re.compile(pattern, re.IGNORECASE | re.VERBOSE)
    for name, pattern in {
        "difference": r"""
            (?:difference|gap)\ between\s+(?P<a>.+?)\s+and\s+(?P<b>.+)
            | (?P<a2>.+?)\s+exceed(?:ed|s)?\s+(?P<b2>.+)""",
        "ratio": r"ratio\ of\s+(?P<a>.+?)\s+to\s+(?P<b>.+) | (?P<a2>.+?)\s+divided\ by\s+(?P<b2>.+)",
        "percent of": r"""
            what\ \w+\ of\s+(?P<b>.+?)\s+(?:was|were|is|are|did|came\ from|consisted\ of|went\ to)\s+(?P<a>.+)
            | (?P<a2>.+?)\s+as\ an?\ \w+\ of\s+(?P<b2>.+)""",
        "sum": r"""
            sum\ of\s+(?P<a>.+?)\s+and\s+(?P<b>.+) | combined\s+(?P<a2>.+?)\s+and\s+(?P<b2>.+)
            | (?P<a3>.+?)\s+and\s+(?P<b3>.+?)\s+add\ up""",
        "average": r"(?:average|mean)\ of\s+(?P<a>.+?)\s+and\s+(?P<b>.+)",
    }.items()
}
"""The pieces of a question that name two figures, `a` and `b`."""
_OPERATION_WORDS = {
    "percent change": "percent percentage change increase decrease growth decline rise drop rate absolute reduction "
    "relative higher lower",
    "percent of": "percent percentage share proportion fraction",
    "share": "percent percentage share proportion sum adding add falls belongs part",
    "ratio": "ratio divided times",
    "difference": "difference differ differed exceed exceeded change increase decrease decline gap absolute net later "
    "earlier less former latter minus",
    "median": "median",
    "average": "average averaged mean",
    "sum": "sum combined altogether cumulative add added adding together",
    "value": "",
}
_DOWNWARD = re.compile(
    r"\bexceed|\bformer (?:minus|less)\b|\b(?:more|higher|larger|greater)\b.*\bthan\b"
    r"|\bhow much did\b.*\b(?:decrease|decline|fall|drop)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(r"\babsolute\b|\bdifference between\b(?!.*\b(?:minus|less)\b)", re.IGNORECASE)
_ALWAYS = "largest highest greatest biggest maximum peak smallest lowest least minimum fewest inclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """What is done with the figures."""

    name: str = "value"
    extreme: str | None = None
    """'high' or 'low': the largest or the smallest is asked for."""
    over: str = "periods"
    """What an extreme is sought among: periods, or rows."""
    gives_label: bool = False
    """Whether the answer is the period or the row, not the figure."""
    count: int = 1
    absolute: bool = False
    downward: bool = False
    """Of a difference: the first less the last, not the last less the first."""
    words: frozenset[str] = field(default=frozenset())
    """Words of the question that name the operation and no figure."""

    @property
    def takes_all(self) -> bool:
        """Whether a range of periods means each of them; else its ends."""
        return self.name in ("sum", "average", "median", "share") or (self.name == "value" and self.extreme is not None)

    def parts(self, text: str) -> Sequence[str]:
        """The pieces of a question that name one figure each; the question itself where there is one."""
        pattern = _PARTS.get(self.name)
        found = pattern.search(text) if pattern is not None else None
        if found is None:
            return (text,)
        said = {name[0]: value for name, value in found.groupdict().items() if value}
        named = [bag(re.sub(r"\d+", " ", said[key])) - self.words for key in "ab"]
        return (said["a"], said["b"]) if all(named) and named[0] != named[1] else (text,)

    def of(self, values: Sequence[Decimal]) -> Decimal | None:
        """The figure that the operation gives; None where it cannot be made of these."""
        try:
            made = self._of(values)
        except (InvalidOperation, DivisionByZero, ZeroDivisionError):
            return None
        return abs(made) if made is not None and self.absolute else made

    def _of(self, values: Sequence[Decimal]) -> Decimal | None:
        if self.name in ("sum", "average"):
            total = sum(values, Decimal(0))
            return total if self.name == "sum" else total / len(values)
        if self.name == "median":
            return median(values)
        if self.name == "value":
            return values[0]
        if len(values) < 2:
            return None
        if self.name == "share":
            return values[-1] / sum(values, Decimal(0)) * 100
        first, last = values[0], values[-1]
        return {
            "difference": lambda: first - last if self.downward else last - first,
            "percent change": lambda: (last - first) / abs(first) * 100,
            "ratio": lambda: first / last,
            "percent of": lambda: first / last * 100,
        }[self.name]()

    def expression(self, values: Sequence[Decimal]) -> str | None:
        """The operation as a calculator takes it; None where there is nothing to work out."""
        shown = [f"({value:f})" if value < 0 else f"{value:f}" for value in values]
        if len(shown) < 2 or self.name in ("value", "median"):
            return None
        first, last = shown[0], shown[-1]
        return {
            "sum": " + ".join(shown),
            "average": f"({' + '.join(shown)}) / {len(shown)}",
            "share": f"{last} / ({' + '.join(shown)}) * 100",
            "difference": f"{first} - {last}" if self.downward else f"{last} - {first}",
            "percent change": f"({last} - {first}) / {first} * 100",
            "ratio": f"{first} / {last}",
            "percent of": f"{first} / {last} * 100",
        }[self.name]

    @property
    def in_percent(self) -> bool:
        return self.name in ("percent change", "percent of", "share")


def named_operation(text: str) -> Operation:
    """The operation that a question names; looking a figure up where it names none."""
    name = next((name for name, pattern in _NAMED if pattern.search(text)), "value")
    extreme, which = _EXTREME.search(text), _WHICH.search(text)
    words = bag(f"{_OPERATION_WORDS[name]} {_ALWAYS}")
    what = (which["what"] or "") if which else ""
    return Operation(
        name=name,
        extreme=None if extreme is None else "high" if extreme["high"] else "low",
        over="rows" if what and extreme else "periods",
        gives_label=bool(extreme and which),
        count={"two": 2, "three": 3}.get(((which["many"] or "") if which else "").lower(), 1),
        absolute=_ABSOLUTE.search(text) is not None,
        downward=_DOWNWARD.search(text) is not None,
        words=words | (bag(what) if extreme else frozenset()),
    )


def rounded(value: Decimal, places: int) -> Decimal:
    """A figure to so many places, halves away from zero."""
    try:
        return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    except InvalidOperation:
        return value


def written(value: Decimal, places: int | None) -> str:
    """A figure in digits: to the places that are asked for, else without what does not count."""
    if places is not None:
        return f"{rounded(value, places):f}"
    exponent = value.normalize().as_tuple().exponent
    even = isinstance(exponent, int) and exponent >= -6
    text = f"{value if even else rounded(value, DEFAULT_PLACES):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
