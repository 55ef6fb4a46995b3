"""The conformance suite catches an Almanac that breaks the contract: one planted fault for each promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from chase.core.errors import UserError
from chase.core.observables import ObservableFunction
from chase.core.values import Json, Placeholder, ResultItem, Sighting, ToolResult
from chase.protocol.transformation import OperatorList
from chase.testing.almanac.benchmark import Almanac
from chase.testing.almanac.canonical import AlmanacSubject
from chase.testing.almanac.operators import ALLOWLIST
from chase.testing.almanac.protocol import Protocol
from chase.testing.almanac.tools import AlmanacEnvironment
from tests.testing.almanacs import NAME, open_once
from tests.testing.test_almanac_conformance import TestAlmanac as Suite

suite = Suite()


def broken(**replaced: Any) -> Almanac:
    """An Almanac with some methods or values replaced."""
    spoilt = copy(open_once(NAME))
    spoilt.__dict__.pop("subject", None)
    spoilt.__class__ = type("Broken", (Almanac,), replaced)
    return spoilt


def with_environment(kind: type[AlmanacEnvironment]) -> Almanac:
    def environment(self: Almanac, task: str, transformation: Any) -> AlmanacEnvironment:
        made = Almanac.environment(self, task, transformation)
        assert isinstance(made, AlmanacEnvironment)
        made.__class__ = kind
        return made

    return broken(environment=environment)


# Environments


class _OneMoreCall(AlmanacEnvironment):
    limits = property(lambda self: replace(open_once(NAME).limits, total_calls=11), lambda self, value: None)


class _OneToolLess(AlmanacEnvironment):
    tools = property(lambda self: open_once(NAME).tools[:-1], lambda self, value: None)


class _ReleasedInterface(AlmanacEnvironment):
    interface = property(lambda self: open_once(NAME).interface, lambda self, value: None)


class _Polyglot(AlmanacEnvironment):
    """Takes a tool's released name as well."""

    def call(self, tool: str, arguments: Json) -> ToolResult:
        known = {"find": "lookup", "read": "open_pages", "compute": "reckon"}
        if known.get(tool) in self._operations and isinstance(arguments, Mapping):
            return ToolResult(head="4")
        return super().call(tool, arguments)


class _CountsRefusals(AlmanacEnvironment):
    def refusal(self, message: str) -> ToolResult:
        self._used["look"] += 1
        return super().refusal(message)


class _PlainLines(AlmanacEnvironment):
    """Says that it answers in JSON, and shows lines."""

    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        return super()._answer(head, [replace(item, line="a line") for item in items], **more)


class _OpensAnother(AlmanacEnvironment):
    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        other = self._range(self._library.documents[-1], 1)
        return super()._answer(head, [replace(item, opens=other) for item in items], **more)


class _ReadsTheSameAgain(AlmanacEnvironment):
    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        found = [document for item in items if (document := self._library.document(item.shown.id)) is not None]
        return super()._answer(head, items, **({**more, "reads_on": self._range(found[0], 1)} if found else more))


class _NeverReadsOn(AlmanacEnvironment):
    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        return super()._answer(head, items, **({**more, "reads_on": None} if "reads_on" in more else more))


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (_OneMoreCall, suite.test_environments_have_the_benchmarks_tools_and_limits),
        (_OneToolLess, suite.test_environments_have_the_benchmarks_tools_and_limits),
        (_ReleasedInterface, suite.test_interfaces_name_tools_that_there_are),
        (_Polyglot, suite.test_a_tools_released_name_is_refused_where_it_has_another),
        (_CountsRefusals, suite.test_results_read_as_they_are_laid_out),
        (_PlainLines, suite.test_results_read_as_they_are_laid_out),
        (_OpensAnother, suite.test_hits_are_opened_where_they_were_found),
        (_ReadsTheSameAgain, suite.test_reading_on_reads_on_to_the_end),
        (_NeverReadsOn, suite.test_reading_on_reads_on_to_the_end),
    ],
)
def test_an_environment_that_breaks_its_promise_is_caught(
    kind: type[AlmanacEnvironment], test: Callable[[Almanac], None]
) -> None:
    test(open_once(NAME))
    with pytest.raises((AssertionError, KeyError)):
        test(with_environment(kind))


# Benchmarks


def _cut_in_place(self: Almanac, sizes: Mapping[str, int]) -> Almanac:
    self.sizes = dict(sizes)
    return self


def _cut_to_others(self: Almanac, sizes: Mapping[str, int]) -> Almanac:
    cut = Almanac.fewer(self, sizes)
    cut.__class__ = type("Cut", (Almanac,), {"tasks": lambda s, role=None: Almanac.tasks(s, "evo" if role else None)})
    return cut


def _cut_and_renamed(self: Almanac, sizes: Mapping[str, int]) -> Almanac:
    cut = Almanac.fewer(self, sizes)
    cut.name = "almanac@8"
    return cut


