"""Observables that a user names by their place."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc

from chase.core.errors import UserError
from chase.core.interfaces import Observable
from chase.core.observables import ObservableFunction
from chase.core.plug_ins import named_function
from chase.core.values import ORIGINS


def own_observables(places: Sequence[str]) -> list[Observable]:
    """Each `module:function` as an observable: one that is there, or a function, with its name and its first line."""
    found: dict[str, Observable] = {}
    for place in places:
        observable = _observable(place)
        if observable.name in found:
            raise UserError(f"observable={place}: there are two that are called {observable.name}. Rename one.")
        found[observable.name] = observable
    return list(found.values())


def _observable(place: str) -> Observable:
    made = named_function(place, "observable")
    if not callable(made):
        raise UserError(f"observable={place} cannot be called: it must be a function of a chase.core.values.Sighting.")
    if isinstance(name := getattr(made, "name", None), str) and isinstance(getattr(made, "description", None), str):
        origin = getattr(made, "origin", "files")
        if origin not in ORIGINS:
            raise UserError(f"observable={place}: its origin is {origin!r}. Write one of: {', '.join(ORIGINS)}.")
        own: Observable = Guarded(name, made.description, made, origin)
        return own
    name = place.rpartition(":")[2].replace("_", "-")
    return Guarded(name, (getdoc(made) or f"by {place}").splitlines()[0].rstrip("."), made)


class Guarded(ObservableFunction):
    """An observable of a user's own, whose faults are told as the user's."""

    def __call__(self, shown: object) -> float | None:
        try:
            value = self.function(shown)  # type: ignore[arg-type]
        except Exception as error:
            raise UserError(
                f"observable={self.name} failed: {type(error).__name__}: {error}. It must take every Sighting and "
                "return None where it cannot say."
            ) from error
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value != value):
            raise UserError(f"observable={self.name} returned {value!r}: it must return a number or None.")
        return None if value is None else float(value)
