"""Which question serves which role: the paper's "Preprocessing and Task Allocation".

Only identifiers, difficulty labels and source membership are looked at. The same questions get the same roles, in
whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chase.benchmarks.officeqa.components import components
from chase.benchmarks.officeqa.grouping import Group, OutOfSteps, Part, Search, fillings, group_sizes
from chase.benchmarks.officeqa.records import Question
from chase.benchmarks.officeqa.sizes import CONFIRMATIONS, Sizes, sizes_of
from chase.core.errors import UserError
from chase.core.keyed import key_bits

ROLES = ("evo", "disc", "conf1", "conf2", "conf3", "cert")
Component = tuple[Question, ...]


def labelled(questions: Sequence[Question]) -> bool:
    """Whether difficulty is known; where it is not, nothing is asked of it."""
    return all(question.difficulty is not None for question in questions)


def allocate(questions: Sequence[Question]) -> Mapping[str, str]:
    """uid → role. Sizes are the paper's at 246 questions and in its proportions below; what is impossible is refused
    with the constraint that cannot be met.
    """
    sizes = sizes_of(len(questions))
    by_key = {component[0].uid: component for component in components(questions)}
    parts = [_part(component) for component in by_key.values()]
    search = Search(parts, sizes, labelled(questions))
    groups = _found(search)
    grouped: dict[Group, list[Component]] = {group: [] for group in group_sizes(sizes)}
    for part, group in zip(search.parts, groups, strict=True):
        grouped[group].append(by_key[part.key])
    roles = {question.uid: "evo" for question in _flat(grouped["evo"])}
    roles |= {question.uid: "cert" for question in _flat(grouped["cert"])}
    roles |= _around_confirmation(grouped["around"], grouped["apart"], sizes)
    return {question.uid: roles[question.uid] for question in questions}


def _part(component: Component) -> Part:
    return Part(key=component[0].uid, size=len(component), easy=sum(map(_easy, component)))


def _easy(question: Question) -> bool:
    return question.difficulty == "easy"


def _flat(of: Sequence[Component]) -> list[Question]:
    return [question for component in of for question in component]


def _drawn(questions: Sequence[Question], purpose: str) -> list[Question]:
    """The questions in an order that their identifiers decide."""
    return sorted(questions, key=lambda question: key_bits("officeqa-splits", purpose, question.uid))


def _around_confirmation(around: Sequence[Component], apart: Sequence[Component], sizes: Sizes) -> dict[str, str]:
    """The roles of `disc` and of the three confirmation sets."""
    easy = sizes.all_easy - sum(map(_easy, _flat(apart))) if labelled(_flat(around)) else 0
    linked = _linked(around, easy, sizes.all_linked - easy)
    roles = {question.uid: "disc" for question in _flat(around)}
    shares = _shares(easy)
    roles |= _dealt(linked, sizes.linked, shares)
    return roles | _dealt(_flat(apart), sizes.apart, [sizes.easy - share for share in shares])


def _linked(around: Sequence[Component], easy: int, hard: int) -> list[Question]:
    """So many easy and hard questions for the confirmation sets; each component keeps one for `disc`."""
    free = _without_kept(around, easy)
    easies = [question for question in free if _easy(question)]
    hards = [question for question in free if not _easy(question)]
    return easies[:easy] + hards[:hard]


def _without_kept(around: Sequence[Component], easy: int) -> list[Question]:
    """The questions without one of each component, an easy one only where enough easy ones are left."""
    to_spare = sum(map(_easy, _flat(around))) - easy
    to_spare -= sum(all(map(_easy, component)) for component in around)
    kept = set()
    for component in around:
        easies = [question for question in component if _easy(question)]
        mixed = 0 < len(easies) < len(component)
        if mixed and to_spare > 0:
            to_spare -= 1
            kept.add(_drawn(easies, "kept")[0].uid)
        else:
            kept.add(_drawn([question for question in component if not _easy(question)] or easies, "kept")[0].uid)
    return [question for question in _drawn(_flat(around), "linked") if question.uid not in kept]


def _shares(whole: int) -> list[int]:
    """A number in as many nearly equal shares as there are confirmation sets."""
    return [(whole + place) // CONFIRMATIONS for place in range(CONFIRMATIONS)]


def _dealt(questions: Sequence[Question], each: int, easy_of: Sequence[int]) -> dict[str, str]:
    """Roles of the confirmation sets: `each` questions a set, so many easy ones in each where difficulty is known."""
    easies = _drawn([question for question in questions if _easy(question)], "dealt")
    others = _drawn([question for question in questions if not _easy(question)], "dealt")
    roles: dict[str, str] = {}
    for place in range(CONFIRMATIONS):
        easy = easy_of[place] if labelled(questions) else 0
        taken = [easies.pop() for _ in range(easy)] + [others.pop() for _ in range(each - easy)]
        roles |= {question.uid: f"conf{place + 1}" for question in taken}
    return roles


def _found(search: Search) -> list[Group]:
    try:
        groups = search.find()
    except OutOfSteps:
        raise UserError(
            "no split was found: the source components leave so little choice that the search was given up. "
            "Add or take away a few questions."
        ) from None
    if groups is None:
        raise UserError(
            f"the questions cannot be split: {_why_not(search)}. Take the released file, or more questions."
        )
    return groups


def _impossible(search: Search) -> bool:
    try:
        return search.find() is None
    except OutOfSteps:
        return False


def _why_not(search: Search) -> str:
    """The first of the paper's constraints that cannot be met, given those before it."""
    return next(_unmet(search))


def _unmet(search: Search) -> Iterator[str]:
    sizes, parts = search.sizes, search.parts
    largest = max(group_sizes(sizes).values())
    if parts[0].size > largest:
        yield (
            f"one source component has {parts[0].size} of the {sum(part.size for part in parts)} questions, and the "
            f"most that can stay together are {largest} (components of evo and cert appear nowhere else)"
        )
    if not fillings(parts, replace(sizes, linked=sizes.conf))[0][sizes.evo, sizes.cert, 0]:
        yield f"no whole source components add up to {sizes.evo} questions for evo and {sizes.cert} for cert"
    if not search.table[0][sizes.evo, sizes.cert, sizes.all_apart]:
        yield (
            f"beside evo ({sizes.evo}) and cert ({sizes.cert}), no whole source components add up to the "
            f"{CONFIRMATIONS} × {sizes.apart} confirmation questions whose components are not in disc"
        )
    if not search.difficulty or _impossible(search.without_difficulty()):
        yield (
            f"components are too small for {sizes.linked} questions in each confirmation set whose components are "
            f"also in disc (each of them needs a question in disc as well)"
        )
    easy = sum(part.easy for part in parts)
    yield (
        f"no division of the source components gives each confirmation set {sizes.easy} easy and "
        f"{sizes.conf - sizes.easy} hard questions (there are {easy} easy and "
        f"{sum(part.size for part in parts) - easy} hard ones)"
    )
