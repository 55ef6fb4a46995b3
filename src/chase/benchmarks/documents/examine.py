"""A folder with a benchmark in it, examined: what it holds, and everything that is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath

from chase.benchmarks.corpus.components import named_components
from chase.benchmarks.corpus.index import words
from chase.benchmarks.documents.conversion import CONVERTERS, Unreadable, to_text
from chase.benchmarks.documents.description import FILE, Description, JudgeScorer
from chase.benchmarks.documents.problems import Problem, by_place, errors_of
from chase.benchmarks.documents.questions import Question, read_questions
from chase.benchmarks.documents.reading import decode, key_lines, read_description
from chase.benchmarks.documents.scorers import open_scorer
from chase.benchmarks.documents.splits import allocate, in_common
from chase.core.errors import ChaseError, SetupError, UserError
from chase.core.interfaces import Progress

MOST_NAMED = 5
"""Problems that a refusal names; `chase bench check` names all."""
LARGEST_BYTES = 50_000_000
"""Of a document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A file of the folder of documents, as text."""

    path: str
    """In the folder, with forward slashes."""
    sha256: str
    """Of the file's bytes."""
    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What a folder holds. Where there are errors, some of it is missing."""

    folder: Path
    description: Description | None
    questions: Sequence[Question]
    documents: Sequence[Document]
    roles: Mapping[str, str]
    """A question's id → its task set; a question that is in none is left out."""
    problems: Sequence[Problem]

    @property
    def errors(self) -> list[Problem]:
        return errors_of(self.problems)

    @property
    def clusters(self) -> dict[str, str]:
        """A question's id → its cluster: a group, shared evidence or the same question, directly or through others."""
        return named_components({question.id: in_common(question) for question in self.questions})


def examine(folder: Path, tell: Progress = lambda _: None) -> Examined:
    """Everything that the folder holds, and everything that is wrong with it."""
    if not folder.is_dir():
        raise SetupError(
            f"{folder} is no folder. Name the one that holds {FILE}; `chase bench init` writes an example."
        )
    description, problems = read_description(folder)
    if description is None:
        return Examined(folder=folder, description=None, questions=(), documents=(), roles={}, problems=tuple(problems))
    tell("reading questions")
    questions, wrong = read_questions(folder / description.questions, description.questions)
    problems += wrong
    documents, wrong = read_documents(folder, description.documents, tell)
    problems += wrong
    problems += _evidence(description, questions, documents, {problem.file for problem in errors_of(wrong)})
    problems += _judged(folder, description)
    problems += _scored(folder, description, questions)
    roles: Mapping[str, str] = {}
    if not errors_of(problems):
        roles, wrong = _roles(description, questions)
        problems += [*wrong, *_advice(description, questions, documents)]
    return Examined(
        folder=folder,
        description=description,
        questions=tuple(questions),
        documents=tuple(documents),
        roles=roles,
        problems=tuple(by_place(problems)),
    )


def refuse_errors(examined: Examined) -> None:
    """Raise where anything keeps the benchmark from being used."""
    errors = examined.errors
    if errors:
        more = len(errors) - MOST_NAMED
        told = "; ".join(str(problem).rstrip(".") for problem in errors[:MOST_NAMED])
        rest = f"; and {more} more" if more > 0 else ""
        raise UserError(f"{examined.folder}: {told}{rest}. `chase bench check {examined.folder}` lists everything.")


def read_documents(folder: Path, name: str, tell: Progress) -> tuple[list[Document], list[Problem]]:
    """The documents in a folder and its subfolders. Hidden files, links and what is no document are passed over."""
    place = folder / name
    if not place.is_dir():
        return [], [Problem(file=name, what="there is no such folder. Put the documents into it.")]
    found: list[Document] = []
    problems: list[Problem] = []
    paths = sorted(path for path in place.rglob("*") if not _hidden(path.relative_to(place)))
    for count, path in enumerate(paths, 1):
        shown = f"{name}/{path.relative_to(place).as_posix()}"
        if path.is_dir() and not path.is_symlink():
            continue
        tell(f"reading documents {count}/{len(paths)}")
        document, wrong = _document(path, path.relative_to(place).as_posix(), shown)
        problems += wrong
        if document is not None:
            found.append(document)
    if not found and not problems:
        kinds = ", ".join(CONVERTERS)
        problems.append(Problem(file=name, what=f"it holds no documents. Put files into it: {kinds}."))
    return found, problems


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _document(path: Path, inside: str, shown: str) -> tuple[Document | None, list[Problem]]:
    def wrong(what: str, line: int | None = None, *, warning: bool = False) -> tuple[None, list[Problem]]:
        return None, [Problem(file=shown, line=line, what=what, severity="warning" if warning else "error")]

    if path.is_symlink() or not path.is_file():
        return wrong("it is a link or no plain file. Put the file itself there.")
    if path.suffix.lower() not in CONVERTERS:
        return wrong(f"it is passed over: documents are {', '.join(CONVERTERS)}.", warning=True)
    if not inside.isprintable() or any(c in inside for c in '\\:"<>|'):
        return wrong("its path holds characters that a listing cannot show. Rename it.")
    if path.stat().st_size > LARGEST_BYTES:
        return wrong(f"it is larger than {LARGEST_BYTES // 10**6} MB. Divide it.")
    try:
        content = path.read_bytes()
    except OSError as error:
        return wrong(f"it cannot be read ({error.strerror}). Make it readable.")
    text, problems = decode(content, shown)
    if text is None:
        return None, problems
    try:
        converted = to_text(path.suffix, text)
    except Unreadable as error:
        return wrong(str(error), error.line)
    if not converted.strip():
        return wrong("it is empty: it has no text. Take it away, or fill it.")
    return Document(path=inside, sha256=sha256(content).hexdigest(), text=converted), []


