"""Counts what a check looked at and what failed."""

from __future__ import annotations

from chase.core.values import CheckResult

SHOWN = 20
"""Failures kept for each check; the count goes on."""


class Tally:
    """One check's count and failures. A check that looked at nothing does not pass."""

    def __init__(self) -> None:
        self.count = 0
        self.failed = 0
        self._messages: list[str] = []

    def expect(self, holds: bool, where: str, what: str) -> None:
        """Count one thing; if it does not hold, keep where it failed (the task's id first) and what."""
        self.count += 1
        if not holds:
            self.failed += 1
            if len(self._messages) < SHOWN:
                self._messages.append(f"{where}: {what}")

    def result(self, name: str) -> CheckResult:
        more = [f"… and {self.failed - SHOWN} more"] if self.failed > SHOWN else []
        return CheckResult(name=name, count=self.count, failures=(*self._messages, *more))
