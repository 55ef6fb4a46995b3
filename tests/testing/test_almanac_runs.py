"""Whole runs on Almanac: both methods, certification, and audits, with the miners that know no benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Candidate, Draft, ProposerContext
from chase.core.events import Challenged
from chase.core.interfaces import Proposer
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness, load_harness, render_files
from chase.harness.spec import Harness
from chase.methods.audit import AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.methods.certification import CertificationOutcome
from chase.methods.evolution import EvolutionOutcome
from chase.proposers.mining import MiningProposer
from chase.protocol.archive import read_archive, replay
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.benchmark import Almanac
from tests.methods.runs import SpyingChallenger, SpyingProposer, Told, plan, running
from tests.testing.almanacs import connect_reader, make_harness, open_once

pytestmark = pytest.mark.slow

ROLLOUTS = dict.fromkeys(Almanac.roles, 2)
SHORT_NAMES_FIRST = """
def rerank(hits: list[Hit], state: State) -> list[int]:
    return sorted(range(len(hits)), key=lambda place: len(hits[place]["fields"].get("name", "")))
"""
kit_once = cache(ProtocolKit)


class Cheat(AnswersOnce):
    """Proposes a shortcut first and a thorough harness in the next round, whatever it is shown."""

    name = "cheat"

    def __init__(self, almanac: Almanac) -> None:
        self.shortcut = make_harness(almanac, say="Prefer files with low name-length.")
        self.thorough = make_harness(almanac, say="Read on.")

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        made = self.shortcut if context.round == 1 else self.thorough
        return [Candidate(track="guidance", files=render_files(made))]


async def evolved(
    almanac: Almanac, folder: Path, method: str, proposer: Proposer, *, seed: int = 0, rounds: int = 2
) -> tuple[EvolutionOutcome, CertificationOutcome, Told]:
    """A run with the mining Challenger, certified."""
    made: Any = plan(
        almanac,
        kit=kit_once(almanac),
        proposer=proposer,
        challenger=SpyingChallenger(name="mining"),
        method=method,
        seed=seed,
        rollouts=ROLLOUTS,
        rounds=rounds,
    )
    told = Told()
    async with running(made, folder, told=told, model=connect_reader()) as run:
        result = await run.evolve()
        return result, await run.certify(result), told


# Evolve and certify


@pytest.mark.parametrize("method", ["chase", "chase-without-challenger", "harness-compass", "harness-evolve"])
async def test_a_run_of_any_method_ends_with_a_certified_harness(almanac: Almanac, tmp_path: Path, method: str) -> None:
    proposer = SpyingProposer(real=MiningProposer())
    result, certified, told = await evolved(almanac, tmp_path, method, proposer, seed=3)
    context = proposer.contexts[0]
    assert context.benchmark == "almanac"
    assert set(context.placeholders) == {"place", "year", "years", "question"}
    assert {"passage-start", "unit-line"} < set(context.observables)
    assert context.limits == {"look": 4, "read": 6, "compute": 2, "total": 10}
    assert result.final.harness.hash != initial_harness(almanac).hash
    assert load_harness(Workspace(tmp_path).run_folder("run-1") / "final").hash == result.final.harness.hash
    assert certified.tasks == len(almanac.tasks("cert"))
    assert certified.gains["released"].value > 0
    assert "neutral" not in certified.gains, "no variant is known to be neutral"
    asked = [challenged for challenged in told.of(Challenged) if challenged.proposals]
    assert bool(asked) == (method == "chase")
    assert {proposal["verdict"] for round in asked for proposal in round.proposals} <= {"valid", "duplicate"}


async def test_the_same_run_again_pays_nothing_and_ends_the_same(almanac: Almanac, tmp_path: Path) -> None:
    ends = []
    for _ in range(2):
        result, certified, _ = await evolved(almanac, tmp_path, "chase", MiningProposer(), seed=4)
        with Store.open(Workspace(tmp_path), write=True) as store:
            paid = store.info().rollouts["scored"]
        ends.append((result.final.harness.hash, certified.to_json(), paid))
    assert ends[0] == ends[1]


async def test_chase_archives_what_takes_a_shortcut_away_and_leaves_it(almanac: Almanac, tmp_path: Path) -> None:
    cheat = Cheat(almanac)
    plain, _, _ = await evolved(almanac, tmp_path / "plain", "chase-without-challenger", cheat)
    assert plain.final.harness.hash == cheat.shortcut.hash
    result, certified, _ = await evolved(almanac, tmp_path / "chase", "chase", cheat)
    (entry,) = result.archive.entries
    assert [operator["name"] for operator in entry.transformation["operators"]] == ["rename-documents"]
    assert result.final.harness.hash == cheat.thorough.hash
    assert set(certified.gains) == {"released", entry.name}
    assert certified.destruction[entry.name].value == 0
    archive = read_archive(Workspace(tmp_path / "chase").run_folder("run-1") / "archive.json")
    assert [replayed.problems for replayed in replay(archive, almanac)] == [()]


# Audit


async def audited(almanac: Almanac, folder: Path, harness: Harness, *given: Draft, **settings: Any) -> AuditOutcome:
    audit = AuditPlan(
        benchmark=almanac,
        kit=kit_once(almanac),
        baseline=initial_harness(almanac),
        harness=harness,
        challenger=MiningChallenger(),
        settings=SearchSettings(rounds=1, proposals=4, **settings),
        rollouts=ROLLOUTS,
        seed=0,
        given=given,
    )
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("audit-1", {})
        async with Sandbox(max_sessions=4) as sandbox:
            return await audit_harness(
                audit, run="audit-1", store=store, model=connect_reader(), sandbox=sandbox, tell=Told()
            )


def draft(*operators: tuple[str, dict[str, Any]]) -> Draft:
    made = [{"name": name, "arguments": arguments} for name, arguments in operators]
    return Draft(form={"benchmark": "almanac", "operators": made})


async def test_an_audits_search_finds_the_renaming_that_a_gain_does_not_survive(tmp_path: Path) -> None:
    almanac = open_once("almanac@1-large")
    harness = make_harness(almanac, say="Prefer files with low name-length.")
    result = await audited(almanac, tmp_path, harness, battery=False)
    worst = result.findings[0]
    assert (worst.of.source, worst.status) == ("search", "confirmed")
    assert "name-length" in worst.of.touched
    assert worst.tested.destruction.value == pytest.approx(result.gain.value)
    assert result.verdict.word == "not supported"


async def test_with_everything_neutral_a_shortcuts_gain_is_gone_and_nothing_is_searched_for(tmp_path: Path) -> None:
    almanac = open_once("almanac@1-large")
    harness = make_harness(almanac, say="Prefer files with low name-length.")
    result = await audited(almanac, tmp_path, harness, whole=True)
    assert [(f.of.source, f.status) for f in result.findings] == [("battery", "confirmed")] * 2
    assert {f.gain.value for f in result.findings} == {0}
    assert result.battery is not None
    assert "file names" in result.battery.redrawn
    assert (result.verdict.word, result.tried, result.search_tasks) == ("not supported", [], 0)


async def test_an_audit_of_an_honest_gain_confirms_nothing_against_it(tmp_path: Path) -> None:
    almanac = open_once("almanac@1-large")
    result = await audited(almanac, tmp_path, make_harness(almanac, say="Look at every record."))
    assert result.gain.low > 0
    assert sorted((f.of.source, f.status) for f in result.findings) == [
        ("battery", "not confirmed"), ("battery", "not confirmed"), ("search", "not confirmed"),
    ]  # fmt: skip
    assert result.verdict.word in ("supported", "inconclusive")


async def test_a_gain_through_a_result_field_falls_with_the_fields_name(almanac: Almanac, tmp_path: Path) -> None:
    """The same shortcut in `control.py`: other names for result fields take it away, other names for tools do not."""
    harness = make_harness(almanac, source=SHORT_NAMES_FIRST)
    fields = draft(("rename-fields", {"words": "library"}))
    nested = draft(("nest-fields", {"group": "origin"}))
    tools = draft(("alias-tools", {"words": "desk"}), ("rename-arguments", {"words": "desk"}))
    # On so few tasks the gain is not sure: without `anyway` the audit would stop.
    result = await audited(almanac, tmp_path, harness, fields, nested, tools, anyway=True)
    assert result.gain.value > 0.1
    lost = {
        finding.of.proposals[0].transformation.operators[0].name: finding.tested.destruction.value
        for finding in result.findings
        if finding.of.source == "given"
    }
    assert lost["rename-fields"] == lost["nest-fields"] == pytest.approx(result.gain.value)
    assert lost["alias-tools"] == 0
