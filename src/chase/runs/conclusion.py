"""What an evolution ended with, in words and in figures: the same in the printed result and in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.core.values import Json
from chase.runs.rendering import ends, percent, points
from chase.stats.bounded import GAINS, Counted, lower_bound

RELEASED, NEUTRAL = "released", "neutral"
NOTABLE = 0.2
"""A gain on one task in five: sealed tasks that could not show it are too few to conclude from."""
Found = Mapping[str, Any]


def conclusion_of(found: Found) -> dict[str, Json]:
    """From a result's `final`, `rounds`, `archive` and `certification`."""
    certified, confirmations = found["certification"], list(_confirmations(found["rounds"]))
    sentences = [*_gain_in_words(found), *_survival_in_words(found)]
    if confirmations:
        sentences.append(_confirmations_in_words(confirmations))
    sentences += _placebos_in_words(found["rounds"])
    return {
        "sentences": sentences,
        "word": _word(found),
        "counterfactuals": [] if certified is None else list(_variants(found)),
        "confirmations": confirmations,
    }


def by_noise_in_words(share: float | None) -> str:
    """What a confirmation is worth: how often noise alone would have passed."""
    if share is None:
        return "no two tasks differ here, so what noise alone would confirm is not known"
    return f"noise alone would be confirmed {100 * share:.1f} % of the time on a set like this"


def too_few(tasks: int) -> bool:
    """Whether so many tasks could not tell a notable gain from nothing."""
    share = (Counted(0.0, (1 - NOTABLE) * tasks), Counted(1.0, NOTABLE * tasks))
    return lower_bound(share, GAINS, 0.025) <= 0


def _word(found: Found) -> str:
    """gain, loss, inconclusive, too small, unchanged or not certified."""
    certified = found["certification"]
    if not found["final"]["changes"]:
        return "unchanged"
    if certified is None:
        return "not certified"
    gain = certified["gains"][RELEASED]
    if gain["low"] > 0:
        return "gain"
    if gain["high"] < 0:
        return "loss"
    return "too small" if too_few(certified["tasks"]) else "inconclusive"


def _gain_in_words(found: Found) -> Iterator[str]:
    final, certified, word = found["final"], found["certification"], _word(found)
    if word == "unchanged":
        yield "H* is the initial harness H_0 itself: nothing else was proposed, or could be selected in its place."
        return
    if certified is None:
        scores = {row["harness"]: row["released"] for row in final["selection"]["pool"]}
        yield (
            f"H* scores {percent(scores[final['name']])} on the tasks that it was selected on and H_0 "
            f"{percent(next(iter(scores.values())))}: no measure of its gain, for which the sealed tasks are there."
        )
        return
    gain, scores = certified["gains"][RELEASED], certified["scores"]
    yield (
        f"H* gains {_points(gain)} on {certified['tasks']} sealed tasks ({ends(gain)}): "
        f"{percent(scores['H0'][RELEASED]['value'])} to {percent(scores['H*'][RELEASED]['value'])}."
    )
    if word == "too small":
        yield (
            f"Too small to conclude (a pilot): on {certified['tasks']} tasks even a gain of "
            f"{100 * NOTABLE:.0f} points could not be told from nothing."
        )
    elif word != "gain":
        yield "That cannot be told from nothing." if word == "inconclusive" else "That is a loss."


def _survival_in_words(found: Found) -> Iterator[str]:
    """What is left under the worst archived counterfactual, and with all planted regularities removed."""
    certified, archive = found["certification"], {entry["name"]: entry for entry in found["archive"]}
    if not found["final"]["changes"]:
        return
    if not archive:
        yield "No counterfactual was archived: the gain was not held to any."
    if certified is None:
        return
    if archive:
        worst = min(archive, key=lambda name: certified["gains"][name]["value"])
        gain, what = certified["gains"][worst], archive[worst]["what"]
        yield (
            f"Under the worst archived counterfactual ({worst}: {what}) {_points(gain)} survive ({ends(gain)}): "
            f"{_scores(certified, worst)}."
        )
    if NEUTRAL in certified["gains"]:
        gain = certified["gains"][NEUTRAL]
        left = f"{_points(gain)} ({ends(gain)}): {_scores(certified, NEUTRAL)}"
        yield f"With every planted regularity removed it gains {left}."


def _confirmations_in_words(confirmations: Sequence[Found]) -> str:
    """How much of what was confirmed noise alone would have brought."""
    passed, known = sum(c["confirmed"] for c in confirmations), [c["by_noise"] for c in confirmations]
    said = f"{passed} of {len(confirmations)} counterfactuals that were put to the test were confirmed"
    shares = [share for share in known if share is not None]
    if not shares:
        return f"{said}."
    return f"{said}; of as many that destroy nothing, noise alone would confirm {sum(shares):.1f} on average."


def _placebos_in_words(rounds: Sequence[Found]) -> Iterator[str]:
    """How many variants without an effect would have been confirmed, where some were tried."""
    tried = [each for record in rounds for each in record.get("confirmation", {}).get("placebos", ())]
    if tried:
        passed = sum(each["confirmed"] for each in tried)
        yield f"Of {len(tried)} placebos on the same tasks {passed} would have been confirmed."


def _confirmations(rounds: Sequence[Found]) -> Iterator[dict[str, Json]]:
    for record in rounds:
        found = record.get("confirmation")
        if found and found["destruction"] is not None:  # one that is invalid on fresh tasks is not measured
            frozen = record["challenger"]["frozen"]
            yield {
                "round": record["round"],
                "role": found["role"],
                "what": frozen["what"],
                "symbols": frozen["symbols"],
                "destruction": found["destruction"],
                "eta": found["eta"],
                "by_noise": found["by_noise"],
                "confirmed": found["confirmed"],
            }


def _variants(found: Found) -> Iterator[dict[str, Json]]:
    """Each variant of the certification: the gain, and the scores that it is the difference of."""
    certified, archive = found["certification"], {entry["name"]: entry for entry in found["archive"]}
    words = {RELEASED: "as released", NEUTRAL: "every planted regularity removed"}
    for name, gain in certified["gains"].items():
        entry = archive.get(name, {})
        yield {
            "name": name,
            "what": words.get(name) or entry["what"],
            "symbols": entry.get("symbols", ""),
            "gain": gain,
            "scores": {harness: scores[name] for harness, scores in certified["scores"].items()},
        }


def _scores(certified: Found, variant: str) -> str:
    scores = certified["scores"]
    return f"{percent(scores['H0'][variant]['value'])} to {percent(scores['H*'][variant]['value'])}"


def _points(estimate: Found) -> str:
    return f"{points(estimate['value'])} points"
