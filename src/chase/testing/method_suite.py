"""The contract of `chase.methods.contract.Method` as tests. A new method gets them all by subclassing.

    class TestMyMethod(MethodConformance):
        @pytest.fixture
        def method(self): return find_method("my-method")
        @pytest.fixture
        def options(self): return {"rounds": 2}

Beside these it runs on a few tasks of Syn-Ledger, with the simulated reader and the offline agents. It needs the `test`
extra (pytest).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import pytest

from chase.agents.history import RELEASED
from chase.benchmarks.registry import open_benchmark
from chase.challengers.mining import MiningChallenger
from chase.core.events import Event
from chase.core.values import Json
from chase.methods.bounds import Between
from chase.methods.contract import Method
from chase.methods.forecast import Forecast, forecast_evolution
from chase.methods.options import settle_options
from chase.methods.registry import contract_problems
from chase.proposers.mining import MiningProposer
from chase.protocol.kit import ProtocolKit
from chase.runs.accounting import accounts
from chase.testing.method_trial import Cuts, MethodTrial, RunOutcome, TrialParts
from chase.testing.object_graph import reachable
from chase.testing.scripted import scripted

TRIAL = pytest.StashKey[MethodTrial]()
SIZES: Mapping[str, int] = {"evo": 8, "disc": 4, "conf1": 4, "conf2": 4, "conf3": 4, "cert": 4}
PLAIN = (str, int, float, bool, type(None), dict, list, tuple)


@cache
def small_parts() -> TrialParts:
    """A few tasks of Syn-Ledger and the offline agents."""
    benchmark = open_benchmark("syn-ledger@7").fewer(SIZES)
    return TrialParts(
        benchmark=benchmark, kit=ProtocolKit(benchmark), proposer=MiningProposer(), challenger=MiningChallenger()
    )


class MethodConformance:
    """Subclass it and give the fixtures `method` and `options`; the others may be replaced."""

    cuts = 5
    """How often a run is interrupted on its way."""
    seed = 1
    """Of the runs: one with which the method does something of everything."""

    @pytest.fixture
    def method(self) -> Method:
        raise NotImplementedError("give a `method` fixture")

    @pytest.fixture
    def options(self) -> Mapping[str, Json]:
        """What is said of the method's options; the benchmark's defaults are below it."""
        return {}

    @pytest.fixture
    def parts(self) -> TrialParts:
        """The benchmark and the agents of a trial."""
        return small_parts()

    @pytest.fixture
    def trial(
        self,
        request: pytest.FixtureRequest,
        method: Method,
        options: Mapping[str, Json],
        parts: TrialParts,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> MethodTrial:
        """One for all tests of the class: whole runs are made once."""
        stash = request.node.getparent(pytest.Class).stash
        if TRIAL not in stash:
            settled = settle_options(method.name, method.Options, options, parts.benchmark.defaults)
            folder = tmp_path_factory.mktemp("trial")
            stash[TRIAL] = MethodTrial(method=method, options=settled, parts=parts, folder=folder, seed=self.seed)
        found: MethodTrial = stash[TRIAL]
        return found

    # What it says of itself

    def test_it_keeps_the_contract(self, method: Method) -> None:
        assert list(contract_problems(method, method.name)) == []

    def test_it_holds_roles_of_the_benchmark_and_none_that_is_sealed(self, trial: MethodTrial) -> None:
        roles, agents = trial.plan().roles, trial.method.agents
        assert set(roles) <= set(trial.parts.benchmark.roles)
        assert not trial.parts.benchmark.sealed & set(roles)
        assert all(trial.method.reader(role) in (None, *agents) for role in roles)
        trial.plan().check()

    # What it can see

    def test_no_role_and_no_agent_that_is_not_its_own_can_be_reached(self, trial: MethodTrial) -> None:
        reached = trial.reached("reach")
        assert not reached, f"its world leads to {', '.join(reached)}"

    def test_it_rolls_out_its_own_roles_alone_and_opens_no_seal(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert {used.rollout.key.role for used in done.used} <= set(trial.plan().rollout_roles)
        assert done.seals == 0

    def test_a_history_tree_is_about_the_tasks_of_its_readers_roles(self, trial: MethodTrial) -> None:
        done = trial.whole
        plan = trial.plan()
        trees = {tree.name: tree for tree in done.history.iterdir()} if done.history.exists() else {}
        assert trees.keys() == set(plan.method.agents)
        for agent, tree in trees.items():
            read = [role for role in plan.roles if plan.method.reader(role) == agent]
            own = {task for role in read for task in trial.parts.benchmark.tasks(role)}
            strange = sorted(set(trial.parts.benchmark.tasks()) - own)
            for path, text in _texts(tree):
                assert not [task for task in strange if task in path or task in text], f"{agent}: {path}"

    # What it comes to

    def test_its_result_is_whole(self, trial: MethodTrial) -> None:
        done = trial.whole
        found, initial = done.evolved, trial.plan().initial
        assert found.harnesses[0].harness.hash == initial.hash
        assert found.final.harness.hash in {named.harness.hash for named in found.harnesses}
        assert found.variants[0].name == RELEASED
        assert [v.name for v in found.variants[1:]] == [entry.name for entry in found.archive.entries]
        json.dumps(done.result(), allow_nan=False)
        rows = found.selection["pool"]
        assert found.selection["selected"] == found.final.name
        feasible = [row["harness"] for row in rows if not row["violates"]]
        assert found.selection["selected"] in feasible or not done.used, "selected what breaks a constraint"

    def test_two_runs_are_the_same(self, trial: MethodTrial) -> None:
        done = trial.whole
        again = trial.run("again")
        assert again.result() == done.result()
        assert again.paid() == done.paid()
        assert again.asks == done.asks
        assert [type(event) for event in again.events] == [type(event) for event in done.events]

    def test_where_nothing_is_better_the_initial_harness_stays(self, trial: MethodTrial) -> None:
        """Ties go to the earlier harness: every one scores 0 with a model that knows nothing."""
        found = trial.run("tie", model=scripted(lambda request: "nobody knows")).evolved
        assert found.final.harness.hash == trial.plan().initial.hash

    def test_its_events_are_typed_and_plain_data(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert done.events
        for event in done.events:
            assert isinstance(event, Event)
            assert type(event) is not Event
            for way, item in reachable(event):
                assert isinstance(item, PLAIN) or is_dataclass(item), f"{way} is a {type(item)}"

    # What it costs

    def test_a_run_that_dies_again_and_again_comes_to_the_same_and_pays_once(self, trial: MethodTrial) -> None:
        done = trial.whole
        every = max(1, len(done.used) // (self.cuts + 1))
        cut = trial.run("cut", Cuts(after_rollouts=every))
        assert cut.attempts > min(self.cuts, len(done.used) // every - 1), "it was not interrupted"
        self._same(cut, done)

    def test_a_run_that_dies_while_an_agent_is_asked_asks_once_more_and_no_other(self, trial: MethodTrial) -> None:
        done = trial.whole
        cut = trial.run("asked", Cuts(at_asks=tuple(done.asks)))
        assert cut.attempts == 1 + len(done.asks)
        self._same(cut, done)

    @staticmethod
    def _same(cut: RunOutcome, done: RunOutcome) -> None:
        assert cut.result() == done.result()
        assert cut.paid() == done.paid()
        assert cut.asks == done.asks
        assert _tree_files(cut.history) == _tree_files(done.history)

    def test_an_agent_answers_once_a_round(self, trial: MethodTrial) -> None:
        done = trial.whole
        assert set(done.asks.values()) <= {1}
        purposes = {"proposer": "propose", "challenger": "challenge"}
        allowed = {purposes[agent] for agent in trial.method.agents}
        assert {ask.partition(" ")[0] for ask in done.asks} <= allowed

    def test_its_ledger_adds_up(self, trial: MethodTrial) -> None:
        """With offline agents: rollouts are all there is, each evaluated once, paid for here, and counted once."""
        done = trial.whole
        kept = [used.rollout for used in done.used]
        assert len({rollout.digest for rollout in kept}) == len(kept)
        assert not any(used.reused for used in done.used)
        assert {used.use.method for used in done.used} <= {trial.method.name}
        assert {e.role: e.episodes for e in done.episodes} == Counter(rollout.key.role for rollout in kept)
        [account] = [a for a in accounts(done.episodes, done.spends) if a.stage == "optimisation"] if kept else [None]
        if account is not None:
            assert account.episodes == account.rollouts == len(kept)
            assert account.paid.requests == account.used.requests == sum(r.usage.requests for r in kept)
            assert account.paid.input_tokens == sum(r.usage.input_tokens for r in kept)

    def test_its_forecast_bounds_what_it_spends(self, trial: MethodTrial) -> None:
        done = trial.whole
        plan = trial.plan()
        forecast = forecast_evolution(plan, certify=False)
        bounds = _by_role(forecast)
        used = Counter(rollout.rollout.key.role for rollout in done.used)
        assert used.keys() <= bounds.keys() <= set(plan.rollout_roles)
        for role, count in bounds.items():
            assert count.least <= used[role] <= count.most, role
        asked = Counter(ask.partition(" ")[0] for ask in done.asks)
        assert {episodes.agent for episodes in forecast.agents} == set(plan.method.agents)
        for episodes in forecast.agents:
            purpose = "propose" if episodes.agent == "proposer" else "challenge"
            assert episodes.count.least <= asked[purpose] <= episodes.count.most, episodes.agent

    def test_its_forecast_bounds_what_certification_takes(self, trial: MethodTrial) -> None:
        done = trial.whole
        plan = trial.plan()
        most = _by_role(forecast_evolution(plan))["cert"].most
        variants = len(done.evolved.variants) + ("neutral" in plan.benchmark.variants())
        harnesses = len({done.evolved.final.harness.hash, plan.initial.hash})
        assert harnesses * variants * len(plan.benchmark.tasks("cert")) * plan.rollouts["cert"] <= most


def _by_role(forecast: Forecast) -> dict[str, Between]:
    found: dict[str, Between] = {}
    for row in forecast.rollouts:
        found[row.role] = found.get(row.role, Between(least=0, most=0)) + row.count
    return found


def _texts(root: Path) -> list[tuple[str, str]]:
    """Every path of a tree, with its text."""
    return [
        (str(path.relative_to(root)), path.read_text(encoding="utf-8") if path.is_file() else "")
        for path in sorted(root.rglob("*"))
    ]


def _tree_files(history: Path) -> list[tuple[str, str]]:
    return _texts(history) if history.exists() else []
