"""An audit as a method: search ends before confirmation begins, the sealed tasks stay sealed, nothing is paid twice."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chase.agents.history import History
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.challengers.mining import MiningChallenger
from chase.core.agents import ChallengerContext, Draft
from chase.core.errors import UserError
from chase.core.events import AuditConfirmationStarted, AuditPlanned, AuditSearched, AuditSearchStarted
from chase.engine.evaluator import Evaluator
from chase.engine.sandbox import Sandbox
from chase.methods.arena import Contender, Means, Variant
from chase.methods.audit import Audit, AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.store.records import UsedRollout
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0
from tests.methods.runs import ROLLOUTS, SIZES, SpyingChallenger, Told, few_tasks

pytestmark = pytest.mark.slow

CHEAT = replace(
    H0, prompt=f"{H0.prompt}\nRead on in files with low path-depth. Prefer files with low extension-length.\n"
)
SEARCHED, CONFIRMED = ("evo", "disc"), ("conf1", "conf2", "conf3")
DEPTH = {"name": "equalise", "arguments": {"aspect": "depth"}}

few_once = cache(few_tasks)
kit_once = cache(ProtocolKit)


def given(*operators: dict[str, Any], **more: Any) -> Draft:
    return Draft(form={"benchmark": "syn-ledger", "operators": list(operators), **more})


def make_plan(ledger: SynLedger, **changes: Any) -> AuditPlan:
    """Without the battery: `test_audit_flow.py` has what is measured before the search."""
    benchmark = few_once(ledger)
    settings = SearchSettings(rounds=changes.pop("rounds", 1), proposals=2, battery=False, anyway=True)
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit_once(benchmark),
        baseline=H0,
        harness=CHEAT,
        challenger=MiningChallenger(),
        settings=settings,
        rollouts=ROLLOUTS,
        seed=0,
    )
    return replace(plan, **changes)


@dataclass
class Done:
    """An audit that ended, and what it left behind."""

    result: AuditOutcome
    told: Told
    used: Sequence[UsedRollout]
    executed: int
    """Rollouts in the store that were not there before."""
    seals: Sequence[Any]
    folder: Path

    @property
    def roles(self) -> set[str]:
        return {used.rollout.key.role for used in self.used}


async def audited(plan: AuditPlan, folder: Path, run: str = "audit-1") -> Done:
    told = Told()
    with Store.open(Workspace(folder), write=True) as store:
        if all(known.id != run for known in store.runs()):
            store.create_run(run, {})
        before = store.info().rollouts.get("scored", 0)
        async with Sandbox(max_sessions=4) as sandbox:
            model = connect(ModelConfig(name="sim:reader"))
            result = await audit_harness(plan, run=run, store=store, model=model, sandbox=sandbox, tell=told)
        executed = store.info().rollouts["scored"] - before
        return Done(result, told, store.used(run), executed, store.seals(run), Workspace(folder).run_folder(run))


Evaluations = list[tuple[str, set[str]]]
"""(role, transformations) of every evaluation that an audit asks for, in order."""


@contextmanager
def listening() -> Iterator[Evaluations]:
    asked: Evaluations = []

    class Listening(Evaluator):
        async def evaluate_all(self, pairs: Any, role: str, *more: Any) -> Any:
            asked.append((role, {transformation.hash for _, transformation in pairs}))
            return await super().evaluate_all(pairs, role, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chase.methods.run.Evaluator", Listening)
        yield asked


@pytest.fixture
def evaluations() -> Iterator[Evaluations]:
    with listening() as asked:
        yield asked


@dataclass
class Looking(SpyingChallenger):
    """Notes the tasks that it can read of."""

    seen: set[str] = field(default_factory=set)

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self.seen |= {line.task for line in History(context.history).scores}
        return await super().challenge(context)


@dataclass
class Twice:
    """An audit of two rounds, with what it asked for."""

    plan: AuditPlan
    done: Done
    evaluations: Evaluations
    challenger: Looking
    workspace: Path


@pytest.fixture(scope="module")
def twice(ledger: SynLedger, tmp_path_factory: pytest.TempPathFactory) -> Twice:
    """Never changed."""
    challenger, folder = Looking(), tmp_path_factory.mktemp("twice")
    plan = make_plan(ledger, rounds=2, challenger=challenger)
    with listening() as asked:
        done = asyncio.run(audited(plan, folder))
    return Twice(plan, done, asked, challenger, folder)


# Padded findings


SECTION = {"name": "reverse", "arguments": {"aspect": "section"}}
LISTING = {"name": "permute", "arguments": {"aspect": "listing"}}


@dataclass
class FiguresArena:
    """Every harness gains ½, of which a transformation destroys what is said of its operators."""

    tasks_of: Sequence[str]
    destroyed: Mapping[str, float]

    def tasks(self, role: str) -> list[str]:
        return list(self.tasks_of)

    async def means(
        self,
        harnesses: Sequence[Contender],
        variants: Sequence[Variant],
        role: str,
        tasks: Any = None,
        rollouts: int | None = None,
    ) -> Means:
        lost = {v.name: self.destroyed["+".join(o.name for o in v.transformation.operators)] for v in variants}
        return {
            (h.name, v.name): dict.fromkeys(
                self.tasks_of, Fraction(1, 2) - Fraction(lost[v.name]) if h.name == "H" else Fraction(0)
            )
            for h in harnesses
            for v in variants
        }


@dataclass
class OneDraftARound:
    """A Challenger's desk that hands in one transformation in each round."""

    forms: Sequence[Draft]
    tree: Any = field(default_factory=lambda: SimpleNamespace(add_entry=lambda name, note: None))

    async def drafts(self, round: int, *_: Any, **__: Any) -> list[Draft]:
        return [self.forms[round - 1]]


