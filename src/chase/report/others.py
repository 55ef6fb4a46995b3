"""The sections of a report on a repair and on a rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chase.report.document import Block, Section, Tabular, Text
from chase.report.evolution import harness_section
from chase.report.facts import Measured, RunFacts
from chase.runs.rendering import percent, points, with_ends
from chase.runs.tables import Table

Found = Mapping[str, Any]
_EDITS = {"dropped": "taken out", "generalised": "without its condition", "kept": "kept"}


def repair_sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """The edits that were taken out, and the gain that the repaired harness keeps on tasks of the measurement."""
    result = facts.result
    if result is not None:
        blocks: list[Block] = [Text(text=f"{result['reason'][:1].upper()}{result['reason'][1:]}.")]
        if result["measured"]:
            blocks.append(Tabular(table=_kept(result)))
        if result["repaired"]:
            blocks.append(Tabular(table=_edits(result["repaired"])))
        yield Section(id="results", title="What came out", blocks=blocks)
    yield harness_section(facts)


def _kept(result: Found) -> Table:
    rows = [(name, found) for name, found in result["measured"].items() if found is not None]
    return Table(
        name="results",
        title=f"Gain over the baseline on {result['confirm_tasks']} tasks ({result['exposure']['text']}), in points",
        headings=("Harness", "as released", "under the counterfactual that was worst in the search"),
        rows=[[name, with_ends(found["released"]), with_ends(found["surviving"])] for name, found in rows],
        fields=("harness", "released", "surviving"),
        data=[[name, found["released"]["value"], found["surviving"]["value"]] for name, found in rows],
    )


def _edits(repaired: Found) -> Table:
    rows = [(name, word) for key, word in _EDITS.items() for name in repaired[key]]
    return Table(
        name="edits",
        title="What became of each edit",
        headings=("Edit", "Became"),
        rows=rows,
        fields=("edit", "became"),
        data=rows,
        alignments="pl",
    )


def rollout_sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """The score, and how rollouts ended that did not end with an answer."""
    result = facts.result
    if result is None:
        return
    score, failures = result["score"], result["failures"]
    rows = [("score", percent(score["value"], 2)), ("standard error", points(score["se"], 2).lstrip("+"))]
    rows += [("interval", f"{percent(score['low'])} to {percent(score['high'])}"), ("tasks", str(score["n"]))]
    rows += [(f"ended with: {reason}", str(count)) for reason, count in failures.items()]
    table = Table(
        name="results",
        title=f"Score on {result['split']} under {result['variant']}",
        headings=("Figure", "Value"),
        rows=rows,
        fields=("name", "value"),
        data=rows,
        alignments="lr",
    )
    tasks = Table(
        name="tasks",
        title="Mean score of each task",
        headings=("Task", "Score"),
        rows=[[task, f"{value:.3f}"] for task, value in result["per_task"].items()],
        fields=("task", "score"),
        data=list(result["per_task"].items()),
    )
    blocks = [Tabular(table=table), Tabular(table=tasks, shown=False)]
    yield Section(id="results", title="What came out", blocks=blocks)
