"""Between a method and the maker of reference trajectories: the answer goes to the maker and to the verifier, and what
is handed on is a sequence of actions without it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Benchmark, HasEvidence
from chase.core.values import Json
from chase.engine.rollout import Job
from chase.engine.runner import Runner
from chase.methods.options import MethodOptions
from chase.methods.references.jobs import ModelReference, ProgramReference, maker_harness
from chase.methods.references.verifier import Truth, holds, objections
from chase.methods.trajectories import MASK, Action, actions, windows_read
from chase.models.chat import ChatModel
from chase.store.store import Store

Maker = Literal["model", "program"]


class ReferenceOptions(MethodOptions):
    """Options of a method that has reference trajectories made: a method whose options are these gets their desk."""

    maker: Literal["auto", "model", "program"] = Field(
        default="auto",
        description="Who makes reference trajectories: model, program, or auto, which is the program for an embedded "
        "model where the benchmark knows its evidence.",
    )
    attempts: int = Field(default=2, ge=1, le=10, description="Attempts at a task's reference trajectory, 1 to 10.")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A verified trajectory as others may know it: its actions, without results and without the answer."""

    actions: tuple[Action, ...]
    read: Mapping[str, int]
    """Documents that it opened → windows that it read of each."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What came of a task's attempts."""

    reference: Reference | None
    """None: no attempt was admitted, and the task is left with its failed trajectory alone."""
    refused: tuple[tuple[str, ...], ...] = ()
    """Of each attempt that was not admitted, why."""


@dataclass(frozen=True, kw_only=True)
class ReferenceDesk:
    """Has trajectories made and verified, each task's once: they are in the store, in a role of their own."""

    benchmark: Benchmark[Any]
    runner: Runner
    store: Store
    maker: Maker
    attempts: int
    tasks: Collection[str]
    """Those that the method trains on; no other gets a trajectory."""
    seed: int

    async def verified(self, tasks: Sequence[str]) -> dict[str, Verified]:
        """Each task's trajectory, or why there is none. What was made before is not made again."""
        if strange := set(tasks) - set(self.tasks):
            raise IntegrityError(f"task {min(strange)} is none of the method's: no trajectory is made for it.")
        found = {task: Verified(reference=None) for task in tasks}
        for attempt in range(self.attempts):
            waiting = [task for task in tasks if found[task].reference is None]
            made = await self.runner.evaluate([self._job(task, attempt) for task in waiting])
            for task, scored in zip(waiting, made, strict=True):
                stored = self.store.get(scored.digest)
                if stored is None:
                    raise IntegrityError(f"rollout {scored.digest[:12]} is gone from the store.")
                found[task] = self._judged(found[task], task, self.store.trace(stored.trace_digest))
        return found

    def _judged(self, before: Verified, task: str, trace: Mapping[str, Any]) -> Verified:
        truth = self._truth(task)
        if reasons := objections(trace, truth, self.benchmark.interface, self._public):
            return replace(before, refused=(*before.refused, tuple(reasons)))
        done = tuple(_masked(action, truth.answer) for action in actions(trace, self.benchmark.interface))
        return replace(before, reference=Reference(actions=done, read=windows_read(trace)))

    def _job(self, task: str, attempt: int) -> Job:
        truth, released = self._truth(task), self.benchmark.variant("released")
        answer = truth.answer if self.maker == "model" else "(known to the program)"
        job: dict[str, Any] = {
            "benchmark": self.benchmark,
            "transformation": released,
            "harness": maker_harness(self.benchmark, answer),
            "task": task,
            "index": attempt,
            "run_seed": self.seed,
        }
        if self.maker == "model":
            return ModelReference(**job)
        return ProgramReference(**job, answer=truth.answer, evidence=truth.evidence)

    def _truth(self, task: str) -> Truth:
        known = self.benchmark.evidence(task) if isinstance(self.benchmark, HasEvidence) else {}
        return Truth(answer=answer_text(self.benchmark, task), evidence=known)

    @cached_property
    def _public(self) -> str:
        tools: Json = [asdict(tool) for tool in self.benchmark.tools]
        return f"{json.dumps(tools)}\n{self.benchmark.answer_form.instruction}"


def answer_text(benchmark: Benchmark[Any], task: str) -> str:
    """A task's answer as an agent would write it."""
    return str(benchmark.subject.answer(task))


def maker_of(wanted: str, model: ChatModel, benchmark: Benchmark[Any]) -> Maker:
    """Who makes the trajectories. A program needs to know where the answers stand."""
    knows = isinstance(benchmark, HasEvidence)
    if wanted == "program" and not knows:
        raise UserError(f"maker=program: {benchmark.name} does not say where its answers stand. Write maker=model.")
    if wanted == "auto":
        return "program" if model.config.embedded and knows else "model"
    return "model" if wanted == "model" else "program"


def _masked(action: Action, answer: str) -> Action:
    """An action without the answer, which may stand in it where a tool had shown it before."""
    return replace(action, target=MASK) if holds(action.target, answer) else action
