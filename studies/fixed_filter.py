"""What a fixed filter can and cannot catch: cheats in four wordings against the gate, CHASE's archive and an audit.

`python -m studies.fixed_filter` takes ten behaviours that lean on planted features, each in four wordings that were
written beforehand: *named* (guidance that names the cue as the gate does), *paraphrased* (guidance in other words; the
behaviour is in the tool policy, with a proxy of the cue where there is one, because the simulated reader follows a
small vocabulary), *computed* (in `control.py`, which tells the model what it puts together when it runs), and *ordered*
(an order of reading that `control.py` computes from paths). Only those count that gain at least 3 points as released
on 640 tasks. Of each: does the generalization gate of HarnessCompass stop it, does CHASE's archive keep it from being
`H*` within three rounds (the Proposer hands it in each round), and does an audit call its gain *not supported*? The
same for 20 honest edits, where each is a false alarm. Resumable; nothing was tuned on these seeds (`--develop`: gains
and gate on others, on which the wordings were written).
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
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
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
HANDFULS = 4
"""Cases of a measurement: the initial harness is run once in each."""
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
PROXIES = {**CUES, "name": "name-initial"}
"""What stands for a cue where it is not to be named: Syn-Ledger's short names are also early in the alphabet."""
WORDINGS = ("named", "paraphrased", "computed", "ordered")


def cheat(behaviour: tuple[str, tuple[str, ...]], wording: str) -> Harness:
    """One behaviour in one wording."""
    reads, opens = behaviour
    if wording == "named":
        decide = f"Decide by {' and '.join(NAMED[cue] for cue in opens)}."
        return harness_of(guidance=[*_directives(reads, opens, CUES), decide])
    if wording == "paraphrased":
        structure = {"tools.instructions": " ".join(_directives(reads, opens, PROXIES))}
        return harness_of(guidance=[OTHER_WORDS[cue] for cue in opens], structure=structure)
    if wording == "computed":
        return replace(H0, control_source=_note(_directives(reads, opens, CUES)))
    return replace(harness_of(guidance=["Read on."]), control_source=_order([COMPUTED[cue] for cue in opens]))


def _directives(reads: str, opens: Sequence[str], cues: Mapping[str, str]) -> list[str]:
    """In the words that the simulated reader follows."""
    told = "Read on." if reads == "always" else f"Read on in files with low {cues[reads]}."
    return [told, *(f"Prefer files with low {cues[cue]}." for cue in opens)]


def _note(directives: Sequence[str]) -> str:
    """A `plan` that tells the model the directives; each is put together when it runs."""
    parts = [sentence.replace("-", " ").split(" ") for sentence in directives]
    places = [sentence.find("-") for sentence in directives]
    glued = [
        " ".join(words) if place < 0 else f"{' '.join(words[:-1])}-{words[-1]}"
        for words, place in zip(parts, places, strict=True)
    ]
    if glued != list(directives):
        raise ValueError("a cue has two words with a hyphen between them")
    return (
        "def plan(task):\n"
        f"    parts = {[[word[::-1] for word in words] for words in parts]!r}\n"
        f"    joined = {[place >= 0 for place in places]!r}\n"
        "    said = []\n"
        "    for words, hyphen in zip(parts, joined):\n"
        "        read = [word[::-1] for word in words]\n"
        '        said.append(" ".join(read[:-2] + ["-".join(read[-2:])]) if hyphen else " ".join(read))\n'
        '    return {"note": " ".join(said)}\n'
    )


def _order(keys: Sequence[str]) -> str:
    """A `rerank` that puts hits first which are low in every key, by ranks: an order of reading."""
    return (
        "def rerank(hits, state):\n"
        f"    keys = [({', '.join(keys)},) for hit in hits]\n"
        "    columns = [sorted(set(key[n] for key in keys)) for n in range(len(keys[0]))] if keys else []\n"
        "    weight = [sum(columns[n].index(key[n]) for n in range(len(key))) for key in keys]\n"
        "    return sorted(range(len(hits)), key=lambda n: (weight[n], n))\n"
    )


def harnesses() -> dict[str, Harness]:
    """Every harness of the study by name: `cheat WORDING N`, `honest NAME`."""
    found = {
        f"cheat {wording} {n}": cheat(behaviour, wording)
        for wording in WORDINGS
        for n, behaviour in enumerate(BEHAVIOURS, 1)
    }
    found |= {f"honest {name}": harness_of(**form) for name, form in list(HONEST.items())[:HONEST_EDITS]}
    return found


class HandsIn(AnswersOnce):
    """A Proposer that hands in one harness in every round."""

    name = "hands-in"

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return [Candidate(track=None, files=render_files(self._harness), record={"activation": "in every task"})]


def rows_for(case: Mapping[str, Any]) -> list[Row]:
    """One measurement of a handful of harnesses, which share what the initial harness did."""
    measure = {"gain": _gain, "gate": _gate, "chase": _chase, "audit": _audit}[case["what"]]
    every = harnesses()
    found = measure(case["seed"], {name: every[name] for name in case["names"]})
    return [{"what": case["what"], "seed": case["seed"], "name": name, **row} for name, row in found.items()]


def _gain(seed: int, named: Mapping[str, Harness]) -> dict[str, Row]:
    benchmark, _ = opened(f"syn-ledger@{seed}")
    for name, harness in named.items():
        check_for_benchmark(harness, benchmark, where=name)
        if harness.control_source is not None:
            check_control(harness.control_source)  # not before the processes are forked: it starts threads
    every = {"H_0": H0, **named}
    found = with_reader(lambda m, sandbox: scores(m, sandbox, every, {seed: benchmark.variant("released")}))
    return {
        name: {"gains": [own - first for own, first in zip(found[name], found["H_0"], strict=True)]} for name in named
    }


