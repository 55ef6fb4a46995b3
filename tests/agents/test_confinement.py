"""What a command can see, change and leave behind under real bubblewrap, and what it cannot."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import chase
from chase.agents import confinement as module
from chase.agents.command_log import HELD, CommandLog
from chase.agents.confinement import HISTORY, TEMPORARY, Bounds, Confinement, Ended
from chase.agents.neutral_place import neutral_place
from chase.core.errors import SetupError, UserError
from tests.agents.desk_commands import PYTHON, command, needs_bubblewrap, processes_with, readable

pytestmark = [needs_bubblewrap, pytest.mark.slow]

KEY = "sk-canary-0123456789"


@dataclass
class Place:
    """A desk with a history, beside what must not be seen."""

    root: Path

    def __post_init__(self) -> None:
        for folder in ("desk/home/tmp", f"desk/{HISTORY}", "history", "workspace/.chase", "logs"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "history" / "scores.jsonl").write_text("{}\n")
        (self.root / "workspace" / ".chase" / "store.sqlite").write_text("the store")
        (self.root / "secret.txt").write_text("the secret")

    @property
    def desk(self) -> Path:
        return self.root / "desk"

    def log(self, name: str) -> str:
        return (self.root / "logs" / name).read_text(encoding="utf-8", errors="replace")

    def confined(self, body: str, **settings: Any) -> Confinement:
        settings.setdefault("timeout_seconds", 60.0)
        shown = (*readable(self.root), *settings.pop("readable", ()))
        return Confinement(command=command(self.root, body), readable=shown, **settings)

    async def run(self, body: str, **settings: Any) -> Ended:
        return await self.start(self.confined(body, **settings))

    async def start(self, confined: Confinement) -> Ended:
        return await confined.run(
            self.desk,
            shelf=self.root / "history",
            hidden=[self.root / "workspace" / ".chase"],
            logs=(self.root / "logs" / "out", self.root / "logs" / "err"),
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens soon, or fail."""
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# What it finds


async def test_a_command_works_at_its_desk_and_reads_the_history(place: Place) -> None:
    ended = await place.run("""
        pathlib.Path("found.txt").write_text(open("history/scores.jsonl").read() + os.getcwd())
        print("done"); print("said", file=sys.stderr); sys.exit(3)
    """)
    assert (ended.exit, ended.stopped, ended.output) == (3, "", "done\n")
    assert (place.desk / "found.txt").read_text() == "{}\n/desk"
    assert (place.log("out"), place.log("err")) == ("done\n", "said\n")


async def test_a_desk_may_be_named_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path / "place")
    confined = [place.confined("print(open('history/scores.jsonl').read())", unconfined=opt) for opt in (False, True)]
    monkeypatch.chdir(tmp_path)
    relative = object.__new__(Place)
    relative.root = Path("place")
    assert (await relative.start(confined[0])).output == "{}\n\n"
    (place.desk / "history" / "scores.jsonl").write_text("copied")
    assert (await relative.start(confined[1])).output == "copied\n"


async def test_no_shell_reads_the_command(place: Place) -> None:
    confined = Confinement(command="printf %s '$(id); x > y' `id` ;ls *")
    ended = await place.start(confined)
    assert ended.output == "$(id); x > y`id`;ls*"


async def test_the_environment_is_made_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "from the host")
    monkeypatch.setenv("WANTED", "named")
    ended = await place.run("print(json.dumps(dict(os.environ)))", pass_env=("WANTED",))
    found = json.loads(ended.output.replace("***", "named"))
    assert set(found) <= {"PATH", "HOME", "TMPDIR", "LANG", "WANTED", "PWD", "LC_CTYPE"}
    assert (found["HOME"], found["WANTED"]) == ("/desk/home", "named")


