"""Retrieval: index time, size on disk, memory and query times of tantivy, SQLite FTS5 and bm25s on the same data.

    python -m studies.retrieval --data DIR      a sample of real size, both releases (`chase officeqa sample`)
    python -m studies.retrieval --develop       a few small texts of its own, in seconds

At the documents of Full, at those of Pro V2, and at three times those of Full: in each copy every digit is another one,
so that the vocabulary grows as it would. Each engine builds in a process of its own and answers in another. Finished
rows are kept in a file and not measured again by the same code.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from chase.benchmarks.corpus import index as index_module
from chase.benchmarks.corpus import passages as passages_module
from chase.benchmarks.corpus import texts as corpus_module
from chase.benchmarks.corpus.index import words
from chase.benchmarks.corpus.passages import Passage, cut
from chase.benchmarks.corpus.texts import Corpus
from chase.benchmarks.corpus.workplace import home, private_folder
from chase.benchmarks.officeqa.prepare import FOLDERS, corpus_of
from chase.benchmarks.officeqa.records import read_questions
from chase.benchmarks.officeqa.releases import RELEASES, Release
from chase.core.keyed import digest
from studies import retrieval_engines
from studies.retrieval_engines import ENGINES

RESULTS = Path(__file__).parent / "results"
QUERIES = 500
LIMIT = 5
WORDS = (2, 6)
"""In a query: at least and at most."""
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Documents of a release in a data folder, so many times."""

    data: str
    release: Release
    copies: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a data folder with both releases")
    parser.add_argument("--develop", action="store_true", help="small texts of its own instead")
    given = parser.parse_args()
    if given.develop == (given.data is not None):
        parser.error("name --data DIR or --develop")
    if given.develop:
        with tempfile.TemporaryDirectory() as folder:
            run("retrieval-develop", small_data(Path(folder)))
    else:
        run("retrieval", given.data)


def run(name: str, data: Path) -> None:
    """Measure all cases, and write and print the rows."""
    there: list[Release] = [release for release in FOLDERS if (data / FOLDERS[release]).is_dir()]
    cases = [Case(data=str(data), release=release, copies=1) for release in there]
    cases.append(Case(data=str(data), release="full", copies=3))
    rows = [row for case in cases for row in _rows(name, case)]
    payload = {"command": "python -m studies.retrieval --data DIR", "queries": QUERIES, "limit": LIMIT, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(payload, indent=2) + "\n")
    for row in rows:
        print(json.dumps(row))  # noqa: T201


def _rows(name: str, case: Case) -> Iterator[Row]:
    """Of every engine on a case; what this code measured before on the same documents is taken from the file."""
    path = RESULTS / f"{name}.rows.jsonl"
    content = _open(case).content_hash
    for engine in ENGINES:
        key = digest([content, case.release, case.copies, engine, QUERIES, _code()])
        kept = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        found = next((row["row"] for row in kept if row["key"] == key), None)
        if found is None:
            sys.stderr.write(f"{name}: {case.release} x {case.copies}, {engine}\n")
            found = _measured(case, engine)
            with path.open("a") as file:
                file.write(json.dumps({"key": key, "row": found}) + "\n")
        yield found


def _code() -> str:
    modules = (corpus_module, index_module, passages_module, retrieval_engines, sys.modules[__name__])
    return digest([sha256(Path(str(module.__file__)).read_bytes()).hexdigest() for module in modules])


