"""Syn-Ledger at hand for tests and studies, without building one: its initial harness, and proposals for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.canonical import LedgerSubject
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.world import World
from chase.core.values import Json
from chase.harness.folder import parse_files
from chase.protocol.proposal import Proposal, parse_for

H0 = parse_files(SynLedger.initial, where="H_0")
_CONTRACT: Any = SynLedger
"""What the contract says of all Syn-Ledgers alike stands on the class."""


def parse_ledger(form: str | Mapping[str, Json]) -> Proposal[Manifest]:
    """A proposal for Syn-Ledger."""
    return parse_for(_CONTRACT, form)


def parse_world(form: str | Mapping[str, Json]) -> Proposal[World]:
    """A proposal for Syn-Ledger on the states that the firewall examines."""
    return parse_ledger(form).lifted(LedgerSubject.__new__(LedgerSubject))
