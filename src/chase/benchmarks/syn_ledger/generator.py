"""The generator: from a seed to tasks with their contents and manifests.

The answer is fixed first; amounts are then drawn to give it. Everything a distractor or a contextual row holds
is drawn from the same distributions without looking at the required amounts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.combinatorics import BLOCK, neutral_level, released_level
from chase.benchmarks.syn_ledger.contents import ABSENT, Document, Kind, Query, Record, Task
from chase.benchmarks.syn_ledger.families import FAMILIES, Family, Role
from chase.benchmarks.syn_ledger.features import FEATURES, Change
from chase.benchmarks.syn_ledger.forms import FORMS, Form
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol, Manifest
from chase.core.errors import IntegrityError
from chase.core.keyed import opaque_id, rng, uniform

VERSION = 2
ANSWERS = 64
SMALLEST_ANSWER, LARGEST_ANSWER = 13, 99
"""Two-digit answers above twelve: tools count files, hits and calls up to twelve, and so never show one."""
DECADE = 10 * BLOCK
"""Tasks that share one set of answers."""

_REQUIRED = {category: category for category in words.CATEGORY_TWINS} | {
    twin: category for category, twin in words.CATEGORY_TWINS.items()
}
"""The required category whose amounts a category's records have: its own, or its twin's."""

Side = int
"""0: with the first evidence document, 1: with the second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratedTask:
    """A task with its two manifests and what each planted feature's neutralisation sets."""

    task: Task
    released: Manifest
    neutral: Manifest
    neutral_changes: Mapping[str, Mapping[str, Change]]
    """feature → document id → the fields' values under `B_0`."""


def generate(seed: int, blocks: int, planted: Sequence[str], form: Form = FORMS[""]) -> list[GeneratedTask]:
    """All tasks in construction order. The same arguments give the same tasks."""
    answers = _answers(seed, blocks)
    return [_generate_task(seed, number, answers[number], planted, form) for number in range(blocks * BLOCK)]


