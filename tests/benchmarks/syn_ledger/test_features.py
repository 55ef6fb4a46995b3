"""Planted features: their levels, and which document takes which under `B_0` and `B_rel`."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec
from chase.benchmarks.syn_ledger.combinatorics import (
    MIXED,
    PAIRS,
    imbalance,
    neutral_level,
    released_level,
    unfavorable_pairs,
)
from chase.benchmarks.syn_ledger.features import FEATURES, PAPER_FEATURES
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS, Manifest
from chase.benchmarks.syn_ledger.validation.protocol import levels
from chase.core.errors import UserError
from tests.benchmarks.syn_ledger.agent import sights

CONFIGURATIONS = range(32)


# Combinatorics


def test_mixed_sets_have_eight_members_and_share_two() -> None:
    assert [len(mixed) for mixed in MIXED] == [8] * 5
    assert all(len(a & b) == 2 for a, b in combinations(MIXED, 2))
    assert all(mixed <= set(CONFIGURATIONS) for mixed in MIXED)


def test_mixed_sets_are_those_of_the_design() -> None:
    assert [sorted(mixed) for mixed in MIXED] == [
        [6, 7, 12, 13, 18, 19, 24, 25],
        [0, 1, 6, 7, 26, 27, 28, 29],
        [2, 6, 9, 13, 17, 21, 26, 30],
        [0, 7, 9, 14, 16, 23, 25, 30],
        [0, 5, 9, 12, 17, 20, 24, 29],
    ]


def test_the_first_evidence_document_is_favorable_in_half_of_the_mixed_tasks() -> None:
    for feature, mixed in enumerate(MIXED):
        assert sum(released_level(c, 0, feature) for c in mixed) == 4
        assert all(released_level(c, 0, feature) != released_level(c, 1, feature) for c in mixed)


def test_seven_eighths_of_the_evidence_is_favorable() -> None:
    for feature in range(5):
        both = [(released_level(c, 0, feature), released_level(c, 1, feature)) for c in CONFIGURATIONS]
        assert sum(map(sum, both)) == 56
        assert both.count((True, True)) == 24


def test_every_pair_of_features_is_exactly_independent() -> None:
    for j, k in combinations(range(5), 2):
        patterns = Counter((released_level(c, s, j), released_level(c, s, k)) for c in CONFIGURATIONS for s in (0, 1))
        assert patterns == {(True, True): 49, (True, False): 7, (False, True): 7, (False, False): 1}


def test_neutral_levels_are_opposite_and_cover_every_configuration() -> None:
    for side in (0, 1):
        shown = {tuple(neutral_level(c, side, j) for j in range(5)) for c in CONFIGURATIONS}
        assert len(shown) == 32
    assert all(neutral_level(c, 0, j) != neutral_level(c, 1, j) for c in CONFIGURATIONS for j in range(5))


def test_unfavorable_pairs_count_documents_unfavorable_on_both() -> None:
    for c in CONFIGURATIONS:
        counted = tuple(
            sum(not released_level(c, s, j) and not released_level(c, s, k) for s in (0, 1)) for j, k in PAIRS
        )
        assert unfavorable_pairs(c) == counted
    assert [sum(column) for column in zip(*map(unfavorable_pairs, CONFIGURATIONS), strict=True)] == [1] * 10


@given(count=st.integers(0, 40), documents=st.integers(1, 2000))
def test_imbalance_is_the_distance_to_the_nearest_integers_of_independence(count: int, documents: int) -> None:
    expected = documents / 64
    nearest = [n for n in range(100) if abs(n - expected) < 1]
    assert imbalance(count, documents) == min(abs(count - n) for n in nearest)


# Levels of a benchmark


@pytest.mark.parametrize("fixture", ["ledger", "other_ledger"])
def test_neutral_configurations_occur_twice_among_evidence_and_ten_times_among_distractors(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    benchmark: SynLedger = request.getfixturevalue(fixture)
    for block in range(10):
        counts: dict[bool, Counter[tuple[bool, ...]]] = {True: Counter(), False: Counter()}
        for task, made in benchmark.generated.items():
            if made.task.block == block:
                for _, evidence, shown in levels(benchmark, task, "neutral"):
                    counts[evidence][shown] += 1
        assert set(counts[True].values()) == {2}
        assert set(counts[False].values()) == {10}
        assert len(counts[True]) == len(counts[False]) == 32


def test_neutral_tasks_have_two_halves_of_six(ledger: SynLedger) -> None:
    """One evidence document and five distractors share a configuration, the others take its opposite."""
    for task in ledger.tasks():
        shown = Counter((levels_, evidence) for _, evidence, levels_ in levels(ledger, task, "neutral"))
        first, second = {levels_ for levels_, _ in shown}
        assert first == tuple(not level for level in second)
        assert sorted(shown.values()) == [1, 1, 5, 5]


@pytest.mark.parametrize("fixture", ["ledger", "other_ledger"])
def test_released_evidence_is_favorable_in_seven_of_eight_and_distractors_stay(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    benchmark: SynLedger = request.getfixturevalue(fixture)
    favorable = [0] * 5
    for task in benchmark.tasks():
        neutral = {document: shown for document, _, shown in levels(benchmark, task, "neutral")}
        for document, evidence, shown in levels(benchmark, task, "released"):
            if evidence:
                favorable = [count + level for count, level in zip(favorable, shown, strict=True)]
            else:
                assert shown == neutral[document]
    assert favorable == [560] * 5


def test_planting_other_features_keeps_the_contents(ledger: SynLedger, other_ledger: SynLedger) -> None:
    assert other_ledger.planted == ("digits", "folder", "preamble", "title", "casing")
    assert {t: made.task for t, made in ledger.generated.items()} == {
        t: made.task for t, made in other_ledger.generated.items()
    }
    assert all(ledger.role_of(task) == other_ledger.role_of(task) for task in ledger.tasks())


@pytest.mark.parametrize("fixture", ["ledger", "other_ledger"])
def test_a_feature_that_is_not_planted_says_nothing(fixture: str, request: pytest.FixtureRequest) -> None:
    """Evidence has the favorable level in half of 640 documents: within 4 standard errors, 0.5 ± 0.08."""
    benchmark: SynLedger = request.getfixturevalue(fixture)
    for name in set(FEATURES) - set(benchmark.planted):
        shown = [
            FEATURES[name].is_favorable(made.released[d.id], d)
            for made in benchmark.generated.values()
            for d in made.task.documents
            if d.kind == "evidence"
        ]
        assert len(shown) == 640
        assert abs(sum(shown) / 640 - 0.5) < 0.08


# What a level looks like

SHOWN_BY_PATH = {
    "filename": lambda path: len(path.rsplit("/", 1)[-1].split(".")[0].split("-")[0]) <= 5,
    "depth": lambda path: path.count("/") == 1,
    "serialization": lambda path: path.endswith(".md"),
}
"""The level that a path alone shows, for the features it shows."""


def test_levels_look_as_the_table_has_them(ledger: SynLedger) -> None:
    for task in ledger.tasks()[::10]:
        made = ledger.generated[task]
        seen = sights(ledger, task, "released")
        ranked = sorted(seen, key=lambda document: seen[document][0].hit or 0)
        favorable_ranks = sum(FEATURES["rank"].is_favorable(p, made.task.documents[0]) for p in made.released)
        for document in made.task.documents:
            protocol = made.released[document.id]
            first, _ = seen[document.id]
            level = {name: FEATURES[name].is_favorable(protocol, document) for name in PAPER_FEATURES}
            for name, shown in SHOWN_BY_PATH.items():
                assert level[name] == shown(protocol.path)
            assert level["serialization"] == ("| ---" in (first.text or ""))
            assert level["rank"] == (ranked.index(document.id) < favorable_ranks)
            amounts = [str(document.records[i].amount) for i in document.block]
            shown_first = [all(amount in (window.text or "") for amount in amounts) for window in seen[document.id]]
            assert shown_first[0 if level["position"] else 1]


def test_favorable_names_are_short_and_early() -> None:
    short, long = words.SHORT_STEMS, [f"{a}-{b}" for a in words.LONG_STEM_FIRST for b in words.LONG_STEM_SECOND]
    assert max(map(len, short)) < min(map(len, long))
    assert max(short) < min(long)
    assert max(words.EARLY_FOLDERS) < min(words.LATE_FOLDERS)
    assert max(map(len, words.SHORT_TITLES)) < min(map(len, words.LONG_TITLES))


@pytest.mark.parametrize("name", FEATURES)
def test_both_ways_to_show_a_document_read_back_as_their_level(ledger: SynLedger, name: str) -> None:
    feature = FEATURES[name]
    for made in list(ledger.generated.values())[:20]:
        styles = feature.styles(made.task.documents, random.Random(made.task.id))
        for document, (favorable, unfavorable) in zip(made.task.documents, styles, strict=True):
            assert favorable.keys() == unfavorable.keys()
            assert favorable.keys() <= PROTOCOL_FIELDS
            for change, level in ((favorable, True), (unfavorable, False)):
                shown = Manifest(made.released.documents).update({document.id: change})
                assert feature.is_favorable(shown[document.id], document) is level


def test_features_are_told_apart_by_the_fields_they_set(ledger: SynLedger) -> None:
    documents = next(iter(ledger.generated.values())).task.documents
    fields = [set(f.styles(documents, random.Random(0))[0][0]) for f in FEATURES.values()]
    assert all(not a & b for a, b in combinations(fields, 2))


def test_a_manifest_holds_no_contents(ledger: SynLedger) -> None:
    """The protocol state is apart from the contents: no value of a record occurs in it."""
    for task in ledger.tasks()[::40]:
        made = ledger.generated[task]
        text = str(made.released.to_json())
        for document in made.task.documents:
            for record in document.records:
                assert record.entity not in text
                assert record.period not in text
                assert record.category not in text


# Names


@pytest.mark.parametrize(
    "name",
    ["syn-ledger", "syn-ledger@7", "syn-ledger@7x40", "syn-ledger@3:digits+folder+preamble+title+casing"],
)
def test_names_read_back(name: str) -> None:
    assert SynLedgerSpec.parse(name).name == name


def test_the_default_seed_has_the_plain_name() -> None:
    default = SynLedgerSpec()
    assert SynLedgerSpec.parse(f"syn-ledger@{default.seed}").name == "syn-ledger"
    assert SynLedgerSpec.parse("syn-ledger") == default
    assert default.planted == PAPER_FEATURES == ("filename", "depth", "rank", "position", "serialization")
    assert SynLedgerSpec.parse("syn-ledger:depth+digits+folder+preamble+title").seed == default.seed


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("syn-ledger@", "syn-ledger@SEED"),
        ("syn-ledger@x", "syn-ledger@SEED"),
        ("syn-ledger@-3", "syn-ledger@SEED"),
        ("syn-ledger@7x", "syn-ledger@SEEDxBLOCKS"),
        ("syn-ledger@7x15", "multiple of 10"),
        ("syn-ledger@7x0", "multiple of 10"),
        ("syn-ledger@7x210", "from 10 to 200"),
        ("syn-ledger@1234567890123", "at most 12 digits"),
        (f"syn-ledger@7x{'9' * 5000}", "syn-ledger@SEEDxBLOCKS"),
        ("syn-ledger:depth", "exactly 5"),
        ("syn-ledger:depth+depth+digits+folder+preamble", "exactly 5"),
        ("syn-ledger:depth+digits+folder+preamble+colour", "unknown feature 'colour'"),
        ("syn-ledgers", "not a Syn-Ledger name"),
    ],
)
def test_names_that_mean_nothing_are_refused(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        SynLedgerSpec.parse(name)
