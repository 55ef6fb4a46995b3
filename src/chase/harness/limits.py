"""Whether a harness fits a benchmark: its name, answer schema, observables, tools and budgets.

In the paper some of these are checks of the generalization gate; here every method is held to them. The numbers that
do not depend on a benchmark (1–12 results, 1–6 opened files, four templates) are in the fields of `spec.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark
from chase.core.values import ToolSpec
from chase.harness.spec import Harness, base_name

ANSWERS: Mapping[str, Literal["integer", "text"]] = {"syn-ledger": "integer"}
"""The answer schema that a benchmark holds every harness to. One that is not here takes either."""

Problem = tuple[str, str, str]
"""(`key=value`, the file in the harness's folder, what is wrong and what to write)."""


def check_for_benchmark(harness: Harness, benchmark: Benchmark[Any], *, where: str = "harness") -> None:
    """A `UserError` unless the harness fits the benchmark; `where` is the harness's folder or name."""
    problems = list(_problems(harness, benchmark))
    if not problems:
        return
    given, file, problem = problems[0]
    more = len(problems) - 1
    others = f" ({more} more problem{'s' if more > 1 else ''} with this benchmark.)" if more else ""
    raise UserError(f"{given} in {where}/{file} does not fit benchmark {benchmark.name}: {problem}{others}")


def _problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    structure, base = harness.structure, base_name(benchmark.name)
    if structure.benchmark != base:
        yield f"benchmark='{structure.benchmark}'", "harness.toml", f"write '{base}', or name another benchmark."
    answer = ANSWERS.get(base, structure.answer)
    if structure.answer != answer:
        yield f"answer='{structure.answer}'", "harness.toml", f"its answers are of one kind; write '{answer}'."
    yield from _observable_problems(harness, benchmark)
    yield from _tool_problems(harness, benchmark)
    yield from _activation_problems(harness, benchmark)
    yield from _size_problems(harness, benchmark)


def _observable_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    used = {f"retrieval.rank[{place}]": rule.observable for place, rule in enumerate(harness.structure.retrieval.rank)}
    read_on = harness.structure.tools.read_on.observable
    used |= {"tools.read_on": read_on} if read_on is not None else {}
    known = [observable.name for observable in benchmark.observables]
    for key, name in used.items():
        try:
            choose("observable", name, known)
        except UserError as refusal:
            yield f"{key}.observable='{name}'", "harness.toml", str(refusal)


def _tool_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    retrieval, tools = harness.structure.retrieval, harness.structure.tools
    search, opener = tool_of(benchmark, "search", "query"), tool_of(benchmark, "open", "file")
    if search is None and (retrieval.templates or retrieval.rewrites):
        yield "retrieval.templates, rewrites", "harness.toml", "it has no search tool; remove them."
    most_results = _most_results(search) if search else None
    if most_results is not None and (results := retrieval.results or 0) > most_results:
        yield f"retrieval.results={results}", "harness.toml", f"write at most {most_results}."
    opens = benchmark.limits.group_calls.get("open", 0) if opener else 0
    for key in ("open_first", "reserved_reads"):
        if (value := getattr(tools, key)) > opens:
            problem = f"it allows {opens} file-opening calls; write at most {opens}."
            yield f"tools.{key}={value}", "harness.toml", problem


def tool_of(benchmark: Benchmark[Any], group: str, argument: str) -> ToolSpec | None:
    """The benchmark's tool of a group that takes an argument: what the engine calls for a harness."""
    of_group = [tool for tool in benchmark.tools if benchmark.limits.tool_groups.get(tool.name) == group]
    return next((tool for tool in of_group if argument in tool.parameters.get("properties", {})), None)


def _most_results(search: ToolSpec) -> int | None:
    maximum = search.parameters["properties"].get("limit", {}).get("maximum")
    return None if maximum is None else int(maximum)


def _activation_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    """Guidance that could never become active."""
    opens = benchmark.limits.group_calls.get("open", 0)
    for module in harness.guidance:
        if (value := module.when.opened_at_least) > opens:
            problem = f"it allows {opens} file-opening calls, so this never holds; write at most {opens}."
            yield f"when.opened_at_least={value}", f"guidance/{module.name}.md", problem


def _size_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    """All text that the model may be given: at four characters a token, a quarter of the context."""
    texts = [harness.prompt, harness.memory, harness.structure.tools.instructions]
    size = sum(len(text) for text in (*texts, *(module.text for module in harness.guidance)))
    most = benchmark.limits.context_tokens
    if size > most:
        problem = (
            f"prompt, memory, instructions and guidance together must leave room in its context of {most} tokens; "
            f"shorten them to {most} characters."
        )
        yield f"text size={size} characters", "prompt.md and the other texts", problem
