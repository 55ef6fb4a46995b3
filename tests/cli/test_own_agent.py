"""`chase rollout` and `chase audit` with agents of one's own: nothing is run twice, nothing is lost, a planted shortcut
is found, and how bad input ends."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import chase as api
from chase.agents.own_agent.watching import is_call
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.own_agents import Posed
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.capable import capable_model
from chase.testing.served import served
from chase.testing.small_ledger import SmallLedger, open_small_ledger
from tests.agents.desk_commands import PYTHON, needs_bubblewrap, processes_with
from tests.agents.own_agents import agent_folder
from tests.cli.commands import Commands, checked, serving
from tests.cli.fork_server import BENCHMARK
from tests.cli.processes import Server, saved_now, scored, wait_until

pytestmark = needs_bubblewrap

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_agent"
CONFINED = ("--readable", sys.base_prefix)
RANDOM = {"benchmark": "syn-ledger", "seed": 3, "operators": [
    {"name": "permute", "arguments": {"aspect": aspect}} for aspect in ("depth", "name")
]}  # fmt: skip
RANK = {"benchmark": "syn-ledger", "seed": 3, "operators": [{"name": "permute", "arguments": {"aspect": "rank"}}]}


@cache
def small_once(name: str, data: Path | None = None) -> SmallLedger:
    return open_small_ledger()


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


@pytest.fixture
def chase(whole: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Commands on two tasks of every role."""
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", small_once)
    return whole


def own(body: str, folder: str = "own") -> tuple[object, ...]:
    """The flags of an agent with this program."""
    made = agent_folder(Path(folder), body)
    return ("--agent-command", f"{PYTHON} -B agent/agent.py", "--agent-folder", made, *CONFINED)


def example(how: str) -> str:
    return f"{PYTHON} -B agent/agent.py {how}"


def traces(folder: Path) -> list[dict[str, Any]]:
    with Store.open(Workspace(folder), write=False) as store:
        (run,) = store.runs()
        return [store.trace(used.rollout.trace_digest) for used in store.used(run.id)]


# Nothing is run twice


def test_the_same_command_again_runs_nothing_and_a_changed_folder_does(chase: Commands, tmp_path: Path) -> None:
    flags = own("Path('answer.txt').write_text('1')")
    first = chase.json("rollout", *flags)
    assert (first["executed"], first["reused"], first["model"]) == (2, 0, "none")
    assert first["agents"]["agent"]["outcomes"] == {"answered": 2}
    again = chase.json("rollout", *flags)
    assert (again["executed"], again["reused"], again["harness"]) == (0, 2, first["harness"])
    (tmp_path / "own" / "more.txt").write_text("an edit")
    changed = chase.json("rollout", *flags)
    assert (changed["executed"], changed["harness"] == first["harness"]) == (2, False)


def test_each_bad_end_is_a_0_with_its_reason_in_words(chase: Commands) -> None:
    finished = chase("rollout", *own("sys.stderr.write('Traceback\\nno such\\x1b[2J thing\\n'); sys.exit(3)"))
    assert finished.code == 0
    assert "rollouts without an answer: exit-3 2" in finished.out
    note = "note: agent: of 2 rollouts exit-3 in 2; each counts as 0. The first one's last words: no such"
    assert note in finished.out
    assert "\x1b" not in finished.out
    assert "note: agent called no tool over MCP" in finished.out


def test_what_an_agent_reports_is_in_the_ledger(chase: Commands) -> None:
    said = {"usage": {"input_tokens": 100, "output_tokens": 10}, "total_cost_usd": 0.5, "model": "mine"}
    body = f"Path('usage.json').write_text({json.dumps(said)!r}); Path('answer.txt').write_text('1')"
    found = chase.json("rollout", *own(body))
    assert (found["usage"]["requests"], found["usage"]["input_tokens"]) == (2, 200)
    assert (found["usage"]["cost_usd"], found["served_models"]) == (1.0, ["mine"])
    (account,) = [each for each in chase.json("store", "usage")["accounts"] if each["episodes"]]
    assert account["paid"] == {"requests": 2, "total": 220, "uncached": 220, "cost_usd": 1.0}


def test_a_cap_stops_agents_that_report_more(chase: Commands) -> None:
    said = {"usage": {"input_tokens": 100, "output_tokens": 0}}
    body = f"Path('usage.json').write_text({json.dumps(said)!r}); Path('answer.txt').write_text('1')"
    finished = chase("rollout", *own(body), "--rollouts", 4, "--budget-tokens", 350, "--concurrency", 1)
    assert finished.code == 4, finished.err
    more = chase.json("rollout", *own(body), "--rollouts", 4, "--budget-tokens", 1000)
    assert (more["executed"], more["reused"]) == (5, 3)


# The planted shortcut


