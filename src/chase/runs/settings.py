"""What a user can say of a run, declared once: flags, config keys and keyword arguments are made from these models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from chase.benchmarks.registry import DEFAULT
from chase.core.interfaces import Benchmark, OwnAgent
from chase.harness.spec import Harness
from chase.methods.registry import BUILT_IN, DEFAULT_METHOD
from chase.runs.command_settings import Commands, OwnAgents
from chase.runs.declaring import Settings, setting
from chase.runs.kinds import (
    MOST,
    Agents,
    Amount,
    Benchmarks,
    ByRole,
    DataFolder,
    Dollars,
    Folder,
    Harnesses,
    Level,
    Names,
    OfMethod,
    Options,
    PriceOfTokens,
    Reason,
    Rows,
    Seconds,
    Seeds,
    Several,
    Share,
    Text,
    Toggle,
    Whole,
)

VARIANTS = "released, a construction (neutral, neutralise-depth), FILE.json, or ARCHIVE.json#b2"
EVALUATIONS = "full (default), curtailed: only until a choice is certain, or racing: very likely; not in the paper."
HarnessLike = str | Path | Harness
Counts = str | Mapping[str, int]


class Asked(Settings):
    """The model that is asked."""

    model: Annotated[str | None, Text()] = setting(
        None, "e.g. sim:reader, lexical, openai:gpt-5, gguf:FILE", "What", metavar="M", common=True
    )
    base_url: Annotated[str | None, Text()] = setting(
        None, "Address of an openai-compatible model.", "What", metavar="URL"
    )


class Located(Settings):
    """Where runs are kept."""

    workspace: Annotated[str | Path | None, Folder()] = setting(
        None, "Holds .chase/; default: found upward.", "Run", metavar="DIR", part="act"
    )


class Place(Located):
    """Where runs are kept, and the file that says the rest."""

    config: Annotated[str | Path | None, Folder()] = setting(
        None, "A TOML file; flags win.", "Run", metavar="FILE", part="act"
    )


class On(Asked):
    """The benchmark, and the model."""

    benchmark: Annotated[str | Benchmark[Any], Benchmarks()] = setting(
        DEFAULT, "e.g. syn-ledger@7", "What", metavar="B", common=True
    )
    data: Annotated[str | Path | None, DataFolder()] = setting(
        None, "The folder with the benchmark's data, for one that needs it.", "What", metavar="DIR"
    )


class What(On):
    """What is evaluated, with which model."""

    seed: Annotated[int, Whole(0, 2**31 - 1)] = setting(0, "The run's seed.", "What", metavar="S")


class Sizes(Settings):
    """How much of a benchmark is used."""

    split_sizes: Annotated[Counts | None, ByRole(2)] = setting(
        None, "Fewer tasks by role, e.g. evo=8,conf=8,sealed=16", "Sizes", metavar="SIZES"
    )
    preset: Annotated[str | None, Text()] = setting(
        None, "pilot: small sizes, for a first try with a key.", "Sizes", metavar="NAME", part="choice"
    )


class Challengers(Commands):
    """Who challenges, and what agents of any role may."""

    challenger: Annotated[str | None, Text()] = setting(
        None, "mining (default), llm, coding-agent, or one that is installed.", "Agents", metavar="KIND"
    )
    challenger_model: Annotated[str | None, Text()] = setting(
        None, "A language model as Challenger.", "Agents", metavar="M"
    )
    challenger_command: Annotated[str | None, Text()] = setting(
        None, "A coding agent as Challenger.", "Agents", metavar="COMMAND"
    )
    no_diff: Annotated[bool, Toggle()] = setting(False, "The Challenger looks at behaviour alone.", "Agents")
    history_tokens: Annotated[int, Whole(100, 10**8)] = setting(
        200_000, "Most that an agent reads of the history a round.", "Agents", metavar="N"
    )
    allow_network: Annotated[bool, Toggle()] = setting(
        False, "A coding agent may use the network: a hosted one must.", "Agents"
    )


class Proposers(Challengers, Asked):
    """Who proposes and challenges."""

    edit_space: Annotated[str, Text()] = setting("all", "What may be edited: all, documents.", "What", metavar="SPACE")
    proposer: Annotated[str | None, Text()] = setting(
        None, "mining (default), llm, coding-agent, or one that is installed.", "Agents", metavar="KIND", common=True
    )
    proposer_model: Annotated[str | None, Text()] = setting(
        None, "A language model as Proposer.", "Agents", metavar="M", common=True
    )
    command: Annotated[str | None, Text()] = setting(
        None, "A coding agent as Proposer.", "Agents", metavar="COMMAND", common=True
    )
    prior: Annotated[str, Text()] = setting(
        "even", "The offline Proposer's prior over edits: even, procedural.", "Agents", metavar="PRIOR"
    )


class Caps(Settings):
    """Caps on what a run may cost."""

    budget_usd: Annotated[float | None, Dollars()] = setting(
        None, "Most that the run may cost, in all its parts.", "Money", metavar="USD", part="pace"
    )
    budget_tokens: Annotated[int | None, Whole(0, MOST)] = setting(
        None, "Most tokens of the run, cached input included.", "Money", metavar="N", part="pace"
    )


class Money(Caps):
    """Caps, and what they are reckoned with."""

    price: Annotated[str | Sequence[float] | None, PriceOfTokens()] = setting(
        None, "USD for a million tokens of --model, where not known.", "Money", metavar="IN,CACHED,OUT", part="pace"
    )


class RunOptions(Place):
    """Where a run is kept and how hard it works."""

    concurrency: Annotated[int, Whole(1, 4096)] = setting(64, "Rollouts at a time.", "Run", metavar="N", part="pace")
    workers: Annotated[int | None, Whole(1, 256)] = setting(
        None, "Processes that compute an embedded model's rollouts; default: 1, in `compare` one for each core.", "Run",
        metavar="N", part="pace",
    )  # fmt: skip
    patience: Annotated[float, Seconds()] = setting(
        600.0, "How long an outage of the model is waited out; 0: not at all.", "Run", metavar="SECONDS", part="pace"
    )


class Paid(RunOptions, Money, Asked):
    """What every run that asks models takes."""


class RolloutSettings(Paid, OwnAgents, What):
    """What `chase rollout` takes."""

    required: ClassVar[tuple[str, ...]] = ("model", "harness")

    harness: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "A harness folder.", "What", metavar="DIR", common=True
    )
    split: Annotated[str, Text()] = setting(
        "evo", "evo, disc, conf1, conf2, conf3 or cert; of OfficeQA also prov2", "What", metavar="SET", common=True
    )
    variant: Annotated[str, Text()] = setting("released", VARIANTS, "What", metavar="V")
    unseal: Annotated[str | None, Reason()] = setting(None, "Why cert is opened.", "What", metavar="REASON", part="act")
    rollouts: Annotated[int | None, Whole(1, 1000)] = setting(
        None, "Rollouts for each task.", "Sizes", metavar="N", common=True
    )
    exclude_task: Annotated[Sequence[str], Several()] = setting((), "Leave a task out.", "Sizes", metavar="ID")


FEW_TASKS = {"evo": 4, "disc": 4, "conf": 4, "sealed": 8}
"""`conf`: each confirmation set; `sealed`: each of those that are opened at the end."""
ONCE = {"evo": 1, "disc": 1, "conf": 1, "sealed": 1}
PILOT = {"rounds": 1, "split_sizes": FEW_TASKS, "proposals": 4, "history_tokens": 30_000}


class AuditSettings(Paid, Challengers, OwnAgents, Sizes, What):
    """What `chase audit` takes."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pilot": {**PILOT, "rollouts": 1}}
    required: ClassVar[tuple[str, ...]] = ("model", "harness")

    harness: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "The harness to audit.", "What", metavar="DIR", common=True
    )
    baseline: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "What its gain is over; default: H_0.", "What", metavar="DIR", common=True
    )
    baseline_command: Annotated[str | OwnAgent | None, Agents()] = setting(
        None, "Your own agent's baseline: a command.", "What", metavar="COMMAND", common=True
    )
    baseline_folder: Annotated[str | Path | None, Folder()] = setting(
        None, "The baseline's files; default: --agent-folder.", "What", metavar="DIR", common=True
    )
    transformations: Annotated[Sequence[str | Path], Several()] = setting(
        (), "Test these; do not search.", "What", metavar="FILE"
    )
    use_cert: Annotated[str | None, Reason()] = setting(
        None, "Confirm on the sealed tasks too.", "What", metavar="REASON", part="act"
    )
    rounds: Annotated[int, Whole(1, 20)] = setting(1, "Rounds of search.", "Sizes", metavar="N", common=True)
    battery_only: Annotated[bool, Toggle()] = setting(
        False, "Measure the battery, and search for nothing else.", "What", common=True
    )
    no_battery: Annotated[bool, Toggle()] = setting(False, "Search alone; the gain cannot be supported then.", "What")
    whole: Annotated[bool, Toggle()] = setting(False, "Judge the harness as a whole, not by its edits.", "What")
    anyway: Annotated[bool, Toggle()] = setting(False, "Go on where the first tasks show a floor or a ceiling.", "What")
    rollouts: Annotated[int | None, Whole(1, 1000)] = setting(
        None, "Rollouts of a confirmation task.", "Sizes", metavar="N", common=True
    )
    proposals: Annotated[int, Whole(1, 64)] = setting(8, "Proposals in a round.", "Sizes", metavar="N")
    confirm_size: Annotated[int | None, Whole(2, 10**6)] = setting(
        None, "Confirmation tasks; default: all unsealed.", "Sizes", metavar="N"
    )
    level: Annotated[float, Level()] = setting(0.95, "Of all intervals together.", "Sizes", metavar="P")
    no_reduce: Annotated[bool, Toggle()] = setting(False, "Freeze a composition whole, as the paper does.", "Sizes")


