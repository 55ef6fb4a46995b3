"""The analysis of scores that somebody else's runner produced: an audit's verdict without an audit's rollouts."""

from __future__ import annotations

from chase.agents.history import RELEASED
from chase.core.errors import UserError, choose
from chase.core.values import Json
from chase.methods.audit_findings import Counterfactual, Judged, Pair, judge_pair
from chase.runs.config import RawSettings
from chase.runs.results import AnalyzeResult
from chase.runs.score_rows import Scores, cells, clusters, complete, read_rows
from chase.runs.settings import AnalyzeSettings

UNTESTED = "the gain is more than nothing; there are released scores alone, so nothing was tested against it"


def analyze(said: RawSettings[AnalyzeSettings]) -> AnalyzeResult:
    """Gain, gain destruction and verdict of one harness over its baseline. Reads one file and writes nothing."""
    settings = said.settings()
    rows = read_rows(settings.scores)
    scores = cells(rows)
    baseline, harness = _harnesses(scores, settings)
    variants = _variants(scores, (baseline, harness), settings.released)
    means = complete(scores, (baseline, harness), [settings.released, *variants])
    named = {(of, _name(variant, settings.released)): found for (of, variant), found in means.items()}
    pair = Pair(means=named, harness=harness, baseline=baseline, clusters=clusters(rows))
    given = [Counterfactual(name=variant, source="given", draws=(variant,), what=variant) for variant in variants]
    judged = judge_pair(pair, given, seed=settings.seed, level=settings.level, battery_required=False)
    first = next(iter(scores[harness, settings.released].values()))
    about: dict[str, Json] = {
        "harness": harness,
        "baseline": baseline,
        "released": settings.released,
        "variants": variants,
        "tasks": judged.gain.n,
        "rollouts": len(first),
        "level": settings.level,
        "seed": settings.seed,
    }
    return AnalyzeResult(payload={**about, **_judgement(judged)})


def _judgement(judged: Judged[Counterfactual]) -> dict[str, Json]:
    """With released scores alone a gain is not called supported: nothing could have destroyed it."""
    found = judged.to_json()
    if not judged.findings and judged.verdict.word == "untested":
        found |= {"verdict": None, "reason": UNTESTED}
    if not judged.findings:
        found |= {"gamma": None, "g_min": None}
    return found


def _harnesses(scores: Scores, settings: AnalyzeSettings) -> tuple[str, str]:
    """The baseline and the harness: the one that is named, or the only other."""
    there = list(dict.fromkeys(harness for harness, _ in scores))
    if settings.baseline is None:
        raise UserError(f"baseline is missing: give --baseline NAME, one of {', '.join(there)}.")
    baseline = choose("baseline", settings.baseline, there)
    others = [name for name in there if name != baseline]
    if settings.harness == baseline:
        raise UserError(f"harness={baseline} is the same as its baseline: there is no gain to analyse.")
    if settings.harness is not None:
        return baseline, choose("harness", settings.harness, others)
    if len(others) != 1:
        said = f"beside {baseline} there are {', '.join(others)}" if others else f"there is no harness but {baseline}"
        raise UserError(f"{said}: {'name one with --harness' if others else 'a comparison needs two'}.")
    return baseline, others[0]


def _variants(scores: Scores, pair: tuple[str, str], released: str) -> list[str]:
    """The counterfactuals that either of the two was run under, in the file's order."""
    there = list(dict.fromkeys(variant for harness, variant in scores if harness in pair))
    if released not in there:
        choose("released variant", released, there)
    if released != RELEASED and RELEASED in there:
        raise UserError(f"released={released}, but a variant called {RELEASED} is there too: give it another name.")
    return [variant for variant in there if variant != released]


def _name(variant: str, released: str) -> str:
    return RELEASED if variant == released else variant
