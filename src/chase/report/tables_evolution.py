"""Tables of an evolution: selections, candidates, proposals, tests on fresh tasks, archive, changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.harness.diff import Change
from chase.report.facts import HarnessFacts, RunFacts
from chase.runs.rendering import NOTHING, percent, points, with_ends
from chase.runs.tables import Table

Found = Mapping[str, Any]
MOST_VALUE = 120
"""Characters of a changed value in a cell."""
_MEASURED = ("disc", "disc_low", "disc_high", "conf", "conf_low", "conf_high")


def selection(name: str, title: str, pool: Sequence[Found], selected: str) -> Table:
    """The paper's selection table: Ĝ_rel, Ĝ_b, Δ̂_b, pass; and which was selected."""
    entries = list(dict.fromkeys(variant for entry in pool for variant in entry["destruction"]))
    each = [(f"Ĝ_{entry}", f"Δ̂_{entry}") for entry in entries]
    return Table(
        name=name,
        title=title,
        headings=("Harness", "R̂_rel", "Ĝ_rel", *(symbol for pair in each for symbol in pair), "Pass", "Selected"),
        rows=[
            [
                entry["harness"],
                NOTHING if entry["released"] is None else percent(entry["released"], 2),
                NOTHING if entry["gain"] is None else points(entry["gain"], 2),
                *(cell for variant in entries for cell in _pair_words(entry, variant)),
                _passes(entry),
                "✓" if entry["harness"] == selected else "",
            ]
            for entry in pool
        ],
        fields=(
            "harness", "r_rel", "g_rel", *(f"{sign}_{e}" for e in entries for sign in ("g", "delta")), "pass",
            "violates", "selected", "hash",
        ),
        data=[
            [
                entry["harness"],
                entry["released"],
                entry["gain"],
                *(cell for variant in entries for cell in _pair_data(entry, variant)),
                not entry["violates"],
                "; ".join(entry["violates"]),
                entry["harness"] == selected,
                entry["hash"],
            ]
            for entry in pool
        ],
        alignments="lrr" + "rr" * len(entries) + "lc",
    )  # fmt: skip


def evolution(rounds: Sequence[Found], selected: Sequence[Found], archived: Mapping[int, str]) -> Table:
    """What each round selected, and what was archived after it."""
    found = [
        (
            record["round"],
            entry,
            max(each["gain"] for each in record["selection"]["pool"] if each["gain"] is not None),
            max([0.0, *entry["destruction"].values()]),
            archived.get(record["round"], ""),
        )
        for record, entry in zip(rounds, selected, strict=True)
    ]
    return Table(
        name="evolution",
        title="Evolution over rounds, on the search tasks, in points",
        headings=("Round", "Selected", "Ĝ_rel", "worst Ĝ_b", "best Ĝ_rel proposed", "Archived then"),
        rows=[
            [str(number), entry["harness"], points(entry["gain"]), points(entry["gain"] - lost), points(best), then]
            for number, entry, best, lost, then in found
        ],
        fields=("round", "selected", "g_rel", "worst_g_b", "best_g_rel", "archived"),
        data=[
            [number, entry["harness"], entry["gain"], entry["gain"] - lost, best, then]
            for number, entry, best, lost, then in found
        ],
        alignments="rlrrrl",
    )


def _passes(entry: Found) -> str:
    """Whether it keeps every constraint; of one that was not evaluated in full how far it was."""
    broken = "No: " + ", ".join(entry["violates"]) if entry["violates"] else "Yes"
    if (stopped := entry.get("stopped")) is None:
        return broken
    at = f"stopped after {stopped['after']} of {stopped['of']} episodes"
    return f"{broken}, {at}" if entry["violates"] else at


def _pair_words(entry: Found, variant: str) -> tuple[str, str]:
    if variant not in entry["destruction"]:
        return NOTHING, NOTHING
    delta = entry["destruction"][variant]
    return points(entry["gain"] - delta, 2), points(delta, 2)


def _pair_data(entry: Found, variant: str) -> tuple[float | None, float | None]:
    delta = entry["destruction"].get(variant)
    return (None, None) if delta is None else (entry["gain"] - delta, delta)


def candidates(pool: Sequence[Found], known: Mapping[str, HarnessFacts], number: object) -> Table | None:
    """The paper's candidate table: what each harness of a pool changes in H_0."""
    found = [(entry["harness"], known[entry["harness"]]) for entry in pool if entry["harness"] in known]
    found = [(name, facts) for name, facts in found if facts.changes]
    if not found:
        return None
    rows = [(name, change) for name, facts in found for change in facts.changes]
    return Table(
        name=f"candidates-round-{number}",
        title=f"What the harnesses of round {number} change in H_0",
        headings=("Harness", "Component", "What", "Change"),
        rows=[[name, change.component, change.key, change_in_words(change)] for name, change in rows],
        fields=("harness", "track", "component", "key", "kind", "old", "new"),
        data=[[name, *_change_data(change)] for name, change in rows],
        alignments="lllp",
    )


def changes(harness: HarnessFacts, name: str) -> Table:
    """What one harness changes in H_0, by component."""
    return Table(
        name=f"changes-{name}",
        title=f"Changes from H_0 to {harness.name}",
        headings=("Component", "What", "Change"),
        rows=[[change.component, change.key, change_in_words(change)] for change in harness.changes],
        fields=("track", "component", "key", "kind", "old", "new"),
        data=[_change_data(change) for change in harness.changes],
        alignments="llp",
    )


def change_in_words(change: Change) -> str:
    """`0 → 1`, or what was added to a text."""
    if change.lines:
        added = " ".join(line[1:].strip() for line in change.lines if line.startswith("+"))
        removed = sum(line.startswith("-") for line in change.lines)
        gone = f"; {removed} line{'s'[: removed != 1]} taken out" if removed else ""
        return _short(f"{change.kind}: “{added}”{gone}" if added else f"{change.kind}{gone}")
    return f"{_value(change.old)} → {_value(change.new)}"


