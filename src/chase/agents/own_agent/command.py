"""A command of somebody else's as an agent that plays by itself: confined, at a desk, with the tools over MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from chase.agents.confinement import Bounds, Confinement, Ended
from chase.agents.own_agent.declared_folder import copy_folder, counts, folder_hash
from chase.agents.own_agent.desk import AGENT, DOCUMENTS, USAGE, RolloutDesk
from chase.agents.own_agent.file_reads import FileReads
from chase.agents.own_agent.places import Places
from chase.agents.own_agent.tool_server import require_sdk, tools_at
from chase.agents.own_agent.watching import OpenedFiles
from chase.agents.reported_usage import reported_usage
from chase.core.errors import HostError, SetupError, UserError
from chase.core.keyed import digest
from chase.core.outside import valid_unicode
from chase.core.own_agents import Played, Posed
from chase.core.values import Json, Usage

VERSION = 1
"""Of the desk's layout and of how a rollout is played. Raised with either: what was stored is then another's."""
BOUNDS = Bounds(output_bytes=256 << 10, desk_bytes=512 << 20, desk_entries=20_000, processes=256, memory_bytes=4 << 30)
"""Of one rollout. Sixteen times the output that is kept stops the command."""
USAGE_BYTES = 64 << 10


@dataclass(frozen=True, kw_only=True)
class AgentCommand:
    """What an agent of one's own is: the command line, the folder that is declared, and what it may use."""

    command: str
    folder: Path
    network: bool = False
    unconfined: bool = False
    pass_env: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()


class CommandAgent:
    """Plays each rollout in a folder of its own. One object serves all rollouts of a run; use it within `Places`."""

    def __init__(self, given: AgentCommand) -> None:
        self.given = given
        self.places: Places | None = None
        """Where it works; set before a run's first rollout."""
        self.hidden: Sequence[Path] = ()
        """Folders that it must not see, also where a readable path holds them."""
        self._copied: asyncio.Lock = asyncio.Lock()
        self._snapshot: Path | None = None

    @cached_property
    def confinement(self) -> Confinement:
        made = self.given
        return Confinement(
            command=made.command,
            network=made.network,
            unconfined=made.unconfined,
            pass_env=made.pass_env,
            readable=made.readable,
            bounds=BOUNDS,
            shelf=AGENT,
        )

    @cached_property
    def folder_hash(self) -> str:
        return folder_hash(self.given.folder)

    @cached_property
    def hash(self) -> str:
        return digest({"own agent": VERSION, **self._identity()})

    def describe(self) -> Mapping[str, Json]:
        return {"kind": "command", **self._identity()}

    def _identity(self) -> dict[str, Json]:
        made = self.given
        return {
            "command": self.confinement.words,
            "folder": self.folder_hash,
            "network": made.network,
            "confined": not made.unconfined,
            "pass_env": sorted(made.pass_env),
        }

    def check(self) -> None:
        """Refuse what could not be started, before anything is built or run."""
        require_sdk()
        _ = self.folder_hash
        for place, word in enumerate(self.confinement.words):
            path = self.given.folder / word.removeprefix(f"{AGENT}/")
            if word.startswith(f"{AGENT}/") and not (path.is_file() if place == 0 else path.exists()):
                raise UserError(
                    f"command={word}: {self.given.folder} has no such file. The folder is at {AGENT}/ there, read-only."
                )
        self.confinement.check(self.given.folder.absolute())

    def check_hidden(self, hidden: Sequence[Path]) -> None:
        """Refuse files that would show an agent what it must not see: answers are in hidden folders."""
        folder = self.given.folder.resolve()
        for path in hidden:
            if counts(folder, path.resolve()):
                raise UserError(
                    f"agent folder={self.given.folder} holds {path}, which no agent may see: answers are there. "
                    "Declare a folder with the agent's own files alone."
                )
        self.confinement.check_hidden(hidden)

    async def play(self, posed: Posed) -> Played:
        if self.places is None:
            raise RuntimeError("the agent has no place to work")
        snapshot = await self._agent_files(self.places)
        with self.places.place() as place:
            (place / "desk").mkdir()
            desk = RolloutDesk(place / "desk", posed)
            await asyncio.to_thread(desk.lay_out, unconfined_agent=snapshot if self.given.unconfined else None)
            ended = await self._run(desk, snapshot, posed, place)
            if not ended.began:
                raise HostError(
                    f"bubblewrap could not start the agent: {ended.errors.strip()[:300] or 'no reason given'}."
                )
            return self._played(desk, ended, posed)

    async def _run(self, desk: RolloutDesk, snapshot: Path, posed: Posed, place: Path) -> Ended:
        seconds = posed.environment.limits.wall_seconds
        confined = replace(self.confinement, timeout_seconds=seconds)
        reads = FileReads(desk.root / DOCUMENTS, desk.folders())
        watched = OpenedFiles(posed, reads)
        try:
            async with tools_at(desk.socket, watched):
                ended = await confined.run(
                    desk.root, shelf=snapshot, hidden=self.hidden, logs=(place / "out", place / "err")
                )
            watched.note_opened()
        except (SetupError, OSError) as error:
            raise HostError(f"the agent could not be run: {error}") from None
        finally:
            reads.close()
        posed.note(
            "command", exit=ended.exit, stopped=ended.stopped, seconds=ended.seconds, reads_seen=reads.complete,
            stdout=valid_unicode(ended.output), stderr=valid_unicode(ended.errors),
        )  # fmt: skip
        return ended

    def _played(self, desk: RolloutDesk, ended: Ended, posed: Posed) -> Played:
        usage, model = self._usage(desk, ended)
        answer = desk.answer()
        if ended.limit:
            return Played(answer=None, reason=ended.limit, usage=usage, served_model=model)
        if answer is None:
            reason = "no-answer" if ended.exit == 0 else f"exit-{ended.exit}"
            return Played(answer=None, reason=reason, usage=usage, served_model=model)
        text = self.confinement.redact(valid_unicode(answer))
        return Played(answer=text, reason="answered", usage=usage, served_model=model)

    def _usage(self, desk: RolloutDesk, ended: Ended) -> tuple[Usage, str]:
        """What the agent says that it used: in a file, else in what it printed."""
        for said in (desk.left(USAGE, USAGE_BYTES), ended.output):
            if said and (found := reported_usage(said, wall_seconds=ended.seconds)) is not None:
                return found[0], self.confinement.redact(valid_unicode(found[1])) or "agent"
        return Usage(wall_seconds=ended.seconds), ""

    async def _agent_files(self, places: Places) -> Path:
        """The copy of the declared folder that is run: edits while the run goes on are not."""
        async with self._copied:
            if self._snapshot is None:
                target = places.root / f"a{self.hash[:8]}"
                await asyncio.to_thread(copy_folder, self.given.folder, target)
                if folder_hash(target) != self.folder_hash:
                    raise UserError(f"agent folder={self.given.folder} was changed since the run began. Run it again.")
                self._snapshot = target
        return self._snapshot
