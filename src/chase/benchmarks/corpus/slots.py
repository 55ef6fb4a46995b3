"""What a question's text gives to query templates: years, and runs of words that name something."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from chase.core.values import Placeholder

PLACEHOLDERS: Mapping[str, Placeholder] = {
    "year": Placeholder(description="the first year that the question names"),
    "years": Placeholder(description="every year: one query for each", each=True),
    "phrase": Placeholder(description="the longest run of words in the question without small words and figures"),
    "phrases": Placeholder(description="every such run of two words or more: one query for each", each=True),
    "question": Placeholder(description="the whole question", tells_tasks_apart=False),
}

_YEAR = re.compile(r"(?<![\d.,$])(?:1[789]|20)\d\d(?!\d|%|[.,]\d)")
_SMALL = frozenset(
    "a about after all an and any are as at be been before between by calculate did do does during each expressed for "
    "from had has have how if in into is it its many much of on or over per report return round rounded than that the "
    "their then there these this to total under using was were what when which while with you your nearest value "
    "give find compute determine according million millions billion billions thousand thousands trillion trillions "
    "dollar dollars percent percentage place places decimal decimals unit units absolute average mean median sum "
    "difference change growth increase decrease ratio rate share highest lowest largest smallest list order format "
    "respectively both values comma commas separated brackets bracketed answer".split()
)
"""Words that say how an answer is wanted, or little at all."""
_WORD = re.compile(r"[A-Za-z][A-Za-z'’.&-]*")


def slots(question: str) -> dict[str, Sequence[str]]:
    """The values of the placeholders in any text, each as it stands there."""
    years = list(dict.fromkeys(_YEAR.findall(question)))
    phrases = _phrases(question)
    return {
        "year": years[:1],
        "years": years,
        "phrase": sorted(phrases, key=len, reverse=True)[:1],
        "phrases": [phrase for phrase in phrases if " " in phrase],
        "question": [question],
    }


def _phrases(question: str) -> list[str]:
    """Runs of words with single spaces between them and no small word among them."""
    found: list[str] = []
    end = -2
    for match in _WORD.finditer(question):
        word = match[0].rstrip(".'’-&")
        if word.lower() in _SMALL or len(word) < 3:
            continue
        joins = match.start() == end + 1 and question[end : match.start()] == " "
        found = [*found[:-1], f"{found[-1]} {word}"] if joins else [*found, word]
        end = match.start() + len(word)
    return list(dict.fromkeys(found))
