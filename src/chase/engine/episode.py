"""One rollout's dealings with its environment: every tool call passes through the harness's policies here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from chase.core.interfaces import Environment, Observable
from chase.core.values import AnswerForm, Json, OpenTool, Placeholder, ResultItem, SearchTool, ToolResult
from chase.engine.policy import (
    applies,
    clean_query,
    documents_in_turn,
    expand,
    hit_key,
    merge,
    reads_on,
    relaxed,
    rerank,
)
from chase.engine.prompting import Situation, is_active
from chase.engine.sandbox import HookSession
from chase.engine.trace import Trace
from chase.harness.spec import Guidance, Harness, Rewrite


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a benchmark lets a harness work with, the same in all its tasks. No answer, evidence or role."""

    observables: Mapping[str, Observable]
    placeholders: Mapping[str, Placeholder]
    answer_form: AnswerForm
    slots: Mapping[str, Sequence[str]]
    """The placeholders' values in this task's question."""

    @property
    def blanked(self) -> list[str]:
        return [name for name, placeholder in self.placeholders.items() if placeholder.tells_tasks_apart]


class Episode:
    """The harness at work between model and environment. Limits stay the environment's."""

    def __init__(
        self, *, environment: Environment, harness: Harness, terms: Terms, hooks: HookSession, trace: Trace
    ) -> None:
        self.environment = environment
        self.harness = harness
        self.terms = terms
        self.hooks = hooks
        self.trace = trace
        self._search_tool = environment.interface.search
        self._open_tool = environment.interface.open
        self._limit = self._limit_schema()
        self.step = 0
        self.plan_note = ""
        """What the harness's `plan` hook has to tell the model."""
        self._answer_checked = False
        self._opened: dict[str, int] = {}
        """Windows read by document id."""
        self._ids: dict[str, str] = {}
        """Document id by path, for documents that were opened."""
        self._seen: dict[str, bool] = {}
        """Hits that some search result showed (`hit_key`), and whether one showed them as matching."""
        self._came = ""
        """The last tool result as it came, before the harness's policies."""
        self._told: set[str] = set()
        """Guidance and notes that the model already has."""

    # What the model is told

    def situation(self) -> Situation:
        left = self.environment.calls_left()
        return Situation(
            question=self.environment.question,
            slots=self.terms.slots,
            blanked=self.terms.blanked,
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
            "slots": {name: list(values) for name, values in self.terms.slots.items()},
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
        queries = [query for template in policy.retrieval.templates for query in self._expand(template)]
        plan = await self.hook("plan", tools=[tool.name for tool in self.environment.tools])
        if isinstance(plan, dict):
            queries += plan.get("queries", [])
            self.plan_note = plan.get("note", "")
        done: list[_Done] = []
        results: list[ToolResult] = []
        if (search := self._search_tool) is not None:
            for query in queries[: self._left(search.tool)]:
                results.append(await self._search(search, {search.query: query}, by="harness"))
                done.append(self._done(search.tool, {search.query: query}, results[-1]))
        merged = merge([result.items for result in results], policy.retrieval)
        if len(results) > 1 and policy.retrieval.merge == "round-robin":
            tool, arguments, _ = done.pop()
            whole = replace(results[-1], head="All results, merged:", items=tuple(merged))
            done.append(self._done(tool, arguments, whole))
        if (opener := self._open_tool) is not None:
            for item in merged[: policy.tools.open_first]:
                arguments = item.opens or {opener.document: item.shown.id}
                done.append(self._done(opener.tool, arguments, await self._open(opener, arguments, by="harness")))
        return _as_messages(done)

    def _done(self, tool: str, arguments: Mapping[str, Json], result: ToolResult) -> _Done:
        return tool, arguments, self._given(tool, result.text)

    def _expand(self, template: str) -> list[str]:
        return expand(template, self.terms.slots, self.terms.placeholders)

    def _left(self, tool: str) -> int:
        """Calls left of a tool's group."""
        return self.environment.calls_left().get(self.environment.limits.tool_groups[tool], 0)

    def _limit_schema(self) -> Mapping[str, Json]:
        """The schema of the search tool's limit, or nothing where it has none."""
        if self._search_tool is None or self._search_tool.limit is None:
            return {}
        return self._schema(self._search_tool.tool, self._search_tool.limit)

    def _schema(self, tool: str, argument: str) -> Mapping[str, Json]:
        spec = next(spec for spec in self.environment.tools if spec.name == tool)
        schema: Mapping[str, Json] = spec.parameters["properties"][argument]
        return schema

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> str:
        """The model's tool call through the harness's policies; the text that the model gets."""
        search, opener = self._search_tool, self._open_tool
        if search is not None and tool == search.tool and isinstance(arguments.get(search.query), str):
            result = await self._search(search, arguments, by="model")
        elif opener is not None and tool == opener.tool and isinstance(arguments.get(opener.document), str):
            result = await self._open(opener, arguments, by="model")
        else:
            result = self._run(tool, arguments, by="model")
        text = result.text
        if self.hooks.defines("after_tool"):
            addition = await self.hook("after_tool", tool, text, items=[self._hit(item) for item in result.items])
            text = f"{text}\n{addition}" if isinstance(addition, str) and addition else text
        return self._given(tool, text)

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

    async def _search(self, search: SearchTool, arguments: Mapping[str, Json], *, by: str) -> ToolResult:
        policy = self.harness.structure.retrieval
        rule = self._rewrite(search, by)
        query = await self._rewritten(str(arguments[search.query]), rule)
        shown = self._results_shown(search, arguments)
        reorders = bool(policy.rank or policy.diverse) or self.hooks.defines("rerank")
        changed = {**arguments, search.query: query}
        if rule is not None and rule.match is not None and search.match is not None:
            changed[search.match.argument] = search.match.any if rule.match == "any" else search.match.all
        if shown is not None and search.limit is not None and reorders:
            # Re-ordering looks at all that a search can show, before it is cut.
            changed[search.limit] = self._limit.get("maximum", shown)
        elif shown is not None and search.limit is not None and policy.results:
            changed[search.limit] = shown
        asked = dict(arguments) if changed != arguments else None
        result = self._run(search.tool, changed, by=by, asked=asked)
        few = result.coverage is not None and result.coverage < policy.relax_below
        if few and self._left(search.tool):
            result = self._relaxed(search, changed, result)
        return await self._ordered(result, shown) if result.items else result

    def _results_shown(self, search: SearchTool, arguments: Mapping[str, Json]) -> int | None:
        """How many hits the model gets: the harness decides, else the model, else the tool.

        None where there is nothing to decide, or where the tool is to refuse what the model asked for.
        """
        results = self.harness.structure.retrieval.results
        if search.limit is None:
            return results
        wanted = results or arguments.get(search.limit, self._limit.get("default"))
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            return None
        valid = self._limit.get("minimum", wanted) <= wanted <= self._limit.get("maximum", wanted)
        return wanted if valid else None

    def _relaxed(self, search: SearchTool, arguments: Mapping[str, Json], found: ToolResult) -> ToolResult:
        """The result of a wider search: for any of the words where all were asked for, else for fewer words."""
        query, match = str(arguments[search.query]), search.match
        if match is not None and self._matching(search, arguments) == match.all:
            result = self._run(search.tool, {**arguments, match.argument: match.any}, by="harness")
            return replace(result, head=f"Few matches; searched for any of the words instead. {result.head}")
        if (shorter := relaxed(query)) is None:
            return found
        result = self._run(search.tool, {**arguments, search.query: shorter}, by="harness")
        return replace(result, head=f'Few matches; searched for "{shorter}" instead. {result.head}')

    def _matching(self, search: SearchTool, arguments: Mapping[str, Json]) -> Json:
        """What a search is told to match: as asked, else by default."""
        if search.match is None:
            return None
        default = self._schema(search.tool, search.match.argument).get("default")
        return arguments.get(search.match.argument, default)

    def _rewrite(self, search: SearchTool, by: str) -> Rewrite | None:
        """The first rewrite that applies to a query now. One with a template is for the model's queries alone."""
        calls, searches = self.environment.calls_left()["total"], self._left(search.tool)
        for rule in self.harness.structure.retrieval.rewrites:
            fits = rule.template is None or (by == "model" and bool(self._expand(rule.template)))
            if fits and applies(rule, calls=calls, searches=searches):
                return rule
        return None

    async def _rewritten(self, query: str, rule: Rewrite | None) -> str:
        if rule is not None and rule.template is not None:
            query = self._expand(rule.template)[0]
        changed = await self.hook("rewrite_query", query)
        cleaned = clean_query(changed if isinstance(changed, str) else query, self.harness.structure.retrieval, rule)
        return cleaned or query

    async def _ordered(self, result: ToolResult, shown: int | None) -> ToolResult:
        """The hits as the harness orders and cuts them."""
        policy = self.harness.structure.retrieval
        items: list[ResultItem] = list(result.items)
        if policy.diverse:
            items = documents_in_turn([item for item in items if self._is_news(item)] or items)
        items = rerank(items, policy.rank, self.terms.observables)
        if self.hooks.defines("rerank"):
            order = await self.hook("rerank", [self._hit(item) for item in items])
            items = [items[place] for place in order] if isinstance(order, list) else items
        items = items[:shown]
        for item in items:
            key = hit_key(item)
            self._seen[key] = self._seen.get(key, False) or bool(item.shown.matches)
        return replace(result, items=tuple(items))

    def _is_news(self, item: ResultItem) -> bool:
        """Whether no earlier result showed the hit, or none as matching and this one does."""
        before = self._seen.get(hit_key(item))
        return before is None or (bool(item.shown.matches) and not before)

    def _hit(self, item: ResultItem) -> dict[str, Json]:
        """A hit as hooks get it: the `Hit` of `engine/hooks.py`."""
        shown = item.shown
        return {
            "id": shown.id,
            "path": shown.path,
            "text": item.text,
            "fields": dict(shown.fields),
            "observables": {name: observable(shown) for name, observable in self.terms.observables.items()},
        }

    async def _open(self, opener: OpenTool, arguments: Mapping[str, Json], *, by: str) -> ToolResult:
        policy, tool = self.harness.structure.tools, opener.tool
        if refusal := self._held_back(opener, str(arguments[opener.document])):
            self.trace.add_tool("harness", tool, arguments, refusal)
            self._came = refusal.text
            return refusal
        result = self._run(tool, arguments, by=by)
        if not result.items:
            return result
        shown = result.items[0].shown
        self._ids[shown.path] = shown.id
        self._opened[shown.id] = self._opened.get(shown.id, 0) + 1
        wanted = shown.window == 0 and reads_on(policy.read_on, shown, self.terms.observables)
        if wanted and result.reads_on is not None and self._left(tool):
            more = self._run(tool, result.reads_on, by="harness")
            if more.ok:
                self._opened[shown.id] += 1
                return replace(result, items=(*result.items, *more.items), reads_on=more.reads_on)
        return result

    def _held_back(self, opener: OpenTool, wanted: str) -> ToolResult | None:
        """The refusal of a call that opens one more document than the harness allows; None where it may."""
        policy, left = self.harness.structure.tools, self._left(opener.tool)
        if not left or self._ids.get(wanted, wanted) in self._opened:
            return None
        held = left <= policy.reserved_reads and bool(self._opened)
        full = policy.opened_files is not None and len(self._opened) >= policy.opened_files
        if not held and not full:
            return None
        unit = opener.unit
        reason = f"are kept for reading on in {unit}s already opened" if held else f"may open no further {unit}"
        return self.environment.refusal(f"{left} {unit}-opening calls are left and {reason}.")


_Done = tuple[str, Mapping[str, Json], str]
"""A call of the harness's: tool, arguments, and what the model gets of the result."""


def _as_messages(calls: Sequence[_Done]) -> list[ModelMessage]:
    """Calls and their results as the model will find them in its history."""
    messages: list[ModelMessage] = []
    for place, (tool, arguments, text) in enumerate(calls):
        messages.append(ModelResponse(parts=[ToolCallPart(tool, dict(arguments), f"opening-{place}")]))
        messages.append(ModelRequest(parts=[ToolReturnPart(tool, text, f"opening-{place}")]))
    return messages
