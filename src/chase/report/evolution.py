"""The sections of a report on an evolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chase.report import charts, more_charts, tables, tables_evolution
from chase.report.document import Block, Figure, Listing, Section, Tabular, Text
from chase.report.facts import HarnessFacts, Measured, RunFacts

Found = Mapping[str, Any]


def sections(facts: RunFacts, measured: Measured) -> Iterator[Section | None]:
    """From what came out to how: results, rounds, counterfactuals, harnesses, certificates."""
    result = facts.result
    if result is not None:
        yield _results(result)
        yield outcome_section(measured, words_of(result))
    yield _rounds(facts)
    yield _counterfactuals(facts)
    yield harness_section(facts)
    if result is not None and result.get("theorems"):
        yield _certificates(result)


def words_of(result: Found) -> dict[str, str]:
    """Variant → what changes, in words."""
    return {row["name"]: row["what"] for row in (result.get("conclusion") or {}).get("counterfactuals", ())}


def _results(result: Found) -> Section:
    certified, said = result.get("certification"), result.get("conclusion") or {}
    blocks: list[Block] = [Text(text=sentence) for sentence in said.get("sentences", ())]
    if certified is not None and said.get("counterfactuals"):
        rows = [
            {**row, "scores": [row["scores"][harness]["value"] for harness in ("H0", "H*")]}
            for row in said["counterfactuals"]
        ]
        table = tables.variants(rows, certified["tasks"], ("H_0", "H*"))
        drawn = charts.gains(
            [(row["name"], row["what"], row["gain"]) for row in rows], "Gain on the sealed tasks under each variant"
        )
        blocks.append(Figure(drawing=drawn, table=table, caption="Gain of H* over H_0 on the sealed tasks."))
        blocks.append(Tabular(table=tables.certification(certified)))
        for name, failed in certified["invalid"].items():
            blocks.append(Text(text=f"{name} is not valid on the sealed tasks ({'; '.join(failed)}): it is left out."))
    return Section(id="results", title="What came out", blocks=blocks)


def outcome_section(measured: Measured, words: Mapping[str, str]) -> Section | None:
    """Per-task paired outcomes."""
    if not measured.paired:
        return None
    figure = Figure(
        drawing=charts.paired(measured.paired, words),
        table=tables.paired(measured.paired),
        caption="Tasks whose mean score goes up, stays or goes down with the new harness.",
    )
    tasks = Tabular(table=tables.tasks(measured.paired), shown=False)
    return Section(id="outcomes", title="Task by task", blocks=[figure, tasks])


def _rounds(facts: RunFacts) -> Section | None:
    rounds = [record for record in facts.rounds if record.get("selection", {}).get("pool")]
    if not rounds:
        return None
    epsilon = float(facts.config["epsilon"]) if "epsilon" in facts.config else None
    blocks: list[Block] = []
    if len(rounds) > 1:
        blocks.append(_evolution(facts, rounds))
    for record in rounds:
        blocks += _round(facts, record, epsilon)
    final = ((facts.result or {}).get("final") or {}).get("selection") or {}
    if final.get("pool"):
        blocks.append(
            Tabular(
                table=tables_evolution.selection(
                    "final-selection", "Final selection among the rounds' harnesses", final["pool"], final["selected"]
                )
            )
        )
    lead = (
        "Every round's pool with its gain over H_0 on the search tasks as released (Ĝ_rel) and under each archived "
        "counterfactual (Ĝ_b), what is destroyed (Δ̂_b = Ĝ_rel − Ĝ_b), and whether it keeps every constraint."
    )
    return Section(id="rounds", title="Rounds", blocks=blocks, lead=lead)


def _evolution(facts: RunFacts, rounds: Sequence[Found]) -> Figure:
    archived = {entry["round"]: entry["name"] for entry in (facts.result or {}).get("archive", ())}
    rows = [charts.selected(record) for record in rounds]
    table = tables_evolution.evolution(rounds, rows, archived)
    drawn = charts.evolution(rounds, archived)
    return Figure(drawing=drawn, table=table, caption="What each round selected, on the search tasks.")


def _round(facts: RunFacts, record: Found, epsilon: float | None) -> Iterator[Block]:
    number, chosen = record["round"], record["selection"]
    at = "" if epsilon is None else f" at ε = {epsilon:g}"
    name, title = f"selection-round-{number}", f"Round {number}: selection{at}"
    table = tables_evolution.selection(name, title, chosen["pool"], chosen["selected"])
    drawn = charts.selection(name, title, chosen["pool"], chosen["selected"], epsilon)
    destroyed = any(entry["destruction"] for entry in chosen["pool"])
    where = "left, gain destruction right" if destroyed else "as released: nothing was archived yet"
    caption = f"Round {number}: gains over H_0 {where}. ★ was selected."
    yield Figure(drawing=drawn, table=table, caption=caption)
    for refusal in chosen.get("refused", ()):
        yield Text(text=f"Refused: {refusal}")
    if (proposed := tables_evolution.candidates(chosen["pool"], facts.candidates, number)) is not None:
        yield Tabular(table=proposed, folded=True)
    challenged = record.get("challenger") or {}
    if reason := challenged.get("skipped"):
        yield Text(text=f"No Challenger in this round: {reason}")


def _counterfactuals(facts: RunFacts) -> Section | None:
    made = [
        tables_evolution.confirmations(facts.rounds),
        tables_evolution.archive((facts.result or {}).get("archive", ())),
        tables_evolution.proposals(facts.rounds),
        tables_evolution.firewall(facts),
    ]
    blocks = [Tabular(table=table, folded=table.name == "firewall") for table in made if table is not None]
    if not blocks:
        return None
    lead = (
        "Changes of the protocol that a Challenger proposed against the gain: each passes the firewall's seven checks "
        "or is refused, is tried where it was found, and is then put to the test on tasks that nobody used."
    )
    return Section(id="counterfactuals", title="Counterfactuals", blocks=blocks, lead=lead)


def harness_section(facts: RunFacts) -> Section | None:
    """What each harness changes in H_0, by component, with the lines of its texts."""
    blocks: list[Block] = []
    before: str | None = None
    for harness in facts.harnesses:
        if not harness.changes:
            continue
        if harness.hash == before:
            blocks.append(Text(text=f"{harness.name} is the same as the one before it."))
            continue
        before = harness.hash
        blocks.append(Tabular(table=tables_evolution.changes(harness, harness.name)))
        blocks += _diffs(harness)
    return Section(id="harnesses", title="What the harnesses change", blocks=blocks) if blocks else None


def _diffs(harness: HarnessFacts) -> Iterator[Listing]:
    for change in harness.changes:
        if change.lines:
            title = f"{harness.name}, {change.component}: {change.key}"
            yield Listing(title=title, lines=change.lines, diff=True, folded=True)


def _certificates(result: Found) -> Section:
    theorems, certified = result["theorems"], result["certification"]
    betting = theorems["theorem1"]["betting"]["gamma_upper"] - certified["gamma"]["value"]
    drawn = more_charts.radius(
        theorems["tasks"], theorems["archive_size"], theorems["alpha"], betting if certified["gamma"]["se"] else None
    )
    table = tables.certificates(theorems)
    sentences = [*theorems["sentences"], *(theorems["evolution"] or {"sentences": []})["sentences"]]
    conditions = "; ".join(theorems["theorem1"]["betting"]["conditions"])
    blocks: list[Block] = [
        Figure(drawing=drawn, table=table, caption="Hoeffding's radius against the number of tasks, and this run's."),
        *(Text(text=sentence) for sentence in sentences),
        Text(text=f"Conditions: {conditions}."),
        Text(text=f"Betting takes the tasks in an order that seed {theorems['seed']} decided before they were opened."),
    ]
    lead = "Bounds that hold with a stated probability, by the paper's Theorems 1 to 3 and by betting."
    return Section(id="certificates", title="Certificates", blocks=blocks, lead=lead)
