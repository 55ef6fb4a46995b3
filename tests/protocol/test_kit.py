"""What operators do to what can be observed on the fixed example: as they say, measured, not believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.interfaces import OperatorKind
from chase.core.values import Json
from chase.protocol.kit import LEAST, WINDOW, ProtocolKit, _correlation, changed_fields
from chase.stats.association import mid_ranks
from chase.testing.almanac.benchmark import Almanac


@pytest.fixture(scope="module")
def kit(ledger: SynLedger) -> ProtocolKit:
    return ProtocolKit(ledger)


def touched(kit: ProtocolKit, *operators: tuple[str, Mapping[str, Json]], task: str | None = None) -> dict[str, float]:
    forms = [{"name": name, "arguments": dict(arguments)} for name, arguments in operators]
    proposal = kit.parse({"benchmark": "syn-ledger", "operators": forms})
    return kit.touched(proposal.transformation, task or kit.example)


def test_every_effects_operator_parses_and_does_what_it_says(kit: ProtocolKit) -> None:
    assert len(kit.effects) > 40
    for effect in kit.effects:
        proposal = kit.parse({"benchmark": kit.benchmark.base, "operators": [dict(effect.operator)]})
        assert kit.touched(proposal.transformation, kit.example) == effect.touched
        assert all(LEAST < change <= 2.0 for change in effect.touched.values())


def test_ranks_of_equal_values_are_their_middle_and_a_constant_correlates_with_nothing() -> None:
    assert mid_ranks([5.0, 1.0, 5.0, 3.0, 1.0]) == [3.5, 0.5, 3.5, 2.0, 0.5]
    assert _correlation([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]) == -1.0
    assert _correlation([0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 1.0, 3.0]) == pytest.approx(0.8)
    assert _correlation([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]) == 0.0
    assert LEAST == 0.25


def test_effects_are_the_same_every_time(kit: ProtocolKit, ledger: SynLedger) -> None:
    assert ProtocolKit(ledger).effects == kit.effects
    assert kit.effects is kit.effects


def test_effects_cover_every_form_of_the_allowlist_that_does_something(kit: ProtocolKit) -> None:
    forms = {(e.operator["name"], str(e.operator["arguments"])) for e in kit.effects}
    for kind in kit.benchmark.allowlist.values():
        for operator in kind.forms():
            known = (kind.name, str(dict(operator.arguments))) in forms
            assert known == bool(touched(kit, (kind.name, operator.arguments))), (kind.name, operator.arguments)


@pytest.mark.parametrize(
    ("aspect", "observable"),
    [("rank", "hit-position"), ("listing", "listing-position")],
)
def test_reversing_turns_an_order_round(kit: ProtocolKit, aspect: str, observable: str) -> None:
    assert touched(kit, ("reverse", {"aspect": aspect}))[observable] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("aspect", "observable"),
    [("depth", "path-depth"), ("name", "name-length"), ("title", "title-length"), ("format", "extension-length")],
)
def test_reversing_levels_with_ties_turns_them_nearly_round(kit: ProtocolKit, aspect: str, observable: str) -> None:
    """Documents exchange values, so where levels are not equally many some keep theirs."""
    assert 1.6 < touched(kit, ("reverse", {"aspect": aspect}))[observable] <= 2.0


def test_reversing_depth_touches_depth_alone(kit: ProtocolKit) -> None:
    assert set(touched(kit, ("reverse", {"aspect": "depth"}))) == {"path-depth"}


@pytest.mark.parametrize("to", ["low", "high"])
def test_equalising_takes_all_information_and_no_more(kit: ProtocolKit, to: str) -> None:
    assert touched(kit, ("equalise", {"aspect": "depth", "to": to})) == {"path-depth": 1.0}
    assert touched(kit, ("re-layout", {"depth": 2})) == {"path-depth": 1.0}


def test_a_format_shows_in_everything_that_it_changes(kit: ProtocolKit) -> None:
    found = touched(kit, ("re-encode", {"format": "csv"}))
    assert {"extension-length", "bar-count", "text-size"} <= set(found)
    assert "path-depth" not in found


def test_moving_records_between_windows_touches_the_window(kit: ProtocolKit) -> None:
    halves = [touched(kit, ("shift", {"by": by}))[WINDOW] for by in range(1, 6)]
    assert max(halves) == halves[2]
    assert halves[2] > 1.8
    assert halves[0] < halves[1] < halves[2] > halves[3] > halves[4]
    assert touched(kit, ("shift", {"by": 3}), ("shift", {"by": 3})) == {}


def test_a_composition_touches_what_its_parts_touch(kit: ProtocolKit) -> None:
    parts = [("reverse", {"aspect": "depth"}), ("reverse", {"aspect": "rank"})]
    assert set(touched(kit, *parts)) == {"path-depth", "hit-position"}


@pytest.mark.parametrize("detail", ["line-endings", "trailing-whitespace"])
def test_what_no_observable_sees_touches_nothing_and_is_no_effect(kit: ProtocolKit, detail: str) -> None:
    assert touched(kit, ("restyle", {"detail": detail})) == {}
    assert all(e.operator["arguments"] != {"detail": detail} for e in kit.effects)


def test_identity_touches_nothing_in_any_task(kit: ProtocolKit, ledger: SynLedger) -> None:
    assert all(touched(kit, task=task) == {} for task in ledger.tasks("evo")[:3])


def test_identity_looks_the_same_and_a_reversed_order_does_not(kit: ProtocolKit, ledger: SynLedger) -> None:
    turned = kit.parse(
        {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "rank"}}]}
    ).transformation
    for task in ledger.tasks("disc")[:2]:
        assert not kit.looks_different(kit.identity, task)
        assert kit.looks_different(turned, task)


def test_ids_can_be_touched_by_no_operator(kit: ProtocolKit) -> None:
    assert {name for effect in kit.effects for name in effect.touched}.isdisjoint({"id-initial", "id-final"})


def test_operators_are_given_as_data_with_the_schema_of_their_arguments(kit: ProtocolKit) -> None:
    operators = kit.operators()
    assert {operator["name"] for operator in operators} == set(kit.benchmark.allowlist)
    assert all(set(operator) == {"name", "version", "summary", "arguments", "changes"} for operator in operators)


@pytest.mark.parametrize("allowlist", [SynLedger.allowlist, Almanac.allowlist])
def test_what_an_operator_changes_is_told_by_the_arguments_that_decide_it(
    allowlist: Mapping[str, OperatorKind[Any]],
) -> None:
    for kind in allowlist.values():
        told = changed_fields(kind)
        for form in kind.forms():
            [fields] = [entry["fields"] for entry in told if entry["when"].items() <= dict(form.arguments).items()]
            assert fields == sorted(form.fields)


def test_arguments_that_decide_nothing_are_not_told() -> None:
    assert changed_fields(SynLedger.allowlist["re-encode"]) == [{"when": {}, "fields": ["format"]}]
    told = changed_fields(SynLedger.allowlist["equalise"])
    assert {tuple(entry["when"]) for entry in told} == {("aspect",)}
    assert {"when": {"aspect": "depth"}, "fields": ["folders"]} in told


def test_a_verdict_is_made_once_for_each_task_set(kit: ProtocolKit, ledger: SynLedger) -> None:
    proposal = kit.parse(
        {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "rank"}}]}
    )
    tasks = ledger.tasks("conf1")[:2]
    assert kit.run_checks(proposal, tasks) is kit.run_checks(proposal, tuple(tasks))
    assert kit.run_checks(proposal, tasks) is not kit.run_checks(proposal, ledger.tasks("conf1")[2:4])
    assert kit.run_checks(proposal, tasks).valid
