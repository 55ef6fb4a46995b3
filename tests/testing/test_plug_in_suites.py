"""The suites of observables, operators and agents pass honest plug-ins, and catch each fault by the test named."""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.challengers.mining import MiningChallenger
from chase.core.agents import AnswersOnce, Candidate, ChallengerContext, Draft, ProposerContext
from chase.core.observables import OBSERVABLES, ObservableFunction
from chase.core.values import Sighting
from chase.proposers.mining import MiningProposer
from chase.protocol.extensions import OperatorEntry
from chase.protocol.operators import Arguments, OperatorKind
from chase.testing.agent_suite import AgentConformance, ChallengerConformance, ProposerConformance
from chase.testing.agent_trial import agent_trial
from chase.testing.object_graph import reachable
from chase.testing.observable_suite import ObservableConformance
from chase.testing.operator_suite import OperatorConformance
from tests.conftest import open_once

pytestmark = pytest.mark.slow

# Honest ones


NAME_LENGTH = OBSERVABLES["name-length"]


class TestAnObservable(ObservableConformance):
    place = "tests.testing.test_plug_in_suites:NAME_LENGTH"


class TestTheShift(OperatorConformance):
    @pytest.fixture
    def entry(self) -> OperatorEntry:
        return OperatorEntry(benchmark="syn-ledger", kind=ALLOWLIST["shift"])


class TestTheReordering(OperatorConformance):
    """Of its ten forms those by the seed draw, and no other."""

    @pytest.fixture
    def entry(self) -> OperatorEntry:
        return OperatorEntry(benchmark="syn-ledger", kind=ALLOWLIST["re-order"])


class TestTheMiningProposer(ProposerConformance):
    @pytest.fixture
    def agent(self) -> MiningProposer:
        return MiningProposer()


class TestTheMiningChallenger(ChallengerConformance):
    @pytest.fixture
    def agent(self) -> MiningChallenger:
        return MiningChallenger()


# Faulty observables


def _plain(name: str, function: Any) -> ObservableFunction:
    return ObservableFunction(name, "a faulty one", function)


_SEEN: list[str] = []


def _counts(shown: Sighting) -> float:
    _SEEN.append(shown.id)
    return float(len(_SEEN))


def _adds_a_field(shown: Sighting) -> float:
    if isinstance(shown.fields, dict):
        shown.fields["seen"] = True
    return float(len(shown.path))


class _Benchmark:
    content_hash, sealed = "x", frozenset[str]()


_HOST = _Benchmark()
HASHES = _plain("hashes", lambda shown: float(hash(shown.path) % 1000))
FAULTY_OBSERVABLES: Mapping[str, tuple[Any, str]] = {
    "no name": (_plain("", lambda s: float(len(s.path))), "test_it_says_what_it_is"),
    "capitals": (_plain("Words", lambda s: float(len(s.path))), "test_it_says_what_it_is"),
    "a text": (_plain("text", lambda s: s.path), "test_it_gives_a_finite_number_or_none"),
    "infinite": (_plain("far", lambda s: float("inf")), "test_it_gives_a_finite_number_or_none"),
    "constant": (_plain("one", lambda s: 1.0), "test_it_tells_documents_of_some_task_apart"),
    "stateful": (_plain("count", _counts), "test_it_knows_nothing_of_what_it_was_shown_before"),
    "raises": (_plain("deep", lambda s: float(len(s.text))), "test_it_never_raises"),
    "changes": (_plain("adds", _adds_a_field), "test_it_changes_nothing"),
    "host": (_plain("host", lambda s, host=_HOST: float(len(s.path))), "test_it_leads_to_no_benchmark"),
}


def _run(suite: Any, test: str, **given: Any) -> None:
    """One test of a suite, with what its fixtures would give."""
    check = getattr(suite, test)
    inner = getattr(getattr(check, "hypothesis", None), "inner_test", None)
    if inner is not None:
        return inner(suite, given["observable"], "a/b.txt", None, None)
    return check(**{name: value for name, value in given.items() if name in inspect.signature(check).parameters})


@pytest.fixture(scope="module")
def sightings() -> Sequence[Sequence[Sighting]]:
    ledger = open_once("syn-ledger@7")
    return [ledger.sightings(task, ledger.variant("released")) for task in ledger.tasks("evo")[:3]]


