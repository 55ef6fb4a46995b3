"""Proposers and Challengers of installed packages: entry points of the groups `chase.proposers`, `chase.challengers`.

Nothing is imported before one is asked for. What is installed runs in this process; like every agent it is handed a
context of plain data, and what it answers is parsed as data.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from chase.core.agents import (
    Agent,
    Candidate,
    ChallengerContext,
    Draft,
    EpisodeBounds,
    HasBounds,
    ProposerContext,
    Refusal,
)
from chase.core.errors import ChaseError, SetupError, UserError
from chase.core.plug_ins import load, package_of, points

GROUPS: Mapping[Agent, str] = {"proposer": "chase.proposers", "challenger": "chase.challengers"}
ASKED: Mapping[Agent, str] = {"proposer": "propose", "challenger": "challenge"}
Answer = TypeVar("Answer")


def installed(agent: Agent) -> list[str]:
    """The names of the installed ones."""
    return list(points(GROUPS[agent]))


def find_agent(agent: Agent, name: str) -> PlugInAgent:
    """The installed agent of a name: made anew from a class, or the object that its entry point leads to."""
    point = points(GROUPS[agent])[name]
    made = load(point, agent)
    where = f"{agent} '{name}' of {package_of(point)}"
    try:
        found = made() if isinstance(made, type) else made
    except Exception as error:
        raise SetupError(f"{where} cannot be made: {type(error).__name__}: {error}. Mend or uninstall it.") from error
    if problems := list(contract_problems(found, agent)):
        raise SetupError(f"{where} does not keep the contract: {'; '.join(problems)}.")
    return PlugInAgent(found, where)


def contract_problems(found: Any, agent: Agent) -> Iterator[str]:
    """What in an object keeps it from being an agent of this role."""
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[\x21-\x7e]{1,200}", name):
        yield "its name is no word of up to 200 letters"
    for member in (ASKED[agent], "revise"):
        if not iscoroutinefunction(getattr(found, member, None)):
            yield f"it has no async {member}()"


class PlugInAgent:
    """An installed agent, whose faults are told as its own."""

    def __init__(self, inner: Any, where: str) -> None:
        self._inner = inner
        self._where = where

    @property
    def name(self) -> str:
        return str(self._inner.name)

    @property
    def bounds(self) -> EpisodeBounds:
        """What it says itself. One that says nothing has no bounds, and a forecast says that they are unknown."""
        if not isinstance(self._inner, HasBounds):
            raise AttributeError("bounds")
        return self._inner.bounds

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        return await self._asked(lambda: self._inner.propose(context), Candidate)

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        return await self._asked(lambda: self._inner.challenge(context), Draft)

    async def revise(self, context: Any, refused: Sequence[Refusal]) -> Sequence[Any]:
        form = Candidate if isinstance(context, ProposerContext) else Draft
        return await self._asked(lambda: self._inner.revise(context, refused), form)

    async def _asked(self, ask: Callable[[], Awaitable[Any]], form: type[Answer]) -> Sequence[Answer]:
        try:
            answers = await ask()
        except ChaseError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise SetupError(
                f"{self._where} failed: {reason}. Mend it; the same command then goes on where it stopped."
            ) from error
        if isinstance(answers, str | bytes) or not isinstance(answers, Sequence):
            raise UserError(f"{self._where} answered no list, but {type(answers).__name__}.")
        if wrong := next((answer for answer in answers if not isinstance(answer, form)), None):
            raise UserError(f"{self._where} answered with a {type(wrong).__name__}, not with a {form.__name__}.")
        return list(answers)
