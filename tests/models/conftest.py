"""What the tests of models share: two tools, a history that uses them, and a clock that only sleeping moves."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from chase.core.values import ToolSpec


class FakeClock:
    """Time that stands still until somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def tools() -> list[ToolSpec]:
    def schema(name: str) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {name: {"type": "string"}},
            "required": [name],
            "additionalProperties": False,
        }

    return [
        ToolSpec(name="search", description="Search the documents.", parameters=schema("query")),
        ToolSpec(name="open", description="Open a document.", parameters=schema("path")),
    ]


@pytest.fixture
def question() -> list[ModelMessage]:
    return [ModelRequest(parts=[SystemPromptPart("Be careful."), UserPromptPart("How much was it in Mai – „total“?")])]


@pytest.fixture
def history(question: list[ModelMessage]) -> list[ModelMessage]:
    """Three turns: one call, two calls with text beside them, and a plain answer that is questioned."""
    return [
        *question,
        ModelResponse(parts=[ToolCallPart("search", {"query": "mai"}, "a1")]),
        ModelRequest(parts=[ToolReturnPart("search", "x.md\ny.md", "a1")]),
        ModelResponse(
            parts=[
                TextPart("Both look right."),
                ToolCallPart("open", '{"path": "x.md"}', "b1"),
                ToolCallPart("open", {"path": "y.md"}, "b2"),
            ]
        ),
        ModelRequest(parts=[ToolReturnPart("open", "3 | 4", "b1"), ToolReturnPart("open", "no such file", "b2")]),
        ModelResponse(parts=[TextPart("7")]),
        ModelRequest(parts=[UserPromptPart("Are you sure?")]),
    ]
