"""Which Proposer and Challenger a run has, from its settings."""

from __future__ import annotations

from typing import Any

from chase.challengers.llm import LanguageModelChallenger
from chase.challengers.mining import MiningChallenger
from chase.core.errors import UserError, choose
from chase.core.interfaces import Challenger, Proposer
from chase.models.chat import ChatModel
from chase.proposers.llm import LanguageModelProposer
from chase.proposers.mining import MiningProposer
from chase.runs.models import Models
from chase.runs.settings import AuditSettings, Challengers, EvolveSettings

KINDS = ("mining", "llm", "coding-agent")


def make_proposer(settings: EvolveSettings, models: Models) -> Proposer:
    """The Proposer that the settings name."""
    kind = _kind("proposer", settings.proposer, settings.proposer_model, ("command", settings.command))
    if kind == "mining":
        return MiningProposer(settings.prior)
    if kind == "coding-agent":
        from chase.proposers.coding_agent import CodingAgentProposer

        proposer = CodingAgentProposer(str(settings.command), **_confined(settings))
        proposer.check()
        return proposer
    model = _model(settings.proposer_model or settings.model, models)
    return LanguageModelProposer(model, history_tokens=settings.history_tokens)


def make_challenger(settings: EvolveSettings | AuditSettings, models: Models) -> Challenger:
    """The Challenger that the settings name."""
    command = settings.challenger_command
    kind = _kind("challenger", settings.challenger, settings.challenger_model, ("challenger_command", command))
    if kind == "mining":
        return MiningChallenger(use_diff=not settings.no_diff)
    if kind == "coding-agent":
        from chase.challengers.coding_agent import CodingAgentChallenger

        challenger = CodingAgentChallenger(str(command), **_confined(settings))
        challenger.check()
        return challenger
    model = _model(settings.challenger_model or settings.model, models)
    return LanguageModelChallenger(model, history_tokens=settings.history_tokens)


def _kind(agent: str, named: str | None, model: str | None, command: tuple[str, str | None]) -> str:
    """Which kind of agent is meant: what is named, else what its model or command says, else the offline one."""
    setting, given = command
    kind = choose(agent, named, KINDS) if named is not None else "llm" if model is not None else "mining"
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


def _model(name: str | None, models: Models) -> ChatModel:
    """The agent's own model, else the run's."""
    return models.get(str(name))


def _confined(settings: Challengers) -> dict[str, Any]:
    return {
        "network": settings.allow_network,
        "unconfined": settings.unconfined,
        "pass_env": tuple(settings.pass_env or ()),
        "readable": tuple(settings.readable or ()),
    }
