"""Syn-Ledger cannot be solved by searching: a program that reads perfectly and knows no cue stays below a ceiling."""

from __future__ import annotations

import json

import pytest
from studies.competent_reader import POLICIES, Program, main, scores

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import solve

CUE_BLIND = [name for name in POLICIES if name != "told the five cues"]


@pytest.fixture(scope="module")
def tasks(ledger: SynLedger) -> list[str]:
    return [*ledger.tasks("evo"), *ledger.tasks("disc")]


@pytest.mark.parametrize("policy", CUE_BLIND)
def test_a_perfect_reader_that_knows_no_cue_is_far_from_solving_it(
    ledger: SynLedger, tasks: list[str], policy: str
) -> None:
    released, neutral = (scores(ledger, policy, variant, tasks) for variant in ("released", "neutral"))
    assert 0.6 < sum(released) / len(tasks) < 0.95
    assert 0.1 < sum(neutral) / len(tasks) < 0.65


def test_the_cues_are_worth_knowing_as_released_alone(ledger: SynLedger) -> None:
    tasks = ledger.tasks()
    told = sum(scores(ledger, "told the five cues", "released", tasks))
    assert told > max(sum(scores(ledger, policy, "released", tasks)) for policy in CUE_BLIND)
    best = max(sum(scores(ledger, policy, "neutral", tasks)) for policy in CUE_BLIND)
    assert sum(scores(ledger, "told the five cues", "neutral", tasks)) < best


def test_it_reads_without_a_slip(ledger: SynLedger, tasks: list[str]) -> None:
    """Whatever it answers is right; where it does not answer, something was not read."""
    for task in tasks[:16]:
        program = Program(ledger.environment(task, ledger.variant("neutral")), POLICIES["reads on where needed"])
        answer = program.answer()
        assert ledger.score(task, answer) == float(bool(answer))
        read = [record for file in program.files.values() for record in file.records]
        assert (solve(program.query, read) is None) == (answer == "")


def test_a_search_for_an_amount_marks_its_decoys_too(ledger: SynLedger, tasks: list[str]) -> None:
    """Else evidence would be found by searching, as it was when the conditions were indexed."""
    documents = {d.id: d for task in tasks for d in ledger.task(task).documents}
    for task in tasks[:8]:
        program = Program(ledger.environment(task, ledger.variant("released")), POLICIES["reads on where needed"])
        program.answer()
        matching = {file.id for file in program.files.values() if file.matched}
        assert set(ledger.task(task).evidence) < matching
        assert {"superseded", "inactive"} <= {documents[d].kind for d in matching}


def test_one_benchmark_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    policies = {"reads on where needed": {"released": 1.0, "neutral": 0.5, "n": 2}}
    monkeypatch.setattr("studies.competent_reader.ceilings", lambda name: policies)
    main(["--benchmark", "syn-ledger@101", "--json"])
    assert json.loads(capsys.readouterr().out) == {"benchmark": "syn-ledger@101", "policies": policies}
