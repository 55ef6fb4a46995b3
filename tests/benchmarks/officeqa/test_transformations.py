"""OfficeQA's transformations: the paper's two exactly, orders of results, inverses, and the paper's screening."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from chase.benchmarks.corpus.index import Hit, words
from chase.benchmarks.corpus.library import order_results
from chase.benchmarks.corpus.protocol import ResultOrder
from chase.benchmarks.officeqa.benchmark import open_officeqa
from chase.benchmarks.officeqa.operators import ALLOWLIST
from chase.benchmarks.officeqa.protocol import Protocol
from chase.core.agents import Draft
from chase.engine.processes import _packed, _Unpacker
from chase.protocol.example import example_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import parse_for
from chase.protocol.screening import screen_drafts
from chase.protocol.transformation import OperatorList
from tests.benchmarks.officeqa.offices import office, sample


def transformation(*operators: tuple[str, dict[str, Any]]) -> OperatorList[Protocol]:
    forms = [{"name": name, "arguments": arguments} for name, arguments in operators]
    return parse_for(office(), {"benchmark": "officeqa", "operators": forms, "seed": 7}).transformation


def answers(changed: OperatorList[Protocol]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A search, a reading and a listing under a transformation, as JSON."""
    benchmark = office()
    environment = benchmark.environment(benchmark.tasks("evo")[0], changed)
    search = environment.call("search", {"query": "total receipts", "match": "any", "limit": 10})
    read = environment.call("read", {"document": benchmark.full.corpus.ids[0], "start": 3, "end": 30})
    listing = environment.call("list_documents", {"contains": "treasury"})
    searched, opened, listed = (json.loads(result.text) for result in (search, read, listing))
    return searched, opened, listed


def test_the_papers_first_transformation_moves_the_text_of_search_results_and_nothing_else() -> None:
    """Φ_b1: `text` into `table_context.content`, `table_context.placement` = "before", `text` removed."""
    before, after = answers(transformation()), answers(transformation(("wrap-text", {})))
    assert len(before[0]["results"]) == 10
    expected = []
    for result in before[0]["results"]:
        moved = dict(result)
        text = moved.pop("text")
        moved["table_context"] = {"content": text, "placement": "before"}
        expected.append(moved)
    assert after[0] == {**before[0], "results": expected}
    assert after[1:] == before[1:], "readings and listings are unchanged"


def test_the_papers_second_transformation_moves_boundaries_ten_lines_later() -> None:
    benchmark = office()
    id_ = max(benchmark.full.corpus.ids, key=lambda id_: benchmark.full.corpus.line_counts[id_])
    count = benchmark.full.corpus.line_counts[id_]
    released, shifted = (
        {item["lines"]: item["text"] for item in _all_passages(id_, changed)}
        for changed in (transformation(), transformation(("shift-passages", {"by": 10})))
    )
    assert list(released)[:2] == ["1-40", "41-80"]
    assert list(shifted)[:2] == ["1-50", "51-90"]
    for passages in (released, shifted):
        assert "\n".join(passages.values()) == "\n".join(benchmark.full.corpus.lines(id_))
        assert list(passages)[-1].endswith(f"-{count}")


def _all_passages(document: str, changed: OperatorList[Protocol]) -> list[dict[str, Any]]:
    """The passages of a document as a search shows them, in the order of their lines."""
    benchmark = office()
    _, library = benchmark.full.under(changed)
    every = " ".join(set(words("\n".join(benchmark.full.corpus.lines(document)))))
    hits = [hit for hit in library.search(every, match="any", limit=1000)[0] if hit.document == document]
    environment = benchmark.environment(benchmark.tasks("evo")[0], changed)
    shown = [environment.show_hit(hit, 0, 1).fields for hit in hits]  # type: ignore[attr-defined]
    return sorted(shown, key=lambda fields: fields["passage"])  # type: ignore[no-any-return]


EIGHT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("wrap-text", {}),
    ("shift-passages", {"by": 10}),
    ("order-results", {"among": "ties", "way": "permuted"}),
    ("rename-documents", {"style": "opaque"}),
    ("alias-tools", {"words": "library"}),
    ("rename-fields", {"words": "desk"}),
    ("move-units", {"to": "after"}),
    ("order-listing", {"way": "reversed"}),
)


