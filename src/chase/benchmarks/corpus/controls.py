"""Negative controls of the firewall's self-test that any corpus has: operators that must each be caught."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from chase.benchmarks.corpus.operators import SHIFTS
from chase.benchmarks.corpus.protocol import ORDER_SPAN, DocumentProtocol
from chase.benchmarks.corpus.world import Excerpt, World
from chase.core.controls import NegativeControl
from chase.core.keyed import key_bits
from chase.protocol.lifting import negative_control


@dataclass(frozen=True, kw_only=True)
class Cheats:
    """What a cheat would have to know, and what differs between benchmarks."""

    questions_of_a_role: frozenset[str]
    answer: str
    """Of a check task."""
    one_name: str
    """A name for all documents."""
    text_lines: Callable[[Excerpt], Mapping[str, int]]
    """Lines that stand once in a document and may be exchanged with another's, with their places."""
    lay_out_otherwise: Callable[[World], World]
    """A change of the layout, for a control that does not declare it."""
    moves_passages: Callable[[World], World]


def negative_controls(cheats: Cheats) -> tuple[NegativeControl, ...]:
    return (*_on_contents(cheats), *_on_access(cheats), *_on_rules(cheats))


def shifted(world: World) -> World:
    """Boundaries between passages stand five lines later."""
    shift = world.protocol.layout.passage_shift
    return replace(world, protocol=world.protocol.lay_out(passage_shift=(shift + 5) % SHIFTS))


def _changed(world: World, change: Callable[[DocumentProtocol], Mapping[str, Any]]) -> World:
    return replace(world, protocol=world.protocol.update({held.id: change(held) for held in world.protocol.documents}))


def _demoted(world: World, condition: Callable[[Excerpt], bool]) -> World:
    """Documents that meet the condition come last: a harmless change, were it unconditional."""
    meet = {document.id for document in world.documents if condition(document)}
    return _changed(world, lambda held: {"order": ORDER_SPAN - 1 if held.id in meet else held.order})


def _aliased(world: World, **names: str) -> World:
    changed = {**world.protocol.interface.tool_names, **names}
    return replace(world, protocol=world.protocol.show_tools(tool_names=changed))


def _with_field(world: World, field: str, name: str) -> World:
    names = {**world.protocol.interface.field_names, field: name}
    return replace(world, protocol=world.protocol.show_tools(field_names=names))


def _moved_lines(world: World, text_lines: Callable[[Excerpt], Mapping[str, int]]) -> World:
    """Two documents exchange a line of text."""
    first, second, *rest = world.documents
    here, there = text_lines(first), text_lines(second)
    mine = next(line for line in here if line not in second.lines)
    theirs = next(line for line in there if line not in first.lines)
    swapped = _with_line(first, here[mine], theirs), _with_line(second, there[theirs], mine)
    return replace(world, documents=(*swapped, *rest))


def _with_line(document: Excerpt, place: int, line: str) -> Excerpt:
    return replace(document, lines=(*document.lines[:place], line, *document.lines[place + 1 :]))


