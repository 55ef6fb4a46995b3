"""One rollout's dealings with its environment: every tool call passes through the harness's policies here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from chase.core.interfaces import Environment
from chase.core.observables import OBSERVABLES
from chase.core.values import Json, ResultItem, ToolResult, ToolSpec
from chase.engine.policy import clean_query, expand, merge, reads_on, relaxed, rerank
from chase.engine.prompting import Situation, is_active
from chase.engine.sandbox import HookSession
from chase.engine.trace import Trace
from chase.harness.spec import Guidance, Harness


class Episode:
    """The harness at work between model and environment. Limits stay the environment's."""

    def __init__(
        self,
        *,
        environment: Environment,
        harness: Harness,
        slots: Mapping[str, Sequence[str]],
        hooks: HookSession,
        trace: Trace,
    ) -> None:
        self.environment = environment
        self.harness = harness
        self.slots = slots
        self.hooks = hooks
        self.trace = trace
        self.step = 0
        self.plan_note = ""
        """What the harness's `plan` hook has to tell the model."""
        self._answer_checked = False
        self._opened: dict[str, int] = {}
        """Windows read by document id."""
        self._ids: dict[str, str] = {}
        """Document id by path, for documents that were opened."""
        self._seen: set[str] = set()
        """Documents that some search result showed."""
        self._came = ""
        """The last tool result as it came, before the harness's policies."""
        self._told: set[str] = set()
        """Guidance and notes that the model already has."""

    # What the model is told

    def situation(self) -> Situation:
        left = self.environment.calls_left()
        return Situation(
            question=self.environment.question,
            slots=self.slots,
            calls_left=left["total"],
            opened=len(self._opened),
        )

    def newly_active(self) -> list[Guidance]:
        """Guidance whose condition holds now and that the model was not given yet."""
        waiting = [guidance for guidance in self.harness.guidance if guidance.name not in self._told]
        if not waiting:
            return []
        situation = self.situation()
        fresh = [guidance for guidance in waiting if is_active(guidance.when, situation)]
        self._told.update(guidance.name for guidance in fresh)
        return fresh

    async def notes(self) -> list[str]:
        """What to tell the model after its tool results: guidance that became active, and when to stop."""
        notes = []
        for guidance in self.newly_active():
            self.trace.add("guidance", name=guidance.name)
            notes.append(guidance.text.strip())
        left = self.environment.calls_left()["total"]
        stop = left <= self.harness.structure.control.answer_when_calls_left > 0
        if not stop and self.hooks.defines("should_stop"):
            stop = bool(await self.hook("should_stop"))
        if stop and "(stop)" not in self._told:
            self._told.add("(stop)")
            notes.append(f"{left} calls are left. Answer now with what you have.")
        return notes

    # Hooks

    def _state(self, more: Mapping[str, Json]) -> dict[str, Any]:
        """What hooks get to know: the `State` of `engine/hooks.py`."""
        return {
            "question": self.environment.question,
            "slots": {name: list(values) for name, values in self.slots.items()},
            "calls_left": dict(self.environment.calls_left()),
            "step": self.step,
            "opened": dict(self._opened),
            **more,
        }

    async def check_answer(self, answer: str) -> str | None:
        """What `check_answer` sends the first answer back with, or None."""
        if self._answer_checked:
            return None
        self._answer_checked = True
        message = await self.hook("check_answer", answer)
        return message if isinstance(message, str) and message else None

    async def hook(self, name: str, *arguments: Json, **state: Json) -> Json:
        """What a hook returned, or None where it is missing or failed; a failure is in the trace.

        Its last argument is the state, with what `state` adds to it.
        """
        if not self.hooks.defines(name):
            return None
        result = await self.hooks.call(name, *arguments, self._state(state))
        if result.failure is not None:
            self.trace.add_failure(self.hooks.failures[-1])
        else:
            self.trace.add("hook", hook=name, value=result.value, failure=None)
        return result.value

    # Tools

    async def opening(self) -> list[ModelMessage]:
        """The harness's own calls before the model's first turn, as messages: template searches, first opens."""
        policy = self.harness.structure
        queries = [query for template in policy.retrieval.templates for query in expand(template, self.slots)]
        plan = await self.hook("plan", tools=[tool.name for tool in self.environment.tools])
        if isinstance(plan, dict):
            queries += plan.get("queries", [])
            self.plan_note = plan.get("note", "")
        done: list[tuple[str, Mapping[str, Json], str]] = []
        hits: list[Sequence[ResultItem]] = []
        if self._search_tool is not None:
            for query in queries[: self.environment.calls_left().get("search", 0)]:
                result = await self._search(self._search_tool.name, {"query": query}, by="harness")
                hits.append(result.items)
                text = self._given(self._search_tool.name, result.text)
                done.append((self._search_tool.name, {"query": query}, text))
        merged = merge(hits, policy.retrieval)
        if len(hits) > 1 and policy.retrieval.merge == "round-robin":
            tool, arguments, _ = done.pop()
            text = "\n".join(["All results, merged:", *(item.text for item in merged)])
            done.append((tool, arguments, self._given(tool, text)))
        if self._open_tool is not None:
            for item in merged[: policy.tools.open_first]:
                result = await self._open(self._open_tool.name, {"file": item.shown.id}, by="harness")
                text = self._given(self._open_tool.name, result.text)
                done.append((self._open_tool.name, {"file": item.shown.id}, text))
        return _as_messages(done)

    @cached_property
    def _search_tool(self) -> ToolSpec | None:
        return self._tool_of("search", "query")

    @cached_property
    def _limit(self) -> Mapping[str, Json]:
        """The schema of the search tool's limit, or nothing where it has none."""
        properties: Mapping[str, Json] = self._search_tool.parameters["properties"] if self._search_tool else {}
        limit: Mapping[str, Json] = properties.get("limit", {})
        return limit

    @cached_property
    def _open_tool(self) -> ToolSpec | None:
        return self._tool_of("open", "file")

    def _tool_of(self, group: str, argument: str) -> ToolSpec | None:
        groups = self.environment.limits.tool_groups
        of_group = [tool for tool in self.environment.tools if groups.get(tool.name) == group]
        return next((tool for tool in of_group if argument in tool.parameters["properties"]), None)

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> str:
        """The model's tool call through the harness's policies; the text that the model gets."""
        group = self.environment.limits.tool_groups.get(tool)
        if group == "search" and isinstance(arguments.get("query"), str):
            result = await self._search(tool, arguments, by="model")
        elif group == "open" and isinstance(arguments.get("file"), str):
            result = await self._open(tool, arguments, by="model")
        else:
            result = self._run(tool, arguments, by="model")
        text = result.text
        addition = await self.hook("after_tool", tool, text)
        added = isinstance(addition, str) and addition
        return self._given(tool, f"{text}\n{addition}" if added else text)

    def _given(self, tool: str, text: str) -> str:
        """What the model gets of a result. The trace has it where it is not the result as it came."""
        if text != self._came:
            self.trace.add("given", tool=tool, text=text)
        return text

    def _run(self, tool: str, arguments: Mapping[str, Json], *, by: str, asked: Json = None) -> ToolResult:
        result = self.environment.call(tool, arguments)
        self.trace.add_tool(by, tool, arguments, result, asked)
        self._came = result.text
        return result

    async def _search(self, tool: str, arguments: Mapping[str, Json], *, by: str) -> ToolResult:
        policy = self.harness.structure.retrieval
        query = await self._rewritten(str(arguments["query"]), by)
        shown = self._results_shown(arguments)
        reorders = bool(policy.rank or policy.diverse) or self.hooks.defines("rerank")
        changed = {**arguments, "query": query}
        if shown is not None and reorders:
            # Re-ordering looks at all that a search can show, before it is cut.
            changed["limit"] = self._limit.get("maximum", shown)
        elif shown is not None and policy.results:
            changed["limit"] = shown
        asked = dict(arguments) if changed != arguments else None
        result = self._run(tool, changed, by=by, asked=asked)
        shorter = relaxed(query)
        if (
            result.coverage is not None
            and result.coverage < policy.relax_below
            and shorter
            and self.environment.calls_left().get("search")
        ):
            result = self._run(tool, {**changed, "query": shorter}, by="harness")
        return await self._ordered(result, shown) if result.items else result

    def _results_shown(self, arguments: Mapping[str, Json]) -> int | None:
        """How many hits the model gets: the harness decides, else the model, else the tool.

        None where there is nothing to decide, or where the tool is to refuse what the model asked for.
        """
        if not self._limit:
            return None
        wanted = self.harness.structure.retrieval.results or arguments.get("limit", self._limit.get("default"))
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            return None
        valid = self._limit.get("minimum", wanted) <= wanted <= self._limit.get("maximum", wanted)
        return wanted if valid else None

    async def _rewritten(self, query: str, by: str) -> str:
        policy = self.harness.structure.retrieval
        left = self.environment.calls_left().get("search", 0)
        if by == "model":
            for rule in policy.rewrites:
                if left <= rule.calls_left_at_most and (queries := expand(rule.template, self.slots)):
                    query = queries[0]
                    break
        changed = await self.hook("rewrite_query", query)
        cleaned = clean_query(changed if isinstance(changed, str) else query, policy)
        return cleaned or query

    async def _ordered(self, result: ToolResult, shown: int | None) -> ToolResult:
        """The hits as the harness orders and cuts them."""
        policy = self.harness.structure.retrieval
        items: list[ResultItem] = list(result.items)
        if policy.diverse:
            items = [item for item in items if item.shown.id not in self._seen] or items
        items = rerank(items, policy.rank)
        if self.hooks.defines("rerank"):
            hits = [
                {
                    "id": item.shown.id,
                    "path": item.shown.path,
                    "text": item.text,
                    "observables": {name: observable(item.shown) for name, observable in OBSERVABLES.items()},
                }
                for item in items
            ]
            order = await self.hook("rerank", hits)
            items = [items[place] for place in order] if isinstance(order, list) else items
        items = items[:shown]
        self._seen.update(item.shown.id for item in items)
        return replace(result, items=tuple(items))

    async def _open(self, tool: str, arguments: Mapping[str, Json], *, by: str) -> ToolResult:
        policy = self.harness.structure.tools
        wanted = str(arguments["file"])
        left = self.environment.calls_left().get("open", 0)
        if left and self._ids.get(wanted, wanted) not in self._opened:
            held = left <= policy.reserved_reads and bool(self._opened)
            if held or len(self._opened) >= policy.opened_files:
                reason = "are kept for reading on in files already opened" if held else "may open no further file"
                refusal = ToolResult(head=f"{left} file-opening calls are left and {reason}.", ok=False)
                self.trace.add_tool("harness", tool, arguments, refusal)
                self._came = refusal.text
                return refusal
        result = self._run(tool, arguments, by=by)
        if not result.items:
            return result
        shown = result.items[0].shown
        self._ids[shown.path] = shown.id
        self._opened[shown.id] = self._opened.get(shown.id, 0) + 1
        if shown.window == 0 and reads_on(policy.read_on, shown) and self.environment.calls_left().get("open"):
            more = self._run(tool, arguments, by="harness")
            if more.ok:
                self._opened[shown.id] += 1
                return replace(result, items=(*result.items, *more.items))
        return result


def _as_messages(calls: Sequence[tuple[str, Mapping[str, Json], str]]) -> list[ModelMessage]:
    """Calls and their results as the model will find them in its history."""
    messages: list[ModelMessage] = []
    for place, (tool, arguments, text) in enumerate(calls):
        messages.append(ModelResponse(parts=[ToolCallPart(tool, dict(arguments), f"opening-{place}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart(tool, text, f"opening-{place}")]))
    return messages
