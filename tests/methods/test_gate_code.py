"""How the gate reads code and texts: constants that are put together, honest code, hostile sources."""

from __future__ import annotations

import time

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.harness.spec import Harness
from chase.methods.gate import GeneralizationGate
from chase.methods.gate.code import Code
from chase.methods.gate.words import Phrases, numbers, words, years
from chase.testing.ledger import H0
from tests.methods.test_gate_checks import LEDGER, OFFICE, caught, code, harness, memory


@pytest.mark.parametrize(
    "expression",
    [
        "'UID0007'",
        "'UID' + '00' + '07'",
        "''.join(['UID', '0007'])",
        "f'UID{\"0007\"}'",
        "'UID{}'.format('0007')",
        "'UID%s' % '0007'",
        "'7000DIU'[::-1]",
        "'uid0007'.upper()",
        "'UIDxx07'.replace('x', '0')",
        "chr(85) + 'ID0007'",
        "'uid' '0007'",
        "PREFIX + '0007'",
    ],
)
def test_constants_that_are_put_together_are_found(expression: str) -> None:
    made = harness(control_source=f"PREFIX = 'UID'\n\ndef rerank(hits, state):\n    return {expression}\n")
    assert caught(OFFICE, made) == {"identifiers"}


@pytest.mark.parametrize("source", ["# UID0007\nx = 1", "def uid0007():\n    pass", "x = {'UID0007'}", "'''UID0007'''"])
def test_names_comments_and_docstrings_are_read_too(source: str) -> None:
    assert "identifiers" in caught(OFFICE, harness(control_source=source))


def test_source_that_is_no_python_is_read_as_text() -> None:
    assert caught(OFFICE, harness(control_source="def ( UID0007")) == {"identifiers"}


HONEST_CODE = [
    "asked = state['question'].lower().split()\nscores = [sum(w in h['text'] for w in asked) for h in hits]\n"
    "return sorted(range(len(hits)), key=lambda i: (-scores[i], i))",
    "asked = set(state['question'].split())\nif len(asked) > 12:\n    return list(range(len(hits)))",
    "missing = [p for p in state['slots'].get('periods', []) if p not in str(hits)]\nif len(missing) == 0:\n"
    "    return []",
    "mode = 'exact' if state['slots'] else 'broad'\nif mode == 'exact':\n    return []",
    "if 'period' in state['slots'] and state['step'] == 0:\n    return []",
    "seen = state['opened']\nreturn [i for i, h in enumerate(hits) if h['id'] not in seen]",
    "asked = set(state['question'].lower().split())\nnames = [set(h['path'].replace('-', ' ').split()) for h in hits]\n"
    "return sorted(range(len(hits)), key=lambda i: -len(asked & names[i]))",
    "if 'percentage' in state['question'] or 'share' in state['question']:\n    return []",
    "return {'queries': [state['question']], 'note': 'Check status, version and basis of every record.'}",
    "return [n for n, word in enumerate(state['question'].split()) if n > 3] + [k for k in range(3) if k == 1]",
    "if state['calls_left']['total'] < 3:\n    return 'Answer now.'",
    "weights = {'capital-words': 1.0, 'title-length': 0.5}\nreturn weights",
]
HONEST_TEXT = [
    "If the first window shows no record that fits, read on.",
    "When nothing matches, search again with the entity and each period.",
    "Use only approved records in their prevailing version; leave superseded and canceled ones.",
    "Before answering, check that every amount has the same basis.",
    "When the question asks for a percentage, divide by the reference total and use the calculator.",
    "Search first, then open what the results show; keep two calls for reading on.",
    "Return the integer alone, without words, once both amounts were found.",
]


@pytest.mark.parametrize("body", HONEST_CODE)
def test_honest_code_passes(body: str, ledger: SynLedger) -> None:
    made = code(body)
    assert caught(LEDGER, made) == caught(OFFICE, made) == set()
    assert findings(ledger, made) == []


@pytest.mark.parametrize("text", HONEST_TEXT)
def test_honest_guidance_passes(text: str, ledger: SynLedger) -> None:
    made = memory(text)
    assert caught(LEDGER, made) == caught(OFFICE, made) == set()
    assert findings(ledger, made) == []


def findings(ledger: SynLedger, made: Harness) -> list[str]:
    gate = GeneralizationGate(ledger.gate, initial=H0, observed=("evo",))
    return [f"{finding.check}: {finding.spot.what}" for finding in gate.findings(made)]


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "+".join(["'a'"] * 9000),
        "x = " + "[" * 80 + "]" * 80,
        "\n".join(f"v{n} = hits[{n}]['path'] if v{n} else v{n - 1}" for n in range(1, 1200)),
        "x = '" + ":" * 60_000 + "'",
        "\n" * 60_000,
        "x = " + "'a'.upper()" + ".lower()" * 900,
    ],
)
def test_a_hostile_source_is_read_in_seconds_and_breaks_nothing(source: str) -> None:
    started = time.process_time()
    caught(LEDGER, harness(control_source=source, memory=source))
    assert time.process_time() - started < 5


# Words


def test_words_are_the_same_whatever_stands_between_them() -> None:
    assert words("Name-length") == words("nameLength") == words("NAME_LENGTH") == words("na\u00adme  length") == (
        "name", "length",
    )  # fmt: skip


def test_phrases_are_found_whole() -> None:
    known = Phrases(["fund.md", "Amberdale Agency", ""])
    assert known.within("see FUND.MD, of amberdale\nagency") == ["fund md", "amberdale agency"]
    assert known.within("a fund of an agency, refund.md") == []


def test_numbers_and_years() -> None:
    assert numbers("1,234.5 and 007, v2, 12.") == {"1234.5", "007", "12"}
    assert years("FY2031, 1939-08, 12345, 1400") == {"2031", "1939"}


def test_what_is_executed_is_compared() -> None:
    bare, dressed = (
        Code.read(s) for s in ("def f(a):\n    return 1", "# c\ndef f(a: int) -> int:\n    'd'\n    return 1")
    )
    assert bare is not None
    assert dressed is not None
    assert bare.plain == dressed.plain
