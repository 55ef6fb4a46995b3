"""A command as Proposer, under real bubblewrap: what it is given, what is taken of what it leaves, what is paid."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.agents.coding_agent import NOT_REPORTED
from chase.agents.records import AgentEpisode
from chase.agents.reported_usage import reported_usage
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import ALL_EDITS, CANDIDATE_TRACKS, Candidate, ProposerContext
from chase.core.errors import SetupError, UserError
from chase.core.observables import OBSERVABLES
from chase.harness.folder import parse_files
from chase.methods.arena import Contender
from chase.methods.desks import Assignment, ProposerDesk
from chase.methods.journal import Journal
from chase.proposers.coding_agent import CodingAgentProposer
from chase.testing.ledger import H0
from tests.agents.desk_commands import CommandBench, command, needs_bubblewrap, program, readable
from tests.methods.runs import few_tasks, plan, running

pytestmark = needs_bubblewrap

H1 = replace(H0, memory="Amounts are in the first table.")
KEY = "sk-canary-0123456789"

ANSWER = """
    record = {"edits": ["say so"], "targeted_failures": [], "activation": "always", "stopping": "never",
              "expected_tool_calls": 0, "regression_risks": [], "agent": "forged"}

    def answer(track, **changes):
        folder = pathlib.Path("answers") / track
        shutil.copytree("current", folder, dirs_exist_ok=True)
        for name, text in changes.items():
            (folder / name.replace("_", ".")).write_text(text)
        (folder / "record.json").write_text(json.dumps(record))

    def toml(results):
        return open("current/harness.toml").read().replace("[retrieval]", f"[retrieval]\\nresults = {results}")

    with open("runs", "a") as runs:
        runs.write("run\\n")
"""
GOOD = """
    answer("structural", harness_toml=toml(3))
    answer("guidance", prompt_md="Check the unit.")
    answer("integrated", harness_toml=toml(5), prompt_md="Check the period.")
