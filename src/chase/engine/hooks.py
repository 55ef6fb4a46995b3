"""What a harness's `control.py` may define: the hooks, their types, and the shape each must return.

A hook is a plain function on plain data. It runs in a sandbox (`engine/sandbox.py`), never in the host
interpreter. Arguments are copies, so changing one changes nothing outside. What a hook wants to remember it
keeps in globals of `control.py`: these live exactly as long as one rollout, and no other rollout sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from chase.core.values import Json
from chase.engine.hook_types import PLAN_QUERIES, type_stubs

QUERY_CHARS = 1_000
TEXT_CHARS = 8_000

Check = Callable[[Json, Sequence[Json]], str | None]
"""(returned value, the call's arguments) → what is wrong with the value, or None."""

_ACCEPTED = {
    "Task": ("Task", "dict[str, Any]"),
    "State": ("State", "dict[str, Any]"),
    "ToolState": ("ToolState", "dict[str, Any]"),
    "list[Hit]": ("list[Any]",),
}
"""What a parameter may be annotated with: a TypedDict and a plain dict do not accept each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    """One hook: how the engine calls it, when, and what it must return."""

    name: str
    parameters: Mapping[str, str]
    """Parameter name → the type that an author annotates it with."""
    returns: str
    doc: str
    check: Check

    @property
    def signature(self) -> str:
        """The definition an author writes, e.g. 'rerank(hits: list[Hit], state: State) -> list[int]'."""
        shown = ", ".join(f"{name}: {kind}" for name, kind in self.parameters.items())
        return f"{self.name}({shown}) -> {self.returns}"

    @property
    def type_name(self) -> str:
        """The stubs' name for this hook's callable type."""
        return f"Hook_{self.name}"

    @property
    def stub(self) -> str:
        """The callable type that a definition is checked against, as one line of stub source."""
        choices = product(*(_ACCEPTED.get(kind, (kind,)) for kind in self.parameters.values()))
        kinds = (f"Callable[[{', '.join(choice)}], {self.returns}]" for choice in choices)
        return f"{self.type_name} = {' | '.join(kinds)}"


def text_problem(value: Json, most: int) -> str | None:
    """What keeps `value` from being a text of at most `most` characters that can be stored and sent."""
    if not isinstance(value, str):
        return f"expected str, got {_kind(value)}"
    if len(value) > most:
        return f"expected at most {most} characters, got {len(value)}"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "expected valid Unicode, got a lone surrogate"
    return None


def _check_plan(value: Json, _: Sequence[Json]) -> str | None:
    if not isinstance(value, dict):
        return f"expected dict, got {_kind(value)}"
    if extra := sorted(set(value) - {"queries", "note"}):
        return f"unknown key {extra[0][:40]!r}; valid: 'queries', 'note'"
    queries = value.get("queries", [])
    if not isinstance(queries, list):
        return f"'queries': expected list, got {_kind(queries)}"
    if len(queries) > PLAN_QUERIES:
        return f"'queries': expected at most {PLAN_QUERIES}, got {len(queries)}"
    problems = [f"'queries': {p}" for p in map(_query_problem, queries) if p]
    if note_problem := text_problem(value.get("note", ""), TEXT_CHARS):
        problems.append(f"'note': {note_problem}")
    return problems[0] if problems else None


def _query_problem(value: Json) -> str | None:
    if problem := text_problem(value, QUERY_CHARS):
        return problem
    return None if value.strip() else "expected a query, got an empty text"


def _check_query(value: Json, _: Sequence[Json]) -> str | None:
    return _query_problem(value)


def _check_order(value: Json, arguments: Sequence[Json]) -> str | None:
    expected = len(arguments[0])
    if not isinstance(value, list):
        return f"expected list, got {_kind(value)}"
    if len(value) != expected:
        return f"expected {expected} indices, got {len(value)}"
    # bool is an int to Python, and `sorted` would accept it.
    if odd := [item for item in value if type(item) is not int]:
        return f"expected indices of type int, got {_kind(odd[0])}"
    if sorted(value) != list(range(expected)):
        return f"expected each index from 0 to {expected - 1} once"
    return None


def _check_text_or_none(value: Json, _: Sequence[Json]) -> str | None:
    return None if value is None else text_problem(value, TEXT_CHARS)


def _check_bool(value: Json, _: Sequence[Json]) -> str | None:
    return None if isinstance(value, bool) else f"expected bool, got {_kind(value)}"


def _kind(value: Json) -> str:
    return "None" if value is None else type(value).__name__


HOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        hook.name: hook
        for hook in (
            Hook(
                name="plan",
                parameters={"task": "Task"},
                returns="Plan | dict[str, Any]",
                doc="Called once, before the model's first turn. May return 'queries' (at most "
                f"{PLAN_QUERIES}, issued as ordinary counted searches) and a 'note' for the model.",
                check=_check_plan,
            ),
            Hook(
                name="rewrite_query",
                parameters={"query": "str", "state": "State"},
                returns="str",
                doc="Called before each search, after `retrieval.rewrites`. Returns the query that is issued instead.",
                check=_check_query,
            ),
            Hook(
                name="rerank",
                parameters={"hits": "list[Hit]", "state": "State"},
                returns="list[int]",
                doc="Called on each search result, after `retrieval.rank`, with all that a search can show. Returns "
                "the order to show the hits in: each index once. The first ones are shown.",
                check=_check_order,
            ),
            Hook(
                name="after_tool",
                parameters={"tool": "str", "result": "str", "state": "ToolState"},
                returns="str | None",
                doc="Called after each tool call, with its result as the model reads it and, in state['items'], item "
                "by item. Returns text to append to the result, or None.",
                check=_check_text_or_none,
            ),
            Hook(
                name="should_stop",
                parameters={"state": "State"},
                returns="bool",
                doc="Called after each turn. True asks the model for its answer now.",
                check=_check_bool,
            ),
            Hook(
                name="check_answer",
                parameters={"answer": "str", "state": "State"},
                returns="str | None",
                doc="Called on the answer. A text sends it back to the model, once; None accepts it.",
                check=_check_text_or_none,
            ),
        )
    }
)
"""Every hook by name. The engine calls nothing else in `control.py`."""


def stubs() -> str:
    """The type stubs that `control.py` is checked against. Authors may annotate with their names."""
    return type_stubs() + "".join(f"\n{hook.stub}" for hook in HOOKS.values()) + "\n"
