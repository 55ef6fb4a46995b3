"""The structural fields of a harness (`harness.toml`) and its guidance modules, as typed values.

Two tracks, separate by construction. Structural: retrieval, tool and control policy, `control.py`.
Guidance: system prompt, long-term memory, guidance modules. The engine executes structural policies for any
model; guidance is text that the model reads.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from chase.core.errors import UserError, choose
from chase.core.keyed import digest
from chase.core.observables import OBSERVABLES

PLACEHOLDERS = ("entity", "period", "periods", "question")
MOST_TEMPLATES = 4
Track = Literal["structural", "guidance"]

COMPONENTS: Mapping[str, Track] = {
    "system prompt": "guidance",
    "long-term memory": "guidance",
    "guidance modules": "guidance",
    "retrieval policy": "structural",
    "tool policy": "structural",
    "control policy": "structural",
}
"""The six editable components of the paper, each on its track. `control.py` belongs to the control policy."""


def _known_observable(name: str) -> str:
    try:
        return choose("observable", name, OBSERVABLES)
    except UserError as error:
        raise ValueError(str(error)) from None


ObservableName = Annotated[str, AfterValidator(_known_observable)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Preference(_Part):
    """A lean on an observable: documents on the preferred side come earlier."""

    observable: ObservableName
    prefer: Literal["low", "high"]
    weight: float = Field(default=1.0, gt=0, le=100)


class Rewrite(_Part):
    """A query of the model's is replaced by a template once few search calls are left."""

    calls_left_at_most: int = Field(ge=0, le=12)
    template: str


class Retrieval(_Part):
    """How the engine searches for the model."""

    results: int = Field(default=4, ge=1, le=12)
    """Results a search shows."""
    templates: tuple[str, ...] = ()
    """Queries issued before the model's first turn; `{periods}` makes one query for each period."""
    merge: Literal["sequence", "round-robin"] = "sequence"
    """How the hits of several queries are put together."""
    diverse: bool = False
    """A document that was already shown in an earlier result is left out of later ones."""
    drop_stop_words: bool = False
    most_terms: int = Field(default=0, ge=0, le=50)
    """Longest query in words; 0 is no limit."""
    relax_below: int = Field(default=0, ge=0, le=12)
    """With fewer full matches than this the query is tried again with its last terms dropped."""
    rewrites: tuple[Rewrite, ...] = ()
    rank: tuple[Preference, ...] = ()
    """Hits are re-ordered by these leans, added to their place in the result."""

    @field_validator("templates")
    @classmethod
    def _few_templates(cls, templates: tuple[str, ...]) -> tuple[str, ...]:
        if len(templates) > MOST_TEMPLATES:
            raise ValueError(f"at most {MOST_TEMPLATES} query templates")
        return templates

    @model_validator(mode="after")
    def _known_placeholders(self) -> Retrieval:
        for template in (*self.templates, *(rewrite.template for rewrite in self.rewrites)):
            check_template(template)
        return self


class ReadOn(_Part):
    """When the engine reads a document's continuation right after its first window."""

    when: Literal["never", "always", "observable"] = "never"
    observable: ObservableName | None = None
    at_most: float | None = None
    at_least: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> ReadOn:
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        if (self.when == "observable") != (self.observable is not None and len(bounds) == 1):
            raise ValueError("when='observable' goes with an observable and one of at_most, at_least")
        return self


class Tools(_Part):
    """How the engine spends and guards the tool budget for the model."""

    instructions: str = Field(default="", max_length=4000)
    """Tool-use instructions, shown after the system prompt."""
    opened_files: int = Field(default=6, ge=1, le=6)
    """Most different files that are opened."""
    reserved_reads: int = Field(default=0, ge=0, le=5)
    """File-opening calls kept for continuations: the last ones do not open a new file."""
    open_first: int = Field(default=0, ge=0, le=6)
    """Documents of the opening searches that the engine opens before the model's first turn."""
    read_on: ReadOn = ReadOn()


class Control(_Part):
    """When the engine asks for the answer, and how often it sends one back."""

    answer_when_calls_left: int = Field(default=0, ge=0, le=12)
    """With at most so many calls left the model is told to answer; 0 never."""
    repairs: int = Field(default=0, ge=0, le=2)
    """How often an answer that does not fit the schema is sent back."""


class Structure(_Part):
    """`harness.toml`."""

    schema_: Literal["chase.harness/1"] = Field(default="chase.harness/1", alias="schema")
    benchmark: str
    answer: Literal["integer", "text"] = "integer"
    retrieval: Retrieval = Retrieval()
    tools: Tools = Tools()
    control: Control = Control()


class Activation(_Part):
    """When a guidance module is shown: by what can be seen in the current task, never by which task it is.

    Words are looked for in the question with entity and periods blanked out.
    """

    question_has_any: tuple[str, ...] = ()
    periods_at_least: int = Field(default=0, ge=0, le=9)
    calls_left_at_most: int | None = Field(default=None, ge=0, le=12)
    opened_at_least: int = Field(default=0, ge=0, le=12)

    @field_validator("question_has_any")
    @classmethod
    def _plain_words(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if not word.isalpha() or not word.islower():
                raise ValueError(f"question_has_any takes lower-case words, not '{word}'")
        return words


@dataclass(frozen=True, kw_only=True, slots=True)
class Guidance:
    """A guidance module: text that is shown while its activation condition holds."""

    name: str
    when: Activation
    text: str


@dataclass(frozen=True, kw_only=True)
class Harness:
    """A harness `H`. Its identity is the hash of its canonical content."""

    structure: Structure
    prompt: str
    memory: str = ""
    guidance: tuple[Guidance, ...] = ()
    """In the order of their names."""
    control_source: str | None = None
    """`control.py`, or None."""

    def canonical(self) -> Mapping[str, Any]:
        """The content that makes two harnesses the same. Line endings and outer blank lines do not count."""
        return {
            "structure": self.structure.model_dump(mode="json", by_alias=True),
            "prompt": _plain(self.prompt),
            "memory": _plain(self.memory),
            "guidance": [
                {"name": g.name, "when": g.when.model_dump(mode="json"), "text": _plain(g.text)}
                for g in sorted(self.guidance, key=lambda g: g.name)
            ],
            "control": None if self.control_source is None else _plain(self.control_source),
        }

    @cached_property
    def hash(self) -> str:
        return digest(self.canonical())


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def check_template(template: str) -> None:
    """A ValueError unless the template uses the known placeholders, plainly."""
    try:
        fields = [(name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(template)]
    except ValueError as error:
        raise ValueError(f"query template '{template}': {error}") from None
    for name, spec, conversion in fields:
        if name is not None and (name not in PLACEHOLDERS or spec or conversion):
            raise ValueError(
                f"query template '{template}': placeholders are {', '.join(PLACEHOLDERS)}, written plainly"
            )


INITIAL_PROMPT = "Use the available tools to answer the question and return the answer in the required format."
"""The core prompt of the initial harness in the paper's table."""


def initial_harness(benchmark: str, *, answer: Literal["integer", "text"] = "integer") -> Harness:
    """`H_0`: the paper's initial harness. No memory, no rewriting, no fallback, no reranking."""
    return Harness(structure=Structure(benchmark=benchmark, answer=answer), prompt=INITIAL_PROMPT)
