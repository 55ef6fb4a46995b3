"""Whether a harness fits a benchmark: its name, answer form, observables, placeholders, tools and bounds.

In the paper some of these are checks of the generalization gate; here every method is held to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark
from chase.core.values import HarnessBounds, OpenTool, SearchTool
from chase.harness.spec import Harness, Retrieval, Structure, placeholders_of

Problem = tuple[str, str, str]
"""(`key=value`, the file in the harness's folder, what is wrong and what to write)."""
TOML = "harness.toml"


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
    structure, form = harness.structure, benchmark.answer_form
    if structure.benchmark != benchmark.base:
        problem = f"write '{benchmark.base}', or name another benchmark."
        yield f"benchmark='{structure.benchmark}'", TOML, problem
    if structure.answer not in (None, form.name):
        yield f"answer='{structure.answer}'", TOML, f"its answers are of one kind; write '{form.name}'."
    yield from _observable_problems(harness, benchmark)
    yield from _template_problems(harness, benchmark)
    yield from _count_problems(harness, benchmark)
    yield from _activation_problems(harness, benchmark)
    yield from _size_problems(harness, benchmark)


def _observable_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    used = {f"retrieval.rank[{place}]": rule.observable for place, rule in enumerate(harness.structure.retrieval.rank)}
    read_on = harness.structure.tools.read_on.observable
    used |= {"tools.read_on": read_on} if read_on is not None else {}
    known = [observable.name for observable in benchmark.observables]
    for key, name in used.items():
        if refusal := _refusal("observable", name, known):
            yield f"{key}.observable='{name}'", TOML, refusal


def _template_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    retrieval = harness.structure.retrieval
    templates = templates_of(retrieval)
    search = benchmark.interface.search
    if search is None and (retrieval.templates or retrieval.rewrites):
        yield "retrieval.templates, rewrites", TOML, "it has no search tool; remove them."
    for rule in retrieval.rewrites:
        if rule.match is not None and search is not None and search.match is None:
            yield f"retrieval.rewrites.match='{rule.match}'", TOML, "its search cannot be told how to match; remove it."
    if len(templates) > (most := benchmark.bounds.templates):
        problem = f"in templates and rewrites together; write at most {most}."
        yield f"query templates={len(templates)}", TOML, problem
    for template in templates:
        for name in placeholders_of(template):
            if refusal := _refusal("placeholder", name, benchmark.placeholders):
                yield f"query template='{template}'", TOML, refusal


def _count_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    """Counts above what the benchmark allows."""
    retrieval, tools, control = harness.structure.retrieval, harness.structure.tools, harness.structure.control
    bounds, calls, opens = benchmark.bounds, benchmark.limits.total_calls, opening_calls(benchmark)
    counts = (
        ("retrieval.results", retrieval.results, _most_results(benchmark), ""),
        ("retrieval.relax_below", retrieval.relax_below, bounds.results, ""),
        *_rewrite_counts(retrieval, calls, search_calls(benchmark)),
        ("tools.opened_files", tools.opened_files, bounds.opened, ""),
        ("tools.open_first", tools.open_first, min(opens, bounds.opened), "file-opening calls"),
        ("tools.reserved_reads", tools.reserved_reads, min(opens, bounds.reserved_reads), "file-opening calls"),
        ("control.answer_when_calls_left", control.answer_when_calls_left, calls, "calls"),
    )
    for key, value, most, of in counts:
        if (value or 0) > most:
            allowed = f"it allows {opens if 'opening' in of else most} {of}; " if of else ""
            yield f"{key}={value}", TOML, f"{allowed}write at most {most}."


def _rewrite_counts(retrieval: Retrieval, calls: int, searches: int) -> Iterator[tuple[str, int | None, int, str]]:
    for rule in retrieval.rewrites:
        for side in ("at_least", "at_most"):
            yield f"retrieval.rewrites.calls_left_{side}", getattr(rule, f"calls_left_{side}"), calls, "calls"
            value = getattr(rule, f"searches_left_{side}")
            yield f"retrieval.rewrites.searches_left_{side}", value, searches, "search calls"


def templates_of(retrieval: Retrieval) -> list[str]:
    """All query templates, in searches before the first turn and in rewrites."""
    return [*retrieval.templates, *(rule.template for rule in retrieval.rewrites if rule.template is not None)]


def exceeds(structure: Structure, bounds: HarnessBounds) -> bool:
    """Whether a count is above a benchmark's bounds, whatever its calls."""
    retrieval, tools = structure.retrieval, structure.tools
    return (
        len(templates_of(retrieval)) > bounds.templates
        or max(retrieval.results or 0, retrieval.relax_below) > bounds.results
        or max(tools.opened_files or 0, tools.open_first) > bounds.opened
        or tools.reserved_reads > bounds.reserved_reads
    )


def _most_results(benchmark: Benchmark[Any]) -> int:
    """Results that a search can be told to show."""
    search, most = benchmark.interface.search, benchmark.bounds.results
    if search is None or search.limit is None:
        return most
    spec = next(spec for spec in benchmark.tools if spec.name == search.tool)
    return min(most, int(spec.parameters["properties"][search.limit].get("maximum", most)))


def opening_calls(benchmark: Benchmark[Any]) -> int:
    """How often documents can be opened in a rollout."""
    return _calls_of(benchmark, benchmark.interface.open)


def search_calls(benchmark: Benchmark[Any]) -> int:
    """How often documents can be searched for in a rollout."""
    return _calls_of(benchmark, benchmark.interface.search)


def _calls_of(benchmark: Benchmark[Any], tool: OpenTool | SearchTool | None) -> int:
    limits = benchmark.limits
    return limits.group_calls.get(limits.tool_groups[tool.tool], 0) if tool else 0


def _activation_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    """Guidance that could never become active, or that asks for placeholders that there are not."""
    opens = opening_calls(benchmark)
    for module in harness.guidance:
        file = f"guidance/{module.name}.md"
        if (value := module.when.opened_at_least) > opens:
            problem = f"it allows {opens} file-opening calls, so this never holds; write at most {opens}."
            yield f"when.opened_at_least={value}", file, problem
        for name in module.when.values_at_least:
            if refusal := _refusal("placeholder", name, list(benchmark.placeholders)):
                yield f"when.values_at_least.{name}", file, refusal


def _refusal(kind: str, name: str, known: Iterable[str]) -> str:
    """Why a name is none of the known ones; nothing where it is."""
    try:
        choose(kind, name, known)
    except UserError as refusal:
        return str(refusal)
    return ""


def _size_problems(harness: Harness, benchmark: Benchmark[Any]) -> Iterator[Problem]:
    """All text that the model may be given: some, and at four characters a token a quarter of the context."""
    if not harness.prompt.strip():
        yield "prompt=(empty)", "prompt.md", "an agent without instructions does no task: write what it is to do."
    texts = [harness.prompt, harness.memory, harness.structure.tools.instructions]
    size = sum(len(text) for text in (*texts, *(module.text for module in harness.guidance)))
    most = benchmark.limits.context_tokens
    if size > most:
        problem = (
            f"prompt, memory, instructions and guidance together must leave room in its context of {most} tokens; "
            f"shorten them to {most} characters."
        )
        yield f"text size={size} characters", "prompt.md and the other texts", problem
