"""`chase certify`: what is left of a run's gain on the sealed tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

import chase
from chase.cli.certificates import print_theorems
from chase.cli.options import AsJson, takes
from chase.cli.output import echo, emit
from chase.runs.certified_figures import certified_figures
from chase.runs.conclusion import by_noise_in_words
from chase.runs.results import CertifyResult
from chase.runs.settings import CertifySettings


@takes(CertifySettings)
def certify(
    given: Mapping[str, Any],
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest.")],
    as_json: AsJson = False,
) -> None:
    """Print the certification of a finished `chase evolve`; one made with --no-certify is certified now,
    under the run's budget where no other is given.

    JSON: `run, config, conclusion {sentences[], word, counterfactuals[], confirmations[]}, final {name, hash},
    certification {scores, gains, destruction, gamma, g_min, excess_search_gain, worst, tasks, invalid,
    reopened, elsewhere, certificate, neutral, composition, search}, theorems {theorem1 {hoeffding, betting}, neutral,
    k, evolution {r, x_t, theorem2, theorem3[], …}, sentences[], …}`.
    """
    result = chase.certify(run, **given, progress=True)
    return emit(result) if as_json else _print(result)


def _print(result: CertifyResult) -> None:
    config, final = result.payload["config"], result.payload["final"]
    echo(
        f"run {result.run}: {config['method']} on {config['benchmark']}, model {config['model']}, "
        f"seed {config['seed']}, H* = {final['name']} [{final['hash'][:12]}]"
    )
    print_conclusion(result.payload["conclusion"])
    echo("")
    print_table(result.payload["certification"])
    print_theorems(result.payload["theorems"])
    for warning in result.warnings:
        echo(f"note: {warning}")


def print_conclusion(found: Mapping[str, Any]) -> None:
    """In words first; then gains with their scores under each counterfactual, and what was put to the test."""
    for sentence in found["sentences"]:
        echo(sentence)
    if found["counterfactuals"] and found["word"] != "unchanged":
        echo("\ngain over H_0 on the sealed tasks, with the scores that it is the difference of")
        for variant in found["counterfactuals"]:
            _print_variant(variant)
    if found["confirmations"]:
        echo("\nput to the test on fresh tasks, gain destruction ± standard error")
    for tested in found["confirmations"]:
        delta, verdict = tested["destruction"], "confirmed" if tested["confirmed"] else "not confirmed"
        echo(
            f"  round {tested['round']}, {tested['role']}: {tested['what']}: {100 * delta['value']:+.1f} ± "
            f"{100 * delta['se']:.1f} on {delta['n']} tasks against {100 * float(tested['eta']):g}: {verdict}; "
            f"{by_noise_in_words(tested['by_noise'])}"
        )


def _print_variant(variant: Mapping[str, Any]) -> None:
    gain, scores = variant["gain"], variant["scores"]
    echo(
        f"  {variant['name']:<9} {100 * gain['value']:+6.1f} points ({100 * gain['low']:+.1f} to "
        f"{100 * gain['high']:+.1f}): {100 * scores['H0']['value']:.1f} % to {100 * scores['H*']['value']:.1f} %  "
        f"{variant['what']}"
    )


def print_table(found: Mapping[str, Any]) -> None:
    """The paper's columns, in percent and percentage points, each with its standard error, tasks and meaning."""
    echo(f"certification on {found['tasks']} sealed tasks, in % ± standard error")
    for name, estimate, meaning in certified_figures(found):
        value = f"{100 * estimate['value']:{'' if name.startswith('R') else '+'}.2f}"
        echo(f"  {name:<13} {value:>7} ± {100 * estimate['se']:5.2f}   n = {estimate['n']:<4} {meaning}")
    for name, failed in found["invalid"].items():
        echo(f"{name} is not valid on the sealed tasks ({'; '.join(failed)}): it is no evidence and is left out.")
    for reason in found["reopened"]:
        echo(f"reopened: {reason}")
