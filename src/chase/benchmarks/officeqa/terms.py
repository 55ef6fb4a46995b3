"""What OfficeQA lets a harness be, what it suggests for a run, and what a question's text gives to templates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from chase.benchmarks.corpus.schema import MOST_RESULTS, TOOL_GROUPS, operations
from chase.core.values import AnswerForm, Defaults, HarnessBounds, Limits, Placeholder
from chase.harness.folder import render_files
from chase.harness.spec import INITIAL_PROMPT, Harness, Structure, Tools

BASE = "officeqa"

LIMITS = Limits(
    total_calls=16,
    group_calls={"search": 8, "read": 8, "list": 2, "calculate": 4},
    tool_groups=TOOL_GROUPS,
    steps=20,
    context_tokens=131_072,
    wall_seconds=600.0,
)
"""Under canonical names. Ours: the paper does not publish its own."""
OPERATIONS = operations(LIMITS)

ANSWER_FORM = AnswerForm(
    name="short-answer",
    instruction="When you have the answer, reply with the answer alone on one line and call no tool: a number in the "
    "unit that is asked for, numbers in brackets with commas between them, or a few words.",
    repair="Reply with the answer alone, on one line: a number, numbers in brackets, or a few words.",
    pattern=r"\s*\S[^\n]{0,299}\s*",
)
BOUNDS = HarnessBounds(results=MOST_RESULTS, opened=8, reserved_reads=4, templates=4)
PLACEHOLDERS: Mapping[str, Placeholder] = {
    "year": Placeholder(description="the first year that the question names"),
    "years": Placeholder(description="every year: one query for each", each=True),
    "phrase": Placeholder(description="the longest run of words in the question without small words and figures"),
    "phrases": Placeholder(description="every such run of two words or more: one query for each", each=True),
    "question": Placeholder(description="the whole question", tells_tasks_apart=False),
}
INITIAL: Mapping[str, str] = render_files(
    Harness(
        structure=Structure(benchmark=BASE, answer=ANSWER_FORM.name, tools=Tools(opened_files=BOUNDS.opened)),
        prompt=INITIAL_PROMPT,
    )
)
"""`H_0`: the paper's initial harness. No memory; searches match all words of the unmodified query; nothing else."""
DEFAULTS = Defaults(
    rounds=3,
    epsilon="0.05",
    eta="0.075",
    rollouts={"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3},
)
"""The paper's. `prov2`, where the data has it, gets three rollouts, too."""
PROV2_ROLLOUTS = 3

_YEAR = re.compile(r"(?<![\d.,$])(?:1[789]|20)\d\d(?!\d|%|[.,]\d)")
_SMALL = frozenset(
    "a about after all an and any are as at be been before between by calculate did do does during each expressed for "
    "from had has have how if in into is it its many much of on or over per report return round rounded than that the "
    "their then there these this to total under using was were what when which while with you your nearest value "
    "give find compute determine according million millions billion billions thousand thousands trillion trillions "
    "dollar dollars percent percentage place places decimal decimals unit units absolute average mean median sum "
    "difference change growth increase decrease ratio rate share highest lowest largest smallest list order format "
    "respectively both values comma commas separated brackets bracketed answer".split()
)
"""Words that say how an answer is wanted, or little at all."""
_WORD = re.compile(r"[A-Za-z][A-Za-z'’.&-]*")


def slots(question: str) -> dict[str, Sequence[str]]:
    """The values of the placeholders in any text, each as it stands there."""
    years = list(dict.fromkeys(_YEAR.findall(question)))
    phrases = _phrases(question)
    return {
        "year": years[:1],
        "years": years,
        "phrase": sorted(phrases, key=len, reverse=True)[:1],
        "phrases": [phrase for phrase in phrases if " " in phrase],
        "question": [question],
    }


def _phrases(question: str) -> list[str]:
    """Runs of words with single spaces between them and no small word among them."""
    found: list[str] = []
    end = -2
    for match in _WORD.finditer(question):
        word = match[0].rstrip(".'’-&")
        if word.lower() in _SMALL or len(word) < 3:
            continue
        joins = match.start() == end + 1 and question[end : match.start()] == " "
        found = [*found[:-1], f"{found[-1]} {word}"] if joins else [*found, word]
        end = match.start() + len(word)
    return list(dict.fromkeys(found))
