"""Observables and operators of installed packages: entry points of the groups `chase.observables`, `chase.operators`.

An installed observable is what `chase scan` looks at beside a benchmark's own; harnesses, and so rollouts, know their
benchmark's alone. An installed operator stands in the allowlist of the benchmark that it is for; its name and version
are part of every transformation that uses it, and the firewall examines each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chase.core.errors import SetupError
from chase.core.interfaces import Benchmark, Observable, OperatorKind
from chase.core.plug_ins import load, package_of, points
from chase.core.values import ORIGINS

OBSERVABLES, OPERATORS = "chase.observables", "chase.operators"
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorEntry:
    """An operator kind for a benchmark. Entry points of the group `chase.operators` lead to one."""

    benchmark: str
    """The base name of the benchmark whose protocol state it changes."""
    kind: OperatorKind[Any]


def installed_observables() -> list[Observable]:
    """Every installed observable. One that does not work is a `SetupError` that names it."""
    found: list[Observable] = []
    for name, point in points(OBSERVABLES).items():
        observable = load(point, "observable")
        if problems := list(observable_problems(observable, name)):
            raise SetupError(
                f"observable '{name}' of {package_of(point)}: {'; '.join(problems)}. Mend or uninstall it."
            )
        found.append(observable)
    return found


def observable_problems(observable: Any, name: str) -> Iterator[str]:
    """What in an object keeps it from being the observable of a name."""
    if getattr(observable, "name", None) != name:
        yield f"its name is {getattr(observable, 'name', None)!r}"
    if not NAME.fullmatch(name):
        yield "a name is lower case letters, digits and hyphens, at most 40"
    description = getattr(observable, "description", None)
    if not isinstance(description, str) or not description.strip() or "\n" in description:
        yield "its description is no line of text"
    if getattr(observable, "origin", None) not in ORIGINS:
        yield f"its origin is none of {', '.join(ORIGINS)}"
    if isinstance(observable, type) or not callable(observable):
        yield "it cannot be called with what was shown"


def extended(benchmark: Benchmark[Any]) -> Benchmark[Any]:
    """The benchmark with the installed operators that are for it in its allowlist."""
    more = {kind.name: kind for kind in _installed_operators(benchmark)}
    if more:
        benchmark.allowlist = {**benchmark.allowlist, **more}  # type: ignore[misc]
    return benchmark


def _installed_operators(benchmark: Benchmark[Any]) -> Iterator[OperatorKind[Any]]:
    for name, point in points(OPERATORS).items():
        entry = load(point, "operator")
        where = f"operator '{name}' of {package_of(point)}"
        if not isinstance(entry, OperatorEntry) or entry.kind.name != name:
            raise SetupError(f"{where} must lead to an OperatorEntry whose kind has this name. Mend or uninstall it.")
        if entry.benchmark != benchmark.base:
            continue
        if name in benchmark.allowlist:
            raise SetupError(f"{where}: {benchmark.base} has an operator of this name. Rename or uninstall it.")
        yield entry.kind
