"""A command as an agent that plays by itself, under real bubblewrap: what it finds, what it can reach, how it ends."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import chase.agents.own_agent.command as module
from chase.agents.confinement import Bounds
from chase.agents.own_agent.desk import RolloutDesk
from chase.agents.own_agent.places import Places
from chase.agents.own_agent.watching import LISTED, READ
from chase.benchmarks.documents.benchmark import open_documents
from chase.benchmarks.documents.example import write_example
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import HostError, SetupError, UserError
from tests.agents.desk_commands import PYTHON, needs_bubblewrap
from tests.agents.own_agents import READABLE, command_agent, played, pose, working

pytestmark = needs_bubblewrap


def tools_called(trace: Any) -> list[str]:
    return [event["tool"] for event in trace.events if event["event"] == "tool"]


def command_event(trace: Any) -> dict[str, Any]:
    (event,) = [event for event in trace.events if event["event"] == "command"]
    return event


# What it finds


async def test_an_agent_finds_the_question_and_the_documents_and_leaves_an_answer(
    ledger: SynLedger, tmp_path: Path
) -> None:
    task = ledger.tasks("evo")[0]
    posed, trace = pose(ledger, task)
    agent = command_agent(tmp_path / "own", """
        task = json.loads(Path("task.json").read_text())
        assert task["question"] + "\\n" == Path("question.txt").read_text()
        files = [json.loads(line)["path"] for line in Path("listing.jsonl").read_text().splitlines()]
        texts = {path: (Path("documents") / path).read_bytes().decode() for path in files[:3]}
        print(json.dumps(texts), task["seed"], task["limits"]["tool_calls"]["total"])
        Path("answer.txt").write_text(" 12 \\n")
    """)  # fmt: skip
    ended = await played(agent, posed)
    assert (ended.answer, ended.reason) == ("12", "answered")
    said = command_event(trace)
    expected = {file.path: file.text for file in posed.view.files[:3]}
    assert said["stdout"] == f"{json.dumps(expected)} 5 12\n"
    assert said["exit"] == 0


async def test_documents_that_it_opens_are_in_the_trace_in_their_order(ledger: SynLedger, tmp_path: Path) -> None:
    posed, trace = pose(ledger, ledger.tasks("evo")[0])
    files = [posed.view.files[place] for place in (4, 1, 7)]
    agent = command_agent(tmp_path / "own", f"""
        os.listdir("documents"); [p.stat() for p in Path("documents").rglob("*")]
        for path in {[file.path for file in files]!r}:
            (Path("documents") / path).read_text()
    """)  # fmt: skip
    await played(agent, posed)
    assert tools_called(trace) == [LISTED, READ, READ, READ]
    opened = [event["items"][0]["id"] for event in trace.events if event.get("tool") == READ]
    assert opened == [file.id for file in files]
    assert command_event(trace)["reads_seen"]


SDK_CLIENT = """
    sys.path.insert(0, {packages!r})
    import asyncio
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def main():
        server = json.loads(Path("mcp.json").read_text())["mcpServers"]["benchmark"]
        parameters = StdioServerParameters(**server)
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            answers = [await session.call_tool("search", {{"query": "appropriation"}}) for _ in range(6)]
            bad = await session.call_tool("no such tool", {{}})
            print(json.dumps([tools, [[a.is_error, a.content[0].text] for a in answers], bad.is_error]))
        Path("answer.txt").write_text("1")

    asyncio.run(main())
