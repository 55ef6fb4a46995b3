"""The language-model Proposer on other assignments than three tracks and R³, played by scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from chase.agents.history import HistoryWriter
from chase.agents.records import AgentRecords
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import ALL_EDITS, Candidate, ProposerContext
from chase.core.values import Json
from chase.harness.folder import render_files
from chase.methods.arena import Contender
from chase.methods.desks import Assignment, ProposerDesk
from chase.methods.journal import Journal
from chase.proposers.llm import LanguageModelProposer
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0
from chase.testing.scripted import ScriptedModel
from tests.methods.agents import DRAFTS, FEEDBACK, GOOD, PROMPT, STRUCTURE, candidate, handed, submitting

INITIAL = Contender(name="H0", harness=H0)
FIRST, SECOND, THIRD = (candidate({"prompt.md": f"{PROMPT} {text}"}) for text in ("One.", "Two.", "Three."))
BOTH = candidate({"harness.toml": STRUCTURE, "prompt.md": f"{PROMPT} Four."})


def free(*forms: Mapping[str, Json]) -> dict[str, Json]:
    return {"candidates": [dict(form) for form in forms]}


@dataclass
class Table:
    """A run's records and history for one Proposer."""

    root: Path
    store: Store
    benchmark: SynLedger

    def __post_init__(self) -> None:
        self.tree = HistoryWriter(self.root / "tree")
        self.tree.add_harness("H0", H0, {})

    def proposer(self, model: ScriptedModel) -> LanguageModelProposer:
        made = LanguageModelProposer(model)
        made.attach(AgentRecords(store=self.store, use=Use(run="run-1", method="free"), folder=self.root / "run"))
        return made

    def context(self, **changes: Any) -> ProposerContext:
        given: dict[str, Any] = {"tracks": (), "candidates": 2, **changes}
        return ProposerContext(
            history=self.tree.root, round=1, current="H0", initial="H0", benchmark="syn-ledger", epsilon=None,
            edit_space=ALL_EDITS, observables={}, placeholders=self.benchmark.placeholders,
            bounds=self.benchmark.bounds, answer_form=self.benchmark.answer_form, tools=tuple(self.benchmark.tools),
            interface=self.benchmark.interface, limits={"total": 12}, seed=1, **given,
        )  # fmt: skip

    async def decided(self, model: ScriptedModel, assignment: Assignment) -> tuple[list[Contender], list[str]]:
        desk = ProposerDesk(
            proposer=self.proposer(model), tree=self.tree, journal=Journal(self.store.workspace, "run-1"),
            check=lambda *_: None, benchmark=self.benchmark, edit_space=ALL_EDITS, seed=1,
        )  # fmt: skip
        return await desk.candidates(1, INITIAL, INITIAL, assignment)


@pytest.fixture
def table(tmp_path: Path, ledger: SynLedger) -> Iterator[Table]:
    with Store.open(Workspace(tmp_path / "workspace"), write=True) as store:
        store.create_run("run-1", {})
        yield Table(tmp_path, store, ledger)


def scripted(*final: Mapping[str, Json], **more: Sequence[Mapping[str, Json]]) -> ScriptedModel:
    return submitting({"give_feedback": [FEEDBACK], "submit_candidates": final, **more})


def prompts(found: Sequence[Candidate]) -> list[str]:
    return [made.files["prompt.md"].removeprefix(PROMPT).strip() for made in found]


async def test_free_candidates_are_asked_for_without_tracks_or_r3(table: Table) -> None:
    model = scripted(free(FIRST, BOTH))
    found = await table.proposer(model).propose(table.context())
    assert [made.track for made in found] == [None, None]
    assert prompts(found) == ["One.", "Four."]
    assert "repairs = 1" in found[1].files["harness.toml"]
    assert found[0].record["edits"] == ["an edit"]
    assert len(model.requests) == 3  # two feedback passes and the candidates
    asked = model.requests[-1]
    assert {tool.name for tool in asked.tools} >= {"give_feedback", "submit_candidates"}
    assert "draft_candidates" not in {tool.name for tool in asked.tools}
    said = "\n".join(asked.texts())
    assert "Third, 2 candidates, each from `H0`:\n- free: each may change any file" in said
    assert "R³" not in said
    assert "track" not in next(str(t.parameters_json_schema) for t in asked.tools if t.name == "submit_candidates")


async def test_more_free_candidates_than_are_due_are_left(table: Table) -> None:
    found = await table.proposer(scripted(free(FIRST, SECOND, THIRD))).propose(table.context())
    assert prompts(found) == ["One.", "Two."]


