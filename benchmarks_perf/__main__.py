"""`python -m benchmarks_perf [FILE …]`: run the measurements, print a table, write `perf-results.json`."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

import benchmarks_perf
from benchmarks_perf import Measurement, Row
from chase.cli.output import emit_table
from chase.core.errors import UserError, choose

RESULTS = Path("perf-results.json")


def discover(wanted: Sequence[str]) -> list[Measurement]:
    """The measurements of the named files, of all files if none is named, in the order of the files' names."""
    modules = pkgutil.iter_modules(benchmarks_perf.__path__)
    files = sorted(module.name for module in modules if not module.ispkg and module.name != "__main__")
    chosen = [choose("measurement", name, files) for name in wanted] or files
    return [m for name in chosen for m in importlib.import_module(f"benchmarks_perf.{name}").MEASUREMENTS]


def machine() -> dict[str, Any]:
    """What a reader needs to place the figures: cores, Python, and how busy the machine was at the start."""
    cores = os.cpu_count() or 1
    load_per_core = round(os.getloadavg()[0] / cores, 2)
    return {"cores": cores, "python": platform.python_version(), "load_per_core": load_per_core}


def table_of(rows: Sequence[Row], where: dict[str, Any]) -> Table:
    table = Table(title=f"{where['cores']} cores, Python {where['python']}, load per core {where['load_per_core']}")
    for heading in ("measurement", "median", "unit", "n", "ratio", "peer", "peer's median", "note"):
        table.add_column(heading)
    for row in rows:
        figures = (_figure(row.value), row.unit, str(row.repetitions), _figure(row.ratio))
        table.add_row(row.name, *figures, row.peer, _figure(row.peer_value), row.note)
    return table


def _figure(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.2f}"


def main() -> None:
    try:
        measurements = discover(sys.argv[1:])
    except UserError as error:
        typer.echo(f"benchmarks_perf: {error}", err=True)
        sys.exit(error.exit_code)
    where = machine()
    rows: list[Row] = []
    for measurement in measurements:
        typer.echo(f"measuring {measurement.__module__}.{measurement.__name__} ...", err=True)
        rows += measurement()
    emit_table(table_of(rows, where))
    results = [{**asdict(row), "ratio": row.ratio} for row in rows]
    RESULTS.write_text(json.dumps({"schema": "chase.perf/1", "machine": where, "rows": results}, indent=2) + "\n")
    typer.echo(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
