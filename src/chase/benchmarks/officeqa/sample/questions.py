"""Questions on a sample's documents, with answers computed exactly from the figures that the documents print."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from chase.benchmarks.officeqa.sample import wordings
from chase.benchmarks.officeqa.sample.grouping import sources
from chase.benchmarks.officeqa.sample.periods import Period
from chase.benchmarks.officeqa.sample.plans import Plans, TablePlan
from chase.benchmarks.officeqa.sample.series import Topic
from chase.benchmarks.officeqa.sample.shape import QUESTIONS_WITH_SCALE, Shape
from chase.core.keyed import rng, sorted_by_key

EASY = 11 / 24
"""Of all questions; the paper's confirmation sets have 11 easy and 13 hard ones."""
UNNAMED = 0.8
"""How often a question on one document is tried without its name; it stays so if all editions give one answer."""
TRIES = 400
SCALES = {"thousands": 10**3, "millions": 10**6, "billions": 10**9}


class Cell(NamedTuple):
    """One printed figure: of which document (by number), table, item and period."""

    document: int
    topic: Topic
    item: int
    period: Period


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question: how many figures it takes, how it is said, and what is computed."""

    words: tuple[str, ...]
    compute: Callable[[Sequence[Decimal]], Decimal]
    least: int
    most: int
    percent: bool = False
    """Whether the result is a percentage, whatever the figures are."""
    revises: bool = False
    """Whether it compares two documents' figures for one period."""
    mixed: bool = False
    """Whether each figure is of a table of its own."""


@dataclass(frozen=True, slots=True)
class Made:
    """A question that was made."""

    text: str
    answer: str
    documents: tuple[int, ...]
    hard: bool
    kind: Kind
    cells: tuple[Cell, ...]
    """What the answer was computed from."""


def _sum(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0))


def _share(values: Sequence[Decimal]) -> Decimal:
    return values[-1] / _sum(values) * 100


def _change(values: Sequence[Decimal]) -> Decimal:
    return (values[-1] - values[0]) / values[0] * 100


def _difference(values: Sequence[Decimal]) -> Decimal:
    return values[-1] - values[0]


KINDS = (
    Kind(wordings.LOOKUP, lambda values: values[0], 1, 1),
    Kind(wordings.DIFFERENCE, _difference, 2, 2),
    Kind(wordings.SUM, _sum, 2, 9),
    Kind(wordings.AVERAGE, lambda values: _sum(values) / len(values), 2, 99),
    Kind(wordings.HIGHEST, max, 3, 9),
    Kind(wordings.PERCENT_CHANGE, _change, 2, 2, percent=True),
    Kind(wordings.SHARE, _share, 3, 99, percent=True),
    Kind(wordings.MIXED_SUM, _sum, 2, 99, mixed=True),
    Kind(wordings.MIXED_SHARE, _share, 2, 99, percent=True, mixed=True),
    Kind(wordings.REVISION, _difference, 2, 2, revises=True),
    Kind(wordings.PERCENT_REVISION, _change, 2, 2, percent=True, revises=True),
)


def make_questions(plans: Plans) -> list[Made]:
    """All questions of a sample, no text twice."""
    groups = sources(plans.shape)
    scaled, easy = _scaled(plans.shape), easy_questions(plans.shape, groups)
    made: dict[str, Made] = {}
    for i, group in enumerate(groups):
        draw = rng(plans.shape.key, "question", i)
        question = next(q for q in _attempts(plans, group, i in scaled, i not in easy, draw) if q.text not in made)
        made[question.text] = question
    return list(made.values())


def _scaled(shape: Shape) -> set[int]:
    """The questions whose words name a scale."""
    order = sorted_by_key([str(i) for i in range(shape.questions)], shape.key, "scaled")
    return {int(i) for i in order[: round(shape.questions * QUESTIONS_WITH_SCALE)]}


def easy_questions(shape: Shape, groups: Sequence[tuple[int, ...]]) -> set[int]:
    """The questions that are labelled easy: rather those on few documents."""
    effort = [len(group) + 2.5 * rng(shape.key, "effort", i).random() for i, group in enumerate(groups)]
    return set(sorted(range(len(groups)), key=lambda i: effort[i])[: round(EASY * len(groups))])


