"""What the gate looks for, made from a benchmark's facts once a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from chase.core.gate_facts import GateFacts, TaskFacts
from chase.methods.gate.words import Phrases, Words, numbers, one_form, plain, spans, words, years

SPAN = 8
"""Words in a row that a harness may not share with an observed question (the paper's eight-token span)."""
LONG_NUMBER = 3
"""Digits from which on a number of an answer is long enough to make a pair with a year of its question. The paper says
'sufficiently long'."""
LONG_ANSWER = 4
"""Letters and digits from which on an answer is recognised wherever it stands. A shorter one is an ordinary number or
word: it counts where it is said to be an answer, or is a constant of its own in code."""
LONG_NAME = 3
"""Words from which on a document's name is recognised without its extension. A shorter one is ordinary words, unless it
is written as a path."""
_EXTENSION = re.compile(r"\.[^\W_]{1,5}$")
LABELS = (
    "split role", "task role", "data split", "evolution set", "evolution split", "evolution task", "evolution tasks",
    "discovery set", "discovery split", "confirmation set", "confirmation split", "certification set",
    "certification split", "certification task", "certification tasks", "held out set", "held out tasks", "holdout",
    "test set", "train set", "training set", "validation set", "dev set", "released benchmark", "released variant",
    "counterfactual", "counterfactual benchmark", "neutral variant", "neutral benchmark", "b rel", "ground truth",
    "gold answer", "gold answers", "gold source", "gold sources", "gold document", "gold documents", "gold file",
    "gold files", "gold evidence", "gold label", "gold labels", "gold standard", "answer key", "d evo", "d disc",
    "d conf", "d cert",
)  # fmt: skip
"""Labels of split roles, of gold and of variants that no benchmark shows an agent."""
HOST = (
    "private_paths", "role_of", "is_favorable", "neutral_changes", "evidence_ids", "canonical_id", "gatefacts",
    "taskfacts", "run_seed", "content_hash", "scores.jsonl", "index.jsonl", "tasks.jsonl", "rounds.jsonl",
    "candidate.json", "result.json", "archive.json", ".chase",
)  # fmt: skip
"""Symbols and files of the host and of the history that no task shows."""


@dataclass(frozen=True)
class Known:
    """A benchmark's facts, ready to be looked for. `observed` are the roles whose tasks the Proposer may read."""

    facts: GateFacts
    observed: frozenset[str]

    @classmethod
    def of(cls, facts: GateFacts, observed: Collection[str]) -> Known:
        return cls(facts, frozenset(observed))

    @property
    def seen(self) -> list[TaskFacts]:
        return [task for task in self.facts.tasks if task.role in self.observed]

    @property
    def withheld(self) -> list[TaskFacts]:
        return [task for task in self.facts.tasks if task.role not in self.observed]

    @cached_property
    def identifiers(self) -> Phrases:
        return Phrases(task.id for task in self.facts.tasks)

    @cached_property
    def labels(self) -> Phrases:
        return Phrases([*LABELS, *self.facts.labels])

    @cached_property
    def identities(self) -> Phrases:
        """The benchmark's names, and what tells observed tasks apart."""
        return Phrases([*self.facts.identities, *(name for task in self.seen for name in task.identity)])

    @cached_property
    def questions(self) -> Phrases:
        """Observed questions, whole, with or without what follows their first sentence."""
        return Phrases(text for task in self.seen for text in _whole(task.question))

    @cached_property
    def withheld_strings(self) -> Phrases:
        """Questions of tasks that the Proposer does not see, and what tells them apart."""
        hidden = self.withheld
        return Phrases(text for task in hidden for text in (*_whole(task.question), *task.identity))

    @cached_property
    def spans(self) -> frozenset[Words]:
        """Every eight words in a row of an observed question."""
        return frozenset(span for task in self.seen for span in spans(words(task.question), SPAN))

    @cached_property
    def _documents(self) -> frozenset[str]:
        """Names of documents. Whether one is gold is not told apart: a refusal would say so."""
        return frozenset([*self.facts.documents, *(name for task in self.facts.tasks for name in task.sources)])

    @cached_property
    def sources(self) -> Phrases:
        """Names of documents, long ones without their extension too."""
        bare = (_EXTENSION.sub("", name) for name in self._documents)
        return Phrases([*self._documents, *(name for name in bare if len(words(name)) >= LONG_NAME)])

    @cached_property
    def paths(self) -> frozenset[str]:
        """Paths of documents as `written_path` gives them."""
        return frozenset(written_path(name) for name in self._documents if "/" in name)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """(year of an observed question, long number of its answer)."""
        return frozenset(
            (year, number)
            for task in self.seen
            for year in years(task.question)
            for number in numbers(task.answer)
            if sum(c.isdigit() for c in number) >= LONG_NUMBER
        )

    @cached_property
    def private(self) -> Phrases:
        return Phrases([*HOST, *self.facts.private])

    @cached_property
    def generator_terms(self) -> Phrases:
        return Phrases(self.facts.generator_terms)

    @cached_property
    def favorable(self) -> Phrases:
        return Phrases(self.facts.favorable)

    @cached_property
    def answers(self) -> frozenset[str]:
        """All answers as they are written; of a list also each of its parts."""
        return frozenset(part.strip() for task in self.facts.tasks for part in (task.answer, *task.answer.split(";")))

    @cached_property
    def answer_numbers(self) -> frozenset[str]:
        """The numbers of answers that are numbers."""
        return frozenset(one_form(answer) for answer in self.answers if is_number(answer))

    @cached_property
    def long_numbers(self) -> frozenset[str]:
        return frozenset(number for number in self.answer_numbers if _size(number) >= LONG_ANSWER)

    @cached_property
    def long_names(self) -> Phrases:
        return Phrases(a for a in self.answers if not is_number(a) and _size(a) >= LONG_ANSWER)

    def beside_its_task(self, text: str) -> Iterator[str]:
        """Ids of the tasks whose answer stands in a text together with what tells the task apart."""
        there, said = numbers(text), words(text)
        for task, told, answer in self._answered:
            if one_form(task.answer) in there if is_number(task.answer) else any(answer.among(said)):
                yield from [task.id] if any(told.among(said)) else []

    @cached_property
    def _answered(self) -> list[tuple[TaskFacts, Phrases, Phrases]]:
        return [(task, Phrases(task.identity), Phrases([task.answer])) for task in self.facts.tasks]

    @cached_property
    def data(self) -> Phrases:
        """Everything of tasks that a look-up table could be made of."""
        return Phrases(self._data())

    def _data(self) -> Iterator[str]:
        for task in self.facts.tasks:
            yield from (task.id, task.question, *task.identity, *task.sources)
        yield from self.facts.documents
        yield from (answer for answer in self.answers if not is_number(answer))


def _whole(question: str) -> tuple[str, ...]:
    first = re.split(r"(?<=\?)\s", question, maxsplit=1)[0]
    return (question, first)


def is_number(text: str) -> bool:
    return re.fullmatch(r"[+\-−]?\s*[$€£]?\d[\d,]*(?:\.\d*)?\s*%?", text.strip()) is not None


def written_path(text: str) -> str:
    """A path in one spelling: without extension, case and kind of slash."""
    return _EXTENSION.sub("", plain(text).casefold().replace("\\", "/"))


def _size(text: str) -> int:
    return sum(c.isalnum() for c in text)
