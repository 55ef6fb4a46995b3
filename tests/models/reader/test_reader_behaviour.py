"""The simulated reader: what it sees, what its directives do, and that nothing in it names a planted feature."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, TextPart, UserPromptPart
from tests.engine.rollouts import make_job, roll
from tests.models.reader.reading import H0, Deed, mean_score, read, told

import chase.models.reader
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import FIELDS
from chase.benchmarks.syn_ledger.features import FEATURES
from chase.benchmarks.syn_ledger.manifest import EXTENSIONS
from chase.benchmarks.syn_ledger.rendering import WINDOW, render
from chase.core.errors import UserError
from chase.core.observables import OBSERVABLES
from chase.core.values import Sighting
from chase.harness.spec import Activation, Guidance, Harness, Preference
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.reader import directives
from chase.models.reader.directives import Directives, read_directives
from chase.models.reader.mind import Mind, Parameters, _ranks, _untidiness
from chase.models.reader.model import _respond, load_parameters
from chase.models.reader.reading import read_result
from chase.testing.scripted import Request, Step, scripted

FOLDER = Path(chase.models.reader.__file__).parent


@pytest.fixture(scope="module")
def tasks(ledger: SynLedger) -> list[str]:
    return list(ledger.tasks("evo"))


# What it sees


def test_it_is_given_messages_tools_parameters_and_a_seed_and_nothing_else() -> None:
    assert list(inspect.signature(_respond).parameters) == ["messages", "tools", "parameters", "seed"]
    assert set(Mind.__slots__) == {"parameters", "directives", "question", "seed", "budgets"}


def test_it_imports_nothing_of_any_benchmark_harness_or_engine() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            ours = [name for name in names if name.startswith("chase")]
            assert all(name.startswith(("chase.core", "chase.models")) for name in ours), (path.name, ours)


def test_no_parameter_names_a_planted_feature_or_an_observable() -> None:
    names = tomllib.loads((FOLDER / "parameters.toml").read_text())
    assert set(names) == set(Parameters.__slots__)
    for name in names:
        words = set(re.split("[-_]", name))
        assert not words & set(FEATURES)
        assert not any(words >= set(observable.split("-")) for observable in OBSERVABLES)


def test_no_text_in_its_code_is_a_features_or_an_observables_name() -> None:
    """Documentation aside. It goes through all observables alike, so it needs none by name."""
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text())
        documentation = {
            id(node.value)
            for parent in ast.walk(tree)
            for node in ast.iter_child_nodes(parent)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                assert node.value not in FEATURES, (path.name, node.value)
                assert not any(name in node.value for name in OBSERVABLES if "-" in name), (path.name, node.value)


ONE_APART = {
    "listing-position": ({"listing": 0}, {"listing": 1}),
    "hit-position": ({"hit": 0}, {"hit": 1}),
    "path-depth": ({"path": "x/a.md"}, {"path": "x/y/a.md"}),
    "name-digits": ({"path": "abc.md"}, {"path": "ab1.md"}),
    "extension-length": ({"path": "a.md"}, {"path": "a.text"}),
    "folder-initial": ({"path": "ab/a.md"}, {"path": "bb/a.md"}),
}
"""Two ways to show a document that differ in this observable alone."""


@pytest.mark.parametrize("name", ONE_APART)
def test_its_taste_weighs_every_observable_alike(name: str) -> None:
    first, second = ONE_APART[name]
    shown = [Sighting(**{"id": "bb", "path": "a.md", **first}), Sighting(**{"id": "bab", "path": "a.md", **second})]
    assert [key for key, value in OBSERVABLES.items() if value(shown[0]) != value(shown[1])] == [name]
    assert _untidiness(tuple(shown), (), 1.0) == {"bb": 0.0, "bab": 1.0}


def test_it_falls_for_other_planted_features_too(ledger: SynLedger, other_ledger: SynLedger) -> None:
    for benchmark in (ledger, other_ledger):
        tasks = [task for role in benchmark.roles if role != "cert" for task in benchmark.tasks(role)]
        released, neutral = (mean_score(read(benchmark, tasks, variant=name)) for name in ("released", "neutral"))
        assert released > neutral, benchmark.name


def test_the_same_history_gets_the_same_reply_in_any_process(ledger: SynLedger, tmp_path: Path) -> None:
    replies: list[tuple[Request, str]] = []

    def reader(request: Request) -> Step:
        response = _respond(list(request.messages), list(request.tools), load_parameters(), request.seed or 0)
        replies.append((request, repr(response.parts[0])))
        return response

    for task in ledger.tasks("evo")[:2]:
        asyncio.run(roll(make_job(ledger, H0, task=task), scripted(reader)))
    saved = [
        {"messages": json.loads(ModelMessagesTypeAdapter.dump_json(list(request.messages))), "seed": request.seed}
        for request, _ in replies
    ]
    tools = [[tool.name, tool.description] for tool in replies[0][0].tools]
    (tmp_path / "history.json").write_text(json.dumps({"requests": saved, "tools": tools}))
    program = (
        "import json, sys\n"
        "from pydantic_ai.messages import ModelMessagesTypeAdapter as Messages\n"
        "from pydantic_ai.tools import ToolDefinition\n"
        "from chase.models.reader.model import _respond, load_parameters\n"
        "history = json.load(open(sys.argv[1]))\n"
        "tools = [ToolDefinition(name=n, description=d, parameters_json_schema={}) for n, d in history['tools']]\n"
        "for r in history['requests']:\n"
        "    response = _respond(Messages.validate_python(r['messages']), tools, load_parameters(), r['seed'])\n"
        "    print(repr(response.parts[0]))\n"
    )
    environment = {"PYTHONHASHSEED": "12345", "PATH": ""}
    line = [sys.executable, "-c", program, str(tmp_path / "history.json")]
    heard = subprocess.run(line, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()
    assert heard == [text for _, text in replies]


def test_it_keeps_within_the_calls_that_the_tools_say_there_are(ledger: SynLedger, tasks: list[str]) -> None:
    for variant in ("released", "neutral"):
        for deed in read(ledger, tasks, variant=variant, read_on=1.0, overlook=0.5):
            events = [event for event in deed.rollout.trace["events"] if event["event"] == "tool"]
            assert all(event["ok"] for event in events)


def test_a_question_it_does_not_know_is_answered_so() -> None:
    response = _respond([ModelRequest(parts=[UserPromptPart("What is love?")])], [], load_parameters(), 0)
    assert isinstance(response.parts[0], TextPart)
    assert response.parts[0].content == "I do not understand the question."


# How it reads


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("form", EXTENSIONS)
def test_it_reads_every_record_in_every_format(ledger: SynLedger, form: str, newline: str) -> None:
    for task in ledger.tasks("evo")[:3]:
        made = ledger.generated[task]
        for document, protocol in zip(made.task.documents, made.released, strict=True):
            for trailing in ("", "  "):
                shown = replace(protocol, format=form, newline=newline, trailing=trailing)  # type: ignore[arg-type]
                file = render(document, shown)
                records = [document.records[index] for index in shown.order]
                expected = [{name: str(getattr(record, name)) for name in FIELDS} for record in records]
                for number, text in enumerate(file.windows):
                    first = number * WINDOW + 1
                    head = f"{file.path} [{file.id}], records {first}-{first + WINDOW - 1} of 6:"
                    [window] = read_result("open_file", f"{head}\n{text}").windows
                    assert (window.id, window.number, window.last) == (file.id, number, number == 1)
                    assert list(window.records) == expected[number * WINDOW : (number + 1) * WINDOW]
                head = f"{file.path} [{file.id}], records 1-{WINDOW} of 6:"
                both = read_result("open_file", "\n".join([head, *file.windows])).windows
                assert [window.number for window in both] == [0, 1]
                assert [record for window in both for record in window.records] == expected


def test_a_refused_call_gives_it_nothing() -> None:
    for tool in ("search", "open_file", "list_files"):
        result = read_result(tool, "No open calls left: this task allows 6 of them and 12 calls in all.")
        assert result.refused
        assert not result.entries
        assert not result.windows


# Its settings


def test_a_study_setting_changes_behaviour_and_fingerprint() -> None:
    plain = connect(ModelConfig(name="sim:reader"))
    studied = connect(ModelConfig(name="sim:reader", settings={"read_on": 0.123}))
    again = connect(ModelConfig(name="sim:reader", settings={"read_on": 0.123}))
    assert plain.fingerprint != studied.fingerprint == again.fingerprint


def test_other_parameters_in_the_file_are_another_model(monkeypatch: pytest.MonkeyPatch) -> None:
    before = connect(ModelConfig(name="sim:reader")).fingerprint
    changed = replace(load_parameters(), overlook=0.5)
    monkeypatch.setattr("chase.models.reader.model.load_parameters", lambda changes: changed)
    assert connect(ModelConfig(name="sim:reader")).fingerprint != before


@pytest.mark.parametrize("settings", [{"reed_on": 1}, {"read_on": "often"}, {"read_on": True}, {"results": 2.5}])
def test_a_setting_that_is_none_of_its_parameters_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match="parameter of sim:reader"):
        connect(ModelConfig(name="sim:reader", settings=settings))


def test_another_rollout_draws_anew(ledger: SynLedger, tasks: list[str]) -> None:
    first, second = (read(ledger, tasks, indices=[index], taste_noise=0.5) for index in (0, 1))
    assert [deed.calls for deed in first] != [deed.calls for deed in second]
    assert [deed.calls for deed in first] == [deed.calls for deed in read(ledger, tasks, taste_noise=0.5)]


# Its directives


def test_the_vocabulary_is_what_the_table_says() -> None:
    plain = Directives()
    for text, expected in {
        "Search for the entity and each period.": replace(plain, by_period=True),
        "Search with the conditions.": replace(plain, with_conditions=True),
        "Read on.": replace(plain, read_on="always"),
        "Do not read on.": replace(plain, read_on="never"),
        "Read on in files with low path-depth.": replace(plain, read_on_in=(("path-depth", "low"),)),
        "Read on in files with high name-length.": replace(plain, read_on_in=(("name-length", "high"),)),
        "Prefer files with low path-depth.": replace(plain, prefer=(("path-depth", "low"),)),
        "Check every condition.": replace(plain, check_conditions=True),
        "Look at every record.": replace(plain, look_closely=True),
        "Use the calculator.": replace(plain, calculator=True),
        "Prefer files with low nonsense.": plain,
        "You should continue reading and compute carefully.": plain,
        "": plain,
    }.items():
        assert read_directives(text) == expected, text
        assert read_directives(text.upper().replace(" ", "\n")) == expected, text


def test_every_row_of_the_documented_table_is_recognised() -> None:
    rows = re.findall(r"^\| (`.+?) \|", directives.__doc__ or "", re.MULTILINE)
    assert len(rows) == 9
    for row in rows:
        text = re.findall("`(.+?)`", row)[0].replace(" X", " path-depth")
        assert read_directives(text) != Directives(), row


def test_what_is_no_directive_changes_nothing(ledger: SynLedger, tasks: list[str]) -> None:
    plain = read(ledger, tasks[:8])
    chatty = read(ledger, tasks[:8], told("Think step by step, read carefully and do your best."))
    assert [deed.calls for deed in plain] == [deed.calls for deed in chatty]


@pytest.mark.parametrize("place", ["prompt", "memory", "instructions", "guidance", "late guidance"])
def test_a_directive_works_wherever_the_harness_says_it(ledger: SynLedger, tasks: list[str], place: str) -> None:
    text = "Use the calculator."
    structure = H0.structure
    if place == "instructions":
        structure = structure.model_copy(update={"tools": structure.tools.model_copy(update={"instructions": text})})
    when = Activation(opened_at_least=1) if place == "late guidance" else Activation()
    harness = Harness(
        structure=structure,
        prompt=f"{H0.prompt} {text}" if place == "prompt" else H0.prompt,
        memory=text if place == "memory" else "",
        guidance=(Guidance(name="g", when=when, text=text),) if "guidance" in place else (),
    )
    deeds = [deed for deed in read(ledger, tasks[:12], harness) if re.fullmatch(r"-?\d+", deed.answer or "")]
    assert deeds
    for deed in deeds:
        assert bool(deed.made("calculator")) == (place != "late guidance" or bool(deed.opened))


def test_it_searches_for_each_amount_or_as_it_is_told(ledger: SynLedger, tasks: list[str]) -> None:
    def asked(*directives: str) -> dict[str, list[str]]:
        # Nothing is found before all queries are made: every record is overlooked.
        return {deed.task: deed.queries for deed in read(ledger, tasks, told(*directives), overlook=1.0)}

    plain, by_period = asked(), asked("Search for the entity and each period.")
    with_conditions = asked("Search with the conditions.")
    for task in tasks:
        query = ledger.task(task).query
        named = ledger.slots(ledger.task(task).question)["periods"]
        roles = sorted(query.family.roles, key=lambda role: role.symbol)
        pairs = [f"{query.periods[role.lag]} {role.category}" for role in roles]
        assert plain[task] == [f"{query.entity} {pair}" for pair in pairs]
        assert by_period[task] == [f"{query.entity} {period}" for period in named]
        assert with_conditions[task] == [f"{each} approved enacted prevailing" for each in plain[task]]


def test_a_query_that_the_harness_made_is_not_made_again(ledger: SynLedger, tasks: list[str]) -> None:
    """By its words, in whatever order, not by how many were made."""
    by_period = told("Search for the entity and each period.")
    templated = with_retrieval(by_period, templates=("{period} {entity}",))
    other = with_retrieval(by_period, templates=("{question}",))
    for deed, same, different in zip(*(read(ledger, tasks, h) for h in (by_period, templated, other)), strict=True):
        assert same.queries == deed.queries[1:]
        assert different.queries == deed.queries


def with_retrieval(harness: Harness, **fields: object) -> Harness:
    retrieval = harness.structure.retrieval.model_copy(update=fields)
    return replace(harness, structure=harness.structure.model_copy(update={"retrieval": retrieval}))


def test_a_meaningless_order_of_results_costs_little(ledger: SynLedger) -> None:
    """Matches are marked, so that a result in another order misleads nobody."""
    tasks = [task for role in ledger.roles if role != "cert" for task in ledger.tasks(role)]
    shuffled = with_retrieval(H0, rank=(Preference(observable="id-final", prefer="low", weight=10),))
    plain, moved = (mean_score(read(ledger, tasks, harness)) for harness in (H0, shuffled))
    assert plain - moved < 0.08


def test_what_matches_what_is_missing_is_opened_first(ledger: SynLedger, tasks: list[str]) -> None:
    for deed in read(ledger, tasks, overlook=1.0, lenience=0.0, read_on=0.0):
        events = [event for event in deed.rollout.trace["events"] if event["event"] == "tool"]
        matching = {i["id"] for event in events if event["tool"] == "search" for i in event["items"] if i["matches"]}
        opened = [document in matching for document in dict.fromkeys(deed.opened)]
        assert opened == sorted(opened, reverse=True)


def test_it_does_not_read_on_where_the_match_is_explained(ledger: SynLedger, tasks: list[str]) -> None:
    """A first window with the record that the query found, which fails a condition: the rest cannot hold another."""
    unexplained = 0
    for deed in read(ledger, tasks, told("Read on."), variant="neutral", lenience=0.0, overlook=0.0):
        query = ledger.task(deed.task).query
        manifest = ledger.manifest(deed.task, ledger.variant("neutral"))
        for document in (d for d in ledger.task(deed.task).documents if d.id in deed.reread):
            first = [document.records[index] for index in manifest[document.id].order[:3]]
            about = [r for r in first if r.entity == query.entity and r.period in query.periods]
            wanted = {role.category for role in query.family.roles}
            assert len([r for r in about if r.category in wanted]) < len(wanted)
            unexplained += 1
    assert unexplained > 10


def test_reading_on_by_habit_always_and_never(ledger: SynLedger, tasks: list[str]) -> None:
    def reread(*directives: str, read_on: float) -> int:
        return sum(
            len(deed.reread) for deed in read(ledger, tasks, told(*directives), variant="neutral", read_on=read_on)
        )

    assert reread(read_on=0.0) == 0
    assert 0 < reread(read_on=0.5) < reread(read_on=1.0)
    assert reread(read_on=1.0) < reread("Read on.", read_on=0.0) == reread("Read on.", read_on=1.0)
    assert reread("Do not read on.", read_on=1.0) == 0


@pytest.mark.parametrize("side", ["low", "high"])
def test_reading_on_in_some_files_replaces_the_habit(ledger: SynLedger, tasks: list[str], side: str) -> None:
    harness = told(f"Read on in files with {side} name-length.")
    count = 0
    for deed in read(ledger, tasks, harness, variant="neutral", read_on=1.0):
        files = ledger.view(deed.task, ledger.variant("neutral")).files
        ranks = _ranks(("name-length", side), [Sighting(id=file.id, path=file.path) for file in files])  # type: ignore[arg-type]
        assert all(ranks[document] < 0.5 for document in deed.reread)
        count += len(deed.reread)
    assert count > 0


def test_a_preference_decides_what_is_opened_first(ledger: SynLedger, tasks: list[str]) -> None:
    length = OBSERVABLES["name-length"]

    def opened(side: str) -> list[float]:
        lengths = []
        # Nothing is found, so nothing but taste decides.
        harness = told(f"Prefer files with {side} name-length.")
        nothing_else = {"overlook": 1.0, "lenience": 0.0, "taste_noise": 0.0, "read_on": 0.0}
        for deed in read(ledger, tasks, harness, directive_weight=1000.0, **nothing_else):
            paths = {file.id: file.path for file in ledger.view(deed.task, ledger.variant("released")).files}
            lengths.append([length(Sighting(id=each, path=paths[each])) or 0.0 for each in deed.opened])
            assert lengths[-1] == sorted(lengths[-1], reverse=side == "high")
        return [each[0] for each in lengths]

    assert all(low < high for low, high in zip(opened("low"), opened("high"), strict=True))


def answers(deeds: list[Deed]) -> list[str | None]:
    return [deed.answer for deed in deeds]


def test_care_with_conditions_undoes_lenience(ledger: SynLedger, tasks: list[str]) -> None:
    careless = read(ledger, tasks, lenience=1.0)
    careful = read(ledger, tasks, told("Check every condition."), lenience=1.0, care=0.0)
    strict = read(ledger, tasks, lenience=0.0)
    assert answers(careful) == answers(strict)
    assert mean_score(careless) < mean_score(strict)


def test_care_with_records_undoes_overlooking(ledger: SynLedger, tasks: list[str]) -> None:
    blind = read(ledger, tasks, overlook=1.0, lenience=0.0)
    careful = read(ledger, tasks, told("Look at every record."), overlook=1.0, lenience=0.0, care=0.0)
    sharp = read(ledger, tasks, overlook=0.0, lenience=0.0)
    assert mean_score(blind) == 0.0
    assert set(answers(blind)) == {"I could not find every amount."}
    assert answers(careful) == answers(sharp)
    assert mean_score(sharp) > 0.3


def test_the_calculator_undoes_slips(ledger: SynLedger, tasks: list[str]) -> None:
    slipping = read(ledger, tasks, arithmetic_slip=1.0, lenience=0.0)
    helped = read(ledger, tasks, told("Use the calculator."), arithmetic_slip=1.0, lenience=0.0)
    exact = read(ledger, tasks, arithmetic_slip=0.0, lenience=0.0)
    assert mean_score(slipping) == 0.0
    assert answers(helped) == answers(exact)
    for slip, right in zip(answers(slipping), answers(exact), strict=True):
        if re.fullmatch(r"-?\d+", right or ""):
            assert abs(int(slip or 0) - int(right or 0)) == 10


def test_without_limits_it_answers_what_it_finds_rightly(ledger: SynLedger, tasks: list[str]) -> None:
    """Its reading is sound: with no slips an answer that is a number is the right one."""
    for deed in read(ledger, tasks, variant="neutral", lenience=0.0, overlook=0.0, arithmetic_slip=0.0):
        if re.fullmatch(r"-?\d+", deed.answer or ""):
            assert deed.score == 1.0