async def test_nothing_else_of_the_machine_is_visible(place: Place) -> None:
    real_home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # $HOME is the tests' own
    outside = [
        place.root / "secret.txt",
        place.root / "workspace" / ".chase" / "store.sqlite",
        place.root / "history" / "scores.jsonl",
        Path(chase.__file__),
        real_home / ".bashrc",
        real_home / ".ssh",
        Path(__file__),
        Path("/etc/shadow"),
        Path("/etc/hostname"),
        Path("/var"),
        Path("/sys"),
        Path("/run"),
        Path(f"/proc/{os.getpid()}/environ"),
    ]
    ended = await place.run(f"""
        print(json.dumps([path for path in {[str(path) for path in outside]!r} if os.path.lexists(path)]))
        print(sorted(os.listdir("/")))
        print(len([name for name in os.listdir("/proc") if name.isdigit()]) < 5)
    """)
    seen, root, alone = ended.output.splitlines()
    assert seen == "[]"
    assert set(eval_list(root)) <= {
        "bin", "desk", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr",
        Path(sys.base_prefix).parts[1], place.root.parts[1],
    }  # fmt: skip
    assert alone == "True"


PROWL = """
    import stat
    def read(path):
        try:
            if stat.S_ISLNK(os.lstat(path).st_mode):
                return os.readlink(path).encode()
            with open(path, "rb", buffering=0) as file:
                os.set_blocking(file.fileno(), False)
                return file.read(1 << 20) or b""
        except (OSError, ValueError):
            return b""
    names = [os.path.join(folder, name) for pid in os.listdir("/proc") if pid.isdigit()
             for folder, _, files in os.walk(f"/proc/{pid}") for name in files]
    links = [f"/proc/{pid}/{name}" for pid in os.listdir("/proc") if pid.isdigit() for name in ("cwd", "root", "exe")]
    names += [f"/proc/{name}" for name in ("mounts", "cmdline", "keys", "locks", "swaps")] + links
    words = json.loads(os.environ["WANTED"])
    print(len(names) > 100)
    print(sorted({f"{name}: {word}" for name in names for word in words if word.encode() in read(name)}))
"""
"""Looks through everything in /proc that says something of a process."""


