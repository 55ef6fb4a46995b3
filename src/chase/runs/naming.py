"""What the hashes in a rollout's key are called in a run: by the names that its result and its history have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chase.core.errors import IntegrityError
from chase.protocol.transformation import OperatorList
from chase.runs.folder import RunFolder
from chase.runs.recording import read_events, rounds_told
from chase.store.records import Run
from chase.store.workspace import Workspace

UNCHANGED: str = OperatorList[Any]().hash
"""Of the released benchmark."""
SHOWN_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Names:
    """Hash → name, of harnesses and of variants."""

    harnesses: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=lambda: {UNCHANGED: "released"})

    def harness(self, of: str) -> str:
        """The name, or the beginning of the hash where it has none."""
        return self.harnesses.get(of, of[:SHOWN_DIGITS])

    def variant(self, of: str) -> str:
        return self.variants.get(of, of[:SHOWN_DIGITS])


def names_in(run: Run, workspace: Workspace) -> Names:
    """The names of a run; of one without a result yet those that it has told so far."""
    folder = RunFolder(workspace, run.id)
    try:
        result = folder.read_result()
    except IntegrityError:
        result = {"rounds": rounds_told(read_events(folder))}
    variants = {UNCHANGED: "released", **dict(_variants(result))}
    if isinstance(known := run.config.get("transformation"), str):  # of `chase rollout`
        variants[known] = str(run.config.get("variant"))
    return Names(harnesses=dict(_harnesses(result)), variants=variants)


def _harnesses(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of an audit or repair the two; of an evolution everything that was ever in a pool, rejected ones included."""
    if "baseline" in result:
        yield from ((result["baseline"], "H0"), (result["harness"], "H"))
    if isinstance(repaired := result.get("repaired"), dict):
        yield repaired["hash"], "repaired"
    selections = [record.get("selection") for record in result.get("rounds", ())]
    selections.append((result.get("final") or {}).get("selection"))
    for selection in filter(None, selections):
        for entry in selection["pool"]:
            yield entry["hash"], entry["harness"]


def _variants(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was on trial under its own words, unless it was archived or confirmed: then it has a name."""
    for record in result.get("rounds", ()):
        for found in (record.get("challenger") or {}).get("evaluated", ()):
            yield found["hash"], found["symbols"]
    for found in result.get("tried", ()):
        if found.get("hash"):
            yield found["hash"], found["symbols"]
    for name, found in ((result.get("certification") or {}).get("variants") or {}).items():
        yield found, name
    for key in ("archive", "confirmed", "not_confirmed", "counterfactuals"):
        for found in result.get(key) or ():
            if "hash" in found:
                yield found["hash"], found["name"]
