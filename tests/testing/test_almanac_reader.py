"""`sim:almanac` goes by what it is shown: descriptions, schemas and values, whatever they are called."""

from __future__ import annotations

import json

import pytest

from chase.models.chat import ChatModel, request_parameters
from chase.testing.almanac.benchmark import Almanac
from chase.testing.almanac.reader import NOT_FOUND, Tools, read_advice
from chase.testing.almanac.reading import read_items
from tests.engine.rollouts import roll, tool_events
from tests.testing.almanacs import make_harness, make_job


def test_it_recognises_the_tools_of_every_variant(almanac: Almanac) -> None:
    for variant in almanac.variants():
        environment = almanac.environment(almanac.tasks()[0], almanac.variant(variant))
        tools = Tools.recognise(request_parameters(environment.tools).function_tools)
        assert tools is not None
        search, opener = environment.interface.search, environment.interface.open
        assert search is not None
        assert opener is not None
        assert (tools.find, tools.text) == (search.tool, search.query)
        assert (tools.read, tools.document) == (opener.tool, opener.document)


def test_it_reads_the_items_of_every_variant(almanac: Almanac) -> None:
    for variant in almanac.variants():
        environment = almanac.environment(almanac.tasks()[0], almanac.variant(variant))
        search = environment.interface.search
        assert search is not None
        result = environment.call(search.tool, {search.query: "signed"})
        items = read_items(f"{result.text}\nWhat a hook added.")
        assert [(item.document, item.name) for item in items] == [(i.shown.id, i.shown.path) for i in result.items]


@pytest.mark.parametrize(
    "content", ["", "no JSON", "[1]", json.dumps({"results": [1, {}, {"a": "b"}]}), '{"message": "x"}']
)
def test_what_is_no_result_shows_nothing(content: str) -> None:
    assert read_items(content) == []


def test_it_hears_what_a_harness_tells_it() -> None:
    plain = read_advice("Answer the question.")
    assert not plain.verifies
    assert plain.reads_on
    told = read_advice("Prefer files with low name-length. Read on in files with high unit-line. Look at every record.")
    assert told.prefers == (("low", "name-length"),)
    assert told.verifies_where == (("high", "unit-line"),)
    assert (told.verifies, told.careful) == (False, True)
    assert read_advice("Read on.").verifies
    assert read_advice("Check every condition.").verifies
    never = read_advice("Do not read on.")
    assert (never.verifies, never.reads_on) == (False, False)


async def test_it_gives_up_within_the_limits(almanac: Almanac, reader: ChatModel) -> None:
    """Passages of another report are all that it is let see."""
    source = 'def rewrite_query(query: str, state: State) -> str:\n    return "fortnight"\n'
    rolled = await roll(make_job(almanac, make_harness(almanac, source=source, control={"repairs": 0})), reader)
    assert rolled.outcome.reason == "answered"
    assert rolled.answer != almanac.task(rolled.key.task).answer
    assert len(tool_events(rolled)) <= almanac.limits.total_calls


async def test_the_same_request_gets_the_same_reply(almanac: Almanac, reader: ChatModel) -> None:
    job = make_job(almanac, make_harness(almanac))
    first, second = await roll(job, reader), await roll(job, reader)
    assert first.trace == second.trace
    assert first.answer != NOT_FOUND
