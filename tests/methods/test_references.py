"""Reference trajectories: who makes them, what the verifier admits, and that nobody else gets to know an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import matches, solve
from chase.benchmarks.syn_ledger.parsing import parse
from chase.core.errors import IntegrityError, UserError
from chase.core.values import ResultItem, Sighting, ToolResult
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.engine.trace import Trace, read_item
from chase.methods.references.desk import ReferenceDesk, answer_text, maker_of
from chase.methods.references.numbers import numbers, worked_out
from chase.methods.references.program import show_the_way
from chase.methods.references.verifier import Truth, holds, objections
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.benchmark import open_almanac
from chase.testing.scripted import Request, Step, call, scripted
from tests.methods.runs import FewTasks, few_tasks

PUBLIC = "search open_file list_files calculator"


def made(ledger: SynLedger, task: str, *, listing_first: bool = False) -> dict[str, Any]:
    """The offline maker's trajectory."""
    environment = ledger.environment(task, ledger.variant("released"))
    trace = Trace(task, environment.question)
    show_the_way(environment, ledger, ledger.evidence(task), trace, listing_first=listing_first)
    answer = answer_text(ledger, task)
    trace.add("model", text=answer, calls=[])
    return trace.finish(answer, "answered", ledger.score(task, answer))


def found_in(ledger: SynLedger, task: str, trace: Mapping[str, Any]) -> list[str]:
    truth = Truth(answer=answer_text(ledger, task), evidence=ledger.evidence(task))
    return objections(trace, truth, ledger.interface, PUBLIC)


def training(ledger: SynLedger) -> Iterator[str]:
    yield from (task for role in ("evo", "conf1", "conf2", "conf3") for task in ledger.tasks(role))


@pytest.fixture
def task(ledger: SynLedger) -> str:
    return ledger.tasks("evo")[0]


# The verifier


@pytest.mark.parametrize("listing_first", [False, True])
def test_the_offline_makers_trajectories_are_admitted(ledger: SynLedger, listing_first: bool) -> None:
    tasks = list(training(ledger))
    refused = [task for task in tasks if found_in(ledger, task, made(ledger, task, listing_first=listing_first))]
    assert len(tasks) == 80
    assert refused == []


