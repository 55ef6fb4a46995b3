"""Running text, notes and footnotes of a document. None of its lines reads as a unit statement."""

from __future__ import annotations

import random
from collections.abc import Iterator

from chase.benchmarks.officeqa.sample.periods import Period
from chase.benchmarks.officeqa.sample.series import Topic, World

NOTES = (
    "Note: Details may not add to totals because of rounding.",
    "Note.—Figures for the latest period are preliminary and are revised in later issues.",
    "Note: Totals include amounts that are not shown separately.",
    "Notes: Negative amounts are shown with a minus sign. Earlier figures were restated where data became available.",
    "Note: Interfund transactions are excluded when totals are calculated.",
    "Source: Monthly statement of receipts and outlays.",
    "Source: Daily statement of the Treasury and reports of the agencies.",
    "Sources: Bureau of the Fiscal Service; Office of Debt Analysis.",
    "Source.—Reports from Federal Reserve Banks and customs districts.",
)
GAP = "For the periods before those shown, see earlier issues."
FOOTNOTES = "p Preliminary."
_PLAIN = (
    "The tables in this section are compiled from accounts of the Government and from reports of its agencies.",
    "Classifications were changed in some years, and earlier figures were adjusted as far as possible.",
    "Figures in earlier issues may differ from those shown here because of later adjustments.",
    "A description of the accounts and of the basis of reporting was given in an earlier issue.",
    "Amounts for the most recent period are subject to change when final reports are received.",
    "The components are shown before intragovernmental transactions are eliminated.",
    "Seasonal movements should be kept in mind when neighboring months are compared.",
    "The coverage of this table was widened at the beginning of the fiscal year.",
)
_FIGURES = (
    "For {period}, {item} stood at {figure}, compared with {other} for {before}.",
    "{item} amounted to {figure} for {period}; the figure for {before} was {other}.",
    "The figure for {item} moved from {other} ({before}) to {figure} ({period}).",
    "Reports for {period} put {item} at {figure}. The comparable figure for {before} is {other}.",
)


def paragraph(world: World, topic: Topic, periods: tuple[Period, ...], edition: int, draw: random.Random) -> str:
    """A few sentences on a topic, with figures as the edition's table has them."""
    return " ".join(_sentences(world, topic, periods, edition, draw))


def _sentences(
    world: World, topic: Topic, periods: tuple[Period, ...], edition: int, draw: random.Random
) -> Iterator[str]:
    yield f"{topic.title} continued to be affected by changes in activity and in law."
    unit = world.unit(topic, edition)
    pairs = [i for i in range(1, len(periods)) if periods[i].kind == periods[i - 1].kind]
    for _ in range(draw.randint(4, 14)):
        place, item = draw.choice(pairs), draw.randrange(len(topic.items))
        other, figure = (row[item] for row in world.printed(topic, periods[place - 1 : place + 1], edition))
        yield draw.choice(_FIGURES).format(
            period=periods[place].spoken,
            before=periods[place - 1].spoken,
            item=topic.items[item].replace(" > ", ", "),
            figure=unit.phrase(figure),
            other=unit.phrase(other),
        )
        yield draw.choice(_PLAIN)
