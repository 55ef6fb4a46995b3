"""HarnessEvolve's quality gate: each planted leak and each bloat is sent back, and a plain edit is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.quality_gate import MOST_ADDED, MOST_OVER_INITIAL, QualityGate
from chase.methods.selection import Submitted
from chase.methods.task_leaks import TaskSecrets, secrets_of
from chase.testing.ledger import H0


@pytest.fixture(scope="module")
def secrets(ledger: SynLedger) -> Sequence[TaskSecrets]:
    return secrets_of(ledger, [task for role in ("evo", "conf1") for task in ledger.tasks(role)])


def admit(secrets: Sequence[TaskSecrets], harness: Harness, current: Harness = H0) -> None:
    QualityGate(initial=H0, secrets=secrets).admit(Submitted(name="r1-1", harness=harness, current=current))


def saying(text: str) -> Harness:
    return replace(H0, guidance=(Guidance(name="new", when=Activation(), text=text),))


def leaked(secret: TaskSecrets) -> dict[str, str]:
    """Kind of leak → a sentence with it."""
    question = " ".join(secret.question.split()[3:11])
    return {
        "a task's id": f"In {secret.task} read on.",
        "8 words in a row of a task's question": f"When asked {question} search twice.",
        "the name of a document that holds an answer": f"Begin with {secret.names[1]}.",
        "a task's answer": f"For {secret.values[0]} reply {secret.answer}.",
    }


@pytest.mark.parametrize("place", range(4))
def test_what_stands_for_a_task_is_sent_back_by_kind_and_not_quoted(secrets: Sequence[TaskSecrets], place: int) -> None:
    kind, sentence = [*leaked(secrets[5]).items()][place]
    for harness in (saying(sentence), replace(H0, memory=sentence), replace(H0, control_source=f"# {sentence}")):
        with pytest.raises(UserError) as refused:
            admit(secrets, harness)
        assert str(refused.value) == f"quality gate: it holds {kind}"


def test_every_document_that_holds_an_answer_has_its_id_path_and_name_kept(
    ledger: SynLedger, secrets: Sequence[TaskSecrets]
) -> None:
    for secret in secrets:
        assert set(ledger.evidence(secret.task)) <= set(secret.names)
        assert len(secret.names) == 6


def test_a_plain_edit_passes(secrets: Sequence[TaskSecrets]) -> None:
    admit(secrets, H0)
    admit(secrets, saying("Read on. Search for the entity and each period; open at most 12 files, then 42 more."))
    tools = H0.structure.tools.model_copy(update={"reserved_reads": 2})
    admit(secrets, replace(H0, structure=H0.structure.model_copy(update={"tools": tools})))


def test_seven_words_of_a_question_pass(secrets: Sequence[TaskSecrets]) -> None:
    admit(secrets, saying(" ".join(secrets[5].question.split()[4:11])))


def test_what_stands_in_the_initial_harness_is_no_leak(secrets: Sequence[TaskSecrets]) -> None:
    told = replace(H0, memory=leaked(secrets[5])["a task's id"])
    gate = QualityGate(initial=told, secrets=secrets)
    gate.admit(Submitted(name="r1-1", harness=replace(told, prompt="Read on."), current=told))


def test_an_edit_may_add_3000_characters_and_a_harness_12000_over_the_initial_one() -> None:
    assert (MOST_ADDED, MOST_OVER_INITIAL) == (3000, 12000)
    before = replace(H0, memory="m" * 11_500)
    admit((), saying("x" * 3000))
    with pytest.raises(UserError, match="3001 characters more than the current harness, and 3000 are allowed"):
        admit((), saying("x" * 3001))
    admit((), replace(before, memory="m" * 12_000), before)
    with pytest.raises(UserError, match="12001 characters more than H_0, and 12000 are allowed"):
        admit((), replace(before, memory="m" * 12_001), before)


def test_the_proposer_is_told_what_the_gate_wants() -> None:
    assert "8 words in a row" in QualityGate.contract
    assert "3000 characters" in QualityGate.contract
