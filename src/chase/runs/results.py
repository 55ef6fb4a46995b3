"""What a run came to: the payload that `--json` prints, with what a notebook wants of it as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from chase.core.values import Json, Usage
from chase.harness.folder import load_harness
from chase.harness.spec import Harness
from chase.protocol.archive import Archive, read_archive
from chase.protocol.example import Example, example_of
from chase.protocol.proposal import parse_for
from chase.stats.estimates import Estimate


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """The result of a run. `to_json` is what the command prints."""

    payload: Mapping[str, Any]
    folder: Path
    """The run's."""

    schema: ClassVar[str]

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.payload["run"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever reads the result has to know."""
        return tuple(self.payload["warnings"])

    def to_json(self) -> dict[str, Json]:
        """One plain JSON object with the schema's name first."""
        return {"schema": self.schema, **self.payload}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run}: {self._in_short()}>"

    def _in_short(self) -> str:
        raise NotImplementedError


class Timed(Result):
    """A result that says how long it took, over all interruptions."""

    @property
    def wall_seconds(self) -> float:
        return float(self.payload["wall_seconds"])


class RolloutResult(Timed):
    """A harness's score on one task set under one variant."""

    schema = "chase.rollout/1"

    @property
    def score(self) -> Estimate:
        """The mean within task, then across tasks."""
        return Estimate(**self.payload["score"])

    @property
    def per_task(self) -> Mapping[str, float]:
        """Task → its mean score."""
        found: Mapping[str, float] = self.payload["per_task"]
        return found

    @property
    def usage(self) -> Usage:
        """Of all rollouts, those from the store included."""
        return Usage(**self.payload["usage"])

    @property
    def executed(self) -> int:
        """Rollouts that were run now; the others were in the store."""
        return int(self.payload["executed"])

    def _in_short(self) -> str:
        score = self.score
        return f"score {100 * score.value:.2f} % ± {100 * score.se:.2f}, n = {score.n}"


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditResult(Timed):
    """Whether a harness's gain holds under valid changes of the protocol."""

    benchmark: Any
    """As it was opened: examples are made from it."""

    schema: ClassVar[str] = "chase.audit/2"

    @property
    def verdict(self) -> str:
        """no gain, inconclusive, not supported, partly supported or supported."""
        return str(self.payload["verdict"])

    @property
    def reason(self) -> str:
        return str(self.payload["reason"])

    @property
    def gain(self) -> Estimate:
        """`G_rel` on the confirmation tasks."""
        return Estimate(**self.payload["g_rel"])

    @property
    def gamma(self) -> float:
        """The largest gain destruction that counts."""
        return float(self.payload["gamma"])

    @property
    def g_min(self) -> float:
        """The gain that survives it."""
        return float(self.payload["g_min"])

    @property
    def confirmed(self) -> tuple[Mapping[str, Any], ...]:
        """The counterfactuals that were confirmed, as the JSON has them."""
        return tuple(self.payload["confirmed"])

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """All that were taken to confirmation, those that were confirmed first."""
        return (*self.payload["confirmed"], *self.payload["not_confirmed"])

    @property
    def attribution(self) -> Mapping[str, Any] | None:
        """Which edit carries what, as the JSON has it; None where that was not asked for."""
        found: Mapping[str, Any] | None = self.payload.get("attribution")
        return found

    def example(self, finding: Mapping[str, Any]) -> Example:
        """What an agent sees before and after a finding's transformation."""
        return example_of(self.benchmark, parse_for(self.benchmark, finding["transformation"]).transformation)

    def _in_short(self) -> str:
        return f"{self.verdict}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class AnalyzeResult:
    """What given scores say of a harness's gain. `to_json` is what `chase analyze --json` prints."""

    payload: Mapping[str, Any]

    schema: ClassVar[str] = "chase.analyze/1"

    @property
    def verdict(self) -> str | None:
        """As an audit's; None where there are released scores alone, and the gain is more than nothing."""
        found: str | None = self.payload["verdict"]
        return found

    @property
    def reason(self) -> str:
        return str(self.payload["reason"])

    @property
    def gain(self) -> Estimate:
        """`G_rel`."""
        return Estimate(**self.payload["g_rel"])

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """The gain under every other variant, those that are confirmed first."""
        return (*self.payload["confirmed"], *self.payload["not_confirmed"])

    def to_json(self) -> dict[str, Json]:
        return {"schema": self.schema, **self.payload}


@dataclass(frozen=True, kw_only=True)
class PlanResult:
    """How many tasks and rollouts a question takes. `to_json` is what `chase plan --json` prints."""

    payload: Mapping[str, Any]

    schema: ClassVar[str] = "chase.plan/1"

    def to_json(self) -> dict[str, Json]:
        return {"schema": self.schema, **self.payload}


