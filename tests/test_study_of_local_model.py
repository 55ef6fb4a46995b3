"""The study with a real model: its harnesses, how it goes on, its arithmetic. A script stands in for the model."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from studies import local_model, local_shown
from studies.local_harnesses import studied
from studies.local_model import (
    BASELINES,
    VARIANTS,
    Cell,
    Study,
    amounts_shown,
    cells_of,
    finished,
    reading_of,
    summary_of_features,
    summary_of_harnesses,
    summary_of_initial,
)
from studies.reader_scores import RESULTS

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.rollout import run_rollout
from chase.engine.sandbox import Sandbox
from chase.models.gguf import server
from chase.testing.scripted import scripted
from tests.conftest import open_once
from tests.models.gguf_files import write_gguf
from tests.models.test_gguf_file import STANDIN

CUES = (".md", "name-length", "path-depth", "extension", "shortest", "first three")


@pytest.fixture(scope="module")
def small() -> SynLedger:
    return open_once("syn-ledger-small@101")


def made_up(scores: dict[tuple[str, str], list[int]]) -> list[dict[str, Any]]:
    return [
        {"harness": harness, "variant": variant, "task": f"t{place}", "score": score, "reason": "answered"}
        for (harness, variant), values in scores.items()
        for place, score in enumerate(values)
    ]


def test_the_harnesses_differ_and_only_cheats_name_a_cue(small: SynLedger) -> None:
    found = studied(small)
    bases = {each.baseline for each in found.values()}
    kinds = {base: sorted(each.kind for each in found.values() if each.baseline == base) for base in bases}
    assert kinds == {
        "initial": [*["cheat"] * 3, *["honest"] * 3, "initial"],
        "opens-two": ["cheat", "initial"],
        "listed-two": ["cheat", "initial"],
        "not-reminded": ["honest", "initial"],
    }
    assert {*BASELINES.values()} < bases
    assert found["honest-reminder"].harness == found["initial"].harness
    assert len({each.harness.hash for each in found.values()}) == len(found) - 1
    for name, each in found.items():
        harness = each.harness
        words = f"{harness.structure} {harness.guidance} {harness.control_source}"
        assert any(cue in words for cue in CUES) == (each.kind == "cheat")
        assert ("The question again" in (harness.control_source or "")) == (name != "not-reminded")


async def test_every_harness_but_one_opens_files_without_a_fault_and_repeats_the_question(small: SynLedger) -> None:
    task, opens = small.tasks("evo")[0], {"honest-structure": 8}
    opens |= dict.fromkeys(("opens-two", "cheat-of-two", "listed-two", "cheat-over-listed"), 2)
    async with Sandbox() as sandbox:
        for name, each in studied(small).items():
            cell = Cell(seed=101, task=task, harness=name, variant="released")
            model = scripted(lambda _: "13")
            rollout, _ = await run_rollout(cell.job(small, {name: each}), model, sandbox)
            events: Any = rollout.trace["events"]
            notes = [event["text"] for event in events if event["event"] == "note"]
            assert [small.task(task).question in note for note in notes] == [True] * (name != "not-reminded")
            assert ("again" in str(model.requests[0].messages[-1])) == (name != "not-reminded")
            opened = [event for event in events if event["event"] == "tool" and event["tool"] == "open_file"]
            assert [event["ok"] for event in opened] == [True] * opens.get(name, 4)
            assert [event["failure"] for event in events if event["event"] == "hook" and event["failure"]] == []


async def test_what_is_listed_is_opened_from_a_to_z_and_the_cheat_opens_by_what_was_planted(small: SynLedger) -> None:
    opened: dict[str, list[list[str]]] = {"listed-two": [], "cheat-over-listed": []}
    found, tasks = studied(small), small.tasks("evo")[:8]
    async with Sandbox() as sandbox:
        for task, name in product(tasks, opened):
            cell = Cell(seed=101, task=task, harness=name, variant="released")
            rollout, _ = await run_rollout(cell.job(small, found), scripted(["13"]), sandbox)
            calls = [event for event in rollout.trace["events"] if event["event"] == "tool"]
            paths = [item["path"] for event in calls if event["tool"] == "search" for item in event["items"]]
            seen = [event["items"][0]["path"] for event in calls if event["tool"] == "open_file"]
            if name == "listed-two":
                assert seen == sorted(paths)[:2]
            opened[name].append(seen)
    markdown = {name: sum(path.endswith(".md") for pair in pairs for path in pair) for name, pairs in opened.items()}
    assert markdown["cheat-over-listed"] > markdown["listed-two"]


async def test_what_harnesses_show_by_themselves_is_as_the_result_says() -> None:
    found = json.loads((RESULTS / "local_shown.json").read_text())
    benchmark = open_once("syn-ledger-small@103")
    tasks = [task for split in local_shown.SPLITS for task in benchmark.tasks(split)]
    assert len(tasks) == found["tasks of each seed"]
    some = ("initial", "cheat-over-listed")
    counted = await local_shown.counts_of(benchmark, tasks, ("released",), some)
    kept = found["both amounts shown"]["syn-ledger-small@103"]
    assert counted == {name: {"released": kept[name]["released"]} for name in some}


async def test_what_was_shown_is_counted_by_the_records_of_the_files_that_were_opened(small: SynLedger) -> None:
    """Reading on in all files that the initial harness opens shows no less; a file without the records shows none."""
    found, tasks = studied(small), small.tasks("evo")[:6]
    counts: dict[str, list[int]] = {name: [] for name in ("initial", "honest-structure")}
    async with Sandbox() as sandbox:
        for task in tasks:
            for name, shown in counts.items():
                cell = Cell(seed=101, task=task, harness=name, variant="released")
                rollout, _ = await run_rollout(cell.job(small, found), scripted(["13"]), sandbox)
                shown.append(amounts_shown(small, task, rollout.trace))
                events = [event for event in rollout.trace["events"] if event.get("tool") != "open_file"]
                assert amounts_shown(small, task, {"events": events}) == 0
    assert {*counts["initial"]} <= {0, 1, 2}
    assert all(more >= fewer for more, fewer in zip(counts["honest-structure"], counts["initial"], strict=True))
    assert sum(counts["honest-structure"]) > sum(counts["initial"]) > 0


def test_a_features_loss_is_on_the_tasks_that_have_every_neutralisation() -> None:
    singly = {("initial", f"neutralise-{name}"): [1, 0] for name in ("depth", "filename", "position", "rank")}
    rows = made_up({("initial", "released"): [1, 1, 1], **singly, ("initial", "neutralise-serialization"): [1, 1]})
    found = summary_of_features(rows)
    assert {name: (each["value"], each["n"]) for name, each in found.items()} == {
        "neutralise-filename": (0.5, 2), "neutralise-depth": (0.5, 2), "neutralise-rank": (0.5, 2),
        "neutralise-position": (0.5, 2), "neutralise-serialization": (0.0, 2),
    }  # fmt: skip
    assert summary_of_features(rows[:-2]) == {}


def test_reading_is_counted_where_both_amounts_were_shown() -> None:
    rows = [
        {"harness": "initial", "variant": "released", "shown": shown, "score": score}
        for shown, score in [(2, 1), (2, 0), (1, 1), (0, 0)]
    ]
    assert reading_of(rows) == {"initial, released": {"tasks": 4, "shown": 2, "right": 1}}


async def test_finished_rollouts_are_kept_and_those_of_another_model_are_not_mixed_in(
    small: SynLedger, tmp_path: Path
) -> None:
    task, rows = small.tasks("evo")[0], tmp_path / "rows.jsonl"
    cells = cells_of(101, task, "1", studied(small))
    assert [(cell.harness, cell.variant) for cell in cells] == [("initial", "released"), ("initial", "neutral")]
    async with Sandbox() as sandbox:
        assert await Study(scripted(["13"], version="other"), sandbox, rows).run(small, cells) == 2
        assert await Study(scripted(["13"]), sandbox, rows).run(small, cells[:1]) == 1
        rows.write_text(rows.read_text() + '\n{"torn')
        again = Study(scripted(["13"]), sandbox, rows)
        assert await again.run(small, cells) == 1
    assert [row["variant"] for row in again.rows.values()] == list(VARIANTS)
    assert len(finished(rows)) == 4


def test_the_command_goes_through_all_items_and_names_the_file(
    small: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LLAMA_CPP", STANDIN)
    monkeypatch.setattr(local_model, "RESULTS", tmp_path)
    file = write_gguf(tmp_path / "tiny.gguf")
    monkeypatch.setattr("sys.argv", ["local_model", "--model", str(file), "--seeds", "101", "--tasks", "2"])
    local_model.main()
    found = json.loads((tmp_path / "local_model.json").read_text())
    assert found["model"]["sha256"] == sha256(file.read_bytes()).hexdigest()
    assert (found["seeds"], found["rollouts"], found["benchmarks"]) == ([101], 46, {small.name: small.content_hash})
    assert found["reproducible"] is False
    assert found["item 1"]["lean"]["n"] == 2
    assert [each["delta_bs"]["n"] for each in found["item 2"].values() if each["kind"] != "initial"] == [2] * 6
    assert (found["item 2"]["initial"]["r_neutral"]["n"], found["item 2n"]["cheat-of-two"]["g_0"]["n"]) == (2, 2)
    assert [each["n"] for each in found["item 1, feature by feature"].values()] == [2] * 5
    assert str(tmp_path) not in (tmp_path / "local_model.json").read_text()


def test_an_item_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["local_model", "--model", "x.gguf", "--items", "1,7"])
    with pytest.raises(SystemExit):
        local_model.main()
    assert "--items: there is no 7; write some of 1,1f,2,2n; or choose." in capsys.readouterr().err


async def test_the_command_of_one_item_keeps_the_figures_of_the_others(
    small: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_model, "open_benchmark", lambda _: small)
    task, rows, names = small.tasks("evo")[0], tmp_path / "rows.jsonl", studied(small)
    async with Sandbox() as sandbox:
        pair = cells_of(101, task, "2n", names)
        names_of_two = ["opens-two", "cheat-of-two"] * 2
        assert [(cell.harness, cell.variant) for cell in pair] == list(
            zip(names_of_two, ["released"] * 2 + ["neutral"] * 2, strict=True)
        )
        await Study(scripted(["13"]), sandbox, rows).run(small, [*cells_of(101, task, "1", names), *pair])
        await Study(scripted(["13"], version="other"), sandbox, rows).run(small, pair)
        again = Study(scripted(["13"]), sandbox, rows)
        again.take_over()
    assert len(again.rows) == 2 + 4
    found = summary_of_harnesses(list(again.rows.values()), "opens-two", names)
    assert {name: row.get("g_rel", {}).get("n") for name, row in found.items()} == {
        "opens-two": None,
        "cheat-of-two": 1,
    }


def test_gains_are_paired_by_task_and_on_whole_tasks_only(small: SynLedger) -> None:
    rows = made_up(
        {
            ("initial", "released"): [1, 0, 0, 1],
            ("initial", "neutral"): [0, 0, 1, 1],
            ("cheat-control", "released"): [1, 1, 1],
            ("cheat-control", "neutral"): [0, 0, 0],
            ("opens-two", "released"): [0],
        }
    )
    initial = summary_of_initial([row for row in rows if row["harness"] == "initial"])
    assert (initial["r_released"]["value"], initial["lean"]["value"], initial["lean"]["n"]) == (0.5, 0.0, 4)
    assert summary_of_harnesses(rows, "opens-two", studied(small)) == {}
    [(_, baseline), (name, found)] = summary_of_harnesses(rows, "initial", studied(small)).items()
    assert (baseline["r_released"]["n"], baseline["r_released"]["value"]) == (3, pytest.approx(1 / 3))
    assert (name, found["kind"], found["g_rel"]["n"]) == ("cheat-control", "cheat", 3)
    assert found["g_rel"]["value"] == pytest.approx(2 / 3)
    assert found["g_0"]["value"] == pytest.approx(-1 / 3)
    assert found["delta_bs"]["value"] == pytest.approx(1.0)
