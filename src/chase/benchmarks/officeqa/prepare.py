"""A user's copy of OfficeQA, checked against what was published and made ready: texts, passages, index.

What is ready is kept in a private folder beside the built benchmarks, never in the user's: texts and indexes by the
hash of what they were made of, so that two copies of the data share them and changed data get others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from chase.benchmarks.corpus.collection import index_key
from chase.benchmarks.corpus.index import PassageIndex, open_index
from chase.benchmarks.corpus.passages import PASSAGE_LINES, Passage, cut
from chase.benchmarks.corpus.texts import SUFFIX, Corpus, document_paths, open_corpus
from chase.benchmarks.corpus.workplace import home, private_folder
from chase.benchmarks.officeqa.components import components
from chase.benchmarks.officeqa.contents import identify
from chase.benchmarks.officeqa.frozen import PARSED, open_converted
from chase.benchmarks.officeqa.records import Question, read_questions
from chase.benchmarks.officeqa.releases import FOLDERS, MANIFEST, RELEASES, Release, ReleaseFacts, facts
from chase.core.errors import IntegrityError, SetupError
from chase.core.interfaces import Progress
from chase.core.keyed import digest
from chase.core.values import Json

SUFFIXES: Mapping[Release, str] = {"full": SUFFIX, "pro-v2": PARSED}
NAMES: Mapping[Release, str] = {"full": "treasury_bulletin_[0-9][0-9][0-9][0-9]_[0-9][0-9]", "pro-v2": "*"}
"""What the names of documents look like, without the suffix."""
SHOWN_NAMES: Mapping[Release, str] = {"full": "treasury_bulletin_YYYY_MM.txt", "pro-v2": "*.json"}
"""The same for people."""
MOST_NAMED = 5
"""Of many files that are missing or too many, these are named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """What a data folder has of a release, seen without reading a document."""

    facts: ReleaseFacts
    """What it must have."""
    questions: tuple[Question, ...]
    documents: tuple[Path, ...]
    differences: tuple[str, ...]
    """What is missing or other than it must be."""

    @property
    def source_files(self) -> int:
        return len({source for question in self.questions for source in question.sources})

    @property
    def components(self) -> int:
        return len(components(self.questions))


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedRelease:
    """A release whose documents and index are ready."""

    examined: Examined
    corpus: Corpus
    indexes: Path
    """The folder of indexes, for `open_index`."""

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.examined.questions

    def index(self, tell: Progress = lambda _: None) -> PassageIndex:
        """The index of the released texts in passages of `PASSAGE_LINES` lines, built where it is not there."""
        key = index_key(self.corpus, layout="released", length=PASSAGE_LINES, shift=0)
        return open_index(key, self._documents, self.indexes, tell, total=len(self.corpus.ids))

    def _documents(self) -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
        for id_ in self.corpus.ids:
            yield id_, self.corpus.lines(id_), cut(self.corpus.line_counts[id_])


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A data folder, ready to use."""

    data: Path
    place: Path
    """The folder where the prepared things are."""
    releases: Mapping[Release, PreparedRelease]
    """Those that the data folder has."""


def prepare(data: Path, *, tell: Progress = lambda _: None, place: Path | None = None) -> Prepared:
    """Check a data folder, convert Pro V2, and build the indexes. What was done before is not done again.

    Data that are not the published ones (or, of a sample, not as its manifest says) are refused with all differences.
    """
    examined = examine(data)
    refuse_differences(data, examined)
    place = private_folder(place or home("officeqa"))
    ready = {}
    for release, found in examined.items():
        say = _labelled(tell, release)
        corpus = corpus_of(data, release, place, say)
        ready[release] = PreparedRelease(examined=found, corpus=corpus, indexes=place / "indexes")
        ready[release].index(say)
    return Prepared(data=data, place=place, releases=ready)


def corpus_of(data: Path, release: Release, place: Path, tell: Progress = lambda _: None) -> Corpus:
    """The documents of a release as text: those of Full as they are, those of Pro V2 converted and kept in `place`."""
    folder = data / FOLDERS[release]
    memory = private_folder(place / "known") / f"{digest([str(folder.resolve()), release])[:40]}.json"
    return (
        open_corpus(folder, memory, identify, tell)
        if release == "full"
        else open_converted(folder, memory, place, tell)
    )


def examine(data: Path) -> Mapping[Release, Examined]:
    """Every release that the folder has. Costs no reading of documents, so a wrong CSV is told at once."""
    if not data.is_dir():
        raise SetupError(f"--data={data} is no folder. Name the folder that holds your copy of OfficeQA.")
    there: list[Release] = [name for name in RELEASES if _has(data, name)]
    if not there:
        raise SetupError(
            f"--data={data} holds neither {' nor '.join(known.csv for known in RELEASES.values())}. Name the folder "
            "that holds your copy of OfficeQA; `chase officeqa sample` makes a synthetic one."
        )
    return {release: _examine(data, release) for release in there}


def refuse_differences(data: Path, examined: Mapping[Release, Examined]) -> None:
    """Raise if anything is not as it must be, with all of it in one sentence."""
    told = [f"{release}: {what}" for release, found in examined.items() for what in found.differences]
    if told:
        raise IntegrityError(
            f"{data} is not as it was released: {'; '.join(told)}. Get what differs again, as it was released."
        )


def describe(data: Path, examined: Mapping[Release, Examined], ready: Prepared | None) -> dict[str, Json]:
    """What `chase officeqa prepare --json` says, without the schema's name."""
    releases: list[Json] = []
    for release, found in examined.items():
        about: dict[str, Json] = {
            "release": release,
            "questions": len(found.questions),
            "documents": len(found.documents),
            "source_files": found.source_files,
            "components": found.components,
            "differences": list(found.differences),
        }
        if ready is not None:
            corpus, index = ready.releases[release].corpus, ready.releases[release].index()
            lines = sum(corpus.line_counts.values())
            about |= {"content_hash": corpus.content_hash, "lines": lines, "passages": len(index)}
        releases.append(about)
    synthetic = (data / MANIFEST).exists()
    return {"data": str(data), "synthetic": synthetic, "prepared": ready is not None, "releases": releases}


