"""A small run of CHASE whose contexts are kept: what the suites of Proposers and Challengers hand to an agent."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from chase.agents.history import History, HistoryWriter
from chase.challengers.mining import MiningChallenger
from chase.core.agents import ALL_EDITS, Candidate, ChallengerContext, Draft, ProposerContext
from chase.core.interfaces import Benchmark, Proposer
from chase.harness.limits import check_for_benchmark
from chase.methods.arena import Contender
from chase.methods.desks import Assignment, ProposerDesk
from chase.methods.journal import Journal
from chase.methods.options import settle_options
from chase.methods.registry import find_method
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening, screen_draft
from chase.store.workspace import Workspace
from chase.testing.method_suite import small_parts
from chase.testing.method_trial import MethodTrial, TrialParts


@dataclass
class Kept:
    """Both offline agents, with the first context that each was asked with."""

    proposer: MiningProposer = field(default_factory=MiningProposer)
    challenger: MiningChallenger = field(default_factory=MiningChallenger)
    name: str = "kept"
    asked: dict[str, Any] = field(default_factory=dict)

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self.asked.setdefault("proposer", context)
        return await self.proposer.propose(context)

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self.asked.setdefault("challenger", context)
        return await self.challenger.challenge(context)

    async def revise(self, context: Any, refused: Any) -> Sequence[Any]:
        return ()


@dataclass(frozen=True, kw_only=True)
class AgentTrial:
    """Contexts as CHASE makes them, with the tree that they lead to, and the host that examines what is answered."""

    benchmark: Benchmark[Any]
    kit: ProtocolKit
    proposer_context: ProposerContext
    challenger_context: ChallengerContext
    keeps: tempfile.TemporaryDirectory[str]

    def examined(self, proposer: Proposer, assignment: Assignment, folder: Path) -> tuple[list[Contender], list[str]]:
        """What the host takes of a round's candidates, and why it refuses the others."""
        history = History(self.proposer_context.history)
        initial, current = (
            Contender(name=name, harness=history.harness(name))
            for name in (self.proposer_context.initial, self.proposer_context.current)
        )
        tree = HistoryWriter(folder / "history")
        shutil.copytree(self.proposer_context.history, tree.root, dirs_exist_ok=True)
        desk = ProposerDesk(
            proposer=proposer,
            tree=tree,
            journal=Journal(Workspace(folder), "trial"),
            check=lambda harness, where: check_for_benchmark(harness, self.benchmark, where=where),
            benchmark=self.benchmark,
            edit_space=ALL_EDITS,
            seed=1,
        )
        return asyncio.run(desk.candidates(1, current, initial, assignment))

    def screened(self, drafts: Sequence[Draft], most_operators: int) -> list[Screening]:
        """Each draft through the host's screens, the firewall included."""
        return [screen_draft(self.kit, draft, archived=(), most_operators=most_operators) for draft in drafts]

    def tree(self) -> str:
        """A digest of both agents' history trees: every path with its bytes."""
        found = hashlib.sha256()
        for root in (self.proposer_context.history, self.challenger_context.history):
            for path in sorted(p for p in root.rglob("*") if p.is_file()):
                found.update(f"{path}\0".encode() + path.read_bytes())
        return found.hexdigest()


@cache
def agent_trial() -> AgentTrial:
    """The trial, made once a process: a round of CHASE on a few tasks of Syn-Ledger."""
    parts, kept = small_parts(), Kept()
    folder = tempfile.TemporaryDirectory(prefix="chase-agents-")
    method = find_method("chase")
    options = settle_options(method.name, method.Options, {"rounds": 1}, parts.benchmark.defaults)
    spying = TrialParts(benchmark=parts.benchmark, kit=parts.kit, proposer=kept, challenger=kept)
    for seed in range(1, 9):  # the Challenger is only asked where a harness was selected
        MethodTrial(method=method, options=options, parts=spying, folder=Path(folder.name), seed=seed).run(
            f"run-{seed}"
        )
        if len(kept.asked) == 2:
            break
        kept.asked.clear()
    return AgentTrial(
        benchmark=parts.benchmark,
        kit=parts.kit,
        proposer_context=kept.asked["proposer"],
        challenger_context=kept.asked["challenger"],
        keeps=folder,
    )
