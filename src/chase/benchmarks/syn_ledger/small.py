"""Syn-Ledger in small: what a model of a billion parameters can read, with the same features, `B_0` and firewall.

Two required amounts below 200, found by their category and by no other condition; six documents of six records with
three fields, three tools. The search knows the entity alone, which all records share: it would find the evidence by
its category. `H_0` searches for the entity, opens the first files itself and repeats the
question after them, so that the model reads, decides and answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.terms import ANSWER_FORM, DEFAULTS, PLACEHOLDERS
from chase.core.values import Defaults, HarnessBounds, Json, Limits, Placeholder, ToolSpec
from chase.harness.folder import render_files
from chase.harness.spec import INITIAL_PROMPT, Control, Harness, Retrieval, Structure, Tools

SMALL_BASE = "syn-ledger-small"
SEARCHES, READS, CALCULATIONS = 2, 8, 2
FILES = 6
OPENED_FIRST = 4

SMALL_LIMITS = Limits(
    total_calls=SEARCHES + READS + CALCULATIONS,
    group_calls={"search": SEARCHES, "open": READS, "calculate": CALCULATIONS},
    tool_groups={"search": "search", "open_file": "open", "calculator": "calculate"},
    steps=8,
    context_tokens=8_192,
    wall_seconds=3_600.0,
)
"""An hour of a model's time: slow cores are no fault of an agent."""

RECORD: Mapping[str, Json] = {
    "type": "object",
    "description": "A record that counts, copied.",
    "properties": {
        "entity": {"type": "string", "maxLength": 40},
        "category": {"type": "string", "maxLength": 40},
        "amount": {"type": "integer"},
    },
    "required": ["entity", "category", "amount"],
    "additionalProperties": False,
}
"""Conditions first, the amount last: a model that is held to a schema looks it up as it writes."""

SMALL_TOOLS = (
    ToolSpec(
        name="search",
        description=f"Find files by the entity of their records. One of {SEARCHES} searches.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": 60},
                "limit": {"type": "integer", "minimum": 1, "maximum": FILES, "default": FILES},
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        name="open_file",
        description=f"Read three records of a file; again: the next three. One of {READS} reads.",
        parameters={
            "type": "object",
            "properties": {"file": {"type": "string", "maxLength": 80, "description": "Path or id."}},
            "required": ["file"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        name="calculator",
        description=f"Evaluate arithmetic with + and -. One of {CALCULATIONS} calculations.",
        parameters={
            "type": "object",
            "properties": {
                "first": RECORD,
                "second": RECORD,
                "expression": {
                    "type": "string",
                    "pattern": "^[0-9]{1,3} [+-] [0-9]{1,3}$",
                    "description": "Of both amounts.",
                },
            },
            "required": ["first", "second", "expression"],
            "additionalProperties": False,
        },
    ),
)

REMINDER = '''
def plan(task: Task) -> Plan:
    """The question once more after the files: small models forget what they read first."""
    return {
        "note": "The question again: " + task["question"] + " Find the two records that it asks for, pass their two "
        "amounts to the calculator, and answer with the result."
    }
'''.lstrip()

SMALL_INITIAL: Mapping[str, str] = render_files(
    Harness(
        structure=Structure(
            benchmark=SMALL_BASE,
            answer=ANSWER_FORM.name,
            retrieval=Retrieval(templates=("{entity}",)),
            tools=Tools(open_first=OPENED_FIRST, opened_files=FILES),
            control=Control(repairs=1),
        ),
        prompt=INITIAL_PROMPT,
        control_source=REMINDER,
    )
)


class SmallSynLedger(SynLedger):
    """The small form of Syn-Ledger: `syn-ledger-small@SEED`."""

    base = SMALL_BASE
    limits = SMALL_LIMITS
    tools: Sequence[ToolSpec] = SMALL_TOOLS
    indexed: Sequence[str] = ("entity",)
    interface = replace(SynLedger.interface, listing=None)
    bounds = HarnessBounds(results=FILES, opened=FILES, reserved_reads=READS - 1, templates=SEARCHES)
    initial = SMALL_INITIAL
    placeholders: Mapping[str, Placeholder] = {name: PLACEHOLDERS[name] for name in ("entity", "question")}
    defaults: Defaults = replace(
        DEFAULTS, rollouts={"evo": 1, "disc": 1, "conf1": 2, "conf2": 2, "conf3": 2, "cert": 1}, typical=None
    )

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        return {name: values for name, values in super().slots(question).items() if name in self.placeholders}
