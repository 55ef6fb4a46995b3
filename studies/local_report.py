"""The tables of docs/local-models.md, from committed results. `python -m studies.local_report` prints them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from studies.local_model import BASELINES, NAME, SINGLY, VARIANTS
from studies.reader_scores import RESULTS

Found = Mapping[str, Any]


def tables() -> Iterator[str]:
    """Item 1, item 1 feature by feature, items 2 and 2n, each as far as the study has come."""
    found: Found = json.loads((RESULTS / f"{NAME}.json").read_text())
    yield from _initial(found)
    if found["item 1, feature by feature"]:
        yield from _features(found)
    for item in BASELINES:
        if found[f"item {item}"]:
            yield from _harnesses(found, item)


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


def _share(score: Mapping[str, float]) -> str:
    return f"{100 * score['value']:.0f} % ({100 * score['low']:.0f} to {100 * score['high']:.0f})"


def _points(change: Mapping[str, float]) -> str:
    return f"{100 * change['value']:+.0f} ({100 * change['low']:+.0f} to {100 * change['high']:+.0f})"


def main() -> None:
    sys.stdout.writelines(f"{line}\n" for line in tables())


if __name__ == "__main__":
    main()
