"""Decisions from a part of the scores: what is certain is what all scores say, and nothing is asked for in vain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.stats.curtailment import Cell, Contest, Ends, Range, Step, certain, next_step
from chase.stats.racing import Likely

Scores = Mapping[Cell, Mapping[str, Fraction]]
B_REL = "released"


def per_task(*values: float | Fraction) -> dict[str, Fraction]:
    return {f"t{place}": Fraction(value) for place, value in enumerate(values)}


def parted(cell: Mapping[str, Fraction], known: int) -> dict[str, Fraction]:
    return dict(list(cell.items())[:known])


@dataclass(frozen=True)
class Case:
    """A contest with all its scores."""

    contest: Contest
    scores: Scores

    def score(self, harness: str, variant: str) -> Fraction:
        return sum(self.scores[harness, variant].values(), Fraction(0)) / self.contest.tasks

    def lead(self, harness: str, other: str) -> Fraction:
        return self.score(harness, self.contest.objective) - self.score(other, self.contest.objective)

    def destruction(self, harness: str, variant: str) -> Fraction:
        gains = [self.score(harness, b) - self.score(self.contest.pool[0], b) for b in (B_REL, variant)]
        return gains[0] - gains[1]

    def feasible(self) -> list[str]:
        return [
            name
            for name in self.contest.pool
            if all(self.destruction(name, b) <= self.contest.tolerance for b in self.contest.constraints)
        ]

    def selected(self) -> str:
        """What all scores select, by the definition."""
        best = max(self.score(name, self.contest.objective) for name in self.feasible())
        return next(name for name in self.feasible() if self.score(name, self.contest.objective) == best)

    def run(self, batch: int, ends: Ends = certain) -> tuple[Step, dict[Cell, dict[str, Fraction]]]:
        """The contest with so many tasks of each wanted cell at a time."""
        initial = self.contest.pool[0]
        known = {cell: dict(values) if cell[0] == initial else {} for cell, values in self.scores.items()}
        while (step := next_step(self.contest, known, ends)).wanted:
            for cell in step.wanted:
                assert len(known[cell]) < self.contest.tasks
                known[cell] = parted(self.scores[cell], len(known[cell]) + batch)
        return step, known


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Scores of few levels, so that ties and estimates of exactly the tolerance are common."""
    tasks, harnesses = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    archived = draw(st.integers(0, 3))
    variants = (B_REL, *(f"b{n}" for n in range(1, archived + 1)))
    levels = st.sampled_from(draw(st.sampled_from([(0, 1), (0, Fraction(1, 2), 1), (0, Fraction(1, 3), 1)])))
    pool = tuple(f"H{n}" for n in range(harnesses))
    scores = {(name, b): per_task(*(draw(levels) for _ in range(tasks))) for name in pool for b in variants}
    contest = Contest(
        pool=pool,
        tasks=tasks,
        objective=draw(st.sampled_from(variants)),
        variants=variants,
        constraints=draw(st.sampled_from([(), variants[1:]])),
        tolerance=draw(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, tasks), Fraction(1, 2)])),
    )
    return Case(contest=contest, scores=scores)


@settings(max_examples=400)
@given(cases(), st.integers(1, 8))
def test_what_is_selected_is_what_all_scores_select(case: Case, batch: int) -> None:
    step, known = case.run(batch)
    assert step.selected == case.selected()
    assert all(
        known[step.selected, variant] == case.scores[step.selected, variant] for variant in case.contest.variants
    )


@settings(max_examples=200)
@given(cases(), st.integers(1, 8))
def test_a_stop_says_what_all_scores_bear_out(case: Case, batch: int) -> None:
    step, _ = case.run(batch)
    assert set(step.stopped or {}) == set(case.contest.pool) - {step.selected}
    for name, stop in (step.stopped or {}).items():
        if stop.why == "beaten":
            assert case.lead(name, stop.by) <= stop.bound <= 0
        else:
            assert case.contest.tolerance < stop.bound <= case.destruction(name, stop.by)


