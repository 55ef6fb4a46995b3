"""Hostile `control.py` snippets: none reaches the host, and each ends within its limit.

Every snippet is run as if it had passed the load-time check. It must end as a recorded failure with one of
the reasons given, or as the harmless value given.
"""

from __future__ import annotations

import asyncio
import os
import resource
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chase.core.errors import UserError
from chase.engine.sandbox import HookFailure, Sandbox, SandboxLimits, check_control

pytestmark = pytest.mark.slow

SECRET = "canary-7d1f0c"
LIMITS = SandboxLimits(call_steps=100_000, cpu_seconds=0.3, memory_bytes=32 << 20, output_bytes=64 << 10)
STATE = {"question": "q", "slots": {}, "calls_left": {"search": 1}, "step": 1, "opened": {}}
BOMB = "a = [0] * 1000\nb = [a] * 1000\nc = [b] * 1000\nd = [c] * 1000\n"

WORK = ("work-limit",)
BULK = ("work-limit", "memory-limit")
DENIED = ("error: PermissionError",)
MISSING = ("error: AttributeError",)
UNKNOWN = ("error: NameError",)
NO_MODULE = ("error: ModuleNotFoundError",)
NO_OS = ("error: RuntimeError",)
DEEP = ("error: RecursionError",)
ERROR = ("error: ",)


@dataclass(frozen=True, kw_only=True)
class Attack:
    name: str
    source: str
    reasons: tuple[str, ...] = ()
    """Prefixes of the failures that may end it; with none, it ends with `value`."""
    value: str | None = None
    failed: str = "check_answer"


def body(name: str, code: str, *reasons: str, value: str | None = None) -> Attack:
    """An attack from inside a hook."""
    code = textwrap.indent(textwrap.dedent(code).strip(), "    ")
    return Attack(name=name, source=f"def check_answer(answer, state):\n{code}\n", reasons=reasons, value=value)


def module(name: str, code: str, *reasons: str) -> Attack:
    """An attack while the file is run."""
    hook = "def check_answer(answer, state):\n    return None\n"
    return Attack(name=name, source=hook + code, reasons=reasons, failed="control.py")


def forged(name: str, text: str, *reasons: str) -> Attack:
    """An attack that puts an impostor in the place of the module that writes the result."""
    source = (
        f"{text}class Impostor:\n    def dumps(self, value):\n        return TEXT\n"
        "def check_answer(answer, state):\n    global __chase_json\n    __chase_json = Impostor()\n"
    )
    return Attack(name=f"forged result: {name}", source=source, reasons=reasons)


