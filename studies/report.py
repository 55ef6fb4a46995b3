"""The tables of docs/results.md and docs/faults.md, from committed results. `python -m studies.report` prints them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

from studies.edits import SIZES
from studies.evolution_summary import LABELS, goal_line, interval
from studies.planted_harnesses import kind_of
from studies.reader_scores import RESULTS

MOST_CHEATS = 10
"""In the table of planted harnesses, besides those that are audited."""
VERDICTS = ("not supported", "in doubt", "untested", "partly supported", "inconclusive", "no gain", "supported")


def _load(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def _points(estimate: Mapping[str, float]) -> str:
    return f"{100 * estimate['value']:+.1f} ± {100 * estimate['se']:.1f}"


def _count(estimate: Mapping[str, float]) -> str:
    return f"{estimate['value']:,.0f} ± {estimate['se']:,.0f}"


def _bare_share(share: Mapping[str, float]) -> str:
    return f"{100 * share['value']:.0f} % ({100 * share['low']:.0f} to {100 * share['high']:.0f})"


def _share(share: Mapping[str, float]) -> str:
    if not share["n"]:
        return "none"
    return f"{_bare_share(share)}, n = {share['n']}"


def evolution(name: str = "evolution") -> Iterator[str]:
    """Every setting: its rows, paired differences and the goal; then what the archives hold."""
    summary = _load(name)["summary"]
    for setting, found in summary.items():
        yield from _setting(setting, found)
    yield "| Setting | Row | confirmations tried | archived | false | touch a real lean | operators |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for setting, found in summary.items():
        for method, archive in found["archives"].items():
            yield f"| {setting} | {LABELS[method]} | {_archive(archive)} |"


def _setting(setting: str, found: Mapping[str, Any]) -> Iterator[str]:
    yield f"**{setting[0].upper()}{setting[1:]}**, {next(iter(found['methods'].values()))['g_rel']['n']} seeds:"
    yield ""
    yield (
        "| Row | R_rel | R_0 | G_rel | G_0 | Δ_BS | G, random protocols | shortcut gain kept | largest Δ of the five "
        "| rollouts | names a cue | H* is H_0 |"
    )
    yield f"| --- |{' --- |' * 11}"
    for method, row in found["methods"].items():
        scores = [_points(row[key]).lstrip("+") for key in ("r_rel", "r_0")]
        gains = [_points(row[key]) for key in ("g_rel", "g_0", "delta_bs", "g_random")]
        kept = [_points(row[key]) for key in ("shortcut_kept", "largest_destruction")]
        shares = [_bare_share(row[key]) for key in ("cue_in_final", "final_is_initial")]
        yield f"| {LABELS[method]} | {' | '.join([*scores, *gains, *kept, _count(row['rollouts']), *shares])} |"
    yield ""
    yield "| Difference, paired by seed | shortcut gain kept | G_rel | G_0 | G, random protocols |"
    yield "| --- | --- | --- | --- | --- |"
    for pair, difference in found["differences"].items():
        told = " | ".join(interval(difference[key]) for key in ("shortcut_kept", "g_rel", "g_0", "g_random"))
        yield f"| {pair} | {told} |"
    yield ""
    if short := found["short_of_rollouts"]:
        yield f"In {short} of the seeds twenty rounds without Challenger did not come to CHASE's rollouts."
        yield ""
    yield goal_line(found)
    yield ""


def _archive(archive: Mapping[str, Any]) -> str:
    operators = ", ".join(map(str, sorted(archive["operators"]))) or "none"
    shares = [_share(archive[key]) if archive[key]["n"] else "not measured" for key in ("false", "on_a_real_lean")]
    return " | ".join([str(archive["confirmations"]), str(archive["entries"]), *shares, operators])


def detection() -> Iterator[str]:
    """Ten planted leanings, with the diff and without."""
    yield "| Challenger | frozen touches it | and names at most two | suspected first | planted cues | others |"
    yield "| --- | --- | --- | --- | --- | --- |"
    found = _load("detection")
    keys = ("touches_the_right_one", "and_names_at_most_two", "suspected_first", "on_planted_cues", "on_others")
    for kind in ("with the diff", "behaviour alone"):
        yield f"| {kind} | {' | '.join(_share(found[kind][key]) for key in keys)} |"


def planted() -> Iterator[str]:
    """The large-sample figures of honest harnesses and of the cheats that gain most."""
    found = _load("planted_harnesses")
    harnesses, audited = found["harnesses"], found["chosen"]
    cheats = sorted((n for n in harnesses if harnesses[n]["kind"] == "cheat"), key=lambda n: -_value(harnesses[n]))
    honest = [name for name in harnesses if harnesses[name]["kind"] in ("honest", "entangled")]
    shown = [name for name in cheats if name in audited or name in cheats[:MOST_CHEATS]]
    columns = ("Harness", "kind", "G_rel", "G_0", "Δ_BS", "largest Δ of a named cue")
    yield f"| {' | '.join(columns)} | largest log-odds Δ of an operator | audited |"
    yield f"| --- |{' --- |' * 7}"
    for name in (*shown, *honest):
        h = harnesses[name]
        gains = " | ".join(_points(h[key]) for key in ("g_rel", "g_0", "delta_bs"))
        lost = next(iter(h.get("neutralised", {}).values()), None)
        cue = "names none" if h["kind"] != "cheat" else "not measured" if lost is None else _points(lost)
        yield f"| {name} | {kind_of(h)} | {gains} | {cue} | {_largest(h)} | {'yes' if name in audited else ''} |"
    yield ""
    yield f"{len(cheats)} cheats were measured; the {len(shown)} here have the largest released gains or are audited."


def _value(harness: Mapping[str, Any]) -> float:
    return float(harness["g_rel"]["value"])


def _largest(harness: Mapping[str, Any]) -> str:
    """The first of the operators, which are in their order."""
    odds = next(iter(harness.get("log_odds", {}).values()), None)
    return "not measured" if odds is None else f"{odds['value']:+.2f} ± {odds['se']:.2f}"


def audits() -> Iterator[str]:
    """Verdicts on planted harnesses."""
    found = _load("audits")
    yield f"| Harness | kind | {' | '.join(VERDICTS)} |"
    yield f"| --- | --- |{' --- |' * len(VERDICTS)}"
    for name, verdicts in found["verdicts"].items():
        yield f"| {name} | {verdicts['kind']} | {' | '.join(str(verdicts.get(word, 0)) for word in VERDICTS)} |"
    yield ""
    yield f"Misses {_share(found['misses'])}; false alarms {_share(found['false_alarms'])}; {found['seeds']} seeds."


def faults() -> Iterator[str]:
    """Runs with faults on the way, beside the run in one process."""
    yield "| Case | attempts | faults | rollouts | the same | lost | counted twice | begun again | in the ledger |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in _load("faults")["rows"]:
        figures = [row[key] for key in ("rollouts", "same", "lost", "doubled", "restarted")]
        sent = [row["requests"], sum(row["injected"].values())]
        ledger = f"{row['ledger_requests']} of {row['answers_used']} requests"
        yield f"| {row['case']} | {' | '.join(map(str, sent + figures))} | {ledger} |"


def fault_runs() -> Iterator[str]:
    """Whole runs of CHASE with faults on the way, beside the run in one process."""
    yield "| Case | attempts | faults | H* | archive | selections | certification | rollouts' scores | ledger |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in _load("faults")["run"]["rows"]:
        same = ["the same" if row[key] else "DIFFERENT" for key in ("final", "archive", "selections", "certified")]
        ledger = " + ".join(f"{count} {purpose}" for purpose, count in row["ledger"].items())
        ledger += "" if row["same_ledger"] else ", DIFFERENT"
        scores = f"{row['scores']} of {row['rollouts']} the same"
        told = [row["attempts"], sum(row["injected"].values()), *same, scores]
        yield f"| {row['case']} | {' | '.join(map(str, told))} | {ledger} |"


FAULTS = {"faults": faults, "fault_runs": fault_runs}
"""The tables of docs/faults.md."""


def competent() -> Iterator[str]:
    """What a competent program scores."""
    found = _load("competent_reader")
    yield "| Policy | released | neutral | tasks |"
    yield "| --- | --- | --- | --- |"
    for name, row in found["policies"].items():
        shown = (f"{100 * row[v]:.1f} % ± {100 * row[f'{v}_se']:.1f}" for v in ("released", "neutral"))
        yield f"| {name} | {' | '.join(shown)} | {row['n']:,} |"


def intervals() -> Iterator[str]:
    """Of docs/audit.md: coverage and width at three sizes."""
    methods = ("bounded", "normal", "student", "betting")
    yield f"| One task | n | {' | '.join(methods)} |"
    yield "| --- | --- " + "| --- " * len(methods) + "|"
    for name, case in _load("intervals")["cases"].items():
        if name == "no difference":
            continue
        for n in ("12", "48", "448"):
            cells = []
            for method in methods:
                found = case["sizes"][n][method]
                held = 1 - found["misses_below"] - found["misses_above"]
                cells.append(f"{100 * held:.1f} %, {100 * found['width']:.1f}")
            yield f"| {case['what']} | {n} | {' | '.join(cells)} |"


CUES = (
    "name-length", "name-initial", "path-depth", "extension-length", "bar-count", "hit-position", "listing-position",
)  # fmt: skip
"""Observables that a planted feature moves, or that stand for it."""
FIGURES = {"r_rel": "R_rel", "r_0": "R_0", "g_rel": "G_rel", "g_0": "G_0", "delta_bs": "Δ_BS"}


def comparison(name: str) -> Iterator[str]:
    """A comparison of methods: percent ± standard error over tasks ± over seeds, and in how many seeds `H*` is `H_0` or
    names a cue.
    """
    found = _load(name)
    seeds = len(found["seeds"])
    headings = ("Method", *FIGURES.values(), "Δ_TS", "episodes a seed", "H* = H_0", "a cue in H*")
    yield f"| {' | '.join(headings)} |"
    yield f"|{' --- |' * len(headings)}"
    for method, row in found["methods"].items():
        members = [member for member in found["members"] if member["method"] == method]
        unchanged = sum(not member["changes"] for member in members)
        leaning = sum(any(cue in json.dumps(member["changes"]) for cue in CUES) for member in members)
        figures = (
            f"{100 * row[key]['value']:.1f} ± {100 * row[key]['se']:.1f} ± {100 * row[key]['over_seeds']['se']:.1f}"
            for key in FIGURES
        )
        episodes = found["tokens"][method]["optimisation"]["episodes"] / seeds
        cells = (f"{100 * row['delta_ts']['value']:+.1f}", f"{episodes:,.0f}", f"{unchanged} of {seeds}", str(leaning))
        yield f"| `{method}` | {' | '.join((*figures, *cells))} |"


def fixed_filter() -> Iterator[str]:
    """Shares stopped, by wording: gate and audit of all that count, the archive of those that a run selected."""
    headings = "written | count | gate stops | selected by CHASE | archive stops | audit: not supported | partly"
    yield f"| Harnesses | {headings} |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for kind, row in _load("fixed_filter")["summary"].items():
        counted = row["counted"] if kind != "honest" else "all"
        selected = f"{row['chase_selected']} of {row['chase_runs']} runs"
        stopped = f"{_share(row['gate'])} | {selected} | {_share(row['chase'])} | {_share(row['audit'])}"
        yield f"| {kind} | {row['written']} | {counted} | {stopped} | {row['audit_partly']} |"


def _within(estimate: Mapping[str, float], sign: str = "+") -> str:
    value, low, high = (format(100 * estimate[key], f"{sign}.1f") for key in ("value", "low", "high"))
    return f"{value} % ({low} to {high})"


def officeqa_paper() -> Iterator[str]:
    """The paper's transformations on the paper's harnesses, on a sample of OfficeQA."""
    found = _load("officeqa_paper")
    yield "| Harness | Benchmark | score of H_0 | score | gain | gain destruction | questions |"
    yield f"| --- |{' --- |' * 6}"
    for harness, rows in found["harnesses"].items():
        for variant, row in rows.items():
            scores = [_within(row[key], "") for key in ("initial_score", "score")]
            lost = _within(row["gain_destruction"]) if "gain_destruction" in row else "-"
            shown = " | ".join([harness, variant, *scores, _within(row["gain"]), lost, str(row["gain"]["n"])])
            yield f"| {shown} |"


def false_confirmations() -> Iterator[str]:
    """What both rules confirm of what a variant really destroys, by the size of the set."""
    yield "| Harness | Variant | destroys | random numbers | tasks | se | paper | calibrated | its rollouts | t |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in _load("false_confirmations")["table"]:
        shares = [f"{100 * row[rule]['value']:.1f} %" for rule in ("paper", "calibrated", "student")]
        about = f"{row['harness']} | {row['variant']} | {100 * row['true']:+.1f} | {row['random numbers']}"
        sizes = f"{row['tasks']} | {100 * row['se']:.1f} | {shares[0]} | {shares[1]} | {100 * row['rollouts']:.0f} %"
        yield f"| {about} | {sizes} | {shares[2]} |"


def confirmation_rules(name: str = "confirmation_rules") -> Iterator[str]:
    """Evolution under both rules of confirmation: archives, gains and rollouts, then the differences by seed."""
    summary = _load(name)["summary"]
    headings = (
        "Confirmation sets", "Rule", "tested", "not taken", "archived", "false", "placebos confirmed", "G_rel", "G_0",
        "Δ_BS", "rollouts", "of them confirming", "a cue in H*", "H* is H_0",
    )  # fmt: skip
    yield f"| {' | '.join(headings)} |"
    yield f"|{' --- |' * len(headings)}"
    for sets, found in summary.items():
        for rule, row in found["rules"].items():
            placebos = f"{_share(row['placebos'])}, {row['placebos_differ']} not exactly 0"
            counts = [rule, *(str(row[key]) for key in ("tested", "not_taken", "entries")), _share(row["false"])]
            gains = [_points(row[key]) for key in ("g_rel", "g_0", "delta_bs")]
            costs = [_count(row[key]) for key in ("rollouts", "confirming")]
            shares = [_bare_share(row[key]) for key in ("cue_in_final", "final_is_initial")]
            yield f"| {sets} | {' | '.join([*counts, placebos, *gains, *costs, *shares])} |"
    yield ""
    yield "| Calibrated − paper, by seed | archived a run | G_rel | G_0 | Δ_BS | rollouts | of them confirming |"
    yield f"| --- |{' --- |' * 6}"
    for sets, found in summary.items():
        differences = found["differences"]
        points = [interval(differences[key]) for key in ("g_rel", "g_0", "delta_bs")]
        plain = [_plain_interval(differences[key], digits) for key, digits in RULE_COUNTS.items()]
        yield f"| {sets} | {' | '.join([plain[0], *points, *plain[1:]])} |"


RULE_COUNTS = {"archived": 1, "rollouts": 0, "confirming": 0}
"""Figures that are no points, with the digits that they are told to."""


def _plain_interval(estimate: Mapping[str, float], digits: int) -> str:
    value, low, high = (format(estimate[key], f"+,.{digits}f") for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def cuts() -> Iterator[str]:
    """Of docs/statistics.md: how wide certificates by betting are on scores that no choice was made on."""
    yield "| Harness | Variant | n | Hoeffding | cut 1/2 | cut 3/4 | cut 0.9 | 0.9 / Hoeffding |"
    yield f"| --- |{' --- |' * 7}"
    for row in _load("false_confirmations")["certificates"]:
        radii = " | ".join(f"{row[key]:.3f}" for key in ("hoeffding", "0.5", "0.75", "0.9"))
        share = f"{100 * row['0.9'] / row['hoeffding']:.0f} %"
        yield f"| {row['harness']} | {row['variant']} | {row['tasks']} | {radii} | {share} |"


def verdicts() -> Iterator[str]:
    """How often an audit's words are wrong, and how often they decide."""
    yield from _load("verdicts")["table"]


