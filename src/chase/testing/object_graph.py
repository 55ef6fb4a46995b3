"""What can be reached from an object: the test of what an agent's side of the process holds."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Set
from typing import Any

_LEAVES = (str, bytes, int, float, complex, type, types.ModuleType, type(None))


def reachable(root: object) -> Iterator[tuple[str, Any]]:
    """Every (way to it, object) that can be reached from `root`, each object once, `root` first.

    Followed are attributes, slots, containers, bound methods, partial applications, and the closures and
    default arguments of functions. Not followed are classes, modules and functions' global names, which
    reach the whole program.
    """
    pending: list[tuple[str, Any]] = [("it", root)]
    seen: set[int] = set()
    kept: list[Any] = []
    while pending:
        way, item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        kept.append(item)  # an object that lives on cannot lend its id to another
        yield way, item
        if not isinstance(item, _LEAVES):
            pending += _parts(way, item)


def _parts(way: str, item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, Mapping):
        for key, value in item.items():
            yield f"a key of {way}", key
            yield f"{way}[{key!r}]", value
    elif isinstance(item, list | tuple):
        yield from ((f"{way}[{place}]", part) for place, part in enumerate(item))
    elif isinstance(item, Set):
        yield from ((f"a member of {way}", part) for part in item)
    if isinstance(item, functools.partial):
        yield from ((f"{way}.func", item.func), (f"{way}.args", item.args), (f"{way}.keywords", item.keywords))
    if inspect.ismethod(item):
        yield from ((f"{way}.__self__", item.__self__), (f"{way}.__func__", item.__func__))
    if inspect.isfunction(item):
        yield f"{way}.__defaults__", (item.__defaults__, item.__kwdefaults__)
        yield from ((f"a closure of {way}", cell.cell_contents) for cell in item.__closure__ or () if _is_filled(cell))
    yield from _attributes(way, item)


def _attributes(way: str, item: Any) -> Iterator[tuple[str, Any]]:
    for name, value in getattr(item, "__dict__", {}).items():
        yield f"{way}.{name}", value
    for kind in type(item).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(item, name):
                yield f"{way}.{name}", getattr(item, name)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
