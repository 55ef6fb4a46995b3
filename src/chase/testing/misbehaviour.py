"""A model that misbehaves on a schedule: `scripted(misbehaving(rate=0.5, seed=2))`.

Which mistake it makes in which turn is decided by the question and the turn alone. Between mistakes it lists files and
searches, and it ends with an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.keyed import uniform
from chase.testing.scripted import Call, Request, Step, call

LONG = "7 " * (1 << 20)
"""A message of 2 MB."""
TURNS = 4


@dataclass(frozen=True, slots=True)
class Mistake:
    """What the model does, and how a trace's model event shows it."""

    step: Step
    shows_in: Callable[[Mapping[str, Any]], bool]


def _calls(tool: str, arguments: Any) -> Callable[[Mapping[str, Any]], bool]:
    return lambda event: {"tool": tool, "arguments": arguments} in event["calls"]


NOT_JSON, NOT_AN_OBJECT, LONG_QUERY = '{"query": "x', "[1, 2]", "x" * (1 << 21)
MISTAKES: Mapping[str, Mistake] = {
    "unknown tool": Mistake(call("delete_files", path="/"), _calls("delete_files", {"path": "/"})),
    "argument of the wrong type": Mistake(call("search", query=5), _calls("search", {"query": 5})),
    "argument that does not exist": Mistake(call("list_files", depth=1), _calls("list_files", {"depth": 1})),
    "arguments that are no JSON": Mistake(Call("search", NOT_JSON), _calls("search", NOT_JSON)),
    "arguments that are no object": Mistake(Call("search", NOT_AN_OBJECT), _calls("search", json.loads(NOT_AN_OBJECT))),
    "argument of 2 MB": Mistake(call("open_file", file=LONG_QUERY), _calls("open_file", {"file": LONG_QUERY})),
    "call without a name": Mistake(Call("", {}), _calls("", {})),
    "empty message": Mistake("", lambda event: not event["text"] and not event["calls"]),
    "message of 2 MB": Mistake(LONG, lambda event: event["text"] == LONG),
}
"""By name. An empty message or one of 2 MB ends the rollout; the others cost a call."""


def misbehaving(*, rate: float, seed: int, kinds: Sequence[str] = tuple(MISTAKES)) -> Callable[[Request], Step]:
    """A script in which a share `rate` of all turns is a mistake."""

    def script(request: Request) -> Step:
        question = str(getattr(request.messages[0].parts[1], "content", ""))
        if uniform("mistake", seed, question, request.turn) < rate:
            return MISTAKES[kinds[int(uniform("which mistake", seed, question, request.turn) * len(kinds))]].step
        if request.turn >= TURNS:
            return "1"
        return call("list_files") if request.turn % 2 else call("search", query=question)

    return script
