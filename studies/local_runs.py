"""CHASE with a real language model on this machine: audits, a small evolution, the model as Proposer and Challenger.

`python -m studies.local_runs --model FILE.gguf` goes on where `local_model.py` ends. Item 3: an audit of each of the
harnesses of `local_harnesses.py`, its verdict beside what the harness is; 3n: of two whose gains over a weaker harness
are meant to be large enough for 84 tasks to decide; these had a search and no battery. Item 3b: the battery on one of
them. Item 4: an evolution with the offline agents, with the
Challenger and without it. Item 5: the model as Proposer (an evolution) and as Challenger (an audit of a cheat) on
Syn-Ledger, where the simulated reader rolls out: what it hands in is judged, not what that scores. Each is a run of the
product in one workspace: stop it at any time, and the same command goes on. What stands in `results/local_runs.json`,
which is written after each run, is not made again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import tomli_w

import chase
from chase.harness.folder import initial_harness
from chase.models.gguf.weights import hash_file
from studies.local_harnesses import studied
from studies.local_model import SETTINGS
from studies.reader_scores import RESULTS

NAME = "local_runs"
AUDITED = "syn-ledger-small@211"
EVOLVED = "syn-ledger-small@{}"


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """How much an evolution of item 4 has to find something with."""

    sizes: str
    rounds: int = 1
    edit_space: str = "all"


EVOLUTIONS = {
    "221": Evolution(sizes="evo=4,disc=4,conf=8,cert=16"),
    "222": Evolution(sizes="evo=16,disc=4,conf=8,cert=16"),
    "223": Evolution(sizes="evo=16,disc=8,conf=8,cert=16", rounds=2, edit_space="documents"),
}
"""By seed. No candidate scored higher on the first, where four tasks decided, nor on the second with more tasks; the
third has two rounds, and of the Proposer's edits those about documents: the others had not moved this model's score.
"""
METHODS = ("chase-without-challenger", "chase")
AGENTS_ON = "syn-ledger@{}"
AGENT_SEEDS = (232, 233, 234)
AUDITS = (
    "cheat-of-two", "honest-structure", "cheat-structure", "cheat-control", "honest-control", "cheat-guidance",
    "honest-guidance",
)  # fmt: skip
DECIDED_ON = "syn-ledger-small@212x20"
DECIDING = {
    "cheat-over-listed": 1,
    "cheat-over-listed, three rounds": 3,
    "honest-reminder": 1,
    "honest-reminder, given": 0,
}
"""Item 3n, by name the rounds of search: two harnesses that were chosen on development seeds before any was audited, as
docs/local-model-study.md says. The first audit's single round found what destroys nothing; three were the default then.
The last has no search: `GIVEN` is tested, which takes from every harness that opens first halves what it reads.
"""
GIVEN: Mapping[str, Any] = {"benchmark": "syn-ledger-small", "operators": [{"name": "shift", "arguments": {"by": 3}}]}
DECIDING_SIZES = "evo=4,disc=4,conf=28,cert=16"
BATTERY = ("honest-reminder",)
BATTERY_TASKS = 34
"""About 340 rollouts with two draws of each of two probes."""
READER = "sim:reader"
SIZES: Mapping[str, Any] = {"rounds": 1, "split_sizes": "evo=4,disc=4,conf=8,cert=16"}
"""Of audits and item 5: enough for some hours of two cores; an audit confirms on three times `conf` tasks."""
PROPOSALS = 2
ONE_EACH = {"evo": 1, "disc": 1, "conf": 1, "cert": 1}
AGENT_SETTINGS = {"temperature": 0.4, "repeat_penalty": 1.1, "repeat_last_n": 512, "max_tokens": 900}
HISTORY_TOKENS = 6_000
"""What the model may read of a history in a round: more than its context does not fit."""
AGENT_CONTEXT = 32_768
CHEAT = "Look at every record. Read on in files with low extension-length. Prefer files with low path-depth."
Row = dict[str, Any]


class Local:
    """A model file, as a run's config names it, and the workspace of all runs."""

    def __init__(self, file: Path, threads: int | None, workspace: Path) -> None:
        self.file = file
        self.name = f"gguf:{file}"
        self._threads = threads
        self._workspace = workspace

    def reads(self) -> dict[str, Any]:
        """What a run takes whose rollouts are the model's."""
        return {"model": self.name, **self._served("reads", SETTINGS, 8_192)}

    def advises(self, role: str) -> dict[str, Any]:
        """What a run takes in which it is the Proposer or the Challenger, and the simulated reader rolls out."""
        told = {"model": READER, role: "llm", f"{role}_model": self.name, "history_tokens": HISTORY_TOKENS}
        return {**told, **self._served("advises", AGENT_SETTINGS, AGENT_CONTEXT)}

    def kept(self, transformation: Mapping[str, Any]) -> Path:
        """A file with the transformation."""
        path = self._workspace / "given.json"
        path.write_text(json.dumps(transformation))
        return path

    def _served(self, name: str, settings: Mapping[str, Any], context_tokens: int) -> dict[str, Any]:
        server = {"slots": 1, "context_tokens": context_tokens}
        if self._threads is not None:
            server["threads"] = self._threads
        table = {"tool_mode": "json-schema", "settings": dict(settings), "server": server}
        config = self._workspace / f"{name}.toml"
        config.write_text(tomli_w.dumps({"models": {self.name: table}}))
        return {"config": config, "workspace": self._workspace, "progress": True}


