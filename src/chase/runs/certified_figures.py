"""The figures of a certification, each with its symbol and its meaning: the same in print and in a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.runs.conclusion import NEUTRAL, RELEASED
from chase.stats.theorems import LARGEST_DESTRUCTION, LEAST_GAIN, PLUG_IN

Found = Mapping[str, Any]
WAYS = ("hoeffding", "betting")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What sealed tasks certify of one quantity, by Hoeffding's inequality and by betting."""

    symbol: str
    side: str
    """`at most` or `at least`."""
    values: tuple[float, float]
    meaning: str

    @property
    def vacuous(self) -> tuple[bool, bool]:
        """Whether each says nothing: no gain destruction is above 2 and no gain below −1."""
        return self._says_nothing(self.values[0]), self._says_nothing(self.values[1])

    def _says_nothing(self, value: float) -> bool:
        return value >= LARGEST_DESTRUCTION if self.side == "at most" else value <= LEAST_GAIN


def certified_figures(found: Found) -> Iterator[tuple[str, Found, str]]:
    """Each symbol of a certification with its estimate and what it stands for."""
    known = NEUTRAL in found["gains"]
    neutral = "with every planted regularity removed"
    for harness, words in (("H0", "the initial harness"), ("H*", "the selected harness")):
        yield f"R_rel({harness})", found["scores"][harness][RELEASED], f"score of {words} as released"
        if known:
            yield f"R_0({harness})", found["scores"][harness][NEUTRAL], f"its score {neutral}"
    yield "G_rel", found["gains"][RELEASED], "gain as released"
    if known:
        yield "G_0", found["gains"][NEUTRAL], f"gain {neutral}"
        yield "Δ_BS", found["destruction"][NEUTRAL], "what of the gain goes with them: G_rel − G_0"
    yield "Γ", found["gamma"], "largest gain destruction over the archive"
    yield "G_min", found["g_min"], "gain under its worst entry"
    yield "Δ_TS", found["excess_search_gain"], "gain on the search tasks less gain here"
    for role, rows in found.get("elsewhere", {}).items():
        yield f"R_{role}(H0)", rows["H0"], f"score of the initial harness on {role}, as released"
        yield f"R_{role}(H*)", rows["H*"], f"score of the selected harness on {role}"
        yield f"G_{role}", rows["gain"], f"gain on {role}"


def bounds_of(theorems: Found) -> Iterator[Bound]:
    """What holds of the archive, and of `B_0` where Theorem 1 applies or it was measured itself."""
    first, neutral = theorems["theorem1"], theorems["neutral"]
    yield _bound("Γ_A", "at most", first, "gamma_upper", "largest gain destruction over the archive")
    yield _bound("G_min,A", "at least", first, "g_min_lower", "gain under its worst entry")
    if first["betting"]["applies"]:
        told = f"by Theorem 1{f' [{PLUG_IN}]' if first['betting']['plug_in'] else ''}"
        yield _bound("Δ_BS", "at most", first, "delta_bs_upper", told)
        yield _bound("G_0", "at least", first, "g0_lower", told)
    if neutral is not None:
        told = "measured under B_0 itself"
        yield _bound("Δ_BS", "at most", neutral, "delta_bs_upper", told)
        yield _bound("G_0", "at least", neutral, "g0_lower", told)


def _bound(symbol: str, side: str, found: Found, key: str, meaning: str) -> Bound:
    hoeffding, betting = (found[way][key] for way in WAYS)
    return Bound(symbol=symbol, side=side, values=(hoeffding, betting), meaning=meaning)
