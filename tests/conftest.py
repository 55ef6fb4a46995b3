"""Fixtures that several folders share. Benchmarks are built once in each process and are never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from chase.benchmarks import registry
from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.benchmarks.registry import base_name
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from tests.benchmarks.officeqa.offices import office, sample

if TYPE_CHECKING:
    from tests.report.finished_runs import Runs

OTHER_FEATURES = "digits+folder+preamble+title+casing"

settings.register_profile("chase", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("chase")
_open_benchmark = registry.open_benchmark


def _built(name: str, data: Path | None = None) -> SynLedger:
    """A benchmark that is built here, whatever was built before."""
    if base_name(name) == SynLedger.base:
        return open_syn_ledger(name, data, cache=None)
    return _open_benchmark(name, data)  # type: ignore[return-value]


open_once: Callable[..., SynLedger] = cache(_built)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home folder of the tests' own, for their processes too: commands keep the benchmarks there that they build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A workspace with a finished run of each kind. Never changed: `runs.copied(folder)` is."""
    from tests.report.finished_runs import make_runs  # it needs what is here

    return make_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def ledger() -> SynLedger:
    """Syn-Ledger with the paper's features planted."""
    return open_once("syn-ledger@7")


@pytest.fixture(scope="session")
def other_ledger() -> SynLedger:
    """Syn-Ledger with five other features planted."""
    return open_once(f"syn-ledger@7:{OTHER_FEATURES}")


@pytest.fixture(scope="session")
def another_seed() -> SynLedger:
    """A second Syn-Ledger with the paper's features planted."""
    return open_once("syn-ledger@3")


@pytest.fixture(scope="session")
def officeqa_data() -> Path:
    """A small synthetic sample of OfficeQA."""
    return sample()


@pytest.fixture(scope="session")
def officeqa() -> OfficeQA:
    """OfficeQA on the small sample."""
    return office()
