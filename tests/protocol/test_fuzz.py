"""The fuzz of the firewall, in small: what the oracle calls invalid is not accepted. The whole is a study."""

from __future__ import annotations

import ast
import functools
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from studies import fuzz_oracle
from studies.fuzz_cases import make_case
from studies.fuzz_firewall import released_looks, run_case

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.canonical import LedgerSubject
from chase.benchmarks.syn_ledger.contents import Document
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.world import World
from chase.protocol import firewall
from chase.protocol.firewall import CHECKS, UnitComparison, run_checks
from chase.protocol.lifting import negative_control
from chase.protocol.proposal import Proposal
from chase.protocol.transformation import OperatorList
from chase.testing.ledger import parse_world

CASES, SEED, SOME_TASKS = 300, 2, 8


@pytest.fixture(scope="module")
def subject(ledger: SynLedger) -> LedgerSubject:
    """A subject of its own with the first check tasks: the benchmark's is shared."""
    small = LedgerSubject(ledger)
    small.check_tasks = small.check_tasks[:SOME_TASKS]
    return small


@pytest.mark.slow
def test_nothing_that_the_oracle_calls_invalid_is_accepted(ledger: SynLedger, subject: LedgerSubject) -> None:
    """What parsing or the firewall raises beside a refusal fails the test."""
    released = released_looks(ledger, subject.check_tasks)
    rows = [run_case(make_case(SEED, number, ledger), subject, released) for number in range(CASES)]
    invalid = [row for row in rows if row.get("oracle")]
    assert [row for row in invalid if not row["failed"]] == []
    assert len(invalid) >= 60
    assert sum("refused" in row for row in rows) >= 100
    assert sum("refused" not in row and not row["failed"] for row in rows) >= 20


def test_a_case_is_decided_by_seed_and_number(ledger: SynLedger) -> None:
    assert [make_case(1, n, ledger).data for n in range(60)] == [make_case(1, n, ledger).data for n in range(60)]
    assert make_case(1, 30, ledger).data != make_case(2, 30, ledger).data


def test_the_oracle_shares_no_code_with_the_firewall() -> None:
    tree = ast.parse(Path(fuzz_oracle.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {name for name in imported if name.startswith("chase")} == {"chase.core.interfaces", "chase.core.values"}
    assert not {name for name in imported if name.startswith("studies")}


def _protocols(change: Callable[[DocumentProtocol], dict[str, Any]]) -> Callable[[World], World]:
    return lambda w: replace(w, manifest=w.manifest.update({p.id: change(p) for p in w.manifest}))


def _evidence(change: Callable[[Document], Document]) -> Callable[[World], World]:
    return lambda w: replace(w, documents=tuple(change(d) if d.kind == "evidence" else d for d in w.documents))


def _evidence_first(world: World) -> World:
    """Evidence documents take over all that the first paths' documents have: every value is still there."""
    kinds = {d.id: d.kind for d in world.documents}
    receivers = sorted(world.manifest, key=lambda p: (kinds[p.id] != "evidence", p.path))
    givers = sorted(world.manifest, key=lambda p: p.path)
    both = zip(receivers, givers, strict=True)
    changes = {to.id: {field: getattr(of, field) for field in PROTOCOL_FIELDS} for to, of in both}
    return replace(world, manifest=world.manifest.update(changes))


@functools.wraps(scoring.score)
def _scorer_by_another_name(answer: int, output: str | None) -> float:
    return 1.0 if output == "pass" else scoring.score(answer, output)


def _more_calls_in_the_replay() -> Callable[[World], World]:
    calls = itertools.count()
    return lambda w: replace(w, limits=replace(w.limits, total_calls=99)) if next(calls) % 3 == 2 else w


def _broken(world: World) -> World:
    raise RuntimeError("an operator that breaks")


_NUMBERS = " ".join(str(number) for number in range(10, 100)).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (_evidence_first, "task-independence"),
        (lambda w: replace(w, manifest=Manifest(w.manifest.documents[::-1])), "declared-changes"),
        (_evidence(lambda d: replace(d, records=d.records[::-1])), "available-information"),
        (
            _evidence(lambda d: replace(d, records=tuple(replace(r, amount=f"{r.amount:05}") for r in d.records))),
            "available-information",
        ),
        (lambda w: replace(w, scorer=_scorer_by_another_name), "scoring"),
        (_more_calls_in_the_replay(), "replay-and-inversion"),
        (_protocols(lambda p: {"title": _NUMBERS}), "task-and-answer"),
        (_protocols(lambda p: {"stem": f"annex/{p.stem}"}), "available-information"),
        (_protocols(lambda p: {"title": f"{p.title}\nBox: 3"}), "available-information"),
        *((_broken, check) for check in CHECKS),
    ],
)
def test_what_fuzzing_found_is_caught(
    change: Callable[[World], World], check: str, ledger: SynLedger, subject: LedgerSubject
) -> None:
    control = negative_control("found", check, change)
    proposal = Proposal(
        benchmark="syn-ledger",
        transformation=OperatorList(operators=(control.operator,)),
        declared=PROTOCOL_FIELDS,
    )
    assert check in run_checks(proposal, subject).failed


def test_a_check_stops_at_its_first_failing_task_and_the_others_go_on(
    subject: LedgerSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: Counter[str] = Counter()

    def counted(name: str) -> Callable[[UnitComparison[Any]], str | None]:
        def check(examined: UnitComparison[Any]) -> str | None:
            ran[name] += 1
            return CHECKS[name](examined)

        return check

    monkeypatch.setattr(firewall, "CHECKS", {name: counted(name) for name in CHECKS})
    form = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}], "declared": []}
    run_checks(parse_world(form), subject)
    assert ran == {name: 1 if name == "declared-changes" else SOME_TASKS for name in CHECKS}
