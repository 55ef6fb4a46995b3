"""A `control.py` that became another one, function by function.

The source is split at its top-level statements by its tokens; it is neither run nor parsed here. What other
statements use (helpers, constants, imports) comes with any function that is taken.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_LAYOUT = {tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
_CONTINUES = {"else", "elif", "except", "finally"}
_APART = "\n\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A top-level statement: what stands before it, its source with the comment above it, and its names."""

    gap: str
    source: str
    defines: str | None
    """The function's name, where it is one."""
    names: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _LogicalLine:
    depth: int
    words: tuple[str, ...]
    names: frozenset[str]
    last_row: int


def changed_functions(old: str | None, new: str | None) -> dict[str, str | None]:
    """The functions that differ: name → new source, None where it is gone. Empty where the two sources cannot be
    mixed function by function.
    """
    before, after = statements(old or ""), statements(new or "")
    if before is None or after is None:
        return {}
    called = _used(before) | _used(after)
    hooks, new_hooks = _hooks(before, called), _hooks(after, called)
    if hooks is None or new_hooks is None or not _grows(before, after, called):
        return {}
    differing = [name for name in [*new_hooks, *hooks] if hooks.get(name) != new_hooks.get(name)]
    return {name: new_hooks.get(name) for name in differing}


def mixed_control(old: str | None, new: str | None, kept: Collection[str]) -> str | None:
    """The source with the kept ones of the functions that differ; the new order, and all that they may need."""
    change = changed_functions(old, new)
    if not kept:
        return old
    if set(kept) == set(change):
        return new
    before = {s.defines: s.source for s in statements(old or "") or () if s.defines is not None}
    pieces: list[tuple[str, str]] = []
    for statement in statements(new or "") or ():
        name = statement.defines
        left = name is not None and name in change and name not in kept
        source = before.get(name) if left and name is not None else statement.source
        if source is not None:
            pieces.append((statement.gap, source))
    pieces += [(_APART, before[name]) for name, source in change.items() if source is None and name not in kept]
    return "".join((gap if place else "") + source for place, (gap, source) in enumerate(pieces))


def statements(source: str) -> list[Statement] | None:
    """The top-level statements of a source: gaps and sources joined give it back. None where that cannot be told."""
    try:
        lines = list(_logical_lines(source))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    groups: list[list[_LogicalLine]] = []
    for line in lines:
        if line.depth == 0 and line.words[0] in _CONTINUES:
            return None
        if line.depth == 0 and not (groups and groups[-1][-1].depth == 0 and groups[-1][-1].words[0] == "@"):
            groups.append([])
        groups[-1].append(line)
    return _statements(source, groups)


def _logical_lines(source: str) -> Iterator[_LogicalLine]:
    depth, words = 0, list[tuple[str, bool]]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.ERRORTOKEN:
            raise ValueError(token.string)
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE and words:
            names = frozenset(word for word, is_name in words if is_name)
            yield _LogicalLine(
                depth=depth, words=tuple(word for word, _ in words), names=names, last_row=token.start[0]
            )
            words = []
        elif token.type not in _LAYOUT:
            words.append((token.string, token.type == tokenize.NAME))


def _statements(source: str, groups: Sequence[Sequence[_LogicalLine]]) -> list[Statement]:
    rows, done = source.split("\n"), 0
    ends = [group[-1].last_row for group in groups]
    out: list[Statement] = []
    for group, end in zip([*groups, ()], [*ends, len(rows)], strict=True):
        text = "\n".join(rows[done:end])
        body = text.lstrip(" \t\n") if group else text.strip(" \t\n")
        if body:
            gap = ("\n" if out else "") + text[: text.index(body)]
            names = frozenset[str]().union(*(line.names for line in group))
            out.append(Statement(gap=gap, source=body, defines=_defined(group), names=names))
        done = end
    return out


def _defined(group: Sequence[_LogicalLine]) -> str | None:
    """The name of the function that a statement defines."""
    words = next((line.words for line in group if line.words[0] != "@"), ())
    words = words[1:] if words[:1] == ("async",) else words
    return words[1] if words[:1] == ("def",) and len(words) > 1 else None


def _used(all_statements: Sequence[Statement]) -> frozenset[str]:
    """The names that a statement other than their own definition mentions."""
    return frozenset[str]().union(*(s.names - {s.defines} for s in all_statements))


def _hooks(all_statements: Sequence[Statement], called: Collection[str]) -> dict[str, str] | None:
    """The functions that no other statement uses, by name; None where a name is defined twice."""
    found = [s for s in all_statements if s.defines is not None]
    if len({s.defines for s in found}) < len(found):
        return None
    return {s.defines: s.source for s in found if s.defines is not None and s.defines not in called}


def _grows(before: Sequence[Statement], after: Sequence[Statement], called: Collection[str]) -> bool:
    """Whether what functions share was only added to, so that old and new ones find what they need."""
    shared, new_shared = (
        [s.source for s in both if s.defines is None or s.defines in called] for both in (before, after)
    )
    remaining = iter(new_shared)
    return all(source in remaining for source in shared)
