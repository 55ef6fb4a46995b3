"""A harness as the gate reads it: every text, field and constant of its six components, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from chase.core.values import Json
from chase.harness.diff import component_of, flat_fields
from chase.harness.spec import Harness
from chase.harness.splicing import sentences
from chase.methods.gate.code import Code
from chase.methods.gate.flow import Flow
from chase.methods.gate.words import Words, plain, words

CONTROL = "control.py"
_OWN = ("schema", "benchmark", "answer")
"""Fields of `harness.toml` whose values the benchmark decides."""


@dataclass(frozen=True)
class Passage:
    """One text of a harness."""

    place: str
    """A file or a dotted key, as its author knows it."""
    component: str
    text: str
    """As every check reads it (`words.plain`)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", plain(self.text))

    @cached_property
    def words(self) -> Words:
        return words(self.text)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence.text for sentence in sentences(self.text))


@dataclass(frozen=True)
class Scan:
    """A harness taken apart."""

    harness: Harness

    @cached_property
    def code(self) -> Code | None:
        """`control.py`; None where there is none, or it is no Python."""
        source = self.harness.control_source
        return None if source is None else Code.read(source)

    @cached_property
    def flow(self) -> Flow | None:
        """What flows where in `control.py`."""
        return None if self.code is None else Flow(self.code)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """Every text of all six components."""
        return (*self._fields(), *self._code(), *self.prose)

    @cached_property
    def prose(self) -> tuple[Passage, ...]:
        """What the model reads as guidance."""
        harness = self.harness
        return (
            Passage("prompt.md", "system prompt", harness.prompt),
            Passage("memory.md", "long-term memory", harness.memory),
            *(
                Passage(f"guidance/{module.name}.md", "guidance modules", text)
                for module in harness.guidance
                for text in (module.text, module.name, " ".join(module.when.question_has_any))
            ),
        )

    def _fields(self) -> Iterator[Passage]:
        structure = self.harness.structure.model_dump(mode="json", by_alias=True)
        for key, value in flat_fields(structure):
            if key not in _OWN:
                yield from (Passage(key, component_of(key), text) for text in _texts(value))

    def _code(self) -> Iterator[Passage]:
        if self.code is None:
            source = self.harness.control_source
            yield from [] if source is None else [Passage(CONTROL, "control policy", source)]
            return
        for value in (*self.code.constants, *self.code.comments, *sorted(self.code.names)):
            yield Passage(CONTROL, "control policy", str(value))

    @cached_property
    def by_place(self) -> dict[str, str]:
        """All text of each place together."""
        found: dict[str, list[str]] = {}
        for passage in self.passages:
            found.setdefault(passage.place, []).append(passage.text)
        return {place: "\n".join(texts) for place, texts in found.items()}


def _texts(value: Json) -> Iterator[str]:
    """The texts and numbers in a field's value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