async def searched(ledger: SynLedger, destroyed: Mapping[str, float], *forms: Draft) -> AuditOutcome:
    kit = kit_once(few_once(ledger))
    audit = Audit(
        initial=Contender(name="H0", harness=H0),
        harness=Contender(name="H", harness=CHEAT),
        arena=FiguresArena(few_once(ledger).tasks("evo"), {"": 0, **destroyed}),  # type: ignore[arg-type]
        desk=OneDraftARound(forms),  # type: ignore[arg-type]
        kit=kit,
        released=Variant(name="released", transformation=kit.identity),
        settings=SearchSettings(rounds=len(forms), reduce=False, battery=False),
        tell=Told(),
        seed=0,
    )
    return await audit.run()


@pytest.mark.parametrize("longer", [0.25, 0.125])
@pytest.mark.parametrize("longer_first", [True, False])
async def test_a_finding_with_an_operator_that_adds_nothing_is_not_confirmed(
    ledger: SynLedger, longer: float, longer_first: bool
) -> None:
    short, padded = given(DEPTH, seed=1), given(SECTION, DEPTH, seed=2)
    forms = [padded, short] if longer_first else [short, padded]
    result = await searched(ledger, {"equalise": 0.25, "reverse+equalise": longer}, *forms)
    assert [len(finding.of.proposals[0].transformation.operators) for finding in result.findings] == [1]
    (left_out,) = [record for record in result.tried if record["reason"]]
    assert left_out["operators"] == 2
    assert left_out["destruction"]["value"] == longer
    alone = "folder depths made equal (low) alone"
    assert left_out["reason"] == f"not taken to confirmation: it destroys no more than {alone}"


async def test_a_longer_finding_that_destroys_more_or_is_about_something_else_is_confirmed(ledger: SynLedger) -> None:
    more = await searched(
        ledger, {"equalise": 0.125, "reverse+equalise": 0.25}, given(DEPTH), given(SECTION, DEPTH)
    )  # fmt: skip
    assert len(more.findings) == 2
    apart = await searched(
        ledger, {"equalise": 0.25, "reverse+permute": 0.125}, given(DEPTH), given(SECTION, LISTING)
    )  # fmt: skip
    assert len(apart.findings) == 2
    assert not any(record["reason"] for record in (*more.tried, *apart.tried))