"""


@pytest.mark.slow
async def test_the_official_client_reaches_the_tools_from_inside_within_their_limits(
    ledger: SynLedger, tmp_path: Path
) -> None:
    posed, trace = pose(ledger, ledger.tasks("evo")[0])
    packages = Path(sysconfig.get_paths()["purelib"])
    agent = command_agent(tmp_path / "own", SDK_CLIENT.format(packages=str(packages)), readable=(*READABLE, packages))
    ended = await played(agent, posed)
    assert ended.answer == "1", command_event(trace)
    names, answers, bad = json.loads(command_event(trace)["stdout"])
    assert names == [tool.name for tool in ledger.tools]
    assert [error for error, _ in answers] == [False] * 4 + [True] * 2  # four searches are allowed
    own = ledger.environment(ledger.tasks("evo")[0], ledger.variant("released"))
    assert answers[0][1] == own.call("search", {"query": "appropriation"}).text
    assert bad
    assert tools_called(trace) == ["search"] * 6 + ["no such tool"]


async def test_what_is_sent_to_the_tools_cannot_hurt_the_host(ledger: SynLedger, tmp_path: Path) -> None:
    posed, trace = pose(ledger, ledger.tasks("evo")[0])
    agent = command_agent(tmp_path / "own", """
        deep = b"[" * 20000
        for message in (b"\\xff\\x00\\n", deep + b"\\n", b"x" * (1 << 21), b'{"jsonrpc": "2.0", "id": 1}\\n' * 5000):
            for _ in range(3):
                client = socket.socket(socket.AF_UNIX)
                try:
                    client.connect("mcp.sock"); client.settimeout(0.2)
                    client.sendall(message); client.recv(10)
                except OSError:
                    pass
        held = [socket.socket(socket.AF_UNIX) for _ in range(40)]
        for client in held:
            client.connect("mcp.sock")
        Path("answer.txt").write_text("3")
    """)  # fmt: skip
    ended = await played(agent, posed)
    assert (ended.answer, ended.reason) == ("3", "answered"), command_event(trace)
    assert tools_called(trace) == []


# How it ends


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("time.sleep(600)", "time-limit"),
        ("Path('answer.txt').write_text('7')\nwhile True: pass", "time-limit"),
        ("while True: print('x' * 100000)", "output-limit"),
        ("while True:\n    if not os.fork(): time.sleep(600)", "process-limit"),
        ("for n in range(5000): Path(f'f{n}').touch()\ntime.sleep(600)", "disk-limit"),
        ("pass", "no-answer"),
        ("sys.exit(3)", "exit-3"),
        ("os.kill(os.getpid(), 9)", "exit-137"),
        ("os.symlink('/etc/passwd', 'answer.txt')", "no-answer"),
        ("os.mkfifo('answer.txt')", "no-answer"),
        ("Path('answer.txt').mkdir()", "no-answer"),
        ("Path('answer.txt').write_text('9' * 100000)", "no-answer"),
        ("Path('answer.txt').write_text('  ')", "no-answer"),
    ],
)
async def test_what_the_agent_causes_is_a_reason_and_no_answer(
    ledger: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str
) -> None:
    monkeypatch.setattr(module, "BOUNDS", Bounds(output_bytes=64 << 10, desk_entries=2_000, processes=60))
    posed, trace = pose(ledger, ledger.tasks("evo")[0], seconds=2.0 if reason == "time-limit" else 60.0)
    ended = await played(command_agent(tmp_path / "own", body), posed)
    assert (ended.answer, ended.reason) == (None, reason)
    assert len(command_event(trace)["stdout"]) < 100_000


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("os.unlink('mcp.sock'); os.mkdir('mcp.sock')", "7"),
        ("os.unlink('mcp.sock'); os.symlink('/etc/passwd', 'mcp.sock')", "7"),
        ("import shutil; shutil.rmtree('documents')", "7"),
        ("Path('answer.txt').write_bytes(b'\\xff7\\n')", "\N{REPLACEMENT CHARACTER}7"),
        ("Path('usage.json').write_text('[' * 60000)", "7"),
    ],
)
async def test_whatever_it_makes_of_its_folder_is_its_own_affair(
    ledger: SynLedger, tmp_path: Path, body: str, answer: str
) -> None:
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    ended = await played(command_agent(tmp_path / "own", f"Path('answer.txt').write_text('7')\n{body}"), posed)
    assert (ended.answer, ended.reason) == (answer, "answered")


async def test_an_answer_counts_whatever_the_exit(ledger: SynLedger, tmp_path: Path) -> None:
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    ended = await played(command_agent(tmp_path / "own", "Path('answer.txt').write_text('7'); sys.exit(1)"), posed)
    assert (ended.answer, ended.reason) == ("7", "answered")


async def test_nothing_can_be_written_outside_its_folder(ledger: SynLedger, tmp_path: Path) -> None:
    posed, trace = pose(ledger, ledger.tasks("evo")[0])
    (tmp_path / "outside").mkdir()
    agent = command_agent(tmp_path / "own", f"""
        failed = []
        for place in ({str(tmp_path / "outside" / "x")!r}, "/etc/x", "/usr/x", "/x", "agent/agent.py", "../x"):
            try:
                Path(place).write_text("here")
            except OSError:
                failed.append(place)
        print(len(failed))
    """)  # fmt: skip
    before = (tmp_path / "own" / "agent.py").read_bytes()
    await played(agent, posed)
    assert command_event(trace)["stdout"] == "6\n"
    assert not any((tmp_path / "outside").iterdir())
    assert (tmp_path / "own" / "agent.py").read_bytes() == before


async def test_what_bubblewrap_cannot_start_is_the_machines_failing(ledger: SynLedger, tmp_path: Path) -> None:
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    agent = command_agent(tmp_path / "own", "pass")
    with working(agent):
        assert (await agent.play(posed)).reason == "no-answer"
        assert agent._snapshot is not None
        agent._snapshot = agent._snapshot / "gone"
        with pytest.raises(HostError, match="bubblewrap could not start the agent"):
            await agent.play(posed)


async def test_it_says_what_it_used_in_a_file(ledger: SynLedger, tmp_path: Path) -> None:
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    said = {"usage": {"input_tokens": 120, "output_tokens": 30}, "total_cost_usd": 0.25, "model": "mine"}
    ended = await played(command_agent(tmp_path / "own", f"Path('usage.json').write_text({json.dumps(said)!r})"), posed)
    assert (ended.usage.requests, ended.usage.input_tokens, ended.usage.output_tokens) == (1, 120, 30)
    assert (ended.usage.cost_usd, ended.served_model) == (0.25, "mine")


# What it can know

PROWL = """
    found = []
    def take(path):
        try:
            if os.path.islink(path): found.append(os.readlink(path))
            elif os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                found.append(open(path, "rb").read().decode("utf-8", "replace"))
        except OSError: pass
    desk = [os.path.join("/desk", name) for name in os.listdir("/desk") if name != "agent"]  # that holds the words
    for root in (*desk, {workspace!r}, "/tmp", "/etc", "/proc/self", "/proc/1"):
        take(root)
        for folder, folders, names in os.walk(root):
            found.append(folder)
            for name in names:
                found.append(name); take(os.path.join(folder, name))
    found.append(json.dumps(dict(os.environ)))
    text = "\\n".join(found)
    words = json.loads(Path("agent/words.json").read_text())
    print(json.dumps([len(text) > 10000, [word for word in words if word in text]]))
