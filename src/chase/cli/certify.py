"""`chase certify`: what is left of a run's gain on the sealed tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from chase.cli.options import AsJson, BudgetTokens, BudgetUsd, WorkspaceFolder


def certify(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest.")],
    reopen: Annotated[
        str | None, typer.Option("--reopen", metavar="REASON", help="Certify again. The reason stays in the record.")
    ] = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print the certification of a finished `chase evolve`; one made with --no-certify is certified now,
    under the run's budget where no other is given.

    JSON: `run, config, final {name, hash}, certification {scores, gains, destruction, gamma, g_min,
    excess_search_gain, worst, tasks, reopened}`.
    """
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.cli.evolution import Wishes, certify_run

    budget = {"budget_usd": budget_usd, "budget_tokens": budget_tokens}
    certify_run(run, Wishes(resume=None, reopen=reopen, workspace=workspace, as_json=as_json, budget=budget))
