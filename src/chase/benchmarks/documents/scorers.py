"""Scorers by kind: how right a prediction is, in [0, 1], and what identifies the scorer."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from chase.benchmarks.documents import tat_qa_scoring
from chase.benchmarks.documents.description import (
    Exact,
    Integer,
    JudgeScorer,
    Number,
    OfficeQaScorer,
    Python,
    Regex,
    Table,
    TatQa,
)
from chase.benchmarks.documents.numbers import numbers_in, whole_number
from chase.benchmarks.officeqa import scoring as officeqa
from chase.core.errors import SetupError, UserError
from chase.core.values import Json

VERSION = 1
LONGEST_MATCHED = 1_000
"""Characters of a prediction that a regular expression is tried on."""
TOLD = ("answer", "prediction")
"""The parameters of a Python function that scores."""
Rule = Callable[[str, str], float]
"""(answer, prediction that is not blank) → score."""


@dataclass(frozen=True, kw_only=True)
class AnswerScorer:
    """A scorer, ready to use. `identity` decides scores: it is part of the benchmark's content."""

    identity: Json
    rule: Rule
    check: Callable[[str], str | None] = lambda _: None
    """What is wrong with an answer of the questions file, as the rest of a sentence."""
    states_itself: bool = True
    """Whether an answer scores 1 as a prediction: of a regular expression and of a judge that is not said."""
    prompt: str | None = None
    """Of a judge: what it is told. `rule` refuses, for a judge is asked by the engine."""

    def score(self, answer: str, predicted: str | None) -> float:
        """The score of a prediction; none, or a blank one, is 0."""
        return 0.0 if predicted is None or not predicted.strip() else self.rule(answer, predicted.strip())

    def wrong_with(self, answer: str) -> str | None:
        wrong = self.check(answer)
        if wrong is not None:
            return wrong
        right = not self.states_itself or self.score(answer, answer) == 1.0
        return None if right else "does not score 1 by its own scorer."


def open_scorer(chosen: Table, folder: Path | None = None) -> AnswerScorer:
    """The scorer that a description asks for. `folder` holds what it names."""
    if isinstance(chosen, JudgeScorer):
        return _judge(chosen, folder)
    identity: dict[str, Json] = {"version": VERSION, **chosen.model_dump(mode="json")}
    if isinstance(chosen, Python):
        function, source = _load(chosen.function)
        return AnswerScorer(identity={**identity, "source": source}, rule=_bounded(function, chosen.function))
    itself = not isinstance(chosen, Regex)
    return AnswerScorer(identity=identity, rule=_rule(chosen), check=_check(chosen), states_itself=itself)


def _judge(chosen: JudgeScorer, folder: Path | None) -> AnswerScorer:
    from chase.benchmarks.documents import judging  # models take a second to import

    prompt, _ = judging.read_prompt(folder, chosen)
    identity = {"version": VERSION, **judging.identity(chosen, prompt)}
    return AnswerScorer(identity=identity, rule=_unasked, states_itself=False, prompt=prompt)


def _unasked(answer: str, predicted: str) -> float:
    raise UserError("a language model judges these answers: it is asked in a run (`chase rollout`), not here.")


def same_text(answer: str, predicted: str) -> bool:
    """Whether two texts are the same, case and white space aside."""
    return _same_text(ignore_case=True)(answer, predicted) == 1.0


def _rule(chosen: Table) -> Rule:
    match chosen:
        case Exact():
            return _same_text(chosen.ignore_case)
        case Integer():
            return lambda answer, predicted: float(whole_number(predicted) == whole_number(answer))
        case Number():
            return _near(chosen.relative, chosen.absolute)
        case OfficeQaScorer():
            return lambda answer, predicted: float(officeqa.fuzzy_match(answer, predicted))
        case Regex():
            return _matching(re.IGNORECASE if chosen.ignore_case else re.NOFLAG)
        case TatQa():
            return lambda answer, predicted: tat_qa_scoring.score(answer, predicted, chosen.measure)
        case _:
            raise UserError(f"scorer {type(chosen).__name__} is not known.")


def _check(chosen: Table) -> Callable[[str], str | None]:
    if isinstance(chosen, Integer):
        return lambda answer: None if whole_number(answer) is not None else "is no whole number."
    if isinstance(chosen, Number):
        return lambda answer: None if len(numbers_in(answer)) == 1 else "is not one number."
    if isinstance(chosen, Regex):
        return _wrong_pattern
    return lambda _: None


def _wrong_pattern(answer: str) -> str | None:
    try:
        re.compile(answer)
    except re.error as error:
        return f"is no regular expression: {error}."
    return None


def _matching(flags: re.RegexFlag) -> Rule:
    """What is longer than an answer could be is not looked at: an expression may take long on it."""

    def matches(answer: str, predicted: str) -> float:
        return float(len(predicted) <= LONGEST_MATCHED and re.fullmatch(answer, predicted, flags) is not None)

    return matches


def _same_text(ignore_case: bool) -> Rule:
    def same(answer: str, predicted: str) -> float:
        left, right = " ".join(answer.split()), " ".join(predicted.split())
        return float(left.casefold() == right.casefold() if ignore_case else left == right)

    return same


def _near(relative: Decimal, absolute: Decimal) -> Rule:
    def near(answer: str, predicted: str) -> float:
        wanted, stated = numbers_in(answer), numbers_in(predicted)
        if len(wanted) != 1 or len(stated) != 1 or (wanted[0].scale or "") != (stated[0].scale or ""):
            return 0.0
        truth, value = wanted[0].value, stated[0].value
        return float(abs(value - truth) <= max(absolute, relative * abs(truth)))

    return near


def _load(path: str) -> tuple[Callable[..., Any], str]:
    """A function by its import path, and the hash of the source that it is in."""
    module_name, _, name = path.partition(":")
    try:
        module = import_module(module_name)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise SetupError(f"{module_name} cannot be imported ({reason}). Install it, or set PYTHONPATH.") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise UserError(f"{module_name} has no function '{name}'.")
    _refuse_what_is_no_scorer(function, path)
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        raise SetupError(f"the source of {module_name} cannot be read, and it identifies the scorer.") from None
    return function, sha256(source.encode()).hexdigest()


def _refuse_what_is_no_scorer(function: Callable[..., Any], path: str) -> None:
    """A folder of somebody else's may name any installed function: only one written to be a scorer is called."""
    try:
        named = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        named = []
    if [(held.name, held.kind) for held in named] != [(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in TOLD]:
        raise UserError(f"{path} is no scorer. Write it as `def {path.partition(':')[2]}({', '.join(TOLD)})`.")


def _bounded(function: Callable[..., Any], path: str) -> Rule:
    def bounded(answer: str, predicted: str) -> float:
        try:
            found = float(function(answer=answer, prediction=predicted))
        except Exception as error:
            raise UserError(f"scorer {path} failed on a prediction: {type(error).__name__}: {error}.") from error
        if not math.isfinite(found) or not 0 <= found <= 1:
            raise UserError(f"scorer {path} gave {found}. Scores are in [0, 1].")
        return found

    return bounded
