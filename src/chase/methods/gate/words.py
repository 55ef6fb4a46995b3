"""Texts as words and numbers, so that what is looked for is found whatever its case, marks and spacing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Words = tuple[str, ...]
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")


def words(text: str) -> Words:
    """The words of a text in lower case: letters and digits, whatever stands between them. `nameLength`,
    `name_length` and `name-length` are two words each.
    """
    shown = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", shown)
    return tuple(re.findall(r"[^\W_]+", apart.casefold()))


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, without separators of thousands."""
    return frozenset(found.replace(",", "").rstrip(".") for found in _NUMBER.findall(text))


def years(text: str) -> frozenset[str]:
    return frozenset(_YEAR.findall(text))


def spans(found: Sequence[str], length: int) -> Iterator[Words]:
    """Every run of so many words."""
    return (tuple(found[start : start + length]) for start in range(len(found) - length + 1))


class Phrases:
    """A set of phrases that texts are searched for, thousands as quickly as one."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = frozenset(found for phrase in phrases if (found := words(phrase)))
        self._lengths = sorted({len(phrase) for phrase in self._phrases})

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def among(self, found: Sequence[str]) -> Iterator[str]:
        """The phrases that stand in a text's words, as words with spaces."""
        for length in self._lengths:
            yield from (" ".join(span) for span in spans(found, length) if span in self._phrases)

    def within(self, text: str) -> list[str]:
        return list(dict.fromkeys(self.among(words(text))))


def beside(found: Sequence[str], subjects: Words, qualities: Words) -> str | None:
    """A quality up to two words before a subject, or up to three after it, as the words that say so; None: neither."""
    if not subjects or not qualities:
        return None
    match = _near(subjects, qualities).search(f" {' '.join(found)} ")
    return None if match is None else match[0].strip()


@lru_cache(maxsize=64)
def _near(subjects: Words, qualities: Words) -> re.Pattern[str]:
    subject, quality = (
        "(?:" + "|".join(" ".join(words(p)) for p in phrases) + ")" for phrases in (subjects, qualities)
    )
    return re.compile(rf" (?:{quality}(?: \w+){{0,2}} {subject}|{subject}(?: \w+){{0,3}} {quality}) ")
