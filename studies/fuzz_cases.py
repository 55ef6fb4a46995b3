"""Random transformations for the firewall: from the allowlist, as broken text, and with operators that cheat.

A hostile operator is a random change of a task's world under a random condition. It is registered for its case alone
and passes parsing like any other, so that a check has to catch it.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import DISTRACTORS, Document, read_question, solve
from chase.benchmarks.syn_ledger.features import HALF
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, DocumentProtocol, Manifest
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.benchmarks.syn_ledger.world import World
from chase.core.keyed import key_bits, rng
from chase.core.values import Json
from chase.protocol.operators import Arguments, OperatorKind
from studies.fuzz_changes import (
    BY_LABEL,
    Change,
    Contender,
    contents_change,
    label_change,
    protocol_change,
    world_change,
)

Form = dict[str, Json]
Condition = Callable[[World, Document, DocumentProtocol], bool]
HOSTILE = "fuzz"
"""The hostile operator's name in a form."""


class Nothing(Arguments):
    """No arguments."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A proposal as its author would hand it in, with the hostile operator it names, if any."""

    kind: str
    data: str | Form
    hostile: Hostile | None = None


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """A change under a condition. `condition` makes it anew: some of them count calls."""

    name: str
    change: Change
    fields: frozenset[str]
    condition_name: str
    condition: Callable[[], Condition]
    lawful: bool
    """Whether the condition looks at protocol state alone."""
    states_inverse: bool = False

    def kind(self, forced: bool | None = None) -> OperatorKind[World]:
        """The operator, or the one that always or never acts."""
        condition = self.condition() if forced is None else lambda w, d, p: forced
        return OperatorKind(
            name=HOSTILE,
            version=1,
            summary="a hostile operator",
            arguments=Nothing,
            fields=lambda _: self.fields,
            in_words=lambda _: "a hostile operator",
            run=lambda world, _, __: _conditional(world, self.change(world), condition),
            inverse=lambda _: {} if self.states_inverse else None,
        )


def _conditional(world: World, changed: World, condition: Condition) -> World:
    """Document by document where only the manifest changed; else as a whole, by the first path's condition."""
    pairs = list(zip(world.documents, world.manifest, strict=True))
    same_ids = [p.id for p in changed.manifest] == [p.id for p in world.manifest]
    if same_ids and changed == replace(world, manifest=changed.manifest):
        both = zip(pairs, changed.manifest, strict=True)
        return replace(world, manifest=Manifest(tuple(new if condition(world, d, p) else p for (d, p), new in both)))
    return changed if condition(world, *min(pairs, key=lambda pair: pair[1].path)) else world


def _on_worlds(kind: OperatorKind[Manifest]) -> OperatorKind[World]:
    def run(world: World, arguments: Any, seed: int) -> World:
        return replace(world, manifest=kind.run(world.manifest, arguments, seed))

    return OperatorKind(**{name: getattr(kind, name) for name in OperatorKind.__dataclass_fields__} | {"run": run})


WORLD_ALLOWLIST: Mapping[str, OperatorKind[World]] = {name: _on_worlds(kind) for name, kind in ALLOWLIST.items()}


# Honest forms


def operator_form(draw: random.Random) -> Form:
    """One operator of the allowlist with random arguments."""
    kind = draw.choice(list(ALLOWLIST.values()))
    arguments = {name: draw.choice(values) for name, values in kind.choices().items()}
    form: Form = {"name": kind.name, "arguments": arguments}
    return form | ({"seed": draw.getrandbits(48)} if draw.random() < 0.3 else {})


def honest_form(draw: random.Random, most: int = 5) -> Form:
    operators = [operator_form(draw) for _ in range(draw.randint(0, most))]
    return {"benchmark": "syn-ledger", "operators": operators, "seed": draw.getrandbits(48)}


