"""The smallest gain and gain destruction that an audit's confirmation tasks can show, before anything is measured."""

from __future__ import annotations

from collections.abc import Collection

from chase.core.values import Json
from chase.methods.audit_findings import Bounds
from chase.protocol.battery import LEVELS
from chase.stats.detectable import Design, Detectable, detectable
from chase.stats.estimates import Clusters, clustered

BASE_RATE = 0.5
"""Of a baseline that was not measured yet."""


def sensitivity(tasks: Collection[str], clusters: Clusters, *, level: float, rollouts: int = 1) -> Detectable:
    """Compute what the intervals of the released gain and of the battery's last probe show at 80 % power."""
    sizes = [len(cluster) for cluster in clustered(tasks, clusters)]
    bounds = Bounds(level=level)
    quantities = round(bounds.acquitting / bounds.accusing(len(LEVELS) - 1))
    return detectable(sizes, level=level, quantities=quantities, design=Design(base_rate=BASE_RATE, rollouts=rollouts))


def sensitivity_json(found: Detectable) -> dict[str, Json]:
    return {
        "gain": found.gain,
        "destruction": found.destruction,
        "tasks": found.tasks,
        "clusters": found.clusters,
        "power": found.power,
        "base_rate": found.design.base_rate,
        "in_words": in_words(found),
    }


def in_words(found: Detectable) -> str:
    """ "448 tasks show a gain of 5.0 points and a gain destruction of 4.0 (80 % power)"."""
    clusters = "" if found.clusters == found.tasks else f" in {found.clusters} clusters"
    shown = [
        f"a {what} of {100 * effect:.1f} points"
        for what, effect in (("gain", found.gain), ("gain destruction", found.destruction))
        if effect is not None
    ]
    can = " and ".join(shown) if shown else "no gain, however large"
    assumed = f"{100 * found.power:.0f} % power, a baseline that solves {100 * found.design.base_rate:.0f} %"
    return f"{found.tasks} confirmation tasks{clusters} can show {can} ({assumed})"
