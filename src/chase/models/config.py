"""What a user says about a model: its name, its settings, its price and how hard it may be driven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit

from chase.core.errors import UserError, choose
from chase.core.keyed import canonical_json, digest
from chase.core.values import Json

WIRE_VERSIONS = {"native": 1, "json-schema": 3}
"""By tool mode. Raised when what is sent for the same history, tools and settings changes."""

OPENAI_COMPATIBLE = "openai-compatible"
GGUF = "gguf"
OUR_WIRE = frozenset({OPENAI_COMPATIBLE, GGUF})
"""Providers whose requests we write ourselves, and where tools can be called by JSON schema."""
LOCAL = "sim"
READER = f"{LOCAL}:reader"
LEXICAL = "lexical"
"""The embedded program that simulates nobody: no provider, its name stands alone."""
NO_MODEL = "none"
"""Stands where a model would in a run of agents that play by themselves. It answers nothing."""

ToolMode = Literal["native", "json-schema"]

ATTEMPT_SECONDS, LOCAL_ATTEMPT_SECONDS = 180.0, 1_800.0
"""For one attempt at one request where nothing is said: elsewhere, and on this machine, where reading takes long."""
LEAST_CONTEXT_TOKENS = 2_048

_ELSEWHERE = {
    "timeout": "timeout_seconds",
    "request_timeout": "timeout_seconds",
    "first_event_timeout": "timeout_seconds",
    "max_retries": "retries",
}
"""Settings that do not change what a model answers: they have a field of their own."""
_OURS = frozenset({"model", "messages", "tools", "stream", "n"})
"""Keys of a request that the harness and the engine decide."""
_OF_THE_SERVER = {"cache_prompt": "prompt_cache in its server table", "id_slot": "slots in its server table"}
"""Keys of a request that follow from how a GGUF file is served."""
_SECRET_NAMES = frozenset({"authorization", "api-key", "x-api-key", "api_key", "apikey"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """USD per million tokens. `cached` is the price of cached input; without it, that of input."""

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalServer:
    """How llama.cpp serves a `gguf:` model. What is None follows from the machine or the file."""

    slots: int | None = None
    """Requests that are answered at a time."""
    threads: int | None = None
    context_tokens: int | None = None
    """Of one slot: the longest history with its reply."""
    prompt_cache: bool = True
    """Whether a slot keeps what it has read. Without it, and with one slot, replies are reproducible."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """A model with everything that decides its answers, and how fast and how often to ask it.

    Holds the name of the variable that holds the key, never the key. A bad value is a `UserError`.
    """

    name: str
    """`openai:…`, `anthropic:…`, `openai-compatible:NAME` (with `base_url`), `gguf:PATH`, `lexical` or `sim:…`."""
    base_url: str | None = None
    settings: Mapping[str, Json] = field(default_factory=dict)
    """pydantic-ai's model settings; an OpenAI-compatible endpoint gets unknown ones as they are."""
    tool_mode: ToolMode = "native"
    price: Price | None = None
    api_key_env: str | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_concurrency: int = 64
    timeout_seconds: float | None = None
    """For one attempt at one request; None: `ATTEMPT_SECONDS`, more for a model on this machine."""
    retries: int = 5
    server: LocalServer | None = None
    """For `gguf:PATH` alone."""

    def __post_init__(self) -> None:
        if not self.provider or not self.model:
            raise UserError(
                f"model name='{self.name}' names no provider: write PROVIDER:MODEL, "
                f"e.g. 'openai:gpt-5', '{OPENAI_COMPATIBLE}:NAME' with base_url, '{GGUF}:FILE' or '{READER}'; "
                f"only '{LEXICAL}' has none."
            )
        choose("tool_mode", self.tool_mode, get_args(ToolMode))
        self._check_server()
        self._check_base_url()
        self._check_settings()
        self._check_numbers()

    @property
    def provider(self) -> str:
        """What stands before the first colon."""
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        """What stands after the first colon; the whole name of what has no provider."""
        return self.name if self.name in (LEXICAL, NO_MODEL) else self.name.partition(":")[2]

    @property
    def simulated(self) -> bool:
        """Whether it is a simulator of a model."""
        return self.provider == LOCAL

    @property
    def embedded(self) -> bool:
        """Whether it is a program in this process, not a language model."""
        return self.simulated or self.name in (LEXICAL, NO_MODEL)

    @property
    def attempt_seconds(self) -> float:
        """How long one attempt at one request may take."""
        default = LOCAL_ATTEMPT_SECONDS if self.provider == GGUF else ATTEMPT_SECONDS
        return self.timeout_seconds or default

    @property
    def fingerprint(self) -> str:
        """The digest of exactly what decides an answer: not the key, the price or the pace.

        Of a file, neither its path nor its content is here: `ChatModel.fingerprint` adds the content's hash.
        """
        return digest(
            {
                "name": GGUF if self.provider == GGUF else self.name,
                "base_url": self.base_url.rstrip("/") if self.base_url else None,
                "settings": dict(self.settings),
                "tool_mode": self.tool_mode,
                "wire": WIRE_VERSIONS[self.tool_mode],
            }
        )

    def _check_server(self) -> None:
        if self.provider != GGUF:
            if self.server is not None:
                raise UserError(f"model '{self.name}': server is for '{GGUF}:PATH' models: leave it out.")
            return
        for key in ("base_url", "api_key_env"):
            if getattr(self, key) is not None:
                raise UserError(f"model '{self.name}' is served on this machine and takes no {key}: leave it out.")
        for key, instead in _OF_THE_SERVER.items():
            if key in self.settings:
                raise UserError(f"model '{self.name}': settings.{key} follows from the server: write {instead}.")
        for key, least in (("slots", 1), ("threads", 1), ("context_tokens", LEAST_CONTEXT_TOKENS)):
            value = getattr(self.server, key, None)
            if value is not None and value < least:
                raise UserError(f"model '{self.name}': server.{key}={value} must be at least {least}.")

    def _check_base_url(self) -> None:
        if self.base_url is None:
            if self.provider == OPENAI_COMPATIBLE:
                raise UserError(
                    f"model '{self.name}' has no base_url: give --base-url or base_url in the config, "
                    "e.g. 'http://localhost:8000/v1'."
                )
            return
        try:
            parts = urlsplit(self.base_url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise UserError(
                f"model '{self.name}': base_url is not an address: write http://HOST:PORT/v1 or https://HOST/v1."
            )
        if parts.username or parts.password or parts.query:
            # The address is stored, printed and hashed; a key in it would be all of these too.
            raise UserError(
                f"model '{self.name}': base_url holds credentials or a query: put the key into an "
                "environment variable and name it in api_key_env."
            )

    def _check_settings(self) -> None:
        for key, instead in _ELSEWHERE.items():
            if key in self.settings:
                raise UserError(f"model '{self.name}': settings.{key} has a field of its own: write {instead}.")
        tables = {key: self.settings.get(key, {}) for key in ("extra_headers", "extra_body")}
        for key, table in tables.items():
            if not isinstance(table, Mapping):
                raise UserError(f"model '{self.name}': settings.{key} must be a table of names and values.")
        if ours := sorted(_OURS & {*self.settings, *tables["extra_body"]}):
            raise UserError(f"model '{self.name}': settings.{ours[0]} is not a setting: leave it out.")
        names = (str(name) for table in (self.settings, *tables.values()) for name in table)
        if secret := sorted(name for name in names if name.lower() in _SECRET_NAMES):
            raise UserError(
                f"model '{self.name}': settings hold a key ({secret[0]}), and settings are stored: put it "
                "into an environment variable and name that in api_key_env."
            )
        try:
            canonical_json(dict(self.settings))
        except (TypeError, ValueError):
            raise UserError(f"model '{self.name}': settings must be plain JSON values.") from None

    def _check_numbers(self) -> None:
        for key in ("requests_per_minute", "tokens_per_minute", "max_concurrency", "timeout_seconds"):
            value = getattr(self, key)
            if value is not None and not value > 0:
                raise UserError(f"model '{self.name}': {key}={value} must be above 0.")
        if self.retries < 0:
            raise UserError(f"model '{self.name}': retries={self.retries} must be 0 or more.")


def embedded_note(name: str) -> str | None:
    """What whoever reads a score has to know where the model is embedded here; None where it is not."""
    if name == NO_MODEL:
        return None
    if name == LEXICAL:
        return "lexical: these scores are of a plain program in this process, not of a language model"
    if name.partition(":")[0] != LOCAL:
        return None
    if name == READER:
        return "simulated reader: these scores are of an embedded simulator, not of a language model"
    return f"{name}: these scores are of a program in this process, not of a language model"
