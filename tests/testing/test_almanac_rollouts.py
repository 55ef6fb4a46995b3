"""Rollouts on a benchmark that shares no tool, field or placeholder with Syn-Ledger, through the same engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chase.agents.reading import read_trace
from chase.core.interfaces import Transformation
from chase.core.values import Rollout
from chase.engine.evaluator import Cell, Evaluator
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.engine.trace import result_text
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.proposal import parse_for
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.benchmark import Almanac
from chase.testing.almanac.reader import register_reader
from chase.testing.scripted import call
from tests.engine.rollouts import events, follow, roll, tool_events
from tests.testing.almanacs import make_harness, make_job, task_of

RENAMED = (
    {"name": "alias-tools", "arguments": {"words": "desk"}},
    {"name": "rename-arguments", "arguments": {"words": "library"}},
    {"name": "rename-fields", "arguments": {"words": "desk"}},
    {"name": "nest-fields", "arguments": {"group": "position"}},
)
"""Everything that the tools show has another name."""
SHORTEST_SNIPPET_FIRST = """
def rerank(hits: list[Hit], state: State) -> list[int]:
    return sorted(range(len(hits)), key=lambda place: len(hits[place]["fields"].get("snippet", "")))
"""


def transformed(almanac: Almanac, *operators: Mapping[str, Any]) -> Transformation[Any]:
    return parse_for(almanac, {"benchmark": "almanac", "operators": list(operators)}).transformation


def hits_of(rollout: Rollout) -> list[tuple[str, str]]:
    """The documents and passages of the first result as the model got it."""
    given = events(rollout, "given") or [{"text": result_text(tool_events(rollout)[0])}]
    found = json.loads(given[0]["text"])
    items = next(value for value in found.values() if isinstance(value, list))
    return [(str(item.get("document")), str(item.get("passage"))) for item in items]


async def evaluated(
    almanac: Almanac, folder: Path, harness: Harness, *transformations: Transformation[Any], role: str = "evo"
) -> list[Cell]:
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("rolled", {})
        async with Sandbox(max_sessions=2) as sandbox:
            model = connect(ModelConfig(name=register_reader()))
            runner = Runner(model=model, store=store, sandbox=sandbox, use=Use(run="rolled", method="rollout"))
            evaluator = Evaluator(benchmark=almanac, runner=runner, store=store, roles={role: 2}, run_seed=0)
            return await evaluator.evaluate_all([(harness, shown) for shown in transformations], role)


def mean(cell: Cell) -> float:
    return float(sum(cell.means.values()) / len(cell.means))


# The reader, with H_0 and with others


async def test_renamed_tools_and_fields_are_worked_under_their_names(almanac: Almanac, tmp_path: Path) -> None:
    harness, renamed = make_harness(almanac), transformed(almanac, *RENAMED)
    released, other = await evaluated(almanac, tmp_path, harness, almanac.variant("released"), renamed)
    assert 0 < mean(released) < 1
    assert other.scores == released.scores
    assert {reason for reasons in other.reasons.values() for reason in reasons} == {"answered"}


async def test_a_name_is_a_shortcut_that_a_renaming_takes_away(almanac: Almanac, tmp_path: Path) -> None:
    """A final report has a short name: who prefers those gains, and loses it where names say nothing."""
    variants = [almanac.variant(name) for name in ("released", "plain-names", "other-results")]
    initial = await evaluated(almanac, tmp_path / "initial", make_harness(almanac), *variants)
    told = make_harness(almanac, say="Prefer files with low name-length.")
    ranked = make_harness(almanac, retrieval={"rank": [{"observable": "name-length", "prefer": "low", "weight": 3.0}]})
    honest = make_harness(almanac, tools={"read_on": {"when": "always"}})
    for place, (harness, keeps) in enumerate([(told, False), (ranked, False), (honest, True)]):
        cells = await evaluated(almanac, tmp_path / str(place), harness, *variants)
        gains = [mean(after) - mean(before) for after, before in zip(cells, initial, strict=True)]
        assert gains[0] > 0.1
        assert gains[2] == gains[0], "result fields have nothing to do with it"
        assert (gains[1] > 0.1) == keeps


async def test_text_and_decimal_answers_and_partial_credit_are_scored(almanac: Almanac) -> None:
    for family, spoil, partly in (
        ("figure", lambda answer: f"{float(answer) * 1.0005:.6f}", 1.0),
        ("figure", lambda answer: f"{float(answer) * 1.01:.6f}", 0.0),
        ("two largest", lambda answer: answer.split("; ")[0], 0.5),
        ("signer", str.lower, 1.0),
    ):
        task = task_of(almanac, family)
        answer = almanac.task(task).answer
        for given, score in ((answer, 1.0), (spoil(answer), partly)):
            rolled, _ = await follow(
                make_job(almanac, make_harness(almanac, control={"repairs": 0}), task=task), [given]
            )
            assert rolled.outcome.score == score


async def test_an_answer_of_another_form_is_sent_back(almanac: Almanac) -> None:
    rolled, model = await follow(make_job(almanac, make_harness(almanac)), ["It is 23.4 tonnes.", "23.4"])
    assert (rolled.answer, len(model.requests)) == ("23.4", 2)
    assert [event["text"] for event in events(rolled, "objection")] == [almanac.answer_form.repair]


async def test_a_released_name_is_refused_where_a_tool_has_another(almanac: Almanac) -> None:
    rolled, model = await follow(
        make_job(almanac, make_harness(almanac), transformed(almanac, *RENAMED)), [call("find", text="report"), "Brack"]
    )
    assert [spec.name for spec in model.requests[0].tools] == ["search_passages", "fetch_lines", "calculate"]
    (event,) = tool_events(rolled)
    assert not event["ok"]
    assert json.loads(result_text(event)) == {
        "message": "There is no tool 'find'. Tools: search_passages, fetch_lines, calculate."
    }


# The harness's policies


async def test_templates_search_and_what_they_find_is_opened_there_and_read_on(almanac: Almanac) -> None:
    harness = make_harness(
        almanac,
        retrieval={"templates": ["{place} {years} notes"], "results": 3},
        tools={"open_first": 1, "read_on": {"when": "observable", "observable": "figure-count", "at_least": 1}},
    )
    for shown, names in (
        (almanac.variant("released"), ("find", "read")),
        (transformed(almanac, *RENAMED), ("search_passages", "fetch_lines")),
    ):
        task = next(t for t in almanac.tasks("evo") if len(almanac.slots(almanac.task(t).question)["years"]) == 2)
        rolled, _ = await follow(make_job(almanac, harness, shown, task), ["Brack"])
        tools = [event["tool"] for event in tool_events(rolled, by="harness")]
        assert tools == [names[0], names[0], names[1]]  # a search for each year, and one document opened
        opened = tool_events(rolled, names[1])[0]
        arguments = list(opened["arguments"].values())
        assert arguments[0] == opened["items"][0]["id"]
        assert arguments[1] > 1, "opened where it was found, not at its beginning"
        assert rolled.answer == "Brack"


async def test_reading_on_asks_for_the_next_lines(almanac: Almanac) -> None:
    harness = make_harness(almanac, tools={"read_on": {"when": "always"}})
    document = almanac.documents[0].id
    for shown, tool, argument in (
        (almanac.variant("released"), "read", "document"),
        (transformed(almanac, *RENAMED), "fetch_lines", "volume"),
    ):
        rolled, model = await follow(make_job(almanac, harness, shown), [call(tool, **{argument: document}), "Brack"])
        asked, more = tool_events(rolled, tool)
        assert (asked["by"], more["by"]) == ("model", "harness")
        assert list(more["arguments"].values()) == [document, 13, 24]
        text = next(t for t in model.requests[1].texts() if t.startswith('{"'))
        read = next(value for value in json.loads(text).values() if isinstance(value, list))
        assert len(read) == 2  # both ranges, as items of one result


async def test_hits_are_ranked_by_an_observable_of_its_own_while_its_field_is_shown(almanac: Almanac) -> None:
    first = {"observable": "passage-start", "prefer": "high", "weight": 100.0}
    harness = make_harness(almanac, retrieval={"rank": [first]})
    search = call("find", text="notes", top=12)
    plain, _ = await follow(make_job(almanac, make_harness(almanac)), [search, "Brack"])
    ranked, _ = await follow(make_job(almanac, harness), [search, "Brack"])
    assert hits_of(ranked) != hits_of(plain)
    assert [passage for _, passage in hits_of(ranked)] == sorted((p for _, p in hits_of(plain)), reverse=True)
    nested = transformed(almanac, {"name": "nest-fields", "arguments": {"group": "position"}})
    unseen, _ = await follow(make_job(almanac, harness, nested), [search, "Brack"])
    assert [document for document, _ in hits_of(unseen)] == [document for document, _ in hits_of(plain)]


async def test_a_renamed_field_touches_a_hook_that_looks_at_it(almanac: Almanac) -> None:
    """Only the firewall sees canonical names: a hook finds a field under the name that is shown, or not at all."""
    search = call("find", text="signed", top=8)
    harness, plain = make_harness(almanac, source=SHORTEST_SNIPPET_FIRST), make_harness(almanac)
    renamed = transformed(almanac, {"name": "rename-fields", "arguments": {"words": "library"}})
    orders = {}
    for name, shown in (("released", almanac.variant("released")), ("renamed", renamed)):
        for kind, used in (("plain", plain), ("hook", harness)):
            rolled, _ = await follow(make_job(almanac, used, shown), [search, "Brack"])
            assert not [event for event in events(rolled, "hook") if event["failure"]]
            orders[name, kind] = [document for document, _ in hits_of(rolled)]
    assert orders["released", "hook"] != orders["released", "plain"]
    assert orders["renamed", "hook"] == orders["renamed", "plain"] == orders["released", "plain"]


async def test_a_trace_tells_which_report_was_opened_and_whether_it_was_read_on(
    almanac: Almanac, reader: ChatModel
) -> None:
    """Miners read it without knowing the benchmark: opening anywhere is opening, the next lines are reading on."""
    for transformation in (almanac.variant("released"), transformed(almanac, *RENAMED)):
        lean = read_trace((await roll(make_job(almanac, make_harness(almanac), transformation), reader)).trace)
        assert [decision.kind for decision in lean.decisions] == ["open"]
        assert lean.unfinished == set(lean.opened)
        assert lean.seen[lean.opened[0]].fields
        thorough = make_harness(almanac, say="Read on.")
        read = read_trace((await roll(make_job(almanac, thorough, transformation), reader)).trace)
        assert ("read on", True) in [(decision.kind, decision.taken) for decision in read.decisions]


PAPERS_H_1 = {
    "calls_left_at_least": 4,
    "drop_stop_words": True,
    "shortest_term": 3,
    "most_terms": 8,
    "match": "any",
}
"""The search-query rewrite of the paper's table "Changes from H_0 to H_1", without a line of code."""


