"""Token use in words and tables, as the paper's two tables have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from chase.runs.accounting import STAGES, Account
from chase.runs.rendering import millions, usd

TITLES = {"optimisation": "optimisation and selection", "certification": "certification"}


def token_lines(tokens: Mapping[str, Any]) -> Iterator[str]:
    """A line for each stage of a run that there was: what it used, and what of it was paid for here."""
    for stage in STAGES:
        found, paid = tokens[stage], tokens[stage]["paid"]
        if not found["episodes"] and stage == "certification":
            continue
        verdicts = f", {found['judged']:,} of them verdicts" if found["judged"] else ""
        yield (
            f"{TITLES[stage]}: {found['episodes']:,} episodes ({found['reused']:,} reused{verdicts}), "
            f"{millions(found['total'])} M tokens, {millions(found['uncached'])} M "
            f"without cached input; paid for {millions(paid['total'])} M, "
            f"{usd(paid['cost_usd'])}"
        )


def judge_lines(payload: Mapping[str, Any]) -> Iterator[str]:
    """Who judged the answers, and what of it was paid for here; nothing where a function scores them."""
    if (judge := payload.get("judge")) is not None:
        yield (
            f"judged by {judge['model']}, a language model: {judge['verdicts']:,} verdicts asked for in this run, "
            f"{judge['requests']:,} requests, {judge['input_tokens']:,} input and {judge['output_tokens']:,} output "
            f"tokens, {usd(judge['cost_usd'])}; the others were in the store"
        )


def token_table(title: str, accounts: Sequence[Account]) -> Table:
    """One of the two tables. Tokens in millions."""
    table = Table(title=title, title_justify="left")
    for name in ("run", "method"):
        table.add_column(name, overflow="fold")
    for name in ("episodes", "reused", "total (M)", "without cached (M)", "paid total (M)", "paid USD"):
        table.add_column(name, justify="right")
    for account in accounts:
        row = account.to_json()
        numbers = (f"{row['episodes']:,}", f"{row['reused']:,}", millions(row["total"]), millions(row["uncached"]))
        paid = row["paid"]
        table.add_row(account.run, account.method, *numbers, millions(paid["total"]), usd(paid["cost_usd"]))
    return table
