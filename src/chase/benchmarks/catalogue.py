"""The benchmarks that a name can mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chase.benchmarks.cache import HOME_CACHE, BuiltCache
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.core.errors import choose
from chase.harness.spec import base_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A benchmark that can be opened by name."""

    name: str
    summary: str
    pattern: str
    """How seeds and sizes are written."""
    open: Callable[[str, BuiltCache | None], Any]
    """By name, from the cache if it was built before; None builds it in any case."""


CATALOGUE: Mapping[str, Entry] = {
    "syn-ledger": Entry(
        name="syn-ledger",
        summary="320 synthetic ledger tasks with planted benchmark-wide shortcuts and a known B_0",
        pattern="syn-ledger[@SEED[xBLOCKS]][:FIVE+PLANTED+FEATURES][/evo64]",
        open=open_syn_ledger,
    )
}


def open_benchmark(name: str, cache: BuiltCache | None = HOME_CACHE) -> SynLedger:
    """The benchmark of a name such as `syn-ledger` or `syn-ledger@7x40`; an unknown one is a `UserError`.

    What was built before comes from the cache; without one (None) it is built anew.
    """
    base = base_name(name)
    benchmark: SynLedger = CATALOGUE[choose("benchmark", base, CATALOGUE)].open(name, cache)
    return benchmark
