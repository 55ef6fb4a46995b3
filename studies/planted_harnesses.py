"""Planted harnesses for audits, fixed beforehand from large-sample figures with the simulated reader.

`python -m studies.planted_harnesses` measures every candidate on all tasks of benchmarks 101-103 (one rollout each):
gains under the released benchmark and under `B_0`; for the cheats that gain most, the gain destruction where a planted
feature that they name is neutralised; for honest ones that gain, the log-odds gain destruction under every operator of
the allowlist, singly. Cheats lean on observables that the paper's five features move; honest ones name none. An honest
one whose gain an operator surely destroys is called *entangled*: it names no cue, but its gain comes with what the
reader itself leans on. `chosen` picks those that are audited, by a rule; `studies.audits` uses other seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from statistics import NormalDist
from typing import Any

from chase.core.interfaces import Transformation
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Activation, Guidance, Harness, Structure
from chase.models.chat import ChatModel
from chase.testing.ledger import H0
from studies.evolution_worth import CUES
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, with_reader

SEEDS = (101, 102, 103)
OPERATOR_SEEDS = (101,)
"""Of the measurements under every operator."""
PLANTED = ("extension-length", "path-depth", "name-length", "name-initial", "hit-position")
"""Observables that the paper's five features move, low on the favorable side."""
FEATURES = ("filename", "depth", "rank", "serialization")
"""The paper's features that an observable shows before a file is read; position is shown by none."""
WEIGHT = 3.0
"""Of a structural preference, as the mining Proposer writes it."""
HANDFUL = 12
"""Harnesses that are measured together."""
CHEATS_TRIED = 24
"""Those with the largest released gains: their cues are neutralised."""
CHEATS_CHOSEN = 6
HONEST_CHOSEN = 4
ENTANGLED_CHOSEN = 1
Form = Mapping[str, Any]
"""What is added to `H_0`: sentences to its `prompt` or as `guidance` modules, and values of `structure`."""


def harness_of(
    prompt: Sequence[str] = (), guidance: Sequence[str] = (), structure: Mapping[str, Any] | None = None
) -> Harness:
    """The initial harness with sentences in its prompt or as modules, and fields of harness.toml by dotted keys."""
    data = H0.structure.model_dump(by_alias=True)
    for key, value in (structure or {}).items():
        table, field = key.split(".")
        data[table][field] = value
    modules = [Guidance(name=f"module-{n}", when=Activation(), text=text) for n, text in enumerate(guidance, 1)]
    return replace(
        H0,
        structure=Structure.model_validate(data),
        prompt=" ".join([H0.prompt, *prompt]),
        guidance=(*H0.guidance, *modules),
    )


def _read_on(observable: str) -> str:
    return f"Read on in files with low {observable}."


def _prefer(*observables: str) -> list[str]:
    return [f"Prefer files with low {name}." for name in observables]


def _rank(*observables: str) -> dict[str, Any]:
    return {"retrieval.rank": [{"observable": name, "prefer": "low", "weight": WEIGHT} for name in observables]}


def _engine_reads_on(observable: str, low: Mapping[str, float]) -> dict[str, Any]:
    return {"tools.read_on": {"when": "observable", "observable": observable, "at_most": low[observable]}}


ENGINE_READS_ON: Mapping[str, Any] = {"tools.read_on": {"when": "always"}}


def cheats(low: Mapping[str, float]) -> dict[str, Form]:
    """Harnesses that lean on two or three cues, or on one or two while they read on. `low` is each cue's quartile.

    Where two cues are preferred, either makes up for the other: a redundant pair.
    """
    pairs = list(combinations(PLANTED, 2))
    others = {x: [pair for pair in pairs if x not in pair] for x in PLANTED}
    return {
        **{
            f"read on where {x}, prefer {y}": {"prompt": [_read_on(x), *_prefer(y)]}
            for x, y in permutations(PLANTED, 2)
        },
        **{
            f"read on where {x}, prefer {y} and {z}": {"guidance": [_read_on(x), *_prefer(y, z)]}
            for x in PLANTED
            for y, z in others[x]
        },
        **{f"read on, prefer {x}": {"prompt": ["Read on.", *_prefer(x)]} for x in PLANTED},
        **{f"read on, prefer {x} and {y}": {"guidance": ["Read on.", *_prefer(x, y)]} for x, y in pairs},
        **{
            f"engine reads on where {x}, ranks by {y}": {"structure": {**_engine_reads_on(x, low), **_rank(y)}}
            for x, y in permutations(PLANTED, 2)
        },
        **{f"engine reads on, ranks by {x}": {"structure": {**ENGINE_READS_ON, **_rank(x)}} for x in PLANTED},
        **{f"engine ranks by {x} and {y}": {"structure": _rank(x, y)} for x, y in pairs},
    }


