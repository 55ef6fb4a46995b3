"""Controls of the firewall's self-test: transformations that must pass, and operators that must each be caught."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chase.core.controls import Controls, NegativeControl
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


TASK, INFORMATION, ACCESS = "task-and-answer", "available-information", "access-and-resources"
DECLARED, INDEPENDENCE, REPLAY = "declared-changes", "task-independence", "replay-and-inversion"
NAMES, FIELDS = frozenset({"name"}), frozenset({"field_names"})
TOOL_NAMES, ORDER, SHIFT = frozenset({"tool_names"}), frozenset({"order"}), frozenset({"passage_shift"})


def _negative(questions_of_a_role: frozenset[str]) -> tuple[NegativeControl, ...]:
    return (*_on_contents(), *_on_access(), *_on_rules(questions_of_a_role))


def _on_contents() -> tuple[NegativeControl, ...]:
    """Changes of what is asked, answered and held."""
    control = negative_control
    return (
        control("changes-question", TASK, lambda w: replace(w, question=_asked_otherwise(w))),
        control("changes-answers", TASK, lambda w: _with_documents(w, _other_figures), alone=False),
        control("shows-answers-in-names", TASK, lambda w: _changed(w, _with_answers(w)), declared=NAMES),
        control(
            "shows-answers-in-a-field",
            TASK,
            lambda w: _with_field(w, "snippet", "-".join(_districts(w))),
            declared=FIELDS,
        ),
        control("moves-prose", INFORMATION, _moved_notes),
        control("drops-passage", INFORMATION, lambda w: _with_documents(w, _without_notes), alone=False),
        control("drops-document", INFORMATION, lambda w: _without(w, 0), alone=False),
    )


def _on_access() -> tuple[NegativeControl, ...]:
    """Changes of tools, limits, names and the scorer, and of what was not declared."""
    control = negative_control
    return (
        control("one-name-for-two-tools", ACCESS, lambda w: _aliased(w, read="find"), declared=TOOL_NAMES),
        control("one-name-for-two-fields", ACCESS, lambda w: _with_field(w, "document", "name"), declared=FIELDS),
        control("raises-limit", ACCESS, lambda w: replace(w, limits=replace(w.limits, total_calls=99))),
        control("removes-tool", ACCESS, lambda w: replace(w, operations=w.operations[:-1])),
        control("one-name-for-all-documents", ACCESS, lambda w: _changed(w, _one_name), declared=NAMES),
        control("lenient-scorer", "scoring", lambda w: replace(w, scorer=_lenient)),
        control("undeclared-field", DECLARED, lambda w: _changed(w, _in_capitals), declared=ORDER),
        control("undeclared-tool-name", DECLARED, lambda w: _aliased(w, find="lookup"), declared=ORDER),
    )


def _on_rules(questions_of_a_role: frozenset[str]) -> tuple[NegativeControl, ...]:
    """Rules that depend on what they must not know, and changes that are not the same twice or not undone."""
    by_role = negative_control(
        "tools-by-role",
        INDEPENDENCE,
        lambda w: _aliased(w, w.question in questions_of_a_role, find="lookup"),
        declared=TOOL_NAMES,
    )
    by_question = negative_control(
        "tools-by-question",
        INDEPENDENCE,
        lambda w: _aliased(w, _asks_for_change(w), find="lookup"),
        declared=TOOL_NAMES,
    )
    orders: Mapping[str, Callable[[World], World]] = {
        "order-by-question": lambda w: _demoted(w, lambda d: _asks_for_change(w)),
        "order-by-status": lambda w: _demoted(w, lambda d: d.status == "preliminary"),
        "order-by-figures": lambda w: _demoted(w, lambda d: d.tables[0].rows[0][1] < "5"),
        "order-by-id": lambda w: _demoted(w, lambda d: d.id < "m"),
    }
    return (
        by_role,
        by_question,
        *(negative_control(name, INDEPENDENCE, run, declared=ORDER) for name, run in orders.items()),
        negative_control("replay-differs", REPLAY, _turned, declared=ORDER, alone=False),
        negative_control("false-inverse", REPLAY, _shifted, declared=SHIFT, inverse=lambda _: {}),
    )


def _asked_otherwise(world: World) -> str | None:
    return world.question and world.question.replace("Use the", "See the")


def _with_answers(world: World) -> Callable[[DocumentProtocol], Mapping[str, Any]]:
    answers = "-".join(_districts(world))
    return lambda held: {"name": f"{answers}-{held.name}"}


def _without_notes(document: Document) -> Document:
    return replace(document, notes=())


def _one_name(held: DocumentProtocol) -> Mapping[str, Any]:
    return {"name": "report.txt"}


def _in_capitals(held: DocumentProtocol) -> Mapping[str, Any]:
    return {"title_style": "capitals"}


def _shifted(world: World) -> World:
    return _changed(world, lambda held: {"passage_shift": (held.passage_shift + 1) % 4})
