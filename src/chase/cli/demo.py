"""`chase demo`: find a shortcut, prove it, repair it; then what optimisers do. All of it simulated."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.cli.options import AsJson
from chase.cli.output import emit_json, new_folder, printable, steps
from chase.core.errors import UserError
from chase.runs.demo import CARE, CHEAT, CUES, HONEST, METHODS, MODEL, REPAIRED, RULE, DemoPlan, demonstrate

SCHEMA = "chase.demo/1"
MARK = ".chase-demo"
"""A folder with this file was written by the demo and may be written anew."""
SEED, BLOCKS, SEEDS = 11, 40, 3
FEW = {"evo": 4, "disc": 4, "conf": 4}
"""Tasks of a quick look."""
SPARSE_SECONDS = 15.0
REPORT, PAGE = "report", "report.html"
TITLES = {CHEAT: "The cheat", HONEST: "The honest harness", REPAIRED: "The repaired cheat, on other tasks"}
Found = Mapping[str, Any]


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the result goes.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the first benchmark.")] = SEED,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=0, max=20, help="Run seeds 1 to N.")] = SEEDS,
    quick: Annotated[bool, typer.Option("--quick", help="A few tasks: how it looks, not what comes out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Audit a harness that cheats and an honest one, repair the cheat, and see what optimisers do (simulated).

    A result that the demo wrote before is kept until the new one is complete.

    JSON: `audits[{name, verdict, reason, g_rel, g_min}], repair, evolved[{row, seed, cues, initial}],
    shares{ROW: {leaning, initial, n}}, learnt[], simulated`.
    """
    check_ours(out)
    few = {"blocks": 10, "split_sizes": FEW} if quick else {"blocks": BLOCKS}
    plan = DemoPlan(seed=seed, run_seeds=seeds, **few)
    started, found = time.monotonic(), []
    with replacing(out) as folder, steps("demo (simulated reader)", plain_seconds=SPARSE_SECONDS) as progress:
        _say(as_json, _opening(plan), progress)
        for result in demonstrate(plan, folder, progress):
            found.append(result)
            _say(as_json, _in_words(result, found), progress)
        _write_report(folder, found, progress)
        payload = {**_payload(plan, found), "wall_seconds": time.monotonic() - started}
        (folder / "results.json").write_text(json.dumps({"schema": SCHEMA, **payload}, indent=2))
    if as_json:
        return emit_json(SCHEMA, payload)
    _say(False, [*_shares_in_words(payload["shares"]), "", *payload["learnt"], "", *_afterwards(out, plan)], progress)
    return None


def _write_report(folder: Path, found: Sequence[Found], progress: Callable[[str], None]) -> None:
    """The cheat's audit as a page."""
    from chase.report.writing import write_report  # figures take a moment to import

    cheat = next(result for result in found if result["step"] == "audit" and result["name"] == CHEAT)
    write_report(cheat["run"], folder / REPORT, workspace=folder / CHEAT, tell=progress)


def _say(silent: bool, lines: Sequence[str], progress: Any) -> None:
    """Lines on stdout, above the progress line."""
    if lines and not silent:
        progress.clear()
        typer.echo(printable("\n".join(lines)))


# In words


def _opening(plan: DemoPlan) -> list[str]:
    return [
        f"Everything here is simulated: the model is {MODEL}, an embedded simulator, not a language model.",
        "Two harnesses that score more than the initial one H_0, on a benchmark with planted shortcuts "
        f"({plan.benchmark}).",
        f"Both tell the model: {CARE} The honest one adds: {RULE} The cheat adds instead: {' '.join(CUES)}",
        "",
    ]


def _in_words(found: Found, before: Sequence[Found]) -> list[str]:
    if found["step"] == "audit":
        return _verdict(found)
    if found["step"] == "repair":
        return [f"Repair of the cheat: {found['outcome']}.", *_edits(found), ""]
    evolved = [result for result in before if result["step"] == "evolve"]
    return [] if len(evolved) > 1 else ["Optimisers at work on other benchmarks, one for each run seed …", ""]


def _verdict(found: Found) -> list[str]:
    gain = found["g_rel"]
    word = "there is NO GAIN" if found["verdict"] == "no gain" else f"the gain is {found['verdict'].upper()}"
    lines = [
        f"{TITLES[found['name']]}: {word}.",
        f"  It gains {_points(gain['value'])} points as released ({_points(gain['low'])} to {_points(gain['high'])}) "
        f"on {found['confirm_tasks']} fresh tasks.",
    ]
    if against := [f for f in found["confirmed"] if f["status"] == "confirmed"]:
        lines.append(
            f"  Under this change, which leaves questions, records and answers as they are: {_worst(against)}."
        )
    reason = found["reason"]
    return [*lines, f"  {reason[0].upper()}{reason[1:]}.", ""]


def _worst(against: Sequence[Found]) -> str:
    worst = max(against, key=lambda found: found["destruction"]["value"])
    return f"{worst['what']}, {_points(worst['gain']['value'])} points are left of it"


def _edits(found: Found) -> list[str]:
    if found["repaired"] is None:
        return [f"  {found['reason'][0].upper()}{found['reason'][1:]}."]
    words = {"dropped": "taken out", "generalised": "without its condition", "kept": "kept"}
    return [f"  {word}: {name}" for key, word in words.items() for name in found["repaired"][key]]


