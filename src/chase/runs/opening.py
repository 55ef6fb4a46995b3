"""Opening what a run is on: the benchmark, its protocol kit, the harnesses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chase.benchmarks import registry
from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark, BuildsLater
from chase.engine.evaluator import unseal
from chase.harness.folder import CONTROL, initial_harness, load_harness, read_text
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.protocol.kit import ProtocolKit
from chase.runs.kinds import ByRole
from chase.runs.listening import Building, Listener
from chase.runs.scan_settings import ScanSettings
from chase.runs.settings import AuditSettings, CompareSettings, Counts, EvolveSettings, HarnessLike, On
from chase.store.store import Store
from chase.store.workspace import Workspace

PATIENCE_SECONDS = 2.0


def open_benchmark(
    name: Any, data: str | Path | None = None, tell: Callable[[str], None] | None = None
) -> Benchmark[Any]:
    """The benchmark of a name, or the one that is open already. `tell` hears that it takes a while."""
    if not isinstance(name, str):
        opened: Benchmark[Any] = name
        return opened
    built = threading.Event()

    def say() -> None:
        while not built.wait(PATIENCE_SECONDS):
            if tell is not None:
                tell("please wait")

    teller = threading.Thread(target=say, daemon=True)
    teller.start()
    try:
        return registry.open_benchmark(name, None if data is None else Path(data))
    finally:
        built.set()
        teller.join()


class Opener:
    """Opens a run's benchmark and its kit once, however often the run is prepared."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._benchmark: Benchmark[Any] | None = None
        self._kit: ProtocolKit | None = None

    def benchmark(self, settings: On | ScanSettings) -> Benchmark[Any]:
        """The benchmark that settings name, whole."""
        if self._benchmark is None:

            def tell(step: str) -> None:
                self._listener.told(Building(benchmark=str(settings.benchmark), step=step))

            self._benchmark = open_benchmark(settings.benchmark, settings.data, tell)
            if isinstance(self._benchmark, BuildsLater):
                self._benchmark.tell_of_building(tell)
        return self._benchmark

    def kit(self, benchmark: Benchmark[Any]) -> ProtocolKit:
        """What the firewall, the Challenger and an archive need of a benchmark's protocol."""
        if self._kit is None:
            self._kit = ProtocolKit(benchmark)
        return self._kit


def require_readable(*harnesses: HarnessLike | None) -> None:
    """Refuse a folder that holds no harness, before a benchmark is built for it."""
    for given in harnesses:
        if isinstance(given, str | Path):
            load_harness(Path(given))


def open_harness(given: HarnessLike | None, benchmark: Benchmark[Any]) -> Harness:
    """The harness that is meant, `H_0` where none is; refused where the benchmark cannot run it."""
    if given is None:
        return initial_harness(benchmark)
    if isinstance(given, Harness):
        harness, where = given, "harness"
    else:
        harness, where = load_harness(Path(given)), str(given)
    check_for_benchmark(harness, benchmark, where=where)
    checked_hooks(harness, None if isinstance(given, Harness) else Path(given))
    return harness


def checked_hooks(harness: Harness, folder: Path | None) -> list[str]:
    """The hooks that control.py defines, after the sandbox has checked it."""
    if harness.control_source is None:
        return []
    from chase.engine.sandbox import check_control

    # The text as it is in the file, so that the lines that are named are the file's.
    source = harness.control_source if folder is None else read_text(folder / CONTROL)
    try:
        return list(check_control(source).hooks)
    except UserError as refusal:
        raise UserError(f"{folder}/{refusal}" if folder else str(refusal)) from None


def locate(workspace: str | Path | None) -> Workspace:
    """The workspace that is named, which is then exactly that folder; else the one found upward."""
    return Workspace.find() if workspace is None else Workspace(Path(workspace))


def record_look(benchmark: Benchmark[Any], what: str, variant: str, reason: str, workspace: str | Path | None) -> None:
    """That sealed tasks are looked at without a run (`what`: a scan, an export) stays in the workspace's record."""
    fixed = {"benchmark": benchmark.name, "content_hash": benchmark.content_hash, "variant": variant}
    with Store.open(locate(workspace), write=True) as store:
        unseal(store, f"{what} of {benchmark.name}", fixed, reason)


def rollout_counts(given: Counts | None, benchmark: Benchmark[Any]) -> dict[str, int]:
    """Rollouts of a task by role: the defaults, and what was given, where a group stands for all roles in it."""
    counts = dict(benchmark.defaults.rollouts)
    for role, count in ByRole(1, 1000).check(given or {}).items():
        counts |= dict.fromkeys(_meant("rollouts", role, benchmark), count)
    return counts


def role_sizes(benchmark: Benchmark[Any]) -> dict[str, int]:
    """How many tasks each role has."""
    return {role: len(benchmark.tasks(role)) for role in benchmark.roles}


def settled_sizes(settings: EvolveSettings | AuditSettings | CompareSettings, whole: Benchmark[Any]) -> dict[str, int]:
    """Tasks to use by role. Of a benchmark that was opened by the caller all sizes are said: it may have been cut."""
    few = settings.presets[settings.preset].get("split_sizes", {}) if settings.preset else {}
    sizes = split_sizes(settings.split_sizes, whole, at_most=few)
    return sizes if isinstance(settings.benchmark, str) else {**role_sizes(whole), **sizes}


def split_sizes(
    given: Counts | None, benchmark: Benchmark[Any], *, at_most: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Tasks to use by role, where a group stands for all roles in it; roles that are not named keep all theirs.

    A size beyond what a role has is refused, but for a preset's own (`at_most`): a small benchmark is small already.
    """
    there = role_sizes(benchmark)
    sizes: dict[str, int] = {}
    for role, size in ByRole(2).check(given or {}).items():
        meant = _meant("split_sizes", role, benchmark)
        most = min(there[name] for name in meant)
        if size > most and (at_most or {}).get(role) != size:
            raise UserError(f"split_sizes: {role}={size} must be a whole number from 2 to {most}, all that there are.")
        sizes |= {name: min(size, there[name]) for name in meant}
    return sizes


def _meant(setting: str, role: str, benchmark: Benchmark[Any]) -> list[str]:
    """The roles that a role or a group of them stands for."""
    roles = benchmark.roles
    groups = {"conf": [name for name in roles if name.startswith("conf")], "sealed": sorted(benchmark.sealed)}
    named = {**groups, **{name: [name] for name in roles}}
    return named[choose(f"role in {setting}", role, named)]
