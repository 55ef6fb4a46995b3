"""What a run wrote down as it went: agents' answers before they are used, so that a resumed run does not ask again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import TypeVar

from chase.core.agents import Candidate, Draft
from chase.core.errors import IntegrityError, UserError
from chase.core.outside import NotPlain, plain
from chase.core.values import Json
from chase.store.workspace import RunFiles

Answer = TypeVar("Answer", Candidate, Draft)


class Journal(RunFiles):
    """What the agents of a run answered, in its folder."""

    async def candidates(self, round: int, ask: Callable[[], Awaitable[Sequence[Candidate]]]) -> list[Candidate]:
        """The round's candidates: as written down, else as asked for now."""
        return await self._kept(f"rounds/{round}/candidates.json", ask, _candidate)

    async def drafts(self, round: int, ask: Callable[[], Awaitable[Sequence[Draft]]]) -> list[Draft]:
        """The round's drafts: as written down, else as asked for now."""
        return await self._kept(f"rounds/{round}/drafts.json", ask, _draft)

    async def _kept(
        self, name: str, ask: Callable[[], Awaitable[Sequence[Answer]]], read: Callable[[Json], Answer]
    ) -> list[Answer]:
        path = self.path / name
        if not path.exists():
            text = _written(await ask(), read)
            self.write(name, text)
        try:
            return _read(path.read_bytes(), read)
        except (OSError, NotPlain) as error:
            raise IntegrityError(
                f"{path} was changed: it is {error}. Remove it to have the round asked for again."
            ) from None


def _written(answers: Sequence[Answer], read: Callable[[Json], Answer]) -> str:
    """Answers as the text that is kept; refused (`UserError`) where it could not be read again."""
    try:
        text = json.dumps([asdict(answer) for answer in answers], indent=2)
        _read(text, read)
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"an agent answered what is no plain data ({error}): it cannot be kept.") from None
    return text


def _read(text: str | bytes, read: Callable[[Json], Answer]) -> list[Answer]:
    """The answers in a kept text, word for word; `NotPlain` where it is none."""
    try:
        kept = json.loads(text)
        plain(kept)
        return [read(answer) for answer in kept]
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise NotPlain(f"no list of answers ({error})") from None


def _candidate(kept: Json) -> Candidate:
    return Candidate(**{**kept, "record": dict(kept.get("record", {}))})


def _draft(kept: Json) -> Draft:
    texts = {name: tuple(kept.get(name, ())) for name in ("suspected", "traces")}
    if not all(isinstance(text, str) for of_name in texts.values() for text in of_name):
        raise TypeError("what is suspected, and the traces, are texts")
    return Draft(**{**kept, **texts, "replay": dict(kept.get("replay", {}))})
