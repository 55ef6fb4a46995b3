"""A benchmark unlike Syn-Ledger, as far as a rollout needs one: JSON results, other tools, no listing, no limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.observables import ObservableFunction
from chase.core.values import (
    AnswerForm,
    Json,
    JsonLayout,
    Limits,
    OpenTool,
    Placeholder,
    ResultItem,
    SearchTool,
    Sighting,
    ToolInterface,
    ToolResult,
    ToolSpec,
)
from chase.engine.rollout import Job
from chase.harness.spec import Harness, Structure
from chase.protocol.transformation import OperatorList

QUESTION = "What does the tax report say of 2019 and 2020?"
YEARS = {"p1": 2019, "p2": 2021, "p3": 2020, "p4": 2018}
"""Pages in the order in which a search shows them."""
PARTS = 3


@dataclass(frozen=True, kw_only=True)
class Names:
    """What a variant calls the tools, their arguments and the fields of results."""

    find: str = "find"
    words: str = "words"
    read: str = "read"
    page: str = "page"
    body: str = "body"


RENAMED = Names(find="lookup", words="terms", read="fetch", page="ref", body="content")


class PageEnvironment:
    """Searches show all pages; a page is read part by part, each by its number."""

    question = QUESTION

    def __init__(self, names: Names, interface: ToolInterface) -> None:
        self.names = names
        self.interface = interface
        self.tools = [_spec(names.find, names.words), _spec(names.read, names.page, "part")]
        groups = {names.find: "search", names.read: "open"}
        self.limits = Limits(
            total_calls=8,
            group_calls={"search": 3, "open": 5},
            tool_groups=groups,
            steps=10,
            context_tokens=4096,
            wall_seconds=60.0,
        )
        self._used: Counter[str] = Counter()

    def calls_left(self) -> Mapping[str, int]:
        left = {group: most - self._used[group] for group, most in self.limits.group_calls.items()}
        return {**left, "total": self.limits.total_calls - self._used.total()}

    def refusal(self, message: str) -> ToolResult:
        return ToolResult(head=message, ok=False, layout=JsonLayout(items="hits"))

    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        self._used[self.limits.tool_groups[tool]] += 1
        return self._find() if tool == self.names.find else self._read(**arguments)

    def _find(self) -> ToolResult:
        items = [
            ResultItem(shown=Sighting(id=page, path="", hit=place, fields={self.names.page: page, "year": year}))
            for place, (page, year) in enumerate(YEARS.items())
        ]
        return ToolResult(head=f"{len(items)} pages", items=tuple(items), coverage=0, layout=JsonLayout(items="hits"))

    def _read(self, part: int = 0, **arguments: Json) -> ToolResult:
        page = arguments[self.names.page]
        if page not in YEARS:
            return self.refusal(f"There is no page {page}.")
        text = f"part {part} of {page}"
        fields = {self.names.page: page, "part": part, self.names.body: text}
        return ToolResult(
            head="",
            items=(ResultItem(shown=Sighting(id=page, path="", window=part, text=text, fields=fields)),),
            reads_on={self.names.page: page, "part": part + 1} if part + 1 < PARTS else None,
            layout=JsonLayout(items="hits"),
        )


def _spec(name: str, argument: str, *optional: str) -> ToolSpec:
    properties = {argument: {"type": "string"}, **{each: {"type": "integer"} for each in optional}}
    return ToolSpec(
        name=name, description=name, parameters={"type": "object", "properties": properties, "required": [argument]}
    )


class Pages:
    """What `run_rollout` asks of a benchmark."""

    content_hash = "0" * 64
    versions: Mapping[str, int] = {"tools": 1}
    observables = (ObservableFunction("year", "the page's year", lambda shown: shown.fields.get("year")),)
    placeholders: Mapping[str, Placeholder] = {
        "subject": Placeholder(description="what is asked about"),
        "years": Placeholder(description="every year", each=True),
    }
    answer_form = AnswerForm(
        name="sentence", instruction="Answer in one sentence.", repair="Write a sentence.", pattern=r"[A-Z].*\."
    )

    def __init__(self, names: Names = Names(), *, searches: bool = True, opens: bool = True) -> None:
        self.names = names
        self.interface = ToolInterface(
            search=SearchTool(tool=names.find, query=names.words) if searches else None,
            open=OpenTool(tool=names.read, document=names.page, unit="page") if opens else None,
        )

    def environment(self, task: str, transformation: Any) -> PageEnvironment:
        return PageEnvironment(self.names, self.interface)

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        return {"subject": ["tax report"], "years": ["2019", "2020"]}

    def role_of(self, task: str) -> str:
        return "evo"

    def score(self, task: str, answer: str | None) -> float:
        return float(answer is not None)


def page_harness(**fields: Any) -> Harness:
    """A harness of these policies. Guidance and control go under their names."""
    others = {name: fields.pop(name) for name in ("guidance", "control_source") if name in fields}
    return Harness(structure=Structure(benchmark="pages", **fields), prompt="Read the pages.", **others)


def page_job(harness: Harness, pages: Any = None) -> Job:
    return Job(
        benchmark=pages or Pages(), transformation=OperatorList(), harness=harness, task="t", index=0, run_seed=0
    )
