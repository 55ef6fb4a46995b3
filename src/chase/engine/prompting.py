"""What the model reads of a harness: the system prompt, and guidance while its condition holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chase.core.values import AnswerForm
from chase.harness.spec import Activation, Guidance, Harness


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What an activation condition can look at: the current task as observed so far, never which task it is."""

    question: str
    slots: Mapping[str, Sequence[str]]
    blanked: Sequence[str]
    """The placeholders whose values tell tasks apart."""
    calls_left: int
    opened: int

    @property
    def masked_question(self) -> str:
        """The question's words without the values that tell tasks apart."""
        text = self.question
        for name in self.blanked:
            for value in self.slots.get(name, ()):
                text = text.replace(value, " ")
        return text.lower()


def is_active(when: Activation, situation: Situation) -> bool:
    """Whether a guidance module's condition holds."""
    if when.question_has_any:
        words = set(re.findall(r"[a-z]+", situation.masked_question))
        if not words.intersection(when.question_has_any):
            return False
    if any(len(situation.slots.get(name, ())) < least for name, least in when.values_at_least.items()):
        return False
    if when.calls_left_at_most is not None and situation.calls_left > when.calls_left_at_most:
        return False
    return situation.opened >= when.opened_at_least


def system_prompt(harness: Harness, form: AnswerForm, active: Sequence[Guidance]) -> str:
    """The system prompt: prompt, answer form, tool instructions, memory, and guidance that holds from the start."""
    parts = [harness.prompt.strip(), form.instruction]
    if harness.structure.tools.instructions.strip():
        parts.append(f"Using the tools:\n{harness.structure.tools.instructions.strip()}")
    if harness.memory.strip():
        parts.append(f"From earlier work:\n{harness.memory.strip()}")
    parts += [guidance.text.strip() for guidance in active]
    return "\n\n".join(parts)


def fits(answer: str, form: AnswerForm) -> bool:
    """Whether an answer has the form that the benchmark asks for."""
    return re.fullmatch(form.pattern, answer, re.DOTALL) is not None
