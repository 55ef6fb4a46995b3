"""`chase doctor`: every check by name, what is missing with code 3, and never a key."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chase.core.values import Json
from chase.models.config import ModelConfig
from chase.runs import doctor
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.openai_server import Completion, Fault, schema_reply, text_reply, token_usage, tool_reply
from chase.testing.scripted import Script, call, scripted
from tests.cli.commands import Commands, checked, closed_port, serving

MACHINE = ["python", "sandbox", "disk", "store"]
MODEL = ["key", "answer", "tool-calls", "json-schema", "cached-usage", "price", "served-model"]
ENDPOINT = "openai-compatible:tiny"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def statuses(payload: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["status"] for check in payload["checks"]}


def details(payload: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["detail"] for check in payload["checks"]}


def failing(chase: Commands, *arguments: object) -> tuple[dict[str, Any], str]:
    """The payload of a doctor that finds something missing, and the sentence on stderr."""
    finished = chase("doctor", *arguments, "--json")
    assert finished.code == 3, finished.err
    payload = checked(finished.out)
    assert payload["passed"] is False
    return payload, finished.sentence


def good(request: dict[str, Json], attempt: int) -> Completion:
    """An endpoint that does all that is asked of it."""
    if "response_format" in request:
        return schema_reply("search", {"query": "Harbor"}, model="tiny-2")
    return tool_reply(("search", {"query": "Harbor"}), usage=token_usage(120, 9, cached=64), model="tiny-2")


# The machine


def test_without_a_model_it_checks_the_machine(chase: Commands, tmp_path: Path) -> None:
    payload = chase.json("doctor")
    assert statuses(payload) == {"python": "ok", "sandbox": "ok", "disk": "ok", "store": "skipped"}
    assert payload["passed"] is True
    assert payload["model"] is None
    assert not (tmp_path / ".chase").exists()
    text = chase("doctor").out.splitlines()
    assert [line.split()[1] for line in text] == MACHINE


def test_a_store_is_opened_and_its_newest_trace_read(chase: Commands, tmp_path: Path) -> None:
    from tests.cli.test_trace import record, rolled

    record(tmp_path, rolled(["1"]))
    detail = details(chase.json("doctor"))["store"]
    assert "schema version 3, 1 rollouts, the newest intact; nobody is writing" in detail
    with Store.open(Workspace(tmp_path), write=True):
        assert "process " in details(chase.json("doctor"))["store"]
    with sqlite3.connect(Workspace(tmp_path).database) as connection:
        connection.execute("UPDATE traces SET content = zeroblob(length(content))")
    connection.close()
    payload, sentence = failing(chase)
    assert statuses(payload)["store"] == "failed"
    assert sentence.startswith("chase: 1 of 4 checks failed: store.")


def test_a_store_from_a_newer_version_is_found(chase: Commands, tmp_path: Path) -> None:
    Store.open(Workspace(tmp_path), write=True).close()
    with sqlite3.connect(Workspace(tmp_path).database) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    payload, _ = failing(chase)
    assert "schema version 99" in details(payload)["store"]


def test_a_full_disk_is_found(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5 << 20))
    payload, _ = failing(chase)
    assert statuses(payload)["disk"] == "failed"
    assert "free at least 100 MiB or name another --workspace" in details(payload)["disk"]


def test_an_old_python_is_found(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 0, "final", 0))
    monkeypatch.setattr("platform.python_version", lambda: "3.9.0")
    assert doctor._python().status == "failed"
    assert doctor._python().detail == "this is Python 3.9.0; use 3.11 or newer."


def test_a_sandbox_that_does_not_start_is_found(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing:
        def __init__(self, *arguments: object, **options: object) -> None: ...

        async def __aenter__(self) -> None:
            raise FileNotFoundError("no worker binary")

    monkeypatch.setattr("chase.engine.sandbox.AsyncMonty", Missing)
    payload, _ = failing(chase)
    assert statuses(payload)["sandbox"] == "failed"
    assert "pip install pydantic-monty" in details(payload)["sandbox"]


def test_a_hook_that_does_not_do_its_work_is_found(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_HOOK", "def should_stop(state):\n    raise ValueError\n")
    payload, _ = failing(chase)
    assert "a hook gave no answer (error: ValueError)" in details(payload)["sandbox"]


# A model


def test_the_simulated_reader_passes(chase: Commands) -> None:
    payload = chase.json("doctor", "--model", "sim:reader")
    assert [check["name"] for check in payload["checks"]] == MACHINE + MODEL
    found = statuses(payload)
    assert (found["answer"], found["tool-calls"], found["price"], found["served-model"]) == ("ok",) * 4
    assert (found["key"], found["json-schema"]) == ("skipped", "skipped")


def test_a_good_endpoint_passes_with_two_requests(chase: Commands) -> None:
    with serving(good) as server:
        payload = chase.json("doctor", "--model", ENDPOINT, "--base-url", server.url)
        assert len(server.requests) == 2
    found, said = statuses(payload), details(payload)
    assert {found[name] for name in MODEL if name != "price"} == {"ok"}
    assert said["cached-usage"] == "64 of 120 input tokens were cached."
    assert found["price"] == "skipped"
    assert said["price"].startswith("unknown")
    assert said["served-model"] == f"'tiny-2' answered for '{ENDPOINT}'."
    assert "none is configured" in said["key"]


def test_a_price_in_the_config_is_used(chase: Commands, tmp_path: Path) -> None:
    with serving(good) as server:
        (tmp_path / "chase.toml").write_text(
            f'model = "{ENDPOINT}"\n[models."{ENDPOINT}"]\nbase_url = "{server.url}"\n'
            "price = {input = 1.0, output = 10.0, cached = 0.5}\n"
        )
        payload = chase.json("doctor", "--config", "chase.toml")
    assert payload["model"] == ENDPOINT
    assert details(payload)["price"] == "known: this request cost $0.000178."


def test_a_model_that_calls_no_tool_is_found_and_told_of_the_schema_mode(chase: Commands) -> None:
    def script(request: dict[str, Json], attempt: int) -> Completion:
        return good(request, attempt) if "response_format" in request else text_reply("I would search.")

    with serving(script) as server:
        payload, sentence = failing(chase, "--model", ENDPOINT, "--base-url", server.url)
    assert statuses(payload)["tool-calls"] == "failed"
    assert "tool_mode = 'json-schema'" in details(payload)["tool-calls"]
    assert statuses(payload)["json-schema"] == "ok"
    assert "1 of 11 checks failed: tool-calls." in sentence


def test_in_schema_mode_the_one_request_decides(chase: Commands, tmp_path: Path) -> None:
    with serving(good) as server:
        (tmp_path / "chase.toml").write_text(
            f'[models."{ENDPOINT}"]\nbase_url = "{server.url}"\ntool_mode = "json-schema"\n'
        )
        payload = chase.json("doctor", "--model", ENDPOINT, "--config", "chase.toml")
        assert len(server.requests) == 1
    assert (statuses(payload)["tool-calls"], statuses(payload)["json-schema"]) == ("ok", "ok")


def test_an_endpoint_without_the_schema_mode_still_passes(chase: Commands) -> None:
    def fault(request: dict[str, Json], attempt: int) -> Fault | None:
        return (
            Fault(status=400, body='{"error":{"message":"no response_format"}}')
            if "response_format" in request
            else None
        )

    with serving(good, fault) as server:
        payload = chase.json("doctor", "--model", ENDPOINT, "--base-url", server.url)
    assert statuses(payload)["json-schema"] == "failed"
    assert "no response_format" in details(payload)["json-schema"]
    assert payload["passed"] is True


def test_an_endpoint_that_reports_no_usage_is_told(chase: Commands) -> None:
    def script(request: dict[str, Json], attempt: int) -> Completion:
        answer = good(request, attempt)
        answer.pop("usage")
        return answer

    with serving(script) as server:
        payload = chase.json("doctor", "--model", ENDPOINT, "--base-url", server.url)
    assert statuses(payload)["cached-usage"] == "failed"
    assert statuses(payload)["price"] == "skipped"


def test_an_unreachable_endpoint_is_found_at_once(chase: Commands) -> None:
    started = time.monotonic()
    payload, _ = failing(chase, "--model", ENDPOINT, "--base-url", f"http://127.0.0.1:{closed_port()}/v1")
    assert time.monotonic() - started < 20
    found = statuses(payload)
    assert (found["key"], found["answer"]) == ("skipped", "failed")
    assert "cannot be reached" in details(payload)["answer"]
    assert {found[name] for name in MODEL[2:]} == {"skipped"}


def test_an_endpoint_that_hangs_is_given_up(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "REQUEST_SECONDS", 0.2)
    monkeypatch.setattr(doctor, "MODEL_SECONDS", 0.5)
    with serving(good, lambda request, attempt: Fault(drip_seconds=1.0)) as server:
        payload, _ = failing(chase, "--model", ENDPOINT, "--base-url", server.url)
    assert statuses(payload)["answer"] == "failed"
    assert "gave no answer" in details(payload)["answer"]


def test_a_key_is_never_printed(chase: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = "tiny-secret-0123456789"
    monkeypatch.setenv("TINY", secret)  # a name that does not look like a key's
    body = json.dumps({"error": {"message": f"bad key {secret}\x1b[31m"}})
    with serving(good, lambda request, attempt: Fault(status=401, body=body)) as server:
        (tmp_path / "chase.toml").write_text(
            f'[models."{ENDPOINT}"]\nbase_url = "{server.url}"\napi_key_env = "TINY"\n'
        )
        refused = chase("doctor", "--model", ENDPOINT, "--config", "chase.toml")
        assert server.requests[0].headers["Authorization"] == f"Bearer {secret}"
    assert refused.code == 3
    assert "failed  key" in refused.out
    assert "check the key in the environment variable TINY" in refused.out
    assert secret not in refused.out + refused.err
    assert "\x1b" not in refused.out + refused.err


def test_a_key_in_an_error_of_an_sdk_is_not_printed_either(
    chase: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = "tiny-secret-0123456789"
    monkeypatch.setenv("TINY", secret)
    model = scripted([RuntimeError(f"sent with {secret}")])
    monkeypatch.setattr(doctor, "connect", lambda config: model)
    table = f'[models."{ENDPOINT}"]\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "TINY"\n'
    (tmp_path / "chase.toml").write_text(table)
    finished = chase("doctor", "--model", ENDPOINT, "--config", "chase.toml")
    assert finished.code == 3
    assert "sent with ***" in finished.out
    assert secret not in finished.out + finished.err


def test_a_missing_key_is_found_without_any_request(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    payload, sentence = failing(chase, "--model", "openai:gpt-5")
    assert statuses(payload)["key"] == "failed"
    assert details(payload)["key"] == "model 'openai:gpt-5' needs a key: set the environment variable OPENAI_API_KEY."
    assert "failed: key." in sentence


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--model", "reader"), "write PROVIDER:MODEL"),
        (("--model", ENDPOINT), "has no base_url"),
        (("--config", "nowhere.toml"), "there is no such file"),
    ],
)
def test_wrong_usage_is_one_sentence_with_code_2(chase: Commands, arguments: tuple[str, ...], what: str) -> None:
    finished = chase("doctor", *arguments)
    assert finished.code == 2
    assert what in finished.sentence


@pytest.mark.parametrize(
    ("script", "answer", "tool_calls"),
    [
        ([""], "ok", "failed"),
        ([call("search")], "ok", "failed"),
        ([call("other", query="x")], "ok", "failed"),
        ([RuntimeError("an SDK's own trouble")], "failed", "skipped"),
    ],
)
def test_replies_that_are_not_what_was_asked_for(
    chase: Commands, monkeypatch: pytest.MonkeyPatch, script: Script, answer: str, tool_calls: str
) -> None:
    model = scripted(script)

    def connect(config: ModelConfig) -> object:
        return model

    monkeypatch.setattr(doctor, "connect", connect)
    payload, _ = failing(chase, "--model", "sim:reader")
    assert (statuses(payload)["answer"], statuses(payload)["tool-calls"]) == (answer, tool_calls)
