"""What each theorem of the paper says of given numbers: its bounds, its conditions in words, and what they are worth.

The same for `chase theory`, where somebody gives the numbers, and for a certification, where a run did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from chase.core.errors import UserError
from chase.core.values import Json
from chase.stats.evolution_theorems import (
    ConfirmedRounds,
    UnconfirmedRound,
    confirmation_radius,
    confirmation_threshold,
    confirmed_rounds,
    unconfirmed_round,
)
from chase.stats.theorems import PLUG_IN, VACUOUS, ArchiveBounds, Impossible, NeutralBounds, neutral_bounds

SAMPLED = (
    "the tasks are independent draws from the benchmark's tasks, and their number was fixed before they were opened"
)
FIXED = "the harness and the archive were fixed before these tasks were opened"
CLASSES = "the harnesses and counterfactuals that can be proposed at all were fixed before the search tasks were seen"
INFINITE = (
    "Theorem 1 does not apply: K(A) is infinite, because no composition of archived transformations makes B_0. What "
    "holds is the bounds on the archive itself."
)
NEVER_CONFIRMED = "no counterfactual can be confirmed: no gain destruction is above 2"


def k_of(text: str) -> int | None:
    """`K(A)` as somebody gave it; None where it is infinite."""
    if text.strip().lower() in ("inf", "infinity", "∞"):
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise UserError(
            f"--k={text} must be a whole number: 1 where B_0 is in the archive, more where so many archived "
            "transformations compose to it, and inf where none do."
        )
    return int(text)


@contextmanager
def refusing(**flags: str) -> Iterator[None]:
    """Impossible numbers as errors of the flag that they were given with: their name's, if it is not among `flags`."""
    try:
        yield
    except Impossible as wrong:
        flag = flags.get(wrong.name, f"--{wrong.name.replace('_', '-')}")
        raise UserError(f"{flag}={wrong.value:g} {wrong.must}.") from None


def theorem_1(
    bounds: ArchiveBounds, *, k: int | None, rho: float | None, estimated: bool, alpha: float
) -> dict[str, Json]:
    """Theorem 1 from bounds on an archive; `k` is None where it is infinite. `estimated`: ρ is no proven bound."""
    if k is not None and k > 1 and rho is None:
        raise UserError(f"--k {k} needs --rho: what composing may destroy beyond the sum of its parts, at most.")
    rho = rho or 0.0
    found = None if k is None else neutral_bounds(bounds, k=k, rho=rho)
    plug_in = estimated and k is not None and k > 1
    silent = ("delta_bs_upper", "g0_lower") if found is None else found.vacuous
    return {
        "applies": found is not None,
        "level": 1 - alpha / 2,
        "k": k,
        "rho": rho if k is not None and k > 1 else None,
        **asdict(bounds),
        "delta_bs_upper": None if found is None else found.delta_bs_upper,
        "g0_lower": None if found is None else found.g0_lower,
        "plug_in": plug_in,
        "vacuous": bool(silent),
        "vacuous_bounds": list(silent),
        "sentences": list(_theorem_1_in_words(bounds, found, plug_in, alpha)),
        "conditions": list(_theorem_1_conditions(k, rho)),
    }


def theorem_2(
    *, c: float, d: float, gamma: float, r: float, rounds: int, estimated: bool, alpha: float
) -> dict[str, Json]:
    """Theorem 2: how many rounds can be confirmed. `estimated`: r is no proven bound."""
    found = confirmed_rounds(c=c, d=d, gamma=gamma, r=r, rounds=rounds)
    finite = found is not None and found.most < float("inf")
    return {
        "applies": found is not None,
        "level": 1 - alpha / 2,
        "c": c,
        "d": d,
        "gamma": gamma,
        "r": r,
        "rounds": rounds,
        "most_confirmed": found.most if found is not None and finite else None,
        "stops": found is not None and found.stops,
        "plug_in": estimated,
        "vacuous": found is None or found.vacuous,
        "sentences": list(_theorem_2_in_words(found, gamma, r, estimated, alpha)),
        "conditions": [
            SAMPLED,
            CLASSES,
            "every round's transformation is valid, and its harness keeps every archived constraint on evo",
            f"packing: harnesses of which any two differ by q or more in some gain destruction are at most "
            f"({c:g}/q)^{d:g}, for every q up to 1; an assumption that nothing here checks",
            "rounds are confirmed from η = ε + γ + x_t, not from a fixed threshold",
        ],
    }


