"""The offline Proposer: candidates within the rules, the same for the same history, and what it learns from it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from chase.agents.history import History, HistoryWriter
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import (
    ALL_EDITS,
    CANDIDATE_TRACKS,
    DOCUMENT_EDITS,
    Candidate,
    EditSpace,
    ProposerContext,
    Refusal,
)
from chase.core.errors import UserError
from chase.core.observables import OBSERVABLES
from chase.harness.diff import diff_harnesses
from chase.harness.folder import parse_files
from chase.harness.parts import generalised, parts_of, with_parts
from chase.harness.spec import Harness
from chase.proposers.mining import MiningProposer
from chase.proposers.mining.edits import Edit, combine, every_edit, general_form, vocabulary
from chase.proposers.mining.hindsight import edits_of
from chase.testing.ledger import H0
from tests.agents.made_traces import depth, indifferent, made_trace

pytestmark = pytest.mark.slow

TASKS = range(16)
PRIOR_SHA256 = "151c060551a89d8913b8fd878d15e7a4b5da1a35fdcc1418d72eb0981bea318f"
QUARTILES = dict.fromkeys(OBSERVABLES, (1.0, 3.0))
EDITS = {edit.name: edit for edit in every_edit(OBSERVABLES, QUARTILES, list(SynLedger.placeholders), space="all")}


def record_of(*names: str, origin: str = "H0") -> dict[str, Any]:
    """What a Proposer writes about a harness with these edits."""
    return {"edits": [EDITS[name].to_json() for name in names], "new": list(names), "from": origin}


class Told(HistoryWriter):
    """A tree that is filled by hand."""

    def evaluated(self, name: str, variant: str, share: float) -> None:
        """So large a share of tasks is solved; successes open shallow files, failures anything."""
        solved = [task < share * len(TASKS) for task in TASKS]
        traces = {
            (f"task-{task:02}", 0): made_trace(
                task, depth if won else indifferent(task, name), score=float(won), reads_on=lambda _: False
            )
            for task, won in zip(TASKS, solved, strict=True)
        }
        scores = {f"task-{task:02}": (float(won),) for task, won in zip(TASKS, solved, strict=True)}
        self.add_scores(name, variant, scores, dict.fromkeys(scores, ("answered",)), traces)

    def candidate(self, name: str, *edits: str) -> Harness:
        harness = combine(H0, [EDITS[edit] for edit in edits], SynLedger.bounds)[0]
        self.add_harness(name, harness, record_of(*edits))
        return harness


def tree(root: Path) -> Told:
    """H_0 alone, evaluated."""
    told = Told(root)
    told.add_harness("H0", H0, {})
    told.evaluated("H0", "released", 0.5)
    return told


def context(root: Path, **changes: Any) -> ProposerContext:
    given = ProposerContext(
        history=root,
        round=1,
        current="H0",
        initial="H0",
        benchmark="syn-ledger",
        epsilon="0.05",
        edit_space=ALL_EDITS,
        observables=OBSERVABLES,
        placeholders=SynLedger.placeholders,
        bounds=SynLedger.bounds,
        answer_form=SynLedger.answer_form,
        tools=tuple(SynLedger.tools),
        interface=SynLedger.interface,
        limits={"total": 12},
        seed=0,
    )
    return replace(given, **changes)


async def propose(given: ProposerContext, prior: str = "even") -> list[Candidate]:
    return list(await MiningProposer(prior).propose(given))


def edit_names(candidate: Candidate) -> list[str]:
    return [edit["name"] for edit in candidate.record["edits"]]


def new_observables(candidates: Sequence[Candidate]) -> list[str]:
    """Observables that new edits lean on."""
    return [
        edit["observable"]
        for candidate in candidates
        for edit in candidate.record["edits"]
        if edit["observable"] is not None and edit["name"] in candidate.record["new"]
    ]


# Candidates within the rules


@pytest.mark.parametrize("space", [ALL_EDITS, DOCUMENT_EDITS], ids=lambda s: s.name)
@pytest.mark.parametrize("prior", ["even", "procedural"])
async def test_candidates_parse_and_keep_to_their_track_and_edit_space(
    tmp_path: Path, space: EditSpace, prior: str
) -> None:
    tree(tmp_path)
    for seed in range(20):
        candidates = await propose(context(tmp_path, edit_space=space, seed=seed), prior)
        assert tuple(candidate.track for candidate in candidates) == CANDIDATE_TRACKS
        for candidate in candidates:
            diff = diff_harnesses(H0, parse_files(candidate.files, where="candidate"))
            assert diff.changes
            assert all(space.allows(change.key) for change in diff.changes)
            if candidate.track != "integrated":
                assert diff.tracks_changed == {candidate.track}


async def test_a_candidate_says_what_it_is_for_what_it_costs_and_what_it_risks(tmp_path: Path) -> None:
    tree(tmp_path)
    for candidate in await propose(context(tmp_path)):
        record = candidate.record
        assert record["from"] == "H0"
        assert record["dropped"] == []
        assert set(record["new"]) == set(edit_names(candidate)) != set()
        assert record["targets"]
        assert all(0 <= share <= 1 for share in record["targets"].values())
        assert record["activation"]
        assert record["stopping"]
        assert isinstance(record["expected_calls"], int)
        assert record["risks"]
        harness = combine(H0, [Edit(**edit) for edit in record["edits"]], SynLedger.bounds)[0]
        assert parse_files(candidate.files, where="candidate").hash == harness.hash


async def test_candidates_build_on_the_current_harness(tmp_path: Path) -> None:
    told = tree(tmp_path)
    told.candidate("r1-guidance", "check-conditions", "relax")
    told.evaluated("r1-guidance", "released", 0.6)
    for candidate in await propose(context(tmp_path, current="r1-guidance", round=2)):
        assert edit_names(candidate)[:2] == ["check-conditions", "relax"]
        assert not {"check-conditions", "relax"} & set(candidate.record["new"])


def test_templates_use_the_benchmarks_placeholders_alone_and_in_pairs() -> None:
    def templates(*placeholders: str) -> list[str]:
        edits = every_edit(OBSERVABLES, QUARTILES, placeholders, space="all")
        return [edit.value[0] for edit in edits if edit.set == "retrieval.templates"]

    assert templates("title", "years") == ["{title}", "{title} {years}", "{years}", "{years} {title}"]
    assert len(templates(*SynLedger.placeholders)) == 16
    assert templates() == []


def test_edits_above_the_benchmarks_bounds_are_left_out() -> None:
    names = ("search-first-entity", "keep-reads", "search-first-question", "relax", "search-first-period")
    plan = [EDITS[name] for name in names]
    harness, kept = combine(H0, plan, replace(SynLedger.bounds, templates=2, reserved_reads=1))
    assert [edit.name for edit in kept] == ["search-first-entity", "search-first-question", "relax"]
    assert harness.structure.retrieval.templates == ("{entity}", "{question}")
    assert harness.structure.tools.reserved_reads == 0
    assert [edit.name for edit in combine(H0, plan, SynLedger.bounds)[1]] == list(names)


# Other assignments


async def test_without_tracks_there_are_as_many_free_candidates_as_are_due(tmp_path: Path) -> None:
    tree(tmp_path)
    for seed in range(5):
        candidates = await propose(context(tmp_path, tracks=(), candidates=4, seed=seed))
        assert [candidate.track for candidate in candidates] == [None] * 4
        assert len({str(candidate.files) for candidate in candidates}) == 4
        assert all(candidate.record["new"] for candidate in candidates)
    drawn = {edit["track"] for c in candidates for edit in c.record["edits"]}
    assert drawn == {"structural", "guidance"}


async def test_only_the_tracks_that_are_due_are_answered_with_the_same_edits(tmp_path: Path) -> None:
    tree(tmp_path)
    structural, guidance, _ = await propose(context(tmp_path))
    assert await propose(context(tmp_path, tracks=("guidance",), candidates=1)) == [guidance]
    both = ("structural", "guidance")
    assert await propose(context(tmp_path, tracks=both, candidates=2)) == [structural, guidance]


# Determinism


async def test_candidates_are_the_same_for_the_same_history_and_seed(tmp_path: Path) -> None:
    tree(tmp_path / "a")
    tree(tmp_path / "b")
    first = await propose(context(tmp_path / "a", seed=3))
    assert await propose(context(tmp_path / "a", seed=3)) == first
    assert await propose(context(tmp_path / "b", seed=3)) == first


async def test_the_order_in_which_observables_are_listed_decides_nothing(tmp_path: Path) -> None:
    tree(tmp_path)
    given = context(tmp_path)
    backwards = dict(reversed(list(given.observables.items())))
    for seed in range(5):
        again = replace(given, observables=backwards, seed=seed)
        assert await propose(again) == await propose(replace(given, seed=seed))


async def test_another_seed_or_round_draws_other_edits(tmp_path: Path) -> None:
    tree(tmp_path)
    drawn = {str([c.record["new"] for c in await propose(context(tmp_path, seed=seed))]) for seed in range(10)}
    assert len(drawn) == 10
    rounds = {str([c.record["new"] for c in await propose(context(tmp_path, round=r))]) for r in range(1, 6)}
    assert len(rounds) == 5


async def test_without_evidence_no_observable_comes_first_by_its_place(tmp_path: Path) -> None:
    """Nothing goes with success in these traces: over seeds all kinds of observables are drawn."""
    told = Told(tmp_path)
    told.add_harness("H0", H0, {})
    told.evaluated("H0", "released", 0.0)
    drawn: Counter[str] = Counter()
    for seed in range(40):
        drawn.update(new_observables(await propose(context(tmp_path, seed=seed, edit_space=DOCUMENT_EDITS))))
    assert len(drawn) >= 8
    assert max(drawn.values()) <= 0.3 * drawn.total()


# Nothing is known beforehand


def sources() -> dict[str, str]:
    folder = files("chase.proposers.mining")
    return {f.name: f.read_text() for f in folder.iterdir() if f.name.endswith((".py", ".toml"))}


@pytest.mark.parametrize("name", sorted(OBSERVABLES))
def test_no_observable_is_named_in_the_source_or_the_prior(name: str) -> None:
    assert [file for file, text in sources().items() if re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


def test_the_prior_has_no_ready_candidate() -> None:
    """Each entry is one edit of one field or one sentence, and those on documents leave the observable open."""
    for name, entry in vocabulary()["edits"].items():
        assert ("set" in entry) != ("say" in entry), name
        if entry["family"] == "observable":
            assert "value" not in entry
            assert "say" not in entry or "{observable}" in entry["say"]
            assert "say" not in entry or entry["say"].count(".") == 1


def test_every_observable_gets_the_same_edits_on_both_sides() -> None:
    forms = Counter((e.entry, e.side) for e in EDITS.values() if e.observable is not None)
    assert set(forms.values()) == {len(OBSERVABLES)}
    assert {side for _, side in forms} == {"low", "high"}


def test_the_frozen_prior_is_the_one_that_results_were_published_for() -> None:
    """A change of the file changes every result: publish them anew, then pin the new digest here."""
    text = files("chase.proposers.mining").joinpath("prior.toml").read_bytes()
    assert hashlib.sha256(text).hexdigest() == PRIOR_SHA256


def test_both_priors_load_and_an_unknown_one_is_refused() -> None:
    assert set(vocabulary()["priors"]) == {"even", "procedural"}
    assert [MiningProposer(prior).name for prior in vocabulary()["priors"]] == ["mining:even", "mining:procedural"]
    families = {entry["family"] for entry in vocabulary()["edits"].values()}
    assert all(set(prior) == families for prior in vocabulary()["priors"].values())
    with pytest.raises(UserError, match="even"):
        MiningProposer("evn")


async def test_the_prior_decides_how_often_an_observable_is_leant_on(tmp_path: Path) -> None:
    tree(tmp_path)
    counts = {"even": 0, "procedural": 0}
    for prior in counts:
        for seed in range(40):
            counts[prior] += len(new_observables(await propose(context(tmp_path, seed=seed), prior)))
    assert counts["procedural"] < 0.7 * counts["even"]


# What it learns


async def test_what_goes_with_success_is_taken_up(tmp_path: Path) -> None:
    tree(tmp_path)
    drawn: Counter[tuple[str, str]] = Counter()
    for seed in range(40):
        for candidate in await propose(context(tmp_path, seed=seed, edit_space=DOCUMENT_EDITS)):
            for edit in candidate.record["edits"]:
                if edit["observable"] is not None:
                    drawn[edit["observable"], edit["side"]] += 1
    assert drawn.most_common(1)[0][0] == ("path-depth", "low")
    assert drawn["path-depth", "low"] > 5 * max(1, drawn["path-depth", "high"])


def broken(root: Path, *edits: str, archived: bool = True) -> Told:
    """A harness with these edits gained 0.3, all of which an archived counterfactual of depth takes away."""
    told = tree(root)
    told.candidate("r1-guidance", *edits)
    told.evaluated("r1-guidance", "released", 0.8125)
    if archived:
        told.add_entry("b1", {"name": "b1", "round": 1, "transformation": {}, "touched": {"path-depth": 1.7}})
        told.evaluated("H0", "b1", 0.5)
        told.evaluated("r1-guidance", "b1", 0.5)
    return told


@pytest.mark.parametrize("current", ["H0", "r1-guidance"])
async def test_the_repaired_harness_is_among_the_candidates_after_a_broken_constraint(
    tmp_path: Path, current: str
) -> None:
    broken(tmp_path, "prefer-low-path-depth", "check-conditions")
    for seed in range(10):
        candidates = await propose(context(tmp_path, current=current, round=2, seed=seed))
        (integrated,) = (c for c in candidates if c.track == "integrated")
        assert edit_names(integrated) == ["check-conditions"]
        if current != "H0":
            assert integrated.record["dropped"] == ["prefer-low-path-depth"]


async def test_without_an_offending_edit_the_last_one_is_dropped(tmp_path: Path) -> None:
    broken(tmp_path, "check-conditions", "read-on")
    candidates = await propose(context(tmp_path, current="r1-guidance", round=2))
    assert edit_names(candidates[2]) == ["check-conditions"]
    assert candidates[2].record["dropped"] == ["read-on"]


async def test_a_repaired_harness_that_was_evaluated_is_built_upon(tmp_path: Path) -> None:
    told = broken(tmp_path, "prefer-low-path-depth", "check-conditions")
    told.candidate("r2-integrated", "check-conditions")
    told.evaluated("r2-integrated", "released", 0.75)
    told.evaluated("r2-integrated", "b1", 0.75)
    integrated = (await propose(context(tmp_path, current="r2-integrated", round=3)))[2]
    assert edit_names(integrated)[0] == "check-conditions"
    assert integrated.record["new"]


GENERAL = {"guidance": ("read-on-where-low-path-depth", "read-on"),
           "structural": ("engine-reads-on-where-low-path-depth", "engine-reads-on")}  # fmt: skip


@pytest.mark.parametrize("track", GENERAL)
async def test_the_edit_that_broke_a_constraint_is_offered_without_its_condition(tmp_path: Path, track: str) -> None:
    conditional, general = GENERAL[track]
    broken(tmp_path, conditional, "check-conditions")
    for seed in range(10):
        candidates = {c.track: c for c in await propose(context(tmp_path, current="r1-guidance", round=2, seed=seed))}
        assert edit_names(candidates[track]) == ["check-conditions", general]
        assert candidates[track].record["dropped"] == [conditional]
        assert edit_names(candidates["integrated"]) == ["check-conditions"]
        (other,) = GENERAL.keys() - {track}
        assert edit_names(candidates[other])[:2] == [conditional, "check-conditions"]
        assert candidates[other].record["new"]


@pytest.mark.parametrize("track", GENERAL)
async def test_a_generalised_edit_is_put_on_a_current_harness_that_broke_nothing(tmp_path: Path, track: str) -> None:
    conditional, general = GENERAL[track]
    broken(tmp_path, conditional, "check-conditions")
    candidates = {c.track: c for c in await propose(context(tmp_path, current="H0", round=2))}
    assert edit_names(candidates[track]) == [general]


async def test_each_track_generalises_its_own_edits(tmp_path: Path) -> None:
    pairs = list(GENERAL.values())
    broken(tmp_path, *(conditional for conditional, _ in pairs))
    candidates = {c.track: c for c in await propose(context(tmp_path, current="r1-guidance", round=2))}
    assert edit_names(candidates["guidance"]) == [GENERAL["structural"][0], "read-on"]
    assert edit_names(candidates["structural"]) == [GENERAL["guidance"][0], "engine-reads-on"]


async def test_an_offending_edit_without_a_general_form_goes_where_another_is_generalised(tmp_path: Path) -> None:
    broken(tmp_path, "prefer-low-path-depth", "read-on-where-low-path-depth")
    guidance = (await propose(context(tmp_path, current="r1-guidance", round=2)))[1]
    assert edit_names(guidance) == ["read-on"]


async def test_what_is_offered_after_a_broken_constraint_is_offered_once(tmp_path: Path) -> None:
    """A generalised edit that is the repaired harness, or was evaluated, leaves its place to new edits."""
    told = broken(tmp_path / "same", "read-on", "read-on-where-low-path-depth")
    guidance = (await propose(context(tmp_path / "same", current="r1-guidance", round=2)))[1]
    assert guidance.record["new"]
    assert guidance.record["dropped"] == ["read-on-where-low-path-depth"]
    told = broken(tmp_path / "again", "check-conditions", "read-on-where-low-path-depth")
    told.candidate("r2-guidance", "check-conditions", "read-on")
    told.evaluated("r2-guidance", "released", 0.4)
    guidance = (await propose(context(tmp_path / "again", current="r1-guidance", round=3)))[1]
    assert edit_names(guidance)[:1] == ["check-conditions"]
    assert edit_names(guidance) != ["check-conditions", "read-on"]


async def test_free_candidates_begin_with_the_repaired_and_the_generalised_harness(tmp_path: Path) -> None:
    broken(tmp_path, "check-conditions", "read-on-where-low-path-depth")
    candidates = await propose(context(tmp_path, current="r1-guidance", round=2, tracks=(), candidates=3))
    assert [edit_names(c) for c in candidates[:2]] == [["check-conditions"], ["check-conditions", "read-on"]]
    assert candidates[2].record["new"]
    (only,) = await propose(context(tmp_path, current="r1-guidance", round=2, tracks=(), candidates=1))
    assert edit_names(only) == ["check-conditions"]


def test_a_general_form_is_the_edit_without_its_observable() -> None:
    generals = {name: general_form(edit) for name, edit in EDITS.items()}
    assert generals["read-on-where-high-path-depth"] == EDITS["read-on"]
    assert generals["engine-reads-on-where-low-path-depth"] == EDITS["engine-reads-on"]
    assert {EDITS[name].family for name, general in generals.items() if general is not None} == {"observable"}
    for name, entry in vocabulary()["edits"].items():
        if "general" in entry:
            general = vocabulary()["edits"][entry["general"]]
            assert (general["track"], general["space"]) == (entry["track"], entry["space"]), name
            assert general["family"] != "observable"


# Harnesses that the host repaired, and those that somebody else wrote


def host_repaired(told: Told, harness: Harness) -> None:
    told.add_harness("r2-repair", harness, {"repair": {"of": "r1-guidance", "dropped": [], "generalised": []}})
    told.evaluated("r2-repair", "released", 0.75)
    told.evaluated("r2-repair", "b1", 0.75)


WHERE = "read-on-where-low-path-depth"


@pytest.mark.parametrize("kept", [("relax", "check-conditions"), ("relax", WHERE), ("check-conditions",), ()])
async def test_a_harness_that_the_host_repaired_is_known_by_the_edits_that_are_left(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    """The host leaves a generalised module its name."""
    told = broken(tmp_path, "relax", "check-conditions", WHERE, "rank-low-path-depth")
    left = [replace(EDITS["read-on"], name=WHERE) if name == WHERE else EDITS[name] for name in kept]
    host_repaired(told, combine(H0, left, SynLedger.bounds)[0])
    for candidate in (await propose(context(tmp_path, current="r2-repair", round=3)))[:2]:
        assert candidate.record["edits"][: len(kept)] == [edit.to_json() for edit in left]
        assert not set(kept) & set(candidate.record["new"])
        assert candidate.record["dropped"] == []


def test_every_repair_of_a_harness_is_known_by_its_edits(tmp_path: Path) -> None:
    """Each part of it dropped or generalised by the host."""
    names = ("relax", "search-first-entity", "rank-low-path-depth", "rank-high-name-length", "check-conditions", WHERE)
    names += ("engine-reads-on-where-low-path-depth", "prefer-low-path-depth")
    told = tree(tmp_path)
    whole = told.candidate("r1-guidance", *names)
    parts = parts_of(H0, whole)
    assert len(parts) == len(names)
    treated = [[p for p in parts if p is not part] for part in parts]
    general = {part.name: generalised(part, OBSERVABLES) for part in parts}
    treated += [[general[p.name] or p if p is part else p for p in parts] for part in parts if general[part.name]]
    assert len(treated) == len(names) + 2
    for place, kept in enumerate(treated):
        repaired = with_parts(H0, whole, kept)
        told.add_harness(f"r{place}-repair", repaired, {"repair": {"of": "r1-guidance"}})
        edits = edits_of(History(tmp_path), f"r{place}-repair")
        assert combine(H0, edits, SynLedger.bounds)[0].hash == repaired.hash


async def test_a_harness_of_unknown_edits_is_built_upon_whole(tmp_path: Path) -> None:
    told = broken(tmp_path, "prefer-low-path-depth")
    strange = replace(H0, memory="Somebody else's note.")
    told.add_harness("strange", strange, {})
    told.evaluated("strange", "released", 0.75)
    for candidate in await propose(context(tmp_path, current="strange", round=3)):
        diff = diff_harnesses(strange, parse_files(candidate.files, where="candidate"))
        assert diff.tracks_changed <= {candidate.track} or candidate.track == "integrated"
        assert diff.changes
        assert not [change for change in diff.changes if change.kind == "removed"]


async def test_offending_observables_get_far_rarer(tmp_path: Path) -> None:
    broken(tmp_path / "free", "prefer-low-path-depth", "check-conditions", archived=False)
    broken(tmp_path / "broken", "prefer-low-path-depth", "check-conditions")
    counts = {}
    for folder in ("free", "broken"):
        drawn: Counter[str] = Counter()
        for seed in range(40):
            given = context(tmp_path / folder, round=2, seed=seed, edit_space=DOCUMENT_EDITS)
            drawn.update(new_observables(await propose(given)))
        counts[folder] = drawn["path-depth"]
    assert counts["free"] > 20
    assert counts["broken"] < counts["free"] / 4


async def test_a_constraint_that_holds_teaches_nothing(tmp_path: Path) -> None:
    """Exactly ε lost is within the constraint."""
    told = broken(tmp_path, "prefer-low-path-depth", "check-conditions", archived=False)
    told.add_entry("b1", {"name": "b1", "touched": {"path-depth": 1.7}})
    told.evaluated("H0", "b1", 0.5)
    told.evaluated("r1-guidance", "b1", 0.75)
    free = await propose(context(tmp_path, round=2, epsilon="0.0625"))
    assert all("check-conditions" not in edit_names(c)[:1] for c in free)
    strict = await propose(context(tmp_path, round=2, epsilon="0.0624"))
    assert edit_names(strict[2])[0] == "check-conditions"


async def test_the_plain_optimiser_has_no_constraints_to_learn_from(tmp_path: Path) -> None:
    broken(tmp_path / "broken", "prefer-low-path-depth", "check-conditions")
    broken(tmp_path / "free", "prefer-low-path-depth", "check-conditions", archived=False)
    both = [await propose(context(tmp_path / f, round=2, epsilon=None)) for f in ("broken", "free")]
    assert both[0] == both[1]


async def test_what_was_tried_in_vain_gets_rarer_and_what_gained_more_frequent(tmp_path: Path) -> None:
    counts = {}
    for name, share in (("vain", 0.25), ("well", 0.8125)):
        told = tree(tmp_path / name)
        told.candidate("r1-structural", "relax")
        told.evaluated("r1-structural", "released", share)
        drawn: Counter[str] = Counter()
        for seed in range(60):
            for candidate in await propose(context(tmp_path / name, round=2, seed=seed)):
                drawn.update(candidate.record["new"])
        counts[name] = drawn["relax"]
    assert counts["vain"] < counts["well"] / 2


# What a gate refuses

CONTRACT = {"a-gate": "Name no observable."}


def refused(*reasons: tuple[str, str]) -> list[Refusal]:
    return [Refusal(place=place, name=f"r1-{track}", reason=why) for place, (track, why) in enumerate(reasons)]


async def test_the_next_best_is_drawn_in_place_of_the_edit_at_fault(tmp_path: Path) -> None:
    tree(tmp_path)
    given = context(tmp_path, epsilon=None, contracts=CONTRACT)
    proposer = MiningProposer()
    first = {made.track: made for made in await proposer.propose(given)}
    fault, other = first["guidance"].record["new"]
    [again] = await proposer.revise(given, refused(("guidance", f"guidance/{fault}.md names an observable")))
    assert again.track == "guidance"
    assert fault not in again.record["new"]
    assert other in again.record["new"]
    assert len(again.record["new"]) == 2
    [third] = await proposer.revise(given, refused(("guidance", "changes nothing")))
    assert not {fault, *again.record["new"]} & set(third.record["new"])


async def test_a_refused_structural_candidate_is_integrated_in_its_new_form(tmp_path: Path) -> None:
    tree(tmp_path)
    given = context(tmp_path, epsilon=None, contracts=CONTRACT)
    proposer = MiningProposer()
    first = {made.track: made for made in await proposer.propose(given)}
    structural, integrated = await proposer.revise(given, refused(("structural", "no"), ("integrated", "no")))
    assert not set(structural.record["new"]) & set(first["structural"].record["new"])
    assert set(integrated.record["new"]) & set(structural.record["new"])
    assert set(integrated.record["new"]) & set(first["guidance"].record["new"])
    [whole] = await proposer.revise(given, refused(("integrated", "no")))
    assert set(whole.record["new"]) == {*structural.record["new"], *first["guidance"].record["new"]}


async def test_free_candidates_are_drawn_anew_and_without_a_gate_nothing_is(tmp_path: Path) -> None:
    tree(tmp_path)
    given = context(tmp_path, epsilon=None, contracts=CONTRACT, tracks=(), candidates=1)
    proposer = MiningProposer()
    [first] = await proposer.propose(given)
    [again] = await proposer.revise(given, refused(("1", "no")))
    assert again.record["new"] != first.record["new"]
    assert await proposer.revise(replace(given, contracts={}), refused(("1", "no"))) == ()
