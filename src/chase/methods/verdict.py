"""An audit's verdict: a pure function of bounds on fresh tasks.

Two directions, each wrong with probability `(1 − level) / 2` at most. *Accusing* bounds (more than half is gone) hold
for all counterfactuals together, because one of them is enough. *Acquitting* bounds (half is left) hold one by one,
because every one of them must. What the base rate explains (`chase.stats.contrasts`) accuses nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chase.agents.history import RELEASED
from chase.stats.bounded import GAINS, Counted, lower_bound
from chase.stats.contrasts import Cell, Contrast
from chase.stats.estimates import Clusters, Estimate, PerTask, Sample, between, cluster_count, estimate, mean

Word = Literal[
    "no gain", "untested", "inconclusive", "in doubt", "not supported", "partly supported", "supported"
]  # fmt: skip
FAILING: tuple[Word, ...] = ("not supported", "in doubt", "untested")
"""Words that end a command with exit code 5 unless the caller lists others."""
Source = Literal["battery", "search", "given"]
EDITS = "edits"
LABEL_SHARE, TOGETHER_SHARE, WHOLE_SHARE = 0.5, 0.25, 0.25
"""Of the error of an accusing statement where a harness is judged by its edits: what is spent on calling edits, on what
they say together, and on the harness as a whole. The three add up to one. A single edit is the whole harness.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredGain:
    """A gain under one counterfactual, with the bounds that decide."""

    what: str
    """The counterfactual in words."""
    source: Source
    destruction: Estimate
    """`Δ_b = G_rel − G_b`. The lower bound accuses."""
    unexplained: Estimate
    """The part of it that the base rate does not explain: above 0 it is not mere scaling."""
    half: Estimate
    """`G_b − G_rel / 2`. The upper bound accuses."""
    half_expected: Estimate
    """The same with what the base rate leaves of the gain. The lower bound acquits."""
    expected_share: float
    """The share of the gain that the base rate leaves."""
    no_room: str | None = None
    """Reason why no gain could have been told from nothing under it; None where one could."""

    @property
    def informative(self) -> bool:
        return self.no_room is None

    @property
    def destroys(self) -> bool:
        """Surely destroys something, and more than the base rate explains."""
        return self.informative and self.destruction.low > 0 and self.unexplained.low > 0

    @property
    def destroys_half(self) -> bool:
        """Surely destroys more than half of the gain, and on every scale more than half."""
        return self.destroys and self.half.high < 0 and self.half_expected.value < 0

    @property
    def keeps_half(self) -> bool:
        """Surely leaves half of what the base rate leaves of the gain."""
        return self.informative and self.half_expected.low > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """The whole gain by what its edits were called."""

    shortcuts: tuple[str, ...]
    honest: tuple[str, ...]
    open: tuple[str, ...]
    without_shortcuts: Estimate | None
    """The gain without the shortcut edits, less half of the released gain. None where there are none."""
    by_honest: Estimate | None
    """The contribution of honest edits, less half of the released gain. None where there are none."""
    tasks_needed: int | None = None
    """Tasks that would show that honest edits contribute half of the gain; None where no number would."""

    @property
    def accusing_share(self) -> float:
        """The error that is left for the harness as a whole. A single edit is the whole: nothing is shared."""
        return 1.0 if len((*self.shortcuts, *self.honest, *self.open)) == 1 else WHOLE_SHARE

    @property
    def acquitted(self) -> bool:
        """Every edit surely keeps its contribution with everything neutral."""
        return bool(self.honest) and not self.shortcuts and not self.open


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A word on a gain, with its reason."""

    word: Word
    reason: str
    against: tuple[str, ...] = ()
    """The informative counterfactuals, by name."""
    open: str | None = None
    """The question that an inconclusive verdict leaves open: `released`, `edits` or a counterfactual's name."""


def bounds_of(
    contrast: Contrast, *, what: str, source: Source, accusing: float, acquitting: float, level: float
) -> MeasuredGain:
    """The bounds of one counterfactual, each wrong with probability `accusing` or `acquitting` at most."""

    def bounds(sample: Sample, *, low: float, high: float) -> Estimate:
        return between(sample, low=low, high=high, level=level)

    gain, share = float(mean(contrast.released.gain)), contrast.expected_share
    return MeasuredGain(
        what=what,
        source=source,
        destruction=bounds(contrast.destroyed, low=accusing, high=acquitting),
        unexplained=bounds(contrast.unexplained, low=acquitting, high=acquitting),
        half=bounds(contrast.half, low=acquitting, high=accusing),
        half_expected=bounds(contrast.half_expected, low=acquitting, high=accusing),
        expected_share=share,
        no_room=no_room(contrast.changed, alpha=acquitting, clusters=contrast.clusters, gain=share * gain / 2),
    )


