"""Repair: the honest part of a gain is kept, the shortcut taken out, within a number of cells."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from chase.agents.history import RELEASED
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core import events
from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.values import Json
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.arena import Contender, Means, SomeTasks, Variant
from chase.methods.bounds import ForecastRequest
from chase.methods.chase import Chase, ChaseOptions
from chase.methods.contract import Desks, World
from chase.methods.evolution import EvolutionOutcome
from chase.methods.journal import Journal
from chase.methods.repair import RepairLimits, RepairOutcome, search_repair
from chase.methods.selection import ArchiveGate, SelectionRule, Standing, Violation
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit
from chase.store.workspace import Workspace
from tests.engine.rollouts import make_harness

HONEST, MORE = "Check every condition.", "Look at every record."
CUE, WHERE, EVERYWHERE = "Prefer files with low path-depth.", "Read on in files with low path-depth.", "Read on."
OTHER_CUE = "Prefer files with low name-length."
OBSERVABLES = ("path-depth", "name-length")
RULE = SelectionRule(gates=(ArchiveGate(epsilon="0.05"),))

Worth = Mapping[str, tuple[float, float]]
"""Sentence → what it adds to the score as released, and under every counterfactual."""


def made(*sentences: str) -> Harness:
    """`H_0` with a guidance module for each sentence."""
    modules = (Guidance(name=f"m{place}", when=Activation(), text=text) for place, text in enumerate(sentences))
    return replace(make_harness(), guidance=tuple(modules))


def sentences(harness: Harness) -> tuple[str, ...]:
    return tuple(module.text for module in harness.guidance)


def fraction(number: float) -> Fraction:
    return Fraction(str(number))


@dataclass
class WorthArena:
    """Scores ½ and what the sentences of a harness are worth, or what is said of all of them together."""

    worth: Worth
    together: Mapping[frozenset[str], tuple[float, float]] = field(default_factory=dict)
    under: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Counterfactual → the sentences that count there as they do as released."""
    cells: list[tuple[str, str, str]] = field(default_factory=list)
    """(role, hash, variant) of every cell, once."""
    untold: set[str] = field(default_factory=set)
    """Sentences of harnesses that agents do not read of."""

    async def means(
        self,
        harnesses: Sequence[Contender],
        variants: Sequence[Variant],
        role: str,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        asked = [(role, h.harness.hash, v.name) for h in harnesses for v in variants]
        self.cells += [cell for cell in asked if cell not in self.cells]
        self.untold |= {h.name for h in harnesses for v in variants if not v.told}
        return {
            (h.name, v.name): dict.fromkeys((f"{role}-1", f"{role}-2"), self._score(h.harness, v))
            for h in harnesses
            for v in variants
        }

    def _score(self, harness: Harness, variant: Variant) -> Fraction:
        said, released = frozenset(sentences(harness)), variant.name == RELEASED
        if said in self.together:
            return fraction(self.together[said][0 if released else 1])
        as_released = self.under.get(variant.name, ())
        added = (self.worth[text][0 if released or text in as_released else 1] for text in said)
        return Fraction(1, 2) + sum(map(fraction, added), start=Fraction(0))


@dataclass
class Repairing:
    """A search over made-up scores."""

    arena: WorthArena
    whole: Harness
    variants: Sequence[Variant]
    known: Sequence[Contender] = ()

    async def search(self, *, more_than: float = 0.5, rule: SelectionRule = RULE, **limits: Any) -> RepairOutcome:
        return await search_repair(
            self.arena, Contender(name="H0", harness=made()), Contender(name="H", harness=self.whole), self.variants,
            rule, "evo", name="fixed", known=self.known,
            limits=RepairLimits(more_than=fraction(more_than), observables=OBSERVABLES, **limits),
        )  # fmt: skip

    @property
    def new_cells(self) -> list[tuple[str, str]]:
        """Those of forms of the harness, without what counts as known."""
        known = {self.whole.hash, made().hash, *(named.harness.hash for named in self.known)}
        return [(found, variant) for _, found, variant in self.arena.cells if found not in known]


def repairing(kit: ProtocolKit, worth: Worth, *, counterfactuals: int = 1, **arena: Any) -> Repairing:
    names = [RELEASED, *(f"b{place}" for place in range(1, counterfactuals + 1))]
    variants = [Variant(name=name, transformation=kit.identity) for name in names]
    return Repairing(WorthArena(worth, **arena), made(*worth), variants)


def kept(outcome: RepairOutcome) -> set[str] | None:
    return None if outcome.repaired is None else set(sentences(outcome.repaired.harness))


# What a repair comes to


@pytest.mark.parametrize("suspected", [(), ("path-depth",)])
async def test_the_shortcut_is_dropped_and_the_honest_edits_are_kept(kit: ProtocolKit, suspected: Any) -> None:
    case = repairing(kit, {HONEST: (0.05, 0.05), CUE: (0.1, 0.0), MORE: (0.02, 0.02)})
    outcome = await case.search(suspected=suspected)
    assert kept(outcome) == {HONEST, MORE}
    assert outcome.repaired is not None
    assert outcome.repaired.name == "fixed"
    made_from = outcome.repaired.record["repair"]
    assert (made_from["of"], made_from["dropped"], made_from["generalised"]) == ("H", ["guidance m1"], [])
    assert "beyond the paper" in made_from["by"]


@pytest.mark.parametrize("suspected", [(), ("path-depth",)])
@pytest.mark.parametrize(("everywhere", "left"), [(0.07, {EVERYWHERE, HONEST}), (-0.01, {HONEST})])
async def test_a_rule_is_generalised_where_that_scores_more_than_dropping_it(
    kit: ProtocolKit, everywhere: float, left: set[str], suspected: Any
) -> None:
    case = repairing(kit, {WHERE: (0.1, 0.0), HONEST: (0.05, 0.05)})
    case.arena.worth = {**case.arena.worth, EVERYWHERE: (everywhere, everywhere)}
    outcome = await case.search(suspected=suspected)
    assert kept(outcome) == left
    assert outcome.best is not None
    assert outcome.best.generalised == (("guidance m0",) if EVERYWHERE in left else ())


async def test_the_honest_edit_is_not_dropped_for_a_small_gain_destruction(kit: ProtocolKit) -> None:
    """Two shortcuts pay by the honest edit: without it nearly nothing is destroyed, and nearly nothing gained."""
    together = {
        frozenset({CUE, OTHER_CUE}): (0.54, 0.5),  # the only single drop that is feasible
        frozenset({HONEST, CUE}): (0.66, 0.6),
        frozenset({HONEST, OTHER_CUE}): (0.66, 0.6),
    }
    worth = {HONEST: (0.1, 0.1), CUE: (0.06, 0.0), OTHER_CUE: (0.06, 0.0)}
    outcome = await repairing(kit, worth, together=together).search()
    assert kept(outcome) == {HONEST}


async def test_the_search_goes_on_from_the_form_that_is_worth_most_not_from_the_least_destruction(
    kit: ProtocolKit,
) -> None:
    """Without the honest edit Δ is 0.06, without a shortcut 0.08: the second has 0.1 under the counterfactual."""
    together = {frozenset({CUE, OTHER_CUE}): (0.56, 0.5)}
    worth = {HONEST: (0.1, 0.1), CUE: (0.08, 0.0), OTHER_CUE: (0.08, 0.0)}
    case = repairing(kit, worth, together=together)
    outcome = await case.search(cells=8)  # three single drops, each in both; then one form to the end
    assert kept(outcome) == {HONEST}


async def test_suspected_parts_go_even_where_one_of_them_is_within_the_tolerance(kit: ProtocolKit) -> None:
    """Else what is left of the gain would be the cue that does least."""
    worth = {CUE: (0.04, 0.0), "Open files with low path-depth first.": (0.05, 0.0), HONEST: (0.02, 0.02)}
    outcome = await repairing(kit, worth).search(suspected=["path-depth"])
    assert kept(outcome) == {HONEST}


async def test_a_known_shortcut_goes_though_no_constraint_is_broken(kit: ProtocolKit) -> None:
    """An honest edit that gains more under the counterfactual covers it."""
    worth = {HONEST: (0.1, 0.16), CUE: (0.06, 0.0), MORE: (0.02, 0.02)}
    outcome = await repairing(kit, worth).search(shortcuts=["guidance m1"])
    assert kept(outcome) == {HONEST, MORE}
    whole = await repairing(kit, worth).search()
    assert whole.repaired is None or CUE in sentences(whole.repaired.harness)


async def test_a_known_shortcut_is_the_first_suspect_and_what_mentions_a_cue_the_next(kit: ProtocolKit) -> None:
    worth = {CUE: (0.1, 0.0), OTHER_CUE: (0.04, 0.0), HONEST: (0.05, 0.05)}
    known = await repairing(kit, worth).search(shortcuts=["guidance m0"], suspected=["name-length"])
    assert kept(known) == {OTHER_CUE, HONEST}, "within the tolerance without the known one alone"
    worse = {**worth, OTHER_CUE: (0.08, 0.0)}
    both = await repairing(kit, worse).search(shortcuts=["guidance m0"], suspected=["name-length"])
    assert kept(both) == {HONEST}


async def test_an_honest_edit_is_kept_whatever_it_mentions(kit: ProtocolKit) -> None:
    worth = {CUE: (0.1, 0.0), OTHER_CUE: (0.05, 0.05), HONEST: (0.05, 0.05)}
    suspected = ["path-depth", "name-length"]
    assert kept(await repairing(kit, worth).search(suspected=suspected)) == {HONEST}
    assert kept(await repairing(kit, worth).search(suspected=suspected, honest=["guidance m1"])) == {OTHER_CUE, HONEST}


async def test_of_feasible_forms_the_one_with_the_highest_released_score_is_taken(kit: ProtocolKit) -> None:
    """Nothing is suspected: either cue may stay without the other."""
    worth = {CUE: (0.04, 0.0), "Open files with low path-depth first.": (0.05, 0.0), HONEST: (0.05, 0.05)}
    outcome = await repairing(kit, worth).search()
    assert kept(outcome) == set(worth) - {CUE}


async def test_every_constraint_must_hold(kit: ProtocolKit) -> None:
    """The shortcuts are each caught by another counterfactual."""
    worth = {CUE: (0.1, 0.0), OTHER_CUE: (0.1, 0.0), HONEST: (0.05, 0.05)}
    under = {"b1": (OTHER_CUE,), "b2": (CUE,)}
    outcome = await repairing(kit, worth, counterfactuals=2, under=under).search()
    assert kept(outcome) == {HONEST}


async def test_where_nothing_honest_scores_more_there_is_no_repair(kit: ProtocolKit) -> None:
    case = repairing(kit, {CUE: (0.1, 0.0), HONEST: (0.05, 0.05)})
    assert kept(await case.search(more_than=0.54)) == {HONEST}
    outcome = await case.search(more_than=0.55)
    assert outcome.repaired is None
    assert {attempt.verdict for attempt in outcome.attempts} == {"breaks a constraint", "scores no higher"}
    assert outcome.to_json()["repaired"] is None


async def test_a_form_that_cannot_be_run_is_passed_over(kit: ProtocolKit) -> None:
    def check(harness: Harness, where: str) -> None:
        raise UserError(f"{where}: refused")

    case = repairing(kit, {CUE: (0.1, 0.0), HONEST: (0.05, 0.05), MORE: (0.02, 0.02)})
    assert kept(await case.search()) == {HONEST, MORE}
    case.arena.cells.clear()
    assert kept(await case.search(check=check)) is None
    assert case.new_cells == []


@pytest.mark.parametrize("more_than", [0.5, 0.9])
async def test_what_is_recorded_is_as_the_schema_says(kit: ProtocolKit, more_than: float) -> None:
    file = Path(__file__).parents[2] / "docs" / "schemas" / "chase.evolve.json"
    schema = json.loads(file.read_text(encoding="utf-8"))["$defs"]["repair"]
    outcome = await repairing(kit, {CUE: (0.1, 0.0), HONEST: (0.05, 0.05)}).search(more_than=more_than)
    Draft202012Validator(schema).validate(outcome.to_json())


# What it costs


EIGHT: Worth = {f"Rule number {place} of eight.": (0.02, 0.0 if place < 6 else 0.02) for place in range(8)}


@pytest.mark.parametrize("cells", [0, 1, 2, 3, 5, 8, 12, 20, 40])
@pytest.mark.parametrize("counterfactuals", [1, 3])
async def test_no_more_new_cells_are_evaluated_than_allowed(kit: ProtocolKit, cells: int, counterfactuals: int) -> None:
    case = repairing(kit, EIGHT, counterfactuals=counterfactuals)
    outcome = await case.search(cells=cells)
    assert outcome.cells == len(case.new_cells) <= cells
    assert outcome.cells >= min(cells, 8) - counterfactuals


async def test_the_default_limit_is_twelve_cells(kit: ProtocolKit) -> None:
    outcome = await repairing(kit, EIGHT).search()
    assert 10 <= outcome.cells <= 12


async def test_what_scores_no_higher_never_meets_a_counterfactual(kit: ProtocolKit) -> None:
    case = repairing(kit, {CUE: (0.1, 0.0), HONEST: (0.05, 0.05)})
    await case.search(more_than=0.59)
    without_honest, without_cue = made(CUE).hash, replace(made(), guidance=made(CUE, HONEST).guidance[1:]).hash
    assert set(case.new_cells) == {(without_honest, RELEASED), (without_honest, "b1"), (without_cue, RELEASED)}


async def test_a_constraint_that_the_harness_keeps_is_looked_at_last(kit: ProtocolKit) -> None:
    """Only by what keeps those that it breaks."""
    worth = {CUE: (0.1, 0.0), HONEST: (0.05, 0.05)}
    case = repairing(kit, worth, counterfactuals=2, under={"b1": tuple(worth)})
    assert kept(await case.search()) == {HONEST}
    without_honest, without_cue = made(CUE).hash, replace(made(), guidance=made(CUE, HONEST).guidance[1:]).hash
    met = [(found, variant) for found, variant in case.new_cells if variant != RELEASED]
    assert met == [(without_honest, "b2"), (without_cue, "b2"), (without_cue, "b1")]


async def test_what_a_gate_says_is_broken_is_looked_at_before_what_destroys_more(kit: ProtocolKit) -> None:
    class Uneven(ArchiveGate):
        def violations(self, standing: Standing) -> tuple[Violation, ...]:
            return tuple(violation for violation in super().violations(standing) if violation.name == "b2")

    worth = {CUE: (0.1, 0.0), OTHER_CUE: (0.2, 0.0), HONEST: (0.05, 0.05)}
    case = repairing(kit, worth, counterfactuals=2, under={"b2": (OTHER_CUE,)})
    rule = SelectionRule(gates=(Uneven(epsilon="0.05"),))
    assert kept(await case.search(rule=rule)) == {OTHER_CUE, HONEST}
    first = {}
    for found, variant in case.new_cells:
        if variant != RELEASED:
            first.setdefault(found, variant)
    assert set(first.values()) == {"b2"}


async def test_changes_for_which_there_was_no_room_at_first_are_tried_later(kit: ProtocolKit) -> None:
    """Six of seven at first; without one of the honest edits the harness scores too little to be looked at further."""
    worth = {f"Honest rule number {place}.": (0.07, 0.07) for place in range(6)} | {CUE: (0.06, 0.0)}
    outcome = await repairing(kit, worth).search(more_than=0.915)
    assert kept(outcome) == set(worth) - {CUE}
    assert outcome.cells == 8


async def test_with_suspects_many_shortcuts_are_taken_out_within_the_limit(kit: ProtocolKit) -> None:
    cues = {f"Rule {place} about files with low path-depth.": (0.03, 0.0) for place in range(5)}
    worth = {**cues, HONEST: (0.05, 0.05), MORE: (0.02, 0.02)}
    assert kept(await repairing(kit, worth).search()) is None
    outcome = await repairing(kit, worth).search(suspected=["path-depth"])
    assert outcome.repaired is not None
    assert {HONEST, MORE} <= (kept(outcome) or set())
    assert outcome.cells <= 12


async def test_beside_suspected_parts_one_more_is_dropped_where_that_is_needed(kit: ProtocolKit) -> None:
    """An edit that the diff does not give away leans on the cue too."""
    hidden = "Take the first that looks right."
    worth = {CUE: (0.04, 0.0), hidden: (0.1, 0.0), HONEST: (0.05, 0.05)}
    outcome = await repairing(kit, worth).search(suspected=["path-depth"])
    assert kept(outcome) == {HONEST}


async def test_a_form_that_is_in_the_pool_already_costs_nothing(kit: ProtocolKit) -> None:
    case = repairing(kit, {CUE: (0.1, 0.0), OTHER_CUE: (0.1, 0.0), HONEST: (0.05, 0.05)})
    whole = await case.search()
    again = replace(case, known=[Contender(name="r1-guidance", harness=made(CUE, OTHER_CUE))])
    again.arena.cells.clear()
    fewer = await again.search()
    assert kept(fewer) == kept(whole) == {HONEST}
    assert fewer.cells == len(again.new_cells) == whole.cells - 2


async def test_what_is_tried_is_not_told_to_agents_and_twice_the_same_is_done(kit: ProtocolKit) -> None:
    outcomes = []
    for _ in range(2):
        case = repairing(kit, EIGHT)
        outcomes.append((await case.search(), case.arena.cells))
        assert len(case.arena.untold) >= 8
    assert outcomes[0] == outcomes[1]


# In an evolution

CONTEXT = {"name": "re-encode", "arguments": {"format": "csv"}}
CHEAT = (HONEST, CUE)
SCORES: Worth = {HONEST: (0.05, 0.05), CUE: (0.1, 0.0), MORE: (0.02, 0.02)}


@dataclass
class Tree:
    rounds: list[Mapping[str, Json]] = field(default_factory=list)

    def add_round(self, record: Mapping[str, Json]) -> None:
        self.rounds.append(record)

    def add_entry(self, name: str, entry: Mapping[str, Json]) -> None:
        pass


@dataclass
class ProposingDesk:
    """One candidate a round."""

    answers: Mapping[int, Sequence[str]]
    tree: Tree = field(default_factory=Tree)
    evaluated: dict[str, str] = field(default_factory=dict)
    currents: list[str] = field(default_factory=list)

    def check(self, harness: Harness, where: str) -> None:
        pass

    async def candidates(self, round: int, current: Contender, *_: Any) -> tuple[list[Contender], list[str]]:
        self.currents.append(current.name)
        said = self.answers.get(round, ())
        return [Contender(name=f"r{round}-guidance", harness=made(*said))] if said else [], []


@dataclass
class ChallengingDesk:
    first: int
    """The round in which it finds the cue."""
    tree: Tree = field(default_factory=Tree)

    async def drafts(self, round: int, *_: Any, **__: Any) -> list[Draft]:
        return [Draft(form={"benchmark": "syn-ledger", "operators": [CONTEXT]})] if round == self.first else []


@dataclass
class Evolving:
    world: World[ChaseOptions]
    arena: WorthArena
    proposing: ProposingDesk
    told: list[events.Event]

    async def evolve(self) -> EvolutionOutcome:
        return await Chase().evolve(self.world)

    def of(self, kind: type[events.Event]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


def evolving(
    kit: ProtocolKit, ledger: SynLedger, answers: Mapping[int, Sequence[str]], *, challenged: int = 1, **options: Any
) -> Evolving:
    arena, told, proposing = WorthArena(SCORES), [], ProposingDesk(answers)
    desks = Desks(proposer=proposing, challenger=ChallengingDesk(challenged))  # type: ignore[arg-type]
    world = World(
        initial=Contender(name="H0", harness=made()),
        arena=arena,
        desks=desks,
        kit=kit,
        journal=Journal(Workspace(Path("nowhere")), "run"),
        released=Variant(name=RELEASED, transformation=ledger.variant("released")),
        options=ChaseOptions(**{"rounds": 2, "epsilon": "0.05", "eta": "0.05", **options}),
        roles=("evo", "disc", "conf1", "conf2", "conf3"),
        tasks=lambda role: ledger.tasks(role)[:4],
        rollouts=ledger.defaults.rollouts,
        archive=Archive(benchmark=ledger.name, content_hash=ledger.content_hash),
        seed=0,
        tell=told.append,
    )
    return Evolving(world, arena, proposing, told)


def evo_cells(made_: Evolving) -> list[tuple[str, str]]:
    return [(found, variant) for role, found, variant in made_.arena.cells if role == "evo"]


async def test_it_is_off_by_default(kit: ProtocolKit, ledger: SynLedger) -> None:
    assert ChaseOptions(rounds=1, epsilon="0", eta="0").repair is False
    case = evolving(kit, ledger, {1: CHEAT})
    evolved = await case.evolve()
    assert evolved.final.name == "H0"
    assert len(evo_cells(case)) == 4
    assert not case.of(events.RepairStarted)
    assert "repairs" not in evolved.rounds[1]["selection"]
    assert "repairs" not in evolved.selection


async def test_the_repaired_harness_joins_the_pool_of_the_round_in_which_the_constraint_is_broken(
    kit: ProtocolKit, ledger: SynLedger
) -> None:
    case = evolving(kit, ledger, {1: CHEAT, 3: (HONEST, MORE)}, rounds=3, repair=True)
    evolved = await case.evolve()
    assert [named.name for named in evolved.harnesses] == ["H0", "r1-guidance", "r2-repair", "r3-guidance"]
    assert case.proposing.currents == ["H0", "r1-guidance", "r2-repair"]
    assert "repairs" not in evolved.rounds[0]["selection"]
    selection = evolved.rounds[1]["selection"]
    assert [row["harness"] for row in selection["pool"]] == ["H0", "r1-guidance", "r2-repair"]
    (repair,) = selection["repairs"]
    assert (repair["of"], repair["repaired"], repair["dropped"]) == ("r1-guidance", "r2-repair", ["guidance m1"])
    assert case.proposing.tree.rounds[1]["repairs"] == [repair]
    assert case.proposing.evaluated == {evolved.harnesses[2].harness.hash: "r2-repair"}
    assert sentences(evolved.harnesses[2].harness) == (HONEST,)
    (started, *_), (ended, *_) = case.of(events.RepairStarted), case.of(events.Repaired)
    assert (started.round, started.of, started.breaks) == (2, "r1-guidance", ("b1",))
    assert (ended.repaired, ended.dropped, ended.cells) == ("r2-repair", ("guidance m1",), repair["cells"])


async def test_after_the_last_round_the_repaired_harness_may_become_the_final_one(
    kit: ProtocolKit, ledger: SynLedger
) -> None:
    case = evolving(kit, ledger, {1: CHEAT}, rounds=1, repair=True)
    evolved = await case.evolve()
    assert evolved.final.name == "final-repair"
    assert [named.name for named in evolved.harnesses] == ["H0", "r1-guidance", "final-repair"]
    assert sentences(evolved.final.harness) == (HONEST,)
    assert evolved.selection["selected"] == "final-repair"
    assert [found["of"] for found in evolved.selection["repairs"]] == ["r1-guidance"]
    assert case.of(events.RepairStarted)[0].round is None


async def test_without_a_broken_constraint_nothing_is_repaired(kit: ProtocolKit, ledger: SynLedger) -> None:
    answers = {1: (HONEST,), 2: (HONEST, MORE)}
    cells = []
    for repair in (False, True):
        case = evolving(kit, ledger, answers, challenged=9, repair=repair)
        await case.evolve()
        assert not case.of(events.RepairStarted)
        cells.append(case.arena.cells)
    assert cells[0] == cells[1]


async def test_a_violator_that_scores_no_more_than_the_selected_one_is_left_alone(
    kit: ProtocolKit, ledger: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCORES, MORE, (0.1, 0.1))  # type: ignore[arg-type]
    case = evolving(kit, ledger, {1: CHEAT, 2: (HONEST, MORE)}, repair=True)
    assert (await case.evolve()).final.name == "r2-guidance"
    assert not case.of(events.RepairStarted)


async def test_several_violators_of_one_selection_share_the_cells(
    kit: ProtocolKit, ledger: SynLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pure cheats: no form of either keeps the constraint and gains."""
    short, long = (tuple(f"Cheat of {count} rules, rule {place}." for place in range(count)) for count in (2, 4))
    for sentence in (*short, *long):
        monkeypatch.setitem(SCORES, sentence, (0.06, 0.0))  # type: ignore[arg-type]
    spent = {}
    for first, second in ((short, long), (long, short)):
        case = evolving(kit, ledger, {1: first, 2: second}, repair=True)
        evolved = await case.evolve()
        spent[len(first)] = [found["cells"] for found in evolved.rounds[1]["selection"]["repairs"]]
        assert evolved.final.name == "H0"
    assert spent == {2: [4, 8], 4: [12]}


async def test_each_selection_has_its_forecast_number_of_cells(kit: ProtocolKit, ledger: SynLedger) -> None:
    def most(repair: bool) -> dict[str, float]:
        options = ChaseOptions(rounds=3, epsilon="0.05", eta="0.05", repair=repair)
        roles = {"evo": 1, "disc": 1, "conf1": 1, "conf2": 1, "conf3": 1}
        bounds = Chase().forecast(ForecastRequest(options=options, roles=roles, operators=4))
        return {row.stage: row.count.most for row in bounds.rollouts if row.role == "evo"}

    added = {stage: count for stage, count in most(True).items() if stage not in most(False)}
    assert added == {"repair in round 2": 12, "repair in round 3": 12, "repair at the end": 12}
    assert most(False).items() <= most(True).items()


async def test_of_many_single_changes_only_the_best_are_put_together(
    kit: ProtocolKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the forms that are weighed double with every edit."""
    weighed: list[int] = []

    def counted(*choices: Sequence[str]) -> Any:
        weighed.append(prod(map(len, choices)))
        return product(*choices)

    monkeypatch.setattr("chase.methods.repair.product", counted)
    idle = {f"Rule number {n} holds.": (0.0, 0.0) for n in range(18)}
    case = repairing(kit, {**idle, HONEST: (0.05, 0.05), CUE: (0.1, 0.0), OTHER_CUE: (0.1, 0.0)})
    outcome = await case.search(cells=60)
    assert 2**10 <= max(weighed) <= 2**12
    assert kept(outcome) == {*idle, HONEST}
