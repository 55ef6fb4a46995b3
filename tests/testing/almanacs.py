"""Almanacs for tests: opened once, and what their tools show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from chase.benchmarks import registry
from chase.core.interfaces import Transformation
from chase.core.values import Sighting
from chase.engine.rollout import Job
from chase.harness.folder import initial_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness, Structure
from chase.models import local
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.almanac.benchmark import BROAD, Almanac, open_almanac
from chase.testing.almanac.questions import read_question
from chase.testing.almanac.reader import register_reader

NAME = "almanac@7"
open_once = cache(open_almanac)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package with the benchmark and its reader were installed."""
    point = EntryPoint(name="almanac", value="chase.testing.almanac.entry:ENTRY", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    monkeypatch.setattr(local, "_FACTORIES", dict(local._FACTORIES))
    register_reader()


def connect_reader() -> ChatModel:
    """`sim:almanac`."""
    return connect(ModelConfig(name=register_reader()))


def sights(benchmark: Almanac, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
    """Each document's windows, with its place in a broad search and the fields that it has there."""
    transformation = benchmark.variant(variant)
    environment = benchmark.environment(task, transformation)
    search, opener = environment.interface.search, environment.interface.open
    assert search is not None
    assert search.limit is not None
    assert opener is not None
    hits = environment.call(search.tool, {search.query: BROAD, search.limit: len(benchmark.documents)}).items
    seen: dict[str, Sequence[Sighting]] = {}
    for hit in (item.shown for item in hits):
        fresh = benchmark.environment(task, transformation)
        result = fresh.call(opener.tool, {opener.document: hit.id})
        windows = [result.items[0].shown]
        while result.reads_on is not None:
            result = fresh.call(opener.tool, result.reads_on)
            windows.append(result.items[0].shown)
        seen[hit.id] = [replace(hit, window=shown.window, text=shown.text) for shown in windows]
    return seen


def make_harness(
    benchmark: Almanac,
    *,
    say: str = "",
    source: str | None = None,
    **policies: Mapping[str, Any],
) -> Harness:
    """`H_0` but for what is given: a sentence in its prompt, `control.py`, tables of `harness.toml`."""
    harness = initial_harness(benchmark)
    data = harness.structure.model_dump(by_alias=True)
    for table, fields in policies.items():
        data[table] |= fields
    structure = Structure.model_validate(data)
    return replace(harness, structure=structure, prompt=f"{harness.prompt}\n{say}", control_source=source)


def make_job(
    almanac: Almanac, harness: Harness, transformation: Transformation[Any] | None = None, task: str | None = None
) -> Job:
    check_for_benchmark(harness, almanac)
    return Job(
        benchmark=almanac,
        transformation=transformation or almanac.variant("released"),
        harness=harness,
        task=task or task_of(almanac, "figure"),
        index=0,
        run_seed=0,
    )


def task_of(almanac: Almanac, family: str) -> str:
    """A task whose question is of a family."""
    asked = {task: read_question(almanac.task(task).question) for task in almanac.tasks("evo")}
    return next(task for task, question in asked.items() if question and question.family == family)
