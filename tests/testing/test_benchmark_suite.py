"""The conformance suite catches a benchmark that breaks its contract, and passes an honest one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.tools import LedgerEnvironment
from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts
from chase.core.observables import ObservableFunction
from chase.core.values import ToolResult
from tests.benchmarks.syn_ledger import faults
from tests.benchmarks.syn_ledger.test_conformance import LedgerConformance

suite = LedgerConformance()


def broken(benchmark: SynLedger, **replaced: Any) -> SynLedger:
    """A copy of the benchmark with some methods or values replaced."""
    return faults.copied(benchmark, type("Broken", (SynLedger,), replaced))


def with_environment(benchmark: SynLedger, spoil: Callable[[SynLedger, str, Any], Any]) -> SynLedger:
    def environment(self: SynLedger, task: str, transformation: Any) -> Any:
        made = SynLedger.environment(self, task, transformation)
        return spoil(self, task, made) or made

    return broken(benchmark, environment=environment)


def test_an_honest_benchmark_passes(ledger: SynLedger) -> None:
    honest = broken(ledger)
    suite.test_environments_hold_no_answer_label_or_role(honest)
    suite.test_budgets_bound_every_group_and_the_total(honest)
    suite.test_roles_partition_the_tasks(honest)


def _hold_task(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.origin = {"of": [benchmark.task(task)]}


def _hold_answer(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.checksum = benchmark.task(task).answer


def _hold_answer_text(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.notes = frozenset({str(benchmark.task(task).answer)})


def _hold_role(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.tag = ("run", benchmark.role_of(task))


def _hold_label(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.kinds = [document.kind for document in benchmark.task(task).documents]


def _hold_closure(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.hook = lambda: benchmark.score(task, None)


def _hold_partial(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.hook = functools.partial(print, benchmark.task(task).documents[0])


def _hold_method(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.hook = benchmark.score


class _Slotted:
    __slots__ = ("query",)


def _hold_slot(benchmark: SynLedger, task: str, environment: Any) -> None:
    environment.slotted = _Slotted()
    environment.slotted.query = benchmark.task(task).query


@pytest.mark.parametrize(
    "leak",
    [
        _hold_task,
        _hold_answer,
        _hold_answer_text,
        _hold_role,
        _hold_label,
        _hold_closure,
        _hold_partial,
        _hold_method,
        _hold_slot,
    ],
)
def test_an_environment_that_holds_a_secret_is_caught(
    ledger: SynLedger, leak: Callable[[SynLedger, str, Any], None]
) -> None:
    with pytest.raises(AssertionError, match=r"it\[0\]"):
        suite.test_environments_hold_no_answer_label_or_role(with_environment(ledger, leak))


class _Generous(LedgerEnvironment):
    """Never says no."""

    def call(self, tool: str, arguments: Any) -> ToolResult:
        if tool in self._handlers and not self.calls_left()["total"]:
            return self._handlers[tool](arguments)
        return super().call(tool, arguments)


class _Forgetful(LedgerEnvironment):
    """Does not count a call that it refuses."""

    def call(self, tool: str, arguments: Any) -> ToolResult:
        before = self._used.copy()
        result = super().call(tool, arguments)
        if not result.ok:
            self._used = before
        return result


class _Fragile(LedgerEnvironment):
    def call(self, tool: str, arguments: Any) -> ToolResult:
        arguments.get("query", "").lower()
        return super().call(tool, arguments)


class _Echo(LedgerEnvironment):
    def call(self, tool: str, arguments: Any) -> ToolResult:
        result = super().call(tool, arguments)
        return result if result.ok else ToolResult(head=f"{tool}: {arguments}", ok=False)


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_Generous, suite.test_budgets_bound_every_group_and_the_total),
        (_Forgetful, suite.test_budgets_bound_every_group_and_the_total),
        (_Fragile, suite.test_rubbish_calls_never_raise_and_are_counted),
        (_Echo, suite.test_rubbish_calls_never_raise_and_are_counted),
    ],
)
def test_an_environment_that_breaks_its_limits_is_caught(
    ledger: SynLedger, kind: type[LedgerEnvironment], test: Callable[[SynLedger], None]
) -> None:
    def spoil(benchmark: SynLedger, task: str, environment: Any) -> LedgerEnvironment:
        return kind(environment.question, environment._files)

    with pytest.raises((AssertionError, AttributeError, UnicodeEncodeError, ExceptionGroup)):
        test(with_environment(ledger, spoil))


def _shared_task(self: SynLedger, role: str | None = None) -> list[str]:
    tasks = list(SynLedger.tasks(self, role))
    return tasks + list(SynLedger.tasks(self, "cert"))[:1] if role == "evo" else tasks


def _moody_slots(self: SynLedger, question: str) -> Mapping[str, list[str]]:
    return {"entity": [self.task(self.tasks()[0]).query.entity]}


def _unknown_is_none(self: SynLedger, name: str) -> Any:
    return self._variants.get(name)


def _generous_score(self: SynLedger, task: str, answer: str | None) -> float:
    return 2.0 if answer is not None else 0.0


def _restless_view(self: SynLedger, task: str, transformation: Any) -> Any:
    self.seen = getattr(self, "seen", 0) + 1
    variant = "neutral" if self.seen % 2 else "released"
    return SynLedger.view(self, task, self.variant(variant))


FEW = SynLedger.observables[:14]
FLAT = (*SynLedger.observables, ObservableFunction("flat", "always the same", lambda shown: 1.0))
PLANTED = tuple(
    ObservableFunction(f"depth-{i}", "another name for depth", lambda shown: float(shown.path.count("/")))
    for i in range(20)
)


@pytest.mark.parametrize(
    ("replaced", "test", "error"),
    [
        ({"tasks": _shared_task}, suite.test_roles_partition_the_tasks, AssertionError),
        ({"slots": _moody_slots}, suite.test_slots_are_read_from_the_question_alone, AssertionError),
        (
            {"variant": _unknown_is_none},
            suite.test_unknown_names_are_refused_with_the_valid_choices,
            pytest.fail.Exception,
        ),
        ({"score": _generous_score}, suite.test_scores_are_fractions, AssertionError),
        ({"score": _generous_score}, suite.test_the_right_answer_scores_one_and_none_zero, AssertionError),
        ({"view": _restless_view}, suite.test_identity_is_the_released_benchmark, AssertionError),
        ({"observables": FEW}, suite.test_observables_are_many_and_have_one_name_each, AssertionError),
        ({"observables": FLAT}, suite.test_observables_vary_within_most_tasks, AssertionError),
        ({"observables": PLANTED}, suite.test_most_observables_are_not_planted, AssertionError),
        ({"gate": GateFacts(tasks=())}, suite.test_the_gate_knows_every_task_as_it_is, AssertionError),
    ],
)
def test_a_benchmark_that_breaks_its_contract_is_caught(
    ledger: SynLedger, replaced: dict[str, Any], test: Callable[[SynLedger], None], error: type[BaseException]
) -> None:
    with pytest.raises(error):
        test(broken(ledger, **replaced))


def test_an_unhelpful_refusal_is_caught(ledger: SynLedger) -> None:
    def task(self: SynLedger, task: str) -> Any:
        if task not in self.generated:
            raise UserError(f"bad task {task}")
        return self.generated[task].task

    with pytest.raises(AssertionError):
        suite.test_unknown_names_are_refused_with_the_valid_choices(broken(ledger, task=task))
