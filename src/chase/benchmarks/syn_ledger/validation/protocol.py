"""Checks of feature levels and of the constructions that change them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger.combinatorics import BLOCK
from chase.benchmarks.syn_ledger.constructions import PLACEBOS
from chase.benchmarks.syn_ledger.features import FEATURES
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS
from chase.benchmarks.syn_ledger.validation.tally import Tally

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger

Levels = tuple[bool, ...]


def levels(benchmark: SynLedger, task: str, variant: str) -> Iterator[tuple[str, bool, Levels]]:
    """(document, is evidence, planted levels) read back from the manifest of a variant."""
    made = benchmark.task(task)
    manifest = benchmark.manifest(task, benchmark.variant(variant))
    for document, protocol in zip(made.documents, manifest, strict=True):
        shown = tuple(FEATURES[name].is_favorable(protocol, document) for name in benchmark.planted)
        yield document.id, document.id in made.evidence, shown


def _blocks(benchmark: SynLedger) -> dict[int, list[str]]:
    blocks: dict[int, list[str]] = {}
    for task, made in benchmark.generated.items():
        blocks.setdefault(made.task.block, []).append(task)
    return blocks


def check_neutral(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Under `B_0` every configuration occurs twice among a block's evidence, and as often as a task has distractors."""
    for block, tasks in _blocks(benchmark).items():
        counts = {True: Counter[Levels](), False: Counter[Levels]()}
        for task in tasks:
            seen = list(levels(benchmark, task, "neutral"))
            for _, evidence, shown in seen:
                counts[evidence][shown] += 1
            first, second = (shown for _, evidence, shown in seen if evidence)
            opposite = all(a != b for a, b in zip(first, second, strict=True))
            tallies["balance-neutral"].expect(opposite, task, "the evidence documents are not opposite")
        for evidence, expected in ((True, 2), (False, benchmark.spec.contents.decoys)):
            even = len(counts[evidence]) == BLOCK and set(counts[evidence].values()) == {expected}
            kind = "evidence" if evidence else "distractors"
            tallies["balance-neutral"].expect(even, f"block {block}", f"configurations of {kind} are uneven")


def check_released(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Under `B_rel` 56 of 64 evidence documents of a block are favorable; distractors are as under `B_0`."""
    for block, tasks in _blocks(benchmark).items():
        favorable = [0] * len(benchmark.planted)
        mixed: list[set[int]] = [set() for _ in benchmark.planted]
        for task in tasks:
            neutral = {document: shown for document, _, shown in levels(benchmark, task, "neutral")}
            pair = []
            for document, evidence, shown in levels(benchmark, task, "released"):
                if evidence:
                    pair.append(shown)
                else:
                    same = shown == neutral[document]
                    tallies["distractors-fixed"].expect(same, task, f"distractor {document} changed its level")
            for j in range(len(favorable)):
                favorable[j] += pair[0][j] + pair[1][j]
                if pair[0][j] != pair[1][j]:
                    mixed[j].add(benchmark.task(task).configuration)
        for name, count in zip(benchmark.planted, favorable, strict=True):
            tallies["balance-released"].expect(count == 56, f"block {block}", f"{name}: {count} of 64 favorable")
        sizes = [len(configurations) for configurations in mixed]
        differ = len({frozenset(configurations) for configurations in mixed}) == len(mixed)
        tallies["mixed-sets"].expect(sizes == [8] * 5 and differ, f"block {block}", f"mixed sets of {sizes}")


def check_neutralisations(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """The five neutralisations compose to `B_0`, are idempotent, commute, and change only their field."""
    steps = {name: benchmark.variant(f"neutralise-{name}") for name in benchmark.planted}
    for task, made in benchmark.generated.items():
        once = {name: step.apply(made.released) for name, step in steps.items()}
        for order in (list(steps), list(reversed(steps))):
            state = made.released
            for name in order:
                state = steps[name].apply(state)
            tallies["compose-to-neutral"].expect(state == made.neutral, task, f"{order} do not give B_0")
        whole = benchmark.manifest(task, benchmark.variant("neutral"))
        tallies["compose-to-neutral"].expect(whole == made.neutral, task, "'neutral' does not give B_0")
        for name, step in steps.items():
            tallies["idempotent"].expect(step.apply(once[name]) == once[name], task, f"{name} is not idempotent")
            changed = made.released.changed_fields(once[name])
            allowed = step.declared & PROTOCOL_FIELDS
            tallies["declared-fields"].expect(changed <= allowed, task, f"{name} changed {sorted(changed)}")
        for a, b in combinations(steps, 2):
            same = steps[a].apply(once[b]) == steps[b].apply(once[a])
            tallies["commute"].expect(same, task, f"{a} and {b} do not commute")


def check_placebos(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """A placebo changes its own detail in some task and nothing else; evidence keeps its rank."""
    tally = tallies["placebos"]
    for kind in PLACEBOS:
        transformation = benchmark.variant(f"placebo-{kind}")
        active = 0
        for task, made in benchmark.generated.items():
            after = transformation.apply(made.released)
            changed = made.released.changed_fields(after)
            active += bool(changed)
            allowed = transformation.declared & PROTOCOL_FIELDS
            tally.expect(changed <= allowed, task, f"{kind} changed {sorted(changed)}")
            before_ranks = {p.id: place for place, p in enumerate(made.released.ranked())}
            ranks = {p.id: place for place, p in enumerate(after.ranked())}
            kept = all(before_ranks[document] == ranks[document] for document in made.task.evidence)
            tally.expect(kept, task, f"{kind} moved an evidence document's rank")
        tally.expect(active > 0, benchmark.name, f"{kind} changes nothing")
