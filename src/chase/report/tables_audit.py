"""Tables of an audit: edits, findings by source, what could show nothing, coverage, the tasks, the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.methods.verdict import MeasuredGain
from chase.report.edit_chart import in_words
from chase.runs.rendering import EXPLAINED, percent, points, share_with_ends, with_ends
from chase.runs.tables import Table
from chase.stats.estimates import Estimate

Found = Mapping[str, Any]
SOURCES: Mapping[str, str] = {
    "battery": "The battery, which is fixed",
    "search": "Found in the search",
    "given": "Given",
}
"""In the order in which they are shown."""


def by_source(findings: Sequence[Found]) -> list[Found]:
    """The battery first, then what was searched for or given; within a source the most destructive first."""
    return sorted(findings, key=lambda found: list(SOURCES).index(found["source"]))


def is_informative(found: Found) -> bool:
    """A gain could have been told from nothing under it."""
    return found["no_room"] is None


def findings(source: str, shown: Sequence[Found]) -> Table:
    """Gain destruction of each informative change from one source."""
    return Table(
        name=f"findings-{source}",
        title=f"{SOURCES[source]}: gain destruction in points",
        headings=("Name", "What changes", "Finding", "Gain destruction", "Of the gain", "Half of it"),
        rows=[
            [
                found["name"], found["what"], found["status"], with_ends(found["destruction"]),
                share_with_ends(found["share_destroyed"]), half_in_words(found),
            ]
            for found in shown
        ],
        fields=(
            "source", "name", "what", "symbols", "draws", "status", "delta", "low", "high", "n", "share", "share_low",
            "share_high", "half", "expected_share", "log_odds", "hash",
        ),
        data=[
            [
                found["source"], found["name"], found["what"], found["symbols"], len(found["draws"]), found["status"],
                *(found["destruction"][key] for key in ("value", "low", "high", "n")),
                *((found["share_destroyed"] or {}).get(key) for key in ("value", "low", "high")),
                half_in_words(found), found["expected_share"], found["log_odds"]["value"], found["hash"],
            ]
            for found in shown
        ],
        notes=[f"{found['name']}: {'; '.join(notes)}." for found in shown if (notes := list(_notes(found)))],
        alignments="lplrrl",
    )  # fmt: skip


def half_in_words(found: Found) -> str:
    """The verdict's statement on half of the gain under a change."""
    measured = MeasuredGain(
        what=found.get("what", found["name"]),
        source=found["source"],
        **{key: Estimate(**found[key]) for key in ("destruction", "unexplained", "half", "half_expected")},
        expected_share=found["expected_share"],
        no_room=found["no_room"],
    )
    if measured.destroys_half:
        return "surely gone"
    return "surely left" if measured.keeps_half else "open"


def _notes(found: Found) -> Iterator[str]:
    if len(found["draws"]) > 1:
        yield f"{len(found['draws'])} draws, measured together"
    if found["expected_share"] < EXPLAINED:
        yield f"the base rate alone would leave {100 * found['expected_share']:.0f} % of the gain"
    if found["searched"] is not None:
        yield f"{points(found['searched']['value'])} in search, where it was selected"


def uninformative(shown: Sequence[Found]) -> Table:
    """Changes that could not have shown anything, with the reason."""
    return Table(
        name="not-informative",
        title="What could not have shown anything, and counts for nothing",
        headings=("Source", "Name", "What changes", "Baseline", "Harness", "Why"),
        rows=[
            [found["source"], found["name"], found["what"], *map(percent, scores(found)), found["no_room"]]
            for found in shown
        ],
        fields=("source", "name", "what", "r_baseline", "r_harness", "why", "hash"),
        data=[
            [found["source"], found["name"], found["what"], *scores(found), found["no_room"], found["hash"]]
            for found in shown
        ],
        alignments="llprrp",
    )


def scores(found: Found) -> tuple[float, float]:
    """Of the baseline and of the harness."""
    return found["scores"]["baseline"]["value"], found["scores"]["harness"]["value"]


