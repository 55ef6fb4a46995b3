"""What a Proposer and a Challenger can know in a whole run.

The benchmark has unmistakable marks for all that the host alone may know. Contexts are walked object by object and both
history trees searched file by file, for the marks, for role names and for ids of tasks that are not theirs.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.core.agents import AnswersOnce, Candidate, ChallengerContext, ProposerContext
from chase.core.interfaces import Environment, Transformation
from chase.engine.runner import ScoredRollout, Silence
from chase.methods.evolution import EvolutionOutcome
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.testing.object_graph import reachable
from tests.benchmarks.syn_ledger.faults import rebuilt
from tests.methods.runs import (
    SEED,
    SIZES,
    FewTasks,
    SpyingChallenger,
    SpyingProposer,
    few_tasks,
    harness_files,
    plan,
    running,
    texts,
)

pytestmark = pytest.mark.slow

MARK = "canary"
ANSWER = 918_273_645_546
HIDDEN = ("evo", "disc", "conf1", "conf2", "conf3", "conf", "cert", "neutral", "neutralise", "placebo", "construction")
"""Names of roles and of constructions, which are words in no text of a benchmark or a harness."""
INDEXED = {
    "harness", "variant", "task", "rollout", "score", "outcome", "answer", "calls", "refused", "queries", "opened",
    "read_on", "trace",
}  # fmt: skip
"""What an index says of a rollout. Nothing else may be put there without a thought."""
PLAIN = (str, int, float, bool, type(None), dict, list, tuple, PurePath)


class MarkedFew(FewTasks):
    """Marked kinds, families and variants, and on some tasks of `evo` and `disc` an answer that nobody finds."""

    neutral = f"{MARK}-neutral"

    def mark(self) -> None:
        self._variants = {n if n == "released" else f"{MARK}-{n}": made for n, made in self._variants.items()}


class LeakyFew(MarkedFew):
    """Says in its questions what the search must find."""

    def environment(self, task: str, transformation: Transformation[Manifest]) -> Environment:
        environment = super().environment(task, transformation)
        kind = self.task(task).documents[0].kind
        other = self.tasks("cert")[0]
        environment.question += f" ({self.role_of(task)}, {self.task(task).answer}, {kind}, {other})"  # type: ignore[misc]
        return environment


def marked(ledger: SynLedger, kind: type[MarkedFew] = MarkedFew) -> MarkedFew:
    few = few_tasks(ledger)
    unanswerable = {*few.tasks("evo")[::5], *few.tasks("disc")[::4]}

    def mark(made: GeneratedTask) -> GeneratedTask:
        task = made.task
        documents = tuple(replace(d, kind=f"{MARK}-kind-{d.kind}") for d in task.documents)  # type: ignore[arg-type]
        query = replace(task.query, family=replace(task.family, name=f"{MARK}-family"))
        answer = ANSWER if task.id in unanswerable else task.answer
        return replace(made, task=replace(task, documents=documents, query=query, answer=answer))

    copy = rebuilt(few, mark, kind)
    assert isinstance(copy, MarkedFew)
    copy.mark()
    return copy


class SealWatch(Silence):
    """Sees whether what was fixed was on record when each certification rollout finished."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.hashes: list[Any] = []

    def finished(self, scored: ScoredRollout) -> None:
        if scored.role == "cert":
            assert self.store is not None
            self.hashes += [seal.hashes for seal in self.store.seals("run-1")]


@dataclass
class Spied:
    """A run that ended, with what its agents were given."""

    benchmark: MarkedFew
    evolved: EvolutionOutcome
    proposer: SpyingProposer
    challenger: SpyingChallenger
    roles_used: dict[str, set[str]]
    """Method → the roles of its rollouts, before certification."""
    watch: SealWatch
    store_seals: int

    @property
    def trees(self) -> dict[str, Path]:
        return {"evo": self.proposer.contexts[0].history, "disc": self.challenger.contexts[0].history}


@dataclass
class OtherMethod(AnswersOnce):
    """CHASE without its Challenger's Proposer whose harness nobody else may see."""

    name: str = "other"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return [Candidate(track=None, files=harness_files(memory=f"{MARK}-other-method"))]


