"""Edits of a harness as data, generated from observables × policy fields and from a vocabulary (`prior.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from chase.core.errors import UserError
from chase.core.values import HarnessBounds, Json
from chase.harness.limits import exceeds
from chase.harness.spec import Activation, Guidance, Harness, Structure

Side = Literal["low", "high"]
SIDES: tuple[Side, ...] = ("low", "high")
WEIGHT = 3.0
"""Of a structural preference: three places in a result for one rank on the observable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One executable change of a harness."""

    name: str
    entry: str
    """Its entry in the vocabulary."""
    track: Literal["structural", "guidance"]
    family: str
    answers: str
    calls: int
    risk: str
    say: str = ""
    set: str = ""
    value: Json = None
    observable: str | None = None
    side: Side | None = None

    def apply(self, harness: Harness) -> Harness:
        if self.say:
            when = Activation()
            module = Guidance(name=self.name, when=when, text=self.say)
            return replace(harness, guidance=(*harness.guidance, module))
        data = harness.structure.model_dump(by_alias=True)
        *tables, field = self.set.split(".")
        table = data
        for name in tables:
            table = table[name]
        table[field] = [*table[field], *self.value] if isinstance(self.value, list) else self.value
        return replace(harness, structure=Structure.model_validate(data))

    def conflicts(self, other: Edit) -> bool:
        """Whether both cannot be in one harness: the same field set twice, or the same edit."""
        same_field = bool(self.set) and self.set == other.set and not isinstance(self.value, list)
        return same_field or self.name == other.name

    def to_json(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in Edit.__slots__}


def from_json(data: Mapping[str, Json]) -> Edit:
    return Edit(**dict(data))


@lru_cache(maxsize=1)
def vocabulary() -> Mapping[str, Any]:
    """The frozen file."""
    data: Mapping[str, Any] = tomllib.loads(files("chase.proposers.mining").joinpath("prior.toml").read_text())
    return data


def every_edit(
    observables: Iterable[str], bounds: Mapping[str, Sequence[float]], placeholders: Sequence[str], *, space: str
) -> list[Edit]:
    """All edits of an edit space. `bounds` are an observable's low and high quartile, as seen in the traces."""
    found: list[Edit] = []
    for name, entry in vocabulary()["edits"].items():
        if space != "all" and entry["space"] != space:
            continue
        if entry["family"] == "observable":
            found += [_on_observable(name, entry, o, s, bounds) for o in observables for s in SIDES if o in bounds]
        elif entry.get("value") == ["{placeholder}"]:
            found += list(_templates(name, entry, placeholders))
        else:
            found.append(_edit(name, entry, value=entry.get("value")))
    return found


def general_form(edit: Edit) -> Edit | None:
    """The edit without its condition, where the vocabulary names one ("Read on in files with low X." → "Read on.")."""
    entries = vocabulary()["edits"]
    name = entries.get(edit.entry, {}).get("general")
    return None if name is None else _edit(name, entries[name], value=entries[name].get("value"))


def is_in(edit: Edit, harness: Harness) -> bool:
    """Whether a harness has what an edit brings."""
    if edit.say:
        return any(module.name == edit.name and module.text == edit.say for module in harness.guidance)
    if not isinstance(edit.value, list):
        return edit.apply(harness).hash == harness.hash
    found: Any = harness.structure.model_dump(mode="json", by_alias=True)
    for name in edit.set.split("."):
        found = found[name]
    return all(part in found for part in edit.value)


def _edit(entry_name: str, entry: Mapping[str, Any], **more: Any) -> Edit:
    fields = {key: entry[key] for key in ("track", "family", "answers", "calls", "risk")}
    fields |= {"name": entry_name, "entry": entry_name, "say": entry.get("say", ""), "set": entry.get("set", "")}
    return Edit(**{**fields, **more})


def _on_observable(
    name: str, entry: Mapping[str, Any], observable: str, side: Side, bounds: Mapping[str, Sequence[float]]
) -> Edit:
    low, high = bounds[observable]
    value: Json = None
    if entry.get("set") == "retrieval.rank":
        value = [{"observable": observable, "prefer": side, "weight": WEIGHT}]
    elif entry.get("set") == "tools.read_on":
        bound = {"at_most": low} if side == "low" else {"at_least": high}
        value = {"when": "observable", "observable": observable, **bound}
    say = entry.get("say", "").format(side=side, observable=observable)
    return _edit(
        name, entry, name=f"{name}-{side}-{observable}", say=say, value=value, observable=observable, side=side
    )


def _templates(name: str, entry: Mapping[str, Any], placeholders: Sequence[str]) -> Iterator[Edit]:
    for left in placeholders:
        for right in ("", *placeholders):
            template = " ".join(f"{{{part}}}" for part in (left, right) if part)
            if left != right:
                yield _edit(name, entry, name=f"{name}-{left}-{right}".rstrip("-"), value=[template])


def combine(harness: Harness, edits: Iterable[Edit], bounds: HarnessBounds) -> tuple[Harness, list[Edit]]:
    """The harness with the edits that are compatible and within bounds, and which those are."""
    kept: list[Edit] = []
    for edit in edits:
        if any(edit.conflicts(other) for other in kept):
            continue
        try:
            edited = edit.apply(harness)
        except (ValueError, UserError):
            continue
        if exceeds(edited.structure, bounds):
            continue  # one template too many, say
        harness = edited
        kept.append(edit)
    return harness, kept
