"""Controls of the firewall's self-test: transformations that must pass, and operators that must each be caught.

The negative controls are registered for the self-test only. They pass parsing, so that a check has to catch them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from chase.benchmarks.syn_ledger.contents import Document, Record, read_question, solve
from chase.benchmarks.syn_ledger.features import HALF
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.scoring import score
from chase.benchmarks.syn_ledger.world import World
from chase.core.controls import Controls, NegativeControl
from chase.core.values import Json, Limits
from chase.protocol.lifting import negative_control

POSITIVE: Mapping[str, list[dict[str, Json]]] = {
    "identity": [],
    **{
        f"single: {verb} {aspect}": [{"name": verb, "arguments": {"aspect": aspect}}]
        for verb in ("permute", "reverse", "equalise")
        for aspect in (
            "name",
            "digits",
            "folder",
            "depth",
            "format",
            "rank",
            "listing",
            "title",
            "casing",
            "preamble",
            "section",
        )
    },
    "single: permute records": [{"name": "permute", "arguments": {"aspect": "records"}}],
    "single: reverse records": [{"name": "reverse", "arguments": {"aspect": "records"}}],
    "single: shift records": [{"name": "shift", "arguments": {"by": 3}}],
    "single: re-encode": [{"name": "re-encode", "arguments": {"format": "csv"}}],
    "single: re-layout": [{"name": "re-layout", "arguments": {"depth": 2}}],
    "single: re-order": [{"name": "re-order", "arguments": {"order": "rank", "by": "seed"}}],
    "single: restyle": [{"name": "restyle", "arguments": {"detail": "metadata-order"}}],
    "composition: name, depth and format": [
        {"name": "reverse", "arguments": {"aspect": "name"}},
        {"name": "permute", "arguments": {"aspect": "depth"}},
        {"name": "re-encode", "arguments": {"format": "key-value"}},
    ],
    "composition: records and rank": [
        {"name": "shift", "arguments": {"by": 3}},
        {"name": "reverse", "arguments": {"aspect": "rank"}},
        {"name": "restyle", "arguments": {"detail": "line-endings"}},
    ],
}
"""Name → operators of the allowlist: identity, valid single-field changes, valid compositions."""


REFUSED: Mapping[str, list[dict[str, Json]]] = {
    "operator outside the allowlist": [{"name": "selftest.moves-content"}],
    "construction operator": [{"name": "construction.neutralise", "arguments": {"feature": "depth"}}],
    "argument outside the type": [{"name": "permute", "arguments": {"aspect": "answer"}}],
}


TASK, INFORMATION, ACCESS = "task-and-answer", "available-information", "access-and-resources"
DECLARED, REPLAY = "declared-changes", "replay-and-inversion"
RANK = frozenset({"rank"})


def ledger_controls(documents_of_a_role: frozenset[str]) -> Controls:
    """The self-test's controls. The argument is what a cheat would have to know: who has which role."""
    return Controls(
        positive=POSITIVE,
        negative=_negative(documents_of_a_role),
        refused=REFUSED,
    )


def _demote(world: World, condition: Rule) -> World:
    """Documents that meet the condition go to the end of broad results: a harmless change, were it unconditional."""
    changes = {
        protocol.id: {"rank": HALF + protocol.rank % HALF}
        for document, protocol in zip(world.documents, world.manifest, strict=True)
        if condition(world, document, protocol)
    }
    return replace(world, manifest=world.manifest.update(changes))


def _first_record(world: World, change: Callable[[Record], Record]) -> World:
    """Every document with its candidate block's records changed."""
    documents = [
        replace(d, records=tuple(change(r) if i in d.block else r for i, r in enumerate(d.records)))
        for d in world.documents
    ]
    return replace(world, documents=tuple(documents))


def _raised(record: Record) -> Record:
    return replace(record, amount=record.amount + 7)


def _more_calls(limits: Limits) -> Limits:
    return replace(limits, total_calls=limits.total_calls + 1)


def _all(world: World, change: Callable[[DocumentProtocol], Mapping[str, Any]]) -> World:
    """The same change of every document's protocol."""
    return replace(world, manifest=world.manifest.update({p.id: change(p) for p in world.manifest}))


def _swap_contents(world: World) -> World:
    first, second, *rest = world.documents
    swapped = (replace(first, records=second.records), replace(second, records=first.records))
    return replace(world, documents=(*swapped, *rest))