async def spied(benchmark: MarkedFew, kit: ProtocolKit, folder: Path, rounds: int = 2) -> Spied:
    """First another method in the same workspace with the same seed, then the run that is looked at."""
    earlier = plan(benchmark, kit=kit, proposer=OtherMethod(), method="chase-without-challenger", seed=SEED)
    async with running(earlier, folder, run="run-0") as other:
        await other.evolve()
    made = plan(benchmark, kit=kit, seed=SEED, rounds=rounds)
    watch = SealWatch()
    async with running(made, folder, progress=watch) as run:
        watch.store = run.store
        evolved = await run.evolve()
        used: dict[str, set[str]] = {}
        for count in run.store.episodes():
            used.setdefault(count.method, set()).add(count.role)
        seals = run.store.info().seals
        await run.certify(evolved)
    return Spied(benchmark, evolved, made.proposer, made.challenger, used, watch, seals)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(ledger: SynLedger, kit: ProtocolKit, tmp_path_factory: pytest.TempPathFactory) -> Spied:
    return asyncio.run(spied(marked(ledger), kit, tmp_path_factory.mktemp("run")))


def leaks(benchmark: SynLedger, role: str, parts: Iterator[tuple[str, str]]) -> set[str]:
    """What stands in a text or a path of a role's agent and must not."""
    words = re.compile(rf"(?<![a-z0-9])({'|'.join(HIDDEN)})(?![a-z0-9])")
    secrets = [MARK, str(ANSWER), f"{ANSWER:,}", benchmark.content_hash]
    strange = set(benchmark.tasks()) - set(benchmark.tasks(role))
    ids = re.compile(f"[a-z]{{{min(map(len, strange))},}}")
    found: set[str] = set()
    for path, text in parts:
        everything = f"{path}\n{text}".lower()
        found |= {secret for secret in secrets if secret.lower() in everything}
        found |= set(words.findall(everything))
        found |= {f"id of {benchmark.role_of(task)}" for task in strange & set(ids.findall(everything))}
    return found


def test_the_run_has_something_of_everything(run: Spied) -> None:
    """Else the searches below would find nothing because there is nothing."""
    assert len(run.proposer.contexts) == 2
    assert run.challenger.contexts
    assert [entry.name for entry in run.evolved.archive.entries] == ["b1"]
    tree = run.trees["evo"]
    assert len(list(tree.glob("traces/*/released/*.jsonl"))) >= 4 * SIZES["evo"]
    assert list(tree.glob("traces/*/b1/*.jsonl"))
    assert len(list(run.trees["disc"].glob("traces/*/released/*.jsonl"))) >= 2 * SIZES["disc"]
    assert (run.trees["disc"] / "archive/b1.json").exists()


@pytest.mark.parametrize("role", ["evo", "disc"])
def test_no_tree_says_what_the_host_alone_may_know(run: Spied, role: str) -> None:
    assert leaks(run.benchmark, role, texts(run.trees[role])) == set()


@pytest.mark.parametrize("role", ["evo", "disc"])
def test_a_tree_is_about_its_roles_tasks_and_all_of_them(run: Spied, role: str) -> None:
    lines = [json.loads(line) for line in (run.trees[role] / "scores.jsonl").read_text().splitlines()]
    assert {line["task"] for line in lines} == set(run.benchmark.tasks(role))
    assert {path.stem.rpartition("-")[0] for path in run.trees[role].glob("traces/*/*/*.jsonl")} == set(
        run.benchmark.tasks(role)
    )


def test_wrongly_answered_tasks_are_in_the_tree_without_their_answer(run: Spied) -> None:
    unanswerable = {task for task in run.benchmark.tasks("evo") if run.benchmark.task(task).answer == ANSWER}
    assert unanswerable
    for task in unanswerable:
        for path in run.trees["evo"].glob(f"traces/*/*/{task}-*.jsonl"):
            text = path.read_text()
            assert json.loads(text.splitlines()[-1])["score"] == 0.0
            assert str(ANSWER) not in text


def test_the_index_says_of_unsolved_tasks_that_they_are_and_nothing_of_their_answer(run: Spied) -> None:
    """A wrong answer in it is the agent's own; what is right stands nowhere."""
    for role, tree in run.trees.items():
        lines = [json.loads(line) for line in (tree / "index.jsonl").read_text().splitlines()]
        assert len(lines) == len(list(tree.glob("traces/*/*/*.jsonl")))
        unsolved = [line for line in lines if line["outcome"] not in ("correct", "partly correct")]
        assert {run.benchmark.task(line["task"]).answer for line in unsolved} >= {ANSWER}
        for line in unsolved:
            gold = str(run.benchmark.task(line["task"]).answer)
            assert line["score"] == 0.0
            assert gold not in str(line["answer"]).replace(",", "")
            assert set(line) == INDEXED
        summary = [json.loads(line) for line in (tree / "tasks.jsonl").read_text().splitlines()]
        assert {line["task"] for line in summary} == set(run.benchmark.tasks(role))
        assert all(set(line) == {"task", "question", "scores"} for line in summary)


