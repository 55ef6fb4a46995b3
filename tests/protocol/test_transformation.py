"""Transformations as data: canonical, composable, reversible where they say so, refused outside the allowlist."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.operators import ALLOWLIST, ASPECTS
from chase.core.errors import UserError
from chase.protocol.transformation import OperatorList
from chase.testing.ledger import parse_ledger, parse_world

aspects = st.sampled_from(sorted(ASPECTS))
operator_forms = st.one_of(
    st.builds(
        lambda verb, aspect: {"name": verb, "arguments": {"aspect": aspect}},
        st.sampled_from(["permute", "reverse"]),
        st.one_of(aspects, st.just("records")),
    ),
    st.builds(
        lambda a, to: {"name": "equalise", "arguments": {"aspect": a, "to": to}},
        aspects,
        st.sampled_from(["low", "high"]),
    ),
    st.builds(
        lambda f: {"name": "re-encode", "arguments": {"format": f}}, st.sampled_from(["markdown", "csv", "key-value"])
    ),
    st.builds(lambda d: {"name": "re-layout", "arguments": {"depth": d}}, st.integers(0, 4)),
    st.builds(
        lambda o, b: {"name": "re-order", "arguments": {"order": o, "by": b}},
        st.sampled_from(["rank", "listing"]),
        st.sampled_from(["path", "name", "depth", "format", "seed"]),
    ),
    st.builds(lambda k: {"name": "shift", "arguments": {"by": k}}, st.integers(1, 5)),
    st.builds(
        lambda d: {"name": "restyle", "arguments": {"detail": d}},
        st.sampled_from(["line-endings", "trailing-whitespace", "metadata-order", "section-labels"]),
    ),
)
forms = st.builds(
    lambda operators, seed: {"benchmark": "syn-ledger", "operators": operators, "seed": seed},
    st.lists(operator_forms, max_size=4),
    st.integers(0, 2**32),
)


def _parsed(form: dict[str, Any]) -> OperatorList[Any]:
    return parse_ledger(form).transformation


@settings(max_examples=60)
@given(forms, forms, forms, st.integers(0, 31))
def test_composition_is_associative_on_views(ledger: SynLedger, a: Any, b: Any, c: Any, place: int) -> None:
    first, second, third = _parsed(a), _parsed(b), _parsed(c)
    left, right = first.then(second).then(third), first.then(second.then(third))
    assert left.hash == right.hash
    task = ledger.tasks("evo")[place]
    assert ledger.view(task, left) == ledger.view(task, right)
    state = ledger.generated[task].released
    assert left.apply(state) == third.apply(second.apply(first.apply(state)))


@settings(max_examples=80)
@given(forms, st.integers(0, 31))
def test_an_inverse_composes_to_identity(ledger: SynLedger, form: Any, place: int) -> None:
    transformation = _parsed(form)
    inverse = transformation.inverse()
    if inverse is not None:
        state = ledger.generated[ledger.tasks("evo")[place]].released
        assert transformation.then(inverse).apply(state) == state


@pytest.mark.parametrize(
    "form",
    [
        {"name": "shift", "arguments": {"by": 2}},
        {"name": "reverse", "arguments": {"aspect": "rank"}},
        {"name": "reverse", "arguments": {"aspect": "records"}},
        {"name": "restyle", "arguments": {"detail": "section-labels"}},
    ],
)
def test_reversible_operators_say_so(form: dict[str, Any]) -> None:
    assert _parsed({"benchmark": "syn-ledger", "operators": [form]}).inverse() is not None


@settings(max_examples=60)
@given(forms)
def test_what_the_firewall_examines_is_the_same_proposal(form: Any) -> None:
    proposal, lifted = parse_ledger(form), parse_world(form)
    assert lifted.transformation.hash == proposal.transformation.hash
    assert lifted.to_json() == proposal.to_json()
    assert (lifted.declared, lifted.description, lifted.claims) == (
        proposal.declared,
        proposal.description,
        proposal.claims,
    )


@settings(max_examples=80)
@given(forms)
def test_json_round_trip_keeps_the_canonical_form(form: Any) -> None:
    proposal = parse_ledger(form)
    again = parse_ledger(json.dumps(proposal.to_json()))
    assert again.transformation.hash == proposal.transformation.hash
    assert again.transformation.canonical() == proposal.transformation.canonical()
    assert again.declared == proposal.declared
    assert again.to_json() == proposal.to_json()


@settings(max_examples=80)
@given(forms, st.integers(0, 31))
def test_operators_change_only_the_fields_they_declare(ledger: SynLedger, form: Any, place: int) -> None:
    transformation = _parsed(form)
    state = ledger.generated[ledger.tasks("evo")[place]].released
    assert state.changed_fields(transformation.apply(state)) <= transformation.declared


def test_a_proposal_is_written_with_every_default_and_read_word_for_word() -> None:
    operators = [
        {"name": "permute", "arguments": {"aspect": "name"}, "seed": 5},
        {"name": "permute", "arguments": {"aspect": "name"}},
        {"name": "permute", "arguments": {"aspect": "name"}},
    ]
    said = {"description": "what it does", "claims": ["harmless"]}
    fields = sorted(SynLedger.protocol_fields)[:2]
    form = {"benchmark": "syn-ledger", "operators": operators, "seed": 7, "declared": fields, **said}
    proposal = parse_ledger({"schema": "chase.transformation/1", **form})
    assert (proposal.description, proposal.claims, proposal.declared) == ("what it does", ("harmless",), set(fields))
    written = proposal.to_json()
    assert written["schema"] == "chase.transformation/1"
    assert [operator["version"] for operator in written["operators"]] == [1, 1, 1]
    seeds = [operator["seed"] for operator in written["operators"]]
    assert seeds[0] == 5
    assert len({*seeds}) == 3, "two equal operators draw differently"

    def seeds_of(**changes: Any) -> list[int]:
        return [operator["seed"] for operator in parse_ledger({**form, **changes}).to_json()["operators"]]

    assert seeds_of(claims=[]) == seeds
    assert not set(seeds_of(seed=8)[1:]) & set(seeds)
    assert all(0 <= seed < 2**48 for seed in seeds)


def test_a_seed_is_part_of_the_canonical_form_only_where_it_matters() -> None:
    def hash_of(name: str, arguments: dict[str, Any], seed: int) -> str:
        form = {"benchmark": "syn-ledger", "operators": [{"name": name, "arguments": arguments}], "seed": seed}
        return _parsed(form).hash

    assert hash_of("re-encode", {"format": "csv"}, 1) == hash_of("re-encode", {"format": "csv"}, 2)
    assert hash_of("permute", {"aspect": "name"}, 1) != hash_of("permute", {"aspect": "name"}, 2)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"benchmark": "syn-ledger", "operators": [{"name": "construction.neutralise"}]}, "unknown operator"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "revers", "arguments": {}}]}, "Did you mean 'reverse'"),
        ({"benchmark": "officeqa", "operators": []}, "for benchmark 'officeqa'"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 9}}]}, "by"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": "3"}}]}, "integer"),
        (
            {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}, "version": 2}]},
            "version 1 here",
        ),
        ({"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3, "if": "x"}}]}, "if"),
        ({"benchmark": "syn-ledger", "operators": [], "declared": ["answer"]}, "no protocol field"),
        ({"benchmark": "syn-ledger", "operators": [], "code": "import os"}, "code"),
        ({"schema": "chase.transformation/2", "benchmark": "syn-ledger", "operators": []}, "chase.transformation/1"),
        ({"benchmark": "syn-ledger", "operators": [], "seed": 2**48}, "seed"),
        ({"benchmark": "syn-ledger", "operators": [], "seed": -1}, "seed"),
        ({"benchmark": "syn-ledger", "operators": [], "description": "x" * 4001}, "4000"),
        ({"benchmark": "syn-ledger", "operators": [], "claims": ["x"] * 21}, "20"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 1}}] * 13}, "at most 12"),
        ("{not json", "not valid JSON"),
        ("[" * 100_000, "longer than"),
        ("[" * 60_000, "nested deeper than 64 levels"),
        ("[]", "valid dictionary"),
    ],
)
def test_what_is_outside_the_allowlist_is_refused_with_the_reason(form: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        parse_ledger(form)


def test_a_text_of_65536_characters_is_read_and_one_more_is_not() -> None:
    text = json.dumps({"benchmark": "syn-ledger", "operators": []})
    assert parse_ledger(text.ljust(65_536)).transformation == OperatorList()
    with pytest.raises(UserError, match="longer than 65536 characters"):
        parse_ledger(text.ljust(65_537))


def test_every_operator_of_the_allowlist_can_be_told_in_one_line() -> None:
    for kind in ALLOWLIST.values():
        assert kind.summary
        assert "\n" not in kind.summary
    form = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]}
    assert _parsed(form).describe() == "records moved on by 3 within each file"
    assert _parsed(form).symbols() == "shift (by 3)"
    assert OperatorList[Any]().describe() == "the released benchmark, unchanged"