def coverage(battery: Found) -> Table:
    """The aspects of the protocol by what the battery did with them; for programs a row for each."""
    by_fate = {
        "made alike in all documents": battery["equal"],
        "drawn anew": battery["redrawn"],
        "not tested": battery["untested"],
        "left out: the firewall refuses it": [f"{what} ({', '.join(why)})" for what, why in battery["invalid"].items()],
    }
    return Table(
        name="coverage",
        title="What the battery changes, all at once, and what it does not",
        headings=("In the battery", "Aspects"),
        rows=[[fate, ", ".join(aspects)] for fate, aspects in by_fate.items() if aspects],
        fields=("battery", "aspect"),
        data=[[fate, aspect] for fate, aspects in by_fate.items() for aspect in aspects],
        alignments="pp",
    )


def evidence(result: Found) -> Table:
    """The tasks, and what they could show before anything was measured."""
    rows = [[name, said] for name, said in _evidence(result)]
    return Table(
        name="evidence",
        title="The tasks, and what they could show",
        headings=("Figure", "Value"),
        rows=rows,
        fields=("name", "value"),
        data=rows,
        alignments="pp",
    )


def _evidence(result: Found) -> Iterator[tuple[str, str]]:
    used, there, clusters = result["confirm_tasks"], result["fresh_tasks"], result["clusters"]
    enough = f"{used} of {there}, enough to settle it" if used < there else str(used)
    yield "Confirmation tasks", f"{enough}; {result['exposure']['text']}"
    yield "Clusters", "none known: each task counts by itself" if clusters == used else f"{clusters} clusters of tasks"
    can = result["detectable"]
    for name, key in (("Smallest gain", "gain"), ("Smallest gain destruction", "destruction")):
        yield name, "none, however large" if can[key] is None else f"{100 * can[key]:.1f} points"
    base = 100 * can["base_rate"]
    yield "Shown so small", f"in {100 * can['power']:.0f} % of audits, with a baseline that solves {base:.0f} %"
    if result["search_tasks"]:
        yield "Searched on", f"{result['search_tasks']} other tasks"
    yield "Statements hold together at", f"{100 * result['level']:g} %"


def edits(found: Found, words: Mapping[str, str]) -> Table:
    """Contribution and label of each edit."""
    names = found["probes"]
    under = [f"under_{name}" for name in names]
    return Table(
        name="attribution",
        title=f"Contributions in points; all intervals hold together at {100 * found['level']:g} %",
        headings=("Edit", "It is", "As released", *names),
        rows=[[part["name"], in_words(part), *map(_measured, _figures(part, names))] for part in found["parts"]],
        fields=("edit", "component", "label", "rests_on", "contribution", "low", "high", *under),
        data=[
            [
                part["name"], part["component"], part["label"], "; ".join(part["rests_on"]),
                *((part["contribution"] or {}).get(key) for key in ("value", "low", "high")),
                *((estimate or {}).get("value") for estimate in _figures(part, names)[1:]),
            ]
            for part in found["parts"]
        ],
        alignments="pp" + "r" * (1 + len(names)),
        notes=[f"{name}: {words[name]}." for name in names if name in words],
    )  # fmt: skip


def ways(found: Found) -> Table:
    """The two ways in which an edit's released contribution is measured."""
    return Table(
        name="attribution-ways",
        title="Released contributions by the two ways to measure them, in points",
        headings=("Edit", "Taken out of the harness", "Put into the baseline"),
        rows=[
            [part["name"], _measured(part["leave_one_out"]), _measured(part["add_one_in"])] for part in found["parts"]
        ],
        fields=("edit", "leave_one_out", "add_one_in"),
        data=[
            [part["name"], *((part[way] or {}).get("value") for way in ("leave_one_out", "add_one_in"))]
            for part in found["parts"]
        ],
        alignments="prr",
    )


def _figures(part: Found, names: Sequence[str]) -> list[Found | None]:
    return [part["contribution"], *(part["under"].get(name, {}).get("gain") for name in names)]


def _measured(estimate: Found | None) -> str:
    return "not measured" if estimate is None else with_ends(estimate)


def tried(rows: Sequence[Found]) -> Table:
    """Transformations written in the search."""
    return Table(
        name="tried",
        title="Transformations that were tried in search, with the firewall's verdicts",
        headings=("Transformation", "Verdict", "Why", "Suspected", "Δ̂ in search"),
        rows=[
            [
                found["what"] or found.get("description", ""),
                found["verdict"],
                found["reason"],
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
