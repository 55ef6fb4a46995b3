"""What an agent that asks a model leaves behind: a transcript that a resumed run reads instead of asking again, and
ledger rows.

A reply is in the transcript before it is used. The same question at the same place of the same episode is answered
from there; the ledger gets each reply once, whenever the process dies. The transcript is only ever appended to.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from chase.core.errors import IntegrityError
from chase.core.events import AgentReplied, AgentWaiting, Tell, ignore
from chase.core.keyed import digest
from chase.core.outside import DEEPEST, NotPlain, parse_json
from chase.core.values import Json, ToolSpec, Usage
from chase.engine.runner import RunPaused
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ContextTooLong, ModelError
from chase.models.meter import Meter
from chase.store.records import LedgerRow, Use
from chase.store.store import Store

TRANSCRIPT = "transcript.jsonl"
SUPERSEDED = "superseded_from"
"""A line that says from which place on earlier lines answer nothing any more. They were paid for, so they stay."""
PATIENCE_SECONDS = 10.0
"""How often it is said that an agent is still at work."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class AgentRecords:
    """Where the agents of one run keep their records."""

    store: Store
    use: Use
    folder: Path
    """The run's."""
    tell: Tell = ignore
    """Hears of every reply, because an episode can take minutes."""
    meter: Meter | None = None
    """The run's, for what an external agent says it used; models are on it themselves."""
    hidden: tuple[Path, ...] = ()
    """Folders that no command may read: they hold answers."""

    def episode(self, purpose: str, round: int) -> AgentEpisode:
        """One agent's work in one round: `purpose` is 'propose' or 'challenge'."""
        return AgentEpisode(self, purpose, round)


class RecordedAgent:
    """An agent whose work is recorded. The run attaches it before the first round."""

    records: AgentRecords | None = None

    def attach(self, records: AgentRecords) -> None:
        self.records = records

    def episode(self, purpose: str, round: int) -> AgentEpisode:
        """The records of a round's episode."""
        if self.records is None:
            raise RuntimeError("the agent was not attached to a run")
        return self.records.episode(purpose, round)


def attach_agents(
    agents: Iterable[object], store: Store, use: Use, folder: Path, tell: Tell, meter: Meter | None = None,
    hidden: Sequence[Path] = (),
) -> None:  # fmt: skip
    """Give agents that ask models, or run commands, their place in a run's records."""
    for agent in agents:
        if isinstance(agent, RecordedAgent):
            agent.attach(
                AgentRecords(store=store, use=use, folder=folder, tell=tell, meter=meter, hidden=tuple(hidden))
            )


