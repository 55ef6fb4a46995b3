"""Which Proposer and Challenger a run has, and the models that it asks, from its settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from chase.challengers.llm import LanguageModelChallenger
from chase.challengers.mining import MiningChallenger
from chase.cli.progress import say_aside
from chase.cli.settings import boolean, integer, model_config, text
from chase.core.errors import UserError, choose
from chase.core.interfaces import Challenger, Proposer
from chase.models.chat import ChatModel
from chase.models.config import OPENAI_COMPATIBLE, ModelConfig, Price
from chase.models.connect import connect, make_pacer
from chase.models.meter import Meter
from chase.models.pacing import Pacer
from chase.proposers.llm import LanguageModelProposer
from chase.proposers.mining import MiningProposer

KINDS = ("mining", "llm", "coding-agent")


class Models:
    """The models of a run by name: one name, one model. Models at one address with the same limits share a pacer."""

    def __init__(
        self, file: Mapping[str, Any], base_url: str | None, *, patience_seconds: float = 0.0,
        meter: Meter | None = None, prices: Mapping[str, Price | None] | None = None,
    ) -> None:  # fmt: skip
        """All are on one meter; `prices` win over the file's."""
        self._file = file
        self._base_url = base_url
        self._prices = prices or {}
        self.meter = meter
        self._patience = patience_seconds
        self._pacers: dict[Any, Pacer] = {}
        self.connected: dict[str, ChatModel] = {}

    def config(self, name: str) -> ModelConfig:
        own_address = name.startswith(f"{OPENAI_COMPATIBLE}:")
        config = model_config(name, self._file, base_url=self._base_url if own_address else None)
        price = self._prices.get(name)
        return config if price is None else replace(config, price=price)

    def get(self, name: str) -> ChatModel:
        """The model of a name. A missing key or SDK is a `SetupError`; nothing is sent yet."""
        if name not in self.connected:
            config = self.config(name)
            made = make_pacer(config, patience_seconds=self._patience, on_outage=say_aside)
            pacer = self._pacers.setdefault(_pace(config), made)
            self.connected[name] = connect(config, pacer=pacer, meter=self.meter)
        return self.connected[name]

    def tables(self) -> dict[str, dict[str, Any]]:
        """What a config file must say of the models in use, addresses included."""
        given = self._file.get("models", {})
        found: dict[str, dict[str, Any]] = {}
        for name, model in self.connected.items():
            address = {"base_url": model.config.base_url} if model.config.base_url else {}
            if table := {**given.get(name, {}), **address}:
                found[name] = table
        return found

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While their connections are open."""
        async with AsyncExitStack() as stack:
            for model in self.connected.values():
                await stack.enter_async_context(model)
            yield


def _pace(config: ModelConfig) -> Any:
    """What two models have in common that are driven together: the address and all that limits them there."""
    limits = (config.max_concurrency, config.requests_per_minute, config.tokens_per_minute, config.retries)
    return config.provider, config.base_url, limits


def make_proposer(settings: Mapping[str, Any], models: Models) -> Proposer:
    """The Proposer that the settings name."""
    kind = _kind(settings, "proposer", "command")
    if kind == "mining":
        return MiningProposer(text(settings, "prior"))
    if kind == "coding-agent":
        from chase.proposers.coding_agent import CodingAgentProposer

        proposer = CodingAgentProposer(text(settings, "command"), **_confined(settings))
        proposer.check()
        return proposer
    return LanguageModelProposer(models.get(_model(settings, "proposer")), history_tokens=_history_tokens(settings))


def make_challenger(settings: Mapping[str, Any], models: Models) -> Challenger:
    """The Challenger that the settings name."""
    kind = _kind(settings, "challenger", "challenger_command")
    if kind == "mining":
        return MiningChallenger(use_diff=not boolean(settings, "no_diff"))
    if kind == "coding-agent":
        from chase.challengers.coding_agent import CodingAgentChallenger

        challenger = CodingAgentChallenger(text(settings, "challenger_command"), **_confined(settings))
        challenger.check()
        return challenger
    return LanguageModelChallenger(models.get(_model(settings, "challenger")), history_tokens=_history_tokens(settings))


def _kind(settings: Mapping[str, Any], agent: str, command: str) -> str:
    """Which kind of agent is meant: what is named, else what its model or command says, else the offline one."""
    model_key = f"{agent}_model"
    has_model, has_command = settings.get(model_key) is not None, settings.get(command) is not None
    named = settings[agent]
    kind = choose(agent, named, KINDS) if isinstance(named, str) else "llm" if has_model else "mining"
    if named is None and has_command:
        kind = "coding-agent"
    flags = {name: f"--{name.replace('_', '-')}" for name in (agent, model_key, command)}
    if kind == "coding-agent" and not has_command:
        raise UserError(f"{agent}=coding-agent needs a command: give {flags[command]} 'PROGRAM ARGUMENTS'.")
    if has_command and kind != "coding-agent":
        raise UserError(f"{flags[command]} is for {flags[agent]} coding-agent: leave one of the two out.")
    if has_model and kind != "llm":
        raise UserError(f"{flags[model_key]} is for {flags[agent]} llm: leave one of the two out.")
    return kind


def _model(settings: Mapping[str, Any], agent: str) -> str:
    """The agent's own model, else the run's."""
    return text(settings, f"{agent}_model" if settings.get(f"{agent}_model") is not None else "model")


def _history_tokens(settings: Mapping[str, Any]) -> int:
    return integer(settings, "history_tokens", low=100, high=10**8)


def _confined(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "network": boolean(settings, "allow_network"),
        "unconfined": boolean(settings, "unconfined"),
        "pass_env": _names(settings, "pass_env"),
        "readable": _names(settings, "readable"),
    }


def _names(settings: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = settings[key]
    names = value.split(",") if isinstance(value, str) else value or []
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise UserError(f"{key}={value} must be names with commas between them.")
    return tuple(name.strip() for name in names)
