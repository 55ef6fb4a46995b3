"""HarnessEvolve: its schedule, its performance gate, and what a whole small run does and tells."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import FAILURE_GROUPS, Candidate, ProposerContext, Refusal
from chase.core.errors import UserError
from chase.core.events import EpochSelected, EpochStarted, Selected
from chase.harness.folder import render_files
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.arena import Contender
from chase.methods.batches import Batch, batch_sizes, partition
from chase.methods.evolution import EvolutionOutcome
from chase.methods.harness_evolve import Course, HarnessEvolve, HarnessEvolveOptions
from chase.methods.performance_gate import Verdict, performance_gate
from chase.methods.references.verifier import holds
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0
from tests.methods.runs import SpyingProposer, Told, few_tasks, plan, running, texts

TRAINING = ("evo", "conf1", "conf2", "conf3")


# The paper's settings


def test_the_settings_are_the_papers() -> None:
    options = HarnessEvolveOptions()
    assert (options.epochs, options.batches, options.rounds) == (3, 3, 9)
    assert (options.recent, options.epsilon_he) == (2, "0.05")
    assert options.per_task == 2
    assert (HarnessEvolve.traits.shortcut_aware, HarnessEvolve.traits.worst_case) == (True, True)


@pytest.mark.parametrize(("tasks", "sizes"), [(80, [27, 27, 26]), (121, [40, 40, 41]), (9, [3, 3, 3])])
def test_batches_have_the_papers_sizes(tasks: int, sizes: list[int]) -> None:
    assert batch_sizes(tasks, 3) == sizes


@pytest.mark.parametrize("batches", range(1, 8))
@pytest.mark.parametrize("tasks", range(7, 30))
def test_batches_take_every_task_and_differ_by_one_at_most(tasks: int, batches: int) -> None:
    sizes = batch_sizes(tasks, batches)
    assert (sum(sizes), len(sizes)) == (tasks, batches)
    assert max(sizes) - min(sizes) <= 1


def test_an_epoch_has_every_task_once_and_another_epoch_cuts_anew() -> None:
    tasks = [f"t{n:03}" for n in range(80)]
    first, again, second = (partition(tasks, 3, seed=1, epoch=epoch) for epoch in (1, 1, 2))
    assert sorted(task for batch in first for task in batch.tasks) == tasks
    assert first == again
    assert [batch.round for batch in (*first, *second)] == [1, 2, 3, 4, 5, 6]
    assert {batch.tasks for batch in first}.isdisjoint(batch.tasks for batch in second)
    assert first != partition(tasks, 3, seed=2, epoch=1)
    assert first == partition(tasks[::-1], 3, seed=1, epoch=1), "the order of a list decides nothing"


def test_recent_batches_are_those_of_the_last_rounds_whatever_the_epoch() -> None:
    course = Course.__new__(Course)
    course.batches = [batch for epoch in (1, 2) for batch in partition("abcdef", 3, seed=1, epoch=epoch)]
    assert [batch.round for batch in course.recent(2)] == [6, 5]
    assert [batch.round for batch in course.recent(4)] == [6, 5, 4, 3]
    assert course.recent(0) == []


def test_it_holds_evolution_discovery_and_confirmation_and_no_agent_reads_of_discovery() -> None:
    method, roles = HarnessEvolve(), ("evo", "disc", "conf1", "conf2", "conf3", "cert", "provenance")
    assert method.roles(roles, {"cert"}) == ("evo", "disc", "conf1", "conf2", "conf3")
    assert {role: method.reader(role) for role in ("evo", "conf3", "disc")} == {
        "evo": "proposer", "conf3": "proposer", "disc": None
    }  # fmt: skip
    with pytest.raises(UserError, match="there is no conf1"):
        method.roles(("evo", "disc", "cert"), {"cert"})


# The performance gate


@dataclass
class Figures:
    """A training set with scores by harness and round."""

    scores_of: Mapping[tuple[str, int], str]
    asked: list[int] = field(default_factory=list)

    async def scores(self, harnesses: Sequence[Contender], batch: Batch) -> dict[str, Fraction]:
        self.asked.append(batch.round)
        return {named.name: Fraction(self.scores_of[named.name, batch.round]) for named in harnesses}


CURRENT = Contender(name="H", harness=H0)
EDIT = Contender(name="r3-1", harness=replace(H0, memory="x"))


async def judged(candidate: Sequence[str], current: Sequence[str] = ("0.7", "0.7", "0.7")) -> tuple[Verdict, list[int]]:
    """Scores on the current batch, which is round 3's, then on those of rounds 2 and 1."""
    both = {"H": current, "r3-1": candidate}
    figures: Any = Figures({(name, 3 - n): score for name, of in both.items() for n, score in enumerate(of)})
    here, *earlier = (Batch(round=t, tasks=("t",)) for t in (3, 2, 1))
    return await performance_gate(figures, EDIT, CURRENT, here, earlier, "0.05"), figures.asked