async def test_no_process_says_where_on_the_machine_the_desk_is(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "workspace-of-somebody" / "evolve-0123456789ab" / "rounds" / "1" / "propose"
    for folder in (f"desk-1/{TEMPORARY}", f"desk-1/{HISTORY}", "history/traces"):
        (run / folder).mkdir(parents=True)
    (run / "history" / "scores.jsonl").write_text("{}\n")
    monkeypatch.setenv("WANTED", json.dumps(["workspace-of-somebody", "0123456789ab", "rounds", "propose"]))
    confined = place.confined(PROWL, pass_env=("WANTED",))
    logs = (place.root / "logs" / "out", place.root / "logs" / "err")
    with neutral_place(run / "desk-1", run / "history") as (desk, history):
        ended = await confined.run(desk, shelf=history, hidden=[run], logs=logs)
    found, seen = ended.output.splitlines()
    assert found == "True"
    # The command's own variable, in which this test says what to look for.
    assert {line.partition(": ")[0].rpartition("/")[2] for line in eval_list(seen)} <= {"environ"}


async def test_the_prowl_finds_a_desk_that_is_not_hidden(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANTED", json.dumps([str(place.desk)]))
    ended = await place.run(PROWL, pass_env=("WANTED",))
    assert "/proc/1/mountinfo: " in ended.output
    assert "cmdline: " not in ended.output


def eval_list(text: str) -> list[str]:
    found = json.loads(text.replace("'", '"'))
    assert isinstance(found, list)
    return found


async def test_a_readable_path_shows_neither_the_workspace_nor_this_package(place: Place) -> None:
    package = Path(chase.__file__).parent
    look = f"""
        for path in {[str(place.root / "workspace" / ".chase"), str(package)]!r}:
            print(os.listdir(path))
        print(os.path.exists({str(place.root / "secret.txt")!r}))
    """
    ended = await place.run(look, readable=(place.root, package.parent))
    assert ended.output.splitlines() == ["[]", "[]", "True"]


# What it can change


async def test_the_history_and_the_system_cannot_be_changed(place: Place) -> None:
    ended = await place.run("""
        import subprocess
        def tried(act):
            try:
                act(); print("changed")
            except OSError as error:
                print(error.strerror)
        tried(lambda: open("history/scores.jsonl", "a").write("forged"))
        tried(lambda: open("history/new", "w"))
        tried(lambda: os.remove("history/scores.jsonl"))
        tried(lambda: os.chmod("history/scores.jsonl", 0o777))
        tried(lambda: os.rename("history", "moved"))
        tried(lambda: open("/usr/bin/new", "w"))
        tried(lambda: open("/new", "w"))
        tried(lambda: open(sys.argv[0], "a"))
        for words in (["mount", "-o", "remount,rw,bind", "/desk/history"], ["umount", "/desk/history"]):
            print(subprocess.run(words, capture_output=True).returncode != 0)
    """)
    lines = ended.output.splitlines()
    assert len(lines) == 10
    assert "changed" not in lines
    assert lines[-2:] == ["True", "True"]
    assert (place.root / "history" / "scores.jsonl").read_text() == "{}\n"


CONNECT = """
    import socket
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=5).close(); print("connected")
    except OSError as error:
        print("refused")
"""


@pytest.mark.parametrize(("network", "said"), [(False, "refused\n"), (True, "connected\n")])
async def test_there_is_a_network_only_where_it_is_allowed(place: Place, network: bool, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert (await place.run(CONNECT.format(port=port), network=network)).output == said


# Limits

SPAWN = """
    import subprocess
    beat = "import sys, time\\nwhile True: open('/desk/beat', 'a').write('x'); time.sleep(0.05)"
    subprocess.Popen([sys.executable, "-c", beat, "{mark}"], start_new_session=True,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists("/desk/beat"): time.sleep(0.05)
    print("started", flush=True)
    {then}
"""


@pytest.mark.slow
async def test_a_time_limit_ends_the_command_and_its_children(place: Place) -> None:
    ended = await place.run(SPAWN.format(mark="mark-time-limit", then="time.sleep(600)"), timeout_seconds=3.0)
    assert (ended.exit, ended.stopped) == (None, "time limit of 3 seconds")
    assert ended.output == "started\n"
    until(lambda: not list(processes_with("mark-time-limit")))


async def test_children_do_not_outlive_the_command(place: Place) -> None:
    ended = await place.run(SPAWN.format(mark="mark-normal-end", then=""))
    assert ended.exit == 0
    until(lambda: not list(processes_with("mark-normal-end")))


async def test_cancelling_ends_the_command(place: Place) -> None:
    work = asyncio.create_task(place.run(SPAWN.format(mark="mark-cancelled", then="time.sleep(600)")))
    while not (place.desk / "beat").exists():
        await asyncio.sleep(0.05)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    until(lambda: not list(processes_with("mark-cancelled")))


HOST = """
import asyncio, sys
from pathlib import Path
from tests.agents.test_confinement import SPAWN, Place

async def main():
    await Place(Path(sys.argv[1])).run(SPAWN.format(mark="mark-orphan", then="time.sleep(600)"))

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_host_leaves_no_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path / "place")], cwd=root)
    try:
        until((tmp_path / "place" / "desk" / "beat").exists)
        assert list(processes_with("mark-orphan"))
    finally:
        host.send_signal(signal.SIGKILL)
        host.wait()
    until(lambda: not list(processes_with("mark-orphan")))


async def test_long_output_keeps_its_beginning_and_its_end(place: Place) -> None:
    ended = await place.run('print("first"); print("x" * 100 + "\\n" * 1, end="" ); '
                            'sys.stdout.write("y" * (10 << 20)); print("\\nlast")')  # fmt: skip
    assert ended.exit == 0
    assert ended.output.startswith("first\n")
    assert ended.output.endswith("\nlast\n")
    assert "are left out here" in ended.output
    assert (place.root / "logs" / "out").stat().st_size < module.OUTPUT_BYTES + 100


async def test_output_without_end_stops_the_command(place: Place) -> None:
    ended = await place.run('while True: sys.stdout.write("x" * (1 << 20))')
    assert (ended.exit, ended.stopped) == (None, "it wrote too much output")


async def test_a_file_cannot_grow_without_end(place: Place) -> None:
    ended = await place.run("""
        try:
            os.truncate(os.open("large", os.O_CREAT | os.O_WRONLY), 100 << 20)
        except OSError as error:
            print(error.strerror)
    """)
    assert ended.output == "File too large\n"


@pytest.mark.parametrize(
    "fill",
    [
        "[pathlib.Path(f'f{n}').touch() for n in range(300)]; time.sleep(600)",
        "[open(f'f{n}', 'wb').write(os.urandom(1 << 20)) for n in range(3)]; time.sleep(600)",
    ],
)
async def test_a_desk_that_fills_up_stops_the_command(place: Place, fill: str) -> None:
    ended = await place.run(fill, bounds=Bounds(desk_entries=200, desk_bytes=2 << 20))
    assert ended.stopped.startswith("it left more than")
    assert ended.limit == "disk-limit"


async def test_a_command_that_forks_and_forks_is_stopped_with_all_its_processes(place: Place) -> None:
    ended = await place.run(
        """
        for _ in range(60):
            if not os.fork():
                os.setsid()
                time.sleep(600)
        time.sleep(600)
        """,
        bounds=Bounds(processes=40),
    )
    assert (ended.limit, ended.stopped) == ("process-limit", "it had more than 40 processes")


async def test_a_command_that_holds_too_much_memory_is_stopped(place: Place) -> None:
    ended = await place.run("held = b'x' * (96 << 20); time.sleep(600)", bounds=Bounds(memory_bytes=64 << 20))
    assert ended.limit == "memory-limit"


async def test_a_command_that_bubblewrap_could_not_start_did_not_begin(place: Place) -> None:
    (place.root / "history").rename(place.root / "gone")
    ended = await place.run("print('here')")
    assert not ended.began
    assert "bwrap" in ended.errors


async def test_a_command_that_fails_by_itself_did_begin(place: Place) -> None:
    ended = await place.run("print('bwrap: no', file=sys.stderr); sys.exit(1)")
    assert (ended.began, ended.exit) == (True, 1)


# Keys


async def test_a_passed_key_reaches_the_command_and_no_log(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    ended = await place.run("""
        key = os.environ["AGENT_KEY"]
        print(len(key), key); print(key, file=sys.stderr)
        arguments = [pathlib.Path(f"/proc/{n}/cmdline").read_bytes() for n in os.listdir("/proc") if n.isdigit()]
        print(any(key.encode() in words for words in arguments))
    """, pass_env=("AGENT_KEY",))  # fmt: skip
    assert ended.output == f"{len(KEY)} ***\nFalse\n"
    assert place.log("err") == "***\n"


@pytest.mark.parametrize("gap", [0, 5, HELD])
def test_a_key_in_two_parts_is_blanked(tmp_path: Path, gap: int) -> None:
    log = CommandLog(tmp_path / "log", most=1 << 20, redact=lambda text: text.replace(KEY, "***"))
    for cut in range(len(KEY) + 1):
        log.feed(b"x" * gap + KEY[:cut].encode())
        log.feed(KEY[cut:].encode() + b"\n")
    log.close()
    assert log.text() == ("x" * gap + "***\n") * (len(KEY) + 1)


def test_a_command_that_contains_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    with pytest.raises(UserError, match="--pass-env") as refused:
        Confinement(command=f"claude --key {KEY}")
    assert KEY not in str(refused.value)


# What is missing is said before anything runs


def test_a_command_that_can_run_passes_the_check(place: Place) -> None:
    place.confined("").check()


def test_without_bubblewrap_a_command_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    confined = place.confined("")
    monkeypatch.setenv("PATH", str(place.root))
    with pytest.raises(SetupError, match=r"Install the package bubblewrap, or opt out with --unconfined") as refused:
        confined.check()
    assert refused.value.exit_code == 3


async def test_without_bubblewrap_nothing_is_run(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    confined = place.confined("open('ran', 'w')")
    monkeypatch.setenv("PATH", str(place.root))
    with pytest.raises(SetupError, match="bubblewrap"):
        await place.start(confined)
    assert not (place.desk / "ran").exists()


def test_bubblewrap_that_does_not_work_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = place.root / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.root}:{os.environ['PATH']}")
    with pytest.raises(SetupError, match=r"No permissions.*--unconfined"):
        place.confined("").check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": "no-such-agent --do"}, "command='no-such-agent' was not found"),
        ({"command": "/no/such/agent"}, "was not found"),
        ({"command": "true", "readable": (Path("/no/such/folder"),)}, "readable=/no/such/folder does not exist"),
        ({"command": "true", "pass_env": ("NO_SUCH_VARIABLE",)}, "set the environment variable NO_SUCH_VARIABLE"),
    ],
)
def test_what_is_missing_is_told(settings: dict[str, Any], message: str) -> None:
    for unconfined in (False, True):
        with pytest.raises(SetupError, match=message):
            Confinement(**settings, unconfined=unconfined).check()


def test_a_program_that_is_not_visible_is_told_with_its_folder(tmp_path: Path) -> None:
    hidden = tmp_path / "bin" / "agent"
    hidden.parent.mkdir()
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    with pytest.raises(SetupError, match=f"--readable {hidden.parent}"):
        Confinement(command=str(hidden)).check()
    Confinement(command=str(hidden), readable=(hidden.parent,)).check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": " "}, "is empty"),
        ({"command": "agent 'half"}, "Check its quotes"),
        ({"command": "agent", "pass_env": ("KEY=value",)}, "Write names, not values"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Confinement(**settings)


# The opt-out


async def test_unconfined_runs_without_bubblewrap(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "from the host")
    confined = place.confined("""
        print(os.getcwd(), os.environ["HOME"], "CANARY" in os.environ, os.path.exists("../secret.txt"))
    """, unconfined=True)  # fmt: skip
    monkeypatch.setenv("PATH", str(place.root))
    confined.check()
    ended = await place.start(confined)
    assert ended.output == f"{place.desk} {place.desk}/home False True\n"


CHILD = """
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"], start_new_session={away})
    time.sleep({seconds})
"""


async def test_unconfined_children_end_with_the_time_limit(place: Place) -> None:
    body = CHILD.format(mark="mark-unconfined", away=False, seconds=600)
    ended = await place.run(body, unconfined=True, timeout_seconds=2.0)
    assert ended.stopped == "time limit of 2 seconds"
    until(lambda: not list(processes_with("mark-unconfined")))


async def test_an_unconfined_child_that_went_away_holds_nobody_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.2)
    try:
        ended = await place.run(CHILD.format(mark="mark-away", away=True, seconds=0), unconfined=True)
        assert (ended.exit, ended.stopped) == (0, "")
    finally:
        for pid in processes_with("mark-away"):
            os.kill(pid, signal.SIGKILL)


def test_the_interpreter_of_these_tests_is_outside_the_virtual_environment() -> None:
    assert PYTHON.exists()
    assert not PYTHON.is_relative_to(Path(sys.prefix)) or sys.prefix == sys.base_prefix
    assert TEMPORARY.startswith("home/")