"""


def script(body: str) -> str:
    return textwrap.dedent(ANSWER) + textwrap.dedent(body)


class Bench(CommandBench):
    """Proposers that are scripts."""

    place = "rounds/2/propose"

    def __init__(self, root: Path, benchmark: SynLedger) -> None:
        super().__init__(root, {"H0": H0, "r1-guidance": H1}, (1.0, 0.0))
        self.benchmark = benchmark

    def proposer(self, body: str, **settings: Any) -> CodingAgentProposer:
        line = command(self.root, script(body))
        made = CodingAgentProposer(line, readable=readable(self.root), timeout_seconds=60, **settings)
        made.attach(self.records())
        return made

    def context(self, **changes: Any) -> ProposerContext:
        context = ProposerContext(
            history=self.tree.root, round=2, current="r1-guidance", initial="H0", benchmark="syn-ledger",
            epsilon="0.05", edit_space=ALL_EDITS, observables={"path-depth": OBSERVABLES["path-depth"]},
            placeholders=self.benchmark.placeholders, bounds=self.benchmark.bounds,
            answer_form=self.benchmark.answer_form, tools=tuple(self.benchmark.tools),
            interface=self.benchmark.interface, limits={"total": 12}, seed=1,
        )  # fmt: skip
        return replace(context, **changes)

    async def proposed(self, body: str, **settings: Any) -> Sequence[Candidate]:
        return await self.proposer(body, **settings).propose(self.context())

    def desk(self, proposer: CodingAgentProposer) -> ProposerDesk:
        return ProposerDesk(
            proposer=proposer, tree=self.tree, journal=Journal(self.workspace, "run-1"), check=lambda *_: None,
            benchmark=self.benchmark, edit_space=ALL_EDITS, seed=1,
        )  # fmt: skip

    async def decided(self, body: str) -> tuple[list[Contender], list[str]]:
        """What the host accepts and refuses in a whole round of asking."""
        desk = self.desk(self.proposer(body))
        return await desk.candidates(2, self.current, self.initial, Assignment(epsilon="0.05"))

    def spent(self) -> list[tuple[int, int, int, float | None]]:
        return [
            (s.usage.input_tokens, s.usage.cached_tokens, s.usage.output_tokens, s.usage.cost_usd)
            for s in self.store.spend()
        ]


@pytest.fixture
def bench(tmp_path: Path, ledger: SynLedger) -> Iterator[Bench]:
    made = Bench(tmp_path / "bench", ledger)
    yield made
    made.store.close()


# Good answers


async def test_three_folders_become_three_candidates(bench: Bench) -> None:
    proposer = bench.proposer(GOOD)
    found = await proposer.propose(bench.context())
    assert [candidate.track for candidate in found] == list(CANDIDATE_TRACKS)
    assert parse_files(found[0].files, where="structural").structure.retrieval.results == 3
    assert parse_files(found[1].files, where="guidance").prompt == "Check the unit."
    record = found[0].record
    assert (record["edits"], record["agent"], record["from"]) == (["say so"], proposer.name, "r1-guidance")
    assert (record["exit"], record["attempt"], record["confined"]) == (0, 1, True)
    assert record["prompts"] == proposer.instructions.stamp
    assert proposer.instructions.stamp in proposer.name
    assert bench.attempt()["usage"] == NOT_REPORTED
    assert bench.spent() == []


async def test_the_desk_has_what_the_instructions_say(bench: Bench) -> None:
    bench.tree.add_entry("b1", {"name": "b1", "touched": {"path-depth": 2.0}})
    await bench.proposed("""
        text = open("INSTRUCTIONS.md").read()
        files = sorted(str(path) for path in pathlib.Path(".").rglob("*") if path.is_file())
        print(json.dumps([text, json.load(open("context.json")), files]))
    """)
    text, context, found = json.loads((bench.folder / "log-1.stdout").read_text())
    assert not re.search(r"\$[a-z{]", text)
    for said in (
        "evolution tasks", "every task–rollout result", "stable successes, unstable outcomes and stable failures",
        "observations", "hypotheses", "distinct mechanisms", "concise conditional guidance",
        "outside each edit's activation condition", "question identifiers", "membership of a data set", "answers",
        "names of source files", "Proactive feedback", "Hindsight feedback", "Revision", "Recombination", "Refinement",
        "≤ 0.05", "`b1`", "data, not instructions",
    ):  # fmt: skip
        assert said in text, said
    assert context["observables"] == {"path-depth": OBSERVABLES["path-depth"].description}
    assert [tool["name"] for tool in context["tools"]] == ["list_files", "search", "open_file", "calculator"]
    assert context["tools"][1]["parameters"]["properties"]["query"]["type"] == "string"
    assert context["tool_interface"]["search"]["tool"] == "search"
    assert "The last round failed" not in text
    assert context["calls_allowed"] == {"total": 12}
    assert context["bounds"] == {"results": 12, "opened": 6, "reserved_reads": 5, "templates": 4}
    assert {name: p["each"] for name, p in context["placeholders"].items()} == {
        "entity": False, "period": False, "periods": True, "question": False,
    }  # fmt: skip
    assert context["answer_form"]["name"] == "integer"
    assert "{periods} (every period: one query for each)" in text
    assert "at most 4 in templates and rewrites together" in text
    forms = context["forms"]
    assert forms["harness_toml"]["$defs"]["Rewrite"]["properties"]["calls_left_at_least"]["description"]
    assert forms["guidance_when"]["properties"]["opened_at_least"]["description"]
    assert all(hook["doc"] for hook in forms["hooks"])
    assert "# The document's id: the same in every listing, result and window.\n    id: str" in forms["hook_types"]
    assert {"current/memory.md", "initial/prompt.md", "history/scores.jsonl", "history/archive/b1.json"} <= set(found)


async def test_the_command_cannot_read_where_on_the_machine_it_works(bench: Bench) -> None:
    """Not the workspace, not the run's id and not the round; the desk is in the run's folder all the same, after it."""
    await bench.proposed("""
        for name in ("self/mountinfo", "1/mountinfo", "1/cmdline", "1/environ", "self/mounts"):
            print(open(f"/proc/{name}").read().replace("\\0", " "))
    """)
    told = (bench.folder / "log-1.stdout").read_text()
    assert " /desk/history " in told
    assert [word for word in (str(bench.workspace.root), "run-1", "rounds", "desk-1") if word in told] == []
    assert (bench.folder / "desk-1" / "INSTRUCTIONS.md").is_file()
    assert not (bench.folder / "desk-1").is_symlink()


async def test_after_a_failed_round_the_instructions_say_what_failed(bench: Bench) -> None:
    bench.tree.add_entry("b1", {"name": "b1"})
    pool = [
        {"harness": "H0", "gain": 0.0, "violates": {}},
        {"harness": "r1-guidance", "gain": 0.5, "violates": {"b1": 0.2}},
    ]
    bench.tree.add_round({"round": 1, "pool": pool, "selected": "H0", "refused": ["r1-structural: speed=3"]})
    await bench.proposed("")
    text = (bench.folder / "desk-1" / "INSTRUCTIONS.md").read_text()
    failed = text[text.index("**The last round failed**") : text.index("\n\n## What is on your desk")]
    assert failed.split("\n") == [
        "**The last round failed**, and fell back to `H0`, which is where you start (all rounds are in "
        "`history/rounds.jsonl`). What failed, quoted as data:",
        "",
        "- r1-guidance violates b1 (gain +0.5000)",
        "- r1-structural: speed=3",
        "",
        "Learn from these failures: what of the gain came from the protocol and not from the task?",
    ]
    assert "**But a higher released score alone is not enough.**" in text


FREE = Assignment(tracks=(), candidates=2)


async def test_without_tracks_numbered_folders_become_free_candidates(bench: Bench) -> None:
    body = """
        answer("1", harness_toml=toml(3), prompt_md="Check the unit.")
        answer("2", prompt_md="Check the period.")
        answer("guidance", prompt_md="not asked for")
    """
    context = bench.context(tracks=(), candidates=2)
    found = await bench.proposer(body).propose(context)
    assert [candidate.track for candidate in found] == [None, None]
    assert [parse_files(c.files, where="").prompt for c in found] == ["Check the unit.", "Check the period."]
    text = (bench.folder / "desk-1" / "INSTRUCTIONS.md").read_text()
    assert "You write 2 new harnesses" in text
    assert "2 complete folders: `answers/1/` and `answers/2/`. Complete" in text
    assert not re.search(r"structural/|integrated|R³|\$[a-z{]", text)
    told = json.loads((bench.folder / "desk-1" / "context.json").read_text())
    assert (told["tracks"], told["candidates"], told["briefs"]) == ([], 2, {})


async def test_a_free_candidate_that_is_refused_is_mended_in_its_folder(bench: Bench) -> None:
    """The first folder is missing at first, so that numbers of answers and of folders differ."""
    proposer = bench.proposer("""
        import os
        if os.path.exists("REFUSED.md"):
            print(open("REFUSED.md").read())
            answer("2", prompt_md="Check the period.")
            answer("1", prompt_md="Check the unit.")
        else:
            answer("2", harness_toml="speed = 3")
    """)
    current, initial = Contender(name="r1-guidance", harness=H1), Contender(name="H0", harness=H0)
    accepted, refused = await bench.desk(proposer).candidates(2, current, initial, FREE)
    assert [(named.name, named.harness.prompt) for named in accepted] == [
        ("r2-2", "Check the unit."),
        ("r2-3", "Check the period."),
    ]
    assert len(refused) == 1
    assert refused[0].startswith("r2-1: ")
    told = (bench.folder / "log-2.stdout").read_text()
    assert "- 2: " in told
    assert "- 1: there is no such folder" in told


@pytest.mark.parametrize(
    ("tracks", "said"),
    [
        (("structural", "guidance"), "2 complete folders: `answers/structural/` and `answers/guidance/`"),
        (("guidance",), "One complete folder: `answers/guidance/`"),
    ],
)
async def test_without_r3_only_the_tracks_that_are_due_are_asked_for(
    bench: Bench, tracks: tuple[Any, ...], said: str
) -> None:
    context = bench.context(tracks=tracks, candidates=len(tracks))
    found = await bench.proposer(GOOD).propose(context)
    assert tuple(candidate.track for candidate in found) == tracks
    text = (bench.folder / "desk-1" / "INSTRUCTIONS.md").read_text()
    assert said in text
    assert not re.search(r"integrated|R³|\$[a-z{]", text)


async def test_what_a_method_tells_beside_is_in_the_context_file(bench: Bench) -> None:
    briefs = {"contract": {"rules": ["no paths"]}, "reference trajectories": [1, 2]}
    files = bench.proposer("")._desk_files(bench.context(briefs=briefs))
    assert json.loads(files["context.json"])["briefs"] == briefs
    assert "what you are told beside the history (`briefs`)" in files["INSTRUCTIONS.md"]
    assert "briefs" not in bench.proposer("")._desk_files(bench.context())["INSTRUCTIONS.md"]


async def test_a_gates_contract_is_in_the_instructions_once(bench: Bench) -> None:
    contracts = {"no-paths": "Name no path."}
    text = bench.proposer("")._desk_files(bench.context(contracts=contracts))["INSTRUCTIONS.md"]
    assert text.count("Name no path.") == 1
    assert "The same text is `history/no_paths.txt`" in text
    assert "must keep to" not in bench.proposer("")._desk_files(bench.context())["INSTRUCTIONS.md"]


async def test_without_an_archive_nothing_is_said_of_constraints(bench: Bench) -> None:
    for epsilon in ("0.05", None):
        files = bench.proposer("")._desk_files(bench.context(epsilon=epsilon))
        assert "gain destruction" not in files["INSTRUCTIONS.md"]


async def test_a_whole_run_takes_a_command_as_proposer(ledger: SynLedger, tmp_path: Path) -> None:
    line = command(tmp_path, script(GOOD))
    made = CodingAgentProposer(line, readable=readable(tmp_path), timeout_seconds=60)
    made.check()
    few = few_tasks(ledger)
    async with running(plan(few, proposer=made, rounds=1), tmp_path / "workspace") as run:
        evolved = await run.evolve()
        folder = run.journal.path / "rounds" / "1" / "propose"
    assert json.loads((folder / "attempt-1.json").read_text())["exit"] == 0
    pool = {row["harness"] for row in evolved.rounds[0]["selection"]["pool"]}
    assert {"r1-structural", "r1-guidance", "r1-integrated"} <= pool


async def test_a_command_under_the_generalization_gate_is_refused_and_mends(ledger: SynLedger, tmp_path: Path) -> None:
    """The first attempt leans on names; the second follows what it is told, with the contract at hand."""
    body = (
        GOOD
        + """
    contract = open("history/generalization_gate.txt").read()
    assert contract.strip() in open("INSTRUCTIONS.md").read()
    if not os.path.exists("REFUSED.md"):
        answer("guidance", prompt_md="Prefer short file names.")
