"""The battery of an audit: what it makes equal or draws anew, for which seed, and what it leaves out and says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.core.observables import OBSERVABLES
from chase.core.values import Json, Neutral, Sighting
from chase.protocol.battery import Battery, battery_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.operators import OperatorKind
from chase.protocol.proposal import Proposal
from chase.protocol.screening import is_active
from tests.benchmarks.documents.examples import example
from tests.testing.almanacs import NAME, open_once

LOW, HIGH = "everything neutral at once (low)", "everything neutral at once (high)"
REFUSED = ("declared-changes",)
MADE_EQUAL: Mapping[str, Callable[[Sighting], Any]] = {
    "top folders": OBSERVABLES["folder-initial"],
    "folder depths": OBSERVABLES["path-depth"],
    "file formats": OBSERVABLES["extension-length"],
    "titles": OBSERVABLES["title-length"],
    "capitals of field names": lambda shown: "ENTITY" in str(shown.text),
    "preambles": OBSERVABLES["preamble-lines"],
    "section labels": OBSERVABLES["heading-initial"],
}
"""Aspect → where its level shows in a document."""
DRAWN_ANEW: Mapping[str, Callable[[SynLedger, Sighting], Any]] = {
    "order of records": lambda ledger, shown: ledger.pieces(shown),
    "file names": lambda _, shown: shown.path.rsplit("/", 1)[-1],
    "order of search results": lambda _, shown: shown.hit,
    "order of file listings": lambda _, shown: shown.listing,
}
# For other allowlists of Syn-Ledger
TO_LOW, TO_HIGH = ({"aspect": "depth", "to": level} for level in ("low", "high"))
DEPTHS = replace(ALLOWLIST["equalise"], neutral=(Neutral(aspect="folder depths", low=TO_LOW, high=TO_HIGH),))
ENDS = Neutral(aspect="ends of lines", low={"detail": "line-endings"}, high={"detail": "trailing-whitespace"})
RESTYLE = replace(ALLOWLIST["restyle"], neutral=(ENDS,), inverse=lambda _: None)


def kit_of(benchmark: Any) -> ProtocolKit:
    return ProtocolKit(benchmark.fewer({"evo": 1, "disc": 1}))


@pytest.fixture(scope="module")
def kit(ledger: SynLedger) -> ProtocolKit:
    return kit_of(ledger)


@pytest.fixture(scope="module")
def battery(kit: ProtocolKit) -> Battery:
    return battery_of(kit, seed=0)


def draws(battery: Battery) -> list[Proposal[Any]]:
    return [draw for probe in battery.probes for draw in probe.draws]


def forms(battery: Battery) -> list[list[Json]]:
    return [[draw.to_json() for draw in probe.draws] for probe in (*battery.probes, *battery.aspects)]


def test_syn_ledgers_battery_neutralises_eleven_aspects_at_two_levels(ledger: SynLedger, battery: Battery) -> None:
    found = [(probe.name, probe.what, len(probe.draws)) for probe in battery.probes]
    assert found == [("neutral-low", LOW, 2), ("neutral-high", HIGH, 2)]
    assert (battery.equal, battery.redrawn, battery.invalid) == (tuple(MADE_EQUAL), tuple(DRAWN_ANEW), {})
    for draw in draws(battery):
        assert len(draw.transformation.operators) == 11
        assert ProtocolKit(ledger).run_checks(draw, ledger.tasks("conf1")[:4]).valid


def test_each_aspect_is_also_neutralised_alone_at_both_levels(battery: Battery) -> None:
    assert {aspect.what for aspect in battery.aspects} == {*MADE_EQUAL, *DRAWN_ANEW}
    [depths] = [aspect for aspect in battery.aspects if aspect.name == "folder-depths"]
    assert [[o.arguments for o in draw.transformation.operators] for draw in depths.draws] == [[TO_LOW], [TO_HIGH]]


def test_documents_become_alike_at_the_lowest_or_highest_level_and_task_and_contents_stay(
    ledger: SynLedger, kit: ProtocolKit, battery: Battery
) -> None:
    for task, probe in product(ledger.tasks("conf1")[:3], battery.probes):
        released = ledger.sightings(task, kit.identity)
        pick = min if probe.name == "neutral-low" else max
        for draw in probe.draws:
            shown = ledger.sightings(task, draw.transformation)
            for aspect, level in MADE_EQUAL.items():
                levels = {level(document) for document in released}
                assert len(levels) > 1
                assert {level(document) for document in shown} == {pick(levels)}, (task, probe.name, aspect)
            seen = kit.subject.present(kit.lift(draw).transformation.apply(kit.subject.state(task)))
            assert (seen.question, seen.answer) == (ledger.task(task).question, ledger.task(task).answer)
            assert seen.contents == kit.subject.released(task).contents
            assert set(ledger.evidence(task)) <= {document.id for document in shown}


@pytest.mark.parametrize(
    ("opened", "covers"),
    [
        (example, "folders, file names, order of file listings, order of equally good results and places in passages"),
        (partial(open_once, NAME), "styles of titles, places of units, file names and order of equally good results"),
    ],
)
def test_other_benchmarks_have_a_battery_that_is_valid_and_active(opened: Callable[[], Any], covers: str) -> None:
    kit = kit_of(opened())
    battery = battery_of(kit, seed=0)
    assert (battery.covers, battery.invalid) == (covers, {})
    assert [probe.name for probe in battery.probes] == ["neutral-low", "neutral-high"]
    for draw in draws(battery):
        assert kit.run_checks(draw, kit.benchmark.tasks("conf1")[:2]).valid
        assert is_active(kit.lift(draw), kit.subject)


def test_the_same_seed_makes_the_same_draws_and_another_seed_others(kit: ProtocolKit, battery: Battery) -> None:
    again, other = (battery_of(ProtocolKit(kit.benchmark), seed=seed) for seed in (0, 1))
    assert forms(again) == forms(battery)
    assert len({draw.transformation.hash for draw in (*draws(battery), *draws(other))}) == 8


def test_all_draws_differ_in_everything_that_is_drawn_anew(ledger: SynLedger, battery: Battery) -> None:
    shown = [ledger.sightings(ledger.tasks("conf1")[0], draw.transformation) for draw in draws(battery)]
    for aspect, value in DRAWN_ANEW.items():
        values = [[value(ledger, document) for document in documents] for documents in shown]
        assert all(one != other for one, other in combinations(values, 2)), aspect


def test_what_is_planted_does_not_decide_it(battery: Battery, other_ledger: SynLedger) -> None:
    other = battery_of(kit_of(other_ledger), seed=0)
    assert (forms(other), other.to_json()) == (forms(battery), battery.to_json())


def battery_with(kit: ProtocolKit, *kinds: OperatorKind[Manifest]) -> Battery:
    """Of the same Syn-Ledger with another allowlist."""
    benchmark: Any = copy(kit.benchmark)
    benchmark.allowlist = {kind.name: kind for kind in kinds}
    return battery_of(ProtocolKit(benchmark), seed=0)


def test_an_aspect_that_is_refused_at_one_level_or_shows_nothing_is_left_out(kit: ProtocolKit) -> None:
    low_alone = replace(RESTYLE, run=lambda state, *_: state.update({p.id: {"newline": "\r\n"} for p in state}))
    idle = replace(RESTYLE, run=lambda state, *_: state)
    for kind, invalid in ((low_alone, {"ends of lines": REFUSED}), (idle, {})):
        left = battery_with(kit, DEPTHS, kind)
        assert (left.covers, left.untested, left.invalid) == ("folder depths", ("equalise", "restyle"), invalid)
        assert forms(left) == forms(battery_with(kit, DEPTHS))
    assert battery_with(kit, DEPTHS, RESTYLE).covers == "folder depths and ends of lines"


@pytest.mark.parametrize(("breaking", "refused"), [({2}, [HIGH]), ({0, 2}, [LOW, HIGH])])
def test_a_composition_that_is_refused_is_left_out(kit: ProtocolKit, breaking: set[int], refused: list[str]) -> None:
    """Though its parts are valid: documents of equal depth, of some depth, make the second part break."""

    def run(manifest: Manifest, arguments: Any, seed: int) -> Manifest:
        depths = {len(protocol.folders) for protocol in manifest}
        styled = ALLOWLIST["restyle"].run(manifest, arguments, seed)
        undeclared = {"casing": "capitals"} if len(depths) == 1 and depths <= breaking else {}
        return styled.update({protocol.id: undeclared for protocol in styled})

    left = battery_with(kit, DEPTHS, replace(RESTYLE, run=run))
    assert left.invalid == dict.fromkeys(refused, REFUSED)
    assert len(left.probes) == 2 - len(refused)
    assert left.covers == ("folder depths and ends of lines" if left.probes else "")


def test_without_levels_there_is_one_probe_and_without_seeds_one_draw(kit: ProtocolKit) -> None:
    [records] = battery_with(kit, ALLOWLIST["permute"]).probes
    assert (records.name, records.what, len(records.draws)) == ("neutral-low", "everything neutral at once", 2)
    assert [len(probe.draws) for probe in battery_with(kit, DEPTHS).probes] == [1, 1]
    assert battery_with(kit, ALLOWLIST["reverse"]).untested == ("reverse",)


def test_more_neutral_forms_than_a_transformation_holds_are_an_error(kit: ProtocolKit) -> None:
    with pytest.raises(ValueError, match="13 neutral forms are more than a transformation may hold"):
        battery_with(kit, replace(RESTYLE, neutral=(ENDS,) * 13))


def test_aspects_out_of_reach_are_not_covered_but_untested_with_the_reason(battery: Battery) -> None:
    left = battery.without_reach(["titles", "file names"], "no call")
    assert {*left.equal, *left.redrawn} == {*MADE_EQUAL, *DRAWN_ANEW} - {"titles", "file names"}
    assert (battery.untested, left.untested) == (("restyle",), ("restyle", "titles (no call)", "file names (no call)"))


def refusing(*hashes: str) -> Callable[[Proposal[Any]], tuple[str, ...]]:
    return lambda draw: REFUSED if draw.transformation.hash in hashes else ()


def test_a_draw_refused_on_other_tasks_leaves_the_other_and_without_any_nothing_is_covered(battery: Battery) -> None:
    low, high = ([draw.transformation.hash for draw in probe.draws] for probe in battery.probes)
    fewer = battery.checked(refusing(low[0]))
    assert [[draw.transformation.hash for draw in probe.draws] for probe in fewer.probes] == [low[1:], high]
    assert (fewer.covers, fewer.invalid) == (battery.covers, {})
    one = battery.checked(refusing(*low))
    assert ([probe.name for probe in one.probes], one.covers) == (["neutral-high"], battery.covers)
    none = one.checked(refusing(*high))
    assert (none.probes, none.covers, none.invalid) == ((), "", {LOW: REFUSED, HIGH: REFUSED})
    assert none.untested == (*battery.untested, *battery.equal, *battery.redrawn)
