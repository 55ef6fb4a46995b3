"""An arena without rollouts: a function of the harness's text, the variant and the task decides every score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from chase.engine.rollout import Contestant
from chase.harness.spec import Harness
from chase.methods.arena import Entrant, Means, Roles, SomeTasks, Variant

Score = Callable[[str, str, int], float]
"""(what the harness says, variant, number of the task) → its mean score."""


@dataclass
class ScriptedArena:
    """Notes what was asked for."""

    score: Score
    names: Sequence[str]
    """Of the tasks, whatever the role."""
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(harness, variant) → most tasks that it was run on at once."""
    order: list[str] = field(default_factory=list)
    """`role variant` in the order in which they were first asked for."""

    def tasks(self, role: str) -> list[str]:
        return list(self.names)

    async def means(
        self,
        harnesses: Sequence[Entrant],
        variants: Sequence[Variant],
        role: Roles,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        meant = [(n, name) for n, name in enumerate(self.names) if tasks is None or name in tasks]
        for h, v in product(harnesses, variants):
            self.asked[h.harness.hash, v.name] = max(self.asked[h.harness.hash, v.name], len(meant))
        asked = [f"{role} {v.name}" for v in variants]
        self.order += [each for each in dict.fromkeys(asked) if each not in self.order]
        return {
            (h.name, v.name): {
                name: Fraction(self.score(said(h.harness), v.name, n)).limit_denominator(1000) for n, name in meant
            }
            for h, v in product(harnesses, variants)
        }


def said(harness: Contestant) -> str:
    assert isinstance(harness, Harness)
    return "\n".join([harness.prompt, harness.memory, *(module.text for module in harness.guidance)])
