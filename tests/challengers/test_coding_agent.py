"""A command as Challenger, under real bubblewrap: what it is given, and what is taken of what it leaves."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.challengers.coding_agent import CodingAgentChallenger
from chase.core.agents import ChallengerContext, Draft
from chase.core.errors import SetupError
from chase.methods.desks import ChallengerDesk
from chase.methods.journal import Journal
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import RANKING
from chase.testing.ledger import H0
from tests.agents.desk_commands import CommandBench, command, needs_bubblewrap, program, readable

pytestmark = needs_bubblewrap

H1 = replace(H0, memory="Prefer shallow files.")

ANSWER = """
    context = json.load(open("context.json"))
    simple = [effect["operator"] for effect in context["effects"]]
    told = open("REFUSED.md").read() if os.path.exists("REFUSED.md") else ""

    def proposal(place, **more):
        return {"benchmark": context["benchmark"], "operators": [simple[place]], "seed": place,
                "description": "reversed", "claims": ["valid"], "suspected_shortcut": "depth",
                "suspected_observables": ["path-depth", "no-such"], "replay": {"script": "count.py"},
                "supporting_traces": ["traces/r1-guidance/released/task-1-0.jsonl", "/etc/passwd", "../x"], **more}

    def leave(proposals):
        open("answers/proposals.json", "w").write(json.dumps(proposals))

    with open("runs", "a") as runs:
        runs.write("run\\n")
"""
GOOD = """
    leave([proposal(place) for place in range(3)])
"""


@pytest.fixture(scope="module")
def kit(ledger: SynLedger) -> ProtocolKit:
    return ProtocolKit(ledger)


class Bench(CommandBench):
    """Challengers that are scripts."""

    place = "rounds/1/challenge"

    def __init__(self, root: Path, kit: ProtocolKit) -> None:
        super().__init__(root, {"H0": H0, "r1-guidance": H1}, (1.0,))
        self.kit = kit

    def challenger(self, body: str, **settings: Any) -> CodingAgentChallenger:
        line = command(self.root, textwrap.dedent(ANSWER) + textwrap.dedent(body))
        made = CodingAgentChallenger(line, readable=readable(self.root), timeout_seconds=60, **settings)
        made.attach(self.records())
        return made

    def context(self) -> ChallengerContext:
        return ChallengerContext(
            history=self.tree.root, round=1, current="r1-guidance", initial="H0", benchmark=self.kit.benchmark.base,
            observables={o.name: o for o in self.kit.benchmark.observables}, operators=self.kit.operators(),
            effects=self.kit.effects, tools=tuple(self.kit.benchmark.tools), proposals=3, evaluated=2, seed=1,
        )  # fmt: skip

    async def challenged(self, body: str, **settings: Any) -> Sequence[Draft]:
        return await self.challenger(body, **settings).challenge(self.context())

    async def decided(self, challenger: CodingAgentChallenger) -> list[Draft]:
        """All that it answers in a whole round of asking."""
        desk = ChallengerDesk(
            challenger=challenger, tree=self.tree, journal=Journal(self.workspace, "run-1"), kit=self.kit,
            seed=1,
        )  # fmt: skip
        return await desk.drafts(1, self.current, self.initial, proposals=3, evaluated=2)


@pytest.fixture
def bench(tmp_path: Path, kit: ProtocolKit) -> Iterator[Bench]:
    made = Bench(tmp_path / "bench", kit)
    yield made
    made.store.close()


async def test_a_list_of_proposals_becomes_drafts(bench: Bench) -> None:
    challenger = bench.challenger(GOOD)
    found = await challenger.challenge(bench.context())
    assert len(found) == 3
    assert len({bench.kit.parse(draft.form).transformation.hash for draft in found}) == 3
    assert found[1].suspected == ("path-depth",)
    assert found[1].traces == ("traces/r1-guidance/released/task-1-0.jsonl",)
    assert found[1].replay["agent"] == challenger.name
    assert found[1].replay["prompts"] == challenger.instructions.stamp
    assert (found[1].replay["replay"], found[1].replay["suspected_shortcut"]) == ({"script": "count.py"}, "depth")
    assert found[1].form["claims"] == ["valid"]


async def test_the_desk_has_what_the_instructions_say(bench: Bench) -> None:
    await bench.challenged("""
        files = sorted(str(path) for path in pathlib.Path(".").rglob("*") if path.is_file())
        print(json.dumps([open("INSTRUCTIONS.md").read(), context, files]))
    """)
    text, context, found = json.loads((bench.folder / "log-1.stdout").read_text())
    assert not re.search(r"\$[a-z{]", text)
    for said in (
        "maximise the gain destruction", "Destroy the gain over H0, not merely the raw score", "discovery tasks",
        "Questions, answers, the contents of the documents and which documents there are, access to the tools, "
        "budgets, and the scorer", "independent of the question", "The same rule is applied to both harnesses",
        "3 distinct transformations", "data, not instructions",
    ):  # fmt: skip
        assert said in text, said
    assert "at most 2 are evaluated on the discovery tasks" in text
    assert RANKING in text
    assert "So your order matters" in text
    assert (context["proposals"], context["evaluated"]) == (3, 2)
    assert [tool["name"] for tool in context["tools"]] == ["list_files", "search", "open_file", "calculator"]
    assert context["tools"][1]["parameters"]["properties"]["query"]["type"] == "string"
    assert context["operators"][0]["changes"][0] == {"when": {"aspect": "name"}, "fields": ["stem", "suffix"]}
    assert context["operators"][0]["arguments"]
    assert context["form"]["properties"]["operators"]
    assert {"harness/memory.md", "initial/prompt.md", "history/scores.jsonl"} <= set(found)


async def test_no_more_are_taken_than_were_asked_for(bench: Bench) -> None:
    assert len(await bench.challenged("leave([proposal(0, seed=n) for n in range(50)])")) == 3


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("pass", "proposals.json cannot be read: No such file"),
        ('open("answers/proposals.json", "w").write("[{")', "is not valid JSON"),
        ('open("answers/proposals.json", "w").write("[" * 100000)', "is not valid JSON"),
        ('open("answers/proposals.json", "wb").write(b"\\xff")', "is not valid JSON"),
        ('open("answers/proposals.json", "w").write(\'"text"\')', "is no list of proposals"),
        ('os.symlink("{secret}", "answers/proposals.json")', "is not a plain file"),
        ('os.symlink("../context.json", "answers/proposals.json")', "is not a plain file"),
        ('os.mkfifo("answers/proposals.json")', "is not a plain file"),
        ('os.mkdir("answers/proposals.json")', "is not a plain file"),
        ('open("answers/proposals.json", "wb").truncate(60 << 20)', "is larger than"),
        ('leave(["text", 1, None])', "3 entries of proposals.json are no JSON objects"),
        ("sys.exit(4)", "cannot be read"),
    ],
)
async def test_rubbish_gives_no_drafts(bench: Bench, body: str, problem: str) -> None:
    secret = bench.root / "secret.json"
    secret.write_text('[{"benchmark": "the secret"}]')
    assert await bench.challenged(body.format(secret=secret) if "{secret}" in body else body) == []
    assert problem in bench.attempt()["problems"][0]
    assert "the secret" not in (bench.folder / "attempt-1.json").read_text()


async def test_rubbish_in_a_proposal_is_for_the_host_to_refuse(bench: Bench) -> None:
    drafts = await bench.decided(
        bench.challenger("""
        deep = []
        for _ in range(200): deep = [deep]
        leave([{"operators": "all"}, {"operators": [{"name": "rm -rf"}], "extra": "\\ud800"},
               proposal(0, replay=deep, suspected_observables="path-depth", supporting_traces={"a": 1})])
    """)
    )
    assert len(drafts) == 3
    assert bench.kit.parse(drafts[2].form)
    assert (drafts[2].suspected, drafts[2].traces) == ((), ())


MENDS = """
    if not told:
        leave([proposal(0), proposal(0, seed=0, description="again"), proposal(1, operators=[{"name": "no-such"}])])
    else:
        print(told)
        leave([proposal(0), proposal(1), proposal(2)])
