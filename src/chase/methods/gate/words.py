"""Texts as words and numbers, so that what is looked for is found whatever its case, marks and spacing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Words = tuple[str, ...]
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_BEGINNING = 3
"""Letters by which it is seen that no phrase begins so."""
_ARTICLE = "(?:the|a|an|its|their|each|every|this|that)"
_OF_THE_SAME = (
    "(?:ones?|files?|documents?|entry|entries|items?|of (?:them|these|those|it|all)|is|are|was|were|be|has|have|"
    "and|or|first|before|come|comes|wins?|only|then|in|on|at|to|for|by|with)"
)
"""What follows a quality that is the subject's, where an article stands between the two."""


def plain(text: str) -> str:
    """A text as every check reads it: characters in one form, and none that cannot be seen."""
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")


def spaced(text: str) -> str:
    """A text whatever its layout."""
    return " ".join(plain(text).split())


def words(text: str) -> Words:
    """The words of a text in lower case: letters and digits, whatever stands between them. `nameLength`,
    `name_length` and `name-length` are two words each.
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain(text))
    return tuple(re.findall(r"[^\W_]+", apart.casefold()))


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, each in one form."""
    return frozenset(one_form(found) for found in _NUMBER.findall(text))


def one_form(number: str) -> str:
    """A number without sign, separators of thousands and zeros that say nothing: `+1,234.50` is `1234.5`."""
    digits = re.sub(r"[^\d.]", "", number)
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def years(text: str) -> frozenset[str]:
    return frozenset(_YEAR.findall(text))


def spans(found: Sequence[str], length: int) -> Iterator[Words]:
    """Every run of so many words."""
    return (tuple(found[start : start + length]) for start in range(len(found) - length + 1))


class Phrases:
    """A set of phrases that texts are searched for, thousands as quickly as one.

    A phrase is found wherever whole words in a row have its letters, however they are parted: `fund.md`, `FundMd` and
    `f-u-n-d md` are the same.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = frozenset(found for phrase in phrases if (found := "".join(words(phrase))))
        self._longest = max(map(len, self._phrases), default=0)
        self._beginnings = frozenset(phrase[:_BEGINNING] for phrase in self._phrases)

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def among(self, found: Sequence[str]) -> Iterator[str]:
        """The phrases that stand in a text's words, as they are written there, with spaces."""
        for start in range(len(found)):
            letters = ""
            for stop in range(start, len(found)):
                letters += found[stop]
                if letters in self._phrases:
                    yield " ".join(found[start : stop + 1])
                if len(letters) >= self._longest or not self._may_begin(letters):
                    break

    def _may_begin(self, letters: str) -> bool:
        return len(letters) < _BEGINNING or letters[:_BEGINNING] in self._beginnings

    def within(self, text: str) -> list[str]:
        return list(dict.fromkeys(self.among(words(text))))


def beside(found: Sequence[str], subjects: Words, qualities: Words) -> str | None:
    """A quality up to two words before a subject, or up to three after it, as the words that say so; None: neither.

    After a subject and an article of its own a quality may be another thing's: in 'the names and the length of the
    period' it is the period's.
    """
    if not subjects or not qualities:
        return None
    match = _near(subjects, qualities).search(f" {' '.join(found)} ")
    return None if match is None else match[0].strip()


@lru_cache(maxsize=64)
def _near(subjects: Words, qualities: Words) -> re.Pattern[str]:
    subject, quality = (
        "(?:" + "|".join(" ".join(words(p)) for p in phrases) + ")" for phrases in (subjects, qualities)
    )
    before = rf"{quality}(?: \w+){{0,2}} {subject}"
    after = rf"{subject}(?: (?!{_ARTICLE} )\w+){{0,3}} {quality}"
    named_again = rf"{subject}(?: \w+){{0,3}} {quality}(?= (?:{_OF_THE_SAME} |$))"
    return re.compile(rf" (?:{before}|{after}|{named_again}) ")
