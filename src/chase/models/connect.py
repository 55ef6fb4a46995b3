"""From a model's config to a model that can be asked."""

from __future__ import annotations

import inspect
import re
import secrets
from collections.abc import Callable
from typing import Any

import httpx2
from pydantic_ai import exceptions as pydantic_ai
from pydantic_ai.models import Model, infer_model, known_model_names
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from chase.core.errors import ChaseError, SetupError, UserError, choose
from chase.models.bounded_client import ClosingModel, bounded_client, takes_client
from chase.models.chat import ChatModel
from chase.models.config import GGUF, LOCAL, OPENAI_COMPATIBLE, OUR_WIRE, ModelConfig
from chase.models.failures import Failures
from chase.models.gguf.model import GgufModel
from chase.models.gguf.options import slots_of
from chase.models.gguf.weights import Tell
from chase.models.local import make_local
from chase.models.meter import Meter
from chase.models.openai_compatible import OpenAICompatibleModel
from chase.models.pacing import Pacer
from chase.models.secrets import Redactor, missing_key, read_key

_OUR_EXTRAS = frozenset({"openai", "anthropic", "google"})
_MORE_PROVIDERS = (
    "azure",
    "fireworks",
    "github",
    "litellm",
    "ollama",
    "openrouter",
    "together",
    "vercel",
    "vllm",
)
"""Providers of pydantic-ai that its list of model names does not mention."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
_PYDANTIC_AI_EXTRA = re.compile(r"pydantic-ai-slim\[([\w-]+)")


def connect(
    config: ModelConfig, *, pacer: Pacer | None = None, meter: Meter | None = None, tell: Tell | None = None
) -> ChatModel:
    """The model that a config names. Sends nothing yet; must not be shared between event loops.

    `UserError` for an unknown provider or model, or one without a known price where the meter caps USD; `SetupError`
    for a missing key, SDK or extra. Models at the same provider may share a pacer; a model in this process has none.
    All models of a run share its meter. `tell` hears of a model on this machine that takes a while to hash or load.
    """
    if config.embedded:
        _check_native(config)
        return ChatModel(config, make_local(config), meter=meter)
    key = _key(config)
    failures = Failures(config, Redactor([key] if key else []))
    model: Model
    if config.provider == OPENAI_COMPATIBLE:
        model = OpenAICompatibleModel(config, failures, key=key)
    elif config.provider == GGUF:
        model = GgufModel(config, failures, key=str(key), tell=tell)
    else:
        _check_native(config)
        model = _provider_model(config, key)
    redact = Redactor.only([key] if key else [])
    return ChatModel(config, model, pacer=pacer or make_pacer(config), failures=failures, meter=meter, redact=redact)


def make_pacer(
    config: ModelConfig, *, patience_seconds: float = 0.0, on_outage: Callable[[str], object] | None = None
) -> Pacer:
    """A pacer with the config's limits, which waits so long for an endpoint that is away to come back."""
    at_once = config.max_concurrency
    return Pacer(
        max_concurrency=min(at_once, slots_of(config.server)) if config.provider == GGUF else at_once,
        requests_per_minute=config.requests_per_minute,
        tokens_per_minute=config.tokens_per_minute,
        retries=config.retries,
        patience_seconds=patience_seconds,
        on_outage=on_outage,
    )


def provider_names() -> list[str]:
    """What may stand before the colon of a model's name."""
    known = {name.partition(":")[0] for name in known_model_names() if ":" in name}
    return sorted({LOCAL, *OUR_WIRE, *known, *_MORE_PROVIDERS})


def _key(config: ModelConfig) -> str | None:
    """The key that the config names; of a model on this machine one of its own, so that nobody else can ask it."""
    if config.provider == GGUF:
        return secrets.token_urlsafe(32)
    return read_key(config.name, config.api_key_env) if config.api_key_env else None


def _check_native(config: ModelConfig) -> None:
    if config.tool_mode != "native":
        raise UserError(
            f"model '{config.name}': tool_mode='{config.tool_mode}' is for '{OPENAI_COMPATIBLE}' and "
            f"'{GGUF}' models: leave it at 'native'."
        )


def _provider_model(config: ModelConfig, key: str | None) -> Model:
    failure: ChaseError
    try:
        provider_class = infer_provider_class(config.provider)
    except ValueError:
        choose("provider", config.provider, provider_names())
        raise UserError(f"model '{config.name}' is not known: check its name.") from None
    except ImportError as error:
        raise _missing_sdk(config, str(error)) from None
    options: dict[str, Any] = dict(_provider_options(config, provider_class, key))
    client = _client_for(config, provider_class)
    if client is not None:
        options["http_client"] = client
    try:
        model = infer_model(
            config.name,
            provider_factory=lambda name: provider_class(**options) if options else infer_provider(name),
        )
        return model if client is None else ClosingModel(model, client)
    except ImportError as error:
        failure = _missing_sdk(config, str(error))
    except pydantic_ai.UserError as error:
        failure = _refused(config, str(error))
    raise failure


def _provider_options(config: ModelConfig, provider_class: type[Provider[Any]], key: str | None) -> dict[str, str]:
    given = {"api_key": key, "base_url": config.base_url}
    options = {name: value for name, value in given.items() if value is not None}
    accepted = inspect.signature(provider_class).parameters
    for name in options:
        if name not in accepted or config.provider.startswith("gateway/"):
            field = "api_key_env" if name == "api_key" else name
            raise UserError(
                f"model '{config.name}': provider '{config.provider}' takes no {field}: leave it out, "
                f"or use '{OPENAI_COMPATIBLE}:{config.model}'."
            )
    return options


def _client_for(config: ModelConfig, provider_class: type[Provider[Any]]) -> httpx2.AsyncClient | None:
    """A client that bounds replies, where the provider's SDK takes one. A gateway makes its providers by itself."""
    taken = inspect.signature(provider_class).parameters.get("http_client")
    if taken is None or not takes_client(taken.annotation) or config.provider.startswith("gateway/"):
        return None
    return bounded_client(config.attempt_seconds)


def _refused(config: ModelConfig, why: str) -> ChaseError:
    """The error for a provider or a model that pydantic-ai would not make."""
    if found := _VARIABLE.search(why):
        variable = found.group(1)
        if variable.endswith(("KEY", "TOKEN")):
            return missing_key(config.name, variable)
        return SetupError(f"model '{config.name}' needs an address: set the environment variable {variable}.")
    return UserError(f"model '{config.name}' cannot be used: {why}")


def _missing_sdk(config: ModelConfig, why: str) -> SetupError:
    found = _PYDANTIC_AI_EXTRA.search(why)
    extra = found.group(1) if found else config.provider
    package = f"chase-harness[{extra}]" if extra in _OUR_EXTRAS else f"pydantic-ai-slim[{extra}]"
    return SetupError(f"model '{config.name}' needs an SDK that is not installed: pip install '{package}'.")