def declare_at_random(draw: random.Random, form: Form) -> Form:
    """Declared as it is, more than needed, or, most often, too little."""
    fields = sorted(PROTOCOL_FIELDS)
    some = draw.choice([None, fields, draw.sample(fields, draw.randint(0, 6)), []])
    return form if some is None else form | {"declared": some}


# Broken texts

_ODD: tuple[Json, ...] = (
    None, True, 2, -1, 2**48, 1e308, float("nan"), "", "3", "\ud800", "\u202e", "x" * 200, [], [[]], {}, {"a": {}},
    "answer", 10**30, ["rank", 3], "syn-ledger@7", "construction.neutralise", "selftest.moves-content", "__class__",
    "../../x",
)  # fmt: skip


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    for key, held in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(held, dict | list):
            yield from _places(held)


def broken_form(draw: random.Random) -> str | Form:
    """An honest form with some places made wrong, or its text with some characters changed."""
    form = copy.deepcopy(declare_at_random(draw, honest_form(draw)))
    for _ in range(draw.randint(1, 3)):
        container, key = draw.choice(list(_places(form)))
        how, odd = draw.randrange(4), copy.deepcopy(draw.choice(_ODD))
        if how == 0:
            container[key] = odd
        elif how == 1:
            del container[key]
        elif isinstance(container, dict):
            container[draw.choice(["code", "if", "version", "schema", "claims", "seed", "declared", "\ud800"])] = odd
        else:
            container += [copy.deepcopy(container[key]) for _ in range(draw.choice([1, 20]))]
    return form if draw.random() < 0.4 else _broken_text(draw, json.dumps(form))


def _broken_text(draw: random.Random, text: str) -> str:
    place, span = draw.randrange(len(text)), draw.randint(1, 12)
    repeated = draw.choice(['"operators":[],', '"seed":1,', '"benchmark":"officeqa",', '"declared":["rank"],'])
    return draw.choice(
        [
            text[:place],
            text[:place] + text[place + span :],
            text[:place] + chr(draw.choice([0, 34, 123, 0x2028, 0xFEFF, 0xDC00, 0x1F600])) + text[place:],
            text[:place] + draw.choice(["9" * 5000, "1e999", "-0", "NaN"]) + text[place:],
            "{" + repeated + text[1:],
            "[" * draw.choice([100, 2000, 60_000]) + text,
            text.replace("{}", '{"a":' * 900 + "1" + "}" * 900),
            text + " " * draw.choice([1, 70_000]),
            text * 2,
            text.replace("syn-ledger", draw.choice(["officeqa", "syn-ledger@7", "SYN-LEDGER", "syn‐ledger"])),
        ]
    )


# Conditions


def lawful_condition(draw: random.Random) -> Callable[[], Condition]:
    """One that looks at protocol state alone, as an operator may."""
    bits, format_ = draw.getrandbits(32), draw.choice(["markdown", "csv", "key-value"])
    conditions: list[Condition] = [
        lambda w, d, p: True,
        lambda w, d, p: key_bits(bits, p.path) % 2 == 0,
        lambda w, d, p: len(p.folders) > 0,
        lambda w, d, p: p.format == format_,
        lambda w, d, p: p.rank < HALF,
    ]
    condition = draw.choice(conditions)
    return partial(_same, condition)


def _same(condition: Condition) -> Condition:
    return condition


def _counting(period: int) -> Condition:
    calls = itertools.count()
    return lambda w, d, p: next(calls) % period == 0


def _by_chance(seed: int) -> Condition:
    stream = random.Random(seed)
    return lambda w, d, p: stream.random() < 0.5


def _answer(world: World) -> int:
    return solve(read_question(world.question), [r for d in world.documents for r in d.records]) or 0


