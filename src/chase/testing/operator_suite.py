"""The contract of `chase.core.interfaces.OperatorKind` and its operators as tests, by subclassing.

    class TestMine(OperatorConformance):
        @pytest.fixture
        def entry(self): return OperatorEntry(benchmark="syn-ledger", kind=MY_KIND)

It needs the `test` extra (pytest).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from chase.benchmarks.registry import open_benchmark
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, FirewallSubject, Operator
from chase.core.values import Json
from chase.protocol.extensions import NAME, OperatorEntry
from chase.protocol.kit import ProtocolKit, changed_fields

SEEDS = (1, 2, 3)


class OperatorConformance:
    """Subclass it and give the fixture `entry`; the benchmark is the one that it names, in `name`'s seed and size."""

    name = "@7"
    """What follows the benchmark's base name."""
    sizes: Mapping[str, int] = {"evo": 4, "disc": 2, "conf1": 2, "conf2": 2, "conf3": 2, "cert": 2}
    most_forms = 24
    """Forms that are tried; all where there are fewer."""

    @pytest.fixture
    def entry(self) -> OperatorEntry:
        raise NotImplementedError("give an `entry` fixture")

    @pytest.fixture
    def kit(self, entry: OperatorEntry) -> ProtocolKit:
        """The benchmark's protocol with the operator in its allowlist."""
        benchmark: Benchmark[Any] = open_benchmark(f"{entry.benchmark}{self.name}").fewer(self.sizes)
        benchmark.allowlist = {**benchmark.allowlist, entry.kind.name: entry.kind}  # type: ignore[misc]
        return ProtocolKit(benchmark)

    @pytest.fixture
    def forms(self, entry: OperatorEntry) -> Sequence[Operator[Any]]:
        return list(entry.kind.forms())[: self.most_forms]

    def test_it_says_what_it_is(self, entry: OperatorEntry, forms: Sequence[Operator[Any]]) -> None:
        kind = entry.kind
        assert NAME.fullmatch(kind.name)
        assert kind.version >= 1
        assert kind.summary.strip()
        assert forms, "it can make no operator"
        for form in forms:
            assert (form.name, form.version) == (kind.name, kind.version)
            assert form.in_words.strip()
            assert "\n" not in form.in_words

    def test_its_arguments_are_plain_finite_and_normalised(
        self, entry: OperatorEntry, forms: Sequence[Operator[Any]]
    ) -> None:
        kind = entry.kind
        assert json.loads(json.dumps(kind.schema())) == kind.schema()
        assert len({_text(form.arguments) for form in forms}) == len(forms), "one operator in two forms"
        for form in forms:
            arguments = json.loads(json.dumps(dict(form.arguments)))
            assert kind.make(arguments).arguments == form.arguments

    def test_a_wrong_argument_is_a_user_error(self, entry: OperatorEntry) -> None:
        unknown: dict[str, Any] = {"no-such-argument": 1}
        for wrong in (unknown, dict.fromkeys(entry.kind.choices(), object()) or unknown):
            with pytest.raises(UserError):
                entry.kind.make(wrong)

    def test_its_arguments_decide_which_fields_it_declares(self, entry: OperatorEntry, kit: ProtocolKit) -> None:
        declared = {field for change in changed_fields(entry.kind) for field in change["fields"]}
        assert declared, "it declares to change nothing"
        assert declared <= kit.benchmark.protocol_fields

    def test_it_is_deterministic_and_changes_no_state_that_it_is_given(
        self, kit: ProtocolKit, forms: Sequence[Operator[Any]]
    ) -> None:
        subject = kit.subject
        for unit in _units(subject):
            for form in map(subject.lift, forms):
                state = subject.state(unit)
                kept = deepcopy(subject.protocol(state))
                first, again = (subject.protocol(form.apply(state, seed=1)) for _ in range(2))
                assert first == again, f"{_text(form.arguments)}: twice the same gives two states"
                assert subject.protocol(state) == kept, f"{_text(form.arguments)} changes the state that it is given"

    def test_it_draws_from_the_seed_exactly_where_it_says_so(
        self, kit: ProtocolKit, forms: Sequence[Operator[Any]]
    ) -> None:
        subject = kit.subject
        for form in map(subject.lift, forms):
            drawn = {
                _text({unit: subject.protocol(form.apply(subject.state(unit), seed=seed)) for unit in _units(subject)})
                for seed in SEEDS
            }
            assert (len(drawn) > 1) == form.seeded, f"{_text(form.arguments)}: seeded={form.seeded}"

    def test_its_inverse_undoes_it(self, kit: ProtocolKit, forms: Sequence[Operator[Any]]) -> None:
        subject = kit.subject
        for form in forms:
            inverse = form.inverse()
            if inverse is None:
                continue
            for unit in _units(subject):
                there = subject.lift(form).apply(subject.state(unit), seed=1)
                back = subject.lift(inverse).apply(there, seed=1)
                assert subject.protocol(back) == subject.protocol(subject.state(unit)), _text(form.arguments)

    def test_the_firewall_finds_every_form_valid(
        self, entry: OperatorEntry, kit: ProtocolKit, forms: Sequence[Operator[Any]]
    ) -> None:
        """Contents, access, answers and scoring stay, nothing undeclared changes, no rule looks at contents."""
        for form in forms:
            operator = {"name": entry.kind.name, "arguments": dict(form.arguments)}
            proposal = kit.parse({"benchmark": entry.benchmark, "operators": [operator]})
            record = kit.run_checks(proposal)
            assert record.valid, f"{_text(form.arguments)}: {', '.join(record.failed)}"

    def test_some_form_makes_a_difference(self, kit: ProtocolKit, forms: Sequence[Operator[Any]]) -> None:
        subject = kit.subject
        assert any(
            subject.present(subject.lift(form).apply(subject.state(unit), seed=1)).view != subject.released(unit).view
            for form in forms
            for unit in _units(subject)
        ), "nothing looks different under any form"


def _units(subject: FirewallSubject[Any]) -> list[str]:
    return [*subject.shared, *subject.check_tasks[:3]]


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True, default=str)