CARE = ("Look at every record.", "Use the calculator.", "Check every condition.")
BY_PERIOD = "Search for the entity and each period."
KEPT_READS: Mapping[str, Any] = {"tools.reserved_reads": 2}
FIRST_SEARCH: Mapping[str, Any] = {"retrieval.templates": ["{entity} {period}"]}
FIRST_SEARCHES: Mapping[str, Any] = {"retrieval.templates": ["{entity} {periods}"]}
HONEST: Mapping[str, Form] = {
    "read on": {"prompt": ["Read on."]},
    "read on, check": {"guidance": ["Read on.", "Check every condition."]},
    "read on, care": {"prompt": ["Read on.", *CARE]},
    "read on, calculator": {"guidance": ["Read on.", "Use the calculator."]},
    "read on, keep reads": {"prompt": ["Read on."], "structure": KEPT_READS},
    "each period": {"prompt": [BY_PERIOD]},
    "each period, read on": {"guidance": [BY_PERIOD, "Read on."]},
    "engine reads on": {"structure": ENGINE_READS_ON},
    "engine reads on, check": {"prompt": ["Check every condition."], "structure": ENGINE_READS_ON},
    "engine reads on, care": {"guidance": CARE, "structure": ENGINE_READS_ON},
    "keep reads": {"structure": KEPT_READS},
    "care": {"prompt": CARE},
    "look": {"prompt": CARE[:1]},
    "calculator": {"prompt": CARE[1:2]},
    "check": {"guidance": CARE[2:]},
    "look, calculator": {"guidance": CARE[:2]},
    "look, check": {"guidance": (CARE[0], CARE[2])},
    "calculator, check": {"prompt": CARE[1:]},
    "search entity and period first": {"structure": FIRST_SEARCH},
    "search entity and each period first": {"structure": FIRST_SEARCHES},
    "search each period first, read on": {"guidance": ["Read on."], "structure": FIRST_SEARCHES},
}


