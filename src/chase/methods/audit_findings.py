"""From scores under several variants to a verdict: an audit's confirmation, or what another runner produced.

No rollout and no search is in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from chase.agents.history import RELEASED
from chase.core.keyed import key_bits
from chase.core.values import Json
from chase.methods.arena import Means
from chase.methods.counterfactuals import estimate_json, proposal_of, screening_json
from chase.methods.verdict import EDITS, Edits, MeasuredGain, Source, Verdict, bounds_of, judge, no_room
from chase.protocol.proposal import Proposal
from chase.protocol.screening import Screening
from chase.stats.bounded import GAINS, SCORES
from chase.stats.contrasts import Cell, Contrast, averaged_cells, gain_sample
from chase.stats.destruction import log_odds_destruction
from chase.stats.estimates import INDEPENDENT, Clusters, Estimate, Sample, cluster_count
from chase.stats.simultaneous import simultaneous, tasks_above, tasks_below


@dataclass(frozen=True, kw_only=True)
class Counterfactual:
    """A gain under one counterfactual: a transformation, or several draws of one."""

    name: str
    source: Source
    draws: tuple[str, ...]
    """The names of its variants among the scores."""
    what: str
    """It in words."""


@dataclass(frozen=True, kw_only=True)
class Found(Counterfactual):
    """A transformation with what the search or the battery knows of it."""

    symbols: str
    proposals: tuple[Proposal[Any], ...]
    touched: Mapping[str, float]
    screened: Screening | None = None
    """None where it is of the battery."""
    searched: Estimate | None = None
    """`Δ̂` on the search tasks, where it was selected there: inflated by that."""

    def to_json(self) -> dict[str, Json]:
        about = {} if self.screened is None else screening_json(self.screened)
        return {
            "reason": "",
            "operators": 0,
            "suspected": [],
            "traces": [],
            "replay": {},
            "description": "",
            **about,
            "what": self.what,
            "symbols": self.symbols,
            "hash": self.proposals[0].transformation.hash,
            "touched": {name: round(value, 3) for name, value in self.touched.items()},
            "transformation": self.proposals[0].to_json(),
            "draws": [proposal.to_json() for proposal in self.proposals],
            "searched": None if self.searched is None else estimate_json(self.searched),
        }


CounterfactualT = TypeVar("CounterfactualT", bound=Counterfactual, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Finding(Generic[CounterfactualT]):
    """The evidence on a gain under one counterfactual."""

    of: CounterfactualT
    tested: MeasuredGain
    share_destroyed: Estimate | None
    """Of the released gain; None where that is not above 0."""
    log_odds: Estimate
    """`Δ_b` on the log-odds scale, a diagnostic."""
    gain: Estimate
    """`Ĝ_b`."""
    scores: Mapping[str, Estimate]
    """Of `harness` and `baseline`."""

    @property
    def status(self) -> str:
        if not self.tested.informative:
            return "not informative"
        if self.tested.destroys:
            return "confirmed"
        return "scales with the base rate" if self.tested.destruction.low > 0 else "not confirmed"

    def to_json(self) -> dict[str, Json]:
        return {
            **(self.of.to_json() if isinstance(self.of, Found) else {}),
            "name": self.of.name,
            "source": self.of.source,
            "status": self.status,
            "destruction": estimate_json(self.tested.destruction),
            "unexplained": estimate_json(self.tested.unexplained),
            "share_destroyed": None if self.share_destroyed is None else estimate_json(self.share_destroyed),
            "half": estimate_json(self.tested.half),
            "half_expected": estimate_json(self.tested.half_expected),
            "expected_share": self.tested.expected_share,
            "log_odds": estimate_json(self.log_odds),
            "gain": estimate_json(self.gain),
            "scores": {name: estimate_json(score) for name, score in self.scores.items()},
            "no_room": self.tested.no_room,
        }


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[CounterfactualT]):
    """A verdict with what it rests on."""

    verdict: Verdict
    tasks_needed: int | None
    """Tasks that would settle an inconclusive verdict if they came out like those there were."""
    gain: Estimate
    """`Ĝ_rel`."""
    scores: Mapping[str, Estimate]
    findings: Sequence[Finding[CounterfactualT]]
    """Those that destroy most first."""
    clusters: int
    """Number of independent clusters of the tasks."""
    room: str | None
    """Reason why the released scores could not have shown a gain; None where they could."""

    def without_room(self, room: str) -> Verdict:
        """The verdict where no gain could have been told, whatever the interval says."""
        return replace(self.verdict, word="inconclusive", reason=f"no gain can be told here: {room}", open=RELEASED)

    @property
    def gamma(self) -> float:
        """The largest gain destruction that is confirmed, 0 where none is."""
        return max((f.tested.destruction.value for f in self.findings if f.tested.destroys), default=0.0)

    def to_json(self) -> dict[str, Json]:
        confirmed = [f for f in self.findings if f.status in ("confirmed", "scales with the base rate")]
        return {
            "verdict": self.verdict.word,
            "reason": self.verdict.reason,
            "against": list(self.verdict.against),
            "tasks_needed": self.tasks_needed,
            "g_rel": estimate_json(self.gain),
            "gamma": self.gamma,
            "g_min": self.gain.value - self.gamma,
            "scores": {name: estimate_json(score) for name, score in self.scores.items()},
            "clusters": self.clusters,
            "confirmed": [f.to_json() for f in confirmed],
            "not_confirmed": [f.to_json() for f in self.findings if f not in confirmed],
        }


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A harness and its baseline with their scores, task by task, under every variant of a confirmation."""

    means: Means
    harness: str
    baseline: str
    clusters: Clusters = field(default_factory=lambda: INDEPENDENT)

    def cell(self, *variants: str) -> Cell:
        """Both under a variant, or averaged over several."""
        cells = [Cell(more=self.means[self.harness, v], less=self.means[self.baseline, v]) for v in variants]
        return cells[0] if len(cells) == 1 else averaged_cells(cells)

    def contrast(self, found: Counterfactual) -> Contrast:
        return Contrast(released=self.cell(RELEASED), changed=self.cell(*found.draws), clusters=self.clusters)

    def log_odds(self, found: Counterfactual, seed: int, level: float) -> Estimate:
        released, changed = self.cell(RELEASED), self.cell(*found.draws)
        cells = [released.more, released.less, changed.more, changed.less]
        drawn = key_bits("bootstrap", seed, found.name) & 0x7FFFFFFF
        return log_odds_destruction(cells, seed=drawn, level=level, clusters=self.clusters)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Error rates of the bounds, and the level that is stated."""

    level: float
    accusing_share: float = 1.0
    """Of the error of the accusing side: the rest is spent on edits."""

    @property
    def acquitting(self) -> float:
        """All must acquit, so each may use the whole error of its side."""
        return (1 - self.level) / 2

    def accusing(self, place: int) -> float:
        """One is enough to accuse, so they share the error: a counterfactual's part depends on its place alone, so
        that what is measured after it moves none of its bounds. The parts add up to less than the whole.
        """
        return self.acquitting * self.accusing_share / ((place + 1) * (place + 2))


def judge_pair(
    pair: Pair, found: Sequence[CounterfactualT], *, seed: int, level: float, edits: Edits | None = None,
    battery_required: bool = True,
) -> Judged[CounterfactualT]:  # fmt: skip
    """The verdict on a gain, given its counterfactuals and what its edits were called."""
    bounds = Bounds(level=level, accusing_share=1.0 if edits is None else edits.accusing_share)
    released = pair.cell(RELEASED)
    gains = gain_sample(released, pair.clusters)
    gain = simultaneous({RELEASED: gains}, level=level)[RELEASED]
    tested = {each.name: _tested(pair, each, bounds, place) for place, each in enumerate(found)}
    room = no_room(released, alpha=bounds.acquitting, clusters=pair.clusters)
    verdict = judge(gain, tested, edits=edits, battery_required=battery_required, no_room=room)
    scores = _described(pair, found, level)
    findings = [
        Finding(
            of=each,
            tested=tested[each.name],
            share_destroyed=pair.contrast(each).share_destroyed(level=level) if gain.low > 0 else None,
            log_odds=pair.log_odds(each, seed, level),
            gain=scores[each.name].pop("gain"),
            scores=scores[each.name],
        )
        for each in found
    ]
    findings.sort(key=lambda finding: finding.tested.destruction.value, reverse=True)
    return Judged(
        verdict=verdict,
        tasks_needed=_tasks_needed(pair, found, verdict, bounds, edits),
        gain=gain,
        scores=scores[RELEASED],
        findings=findings,
        clusters=cluster_count(released.more, pair.clusters),
        room=room,
    )


def _tested(pair: Pair, found: Counterfactual, bounds: Bounds, place: int) -> MeasuredGain:
    return bounds_of(
        pair.contrast(found), what=found.what, source=found.source, accusing=bounds.accusing(place),
        acquitting=bounds.acquitting, level=bounds.level,
    )  # fmt: skip


def _tasks_needed(
    pair: Pair, found: Sequence[Counterfactual], verdict: Verdict, bounds: Bounds, edits: Edits | None
) -> int | None:
    """Tasks that would settle the quantity that is open, by whichever bound needs fewer."""
    if verdict.open is None:
        return None
    if verdict.open == EDITS:
        return None if edits is None else edits.tasks_needed
    if verdict.open == RELEASED:
        sample, sharing = gain_sample(pair.cell(RELEASED), pair.clusters), 1
    else:
        ((place, open_one),) = [(p, each) for p, each in enumerate(found) if each.name == verdict.open]
        sample, sharing = pair.contrast(open_one).half_expected, (place + 1) * (place + 2)
    ways = (
        tasks_above(sample, 0.0, quantities=1, level=bounds.level),
        tasks_below(sample, 0.0, quantities=sharing, level=bounds.level),
    )
    return min((n for n in ways if n is not None), default=None)


def _described(pair: Pair, found: Sequence[Counterfactual], level: float) -> dict[str, dict[str, Estimate]]:
    """Scores and gains that decide nothing, by counterfactual; among themselves they hold together."""
    samples: dict[tuple[str, str], Sample] = {}
    cells = {RELEASED: pair.cell(RELEASED), **{each.name: pair.cell(*each.draws) for each in found}}
    for name, cell in cells.items():
        samples["harness", name] = Sample(per_task=cell.more, support=SCORES, clusters=pair.clusters)
        samples["baseline", name] = Sample(per_task=cell.less, support=SCORES, clusters=pair.clusters)
        if name != RELEASED:
            samples["gain", name] = Sample(per_task=cell.gain, support=GAINS, clusters=pair.clusters)
    by_name: dict[str, dict[str, Estimate]] = {}
    together = simultaneous({f"{of} {name}": sample for (of, name), sample in samples.items()}, level=level)
    for of, name in samples:
        by_name.setdefault(name, {})[of] = together[f"{of} {name}"]
    return by_name


def search_found(name: str, source: Source, screened: Screening, searched: Estimate | None) -> Found:
    """Build the finding of a transformation that a search kept, or a user gave."""
    proposal = proposal_of(screened)
    return Found(
        name=name,
        source=source,
        draws=(name,),
        what=proposal.transformation.describe(),
        symbols=proposal.transformation.symbols(),
        proposals=(proposal,),
        touched=screened.touched,
        screened=screened,
        searched=searched,
    )
