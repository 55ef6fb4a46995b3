"""What a Proposer and a Challenger can know, and what they can do, in a whole run.

The benchmark has unmistakable marks for all that the host alone may know. Contexts are walked object by object and both
history trees searched file by file, for the marks, for role names and for ids of tasks that are not theirs.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.firewall import ledger_kit
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.core.agents import DOCUMENT_EDITS, AnswersOnce, Candidate, ChallengerContext, Draft, ProposerContext
from chase.core.errors import UserError
from chase.core.interfaces import Environment, Transformation
from chase.core.values import Json
from chase.engine.runner import Scored, Silence
from chase.harness.folder import render_files
from chase.harness.spec import Activation, Guidance, initial_harness
from chase.methods.evolution import Evolved
from chase.protocol.kit import ProtocolKit
from chase.store.store import Store
from chase.testing.object_graph import reachable
from tests.benchmarks.syn_ledger.faults import rebuilt
from tests.methods.runs import SIZES, FewTasks, SpyingChallenger, SpyingProposer, few_tasks, plan, running

SEED = 3
"""A run that asks the Challenger and archives a counterfactual, so that there is something of everything to search."""
MARK = "canary"
ANSWER = 918_273_645_546
HIDDEN = ("evo", "disc", "conf1", "conf2", "conf3", "conf", "cert", "neutral", "neutralise", "placebo", "construction")
"""Names of roles and of constructions, which are words in no text of a benchmark or a harness."""
PLAIN = (str, int, float, bool, type(None), dict, list, tuple, PurePath)


class MarkedFew(FewTasks):
    """Marked kinds, families and variants, and on some tasks of `evo` and `disc` an answer that nobody finds."""

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

    def finished(self, scored: Scored) -> None:
        if scored.role == "cert":
            assert self.store is not None
            self.hashes += [seal.hashes for seal in self.store.seals("run-1")]


@dataclass
class Spied:
    """A run that ended, with what its agents were given."""

    benchmark: MarkedFew
    evolved: Evolved
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
    """A plain optimiser's Proposer whose harness nobody else may see."""

    name: str = "other"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return [Candidate(track=None, files=harness_files(memory=f"{MARK}-other-method"))]


def harness_files(**changes: Any) -> dict[str, str]:
    return render_files(replace(initial_harness("syn-ledger"), **changes))


async def spied(benchmark: MarkedFew, kit: ProtocolKit, folder: Path, rounds: int = 2) -> Spied:
    """First another method in the same workspace with the same seed, then the run that is looked at."""
    async with running(plan(benchmark, kit=kit, proposer=OtherMethod(), method="meta-harness", seed=SEED), folder,
                       run="run-0") as other:  # fmt: skip
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
def kit(ledger: SynLedger) -> ProtocolKit:
    return ledger_kit(few_tasks(ledger))


