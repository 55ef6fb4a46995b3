"""The errors that users meet. Each message says what, where and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ChaseError(Exception):
    """An error with a sentence for the user and the exit code that the command line ends with."""

    exit_code = 1


class UserError(ChaseError):
    """The input is wrong and the user can mend it."""

    exit_code = 2


class SetupError(ChaseError):
    """A tool, a key or a file that the command needs is missing."""

    exit_code = 3


class DiskError(SetupError):
    """A file cannot be read or written: no space is left, or no permission was given."""

    def __init__(self, what: str, how: str = "run the same command again") -> None:
        super().__init__(
            f"{what}. Everything recorded so far is safe: free some space, or make it writable, then {how}."
        )
        self.what = what


class BudgetExhausted(ChaseError):
    """A cap on spend was reached. Finished work is saved."""

    exit_code = 4


class RolloutError(ChaseError):
    """Infrastructure failed under a rollout (never the agent: what it causes is scored)."""

    exit_code = 7


class HostError(RolloutError):
    """This machine could not run what a rollout needs."""


class IntegrityError(ChaseError):
    """A leak, tampering or a hash mismatch."""

    exit_code = 6


def choose(kind: str, given: str, valid: Iterable[str]) -> str:
    """Return `given` if it is valid; else refuse with the nearest match and the valid choices."""
    choices = list(valid)
    if given in choices:
        return given
    near = difflib.get_close_matches(given, choices, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    shown = ", ".join(choices[:24]) + (f", … ({len(choices)} in all)" if len(choices) > 24 else "")
    raise UserError(f"unknown {kind} '{given}'.{hint} Valid: {shown}.")
