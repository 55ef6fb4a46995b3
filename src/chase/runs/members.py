"""The members of a comparison: one evolution for each method and seed, each in a run folder of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.harness.folder import load_harness
from chase.harness.spec import Harness
from chase.methods.arena import Variant
from chase.methods.contract import Method
from chase.methods.options import check_options, settle_options
from chase.methods.registry import SETS, find_method
from chase.methods.run import Plan, Run
from chase.protocol.archive import Archive, read_archive
from chase.protocol.kit import ProtocolKit
from chase.runs.accounting import counts_of
from chase.runs.evolve import found_of
from chase.runs.folder import RunFolder
from chase.runs.kinds import toml_value
from chase.runs.life import OpenRun
from chase.runs.results import EvolveResult

COMMAND = "compare-member"
BUDGET = "episodes"
"""The option of a matched-budget control: a comparison gives it what another method used."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A method with the options that were said of it: a row of a comparison."""

    label: str
    """`chase`, or `chase:confirm=false`."""
    method: Method
    given: Mapping[str, Any]

    @property
    def matched(self) -> bool:
        """Whether it gets the budget of another."""
        return BUDGET in self.method.Options.model_fields and BUDGET not in self.given

    def options(self, common: Mapping[str, Any], benchmark: Benchmark[Any]) -> BaseModel:
        """Its options, settled: what was said of it, what was said of all, the benchmark's."""
        fields = self.method.Options.model_fields
        given = {name: value for name, value in common.items() if name in fields and value is not None}
        return settle_options(self.method.name, self.method.Options, {**given, **self.given}, benchmark.defaults)


def read_specs(names: Sequence[str]) -> list[Spec]:
    """The methods that are meant, in their order, each once. A set stands for its members."""
    found: dict[str, Spec] = {}
    for name in names:
        for each in SETS.get(name, (name,)):
            spec = _read_spec(each)
            if spec.label in found and name not in SETS:
                raise UserError(f"methods: {spec.label} is named twice: leave one out.")
            found.setdefault(spec.label, spec)
    return list(found.values())


def _read_spec(text: str) -> Spec:
    name, *options = text.split(":")
    method = find_method(name)
    given: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or key in given:
            raise UserError(f"methods: '{text}' must be NAME or NAME:OPTION=VALUE, each option once.")
        given[key] = toml_value(value)
    said = check_options(name, method.Options, given)
    label = ":".join((name, *(f"{key}={_option(said[key])}" for key in sorted(given))))
    return Spec(label=label, method=method, given=given)


def _option(value: Json) -> str:
    """An option's value as a label says it, however it was written."""
    return value if isinstance(value, str) else json.dumps(value)


def usable(specs: Sequence[Spec], names: Sequence[str], benchmark: Benchmark[Any]) -> tuple[list[Spec], list[str]]:
    """Those that can run on a benchmark, and why others of a set were left out. One that is named itself is refused."""
    kept, notes = [], []
    for spec in specs:
        if spec.method.traits.neutral_free or benchmark.neutral is not None:
            kept.append(spec)
            continue
        why = f"{spec.label} needs a neutral variant B_0, and {benchmark.name} has none"
        if spec.label in names:
            raise UserError(f"methods: {why}. Leave it out.")
        notes.append(f"{why}: it was left out")
    return kept, notes


@dataclass(frozen=True, kw_only=True)
class Member:
    """One evolution of a comparison."""

    label: str
    seed: int
    plan: Plan

    def id(self, comparison: str) -> str:
        slug = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.label)
        return f"{comparison}-{slug}-s{self.seed}"

    def identity(self, comparison: str, fingerprint: str) -> dict[str, Json]:
        return {**self.plan.describe(fingerprint), "command": COMMAND, "of": comparison}


@dataclass(frozen=True, kw_only=True)
class FinishedMember:
    """What a member ended with, as its folder keeps it."""

    label: str
    seed: int
    folder: RunFolder
    plan: Plan

    @cached_property
    def result(self) -> Mapping[str, Any]:
        return self.folder.read_result()

    @cached_property
    def final(self) -> Harness:
        """`H*`."""
        harness = load_harness(self.folder.path / "final")
        if harness.hash != self.result["final"]["hash"]:
            raise IntegrityError(
                f"{self.folder.path / 'final'} was changed: it is not the harness that was selected. Put it back as it "
                "was, or compare anew."
            )
        return harness

    @cached_property
    def archive(self) -> Archive:
        return read_archive(self.folder.path / "archive.json")

    def variants(self, kit: ProtocolKit) -> list[Variant]:
        """The archive as benchmarks, without the released one."""
        return [
            Variant(name=entry.name, transformation=kit.parse(entry.transformation).transformation)
            for entry in self.archive.entries
        ]

    @property
    def committed(self) -> dict[str, Json]:
        """What is fixed before the sealed tasks are opened."""
        return {
            "final": self.final.hash,
            "harnesses": [named["hash"] for named in self.result["harnesses"]],
            "archive": [entry.digest() for entry in self.archive.entries],
        }


async def carry_out(member: Member, run: OpenRun) -> FinishedMember:
    """Run a member to its end, or take what it ended with. After an interruption it goes on."""
    own, plan = member.id(run.id), member.plan
    folder = RunFolder(run.store.workspace, own)
    finished = FinishedMember(label=member.label, seed=member.seed, folder=folder, plan=plan)
    known = {stored.id: stored for stored in run.store.runs()}
    if own in known and known[own].status == "finished":
        return finished
    if own not in known:
        run.store.create_run(own, member.identity(run.id, run.model.fingerprint))
    work = Run(
        plan, run=own, store=run.store, model=run.model, sandbox=run.sandbox, tell=run.listener.told,
        progress=run.listener, pace=run.pace,
    )  # fmt: skip
    evolved = await work.evolve()
    payload = {
        "run": own,
        "config": member.identity(run.id, run.model.fingerprint),
        **found_of(plan, evolved),
        "certification": None,
        **counts_of(run.store, own),
        "warnings": list(evolved.warnings),
    }
    folder.write_result(EvolveResult.schema, payload)
    run.store.set_run_status(own, "finished")
    return finished


def with_budget(member: Member, episodes: int) -> Member:
    """A matched-budget control with the episodes that another member used."""
    options = member.plan.options.model_copy(update={BUDGET: episodes})
    return replace(member, plan=replace(member.plan, options=options))


def in_order(members: Sequence[Member], specs: Sequence[Spec]) -> Iterator[Member]:
    """A seed's members as they are run: those that get another's budget after the others."""
    matched = {spec.label for spec in specs if spec.matched}
    yield from sorted(members, key=lambda member: member.label in matched)
