"""The viewer shows what an agent sees before and after: the benchmark is opened for it, and no page waits long."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chase.core.errors import SetupError
from chase.web import examples
from tests.conftest import open_once
from tests.report.finished_runs import Runs
from tests.web.viewing import viewing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]  # that group has the runs

OPENS = "chase.benchmarks.registry.open_benchmark"
BEFORE = '<div class="pair">'


def test_each_counterfactual_of_an_archive_and_of_an_audit_has_a_before_and_after(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def opens(name: str, data: Any = None) -> Any:
        opened.append(name)
        return open_once(name, data)

    monkeypatch.setattr(OPENS, opens)
    monkeypatch.setattr(examples, "WAIT_SECONDS", 60)
    with viewing(runs.root) as at_work:
        archive = at_work.page(f"/runs/{runs.evolution}/counterfactuals")
        at_work.page(f"/runs/{runs.evolution}/counterfactuals")
        audit = at_work.page(f"/runs/{runs.audit}/examples")
        at_work.page(f"/runs/{runs.comparison}")
    for text in (archive, audit):
        assert "What an agent sees" in text
        assert BEFORE in text
        assert "being opened" not in text
    assert opened == ["syn-ledger@7", "syn-ledger@7"]  # once for each run that shows some


def test_a_page_does_not_wait_for_a_benchmark_that_takes_long_and_has_it_later(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def opens(name: str, data: Any = None) -> Any:
        assert go_on.wait(60)
        return open_once(name, data)

    monkeypatch.setattr(OPENS, opens)
    monkeypatch.setattr(examples, "WAIT_SECONDS", 0.01)
    with viewing(runs.root) as at_work:
        before = at_work.page(f"/runs/{runs.audit}/examples")
        monkeypatch.setattr(examples, "WAIT_SECONDS", 60)
        go_on.set()
        after = at_work.page(f"/runs/{runs.audit}/examples")
    assert examples.OPENING in before
    assert BEFORE not in before
    assert examples.OPENING not in after
    assert BEFORE in after


def test_a_benchmark_that_cannot_be_had_is_said_in_a_sentence(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def opens(name: str, data: Any = None) -> Any:
        raise SetupError(f"the data of {name} are not here.")

    monkeypatch.setattr(OPENS, opens)
    monkeypatch.setattr(examples, "WAIT_SECONDS", 60)
    with viewing(runs.root) as at_work:
        text = at_work.page(f"/runs/{runs.evolution}/counterfactuals")
    assert "No example can be shown: the data of syn-ledger@7 are not here." in text
    assert "The archive" in text
    assert BEFORE not in text
