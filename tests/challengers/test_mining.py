"""The offline Challenger: whom it suspects from decisions alone, and the eight drafts that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.agents.history import History, HistoryWriter
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.challengers.mining import MOST_SUSPECTS, MiningChallenger
from chase.core.agents import ChallengerContext, OperatorEffect
from chase.core.observables import OBSERVABLES
from chase.core.values import Sighting
from chase.harness.spec import Activation, Guidance, Harness
from chase.protocol.kit import ProtocolKit
from tests.agents.made_traces import LETTERS, Taste, indifferent, made_trace
from tests.engine.rollouts import make_harness

TASKS = range(16)
ReadsOn = Callable[[dict[str, Any]], bool]


@pytest.fixture(scope="module")
def kit(ledger: SynLedger) -> ProtocolKit:
    return ProtocolKit(ledger)


def level(name: str) -> Taste:
    """A document's level on an observable, as far as a search shows it."""

    def value(document: dict[str, Any]) -> float:
        found = OBSERVABLES[name](Sighting(id=document["id"], path=document["path"], hit=document["hit"]))
        return -1.0 if found is None else found

    return value


def saying(text: str) -> Harness:
    return make_harness(guidance=(Guidance(name="rule", when=Activation(), text=text),))


def challenged(
    folder: Path,
    kit: ProtocolKit,
    *,
    taste: Taste | None = None,
    reads_on: ReadsOn | None = None,
    harness: Harness | None = None,
    archive: Mapping[str, Any] | None = None,
    initial_taste: Taste | None = None,
    opens: int = 4,
    seed: int = 0,
    proposals: int = 8,
) -> ChallengerContext:
    """H_0 opens what it likes; H opens (so many) by the taste and reads on where it is said so."""
    tree = HistoryWriter(folder)
    tree.add_harness("H0", make_harness(), {})
    tree.add_harness("H1", harness or saying("Work carefully."), {})
    for name in ("H0", "H1"):
        mine = name == "H1"
        traces = {
            (f"task-{task:02}", 0): made_trace(
                task,
                (taste if mine else initial_taste) or indifferent(task, name),
                opens=opens if mine else 4,
                reads_on=reads_on if mine and reads_on is not None else lambda d: LETTERS.index(d["id"][0]) % 2 == 0,
            )
            for task in TASKS
        }
        scores = {task: (1.0,) for task, _ in traces}
        tree.add_scores(name, "released", scores, dict.fromkeys(scores, ("answered",)), traces)
    for name, entry in (archive or {}).items():
        tree.add_entry(name, entry)
    return ChallengerContext(
        history=folder,
        round=1,
        current="H1",
        initial="H0",
        benchmark="syn-ledger",
        observables=OBSERVABLES,
        operators=kit.operators(),
        effects=kit.effects,
        tools=tuple(kit.benchmark.tools),
        proposals=proposals,
        evaluated=2,
        seed=seed,
    )


def suspects(context: ChallengerContext, *, use_diff: bool = False) -> list[Any]:
    return MiningChallenger(use_diff=use_diff).suspects(History(context.history), context)


# Whom it suspects


