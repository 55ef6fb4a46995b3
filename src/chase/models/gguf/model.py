"""A GGUF file as a pydantic-ai `Model`: its server starts with the first request and ends with the model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from chase.core.keyed import digest
from chase.models.config import GGUF, OPENAI_COMPATIBLE, ModelConfig
from chase.models.errors import ConnectionLost
from chase.models.failures import Failures
from chase.models.gguf import server as servers
from chase.models.gguf.options import require_memory, serving
from chase.models.gguf.server import Launcher, Server
from chase.models.gguf.slots import Slots
from chase.models.gguf.weights import Tell, find_weights, hash_file
from chase.models.openai_compatible import OpenAICompatibleModel

VERSION = 1
"""Raised when the same file is served in another way."""
REPLY_TOKENS = 1_024
"""Room for a reply where `max_tokens` does not say how long it may be."""
_DEATH_SECONDS = 1.0


class GgufModel(Model[Any]):
    """A model file behind llama.cpp's server on loopback. One object serves all rollouts of a run.

    What can be refused without the server is refused when it is made. The server is started by the first request, so
    that a run which finds everything in the store loads nothing, and again by a later one if it died. Close it with
    `aclose`, or use it as a context manager.
    """

    def __init__(
        self,
        config: ModelConfig,
        failures: Failures,
        *,
        key: str,
        launcher: Launcher | None = None,
        tell: Tell | None = None,
    ) -> None:
        super().__init__()
        self._launcher = launcher or servers.LLAMA_CPP
        self._launcher.require(config.name)
        self.weights = find_weights(config.name, Path(config.model).expanduser())
        self.serving = serving(config.server, self.weights)
        self._config = config
        self._failures = failures
        self._key = key
        self._tell = tell or (lambda message: None)
        self._slots = Slots(self.serving.slots)
        self._starting = asyncio.Lock()
        self._server: Server | None = None
        self._wire: OpenAICompatibleModel | None = None

    @property
    def model_name(self) -> str:
        return self.weights.name

    @property
    def system(self) -> str:
        return GGUF

    @property
    def program(self) -> str:
        """What serves the file, with its version."""
        return self._launcher.title

    @cached_property
    def sha256(self) -> str:
        """Of the file. The first time for each file this takes a second for each gigabyte or so."""
        return hash_file(self.weights.path, self._tell)

    def make_room(self, history_tokens: int) -> None:
        """Serve with a context for histories of this length and a reply, unless the config says how long.

        Before any request.
        """
        assert self._server is None
        self.serving = serving(self._config.server, self.weights, history_tokens + self._reply_tokens)

    @property
    def _reply_tokens(self) -> int:
        said = self._config.settings.get("max_tokens")
        return said if isinstance(said, int) else REPLY_TOKENS

    @property
    def version(self) -> str:
        """The digest of what decides an answer beside the config's own part: the file, not where it lies."""
        return digest(
            {
                "version": VERSION,
                "sha256": self.sha256,
                "context_tokens": self.serving.context_tokens,
                "prompt_cache": self.serving.prompt_cache,
                "reproducible": self.serving.reproducible,
                "program": self.program,
            }
        )

    @property
    def note(self) -> str:
        """What whoever reads a score has to know of the file and of how it was served."""
        how = (
            "in one slot without prompt caching: replies are reproducible on the same machine"
            if self.serving.reproducible
            else "with prompt caching or several slots: replies are not reproducible bit by bit"
        )
        return f"{self._config.name} has SHA-256 {self.sha256} and was served by {self.program} {how}"

    async def ready(self) -> None:
        """Start the server, unless it is running."""
        async with self._starting:
            if self._server is not None and self._server.is_running:
                return
            await self._end()
            require_memory(self._config.name, self.weights, self.serving)
            self._server = self._new_server()
            try:
                await asyncio.to_thread(self._server.start)
            except BaseException:
                # Cancelled, the thread still waits for the server: it ends with it.
                await self._end()
                raise
            address = f"{self._server.address}/v1"
            wire = replace(self._config, name=f"{OPENAI_COMPATIBLE}:{self.weights.name}", base_url=address, server=None)
            self._wire = OpenAICompatibleModel(wire, self._failures, key=self._key)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One attempt at one completion, in the slot that has the conversation's beginning."""
        await self.ready()
        server, wire = self._server, self._wire
        assert server is not None
        assert wire is not None
        async with self._slots.holding(messages) as slot:
            ours = {"id_slot": slot, "cache_prompt": self.serving.prompt_cache}
            settings = cast(ModelSettings, {**(model_settings or {}), **ours})
            try:
                return await wire.request(messages, settings, model_request_parameters)
            except ConnectionLost:
                if not await asyncio.to_thread(server.ends_within, _DEATH_SECONDS):
                    raise
                how = server.ending()
        raise ConnectionLost(
            f"model '{self._config.name}': llama.cpp's server {how}; the next request starts it again. If it was "
            "killed for want of memory, lower slots or context_tokens."
        )

    async def aclose(self) -> None:
        """Stop the server. The model can be used again, and starts another."""
        await self._end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _new_server(self) -> Server:
        wanted = {
            "path": str(self.weights.path.absolute()),
            "name": self.weights.name,
            "key": self._key,
            "slots": self.serving.slots,
            "threads": self.serving.threads,
            "context_tokens": self.serving.context_tokens,
        }
        return Server(model=self._config.name, launcher=self._launcher, wanted=wanted, tell=self._tell)

    async def _end(self) -> None:
        (server, self._server), (wire, self._wire) = (self._server, None), (self._wire, None)
        if server is not None:
            server.stop()
        if wire is not None:
            await wire.aclose()
