"""The text of a parsed corpus (Pro V2): each document converted once, and all of them frozen by hash.

Only the parsed documents are read here: no questions, answers or sources.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from chase.benchmarks.corpus.texts import SUFFIX, Corpus, decode, document_paths, file_facts, read_bytes, split_lines
from chase.benchmarks.corpus.workplace import PART, alone, private_folder, write_whole
from chase.benchmarks.officeqa.contents import identify
from chase.benchmarks.officeqa.conversion import VERSION, to_text
from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Progress
from chase.core.keyed import canonical_json, digest
from chase.core.parents import end_with_parent

PARSED = ".json"
MANY = 64
"""Documents for which worker processes are worth their start."""


def open_converted(folder: Path, memory: Path, place: Path, tell: Progress = lambda _: None) -> Corpus:
    """The corpus of a folder of parsed documents, as text.

    A document that was converted before is not converted again. `memory`: as in `file_facts`; `place`: the folder where
    texts are kept. When all are there, their hash is written down; texts that do not have it later are refused.
    """
    inputs = file_facts(document_paths(folder, PARSED), memory, tell, lambda *_: 0)
    texts = private_folder(place / f"converted-{VERSION}")
    targets = {path: texts / f"{digest([path.stem, facts.sha256])[:40]}{SUFFIX}" for path, facts in inputs.items()}
    _convert(targets, texts, tell)
    key = digest(sorted([path.name, facts.sha256] for path, facts in inputs.items()))[:40]
    found = file_facts(list(targets.values()), texts / f"{key}.files", tell, _count_lines)
    if not any(facts.lines for facts in found.values()):
        raise UserError(f"no document in {folder} holds any text. Get the files again as they were released.")
    corpus = Corpus(found, identify, {target: f"{path.stem}{SUFFIX}" for path, target in targets.items()})
    _freeze(texts / f"{key}.frozen", corpus.content_hash)
    return corpus


def _count_lines(content: bytes, _: Path) -> int:
    """Of a converted text, which may be empty; one that was damaged has another hash, and that is told."""
    return len(split_lines(content.decode("utf-8", "replace")))


def _convert(targets: Mapping[Path, Path], texts: Path, tell: Progress) -> None:
    if all(target.exists() for target in targets.values()):
        return
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError("a worker that reads its parent's script must not wait for its parent")
    with alone(texts, tell):
        for left in texts.glob(f"*{SUFFIX}.*{PART}"):
            left.unlink()
        waiting = [(path, target) for path, target in targets.items() if not target.exists()]
        for count, _ in enumerate(_converted(waiting), len(targets) - len(waiting) + 1):
            tell(f"converting documents {count}/{len(targets)}")


def _converted(waiting: Sequence[tuple[Path, Path]]) -> Iterator[None]:
    """Each document in turn; many of them on every core, since one takes half a second."""
    if len(waiting) < MANY:
        yield from map(_convert_one, waiting)
        return
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=end_with_parent) as pool:
            yield from pool.map(_convert_one, waiting)
    except BrokenProcessPool:  # a script without `if __name__ == "__main__"` has no workers, or one was killed
        yield from map(_convert_one, [pair for pair in waiting if not pair[1].exists()])


def _convert_one(pair: tuple[Path, Path]) -> None:
    path, target = pair
    write_whole(target, _text(path).encode())


def _text(path: Path) -> str:
    try:
        parsed = json.loads(decode(read_bytes(path), path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}). Get the file again as it was released.") from None
    document = parsed.get("document") if isinstance(parsed, dict) else None
    if not isinstance(document, dict) or not isinstance(document.get("elements"), list):
        raise UserError(
            f"{path} has no document.elements, so it is no parsed document. Get it again as it was released."
        )
    return to_text(parsed)


def _freeze(record: Path, content_hash: str) -> None:
    """Write the hash down the first time; refuse another one afterwards."""
    if not record.exists():
        return write_whole(record, canonical_json({"content_hash": content_hash}).encode())
    try:
        frozen = json.loads(record.read_bytes())["content_hash"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        frozen = None
    if frozen != content_hash:
        texts = f"a text in {record.parent} is not as it was converted"
        what = f"{record} is damaged, which holds the hash of the converted texts" if frozen is None else texts
        raise IntegrityError(f"{what}. Remove {record.parent} and start again: they are converted anew.")
    return None