class AgentEpisode:
    """The records of one episode, from earlier attempts at it on."""

    def __init__(self, records: AgentRecords, purpose: str, round: int) -> None:
        self._records = records
        self._purpose = purpose
        self.id = f"{records.use.run}/{purpose}/{round}"
        self.folder = records.folder / "rounds" / str(round) / purpose
        self.folder.mkdir(parents=True, exist_ok=True)
        self._kept, paid = self._read()
        self._place = 0
        self._owe(paid)

    async def request(
        self, model: ChatModel, messages: list[ModelMessage], tools: Sequence[ToolSpec], *, seed: int
    ) -> Reply:
        """The reply at this place of the episode: the recorded one if the same was asked, else the model's.

        That the model found a question too long is recorded like a reply.
        """
        asked = self._asked(model, messages, tools, seed)
        if self._place < len(self._kept) and self._kept[self._place]["asked"] != asked:
            del self._kept[self._place :]  # what was recorded after another question answers nothing here
            self._append({SUPERSEDED: self._place})
        if self._place == len(self._kept):
            self._keep({"asked": asked, **await self._answered(model, messages, tools, seed)})
            await self._charge_new(model)
        line, self._place = self._kept[self._place], self._place + 1
        if "too_long" in line:
            raise ContextTooLong(line["too_long"])
        return _reply(line)

    async def _answered(
        self, model: ChatModel, messages: list[ModelMessage], tools: Sequence[ToolSpec], seed: int
    ) -> dict[str, Any]:
        try:
            asking = model.request(messages, tools, seed=seed)
            return _recorded(await self.watched(asking, f"{model.config.name} has not answered yet"))
        except ContextTooLong as error:
            return {"too_long": str(error)}
        except ModelError as error:
            raise RunPaused(f"{model.config.name}, which is to {self._purpose}: {error}") from None

    async def _charge_new(self, model: ChatModel) -> None:
        line = self._kept[-1]
        if "response" in line:
            await self._records.store.record_requests([self._row(_reply(line))])
            self._records.tell(self._heard(model, _reply(line)))

    def _heard(self, model: ChatModel, reply: Reply) -> AgentReplied:
        return AgentReplied(
            purpose=self._purpose,
            model=model.config.name,
            request=self._place + 1,
            calls=tuple(call.tool_name for call in reply.response.tool_calls),
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
        )

    async def watched(self, work: Coroutine[Any, Any, T], waiting: str) -> T:
        """The result of work that can take minutes, told of while it lasts."""
        task = asyncio.ensure_future(work)
        started = time.monotonic()
        try:
            while not (await asyncio.wait({task}, timeout=PATIENCE_SECONDS))[0]:
                seconds = round(time.monotonic() - started)
                self._records.tell(AgentWaiting(purpose=self._purpose, what=waiting, seconds=seconds))
            return task.result()
        finally:
            if not task.done():  # cancelled: what works for us ends before we do
                task.cancel()
                await asyncio.wait({task})

    def note(self, name: str, content: Json) -> None:
        """Keep a file of the episode, whole or not at all."""
        part = self.folder / f".{name}.part"
        part.write_text(json.dumps(content, indent=2) + "\n", encoding="ascii")
        part.replace(self.folder / name)

    def charge(self, usage: Usage, served_model: str) -> None:
        """Put what was used, and no meter saw, into the ledger."""
        self._records.store.record_requests_sync([self._row(None, usage, served_model)])
        if self._records.meter is not None:
            self._records.meter.charge(usage)

    def _read(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The lines that stand, and every reply that was ever paid for, in their order."""
        path = self.folder / TRANSCRIPT
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        kept: list[dict[str, Any]] = []
        paid: list[dict[str, Any]] = []
        for number, text in enumerate(lines[:-1], 1):  # what follows the last line end was torn off
            try:
                line = _read_line(text)
            except ValueError as error:
                raise IntegrityError(
                    f"line {number} of {path} was changed: it is {error}. Restore the file from a copy, or remove it "
                    "to have the round asked for, and paid for, again."
                ) from None
            if SUPERSEDED in line:
                del kept[line[SUPERSEDED] :]
                continue
            kept.append(line)
            paid += [line] if "response" in line else []
        if lines and lines[-1]:
            path.write_bytes(b"".join(text + b"\n" for text in lines[:-1]))
        return kept, paid

    def _owe(self, paid: Sequence[dict[str, Any]]) -> None:
        """Ledger rows for replies that were recorded just before the process died."""
        for line in paid[self._records.store.requests_of(self.id) :]:
            self.charge(_reply(line).usage, line["served_model"])

    def _keep(self, line: dict[str, Any]) -> None:
        self._kept.append(line)
        self._append(line)

    def _append(self, line: dict[str, Any]) -> None:
        """ASCII alone: no line separator of Unicode, and nothing that cannot be written."""
        with (self.folder / TRANSCRIPT).open("a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def _asked(model: ChatModel, messages: list[ModelMessage], tools: Sequence[ToolSpec], seed: int) -> str:
        """The digest of a question. Times and ids that pydantic-ai stamps on messages are no part of it."""
        said = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        parts = [
            [{key: part.get(key) for key in ("part_kind", "content", "tool_name", "args")} for part in message["parts"]]
            for message in said
        ]
        return digest([model.fingerprint, parts, [[t.name, t.description, t.parameters] for t in tools], seed])

    def _row(self, reply: Reply | None, usage: Usage | None = None, served_model: str = "") -> LedgerRow:
        used = usage or (reply.usage if reply else Usage())
        return LedgerRow(
            run=self._records.use.run,
            method=self._records.use.method,
            role=self._purpose,
            episode=self.id,
            purpose=self._purpose,
            input_tokens=used.input_tokens,
            cached_tokens=used.cached_tokens,
            output_tokens=used.output_tokens,
            cost_usd=used.cost_usd,
            wall_seconds=used.wall_seconds,
            served_model=reply.served_model if reply else served_model,
        )


def _recorded(reply: Reply) -> dict[str, Any]:
    response = ModelMessagesTypeAdapter.dump_python([reply.response], mode="json")[0]
    return {
        "response": response,
        "usage": asdict(reply.usage),
        "served_model": reply.served_model,
        "usage_known": reply.usage_known,
    }


def _read_line(text: bytes) -> dict[str, Any]:
    """A line of a transcript; `ValueError` where it is none that was written here."""
    line = parse_json(text, deepest=2 * DEEPEST)  # arguments may have as many levels as there are, inside a reply
    if not isinstance(line, dict):
        raise NotPlain("no JSON object")
    if SUPERSEDED in line:
        if not isinstance(line[SUPERSEDED], int):
            raise NotPlain("no place in the transcript")
        return line
    try:
        complete = isinstance(line["asked"], str) and ("too_long" in line or _reply(line))
    except (KeyError, TypeError, ValueError):
        complete = False
    if not complete:
        raise NotPlain("no reply that was recorded")
    return line


def _reply(line: dict[str, Any]) -> Reply:
    [response] = ModelMessagesTypeAdapter.validate_python([line["response"]])
    if not isinstance(response, ModelResponse):
        raise ValueError("a transcript holds replies")
    return Reply(
        response=response,
        usage=Usage(**line["usage"]),
        served_model=line["served_model"],
        usage_known=line["usage_known"],
    )
