"""One real model for all tests that ask one. Its packages must be there: a live test is never skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.live_server import MODEL, LiveServer
from chase.testing.small_ledger import SmallLedger, open_small_ledger

REPLY_TOKENS = 64
"""Enough for a call with an id or a path; what is cut is an answer that does not fit."""


@pytest.fixture(scope="session")
def server() -> Iterator[LiveServer]:
    with LiveServer() as opened:
        yield opened


@pytest.fixture(scope="session")
def small_ledger() -> SmallLedger:
    return open_small_ledger()


def live_config(server: LiveServer, **settings: Any) -> ModelConfig:
    """The model as rollouts ask it: greedy, with short replies, unless settings say otherwise."""
    return ModelConfig(
        name=f"openai-compatible:{MODEL}",
        base_url=server.url,
        tool_mode="json-schema",
        settings={"temperature": 0, "max_tokens": REPLY_TOKENS, **settings},
        max_concurrency=1,
    )


@pytest_asyncio.fixture
async def model(server: LiveServer) -> AsyncIterator[ChatModel]:
    async with connect(live_config(server)) as connected:
        yield connected
