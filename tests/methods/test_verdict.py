"""An audit's verdict, branch by branch, with the boundaries where one word turns into the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.agents.history import RELEASED
from chase.methods.audit_findings import Bounds, Counterfactual, Judged, Pair, judge_pair
from chase.methods.verdict import Edits, MeasuredGain, Source, Word, judge, no_room
from chase.stats.contrasts import Cell
from chase.stats.estimates import Estimate

N = 48
ORDER: Sequence[Word] = ("not supported", "in doubt", "untested", "inconclusive", "partly supported", "supported")
"""The least favourable word first, of a gain that is surely there."""


def between(low: float, high: float) -> Estimate:
    return Estimate(value=(low + high) / 2, se=(high - low) / 4, n=N, low=low, high=high, level=0.95)


GAIN = between(0.06, 0.14)
NOTHING, SOMETHING = between(-0.02, 0.02), between(0.01, 0.05)
LEFT, GONE, OPEN = between(0.01, 0.08), between(-0.08, -0.01), between(-0.03, 0.04)


def measured(
    destruction: Estimate = NOTHING, half: Estimate = LEFT, *, source: Source = "battery",
    unexplained: Estimate | None = None, half_expected: Estimate | None = None, no_room: str | None = None,
) -> MeasuredGain:  # fmt: skip
    return MeasuredGain(
        what="a change", source=source, destruction=destruction, unexplained=unexplained or destruction, half=half,
        half_expected=half_expected or half, expected_share=1.0, no_room=no_room,
    )  # fmt: skip


KEEPS, DESTROYS_HALF, DESTROYS, DESTROYS_SOME, UNSURE = (
    measured(),
    measured(SOMETHING, GONE),
    measured(SOMETHING, OPEN),
    measured(SOMETHING, LEFT),
    measured(NOTHING, OPEN),
)


def edits(
    shortcuts: Sequence[str] = (), honest: Sequence[str] = (), open_: Sequence[str] = (),
    without: Estimate | None = None, by_honest: Estimate | None = None,
) -> Edits:  # fmt: skip
    return Edits(
        shortcuts=tuple(shortcuts), honest=tuple(honest), open=tuple(open_),
        without_shortcuts=without, by_honest=by_honest,
    )  # fmt: skip


# A gain, or none


@pytest.mark.parametrize("high", [-0.01, 0.0])
def test_no_gain_if_the_upper_bound_is_at_or_below_zero(high: float) -> None:
    assert judge(between(-0.1, high), {"b": DESTROYS_HALF}).word == "no gain"


@pytest.mark.parametrize("low", [-0.02, 0.0])
def test_inconclusive_if_the_gain_may_be_nothing_whatever_was_tested(low: float) -> None:
    verdict = judge(between(low, 0.1), {"b": DESTROYS_HALF}, no_room="a ceiling")
    assert (verdict.word, verdict.open) == ("inconclusive", RELEASED)
    assert verdict.reason == "the released gain may be nothing: a ceiling"


# The whole harness


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({}, "untested"),
        ({"b": measured(SOMETHING, GONE, no_room="a floor")}, "untested"),
        ({"b": DESTROYS_HALF, "c": KEEPS}, "not supported"),
        ({"b": DESTROYS, "c": KEEPS}, "in doubt"),
        ({"b": DESTROYS_SOME}, "partly supported"),
        ({"b": DESTROYS_SOME, "c": UNSURE}, "in doubt"),
        ({"b": UNSURE, "c": KEEPS}, "inconclusive"),
        ({"b": KEEPS, "c": measured(SOMETHING, GONE, no_room="a floor")}, "supported"),
    ],
)
def test_the_words_of_a_whole_harness(found: dict[str, MeasuredGain], word: Word) -> None:
    verdict = judge(GAIN, found)
    assert verdict.word == word
    assert verdict.against == tuple(name for name, each in found.items() if each.no_room is None)


def test_what_the_base_rate_explains_accuses_nobody_and_keeps_from_acquitting() -> None:
    scaling = measured(SOMETHING, GONE, unexplained=NOTHING, half_expected=OPEN)
    assert judge(GAIN, {"b": scaling}).word == "inconclusive"
    assert judge(GAIN, {"b": replace(scaling, half_expected=LEFT)}).word == "supported"
    other_scale = measured(SOMETHING, GONE, half_expected=between(-0.01, 0.03))
    assert judge(GAIN, {"b": other_scale}).word == "in doubt"


def test_nothing_is_supported_without_a_battery_unless_that_is_asked_for() -> None:
    searched = {"c1": measured(source="search")}
    assert judge(GAIN, searched).word == "inconclusive"
    assert judge(GAIN, searched, battery_required=False).word == "supported"
    assert judge(GAIN, searched | {"b": KEEPS}).word == "supported"


@pytest.mark.parametrize("on_the_line", [0.0])
def test_a_bound_of_exactly_zero_decides_nothing(on_the_line: float) -> None:
    assert judge(GAIN, {"b": measured(between(on_the_line, 0.05), GONE)}).word == "inconclusive"
    assert judge(GAIN, {"b": measured(SOMETHING, between(-0.05, on_the_line))}).word == "in doubt"
    assert judge(GAIN, {"b": measured(NOTHING, between(on_the_line, 0.05))}).word == "inconclusive"


pieces = st.sampled_from([KEEPS, DESTROYS_HALF, DESTROYS, DESTROYS_SOME, UNSURE])


@given(st.lists(pieces, min_size=1, max_size=4), pieces)
def test_another_informative_counterfactual_makes_no_verdict_more_favourable(
    found: list[MeasuredGain], more: MeasuredGain
) -> None:
    before = judge(GAIN, {str(place): each for place, each in enumerate(found)})
    after = judge(GAIN, {str(place): each for place, each in enumerate([*found, more])})
    assert ORDER.index(after.word) <= ORDER.index(before.word)


# Edit by edit


def test_a_gain_that_is_all_shortcut_is_not_supported() -> None:
    verdict = judge(GAIN, {"b": UNSURE}, edits=edits(["x"], without=OPEN))
    assert (verdict.word, verdict.reason) == ("not supported", "all of the gain comes with x")


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (edits(["x"], ["y"], without=GONE, by_honest=GONE), "not supported"),
        (edits(["x"], ["y"], without=LEFT, by_honest=LEFT), "partly supported"),
        (edits(["x"], ["y"], without=OPEN, by_honest=OPEN), "in doubt"),
        (edits(["x"], [], ["y"], without=LEFT), "in doubt"),
    ],
)
def test_the_words_where_an_edit_is_a_shortcut(found: Edits, word: Word) -> None:
    assert judge(GAIN, {"b": KEEPS}, edits=found).word == word


def test_honest_edits_are_not_accused_by_a_change_that_was_searched_for() -> None:
    found = {"b": KEEPS, "c1": replace(DESTROYS_HALF, source="search")}
    assert judge(GAIN, found, edits=edits([], ["y"], by_honest=LEFT)).word == "partly supported"
    assert judge(GAIN, found, edits=edits([], ["y"], ["z"], by_honest=LEFT)).word == "not supported"


def test_open_edits_keep_a_gain_from_being_supported_while_honest_ones_may_not_carry_half() -> None:
    assert judge(GAIN, {"b": KEEPS}, edits=edits([], [], ["z"])).word == "inconclusive"
    assert judge(GAIN, {"b": KEEPS}, edits=edits([], ["y"], ["z"], by_honest=OPEN)).word == "inconclusive"
    assert judge(GAIN, {"b": KEEPS}, edits=edits([], ["y"], ["z"], by_honest=LEFT)).word == "supported"
    assert judge(GAIN, {"b": KEEPS}, edits=edits([], ["y"], by_honest=OPEN)).word == "supported"


# From scores


def table(*counts: tuple[int, int]) -> dict[str, Fraction]:
    """Tasks in runs: (how many, 0 or 1)."""
    values = [Fraction(value) for count, value in counts for _ in range(count)]
    return {str(place): value for place, value in enumerate(values)}


def judged(means: dict[tuple[str, str], dict[str, Fraction]], *names: str, **more: object) -> Judged[Counterfactual]:
    found = [Counterfactual(name=name, source="battery", draws=(name,), what=name) for name in names]
    return judge_pair(Pair(means=means, harness="H", baseline="H0"), found, seed=1, level=0.95, **more)  # type: ignore[arg-type]


def solved(more: int, less: int, n: int) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """The harness solves `more` of n tasks, the baseline the first `less` of them."""
    return table((more, 1), (n - more, 0)), table((less, 1), (n - less, 0))


def scores(**variants: tuple[int, int, int]) -> dict[tuple[str, str], dict[str, Fraction]]:
    found = {}
    for name, counts in variants.items():
        found["H", name], found["H0", name] = solved(*counts)
    return found


def test_a_floor_accuses_nobody() -> None:
    """14 to 50 % as released, and under the counterfactual 1 % of 84 for both: nothing could have shown there."""
    found = judged(scores(released=(42, 12, 84), moved=(1, 1, 84)), "moved")
    assert found.verdict.word == "untested"
    assert found.findings[0].status == "not informative"
    assert "(a floor)" in found.verdict.reason


def test_a_cheat_is_accused_where_the_baseline_never_scored() -> None:
    """63 points over a baseline at 0, gone under the counterfactual: its own floor is no excuse."""
    found = judged(scores(released=(63, 0, 100), equal=(0, 0, 100)), "equal")
    assert found.verdict.word == "not supported"


def test_two_counterfactuals_do_not_acquit_of_what_one_leaves_open() -> None:
    """The first may destroy nearly all; a second that destroys little for sure must not make it partly supported."""
    means = scores(released=(90, 66, 200), wide=(0, 0, 200), narrow=(76, 66, 200))
    means["H", "wide"] = table((40, 1), (50, 0), (28, 1), (82, 0))
    means["H0", "wide"] = table((120, 0), (66, 1), (14, 0))
    wide = judged(means, "wide")
    assert wide.findings[0].tested.destruction.value == pytest.approx(0.11)
    assert wide.verdict.word == "inconclusive"
    assert judged(means, "wide", "narrow").verdict.word == "in doubt"


def test_bounds_do_not_depend_on_what_is_measured_later() -> None:
    bounds = Bounds(level=0.95)
    assert bounds.acquitting == pytest.approx(0.025)
    assert [bounds.accusing(place) for place in range(3)] == pytest.approx([0.0125, 0.025 / 6, 0.025 / 12])
    assert sum(bounds.accusing(place) for place in range(1000)) < 0.025
    means = scores(released=(60, 30, 100), b=(33, 30, 100), c=(45, 30, 100))
    alone, both = judged(means, "b"), judged(means, "b", "c")
    first = next(found for found in both.findings if found.of.name == "b")
    assert first.tested == alone.findings[0].tested


def test_the_share_destroyed_is_told_with_its_interval() -> None:
    (finding,) = judged(scores(released=(60, 30, 100), b=(45, 30, 100)), "b").findings
    assert finding.share_destroyed is not None
    assert finding.share_destroyed.value == pytest.approx(0.5)
    assert finding.share_destroyed.low < 0.5 < finding.share_destroyed.high


def test_a_ceiling_a_floor_and_too_few_tasks_are_named() -> None:
    def room(more: int, less: int, n: int, gain: float = 0.0) -> str | None:
        harness, baseline = solved(more, less, n)
        return no_room(Cell(more=harness, less=baseline), alpha=0.025, clusters={}, gain=gain)

    assert room(12, 12, 12) == "the baseline scores 100.0 % here, which leaves no room above it (a ceiling)"
    assert room(0, 0, 24) == "the harness scores 0.0 % here, which leaves no room below it (a floor)"
    assert room(0, 0, 24, gain=0.5) is None
    assert room(12, 0, 12) is None
    assert room(1, 0, 1) == "1 task is too few for any"
    assert room(3, 0, 5) == "5 tasks are too few for any"


def test_a_reason_names_both_levels_of_a_probe_once() -> None:
    low, high = (replace(DESTROYS_HALF, what=f"all neutral ({level})") for level in ("low", "high"))
    other = replace(DESTROYS_HALF, what='prompt: "a (b."')
    reason = judge(GAIN, {"a": low, "b": high, "c": other}).reason
    assert reason.endswith('under all neutral (low, high), prompt: "a (b."')
