"""TAT-QA's development set as a benchmark of documents, with the plain program `lexical`: scores, scan, audits.

`python -m studies.tat_qa --data tatqa_dataset_dev.json` imports the file into a folder that is gone afterwards, scores
`H_0` on every question, scans the protocol of the unsealed tasks, and audits two lines that gain, each by search and
against what the scan writes. `results/tat_qa.json` holds figures and none of the data. How `lexical` reads tables and
scales was extended while its failures on the task set `evo` were looked at; the other sets were not. About five minutes
on two cores. Resumable; other code or another file starts anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import chase
from chase.benchmarks.documents.benchmark import Documents
from chase.benchmarks.documents.splits import ROLES
from chase.benchmarks.documents.tat_qa import import_tat_qa
from chase.core.errors import RolloutError
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.stats.bounded import SCORES
from chase.stats.estimates import estimate, within_task_means
from studies.documents_example import MODEL, audit_of, commit
from studies.reader_scores import write
from studies.running import Row, rows_of

NAME = "tat_qa"
DEVELOPED = "evo"
LINES = {"named": "Search for the document that the question names.", "any": "Match any word."}
"""What is added to the prompt of `H_0`: the report by its number, which is text; and what comes first of many."""
SIZES: Mapping[str, Any] = {}
"""Of audits: the command's own."""


@cache
def _place() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="tat-qa-")


@cache
def imported(data: str) -> Documents:
    def made() -> Path:
        folder = Path(_place().name) / "benchmark"
        folder.mkdir()
        return folder

    import_tat_qa(Path(data), made)
    benchmark = chase.open_benchmark("documents", Path(_place().name) / "benchmark")
    if not isinstance(benchmark, Documents):
        raise SystemExit("an installed package opens `documents` in another way.")
    return benchmark


@cache
def kinds(data: str) -> Mapping[str, Mapping[str, str]]:
    """Question → its type of answer, where that stands, and its scale."""
    held = [question for context in json.loads(Path(data).read_bytes()) for question in context["questions"]]
    named = ("answer_type", "answer_from", "scale")
    return {question["uid"]: {name: question.get(name) or "none" for name in named} for question in held}


def worked(case: Mapping[str, Any]) -> list[Row]:
    work: Mapping[str, Callable[[Mapping[str, Any]], list[Row]]] = {
        "scores": lambda case: asyncio.run(_scored(case)),
        "scan": _scanned,
        "audit": _audited,
    }
    return work[case["kind"]](case)


async def _scored(case: Mapping[str, Any]) -> list[Row]:
    """`H_0` on one task set."""
    benchmark = imported(case["data"])
    harness, released = initial_harness(benchmark), benchmark.variant("released")
    rows = []
    async with Sandbox() as sandbox, connect(ModelConfig(name=MODEL)) as model:
        for task in benchmark.tasks(case["role"]):
            job = Job(benchmark=benchmark, transformation=released, harness=harness, task=task, index=0, run_seed=0)
            rollout, _ = await run_rollout(job, model, sandbox)
            if rollout.outcome.score is None:
                raise RolloutError(f"task={task}: {rollout.outcome.reason}. Run the same command again.")
            about = kinds(case["data"])[benchmark.task_labels(task)["id in file"]]
            rows.append({"kind": "scores", "role": case["role"], "task": task, "score": rollout.outcome.score, **about})
    return rows


def _scanned(case: Mapping[str, Any]) -> list[Row]:
    found = chase.scan(benchmark=imported(case["data"]), progress=False)
    return [{"kind": "scan", "scan": _figures(found.payload), "forms": dict(found.transformations)}]


