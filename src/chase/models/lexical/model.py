"""The program as a model: messages and tools in, a tool call or an answer out."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from chase.core.errors import UserError
from chase.models.config import LEXICAL, ModelConfig
from chase.models.lexical.directives import VOCABULARY, read_directives
from chase.models.lexical.mind import Call, Mind, Notes
from chase.models.lexical.question import understand
from chase.models.lexical.toolbox import Toolbox
from chase.models.local import Heard, LocalModel

VERSION = "2"
_CHARACTERS_PER_TOKEN = 4


def lexical_model(config: ModelConfig) -> LocalModel:
    """The program. It has no parameters: settings are refused, but for seed and temperature, which it ignores."""
    if unknown := sorted(set(config.settings) - {"seed", "temperature"}):
        raise UserError(f"model '{LEXICAL}' has no settings: leave {unknown[0]} out.")

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return _respond(messages, info.function_tools)

    return LocalModel(respond, name=LEXICAL, version=VERSION, vocabulary=VOCABULARY)


def _respond(messages: list[ModelMessage], definitions: list[ToolDefinition]) -> ModelResponse:
    heard = Heard.of(messages)
    tools = Toolbox.recognise(definitions)
    mind = Mind(
        asked=understand(heard.question),
        told=read_directives("\n".join(heard.instructions)),
        tools=tools,
        notes=Notes.of(heard.answers, tools),
    )
    step = mind.next()
    if isinstance(step, Call):
        part: ToolCallPart | TextPart = ToolCallPart(step.tool, dict(step.arguments), f"call-{len(messages)}")
        said = len(step.tool) + len(str(step.arguments))
    else:
        part, said = TextPart(step), len(step)
    read = len(heard.question) + heard.characters
    usage = RequestUsage(
        input_tokens=read // _CHARACTERS_PER_TOKEN, output_tokens=max(1, said // _CHARACTERS_PER_TOKEN)
    )
    return ModelResponse(parts=[part], usage=usage)
