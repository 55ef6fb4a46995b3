"""What changed from one harness to another, by track and component."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from chase.core.keyed import canonical_json
from chase.core.values import Json
from chase.harness.spec import COMPONENTS, Guidance, Harness, Track

Kind = Literal["added", "removed", "changed"]
_POLICIES = {"retrieval": "retrieval policy", "tools": "tool policy", "control": "control policy"}
"""The component of each table of `harness.toml`. What stands outside them decides how a rollout ends: control."""

ORDER = [name for track in ("structural", "guidance") for name in COMPONENTS if COMPONENTS[name] == track]
"""The components in the order of a report: structural first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One difference: a field's old and new value, or the lines of a text."""

    component: str
    key: str
    """A dotted key of `harness.toml`, or a file of the folder, with ` when` where only its activation changed."""
    kind: Kind
    old: Json = None
    new: Json = None
    lines: tuple[str, ...] = ()
    """A unified diff without its header."""

    @property
    def track(self) -> Track:
        return COMPONENTS[self.component]


@dataclass(frozen=True, kw_only=True)
class HarnessDiff:
    """Every change from one harness (`old`, by its hash) to another (`new`)."""

    old: str
    new: str
    changes: tuple[Change, ...]

    @cached_property
    def tracks_changed(self) -> frozenset[Track]:
        """The tracks with a change: empty exactly when the two harnesses are the same."""
        return frozenset(change.track for change in self.changes)

    @property
    def is_empty(self) -> bool:
        return not self.changes

    def to_json(self) -> dict[str, Json]:
        return {
            "old": self.old,
            "new": self.new,
            "tracks_changed": sorted(self.tracks_changed),
            "changes": [
                {
                    "track": change.track,
                    "component": change.component,
                    "key": change.key,
                    "kind": change.kind,
                    "old": change.old,
                    "new": change.new,
                    "lines": list(change.lines),
                }
                for change in self.changes
            ],
        }


def diff_harnesses(a: Harness, b: Harness) -> HarnessDiff:
    """The changes from `a` to `b`, structural first, in a fixed order."""
    changes = [
        *_field_changes(a, b),
        *_text_changes("control policy", "control.py", a.control_source or "", b.control_source or ""),
        *_text_changes("system prompt", "prompt.md", a.prompt, b.prompt),
        *_text_changes("long-term memory", "memory.md", a.memory, b.memory),
        *_module_changes(a, b),
    ]
    changes.sort(key=lambda change: ORDER.index(change.component))
    return HarnessDiff(old=a.hash, new=b.hash, changes=tuple(changes))


def _field_changes(a: Harness, b: Harness) -> Iterator[Change]:
    old, new = (dict(flat_fields(harness.canonical()["structure"])) for harness in (a, b))
    for key in old:
        if canonical_json(old[key]) != canonical_json(new[key]):
            yield Change(component=component_of(key), key=key, kind="changed", old=old[key], new=new[key])


def component_of(key: str) -> str:
    """The component of a dotted key of `harness.toml`."""
    return _POLICIES.get(key.split(".")[0], "control policy")


def flat_fields(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The fields of nested tables by dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat_fields(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text_changes(component: str, key: str, old: str, new: str) -> Iterator[Change]:
    if old != new:
        kind: Kind = "changed" if old and new else "added" if new else "removed"
        yield Change(component=component, key=key, kind=kind, lines=_line_diff(old, new))


def _line_diff(old: str, new: str) -> tuple[str, ...]:
    # Only \n ends a line here: `splitlines` also splits at characters that tell two texts apart.
    before, after = (text.split("\n") if text else [] for text in (old, new))
    return tuple(difflib.unified_diff(before, after, lineterm=""))[2:]


def _module_changes(a: Harness, b: Harness) -> Iterator[Change]:
    old, new = ({module.name: module for module in harness.guidance} for harness in (a, b))
    for name in sorted(old.keys() | new.keys()):
        yield from _one_module_changes(f"guidance/{name}.md", old.get(name), new.get(name))


def _one_module_changes(key: str, old: Guidance | None, new: Guidance | None) -> Iterator[Change]:
    component, lines = "guidance modules", _line_diff(old.text if old else "", new.text if new else "")
    if old is None or new is None:
        kind: Kind = "added" if new else "removed"
        yield Change(component=component, key=key, kind=kind, old=_condition(old), new=_condition(new), lines=lines)
        return
    if old.when != new.when:
        yield Change(component=component, key=f"{key} when", kind="changed", old=_condition(old), new=_condition(new))
    if old.text != new.text:
        yield Change(component=component, key=key, kind="changed", lines=lines)


def _condition(module: Guidance | None) -> Json:
    """When a module is active: the fields that are set, none for always."""
    return None if module is None else module.when.model_dump(mode="json", exclude_defaults=True)


def render_diff(diff: HarnessDiff) -> str:
    """The diff for a person to read: track, component, change."""
    if diff.is_empty:
        return f"no difference: both are {diff.old[:16]}"
    out = [f"{diff.old[:16]} → {diff.new[:16]}"]
    track, component = "", ""
    for change in diff.changes:
        if change.track != track:
            track = change.track
            out += ["", f"{track} track"]
        if change.component != component:
            component = change.component
            out.append(f"  {component}")
        out += [f"    {line}" for line in _change_lines(change)]
    return "\n".join(out)


def _change_lines(change: Change) -> Iterator[str]:
    if change.kind == "changed" and not change.lines:
        yield f"{change.key}: {_value_words(change.old)} → {_value_words(change.new)}"
        return
    condition = change.new if change.kind == "added" else change.old
    active = "" if condition is None else f", active {'when ' if condition else ''}{_value_words(condition)}"
    yield f"{change.key} {change.kind}{active}"
    yield from (f"  {line}" for line in change.lines)


def _value_words(value: Json) -> str:
    if value is None:
        return "none"
    return "always" if value == {} else json.dumps(value, ensure_ascii=False)
