"""The paper's harnesses (`configs/officeqa-harnesses/`): each changes what the paper says it does, and does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.core.values import Rollout
from chase.engine.prompting import Situation, is_active
from chase.engine.rollout import Job
from chase.harness.diff import diff_harnesses
from chase.harness.folder import initial_harness, load_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness, Rewrite
from chase.models.lexical.directives import read_directives
from chase.testing.scripted import Script, ScriptedModel, call
from tests.engine.rollouts import events, follow, tool_events

FOLDER = Path(__file__).parents[3] / "configs" / "officeqa-harnesses"
TRACKS = ("structural", "guidance", "integrated")
ROUNDS = {round: [f"round{round}-{track}" for track in TRACKS] for round in (2, 3)}
NAMES = ("h1", *ROUNDS[2], *ROUNDS[3])


@pytest.fixture(scope="module")
def h0(officeqa: OfficeQA) -> Harness:
    return initial_harness(officeqa)


@pytest.fixture(scope="module")
def made() -> Mapping[str, Harness]:
    return {name: load_harness(FOLDER / name) for name in NAMES}


def keys(old: Harness, new: Harness) -> set[str]:
    """What changed: keys of `harness.toml`, files of the folder."""
    return {change.key for change in diff_harnesses(old, new).changes}


async def rolled(
    officeqa: OfficeQA, harness: Harness, script: Script, task: str | None = None
) -> tuple[Rollout, ScriptedModel]:
    job = Job(
        benchmark=officeqa,
        transformation=officeqa.variant("released"),
        harness=harness,
        task=task or officeqa.tasks("evo")[0],
        index=0,
        run_seed=0,
    )
    return await follow(job, script)


def searches(rollout: Rollout, by: str) -> list[Mapping[str, Any]]:
    return [event["arguments"] for event in tool_events(rollout, "search", by)]


def passages(text: str) -> list[tuple[str, int]]:
    return [(hit["document"], hit["passage"]) for hit in json.loads(text)["results"]]


def task_with_years(officeqa: OfficeQA, *, several: bool) -> str:
    def years(task: str) -> int:
        return len(officeqa.slots(officeqa.task(task).question)["years"])

    return next(task for task in officeqa.tasks() if (years(task) >= 2) == several)


def test_every_folder_is_one_of_the_papers_harnesses() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted([*NAMES, "README.md"])


@pytest.mark.parametrize("name", NAMES)
async def test_each_fits_the_benchmark_and_runs(officeqa: OfficeQA, made: Mapping[str, Harness], name: str) -> None:
    check_for_benchmark(made[name], officeqa, where=name)
    rollout, _ = await rolled(officeqa, made[name], [call("search", query="Total receipts"), "1"])
    assert rollout.outcome.reason == "answered"
    assert all(event["failure"] is None for event in events(rollout, "hook"))


def test_h1_adds_instructions_and_a_rewrite_only(h0: Harness, made: Mapping[str, Harness]) -> None:
    h1 = made["h1"]
    modules = {"guidance/units.md", "guidance/precision.md", "guidance/answer-format.md"}
    assert keys(h0, h1) == {"retrieval.rewrites", "tools.instructions", "prompt.md", "memory.md", *modules}
    assert all(module.when.question_has_any for module in h1.guidance)
    assert h1.prompt.startswith(h0.prompt)
    assert h1.structure.retrieval.rewrites == (
        Rewrite(calls_left_at_least=4, drop_stop_words=True, shortest_term=3, most_terms=8, match="any"),
    )


def test_the_second_round_keeps_what_the_paper_says_it_keeps_of_h1(made: Mapping[str, Harness]) -> None:
    h1 = made["h1"]
    for name in ROUNDS[2]:
        new = made[name]
        assert (new.prompt, new.memory) == (h1.prompt, h1.memory)
        assert new.structure.retrieval.rewrites == h1.structure.retrieval.rewrites
        assert new.structure.tools.instructions.startswith(h1.structure.tools.instructions)
    assert keys(h1, made["round2-structural"]) == {"retrieval.merge", "retrieval.diverse", "control.py"}
    assert keys(h1, made["round2-guidance"]) == {"guidance/value-context.md", "guidance/totals.md"}
    rules = {"guidance/numerical-questions.md", "guidance/multi-period-questions.md"}
    assert keys(h1, made["round2-integrated"]) == {"tools.instructions", *rules}


def test_the_third_round_keeps_the_prompt_and_the_empty_memory_of_h0(h0: Harness, made: Mapping[str, Harness]) -> None:
    numerical = {"guidance/units.md", "guidance/precision.md", "guidance/answer-format.md"}
    retrieval = {"retrieval.drop_stop_words", "retrieval.relax_below", "retrieval.rewrites"}
    assert keys(h0, made["round3-structural"]) == {"tools.instructions"}
    assert keys(h0, made["round3-guidance"]) == numerical
    assert keys(h0, made["round3-integrated"]) == numerical | retrieval
    assert made["round3-integrated"].guidance == made["round3-guidance"].guidance
    assert all(module.when.question_has_any for module in made["round3-guidance"].guidance)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("What was gross public debt in 1957?", set()),
        ("What was gross public debt in 1957, in millions of dollars?", {"units"}),
        ("What was the absolute difference in gross public debt?", {"precision"}),
        ("Give gross public debt as a comma separated list in chronological order.", {"answer-format"}),
        ("What was the average rate in percent? List both values.", {"units", "precision", "answer-format"}),
    ],
)
def test_the_numerical_guidance_is_shown_where_a_question_wants_it(
    officeqa: OfficeQA, made: Mapping[str, Harness], asked: str, shown: set[str]
) -> None:
    """Words for how an answer is wanted do not tell questions apart, beside whatever other words they stand."""
    blanked = [name for name, placeholder in officeqa.placeholders.items() if placeholder.tells_tasks_apart]
    situation = Situation(question=asked, slots=officeqa.slots(asked), blanked=blanked, calls_left=16, opened=0)
    for name in ("h1", "round3-guidance"):
        assert {module.name for module in made[name].guidance if is_active(module.when, situation)} == shown


async def test_h1_searches_for_any_of_eight_terms_while_four_calls_remain(
    officeqa: OfficeQA, made: Mapping[str, Harness]
) -> None:
    """Sixteen calls at first: the first search has all of them left, the second four, the third three."""
    asked = "What is the sum of one two three four five six seven eight nine in FY"
    search, sums = call("search", query=asked), call("calculator", expression="1 + 1")
    document = officeqa.view(officeqa.tasks("evo")[0], officeqa.variant("released")).files[0].id
    script = [search, *[call("read", document=document)] * 7, *[sums] * 4, search, search, "1"]
    rollout, _ = await rolled(officeqa, made["h1"], script)
    first, fourth, third = searches(rollout, "model")
    assert first == fourth == {"query": "sum one two three four five six seven", "match": "any"}
    assert third == {"query": asked}


async def test_several_periods_are_searched_for_one_by_one_and_merged_in_turn(
    officeqa: OfficeQA, made: Mapping[str, Harness]
) -> None:
    task = task_with_years(officeqa, several=True)
    years = officeqa.slots(officeqa.task(task).question)["years"][:4]
    rollout, model = await rolled(officeqa, made["round2-structural"], ["1"], task)
    asked = searches(rollout, "harness")
    assert [query["query"].split()[0] for query in asked] == list(years)
    for year, query in zip(years, asked, strict=True):
        assert query["match"] == "any"
        assert len(query["query"].split()) == 8
        assert not [other for other in years if other != year and other in query["query"]]
    shown = model.requests[0].texts()
    first, *_, merged = (passages(text) for text in shown if '"results"' in text)
    assert merged[0] == first[0]
    assert merged[1] not in first  # the best of the second period
    assert len(merged) == len(set(merged)) > len(first)
    assert any("combine the values across documents" in text for text in shown)


async def test_one_period_is_not_searched_for_before_the_model(officeqa: OfficeQA, made: Mapping[str, Harness]) -> None:
    task = task_with_years(officeqa, several=False)
    rollout, _ = await rolled(officeqa, made["round2-structural"], ["1"], task)
    assert searches(rollout, "harness") == []


async def test_the_last_candidate_asks_for_any_term_only_on_low_coverage(
    officeqa: OfficeQA, made: Mapping[str, Harness]
) -> None:
    few = call("search", query="the receipts of nowhere", match="any")
    many = call("search", query="the table of contents")
    rollout, _ = await rolled(officeqa, made["round3-integrated"], [few, many, "1"])
    assert [event["arguments"] for event in tool_events(rollout, "search")] == [
        {"query": "receipts nowhere", "match": "all"},
        {"query": "receipts nowhere", "match": "any"},
        {"query": "table contents", "match": "all"},
    ]


def test_the_embedded_model_understands_sentences_of_theirs(made: Mapping[str, Harness]) -> None:
    """They are plain English; what a program understands of them is what the paper's say."""

    def told(name: str) -> str:
        harness = made[name]
        texts = (harness.prompt, harness.memory, harness.structure.tools.instructions)
        return "\n".join([*texts, *(module.text for module in harness.guidance)])

    h1 = read_directives(told("h1"))
    assert (h1.convert, h1.precise, h1.stop_when_found) == (True, True, True)
    assert not read_directives(told("round3-integrated")).stop_when_found
    assert read_directives(told("round3-structural")).each_period
    assert read_directives(told("round2-guidance")).around
