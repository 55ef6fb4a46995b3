"""Tables of any run: scores and gains, certification, certificates, outcomes task by task, tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chase.report.facts import RoleTokens
from chase.report.outcomes import PairedOutcomes
from chase.runs.certified_figures import bounds_of, certified_figures
from chase.runs.rendering import millions, percent, points, usd
from chase.runs.tables import Table
from chase.stats.theorems import VACUOUS

Found = Mapping[str, Any]


def variants(rows: Sequence[Found], tasks: int, names: tuple[str, str], level: float = 0.95) -> Table:
    """The gain under each variant with the scores that it is the difference of. `names`: keys of the two harnesses."""
    before, after = names
    return Table(
        name="results",
        title=f"Scores and gains on {tasks} tasks, in percent and points with {100 * level:g} % intervals",
        headings=("Variant", "", f"R({before})", f"R({after})", "Gain", f"{100 * level:g} % interval"),
        rows=[
            [
                row["name"],
                row["what"],
                percent(row["scores"][0]),
                percent(row["scores"][1]),
                points(row["gain"]["value"]),
                f"{points(row['gain']['low'])} to {points(row['gain']['high'])}",
            ]
            for row in rows
        ],
        fields=("variant", "what", "r_before", "r_after", "gain", "se", "low", "high", "n"),
        data=[
            [
                row["name"],
                row["what"],
                *row["scores"],
                *(row["gain"][key] for key in ("value", "se", "low", "high", "n")),
            ]
            for row in rows
        ],
        alignments="lprrrr",
    )


def certification(found: Found) -> Table:
    """The paper's columns."""
    rows = list(certified_figures(found))
    return Table(
        name="certification",
        title=f"Certification on {found['tasks']} sealed tasks, in percent ± standard error",
        headings=("Figure", "%", "± se", "n", "Meaning"),
        rows=[
            [
                symbol,
                f"{100 * estimate['value']:{'' if symbol.startswith('R') else '+'}.2f}",
                f"{100 * estimate['se']:.2f}",
                str(estimate["n"]),
                meaning,
            ]
            for symbol, estimate, meaning in rows
        ],
        fields=("figure", "value", "se", "n", "low", "high", "meaning"),
        data=[
            [symbol, *(estimate[key] for key in ("value", "se", "n", "low", "high")), meaning]
            for symbol, estimate, meaning in rows
        ],
        alignments="lrrrp",
    )


def certificates(theorems: Found) -> Table:
    """Bounds that hold with a stated probability."""
    bounds = list(bounds_of(theorems))
    return Table(
        name="certificates",
        title=f"Certificates, in points, each two together with probability {100 * theorems['level']:g} %",
        headings=("Bound", "Hoeffding (the paper)", "betting", "Meaning"),
        rows=[
            [
                f"{bound.symbol} {bound.side}",
                *(
                    f"{points(value)}{f' ({VACUOUS})' if nothing else ''}"
                    for value, nothing in zip(bound.values, bound.vacuous, strict=True)
                ),
                bound.meaning,
            ]
            for bound in bounds
        ],
        fields=("symbol", "side", "hoeffding", "betting", "meaning"),
        data=[[bound.symbol, bound.side, *bound.values, bound.meaning] for bound in bounds],
        notes=[f"α = {theorems['alpha']:g}, {theorems['tasks']} tasks, |A| = {theorems['archive_size']}."],
        alignments="lrrp",
    )


def paired(outcomes: Sequence[PairedOutcomes]) -> Table:
    """On how many tasks it does better, the same and worse."""
    return Table(
        name="paired-outcomes",
        title="The same tasks with both harnesses: on how many the mean score goes up, stays, goes down",
        headings=("Harness", "Variant", "Tasks", "Better", "The same", "Worse"),
        rows=[
            [found.harness, found.variant, *map(str, (len(found.tasks), found.better, found.same, found.worse))]
            for found in outcomes
        ],
        fields=("harness", "variant", "tasks", "better", "same", "worse"),
        data=[
            [found.harness, found.variant, len(found.tasks), found.better, found.same, found.worse]
            for found in outcomes
        ],
        alignments="llrrrr",
    )


def tasks(outcomes: Sequence[PairedOutcomes]) -> Table:
    """The same, task by task: long, and a file alone."""
    rows = [(found, pair) for found in outcomes for pair in found.tasks]
    return Table(
        name="tasks",
        title="Mean score of each task with both harnesses",
        headings=("Harness", "Variant", "Task", "Before", "After"),
        rows=[
            [found.harness, found.variant, pair.task, f"{pair.before:.3f}", f"{pair.after:.3f}"] for found, pair in rows
        ],
        fields=("harness", "variant", "task", "before", "after"),
        data=[[found.harness, found.variant, pair.task, pair.before, pair.after] for found, pair in rows],
        alignments="lllrr",
    )


def tokens(rows: Sequence[RoleTokens]) -> Table:
    """Token use by role: a task set's rollouts, or an agent."""
    return Table(
        name="tokens",
        title="Token use by role, in millions",
        headings=("Role", "Stage", "Episodes", "of them reused", "Total", "Without cached input", "Paid total", "Paid"),
        rows=[
            [
                row.role, row.stage, f"{row.episodes:,}", f"{row.reused:,}",
                millions(row.total), millions(row.uncached),
                millions(row.paid.input_tokens + row.paid.output_tokens),
                usd(row.paid.cost_usd if row.paid.requests else 0.0),
            ]
            for row in rows
        ],
        fields=("role", "stage", "episodes", "reused", "total", "uncached", "paid_total", "paid_usd"),
        data=[
            [
                row.role, row.stage, row.episodes, row.reused, row.total, row.uncached,
                row.paid.input_tokens + row.paid.output_tokens, row.paid.cost_usd if row.paid.requests else 0.0,
            ]
            for row in rows
        ],
        alignments="llrrrrrr",
        notes=["A reused rollout is an episode of this run and was paid for once, by whoever came first."],
    )  # fmt: skip