def _answers(seed: int, blocks: int) -> dict[int, int]:
    """The answer of each task: every family of ten blocks uses the same 64, each once."""
    pool = rng("syn-ledger", seed, "answers").sample(range(SMALLEST_ANSWER, LARGEST_ANSWER + 1), ANSWERS)
    answers: dict[int, int] = {}
    for decade in range(blocks * BLOCK // DECADE):
        for family in range(len(FAMILIES)):
            shuffled = rng("syn-ledger", seed, "answers", decade, family).sample(pool, ANSWERS)
            numbers = [n for n in range(decade * DECADE, (decade + 1) * DECADE) if n % len(FAMILIES) == family]
            answers.update(zip(numbers, shuffled, strict=True))
    return answers


def _generate_task(seed: int, number: int, answer: int, planted: Sequence[str], form: Form) -> GeneratedTask:
    """The first attempt whose answer is nowhere to be seen."""
    for attempt in range(200):
        made = _attempt(seed, number, attempt, answer, planted, form)
        if answer not in visible_numbers(_visible(made)):
            return made
    raise IntegrityError(f"syn-ledger@{seed}: task number={number} shows its answer in 200 attempts")


def visible_numbers(texts: Iterable[str]) -> set[int]:
    """Every integer token in the texts: maximal runs of digits of any script, whatever their sign."""
    return {int(run) for run in set(re.findall(r"\d+", "\n".join(texts)))}


def _visible(made: GeneratedTask) -> Iterable[str]:
    """What any variant of the task can show: variants only choose among these."""
    yield made.task.question
    for document in made.task.documents:
        yield document.id
        for record in document.records:
            yield f"{record.period} {record.amount} {record.entity}"
    for manifest in (made.released, made.neutral):
        for protocol in manifest:
            yield from (protocol.path, protocol.title, str(protocol.metadata))


def _attempt(
    seed: int, number: int, attempt: int, answer: int, planted: Sequence[str], form: Form = FORMS[""]
) -> GeneratedTask:
    draw = rng("syn-ledger", seed, "contents", number, attempt)
    query = _query(draw, form.families[number % len(form.families)])
    drawn = _documents(draw, seed, number, query, answer, form)
    sides = {document.id: side for document, side in drawn}
    documents = tuple(sorted((document for document, _ in drawn), key=lambda document: document.id))
    first, second = (document.id for document, _ in drawn[:2])
    task = Task(
        id=opaque_id("task", seed, number, letters=8),
        number=number,
        query=query,
        question=query.text(),
        answer=answer,
        documents=documents,
        evidence=(first, second),
    )
    return _with_manifests(seed, task, sides, planted)


def _query(draw: random.Random, family: Family) -> Query:
    year = draw.randint(words.FIRST_YEAR + 8, words.LAST_YEAR - 8)
    return Query(
        entity=_entities(draw, 1)[0],
        periods=tuple(f"FY{year - lag}" for lag in range(family.periods)),
        family=family,
    )


def _entities(draw: random.Random, count: int) -> list[str]:
    first = draw.sample(words.ENTITY_FIRST, count)
    return [f"{name}{draw.choice(words.ENTITY_SECOND)} {draw.choice(words.ENTITY_KIND)}" for name in first]


@dataclass(frozen=True, kw_only=True, slots=True)
class _World:
    """What the documents of one task are drawn from."""

    draw: random.Random
    query: Query
    entities: tuple[str, ...]
    """Other entities."""
    periods: tuple[str, ...]
    """Periods that the question does not ask for."""
    palette: tuple[str, ...]
    """Six categories; each document has a record of each, but for those that its block takes the place of."""
    absent: Mapping[str, Any]
    """Fields that records do not have, with the value that says so."""

    def amount(self, category: str) -> int:
        """An amount such as records of this category have: from a program with an answer of its own."""
        family = self.query.family
        symbols = [role.symbol for role in family.roles if role.category == _REQUIRED.get(category)]
        if not symbols:
            return self.draw.randint(15, 880)
        return family.draw(self.draw.randint(SMALLEST_ANSWER, LARGEST_ANSWER), self.draw)[self.draw.choice(symbols)]


def _documents(
    draw: random.Random, seed: int, number: int, query: Query, answer: int, form: Form
) -> list[tuple[Document, Side]]:
    """All documents, evidence first, each with the side whose feature levels it shares under `B_0`."""
    entities = [e for e in _entities(draw, 6) if e != query.entity][:5]
    required = list(dict.fromkeys(role.category for role in query.family.roles))
    palette = [words.CATEGORY_TWINS[category] for category in required]
    if not query.family.plain:
        palette = required + palette
    palette += draw.sample(words.FILLER_CATEGORIES, 6 - len(palette))
    world = _World(
        draw=draw,
        query=query,
        entities=tuple(entities),
        periods=_other_periods(draw, query),
        palette=tuple(palette),
        absent=dict.fromkeys(form.absent, ABSENT),
    )
    amounts = query.family.draw(answer, draw)
    plans: list[tuple[Kind, Side]] = [("evidence", 0), ("evidence", 1)]
    for kind, count in form.distractors.items():
        plans += [(kind, side) for side in ((draw.randint(0, 1),) if count == 1 else (0, 1) * (count // 2))]
    half = form.decoys // 2
    sides = draw.sample([0] * half + [1] * half, 2 * half)
    documents = []
    for slot, (kind, mirrored) in enumerate(plans):
        block = _block(world, kind, mirrored, amounts if kind == "evidence" else None)
        document = _document(world, opaque_id("document", seed, number, slot, letters=10), kind, block)
        documents.append((document, slot if slot < 2 else sides[slot - 2]))
    return documents


def _other_periods(draw: random.Random, query: Query) -> tuple[str, ...]:
    """Five around those of the question, if amounts have periods."""
    if query.family.plain:
        return ()
    year = int(query.periods[0][2:])
    other_years = [y for y in range(year - 6, year + 7) if f"FY{y}" not in query.periods]
    return tuple(f"FY{y}" for y in draw.sample(other_years, 5))


def _block(world: _World, kind: Kind, side: Side, amounts: Mapping[str, int] | None) -> list[Record]:
    """The candidate block: the required records, or decoys that match them in all but one condition."""
    family = world.query.family
    roles: tuple[Role, ...] = family.first if side == 0 else family.second
    exclusion = _exclusion(world, kind)
    block = []
    for role in roles:
        record = Record(
            entity=world.query.entity,
            period=world.query.period(role),
            category=role.category,
            status="approved",
            version="prevailing",
            basis="enacted",
            amount=amounts[role.symbol] if amounts else world.amount(role.category),
        )
        if kind == "irrelevant-category":
            exclusion = {"category": words.CATEGORY_TWINS[role.category]}
        block.append(replace(record, **{**exclusion, **world.absent}))
    return block


def _exclusion(world: _World, kind: Kind) -> dict[str, Any]:
    """The field that excludes a distractor's block, drawn once for the whole block."""
    match kind:
        case "other-period":
            return {"period": world.draw.choice(world.periods)}
        case "wrong-entity":
            return {"entity": world.draw.choice(world.entities)}
        case "superseded":
            return {"version": "superseded"}
        case "inactive":
            return {"status": world.draw.choice(words.STATUSES[1:])}
        case "wrong-basis":
            return {"basis": world.draw.choice(words.BASES[1:])}
        case _:
            return {}


def _document(world: _World, identifier: str, kind: Kind, block: list[Record]) -> Document:
    """The block with contextual rows around it, none of which answers to the question."""
    taken = {record.category for record in block}
    left = [category for category in world.palette if category not in taken]
    rest = world.draw.sample(left, 6 - len(block))
    if world.query.family.plain:
        records = [_row(world, world.query.entity, ABSENT, category) for category in rest]
    else:
        records = _context(world, rest)
    places = sorted(world.draw.sample(range(6), len(block)))
    for place, record in zip(places, block, strict=True):
        records.insert(place, record)
    return Document(id=identifier, kind=kind, records=tuple(records), block=tuple(places))


def _context(world: _World, categories: Sequence[str]) -> list[Record]:
    """Each outside the requested entity or period; one with the entity in another period, and one the other way."""
    draw, query, rows = world.draw, world.query, []
    for place, category in enumerate(categories):
        own_entity = place == 0 or (place > 1 and draw.random() < 0.5)
        entity = query.entity if own_entity else draw.choice(world.entities)
        other_period = own_entity or (place > 1 and draw.random() < 0.5)
        rows.append(_row(world, entity, draw.choice(world.periods if other_period else query.periods), category))
    return rows


def _row(world: _World, entity: str, period: str, category: str) -> Record:
    draw = world.draw
    record = Record(
        entity=entity,
        period=period,
        category=category,
        status=draw.choices(words.STATUSES, (6, 2, 2))[0],
        version=draw.choices(words.VERSIONS, (7, 3))[0],
        basis=draw.choices(words.BASES, (6, 2, 2))[0],
        amount=world.amount(category),
    )
    return replace(record, **world.absent) if world.absent else record


def _with_manifests(seed: int, task: Task, sides: Mapping[str, Side], planted: Sequence[str]) -> GeneratedTask:
    """The task with its levels chosen: planted features by the combinatorics, others by a hash."""
    styles = {
        name: dict(
            zip(
                (document.id for document in task.documents),
                feature.styles(task.documents, rng("syn-ledger", seed, "style", task.number, name)),
                strict=True,
            )
        )
        for name, feature in FEATURES.items()
    }
    released, neutral = [], []
    changes: dict[str, dict[str, Change]] = {name: {} for name in planted}
    for document in task.documents:
        plain = {
            name: styles[name][document.id][uniform("level", seed, document.id, name) < 0.5]
            for name in FEATURES
            if name not in planted
        }
        base: dict[str, Any] = {"id": document.id, **_details(seed, document.id)}
        for change in plain.values():
            base |= change
        at_release, at_neutral = dict(base), dict(base)
        for j, name in enumerate(planted):
            favorable = neutral_level(task.configuration, sides[document.id], j)
            changes[name][document.id] = styles[name][document.id][not favorable]
            at_neutral |= changes[name][document.id]
            if document.id in task.evidence:
                favorable = released_level(task.configuration, sides[document.id], j)
            at_release |= styles[name][document.id][not favorable]
        released.append(DocumentProtocol(**at_release))
        neutral.append(DocumentProtocol(**at_neutral))
    return GeneratedTask(
        task=task,
        released=Manifest(tuple(released)),
        neutral=Manifest(tuple(neutral)),
        neutral_changes=changes,
    )


def _details(seed: int, document: str) -> dict[str, Any]:
    """Presentation details that no feature controls, drawn by the document's id."""
    draw = rng("syn-ledger", seed, "details", document)
    return {"section": draw.choice(words.SECTION_LABELS), "listing": 0}