def edited(trace: Mapping[str, Any], at: int, event: Mapping[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """A trace with an event in front of another, or without that one."""
    events = [*trace["events"][:at], *([event] if event else []), *trace["events"][at + (event is None) :]]
    return {**trace, "events": events, **changes}


def tool(name: str, arguments: dict[str, Any], head: str = "", *items: ResultItem) -> dict[str, Any]:
    trace = Trace("t", "q")
    trace.add_tool("model", name, arguments, ToolResult(head=head, items=items))
    return trace.events[0]


def said(text: str) -> dict[str, Any]:
    return {"event": "model", "text": text, "calls": []}


def test_one_that_guesses_is_refused(ledger: SynLedger, task: str) -> None:
    whole = made(ledger, task)
    alone = {**whole, "events": whole["events"][-1:]}
    assert any("without opening" in reason for reason in found_in(ledger, task, alone))


def test_one_that_opens_what_nothing_had_shown_is_refused(ledger: SynLedger, task: str) -> None:
    whole = made(ledger, task)
    first = next(place for place, event in enumerate(whole["events"]) if event["event"] == "tool")
    blind = edited(whole, first, None)
    (hidden, *_) = ledger.evidence(task)
    assert f"it opens {hidden!r}, which nothing had shown" in found_in(ledger, task, blind)


def test_one_that_searches_for_the_answer_is_refused(ledger: SynLedger, task: str) -> None:
    query = tool("search", {"query": answer_text(ledger, task)}, "0 of 12 files match.")
    assert "a call of search holds the answer before it was observed" in found_in(
        ledger, task, edited(made(ledger, task), 0, query)
    )


def test_one_that_searches_for_a_word_from_nowhere_is_refused(ledger: SynLedger, task: str) -> None:
    query = tool("search", {"query": "the zeppelin"}, "0 of 12 files match.")
    reasons = found_in(ledger, task, edited(made(ledger, task), 0, query))
    assert reasons == ["it searches for 'zeppelin', which is in no question and no observation"]


def test_one_that_calculates_with_a_number_from_nowhere_is_refused(ledger: SynLedger, task: str) -> None:
    sum_ = tool("calculator", {"expression": "70707 - 1"}, "70706")
    reasons = found_in(ledger, task, edited(made(ledger, task), 0, sum_))
    assert reasons == ["a call of calculator uses 70707, which nothing had shown"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It must come to {answer}.", "a text states the answer before it was observed"),
        ("I look for what the given answer needs.", "a text speaks of an answer that was given"),
        ("The ground truth is known.", "a text speaks of an answer that was given"),
    ],
)
def test_one_that_restates_the_answer_is_refused(ledger: SynLedger, task: str, text: str, reason: str) -> None:
    told = said(text.format(answer=answer_text(ledger, task)))
    assert found_in(ledger, task, edited(made(ledger, task), 0, told)) == [reason]


def test_one_that_does_not_read_on_is_admitted_where_the_operands_were_read_and_mostly_refused_elsewhere(
    ledger: SynLedger,
) -> None:
    """Of each task the first windows of its evidence alone: in some all amounts stand there. In others a few numbers
    may happen to fit.
    """
    admitted = {True: 0, False: 0}
    for task in training(ledger):
        whole, told = made(ledger, task), ledger.task(task)
        cut = {**whole, "events": [event for event in whole["events"] if not _reads_on(event)]}
        texts = [read_item(item).text for event in cut["events"] for item in event.get("items", ()) if "window" in item]
        readable = solve(told.query, [record for text in texts for record in parse(text or "")]) is not None
        refused = found_in(ledger, task, cut)
        assert refused in ([], ["its answer follows from nothing that it read"])
        assert not (readable and refused), task
        admitted[readable] += not refused
    assert admitted[True] > 3 * admitted[False]


def _reads_on(event: Mapping[str, Any]) -> bool:
    return any(item.get("window", 0) > 0 for item in event.get("items", ()))


@pytest.mark.parametrize(
    ("answer", "read", "found"),
    [
        ("42", {"42"}, True),
        ("42", {"100", "58"}, True),
        ("42", {"30", "5", "7"}, True),
        ("42", {"900", "800", "58"}, True),
        ("42", {"420", "1000"}, True),  # per cent
        ("5.3", {"3", "57"}, True),  # per cent, rounded as the answer is
        ("42", {"13", "9", "400"}, False),
        ("42", set(), False),
        ("42", {str(n) for n in range(100, 161)}, False),  # from so many anything follows
    ],
)
def test_an_answer_follows_from_numbers_that_make_it(answer: str, read: set[str], found: bool) -> None:
    assert worked_out(answer, read) is found


def test_a_number_is_the_same_however_it_is_written_and_a_row_of_numbers_is_both() -> None:
    assert numbers("1,234.50 and 007") == {"1234.5", "1", "234.5", "7"}
    assert numbers("FY2031,120,310,x") >= {"2031", "120", "310"}


def test_one_that_ends_with_another_answer_is_refused(ledger: SynLedger, task: str) -> None:
    wrong = {**made(ledger, task), "score": 0.0}
    assert found_in(ledger, task, wrong) == ["it does not end with the answer"]


def test_an_answer_that_a_count_of_hits_happens_to_show_was_not_observed() -> None:
    hit = ResultItem(shown=Sighting(id="dd", path="a/12.csv", hit=0), line="a/12.csv [dd] matches")
    trace = Trace("t", "how many?")
    trace.events += [tool("search", {"query": "many"}, "12 of 12 files match.", hit), said("it is 12"), said("12")]
    found = objections(trace.finish("12", "answered", 1.0), Truth(answer="12"), SynLedger.interface, PUBLIC)
    assert found == [
        "a text states the answer before it was observed", "its answer follows from nothing that it read"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "answer", "there"),
    [
        ("in all 1,234.50 of them", "1234.5", True),
        ("−42", "-42", True),
        ("142 and 420", "42", False),
        ("the Reserve Bank of Brack", "reserve bank", True),
        ("a bank's reserve", "reserve bank", False),
    ],
)
def test_an_answer_is_found_however_it_is_written(text: str, answer: str, there: bool) -> None:
    assert holds(text, answer) is there


# The desk


@asynccontextmanager
async def desk(
    benchmark: FewTasks, folder: Path, model: ChatModel | None = None, **changes: Any
) -> AsyncIterator[tuple[ReferenceDesk, Store]]:
    with Store.open(Workspace(folder), write=True) as store:
        if not store.runs():
            store.create_run("run-1", {})
        async with Sandbox(max_sessions=1) as sandbox:
            asked = model or connect(ModelConfig(name="sim:reader"))
            runner = Runner(model=asked, store=store, sandbox=sandbox, use=Use(run="run-1", method="m"))
            made = ReferenceDesk(
                benchmark=benchmark, runner=runner, store=store, maker="program", attempts=2,
                tasks=frozenset(benchmark.tasks("evo")), seed=1,
            )  # fmt: skip
            yield replace(made, **changes), store


async def test_a_program_makes_them_in_a_role_of_their_own_and_asks_nobody(ledger: SynLedger, tmp_path: Path) -> None:
    few = few_tasks(ledger)
    tasks = few.tasks("evo")[:3]
    async with desk(few, tmp_path) as (made, store):
        found = await made.verified(tasks)
        assert all(each.reference is not None and not each.refused for each in found.values())
        assert [(used.rollout.key.role, used.rollout.usage.requests) for used in store.used("run-1")] == [
            ("reference", 0)
        ] * 3
        assert store.spend("run-1") == []