class RepairSettings(RunOptions, Money):
    """What `chase repair` takes. Benchmark, model, seed and sizes are the audit's."""

    required: ClassVar[tuple[str, ...]] = ("audit",)

    audit: Annotated[str | None, Text()] = setting(
        None, "The audit that found the shortcut: its id, the beginning of it, or latest.", "What", metavar="RUN",
        common=True,
    )  # fmt: skip
    harness: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "The harness to repair; default: the audit's.", "What", metavar="DIR", common=True
    )
    baseline: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "What its gain is over; default: the audit's.", "What", metavar="DIR", common=True
    )
    out: Annotated[str | Path | None, Folder()] = setting(
        None, "A new folder for the repaired harness; default: in the run's.", "What", metavar="DIR", part="act",
        common=True,
    )  # fmt: skip
    benchmark: Annotated[str | Benchmark[Any] | None, Benchmarks()] = setting(
        None, "The audit's, where its name does not open it.", "What", metavar="B", part="choice"
    )
    data: Annotated[str | Path | None, DataFolder()] = setting(
        None, "Where the benchmark's data are now, if not where they were.", "What", metavar="DIR", part="choice"
    )
    epsilon: Annotated[str | float | None, OfMethod()] = setting(
        None, "Most gain destruction that is left; default: the benchmark's.", "Sizes", metavar="E"
    )


