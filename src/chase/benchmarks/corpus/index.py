"""Passages found by their words, in BM25 order: one index on disk, shared by all rollouts and processes.

A *word* is a run of letters and digits, in lower case. A number is one word with its decimals and without its thousands
separators: `1,234.5` and `1234.5` are both the word `1234.5`. Everything else separates words: `FFO-7` is `ffo` and
`7`, `$3.5%` is `3.5`. There are no stop words and no stemming. A query is read in the same way, and nothing in it is
an operator: it has words and that is all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from chase.benchmarks.corpus.passages import Passage
from chase.benchmarks.corpus.workplace import built_once
from chase.core.errors import DiskError
from chase.core.interfaces import Progress
from chase.core.keyed import canonical_json, digest

if TYPE_CHECKING:
    import tantivy

VERSION = 1
"""Of how words are read and what is kept: another one is another index."""
LONGEST_WORD = 250
"""In bytes. What is longer is no word, neither in a passage nor in a query."""
HEAP_BYTES = 1_000_000_000
"""What the writer may hold before it writes a part of the index out; it takes what it needs."""
_CONTENTS = "contents.json"
_POINT = "\ua4f8"
"""Stands for the point of a number, in the index alone: the tokenizer takes it for a letter."""
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_DECIMALS = re.compile(r"\.(?<=\d\.)(?=\d)")

Match = Literal["all", "any"]
Documents = Callable[[], Iterator[tuple[str, Sequence[str], Sequence[Passage]]]]
"""Identifier, lines and passages of every document."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found: the how manieth of its document, from 1, and its lines."""

    document: str
    passage: int
    start: int
    end: int
    score: float = field(default=0.0, compare=False)
    """Its BM25 score: equal ones are ties."""


def words(text: str) -> list[str]:
    """The words of a text or a query, in order."""
    return [word.replace(_POINT, ".") for word in analyzer().analyze(plain(text))]


class PassageIndex:
    """A finished index, opened for reading."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        index = tantivy.Index.open(str(folder))
        index.config_reader("manual")
        index.reload()
        self._schema = index.schema
        self._searcher = index.searcher()
        self._documents: list[str] = json.loads((folder / _CONTENTS).read_bytes())["documents"]

    def __len__(self) -> int:
        """How many passages there are."""
        return self._searcher.num_docs

    def search(self, query: str, *, match: Match, limit: int) -> tuple[tuple[Hit, ...], int]:
        """The best passages that hold all or any of the query's words, and how many hold all of them.

        In BM25 order; those with the same score by document identifier and passage. A word that is said twice counts
        once; a query without words finds nothing.
        """
        wanted = list(dict.fromkeys(analyzer().analyze(plain(query))))
        if not wanted or limit < 1:
            return (), self._holding(wanted) if wanted else 0
        return self._best(self._query(wanted, match), limit), self._holding(wanted)

    def _query(self, wanted: Sequence[str], match: Match) -> tantivy.Query:
        from tantivy import Occur, Query

        occur = Occur.Must if match == "all" else Occur.Should
        return Query.boolean_query([(occur, Query.term_query(self._schema, "text", word)) for word in wanted])

    def _holding(self, wanted: Sequence[str]) -> int:
        found: Any = self._searcher.search(self._query(wanted, "all"), limit=1, count=True)
        return int(found.count)

    def _best(self, query: tantivy.Query, limit: int) -> tuple[Hit, ...]:
        """Asks until all with the last place's score are there: an index in several parts has no order among them."""
        asked = limit + 1
        while True:
            found = self._searcher.search(query, limit=asked, count=False).hits
            if len(found) < asked or found[-1][0] < found[limit - 1][0]:
                break
            asked *= 4
        addresses = [address for _, address in found]
        columns = [self._searcher.fast_field_values(name, addresses) for name in _NUMBERS]
        hits = [
            Hit(self._documents[number], passage, start, end, score=score)
            for (score, _), number, passage, start, end in zip(found, *columns, strict=True)
        ]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.document, hit.passage))[:limit])


_NUMBERS = ("document", "passage", "start", "end")
"""What is kept of a passage beside its words; the document as its place in the list of documents."""


def open_index(
    key: str, documents: Documents, folder: Path, tell: Progress = lambda _: None, *, total: int | None = None
) -> PassageIndex:
    """The index of a key, built where it is not there yet: then `documents` is called once.

    The key is a digest of all that decides the passages: the corpus, the layout of its documents and the cut. `total`:
    how many documents there are, for the progress.
    """
    place = folder / digest([VERSION, key])[:32]
    return PassageIndex(built_once(place, _is_whole, lambda part: _build(part, documents, tell, total), tell))


def _build(folder: Path, documents: Documents, tell: Progress, total: int | None) -> None:
    import tantivy

    index = tantivy.Index(_schema(), path=str(folder))
    index.register_tokenizer("words", analyzer())
    # One thread: with two, passages come into other parts of the index at each building, and scores differ in the
    # last digit.
    writer = index.writer(heap_size=HEAP_BYTES, num_threads=1)
    try:
        names = _add_all(writer, documents, tell, total)
        tell("writing the index")
        writer.commit()
    except ValueError as error:
        raise (DiskError(f"an index cannot be written: {error}") if "IO error" in str(error) else error) from None
    finally:
        writer.wait_merging_threads()
    states = {path.name: _state(path) for path in folder.iterdir() if not path.name.endswith(".lock")}
    (folder / _CONTENTS).write_text(canonical_json({"documents": names, "states": states}))


def _add_all(writer: tantivy.IndexWriter, documents: Documents, tell: Progress, total: int | None) -> list[str]:
    """Every passage of every document; the documents' identifiers in the order of their numbers."""
    from tantivy import Document

    names: list[str] = []
    for id_, lines, passages in documents():
        tell(f"indexing documents {len(names) + 1}" + (f"/{total}" if total else ""))
        for number, passage in enumerate(passages, 1):
            text = plain("\n".join(lines[passage.start - 1 : passage.end]))
            row = dict(zip(_NUMBERS, (len(names), number, passage.start, passage.end), strict=True))
            writer.add_document(Document(text=text, **row))
        names.append(id_)
    return names


def _is_whole(folder: Path) -> bool:
    """Whether an index is there and its files are as they were written: tantivy may crash on others."""
    try:
        states = json.loads((folder / _CONTENTS).read_bytes())["states"]
        return all(_state(folder / name) == state for name, state in states.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _state(path: Path) -> list[int]:
    """Its length and checksum: 0.1 s for an index of the published size."""
    content = path.read_bytes()
    return [len(content), crc32(content)]


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="words", index_option="freq")
    for name in _NUMBERS:
        builder = builder.add_integer_field(name, fast=True)
    return builder.build()


@lru_cache(maxsize=1)
def analyzer() -> tantivy.TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    # `remove_long` keeps what is shorter than its limit.
    filters = (Filter.remove_long(LONGEST_WORD + 1), Filter.lowercase())
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for one in filters:
        builder = builder.filter(one)
    return builder.build()


def plain(text: str) -> str:
    """The text with every number in one piece, and nothing in it that UTF-8 has no bytes for."""
    whole = text.encode("utf-8", "replace").decode()
    return _DECIMALS.sub(_POINT, _THOUSANDS.sub("", whole))
