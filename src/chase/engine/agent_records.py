"""What an agent that asks a model leaves behind: a transcript that a resumed run reads instead of asking again, and
ledger rows.

A reply is in the transcript before it is used. The same question at the same place of the same episode is answered
from there; the ledger gets each reply once, whenever the process dies.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from chase.core.keyed import digest
from chase.core.values import Json, ToolSpec, Usage
from chase.engine.runner import RunPaused
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ModelError
from chase.models.meter import Meter
from chase.store.records import LedgerRow, Use
from chase.store.store import Store

TRANSCRIPT = "transcript.jsonl"
Tell = Callable[[str, Mapping[str, Json]], None]


@dataclass(frozen=True, kw_only=True)
class AgentRecords:
    """Where the agents of one run keep their records."""

    store: Store
    use: Use
    folder: Path
    """The run's."""
    tell: Tell = lambda kind, details: None
    """Hears of every reply, because an episode can take minutes."""
    meter: Meter | None = None
    """The run's, for what an external agent says it used; models are on it themselves."""

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
    agents: Iterable[object], store: Store, use: Use, folder: Path, tell: Tell, meter: Meter | None = None
) -> None:
    """Give agents that ask models, or run commands, their place in a run's records."""
    for agent in agents:
        if isinstance(agent, RecordedAgent):
            agent.attach(AgentRecords(store=store, use=use, folder=folder, tell=tell, meter=meter))


class AgentEpisode:
    """The records of one episode, from earlier attempts at it on."""

    def __init__(self, records: AgentRecords, purpose: str, round: int) -> None:
        self._records = records
        self._purpose = purpose
        self.id = f"{records.use.run}/{purpose}/{round}"
        self.folder = records.folder / "rounds" / str(round) / purpose
        self.folder.mkdir(parents=True, exist_ok=True)
        self._kept = self._read()
        self._place = 0
        self._owe()

    async def request(
        self, model: ChatModel, messages: list[ModelMessage], tools: Sequence[ToolSpec], *, seed: int
    ) -> Reply:
        """The reply at this place of the episode: the recorded one if the same was asked, else the model's."""
        asked = self._asked(model, messages, tools, seed)
        place, self._place = self._place, self._place + 1
        if place < len(self._kept) and self._kept[place]["asked"] == asked:
            return _reply(self._kept[place])
        del self._kept[place:]  # what was recorded after another question answers nothing here
        try:
            reply = await model.request(messages, tools, seed=seed)
        except ModelError as error:
            raise RunPaused(f"{model.config.name}, which is to {self._purpose}: {error}") from None
        self._keep({"asked": asked, **_recorded(reply)})
        await self._records.store.record_requests([self._row(reply)])
        self._records.tell("agent", self._heard(model, reply))
        return reply

    def _heard(self, model: ChatModel, reply: Reply) -> dict[str, Json]:
        return {
            "purpose": self._purpose,
            "model": model.config.name,
            "request": self._place,
            "calls": [call.tool_name for call in reply.response.tool_calls],
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        }

    def note(self, name: str, content: Json) -> None:
        """Keep a file of the episode, whole or not at all."""
        part = self.folder / f".{name}.part"
        part.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(self.folder / name)

    def charge(self, usage: Usage, served_model: str) -> None:
        """Put what an external agent says it used into the ledger."""
        self._records.store.record_requests_sync([self._row(None, usage, served_model)])
        if self._records.meter is not None:
            self._records.meter.charge(usage)

    def _read(self) -> list[dict[str, Any]]:
        path = self.folder / TRANSCRIPT
        if not path.exists():
            return []
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                kept.append(json.loads(line))
            except ValueError:  # the process died while it wrote this line: the last one
                break
        return kept

    def _owe(self) -> None:
        """Ledger rows for replies that were recorded just before the process died."""
        charged = self._records.store.requests_of(self.id)
        for line in self._kept[charged:]:
            self._records.store.record_requests_sync([self._row(_reply(line))])

    def _keep(self, line: dict[str, Any]) -> None:
        self._kept.append(line)
        text = "".join(json.dumps(kept, ensure_ascii=False) + "\n" for kept in self._kept)
        part = self.folder / f".{TRANSCRIPT}.part"
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.folder / TRANSCRIPT)

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
    return {
        "response": ModelMessagesTypeAdapter.dump_python([reply.response], mode="json")[0],
        "usage": asdict(reply.usage),
        "served_model": reply.served_model,
        "usage_known": reply.usage_known,
    }


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
