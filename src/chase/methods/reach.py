"""What of a transformation reaches agents that play by themselves: through their folder, or through the tools alone.

An agent of one's own may read the documents in its folder and never call a tool. What changes nothing but the tools
(their names, the order of their results) then cannot touch it: testing it would show a gain that survives, and show
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chase.agents.own_agent.watching import is_call
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Transformation
from chase.core.values import View
from chase.harness.spec import Harness
from chase.methods.arena import Entrant, StoreArena, Variant
from chase.methods.counterfactuals import proposal_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening, parse_draft

MOST_TASKS = 8
"""Tasks whose folders are compared: an operator that is active shows in most tasks."""
OUT_OF_REACH = "it changes the tools alone, and neither agent called one over MCP"


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Decides it for a pair of contestants on one role's tasks."""

    benchmark: Benchmark[Any]
    arena: StoreArena
    pair: tuple[Entrant, Entrant]
    released: Variant
    _called: dict[str, bool] = field(default_factory=dict)
    """Role → whether tools are called there."""

    @property
    def matters(self) -> bool:
        """Whether either plays by itself: a harness meets everything through the tools."""
        return any(not isinstance(entrant.harness, Harness) for entrant in self.pair)

    async def tools_are_called(self, role: str) -> bool:
        """Whether either called a tool on the role's tasks, as released."""
        if role not in self._called:
            traces = [trace for entrant in self.pair for trace in await self.arena.traces(entrant, self.released, role)]
            self._called[role] = any(is_call(event) for trace in traces for event in trace["events"])
        return self._called[role]

    def by_tools_alone(self, transformation: Transformation[Any], role: str) -> bool:
        """Whether nothing in the folder of a task differs from the released one."""
        identity = self.released.transformation
        return not any(
            _folder(self.benchmark.view(task, transformation)) != _folder(self.benchmark.view(task, identity))
            for task in self.arena.tasks(role)[:MOST_TASKS]
        )

    async def parted(self, screened: Sequence[Screening], role: str) -> tuple[list[Screening], list[Screening]]:
        """What can touch the pair, and what cannot, with the reason."""
        if not self.matters or not screened or await self.tools_are_called(role):
            return list(screened), []
        idle = [s for s in screened if self.by_tools_alone(proposal_of(s).transformation, role)]
        return (
            [s for s in screened if s not in idle],
            [replace(s, verdict="inactive", reason=OUT_OF_REACH) for s in idle],
        )

    async def parted_drafts(
        self, drafts: Sequence[Draft], kit: ProtocolKit, role: str
    ) -> tuple[list[Draft], list[Screening]]:
        """The same for drafts that were not screened; what does not parse is left to the screens."""
        parsed: list[Screening] = []
        for draft in drafts if self.matters else ():
            try:
                parsed.append(Screening(draft=draft, verdict="valid", proposal=parse_draft(kit, draft)))
            except UserError:
                continue
        _, idle = await self.parted(parsed, role)
        out = [id(screened.draft) for screened in idle]
        return [draft for draft in drafts if id(draft) not in out], idle


def _folder(view: View) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """What an agent finds in its folder."""
    return view.question, tuple((file.id, file.path, file.text) for file in view.files)