@pytest.mark.parametrize("fault", FAULTY_OBSERVABLES)
def test_a_faulty_observable_fails_by_the_test_of_its_fault(
    fault: str, sightings: Sequence[Sequence[Sighting]]
) -> None:
    observable, test = FAULTY_OBSERVABLES[fault]
    _run(ObservableConformance(), test, observable=NAME_LENGTH, sightings=sightings)
    with pytest.raises((AssertionError, TypeError)):
        _run(ObservableConformance(), test, observable=observable, sightings=sightings)


def test_one_that_differs_between_processes_fails(sightings: Sequence[Sequence[Sighting]]) -> None:
    suite = ObservableConformance()
    suite.place = "tests.testing.test_plug_in_suites:HASHES"
    with pytest.raises(AssertionError, match="another process gives other numbers"):
        suite.test_it_gives_the_same_in_every_process(HASHES, sightings)


# Faulty operators


class _None(Arguments):
    """It takes none."""


def _kind(**changed: Any) -> OperatorKind[Any]:
    honest: dict[str, Any] = {
        "name": "faulty",
        "version": 1,
        "summary": "titles in capitals",
        "arguments": _None,
        "fields": lambda _: frozenset({"title"}),
        "in_words": lambda _: "titles in capitals",
        "run": lambda manifest, _, seed: manifest.update({p.id: {"title": p.title.upper()} for p in manifest}),
    }
    return OperatorKind(**{**honest, **changed})


def _shouts(manifest: Any, arguments: Any, seed: int) -> Any:
    return manifest.update({p.id: {"title": p.title + "!" * random.randint(1, 9)} for p in manifest})


def _by_seed(manifest: Any, arguments: Any, seed: int) -> Any:
    return manifest.update({p.id: {"title": f"{p.title} {'x' * (seed % 7)}"} for p in manifest})


def _by_id(manifest: Any, arguments: Any, seed: int) -> Any:
    return manifest.update({p.id: {"title": p.title + p.id} for p in manifest})


FAULTY_OPERATORS: Mapping[str, tuple[OperatorKind[Any], str]] = {
    "no words": (_kind(in_words=lambda _: ""), "test_it_says_what_it_is"),
    "declares nothing": (_kind(fields=lambda _: frozenset()), "test_its_arguments_decide_which_fields_it_declares"),
    "another field": (_kind(fields=lambda _: frozenset({"rank"})), "test_the_firewall_finds_every_form_valid"),
    "random": (_kind(run=_shouts), "test_it_is_deterministic_and_changes_no_state_that_it_is_given"),
    "seeded unsaid": (_kind(run=_by_seed), "test_it_draws_from_the_seed_exactly_where_it_says_so"),
    "seeded in vain": (_kind(seeded=lambda _: True), "test_it_draws_from_the_seed_exactly_where_it_says_so"),
    "no inverse": (_kind(inverse=lambda _: {}), "test_its_inverse_undoes_it"),
    "singles out": (_kind(run=_by_id), "test_the_firewall_finds_every_form_valid"),
    "does nothing": (_kind(run=lambda manifest, _, seed: manifest), "test_some_form_makes_a_difference"),
}


@pytest.mark.parametrize("fault", FAULTY_OPERATORS)
def test_a_faulty_operator_fails_by_the_test_of_its_fault(fault: str) -> None:
    from chase.protocol.kit import ProtocolKit

    suite = OperatorConformance()
    kind, test = FAULTY_OPERATORS[fault]
    for tried, good in ((_kind(), True), (kind, False)):
        benchmark = open_once("syn-ledger@7").fewer(suite.sizes)
        benchmark.allowlist = {**benchmark.allowlist, "faulty": tried}
        given = {
            "entry": OperatorEntry(benchmark="syn-ledger", kind=tried),
            "kit": ProtocolKit(benchmark),
            "forms": tried.forms(),
        }
        if good:
            _run(suite, test, **given)
        else:
            with pytest.raises((AssertionError, ValueError)):
                _run(suite, test, **given)


# Faulty agents


class FaultyProposer(AnswersOnce):
    """The mining Proposer, with what it answers spoilt."""

    name = "faulty"

    def __init__(self, spoil: Any) -> None:
        self._spoil = spoil

    async def propose(self, context: ProposerContext) -> Any:
        return self._spoil(list(await MiningProposer().propose(context)), context)


class FaultyChallenger(AnswersOnce):
    name = "faulty"

    def __init__(self, spoil: Any) -> None:
        self._spoil = spoil

    async def challenge(self, context: ChallengerContext) -> Any:
        return self._spoil(list(await MiningChallenger().challenge(context)), context)


def _writes(answers: Any, context: Any) -> Any:
    (context.history / "mine.txt").write_text("I was here")
    return answers


