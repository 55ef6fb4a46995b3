"""The paper's OfficeQA run, replayed: fed with its estimates, `Chase.evolve` comes to its decisions (`replay.py`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from chase.agents.history import RELEASED
from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.core import events
from chase.core.agents import Draft
from chase.harness.folder import load_harness
from chase.methods.desks import Assignment
from chase.methods.evolution import EvolutionOutcome
from chase.methods.selection import ArchiveGate
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import parse_for
from tests.methods.replay import (
    BOUNDARY,
    CONFIRMATION,
    CONTEXT,
    DISCOVERY,
    EVOLUTION,
    HARNESSES,
    OTHER,
    Replay,
    draft,
    form,
    replay,
)


def table(record: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Harness → its gains, its gain destruction in percent, and whether it passes, as in the paper's tables."""
    rows = {}
    for row in record["selection"]["pool"]:
        delta = row["destruction"].get("b1")
        lost = None if delta is None else round(100 * delta, 2)
        rows[row["harness"]] = (round(100 * row["gain"], 2), lost, not row["violates"])
    return rows


@pytest.fixture(scope="module")
def paper(officeqa_kit: ProtocolKit) -> tuple[Replay, EvolutionOutcome]:
    made = replay(officeqa_kit)
    return made, asyncio.run(made.evolve())


def test_the_harnesses_are_the_papers(paper: tuple[Replay, EvolutionOutcome]) -> None:
    """`H_2 = H_0`, `H_3` is the integrated candidate, `H* = H_3`."""
    made, evolved = paper
    assert [h.name for h in evolved.harnesses] == ["H0", "r1-integrated", "H0", "r3-integrated"]
    assert evolved.final.name == "r3-integrated"
    assert made.proposing.currents == ["H0", "r1-integrated", "H0"]


def test_the_selection_tables_are_the_papers(paper: tuple[Replay, EvolutionOutcome]) -> None:
    _, evolved = paper
    assert table(evolved.rounds[1]) == {
        "H0": (0.0, 0.0, True),
        "r1-integrated": (8.16, 13.27, False),
        "r2-structural": (15.31, 6.12, False),
        "r2-guidance": (9.18, 6.12, False),
        "r2-integrated": (15.31, 17.35, False),
    }
    assert table(evolved.rounds[2]) == {
        "H0": (0.0, 0.0, True),
        "r3-structural": (-1.02, 0.0, True),
        "r3-guidance": (-2.04, 4.08, True),
        "r3-integrated": (4.08, 4.08, True),
    }
    final = {row["harness"]: row["violates"] for row in evolved.selection["pool"]}
    assert final == {"H0": [], "r1-integrated": ["b1"], "r3-integrated": []}


def test_the_first_counterfactual_is_confirmed_and_the_last_is_not(paper: tuple[Replay, EvolutionOutcome]) -> None:
    made, evolved = paper
    first, last = evolved.rounds[0], evolved.rounds[2]
    evaluated = {e["symbols"]: round(100 * e["destruction"]["value"], 2) for e in first["challenger"]["evaluated"]}
    assert evaluated == {"wrap-text": 7.14, "shift-passages (by 10)": 4.08}
    assert first["challenger"]["frozen"]["symbols"] == "wrap-text"
    assert (first["confirmation"]["role"], first["confirmation"]["confirmed"]) == ("conf1", True)
    assert first["confirmation"]["destruction"]["value"] == pytest.approx(0.14)
    assert last["challenger"]["frozen"]["symbols"] == "shift-passages (by 10)"
    assert round(100 * last["challenger"]["destruction"]["value"], 2) == 10.2
    assert (last["confirmation"]["role"], last["confirmation"]["confirmed"]) == ("conf3", False)
    assert round(100 * last["confirmation"]["destruction"]["value"], 2) == 4.17
    assert [(entry.name, entry.round) for entry in evolved.archive.entries] == [("b1", 1)]
    assert evolved.archive.entries[0].hash == parse_for(made.world.kit.benchmark, form(CONTEXT)).transformation.hash
    assert [v.name for v in evolved.variants] == [RELEASED, "b1"]
    assert list(made.proposing.tree.entries) == list(made.challenging.tree.entries) == ["b1"]


