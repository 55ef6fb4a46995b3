"""The index of passages against SQLite FTS5 on the same passages and words: building, and a query for all and for any.

Small texts of its own (2 MB), so that it takes seconds. `studies/retrieval.py` measures at the published sizes.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from studies.retrieval import LIMIT, copied, small_data, word_queries
from studies.retrieval_engines import Fts5, Opened, Tantivy

from benchmarks_perf import Measurement, Row
from chase.benchmarks.corpus.texts import Corpus, open_corpus
from chase.benchmarks.officeqa.contents import identify
from chase.benchmarks.officeqa.prepare import FOLDERS

REPETITIONS = 5
NAMES = {"build": "index 2 MB of text", "all": "query, all words", "any": "query, any word"}


def once(engine: type[Tantivy] | type[Fts5], corpus: Corpus, queries: Sequence[str]) -> dict[str, float]:
    """Milliseconds of building, and the median of a query."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        engine.build(lambda: copied(corpus, 1), Path(folder))
        built = (time.perf_counter() - begun) * 1000
        opened = engine(Path(folder))
        return {"build": built, "all": _median(opened, queries, "all"), "any": _median(opened, queries, "any")}


def _median(opened: Opened, queries: Sequence[str], match: str) -> float:
    taken = []
    for query in queries:
        begun = time.perf_counter()
        opened.search(query, match, LIMIT)  # type: ignore[arg-type]
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def against_fts5() -> Sequence[Row]:
    with tempfile.TemporaryDirectory() as folder:
        data = small_data(Path(folder), documents=100)
        corpus = open_corpus(data / FOLDERS["full"], Path(folder) / "known.json", identify)
        queries = word_queries(corpus)
        pairs = [(once(Tantivy, corpus, queries), once(Fts5, corpus, queries)) for _ in range(REPETITIONS)]
    return [
        Row(
            name=f"OfficeQA's index: {name}",
            value=statistics.median(ours[what] for ours, _ in pairs),
            unit="ms",
            repetitions=REPETITIONS,
            peer="SQLite FTS5",
            peer_value=statistics.median(peer[what] for _, peer in pairs),
            note=f"{len(queries)} queries, best {LIMIT} and the count" if what != "build" else "",
        )
        for what, name in NAMES.items()
    ]


MEASUREMENTS: list[Measurement] = [against_fts5]
