"""Agents of one's own in a run: which are meant, where they work while it lasts, and what was seen of their work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from chase.agents.own_agent.command import AgentCommand, CommandAgent
from chase.agents.own_agent.places import Places
from chase.agents.own_agent.watching import is_call
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, OwnAgent
from chase.core.values import Json
from chase.engine.rollout import Contestant
from chase.harness.spec import Harness
from chase.methods.reach import OUT_OF_REACH
from chase.models.config import NO_MODEL
from chase.runs.config import RawSettings
from chase.runs.life import OpenRun
from chase.runs.settings import AuditSettings, RolloutSettings
from chase.store.records import StoredRollout
from chase.store.workspace import Workspace

S = TypeVar("S", AuditSettings, RolloutSettings)
OF_HARNESSES = ("model", "harness", "baseline", "whole", "workers")
"""Settings that say nothing where an agent of one's own plays."""
OF_MODELS = ("base_url", "price")
"""Settings that say nothing where there is no model at all: the Challenger may be one."""
MOST_WORDS = 200
_ENDS = ("command", "exception")
"""Events of a trace in which an agent's errors are."""
OF_OWN_AGENTS = ("agent_folder", "agent_network", "baseline_command", "baseline_folder")


def settled(said: RawSettings[S]) -> S:
    """The settings of a run; where agents of one's own play, with no model and as many at a time as there are cores."""
    settings = said.settings()
    if not settings.agent_command:
        if idle := [name for name in OF_OWN_AGENTS if name in said.given]:
            raise UserError(f"{_flag(idle[0])} is for an agent of your own: give --agent-command, or leave it out.")
        if settings.model == NO_MODEL:
            raise UserError(f"model={NO_MODEL} answers nothing: it is for agents of your own. Name a model.")
        return settings
    idle_too: tuple[str, ...] = OF_MODELS if getattr(settings, "challenger_model", None) is None else ()
    for name in (*OF_HARNESSES, *idle_too):
        if getattr(settings, name, None) not in (None, False, NO_MODEL):
            more = " A Challenger's is --challenger-model." if name == "model" else ""
            raise UserError(f"{_flag(name)} is for harnesses, and --agent-command plays by itself: leave it out.{more}")
    changed: dict[str, Any] = {"model": NO_MODEL}
    if "concurrency" not in said.given and "concurrency" not in said.file:
        changed["concurrency"] = os.cpu_count() or 1
    return settings.model_copy(update=changed)


def own_agent(settings: AuditSettings | RolloutSettings, role: str = "agent") -> OwnAgent:
    """The agent that settings name, or its `baseline`; refused at once where it could not be started."""
    command, folder = getattr(settings, f"{role}_command"), getattr(settings, f"{role}_folder")
    if command is None:
        raise UserError("--agent-command needs a baseline that its gain is over: give --baseline-command.")
    if not isinstance(command, str):
        given: OwnAgent = command
        return given
    folder = folder or settings.agent_folder
    if folder is None:
        raise UserError(f"{_flag(role)}-command needs {_flag(role)}-folder DIR: its files are the agent's identity.")
    agent = CommandAgent(
        AgentCommand(
            command=command,
            folder=Path(folder).expanduser().absolute(),
            network=settings.agent_network,
            unconfined=settings.unconfined,
            pass_env=tuple(settings.pass_env or ()),
            readable=tuple(Path(path).expanduser().absolute() for path in settings.readable or ()),
        )
    )
    agent.check()
    return agent


def check_hidden(agents: Sequence[Contestant], benchmark: Benchmark[Any], workspace: Workspace) -> None:
    """Refuse commands whose files would show them the benchmark's answers, or the store."""
    for agent in agents:
        if isinstance(agent, CommandAgent):
            agent.check_hidden([workspace.state, *benchmark.private_paths])


@contextmanager
def at_work(agents: Sequence[Contestant], run: OpenRun, private: Sequence[Path]) -> Iterator[None]:
    """Commands have a place to work, while the block lasts."""
    commands = [agent for agent in agents if isinstance(agent, CommandAgent)]
    if not commands:
        yield
        return
    places = Places()
    try:
        for agent in commands:
            agent.places, agent.hidden = places, [run.store.workspace.state, *private]
        yield
    finally:
        places.close()


def seen_of(run: OpenRun, agents: Mapping[str, Contestant]) -> dict[str, Json] | None:
    """What the run's traces say of agents that played by themselves, by name; None where there were none."""
    own = {name: agent for name, agent in agents.items() if not isinstance(agent, Harness)}
    if not own:
        return None
    used = [found.rollout for found in run.store.used(run.id) if found.rollout.outcome.status == "scored"]
    found: dict[str, Json] = {}
    for name, agent in own.items():
        mine = [rollout for rollout in used if rollout.key.harness == agent.hash]
        traces = [run.store.trace(rollout.trace_digest) for rollout in mine]
        calls = [sum(is_call(event) for event in trace["events"]) for trace in traces]
        ends = [event for trace in traces for event in trace["events"] if event["event"] == "command"]
        found[name] = {
            **agent.describe(),
            "hash": agent.hash,
            "rollouts": len(mine),
            "tool_calls": sum(calls),
            "rollouts_with_tool_calls": sum(count > 0 for count in calls),
            "file_reads_seen": all(event["reads_seen"] for event in ends),
            "outcomes": dict(Counter(rollout.outcome.reason for rollout in mine)),
            "last_words": _last_words(mine, traces),
        }
    return found


def _last_words(rollouts: Sequence[StoredRollout], traces: Sequence[Mapping[str, Json]]) -> str:
    """The last line of errors of the first rollout without an answer that left any."""
    for rollout, trace in zip(rollouts, traces, strict=True):
        if rollout.outcome.reason != "answered":
            said = [
                event.get("stderr") or event.get("text", "") for event in trace["events"] if event["event"] in _ENDS
            ]
            if lines := "\n".join(said).strip().splitlines():
                return lines[-1].strip()[:MOST_WORDS]
    return ""


def notes_on(seen: Mapping[str, Json] | None, tried: Sequence[Mapping[str, Json]] = ()) -> list[str]:
    """What whoever reads a result has to know of the agents in it; `tried` is what an audit tried."""
    idle = dict.fromkeys(record["what"] for record in tried if record["reason"] == OUT_OF_REACH)
    notes = [f"not tested: {what}: {OUT_OF_REACH}" for what in idle]
    for name, agent in (seen or {}).items():
        ended = {reason: count for reason, count in agent["outcomes"].items() if reason != "answered"}
        if ended:
            said = ", ".join(f"{_SENTENCES.get(reason, reason)} in {count}" for reason, count in sorted(ended.items()))
            words = f". The first one's last words: {agent['last_words']}" if agent["last_words"] else ""
            notes.append(f"{name}: of {agent['rollouts']} rollouts {said}; each counts as 0{words}")
        if not agent["tool_calls"]:
            notes.append(f"{name} called no tool over MCP: what changes the tools alone cannot touch it")
        if agent.get("kind") == "command" and not agent["confined"]:
            notes.append(f"{name} ran unconfined: it could see answers, and nothing kept it from using them")
    return notes


_SENTENCES = {
    "no-answer": "left no answer.txt",
    "time-limit": "was stopped at the benchmark's time limit",
    "output-limit": "was stopped for too much output",
    "disk-limit": "was stopped for too much in its folder",
    "process-limit": "was stopped for too many processes",
    "memory-limit": "was stopped for too much memory",
}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
