"""Validation of a Syn-Ledger benchmark, independent of any rollout: every check by name.

`contents` looks at tasks and records, `views` at what is rendered under every variant, `protocol` at levels and
constructions, `sets` at the allocation, `neutrality` at what identifiers and observables give away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger.validation import contents, neutrality, protocol, sets, views
from chase.benchmarks.syn_ledger.validation.tally import Tally
from chase.core.values import CheckResult

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger

Check = Callable[["SynLedger", Mapping[str, Tally]], None]

CHECKS: Sequence[tuple[Check, Sequence[str]]] = (
    (contents.check_shape, ("sizes", "families", "distractors")),
    (contents.check_answers, ("answer-from-records", "unique-solution", "question-text")),
    (contents.check_necessity, ("evidence-necessary",)),
    (
        views.check_views,
        ("answer-from-renderings", "records-preserved", "answer-not-visible", "paths-unique"),
    ),
    (views.check_replay, ("deterministic-rebuild", "deterministic-rendering")),
    (views.check_interface, ("same-tools-and-budgets", "scorer")),
    (protocol.check_neutral, ("balance-neutral",)),
    (protocol.check_released, ("balance-released", "distractors-fixed", "mixed-sets")),
    (protocol.check_neutralisations, ("compose-to-neutral", "idempotent", "commute", "declared-fields")),
    (protocol.check_placebos, ("placebos",)),
    (
        sets.check_allocation,
        ("allocation-sizes", "allocation-families", "allocation-features", "allocation-pairs"),
    ),
    (sets.check_reconstruction, ("allocation-rebuild",)),
    (neutrality.check_identifiers, ("identifiers",)),
    (neutrality.check_observables, ("observables-neutral", "observables-released")),
)


def validate(benchmark: SynLedger, progress: Callable[[str], None]) -> Sequence[CheckResult]:
    """Every check's result, in the order of the list. Nothing stops at the first failure."""
    results: list[CheckResult] = []
    for check, names in CHECKS:
        progress(names[0])
        tallies = {name: Tally() for name in names}
        check(benchmark, tallies)
        results += [tally.result(name) for name, tally in tallies.items()]
    return results
