"""Checks on what a harness gives away: task data, labels, hidden names. HarnessEvolve's quality gate has some of them
too (`TASK_LEAKS`).
"""

from __future__ import annotations

import ast
import re

from chase.methods.gate.finding import ContentCheck, Finding, Found, Spot, examine
from chase.methods.gate.known import SPAN, Known, is_number, written_path
from chase.methods.gate.scan import CONTROL, Scan
from chase.methods.gate.words import Phrases, numbers, one_form, spans, words, years


def leaks(scan: Scan, known: Known) -> list[Finding]:
    """What of a benchmark's tasks and of the host stands in a harness."""
    return examine(scan, known, LEAKS)


def _phrases(scan: Scan, phrases: Phrases, *, show: bool = False) -> Found:
    for passage in scan.passages:
        for found in phrases.among(passage.words):
            yield Spot(passage.place, found, found if show else "")


def identifiers(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.identifiers)


def labels(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.labels, show=True)


def identities(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.identities)


def questions(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.questions)


def withheld_strings(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.withheld_strings)


def eight_token_spans(scan: Scan, known: Known) -> Found:
    for place, text in scan.by_place.items():
        yield from (Spot(place, " ".join(span)) for span in spans(words(text), SPAN) if span in known.spans)


_WRITTEN_PATH = re.compile(r"[\w.-]+(?:[/\\][\w.-]+)+")


def gold_sources(scan: Scan, known: Known) -> Found:
    """By name, and by path with or without an extension."""
    yield from _phrases(scan, known.sources)
    for passage in scan.passages:
        paths = (written_path(found.rstrip(".")) for found in _WRITTEN_PATH.findall(passage.text))
        yield from (Spot(passage.place, path) for path in paths if path in known.paths)


def year_number_pairs(scan: Scan, known: Known) -> Found:
    """Anywhere in the same file or field: a pair need not stand in one sentence."""
    for place, text in scan.by_place.items():
        there, said = numbers(text), years(text)
        pairs = [(year, number) for year, number in known.pairs if year in said and number in there]
        yield from (Spot(place, f"{year} {number}") for year, number in sorted(pairs))


_PATH = re.compile(r"(?:(?<![\w.{}/<])/(?:[\w.-]+/)+[\w.-]*|~/[\w./-]+|\b[A-Za-z]:\\[\w\\.-]+|\bfile://\S+)")
"""An absolute path, one in somebody's home, or a file's address."""
_OWN = __name__.partition(".")[0]
"""The host's own package."""
_DUNDER = re.compile(r"__[A-Za-z]\w*__")


def private_names(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.private, show=True)
    for passage in scan.passages:
        yield from (Spot(passage.place, found) for found in _PATH.findall(passage.text))
    if scan.code is not None:
        spelled = {*scan.code.names, *(found for text in scan.code.strings for found in _DUNDER.findall(text))}
        yield from (Spot(CONTROL, name, name) for name in sorted(spelled) if _DUNDER.fullmatch(name))
        yield from (Spot(CONTROL, name, name) for node in scan.code.nodes if (name := _imported(node)) == _OWN)


def _imported(node: ast.AST) -> str:
    """The package that a statement imports; nothing where it imports none."""
    match node:
        case ast.ImportFrom(module=str(module)) | ast.Import(names=[ast.alias(name=module), *_]):
            return module.partition(".")[0]
    return ""


def generator_terms(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.generator_terms)


def favorable_levels(scan: Scan, known: Known) -> Found:
    yield from _phrases(scan, known.favorable, show=True)


_IS = (
    "(?:is|was|are|be|been|s|equals?|as|with|of|to|the|a|an|it|that|this|always|usually|often|likely|probably|will|"
    "would|should|must|shall|can|could|may|might|exactly|precisely|simply|just|only|plain|namely|here|then|there|"
    "correct|right|true|final|integer|number|value|figure|amount|result|answer|has|have)"
)
_SAID_ANSWER = re.compile(
    rf"\b(?:answers?|reply|replies|respond|results?)(?: {_IS})* \d+\b"
    r"(?! (?:digits?|words?|characters?|letters?|decimals?|decimal|places?|lines?|sentences?|numbers?|integers?)\b)"
    r"|\b\d+ (?:is|was) the answer\b"
)
"""Up to a number; not how long an answer is."""


