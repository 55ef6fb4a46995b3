"""How planted harnesses are made, measured and chosen for audits, on made-up scores."""

from __future__ import annotations

from typing import Any

import pytest
from studies.planted_harnesses import HONEST, PLANTED, Table, cheats, chosen, harness_of, is_honest
from studies.running import opened

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.harness.limits import check_for_benchmark
from chase.testing.ledger import H0

LOW = dict.fromkeys(PLANTED, 2.0)


def figures(kind: str, gain: float, *, lost: Any = (), form: Any = None, odds: Any = None) -> dict[str, Any]:
    found = {"kind": kind, "g_rel": {"value": gain, "se": 0.01}, "form": form or {}}
    found["neutralised"] = {n: {"value": value, "se": 0.01} for n, value in enumerate(lost)}
    return found if odds is None else {**found, "log_odds": {n: {"value": v, "se": 0.1} for n, v in enumerate(odds)}}


def test_every_candidate_is_another_harness_that_fits_the_benchmark(ledger: SynLedger) -> None:
    forms = {**cheats(LOW), **HONEST}
    harnesses = {name: harness_of(**form) for name, form in forms.items()}
    for name, harness in harnesses.items():
        check_for_benchmark(harness, ledger, where=name)
    assert len({harness.hash for harness in harnesses.values()} - {H0.hash}) == len(forms)


def test_cheats_name_planted_observables_and_honest_ones_none() -> None:
    assert all(any(name in str(form) for name in PLANTED) for form in cheats(LOW).values())
    _, kit = opened("syn-ledger@7")
    every = [observable.name for observable in kit.benchmark.observables if observable.name != "window"]
    assert not any(name in str(form) for name in every for form in HONEST.values())


def test_a_harness_has_sentences_modules_and_structure_where_the_form_says() -> None:
    harness = harness_of(prompt=["A."], guidance=["B.", "C."], structure={"tools.reserved_reads": 2})
    assert harness.prompt == f"{H0.prompt} A."
    assert [module.text for module in harness.guidance] == ["B.", "C."]
    assert harness.structure.tools.reserved_reads == 2
    assert harness.structure.tools.opened_files == H0.structure.tools.opened_files
    assert harness_of().hash == H0.hash


def test_the_six_cheats_with_the_largest_gains_are_chosen_that_lean_on_different_cues() -> None:
    pairs = [(x, y) for x in PLANTED for y in PLANTED if x < y]
    harnesses = {
        f"cheat {n}": figures("cheat", 0.2 - n / 100, lost=[0.1, 0.0], form={"prompt": list(pair)})
        for n, pair in enumerate(pairs[:8])
    }
    harnesses["same cues as the first"] = figures("cheat", 0.195, lost=[0.1], form={"prompt": list(pairs[0])[::-1]})
    harnesses["gain survives"] = figures("cheat", 0.5, lost=[0.24, 0.1], form={"prompt": [PLANTED[0]]})
    harnesses["not surely lost"] = figures("cheat", 0.03, lost=[0.02], form={"prompt": [PLANTED[1]]})
    harnesses["not measured"] = figures("cheat", 0.3, form={"prompt": [PLANTED[2]]})
    assert list(chosen(harnesses)) == [f"cheat {n}" for n in range(6)]


def test_four_honest_harnesses_are_chosen_whose_gain_no_operator_surely_destroys() -> None:
    harnesses = {f"honest {n}": figures("honest", 0.1 + n / 100, odds=[0.15, -0.5]) for n in range(5)}
    harnesses["destroyed"] = figures("honest", 0.3, odds=[0.4, 0.0])
    harnesses["no gain"] = figures("honest", 0.01, odds=[0.0])
    harnesses["not measured"] = figures("honest", 0.3)
    found = chosen(harnesses)
    assert list(found) == ["honest 4", "honest 3", "honest 2", "honest 1", "destroyed"]
    assert [harness["kind"] for harness in found.values()] == ["honest"] * 4 + ["entangled"]
    assert [name for name, found in harnesses.items() if not is_honest(found)] == [
        "destroyed",
        "no gain",
        "not measured",
    ]


def test_log_odds_destruction_compares_the_same_tasks() -> None:
    operator = {"operators": ["reverse"]}
    scores = {
        ("initial", "released"): [1.0, 0.0, 0.0, 0.0, 1.0, 1.0],
        ("h", "released"): [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        ("initial", "op"): [1.0, 0.0, 0.0, 0.0],
        ("h", "op"): [1.0, 0.0, 0.0, 0.0],
    }
    rows = [{"name": n, "variant": operator if v == "op" else v, "scores": s} for (n, v), s in scores.items()]
    found = Table(rows).log_odds("h", operator)
    assert found["value"] == pytest.approx(
        1.695, abs=1e-3
    )  # ln(3.5/1.5) − ln(1.5/3.5): the last two tasks are not meant
    assert found["se"] > 0
