"""Why executions failed: causes that can be read off traces, with the reference beside them where there is one, and
failures with the same cause as a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.values import Json, ToolInterface
from chase.methods.references import Reference
from chase.methods.trajectories import Action, Divergence, actions, first_divergence, shown_documents, windows_read

CAUSES: Mapping[str, str] = {
    "hook failure": "a hook of the harness failed",
    "limit reached": "a limit on steps, context or time ended it before an answer",
    "wrong query": "a document that the reference opened was never shown: the searches did not find it",
    "not opened": "a document that the reference opened was shown and not opened",
    "not read on": "a document that the reference opened was opened and not read as far as the reference did",
    "nothing matched": "no search matched anything (there is no reference)",
    "left unread": "documents were opened and not read on (there is no reference)",
    "malformed answer": "what was needed was read, as far as can be seen, and the answer has not the required form",
    "no answer": "what was needed was read, as far as can be seen, and there is no answer",
    "wrong answer": "what was needed was read, as far as can be seen, and the answer is wrong",
}
"""Cause → what it means. An execution's cause is the first that holds, in this order: what ended it, what it did not
get to see, what it made of what it saw."""
LIMITS = ("step-limit", "context-limit", "time-limit")
EXAMPLES = 3
"""Failures that are shown of a group."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed execution of `H_{t-1}`."""

    task: str
    question: str
    trace: str
    """Its path in the history tree."""
    cause: str
    actions: tuple[Action, ...]
    reference: Reference | None
    """None: the failed trajectory is all there is."""
    divergence: Divergence | None

    def to_json(self) -> dict[str, Json]:
        return {
            "task": self.task,
            "question": self.question,
            "trace": self.trace,
            "failed_actions": [action.to_json() for action in self.actions],
            "reference_actions": self.reference and [action.to_json() for action in self.reference.actions],
            "first_divergence": self.divergence and self.divergence.to_json(),
        }


@dataclass(frozen=True, kw_only=True)
class Group:
    """Failures with the same cause."""

    cause: str
    failures: tuple[Failure, ...]

    def summary(self) -> dict[str, Json]:
        return {
            "cause": self.cause,
            "failures": len(self.failures),
            "tasks": len({failure.task for failure in self.failures}),
            "with_reference": sum(failure.reference is not None for failure in self.failures),
        }


def diagnosed(
    path: str, trace: Mapping[str, Any], reference: Reference | None, interface: ToolInterface, form: str
) -> Failure:
    """A failed execution with its cause and the first action at which it leaves the reference."""
    done = actions(trace, interface)
    return Failure(
        task=trace["task"],
        question=trace["question"],
        trace=path,
        cause=next(cause for cause in CAUSES if cause in set(_causes(trace, reference, form))),
        actions=done,
        reference=reference,
        divergence=None if reference is None else first_divergence(done, reference.actions),
    )


def grouped(failures: Sequence[Failure]) -> tuple[Group, ...]:
    """The failures by cause, the largest group first; of equals the one whose cause comes first."""
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(failure.cause, []).append(failure)
    order = sorted(found, key=lambda cause: (-len(found[cause]), [*CAUSES].index(cause)))
    return tuple(Group(cause=cause, failures=tuple(found[cause])) for cause in order)


def brief(groups: Sequence[Group], executions: int) -> dict[str, Json]:
    """What the Proposer is told: each group with examples. No answer, no label of evidence, no role."""
    return {
        "what": "failed executions of the current harness on this round's batch, by cause; first_divergence is the "
        "first action at which the failed trajectory leaves the verified reference",
        "executions": executions,
        "groups": [
            {
                **group.summary(),
                "means": CAUSES[group.cause],
                "examples": [failure.to_json() for failure in _examples(group.failures)],
            }
            for group in groups
        ],
    }


def _examples(failures: Sequence[Failure]) -> list[Failure]:
    """A few failures of different tasks, those with a reference first."""
    by_task = {failure.task: failure for failure in reversed(failures)}
    ordered = sorted(by_task.values(), key=lambda failure: (failure.reference is None, failure.task))
    return ordered[:EXAMPLES]


def _causes(trace: Mapping[str, Any], reference: Reference | None, form: str) -> Iterator[str]:
    """Everything that holds of a failed execution."""
    if any(event["event"] == "hook" and event["failure"] is not None for event in trace["events"]):
        yield "hook failure"
    if trace["reason"] in LIMITS:
        yield "limit reached"
    answer = trace["answer"]
    if answer is not None and not re.fullmatch(form, answer, re.DOTALL):
        yield "malformed answer"
    yield from _unread(trace) if reference is None else _against(trace, reference)
    yield "no answer" if answer is None else "wrong answer"


def _against(trace: Mapping[str, Any], reference: Reference) -> Iterator[str]:
    """What the execution did not do that the reference did."""
    shown, read = shown_documents(trace), windows_read(trace)
    for document, windows in reference.read.items():
        if document not in shown:
            yield "wrong query"
        elif document not in read:
            yield "not opened"
        elif read[document] < windows:
            yield "not read on"


def _unread(trace: Mapping[str, Any]) -> Iterator[str]:
    """What a failed trajectory alone says."""
    coverages = [event["coverage"] for event in trace["events"] if "coverage" in event]
    if coverages and not any(coverages):
        yield "nothing matched"
    if any(windows == 1 for windows in windows_read(trace).values()):
        yield "left unread"
