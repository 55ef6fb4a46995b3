"""What Syn-Ledger's numbers are, taken through the command line: `python -m tests.golden` writes them, a test compares.

Benchmark seed 101 at reduced sizes: per-task scores of RawHarness under three variants; of one `chase evolve` with
each method and one `chase audit` the files of `H*`, the operators of archive entries and every estimate. No hashes:
they may change while the numbers stay. A commit that changes behaviour on purpose writes it anew and says why.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARK, MODEL = "syn-ledger@101", "sim:reader"
GOLDEN = Path(__file__).with_name("golden.json")
VARIANTS = ("released", "neutral", "neutralise-depth")
SIZES = ("--split-sizes", "evo=16,disc=8,conf=8,cert=12")
ROLLOUTS = ("--rollouts", "evo=1,disc=2,conf=2,cert=1")
EVOLUTIONS = {
    "chase": ("--method", "chase", "--seed", "3"),
    "chase-without-challenger": ("--method", "chase-without-challenger", "--seed", "2", "--edit-space", "documents"),
}
CHEAT = "Prefer files with low path-depth. Read on in files with low extension-length."
ESTIMATE = {"value", "se", "n"}


def record(folder: Path) -> dict[str, Any]:
    """Everything that the golden file holds, made in a folder."""
    harness = folder / "h0"
    _chase("harness", "init", harness, "--benchmark", BENCHMARK)
    cheat = folder / "cheat"
    _chase("harness", "init", cheat, "--benchmark", BENCHMARK)
    (cheat / "guidance").mkdir()
    (cheat / "guidance" / "cheat.md").write_text(CHEAT)
    return {
        "rollout": {variant: _rollout(folder, harness, variant) for variant in VARIANTS},
        "evolve": {method: _evolve(folder, options) for method, options in EVOLUTIONS.items()},
        "audit": _audit(folder, cheat),
    }


def _rollout(folder: Path, harness: Path, variant: str) -> dict[str, float]:
    options = ("--split", "evo", "--rollouts", "1", "--variant", variant, "--harness", harness)
    found: dict[str, float] = _json(folder, "rollout", *options)["per_task"]
    return found


def _evolve(folder: Path, options: tuple[str, ...]) -> dict[str, Any]:
    found = _json(folder, "evolve", *SIZES, *ROLLOUTS, *options)
    run = folder / "space" / ".chase" / "runs" / found["run"]
    archive = json.loads((run / "archive.json").read_text(encoding="utf-8"))
    return {
        "final": {
            str(path.relative_to(run / "final")): path.read_text(encoding="utf-8")
            for path in sorted((run / "final").rglob("*"))
            if path.is_file()
        },
        "name": found["final"]["name"],
        "archive": [_operators(entry["transformation"]) for entry in archive["entries"]],
        "selections": [row["selection"]["pool"] for row in found["rounds"]] + [found["final"]["selection"]["pool"]],
        "estimates": _estimates({key: found[key] for key in ("rounds", "archive", "certification")}),
    }


def _audit(folder: Path, harness: Path) -> dict[str, Any]:
    sizes = ("--split-sizes", "evo=16,disc=16", "--rollouts", "2", "--rounds", "2", "--seed", "1", "--anyway")
    found = _json(folder, "audit", "--harness", harness, *sizes, codes=(0, 5))
    return {
        "verdict": found["verdict"],
        "gamma": found["gamma"],
        "g_min": found["g_min"],
        "found": [_operators(f["transformation"]) for f in (*found["confirmed"], *found["not_confirmed"])],
        "estimates": _estimates(found),
    }


def _operators(transformation: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: o[key] for key in ("name", "arguments", "seed")} for o in transformation["operators"]]


def _estimates(value: Any, path: str = "") -> dict[str, Any]:
    """Every estimate in a payload by its place."""
    if isinstance(value, dict) and value.keys() >= ESTIMATE:
        return {path: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {place: e for key, item in pairs for place, e in _estimates(item, f"{path}/{key}").items()}


def _json(folder: Path, command: str, *options: object, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    place = ("--benchmark", BENCHMARK, "--model", MODEL, "--workspace", folder / "space", "--json")
    found: dict[str, Any] = json.loads(_chase(command, *options, *place, codes=codes))
    return found


def _chase(*arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, "-m", "chase", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if ended.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout
