"""Edits called shortcut or honest: how often wrongly, how often left open, and at what cost.

`python -m studies.edits` audits 12 cheating and 8 honest edits, alone and in mixtures of two to four, with the
simulated reader on 448 fresh tasks of benchmarks that nothing was developed on: with the battery alone on all of them,
on the first also with search alone and with both. The truth is by construction, what an edit names; `checked` has what
every edit alone gains on all fresh tasks of all benchmarks, as released and under the probes. An edit that names a cue
which can only be redrawn may survive that: `checked` says which do, and they are counted apart.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from chase.agents.history import RELEASED
from chase.challengers.mining import MiningChallenger
from chase.core.events import ignore
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.methods.arena import Entrant, Variant
from chase.methods.audit import AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness, pooled_arena
from chase.methods.audit_search import CONFIRM, SearchSettings
from chase.models.chat import ChatModel
from chase.protocol.battery import battery_of
from chase.stats.contrasts import Cell, averaged
from chase.stats.estimates import mean
from chase.store.records import Use
from chase.store.store import Store
from chase.testing.ledger import H0
from studies.planted_harnesses import BY_PERIOD, CARE, ENGINE_READS_ON, FIRST_SEARCHES, KEPT_READS, PLANTED, harness_of
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, share_of, with_reader, workspace

FIRST_SEED, BLOCKS = 941, 60
SIZES = {"at least 4 points": 0.04, "at least 2 points": 0.02, "any size": -1.0}
"""Of an edit's released contribution in its harness."""
SURVIVES = 0.01
BEFORE = "before"
"""Audits at commit e0e1d88, three rounds of search with `--attribute`: rows that were made by its own code."""
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
            rows.append({"seed": case["seed"], "mode": "alone", "gains": await _alone(plan, store, model, sandbox)})
        return rows

    found: list[Row] = with_reader(work)
    return found


async def _alone(
    plan: AuditPlan, store: Store, model: ChatModel, sandbox: Sandbox
) -> dict[str, dict[str, dict[str, float]]]:
    """What every edit alone gains and the tasks it is of, as released and under each probe, on all fresh tasks."""
    roles = plan.confirmation_roles
    store.create_run("alone", {"command": "alone", "seed": plan.seed})
    runner = Runner(model=model, store=store, sandbox=sandbox, use=Use(run="alone", method="audit"))
    held = [role for role in plan.benchmark.roles if role not in plan.benchmark.sealed]
    arena = pooled_arena(plan.evaluator(runner, store, held), roles, None, {})
    draws = {RELEASED: [plan.released]}
    for probe in battery_of(plan.kit, seed=plan.seed).probes:
        draws[probe.name] = [
            Variant(name=f"{probe.name}-{place}", transformation=draw.transformation, told=False)
            for place, draw in enumerate(probe.draws)
        ]
    entrants = [Entrant(name=name, harness=harness_of(**merged([name]))) for name in EDITS]
    variants = [variant for drawn in draws.values() for variant in drawn]
    means = await arena.means([Entrant(name="H0", harness=H0), *entrants], variants, CONFIRM)
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in EDITS}
    for name, (probe, drawn) in product(EDITS, draws.items()):
        gain = averaged([Cell(more=means[name, d.name], less=means["H0", d.name]).gain for d in drawn])
        found[name][probe] = {"gain": float(mean(gain)), "tasks": len(gain)}
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
    """What each edit alone gains on the pooled tasks of all benchmarks, as released and under each probe."""
    measured = [row["gains"] for row in rows if row["mode"] == "alone"]
    return {
        name: {
            probe: _pooled([(m[name][probe]["gain"], m[name][probe]["tasks"]) for m in measured]) for probe in probes
        }
        for name, probes in measured[0].items()
    }