def forbidden_condition(draw: random.Random, ledger: SynLedger) -> tuple[str, Callable[[], Condition]]:
    """One that looks at the question, the contents, the labels, the ids, the place in the list or the calls so far."""
    checked = [*ledger.tasks("evo"), *ledger.tasks("disc")]
    one = ledger.task(draw.choice(checked))
    amount = draw.choice(draw.choice(one.documents).records).amount
    of_role = {d.id for task in ledger.tasks(draw.choice(["evo", "disc"])) for d in ledger.task(task).documents}
    word, letter = draw.choice(["exceed", "add up", "is left", "percentage", "above"]), draw.choice("dfhkmpst")
    status, kind = draw.choice(words.STATUSES), draw.choice(["evidence", *DISTRACTORS])
    number, bits, period = draw.randrange(12), draw.getrandbits(32), draw.choice([2, 3, 5, 7, 11, 13])
    conditions: dict[str, Condition] = {
        "question": lambda w, d, p: word in w.question,
        "one task": lambda w, d, p: w.question == one.question,
        "some tasks": lambda w, d, p: key_bits(bits, w.question) % 5 == 0,
        "answer": lambda w, d, p: _answer(w) % 3 == number % 3,
        "id": lambda w, d, p: p.id < letter,
        "role": lambda w, d, p: p.id in of_role,
        "place": lambda w, d, p: w.documents.index(d) == number,
        "evidence": lambda w, d, p: d.kind == kind,
        "status": lambda w, d, p: sum(r.status == status for r in d.records) > 2,
        "one amount": lambda w, d, p: any(r.amount == amount for r in d.records),
        "amounts": lambda w, d, p: max(r.amount for r in d.records) > 600 + 20 * number,
    }
    made: dict[str, Callable[[], Condition]] = {
        **{name: partial(_same, condition) for name, condition in conditions.items()},
        "calls": partial(_counting, period),
        "chance": partial(_by_chance, bits),
    }
    name = draw.choice(list(made))
    return name, made[name]


# Cases


def allowed_change(draw: random.Random) -> Contender:
    """An operator of the allowlist, to be put under a condition."""
    form = operator_form(draw)
    operator, seed = ALLOWLIST[form["name"]].make(form["arguments"]), draw.getrandbits(48)
    return "allowlist", operator.fields, lambda w: replace(w, manifest=operator.apply(w.manifest, seed=seed))


def hostile_case(draw: random.Random, ledger: SynLedger) -> Case:
    """One hostile operator between operators of the allowlist."""
    makers = {protocol_change: 6, contents_change: 4, allowed_change: 4, world_change: 2, label_change: 1}
    maker = draw.choices(list(makers), list(makers.values()))[0]
    name, fields, change = maker(draw)
    lawful = name in BY_LABEL or draw.random() < (0.1 if maker is allowed_change else 0.4)
    label, condition = ("lawful", lawful_condition(draw)) if lawful else forbidden_condition(draw, ledger)
    hostile = Hostile(
        name=name,
        change=change,
        fields=fields,
        condition_name=label,
        condition=condition,
        lawful=lawful,
        states_inverse=draw.random() < 0.1,
    )
    around = [operator_form(draw) for _ in range(draw.choice([0, 0, 0, 1, 2]))]
    around.insert(draw.randint(0, len(around)), {"name": HOSTILE, "arguments": {}})
    form: Form = {"benchmark": "syn-ledger", "operators": around, "seed": draw.getrandbits(48)}
    if draw.random() < 0.3:
        form |= {"declared": draw.choice([sorted(PROTOCOL_FIELDS), draw.sample(sorted(PROTOCOL_FIELDS), 4)])}
    return Case(kind="hostile", data=form, hostile=hostile)


def make_case(seed: int, number: int, ledger: SynLedger) -> Case:
    """The case of a number: nearly three in four are broken texts, most others hold a hostile operator."""
    draw = rng("fuzz", seed, number)
    share = number % 40
    if share < 29:
        return Case(kind="broken", data=broken_form(draw))
    if share == 29:
        form = declare_at_random(draw, honest_form(draw))
        return Case(kind="allowlist", data=form if draw.random() < 0.5 else json.dumps(form))
    return hostile_case(draw, ledger)