"""
    )
    made = CodingAgentProposer(command(tmp_path, script(body)), readable=readable(tmp_path), timeout_seconds=60)
    run_plan = plan(few_tasks(ledger), proposer=made, method="harness-compass", rounds=1)
    async with running(run_plan, tmp_path / "workspace") as run:
        evolved = await run.evolve()
    selection = evolved.rounds[0]["selection"]
    assert {"r1-structural", "r1-guidance", "r1-integrated"} <= {row["harness"] for row in selection["pool"]}
    assert "r1-guidance: the generalization gate refuses it: feature-rules: prompt.md" in selection["refused"][0]


# Isolation


async def test_a_command_sees_neither_the_store_nor_the_workspace_nor_a_key(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    state = bench.workspace.state
    await bench.proposed(f"""
        paths = {[str(bench.workspace.database), str(bench.tree.root), str(bench.folder)]!r}
        print([path for path in paths if os.path.exists(path)], "OPENAI_API_KEY" in os.environ)
        print(os.path.exists({str(state)!r}) and os.listdir({str(state)!r}))
    """)
    assert (bench.folder / "log-1.stdout").read_text() == "[] False\nFalse\n"


async def test_a_readable_workspace_is_empty_to_a_command(bench: Bench) -> None:
    line = command(bench.root, f"print(os.listdir({str(bench.workspace.state)!r}))")
    proposer = CodingAgentProposer(line, readable=[*readable(bench.root), bench.root])
    proposer.attach(bench.records())
    await proposer.propose(bench.context())
    assert (bench.folder / "log-1.stdout").read_text() == "[]\n"


async def test_a_key_is_in_no_record(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    found = await bench.proposed(
        GOOD
        + """
    key = os.environ["AGENT_KEY"]
    record["edits"] = [key]; answer("guidance", prompt_md=f"Say {key}.")
    pathlib.Path(os.environ["HOME"], "credentials").write_text(key); print(key)
        """,
        pass_env=("AGENT_KEY",),
    )
    assert found[1].files["prompt.md"] == "Say ***."
    assert found[1].record["edits"] == ["***"]
    kept = [path for path in bench.folder.iterdir() if path.is_file()]
    assert len(kept) == 4
    assert not [path for path in kept if KEY in path.read_text()]
    assert not (bench.folder / "desk-1" / "home").exists()


# Rubbish


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (
            'os.remove("answers/guidance/prompt.md"); os.symlink("{secret}", "answers/guidance/prompt.md")',
            "symbolic link",
        ),
        ('shutil.rmtree("answers/guidance"); os.symlink("{folder}", "answers/guidance")', "not a plain folder"),
        ('os.mkfifo("answers/guidance/memory.fifo")', "not a file"),
        ('os.remove("answers/guidance/prompt.md"); os.mkfifo("answers/guidance/prompt.md")', "not a file"),
        ('open("answers/guidance/prompt.md", "wb").write(b"\\xff\\xfe")', "not UTF-8"),
        ('[open(f"answers/guidance/x{{n}}", "w") for n in range(200)]', "files. Leave those of a harness only"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_refused(bench: Bench, spoil: str, problem: str) -> None:
    (bench.root / "secret").write_text("the secret")
    body = f"{GOOD}\n    {spoil.format(secret=bench.root / 'secret', folder=bench.root)}"
    found = {candidate.track: candidate for candidate in await bench.proposed(body)}
    assert found["guidance"].files == {}
    with pytest.raises(UserError, match=r"harness\.toml is missing"):
        parse_files(found["guidance"].files, where="guidance")
    assert set(found) == set(CANDIDATE_TRACKS)
    [said] = bench.attempt()["problems"]
    assert problem in said
    assert str(bench.root / "workspace") not in said
    assert "the secret" not in (bench.folder / "attempt-1.json").read_text()


async def test_a_file_of_100_mb_is_refused(bench: Bench) -> None:
    large = """
    try:
        open("answers/integrated/memory.md", "wb").write(b"x" * (100 << 20))
    except OSError as error:
        print(error.strerror)
    """
    found = await bench.proposed(GOOD + large)
    assert found[2].files == {}
    assert "memory.md is too large" in bench.attempt()["problems"][0]
    assert (bench.folder / "desk-1" / "answers" / "integrated" / "memory.md").stat().st_size <= 64 << 20
    assert (bench.folder / "attempt-1.json").stat().st_size < 100_000


async def test_answers_that_are_a_link_give_no_candidates(bench: Bench) -> None:
    outside = bench.root / "outside" / "structural"
    outside.mkdir(parents=True)
    (outside / "prompt.md").write_text("from outside")
    found = await bench.proposed(f'os.rmdir("answers"); os.symlink({str(outside.parent)!r}, "answers")')
    assert found == []
    assert "not a plain folder" in bench.attempt()["problems"][0]


@pytest.mark.parametrize(
    "rubbish",
    [
        '"{"',
        '"[" * 60000',
        '"[" * 500 + "]" * 500',
        '"[]"',
        '\'{"edits": "\\\\ud800", "activation": NaN, "other": 1}\'',
        "'{\"edits\": ' + '[' * 100 + ']' * 100 + '}'",
        '"x" * 100000',
    ],
)
async def test_a_rubbish_record_does_not_spoil_its_candidate(bench: Bench, rubbish: str) -> None:
    current, initial = Contender(name="r1-guidance", harness=H1), Contender(name="H0", harness=H0)
    proposer = bench.proposer(f'{GOOD}\n    open("answers/guidance/record.json", "w").write({rubbish})')
    accepted, refused = await bench.desk(proposer).candidates(2, current, initial, Assignment(epsilon="0.05"))
    assert (len(accepted), refused) == (3, [])
    assert "other" not in accepted[1].record
    assert accepted[1].record["agent"] == proposer.name


@pytest.mark.parametrize(
    ("body", "exit", "stopped"),
    [
        ("sys.exit(3)", 3, ""),
        ("os.kill(os.getpid(), 9)", 137, ""),
        ("time.sleep(600)", None, "time limit of 2 seconds"),
    ],
)
async def test_a_command_that_fails_gives_no_candidates(
    bench: Bench, body: str, exit: int | None, stopped: str
) -> None:
    proposer = bench.proposer(f'print("before", flush=True); {body}')
    object.__setattr__(proposer.confinement, "timeout_seconds", 2.0)
    assert await proposer.propose(bench.context()) == []
    kept = bench.attempt()
    assert (kept["exit"], kept["stopped"]) == (exit, stopped)
    assert len(kept["problems"]) == 3
    assert (bench.folder / "log-1.stdout").read_text() == "before\n"


async def test_what_is_complete_at_the_time_limit_is_used(bench: Bench) -> None:
    proposer = bench.proposer('answer("guidance", prompt_md="Check the unit."); time.sleep(600)')
    object.__setattr__(proposer.confinement, "timeout_seconds", 2.0)
    [candidate] = await proposer.propose(bench.context())
    assert (candidate.track, candidate.record["exit"]) == ("guidance", None)


async def test_a_command_that_cannot_be_found_is_told_at_the_start() -> None:
    with pytest.raises(SetupError, match="was not found"):
        CodingAgentProposer("no-such-agent --print").check()


# Refusals

MENDS = """
    told = open("REFUSED.md").read() if os.path.exists("REFUSED.md") else ""
    if not told:
        answer("structural", prompt_md="This is the other track.")
        answer("guidance", prompt_md="Check the unit.")
    else:
        print(told)
        answer("structural", harness_toml=toml(3))
        answer("guidance", prompt_md="Not asked for.")
