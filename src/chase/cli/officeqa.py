"""`chase officeqa`: make data ready, score answers, split questions, count the paper's layout table, make a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.benchmarks.officeqa.components import components
from chase.benchmarks.officeqa.official import OfficialVerdict, official_verdicts
from chase.benchmarks.officeqa.pairs import Pair, read_pairs
from chase.benchmarks.officeqa.records import Question, read_questions
from chase.benchmarks.officeqa.releases import release_named
from chase.benchmarks.officeqa.scoring import score as score_answer
from chase.benchmarks.officeqa.splits import ROLES, allocate, labelled
from chase.cli.officeqa_layout import layout
from chase.cli.officeqa_prepare import prepare
from chase.cli.officeqa_sample import sample
from chase.cli.options import AsJson
from chase.cli.output import echo, emit_json
from chase.core.errors import IntegrityError

app = typer.Typer(no_args_is_help=True)
app.command()(prepare)
app.command()(layout)
app.command()(sample)
MOST_SHOWN = 20
"""Differences in text; JSON has all."""


@app.command()
def score(
    pairs: Annotated[Path, typer.Option("--pairs", metavar="FILE", help="JSON lines with ground_truth and predicted.")],
    official: Annotated[
        Path | None,
        typer.Option("--official", metavar="PATH", help="Your own copy of the released script, to compare with."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score answers at 0 % tolerance; with --official exit code 6 where the released function says something else.

    JSON: `n, correct, pairs[{ground_truth, predicted, correct}]` in the file's order; with --official also
    `official {n, agree, raised, differences[{pair, ground_truth, predicted, ours, official, raised}]}`.
    """
    read = read_pairs(pairs)
    verdicts = [bool(score_answer(*pair)) for pair in read]
    said = official_verdicts(official, [(truth, predicted or "") for truth, predicted in read]) if official else None
    compared = _compared(read, verdicts, said) if said is not None else None
    if as_json:
        emit_json("chase.officeqa.score/1", _scores(read, verdicts) | ({"official": compared} if compared else {}))
    else:
        echo(f"{sum(verdicts)} of {len(verdicts)} correct")
        _print_comparison(compared)
    if compared and compared["differences"]:
        count = len(compared["differences"])
        raise IntegrityError(f"our scorer and {official} differ in {count} of {len(read)} pairs.")


@app.command()
def splits(
    questions: Annotated[Path, typer.Option("--questions", metavar="FILE", help="The CSV; answers are not read.")],
    release: Annotated[
        str, typer.Option("--release", metavar="R", help="Whose columns it has: full or pro-v2.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Divide questions among evo, disc, conf1, conf2, conf3 and cert by their source components.

    JSON: `questions, components, source_files, difficulty, roles {role: {questions, components, easy, hard, linked,
    uids[]}}`; linked: questions whose components are also in disc.
    """
    read = read_questions(questions, release_named(release), answers=False)
    roles = _roles(read, allocate(read))
    facts = {
        "questions": len(read),
        "components": len(components(read)),
        "source_files": len({source for question in read for source in question.sources}),
        "difficulty": labelled(read),
    }
    if as_json:
        emit_json("chase.officeqa.splits/1", facts | {"roles": roles})
        return
    echo(f"{facts['questions']} questions, {facts['source_files']} source files, {facts['components']} components")
    if not facts["difficulty"]:
        echo("There are no difficulty labels: easy and hard questions are not balanced.")
    for role, about in roles.items():
        told = f"{about['easy']} easy, {about['hard']} hard, " if facts["difficulty"] else ""
        echo(
            f"{role:<6} {about['questions']:>3} questions, {about['components']:>3} components, {told}"
            f"{about['linked']} from components in disc"
        )


def _scores(pairs: Sequence[Pair], verdicts: Sequence[bool]) -> dict[str, Any]:
    scored = [
        {"ground_truth": truth, "predicted": predicted, "correct": correct}
        for (truth, predicted), correct in zip(pairs, verdicts, strict=True)
    ]
    return {"n": len(pairs), "correct": sum(verdicts), "pairs": scored}


def _compared(pairs: Sequence[Pair], ours: Sequence[bool], official: Sequence[OfficialVerdict]) -> dict[str, Any]:
    differences = [
        {
            "pair": place,
            "ground_truth": pair[0],
            "predicted": pair[1],
            "ours": own,
            "official": said.correct,
            "raised": said.raised,
        }
        for place, (pair, own, said) in enumerate(zip(pairs, ours, official, strict=True), start=1)
        if own != said.correct
    ]
    raised = sum(said.raised is not None for said in official)
    return {"n": len(pairs), "agree": len(pairs) - len(differences), "raised": raised, "differences": differences}


def _print_comparison(compared: Mapping[str, Any] | None) -> None:
    if compared is None:
        return
    raised = f" (it raised an error on {compared['raised']}, which counts as wrong)" if compared["raised"] else ""
    echo(f"the released function agrees on {compared['agree']} of {compared['n']}{raised}")
    for found in compared["differences"][:MOST_SHOWN]:
        ours = "correct" if found["ours"] else "wrong"
        echo(f"pair {found['pair']}: ours {ours}; {found['ground_truth']!r} against {found['predicted']!r}")


def _roles(questions: Sequence[Question], allocated: Mapping[str, str]) -> dict[str, Any]:
    component_of = {question.uid: place for place, group in enumerate(components(questions)) for question in group}
    in_disc = {component_of[uid] for uid, role in allocated.items() if role == "disc"}
    out = {}
    for role in ROLES:
        held = [question for question in questions if allocated[question.uid] == role]
        levels = Counter(question.difficulty for question in held)
        out[role] = {
            "questions": len(held),
            "components": len({component_of[question.uid] for question in held}),
            "easy": levels["easy"],
            "hard": levels["hard"],
            "linked": sum(component_of[question.uid] in in_disc for question in held),
            "uids": sorted(question.uid for question in held),
        }
    return out
