"""The small ledger is a benchmark like any other: it keeps the contract and its limits hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.core.values import Sighting
from chase.engine.trace import result_text
from chase.harness.folder import initial_harness
from chase.harness.limits import check_for_benchmark
from chase.models.chat import request_parameters
from chase.models.json_tools import instructions
from chase.protocol.kit import ProtocolKit
from chase.testing.benchmark_suite import Call
from chase.testing.ledger import H0
from chase.testing.scripted import call
from chase.testing.small_ledger import SmallLedger, open_small_ledger
from tests.benchmarks.syn_ledger.test_conformance import LedgerConformance
from tests.engine.rollouts import follow, make_harness, make_job, tool_events

pytestmark = pytest.mark.slow

_open_once = cache(open_small_ledger)


@pytest.fixture(scope="session")
def small() -> SmallLedger:
    return _open_once()


class TestConformance(LedgerConformance):
    @pytest.fixture
    def benchmark(self, small: SmallLedger) -> SmallLedger:
        return small

    def rebuild(self, benchmark: Any) -> SmallLedger:
        return open_small_ledger(benchmark.spec.seed)

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        file = benchmark.view(task, benchmark.variant("released")).files[0].path
        search = "search", {"query": benchmark.task(task).query.entity, "limit": 4}
        return search, ("open_file", {"file": file}), ("open_file", {"file": file})

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        """What the tools show together takes more calls than a task allows, so it is the ledger's own sight."""
        transformation = benchmark.variant(variant)
        windows = {file.id: file.windows for file in benchmark.render(task, transformation)}
        return {
            shown.id: [replace(shown, window=place, text=text) for place, text in enumerate(windows[shown.id])]
            for shown in benchmark.sightings(task, transformation)
        }

    def test_validation_looks_at_what_the_tools_show(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark):
            for document, windows in self.sights(benchmark, task, "released").items():
                environment = self.new_environment(benchmark, task)
                opened = [environment.call("open_file", {"file": document}).items[0].shown for _ in windows]
                assert [(shown.path, shown.text) for shown in opened] == [(w.path, w.text) for w in windows]


def test_its_tasks_are_the_ledgers_in_the_same_roles(small: SmallLedger, ledger: SynLedger) -> None:
    assert small.name == "syn-ledger@7/small"
    assert small.content_hash != ledger.content_hash
    for role in small.roles:
        assert len(small.tasks(role)) == 2
        assert set(small.tasks(role)) <= set(ledger.tasks(role))
    task = small.tasks("cert")[0]
    for variant in ("released", "neutral"):
        assert small.view(task, small.variant(variant)) == ledger.view(task, ledger.variant(variant))


def test_a_task_that_was_left_out_is_unknown(small: SmallLedger, ledger: SynLedger) -> None:
    left_out = next(task for task in ledger.tasks("evo") if task not in small.tasks("evo"))
    with pytest.raises(UserError, match=left_out):
        small.environment(left_out, small.variant("released"))


def test_seeds_give_different_benchmarks(small: SmallLedger) -> None:
    other = open_small_ledger(3)
    assert other.name == "syn-ledger@3/small"
    assert other.content_hash != small.content_hash


def test_harnesses_and_proposals_name_the_ledger(small: SmallLedger) -> None:
    check_for_benchmark(initial_harness(small), small)
    assert initial_harness(small) == H0
    with pytest.raises(UserError, match="2 file-opening calls"):
        check_for_benchmark(make_harness(tools={"open_first": 3}), small)
    kit = ProtocolKit(small)
    names = {"benchmark": "syn-ledger", "operators": [{"name": "permute", "arguments": {"aspect": "name"}}], "seed": 3}
    proposal = kit.parse(names)
    record = kit.run_checks(proposal)
    assert record.valid, record.failed
    assert record.tasks == 4
    assert kit.looks_different(proposal.transformation, kit.example)
    assert {small.role_of(task) for task in kit.subject.check_tasks} == {"evo", "disc"}


async def test_three_calls_are_all_that_a_rollout_gets(small: SmallLedger) -> None:
    file = small.view(small.tasks("evo")[0], small.variant("released")).files[0].id
    reads = [call("open_file", file=file)] * 3
    rollout, _ = await follow(make_job(small), [call("search", query="agency"), *reads])
    assert rollout.outcome.reason == "step-limit"
    assert [(event["tool"], event["ok"]) for event in tool_events(rollout)] == [
        ("search", True),
        ("open_file", True),
        ("open_file", True),
        ("open_file", False),
    ]


@pytest.mark.parametrize("tool", ["list_files", "calculator"])
async def test_the_ledgers_other_tools_are_refused(small: SmallLedger, tool: str) -> None:
    rollout, model = await follow(make_job(small), [call(tool), "1"])
    (event,) = tool_events(rollout)
    assert not event["ok"]
    assert result_text(event) == f"There is no tool '{tool}'. Tools: search, open_file."
    assert [spec.name for spec in model.requests[0].tools] == ["search", "open_file"]


async def test_a_search_shows_two_hits_and_never_more_than_four(small: SmallLedger) -> None:
    for arguments, shown in (({}, 2), ({"limit": 4}, 4), ({"limit": 5}, 0)):
        rollout, _ = await follow(make_job(small), [call("search", query="agency", **arguments), "1"])
        (event,) = tool_events(rollout)
        assert len(event["items"]) == shown
        assert event["ok"] == bool(shown)


async def test_the_right_answer_scores(small: SmallLedger) -> None:
    task = small.tasks("evo")[0]
    rollout, _ = await follow(make_job(small), [str(small.task(task).answer)])
    assert rollout.outcome.score == 1.0


async def test_a_rollout_is_little_to_read(small: SmallLedger, ledger: SynLedger) -> None:
    """Under a thousand tokens at its longest, at more than three characters a token."""
    told = len(instructions(request_parameters(small.tools).function_tools))
    assert told < 0.6 * len(instructions(request_parameters(ledger.tools).function_tools))
    for role in small.roles:
        for task in small.tasks(role):
            files = small.view(task, small.variant("released")).files
            script = [call("search", query="agency"), *(call("open_file", file=file.id) for file in files[:2]), "1"]
            _, model = await follow(make_job(small, task=task), script)
            sizes = [sum(map(len, request.texts())) for request in model.requests]
            assert all(before < after for before, after in pairwise(sizes))
            assert told + sizes[-1] < 3_200
