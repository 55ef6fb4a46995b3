"""The sections of a report on an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.methods.edits import GROUPED
from chase.report import charts, tables, tables_audit
from chase.report.document import Block, Figure, Section, Tabular, Text
from chase.report.edit_chart import edits
from chase.report.evolution import harness_section, outcome_section
from chase.report.facts import Measured, RunFacts
from chase.runs.rendering import points

Found = Mapping[str, Any]


def sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """Verdict, edits, what was tested, task by task, the search, what the harness changes."""
    result = facts.result
    if result is not None:
        findings = tables_audit.by_source((*result["confirmed"], *result["not_confirmed"]))
        words = {"released": "as released", **{found["name"]: found["what"] for found in findings}}
        yield _results(result, findings)
        yield _edits(result["attribution"], words)
        yield _tested(result, findings)
        yield outcome_section(measured, words)
        yield _tried(result["tried"])
    yield harness_section(facts)


def _results(result: Found, findings: Sequence[Found]) -> Section:
    """The gain as released and under every change that could have shown something."""
    blocks: list[Block] = [Text(text=_sentence(result["reason"]))]
    if result["tasks_needed"]:
        needed = result["tasks_needed"]
        there = result["confirm_tasks"]
        blocks.append(Text(text=f"About {needed} confirmation tasks would settle it; there were {there}."))
    rows = [_row("released", "as released", result["g_rel"], result["scores"])]
    rows += [
        _row(found["name"], found["what"], found["gain"], found["scores"])
        for found in findings
        if tables_audit.is_informative(found)
    ]
    table = tables.variants(rows, result["confirm_tasks"], ("baseline", "harness"), result["level"])
    drawn = charts.gains(
        [(r["name"], r["what"], r["gain"]) for r in rows], "Gain under each variant", over="the baseline"
    )
    blocks.append(Figure(drawing=drawn, table=table, caption="Gain over the baseline on the confirmation tasks."))
    blocks.append(Tabular(table=tables_audit.evidence(result)))
    return Section(id="results", title="What came out", blocks=blocks)


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _row(name: str, what: str, gain: Found, scores: Found) -> dict[str, Any]:
    both = [scores[key]["value"] for key in ("baseline", "harness")]
    return {"name": name, "what": what, "gain": gain, "scores": both}


def _edits(found: Found | None, words: Mapping[str, str]) -> Section | None:
    """Each edit's contribution as released and with everything neutral."""
    if not found or not found["parts"]:
        return None
    caption = "A shortcut surely loses more than half of it under a probe; an honest edit surely keeps half under each."
    blocks: list[Block] = [
        Figure(drawing=edits(found["parts"]), table=tables_audit.edits(found, words), caption=caption),
        *(Text(text=said) for said in _left_open(found["parts"])),
        Tabular(table=tables_audit.ways(found), folded=True),
    ]
    lead = "Each edit taken out of the harness and put into the baseline; the mean of the two is its contribution."
    if found["grouped_by"] is not None:
        lead += f" {GROUPED[found['grouped_by']]}"
    return Section(id="attribution", title="Which edit carries what", blocks=blocks, lead=lead)


def _left_open(parts: Sequence[Found]) -> Iterator[str]:
    """Reasons why something of an edit was not measured, or could show nothing."""
    if unproven := [part["name"] for part in parts if part["contribution"] is not None and not part["under"]]:
        yield f"As released it may contribute nothing, so no probe was run for it: {'; '.join(unproven)}."
    for part in parts:
        if part["problem"]:
            yield f"Not measured in full: {part['name']}: {part['problem']}"
        for probe, under in part["under"].items():
            if under["no_room"]:
                yield f"Of {part['name']} nothing could be shown under {probe}: {under['no_room']}."


def _tested(result: Found, findings: Sequence[Found]) -> Section | None:
    """Findings by source, what could show nothing apart from them, and what the battery covers."""
    told = [found for found in findings if tables_audit.is_informative(found)]
    silent = [found for found in findings if found not in told]
    blocks: list[Block] = []
    for source in tables_audit.SOURCES:
        if shown := [found for found in told if found["source"] == source]:
            blocks.append(Tabular(table=tables_audit.findings(source, shown)))
    if silent:
        blocks.append(Tabular(table=tables_audit.uninformative(silent)))
    if result["battery"] is not None:
        blocks.append(Tabular(table=tables_audit.coverage(result["battery"])))
    if not blocks:
        return None
    lead = (
        "The battery is fixed and changes everything that it can at once; what else was tested was found in a search "
        "on other tasks, or given. A finding is confirmed if it surely destroys something of the gain, and more than "
        f"the base rate explains. Bounds hold together at {100 * result['level']:g} %."
    )
    return Section(id="tested", title="What was tested", blocks=blocks, lead=lead)


def _tried(tried: Sequence[Found]) -> Section | None:
    if not tried:
        return None
    rows = list({(found["hash"], found["verdict"], found["what"]): found for found in tried}.values())
    best = max((f["destruction"]["value"] for f in rows if f["destruction"]), default=None)
    said = "" if best is None else f" The largest gain destruction in search was {points(best)} points."
    lead = f"{len(rows)} transformations were tried.{said}"
    return Section(id="tried", title="The search", blocks=[Tabular(table=tables_audit.tried(rows))], lead=lead)