class RepairResult(Timed):
    """A harness without its shortcut, and the gain that it keeps on tasks that the search did not use."""

    schema = "chase.repair/1"

    @property
    def outcome(self) -> str:
        """repaired, nothing to repair, or nothing left."""
        return str(self.payload["outcome"])

    @property
    def reason(self) -> str:
        """What came of it, in one sentence."""
        return str(self.payload["reason"])

    @property
    def harness(self) -> Harness | None:
        """The repaired harness; None where there is none."""
        return None if self.payload["repaired"] is None else load_harness(self.folder / "harnesses" / "repaired")

    @property
    def out(self) -> Path | None:
        """The folder that it was written to."""
        return None if self.payload["out"] is None else Path(self.payload["out"])

    @property
    def dropped(self) -> tuple[str, ...]:
        """Edits that were taken out."""
        return tuple((self.payload["repaired"] or {}).get("dropped", ()))

    @property
    def generalised(self) -> tuple[str, ...]:
        """Edits that lost their condition."""
        return tuple((self.payload["repaired"] or {}).get("generalised", ()))

    @property
    def kept(self) -> tuple[str, ...]:
        """Edits that stayed as they were."""
        return tuple((self.payload["repaired"] or {}).get("kept", ()))

    @property
    def released(self) -> Mapping[str, Estimate]:
        """`harness` and, where there is one, `repaired` → the released gain."""
        return self._gains("released")

    @property
    def surviving(self) -> Mapping[str, Estimate]:
        """The same under the counterfactual that left least of it on the search tasks."""
        return self._gains("surviving")

    @property
    def exposure(self) -> str | None:
        """Earlier uses of the tasks of the measurement: "fresh", "seen once by audit-… of this harness", …"""
        return None if self.payload["exposure"] is None else str(self.payload["exposure"]["text"])

    def _gains(self, which: str) -> dict[str, Estimate]:
        measured = self.payload["measured"] or {}
        return {name: Estimate(**found[which]) for name, found in measured.items() if found is not None}

    def _in_short(self) -> str:
        return f"{self.outcome}: {self.reason}"


class EvolveResult(Timed):
    """What an evolution ended with."""

    schema = "chase.evolve/1"

    @property
    def final(self) -> Harness:
        """`H*`."""
        return load_harness(self.folder / "final")

    @property
    def initial(self) -> Harness:
        """`H_0`."""
        return load_harness(self.folder / "harnesses" / "H0")

    @property
    def archive(self) -> Archive:
        """The confirmed counterfactuals."""
        return read_archive(self.folder / "archive.json")

    @property
    def rounds(self) -> tuple[Mapping[str, Any], ...]:
        """What happened in each round, as the JSON has it."""
        return tuple(self.payload["rounds"])

    @property
    def conclusion(self) -> tuple[str, ...]:
        """What it came to, in sentences."""
        return tuple(self.payload["conclusion"]["sentences"])

    @property
    def certification(self) -> Certification | None:
        """What is left of the gain on the sealed tasks; None where they are still sealed."""
        found = self.payload["certification"]
        return None if found is None else Certification(found=found)

    def _in_short(self) -> str:
        final, archived = self.payload["final"], len(self.payload["archive"])
        return f"H* = {final['name']}, {archived} archived, {self.certification or 'not certified'}"


class CompareResult(Timed):
    """What a comparison came to."""

    schema = "chase.compare/1"

    @property
    def methods(self) -> Mapping[str, Mapping[str, Any]]:
        """Each method's figures by key, as the JSON has them. Empty where the sealed tasks were left alone."""
        return dict(self.payload.get("methods", {}))

    @property
    def differences(self) -> tuple[Mapping[str, Any], ...]:
        """Every two methods by figure: the left one less the right one."""
        return tuple(self.payload.get("differences", ()))

    def _in_short(self) -> str:
        names = ", ".join(self.payload["features"])
        return f"{names} over {len(self.payload['seeds'])} seeds"


class CertifyResult(Result):
    """A run's certification."""

    schema = "chase.certify/1"

    @property
    def certification(self) -> Certification:
        return Certification(found=self.payload["certification"])

    def _in_short(self) -> str:
        return repr(self.certification)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certification:
    """`H*` against `H_0` on the sealed tasks."""

    found: Mapping[str, Any]
    """As the JSON has it."""

    @property
    def tasks(self) -> int:
        return int(self.found["tasks"])

    @property
    def gains(self) -> Mapping[str, Estimate]:
        """Variant → the gain of `H*` over `H_0`."""
        return {name: Estimate(**gain) for name, gain in self.found["gains"].items()}

    @property
    def scores(self) -> Mapping[str, Mapping[str, Estimate]]:
        """`H0` and `H*` → variant → score."""
        return {
            harness: {name: Estimate(**score) for name, score in scores.items()}
            for harness, scores in self.found["scores"].items()
        }

    @property
    def gamma(self) -> Estimate:
        """The largest gain destruction over the archive."""
        return Estimate(**self.found["gamma"])

    @property
    def g_min(self) -> Estimate:
        """The gain under the archive's worst entry."""
        return Estimate(**self.found["g_min"])

    @property
    def invalid(self) -> Mapping[str, tuple[str, ...]]:
        """Archived counterfactual that is not valid on the sealed tasks, and so left out → the checks that it fails."""
        return {name: tuple(failed) for name, failed in self.found["invalid"].items()}

    def __repr__(self) -> str:
        gain = self.gains["released"]
        return f"G_rel {100 * gain.value:+.1f} ± {100 * gain.se:.1f} on {self.tasks} sealed tasks"


@dataclass(frozen=True, kw_only=True)
class ForecastResult:
    """At least and at most: rollouts, requests, tokens and cost. `to_json` is what `--dry-run --json` prints."""

    payload: Mapping[str, Any]
    steps: int
    """Most requests of a rollout."""

    schema: ClassVar[str] = "chase.forecast/1"

    def to_json(self) -> dict[str, Json]:
        return {"schema": self.schema, **self.payload}