async def test_another_draw_of_the_same_operator_is_no_other_operator(ledger: SynLedger) -> None:
    result = await searched(
        ledger, {"permute": 0.25, "permute+reverse": 0.25}, given(LISTING, seed=1), given(LISTING, SECTION, seed=2)
    )  # fmt: skip
    assert [len(finding.of.proposals[0].transformation.operators) for finding in result.findings] == [1]


async def test_what_any_earlier_round_evaluated_is_a_duplicate(ledger: SynLedger) -> None:
    result = await searched(
        ledger, {"equalise": 0.25, "permute": 0.125}, given(DEPTH), given(LISTING), given(DEPTH), given(LISTING)
    )  # fmt: skip
    assert [record["verdict"] for record in result.tried] == ["valid", "valid", "duplicate", "duplicate"]
    assert [record["destruction"] is None for record in result.tried] == [False, False, True, True]


# Search, then confirmation


def test_what_is_found_is_confirmed_when_all_search_ended_and_the_sealed_tasks_are_not_touched(twice: Twice) -> None:
    done, roles = twice.done, [role for role, _ in twice.evaluations]
    last_search = max(place for place, role in enumerate(roles) if role in SEARCHED)
    released = {twice.plan.released.transformation.hash}
    changed = [
        place for place, (role, asked) in enumerate(twice.evaluations) if role in CONFIRMED and asked != released
    ]  # fmt: skip
    assert len(changed) == len(CONFIRMED)
    assert last_search < min(changed)
    assert set(roles) == done.roles == {*SEARCHED, *CONFIRMED}
    assert done.seals == []
    assert done.result.search_tasks == SIZES["evo"] + SIZES["disc"]
    assert done.result.confirm_tasks == sum(SIZES[role] for role in CONFIRMED)
    search = [AuditSearchStarted, AuditSearched]
    events = [type(event) for event in done.told.events]
    assert events == [AuditPlanned, *search, *search, AuditConfirmationStarted]


def test_each_round_tells_its_own_tries_and_the_record_keeps_all(twice: Twice) -> None:
    done = twice.done
    rounds = [event.tried for event in done.told.of(AuditSearched)]
    assert [*rounds[0], *rounds[1]] == list(done.result.tried)
    for tried in rounds:
        hashes = [record["hash"] for record in tried]
        assert len(set(hashes)) == len(hashes)
        assert any(record["destruction"] for record in tried)
    for record in done.result.tried:
        assert record["verdict"] == "valid" or record["reason"]
    taken = {finding.to_json()["hash"] for finding in done.result.findings}
    assert taken
    assert taken <= {record["hash"] for record in done.result.tried if record["destruction"]}


async def test_the_same_audit_again_pays_nothing_and_says_the_same(twice: Twice, tmp_path: Path) -> None:
    copied = shutil.copytree(twice.workspace, tmp_path / "again")
    again = await audited(twice.plan, copied)
    assert twice.done.executed > 0
    assert again.executed == 0
    assert again.result.to_json() == twice.done.result.to_json()
    assert len(twice.challenger.contexts) == 2, "one for each round of the first time"


def test_the_challenger_reads_of_search_tasks_alone(twice: Twice) -> None:
    few = twice.plan.benchmark
    assert twice.challenger.seen == {task for role in SEARCHED for task in few.tasks(role)}
    after = History(twice.done.folder / "history" / "challenger")
    assert {line.task for line in after.scores} == twice.challenger.seen


# Given transformations


async def test_given_transformations_are_confirmed_without_search(
    ledger: SynLedger, tmp_path: Path, evaluations: Evaluations
) -> None:
    spy = SpyingChallenger()
    done = await audited(make_plan(ledger, given=(given(DEPTH),), challenger=spy), tmp_path)
    assert {role for role, _ in evaluations} == set(CONFIRMED)
    assert spy.contexts == []
    assert done.result.search_tasks == 0
    assert done.result.tried == []
    (finding,) = done.result.findings
    assert (finding.of.source, finding.of.searched) == ("given", None)
    assert finding.to_json()["touched"] == {"path-depth": 1.0}
    means = done.result.scores
    assert done.result.gain.value == pytest.approx(means["harness"].value - means["baseline"].value)
    assert finding.tested.destruction.value == pytest.approx(done.result.gain.value - finding.gain.value)


