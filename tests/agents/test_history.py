"""The history tree that agents read, and what reading a trace makes of decisions."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.agents.history import History, HistoryWriter, mark_of
from chase.agents.history_index import outcome_class
from chase.agents.reading import Decision, opening_lean, ranks, read_trace, reading_lean
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.observables import OBSERVABLES
from chase.core.values import Sighting
from chase.harness.spec import Activation, Guidance
from chase.testing.scripted import call
from tests.engine.rollouts import follow, make_harness, make_job

HARNESS = make_harness(
    source="def should_stop(state):\n    return False\n",
    guidance=(Guidance(name="late", when=Activation(calls_left_at_most=3), text="Hurry."),),
    memory="Be careful.",
    retrieval={"templates": ["{entity} {periods}"]},
)
SCORES = {"task-a": (1.0, 1.0), "task-b": (1.0, 0.0), "task-c": (0.0, 0.0)}
REASONS = {"task-a": ("answered", "answered"), "task-b": ("answered", "no-answer"), "task-c": ("step-limit",) * 2}
TRACES = {
    (task, index): {
        "task": task,
        "question": f"What of {task}?",
        "events": [{"event": "model", "text": "", "calls": []}],
        "answer": "12" if REASONS[task][index] == "answered" else None,
        "reason": REASONS[task][index],
        "score": SCORES[task][index],
    }
    for task in SCORES
    for index in range(2)
}


def fill(root: Path) -> HistoryWriter:
    """A tree with something of everything."""
    tree = HistoryWriter(root)
    tree.add_harness("H0", make_harness(), {})
    tree.add_harness("r1-structural", HARNESS, {"edits": ["one"], "from": "H0"})
    for harness in ("H0", "r1-structural"):
        tree.add_scores(harness, "released", SCORES, REASONS, TRACES)
    tree.add_entry("b1", {"name": "b1", "touched": {"depth": 2.0}})
    tree.add_round({"round": 1, "selected": "r1-structural"})
    return tree


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


# The tree


def test_the_tree_holds_what_its_description_says_and_no_more(tmp_path: Path) -> None:
    fill(tmp_path / "tree")
    found = set(files(tmp_path / "tree"))
    names = ["harness.toml", "prompt.md", "candidate.json"]
    assert found == {
        "scores.jsonl",
        "tasks.jsonl",
        "index.jsonl",
        "rounds.jsonl",
        "archive/b1.json",
        *(f"harnesses/H0/{name}" for name in names),
        *(f"harnesses/r1-structural/{name}" for name in [*names, "memory.md", "control.py", "guidance/late.md"]),
        *(
            f"traces/{harness}/released/{task}-{index}.jsonl"
            for harness in ("H0", "r1-structural")
            for task, index in TRACES
        ),
    }


def test_a_line_of_scores_has_what_is_named_here(tmp_path: Path) -> None:
    fill(tmp_path / "tree")
    first = json.loads((tmp_path / "tree/scores.jsonl").read_text().splitlines()[1])
    assert first == {
        "harness": "H0",
        "variant": "released",
        "task": "task-b",
        "scores": [1.0, 0.0],
        "mark": "unstable",
        "reasons": ["answered", "no-answer"],
    }


@pytest.mark.parametrize(
    ("scores", "mark"),
    [
        ((1.0, 1.0), "stable success"),
        ((1.0,), "stable success"),
        ((1.0, 0.0), "unstable"),
        ((0.0, 0.5, 1.0), "unstable"),
        ((0.0, 0.0), "stable failure"),
        ((0.9, 0.5), "stable failure"),
    ],
)
def test_marks(scores: tuple[float, ...], mark: str) -> None:
    assert mark_of(scores) == mark


def test_an_agent_reads_what_the_host_wrote(tmp_path: Path) -> None:
    history = History(fill(tmp_path / "tree").root)
    assert history.harnesses() == ["H0", "r1-structural"]
    assert history.harness("r1-structural") == HARNESS
    assert history.harness("r1-structural").hash == HARNESS.hash
    assert history.record("r1-structural") == {"edits": ["one"], "from": "H0"}
    assert [line.mark for line in history.scores[:3]] == ["stable success", "unstable", "stable failure"]
    assert history.means(["H0"], "released") == {"H0": 0.5}
    assert history.means(["H0"], "b1") == {}
    assert [path for path, _ in history.traces("H0", "released")] == [
        f"traces/H0/released/{task}-{index}.jsonl" for task, index in sorted(TRACES)
    ]
    assert dict(history.traces("H0", "released"))["traces/H0/released/task-b-1.jsonl"] == TRACES["task-b", 1]
    assert history.archive() == {"b1": {"name": "b1", "touched": {"depth": 2.0}}}
    assert history.rounds() == [{"round": 1, "selected": "r1-structural"}]


def test_adding_the_same_scores_again_changes_nothing(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    before = files(tree.root)
    assert tree.has_scores("H0", "released", "task-a")
    assert not tree.has_scores("H0", "released", "task-z")
    assert not tree.has_scores("H0", "b1", "task-a")
    tree.add_scores("H0", "released", SCORES, REASONS, TRACES)
    tree.add_harness("H0", make_harness(), {})
    assert files(tree.root) == before


def test_a_second_batch_of_tasks_is_added_and_what_it_repeats_is_not_doubled(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    before = files(tree.root)
    scores = {"task-c": (1.0, 1.0), "task-d": (1.0, 0.0)}
    reasons = dict.fromkeys(scores, ("answered", "answered"))
    tree.add_scores("H0", "released", scores, reasons, {(task, 0): trace(answer=task) for task in scores})
    after = files(tree.root)
    assert after["scores.jsonl"].splitlines()[:-1] == before["scores.jsonl"].splitlines()
    assert json.loads(after["scores.jsonl"].splitlines()[-1])["task"] == "task-d"
    assert after.keys() - before.keys() == {"traces/H0/released/task-d-0.jsonl"}
    assert after["traces/H0/released/task-c-0.jsonl"] == before["traces/H0/released/task-c-0.jsonl"]


def test_harnesses_are_compared_on_the_tasks_that_both_met(tmp_path: Path) -> None:
    """`H0` also met a task that it always fails; the other was never there."""
    tree = fill(tmp_path / "tree")
    tree.add_scores("H0", "released", {"task-d": (0.0,)}, {"task-d": ("answered",)}, {})
    for name, score in (("H0", 0.5), ("r1-structural", 0.0)):
        tree.add_scores(
            name, "b1", {"task-a": (score,), "task-d": (1.0,)}, dict.fromkeys(("task-a", "task-d"), ("",)), {}
        )
    history = History(tree.root)
    assert history.means(["H0"], "released") == {"H0": 0.375}
    assert history.gain("r1-structural", "H0") == 0.0
    assert history.gain("r1-structural", "nobody") is None
    assert history.destruction("r1-structural", "H0", "b1") == 0.5  # on task-a alone
    assert history.destruction("r1-structural", "H0", "b2") is None


def test_a_resumed_writer_ends_with_the_same_tree(tmp_path: Path) -> None:
    """The run goes through its rounds again: no line stands twice and none is missing."""
    before = files(fill(tmp_path / "tree").root)
    interrupted = HistoryWriter(tmp_path / "tree")
    interrupted.add_scores("H0", "released", SCORES, REASONS, TRACES)
    assert files(fill(tmp_path / "tree").root) == before


def test_a_writer_that_was_killed_while_an_agent_read_can_be_resumed(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    before = files(tree.root)
    tree.read_only().__enter__()
    assert files(fill(tmp_path / "tree").root) == before


def test_nothing_in_the_tree_is_writable_while_an_agent_reads(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    with tree.read_only() as root:
        assert root == tree.root
        for path in [root, *root.rglob("*")]:
            assert not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH), path
        if os.geteuid() != 0:  # root may write anything
            with pytest.raises(PermissionError):
                (root / "scores.jsonl").write_text("")
    tree.add_round({"round": 2})


def test_the_tree_is_writable_again_if_the_agent_fails(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    with pytest.raises(RuntimeError), tree.read_only():
        raise RuntimeError
    tree.add_round({"round": 2})


def test_a_link_that_an_agent_leaves_leads_nowhere(tmp_path: Path) -> None:
    """Permissions of what it points to are not touched, and one that points to nothing stops nobody."""
    outside = tmp_path / "outside"
    outside.write_text("not of the tree")
    outside.chmod(0o444)
    tree = fill(tmp_path / "tree")
    (tree.root / "traces" / "link").symlink_to(outside)
    (tree.root / "traces" / "broken").symlink_to(tmp_path / "nowhere")
    with tree.read_only():
        assert stat.S_IMODE(outside.stat().st_mode) == 0o444
    HistoryWriter(tree.root)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o444


# The index


def test_a_trace_has_an_event_a_line_and_is_read_back_whole(tmp_path: Path) -> None:
    tree = HistoryWriter(tmp_path / "tree")
    made = trace(searched(1, "a"), opened("a"), {"event": "note", "text": "two\nlines\u2028and more"})
    tree.add_scores("H0", "released", {"t": (1.0,)}, {"t": ("answered",)}, {("t", 0): made})
    lines = (tree.root / "traces/H0/released/t-0.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["start", "tool", "tool", "note", "end"]
    assert json.loads(lines[0]) == {"event": "start", "task": "t", "question": "What?"}
    assert json.loads(lines[-1]) == {"event": "end", "answer": "12", "reason": "answered", "score": 1.0}
    assert dict(History(tree.root).traces("H0", "released")) == {"traces/H0/released/t-0.jsonl": made}


def test_the_index_says_what_was_done_in_a_rollout_and_what_came_of_it(tmp_path: Path) -> None:
    events = [
        {**searched(1, "a", "b"), "arguments": {"query": "harbor", "limit": 4}},
        {**searched(0), "arguments": {"query": "x" * 300}},
        {**searched(1, "b"), "arguments": {"text": "harbor", "match": "any"}},
        listed("a", "b"),
        opened("a"),
        opened("b"),
        opened("a", 1),
        {**opened("c"), "ok": False},
    ]
    tree = HistoryWriter(tmp_path / "tree")
    made = {("t", 0): trace(*events, answer="7"), ("t", 1): trace(answer=None, reason="step-limit")}
    tree.add_scores("H0", "b1", {"t": (0.0, 0.0)}, {"t": ("answered", "step-limit")}, made)
    first, second = (json.loads(line) for line in (tree.root / "index.jsonl").read_text().splitlines())
    assert first == {
        "harness": "H0",
        "variant": "b1",
        "task": "t",
        "rollout": 0,
        "score": 0.0,
        "outcome": "wrong",
        "answer": "7",
        "calls": 8,
        "refused": 1,
        "queries": ["harbor", "x" * 200 + "…", {"text": "harbor", "match": "any"}],
        "opened": ["a.md", "b.md"],
        "read_on": ["a.md"],
        "trace": "traces/H0/b1/t-0.jsonl",
    }
    assert (second["outcome"], second["answer"], second["trace"]) == ("step-limit", None, "traces/H0/b1/t-1.jsonl")


@pytest.mark.parametrize(
    ("score", "reason", "outcome"),
    [
        (1.0, "answered", "correct"),
        (0.5, "answered", "partly correct"),
        (0.0, "answered", "wrong"),
        (0.0, "no-answer", "no-answer"),
        (0.0, "context-limit", "context-limit"),
    ],
)
def test_outcome_classes_follow_from_score_and_reason_alone(score: float, reason: str, outcome: str) -> None:
    assert outcome_class(score, reason) == outcome


def test_a_summary_has_every_task_with_all_its_scores(tmp_path: Path) -> None:
    tree = fill(tmp_path / "tree")
    tree.add_scores("H0", "b1", {"task-b": (0.0, 0.0)}, {"task-b": ("answered",) * 2}, {})
    lines = [json.loads(line) for line in (tree.root / "tasks.jsonl").read_text().splitlines()]
    assert [line["task"] for line in lines] == ["task-a", "task-b", "task-c"]
    assert lines[1] == {
        "task": "task-b",
        "question": "What of task-b?",
        "scores": {"H0": {"released": [1.0, 0.0], "b1": [0.0, 0.0]}, "r1-structural": {"released": [1.0, 0.0]}},
    }


# Decisions in traces


def searched(coverage: int, *documents: str) -> dict[str, Any]:
    items = [
        {"id": d, "path": f"{d}.md", "hit": place, "matches": place < coverage, "line": f"{d}.md"}
        for place, d in enumerate(documents)
    ]
    return tool("search", items, coverage=coverage)


def listed(*documents: str) -> dict[str, Any]:
    items = [{"id": d, "path": f"{d}.md", "listing": n, "line": f"{d}.md"} for n, d in enumerate(documents)]
    return tool("list_files", items)


def opened(document: str, window: int = 0) -> dict[str, Any]:
    item = {"id": document, "path": f"{document}.md", "window": window, "line": f"text {window} of {document}"}
    return tool("open_file", [item], head=f"{document}.md:")


def tool(name: str, items: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    event = {"event": "tool", "by": "model", "tool": name, "arguments": {}, "ok": True, "head": ""}
    return {**event, "items": items, **more}


def trace(*events: dict[str, Any], answer: str | None = "12", reason: str = "answered") -> dict[str, Any]:
    head = {"task": "t", "question": "What?"}
    return {**head, "events": list(events), "answer": answer, "reason": reason, "score": 1.0}


def decisions(*events: dict[str, Any]) -> list[tuple[str, str, set[str], bool]]:
    found = read_trace(trace(*events)).decisions
    return [(d.kind, d.document, {shown.id for shown in d.options}, d.taken) for d in found]


def test_a_document_is_opened_among_those_that_match_alike() -> None:
    result = searched(2, "a", "b", "c", "d")
    assert decisions(result, opened("b")) == [("open", "b", {"a", "b"}, True)]
    assert decisions(result, opened("c")) == [("open", "c", {"c", "d"}, True)]


def test_an_opened_document_is_no_option_any_more() -> None:
    found = decisions(searched(0, "a", "b", "c"), opened("a"), opened("c"), opened("b"))
    assert [d for d in found if d[0] == "open"] == [
        ("open", "a", {"a", "b", "c"}, True),
        ("open", "c", {"b", "c"}, True),
        ("open", "b", {"b"}, True),
    ]


def test_a_match_of_any_search_counts_and_a_listing_adds_options() -> None:
    events = [searched(1, "a", "b"), searched(1, "c", "a"), listed("a", "b", "c", "d")]
    assert decisions(*events, opened("c")) == [("open", "c", {"a", "c"}, True)]
    assert decisions(*events, opened("d")) == [("open", "d", {"b", "d"}, True)]


def test_a_document_that_was_never_shown_is_an_option_once_it_is_opened() -> None:
    assert decisions(opened("a")) == [("open", "a", {"a"}, True)]


def test_reading_on_is_taken_where_the_next_window_is_of_the_same_document() -> None:
    found = decisions(listed("a", "b"), opened("a"), opened("a", 1), opened("b"))
    assert found == [
        ("open", "a", {"a", "b"}, True),
        ("read on", "a", {"a", "b"}, True),
        ("open", "b", {"b"}, True),
    ]


def test_reading_on_is_not_taken_where_another_document_follows() -> None:
    found = decisions(listed("a", "b"), opened("a"), searched(0, "b"), opened("b"), opened("a", 1))
    assert [d for d in found if d[0] == "read on"] == [
        ("read on", "a", {"a", "b"}, False),
        ("read on", "b", {"a", "b"}, False),
    ]


def test_whether_the_last_document_was_to_be_read_on_cannot_be_told() -> None:
    assert [d[0] for d in decisions(opened("a"))] == ["open"]


def test_refused_calls_and_other_events_decide_nothing() -> None:
    refused = {**opened("b"), "ok": False}
    reading = read_trace(trace({"event": "model", "text": ""}, listed("a", "b"), refused, opened("a")))
    assert [(d.kind, d.document) for d in reading.decisions] == [("open", "a")]
    assert reading.opened == ("a",)
    assert set(reading.seen) == {"a", "b"}


def test_what_was_seen_is_kept_as_it_was_seen() -> None:
    reading = read_trace(
        trace(searched(1, "b", "a"), searched(0, "a"), listed("a", "b"), opened("a"), opened("a", 1), opened("b"))
    )
    assert reading.seen["a"] == Sighting(id="a", path="a.md", listing=0, hit=0, window=0, text="text 0 of a")
    assert reading.seen["b"].hit == 0
    assert reading.opened == ("a", "b")
    assert reading.unfinished == {"b"}
    assert reading.coverages == (1, 0)


def test_the_fields_of_a_structured_result_are_kept_as_the_best_hit_showed_them() -> None:
    def found(place: int, year: int) -> dict[str, Any]:
        return tool("find", [{"id": "a", "path": "a", "hit": place, "fields": {"year": year}}], coverage=0)

    listing = tool("list", [{"id": d, "path": d, "listing": n, "fields": {"year": n}} for n, d in enumerate("ab")])
    read = tool("read", [{"id": "a", "path": "a", "window": 0, "fields": {"body": "x"}, "text_field": "body"}])
    seen = read_trace(trace(listing, found(3, 2003), found(1, 2001), found(2, 2002), read)).seen
    assert seen["a"] == Sighting(id="a", path="a", listing=0, hit=1, window=0, text="x", fields={"year": 2001})
    assert seen["b"] == Sighting(id="b", path="b", listing=1, fields={"year": 1})


@pytest.mark.parametrize(
    ("answer", "reason", "answered"),
    [
        ("12", "answered", True),
        ("−1,234", "answered", True),
        ("twelve", "answered", False),
        (None, "step-limit", False),
        ("12", "time-limit", False),
    ],
)
def test_answered_is_an_answer_in_the_required_form(answer: str | None, reason: str, answered: bool) -> None:
    form = SynLedger.answer_form.pattern
    assert read_trace(trace(answer=answer, reason=reason), form).answered is answered


@pytest.mark.parametrize(("answer", "answered"), [("twelve\nor so", True), (" \n", False), ("", False), (None, False)])
def test_without_a_form_any_words_are_an_answer(answer: str | None, answered: bool) -> None:
    assert read_trace(trace(answer=answer)).answered is answered


async def test_a_real_trace_is_read_as_the_tools_showed_it(ledger: SynLedger) -> None:
    task = ledger.tasks("evo")[0]
    shown = {s.id: s for s in ledger.sightings(task, ledger.variant("released"))}
    document = sorted(shown)[3]
    script = [call("list_files"), call("open_file", file=document), call("open_file", file=document), "1"]
    rollout, _ = await follow(make_job(ledger, task=task), script)
    reading = read_trace(rollout.trace)
    assert {d: s.listing for d, s in reading.seen.items()} == {d: s.listing for d, s in shown.items()}
    assert reading.seen[document].text == shown[document].text
    assert [(d.kind, d.taken, len(d.options)) for d in reading.decisions] == [("open", True, 12), ("read on", True, 12)]


# Lean

PLACE = OBSERVABLES["listing-position"]


def at(*places: int) -> tuple[Sighting, ...]:
    return tuple(Sighting(id=f"d{place}", path=f"d{place}.md", listing=place, listing_of=12) for place in places)


def chose(document: str, *places: int, taken: bool = True) -> Decision:
    return Decision(kind="open", document=document, options=at(*places), taken=taken)


def test_ranks_go_from_0_to_1_and_need_a_difference() -> None:
    assert ranks(PLACE, at(0, 3, 9)) == {"d0": 0.0, "d3": 0.5, "d9": 1.0}
    assert ranks(PLACE, at(4)) == {}
    assert ranks(PLACE, [Sighting(id="a", path="a"), Sighting(id="b", path="b")]) == {}


def test_opening_leans_to_the_low_or_the_high_side_of_what_could_be_opened() -> None:
    assert opening_lean(PLACE, [chose("d0", 0, 1, 2)]) == -0.5
    assert opening_lean(PLACE, [chose("d2", 0, 1, 2)]) == 0.5
    assert opening_lean(PLACE, [chose("d1", 0, 1, 2)]) == 0.0
    assert opening_lean(PLACE, [chose("d0", 0, 1), *[chose("d1", 0, 1)] * 3]) == 0.25


def test_reading_on_leans_to_the_side_of_what_was_read_on_against_what_was_left() -> None:
    low, high = chose("d0", 0, 1), chose("d1", 0, 1)
    assert reading_lean(PLACE, [low, replace(high, taken=False)]) == -0.25
    assert reading_lean(PLACE, [replace(low, taken=False), high]) == 0.25


@pytest.mark.parametrize("taken", [True, False])
def test_who_always_or_never_reads_on_leans_on_nothing(taken: bool) -> None:
    """Whatever it opens: else an honest harness that reads on would be taken for one that looks at the cue."""
    decisions = [chose("d0", 0, 1, 2, taken=taken), chose("d0", 0, 1, 2, taken=taken)]
    assert reading_lean(PLACE, decisions) == 0.0
    assert reading_lean(PLACE, [*decisions, chose("d2", 0, 1, 2, taken=taken)]) == pytest.approx(0.0)


def test_there_is_no_lean_where_no_decision_could_show_one() -> None:
    for lean in (opening_lean, reading_lean):
        assert lean(PLACE, []) is None
        assert lean(PLACE, [chose("d0", 0)]) is None
