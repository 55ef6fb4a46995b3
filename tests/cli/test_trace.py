"""`chase trace show|list`: one rollout readably, and how to find it."""

from __future__ import annotations

import asyncio
import sqlite3
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

from chase.core.values import Rollout
from chase.engine.control import SandboxLimits
from chase.engine.evaluator import unseal
from chase.engine.runner import Pace, Runner, RunPaused
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Activation, Guidance
from chase.models.errors import ConnectionLost
from chase.store.digests import rollout_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Script, Step, call, scripted
from tests.cli.commands import Commands
from tests.conftest import open_once
from tests.engine.rollouts import make_harness, make_job, roll

RUN = "rollout-0123456789ab"
CONFIG = {"benchmark": "syn-ledger@7", "split": "evo", "variant": "released"}


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def record(workspace: Path, *rollouts: Rollout, run: str = RUN) -> None:
    with Store.open(Workspace(workspace), write=True) as store:
        if run not in [known.id for known in store.runs()]:
            store.create_run(run, CONFIG)
        for rollout in rollouts:
            store.record_sync(rollout, use=Use(run=run, method="rollout"))


def rolled(script: Script, harness: Any = None, *, task: int = 0, index: int = 0) -> Rollout:
    ledger = open_once("syn-ledger@7")
    job = make_job(ledger, harness, task=ledger.tasks("evo")[task], index=index)
    limits = SandboxLimits(call_steps=10_000)
    return asyncio.run(roll(job, scripted(script), limits=limits))


def eventful() -> Rollout:
    """A rollout in which everything happens that a trace can hold."""
    source = (
        "def plan(task):\n    return {'note': 'Plan well.'}\n"
        "def after_tool(tool, result, state):\n    return 'Seen.' if tool == 'calculator' else None\n"
        "def should_stop(state):\n    raise ValueError('hook trouble')\n"
    )
    harness = make_harness(
        source=source,
        guidance=(Guidance(name="late", when=Activation(opened_at_least=1), text="Read on."),),
        retrieval={"templates": ["{entity}"], "results": 2},
        tools={"open_first": 1},
        control={"repairs": 1},
    )
    thoughtful = ModelResponse(parts=[ThinkingPart("Let me see."), TextPart("four")])
    script: list[Step] = [
        [call("calculator", expression="2 + 2"), call("search", query="approved", limit=7)],
        thoughtful,
        "4",
    ]
    return rolled(script, harness)


def test_show_tells_the_story_of_one_rollout(chase: Commands, tmp_path: Path) -> None:
    rollout = eventful()
    record(tmp_path, rollout)
    digest = rollout_digest(rollout.key)
    shown = chase("trace", "show", digest[:8])
    assert shown.code == 0
    head, *story = shown.out.split("\n\n[")
    for line in (
        f"rollout    {digest}",
        f"task       {rollout.key.task}, index 0, role evo, run seed 0",
        f"model      sim:scripted (fingerprint {rollout.key.model[:12]})",
        f"harness    {rollout.key.harness[:12]}",
        f"run        {RUN} (syn-ledger@7, evo, released)",
        "outcome    scored, score 0, answered",
        "answer     4",
        "usage      3 requests, 20 input (0 cached) and 2 output tokens, cost $0.0000, ",
    ):
        assert line in head
    question = open_once("syn-ledger@7").task(rollout.key.task).question
    expected = [
        "0] prompt\n    Answer the question.",
        "0] hook plan returned {",
        "0] search {",
        "0] open_file {",
        "0] note to the model\n    Plan well.",
        '1] model\n    calls calculator {"expression": "2 + 2"}\n    calls search {',
        '1] calculator {"expression": "2 + 2"} (by the model)\n    4',
        '1] hook after_tool returned "Seen."',
        "1] what the model was given of calculator, as the harness changed it\n    4\n    Seen.",
        '1] search {"limit": 2, "query": "approved"} (by the model, asked for {"limit": 7, "query": "approved"})',
        "1] hook after_tool returned null",
        "1] guidance late became active",
        "1] hook should_stop failed: error: ValueError\n    line 6: hook trouble",
        "1] note to the model\n    Read on.",
        "2] model\n    (thinking) Let me see.\n    four",
        "2] the answer was sent back\n    That is not one integer.",
        "3] model\n    4",
    ]
    assert [piece for piece, start in zip(story, expected, strict=True) if not piece.startswith(start)] == []
    assert question in story[0]