@pytest.fixture(scope="module")
def run(ledger: SynLedger, kit: ProtocolKit, tmp_path_factory: pytest.TempPathFactory) -> Spied:
    return asyncio.run(spied(marked(ledger), kit, tmp_path_factory.mktemp("run")))


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Every file of a tree, its path first."""
    for path in sorted(root.rglob("*")):
        yield str(path.relative_to(root)), ""
        if path.is_file():
            yield str(path.relative_to(root)), path.read_text(encoding="utf-8")


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


# What agents can know


def test_the_run_has_something_of_everything(run: Spied) -> None:
    """Else the searches below would find nothing because there is nothing."""
    assert len(run.proposer.contexts) == 2
    assert run.challenger.contexts
    assert [entry.name for entry in run.evolved.archive.entries] == ["b1"]
    tree = run.trees["evo"]
    assert len(list(tree.glob("traces/*/released/*.json"))) >= 4 * SIZES["evo"]
    assert list(tree.glob("traces/*/b1/*.json"))
    assert len(list(run.trees["disc"].glob("traces/*/released/*.json"))) >= 2 * SIZES["disc"]
    assert (run.trees["disc"] / "archive/b1.json").exists()


@pytest.mark.parametrize("role", ["evo", "disc"])
def test_no_tree_says_what_the_host_alone_may_know(run: Spied, role: str) -> None:
    assert leaks(run.benchmark, role, texts(run.trees[role])) == set()


@pytest.mark.parametrize("role", ["evo", "disc"])
def test_a_tree_is_about_its_roles_tasks_and_all_of_them(run: Spied, role: str) -> None:
    lines = [json.loads(line) for line in (run.trees[role] / "scores.jsonl").read_text().splitlines()]
    assert {line["task"] for line in lines} == set(run.benchmark.tasks(role))
    assert {path.stem.rpartition("-")[0] for path in run.trees[role].glob("traces/*/*/*.json")} == set(
        run.benchmark.tasks(role)
    )


def test_wrongly_answered_tasks_are_in_the_tree_without_their_answer(run: Spied) -> None:
    unanswerable = {task for task in run.benchmark.tasks("evo") if run.benchmark.task(task).answer == ANSWER}
    assert unanswerable
    for task in unanswerable:
        for path in run.trees["evo"].glob(f"traces/*/*/{task}-*.json"):
            trace = json.loads(path.read_text())
            assert trace["score"] == 0.0
            assert str(ANSWER) not in json.dumps(trace)


def test_proposals_under_trial_are_in_no_tree(run: Spied) -> None:
    """Only what was archived has a name there; refused and unconfirmed transformations have none."""
    for tree in run.trees.values():
        assert {path.name for path in tree.glob("traces/*/*")} <= {"released", "b1"}
    tried = {e["hash"] for record in run.evolved.rounds for e in record["challenger"].get("evaluated", [])}
    assert len(tried) > 1
    for tree in run.trees.values():
        for _, text in texts(tree):
            assert not any(digest in text for digest in tried)


def test_an_archived_counterfactual_is_told_without_estimates_or_verdicts(run: Spied) -> None:
    for tree in run.trees.values():
        assert set(json.loads((tree / "archive/b1.json").read_text())) == {"name", "round", "transformation", "touched"}


def contexts(run: Spied) -> list[tuple[str, ProposerContext | ChallengerContext]]:
    return [*(("evo", c) for c in run.proposer.contexts), *(("disc", c) for c in run.challenger.contexts)]


def test_contexts_are_plain_data_and_a_path(run: Spied) -> None:
    for _, context in contexts(run):
        for way, item in reachable(context):
            plain = isinstance(item, PLAIN) or (is_dataclass(item) and type(item).__module__ == "chase.core.agents")
            assert plain, f"{way} is a {type(item)}"
            assert not callable(item), way


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
        "neutral": "traces/H0/neutral/x-0.json",
        "id of conf1": f"traces/H0/released/{benchmark.tasks('conf1')[0]}-0.json",
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
    assert run.roles_used["meta-harness"] == {"evo"}
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


# What agents can do


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
    assert evolved.final.harness == initial_harness("syn-ledger")
    assert not evolved.archive.entries
    for record in evolved.rounds:
        refused = record["selection"]["refused"]
        assert len(refused) == len(HOSTILE)
        assert all(len(reason) <= 1000 for reason in refused)
        for reason in HOSTILE:
            assert any(reason in told for told in refused), reason
    tree = run.journal.folder / "history/proposer"
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
    assert not (run.journal.folder / "rounds/1/candidates.json").exists()


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
            final = {p.name: p.read_text() for p in (run.journal.folder / "final").rglob("*") if p.is_file()}
        outcomes.append((evolved.rounds, evolved.selection, [h.harness for h in evolved.harnesses], final))
    assert outcomes[0] == outcomes[1]
    assert read == []
    monkeypatch.undo()
    assert "forged" in "".join(text for _, text in texts(tmp_path / "hostile/.chase/runs/run-1/history"))


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
    made = plan(few_tasks(ledger), kit=kit, challenger=challenger, seed=SEED, rounds=1)
    async with running(replace(made, proposals=len(RUBBISH)), tmp_path) as run:
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
    assert len(evolved.rounds[0]["challenger"]["proposals"]) == made.proposals == 8
