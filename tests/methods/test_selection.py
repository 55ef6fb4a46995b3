"""Constrained selection: the best released score that keeps every constraint, decided exactly, ties to the earlier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.agents.history import RELEASED
from chase.methods.arena import Contender, Variant, standing
from chase.methods.evolution import choose, distinct
from chase.methods.selection import ArchiveGate, SelectionRule, Standing, Violation, select
from chase.protocol.transformation import OperatorList
from chase.stats.destruction import reaches, within
from tests.engine.rollouts import make_harness

EPSILON = "0.05"
PLAIN = SelectionRule()
INITIAL = Standing(name="H0", released=Fraction(1, 2), gain=Fraction(0), destruction={"b1": Fraction(0)})


def constrained(epsilon: str = EPSILON) -> SelectionRule:
    return SelectionRule(gates=(ArchiveGate(epsilon=epsilon),))


def violated(standing: Standing) -> tuple[str, ...]:
    return tuple(violation.name for violation in constrained().violations(standing))


def candidate(name: str, released: str | Fraction, **destruction: str | Fraction) -> Standing:
    score = Fraction(released)
    deltas = {entry: Fraction(delta) for entry, delta in destruction.items()}
    return Standing(name=name, released=score, gain=score - INITIAL.released, destruction=deltas)


def test_the_best_feasible_one_is_taken() -> None:
    pool = [INITIAL, candidate("cheat", "0.9", b1="0.06"), candidate("fair", "0.7", b1="0.01")]
    assert select(pool, constrained()).name == "fair"


def test_without_constraints_the_best_is_taken() -> None:
    pool = [INITIAL, candidate("cheat", "0.9", b1="0.06"), candidate("fair", "0.7", b1="0.01")]
    assert select(pool, PLAIN).name == "cheat"
    assert PLAIN.violations(pool[1]) == ()


def test_where_nothing_is_feasible_it_falls_back_to_the_initial_harness() -> None:
    pool = [INITIAL, candidate("a", "0.9", b1="0.06"), candidate("b", "0.8", b1="0.5")]
    assert select(pool, constrained()).name == "H0"


def test_every_archived_counterfactual_binds() -> None:
    found = candidate("a", "0.9", b1="0.01", b2="0.2", b3="0.3")
    assert violated(found) == ("b2", "b3")
    assert select([INITIAL, found], constrained()).name == "H0"


def test_a_counterfactual_under_which_more_is_gained_is_no_violation() -> None:
    assert violated(candidate("a", "0.6", b1="-0.4")) == ()


def test_a_tie_goes_to_the_earlier() -> None:
    same = [candidate(name, INITIAL.released, b1=Fraction(0)) for name in ("H1", "structural", "guidance")]
    assert select([INITIAL, *same], constrained()).name == "H0"
    better = [candidate(name, "0.6", b1="0") for name in ("H1", "structural", "guidance", "integrated")]
    for first in range(4):
        assert select([INITIAL, *better[first:]], constrained()).name == better[first].name
    cheat = candidate("H1", "0.6", b1="0.3")
    assert select([INITIAL, cheat, *better[1:]], constrained()).name == "structural"


@pytest.mark.parametrize("digits", ["0.05", "0.0500", "5e-2"])
def test_exactly_the_threshold_passes_both_rules(digits: str) -> None:
    """16 tasks and five rollouts: four of 80 is 0.05, which no sum of floats is sure to hit."""
    exactly = sum([Fraction(1, 5) - Fraction(3, 20)] * 16, Fraction(0)) / 16
    assert exactly == Fraction(4, 80)
    assert within(exactly, digits)
    assert reaches(exactly, digits)
    assert select([INITIAL, candidate("a", "0.6", b1=exactly)], constrained(digits)).name == "a"


def test_a_hair_beyond_the_threshold_fails() -> None:
    hair = Fraction(1, 10**30)
    assert not within(Fraction(1, 20) + hair, EPSILON)
    assert not reaches(Fraction(1, 20) - hair, EPSILON)
    assert select([INITIAL, candidate("a", "0.6", b1=Fraction(1, 20) + hair)], constrained()).name == "H0"


def test_a_violation_says_by_how_much() -> None:
    found = constrained().violations(candidate("a", "0.9", b1="0.06", b2="0.05"))
    assert found == (Violation(name="b1", by=Fraction(1, 100)),)


def test_an_objective_decides_in_place_of_the_released_score() -> None:
    high = replace(candidate("high", "0.9"), scores={RELEASED: Fraction(9, 10), "neutral": Fraction(1, 10)})
    fair = replace(candidate("fair", "0.6"), scores={RELEASED: Fraction(6, 10), "neutral": Fraction(5, 10)})
    assert select([high, fair], PLAIN).name == "high"
    assert select([high, fair], SelectionRule(objective=lambda s: (s.scores["neutral"], s.released))).name == "fair"


def test_every_gate_must_be_passed_and_one_that_nobody_passes_is_refused() -> None:
    class Low(ArchiveGate):
        def violations(self, standing: Standing) -> tuple[Violation, ...]:
            return () if standing.released < Fraction(7, 10) else (Violation(name="too high"),)

    class Shut(ArchiveGate):
        def violations(self, standing: Standing) -> tuple[Violation, ...]:
            return (Violation(name="shut"),)

    pool = [INITIAL, candidate("high", "0.9", b1="0"), candidate("cheat", "0.6", b1="0.5")]
    both = SelectionRule(gates=(ArchiveGate(epsilon=EPSILON), Low(epsilon=EPSILON)))
    assert select(pool, both).name == "H0"
    assert [[v.name for v in both.violations(s)] for s in pool] == [[], ["too high"], ["b1"]]
    with pytest.raises(ValueError, match="a gate must let the initial harness pass"):
        select(pool, SelectionRule(gates=(Shut(epsilon=EPSILON),)))


fractions = st.fractions(min_value=-1, max_value=1, max_denominator=80)


@given(st.lists(st.tuples(fractions, fractions, fractions), max_size=6))
def test_the_choice_is_feasible_and_no_feasible_one_is_better(pool: list[tuple[Fraction, Fraction, Fraction]]) -> None:
    standings = [INITIAL, *(candidate(f"c{n}", r, b1=x, b2=y) for n, (r, x, y) in enumerate(pool))]
    chosen = select(standings, constrained())
    assert all(delta <= Fraction(1, 20) for delta in chosen.destruction.values())
    feasible = [s for s in standings if not violated(s)]
    best = max(s.released for s in feasible)
    assert chosen is next(s for s in feasible if s.released == best)


# From cells to a choice


def named(name: str) -> Contender:
    return Contender(name=name, harness=make_harness(memory=name))


def per_task(*values: str) -> Mapping[str, Fraction]:
    return {f"task-{place}": Fraction(value) for place, value in enumerate(values)}


VARIANTS = [Variant(name=name, transformation=OperatorList()) for name in (RELEASED, "b1")]
MEANS = {
    ("H0", RELEASED): per_task("1/2", "1/2"),
    ("H0", "b1"): per_task("0", "1/2"),
    ("fair", RELEASED): per_task("1", "1/2"),
    ("fair", "b1"): per_task("1/2", "1/2"),
    ("cheat", RELEASED): per_task("1", "1"),
    ("cheat", "b1"): per_task("0", "1/2"),
}


def test_a_standing_is_estimated_against_the_initial_harness_under_the_same_benchmark() -> None:
    fair, cheat = (standing(MEANS, name, "H0", VARIANTS) for name in ("fair", "cheat"))
    assert (fair.released, fair.gain, fair.destruction) == (Fraction(3, 4), Fraction(1, 4), {"b1": Fraction(0)})
    assert (cheat.released, cheat.gain, cheat.destruction) == (Fraction(1), Fraction(1, 2), {"b1": Fraction(1, 2)})


def test_the_table_says_what_each_harness_violates() -> None:
    pool = [named(name) for name in ("H0", "cheat", "fair")]
    choice = choose(pool, MEANS, VARIANTS, constrained())
    assert choice.harness is pool[2]
    table = choice.to_json()
    assert [(row["harness"], row["violates"]) for row in table["pool"]] == [("H0", []), ("cheat", ["b1"]), ("fair", [])]
    assert (table["selected"], table["hash"]) == ("fair", pool[2].harness.hash)
    assert choose(pool, MEANS, VARIANTS, PLAIN).harness is pool[1]


def test_a_harness_is_in_a_pool_once_under_its_first_name() -> None:
    first, again = named("H0"), Contender(name="H2", harness=make_harness(memory="H0"))
    assert [found.name for found in distinct([first, named("a"), again])] == ["H0", "a"]