def _without_distractor(world: World) -> World:
    place = next(i for i, document in enumerate(world.documents) if document.kind != "evidence")
    documents = world.documents[:place] + world.documents[place + 1 :]
    protocols = world.manifest.documents[:place] + world.manifest.documents[place + 1 :]
    return replace(world, documents=documents, manifest=Manifest(protocols))


def _with_extra(world: World) -> World:
    place = next(i for i, document in enumerate(world.documents) if document.kind != "evidence")
    document, protocol = world.documents[place], world.manifest.documents[place]
    extra = replace(document, id=document.id + "x"), replace(protocol, id=protocol.id + "x", stem=protocol.stem + "x")
    return replace(
        world, documents=(*world.documents, extra[0]), manifest=Manifest((*world.manifest.documents, extra[1]))
    )


def _titled_with_answer(world: World) -> World:
    """Every two-digit number stands in the titles, the answer among them."""
    numbers = " ".join(str(number) for number in range(10, 100))
    return _all(world, lambda p: {"title": numbers})


def _lenient(answer: int, output: str | None) -> float:
    return 1.0 if output is not None and str(answer) in output else score(answer, output)


_FLIPS = itertools.count()


def _flip(world: World) -> World:
    """Turns the listing round at every other call, whatever its input: a replay differs."""
    if next(_FLIPS) % 2:
        return world
    return _all(world, lambda p: {"listing": 2 * HALF - 1 - p.listing})


def _world_answer(world: World) -> int | None:
    return solve(read_question(world.question), [record for d in world.documents for record in d.records])


def _fixed() -> tuple[NegativeControl, ...]:
    """Those that know nothing of the benchmark at hand."""
    control = negative_control
    return (
        control("changes-answer", TASK, lambda w: _first_record(w, _raised), alone=False),
        control(
            "changes-question", TASK, lambda w: replace(w, question=w.question.replace("Answer with", "Reply with"))
        ),
        control("shows-answer", TASK, _titled_with_answer, declared=frozenset({"title"})),
        control("moves-content", INFORMATION, _swap_contents),
        control("drops-document", INFORMATION, _without_distractor, alone=False),
        control("adds-document", INFORMATION, _with_extra, alone=False),
        control("changes-limit", ACCESS, lambda w: replace(w, limits=_more_calls(w.limits))),
        control("removes-tool", ACCESS, lambda w: replace(w, tools=w.tools[:-1])),
        control("changes-scorer", "scoring", lambda w: replace(w, scorer=_lenient)),
        control(
            "undeclared-field", "declared-changes", lambda w: _all(w, lambda p: {"casing": "capitals"}), declared=RANK
        ),
        control("replay-differs", REPLAY, _flip, declared=frozenset({"listing"}), alone=False),
        control(
            "false-inverse",
            REPLAY,
            lambda w: _all(w, lambda p: {"order": p.order[1:] + p.order[:1]}),
            declared=frozenset({"order"}),
            inverse=lambda _: {},
        ),
    )


Rule = Callable[[World, Document, DocumentProtocol], bool]
RULES: Mapping[str, Rule] = {
    "rule-on-question": lambda w, d, p: "exceed" in w.question,
    "rule-on-status": lambda w, d, p: (
        sum(r.status == "approved" if r.status else r.amount > 200 for r in d.records) > 3
    ),
    "rule-on-basis": lambda w, d, p: any(r.basis == "planned" if r.basis else r.amount < 25 for r in d.records),
    "rule-on-evidence": lambda w, d, p: d.kind == "evidence",
    "rule-on-id": lambda w, d, p: p.id < "m",
    "rule-on-answer": lambda w, d, p: (_world_answer(w) or 0) % 2 == 0,
}
"""Which documents go last: harmless, were it not for what it depends on. A form without status has amounts."""


def _negative(documents_of_a_role: frozenset[str]) -> tuple[NegativeControl, ...]:
    rules: Mapping[str, Rule] = {**RULES, "rule-on-role": lambda w, d, p: p.id in documents_of_a_role}
    return (
        *_fixed(),
        *(
            negative_control(name, "task-independence", partial(_demote, condition=rule), declared=RANK)
            for name, rule in rules.items()
        ),
    )
