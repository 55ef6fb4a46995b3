"""Structural policies: each field of harness.toml really acts, and acts as documented."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.observables import OBSERVABLES, ObservableFunction
from chase.core.stop_words import STOP_WORDS
from chase.core.values import Placeholder, ResultItem, Rollout, Sighting
from chase.engine.policy import clean_query, documents_in_turn, expand, merge, reads_on, relaxed, rerank
from chase.engine.trace import result_text
from chase.harness.spec import Activation, Guidance, Preference, ReadOn, Retrieval, Rewrite
from chase.testing.scripted import Request, ScriptedModel, Step, call
from tests.engine.rollouts import Event, events, follow, make_harness, make_job, tool_events, two_period_task

SLOTS = {"entity": ["Harbor Office"], "period": ["FY2002"], "periods": ["FY2002", "FY2001"], "question": ["How much?"]}


def items(*ids: str) -> list[ResultItem]:
    return [ResultItem(shown=Sighting(id=each, path=f"{each}.md"), line=each) for each in ids]


def ids(text: str) -> list[str]:
    """The documents in a search result's or listing's text, in order."""
    return re.findall(r"^\S+ \[(\w+)\](?: matches| does not match)?$", text, re.MULTILINE)


def last_return(model: ScriptedModel, turn: int = -1) -> str:
    """The last tool result that the model had before a turn."""
    parts = [part for message in model.requests[turn].messages for part in message.parts]
    return str([part for part in parts if isinstance(part, ToolReturnPart)][-1].content)


def user_texts(model: ScriptedModel) -> list[str]:
    """What the model was told beside the question and tool results."""
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)][1:]


def queries(rollout: Rollout, by: str | None = None) -> list[str]:
    return [event["arguments"]["query"] for event in tool_events(rollout, "search", by)]


def summary(event: Event) -> tuple[str, str]:
    return event["tool"], event["by"]


# Pure functions


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{entity} {period}", ["Harbor Office FY2002"]),
        ("{entity} {periods}", ["Harbor Office FY2002", "Harbor Office FY2001"]),
        ("{periods} against {period}", ["FY2002 against FY2002", "FY2001 against FY2002"]),
        ("{question}", ["How much?"]),
        ("approved", ["approved"]),
    ],
)
def test_a_template_makes_one_query_or_one_for_each_period(template: str, expected: list[str]) -> None:
    assert expand(template, SLOTS, SynLedger.placeholders) == expected


def test_a_template_with_an_empty_slot_makes_no_query() -> None:
    assert expand("{entity} {periods}", {**SLOTS, "entity": []}, SynLedger.placeholders) == []
    assert expand("{periods}", {**SLOTS, "periods": []}, SynLedger.placeholders) == []
    assert expand("{period}", {}, SynLedger.placeholders) == []


OTHER_SLOTS = {"title": ["Annual report", "Budget"], "years": ["2019", "2020", "2021"], "cities": ["Oslo", "Rome"]}
OTHER_PLACEHOLDERS = {
    "title": Placeholder(description="a title that the question quotes"),
    "years": Placeholder(description="every year", each=True),
    "cities": Placeholder(description="every city", each=True),
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{title}", ["Annual report"]),
        ("{title} {years}", ["Annual report 2019", "Annual report 2020", "Annual report 2021"]),
        ("{cities} {years}", ["Oslo 2019", "Rome 2020"]),
        ("{years} {cities}, {years}", ["2019 Oslo, 2019", "2020 Rome, 2020"]),
        ("{title}: {cities}, {title}", ["Annual report: Oslo, Annual report", "Annual report: Rome, Annual report"]),
        ("{year}", []),
    ],
)
def test_placeholders_that_stand_for_each_go_together(template: str, expected: list[str]) -> None:
    """The first value of one with the first of the other; what one has more of is left out."""
    assert expand(template, OTHER_SLOTS, OTHER_PLACEHOLDERS) == expected


def test_a_query_is_left_as_it_is_unless_the_policy_says_otherwise() -> None:
    assert clean_query("The  total,  of all", Retrieval()) == "The  total,  of all"
    assert clean_query("The total, of all: approved", Retrieval(drop_stop_words=True)) == "total, approved"
    assert clean_query("one two three", Retrieval(most_terms=2)) == "one two"
    assert clean_query("What is the total of it?", Retrieval(drop_stop_words=True, most_terms=1)) == "total"


def test_stop_words_hold_nothing_that_a_question_asks_about(ledger: SynLedger) -> None:
    """Dropping them leaves every word of a record, but for that of 'in draft'."""
    for task in ledger.tasks("evo")[:8]:
        for record in ledger.task(task).documents[0].records:
            words = f"{record.entity} {record.period} {record.category} {record.status} {record.version}".lower()
            assert not STOP_WORDS & set(words.split()) - {"in"}, words


def test_stop_words_are_a_standard_list_and_not_the_words_of_a_benchmarks_questions() -> None:
    assert len(STOP_WORDS) == 174
    assert {"a", "the", "of", "which", "ourselves", "whom", "doesn't"} <= STOP_WORDS
    assert not {"add", "answer", "far", "much", "plus", "use", "one"} & STOP_WORDS


def test_a_relaxed_query_has_lost_its_last_third_and_at_least_one_word() -> None:
    assert relaxed("a b c d e f") == "a b c d"
    assert relaxed("a b") == "a"
    assert relaxed("a") is None


def test_merging_keeps_each_document_once() -> None:
    results = [items("a", "b", "c"), items("b", "d"), items("e")]
    in_sequence = merge(results, Retrieval())
    in_turn = merge(results, Retrieval(merge="round-robin"))
    assert [item.shown.id for item in in_sequence] == ["a", "b", "c", "d", "e"]
    assert [item.shown.id for item in in_turn] == ["a", "b", "e", "d", "c"]


def passages(*places: tuple[str, int]) -> list[ResultItem]:
    """Hits of passages: (document, first line)."""
    return [
        ResultItem(shown=Sighting(id=id_, path=f"{id_}.txt"), opens={"document": id_, "start": start})
        for id_, start in places
    ]


def where(hits: Sequence[ResultItem]) -> list[tuple[str, int]]:
    return [(hit.shown.id, (hit.opens or {})["start"]) for hit in hits]


def test_merging_keeps_passages_of_one_document_apart() -> None:
    results = [passages(("a", 1), ("a", 41)), passages(("a", 41), ("b", 1), ("a", 81))]
    assert where(merge(results, Retrieval())) == [("a", 1), ("a", 41), ("b", 1), ("a", 81)]
    in_turn = where(merge(results, Retrieval(merge="round-robin")))
    assert in_turn == [("a", 1), ("a", 41), ("b", 1), ("a", 81)]


def test_documents_come_in_turn_and_no_passage_is_dropped() -> None:
    hits = passages(("a", 1), ("a", 41), ("b", 1), ("a", 81), ("c", 1), ("b", 41))
    assert where(documents_in_turn(hits)) == [("a", 1), ("b", 1), ("c", 1), ("a", 41), ("b", 41), ("a", 81)]


def test_documents_in_turn_leave_what_does_not_match_behind() -> None:
    found = (("a", True), ("a", True), ("b", False), ("a", False), ("b", False))
    hits = [ResultItem(shown=Sighting(id=id_, path="", matches=matches), line=id_) for id_, matches in found]
    assert documents_in_turn(hits) == [hits[0], hits[1], hits[2], hits[3], hits[4]]


def test_reranking_adds_the_rank_on_each_observable_to_the_place() -> None:
    hits = [
        ResultItem(shown=Sighting(id=name, path=path), line=name)
        for name, path in (("a", "x/y/z/a.md"), ("b", "x/y/b.md"), ("c", "x/c.md"))
    ]
    shallow = Preference(observable="path-depth", prefer="low", weight=10)
    deep = Preference(observable="path-depth", prefer="high", weight=10)
    weak = Preference(observable="path-depth", prefer="low", weight=0.1)
    assert [item.text for item in rerank(hits, [shallow], OBSERVABLES)] == ["c", "b", "a"]
    assert [item.text for item in rerank(hits[::-1], [deep], OBSERVABLES)] == ["a", "b", "c"]
    assert [item.text for item in rerank(hits, [weak], OBSERVABLES)] == ["a", "b", "c"]
    assert [item.text for item in rerank(hits, [shallow, deep], OBSERVABLES)] == ["a", "b", "c"]


def test_what_cannot_be_seen_of_a_document_ranks_in_the_middle() -> None:
    hits = [
        ResultItem(shown=Sighting(id=name, path="a.md", listing=listing), line=name)
        for name, listing in (("late", 9), ("unseen", None), ("early", 0))
    ]
    order = rerank(hits, [Preference(observable="listing-position", prefer="low", weight=100)], OBSERVABLES)
    assert [item.text for item in order] == ["early", "unseen", "late"]


def test_reading_on_by_an_observable() -> None:
    shown = Sighting(id="a", path="x/y/a.md", window=0, text="one\ntwo")
    assert reads_on(ReadOn(when="always"), shown, OBSERVABLES)
    assert not reads_on(ReadOn(), shown, OBSERVABLES)
    for at_most, expected in ((2.0, True), (1.0, False)):
        rule = ReadOn(when="observable", observable="path-depth", at_most=at_most)
        assert reads_on(rule, shown, OBSERVABLES) is expected
    for at_least, expected in ((2.0, True), (3.0, False)):
        rule = ReadOn(when="observable", observable="path-depth", at_least=at_least)
        assert reads_on(rule, shown, OBSERVABLES) is expected
    unseen = ReadOn(when="observable", observable="listing-position", at_least=0.0)
    assert not reads_on(unseen, shown, OBSERVABLES)


def test_policies_use_the_observables_of_the_benchmark() -> None:
    def year(shown: Sighting) -> float | None:
        return shown.fields.get("year")

    own = {"year": ObservableFunction("year", "the year of the document", year)}
    hits = [
        ResultItem(shown=Sighting(id=str(each), path="", window=0, fields={"year": each}), line=str(each))
        for each in (2019, None, 2021)
    ]
    newest = Preference(observable="year", prefer="high", weight=100)
    assert [item.text for item in rerank(hits, [newest], own)] == ["2021", "None", "2019"]
    recent = ReadOn(when="observable", observable="year", at_least=2020)
    assert [reads_on(recent, item.shown, own) for item in hits] == [False, False, True]


# Retrieval policy at work


async def test_h0_passes_a_models_search_on_as_it_is(ledger: SynLedger) -> None:
    rollout, model = await follow(make_job(ledger), [call("search", query="the  approved", limit=5), "1"])
    [event] = tool_events(rollout)
    assert event["arguments"] == {"query": "the  approved", "limit": 5}
    assert "asked" not in event
    assert last_return(model) == result_text(event)
    assert not events(rollout, "given")


async def test_results_decides_how_many_hits_are_shown_whatever_the_model_asks(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"results": 2})
    script = [call("search", query="approved", limit=9), call("search", query="approved"), "1"]
    rollout, model = await follow(make_job(ledger, harness), script)
    for event, asked in zip(tool_events(rollout), ({"limit": 9}, {}), strict=True):
        assert event["arguments"]["limit"] == 2
        assert event["asked"] == {"query": "approved", **asked}
        assert len(ids(result_text(event))) == 2
    assert len(ids(last_return(model))) == 2


async def test_templates_are_searched_before_the_first_turn_as_counted_calls(ledger: SynLedger) -> None:
    task = two_period_task(ledger)
    slots = ledger.slots(ledger.task(task).question)
    harness = make_harness(retrieval={"templates": ["{entity} {periods}", "{entity}"]})
    script = [call("search", query="approved"), call("search", query="enacted"), "1"]
    rollout, model = await follow(make_job(ledger, harness, task=task), script)
    entity = slots["entity"][0]
    assert queries(rollout, "harness") == [f"{entity} {period}" for period in slots["periods"]] + [entity]
    history = model.requests[0].messages
    assert [type(message).__name__ for message in history] == ["ModelRequest"] + ["ModelResponse", "ModelRequest"] * 3
    shown = [part.content for message in history[1:] for part in message.parts if isinstance(part, ToolReturnPart)]
    assert shown == [result_text(event) for event in tool_events(rollout, by="harness")]
    assert [event["ok"] for event in tool_events(rollout, by="model")] == [True, False]


async def test_opening_searches_stop_at_the_budget(ledger: SynLedger) -> None:
    task = two_period_task(ledger)
    harness = make_harness(retrieval={"templates": ["{periods}", "{entity} {periods}", "{question} {periods}"]})
    rollout, _ = await follow(make_job(ledger, harness, task=task), [call("search", query="approved"), "1"])
    assert len(queries(rollout, "harness")) == ledger.limits.group_calls["search"]
    assert [event["ok"] for event in tool_events(rollout, by="model")] == [False]


async def test_round_robin_shows_all_hits_in_turn_and_decides_what_is_opened_first(ledger: SynLedger) -> None:
    task = two_period_task(ledger)
    retrieval = {"templates": ["{entity} {periods}"], "results": 5}
    opened = {}
    for kind in ("sequence", "round-robin"):
        harness = make_harness(retrieval={**retrieval, "merge": kind}, tools={"open_first": 3})
        rollout, model = await follow(make_job(ledger, harness, task=task), ["1"])
        hits = [ids(result_text(event)) for event in tool_events(rollout, "search")]
        rows = [*hits] if kind == "sequence" else list(zip_longest(*hits))
        merged = list(dict.fromkeys(document for row in rows for document in row if document))
        opened[kind] = [event["arguments"]["file"] for event in tool_events(rollout, "open_file")]
        assert opened[kind] == merged[:3]
        returns = [p for m in model.requests[0].messages for p in m.parts if isinstance(p, ToolReturnPart)]
        if kind == "round-robin":
            assert str(returns[1].content).startswith("All results, merged:\n")
            assert ids(str(returns[1].content)) == merged
            assert [event["text"] for event in events(rollout, "given")] == [returns[1].content]
    assert opened["sequence"] != opened["round-robin"]


async def test_diversity_leaves_out_what_was_shown_before(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"diverse": True, "results": 4})
    search = call("search", query="approved")
    _, model = await follow(make_job(ledger, harness), [search, search, search, search, "1"])
    shown = [ids(last_return(model, turn)) for turn in range(1, 5)]
    assert [len(each) for each in shown] == [4, 4, 4, 4]
    assert len(set(shown[0] + shown[1] + shown[2])) == 12
    assert shown[3] == shown[0]  # everything was shown: better again than nothing
    _, model = await follow(make_job(ledger, make_harness(retrieval={"results": 4})), [search, search, "1"])
    assert ids(last_return(model, 1)) == ids(last_return(model, 2))


async def test_stop_words_and_long_queries_are_cut_before_the_search(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"drop_stop_words": True, "most_terms": 2})
    asked = "What is the total of approved adjustment?"
    rollout, _ = await follow(make_job(ledger, harness), [call("search", query=asked), "1"])
    [event] = tool_events(rollout)
    assert event["arguments"]["query"] == "total approved"
    assert event["asked"]["query"] == asked
    nothing, _ = await follow(make_job(ledger, harness), [call("search", query="What is it?"), "1"])
    assert queries(nothing) == ["What is it?"]  # a query is never cut to nothing


async def test_low_coverage_is_searched_again_with_fewer_words(ledger: SynLedger) -> None:
    entity = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)["entity"][0]
    harness = make_harness(retrieval={"relax_below": 1})
    query = f"{entity} nowhere"
    rollout, model = await follow(make_job(ledger, harness), [call("search", query=query), "1"])
    assert queries(rollout) == [query, entity]
    assert [summary(event) for event in tool_events(rollout)] == [("search", "model"), ("search", "harness")]
    told = f'Few matches; searched for "{entity}" instead. '
    assert last_return(model) == f"{told}{result_text(tool_events(rollout)[1])}"
    assert "12 of 12 files match" in last_return(model)
    found, _ = await follow(make_job(ledger, harness), [call("search", query=entity), "1"])
    assert queries(found) == [entity]


async def test_relaxing_is_paid_from_the_same_budget(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"relax_below": 12})
    rollout, _ = await follow(make_job(ledger, harness), [call("search", query="no such words")] * 4 + ["1"])
    assert [event["ok"] for event in tool_events(rollout)] == [True, True, True, True, False, False]
    assert [event["by"] for event in tool_events(rollout)] == ["model", "harness"] * 2 + ["model"] * 2


async def test_a_rewrite_takes_over_when_few_calls_are_left(ledger: SynLedger) -> None:
    slots = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)
    rules = [
        {"searches_left_at_most": 1, "template": "{entity}"},
        {"searches_left_at_most": 2, "template": "{entity} {period}"},
    ]
    harness = make_harness(retrieval={"rewrites": rules})
    rollout, _ = await follow(make_job(ledger, harness), [call("search", query="mine")] * 4 + ["1"])
    entity = slots["entity"][0]
    assert queries(rollout) == ["mine", "mine", f"{entity} {slots['period'][0]}", entity]
    assert ["asked" in event for event in tool_events(rollout)] == [False, False, True, True]
    assert tool_events(rollout)[-1]["asked"] == {"query": "mine"}


async def test_calls_left_means_all_calls_and_searches_left_searches(ledger: SynLedger) -> None:
    """Twelve calls and four searches at first; a listing spends both, an opened file and a calculation calls alone."""
    task = ledger.tasks("evo")[0]
    document = ledger.view(task, ledger.variant("released")).files[0].id
    search = call("search", query="mine")
    spend = [call("calculator", expression="1+1"), call("open_file", file=document)]
    script = [search, *spend, search, call("list_files"), search, "1"]

    async def asked(**condition: int) -> list[bool]:
        """Of each of the three searches: whether it was rewritten."""
        harness = make_harness(retrieval={"rewrites": [{**condition, "template": "{entity}"}]})
        rollout, _ = await follow(make_job(ledger, harness, task=task), script)
        return [query != "mine" for query in queries(rollout)]

    # 12 calls and 4 searches are left, then 9 and 3, then 7 and 1.
    assert await asked(calls_left_at_least=9) == [True, True, False]
    assert await asked(calls_left_at_least=10) == [True, False, False]
    assert await asked(calls_left_at_most=9) == [False, True, True]
    assert await asked(searches_left_at_least=3) == [True, True, False]
    assert await asked(searches_left_at_most=3) == [False, True, True]
    assert await asked(calls_left_at_least=8, searches_left_at_most=3) == [False, True, False]
    late = Guidance(name="late", when=Activation(calls_left_at_most=9), text="Nine calls are left.")
    _, model = await follow(make_job(ledger, make_harness(guidance=(late,)), task=task), script)
    told = [sum("Nine calls" in text for text in request.texts()) for request in model.requests]
    assert told == [0, 0, 0, 1, 1, 1, 1]


def test_a_rewrite_cleans_a_query_as_the_papers_h_1_does() -> None:
    rule = Rewrite(drop_stop_words=True, shortest_term=3, most_terms=8)
    asked = "What is the sum of US net exports in FY 2011 and the gold, silver, copper, zinc, tin, iron stocks?"
    assert clean_query(asked, Retrieval(), rule) == "sum net exports 2011 gold, silver, copper, zinc,"
    assert clean_query(asked, Retrieval(most_terms=2), rule) == "sum net"
    assert clean_query("US in FY", Retrieval(), rule) == ""  # which the engine does not search for


async def test_a_rewrites_template_leaves_the_harness_own_searches_alone(ledger: SynLedger) -> None:
    rewrite = {"template": "{period}"}
    harness = make_harness(retrieval={"templates": ["{entity}"], "rewrites": [rewrite]})
    rollout, _ = await follow(make_job(ledger, harness), [call("search", query="mine"), "1"])
    slots = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)
    assert queries(rollout) == [slots["entity"][0], slots["period"][0]]


async def test_a_rewrite_without_a_template_cleans_the_harness_own_searches_too(ledger: SynLedger) -> None:
    slots = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)
    retrieval = {"templates": ["in the {entity}"], "rewrites": [{"drop_stop_words": True}]}
    rollout, _ = await follow(make_job(ledger, make_harness(retrieval=retrieval)), ["1"])
    assert queries(rollout, "harness") == [slots["entity"][0]]


@pytest.mark.parametrize("prefer", ["low", "high"])
async def test_rank_reorders_all_hits_before_the_cut(ledger: SynLedger, prefer: str) -> None:
    rank = [{"observable": "name-length", "prefer": prefer, "weight": 100}]
    harness = make_harness(retrieval={"rank": rank})
    rollout, model = await follow(make_job(ledger, harness), [call("search", query="approved", limit=3), "1"])
    [event] = tool_events(rollout)
    assert event["arguments"]["limit"] == 12
    paths = re.findall(r"^(\S+) \[\w+\] does not match$", result_text(event), re.MULTILINE)
    assert len(paths) == 12
    length = OBSERVABLES["name-length"]
    lengths = {path: length(Sighting(id="", path=path)) or 0.0 for path in paths}
    best = sorted(paths, key=lambda path: lengths[path] * (1 if prefer == "low" else -1))[:3]
    shown = re.findall(r"^(\S+) \[\w+\] does not match$", last_return(model), re.MULTILINE)
    assert [lengths[path] for path in shown] == [lengths[path] for path in best]
    assert shown != paths[:3]
    [given] = events(rollout, "given")
    assert given["text"] == last_return(model)


async def test_a_meaningless_order_leaves_matches_first_and_the_head_true(ledger: SynLedger) -> None:
    """Else a cut after the re-ordering would throw matches away."""
    query = ledger.task(ledger.tasks("evo")[0]).query
    rank = [{"observable": "id-final", "prefer": "low", "weight": 100}]
    harness = make_harness(retrieval={"rank": rank, "results": 4})
    asked = call("search", query=f"{query.entity} {query.periods[0]} {query.family.roles[0].category}")
    rollout, model = await follow(make_job(ledger, harness), [asked, "1"])
    [event] = tool_events(rollout)
    matching = [item["id"] for item in event["items"] if item["matches"]]
    assert 1 < len(matching) < 4
    assert last_return(model).startswith(f"{len(matching)} of 12 files match.")
    assert set(ids(last_return(model))[: len(matching)]) == set(matching)
    assert ids(last_return(model)) != [item["id"] for item in event["items"][:4]]


async def test_diversity_shows_again_what_matches_only_now(ledger: SynLedger) -> None:
    query = ledger.task(ledger.tasks("evo")[0]).query
    harness = make_harness(retrieval={"diverse": True, "results": 12})
    searches: list[Step] = [call("search", query="nowhere"), call("search", query=query.entity), "1"]
    rollout, model = await follow(make_job(ledger, harness), searches)
    matching = [item["id"] for item in tool_events(rollout)[1]["items"] if item["matches"]]
    assert ids(last_return(model)) == matching


async def test_an_invalid_limit_is_refused_under_any_retrieval_policy(ledger: SynLedger) -> None:
    for retrieval in ({}, {"diverse": True}):
        harness = make_harness(retrieval=retrieval)
        for limit in (0, -1, 13, "4", True, 2.0):
            rollout, _ = await follow(make_job(ledger, harness), [call("search", query="x", limit=limit), "1"])
            assert [event["ok"] for event in tool_events(rollout)] == [False], (retrieval, limit)


# Tool policy at work


def listed(request: Request) -> list[str]:
    [returned] = [p for m in request.messages for p in m.parts if isinstance(p, ToolReturnPart)][:1]
    return ids(str(returned.content))


def opening(*places: int) -> list[Step]:
    """Lists the files, then opens those of the places, one a turn."""

    def step(request: Request) -> Step:
        if request.turn == 0:
            return call("list_files")
        if request.turn > len(places):
            return "1"
        return call("open_file", file=listed(request)[places[request.turn - 1]])

    return step  # type: ignore[return-value]


async def test_opened_files_bounds_different_files_not_windows(ledger: SynLedger) -> None:
    harness = make_harness(tools={"opened_files": 2})
    rollout, model = await follow(make_job(ledger, harness), opening(0, 1, 2, 0, 1))
    opens = tool_events(rollout, "open_file")
    assert [(event["ok"], event["by"]) for event in opens] == [
        (True, "model"),
        (True, "model"),
        (False, "harness"),
        (True, "model"),
        (True, "model"),
    ]
    assert "may open no further file" in result_text(opens[2])
    assert "4 file-opening calls are left" in result_text(opens[2])  # a refusal by the harness costs nothing
    assert result_text(opens[2]) in model.requests[-1].texts()


async def test_a_file_is_the_same_by_path_and_by_id(ledger: SynLedger) -> None:
    harness = make_harness(tools={"opened_files": 1})

    def step(request: Request) -> Step:
        if request.turn == 0:
            return call("list_files")
        listing = next(p for m in request.messages for p in m.parts if isinstance(p, ToolReturnPart)).content
        path, document = re.findall(r"^(\S+) \[(\w+)\]$", str(listing), re.MULTILINE)[0]
        return ["", call("open_file", file=path), call("open_file", file=document), "1"][request.turn]

    rollout, _ = await follow(make_job(ledger, harness), step)
    assert [event["ok"] for event in tool_events(rollout, "open_file")] == [True, True]


async def test_reserved_reads_are_kept_for_reading_on(ledger: SynLedger) -> None:
    harness = make_harness(tools={"reserved_reads": 2})
    rollout, _ = await follow(make_job(ledger, harness), opening(0, 1, 2, 3, 4, 0, 5, 1))
    opens = tool_events(rollout, "open_file")
    assert [event["ok"] for event in opens] == [True, True, True, True, False, True, False, True]
    assert "2 file-opening calls are left and are kept for reading on" in result_text(opens[4])
    plain, _ = await follow(make_job(ledger), opening(0, 1, 2, 3, 4, 0, 5, 1))
    assert [event["ok"] for event in tool_events(plain, "open_file")] == [True] * 6 + [False] * 2


async def test_open_first_opens_the_best_hits_before_the_first_turn(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"templates": ["{entity} {period}"]}, tools={"open_first": 2})
    rollout, model = await follow(make_job(ledger, harness), ["1"])
    search, *opens = tool_events(rollout)
    assert [event["arguments"]["file"] for event in opens] == ids(result_text(search))[:2]
    assert all(event["by"] == "harness" and event["ok"] for event in opens)
    assert all(result_text(event) in model.requests[0].texts() for event in opens)
    nothing, _ = await follow(make_job(ledger, make_harness(tools={"open_first": 2})), ["1"])
    assert tool_events(nothing) == []


async def test_read_on_shows_both_windows_in_one_result(ledger: SynLedger) -> None:
    harness = make_harness(tools={"read_on": {"when": "always"}})
    rollout, model = await follow(make_job(ledger, harness), opening(0))
    first, second = tool_events(rollout, "open_file")
    assert [first["by"], second["by"]] == ["model", "harness"]
    assert [first["items"][0]["window"], second["items"][0]["window"]] == [0, 1]
    assert last_return(model) == f"{result_text(first)}\n{result_text(second).split(chr(10), 1)[1]}"
    assert events(rollout, "given")[-1]["text"] == last_return(model)
    plain, _ = await follow(make_job(ledger), opening(0))
    assert len(tool_events(plain, "open_file")) == 1


async def test_read_on_by_an_observable_reads_on_there_only(ledger: SynLedger) -> None:
    rule = {"when": "observable", "observable": "path-depth", "at_least": 2}
    rollout, _ = await follow(make_job(ledger, make_harness(tools={"read_on": rule})), opening(6, 7, 8, 9, 10, 11))
    read_on = {e["arguments"]["file"] for e in tool_events(rollout, "open_file", "harness")}
    opened = {e["arguments"]["file"]: e["items"][0]["path"] for e in tool_events(rollout, "open_file") if e["ok"]}
    assert read_on
    assert read_on != set(opened)
    budget_left = 6
    for document, path in opened.items():
        budget_left -= 2 if document in read_on else 1
        assert (document in read_on) == (path.count("/") >= 2) or budget_left <= 0


# Control policy at work


async def test_the_model_is_told_once_to_answer_when_few_calls_are_left(ledger: SynLedger) -> None:
    harness = make_harness(control={"answer_when_calls_left": 10})
    script: list[Step] = [call("list_files"), call("list_files"), call("list_files"), "1"]
    rollout, model = await follow(make_job(ledger, harness), script)
    assert user_texts(model) == ["10 calls are left. Answer now with what you have."]
    assert [event["text"] for event in events(rollout, "note")] == user_texts(model)
    second = model.requests[2].messages[-1]
    assert isinstance(second, ModelRequest)
    assert isinstance(second.parts[-1], UserPromptPart)
    _, model = await follow(make_job(ledger), script)
    assert user_texts(model) == []


async def test_repairs_send_back_what_is_no_integer_so_often_and_no_more(ledger: SynLedger) -> None:
    right = str(ledger.task(ledger.tasks("evo")[0]).answer)
    once = make_harness(control={"repairs": 1})
    rollout, model = await follow(make_job(ledger, once), [f"It is {right}.", right])
    assert rollout.outcome.score == 1.0
    assert user_texts(model) == ["That is not one integer. Reply with the integer alone."]
    assert [event["text"] for event in events(rollout, "objection")] == user_texts(model)
    stubborn, model = await follow(make_job(ledger, once), ["It is so.", "It is so."])
    assert (stubborn.outcome.score, stubborn.answer, len(model.requests)) == (0.0, "It is so.", 2)
    twice, model = await follow(make_job(ledger, make_harness(control={"repairs": 2})), ["", "no", right])
    assert (twice.outcome.score, len(model.requests)) == (1.0, 3)
    plain, model = await follow(make_job(ledger), [f"It is {right}."])
    assert (plain.outcome.score, len(model.requests)) == (0.0, 1)


async def test_tool_instructions_stand_in_the_system_prompt(ledger: SynLedger) -> None:
    _, model = await follow(make_job(ledger, make_harness(tools={"instructions": "Search first."})), ["1"])
    assert "\n\nUsing the tools:\nSearch first." in model.requests[0].texts()[0]