class EvolveSettings(Paid, Proposers, Sizes, What):
    """What `chase evolve` takes."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pilot": {**PILOT, "rollouts": ONCE}}
    of_method: ClassVar[Mapping[str, str]] = {
        "rounds": "rounds", "epsilon": "epsilon", "eta": "eta", "proposals": "proposals", "reduce": "no_reduce",
        "repair": "repair", "confirmation": "confirmation", "placebos": "placebos", "evaluation": "evaluation",
    }  # fmt: skip

    method: Annotated[str, Text()] = setting(
        DEFAULT_METHOD, f"{', '.join(BUILT_IN)}, or one that is installed.", "What", metavar="METHOD", common=True
    )
    harness: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "The initial harness; default: H_0.", "What", metavar="DIR", common=True
    )
    rounds: Annotated[int | None, OfMethod(int)] = setting(None, "Rounds, 1 to 20.", "Sizes", metavar="T", common=True)
    rollouts: Annotated[Counts | None, ByRole(1, 1000)] = setting(
        None, "Of a task by role, e.g. evo=2,conf=5,cert=3", "Sizes", metavar="COUNTS", common=True
    )
    epsilon: Annotated[str | float | None, OfMethod()] = setting(
        None, "Most gain destruction of a selected harness.", "Sizes", metavar="E"
    )
    eta: Annotated[str | float | None, OfMethod()] = setting(
        None, "Least gain destruction that confirms a counterfactual.", "Sizes", metavar="E"
    )
    proposals: Annotated[int | None, OfMethod(int)] = setting(
        None, "Transformations that the Challenger writes a round.", "Sizes", metavar="N"
    )
    no_reduce: Annotated[bool, Toggle()] = setting(False, "Freeze a composition whole, as the paper does.", "Sizes")
    repair: Annotated[bool, Toggle()] = setting(
        False, "Take shortcuts out of promising harnesses; not in the paper.", "Sizes"
    )
    confirmation: Annotated[str | None, OfMethod()] = setting(
        None, "paper (default), or calibrated: a test that holds its error, not in the paper.", "Sizes", metavar="RULE"
    )
    placebos: Annotated[int | None, OfMethod(int)] = setting(
        None, "No-effect variants that each confirmation is tried on.", "Sizes", metavar="K"
    )
    evaluation: Annotated[str | None, OfMethod()] = setting(None, EVALUATIONS, "Sizes", metavar="HOW")
    options: Annotated[Sequence[str] | Mapping[str, Any] | None, Options()] = setting(
        None, "An option of the method; repeatable.", "Sizes", metavar="KEY=VALUE", flag="--option"
    )
    no_certify: Annotated[bool, Toggle()] = setting(False, "Leave the certification set sealed.", "Run", part="choice")
    resume: Annotated[str | None, Text()] = setting(
        None, "Go on with an unfinished run: its id, the beginning of it, or latest.", "Run", metavar="RUN", part="act",
        common=True,
    )  # fmt: skip
    reopen: Annotated[str | None, Reason()] = setting(
        None, "Why a set that was opened is opened again.", "Run", metavar="REASON", part="act"
    )


class CompareSettings(Paid, Proposers, Sizes, On):
    """What `chase compare` takes. Options of a method are said with its name: `chase:confirm=false`."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pilot": {
            "rounds": 1, "split_sizes": FEW_TASKS, "history_tokens": 30_000,
            "rollouts": ONCE,
        }
    }  # fmt: skip

    methods: Annotated[str | Sequence[str], Names()] = setting(
        "all", "all, ablations, or names, each with options after colons: chase,chase:confirm=false", "What",
        metavar="METHODS", common=True,
    )  # fmt: skip
    seeds: Annotated[str | Sequence[int], Seeds()] = setting(
        "0", "Run seeds, e.g. 0-9 or 1,2,5", "What", metavar="SEEDS", common=True
    )
    harness: Annotated[HarnessLike | None, Harnesses()] = setting(
        None, "The initial harness; default: H_0.", "What", metavar="DIR", common=True
    )
    match: Annotated[str | None, Text()] = setting(
        None, f"Whose episodes a matched-budget control gets; default: {DEFAULT_METHOD}, where it is compared.",
        "What", metavar="METHOD",
    )  # fmt: skip
    rounds: Annotated[int | None, OfMethod(int)] = setting(
        None, "Rounds of every method that has them, 1 to 20.", "Sizes", metavar="T", common=True
    )
    evaluation: Annotated[str | None, OfMethod()] = setting(None, EVALUATIONS, "Sizes", metavar="HOW")
    rollouts: Annotated[Counts | None, ByRole(1, 1000)] = setting(
        None, "Of a task by role, e.g. evo=2,conf=5,cert=3", "Sizes", metavar="COUNTS", common=True
    )
    no_certify: Annotated[bool, Toggle()] = setting(False, "Leave the certification set sealed.", "Run", part="choice")
    resume: Annotated[str | None, Text()] = setting(
        None, "Go on with an unfinished comparison: its id, the beginning of it, or latest.", "Run", metavar="RUN",
        part="act", common=True,
    )  # fmt: skip
    reopen: Annotated[str | None, Reason()] = setting(
        None, "Why seeds that were certified in another comparison are certified again.", "Run", metavar="REASON",
        part="act",
    )  # fmt: skip