"""


async def test_a_refused_candidate_is_told_back_and_mended(bench: Bench) -> None:
    accepted, refused = await bench.decided(MENDS)
    assert [named.name for named in accepted] == ["r2-structural", "r2-guidance"]
    assert accepted[0].harness.structure.retrieval.results == 3
    assert accepted[1].harness.prompt == "Check the unit."
    assert refused == ["r2-structural: a structural candidate changes the other track"]
    told = (bench.folder / "log-2.stdout").read_text()
    assert "- structural: a structural candidate changes the other track" in told
    assert "- integrated: there is no such folder" in told
    assert "- guidance" not in told
    assert bench.runs() == 2
    assert not (bench.folder / "attempt-3.json").exists()


async def test_what_cannot_be_read_is_told_back_and_mended(bench: Bench) -> None:
    accepted, _ = await bench.decided("""
        if os.path.exists("REFUSED.md"):
            os.remove("answers/guidance/prompt.md")
        answer("guidance", prompt_md="Check the unit.")
        if not os.path.exists("REFUSED.md"):
            os.remove("answers/guidance/prompt.md"); os.symlink("../../current/prompt.md", "answers/guidance/prompt.md")
        else:
            print(open("REFUSED.md").read())
    """)
    assert [named.name for named in accepted] == ["r2-guidance"]
    assert "guidance/prompt.md is a symbolic link" in (bench.folder / "log-2.stdout").read_text()


async def test_a_command_that_changes_nothing_is_not_asked_for_ever(bench: Bench) -> None:
    accepted, refused = await bench.decided('answer("structural", prompt_md="The other track.")')
    assert accepted == []
    assert len(refused) == 1
    assert bench.runs() == 2


async def test_the_host_writes_through_no_link_that_a_command_left(bench: Bench) -> None:
    victim = bench.root / "victim"
    victim.write_text("untouched")
    accepted, _ = await bench.decided(f"""
        if not os.path.lexists("REFUSED.md"):
            answer("structural", prompt_md="The other track.")
            os.symlink({str(victim)!r}, "REFUSED.md")
            os.rename("home", "old"); os.symlink({str(bench.root)!r}, "home")
        else:
            answer("structural", prompt_md=open("current/prompt.md").read(), harness_toml=toml(3))
    """)
    assert victim.read_text() == "untouched"
    assert [named.name for named in accepted] == ["r2-structural"]
    assert not (bench.folder / "desk-1" / "REFUSED.md").is_symlink()


# Nothing is paid twice

CLAUDE = {
    "type": "result", "total_cost_usd": 0.25, "result": "done", "modelUsage": {"some-model": {}},
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40,
              "output_tokens": 7},
}  # fmt: skip


async def test_a_finished_attempt_is_not_run_again(bench: Bench) -> None:
    body = f"{GOOD}\n    print({json.dumps(json.dumps(CLAUDE))})"
    first = await bench.proposed(body)
    again = await bench.proposer(body).propose(bench.context())
    assert [c.files for c in again] == [c.files for c in first]
    assert [c.record for c in again] == [c.record for c in first]
    assert bench.runs() == 1
    assert bench.spent() == [(350, 300, 7, 0.25)]


async def test_a_round_of_refusals_is_resumed_where_it_was(bench: Bench) -> None:
    await bench.decided(MENDS)
    (bench.workspace.run_folder("run-1") / "rounds" / "2" / "candidates.json").unlink()
    program(bench.root, "sys.exit(9)")
    line = bench.proposer(MENDS)
    program(bench.root, "sys.exit(9)")
    current, initial = Contender(name="r1-guidance", harness=H1), Contender(name="H0", harness=H0)
    accepted, _ = await bench.desk(line).candidates(2, current, initial, Assignment(epsilon="0.05"))
    assert [named.name for named in accepted] == ["r2-structural", "r2-guidance"]
    assert bench.runs() == 2


async def test_an_attempt_that_was_interrupted_starts_at_a_new_desk(bench: Bench) -> None:
    episode = bench.folder
    first = bench.proposer(GOOD)
    await first.propose(bench.context())
    (episode / "attempt-1.json").unlink()  # as if it had been killed just before it was kept
    (episode / "desk-1" / "home").mkdir()
    await bench.proposer(GOOD).propose(bench.context())
    kept = bench.attempt()
    assert (kept["desk"], kept["interrupted_before"]) == ("desk-2", 1)
    assert not (episode / "desk-1" / "home").exists()
    assert bench.runs("desk-2") == 1


async def test_usage_is_charged_once_also_if_the_process_dies_before_it_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"{GOOD}\n    print({json.dumps(json.dumps(CLAUDE))})"

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AgentEpisode, "charge", die)
        with pytest.raises(KeyboardInterrupt):
            await bench.proposed(body)
    assert bench.spent() == []
    for _ in range(2):
        await bench.proposer(body).propose(bench.context())
        assert bench.spent() == [(350, 300, 7, 0.25)]
    assert bench.runs() == 1


CODEX = [
    {"type": "thread.started", "thread_id": "1"},
    {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 5}},
    {"type": "turn.completed", "usage": {"input_tokens": 250, "cached_input_tokens": 200, "output_tokens": 9}},
]
STREAM = [{"type": "assistant", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}, CLAUDE]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (json.dumps(CLAUDE), (350, 300, 7, 0.25, "some-model")),
        (json.dumps(CLAUDE, indent=2), (350, 300, 7, 0.25, "some-model")),
        (json.dumps(STREAM), (350, 300, 7, 0.25, "some-model")),
        ("noise\n" + "\n".join(map(json.dumps, STREAM)) + "\nmore", (350, 300, 7, 0.25, "some-model")),
        ("\n".join(map(json.dumps, CODEX)), (250, 200, 9, None, "")),
        ("no usage here", None),
        ('{"usage": "much"}', None),
        ('{"usage": {"input_tokens": true, "output_tokens": 1}}', None),
        ('{"usage": {"input_tokens": -1, "output_tokens": 1}}', None),
        ('{"usage": {"input_tokens": 1e99, "output_tokens": 1}}', None),
        (f'{{"usage": {{"input_tokens": {10**30}, "output_tokens": 1}}}}', None),
        ('{"usage": {"input_tokens": 1, "output_tokens": 2}, "total_cost_usd": NaN}', (1, 0, 2, None, "")),
        ('{"usage": ' + "[" * 100_000, None),
    ],
)
def test_reported_usage_is_found(output: str, expected: tuple[Any, ...] | None) -> None:
    found = reported_usage(output, wall_seconds=1.0)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        usage, model = found
        assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.cost_usd, model) == expected


# Its name, and the opt-out


def test_the_name_tells_commands_apart_and_holds_no_arguments() -> None:
    names = {
        CodingAgentProposer(line, network=network).name
        for line in ("claude -p work", "claude -p 'work'", "claude -p play")
        for network in (False, True)
    }
    assert len(names) == 4
    assert all(name.startswith("coding-agent:claude:") for name in names)
    assert not any("play" in name for name in names)


async def test_the_opt_out_is_in_the_record(bench: Bench) -> None:
    found = await bench.proposed(f"{GOOD}\n    print(open('history/scores.jsonl').read() != '')", unconfined=True)
    assert len(found) == 3
    assert found[0].record["confined"] is False
    assert ":unconfined:" in found[0].record["agent"]
    assert bench.attempt()["confined"] is False
    assert (bench.folder / "log-1.stdout").read_text() == "True\n"
    assert not (bench.folder / "desk-1" / "history").exists()
    assert (bench.tree.root / "scores.jsonl").read_text()


async def test_what_holds_answers_is_not_readable_even_in_a_readable_folder(bench: Bench) -> None:
    answers = bench.root / "open" / "answers"
    answers.mkdir(parents=True)
    (answers / "gold.txt").write_text("42")
    (answers.parent / "plain.txt").write_text("plain")
    body = f"""
    import pathlib
    for path in pathlib.Path({str(answers.parent)!r}).rglob("*.txt"):
        print(path.name, path.read_text())
    """
    line = command(bench.root, script(body))
    proposer = CodingAgentProposer(line, readable=[*readable(bench.root), answers.parent], timeout_seconds=60)
    proposer.attach(replace(bench.records(), hidden=(answers,)))
    await proposer.propose(bench.context())
    seen = (bench.folder / "log-1.stdout").read_text()
    assert "plain" in seen
    assert "42" not in seen
    assert "gold" not in seen
