"""A finished audit as a repair reads it: its counterfactuals, its words on edits, the tasks that it used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.core.errors import UserError
from chase.methods.arena import Variant
from chase.methods.repair_measurement import AuditedCounterfactual
from chase.protocol.kit import ProtocolKit
from chase.runs.audit import COMMAND
from chase.runs.finding import find_run
from chase.runs.folder import RunFolder
from chase.store.store import Store
from chase.store.workspace import Workspace

NOT_INFORMATIVE = "not informative"


@dataclass(frozen=True, kw_only=True)
class FinishedAudit:
    """An audit that is over."""

    folder: RunFolder
    identity: Mapping[str, Any]
    payload: Mapping[str, Any]
    tasks: frozenset[str]
    """Tasks that it used."""

    @property
    def run(self) -> str:
        return self.folder.run

    @property
    def counted(self) -> list[Mapping[str, Any]]:
        """The findings that a repair measures: the battery, and what else was confirmed and counts against the gain.

        A counterfactual under which nothing could be told is left out.
        """
        findings = [*self.payload["confirmed"], *self.payload["not_confirmed"]]
        return [
            found
            for found in findings
            if found["status"] == "confirmed" or (found["source"] == "battery" and found["status"] != NOT_INFORMATIVE)
        ]

    def counterfactuals(self, kit: ProtocolKit) -> tuple[AuditedCounterfactual, ...]:
        return tuple(
            AuditedCounterfactual(
                name=found["name"],
                what=found["what"],
                source=found["source"],
                confirmed=found["status"] == "confirmed",
                draws=tuple(_variants(found, kit)),
            )
            for found in self.counted
        )

    def shortcuts(self, epsilon: str) -> tuple[str, ...]:
        """The parts of edits that were called shortcuts and of which more than epsilon goes under some probe."""
        return tuple(name for edit in self._edits("shortcut") if _lost(edit) > float(epsilon) for name in edit["parts"])

    def honest(self) -> tuple[str, ...]:
        """The parts of edits that were called honest."""
        return tuple(name for edit in self._edits("honest") for name in edit["parts"])

    def _edits(self, label: str) -> list[Mapping[str, Any]]:
        attribution = self.payload["attribution"] or {"parts": []}
        return [edit for edit in attribution["parts"] if edit["label"] == label]


def find_audit(workspace: Workspace, reference: str) -> FinishedAudit:
    """The audit with this id, the one whose id begins so, or the latest; refused where it is not over."""
    with Store.open(workspace, write=False) as store:
        run = find_run(store, COMMAND, reference)
        tasks = frozenset(store.tasks_used([run.id]).get(run.id, ()))
    if run.status != "finished":
        raise UserError(f"audit '{run.id}' is not finished: go on with it by the same `chase audit` command first.")
    folder = RunFolder(workspace, run.id)
    return FinishedAudit(folder=folder, identity=run.config, payload=folder.read_result(), tasks=tasks)


def _variants(found: Mapping[str, Any], kit: ProtocolKit) -> Iterator[Variant]:
    """A finding's draws under names of their own."""
    several = len(found["draws"]) > 1
    for draw, form in enumerate(found["draws"], 1):
        name = f"{found['name']}-{draw}" if several else found["name"]
        yield Variant(name=name, transformation=kit.parse(form).transformation, told=False)


def _lost(edit: Mapping[str, Any]) -> float:
    """The most of an edit's contribution that goes under a probe, beside what the base rate explains."""
    value = edit["contribution"]["value"]
    told = [under for under in edit["under"].values() if under["no_room"] is None]
    return max((under["expected_share"] * value - under["gain"]["value"] for under in told), default=0.0)
