"""An outsider's check of an exported Syn-Ledger, from the files alone. It imports nothing of the project.

Every function returns what is wrong, in words; an empty list is a sound benchmark.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

FEATURES = ("filename", "depth", "rank", "position", "serialization")
SPLITS = {"evo": 32, "disc": 32, "conf1": 16, "conf2": 16, "conf3": 16, "cert": 208}
COLUMNS = ["entity", "period", "category", "status", "version", "basis", "amount"]
AMOUNTS = {
    "period-difference": (("appropriation", 0), ("appropriation", 1)),
    "combined-total": (("capital adjustment", 0), ("operations adjustment", 0)),
    "net-balance": (("appropriation", 0), ("adjustment", 0), ("obligation", 0)),
    "integer-share": (("allocated amount", 0), ("reference total", 0)),
    "reconciliation-gap": (("reported total", 0), ("direct component", 0), ("indirect component", 0)),
}
"""What each family needs: a category, in the period that the question names first or second."""

Row = dict[str, str]


class Export:
    """The files of one `chase bench export`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks = {row["id"]: row for row in _lines(folder / "tasks.jsonl")}
        self.records: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in _lines(folder / "records.jsonl"):
            records = self.records[row["task"]][row["document"]]
            assert row["index"] == len(records)
            records.append({column: str(row[column]) for column in COLUMNS})
        self.manifest: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in _lines(folder / "manifest.jsonl"):
            self.manifest[row["task"]][row["document"]] = row

    def text(self, task: str, document: str) -> str:
        return (self.folder / "documents" / task / self.manifest[task][document]["path"]).read_bytes().decode()


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# From text to rows, one reader for each format


def read_markdown(text: str) -> list[Row]:
    rows = [re.split(r"\s*\|\s*", line.strip())[1:-1] for line in text.split("\n") if line.startswith("|")]
    assert [cell.lower() for cell in rows[0]] == COLUMNS
    assert set("".join(rows[1])) == {"-"}
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[2:]]


def read_csv(text: str) -> list[Row]:
    rows = [line.strip().split(",") for line in text.split("\n") if line.strip() and line[0] != "#"]
    assert [cell.lower() for cell in rows[0]] == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[1:]]


def read_pairs(text: str) -> list[Row]:
    blocks = re.split(r"\[[A-Za-z]+\]\s*\n", text, maxsplit=1)[1].strip().replace("\r", "").split("\n\n")
    rows = []
    for block in blocks:
        pairs = [line.split(":", 1) for line in block.split("\n")]
        assert [name.lower() for name, _ in pairs] == COLUMNS
        rows.append({name.lower(): value.strip() for name, value in pairs})
    return rows


READERS = {"md": read_markdown, "csv": read_csv, "txt": read_pairs}


# The answer


def required(task: dict[str, Any], rows: list[Row]) -> list[list[Row]]:
    """For each amount that the question needs, the rows that give it."""
    entity = task["question"].split(",")[0].removeprefix("For ")
    periods = list(dict.fromkeys(re.findall(r"FY\d+", task["question"])))
    return [
        [
            row
            for row in rows
            if [row["entity"], row["period"], row["category"]] == [entity, periods[lag], category]
            and [row["status"], row["version"], row["basis"]] == ["approved", "prevailing", "enacted"]
        ]
        for category, lag in AMOUNTS[task["family"]]
    ]


def answer(task: dict[str, Any], rows: list[Row]) -> int | None:
    """The answer that the rows give, or None if a required amount is missing, not unique or not integral."""
    found = required(task, rows)
    if any(len(rows) != 1 for rows in found):
        return None
    amounts = [int(rows[0]["amount"]) for rows in found]
    match task["family"]:
        case "period-difference":
            value = Fraction(amounts[0] - amounts[1])
        case "combined-total":
            value = Fraction(amounts[0] + amounts[1])
        case "net-balance":
            value = Fraction(amounts[0] + amounts[1] - amounts[2])
        case "integer-share":
            value = Fraction(100 * amounts[0], amounts[1])
        case "reconciliation-gap":
            value = Fraction(amounts[0] - (amounts[1] + amounts[2]))
    return int(value) if value.denominator == 1 else None


