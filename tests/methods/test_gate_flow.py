"""How the gate follows what `control.py` computes, how it spells out texts, and that the study's verdicts stand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from studies.fixed_filter import harnesses

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.harness.spec import Harness
from chase.methods.gate import GeneralizationGate
from chase.methods.selection import Submitted
from chase.testing.ledger import H0
from tests.methods.test_gate_checks import COMMENTED, LEDGER, OFFICE, caught, code, harness, memory, refusal

ORDER = "return sorted(range(len(hits)), key=lambda i: {})"
FROM_A_PATH = [
    ORDER.format(key)
    for key in (
        "hits[i]['path'].rfind('/')",
        "hits[i]['path'].find('.')",
        "hits[i]['path'].index('/')",
        "sum(c == '/' for c in hits[i]['path'])",
        "hits[i]['path'][-1]",
        "len(str(hits[i]['path']))",
        "len(list(hits[i]['path']))",
        "len(hits[i]['path'].encode())",
        "len(hits[i]['pa' + 'th'])",
        "len(hits[i]['path'].split('-'))",
        "f\"{hits[i]['path']}\".count('/')",
        "hits[i]['path'].translate({47: None}) == hits[i]['path']",
        "hits[i]['path'] < 'm'",
        "any(mark in hits[i]['path'] for mark in ['/', '.'])",
        "(lambda p: len(p))(hits[i]['path'])",
    )
]
FROM_A_PATH += [
    "k = 'path'\n" + ORDER.format("len(hits[i][k])"),
    "def f(p):\n    return len(p)\n" + ORDER.format("f(hits[i]['path'])"),
    "def f(h):\n    return h['path']\n" + ORDER.format("len(f(hits[i]))"),
    "f = lambda p: len(p)\n" + ORDER.format("f(p=hits[i]['path'])"),
    "import re\n" + ORDER.format("len(re.findall('/', hits[i]['path']))"),
    "a, b = hits[0]['path'], 1\nreturn [len(a)]",
    "return [len(p) for p in [h['path'] for h in hits]]",
    "found = []\nfor h in hits:\n    found.append(h['path'])\nreturn [len(p) for p in found]",
    "for i, p in enumerate([h['path'] for h in hits]):\n    match p:\n        case 'x':\n            return [i]",
]
FROM_A_PLACE = [
    "return list(range(len(hits)))[::-1]",
    "return list(reversed(range(len(hits))))",
    "return list(range(len(hits) - 1, -1, -1))",
    "return sorted(range(len(hits)), reverse=True)",
    "return sorted(range(len(hits)), key=lambda i: i, reverse=True)",
    "n = len(hits)\nreturn [n - 1 - i for i in range(n)]",
    "return [hits.index(h) for h in hits[::-1]]",
    "return [h for h in hits if hits.index(h) < 2]",
    "o = list(range(len(hits)))\nreturn o[1:] + o[:1]",
    "o = list(range(len(hits)))\no.reverse()\nreturn o",
    "return [~i % len(hits) for i in range(len(hits))]",
    "return [i for i, h in enumerate(hits) if not i]",
    "return [i for i, h in enumerate(hits) if i in (0, 1)]",
    "scores = [len(h['text']) for h in hits]\nreturn [i for i, s in enumerate(scores) if i > 2]",
    "return [p for p, h in zip(range(len(hits)), hits) if p < 2]",
]
OF_ONE_TASK = [
    "if 75 < len(state['question']) < 77:",
    "if len(state['question']) > 76:",
    "n = len(state['question'])\nif n == 76:",
    "if len(state['question'].split()) == 14:",
    "n = len(state['question'].split())\nif n > 13 and n < 15:",
    "q = state['question']\nif q.find('by how much does the appropriation') >= 0:",
    "q = state['question']\nif q.count('by how much does the appropriation'):",
    "import re\nif re.search('by how much does the', state['question']):",
    "if f\"{state['question']}\" == 'by how much does it':",
    "if state['question'][10:20] == 'le Office,':",
    "if state['question'] < 'G':",
    "if sum(map(ord, state['question'])) == 7123:",
    "if sum(ord(c) for c in state['question']) == 7123:",
    "if {'by', 'how', 'much', 'does'} <= set(state['question'].split()):",
    "if state['slots']['entity'][0].startswith('Heath'):",
    "if len(state['slots']['entity'][0]) == 16:",
    "for value in state['slots'].values():\n    if value == ['Heath']:\n        return []\nif 1:",
    "if hits[0]['id'].startswith('ab'):",
    "if hits[0]['id'] > 'abc':",
]
LETTERS = "abcdefgh"
TABLES = [
    f"return dict({', '.join(f'{c}={n}' for n, c in enumerate(LETTERS))})",
    "d = {}\n" + "\n".join(f"d['{c}'] = {n}" for n, c in enumerate(LETTERS)),
    f"return dict(zip({list(LETTERS)}, range(8)))",
    f"return {{k: v for k, v in zip('{' '.join(LETTERS)}'.split(), range(8))}}",
    "q = state['step']\n" + "\n".join(f"if q == '{c}':\n    return [{n}]" for n, c in enumerate(LETTERS)),
    "q = state['step']\nreturn " + " ".join(f"{n} if q == '{c}' else" for n, c in enumerate(LETTERS)) + " 9",
    "q = state['step']\nreturn " + " or ".join(f"(q == '{c}' and {n})" for n, c in enumerate(LETTERS)),
    "q = state['step']\nreturn [" + ", ".join(f"q.startswith('{c}')" for c in LETTERS) + "]",
    "match state['step']:\n    case " + " | ".join(f"'{c}'" for c in LETTERS) + ":\n        return [1]",
    "return {'a': {'x': 1, 'y': 2, 'z': 3}, 'b': {'x': 4, 'y': 5, 'z': 6}, 'c': {'x': 7}}",
    "return 'alpha: 1\\nbeta: 2\\ngamma: 3'",
]
HONEST = [
    "a = [i for i, h in enumerate(hits) if 'matches' in h['text']]\n"
    "return a + [i for i in range(len(hits)) if i not in a]",
    "asked = state['question'].lower().split()\nreturn [sum(w in h['path'].lower() for w in asked) for h in hits]",
    "return sorted(range(len(hits)), key=lambda i: hits[i]['path'].lower().find('annual') < 0)",
    "seen = set()\nfor h in hits:\n    seen.add(h['path'])\n"
    "return [i for i, h in enumerate(hits) if h['path'] not in seen]",
    "best = max(range(len(hits)), key=lambda i: len(hits[i]['text']))\nif best > 2:\n    return [best]",
    "score = [len(h['text']) for h in hits]\nreturn sorted(range(len(hits)), key=lambda i: score[i], reverse=True)[:3]",
    "def first(words):\n    return [i for i, w in enumerate(words) if i < 3]\n"
    "return [i for i, h in enumerate(hits) if first(h['text'].split())]",
    "if len(hits) < 3:\n    return list(range(len(hits)))",
    "if state['question'].split()[0] == 'What' and len(state['question'].split()) > 20:\n    return []",
    "for name, values in state['slots'].items():\n    if name == 'periods' and len(values) > 1:\n        return []",
    "import re\nif len(re.findall('[0-9]+', state['question'])) > 1:\n    return []",
    "query = state['question'][:200]\nreturn {'queries': [query]}",
]


@pytest.mark.parametrize("body", [*FROM_A_PATH, *FROM_A_PLACE])
def test_what_is_computed_from_a_path_or_a_place_is_a_rule_on_it(body: str) -> None:
    assert "feature-rules" in caught(LEDGER, code(body))


@pytest.mark.parametrize("test", OF_ONE_TASK)
def test_a_branch_on_one_task_is_caught_whatever_it_goes_through(test: str) -> None:
    assert "task-membership" in caught(OFFICE, code(f"{test}\n    return []"))


@pytest.mark.parametrize("body", TABLES)
def test_a_table_is_caught_however_it_is_written(body: str) -> None:
    assert "lookup-tables" in caught(OFFICE, code(body))


@pytest.mark.parametrize("body", HONEST)
def test_what_is_honest_passes(body: str) -> None:
    assert caught(LEDGER, code(body)) == caught(OFFICE, code(body)) == set()


@pytest.mark.parametrize(
    "source",
    [
        "A: str = 'UID'\nB = A + '0007'",
        "A, C = 'UID', '0007'\nB = A + C",
        "A = Z = 'UID'\nB = A + '0007'",
        "B = (A := 'UID') + '0007'",
        "def f():\n    a = 'UID'\n    return a + '0007'\ndef g():\n    a = 'x'\n    return a",
        "B = 'xxUID0007xx'[2:-2]",
        "B = ''.join(x for x in ['UID', '0007'])",
        "B = ''.join('UID,0007'.split(','))",
        "# U-I-D 0007",
    ],
)
def test_names_that_are_set_once_and_texts_put_together_are_read(source: str) -> None:
    assert caught(OFFICE, harness(control_source=source)) == {"identifiers"}


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("In bcdf ghjk read on.", "identifiers"),
        ("In b-c-d-f-g-h-j-k read on.", "identifiers"),
        ("In bcdf\u200bghjk read on.", "identifiers"),
        ("For amberdaleagency read on.", "identities"),
        ("For FY 2031 read on.", "identities"),
        ("Open accounts/annex/Quarterly-Extraction.", "gold-sources"),
        ("Open BOOKS/FUND.", "gold-sources"),
        ("The answer should be 40.", "answers"),
        ("The answer is exactly 40.", "answers"),
        ("Reply with the integer 40.", "answers"),
    ],
)
def test_words_are_found_without_case_marks_and_spacing(text: str, check: str) -> None:
    assert check in caught(LEDGER, memory(text))


@pytest.mark.parametrize("text", ["57.", "+57", " 57 ", "57.0"])
def test_the_number_of_an_answer_is_found_in_code_as_it_may_be_written(text: str) -> None:
    assert caught(LEDGER, code(f"return {text!r}", "check_answer(answer, state)")) == {"answers"}


def test_a_private_name_is_found_as_a_text_too() -> None:
    assert caught(OFFICE, code("return getattr(state, '__class__')")) == {"private-names"}


@pytest.mark.parametrize(
    "text",
    [
        "If the results do not match, drop the last word of the query.",
        "Check the name and the full length of the period.",
        "The answer must be a number of 3 digits.",
        "Compare each registry entry; the books fund two agencies.",
    ],
)
def test_honest_sentences_pass(text: str) -> None:
    assert caught(LEDGER, memory(text)) == set()


@pytest.mark.parametrize("text", ["Among the results take the first.", "Of the names trust the shorter one."])
def test_a_quality_after_an_article_is_still_the_subjects(text: str) -> None:
    assert caught(LEDGER, memory(text)) == {"feature-rules"}


@pytest.mark.parametrize(
    ("evaluated", "again"),
    [
        (memory("Read on."), memory("Read \u200b on.\n")),
        (harness(control_source=COMMENTED), harness(control_source=f"# again\n{COMMENTED}\n\n'stray'\n")),
        (harness(control_source=f"K: int = 1\n{COMMENTED}"), harness(control_source=f"K: float = 1\n{COMMENTED}")),
    ],
)
def test_layout_makes_no_other_harness_of_an_earlier_one(evaluated: Harness, again: Harness) -> None:
    assert "duplicates: the same as r1-1," in refusal(OFFICE, again, evaluated={"r1-1": evaluated})
    assert "effective-change: " in refusal(OFFICE, again, current=evaluated)
    other = replace(again, prompt="Look twice.")
    assert refusal(OFFICE, other, evaluated={"r1-1": evaluated}) == ""


def test_a_heading_is_a_rule_like_any_other() -> None:
    assert "conditions: " in refusal(OFFICE, memory("# Read on in every file"), record={})
    assert refusal(OFFICE, memory("# When nothing was found"), record={}) == ""


def test_the_verdicts_of_the_study_of_fixed_filters_stand(ledger: SynLedger) -> None:
    gate = GeneralizationGate(ledger.gate, initial=H0, observed=("evo",))
    stopped = {name for name, made in harnesses().items() if gate.findings(made)}
    named = {f"cheat {wording} {n}" for wording in ("named", "paraphrased", "ordered") for n in range(1, 11)}
    assert stopped == named
    honest = [made for name, made in harnesses().items() if name.startswith("honest ")]
    for made in honest:
        gate.admit(Submitted(name="r1-x", harness=made, current=H0, record={"activation": "always"}))