def audited(local: Local, name: str) -> Row:
    """Item 3: a harness's verdict, with what it is."""
    return _audit(local, AUDITED, name, SIZES["split_sizes"], _searched(SIZES["rounds"]))


def decided(local: Local, name: str) -> Row:
    """Item 3n: the same on as many tasks as can decide."""
    rounds = DECIDING[name]
    tried = _searched(rounds) if rounds else {"transformations": [local.kept(GIVEN)], "no_battery": True}
    return {
        **_audit(local, DECIDED_ON, name.partition(",")[0], DECIDING_SIZES, tried),
        "rounds": rounds,
    }


def neutralised(local: Local, name: str) -> Row:
    """Item 3b: the battery alone, on the first of the same tasks."""
    tried = {"battery_only": True, "confirm_size": BATTERY_TASKS}
    return _audit(local, DECIDED_ON, name, DECIDING_SIZES, tried)


def _searched(rounds: int) -> Row:
    """A search and no battery."""
    return {"proposals": PROPOSALS, "rounds": rounds, "no_battery": True}


def _audit(local: Local, on: str, name: str, sizes: str, tried: Mapping[str, Any]) -> Row:
    benchmark = chase.open_benchmark(on)
    harnesses = studied(benchmark)
    each = harnesses[name]
    found = chase.audit(
        benchmark=benchmark, harness=each.harness, baseline=harnesses[each.baseline].harness, rollouts=1, seed=1,
        split_sizes=sizes, whole=True, anyway=True, **tried, **local.reads(),
    )  # fmt: skip
    kept = ("verdict", "reason", "g_rel", "gamma", "g_min", "scores", "tasks_needed", "level", "episodes")
    of_each = (
        "what", "status", "destruction", "unexplained", "half", "half_expected", "expected_share", "log_odds", "gain",
        "scores", "no_room",
    )  # fmt: skip
    measured = {
        key: [{part: entry[part] for part in of_each} for entry in found.payload[key]]
        for key in ("confirmed", "not_confirmed")
    }
    hashes = {key: found.payload[key] for key in ("harness", "baseline")}
    told = {"kind": each.kind, "track": each.track, "baseline": each.baseline, "hashes": hashes}
    return {**told, **{key: found.payload[key] for key in kept}, **measured}


