"""Workspaces to look at: one with a small evolution, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import chase
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.store.store_samples import sample_ledger, sample_rollout
from tests.web.viewing import Viewing, viewing

RUN = "evolve-small"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Viewing]:
    """A viewer of a workspace with one run that was only begun, and three rollouts."""
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run(RUN, {"command": "evolve", "benchmark": "syn-ledger@7", "model": "sim:reader"})
        for number in range(3):
            rollout = sample_rollout(number, trace={"events": []})
            store.record_sync(rollout, sample_ledger(rollout, 0.25, run=RUN))
    with viewing(tmp_path) as at_work:
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
