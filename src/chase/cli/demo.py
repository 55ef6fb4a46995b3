"""`chase demo`: the main job on the embedded benchmark, end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.benchmarks.syn_ledger.statistics import statistics
from chase.cli.bench import run_validation
from chase.cli.output import new_folder
from chase.core.errors import IntegrityError, UserError

MARK = ".chase-demo"
"""A folder with this file was written by the demo and may be written anew."""
AUDIT_SEED = 12
"""Harnesses are audited on a benchmark that they were not evolved on."""


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the result goes.")] = Path("demo"),
    name: Annotated[str, typer.Option("--benchmark", metavar="B")] = "syn-ledger@11",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, max=20, help="Run seeds 1 to N.")] = 3,
) -> None:
    """Verify Syn-Ledger, evolve harnesses on it with the plain optimiser and with CHASE, and audit them (simulated)."""
    _check_ours(out)
    benchmark = open_syn_ledger(name)
    folder = _fresh(out)
    results = run_validation(benchmark)
    failed = [result.name for result in results if not result.passed]
    if failed:
        raise IntegrityError(f"{name}: checks failed: {', '.join(failed)}. See `chase bench validate {name}`.")
    typer.echo(
        f"{name}: {len(benchmark.tasks())} tasks, {len(results)} checks passed, {len(benchmark.variants())} variants"
    )
    _show_counts(benchmark, folder)
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.cli.demonstration import demonstrate

    demonstrate(name, AUDIT_SEED, folder, seeds)
    typer.echo(
        f"\nEverything is in {folder}/: results.json, and for each run its workspace with harnesses, archive and "
        "traces (`chase trace list --workspace …`)."
    )


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