ATTACKS = [
    # Files. CANARY is the path of a file with a secret; every test checks that it is unchanged.
    body("read with open", "return open('CANARY').read()", *DENIED),
    body("write with open", "open('CANARY', 'w').write('x')", *DENIED),
    body("write in a with block", "with open('CANARY', 'a') as f:\n    f.write('x')", *DENIED),
    body("read with pathlib", "from pathlib import Path\nreturn Path('CANARY').read_text()", *DENIED),
    body("write with pathlib", "from pathlib import Path\nPath('CANARY').write_text('x')", *DENIED),
    body("unlink with pathlib", "from pathlib import Path\nPath('CANARY').unlink()", *ERROR),
    body("remove with os", "import os\nos.remove('CANARY')", *ERROR),
    body("rename with os", "import os\nos.rename('CANARY', 'CANARY.moved')", *ERROR),
    body("list a folder", "import os\nreturn str(os.listdir('/'))", *DENIED),
    body("read own source", "return open(__file__).read()", *DENIED),
    body("read the process table", "return open('/proc/self/environ').read()", *DENIED),
    body("look around", "import os\nreturn os.getcwd() + __file__", value="//control.py"),
    # Environment. It holds a secret, which no value and no failure may show.
    body("environ by key", "import os\nreturn os.environ['CHASE_CANARY']", *NO_OS),
    body("environ as dict", "import os\nreturn str(dict(os.environ))", *NO_OS),
    body("getenv", "import os\nreturn os.getenv('CHASE_CANARY')", *NO_OS),
    body("random bytes of the host", "import os\nreturn os.urandom(8).hex()", *NO_OS),
    # Network and processes. PORT is a listening socket of the test; it must see no connection.
    body("socket", "import socket\nsocket.create_connection(('127.0.0.1', PORT))", *NO_MODULE),
    body("urllib", "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:PORT')", *NO_MODULE),
    body("http client", "import http.client\nhttp.client.HTTPConnection('127.0.0.1', PORT)", *NO_MODULE),
    body(
        "connection of asyncio",
        "import asyncio\nasyncio.run(asyncio.open_connection('127.0.0.1', PORT))",
        *MISSING,
    ),
    body("subprocess", "import subprocess\nsubprocess.run(['touch', 'CANARY.new'])", *NO_MODULE),
    body("os.system", "import os\nos.system('touch CANARY.new')", *MISSING),
    body("fork", "import os\nos.fork()", *MISSING),
    body("kill the parent", "import os\nos.kill(os.getppid(), 9)", *MISSING),
    body("exit the process", "import os\nos._exit(1)", *MISSING),
    body("threads", "import threading\nthreading.Thread(target=print).start()", *NO_MODULE),
    # Imports and dynamic code.
    body("__import__", "return str(__import__('os').environ)", *UNKNOWN),
    body("importlib", "import importlib\nimportlib.import_module('socket')", *NO_MODULE),
    body("builtins", "import builtins\nreturn str(builtins.open)", *NO_MODULE),
    body("__builtins__", "return str(__builtins__)", *UNKNOWN),
    body("sys.modules", "import sys\nreturn str(sys.modules['os'])", *MISSING),
    body("ctypes", "import ctypes\nctypes.string_at(0)", *NO_MODULE),
    body("pickle", "import pickle\npickle.loads(b'')", *NO_MODULE),
    body("import the host's own package", "import chase.core.errors", *NO_MODULE),
    body("import the sandbox's client", "import pydantic_monty", *NO_MODULE),
    body("eval of an import", "return str(eval(\"__import__('os')\"))", *UNKNOWN),
    body("exec of a read", "exec(\"x = open('CANARY').read()\")", *DENIED),
    body("compile", "eval(compile('1', '', 'eval'))", *UNKNOWN),
    # Introspection.
    body("ladder of classes", "return str(().__class__.__mro__[-1].__subclasses__())", *MISSING),
    body("ladder from a type", "return str(type(()).__mro__[-1].__subclasses__())", *MISSING),
    body("subclasses of object", "return str(object.__subclasses__())", *MISSING),
    body("str.format attributes", "return '{0.__class__.__mro__}'.format(answer)", *MISSING),
    body("getattr with a built name", "return str(getattr(answer, '__cla' + 'ss__'))", *MISSING),
    body("globals of a function", "return str(check_answer.__globals__)", *MISSING),
    body("code of a function", "return str((lambda: 0).__code__.co_consts)", *MISSING),
    body("globals of a method", "return str('x'.join.__self__.__class__)", *MISSING),
    body("frames", "import sys\nreturn str(sys._getframe(1).f_globals)", *MISSING),
    body(
        "frames of a traceback",
        "try:\n    1 / 0\nexcept Exception as e:\n    return str(e.__traceback__.tb_frame.f_back)",
        *MISSING,
    ),
    body("inspect", "import inspect\nreturn str(inspect.stack())", *NO_MODULE),
    body("gc", "import gc\nreturn str(gc.get_objects())", *NO_MODULE),
    body("globals()", "return str(globals())", *UNKNOWN),
    body("a breakpoint", "breakpoint()", *UNKNOWN),
    body("standard input", "return input()", *UNKNOWN),
    # Time.
    body("while", "while True:\n    pass", *WORK),
    body(
        "while that catches everything",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        *WORK,
    ),
    body("endless iterator", "import itertools\nfor _ in itertools.count():\n    pass", *WORK),
    body("sum of a long range", "return str(sum(range(10 ** 12)))", *WORK),
    body("recursion in finally", "def f():\n    try:\n        f()\n    finally:\n        f()\nf()", *WORK),
    body("factorial", "import math\nmath.factorial(10 ** 6)", *WORK),
    body("squares of a big int", "x = 3 ** 100000\nwhile True:\n    x = x * x", *BULK),
    body("power of a big int", "return str(7 ** 10 ** 9)", *BULK),
    body("modular power", "return str(pow(3, 10 ** 30000, 10 ** 30000 + 1))", *WORK),
    body(
        "regex that backtracks",
        "import re\nreturn str(re.match(r'(x+x+)+y(?<!z)\\1', 'x' * 5000))",
        *WORK,
        *ERROR,
    ),
    body("regex without end", "import re\nreturn str(re.match(r'(a+)+$', 'a' * 50 + 'b'))", value="None"),
    body("regex too large", "import re\nre.compile('(((a{1000}){1000}){1000})')", *ERROR),
    body("regex substitution", "import re\nre.sub('', 'x' * 1000, 'a' * 100000)", *BULK),
    body("sleep", "import time\ntime.sleep(10 ** 6)\nreturn 'slept'", value="slept"),
    body("sleep forever", "import time\nwhile True:\n    time.sleep(3600)", *WORK),
    body(
        "await that hangs",
        "import asyncio\nasync def g():\n    while True:\n        await asyncio.sleep(1)\nasyncio.run(g())",
        *WORK,
    ),
    body(
        "tasks without end",
        """
        import asyncio
        async def g():
            await asyncio.gather(*[g() for _ in range(10)])
        asyncio.run(g())
        """,
        *BULK,
        *DEEP,
    ),
    body(
        "undefined names in a loop",
        "while True:\n    try:\n        nope()\n    except NameError:\n        pass",
        "suspension-limit",
    ),
    body(
        "refused calls in a loop",
        "while True:\n    try:\n        open('/x')\n    except OSError:\n        pass",
        "suspension-limit",
    ),
    # Memory.
    body("doubling string", "s = 'x'\nwhile True:\n    s += s", *BULK),
    body("huge string", "return 'x' * (1 << 40)", *BULK),
    body("huge list", "return str(len([0] * (1 << 40)))", *BULK),
    body("huge comprehension", "return str(len([i for i in range(10 ** 12)]))", *BULK),
    body("generator expression", "return str(any(False for _ in range(10 ** 12)))", *BULK),
    body("dict bomb", "d = {}\nwhile True:\n    d[len(d)] = 'x' * 1000", *BULK),
    body("list that extends itself", "x = [1]\nwhile True:\n    x.extend(x)", *BULK),
    body("wide format", "return f'{1:>10000000000}'", *BULK),
    body("source of a megabyte", "exec('x = 1\\n' * 1000000)", *BULK),
    body("shared nested lists", f"{BOMB}return d", *BULK),
    body("shared nested lists as text", f"{BOMB}return str(d)", *BULK),
    body("shared nested lists printed", f"{BOMB}print(d)", *BULK),
    body("shared nested lists as a default", f"{BOMB}import os\nreturn os.getenv('X', d)", *NO_OS),
    body("shared nested lists in an assert", f"{BOMB}assert d == [1], d", *BULK),
    # Depth.
    body("recursion", "def f(n):\n    return f(n + 1)\nf(0)", *DEEP),
    body("recursion of lambdas", "f = lambda n: f(n + 1)\nf(0)", *DEEP),
    body("recursion in repr", "class A:\n    def __repr__(self):\n        return repr(self)\nreturn repr(A())", *DEEP),
    body(
        "recursion in eq", "class A:\n    def __eq__(self, o):\n        return self == o\nreturn str(A() == A())", *DEEP
    ),
    body("deep source", "eval('(' * 100000)", *ERROR),
    body("deep JSON", "import json\njson.loads('[' * 100000)", *ERROR),
    # Output.
    body("print flood", "while True:\n    print('x' * 1000)", "output-limit", "work-limit"),
    body("one huge print", "print('x' * (10 << 20))", "output-limit", "memory-limit"),
    body(
        "print flood on stderr",
        "import sys\nwhile True:\n    print('x' * 99, file=sys.stderr)",
        "output-limit",
        "work-limit",
    ),
    body("huge return", "return 'x' * (1 << 20)", "output-limit"),
    # Exceptions.
    body(
        "exception of an exception",
        "try:\n    1 / 0\nexcept Exception as e:\n    raise ValueError('second') from e",
        "error: ValueError",
    ),
    body(
        "exception in finally",
        "try:\n    raise KeyError('a')\nfinally:\n    raise ValueError('b')",
        "error: ValueError",
    ),
    body("exception group", "raise ExceptionGroup('g', [ValueError('a'), KeyError('b')])", *ERROR),
    body("system exit", "raise SystemExit", "error: SystemExit"),
    body("keyboard interrupt", "raise KeyboardInterrupt", "error: KeyboardInterrupt"),
    body("stop iteration", "raise StopIteration", "error: StopIteration"),
    body("raise what is no exception", "raise answer", "error: TypeError"),
    body("long message", "raise ValueError('x' * (5 << 20))", "error: ValueError", "memory-limit"),
    body("message that breaks lines", "raise ValueError('a\\n\\x1b[2J\\x00b')", "error: ValueError"),
    body("imitated limit", "raise KeyboardInterrupt('chase: no steps left')", *WORK),
    body(
        "limit that is caught", "try:\n    while True:\n        pass\nexcept BaseException:\n    return 'caught'", *WORK
    ),
    body(
        "steps that are given back",
        "global _chase_left\nwhile True:\n    _chase_left = 10 ** 9",
        *WORK,
    ),
    body("steps that are not counted", "exec('while True:\\n    pass')", *WORK),
    # Classes.
    body(
        "finaliser",
        "class A:\n    def __del__(self):\n        while True:\n            pass\nA()\nreturn 'x'",
        *WORK,
        value="x",
    ),
    body(
        "str that is no str", "class A:\n    def __str__(self):\n        return 5\nreturn f'{A()}'", "error: TypeError"
    ),
    body(
        "endless iterator class",
        "class A:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return 1\nlist(A())",
        *BULK,
    ),
    # Tampering with what the host runs around a hook.
    body("replace json.dumps", "import json\njson.dumps = lambda x: 'null'", *MISSING),
    Attack(
        name="shadow names that the host uses",
        source="def len(x):\n    return 0\ndef str(x):\n    return 1\nclass json:\n    pass\n"
        "def check_answer(answer, state):\n    return 'ok'\n",
        value="ok",
    ),
    forged("a bomb", f"{BOMB}TEXT = d\n", *BULK),
    forged("a lone surrogate", "TEXT = '\"\\\\ud800\"'\n", "wrong-shape: expected valid Unicode"),
    forged("deep JSON", "TEXT = '[' * 60000\n", "wrong-shape: not JSON"),
    forged("deep and closed JSON", "TEXT = '[' * 30000 + ']' * 30000\n", "wrong-shape: not JSON"),
    forged("a giant int", "TEXT = '9' * 60000\n", "wrong-shape: not JSON"),
    forged("NaN", "TEXT = 'NaN'\n", "wrong-shape: expected str, got float"),
    forged("no JSON", "TEXT = 'import os'\n", "wrong-shape: not JSON"),
    forged("too much text", "TEXT = 'x' * (1 << 20)\n", "output-limit"),
    Attack(name="hooks that are no functions", source="check_answer = 3\n", reasons=("error: TypeError",)),
    Attack(
        name="hook with a wrong signature",
        source="def check_answer():\n    return None\n",
        reasons=("error: TypeError",),
    ),
    Attack(
        name="hook that is async",
        source="async def check_answer(answer, state):\n    return None\n",
        reasons=("wrong-shape: not plain JSON data",),
    ),
    # While the file is run.
    module("endless file", "while True:\n    pass\n", *WORK),
    module("failing file", "1 / 0\n", "error: ZeroDivisionError"),
    module("file that eats memory", "x = [0] * (1 << 40)\n", *BULK),
    module("file that reads", "X = open('CANARY').read()\n", *DENIED),
    module("file that prints", "print('x' * (1 << 20))\n", "output-limit"),
    module("file with a syntax error", "def f(:\n", "error: SyntaxError"),
    module("file with yield", "def g():\n    yield 1\n", *ERROR),
    module("file with inheritance", "class A(dict):\n    pass\n", *ERROR),
    module("file nested too deeply", "(" * 30000 + ")" * 30000, *ERROR),
    module("file that awaits", "import asyncio\nwhile True:\n    await asyncio.sleep(1)\n", *WORK),
    Attack(
        name="file that ends with shared nested lists",
        value=None,
        source=(f"{BOMB}def check_answer(answer, state):\n    return None\nd\n"),
    ),
    module("file that ends in mid-expression", f"{BOMB}d if True else \\", *ERROR),
    module("file that ends in an open bracket", f"{BOMB}(d if True else ", *ERROR),
]


