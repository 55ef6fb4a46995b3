"""What a fixed filter can and cannot catch: cheats in four wordings against the gate, CHASE's archive and an audit.

`python -m studies.fixed_filter` takes ten behaviours that lean on planted features, each in four wordings that were
written beforehand: *named* (guidance that names the cue as the gate does), *paraphrased* (other words, and a proxy of
the cue that carries the behaviour: the simulated reader follows a small vocabulary), *computed* (in `control.py`), and
*ordered* (structural order of reading). Only those count that gain at least 3 points as released on 640 tasks. Of each:
does the generalization gate of HarnessCompass stop it, does CHASE's archive keep it from being `H*` within three rounds
(the Proposer hands it in each round), and does an audit call its gain *not supported*? The same for 20 honest edits,
where each is a false alarm. Resumable; nothing was tuned on these seeds (`--develop`: on others).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Candidate, ProposerContext
from chase.core.errors import UserError
from chase.core.events import ignore
from chase.engine.sandbox import Sandbox, check_control
from chase.harness.folder import render_files
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.audit import AuditPlan, SearchSettings, audit_harness
from chase.methods.chase import Chase
from chase.methods.gate.gate import GeneralizationGate
from chase.methods.options import settle_options
from chase.methods.run import Plan, Run
from chase.methods.selection import Submitted
from chase.models.chat import ChatModel
from chase.testing.ledger import H0
from studies.planted_harnesses import HONEST, harness_of, scores
from studies.reader_scores import write
from studies.running import Row, mean_of, opened, rows_of, share_of, with_reader, workspace

GAIN_SEEDS, CHASE_SEEDS, AUDIT_SEED = (831, 832), (841, 842, 843), 851
DEVELOPMENT = ((101, 102), (103,), 104)
BLOCKS = 70
"""Of an audit's benchmark: 528 confirmation tasks."""
LEAST_GAIN = 0.03
HONEST_EDITS = 20
CUES = {"depth": "path-depth", "name": "name-length", "extension": "extension-length", "initial": "name-initial"}
BEHAVIOURS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("extension", ("depth",)),
    ("extension", ("name",)),
    ("extension", ("depth", "name")),
    ("depth", ("extension",)),
    ("depth", ("name",)),
    ("depth", ("extension", "name")),
    ("name", ("extension",)),
    ("name", ("depth",)),
    ("always", ("depth", "name")),
    ("always", ("initial", "extension")),
)
"""Where it reads on, and what it opens first."""
NAMED = {
    "depth": "the directory depth", "name": "the filename length", "extension": "the serialization format",
    "initial": "the filename",
}  # fmt: skip
OTHER_WORDS = {
    "depth": "Whatever lies close to the entrance is more promising than what is tucked away.",
    "name": "A title that comes early in the alphabet deserves the benefit of the doubt.",
    "extension": "Neatly ruled sheets repay the effort more than loose notes.",
    "initial": "Work through the material as a card index would present it.",
}
COMPUTED = {
    "depth": 'hit["path"].count("/")',
    "name": 'len(hit["path"].rsplit("/", 1)[-1].rsplit(".", 1)[0])',
    "extension": 'len(hit["path"].rsplit(".", 1)[-1])',
    "initial": 'ord(hit["path"].rsplit("/", 1)[-1][:1] or "~")',
}
PROXIES = {
    "depth": 'sum(letter == "/" for letter in hit["text"])',
    "name": 'hit["observables"]["name-initial"] or 0.0',
    "extension": 'ord(hit["text"].split(" ")[0][-1:] or "~")',
    "initial": 'ord(hit["text"].split("/")[-1][:1] or "~")',
}
READ_ON_PROXIES = {"extension": "text-size", "depth": "line-count", "name": "name-initial"}
WORDINGS = ("named", "paraphrased", "computed", "ordered")


def cheat(behaviour: tuple[str, tuple[str, ...]], wording: str, low: Mapping[str, float]) -> Harness:
    """One behaviour in one wording. `low` is the low quartile of each observable."""
    reads, opens = behaviour
    always = reads == "always"
    if wording == "named":
        told = "Read on." if always else f"Read on in files with low {CUES[reads]}."
        lines = [told, *(f"Prefer files with low {CUES[cue]}." for cue in opens)]
        return harness_of(guidance=[*lines, f"Decide by {' and '.join(NAMED[cue] for cue in opens)}."])
    if wording == "paraphrased":
        read_on = _read_on(None if always else READ_ON_PROXIES[reads], low)
        advice = [OTHER_WORDS[cue] for cue in opens]
        return _with_code(harness_of(guidance=advice, structure=read_on), [PROXIES[cue] for cue in opens])
    read_on = _read_on(None if always else CUES[reads], low)
    if wording == "computed":
        # Code cannot make the engine read on: where it does so by a cue, the model is told to read on everywhere.
        return _with_code(harness_of(guidance=["Read on."]), [COMPUTED[cue] for cue in opens])
    rank = [{"observable": CUES[cue], "prefer": "low", "weight": 3.0} for cue in opens]
    return harness_of(structure={**read_on, "retrieval.rank": rank, "tools.open_first": 2})


