"""The typed value: the paper's initial harness, the limits of the fields, identity."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.harness.spec import (
    COMPONENTS,
    Activation,
    Guidance,
    Harness,
    ReadOn,
    Retrieval,
    Rewrite,
    Tools,
    check_template,
    initial_harness,
    plain_text,
)
from tests.harness.samples import harnesses, texts


def test_the_initial_harness_is_the_papers_table(ledger: SynLedger) -> None:
    harness = initial_harness("syn-ledger")
    retrieval, tools, control = harness.structure.retrieval, harness.structure.tools, harness.structure.control
    assert harness.prompt == (
        "Use the available tools to answer the question and return the answer in the required format."
    )
    assert (harness.memory, harness.guidance, harness.control_source) == ("", (), None)
    assert harness.structure.answer == "integer"
    assert (retrieval.templates, retrieval.rewrites, retrieval.rank) == ((), (), ())
    assert (retrieval.relax_below, retrieval.most_terms) == (0, 0)
    assert not retrieval.diverse
    assert not retrieval.drop_stop_words
    assert (tools.instructions, tools.open_first, tools.reserved_reads, tools.read_on.when) == ("", 0, 0, "never")
    assert (control.answer_when_calls_left, control.repairs) == (0, 0)
    # The harness leaves the number of results to the tool, and the tool's own is four.
    search = next(tool for tool in ledger.tools if tool.name == "search")
    assert retrieval.results is None
    assert search.parameters["properties"]["limit"]["default"] == 4


def test_the_initial_harness_belongs_to_a_benchmark_of_any_seed_and_size() -> None:
    assert initial_harness("syn-ledger@7x40") == initial_harness("syn-ledger")


def test_there_are_six_components_three_on_each_track() -> None:
    assert sorted(COMPONENTS.values()) == ["guidance"] * 3 + ["structural"] * 3


@pytest.mark.parametrize("results", [0, 13, -1])
def test_results_are_from_one_to_twelve(results: int) -> None:
    assert Retrieval(results=1).results == 1
    assert Retrieval(results=12).results == 12
    with pytest.raises(ValidationError):
        Retrieval(results=results)


@pytest.mark.parametrize("files", [0, 7])
def test_opened_files_are_from_one_to_six(files: int) -> None:
    assert Tools(opened_files=6).opened_files == 6
    with pytest.raises(ValidationError):
        Tools(opened_files=files)


def test_there_are_at_most_four_templates_rewrites_included() -> None:
    rule = Rewrite(calls_left_at_most=1, template="{entity}")
    assert len(Retrieval(templates=("{period}",) * 4).templates) == 4
    with pytest.raises(ValidationError, match="5 query templates"):
        Retrieval(templates=("{period}",) * 5)
    with pytest.raises(ValidationError, match="5 query templates"):
        Retrieval(templates=("{period}",) * 3, rewrites=(rule, rule))


@pytest.mark.parametrize(
    "template",
    [
        "{answer}",
        "{question!r}",
        "{0}",
        "{}",
        "{question.__class__}",
        "{question[0]}",
        "{question:>9}",
        "{question:}",
        "{period:{question}}",
        "{ question }",
        "{question",
        "question}",
        "{{question}}",
        "",
        "  ",
        "{entity}\n{period}",
        "a\x1b[2Jb",
    ],
)
def test_a_template_that_is_not_plain_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="a query template"):
        check_template(template)


@pytest.mark.parametrize("template", ["{entity} {period}", "{periods}", "total of {question}", "no placeholder"])
def test_a_plain_template_is_taken(template: str) -> None:
    check_template(template)


@pytest.mark.parametrize(
    "fields",
    [
        {"when": "observable"},
        {"when": "observable", "observable": "window"},
        {"when": "observable", "at_most": 1.0},
        {"when": "observable", "observable": "window", "at_most": 1.0, "at_least": 0.0},
        {"when": "never", "at_most": 1.0},
        {"when": "always", "observable": "window"},
        {"when": "observable", "observable": "window", "at_most": float("nan")},
    ],
)
def test_a_reading_rule_is_complete_and_has_nothing_idle(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ReadOn.model_validate(fields)


def test_two_modules_of_one_name_are_refused() -> None:
    module = Guidance(name="a", when=Activation(), text="x")
    with pytest.raises(UserError, match="name='a' is given twice"):
        replace(initial_harness("syn-ledger"), guidance=(module, replace(module, text="y")))


@given(texts)
def test_plain_text_is_plain_already(text: str) -> None:
    once = plain_text(text)
    assert plain_text(once) == once
    assert "\r" not in once


@given(texts, st.sampled_from(["\r\n", "\r"]), st.sampled_from(["", "\n", "\n \t\n"]))
def test_line_endings_and_outer_blank_lines_do_not_count(text: str, ending: str, blank: str) -> None:
    other = (blank + plain_text(text) + blank).replace("\n", ending)
    one, two = (
        Harness(
            structure=initial_harness("syn-ledger").structure,
            prompt=t,
            memory=t,
            guidance=(Guidance(name="a", when=Activation(), text=t),),
            control_source=t,
        )
        for t in (text, other)
    )
    assert one.hash == two.hash
    assert one == two


def test_indentation_of_the_first_line_counts() -> None:
    one, two = (replace(initial_harness("syn-ledger"), control_source=source) for source in ("x = 1", "  x = 1"))
    assert one.hash != two.hash


@given(harnesses, harnesses)
def test_harnesses_are_equal_exactly_when_their_hashes_are(one: Harness, two: Harness) -> None:
    assert (one == two) == (one.hash == two.hash)
    assert one.hash == replace(one).hash
