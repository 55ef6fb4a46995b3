"""`K(A)` is found where archived transformations compose to `B_0`; where none does the search says how far it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.interfaces import FirewallSubject
from chase.protocol.compositions import Composition, fewest_that_make
from chase.protocol.transformation import OperatorList
from chase.testing.ledger import parse_ledger

TASKS = ["t1", "t2"]


@dataclass(frozen=True)
class Append:
    """Writes a letter behind the state of a task, or of some tasks only."""

    letter: str
    only: tuple[str, ...] = tuple(TASKS)

    def apply(self, state: str, *, seed: int) -> str:
        return state + self.letter if state[:2] in self.only else state


class Texts:
    """A subject whose states are texts that begin with the task and are shown as they are."""

    shared = ()

    def lift(self, operator: Append) -> Append:
        return operator

    def state(self, unit: str) -> str:
        return unit

    def present(self, state: str) -> SimpleNamespace:
        return SimpleNamespace(view=state)


def made(*operators: Append) -> OperatorList[Any]:
    return OperatorList(operators=cast(Any, operators))


A, B, C = Append("a"), Append("b"), Append("c")


def search(target: OperatorList[Any], **archived: OperatorList[Any]) -> Composition:
    return fewest_that_make(target, archived, cast(FirewallSubject[Any], Texts()), TASKS)


def test_b0_in_the_archive_is_k_1() -> None:
    assert search(made(B), b1=made(A), b2=made(B)) == Composition(k=1, names=("b2",), tried=1)


def test_what_several_make_together_is_found_in_the_order_of_application() -> None:
    assert search(made(C, A), b1=made(A), b2=made(B), b3=made(C)) == Composition(k=2, names=("b3", "b1"), tried=2)
    twice = search(made(A, A, B), b1=made(A), b2=made(B))
    assert (twice.k, twice.names) == (3, ("b1", "b1", "b2")), "an entry may be applied more than once"
    assert search(made(A, A, B), b1=made(A), b2=made(B), b3=made(A, A)).k == 2, "the fewest count"


def test_equal_on_some_tasks_is_not_equal() -> None:
    assert search(made(A), b1=made(Append("a", only=("t1",)))).k is None
    assert search(made(A), b1=made(Append("a", only=("t2",)))).k is None


def test_where_none_does_it_says_how_far_it_tried() -> None:
    assert search(made(C), b1=made(A)) == Composition(k=None, names=(), tried=2)
    assert search(made(C), b1=made(A), b2=made(B), b3=made(A, A)).tried == 4, "3 + 9 + 27 + 81 compositions"
    assert search(made(C)) == Composition(k=None, names=(), tried=0)


def test_syn_ledgers_b0_is_out_of_reach_and_its_operators_are_lifted(ledger: SynLedger) -> None:
    def archived(name: str, **arguments: object) -> Any:
        form: Mapping[str, Any] = {"name": name, "arguments": arguments}
        return parse_ledger({"benchmark": "syn-ledger", "operators": [form]}).transformation

    archive = {"b1": archived("shift", by=3), "b2": archived("reverse", aspect="name")}
    tasks = list(ledger.tasks("cert"))[:3]
    neutral = fewest_that_make(ledger.variant("neutral"), archive, ledger.subject, tasks)
    assert (neutral.k, neutral.tried) == (None, 4)
    both = fewest_that_make(archive["b2"].then(archive["b1"]), archive, ledger.subject, tasks)
    assert both.k == 2
