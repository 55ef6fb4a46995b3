"""TAT-QA as a benchmark of documents: each context a Markdown document, each question one of ours.

TAT-QA asks a question of a given context. In one folder of documents a question must say which it means: every document
is headed `Report N`, with a number that a hash of the context's uid decides, and every question begins `In report N:`.
Both are text, so no transformation touches them; files have names that say nothing. Data: Zhu et al., ACL 2021, CC BY
4.0; none of it is in this project.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from chase.benchmarks.documents.conversion import markdown_table
from chase.benchmarks.documents.description import FILE
from chase.core.errors import SetupError, UserError
from chase.core.keyed import key_bits, opaque_id, sorted_by_key

TOML = """\
title = "TAT-QA, development set (Zhu et al., ACL 2021; CC BY 4.0)"

[scorer]
kind = "tat-qa"

[answer]
instruction = "Reply with the answer alone on one line and call no tool: a number with its scale (thousand, million, \
billion, percent) if it has one, the words as they stand in the text, or several of them with semicolons between."
longest = 4000

[run]
rollouts = 1
"""


class _Table(BaseModel):
    uid: str
    table: Annotated[list[list[str]], Field(min_length=1)]


class _Paragraph(BaseModel):
    order: int
    text: str


class _Question(BaseModel):
    uid: str
    question: Annotated[str, Field(min_length=1)]
    answer: list[str] | str | int | float
    answer_type: Literal["span", "multi-span", "arithmetic", "count"]
    scale: Literal["", "thousand", "million", "billion", "percent"]


class _Context(BaseModel):
    table: _Table
    paragraphs: list[_Paragraph]
    questions: list[_Question]


def import_tat_qa(path: Path, folder: Callable[[], Path]) -> Mapping[str, int]:
    """Write the benchmark into the folder that is made when the data was read; count what was written."""
    contexts = _read(path)
    numbers = _numbers([context.table.uid for context in contexts])
    made = folder()
    (made / "documents").mkdir()
    rows: list[Mapping[str, Any]] = []
    for context in contexts:
        number = numbers[context.table.uid]
        name = f"{opaque_id('tat-qa', context.table.uid)}.md"
        (made / "documents" / name).write_text(_document(context, number), encoding="utf-8")
        rows += [
            {
                "id": question.uid,
                "question": f"In report {number}: {question.question.strip()}",
                "answer": answer_of(question.answer, question.scale),
                "evidence": [name],
                "group": context.table.uid,
            }
            for question in context.questions
        ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (made / "questions.jsonl").write_text(lines, encoding="utf-8")
    (made / FILE).write_text(TOML, encoding="utf-8")
    return {"documents": len(contexts), "questions": len(rows)}


def answer_of(answer: list[str] | str | float, scale: str) -> str | list[str]:
    """The answer as it is written: with its scale where it has one; several spans as a list."""
    if isinstance(answer, list):
        spans = [_scaled(span.strip(), scale) for span in answer if span.strip()]
        return spans[0] if len(spans) == 1 else spans
    return _scaled(answer.strip() if isinstance(answer, str) else repr(answer), scale)


def _scaled(text: str, scale: str) -> str:
    stated = scale in text.lower() or (scale == "percent" and "%" in text)
    return text if not scale or stated or not any(c.isdigit() for c in text) else f"{text} {scale}"


def _read(path: Path) -> Sequence[_Context]:
    try:
        held = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise SetupError(f"--data={path} is missing. Name your copy of tatqa_dataset_dev.json.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"--data={path} cannot be read ({error}). Get the file again as it was released.") from None
    if not isinstance(held, list) or not held:
        raise UserError(f"--data={path} is no list of contexts. Name a file such as tatqa_dataset_dev.json.")
    return [_context(path, place, entry) for place, entry in enumerate(held)]


def _context(path: Path, place: int, entry: Any) -> _Context:
    try:
        return _Context.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"--data={path}, context {place}: {where}: {first['msg']}. Get the file again.") from None


def _numbers(uids: Sequence[str]) -> Mapping[str, int]:
    """A number of five digits for each context, which tells nothing of its place and is no year."""
    start = 10_000 + key_bits("tat-qa") % 10_000
    return {uid: start + 7 * place for place, uid in enumerate(sorted_by_key(set(uids), "tat-qa"))}


def _document(context: _Context, number: int) -> str:
    return "\n".join(_lines(context, number)) + "\n"


def _lines(context: _Context, number: int) -> Iterator[str]:
    yield from (f"# Report {number}", "")
    for paragraph in sorted(context.paragraphs, key=lambda held: held.order):
        yield from (" ".join(paragraph.text.split()), "")
    width = max(map(len, context.table.table))
    yield from markdown_table([*row, *[""] * (width - len(row))] for row in context.table.table)
