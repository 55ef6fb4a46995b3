"""`chase theory`: the paper's theorems on numbers of your own. Reads no run and no store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from chase.cli.options import AsJson
from chase.cli.output import echo, emit_json
from chase.core.errors import UserError
from chase.runs.theory import k_of, refusing, theorem_1, theorem_2, theorem_3
from chase.stats.evolution_theorems import SearchSet, search_radius
from chase.stats.theorems import at_least, destruction_radius, gain_radius, hoeffding_bounds

app = typer.Typer(no_args_is_help=True)

Alpha = Annotated[float, typer.Option("--alpha", help="The theorem holds with probability 1 − α/2.")]
Estimated = Annotated[
    bool, typer.Option("--estimated", help="ρ or r is an estimate: what uses it is a plug-in, not a guarantee.")
]
Gamma = Annotated[float, typer.Option("--gamma", help="The margin γ of the theory's threshold, above 0, at most 1.")]
Rounds = Annotated[int, typer.Option("--rounds", help="T.")]
Radius = Annotated[float | None, typer.Option("--r", help="The search radius, instead of the four options below.")]
EvoTasks = Annotated[int | None, typer.Option("--n-evo", help="Tasks of D_evo.")]
DiscTasks = Annotated[int | None, typer.Option("--n-disc", help="Tasks of D_disc.")]
EvoTerm = Annotated[float, typer.Option("--rademacher-evo", help="The Rademacher term of D_evo.")]
DiscTerm = Annotated[float, typer.Option("--rademacher-disc", help="The Rademacher term of D_disc.")]


@app.command("theorem1")
def theorem1(
    gamma_hat: Annotated[float, typer.Option("--gamma-hat", help="Γ̂: the largest Δ̂ over the archive, a fraction.")],
    g_min_hat: Annotated[float, typer.Option("--g-min-hat", help="Ĝ_min: the least gain over the archive.")],
    n: Annotated[int, typer.Option("--n", help="Certification tasks.")],
    archive_size: Annotated[int, typer.Option("--archive-size", help="|A|, the released benchmark included.")],
    k: Annotated[str, typer.Option("--k", help="K(A): archived transformations that compose to B_0, or inf.")] = "1",
    rho: Annotated[float | None, typer.Option("--rho", help="ρ; needed from K = 2 on.")] = None,
    alpha: Alpha = 0.05,
    estimated: Estimated = False,
    as_json: AsJson = False,
) -> None:
    """What an archive certifies about B_0: an upper bound on Δ_BS and a lower bound on G_0 (Theorem 1, Hoeffding).

    JSON: `delta_bs_upper, g0_lower, s_delta, s_g, vacuous, vacuous_bounds[], applies, plug_in, k, rho, gamma_upper,
    g_min_lower, level, sentences[], conditions[]`. Where K is infinite the theorem does not apply (`applies` is false
    and both bounds are null); the bounds on the archive hold all the same.
    """
    with refusing():
        bounds = hoeffding_bounds(gamma_hat=gamma_hat, g_min_hat=g_min_hat, n=n, archive_size=archive_size, alpha=alpha)
        found = theorem_1(bounds, k=k_of(k), rho=rho, estimated=estimated, alpha=alpha)
        radii = {"s_delta": destruction_radius(n, archive_size, alpha), "s_g": gain_radius(n, archive_size, alpha)}
    heading = f"s_Δ = {radii['s_delta']:.4f}, s_G = {radii['s_g']:.4f} at n = {n}, |A| = {archive_size}, α = {alpha:g}"
    _show("theorem1", {**radii, **found}, heading, as_json)


@app.command("theorem2")
def theorem2(
    c: Annotated[float, typer.Option("--c", help="C of the packing condition, at least 1.")],
    d: Annotated[float, typer.Option("--d", help="d of the packing condition, above 0.")],
    gamma: Gamma,
    rounds: Rounds,
    r: Radius = None,
    n_evo: EvoTasks = None,
    n_disc: DiscTasks = None,
    rademacher_evo: EvoTerm = 0.0,
    rademacher_disc: DiscTerm = 0.0,
    alpha: Alpha = 0.05,
    estimated: Estimated = False,
    as_json: AsJson = False,
) -> None:
    """How many rounds can be confirmed at most, and whether one of T must fail to be (Theorem 2).

    JSON: `applies, most_confirmed, stops, vacuous, plug_in, r, c, d, gamma, rounds, level, sentences[], conditions[]`;
    `most_confirmed` is null where the theorem does not apply, or where no number can hold the bound.
    """
    with refusing():
        radius = _search_radius(r, {"evo": (n_evo, rademacher_evo), "disc": (n_disc, rademacher_disc)}, alpha)
        found = theorem_2(c=c, d=d, gamma=gamma, r=radius, rounds=rounds, estimated=estimated, alpha=alpha)
    _show("theorem2", found, f"r = {radius:.4g}, γ = {gamma:g}, C = {c:g}, d = {d:g}, T = {rounds}", as_json)


@app.command("theorem3")
def theorem3(
    epsilon: Annotated[float, typer.Option("--epsilon", help="Tolerated gain destruction ε.")],
    gamma: Gamma,
    n: Annotated[int, typer.Option("--n", help="Tasks of D_conf,t.")],
    rounds: Rounds,
    r: Radius = None,
    n_evo: EvoTasks = None,
    n_disc: DiscTasks = None,
    rademacher_evo: EvoTerm = 0.0,
    rademacher_disc: DiscTerm = 0.0,
    alpha: Alpha = 0.05,
    estimated: Estimated = False,
    as_json: AsJson = False,
) -> None:
    """What a round that was not confirmed says about all valid counterfactuals (Theorem 3, with x_t and η of Lemma 1).

    JSON: `x_t, eta_conf, destruction_upper, shortfall, comparison_tolerance, empty_comparison, vacuous,
    vacuous_bounds[], plug_in, r, epsilon, gamma, rounds, level, sentences[], conditions[]`.
    """
    with refusing():
        radius = _search_radius(r, {"evo": (n_evo, rademacher_evo), "disc": (n_disc, rademacher_disc)}, alpha)
        found = theorem_3(epsilon=epsilon, gamma=gamma, r=radius, n=n, rounds=rounds, estimated=estimated, alpha=alpha)
    _show("theorem3", found, f"r = {radius:.4g}, ε = {epsilon:g}, γ = {gamma:g}, T = {rounds}, n = {n}", as_json)


def _search_radius(r: float | None, sets: Mapping[str, tuple[int | None, float]], alpha: float) -> float:
    """r as it was given, or from the search sets' sizes and Rademacher terms."""
    given = {name: (n, term) for name, (n, term) in sets.items() if n is not None}
    if r is not None:
        if given:
            raise UserError("--r is the search radius itself: leave --n-evo and --n-disc out, or --r.")
        return r
    if len(given) < len(sets):
        raise UserError("the search radius is not known: give --r, or --n-evo and --n-disc with --rademacher-… .")
    for name, (n, term) in given.items():
        at_least(f"n_{name}", n, 1)
        at_least(f"rademacher_{name}", term, 0)
    return search_radius([SearchSet(n=n, rademacher=term) for n, term in given.values()], alpha)


def _show(theorem: str, found: Mapping[str, Any], heading: str, as_json: bool) -> None:
    if as_json:
        return emit_json(f"chase.theory.{theorem}/1", found)
    echo(heading)
    for sentence in found["sentences"]:
        echo(sentence)
    echo("Conditions:")
    for condition in found["conditions"]:
        echo(f"  - {condition}")
    return None
