"""Coverage of a verdict in words: what it is against, and what was not tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chase.protocol.battery import in_words

Found = Mapping[str, Any]


def coverage(payload: Found) -> str:
    """Coverage of a verdict: "changes of names and folders, all at once, and against
    records shuffled; not tested: tool schemas". Only what could have shown something is named.
    """
    found = {each["name"]: each for each in (*payload["confirmed"], *payload["not_confirmed"])}
    counted = [found[name] for name in payload["against"]]
    probes = [each for each in counted if each["source"] == "battery"]
    others = dict.fromkeys(each.get("what", each["name"]) for each in counted if each["source"] != "battery")
    if "battery" not in payload:  # scores of another runner
        return ", ".join(others)
    if payload["battery"] is None:
        left_out = "" if payload["stopped"] else "the battery was left out"
        return "; ".join(filter(None, (", ".join(others), left_out)))
    battery = payload["battery"]
    aspects = (*battery["equal"], *battery["redrawn"])
    kinds = {o["name"] for each in counted if each["source"] != "battery" for o in each["transformation"]["operators"]}
    left = [name for name in battery["untested"] if name not in kinds]
    untested = [*(() if probes else aspects), *left, *battery["invalid"]]
    neutral = [f"changes of {in_words(aspects)}, {_at_once(probes, found.values())}"] if probes else []
    tested = ", and against ".join([*neutral, *([", ".join(others)] if others else [])])
    return "; ".join(filter(None, (tested, f"not tested: {', '.join(untested)}" if untested else "")))


def _at_once(probes: Sequence[Found], found: Iterable[Found]) -> str:
    """The way in which the battery changed its aspects; with the number of probes, where some could show nothing."""
    measured = sum(each["source"] == "battery" for each in found)
    return "all at once" + ("" if len(probes) == measured else f" in {len(probes)} of {measured} ways")