def _change_data(change: Change) -> list[object]:
    values = [json.dumps(value, ensure_ascii=False) for value in (change.old, change.new)]
    return [change.track, change.component, change.key, change.kind, *values]


def _value(value: object) -> str:
    return _short("nothing" if value in (None, [], {}, "") else json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= MOST_VALUE else f"{text[: MOST_VALUE - 1]}…"


def proposals(rounds: Sequence[Found]) -> Table | None:
    """Every transformation that was proposed, with the screens' and the firewall's verdict."""
    rows = list(_proposed(rounds))
    if not rows:
        return None
    return Table(
        name="proposals",
        title="Proposed transformations with the firewall's verdicts",
        headings=("Round", "Transformation", "Verdict", "Why", "Suspected", "Δ̂ on disc"),
        rows=[
            [
                str(number),
                found["what"] or found.get("description", ""),
                found["verdict"],
                found["reason"] if found["verdict"] != "valid" else "",
                ", ".join(found["suspected"]),
                with_ends(delta),
            ]
            for number, found, delta in rows
        ],
        fields=("round", "what", "symbols", "verdict", "reason", "suspected", "delta", "low", "high", "n", "hash"),
        data=[
            [
                number, found["what"], found["symbols"], found["verdict"], found["reason"],
                "; ".join(found["suspected"]),
                *((delta or {}).get(key) for key in ("value", "low", "high", "n")), found["hash"],
            ]
            for number, found, delta in rows
        ],
        alignments="rplppr",
    )  # fmt: skip


def _proposed(rounds: Sequence[Found]) -> Iterator[tuple[object, Found, Found | None]]:
    for record in rounds:
        challenged = record.get("challenger") or {}
        measured = {found["hash"]: found["destruction"] for found in challenged.get("evaluated", ())}
        for found in challenged.get("proposals", ()):
            yield record["round"], found, measured.get(found["hash"])


def confirmations(rounds: Sequence[Found]) -> Table | None:
    """What was frozen in each round: gain destruction where it was found, and on fresh tasks."""
    rows = [record for record in rounds if record.get("confirmation") and record["challenger"].get("frozen")]
    if not rows:
        return None
    return Table(
        name="confirmations",
        title="Discovery and confirmation: gain destruction in points with 95 % intervals",
        headings=("Round", "Frozen transformation", "on disc", "on fresh tasks", "Tasks", "η", "By noise", "Confirmed"),
        rows=[
            [
                str(record["round"]),
                record["challenger"]["frozen"]["what"],
                with_ends(record["challenger"].get("destruction")),
                with_ends(record["confirmation"]["destruction"]),
                _fresh(record["confirmation"]),
                f"{100 * float(record['confirmation']['eta']):g}",
                _noise(record["confirmation"].get("by_noise")),
                "yes" if record["confirmation"]["confirmed"] else "no",
            ]
            for record in rows
        ],
        fields=("round", "what", "hash", "role", *_MEASURED, "eta", "by_noise", "confirmed"),
        data=[
            [
                record["round"], record["challenger"]["frozen"]["what"], record["challenger"]["frozen"]["hash"],
                record["confirmation"]["role"],
                *_estimate(record["challenger"].get("destruction")), *_estimate(record["confirmation"]["destruction"]),
                float(record["confirmation"]["eta"]), record["confirmation"].get("by_noise"),
                record["confirmation"]["confirmed"],
            ]
            for record in rows
        ],
        notes=["By noise: how often a transformation that destroys nothing would be confirmed on a set like this."],
        alignments="rprrrrrl",
    )  # fmt: skip


def _fresh(found: Found) -> str:
    delta = found["destruction"]
    return found["role"] if delta is None else f"{delta['n']} ({found['role']})"


def _noise(share: float | None) -> str:
    return NOTHING if share is None else percent(share)


def _estimate(found: Found | None) -> list[object]:
    return [(found or {}).get(key) for key in ("value", "low", "high")]


def archive(entries: Sequence[Found]) -> Table | None:
    """The confirmed counterfactuals in words."""
    if not entries:
        return None
    return Table(
        name="archive",
        title="The archive: confirmed counterfactuals, gain destruction in points with 95 % intervals",
        headings=("Name", "Round", "What changes", "Operators", "found", "confirmed"),
        rows=[
            [
                entry["name"], str(entry["round"]), entry["what"], entry["symbols"], with_ends(entry["discovery"]),
                with_ends(entry["confirmation"]),
            ]
            for entry in entries
        ],
        fields=("name", "round", "what", "symbols", "hash", *_MEASURED),
        data=[
            [
                entry["name"], entry["round"], entry["what"], entry["symbols"], entry["hash"],
                *_estimate(entry["discovery"]), *_estimate(entry["confirmation"]),
            ]
            for entry in entries
        ],
        alignments="lrpprr",
    )  # fmt: skip


def firewall(facts: RunFacts) -> Table | None:
    """Each archived counterfactual's seven checks."""
    entries = facts.archive.entries if facts.archive is not None else ()
    rows = [(entry.name, check) for entry in entries for check in entry.firewall]
    if not rows:
        return None
    return Table(
        name="firewall",
        title="The validity firewall on every archived counterfactual",
        headings=("Counterfactual", "Check", "Passed", "Evidence"),
        rows=[[name, check["check"], "yes" if check["passed"] else "no", check["evidence"]] for name, check in rows],
        fields=("counterfactual", "check", "passed", "evidence"),
        data=[[name, check["check"], check["passed"], check["evidence"]] for name, check in rows],
        alignments="lllp",
    )