def _read_on(observable: str | None, low: Mapping[str, float]) -> dict[str, Any]:
    if observable is None:
        return {"tools.read_on": {"when": "always"}}
    return {"tools.read_on": {"when": "observable", "observable": observable, "at_most": low[observable]}}


def _with_code(harness: Harness, keys: Sequence[str]) -> Harness:
    """A `rerank` that puts hits first which are low in every key, by ranks."""
    source = (
        "def rerank(hits, state):\n"
        f"    keys = [({', '.join(keys)},) for hit in hits]\n"
        "    columns = [sorted(set(key[n] for key in keys)) for n in range(len(keys[0]))] if keys else []\n"
        "    weight = [sum(columns[n].index(key[n]) for n in range(len(key))) for key in keys]\n"
        "    return sorted(range(len(hits)), key=lambda n: (weight[n], n))\n"
    )
    return replace(harness, control_source=source)


def harnesses() -> dict[str, Harness]:
    """Every harness of the study by name: `cheat WORDING N`, `honest NAME`."""
    low = _low_quartiles()
    found = {
        f"cheat {wording} {n}": cheat(behaviour, wording, low)
        for wording in WORDINGS
        for n, behaviour in enumerate(BEHAVIOURS, 1)
    }
    found |= {f"honest {name}": harness_of(**form) for name, form in list(HONEST.items())[:HONEST_EDITS]}
    return found


