"""An agent that is a command of somebody else's (Claude Code, Codex, …): it works at a desk and leaves answers there.

One round is one episode of at most a few attempts: the first, and one for each time that answers were refused. A
finished attempt is in the records with its answers, before they are used: a resumed run reads it there and does not
pay again. A command that fails or leaves rubbish leaves no answers; it ends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chase.agents.confinement import TIMEOUT_SECONDS, Confinement, Ended
from chase.agents.desk_folder import DeskFolder, Redact
from chase.agents.history import AGENT, History
from chase.agents.neutral_place import neutral_place
from chase.agents.prompt_files import PromptFiles
from chase.agents.records import AgentEpisode, RecordedAgent
from chase.agents.reported_usage import reported_usage
from chase.core.agents import ChallengerContext, ProposerContext
from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.core.outside import NotPlain, parse_json, valid_unicode
from chase.core.values import Json, Usage
from chase.harness.folder import render_files

NOT_REPORTED = "usage not reported"
REFUSED = "REFUSED.md"

Context = ProposerContext | ChallengerContext
Read = Callable[[Path, Redact], tuple[Json, list[str]]]
"""(the folder of answers, redactor) → the answers as plain data, and what is wrong with them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One run of the command that ended."""

    number: int
    answers: Json
    problems: list[str]
    """What cannot be read of the answers."""
    exit: int | None


class CodingAgent(RecordedAgent):
    """What a Proposer and a Challenger of this kind share: the command, its desk and its records."""

    def __init__(
        self,
        command: str,
        instructions: PromptFiles,
        *,
        network: bool = False,
        unconfined: bool = False,
        pass_env: Sequence[str] = (),
        readable: Sequence[str | Path] = (),
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.instructions = instructions
        self.confinement = Confinement(
            command=command,
            network=network,
            unconfined=unconfined,
            pass_env=tuple(pass_env),
            readable=tuple(Path(path).expanduser().absolute() for path in readable),
            timeout_seconds=timeout_seconds,
        )
        self._episode: AgentEpisode | None = None
        self._desk: DeskFolder | None = None
        self._last: Attempt | None = None
        self._attempts = 0
        self._reported = 0

    @property
    def name(self) -> str:
        """What decides its answers: the command, by its program and digest, what it may use, the instructions."""
        made = self.confinement
        marks = [mark for mark in ("network", "unconfined") if getattr(made, mark)]
        program = Path(made.words[0]).name
        return ":".join(["coding-agent", program, digest(made.words)[:8], *marks, f"prompts-{self.instructions.stamp}"])

    def check(self) -> None:
        """A `SetupError` where the command could not be started. For the command line, before a run starts."""
        self.confinement.check()

    async def first_attempt(self, purpose: str, context: Context, given: Mapping[str, str], read: Read) -> Attempt:
        """Open the records of a round, and make its first attempt."""
        self._episode = self.episode(purpose, context.round)
        self._attempts = self._reported = 0
        self._last = await self._attempt(given, context.history, read)
        return self._last

    async def further_attempt(self, context: Context, refused: Mapping[str, str], read: Read) -> Attempt | None:
        """One more attempt, with what cannot be used by what the agent calls it; None: there is nothing to mend."""
        if not refused or self._last is None:
            return None
        self._last = await self._attempt(self._told(refused, self._last.problems), context.history, read)
        return self._last

    @property
    def last_attempt(self) -> Attempt | None:
        """The round's last one so far."""
        return self._last

    def desk_files(
        self, context: Context, harnesses: Mapping[str, str], data: Mapping[str, Json], **filled: object
    ) -> dict[str, str]:
        """What is on the desk at first: the instructions, filled in, what they refer to as data, and harnesses by the
        folders that they are put into.
        """
        names = {"current": context.current, "initial": context.initial}
        common = {"round": context.round, "benchmark": context.benchmark, **names}
        described = {name: observable.description for name, observable in context.observables.items()}
        tools = [asdict(tool) for tool in context.tools]
        told = {"instructions": self.instructions.stamp, **common, "observables": described, "tools": tools, **data}
        history = History(context.history)
        return {
            "INSTRUCTIONS.md": self.instructions.fill("instructions", **common, **filled),
            "context.json": f"{json.dumps(told, indent=2, ensure_ascii=False)}\n",
            **{
                f"{folder}/{file}": text
                for folder, name in harnesses.items()
                for file, text in _files(history, name).items()
            },
        }

    async def _attempt(self, given: Mapping[str, str], history: Path, read: Read) -> Attempt:
        """The next attempt of the round: as it is recorded, else made now.

        `given` is what is new at the desk: everything the first time, one file at the top later.
        """
        episode = self._opened
        self._attempts += 1
        asked = digest([self.name, self._attempts, dict(given), _outline(history)])
        kept = self._kept(f"attempt-{self._attempts}.json")
        known = kept.get("asked") == asked
        if known:
            self._desk = DeskFolder(episode.folder / kept["desk"])
        else:
            kept = await self._made(asked, given, history, read)
            self._note(f"attempt-{self._attempts}.json", kept)
        self._charge(kept, known=known)
        return Attempt(number=self._attempts, answers=kept["answers"], problems=kept["problems"], exit=kept["exit"])

    def _told(self, refused: Mapping[str, str], problems: Sequence[str]) -> dict[str, str]:
        """The file that tells which answers (by what the agent calls them) cannot be used, and why."""
        lines = [f"- {name}: {reason}" for name, reason in refused.items()]
        text = "\n".join([*lines, *(f"- {problem}" for problem in problems)])
        return {REFUSED: self.instructions.fill("refused", refusals=valid_unicode(text))}

    def stamp(self, attempt: Attempt) -> dict[str, Json]:
        """What stands on everything that came of an attempt."""
        return {
            "agent": self.name,
            "prompts": self.instructions.stamp,
            "attempt": attempt.number,
            "exit": attempt.exit,
            "confined": not self.confinement.unconfined,
        }

    @property
    def _opened(self) -> AgentEpisode:
        if self._episode is None:
            raise RuntimeError("no episode is open")
        return self._episode

    async def _made(self, asked: str, given: Mapping[str, str], history: Path, read: Read) -> dict[str, Any]:
        """Run the command and read what it left."""
        episode, number, made = self._opened, self._attempts, self.confinement
        assert self.records is not None
        hidden = [self.records.store.workspace.state, *self.records.hidden]
        made.check_hidden(hidden)
        started = self._kept(f"attempt-{number}-started.json")
        times = started["times"] + 1 if started.get("asked") == asked else 1
        self._note(f"attempt-{number}-started.json", {"asked": asked, "times": times})
        desk = self._prepared(given)
        desk.open_for_work(history, copy=made.unconfined)
        logs = episode.folder / f"log-{number}.stdout", episode.folder / f"log-{number}.stderr"
        seen = nullcontext((desk.root, history)) if made.unconfined else neutral_place(desk.root, history)
        try:
            with seen as (root, tree):
                work = made.run(root, shelf=tree, hidden=hidden, logs=logs)
                ended = await episode.watched(work, f"its command is at work (limit {made.timeout_seconds:g} s)")
        finally:
            desk.close_after_work()
        try:
            answers, problems = read(desk.answers, made.redact)
        except UserError as error:
            answers, problems = None, [str(error)]
        return {
            "asked": asked,
            "agent": self.name,
            "prompts": self.instructions.stamp,
            "command": made.command,
            "confined": not made.unconfined,
            "network": made.network,
            "desk": desk.root.name,
            "interrupted_before": times - 1,
            "exit": ended.exit,
            "stopped": ended.stopped,
            "seconds": ended.seconds,
            "usage": self._usage(ended),
            "problems": problems,
            "answers": answers,
        }

    def _prepared(self, given: Mapping[str, str]) -> DeskFolder:
        """The desk, with what is new on it. What an interrupted first attempt left is not used."""
        if self._attempts == 1 or self._desk is None:
            number = 1
            while (root := self._opened.folder / f"desk-{number}").exists():
                DeskFolder(root).close_after_work()
                number += 1
            self._desk = DeskFolder(root)
            self._desk.lay_out(given)
        else:
            for name, text in given.items():
                self._desk.put(name, text)
        return self._desk

    def _usage(self, ended: Ended) -> Json:
        found = reported_usage(ended.output, wall_seconds=ended.seconds)
        if found is None:
            return NOT_REPORTED
        usage, model = found
        return {**asdict(usage), "served_model": valid_unicode(model) or Path(self.confinement.words[0]).name}

    def _charge(self, kept: Mapping[str, Any], *, known: bool) -> None:
        """Put the reported usage into the ledger. Of a known attempt it is there, unless the process died just then."""
        if kept["usage"] == NOT_REPORTED:
            return
        self._reported += 1
        assert self.records is not None
        if not known or self.records.store.requests_of(self._opened.id) < self._reported:
            used = dict(kept["usage"])
            model = used.pop("served_model")
            self._opened.charge(Usage(**used), served_model=model)

    def _note(self, name: str, content: Mapping[str, Json]) -> None:
        """Keep a file of the episode, with its digest."""
        self._opened.note(name, {**content, "digest": digest(content)})

    def _kept(self, name: str) -> dict[str, Any]:
        """What `_note` kept; {} where there is nothing or it is damaged."""
        try:
            content = parse_json((self._opened.folder / name).read_bytes())
        except (OSError, NotPlain):
            return {}
        stated = content.pop("digest", None) if isinstance(content, dict) else None
        return content if stated is not None and stated == digest(content) else {}


def _files(history: History, name: str) -> dict[str, str]:
    """The files of a harness; of an agent of one's own what it is, in one."""
    if history.plays_itself(name):
        return {AGENT: (history.root / "harnesses" / name / AGENT).read_text(encoding="utf-8")}
    return render_files(history.harness(name))


def _outline(history: Path) -> Json:
    """What tells one state of a history from another: its results word for word, and which files there are."""
    results = [(history / name).read_text(encoding="utf-8") for name in ("scores.jsonl", "rounds.jsonl")]
    return [results, sorted(str(path.relative_to(history)) for path in history.rglob("*"))]