async def test_a_refused_free_candidate_is_replaced_by_another(table: Table) -> None:
    broken = candidate({"harness.toml": "speed = 3"})
    model = scripted(free(broken, SECOND), free(THIRD))
    accepted, refused = await table.decided(model, Assignment(tracks=(), candidates=2))
    assert [(named.name, named.harness.prompt.removeprefix(PROMPT).strip()) for named in accepted] == [
        ("r1-2", "Two."),
        ("r1-3", "Three."),
    ]
    assert len(refused) == 1
    assert refused[0].startswith("r1-1: ")
    said = "\n".join(model.requests[-1].texts())
    assert "Write others in their place, at most 1, and hand in those alone" in said
    assert "- 1: " in said
    assert len(model.requests) == 4  # nothing is missing then, and nothing more is asked


async def test_rubbish_beside_a_free_candidate_that_fits_is_left_out(table: Table) -> None:
    found = await table.proposer(scripted(free(FIRST, {"files": 3}))).propose(table.context())
    assert prompts(found) == ["One."]


async def test_tracks_without_r3_are_handed_in_at_once(table: Table) -> None:
    model = scripted(handed(GOOD), handed(DRAFTS))
    found = await table.proposer(model).propose(table.context(tracks=("structural", "guidance")))
    assert [made.track for made in found] == ["structural", "guidance"]
    said = "\n".join(model.requests[-1].texts())
    assert "one of each track is due: structural, guidance" in said  # all three were not
    assert "- guidance: changes `prompt.md`, `memory.md` or `guidance/` only" in said
    assert "R³" not in said


async def test_what_a_method_tells_beside_is_shown_as_data_under_its_name(table: Table) -> None:
    briefs = {"reference trajectory": "It read on.", "failure groups": [{"cause": "units", "tasks": 3}]}
    model = scripted(free(FIRST))
    await table.proposer(model).propose(table.context(candidates=1, briefs=briefs))
    said = "\n".join(model.requests[0].texts())
    assert '"reference trajectory"\nIt read on.\nDATA-' in said
    assert '"failure groups"\n[\n {\n  "cause": "units",' in said
    assert "the host checks it" in said
    assert "Third, one candidate, each from `H0`" in "\n".join(model.requests[-1].texts())


async def test_a_gates_contract_is_in_the_system_prompt_once(table: Table) -> None:
    model = scripted(free(FIRST))
    await table.proposer(model).propose(table.context(contracts={"no-paths": "Name no path."}))
    system, *others = model.requests[-1].texts()
    assert system.count("Name no path.") == 1
    assert "the same text is `no_paths.txt` in the history" in system.lower()
    assert not any("Name no path." in text for text in others)


async def test_nothing_is_said_of_briefs_and_contracts_where_there_are_none(table: Table) -> None:
    model = scripted(free(FIRST))
    await table.proposer(model).propose(table.context())
    said = "\n".join(model.requests[0].texts())
    assert "beside the history" not in said
    assert "fixed before the first" not in said


@pytest.mark.parametrize("integrate", [False, True])
async def test_who_writes_candidates_is_shown_the_current_files_as_data(table: Table, integrate: bool) -> None:
    model = scripted(handed(GOOD) if integrate else free(FIRST), draft_candidates=[handed(DRAFTS)])
    tracks = ("structural", "guidance", "integrated") if integrate else ()
    await table.proposer(model).propose(table.context(tracks=tracks, candidates=3 if integrate else 1))
    # Drafts are asked for after two passes of feedback, as free candidates are.
    asked = "\n".join(model.requests[2].texts())
    assert ("Third, two candidates" in asked) == integrate
    for path, text in render_files(H0).items():
        assert re.search(rf"<<DATA-[0-9a-f]+ {re.escape(json.dumps(path))}\n{re.escape(text)}\nDATA-", asked)


async def test_files_that_are_too_long_to_show_are_named_and_can_be_read(table: Table) -> None:
    table.tree.add_harness("H0", replace(H0, memory="m" * 16_001), {})
    model = scripted(free(FIRST))
    await table.proposer(model).propose(table.context(candidates=1))
    asked = "\n".join(model.requests[-1].texts())
    assert "read them in harnesses/H0/" in asked
    assert "\nmemory.md\n" in asked
    assert "mmmm" not in asked
    assert (table.tree.root / "harnesses/H0/memory.md").exists()


def test_the_files_that_are_shown_are_part_of_the_bounds(table: Table) -> None:
    bounds = table.proposer(scripted()).bounds
    history = LanguageModelProposer(scripted(), history_tokens=0).bounds
    assert history.input_tokens >= history.requests * (12_000 + 4_000)
    assert bounds.input_tokens > history.input_tokens
