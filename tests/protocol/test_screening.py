"""The host's screen of drafts: what it refuses and why, and a ranking that depends on nothing but the drafts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.agents import Draft
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening, rank, screen_draft, screen_drafts, shortlist


@pytest.fixture(scope="module")
def kit(ledger: SynLedger) -> ProtocolKit:
    return ProtocolKit(ledger)


@pytest.fixture(scope="module")
def discovery(ledger: SynLedger) -> Sequence[str]:
    return ledger.tasks("disc")[:3]


def reverse(*aspects: str) -> list[dict[str, Any]]:
    return [{"name": "reverse", "arguments": {"aspect": aspect}} for aspect in aspects]


def draft(operators: list[dict[str, Any]], suspected: Sequence[str] = (), **more: Any) -> Draft:
    return Draft(form={"benchmark": "syn-ledger", "operators": operators, **more}, suspected=tuple(suspected))


# The screens


def test_a_valid_draft_says_what_it_touches_and_where(kit: ProtocolKit, discovery: Sequence[str]) -> None:
    found = screen_draft(kit, draft(reverse("depth")), archived=(), discovery=discovery)
    assert (found.verdict, found.reason) == ("valid", "")
    assert found.kind == {"path-depth"}
    assert found.relevance == 3
    assert found.operators == 1
    assert found.firewall is not None
    assert found.firewall.valid


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"benchmark": "officeqa", "operators": []}, "for benchmark 'officeqa'"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "rewrite-answer"}]}, "unknown operator 'rewrite-answer'"),
        ({"benchmark": "syn-ledger", "operators": reverse("answer")}, "aspect"),
        ({"benchmark": "syn-ledger", "operators": [], "code": "import os"}, "code"),
        ({"benchmark": "syn-ledger", "operators": reverse("depth"), "declared": ["answer"]}, "no protocol field"),
        ({"operators": {1, 2}}, "no plain data: it holds a set"),
        ({}, "benchmark"),
    ],
)
def test_what_does_not_parse_is_refused_with_the_sentence(
    kit: ProtocolKit, form: Mapping[str, Any], reason: str
) -> None:
    found = screen_draft(kit, Draft(form=form), archived=())
    assert found.verdict == "refused"
    assert reason in found.reason
    assert found.proposal is None
    assert found.operators == 0


def test_an_invalid_one_names_the_failed_checks(kit: ProtocolKit) -> None:
    found = screen_draft(kit, draft(reverse("depth"), declared=["rank"]), archived=())
    assert (found.verdict, found.reason) == ("invalid", "declared-changes")
    assert (found.relevance, found.touched) == (0, {})
    assert found.firewall is not None
    assert not found.firewall.valid


def test_an_invalid_one_is_never_called_a_duplicate(kit: ProtocolKit) -> None:
    archived = {kit.parse(draft(reverse("depth")).form).transformation.hash}
    assert screen_draft(kit, draft(reverse("depth")), archived=archived).verdict == "duplicate"
    assert screen_draft(kit, draft(reverse("depth"), declared=["rank"]), archived=archived).verdict == "invalid"


@pytest.mark.parametrize("operators", [[], [{"name": "shift", "arguments": {"by": 3}}] * 2])
def test_what_changes_nothing_is_inactive(kit: ProtocolKit, operators: list[dict[str, Any]]) -> None:
    assert screen_draft(kit, draft(operators), archived=()).verdict == "inactive"


def test_all_drafts_of_a_round_are_kept_with_their_verdicts(kit: ProtocolKit, discovery: Sequence[str]) -> None:
    drafts = [
        draft(reverse("depth")),
        draft(reverse("depth"), description="the same again"),
        draft([]),
        draft([{"name": "nothing"}]),
        draft(reverse("rank"), declared=["stem"]),
        draft(reverse("rank")),
    ]
    found = screen_drafts(kit, drafts, archived=(), discovery=discovery)
    assert [s.verdict for s in found] == ["valid", "duplicate", "inactive", "refused", "invalid", "valid"]
    assert [s.draft for s in found] == drafts
    assert all(s.reason for s in found if s.verdict != "valid")


# The ranking, on made-up findings


def found(
    touched: Mapping[str, float], suspected: Sequence[str] = (), *, operators: int = 1, relevance: int = 8
) -> Any:
    """A valid draft as far as ranking looks at it."""

    class Valid(Screening):
        @property
        def operators(self) -> int:
            return operators

    return Valid(
        draft=draft([], suspected), verdict="valid", touched=dict(touched), relevance=relevance
    )  # fmt: skip


def test_a_larger_change_more_tasks_and_a_suspected_mechanism_each_rank_higher() -> None:
    plain = found({"path-depth": 1.0}, relevance=4)
    assert rank([plain, found({"path-depth": 2.0}, relevance=4)])[1] is plain
    assert rank([plain, found({"path-depth": 1.0}, relevance=8)])[1] is plain
    assert rank([plain, found({"path-depth": 1.0}, ["path-depth"], relevance=4)])[1] is plain


def test_a_mechanism_that_is_not_touched_does_not_help() -> None:
    first, second = found({"path-depth": 1.0}), found({"name-length": 1.0}, ["path-depth"])
    assert rank([first, second]) == [first, second]


def test_the_first_suspect_counts_most() -> None:
    """Suspects are in the order in which the drafts name them."""
    both = found({"other": 0.5}, ["path-depth", "name-length"])
    late, early = found({"name-length": 1.0}, ["name-length"]), found({"path-depth": 1.0}, ["path-depth"])
    assert rank([both, late, early])[0] is early


def test_ties_keep_the_challengers_order() -> None:
    drafts = [found({name: 1.0}) for name in ("c", "a", "b")]
    assert rank(drafts) == drafts


def test_what_is_not_valid_is_not_ranked() -> None:
    refused = Screening(draft=draft([]), verdict="refused")
    assert rank([refused]) == []
    assert shortlist([refused]) == []


def test_the_best_ranked_comes_first_whatever_its_size() -> None:
    """A composition that is ranked last displaces nothing."""
    single, other = found({"a": 2.0}), found({"b": 1.0})
    last = found({"a": 0.5}, operators=2)
    assert rank([last, other, single]) == [single, other, last]
    assert shortlist([last, other, single]) == [single, other]
    assert shortlist([last, other, single], 1) == [single]


def test_the_second_is_the_best_ranked_of_another_kind() -> None:
    best, same, pair, other = (
        found({"a": 2.0}), found({"a": 1.9}), found({"a": 1.0, "b": 0.5}, operators=2), found({"b": 1.0}),
    )  # fmt: skip
    assert shortlist([best, same, pair, other]) == [best, pair]
    assert shortlist([best, same, other]) == [best, other]


def test_where_all_are_of_one_kind_the_two_best_ranked_are_taken() -> None:
    best, same, worse = found({"a": 2.0}), found({"a": 1.9}, operators=2), found({"a": 1.8})
    assert shortlist([worse, same, best]) == [best, same]
    assert shortlist([best]) == [best]


def test_at_most_as_many_as_asked_for_are_taken() -> None:
    many = [found({name: 1.0}) for name in "abcdef"]
    assert len(shortlist(many, 2)) == 2
    assert len(shortlist(many, 4)) == 4


RANKING = """
from tests.protocol.test_screening import found
from chase.protocol.screening import rank
names = [f"o{i}" for i in range(9)]
drafts = [found({n: 1.0 for n in order}, order) for order in (names, names[::-1], names[3:] + names[:3])]
print([drafts.index(s) for s in rank(drafts)])
"""


def test_the_ranking_does_not_depend_on_the_process() -> None:
    """Sums over sets of names would come out differently in the last digit, and decide ties."""
    orders = {
        subprocess.run(
            [sys.executable, "-c", RANKING], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert orders == {"[0, 1, 2]\n"}
