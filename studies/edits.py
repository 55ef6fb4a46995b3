"""Edits called shortcut or honest: how often wrongly, how often left open, and at what cost.

`python -m studies.edits` audits 12 cheating and 8 honest edits, alone and in mixtures of two to four, with the
simulated reader on 448 fresh tasks of benchmarks that nothing was developed on: with the battery alone on all of them,
on the first also with search alone and with both. The truth is by construction, what an edit names; `checked` has every
contribution on the pooled tasks of all benchmarks, as released and under the probes. An edit that names a cue which can
only be redrawn may survive that: `checked` says which do, and they are counted apart.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chase.challengers.mining import MiningChallenger
from chase.core.events import ignore
from chase.engine.sandbox import Sandbox
from chase.methods.audit import AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.models.chat import ChatModel
from chase.testing.ledger import H0
from studies.planted_harnesses import BY_PERIOD, CARE, ENGINE_READS_ON, FIRST_SEARCHES, KEPT_READS, PLANTED, harness_of
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of, with_reader, workspace

FIRST_SEED, BLOCKS = 941, 60
Form = Mapping[str, Any]
"""A sentence of the prompt, or fields of harness.toml."""


def _sentence(text: str) -> Form:
    return {"prompt": [text]}


def _rank(observable: str) -> Form:
    return {"structure": {"retrieval.rank": [{"observable": observable, "prefer": "low", "weight": 3.0}]}}


CHEATS: Mapping[str, Form] = {
    **{f"read on by {x}": _sentence(f"Read on in files with low {x}.") for x in PLANTED},
    **{f"prefer {x}": _sentence(f"Prefer files with low {x}.") for x in PLANTED},
    "rank by extension-length": _rank("extension-length"),
    "rank by path-depth": _rank("path-depth"),
}
HONEST: Mapping[str, Form] = {
    "read on": _sentence("Read on."),
    "look": _sentence(CARE[0]),
    "calculator": _sentence(CARE[1]),
    "check": _sentence(CARE[2]),
    "each period": _sentence(BY_PERIOD),
    "keep reads": {"structure": KEPT_READS},
    "engine reads on": {"structure": ENGINE_READS_ON},
    "search each period first": {"structure": FIRST_SEARCHES},
}
EDITS = {**CHEATS, **HONEST}
MIXTURES: Sequence[tuple[str, ...]] = (
    ("read on", "prefer extension-length"),
    ("read on", "look", "prefer path-depth"),
    ("read on", "check"),
    ("read on", "look", "calculator", "check"),
    ("read on by extension-length", "prefer path-depth"),
    ("read on by extension-length", "look", "prefer path-depth"),
    ("read on by extension-length", "look", "calculator", "check"),
    ("read on by path-depth", "prefer extension-length"),
    ("read on by hit-position", "prefer extension-length", "check"),
    ("read on by name-length", "prefer extension-length", "look"),
)
SETTINGS = {
    "battery": SearchSettings(rounds=0),
    "search": SearchSettings(battery=False, rounds=3),
    "both": SearchSettings(),
}


def merged(names: Sequence[str]) -> dict[str, Any]:
    """The form of several edits together."""
    forms = [EDITS[name] for name in names]
    prompt = [sentence for form in forms for sentence in form.get("prompt", ())]
    return {"prompt": prompt, "structure": {k: v for form in forms for k, v in form.get("structure", {}).items()}}


def edit_of(part: str, names: Sequence[str]) -> str:
    """The edit that an audit's part is of."""
    for name in names:
        form = EDITS[name]
        marks = [*form.get("prompt", ()), *(key.split(".")[1] for key in form.get("structure", {}))]
        if any(mark in part for mark in marks):
            return name
    raise ValueError(f"no edit of {names} is in {part!r}")


def audits_of(case: Mapping[str, Any]) -> list[Row]:
    """All edits and mixtures on one benchmark, in one workspace: shared cells are run once."""
    benchmark, kit = opened(f"syn-ledger@{case['seed']}x{BLOCKS}")

    async def work(model: ChatModel, sandbox: Sandbox) -> list[Row]:
        rows = []
        with workspace() as store:
            for place, names in enumerate([*((name,) for name in EDITS), *MIXTURES]):
                for mode in case["modes"]:
                    plan = AuditPlan(
                        benchmark=benchmark, kit=kit, baseline=H0, harness=harness_of(**merged(names)),
                        challenger=MiningChallenger(), settings=SETTINGS[mode],
                        rollouts=dict.fromkeys(benchmark.roles, 1), seed=case["seed"],
                    )  # fmt: skip
                    run = f"{mode}-{place}"
                    store.create_run(run, plan.describe(model.fingerprint))
                    found = await audit_harness(plan, run=run, store=store, model=model, sandbox=sandbox, tell=ignore)
                    rows.append(_row({"seed": case["seed"], "mode": mode}, names, found, len(store.used(run))))
        return rows

    found: list[Row] = with_reader(work)
    return found


