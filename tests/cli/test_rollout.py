"""`chase rollout`: what it says, that it never pays twice, and how bad input ends."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chase.core.values import Json
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.openai_server import Completion, Fault, text_reply, tool_reply
from tests.cli.commands import Commands, closed_port, serving, write_h0
from tests.conftest import open_once

B = ("--benchmark", "syn-ledger@7")
ENDPOINT = "openai-compatible:tiny"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    write_h0(tmp_path / "h0")
    return Commands(monkeypatch, capsys)


def sim(*more: object, split: str = "conf1") -> tuple[object, ...]:
    """A command that evaluates H_0 with the simulated reader, once a task."""
    return ("rollout", *B, "--model", "sim:reader", "--harness", "h0", "--split", split, "--rollouts", 1, *more)


def write_config(text: str) -> Path:
    path = Path("chase.toml")
    path.write_text(text)
    return path


def endpoint_config(url: str, **more: object) -> Path:
    """A config with an endpoint that is asked once, so that a failure is quick."""
    lines = [f"{name} = {value}" for name, value in {"retries": 0, "timeout_seconds": 5, **more}.items()]
    return write_config(f'[models."{ENDPOINT}"]\nbase_url = "{url}"\n' + "\n".join(lines) + "\n")


def remote(config: Path, *more: object) -> tuple[object, ...]:
    flags = ("--model", ENDPOINT, "--harness", "h0", "--split", "conf1", "--rollouts", 1, "--config", config)
    return ("rollout", *B, *flags, *more)


# What it says


def test_json_has_score_tasks_usage_and_names_the_simulator(chase: Commands) -> None:
    payload = chase.json(*sim("--rollouts", 2))
    ledger = open_once("syn-ledger@7")
    assert set(payload["per_task"]) == set(ledger.tasks("conf1"))
    mean = sum(payload["per_task"].values()) / len(payload["per_task"])
    assert payload["score"]["value"] == pytest.approx(mean)
    assert payload["score"]["n"] == payload["tasks"] == len(ledger.tasks("conf1"))
    assert payload["executed"] == 2 * payload["tasks"]
    assert payload["usage"] == payload["spent"]
    assert payload["usage"]["requests"] > payload["executed"]
    assert payload["usage"]["cost_usd"] == 0.0
    assert payload["served_models"] == ["sim:reader"]
    assert any(warning.startswith("simulated reader") for warning in payload["warnings"])


def test_text_says_n_standard_error_failures_usage_and_time(chase: Commands) -> None:
    finished = chase(*sim())
    assert finished.code == 0
    lines = finished.out.splitlines()
    assert lines[0].startswith("syn-ledger@7 conf1 under released, harness ")
    assert lines[1].startswith("score ")
    assert "± " in lines[1]
    assert "n = 16 tasks x 1 rollouts" in lines[1]
    assert lines[2].startswith("16 rollouts executed, 0 from the store; ")
    assert "cost $0.0000" in lines[2]
    assert lines[3] == "rollouts without an answer: none"
    assert lines[4].startswith("note: simulated reader")
    assert "16/16 rollouts" in finished.err


def test_the_same_command_twice_runs_nothing_the_second_time(chase: Commands) -> None:
    first = chase.json(*sim())
    second = chase.json(*sim())
    assert (first["executed"], first["reused"]) == (16, 0)
    assert (second["executed"], second["reused"]) == (0, 16)
    assert second["spent"]["requests"] == 0
    changing = {"executed", "reused", "spent", "wall_seconds", "parts"}
    assert {k: v for k, v in first.items() if k not in changing} == {
        k: v for k, v in second.items() if k not in changing
    }


def test_more_rollouts_or_another_variant_pay_for_the_difference_only(chase: Commands) -> None:
    chase.json(*sim())
    more = chase.json(*sim("--rollouts", 2))
    assert (more["executed"], more["reused"]) == (16, 16)
    neutral = chase.json(*sim("--variant", "neutral"))
    assert (neutral["executed"], neutral["reused"]) == (16, 0)
    assert neutral["transformation"] != more["transformation"]
    seeded = chase.json(*sim("--seed", 1))
    assert seeded["executed"] == 16


def test_another_setting_of_the_model_is_another_run(chase: Commands) -> None:
    plain = chase.json(*sim())
    config = write_config('[models."sim:reader"]\nsettings = {read_on = 1.0}\n')
    studied = chase.json(*sim("--config", config))
    assert studied["executed"] == 16
    assert studied["model_fingerprint"] != plain["model_fingerprint"]
    assert studied["run"] != plain["run"]


def test_rollouts_default_to_the_benchmarks(chase: Commands) -> None:
    command = [argument for argument in sim() if argument not in ("--rollouts", 1)]
    assert chase.json(*command)["rollouts"] == open_once("syn-ledger@7").defaults.rollouts["conf1"]


def test_an_excluded_task_is_left_out_and_named(chase: Commands) -> None:
    gone = open_once("syn-ledger@7").tasks("conf1")[3]
    payload = chase.json(*sim("--exclude-task", gone))
    assert payload["excluded"] == [gone]
    assert gone not in payload["per_task"]
    assert payload["score"]["n"] == 15
    assert payload["run"] != chase.json(*sim())["run"]


def test_flags_win_over_the_config_file(chase: Commands) -> None:
    config = write_config(
        'benchmark = "syn-ledger@7"\nmodel = "sim:reader"\nharness = "h0"\nsplit = "conf1"\nrollouts = 2\nseed = 5\n'
    )
    payload = chase.json("rollout", "--config", config, "--rollouts", 1)
    assert (payload["rollouts"], payload["seed"], payload["split"]) == (1, 5, "conf1")


def test_a_workspace_is_the_folder_that_is_named_even_below_another(chase: Commands, tmp_path: Path) -> None:
    chase.json(*sim())
    below = chase.json(*sim("--workspace", tmp_path / "below"))
    assert below["executed"] == 16
    assert (tmp_path / "below" / ".chase" / "store.sqlite").exists()


# The certification set


def test_the_certification_set_needs_a_reason_which_stays_in_the_record(chase: Commands, tmp_path: Path) -> None:
    for unseal, said in (([], "split=cert is sealed: give --unseal REASON"), (["--unseal", "  "], "needs a reason")):
        refused = chase(*sim(*unseal, split="cert"))
        assert refused.code == 2
        assert said in refused.sentence
    assert not (tmp_path / ".chase").exists()
    cert = open_once("syn-ledger@7").tasks("cert")
    most = [flag for task in cert[2:] for flag in ("--exclude-task", task)]
    payload = chase.json(*sim("--unseal", "a test of the test", *most, split="cert"))
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert [seal.reason for seal in store.seals(payload["run"])] == ["a test of the test"]


# Bad input


def bad(**changes: object) -> tuple[object, ...]:
    """The good command with some flags changed."""
    flags = {"benchmark": "syn-ledger@7", "model": "sim:reader", "harness": "h0", "split": "conf1", "rollouts": 1}
    given = {**flags, **changes}
    return ("rollout", *(part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)))


@pytest.mark.parametrize(
    ("changes", "what", "to_do"),
    [
        ({"split": "conf4"}, "unknown split 'conf4'", "Did you mean 'conf"),
        ({"variant": "nuetral"}, "unknown variant 'nuetral'", "Did you mean 'neutral'?"),
        ({"model": "sim:raeder"}, "unknown in-process model 'sim:raeder'", "Did you mean 'sim:reader'?"),
        ({"model": "opennai:gpt-5"}, "unknown provider 'opennai'", "Did you mean 'openai'?"),
        ({"model": "reader"}, "model name='reader' names no provider", "write PROVIDER:MODEL"),
        ({"model": "openai-compatible:x"}, "has no base_url", "give --base-url"),
        ({"benchmark": "syn-leger@7"}, "unknown benchmark 'syn-leger", "Did you mean 'syn-ledger'?"),
        ({"rollouts": 0}, "rollouts=0", "must be a whole number from 1 to 1000"),
        ({"seed": -1}, "seed=-1", "must be a whole number from 0"),
        ({"concurrency": 0}, "concurrency=0", "must be a whole number from 1"),
        ({"patience": -1}, "patience=-1", "must be a number of seconds, 0 or more"),
        ({"exclude_task": "nobody"}, "unknown task 'nobody'", "chase bench show"),
        ({"harness": "h7"}, "h7", "chase harness init"),
        ({"rollouts": "many"}, "'--rollouts': Input should be a valid integer", "`chase COMMAND --help` say"),
    ],
)
def test_wrong_usage_is_one_sentence_with_code_2_and_leaves_nothing_behind(
    chase: Commands, tmp_path: Path, changes: dict[str, Any], what: str, to_do: str
) -> None:
    finished = chase(*bad(**changes))
    assert finished.code == 2
    assert finished.out == ""
    assert finished.err.count("\n") == 1
    assert what in finished.sentence
    assert to_do in finished.sentence
    assert not (tmp_path / ".chase" / "store.sqlite").exists()


@pytest.mark.parametrize(
    ("text", "what", "to_do"),
    [
        ("rollout = 3\n", "unknown key in chase.toml 'rollout'", "Did you mean 'rollouts'?"),
        (
            '[models."sim:reader"]\ntimeout = 3\n',
            "unknown key in [models.sim:reader]",
            "Did you mean 'timeout_seconds'?",
        ),
        ('[models."sim:reader"]\nsettings = {reed_on = 0.5}\n', "unknown parameter of sim:reader", "'read_on'?"),
        ("models = 3\n", "models must be tables", '[models."openai:gpt-5"]'),
        ('models = {"sim:reader" = 3}\n', "[models.sim:reader] must be a table", ""),
        ("rollouts = 0\n", "rollouts=0", "from 1 to 1000"),
        ("rollouts = true\n", "rollouts=True", "from 1 to 1000"),
        ("harness = 3\n", "harness=3", "must be a text"),
        ("split = ['evo']\n", "split=['evo']", "must be a text"),
        ("rollouts = \n", "chase.toml is not valid TOML", "line 5"),
    ],
)
def test_a_bad_config_file_is_one_sentence_with_code_2(chase: Commands, text: str, what: str, to_do: str) -> None:
    base = {"benchmark": '"syn-ledger@7"', "model": '"sim:reader"', "harness": '"h0"', "split": '"conf1"'}
    kept = "".join(f"{name} = {value}\n" for name, value in base.items() if not text.startswith(name))
    finished = chase("rollout", "--config", write_config(kept + text))
    assert finished.code == 2
    assert what in finished.sentence
    assert to_do in finished.sentence


def test_a_config_file_that_is_not_there(chase: Commands) -> None:
    finished = chase(*sim("--config", "nowhere.toml"))
    assert (finished.code, finished.sentence) == (2, "chase: --config=nowhere.toml: there is no such file.")


def test_model_and_harness_are_asked_for(chase: Commands) -> None:
    finished = chase("rollout", *B, "--harness", "h0")
    assert (finished.code, finished.sentence) == (
        2,
        "chase: model is missing: give --model or write model = … in the config file.",
    )


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("harness.toml", 'benchmark = "syn-ledger"\nretrieval.results = 13\n', "retrieval.results=13"),
        ("harness.toml", 'benchmark = "syn-ledger"\nretrival.results = 3\n', "retrival"),
        ("harness.toml", "benchmark = \n", "harness.toml is not valid TOML"),
        ("harness.toml", 'benchmark = "syn-ledger"\nanswer = "text"\n', "answer='text' in h0/harness.toml"),
        ("notes.txt", "mine", "does not belong in a harness"),
        ("control.py", "def should_stop(state: State) -> bool:\n    return 'yes'\n", "h0/control.py, line 2"),
        ("control.py", "def stop(state):\n    return True\n", "it defines no hook"),
    ],
)
def test_a_malformed_harness_is_refused_before_anything_runs(
    chase: Commands, tmp_path: Path, file: str, text: str, what: str
) -> None:
    (tmp_path / "h0" / file).write_text(text)
    finished = chase(*sim())
    assert finished.code == 2
    assert what in finished.sentence
    assert not (tmp_path / ".chase").exists()


# What is missing, and outages


@pytest.mark.parametrize("model", ["openai:gpt-5", ENDPOINT])
def test_a_missing_key_is_named_with_code_3(chase: Commands, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("TINY_API_KEY", raising=False)
    config = write_config(f'[models."{ENDPOINT}"]\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "TINY_API_KEY"\n')
    finished = chase("rollout", *B, "--model", model, "--harness", "h0", "--split", "conf1", "--config", config)
    assert finished.code == 3
    variable = "OPENAI_API_KEY" if model.startswith("openai:") else "TINY_API_KEY"
    assert finished.sentence == f"chase: model '{model}' needs a key: set the environment variable {variable}."


def test_an_unreachable_endpoint_pauses_the_run_with_code_7(chase: Commands, tmp_path: Path) -> None:
    port = closed_port()
    finished = chase(*remote(endpoint_config(f"http://127.0.0.1:{port}/v1")))
    assert finished.code == 7
    assert finished.out == ""
    assert finished.sentence.startswith(
        f"chase: paused: model '{ENDPOINT}' at http://127.0.0.1:{port}/v1 cannot be reached"
    )
    assert "run the same command again to go on" in finished.sentence
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert store.find_run("latest").status == "paused"
        assert store.info().rollouts["scored"] == 0
        assert store.info().rollouts["failed"] >= 1


def test_after_an_outage_the_same_command_runs_only_what_is_missing(chase: Commands, tmp_path: Path) -> None:
    ledger = open_once("syn-ledger@7")
    bad_question = ledger.task(ledger.tasks("conf1")[9]).question
    down = True

    def script(request: dict[str, Json], attempt: int) -> Completion:
        turns = sum(message["role"] == "assistant" for message in request["messages"])
        return text_reply("1") if turns else tool_reply(("list_files", {}))

    def fault(request: dict[str, Json], attempt: int) -> Fault | None:
        return Fault(status=503) if down and bad_question in str(request["messages"]) else None

    with serving(script, fault) as server:
        command = remote(endpoint_config(server.url), "--concurrency", 1, "--patience", 0)
        paused = chase(*command)
        assert paused.code == 7
        assert "HTTP 503" in paused.sentence
        asked = len(server.requests)
        down = False
        payload = chase.json(*command)
        assert (payload["executed"], payload["reused"]) == (7, 9)
        assert len(server.requests) - asked == 14
    assert payload["usage"]["cost_usd"] is None
    assert payload["score"]["n"] == 16
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert store.find_run(payload["run"]).status == "finished"
        assert store.verify() == []


def test_a_refused_key_ends_with_code_3_and_is_never_printed(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("TINY_API_KEY", secret)
    body = f'{{"error":{{"message":"Incorrect key {secret} \\u001b[31mred"}}}}'
    with serving(
        lambda request, attempt: text_reply("1"), lambda request, attempt: Fault(status=401, body=body)
    ) as server:
        finished = chase(*remote(endpoint_config(server.url, api_key_env='"TINY_API_KEY"')))
        assert server.requests[0].headers["Authorization"] == f"Bearer {secret}"
    assert finished.code == 3
    assert secret not in finished.err + finished.out
    assert "TINY_API_KEY" in finished.sentence
    assert "\x1b" not in finished.err


def test_a_provider_that_serves_another_model_in_between_is_a_warning(chase: Commands) -> None:
    def script(request: dict[str, Json], attempt: int) -> Completion:
        return text_reply("1", model=f"tiny-{len(str(request)) % 2}")

    with serving(script) as server:
        payload = chase.json(*remote(endpoint_config(server.url)))
    assert payload["served_models"] == ["tiny-0", "tiny-1"]
    assert "the provider served more than one model: tiny-0, tiny-1" in payload["warnings"]


def test_what_an_agent_does_wrong_is_scored_and_counted_by_reason(chase: Commands) -> None:
    with serving(lambda request, attempt: text_reply("")) as server:
        payload = chase.json(*remote(endpoint_config(server.url)))
        finished = chase(*remote(endpoint_config(server.url)))
    assert payload["failures"] == {"no-answer": 16}
    assert payload["score"]["value"] == 0.0
    assert "rollouts without an answer: no-answer 16" in finished.out


def test_a_store_from_a_newer_version_is_left_alone(chase: Commands, tmp_path: Path) -> None:
    chase.json(*sim())
    database = Workspace(tmp_path).database
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = database.read_bytes()
    finished = chase(*sim())
    assert finished.code == 3
    assert "has schema version 99" in finished.sentence
    assert "Nothing was changed: update chase-harness or name another --workspace." in finished.sentence
    assert database.read_bytes() == before


def test_the_command_line_starts_without_models_and_engine() -> None:
    """They take a second to import, and `chase --version` is to be quick."""
    program = "import sys, chase.cli.rollout; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "chase.cli.rollout" in loaded
    assert not {"pydantic_ai", "pydantic_monty", "aiohttp", "chase.engine.rollout"} & set(loaded)


def test_a_workspace_that_cannot_be_made_is_one_sentence(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    finished = chase(*sim("--workspace", tmp_path / "file"))
    assert finished.code == 3
    assert "name another one with --workspace" in finished.sentence