async def test_what_was_made_is_not_made_again(ledger: SynLedger, tmp_path: Path) -> None:
    few = few_tasks(ledger)
    for _ in range(2):  # a process each
        async with desk(few, tmp_path) as (made, store):
            await made.verified(few.tasks("evo")[:2])
            assert len(store.used("run-1")) == 2


async def test_no_task_that_is_not_trained_on_gets_one(ledger: SynLedger, tmp_path: Path) -> None:
    few = few_tasks(ledger)
    async with desk(few, tmp_path) as (made, store):
        for role in ("disc", "cert"):
            with pytest.raises(IntegrityError, match="none of the method's"):
                await made.verified(few.tasks(role)[:1])
        assert store.used("run-1") == []


def knowing(few: FewTasks) -> Any:
    """A model that does as the offline program does: it reads the evidence and ends with the answer of its prompt."""
    by_question = {few.task(task).question: task for task in few.tasks("evo")}

    def step(request: Request) -> Step:
        texts = request.texts()
        task = next(task for question, task in by_question.items() if question in texts)
        calls = [event["calls"][0] for event in made(few, task)["events"][:-1] if event["event"] == "model"]
        if request.turn < len(calls):
            return call(calls[request.turn]["tool"], **calls[request.turn]["arguments"])
        return texts[0].partition("The correct answer is: ")[2].split("\n")[0]

    return step


async def test_a_model_is_told_the_answer_and_pays_in_a_role_of_its_own(ledger: SynLedger, tmp_path: Path) -> None:
    few = few_tasks(ledger)
    (task, *_) = few.tasks("evo")
    model = scripted(knowing(few))
    async with desk(few, tmp_path, model, maker="model") as (desk_, store):
        found = await desk_.verified([task])
        assert found[task].reference is not None
        (spend,) = store.spend("run-1")
        assert (spend.role, spend.purpose, spend.episodes) == ("reference", "rollout", 1)
        (used,) = store.used("run-1")
        kept = store.trace(used.rollout.trace_digest)
    assert all(f"The correct answer is: {few.task(task).answer}" in request.texts()[0] for request in model.requests)
    assert "correct answer" not in json.dumps(kept), "the verifier, and whoever reads the store, has the prompt"


async def test_attempts_are_bounded_and_then_the_failed_trajectory_stands_alone(
    ledger: SynLedger, tmp_path: Path
) -> None:
    few = few_tasks(ledger)
    (task, *_) = few.tasks("evo")
    guesses = scripted(lambda request: request.texts()[0].partition("answer is: ")[2].split("\n")[0])
    async with desk(few, tmp_path, guesses, maker="model", attempts=3) as (desk_, store):
        found = await desk_.verified([task])
        assert len(store.used("run-1")) == 3
    assert found[task].reference is None
    assert len(found[task].refused) == 3
    assert all("without opening" in reasons[0] for reasons in found[task].refused)


async def test_what_is_handed_on_holds_no_answer_and_no_operand(ledger: SynLedger, tmp_path: Path) -> None:
    """Once a tool has worked the answer out, a trajectory may use it: whoever is handed the trajectory may not."""
    few = few_tasks(ledger)
    task = next(task for task in few.tasks("evo") if few.task(task).family.name == "period-difference")
    told, answer = few.task(task), str(few.task(task).answer)
    records = [record for document in told.documents for record in document.records]
    amounts = {symbol: found[0].amount for symbol, found in matches(told.query, records).items()}
    further = [
        call("calculator", expression=f"{amounts['x']} - {amounts['y']}"), call("search", query=answer), answer
    ]  # fmt: skip
    program = knowing(few)

    def script(request: Request) -> Step:
        calls = sum(event["event"] == "tool" for event in made(few, task)["events"])
        return program(request) if request.turn < calls else further[request.turn - calls]

    async with desk(few, tmp_path, scripted(script), maker="model") as (desk_, _):
        reference = (await desk_.verified([task]))[task].reference
    assert reference is not None
    assert [action.target for action in reference.actions[-2:]] == ['{"expression":"# - #"}', "#"]


# Who makes them


def test_an_embedded_model_leaves_it_to_the_program_and_a_real_one_does_it_itself(ledger: SynLedger) -> None:
    embedded, almanac = connect(ModelConfig(name="sim:reader")), open_almanac("almanac@1")
    served = connect(ModelConfig(name="openai-compatible:m", base_url="http://127.0.0.1:1/v1"))
    assert maker_of("auto", embedded, ledger) == "program"
    assert maker_of("auto", served, ledger) == "model"
    assert maker_of("model", embedded, ledger) == "model"
    assert maker_of("program", served, ledger) == "program"
    assert maker_of("auto", embedded, almanac) == "model", "a program must know where the answers stand"
    with pytest.raises(UserError, match="Write maker=model"):
        maker_of("program", embedded, almanac)
