"""Syn-Ledger's transformations from JSON to verdict: parsing against its allowlist, and its self-test's controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger.canonical import LedgerSubject
from chase.benchmarks.syn_ledger.contents import read_question, solve
from chase.benchmarks.syn_ledger.controls import POSITIVE, negative_controls
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, Manifest
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.benchmarks.syn_ledger.world import World, lift
from chase.core.interfaces import Transformation
from chase.core.values import Json
from chase.protocol.example import Call, Example, before_and_after
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal, parse_proposal
from chase.protocol.selftest import Controls, Negative
from chase.protocol.transformation import OperatorList

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger

BASE = "syn-ledger"


def parse_ledger_proposal(data: str | Mapping[str, Json]) -> Proposal[Manifest]:
    """A proposal for Syn-Ledger; anything outside the allowlist is a `UserError`."""
    return parse_proposal(data, benchmark=BASE, allowlist=ALLOWLIST, fields=PROTOCOL_FIELDS)


def ledger_controls(benchmark: SynLedger) -> Controls[World]:
    """The self-test's controls for a Syn-Ledger benchmark."""
    evo = frozenset(d.id for task in benchmark.tasks("evo") for d in benchmark.task(task).documents)
    return Controls(
        positive={name: lift(parse_ledger_proposal(_form(operators))) for name, operators in POSITIVE.items()},
        negative=[
            Negative(
                name=control.name,
                check=control.check,
                alone=control.alone,
                proposal=Proposal(
                    benchmark=BASE,
                    transformation=OperatorList(operators=(control.kind().make({}),)),
                    declared=control.fields,
                ),
            )
            for control in negative_controls(_answer, evo)
        ],
        refused={
            "operator outside the allowlist": lambda: parse_ledger_proposal(
                _form([{"name": "selftest.moves-content"}])
            ),
            "construction operator": lambda: parse_ledger_proposal(
                _form([{"name": "construction.neutralise", "arguments": {"feature": "depth"}}])
            ),
            "argument outside the type": lambda: parse_ledger_proposal(
                _form([{"name": "permute", "arguments": {"aspect": "answer"}}])
            ),
        },
    )


def subject_of(benchmark: SynLedger) -> LedgerSubject:
    return LedgerSubject(benchmark)


def ledger_kit(benchmark: SynLedger) -> ProtocolKit:
    """What challenging a Syn-Ledger benchmark's protocol needs."""
    return ProtocolKit(
        base=BASE,
        parse=parse_ledger_proposal,
        lift=lift,
        subject=subject_of(benchmark),
        allowlist=ALLOWLIST,
        shown=benchmark.shown,
        observables=benchmark.observables,
    )


def ledger_example(benchmark: SynLedger, transformation: Transformation[Manifest]) -> Example:
    """What an agent sees of the fixed example before and after: its listing, a broad search, one changed document."""
    task = subject_of(benchmark).check_tasks[0]
    view = benchmark.view(task, benchmark.variant("released"))
    return before_and_after(
        benchmark,
        transformation,
        task=task,
        looks=[Call(tool="list_files", arguments={}), Call(tool="search", arguments={"query": view.question})],
        openings=[Call(tool="open_file", arguments={"file": file.id}) for file in view.files],
    )


def _form(operators: list[dict[str, Json]]) -> dict[str, Json]:
    return {"benchmark": BASE, "operators": operators, "seed": 7}


def _answer(world: World) -> int | None:
    return solve(read_question(world.question), [record for d in world.documents for record in d.records])
