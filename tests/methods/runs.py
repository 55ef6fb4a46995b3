"""Small but complete runs for tests: a few tasks of every role, agents that remember what they were given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Candidate, ChallengerContext, Draft, ProposerContext
from chase.core.events import Event
from chase.core.interfaces import Challenger, Proposer
from chase.engine.runner import Progress
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness, render_files
from chase.methods.options import settle_options
from chase.methods.registry import find_method
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0
from tests.benchmarks.syn_ledger.faults import copied

SEED = 1
"""A run that asks the Challenger and archives a counterfactual, so that there is something of everything to search."""
SIZES = {"evo": 16, "disc": 8, "conf1": 8, "conf2": 8, "conf3": 8, "cert": 4}
ROLLOUTS = dict.fromkeys(SIZES, 1)
Kind = TypeVar("Kind", bound=Event)


class FewTasks(SynLedger):
    """The first tasks of every role. Others are there, in no role's list."""

    def tasks(self, role: str | None = None) -> Sequence[str]:
        found = super().tasks(role)
        return found if role is None else found[: SIZES[role]]


def few_tasks(ledger: SynLedger) -> FewTasks:
    copy = copied(ledger, FewTasks)
    assert isinstance(copy, FewTasks)
    return copy


@dataclass
class SpyingProposer(AnswersOnce):
    """Does as the one it stands for and keeps what it was given."""

    real: Proposer = field(default_factory=MiningProposer)
    contexts: list[ProposerContext] = field(default_factory=list)
    name: str = "spy"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self.contexts.append(context)
        return await self.real.propose(context)


@dataclass
class SpyingChallenger(AnswersOnce):
    real: Challenger = field(default_factory=MiningChallenger)
    contexts: list[ChallengerContext] = field(default_factory=list)
    name: str = "spy"

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self.contexts.append(context)
        return await self.real.challenge(context)


def plan(
    benchmark: SynLedger,
    *,
    kit: ProtocolKit | None = None,
    proposer: Proposer | None = None,
    challenger: Challenger | None = None,
    method: str = "chase",
    seed: int = 0,
    rollouts: Mapping[str, int] = ROLLOUTS,
    **options: Any,
) -> Plan:
    found = find_method(method)
    given = {name: value for name, value in ({"rounds": 2} | options).items() if name in found.Options.model_fields}
    return Plan(
        benchmark=benchmark,
        kit=kit or ProtocolKit(benchmark),
        initial=initial_harness(benchmark),
        method=found,
        options=settle_options(method, found.Options, given, benchmark.defaults),
        proposer=proposer or SpyingProposer(),
        challenger=challenger or SpyingChallenger(),
        rollouts=rollouts,
        seed=seed,
    )


@dataclass
class Told:
    """What a run said as it went."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def running(
    made: Plan,
    folder: Path,
    *,
    run: str = "run-1",
    told: Told | None = None,
    progress: Progress | None = None,
    model: ChatModel | None = None,
) -> AsyncIterator[Run]:
    """The plan as a run in a workspace, with the simulated reader."""
    with Store.open(Workspace(folder), write=True) as store:
        if not any(known.id == run for known in store.runs()):
            store.create_run(run, {})
        async with Sandbox(max_sessions=4) as sandbox:
            asked = model or connect(ModelConfig(name="sim:reader"))
            yield Run(made, run=run, store=store, model=asked, sandbox=sandbox, tell=told or Told(), progress=progress)


def harness_files(**changes: Any) -> dict[str, str]:
    return render_files(replace(H0, **changes))


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Every file of a tree, its path first."""
    for path in sorted(root.rglob("*")):
        yield str(path.relative_to(root)), ""
        if path.is_file():
            yield str(path.relative_to(root)), path.read_text(encoding="utf-8")
