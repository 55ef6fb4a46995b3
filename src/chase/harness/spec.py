"""The structural fields of a harness (`harness.toml`) and its guidance modules, as typed values.

Two tracks, separate by construction. Structural: retrieval, tool and control policy, `control.py`.
Guidance: system prompt, long-term memory, guidance modules. The engine executes structural policies for any
model; guidance is text that the model reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from chase.core.errors import UserError
from chase.core.keyed import digest

MOST = 1000
"""No count in a harness is larger. What a benchmark allows is less (`limits.py`)."""
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


def placeholders_of(template: str) -> list[str]:
    """The placeholders that a query template uses, in their order."""
    return re.findall(r"{([a-z_]+)}", template)


def _valid_template(template: str) -> str:
    if re.search(r"[{}]", re.sub(r"{[a-z_]+}", "", template)):
        raise ValueError("a query template's placeholders are names in plain braces, e.g. '{question}'")
    if not template.strip() or not template.isprintable():
        raise ValueError("a query template is one line of text, e.g. '{question}'")
    return template


def _valid_base_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError("write the benchmark's name without seed and size, e.g. 'syn-ledger'")
    return name


def plain_text(text: str) -> str:
    """A text without what does not count: byte-order mark, kind of line ending, outer blank lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n")
    return re.sub(r"\A(?:\ufeff|[ \t]*\n)+", "", text)


ObservableName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", examples=["path-depth"])]
"""Which observables there are, a benchmark says."""
Template = Annotated[str, AfterValidator(_valid_template)]
BenchmarkName = Annotated[str, AfterValidator(_valid_base_name)]
PlainText = Annotated[str, AfterValidator(plain_text)]
Bound = Annotated[float, AfterValidator(lambda value: value + 0.0)]
"""A number with one zero: -0.0 is 0.0."""


class _Part(BaseModel):
    """A table of a harness. What stands under a field is its description: in the schema that Proposers are shown, and
    in `docs/harness.md`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class Preference(_Part):
    """A lean on an observable: documents on the preferred side come earlier."""

    observable: ObservableName
    """Re-order the hits by this observable of a document. What matches the query stays first."""
    prefer: Literal["low", "high"]
    """Which side of it comes earlier."""
    weight: float = Field(default=1.0, gt=0, le=100)
    """How much it counts against the hit's place in the result: places for one rank on the observable."""


class Rewrite(_Part):
    """What becomes of queries while a condition holds. The first rewrite that applies counts.

    The harness's own searches before the model's first turn are rewritten too, but not by a template.
    """

    calls_left_at_least: int | None = Field(default=None, ge=0, le=MOST)
    """Applies while at least so many calls are left, of all tools together."""
    calls_left_at_most: int | None = Field(default=None, ge=0, le=MOST)
    """Applies while at most so many calls are left, of all tools together."""
    searches_left_at_least: int | None = Field(default=None, ge=0, le=MOST)
    """Applies while at least so many search calls are left."""
    searches_left_at_most: int | None = Field(default=None, ge=0, le=MOST)
    """Applies while at most so many search calls are left. All conditions that are given must hold."""
    template: Template | None = None
    """The model's query is replaced by this template. The harness's own searches are not."""
    drop_stop_words: bool = False
    """Leave stop words out of it."""
    shortest_term: int = Field(default=0, ge=0, le=50)
    """Leave out words with fewer characters than this; 0: none."""
    most_terms: int = Field(default=0, ge=0, le=50)
    """Keep so many words of what is left; 0 is no limit."""
    match: Literal["all", "any"] | None = None
    """Search for documents with all words of the query, or with any of them; only where the benchmark's search can be
    told so. Unset leaves it to the model."""

    @model_validator(mode="after")
    def _changes_something(self) -> Rewrite:
        changes = (self.template, self.drop_stop_words, self.shortest_term, self.most_terms, self.match)
        if not any(changes):
            raise ValueError(
                "it changes nothing; write at least one of template, drop_stop_words, shortest_term, most_terms, match"
            )
        return self


class Retrieval(_Part):
    """How the engine searches for the model."""

    results: int | None = Field(default=None, ge=1, le=MOST)
    """Results that a search shows, whatever the model asks for. Unset leaves it to the model and the tool's default."""
    templates: tuple[Template, ...] = ()
    """Queries that are issued before the model's first turn, as ordinary counted calls."""
    merge: Literal["sequence", "round-robin"] = "sequence"
    """How the hits of several such queries are put together."""
    diverse: bool = False
    """Leave out of a result the hits that an earlier result showed, unless they match only now, and show the documents
    in turn: the best hit of each, then the second of each."""
    drop_stop_words: bool = False
    """Leave stop words (a standard English list) out of every query."""
    most_terms: int = Field(default=0, ge=0, le=50)
    """Longest query in words; 0 is no limit."""
    relax_below: int = Field(default=0, ge=0, le=MOST)
    """With fewer full matches than this the search is tried again, as a counted call: for any of the words, where the
    benchmark's search can be told so and was told to match all, else without the query's last words."""
    rewrites: tuple[Rewrite, ...] = ()
    """What becomes of queries, each while a condition holds; the first that applies counts."""
    rank: tuple[Preference, ...] = ()
    """Leans by which hits are re-ordered, added to their place in the result."""


