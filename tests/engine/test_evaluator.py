"""Roles are capabilities: through an evaluator nobody reaches a task set, a trace or a seal that it does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import IntegrityError, UserError
from chase.engine.evaluator import Cell, Evaluator, Opening, unseal
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.object_graph import reachable
from chase.testing.scripted import Request, ScriptedModel, Step, call, scripted
from tests.engine.rollouts import make_harness

RUN = "chase-1"
HASHES = {"final": "aa", "harnesses": ["bb", "aa"], "archive": ["cc"]}
OTHERS = ["disc", "conf1", "conf2", "conf3", "cert"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path), write=True) as opened:
        yield opened


@pytest.fixture
def model() -> ScriptedModel:
    return scripted([call("list_files"), "1"])


def evaluator(
    ledger: SynLedger,
    store: Store,
    model: ScriptedModel,
    roles: Mapping[str, int] | None = None,
    *,
    use: Use | None = None,
    run_seed: int = 0,
    opening: Opening | None = None,
) -> Evaluator:
    """What a method of a run holds; `evo` unless told otherwise."""
    runner = Runner(model=model, store=store, sandbox=Sandbox(), use=use or Use(run=RUN, method="chase"))
    roles = {"evo": 1} if roles is None else roles
    return Evaluator(
        benchmark=ledger, runner=runner, store=store, roles=roles, run_seed=run_seed, opening=opening
    )  # fmt: skip


async def two_tasks(held: Evaluator, ledger: SynLedger, role: str, harness: Harness | None = None) -> Cell:
    pairs = [(harness or make_harness(), ledger.variant("released"))]
    (cell,) = await held.evaluate_all(pairs, role, held.tasks(role)[:2])
    return cell


def digests(cell: Cell) -> list[str]:
    return [digest for of_task in cell.rollouts.values() for digest in of_task]


# The honest case


async def test_what_is_held_is_evaluated_and_its_traces_are_read(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    held = evaluator(ledger, store, model, {"evo": 2, "disc": 1})
    cell = await two_tasks(held, ledger, "evo")
    assert list(cell.scores) == list(ledger.tasks("evo"))[:2]
    assert all(len(scores) == 2 for scores in cell.scores.values())
    assert [held.trace(digest)["task"] for digest in digests(cell)] == [t for t in cell.scores for _ in range(2)]
    whole = await held.evaluate(make_harness(), ledger.variant("neutral"), "disc")
    assert list(whole.scores) == list(ledger.tasks("disc"))


# Other roles


@pytest.mark.parametrize("role", [*OTHERS, "EVO", "evo ", "", "released", None, ("evo", "disc")])
async def test_another_role_is_out_of_reach(ledger: SynLedger, store: Store, model: ScriptedModel, role: Any) -> None:
    held = evaluator(ledger, store, model)
    pair = make_harness(), ledger.variant("released")
    with pytest.raises(IntegrityError, match=r"not held here\. Held: evo\."):
        held.tasks(role)
    with pytest.raises(IntegrityError, match="not held here"):
        await held.evaluate(*pair, role)
    with pytest.raises(IntegrityError, match="not held here"):
        await held.rollouts(*pair, role)
    with pytest.raises(IntegrityError, match="not held here"):
        await held.evaluate_all([pair], role, held.tasks("evo"))
    assert not model.requests
    assert sum(store.info().rollouts.values()) == 0


@pytest.mark.parametrize("role", OTHERS)
async def test_a_task_of_another_role_is_refused_under_a_held_one(
    ledger: SynLedger, store: Store, model: ScriptedModel, role: str
) -> None:
    held = evaluator(ledger, store, model)
    pairs = [(make_harness(), ledger.variant("released"))]
    own, strange = held.tasks("evo")[0], ledger.tasks(role)[0]
    for tasks in ((strange,), (own, strange), (own, f"{own} "), ("unknown",)):
        with pytest.raises(IntegrityError, match="is not of role 'evo'"):
            await held.evaluate_all(pairs, "evo", tasks)
    assert not model.requests


async def test_of_two_held_roles_neither_takes_the_others_tasks(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    held = evaluator(ledger, store, model, {"evo": 1, "disc": 1})
    pairs = [(make_harness(), ledger.variant("released"))]
    with pytest.raises(IntegrityError, match="is not of role 'disc'"):
        await held.evaluate_all(pairs, "disc", held.tasks("evo")[:1])


def test_roles_cannot_be_added_afterwards(ledger: SynLedger, store: Store, model: ScriptedModel) -> None:
    given = {"evo": 1}
    held = evaluator(ledger, store, model, given)
    given["conf1"] = 1
    assert held.roles == {"evo"}
    with pytest.raises(AttributeError):
        held.roles = frozenset({"evo", "conf1"})  # type: ignore[misc]
    with pytest.raises(AttributeError):
        held.roles.add("conf1")  # type: ignore[attr-defined]
    with pytest.raises(IntegrityError):
        held.tasks("conf1")


def test_what_may_be_asked_of_an_evaluator_is_named_here(ledger: SynLedger, store: Store, model: ScriptedModel) -> None:
    """What is added has to be thought about: it widens what every method can reach."""
    held = evaluator(ledger, store, model)
    assert {name for name in dir(held) if not name.startswith("_")} == {
        "roles",
        "agreed",
        "tasks",
        "evaluate",
        "evaluate_all",
        "rollouts",
        "trace",
    }


async def test_what_comes_back_is_plain_data_of_the_role(ledger: SynLedger, store: Store, model: ScriptedModel) -> None:
    held = evaluator(ledger, store, model)
    cell = await two_tasks(held, ledger, "evo")
    trace = held.trace(digests(cell)[0])
    _ = cell.means
    for found in (cell, trace, held.tasks("evo"), held.roles):
        for way, item in reachable(found):
            assert not isinstance(item, SynLedger | Store | Runner | Evaluator), way
            assert not callable(item) or isinstance(item, type), way


# Other methods' and other runs' rollouts


async def test_a_rollout_of_others_in_the_same_store_is_not_readable(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    mine = evaluator(ledger, store, model)
    cell = await two_tasks(mine, ledger, "evo")
    other_harness = make_harness(memory="Another one.")
    others = {
        "method": evaluator(ledger, store, model, use=Use(run=RUN, method="chase-without-challenger")),
        "run": evaluator(ledger, store, model, use=Use(run="chase-2", method="chase")),
        "seed": evaluator(ledger, store, model, run_seed=1),
    }
    for other in others.values():
        for digest in digests(await two_tasks(other, ledger, "evo", other_harness)):
            assert store.get(digest) is not None
            assert other.trace(digest)
            with pytest.raises(IntegrityError, match="was not evaluated here"):
                mine.trace(digest)
        with pytest.raises(IntegrityError, match="was not evaluated here"):
            evaluator(ledger, store, model).trace(digests(cell)[0])  # the same holder's, before it evaluated anything


async def test_a_shared_rollout_is_readable_once_it_was_evaluated_here(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    first, second = evaluator(ledger, store, model), evaluator(ledger, store, model, use=Use(run="2", method="other"))
    digest = digests(await two_tasks(first, ledger, "evo"))[0]
    asked = len(model.requests)
    with pytest.raises(IntegrityError):
        second.trace(digest)
    assert digest in digests(await two_tasks(second, ledger, "evo"))
    assert len(model.requests) == asked
    assert second.trace(digest) == first.trace(digest)


async def test_no_other_name_of_a_rollout_opens_its_trace(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    held = evaluator(ledger, store, model)
    digest = digests(await two_tasks(held, ledger, "evo"))[0]
    stored = store.get(digest)
    assert stored is not None
    for name in (digest[:12], digest.upper(), stored.trace_digest, ""):
        with pytest.raises(IntegrityError, match="was not evaluated here"):
            held.trace(name)


async def test_a_certification_trace_is_refused_even_if_it_counted_as_evaluated(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    opened = evaluator(ledger, store, model, {"cert": 1}, opening=unseal(store, RUN, HASHES))
    digest = digests(await two_tasks(opened, ledger, "cert"))[0]
    assert opened.trace(digest)
    held = evaluator(ledger, store, model)
    with pytest.raises(IntegrityError, match="was not evaluated here"):
        held.trace(digest)
    held._mine.add(digest)
    with pytest.raises(IntegrityError, match="role 'cert' is not held here"):
        held.trace(digest)


# The seal


def test_the_sealed_set_cannot_be_held_without_its_opening(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    for roles in ({"cert": 1}, {"evo": 1, "cert": 3}):
        with pytest.raises(IntegrityError, match="task set 'cert' is sealed"):
            evaluator(ledger, store, model, roles)
    assert store.info().seals == 0


def test_an_opening_that_was_never_recorded_opens_nothing(
    ledger: SynLedger, store: Store, model: ScriptedModel
) -> None:
    forged = Opening(subject=RUN, reason="made by hand")
    with pytest.raises(IntegrityError, match="task set 'cert' is sealed"):
        evaluator(ledger, store, model, {"cert": 1}, opening=forged)
    unseal(store, "another-run", HASHES)
    with pytest.raises(IntegrityError, match="task set 'cert' is sealed"):
        evaluator(ledger, store, model, {"cert": 1}, opening=forged)


def test_an_opening_gives_no_role_that_was_not_asked_for(ledger: SynLedger, store: Store, model: ScriptedModel) -> None:
    held = evaluator(ledger, store, model, {"evo": 1}, opening=unseal(store, RUN, HASHES))
    with pytest.raises(IntegrityError, match="role 'cert' is not held here"):
        held.tasks("cert")


async def test_what_was_fixed_is_recorded_before_the_first_certification_rollout(
    ledger: SynLedger, store: Store
) -> None:
    found: list[Mapping[str, Any]] = []

    def asked(request: Request) -> Step:
        found.append(store.seals(RUN)[0].hashes)
        return "1"

    opened = evaluator(ledger, store, scripted(asked), {"cert": 1}, opening=unseal(store, RUN, HASHES))
    cell = await two_tasks(opened, ledger, "cert")
    assert found == [HASHES, HASHES]
    (seal,) = store.seals(RUN)
    for digest in digests(cell):
        stored = store.get(digest)
        assert stored is not None
        assert datetime.fromisoformat(seal.opened_at) <= datetime.fromisoformat(stored.created_at)


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_seal_is_not_reopened_without_a_reason(store: Store, reason: str) -> None:
    unseal(store, RUN, HASHES)
    with pytest.raises(UserError, match="--reopen REASON"):
        unseal(store, RUN, {**HASHES, "final": "dd"}, reason)
    assert len(store.seals(RUN)) == 1


def test_every_opening_is_on_record_with_time_hashes_and_reason(store: Store) -> None:
    unseal(store, RUN, HASHES)
    changed = {**HASHES, "final": "dd"}
    assert unseal(store, RUN, changed, "a bug in the scorer").reason == "a bug in the scorer"
    unseal(store, RUN, changed, "once more")
    unseal(store, "another", HASHES)
    first, second, third = store.seals(RUN)
    assert [seal.hashes for seal in (first, second, third)] == [HASHES, changed, changed]
    assert [seal.reason for seal in (first, second, third)] == ["", "a bug in the scorer", "once more"]
    assert first.opened_at <= second.opened_at <= third.opened_at
    assert all(datetime.fromisoformat(seal.opened_at).tzinfo for seal in (first, second, third))
    assert store.info().seals == 4


def test_an_interrupted_certification_goes_on_only_with_what_was_fixed(store: Store) -> None:
    unseal(store, RUN, HASHES)
    unseal(store, RUN, HASHES)
    assert len(store.seals(RUN)) == 1
    unseal(store, RUN, {**HASHES, "final": "dd"}, "changed")
    with pytest.raises(UserError, match="--reopen REASON"):
        unseal(store, RUN, HASHES)
