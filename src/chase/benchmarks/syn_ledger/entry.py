"""Syn-Ledger's entry in the registry of benchmarks."""

from __future__ import annotations

from chase.benchmarks.registry import BenchmarkEntry
from chase.benchmarks.syn_ledger.benchmark import open_syn_ledger

ENTRY = BenchmarkEntry(
    name="syn-ledger",
    summary="320 synthetic ledger tasks with planted benchmark-wide shortcuts and a known B_0",
    pattern="syn-ledger[@SEED[xBLOCKS]][:FIVE+PLANTED+FEATURES][/evo64]",
    open=open_syn_ledger,
)
SMALL_ENTRY = BenchmarkEntry(
    name="syn-ledger-small",
    summary="the same construction in small, for small models: two amounts below 200, six documents of six records",
    pattern="syn-ledger-small[@SEED[xBLOCKS]][:FIVE+PLANTED+FEATURES][/evo64]",
    open=open_syn_ledger,
)
