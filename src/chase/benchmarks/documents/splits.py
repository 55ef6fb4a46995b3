"""Which question serves which role: groups of questions are dealt whole, by a hash of their ids.

Nothing but identifiers, groups and evidence is looked at. The same questions get the same roles, in whatever order they
come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from chase.benchmarks.corpus.components import components
from chase.benchmarks.documents.description import Grouping, Splits
from chase.benchmarks.documents.questions import Question
from chase.core.errors import UserError
from chase.core.keyed import digest, key_bits

ROLES = ("evo", "disc", "conf1", "conf2", "conf3", "cert")
SHARES: Mapping[str, int] = {"evo": 49, "disc": 49, "conf1": 24, "conf2": 24, "conf3": 24, "cert": 76}
"""The paper's, of 246 questions."""
DRAWS = 40
Group = tuple[str, ...]


def allocate(questions: Sequence[Question], wanted: Splits) -> Mapping[str, str]:
    """A question's id → its role. Where sizes are given they are met exactly, or it is said why they cannot be."""
    groups = groups_of(questions, wanted.grouping)
    if len(groups) < len(ROLES):
        raise UserError(
            f"{len(questions)} questions are {len(groups)} groups, and the six task sets need one each. "
            'Add questions, or write grouping = "none" under [splits].'
        )
    sizes = _sizes(len(questions), wanted)
    exact = wanted.evo is not None
    dealt = _dealt_exactly(groups, sizes) if exact else _dealt_nearly(groups, sizes)
    return {id_: role for role, held in dealt.items() for group in held for id_ in group}


def groups_of(questions: Sequence[Question], grouping: Grouping) -> list[Group]:
    """What stays together, in an order that a hash decides. The same question asked twice always does."""
    labels = {q.id: [f"question {q.question}", *_labels(q, grouping)] for q in questions}
    return sorted(components(labels), key=lambda group: key_bits("documents-splits", *group))


class Asked(Protocol):
    """A question, as it was read or as a task."""

    @property
    def question(self) -> str: ...
    @property
    def evidence(self) -> tuple[str, ...]: ...
    @property
    def group(self) -> str | None: ...


def in_common(asked: Asked) -> list[str]:
    """Everything that a question may share with others."""
    group = [] if asked.group is None else [f"group {asked.group}"]
    return [f"question {asked.question}", *group, *(f"document {each}" for each in asked.evidence)]


def roomier(questions: Sequence[Question], grouping: Grouping) -> Splits | None:
    """Sizes that leave more questions for confirmation than the paper's proportions; None for a handful."""
    largest = max(map(len, groups_of(questions, grouping)))
    few, conf = (len(questions) * percent // 100 // largest * largest for percent in (10, 18))
    few = max(few, largest)
    return Splits(evo=few, disc=few, conf=conf, grouping=grouping) if conf else None


def _labels(question: Question, grouping: Grouping) -> list[str]:
    if grouping == "evidence":
        return [f"evidence {path}" for path in question.evidence]
    return [f"group {question.group}"] if grouping == "group" and question.group is not None else []


def _sizes(questions: int, wanted: Splits) -> dict[str, int]:
    """How many questions each role is to have; those of `cert` last."""
    if wanted.evo is None or wanted.disc is None or wanted.conf is None:
        whole = sum(SHARES.values())
        sizes = {role: max(1, questions * share // whole) for role, share in SHARES.items()}
        sizes["cert"] = questions - sum(size for role, size in sizes.items() if role != "cert")
        return sizes
    sizes = {"evo": wanted.evo, "disc": wanted.disc, **{f"conf{n}": wanted.conf for n in (1, 2, 3)}}
    left = questions - sum(sizes.values())
    needed = wanted.cert or 1
    if left < needed:
        told = f"evo {wanted.evo}, disc {wanted.disc}, conf 3 × {wanted.conf} and cert {needed}"
        raise UserError(
            f"{told} are {sum(sizes.values()) + needed} questions, and there are {questions}. Ask for fewer."
        )
    return {**sizes, "cert": wanted.cert or left}


def _dealt_nearly(groups: Sequence[Group], sizes: Mapping[str, int]) -> dict[str, list[Group]]:
    """Each group, the largest first, to the role that lacks most of its share: first to one that has none."""
    dealt: dict[str, list[Group]] = {role: [] for role in ROLES}
    lacking = dict(sizes)
    for group in sorted(groups, key=len, reverse=True):
        role = max(ROLES, key=lambda role: (lacking[role] / sizes[role], -ROLES.index(role)))
        dealt[role].append(group)
        lacking[role] -= len(group)
    return dealt


def _dealt_exactly(groups: Sequence[Group], sizes: Mapping[str, int]) -> dict[str, list[Group]]:
    """Role after role, from groups in a drawn order; another order where one leads nowhere."""
    _refuse_unreachable(groups, sizes)
    for draw in range(DRAWS):
        left = sorted(groups, key=lambda group: key_bits("documents-deal", draw, digest(group)))
        dealt: dict[str, list[Group]] = {}
        for role in sorted(ROLES, key=lambda role: (role == "cert", -sizes[role])):
            taken = _subset(left, sizes[role])
            if taken is None:
                break
            dealt[role] = taken
            left = [group for group in left if group not in set(taken)]
        else:
            return dealt
    sized = ", ".join(f"{role} {size}" for role, size in sizes.items())
    raise UserError(
        f"no division of the {len(groups)} groups into {sized} was found in {DRAWS} tries: a group never straddles two "
        'sets. Ask for sizes that leave more choice, leave cert out, or write grouping = "none".'
    )


def _refuse_unreachable(groups: Sequence[Group], sizes: Mapping[str, int]) -> None:
    """Say which size no whole groups add up to, and the nearest that they do."""
    reachable = 1
    for group in groups:
        reachable |= reachable << len(group)
    for role, size in sizes.items():
        if not reachable >> size & 1:
            near = [n for n in range(1, reachable.bit_length()) if reachable >> n & 1]
            nearest = sorted(sorted(near, key=lambda n: (abs(n - size), n))[:2])
            raise UserError(
                f"no whole groups add up to the {size} questions of {role}: a group never straddles two sets. "
                f"Sizes that can be met are {' and '.join(map(str, nearest))}."
            )


def _subset(groups: Sequence[Group], size: int) -> list[Group] | None:
    """The first groups in their order that add up to a size exactly."""
    reachable = [1]
    for group in reversed(groups):
        reachable.append(reachable[-1] | reachable[-1] << len(group))
    if not reachable[-1] >> size & 1:
        return None
    taken, left = [], size
    for place, group in enumerate(groups):
        rest = reachable[len(groups) - place - 1]
        if left >= len(group) and rest >> (left - len(group)) & 1:
            taken.append(group)
            left -= len(group)
    return taken