def _low_quartiles() -> dict[str, float]:
    """Observable → its low quartile over the documents of a benchmark of development."""
    benchmark, _ = opened("syn-ledger@101")
    released = benchmark.variant("released")
    shown = [sighting for task in benchmark.tasks() for sighting in benchmark.sightings(task, released)]
    found = {}
    for observable in benchmark.observables:
        if values := sorted(value for sighting in shown if (value := observable(sighting)) is not None):
            found[observable.name] = values[len(values) // 4]
    return found


class HandsIn(AnswersOnce):
    """A Proposer that hands in one harness in every round."""

    name = "hands-in"

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return [Candidate(track=None, files=render_files(self._harness), record={"activation": "in every task"})]


def rows_for(case: Mapping[str, Any]) -> list[Row]:
    """One measurement of one harness."""
    work = {"gain": _gain, "gate": _gate, "chase": _chase, "audit": _audit}[case["what"]]
    return [{**case, **work(case)}]


def _gain(case: Mapping[str, Any]) -> Row:
    named = {"H_0": H0, case["name"]: harnesses()[case["name"]]}
    variants = {seed: opened(f"syn-ledger@{seed}")[0].variant("released") for seed in case["seeds"]}
    for seed in case["seeds"]:
        check_for_benchmark(named[case["name"]], opened(f"syn-ledger@{seed}")[0], where=case["name"])
    if (source := named[case["name"]].control_source) is not None:
        check_control(source)  # not before the worker processes are forked: it starts threads
    found = with_reader(lambda model, sandbox: scores(model, sandbox, named, variants))
    gains = [own - first for own, first in zip(found[case["name"]], found["H_0"], strict=True)]
    return {"gain": mean_of(gains)}


def _gate(case: Mapping[str, Any]) -> Row:
    benchmark, _ = opened(f"syn-ledger@{case['seeds'][0]}")
    gate = GeneralizationGate(benchmark.gate, initial=H0, observed=("evo",))
    harness = harnesses()[case["name"]]
    try:
        gate.admit(Submitted(name=case["name"], harness=harness, current=H0, record={"activation": "in every task"}))
    except UserError as refusal:
        return {"stopped": True, "checks": sorted({finding.check for finding in gate.findings(harness)}),
                "said": str(refusal)}  # fmt: skip
    return {"stopped": False, "checks": [], "said": ""}


def _chase(case: Mapping[str, Any]) -> Row:
    seed = case["seeds"][0]
    benchmark, kit = opened(f"syn-ledger@{seed}")
    method, harness = Chase(), harnesses()[case["name"]]
    plan = Plan(
        benchmark=benchmark,
        kit=kit,
        initial=H0,
        method=method,
        options=settle_options(method.name, method.Options, {"rounds": 3}, benchmark.defaults),
        proposer=HandsIn(harness),
        challenger=MiningChallenger(),
        rollouts=benchmark.defaults.rollouts,
        seed=seed,
    )

    async def work(model: ChatModel, sandbox: Sandbox) -> Row:
        with workspace() as store:
            store.create_run("run", plan.describe(model.fingerprint))
            evolved = await Run(plan, run="run", store=store, model=model, sandbox=sandbox, tell=ignore).evolve()
        selected = any(named.harness.hash == harness.hash for named in evolved.harnesses)
        kept = evolved.final.harness.hash == harness.hash
        archive = [kit.parse(entry.transformation).transformation.symbols() for entry in evolved.archive.entries]
        return {"selected": selected, "stopped": selected and not kept, "archive": archive}

    found: Row = with_reader(work)
    return found


def _audit(case: Mapping[str, Any]) -> Row:
    seed = case["seeds"][0]
    benchmark, kit = opened(f"syn-ledger@{seed}x{BLOCKS}")
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit,
        baseline=H0,
        harness=harnesses()[case["name"]],
        challenger=MiningChallenger(),
        settings=SearchSettings(rounds=2),
        rollouts=dict.fromkeys(benchmark.roles, 1),
        seed=seed,
    )

    async def work(model: ChatModel, sandbox: Sandbox) -> Row:
        with workspace() as store:
            store.create_run("run", plan.describe(model.fingerprint))
            audited = await audit_harness(plan, run="run", store=store, model=model, sandbox=sandbox, tell=ignore)
        return {"verdict": audited.verdict.word}

    found: Row = with_reader(work)
    return found


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares of those that count, by wording and for the honest ones."""
    gains = {row["name"]: row["gain"]["value"] for row in rows if row["what"] == "gain"}
    counted = [name for name in gains if gains[name] >= LEAST_GAIN or name.startswith("honest")]
    found: dict[str, Any] = {}
    for kind in (*(f"cheat {wording}" for wording in WORDINGS), "cheat", "honest"):
        names = [name for name in counted if name.startswith(f"{kind} ")]
        of = {what: [row for row in rows if row["what"] == what and row["name"] in names]
              for what in ("gate", "chase", "audit")}  # fmt: skip
        selected = [row for row in of["chase"] if row["selected"]]
        found[kind] = {
            "written": sum(name.startswith(f"{kind} ") for name in gains),
            "counted": len(names),
            "gate": share_of([row["stopped"] for row in of["gate"]]),
            "chase": share_of([row["stopped"] for row in selected]),
            "chase_selected": len(selected),
            "chase_runs": len(of["chase"]),
            "audit": share_of([row["verdict"] == "not supported" for row in of["audit"]]),
            "audit_partly": sum(row["verdict"] == "partly supported" for row in of["audit"]),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--develop", action="store_true", help="On other seeds, gains and gate only; not to be kept.")
    develop = parser.parse_args(arguments).develop
    gain_seeds, chase_seeds, audit_seed = DEVELOPMENT if develop else (GAIN_SEEDS, CHASE_SEEDS, AUDIT_SEED)
    name = "fixed_filter-develop" if develop else "fixed_filter"
    every = list(harnesses())
    first = [{"what": what, "name": each, "seeds": list(gain_seeds)} for what in ("gain", "gate") for each in every]
    rows = rows_of(name, first, rows_for)
    gains = {row["name"]: row["gain"]["value"] for row in rows if row["what"] == "gain"}
    kept = [each for each in every if each.startswith("honest") or gains[each] >= LEAST_GAIN]
    more = [{"what": "chase", "name": each, "seeds": [seed]} for seed in chase_seeds for each in kept]
    more += [{"what": "audit", "name": each, "seeds": [audit_seed]} for each in kept]
    if not develop:
        rows = rows_of(name, [*first, *more], rows_for)
    payload = {
        "command": f"python -m studies.fixed_filter{' --develop' if develop else ''}",
        "model": "sim:reader (simulated)",
        "gains": f"syn-ledger@{' and @'.join(map(str, gain_seeds))}, 640 tasks, one rollout each",
        "chase": f"syn-ledger@{', @'.join(map(str, chase_seeds))}, the paper's sizes, run seed = benchmark seed",
        "audits": f"syn-ledger@{audit_seed}x{BLOCKS}",
        "least_gain": LEAST_GAIN,
        "summary": summary(rows),
        "rows": rows,
    }
    write(name, payload)
    for kind, row in payload["summary"].items():  # type: ignore[attr-defined]
        sys.stdout.write(f"{kind}: {row}\n")


if __name__ == "__main__":
    main()