def _has(data: Path, release: Release) -> bool:
    return (data / RELEASES[release].csv).exists() or (data / FOLDERS[release]).exists()


def _examine(data: Path, release: Release) -> Examined:
    expected, folder, suffix = facts(data, release), data / FOLDERS[release], SUFFIXES[release]
    questions = read_questions(data / expected.csv, release)
    documents = tuple(document_paths(folder, suffix))
    seen = Examined(facts=expected, questions=questions, documents=documents, differences=())
    told = [*_counted(seen), *_missing(seen, suffix), *_empty(seen), *_unexpected(folder, release)]
    return Examined(facts=expected, questions=questions, documents=documents, differences=tuple(told))


def _counted(seen: Examined) -> Iterator[str]:
    counts = {
        "questions": (len(seen.questions), seen.facts.questions),
        "documents": (len(seen.documents), seen.facts.documents),
        "source files": (seen.source_files, seen.facts.source_files),
        "source components": (seen.components, seen.facts.components),
    }
    for what, (found, expected) in counts.items():
        if expected is not None and found != expected:
            yield f"{found} {what} instead of {expected}"


def _missing(seen: Examined, suffix: str) -> Iterator[str]:
    """Sources of questions that are no documents."""
    there = {path.stem for path in seen.documents}
    wanted = {source: question.uid for question in reversed(seen.questions) for source in question.sources}
    if missing := sorted(set(wanted) - there):
        first = f"{missing[0]}{suffix} (a source of {wanted[missing[0]]})"
        yield f"{_how_many(missing, 'source')} not among the documents: {_named([first, *missing[1:]])}"


def _empty(seen: Examined) -> Iterator[str]:
    """Documents of 0 bytes: what a download that broke off leaves."""
    if empty := [path.name for path in seen.documents if not path.stat().st_size]:
        yield f"{_how_many(empty, 'document')} empty (0 bytes): {_named(empty)}"


def _unexpected(folder: Path, release: Release) -> Iterator[str]:
    """What lies among the documents and has not the name of one; hidden files do not count."""
    pattern = f"{NAMES[release]}{SUFFIXES[release]}"
    inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    if others := [path.name for path in inside if not (fnmatchcase(path.name, pattern) and path.is_file())]:
        is_, it = ("is no document", "it") if len(others) == 1 else ("are no documents", "them")
        yield f"{_named(others)} in {folder} {is_} ({SHOWN_NAMES[release]}): take {it} away"


def _how_many(items: Sequence[str], one: str) -> str:
    return f"1 {one} is" if len(items) == 1 else f"{len(items)} {one}s are"


def _named(items: Sequence[str]) -> str:
    more = len(items) - MOST_NAMED
    return ", ".join(items[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _labelled(tell: Progress, release: Release) -> Progress:
    return lambda step: tell(f"{release}: {step}")