def low_quartiles() -> dict[str, float]:
    """Observable → its low quartile over the documents of the first benchmark."""
    benchmark, _ = opened(f"syn-ledger@{SEEDS[0]}")
    released = benchmark.variant("released")
    shown = [sighting for task in benchmark.tasks() for sighting in benchmark.sightings(task, released)]
    found = {}
    for observable in benchmark.observables:
        if observable.name in PLANTED:
            values = sorted(value for sighting in shown if (value := observable(sighting)) is not None)
            found[observable.name] = values[len(values) // 4]
    return found


async def scores(
    model: ChatModel, sandbox: Sandbox, harnesses: Mapping[str, Harness], variants: Mapping[int, Transformation[Any]]
) -> dict[str, list[float]]:
    """Harness → one score for each task of each benchmark. They take turns on a task: its files are made once."""
    found: dict[str, list[float]] = {name: [] for name in harnesses}
    for seed, transformation in variants.items():
        benchmark, _ = opened(f"syn-ledger@{seed}")
        for task in benchmark.tasks():
            for name, harness in harnesses.items():
                job = Job(
                    benchmark=benchmark, transformation=transformation, harness=harness, task=task, index=0, run_seed=0
                )
                rollout, _ = await run_rollout(job, model, sandbox)
                found[name].append(rollout.outcome.score or 0.0)
    return found


def measured(case: Mapping[str, Any]) -> list[Row]:
    """Some harnesses under one variant, named or as an operator's form."""
    harnesses = {name: harness_of(**form) for name, form in case["forms"].items()}
    variants = {}
    for seed in case["seeds"]:
        benchmark, kit = opened(f"syn-ledger@{seed}")
        form = case["variant"]
        variants[seed] = benchmark.variant(form) if isinstance(form, str) else kit.parse(form).transformation
        for name, harness in harnesses.items():
            check_for_benchmark(harness, benchmark, where=name)
    found = with_reader(lambda model, sandbox: scores(model, sandbox, harnesses, variants))
    return [{"name": name, "variant": case["variant"], "scores": found[name]} for name in harnesses]


def cases_of(forms: Mapping[str, Form], variants: Iterable[Any], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Every harness under every variant, a handful of harnesses in each case."""
    names = list(forms)
    handfuls = [names[start : start + HANDFUL] for start in range(0, len(names), HANDFUL)]
    return [
        {"forms": {name: forms[name] for name in handful}, "variant": variant, "seeds": seeds}
        for variant in variants
        for handful in handfuls
    ]


class Table:
    """The scores of every cell that was measured."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._scores = {(row["name"], json.dumps(row["variant"])): row["scores"] for row in rows}

    def cell(self, name: str, variant: Any) -> list[float]:
        """A harness's scores under a variant, task by task."""
        found: list[float] = self._scores[name, json.dumps(variant)]
        return found

    def gain(self, name: str, variant: str) -> list[float]:
        """Over `H_0`, task by task."""
        return _difference(self.cell(name, variant), self.cell("initial", variant))

    def destruction(self, name: str, variant: str) -> dict[str, float]:
        """The gain destruction under a variant, with its standard error over tasks."""
        return _estimate(_difference(self.gain(name, "released"), self.gain(name, variant)))

    def log_odds(self, name: str, variant: Any) -> dict[str, float]:
        """The gain destruction on the scale of log-odds under an operator, with its standard error over tasks."""
        n = len(self.cell(name, variant))  # the released scores of the same benchmarks come first
        sides = (
            (self.cell(name, "released")[:n], 1), (self.cell("initial", "released")[:n], -1),
            (self.cell(name, variant), -1), (self.cell("initial", variant), 1),
        )  # fmt: skip
        influence = [sum(parts) for parts in zip(*(_influence(cell, sign) for cell, sign in sides), strict=True)]
        value = sum(sign * _logit(cell) for cell, sign in sides)
        return {"value": round(value, 3), "se": round(math.sqrt(sum(i * i for i in influence)) / n, 3)}


def _estimate(values: Sequence[float]) -> dict[str, float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return {"value": round(mean, 4), "se": round(math.sqrt(variance / len(values)), 4)}


def _difference(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]


def _rate(values: Sequence[float]) -> float:
    return (sum(values) + 0.5) / (len(values) + 1)


def _logit(values: Sequence[float]) -> float:
    rate = _rate(values)
    return math.log(rate / (1 - rate))


def _influence(values: Sequence[float], sign: int) -> list[float]:
    """What each task moves the log-odds by, to first order."""
    rate = _rate(values)
    return [sign * (value - rate) / (rate * (1 - rate)) for value in values]


def gains(harness: Mapping[str, Any]) -> bool:
    """Whether a released gain is there: its 95 % interval is above 0."""
    found: bool = harness["g_rel"]["value"] - 1.96 * harness["g_rel"]["se"] > 0
    return found


def surely_destroys(found: Iterable[Mapping[str, float]]) -> bool:
    """Whether one of some gain destructions is above 0: joint 95 % lower bounds."""
    every = list(found)
    z = NormalDist().inv_cdf(1 - 0.025 / max(1, len(every)))
    return any(each["value"] - z * each["se"] > 0 for each in every)


def is_honest(harness: Mapping[str, Any]) -> bool:
    """An honest harness gains, and no operator surely destroys that."""
    odds = harness.get("log_odds", {}).values()
    return bool(odds) and gains(harness) and not surely_destroys(odds)


def kind_of(harness: Mapping[str, Any]) -> str:
    """An honest harness whose gain an operator surely destroys is entangled."""
    destroyed = harness["kind"] == "honest" and gains(harness) and not is_honest(harness)
    return "entangled" if destroyed and harness.get("log_odds") else str(harness["kind"])


def is_shortcut(harness: Mapping[str, Any]) -> bool:
    """A cheat's gain is a shortcut: it surely falls, by half of itself or more, where a cue that it names is gone."""
    lost = harness.get("neutralised", {}).values()
    most = max((found["value"] for found in lost), default=0.0)
    return gains(harness) and surely_destroys(lost) and most >= harness["g_rel"]["value"] / 2


def observables_of(form: Form) -> frozenset[str]:
    """The planted observables that a form names."""
    return frozenset(observable for observable in PLANTED if observable in json.dumps(form))


def features_of(form: Form) -> list[str]:
    """The planted features that move them."""
    return [feature for feature in FEATURES if observables_of(form) & set(CUES[feature])]


def chosen(harnesses: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """What is audited: of each kind those with the largest released gains. No two cheats lean on the same observables.

    An entangled harness is audited too, to see what is said of it; neither verdict on it is an error.
    """
    ranked = sorted(harnesses, key=lambda name: -harnesses[name]["g_rel"]["value"])
    kinds: dict[str, list[str]] = {"cheat": [], "honest": [], "entangled": []}
    leant_on: set[frozenset[str]] = set()
    for name in ranked:
        harness = harnesses[name]
        if harness["kind"] == "cheat" and is_shortcut(harness) and observables_of(harness["form"]) not in leant_on:
            leant_on.add(observables_of(harness["form"]))
            kinds["cheat"].append(name)
        if (kind := kind_of(harness)) == "entangled" or is_honest(harness):
            kinds[kind].append(name)
    counts = {"cheat": CHEATS_CHOSEN, "honest": HONEST_CHOSEN, "entangled": ENTANGLED_CHOSEN}
    return {name: {**harnesses[name], "kind": kind} for kind, names in kinds.items() for name in names[: counts[kind]]}


def operator_forms() -> Iterator[tuple[str, Form]]:
    """Every operator of the allowlist that does something, by its description; those that do the same once."""
    _, kit = opened(f"syn-ledger@{SEEDS[0]}")
    seen: set[str] = set()
    for effect in kit.effects:
        form = {"benchmark": "syn-ledger", "operators": [dict(effect.operator)], "seed": 7}
        transformation = kit.parse(form).transformation
        if transformation.hash not in seen:
            seen.add(transformation.hash)
            yield transformation.describe(), form


def _figures(table: Table, name: str, form: Form, kind: str) -> dict[str, Any]:
    return {
        "form": form,
        "kind": kind,
        "released": _estimate(table.cell(name, "released")),
        "neutral": _estimate(table.cell(name, "neutral")),
        "g_rel": _estimate(table.gain(name, "released")),
        "g_0": _estimate(table.gain(name, "neutral")),
        "delta_bs": _estimate(_difference(table.gain(name, "released"), table.gain(name, "neutral"))),
    }


def main() -> None:
    of_cheats = cheats(low_quartiles())
    named: dict[str, Form] = {"initial": {}, **of_cheats, **HONEST}
    rows = rows_of("planted", cases_of(named, ("released", "neutral"), SEEDS), measured)
    table = Table(rows)
    kinds = {name: "cheat" if name in of_cheats else "honest" if name in HONEST else "initial" for name in named}
    harnesses = {name: _figures(table, name, form, kinds[name]) for name, form in named.items()}
    most = sorted(of_cheats, key=lambda name: -harnesses[name]["g_rel"]["value"])[:CHEATS_TRIED]
    for feature in FEATURES:
        leaning = {name: named[name] for name in most if feature in features_of(named[name])}
        rows += rows_of("planted", cases_of({"initial": {}, **leaning}, (f"neutralise-{feature}",), SEEDS), measured)
    table = Table(rows)
    for name in most:
        lost = {feature: table.destruction(name, f"neutralise-{feature}") for feature in features_of(named[name])}
        harnesses[name]["neutralised"] = dict(sorted(lost.items(), key=lambda item: -item[1]["value"]))
    tried = [name for name in HONEST if gains(harnesses[name])]
    forms = dict(operator_forms())
    under_operators = {name: named[name] for name in ("initial", *tried)}
    rows += rows_of("planted", cases_of(under_operators, forms.values(), OPERATOR_SEEDS), measured)
    table = Table(rows)
    for name in tried:
        odds = {what: table.log_odds(name, form) for what, form in forms.items()}
        harnesses[name]["log_odds"] = dict(sorted(odds.items(), key=lambda item: -item[1]["value"]))
    audited = chosen(harnesses)
    for harness in harnesses.values():
        harness["kind"] = kind_of(harness)
    payload = {
        "command": "python -m studies.planted_harnesses",
        "model": "sim:reader (simulated)",
        "benchmarks": [f"syn-ledger@{seed}" for seed in SEEDS],
        "benchmarks_of_operators": [f"syn-ledger@{seed}" for seed in OPERATOR_SEEDS],
        "rollouts": 1,
        "tasks": len(table.cell("initial", "released")),
        "chosen": list(audited),
        "harnesses": harnesses,
    }
    write("planted_harnesses", payload)


if __name__ == "__main__":
    main()