def test_attack_names_are_unique_and_many() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 45


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "-"))
async def test_no_attack_reaches_the_host(attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text(SECRET)
    monkeypatch.setenv("CHASE_CANARY", SECRET)
    before, state = dict(os.environ), {**STATE, "slots": {"entity": ["x"]}}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connections: list[Any] = []
    server = await asyncio.start_server(lambda *pair: connections.append(pair), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    source = attack.source.replace("CANARY", str(canary)).replace("CHASE_" + str(canary), "CHASE_CANARY")

    started = time.perf_counter()
    async with asyncio.timeout(10), server, Sandbox(limits=LIMITS) as sandbox:
        async with sandbox.session(source.replace("PORT", str(port)), seed=0) as hooks:
            result = await hooks.call("check_answer", "answer", state)
            failures = list(hooks.failures)
        async with sandbox.session("def should_stop(state):\n    return True\n", seed=0) as hooks:
            assert (await hooks.call("should_stop", state)).value is True

    assert time.perf_counter() - started < 5
    _check_outcome(attack, result.value, failures)
    assert SECRET not in repr((result, failures))
    assert all("\n" not in f.reason + f.detail and len(f.reason + f.detail) < 400 for f in failures)
    assert sorted(tmp_path.iterdir()) == [canary]
    assert canary.read_text() == SECRET
    assert dict(os.environ) == before
    assert state == {**STATE, "slots": {"entity": ["x"]}}
    assert not connections
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 200 << 10, "the host's memory grew"


def _check_outcome(attack: Attack, value: Any, failures: list[HookFailure]) -> None:
    if failures:
        assert value is None
        assert [failure.hook for failure in failures] == [attack.failed]
        assert failures[0].reason.startswith(attack.reasons or ("nothing",)), failures[0]
    else:
        assert attack.value is not None or not attack.reasons, "a failure was expected"
        assert value == attack.value


REFUSED = {
    "undefined function": "def plan(task):\n    return nope(task)\n",
    "import of a missing module": "import socket\ndef plan(task):\n    return {}\n",
    "open at load": "X = open('/etc/hostname').read()\ndef plan(task):\n    return {}\n",
    "endless file": "def plan(task):\n    return {}\nwhile True:\n    pass\n",
    "memory at load": "def plan(task):\n    return {}\nX = [0] * (1 << 40)\n",
    "print flood at load": "def plan(task):\n    return {}\nprint('x' * (1 << 20))\n",
    "deep source": "(" * 30000 + ")" * 30000,
    "deep unary source": "-" * 60000 + "1",
    "deep attribute source": "a" + ".b" * 30000,
    "yield": "def plan(task):\n    yield 1\n",
    "metaclass": "class M(type):\n    pass\ndef plan(task):\n    return {}\n",
    "null byte": "def plan(task):\n    return {}\n\x00",
    "lone surrogate": "X = '\ud800'\ndef plan(task):\n    return {}\n",
    "shared nested lists as last expression": f"{BOMB}d\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_when_it_is_loaded(name: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=r"^control\.py"):
        check_control(REFUSED[name], limits=LIMITS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 200 << 10
