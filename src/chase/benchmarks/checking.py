"""A benchmark's own checks of its construction, by name, and what `chase bench validate` prints of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from chase.core.interfaces import Progress
from chase.core.values import CheckResult

B = TypeVar("B")
Checked = Iterator[tuple[str, str | None]]
"""Each thing that was checked, and what is wrong with it."""


def run_checks(checks: Mapping[str, Callable[[B], Checked]], benchmark: B, progress: Progress) -> list[CheckResult]:
    """The result of each check, in their order. `progress` hears which is under way."""
    results = []
    for name, check in checks.items():
        progress(name)
        found = list(check(benchmark))
        failures = tuple(f"{what}: {wrong}" for what, wrong in found if wrong is not None)
        results.append(CheckResult(name=name, count=len(found), failures=failures))
    return results
