"""Everything that a page needs of a run, from its folder and the store. Only reads; what is damaged or not there yet is
left out, and said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chase.core.errors import ChaseError
from chase.core.outside import NotPlain, parse_json
from chase.core.values import Usage
from chase.harness.diff import Change, diff_harnesses
from chase.harness.folder import parse_files, read_text
from chase.harness.spec import Harness
from chase.protocol.archive import Archive, read_archive
from chase.report.heads import MALFORMED, RunHead, head_of
from chase.report.outcomes import PairedOutcomes, paired_outcomes
from chase.runs.accounting import ROLLOUT, stage_of
from chase.runs.folder import HARNESSES, RunFolder
from chase.store.reader import Reader
from chase.store.records import Run, Seal
from chase.store.workspace import Workspace

Found = Mapping[str, Any]
HISTORY, RECORD = Path("history") / "proposer", "candidate.json"


@dataclass(frozen=True, kw_only=True)
class HarnessFacts:
    """A harness of a run, and what it changes in the one that the run began with."""

    name: str
    hash: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What is summed up over a run's rollouts and requests: it takes a second where there are many."""

    tokens: Sequence[RoleTokens]
    paired: Sequence[PairedOutcomes]
    """Task by task; of a run with no result yet none."""


@dataclass(frozen=True, kw_only=True)
class RoleTokens:
    """What one role used: rollouts on a task set, or an agent."""

    role: str
    stage: str
    episodes: int
    reused: int
    used: Usage
    paid: Usage

    @property
    def total(self) -> int:
        """Input and output."""
        return self.used.input_tokens + self.used.output_tokens

    @property
    def uncached(self) -> int:
        """The same without cached input."""
        return self.total - self.used.cached_tokens


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One run."""

    head: RunHead
    workspace: Path
    config: Found
    """What decides the result, as the store has it."""
    settings: Found
    """Of `config.toml`; empty where the run did not come so far, and of a comparison's member."""
    result: Found | None
    """The payload of a finished run."""
    rounds: Sequence[Found]
    """As the result has them; of an unfinished run those that were selected in."""
    archive: Archive | None
    harnesses: Sequence[HarnessFacts]
    """`H0`, `H1`, … in order; of an audit `H0` and `H`."""
    candidates: Mapping[str, HarnessFacts]
    """Every candidate that the Proposer's history has, by name."""
    seals: Sequence[Seal]
    problems: Sequence[str] = field(default_factory=tuple)
    """What could not be read."""

    @property
    def folder(self) -> Path:
        return Workspace(self.workspace).run_folder(self.head.id)

    @property
    def kind(self) -> str:
        """`evolution`, `audit`, `comparison`, or the command."""
        return _KINDS.get(self.head.command, self.head.command)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever reads the result has to know."""
        noted = () if self.head.note is None else (self.head.note,)
        return tuple(dict.fromkeys((*noted, *((self.result or {}).get("warnings", ())))))


_KINDS = {"evolve": "evolution", "compare-member": "evolution", "audit": "audit", "compare": "comparison"}


def load_facts(store: Reader, reference: str) -> RunFacts:
    """The facts of the run with this id, the one whose id begins so, or the `latest`."""
    run = store.find_run(reference)
    folder, problems = RunFolder(store.workspace, run.id), list[str]()
    result = _result(folder, run, problems)
    harnesses = list(_harnesses(folder, problems))
    return RunFacts(
        head=head_of(store.workspace, run),
        workspace=store.workspace.root,
        config=run.config if isinstance(run.config, Mapping) else {},
        settings=_settings(folder, problems),
        result=result,
        rounds=_rounds(folder, result, problems),
        archive=_archive(folder, problems),
        harnesses=harnesses,
        candidates=dict(_candidates(folder, problems)),
        seals=store.seals(run.id),
        problems=problems,
    )


def _result(folder: RunFolder, run: Run, problems: list[str]) -> dict[str, Any] | None:
    if run.status != "finished":
        return None
    try:
        return folder.read_result()
    except ChaseError as error:
        problems.append(str(error))
        return None


def _rounds(folder: RunFolder, result: Found | None, problems: list[str]) -> tuple[Found, ...]:
    if result is None:
        return tuple(selections(folder, problems))
    found = result.get("rounds", ())
    return tuple(found) if isinstance(found, list | tuple) else ()


def _settings(folder: RunFolder, problems: list[str]) -> dict[str, Any]:
    if not folder.has_settings:
        return {}
    try:
        return folder.read_settings()
    except ChaseError as error:
        problems.append(str(error))
        return {}


def _archive(folder: RunFolder, problems: list[str]) -> Archive | None:
    path = folder.path / "archive.json"
    if not path.exists():
        return None
    try:
        return read_archive(path)
    except ChaseError as error:
        problems.append(str(error))
        return None


def selections(folder: RunFolder, problems: list[str]) -> Iterator[dict[str, Any]]:
    """What an unfinished evolution has selected so far, from the Proposer's history."""
    path = folder.path / HISTORY / "rounds.jsonl"
    if not path.exists():
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for found in (parse_json(line) for line in lines if line.strip()):
            if isinstance(found, dict) and "pool" in found:
                yield {"round": found.get("round"), "selection": found}
    except (OSError, UnicodeDecodeError, NotPlain) as error:
        problems.append(f"{path} cannot be read: {error}.")