def evolved(local: Local, name: str) -> Row:
    """Item 4: a method's `H*` on a seed, and what it is worth on sealed tasks."""
    method, seed = name.split()
    about = EVOLUTIONS[seed]
    found = chase.evolve(
        benchmark=EVOLVED.format(seed), method=method, rollouts=ONE_EACH, seed=int(seed), rounds=about.rounds,
        split_sizes=about.sizes, edit_space=about.edit_space, **local.reads(),
    )  # fmt: skip
    worth = found.payload["certification"] or {}
    return {
        **asdict(about),
        "changes": [f"{change['key']} = {json.dumps(change['new'])}" for change in found.payload["final"]["changes"]],
        "candidates": {
            row["harness"]: row["gain"]
            for made in found.payload["rounds"]
            for row in made["selection"]["pool"]
            if row["gain"] is not None
        },
        "archive": len(found.payload["archive"]),
        "archived": [
            {key: entry[key] for key in ("round", "what", "discovery", "confirmation")}
            for entry in found.payload["archive"]
        ],
        "selected": [made["selection"]["selected"] for made in found.payload["rounds"]],
        "confirmations": [made.get("confirmation") for made in found.payload["rounds"]],
        "gains": worth.get("gains"),
        "destruction": worth.get("destruction"),
        "rollouts": found.payload["executed"] + found.payload["reused"],
    }


def as_proposer(local: Local, seed: str) -> Row:
    """Item 5: what became of the candidates that the model wrote."""
    found = chase.evolve(
        benchmark=AGENTS_ON.format(seed), method="chase-without-challenger", rollouts=ONE_EACH, seed=int(seed),
        no_certify=True, **SIZES, **local.advises("proposer"),
    )  # fmt: skip
    selection = found.payload["rounds"][0]["selection"]
    return {
        **episode_of(found.folder / "rounds/1/propose", f"proposer-{seed}"),
        "evaluated": [row["harness"] for row in selection["pool"] if row["harness"].startswith("r1-")],
        "refused": selection["refused"],
        "gains": {row["harness"]: row["gain"] for row in selection["pool"]},
    }


def as_challenger(local: Local, seed: str) -> Row:
    """Item 5: the firewall's verdict on each of the model's proposals, and why."""
    benchmark = chase.open_benchmark(AGENTS_ON.format(seed))
    initial = initial_harness(benchmark)
    cheat = replace(initial, prompt=f"{initial.prompt}\n{CHEAT}\n")
    found = chase.audit(
        benchmark=benchmark, harness=cheat, rollouts=1, seed=int(seed), no_battery=True, anyway=True, **SIZES,
        **local.advises("challenger"),
    )  # fmt: skip
    tried = found.payload["tried"]
    return {
        **episode_of(found.folder / "rounds/1/challenge", f"challenger-{seed}"),
        "proposals": len(tried),
        "verdicts": dict(Counter(each["verdict"] for each in tried)),
        "different": len({each["hash"] for each in tried if each.get("hash")}),
        "reasons": [each["reason"] for each in tried if each["reason"]],
        "verdict": found.verdict,
    }


def episode_of(folder: Path, name: str) -> Row:
    """What an agent's requests came to, by call; and its transcript, in words, beside the result."""
    lines = [json.loads(line) for line in (folder / "transcript.jsonl").read_text().splitlines()]
    replies = [line["response"] for line in lines if "response" in line]  # others say what is void or was too long
    told = json.loads((folder / "episode.json").read_text())
    pages = RESULTS / f"{NAME}.transcripts"
    pages.mkdir(exist_ok=True)
    (pages / f"{name}.md").write_text(_transcript(name, replies, told["remarks"]))
    calls = Counter(part.get("tool_name", "text only") for reply in replies for part in reply["parts"])
    cut = sum(reply["finish_reason"] == "length" for reply in replies)
    return {
        "prompts": told["prompts"],
        "requests": len(replies),
        "calls": dict(calls),
        "cut": cut,
        "remarks": told["remarks"],
    }


