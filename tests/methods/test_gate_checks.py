"""Each check of the generalization gate: a planted violation that it catches, and a legal candidate that passes all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.gate import FORBIDDEN
from chase.core.agents import CandidateTrack
from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts, TaskFacts
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.gate import GeneralizationGate
from chase.methods.gate.changes import CHANGES
from chase.methods.gate.gate import CONTENT
from chase.methods.gate.known import LONG_ANSWER, LONG_NUMBER, SPAN
from chase.methods.selection import Submitted
from chase.testing.ledger import H0

OFFICE = GateFacts(
    realisation="Our own words.",
    checks=frozenset({"eight-token-spans", "year-number-pairs"}),
    tasks=(
        TaskFacts(
            id="UID0007",
            role="evo",
            question="What was the gross public debt of the United States at the end of fiscal year 1939?",
            answer="40,439",
            sources=("treasury_bulletin_1939_08.txt",),
        ),
        TaskFacts(id="UID0011", role="evo", question="Which share was held in 1951?", answer="507"),
        TaskFacts(id="UID0042", role="cert", question="Who signed the report of 1962?", answer="Robert Anderson"),
    ),
    identities=("officeqa",),
    labels=("evo", "disc", "cert"),
    documents=("treasury_bulletin_1939_08.txt", "treasury_bulletin_1951_02.txt"),
)
LEDGER = GateFacts(
    checks=frozenset({"withheld-strings", "generator-terms", "feature-rules", "favorable-levels"}),
    tasks=(
        TaskFacts(
            id="bcdfghjk",
            role="evo",
            question="For Amberdale Agency, what is left in FY2031? Answer with one integer.",
            answer="57",
            identity=("Amberdale Agency", "FY2031"),
            sources=("accounts/annex/quarterly-extraction.csv", "quarterly-extraction"),
        ),
        TaskFacts(
            id="lmnpqrst",
            role="cert",
            question="For Birchmoor Bureau, what do both add up to in FY2044? Answer with one integer.",
            answer="83",
            identity=("Birchmoor Bureau", "FY2044"),
        ),
    ),
    identities=("syn-ledger@7", "syn-ledger"),
    labels=("evo", "disc", "conf1", "cert", "neutralise-filename"),
    documents=("books/fund.md", "fund.md"),
    generator_terms=("distractor", "wrong-entity"),
    favorable=("favorable", "short, regular, lexically early name"),
    features=FORBIDDEN,
)
RECORD = {"activation": "always"}
AFTER = "after_tool(tool, result, state)"
TOLD_AS = {check.name: check.told_as or check.name for check in CONTENT}


def harness(**changes: Any) -> Harness:
    """`H_0` with other texts; dotted keys of `harness.toml` under `fields`."""
    fields: Mapping[str, Any] = changes.pop("fields", {})
    data = H0.structure.model_dump(by_alias=True)
    for key, value in fields.items():
        table, _, name = key.partition(".")
        data[table][name] = value
    return replace(H0, structure=type(H0.structure).model_validate(data), **changes)


def code(body: str, hook: str = "rerank(hits, state)") -> Harness:
    return harness(control_source=f"def {hook}:\n" + "".join(f"    {line}\n" for line in body.splitlines()))


def gate(facts: GateFacts, initial: Harness = H0) -> GeneralizationGate:
    return GeneralizationGate(facts, initial=initial, observed=("evo",))


def refusal(facts: GateFacts, candidate: Harness, **more: Any) -> str:
    """What the gate says of a candidate; nothing where it passes."""
    given = {"current": H0, "record": RECORD, **more}
    try:
        gate(facts).admit(Submitted(name="r1-x", harness=candidate, **given))
    except UserError as error:
        return str(error)
    return ""


def caught(facts: GateFacts, candidate: Harness) -> set[str]:
    return {finding.check for finding in gate(facts).findings(candidate)}


def memory(text: str) -> Harness:
    return harness(memory=text)


PLANTED: list[tuple[str, GateFacts, Harness, Harness]] = [
    # check, facts, what it catches, what it lets pass
    ("identifiers", OFFICE, memory("Skip UID0007."), memory("Skip a table without a unit.")),
    ("identifiers", LEDGER, code("return 'bcd' + 'fghjk'"), code("return 'general'")),
    ("labels", OFFICE, memory("On cert tasks read twice."), memory("On certain tasks read twice.")),
    ("labels", OFFICE, memory("The gold source is the later table."), memory("Gold stock is given in ounces.")),
    ("labels", LEDGER, memory("Under neutralise_filename read on."), memory("Neutral wording is fine.")),
    ("identities", LEDGER, memory("This is Syn-Ledger."), memory("This is a ledger.")),
    ("identities", LEDGER, memory("For Amberdale Agency read on."), memory("For an agency read on.")),
    ("identities", LEDGER, harness(fields={"retrieval.templates": ("FY2031",)}), memory("Search for the fiscal year.")),
    (
        "observed-questions",
        LEDGER,
        memory("for amberdale agency what is left in fy2031"),
        memory("What is left is a difference."),
    ),
    ("withheld-strings", LEDGER, memory("Birchmoor  Bureau"), memory("Birch and moor")),
    ("withheld-strings", LEDGER, memory("It ends in FY 2044: FY2044."), memory("It ends in a fiscal year.")),
    (
        "eight-token-spans",
        OFFICE,
        memory("Find the gross public debt of the United States at once."),
        memory("Find the gross public debt of the country, at a date."),
    ),
    (
        "eight-token-spans",
        OFFICE,
        harness(fields={"tools.instructions": "Debt of the United\nStates at the end of FISCAL years"}),
        harness(fields={"tools.instructions": "Debt of the United States at a year's end."}),
    ),
    ("gold-sources", OFFICE, memory("See Treasury-Bulletin 1939_08.txt."), memory("See the bulletin of that month.")),
    ("gold-sources", LEDGER, memory("Open quarterly-extraction."), memory("Open the quarterly one.")),
    ("year-number-pairs", OFFICE, memory("In 1951 look up.\n\nThen 507."), memory("In 1951 look up. Then 508.")),
    ("year-number-pairs", OFFICE, code("return [1951, 507]"), code("return [1952, 507]")),
    ("private-names", OFFICE, memory("Read /home/someone/data/answers.txt."), memory("Read and/or sum the rows.")),
    ("private-names", OFFICE, code("return state.__class__"), code("return state['question']")),
    ("private-names", OFFICE, code("import chase\nreturn chase"), code("import re\nreturn re")),
    ("private-names", OFFICE, memory("They are in scores.jsonl."), memory("Scores are in a table.")),
    ("generator-terms", LEDGER, memory("Leave distractors: a distractor has"), memory("Leave superseded records.")),
    ("generator-terms", LEDGER, code("wrong_entity = 1\nreturn wrong_entity"), code("entity = 1\nreturn entity")),
    ("favorable-levels", LEDGER, memory("Favorable files come first."), memory("Read both files.")),
    ("answers", OFFICE, memory("It comes to 40439."), memory("It comes to a five-digit sum.")),
    ("answers", OFFICE, memory("Robert  Anderson signs."), memory("A secretary signs.")),
    ("answers", LEDGER, memory("The answer is 57."), memory("Answer within 57 words.")),
    ("answers", LEDGER, code("return '57'", "check_answer(answer, state)"), code("return list(range(57))")),
    # rules
    ("lookup-tables", LEDGER, code("table = {'FY2031': 1}\nreturn table"), code("return {'queries': [], 'note': ''}")),
    (
        "lookup-tables",
        OFFICE,
        code("table = {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7}\nreturn table"),
        code("stop = ['the', 'of', 'and', 'in', 'to', 'a', 'is', 'on']\nreturn stop"),
    ),
    ("lookup-tables", LEDGER, code("return [57, 83, 57]"), code("return [1, 2, 3]")),
    (
        "lookup-tables",
        OFFICE,
        memory("Known:\n- debt: 12\n- gold: 13\n- silver: 14"),
        memory("Known:\n- debt: in millions\n- gold: in ounces\n- silver: in ounces"),
    ),
    (
        "lookup-tables",
        OFFICE,
        code("\n".join(["x = 1", *(f"{'if' if n == 0 else 'elif'} x == {n}:\n    return [{n}]" for n in range(8))])),
        code("x = 1\nif x == 1:\n    return [1]\nelif x == 2:\n    return [2]"),
    ),
    ("task-membership", OFFICE, memory("In question 12 use the index."), memory("In each question use the index.")),
    (
        "task-membership",
        OFFICE,
        code("if state['question'] == 'Which share was held then?':\n    return [0]"),
        code("if 'share' in state['question']:\n    return [0]"),
    ),
    (
        "task-membership",
        OFFICE,
        code("q = state['question'].lower()\nif len(q) == 57:\n    return [0]"),
        code("q = state['question'].lower()\nif q.count('fy') == 2:\n    return [0]"),
    ),
    ("task-membership", OFFICE, code("return hash(state['question']) % 2"), code("return len(hits)")),
    (
        "task-membership",
        LEDGER,
        code("if state['slots']['entity'] == ['Oakwood Office']:\n    return [0]"),
        code("if len(state['slots']['periods']) == 2:\n    return [0]"),
    ),
    # observable features, in each way of our harness language
    (
        "feature-rules",
        LEDGER,
        harness(fields={"retrieval.rank": ({"observable": "path-depth", "prefer": "low"},)}),
        harness(fields={"retrieval.rank": ({"observable": "capital-words", "prefer": "low"},)}),
    ),
    (
        "feature-rules",
        LEDGER,
        harness(fields={"tools.read_on": {"when": "observable", "observable": "hit-position", "at_most": 2}}),
        harness(fields={"tools.read_on": {"when": "always"}}),
    ),
    ("feature-rules", LEDGER, memory("Prefer short file names."), memory("Prefer records that are approved.")),
    ("feature-rules", LEDGER, memory("Files whose names are rather short first."), memory("Name the entity.")),
    ("feature-rules", LEDGER, memory("Stay near the root of the folders."), memory("Stay with the entity.")),
    ("feature-rules", LEDGER, memory("Trust the top three results."), memory("First search, then read the results.")),
    ("feature-rules", LEDGER, memory("Markdown is best."), memory("A table is read row by row.")),
    (
        "feature-rules",
        LEDGER,
        harness(guidance=(Guidance(name="prefer-low-name-length", when=Activation(), text="As it says."),)),
        harness(guidance=(Guidance(name="prefer-names", when=Activation(), text="As it says."),)),
    ),
    (
        "feature-rules",
        LEDGER,
        code("return sorted(range(len(hits)), key=lambda i: len(hits[i]['path']))"),
        code("return sorted(range(len(hits)), key=lambda i: 'approved' in hits[i]['text'])"),
    ),
    (
        "feature-rules",
        LEDGER,
        code("where = hits[0]['path']\nif where.count('/') > 1:\n    return [0]"),
        code("where = hits[0]['path']\nreturn where"),
    ),
    ("feature-rules", LEDGER, code("return hits[0]['observables']['name' + '-length']"), code("return hits[0]['id']")),
    ("feature-rules", LEDGER, code("return [i for i, h in enumerate(hits) if i < 2]"), code("return list(range(3))")),
    (
        "feature-rules",
        LEDGER,
        code("found = state['items']\nfor i in range(len(found)):\n    if i > 1:\n        return 'Skip it.'", AFTER),
        code(
            "found = state['items']\nfor i in range(len(found)):\n    if found[i]['text']:\n        return 'See.'",
            AFTER,
        ),
    ),
    (
        "feature-rules",
        LEDGER,
        code("return sorted(range(len(hits)), key=lambda i: -i)"),
        code("return sorted(range(len(hits)), key=lambda i: (hits[i]['text'], i))"),
    ),
]


@pytest.mark.parametrize(("check", "facts", "planted", "legal"), PLANTED)
def test_a_planted_violation_is_caught_and_its_legal_twin_passes_everything(
    check: str, facts: GateFacts, planted: Harness, legal: Harness
) -> None:
    assert check in caught(facts, planted)
    assert f"{TOLD_AS[check]}: " in refusal(facts, planted)
    assert caught(facts, legal) == set()
    assert refusal(facts, legal) == ""


def test_every_check_on_contents_has_a_planted_violation() -> None:
    assert {check.name for check in CONTENT} == {check for check, *_ in PLANTED}


@pytest.mark.parametrize(
    "place",
    ["prompt.md", "memory.md", "guidance/x.md", "retrieval.templates", "tools.instructions", "control.py"],
)
def test_all_six_components_are_scanned(place: str) -> None:
    text = "Skip UID0007."
    made = {
        "prompt.md": harness(prompt=f"{H0.prompt} {text}"),
        "memory.md": memory(text),
        "guidance/x.md": harness(guidance=(Guidance(name="x", when=Activation(opened_at_least=1), text=text),)),
        "retrieval.templates": harness(fields={"retrieval.templates": (text,)}),
        "tools.instructions": harness(fields={"tools.instructions": text}),
        "control.py": code(f"return '{text}'"),
    }
    assert refusal(OFFICE, made[place]).startswith(f"the generalization gate refuses it: identifiers: {place} names")


@pytest.mark.parametrize(("check", "facts", "planted", "legal"), PLANTED)
def test_a_refusal_gives_nothing_hidden_away(check: str, facts: GateFacts, planted: Harness, legal: Harness) -> None:
    told = refusal(facts, planted).lower()
    hidden = [text for task in facts.tasks for text in (task.id, task.question, *task.identity, *task.sources)]
    hidden += [*facts.documents, *(task.answer for task in facts.tasks)]
    assert not [text for text in hidden if text.lower() in told]


def test_a_name_is_refused_in_the_same_words_whether_it_is_gold_or_not() -> None:
    gold, other = (refusal(OFFICE, memory(f"Open {name}.")) for name in OFFICE.documents)
    assert gold == other != ""


def test_a_string_is_refused_in_the_same_words_whether_its_task_is_withheld_or_not() -> None:
    observed, withheld = (refusal(LEDGER, memory(f"As for {task.identity[0]}.")) for task in LEDGER.tasks)
    assert observed == withheld != ""


def test_which_checks_apply_is_the_benchmarks_to_say() -> None:
    spans = memory("Find the gross public debt of the United States at once.")
    features = memory("Prefer short file names.")
    assert caught(OFFICE, features) == caught(replace(OFFICE, checks=frozenset()), spans) == set()
    assert "eight-token-spans" not in gate(LEDGER).record["checks"]
    assert "feature-rules" not in gate(OFFICE).record["checks"]


def test_what_the_initial_harness_says_is_not_held_against_a_candidate() -> None:
    initial = memory("Skip UID0007. Prefer short file names.")
    more = replace(initial, memory=f"{initial.memory} Read every record.")
    assert gate(OFFICE, initial).findings(more) == gate(LEDGER, initial).findings(more) == []
    worse = replace(initial, memory=f"{initial.memory} Skip UID0042. Leave longer names for later.")
    assert [finding.check for finding in gate(OFFICE, initial).findings(worse)] == ["identifiers"]
    assert [finding.check for finding in gate(LEDGER, initial).findings(worse)] == ["feature-rules"]


def test_the_thresholds_are_on_record() -> None:
    assert (SPAN, LONG_NUMBER, LONG_ANSWER) == (8, 3, 4)


def test_the_contract_has_a_common_part_and_the_benchmarks_own() -> None:
    text = gate(OFFICE).contract
    assert text.endswith("For this benchmark\nOur own words.\n")
    for word in ("observed", "nobody has seen", "say when it applies", "look-up table"):
        assert word in text
    assert gate(OFFICE).record["contract"] != gate(LEDGER).record["contract"]
    assert not [task.answer for task in OFFICE.tasks if task.answer in text]


# What a candidate changes

STRUCTURAL = harness(fields={"retrieval.diverse": True})
GUIDANCE = memory("Read every record.")
BOTH = harness(fields={"retrieval.diverse": True}, memory="Read each record once more.")
SIBLINGS = {"structural": STRUCTURAL, "guidance": GUIDANCE}


@pytest.mark.parametrize(
    ("track", "candidate", "accepted", "said"),
    [
        ("structural", STRUCTURAL, {}, ""),
        ("structural", code("return list(range(len(hits)))"), {}, ""),
        ("structural", harness(fields={"control.repairs": 1, "tools.reserved_reads": 2}), {}, ""),
        ("structural", BOTH, {}, "a structural candidate changes guidance"),
        ("structural", harness(fields={"tools.reserved_reads": 2}), {}, "changes no retrieval or control field"),
        ("guidance", GUIDANCE, {}, ""),
        ("guidance", BOTH, {}, "a guidance candidate changes structure"),
        ("integrated", BOTH, SIBLINGS, ""),
        ("integrated", STRUCTURAL, SIBLINGS, "has no guidance change"),
        ("integrated", GUIDANCE, SIBLINGS, "has no structural change"),
        ("integrated", BOTH, {"structural": STRUCTURAL}, "there is no guidance candidate in this round"),
        (
            "integrated",
            BOTH,
            {"structural": harness(fields={"control.repairs": 1}), "guidance": GUIDANCE},
            "has no change of the structural candidate",
        ),
        (
            "integrated",
            harness(fields={"retrieval.diverse": True}, prompt=f"{H0.prompt} Read on."),
            SIBLINGS,
            "has no change of the guidance candidate",
        ),
    ],
)
def test_tracks_are_kept_apart_and_joined(
    track: CandidateTrack, candidate: Harness, accepted: Mapping[str, Harness], said: str
) -> None:
    told = refusal(OFFICE, candidate, track=track, accepted=accepted)
    assert ("tracks: " in told, said in told) == (bool(said), True)


COMMENTED = "def rerank(hits: list, state) -> list:\n    'Keep it.'\n    return list(range(len(hits)))\n"


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (memory("Read  on.\n"), memory("Read on.")),
        (
            code("return list(range(len(hits)))"),
            harness(control_source=f"# why\n{COMMENTED}"),
        ),
    ],
)
def test_layout_and_comments_are_no_effective_change(now: Harness, then: Harness) -> None:
    assert now.hash != then.hash
    assert "effective-change: " in refusal(OFFICE, then, current=now)
    assert refusal(OFFICE, now, current=H0) == ""
    assert "effective-change: " in refusal(OFFICE, now, current=now)


def test_a_harness_of_an_earlier_round_is_a_duplicate() -> None:
    told = refusal(OFFICE, GUIDANCE, evaluated={"r1-guidance": GUIDANCE})
    assert "duplicates: the same as r1-guidance, which was evaluated" in told


@pytest.mark.parametrize(
    ("candidate", "record", "passes"),
    [
        (memory("Read on."), {"activation": "when nothing was found"}, True),
        (memory("Read on."), {"activation": "always"}, True),
        (memory("Read on."), {"activation": " "}, False),
        (memory("Read on."), {}, False),
        (memory("Read on when nothing was found."), {}, True),
        (memory("Read on when nothing was found. Look twice."), {}, False),
        (harness(guidance=(Guidance(name="x", when=Activation(), text="Read on."),)), {}, False),
        (harness(guidance=(Guidance(name="x", when=Activation(opened_at_least=1), text="Read on."),)), {}, True),
        (STRUCTURAL, {}, True),
    ],
)
def test_a_new_rule_says_when_it_applies(candidate: Harness, record: dict[str, str], passes: bool) -> None:
    told = refusal(OFFICE, candidate, record=record)
    assert ("conditions: " not in told) == passes == (told == "")


def test_the_page_about_the_gate_names_every_check() -> None:
    page = (Path(__file__).parents[2] / "docs" / "generalization-gate.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z-]+)` \|", page, re.M)
    assert sorted(named) == sorted(check.name for check in (*CHANGES, *CONTENT))


def test_every_check_on_changes_is_tested_here() -> None:
    assert [check.name for check in CHANGES] == ["effective-change", "duplicates", "tracks", "conditions"]