def _joined(groups: Iterable[list[Row]]) -> list[Row]:
    return [row for rows in groups for row in rows]


def check_answers(export: Export) -> list[str]:
    """Answers from records and from texts; both evidence documents needed; no answer to be seen."""
    wrong = []
    for task in export.tasks.values():
        name, documents = task["id"], export.records[task["id"]]
        texts = {document: export.text(name, document) for document in documents}
        read = {
            document: READERS[export.manifest[name][document]["path"].rsplit(".", 1)[1]](text)
            for document, text in texts.items()
        }
        if len(documents) != 12 or any(len(rows) != 6 for rows in documents.values()):
            wrong.append(f"{name}: not twelve documents of six records")
        if answer(task, _joined(documents.values())) != task["answer"]:
            wrong.append(f"{name}: the records give another answer")
        if answer(task, _joined(read.values())) != task["answer"]:
            wrong.append(f"{name}: the texts give another answer")
        for document, rows in documents.items():
            if sorted(map(str, rows)) != sorted(map(str, read[document])):
                wrong.append(f"{name}: the text of {document} does not hold its records")
            rest = _joined(rows for other, rows in documents.items() if other != document)
            if (answer(task, rest) is None) != (document in task["evidence"]):
                wrong.append(f"{name}: {document} is evidence and not needed, or needed and not evidence")
        paths = [row["path"] for row in export.manifest[name].values()]
        seen = " ".join([name, task["question"], *paths, *texts, *texts.values()])
        if str(task["answer"]) in re.findall(r"\d+", seen):
            wrong.append(f"{name}: the answer can be seen")
        if len(set(paths)) != 12 or not 10 <= task["answer"] <= 99:
            wrong.append(f"{name}: a path occurs twice, or the answer is not of two digits")
    return wrong


def check_sets(export: Export) -> list[str]:
    """Sizes of splits, families and their answers."""
    wrong = []
    tasks = list(export.tasks.values())
    if Counter(task["split"] for task in tasks) != SPLITS:
        wrong.append("the splits have other sizes")
    pools = {family: sorted(t["answer"] for t in tasks if t["family"] == family) for family in AMOUNTS}
    if any(len(set(pool)) != 64 or pool != pools["net-balance"] for pool in pools.values()):
        wrong.append("the families do not share 64 answers")
    if Counter(task["block"] for task in tasks) != dict.fromkeys(range(10), 32):
        wrong.append("not ten blocks of 32")
    for split in SPLITS:
        families = Counter(task["family"] for task in tasks if task["split"] == split)
        if len(families) != 5 or max(families.values()) - min(families.values()) > 1:
            wrong.append(f"{split}: families are uneven")
    for split, block in (("evo", 0), ("disc", 1)):
        if {task["block"] for task in tasks if task["split"] == split} != {block}:
            wrong.append(f"{split} is not block {block}")
    identifiers = [*export.tasks, *(document for documents in export.manifest.values() for document in documents)]
    if len(set(identifiers)) != 320 * 13 or not all(re.fullmatch("[a-z]+", each) for each in identifiers):
        wrong.append("an identifier occurs twice or is not opaque")
    return wrong


def levels(export: Export, task: str, document: str) -> tuple[bool, ...]:
    return tuple(export.manifest[task][document][feature] == "favorable" for feature in FEATURES)


