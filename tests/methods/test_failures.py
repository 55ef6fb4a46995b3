"""Why executions failed: the first action that a reference did not do, the cause, and failures grouped by it."""

from __future__ import annotations

from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import ResultItem, Sighting, ToolResult
from chase.engine.trace import Trace
from chase.methods.failures import CAUSES, EXAMPLES, Failure, brief, diagnosed, grouped
from chase.methods.references import Reference
from chase.methods.trajectories import Action, actions, first_divergence
from chase.proposers.mining.diagnosis import ANSWERED_AS, told_failures
from chase.proposers.mining.edits import vocabulary

FORM = r"\d+"
INTERFACE = SynLedger.interface


def search(query: str, *shown: str, coverage: int = 1) -> tuple[str, dict[str, Any], ToolResult]:
    items = tuple(ResultItem(shown=Sighting(id=id_, path=id_, hit=n), line=id_) for n, id_ in enumerate(shown))
    return "search", {"query": query}, ToolResult(head="hits", items=items, coverage=coverage)


def opened(id_: str, window: int = 0) -> tuple[str, dict[str, Any], ToolResult]:
    item = ResultItem(shown=Sighting(id=id_, path=id_, window=window, text="text"), line="text")
    return "open_file", {"file": id_}, ToolResult(head="", items=(item,))


def trace_of(
    *calls: Any, answer: str | None = "7", reason: str = "answered", hook: str | None = None
) -> dict[str, Any]:
    trace = Trace("task", "question?")
    for tool, arguments, result in calls:
        trace.add_tool("model", tool, arguments, result)
    if hook is not None:
        trace.add("hook", hook="plan", value=None, failure=hook)
    return trace.finish("7", reason, 0.0)


GOOD = trace_of(search("acme 2020", "aa", "bb"), opened("aa"), opened("aa", 1), opened("bb"), opened("bb", 1))
REFERENCE = Reference(actions=actions(GOOD, INTERFACE), read={"aa": 2, "bb": 2})


@pytest.mark.parametrize(
    ("calls", "more", "cause"),
    [
        ([search("acme", "aa"), opened("aa"), opened("aa", 1)], {}, "wrong query"),
        ([search("acme", "aa", "bb"), opened("aa"), opened("aa", 1)], {}, "not opened"),
        ([search("acme", "aa", "bb"), opened("aa"), opened("bb"), opened("bb", 1)], {}, "not read on"),
        ([search("acme", "aa", "bb"), *map(opened, ("aa", "bb"), (0, 0))], {"reason": "step-limit"}, "limit reached"),
        ([search("acme", "aa")], {"hook": "error"}, "hook failure"),
    ],
)
def test_a_cause_is_what_the_reference_did_and_the_execution_did_not(calls: Any, more: Any, cause: str) -> None:
    assert diagnosed("p", trace_of(*calls, **more), REFERENCE, INTERFACE, FORM).cause == cause


@pytest.mark.parametrize(
    ("answer", "cause"), [("7", "wrong answer"), ("about seven", "malformed answer"), (None, "no answer")]
)
def test_where_everything_was_read_the_answer_is_the_cause(answer: str | None, cause: str) -> None:
    failed = {**GOOD, "answer": answer}
    found = diagnosed("p", failed, REFERENCE, INTERFACE, FORM)
    assert (found.cause, found.divergence) == (cause, None)


@pytest.mark.parametrize(
    ("calls", "cause"),
    [
        ([search("acme", coverage=0)], "nothing matched"),
        ([search("acme", "aa"), opened("aa")], "left unread"),
        ([search("acme", "aa"), opened("aa"), opened("aa", 1)], "wrong answer"),
    ],
)
def test_without_a_reference_the_failed_trajectory_alone_is_diagnosed(calls: Any, cause: str) -> None:
    found = diagnosed("p", trace_of(*calls), None, INTERFACE, FORM)
    assert (found.cause, found.divergence) == (cause, None)


def test_trajectories_part_at_the_first_action_that_differs() -> None:
    failed = trace_of(search("2020 ACME", "aa", "bb"), opened("aa"), opened("bb"))
    found = diagnosed("p", failed, REFERENCE, INTERFACE, FORM).divergence
    assert found is not None
    assert (found.step, found.failed and found.failed.target, found.reference and found.reference.target) == (
        3,
        "bb",
        "aa",
    )


def test_a_trajectory_that_ends_earlier_parts_where_it_ends() -> None:
    done = actions(GOOD, INTERFACE)
    found = first_divergence(done[:2], done)
    assert found is not None
    assert (found.step, found.failed, found.reference) == (3, None, done[2])
    assert first_divergence(done, done) is None


def failure(task: str, cause: str, reference: Reference | None = REFERENCE) -> Failure:
    action = Action(kind="list", tool="list_files", target="")
    return Failure(
        task=task, question="q", trace=f"traces/{task}-0.jsonl", cause=cause, actions=(action,), reference=reference,
        divergence=None,
    )  # fmt: skip


def test_failures_are_grouped_by_cause_the_largest_group_first() -> None:
    found = grouped([failure("a", "wrong answer"), failure("b", "not opened"), failure("c", "not opened")])
    assert [(group.cause, len(group.failures)) for group in found] == [("not opened", 2), ("wrong answer", 1)]


def test_a_group_is_told_with_examples_of_different_tasks_those_with_a_reference_first() -> None:
    failures = [failure("z", "not opened", None), *(failure(task, "not opened") for task in "aabcd")]
    (group,) = brief(grouped(failures), 12)["groups"]
    assert (group["failures"], group["tasks"], group["with_reference"]) == (6, 5, 5)
    assert [example["task"] for example in group["examples"]] == ["a", "b", "c"]
    assert EXAMPLES == 3


def test_the_fallback_is_the_failed_trajectory_alone() -> None:
    (group,) = brief(grouped([failure("a", "no answer", None)]), 2)["groups"]
    (example,) = group["examples"]
    assert example["reference_actions"] is None
    assert example["failed_actions"] == [{"tool": "list_files", "target": ""}]


# What the mining Proposer makes of them


def test_the_mining_proposer_knows_every_cause_and_answers_it_with_a_kind_of_its_vocabulary() -> None:
    assert ANSWERED_AS.keys() == CAUSES.keys()
    answered = {entry["answers"] for entry in vocabulary()["edits"].values()}
    assert {kind for kind in ANSWERED_AS.values() if kind is not None} <= answered


def test_groups_decide_what_share_of_the_executions_an_edit_answers() -> None:
    told = brief(grouped([failure(task, "not read on") for task in "abc"] + [failure("d", "hook failure")]), 12)
    assert told_failures(told) == {"left unread": 0.25}
