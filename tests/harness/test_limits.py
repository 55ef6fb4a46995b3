"""Whether a harness fits a benchmark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import UserError
from chase.core.observables import OBSERVABLES
from chase.core.values import (
    AnswerForm,
    HarnessBounds,
    Limits,
    MatchArgument,
    Placeholder,
    SearchTool,
    ToolInterface,
)
from chase.harness import spec
from chase.harness.limits import check_for_benchmark, exceeds
from chase.testing.ledger import H0

RULE = spec.Rewrite(searches_left_at_most=1, template="{entity}")


def harness_with(**structure: Any) -> spec.Harness:
    fields = {"benchmark": "syn-ledger", **structure}
    return replace(H0, structure=spec.Structure(**fields))


def refusal(harness: spec.Harness, benchmark: Any) -> str:
    with pytest.raises(UserError) as caught:
        check_for_benchmark(harness, benchmark, where="runs/h1")
    return str(caught.value)


def other_benchmark(**changes: Any) -> SimpleNamespace:
    """A benchmark with fewer observables, calls and tools than Syn-Ledger."""
    limits = Limits(
        total_calls=4, group_calls={"open": 2}, tool_groups={}, steps=8, context_tokens=1000, wall_seconds=60.0
    )
    known = {
        "name": "documents@1",
        "base": "documents",
        "observables": [OBSERVABLES["window"]],
        "tools": (),
        "interface": ToolInterface(),
        "limits": limits,
        "bounds": HarnessBounds(results=8, opened=2, reserved_reads=1, templates=2),
        "placeholders": {"subject": Placeholder(description="what is asked about")},
        "answer_form": AnswerForm(name="text", instruction="", repair="", pattern=".*"),
    }
    return SimpleNamespace(**{**known, **changes})


def test_the_initial_harness_fits_syn_ledger_of_any_seed(ledger: SynLedger) -> None:
    check_for_benchmark(H0, ledger)


def test_a_harness_at_every_limit_fits_syn_ledger(ledger: SynLedger) -> None:
    retrieval = spec.Retrieval(
        results=12,
        templates=("{entity} {period}", "{periods}", "{question}"),
        rewrites=(spec.Rewrite(searches_left_at_most=1, template="{entity}"),),
        rank=tuple(spec.Preference(observable=observable.name, prefer="low") for observable in ledger.observables),
    )
    read_on = spec.ReadOn(when="observable", observable="line-count", at_most=3)
    tools = spec.Tools(opened_files=6, reserved_reads=5, open_first=6, read_on=read_on, instructions="x" * 4000)
    module = spec.Guidance(name="late", when=spec.Activation(opened_at_least=6), text="Read on.")
    harness = replace(harness_with(retrieval=retrieval, tools=tools), guidance=(module,))
    check_for_benchmark(harness, ledger)


def test_a_harness_of_another_benchmark_is_refused(ledger: SynLedger) -> None:
    sentence = refusal(harness_with(benchmark="officeqa"), ledger)
    assert sentence.startswith("benchmark='officeqa' in runs/h1/harness.toml does not fit benchmark syn-ledger@7:")
    assert "write 'syn-ledger'" in sentence


def test_syn_ledger_takes_integer_answers_only(ledger: SynLedger) -> None:
    sentence = refusal(harness_with(answer="text"), ledger)
    assert "answer='text' in runs/h1/harness.toml" in sentence
    assert "write 'integer'" in sentence


def test_a_harness_may_leave_the_answer_form_to_its_benchmark() -> None:
    for answer in (None, "text"):
        check_for_benchmark(harness_with(benchmark="documents", answer=answer), other_benchmark())
    assert "write 'text'" in refusal(harness_with(benchmark="documents", answer="integer"), other_benchmark())


@pytest.mark.parametrize(
    ("fields", "key", "most"),
    [
        ({"retrieval": spec.Retrieval(results=13)}, "retrieval.results=13", 12),
        ({"retrieval": spec.Retrieval(relax_below=13)}, "retrieval.relax_below=13", 12),
        ({"tools": spec.Tools(opened_files=7)}, "tools.opened_files=7", 6),
        ({"tools": spec.Tools(open_first=7)}, "tools.open_first=7", 6),
        ({"tools": spec.Tools(reserved_reads=6)}, "tools.reserved_reads=6", 5),
        ({"control": spec.Control(answer_when_calls_left=13)}, "control.answer_when_calls_left=13", 12),
        *(
            (
                {"retrieval": spec.Retrieval(rewrites=(spec.Rewrite(**{key: most + 1}, template="{entity}"),))},
                f"retrieval.rewrites.{key}={most + 1}",
                most,
            )
            for side in ("at_least", "at_most")
            for key, most in ((f"calls_left_{side}", 12), (f"searches_left_{side}", 4))
        ),
        ({"retrieval": spec.Retrieval(templates=("{period}",) * 5)}, "query templates=5", 4),
        (
            {"retrieval": spec.Retrieval(templates=("{period}",) * 3, rewrites=(RULE, RULE))},
            "query templates=5",
            4,
        ),
    ],
)
def test_the_papers_bounds_hold_for_syn_ledger(ledger: SynLedger, fields: dict[str, Any], key: str, most: int) -> None:
    sentence = refusal(harness_with(**fields), ledger)
    assert sentence.startswith(f"{key} in runs/h1/harness.toml")
    assert f"write at most {most}." in sentence


def test_how_a_search_matches_is_for_benchmarks_whose_search_can_be_told(ledger: SynLedger) -> None:
    harness = harness_with(retrieval=spec.Retrieval(rewrites=(spec.Rewrite(match="any"),)))
    assert refusal(harness, ledger).startswith("retrieval.rewrites.match='any' in runs/h1/harness.toml")
    search = SearchTool(tool="search", query="query", match=MatchArgument(argument="match", all="all", any="any"))
    open_minded = SimpleNamespace(**{name: getattr(ledger, name) for name in vars(other_benchmark())})
    open_minded.interface = replace(ledger.interface, search=search)
    check_for_benchmark(harness, open_minded)


def test_rewrites_without_a_template_do_not_count_as_templates(ledger: SynLedger) -> None:
    trims = (spec.Rewrite(most_terms=3),) * 5
    check_for_benchmark(harness_with(retrieval=spec.Retrieval(templates=("{period}",) * 4, rewrites=trims)), ledger)
    assert not exceeds(spec.Structure(benchmark="a", retrieval=spec.Retrieval(rewrites=trims)), ledger.bounds)


@pytest.mark.parametrize(
    ("most", "beyond"),
    [
        ({"retrieval": spec.Retrieval(results=8)}, {"retrieval": spec.Retrieval(results=9)}),
        ({"retrieval": spec.Retrieval(relax_below=8)}, {"retrieval": spec.Retrieval(relax_below=9)}),
        (
            {"retrieval": spec.Retrieval(templates=("a", "b"))},
            {"retrieval": spec.Retrieval(templates=("a",), rewrites=(RULE,) * 2)},
        ),
        ({"tools": spec.Tools(opened_files=2)}, {"tools": spec.Tools(opened_files=3)}),
        ({"tools": spec.Tools(open_first=2)}, {"tools": spec.Tools(open_first=3)}),
        ({"tools": spec.Tools(reserved_reads=1)}, {"tools": spec.Tools(reserved_reads=2)}),
    ],
)
def test_bounds_are_those_of_the_benchmark(most: dict[str, Any], beyond: dict[str, Any], ledger: SynLedger) -> None:
    wide = other_benchmark(tools=ledger.tools, limits=ledger.limits, interface=ledger.interface)
    within, outside = (harness_with(benchmark="documents", **fields) for fields in (most, beyond))
    check_for_benchmark(within, wide)
    assert not exceeds(within.structure, wide.bounds)
    refusal(outside, wide)
    assert exceeds(outside.structure, wide.bounds)


def test_a_placeholder_that_the_benchmark_does_not_have_is_refused(ledger: SynLedger) -> None:
    for template in ("{answer}", "{entty} {period}"):
        sentence = refusal(harness_with(retrieval=spec.Retrieval(templates=(template,))), ledger)
        assert f"query template='{template}'" in sentence
        assert "entity, period, periods, question" in sentence
    module = spec.Guidance(name="a", when=spec.Activation(values_at_least={"years": 2}), text="x")
    assert "when.values_at_least.years" in refusal(replace(H0, guidance=(module,)), ledger)


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        (
            {"retrieval": spec.Retrieval(rank=(spec.Preference(observable="path-depth", prefer="low"),))},
            "retrieval.rank[0]",
        ),
        (
            {"tools": spec.Tools(read_on=spec.ReadOn(when="observable", observable="path-depth", at_most=1))},
            "tools.read_on",
        ),
    ],
)
def test_an_observable_that_the_benchmark_does_not_show_is_refused(fields: dict[str, Any], key: str) -> None:
    sentence = refusal(harness_with(benchmark="documents", **fields), other_benchmark())
    assert f"{key}.observable='path-depth' in runs/h1/harness.toml" in sentence
    assert "Valid: window." in sentence


def test_a_misspelt_observable_is_answered_with_the_nearest(ledger: SynLedger) -> None:
    preference = spec.Preference(observable="path-dept", prefer="low")
    sentence = refusal(harness_with(retrieval=spec.Retrieval(rank=(preference,))), ledger)
    assert "retrieval.rank[0].observable='path-dept'" in sentence
    assert "Did you mean 'path-depth'? Valid: name-length, " in sentence


@pytest.mark.parametrize(
    ("fields", "what", "to_do"),
    [
        ({"retrieval": spec.Retrieval(templates=("{subject}",))}, "retrieval.templates", "no search tool; remove them"),
        ({"tools": spec.Tools(open_first=1)}, "tools.open_first=1", "allows 0 file-opening calls; write at most 0"),
        ({"tools": spec.Tools(reserved_reads=3)}, "tools.reserved_reads=3", "write at most 0"),
    ],
)
def test_a_policy_needs_the_tool_that_it_calls(fields: dict[str, Any], what: str, to_do: str) -> None:
    sentence = refusal(harness_with(benchmark="documents", **fields), other_benchmark())
    assert what in sentence
    assert to_do in sentence


def test_results_are_bounded_by_what_the_search_tool_shows(ledger: SynLedger) -> None:
    search = next(tool for tool in ledger.tools if tool.name == "search")
    properties = {**search.parameters["properties"], "limit": {"type": "integer", "maximum": 5}}
    narrow = replace(search, parameters={**search.parameters, "properties": properties})
    benchmark = other_benchmark(tools=(narrow,), limits=ledger.limits, interface=ledger.interface)
    check_for_benchmark(harness_with(benchmark="documents", retrieval=spec.Retrieval(results=5)), benchmark)
    sentence = refusal(harness_with(benchmark="documents", retrieval=spec.Retrieval(results=6)), benchmark)
    assert "retrieval.results=6" in sentence
    assert "write at most 5" in sentence


def test_guidance_that_could_never_be_active_is_refused(ledger: SynLedger) -> None:
    module = spec.Guidance(name="late", when=spec.Activation(opened_at_least=7), text="Read on.")
    sentence = refusal(replace(H0, guidance=(module,)), ledger)
    assert "when.opened_at_least=7 in runs/h1/guidance/late.md" in sentence
    assert "write at most 6" in sentence


def test_all_texts_together_leave_room_in_the_context(ledger: SynLedger) -> None:
    most = ledger.limits.context_tokens
    modules = tuple(spec.Guidance(name=name, when=spec.Activation(), text="x" * (most // 4)) for name in "abc")
    harness = replace(H0, prompt="x" * (most // 4), guidance=modules)
    check_for_benchmark(harness, ledger)
    sentence = refusal(replace(harness, memory="x"), ledger)
    assert f"text size={most + 1} characters" in sentence
    assert f"shorten them to {most} characters" in sentence


def test_a_prompt_says_something(ledger: SynLedger) -> None:
    assert "prompt=(empty) in runs/h1/prompt.md" in refusal(replace(H0, prompt=" \n"), ledger)


def test_the_number_of_further_problems_is_told(ledger: SynLedger) -> None:
    sentence = refusal(harness_with(benchmark="officeqa", answer="text"), ledger)
    assert sentence.endswith("(1 more problem with this benchmark.)")
