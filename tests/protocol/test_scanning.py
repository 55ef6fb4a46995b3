"""A scan finds what is planted in a protocol and nothing else, and what it proposes takes that away."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.interfaces import Benchmark, Observable, Transformation
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting
from chase.protocol.kit import ProtocolKit
from chase.protocol.scanning.findings import WINDOWS, Scanner
from chase.protocol.scanning.removal import Remover
from chase.protocol.scanning.rows import Scan
from chase.protocol.scanning.sights import Subjects, components
from tests.testing.almanacs import NAME
from tests.testing.almanacs import open_once as open_almanac

LEVEL = 0.99


def scanner_of(benchmark: Benchmark[Any], roles: Sequence[str], more: Sequence[Observable] = ()) -> Scanner:
    subjects = Subjects(benchmark=benchmark, tasks=tuple(t for role in roles for t in benchmark.tasks(role)))
    observables = [*(o for o in benchmark.observables if o.name != "window"), *more]
    return Scanner(subjects, observables, level=LEVEL, seed=0, tell=lambda _: None)


def scanned(benchmark: Benchmark[Any], variant: str = "released", roles: Sequence[str] = ("evo", "disc")) -> Scan:
    return scanner_of(benchmark, roles).scan(benchmark.variant(variant), variant)


def observables(scan: Scan) -> list[set[str]]:
    return [set(finding.observables) for finding in scan.findings]


def test_the_five_planted_features_are_found_each_as_one_finding(ledger: SynLedger) -> None:
    found = scanned(ledger)
    shown = observables(found)
    assert len(shown) == 5
    for feature in ({"window"}, {"path-depth"}, {"hit-position"}):
        assert feature in shown
    assert {"name-length", "name-initial", "listing-position"} in shown
    assert any({"bar-count", "extension-length"} <= group for group in shown)
    (position,) = (finding.first for finding in found.findings if finding.first.target == WINDOWS)
    assert position.effect < 0.25
    assert position.high < 0.5


def test_nothing_is_found_where_nothing_is_planted(ledger: SynLedger) -> None:
    found = scanned(ledger, "neutral")
    assert found.findings == ()
    assert len(found.rows) > 30


def test_other_features_are_found_by_the_same_means_and_what_follows_from_them_is_no_finding(
    other_ledger: SynLedger,
) -> None:
    found = scanned(other_ledger)
    shown = observables(found)
    for feature in ("name-digits", "folder-initial", "preamble-lines", "title-length", "capital-words"):
        assert sum(feature in group for group in shown) == 1
    assert len(shown) == 5
    assert "text-size" in {row.observable for row in found.explained}  # longer by preamble and title alone


class Blindfold:
    """A benchmark that fails as soon as a task outside some roles is looked at."""

    def __init__(self, inner: SynLedger, allowed: frozenset[str]) -> None:
        self._inner = inner
        self._allowed = allowed

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        if name not in ("sightings", "view", "environment", "evidence", "evidence_windows", "score"):
            return member

        def looked(task: str, *rest: Any) -> Any:
            assert self._inner.role_of(task) in self._allowed, f"{name} of a task of {self._inner.role_of(task)}"
            return member(task, *rest)

        return looked


def test_a_scan_looks_at_no_task_but_those_that_it_is_given(ledger: SynLedger) -> None:
    benchmark: Any = Blindfold(ledger, frozenset({"evo"}))
    scanner = scanner_of(benchmark, ["evo"])
    scanner.scan(ledger.variant("released"), "released")
    with pytest.raises(AssertionError, match="of a task of cert"):
        scanner_of(benchmark, ["cert"])


def test_an_observable_that_reads_the_order_of_ids_off_is_no_finding_and_one_that_is_told_evidence_is(
    ledger: SynLedger,
) -> None:
    evidence = {d for task in ledger.tasks("evo") for d in ledger.evidence(task)}
    cheat = ObservableFunction("cheat", "whether it is evidence", lambda s: float(s.id in evidence))
    found = scanner_of(ledger, ["evo"], [cheat]).scan(ledger.variant("neutral"), "neutral")
    assert observables(found) == [{"cheat"}]
    (row,) = found.findings[0].rows
    assert row.effect == 1.0
    assert (row.mean_evidence, row.mean_others) == (1.0, 0.0)


def test_what_goes_with_the_answer_is_found(ledger: SynLedger) -> None:
    """An observable that says the answer in every document of a task says nothing of evidence."""
    answers = {d.id: float(ledger.task(t).answer) for t in ledger.tasks("evo") for d in ledger.task(t).documents}
    leak = ObservableFunction("leak", "a number that rises with the answer", lambda s: answers[s.id] ** 2)
    found = scanner_of(ledger, ["evo"], [leak]).scan(ledger.variant("neutral"), "neutral")
    assert [(f.first.target, f.observables) for f in found.findings] == [("answer", ("leak",))]
    assert found.findings[0].first.effect == pytest.approx(1)


@pytest.mark.slow
def test_removals_take_their_findings_away_and_a_reversal_is_none(ledger: SynLedger) -> None:
    scanner, kit = scanner_of(ledger, ["evo", "disc"]), ProtocolKit(ledger)
    released = scanner.scan(ledger.variant("released"), "released")
    remover = Remover(scanner, kit, released, seed=0, tell=lambda _: None)
    (depth,) = (finding for finding in released.findings if finding.observables == ("path-depth",))
    (removed,) = remover.remove(depth)
    removal = removed.removal
    assert removal is not None
    assert removed.finding is depth
    assert removed.tried >= 1
    after = scanner.scan(removal.proposal.transformation, "after")
    assert ("evidence", "path-depth") not in after.significant
    assert after.significant <= released.significant
    assert kit.run_checks(removal.proposal).valid
    reverse = ({"name": "reverse", "arguments": {"aspect": "depth"}},)
    assert remover._try(reverse, [depth], 0) is None  # evidence is deep then: another give-away


def test_where_no_operator_helps_no_removal_is_claimed(ledger: SynLedger) -> None:
    evidence = {d for task in ledger.tasks("evo") for d in ledger.evidence(task)}
    cheat = ObservableFunction("cheat", "whether it is evidence", lambda s: float(s.id in evidence))
    scanner = scanner_of(ledger, ["evo"], [cheat])
    neutral = scanner.scan(ledger.variant("neutral"), "neutral")
    remover = Remover(scanner, ProtocolKit(ledger), neutral, seed=0, tell=lambda _: None)
    (removed,) = remover.remove(neutral.findings[0])
    assert (removed.removal, removed.tried) == (None, 0)


@pytest.mark.slow
def test_what_a_removal_takes_of_a_group_is_a_finding_of_its_own(ledger: SynLedger) -> None:
    """An observable of the contents that ranks documents just as their depth does hides no removal of the depth."""
    shown = [s for task in ledger.tasks("evo") for s in ledger.sightings(task, ledger.variant("released"))]
    depths = {sighting.id: 0.5 + sighting.path.count("/") for sighting in shown}
    shadow = ObservableFunction("contents", "what depth it had when it was written", lambda s: depths[s.id])
    scanner = scanner_of(ledger, ["evo"], [shadow])
    released = scanner.scan(ledger.variant("released"), "released")
    (group,) = (finding for finding in released.findings if "path-depth" in finding.observables)
    assert set(group.observables) == {"path-depth", "contents"}
    remover = Remover(scanner, ProtocolKit(ledger), released, seed=0, tell=lambda _: None)
    taken, left = remover.remove(group)
    assert (taken.finding.observables, taken.finding.beside) == (("path-depth",), ("contents",))
    assert taken.removal is not None
    assert taken.removal.finding is taken.finding
    assert (left.finding.observables, left.finding.beside) == (("contents",), ("path-depth",))
    assert left.removal is None
    assert remover.remove_all([taken.removal]) is not None


def test_a_shared_corpus_is_scanned_by_the_sources_that_tasks_name() -> None:
    almanac = open_almanac(NAME)
    scanner = scanner_of(almanac, [role for role in almanac.roles if role not in almanac.sealed])
    assert scanner.subjects.source == "sources"
    assert scanner.tasks_used >= 20
    found = scanner.scan(almanac.variant("released"), "released")
    assert {row.target for row in found.rows} >= {"evidence"}


def test_where_units_and_notes_stand_is_reported_of_officeqa(officeqa: OfficeQA) -> None:
    found = scanned(officeqa, roles=[role for role in officeqa.roles if role not in officeqa.sealed])
    rows = {row.observable: row for row in found.rows if row.target == "evidence"}
    for name in ("unit-before-table", "note-count", "lines-before-table"):
        assert rows[name].mean_evidence is not None
        assert rows[name].mean_others is not None


class Unlabelled:
    """Pages of which one shows the answer, in a benchmark that names no evidence."""

    base = name = "pages"

    def __init__(self) -> None:
        from chase.core.gate_facts import GateFacts, TaskFacts

        self.gate = GateFacts(
            tasks=tuple(TaskFacts(id=f"t{n}", role="evo", question="?", answer="yes") for n in range(9))
        )

    def variant(self, name: str) -> None:
        return None

    def sightings(self, task: str, transformation: Transformation[Any]) -> list[Sighting]:
        return [Sighting(id=f"{task}-{place}", path=f"{place}.txt", listing=place) for place in range(4)]

    def view(self, task: str, transformation: Transformation[Any]) -> Any:
        from chase.core.values import FileView, View

        def text(place: int) -> str:
            return "the answer is\n1,234 units" if place == 2 else "nothing\n12 units"

        files = [FileView(id=f"{task}-{p}", path=f"{p}.txt", read=lambda p=p: text(p)) for p in range(4)]  # type: ignore[misc]
        return View(task=task, question="?", files=tuple(files))

    def pieces(self, shown: Sighting) -> list[str]:
        return (shown.text or "").splitlines()

    def score(self, task: str, answer: str | None) -> float:
        return float(answer == "1,234")


def test_without_labels_evidence_is_where_an_answer_stands_that_the_scorer_takes() -> None:
    benchmark: Any = Unlabelled()
    subjects = Subjects(benchmark=benchmark, tasks=tuple(f"t{n}" for n in range(9)))
    assert subjects.source == "answer"
    assert subjects.evidence["t3"] == {"t3-2"}
    assert subjects.answers() == {}  # one answer for all tasks: nothing can go with it


def test_words_are_answers_too() -> None:
    from chase.core.gate_facts import GateFacts, TaskFacts

    benchmark: Any = Unlabelled()
    said = ["Yes", "no"] * 10
    benchmark.gate = GateFacts(
        tasks=tuple(TaskFacts(id=f"t{n}", role="evo", question="?", answer=word) for n, word in enumerate(said))
    )
    subjects = Subjects(benchmark=benchmark, tasks=tuple(f"t{n}" for n in range(20)))
    (target,) = subjects.answers().items()
    assert target[0] in ("answer 'yes'", "answer 'no'")
    assert sum(target[1].values()) == 10


def test_tasks_that_share_a_document_directly_or_not_are_one() -> None:
    shared = {
        "a": frozenset("x"),
        "b": frozenset("xy"),
        "c": frozenset("y"),
        "d": frozenset("z"),
        "e": frozenset[str](),
    }
    assert sorted(map(sorted, components(shared))) == [["a", "b", "c"], ["d"], ["e"]]


class Grouped(Unlabelled):
    """Pages whose tasks the benchmark declares dependent in threes."""

    def clusters(self) -> dict[str, str]:
        return {f"t{n}": f"c{n // 3}" for n in range(6)}


def test_tasks_of_one_cluster_of_the_benchmarks_are_one_component() -> None:
    tasks = tuple(f"t{n}" for n in range(9))
    apart: Any = Unlabelled()
    grouped: Any = Grouped()
    assert len(Subjects(benchmark=apart, tasks=tasks).components) == 9
    subjects = Subjects(benchmark=grouped, tasks=tasks)
    assert subjects.components == [["t0", "t1", "t2"], ["t3", "t4", "t5"], ["t6"], ["t7"], ["t8"]]
    assert len({block.cluster for block in subjects.document_blocks().values()}) == 5


def test_windows_are_read_as_the_tool_shows_them_where_a_benchmark_does_not_say(ledger: SynLedger) -> None:
    """A benchmark that does not know where evidence stands is read window by window, through its own tools."""
    subjects = Subjects(benchmark=ledger, tasks=tuple(ledger.tasks("evo")[:1]))
    task = subjects.tasks[0]
    document = ledger.task(task).evidence[0]
    released = ledger.variant("released")
    rendered = next(file for file in ledger.render(task, released) if file.id == document)
    assert tuple(subjects._read(task, released, document)) == rendered.windows


def test_a_document_longer_than_the_budget_is_read_to_its_end() -> None:
    almanac = open_almanac(NAME)
    task, released = almanac.tasks("evo")[0], almanac.variant("released")
    few = copy(almanac)
    few.limits = replace(almanac.limits, group_calls=dict.fromkeys(almanac.limits.group_calls, 1))
    document = almanac.view(task, released).files[0].id
    whole, cut = (list(Subjects(benchmark=of, tasks=(task,))._read(task, released, document)) for of in (almanac, few))
    assert whole == cut
    assert len(whole) > 1
