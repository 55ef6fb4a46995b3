"""`chase bench init`, `check` and `import`: benchmarks of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from chase.benchmarks.documents.description import JudgeScorer
from chase.benchmarks.documents.examine import Examined, examine
from chase.benchmarks.documents.example import write_example
from chase.benchmarks.documents.splits import ROLES, allocate, roomier
from chase.benchmarks.documents.tat_qa import import_tat_qa
from chase.cli.options import AsJson
from chase.cli.output import echo, emit_json, new_folder, steps
from chase.core.errors import IntegrityError, UserError, choose
from chase.core.values import Json
from chase.methods.sensitivity import in_words, sensitivity, sensitivity_json
from chase.stats.detectable import Detectable

IMPORTERS = ("tat-qa",)
LEVEL = 0.95
SMALL_ENOUGH = 0.1
"""A gain that task sets need not be changed for."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")], as_json: AsJson = False
) -> None:
    """Write a working benchmark of documents: invented, and small enough to audit in a minute. Make it yours.

    JSON: `folder, documents, questions`.
    """
    written = write_example(new_folder(folder, "DIR"))
    _tell_of(folder, written, "init", as_json)


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds benchmark.toml.")],
    as_json: AsJson = False,
) -> None:
    """Say everything that is wrong with a benchmark of documents, with line numbers; exit code 6 if it cannot be used.

    JSON: `folder, passed, documents, questions, splits{}, detectable {gain, destruction, tasks, clusters},
    problems[{severity, file, line, what}]`.
    """
    with steps(f"checking {folder}") as tell:
        examined = examine(folder, tell)
    errors = examined.errors
    if as_json:
        emit_json("chase.bench.check/1", _described(examined))
    else:
        for problem in examined.problems:
            echo(f"{problem.severity}: {problem}")
    if errors:
        if len(errors) == 1:
            raise IntegrityError(f"{folder}: one error keeps it from being used. {errors[0]}")
        raise IntegrityError(f"{folder}: {len(errors)} errors keep it from being used. The first: {errors[0]}")
    if not as_json:
        for line in (_holds(examined), *_shows(examined)):
            echo(line)
        if examined.description is not None and isinstance(examined.description.scorer, JudgeScorer):
            echo(f"Answers are judged by a language model, {examined.description.scorer.model}, which was not asked.")


def import_data(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="tat-qa")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="Your copy of the data set.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder.")],
    as_json: AsJson = False,
) -> None:
    """Turn a published data set into a benchmark of documents.

    JSON: `folder, documents, questions`.
    """
    choose("data set", kind, IMPORTERS)
    written = import_tat_qa(data, lambda: new_folder(out, "--out"))
    _tell_of(out, written, "import", as_json)


def _tell_of(folder: Path, written: Mapping[str, int], command: str, as_json: bool) -> None:
    if as_json:
        return emit_json(f"chase.bench.{command}/1", {"folder": str(folder), **written})
    echo(f"{folder}: {written['documents']} documents and {written['questions']} questions.")
    echo(f"Next: chase bench check {folder}")
    return None


def _sensitivity(examined: Examined, roles: Mapping[str, str]) -> Detectable:
    confirming = [id_ for id_, role in roles.items() if role.startswith("conf")]
    return sensitivity(confirming, examined.clusters, level=LEVEL)


def _holds(examined: Examined) -> str:
    """Summarise what was examined: sound only where an audit's tasks can show a gain."""
    sets = ", ".join(f"{role} {size}" for role, size in _sizes(examined).items())
    can_show = _sensitivity(examined, examined.roles).gain is not None
    word = "is sound" if can_show else "has no errors, but too few tasks to show a gain"
    return (
        f"{examined.folder} {word}: {len(examined.documents)} documents, {len(examined.questions)} questions ({sets})"
    )


def _shows(examined: Examined) -> list[str]:
    """The gain that an audit here can show, and task sets that could show a smaller one."""
    now = _sensitivity(examined, examined.roles)
    lines = [f"An audit's {in_words(now)}."]
    if examined.description is None or (now.gain is not None and now.gain <= SMALL_ENOUGH):
        return lines
    wanted = roomier(examined.questions, examined.description.splits.grouping)
    if wanted is None:
        return lines
    try:
        better = _sensitivity(examined, allocate(examined.questions, wanted))
    except UserError:
        return lines
    if better.gain is not None and (now.gain is None or better.gain < now.gain):
        sizes = f"evo = {wanted.evo}, disc = {wanted.disc}, conf = {wanted.conf}"
        lines.append(f"With {sizes} under [splits] {in_words(better)}.")
    return lines


def _sizes(examined: Examined) -> Mapping[str, int]:
    held = list(examined.roles.values())
    return {role: held.count(role) for role in ROLES}


def _described(examined: Examined) -> Mapping[str, Json]:
    return {
        "folder": str(examined.folder),
        "passed": not examined.errors,
        "documents": len(examined.documents),
        "questions": len(examined.questions),
        "splits": _sizes(examined),
        "detectable": None if examined.errors else sensitivity_json(_sensitivity(examined, examined.roles)),
        "problems": [problem.as_json() for problem in examined.problems],
    }