async def test_one_given_twice_is_tested_once(ledger: SynLedger, tmp_path: Path) -> None:
    twice = (given(DEPTH), given(DEPTH, description="the same again"))
    done = await audited(make_plan(ledger, given=twice), tmp_path)
    assert len(done.result.findings) == 1


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (given({"name": "rewrite"}), "refused: unknown operator 'rewrite'"),
        (given(), "inactive"),
        (given(DEPTH, declared=["rank"]), "invalid: declared-changes"),
    ],
)
async def test_a_given_one_that_does_not_pass_the_screens_is_refused(
    ledger: SynLedger, tmp_path: Path, draft: Draft, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        await audited(make_plan(ledger, given=(draft,)), tmp_path)


async def test_what_is_invalid_on_the_confirmation_tasks_is_left_out_and_recorded(
    ledger: SynLedger, tmp_path: Path
) -> None:
    class NotThere(ProtocolKit):
        """Valid on the check set; on other tasks it is taken to declare another field than it changes."""

        def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
            declared = proposal if tasks is None else replace(proposal, declared=frozenset({"rank"}))
            return super().run_checks(declared, tasks)

    done = await audited(make_plan(ledger, given=(given(DEPTH),), kit=NotThere(few_once(ledger))), tmp_path)
    assert done.result.findings == []
    (record,) = done.result.tried
    assert (record["verdict"], record["reason"]) == ("invalid", "declared-changes, on the confirmation tasks")


# Sets


async def test_a_size_cuts_the_confirmation_tasks_over_all_their_sets(
    ledger: SynLedger, tmp_path: Path, evaluations: Evaluations
) -> None:
    done = await audited(make_plan(ledger, given=(given(DEPTH),), confirm_size=10), tmp_path)
    assert done.result.confirm_tasks == done.result.gain.n == 10
    assert len({role for role, _ in evaluations}) > 1


async def test_the_sealed_tasks_are_used_only_with_a_reason_that_is_recorded(ledger: SynLedger, tmp_path: Path) -> None:
    plan = make_plan(ledger, given=(given(DEPTH),), use_cert="the last audit of this harness")
    done = await audited(plan, tmp_path)
    assert done.roles == {*CONFIRMED, "cert"}
    assert done.result.confirm_tasks == sum(SIZES[role] for role in (*CONFIRMED, "cert"))
    (seal,) = done.seals
    assert seal.reason == "the last audit of this harness"
    assert dict(seal.hashes) == {"harness": CHEAT.hash, "baseline": H0.hash}


async def test_a_harness_that_is_its_own_baseline_has_no_gain_to_audit(ledger: SynLedger, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no gain to audit"):
        await audited(make_plan(ledger, harness=H0), tmp_path)


def test_everything_that_decides_the_result_is_in_its_description(ledger: SynLedger) -> None:
    plan = make_plan(ledger)
    changes: list[dict[str, Any]] = [
        {"harness": H0},
        {"baseline": CHEAT},
        {"challenger": MiningChallenger(use_diff=False)},
        {"settings": replace(plan.settings, rounds=3)},
        {"settings": replace(plan.settings, level=0.9)},
        {"settings": replace(plan.settings, reduce=False)},
        {"settings": replace(plan.settings, battery=True)},
        {"settings": replace(plan.settings, whole=True)},
        {"settings": replace(plan.settings, anyway=False)},
        {"rollouts": {**ROLLOUTS, "conf1": 2}},
        {"seed": 1},
        {"confirm_size": 12},
        {"use_cert": "because"},
        {"given": (given(DEPTH),)},
    ]
    described = [plan.describe("f"), plan.describe("g"), *(replace(plan, **c).describe("f") for c in changes)]
    assert all(left != right for i, left in enumerate(described) for right in described[:i])
    assert set(described[0]) == {
        "command", "benchmark", "content_hash", "model_fingerprint", "baseline", "harness", "challenger", "rounds",
        "proposals", "evaluated", "reduce", "battery", "whole", "anyway", "level", "rollouts", "tasks", "seed",
        "confirm_size", "use_cert", "given",
    }, "a run of another name for one of them would not be found again"  # fmt: skip
