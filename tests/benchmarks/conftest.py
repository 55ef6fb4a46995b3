"""Benchmarks that only these tests need."""

from __future__ import annotations

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from tests.conftest import open_once


@pytest.fixture(scope="session")
def larger_ledger() -> SynLedger:
    """Twenty blocks."""
    return open_once("syn-ledger@11x20")
