"""What a Proposer and a Challenger can do: nothing that they answer, write or change reaches further than a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import DOCUMENT_EDITS, AnswersOnce, Candidate, ChallengerContext, Draft, ProposerContext
from chase.core.errors import UserError
from chase.core.values import Json
from chase.harness.spec import Activation, Guidance
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0
from tests.methods.runs import (
    SEED,
    SpyingChallenger,
    SpyingProposer,
    few_tasks,
    harness_files,
    plan,
    running,
    texts,
)


@dataclass
class Hostile(AnswersOnce):
    """A Proposer that answers with what it is given, after doing something."""

    answers: Sequence[Any]
    act: Callable[[ProposerContext], None] = lambda context: None
    name: str = "hostile"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self.act(context)
        return self.answers


@dataclass
class HostileChallenger(AnswersOnce):
    answers: Sequence[Any]
    name: str = "hostile"

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        return self.answers


GOOD = harness_files(memory="Look twice.")
RANK_BY_EVIDENCE = """
benchmark = "syn-ledger"

[[retrieval.rank]]
observable = "evidence"
prefer = "high"
"""
LARGE = "large " * (10 * 2**20 // 6)
HOSTILE: dict[str, Candidate] = {
    "does not belong in a harness": Candidate(track="structural", files={**GOOD, "../../../../escaped.md": "out"}),
    "escaped.md does not belong": Candidate(track="structural", files={**GOOD, "/escaped.md": "out"}),
    "is not a guidance module's name": Candidate(track="guidance", files={**GOOD, "guidance/../../escaped.md": "out"}),
    "a structural candidate changes the other track": Candidate(track="structural", files=GOOD),
    "a guidance candidate changes the other track": Candidate(
        track="guidance", files={**harness_files(), "control.py": "def should_stop(state):\n    return False\n"}
    ),
    "is none of structural, guidance, integrated": Candidate(track="../../escaped", files=GOOD),  # type: ignore[arg-type]
    "does not fit benchmark": Candidate(
        track="integrated", files={**GOOD, "harness.toml": GOOD["harness.toml"].replace("syn-ledger", "officeqa")}
    ),
    "harness.toml": Candidate(track="integrated", files={**GOOD, "harness.toml": "}{ not toml"}),
    "prompt.md is missing": Candidate(track="integrated", files={"harness.toml": GOOD["harness.toml"]}),
    "is too large": Candidate(track="integrated", files={**GOOD, "memory.md": LARGE}),
    "is not valid Unicode": Candidate(track="integrated", files={**GOOD, "memory.md": "\ud800"}),
    "files are not texts by name": Candidate(track="integrated", files={**GOOD, "memory.md": 5}),  # type: ignore[dict-item]
    "control.py": Candidate(track="integrated", files={**GOOD, "control.py": "def plan(:"}),
    "observable": Candidate(track="integrated", files={**GOOD, "harness.toml": RANK_BY_EVIDENCE}),
    "the same as a harness of the pool": Candidate(track="integrated", files=harness_files()),
}


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


async def test_hostile_candidates_are_refused_with_their_reasons(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    made = plan(few_tasks(ledger), kit=kit, proposer=Hostile(list(HOSTILE.values())), rounds=2)
    async with running(made, tmp_path / "work") as run:
        evolved = await run.evolve()
    assert [named.name for named in evolved.harnesses] == ["H0"] * 3
    assert evolved.final.harness == H0
    assert not evolved.archive.entries
    for record in evolved.rounds:
        refused = record["selection"]["refused"]
        assert len(refused) == len(HOSTILE)
        assert all(len(reason) <= 1000 for reason in refused)
        for reason in HOSTILE:
            assert any(reason in told for told in refused), reason
    tree = run.journal.path / "history/proposer"
    assert [json.loads(line)["refused"] for line in (tree / "rounds.jsonl").read_text().splitlines()] == [
        record["selection"]["refused"] for record in evolved.rounds
    ]
    assert not [name for name in listing(tmp_path) if "escaped" in name]
    assert listing(tmp_path) == {"work"} | {name for name in listing(tmp_path) if name.startswith("work/.chase")}
    assert {path.name for path in (tree / "harnesses").iterdir()} == {"H0"}


async def test_candidates_outside_the_edit_space_are_refused(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    made = plan(few_tasks(ledger), kit=kit, proposer=Hostile([Candidate(track=None, files=GOOD)]), rounds=1)
    async with running(replace(made, edit_space=DOCUMENT_EDITS), tmp_path) as run:
        evolved = await run.evolve()
    (reason,) = evolved.rounds[0]["selection"]["refused"]
    assert "memory.md is outside the edit space 'documents'" in reason


def advice(text: str) -> dict[str, str]:
    return harness_files(guidance=(Guidance(name="advice", when=Activation(), text=text),))


async def test_each_candidate_has_a_place_of_its_own_and_there_are_three(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    """Two of one track would share a name, and with it their scores."""
    twice = [Candidate(track="guidance", files=advice(text)) for text in ("Read on.", "Read twice.")]
    many = [Candidate(track=None, files=advice(f"Read {n} files.")) for n in range(2, 6)]
    made = plan(few_tasks(ledger), kit=kit, proposer=Hostile([*many, *twice]), rounds=1)
    async with running(made, tmp_path) as run:
        evolved = await run.evolve()
    selection = evolved.rounds[0]["selection"]
    assert [row["harness"] for row in selection["pool"]] == ["H0", "r1-guidance", "r1-1", "r1-2"]
    assert selection["refused"] == [
        "r1-guidance: a second candidate of this track",
        "r1-3: a round has 3 candidates",
        "r1-4: a round has 3 candidates",
    ]


@pytest.mark.parametrize("answer", [None, "a candidate", Candidate(track=None, files={}, record={"edits": {1, 2}})])
async def test_what_is_no_data_ends_the_run_with_a_sentence_and_is_not_kept(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, answer: Any
) -> None:
    made = plan(few_tasks(ledger), kit=kit, proposer=Hostile([answer]), rounds=1)
    async with running(made, tmp_path) as run:
        with pytest.raises(UserError, match="no plain data"):
            await run.evolve()
    assert not (run.journal.path / "rounds/1/candidates.json").exists()


def overwrite_tree(context: ProposerContext) -> None:
    """Everything in the tree says something else, and there is more of it."""
    root = context.history
    for path in [root, *root.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    for path in [path for path in root.rglob("*") if path.is_file()]:
        path.write_text("forged")
    forged = {"harness": "H0", "variant": "released", "task": "x", "scores": [9.0], "mark": "stable success"}
    (root / "scores.jsonl").write_text(json.dumps(forged) + "\n")
    (root / "archive" / "b9.json").write_text("{}")


async def test_writing_into_the_tree_changes_nothing_that_the_host_uses(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permissions bind neither root nor the owner. What counts is that the host does not read the tree."""
    read: list[Path] = []
    real = Path.open

    def recorded(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if "history" in path.parts and "r" in mode:
            read.append(path)
        return real(path, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", recorded)
    answers = [Candidate(track="guidance", files=advice("Read on in every file."))]
    outcomes = []
    for name, act in (("honest", lambda context: None), ("hostile", overwrite_tree)):
        made = plan(few_tasks(ledger), kit=kit, proposer=Hostile(answers, act), challenger=HostileChallenger([]))
        async with running(made, tmp_path / name) as run:
            evolved = await run.evolve()
            final = {p.name: p.read_text() for p in (run.journal.path / "final").rglob("*") if p.is_file()}
        outcomes.append((evolved.rounds, evolved.selection, [h.harness for h in evolved.harnesses], final))
    assert outcomes[0] == outcomes[1]
    assert read == []
    monkeypatch.undo()
    assert "forged" in "".join(text for _, text in texts(tmp_path / "hostile/.chase/runs/run-1/history"))


@pytest.mark.slow
async def test_changing_a_context_changes_nobody_elses(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    def spoil(context: ProposerContext) -> None:
        context.observables.clear()  # type: ignore[attr-defined]
        context.limits.clear()  # type: ignore[attr-defined]

    @dataclass
    class Spoiling(SpyingProposer):
        async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
            answers = await super().propose(context)
            self.seen = [*getattr(self, "seen", []), (dict(context.observables), dict(context.limits))]
            spoil(context)
            return answers

    proposer, challenger = Spoiling(), SpyingChallenger()
    made = plan(few_tasks(ledger), kit=kit, proposer=proposer, challenger=challenger, seed=SEED)
    async with running(made, tmp_path) as run:
        await run.evolve()
    assert proposer.seen[0] == proposer.seen[1]
    assert proposer.seen[0][0]
    assert dict(challenger.contexts[0].observables) == proposer.seen[0][0]


def operators(*names: str, **arguments: Json) -> dict[str, Json]:
    return {"benchmark": "syn-ledger", "operators": [{"name": name, "arguments": arguments} for name in names]}


RUBBISH: list[Any] = [
    None,
    [],
    17,
    "import os",
    "[" * 100_000,
    {},
    {"benchmark": "officeqa", "operators": []},
    {**operators("reverse", aspect="depth"), "code": "import os"},
    operators("construction.neutralise", feature="depth"),
    operators("exec"),
    operators("reverse", aspect="answer"),
    operators("reverse", aspect="../../escaped"),
    operators("shift", by=10**9),
    operators(*["reverse"] * 13, aspect="depth"),
    {**operators("reverse", aspect="depth"), "claims": [LARGE]},
    {**operators("reverse", aspect="depth"), "declared": ["answer"]},
    {**operators("reverse", aspect="depth"), "seed": -1},
]


async def test_rubbish_from_a_challenger_is_refused_with_its_reasons(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    challenger = HostileChallenger([Draft(form=form) for form in RUBBISH])
    made = plan(few_tasks(ledger), kit=kit, challenger=challenger, seed=SEED, rounds=1, proposals=len(RUBBISH))
    async with running(made, tmp_path) as run:
        evolved = await run.evolve()
    record = evolved.rounds[0]["challenger"]
    assert [p["verdict"] for p in record["proposals"]] == ["refused"] * len(RUBBISH)
    assert all(p["reason"] for p in record["proposals"])
    assert record["frozen"] is None
    assert not evolved.archive.entries
    assert "confirmation" not in evolved.rounds[0]
    assert evolved.harnesses[1].name != "H0"


async def test_a_challenger_has_as_many_drafts_as_were_asked_for(
    ledger: SynLedger, kit: ProtocolKit, tmp_path: Path
) -> None:
    challenger = HostileChallenger([Draft(form={})] * 30)
    made = plan(few_tasks(ledger), kit=kit, challenger=challenger, seed=SEED, rounds=1)
    async with running(made, tmp_path) as run:
        evolved = await run.evolve()
    assert len(evolved.rounds[0]["challenger"]["proposals"]) == 8
