"""What a result says of a harness that breaks or does nothing: shared by rollouts, audits and evolutions.

All of it is read from the traces of the rollouts that a run used, those from the store and from before an
interruption included.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chase.core.values import Json, RolloutKey
from chase.harness.folder import CONTROL, read_text
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.runs.life import OpenRun
from chase.store.digests import rollout_digest
from chase.store.reader import Reader
from chase.store.records import StoredRollout

_LINE = re.compile(r"line (\d+): ")
_ACTS = {"model": ("text", "calls"), "tool": ("by", "tool", "arguments")}
"""What of a trace is behaviour: what the model said and called, and the calls that were made."""


@dataclass(frozen=True, kw_only=True)
class HookFailures:
    """A hook that failed in rollouts of a harness, and how it did so most often."""

    harness: str
    """Its name in the run."""
    hash: str
    hook: str
    """Its name, or 'control.py' where the file itself failed."""
    rollouts: int
    """Rollouts in which it failed at least once."""
    of: int
    """Rollouts of the harness."""
    reason: str
    line: int | None
    """Of the user's file, where it is known."""
    detail: str
    other_reasons: int
    """How many other ways of failing there were."""

    @property
    def text(self) -> str:
        """In one sentence."""
        detail = f": {self.detail}" if self.detail else ""
        line = f" at {CONTROL} line {self.line}" if self.line is not None else ""
        more = f" (and {self.other_reasons} other reason{'s'[: self.other_reasons != 1]})" if self.other_reasons else ""
        share = f"{self.rollouts} of {self.of} rollouts"
        return f"{self.hook} of {self.harness} failed in {share}: {self.reason}{detail}{line}{more}"


@dataclass(frozen=True, kw_only=True)
class Notices:
    """What was noticed: failures as data, and all of it in sentences."""

    hook_failures: list[dict[str, Json]]
    texts: list[str]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A harness of the run, what it is compared with, and both their names."""

    harness: Harness
    baseline: Harness
    name: str = "the harness"
    baseline_name: str = "H_0"
    source: object = None
    """What the user named the harness by: where it is a folder, lines are those of its file."""


def notice(run: OpenRun, compared: Compared, names: Mapping[str, str] | None = None) -> Notices:
    """What the run's traces say. `names`: hash → name of other harnesses that were evaluated."""
    used = [found.rollout for found in run.store.used(run.id) if found.rollout.outcome.status == "scored"]
    failures = _hook_failures(run.store, used, compared, names or {})
    texts = [*(failure.text for failure in failures), *cut_short(run, [run.id])]
    if compared.harness.hash != compared.baseline.hash:
        texts += _idle(run.store, used, compared)
        texts += _not_understood(run.model, compared)
    return Notices(hook_failures=[asdict(failure) for failure in failures], texts=texts)


# Hooks that fail


@dataclass(frozen=True, kw_only=True)
class FailedCall:
    """A hook call that had no effect."""

    reason: str
    line: int | None
    """Of the harness's own source, where it is known."""
    detail: str


@dataclass
class _Tally:
    """How one hook of one harness failed."""

    rollouts: int = 0
    ways: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By reason and line: a hook's own message differs from task to task."""
    examples: dict[tuple[str, int], FailedCall] = field(default_factory=dict)

    def add(self, failures: Sequence[FailedCall]) -> None:
        """The failures of one rollout."""
        self.rollouts += 1
        for failure in failures:
            way = failure.reason, failure.line or 0
            self.ways[way] += 1
            self.examples.setdefault(way, failure)

    def most_often(self) -> FailedCall:
        return self.examples[min(self.ways, key=lambda way: (-self.ways[way], way))]


def _hook_failures(
    store: Reader, used: Iterable[StoredRollout], compared: Compared, names: Mapping[str, str]
) -> list[HookFailures]:
    called = {**names, compared.baseline.hash: compared.baseline_name, compared.harness.hash: compared.name}
    hookless = {one.hash for one in (compared.baseline, compared.harness) if one.control_source is None}
    of, tallies = Counter[str](), defaultdict[tuple[str, str], _Tally](_Tally)
    for rollout in used:
        harness = rollout.key.harness
        of[harness] += 1
        failed = {} if harness in hookless else failed_hooks(store.trace(rollout.trace_digest))
        for hook, failures in failed.items():
            tallies[harness, hook].add(failures)
    above = {compared.harness.hash: blank_lines(compared.source)}
    return [
        _summary(
            called.get(harness, f"harness {harness[:12]}"), harness, hook, of[harness], tally, above.get(harness, 0)
        )
        for (harness, hook), tally in sorted(tallies.items(), key=lambda item: (-item[1].rollouts, item[0]))
    ]