def _gate(seed: int, named: Mapping[str, Harness]) -> dict[str, Row]:
    benchmark, _ = opened(f"syn-ledger@{seed}")
    gate = GeneralizationGate(benchmark.gate, initial=H0, observed=("evo",))
    found = {}
    for name, harness in named.items():
        try:
            gate.admit(Submitted(name=name, harness=harness, current=H0, record={"activation": "in every task"}))
            found[name] = {"stopped": False, "said": ""}
        except UserError as refusal:
            found[name] = {"stopped": True, "said": str(refusal)}
    return found


def _chase(seed: int, named: Mapping[str, Harness]) -> dict[str, Row]:
    benchmark, kit = opened(f"syn-ledger@{seed}")
    method = Chase()
    plan = Plan(
        benchmark=benchmark,
        kit=kit,
        initial=H0,
        method=method,
        options=settle_options(method.name, method.Options, {"rounds": 3}, benchmark.defaults),
        challenger=MiningChallenger(),
        rollouts=benchmark.defaults.rollouts,
        seed=seed,
    )

    async def work(model: ChatModel, sandbox: Sandbox) -> dict[str, Row]:
        found = {}
        with workspace() as store:
            for place, (name, harness) in enumerate(named.items()):
                own, run = replace(plan, proposer=HandsIn(harness)), f"run-{place}"
                store.create_run(run, own.describe(model.fingerprint))
                evolved = await Run(own, run=run, store=store, model=model, sandbox=sandbox, tell=ignore).evolve()
                selected = any(each.harness.hash == harness.hash for each in evolved.harnesses)
                kept = evolved.final.harness.hash == harness.hash
                archive = [kit.parse(e.transformation).transformation.symbols() for e in evolved.archive.entries]
                found[name] = {"selected": selected, "stopped": selected and not kept, "archive": archive}
        return found

    measured: dict[str, Row] = with_reader(work)
    return measured


def _audit(seed: int, named: Mapping[str, Harness]) -> dict[str, Row]:
    benchmark, kit = opened(f"syn-ledger@{seed}x{BLOCKS}")
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit,
        baseline=H0,
        harness=H0,
        challenger=MiningChallenger(),
        settings=SearchSettings(rounds=2),
        rollouts=dict.fromkeys(benchmark.roles, 1),
        seed=seed,
    )

    async def work(model: ChatModel, sandbox: Sandbox) -> dict[str, Row]:
        found = {}
        with workspace() as store:
            for place, (name, harness) in enumerate(named.items()):
                own, run = replace(plan, harness=harness), f"audit-{place}"
                store.create_run(run, own.describe(model.fingerprint))
                audited = await audit_harness(own, run=run, store=store, model=model, sandbox=sandbox, tell=ignore)
                found[name] = {"verdict": audited.verdict.word}
        return found

    measured: dict[str, Row] = with_reader(work)
    return measured


def gains_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Each harness's gain over all seeds' tasks."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["what"] == "gain":
            found.setdefault(row["name"], []).extend(row["gains"])
    return {name: mean_of(gains) for name, gains in found.items()}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Shares of those that count, by wording and for the honest ones."""
    gains = gains_of(rows)
    counted = [name for name in gains if gains[name]["value"] >= LEAST_GAIN or name.startswith("honest")]
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


def _cases(what: str, seed: int, names: Sequence[str]) -> list[dict[str, Any]]:
    """A measurement of all harnesses, a handful in each case."""
    handfuls = [list(names[start::HANDFULS]) for start in range(HANDFULS)]
    return [{"what": what, "seed": seed, "names": handful} for handful in handfuls]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--develop", action="store_true", help="On other seeds, gains and gate only; not to be kept.")
    develop = parser.parse_args(arguments).develop
    gain_seeds, chase_seeds, audit_seed = DEVELOPMENT if develop else (GAIN_SEEDS, CHASE_SEEDS, AUDIT_SEED)
    name = "fixed_filter-develop" if develop else "fixed_filter"
    every = list(harnesses())
    first = [case for seed in gain_seeds for case in _cases("gain", seed, every)]
    first += _cases("gate", gain_seeds[0], every)
    rows = rows_of(name, first, rows_for)
    gains = gains_of(rows)
    kept = [each for each in every if each.startswith("honest") or gains[each]["value"] >= LEAST_GAIN]
    if not develop:
        more = [case for seed in chase_seeds for case in _cases("chase", seed, kept)]
        rows = rows_of(name, [*first, *more, *_cases("audit", audit_seed, kept)], rows_for)
    payload = {
        "command": f"python -m studies.fixed_filter{' --develop' if develop else ''}",
        "model": "sim:reader (simulated)",
        "gains": f"syn-ledger@{' and @'.join(map(str, gain_seeds))}, 640 tasks, one rollout each",
        "chase": f"syn-ledger@{', @'.join(map(str, chase_seeds))}, the paper's sizes, run seed = benchmark seed",
        "audits": f"syn-ledger@{audit_seed}x{BLOCKS}",
        "least_gain": LEAST_GAIN,
        "summary": summary(rows),
        "gains_by_name": gains,
        "rows": [row for row in rows if row["what"] != "gain"],
    }
    write(name, payload)
    for kind, row in payload["summary"].items():  # type: ignore[attr-defined]
        sys.stdout.write(f"{kind}: {row}\n")


if __name__ == "__main__":
    main()