def _figures(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What a scan found, without a word of an answer."""
    return {
        **{name: payload[name] for name in ("tasks", "tasks_used", "roles", "level", "seed", "evidence_from")},
        "tests": len(payload["rows"]),
        "findings": [
            {
                "name": finding["name"],
                "target": "an answer" if finding["target"].startswith("answer '") else finding["target"],
                "observables": finding["observables"],
                **{key: finding["rows"][0][key] for key in ("effect", "low", "high", "adjusted", "n")},
                "removal": finding["removal"] and finding["removal"]["symbols"],
                "left": finding["removal"] and [row["effect"] for row in finding["removal"]["after"]],
                "tried": finding["tried"],
            }
            for finding in payload["findings"]
        ],
    }


def _audited(case: Mapping[str, Any]) -> list[Row]:
    found = audit_of(imported(case["data"]), LINES[case["harness"]], list(case["forms"].values()), **SIZES)
    return [{"kind": "audit", "harness": case["harness"], **found}]


def by(rows: Sequence[Row], what: Callable[[Row], str]) -> dict[str, Any]:
    """Mean scores with intervals over questions, by something of theirs."""
    groups: dict[str, dict[str, list[float]]] = {}
    for row in sorted(rows, key=what):
        groups.setdefault(what(row), {})[row["task"]] = [row["score"]]
    return {name: asdict(estimate(within_task_means(scores), SCORES)) for name, scores in groups.items()}


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    scored = [row for row in rows if row["kind"] == "scores"]
    others = [row for row in scored if row["role"] != DEVELOPED]
    (scan,) = (row["scan"] for row in rows if row["kind"] == "scan")
    return {
        "scores": {
            "by task set": by(scored, lambda row: _set(row["role"])),
            "by type of answer": by(others, lambda row: row["answer_type"]),
            "by where it stands": by(others, lambda row: row["answer_from"]),
            "by scale": by(others, lambda row: row["scale"]),
        },
        "scan": scan,
        "audits": [{key: row[key] for key in row if key != "kind"} for row in rows if row["kind"] == "audit"],
    }


def _set(role: str) -> str:
    return role if role in (DEVELOPED, "cert") else "disc, conf1, conf2, conf3"


def tables(found: Mapping[str, Any]) -> Iterator[str]:
    """The tables of the page."""
    for name, groups in found["scores"].items():
        yield from (f"| {name.removeprefix('by ')} | questions | score |", "| --- | --- | --- |")
        yield from (f"| {group} | {one['n']} | {percent(one)} |" for group, one in groups.items())
    yield from ("| finding | higher than another in | adjusted p | taken away by |", "| --- | --- | --- | --- |")
    for one in found["scan"]["findings"]:
        yield f"| {', '.join(one['observables'])} | {percent(one, 'effect')} | {one['adjusted']:.2g} | {_by(one)} |"
    yield from ("| line | tested | G_rel | Γ | G_min | confirmed | verdict |", f"| --- |{' --- |' * 6}")
    for one in found["audits"]:
        tested = "by search" if one["searched"] else "what the scan wrote"
        confirmed = "; ".join(f"`{what['symbols']}`" for what in one["confirmed"]) or "none"
        figures = " | ".join((points(one["g_rel"]), f"{100 * one['gamma']:+.1f}", f"{100 * one['g_min']:+.1f}"))
        yield f"| {one['line']} | {tested} | {figures} | {confirmed} | {one['verdict']} |"


def _by(finding: Mapping[str, Any]) -> str:
    return f"`{finding['removal']}`" if finding["removal"] else f"nothing of the allowlist ({finding['tried']} tried)"


def percent(found: Mapping[str, Any], key: str = "value") -> str:
    return f"{100 * found[key]:.1f} % ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def points(found: Mapping[str, Any]) -> str:
    return f"{100 * found['value']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m studies.{NAME}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="your copy of tatqa_dataset_dev.json")
    asked = parser.parse_args(arguments)
    data, benchmark = str(asked.data.resolve()), imported(str(asked.data.resolve()))
    about = {"data": data, "sha256": sha256(asked.data.read_bytes()).hexdigest()}
    rows = rows_of(
        NAME, [{**about, "kind": "scan"}, *({**about, "kind": "scores", "role": r} for r in ROLES)], worked
    )  # fmt: skip
    (forms,) = (row["forms"] for row in rows if row["kind"] == "scan")
    written = {name: form for name, form in forms.items() if name != "all"}
    ways: list[Mapping[str, Any]] = [{}, written] if written else [{}]
    audits = [{**about, "kind": "audit", "harness": name, "forms": way} for name in LINES for way in ways]
    rows += rows_of(NAME, audits, worked)
    write(
        NAME,
        {
            "command": f"python -m studies.{NAME} --data FILE",
            "commit": commit(),
            "model": MODEL,
            "data": {
                "sha256": about["sha256"],
                "questions": len(kinds(data)),
                "documents": len(benchmark.collection.corpus.names),
            },
            "benchmark": benchmark.content_hash,
            "rollouts": 1,
            "developed_on": DEVELOPED,
            "intervals": "95 %, over questions, each by itself; of an audit and of a scan, together",
            **summary(rows),
        },
    )


if __name__ == "__main__":
    main()
