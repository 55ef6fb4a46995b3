"""What happens in a run, in words: an event becomes lines, by its type alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any

from chase.core.events import (
    AgentReplied,
    AgentWaiting,
    Archived,
    AuditAttributionStarted,
    AuditBatteryStarted,
    AuditConfirmationStarted,
    AuditPlanned,
    AuditSearched,
    AuditSearchStarted,
    CertificationStarted,
    Challenged,
    ChallengeSkipped,
    ConfirmationPlanned,
    ConfirmationSkipped,
    Confirmed,
    DraftsReceived,
    EpochSelected,
    EpochStarted,
    Event,
    FailuresGrouped,
    FinalSelected,
    PlacebosTested,
    PoolEntry,
    Repaired,
    RepairMeasurementStarted,
    RepairStarted,
    RoundStarted,
    Selected,
    ShortcutShown,
    Stopped,
)
from chase.runs.conclusion import by_noise_in_words
from chase.runs.listening import MemberEnded, Outage, RunBegun, RunInterrupted
from chase.stats.sequential import POOR_POWER

AGENTS = {"propose": "Proposer", "challenge": "Challenger"}


@singledispatch
def lines(event: Event) -> Iterator[str]:
    """An event in words; of one that is not known nothing."""
    yield from ()


@singledispatch
def stage(event: Event) -> str | None:
    """What is under way from an event on, where it begins something."""
    return None


@stage.register
def _(event: RoundStarted) -> str | None:
    return f"round {event.round}"


@stage.register
def _(event: EpochStarted) -> str | None:
    return f"epoch {event.epoch}"


@stage.register
def _(event: FinalSelected) -> str | None:
    return "final selection"


@stage.register
def _(event: CertificationStarted) -> str | None:
    return "certification"


# Of any run


@lines.register
def _(event: RunBegun) -> Iterator[str]:
    if event.again is not None:
        yield f"run {event.run} (after an interruption: {event.again})"


@lines.register
def _(event: RunInterrupted) -> Iterator[str]:
    how = "by the same command" if event.again is None else f"with `{event.again}`"
    yield f"What was finished is saved; go on {how}."


@lines.register
def _(event: Outage) -> Iterator[str]:
    yield event.message


@lines.register
def _(event: AgentReplied) -> Iterator[str]:
    calls = ", ".join(name[:40] for name in event.calls[:4]) or "text only"
    tokens = f"{event.input_tokens:,} + {event.output_tokens:,} tokens"
    yield f"  {AGENTS[event.purpose]} ({event.model}), request {event.request}: {calls}; {tokens}"


@lines.register
def _(event: AgentWaiting) -> Iterator[str]:
    yield f"  {AGENTS[event.purpose]}: {event.what}, {event.seconds} s"


# Of an evolution


@lines.register
def _(event: RoundStarted) -> Iterator[str]:
    of = "" if event.rounds is None else f" of {event.rounds}"
    yield f"round {event.round}{of}: from {event.current}, archive: {', '.join(event.archive)}"


@lines.register
def _(event: Selected) -> Iterator[str]:
    yield from _pool(event.pool, event.selected)
    for refusal in event.refused:
        yield f"    refused {refusal}"


@lines.register
def _(event: RepairStarted) -> Iterator[str]:
    scores = "scores more than what can be selected and breaks"
    yield f"  repair (beyond the paper): {event.of} {scores} {', '.join(event.breaks)}; trying it without parts of it"


@lines.register
def _(event: Repaired) -> Iterator[str]:
    tried = f"{event.tried} forms tried, {event.cells} new cells"
    if event.repaired is None:
        yield f"  no form of {event.of} keeps all constraints and scores more ({tried})"
        return
    yield f"  repaired as {event.repaired} ({tried})"
    for word, names in (("without", event.dropped), ("without its condition", event.generalised)):
        for name in names:
            yield f"    {word}: {name}"


@lines.register
def _(event: FinalSelected) -> Iterator[str]:
    yield "final selection among the rounds' harnesses"
    yield from _pool(event.pool, event.selected)


@lines.register
def _(event: EpochStarted) -> Iterator[str]:
    sizes = "/".join(map(str, event.batches))
    yield f"epoch {event.epoch} of {event.epochs}: from {event.current}, batches of {sizes} tasks"


@lines.register
def _(event: FailuresGrouped) -> Iterator[str]:
    admitted, alone = event.references["admitted"], event.references["fallback"]
    yield f"  references: {admitted} of {admitted + alone} verified"
    found = ", ".join(f"{group['cause']} {group['failures']}" for group in event.groups)
    yield f"  failures: {found}" if found else f"  no failure on {event.tasks} tasks"


@lines.register
def _(event: EpochSelected) -> Iterator[str]:
    yield f"selection after epoch {event.epoch}, on held-out tasks"
    yield from _pool(event.pool, event.selected)


@lines.register
def _(event: DraftsReceived) -> Iterator[str]:
    yield f"  Challenger: {event.count} transformations to be screened"


@lines.register
def _(event: ChallengeSkipped) -> Iterator[str]:
    yield f"  Challenger skipped: {event.reason}"


@lines.register
def _(event: Challenged) -> Iterator[str]:
    for proposal in event.proposals:
        yield f"    {_screened(proposal)}"
    once = {found["hash"]: found for found in event.evaluated}  # a part may have been evaluated already
    for found in once.values():
        yield f"  on disc: {found['what']}: gain destruction {_points(found['destruction'])}"
    frozen = event.frozen
    yield f"  frozen: {frozen['what']}" if frozen else "  nothing frozen: no transformation passed the screens"


@lines.register
def _(event: Confirmed) -> Iterator[str]:
    if event.destruction is None:
        yield f"  on {event.role}: not measured and not confirmed, failed checks: {', '.join(event.failed)}"
        return
    verdict = "confirmed" if event.confirmed else "not confirmed"
    eta = 100 * float(event.eta)
    if event.test is not None:
        yield from _tested(event, verdict)
        return
    yield f"  on {event.role}: gain destruction {_points(event.destruction)} against η = {eta:g}: {verdict}"
    if (cut := event.stopped) is not None:
        yield f"    stopped after {cut['after']} of {cut['of']}: it can come to {100 * cut['bound']:+.1f} at most"
    yield f"    {by_noise_in_words(event.by_noise)}"


def _tested(event: Confirmed, verdict: str) -> Iterator[str]:
    """A calibrated confirmation: where it ended, and what it was worth."""
    test = dict(event.test or {})
    last = test["looks"][-1]
    ended = ", without prospects" if last["step"] == "futile" else ""
    yield (
        f"  on {event.role}: gain destruction {_points(last['destruction'])} after {last['rollouts']} of "
        f"{test['rollouts']} rollouts{ended}: {verdict}"
    )
    yield (
        f"    p = {last['p']:.4f}; what changes no task is confirmed at most {100 * test['alpha']:.1f} % of the time, "
        f"and 15 points {100 * test['power']:.0f} % of the time with this noise"
    )
    shown = "above 0" if test["mean_low"] > 0 else "not shown to be above 0"
    yield (
        f"    the mean over tasks is {shown} (at least {100 * test['mean_low']:+.1f}); 15 points would be shown "
        f"{100 * test['mean_power']:.0f} % of the time"
    )


@lines.register
def _(event: ConfirmationPlanned) -> Iterator[str]:
    yield (
        f"calibrated confirmation: on {event.tasks} tasks with {event.rollouts} rollouts a gain destruction of "
        f"{100 * event.effect:g} points is confirmed {100 * event.power:.0f} % of the time; 80 % takes "
        f"{event.tasks_needed} tasks (independent rollouts; common random numbers need fewer). That its mean is "
        f"above 0 is shown {100 * event.mean_power:.0f} % of the time; 80 % takes {event.mean_tasks_needed} tasks"
    )
    if event.power < POOR_POWER:
        yield "  warning: that is less than every second time. Use more confirmation tasks, or --confirmation paper."


@lines.register
def _(event: ConfirmationSkipped) -> Iterator[str]:
    yield f"  not put to the test: {event.reason}"


@lines.register
def _(event: PlacebosTested) -> Iterator[str]:
    passed = [placebo["name"] for placebo in event.placebos if placebo["confirmed"]]
    said = f": {', '.join(passed)}" if passed else ""
    yield f"  placebos on {event.role}: {len(passed)} of {len(event.placebos)} would be confirmed{said}"


@lines.register
def _(event: Archived) -> Iterator[str]:
    yield f"  archived as {event.name}: {event.what}"


@lines.register
def _(event: CertificationStarted) -> Iterator[str]:
    yield f"certification: everything is fixed and recorded; the {event.tasks} sealed tasks are opened"


# Of an audit


@lines.register
def _(event: AuditSearchStarted) -> Iterator[str]:
    yield f"round {event.round}: the Challenger reads, the firewall checks what it writes"


@lines.register
def _(event: AuditSearched) -> Iterator[str]:
    for tried in event.tried:
        delta = tried["destruction"]
        found = f"gain destruction {_points(delta)}" if delta else tried["verdict"]
        yield f"  round {event.round}: {tried['what'] or tried['reason']}: {found}"


@lines.register
def _(event: AuditPlanned) -> Iterator[str]:
    yield event.shows


@lines.register
def _(event: AuditBatteryStarted) -> Iterator[str]:
    yield f"battery: {event.probes} probes on {event.tasks} fresh tasks, against {event.covers}"


@lines.register
def _(event: AuditConfirmationStarted) -> Iterator[str]:
    if not event.transformations:
        return
    yield (
        f"confirming {event.transformations} on {event.tasks} fresh tasks: first the firewall there, "
        "then both harnesses are run"
    )


@lines.register
def _(event: AuditAttributionStarted) -> Iterator[str]:
    edits = "1 edit" if event.edits == 1 else f"{event.edits} edits"
    yield f"by edit: {edits}, {event.harnesses} further harnesses are run as released and under {event.variants} probes"


# Of the repair of an audited harness


@lines.register
def _(event: ShortcutShown) -> Iterator[str]:
    destroyed = ", ".join(f"{name} {100 * value:+.1f}" for name, value in event.breaks.items())
    against = [f"gain destruction {destroyed}"] if destroyed else []
    against += [f"called a shortcut: {', '.join(event.shortcuts)}"] if event.shortcuts else []
    yield f"search: {'; '.join(against)}; trying the harness without some of its {event.parts} edits"


@lines.register
def _(event: MemberEnded) -> Iterator[str]:
    yield f"  seed {event.seed}: {event.method} is done"


@lines.register
def _(event: RepairMeasurementStarted) -> Iterator[str]:
    what = "harness and repaired harness" if event.harnesses > 1 else "the harness"
    yield f"measuring {what} on {event.tasks} tasks that the search did not use"


def _pool(pool: Sequence[PoolEntry], selected: str) -> Iterator[str]:
    """Each harness with its released score and the constraints it breaks; the selected one is marked."""
    width = max((len(entry.harness) for entry in pool), default=0)
    for entry in pool:
        broken = [name if by is None else f"{name} by {100 * by:.1f}" for name, by in entry.violates.items()]
        mark = "*" if entry.harness == selected else " "
        score = "       " if entry.released is None else f"{100 * entry.released:5.1f} %"
        line = f"  {mark} {entry.harness:<{width}}  {score}"
        if entry.destruction:
            each = ", ".join(f"{name} {100 * value:+.1f}" for name, value in entry.destruction.items())
            line += f"  gain destruction {each}"
        line += f"  violates {', '.join(broken)}" if broken else ""
        yield line if entry.stopped is None else f"{line}  {_stopped(entry.stopped)}"


def _stopped(found: Stopped) -> str:
    """Why a harness was evaluated no further."""
    words = {
        "beaten": ("cannot win", "unlikely to win"),
        "infeasible": (f"breaks {found.by}", f"likely breaks {found.by}"),
    }
    sure, likely = words[found.why]
    return f"stopped after {found.after} of {found.of}: {sure if found.certain else likely}"


def _screened(proposal: Mapping[str, Any]) -> str:
    suspected = f"  (suspects {', '.join(proposal['suspected'])})" if proposal["suspected"] else ""
    verdict = proposal["verdict"]
    why = f": {proposal['reason']}" if verdict in ("refused", "invalid") else ""
    return f"{verdict}{why}  {proposal['what']}{suspected}"


def _points(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:+.1f} ± {100 * estimate['se']:.1f}"