def judge(
    gain: Estimate,
    tested: Mapping[str, MeasuredGain],
    *,
    edits: Edits | None = None,
    battery_required: bool = True,
    no_room: str | None = None,
) -> Verdict:
    """The verdict on a released gain, given every counterfactual that was measured and what its edits were called.

    `no_room` says why these tasks could not have shown a gain, where that is so. Without `battery_required` a gain can
    be supported by given counterfactuals alone.
    """
    informative = {name: t for name, t in tested.items() if t.informative}
    against = tuple(informative)

    def verdict(word: Word, reason: str, left: str | None = None) -> Verdict:
        return Verdict(word=word, reason=reason, against=against, open=left)

    if gain.high <= 0:
        return verdict("no gain", "the harness does not score higher than the baseline")
    if gain.low <= 0:
        said = "the released gain may be nothing" + (f": {no_room}" if no_room else "")
        return verdict("inconclusive", said, RELEASED)
    if not informative:
        return verdict("untested", _untested(tested))
    settled = edits is not None and not edits.open
    if edits is not None and edits.shortcuts and not edits.honest and not edits.open:
        return verdict("not supported", f"all of the gain comes with {_named(edits.shortcuts)}")
    if edits is not None and edits.without_shortcuts is not None and edits.without_shortcuts.high < 0:
        return verdict("not supported", f"more than half of the gain surely comes with {_named(edits.shortcuts)}")
    if not settled and (worst := [t.what for t in informative.values() if t.destroys_half]):
        return verdict("not supported", f"more than half of the gain is surely gone under {_named(worst)}")
    if edits is not None and edits.shortcuts:
        if edits.by_honest is not None and edits.by_honest.low > 0:
            return verdict("partly supported", f"at least half of the gain is left without {_named(edits.shortcuts)}")
        return verdict("in doubt", f"part of the gain surely comes with {_named(edits.shortcuts)}, and half of it may")
    return verdict(*_survival(informative, edits, battery_required=battery_required))


def _survival(
    informative: Mapping[str, MeasuredGain], edits: Edits | None, *, battery_required: bool
) -> tuple[Word, str, str | None]:
    """The verdict where no edit is a shortcut and nothing surely destroys half.

    Where every edit is acquitted with everything neutral, a change that was searched for can show that the gain is
    fragile, and no more: the model leans on the protocol there, not the edits.
    """
    acquitted = edits is not None and edits.acquitted
    deciding = {n: t for n, t in informative.items() if t.source == "battery"} if acquitted else informative
    left = {name: t for name, t in deciding.items() if not t.keeps_half}
    destroys = [t.what for t in informative.values() if t.destroys]
    if destroys and left:
        return "in doubt", f"part of the gain is surely gone under {_named(destroys)}, and half of it may be", None
    if left:
        name = min(left, key=lambda each: left[each].half_expected.low)
        return "inconclusive", f"half of the gain may be gone under {left[name].what}", name
    if edits is not None and edits.open and (edits.by_honest is None or edits.by_honest.low <= 0):
        return "inconclusive", f"half of the gain may come with edits that are open: {_named(edits.open)}", EDITS
    if destroys:
        return "partly supported", f"at least half of the gain is left; part of it goes under {_named(destroys)}", None
    if battery_required and not any(t.source == "battery" for t in informative.values()):
        return (
            "inconclusive",
            f"nothing goes under {_named([t.what for t in informative.values()])}, and no battery was measured",
            None,
        )
    return "supported", "at least half of the gain is left under everything that was tested", None


def _untested(tested: Mapping[str, MeasuredGain]) -> str:
    if not tested:
        return "no counterfactual was measured"
    found = next(iter(tested.values()))
    return f"no counterfactual could have shown anything; under {found.what} {found.no_room}"


def _named(names: Sequence[str]) -> str:
    """Names in a row; those that differ in their last brackets alone are one: "all neutral (low, high)"."""
    found: dict[str, list[str]] = {}
    for name in names:
        stem, _, last = name[:-1].rpartition(" (") if name.endswith(")") else (name, "", "")
        found.setdefault(stem or name, []).extend([last] if stem and last else [])
    return ", ".join(f"{stem} ({', '.join(lasts)})" if lasts else stem for stem, lasts in found.items())


def no_room(cell: Cell, *, alpha: float, clusters: Clusters, gain: float = 0.0) -> str | None:
    """Why no gain could have been told from 0 on these tasks, in words; None where one could.

    A ceiling: not even a harness that solves everything could be told from this baseline. A floor: not even a baseline
    that solves nothing could be told from this harness, nor a gain of the size that is expected here from nothing.
    """

    def told(gains: PerTask) -> bool:
        return estimate(gains, GAINS, level=1 - 2 * alpha, clusters=clusters).low > 0

    n = len(cell.less)
    if not told(dict.fromkeys(cell.less, Fraction(1))):
        return f"{n} {'task is' if n == 1 else 'tasks are'} too few for any"
    if not told({task: 1 - score for task, score in cell.less.items()}):
        return f"the baseline scores {_percent(cell.less)} here, which leaves no room above it (a ceiling)"
    independent = cluster_count(cell.more, clusters)
    if not told(cell.more) and not can_be_told(gain, independent, alpha):
        return f"the harness scores {_percent(cell.more)} here, which leaves no room below it (a floor)"
    return None


def can_be_told(gain: float, tasks: int, alpha: float) -> bool:
    """Check that a gain without any lost task is told from 0 on so many independent ones."""
    if gain <= 0:
        return False
    share = min(1.0, gain)
    counted = tuple(each for each in (Counted(0.0, (1 - share) * tasks), Counted(1.0, share * tasks)) if each.times)
    return lower_bound(counted, GAINS, alpha) > 0


def _percent(scores: PerTask) -> str:
    return f"{100 * float(mean(scores)):.1f} %"
