"""A small benchmark of documents whose answers a language model judges, and judges that follow a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from chase.benchmarks.documents.benchmark import Documents, open_documents
from chase.core.interfaces import Judge
from chase.engine.judging import judge_of
from chase.testing.scripted import Request, ScriptedModel

JUDGE = "openai:gpt-5-mini"
"""What the folder says; a scripted one is connected in its place."""
GOLD = "Zanzibarium of vessel"
"""Every expected answer begins so: an unmistakable mark."""
_CASE = re.compile(r"This is case ([a-z]+)\.")
_GIVEN = re.compile(r'Answer that was given: "(.*)"', re.MULTILINE)


def write_judged(folder: Path, *, model: str = JUDGE, scorer: str = "", prompt: str | None = None) -> Path:
    """Sixteen questions on sixteen documents, two for every task set and more for the sealed one."""
    (folder / "documents").mkdir(parents=True)
    rows = []
    for number in range(16):
        (folder / "documents" / f"v{number}.txt").write_text(f"Vessel {number}\nIts cargo was metal.\n")
        rows.append(
            {
                "id": f"q{number}",
                "question": f"What did vessel {number} carry?",
                "answer": f"{GOLD} {number}",
                "evidence": [f"v{number}.txt"],
            }
        )
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "benchmark.toml").write_text(
        f'[scorer]\nkind = "judge"\nmodel = "{model}"\n{scorer}\n'
        '[splits]\nevo = 2\ndisc = 2\nconf = 2\ngrouping = "none"\n[run]\nrollouts = 2\n'
    )
    if prompt is not None:
        (folder / "own.md").write_text(prompt)
    return folder


def judged(folder: Path, script: Callable[[Request], str], **options: str) -> tuple[Documents, ScriptedModel]:
    """The benchmark with a scripted judge connected, and that judge."""
    model = ScriptedModel(script)
    return open_documents("documents", write_judged(folder, **options)).judged_by(model), model


def the_judge(benchmark: Documents) -> Judge:
    """The judge that is connected."""
    judge = judge_of(benchmark)
    assert judge is not None
    return judge


def case_of(text: str) -> str:
    """The case that a judge was told."""
    return _CASE.findall(text)[-1]


def given_of(text: str) -> str:
    """The answer that a judge was shown by the shipped prompt, as it stands there."""
    return _GIVEN.findall(text)[0]


def reply(text: str, score: object) -> str:
    """A verdict in its form, after some words."""
    return f'It may be so.\n{{"case": "{case_of(text)}", "score": {json.dumps(score)}}}'


def read(request: Request) -> str:
    """All that a request says."""
    return "\n".join(request.texts())


def says(score: object) -> Callable[[Request], str]:
    """A judge that always gives this score."""
    return lambda request: reply(read(request), score)