def _shuffled(answers: Any, context: Any) -> Any:
    return [replace(answers[0], record={"drawn": random.random()}), *answers[1:]]


def _drawn(answers: Any, context: Any) -> Any:
    return [replace(answers[0], replay={"drawn": random.random()}), *answers[1:]]


FAULTY_PROPOSERS: Mapping[str, tuple[Any, str]] = {
    "nothing": (lambda answers, _: [], "test_it_answers_with_candidates_of_the_tracks_that_are_due"),
    "plain dicts": (lambda answers, _: [{}], "test_it_answers_with_candidates_of_the_tracks_that_are_due"),
    "one track twice": (
        lambda answers, _: [answers[0], answers[0]],
        "test_it_answers_with_candidates_of_the_tracks_that_are_due",
    ),
    "no harness": (
        lambda answers, _: [Candidate(track="guidance", files={"prompt.md": "x"})],
        "test_the_host_can_use_what_it_answers",
    ),
    "another track": (
        lambda answers, _: [replace(a, track="structural") for a in answers if a.track == "guidance"],
        "test_the_host_can_use_what_it_answers",
    ),
    "tracks where none is due": (
        lambda answers, _: [replace(a, track="guidance") for a in answers],
        "test_free_candidates_have_no_track_and_are_no_more_than_are_due",
    ),
    "chance": (_shuffled, "test_the_same_question_gets_the_same_answer"),
    "writes": (_writes, "test_the_history_is_left_as_it_was"),
}
FAULTY_CHALLENGERS: Mapping[str, tuple[Any, str]] = {
    "too many": (
        lambda drafts, context: drafts * 9,
        "test_it_answers_with_as_many_plain_drafts_as_are_asked_for_at_most",
    ),
    "unknown operator": (
        lambda drafts, context: [Draft(form={"benchmark": context.benchmark, "operators": [{"name": "peek"}]})],
        "test_its_drafts_are_of_the_allowlist_and_the_firewall_finds_one_valid",
    ),
    "does nothing": (
        lambda drafts, context: [Draft(form={"benchmark": context.benchmark, "operators": []})],
        "test_its_drafts_are_of_the_allowlist_and_the_firewall_finds_one_valid",
    ),
    "many operators": (
        lambda drafts, context: [
            Draft(
                form={
                    "benchmark": context.benchmark,
                    "operators": [dict(effect.operator) for effect in context.effects[:2]],
                }
            )
        ],
        "test_it_keeps_to_the_most_operators_of_a_run",
    ),
    "made-up trace": (
        lambda drafts, context: [replace(drafts[0], traces=("traces/none.jsonl",))],
        "test_what_it_suspects_and_cites_is_there",
    ),
    "made-up suspect": (
        lambda drafts, context: [replace(drafts[0], suspected=("evidence",))],
        "test_what_it_suspects_and_cites_is_there",
    ),
    "chance": (_drawn, "test_the_same_question_gets_the_same_answer"),
    "writes": (_writes, "test_the_history_is_left_as_it_was"),
}


def _fails(suite: AgentConformance, agent: Any, test: str, folder: Path) -> None:
    trial = agent_trial()
    with pytest.raises((AssertionError, AttributeError)):
        _run(suite, test, agent=agent, trial=trial, tmp_path=folder)
    for context in (trial.proposer_context, trial.challenger_context):
        (context.history / "mine.txt").unlink(missing_ok=True)


@pytest.mark.parametrize("fault", FAULTY_PROPOSERS)
def test_a_faulty_proposer_fails_by_the_test_of_its_fault(fault: str, tmp_path: Path) -> None:
    spoil, test = FAULTY_PROPOSERS[fault]
    _fails(ProposerConformance(), FaultyProposer(spoil), test, tmp_path)


@pytest.mark.parametrize("fault", FAULTY_CHALLENGERS)
def test_a_faulty_challenger_fails_by_the_test_of_its_fault(fault: str, tmp_path: Path) -> None:
    spoil, test = FAULTY_CHALLENGERS[fault]
    _fails(ChallengerConformance(), FaultyChallenger(spoil), test, tmp_path)


def test_what_agents_are_handed_leads_to_no_benchmark_no_kit_and_no_store() -> None:
    trial = agent_trial()
    hosts = (type(trial.benchmark), type(trial.kit), type(trial.benchmark.subject))
    for context in (trial.proposer_context, trial.challenger_context):
        led = [way for way, item in reachable(context) if isinstance(item, hosts) or type(item).__name__ == "Store"]
        assert led == []
