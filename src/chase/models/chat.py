"""The one way to ask a model: messages and tools in, a reply with its usage out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self, cast

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from chase.core.errors import ChaseError, UserError
from chase.core.keyed import digest
from chase.core.values import ToolSpec, Usage
from chase.models.config import GGUF, OUR_WIRE, ModelConfig, embedded_note
from chase.models.contexts import AnsweredLengths
from chase.models.errors import ContextTooLong
from chase.models.failures import Failures
from chase.models.gguf.model import GgufModel
from chase.models.local import LocalModel, Vocabulary
from chase.models.meter import NOTHING, Amount, Meter, amount_of
from chase.models.pacing import Pacer
from chase.models.prices import Pricing
from chase.models.replies import sound
from chase.models.secrets import Redactor

_TOOL_SETS_KEPT = 256
_CHARACTERS_PER_TOKEN = 4
_FIRST_OUTPUT_TOKENS = 1_024
"""Expected of a reply while none was seen and no `max_tokens` is set."""
_CACHING_ON_REQUEST = frozenset({"anthropic", "bedrock", "openrouter"})
"""Providers that cache a prompt only where the request says so; the others do by themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A model's answer to one request."""

    response: ModelResponse
    """To be appended to the history as it is."""
    usage: Usage
    """Of this request alone; wall time is that of the attempt that succeeded."""
    served_model: str
    """What the provider says has answered."""
    usage_known: bool = True
    """False where the provider reported no usage: the token counts are then 0 and the cost is None."""
    dropped_calls: int = 0
    """Tool calls beyond what one reply may hold; the response is without them."""


