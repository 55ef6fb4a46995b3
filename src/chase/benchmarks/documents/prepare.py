"""The documents of a benchmark, made ready: as text, in a private folder, by the hash of what they were made of."""

from __future__ import annotations

from pathlib import Path

from chase.benchmarks.corpus.texts import SUFFIX, Corpus, file_facts, split_lines
from chase.benchmarks.corpus.workplace import home, private_folder, write_whole
from chase.benchmarks.documents.conversion import VERSION
from chase.benchmarks.documents.examine import Examined
from chase.core.interfaces import Progress
from chase.core.keyed import digest, opaque_id

ID_LETTERS = 10


def document_id(path: str) -> str:
    """The identifier of a document: it tells nothing of its path."""
    return opaque_id("documents-document", path, letters=ID_LETTERS)


def place() -> Path:
    """Where prepared things are kept."""
    return private_folder(home("documents"))


def ready_corpus(examined: Examined, tell: Progress = lambda _: None) -> Corpus:
    """The documents as a corpus. Those that were converted before are not written again."""
    texts = private_folder(place() / f"texts-{VERSION}")
    targets: dict[Path, str] = {}
    for document in examined.documents:
        target = texts / f"{digest([document.path, document.sha256])[:40]}{SUFFIX}"
        targets[target] = document.path
        content = document.text.encode()
        if not target.exists() or target.stat().st_size != len(content):
            write_whole(target, content)
    key = digest(sorted([document.path, document.sha256] for document in examined.documents))[:40]
    return Corpus(file_facts(list(targets), texts / f"{key}.files", tell, _count_lines), document_id, targets)


def _count_lines(content: bytes, _: Path) -> int:
    return len(split_lines(content.decode()))
