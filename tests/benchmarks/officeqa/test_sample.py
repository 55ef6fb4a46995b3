"""The synthetic sample: its shape, its layout rates, its figures and its questions, on two dozen small documents."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from chase.benchmarks.officeqa.components import components
from chase.benchmarks.officeqa.conversion import to_text
from chase.benchmarks.officeqa.layout import count_document, count_folder
from chase.benchmarks.officeqa.records import Question, read_questions
from chase.benchmarks.officeqa.releases import facts
from chase.benchmarks.officeqa.sample import writing
from chase.benchmarks.officeqa.sample.elements import elements
from chase.benchmarks.officeqa.sample.grouping import sources
from chase.benchmarks.officeqa.sample.periods import Period, editions
from chase.benchmarks.officeqa.sample.plans import Plans
from chase.benchmarks.officeqa.sample.questions import KINDS, Made, easy_questions, make_questions
from chase.benchmarks.officeqa.sample.rendering import as_parsed_json, as_text
from chase.benchmarks.officeqa.sample.shape import Shape
from chase.benchmarks.officeqa.sample.writing import write_sample
from chase.benchmarks.officeqa.splits import allocate
from chase.core.errors import UserError
from chase.core.markdown_tables import cells, is_row
from tests.benchmarks.officeqa.sample_reader import printed, tables, unit_of

FULL = Shape(release="full", documents=24, questions=60, seed=101, kilobytes=20)
PRO = Shape(release="pro-v2", documents=24, questions=12, seed=101, kilobytes=20)
SMALL = Shape(release="full", documents=6, questions=4, seed=102, kilobytes=5)


def silent(step: str) -> None:
    """Progress that nobody hears."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("officeqa") / "sample"
    write_sample(FULL, out, silent)
    write_sample(PRO, out, silent)
    return out


@pytest.fixture(scope="module")
def plans() -> Plans:
    return Plans(FULL)


@pytest.fixture(scope="module")
def made(plans: Plans) -> list[Made]:
    return make_questions(plans)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_the_published_layout_and_the_synthetic_label(folder: Path) -> None:
    names = Counter(str(name.parent) for name in map(Path, bytes_of(folder)))
    assert names == {".": 4, "treasury_bulletins_parsed/transformed": 24, "parsed_corpus/jsons": 24}
    assert all(re.fullmatch(r"treasury_bulletin_\d{4}_\d\d\.txt", f.name) for f in folder.glob("treasury*/*/*"))
    manifest = json.loads((folder / "sample.json").read_text())
    assert (manifest["synthetic"], sorted(manifest["releases"])) == (True, ["full", "pro-v2"])
    assert "made up" in " ".join((folder / "README.md").read_text().split())


@pytest.mark.parametrize("release", ["full", "pro-v2"])
def test_the_manifest_counts_what_is_there(folder: Path, release: str) -> None:
    stated = facts(folder, release)  # type: ignore[arg-type]
    questions = read_questions(folder / stated.csv, stated.name)
    files = {source for question in questions for source in question.sources}
    assert (len(questions), len(files)) == (stated.questions, stated.source_files)
    assert len(components(questions)) == stated.components
    assert files <= {file.stem for pattern in ("*/*/*.txt", "*/*/*.json") for file in folder.glob(pattern)}


def test_the_layout_rates_are_the_papers_and_every_document_has_examples(folder: Path) -> None:
    counted = count_folder(folder, silent)
    for row, percent in zip(counted.criteria, (58.1, 95.2, 67.6, 26.8), strict=True):
        assert row.rate is not None
        assert abs(100 * row.rate - percent) <= 2, row
        assert row.documents in (None, 24)


def test_the_same_seed_writes_the_same_bytes_in_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample(SMALL, tmp_path / "one", silent)
    monkeypatch.setattr(writing, "ALONE_KILOBYTES", 0)
    monkeypatch.setattr(writing, "CHUNK", 3)
    write_sample(SMALL, tmp_path / "two", silent, workers=2)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_another_seed_writes_other_figures() -> None:
    other = Plans(Shape(release="full", documents=24, questions=60, seed=102, kilobytes=20))
    assert as_text(elements(other, 0)) != as_text(elements(Plans(FULL), 0))