def _evidence(
    description: Description, questions: Sequence[Question], documents: Sequence[Document], told: Collection[str]
) -> Iterator[Problem]:
    """Evidence that is no document. Of files that are `told` to be wrong, and where there are none, enough is said."""
    known = {document.path for document in documents}
    for question in questions if known else ():
        for path in question.evidence:
            if path not in known and f"{description.documents}/{path}" not in told:
                near = difflib.get_close_matches(path, known, n=1, cutoff=0.6)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                what = f"question '{question.id[:60]}': its evidence '{path[:120]}' is no document.{hint}"
                yield Problem(file=description.questions, line=question.line, what=what)


def _judged(folder: Path, description: Description) -> Iterator[Problem]:
    """Whether a judge can be asked, as far as that is seen without asking it."""
    if not isinstance(description.scorer, JudgeScorer):
        return
    from chase.benchmarks.documents import judging  # models take a second to import

    lines = key_lines((folder / FILE).read_text(encoding="utf-8-sig"))
    if wrong := judging.wrong_with_model(description.scorer):
        yield Problem(file=FILE, line=lines.get("scorer.model", lines.get("scorer")), what=f"scorer.model: {wrong}")
    _, problems = judging.read_prompt(folder, description.scorer)
    yield from problems


def _scored(folder: Path, description: Description, questions: Sequence[Question]) -> Iterator[Problem]:
    """Whether the scorer can be made, and takes each question's own answer for right."""
    try:
        scorer = open_scorer(description.scorer, folder)
    except ChaseError as error:
        yield Problem(file=FILE, what=f"scorer: {error}")
        return
    for question in questions:
        wrong = scorer.wrong_with(question.answer)
        if wrong is not None:
            what = f"question '{question.id[:60]}': its answer {wrong}"
            yield Problem(file=description.questions, line=question.line, what=what)
        elif len(question.answer) > description.answer.longest or "\n" in question.answer:
            what = (
                f"question '{question.id[:60]}': its answer is no line of at most {description.answer.longest} "
                f"characters. Shorten it, or raise answer.longest in {FILE}."
            )
            yield Problem(file=description.questions, line=question.line, what=what)


def _roles(description: Description, questions: Sequence[Question]) -> tuple[Mapping[str, str], list[Problem]]:
    try:
        return allocate(questions, description.splits), []
    except UserError as error:
        return {}, [Problem(file=FILE, what=f"splits: {error}")]


def _advice(
    description: Description, questions: Sequence[Question], documents: Sequence[Document]
) -> Iterator[Problem]:
    """What does not keep a benchmark from running and yet makes its figures say less."""
    name = description.questions
    named = {" ".join(words(PurePosixPath(document.path).stem)) for document in documents}
    named = {stem for stem in named if len(stem) > 3}
    asked = [q for q in questions if "names" in description.protocol.transform and _mentions(q.question, named)]
    if asked:
        what = (
            f"{len(asked)} questions seem to name a document's file (the first: '{asked[0].id[:60]}'): under a rename "
            f"they could not be answered. Reword them, or take 'names' out of protocol.transform in {FILE}."
        )
        yield Problem(file=name, line=asked[0].line, what=what, severity="warning")
    bare = [question for question in questions if not question.evidence]
    if bare:
        what = f"{len(bare)} of {len(questions)} questions name no evidence: `chase scan` needs it."
        yield Problem(file=name, line=bare[0].line, what=what, severity="warning")


def _mentions(question: str, stems: set[str]) -> bool:
    """Whether a question holds all words of a file's name in a row, where that has a figure or several words."""
    asked = f" {' '.join(words(question))} "
    return any(f" {stem} " in asked for stem in stems if " " in stem or any(c.isdigit() for c in stem))
