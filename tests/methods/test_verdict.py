"""An audit's verdict, branch by branch, with the boundaries where one word turns into the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.agents.history import RELEASED
from chase.methods.audit_findings import Pair, judge_scores
from chase.methods.verdict import Question, judge, no_room
from chase.methods.verdict import TestedCounterfactual as Taken
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES, Support
from chase.stats.estimates import Estimate, Sample
from chase.stats.simultaneous import simultaneous, tasks_above, tasks_below

N = 48
Z = {1: 1.959964, 2: 2.241403, 3: 2.393980}


def about(value: float, radius: float, *, n: int = N, quantities: int = 2, level: float = 0.95) -> Estimate:
    return Estimate(
        value=value, se=radius / Z[quantities], n=n, low=value - radius, high=value + radius, level=level
    )  # fmt: skip


def taken(value: float, radius: float, log_odds: float = 0.5, **more: int) -> Taken:
    return Taken(destruction=about(value, radius, **more), log_odds=about(log_odds, 1.0))


def sample(values: Sequence[float], support: Support = GAINS) -> Sample:
    return Sample(per_task={str(place): Fraction(value) for place, value in enumerate(values)}, support=support)


GAIN = about(0.10, 0.05)


# No gain, or none that can be told from nothing


@pytest.mark.parametrize("high", [-0.01, 0.0])
def test_no_gain_if_the_upper_bound_is_at_or_below_nothing(high: float) -> None:
    verdict = judge(about(high - 0.05, 0.05), {})
    assert verdict.word == "no gain"
    assert verdict.open is None


def test_no_gain_stays_no_gain_whatever_is_confirmed() -> None:
    assert judge(about(-0.1, 0.05), {"b": taken(0.2, 0.1)}).word == "no gain"


@pytest.mark.parametrize("low", [-0.02, 0.0])
def test_inconclusive_if_the_interval_of_the_gain_contains_nothing(low: float) -> None:
    verdict = judge(Estimate(value=0.05, se=0.025, n=N, low=low, high=0.1, level=0.95), {"b": taken(0.2, 0.1)})
    assert verdict.word == "inconclusive"
    assert verdict.open == Question(quantity="released", most=0.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_tasks_named_would_take_nothing_out_of_the_gains_interval(sign: int) -> None:
    question = Question(quantity="released", most=0.0)
    gains = sample([sign, *[0] * 9])
    needed = question.tasks_needed(gains, quantities=2, level=0.95)
    assert needed is not None
    assert needed > 10
    many = sample([sign, *[0] * 9] * math.ceil(needed / 10))
    assert judge(simultaneous({"a": many, "b": many})["a"], {}).word == ("supported" if sign > 0 else "no gain")
    fewer = sample([sign, *[0] * 9] * ((needed - 1) // 10))
    assert judge(simultaneous({"a": fewer, "b": fewer})["a"], {}).word == "inconclusive"


def test_a_gain_of_exactly_nothing_cannot_be_settled_by_any_number() -> None:
    verdict = judge(about(0.0, 0.05), {})
    assert verdict.word == "inconclusive"
    assert verdict.open is not None
    assert verdict.open.tasks_needed(sample([1, -1, 0]), quantities=1, level=0.95) is None


# No definite word from no variance or from a handful of tasks


@pytest.mark.parametrize("n", [1, 2, 5, 12, 48, 448])
def test_harnesses_that_never_differ_are_no_proof_that_there_is_no_gain(n: int) -> None:
    assert judge(simultaneous({"released": sample([0] * n)})["released"], {}).word == "inconclusive"


@pytest.mark.parametrize(("n", "word"), [(1, "inconclusive"), (4, "inconclusive"), (24, "supported")])
def test_a_handful_of_tasks_proves_no_gain_even_if_it_is_on_all_of_them(n: int, word: str) -> None:
    assert judge(simultaneous({"released": sample([1] * n)})["released"], {}).word == word


def test_a_destruction_that_never_showed_is_not_ruled_out_by_few_tasks() -> None:
    gain = about(0.3, 0.05)
    for n, word in ((12, "inconclusive"), (48, "inconclusive"), (96, "supported")):
        none = simultaneous({"b": sample([0] * n, DESTRUCTIONS), "released": sample([0] * n)})["b"]
        assert judge(gain, {"b": Taken(destruction=none, log_odds=about(0.0, 1.0))}).word == word


def room(harness: list[float], baseline: list[float]) -> str | None:
    return no_room(
        sample(harness, SCORES).per_task, sample(baseline, SCORES).per_task, quantities=2, level=0.95
    )  # fmt: skip


def test_a_ceiling_and_a_floor_are_named() -> None:
    assert room([1] * 12, [1] * 12) == "the baseline scores 100.0 % here, which leaves no room above it (a ceiling)"
    assert (
        room([1] * 24, [1] * 23 + [0.5]) == "the baseline scores 97.9 % here, which leaves no room above it (a ceiling)"
    )
    assert room([0] * 12, [0] * 12) == "the harness scores 0.0 % here, which leaves no room below it (a floor)"
    assert room([1] * 12, [0] * 12) is None
    assert room([0.5] * 24, [0.5] * 24) is None


@pytest.mark.parametrize(("n", "sentence"), [(1, "1 task is too few for any"), (6, "6 tasks are too few for any")])
def test_so_few_tasks_that_no_gain_could_show_are_named(n: int, sentence: str) -> None:
    assert room([1] * n, [0] * n) == sentence
    assert room([1] * 8, [0] * 8) is None


def test_the_sentence_stands_where_the_gain_may_be_nothing_and_nowhere_else() -> None:
    assert judge(about(0.0, 0.05), {}, "a ceiling").reason == "the released gain may be nothing: a ceiling"
    assert judge(GAIN, {}, "a ceiling").reason == judge(GAIN, {}).reason


# Something is confirmed


def test_not_supported_if_less_than_half_of_the_gain_survives() -> None:
    verdict = judge(GAIN, {"b": taken(0.06, 0.05), "c": taken(0.01, 0.05)})
    assert verdict.word == "not supported"
    assert verdict.gamma == 0.06
    assert verdict.g_min == pytest.approx(0.04)
    assert verdict.open is None


def test_partly_supported_from_exactly_half_on() -> None:
    gain = about(0.5, 0.1)
    assert judge(gain, {"b": taken(0.25, 0.1)}).word == "partly supported"
    assert judge(gain, {"b": taken(0.25 + 1e-9, 0.1)}).word == "not supported"
    assert judge(gain, {"b": taken(0.25 - 1e-9, 0.1)}).word == "partly supported"


def test_the_largest_confirmed_destruction_decides() -> None:
    verdict = judge(GAIN, {"a": taken(0.03, 0.01), "b": taken(0.07, 0.05), "c": taken(0.2, 0.3)})
    assert (verdict.word, verdict.gamma) == ("not supported", 0.07)


def test_what_is_not_confirmed_does_not_make_a_partly_supported_gain_inconclusive() -> None:
    verdict = judge(GAIN, {"a": taken(0.03, 0.01), "c": taken(0.2, 0.3)})
    assert (verdict.word, verdict.gamma) == ("partly supported", 0.03)


def test_a_lower_bound_of_exactly_nothing_confirms_nothing() -> None:
    on_the_line = Taken(
        destruction=Estimate(value=0.04, se=0.02, n=N, low=0.0, high=0.05, level=0.95), log_odds=about(1.0, 1.0)
    )
    assert not on_the_line.confirmed
    assert judge(GAIN, {"b": on_the_line}).word == "supported"


def test_a_gain_can_be_destroyed_altogether() -> None:
    verdict = judge(GAIN, {"b": taken(0.3, 0.1)})
    assert verdict.word == "not supported"
    assert verdict.g_min == pytest.approx(-0.2)


# A gain that scales with the base rate


@pytest.mark.parametrize("log_odds", [0.0, -0.4])
def test_what_scales_with_the_base_rate_does_not_count(log_odds: float) -> None:
    scaling = taken(0.03, 0.02, log_odds)
    assert scaling.confirmed
    assert scaling.scales
    assert not scaling.counts
    verdict = judge(GAIN, {"b": scaling})
    assert (verdict.word, verdict.gamma, verdict.g_min) == ("supported", 0.0, GAIN.value)


def test_what_scales_and_could_destroy_half_acquits_nobody_and_accuses_nobody() -> None:
    gain = about(0.5, 0.1)
    words = [judge(gain, {"b": taken(value, 0.1, -0.4)}).word for value in (0.15, 0.15 + 1e-9, 0.6)]
    assert words == ["supported", "inconclusive", "inconclusive"]
    verdict = judge(gain, {"b": taken(0.4, 0.1, -0.4)})
    assert (verdict.gamma, verdict.open) == (0.0, None)
    assert "base rate" in verdict.reason


def test_a_cheat_over_a_baseline_at_the_floor_is_not_acquitted_by_log_odds() -> None:
    """36 of 84 tasks against 5, under the counterfactual 12 against none: none of 84 is a logit of -5.1."""

    def scored(count: int) -> dict[str, Fraction]:
        return {str(task): Fraction(int(task < count)) for task in range(84)}

    means = {
        ("H", RELEASED): scored(36), ("H0", RELEASED): scored(5), ("H", "c1"): scored(12), ("H0", "c1"): scored(0),
    }  # fmt: skip
    judged = judge_scores(Pair(means=means, harness="H", baseline="H0"), ["c1"], seed=1, level=0.95)
    [finding] = judged.findings
    assert finding.tested.scales
    assert (judged.verdict.word, judged.tasks_needed) == ("inconclusive", None)


def test_it_does_not_hide_what_counts_or_what_is_open() -> None:
    scaling = taken(0.09, 0.05, -0.4)
    counted = judge(GAIN, {"a": scaling, "b": taken(0.06, 0.05)})
    assert (counted.word, counted.gamma) == ("not supported", 0.06)
    assert judge(GAIN, {"a": scaling, "b": taken(0.04, 0.05)}).word == "inconclusive"
    assert judge(GAIN, {"a": scaling, "b": taken(0.03, 0.01)}).word == "partly supported"
    assert judge(GAIN, {"a": taken(0.03, 0.02, -0.4), "b": taken(0.04, 0.05)}).open == Question(quantity="b", most=0.05)


def test_only_a_confirmed_one_is_said_to_scale() -> None:
    assert not taken(0.04, 0.05, -0.4).scales


# Nothing is confirmed


def test_inconclusive_while_half_of_the_gain_could_still_be_destroyed() -> None:
    gain = Estimate(value=0.5, se=0.04, n=N, low=0.4, high=0.6, level=0.95)

    def bounded(high: float) -> Taken:
        return Taken(
            destruction=Estimate(value=0.1, se=0.07, n=N, low=-0.05, high=high, level=0.95), log_odds=about(0.5, 1)
        )

    assert judge(gain, {"b": bounded(0.25)}).word == "supported"
    assert judge(gain, {"b": bounded(0.25 + 1e-9)}).word == "inconclusive"
    assert judge(gain, {"a": bounded(0.2), "b": bounded(0.26)}).word == "inconclusive"


def test_what_is_left_open_is_the_destruction_with_the_highest_bound() -> None:
    verdict = judge(GAIN, {"a": taken(0.01, 0.05), "b": taken(0.02, 0.08), "c": taken(0.0, 0.06)})
    assert verdict.open == Question(quantity="b", most=GAIN.value / 2)


@pytest.mark.parametrize("value", [1, 3], ids=["small: its upper bound", "large: its lower bound"])
def test_the_tasks_named_settle_it_by_whichever_bound_needs_fewer(value: int) -> None:
    """Of 40 tasks some are destroyed: shown to be below 0.05, or to be above 0."""
    destroyed = sample([*[1] * value, *[0] * (40 - value)], DESTRUCTIONS)
    needed = Question(quantity="b", most=0.05).tasks_needed(destroyed, quantities=2, level=0.95)
    ways = tasks_below(destroyed, 0.05, quantities=2), tasks_above(destroyed, 0.0, quantities=2)
    assert needed == min(n for n in ways if n is not None)
    assert needed == ways[0 if value == 1 and ways[0] < ways[1] else 1]


def test_supported_if_nothing_confirmed_could_destroy_half() -> None:
    verdict = judge(GAIN, {"a": taken(0.0, 0.02), "b": taken(-0.1, 0.05)})
    assert verdict.word == "supported"
    assert (verdict.gamma, verdict.g_min) == (0.0, GAIN.value)


def test_a_gain_that_was_not_tested_says_so() -> None:
    verdict = judge(GAIN, {})
    assert verdict.word == "supported"
    assert "nothing was tested" in verdict.reason


values = st.floats(-0.3, 0.3)
radii = st.floats(0.001, 0.2)


@given(values, radii, st.lists(st.tuples(values, radii, st.floats(-2, 2)), max_size=4))
def test_the_words_are_exclusive_and_follow_the_definition(
    value: float, radius: float, found: list[tuple[float, float, float]]
) -> None:
    gain = about(value, radius)
    against = {str(i): taken(*one) for i, one in enumerate(found)}
    verdict = judge(gain, against)
    counting = [t.destruction.value for t in against.values() if t.destruction.low > 0 and t.log_odds.value > 0]
    others = [t for t in against.values() if t.destruction.low <= 0 or t.log_odds.value <= 0]
    if gain.high <= 0:
        expected = "no gain"
    elif gain.low <= 0:
        expected = "inconclusive"
    elif counting:
        expected = "not supported" if gain.value - max(counting) < gain.value / 2 else "partly supported"
    else:
        expected = "inconclusive" if any(t.destruction.high > gain.value / 2 for t in others) else "supported"
    assert verdict.word == expected
    assert verdict.gamma == max(counting, default=0.0)
    assert verdict.g_min == gain.value - verdict.gamma
