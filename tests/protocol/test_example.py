"""The before/after example: what the agent's own tools answer, and nothing that an agent may not know."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.protocol.example import Example, example_of
from chase.testing.ledger import parse_ledger


def example(ledger: SynLedger, name: str, **arguments: Any) -> Example:
    form = {"benchmark": "syn-ledger", "operators": [{"name": name, "arguments": arguments}]}
    return example_of(ledger, parse_ledger(form).transformation)


def test_it_is_the_fixed_example_as_the_tools_show_it(ledger: SynLedger) -> None:
    transformation = parse_ledger(
        {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "format"}}]}
    ).transformation
    found = example_of(ledger, transformation)
    assert found.task == ledger.subject.check_tasks[0]
    assert [change.call.tool for change in found.changes] == ["list_files", "search", "open_file"]
    for change in found.changes:
        for variant, text in ((ledger.variant("released"), change.before), (transformation, change.after)):
            environment = ledger.environment(found.task, variant)
            assert text == environment.call(change.call.tool, change.call.arguments).text
        assert change.before != change.after


@pytest.mark.parametrize(
    ("operator", "tools"),
    [
        (("reverse", {"aspect": "name"}), ["list_files", "search"]),
        (("reverse", {"aspect": "rank"}), ["search"]),
        (("reverse", {"aspect": "listing"}), ["list_files"]),
        (("shift", {"by": 3}), ["open_file"]),
        (("restyle", {"detail": "line-endings"}), ["open_file"]),
    ],
)
def test_only_what_looks_different_is_shown(ledger: SynLedger, operator: Any, tools: list[str]) -> None:
    name, arguments = operator
    assert [change.call.tool for change in example(ledger, name, **arguments).changes] == tools


def test_identity_changes_nothing(ledger: SynLedger) -> None:
    assert example_of(ledger, ledger.variant("released")).changes == ()


def test_the_opened_document_is_the_first_listed_one_that_changed_whatever_its_part(ledger: SynLedger) -> None:
    change = example(ledger, "shift", by=3).changes[-1]
    task = ledger.subject.check_tasks[0]
    assert change.call.arguments == {"file": ledger.view(task, ledger.variant("released")).files[0].id}


def test_it_says_nothing_of_role_evidence_or_answer(ledger: SynLedger) -> None:
    value = asdict(example(ledger, "reverse", aspect="format"))
    assert set(value) == {"task", "changes"}
    assert all(set(change) == {"call", "before", "after"} for change in value["changes"])
    words = str(value).lower()
    assert "evidence" not in words
    assert "distractor" not in words
    assert not any(f"'{role}'" in words for role in ledger.roles)
    assert str(ledger.task(value["task"]).answer) not in words.replace(",", " ").replace("|", " ").split()