def _harnesses(folder: RunFolder, problems: list[str]) -> Iterator[HarnessFacts]:
    found = dict(_loaded(folder.path / HARNESSES, problems))
    initial = found.get("H0")
    for name in sorted(found, key=lambda name: (name != "H0", len(name), name)):
        yield _harness_facts(name, found[name], initial)


def _candidates(folder: RunFolder, problems: list[str]) -> Iterator[tuple[str, HarnessFacts]]:
    found = dict(_loaded(folder.path / HISTORY / "harnesses", problems))
    initial = found.get("H0")
    for name, harness in found.items():
        yield name, _harness_facts(name, harness, initial)


def _loaded(folder: Path, problems: list[str]) -> Iterator[tuple[str, Harness]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            if path.is_dir():
                yield path.name, parse_files(dict(_files(path)), where=str(path))
        except (ChaseError, OSError) as error:
            problems.append(f"harness {path.name}: {error}")


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of a harness; a history keeps a record beside them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != RECORD:
            yield path.relative_to(folder).as_posix(), read_text(path)


def _harness_facts(name: str, harness: Harness, initial: Harness | None) -> HarnessFacts:
    changes = () if initial is None else diff_harnesses(initial, harness).changes
    return HarnessFacts(name=name, hash=harness.hash, changes=changes)


def measure(store: Reader, facts: RunFacts, *, tokens: bool = True, paired: bool = True) -> Measured:
    """The sums that belong to a run's facts; those alone that are asked for."""
    result = facts.result
    try:
        return Measured(
            tokens=tokens_by_role(store, facts.head.id, result) if tokens else (),
            paired=paired_outcomes(store, facts.head.id, result) if paired and result is not None else (),
        )
    except MALFORMED:  # which the report then says of the result itself
        return Measured(tokens=(), paired=())


def tokens_by_role(store: Reader, run: str, result: Found | None = None) -> list[RoleTokens]:
    """What rollouts of each task set, and each agent, used and paid for; of a comparison's members too."""
    runs = [run, *(member["run"] for member in (result or {}).get("members", ()))]
    used: dict[str, list[Any]] = {}
    paid: dict[str, Usage] = {}
    for each in runs:
        for count in store.episodes(each):
            _add(used, count.role, count.episodes, count.reused, count.usage)
        for spend in store.spend(each, uncounted=ROLLOUT):
            role = spend.role if spend.purpose == ROLLOUT else _AGENTS.get(spend.purpose, spend.purpose)
            paid[role] = paid.get(role, Usage()) + spend.usage
            if spend.purpose != ROLLOUT:
                _add(used, role, spend.episodes, 0, spend.usage)
    return [
        RoleTokens(
            role=role,
            stage="optimisation" if role in _AGENTS.values() else stage_of(role),
            episodes=found[0],
            reused=found[1],
            used=found[2],
            paid=paid.get(role, Usage()),
        )
        for role, found in sorted(used.items(), key=lambda item: role_order(item[0]))
    ]


def role_order(role: str) -> tuple[int, str]:
    """In the order of a run: agents, search, discovery, confirmation, what is sealed."""
    begins = ("Proposer", "Challenger", "evo", "disc", "conf")
    return next((place for place, name in enumerate(begins) if role.startswith(name)), len(begins)), role


_AGENTS = {"propose": "Proposer", "challenge": "Challenger"}


def _add(used: dict[str, list[Any]], role: str, episodes: int, reused: int, usage: Usage) -> None:
    found = used.setdefault(role, [0, 0, Usage()])
    found[0], found[1], found[2] = found[0] + episodes, found[1] + reused, found[2] + usage
