"""Controls of the firewall's self-test on a benchmark of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from chase.benchmarks.corpus.controls import Cheats, negative_controls, shifted
from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.benchmarks.corpus.subject import CORPUS
from chase.benchmarks.corpus.world import Excerpt, World
from chase.benchmarks.documents.description import PARTS, Part
from chase.benchmarks.documents.operators import KINDS
from chase.core.controls import Controls, NegativeControl
from chase.core.keyed import key_bits
from chase.core.markdown_tables import is_row
from chase.core.values import Json
from chase.protocol.lifting import negative_control
from chase.protocol.operators import KindOperator

if TYPE_CHECKING:
    from chase.benchmarks.documents.benchmark import Documents

Form = dict[str, Json]
REFUSED: Mapping[str, list[Form]] = {
    "operator outside the allowlist": [{"name": "selftest.moves-lines", "arguments": {}}],
    "argument outside the type": [{"name": "shift-passages", "arguments": {"by": 7}}],
    "a tool's name of one's own": [{"name": "alias-tools", "arguments": {"words": {"search": "answer"}}}],
    "an argument too many": [{"name": "wrap-text", "arguments": {"placement": "answer"}}],
}
"""None of these passes parsing."""


def documents_controls(benchmark: Documents) -> Controls:
    """Positive controls are the allowed operators that change something on these documents; an operator of a part that
    the description does not name is refused.
    """
    answers = [benchmark.task(task).answer for task in benchmark.subject.check_tasks]
    cheats = Cheats(
        questions_of_a_role=frozenset(benchmark.task(task).question for task in benchmark.tasks("evo")),
        answer=answers[0],
        one_name="document.txt",
        text_lines=_text_lines,
        lay_out_otherwise=_cut_otherwise,
        moves_passages=shifted,
    )
    singles = {_label(operator): [_form(operator)] for operator in _active(benchmark)}
    of_each_kind = list({form["name"]: form for forms in singles.values() for form in forms}.values())
    compositions = {
        "composition: every second kind": of_each_kind[::2],
        "composition: the other kinds": of_each_kind[1::2],
    }
    return Controls(
        positive={"identity": [], **singles, **compositions},
        negative=(*negative_controls(cheats), *_on_messages()),
        refused={**REFUSED, **_not_allowed(benchmark)},
    )


def _active(benchmark: Documents) -> Iterator[KindOperator[AnyProtocol]]:
    """Operators under which something else is shown: with no folders, say, none can be renamed."""
    subject = benchmark.subject
    world, before = subject.state(CORPUS), subject.released(CORPUS).view
    for kind in benchmark.allowlist.values():
        for operator in kind.forms():
            if operator.arguments.get("among") == "ties":
                continue  # whether there are ties in another order depends on the seed
            if subject.present(subject.lift(operator).apply(world, seed=0)).view != before:
                yield operator


def _label(operator: KindOperator[AnyProtocol]) -> str:
    return f"single: {operator.name} {', '.join(map(str, operator.arguments.values()))}".strip()


def _form(operator: KindOperator[AnyProtocol]) -> Form:
    return {"name": operator.name, "arguments": dict(operator.arguments)}


def _not_allowed(benchmark: Documents) -> Mapping[str, list[Form]]:
    allowed: frozenset[Part] = benchmark.description.transforms()
    return {
        f"a part that may not change: {part}": [_form(KINDS[part][0].forms()[0])]
        for part in PARTS
        if part not in allowed and KINDS[part][0].name not in benchmark.allowlist
    }


def _text_lines(document: Excerpt) -> Mapping[str, int]:
    """Lines that are no rows and stand once in a document, with their places."""
    lines = document.lines
    return {line: n for n, line in enumerate(lines) if line.strip() and not is_row(line) and lines.count(line) == 1}


def _cut_otherwise(world: World) -> World:
    """Passages of four lines, wherever they were cut."""
    lines = world.protocol.layout.passage_lines
    return replace(world, protocol=world.protocol.lay_out(passage_lines=4 if lines != 4 else 6))


def _on_messages() -> tuple[NegativeControl, ...]:
    """Feedback and serialization that depend on what they must not know."""

    def by_question(world: World) -> World:
        odd = world.question is not None and key_bits("feedback", world.question) % 2 == 0
        feedback = "labelled" if odd else "bracketed"
        return replace(world, protocol=world.protocol.show_tools(feedback=feedback))

    def in_lines(world: World) -> World:
        return replace(world, protocol=world.protocol.show_tools(serialization="lines"))

    return (
        negative_control("feedback-by-question", "task-independence", by_question, declared=frozenset({"feedback"})),
        negative_control("undeclared-serialization", "declared-changes", in_lines, declared=frozenset({"order"})),
    )
