"""The Python API: what `import chase` offers, and what the command line is written on.

Keyword arguments are the fields of the settings models (`chase.runs.settings`); a wrong one is the same `UserError`,
with the same sentence, as on the command line. Every function may be called inside a running event loop.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, OwnAgent
from chase.core.own_agents import Posed
from chase.harness import folder as folders
from chase.harness.spec import Harness
from chase.runs import opening
from chase.runs.config import raw_settings
from chase.runs.kinds import Benchmarks
from chase.runs.listening import Listener, Silent
from chase.runs.results import (
    AnalyzeResult,
    AuditResult,
    CertifyResult,
    CompareResult,
    EvolveResult,
    ForecastResult,
    PlanResult,
    RepairResult,
    RolloutResult,
)
from chase.runs.scan_settings import ScanSettings
from chase.runs.settings import (
    AnalyzeSettings,
    AuditSettings,
    CertifySettings,
    CompareSettings,
    EvolveSettings,
    PlanSettings,
    RepairSettings,
    RolloutSettings,
)

if TYPE_CHECKING:
    from chase.report.writing import Report
    from chase.runs.scan import ScanResult

P = ParamSpec("P")
R = TypeVar("R")
Made = TypeVar("Made", covariant=True)
Progress = bool | Listener | None
"""True: told on stderr. A listener hears it itself. None: as True where somebody is watching."""


class _Rollout(RolloutSettings):
    progress: Progress = None


class _Evolve(EvolveSettings):
    progress: Progress = None


class _Compare(CompareSettings):
    progress: Progress = None


class _Audit(AuditSettings):
    progress: Progress = None


class _Scan(ScanSettings):
    progress: Progress = None


class _Repair(RepairSettings):
    progress: Progress = None


class _Certify(CertifySettings):
    progress: Progress = None


def _takes(keywords: Callable[P, object]) -> Callable[[Callable[[Mapping[str, Any], Listener], R]], Callable[P, R]]:
    """Gives a function the keyword arguments of a model, typed, and `progress`."""

    def typed(function: Callable[[Mapping[str, Any], Listener], R]) -> Callable[P, R]:
        @wraps(function)
        def call(*nothing: P.args, **given: P.kwargs) -> R:
            if nothing:
                raise TypeError(f"{function.__name__}() takes keyword arguments only.")
            settings: dict[str, Any] = dict(given)
            return function(settings, listener_of(settings.pop("progress", None)))

        call.__signature__ = inspect.signature(keywords)  # type: ignore[attr-defined]
        return call

    return typed


def listener_of(progress: Progress) -> Listener:
    """Who hears of a run."""
    if progress is None:
        progress = hasattr(sys, "ps1") or sys.stderr.isatty()
    if isinstance(progress, bool):
        if not progress:
            return Silent()
        from chase.cli.watching import Watch

        return Watch()
    if isinstance(progress, type) or not isinstance(progress, Listener):
        raise UserError(f"progress={progress} must be true, false or a listener (chase.runs.listening).")
    return progress


def open_benchmark(name: str, data: str | Path | None = None) -> Benchmark[Any]:
    """The benchmark of a name such as `syn-ledger@7`; `data` is the folder of one that needs it."""
    return opening.open_benchmark(name, data)


def initial_harness(benchmark: str | Benchmark[Any]) -> Harness:
    """`H_0` of a benchmark, or of the one of a name: the paper's initial harness."""
    try:
        named = Benchmarks().check(benchmark)
    except ValueError as error:
        raise UserError(f"benchmark={benchmark} {error}.") from None
    return folders.initial_harness(opening.open_benchmark(named))


def load_harness(folder: str | Path) -> Harness:
    """The harness in a folder."""
    return folders.load_harness(Path(folder))


def python_agent(function: Callable[[Posed], object], *, name: str) -> OwnAgent:
    """A function as an agent of your own, for `agent_command` and `baseline_command`: it gets each task as it is posed
    (`chase.core.own_agents.Posed`) and returns the answer. It runs in this process, unconfined.
    """
    from chase.agents.own_agent.function import FunctionAgent

    return FunctionAgent(function, name=name)


@_takes(_Rollout)
def rollout(given: Mapping[str, Any], listener: Listener) -> RolloutResult:
    """Score a harness on one task set under one variant. What the store has is not run again."""
    asked = raw_settings(RolloutSettings, given)
    from chase.runs.rollout import rollout as run  # models and engine take a second to import

    return run(asked, listener)


@_takes(_Evolve)
def evolve(given: Mapping[str, Any], listener: Listener) -> EvolveResult:
    """Evolve a harness with a method, and at the end open the sealed tasks once. `resume` goes on with a run."""
    asked = raw_settings(EvolveSettings, given)
    from chase.runs.evolve import evolve as run

    return run(asked, listener)


