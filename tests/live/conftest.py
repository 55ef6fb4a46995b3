"""One real model for all tests that ask one. Its packages must be there: a live test is never skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from chase.models.chat import ChatModel
from chase.models.config import LocalServer, ModelConfig
from chase.models.connect import connect
from chase.testing.live_weights import find_live_weights
from chase.testing.small_ledger import SmallLedger, open_small_ledger

REPLY_TOKENS = 64
"""Enough for a call with an id or a path; what is cut is an answer that does not fit."""
ONE_THREAD = LocalServer(slots=1, threads=1, context_tokens=8192)
"""Two threads wait for each other at every layer: faster on an idle machine, ten times slower on a busy one."""


@pytest.fixture(scope="session")
def small_ledger() -> SmallLedger:
    return open_small_ledger()


def live_config(server: LocalServer = ONE_THREAD, **settings: Any) -> ModelConfig:
    """The model as rollouts ask it: greedy, with short replies, unless settings say otherwise."""
    return ModelConfig(
        name=f"gguf:{find_live_weights()}",
        tool_mode="json-schema",
        settings={"temperature": 0, "max_tokens": REPLY_TOKENS, **settings},
        server=server,
    )


@pytest_asyncio.fixture
async def model() -> AsyncIterator[ChatModel]:
    async with connect(live_config()) as connected:
        yield connected
