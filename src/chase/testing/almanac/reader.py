"""`sim:almanac`: a plain program that answers Almanac's questions through messages and tools. No language model.

It is lean: it opens the first fitting hit and believes it, final or not. What a harness tells it changes that: "Read
on." makes it look whether a report is final, "Prefer files with low name-length." which hit it opens first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from chase.core.keyed import uniform
from chase.core.values import Json
from chase.models.config import ModelConfig
from chase.models.local import Heard, LocalModel, register_local
from chase.testing.almanac.contents import Document
from chase.testing.almanac.observables import OBSERVABLES
from chase.testing.almanac.questions import Question, answer_from, read_question
from chase.testing.almanac.reading import Hit, Notebook, Report, read_items

NAME = "sim:almanac"
VERSION = "1"
SLIP = 0.15
"""How often it takes a row for its neighbour, unless it is told to look closely."""
MOST_REPORTS = 3
"""Reports that it looks into for a year."""
NOT_FOUND = "I could not find it."

_BY_NAME = {observable.name: observable for observable in OBSERVABLES}


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """What the harness tells it."""

    prefers: tuple[tuple[str, str], ...]
    """(side, observable), the first most important."""
    verifies: bool
    verifies_where: tuple[tuple[str, str], ...]
    reads_on: bool
    careful: bool


def read_advice(text: str) -> Advice:
    """The sentences that it understands."""
    where = re.findall(r"Read on in files with (low|high) ([a-z-]+)\.", text)
    return Advice(
        prefers=tuple(re.findall(r"Prefer files with (low|high) ([a-z-]+)\.", text)),
        verifies=bool(re.search(r"(?<!not )\b[Rr]ead on\.|Check every condition\.", text)),
        verifies_where=tuple(where),
        reads_on="Do not read on." not in text,
        careful="Look at every record." in text,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """Which tool is for what, as their descriptions and schemas say. Names mean nothing to it."""

    find: str
    text: str
    read: str
    document: str
    first: str

    @classmethod
    def recognise(cls, tools: Sequence[ToolDefinition]) -> Tools | None:
        found: dict[str, tuple[str, list[str], list[str]]] = {}
        for tool in tools:
            schemas = tool.parameters_json_schema["properties"]
            texts = [name for name, schema in schemas.items() if schema.get("type") == "string"]
            counts = [name for name, schema in schemas.items() if schema.get("type") == "integer"]
            for purpose in ("Look for passages", "Read lines"):
                if (tool.description or "").startswith(purpose) and texts and counts:
                    found[purpose] = tool.name, texts, counts
        if len(found) < 2:
            return None
        look, read = found["Look for passages"], found["Read lines"]
        return cls(find=look[0], text=look[1][0], read=read[0], document=read[1][0], first=read[2][0])


Call = tuple[str, dict[str, Json]]
Step = Call | str


@dataclass(frozen=True, kw_only=True)
class Mind:
    """Decides on the next step from what it knows. It remembers nothing else."""

    question: Question
    tools: Tools
    advice: Advice
    notebook: Notebook
    seed: int

    def next(self) -> Step:
        reports: list[Document] = []
        for year in self.question.years:
            step = self._report(year)
            if isinstance(step, tuple | None):
                return NOT_FOUND if step is None else step
            reports.append(step.as_document(self.question.place, year, self.question.measure))
        return answer_from(self.question, [self._slipped(report) for report in reports]) or NOT_FOUND

    def _report(self, year: int) -> Report | Call | None:
        """The report of a year that it settles on, the call that it makes first, or None: it gives up."""
        query = f"{self.question.place} {year} {self.question.measure or 'signed'}"
        hits = self._fitting(year)
        if not hits:
            asked = self.notebook.looked(query) or not self.notebook.may_look
            return None if asked else (self.tools.find, {self.tools.text: query})
        fallback: Report | None = None
        for hit in hits[:MOST_REPORTS]:
            step = self._look_into(hit)
            if isinstance(step, tuple):
                return step
            if step is not None and step.status != "preliminary":
                return step
            fallback = fallback or step
        return fallback

    def _look_into(self, hit: Hit) -> Report | Call | None:
        """The hit's report with what is asked for, the call that reads more of it, or None: it is not in there."""
        report = self.notebook.report(hit.document)
        if report is None:
            return self._read(hit, hit.start)
        found = report.has(self.question)
        wanted = self._verifies(hit) and report.status is None if found else self.advice.reads_on and report.reads < 2
        return (self._read(hit, report.next_line) if wanted and report.next_line else None) or (
            report if found else None
        )

    def _read(self, hit: Hit, line: int) -> Call | None:
        if not self.notebook.may_read:
            return None
        return self.tools.read, {self.tools.document: hit.document, self.tools.first: line}

    def _fitting(self, year: int) -> list[Hit]:
        """The hits for a year, in the order in which they would be opened; names that say otherwise are left out."""
        hits = [hit for hit in self.notebook.hits if str(year) in hit.query and self._may_be(hit, year)]
        for side, name in reversed(self.advice.prefers):
            hits.sort(key=lambda hit: _level(hit, name) * (1 if side == "low" else -1))
        return hits

    def _may_be(self, hit: Hit, year: int) -> bool:
        said = re.match(r"([a-z]+)-(\d{4})\b", hit.shown.path)
        return said is None or (said[1], said[2]) == (self.question.place.lower(), str(year))

    def _verifies(self, hit: Hit) -> bool:
        if not self.advice.reads_on:
            return False
        if self.advice.verifies:
            return True
        return any(self._is_on(side, name, hit) for side, name in self.advice.verifies_where)

    def _is_on(self, side: str, name: str, hit: Hit) -> bool:
        middle = median(_level(other, name) for other in self.notebook.hits)
        return _level(hit, name) <= middle if side == "low" else _level(hit, name) >= middle

    def _slipped(self, report: Document) -> Document:
        """The report as it took it in: now and then two rows of a table change places."""
        key = "slip", self.seed, self.question.measure, report.year
        if self.advice.careful or not report.tables or uniform(*key) >= SLIP:
            return report
        table = report.tables[0]
        figures = [figure for _, figure in table.rows]
        districts = [district for district, _ in table.rows]
        rows = tuple(zip(districts, figures[1:] + figures[:1], strict=True))
        return replace(report, tables=(replace(table, rows=rows),))


