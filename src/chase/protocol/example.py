"""Before and after: what a transformation changes in what an agent is shown of one task. For people; no check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from chase.core.interfaces import Benchmark, Transformation
from chase.core.values import Json, ToolInterface, ToolResult

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A tool call that an agent could make."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """Some lines of an answer, and how many follow."""

    lines: tuple[str, ...]
    more: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One call's answer under the released benchmark and under the counterfactual, as an agent reads it."""

    call: Call
    before: str
    after: str

    @classmethod
    def between(cls, call: Call, before: ToolResult, after: ToolResult) -> Change:
        """What becomes of a call's result."""
        return cls(call=call, before=before.text, after=after.text)

    def excerpt(self, most: int) -> tuple[Excerpt, Excerpt]:
        """Both sides from the first line that differs, so many lines of each."""
        before, after = (text.removesuffix("\n").split("\n") for text in (self.before, self.after))
        same = next((n for n, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), 0)
        return _cut(before[same:], most), _cut(after[same:], most)


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """What an agent is shown differently of one task. No role, evidence label or answer is in it."""

    task: str
    changes: tuple[Change, ...]
    """None where the task looks the same to these calls."""


MOST_OPENED = 24
"""Documents that are looked into for one whose contents change."""


def example_of(benchmark: Benchmark[State], transformation: Transformation[State]) -> Example:
    """The answers that change on the fixed example: of its listing, of a broad search, of the first listed document
    whose contents change.

    Deterministic. Everything in it comes from the benchmark's own tools.
    """
    task = benchmark.subject.check_tasks[0]
    released = benchmark.variant("released")

    def answers(tool: str | None, after_tool: str | None, arguments: Arguments) -> _Answers | None:
        if tool is None or after_tool is None:
            return None
        # An environment for each call: an example spends no budget.
        old, new = (benchmark.environment(task, shown) for shown in (released, transformation))
        call = Call(tool=tool, arguments=arguments(old.interface))
        return call, old.call(tool, call.arguments), new.call(after_tool, arguments(new.interface))

    before, after = (benchmark.environment(task, shown).interface for shown in (released, transformation))
    question = benchmark.view(task, released).question
    looks = [answers(before.listing, after.listing, lambda _: {})]
    if before.search and after.search:
        looks.append(answers(before.search.tool, after.search.tool, lambda i: _search_arguments(i, question)))
    changes = [Change.between(*found) for found in looks if found is not None and found[1].text != found[2].text]
    if before.open and after.open:
        listed = sorted(benchmark.sightings(task, released), key=lambda shown: shown.listing or 0)
        for shown in listed[:MOST_OPENED]:
            found = answers(before.open.tool, after.open.tool, partial(_open_arguments, document=shown.id))
            if found is not None and _contents(found[1]) != _contents(found[2]):
                changes.append(Change.between(*found))
                break
    return Example(task=task, changes=tuple(changes))


def _cut(lines: list[str], most: int) -> Excerpt:
    return Excerpt(lines=tuple(lines[:most]), more=max(0, len(lines) - most))


_Answers = tuple[Call, ToolResult, ToolResult]
Arguments = Callable[[ToolInterface], Mapping[str, Json]]
"""The arguments of a call, under the names of a variant."""


def _search_arguments(interface: ToolInterface, question: str) -> Mapping[str, Json]:
    """Of a broad search: for any word of the question, where the tool can be told so."""
    search = interface.search
    if search is None:
        return {}
    return {search.query: question, **({search.match.argument: search.match.any} if search.match else {})}


def _open_arguments(interface: ToolInterface, document: str) -> Mapping[str, Json]:
    return {interface.open.document: document} if interface.open else {}


def _contents(result: ToolResult) -> list[Json]:
    """What was read, and under which fields; without the path, which a listing or a search shows already."""
    return [(item.shown.text or item.text, list(item.shown.fields)) for item in result.items]
