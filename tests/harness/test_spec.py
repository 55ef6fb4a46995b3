"""The typed value: the paper's initial harness, the limits of the fields, identity."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.harness.folder import initial_harness
from chase.harness.spec import (
    COMPONENTS,
    Activation,
    Guidance,
    Harness,
    ReadOn,
    Retrieval,
    Tools,
    plain_text,
)
from chase.testing.ledger import H0
from tests.harness.samples import harnesses, texts


def test_the_initial_harness_is_the_papers_table(ledger: SynLedger) -> None:
    harness = H0
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
    assert tools.opened_files == 6
    # The harness leaves the number of results to the tool, and the tool's own is four.
    search = next(tool for tool in ledger.tools if tool.name == "search")
    assert retrieval.results is None
    assert search.parameters["properties"]["limit"]["default"] == 4


def test_the_initial_harness_belongs_to_a_benchmark_of_any_seed(ledger: SynLedger, another_seed: SynLedger) -> None:
    assert initial_harness(ledger) == initial_harness(another_seed) == H0


def test_there_are_six_components_three_on_each_track() -> None:
    assert sorted(COMPONENTS.values()) == ["guidance"] * 3 + ["structural"] * 3


@pytest.mark.parametrize("count", [0, 1001, -1])
def test_counts_are_bounded_whatever_the_benchmark(count: int) -> None:
    assert Retrieval(results=1000).results == 1000
    with pytest.raises(ValidationError):
        Retrieval(results=count)
    with pytest.raises(ValidationError):
        Tools(opened_files=count)


@pytest.mark.parametrize(
    "template",
    [
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
    with pytest.raises(ValidationError, match="a query template"):
        Retrieval(templates=(template,))


@pytest.mark.parametrize("template", ["{entity} {period}", "{periods}", "total of {question}", "no placeholder"])
def test_a_plain_template_is_taken(template: str) -> None:
    assert Retrieval(templates=(template,)).templates == (template,)


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
        replace(H0, guidance=(module, replace(module, text="y")))


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
            structure=H0.structure,
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
    one, two = (replace(H0, control_source=source) for source in ("x = 1", "  x = 1"))
    assert one.hash != two.hash


@given(harnesses, harnesses)
def test_harnesses_are_equal_exactly_when_their_hashes_are(one: Harness, two: Harness) -> None:
    assert (one == two) == (one.hash == two.hash)
    assert one.hash == replace(one).hash
