"""`chase officeqa prepare`: a copy of OfficeQA, checked and made ready."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.benchmarks.officeqa.prepare import describe, examine, refuse_differences
from chase.benchmarks.officeqa.prepare import prepare as prepare_data
from chase.cli.options import AsJson
from chase.cli.output import echo, emit_json, steps


def prepare(
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR", help="Your copy, in the published layout, or a sample.")
    ],
    as_json: AsJson = False,
) -> None:
    """Check a copy of OfficeQA against what was published and make it ready; exit code 6 if it differs.

    Converts Pro V2 and builds the indexes, in ~/.cache/chase/officeqa, once. JSON: `data, synthetic, prepared, releases
    [{release, questions, documents, source_files, components, differences[], content_hash, lines, passages}]`, the
    last three once prepared.
    """
    examined = examine(data)
    differ = any(found.differences for found in examined.values())
    ready = None
    if not differ:
        with steps("preparing") as progress:
            ready = prepare_data(data, tell=progress)
    if as_json:
        emit_json("chase.officeqa.prepare/1", describe(data, examined, ready))
    refuse_differences(data, examined)
    if not as_json:
        _print_prepared(describe(data, examined, ready))


def _print_prepared(about: Mapping[str, Any]) -> None:
    for release in about["releases"]:
        echo(
            f"{release['release']:<7} {release['questions']} questions, {release['source_files']} source files, "
            f"{release['components']} components; {release['documents']} documents, {release['lines']} lines, "
            f"{release['passages']} passages; content {release['content_hash'][:16]}"
        )
    what = "a synthetic sample, as its manifest says" if about["synthetic"] else "as published"
    echo(f"{about['data']} is ready: {what}")