class ChatModel:
    """A model as the engine asks it, paced, retried, timed and priced.

    One object serves all rollouts of a run. `request` is called once per turn. Fails with `ModelError`
    (outside the agent, after retries), `ContextTooLong` (the agent's doing), `SetupError` or `UserError` (for
    the user to mend); with a meter also with `BudgetExhausted`. Use it as a context manager, or call `aclose`.
    Whatever a model writes, a reply is sound (`models/replies.py`).
    """

    def __init__(
        self,
        config: ModelConfig,
        model: Model,
        *,
        pacer: Pacer | None = None,
        failures: Failures | None = None,
        meter: Meter | None = None,
        redact: Redactor | None = None,
    ) -> None:
        """`redact` blanks the endpoint's key out of what it replies."""
        self.config = config
        self.meter = meter
        """The run's, shared with its other models; None where nothing is capped."""
        self._model = model
        self._pacer = pacer
        self._failures = failures or Failures(config, Redactor())
        self._pricing = Pricing(config.price, own_address=config.base_url is not None)
        # Nobody is paid for a model on this machine: that is a known cost.
        self._free = (config.embedded or config.provider == GGUF) and config.price is None
        self._settings = request_settings(config, model)
        # What `direct` adds (deadlines, instructions, retry parts) is nothing to these, and costs time.
        self._direct = not isinstance(model, FunctionModel) and config.provider not in OUR_WIRE
        self._tool_sets: dict[tuple[int, ...], tuple[Sequence[ToolSpec], ModelRequestParameters]] = {}
        self._by_content: dict[str, ModelRequestParameters] = {}
        self._lengths = AnsweredLengths()
        self._redact = redact or Redactor.only(())
        self._replies = self._reply_tokens = 0
        if meter is not None and meter.usd is not None and self.expected_usd(1_000, 1_000) is None:
            raise UserError(
                f"budget_usd={meter.usd:g}: the price of model '{config.name}' is not known: give --price "
                f'IN,CACHED,OUT (or price in [models."{config.name}"] of the config), or use --budget-tokens.'
            )

    def __repr__(self) -> str:
        return f"ChatModel({self.config.name!r})"

    @cached_property
    def fingerprint(self) -> str:
        """The digest of what decides an answer: the config's, and the own version of a model on this machine."""
        if isinstance(self._model, LocalModel | GgufModel):
            return digest([self.config.fingerprint, self._model.version])
        return self.config.fingerprint

    @property
    def file(self) -> GgufModel | None:
        """The file that is served here; None of any other model."""
        return self._model if isinstance(self._model, GgufModel) else None

    def make_room(self, history_tokens: int) -> None:
        """Be ready for histories as long as a benchmark allows. Before any request; a model elsewhere has its context.

        It decides an answer, and so the fingerprint.
        """
        if self.file is not None:
            self.file.make_room(history_tokens)
            self.__dict__.pop("fingerprint", None)

    @property
    def most_conversations(self) -> int | None:
        """How many can go on at once without disturbing each other; None where that does not matter."""
        return self.file.serving.slots if self.file is not None else None

    @property
    def note(self) -> str | None:
        """What whoever reads a score has to know of a model on this machine; None of others."""
        return self.file.note if self.file is not None else embedded_note(self.config.name)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """All that an in-process model understands of a harness's texts; None for one that reads."""
        return self._model.vocabulary if isinstance(self._model, LocalModel) else None

    async def request(
        self,
        messages: list[ModelMessage],
        tools: Sequence[ToolSpec],
        *,
        seed: int | None = None,
        deadline: float | None = None,
    ) -> Reply:
        """The reply to a history. `seed` wins over the settings'; `deadline` is in seconds of `now`.

        Messages that were sent must not be changed, only added to. A model in this process is neither paced
        nor held to the deadline.
        """
        settings = self._settings if seed is None else cast(ModelSettings, {**self._settings, "seed": seed})
        if self.meter is None:
            return await self._send(messages, settings, tools, deadline)
        expected, used = self._expected(messages), NOTHING
        await self.meter.reserve(expected)
        try:
            reply = await self._send(messages, settings, tools, deadline)
            used = self._used(reply, expected)
            return reply
        finally:
            self.meter.settle(expected, used)

    def expected_usd(self, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        """What a request with so many tokens would cost; None if the price is unknown."""
        if self._free:
            return 0.0
        usage = RequestUsage(input_tokens=input_tokens, cache_read_tokens=cached_tokens, output_tokens=output_tokens)
        model = self._model
        return self._pricing.expected_usd(usage, model=model.model_name, provider=model.system, address=model.base_url)

    def now(self) -> float:
        """`time.monotonic`, but that it stands still while an outage of the endpoint is waited for."""
        return time.monotonic() if self._pacer is None else self._pacer.now()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        await self._model.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _send(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings,
        tools: Sequence[ToolSpec],
        deadline: float | None,
    ) -> Reply:
        parameters = self._parameters(tools)
        if self._pacer is None:
            return await self._ask(messages, settings, parameters)
        return await self._ask_paced(self._pacer, messages, settings, parameters, deadline)

    def _expected(self, messages: list[ModelMessage]) -> Amount:
        """What a request is expected to use: its history, and as long a reply as those before."""
        if self._replies:
            output = self._reply_tokens // self._replies
        else:
            output = int(self._settings.get("max_tokens") or _FIRST_OUTPUT_TOKENS)
        known = estimate_tokens(messages)
        priced = self.meter is not None and self.meter.usd is not None
        usd = self.expected_usd(known, output) if priced else 0.0
        return Amount(tokens=known + output, usd=usd or 0.0)

    def _used(self, reply: Reply, expected: Amount) -> Amount:
        """What a request used. Where the provider does not say, what was expected: a cap must not miss it."""
        if not reply.usage_known:
            return expected
        self._replies += 1
        self._reply_tokens += reply.usage.output_tokens
        used = amount_of(reply.usage)
        return used if reply.usage.cost_usd is not None else Amount(tokens=used.tokens, usd=expected.usd)

    async def _ask_paced(
        self,
        pacer: Pacer,
        messages: list[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
        deadline: float | None,
    ) -> Reply:
        estimated = estimate_tokens(messages) if pacer.counts_tokens else 0

        async def attempt() -> Reply:
            return await self._ask_in_time(messages, settings, parameters)

        try:
            async with pacer.until(deadline):
                reply = await pacer.run(attempt, tokens=estimated, deadline=deadline)
        except TimeoutError:
            failure = self._failures.past_deadline()
        else:
            if pacer.counts_tokens and reply.usage_known:
                pacer.settle(estimated=estimated, used=reply.usage.input_tokens + reply.usage.output_tokens)
            return reply
        raise failure

    async def _ask_in_time(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> Reply:
        failure: ChaseError
        try:
            async with asyncio.timeout(self.config.attempt_seconds):
                reply = await self._ask(messages, settings, parameters)
        except TimeoutError:
            failure = self._failures.timed_out()
        except ChaseError as error:
            failure = error
        except Exception as error:
            translated = self._failures.from_pydantic_ai(error)
            if translated is None and not self._direct:
                raise
            # What else an SDK raises, it raises over an answer that it cannot read.
            failure = translated or self._failures.from_nonsense(f"{type(error).__name__}: {error}")
        else:
            self._lengths.answered(messages)
            return reply
        if isinstance(failure, ContextTooLong) and not self._lengths.can_be_too_long(messages):
            failure = self._failures.not_believed(failure)
        # Raised out here, so that it has no context: an SDK's errors can carry the request's headers.
        raise failure

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings, parameters: ModelRequestParameters
    ) -> Reply:
        if self.file is not None:
            await self.file.ready()  # loading the model is no part of its answer's time
        started = time.perf_counter()
        if self._direct:
            response = await model_request(
                self._model,
                messages,
                model_settings=settings,
                model_request_parameters=parameters,
                instrument=False,
            )
        else:
            response = await self._model.request(messages, settings, parameters)
        return self._reply(response, time.perf_counter() - started)

    def _reply(self, response: ModelResponse, wall_seconds: float) -> Reply:
        response, dropped = sound(response, redact=self._redact, redact_names=self._failures.redact)
        usage = response.usage
        return Reply(
            response=response,
            usage=Usage(
                requests=1,
                input_tokens=usage.input_tokens,
                cached_tokens=usage.cache_read_tokens,
                output_tokens=usage.output_tokens,
                wall_seconds=wall_seconds,
                cost_usd=0.0 if self._free else self._pricing.cost_usd(response),
            ),
            served_model=response.model_name or self._model.model_name,
            usage_known=not usage.unmeasured_requests,
            dropped_calls=dropped,
        )

    def _parameters(self, tools: Sequence[ToolSpec]) -> ModelRequestParameters:
        """The same object for the same tools, since models cache by it."""
        key = tuple(map(id, tools))
        entry = self._tool_sets.get(key)
        if entry is None:
            if len(self._tool_sets) >= _TOOL_SETS_KEPT:
                self._tool_sets.clear()
            content = digest([[tool.name, tool.description, tool.parameters] for tool in tools])
            parameters = self._by_content.setdefault(content, request_parameters(tools))
            # The tools are kept with their key, so that their ids stay theirs.
            entry = self._tool_sets[key] = tuple(tools), parameters
        return entry[1]


def request_parameters(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    """Tools as pydantic-ai describes them to a model."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in tools
        ],
        allow_text_output=True,
    )


def request_settings(config: ModelConfig, model: Model) -> ModelSettings:
    """The config's settings as pydantic-ai names them, with its own retries and timeout switched to ours.

    Where prompt caching must be asked for it is: an answer is the same with it, and costs less.
    """
    settings: dict[str, Any] = dict(config.settings)
    if not config.embedded and config.provider not in OUR_WIRE:
        if "reasoning_effort" in settings:
            settings["thinking"] = settings.pop("reasoning_effort")
        ours = {"timeout": config.attempt_seconds, "max_retries": 0}
        if config.provider.removeprefix("gateway/") in _CACHING_ON_REQUEST:
            settings = {"cache": True, **settings}  # the user's word, this key's or a provider's own, wins
        settings.update({key: value for key, value in ours.items() if key not in model.unsupported_settings})
    return cast(ModelSettings, settings)


def estimate_tokens(messages: Sequence[ModelMessage]) -> int:
    """About how many tokens a request will use: what the last response counted, and what came since."""
    characters = 0
    for message in reversed(messages):
        if isinstance(message, ModelResponse) and message.usage.has_values():
            return message.usage.total_tokens + characters // _CHARACTERS_PER_TOKEN
        characters += sum(len(str(getattr(part, "content", ""))) for part in message.parts)
    return characters // _CHARACTERS_PER_TOKEN