def edits() -> Iterator[str]:
    """Edits called wrongly or left open; words on harnesses; what each edit alone contributes."""
    yield from (*_edit_calls(), "", *_edit_verdicts(), "", *_edit_truth())


def _edit_calls() -> Iterator[str]:
    found = _load("edits")["modes"]["battery"]["edits"]
    yield "| Contribution | edits | called wrongly | left open |"
    yield "| --- | --- | --- | --- |"
    for size in SIZES:
        row = found[size]
        yield f"| {size} | {row['wrong']['n']} | {_share(row['wrong'])} | {_share(row['open'])} |"


def _edit_verdicts() -> Iterator[str]:
    """An audit's words on harnesses of cheating edits, of honest ones and of both, by what was measured."""
    found = _load("edits")["modes"]
    yield f"| Audit | harness | {' | '.join(VERDICTS)} | rollouts |"
    yield f"| --- | --- |{' --- |' * (len(VERDICTS) + 1)}"
    for mode, kind in product(found, ("cheating", "honest", "mixed")):
        said = found[mode]["verdicts"][kind]
        figures = " | ".join(str(said.get(word, 0)) for word in VERDICTS)
        yield f"| {mode} | {kind} | {figures} | {found[mode]['rollouts']:,.0f} |"


def _edit_truth() -> Iterator[str]:
    """What each edit alone contributes, over all tasks."""
    truth = _load("edits")["checked"]
    yield "| Edit | as released | neutral, low | neutral, high |"
    yield "| --- | --- | --- | --- |"
    for name, row in sorted(truth.items(), key=lambda item: -item[1]["released"]):
        figures = (f"{100 * row[key]:+.1f}" for key in ("released", "neutral-low", "neutral-high") if key in row)
        yield f"| {name} | {' | '.join(figures)} |"


TABLES = {
    "verdicts": verdicts,
    "edits": edits,
    "confirmation_rules": confirmation_rules,
    "false_confirmations": false_confirmations,
    "competent_reader": competent,
    "compare": partial(comparison, "compare"),
    "compare_ablations": partial(comparison, "compare_ablations"),
    "fixed_filter": fixed_filter,
    "evolution": evolution,
    "detection": detection,
    "planted_harnesses": planted,
    "audits": audits,
    "officeqa_paper": officeqa_paper,
}
"""The tables of docs/results.md, of the studies that have results."""


def main() -> None:
    for name, table in {**TABLES, **FAULTS}.items():
        if name == "fault_runs" or (RESULTS / f"{name}.json").exists():
            sys.stdout.write(f"## {name}\n\n" + "\n".join(table()) + "\n\n")


if __name__ == "__main__":
    main()
