"""A workspace with a run of each kind, of the fewest tasks: the fixture `runs` makes it once in a process."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import chase
from tests.cli.commands import kit_once, write_h0
from tests.conftest import open_once

B = {"benchmark": "syn-ledger@7", "model": "sim:reader", "workers": 1}
SIZES = {"evo": 6, "disc": 4, "conf": 4, "cert": 8}
ONE = {"evo": 1, "disc": 1, "conf": 1, "cert": 1}
DEPTH = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "depth"}}], "seed": 3}


@dataclass(frozen=True)
class Runs:
    """A workspace, and the ids of its runs."""

    root: Path
    evolution: str
    audit: str
    comparison: str

    def copied(self, to: Path) -> Runs:
        shutil.copytree(self.root / ".chase", to / ".chase")
        return Runs(root=to, evolution=self.evolution, audit=self.audit, comparison=self.comparison)


def make_runs(root: Path) -> Runs:
    """An evolution with an archive, certified; an audit with attribution; a comparison of two methods."""
    write_h0(root / "cheat", say="Prefer files with low path-depth. Read on.\n")
    (root / "depth.json").write_text(json.dumps(DEPTH))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chase.benchmarks.registry.open_benchmark", open_once)
        patch.setattr("chase.runs.opening.ProtocolKit", kit_once)
        evolved = chase.evolve(
            **B, workspace=root, rounds=2, proposals=2, eta="0", seed=1, split_sizes=SIZES, rollouts=ONE
        )
        audited = chase.audit(
            **B, workspace=root, harness=root / "cheat", transformations=[root / "depth.json"], rollouts=1,
            split_sizes={"evo": 2, "disc": 2, "conf": 3}, anyway=True,
        )  # fmt: skip
        compared = chase.compare(
            **B, workspace=root, methods="raw-harness,chase", seeds="1", rounds=1, split_sizes=SIZES, rollouts=ONE
        )
    return Runs(root=root, evolution=evolved.run, audit=audited.run, comparison=compared.run)