def test_what_is_archived_is_the_papers_change_of_search_results(
    paper: tuple[Replay, EvolutionOutcome], officeqa: OfficeQA
) -> None:
    """The text of each result moves into `table_context`, which says "before"; the rest stays."""
    _, evolved = paper
    _, b1 = evolved.variants
    task = officeqa.tasks("conf1")[0]
    released, counterfactual = (
        json.loads(officeqa.environment(task, shown).call("search", {"query": "total"}).text)["results"]
        for shown in (officeqa.variant("released"), b1.transformation)
    )
    assert len(released) == 5
    for hit in released:
        hit["table_context"] = {"content": hit.pop("text"), "placement": "before"}
    assert counterfactual == released


def test_the_final_harness_is_the_folder_of_the_papers_integrated_candidate(
    paper: tuple[Replay, EvolutionOutcome],
) -> None:
    made, evolved = paper
    first, last = (load_harness(HARNESSES / name) for name in ("h1", "round3-integrated"))
    assert [each.harness for each in evolved.harnesses] == [
        made.world.initial.harness, first, made.world.initial.harness, last,
    ]  # fmt: skip
    assert evolved.final.harness == last


def test_an_archived_counterfactual_is_not_evaluated_again_as_a_proposal(
    paper: tuple[Replay, EvolutionOutcome],
) -> None:
    _, evolved = paper
    proposals = evolved.rounds[2]["challenger"]["proposals"]
    assert [p["verdict"] for p in proposals] == ["duplicate", "valid", "valid"]


def test_the_second_round_skips_the_challenger(paper: tuple[Replay, EvolutionOutcome]) -> None:
    made, evolved = paper
    assert evolved.rounds[1]["challenger"] == {"skipped": "H_t = H_0"}
    assert "confirmation" not in evolved.rounds[1]
    assert made.challenging.asked == [(1, "r1-integrated"), (3, "r3-integrated")]
    assert not [asked for asked in made.arena.asked if asked[0] == "conf2"]


def test_a_harness_is_held_to_what_was_archived_before_it(paper: tuple[Replay, EvolutionOutcome]) -> None:
    """Candidates of rounds 2 and 3 are evaluated under `b1`, those of round 1 that were not selected never."""
    made, _ = paper
    under = {harness for role, harness, variant in made.arena.asked if (role, variant) == ("evo", "b1")}
    assert under == {"H0", "r1-integrated", *(name for name in EVOLUTION if name[:2] in ("r2", "r3"))}


def test_only_the_selected_pair_meets_discovery_and_confirmation(paper: tuple[Replay, EvolutionOutcome]) -> None:
    made, _ = paper
    met = {(role, harness) for role, harness, _ in made.arena.asked if role != "evo"}
    assert met == {
        ("disc", "H0"),
        ("disc", "r1-integrated"),
        ("disc", "r3-integrated"),
        ("conf1", "H0"),
        ("conf1", "r1-integrated"),
        ("conf3", "H0"),
        ("conf3", "r3-integrated"),
    }


def test_the_proposer_is_asked_under_the_rules_that_select(paper: tuple[Replay, EvolutionOutcome]) -> None:
    made, _ = paper
    assert made.proposing.asked == [(Assignment(epsilon="0.05"), (ArchiveGate(epsilon="0.05"),))] * 3


def test_each_step_is_told_as_it_happens(paper: tuple[Replay, EvolutionOutcome]) -> None:
    made, evolved = paper
    challenge = [events.DraftsReceived, events.Challenged, events.Confirmed]
    assert [type(event) for event in made.told] == [
        *(events.RoundStarted, events.Selected, *challenge, events.Archived),
        *(events.RoundStarted, events.Selected, events.ChallengeSkipped),
        *(events.RoundStarted, events.Selected, *challenge),
        events.FinalSelected,
    ]
    starts = [event for event in made.told if isinstance(event, events.RoundStarted)]
    assert [(e.round, e.rounds, e.current, e.archive) for e in starts] == [
        (1, 3, "H0", (RELEASED,)),
        (2, 3, "r1-integrated", (RELEASED, "b1")),
        (3, 3, "H0", (RELEASED, "b1")),
    ]
    final = made.told[-1]
    assert isinstance(final, events.FinalSelected)
    assert final.selected == evolved.final.name
    [cheat] = [entry for entry in final.pool if entry.violates]
    assert cheat.violates == {"b1": pytest.approx(13 / 98 - 0.05)}


