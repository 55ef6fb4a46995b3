"""The reader as a model: messages and tools in, a tool call or an answer out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from chase.core.errors import UserError, choose
from chase.core.keyed import digest
from chase.models.config import ModelConfig
from chase.models.local import Heard, LocalModel
from chase.models.reader.directives import VOCABULARY, read_directives
from chase.models.reader.mind import Answer, Call, Memory, Mind, Parameters
from chase.models.reader.question import understand
from chase.models.reader.reading import read_result

NAME = "sim:reader"
_CHARACTERS_PER_TOKEN = 4


def load_parameters(changes: Mapping[str, float] | None = None) -> Parameters:
    """The frozen parameters, with changes for studies of what each does."""
    frozen = tomllib.loads(files("chase.models.reader").joinpath("parameters.toml").read_text())
    for name, value in (changes or {}).items():
        choose("parameter of sim:reader", name, frozen)
        if isinstance(value, bool) or not isinstance(value, int | float) or (name == "results" and value % 1):
            raise UserError(f"parameter of sim:reader {name}={value} must be a number like {frozen[name]}.")
    return Parameters(**{**frozen, **(changes or {})})


def reader_model(config: ModelConfig) -> LocalModel:
    """The simulated reader. Settings named after parameters change them and enter the fingerprint."""
    changes = {name: value for name, value in config.settings.items() if name not in ("seed", "temperature")}
    parameters = load_parameters(changes)

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seed = int((info.model_settings or {}).get("seed") or 0)
        return _respond(messages, info.function_tools, parameters, seed)

    version = digest({"code": 2, "parameters": [getattr(parameters, n) for n in Parameters.__slots__]})
    return LocalModel(respond, name=NAME, version=version, vocabulary=VOCABULARY)


def _respond(
    messages: list[ModelMessage], tools: list[ToolDefinition], parameters: Parameters, seed: int
) -> ModelResponse:
    heard = Heard.of(messages)
    memory = Memory()
    for answer in heard.answers:
        memory.take_in(answer.tool, answer.arguments, answer.text, read_result(answer.tool, answer.text))
    understood = understand(heard.question)
    step: Call | Answer
    if understood is None:
        step = Answer("I do not understand the question.")
    else:
        mind = Mind(parameters, read_directives("\n".join(heard.instructions)), understood, seed, _budgets(tools))
        step = mind.next(memory)
    return _say(step, len(messages), len(heard.question) + heard.characters)


def _say(step: Call | Answer, turn: int, characters: int) -> ModelResponse:
    """The response, with token counts estimated from characters."""
    if isinstance(step, Call):
        part: ToolCallPart | TextPart = ToolCallPart(step.tool, dict(step.arguments), f"call-{turn}")
        written = len(step.tool) + len(str(step.arguments))
    else:
        part, written = TextPart(step.text), len(step.text)
    usage = RequestUsage(
        input_tokens=characters // _CHARACTERS_PER_TOKEN, output_tokens=max(1, written // _CHARACTERS_PER_TOKEN)
    )
    return ModelResponse(parts=[part], usage=usage)


def _budgets(tools: list[ToolDefinition]) -> dict[str, int]:
    """How many calls each tool's description says there are."""
    found = {tool.name: re.search(r"\bone of (\d+)\b", (tool.description or "").lower()) for tool in tools}
    return {name: int(match.group(1)) if match else 1_000 for name, match in found.items()}
