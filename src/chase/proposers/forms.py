"""What Proposers of every kind are told: the form of a harness for a benchmark, and how the last round failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chase.agents.history import History, contract_file
from chase.agents.prompt_files import PromptFiles
from chase.core.values import Placeholder


def placeholder_words(placeholders: Mapping[str, Placeholder]) -> str:
    """The placeholders of query templates, each with what it is filled with."""
    return ", ".join(f"{{{name}}} ({placeholder.description})" for name, placeholder in placeholders.items())


def contract_words(prompts: PromptFiles, contracts: Mapping[str, str]) -> str:
    """What gates require of every candidate, each with the file of the history that has it too; nothing for none."""
    told = (
        prompts.fill("contract", file=contract_file(gate), contract=text.strip()) for gate, text in contracts.items()
    )
    return "".join(f"\n{text}\n" for text in told)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedRound:
    """A round none of whose candidates was selected."""

    problems: tuple[str, ...]
    """Which constraints were violated by which harness, and which candidates could not be used."""
    selected: str
    """What it fell back to."""


def failed_round(history: History) -> FailedRound | None:
    """The last round, where it fell back and it is known why."""
    rounds = history.rounds()
    if not rounds or str(rounds[-1]["selected"]).startswith(f"r{rounds[-1]['round']}-"):
        return None
    last = rounds[-1]
    violations = [
        f"{row['harness']} violates {', '.join(row['violates'])} ({_gain(row['gain'])})"
        for row in last.get("pool", ())
        if row.get("violates")
    ]
    problems = (*violations, *map(str, last.get("refused", ())))
    return FailedRound(problems=problems, selected=str(last["selected"])) if problems else None


def _gain(gain: float | None) -> str:
    """One that was found to violate something early was not evaluated on all tasks."""
    return "stopped before its gain was known" if gain is None else f"gain {gain:+.4f}"
