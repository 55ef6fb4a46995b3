"""The paper's tables from the store: episodes used, tokens with and without cached input, and what was paid."""

from __future__ import annotations

from typing import Any

from chase.core.values import Usage
from chase.runs.accounting import accounts, paid_before, stages
from chase.store.records import EpisodeCount, Spend


def usage(requests: int, given: int, cached: int, said: int, cost: float | None = 0.0) -> Usage:
    return Usage(requests=requests, input_tokens=given, cached_tokens=cached, output_tokens=said, cost_usd=cost)


def count(role: str, episodes: int, used: Usage, *, reused: int = 0, method: str = "chase") -> EpisodeCount:
    return EpisodeCount(run="run-1", method=method, role=role, episodes=episodes, reused=reused, usage=used)


def spend(role: str, episodes: int, used: Usage, *, purpose: str = "rollout", **more: Any) -> Spend:
    known = {"priced_usd": used.cost_usd or 0.0, "unpriced_requests": 0, "method": "chase", **more}
    return Spend(run="run-1", role=role, purpose=purpose, episodes=episodes, usage=used, **known)


def test_rollouts_and_agents_are_episodes_and_the_sealed_tasks_stand_apart() -> None:
    found = accounts(
        [
            count("evo", 10, usage(50, 1_000, 400, 100)),
            count("conf1", 4, usage(20, 500, 0, 50)),
            count("cert", 4, usage(20, 500, 100, 40)),
            count("prov2", 2, usage(10, 200, 0, 20)),  # a second corpus, opened with the certification tasks
        ],
        [
            spend("evo", 10, usage(50, 1_000, 400, 100, 0.5)),
            spend("conf1", 4, usage(20, 500, 0, 50, 0.2)),
            spend("cert", 4, usage(20, 500, 100, 40, 0.2)),
            spend("prov2", 2, usage(10, 200, 0, 20, 0.1)),
            spend("propose", 3, usage(9, 9_000, 6_000, 900, 1.0), purpose="propose"),
            spend("challenge", 2, usage(4, 4_000, 1_000, 400, 1.0), purpose="challenge"),
        ],
    )
    search, certification = (account.to_json() for account in found)
    assert (search["episodes"], search["rollouts"], search["agent_episodes"]) == (19, 14, 5)
    assert (search["total"], search["uncached"]) == (15_950, 8_550)
    assert search["paid"] == {"requests": 83, "total": 15_950, "uncached": 8_550, "cost_usd": 2.7}
    assert (certification["episodes"], certification["total"], certification["uncached"]) == (6, 760, 660)


def test_a_reused_rollout_counts_with_its_tokens_and_is_not_paid_for() -> None:
    used = usage(10, 200, 50, 20)
    [search, _] = accounts([count("evo", 4, used, reused=3)], [spend("evo", 1, usage(3, 60, 10, 5, 0.1))])
    row = search.to_json()
    assert (row["episodes"], row["reused"], row["total"], row["uncached"]) == (4, 3, 220, 170)
    assert row["paid"]["total"] == 65


def test_requests_of_attempts_that_were_cut_are_paid_for_and_no_episode() -> None:
    [search, _] = accounts([], [spend("evo", 1, usage(2, 80, 0, 8, None), unpriced_requests=2)])
    row = search.to_json()
    assert (row["episodes"], row["total"]) == (0, 0)
    assert row["paid"] == {"requests": 2, "total": 88, "uncached": 88, "cost_usd": None}


def test_methods_of_one_run_have_rows_of_their_own() -> None:
    found = accounts([count("evo", 1, usage(1, 5, 0, 1)), count("evo", 2, usage(1, 9, 0, 1), method="raw")], [])
    assert [(a.method, a.stage, a.episodes) for a in found] == [
        ("chase", "optimisation", 1),
        ("chase", "certification", 0),
        ("raw", "optimisation", 2),
        ("raw", "certification", 0),
    ]


def test_a_run_that_used_nothing_has_both_stages_at_zero() -> None:
    found = stages([])
    assert list(found) == ["optimisation", "certification"]
    assert found["certification"]["paid"] == {"requests": 0, "total": 0, "uncached": 0, "cost_usd": 0.0}


def test_what_was_paid_before_keeps_the_known_costs_apart_from_the_unknown_ones() -> None:
    paid, unpriced = paid_before(
        [
            spend("evo", 1, usage(3, 30, 0, 3, None), priced_usd=0.25, unpriced_requests=1),
            spend("disc", 1, usage(1, 10, 0, 1, 0.5)),
        ]
    )
    assert (paid.requests, paid.input_tokens, paid.output_tokens, paid.cost_usd) == (4, 40, 4, 0.75)
    assert unpriced == 1
    assert paid_before([])[0] == Usage(cost_usd=0)
