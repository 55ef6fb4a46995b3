"""The methods by name: our own, and those of installed packages (entry points of the group `chase.methods`).

Nothing is imported before a method is asked for, so that one that cannot be imported is in nobody's way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from chase.core.errors import SetupError, UserError, choose

if TYPE_CHECKING:
    from chase.methods.contract import Method

GROUP = "chase.methods"
BUILT_IN: Mapping[str, str] = {
    "raw-harness": "chase.methods.raw_harness:RawHarness",
    "meta-harness": "chase.methods.meta_harness:MetaHarness",
    "harness-compass": "chase.methods.harness_compass:HarnessCompass",
    "harness-evolve": "chase.methods.harness_evolve:HarnessEvolve",
    "b0-access": "chase.methods.b0_access:B0Access",
    "chase": "chase.methods.chase:Chase",
    "chase-without-challenger": "chase.methods.chase_without_challenger:ChaseWithoutChallenger",
    "best-of-n": "chase.methods.best_of_n:BestOfN",
}
"""Name → where it is, as entry points are written."""
DEFAULT_METHOD = "chase"
SETS: Mapping[str, tuple[str, ...]] = {
    "all": (
        "raw-harness", "meta-harness", "harness-compass", "harness-evolve", "b0-access", "chase", "best-of-n",
    ),
    "ablations": (
        "chase", "chase-without-challenger", "chase:confirm=false", "chase:single_operators=true",
        "chase:tell_constraints=false", "chase:enforce_constraints=false", "chase:reduce=false",
        "chase:confirmation=calibrated",
    ),
}  # fmt: skip
"""Methods that are compared together, by the name of the set. An option of a method stands behind a colon."""
RESERVED = frozenset(
    {
        "command", "benchmark", "content_hash", "method", "model", "model_fingerprint", "initial", "proposer",
        "challenger", "edit_space", "rollouts", "tasks", "seed", "options",
    }
)  # fmt: skip
"""Keys of a run's identity that no option may have."""


def method_names() -> tuple[str, ...]:
    """Every method's name, ours first. None is imported."""
    others = sorted({point.name for point in entry_points(group=GROUP)} - BUILT_IN.keys())
    return (*BUILT_IN, *others)


def find_method(name: str) -> Method:
    """The method of a name. An unknown name is a `UserError`, a plug-in that does not work a `SetupError`."""
    choose("method", name, method_names())
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        built_in: Method = getattr(import_module(module), attribute)()
        return built_in
    return _loaded(name)


def _loaded(name: str) -> Method:
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if len({point.value for point in points}) > 1:
        raise UserError(f"method '{name}' is in {' and '.join(sorted(map(_package, points)))}: uninstall one of them.")
    where = f"method '{name}' of {_package(points[0])}"
    try:
        made = points[0].load()
        method = made() if isinstance(made, type) else made
    except Exception as error:  # whatever a plug-in raises: it is somebody else's code
        raise SetupError(f"{where} cannot be loaded: {type(error).__name__}: {error}. Mend or uninstall it.") from error
    if problems := list(contract_problems(method, name)):
        raise SetupError(f"{where} does not keep the contract: {'; '.join(problems)}.")
    found: Method = method
    return found


def plug_in(name: str) -> str | None:
    """What an error calls a method of an installed package; None: it is one of ours."""
    if name in BUILT_IN:
        return None
    packages = [_package(point) for point in entry_points(group=GROUP) if point.name == name]
    return f"method '{name}' of {packages[0]}" if packages else f"method '{name}'"


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def contract_problems(method: Any, name: str) -> Iterator[str]:
    """What in an object keeps it from being the method of a name."""
    from chase.methods.contract import Traits

    if getattr(method, "name", None) != name:
        yield f"its name is {getattr(method, 'name', None)!r}"
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
        yield "a name is lower case letters, digits and hyphens, at most 40"
    summary = getattr(method, "summary", None)
    if not isinstance(summary, str) or not summary.strip() or "\n" in summary:
        yield "summary is no line of text"
    asked = getattr(method, "agents", None)
    if not isinstance(asked, tuple) or not set(asked) <= {"proposer", "challenger"}:
        yield "agents are not of 'proposer' and 'challenger'"
    if not isinstance(getattr(method, "traits", None), Traits):
        yield "traits are no Traits"
    yield from _options_problems(getattr(method, "Options", None))
    for member in ("roles", "reader", "forecast", "evolve"):
        if not callable(getattr(method, member, None)):
            yield f"it has no {member}()"
    if callable(evolve := getattr(method, "evolve", None)) and not iscoroutinefunction(evolve):
        yield "evolve() is not async"


def _options_problems(form: Any) -> Iterator[str]:
    from pydantic import BaseModel

    if not isinstance(form, type) or not issubclass(form, BaseModel):
        yield "Options is no pydantic model"
        return
    missing = {"extra": "forbid", "frozen": True, "strict": True}.items() - form.model_config.items()
    if missing:
        yield f"Options must have {', '.join(f'{key}={value!r}' for key, value in sorted(missing, key=str))}"
    for option, field in form.model_fields.items():
        if not field.description:
            yield f"option {option} has no description"
        if option in RESERVED:
            yield f"an option cannot be called {option}"