def test_show_as_json_is_the_whole_record(chase: Commands, tmp_path: Path) -> None:
    rollout = eventful()
    record(tmp_path, rollout)
    payload = chase.json("trace", "show", rollout_digest(rollout.key))
    assert payload["trace"] == rollout.trace
    assert payload["digest"] == rollout_digest(rollout.key)
    assert payload["key"]["role"] == "evo"
    assert payload["outcome"] == {"status": "scored", "score": 0.0, "reason": "answered"}
    assert payload["runs"] == [{"id": RUN, **CONFIG}]
    assert payload["usage"]["requests"] == 3


HOSTILE = "\x1b[2J\x1b]0;title\x07 \x9b31m \x08\x08 back \u202egnp.exe \u200bzero \x00 \x7f \ud800 end"


def test_what_a_model_or_hook_writes_cannot_steer_the_terminal(chase: Commands, tmp_path: Path) -> None:
    source = f"def plan(task):\n    return {{'note': {HOSTILE.replace(chr(0xD800), '')!r}}}\n"
    rollout = rolled([call("search", query=HOSTILE), call(HOSTILE), HOSTILE], make_harness(source=source))
    record(tmp_path, rollout)
    for command in (("show", rollout_digest(rollout.key)), ("list",)):
        text = chase("trace", *command).out
        unruly = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")}
        assert unruly <= {"\n", "\t"}
    assert "\\x1b[2J" in chase("trace", "show", rollout_digest(rollout.key)).out
    payload = chase.json("trace", "show", rollout_digest(rollout.key))
    assert payload["trace"]["answer"] == HOSTILE.replace(chr(0xD800), "?")
    printed = chase("trace", "show", rollout_digest(rollout.key), "--json").out
    assert not [char for char in printed if not char.isprintable() and char != "\n"]


def test_a_failed_rollout_is_shown_with_its_reason(chase: Commands, tmp_path: Path) -> None:
    ledger = open_once("syn-ledger@7")
    model = scripted(lambda request: ConnectionLost("the line \x1b[31mis dead"))
    job = make_job(ledger)

    async def run() -> None:
        with Store.open(Workspace(tmp_path), write=True) as store:
            runner = Runner(
                model=model, store=store, sandbox=Sandbox(), use=Use(run=RUN, method="m"), pace=Pace(tries=1)
            )
            with pytest.raises(RunPaused):
                await runner.evaluate([job])

    asyncio.run(run())
    digest = rollout_digest(job.key(model))
    shown = chase("trace", "show", digest)
    assert shown.code == 0
    assert "outcome    failed, no score, provider-error: the line \\x1b[31mis dead" in shown.out
    assert "no trace: the rollout failed before anything was recorded" in shown.out
    assert chase.json("trace", "show", digest)["trace"] == {}
    [entry] = chase.json("trace", "list")["rollouts"]
    assert (entry["status"], entry["score"]) == ("failed", None)


def test_list_shows_digests_with_task_index_score_and_reason(chase: Commands, tmp_path: Path) -> None:
    ledger = open_once("syn-ledger@7")
    right = str(ledger.task(ledger.tasks("evo")[0]).answer)
    good, empty = rolled([right]), rolled([""], task=1, index=3)
    record(tmp_path, good)
    record(tmp_path, empty)
    text = chase("trace", "list").out.splitlines()
    assert text[0].split() == ["digest", "task", "index", "role", "harness", "variant", "score", "reason"]
    rows = {row[0]: row[1:4] + row[5:] for row in map(str.split, text[1:])}
    assert rows == {
        rollout_digest(good.key)[:12]: [good.key.task, "0", "evo", "released", "1", "answered"],
        rollout_digest(empty.key)[:12]: [empty.key.task, "3", "evo", "released", "0", "no-answer"],
    }
    payload = chase.json("trace", "list")
    assert payload["total"] == 2
    assert {entry["digest"] for entry in payload["rollouts"]} == {rollout_digest(r.key) for r in (good, empty)}