@pytest.mark.parametrize(
    ("scores", "accepted", "tried"),
    [
        (("0.7", "0.7", "0.7"), True, [3, 2, 1]),  # at least as well
        (("0.8", "0.65", "0.65"), True, [3, 2, 1]),  # 0.05 down on each: within
        (("0.699", "0.9", "0.9"), False, [3]),
        (("0.9", "0.649", "0.9"), False, [3, 2]),
        (("0.9", "0.9", "0.649"), False, [3, 2, 1]),
    ],
)
async def test_a_candidate_may_not_be_worse_here_and_by_5_points_at_most_on_earlier_batches(
    scores: Sequence[str], accepted: bool, tried: list[int]
) -> None:
    verdict, asked = await judged(scores)
    assert (verdict.accepted, asked) == (accepted, tried)


async def test_what_a_candidate_fails_is_told_with_how_far_it_is_beyond() -> None:
    verdict, _ = await judged(("0.9", "0.6", "0.9"))
    assert [entry.violates for entry in verdict.pool] == [{}, {"batch of round 2": pytest.approx(0.05)}]
    assert verdict.to_json()["selected"] == "H"


# A whole run


@dataclass(frozen=True, kw_only=True)
class Done:
    evolved: EvolutionOutcome
    told: Told
    contexts: Sequence[ProposerContext]
    tree: Path
    used: Sequence[Any]


async def carried_out(ledger: SynLedger, folder: Path, proposer: Any, **options: Any) -> Done:
    few, told = few_tasks(ledger), Told()
    made = plan(few, kit=ProtocolKit(few), proposer=proposer, method="harness-evolve", seed=1, **options)
    async with running(made, folder, told=told) as run:
        evolved = await run.evolve()
        used = run.store.used("run-1")
    tree = folder / ".chase" / "runs" / "run-1" / "history" / "proposer"
    return Done(evolved=evolved, told=told, contexts=getattr(proposer, "contexts", ()), tree=tree, used=used)


