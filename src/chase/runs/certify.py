"""Certifying a finished evolution: printed from its result, made where there is none or where it is asked for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chase.core.errors import UserError
from chase.runs.certified_theory import Assumed, theorems_of
from chase.runs.config import RawSettings, raw_settings
from chase.runs.evolve import COMMAND, prepare, with_settings_of
from chase.runs.finding import Which, find_run
from chase.runs.folder import RunFolder
from chase.runs.life import Life
from chase.runs.listening import Listener
from chase.runs.loops import run_to_end
from chase.runs.opening import Opener, locate
from chase.runs.results import CertifyResult
from chase.runs.settings import CertifySettings, EvolveSettings
from chase.runs.theory import refusing
from chase.store.store import Store
from chase.store.workspace import Workspace

SHOWN = ("run", "config", "conclusion", "final", "certification", "theorems", "warnings")


def certify(run: str, asked: RawSettings[CertifySettings], listener: Listener) -> CertifyResult:
    """The certification of a finished run: its id, the beginning of it, or `latest`."""
    settings = asked.settings()
    workspace = locate(settings.workspace)
    with Store.open(workspace, write=False) as store:
        stored = find_run(store, COMMAND, run)
    if stored.status != "finished":
        raise UserError(f"run '{stored.id}' is not finished: go on with `chase evolve --resume {stored.id}`.")
    folder = RunFolder(workspace, stored.id)
    payload: Mapping[str, Any] = folder.read_result()
    if payload["certification"] is None or settings.reopen is not None:
        payload = _certified(folder, payload, settings, workspace, listener)
    with refusing(c="--packing-c", d="--packing-d"):
        payload = {**payload, "theorems": theorems_of(payload, _assumed(settings))}
    return CertifyResult(payload={name: payload[name] for name in SHOWN}, folder=folder.path)


def _assumed(settings: CertifySettings) -> Assumed:
    return Assumed(k=settings.k, rho=settings.rho, gamma=settings.gamma, c=settings.packing_c, d=settings.packing_d)


def _certified(
    folder: RunFolder, earlier: Mapping[str, Any], settings: CertifySettings, workspace: Workspace, listener: Listener
) -> Mapping[str, Any]:
    """The result with a certification that is made now, under the run's caps where no others are given."""
    said = {name: getattr(settings, name) for name in ("budget_usd", "budget_tokens", "data")}
    opener = Opener(listener)
    prepared = prepare(with_settings_of(raw_settings(EvolveSettings, said), folder), opener, listener)
    work = replace(prepared, certify=True, reason=settings.reopen or "", earlier=earlier)
    which = Which(command=COMMAND, certified=folder.run)
    life = Life(which=which, workspace=workspace, listener=listener)
    return run_to_end(lambda: life.live(work)).payload
