"""What a history tree says of rollouts beside their traces: a line for each of them, and what came of each task.

A run of the paper's size has more traces than an agent can read. These lines say which of them are worth it. They are
made of traces, scores and reasons alone, all of which the tree holds anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.agents.reading import read_trace
from chase.core.values import Json

LONGEST = 200
"""Characters of a query or an answer."""


def index_line(trace: Mapping[str, Any], *, score: float, reason: str) -> dict[str, Json]:
    """What an agent did in a rollout, and what came of it."""
    calls = [event for event in trace["events"] if event["event"] == "tool"]
    reading = read_trace(trace)
    paths = [reading.seen[document].path for document in reading.opened]
    left = [reading.seen[document].path for document in reading.unfinished]
    return {
        "score": score,
        "outcome": outcome_class(score, reason),
        "answer": _cut(trace["answer"]),
        "calls": len(calls),
        "refused": sum(not event["ok"] for event in calls),
        "queries": [_query(event["arguments"]) for event in calls if _is_search(event)],
        "opened": paths,
        "read_on": [path for path in paths if path not in left],
    }


def outcome_class(score: float, reason: str) -> str:
    """`correct`, `partly correct`, `wrong`, or why there was no answer."""
    if score > 0:
        return "correct" if score >= 1 else "partly correct"
    return "wrong" if reason == "answered" else reason


def task_line(task: str, question: str, scores: Mapping[tuple[str, str], Sequence[float]]) -> dict[str, Json]:
    """A task with the scores of each harness under each variant."""
    found: dict[str, dict[str, Json]] = {}
    for (harness, variant), values in scores.items():
        found.setdefault(harness, {})[variant] = list(values)
    return {"task": task, "question": question, "scores": found}


def trace_lines(trace: Mapping[str, Any]) -> Iterator[dict[str, Json]]:
    """A trace event by event: how it began, what happened, how it ended."""
    ending = ("answer", "reason", "score")
    yield {"event": "start", **{key: value for key, value in trace.items() if key not in ("events", *ending)}}
    yield from trace["events"]
    yield {"event": "end", **{key: trace[key] for key in ending}}


def trace_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The inverse of `trace_lines`."""
    start, *events, end = lines
    about = {key: value for line in (start, end) for key, value in line.items() if key != "event"}
    return {**about, "events": [dict(event) for event in events]}


def _is_search(event: Mapping[str, Any]) -> bool:
    return "coverage" in event or any("hit" in item for item in event["items"])


def _query(arguments: Mapping[str, Json]) -> Json:
    """The words of a search; all its arguments where it has more than one text, since names differ by variant."""
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return _cut(texts[0]) if len(texts) == 1 else {key: _cut(value) for key, value in arguments.items()}


def _cut(value: Json) -> Json:
    return f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value