@pytest.mark.slow
def test_the_worked_examples_shortcut_is_found_by_the_files_that_it_opens(whole: Commands, tmp_path: Path) -> None:
    finished = whole(
        "audit", "--benchmark", "syn-ledger@7", "--agent-command", example("shallow"), "--agent-folder", EXAMPLE,
        "--baseline-command", example("chance"), *CONFINED, "--no-battery", "--rollouts", 1, "--no-reduce",
        "--split-sizes", "evo=4,disc=4,conf=8", "--json",
    )  # fmt: skip
    payload = checked(finished.out)
    assert (finished.code, payload["verdict"]) == (5, "not supported"), payload
    (found,) = payload["confirmed"]
    assert found["source"] == "search"
    assert {"path-depth", "name-length"} & set(found["suspected"])
    assert payload["agents"]["agent"]["tool_calls"] == payload["agents"]["baseline"]["tool_calls"] == 0
    assert payload["agents"]["agent"]["file_reads_seen"]


@pytest.mark.slow
def test_an_honest_improvement_keeps_its_gain(whole: Commands, tmp_path: Path) -> None:
    (tmp_path / "random.json").write_text(json.dumps(RANDOM))
    finished = whole(
        "audit", "--benchmark", "syn-ledger@7", "--agent-command", example("search"), "--agent-folder", EXAMPLE,
        "--baseline-command", example("chance"), *CONFINED, "--rollouts", 1, "--transformations", "random.json",
        "--split-sizes", "conf=8", "--json",
    )  # fmt: skip
    payload = checked(finished.out)
    assert (finished.code, payload["verdict"]) == (0, "supported"), payload
    assert payload["g_rel"]["low"] > 0
    assert payload["confirmed"] == []
    assert {found["source"] for found in payload["not_confirmed"]} == {"battery", "given"}
    assert payload["agents"]["agent"]["tool_calls"] > 0
    assert "order of search results" in payload["battery"]["redrawn"]


def test_a_language_model_challenges_an_agent_of_ones_own(chase: Commands, tmp_path: Path) -> None:
    body = """
        first = json.loads(Path("listing.jsonl").read_text().splitlines()[0])["path"]
        Path("answer.txt").write_text(str(len(Path("documents", first).read_text())))
    """
    with serving(served(capable_model())) as server:
        finished = chase(
            "audit", *own(body), "--baseline-command", f"{PYTHON} agent/agent.py", "--rounds", 1, "--rollouts", 1,
            "--challenger", "llm", "--challenger-model", "openai-compatible:capable", "--base-url", server.url,
            "--no-battery", "--anyway", "--json",
        )  # fmt: skip
    assert finished.code in (0, 5), finished.err
    payload = checked(finished.out)
    assert "path-depth" in {name for tried in payload["tried"] for name in tried["suspected"]}, payload["tried"]
    assert "request 1: list_files" in finished.err


# What cannot reach it


def test_what_changes_the_tools_alone_is_not_tested_on_agents_that_call_none(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "rank.json").write_text(json.dumps(RANK))
    (tmp_path / "random.json").write_text(json.dumps(RANDOM))
    flags = own("Path('answer.txt').write_text('1')")
    given = ("--baseline-command", f"{PYTHON} agent/agent.py", "--rollouts", 1, "--confirm-size", 2, "--anyway")
    both = ("--transformations", "rank.json", "--transformations", "random.json")
    finished = chase("audit", *flags, *given, *both)
    assert "restyle, order of search results (neither agent called a tool)\n" in finished.out, finished
    assert "note: not tested: order of search results" in finished.out, finished
    assert "it changes the tools alone, and neither agent called one over MCP" in finished.out
    payload = checked(chase("audit", *flags, *given, *both, "--json").out)
    idle = [record["what"] for record in payload["tried"] if record["verdict"] == "inactive"]
    tested = [found["source"] for found in (*payload["confirmed"], *payload["not_confirmed"])]
    assert (len(idle), sorted(tested)) == (1, ["battery", "battery", "given"])
    assert "order of search results" not in payload["battery"]["redrawn"]
    assert "order" in idle[0]


CALLS_A_TOOL = """
    relay = subprocess.Popen(["python3", "mcp_relay.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    for message in ({"id": 1, "method": "initialize", "params": about}, {"method": "notifications/initialized"},
                    {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}):
        relay.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); relay.stdin.flush()
        if "id" in message: reply = json.loads(relay.stdout.readline())
    Path("answer.txt").write_text(str(len(reply["result"]["content"][0]["text"])))
"""


def test_it_is_tested_where_an_agent_calls_one(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "rank.json").write_text(json.dumps(RANK))
    flags = own(CALLS_A_TOOL)
    given = ("--baseline-command", f"{PYTHON} agent/agent.py", "--rollouts", 1, "--transformations", "rank.json")
    payload = checked(chase("audit", *flags, *given, "--no-battery", "--anyway", "--json").out)
    assert payload["tried"] == []
    assert len(payload["not_confirmed"]) + len(payload["confirmed"]) == 1
    assert payload["agents"]["agent"]["rollouts_with_tool_calls"] == payload["agents"]["agent"]["rollouts"] > 0
    assert all(any(is_call(event) for event in trace["events"]) for trace in traces(tmp_path))