def _attempts(plans: Plans, group: tuple[int, ...], scaled: bool, hard: bool, draw: random.Random) -> Iterator[Made]:
    for _ in range(TRIES):
        kind, cells = _choose(plans, group, scaled, draw)
        if cells and (found := _phrased(plans, kind, cells, scaled, draw)):
            yield Made(*found, group, hard, kind, cells)
    raise AssertionError(f"no question could be made on documents {group}")


def _choose(plans: Plans, group: tuple[int, ...], scaled: bool, draw: random.Random) -> tuple[Kind, tuple[Cell, ...]]:
    """A kind of question and figures that stand in the documents; no figures where they lack what it needs."""
    table = draw.choice(plans.of(draw.choice(group)))
    fitting = [kind for kind in KINDS if _fits(kind, table.topic, len(group), scaled)]
    if not fitting:
        return KINDS[0], ()
    kind = draw.choice(fitting)
    if kind.mixed:
        return kind, _mixed_cells(plans, group, draw)
    return kind, _cells(plans, group, table.topic, draw.choice(table.items), kind, draw)


def _fits(kind: Kind, topic: Topic, documents: int, scaled: bool) -> bool:
    """Whether a kind can be asked of a topic: with a scale in its words only where it is money in money's units."""
    if (documents != 2 and kind.revises) or (documents == 1 and kind.mixed):
        return False
    if documents > 1 and not kind.least <= documents <= kind.most:
        return False
    if scaled or topic.family == "money":
        return topic.family == "money" and scaled != kind.percent
    return not kind.mixed and (topic.family == "ounces" or not (kind.percent or kind.compute is _sum))


def _mixed_cells(plans: Plans, group: tuple[int, ...], draw: random.Random) -> tuple[Cell, ...]:
    """A figure in money of each document."""
    tables = [[t for t in plans.of(number) if t.topic.family == "money"] for number in group]
    if not all(tables):
        return ()
    chosen = [draw.choice(choice) for choice in tables]
    return tuple(
        Cell(number, table.topic, draw.choice(table.items), draw.choice(table.periods[-8:]))
        for number, table in zip(group, chosen, strict=True)
    )


def _cells(
    plans: Plans, group: tuple[int, ...], topic: Topic, item: int, kind: Kind, draw: random.Random
) -> tuple[Cell, ...]:
    """Figures of one item: a period of each document, or several periods of the only one."""
    shown = [_periods(plans.of(number), topic, item) for number in group]
    wanted = draw.choice(topic.kinds)
    choices = [[p for p in periods if p.kind == wanted] for periods in shown]
    if not all(choices):
        return ()
    if len(group) == 1:
        return tuple(Cell(group[0], topic, item, period) for period in _run(choices[0], kind, draw))
    if kind.revises:
        common = sorted(set.intersection(*map(set, choices)))
        period = draw.choice(common) if common else None
        return tuple(Cell(number, topic, item, period) for number in group) if period else ()
    picked = [draw.choice(choice[-4:]) for choice in choices]
    if len(set(picked)) < len(picked) or picked != sorted(picked):
        return ()
    return tuple(Cell(number, topic, item, period) for number, period in zip(group, picked, strict=True))


def _run(choice: Sequence[Period], kind: Kind, draw: random.Random) -> Sequence[Period]:
    """As many neighbouring periods as the kind takes, or any two."""
    count = draw.randint(kind.least, max(kind.least, min(kind.most, 6)))
    if count > len(choice):
        return ()
    start = draw.randrange(len(choice) - count + 1)
    return sorted(draw.sample(choice, 2)) if count == 2 else choice[start : start + count]


def _periods(tables: Sequence[TablePlan], topic: Topic, item: int) -> list[Period]:
    return sorted({p for table in tables if table.topic == topic and item in table.items for p in table.periods})


