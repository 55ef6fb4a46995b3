"""`verify` finds what was changed, names it, and passes what was not."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import pytest
from store_samples import failed_rollout, fill, sample_key, sample_ledger, sample_rollout, sample_trace

from chase.core.errors import ChaseError, IntegrityError
from chase.store.digests import rollout_digest
from chase.store.records import Problem, Use
from chase.store.store import Store
from chase.store.workspace import Workspace

SCORE = 0.6180339887
ANSWER = "an answer that stands nowhere else"
MARKED = rollout_digest(sample_key("task-3"))


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """One of everything, checkpointed into one file."""
    marked = sample_rollout(3, score=SCORE, answer=ANSWER)
    return fill(workspace, [marked if number == 3 else sample_rollout(number, answer="1") for number in range(6)], 0.5)


def flip(workspace: Workspace, position: int, mask: int = 0x01) -> None:
    with workspace.database.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ mask]))


def problems_of(workspace: Workspace) -> list[Problem]:
    with Store.open(workspace, write=False) as store:
        return store.verify()


def change(workspace: Workspace, sql: str) -> None:
    connection = sqlite3.connect(workspace.database)
    connection.execute(sql)
    connection.commit()
    connection.close()


def select(workspace: Workspace, sql: str) -> tuple[bytes | str, ...]:
    connection = sqlite3.connect(workspace.database)
    row: tuple[bytes | str, ...] = connection.execute(sql).fetchone()
    connection.close()
    return row


def test_an_untouched_store_is_intact_and_progress_is_told(filled: Workspace) -> None:
    heard: dict[str, tuple[int, int]] = {}
    with Store.open(filled, write=False) as store:
        assert store.verify(lambda what, done, total: heard.update({what: (done, total)})) == []
    assert heard["rollouts"] == (7, 7)
    assert heard["traces"] == (7, 7)
    assert heard["ledger"] == (6, 6)


def test_every_flipped_byte_of_a_trace_is_found_and_named(filled: Workspace) -> None:
    trace, content = select(filled, f"SELECT t.digest, t.content FROM traces t JOIN rollouts r ON r.trace = t.digest "
                                    f"WHERE r.digest = '{MARKED}'")  # fmt: skip
    assert isinstance(content, bytes)
    start = filled.database.read_bytes().find(content)
    assert start > 0
    for offset in [*range(16), *range(16, len(content), 97), len(content) - 1]:
        for mask in (0x01, 0x10, 0x80):
            flip(filled, start + offset, mask)
            assert ("trace", trace) in {(problem.kind, problem.id) for problem in problems_of(filled)}
            flip(filled, start + offset, mask)
    assert problems_of(filled) == []


def test_every_flipped_byte_of_a_rollouts_row_is_found(filled: Workspace) -> None:
    (guard,) = select(filled, f"SELECT row_digest FROM rollouts WHERE digest = '{MARKED}'")
    assert isinstance(guard, bytes)
    content = filled.database.read_bytes()
    end = content.find(guard) + len(guard)
    start = content.rfind(MARKED.encode(), 0, end)
    assert 0 < end - start < 1500
    for position in range(start, end):
        flip(filled, position)
        assert problems_of(filled), f"byte {position - start} of {end - start}"
        flip(filled, position)
    assert problems_of(filled) == []


@pytest.mark.parametrize("target", [struct.pack(">d", SCORE), ANSWER.encode()], ids=["score", "answer"])
def test_a_flipped_byte_in_score_or_answer_names_the_rollout(filled: Workspace, target: bytes) -> None:
    flip(filled, filled.database.read_bytes().find(target) + 3, 0x80)
    assert ("rollout", MARKED) in {(problem.kind, problem.id) for problem in problems_of(filled)}


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("UPDATE rollouts SET score = 1.0 WHERE answer LIKE 'an answer%'", "rollout"),
        ("UPDATE rollouts SET answer = 'other' WHERE answer LIKE 'an answer%'", "rollout"),
        ("UPDATE rollouts SET cost_usd = 0.0 WHERE cost_usd IS NULL", "rollout"),
        ("UPDATE rollouts SET role = 'cert'", "rollout"),
        ("UPDATE rollouts SET trace = (SELECT MIN(digest) FROM traces)", "rollout"),
        ("UPDATE ledger SET cost_usd = 0.25 WHERE id = 2", "ledger"),
        ("UPDATE run_rollouts SET reused = 1", "run_rollout"),
        ("UPDATE runs SET config = '{}'", "run"),
        ("UPDATE seals SET reason = 'none'", "seal"),
        ("UPDATE meta SET value = 'x'", "meta"),
        ("DELETE FROM traces WHERE digest = (SELECT MIN(digest) FROM traces)", "rollout"),
        ("DELETE FROM rollouts WHERE answer LIKE 'an answer%'", "rollout"),
        ("DELETE FROM ledger WHERE id = 2", "ledger"),
        ("DELETE FROM ledger WHERE id = (SELECT MAX(id) FROM ledger)", "ledger"),
        ("DELETE FROM ledger", "ledger"),
        ("DELETE FROM seals", "seal"),
        ("DELETE FROM runs", "run"),
        ("DELETE FROM run_rollouts WHERE rollout = (SELECT MAX(rollout) FROM run_rollouts)", "run_rollout"),
    ],
)
def test_a_change_made_behind_the_stores_back_is_found(filled: Workspace, sql: str, kind: str) -> None:
    change(filled, sql)
    assert kind in {problem.kind for problem in problems_of(filled)}


def test_deleted_rows_stay_missing_when_others_follow(filled: Workspace) -> None:
    change(filled, "DELETE FROM ledger WHERE id = (SELECT MAX(id) FROM ledger)")
    later = sample_rollout(7)
    with Store.open(filled, write=True) as store:
        store.record_sync(later, sample_ledger(later, 0.5, 0.5))
        store.record_reuse_sync(Use(run="run-1", method="chase"), [rollout_digest(later.key)] * 2)
        store.record_reuse_sync(Use(run="run-1", method="chase"), [rollout_digest(later.key)])
    assert problems_of(filled) == [Problem(kind="ledger", id="rows", detail="8 were recorded, 7 are there")]


def test_a_store_from_before_rows_were_counted_is_counted_from_now_on(filled: Workspace) -> None:
    change(filled, "DELETE FROM meta WHERE key LIKE 'rows of %'")
    assert problems_of(filled) == []
    with Store.open(filled, write=True) as store:
        store.record_seal("run-1", {}, "again")
    assert problems_of(filled) == []
    change(filled, "DELETE FROM seals WHERE id = 1")
    assert problems_of(filled) == [Problem(kind="seal", id="rows", detail="2 were recorded, 1 are there")]


def test_a_write_that_is_refused_is_not_counted(filled: Workspace) -> None:
    """The transaction fails after its requests were added: in the row that says who used the rollout."""
    rollout = sample_rollout(8)
    nobody = Use(run=2**70, method="chase")  # type: ignore[arg-type]
    with Store.open(filled, write=True) as store:
        with pytest.raises(ChaseError):
            store.record_sync(rollout, sample_ledger(rollout, 0.5), use=nobody)
        store.record_sync(rollout, sample_ledger(rollout, 0.5))
    assert problems_of(filled) == []


def test_a_missing_trace_is_named_with_what_to_do(filled: Workspace) -> None:
    with Store.open(filled, write=False) as store:
        trace = store.find_rollout(MARKED).trace_digest
    change(filled, f"DELETE FROM traces WHERE digest = '{trace}'")
    with (
        Store.open(filled, write=False) as store,
        pytest.raises(IntegrityError, match=r"is missing in .*`chase store verify`.*restore .chase/ from a copy"),
    ):
        store.trace(trace)


def test_a_rollout_given_another_key_with_a_fitting_row_digest_is_found(filled: Workspace) -> None:
    from chase.store.digests import row_digest
    from chase.store.rows import columns

    *cells, _ = select(filled, f"SELECT {columns('rollouts')}, row_digest FROM rollouts WHERE digest = '{MARKED}'")
    cells[7] = "cert"
    connection = sqlite3.connect(filled.database)
    connection.execute(
        "UPDATE rollouts SET role = 'cert', row_digest = ? WHERE digest = ?", (row_digest(cells), MARKED)
    )
    connection.commit()
    connection.close()
    assert problems_of(filled) == [
        Problem(kind="rollout", id=MARKED, detail="its digest is not that of its key"),
    ]


def test_a_page_of_rubbish_is_reported_and_does_not_end_the_check(filled: Workspace) -> None:
    size = filled.database.stat().st_size
    for page in range(1, size // 4096):
        original = filled.database.read_bytes()
        damaged = original[: page * 4096] + b"\xa5" * 4096 + original[(page + 1) * 4096 :]
        filled.database.write_bytes(damaged)
        assert problems_of(filled), f"page {page + 1}"
        filled.database.write_bytes(original)


def test_gc_drops_the_traces_of_failures_that_were_replaced_and_frees_their_space(workspace: Workspace) -> None:
    kept = []
    with Store.open(workspace, write=True) as store:
        for number in range(200):
            store.record_sync(
                sample_rollout(number, status="failed", reason="provider-error", trace=sample_trace(-number - 1))
            )
        store.record_sync(failed_rollout(500))
        for number in range(200):
            rollout = sample_rollout(number, trace={"short": True})
            store.record_sync(rollout)
            kept.append(rollout_digest(rollout.key))
        collected = store.gc()
        assert collected.traces == 200
        assert collected.freed_bytes > 100_000
        assert set(store.get_many(kept)) == set(kept)
        assert store.find_rollout(rollout_digest(sample_key("task-500"))).outcome.status == "failed"
        assert store.verify() == []
        store.record_sync(sample_rollout(999))
        assert store.gc().traces == 0
    assert not list(Path(workspace.state).glob("*-wal"))
