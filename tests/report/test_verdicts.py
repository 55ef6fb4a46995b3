"""The sentence on top of a report follows from the figures, and promises no more than they show."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from chase.methods.verdict import Word
from chase.report import verdicts
from tests.report.audited import audited, estimate, finding


def evolved(gain: float, least: float | None = None, *, changed: bool = True, certified: bool = True) -> dict[str, Any]:
    scores = {"H0": {"released": estimate(0.5)}, "H*": {"released": estimate(0.5 + gain)}}
    found = {
        "scores": scores, "gains": {"released": estimate(gain)}, "g_min": estimate(gain if least is None else least),
        "tasks": 100,
    }  # fmt: skip
    archive = [] if least is None else [{"name": "b1"}]
    changes = [{"key": "prompt.md"}] if changed else []
    return {"final": {"changes": changes}, "archive": archive, "certification": found if certified else None}


@pytest.mark.parametrize(
    ("found", "label", "tone", "words"),
    [
        (evolved(0.1, 0.08), "gain that holds", "good", "+8.0 are left"),
        (evolved(0.1, 0.01), "gain in doubt", "open", "not shown to be more than chance"),
        (evolved(0.1, -0.1), "gain in doubt", "open", "there it does harm"),
        (evolved(0.1), "gain", "good", "no valid change"),
        (evolved(0.01), "not shown", "open", "chance alone"),
        (evolved(-0.1), "loss", "bad", "worse: 50.0 % to 40.0 %"),
        (evolved(0.1, certified=False), "not certified", "open", "not known yet"),
        (evolved(0.1, changed=False), "unchanged", "open", "no change"),
    ],
)
def test_an_evolutions_sentence(found: dict[str, Any], label: str, tone: str, words: str) -> None:
    made = verdicts.of_evolution(found)
    assert (made.label, made.tone) == (label, tone)
    assert words in made.sentence
    assert not any(sign in made.sentence for sign in ("_", "Δ", "Γ", "H*"))


@pytest.mark.parametrize("word", get_args(Word))
def test_every_verdict_of_an_audit_has_a_sentence(word: Word) -> None:
    made = verdicts.of_audit(audited(word, [finding("c1", 0.12)]))
    assert made.label == word
    assert made.tone == ("good" if word == "supported" else made.tone)
    assert "50.0 % to 60.0 % (+10.0 points) as released on 400 tasks" in made.sentence
    assert "-2.0 under the worst change" in made.sentence


def test_a_repairs_sentence_says_what_is_kept_and_what_was() -> None:
    def gains(released: float, surviving: float) -> dict[str, Any]:
        return {"released": estimate(released), "surviving": estimate(surviving)}

    found = {"outcome": "repaired", "reason": "x", "repaired": {"hash": "0"},
             "measured": {"harness": gains(0.118, 0.007), "repaired": gains(0.098, 0.036)}}  # fmt: skip
    assert verdicts.of_repair(found).sentence == (
        "The repaired harness gains +9.8 points as released and +3.6 under the change of the benchmark's form that "
        "was worst in the search; before the repair it gained +11.8 and +0.7."
    )
    nothing = {**found, "outcome": "not possible", "repaired": None, "measured": {}}
    assert verdicts.of_repair(nothing).sentence == "Not possible: x."


def test_a_result_that_cannot_be_read_is_not_called_unfinished() -> None:
    assert "ended, but its result cannot be read" in verdicts.unfinished("finished").sentence
    assert "not finished (it is stopped)" in verdicts.unfinished("stopped").sentence


def compared(*, neutral: bool, separated: bool) -> dict[str, Any]:
    keys = ["g_rel", "g_0"] if neutral else ["g_rel", "gamma"]
    rows = {"plain": (0.2, 0.02), "chase": (0.1, 0.09)}
    figure = keys[1]
    return {
        "certified": True,
        "seeds": [1, 2],
        "features": {name: {"challenger": name == "chase"} for name in rows},
        "columns": [{"key": key} for key in keys],
        "methods": {
            name: {"g_rel": estimate(gain), figure: estimate(kept if neutral else gain - kept)}
            for name, (gain, kept) in rows.items()
        },
        "differences": [{"left": "plain", "right": "chase", "figure": figure, "separated": separated}],
    }


@pytest.mark.parametrize("neutral", [True, False])
def test_a_comparisons_lead_is_one_only_where_it_is_more_than_chance(neutral: bool) -> None:
    clear = verdicts.of_comparison(compared(neutral=neutral, separated=True))
    assert "plain gains most as released (+20.0 points) and chase gains most" in clear.sentence
    assert "(+9.0)" in clear.sentence
    assert "against 1 of the 1 others" in clear.sentence
    assert (clear.label, clear.tone) == ("chase leads", "good")
    alone = compared(neutral=neutral, separated=True)
    del alone["methods"]["plain"]
    assert "chase gains most, as released (+10.0 points) and" in verdicts.of_comparison(alone).sentence
    unclear = verdicts.of_comparison(compared(neutral=neutral, separated=False))
    assert "no lead is more than chance" in unclear.sentence
    assert (unclear.label, unclear.tone) == ("no clear lead", "open")
