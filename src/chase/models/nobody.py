"""What stands where a model would in a run of agents that play by themselves: it is asked nothing."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo

from chase.core.errors import UserError
from chase.models.config import NO_MODEL, ModelConfig
from chase.models.local import LocalModel


def nobody(config: ModelConfig) -> LocalModel:
    """A model that refuses every request."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise UserError(f"model={NO_MODEL} answers nothing: it is for agents of your own (--agent-command).")

    return LocalModel(respond, name=NO_MODEL, version="1")
