"""The study of retrieval: engines that agree on what holds every word, and rows that are not measured twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import retrieval


def here(work: Callable[..., Any], *given: object) -> Any:
    return work(*given)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(retrieval, "RESULTS", tmp_path)
    monkeypatch.setattr(retrieval, "QUERIES", 30)
    monkeypatch.setattr(retrieval, "_apart", here)
    return retrieval.small_data(tmp_path / "data", documents=3, lines=60)


def test_all_engines_are_measured_on_the_same_words_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retrieval.run("small", data)
    written = (data.parent / "small.json").read_text()
    rows = json.loads(written)["rows"]
    assert [(row["engine"], row["documents"], row["passages"]) for row in rows] == [
        (engine, documents, 2 * documents) for documents in (3, 9) for engine in ("tantivy", "fts5", "bm25s")
    ]
    for tantivy, fts5, bm25s in (rows[:3], rows[3:]):
        for asked in ("words", "questions"):
            counts = {engine["queries"][asked][match]["held"] for engine in (tantivy, fts5) for match in ("all", "any")}
            assert len(counts) == 1
            assert list(bm25s["queries"][asked]) == ["any"]
        assert tantivy["queries"]["words"]["all"]["held"] >= 30
        assert all(row["disk_bytes"] > 1000 for row in (tantivy, fts5, bm25s))

    def never(*_: object) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(retrieval, "_apart", never)
    retrieval.run("small", data)
    assert (data.parent / "small.json").read_text() == written


def test_the_engines_find_the_same_passage(data: Path, tmp_path: Path) -> None:
    corpus = retrieval._open(retrieval.Case(data=str(data), release="full", copies=1))
    query = "\n".join(corpus.lines(corpus.ids[1], 41, 60))
    for name, engine in retrieval.ENGINES.items():
        folder = tmp_path / name
        folder.mkdir()
        engine.build(lambda: retrieval.copied(corpus, 1), folder)  # type: ignore[attr-defined]
        first = engine(folder).search(query, "any", 1)[0][0]
        if name == "tantivy":
            place = 2 * corpus.ids.index(first.document[:-1]) + first.passage
        else:
            place = first[0] if name == "fts5" else first + 1
        assert place == 4, name