class ReadOn(_Part):
    """When the engine reads a document's continuation right after its first window."""

    when: Literal["never", "always", "observable"] = "never"
    """When the engine reads a document's continuation right after its first window."""
    observable: ObservableName | None = None
    """With `when = "observable"`: which observable decides."""
    at_most: Bound | None = None
    """Read on where it is at most this."""
    at_least: Bound | None = None
    """Read on where it is at least this. Write one of the two."""

    @model_validator(mode="after")
    def _complete(self) -> ReadOn:
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        if self.when == "observable" and (self.observable is None or len(bounds) != 1):
            raise ValueError("when='observable' needs an observable and exactly one of at_most, at_least")
        if self.when != "observable" and (self.observable is not None or bounds):
            raise ValueError(
                f"when='{self.when}' takes no observable, at_most or at_least; write when='observable' with them"
            )
        return self


class Tools(_Part):
    """How the engine spends and guards the tool budget for the model."""

    instructions: PlainText = Field(default="", max_length=4000)
    """Tool-use instructions, shown after the system prompt."""
    opened_files: int | None = Field(default=None, ge=1, le=MOST)
    """Most different files that are opened. Unset: as many as the benchmark's calls allow."""
    reserved_reads: int = Field(default=0, ge=0, le=MOST)
    """The last file-opening calls that are kept for reading on in files already opened."""
    open_first: int = Field(default=0, ge=0, le=MOST)
    """Documents of the opening searches that the engine opens before the model's first turn."""
    read_on: ReadOn = ReadOn()
    """When the engine reads a document's continuation for the model."""


class Control(_Part):
    """When the engine asks for the answer, and how often it sends one back."""

    answer_when_calls_left: int = Field(default=0, ge=0, le=MOST)
    """With at most so many calls left, of all tools together, the model is told to answer; 0 never."""
    repairs: int = Field(default=0, ge=0, le=2)
    """How often an answer that does not fit the answer form is sent back."""


class Structure(_Part):
    """`harness.toml`."""

    schema_: Literal["chase.harness/1"] = Field(default="chase.harness/1", alias="schema")
    """The version of this format."""
    benchmark: BenchmarkName
    """The benchmark's name without seed and size, e.g. `syn-ledger`."""
    answer: str | None = Field(default=None, max_length=64)
    """The answer form, as the benchmark names it. A benchmark has one; unset leaves it to the benchmark."""
    retrieval: Retrieval = Retrieval()
    """How the engine searches."""
    tools: Tools = Tools()
    """How the engine spends the tool budget."""
    control: Control = Control()
    """When the engine asks for the answer."""


class Activation(_Part):
    """When a guidance module is shown: by what can be seen in the current task, never by which task it is.

    Words are looked for in the question with the values that tell tasks apart blanked out.
    """

    question_has_any: tuple[str, ...] = ()
    """Holds if the question has one of these lower-case words (a to z); what tells tasks apart is blanked out first."""
    values_at_least: dict[str, Annotated[int, Field(ge=1, le=MOST)]] = {}
    """Holds if the question has so many values for each of these placeholders, e.g. `{periods = 2}`."""
    calls_left_at_most: int | None = Field(default=None, ge=0, le=MOST)
    """Holds while at most so many calls are left, of all tools together."""
    opened_at_least: int = Field(default=0, ge=0, le=MOST)
    """Holds once so many files were opened."""

    @field_validator("question_has_any")
    @classmethod
    def _plain_words(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if not re.fullmatch("[a-z]+", word):
                raise ValueError(f"'{word}' is not a lower-case word; write single words of the letters a to z")
        return words

    @field_validator("values_at_least")
    @classmethod
    def _plain_names(cls, least: dict[str, int]) -> dict[str, int]:
        if not all(re.fullmatch("[a-z_]+", name) for name in least):
            raise ValueError("a placeholder's name has the letters a to z and _ only; write e.g. {periods = 2}")
        return dict(sorted(least.items()))


class FrontMatter(_Part):
    """What may stand between the `+++` lines of a guidance module."""

    when: Activation = Activation()
    """While it holds, the module is shown; all conditions that are given must hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guidance:
    """A guidance module: text that is shown while its activation condition holds."""

    name: str
    when: Activation
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain_text(self.text))


@dataclass(frozen=True, kw_only=True)
class Harness:
    """A harness `H`. Its identity is the hash of its canonical content.

    Texts are held as they count, so that two harnesses with the same hash are equal values and behave alike.
    """

    structure: Structure
    prompt: str
    memory: str = ""
    guidance: tuple[Guidance, ...] = ()
    """In the order of their names."""
    control_source: str | None = None
    """`control.py`, or None; a blank one is None."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "prompt", plain_text(self.prompt))
        set_field(self, "memory", plain_text(self.memory))
        set_field(self, "guidance", tuple(sorted(self.guidance, key=lambda module: module.name)))
        set_field(self, "control_source", plain_text(self.control_source or "") or None)
        names = [module.name for module in self.guidance]
        if twice := [name for name, following in pairwise(names) if name == following]:
            raise UserError(f"guidance name='{twice[0]}' is given twice in a harness. Give each module its own name.")

    def canonical(self) -> Mapping[str, Any]:
        """The content that makes two harnesses the same. Line endings and outer blank lines do not count."""
        return {
            "structure": self.structure.model_dump(mode="json", by_alias=True),
            "prompt": self.prompt,
            "memory": self.memory,
            "guidance": [
                {"name": module.name, "when": module.when.model_dump(mode="json"), "text": module.text}
                for module in self.guidance
            ],
            "control": self.control_source,
        }

    @cached_property
    def hash(self) -> str:
        return digest(self.canonical())


INITIAL_PROMPT = "Use the available tools to answer the question and return the answer in the required format."
"""The core prompt of the initial harness in the paper's table."""
