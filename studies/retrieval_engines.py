"""Three engines for the same passages and words: tantivy (ours), SQLite FTS5 and bm25s.

All read words as `chase.benchmarks.officeqa.index` does and rank by BM25 with k1 = 1.2 and b = 0.75. tantivy and FTS5
answer a query with the best passages and how many hold every word, as the benchmark's `search` does; bm25s only ranks,
and knows no `all`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from chase.benchmarks.corpus.index import Documents, Match, PassageIndex, analyzer, open_index, plain

K1, B = 1.2, 0.75


class Opened(Protocol):
    """An engine with its index open."""

    def search(self, query: str, match: Match, limit: int) -> tuple[Sequence[Any], int | None]:
        """What was found, best first, and how many passages hold every word; None where the engine cannot say."""
        ...


class Tantivy:
    matches: tuple[Match, ...] = ("all", "any")

    def __init__(self, folder: Path) -> None:
        self._index: PassageIndex = open_index("study", _never, folder)

    @staticmethod
    def build(documents: Documents, folder: Path) -> None:
        open_index("study", documents, folder)

    def search(self, query: str, match: Match, limit: int) -> tuple[Sequence[Any], int | None]:
        return self._index.search(query, match=match, limit=limit)


class Fts5:
    """Without the text itself (contentless), so that sizes compare."""

    matches: tuple[Match, ...] = ("all", "any")

    def __init__(self, folder: Path) -> None:
        self._database = sqlite3.connect(f"file:{folder / 'fts5.db'}?mode=ro", uri=True)

    @staticmethod
    def build(documents: Documents, folder: Path) -> None:
        database = sqlite3.connect(folder / "fts5.db")
        database.execute("PRAGMA journal_mode = OFF")
        options = "content = '', tokenize = \"unicode61 remove_diacritics 0\""
        database.execute(f"CREATE VIRTUAL TABLE passages USING fts5(text, {options})")
        database.executemany("INSERT INTO passages (text) VALUES (?)", ((text,) for text in texts(documents)))
        database.execute("INSERT INTO passages (passages) VALUES ('optimize')")
        database.commit()
        database.close()

    def search(self, query: str, match: Match, limit: int) -> tuple[Sequence[Any], int | None]:
        every, some = _quoted(query, " AND "), _quoted(query, " OR ")
        if not every:
            return (), 0
        asked = every if match == "all" else some
        ranked = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank, rowid LIMIT ?"
        found = self._database.execute(ranked, (asked, limit)).fetchall()
        counted = self._database.execute("SELECT count(*) FROM passages WHERE passages MATCH ?", (every,))
        return found, int(counted.fetchone()[0])


class Bm25s:
    matches: tuple[Match, ...] = ("any",)

    def __init__(self, folder: Path) -> None:
        import bm25s

        self._retriever = bm25s.BM25.load(str(folder), mmap=True)
        self._vocabulary = self._retriever.vocab_dict

    @staticmethod
    def build(documents: Documents, folder: Path) -> None:
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [
            np.array(
                [vocabulary.setdefault(word, len(vocabulary)) for word in analyzer().analyze(text)], dtype=np.int32
            )
            for text in texts(documents)
        ]
        retriever = bm25s.BM25(k1=K1, b=B, method="lucene")
        retriever.index((ids, vocabulary), show_progress=False)
        retriever.save(str(folder), show_progress=False)

    def search(self, query: str, match: Match, limit: int) -> tuple[Sequence[Any], int | None]:
        wanted = [word for word in dict.fromkeys(analyzer().analyze(plain(query))) if word in self._vocabulary]
        if not wanted:
            return (), None
        found = self._retriever.retrieve([wanted], k=limit, show_progress=False, n_threads=0)
        return list(found.documents[0]), None


ENGINES: dict[str, Callable[[Path], Opened]] = {"tantivy": Tantivy, "fts5": Fts5, "bm25s": Bm25s}


def texts(documents: Documents) -> Iterator[str]:
    """Every passage as the index reads it."""
    for _, lines, passages in documents():
        for passage in passages:
            yield plain("\n".join(lines[passage.start - 1 : passage.end]))


def _quoted(query: str, joint: str) -> str:
    """The words as strings of FTS5's language: it has one, so a query must not reach it bare."""
    return joint.join(f'"{word}"' for word in dict.fromkeys(analyzer().analyze(plain(query))))


def _never() -> Iterator[Any]:
    raise RuntimeError("the index of the study is not there")
