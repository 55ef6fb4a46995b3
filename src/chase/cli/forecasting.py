"""`--dry-run`: what a run would take, in text or as `chase.forecast/1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from rich.table import Table

from chase.cli.output import emit_json, emit_table, printable
from chase.runs.rendering import millions
from chase.runs.results import ForecastResult


def show_forecast(forecast: ForecastResult, as_json: bool) -> None:
    """Print a forecast."""
    return emit_json(forecast.schema, forecast.payload) if as_json else _print(forecast.payload, forecast.steps)


def _print(payload: Mapping[str, Any], steps: int) -> None:
    typer.echo(
        f"{payload['method'] or payload['command']} on {payload['benchmark']}, model {payload['model']}: nothing is run"
    )
    if shown := payload.get("detectable"):
        typer.echo(shown["in_words"])
    table = Table(title="at least to at most", title_justify="left")
    for name in ("stage", "role"):
        table.add_column(name)
    for name in ("episodes", "requests, bound", "tokens (M)", "tokens (M), bound", "USD"):
        table.add_column(name, justify="right")
    total = payload["total"]
    for row in payload["rollouts"]:
        table.add_row(row["stage"], row["role"], *_numbers(row))
    table.add_row("in all", "", *_numbers(total))
    emit_table(table)
    for agent in payload["agents"]:
        typer.echo(printable(_agent_line(agent)))
    if (each := payload["per_rollout"]) is None:
        typer.echo("what a rollout takes is not known: nothing of this benchmark is in the store")
    else:
        cost = "" if each["cost_usd"] is None else f", ${each['cost_usd']:.6f}"
        typer.echo(
            f"a rollout takes about {each['requests']:.1f} requests, {each['input_tokens']:,.0f} input "
            f"({each['cached_tokens']:,.0f} cached) and {each['output_tokens']:,.0f} output tokens{cost}: "
            f"{each['source']}"
        )
    typer.echo(
        f"the bound is {steps} requests a rollout, each with a full context; what the store has already costs nothing"
    )
    if how := payload.get("evaluation"):
        typer.echo(
            f"{how} evaluation stops candidates early; how early is not known, so the most is that of a full one"
        )
    if each is not None and total["cost_usd"] is None:
        known = each["cost_usd"] is not None
        typer.echo(
            "cost unknown: nobody can say what the coding agent will use, or what another model of the run costs"
            if known
            else "cost unknown: give --price IN,CACHED,OUT in USD for a million tokens"
        )


def _numbers(row: Mapping[str, Any]) -> tuple[str, ...]:
    tokens, cost = row["tokens"], row["cost_usd"]
    expected = tokens["expected"]
    return (
        _span(f"{row['episodes']['least']:,}", f"{row['episodes']['most']:,}"),
        "unknown" if row["requests"]["bound"] is None else f"{row['requests']['bound']:,}",
        "unknown" if expected is None else _span(millions(expected["least"]), millions(expected["most"])),
        "unknown" if tokens["bound"] is None else millions(tokens["bound"]),
        "unknown" if cost is None else _span(f"{cost['least']:,.2f}", f"{cost['most']:,.2f}"),
    )


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _agent_line(agent: Mapping[str, Any]) -> str:
    episodes = _span(str(agent["episodes"]["least"]), str(agent["episodes"]["most"]))
    line = f"{agent['agent']} ({agent['name']}): {episodes} episodes"
    if agent["requests"] is None:
        return f"{line}; what they use is not known"
    if not agent["requests"]:
        return f"{line}, offline"
    cost = "" if agent["cost_usd"] is None else f", ${agent['cost_usd']:,.2f}"
    return f"{line}, at most {agent['requests']:,} requests and {millions(agent['tokens'])} M tokens{cost}"
