"""What the model reads of a harness, and when a guidance module becomes active."""

from __future__ import annotations

import re

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import FAMILIES
from chase.engine.prompting import Situation, fits, is_active
from chase.harness.spec import Activation, Guidance
from chase.testing.scripted import Step, call
from tests.engine.rollouts import events, follow, make_harness, make_job


def situation(ledger: SynLedger, task: str, *, calls_left: int = 12, opened: int = 0) -> Situation:
    question = ledger.task(task).question
    blanked = [name for name, placeholder in ledger.placeholders.items() if placeholder.tells_tasks_apart]
    return Situation(
        question=question, slots=ledger.slots(question), blanked=blanked, calls_left=calls_left, opened=opened
    )


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def test_a_masked_question_tells_nothing_but_its_family(ledger: SynLedger) -> None:
    """So no condition on words can tell two tasks of one family apart."""
    masked: dict[str, set[str]] = {}
    for task in ledger.tasks():
        masked.setdefault(ledger.task(task).family.name, set()).add(situation(ledger, task).masked_question)
    assert len(masked) == len(FAMILIES)
    assert all(len(texts) == 1 for texts in masked.values())


def test_a_condition_on_an_entitys_name_never_fires(ledger: SynLedger) -> None:
    asked = words(" ".join(family.question for family in FAMILIES))
    checked = 0
    for task in ledger.tasks():
        entity = ledger.slots(ledger.task(task).question)["entity"][0]
        for word in words(entity) - asked:
            assert not is_active(Activation(question_has_any=(word,)), situation(ledger, task)), (task, word)
            checked += 1
    assert checked > 300


def test_a_condition_on_a_period_never_fires(ledger: SynLedger) -> None:
    for task in ledger.tasks("evo"):
        assert not is_active(Activation(question_has_any=("fy",)), situation(ledger, task))


def test_a_condition_on_what_is_asked_fires_on_that_family_alone(ledger: SynLedger) -> None:
    for task in ledger.tasks("evo"):
        active = is_active(Activation(question_has_any=("percentage", "nonsense")), situation(ledger, task))
        assert active == (ledger.task(task).family.name == "integer-share")


def test_words_are_compared_whole(ledger: SynLedger) -> None:
    task = next(task for task in ledger.tasks("evo") if ledger.task(task).family.name == "integer-share")
    assert not is_active(Activation(question_has_any=("percent",)), situation(ledger, task))


def test_all_conditions_of_a_module_must_hold(ledger: SynLedger) -> None:
    task = next(task for task in ledger.tasks("evo") if ledger.task(task).family.name == "period-difference")
    condition = Activation(
        question_has_any=("exceed",), values_at_least={"periods": 2}, calls_left_at_most=6, opened_at_least=1
    )
    assert is_active(condition, situation(ledger, task, calls_left=6, opened=1))
    assert not is_active(condition, situation(ledger, task, calls_left=7, opened=1))
    assert not is_active(condition, situation(ledger, task, calls_left=6, opened=0))
    for change in ({"values_at_least": {"periods": 3}}, {"question_has_any": ("percentage",)}):
        assert not is_active(condition.model_copy(update=change), situation(ledger, task, calls_left=6, opened=1))
    assert is_active(Activation(), situation(ledger, task))


async def test_guidance_is_shown_from_the_start_or_once_it_holds_and_only_once(ledger: SynLedger) -> None:
    guidance = (
        Guidance(name="always", when=Activation(), text="Be careful."),
        Guidance(name="late", when=Activation(calls_left_at_most=10), text="Hurry up."),
        Guidance(name="never", when=Activation(question_has_any=("nonsense",)), text="Nonsense."),
        Guidance(name="reading", when=Activation(opened_at_least=1), text="Read on."),
    )
    document = ledger.task(ledger.tasks("evo")[0]).documents[0].id
    script: list[Step] = [call("list_files"), call("open_file", file=document), call("list_files"), "1"]
    rollout, model = await follow(make_job(ledger, make_harness(guidance=guidance)), script)
    first, last = (" ".join(request.texts()) for request in (model.requests[0], model.requests[-1]))
    assert first.count("Be careful.") == last.count("Be careful.") == 1
    assert "Hurry up." not in first
    assert last.count("Hurry up.") == last.count("Read on.") == 1
    assert "Nonsense." not in last
    assert "Hurry up." not in " ".join(model.requests[1].texts())
    assert "Hurry up." in " ".join(model.requests[2].texts())
    assert events(rollout, "prompt")[0]["guidance"] == ["always"]
    assert [event["name"] for event in events(rollout, "guidance")] == ["late", "reading"]
    assert [event["text"] for event in events(rollout, "note")] == ["Hurry up.", "Read on."]


@pytest.mark.parametrize(
    ("answer", "valid"),
    [("42", True), (" -42\n", True), ("−42", True), ("1,234", True), ("42.0", False), ("It is 42", False), ("", False)],
)
def test_an_answer_fits_the_benchmarks_form_as_a_whole(answer: str, valid: bool) -> None:
    assert fits(answer, SynLedger.answer_form) is valid


async def test_one_tasks_guidance_is_as_a_person_reads_it(ledger: SynLedger) -> None:
    """Prompt, answer format, tool instructions, memory, guidance: in this order."""
    guidance = (Guidance(name="g", when=Activation(), text="Last."),)
    harness = make_harness(memory="Third.", tools={"instructions": "Second."}, guidance=guidance)
    _, model = await follow(make_job(ledger, harness), ["1"])
    system = str(model.requests[0].messages[0].parts[0].content)
    places = [system.index(text) for text in ("Answer the question.", "integer alone", "Second.", "Third.", "Last.")]
    assert places == sorted(places)