def test_list_takes_run_task_and_limit(chase: Commands, tmp_path: Path) -> None:
    first = [rolled(["1"], index=index) for index in range(3)]
    other = rolled(["1"], task=1)
    record(tmp_path, *first)
    record(tmp_path, other, run="other-run")
    everything = chase.json("trace", "list")
    assert everything["total"] == 4
    assert everything["rollouts"][0]["digest"] == rollout_digest(other.key)  # newest first
    of_run = chase.json("trace", "list", "--run", "rollout-01")
    assert (of_run["run"], of_run["total"]) == (RUN, 3)
    of_latest = chase.json("trace", "list", "--run", "latest")
    assert [entry["task"] for entry in of_latest["rollouts"]] == [other.key.task]
    of_task = chase.json("trace", "list", "--task", first[0].key.task)
    assert of_task["total"] == 3
    cut = chase.json("trace", "list", "--limit", 1)
    assert (len(cut["rollouts"]), cut["total"]) == (1, 4)
    assert "… and 3 older ones; --limit shows more" in chase("trace", "list", "--limit", 1).out
    assert chase("trace", "list", "--task", "nobody").out == "no rollouts\n"


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("show", "ffff"), 2, "no rollout begins with 'ffff'"),
        (("show", ""), 2, "no rollout begins with ''"),
        (("show", "%"), 2, "no rollout begins with '%'"),
        (("list", "--run", "nobody"), 2, "no run 'nobody'"),
        (("list", "--limit", "0"), 2, "'--limit'"),
        (("show",), 2, "Missing argument 'ID'"),
    ],
)
def test_wrong_usage_is_one_sentence(
    chase: Commands, tmp_path: Path, arguments: tuple[str, ...], code: int, what: str
) -> None:
    record(tmp_path, rolled(["1"]))
    finished = chase("trace", *arguments)
    assert finished.code == code
    assert what in finished.sentence
    assert finished.out == ""


def test_a_beginning_of_two_rollouts_asks_for_more(chase: Commands, tmp_path: Path) -> None:
    rollouts = [rolled(["1"], index=index) for index in range(20)]
    record(tmp_path, *rollouts)
    digests = [rollout_digest(rollout.key) for rollout in rollouts]
    shared = next(digest[0] for digest in digests if sum(other[0] == digest[0] for other in digests) > 1)
    finished = chase("trace", "show", shared)
    assert finished.code == 2
    assert f"'{shared}' is the beginning of more than one rollout" in finished.sentence
    assert chase("trace", "show", digests[0].upper()).code == 0


def test_without_a_store_the_sentence_says_how_to_make_one(chase: Commands) -> None:
    for command in (("list",), ("show", "ab")):
        finished = chase("trace", *command)
        assert finished.code == 3
        assert "Make rollouts there first (`chase rollout`)" in finished.sentence


def test_a_damaged_trace_is_refused(chase: Commands, tmp_path: Path) -> None:
    rollout = rolled(["1"])
    record(tmp_path, rollout)
    with sqlite3.connect(Workspace(tmp_path).database) as connection:
        connection.execute("UPDATE traces SET content = zeroblob(length(content))")
    connection.close()
    finished = chase("trace", "show", rollout_digest(rollout.key))
    assert finished.code == 6
    assert "trace" in finished.sentence


# Filters, names, and what was expected


def finished(workspace: Path, *rollouts: Rollout, status: Any = "finished") -> None:
    record(workspace, *rollouts)
    with Store.open(Workspace(workspace), write=True) as store:
        store.set_run_status(RUN, status)


def listed(chase: Commands, *more: object) -> list[dict[str, Any]]:
    return list(chase.json("trace", "list", *more)["rollouts"])


