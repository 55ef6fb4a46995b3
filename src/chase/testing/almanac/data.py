"""An Almanac as a folder: `documents/*.txt` and `questions.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from chase.core.errors import SetupError, UserError
from chase.testing.almanac.contents import Task
from chase.testing.almanac.generator import ROLES, Texts, generate

DOCUMENTS, QUESTIONS = "documents", "questions.jsonl"


class _Line(BaseModel):
    """One line of `questions.jsonl`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    role: str
    question: str
    answer: str


def write_almanac(folder: Path, seed: int) -> None:
    """Write the Almanac of a seed into a folder that `read_almanac` reads."""
    texts, tasks = generate(seed)
    (folder / DOCUMENTS).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / DOCUMENTS / name).write_text(text + "\n", encoding="utf-8")
    lines = (_Line(id=t.id, role=t.role, question=t.question, answer=t.answer).model_dump_json() for t in tasks)
    (folder / QUESTIONS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_almanac(folder: Path) -> tuple[Texts, list[Task]]:
    """The texts and tasks in a folder. What is missing is a `SetupError`, what is malformed a `UserError`."""
    paths = sorted((folder / DOCUMENTS).glob("*.txt"))
    questions = folder / QUESTIONS
    if not paths or not questions.is_file():
        raise SetupError(
            f"data={folder} holds no Almanac: it needs {DOCUMENTS}/*.txt and {QUESTIONS}. "
            "Write one with chase.testing.almanac.data.write_almanac."
        )
    texts = {path.name: path.read_text(encoding="utf-8").removesuffix("\n") for path in paths}
    return texts, list(_read_tasks(questions))


def _read_tasks(path: Path) -> Iterator[Task]:
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            read = _Line.model_validate(json.loads(line))
        except (ValueError, ValidationError) as error:
            raise UserError(f"{path}:{place} is no question: {str(error).splitlines()[0]}.") from None
        if read.role not in ROLES:
            raise UserError(f"{path}:{place}: role='{read.role}' is unknown. Valid: {', '.join(ROLES)}.")
        yield Task(id=read.id, role=read.role, question=read.question, answer=read.answer)
