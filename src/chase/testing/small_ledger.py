"""Syn-Ledger at the size of a live test: a few of its tasks, three tool calls each, short descriptions and results.

Tasks, contents, variants, operators and scorer are Syn-Ledger's own, and so are the firewall and its kit
(`ProtocolKit(benchmark)`). It is for small models that are slow at reading, never for a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec
from chase.core.values import CheckResult, Defaults, Limits, ToolSpec

TASKS_A_ROLE = 2

SMALL_LIMITS = Limits(
    total_calls=3,
    group_calls={"search": 1, "open": 2},
    tool_groups={"search": "search", "open_file": "open"},
    steps=4,
    context_tokens=2048,
    wall_seconds=120.0,
)

# A model that is held to these schemas can write no more than they allow: lengths bound what a reply costs.
SMALL_TOOLS = (
    ToolSpec(
        name="search",
        description="Find files by words. One of 1 search.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": 40},
                "limit": {"type": "integer", "minimum": 1, "maximum": 4, "default": 2},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        name="open_file",
        description="Read a file by path or id. One of 2 reads.",
        parameters={
            "type": "object",
            "properties": {"file": {"type": "string", "maxLength": 60}},
            "required": ["file"],
            "additionalProperties": False,
        },
    ),
)


class SmallLedger(SynLedger):
    """Two tasks of every role of a Syn-Ledger. Its name ends in `/small`; harnesses and proposals name `syn-ledger`."""

    limits = SMALL_LIMITS
    tools = SMALL_TOOLS
    interface = replace(SynLedger.interface, listing=None)
    defaults = Defaults(
        rounds=1,
        epsilon="0.05",
        eta="0.05",
        rollouts={"evo": 1, "disc": 1, "conf1": 1, "conf2": 1, "conf3": 1, "cert": 1},
    )

    def __init__(self, spec: SynLedgerSpec) -> None:
        super().__init__(spec)
        kept = {task for role in self.roles for task in self.tasks(role)[:TASKS_A_ROLE]}
        self.generated = {task: made for task, made in self.generated.items() if task in kept}
        self._role_of = {task: role for task, role in self._role_of.items() if task in kept}

    @property
    def name(self) -> str:
        return f"{self.spec.name}/small"

    def validate(self, progress: Callable[[str], None]) -> Sequence[CheckResult]:
        """The checks of the Syn-Ledger that the tasks are from: its balance is that of whole task sets."""
        return SynLedger(self.spec).validate(progress)


def open_small_ledger(seed: int = 7) -> SmallLedger:
    """The small ledger of a seed: `syn-ledger@7/small`."""
    return SmallLedger(SynLedgerSpec(seed=seed))
