"""How many questions each role gets, in the paper's proportions."""

from __future__ import annotations

from dataclasses import dataclass

from chase.core.errors import UserError

CONFIRMATIONS = 3
LEAST_QUESTIONS, MOST_QUESTIONS = 24, 246
PAPER = {"evo": 49, "disc": 49, "cert": 76}
PAPER_CONF, PAPER_APART = 24, 13
"""Questions in a confirmation set, and how many of them are apart from `disc`; as many are hard."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Questions of each role, and the make-up of each confirmation set."""

    evo: int
    disc: int
    cert: int
    conf: int
    linked: int
    """Of a confirmation set: from components that are also in `disc`."""
    easy: int
    """Of a confirmation set."""

    @property
    def apart(self) -> int:
        """Of a confirmation set: from components that are not in `disc`."""
        return self.conf - self.linked

    @property
    def all_linked(self) -> int:
        return CONFIRMATIONS * self.linked

    @property
    def all_apart(self) -> int:
        return CONFIRMATIONS * self.apart

    @property
    def all_easy(self) -> int:
        return CONFIRMATIONS * self.easy

    @property
    def around_disc(self) -> int:
        """Questions of all components that `disc` takes from: its own and the linked ones."""
        return self.disc + self.all_linked


def sizes_of(questions: int) -> Sizes:
    """The paper's sizes at 246 questions; below, the same proportions.

    A confirmation set has 24/246 of the questions, and 13/24 of it are apart and as many hard, each rounded half up;
    what is left goes to evo, disc and cert as 49 : 49 : 76 by largest remainder.
    """
    if not LEAST_QUESTIONS <= questions <= MOST_QUESTIONS:
        raise UserError(
            f"questions={questions} cannot be split into the six roles. Give {LEAST_QUESTIONS} to {MOST_QUESTIONS}."
        )
    conf = _rounded(PAPER_CONF * questions, MOST_QUESTIONS)
    apart = _rounded(PAPER_APART * conf, PAPER_CONF)
    shares = _shared_out(questions - CONFIRMATIONS * conf)
    return Sizes(**shares, conf=conf, linked=conf - apart, easy=conf - apart)


def _rounded(over: int, under: int) -> int:
    return (2 * over + under) // (2 * under)


def _shared_out(left: int) -> dict[str, int]:
    whole = sum(PAPER.values())
    shares = {role: left * part // whole for role, part in PAPER.items()}
    by_remainder = sorted(PAPER, key=lambda role: -(left * PAPER[role] % whole))
    for role in by_remainder[: left - sum(shares.values())]:
        shares[role] += 1
    return shares
