"""HarnessCompass and B_0-Access: what replaces a harness, what they hold, and the gate in whole runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import CANDIDATE_TRACKS
from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts, TaskFacts
from chase.core.keyed import digest
from chase.harness.folder import parse_files
from chase.harness.limits import check_for_benchmark
from chase.methods.b0_access import B0Access
from chase.methods.contract import Method, Traits
from chase.methods.gate import GeneralizationGate, Known
from chase.methods.gate.changes import CHANGES
from chase.methods.harness_compass import HarnessCompass, HarnessCompassOptions
from chase.protocol.kit import ProtocolKit
from chase.testing.almanac.benchmark import open_almanac
from chase.testing.ledger import H0
from chase.testing.object_graph import reachable
from tests.methods.agents import FORMS, GOOD, STRUCTURE, agents, candidate, handed, submitting
from tests.methods.replay import Replay, replay
from tests.methods.runs import SpyingProposer, few_tasks, plan, running, texts

BOTH = (HarnessCompass(), B0Access())
FIGURES: Mapping[str, tuple[int, int]] = {
    # harness: (gain under the released benchmark, gain under B_0), in 98ths
    "r1-structural": (2, 1),
    "r1-guidance": (2, 3),
    "r1-integrated": (1, 3),
    "r2-structural": (2, 3),
    "r2-guidance": (1, 3),
    "r2-integrated": (2, 2),
    "r3-structural": (3, 3),
    "r3-guidance": (2, 4),
    "r3-integrated": (3, 4),
}


def replayed(kit: ProtocolKit) -> Replay:
    made = replay(kit, evolution=FIGURES)
    options: Any = HarnessCompassOptions(rounds=3)
    return replace(made, world=replace(made.world, options=options, roles=("evo",)))


# Selection


@pytest.mark.parametrize(
    ("method", "line"),
    [
        (HarnessCompass(), ["H0", "r1-structural", "r1-structural", "r3-structural"]),
        (B0Access(), ["H0", "r1-guidance", "r1-guidance", "r3-guidance"]),
    ],
)
async def test_only_a_higher_score_replaces_the_current_harness(
    kit: ProtocolKit, method: Method, line: list[str]
) -> None:
    """In round 2 nothing is better than `H_1`, and the equal ones do not replace it; `H_3` is final."""
    made = replayed(kit)
    found = await method.evolve(made.world)
    assert [named.name for named in found.harnesses] == line
    assert found.final.name == line[-1]
    assert [v.name for v in found.variants] == ["released"]
    assert found.archive.entries == ()
    assert {role for role, *_ in made.arena.asked} == {"evo"}


async def test_every_round_asks_for_three_tracks_under_the_same_gate(kit: ProtocolKit) -> None:
    made = replayed(kit)
    found = await HarnessCompass().evolve(made.world)
    gates = [gate for _, (gate,) in made.proposing.asked]
    assert [assignment.tracks for assignment, _ in made.proposing.asked] == [CANDIDATE_TRACKS] * 3
    assert all(isinstance(gate, GeneralizationGate) for gate in gates)
    assert len({id(gate) for gate in gates}) == 1
    contract = str(gates[0].contract)
    for record in found.rounds:
        assert record["gates"]["generalization-gate"]["contract"] == digest(contract)
        assert record["gates"]["generalization-gate"]["checks"][:4] == [check.name for check in CHANGES]


async def test_the_proposer_is_told_nothing_of_b0(kit: ProtocolKit) -> None:
    made = replayed(kit)
    found = await B0Access().evolve(made.world)
    assert "neutral" in json.dumps(found.rounds)  # the record of the run has it
    assert len(made.proposing.tree.rounds) == 3
    assert "neutral" not in json.dumps(made.proposing.tree.rounds)


def test_what_they_hold_and_what_they_are(ledger: SynLedger) -> None:
    compass, access = BOTH
    assert (compass.traits, access.traits) == (
        Traits(shortcut_aware=True), Traits(shortcut_aware=True, neutral_free=False),
    )  # fmt: skip
    for method in BOTH:
        assert method.roles(tuple(ledger.roles), ledger.sealed) == ("evo",)
        assert method.agents == ("proposer",)


def test_without_a_neutral_variant_b0_access_is_refused(ledger: SynLedger, kit: ProtocolKit) -> None:
    fits = plan(ledger, kit=kit, method="b0-access")
    fits.check()
    almanac: Any = open_almanac("almanac@1")
    assert almanac.neutral is None
    with pytest.raises(UserError, match="'b0-access' looks at the neutral benchmark B_0, and almanac@1 has none"):
        replace(fits, benchmark=almanac).check()


# The gate in a whole run


@pytest.mark.slow
@pytest.mark.parametrize("method", ["harness-compass", "b0-access"])
async def test_nothing_that_the_gate_knows_reaches_the_proposer(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, method: str
) -> None:
    proposer = SpyingProposer()
    benchmark = few_tasks(ledger)
    made = plan(benchmark, kit=kit, proposer=proposer, method=method, rounds=2)
    async with running(made, tmp_path) as run:
        await run.evolve()
    assert len(proposer.contexts) == 2
    for context in proposer.contexts:
        held = [item for _, item in reachable(context)]
        assert not [item for item in held if isinstance(item, GateFacts | TaskFacts | Known | GeneralizationGate)]
        assert (context.history / "generalization_gate.txt").read_text() == context.contracts["generalization-gate"]
    hidden = re.compile(r"\b(?:neutral\w*|evo|disc|conf\d|cert)\b")
    others = [task for task in benchmark.tasks() if benchmark.role_of(task) != "evo"]
    for path, text in texts(proposer.contexts[0].history):
        assert not hidden.search(text), path
        assert not [task for task in others if task in text], path


CUE = candidate({"memory.md": "Prefer files with a short name."})
FIXED = candidate({"memory.md": "Look at every record."})


@pytest.mark.slow
async def test_a_language_model_is_told_what_the_gate_refused_and_mends_it(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    both = candidate({"harness.toml": STRUCTURE, "memory.md": "Look at every record."})
    first = {**GOOD, "guidance": CUE, "integrated": both}
    model = submitting({**FORMS, "submit_candidates": [handed(first), handed({**first, "guidance": FIXED})]})
    made = plan(few_tasks(ledger), kit=kit, method="harness-compass", rounds=1, proposer=agents(model)["proposer"])
    async with running(made, tmp_path) as run:
        found = await run.evolve()
    selection = found.rounds[0]["selection"]
    assert [row["harness"] for row in selection["pool"]] == ["H0", *(f"r1-{track}" for track in CANDIDATE_TRACKS)]
    assert "feature-rules: memory.md has a rule on an observable feature" in selection["refused"][0]
    system = model.requests[0].texts()[0]
    assert system.count("THE GENERALIZATION GATE") == 1
    assert "no branches on hidden roles" in system
    told = model.requests[-1].texts()
    assert any("guidance: the generalization gate refuses it: feature-rules: memory.md" in text for text in told)


@pytest.mark.slow
async def test_what_never_passes_is_never_evaluated(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    model = submitting({**FORMS, "submit_candidates": [handed({**GOOD, "guidance": CUE})]})
    made = plan(few_tasks(ledger), kit=kit, method="harness-compass", rounds=1, proposer=agents(model)["proposer"])
    async with running(made, tmp_path) as run:
        found = await run.evolve()
        used = {rollout.rollout.key.harness for rollout in run.store.used("run-1")}
    selection = found.rounds[0]["selection"]
    assert [row["harness"] for row in selection["pool"]] == ["H0", "r1-structural"]  # nothing to integrate, either
    assert used == {H0.hash, selection["pool"][1]["hash"]}


# What Syn-Ledger and Almanac bring


def test_syn_ledger_supplies_what_the_gate_needs(ledger: SynLedger) -> None:
    facts = ledger.gate
    assert facts is ledger.gate
    assert len(facts.tasks) == 320
    made = {task.id: task for task in facts.tasks}
    for task in ledger.tasks("cert")[:5]:
        source = ledger.task(task)
        assert made[task].role == "cert"
        assert made[task].answer == str(source.answer)
        assert set(source.evidence) < set(made[task].sources)
        assert made[task].identity == (source.query.entity, *source.query.periods)
    assert len(ledger.fewer({"evo": 2}).gate.tasks) == 320


def test_almanac_supplies_what_the_gate_needs() -> None:
    almanac: Any = open_almanac("almanac@1")
    facts = almanac.gate
    assert facts.checks == {"eight-token-spans", "year-number-pairs"}
    assert {task.id for task in facts.tasks} == set(almanac.tasks())
    assert all(len(task.sources) in (2, 4) for task in facts.tasks)  # id and name of one report, or of two


@pytest.mark.parametrize("name", ["syn-ledger", "almanac"])
def test_the_contract_holds_no_word_of_the_data(ledger: SynLedger, name: str) -> None:
    facts: GateFacts = ledger.gate if name == "syn-ledger" else open_almanac("almanac@1").gate  # type: ignore[attr-defined]
    gate = GeneralizationGate(facts, initial=H0, observed=("evo",))
    known = Known.of(facts, ("evo",))
    for phrases in (known.identifiers, known.sources, known.withheld_strings, known.questions, known.long_names):
        assert phrases.within(gate.contract) == []


def test_the_initial_harnesses_pass(ledger: SynLedger) -> None:
    assert GeneralizationGate(ledger.gate, initial=H0, observed=("evo",)).findings(H0) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("[retrieval]\nresults = 13\n", "results"),
        ("[tools]\nopened_files = 7\n", "opened_files"),
        ('[retrieval]\ntemplates = ["{entity}", "{period}", "{periods}", "{question}", "x"]\n', "templates"),
        ('[retrieval]\ntemplates = ["{answer}"]\n', "placeholder"),
        ('answer = "text"\n', "answer"),
    ],
)
def test_the_papers_bounds_on_a_syn_ledger_harness_hold_before_the_gate(
    ledger: SynLedger, fields: str, said: str
) -> None:
    files = {**ledger.initial, "harness.toml": f'benchmark = "syn-ledger"\n{fields}'}
    with pytest.raises(UserError, match=said):
        check_for_benchmark(parse_files(files, where="r1"), ledger)
