"""Which of a server's slots a request goes to: that which still has its conversation."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

from pydantic_ai.messages import ModelMessage


@dataclass
class _Slot:
    number: int
    busy: bool = False
    used: int = 0
    """When, in requests."""
    whose: weakref.ref[ModelMessage] | None = None

    @property
    def conversation(self) -> ModelMessage | None:
        """The first message of the conversation that the slot has read; None once nobody has it any more."""
        return self.whose() if self.whose is not None else None


class Slots:
    """The slots of one server. A conversation is known by its first message, which is one object as long as it lasts.

    So its history is read once, unless more conversations are going on than there are slots.
    """

    def __init__(self, number: int) -> None:
        self._slots = [_Slot(place) for place in range(number)]
        self._free = asyncio.Semaphore(number)
        self._requests = count(1)

    @asynccontextmanager
    async def holding(self, messages: Sequence[ModelMessage]) -> AsyncIterator[int]:
        """A slot's number, for as long as one request takes. Waits while all are busy."""
        async with self._free:
            slot = self._choose(messages[0])
            slot.busy, slot.used, slot.whose = True, next(self._requests), weakref.ref(messages[0])
            try:
                yield slot.number
            finally:
                slot.busy = False

    def _choose(self, first: ModelMessage) -> _Slot:
        """The conversation's own; else one whose conversation is over; else the one that waited longest."""
        idle = [slot for slot in self._slots if not slot.busy]
        return min(idle, key=lambda s: (s.conversation is not first, s.conversation is not None, s.used))