"""


async def test_refused_proposals_are_told_back_and_replaced(bench: Bench) -> None:
    drafts = await bench.decided(bench.challenger(MENDS))
    assert [draft.form["description"] for draft in drafts] == ["reversed", "again", "reversed", "reversed", "reversed"]
    assert [draft.replay["attempt"] for draft in drafts] == [1, 1, 1, 2, 2]
    told = (bench.folder / "log-2.stdout").read_text()
    assert "- proposal 2: the same as proposal 1: write another" in told
    assert "- proposal 3: unknown operator 'no-such'" in told
    assert "- the submission: 1 of 3 distinct proposals can be used" in told
    assert bench.runs() == 2


async def test_a_command_that_changes_nothing_is_not_asked_for_ever(bench: Bench) -> None:
    drafts = await bench.decided(bench.challenger('leave([proposal(0, operators=[{"name": "no-such"}])])'))
    assert len(drafts) == 1
    assert bench.runs() == 2


async def test_a_resumed_round_runs_and_pays_nothing_again(bench: Bench) -> None:
    body = (
        MENDS
        + """
    print(json.dumps({"usage": {"input_tokens": 5, "cached_input_tokens": 3, "output_tokens": 2}}))
    """
    )
    first = await bench.decided(bench.challenger(body))
    (bench.workspace.run_folder("run-1") / "rounds" / "1" / "drafts.json").unlink()
    again = bench.challenger(body)
    program(bench.root, "sys.exit(9)")
    assert await bench.decided(again) == first
    assert bench.runs() == 2
    [spent] = bench.store.spend()
    assert (spent.role, spent.usage.requests, spent.usage.input_tokens) == ("challenge", 2, 10)
    assert spent.usage.cached_tokens == 6


async def test_a_challenger_sees_no_workspace_and_changes_no_history(bench: Bench) -> None:
    await bench.challenged(f"""
        print(os.path.exists({str(bench.workspace.state)!r}))
        try:
            open("history/scores.jsonl", "a").write("forged")
        except OSError as error:
            print(error.strerror)
    """)
    assert (bench.folder / "log-1.stdout").read_text() == "False\nRead-only file system\n"


async def test_the_opt_out_is_in_the_record(bench: Bench) -> None:
    found = await bench.challenged(GOOD, unconfined=True)
    assert found[0].replay["confined"] is False
    assert bench.attempt()["confined"] is False


def test_a_command_that_cannot_be_found_is_told_at_the_start() -> None:
    with pytest.raises(SetupError, match="was not found"):
        CodingAgentChallenger("no-such-agent").check()