def failed_hooks(trace: Mapping[str, Any]) -> dict[str, list[FailedCall]]:
    """Hook → its calls that had no effect, as a trace has them."""
    found: dict[str, list[FailedCall]] = {}
    for event in trace["events"]:
        if event["event"] == "hook" and event["failure"] is not None:
            detail = event.get("detail", "")
            place = _LINE.match(detail)
            call = FailedCall(
                reason=event["failure"].removeprefix("error: "),
                line=int(place[1]) if place else None,
                detail=detail[place.end() :] if place else detail,
            )
            found.setdefault(event["hook"], []).append(call)
    return found


def _summary(name: str, harness: str, hook: str, of: int, tally: _Tally, above: int) -> HookFailures:
    example = tally.most_often()
    return HookFailures(
        harness=name,
        hash=harness,
        hook=hook,
        rollouts=tally.rollouts,
        of=of,
        reason=example.reason,
        line=None if example.line is None else example.line + above,
        detail=example.detail,
        other_reasons=len(tally.ways) - 1,
    )


def blank_lines(source: object) -> int:
    """Blank lines at the top of the user's file: they are no part of the harness."""
    if not isinstance(source, str | Path) or not (Path(source) / CONTROL).exists():
        return 0
    text = read_text(Path(source) / CONTROL)
    return text[: len(text) - len(text.lstrip())].count("\n")


# Histories that were too long for a model on this machine


def cut_short(run: OpenRun, ids: Iterable[str]) -> list[str]:
    """How many rollouts of these runs a context ended, of a model whose context can be set here."""
    file = run.model.file
    if file is None:
        return []
    reasons = {use.rollout.digest: use.rollout.outcome.reason for id_ in ids for use in run.store.used(id_)}
    cut, tokens = sum(reason == "context-limit" for reason in reasons.values()), file.serving.context_tokens
    if not cut:
        return []
    name, trained = run.model.config.name, file.weights.header.trained_context
    advice = (
        f"the model was trained on {trained:,} tokens, so take another"
        if trained is not None and tokens >= trained
        else f'raise context_tokens in [models."{name}".server]'
    )
    return [
        f"{cut} of {len(reasons)} rollouts ended without an answer because their history was too long for the context "
        f"of {name} ({tokens:,} tokens) or for the benchmark's own limit. If it was the model's, {advice}"
    ]


# Harnesses that do nothing


def _idle(store: Reader, used: Sequence[StoredRollout], compared: Compared) -> list[str]:
    """Whether the harness did on every task what its baseline did, where rollouts of both are in the store."""
    mine = [rollout for rollout in used if rollout.key.harness == compared.harness.hash]
    other = {rollout.digest: _with_harness(rollout.key, compared.baseline.hash) for rollout in mine}
    found = store.get_many(other.values())
    pairs = [(rollout, found.get(other[rollout.digest])) for rollout in mine]
    if not pairs or not all(theirs is not None and _alike(store, ours, theirs) for ours, theirs in pairs):
        return []
    tasks = len({rollout.key.task for rollout in mine})
    return [
        f"{compared.name} behaved exactly like {compared.baseline_name} on all {tasks} tasks: "
        "the same calls and the same answers. Its edits did nothing here"
    ]


def _with_harness(key: RolloutKey, harness: str) -> str:
    return rollout_digest(replace(key, harness=harness))


def _alike(store: Reader, ours: StoredRollout, theirs: StoredRollout) -> bool:
    if (ours.answer, ours.outcome) != (theirs.answer, theirs.outcome):
        return False
    return _acts(store.trace(ours.trace_digest)) == _acts(store.trace(theirs.trace_digest))


def _acts(trace: Mapping[str, Any]) -> list[tuple[Json, ...]]:
    events = [event for event in trace["events"] if event["event"] in _ACTS]
    return [(event["event"], *(event[name] for name in _ACTS[event["event"]])) for event in events]


def _not_understood(model: ChatModel, compared: Compared) -> list[str]:
    """Whether a program that stands in for a language model understands nothing of what the harness's texts add."""
    known = model.vocabulary
    texts, before = _texts(compared.harness), _texts(compared.baseline)
    if known is None or texts == before or known.read(texts) != known.read(before):
        return []
    phrases = " ".join(f"`{phrase}`" for phrase in known.phrases)
    return [
        f"none of the edits to the texts of {compared.name} is in the vocabulary of {model.config.name}, which ignores "
        f"all else (a language model would not). It knows: {phrases}"
    ]


def _texts(harness: Harness) -> str:
    """All that a model may read of a harness."""
    parts = [harness.prompt, harness.structure.tools.instructions, harness.memory]
    return "\n".join([*parts, *(module.text for module in harness.guidance)])
