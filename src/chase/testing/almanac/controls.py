"""Controls of the firewall's self-test: transformations that must pass, and operators that must each be caught."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chase.core.interfaces import Controls, NegativeControl
from chase.core.values import Json
from chase.protocol.lifting import negative_control
from chase.testing.almanac.contents import Document
from chase.testing.almanac.operators import ALLOWLIST
from chase.testing.almanac.protocol import ORDER_SPAN, DocumentProtocol
from chase.testing.almanac.questions import read_question
from chase.testing.almanac.scoring import names, score
from chase.testing.almanac.world import World


def _form(name: str, **arguments: Json) -> dict[str, Json]:
    return {"name": name, "arguments": arguments}


COMPOSITIONS: Mapping[str, list[dict[str, Json]]] = {
    "composition: tools, arguments and passages": [
        _form("alias-tools", words="library"),
        _form("rename-arguments", words="desk"),
        _form("cut-passages", lines=5),
        _form("shift-passages", by=2),
    ],
    "composition: fields in objects, under other names": [
        _form("nest-fields", group="origin"),
        _form("rename-fields", words="desk"),
        _form("nest-fields", group="position"),
    ],
    "composition: names, order, titles and units": [
        _form("rename-documents", style="opaque"),
        _form("reverse-order"),
        _form("restyle-titles", style="capitals"),
        _form("move-units", to="other side"),
    ],
    "composition: both vocabularies": [_form("alias-tools", words="library"), _form("alias-tools", words="desk")],
}
REFUSED: Mapping[str, list[dict[str, Json]]] = {
    "operator outside the allowlist": [_form("selftest.moves-content")],
    "argument outside the type": [_form("cut-passages", lines=7)],
    "a tool's name of one's own": [_form("alias-tools", words={"find": "answer"})],
    "an argument too many": [_form("reverse-order", by="answer")],
}
"""None of these passes parsing."""


def almanac_controls(questions_of_a_role: frozenset[str]) -> Controls:
    """The self-test's controls. The argument is what a cheat would have to know: which questions have a role."""
    singles = {
        f"single: {kind.name} {', '.join(map(str, operator.arguments.values()))}".strip(): [
            {"name": kind.name, "arguments": dict(operator.arguments)}
        ]
        for kind in ALLOWLIST.values()
        for operator in kind.forms()
        if operator.arguments != {"lines": 0}  # passages end at blank lines as released
    }
    return Controls(
        positive={"identity": [], **singles, **COMPOSITIONS},
        negative=_negative(questions_of_a_role),
        refused=REFUSED,
    )


def _changed(world: World, change: Callable[[DocumentProtocol], Mapping[str, Any]]) -> World:
    return replace(world, protocol=world.protocol.update({held.id: change(held) for held in world.protocol.documents}))


def _demoted(world: World, condition: Callable[[Document], bool]) -> World:
    """Documents that meet the condition come last: a harmless change, were it unconditional."""
    meet = {document.id for document in world.documents if condition(document)}
    return _changed(world, lambda held: {"order": ORDER_SPAN - 1 if held.id in meet else held.order})


def _aliased(world: World, when: bool = True, **names: str) -> World:
    interface = world.protocol.interface
    changed = {**interface.tool_names, **names} if when else interface.tool_names
    return replace(world, protocol=world.protocol.show_tools(tool_names=changed))


def _with_documents(world: World, change: Callable[[Document], Document]) -> World:
    return replace(world, documents=tuple(change(document) for document in world.documents))


def _moved_notes(world: World) -> World:
    """Two reports exchange the prose that they open with."""
    first, second, *rest = world.documents
    swapped = (replace(first, opening=second.opening), replace(second, opening=first.opening))
    return replace(world, documents=(*swapped, *rest))


def _without(world: World, place: int) -> World:
    """One document less."""
    held = world.protocol.documents
    documents = world.documents[:place] + world.documents[place + 1 :]
    return replace(
        world, documents=documents, protocol=replace(world.protocol, documents=held[:place] + held[place + 1 :])
    )


def _other_figures(document: Document) -> Document:
    tables = (replace(table, rows=tuple((d, f"9{figure}") for d, figure in table.rows)) for table in document.tables)
    return replace(document, tables=tuple(tables))


def _districts(world: World) -> list[str]:
    return sorted({d.lower() for document in world.documents for table in document.tables for d, _ in table.rows})


def _with_field(world: World, field: str, name: str) -> World:
    names = {**world.protocol.interface.field_names, field: name}
    return replace(world, protocol=world.protocol.show_tools(field_names=names))


def _lenient(answer: str, output: str | None) -> float:
    said = names(output or "")
    return 1.0 if said & names(answer) else score(answer, output)


