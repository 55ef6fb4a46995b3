"""Named sets of defaults: what a flag or the config file says still wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.core.errors import choose

FEW_TASKS = "evo=4,disc=4,conf=4,cert=8"
EVOLVE: Mapping[str, Mapping[str, Any]] = {
    "pilot": {
        "rounds": 1,
        "rollouts": "evo=1,disc=1,conf=1,cert=1",
        "split_sizes": FEW_TASKS,
        "proposals": 4,
        "history_tokens": 30_000,
    },
}
AUDIT: Mapping[str, Mapping[str, Any]] = {
    "pilot": {"rounds": 1, "rollouts": 1, "split_sizes": FEW_TASKS, "proposals": 4, "history_tokens": 30_000},
}


def with_preset(
    defaults: Mapping[str, Any], presets: Mapping[str, Mapping[str, Any]], name: str | None
) -> dict[str, Any]:
    """Defaults with a preset's over them."""
    return dict(defaults) if name is None else {**defaults, **presets[choose("preset", name, presets)]}
