"""`B_0`, the five neutralisations and the five placebos."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.constructions import PLACEBOS
from chase.benchmarks.syn_ledger.features import FEATURES, HALF, PAPER_FEATURES
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.benchmarks.syn_ledger.validation.protocol import levels
from chase.core.errors import UserError
from chase.protocol.operators import make_operator

FIELDS = {
    "filename": {"stem"},
    "depth": {"folders"},
    "rank": {"rank"},
    "position": {"order"},
    "serialization": {"format"},
    "digits": {"suffix"},
    "folder": {"root"},
    "preamble": {"metadata"},
    "title": {"title"},
    "casing": {"casing"},
}
PLACEBO_FIELDS = {
    "line-endings": {"newline"},
    "metadata-order": {"metadata"},
    "trailing-whitespace": {"trailing"},
    "distractor-order": {"rank"},
    "section-labels": {"section"},
}


@pytest.fixture(params=["ledger", "other_ledger"])
def any_ledger(request: pytest.FixtureRequest) -> SynLedger:
    benchmark: SynLedger = request.getfixturevalue(request.param)
    return benchmark


def test_there_are_twelve_variants(any_ledger: SynLedger) -> None:
    assert list(any_ledger.variants()) == [
        "released",
        "neutral",
        *(f"neutralise-{name}" for name in any_ledger.planted),
        *(f"placebo-{kind}" for kind in PLACEBO_FIELDS),
    ]


def test_a_neutralisation_gives_one_feature_its_neutral_level_and_leaves_the_others(any_ledger: SynLedger) -> None:
    for task in any_ledger.tasks()[::8]:
        shown = {
            variant: {document: levels_ for document, _, levels_ in levels(any_ledger, task, variant)}
            for variant in ("released", "neutral", *(f"neutralise-{name}" for name in any_ledger.planted))
        }
        for j, name in enumerate(any_ledger.planted):
            for document, after in shown[f"neutralise-{name}"].items():
                before = shown["released"][document]
                assert after == (*before[:j], shown["neutral"][document][j], *before[j + 1 :])


def test_neutralisations_change_and_declare_their_own_field(any_ledger: SynLedger) -> None:
    for name in any_ledger.planted:
        transformation = any_ledger.variant(f"neutralise-{name}")
        assert transformation.declared == FIELDS[name]
        changed: set[str] = set()
        for made in any_ledger.generated.values():
            changed |= made.released.changed_fields(transformation.apply(made.released))
        assert changed == FIELDS[name]


def test_neutralisations_leave_distractors_alone(any_ledger: SynLedger) -> None:
    transformation = any_ledger.variant("neutral")
    for made in any_ledger.generated.values():
        after = transformation.apply(made.released)
        for document in made.task.documents:
            if document.kind != "evidence":
                assert after[document.id] is made.released[document.id]


def test_neutralisations_are_idempotent_and_commute(any_ledger: SynLedger) -> None:
    steps = [any_ledger.variant(f"neutralise-{name}") for name in any_ledger.planted]
    for made in list(any_ledger.generated.values())[::8]:
        for step in steps:
            once = step.apply(made.released)
            assert step.apply(once) == once == step.apply(made.released)
        for a, b in combinations(steps, 2):
            assert a.apply(b.apply(made.released)) == b.apply(a.apply(made.released))


def test_all_five_in_any_order_give_b_zero(any_ledger: SynLedger) -> None:
    steps = [any_ledger.variant(f"neutralise-{name}") for name in any_ledger.planted]
    for made in list(any_ledger.generated.values())[::64]:
        for order in permutations(steps):
            state = made.released
            for step in order:
                state = step.apply(state)
            assert state == made.neutral
    for task, made in any_ledger.generated.items():
        assert any_ledger.manifest(task, any_ledger.variant("neutral")) == made.neutral


def test_b_zero_stays_as_it_is(any_ledger: SynLedger) -> None:
    for made in list(any_ledger.generated.values())[::8]:
        for name in any_ledger.planted:
            assert any_ledger.variant(f"neutralise-{name}").apply(made.neutral) == made.neutral


def test_placebos_change_and_declare_their_own_detail(any_ledger: SynLedger) -> None:
    assert set(PLACEBOS) == set(PLACEBO_FIELDS)
    for kind, fields in PLACEBO_FIELDS.items():
        transformation = any_ledger.variant(f"placebo-{kind}")
        assert transformation.declared == fields
        changed: set[str] = set()
        for made in any_ledger.generated.values():
            changed |= made.released.changed_fields(transformation.apply(made.released))
        assert changed == fields


def test_placebos_leave_every_planted_level(any_ledger: SynLedger) -> None:
    for task in any_ledger.tasks()[::8]:
        released = list(levels(any_ledger, task, "released"))
        for kind in PLACEBO_FIELDS:
            assert list(levels(any_ledger, task, f"placebo-{kind}")) == released


def test_line_endings_and_trailing_space_change_white_space_only(ledger: SynLedger) -> None:
    for task in ledger.tasks()[::40]:
        plain = {f.id: f.text for f in ledger.view(task, ledger.variant("released")).files}
        endings = {f.id: f.text for f in ledger.view(task, ledger.variant("placebo-line-endings")).files}
        spaces = {f.id: f.text for f in ledger.view(task, ledger.variant("placebo-trailing-whitespace")).files}
        for document, text in plain.items():
            assert "\r" not in text
            assert endings[document] == text.replace("\n", "\r\n")
            assert spaces[document] == text.replace("\n", "  \n")


def test_metadata_order_keeps_the_metadata(ledger: SynLedger) -> None:
    moved = 0
    for made in ledger.generated.values():
        after = ledger.variant("placebo-metadata-order").apply(made.released)
        for before in made.released:
            assert sorted(after[before.id].metadata) == sorted(before.metadata)
            moved += after[before.id].metadata != before.metadata
    assert moved == 320 * 12  # every document has at least two entries


def test_section_labels_change_for_one_of_the_same_length(ledger: SynLedger) -> None:
    for made in list(ledger.generated.values())[:40]:
        after = ledger.variant("placebo-section-labels").apply(made.released)
        for before in made.released:
            assert after[before.id].section != before.section
            assert len(after[before.id].section) == len(before.section)


def test_distractor_order_exchanges_low_ranked_distractors_only(any_ledger: SynLedger) -> None:
    moved = 0
    for made in any_ledger.generated.values():
        after = any_ledger.variant("placebo-distractor-order").apply(made.released)
        before_places, after_places = (
            {p.id: place for place, p in enumerate(manifest.ranked())} for manifest in (made.released, after)
        )
        for protocol in made.released:
            if protocol.id in made.task.evidence or protocol.rank < HALF:
                assert before_places[protocol.id] == after_places[protocol.id]
            moved += before_places[protocol.id] != after_places[protocol.id]
        assert sorted(p.rank for p in after) == sorted(p.rank for p in made.released)
    assert moved > 500


def test_constructions_are_in_a_namespace_of_their_own(any_ledger: SynLedger) -> None:
    """Host-only: in no allowlist, so that no proposal can name them."""
    assert not [name for name in ALLOWLIST if name.startswith("construction.")]
    for name in any_ledger.variants():
        for operator in any_ledger.variant(name).operators:
            assert operator.name in ("construction.neutralise", "construction.placebo")
            assert operator.inverse() is None
            assert "evidence" not in repr(operator)
            assert set(operator.arguments) <= {"feature", "kind"}
    for operator in ("construction.neutralise", "construction.placebo"):
        with pytest.raises(UserError, match="unknown operator"):
            make_operator(ALLOWLIST, operator, {"feature": "depth"})


def test_the_same_construction_has_the_same_hash_in_every_benchmark(
    ledger: SynLedger, larger_ledger: SynLedger
) -> None:
    for name in ledger.variants():
        assert ledger.variant(name).hash == larger_ledger.variant(name).hash


def test_operators_do_not_depend_on_the_seed(ledger: SynLedger) -> None:
    made = next(iter(ledger.generated.values()))
    for name in ledger.variants():
        for operator in ledger.variant(name).operators:
            assert operator.apply(made.released, seed=1) == operator.apply(made.released, seed=2)


def test_every_feature_has_a_field_of_its_own() -> None:
    assert set(FIELDS) == set(FEATURES)
    assert set(PAPER_FEATURES) <= set(FIELDS)
    fields = [field for names in FIELDS.values() for field in names]
    assert len(set(fields)) == len(fields)
    assert set(fields) <= set(DocumentProtocol.__dataclass_fields__) - {"id"}
