"""Sub-commands that are imported when they are asked for: `chase --help` and `chase --version` start at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS: Mapping[str, str] = {
    "audit": "Measure a gain with everything of the protocol neutral, search for what else destroys it, and judge.",
    "analyze": "Judge a gain by scores that another runner produced: gain, gain destruction, intervals and an audit's "
    "verdict.",
    "plan": "Say how many tasks and rollouts it takes to confirm or certify a gain destruction, and what more of each "
    "buys.",
    "scan": "Say which observables of a benchmark give its evidence or its answers away, and write what takes that "
    "away.",
    "repair": "Take out of a harness what an audit called a shortcut, and measure what is left on other tasks.",
    "rollout": "Score a harness: the mean within task, then across tasks. What the store has is not run again.",
    "evolve": "Evolve a harness: propose, select under the archive's constraints, challenge, confirm; at the end "
    "certify once.",
    "compare": "Compare methods: each over every seed, in one store; when all are done the sealed tasks are opened "
    "once for all.",
    "certify": "Print the certification of a finished `chase evolve`; one made with --no-certify is certified now, "
    "under the run's budget where no other is given.",
    "runs": "List the workspace's runs, newest first: what each is on, how far it is, and in a few words what came of "
    "it.",
    "show": "Print what `chase report` writes of a run: verdict, then tables, section by section.",
    "report": "Write the report of a run: one HTML file, tables and figures beside it.",
    "doctor": "Check Python, sandbox, disk and store, and with a model its key, answer, tool calls, JSON schema, "
    "usage, price.",
    "demo": "Audit a harness that cheats and an honest one, repair the cheat, and see what optimisers do (simulated).",
    "theory": "Work out the paper's theorems on numbers of your own, with their conditions in words.",
    "bench": "Look at benchmarks: list, show, validate, stats, export; make one of your own: init, check, import.",
    "harness": "Start, check, read and compare harnesses (folders).",
    "firewall": "Check transformations, and the firewall that checks them.",
    "archive": "Look at archived counterfactuals and replay them.",
    "officeqa": "OfficeQA: make data ready, score, split questions, count layout as the paper does; make a sample.",
    "store": "Look into, check, tidy and export a workspace's store (.chase/).",
    "view": "Look at a workspace in a browser: runs and comparisons, a run as it happens, and the traces behind every "
    "figure.",
    "trace": "Read rollouts: list them, show what happened in one.",
}
"""By name, with the first paragraph of its help. Its module is `chase.cli.NAME`."""


class LateCommands(Mapping[str, Any]):
    """Commands by name, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        module, parent = import_module(f"chase.cli.{name}"), typer.Typer()
        if hasattr(module, "app"):
            parent.add_typer(module.app, name=name, help=COMMANDS[name])
        else:
            parent.command(name)(getattr(module, name))
        return typer.main.get_group(parent).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LateGroup(TyperGroup):
    """A group whose help is printed without importing what it lists."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = LateCommands()  # type: ignore[assignment]
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._listing:
            return TyperCommand(name=cmd_name, help=COMMANDS[cmd_name])
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False