def test_rollouts_are_found_by_score_harness_variant_split_and_outcome(chase: Commands, tmp_path: Path) -> None:
    ledger = open_once("syn-ledger@7")
    right = str(ledger.subject.answer(ledger.tasks("evo")[1]))
    record(tmp_path, rolled(["4"]), rolled([right], make_harness(control={"repairs": 1}), task=1))
    whole = listed(chase)
    assert sorted(entry["score"] for entry in whole) == [0, 1]
    assert {entry["variant"] for entry in whole} == {"released"}
    by_hash = {entry["harness"]: entry["task"] for entry in whole}
    assert [entry["score"] for entry in listed(chase, "--score", "0")] == [0]
    assert [entry["score"] for entry in listed(chase, "--score", "0.5-1")] == [1]
    for harness, task in by_hash.items():
        assert [entry["task"] for entry in listed(chase, "--harness", harness)] == [task]
    for option, there, missing in (
        ("--split", "evo", "cert"), ("--variant", "released", "abc"), ("--outcome", "scored", "failed"),
        ("--outcome", "answered", "context"),
    ):  # fmt: skip
        assert len(listed(chase, option, there)) == 2
        assert listed(chase, option, missing) == []


@pytest.mark.parametrize("wrong", ["2", "1-0", "0-1-2", "high"])
def test_a_wrong_score_is_refused(chase: Commands, tmp_path: Path, wrong: str) -> None:
    record(tmp_path, rolled(["4"]))
    assert f"--score={wrong} is neither" in chase("trace", "list", "--score", wrong).sentence


def test_a_name_that_is_none_is_refused_with_those_that_are(chase: Commands, tmp_path: Path) -> None:
    record(tmp_path, rolled(["4"]))
    said = chase("trace", "list", "--run", "latest", "--variant", "b7").out
    assert said == "no rollouts\n", "it could be the beginning of a hash"
    assert "Names: released" in chase("trace", "list", "--run", "latest", "--variant", "no-such").sentence


def test_a_finished_run_says_what_was_expected_and_which_evidence_was_not_read(chase: Commands, tmp_path: Path) -> None:
    ledger = open_once("syn-ledger@7")
    task = ledger.tasks("evo")[0]
    first, second = ledger.evidence(task)
    finished(tmp_path, rolled([[call("open_file", file=first)], "4"]))
    (entry,) = listed(chase, "--run", "latest", "--expected")
    assert entry["answer"] == "4"
    assert entry["expected"] == ledger.subject.answer(task)
    assert sorted(entry["unread"].values()) == ["1 of 2 parts read", "never seen"]
    assert second in entry["unread"]
    said = chase("trace", "list", "--run", "latest", "--expected").out
    assert f"answered 4, expected {entry['expected']}; evidence not read: " in said
    assert "expected" not in listed(chase, "--run", "latest")[0]


def test_nothing_is_told_of_a_run_that_is_not_over_of_no_run_or_to_another_user(
    chase: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, rolled(["4"]))
    assert "is not finished" in chase("trace", "list", "--run", "latest", "--expected").sentence
    assert "add --run RUN" in chase("trace", "list", "--expected").sentence
    finished(tmp_path)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert "for the owner of" in chase("trace", "list", "--run", "latest", "--expected").sentence


@pytest.mark.parametrize("opened", [True, False])
def test_sealed_tasks_are_explained_only_where_the_run_opened_them(
    chase: Commands, tmp_path: Path, opened: bool
) -> None:
    ledger = open_once("syn-ledger@7")
    job = make_job(ledger, task=ledger.tasks("cert")[0])
    finished(tmp_path, asyncio.run(roll(job, scripted(["4"]))))
    if opened:
        with Store.open(Workspace(tmp_path), write=True) as store:
            unseal(store, RUN, {}, "a test")
    (entry,) = listed(chase, "--run", "latest", "--expected")
    assert (entry["expected"] is not None) == opened
    said = chase("trace", "list", "--run", "latest", "--expected").out
    assert ("not told: a sealed task" in said) != opened
