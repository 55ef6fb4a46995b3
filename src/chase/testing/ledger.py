"""Syn-Ledger at hand for tests and studies, without building one: its initial harness, and proposals for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.world import Lifted, World
from chase.core.values import Json
from chase.harness.folder import parse_files
from chase.protocol.proposal import Proposal, parse_for

H0 = parse_files(SynLedger.initial, where="H_0")
_CONTRACT: Any = SynLedger
"""What the contract says of all Syn-Ledgers alike stands on the class."""


def parse_ledger(form: str | Mapping[str, Json]) -> Proposal[Manifest]:
    """A proposal for Syn-Ledger."""
    return parse_for(_CONTRACT, form)


class _Lifting:
    """Lifts without a benchmark."""

    lift = Lifted


def parse_world(form: str | Mapping[str, Json]) -> Proposal[World]:
    """A proposal for Syn-Ledger on the states that the firewall examines."""
    lifting: Any = _Lifting()
    return parse_ledger(form).lifted(lifting)
