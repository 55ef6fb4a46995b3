"""A few documents behind tools, and the program in front of them: what it called and what it answered."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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

from chase.core.values import Json, ToolSpec
from chase.models.config import ModelConfig
from chase.models.connect import connect

MOST_TURNS = 24
Form = Callable[[list[dict[str, Json]]], str]
"""How items read as a result."""


def as_json(items: list[dict[str, Json]]) -> str:
    return json.dumps({"message": f"{len(items)} found.", **({"results": items} if items else {})})


@dataclass(kw_only=True)
class Library:
    """Documents by id, cut into passages of `length` lines; tools under `names`."""

    documents: Mapping[str, str]
    length: int = 40
    names: Mapping[str, str] = field(default_factory=dict)
    form: Form = as_json

    def name(self, word: str) -> str:
        return self.names.get(word, word)

    def tools(self) -> list[ToolSpec]:
        return [
            self._tool(
                "search",
                "Search passages by words: all must match, or any. One of 8 search calls.",
                query={"type": "string", "description": "Words."},
                match={"type": "string", "enum": ["all", "any"], "default": "all"},
                limit={"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
            ),
            self._tool(
                "read",
                "Read lines of a document, at most 80 lines a call. One of 8 read calls.",
                document={"type": "string", "description": "The document's id."},
                start={"type": "integer", "description": "The first line."},
                end={"type": "integer", "description": "The last line."},
            ),
            self._tool("calculator", "Evaluate an expression. One of 4 calls.", expression={"type": "string"}),
        ]

    def _tool(self, name: str, description: str, **properties: Json) -> ToolSpec:
        shown = {self.name(key): schema for key, schema in properties.items()}
        parameters = {"type": "object", "properties": shown, "required": [next(iter(shown))]}
        return ToolSpec(name=self.name(name), description=description, parameters=parameters)

    def call(self, tool: str, arguments: Mapping[str, Json]) -> str:
        back = {self.name(word): word for word in ("search", "read", "calculator", "query", "match", "limit")}
        back |= {self.name(word): word for word in ("document", "start", "end", "expression")}
        given = {back[name]: value for name, value in arguments.items()}
        if back[tool] == "search":
            return self.form(self._search(given["query"], given.get("match", "all")))
        if back[tool] == "read":
            return self.form(self._read(given["document"], given["start"], given["end"]))
        return str(eval(given["expression"], {"__builtins__": {}}))  # noqa: S307 - what the program itself wrote

    def _search(self, query: str, match: str) -> list[dict[str, Json]]:
        wanted = set(re.findall(r"\w+", query.lower()))
        found = []
        for document, text in self.documents.items():
            lines = text.split("\n")
            for start in range(0, len(lines), self.length):
                passage = lines[start : start + self.length]
                held = set(re.findall(r"[a-z]+|\d+", "\n".join(passage).lower()))
                if wanted <= held if match == "all" else wanted & held:
                    found.append((-len(wanted & held), document, start, passage))
        found.sort(key=lambda one: one[0])
        return [self._item(document, start + 1, passage) for _, document, start, passage in found[:5]]

    def _read(self, document: str, start: int, end: int) -> list[dict[str, Json]]:
        lines = self.documents.get(document, "").split("\n")
        part = lines[start - 1 : min(end, start + 79)]
        return [{**self._item(document, start, part), "of": len(lines)}] if part else []

    def _item(self, document: str, start: int, lines: Sequence[str]) -> dict[str, Json]:
        shown = {"document": document, "name": f"{document}_file.txt", "lines": f"{start}-{start + len(lines) - 1}"}
        return {**shown, "text": "\n".join(lines)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What the program did with a question."""

    answer: str
    calls: tuple[tuple[str, Mapping[str, Json]], ...]

    def made(self, tool: str) -> list[Mapping[str, Json]]:
        return [arguments for name, arguments in self.calls if name == tool]


def ask(library: Library, question: str, told: str = "") -> Told:
    """The program's answer, through the same messages as any model's."""
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(told), UserPromptPart(question)])]
    calls: list[tuple[str, Mapping[str, Json]]] = []

    async def converse() -> str:
        model = connect(ModelConfig(name="lexical"))
        tools = library.tools()
        for _ in range(MOST_TURNS):
            response: ModelResponse = (await model.request(messages, tools, seed=0)).response
            part = response.parts[0]
            if isinstance(part, TextPart):
                return part.content
            assert isinstance(part, ToolCallPart)
            arguments = part.args_as_dict()
            calls.append((part.tool_name, arguments))
            result = library.call(part.tool_name, arguments)
            returned = ToolReturnPart(part.tool_name, result, part.tool_call_id)
            messages.extend([response, ModelRequest(parts=[returned])])
        raise AssertionError("it never answered")

    return Told(answer=asyncio.run(converse()), calls=tuple(calls))
