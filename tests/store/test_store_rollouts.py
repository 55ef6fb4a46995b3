"""What is recorded is found again, once, and only under its own key."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from store_samples import failed_rollout, sample_key, sample_ledger, sample_rollout, sample_trace

from chase.core.errors import ChaseError, IntegrityError, UserError
from chase.core.keyed import digest
from chase.core.values import RolloutKey
from chase.store.digests import rollout_digest, row_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace


async def test_a_recorded_rollout_comes_back_as_it_was(workspace: Workspace) -> None:
    rollout = sample_rollout(cost_usd=0.125)
    with Store.open(workspace, write=True) as store:
        await store.record(rollout)
    with Store.open(workspace, write=False) as store:
        found = store.get(rollout_digest(rollout.key))
        assert found is not None
        assert (found.key, found.outcome, found.answer) == (rollout.key, rollout.outcome, rollout.answer)
        assert (found.usage, found.served_models) == (rollout.usage, rollout.served_models)
        assert found.trace_digest == digest(rollout.trace)
        assert store.trace(found.trace_digest) == rollout.trace


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(RolloutKey)])
def test_the_digest_covers_every_field_of_the_key(field: str) -> None:
    key = sample_key()
    other: dict[str, Any] = {field: 7 if field in {"index", "run_seed"} else "other"}
    assert rollout_digest(dataclasses.replace(key, **other)) != rollout_digest(key)
    assert rollout_digest(key) == digest(dataclasses.asdict(key))


def test_a_rollout_of_one_role_is_not_found_under_another(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.record_sync(sample_rollout(key=sample_key(role="evo")))
        assert store.get(rollout_digest(sample_key(role="evo"))) is not None
        assert store.get(rollout_digest(sample_key(role="cert"))) is None


def test_a_scored_rollout_is_never_replaced_so_that_nothing_is_paid_twice(workspace: Workspace) -> None:
    first = sample_rollout(score=0.25, answer="first")
    with Store.open(workspace, write=True) as store:
        store.record_sync(first)
        store.record_sync(sample_rollout(score=1.0, answer="second"))
        store.record_sync(failed_rollout())
        found = store.get(rollout_digest(first.key))
        assert found is not None
        assert (found.answer, found.outcome.score) == ("first", 0.25)
        assert store.info().rollouts == {"scored": 1, "failed": 0, "skipped": 0}


def test_a_failed_rollout_is_on_record_but_not_reused_and_gives_way_to_a_scored_one(workspace: Workspace) -> None:
    key_digest = rollout_digest(sample_key("task-0"))
    with Store.open(workspace, write=True) as store:
        store.record_sync(failed_rollout())
        assert store.get(key_digest) is None
        assert store.find_rollout(key_digest).outcome.reason == "provider-error"
        assert store.find_rollout(key_digest).outcome.score is None
        store.record_sync(sample_rollout(score=0.0))
        found = store.get(key_digest)
        assert found is not None
        assert found.outcome.score == 0.0
        assert store.info().rollouts == {"scored": 1, "failed": 0, "skipped": 0}


def test_many_rollouts_are_found_in_one_call(workspace: Workspace) -> None:
    rollouts = [sample_rollout(number) for number in range(1203)]

    async def record_all(store: Store) -> None:
        await asyncio.gather(*(store.record(rollout) for rollout in rollouts))

    with Store.open(workspace, write=True) as store:
        asyncio.run(record_all(store))
        digests = [rollout_digest(rollout.key) for rollout in rollouts]
        found = store.get_many([*digests, "0" * 64])
        assert sorted(found) == sorted(digests)
        assert all(found[rollout_digest(rollout.key)].key == rollout.key for rollout in rollouts)


def test_equal_traces_are_stored_once(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        for number in range(5):
            store.record_sync(sample_rollout(number, trace=sample_trace(0)))
        assert store.info().traces == 1


def test_a_unique_prefix_names_a_rollout_and_others_are_refused(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        for number in range(40):
            store.record_sync(sample_rollout(number))
        full = rollout_digest(sample_key("task-7"))
        assert store.find_rollout(full[:12]).digest == full
        assert store.find_rollout(full).digest == full
        firsts = [rollout_digest(sample_key(f"task-{number}"))[0] for number in range(40)]
        shared = max(firsts, key=firsts.count)
        with pytest.raises(UserError, match="more than one rollout"):
            store.find_rollout(shared)
        for unknown in ("", "zz", "0" * 64):
            with pytest.raises(UserError, match="no rollout begins with"):
                store.find_rollout(unknown)


async def test_a_rollout_that_cannot_be_stored_fails_alone(workspace: Workspace) -> None:
    bad_trace = sample_rollout(0, trace={"nan": float("nan")})
    bad_score = sample_rollout(1, score=1.5)
    no_score = sample_rollout(2, score=None)
    huge_seed = sample_rollout(3, key=sample_key("task-3", run_seed=2**70))
    good = sample_rollout(4)
    with Store.open(workspace, write=True) as store:
        results = await asyncio.gather(
            *(store.record(rollout) for rollout in (bad_trace, bad_score, good, no_score, huge_seed)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [ChaseError, ChaseError, type(None), ChaseError, UserError]
        assert "task-1" in str(results[1])
        assert "score in [0, 1]" in str(results[1])
        assert store.get(rollout_digest(good.key)) is not None
        assert store.info().rollouts["scored"] == 1


async def test_a_row_that_sqlite_refuses_does_not_take_its_group_along(workspace: Workspace) -> None:
    bad = dataclasses.replace(sample_rollout(0), answer=object())  # type: ignore[arg-type]
    worse = dataclasses.replace(sample_rollout(1), usage=dataclasses.replace(bad.usage, requests=2**80))
    rollouts = [bad, *(sample_rollout(number) for number in range(2, 20)), worse]
    with Store.open(workspace, write=True) as store:
        results = await asyncio.gather(*(store.record(rollout) for rollout in rollouts), return_exceptions=True)
        assert isinstance(results[0], Exception)
        assert isinstance(results[-1], ChaseError)
        assert results[1:-1] == [None] * 18
        assert store.info().rollouts["scored"] == 18
        assert store.verify() == []


def test_text_that_utf8_cannot_carry_is_stored_and_verified(workspace: Workspace) -> None:
    trace = {"output": "half a pair: \ud83d", "nul": "a\x00b", "other": "é ☃ 😀"}
    rollout = sample_rollout(answer="x\udc80y\x00z", trace=trace)
    with Store.open(workspace, write=True) as store:
        store.record_sync(rollout)
        found = store.get(rollout_digest(rollout.key))
        assert found is not None
        assert found.answer == "x\\udc80y\x00z"
        assert store.trace(found.trace_digest) == trace
        assert store.verify() == []


async def test_cancelling_the_wait_neither_loses_the_rollout_nor_harms_the_next(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        waiting = asyncio.create_task(store.record(sample_rollout(0)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await store.record(sample_rollout(1))
        assert store.info().rollouts["scored"] == 2


def test_closing_commits_what_a_loop_wrote_in_its_last_turn(workspace: Workspace) -> None:
    loop = asyncio.new_event_loop()
    with Store.open(workspace, write=True) as store:
        waiting = loop.create_task(store.record(sample_rollout()))
        loop.call_soon(loop.stop)
        loop.run_forever()
        assert not waiting.done()
    loop.run_until_complete(waiting)
    loop.close()
    with Store.open(workspace, write=False) as reader:
        assert reader.info().rollouts["scored"] == 1


async def test_closing_commits_what_was_handed_in(workspace: Workspace) -> None:
    store = Store.open(workspace, write=True)
    waiting = [asyncio.create_task(store.record(sample_rollout(number))) for number in range(100)]
    await asyncio.sleep(0)
    store.close()
    await asyncio.gather(*waiting)
    with pytest.raises(ChaseError, match="closed"):
        await store.record(sample_rollout(100))
    store.close()
    with Store.open(workspace, write=False) as reader:
        assert reader.info().rollouts["scored"] == 100


def test_a_store_opened_for_reading_refuses_to_write(workspace: Workspace) -> None:
    Store.open(workspace, write=True).close()
    with Store.open(workspace, write=False) as store, pytest.raises(ChaseError, match="reading only"):
        store.record_sync(sample_rollout())


def test_a_changed_score_is_refused_when_it_is_read(workspace: Workspace) -> None:
    rollout = sample_rollout(score=0.0)
    with Store.open(workspace, write=True) as store:
        store.record_sync(rollout)
        with store._writing.exclusive() as connection:
            connection.execute("UPDATE rollouts SET score = 1.0")
        with pytest.raises(IntegrityError, match="store verify"):
            store.get(rollout_digest(rollout.key))


def test_a_row_digest_tells_nothing_from_its_text_and_cells_from_each_other() -> None:
    rows = [("None",), (None,), ("null",), ("a", "b"), ("ab",), ("a,b",), (0.5, 1), (1, 0.5), (b"a",), ("a",)]
    assert len({row_digest(row) for row in rows}) == len(rows)


async def test_a_rollout_and_its_requests_are_stored_together_or_not_at_all(workspace: Workspace) -> None:
    rollout = sample_rollout()
    rows = sample_ledger(rollout, 0.5)
    broken = [*rows, dataclasses.replace(rows[0], input_tokens=2**80)]
    with Store.open(workspace, write=True) as store:
        with pytest.raises(ChaseError):
            await store.record(rollout, broken, use=Use(run="run-1", method="chase"))
        assert store.info().rollouts["scored"] == 0
        assert store.spend() == []
        assert store.episodes() == []
