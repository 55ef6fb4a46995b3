"""How many small faults would the tests notice? `python -m studies.mutation`, not a part of CI.

`record` runs every test file of the folders below once under coverage: which tests run a line. `run` then puts one
mutant after another (`studies.mutants`) into a copy of the tree and runs the tests that run its line, the fastest
first, until one fails. A mutant that no test noticed survived; tests of other folders are not asked, so that the share
killed is a lower bound. All mutants of `stats` are tried, of each other area a sample that a seed draws: twice as many
changes of logic as of what a call is given, most of which end in a TypeError.

    python -m studies.mutation record
    python -m studies.mutation run              # goes on where it was interrupted
    python -m studies.mutation run --again --label after    # the survivors once more, with new tests recorded
    python -m studies.mutation report
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData
from hypothesis import Phase, settings

from studies.mutants import Mutant, mutants_of
from studies.mutation_map import SECONDS

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".mutation"
"""What was recorded and found so far."""
ROWS = ROOT / "studies" / "results" / "mutation.rows.jsonl"
LEDGER = "src/chase/benchmarks/syn_ledger"
AREAS: Mapping[str, Sequence[str]] = {
    "stats": ["src/chase/stats/*.py"],
    "protocol": ["src/chase/protocol/*.py"],
    "methods": ["src/chase/methods/*.py"],
    "allocation and scoring": [f"{LEDGER}/{name}.py" for name in ("allocation", "combinatorics", "scoring")],
}
SAMPLES = {"protocol": 45, "methods": 60, "allocation and scoring": 36}
TESTS = ("stats", "protocol", "methods", "benchmarks/syn_ledger", "runs", "cli")
COPIED = ("src", "tests", "studies", "docs", "configs", "README.md", "CHANGELOG.md", "pyproject.toml")
CALLS = ("arg_removal", "assignment")
KILLED = ("killed", "timeout")
WARM = ("aiohttp", "hypothesis", "numpy", "pydantic_ai", "pytest_asyncio", "rich", "scipy.stats", "typer", "xdist")
"""Imported once, before any mutant: what is not ours costs its import no more than once."""
QUIET = ("-q", "-n", "0", "-p", "no:cacheprovider")
Row = dict[str, Any]
TestsOfLine = Mapping[str, Mapping[int, Sequence[str]]]


def record(only: Sequence[str]) -> None:
    """Each test file in a process of its own, so that nothing is worked out before it."""
    KEPT.mkdir(exist_ok=True)
    files = [path for folder in TESTS for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    for path in files:
        name = str(path.relative_to(ROOT))
        kept = KEPT / name.replace("/", "+")
        if (only and name not in only) or (not only and kept.with_suffix(".json").exists()):
            continue
        kept.with_suffix(".coverage").unlink(missing_ok=True)
        source = f"--include={','.join(sorted({str(Path(g).parent / '*') for area in AREAS.values() for g in area}))}"
        command = ["-m", "coverage", "run", f"--data-file={kept.with_suffix('.coverage')}", source, "-m", "pytest"]
        options = ["-p", "studies.mutation_map", "-m", "not live", *QUIET, name]
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, *command, *options],
            cwd=ROOT,
            env=_environment(ROOT) | {SECONDS: str(kept.with_suffix(".json"))},
            capture_output=True,
        )
        sys.stderr.write(f"{name}: code {done.returncode}, {time.monotonic() - started:.0f} s\n")


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}", "PYTHONDONTWRITEBYTECODE": "1"}


def recorded() -> tuple[TestsOfLine, Mapping[str, float]]:
    """File → line → tests; and how long each test took. With all their parameters: a mutant may change their names."""
    seconds: dict[str, float] = defaultdict(float)
    for path in KEPT.glob("*.json"):
        for name, spent in json.loads(path.read_text()).items():
            seconds[_bare(name)] += spent
    tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in KEPT.glob("*.coverage"):
        data = CoverageData(str(path))
        data.read()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                tests[str(Path(file).relative_to(ROOT))][line] |= set(map(_bare, contexts)) - {""}
    return {file: {n: sorted(names) for n, names in lines.items()} for file, lines in tests.items()}, seconds


def _bare(name: str) -> str:
    return name.partition("[")[0]


def tests_for(mutant: Mutant, tests: TestsOfLine, seconds: Mapping[str, float], most: float) -> list[str]:
    """The tests that run its line, for so many seconds: those of its own module first, then of its folder, then others,
    the fastest first. Of a line that importing runs, those of the whole file and of its folder.
    """
    lines = tests.get(mutant.path, {})
    own = str(Path(mutant.path).relative_to("src/chase").with_suffix(""))
    folder, _, module = own.rpartition("/")
    found = set() if mutant.imported else set(lines.get(mutant.line, ()))
    if not found:
        beside = (name for name in seconds if name.startswith(f"tests/{folder}/"))
        found = {name for names in lines.values() for name in names}.union(beside)
    shared = tuple(name[:-1] for name in found if name.endswith("::*"))
    whole = {name for name in seconds if shared and name.startswith(shared)}

    def order(name: str) -> tuple[bool, bool, float]:
        away = not name.startswith(f"tests/{folder}/")
        return away or f"/test_{module}" not in name, away, seconds[name]

    chosen, spent = [], 0.0
    for name in sorted({name for name in found if name in seconds} | whole, key=order):
        spent += seconds[name]
        if chosen and spent > most:
            break
        chosen.append(name)
    return chosen


def sample(seed: int, areas: Sequence[str]) -> Iterator[tuple[str, Mutant]]:
    """All mutants of an area without a number, else two thirds changes of logic and one third of calls."""
    for area in areas or AREAS:
        globs = AREAS[area]
        paths = sorted(str(path.relative_to(ROOT)) for glob in globs for path in ROOT.glob(glob))
        found = [mutant for path in paths for mutant in mutants_of(ROOT, path)]
        draw = random.Random(f"{seed}:{area}")
        if area in SAMPLES:
            calls = [mutant for mutant in found if mutant.operator in CALLS]
            logic = [mutant for mutant in found if mutant.operator not in CALLS]
            third = SAMPLES[area] // 3
            found = draw.sample(logic, SAMPLES[area] - third) + draw.sample(calls, third)
        draw.shuffle(found)  # so that a run that is stopped early has tried a fair sample
        yield from ((area, mutant) for mutant in found)


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of what the tests need, to put mutants into."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tree / name)
        yield tree


def tried(mutant: Mutant, tests: Sequence[str], limit: float, tree: Path) -> tuple[str, str]:
    """`killed`, `timeout`, `survived` or `no tests`; and the test that noticed."""
    if not tests:
        return "no tests", ""
    place = tree / mutant.path
    original = place.read_text()
    (tree / "tests.txt").write_text("\n".join(tests))
    place.write_text(mutant.code())
    child = multiprocessing.get_context("fork").Process(target=_run_tests, args=(tree, int(limit) + 1))
    try:
        child.start()
        child.join(20 * limit)
        if child.is_alive() or child.exitcode == -signal.SIGXCPU:
            child.kill()
            child.join()
            return "timeout", ""
    finally:
        place.write_text(original)
    said = (tree / "output.txt").read_text(errors="replace").splitlines()
    noticed = [line.split(" ")[1] for line in said if line.startswith(("FAILED ", "ERROR "))]
    if child.exitcode and not noticed:
        raise RuntimeError(f"{mutant.name}: no test failed, and yet: {' '.join(said[-3:])}")
    return "killed" if noticed else "survived", noticed[0] if noticed else ""


def _run_tests(tree: Path, seconds: int) -> None:
    """In a process of its own, which has imported nothing of the package before. Its time is that of its processor: a
    busy machine kills no mutant.
    """
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    os.chdir(tree)
    os.environ.update(_environment(tree))
    sys.path[:0] = [str(tree / "src"), str(tree)]
    with (tree / "output.txt").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        code = pytest.main([*QUIET, "-x", "-m", "not live", "--tb=line", "--hypothesis-profile=mutation", "@tests.txt"])
        sys.stdout.flush()
        os._exit(int(code))


def run(seed: int, label: str, again: bool, most: float, areas: Sequence[str]) -> None:
    """Every mutant of the sample that has no row yet; or those that survived, once more."""
    known = {row["name"]: row["outcome"] for row in _rows()}
    survived = {name for name, outcome in known.items() if outcome not in KILLED}
    waiting = [
        (area, mutant)
        for area, mutant in sample(seed, areas)
        if (mutant.name in survived if again else mutant.name not in known)
    ]
    tests, seconds = recorded()
    for name in WARM:
        importlib.import_module(name)
    settings.register_profile("mutation", deadline=None, phases=(Phase.explicit, Phase.generate))
    with copied_tree() as tree, ROWS.open("a") as file:
        for count, (area, mutant) in enumerate(waiting, 1):
            chosen, started = tests_for(mutant, tests, seconds, most), time.monotonic()
            outcome, by = tried(mutant, chosen, 10 + 3 * sum(seconds[name] for name in chosen), tree)
            told = {key: getattr(mutant, key) for key in ("name", "line", "operator", "before", "after")}
            spent = round(time.monotonic() - started, 1)
            row = {
                "label": label,
                "area": area,
                **told,
                "outcome": outcome,
                "by": by,
                "tests": len(chosen),
                "seconds": spent,
            }
            file.write(json.dumps(row) + "\n")
            file.flush()
            sys.stderr.write(f"{count}/{len(waiting)} {mutant.name} {outcome} {spent} s\n")


def _rows() -> list[Row]:
    return [{"label": "before", **json.loads(line)} for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def report(seed: int) -> None:
    """The share killed by area and kind of change, with its interval, after each label's tests; and every survivor."""
    from studies.reader_scores import write
    from studies.running import share_of

    meant = {mutant.name for _, mutant in sample(seed, ())}
    rows = [row for row in _rows() if row["name"] in meant]
    found: dict[str, Any] = {}
    for label in dict.fromkeys(row["label"] for row in rows):
        upto = [place for place, row in enumerate(rows) if row["label"] == label][-1]
        last = {row["name"]: row for row in rows[: upto + 1]}
        found[label] = {area: share_of([row["outcome"] in KILLED for row in of]) for area, of in _strata(last.values())}
        for area, share in found[label].items():
            text = f"{share['value']:.1%} ({share['low']:.1%} to {share['high']:.1%}) of {share['n']}"
            sys.stdout.write(f"{label}: {area}: {text}\n")
    left = [row for row in {row["name"]: row for row in rows}.values() if row["outcome"] not in KILLED]
    for row in sorted(left, key=lambda row: (row["name"].partition(":")[0], row["line"])):
        sys.stdout.write(f"{row['name']} line {row['line']}: {row['before']} -> {row['after']}\n")
    write("mutation", {"shares": found, "survivors": left})


def _strata(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The rows of each area, of both kinds of change and of all."""
    kept = list(rows)
    strata = []
    for area in AREAS:
        of = [row for row in kept if row["area"] == area]
        calls = [row for row in of if row["operator"] in CALLS]
        strata += [(f"{area}, logic", [row for row in of if row not in calls]), (f"{area}, calls", calls), (area, of)]
    return [*strata, ("all", kept)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("record", "run", "report"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for one mutant, as recorded")
    parser.add_argument("--label", default="now", help="what the report calls the tests as they are")
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    parser.add_argument("--only", nargs="*", default=[], help="record: test files to record again; run: areas")
    given = parser.parse_args()
    if given.part == "record":
        record(given.only)
    elif given.part == "run":
        run(given.seed, given.label, given.again, given.seconds, given.only)
    else:
        report(given.seed)


if __name__ == "__main__":
    main()
