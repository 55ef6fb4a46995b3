"""The trajectory verifier: admits a trajectory whose every action is grounded in what was observed before it, and that
does not restate the answer it was made with.

It sees the trace, the answer and where the answer stands; of how the trajectory was made, the prompt above all, it sees
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chase.core.stop_words import STOP_WORDS
from chase.core.values import ToolInterface
from chase.methods.references.numbers import numbers, plain_number, worked_out
from chase.methods.trajectories import observed_text, read_text, shown_content, windows_read, words

FREE_NUMBERS = frozenset({"0", "1", "2", "10", "100", "1000"})
"""Numbers that a calculation may use without having seen them: a percentage is made with 100."""
TOLD = re.compile(
    r"\b(?:the|this|an?)\s+(?:supplied|given|provided|known|stated|expected|reference|correct|ground[- ]truth)\s+answer"
    r"|\bground[- ]truth\b|\banswer (?:that )?(?:i was|was) (?:given|told|supplied|provided)\b",
    re.IGNORECASE,
)
"""Words that speak of an answer that was there before anything was read."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What a trajectory is held to. Host-side."""

    answer: str
    evidence: Mapping[str, int] = field(default_factory=dict)
    """Ids of the documents that hold the answer → their windows; empty where that is not known."""


def objections(trace: Mapping[str, Any], truth: Truth, interface: ToolInterface, public: str) -> list[str]:
    """Why a trajectory is not admitted, in the order in which it happened; empty: it is. `public` is what every agent
    is told: the tools and the answer's form.
    """
    found = list(_Reading(trace, truth, interface, public).objections())
    if trace["reason"] != "answered" or (trace["score"] or 0.0) < 1:
        found.append("it does not end with the answer")
    return [*found, *_does_not_follow(trace, truth, interface)]


class _Reading:
    """A trace read from its beginning, with what was observed up to each event."""

    def __init__(self, trace: Mapping[str, Any], truth: Truth, interface: ToolInterface, public: str) -> None:
        self._events = trace["events"]
        self._interface = interface
        self._answer = truth.answer
        self._seen = f"{trace['question']}\n{public}"
        self._read = trace["question"]
        """What was shown of contents: an answer that stands there was observed."""
        self._documents: set[str] = set()

    def objections(self) -> Iterator[str]:
        for place, event in enumerate(self._events):
            if event["event"] == "model":
                yield from self._of_text(event["text"], final=place == len(self._events) - 1)
            elif event["event"] == "tool":
                yield from self._of_call(event)
                self._seen += "\n" + observed_text(event)
                self._read += "\n" + shown_content(event, self._interface)
                self._documents |= {item[key] for item in event["items"] for key in ("id", "path")}

    def _of_text(self, text: str, *, final: bool) -> Iterator[str]:
        if not final and self._restates(text):
            yield "a text states the answer before it was observed"
        if TOLD.search(text):
            yield "a text speaks of an answer that was given"

    def _of_call(self, event: Mapping[str, Any]) -> Iterator[str]:
        arguments = [str(value) for value in event["arguments"].values()]
        if any(self._restates(text) for text in arguments):
            yield f"a call of {event['tool']} holds the answer before it was observed"
        yield from self._ungrounded(event)

    def _ungrounded(self, event: Mapping[str, Any]) -> Iterator[str]:
        search, opener, tool = self._interface.search, self._interface.open, event["tool"]
        if opener is not None and tool == opener.tool:
            wanted = str(event["arguments"].get(opener.document, ""))
            if wanted not in self._documents:
                yield f"it opens {wanted[:40]!r}, which nothing had shown"
        elif search is not None and tool == search.tool:
            query = str(event["arguments"].get(search.query, ""))
            strange = set(words(query)) - set(words(self._seen)) - STOP_WORDS
            if strange:
                yield f"it searches for {min(strange)!r}, which is in no question and no observation"
        elif tool != self._interface.listing:
            used = {number for value in event["arguments"].values() for number in numbers(str(value))}
            if strange := used - numbers(self._seen) - FREE_NUMBERS:
                yield f"a call of {tool} uses {min(strange)}, which nothing had shown"

    def _restates(self, text: str) -> bool:
        return holds(text, self._answer) and not holds(self._read, self._answer)


def _does_not_follow(trace: Mapping[str, Any], truth: Truth, interface: ToolInterface) -> Iterator[str]:
    """The answer follows from what was read: all that holds it was opened, and it was read to its end, or the answer
    stands in what was shown, or can be worked out from numbers that were read there.
    """
    read = windows_read(trace)
    if unopened := [document for document in truth.evidence if document not in read]:
        yield f"it answers without opening {unopened[0]}"
        return
    if truth.evidence and all(read[document] >= count for document, count in truth.evidence.items()):
        return
    calls = [event for event in trace["events"] if event["event"] == "tool"]
    if any(holds(shown_content(event, interface), truth.answer) for event in calls):
        return
    number, operands = plain_number(truth.answer), numbers(read_text(trace, truth.evidence))
    if number is None or not worked_out(number, operands):
        yield "its answer follows from nothing that it read"


def holds(text: str, answer: str) -> bool:
    """Whether an answer stands in a text: a number as a number, anything else as its words in a row."""
    if number := plain_number(answer):
        return number in numbers(text)
    wanted, found = words(answer), words(text)
    return bool(wanted) and any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1))
