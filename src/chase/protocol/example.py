"""Before and after: what a transformation changes in what an agent is shown of one task. For people; no check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from chase.core.interfaces import Benchmark, Transformation
from chase.core.values import Json, ToolResult

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A tool call that an agent could make."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One call's answer under the released benchmark and under the counterfactual, as an agent reads it."""

    call: Call
    before: str
    after: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """What an agent is shown differently of one task. No role, evidence label or answer is in it."""

    task: str
    changes: tuple[Change, ...]
    """None where the task looks the same to these calls."""


def before_and_after(
    benchmark: Benchmark[State],
    transformation: Transformation[State],
    *,
    task: str,
    looks: Sequence[Call],
    openings: Sequence[Call],
) -> Example:
    """The answers that change: of the looks all, of the openings the first whose contents change.

    Deterministic. Everything in it comes from the benchmark's own tools.
    """
    released = benchmark.variant("released")

    def answers(call: Call) -> tuple[ToolResult, ToolResult]:
        # An environment for each call: an example spends no budget.
        before, after = (benchmark.environment(task, shown) for shown in (released, transformation))
        return before.call(call.tool, call.arguments), after.call(call.tool, call.arguments)

    changes = []
    for call in looks:
        before, after = answers(call)
        if before.text != after.text:
            changes.append(Change(call=call, before=before.text, after=after.text))
    for call in openings:
        before, after = answers(call)
        if _contents(before) != _contents(after):
            changes.append(Change(call=call, before=before.text, after=after.text))
            break
    return Example(task=task, changes=tuple(changes))


def _contents(result: ToolResult) -> list[str]:
    """What was read, without the head: that holds the path, which a listing shows already."""
    return [item.text for item in result.items]
