"""A tiny data folder in the published layout, with a sample's manifest, for tests that damage it."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

TRANSFORMED, JSONS = "treasury_bulletins_parsed/transformed", "parsed_corpus/jsons"
FULL_COLUMNS = ("uid", "question", "answer", "source_docs", "source_files", "difficulty")
MANIFEST = {
    "full": {"questions": 3, "documents": 3, "source_files": 2, "components": 2},
    "pro-v2": {"questions": 1, "documents": 2},
}


def make_data(folder: Path) -> Path:
    """Three questions over three bulletins, and one over two parsed statements."""
    manifest = {"schema": "chase.officeqa-sample/1", "synthetic": True, "seed": 7, "releases": MANIFEST}
    (folder / TRANSFORMED).mkdir(parents=True)
    (folder / JSONS).mkdir(parents=True)
    (folder / "sample.json").write_text(json.dumps(manifest))
    for month in (1, 2, 3):
        text = f"Bulletin of month {month}\n\n| Item | Total |\n| --- | --- |\n| Outlays | 1,{month}00.5 |\n"
        (folder / TRANSFORMED / f"treasury_bulletin_1939_{month:02}.txt").write_text(text * 20)
    for year in (1872, 1873):
        parsed = {"document": {"elements": [{"type": "text", "content": f"Statement of {year}", "bbox": []}]}}
        (folder / JSONS / f"statement-{year}.json").write_text(json.dumps(parsed))
    sources = ["treasury_bulletin_1939_01.txt", "treasury_bulletin_1939_02.txt", "treasury_bulletin_1939_02.txt"]
    rows = [
        (f"UID{n}", f"What was figure {n}?", f"{n}", "", source, "easy" if n == 1 else "hard")
        for n, source in enumerate(sources, 1)
    ]
    write_csv(folder / "officeqa_full.csv", FULL_COLUMNS, rows)
    record = "corpus_file=statement-1872.json | pdf_page_number=1 | year=1872 | month= | description=receipts"
    pro = [("PRO1", "What was stated?", "5", record)]
    write_csv(folder / "officeqa_pro_v2.csv", ("uid", "question", "answer", "source_docs"), pro)
    return folder


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def restate(folder: Path, release: str, figures: Mapping[str, int]) -> None:
    """Change what the manifest says of a release."""
    manifest = json.loads((folder / "sample.json").read_text())
    manifest["releases"][release] |= figures
    (folder / "sample.json").write_text(json.dumps(manifest))
