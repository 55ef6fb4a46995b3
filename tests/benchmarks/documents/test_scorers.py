"""Scorers of a benchmark of documents: right, wrong and malformed predictions."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from chase.benchmarks.documents.description import Scorer
from chase.benchmarks.documents.scorers import open_scorer
from chase.benchmarks.documents.tat_qa import answer_of
from chase.benchmarks.documents.tat_qa_scoring import score
from chase.core.errors import ChaseError

SCORERS = TypeAdapter(Scorer)
OWN = "tests.benchmarks.documents.own_scorers"


@pytest.mark.parametrize(
    ("kind", "answer", "predicted", "verdict"),
    [
        ({"kind": "exact"}, "Slate", " Slate ", 1.0),
        ({"kind": "exact"}, "Slate", "slate", 0.0),
        ({"kind": "exact", "ignore_case": True}, "Slate", "slate", 1.0),
        ({"kind": "integer"}, "1,234", "1234", 1.0),
        ({"kind": "integer"}, "1234", "1234.0", 0.0),
        ({"kind": "number"}, "12.5", "12.50", 1.0),
        ({"kind": "number", "absolute": "0.1"}, "12.5", "12.6", 1.0),
        ({"kind": "number", "relative": "0.01"}, "1,000", "1010", 1.0),
        ({"kind": "number", "relative": "0.01"}, "1,000", "1011", 0.0),
        ({"kind": "number"}, "7 million", "7 billion", 0.0),
        ({"kind": "officeqa"}, "6.2%", "6.2 percent", 1.0),
        ({"kind": "regex"}, "colou?r", "Color", 1.0),
        ({"kind": "regex"}, "colou?r", "a color", 0.0),
        ({"kind": "python", "function": f"{OWN}:same"}, "7", "7", 1.0),
        ({"kind": "python", "function": f"{OWN}:same"}, "7", "8", 0.0),
    ],
)
def test_verdicts(kind: dict[str, object], answer: str, predicted: str, verdict: float) -> None:
    scorer = open_scorer(SCORERS.validate_python(kind))
    assert scorer.score(answer, predicted) == verdict
    assert scorer.score(answer, None) == scorer.score(answer, "  ") == 0.0


def test_a_function_that_is_not_there_or_leaves_the_interval_is_told() -> None:
    for function in ("no_such_module_here:score", f"{OWN}:no_such_function"):
        with pytest.raises(ChaseError, match="no_such"):
            open_scorer(SCORERS.validate_python({"kind": "python", "function": function}))
    scorer = open_scorer(SCORERS.validate_python({"kind": "python", "function": f"{OWN}:both"}))
    with pytest.raises(ChaseError, match=r"\[0, 1\]"):
        scorer.score("7", "7")


@pytest.mark.parametrize("function", ["timeit:timeit", "os:execlp", "cProfile:run", "shutil:move", "operator:eq"])
def test_a_function_that_was_not_written_to_score_is_never_called(function: str) -> None:
    with pytest.raises(ChaseError, match=r"is no scorer.*\(answer, prediction\)"):
        open_scorer(SCORERS.validate_python({"kind": "python", "function": function}))


@pytest.mark.parametrize(
    ("answer", "scale", "predicted", "verdict"),
    [
        (-12.6, "million", "-12.6 million", 1.0),
        (-12.6, "million", "(12.6) million", 1.0),
        (-12.6, "million", "-12.6", 0.0),
        (-12.6, "million", "-12.6 thousand", 0.0),
        (-22.22, "percent", "-22.2222%", 1.0),
        (-22.22, "percent", "-0.2222", 1.0),
        (-22.22, "percent", "-22.3%", 0.0),
        (["$1,496.5"], "million", "1,496.5 million", 1.0),
        ("3", "", "3", 1.0),
        ("3", "", "4", 0.0),
        (["the Fixed price"], "", "fixed price", 1.0),
        (["fixed price", "cost plus"], "", "cost plus; fixed price", 1.0),
        (["fixed price", "cost plus"], "", "cost plus", 0.5),
    ],
)
def test_answers_of_tat_qa_count_with_their_scale(
    answer: list[str] | str | float, scale: str, predicted: str, verdict: float
) -> None:
    import json

    held = answer_of(answer, scale)
    text = held if isinstance(held, str) else json.dumps(held)
    assert score(text, predicted) == verdict
    assert score(text, text) == 1.0
