"""The archive: append-only, replayable, and damage is noticed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.world import World
from chase.core.errors import IntegrityError, UserError
from chase.protocol.archive import Archive, read_archive, replay, views_digest
from chase.protocol.firewall import run_checks
from chase.protocol.proposal import Proposal
from chase.testing.ledger import parse_world


@pytest.fixture(scope="module")
def small(ledger: SynLedger) -> SynLedger:
    return ledger.fewer({"evo": 2, "disc": 2})


@pytest.fixture(scope="module")
def subject(small: SynLedger) -> Any:
    return small.subject


def proposal_of(*operators: dict[str, Any]) -> Proposal[World]:
    return parse_world({"benchmark": "syn-ledger", "operators": list(operators), "seed": 3})


REVERSE = {"name": "reverse", "arguments": {"aspect": "name"}}
SHIFT = {"name": "shift", "arguments": {"by": 3}}


def archived(archive: Archive, proposal: Proposal[World], subject: Any) -> Archive:
    return archive.with_entry(
        proposal,
        round=1,
        views=views_digest(proposal, subject),
        firewall=run_checks(proposal, subject),
        discovery={"value": 0.1},
        confirmation={"value": 0.08},
    )


@pytest.fixture
def two_entries(ledger: SynLedger, subject: Any) -> Archive:
    empty = Archive(benchmark=ledger.name, content_hash=ledger.content_hash)
    return archived(archived(empty, proposal_of(REVERSE), subject), proposal_of(SHIFT), subject)


def test_an_archive_survives_a_round_trip_and_replays(two_entries: Archive, small: SynLedger, tmp_path: Path) -> None:
    path = tmp_path / "archive.json"
    path.write_text(two_entries.to_json())
    again = read_archive(path)
    assert again == two_entries
    assert [r.problems for r in replay(again, small)] == [(), ()]
    assert again.entry("b2").hash == proposal_of(SHIFT).transformation.hash


def test_an_entry_holds_what_its_replay_needs_and_the_digest_of_the_one_before(
    two_entries: Archive, subject: Any
) -> None:
    first, second = two_entries.entries
    proposal = proposal_of(REVERSE)
    assert (first.name, first.round, first.hash, first.previous) == ("b1", 1, proposal.transformation.hash, "")
    assert first.transformation == proposal.to_json()
    assert first.views == views_digest(proposal, subject) != second.views
    assert first.firewall == [asdict(verdict) for verdict in run_checks(proposal, subject).verdicts]
    assert (first.discovery, first.confirmation) == ({"value": 0.1}, {"value": 0.08})
    assert (second.name, second.previous) == ("b2", first.digest())
    assert two_entries.hashes == {first.hash, second.hash}


def test_an_entry_is_found_by_name_number_or_six_characters_of_its_hash(two_entries: Archive) -> None:
    second = two_entries.entries[1]
    assert [two_entries.entry(name) for name in ("b2", "2", second.hash[:6], second.hash)] == [second] * 4
    for wrong in (second.hash[:5], second.hash[1:], "", "b"):
        with pytest.raises(UserError, match="unknown archive entry"):
            two_entries.entry(wrong)
    twice = replace(two_entries, entries=(second, second))
    with pytest.raises(UserError, match="ambiguous archive entry"):
        twice.entry("b2")
    with pytest.raises(UserError, match="only the released benchmark"):
        replace(two_entries, entries=()).entry("b1")


def test_the_same_transformation_enters_once(two_entries: Archive, subject: Any) -> None:
    with pytest.raises(IntegrityError, match="archived already"):
        archived(two_entries, proposal_of(REVERSE), subject)


def test_an_invalid_transformation_does_not_enter(ledger: SynLedger, subject: Any) -> None:
    undeclared = replace(proposal_of(SHIFT), declared=frozenset())
    with pytest.raises(IntegrityError, match="declared-changes"):
        archived(Archive(benchmark=ledger.name, content_hash=ledger.content_hash), undeclared, subject)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d["entries"].pop(0),
        lambda d: d["entries"].reverse(),
        lambda d: d["entries"][0]["confirmation"].update(value=0.9),
        lambda d: d["entries"][1]["transformation"]["operators"][0]["arguments"].update(by=2),
        lambda d: d.update(content_hash="0" * 64),
        lambda d: d["entries"][0].pop("views"),
    ],
)
def test_a_changed_archive_is_noticed(damage: Any, two_entries: Archive, tmp_path: Path) -> None:
    document = json.loads(two_entries.to_json())
    damage(document)
    path = tmp_path / "archive.json"
    path.write_text(json.dumps(document))
    with pytest.raises(IntegrityError):
        read_archive(path)


def test_what_is_no_archive_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no archive at"):
        read_archive(tmp_path / "archive.json")
    (tmp_path / "other.json").write_text('{"schema": "chase.rollout/1"}')
    with pytest.raises(UserError, match="is no archive"):
        read_archive(tmp_path / "other.json")
    (tmp_path / "cut.json").write_text('{"schema": "chase.archi')
    with pytest.raises(IntegrityError, match="damaged"):
        read_archive(tmp_path / "cut.json")


def test_a_replay_that_shows_something_else_is_a_problem(two_entries: Archive, small: SynLedger) -> None:
    entry = two_entries.entries[0].model_copy(update={"views": "0" * 64})
    problems = replay(replace(two_entries, entries=(entry,)), small)[0].problems
    assert problems == ("it shows something else now",)


def test_every_problem_of_a_replay_is_told_and_the_others_are_replayed(two_entries: Archive, small: SynLedger) -> None:
    form = json.loads(json.dumps(two_entries.entries[0].transformation))
    form["declared"] = []
    update = {"transformation": form, "hash": "0" * 64, "views": "0" * 64}
    damaged = replace(two_entries, entries=(two_entries.entries[0].model_copy(update=update), two_entries.entries[1]))
    assert [(found.name, found.problems) for found in replay(damaged, small)] == [
        (
            "b1",
            (
                "its canonical form is another one now",
                "it shows something else now",
                "it is not valid any more: declared-changes",
            ),
        ),
        ("b2", ()),
    ]


def test_an_operator_version_that_is_unknown_is_a_problem(two_entries: Archive, small: SynLedger) -> None:
    entry = two_entries.entries[0]
    form = json.loads(json.dumps(entry.transformation))
    form["operators"][0]["version"] = 99
    changed = replace(two_entries, entries=(entry.model_copy(update={"transformation": form}),))
    assert "version 1 here, not 99" in replay(changed, small)[0].problems[0]


def test_an_unknown_entry_is_refused_with_the_valid_ones(two_entries: Archive) -> None:
    with pytest.raises(UserError, match="Valid: b1, b2"):
        two_entries.entry("b9")