def test_proposals_under_trial_are_in_no_tree(run: Spied) -> None:
    """Only what was archived has a name there; refused and unconfirmed transformations have none."""
    for tree in run.trees.values():
        assert {path.name for path in tree.glob("traces/*/*")} <= {"released", "b1"}
    tried = {e["hash"] for record in run.evolved.rounds for e in record["challenger"].get("evaluated", [])}
    assert len(tried) > 1
    for tree in run.trees.values():
        for _, text in texts(tree):
            assert not any(digest in text for digest in tried)


def test_what_a_proposer_wrote_about_its_tasks_is_in_its_own_tree_alone(run: Spied) -> None:
    records = {
        role: [json.loads(path.read_text()) for path in tree.glob("harnesses/r*/candidate.json")]
        for role, tree in run.trees.items()
    }
    assert all(record["edits"] for record in records["evo"])
    assert records["disc"]
    assert all(record == {} for record in records["disc"])


def test_an_archived_counterfactual_is_told_without_estimates_or_verdicts(run: Spied) -> None:
    for tree in run.trees.values():
        assert set(json.loads((tree / "archive/b1.json").read_text())) == {"name", "round", "transformation", "touched"}


def contexts(run: Spied) -> list[tuple[str, ProposerContext | ChallengerContext]]:
    return [*(("evo", c) for c in run.proposer.contexts), *(("disc", c) for c in run.challenger.contexts)]


def test_contexts_are_plain_data_a_path_and_pure_functions_of_what_was_shown(run: Spied) -> None:
    for _, context in contexts(run):
        assert set(context.observables) == {observable.name for observable in run.benchmark.observables}
        for way, item in reachable(replace(context, observables={})):
            known = type(item).__module__ in ("chase.core.agents", "chase.core.values")
            assert isinstance(item, PLAIN) or (is_dataclass(item) and known), f"{way} is a {type(item)}"
            assert not callable(item), way
        held = [item for _, item in reachable(context.observables)]
        assert not [item for item in held if isinstance(item, SynLedger | GeneratedTask | Store)]
        assert len(held) < 1000


def test_contexts_say_nothing_of_what_the_host_alone_may_know(run: Spied) -> None:
    for role, context in contexts(run):
        values = [(f.name, repr(getattr(context, f.name))) for f in fields(context) if f.name != "history"]
        assert leaks(run.benchmark, role, iter(values)) == set()
        history = context.history.relative_to(context.history.parents[2])
        assert leaks(run.benchmark, role, iter([(str(history), "")])) == set()


def test_the_search_finds_leaks_where_there_are_some(ledger: SynLedger, kit: ProtocolKit, tmp_path: Path) -> None:
    found = asyncio.run(spied(marked(ledger, LeakyFew), kit, tmp_path, rounds=1))
    tree = found.proposer.contexts[0].history
    assert leaks(found.benchmark, "evo", texts(tree)) == {"evo", MARK, str(ANSWER), "id of cert"}


def test_the_search_finds_what_is_put_into_a_tree(run: Spied, tmp_path: Path) -> None:
    benchmark = run.benchmark
    planted = {
        "neutral": "traces/H0/neutral/x-0.jsonl",
        "id of conf1": f"traces/H0/released/{benchmark.tasks('conf1')[0]}-0.jsonl",
        MARK: f"harnesses/{MARK}-other-method/prompt.md",
    }
    for found, name in planted.items():
        path = tmp_path / found / name
        path.parent.mkdir(parents=True)
        path.write_text("")
        assert leaks(benchmark, "evo", texts(tmp_path / found)) == {found}
    assert leaks(benchmark, "evo", iter([("scores.jsonl", f'{{"task": "{benchmark.tasks("disc")[0]}"}}')])) == {
        "id of disc"
    }
    assert leaks(benchmark, "evo", iter([("scores.jsonl", '{"role": "cert"}')])) == {"cert"}


def test_methods_roll_out_their_own_roles_and_nobody_the_sealed_one(run: Spied) -> None:
    assert run.roles_used["chase-without-challenger"] == {"evo"}
    assert {"evo", "disc", "conf1"} <= run.roles_used["chase"] <= {"evo", "disc", "conf1", "conf2", "conf3"}
    assert run.store_seals == 0


def test_all_is_committed_before_the_first_certification_rollout(run: Spied) -> None:
    evolved = run.evolved
    assert run.watch.hashes
    for hashes in run.watch.hashes:
        assert hashes["final"] == evolved.final.harness.hash
        assert hashes["harnesses"] == [named.harness.hash for named in evolved.harnesses]
        assert hashes["archive"] == [entry.digest() for entry in evolved.archive.entries]
        assert hashes["analysis"]