@pytest.mark.parametrize("use_diff", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_who_opens_shallow_files_first_is_suspected_of_depth(
    tmp_path: Path, kit: ProtocolKit, use_diff: bool, seed: int
) -> None:
    context = challenged(tmp_path, kit, taste=level("path-depth"), seed=seed)
    first = suspects(context, use_diff=use_diff)[0]
    assert (first.observable, first.side, first.named) == ("path-depth", "low", False)
    assert first.z < -3


@pytest.mark.parametrize("name", ["extension-length", "name-length", "name-initial", "hit-position"])
@pytest.mark.parametrize("sign", [1, -1])
def test_any_other_leaning_is_found_as_well(tmp_path: Path, kit: ProtocolKit, name: str, sign: int) -> None:
    context = challenged(tmp_path, kit, taste=lambda document: sign * level(name)(document))
    first = suspects(context)[0]
    assert (first.observable, first.side) == (name, "low" if sign == 1 else "high")


def test_a_leaning_of_where_to_read_on_is_found(tmp_path: Path, kit: ProtocolKit) -> None:
    context = challenged(tmp_path, kit, reads_on=lambda document: level("path-depth")(document) <= 1)
    first = suspects(context)[0]
    assert (first.observable, first.side) == ("path-depth", "low")


def test_reading_on_less_is_a_matter_of_windows_and_reading_on_more_of_nothing(
    tmp_path: Path, kit: ProtocolKit
) -> None:
    """Who reads on everywhere is at home where records come late: moving them there would be no challenge."""
    less = suspects(challenged(tmp_path / "less", kit, reads_on=lambda document: False))
    assert (less[0].observable, less[0].side) == ("window", "low")
    more = suspects(challenged(tmp_path / "more", kit, reads_on=lambda document: True))
    assert "window" not in [suspect.observable for suspect in more]
    assert abs(more[0].z) < 4


def test_who_opens_less_is_compared_on_as_many_openings(tmp_path: Path, kit: ProtocolKit) -> None:
    """The first documents that anybody opens are those that it likes best."""
    context = challenged(tmp_path, kit, taste=level("path-depth"), initial_taste=level("path-depth"), opens=2)
    assert next(s for s in suspects(context) if s.observable == "path-depth").z == 0.0


def test_a_harness_that_does_as_h0_does_is_suspected_of_little(tmp_path: Path, kit: ProtocolKit) -> None:
    assert abs(suspects(challenged(tmp_path, kit))[0].z) < 4


def test_the_diff_names_a_suspect_before_any_behaviour(tmp_path: Path, kit: ProtocolKit) -> None:
    context = challenged(
        tmp_path, kit, taste=level("path-depth"), harness=saying("Prefer files with low title-length.")
    )
    with_diff, without = suspects(context, use_diff=True), suspects(context)
    assert (with_diff[0].observable, with_diff[0].named) == ("title-length", True)
    assert with_diff[1].observable == "path-depth"
    assert without[0].observable == "path-depth"
    assert not any(suspect.named for suspect in without)


def test_without_traces_nobody_is_suspected_more_than_others(tmp_path: Path, kit: ProtocolKit) -> None:
    context = challenged(tmp_path, kit, taste=level("path-depth"))
    for path in (tmp_path / "traces" / "H0" / "released").iterdir():
        path.unlink()
    assert {suspect.z for suspect in suspects(context)} == {0.0}


def test_only_what_operators_touch_is_suspected(tmp_path: Path, kit: ProtocolKit) -> None:
    """No operator changes an id: that H leans on it cannot be tested."""
    context = challenged(tmp_path, kit, taste=level("id-initial"))
    reachable = {name for effect in kit.effects for name in effect.touched}
    assert {suspect.observable for suspect in suspects(context)} | {"window"} == reachable


# What it writes


@pytest.mark.parametrize("name", ["path-depth", "extension-length", "name-length", "folder-length", "hit-position"])
async def test_distinct_drafts_parse_with_their_reasons(tmp_path: Path, kit: ProtocolKit, name: str) -> None:
    for seed in range(3):
        context = challenged(tmp_path / str(seed), kit, taste=level(name), seed=seed)
        drafts = await MiningChallenger().challenge(context)
        assert 1 <= len(drafts) <= 8
        assert len({json.dumps(draft.form["operators"]) for draft in drafts}) == len(drafts)
        for draft in drafts:
            kit.parse(draft.form)
            assert draft.suspected
            assert set(draft.suspected) <= set(OBSERVABLES)
            assert draft.traces == tuple(f"traces/H1/released/task-{task:02}-0.jsonl" for task in range(3))
            assert draft.replay == {"round": 1, "seed": seed}
            assert draft.form["claims"]
            assert draft.suspected[0] in draft.form["description"]


async def test_without_a_strong_suspect_each_aspect_is_equalised_by_itself(tmp_path: Path, kit: ProtocolKit) -> None:
    drafts = await MiningChallenger().challenge(challenged(tmp_path, kit))
    assert len(drafts) == 8
    assert all(len(draft.form["operators"]) == 1 for draft in drafts)
    assert "reverse" not in {draft.form["operators"][0]["name"] for draft in drafts}


async def test_named_suspects_are_challenged_together_and_alone_and_no_others(tmp_path: Path, kit: ProtocolKit) -> None:
    """A preference is taken away by chance, a condition by making all alike; unrelated drafts would crowd these out."""
    harness = saying("Prefer files with low path-depth. Read on in files with low extension-length.")
    context = challenged(
        tmp_path, kit, taste=level("path-depth"), reads_on=lambda d: level("extension-length")(d) <= 2, harness=harness
    )
    drafts = await MiningChallenger().challenge(context)
    written = [[(o["name"], o["arguments"]["aspect"]) for o in draft.form["operators"]] for draft in drafts]
    assert {aspect for plan in written for _, aspect in plan} == {"depth", "format"}
    assert {name for name, aspect in written[0] if aspect == "depth"} <= {"permute", "reverse"}
    assert ("equalise", "format") in written[0]
    assert [("equalise", "format")] in written


async def test_drafts_are_the_same_for_the_same_history_and_seed(tmp_path: Path, kit: ProtocolKit) -> None:
    context = challenged(tmp_path, kit, taste=level("path-depth"))
    drafts = await MiningChallenger().challenge(context)
    assert await MiningChallenger().challenge(context) == drafts
    other = await MiningChallenger().challenge(replace(context, round=2))
    assert [d.form["seed"] for d in other] != [d.form["seed"] for d in drafts]


async def test_fewer_are_written_where_fewer_are_asked_for(tmp_path: Path, kit: ProtocolKit) -> None:
    assert len(await MiningChallenger().challenge(challenged(tmp_path, kit, proposals=3))) == 3


async def test_what_is_archived_comes_last(tmp_path: Path, kit: ProtocolKit) -> None:
    plain = await MiningChallenger().challenge(challenged(tmp_path / "a", kit, taste=level("path-depth")))
    archive = {"b1": {"name": "b1", "touched": {"path-depth": 1.7}}}
    found = challenged(tmp_path / "b", kit, taste=level("path-depth"), archive=archive)
    drafts = await MiningChallenger().challenge(found)

    def kinds(written: Any) -> list[bool]:
        return [set(kit.touched(kit.parse(d.form).transformation, kit.example)) == {"path-depth"} for d in written]

    assert True in kinds(plain)[:6]
    assert sorted(kinds(drafts)) == kinds(drafts)


async def test_without_effects_there_is_nothing_to_propose(tmp_path: Path, kit: ProtocolKit) -> None:
    context = replace(challenged(tmp_path, kit, taste=level("path-depth")), effects=())
    assert await MiningChallenger().challenge(context) == []


async def test_suspects_that_one_operator_reaches_make_few_drafts(tmp_path: Path, kit: ProtocolKit) -> None:
    effect = OperatorEffect(operator={"name": "reverse", "arguments": {"aspect": "depth"}}, touched={"path-depth": 2.0})
    context = replace(challenged(tmp_path, kit, taste=level("path-depth")), effects=(effect,))
    (draft,) = await MiningChallenger().challenge(context)
    assert draft.suspected == ("path-depth",)


def test_its_name_says_whether_it_reads_the_diff() -> None:
    assert (MiningChallenger().name, MiningChallenger(use_diff=False).name) == ("mining", "mining:no-diff")
    assert MOST_SUSPECTS >= 2