def answers(scan: Scan, known: Known) -> Found:
    """Long answers wherever they stand; any number that is said to be the answer; in code also short ones that are a
    text of their own.
    """
    yield from _long_answers(scan, known)
    for passage in scan.passages:
        yield from (Spot(passage.place, found[0]) for found in _SAID_ANSWER.finditer(" ".join(passage.words)))
    if scan.code is not None:
        texts = (text for text in scan.code.strings if is_number(text))
        yield from (Spot(CONTROL, text) for text in texts if one_form(text) in known.answer_numbers)


def answers_of_tasks(scan: Scan, known: Known) -> Found:
    """Long answers wherever they stand; short ones in one file or field with what tells their task apart."""
    yield from _long_answers(scan, known)
    for place, text in scan.by_place.items():
        yield from (Spot(place, task) for task in known.beside_its_task(text))


def _long_answers(scan: Scan, known: Known) -> Found:
    for passage in scan.passages:
        yield from (Spot(passage.place, number) for number in sorted(numbers(passage.text) & known.long_numbers))
        yield from (Spot(passage.place, name) for name in known.long_names.among(passage.words))


_GENERAL = "Write how to recognise what is looked for from what a task shows, so that the rule holds in unseen tasks."
_STRINGS, _ONE = "task-strings", "has a string that names an experiment or one task"
"""The same words for observed and withheld tasks."""
LEAKS: tuple[ContentCheck, ...] = (
    ContentCheck(name="identifiers", find=identifiers, means="names a task by its id", mend=_GENERAL),
    ContentCheck(
        name="labels",
        find=labels,
        means="names a split role, a gold label or a variant",
        mend="No task shows its role, its gold sources or its variant: leave the label out.",
    ),
    ContentCheck(name="identities", find=identities, means=_ONE, mend=_GENERAL, told_as=_STRINGS),
    ContentCheck(name="observed-questions", find=questions, means=_ONE, mend=_GENERAL, told_as=_STRINGS),
    ContentCheck(
        name="withheld-strings",
        find=withheld_strings,
        means=_ONE,
        mend=_GENERAL,
        told_as=_STRINGS,
        only="withheld-strings",
    ),
    ContentCheck(
        name="eight-token-spans",
        find=eight_token_spans,
        means=f"shares {SPAN} words in a row with an observed question",
        mend="Say it in words of your own, for every question of the kind.",
        only="eight-token-spans",
    ),
    ContentCheck(
        name="gold-sources",
        find=gold_sources,
        means="names a document",
        mend="Documents of an unseen task have other names: say what to look for in a document, not which one.",
    ),
    ContentCheck(
        name="year-number-pairs",
        find=year_number_pairs,
        means="has the year of an observed question and a number of its answer",
        mend=_GENERAL,
        only="year-number-pairs",
    ),
    ContentCheck(
        name="private-names",
        find=private_names,
        means="names a private symbol or path",
        mend="Use what the hooks are given and the tools show, and nothing else.",
    ),
    ContentCheck(
        name="generator-terms",
        find=generator_terms,
        means="has a term that no task shows",
        mend="Use the words of the questions, the documents and the tools.",
        only="generator-terms",
    ),
    ContentCheck(
        name="favorable-levels",
        find=favorable_levels,
        means="says which level of an observable feature is favorable",
        mend="Base the rule on what the question asks and what the documents say.",
        only="favorable-levels",
    ),
    ContentCheck(name="answers", find=answers, means="has an answer in it", mend=_GENERAL),
)
TASK_LEAKS: tuple[ContentCheck, ...] = tuple(
    ContentCheck(name=name, find=find, means=f"holds {means}", mend=_GENERAL)
    for name, find, means in (
        ("identifiers", identifiers, "a task's id"),
        ("eight-token-spans", eight_token_spans, f"{SPAN} words in a row of a task's question"),
        ("gold-sources", gold_sources, "the name of a document that holds an answer"),
        ("answers", answers_of_tasks, "a task's answer"),
    )
)
"""What HarnessEvolve's quality gate looks for, of the tasks in its batches."""
