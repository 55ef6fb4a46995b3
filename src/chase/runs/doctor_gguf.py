"""What `chase doctor` finds out of a GGUF file: how it is served, how fast it is and how it calls tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chase.core.errors import ChaseError, SetupError, UserError
from chase.core.values import Usage
from chase.models.chat import ChatModel, Reply
from chase.models.config import ModelConfig, ToolMode
from chase.models.connect import connect
from chase.models.gguf.options import MOST_CONTEXT_TOKENS
from chase.runs.checks import TOOL, Check, calls_tool, failed, ok, question, skipped

OFFICES = ("Harbor Office", "Bridge Authority", "Canal Board", "Mill Council", "Tower Trust")
"""One question for each: a single reply says little of a small model."""
SECONDS = 1_200.0
"""For all requests of a diagnosis. On busy cores a small model reads ten tokens a second."""
ENOUGH = 4
"""Right calls among the questions, for a tool mode that can be relied on."""


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """What came of the questions in one tool mode."""

    mode: ToolMode
    replies: Sequence[Reply]

    @property
    def right(self) -> int:
        return sum(calls_tool(reply.response.parts) for reply in self.replies)

    @property
    def words(self) -> str:
        return f"{self.right} of {len(self.replies)} replies called the tool with valid arguments"


async def check_gguf(config: ModelConfig, tell: Callable[[str], object] | None) -> list[Check]:
    """The checks of a file, its server, and its replies in both tool modes."""
    say = tell or (lambda message: None)
    other: ToolMode = "json-schema" if config.tool_mode == "native" else "native"
    try:
        async with asyncio.timeout(SECONDS):
            own, served, usage = await _try(config, say)
            second, _, _ = await _try(replace(config, tool_mode=other), say)
    except (SetupError, UserError) as error:
        return [failed("file", str(error))]
    except TimeoutError:
        return [failed("answer", f"it did not answer {2 * len(OFFICES)} questions within {SECONDS:g} s.")]
    except ChaseError as error:
        return [failed("answer", str(error))]
    return [
        skipped("key", "its server has one of its own for each command."),
        ok("file", served),
        ok("answer", _speed(usage)),
        _tool_calls(config, own, second),
        _other_mode(own, second),
        _cached_usage(config, usage),
        ok("price", "known: a model on this machine costs nothing.", needed=False),
        ok("served-model", f"'{own.replies[0].served_model}' answered for '{config.name}'.", needed=False),
    ]


async def _try(config: ModelConfig, tell: Callable[[str], object]) -> tuple[_Tried, str, Usage]:
    async with connect(config, tell=tell) as model:
        model.make_room(MOST_CONTEXT_TOKENS)  # as for the benchmark that needs most: what fits then always fits
        replies = []
        for number, office in enumerate(OFFICES, 1):
            tell(f"{config.tool_mode} tool calls, question {number} of {len(OFFICES)}")
            replies.append(await model.request(question(office), [TOOL], seed=number))
        usage = sum((reply.usage for reply in replies), Usage())
        return _Tried(mode=config.tool_mode, replies=replies), _served(model), usage


def _served(model: ChatModel) -> str:
    file = model.file
    assert file is not None
    how = file.serving
    return (
        f"{file.weights.bytes / (1 << 30):.2f} GiB, {how.slots} slots of up to {how.context_tokens:,} tokens, "
        f"{how.threads} "
        f"threads, prompt cache {'on' if how.prompt_cache else 'off'}; {model.note}."
    )


def _speed(usage: Usage) -> str:
    read = usage.input_tokens - usage.cached_tokens
    return (
        f"{usage.requests} replies in {usage.wall_seconds:.1f} s: {read:,} tokens read, {usage.cached_tokens:,} found "
        f"in the cache, {usage.output_tokens:,} written."
    )


def _tool_calls(config: ModelConfig, own: _Tried, other: _Tried) -> Check:
    said = f"{own.words} (tool_mode '{own.mode}')"
    if own.right >= ENOUGH and own.right >= other.right:
        return ok("tool-calls", f"{said}: keep it.")
    table = f'[models."{config.name}"]'
    if other.right > own.right:
        advice = f"set tool_mode = '{other.mode}' in {table}: {other.right} of {len(other.replies)} are right with it"
        return (ok if own.right >= ENOUGH else failed)("tool-calls", f"{said}; {advice}.")
    return failed("tool-calls", f"{said}, and no more in the other mode: use a larger model.")


def _other_mode(own: _Tried, other: _Tried) -> Check:
    by_schema = own if own.mode == "json-schema" else other
    enough = by_schema.right >= ENOUGH
    return (ok if enough else failed)("json-schema", f"{by_schema.words} by JSON schema.", needed=False)


def _cached_usage(config: ModelConfig, usage: Usage) -> Check:
    name = "cached-usage"
    if usage.cached_tokens:
        return ok(name, f"{usage.cached_tokens} of {usage.input_tokens} input tokens were cached.", needed=False)
    if config.server is not None and not config.server.prompt_cache:
        return skipped(name, "prompt_cache is off.")
    return failed(name, "no input token was found in the cache: every turn is read from its beginning.", needed=False)