_TURNS = itertools.count(1)


def _turned(world: World) -> World:
    """Moves the order on by another step at every call, whatever its input: a replay differs."""
    step = next(_TURNS) * 7919
    return _changed(world, lambda held: {"order": (held.order + step) % ORDER_SPAN})


def _asks_for_change(world: World) -> bool:
    question = read_question(world.question or "")
    return question is not None and question.family == "change"


TOOL_NAMES, ORDER = frozenset({"tool_names"}), frozenset({"order"})


def _negative(questions_of_a_role: frozenset[str]) -> tuple[NegativeControl, ...]:
    return (
        negative_control(
            name="changes-question",
            check="task-and-answer",
            run=lambda w: replace(w, question=w.question and w.question.replace("Use the", "See the")),
        ),
        negative_control(
            name="changes-answers",
            check="task-and-answer",
            run=lambda w: _with_documents(w, _other_figures),
            alone=False,
        ),
        negative_control(
            name="shows-answers-in-names",
            check="task-and-answer",
            declared=frozenset({"name"}),
            run=lambda w: _changed(w, lambda held: {"name": f"{'-'.join(_districts(w))}-{held.name}"}),
        ),
        negative_control(
            name="shows-answers-in-a-field",
            check="task-and-answer",
            declared=frozenset({"field_names"}),
            run=lambda w: _with_field(w, "snippet", "-".join(_districts(w))),
        ),
        negative_control(name="moves-prose", check="available-information", run=_moved_notes),
        negative_control(
            name="drops-passage",
            check="available-information",
            run=lambda w: _with_documents(w, lambda d: replace(d, notes=())),
            alone=False,
        ),
        negative_control(
            name="drops-document", check="available-information", run=lambda w: _without(w, 0), alone=False
        ),
        negative_control(
            name="one-name-for-two-tools",
            check="access-and-resources",
            declared=TOOL_NAMES,
            run=lambda w: _aliased(w, read="find"),
        ),
        negative_control(
            name="one-name-for-two-fields",
            check="access-and-resources",
            declared=frozenset({"field_names"}),
            run=lambda w: _with_field(w, "document", "name"),
        ),
        negative_control(
            name="raises-limit",
            check="access-and-resources",
            run=lambda w: replace(w, limits=replace(w.limits, total_calls=w.limits.total_calls + 1)),
        ),
        negative_control(
            name="removes-tool",
            check="access-and-resources",
            run=lambda w: replace(w, operations=w.operations[:-1]),
        ),
        negative_control(
            name="one-name-for-all-documents",
            check="access-and-resources",
            declared=frozenset({"name"}),
            run=lambda w: _changed(w, lambda held: {"name": "report.txt"}),
        ),
        negative_control(name="lenient-scorer", check="scoring", run=lambda w: replace(w, scorer=_lenient)),
        negative_control(
            name="undeclared-field",
            check="declared-changes",
            declared=ORDER,
            run=lambda w: _changed(w, lambda held: {"title_style": "capitals"}),
        ),
        negative_control(
            name="undeclared-tool-name",
            check="declared-changes",
            declared=ORDER,
            run=lambda w: _aliased(w, find="lookup"),
        ),
        negative_control(
            name="tools-by-question",
            check="task-independence",
            declared=TOOL_NAMES,
            run=lambda w: _aliased(w, _asks_for_change(w), find="lookup"),
        ),
        negative_control(
            name="order-by-question",
            check="task-independence",
            declared=ORDER,
            run=lambda w: _demoted(w, lambda d: _asks_for_change(w)),
        ),
        negative_control(
            name="tools-by-role",
            check="task-independence",
            declared=TOOL_NAMES,
            run=lambda w: _aliased(w, w.question in questions_of_a_role, find="lookup"),
        ),
        negative_control(
            name="order-by-status",
            check="task-independence",
            declared=ORDER,
            run=lambda w: _demoted(w, lambda d: d.status == "preliminary"),
        ),
        negative_control(
            name="order-by-figures",
            check="task-independence",
            declared=ORDER,
            run=lambda w: _demoted(w, lambda d: d.tables[0].rows[0][1] < "5"),
        ),
        negative_control(
            name="order-by-id",
            check="task-independence",
            declared=ORDER,
            run=lambda w: _demoted(w, lambda d: d.id < "m"),
        ),
        negative_control(name="replay-differs", check="replay-and-inversion", declared=ORDER, run=_turned, alone=False),
        negative_control(
            name="false-inverse",
            check="replay-and-inversion",
            declared=frozenset({"passage_shift"}),
            run=lambda w: _changed(w, lambda held: {"passage_shift": (held.passage_shift + 1) % 4}),
            inverse=lambda _: {},
        ),
    )
