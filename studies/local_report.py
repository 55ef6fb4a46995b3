"""The tables of docs/local-model-study.md, from committed results. `python -m studies.local_report` prints them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from studies import local_runs
from studies.local_model import BASELINES, NAME, SINGLY, VARIANTS
from studies.reader_scores import RESULTS

Found = Mapping[str, Any]


def tables() -> Iterator[str]:
    """Item 1, item 1 feature by feature, items 2 to 5, each as far as the studies have come."""
    found: Found = json.loads((RESULTS / f"{NAME}.json").read_text())
    yield from _initial(found)
    if found["item 1, feature by feature"]:
        yield from _features(found)
    for item in BASELINES:
        if found[f"item {item}"]:
            yield from _harnesses(found, item)
    path = RESULTS / f"{local_runs.NAME}.json"
    runs: Found = json.loads(path.read_text()) if path.exists() else {}
    for kind, table in RUNS.items():
        if runs.get(kind):
            yield from table(runs[kind])


def _initial(found: Found) -> Iterator[str]:
    first = found["item 1"]
    yield "| `H_0` | score | tasks | both amounts shown | right where shown |"
    yield "| --- | --- | --- | --- | --- |"
    for variant in VARIANTS:
        score, read = first[f"r_{variant}"], found["reading"][f"initial, {variant}"]
        yield f"| {variant} | {_share(score)} | {score['n']} | {read['shown']} | {read['right']} |"
    yield f"| difference | {_points(first['lean'])} | {first['lean']['n']} | | |"
    yield ""


def _features(found: Found) -> Iterator[str]:
    yield "| Neutralised alone | `H_0` loses | tasks | both amounts shown | right where shown |"
    yield "| --- | --- | --- | --- | --- |"
    for variant in SINGLY:
        lost, read = found["item 1, feature by feature"][variant], found["reading"][f"initial, {variant}"]
        name = variant.removeprefix("neutralise-")
        yield f"| {name} | {_points(lost)} | {lost['n']} | {read['shown']} | {read['right']} |"
    yield ""


def _harnesses(found: Found, item: str) -> Iterator[str]:
    yield "| Harness | R_rel | R_0 | G_rel | G_0 | Δ_BS | tasks | released: both shown, right of these |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, row in sorted(found[f"item {item}"].items(), key=lambda each: (each[1]["kind"] != "initial", each[0])):
        read = found["reading"][f"{name}, released"]
        figures = [_share(row["r_released"]), _share(row["r_neutral"])]
        figures += [_points(row[key]) if key in row else "" for key in ("g_rel", "g_0", "delta_bs")]
        yield f"| {name} | {' | '.join(figures)} | {row['r_neutral']['n']} | {read['shown']}, {read['right']} |"
    yield ""


def _audits(rows: Found) -> Iterator[str]:
    yield "| Harness | is | baseline → harness | G_rel | Δ_b on fresh tasks | verdict | tasks | tasks needed |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name in filter(rows.__contains__, (*local_runs.AUDITS, *local_runs.DECIDING)):
        row = rows[name]
        scores, needed = row["scores"], row["tasks_needed"]
        measured = sorted(row["confirmed"] or row["not_confirmed"], key=lambda one: one["destruction"]["value"])
        worst = f"{_points(measured[-1]['destruction'])}: {measured[-1]['what']}" if measured else ""
        both = f"{_percent(scores['baseline'])} → {_percent(scores['harness'])}"
        gain = row["g_rel"]
        yield (
            f"| {name} | {row['kind']} | {both} | {_points(gain)} | {worst} | {row['verdict']} | {gain['n']} | "
            f"{needed or ''} |"
        )
    yield ""


def _evolutions(rows: Found) -> Iterator[str]:
    yield "| Method, seed | rounds | tasks | best candidate | `H*` | archived | G_rel | G_0 | sealed | rollouts |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, row in sorted(rows.items(), key=lambda each: (each[0].split()[1], each[0])):
        changes, gains = "; ".join(row["changes"]) or "`H_0`", row["gains"]
        figures = " | ".join(_points(gains[variant]) for variant in VARIANTS)
        tasks = row["sizes"].partition(",")[0].removeprefix("evo=")
        best = f"{100 * max((gain for of, gain in row['candidates'].items() if of != 'H0'), default=0):+.0f}"
        archived = "; ".join(entry["what"] for entry in row.get("archived", ())) or row["archive"]
        yield (
            f"| {name} | {row.get('rounds', 1)} | {tasks} | {best} | {changes} | {archived} | {figures} | "
            f"{gains['released']['n']} | {row['rollouts']} |"
        )
    yield ""


SIGNS = {
    "read": ("is not valid TOML", "does not belong in a harness"),
    "track": ("changes the other track",),
    "new": ("the same as a harness",),
}
"""What a refusal is about, and the words by which it is known."""


def _proposers(rows: Found) -> Iterator[str]:
    yield "| Proposer, seed | requests | candidates | cannot be read | other track | not new | other | evaluated |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for seed, row in sorted(rows.items()):
        refused = Counter(why_refused(reason) for reason in row["refused"])
        counts = [refused.total() + len(row["evaluated"]), *(refused[why] for why in (*SIGNS, "other"))]
        yield f"| {seed} | {row['requests']} | {' | '.join(map(str, counts))} | {len(row['evaluated'])} |"
    yield ""


def why_refused(reason: str) -> str:
    """What a candidate's refusal is about: it cannot be read as a harness, leaves its track, is not new; or other."""
    return next((why for why, signs in SIGNS.items() if any(sign in reason for sign in signs)), "other")


def _challengers(rows: Found) -> Iterator[str]:
    yield "| Challenger, seed | requests | proposals | valid | different transformations |"
    yield "| --- | --- | --- | --- | --- |"
    for seed, row in sorted(rows.items()):
        valid = row["verdicts"].get("valid", 0)
        yield f"| {seed} | {row['requests']} | {row['proposals']} | {valid} | {row['different']} |"
    yield ""


RUNS: Mapping[str, Callable[[Found], Iterator[str]]] = {
    "item 3: audits": _audits,
    "item 3n: audits that can decide": _audits,
    "item 4: evolutions": _evolutions,
    "item 5: proposer": _proposers,
    "item 5: challenger": _challengers,
}


def _percent(score: Mapping[str, float]) -> str:
    return f"{100 * score['value']:.0f} %"


def _share(score: Mapping[str, float]) -> str:
    return f"{100 * score['value']:.0f} % ({100 * score['low']:.0f} to {100 * score['high']:.0f})"


def _points(change: Mapping[str, float]) -> str:
    return f"{100 * change['value']:+.0f} ({100 * change['low']:+.0f} to {100 * change['high']:+.0f})"


def main() -> None:
    sys.stdout.writelines(f"{line}\n" for line in tables())


if __name__ == "__main__":
    main()
