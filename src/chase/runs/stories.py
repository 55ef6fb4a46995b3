"""A rollout's trace as people read it: its steps in order, each with a heading and texts, and what the agent did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.keyed import canonical_json
from chase.engine.trace import result_text

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One event of a trace."""

    turn: int
    """How many replies of the model there were up to it."""
    kind: str
    """`prompt`, `model`, `tool`, …"""
    heading: str
    texts: tuple[str, ...]
    action: str | None
    """What the agent does here, in a form that can be compared with another trace's; None: nothing is done."""


def story(trace: Mapping[str, Any]) -> Iterator[Step]:
    """The steps of a trace. One that is not as the engine writes it is told as it is."""
    events: Sequence[Event] = trace.get("events", ())
    turn = 0
    for event in events:
        turn += event["event"] == "model"
        heading, *texts = _EVENTS.get(event["event"], _other)(event)
        yield Step(turn=turn, kind=event["event"], heading=heading, texts=tuple(texts), action=_action(event))


def first_difference(one: Sequence[Step], other: Sequence[Step]) -> int | None:
    """The number of the first step of `one` in which its agent acts otherwise than the other's; None: it never does.

    What the agent was shown is not compared: under a counterfactual it reads otherwise. Where the other went on after
    the last act of `one`, that is the number of its steps.
    """
    acts = [(number, step.action) for number, step in enumerate(one) if step.action is not None]
    others = [step.action for step in other if step.action is not None]
    for (number, action), theirs in zip(acts, others, strict=False):
        if action != theirs:
            return number
    if len(acts) > len(others):
        return acts[len(others)][0]
    return None if len(acts) == len(others) else len(one)


def _action(event: Event) -> str | None:
    """The model's reply, or a call that the harness makes by itself: what the model calls is in its reply."""
    if event["event"] == "model":
        calls = [[call.get("tool"), call.get("arguments")] for call in event.get("calls", ())]
        return canonical_json(calls) if calls else canonical_json(str(event.get("text", "")).strip())
    if event["event"] == "tool" and event.get("by") != "model":
        return canonical_json([event.get("tool"), event.get("arguments")])
    return None


def _prompt(event: Event) -> Iterator[str]:
    guidance = event["guidance"]
    yield "prompt" + (f", with guidance {', '.join(guidance)}" if guidance else "")
    yield f"{event['system']}\n\n{event['user']}"


def _model(event: Event) -> Iterator[str]:
    yield "model"
    if event.get("thinking"):
        yield f"(thinking) {event['thinking']}"
    if event["text"] or not event["calls"]:
        yield event["text"]
    for call in event["calls"]:
        yield f"calls {call['tool']} {_brief(call['arguments'])}"


def _tool(event: Event) -> Iterator[str]:
    asked = f", asked for {_brief(event['asked'])}" if "asked" in event else ""
    refused = "" if event["ok"] else ", refused"
    yield f"{event['tool']} {_brief(event['arguments'])} (by the {event['by']}{asked}{refused})"
    yield result_text(event)


def _hook(event: Event) -> Iterator[str]:
    if event["failure"] is not None:
        yield f"hook {event['hook']} failed: {event['failure']}"
        if event.get("detail"):
            yield event["detail"]
    else:
        yield f"hook {event['hook']} returned {json.dumps(event['value'], ensure_ascii=False)}"


def _given(event: Event) -> Iterator[str]:
    yield f"what the model was given of {event['tool']}, as the harness changed it"
    yield event["text"]


def _note(event: Event) -> Iterator[str]:
    yield "note to the model"
    yield event["text"]


def _objection(event: Event) -> Iterator[str]:
    yield "the answer was sent back"
    yield event["text"]


def _guidance(event: Event) -> Iterator[str]:
    yield f"guidance {event['name']} became active"


def _other(event: Event) -> Iterator[str]:
    yield event["event"]
    yield _brief({name: value for name, value in event.items() if name != "event"})


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_EVENTS: Mapping[str, Callable[[Event], Iterator[str]]] = {
    "prompt": _prompt,
    "model": _model,
    "tool": _tool,
    "hook": _hook,
    "given": _given,
    "note": _note,
    "objection": _objection,
    "guidance": _guidance,
}
"""Each gives an event's heading, then its texts."""
