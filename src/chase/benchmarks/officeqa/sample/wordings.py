"""The words of questions: several ways to say each thing."""

from __future__ import annotations

import random
from collections.abc import Sequence

LOOKUP = (
    "what was the figure for {item} {topic} for {period}",
    "how much is shown for {item} {topic} for {period}",
    "what did {item} come to in {period} {topic}",
    "which figure is reported for {item} in {period} {topic}",
)
DIFFERENCE = (
    "by how much did {item} {topic} differ between {first} and {last} (the later less the earlier figure)",
    "what is the difference between {item} for {last} and for {first} {topic} (the former minus the latter)",
    "what was the change in {item} {topic} from {first} to {last}",
)
PERCENT_CHANGE = (
    "by what percentage did {item} {topic} change from {first} to {last}",
    "what was the percent change in {item} between {first} and {last} {topic}",
    "relative to {first}, how much higher or lower in percent was {item} {topic} for {last}",
)
SUM = (
    "what is the sum of {item} {topic} over {periods}",
    "what do the figures for {item} {topic} for {periods} add up to",
    "what was the combined amount of {item} for {periods} {topic}",
)
AVERAGE = (
    "what is the arithmetic mean of {item} {topic} over {periods}",
    "what was the average of {item} {topic} for {periods}",
    "averaged over {periods}, what was {item} {topic}",
)
HIGHEST = (
    "what was the highest figure for {item} {topic} among {periods}",
    "of {periods}, take the one with the largest {item} {topic}: what was the figure",
    "what is the maximum of {item} {topic} over {periods}",
)
SHARE = (
    "what percentage of the sum of {item} {topic} over {periods} falls on {last}",
    "of the total of {item} for {periods} {topic}, what share in percent belongs to {last}",
)
MIXED_SUM = (
    "what is the sum of {figures}",
    "taking {figures}, what do these amounts come to together",
    "what do {figures} add up to",
)
MIXED_SHARE = (
    "what percentage of the sum of {figures} is {last_figure}",
    "adding up {figures}, what share in percent of the sum is {last_figure}",
)
REVISION = (
    "by how much does the figure for {item} {topic} for {period} in the {later} differ from that in the {earlier} "
    "(the later publication less the earlier one)",
    "how much was {item} {topic} for {period} revised from the {earlier} to the {later} (later minus earlier)",
)
PERCENT_REVISION = (
    "by what percentage was {item} {topic} for {period} revised from the {earlier} to the {later}",
    "relative to the {earlier}, what is the revision in percent of {item} {topic} for {period} in the {later}",
)
TOPIC = ('in the table "{}"', "in the table on {}", "({})", "under {}")
ITEM = ("{leaf} ({group})", "{group}, {leaf}", "{leaf} under {group}", '"{leaf}" within {group}')
UNIT = (
    "Give the answer in {unit}, {rounding}.",
    "Express it in {unit} and give it {rounding}.",
    "Report the value in {unit} ({rounding}).",
    "The answer should be in {unit}, {rounding}.",
)
PERCENT = (
    "Give the answer in percent, {rounding}.",
    "Report a percentage, {rounding}.",
    "Answer as a percent value ({rounding}).",
)
WHOLE = ("rounded to the nearest whole number", "as a whole number", "without decimals, rounded")
DECIMALS = ("rounded to {} decimal places", "to {} decimal places", "rounded, with {} decimals")
NUMBERS = ("no", "one", "two", "three")


def item_words(path: str, draw: random.Random) -> str:
    """A column's name in a sentence."""
    *groups, leaf = path.split(" > ")
    return draw.choice(ITEM).format(leaf=leaf, group=", ".join(groups)) if groups else leaf


def topic_words(title: str, draw: random.Random) -> str:
    return draw.choice(TOPIC).format(title)


def rounding_words(decimals: int, draw: random.Random) -> str:
    if not decimals:
        return draw.choice(WHOLE)
    words = draw.choice(DECIMALS).format(NUMBERS[decimals])
    return words.replace("one decimal places", "one decimal place").replace("one decimals", "one decimal")


def listed(words: Sequence[str], last: str = " and ") -> str:
    """The words as a sentence lists them: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}{last}{words[-1]}"


def sentence(core: str, cited: str | None, ending: str, draw: random.Random) -> str:
    """A whole question; `cited` names the documents whose figures are meant, where it does."""
    if cited is None:
        return f"{_capital(core)}? {ending}"
    ways = (
        f"According to the {cited}, {core}? {ending}",
        f"{_capital(core)}, as reported in the {cited}? {ending}",
        f"Using the figures of the {cited}: {core}? {ending}",
        f"{ending} {_capital(core)}, going by the {cited}?",
    )
    return draw.choice(ways)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
