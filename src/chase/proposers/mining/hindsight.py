"""What earlier rounds taught: which edits gained, which broke a constraint, and what is left without them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chase.agents.history import RELEASED, History
from chase.core.agents import ProposerContext
from chase.harness.spec import Harness
from chase.proposers.mining.edits import Edit, from_json, general_form, is_in


@dataclass(frozen=True, kw_only=True, slots=True)
class Hindsight:
    """What earlier rounds taught."""

    gains: Mapping[str, float]
    """Edit → the mean gain of the candidates that brought it in, over the harness they came from."""
    offending: frozenset[str]
    """Observables that archived counterfactuals touch and a violating harness leant on."""
    repaired: tuple[Edit, ...] | None
    """The best harness that broke a constraint, without the edits that broke it."""
    base: tuple[Edit, ...] | None
    """The current harness without the edits that broke a constraint; None where it broke none."""
    offenders: tuple[Edit, ...]
    """The edits that broke a constraint: of the current harness, or of the best that did where it broke none."""
    evaluated: frozenset[str]
    """The hashes of all harnesses so far."""


def look_back(history: History, context: ProposerContext) -> Hindsight:
    broken = {} if context.epsilon is None else _violations(history, context.initial, float(context.epsilon))
    scores = history.means(list(broken), RELEASED)
    best = max(broken, key=lambda name: (scores.get(name, 0.0), name), default=None)
    offending: set[str] = set()
    for name, entries in broken.items():
        touched = {o for entry in entries for o in entry["touched"]}
        offending |= {e.observable for e in edits_of(history, name) if e.observable is not None} & touched
    violator = context.current if context.current in broken else best
    kept, _ = _parted(edits_of(history, best), broken[best]) if best else ((), ())
    sound, offenders = _parted(edits_of(history, violator), broken[violator]) if violator else ((), ())
    return Hindsight(
        gains=_gains(history),
        offending=frozenset(offending),
        repaired=kept or None,
        base=sound if context.current in broken else None,
        offenders=offenders,
        evaluated=frozenset(history.harness(name).hash for name in history.harnesses()),
    )


def edits_of(history: History, name: str) -> list[Edit]:
    """The edits that a harness is made of. One that the host repaired is made of those of its origin that it still has,
    and of general forms; of a harness that somebody else wrote nothing is known.
    """
    record = history.record(name)
    if "edits" in record or "repair" not in record:
        return [from_json(edit) for edit in record.get("edits", [])]
    origin = record["repair"]["of"]
    if origin == name or origin not in history.harnesses():
        return []
    left = (_left_of(edit, history.harness(name)) for edit in edits_of(history, origin))
    return [edit for edit in left if edit is not None]


def _left_of(edit: Edit, repaired: Harness) -> Edit | None:
    """What a repaired harness has of an edit: all of it, its general form under the same name, or nothing."""
    general = general_form(edit)
    forms = [edit] if general is None else [edit, replace(general, name=edit.name)]
    return next((form for form in forms if is_in(form, repaired)), None)


def generalised(
    edits: Sequence[Edit], offenders: Sequence[Edit], tracks: Collection[str], space: Sequence[Edit]
) -> list[Edit] | None:
    """The edits with the offenders of these tracks in their general form, or without them where there is none in the
    edit space. None where no offender has one.
    """
    own = [edit for edit in offenders if edit.track in tracks]
    allowed = {edit.name for edit in space}
    general = [form for edit in own if (form := general_form(edit)) is not None and form.name in allowed]
    return [*(edit for edit in edits if edit not in own), *general] if general else None


def _gains(history: History) -> dict[str, float]:
    gains: dict[str, list[float]] = {}
    for name in history.harnesses():
        record = history.record(name)
        gain = history.gain(name, record.get("from", ""))
        if gain is not None:
            for edit in record.get("new", []):
                gains.setdefault(edit, []).append(gain)
    return {edit: sum(values) / len(values) for edit, values in gains.items()}


def _violations(history: History, initial: str, epsilon: float) -> dict[str, list[dict[str, Any]]]:
    """Harness → the archived counterfactuals under which it lost more than epsilon of its gain."""
    broken: dict[str, list[dict[str, Any]]] = {}
    for entry, described in history.archive().items():
        for name in history.harnesses():
            delta = history.destruction(name, initial, entry)
            if delta is not None and delta > epsilon + 1e-9:
                broken.setdefault(name, []).append(described)
    return broken


def _parted(edits: Sequence[Edit], entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits that stay, and those that lean on what the counterfactuals touch; the last one if none does."""
    touched = {observable for entry in entries for observable in entry["touched"]}
    offenders = [edit for edit in edits if edit.observable in touched] or list(edits[-1:])
    return tuple(edit for edit in edits if edit not in offenders), tuple(offenders)