def theorem_3(
    *, epsilon: float, gamma: float, r: float, n: int, rounds: int, estimated: bool, alpha: float
) -> dict[str, Json]:
    """Theorem 3: what a round that was not confirmed says, with the threshold that it is about."""
    radius = confirmation_radius(n, rounds, alpha)
    found = unconfirmed_round(epsilon=epsilon, gamma=gamma, r=r, radius=radius)
    threshold = confirmation_threshold(epsilon=epsilon, gamma=gamma, radius=radius)
    return {
        "level": 1 - alpha / 2,
        "epsilon": epsilon,
        "gamma": gamma,
        "r": r,
        "rounds": rounds,
        "x_t": radius,
        "eta_conf": threshold,
        **asdict(found),
        "empty_comparison": found.empty_comparison,
        "plug_in": estimated,
        "vacuous": bool(found.vacuous),
        "vacuous_bounds": list(found.vacuous),
        "sentences": list(_theorem_3_in_words(found, threshold, radius, estimated, alpha)),
        "conditions": [
            SAMPLED,
            CLASSES,
            "the round's transformation is valid and was not confirmed at this η",
            "the harness is the best of all that keep the constraints on evo, and the transformation the worst of all "
            "valid ones on disc: no search that stops early can say so",
        ],
    }


def _theorem_1_in_words(
    bounds: ArchiveBounds, found: NeutralBounds | None, plug_in: bool, alpha: float
) -> Iterator[str]:
    if found is None:
        yield INFINITE
    chance = _chance(alpha)
    yield f"{chance} Γ_A ≤ {_signed(bounds.gamma_upper)} and G_min,A ≥ {_signed(bounds.g_min_lower)}."
    if found is None:
        return
    yield f"{chance} Δ_BS ≤ {_signed(found.delta_bs_upper)} and G_0 ≥ {_signed(found.g0_lower)}."
    yield from _plug_in(plug_in, "ρ")
    yield from _vacuous(found.vacuous, "delta_bs_upper", "the bound on Δ_BS: no Δ_BS is above 2")
    yield from _vacuous(found.vacuous, "g0_lower", "the bound on G_0: no gain is below −1")
    if "g0_lower" not in found.vacuous and found.g0_lower <= 0:
        yield "The bound on G_0 is not above 0: no surviving gain is certified."


def _theorem_1_conditions(k: int | None, rho: float) -> Iterator[str]:
    yield SAMPLED
    yield FIXED
    if k == 1:
        yield "B_0 itself is in the archive (K = 1), so that ρ plays no part"
    elif k is not None:
        yield f"B_0 is a composition of {k} archived transformations (K = {k})"
        yield (
            "what is composed of valid transformations is valid, and destroys for no harness more than "
            f"{rho:g} (ρ) beyond the sum of its parts"
        )


def _theorem_2_in_words(
    found: ConfirmedRounds | None, gamma: float, r: float, estimated: bool, alpha: float
) -> Iterator[str]:
    if found is None:
        yield f"Theorem 2 does not apply: it needs r < γ, and r = {r:.4g} is not below γ = {gamma:g}."
        if r >= 1:
            yield "γ is at most 1, so that no γ would do: more search tasks make r smaller."
        return
    most = f"{found.most:.4g}" if found.most < float("inf") else "more than 10^308"
    yield f"{_chance(alpha)} at most {most} rounds are confirmed."
    if found.stops:
        yield f"So at least one of {found.rounds} rounds is not confirmed."
    yield from _plug_in(estimated, "r")
    yield from _vacuous(("most",) if found.vacuous else (), "most", f"there are only {found.rounds} rounds")


def _theorem_3_in_words(
    found: UnconfirmedRound, threshold: float, radius: float, estimated: bool, alpha: float
) -> Iterator[str]:
    yield f"The confirmation radius x_t is {radius:.4g}, and the theory's threshold η = ε + γ + x_t is {threshold:.4g}."
    if threshold > 2:
        yield f"At this threshold {NEVER_CONFIRMED}."
    yield (
        f"{_chance(alpha)} at a round that was not confirmed no valid counterfactual destroys "
        f"{found.destruction_upper:.4g} or more of H_t's gain."
    )
    yield from _vacuous(found.vacuous, "destruction_upper", "that bound: no gain destruction is above 2")
    if found.empty_comparison:
        yield (
            f"Vacuous, the bound on G_rel(H_t): it compares with harnesses whose every Δ_b is at most ε − r = "
            f"{found.comparison_tolerance:.4g}, and there is none, because Δ of the released benchmark is always 0."
        )
    else:
        yield (
            f"And G_rel(H_t) is at most {found.shortfall:.4g} below the best harness whose every Δ_b is at most "
            f"{found.comparison_tolerance:.4g}, H_0 among them."
        )
        yield from _vacuous(found.vacuous, "shortfall", "that bound: no score is more than 1 below another")
    yield from _plug_in(estimated, "r")


def _vacuous(silent: Sequence[str], name: str, why: str) -> Iterator[str]:
    if name in silent:
        yield f"{VACUOUS.capitalize()}, {why}."


def _plug_in(estimated: bool, symbol: str) -> Iterator[str]:
    if estimated:
        yield f"A {PLUG_IN}: {symbol} is an estimate and stands for a supremum."


def _chance(alpha: float) -> str:
    return f"With probability at least {100 * (1 - alpha / 2):g} %:"


def _signed(value: float) -> str:
    return f"{value:+.4f}"