def _phrased(
    plans: Plans, kind: Kind, cells: tuple[Cell, ...], scaled: bool, draw: random.Random
) -> tuple[str, str] | None:
    """The question's text and its answer; None where the answer would be a tie, or too small or large."""
    value = kind.compute(_amounts(plans, cells))
    unit, divisor = _requested(cells[0].topic, kind, value, scaled, draw)
    decimals = draw.choice((0, 1, 2)) if divisor > 1 else 2 if unit == "percent" else 0
    answer = _rounded(value / divisor, decimals)
    if answer is None:
        return None
    documents = sorted({cell.document for cell in cells})
    unnamed = len(documents) == 1 and draw.random() < UNNAMED
    if unnamed:
        unnamed = _same_everywhere(plans, kind, cells, lambda value: _rounded(value / divisor, decimals))
    cited = wordings.listed([plans.shape.all_documents[number].spoken for number in documents])
    core = _core(plans, kind, cells, draw)
    ending = draw.choice(wordings.PERCENT if unit == "percent" else wordings.UNIT)
    ending = ending.format(unit=unit, rounding=wordings.rounding_words(decimals, draw))
    said_already = len(documents) > 1
    text = wordings.sentence(core, None if unnamed or said_already else cited, ending, draw)
    return text, _written(answer, unit, draw)


def _amounts(plans: Plans, cells: Sequence[Cell]) -> list[Decimal]:
    documents = plans.shape.all_documents
    return [plans.world.amount(c.topic, c.item, c.period, documents[c.document].edition) for c in cells]


def _requested(topic: Topic, kind: Kind, value: Decimal, scaled: bool, draw: random.Random) -> tuple[str, int]:
    """The unit that the answer is wanted in, and what one of it is."""
    if kind.percent or topic.family == "percent":
        return "percent", 1
    if not scaled:
        return "fine troy ounces" if topic.family == "ounces" else "dollars", 1
    fitting = [name for name, scale in SCALES.items() if abs(value) >= scale]
    name = draw.choice(fitting or ["thousands"])
    return f"{name} of dollars", SCALES[name]


def _rounded(value: Decimal, decimals: int) -> Decimal | None:
    step = Decimal(1).scaleb(-decimals)
    answer = value.quantize(step, ROUND_HALF_UP)
    tie = abs(answer - value) * 2 == step
    return None if tie or not 10 <= abs(answer) / step <= 10**15 else answer


def _same_everywhere(
    plans: Plans, kind: Kind, cells: Sequence[Cell], rounded: Callable[[Decimal], Decimal | None]
) -> bool:
    """Whether all documents that print the figures of one of them give the same answer."""
    wanted = {cell.period for cell in cells}
    answers = set()
    for number in range(plans.shape.documents):
        if wanted <= set(_periods(plans.of(number), cells[0].topic, cells[0].item)):
            there = [cell._replace(document=number) for cell in cells]
            answers.add(rounded(kind.compute(_amounts(plans, there))))
    return len(answers) == 1


def _core(plans: Plans, kind: Kind, cells: Sequence[Cell], draw: random.Random) -> str:
    """What is asked for, without its unit. Where figures are of several documents it says which is of which."""
    documents = [plans.shape.all_documents[cell.document].spoken for cell in cells]
    periods = [cell.period.spoken for cell in cells]
    if len(set(documents)) > 1 and not kind.revises:
        periods = [f"{period} ({document})" for period, document in zip(periods, documents, strict=True)]
    items = [wordings.item_words(cell.topic.items[cell.item], draw) for cell in cells]
    titles = [wordings.topic_words(cell.topic.title, draw) for cell in cells]
    each = [f"{item} {title} for {period}" for item, title, period in zip(items, titles, periods, strict=True)]
    return draw.choice(kind.words).format(
        item=items[0],
        topic=titles[0],
        period=periods[0],
        first=periods[0],
        last=periods[-1],
        periods=wordings.listed(periods),
        figures=wordings.listed(each, ", and "),
        last_figure=each[-1],
        earlier=documents[0],
        later=documents[-1],
    )


def _written(answer: Decimal, unit: str, draw: random.Random) -> str:
    text = f"{answer:,}" if draw.random() < 0.5 else f"{answer:f}"
    return f"{text}%" if unit == "percent" and draw.random() < 0.5 else text
