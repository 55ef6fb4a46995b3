"""HarnessEvolve's quality gate: each planted leak and each bloat is sent back, and a plain edit is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts, TaskFacts
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.quality_gate import MOST_ADDED, MOST_OVER_INITIAL, QualityGate
from chase.methods.selection import Submitted
from chase.testing.ledger import H0


@pytest.fixture(scope="module")
def gate(ledger: SynLedger) -> QualityGate:
    return QualityGate.of(ledger.gate, [task for role in ("evo", "conf1") for task in ledger.tasks(role)], H0)


@pytest.fixture(scope="module")
def task(gate: QualityGate) -> TaskFacts:
    return gate.known.facts.tasks[5]


def admit(gate: QualityGate, harness: Harness, current: Harness = H0) -> None:
    gate.admit(Submitted(name="r1-1", harness=harness, current=current))


def refusal(gate: QualityGate, harness: Harness) -> str:
    """What the gate says of an edit; nothing where it passes."""
    try:
        admit(gate, harness)
    except UserError as error:
        return str(error)
    return ""


def saying(text: str) -> Harness:
    return replace(H0, guidance=(Guidance(name="new", when=Activation(), text=text),))


ID, WORDS, NAME, ANSWER = (
    "a task's id", "8 words in a row of a task's question", "the name of a document that holds an answer",
    "a task's answer",
)  # fmt: skip


def leaked(task: TaskFacts) -> dict[str, str]:
    """Kind of leak → a sentence with it."""
    return {
        ID: f"In {task.id} read on.",
        WORDS: f"When asked {' '.join(task.question.split()[3:11])} search twice.",
        NAME: f"Begin with {task.sources[1]}.",
        ANSWER: f"For {task.identity[0]} reply {task.answer}.",
    }


@pytest.mark.parametrize("kind", [ID, WORDS, NAME, ANSWER])
def test_what_stands_for_a_task_is_sent_back_by_kind_and_not_quoted(
    gate: QualityGate, task: TaskFacts, kind: str
) -> None:
    sentence = leaked(task)[kind]
    for harness in (saying(sentence), replace(H0, memory=sentence), replace(H0, control_source=f"# {sentence}")):
        assert refusal(gate, harness) == f"quality gate: it holds {kind}"


def test_a_leak_is_found_however_it_is_spelled(gate: QualityGate, task: TaskFacts) -> None:
    path, half = next(name for name in task.sources if "/" in name), len(task.id) // 2
    spelled = {
        f"In {task.id.upper()} read on.": ID,
        f"In {' '.join(task.id)} read on.": ID,
        f"Begin with {path.upper()}.": NAME,
        f"Begin with {path.rpartition('.')[0]}.": NAME,
        f"{task.identity[0].upper()} has {task.answer}.0": ANSWER,
    }
    for sentence, kind in spelled.items():
        assert refusal(gate, saying(sentence)) == f"quality gate: it holds {kind}", sentence
    named = replace(H0, guidance=(Guidance(name=task.id, when=Activation(), text="Read on."),))
    joined = replace(H0, control_source=f"A = {task.id[:half]!r} + {task.id[half:]!r}")
    assert refusal(gate, named) == refusal(gate, joined) == f"quality gate: it holds {ID}"


def test_it_knows_the_tasks_in_the_batches_and_what_holds_their_answers(
    ledger: SynLedger, gate: QualityGate, task: TaskFacts
) -> None:
    facts = gate.known.facts
    assert [t.id for t in facts.tasks] == [t.id for t in ledger.gate.tasks if t.role in ("evo", "conf1")]
    assert all(set(ledger.evidence(t.id)) <= set(t.sources) for t in facts.tasks)
    other = next(t for t in ledger.gate.tasks if t.role == "cert")
    assert refusal(gate, saying(f"In {other.id} read on.")) == ""
    beside = next(name for name in ledger.gate.documents if len(name) == len(task.sources[0]) and "/" not in name
                  and not any(name in t.sources for t in facts.tasks))  # fmt: skip
    assert refusal(gate, saying(f"Begin with {beside}.")) == ""


def test_a_plain_edit_passes(gate: QualityGate, task: TaskFacts) -> None:
    admit(gate, H0)
    admit(gate, saying("Read on. Search for the entity and each period; open at most 12 files, then 42 more."))
    admit(gate, saying(f"Keep {task.answer} words."))
    tools = H0.structure.tools.model_copy(update={"reserved_reads": 2})
    admit(gate, replace(H0, structure=H0.structure.model_copy(update={"tools": tools})))


def test_seven_words_of_a_question_pass(gate: QualityGate, task: TaskFacts) -> None:
    admit(gate, saying(" ".join(task.question.split()[4:11])))


def test_what_stands_in_the_initial_harness_is_no_leak(ledger: SynLedger, task: TaskFacts) -> None:
    told = replace(H0, memory=leaked(task)[ID])
    gate = QualityGate.of(ledger.gate, [task.id], told)
    admit(gate, replace(told, prompt="Read on."), told)


def test_an_edit_may_add_3000_characters_and_a_harness_12000_over_the_initial_one() -> None:
    assert (MOST_ADDED, MOST_OVER_INITIAL) == (3000, 12000)
    gate, before = QualityGate.of(GateFacts(tasks=()), [], H0), replace(H0, memory="m" * 11_500)
    admit(gate, saying("x" * 3000))
    with pytest.raises(UserError, match="3001 characters more than the current harness, and 3000 are allowed"):
        admit(gate, saying("x" * 3001))
    admit(gate, replace(before, memory="m" * 12_000), before)
    with pytest.raises(UserError, match="12001 characters more than H_0, and 12000 are allowed"):
        admit(gate, replace(before, memory="m" * 12_001), before)


def test_the_proposer_is_told_what_the_gate_wants() -> None:
    assert "8 words in a row" in QualityGate.contract
    assert "3000 characters" in QualityGate.contract
