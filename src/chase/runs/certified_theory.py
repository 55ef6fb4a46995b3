"""The paper's theorems on a certification: with what the run measured, and what only its user can know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.core.values import Json
from chase.runs.theory import INFINITE, k_of, theorem_1, theorem_2, theorem_3
from chase.stats.evolution_theorems import SearchSet, confirmation_radius, search_radius
from chase.stats.theorems import LARGEST_DESTRUCTION, PLUG_IN, VACUOUS, ArchiveBounds

WAYS = ("hoeffding", "betting")
SEARCHED = ("evo", "disc")
Found = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumed:
    """What no run can measure; None is what nobody said."""

    k: str | None = None
    rho: float | None = None
    gamma: float | None = None
    c: float | None = None
    d: float | None = None


def theorems_of(found: Found, assumed: Assumed | None = None) -> dict[str, Json] | None:
    """From a result's `config`, `final`, `rounds` and `certification`; None where nothing was."""
    certified, assumed = found["certification"], assumed or Assumed()
    if certified is None or "certificate" not in certified:  # certified by a version that had no certificates
        return None
    certificate = certified["certificate"]
    k, told = _k(certified, assumed)
    known = k is None or k == 1 or assumed.rho is not None
    return {
        "alpha": certificate["alpha"],
        "level": 1 - certificate["alpha"] / 2,
        "tasks": certificate["n"],
        "archive_size": certificate["archive_size"],
        "seed": certificate["seed"],
        "s_delta": certificate["s_delta"],
        "s_g": certificate["s_g"],
        "k": told,
        "theorem1": {way: _theorem_1(certificate, way, k if known else None, assumed) for way in WAYS},
        "neutral": _neutral(certified),
        "evolution": _evolution(found, assumed, certificate["alpha"]),
        "sentences": [*_k_in_words(k, told, known), *_caveats(found)],
    }


def _k(certified: Found, assumed: Assumed) -> tuple[int | None, dict[str, Json]]:
    """`K(A)`, None where it is infinite or not known, and where it comes from."""
    searched = certified["composition"]
    if assumed.k is not None:
        k = k_of(assumed.k)
        return k, {"value": k, "source": "given", "names": [], "tried": None}
    if searched is None:
        return None, {"value": None, "source": "unknown", "names": [], "tried": None}
    names, tried = list(searched["names"]), searched["tried"]
    return searched["k"], {"value": searched["k"], "source": "searched", "names": names, "tried": tried}


def _k_in_words(k: int | None, told: Found, known: bool) -> Iterator[str]:
    """Whether Theorem 1 applies, and why not."""
    does_not = "Theorem 1 does not apply:"
    if not known:
        yield f"Theorem 1 needs ρ at K(A) = {k}: give --rho, what composing may destroy beyond the sum of its parts."
    elif k is not None:
        made = f" ({' then '.join(told['names'])} makes B_0)" if told["names"] else ""
        yield f"Theorem 1 applies with K(A) = {k}{made}."
    elif told["source"] == "given":
        yield f"{does_not} K(A) is infinite, as was given."
    elif told["source"] == "unknown":
        yield f"{does_not} B_0 is not known here, so K(A) counts as infinite; --k says it where you know better."
    elif not told["tried"]:
        yield f"{does_not} no counterfactual was archived that could make B_0, so K(A) is infinite."
    else:
        yield (
            f"{does_not} no composition of up to {told['tried']} archived transformations shows what B_0 shows, so "
            "K(A) counts as infinite. The bounds on the archive itself hold."
        )


def _caveats(found: Found) -> Iterator[str]:
    """What the theorem's conditions ask and the run did otherwise, and where no bound is needed."""
    certified = found["certification"]
    if not found["final"]["changes"]:
        yield "H* is H_0: every gain and every gain destruction is 0 by definition, and no bound is needed."
    if certified["invalid"]:
        names = ", ".join(certified["invalid"])
        yield f"Left out after the tasks were opened, against the condition that the archive is fixed: {names}."
    if certified["reopened"]:
        yield "The sealed tasks were opened more than once: bounds hold for the first opening alone."


def _theorem_1(certificate: Found, way: str, k: int | None, assumed: Assumed) -> dict[str, Json]:
    """Why it does not apply, where it does not, stands once for both ways, not in each."""
    bounds = ArchiveBounds(**certificate[way])
    estimated = assumed.rho is not None
    said = theorem_1(bounds, k=k, rho=assumed.rho, estimated=estimated, alpha=certificate["alpha"])
    return {**said, "sentences": [sentence for sentence in said["sentences"] if sentence != INFINITE]}


def _neutral(certified: Found) -> dict[str, Json] | None:
    if certified["neutral"] is None:
        return None
    named = {way: certified["neutral"][way] for way in WAYS}
    return {way: {"delta_bs_upper": b["gamma_upper"], "g0_lower": b["g_min_lower"]} for way, b in named.items()}


