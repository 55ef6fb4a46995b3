"""Edits called shortcut or honest: how often wrongly, how often left open, and at what cost.

`python -m studies.edits` audits 12 cheating and 8 honest edits, alone and in mixtures of two to four, with the
simulated reader on 448 fresh tasks of benchmarks that nothing was developed on: with the battery alone, and with the
battery and one round of search. The truth is by construction, what an edit names; `checked` has every contribution on the pooled
tasks of all benchmarks, as released and under the probes. An edit that names a cue which can only be redrawn may
survive that: `checked` says which do, and they are counted apart.
"""

from __future__ import annotations

import argparse
import json
import re
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
from studies.planted_harnesses import CARE, PLANTED, harness_of
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of, with_reader, workspace

FIRST_SEED, BLOCKS = 941, 60
Form = Mapping[str, Any]
"""What is added to `H_0`: a guidance module's sentences, or fields of harness.toml."""


def _module(*sentences: str) -> Form:
    return {"guidance": [" ".join(sentences)]}


def _reads_on(where: str, *preferred: str) -> Form:
    return _module(f"Read on in files with low {where}.", *_preferring(*preferred))


def _preferring(*observables: str) -> list[str]:
    return [f"Prefer files with low {name}." for name in observables]


FORMAT, DEPTH, LENGTH, INITIAL, PLACE = PLANTED
CHEATS: Mapping[str, Form] = {
    "reads on by format": _reads_on(FORMAT),
    "reads on by depth": _reads_on(DEPTH),
    "reads on by name": _reads_on(LENGTH),
    "reads on by place": _reads_on(PLACE),
    "prefers shallow": _module(*_preferring(DEPTH)),
    "prefers format": _module(*_preferring(FORMAT)),
    "prefers shallow and format": _module(*_preferring(DEPTH, FORMAT)),
    "reads on by format, prefers shallow": _reads_on(FORMAT, DEPTH),
    "reads on by format, prefers shallow, short": _reads_on(FORMAT, DEPTH, LENGTH),
    "reads on by format, prefers shallow, first": _reads_on(FORMAT, DEPTH, PLACE),
    "reads on by depth, prefers format": _reads_on(DEPTH, FORMAT),
    "reads on by depth, prefers format, first": _reads_on(DEPTH, FORMAT, PLACE),
    "reads on by format, prefers short, first": _reads_on(FORMAT, LENGTH, PLACE),
}
HONEST: Mapping[str, Form] = {
    "reads on": _module("Read on."),
    "looks": _module(CARE[0]),
    "calculates": _module(CARE[1]),
    "checks": _module(CARE[2]),
    "takes care": _module(*CARE),
    "reads on, takes care": _module("Read on.", *CARE),
    "reads on, checks": _module("Read on.", CARE[2]),
    "reads on, calculates": _module("Read on.", CARE[1]),
}
EDITS = {**CHEATS, **HONEST}
MIXTURES: Sequence[tuple[str, ...]] = (
    ("reads on", "prefers shallow and format"),
    ("reads on, takes care", "prefers format"),
    ("takes care", "reads on by format, prefers shallow"),
    ("looks", "reads on by depth, prefers format"),
    ("takes care", "reads on by format", "prefers shallow"),
    ("reads on", "takes care", "prefers shallow"),
    ("looks", "checks", "reads on by format, prefers shallow, first"),
    ("calculates", "looks", "reads on by format", "prefers shallow"),
    ("reads on, checks", "looks"),
    ("reads on", "takes care"),
)
SETTINGS = {
    "battery": SearchSettings(rounds=0),
    "search": SearchSettings(battery=False, rounds=3),
    "both": SearchSettings(),
}


def merged(names: Sequence[str]) -> dict[str, Any]:
    """The form of several edits together."""
    return {"guidance": [text for name in names for text in EDITS[name]["guidance"]]}


def edit_of(part: str, names: Sequence[str]) -> str:
    """The edit that an audit's part is of: modules are numbered in the order of the names."""
    (number,) = re.findall(r"module-(\d+)", part)
    return names[int(number) - 1]


def audits_of(case: Mapping[str, Any]) -> list[Row]:
    """All edits and mixtures on one benchmark, in one workspace: shared cells are run once."""
    benchmark, kit = opened(f"syn-ledger@{case['seed']}x{BLOCKS}")

    async def work(model: ChatModel, sandbox: Sandbox) -> list[Row]:
        rows = []
        with workspace() as store:
            for place, names in enumerate([*((name,) for name in EDITS), *MIXTURES]):
                for mode, settings in SETTINGS.items():
                    plan = AuditPlan(
                        benchmark=benchmark, kit=kit, baseline=H0, harness=harness_of(**merged(names)),
                        challenger=MiningChallenger(), settings=settings,
                        rollouts=dict.fromkeys(benchmark.roles, 1), seed=case["seed"],
                    )  # fmt: skip
                    run = f"{mode}-{place}"
                    store.create_run(run, plan.describe(model.fingerprint))
                    found = await audit_harness(plan, run=run, store=store, model=model, sandbox=sandbox, tell=ignore)
                    rows.append(_row({**case, "mode": mode}, names, found, len(store.used(run))))
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


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares of edits called wrongly and left open, by the size of the true contribution; rollouts of an audit."""
    truth = checked(rows)
    survivors = [
        n for n in CHEATS if min((v for k, v in truth.get(n, {}).items() if k != "released"), default=0) > 0.01
    ]
    found: dict[str, Any] = {"survive_redrawing": survivors, "checked": truth}
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
    found["any size"] = {"wrong": share_of(all_wrong)}
    found["rollouts"] = _mean([row["rollouts"] for row in rows])
    found["rollouts_of_mixtures"] = _mean([row["rollouts"] for row in rows if len(row["edits"]) > 1])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--modes", nargs="+", default=list(SETTINGS))
    parser.add_argument("--before", type=Path, help="Rows of the audit before this one, made by its own code.")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    rows = rows_of("edits", [{"seed": seed, "mode": mode} for mode in given.modes for seed in seeds], audits_of)
    payload = {
        "command": f"python -m studies.edits --seeds {given.seeds}",
        "model": "sim:reader (simulated)",
        "benchmarks": [f"syn-ledger@{seed}x{BLOCKS}" for seed in seeds],
        "modes": {mode: summary([row for row in rows if row["mode"] == mode]) for mode in given.modes},
    }
    if given.before is not None:
        payload["before"] = json.loads(given.before.read_text())
    write("edits", {**payload, "rows": rows})


if __name__ == "__main__":
    main()
