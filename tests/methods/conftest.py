"""Fixtures of runs."""

from __future__ import annotations

import pytest

from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.protocol.kit import ProtocolKit


@pytest.fixture(scope="session")
def kit(ledger: SynLedger) -> ProtocolKit:
    """Syn-Ledger's kit, which keeps the firewall's verdicts."""
    return ProtocolKit(ledger)


@pytest.fixture(scope="session")
def officeqa_kit(officeqa: OfficeQA) -> ProtocolKit:
    """OfficeQA's kit, on a small sample."""
    return ProtocolKit(officeqa)
