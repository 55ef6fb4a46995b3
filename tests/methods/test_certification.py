"""What a certification is committed to: a new method leaves old runs as they are, another analysis does not."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

import chase
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.methods.arena import Contender, Means, Variant
from chase.methods.certification import analysis_digest, analysis_hash, failed_checks
from chase.methods.evolution import EvolutionOutcome
from chase.protocol.archive import Archive
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from tests.engine.rollouts import make_harness
from tests.methods.runs import SEED, few_tasks, plan, running


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's source that may be changed."""
    copy = tmp_path / "chase"
    shutil.copytree(Path(chase.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_the_hash_is_of_the_source(package: Path) -> None:
    assert analysis_digest(package) == analysis_hash()


@pytest.mark.parametrize("name", ["methods/harness_compass.py", "methods/chase.py", "runs/narration.py"])
def test_another_method_is_no_other_analysis(package: Path, name: str) -> None:
    with (package / name).open("a", encoding="utf-8") as file:
        file.write("# other\n")
    assert analysis_digest(package) == analysis_hash()


@pytest.mark.parametrize(
    "name", ["stats/destruction.py", "stats/estimates.py", "stats/new.py", "methods/certification.py"]
)
def test_other_statistics_are_another_analysis(package: Path, name: str) -> None:
    with (package / name).open("a", encoding="utf-8") as file:
        file.write("# other\n")
    assert analysis_digest(package) != analysis_hash()


def test_a_renamed_module_is_another_analysis(package: Path) -> None:
    (package / "stats" / "estimates.py").rename(package / "stats" / "other.py")
    assert analysis_digest(package) != analysis_hash()


class BlindKit(ProtocolKit):
    """A kit whose firewall fails one check where it is given the sealed tasks."""

    def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        found = super().run_checks(proposal, tasks)
        if tasks is None or set(tasks) != set(self.benchmark.tasks("cert")):
            return found
        shared = replace(found.verdicts[2], passed=False, evidence=f"{tasks[0]}: two documents share a path")
        return replace(found, verdicts=(*found.verdicts[:2], shared, *found.verdicts[3:]))


@pytest.mark.slow
async def test_a_counterfactual_that_is_not_valid_on_the_sealed_tasks_is_no_evidence(
    ledger: SynLedger, tmp_path: Path
) -> None:
    benchmark = few_tasks(ledger)
    sound, blind = (plan(benchmark, seed=SEED, kit=kit(benchmark)) for kit in (ProtocolKit, BlindKit))
    async with running(sound, tmp_path / "sound") as run:
        evolved = await run.evolve()
        kept = await run.certify(evolved)
    async with running(blind, tmp_path / "blind") as run:
        again = await run.evolve()
        certified = await run.certify(again)
        sealed = [used for used in run.store.used("run-1") if used.rollout.key.role == "cert"]
    archived = {entry.name for entry in evolved.archive.entries}
    assert archived == {entry.name for entry in again.archive.entries} != set()
    assert kept.invalid == {}
    assert kept.gains.keys() == {"released", "neutral", *archived}
    first = benchmark.tasks("cert")[0]
    evidence = [f"access-and-resources: {first}: two documents share a path"]
    assert certified.invalid == dict.fromkeys(archived, evidence)
    assert certified.gains.keys() == {"released", "neutral"}
    assert certified.scores["H*"].keys() == certified.scores["H0"].keys() == {"released", "neutral"}
    assert (certified.worst, certified.gamma.value) == ("released", 0.0)
    assert len({used.rollout.key.transformation for used in sealed}) == 2


def test_what_two_documents_share_on_a_sealed_task_is_found(ledger: SynLedger) -> None:
    """The seven checks themselves, on the sealed tasks: an archive whose entry breaks one of them."""
    benchmark, kit = few_tasks(ledger), ProtocolKit(few_tasks(ledger))
    form = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]}
    proposal = kit.parse(form)
    archive = Archive(benchmark=benchmark.name, content_hash=benchmark.content_hash).with_entry(
        proposal, round=1, views="", firewall=kit.run_checks(proposal), discovery={}, confirmation={}
    )
    assert failed_checks(archive, kit, benchmark.tasks("cert")) == {}
    entry = archive.entries[0]
    undeclared = entry.model_copy(update={"transformation": {**entry.transformation, "declared": []}})
    [found] = failed_checks(replace(archive, entries=(undeclared,)), kit, benchmark.tasks("cert"))["b1"]
    assert found.startswith(f"declared-changes: {benchmark.tasks('cert')[0]}: ")


GAINS_THERE = {"released": Fraction(1, 4), "b1": Fraction(1, 5), "neutral": Fraction(-1, 2)}


class FiguresArena:
    """`H_0` scores a half on every task, `H*` so much more under each variant, and an eighth beside it on `evo`."""

    asked: ClassVar[list[tuple[str, list[str]]]] = []
    """(role, variants)."""

    def __init__(self, *_: object) -> None: ...

    async def means(self, harnesses: Sequence[Contender], variants: Sequence[Variant], role: str) -> Means:
        self.asked.append((role, [v.name for v in variants]))
        more = Fraction(1, 8) if role == "evo" else 0
        return {
            (h.name, v.name): dict.fromkeys(
                (f"{role}-1", f"{role}-2"), Fraction(1, 2) + (GAINS_THERE[v.name] + more if h.name == "H*" else 0)
            )
            for h in harnesses
            for v in variants
        }


async def test_the_neutral_benchmark_is_reported_and_is_none_of_the_archives_counterfactuals(
    ledger: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chase.methods.certification.StoreArena", FiguresArena)
    monkeypatch.setattr(FiguresArena, "asked", asked := [])
    benchmark = few_tasks(ledger)
    design = plan(benchmark, seed=SEED, kit=ProtocolKit(benchmark))
    h0, final = (Contender(name=name, harness=make_harness(memory=name)) for name in ("H0", "H1"))
    archived = Variant(name="b1", transformation=ledger.variant("placebo-section-labels"))
    evolved = EvolutionOutcome(
        final=final, harnesses=(h0, final), variants=(design.released, archived), rounds=(), selection={}, warnings=(),
        archive=Archive(benchmark=benchmark.name, content_hash=benchmark.content_hash),
    )  # fmt: skip
    async with running(design, tmp_path) as run:
        certified = await run.certify(evolved)
    assert certified.destruction["neutral"].value == 0.75
    assert (certified.worst, certified.gamma.value, certified.g_min.value) == ("b1", 0.05, 0.2)
    assert {name: gain.value for name, gain in certified.gains.items()} == {
        "released": 0.25,
        "b1": 0.2,
        "neutral": -0.5,
    }
    assert {name: score.value for name, score in certified.scores["H*"].items()} == {
        "released": 0.75, "b1": 0.7, "neutral": 0.0,
    }  # fmt: skip
    assert {score.value for score in certified.scores["H0"].values()} == {0.5}
    assert (certified.excess_search_gain.value, certified.excess_search_gain.n, certified.tasks) == (0.125, 4, 2)
    assert certified.variants["b1"] == archived.transformation.hash
    assert asked == [("cert", ["released", "b1", "neutral"]), ("evo", ["released"])], "nothing more is paid for"
