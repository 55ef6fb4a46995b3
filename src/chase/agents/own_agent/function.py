"""A Python function of the caller's as an agent that plays by itself: in this process, and so not confined."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Callable, Mapping
from functools import cached_property

from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.core.outside import valid_unicode
from chase.core.own_agents import Played, Posed
from chase.core.values import Json, Usage

Function = Callable[[Posed], object]
VERSION = 1


class FunctionAgent:
    """Calls a function with each task that is posed; what it returns, as text, is the answer, and None is none.

    Its identity is what its owner declares by `name`, and the function's own source: what that calls is not seen, so
    another `name` is needed where it changes. A function is called in a thread, several at a time; one that is past the
    benchmark's time is scored, but cannot be ended.
    """

    def __init__(self, function: Function, *, name: str) -> None:
        if not callable(function) or not name.strip():
            raise UserError("an agent is a function and a name: python_agent(function, name='mine-1').")
        self._function = function
        self._name = name

    @cached_property
    def hash(self) -> str:
        try:
            source = inspect.getsource(self._function)
        except (OSError, TypeError):  # typed into a prompt, or no function
            source = ""
        return digest({"own function": VERSION, "name": self._name, "source": source})

    def describe(self) -> Mapping[str, Json]:
        return {"kind": "function", "name": self._name}

    async def play(self, posed: Posed) -> Played:
        seconds, loop = posed.environment.limits.wall_seconds, asyncio.get_running_loop()
        began = loop.time()
        try:
            answer = await asyncio.wait_for(self._called(posed), seconds)
        except TimeoutError:
            return Played(answer=None, reason="time-limit", usage=Usage(wall_seconds=seconds))
        except Exception as error:
            posed.note("exception", text=valid_unicode("".join(traceback.format_exception(error))[-10_000:]))
            return Played(answer=None, reason=f"exception-{type(error).__name__}", usage=_took(loop.time() - began))
        text = "" if answer is None else valid_unicode(str(answer)).strip()
        reason = "answered" if text else "no-answer"
        return Played(answer=text or None, reason=reason, usage=_took(loop.time() - began))

    async def _called(self, posed: Posed) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(posed)
        return await asyncio.to_thread(self._function, posed)


def _took(seconds: float) -> Usage:
    return Usage(wall_seconds=round(seconds, 3))
