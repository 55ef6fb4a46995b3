"""The types that hooks of `control.py` get and return, each field with what it means.

Authors may annotate with their names. The type stubs, the prompts and `docs/harness.md` are made from what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PLAN_QUERIES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class HookType:
    """A dict with these keys."""

    name: str
    doc: str
    fields: Mapping[str, tuple[str, str]]
    """Key → its type and what it means."""
    extends: str = ""
    """The type whose keys it has too."""
    optional: bool = False
    """Whether keys may be left out."""

    @property
    def stub(self) -> str:
        """Its definition as stub source. Comments say what it means: a TypedDict takes no docstrings of keys."""
        bases = self.extends or ("TypedDict, total=False" if self.optional else "TypedDict")
        lines = [f"# {self.doc}", f"class {self.name}({bases}):"]
        for key, (kind, meaning) in self.fields.items():
            lines += [f"    # {meaning}", f"    {key}: {kind}"]
        return "\n".join(lines)


TYPES = (
    HookType(
        name="State",
        doc="The task as it was observed so far.",
        fields={
            "question": ("str", "The question's text."),
            "slots": (
                "dict[str, list[str]]",
                "The placeholders of query templates with their values in this question, e.g. {'period': ['2001']}.",
            ),
            "calls_left": ("dict[str, int]", "Tool calls left by group of tools, and of all together under 'total'."),
            "step": ("int", "Which turn of the model's it is, from 0."),
            "opened": ("dict[str, int]", "Document id → windows of it that were read; 2 or more: it was read on."),
        },
    ),
    HookType(
        name="Task",
        doc="The task before the model's first turn.",
        extends="State",
        fields={"tools": ("list[str]", "The names of the tools.")},
    ),
    HookType(
        name="Hit",
        doc="One document's part of a tool result.",
        fields={
            "id": ("str", "The document's id: the same in every listing, result and window."),
            "path": ("str", "Its path or name, as shown."),
            "observables": (
                "dict[str, float | None]",
                "Every observable of the benchmark; None where this result does not show what it needs.",
            ),
            "fields": (
                "dict[str, Any]",
                "What a structured result says of it, by the names that are shown; else empty.",
            ),
            "text": ("str", "How it reads in the result, e.g. 'reports/2001.md [abc] matches'."),
        },
    ),
    HookType(
        name="ToolState",
        doc="The task, with the result that was just got.",
        extends="State",
        fields={"items": ("list[Hit]", "The result item by item; empty where it has none, as a calculator's.")},
    ),
    HookType(
        name="Plan",
        doc="What to do before the model's first turn.",
        optional=True,
        fields={
            "queries": ("list[str]", f"Searches to issue, at most {PLAN_QUERIES}, as ordinary counted calls."),
            "note": ("str", "What the model is told beside the question."),
        },
    ),
)


def type_stubs() -> str:
    """All types as stub source."""
    imports = "from collections.abc import Callable\nfrom typing import Any, TypedDict\n"
    return "\n".join([imports, *(f"{kind.stub}\n" for kind in TYPES)])
