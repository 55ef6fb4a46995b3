"""What a user can say of commands: coding agents, and agents of one's own that are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from chase.core.interfaces import OwnAgent
from chase.runs.declaring import Settings, setting
from chase.runs.kinds import Agents, Folder, Names, Toggle


class Commands(Settings):
    """What commands may see."""

    unconfined: Annotated[bool, Toggle()] = setting(
        False, "Run commands (agents) without bubblewrap. They see all that you see.", "Agents"
    )
    pass_env: Annotated[str | Sequence[str] | None, Names()] = setting(
        None, "Environment variables that a command (agent) gets.", "Agents", metavar="NAMES"
    )
    readable: Annotated[str | Sequence[str] | None, Names()] = setting(
        None, "Further paths that a command (agent) can read.", "Agents", metavar="PATHS"
    )


class OwnAgents(Commands):
    """An agent of one's own, in place of a harness and a model."""

    agent_command: Annotated[str | OwnAgent | None, Agents()] = setting(
        None, "Your own agent: a command, run once a rollout.", "What", metavar="COMMAND", common=True
    )
    agent_folder: Annotated[str | Path | None, Folder()] = setting(
        None, "Its files; they are its identity, and at agent/ where it runs.", "What", metavar="DIR", common=True
    )
    agent_network: Annotated[bool, Toggle()] = setting(
        False, "Your own agents may use the network: one that calls a model must.", "Agents"
    )

    @classmethod
    def needed(cls, said: Mapping[str, Any]) -> tuple[str, ...]:
        return () if said.get("agent_command") else cls.required
