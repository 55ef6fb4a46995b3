"""The ledger of confirmation tasks: the earlier runs of a harness's lineage that used the tasks of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chase.runs.exposure import Exposure, exposure_of
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.store.store_samples import failed_rollout, sample_key, sample_rollout

TASKS = ("t1", "t2", "t3")


class Runs:
    """Runs in a store, as commands leave them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.count = 0

    def begin(self, run: str, harness: str, baseline: str = "h0", content: str = "b", **config: str) -> None:
        self.store.create_run(
            run,
            {"command": run.split("-")[0], "harness": harness, "baseline": baseline, "content_hash": content, **config},
        )

    def use(self, run: str, *harnesses: str, tasks: tuple[str, ...] = TASKS, role: str = "conf1") -> None:
        """Rollouts of the run."""
        for harness in harnesses:
            for task in tasks:
                self.count += 1
                key = sample_key(task, harness=harness, role=role, index=self.count)
                self.store.record_sync(sample_rollout(self.count, key=key), use=Use(run=run, method="audit"))

    def made(self, run: str, harness: str, baseline: str = "h0", **config: str) -> None:
        self.begin(run, harness, baseline, **config)
        self.use(run, baseline, harness)

    def exposure(self, run: str) -> Exposure:
        return exposure_of(self.store, run, ("conf1",))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with Store.open(Workspace(tmp_path), write=True) as store:
        yield Runs(store)


def test_the_first_audit_of_a_harness_is_on_fresh_tasks_also_when_it_goes_on(runs: Runs) -> None:
    runs.begin("audit-1", "h")
    assert (runs.exposure("audit-1").text, runs.exposure("audit-1").tasks) == ("fresh", 0)
    for _ in range(2):
        runs.use("audit-1", "h0", "h")
        assert runs.exposure("audit-1").text == "fresh"


def test_another_audit_of_the_harness_says_so_and_the_first_stays_fresh(runs: Runs) -> None:
    runs.made("audit-1", "h")
    runs.made("audit-2", "h", seed="1")
    assert runs.exposure("audit-2").text == "seen once by audit-1 of this harness"
    assert runs.exposure("audit-1").text == "fresh", "what came later is no reason to doubt what was before"


def test_a_baseline_that_two_harnesses_share_makes_them_no_lineage(runs: Runs) -> None:
    runs.made("audit-1", "one")
    runs.made("audit-2", "other")
    assert runs.exposure("audit-2").text == "fresh"


def test_a_harness_that_is_built_on_an_audited_one_is_of_its_lineage(runs: Runs) -> None:
    runs.made("audit-1", "one")
    runs.made("audit-2", "two", baseline="one")
    assert runs.exposure("audit-2").text == "seen once by audit-1 of its lineage"


def test_an_audit_a_repair_and_an_audit_of_the_repaired_harness_are_counted(runs: Runs) -> None:
    runs.made("audit-1", "h")
    runs.made("repair-2", "h", audit="audit-1")
    runs.use("repair-2", "mended")
    runs.made("audit-3", "mended")
    assert runs.exposure("repair-2").text == "seen once by audit-1 of this harness"
    assert runs.exposure("audit-3").text == "seen twice by audit-1 of its lineage and repair-2 of this harness"


def test_a_repair_of_another_harness_is_connected_with_the_audit_that_it_follows(runs: Runs) -> None:
    runs.made("audit-1", "h")
    runs.made("repair-2", "other", audit="audit-1")
    assert runs.exposure("repair-2").text == "seen once by audit-1 of its lineage"


def test_tasks_are_told_apart(runs: Runs) -> None:
    runs.begin("audit-1", "h")
    runs.use("audit-1", "h0", "h", tasks=("t1",))
    runs.use("audit-1", "h0", "h", tasks=("t2",), role="evo")
    runs.made("audit-2", "h")
    found = runs.exposure("audit-2")
    assert found.per_task == {"t1": ("audit-1",), "t2": (), "t3": ()}
    assert found.text == "1 of 3 seen by audit-1 of this harness"
    assert found.to_json() == {
        "text": found.text, "tasks": 3, "seen": 1,
        "by": [{"run": "audit-1", "command": "audit", "tasks": 1, "same_harness": True}],
    }  # fmt: skip


def test_a_rollout_that_failed_has_shown_its_task_too(runs: Runs) -> None:
    runs.begin("audit-1", "h")
    rollout = failed_rollout()
    key = sample_key("t1", harness="h", role="conf1")
    runs.store.record_sync(
        sample_rollout(status=rollout.outcome.status, reason="provider-error", key=key),
        use=Use(run="audit-1", method="audit"),
    )
    runs.made("audit-2", "h")
    assert runs.exposure("audit-2").per_task["t1"] == ("audit-1",)


def test_another_benchmark_has_other_tasks_under_the_same_names(runs: Runs) -> None:
    runs.made("audit-1", "h", content="another")
    runs.made("audit-2", "h")
    assert runs.exposure("audit-2").text == "fresh"


def test_an_evolution_counts_for_the_harness_that_came_out_of_it(runs: Runs) -> None:
    runs.store.create_run("evolve-1", {"command": "evolve", "initial": "h0", "content_hash": "b"})
    runs.use("evolve-1", "h0", "best")
    runs.made("audit-2", "best")
    assert runs.exposure("audit-2").text == "seen once by evolve-1 of this harness"
    runs.made("audit-3", "other")
    assert runs.exposure("audit-3").text == "fresh"


def test_a_run_that_judges_nothing_connects_nothing(runs: Runs) -> None:
    runs.store.create_run("rollout-1", {"command": "rollout", "harness": "h", "content_hash": "b"})
    runs.use("rollout-1", "h0", "h", "other")
    runs.made("audit-2", "h")
    runs.made("audit-3", "other")
    assert runs.exposure("audit-3").text == "fresh"


def test_many_runs_are_counted_and_some_named(runs: Runs) -> None:
    for number in range(1, 7):
        runs.made(f"audit-{number}", "h")
    assert runs.exposure("audit-6").text == (
        "seen 5 times by audit-1 of this harness, audit-2 of this harness, audit-3 of this harness and 2 more"
    )
