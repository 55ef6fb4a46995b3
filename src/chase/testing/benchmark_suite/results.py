"""Tool results: they read as they are laid out, hits can be opened, and what is opened can be read on."""

from __future__ import annotations

import json
from collections.abc import Iterator

from chase.core.interfaces import Environment
from chase.core.values import OpenTool, ToolResult
from chase.testing.benchmark_suite.hooks import AnyBenchmark, BenchmarkHooks


class ResultTests(BenchmarkHooks):
    """What tools answer, under every variant."""

    def test_results_read_as_they_are_laid_out(self, benchmark: AnyBenchmark) -> None:
        for variant in benchmark.variants():
            environment = self.new_environment(benchmark, variant=variant)
            left = environment.calls_left()
            refusal = environment.refusal("Not so.")
            assert not refusal.ok
            assert environment.calls_left() == left, "a refusal was counted"
            for result in (refusal, *self._results(environment)):
                self._check_layout(result)

    def _results(self, environment: Environment) -> Iterator[ToolResult]:
        """A search for the question, and its first hit opened."""
        search, opener = environment.interface.search, environment.interface.open
        if search is None:
            return
        found = environment.call(search.tool, {search.query: environment.question})
        assert found.ok
        yield found
        if opener is not None:
            for item in found.items[:1]:
                yield environment.call(opener.tool, item.opens or {opener.document: item.shown.id})

    def _check_layout(self, result: ToolResult) -> None:
        layout = result.layout
        if layout is None:
            assert all((item.line or "") in result.text for item in result.items)
            assert result.head in result.text
            return
        shown = json.loads(result.text)
        assert shown.get(layout.message, "") == result.head
        assert shown.get(layout.items, []) == [item.shown.fields for item in result.items]
        assert all(item.line is None and item.shown.fields for item in result.items)

    def test_hits_are_opened_where_they_were_found(self, benchmark: AnyBenchmark) -> None:
        for variant in benchmark.variants():
            environment = self.new_environment(benchmark, variant=variant)
            search, opener = environment.interface.search, environment.interface.open
            if search is None or opener is None:
                return
            hits = environment.call(search.tool, {search.query: environment.question}).items
            assert [item.shown.hit for item in hits] == list(range(len(hits)))
            for item in hits[:3]:
                fresh = self.new_environment(benchmark, variant=variant)
                opened = fresh.call(opener.tool, item.opens or {opener.document: item.shown.id})
                assert opened.ok
                (shown,) = (opening.shown for opening in opened.items)
                assert (shown.id, shown.path, shown.window) == (item.shown.id, item.shown.path, 0)
                assert shown.text

    def test_a_search_that_can_be_told_what_must_match_obeys(self, benchmark: AnyBenchmark) -> None:
        for variant in benchmark.variants():
            search = self.new_environment(benchmark, variant=variant).interface.search
            if search is None or search.match is None:
                continue
            match, found = search.match, {}
            for value in (match.all, match.any):
                environment = self.new_environment(benchmark, variant=variant)
                arguments = {search.query: environment.question, match.argument: value}
                result = environment.call(search.tool, arguments)
                assert result.ok
                found[value] = [item.shown.id for item in result.items]
                assert value == match.any or all(item.shown.matches is not False for item in result.items)
            assert len(found[match.all]) <= len(found[match.any])

    def test_reading_on_reads_on_to_the_end(self, benchmark: AnyBenchmark) -> None:
        read_on = 0
        for variant in benchmark.variants():
            for shown in benchmark.sightings(benchmark.tasks()[0], benchmark.variant(variant))[:3]:
                environment = self.new_environment(benchmark, variant=variant)
                opener = environment.interface.open
                if opener is None:
                    return
                read_on += self._read_on(environment, opener, shown.id)
        assert read_on, "nothing can be read on"

    def _read_on(self, environment: Environment, opener: OpenTool, document: str) -> int:
        """Windows read after the first."""
        result = environment.call(opener.tool, {opener.document: document})
        texts = [item.shown.text for item in result.items]
        group = environment.limits.tool_groups[opener.tool]
        while result.reads_on is not None and environment.calls_left()[group]:
            result = environment.call(opener.tool, result.reads_on)
            assert result.ok
            (shown,) = (item.shown for item in result.items)
            assert (shown.id, shown.window) == (document, len(texts))
            assert shown.text not in texts, "the same again"
            texts.append(shown.text)
        return len(texts) - 1