def _without_lines(world: World) -> World:
    documents = (replace(document, lines=document.lines[: len(document.lines) // 2]) for document in world.documents)
    return replace(world, documents=tuple(documents))


def _without_document(world: World) -> World:
    """One document less."""
    gone = world.documents[0].id
    held = tuple(document for document in world.protocol.documents if document.id != gone)
    return replace(world, documents=world.documents[1:], protocol=replace(world.protocol, documents=held))


_TURNS = itertools.count(1)


def _turned(world: World) -> World:
    """Moves the order on by another step at every call, whatever its input: a replay differs."""
    step = next(_TURNS) * 7919
    return _changed(world, lambda held: {"order": (held.order * 17 + step) % ORDER_SPAN})


def _lenient(answer: str, output: str | None) -> float:
    return float(bool(output))


TASK, INFORMATION, ACCESS = "task-and-answer", "available-information", "access-and-resources"
DECLARED, INDEPENDENCE, REPLAY = "declared-changes", "task-independence", "replay-and-inversion"
NAMES, FIELDS = frozenset({"name"}), frozenset({"field_names"})
TOOL_NAMES, ORDER, SHIFT = frozenset({"tool_names"}), frozenset({"order"}), frozenset({"passage_shift"})


def _on_contents(cheats: Cheats) -> tuple[NegativeControl, ...]:
    """Changes of what is asked, answered and held."""
    control, answer = negative_control, cheats.answer
    in_names = control(
        "shows-an-answer-in-names",
        TASK,
        lambda w: _changed(w, lambda d: {"name": f"{answer} {d.name}"}),
        declared=NAMES,
    )
    return (
        control("changes-question", TASK, lambda w: replace(w, question=w.question and f"{w.question} Please.")),
        control("changes-answers", TASK, lambda w: replace(w, answer=w.answer and f"{w.answer}1")),
        in_names,
        control("shows-an-answer-in-a-field", TASK, lambda w: _with_field(w, "passage", answer), declared=FIELDS),
        control("moves-lines", INFORMATION, lambda w: _moved_lines(w, cheats.text_lines)),
        control("drops-lines", INFORMATION, _without_lines, alone=False),
        control("drops-document", INFORMATION, _without_document, alone=False),
    )


def _on_access(cheats: Cheats) -> tuple[NegativeControl, ...]:
    """Changes of tools, limits, names and the scorer, and of what was not declared."""
    control = negative_control

    def one_name(held: DocumentProtocol) -> Mapping[str, Any]:
        return {"name": cheats.one_name}

    return (
        control(
            "one-name-for-two-tools", ACCESS, lambda w: _aliased(w, calculator="list_documents"), declared=TOOL_NAMES,
            alone=False,
        ),
        control(
            "one-name-for-two-fields", ACCESS, lambda w: _with_field(w, "document", "name"), declared=FIELDS,
            alone=False,
        ),
        control("raises-limit", ACCESS, lambda w: replace(w, limits=replace(w.limits, total_calls=99))),
        control("removes-tool", ACCESS, lambda w: replace(w, operations=w.operations[:-1])),
        control("one-name-for-all-documents", ACCESS, lambda w: _changed(w, one_name), declared=NAMES),
        control("lenient-scorer", "scoring", lambda w: replace(w, scorer=_lenient)),
        control("undeclared-layout", DECLARED, cheats.lay_out_otherwise, declared=ORDER),
        control("undeclared-tool-name", DECLARED, lambda w: _aliased(w, search="lookup"), declared=ORDER),
    )  # fmt: skip


def _on_rules(cheats: Cheats) -> tuple[NegativeControl, ...]:
    """Rules that depend on what they must not know, and changes that are not the same twice or not undone."""
    tools: Mapping[str, Callable[[World], int]] = {
        "tools-by-role": lambda w: int(w.question in cheats.questions_of_a_role),
        "tools-by-question": lambda w: _one_of_seven(w.question),
        "tools-by-answer": lambda w: _one_of_seven(w.answer),
    }
    orders: Mapping[str, Callable[[World], World]] = {
        "order-by-question": lambda w: _changed(w, lambda d: {"order": d.order + _one_of_seven(w.question)}),
        "order-by-contents": lambda w: _demoted(w, lambda d: _one_of_seven("".join(d.lines)) < 3),
        "order-by-id": lambda w: _demoted(w, lambda d: d.id < "m"),
    }
    return (
        *(negative_control(name, INDEPENDENCE, _alias_by(rule), declared=TOOL_NAMES) for name, rule in tools.items()),
        *(negative_control(name, INDEPENDENCE, run, declared=ORDER) for name, run in orders.items()),
        negative_control("replay-differs", REPLAY, _turned, declared=ORDER, alone=False),
        negative_control("false-inverse", REPLAY, cheats.moves_passages, declared=SHIFT, inverse=lambda _: {}),
    )


def _one_of_seven(text: str | None) -> int:
    return 0 if text is None else key_bits("control", text) % 7


def _alias_by(rule: Callable[[World], int]) -> Callable[[World], World]:
    return lambda world: _aliased(world, search=f"lookup{'_again' * rule(world)}")
