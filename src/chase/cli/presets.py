"""Named sets of settings: what another flag says still wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.core.errors import choose

FEW_TASKS = {"evo": 4, "disc": 4, "conf": 4, "cert": 8}
EVOLVE: Mapping[str, Mapping[str, Any]] = {
    "pilot": {
        "rounds": 1,
        "rollouts": {"evo": 1, "disc": 1, "conf": 1, "cert": 1},
        "split_sizes": FEW_TASKS,
        "proposals": 4,
        "history_tokens": 30_000,
    },
}
AUDIT: Mapping[str, Mapping[str, Any]] = {
    "pilot": {"rounds": 1, "rollouts": 1, "split_sizes": FEW_TASKS, "proposals": 4, "history_tokens": 30_000},
}


def with_preset(file: Mapping[str, Any], presets: Mapping[str, Mapping[str, Any]], flag: str | None) -> dict[str, Any]:
    """The config file's values with a preset's: over them if a flag names it, below them if the file does."""
    if flag is not None:
        return {**file, **presets[choose("preset", flag, presets)]}
    named = file.get("preset")
    return dict(file) if named is None else {**presets[choose("preset", str(named), presets)], **file}