"""


@pytest.mark.parametrize("role", ["evo", "cert"])
async def test_it_finds_no_role_variant_answer_other_task_or_store(
    ledger: SynLedger, tmp_path: Path, role: str
) -> None:
    task, variant = ledger.tasks(role)[0], "neutralise-filename"
    posed, trace = pose(ledger, task, variant=variant)
    state = tmp_path / "workspace" / ".chase"
    state.mkdir(parents=True)
    (state / "store.sqlite").write_text("the store")
    others = [other for each in ledger.roles for other in ledger.tasks(each)[:8] if other != task]
    words = [
        *others, task, *(ledger.view(other, ledger.variant("released")).question for other in others),
        ledger.variant(variant).hash, variant, "neutralise", "released", "D_cert", "evidence", "store.sqlite",
        ledger.content_hash, "the store", *(file for file in (str(path) for path in ledger.private_paths)),
        *(f'"{name}"' for name in ledger.roles),
    ]  # fmt: skip
    prowl = PROWL.replace("{workspace!r}", repr(str(state.parent)))
    agent = command_agent(tmp_path / "own", prowl, readable=(*READABLE, state.parent))
    (tmp_path / "own" / "words.json").write_text(json.dumps(words))
    with working(agent, hidden=[state]):
        await agent.play(posed)
    assert json.loads(command_event(trace)["stdout"]) == [True, []]


async def test_questions_that_lie_outside_their_benchmarks_folder_are_hidden_too(tmp_path: Path) -> None:
    write_example(tmp_path)
    text = (tmp_path / "benchmark.toml").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "benchmark.toml").write_text(
        text.replace('"questions.jsonl"', '"../questions.jsonl"').replace('"documents"', '"../documents"', 1)
    )
    benchmark = open_documents("documents", tmp_path / "mine")
    posed, trace = pose(benchmark, benchmark.tasks("evo")[0])
    look = f"""
        place = Path({str(tmp_path)!r})
        print((place / "seen.txt").read_text(), os.listdir(place / "documents"))
        try:
            print((place / "questions.jsonl").read_text())
        except PermissionError:
            print("not to be read")
    """
    agent = command_agent(tmp_path / "own", look, readable=(*READABLE, tmp_path))
    (tmp_path / "seen.txt").write_text("seen")
    with working(agent, hidden=benchmark.private_paths):
        await agent.play(posed)
    assert command_event(trace)["stdout"] == "seen []\nnot to be read\n"


async def test_a_desk_looks_alike_under_every_role_and_variant(ledger: SynLedger, tmp_path: Path) -> None:
    look = """
        rows = [(str(path), path.lstat().st_mtime, path.lstat().st_mode)
                for path in sorted(Path(".").rglob("*")) if "documents/" not in str(path)]
        times = {path.lstat().st_mtime for path in Path("documents").rglob("*")}
        print(json.dumps([[row for row in rows if not row[0].startswith(("home", "agent", "mcp.sock"))],
                          sorted(times), sorted(os.listdir("."))]))
    """
    seen = []
    for role, variant in (("evo", "released"), ("cert", "released"), ("conf1", "neutral")):
        posed, trace = pose(ledger, ledger.tasks(role)[0], variant=variant)
        await played(command_agent(tmp_path / "own", look), posed)
        seen.append(json.loads(command_event(trace)["stdout"]))
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0][1]) == 1


def test_files_are_made_in_the_order_of_their_names_so_that_inodes_tell_nothing(
    ledger: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, write = [], Path.write_bytes

    def recorded(path: Path, content: bytes) -> int:
        written.append(str(path.relative_to(tmp_path)))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", recorded)
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    listed = [f"documents/{file.path}" for file in posed.view.files]
    RolloutDesk(tmp_path, posed).lay_out(unconfined_agent=None)
    assert written == sorted(written)
    assert set(listed) < set(written)
    assert listed != sorted(listed)


# Who it is


def test_its_identity_is_its_folder_and_its_command(tmp_path: Path) -> None:
    agent = command_agent(tmp_path / "own", "pass")
    same = command_agent(tmp_path / "elsewhere", "pass")
    assert agent.hash == same.hash
    (tmp_path / "elsewhere" / "__pycache__").mkdir()
    (tmp_path / "elsewhere" / "__pycache__" / "x.pyc").write_bytes(b"1")
    others = [
        command_agent(tmp_path / "own", "pass", command=f"{PYTHON} -B agent/agent.py more"),
        command_agent(tmp_path / "own", "pass", network=True),
        command_agent(tmp_path / "own", "pass", unconfined=True),
        command_agent(tmp_path / "other", "pass "),
    ]
    assert command_agent(tmp_path / "elsewhere", "pass").hash == agent.hash
    assert len({agent.hash, *(other.hash for other in others)}) == 5


async def test_a_folder_that_changes_before_the_first_rollout_is_refused(ledger: SynLedger, tmp_path: Path) -> None:
    posed, _ = pose(ledger, ledger.tasks("evo")[0])
    agent = command_agent(tmp_path / "own", "pass")
    assert agent.hash
    (tmp_path / "own" / "agent.py").write_text("changed")
    with pytest.raises(UserError, match="was changed since the run began"):
        await played(agent, posed)


async def test_edits_while_it_runs_are_not_played(ledger: SynLedger, tmp_path: Path) -> None:
    agent = command_agent(tmp_path / "own", "Path('answer.txt').write_text('first')")
    with working(agent):
        for _ in range(2):
            posed, _ = pose(ledger, ledger.tasks("evo")[0])
            assert (await agent.play(posed)).answer == "first"
            (tmp_path / "own" / "agent.py").write_text("")


def test_a_program_that_cannot_be_seen_from_inside_is_refused_at_once(tmp_path: Path) -> None:
    hidden = tmp_path / "tool"
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o700)
    with pytest.raises(SetupError, match="--readable"):
        command_agent(tmp_path / "own", "pass", command=str(hidden)).check()
    with pytest.raises(UserError, match="has no such file"):
        command_agent(tmp_path / "own", "pass", command="agent/nothing").check()
    command_agent(tmp_path / "own", "pass").check()


async def test_a_program_of_the_folder_can_be_the_command_confined_or_not(ledger: SynLedger, tmp_path: Path) -> None:
    for unconfined in (False, True):
        agent = command_agent(tmp_path / "own", "pass", command="agent/run.sh", unconfined=unconfined)
        script = tmp_path / "own" / "run.sh"
        script.write_text("#!/bin/sh\necho 5 > answer.txt\n")
        script.chmod(0o700)
        agent.check()
        posed, _ = pose(ledger, ledger.tasks("evo")[0])
        assert (await played(agent, posed)).answer == "5"


def test_the_places_of_a_killed_process_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = Places()
    left = tmp_path / "place-own-left"
    (left / "desk").mkdir(parents=True)
    (left / "lock").touch()
    other = Places()
    assert not left.exists()
    assert kept.root.exists()
    for places in (kept, other):
        places.close()
    assert not any(tmp_path.iterdir())