def _level(hit: Hit, name: str) -> float:
    observable = _BY_NAME.get(name)
    value = None if observable is None else observable(hit.shown)
    return 0.0 if value is None else value


def _notes(heard: Heard, tools: Tools) -> Notebook:
    """What the tools have shown so far."""
    notebook = Notebook()
    for answer in heard.answers:
        items = read_items(answer.text)
        if answer.tool == tools.find:
            notebook.note_hits(str(answer.arguments.get(tools.text, "")), items)
        elif answer.tool == tools.read:
            notebook.note_lines(items)
    return notebook


def _step(heard: Heard, tools: Tools | None, seed: int) -> Step:
    """What is done next."""
    question = read_question(heard.question)
    if tools is None or question is None:
        return NOT_FOUND
    advice = read_advice("\n".join(heard.instructions))
    return Mind(question=question, tools=tools, advice=advice, notebook=_notes(heard, tools), seed=seed).next()


def almanac_model(config: ModelConfig) -> LocalModel:
    """The program as a model."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seed = int((info.model_settings or {}).get("seed") or 0)
        heard = Heard.of(messages)
        step = _step(heard, Tools.recognise(info.function_tools), seed)
        usage = RequestUsage(input_tokens=heard.characters // 4, output_tokens=8)
        if isinstance(step, tuple):
            part = ToolCallPart(step[0], step[1], f"call-{len(messages)}")
            return ModelResponse(parts=[part], usage=usage)
        return ModelResponse(parts=[TextPart(step)], usage=usage)

    return LocalModel(respond, name=NAME, version=VERSION)


def register_reader() -> str:
    """Make `sim:almanac` a model that `connect` finds; its name."""
    register_local(NAME, f"{__name__}:almanac_model")
    return NAME