def check_levels_are_shown(export: Export) -> list[str]:
    """What the manifest says of a document is what its path and text show."""
    wrong = []
    for name, task in export.tasks.items():
        for document, row in export.manifest[name].items():
            path = row["path"]
            stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
            shown = {
                "filename": len(stem) < 9,
                "depth": path.count("/") == 1,
                "serialization": path.endswith(".md"),
            }
            if document in task["evidence"]:
                rows = READERS[path.rsplit(".", 1)[1]](export.text(name, document))
                places = [rows.index(row) for found in required(task, rows) for row in found]
                shown["position"] = all(place < 3 for place in places)
                if not shown["position"] and any(place < 3 for place in places):
                    wrong.append(f"{name}: the block of {document} is torn apart")
            wrong += [
                f"{name}: {path} does not show {feature}"
                for feature, favorable in shown.items()
                if favorable != (row[feature] == "favorable")
            ]
    return wrong


def _evidence_and_rest(export: Export, block: int) -> tuple[list[tuple[bool, ...]], list[tuple[bool, ...]]]:
    evidence, rest = [], []
    for name, task in export.tasks.items():
        if task["block"] == block:
            for document in export.manifest[name]:
                (evidence if document in task["evidence"] else rest).append(levels(export, name, document))
    return evidence, rest


def check_neutral(export: Export) -> list[str]:
    """`B_0`: every configuration twice among evidence and ten times among distractors, opposite within a task."""
    wrong = []
    for block in range(10):
        evidence, rest = _evidence_and_rest(export, block)
        if set(Counter(evidence).values()) != {2} or len(set(evidence)) != 32:
            wrong.append(f"block {block}: evidence is unbalanced")
        if set(Counter(rest).values()) != {10} or len(set(rest)) != 32:
            wrong.append(f"block {block}: distractors are unbalanced")
    for name, task in export.tasks.items():
        first, second = (levels(export, name, document) for document in task["evidence"])
        if any(a == b for a, b in zip(first, second, strict=True)):
            wrong.append(f"{name}: evidence documents are not opposite")
    return wrong


def check_released(export: Export) -> list[str]:
    """`B_rel`: seven eighths favorable in every block and split, pairs independent in every block."""
    wrong = []
    for block in range(10):
        evidence, _ = _evidence_and_rest(export, block)
        if [sum(column) for column in zip(*evidence, strict=True)] != [56] * 5:
            wrong.append(f"block {block}: not 56 of 64 favorable")
        for j, k in combinations(range(5), 2):
            patterns = Counter((shown[j], shown[k]) for shown in evidence)
            if patterns != {(True, True): 49, (True, False): 7, (False, True): 7, (False, False): 1}:
                wrong.append(f"block {block}: {FEATURES[j]} and {FEATURES[k]} are not independent")
    for split, size in SPLITS.items():
        shown = [
            levels(export, name, document)
            for name, task in export.tasks.items()
            if task["split"] == split
            for document in task["evidence"]
        ]
        if [8 * sum(column) for column in zip(*shown, strict=True)] != [7 * 2 * size] * 5:
            wrong.append(f"{split}: not 7/8 favorable")
    return wrong


def check_same_but_for_evidence_levels(released: Export, neutral: Export) -> list[str]:
    """The two exports have the same tasks and records; distractors look the same in both."""
    wrong = []
    if released.tasks != neutral.tasks or released.records != neutral.records:
        wrong.append("the variants differ in tasks or records")
    for name, task in released.tasks.items():
        for document, row in released.manifest[name].items():
            if document not in task["evidence"] and (
                row != neutral.manifest[name][document] or released.text(name, document) != neutral.text(name, document)
            ):
                wrong.append(f"{name}: distractor {document} differs")
    return wrong


def check(released_folder: Path, neutral_folder: Path) -> list[str]:
    """Everything, for an export of `released` and one of `neutral`."""
    released, neutral = Export(released_folder), Export(neutral_folder)
    wrong = check_same_but_for_evidence_levels(released, neutral)
    for export in (released, neutral):
        wrong += [*check_answers(export), *check_sets(export), *check_levels_are_shown(export)]
    return [*wrong, *check_released(released), *check_neutral(neutral)]


if __name__ == "__main__":
    found = check(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.stdout.write("\n".join(found) + "\n" if found else "sound\n")
    sys.exit(bool(found))
