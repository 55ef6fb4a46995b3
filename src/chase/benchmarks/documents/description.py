"""`benchmark.toml`: what a benchmark of one's own is made of. Every key is here, with its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chase.benchmarks.corpus.passages import PASSAGE_LINES
from chase.benchmarks.corpus.schema import TOOL_GROUPS
from chase.core.values import Limits

FILE = "benchmark.toml"
Part = Literal[
    "names",
    "folders",
    "listing-order",
    "result-order",
    "demonstration-order",
    "serialization",
    "tool-names",
    "field-names",
    "feedback",
    "passages",
]
"""What of the protocol a transformation may change."""
PARTS: tuple[Part, ...] = get_args(Part)
Grouping = Literal["group", "evidence", "none"]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Calls = Annotated[int, Field(strict=True, ge=1, le=1_000)]
Flag = Annotated[bool, Field(strict=True)]
Fraction = Annotated[Decimal, Field(ge=0, le=1)]


class Table(BaseModel):
    """A table of the file: nothing but the named keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Budgets(Table):
    """What an agent may use for one question."""

    search: Calls = 8
    read: Calls = 8
    list: Calls = 2
    calculate: Calls = 4
    total: Calls = 16
    steps: Calls = 20
    context_tokens: Annotated[int, Field(strict=True, ge=1_000, le=10_000_000)] = 131_072
    wall_seconds: Annotated[float, Field(gt=0, le=86_400)] = 600.0

    def limits(self) -> Limits:
        groups = ("search", "read", "list", "calculate")
        return Limits(
            total_calls=self.total,
            group_calls={group: getattr(self, group) for group in groups},
            tool_groups=TOOL_GROUPS,
            steps=self.steps,
            context_tokens=self.context_tokens,
            wall_seconds=float(self.wall_seconds),
        )


class Splits(Table):
    """How many questions each task set gets. None: in the paper's proportions."""

    evo: Count | None = None
    disc: Count | None = None
    conf: Count | None = None
    """Of each of the three confirmation sets."""
    cert: Count | None = None
    """None: all that are left."""
    grouping: Grouping = "group"
    """What never straddles two sets: questions of a group, questions that share a document as evidence, or nothing."""

    @model_validator(mode="after")
    def _all_or_none(self) -> Splits:
        given = [name for name in ("evo", "disc", "conf") if getattr(self, name) is not None]
        if given and len(given) < 3:
            raise ValueError("evo, disc and conf are given together, or none of them")
        return self


class Protocol(Table):
    """What of the protocol may be transformed, and how long passages are as released."""

    transform: tuple[Part, ...] = PARTS
    passage_lines: Annotated[int, Field(strict=True, ge=5, le=400)] = PASSAGE_LINES


class Answer(Table):
    """What the model is told of an answer's form."""

    instruction: str = (
        "When you have the answer, reply with the answer alone on one line and call no tool: a number, a name or a few "
        "words."
    )
    longest: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 1_000
    """Characters of an answer."""


class Demonstration(Table):
    """A worked example that is shown with every question."""

    question: Annotated[str, Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]


class Run(Table):
    """What is suggested for a run: the paper's settings unless others are given."""

    rounds: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    epsilon: Fraction = Decimal("0.05")
    eta: Fraction = Decimal("0.05")
    rollouts: Annotated[int, Field(strict=True, ge=1, le=1_000)] | None = None
    """Of every task; None: 2 of evolution and discovery, 5 of confirmation, 3 of certification."""


class Exact(Table):
    """The answer itself, white space around it aside."""

    kind: Literal["exact"]
    ignore_case: Flag = False


class Integer(Table):
    """A whole number: sign and commas are normalised, anything else beside it is wrong."""

    kind: Literal["integer"]


class Number(Table):
    """A number within a tolerance of the answer."""

    kind: Literal["number"]
    relative: Fraction = Decimal(0)
    """Of the answer's size."""
    absolute: Annotated[Decimal, Field(ge=0)] = Decimal(0)


class OfficeQaScorer(Table):
    """OfficeQA's fuzzy match: numbers with scales, lists, text beside them."""

    kind: Literal["officeqa"]


class Regex(Table):
    """The question's answer is a regular expression that the whole of a right answer matches."""

    kind: Literal["regex"]
    ignore_case: Flag = True


class TatQa(Table):
    """Numbers with their scale, and spans, as TAT-QA's measures compare them."""

    kind: Literal["tat-qa"]
    measure: Literal["f1", "exact"] = "f1"


class Python(Table):
    """A function `(answer, prediction) -> score in [0, 1]` of an installed module."""

    kind: Literal["python"]
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    """`package.module:function`."""


class JudgeScorer(Table):
    """A language model that compares an answer with the expected one, and gives a score."""

    kind: Literal["judge"]
    model: Annotated[str, Field(min_length=1, max_length=1_000)]
    """As `--model` takes it; an address comes from the config's `[models."NAME"]`."""
    prompt: Annotated[str, Field(pattern=r"^\w[\w .-]*\.(md|txt)$")] | None = None
    """A file beside benchmark.toml with {question}, {answer} and {prediction}; None: the one that is shipped."""
    settings: Mapping[str, Any] = {}
    """Of the model, such as temperature; they win over the config's."""
    scale: Annotated[int, Field(strict=True, ge=1, le=100)] = 1
    """The judge's full score; scores are divided by it."""
    skip_exact: Flag = False
    """Whether an answer that is the expected one, case and white space aside, scores 1 unasked."""


Scorer = Annotated[
    Exact | Integer | Number | OfficeQaScorer | Regex | TatQa | Python | JudgeScorer, Field(discriminator="kind")
]


class Description(Table):
    """The whole file."""

    title: Annotated[str, Field(min_length=1, max_length=200)] = "a benchmark of documents"
    documents: Annotated[str, Field(min_length=1)] = "documents"
    """The folder of documents, beside benchmark.toml."""
    questions: Annotated[str, Field(min_length=1, pattern=r"\.(jsonl|csv)$")] = "questions.jsonl"
    scorer: Scorer
    answer: Answer = Answer()
    budgets: Budgets = Budgets()
    splits: Splits = Splits()
    protocol: Protocol = Protocol()
    run: Run = Run()
    demonstrations: tuple[Demonstration, ...] = ()

    def transforms(self) -> frozenset[Part]:
        """Without what there is nothing of."""
        none = {"demonstration-order"} if len(self.demonstrations) < 2 else set()
        return frozenset(part for part in self.protocol.transform if part not in none)


TABLES: Mapping[str, type[Table]] = {
    "budgets": Budgets,
    "splits": Splits,
    "protocol": Protocol,
    "answer": Answer,
    "run": Run,
    "demonstrations": Demonstration,
}
SCORERS: Mapping[str, type[Table]] = {
    kind.model_fields["kind"].annotation.__args__[0]: kind  # type: ignore[union-attr]
    for kind in (Exact, Integer, Number, OfficeQaScorer, Regex, TatQa, Python, JudgeScorer)
}
