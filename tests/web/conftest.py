"""Workspaces to look at, one with a small evolution, made once; and a browser, opened once for a file of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import chase
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.store.store_samples import sample_ledger, sample_rollout
from tests.web.browsing import chromium
from tests.web.viewing import Viewing, viewing

RUN = "evolve-small"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewing]:
    """A viewer of a workspace with one run that was only begun, and three rollouts."""
    folder = tmp_path_factory.mktemp("small")
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run(RUN, {"command": "evolve", "benchmark": "syn-ledger@7", "model": "sim:reader"})
        for number in range(3):
            rollout = sample_rollout(number, trace={"events": []})
            store.record_sync(rollout, sample_ledger(rollout, 0.25, run=RUN))
    with viewing(folder) as at_work:
        yield at_work


@pytest.fixture(scope="session")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with an evolution of two rounds on four tasks a set, which archives a counterfactual (simulated)."""
    folder = tmp_path_factory.mktemp("evolved")
    chase.evolve(
        benchmark="syn-ledger@101",
        model="sim:reader",
        rounds=2,
        seed=1,
        eta="0",
        rollouts="evo=1,disc=1,conf=1,cert=1",
        split_sizes="evo=4,disc=4,conf=4,cert=4",
        workspace=str(folder),
    )
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(evolved: Path) -> Iterator[Viewing]:
    with viewing(evolved) as at_work:
        yield at_work


@pytest.fixture(scope="module")
def run(evolved: Path) -> str:
    with Store.open(Workspace(evolved), write=False) as store:
        return store.runs()[0].id


@pytest.fixture(scope="module")
def digest(served: Viewing, run: str) -> str:
    """A rollout that a counterfactual changed."""
    found = re.search(r"/four/([0-9a-f]{64})", served.page(f"/runs/{run}/rollouts?kind=changed&split=disc"))
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def pages(run: str, digest: str) -> list[str]:
    """Every page of a run, and those of the workspace."""
    own = (
        "",
        "/live",
        "/rounds",
        "/counterfactuals",
        "/harnesses",
        "/certificates",
        "/outcomes",
        "/tokens",
        "/provenance",
        "/rollouts",
        f"/four/{digest}",
    )
    return ["/", "/rollouts", f"/rollouts/{digest}", *(f"/runs/{run}{end}" for end in own)]