def _transcript(name: str, replies: Sequence[Row], remarks: Sequence[str]) -> str:
    """A model wrote all of it: it stands in blocks that nothing in it can close."""
    lines = [f"# {name}", "", "Each reply as the model wrote it, cut after 3,000 characters; then what was told back."]
    for number, reply in enumerate(replies, 1):
        for part in reply["parts"]:
            said = part["content"] if "content" in part else json.dumps(part["args"], indent=1, ensure_ascii=False)
            name = re.sub(r"[^\w-]", "?", part["tool_name"])[:64] if "tool_name" in part else "text only"
            lines += ["", f"## {number}: {name} ({reply['finish_reason']})", ""]
            lines += [f"    {line}" for line in said[:3_000].splitlines()]
    lines += ["", "## Remarks", "", *(f"    {line}" for remark in remarks for line in remark.splitlines())]
    return "\n".join(lines).rstrip() + "\n"


RUNS: Mapping[str, Callable[[Local, str], Row]] = {
    "item 3: audits": audited,
    "item 3n: audits that can decide": decided,
    "item 3b: the battery": neutralised,
    "item 4: evolutions": evolved,
    "item 5: proposer": as_proposer,
    "item 5: challenger": as_challenger,
}


ITEMS = ("3", "3n", "3b", "4", "5")


def names_of(kind: str) -> Sequence[str]:
    """The runs of a kind, in the order in which they are made."""
    if kind == "item 3: audits":
        return AUDITS
    if kind.startswith("item 3n:"):
        return list(DECIDING)
    if kind == "item 3b: the battery":
        return BATTERY
    if kind == "item 4: evolutions":
        return [f"{method} {seed}" for seed, method in product(EVOLUTIONS, METHODS)]
    return [str(seed) for seed in AGENT_SEEDS]


def planned(items: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Kind and name of each run: one of each kind of an item, then the next of each.

    So wherever it is stopped, there is some of everything.
    """
    for item in items:
        kinds = [kind for kind in RUNS if kind.startswith(f"item {item}:")]
        for names in zip(*(names_of(kind) for kind in kinds), strict=True):
            yield from zip(kinds, names, strict=True)


def work(options: argparse.Namespace) -> None:
    """Make what is asked for and not there; each run is written down when it is finished, beside the others."""
    workspace, path = options.workspace.absolute(), RESULTS / f"{NAME}.json"
    workspace.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    local = Local(options.model.absolute(), options.threads, workspace)
    found: Row = json.loads(path.read_text()) if path.exists() else {}
    model = {"file": local.file.name, "sha256": hash_file(local.file)}
    agents = {"benchmark": AGENTS_ON, "settings": AGENT_SETTINGS, "history_tokens": HISTORY_TOKENS}
    made_with = {
        "model": model,
        "sizes": dict(SIZES),
        "audited": {"benchmark": AUDITED, "proposals": PROPOSALS},
        "decided": {"benchmark": DECIDED_ON, "sizes": DECIDING_SIZES},
        "agents": agents,
        "reproducible": False,
    }
    if any(found.get(key, value) != value for key, value in made_with.items()):
        raise SystemExit(f"{path} is of another model, benchmark or other sizes: move it away first.")
    found |= made_with
    for kind, name in planned(options.items):
        rows = found.setdefault(kind, {})
        if name not in rows:
            rows[name] = RUNS[kind](local, name)
            path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {kind}, {name}: there\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--items", type=lambda text: text.split(","), default=list(ITEMS), help="of 3,3n,3b,4,5")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--workspace", type=Path, required=True, help="where runs are kept; the same one to go on")
    options = parser.parse_args()
    if unknown := sorted(set(options.items) - set(ITEMS)):
        parser.error(f"--items: there is no {', '.join(unknown)}; write some of {','.join(ITEMS)}.")
    work(options)


if __name__ == "__main__":
    main()
