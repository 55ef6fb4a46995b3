"""What a method is, and the world that it is given: all that a new method has to know of the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from chase.core.agents import Agent
from chase.core.errors import IntegrityError
from chase.core.events import Tell
from chase.methods.arena import Arena, Contender, Variant
from chase.methods.bounds import EvolutionBounds, ForecastRequest
from chase.methods.desks import ChallengerDesk, ProposerDesk
from chase.methods.evolution import EvolutionOutcome
from chase.methods.journal import Journal
from chase.methods.options import OptionsT
from chase.methods.references import ReferenceDesk
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit


def confirmation_roles(roles: Collection[str]) -> tuple[str, ...]:
    """The confirmation sets `D_conf,1 …` among roles, in their order."""
    return tuple(role for role in roles if role.startswith("conf"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Desks:
    """The desks of the agents that a method asks; None where it does not ask one."""

    proposer: ProposerDesk | None = None
    challenger: ChallengerDesk | None = None
    references: ReferenceDesk | None = None
    """Of a method whose options are `ReferenceOptions`."""


@dataclass(frozen=True, kw_only=True)
class World(Generic[OptionsT]):
    """Everything that a method may use in one run.

    Through its arena, desks and `tasks` no role is reached that the method does not hold. `kit` is the host's own and
    knows the whole benchmark: a method is code of the host, and is trusted not to look there (`docs/security.md`).
    """

    initial: Contender
    """`H_0`."""
    arena: Arena
    desks: Desks
    kit: ProtocolKit
    journal: Journal
    released: Variant
    """`B_rel`."""
    options: OptionsT
    roles: tuple[str, ...]
    """The task sets that the method holds."""
    tasks: Callable[[str], Sequence[str]]
    """The ids of a held role's tasks."""
    rollouts: Mapping[str, int]
    """How often each task of a held role is run."""
    archive: Archive
    """Empty, for this benchmark."""
    seed: int
    tell: Tell

    @property
    def proposer(self) -> ProposerDesk:
        return _held(self.desks.proposer, "proposer")

    @property
    def challenger(self) -> ChallengerDesk:
        return _held(self.desks.challenger, "challenger")

    @property
    def references(self) -> ReferenceDesk:
        if self.desks.references is None:
            raise IntegrityError("the method has no reference trajectories made: its options are no ReferenceOptions.")
        return self.desks.references

    @property
    def confirmation_roles(self) -> tuple[str, ...]:
        return confirmation_roles(self.roles)


DeskT = TypeVar("DeskT", ProposerDesk, ChallengerDesk)


def _held(desk: DeskT | None, agent: Agent) -> DeskT:
    if desk is None:
        raise IntegrityError(f"the method asks the {agent}, which its `agents` do not name.")
    return desk


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What a method does about shortcuts: a row of the paper's method comparison."""

    shortcut_aware: bool = False
    """Evolution takes shortcut behaviour into account."""
    worst_case: bool = False
    """It bounds the worst regression over task batches, or the worst gain destruction over counterfactuals."""
    neutral_free: bool = True
    """It has no access to `B_0`."""


class Method(Protocol):
    """A way to evolve a harness: one file, found through `methods/registry.py`.

    An object without state: everything of a run is in its world. `evolve` is called once for each attempt at a run.
    After an interruption it is called again from the start, with the same world: rollouts come from the store and
    agents' answers from the journal, so it must do the same again. So it is deterministic in what the arena and the
    desks return and in `world.seed` (draws are keyed: `core/keyed.py`), and reads no clock.

    An outage or a spent budget comes through it as `RolloutError` or `BudgetExhausted`: it lets them pass. What it
    cannot do with the given options or benchmark is a `UserError`. It ends before the sealed tasks are opened.
    """

    @property
    def name(self) -> str:
        """As users write it: lower case, hyphens. Part of run ids and of the ledger."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in one line of a help text."""
        ...

    @property
    def Options(self) -> type[BaseModel]:
        """Its options: a `MethodOptions` in all but ancestry (strict, frozen, no extra keys, described fields)."""
        ...

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents that it asks. It gets no other's desk."""
        ...

    @property
    def traits(self) -> Traits: ...
    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        """Which of a benchmark's task sets it holds, none of the sealed ones. A `UserError` where one is missing."""
        ...

    def reader(self, role: str) -> Agent | None:
        """Whose history tree gets what is evaluated on a role that it holds; None: nobody's."""
        ...

    def forecast(self, request: ForecastRequest[Any]) -> EvolutionBounds:
        """What `evolve` takes at least and at most in an empty store. Pure, and called without a world."""
        ...

    async def evolve(self, world: World[Any]) -> EvolutionOutcome: ...
