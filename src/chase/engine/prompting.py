"""What the model reads of a harness: the system prompt, and guidance while its condition holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chase.harness.spec import Activation, Guidance, Harness

ANSWER_FORMATS = {
    "integer": "When you have the answer, reply with the integer alone and call no tool.",
    "text": "When you have the answer, reply with the answer alone and call no tool.",
}
REPAIRS = {
    "integer": "That is not one integer. Reply with the integer alone.",
    "text": "That is empty. Reply with the answer alone.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What an activation condition can look at: the current task as observed so far, never which task it is."""

    question: str
    slots: Mapping[str, Sequence[str]]
    calls_left: int
    opened: int

    @property
    def masked_question(self) -> str:
        """The question's words without the values that tell tasks apart."""
        text = self.question
        for name in ("entity", "period", "periods"):
            for value in self.slots.get(name, ()):
                text = text.replace(value, " ")
        return text.lower()


def is_active(when: Activation, situation: Situation) -> bool:
    """Whether a guidance module's condition holds."""
    if when.question_has_any:
        words = set(re.findall(r"[a-z]+", situation.masked_question))
        if not words.intersection(when.question_has_any):
            return False
    if len(situation.slots.get("periods", ())) < when.periods_at_least:
        return False
    if when.calls_left_at_most is not None and situation.calls_left > when.calls_left_at_most:
        return False
    return situation.opened >= when.opened_at_least


def system_prompt(harness: Harness, active: Sequence[Guidance]) -> str:
    """The system prompt: prompt, answer format, tool instructions, memory, and guidance that holds from the start."""
    parts = [harness.prompt.strip(), ANSWER_FORMATS[harness.structure.answer]]
    if harness.structure.tools.instructions.strip():
        parts.append(f"Using the tools:\n{harness.structure.tools.instructions.strip()}")
    if harness.memory.strip():
        parts.append(f"From earlier work:\n{harness.memory.strip()}")
    parts += [guidance.text.strip() for guidance in active]
    return "\n\n".join(parts)


def fits_schema(answer: str, schema: str) -> bool:
    """Whether an answer has the form that the harness's answer schema asks for."""
    if schema == "integer":
        return re.fullmatch(r"\s*[+\-−]?\d[\d,]*\s*", answer) is not None
    return bool(answer.strip())
