"""What an agent gets to see of a task through the tools alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import Sighting

BROAD = "zzzz"
"""A query that no record matches."""


def sights(benchmark: SynLedger, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
    """Each document's windows, with its places in the listing and in a broad search."""
    transformation = benchmark.variant(variant)
    listing = benchmark.environment(task, transformation).call("list_files", {}).items
    hits = benchmark.environment(task, transformation).call("search", {"query": BROAD, "limit": 12}).items
    places = {item.shown.id: item.shown for item in hits}
    seen: dict[str, Sequence[Sighting]] = {}
    for chunk in range(0, len(listing), 3):
        environment = benchmark.environment(task, transformation)  # six calls open three files
        for item in listing[chunk : chunk + 3]:
            listed, found = item.shown, places[item.shown.id]
            opened = [environment.call("open_file", {"file": listed.id}).items[0].shown for _ in range(2)]
            seen[listed.id] = [
                replace(shown, listing=listed.listing, listing_of=listed.listing_of, hit=found.hit, hit_of=found.hit_of)
                for shown in opened
            ]
    return seen
