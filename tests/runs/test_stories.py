"""Where two agents first act otherwise: by what they do, not by what they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from chase.runs.stories import first_difference, story


def model(text: str = "", *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"event": "model", "text": text, "calls": [{"tool": tool, "arguments": given} for tool, given in calls]}


def tool(name: str, arguments: dict[str, Any], head: str, by: str = "model") -> dict[str, Any]:
    return {"event": "tool", "by": by, "tool": name, "arguments": arguments, "ok": True, "head": head, "items": []}


PROMPT = {"event": "prompt", "guidance": [], "system": "Answer.", "user": "How much?"}
BOTH = [PROMPT, model("", ("open", {"file": "x"})), tool("open", {"file": "x"}, "as released"), model(" 75 ")]


def difference(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> int | None:
    return first_difference(list(story({"events": one})), list(story({"events": other})))


@pytest.mark.parametrize(
    ("one", "other", "at"),
    [
        (BOTH, BOTH, None),
        (BOTH, [{**PROMPT, "system": "Else."}, BOTH[1], tool("open", {"file": "x"}, "otherwise"), model("75")], None),
        (BOTH, [*BOTH[:3], model("76")], 3),
        (BOTH, [PROMPT, model("", ("open", {"file": "y"})), *BOTH[2:]], 1),
        (BOTH, [PROMPT, model("", ("search", {"file": "x"})), *BOTH[2:]], 1),
        ([PROMPT, tool("search", {"query": "q"}, "", "harness"), *BOTH[1:]], BOTH, 1),
        (BOTH, BOTH[:3], 3),
        (BOTH[:3], BOTH, 3),
        ([], BOTH, 0),
        ([], [], None),
    ],
)
def test_the_first_act_that_differs_is_found(one: list[Any], other: list[Any], at: int | None) -> None:
    assert difference(one, other) == at


def test_a_step_has_the_turn_that_it_belongs_to_and_an_event_that_is_not_known_is_told_as_it_is() -> None:
    steps = list(story({"events": [*BOTH, {"event": "odd", "value": [1]}]}))
    assert [step.turn for step in steps] == [0, 1, 1, 2, 2]
    assert steps[2].texts == ("as released",)
    assert (steps[-1].heading, steps[-1].texts) == ("odd", ('{"value": [1]}',))
    assert list(story({})) == []