@pytest.fixture(scope="module")
def done(ledger: SynLedger, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Two epochs of two batches, with the offline Proposer."""
    return asyncio.run(carried_out(ledger, tmp_path_factory.mktemp("run"), SpyingProposer(), epochs=2, batches=2))


def test_a_rejected_edit_leaves_the_harness_and_an_accepted_one_enters_the_pool(done: Done) -> None:
    line, pool, current = done.evolved.harnesses, ["H0"], "H0"
    assert len(line) == 5
    for record, following in zip(done.evolved.rounds, line[1:], strict=True):
        selection = record["selection"]
        assert selection["pool"][0]["harness"] == current
        current = selection["pool"][-1]["harness"] if selection["accepted"] else current
        assert following.name == selection["selected"] == current
        pool += [current] if selection["accepted"] else []
        if chosen := record.get("epoch_selection"):
            assert [entry["harness"] for entry in chosen["pool"]] == list(dict.fromkeys(pool))
            current = chosen["selected"]
    assert {record["selection"]["accepted"] for record in done.evolved.rounds} == {True, False}
    assert done.evolved.final.name == current


def test_disc_selects_after_each_epoch_and_the_earlier_of_equals(done: Done) -> None:
    selections = done.told.of(EpochSelected)
    assert [event.epoch for event in selections] == [1, 2]
    for event in selections:
        best = max(entry.released for entry in event.pool)
        assert event.selected == next(entry.harness for entry in event.pool if entry.released == best)
    assert [event.batches for event in done.told.of(EpochStarted)] == [(20, 20), (20, 20)]
    assert done.evolved.selection["role"] == "disc"


def test_the_proposer_gets_groups_with_examples_and_writes_one_free_edit(done: Done) -> None:
    for context in done.contexts:
        assert (context.tracks, context.candidates) == ((), 1)
        assert context.briefs.keys() == {FAILURE_GROUPS}
        assert context.contracts.keys() == {"quality-gate"}
        told = context.briefs[FAILURE_GROUPS]
        assert told["executions"] == 20
        assert all(group["examples"] for group in told["groups"])
    examples = [example for context in done.contexts for example in _examples(context)]
    assert any(example["first_divergence"] for example in examples)


def test_no_brief_holds_an_answer_a_label_of_evidence_or_a_role(ledger: SynLedger, done: Done) -> None:
    examples = [example for context in done.contexts for example in _examples(context)]
    assert any(example["reference_actions"] for example in examples)
    for example in examples:
        answer = str(ledger.task(example["task"]).answer)
        written = [action["target"] for action in example["failed_actions"] + (example["reference_actions"] or [])]
        written += [example["question"], example["trace"]]
        assert not [text for text in written if holds(text, answer)]
    told = json.dumps([dict(context.briefs) for context in done.contexts])
    assert not re.search(r"\b(evo|disc|conf[123]?|cert|evidence|gold|distractor)\b", told)


def test_what_the_maker_did_is_in_no_tree_and_neither_are_roles(done: Done) -> None:
    made = {used.rollout.digest for used in done.used if used.rollout.key.role == "reference"}
    assert len(made) == 40
    assert {folder.name for folder in (done.tree / "traces").iterdir()} <= {"H0", "r1-1", "r2-1", "r3-1", "r4-1"}
    for path, text in texts(done.tree):
        assert not re.search(r"\b(evo|disc|conf[123]|cert)\b", f"{path}\n{text}"), path
        assert "reference trajectory" not in text, path


def test_the_order_of_a_tree_does_not_tell_task_sets_apart(done: Done) -> None:
    """Each round's batch is written as one, by its tasks' ids."""
    lines = [json.loads(line) for line in (done.tree / "scores.jsonl").read_text().splitlines()]
    first = [line["task"] for line in lines if line["harness"] == "H0"][:20]
    assert first == sorted(first)


def _examples(context: ProposerContext) -> list[dict[str, Any]]:
    return [example for group in context.briefs[FAILURE_GROUPS]["groups"] for example in group["examples"]]


# Edits that go back


@dataclass
class Writes:
    """Hands in these harnesses one after the other; those after the first when the one before was refused."""

    harnesses: Sequence[Harness]
    refusals: list[Refusal] = field(default_factory=list)
    name: str = "writes"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return [Candidate(track=None, files=render_files(harness)) for harness in self.harnesses[:1]]

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        self.refusals += refused
        left = self.harnesses[len(self.refusals) :][:1]
        return [Candidate(track=None, files=render_files(harness)) for harness in left]


async def test_a_leaking_edit_goes_back_and_its_revision_is_evaluated(ledger: SynLedger, tmp_path: Path) -> None:
    task = few_tasks(ledger).tasks("conf2")[0]
    leaks, plain = (
        replace(H0, guidance=(Guidance(name="new", when=Activation(), text=text),)) for text in (task, "Read on.")
    )
    proposer = Writes([leaks, plain])
    done = await carried_out(ledger, tmp_path, proposer, epochs=1, batches=1)
    assert [str(refusal) for refusal in proposer.refusals] == ["r1-1: quality gate: it holds a task's id"]
    (event,) = done.told.of(Selected)
    assert [entry.hash for entry in event.pool] == [H0.hash, plain.hash]
    assert leaks.hash not in {used.rollout.key.harness for used in done.used}


async def test_without_an_edit_the_harness_stays(ledger: SynLedger, tmp_path: Path) -> None:
    done = await carried_out(ledger, tmp_path, Writes([]), epochs=1, batches=2)
    assert [named.name for named in done.evolved.harnesses] == ["H0", "H0", "H0"]
    assert not any(record["selection"]["accepted"] for record in done.evolved.rounds)
    assert done.evolved.final.name == "H0"


async def test_more_batches_than_tasks_is_refused(ledger: SynLedger, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="batches=20: only 4 tasks"):
        await _with_four_tasks(ledger, tmp_path)


async def _with_four_tasks(ledger: SynLedger, folder: Path) -> None:
    few = ledger.fewer({"evo": 1, "conf1": 1, "conf2": 1, "conf3": 1, "disc": 1, "cert": 1})
    async with running(plan(few, kit=ProtocolKit(few), method="harness-evolve", batches=20), folder) as run:
        await run.evolve()
