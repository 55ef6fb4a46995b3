"""Lines as a tool's result shows them: in a text of bounded length, with a sentence that says how to read on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

LONGEST_TEXT = 40_000
"""Characters of one text in a result, at most (80 lines of 500 each): an endless line must not fill a context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Some lines of a document, from the first that was asked for up to `last`."""

    text: str
    last: int
    hidden: int = 0
    """Characters of the last line that are not shown."""
    note: str = ""
    """What is not shown and how to read on; nothing where all is shown."""


def window(lines: Sequence[str], first: int, of: int) -> Window:
    """The lines from `first` on of a document of `of` lines: as many whole ones as fit, of a longer one its beginning.

    Every window holds one line at least, so that reading on comes to an end.
    """
    text, end = "\n".join(lines), first + len(lines) - 1
    if len(text) <= LONGEST_TEXT:
        return Window(text=text, last=end)
    ends = accumulate(len(line) + 1 for line in lines)
    fitting = sum(place - 1 <= LONGEST_TEXT for place in ends)
    last = first + max(fitting, 1) - 1
    on = f" Read on from line {last + 1}." if last < of else ""
    if fitting:
        note = f"A text has at most {LONGEST_TEXT} characters, so it is cut after line {last}.{on}"
        return Window(text="\n".join(lines[:fitting]), last=last, note=note)
    hidden = len(lines[0]) - LONGEST_TEXT
    note = f"A text has at most {LONGEST_TEXT} characters, so {hidden} more of line {last} are not shown.{on}"
    return Window(text=lines[0][:LONGEST_TEXT], last=last, hidden=hidden, note=note)