@_takes(_Evolve)
def forecast_evolve(given: Mapping[str, Any], listener: Listener) -> ForecastResult:
    """What `evolve` with these settings can take: rollouts, requests, tokens, cost. Runs and writes nothing."""
    asked = raw_settings(EvolveSettings, given)
    from chase.runs.evolve import forecast as run

    return run(asked, listener)


@_takes(_Compare)
def compare(given: Mapping[str, Any], listener: Listener) -> CompareResult:
    """Compare methods over seeds, and when all are done open the sealed tasks once. `resume` goes on with one."""
    asked = raw_settings(CompareSettings, given)
    from chase.runs.compare import compare as run

    return run(asked, listener)


@_takes(_Compare)
def forecast_compare(given: Mapping[str, Any], listener: Listener) -> ForecastResult:
    """What `compare` with these settings can take: rollouts, requests, tokens, cost. Runs and writes nothing."""
    asked = raw_settings(CompareSettings, given)
    from chase.runs.compare import forecast as run

    return run(asked, listener)


@_takes(_Audit)
def audit(given: Mapping[str, Any], listener: Listener) -> AuditResult:
    """Search for valid changes of the protocol that destroy a harness's gain, confirm them on fresh tasks, judge."""
    asked = raw_settings(AuditSettings, given)
    from chase.runs.audit import audit as run

    return run(asked, listener)


@_takes(_Audit)
def forecast_audit(given: Mapping[str, Any], listener: Listener) -> ForecastResult:
    """What `audit` with these settings can take: rollouts, requests, tokens, cost. Runs and writes nothing."""
    asked = raw_settings(AuditSettings, given)
    from chase.runs.audit import forecast as run

    return run(asked, listener)


@_takes(AnalyzeSettings)
def analyze(given: Mapping[str, Any], listener: Listener) -> AnalyzeResult:
    """Gain, gain destruction and an audit's verdict from scores that another runner produced: a file, or rows."""
    asked = raw_settings(AnalyzeSettings, given)
    from chase.runs.analyze import analyze as made

    return made(asked)


@_takes(PlanSettings)
def plan(given: Mapping[str, Any], listener: Listener) -> PlanResult:
    """How many tasks and rollouts confirm or certify a gain destruction, from an earlier run's noise or another."""
    asked = raw_settings(PlanSettings, given)
    from chase.runs.plan import plan as made

    return made(asked)


@_takes(_Scan)
def scan(given: Mapping[str, Any], listener: Listener) -> ScanResult:
    """Which observables of a benchmark's protocol go with evidence or the answer, and what takes that away."""
    asked = raw_settings(ScanSettings, given)
    from chase.runs.scan import scan as made

    return made(asked, listener)


@_takes(_Repair)
def repair(given: Mapping[str, Any], listener: Listener) -> RepairResult:
    """Take out of a harness what an audit confirmed to be a shortcut, and measure what is left on other tasks."""
    asked = raw_settings(RepairSettings, given)
    from chase.runs.repair import repair as run

    return run(asked, listener)


@_takes(_Repair)
def forecast_repair(given: Mapping[str, Any], listener: Listener) -> ForecastResult:
    """What `repair` with these settings can take: rollouts, requests, tokens, cost. Runs and writes nothing."""
    asked = raw_settings(RepairSettings, given)
    from chase.runs.repair import forecast as run

    return run(asked, listener)


class _OfARun(Protocol[P, Made]):
    def __call__(self, run: str, *nothing: P.args, **given: P.kwargs) -> Made: ...


def _of_a_run(
    keywords: Callable[P, object],
) -> Callable[[Callable[[str, Mapping[str, Any], Listener], R]], _OfARun[P, R]]:
    """`_takes`, for a function whose first argument is a run."""

    def typed(function: Callable[[str, Mapping[str, Any], Listener], R]) -> _OfARun[P, R]:
        @wraps(function)
        def call(run: str, *nothing: P.args, **given: P.kwargs) -> R:
            if not isinstance(run, str):
                raise UserError(f"run={run} must be a text: a run's id, the beginning of it, or latest.")
            return _takes(keywords)(partial(function, run))(*nothing, **given)

        own = inspect.Parameter("run", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
        parameters = [own, *inspect.signature(keywords).parameters.values()]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return call

    return typed


@_of_a_run(_Certify)
def certify(run: str, given: Mapping[str, Any], listener: Listener) -> CertifyResult:
    """The certification of a finished evolution: its id, the beginning of it, or `latest`. Made if there is none."""
    asked = raw_settings(CertifySettings, given)
    from chase.runs.certify import certify as made

    return made(run, asked, listener)


def write_report(
    run: str,
    out: str | Path,
    *,
    workspace: str | Path | None = None,
    data: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Report:
    """The report of a run in a folder: page, tables, figures. `tell` hears steps."""
    if not isinstance(run, str):
        raise UserError(f"run={run} must be a text: a run's id, the beginning of it, or latest.")
    from chase.report.writing import write_report as written

    return written(run, out, workspace=workspace, data=data, tell=tell)
