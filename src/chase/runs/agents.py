"""Which Proposer and Challenger a run has, from its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chase.challengers.llm import LanguageModelChallenger
from chase.challengers.mining import MiningChallenger
from chase.core.agents import Agent
from chase.core.errors import UserError, choose
from chase.core.interfaces import Challenger, Proposer
from chase.models.chat import ChatModel
from chase.proposers.llm import LanguageModelProposer
from chase.proposers.mining import MiningProposer
from chase.runs.agent_plug_ins import find_agent, installed
from chase.runs.models import Models
from chase.runs.settings import AuditSettings, Challengers, Proposers

KINDS = ("mining", "llm", "coding-agent")
"""Beside those of installed packages."""
OF_A_COMMAND = ("coding-agent proposer", "coding-agent challenger")
USED_BY: Mapping[str, tuple[str, ...]] = {
    "prior": ("mining proposer",),
    "no_diff": ("mining challenger",),
    "history_tokens": ("llm proposer", "llm challenger"),
    "allow_network": OF_A_COMMAND,
    "unconfined": (*OF_A_COMMAND, "own agent"),
    "pass_env": (*OF_A_COMMAND, "own agent"),
    "readable": (*OF_A_COMMAND, "own agent"),
}
"""Settings that mean something to some agents only."""


def make_proposer(settings: Proposers, models: Models) -> Proposer:
    """The Proposer that the settings name."""
    kind = proposer_kind(settings)
    if kind not in KINDS:
        return find_agent("proposer", kind)
    if kind == "mining":
        return MiningProposer(settings.prior)
    if kind == "coding-agent":
        from chase.proposers.coding_agent import CodingAgentProposer

        proposer = CodingAgentProposer(str(settings.command), **_confined(settings))
        proposer.check()
        return proposer
    model = _model("proposer", settings.proposer_model or settings.model, models)
    return LanguageModelProposer(model, history_tokens=settings.history_tokens)


def make_challenger(settings: Proposers | AuditSettings, models: Models) -> Challenger:
    """The Challenger that the settings name."""
    kind = challenger_kind(settings)
    if kind not in KINDS:
        return find_agent("challenger", kind)
    if kind == "mining":
        return MiningChallenger(use_diff=not settings.no_diff)
    if kind == "coding-agent":
        from chase.challengers.coding_agent import CodingAgentChallenger

        challenger = CodingAgentChallenger(str(settings.challenger_command), **_confined(settings))
        challenger.check()
        return challenger
    model = _model("challenger", settings.challenger_model or settings.model, models)
    return LanguageModelChallenger(model, history_tokens=settings.history_tokens)


def proposer_kind(settings: Proposers) -> str:
    return _kind("proposer", settings.proposer, settings.proposer_model, ("command", settings.command))


def challenger_kind(settings: Challengers) -> str:
    command = settings.challenger_command
    return _kind("challenger", settings.challenger, settings.challenger_model, ("challenger_command", command))


def refuse_unused(given: Mapping[str, Any], agents: Sequence[str]) -> None:
    """Refuse what was given and means nothing to any of a run's agents, each `KIND ROLE`."""
    for name in given.keys() & USED_BY.keys():
        if not set(USED_BY[name]) & set(agents):
            flag, users = f"--{name.replace('_', '-')}", " or ".join(USED_BY[name])
            raise UserError(f"{flag} is for a {users}, and this run has a {' and a '.join(agents)}: leave it out.")


def _kind(agent: Agent, named: str | None, model: str | None, command: tuple[str, str | None]) -> str:
    """Which kind of agent is meant: what is named, else what its model or command says, else the offline one."""
    setting, given = command
    kind = (
        choose(agent, named, (*KINDS, *installed(agent)))
        if named is not None
        else "llm"
        if model is not None
        else "mining"
    )
    if named is None and given is not None:
        kind = "coding-agent"
    own, by_model, by_command = f"--{agent}", f"--{agent}-model", f"--{setting.replace('_', '-')}"
    if kind == "coding-agent" and given is None:
        raise UserError(f"{agent}=coding-agent needs a command: give {by_command} 'PROGRAM ARGUMENTS'.")
    if given is not None and kind != "coding-agent":
        raise UserError(f"{by_command} is for {own} coding-agent: leave one of the two out.")
    if model is not None and kind != "llm":
        raise UserError(f"{by_model} is for {own} llm: leave one of the two out.")
    return kind


def _model(agent: str, name: str | None, models: Models) -> ChatModel:
    """The agent's own model, else the run's; refused where it only answers a benchmark's tasks."""
    model = models.get(str(name))
    if model.config.embedded:
        raise UserError(
            f"{agent}=llm needs a language model, and {name} only answers tasks: give --{agent}-model M, or leave "
            f"--{agent} out for the offline one."
        )
    return model


def _confined(settings: Challengers) -> dict[str, Any]:
    return {
        "network": settings.allow_network,
        "unconfined": settings.unconfined,
        "pass_env": tuple(settings.pass_env or ()),
        "readable": tuple(settings.readable or ()),
    }