# The rules at their edges


async def test_exactly_eta_is_confirmed_and_a_hair_less_is_not(officeqa_kit: ProtocolKit) -> None:
    for delta, archived in ((Fraction(3, 40), 1), (Fraction(3, 40) - Fraction(1, 10**12), 0)):
        confirmation = {("conf1", "r1-integrated"): delta}
        made = replay(officeqa_kit, confirmation=confirmation, rounds=1)
        assert len((await made.evolve()).archive.entries) == archived


async def test_exactly_epsilon_is_feasible(officeqa_kit: ProtocolKit) -> None:
    """`r2-structural` loses 6/98; with that as the tolerance it is taken, a hair below it is not."""
    for epsilon, selected in (("0.061224489796", "r2-structural"), ("0.061224489795", "H0")):
        made = replay(officeqa_kit, rounds=2, epsilon=epsilon, drafts={1: [draft(CONTEXT)], 2: []})
        assert (await made.evolve()).harnesses[2].name == selected
    lost = EVOLUTION | {"r2-structural": (Fraction(15), Fraction(15) - Fraction(98, 20))}
    made = replay(officeqa_kit, rounds=2, evolution=lost, drafts={1: [draft(CONTEXT)], 2: []})
    assert (await made.evolve()).harnesses[2].name == "r2-structural"


@pytest.mark.parametrize(
    ("gains", "selected"),
    [
        ((0, 0, 0), "H0"),
        ((4, 4, 4), "r1-structural"),
        ((3, 4, 4), "r1-guidance"),
        ((3, 3, 4), "r1-integrated"),
    ],
)
async def test_ties_go_to_the_earlier_harness(officeqa_kit: ProtocolKit, gains: tuple[int, ...], selected: str) -> None:
    tracks = ("structural", "guidance", "integrated")
    evolution = {f"r1-{track}": (gain, 0) for track, gain in zip(tracks, gains, strict=True)}
    made = replay(officeqa_kit, evolution=evolution, drafts={1: []}, rounds=1)
    evolved = await made.evolve()
    assert evolved.harnesses[1].name == selected
    assert evolved.final.name == selected


async def test_a_tie_with_the_current_harness_keeps_it(officeqa_kit: ProtocolKit) -> None:
    evolution = EVOLUTION | {"r2-structural": (8, 8), "r2-guidance": (8, 8), "r2-integrated": (8, 8)}
    made = replay(officeqa_kit, evolution=evolution, drafts={1: [], 2: []}, rounds=2)
    assert [h.name for h in (await made.evolve()).harnesses] == ["H0", "r1-integrated", "r1-integrated"]


async def test_of_two_equal_discoveries_the_first_ranked_is_frozen(officeqa_kit: ProtocolKit) -> None:
    discovery = {("r1-integrated", name): Fraction(7, 98) for name in ("wrap-text", "shift-passages")}
    made = replay(officeqa_kit, discovery=discovery, rounds=1)
    record = (await made.evolve()).rounds[0]["challenger"]
    assert record["frozen"] == {k: v for k, v in record["evaluated"][0].items() if k != "destruction"}


async def test_of_two_equal_discoveries_the_one_with_fewer_operators_is_frozen(officeqa_kit: ProtocolKit) -> None:
    """The composition is ranked first, and destroys what the other does."""
    deltas = {"wrap-text+shift-passages": 7, "order-listing": 7}
    discovery = {("r1-integrated", name): Fraction(delta, 98) for name, delta in deltas.items()}
    drafts = {1: [draft(CONTEXT, BOUNDARY), draft(OTHER)]}
    made = replay(officeqa_kit, discovery=discovery, rounds=1, reduce=False, drafts=drafts)
    record = (await made.evolve()).rounds[0]["challenger"]
    assert [e["operators"] for e in record["evaluated"]] == [2, 1]
    assert record["frozen"]["symbols"] == "order-listing (way reversed)"


