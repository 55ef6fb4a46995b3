"""Results of audits as the schema has them, with figures of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

from chase.methods.verdict import Word
from chase.report.assembly import document
from chase.report.document import Document
from chase.report.facts import Measured, RunFacts
from chase.report.heads import RunHead
from chase.runs.tables import Table

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "chase.audit.json").read_text())
BATTERY: dict[str, Any] = {
    "equal": ["folder depths", "file formats"],
    "redrawn": ["file names"],
    "untested": ["restyle"],
    "invalid": {"titles": ["answers"]},
}
PROBES = ("neutral-low", "neutral-high")
NO_TOKENS = {
    "episodes": 0, "rollouts": 0, "agent_episodes": 0, "judged": 0, "reused": 0, "total": 0, "uncached": 0,
    "paid": {"requests": 0, "total": 0, "uncached": 0, "cost_usd": 0},
}  # fmt: skip


def estimate(value: float, radius: float = 0.02) -> dict[str, Any]:
    return {"value": value, "se": radius / 2, "n": 400, "low": value - radius, "high": value + radius, "level": 0.95}


def finding(
    name: str, destruction: float, *, gain: float = 0.1, source: str = "search", **other: Any
) -> dict[str, Any]:
    """A change that takes so much of a gain; `no_room`: why it could show nothing."""
    other.setdefault("expected_share", 1.0)
    left, expected = gain - destruction, gain * other["expected_share"] / 2
    silent = other.get("no_room") is not None
    confirmed = "not informative" if silent else "confirmed" if destruction > 0.02 else "not confirmed"
    return {
        "name": name, "source": source, "what": f"{name} in words", "symbols": name, "hash": "0" * 64, "operators": 1,
        "suspected": [], "touched": {}, "traces": [], "replay": {}, "description": "", "reason": "",
        "transformation": {"operators": []}, "draws": [{}, {}] if source == "battery" else [{}], "status": confirmed,
        "destruction": estimate(destruction), "unexplained": estimate(destruction),
        "share_destroyed": estimate(destruction / gain, 0.2), "half": estimate(left - gain / 2),
        "half_expected": estimate(left - expected), "log_odds": estimate(0.3), "gain": estimate(left),
        "searched": None, "scores": {"baseline": estimate(0.5), "harness": estimate(0.5 + left)}, "no_room": None,
        **other,
    }  # fmt: skip


def part(
    name: str, contribution: float | None, under: tuple[float, ...] = (), label: str = "open", **other: Any
) -> dict[str, Any]:
    """An edit's part of a gain, as released and under the probes."""
    measured = None if contribution is None else estimate(contribution)
    probed = {
        probe: {
            "gain": estimate(value), "half": estimate(value), "half_expected": estimate(value), "expected_share": 1.0,
            "no_room": None,
        }
        for probe, value in zip(PROBES, under, strict=False)
    }  # fmt: skip
    return {
        "name": name, "component": "system prompt", "parts": [name], "label": label, "problem": None,
        "contribution": measured, "leave_one_out": measured, "add_one_in": None, "under": probed, "rests_on": [],
        **other,
    }  # fmt: skip


def audited(verdict: Word, findings: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    """The payload of an audit, as the schema has it, with whatever else it is to have."""
    counted = [found for found in findings if found["no_room"] is None]
    gamma = max((f["destruction"]["value"] for f in counted if f["status"] == "confirmed"), default=0.0)
    confirmed = ("confirmed", "scales with the base rate")
    made = {
        "run": "audit-1", "benchmark": "syn-ledger@7", "model": "sim:reader", "baseline": "0" * 64,
        "harness": "1" * 64, "seed": 0, "verdict": verdict, "reason": "this is why", "headline": None, "stopped": None,
        "against": [found["name"] for found in counted], "tasks_needed": None, "g_rel": estimate(0.1), "gamma": gamma,
        "g_min": 0.1 - gamma, "scores": {"baseline": estimate(0.5), "harness": estimate(0.6)}, "clusters": 400,
        "confirmed": [found for found in findings if found["status"] in confirmed],
        "not_confirmed": [found for found in findings if found["status"] not in confirmed],
        "tried": [], "search_tasks": 0, "confirm_tasks": 400, "fresh_tasks": 400, "level": 0.95, "battery": BATTERY,
        "attribution": None,
        "exposure": {"text": "fresh", "tasks": 400, "seen": 0, "by": []},
        "detectable": {
            "gain": 0.05, "destruction": 0.08, "tasks": 400, "clusters": 400, "power": 0.8, "base_rate": 0.5,
            "in_words": "400 tasks",
        },
        "episodes": 0, "tokens": {"optimisation": NO_TOKENS, "certification": NO_TOKENS}, "simulated": True,
        "wall_seconds": 1.0, "parts": 1, "agents": None, "hook_failures": [], "warnings": [], **other,
    }  # fmt: skip
    jsonschema.validate({"schema": SCHEMA["properties"]["schema"]["const"], **made}, SCHEMA)
    return made


def attributed(*parts: dict[str, Any], grouped_by: str | None = None) -> dict[str, Any]:
    return {"grouped_by": grouped_by, "probes": list(PROBES), "level": 0.95, "parts": list(parts)}


def reported(result: dict[str, Any], tmp_path: Path) -> Document:
    """The report of an audit with this result."""
    head = RunHead(
        id="audit-1", command="audit", method=None, benchmark="syn-ledger@7", model="sim:reader", seed="0",
        status="finished", created_at="2026-01-01T00:00:00", conclusion="", note=None,
    )  # fmt: skip
    facts = RunFacts(
        head=head, workspace=tmp_path, config={}, settings={}, result=result, rounds=(), archive=None, harnesses=(),
        candidates={}, seals=(),
    )  # fmt: skip
    return document(facts, Measured(tokens=(), paired=()))


def tables_of(made: Document) -> dict[str, Table]:
    return {table.name: table for table in made.tables}
