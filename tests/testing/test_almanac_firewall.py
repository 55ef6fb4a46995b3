"""The firewall on a shared corpus with renamed tools: its self-test passes, and every check in it is needed."""

from __future__ import annotations

from typing import Any

import pytest

from chase.protocol import firewall
from chase.protocol.example import example_of
from chase.protocol.firewall import CHECKS
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import is_active
from chase.protocol.selftest import selftest
from chase.testing.almanac.benchmark import Almanac
from chase.testing.almanac.canonical import CORPUS, AlmanacSubject
from chase.testing.almanac.operators import ALLOWLIST
from tests.testing.almanacs import open_once

pytestmark = pytest.mark.slow


def form(*operators: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    made = [{"name": name, "arguments": arguments} for name, arguments in operators]
    return {"benchmark": "almanac", "operators": made, **more}


def failures(benchmark: Almanac) -> list[str]:
    return [outcome.control for outcome in selftest(benchmark, lambda name: None) if not outcome.passed]


def test_the_selftest_passes(almanac: Almanac) -> None:
    assert failures(almanac) == []


def test_the_selftest_passes_on_another_corpus() -> None:
    assert failures(open_once("almanac@12")) == []


@pytest.mark.parametrize("check", CHECKS)
def test_the_selftest_fails_without_a_check(almanac: Almanac, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(firewall.CHECKS, check, lambda examined: None)
    assert f"check {check}" in failures(almanac)


def test_the_corpus_is_presented_once_and_tasks_without_it(almanac: Almanac, monkeypatch: pytest.MonkeyPatch) -> None:
    presented: list[str | None] = []
    present = AlmanacSubject.present

    def counting(self: AlmanacSubject, state: Any) -> Any:
        presented.append(state.question)
        return present(self, state)

    kit = ProtocolKit(almanac)
    kit.run_checks(kit.parse(form()))  # the released states are kept
    monkeypatch.setattr(AlmanacSubject, "present", counting)
    assert kit.run_checks(kit.parse(form(("cut-passages", {"lines": 9})))).valid
    assert presented.count(None) == 2  # and once more in its replay
    for task in almanac.subject.check_tasks:
        assert almanac.subject.released(task).contents == {}
    assert len(almanac.subject.released(CORPUS).contents) == len(almanac.documents)


def test_a_renaming_of_tools_leaves_access_as_it_is(almanac: Almanac) -> None:
    kit = ProtocolKit(almanac)
    renamed = kit.lift(kit.parse(form(("alias-tools", {"words": "desk"}), ("nest-fields", {"group": "origin"}))))
    for unit in (CORPUS, almanac.subject.check_tasks[0]):
        shown = almanac.subject.present(renamed.transformation.apply(almanac.subject.state(unit)))
        assert shown.access == almanac.subject.released(unit).access
        assert shown.view != almanac.subject.released(unit).view


@pytest.mark.parametrize("kind", sorted(ALLOWLIST))
def test_stated_inverses_restore_the_state(almanac: Almanac, kind: str) -> None:
    for operator in ALLOWLIST[kind].forms():
        inverse = operator.inverse()
        changed = operator.apply(almanac.released, seed=5)
        if inverse is not None:
            assert inverse.apply(changed, seed=5) == almanac.released
        assert operator.apply(almanac.released, seed=5) == changed
        assert (operator.apply(almanac.released, seed=6) != changed) == operator.seeded


def test_operators_act_on_tool_schemas_and_passages(almanac: Almanac) -> None:
    kit = ProtocolKit(almanac)
    for kind in ALLOWLIST.values():
        active = [
            is_active(kit.lift(kit.parse(form((kind.name, dict(operator.arguments))))), kit.subject)
            for operator in kind.forms()
        ]
        assert any(active), kind.name


def test_an_example_shows_a_call_under_both_names(almanac: Almanac) -> None:
    """Renamed tools alone change no answer; renamed fields do, and are shown as an agent reads them."""
    kit = ProtocolKit(almanac)
    same = kit.parse(form(("alias-tools", {"words": "library"}), ("rename-arguments", {"words": "library"})))
    assert example_of(almanac, same.transformation).changes == ()
    fields = kit.parse(form(("alias-tools", {"words": "library"}), ("rename-fields", {"words": "desk"})))
    found = example_of(almanac, fields.transformation).changes
    assert [change.call.tool for change in found] == ["find", "read"]
    assert '"snippet"' in found[0].before
    assert '"preview"' in found[0].after


def test_renamed_or_nested_fields_touch_the_observables_that_look_at_them(almanac: Almanac) -> None:
    kit = ProtocolKit(almanac)
    for operator, touched in (
        (("nest-fields", {"group": "position"}), {"passage-number", "passage-start", "passage-length"}),
        (("nest-fields", {"group": "origin"}), set()),
        (("rename-arguments", {"words": "desk"}), set()),
    ):
        transformation = kit.parse(form(operator)).transformation
        assert kit.touched(transformation, kit.example) == dict.fromkeys(touched, 1.0)
        assert kit.looks_different(transformation, kit.example)
    assert not kit.looks_different(kit.identity, kit.example)
