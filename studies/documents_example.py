"""Audits of the example of `chase bench init`: a harness that goes by the folder, and one that goes by what is written.

`python -m studies.documents_example` makes the figures of docs/bring-your-own-benchmark.md, in less than a minute: the
example is the same bytes each time, and so is what the plain program `lexical` answers. Resumable.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import chase
from chase.benchmarks.documents.example import write_example
from chase.core.interfaces import Benchmark
from chase.harness.folder import initial_harness, load_harness, save_harness
from studies.reader_scores import write
from studies.running import Row, rows_of

NAME = "documents_example"
MODEL = "lexical"
LINES = {"folder": "Prefer files with low folder-initial.", "conditions": "Check every condition."}
"""What is added to the prompt of `H_0`."""


@cache
def _place() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="documents-example-")


@cache
def example() -> Benchmark[Any]:
    folder = Path(_place().name)
    write_example(folder)
    return chase.open_benchmark("documents", folder)


def audit_of(
    benchmark: Benchmark[Any], line: str, forms: Sequence[Mapping[str, Any]] = (), **sizes: Any
) -> dict[str, Any]:
    """An audit of `H_0` with a line more, with a search or given transformations: figures, and no task's text."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        save_harness(initial_harness(benchmark), place / "harness")
        with (place / "harness" / "prompt.md").open("a", encoding="utf-8") as prompt:
            prompt.write(f"{line}\n")
        given = [place / f"{number}.json" for number in range(len(forms))]
        for path, form in zip(given, forms, strict=True):
            path.write_text(json.dumps(form), encoding="utf-8")
        found = chase.audit(
            benchmark=benchmark, model=MODEL, harness=load_harness(place / "harness"), transformations=given,
            workspace=place / "workspace", progress=False, **sizes,
        ).payload  # fmt: skip
    return {
        "line": line,
        "searched": not forms,
        "seed": found["seed"],
        **{name: found[name] for name in ("verdict", "reason", "g_rel", "gamma", "g_min", "scores")},
        "tasks": found["confirm_tasks"],
        "clusters": found["clusters"],
        "edits": [_called(part) for part in (found["attribution"] or {"parts": []})["parts"]],
        **{status: [_tested(one) for one in found[status]] for status in ("confirmed", "not_confirmed")},
        "tried": len({one["hash"] for one in found["tried"]}),
        "rollouts": found["episodes"],
    }


def _tested(one: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("what", "source", "symbols", "suspected", "destruction", "half_expected", "expected_share", "gain")
    return {name: one[name] for name in kept}


def _called(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part[name] for name in ("name", "label", "rests_on", "contribution")}


def commit() -> str:
    """The code's commit; a `+` after it says that files were changed since."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        try:
            return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "../src", "*.py") else "")


def audited(case: Mapping[str, Any]) -> list[Row]:
    return [{"harness": case["harness"], **audit_of(example(), LINES[case["harness"]])}]


def main(arguments: Sequence[str] | None = None) -> None:
    argparse.ArgumentParser(prog=f"python -m studies.{NAME}", description=__doc__).parse_args(arguments)
    rows = rows_of(NAME, [{"harness": name} for name in LINES], audited)
    about = {"command": f"python -m studies.{NAME}", "commit": commit(), "model": MODEL}
    write(NAME, {**about, "benchmark": example().content_hash, "audits": rows})


if __name__ == "__main__":
    main()