@settings(max_examples=200)
@given(cases(), st.integers(1, 8))
def test_a_race_selects_what_is_feasible_and_known_in_full(case: Case, batch: int) -> None:
    """It may take another than the best, and never one that all scores reject."""
    step, known = case.run(batch, Likely(error=0.2, least=2))
    assert step.selected in case.feasible()
    assert all(
        known[step.selected, variant] == case.scores[step.selected, variant] for variant in case.contest.variants
    )


@given(st.lists(st.tuples(st.sampled_from([-1, 1]), st.integers(0, 5)), min_size=1, max_size=4), st.randoms())
def test_where_a_contrast_can_end_is_between_its_ends(cells: list[tuple[int, int]], random: object) -> None:
    draw = getattr(random, "choice")  # noqa: B009
    whole = [(sign, per_task(*(draw((0, Fraction(1, 2), 1)) for _ in range(5)))) for sign, _ in cells]
    some = [(sign, parted(cell, known)) for (sign, cell), (_, known) in zip(whole, cells, strict=True)]
    ends, exact = certain(some, 5), certain(whole, 5)
    assert exact.low == exact.high
    assert ends.low <= exact.low <= ends.high


def test_both_ends_are_reached() -> None:
    assert certain([(1, per_task(1)), (-1, per_task(0, 1))], 4) == Range(low=Fraction(-2, 4), high=Fraction(3, 4))


# By hand: four tasks, H0 scores 2 of 4 as released and 1 under b1

H0 = {("H0", B_REL): per_task(1, 1, 0, 0), ("H0", "b1"): per_task(1, 0, 0, 0)}
PLAIN = Contest(pool=("H0", "a"), tasks=4, objective=B_REL, variants=(B_REL,))
BOUND = Contest(
    pool=("H0", "a"), tasks=4, objective=B_REL, variants=(B_REL, "b1"), constraints=("b1",), tolerance=Fraction(1, 4)
)


@pytest.mark.parametrize(("known", "wanted"), [((0,), True), ((0, 0), False), ((1, 0), True), ((1, 0, 0), False)])
def test_one_that_can_only_tie_with_an_earlier_one_is_stopped(known: tuple[int, ...], wanted: bool) -> None:
    step = next_step(PLAIN, {**H0, ("a", B_REL): per_task(*known)})
    assert bool(step.wanted) is wanted
    assert wanted or step.selected == "H0"


def test_a_later_one_that_can_still_tie_does_not_keep_an_earlier_one_waiting() -> None:
    pool = Contest(pool=("H0", "a", "b"), tasks=4, objective=B_REL, variants=(B_REL,))
    step = next_step(pool, {**H0, ("a", B_REL): per_task(1, 1, 1, 0), ("b", B_REL): per_task(1, 1, 0)})
    assert (step.selected, step.wanted) == ("a", ())


def test_constraints_are_looked_at_only_where_something_is_gained() -> None:
    loser = next_step(BOUND, {**H0, ("a", B_REL): per_task(1, 1, 0, 0)})
    assert (loser.selected, loser.wanted) == ("H0", ())
    leader = next_step(BOUND, {**H0, ("a", B_REL): per_task(1, 1, 1, 0)})
    assert (leader.selected, leader.wanted) == (None, (("a", "b1"),))


@pytest.mark.parametrize(
    ("under", "selected"), [((1,), None), ((1, 1), "a"), ((0, 0), None), ((0, 0, 0), "H0"), ((1, 0, 0, 1), "a")]
)
def test_a_constraint_is_decided_as_soon_as_it_can_be(under: tuple[int, ...], selected: str | None) -> None:
    """a gains 2/4 as released. Within a quarter it must solve two tasks under b1, where H0 solves one."""
    step = next_step(BOUND, {**H0, ("a", B_REL): per_task(1, 1, 1, 1), ("a", "b1"): per_task(*under)})
    assert step.selected == selected
    complete = len(under) == 4 or selected == "H0"
    assert step.wanted == (() if complete else (("a", "b1"),))  # what is selected is completed
