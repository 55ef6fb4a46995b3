"""What a run used and what it paid for, as the paper's section "Token Use" counts it.

An episode is one execution of one model role on one input: a rollout, a Proposer's round, a Challenger's round, a
judge's verdict. A reused rollout is an episode of the method that uses it, with its tokens, and costs that method
nothing: *used* and *paid* are told apart everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from chase.core.values import Json, Usage
from chase.engine.judging import JUDGE
from chase.store.reader import Reader
from chase.store.records import EpisodeCount, Spend

Stage = Literal["optimisation", "certification"]
"""Optimisation and selection (of an audit: search and confirmation), and the sealed tasks: a table each."""
STAGES: tuple[Stage, ...] = ("optimisation", "certification")
SEARCHED = re.compile(r"evo|disc|conf[0-9]*|reference")
"""The roles that methods hold, and that of reference trajectories. Every other task set is sealed: `cert`, and what is
opened with it.
"""
ROLLOUT = "rollout"
"""The purpose of a rollout's requests in the ledger; every other is an agent's, or a judge's."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """One row of the paper's tables: a method's episodes and tokens in one stage of a run."""

    run: str
    method: str
    stage: Stage
    episodes: int
    rollouts: int
    judged: int
    """Verdicts of a judge that were asked for; those that the store had are none of them."""
    reused: int
    """Rollouts that were in the store already."""
    used: Usage
    """Of all episodes. Attempts that did not end in a result are not among them."""
    paid: Usage
    """Of all requests that were made, those of cut or failed attempts included."""

    def to_json(self) -> dict[str, Json]:
        return {
            "episodes": self.episodes,
            "rollouts": self.rollouts,
            "agent_episodes": self.episodes - self.rollouts - self.judged,
            "judged": self.judged,
            "reused": self.reused,
            **_tokens(self.used),
            "paid": {"requests": self.paid.requests, **_tokens(self.paid), "cost_usd": self.paid.cost_usd},
        }


def accounts(episodes: Iterable[EpisodeCount], spends: Iterable[Spend]) -> list[Account]:
    """A row for each run, method and stage, both stages of each."""
    counts, sums = list(episodes), list(spends)
    found = dict.fromkeys([*((c.run, c.method) for c in counts), *((s.run, s.method) for s in sums)])
    return [
        _account(
            run,
            method,
            stage,
            [c for c in counts if (c.run, c.method, stage_of(c.role)) == (run, method, stage)],
            [s for s in sums if (s.run, s.method, _stage_of_spend(s)) == (run, method, stage)],
        )
        for run, method in found
        for stage in STAGES
    ]


def stages(found: Iterable[Account]) -> dict[str, Json]:
    """The accounts of one run with one method by stage, as results carry them; nothing used is written out as 0."""
    empty = {stage: _account("", "", stage, [], []) for stage in STAGES}
    return {stage: account.to_json() for stage, account in (empty | {a.stage: a for a in found}).items()}


def paid_before(spends: Iterable[Spend]) -> tuple[Usage, int]:
    """What the ledger says was paid, with the cost of what has a known one, and how many requests have none."""
    sums = list(spends)
    total = _total([spend.usage for spend in sums])
    known = sum(spend.priced_usd for spend in sums)
    return Usage(**{**asdict(total), "cost_usd": known}), sum(spend.unpriced_requests for spend in sums)


def stage_of(role: str) -> Stage:
    """The stage that rollouts of a role belong to."""
    return "optimisation" if SEARCHED.fullmatch(role) else "certification"


def _stage_of_spend(spend: Spend) -> Stage:
    """Agents work before the sealed tasks are opened, whatever role their requests are booked under."""
    return stage_of(spend.role) if spend.purpose in (ROLLOUT, JUDGE) else "optimisation"


def _account(run: str, method: str, stage: Stage, counts: Sequence[EpisodeCount], spends: Sequence[Spend]) -> Account:
    agents = [spend for spend in spends if spend.purpose != ROLLOUT]
    rollouts = sum(count.episodes for count in counts)
    return Account(
        run=run,
        method=method,
        stage=stage,
        episodes=rollouts + sum(spend.episodes for spend in agents),
        rollouts=rollouts,
        judged=sum(spend.episodes for spend in spends if spend.purpose == JUDGE),
        reused=sum(count.reused for count in counts),
        used=_total([*(count.usage for count in counts), *(spend.usage for spend in agents)]),
        paid=_total([spend.usage for spend in spends]),
    )


def _total(usages: Sequence[Usage]) -> Usage:
    """The sum; nothing at all costs nothing."""
    return sum(usages, Usage()) if any(usage.requests for usage in usages) else Usage(cost_usd=0.0)


def _tokens(usage: Usage) -> Mapping[str, int]:
    """The paper's two columns: input and output in all, and without cached input."""
    total = usage.input_tokens + usage.output_tokens
    return {"total": total, "uncached": total - usage.cached_tokens}


# Of one run, as results carry it


def tokens_of(store: Reader, run: str) -> dict[str, Json]:
    """The paper's two columns by stage."""
    return stages(accounts(store.episodes(run), store.spend(run, uncounted=ROLLOUT)))


def counts_of(store: Reader, run: str) -> dict[str, Json]:
    """Rollouts that were executed and reused, what was spent, and tokens by stage."""
    episodes = store.episodes(run)
    reused = sum(count.reused for count in episodes)
    return {
        "executed": sum(count.episodes for count in episodes) - reused,
        "reused": reused,
        "spent": asdict(sum((spend.usage for spend in store.spend(run, uncounted=ROLLOUT)), Usage())),
        "tokens": tokens_of(store, run),
    }


def total_counts(store: Reader, runs: Sequence[str]) -> dict[str, Json]:
    """The counts of several runs together, without the stages."""
    found = [counts_of(store, run) for run in runs]
    return {
        "executed": sum(counts["executed"] for counts in found),
        "reused": sum(counts["reused"] for counts in found),
        "spent": asdict(sum((spend.usage for run in runs for spend in store.spend(run, uncounted=ROLLOUT)), Usage())),
    }


def episodes_of(store: Reader, run: str) -> int:
    """Rollouts that the run used, those from the store included."""
    return sum(count.episodes for count in store.episodes(run))


def served_models(store: Reader, run: str) -> list[str]:
    """The models that answered, as their providers name them."""
    return sorted({name for used in store.used(run) for name in used.rollout.served_models})