def test_of_the_papers_eight_proposals_the_seeded_permutation_of_results_is_inactive() -> None:
    """Seven are accepted; the permutation is valid and leaves the order as it is, so it is excluded as inactive."""
    benchmark = office()
    drafts = [
        Draft(form={"benchmark": "officeqa", "operators": [{"name": name, "arguments": arguments}], "seed": 7})
        for name, arguments in EIGHT
    ]
    screened = screen_drafts(ProtocolKit(benchmark), drafts, archived=[], discovery=benchmark.tasks("disc")[:2])
    assert [s.verdict for s in screened] == ["valid", "valid", "inactive", *["valid"] * 5]
    assert screened[2].firewall is not None
    assert screened[2].firewall.valid, "it violates nothing"


def test_ties_are_permuted_among_themselves_and_a_page_altogether() -> None:
    hits = [Hit(name, 1, 1, 40, score) for name, score in (("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 0.5))]
    none = ResultOrder()

    def order(ties: ResultOrder = none, page: ResultOrder = none) -> str:
        return "".join(hit.document for hit in order_results(hits, ties, page))

    assert order() == "abcde"
    assert order(ties=ResultOrder(reversed=True)) == "adcbe"
    assert order(page=ResultOrder(reversed=True)) == "edcba"
    ties = {order(ties=ResultOrder(seed=seed)) for seed in range(1, 40)}
    assert ties == {"abcde", "abdce", "acbde", "acdbe", "adbce", "adcbe"}
    assert len({order(page=ResultOrder(seed=seed)) for seed in range(1, 40)}) > 20


@pytest.mark.parametrize("kind", sorted(ALLOWLIST))
def test_what_can_be_undone_is_undone(kind: str) -> None:
    released = office().full.released
    started = transformation(("move-units", {"to": "after"}), ("order-results", {"among": "page", "way": "permuted"}))
    for operator in ALLOWLIST[kind].forms():
        for state in (released, started.apply(released)):
            changed = operator.apply(state, seed=5)
            inverse = operator.inverse()
            if inverse is not None:
                assert inverse.apply(changed, seed=5) == state, f"{kind} {operator.arguments}"


IRREVERSIBLE = {"rename-documents", "restyle-tables", "cut-passages"}


def test_all_but_a_few_kinds_have_inverses() -> None:
    without = {name for name, kind in ALLOWLIST.items() if all(form.inverse() is None for form in kind.forms())}
    assert without == IRREVERSIBLE


def test_names_that_say_nothing_have_no_figures() -> None:
    for style in ("opaque", "counted"):
        names = [held.name for held in transformation(("rename-documents", {"style": style})).apply(
            office().full.released).documents]  # fmt: skip
        assert len(set(names)) == len(names)
        assert len({len(name) for name in names}) == 1
        assert not any(c.isdigit() for name in names for c in name)


def test_results_of_every_vocabulary_and_group_say_the_same() -> None:
    before = answers(transformation())[0]["results"]
    changed = transformation(("rename-fields", {"words": "desk"}), ("nest-fields", {"group": "position"}))
    after = answers(changed)[0]["items"]
    assert after[0] == {
        "source": before[0]["document"],
        "file": before[0]["name"],
        "position": {"passage": before[0]["passage"], "range": before[0]["lines"]},
        "body": before[0]["text"],
    }


def test_a_table_style_needs_no_other_index() -> None:
    """It changes neither a word nor a line, so a search finds the same passages."""
    compact = transformation(("restyle-tables", {"style": "compact"}))
    found = [answers(changed)[0]["results"] for changed in (transformation(), compact)]
    assert [(item["document"], item["lines"]) for item in found[0]] == [
        (item["document"], item["lines"]) for item in found[1]
    ]
    assert any("| --- |" in item["text"] for item in found[0])
    assert not any("| --- |" in item["text"] for item in found[1])


def test_transformations_are_sent_to_worker_processes() -> None:
    """A worker opens the benchmark for itself and reads the transformation by the names of the allowlist."""
    sent = transformation(("wrap-text", {}), ("order-results", {"among": "page", "way": "permuted"}))
    packed = _packed(sent, office())
    assert packed is not None
    assert _Unpacker(BytesIO(packed), open_officeqa("officeqa", sample())).load() == sent


def test_an_example_shows_what_the_papers_first_transformation_does() -> None:
    """A search for all words of a question finds nothing; the example's is for any of them."""
    (change,) = example_of(office(), office().variant("paper-b1")).changes
    assert change.call.arguments["match"] == "any"
    assert '"table_context"' not in change.before
    assert '"table_context": {"content":' in change.after
