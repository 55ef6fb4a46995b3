"""`chase demo`: the main job on the embedded benchmark, end to end."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.statistics import statistics
from chase.cli.audit import print_audit
from chase.cli.bench import run_validation
from chase.cli.opening import open_benchmark
from chase.cli.output import new_folder, steps
from chase.core.errors import IntegrityError, UserError
from chase.runs.results import AuditResult

MARK = ".chase-demo"
"""A folder with this file was written by the demo and may be written anew."""
AUDIT_SEED = 12
"""Harnesses are audited on a benchmark that they were not evolved on."""
NAMES = {"chase-without-challenger": "without Challenger", "chase": "CHASE"}
FIGURES = ("g_rel", "g_0", "delta_bs")
Row = Mapping[str, Any]


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the result goes.")] = Path("demo"),
    name: Annotated[str, typer.Option("--benchmark", metavar="B")] = "syn-ledger@11",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, max=20, help="Run seeds 1 to N.")] = 3,
) -> None:
    """Verify Syn-Ledger, evolve harnesses on it with and without a Challenger, and audit them (simulated)."""
    _check_ours(out)
    benchmark = _opened(name)
    folder = _fresh(out)
    results = run_validation(benchmark)
    failed = [result.name for result in results if not result.passed]
    if failed:
        raise IntegrityError(f"{name}: checks failed: {', '.join(failed)}. See `chase bench validate {name}`.")
    typer.echo(
        f"{name}: {len(benchmark.tasks())} tasks, {len(results)} checks passed, {len(benchmark.variants())} variants"
    )
    _show_counts(benchmark, folder)
    _demonstrate(name, folder, seeds)
    typer.echo(
        f"\nEverything is in {folder}/: results.json, and for each run its workspace with harnesses, archive and "
        "traces (`chase trace list --workspace …`)."
    )


def _opened(name: str) -> SynLedger:
    benchmark = open_benchmark(name)
    if not isinstance(benchmark, SynLedger):
        raise UserError(f"--benchmark={name}: the demo is on Syn-Ledger, where B_0 is known. Write syn-ledger@SEED.")
    return benchmark


def _demonstrate(name: str, folder: Path, seeds: int) -> None:
    """Evolve, tabulate, audit, and show one audit in full; everything is kept in the folder."""
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.runs.demo import EFFECT, SPREAD, audit_all, audit_size, evolve_all

    with steps("evolving") as progress:
        rows = evolve_all(name, folder, seeds, progress)
    typer.echo(
        f"\nPlain optimiser and CHASE on {name}, run seeds 1 to {seeds} (simulated reader; gains in points on "
        "sealed tasks):"
    )
    for title, of_method in _grouped(rows):
        typer.echo(f"{title} {_summary(of_method)}")
    size = audit_size(AUDIT_SEED)
    typer.echo(
        f"\nAudits on {size.benchmark}: to see a released gain of {100 * EFFECT:.0f} points (spread "
        f"{100 * SPREAD:.0f} between tasks) in 9 of 10 audits takes {size.tasks} confirmation tasks; the paper's 48 "
        "settle nothing."
    )
    with steps("auditing") as progress:
        audits = audit_all(rows, size, progress)
    for title, of_method in _grouped(rows):
        words = Counter("H* is H_0" if r["initial"] else audits[r["hash"]]["verdict"] for r in of_method)
        typer.echo(f"{title} {', '.join(f'{word} {count}' for word, count in sorted(words.items()))}")
    _show_first([row for row in rows if not row["initial"]], audits, size.benchmark)
    payload = {"model": "sim:reader (simulated)", "evolved": rows, "audits": list(audits.values())}
    (folder / "results.json").write_text(json.dumps(payload, indent=2))


def _grouped(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each edit space and method under their title."""
    from chase.runs.demo import SPACES

    return [
        (f"  {SPACES[space]:<24} {NAMES[method]:<16}", _of(rows, space, method)) for space in SPACES for method in NAMES
    ]


def _of(rows: Sequence[Row], space: str, method: str) -> list[Row]:
    return [row for row in rows if (row["space"], row["method"]) == (space, method)]


def _summary(rows: Sequence[Row]) -> str:
    means = {name: 100 * sum(row[name] for row in rows) / len(rows) for name in FIGURES}
    cues = sum(row["cue"] for row in rows)
    return (
        f"a planted cue in H* {cues}/{len(rows)}; G_rel {means['g_rel']:+.1f}, G_0 {means['g_0']:+.1f}, "
        f"Delta_BS {means['delta_bs']:+.1f}"
    )


def _show_first(evolved: Sequence[Row], audits: Mapping[str, Row], benchmark: str) -> None:
    """The audit of the first seed's harness, in full."""
    from chase.runs.demo import PLAIN, SPACES

    first = next((row for row in evolved if row["method"] == PLAIN), None)
    if first is None:
        typer.echo("\nNo harness was evolved: there is nothing to audit.")
        return
    named = f"{NAMES[first['method']]}, {SPACES[first['space']]}, seed {first['seed']}"
    typer.echo(f"\nThe first of them in full ({named}): {'; '.join(first['edits'])}\n")
    folder = Path(first["folder"])
    print_audit(AuditResult(payload=audits[first["hash"]], folder=folder, benchmark=open_benchmark(benchmark)))


def _show_counts(benchmark: SynLedger, folder: Path) -> None:
    counts = statistics(benchmark)
    (folder / "stats.json").write_text(json.dumps(counts, indent=2))
    for feature, levels in counts["splits"]["cert"]["features"].items():
        released, neutral = levels["released"], levels["neutral"]
        typer.echo(
            f"  {feature:<14} favorable for {released['favorable']}/{released['total']} evidence documents as "
            f"released, {neutral['favorable']}/{neutral['total']} neutralised"
        )


def _check_ours(out: Path) -> None:
    """Only an empty folder or one that the demo wrote may be cleared."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).exists())):
        raise UserError(f"--out={out} holds something that the demo did not write. Name another folder.")


def _fresh(out: Path) -> Path:
    """The folder, empty but for the demo's mark."""
    if out.exists():
        shutil.rmtree(out)
    folder = new_folder(out, "--out")
    (folder / MARK).touch()
    return folder
