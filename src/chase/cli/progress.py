"""Progress of rollouts on stderr: one live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time

import typer

from chase.cli.output import printable
from chase.core.values import Usage
from chase.engine.rollout import Job
from chase.engine.runner import ScoredRollout

_LIVE_SECONDS = 0.2
_PLAIN_SECONDS = 5.0


class RolloutProgress:
    """Says done, rate, failures, tokens, cost and time left."""

    def __init__(self, label: str, *, brief: bool = False) -> None:
        """`brief`: elsewhere than on a terminal, short evaluations are not mentioned."""
        self.label = label
        """What is under way; whoever holds the progress may change it."""
        self._terminal = sys.stderr.isatty()
        self._brief = brief and not self._terminal
        self._every = _LIVE_SECONDS if self._terminal else _PLAIN_SECONDS
        self._begun = self._said = time.monotonic()
        self._total = self._reused = self._done = self._failures = 0
        self._usage = Usage()
        self._told: set[tuple[str, bool]] = set()
        """Failures that were said already: an outage hits every rollout under way in the same words."""

    def started(self, *, total: int, reused: int) -> None:
        self._begun = self._said = time.monotonic()
        self._total, self._reused, self._done, self._failures, self._usage = total, reused, 0, 0, Usage()
        if total > reused and not self._brief:
            self._say()

    def finished(self, scored: ScoredRollout) -> None:
        self._done += 1
        self._usage = self._usage + scored.usage
        ended = self._done + self._reused == self._total and not self._brief
        if ended or time.monotonic() - self._said >= self._every:
            self._say()

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self._failures += 1
        if (reason, again) in self._told:
            return
        self._told.add((reason, again))
        what = "trying again" if again else "giving up"
        say_aside(f"{self.label}: task {job.task} failed, {what}: {reason}")

    def close(self) -> None:
        clear_line()

    def _say(self) -> None:
        self._said = time.monotonic()
        seconds = max(self._said - self._begun, 1e-6)
        rate = self._done / seconds
        left = self._total - self._reused - self._done
        tokens = self._usage.input_tokens + self._usage.output_tokens
        cost = "unknown" if self._usage.cost_usd is None else f"${self._usage.cost_usd:.2f}"
        eta = f", {left / rate:.0f} s left" if rate and left else ""
        line = (
            f"{self.label}: {self._reused + self._done}/{self._total} rollouts ({self._reused} from the store), "
            f"{rate:.1f}/s, {self._failures} failures, {tokens} tokens, cost {cost}{eta}"
        )
        if self._terminal:
            typer.echo(f"\r\x1b[2K{line}", err=True, nl=False)
        else:
            typer.echo(line, err=True)


def say_aside(message: str) -> None:
    """A line on stderr of its own, above the live one where there is one."""
    clear_line()
    typer.echo(printable(message), err=True)


def clear_line() -> None:
    if sys.stderr.isatty():
        typer.echo("\r\x1b[2K", err=True, nl=False)
