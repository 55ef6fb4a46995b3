"""The benchmarks that a name can mean: the built-in ones, and those of entry points in the group `chase.benchmarks`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from chase.core.errors import SetupError, choose
from chase.core.interfaces import Benchmark
from chase.core.plug_ins import load
from chase.protocol.extensions import extended

GROUP = "chase.benchmarks"


class Opener(Protocol):
    """Makes a benchmark from its name and, where it has one, its data folder.

    Called once a command. Deterministic. A name or a folder that is not valid is a `UserError`, missing data a
    `SetupError`. What takes long to build it may keep in `benchmarks/cache.py`.
    """

    def __call__(self, name: str, data: Path | None = None) -> Benchmark[Any]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkEntry:
    """A benchmark that can be opened by name. Entry points lead to one."""

    name: str
    """The base name, without seed and size."""
    summary: str
    pattern: str
    """How seeds and sizes are written."""
    open: Opener


BUILT_IN: Mapping[str, str] = {
    "syn-ledger": "chase.benchmarks.syn_ledger.entry:ENTRY",
    "syn-ledger-small": "chase.benchmarks.syn_ledger.entry:SMALL_ENTRY",
    "officeqa": "chase.benchmarks.officeqa.entry:ENTRY",
    "documents": "chase.benchmarks.documents.entry:ENTRY",
}
"""Base name → where its entry is. Nothing is imported before it is asked for."""
DEFAULT = next(iter(BUILT_IN))
"""What commands take where no benchmark is named."""


def base_name(name: str) -> str:
    """A benchmark's name without seed, size and whatever else follows: `syn-ledger` of `syn-ledger@7x40`."""
    return re.split("[@:/]", name, maxsplit=1)[0]


def benchmark_names() -> list[str]:
    """All base names, the built-in ones first."""
    return list(dict.fromkeys([*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]))


def find_entry(name: str) -> BenchmarkEntry:
    """The entry that a name belongs to; an unknown one is a `UserError` with the nearest match."""
    base = choose("benchmark", base_name(name), benchmark_names())
    if base in BUILT_IN:
        module, _, attribute = BUILT_IN[base].partition(":")
        return _checked(base, getattr(import_module(module), attribute))
    point = next(point for point in entry_points(group=GROUP) if point.name == base)
    return _checked(base, load(point, "benchmark"))


def open_benchmark(name: str, data: Path | None = None) -> Benchmark[Any]:
    """The benchmark of a name such as `syn-ledger` or `syn-ledger@7x40`, with its data where it has any, and the
    operators that are installed for it.
    """
    return extended(find_entry(name).open(name, data))


def _checked(base: str, entry: object) -> BenchmarkEntry:
    if not isinstance(entry, BenchmarkEntry) or entry.name != base:
        raise SetupError(f"benchmark '{base}': its entry point must lead to a BenchmarkEntry of this name.")
    return entry
