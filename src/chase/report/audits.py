"""The sections of a report on an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.report import charts, tables
from chase.report.document import Block, Figure, Section, Tabular, Text
from chase.report.evolution import harness_section, outcome_section
from chase.report.facts import Measured, RunFacts
from chase.runs.rendering import points, with_ends
from chase.runs.tables import Table

Found = Mapping[str, Any]


def sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """Verdict, findings, attribution, what was tried, what the harness changes."""
    result = facts.result
    if result is not None:
        findings = (*result["confirmed"], *result["not_confirmed"])
        words = {"released": "as released", **{found["name"]: found["what"] for found in findings}}
        yield _results(result, findings)
        yield outcome_section(measured, words)
        yield _attribution(result, words)
        yield _tried(result["tried"])
    yield harness_section(facts)


def _results(result: Found, findings: Sequence[Found]) -> Section:
    blocks: list[Block] = [Text(text=_sentence(result["reason"]))]
    if result["headline"]:
        blocks.append(Text(text=result["headline"]))
    if result["tasks_needed"]:
        needed = (
            f"About {result['tasks_needed']} confirmation tasks would settle it; there were {result['confirm_tasks']}."
        )
        blocks.append(Text(text=needed))
    rows = [_row("released", "as released", result["g_rel"], result["scores"])]
    rows += [_row(found["name"], found["what"], found["gain"], found["scores"]) for found in findings]
    table = tables.variants(rows, result["confirm_tasks"], ("baseline", "harness"))
    drawn = charts.gains([(r["name"], r["what"], r["gain"]) for r in rows], "Gain under each variant")
    blocks.append(Figure(drawing=drawn, table=table, caption="Gain over the baseline on the confirmation tasks."))
    if findings:
        blocks.append(Tabular(table=_findings(findings)))
    return Section(id="results", title="What came out", blocks=blocks)


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _row(name: str, what: str, gain: Found, scores: Found) -> dict[str, Any]:
    both = [scores[key]["value"] for key in ("baseline", "harness")]
    return {"name": name, "what": what, "gain": gain, "scores": both}


def _findings(findings: Sequence[Found]) -> Table:
    return Table(
        name="findings",
        title="Counterfactuals on confirmation tasks: gain destruction in points, intervals that hold together",
        headings=("Name", "What changes", "Status", "Gain destruction", "in search", "log-odds", "Note"),
        rows=[
            [
                found["name"],
                found["what"],
                found["status"],
                with_ends(found["destruction"]),
                with_ends(found["searched"]),
                f"{found['log_odds']['value']:+.2f}",
                found["no_room"] or "",
            ]
            for found in findings
        ],
        fields=("name", "what", "symbols", "status", "delta", "low", "high", "n", "log_odds", "no_room", "hash"),
        data=[
            [
                found["name"], found["what"], found["symbols"], found["status"],
                *(found["destruction"][key] for key in ("value", "low", "high", "n")), found["log_odds"]["value"],
                found["no_room"], found["hash"],
            ]
            for found in findings
        ],
        alignments="lplrrrp",
    )  # fmt: skip


def _attribution(result: Found, words: Mapping[str, str]) -> Section | None:
    found = result.get("attribution")
    if not found or len(found["parts"]) < 2:
        return None
    return Section(
        id="attribution",
        title="Which edit carries what",
        blocks=[Tabular(table=_parts(found, words))],
        lead="Each edit taken out of the harness and put into the baseline; the mean of the two is its contribution.",
    )


def _parts(found: Found, words: Mapping[str, str]) -> Table:
    names = found["probes"]
    return Table(
        name="attribution",
        title=f"Contributions in points; all intervals hold together at {100 * found['level']:.0f} %",
        headings=("Edit", "As released", *names, "It is", "It rests on"),
        rows=[
            [
                part["name"], *(_measured(estimate) for estimate in _figures(part, names)), part["label"],
                ", ".join(part["rests_on"]),
            ]
            for part in found["parts"]
        ],
        fields=("edit", "contribution", *names, "label", "rests_on"),
        data=[
            [
                part["name"], *((estimate or {}).get("value") for estimate in _figures(part, names)), part["label"],
                "; ".join(part["rests_on"]),
            ]
            for part in found["parts"]
        ],
        alignments="p" + "r" * (1 + len(names)) + "lp",
        notes=[f"{name}: {words[name]}." for name in names if name in words],
    )  # fmt: skip


def _figures(part: Found, names: Sequence[str]) -> list[Found | None]:
    return [part["contribution"], *(part["under"].get(name, {}).get("gain") for name in names)]


def _measured(estimate: Found | None) -> str:
    return "not measured" if estimate is None else with_ends(estimate)


def _tried(tried: Sequence[Found]) -> Section | None:
    if not tried:
        return None
    rows = list({(found["hash"], found["verdict"], found["what"]): found for found in tried}.values())
    table = Table(
        name="tried",
        title="Transformations that were tried in search, with the firewall's verdicts",
        headings=("Transformation", "Verdict", "Why", "Suspected", "Δ̂ in search"),
        rows=[
            [
                found["what"] or found.get("description", ""),
                found["verdict"],
                found["reason"] if found["verdict"] != "valid" else "",
                ", ".join(found["suspected"]),
                with_ends(found["destruction"]),
            ]
            for found in rows
        ],
        fields=("what", "symbols", "verdict", "reason", "suspected", "delta", "low", "high", "hash"),
        data=[
            [
                found["what"], found["symbols"], found["verdict"], found["reason"], "; ".join(found["suspected"]),
                *((found["destruction"] or {}).get(key) for key in ("value", "low", "high")), found["hash"],
            ]
            for found in rows
        ],
        alignments="plppr",
    )  # fmt: skip
    best = max((f["destruction"]["value"] for f in rows if f["destruction"]), default=None)
    said = "" if best is None else f" The largest gain destruction in search was {points(best)} points."
    lead = f"{len(rows)} transformations were tried.{said}"
    return Section(id="tried", title="The search", blocks=[Tabular(table=table)], lead=lead)