def _evolution(found: Found, assumed: Assumed, alpha: float) -> dict[str, Json] | None:
    """Lemma 1 and Theorems 2 and 3, where a method searched on both sets under a tolerance."""
    config, search = found["config"], found["certification"]["search"]
    if any(role not in search for role in SEARCHED) or not {"epsilon", "rounds"} <= config.keys():
        return None
    sets = [SearchSet(n=search[role]["tasks"], rademacher=search[role]["value"]) for role in SEARCHED]
    r, least = search_radius(sets, alpha), search_radius([SearchSet(n=s.n, rademacher=0.0) for s in sets], alpha)
    rounds = config["rounds"]
    radii = {
        role: confirmation_radius(size, rounds, alpha)
        for role, size in config["tasks"].items()
        if role.startswith("conf") and size
    }
    second = None
    if assumed.gamma is not None and assumed.c is not None and assumed.d is not None:
        second = theorem_2(
            c=assumed.c, d=assumed.d, gamma=assumed.gamma, r=r, rounds=rounds, estimated=True, alpha=alpha
        )
    third = list(_theorem_3(found, assumed, r, radii, alpha))
    return {
        "r": r,
        "r_least": least,
        "plug_in": True,
        "x_t": radii,
        "theorem2": second,
        "theorem3": third,
        "sentences": [
            _radius_in_words(search, r),
            *_theorem_2_in_words(second, least),
            *_theorem_3_in_words(found, third, r, radii),
        ],
    }


def _theorem_3(
    found: Found, assumed: Assumed, r: float, radii: Mapping[str, float], alpha: float
) -> Iterator[dict[str, Json]]:
    """Theorem 3 at each round that was tested and not confirmed, where γ was given."""
    config = found["config"]
    for tested in _unconfirmed(found, radii):
        if assumed.gamma is not None:
            said = theorem_3(
                epsilon=float(config["epsilon"]), gamma=assumed.gamma, r=r, n=config["tasks"][tested["role"]],
                rounds=config["rounds"], estimated=True, alpha=alpha,
            )  # fmt: skip
            yield {"round": tested["round"], **said}


def _unconfirmed(found: Found, radii: Mapping[str, float]) -> list[dict[str, Any]]:
    """Rounds whose valid proposal was tested, was not confirmed, and is not confirmed at the theory's threshold either,
    whatever γ is: `Δ̂ < ε + x_t`. A sequential test that ended early has no `Δ̂` of the whole set, and is left out.
    """
    tested = [{"round": record["round"], **(record.get("confirmation") or {})} for record in found["rounds"]]
    least = float(found["config"]["epsilon"])
    return [
        one
        for one in tested
        if one.get("destruction") is not None
        and not one["confirmed"]
        and not _ended_early(one)
        and one["destruction"]["value"] < least + radii[one["role"]]
    ]


def _ended_early(confirmation: Found) -> bool:
    test = confirmation.get("test")
    return test is not None and test["looks"][-1]["rollouts"] < test["rollouts"]


def _radius_in_words(search: Found, r: float) -> str:
    parts = "; ".join(
        f"{role}: {search[role]['tasks']} tasks, Rademacher term {search[role]['value']:.3f} over "
        f"{search[role]['harnesses']} harnesses and {search[role]['pairs']} pairs"
        for role in SEARCHED
    )
    return f"The search radius r is {r:.3f} ({PLUG_IN}: {parts})."


def _theorem_2_in_words(second: Found | None, least: float) -> Iterator[str]:
    if least >= 1:
        yield (
            f"Theorem 2 does not apply whatever γ is: it needs r < γ ≤ 1, and at these sizes r is at least "
            f"{least:.3f} without any Rademacher term."
        )
    elif second is None:
        yield "Theorem 2 needs γ, C and d, which nobody can measure: give --gamma, --packing-c and --packing-d."
    else:
        yield from (f"Theorem 2: {sentence}" for sentence in second["sentences"])


def _theorem_3_in_words(
    found: Found, third: list[dict[str, Any]], r: float, radii: Mapping[str, float]
) -> Iterator[str]:
    if not (unconfirmed := _unconfirmed(found, radii)):
        yield "Theorem 3 says nothing: it is about rounds that were tested in full and not confirmed; there was none."
    if third:
        for said in third:
            yield from (f"Theorem 3, round {said['round']}: {sentence}" for sentence in said["sentences"])
        return
    epsilon = float(found["config"]["epsilon"])
    for tested in unconfirmed:
        radius = radii[tested["role"]]
        least = epsilon + 2 * r + 2 * radius
        worth = f"{VACUOUS}: no gain destruction is above 2" if least >= LARGEST_DESTRUCTION else "give --gamma"
        yield (
            f"Theorem 3, round {tested['round']}: x_t is {radius:.3f}, and for every γ the bound on all valid "
            f"counterfactuals' destruction is above ε + 2r + 2x_t = {least:.3f} ({worth})."
        )