async def test_the_papers_first_harness_is_written_without_code(almanac: Almanac) -> None:
    """While at least four calls remain any word may match; after that the model's own words stand."""
    harness = make_harness(almanac, retrieval={"rewrites": [PAPERS_H_1]})
    search = call("find", text="the signed nowhere of it", match="all")
    document = almanac.documents[0].id
    script = [search, *[call("read", document=document)] * 6, search, "1"]
    rollout, _ = await follow(make_job(almanac, harness), script)
    first, last = (event for event in tool_events(rollout) if event["tool"] == "find")
    assert first["arguments"] == {"text": "signed nowhere", "match": "any"}
    assert first["asked"] == {"text": "the signed nowhere of it", "match": "all"}
    assert first["items"]
    assert last["arguments"] == {"text": "the signed nowhere of it", "match": "all"}  # three calls are left
    assert last["items"] == []


async def test_low_coverage_is_searched_again_for_any_of_the_words(almanac: Almanac) -> None:
    """The paper's third round: all words first, any of them only where that finds little."""
    rule = {"match": "all"}
    harness = make_harness(almanac, retrieval={"relax_below": 1, "rewrites": [rule]})
    rollout, model = await follow(make_job(almanac, harness), [call("find", text="signed nowhere"), "1"])
    asked = [(event["by"], event["arguments"]) for event in tool_events(rollout)]
    assert asked == [
        ("model", {"text": "signed nowhere", "match": "all"}),
        ("harness", {"text": "signed nowhere", "match": "any"}),
    ]
    told = "Few matches; searched for any of the words instead."
    assert any(told in text for text in model.requests[-1].texts())
    plain = make_harness(almanac, retrieval={"relax_below": 1})
    rollout, _ = await follow(make_job(almanac, plain), [call("find", text="signed nowhere"), "1"])
    assert [event["arguments"].get("text") for event in tool_events(rollout)] == ["signed nowhere", "signed"]


