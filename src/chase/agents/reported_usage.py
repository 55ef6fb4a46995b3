"""What an external agent says that it used, found in what it printed.

Claude Code (`--output-format json` or `stream-json`) ends with an object that has `usage` and `total_cost_usd`; Codex
(`exec --json`) has `usage` in its `turn.completed` events, summed up over its thread. In both the last one holds for
all: nothing is added up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from chase.core.outside import MOST_TOKENS, MOST_USD
from chase.core.values import Usage


def reported_usage(output: str, *, wall_seconds: float) -> tuple[Usage, str] | None:
    """(usage, the model's name where it is said) as a command's output reports it; None where it does not."""
    found = None
    for report in _reports(output):
        usage = _usage(report["usage"], report.get("total_cost_usd"), wall_seconds)
        if usage is not None:
            found = usage, _model(report)
    return found


def _reports(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects with a `usage` of their own, in their order: one to a line, in one list, or the whole output."""
    lines = [line for line in output.splitlines() if '"usage"' in line and line.lstrip()[:1] in ("{", "[")]
    for text in lines if lines else [output]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and isinstance(item.get("usage"), dict):
                yield item


def _usage(given: dict[str, Any], cost: object, wall_seconds: float) -> Usage | None:
    names = ("input_tokens", "output_tokens")
    more = ("cached_input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts: dict[str, Any] = {
        **{name: given.get(name) for name in names},
        **{name: given.get(name) or 0 for name in more},
    }
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MOST_TOKENS for n in counts.values()):
        return None
    # `cached_input_tokens` is a part of the input tokens; the other two kinds come on top of them.
    apart = counts["cache_read_input_tokens"] + counts["cache_creation_input_tokens"]
    priced = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost <= MOST_USD
    return Usage(
        requests=1,
        input_tokens=counts["input_tokens"] + apart,
        cached_tokens=counts["cached_input_tokens"] + counts["cache_read_input_tokens"],
        output_tokens=counts["output_tokens"],
        wall_seconds=wall_seconds,
        cost_usd=float(cost) if priced else None,  # type: ignore[arg-type]
    )


def _model(report: dict[str, Any]) -> str:
    by_model = report.get("modelUsage")
    names = [*by_model] if isinstance(by_model, dict) else [report.get("model")]
    return "+".join(name for name in names if isinstance(name, str))[:200]
