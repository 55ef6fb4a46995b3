"""The load-time check of `control.py`, and the shapes that hooks must return."""

from __future__ import annotations

from typing import Any

import pytest

from chase.core.errors import UserError
from chase.engine.control import SOURCE_BYTES
from chase.engine.hooks import HOOKS, QUERY_CHARS, TEXT_CHARS
from chase.engine.sandbox import Sandbox, SandboxLimits, check_control

STATE: dict[str, Any] = {"question": "q", "slots": {}, "calls_left": {}, "step": 1, "opened": {}}
HITS = [{"id": f"d{n}", "path": "p", "observables": {}, "text": "x"} for n in range(3)]
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "plan": ({**STATE, "tools": []},),
    "rewrite_query": ("query", STATE),
    "rerank": (HITS, STATE),
    "after_tool": ("search", "result", STATE),
    "should_stop": (STATE,),
    "check_answer": ("answer", STATE),
}


def test_every_hook_is_documented_and_named_after_its_key() -> None:
    assert all(name == hook.name and hook.doc and hook.parameters for name, hook in HOOKS.items())
    assert set(HOOKS) == set(ARGUMENTS)


@pytest.mark.parametrize(
    "source",
    [
        "def rerank(hits, state):\n    return []\n",
        "def rerank(hits: list[Hit], state: State) -> list[int]:\n    return []\n",
        "def rerank(hits: list[dict], state: State) -> list[int]:\n    return []\n",
        "def rerank(hits: list[Hit], state: dict) -> list:\n    return []\n",
        "from typing import Any\ndef rerank(hits: list[dict[str, Any]], state: dict[str, Any]):\n    return []\n",
        "def rerank(hits, state, more=None, *rest, **options):\n    return []\n",
        "rerank = lambda hits, state: []\n",
    ],
)
def test_a_hook_may_be_annotated_in_many_ways(source: str) -> None:
    assert check_control(source).hooks == ("rerank",)


def test_the_check_names_the_hooks_in_their_own_order() -> None:
    info = check_control(
        "def should_stop(state):\n    return False\ndef helper():\n    return 1\n"
        "def plan(task: Task) -> Plan:\n    return {'queries': [task['question']]}\n"
    )
    assert info.hooks == ("plan", "should_stop")
    assert len(info.digest) == 64


