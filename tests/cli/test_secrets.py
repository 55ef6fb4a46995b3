"""A key is in no byte that a command writes, whatever the provider does with it."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from chase.core.values import Json
from chase.models.config import ModelConfig
from chase.models.local import make_local
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.capable import capable_model
from chase.testing.openai_server import Completion, Fault, FaultHook
from chase.testing.served import served
from tests.cli.commands import Commands, Finished, serving, write_h0

pytestmark = pytest.mark.slow

CANARY = "sk-canary-4be1d07c9a35f286-never-write-me"
PART = CANARY[:20]
"""Half a key is found too: what is cut must be redacted first."""
ENDPOINT = "openai-compatible:reader"
ECHO = json.dumps({"error": {"message": f"key {CANARY} {'x' * 270} Authorization: Bearer {CANARY}", "code": CANARY}})


@pytest.fixture
def chase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Finished]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CANARY_KEY", CANARY)
    write_h0(tmp_path / "h0")
    run = Commands(monkeypatch, capsys)

    def command(*arguments: object, url: str) -> Finished:
        (tmp_path / "chase.toml").write_text(
            f'[models."{ENDPOINT}"]\nbase_url = "{url}"\napi_key_env = "CANARY_KEY"\nretries = 1\ntimeout_seconds = 5\n'
        )
        flags = ("--benchmark", "syn-ledger@7", "--model", ENDPOINT, "--config", "chase.toml", "--workspace", tmp_path)
        finished = run(*arguments[:1], *flags, *arguments[1:])
        assert PART not in finished.out + finished.err
        return finished

    return command


ROLLOUT = ("rollout", "--harness", "h0", "--split", "conf1", "--rollouts", 1, "--concurrency", 2)


def echoing(status: int, *, when: Callable[[int], bool]) -> FaultHook:
    """Answers with the key in the body, for requests by the number in which they come."""
    numbers = iter(range(10**9))
    lock = threading.Lock()

    def fault(request: dict[str, Json], attempt: int) -> Fault | None:
        with lock:
            number = next(numbers)
        headers = {"X-Debug": CANARY}
        return Fault(status=status, body=ECHO, headers=headers) if when(number) else None

    return fault


def written(folder: Path) -> int:
    """Looks through every file, and every trace as it was before compression; how many there were."""
    looked = 0
    for path in folder.rglob("*"):
        if path.is_file():
            looked += 1
            assert PART.encode() not in path.read_bytes(), path
    with Store.open(Workspace(folder), write=False) as store:
        for run in store.runs():
            assert PART not in f"{run}"
            for used in store.used(run.id):
                looked += 1
                trace = json.dumps(store.trace(used.rollout.trace_digest))
                assert PART not in f"{used} {trace}"
        found, total = store.rollouts(limit=10_000)
        assert len(found) == total
        assert PART not in f"{found}"
    return looked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "when", "more", "code"),
    [
        (500, lambda number: number % 7 == 3, (), 0),
        (429, lambda number: number % 7 == 3, (), 0),
        (200, lambda number: number % 7 == 3, (), 0),
        (503, lambda number: 20 <= number < 24, ("--patience", 60), 0),
        (503, lambda number: number >= 20, ("--patience", 0), 7),
        (500, lambda number: number >= 20, ("--patience", 0.2), 7),
        (400, lambda number: number >= 20, (), 7),
        (401, lambda number: number >= 20, (), 3),
        (403, lambda number: True, (), 3),
        (404, lambda number: True, (), 2),
    ],
)
def test_no_key_is_written_by_a_rollout(
    chase: Callable[..., Finished],
    tmp_path: Path,
    status: int,
    when: Callable[[int], bool],
    more: tuple[object, ...],
    code: int,
) -> None:
    with serving(served(make_local(ModelConfig(name="sim:reader"))), echoing(status, when=when)) as server:
        finished = chase(*ROLLOUT, *more, url=server.url)
        assert finished.code == code, finished.err
        assert server.requests[0].headers["Authorization"] == f"Bearer {CANARY}"
    said_outage = "the endpoint does not answer" in finished.err
    assert said_outage == (status >= 500 and bool(more) and more[1] != 0)
    if said_outage:
        assert finished.err.count("the endpoint does not answer") == 1
        assert finished.err.count("the endpoint is back after") == (code == 0)
    assert written(tmp_path) > (16 if code == 0 else 2)


ECHOES = {
    "as it is": CANARY,
    "in upper case": CANARY.upper(),
    "for an address": "".join(f"%{ord(letter):02X}" for letter in CANARY),
    "escaped": "".join(f"\\u{ord(letter):04x}" for letter in CANARY),
    "in base64": b64encode(CANARY.encode()).decode(),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_key_is_written_that_an_answer_echoes(chase: Callable[..., Finished], tmp_path: Path, echo: str) -> None:
    """In the names that an endpoint gives, in what the model says, and in the error that pauses the run."""
    reader = served(make_local(ModelConfig(name="sim:reader")))
    body = json.dumps({"error": {"message": f"key {echo}"}})

    async def script(request: dict[str, Json], attempt: int) -> Completion:
        answer = reader(request, attempt)
        found = answer if isinstance(answer, dict) else await answer
        message = {**found["choices"][0]["message"], "reasoning_content": f"I was sent {echo}"}
        return {**found, "model": f"reader {echo}", "id": echo, "choices": [{"message": message}]}

    numbers = iter(range(10**9))
    fault = Fault(status=400, body=body)
    with serving(script, lambda request, attempt: fault if next(numbers) >= 40 else None) as server:
        finished = chase(*ROLLOUT[:-1], 1, url=server.url)
    assert finished.code == 7
    assert "key ***" in finished.err
    assert echo not in finished.out + finished.err
    with Store.open(Workspace(tmp_path), write=False) as store:
        found, _ = store.rollouts()
        [scored, *_] = [rollout for rollout in found if rollout.outcome.status == "scored"]
        assert scored.served_models == ("reader ***",)
        everything = f"{found}{[store.trace(rollout.trace_digest) for rollout in found]}"
        assert "I was sent ***" in everything
        assert echo not in everything
        assert echo not in everything.replace("\\\\", "\\")


def test_a_key_that_was_written_would_be_found(chase: Callable[..., Finished], tmp_path: Path) -> None:
    """The search has power, and what a failed rollout quotes of the provider is blanked, not left out."""
    fault = echoing(503, when=lambda number: number >= 4)
    with serving(served(make_local(ModelConfig(name="sim:reader"))), fault) as server:
        assert chase(*ROLLOUT, "--patience", 0, url=server.url).code == 7
    with Store.open(Workspace(tmp_path), write=True) as store:
        [failed, *_] = [r for r in store.rollouts()[0] if r.outcome.status == "failed"]
        assert "key ***" in failed.outcome.reason
        written(tmp_path)
        store.create_run("planted", {"key": CANARY})
    with pytest.raises(AssertionError):
        written(tmp_path)


@pytest.mark.slow
def test_no_key_is_written_by_an_evolution_and_its_agents(chase: Callable[..., Finished], tmp_path: Path) -> None:
    sizes = ("--split-sizes", "evo=2,disc=2,conf=2,cert=2", "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--rounds", 1)
    fault = echoing(500, when=lambda number: number % 11 == 5 or 20 <= number < 22)
    agents = ("--proposer", "llm", "--challenger", "llm")
    with serving(served(capable_model()), fault) as server:
        finished = chase("evolve", *sizes, *agents, "--patience", 60, "--concurrency", 1, url=server.url)
    assert finished.code == 0, finished.err
    assert len(list(tmp_path.rglob("transcript.jsonl"))) >= 1
    assert finished.err.count("the endpoint does not answer") == finished.err.count("the endpoint is back") == 1
    assert len(server.requests) > 30
    assert written(tmp_path) > 20
