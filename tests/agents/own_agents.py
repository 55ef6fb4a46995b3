"""Agents of our own that stand for other people's: small programs in a declared folder, played on one task."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chase.agents.own_agent.command import AgentCommand, CommandAgent
from chase.agents.own_agent.places import Places
from chase.core.interfaces import Environment
from chase.core.own_agents import Played, Posed
from chase.core.values import Limits
from chase.engine.own_agent import WatchedEnvironment
from chase.engine.trace import Trace
from tests.agents.desk_commands import PYTHON

READABLE = (Path(sys.base_prefix),)
"""What a confinement must show for the interpreter."""


def agent_folder(folder: Path, body: str) -> Path:
    """A declared folder with one program."""
    folder.mkdir(parents=True, exist_ok=True)
    start = "import json, os, pathlib, socket, subprocess, sys, time\nfrom pathlib import Path\n"
    (folder / "agent.py").write_text(start + textwrap.dedent(body), encoding="utf-8")
    return folder


def command_agent(folder: Path, body: str, **given: Any) -> CommandAgent:
    given.setdefault("readable", READABLE)
    command = given.pop("command", f"{PYTHON} -B agent/agent.py")
    return CommandAgent(AgentCommand(command=command, folder=agent_folder(folder, body), **given))


@dataclass(frozen=True)
class Hurried(WatchedEnvironment):
    """An environment with other limits."""

    held: Limits | None = None

    @property
    def limits(self) -> Limits:
        return self.held or self.environment.limits


def pose(benchmark: Any, task: str, *, variant: str = "released", seconds: float = 60.0) -> tuple[Posed, Trace]:
    """A task as the engine poses it, and the trace that fills."""
    transformation = benchmark.variant(variant)
    environment: Environment = benchmark.environment(task, transformation)
    trace = Trace(task, environment.question)
    limits = replace(environment.limits, wall_seconds=seconds)
    posed = Posed(
        view=benchmark.view(task, transformation),
        environment=Hurried(environment, trace, limits),
        answer_form=benchmark.answer_form,
        seed=5,
        note=trace.add,
    )
    return posed, trace


@contextmanager
def working(agent: CommandAgent, hidden: Sequence[Path] = ()) -> Iterator[CommandAgent]:
    places = Places()
    agent.places, agent.hidden = places, hidden
    try:
        yield agent
    finally:
        places.close()


async def played(agent: CommandAgent, posed: Posed) -> Played:
    """One rollout, with a place to work."""
    with working(agent):
        return await agent.play(posed)