def _short_sightings(self: Almanac, task: str, transformation: Any) -> list[Sighting]:
    return Almanac.sightings(self, task, transformation)[1:]


def _long_sightings(self: Almanac, task: str, transformation: Any) -> list[Sighting]:
    return [replace(shown, text=f"{shown.text}\nmore") for shown in Almanac.sightings(self, task, transformation)]


def _one_tool_too_few(self: Almanac, name: str) -> OperatorList[Protocol]:
    if name != "other-tools":
        return Almanac.variant(self, name)

    class TwoOfOneName:
        name, version, seeded = "two-of-one-name", 1, False
        arguments: Mapping[str, Json] = {}
        fields = frozenset({"tool_names"})

        def apply(self, state: Protocol, *, seed: int) -> Protocol:
            return state.show_tools(tool_names={**state.interface.tool_names, "read": "find"})

        def inverse(self) -> None:
            return None

    return OperatorList(operators=(TwoOfOneName(),))


def _with_subject(**replaced: Any) -> dict[str, Any]:
    kind: Any = type("Subject", (AlmanacSubject,), replaced)
    made: dict[int, Any] = {}
    return {"subject": property(lambda self: made.setdefault(id(self), kind(self)))}


def _checks_the_sealed(self: Any, benchmark: Almanac) -> None:
    AlmanacSubject.__init__(self, benchmark)
    self.check_tasks = list(benchmark.tasks("cert"))


FAULTS: Sequence[tuple[dict[str, Any], Callable[[Any], None]]] = [
    ({"sealed": frozenset({"exam"})}, suite.test_sealed_roles_are_roles),
    ({"sealed": frozenset(Almanac.roles)}, suite.test_sealed_roles_are_roles),
    ({"fewer": _cut_in_place}, suite.test_fewer_tasks_are_some_of_the_same),
    ({"fewer": _cut_to_others}, suite.test_fewer_tasks_are_some_of_the_same),
    ({"fewer": _cut_and_renamed}, suite.test_fewer_tasks_are_some_of_the_same),
    ({"answer_form": replace(Almanac.answer_form, pattern=r"\d+")}, suite.test_answers_have_the_answer_form),
    ({"answer_form": replace(Almanac.answer_form, pattern=".*")}, suite.test_answers_have_the_answer_form),
    (
        {"placeholders": {**Almanac.placeholders, "county": Placeholder(description="the county")}},
        suite.test_placeholders_are_what_questions_give,
    ),
    (
        {"slots": lambda self, question: {**Almanac.slots(self, question), "year": []}},
        suite.test_placeholders_are_what_questions_give,
    ),
    ({"initial": {}}, suite.test_the_initial_harness_fits),
    ({"base": "another"}, suite.test_the_initial_harness_fits),
    ({"bounds": replace(Almanac.bounds, opened=0)}, suite.test_a_harness_may_go_to_its_bounds_and_no_further),
    ({"neutral": "b-zero"}, suite.test_the_neutral_variant_is_one_of_the_variants),
    (
        {"protocol_fields": Almanac.protocol_fields - {"order"}},
        suite.test_operators_are_finite_choices_and_change_declared_fields,
    ),
    (
        {"allowlist": {"another": ALLOWLIST["cut-passages"]}},
        suite.test_operators_are_finite_choices_and_change_declared_fields,
    ),
    ({"sightings": _short_sightings}, suite.test_every_document_is_sighted_once_under_every_variant),
    ({"sightings": _long_sightings}, suite.test_sightings_are_what_the_tools_show),
    ({"variant": _one_tool_too_few}, suite.test_every_variant_gives_the_same_access),
    (_with_subject(__init__=_checks_the_sealed), suite.test_the_firewall_sees_no_sealed_task),
    (_with_subject(answer=lambda self, unit: "7"), suite.test_the_firewall_sees_no_sealed_task),
    (_with_subject(answer=lambda self, unit: "7"), suite.test_the_firewall_presents_what_is_released),
]


@pytest.mark.parametrize(("replaced", "test"), FAULTS, ids=[f"{','.join(r)}-{t.__name__}" for r, t in FAULTS])
def test_a_benchmark_that_breaks_its_promise_is_caught(replaced: dict[str, Any], test: Callable[[Any], None]) -> None:
    test(open_once(NAME))
    with pytest.raises((AssertionError, UserError, ValidationError)):
        test(broken(**replaced))


def test_an_observable_that_holds_the_benchmark_is_caught() -> None:
    spoilt = broken()

    def knowing(shown: Sighting, host: Almanac = spoilt) -> float:
        return float(len(host.name))

    spoilt.observables = (*Almanac.observables, ObservableFunction("knowing", "knows the host", knowing))
    with pytest.raises(AssertionError, match="knowing"):
        suite.test_observables_reach_no_host_object(spoilt)
