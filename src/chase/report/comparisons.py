"""The sections of a report on a comparison of methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chase.harness.diff import Change
from chase.report import more_charts
from chase.report.document import Block, Figure, Section, Tabular, Text
from chase.report.facts import Measured, RunFacts
from chase.report.tables_evolution import change_in_words
from chase.report.verdicts import kept_figure, kept_of
from chase.runs import comparison_tables
from chase.runs.rendering import points
from chase.runs.tables import Table

Found = Mapping[str, Any]
_SHOWN_FIRST = ("results",)


def sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """The paper's main table, gain kept against gain released, differences, what each method does and ended with."""
    result = facts.result
    if result is None:
        return
    made = {table.name: table for table in comparison_tables.tables(result)}
    yield _results(result, made)
    yield _about(made)
    yield _members(result)


def _results(result: Found, made: Mapping[str, Table]) -> Section:
    blocks: list[Block] = []
    if result["certified"]:
        blocks.append(Tabular(table=made["results"]))
        blocks.append(_kept(result))
    else:
        blocks.append(Text(text="The sealed tasks were left alone (--no-certify): there are no results to compare."))
    for name in ("differences", "certificates", "paper"):
        if name in made:
            blocks.append(Tabular(table=made[name]))
    return Section(id="results", title="What came out", blocks=blocks)


def _kept(result: Found) -> Figure:
    key, words = kept_figure(result)
    symbol = "G_0" if key else "G_rel − Γ"
    rows = {name: (row["g_rel"], kept_of(row, key)) for name, row in result["methods"].items()}
    table = Table(
        name="kept",
        title=f"Gain released and gain kept ({words}), in points ± standard error over tasks",
        headings=("Method", "G_rel", "± se", symbol, "± se"),
        rows=[
            [name, points(a["value"]), f"{100 * a['se']:.1f}", points(b["value"]), f"{100 * b['se']:.1f}"]
            for name, (a, b) in rows.items()
        ],
        fields=("method", "g_rel", "g_rel_se", "kept", "kept_se"),
        data=[[name, a["value"], a["se"], b["value"], b["se"]] for name, (a, b) in rows.items()],
    )
    title = "Gain kept against gain released"
    caption = f"{title}: {words}, method by method, ± one standard error over tasks."
    return Figure(drawing=more_charts.kept(rows, f"{symbol}, gain {words}", title), table=table, caption=caption)


def _about(made: Mapping[str, Table]) -> Section:
    names = ("features", *(f"tokens-{stage}" for stage in comparison_tables.STAGES))
    blocks = [Tabular(table=made[name]) for name in names if name in made]
    return Section(id="methods", title="What each method does and takes", blocks=blocks)


def _members(result: Found) -> Section:
    rows = [(member, [Change(**_plain(change)) for change in member["changes"]]) for member in result["members"]]
    table = Table(
        name="members",
        title="What each method ended with, seed by seed",
        headings=("Method", "Seed", "H*", "Changes in H_0", "Archive", "Run"),
        rows=[
            [
                member["method"],
                str(member["seed"]),
                member["final"]["name"],
                "; ".join(f"{change.key}: {change_in_words(change)}" for change in found) or "none: it is H_0",
                str(len(member["archive"])),
                member["run"],
            ]
            for member, found in rows
        ],
        fields=("method", "seed", "final", "hash", "changes", "archived", "run"),
        data=[
            [
                member["method"], member["seed"], member["final"]["name"], member["final"]["hash"], len(found),
                len(member["archive"]), member["run"],
            ]
            for member, found in rows
        ],
        alignments="lrlprl",
    )  # fmt: skip
    return Section(id="members", title="Members", blocks=[Tabular(table=table)])


def _plain(change: Found) -> dict[str, Any]:
    return {**{key: value for key, value in change.items() if key != "track"}, "lines": tuple(change["lines"])}
