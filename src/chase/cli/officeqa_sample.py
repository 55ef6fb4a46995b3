"""`chase officeqa sample`: a synthetic sample of the published shape."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chase.benchmarks.officeqa.releases import RELEASES, release_named
from chase.benchmarks.officeqa.sample.shape import KILOBYTES, Shape
from chase.benchmarks.officeqa.sample.splitting import check_splits
from chase.benchmarks.officeqa.sample.writing import check_shape, write_sample
from chase.cli.options import AsJson
from chase.cli.output import echo, emit_json, steps


def sample(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new folder, or a sample of the other release.")],
    release: Annotated[str, typer.Option("--release", metavar="R", help="full or pro-v2")] = "full",
    documents: Annotated[int | None, typer.Option("--documents", metavar="N", help="As published: 697, 1435.")] = None,
    questions: Annotated[int | None, typer.Option("--questions", metavar="M", help="As published: 246, 90.")] = None,
    kilobytes: Annotated[
        int, typer.Option("--document-kilobytes", metavar="KB", help="Size of a document, about.")
    ] = KILOBYTES,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The same seed writes the same bytes.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Generate a SYNTHETIC sample: made-up documents and questions in the published layout. No real data is in it.

    JSON: the sample's manifest, `synthetic, seed, releases{NAME: {questions, documents, source_files, components}}`.
    """
    name = release_named(release)
    published = RELEASES[name]
    shape = Shape(
        release=name,
        documents=published.documents if documents is None else documents,
        questions=published.questions if questions is None else questions,
        seed=seed,
        kilobytes=kilobytes,
    )
    check_shape(shape)
    check_splits(shape)
    with steps(f"synthetic {name} sample") as tell:
        manifest = write_sample(shape, out, tell)
    if as_json:
        emit_json("chase.officeqa.sample/1", {key: value for key, value in manifest.items() if key != "schema"})
    else:
        made = manifest["releases"][name]
        echo(
            f"{out}: a SYNTHETIC sample of release {name}, seed {seed}: {made['documents']} documents, "
            f"{made['questions']} questions on {made['source_files']} of them in {made['components']} components."
        )