def _row(case: Mapping[str, Any], names: Sequence[str], found: AuditOutcome, rollouts: int) -> Row:
    shares = [] if found.attribution is None else found.attribution.shares
    return {
        "seed": case["seed"],
        "mode": case["mode"],
        "edits": list(names),
        "verdict": found.verdict.word,
        "g_rel": found.gain.value,
        "rollouts": rollouts,
        "parts": [
            {
                "edit": edit_of(share.edit.name, names),
                "label": share.label,
                "contribution": share.value,
                "under": {name: gain.value for name, gain in share.gains.items()},
                "tasks": 0 if share.contribution is None else share.contribution.n,
                "rests_on": list(share.rests_on),
            }
            for share in shares
        ],
    }


def checked(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Each edit alone: its contribution over all benchmarks, as released and under each probe."""
    found = {}
    for name in EDITS:
        parts = [part for row in rows if row["edits"] == [name] for part in row["parts"] if part["tasks"]]
        if parts:
            probes = parts[0]["under"]
            figures = {"released": _mean([part["contribution"] for part in parts])}
            found[name] = figures | {probe: _mean([part["under"][probe] for part in parts]) for probe in probes}
    return found


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def kind_of(names: Sequence[str]) -> str:
    """What a harness is by construction."""
    cheating = sum(name in CHEATS for name in names)
    return "honest" if not cheating else "cheating" if cheating == len(names) else "mixed"


def summary(rows: Sequence[Row], truth: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Words on harnesses, shares of edits called wrongly and left open by their contribution, and rollouts."""
    survivors = [
        n for n in CHEATS if min((v for k, v in truth.get(n, {}).items() if k != "released"), default=0) > 0.01
    ]
    found: dict[str, Any] = {"survive_redrawing": survivors, "verdicts": {}}
    for kind in ("cheating", "honest", "mixed"):
        found["verdicts"][kind] = Counter(row["verdict"] for row in rows if kind_of(row["edits"]) == kind)
    parts = [part for row in rows for part in row["parts"]]
    for least in (0.04, 0.02):
        large = [part for part in parts if truth.get(part["edit"], {}).get("released", 0.0) >= least]
        plain = [part for part in large if part["edit"] not in survivors]
        opposite = {name: "honest" if name in CHEATS else "shortcut" for name in EDITS}
        found[f"at least {100 * least:.0f} points"] = {
            "wrong": share_of([part["label"] == opposite[part["edit"]] for part in plain]),
            "open": share_of([part["label"] == "open" for part in plain]),
            "named_redrawn_cue_called_honest": share_of(
                [part["label"] == "honest" for part in large if part["edit"] in survivors]
            ),
        }
    all_wrong = [part["label"] == opposite[part["edit"]] for part in parts if part["edit"] not in survivors]
    open_ones = [part["label"] == "open" for part in parts if part["edit"] not in survivors]
    found["any size"] = {"wrong": share_of(all_wrong), "open": share_of(open_ones)}
    found["rollouts"] = _mean([row["rollouts"] for row in rows])
    found["rollouts_of_mixtures"] = _mean([row["rollouts"] for row in rows if len(row["edits"]) > 1])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--searched", type=int, default=2, help="On so many of them the search too.")
    parser.add_argument("--before", type=Path, help="Rows of the audit before this one, made by its own code.")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    cases = [
        {"seed": seed, "modes": list(SETTINGS) if place < given.searched else ["battery"]}
        for place, seed in enumerate(seeds)
    ]
    rows = rows_of("edits", cases, audits_of)
    truth = checked([row for row in rows if row["mode"] == "battery"])
    payload = {
        "command": f"python -m studies.edits --seeds {given.seeds} --searched {given.searched}",
        "model": "sim:reader (simulated)",
        "benchmarks": [f"syn-ledger@{seed}x{BLOCKS}" for seed in seeds],
        "checked": truth,
        "modes": {mode: summary([row for row in rows if row["mode"] == mode], truth) for mode in SETTINGS},
    }
    if given.before is not None:
        payload["before"] = json.loads(given.before.read_text())
    write("edits", {**payload, "rows": rows})


if __name__ == "__main__":
    main()
