"""Controls of the firewall's self-test: transformations that must pass, and operators that must each be caught.

The negative controls are registered for the self-test only. They pass parsing, so that a check has to catch them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace

from chase.benchmarks.syn_ledger.contents import Document, Record, read_question, solve
from chase.benchmarks.syn_ledger.features import HALF
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.scoring import score
from chase.benchmarks.syn_ledger.world import World
from chase.core.interfaces import Controls, NegativeControl
from chase.core.values import Json
from chase.protocol.lifting import negative_control

POSITIVE: Mapping[str, list[dict[str, Json]]] = {
    "identity": [],
    **{
        f"single: {verb} {aspect}": [{"name": verb, "arguments": {"aspect": aspect}}]
        for verb in ("permute", "reverse", "equalise")
        for aspect in ("name", "digits", "folder", "depth", "format", "rank", "listing", "title", "casing", "section")
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


def ledger_controls(documents_of_a_role: frozenset[str]) -> Controls:
    """The self-test's controls. The argument is what a cheat would have to know: who has which role."""
    return Controls(
        positive=POSITIVE,
        negative=_negative(documents_of_a_role),
        refused=REFUSED,
    )


def _demote(world: World, condition: Callable[[Document, DocumentProtocol], bool]) -> World:
    """Documents that meet the condition go to the end of broad results: a harmless change, were it unconditional."""
    changes = {
        protocol.id: {"rank": HALF + protocol.rank % HALF}
        for document, protocol in zip(world.documents, world.manifest, strict=True)
        if condition(document, protocol)
    }
    return replace(world, manifest=world.manifest.update(changes))


def _first_record(world: World, change: Callable[[Record], Record]) -> World:
    """Every document with its candidate block's records changed."""
    documents = [
        replace(d, records=tuple(change(r) if i in d.block else r for i, r in enumerate(d.records)))
        for d in world.documents
    ]
    return replace(world, documents=tuple(documents))


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
    return replace(world, manifest=world.manifest.update({p.id: {"title": numbers} for p in world.manifest}))


def _lenient(answer: int, output: str | None) -> float:
    return 1.0 if output is not None and str(answer) in output else score(answer, output)


_FLIPS = itertools.count()


def _flip(world: World) -> World:
    """Turns the listing round at every other call, whatever its input: a replay differs."""
    if next(_FLIPS) % 2:
        return world
    return replace(
        world, manifest=world.manifest.update({p.id: {"listing": 2 * HALF - 1 - p.listing} for p in world.manifest})
    )


def _world_answer(world: World) -> int | None:
    return solve(read_question(world.question), [record for d in world.documents for record in d.records])


RANK = frozenset({"rank"})


def _negative(documents_of_a_role: frozenset[str]) -> tuple[NegativeControl, ...]:
    return (
        negative_control(
            name="changes-answer",
            check="task-and-answer",
            alone=False,
            run=lambda w: _first_record(w, lambda r: replace(r, amount=r.amount + 7)),
        ),
        negative_control(
            name="changes-question",
            check="task-and-answer",
            run=lambda w: replace(w, question=w.question.replace("Answer with one", "Reply with one")),
        ),
        negative_control(
            name="shows-answer", check="task-and-answer", declared=frozenset({"title"}), run=_titled_with_answer
        ),
        negative_control(name="moves-content", check="available-information", run=_swap_contents),
        negative_control(
            name="drops-document",
            check="available-information",
            alone=False,
            run=_without_distractor,
        ),
        negative_control(name="adds-document", check="available-information", alone=False, run=_with_extra),
        negative_control(
            name="changes-limit",
            check="access-and-resources",
            run=lambda w: replace(w, limits=replace(w.limits, total_calls=w.limits.total_calls + 1)),
        ),
        negative_control(
            name="removes-tool",
            check="access-and-resources",
            run=lambda w: replace(w, tools=w.tools[:-1]),
        ),
        negative_control(name="changes-scorer", check="scoring", run=lambda w: replace(w, scorer=_lenient)),
        negative_control(
            name="undeclared-field",
            check="declared-changes",
            declared=frozenset({"rank"}),
            run=lambda w: replace(w, manifest=w.manifest.update({p.id: {"casing": "capitals"} for p in w.manifest})),
        ),
        negative_control(
            name="rule-on-question",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: "exceed" in w.question),
        ),
        negative_control(
            name="rule-on-status",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: sum(r.status == "approved" for r in d.records) > 3),
        ),
        negative_control(
            name="rule-on-basis",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: any(r.basis == "planned" for r in d.records)),
        ),
        negative_control(
            name="rule-on-evidence",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: d.kind == "evidence"),
        ),
        negative_control(
            name="rule-on-id",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: p.id < "m"),
        ),
        negative_control(
            name="rule-on-role",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: p.id in documents_of_a_role),
        ),
        negative_control(
            name="rule-on-answer",
            declared=RANK,
            check="task-independence",
            run=lambda w: _demote(w, lambda d, p: (_world_answer(w) or 0) % 2 == 0),
        ),
        negative_control(
            name="replay-differs", check="replay-and-inversion", alone=False, declared=frozenset({"listing"}), run=_flip
        ),
        negative_control(
            name="false-inverse",
            check="replay-and-inversion",
            declared=frozenset({"order"}),
            run=lambda w: replace(
                w, manifest=w.manifest.update({p.id: {"order": p.order[1:] + p.order[:1]} for p in w.manifest})
            ),
            inverse=lambda _: {},
        ),
    )