class CertifySettings(Caps, Located):
    """What `chase certify` takes beside its run."""

    required: ClassVar[tuple[str, ...]] = ()

    data: Annotated[str | Path | None, DataFolder()] = setting(
        None, "Where the benchmark's data are now, if not where they were.", "Run", metavar="DIR", part="act"
    )
    reopen: Annotated[str | None, Reason()] = setting(
        None, "Certify again. The reason stays in the record.", "Run", metavar="REASON", part="act", common=True
    )
    k: Annotated[str | None, Text()] = setting(
        None, "K(A) of Theorem 1, or inf; default: searched where B_0 is known.", "Theory", metavar="K", part="act"
    )
    rho: Annotated[float | None, Amount()] = setting(
        None, "ρ of Theorem 1, from K = 2 on; taken as an estimate.", "Theory", metavar="X", part="act"
    )
    gamma: Annotated[float | None, Amount()] = setting(
        None, "γ of Theorems 2 and 3, at most 1.", "Theory", metavar="X", part="act"
    )
    packing_c: Annotated[float | None, Amount()] = setting(
        None, "C of Theorem 2's packing condition.", "Theory", metavar="X", part="act"
    )
    packing_d: Annotated[float | None, Amount()] = setting(
        None, "d of Theorem 2's packing condition.", "Theory", metavar="X", part="act"
    )