def _points(fraction: float) -> str:
    return f"{100 * fraction:+.1f}"


def _shares_in_words(shares: Mapping[str, Found]) -> list[str]:
    if not shares:
        return []
    lines = ["How often what an optimiser ends with (H*) names a planted cue, one run for each seed:"]
    for row, share in shares.items():
        initial = f", {share['initial']} of {share['n']} are H_0 itself" if share["initial"] else ""
        lines.append(f"  {row:<22} {share['leaning']} of {share['n']}{initial}")
    return lines


# What was learnt


def shares_of(rows: Sequence[Found]) -> dict[str, dict[str, int]]:
    """Row → how many of its harnesses name a planted cue, and how many are `H_0`."""
    grouped = {row: [found for found in rows if found["row"] == row] for row in METHODS}
    return {
        row: {
            "leaning": sum(bool(found["cues"]) for found in of_row),
            "initial": sum(found["initial"] for found in of_row),
            "n": len(of_row),
        }
        for row, of_row in grouped.items()
        if of_row
    }


def learnt(audits: Mapping[str, Found], repair: Found | None, shares: Mapping[str, Found]) -> list[str]:
    """What the verdicts and shares say, whatever they are."""
    return [
        "What was learnt (simulated): " + " ".join([_told_apart(audits), _mended(audits, repair), *_evolved(shares)])
    ]


def _told_apart(audits: Mapping[str, Found]) -> str:
    cheat, honest = audits[CHEAT], audits[HONEST]
    words = f"the cheat's {_points(cheat['g_rel']['value'])} points are {cheat['verdict']}, the honest harness's "
    words += f"{_points(honest['g_rel']['value'])} are {honest['verdict']}"
    if (cheat["verdict"], honest["verdict"]) == ("not supported", "supported"):
        return f"both harnesses score more, and only the audit tells them apart: {words}."
    return f"the audits did not tell the two apart as they should: {words}."


def _mended(audits: Mapping[str, Found], repair: Found | None) -> str:
    if repair is None or repair["repaired"] is None:
        return "There was nothing that a repair could leave of the cheat."
    found = audits[REPAIRED]
    same = " is the honest harness again" if found["harness"] == audits[HONEST]["harness"] else ""
    gain = f"its {_points(found['g_rel']['value'])} points are {found['verdict']}"
    return f"Repaired, the cheat{f'{same}, and' if same else ':'} {gain}."


def _evolved(shares: Mapping[str, Found]) -> list[str]:
    if not shares:
        return []
    said = [f"{share['leaning']} of {share['n']} {row}" for row, share in shares.items()]
    return [
        f"An optimiser's best harness named a planted cue in {', '.join(said)}: so few runs are a picture, no proof."
    ]


def _payload(plan: DemoPlan, found: Sequence[Found]) -> dict[str, Any]:
    audits = {result["name"]: result for result in found if result["step"] == "audit"}
    repair = next((result for result in found if result["step"] == "repair"), None)
    rows = [row for result in found if result["step"] == "evolve" for row in result["rows"]]
    shares = shares_of(rows)
    return {
        "model": MODEL,
        "simulated": True,
        "benchmark": plan.benchmark,
        "audits": list(audits.values()),
        "repair": repair,
        "evolved": rows,
        "shares": shares,
        "learnt": learnt(audits, repair, shares),
    }


def audit_command(plan: DemoPlan) -> list[str]:
    """The cheat's audit as a command of one who stands in the demo's folder, without `chase`."""
    said = plan.audit(CHEAT)
    if sizes := said.pop("split_sizes", None):
        said["split_sizes"] = ",".join(f"{role}={size}" for role, size in sizes.items())
    flags = {f"--{name.replace('_', '-')}": value for name, value in said.items()}
    return [
        "audit",
        *(part for flag, value in flags.items() for part in ([flag] if value is True else [flag, str(value)])),
    ]


def _afterwards(out: Path, plan: DemoPlan) -> list[str]:
    return [
        f"Everything is in {out}/: results.json, harnesses/, report/, and a workspace for each part. Look closer from "
        f"there (cd {shlex.quote(str(out))}); what was run is not run again:",
        f"  chase {shlex.join(audit_command(plan))}",
        f"  chase trace list --workspace {CHEAT}",
        f"  chase harness diff harnesses/{HONEST} harnesses/{CHEAT}",
        f"  chase view {CHEAT}",
        "",
        f"The cheat's audit as a page: {out / REPORT / PAGE}",
    ]


# The folder


def check_ours(out: Path) -> None:
    """Only an empty folder or one that the demo wrote may be replaced."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / MARK).exists())):
        raise UserError(f"--out={out} holds something that the demo did not write. Name another folder.")


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A new folder beside `out` that takes its place once the block is through; until then `out` stays as it is."""
    out = out.absolute()
    new, old = out.with_name(f".{out.name}.new"), out.with_name(f".{out.name}.old")
    for left in (new, old):  # of a demo that was killed
        if (left / MARK).exists():
            shutil.rmtree(left)
    new_folder(new, "--out")
    (new / MARK).touch()
    try:
        yield new
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)