def contributions(rows: Sequence[Row]) -> dict[tuple[str, ...], dict[str, float]]:
    """Harness → edit → its released contribution there, pooled over all benchmarks."""
    measured: dict[tuple[str, ...], dict[str, list[tuple[float, int]]]] = {}
    for row in rows:
        for part in row["parts"]:
            of = measured.setdefault(tuple(row["edits"]), {}).setdefault(part["edit"], [])
            of.append((part["contribution"], part["tasks"]))
    return {edits: {edit: _pooled(of) for edit, of in by_edit.items()} for edits, by_edit in measured.items()}


def _pooled(measured: Sequence[tuple[float, int]]) -> float:
    """The mean over all tasks of several measurements."""
    tasks = sum(n for _, n in measured)
    return round(sum(value * n for value, n in measured) / tasks, 4) if tasks else 0.0


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def kind_of(names: Sequence[str]) -> str:
    """What a harness is by construction."""
    cheating = sum(name in CHEATS for name in names)
    return "honest" if not cheating else "cheating" if cheating == len(names) else "mixed"


Contributions = Mapping[tuple[str, ...], Mapping[str, float]]


def summary(rows: Sequence[Row], true: Contributions, survivors: Sequence[str]) -> dict[str, Any]:
    """Words on harnesses, shares of edits called wrongly and left open by their contribution, and rollouts.

    Edits that survive the probes by a cue which can only be redrawn are counted apart.
    """
    parts = [(part, true[tuple(row["edits"])][part["edit"]]) for row in rows for part in row["parts"]]
    found: dict[str, Any] = {
        "verdicts": {
            kind: Counter(row["verdict"] for row in rows if kind_of(row["edits"]) == kind)
            for kind in ("cheating", "honest", "mixed")
        },
        "edits": {
            name: _calls([part for part, size in parts if size >= least], survivors) for name, least in SIZES.items()
        },
    }
    found["rollouts"] = _mean([row["rollouts"] for row in rows])
    found["rollouts_of_mixtures"] = _mean([row["rollouts"] for row in rows if len(row["edits"]) > 1])
    return found


def _calls(parts: Sequence[Row], survivors: Sequence[str]) -> dict[str, Any]:
    """How often a label is the opposite of the truth, and how often there is none."""
    plain = [part for part in parts if part["edit"] not in survivors]
    return {
        "wrong": share_of([part["label"] == ("honest" if part["edit"] in CHEATS else "shortcut") for part in plain]),
        "open": share_of([part["label"] not in ("honest", "shortcut") for part in plain]),
        "surviving_cues_called_honest": share_of([p["label"] == "honest" for p in parts if p["edit"] in survivors]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--searched", type=int, default=2, help="On so many of them the search too.")
    parser.add_argument("--before", type=Path, help="A file with rows of the audit before this one.")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    cases = [
        {"seed": seed, "modes": list(SETTINGS) if place < given.searched else ["battery"]}
        for place, seed in enumerate(seeds)
    ]
    rows = rows_of("edits", cases, audits_of)
    alone = checked(rows)
    survivors = [name for name in CHEATS if min(v for probe, v in alone[name].items() if probe != RELEASED) > SURVIVES]
    audits = [row for row in rows if row["mode"] != "alone"]
    if given.before is not None:
        audits += json.loads(given.before.read_text())
    true = contributions([row for row in audits if row["mode"] == "battery"])
    by_mode = {mode: [row for row in audits if row["mode"] == mode] for mode in (*SETTINGS, BEFORE)}
    write(
        "edits",
        {
            "command": f"python -m studies.edits --first-seed {given.first_seed} --seeds {given.seeds} "
            f"--searched {given.searched}",
            "model": "sim:reader (simulated)",
            "benchmarks": [f"syn-ledger@{seed}x{BLOCKS}" for seed in seeds],
            "checked": alone,
            "survive_redrawing": survivors,
            "modes": {mode: summary(some, true, survivors) for mode, some in by_mode.items() if some},
            "rows": audits,
        },
    )


if __name__ == "__main__":
    main()