# Nothing is lost


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_and_resumes_without_repeating(server: Server, tmp_path: Path) -> None:
    mark = "mark-of-a-killed-run"
    folder = agent_folder(tmp_path / "own", "time.sleep(0.3); Path('answer.txt').write_text('1')")
    command = (
        "rollout", "--benchmark", BENCHMARK, "--agent-command", f"{PYTHON} -B agent/agent.py {mark}",
        "--agent-folder", folder, *CONFINED, "--split", "conf1", "--rollouts", 1, "--workspace", ".", "--json",
    )  # fmt: skip
    killed = server.start(tmp_path, *command)
    wait_until(lambda: saved_now(tmp_path) >= 3)
    killed.send(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    wait_until(lambda: not any(processes_with(mark)))
    finished = scored(tmp_path)
    resumed = server.start(tmp_path, *command)
    assert resumed.wait() == 0, resumed.err
    payload = checked(resumed.out)
    assert (payload["executed"], payload["reused"]) == (16 - finished, finished)
    assert scored(tmp_path) == 16


# How bad input ends


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("rollout", "--agent-command", "true"), "--agent-command needs --agent-folder DIR"),
        (("rollout", "--agent-command", "true", "--agent-folder", "nowhere"), "nowhere is no folder"),
        (("rollout", "--agent-command", "true", "--agent-folder", "empty"), "empty is empty"),
        (("rollout", "--agent-command", "", "--agent-folder", "own"), "agent_command= is empty"),
        (("rollout", "--agent-command", "no-such-program", "--agent-folder", "own"), "was not found"),
        (("rollout", "--agent-command", "true agent/no.py", "--agent-folder", "own"), "agent/no.py: "),
        (("rollout", "--agent-command", "true", "--agent-folder", "own", "--model", "lexical"), "--model is for"),
        (("rollout", "--agent-command", "true", "--agent-folder", "own", "--harness", "h0"), "--harness is for"),
        (("rollout", "--agent-folder", "own", "--model", "lexical", "--harness", "own"), "is for an agent of your own"),
        (("audit", "--agent-command", "true", "--agent-folder", "own"), "give --baseline-command"),
        (
            ("audit", "--agent-command", "true", "--agent-folder", "own", "--baseline-command", "true"),
            "there is no gain to audit",
        ),
        (
            ("audit", "--agent-command", "true", "--agent-folder", "own", "--baseline-command", "false", "--whole"),
            "--whole is for harnesses",
        ),
        (
            ("audit", "--agent-command", "true", "--agent-folder", "own", "--baseline-command", "false",
             "--challenger", "llm"),
            "needs a language model",
        ),
        (("rollout", "--model", "none", "--harness", "own"), "is for agents of your own"),
    ],
)  # fmt: skip
def test_a_cheap_mistake_is_answered_in_a_sentence(chase: Commands, flags: tuple[str, ...], sentence: str) -> None:
    agent_folder(Path("own"), "pass")
    Path("empty").mkdir()
    finished = chase(*flags)
    assert finished.code in (2, 3)
    assert sentence in finished.sentence


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--agent-folder", "."), "holds"),
        (("--agent-folder", "own", "--readable", "mine/documents"), "readable="),
        (("--agent-folder", "own", "--readable", ".chase/store.sqlite"), "readable="),
    ],
)
def test_files_that_would_show_an_agent_the_answers_are_refused(
    whole: Commands, tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    assert whole("bench", "init", "mine").code == 0
    agent_folder(Path("own"), "pass")
    Path(".chase").mkdir()
    Path(".chase/store.sqlite").touch()
    finished = whole("rollout", "--benchmark", "documents", "--data", "mine", "--agent-command", "true", *flags)
    assert finished.code == 2
    assert sentence in finished.sentence
    assert "which no agent may see" in finished.sentence
    assert [path.name for path in (tmp_path / ".chase").iterdir()] == ["store.sqlite"]


def test_without_the_sdk_the_sentence_names_the_extra(chase: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    finished = chase("rollout", *own("pass"))
    assert finished.code == 3
    assert "pip install 'chase-harness[agent]'" in finished.sentence


# A function


def test_a_function_is_an_agent_too(chase: Commands, tmp_path: Path, ledger: SynLedger) -> None:
    def first_hit(posed: Posed) -> str:
        if posed.view.question.startswith("For Nobody"):
            raise ValueError("not this")
        return posed.environment.call("search", {"query": "appropriation"}).text[:1]

    found = api.rollout(agent_command=api.python_agent(first_hit, name="first"), workspace=tmp_path, progress=False)
    assert found.payload["agents"]["agent"]["tool_calls"] == 2
    assert found.payload["agents"]["agent"]["kind"] == "function"


def test_a_function_that_raises_is_scored_with_the_reason(chase: Commands, tmp_path: Path) -> None:
    def fails(posed: Posed) -> str:
        raise ValueError("not this")

    found = api.rollout(agent_command=api.python_agent(fails, name="fails"), workspace=tmp_path, progress=False)
    assert found.payload["failures"] == {"exception-ValueError": 2}
    (event,) = [event for event in traces(tmp_path)[0]["events"] if event["event"] == "exception"]
    assert "not this" in event["text"]
