"""The sentences that the program understands in a prompt, memory, guidance or tool instructions; all else it ignores.

What it does without them is the simple thing: one search for all periods, the first table that matches, the unit from
what it has in view, figures noted down as they are asked for before it computes. `docs/lexical.md` has the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from chase.models.lexical.observables import LEVELS
from chase.models.local import Vocabulary

_AROUND = (
    r"read the (?:lines|text) around (?:a|the|each|every) table"
    r"|read (?:the )?(?:adjacent|nearby) (?:lines|headers|notes|footnotes)"
)
Lean = tuple[str, Literal["low", "high"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Directives:
    """What the program was told."""

    each_period: bool = False
    with_conditions: bool = False
    match_any: bool = False
    read_on: Literal["habit", "always", "never"] = "habit"
    read_on_in: tuple[Lean, ...] = ()
    around: bool = False
    convert: bool = False
    precise: bool = False
    prefer: tuple[Lean, ...] = ()
    check_conditions: bool = False
    look_closely: bool = False
    stop_when_found: bool = False
    calculator: bool = False
    by_name: bool = False
    with_scale: bool = False
    semicolons: bool = False


def _leans(pattern: str, text: str) -> tuple[Lean, ...]:
    found = re.findall(pattern + r" (?:files|documents|passages) with (low|high) ([a-z]+(?:-[a-z]+)*)", text)
    return tuple(dict.fromkeys((name, side) for side, name in found if name in LEVELS))


def _says(pattern: str, text: str) -> bool:
    """Whether a text says something without a 'not' or 'never' right before it."""
    return any(not re.search(r"\b(?:not|never|don't)\s$", text[: m.start()][-12:]) for m in re.finditer(pattern, text))


@lru_cache(maxsize=1024)
def read_directives(text: str) -> Directives:
    """The directives in a text. Case and line breaks do not matter, nor what stands between the words that count."""
    plain = re.sub(r"\s+", " ", text.lower())
    never = "do not read on" in plain
    always = re.search(r"(?<!do not )\bread on\.", plain) is not None
    return Directives(
        each_period=_says(
            r"search (?:for )?(?:the entity and )?each (?:\w+ )?period|search [^.]{0,40}\bseparately", plain
        ),
        with_conditions=_says("search with the conditions", plain),
        match_any=_says("match any (?:word|term)", plain),
        read_on="never" if never else "always" if always else "habit",
        read_on_in=_leans("read on in", plain),
        around=_says(_AROUND, plain),
        convert=_says(r"convert [^.]{0,60}\bto the requested unit", plain),
        precise=_says(r"(?:keep|preserve) (?:the )?full precision|round (?:only )?once", plain),
        prefer=_leans("prefer", plain),
        check_conditions=_says("check every condition", plain),
        look_closely=_says("look at every (?:record|table)", plain),
        stop_when_found=_says(r"stop (?:searching )?once [^.]{0,40}\bfound", plain),
        calculator=_says("use the calculator", plain),
        by_name=_says("search for the (?:document|report|file) that the question names", plain),
        with_scale=_says("(?:number|figure)s? with (?:its|their) scale", plain),
        semicolons=_says("with semicolons? between", plain),
    )


VOCABULARY = Vocabulary(
    phrases=(
        "Search each period separately.",
        "Search for the entity and each period.",
        "Search with the conditions.",
        "Match any word.",
        "Read on.",
        "Read on in files with low X.",
        "Do not read on.",
        "Read the lines around a table.",
        "Convert every figure to the requested unit.",
        "Keep full precision and round once at the end.",
        "Prefer files with high X.",
        "Check every condition.",
        "Look at every record.",
        "Stop once the needed values are found.",
        "Use the calculator.",
        "Search for the document that the question names.",
    ),
    read=read_directives,
)
"""`X` is any of the levels that it knows."""
