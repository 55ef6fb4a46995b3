"""A sequence that became another one, as splices that can be taken or left; and the same for texts by sentence.

Taking every splice gives the new sequence, taking none the old one, exactly: what stands between sentences
included.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from chase.core.errors import UserError

ALIKE = 0.6
"""With this share of the shorter one's words, a sentence that stands in another's place is its new wording."""
_MOST_PAIRS = 2500
"""Where more sentences than this would have to be compared, all was written anew."""
_BREAKS = re.compile(r"(?P<close>(?<=[.!?])[\"')\]*_]*(?=[ \t]+(?![a-z \t\n]))|(?=[ \t]*\n))[ \t\n]+")
"""Where sentences may end: after a full stop, unless a small letter follows, and at a line's end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Splice:
    """Items `start` to `stop` of the old sequence make place for these; `at` is their place in the new sequence."""

    start: int
    stop: int
    at: int
    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """How two sequences correspond: the items in both, by old and new place, and the splices between them."""

    same: tuple[tuple[int, int], ...]
    splices: tuple[Splice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence with what stands between the one before it and itself."""

    gap: str
    text: str


def align(old: Sequence[str], new: Sequence[str], *, reworded: bool = False) -> Alignment:
    """The splices from one sequence to another: each added item one, each removed run one.

    With `reworded` an item that is much like the one whose place it takes makes one splice with it.
    """
    same: list[tuple[int, int]] = []
    splices: list[Splice] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            same += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs = _reworded(old, new, (i1, i2, j1, j2)) if reworded else []
            splices += _between((i1, i2, j1, j2), pairs, new)
    return Alignment(same=tuple(same), splices=tuple(splices))


def _reworded(old: Sequence[str], new: Sequence[str], block: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """Pairs of an old item and its new wording, both in order."""
    i1, i2, j1, j2 = block
    pairs: list[tuple[int, int]] = []
    if (i2 - i1) * (j2 - j1) > _MOST_PAIRS:
        return pairs
    for i in range(i1, i2):
        alike = max((_likeness(old[i], new[j]), -j) for j in range(j1, j2)) if j1 < j2 else (0.0, 0)
        if alike[0] >= ALIKE:
            pairs.append((i, -alike[1]))
            j1 = 1 - alike[1]
    return pairs


def _likeness(one: str, two: str) -> float:
    """How many of the shorter sentence's words both have, as a share."""
    a, b = (Counter(re.findall(r"\w+", sentence.lower())) for sentence in (one, two))
    return (a & b).total() / max(1, min(a.total(), b.total()))


def _between(block: tuple[int, int, int, int], pairs: list[tuple[int, int]], new: Sequence[str]) -> Iterator[Splice]:
    """The splices of a stretch that differs, around the pairs in it. Old items come before new ones."""
    i, i2, j, j2 = block
    for old_place, new_place in [*pairs, (i2, j2)]:
        if i < old_place:
            yield Splice(start=i, stop=old_place, at=j, items=())
        for added in range(j, new_place):
            yield Splice(start=old_place, stop=old_place, at=added, items=(new[added],))
        if old_place < i2:
            yield Splice(start=old_place, stop=old_place + 1, at=new_place, items=(new[new_place],))
        i, j = old_place + 1, new_place + 1


def spliced(old: Sequence[str], kept: Sequence[Splice]) -> list[tuple[int | None, int | None, str]]:
    """The sequence with the kept splices: each item with its place in the old or the new sequence."""
    kept = sorted(kept, key=lambda splice: (splice.start, splice.at))
    if any((a.start, a.at) == (b.start, b.at) or a.stop > b.start for a, b in pairwise(kept)):
        raise UserError("two of the parts are the same edit. Keep one of them, or its generalisation.")
    out: list[tuple[int | None, int | None, str]] = []
    place = 0
    for splice in kept:
        out += [(i, None, old[i]) for i in range(place, splice.start)]
        out += [(None, splice.at + k, item) for k, item in enumerate(splice.items)]
        place = splice.stop
    return out + [(i, None, old[i]) for i in range(place, len(old))]


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text; joined, gaps and sentences give it back. A line is a sentence of its own, unless
    it plainly goes on in the next one.
    """
    out: list[Sentence] = []
    start = len(text) - len(text.lstrip(" \t"))
    gap = text[:start]
    for found in _BREAKS.finditer(text, start):
        end = found.end("close")
        if "\n" in found[0] and _goes_on(text[start:end], found[0], text[found.end() :]):
            continue
        out.append(Sentence(gap=gap, text=text[start:end]))
        gap, start = text[end : found.end()], found.end()
    return [*out, Sentence(gap=gap, text=text[start:])] if text else []


def _goes_on(line: str, gap: str, rest: str) -> bool:
    """Whether a sentence goes on in the next line: it has not ended, and a small letter follows."""
    return gap.count("\n") == 1 and bool(line) and line[-1] not in ".!?:;" and rest[:1].islower()


@lru_cache(maxsize=256)
def align_texts(old: str, new: str) -> Alignment:
    """The splices from one text to another, by sentence."""
    return align([s.text for s in sentences(old)], [s.text for s in sentences(new)], reworded=True)


def respaced(old: str, new: str) -> bool:
    """Whether a sentence that both texts have is set off differently in the two, beyond what is around it."""
    before, after = sentences(old), sentences(new)
    return any((i == 0) == (j == 0) and before[i].gap != after[j].gap for i, j in align_texts(old, new).same)


def text_with(old: str, new: str, kept: Sequence[Splice], *, spacing: bool) -> str:
    """The old text with the kept splices of `align_texts`, and with the new spacing where that is taken too."""
    before, after = sentences(old), sentences(new)
    partner = dict(align_texts(old, new).same)
    usual = next((sentence.gap for sentence in (*after[1:], *before[1:])), " ")
    out = ""
    for place, (i, j, text) in enumerate(spliced([s.text for s in before], kept)):
        counterpart = partner.get(i) if i is not None else j
        gaps = {
            "old": None if i is None or (i == 0) != (place == 0) else before[i].gap,
            "new": None if counterpart is None or (counterpart == 0) != (place == 0) else after[counterpart].gap,
        }
        chosen = [gaps[side] for side in (("new", "old") if spacing else ("old", "new"))]
        out += next((gap for gap in chosen if gap is not None), usual if place else "") + text
    return out