async def test_diversity_shows_other_passages_of_a_document_that_was_shown(almanac: Almanac) -> None:
    """Documents come in turn; what is left out of the second result are the passages of the first."""
    harness = make_harness(almanac, retrieval={"diverse": True, "results": 3})
    place = almanac.documents[0].place
    rollout, _ = await follow(make_job(almanac, harness), [call("find", text=place)] * 2 + ["1"])
    results = [json.loads(event["text"])["results"] for event in events(rollout, "given")]
    first, second = ([(hit["document"], hit["passage"]) for hit in hits] for hits in results)
    assert len({document for document, _ in first}) == 3
    assert not set(first) & set(second)
    assert {document for document, _ in first} & {document for document, _ in second}


async def test_how_a_search_matches_follows_the_names_of_a_variant(almanac: Almanac) -> None:
    harness = make_harness(almanac, retrieval={"rewrites": [{"match": "all"}]})
    job = make_job(almanac, harness, transformation=transformed(almanac, *RENAMED))
    search = job.benchmark.environment(job.task, job.transformation).interface.search
    assert search is not None
    assert search.match is not None
    rollout, _ = await follow(job, [call(search.tool, **{search.query: "signed nowhere"}), "1"])
    [event] = tool_events(rollout)
    assert event["ok"]
    assert event["arguments"][search.match.argument] == "all"
    assert event["items"] == []