def _measured(case: Case, engine: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        built = _apart(_build, case, engine, folder)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        answered = _apart(_answer, case, engine, folder)
    what = {"release": case.release, "copies": case.copies, "engine": engine}
    return {**what, **built, "disk_bytes": size, **answered}


def _apart(work: Callable[..., Row], *given: object) -> Row:
    """In a process of its own, so that memory is that of the work alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, given)


def _build(case: Case, engine: str, folder: str) -> Row:
    corpus = _open(case)
    files = sum(len("\n".join(corpus.lines(id_)).encode()) for id_ in corpus.ids)
    passages = sum(len(cut(count)) for count in corpus.line_counts.values())
    wall, cpu = time.perf_counter(), time.process_time()
    ENGINES[engine].build(lambda: copied(corpus, case.copies), Path(folder))  # type: ignore[attr-defined]
    return {
        "documents": len(corpus.ids) * case.copies,
        "text_bytes": files * case.copies,
        "passages": passages * case.copies,
        "build_seconds": round(time.perf_counter() - wall, 2),
        "build_cpu_seconds": round(time.process_time() - cpu, 2),
        "build_peak_mb": _peak_mb(),
    }


def _answer(case: Case, engine: str, folder: str) -> Row:
    corpus = _open(case)
    asked = {"words": word_queries(corpus), "questions": _question_texts(case)}
    before = time.perf_counter()
    opened = ENGINES[engine](Path(folder))
    opened.search("the", "any", LIMIT)
    seconds = time.perf_counter() - before
    matches = ENGINES[engine].matches  # type: ignore[attr-defined]
    times = {name: {match: _times(opened, queries, match) for match in matches} for name, queries in asked.items()}
    return {"open_seconds": round(seconds, 3), "query_peak_mb": _peak_mb(), "queries": times}


def _times(opened: retrieval_engines.Opened, queries: Sequence[str], match: Any) -> Row:
    """Milliseconds a query, in one thread, and how many passages hold every word of a query, over all queries."""
    taken, held = [], 0
    for query in queries:
        before = time.perf_counter()
        _, count = opened.search(query, match, LIMIT)
        taken.append((time.perf_counter() - before) * 1000)
        held += count or 0
    taken.sort()
    middle, late = (taken[int(len(taken) * share)] for share in (0.5, 0.95))
    return {"n": len(taken), "p50_ms": round(middle, 3), "p95_ms": round(late, 3), "held": held}


def word_queries(corpus: Corpus) -> list[str]:
    """Words of one passage each, drawn as often as they stand there."""
    draw = random.Random(15)
    queries: list[str] = []
    while len(queries) < QUERIES:
        id_ = draw.choice(corpus.ids)
        passage = draw.choice(cut(corpus.line_counts[id_]) or (Passage(1, 1),))
        there = words("\n".join(corpus.lines(id_, passage.start, passage.end)))
        if there:
            queries.append(" ".join(draw.choice(there) for _ in range(draw.randint(*WORDS))))
    return queries


def _question_texts(case: Case) -> list[str]:
    questions = read_questions(Path(case.data) / RELEASES[case.release].csv, case.release, answers=False)
    return [question.question for question in questions]


def copied(corpus: Corpus, copies: int) -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
    digits = "0123456789"
    for copy in range(copies):
        others = str.maketrans(digits, digits[copy:] + digits[:copy])
        for id_ in corpus.ids:
            lines = [line.translate(others) for line in corpus.lines(id_)] if copy else corpus.lines(id_)
            yield f"{id_}{copy}", lines, cut(corpus.line_counts[id_])


def _open(case: Case) -> Corpus:
    return corpus_of(Path(case.data), case.release, private_folder(home("officeqa")))


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def small_data(folder: Path, documents: int = 24, lines: int = 400) -> Path:
    """Texts of random words and figures in the layout of Full, and two questions."""
    draw = random.Random(7)
    vocabulary = ["".join(draw.choices("aeioubdlmnrst", k=draw.randint(3, 9))) for _ in range(2000)]
    texts = folder / FOLDERS["full"]
    texts.mkdir(parents=True)
    for number in range(documents):
        body = "\n".join(_small_line(draw, vocabulary) for _ in range(lines))
        (texts / f"treasury_bulletin_{1939 + number // 12}_{number % 12 + 1:02}.txt").write_text(f"{body}\n")
    asked = "\n".join(f"U{n},What was {vocabulary[n]} {vocabulary[n + 1]}?,1,,a.txt,easy" for n in (1, 5))
    header = "uid,question,answer,source_docs,source_files,difficulty"
    (folder / RELEASES["full"].csv).write_text(f"{header}\n{asked}\n")
    return folder


def _small_line(draw: random.Random, vocabulary: Sequence[str]) -> str:
    name = " ".join(vocabulary[min(1999, int(5 * draw.paretovariate(0.7)))] for _ in range(draw.randint(1, 8)))
    return f"| {name} | {draw.randrange(10**6):,}.{draw.randrange(10)} | {draw.randrange(5000)} |"


if __name__ == "__main__":
    main()
