"""Whole runs with a real model in every role. It is far too small for any of them: what is proved is that the wire
holds, and that a hopeless Proposer and Challenger leave a run correct. Both runs share a workspace, and its rollouts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chase.agents.records import TRANSCRIPT
from chase.challengers.llm import LanguageModelChallenger
from chase.core.events import ignore
from chase.engine.runner import Pace
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.harness.spec import Harness
from chase.methods.audit import AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.evolution import EvolutionOutcome
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.models.connect import connect
from chase.proposers.llm import LanguageModelProposer, Turns
from chase.protocol.archive import replay
from chase.protocol.kit import ProtocolKit
from chase.store.records import UsedRollout
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0
from chase.testing.small_ledger import SmallLedger
from tests.live.conftest import live_config

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

ROLLOUTS = dict.fromkeys(("evo", "disc", "conf1", "conf2", "conf3", "cert"), 1)
MOST_ROLLOUTS = 13
"""With the three of `test_live_model.py`, sixteen."""
HISTORY_TOKENS = 400


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Both runs, and the store that has everything of them."""

    evolved: EvolutionOutcome
    audited: AuditOutcome
    harness: Harness
    store: Store


@asynccontextmanager
async def agent_model() -> AsyncIterator[ChatModel]:
    async with connect(live_config(max_tokens=48)) as model:
        yield model


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


async def both(ledger: SmallLedger, folder: Path) -> Runs:
    kit = ProtocolKit(ledger)
    harness = replace(initial_harness(ledger), memory="Answer with a number.")
    store = Store.open(Workspace(folder), write=True)
    for run in ("evolve", "audit"):
        if all(known.id != run for known in store.runs()):
            store.create_run(run, {})
    async with (
        connect(live_config()) as model,
        agent_model() as asked,
        Sandbox(max_sessions=1) as sandbox,
    ):
        challenger = LanguageModelChallenger(asked, history_tokens=HISTORY_TOKENS, turns=1)
        turns = Turns(feedback=1, drafts=1, submission=1)
        plan = Plan(
            benchmark=ledger,
            kit=kit,
            initial=initial_harness(ledger),
            method=Chase(),
            options=ChaseOptions(rounds=1, epsilon="0.05", eta="0.05", proposals=2),
            proposer=LanguageModelProposer(asked, history_tokens=HISTORY_TOKENS, turns=turns),
            challenger=challenger,
            rollouts=ROLLOUTS,
            seed=1,
        )
        run = Run(plan, run="evolve", store=store, model=model, sandbox=sandbox, tell=ignore, pace=Pace(concurrency=1))
        evolved = await run.evolve()
        audit = AuditPlan(
            benchmark=ledger,
            kit=kit,
            baseline=initial_harness(ledger),
            harness=harness,
            challenger=challenger,
            # No gain is sure on two tasks: without `anyway` the Challenger would not be asked.
            settings=SearchSettings(rounds=1, proposals=2, battery=False, anyway=True),
            rollouts=ROLLOUTS,
            seed=1,
            confirm_size=2,
        )
        audited = await audit_harness(
            audit, run="audit", store=store, model=model, sandbox=sandbox, tell=ignore, pace=Pace(concurrency=1)
        )
    return Runs(evolved=evolved, audited=audited, harness=harness, store=store)


async def test_hopeless_agents_leave_the_runs_correct(small_ledger: SmallLedger, workspace: Path) -> None:
    runs = await both(small_ledger, workspace)
    with runs.store as store:
        executed = [used for run in ("evolve", "audit") for used in store.used(run) if not used.reused]
        assert len(executed) <= MOST_ROLLOUTS
        assert all(used.rollout.outcome.status == "scored" for used in executed)
        every_number_recomputes(runs, store)
        the_final_harness_meets_its_constraints(runs.evolved)
        assert all(not found.problems for found in replay(runs.evolved.archive, small_ledger))
        assert store.verify() == []
        spent = {spend.purpose: spend for spend in store.spend()}
        assert spent["propose"].usage.requests >= 3
        assert spent["challenge"].usage.requests >= 1
        assert spent["propose"].usage.cached_tokens > 0
        assert spent["propose"].usage.output_tokens > 0
    transcripts = sorted(workspace.rglob(TRANSCRIPT))
    assert [path.parent.name for path in transcripts] == ["challenge", "propose"]
    # A resumed run reads what was said and asks nobody: the same result, and nothing is paid again.
    again = await both(small_ledger, workspace)
    with again.store as store:
        assert {s.purpose: s.usage.requests for s in store.spend()} == {p: s.usage.requests for p, s in spent.items()}
    assert again.evolved.final.harness.hash == runs.evolved.final.harness.hash
    assert again.audited.to_json() == runs.audited.to_json()


def every_number_recomputes(runs: Runs, store: Store) -> None:
    """Scores of the record from the store's rollouts, by hand."""
    used = store.used("evolve")
    for row in runs.evolved.rounds[0]["selection"]["pool"]:
        named = next(h for h in runs.evolved.harnesses if row["harness"] in (h.name, "H0"))
        assert row["released"] == pytest.approx(_mean(used, named.harness, ("evo",)))
    told = runs.audited.to_json()
    confirmed = ("conf1", "conf2", "conf3")
    for name, harness in (("baseline", H0), ("harness", runs.harness)):
        assert told["scores"][name]["value"] == pytest.approx(_mean(store.used("audit"), harness, confirmed))
    gain = told["scores"]["harness"]["value"] - told["scores"]["baseline"]["value"]
    assert told["g_rel"]["value"] == pytest.approx(gain)


def _mean(used: Sequence[UsedRollout], harness: Harness, roles: tuple[str, ...]) -> float:
    scores = [
        one.rollout.outcome.score or 0.0
        for one in used
        if one.rollout.key.harness == harness.hash and one.rollout.key.role in roles
    ]
    assert scores
    return sum(scores) / len(scores)


def the_final_harness_meets_its_constraints(evolved: EvolutionOutcome) -> None:
    chosen = next(row for row in evolved.selection["pool"] if row["harness"] == evolved.final.name)
    assert chosen["violates"] == []
    assert all(row["released"] <= chosen["released"] for row in evolved.selection["pool"] if not row["violates"])