WRONG = {
    "missing parameter": ("\ndef rerank(hits):\n    return []\n", 2, r"must be `def rerank\(hits: list\[Hit\]"),
    "extra parameter": ("def plan(task, more):\n    return {}\n", 1, "must be `def plan"),
    "keyword-only parameter": ("def plan(*, task):\n    return {}\n", 1, "must be `def plan"),
    "wrong parameter type": ("def plan(task: int):\n    return {}\n", 1, r"not `def plan\(task: int\)"),
    "wrong return type": ("def should_stop(state) -> str:\n    return ''\n", 1, "must be `def should_stop"),
    "async hook": ("async def plan(task):\n    return {}\n", 1, "must be `def plan"),
    "no function": ("X = 1\nplan = 3\n", 2, "must be `def plan"),
    "second definition": ("def plan(task):\n    return {}\n\ndef plan():\n    return {}\n", 4, "must be `def plan"),
    "wrong key": ("def should_stop(state: State):\n    return state['stpe'] > 1\n", 2, 'Unknown key "stpe"'),
    "wrong value": ("def rewrite_query(query: str, state) -> str:\n    return len(query)\n", 2, "expected `str`"),
    "undefined name": ("def plan(task):\n    return nope\n", 2, "`nope` used when not defined"),
    "syntax": ("def plan(task)\n    return {}\n", 1, "Expected `:`"),
    "open bracket at the end": ("def plan(task):\n    return {\n\n", 2, "unexpected EOF"),
    "endless file": (
        "def plan(task):\n    for x in []:\n        pass\n\nwhile True:\n    pass\n",
        6,
        "1,000,000 steps",
    ),
    "unsupported syntax": ("def plan(task):\n    return {}\ndef g():\n    yield 1\n", 4, "yield"),
    "missing module": ("import numpy\ndef plan(task):\n    return {}\n", 1, "numpy"),
    "error at load": ("def plan(task):\n    return {}\nX = 1 / 0\n", 3, "ZeroDivisionError"),
    "two errors": ("X: int = ''\nY: int = ''\ndef plan(task):\n    return {}\n", 1, r"\(and 1 more\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_sentence_with_its_line(name: str) -> None:
    source, line, what = WRONG[name]
    with pytest.raises(UserError, match=what) as caught:
        check_control(source)
    message = str(caught.value)
    assert message.startswith(f"control.py, line {line}: ")
    assert message.endswith("check_answer(answer, state).")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("", "it defines no hook"),
        ("import re\nX = 3\n", "it defines no hook"),
        ("def re_rank(hits, state):\n    return []\n", "did you mean 'rerank' by 're_rank'"),
        ("if False:\n    def plan(task):\n        return {}\n", "it defines no hook"),
        ("def plan(task):\n    return {}\n#" + "x" * SOURCE_BYTES, f"over the limit of {SOURCE_BYTES}"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(source: str, what: str) -> None:
    with pytest.raises(UserError, match=what) as caught:
        check_control(source)
    assert str(caught.value).startswith("control.py: ")
    assert "Valid hooks: plan(task), " in str(caught.value)


def test_the_type_checker_is_not_cut_by_the_limits_of_hooks() -> None:
    limits = SandboxLimits(cpu_seconds=0.0, wall_seconds=0.001)
    assert check_control("def plan(task):\n    return {}\n", limits=limits).hooks == ("plan",)


SHAPES = [
    ("plan", "None", "expected dict, got None"),
    ("plan", "['q']", "expected dict, got list"),
    ("plan", "{'query': 'a'}", "unknown key 'query'"),
    ("plan", "{'queries': 'a'}", "'queries': expected list, got str"),
    ("plan", "{'queries': ['a'] * 5}", "'queries': expected at most 4, got 5"),
    ("plan", "{'queries': ['a', 1]}", "'queries': expected str, got int"),
    ("plan", "{'queries': ['']}", "'queries': expected a query"),
    ("plan", "{'note': None}", "'note': expected str, got None"),
    ("plan", f"{{'note': 'x' * {TEXT_CHARS + 1}}}", f"'note': expected at most {TEXT_CHARS} characters"),
    ("plan", "{1: 'a'}", "unknown key '1'"),
    ("rewrite_query", "None", "expected str, got None"),
    ("rewrite_query", "' '", "expected a query, got an empty text"),
    ("rewrite_query", "b'bytes'", "not plain JSON data"),
    ("rewrite_query", "[query]", "expected str, got list"),
    ("rewrite_query", f"'x' * {QUERY_CHARS + 1}", f"expected at most {QUERY_CHARS} characters"),
    ("rerank", "None", "expected list, got None"),
    ("rerank", "'012'", "expected list, got str"),
    ("rerank", "[0, 1]", "expected 3 indices, got 2"),
    ("rerank", "[0, 1, 2, 3]", "expected 3 indices, got 4"),
    ("rerank", "[0, 1, 1]", "expected each index from 0 to 2 once"),
    ("rerank", "[0, 1, 3]", "expected each index from 0 to 2 once"),
    ("rerank", "[0, 1, -1]", "expected each index from 0 to 2 once"),
    ("rerank", "[0, 1, 2.0]", "expected indices of type int, got float"),
    ("rerank", "[False, True, 2]", "expected indices of type int, got bool"),
    ("rerank", "[0, 1, float('nan')]", "expected indices of type int, got float"),
    ("rerank", "[0, 1, 10 ** 4000]", "expected each index from 0 to 2 once"),
    ("rerank", "[0, 1, 10 ** 5000]", "not plain JSON data"),
    ("rerank", "[0, 1, [2]]", "expected indices of type int, got list"),
    ("rerank", "{0, 1, 2}", "not plain JSON data"),
    ("rerank", "hits", "expected indices of type int, got dict"),
    ("after_tool", "1", "expected str, got int"),
    ("after_tool", "b''", "not plain JSON data"),
    ("after_tool", f"'x' * {TEXT_CHARS + 1}", f"expected at most {TEXT_CHARS} characters"),
    ("should_stop", "1", "expected bool, got int"),
    ("should_stop", "None", "expected bool, got None"),
    ("should_stop", "float('inf')", "expected bool, got float"),
    ("check_answer", "False", "expected str, got bool"),
    ("check_answer", "check_answer", "not plain JSON data"),
    ("check_answer", "str", "not plain JSON data"),
    ("check_answer", "{'a': answer}", "expected str, got dict"),
]


async def test_a_wrong_shape_is_a_recorded_failure_and_the_hook_stays() -> None:
    async with Sandbox() as sandbox:
        for name, expression, problem in SHAPES:
            parameters = ", ".join(HOOKS[name].parameters)
            source = f"def {name}({parameters}):\n    return {expression}\n"
            async with sandbox.session(source, seed=0) as hooks:
                result = await hooks.call(name, *ARGUMENTS[name])
                assert result.value is None, expression
                assert result.failure is not None
                assert result.failure.startswith(f"wrong-shape: {problem}"), (expression, result.failure)
                assert [failure.hook for failure in hooks.failures] == [name]
                assert hooks.defines(name)


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nx.append(x)\nreturn x",
        "x = {}\nx['x'] = x\nreturn x",
        "x = []\nfor _ in range(5000):\n    x = [x]\nreturn x",
        "class A:\n    pass\nreturn A()",
        "import datetime\nreturn datetime.datetime.now()",
        "return {('a', 'b'): 1}",
    ],
)
async def test_what_is_no_plain_data_does_not_leave_the_worker(code: str) -> None:
    lines = code.replace("\n", "\n    ")
    source = f"def should_stop(state):\n    {lines}\n"
    async with Sandbox() as sandbox, sandbox.session(source, seed=0) as hooks:
        assert (await hooks.call("should_stop", STATE)).failure == "wrong-shape: not plain JSON data"
        assert hooks.defines("should_stop")
