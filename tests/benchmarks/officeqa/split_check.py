"""The paper's constraints on the splits, checked without the code that makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from chase.benchmarks.officeqa.records import Question

Make = tuple[int, int, int]
"""Of each confirmation set: questions, linked to disc, easy."""
PAPER_SIZES = {"evo": 49, "disc": 49, "conf1": 24, "conf2": 24, "conf3": 24, "cert": 76}
PAPER_CONF: Make = (24, 11, 11)


def joined(questions: Sequence[Question]) -> dict[str, int]:
    """uid → a number of its source component, by spreading the least number until nothing changes."""
    number = {question.uid: place for place, question in enumerate(questions)}
    while True:
        least: dict[str, int] = {}
        for question in questions:
            for source in question.sources:
                least[source] = min(least.get(source, len(number)), number[question.uid])
        spread = {question.uid: min(least[source] for source in question.sources) for question in questions}
        if spread == number:
            return number
        number = spread


def violations(
    questions: Sequence[Question], roles: Mapping[str, str], sizes: Mapping[str, int], conf: Make, labels: bool = True
) -> list[str]:
    """What is wrong with an allocation."""
    found = [] if set(roles) == {question.uid for question in questions} else ["not every question has one role"]
    if Counter(roles.values()) != Counter(sizes):
        found.append(f"sizes {Counter(roles.values())}")
    number = joined(questions)
    held: dict[str, set[int]] = {role: {number[uid] for uid, own in roles.items() if own == role} for role in sizes}
    for sealed in ("evo", "cert"):
        for other in sizes:
            if other != sealed and held[sealed] & held[other]:
                found.append(f"{sealed} shares a component with {other}")
    for role in ("conf1", "conf2", "conf3"):
        members = [question for question in questions if roles[question.uid] == role]
        linked = sum(number[question.uid] in held["disc"] for question in members)
        easy = sum(question.difficulty == "easy" for question in members)
        if (len(members), linked) != conf[:2] or (labels and easy != conf[2]):
            found.append(f"{role}: {len(members)} questions, {linked} linked, {easy} easy")
    return found
