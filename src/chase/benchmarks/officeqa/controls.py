"""Controls of the firewall's self-test: transformations that must pass, and operators that must each be caught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chase.benchmarks.corpus.controls import Cheats, negative_controls, shifted
from chase.benchmarks.corpus.world import Excerpt, World
from chase.benchmarks.officeqa.blocks import blocks
from chase.benchmarks.officeqa.operators import ALLOWLIST
from chase.core.controls import Controls
from chase.core.markdown_tables import is_row
from chase.core.values import Json


def _form(name: str, **arguments: Json) -> dict[str, Json]:
    return {"name": name, "arguments": arguments}


DEPENDS_ON_DATA = (
    ("order-results", {"among": "ties", "way": "reversed"}),
    ("order-results", {"among": "ties", "way": "permuted"}),
    ("move-units", {"to": "before"}),
    ("move-notes", {"to": "after"}),
    ("restyle-tables", {"style": "markdown"}),
    ("cut-passages", {"lines": 40}),
)
"""Valid, and on most data inactive: nothing ties, or it is so as released."""
COMPOSITIONS: Mapping[str, list[dict[str, Json]]] = {
    "composition: the paper's two": [_form("wrap-text"), _form("shift-passages", by=10)],
    "composition: tools, arguments and passages": [
        _form("alias-tools", words="library"),
        _form("rename-arguments", words="desk"),
        _form("cut-passages", lines=20),
        _form("shift-passages", by=5),
    ],
    "composition: fields in objects, under other names": [
        _form("nest-fields", group="origin"),
        _form("rename-fields", words="desk"),
        _form("wrap-text"),
        _form("nest-fields", group="position"),
    ],
    "composition: names, orders and layout": [
        _form("rename-documents", style="opaque"),
        _form("order-listing", way="permuted"),
        _form("order-results", among="page", way="reversed"),
        _form("move-units", to="other side"),
        _form("move-notes", to="before"),
        _form("restyle-tables", style="bare"),
    ],
    "composition: both vocabularies": [_form("alias-tools", words="library"), _form("alias-tools", words="desk")],
}
REFUSED: Mapping[str, list[dict[str, Json]]] = {
    "operator outside the allowlist": [_form("selftest.moves-lines")],
    "argument outside the type": [_form("shift-passages", by=7)],
    "a tool's name of one's own": [_form("alias-tools", words={"search": "answer"})],
    "an argument too many": [_form("wrap-text", placement="answer")],
}
"""None of these passes parsing."""


def office_controls(questions_of_a_role: frozenset[str], answer: str) -> Controls:
    """The self-test's controls. The arguments are what a cheat would have to know: which questions have a role, and a
    check task's answer.
    """
    singles = {
        f"single: {kind.name} {', '.join(map(str, operator.arguments.values()))}".strip(): [
            {"name": kind.name, "arguments": dict(operator.arguments)}
        ]
        for kind in ALLOWLIST.values()
        for operator in kind.forms()
        if (kind.name, dict(operator.arguments)) not in DEPENDS_ON_DATA
    }
    cheats = Cheats(
        questions_of_a_role=questions_of_a_role,
        answer=answer,
        one_name="bulletin.txt",
        text_lines=_text_lines,
        lay_out_otherwise=_in_compact_tables,
        moves_passages=shifted,
    )
    positive = {"identity": [], **singles, **COMPOSITIONS}
    return Controls(positive=positive, negative=negative_controls(cheats), refused=REFUSED)


def _text_lines(document: Excerpt) -> dict[str, int]:
    """The lines of plain text that stand once in a document, with their places."""
    lines = document.lines
    places = [n for b in blocks(lines) if b.kind == "text" for n in range(b.start, b.end) if not is_row(lines[n])]
    return {lines[place]: place for place in places if lines.count(lines[place]) == 1}


def _in_compact_tables(world: World) -> World:
    return replace(world, protocol=world.protocol.lay_out(table_style="compact"))
