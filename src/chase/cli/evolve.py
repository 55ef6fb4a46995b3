"""`chase evolve`: evolve a harness, under counterfactual constraints or without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import chase
from chase.cli.certificates import print_theorems
from chase.cli.certify import print_conclusion, print_table
from chase.cli.forecasting import show_forecast
from chase.cli.options import AsJson, DryRun, takes
from chase.cli.output import echo, emit
from chase.cli.tokens import judge_lines, token_lines
from chase.harness.diff import Change, HarnessDiff, render_diff
from chase.runs.results import EvolveResult
from chase.runs.settings import EvolveSettings

SYMBOLS = {"rounds": "rounds T", "epsilon": "tolerated gain destruction ε", "eta": "confirmed from η"}
"""What several methods have as options, and how the paper writes it."""


@takes(EvolveSettings)
def evolve(given: Mapping[str, Any], dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Evolve a harness: propose, select under the archive's constraints, challenge, confirm; at the end certify once.

    What happens is told on stderr; H*, the archive and the certification are on stdout and in .chase/runs/RUN/.
    `--resume RUN` alone takes the settings from the run; settings that are given must be the run's. A run that reaches
    its budget ends with 4 and goes on with `--resume RUN` and a higher one.

    JSON: `run, config, conclusion {sentences[], word, counterfactuals[], confirmations[]}, final {name, hash, changes},
    rounds[], archive[], certification {scores, gains, destruction, gamma, g_min, excess_search_gain, …} or null,
    theorems or null, executed, reused, spent, tokens {optimisation, certification}, wall_seconds, parts,
    rollout_seconds, hook_failures[], warnings`; with --dry-run `per_rollout, rollouts[], agents[], total`
    (chase.forecast/1).
    """
    if dry_run:
        return show_forecast(chase.forecast_evolve(**given, progress=True), as_json)
    result = chase.evolve(**given, progress=True)
    return emit(result) if as_json else _print(result)


def _print(result: EvolveResult) -> None:
    payload = result.payload
    config = payload["config"]
    settings = [f"seed {config['seed']}"]
    settings += [f"{symbol} = {config[name]}" for name, symbol in SYMBOLS.items() if name in config]
    echo(
        f"run {result.run}: {config['method']} on {config['benchmark']}, model {config['model']}, {', '.join(settings)}"
    )
    print_conclusion(payload["conclusion"])
    _print_final(payload["final"], config["initial"])
    _print_archive(payload["archive"])
    if payload["certification"] is None:
        echo(f"\nnot certified: `chase certify {result.run}` opens the sealed tasks")
    else:
        echo("")
        print_table(payload["certification"])
        print_theorems(payload["theorems"])
    seconds, parts = result.wall_seconds, payload["parts"]
    outside = f"{seconds - payload['rollout_seconds']:.1f} s of them outside rollouts"
    cost = payload["spent"]["cost_usd"]
    echo(
        f"\n{payload['executed']} rollouts executed, {payload['reused']} from the store; "
        f"{payload['spent']['requests']} requests, cost {'unknown' if cost is None else f'${cost:.4f}'}; "
        f"{seconds:.1f} s, {outside if parts == 1 else f'in {parts} parts'}"
    )
    if found := payload.get("evaluation"):
        of = f"{found['episodes']} of {found['full']} episodes of a full one"
        echo(f"{found['kind']} evaluation on evo: {of} ({100 * found['episodes'] / found['full']:.0f} %)")
    for line in (*token_lines(payload["tokens"]), *judge_lines(payload)):
        echo(line)
    for warning in result.warnings:
        echo(f"note: {warning}")
    here = Path.cwd()
    echo(f"files: {result.folder.relative_to(here) if result.folder.is_relative_to(here) else result.folder}/")


def _print_final(final: Mapping[str, Any], initial: str) -> None:
    scores = {row["harness"]: row["released"] for row in final["selection"]["pool"]}
    found = ""
    if scores:  # a method that evaluates nothing has none
        score, first, role = scores[final["name"]], next(iter(scores.values())), final["selection"].get("role", "evo")
        found = f": {100 * score:.1f} % on {role} as released, H_0 {100 * first:.1f} %"
    echo(f"\nH* = {final['name']} [{final['hash'][:12]}]{found}")
    if not final["changes"]:
        return echo("  the initial harness itself")
    changes = tuple(
        Change(**{**{key: value for key, value in change.items() if key != "track"}, "lines": tuple(change["lines"])})
        for change in final["changes"]
    )
    text = render_diff(HarnessDiff(old=initial, new=final["hash"], changes=changes))
    return echo("\n".join(f"  {line}".rstrip() for line in text.split("\n")[1:]))


def _print_archive(archive: list[Mapping[str, Any]]) -> None:
    echo(f"\narchive: the released benchmark and {len(archive)} confirmed counterfactual{'s'[: len(archive) != 1]}")
    for entry in archive:
        found = ", ".join(
            f"{name} {100 * entry[name]['value']:+.1f} ± {100 * entry[name]['se']:.1f}"
            for name in ("discovery", "confirmation")
            if entry[name]
        )
        echo(f"  {entry['name']}  round {entry['round']}  {entry['what']}  [{entry['symbols']}]")
        echo(f"      gain destruction: {found}")
