"""Counts the work of a `control.py` in steps, so that its limit is the same on every machine and under any load.

A step is one pass through the body of a loop, one item of a comprehension or one call of a function or lambda that
the file defines. A call of `_chase_step` is written into each of these places; between two of them only as much can
happen as the file has text. The source is looked at as tokens, never parsed or run by the host. What one built-in
does at a time (`sum(range(10 ** 12))`) and code in strings are not counted: the worker's computing time bounds them.
"""

from __future__ import annotations

import bisect
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from tokenize import TokenInfo

STEP = "_chase_step()"
OVER = "chase: no steps left"
"""The message of the exception that ends a call which has used up its steps."""

# It is no `Exception`: a hook that catches those does not catch this. Nothing here uses a name that a file may shadow.
PRELUDE = f"""\
def _chase_step():
    global _chase_left
    _chase_left -= 1
    if _chase_left < 0:
        raise KeyboardInterrupt("{OVER}")
    return True

def _chase_begin(most):
    global _chase_left, _chase_rest
    _chase_rest += _chase_left
    _chase_left = most if most < _chase_rest else _chase_rest
    _chase_rest -= _chase_left
"""
"""Fed to a worker before the source. `_chase_begin` gives a call its steps, out of what is left of the rollout's."""

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_SKIPPED = {tokenize.COMMENT, tokenize.NL}
_STARTS_LINE = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_TEXT = {"start": getattr(tokenize, "FSTRING_START", -1), "end": getattr(tokenize, "FSTRING_END", -1)}
"""Where Python takes f-strings apart, what is in them is left alone, as it is where Python does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metered:
    """A source that counts its steps."""

    code: str
    added: tuple[int, ...]
    """The lines of `code` that are not in the source, ascending."""
    lines: int
    """How many lines the source has."""

    def line(self, line: int) -> int:
        """The line of the source that a line of `code` stands for."""
        return max(1, min(line - bisect.bisect_left(self.added, line), self.lines))


@lru_cache(maxsize=256)
def metered(source: str) -> Metered:
    """`source` with its steps counted; as it is where it is no Python, which its worker then says."""
    rows = source.split("\n")
    blocks: dict[int, str] = {}
    inline: list[tuple[int, int, str]] = []
    try:
        for row, column, text in _places(source):
            if text.endswith("\n"):
                blocks[row] = text[:-1]
            else:
                inline.append((row, column, text))
    except (tokenize.TokenError, SyntaxError):
        blocks, inline = {}, []
    for row, column, text in sorted(inline, reverse=True):
        rows[row - 1] = rows[row - 1][:column] + text + rows[row - 1][column:]
    code, added = [], []
    for number, line in enumerate(rows, 1):
        if number in blocks:
            code.append(blocks[number])
            added.append(len(code))
        code.append(line)
    last = len(source.rstrip().split("\n"))
    return Metered(code="\n".join(code), added=tuple(added), lines=last)


def _places(source: str) -> Iterator[tuple[int, int, str]]:
    """Where a step is written: row, column and text. A text that ends its line takes a line of its own."""
    reader = _Reader()
    inside_text = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        inside_text += (token.type == _TEXT["start"]) - (token.type == _TEXT["end"])
        if token.type in _SKIPPED or inside_text:
            continue
        if text := reader.read(token):
            row, column = token.start
            yield row, column, text


class _Reader:
    """Follows the tokens, and says what is to be written before one."""

    def __init__(self) -> None:
        self._at_start = True
        """Whether the next token begins a statement."""
        self._header = False
        """Whether the statement is one of those whose body counts."""
        self._after: str | None = None
        """Which colon was just read: that of a 'body', of a body's own 'block', or of a 'lambda'."""
        self._iterates = [False]
        """For each open bracket whether a comprehension's iterable is being read; the first is for none."""
        self._lambdas: list[int] = []
        """How many brackets were open at each lambda whose colon is still to come."""

    def read(self, token: TokenInfo) -> str:
        before = self._after_colon(token) or self._in_comprehension(token)
        self._follow(token)
        return before

    def _after_colon(self, token: TokenInfo) -> str:
        if self._after is None:
            return ""
        after, self._after = self._after, None
        if after == "lambda":
            return "" if token.string == "lambda" else f"{STEP} and "
        if token.type == tokenize.NEWLINE:
            self._after = "block"
        elif after == "block":
            return f"{token.string}{STEP}\n" if token.type == tokenize.INDENT else ""
        else:
            return f"{STEP}; "
        return ""

    def _in_comprehension(self, token: TokenInfo) -> str:
        """The condition that counts an item, written where the iterable ends."""
        ends = token.string in ("if", "for", "async") if token.type == tokenize.NAME else token.string in _CLOSE
        if not (ends and self._iterates[-1]):
            return ""
        self._iterates[-1] = False
        return f" if {STEP} "

    def _follow(self, token: TokenInfo) -> None:
        word, depth = token.string, len(self._iterates)
        if token.type == tokenize.OP and word in _OPEN:
            self._iterates.append(False)
        elif token.type == tokenize.OP and word in _CLOSE:
            self._iterates = self._iterates[:-1] or [False]
        elif word == ":" and self._lambdas and self._lambdas[-1] == depth:
            self._lambdas.pop()
            self._after = "lambda"
        elif word == ":" and self._header and depth == 1:
            self._header, self._after = False, "body"
        elif token.type == tokenize.NAME and word == "lambda":
            self._lambdas.append(depth)
        elif token.type == tokenize.NAME and word == "for" and depth > 1:
            self._iterates[-1] = True
        elif token.type == tokenize.NAME and word in ("for", "while", "def") and self._at_start:
            self._header = True
        if token.type in _STARTS_LINE:
            self._at_start, self._lambdas = True, []
        elif word != "async":
            self._at_start = False
