"""What installed packages bring, by the group of their entry points; and functions that a user names by their place."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from chase.core.errors import SetupError, UserError


def points(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, sorted; one name in two packages is a `UserError`. Nothing is imported."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        if found.setdefault(point.name, point).value != point.value:
            both = " and ".join(sorted({package_of(found[point.name]), package_of(point)}))
            raise UserError(f"{group}: '{point.name}' is in {both}: uninstall one of them.")
    return found


def package_of(point: EntryPoint) -> str:
    """The package that brings an entry point, for messages."""
    return point.dist.name if point.dist is not None else point.value


def load(point: EntryPoint, what: str) -> Any:
    """What an entry point leads to; whatever goes wrong in somebody else's code is a `SetupError` that names it."""
    try:
        return point.load()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SetupError(
            f"{what} '{point.name}' cannot be loaded from {point.value}: {reason}. "
            "Mend or uninstall the package that brings it."
        ) from error


def named_function(place: str, what: str) -> Any:
    """The object at `module:name`, also in a module of the current folder. The user's own code: it is imported."""
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise UserError(f"{what}={place} must be MODULE:FUNCTION, such as mine:word_count.")
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(
            f"{what}={place} cannot be imported: {reason}. It is looked for here and on the path."
        ) from error
    finally:
        if added and here in sys.path:
            sys.path.remove(here)
