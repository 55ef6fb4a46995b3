"""How far each evolution of a comparison has come: its latest decided round, as it wrote it down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.report.facts import selections
from chase.report.heads import MALFORMED
from chase.runs.rendering import points
from chase.store.records import Run
from chase.web.viewer import Viewer, config_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """An evolution of a comparison."""

    run: str
    method: str
    seed: str
    state: str
    decided: str
    """Of its latest round that was decided: what was selected, and its gain."""


def standings(viewer: Viewer, run: Run, state: str) -> Iterator[Standing]:
    """The members of a comparison that have begun, first to last; none of another run."""
    for member in viewer.store.runs() if config_of(run).get("command") == "compare" else ():
        config = config_of(member)
        if config.get("of") == run.id:
            at_work = member.status != "running" or state == "running"
            latest = list(selections(viewer.folder(member), []))[-1:]
            yield Standing(
                run=member.id,
                method=str(config.get("method", "")),
                seed=str(config.get("seed", "")),
                state=member.status if at_work else "stopped",
                decided=_decided(latest[0], config.get("rounds")) if latest else "",
            )


def _decided(found: Mapping[str, Any], rounds: Any) -> str:
    try:
        return _said(found, rounds)
    except MALFORMED:
        return "what it wrote down last cannot be read"


def _said(found: Mapping[str, Any], rounds: Any) -> str:
    said = f"round {found['round']}" + (f" of {rounds}" if rounds else "")
    selected = found["selection"].get("selected")
    gain = next((entry["gain"] for entry in found["selection"]["pool"] if entry["harness"] == selected), None)
    gained = "" if gain is None else f", {points(gain)} points on the evolution tasks as released"
    return f"{said}: {selected}{gained}"