class AnalyzeSettings(Settings):
    """What `chase analyze` takes. It runs nothing, so there is no model, no benchmark and no workspace."""

    required: ClassVar[tuple[str, ...]] = ("scores",)

    scores: Annotated[str | Path | Sequence[Mapping[str, Any]], Rows()] = setting(
        "", "CSV or JSONL with task, harness, variant, rollout, score.", "What", metavar="FILE", part="act",
        common=True,
    )  # fmt: skip
    baseline: Annotated[str | None, Text()] = setting(
        None, "The harness that the gain is over, as the scores name it.", "What", metavar="NAME", part="act",
        common=True,
    )  # fmt: skip
    harness: Annotated[str | None, Text()] = setting(
        None, "The harness with the gain; default: the only other.", "What", metavar="NAME", part="act", common=True
    )
    released: Annotated[str, Text()] = setting(
        "released", "The variant that is the released benchmark.", "What", metavar="NAME", part="act"
    )
    level: Annotated[float, Level()] = setting(0.95, "Of all intervals together.", "What", metavar="P", part="act")
    seed: Annotated[int, Whole(0, 2**31 - 1)] = setting(
        0, "Of the bootstrap on the log-odds scale.", "What", metavar="S", part="act"
    )


class PlanSettings(Located):
    """What `chase plan` takes. It runs nothing, so there is no model."""

    required: ClassVar[tuple[str, ...]] = ()

    benchmark: Annotated[str | Benchmark[Any] | None, Benchmarks()] = setting(
        None, "e.g. syn-ledger@7x40; default: the run's.", "What", metavar="B", part="act", common=True
    )
    data: Annotated[str | Path | None, DataFolder()] = setting(
        None, "The folder with the benchmark's data, for one that needs it.", "What", metavar="DIR", part="act"
    )
    delta: Annotated[float, Share()] = setting(
        0.15, "The gain destruction to be found.", "What", metavar="D", part="act", common=True
    )
    noise_from: Annotated[str | None, Text()] = setting(
        None, "An evolution or audit whose noise is taken: its id, the beginning of it, or latest.", "What",
        metavar="RUN", part="act", common=True,
    )  # fmt: skip
    sd: Annotated[float | None, Amount()] = setting(
        None, "Or its standard deviation between tasks, at the benchmark's rollouts.", "What", metavar="SD",
        part="act", common=True,
    )  # fmt: skip
    alpha: Annotated[float, Share()] = setting(
        0.05, "Error of all rounds together, and of a certification.", "Sizes", metavar="A", part="act"
    )
    power: Annotated[float, Share()] = setting(0.8, "How often it is to be found.", "Sizes", metavar="P", part="act")
    rounds: Annotated[int, Whole(1, 20)] = setting(
        3, "Rounds, and counterfactuals that are certified.", "Sizes", metavar="T", part="act"
    )
    rollout_usd: Annotated[float | None, Dollars()] = setting(
        None, "What a rollout costs.", "Money", metavar="USD", part="act"
    )


WITH_A_FILE: tuple[type[Settings], ...] = (
    RolloutSettings, AuditSettings, RepairSettings, EvolveSettings, CompareSettings,
)  # fmt: skip
"""Commands that have a config file."""


class DoctorSettings(Place, Asked):
    """What `chase doctor` takes. Its config file may be that of any command."""

    required: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def file_keys(cls) -> frozenset[str]:
        return frozenset().union(*(command.file_keys() for command in WITH_A_FILE))
