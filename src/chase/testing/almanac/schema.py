"""Almanac's tools, their limits, and what the engine has to know of them under the names of a variant."""

from __future__ import annotations

from chase.benchmarks.naming import Operation
from chase.core.values import Limits, MatchArgument, OpenTool, SearchTool, ToolInterface
from chase.testing.almanac.protocol import InterfaceProtocol

LINES = 12
"""Most lines that a call reads."""
DEFAULT_RESULTS, MOST_RESULTS = 5, 12
MATCHES = ALL, ANY = "all", "any"
LARGEST = 10**15

LIMITS = Limits(
    total_calls=10,
    group_calls={"look": 4, "read": 6, "compute": 2},
    tool_groups={"find": "look", "read": "read", "compute": "compute"},
    steps=14,
    context_tokens=16_384,
    wall_seconds=120.0,
)
"""Under canonical names."""


OPERATIONS = (
    Operation(
        name="find",
        description="Look for passages by words: those that hold any of them, or only those that hold all. Those that "
        "hold every word come first. One of 4 look calls.",
        required=("text",),
        arguments={
            "text": {"type": "string", "description": "Words to look for."},
            "top": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_RESULTS},
            "match": {"type": "string", "enum": list(MATCHES), "default": ANY},
        },
    ),
    Operation(
        name="read",
        description=f"Read lines of a document, at most {LINES} a call, from its beginning if nothing else is said. "
        "One of 6 read calls.",
        required=("document",),
        arguments={
            "document": {"type": "string", "description": "The document's id or its name."},
            "from": {"type": "integer", "minimum": 1, "description": "The first line."},
            "to": {"type": "integer", "minimum": 1, "description": "The last line."},
        },
    ),
    Operation(
        name="compute",
        description="Work out two numbers. One of 2 compute calls.",
        required=("left", "right", "kind"),
        arguments={
            "left": {"type": "number"},
            "right": {"type": "number"},
            "kind": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
        },
    ),
)


def show_interface(interface: InterfaceProtocol) -> ToolInterface:
    return ToolInterface(
        search=SearchTool(
            tool=interface.tool_names["find"],
            query=interface.argument("find.text"),
            limit=interface.argument("find.top"),
            match=MatchArgument(argument=interface.argument("find.match"), all=ALL, any=ANY),
        ),
        open=OpenTool(tool=interface.tool_names["read"], document=interface.argument("read.document"), unit="document"),
    )
