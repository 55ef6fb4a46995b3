"""One thing that `chase doctor` looked at, and the small question that models are tried with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, ToolCallPart, UserPromptPart

from chase.core.values import ToolSpec

TOOL = ToolSpec(
    name="search",
    description="Search the ledger. One of 4 search calls.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Literal["ok", "failed", "skipped"]
    detail: str
    needed: bool = True
    """Whether rollouts cannot do without it."""


def ok(name: str, detail: str, *, needed: bool = True) -> Check:
    return Check(name=name, status="ok", detail=detail, needed=needed)


def failed(name: str, detail: str, *, needed: bool = True) -> Check:
    return Check(name=name, status="failed", detail=detail, needed=needed)


def skipped(name: str, detail: str, *, needed: bool = False) -> Check:
    return Check(name=name, status="skipped", detail=detail, needed=needed)


def question(office: str = "Harbor Office") -> list[ModelMessage]:
    """A question of the kind that the benchmarks ask, so that a simulated model understands it too."""
    asked = f"For {office}, by how much does the appropriation in FY2002 exceed the appropriation in FY2001?"
    system = "Before you answer, look the amounts up: call the tool `search` with a query."
    return [ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(asked)])]


def calls_tool(parts: Iterable[object]) -> bool:
    """Whether a reply calls the tool with arguments that it takes."""
    calls = [part for part in parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL.name]
    return any(isinstance(arguments.get("query"), str) for arguments in map(_arguments, calls))


def _arguments(call: ToolCallPart) -> dict[str, object]:
    try:
        return call.args_as_dict()
    except (ValueError, AssertionError):
        return {}
