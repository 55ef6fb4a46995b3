"""From scores under several variants to a verdict: an audit's confirmation, or what another runner produced.

No rollout and no search is in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from chase.agents.history import RELEASED
from chase.core.keyed import key_bits
from chase.core.values import Json
from chase.methods.arena import Means, gain_destruction
from chase.methods.counterfactuals import estimate_json, proposal_of, screening_json
from chase.methods.verdict import TestedCounterfactual, Verdict, judge, no_room
from chase.protocol.screening import Screening
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.destruction import gain, log_odds_destruction
from chase.stats.estimates import Estimate, PerTask, Sample
from chase.stats.simultaneous import simultaneous

Found = tuple[Screening, Estimate | None]
"""A transformation with its `Δ̂` on the search tasks; None where it was given."""


@dataclass(frozen=True, kw_only=True)
class Counterfactual:
    """What the tasks say of a gain under one variant that is not the released one."""

    name: str
    tested: TestedCounterfactual
    gain: Estimate
    """`Ĝ_b` on these tasks."""
    scores: Mapping[str, Estimate]
    """Of `harness` and `baseline` under it: a gain can survive where little is solved at all."""
    no_room: str | None
    """Why no gain could have been seen under it, where that is so."""

    @property
    def status(self) -> str:
        if self.tested.scales:
            return "scales with the base rate"
        return "confirmed" if self.tested.confirmed else "not confirmed"

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "status": self.status,
            "destruction": estimate_json(self.tested.destruction),
            "log_odds": estimate_json(self.tested.log_odds),
            "gain": estimate_json(self.gain),
            "scores": {name: estimate_json(score) for name, score in self.scores.items()},
            "no_room": self.no_room,
        }


@dataclass(frozen=True, kw_only=True)
class Finding(Counterfactual):
    """A transformation that was taken to confirmation."""

    screened: Screening
    searched: Estimate | None
    """`Δ̂` on the search tasks, where it was selected: inflated by that."""

    def to_json(self) -> dict[str, Json]:
        return {
            **screening_json(self.screened),
            "transformation": proposal_of(self.screened).to_json(),
            **super().to_json(),
            "searched": None if self.searched is None else estimate_json(self.searched),
        }


CounterfactualT = TypeVar("CounterfactualT", bound=Counterfactual)


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[CounterfactualT]):
    """What the tasks say."""

    verdict: Verdict
    tasks_needed: int | None
    """Confirmation tasks that would settle an inconclusive verdict if they came out like those there were."""
    gain: Estimate
    """`Ĝ_rel` on the confirmation tasks."""
    scores: Mapping[str, Estimate]
    findings: Sequence[CounterfactualT]
    """Those that destroy most first."""

    def to_json(self) -> dict[str, Json]:
        return {
            "verdict": self.verdict.word,
            "reason": self.verdict.reason,
            "tasks_needed": self.tasks_needed,
            "g_rel": estimate_json(self.gain),
            "gamma": self.verdict.gamma,
            "g_min": self.verdict.g_min,
            "scores": {name: estimate_json(score) for name, score in self.scores.items()},
            "confirmed": [f.to_json() for f in self.findings if f.tested.confirmed],
            "not_confirmed": [f.to_json() for f in self.findings if not f.tested.confirmed],
        }


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A harness and its baseline with their scores, task by task, under every variant of a confirmation."""

    means: Means
    harness: str
    baseline: str

    def scores(self, variant: str) -> dict[str, PerTask]:
        return {"harness": self.means[self.harness, variant], "baseline": self.means[self.baseline, variant]}

    def gain(self, variant: str) -> PerTask:
        return gain(self.means[self.harness, variant], self.means[self.baseline, variant])

    def destruction(self, variant: str) -> PerTask:
        return gain_destruction(self.means, self.harness, self.baseline, variant)

    def log_odds(self, variant: str, seed: int) -> Estimate:
        cells = [self.means[name, v] for v in (RELEASED, variant) for name in (self.harness, self.baseline)]
        return log_odds_destruction(cells, seed=key_bits("bootstrap", seed, variant) & 0x7FFFFFFF)


def judge_pair(pair: Pair, found: Mapping[str, Found], *, seed: int, level: float) -> Judged[Finding]:
    """An audit's verdict and findings, by the names that the pair's scores have for what was found."""
    judged = judge_scores(pair, list(found), seed=seed, level=level)
    findings = [
        Finding(**vars(each), screened=found[each.name][0], searched=found[each.name][1]) for each in judged.findings
    ]
    return Judged(**{**vars(judged), "findings": findings})


def judge_scores(pair: Pair, variants: Sequence[str], *, seed: int, level: float) -> Judged[Counterfactual]:
    """The verdict on a gain, given its variants. The intervals of the gain and of all destructions hold together."""
    deciding = {RELEASED: Sample(per_task=pair.gain(RELEASED), support=GAINS)}
    deciding |= {name: Sample(per_task=pair.destruction(name), support=DESTRUCTIONS) for name in variants}
    together = simultaneous(deciding, level=level)
    others = _described(pair, variants, level)
    room = {name: no_room(**pair.scores(name), quantities=len(deciding), level=level) for name in (RELEASED, *variants)}
    tested = {
        name: TestedCounterfactual(destruction=together[name], log_odds=pair.log_odds(name, seed)) for name in variants
    }
    verdict = judge(together[RELEASED], tested, room[RELEASED])
    findings = [
        Counterfactual(
            name=name,
            tested=tested[name],
            gain=others[name]["gain"],
            scores={of: others[name][of] for of in ("harness", "baseline")},
            no_room=room[name],
        )
        for name in variants
    ]
    findings.sort(key=lambda finding: finding.tested.destruction.value, reverse=True)
    left = verdict.open
    needed = None
    if left is not None:
        needed = left.tasks_needed(deciding[left.quantity], quantities=len(deciding), level=level)
    scores = {of: others[RELEASED][of] for of in ("harness", "baseline")}
    return Judged(verdict=verdict, tasks_needed=needed, gain=together[RELEASED], scores=scores, findings=findings)


def _described(pair: Pair, variants: Sequence[str], level: float) -> dict[str, dict[str, Estimate]]:
    """Scores and gains that decide nothing, by variant; among themselves they hold together."""
    samples: dict[str, Sample] = {}
    for variant in (RELEASED, *variants):
        samples |= {
            f"{of} {variant}": Sample(per_task=scores, support=SCORES) for of, scores in pair.scores(variant).items()
        }
        if variant != RELEASED:
            samples[f"gain {variant}"] = Sample(per_task=pair.gain(variant), support=GAINS)
    together = simultaneous(samples, level=level)
    found: dict[str, dict[str, Estimate]] = {}
    for key, estimate in together.items():
        of, variant = key.split(" ", 1)
        found.setdefault(variant, {})[of] = estimate
    return found