def test_a_folder_that_holds_something_is_refused_and_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(UserError, match="already holds something"):
        write_sample(SMALL, tmp_path, silent)
    assert bytes_of(tmp_path) == {"mine": b"kept"}
    before = bytes_of(folder)
    with pytest.raises(UserError, match="already holds release 'full'"):
        write_sample(SMALL, folder, silent)
    assert bytes_of(folder) == before


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    def stop(step: str) -> None:
        if step.startswith("document"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sample(SMALL, tmp_path / "out", stop)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_start_left_is_removed_by_the_next_and_what_another_works_in_is_not(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from tests.benchmarks.officeqa.test_sample import SMALL\n"
        "from chase.benchmarks.officeqa.sample.writing import write_sample\n"
        "def stop(step):\n"
        "    if step.startswith('document'):\n"
        "        print(step, flush=True)\n"
        "        time.sleep(600)\n"
        "write_sample(SMALL, Path(sys.argv[1]), stop)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        (working,) = tmp_path.iterdir()
        write_sample(SMALL, tmp_path / "out", silent)  # while the other works
        assert sorted(tmp_path.iterdir()) == sorted([working, tmp_path / "out"])
        process.kill()
    assert working.exists()
    shutil.rmtree(tmp_path / "out")
    write_sample(SMALL, tmp_path / "out", silent)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_release_of_which_the_manifest_says_nothing_is_refused(tmp_path: Path) -> None:
    write_sample(SMALL, tmp_path / "out", silent)
    (tmp_path / "out" / "parsed_corpus/jsons").mkdir(parents=True)
    with pytest.raises(UserError, match=r"holds parsed_corpus/jsons, of which sample\.json says nothing.*Remove it"):
        write_sample(Shape(release="pro-v2", documents=8, questions=2, seed=1, kilobytes=6), tmp_path / "out", silent)


def test_too_few_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--documents=3 is too few"):
        write_sample(Shape(release="full", documents=3, questions=1, seed=1), tmp_path / "out", silent)


OPERATIONS = {
    "what was the figure": lambda v: v[0],
    "by how much did": lambda v: v[-1] - v[0],
    "what is the sum of {item}": sum,
    "what is the arithmetic mean": lambda v: sum(v) / len(v),
    "what was the highest": max,
    "by what percentage did": lambda v: (v[-1] / v[0] - 1) * 100,
    "what percentage of the sum of {item}": lambda v: v[-1] / sum(v) * 100,
    "what is the sum of {figures}": sum,
    "what percentage of the sum of {figures}": lambda v: v[-1] / sum(v) * 100,
    "by how much does": lambda v: v[-1] - v[0],
    "by what percentage was": lambda v: (v[-1] / v[0] - 1) * 100,
}
"""By how the first wording of a kind begins."""
SCALES = {"thousands": 10**3, "millions": 10**6, "billions": 10**9}


def labels(period: Period) -> set[str]:
    return {period.column, *(period.label(style) for style in range(3))}


def test_every_answer_follows_from_what_the_documents_print(plans: Plans, made: list[Made]) -> None:
    texts = {number: as_text(elements(plans, number)) for number in range(24)}
    for question in made:
        values = [
            printed(texts[c.document], c.topic.title, c.topic.items[c.item], labels(c.period)) for c in question.cells
        ]
        (operation,) = [do for begins, do in OPERATIONS.items() if question.kind.words[0].startswith(begins)]
        asked = re.search(r"in (thousands|millions|billions) of dollars", question.text)
        exact = operation(values) / (SCALES[asked[1]] if asked else 1)
        answer = Decimal(question.answer.replace(",", "").rstrip("%"))
        step = Decimal(1).scaleb(int(answer.as_tuple().exponent))
        assert abs(answer - exact) < step / 2, question.text
        assert set(question.documents) == {cell.document for cell in question.cells}


def test_questions_are_of_many_kinds_and_name_item_period_and_document(plans: Plans, made: list[Made]) -> None:
    assert len({question.kind for question in made}) >= len(KINDS) - 2
    assert {min(len(question.documents), 3) for question in made} == {1, 2, 3}
    assert len({question.text for question in made}) == 60
    named = 0
    for question in made:
        cell = question.cells[0]
        spoken = plans.shape.all_documents[cell.document].spoken
        assert cell.topic.title in question.text
        periods = [c.period for c in question.cells]
        assert question.kind.mixed or periods == sorted(periods)
        assert cell.topic.items[cell.item].rpartition(" > ")[2] in question.text
        assert cell.period.spoken in question.text
        named += spoken in question.text
        assert spoken in question.text or len(question.documents) == 1
    assert 30 <= named < 60


def test_an_unnamed_document_is_never_needed(plans: Plans, made: list[Made]) -> None:
    """Whichever edition a reader takes, the figure that is asked for reads the same once it is rounded."""
    unnamed = [q for q in made if "Treasury Bulletin" not in q.text and q.kind is KINDS[0]]
    for question in unnamed:
        (cell,) = question.cells
        asked = re.search(r"in (thousands|millions|billions) of dollars", question.text)
        answer = Decimal(question.answer.replace(",", "").rstrip("%"))
        for number, document in enumerate(plans.shape.all_documents):
            shown = {p for t in plans.of(number) if t.topic == cell.topic and cell.item in t.items for p in t.periods}
            if cell.period in shown:
                value = plans.world.amount(cell.topic, cell.item, cell.period, document.edition)
                step = Decimal(1).scaleb(int(answer.as_tuple().exponent))
                assert abs(value / (SCALES[asked[1]] if asked else 1) - answer) <= step / 2


def test_editions_repeat_revise_and_restate_figures(plans: Plans) -> None:
    seen: dict[tuple[str, Period, str], set[Decimal]] = {}
    units: dict[str, set[str]] = {}
    for number, document in enumerate(plans.shape.all_documents):
        for table in plans.of(number):
            unit = str(plans.world.unit(table.topic, document.edition))
            units.setdefault(table.topic.code, set()).add(unit)
            for period in table.periods:
                amount = plans.world.amount(table.topic, table.items[0], period, document.edition)
                seen.setdefault((f"{table.topic.code} {table.items[0]}", period, unit), set()).add(amount)
    counts = Counter(len(amounts) for amounts in seen.values())
    assert min(counts[1], counts[2], counts[3]) > 0, counts
    assert max(len(words) for words in units.values()) > 1


def test_a_printed_figure_is_the_nearest_in_its_unit(plans: Plans) -> None:
    edition = plans.shape.all_documents[0].edition
    for table in plans.of(0):
        step = plans.world.unit(table.topic, edition).step
        exact = plans.world._value(table.topic, table.periods[-1], edition).tolist()
        shown = plans.world.printed(table.topic, table.periods[-1:], edition)[0]
        assert all(2 * abs(steps * step - value) <= step for steps, value in zip(shown, exact, strict=True))


def test_each_document_has_exactly_its_share_of_units_and_notes() -> None:
    shape = Shape(release="full", documents=4, questions=1, seed=103, kilobytes=150)
    texts = [as_text(elements(Plans(shape), number)) for number in range(4)]
    counted = [count_document(text) for text in texts]
    assert [c.tables for c in counted] == list(shape.table_counts)
    assert [c.units_before_table for c in counted] == list(shape.unit_counts)
    assert [c.unit_statements - c.units_before_table for c in counted] == list(shape.stray_counts)
    assert [c.tables_before_note for c in counted] == list(shape.note_counts)
    assert sum(shape.stray_counts) > 0
    assert any(", in " in caption for text in texts for caption, _ in tables(text))
    assert all(unit_of(found, place) for found in map(tables, texts) for place in range(len(found)))


def test_long_tables_come_in_parts_whose_unit_can_be_found(plans: Plans) -> None:
    found = [tables(as_text(elements(plans, number))) for number in range(24)]
    assert any("(Part 2 of 2)" in caption for document in found for caption, _ in document)
    assert all(unit_of(document, place) for document in found for place in range(len(document)))


def test_the_papers_size_can_be_split_as_the_paper_splits() -> None:
    shape = Shape(release="full", documents=697, questions=246, seed=101)
    groups = sources(shape)
    easy = easy_questions(shape, groups)
    questions = [
        Question(
            uid=f"U{i}",
            question=str(i),
            answer="1",
            sources=tuple(map(str, group)),
            difficulty="easy" if i in easy else "hard",
        )
        for i, group in enumerate(groups)
    ]
    assert (len(questions), len(easy), len({number for group in groups for number in group})) == (246, 113, 296)
    roles = allocate(questions)
    assert Counter(roles.values()) == {"evo": 49, "disc": 49, "conf1": 24, "conf2": 24, "conf3": 24, "cert": 76}


def test_editions_are_monthly_and_later_quarterly_as_published() -> None:
    published = editions(697, 0.0)
    assert (published[0], len(set(published))) == (12 * 1939, 697)
    assert {b - a for a, b in pairwise(published)} >= {1, 3}
    assert len(set(editions(2091, 0.5))) == 2091


def test_parsed_documents_convert_to_the_same_rows(folder: Path) -> None:
    plans = Plans(PRO)
    text = to_text(json.loads(as_parsed_json(elements(plans, 0))))
    assert (folder / "parsed_corpus" / "jsons" / f"{PRO.all_documents[0].stem}.json").read_text() == (
        as_parsed_json(elements(plans, 0))
    )
    plain = [line for line in as_text(elements(plans, 0)).split("\n") if is_row(line) and re.match(r"\| \d", line)]
    assert plain == [line for line in text.split("\n") if is_row(line) and re.match(r"\| \d", line)]
    assert "--- PAGE 2 ---" in text
    levels = [
        [cell.split(" > ") for cell in cells(line)] for line in text.split("\n") if is_row(line) and " > " in line
    ]
    headers = [cells(line) for line in as_text(elements(plans, 0)).split("\n") if is_row(line) and " > " in line]
    assert headers == [tuple(" > ".join(dict.fromkeys(path)) for path in header) for header in levels]
    assert headers
