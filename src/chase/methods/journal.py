"""What a run wrote down as it went: agents' answers before they are used, so that a resumed run does not ask again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from chase.core.agents import Candidate, Draft
from chase.core.errors import IntegrityError, UserError
from chase.store.workspace import RunFiles


class Journal(RunFiles):
    """What the agents of a run answered, in its folder."""

    async def candidates(self, round: int, ask: Callable[[], Awaitable[Sequence[Candidate]]]) -> list[Candidate]:
        """The round's candidates: as written down, else as asked for now."""
        kept = await self._kept(f"rounds/{round}/candidates.json", ask)
        return [Candidate(**data) for data in kept]

    async def drafts(self, round: int, ask: Callable[[], Awaitable[Sequence[Draft]]]) -> list[Draft]:
        """The round's drafts: as written down, else as asked for now."""
        kept = await self._kept(f"rounds/{round}/drafts.json", ask)
        return [Draft(**{**d, "suspected": tuple(d["suspected"]), "traces": tuple(d["traces"])}) for d in kept]

    async def _kept(self, name: str, ask: Callable[[], Awaitable[Sequence[Any]]]) -> list[Mapping[str, Any]]:
        path = self.path / name
        if not path.exists():
            answers = await ask()
            try:
                text = json.dumps([asdict(answer) for answer in answers], indent=2)
            except (TypeError, ValueError, RecursionError) as error:
                raise UserError(f"an agent answered what is no plain data ({error}): it cannot be kept.") from None
            self.write(name, text)
        try:
            kept: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise IntegrityError(f"{path} was changed: {error}. Remove it to have the round asked for again.") from None
        return kept