async def test_a_reduction_that_a_shorter_one_equals_gives_way_to_it(officeqa_kit: ProtocolKit) -> None:
    deltas = {
        "wrap-text+shift-passages+order-listing": 10,
        "rename-documents": 9,
        "wrap-text": 3,
        "shift-passages": 2,
        "order-listing": 1,
    }
    deltas |= {"wrap-text+shift-passages": 9, "wrap-text+order-listing": 4}
    discovery = {("r1-integrated", name): Fraction(delta, 98) for name, delta in deltas.items()}
    alone = draft({"name": "rename-documents", "arguments": {"style": "counted"}})
    made = replay(officeqa_kit, discovery=discovery, rounds=1, drafts={1: [draft(CONTEXT, BOUNDARY, OTHER), alone]})
    record = (await made.evolve()).rounds[0]["challenger"]
    assert record["frozen"]["symbols"] == "rename-documents (style counted)"


async def test_a_part_that_was_evaluated_as_a_proposal_is_not_listed_again(officeqa_kit: ProtocolKit) -> None:
    deltas = {"wrap-text+shift-passages": 9, "wrap-text": 8, "shift-passages": 1}
    discovery = {("r1-integrated", name): Fraction(delta, 98) for name, delta in deltas.items()}
    made = replay(officeqa_kit, discovery=discovery, rounds=1, drafts={1: [draft(CONTEXT, BOUNDARY), draft(CONTEXT)]})
    record = (await made.evolve()).rounds[0]["challenger"]
    assert sorted(e["symbols"] for e in record["evaluated"]) == [
        "shift-passages (by 10)", "wrap-text", "wrap-text, then shift-passages (by 10)",
    ]  # fmt: skip
    assert record["frozen"]["symbols"] == "wrap-text"


async def test_without_a_valid_proposal_nothing_is_confirmed(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, drafts={1: [Draft(form={"operators": "all"}), draft()]}, rounds=1)
    evolved = await made.evolve()
    assert [p["verdict"] for p in evolved.rounds[0]["challenger"]["proposals"]] == ["refused", "inactive"]
    assert evolved.rounds[0]["challenger"]["frozen"] is None
    assert "confirmation" not in evolved.rounds[0]
    assert {role for role, *_ in made.arena.asked} == {"evo", "disc"}


async def test_a_composition_is_not_reduced_to_what_is_archived_already(officeqa_kit: ProtocolKit) -> None:
    """The archived part alone would keep all of the destruction; it has its constraint already."""
    composition = draft(CONTEXT, BOUNDARY)
    evolution = EVOLUTION | {"r2-structural": (15, 15)}
    deltas = {"wrap-text": 9, "shift-passages": 0, "wrap-text+shift-passages": 9}
    discovery = DISCOVERY | {("r2-structural", name): Fraction(delta, 98) for name, delta in deltas.items()}
    confirmation = CONFIRMATION | {("conf2", "r2-structural"): Fraction(1, 5)}
    made = replay(
        officeqa_kit, evolution=evolution, discovery=discovery, confirmation=confirmation, rounds=2,
        drafts={1: [draft(CONTEXT)], 2: [composition]},
    )  # fmt: skip
    evolved = await made.evolve()
    assert [entry.name for entry in evolved.archive.entries] == ["b1", "b2"]
    assert evolved.rounds[1]["challenger"]["frozen"]["operators"] == 2


async def test_a_composition_is_reduced_around_its_own_best_part(officeqa_kit: ProtocolKit) -> None:
    """Another proposal that does better alone is no part of it."""
    deltas = {
        "wrap-text+shift-passages+order-listing": 10,
        "rename-documents": 5,
        "wrap-text": 3,
        "shift-passages": 2,
        "order-listing": 1,
        "wrap-text+shift-passages": 9,
        "wrap-text+order-listing": 4,
    }
    discovery = {("r1-integrated", name): Fraction(delta, 98) for name, delta in deltas.items()}
    alone = draft({"name": "rename-documents", "arguments": {"style": "counted"}})
    made = replay(officeqa_kit, discovery=discovery, rounds=1, drafts={1: [draft(CONTEXT, BOUNDARY, OTHER), alone]})
    record = (await made.evolve()).rounds[0]["challenger"]
    assert record["frozen"]["symbols"] == "wrap-text, then shift-passages (by 10)"
    assert len(record["evaluated"]) == len(deltas)
    whole = replay(
        officeqa_kit, discovery=discovery, rounds=1, reduce=False, drafts={1: [draft(CONTEXT, BOUNDARY, OTHER), alone]}
    )
    assert (await whole.evolve()).rounds[0]["challenger"]["frozen"]["operators"] == 3
