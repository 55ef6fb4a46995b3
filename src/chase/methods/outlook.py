"""The power of a calibrated confirmation before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass

from chase.stats.interval_power import detection_power
from chase.stats.power import confirmation_power, confirmation_tasks, usual_noise
from chase.stats.sequential import PLANNED, WANTED_POWER, looks
from chase.stats.simultaneous import tasks_to_detect


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """Expected power of a calibrated confirmation, before anything is known of the noise."""

    effect: float
    alpha: float
    tasks: int
    rollouts: int
    power: float
    tasks_needed: int
    """For a power of 80 %."""
    mean_power: float
    """The same for the lower bound of the mean."""
    mean_tasks_needed: int


def outlook(tasks: int, rollouts: int, alpha: float) -> Outlook:
    """With independent rollouts of 0/1 scores; common random numbers do better."""
    sd, each = usual_noise().sd(rollouts), alpha / len(looks(rollouts))
    return Outlook(
        effect=PLANNED,
        alpha=alpha,
        tasks=tasks,
        rollouts=rollouts,
        power=confirmation_power(PLANNED, sd, tasks, alpha),
        tasks_needed=confirmation_tasks(PLANNED, sd, alpha, WANTED_POWER),
        mean_power=detection_power(PLANNED, sd, tasks, each),
        mean_tasks_needed=tasks_to_detect(PLANNED, sd, level=1 - 2 * each, power=WANTED_POWER),
    )
