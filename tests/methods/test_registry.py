"""Methods by name: ours and those of installed packages, with one clear sentence for what does not work."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import Field

import chase
from chase.core.errors import SetupError, UserError
from chase.core.values import Defaults
from chase.methods.options import ExactDecimal, MethodOptions, exact_decimal, settle_options
from chase.methods.registry import BUILT_IN, contract_problems, find_method, method_names
from tests.methods.plugins import install

NOTHING = """
    from pydantic import Field
    from chase.methods.contract import Traits
    from chase.methods.options import MethodOptions

    class Options(MethodOptions):
        steps: int = Field(default=3, ge=1, le=9, description="Steps.")

    class METHOD:
        name = "nothing"
        summary = "does nothing"
        Options = Options
        agents = ()
        traits = Traits()
        def roles(self, roles, sealed): return ("evo",)
        def reader(self, role): return None
        def forecast(self, request): ...
        async def evolve(self, world): ...
"""


@pytest.mark.parametrize("name", BUILT_IN)
def test_our_own_methods_keep_the_contract(name: str) -> None:
    assert list(contract_problems(find_method(name), name)) == []


def test_an_installed_method_is_found_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, method="nothing", source=NOTHING)
    assert method_names() == (*BUILT_IN, "nothing")
    assert find_method("nothing").summary == "does nothing"


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, method="nothing", source=NOTHING)
    with pytest.raises(UserError, match=r"unknown method 'noting'\. Did you mean 'nothing'\?"):
        find_method("noting")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("from pydantic import Field", "import nowhere_to_be_found"), "cannot be loaded: ModuleNotFoundError"),
        (("class METHOD", "class OTHER"), "cannot be loaded: AttributeError"),
        (("traits = Traits()", "traits = {}"), "traits are no Traits"),
        (("agents = ()", "agents = 1 / 0"), "cannot be loaded: ZeroDivisionError"),
        (('name = "nothing"', 'name = "something"'), "does not keep the contract: its name is 'something'"),
        (('"does nothing"', "None"), "summary is no line of text"),
        (("agents = ()", 'agents = ("judge",)'), "agents are not of 'proposer' and 'challenger'"),
        (("Options = Options", "Options = dict"), "Options is no pydantic model"),
        (("(MethodOptions)", "(__import__('pydantic').BaseModel)"), "Options must have extra='forbid'"),
        ((', description="Steps."', ""), "option steps has no description"),
        (("steps: int", "seed: int"), "an option cannot be called seed"),
        (("async def evolve", "async def run"), "it has no evolve()"),
        (("def reader", "def other"), "it has no reader()"),
        (("async def evolve", "def evolve"), "evolve() is not async"),
    ],
)
def test_a_plug_in_that_does_not_work_is_one_sentence_and_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], said: str
) -> None:
    assert change[0] in NOTHING
    install(tmp_path / "good", monkeypatch, method="nothing", source=NOTHING, package="good")
    broken = NOTHING.replace(*change).replace('"nothing"', '"broken"')
    package = f"broken{abs(hash(change))}"  # a module is imported once in a process
    install(tmp_path / "broken", monkeypatch, method="broken", source=broken, package=package)
    with pytest.raises(SetupError) as refused:
        find_method("broken")
    assert said in str(refused.value)
    assert f"method 'broken' of {package}" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert find_method("nothing").name == "nothing"
    assert "broken" in method_names()


def test_two_packages_with_one_name_are_told_apart_by_no_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("first", "second"):
        install(tmp_path / package, monkeypatch, method="nothing", source=NOTHING, package=package)
    with pytest.raises(UserError, match="method 'nothing' is in first and second: uninstall one of them"):
        find_method("nothing")


def test_a_plug_in_cannot_stand_in_for_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(BUILT_IN))
    install(tmp_path, monkeypatch, method=name, source=NOTHING.replace("nothing", name))
    assert method_names() == tuple(BUILT_IN)
    assert type(find_method(name)).__module__.startswith("chase.")


# Options


DEFAULTS = Defaults(rounds=5, epsilon="0.05", eta="0.075", rollouts={})


def test_what_is_not_said_is_the_benchmarks_then_the_methods() -> None:
    form = find_method("chase").Options
    found = settle_options("chase", form, {"eta": 0.10, "rounds": None}, DEFAULTS).model_dump()
    assert found == {
        "rounds": 5, "epsilon": "0.05", "eta": "0.1", "proposals": 8, "reduce": True, "repair": False,
        "confirm": True, "confirmation": "paper", "alpha": "0.05", "placebos": 0, "evaluation": "full",
        "single_operators": False, "tell_constraints": True, "enforce_constraints": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rounds": 0}, "rounds=0 must be a whole number from 1 to 20."),
        ({"rounds": True}, "rounds=True must be a whole number from 1 to 20."),
        ({"rounds": "3"}, "rounds=3 must be a whole number from 1 to 20."),
        ({"epsilon": "1.5"}, "epsilon=1.5 must be a decimal number from 0 to 1, such as 0.05."),
        ({"epsilon": True}, "epsilon=True must be a decimal number"),
        ({"reduce": 1}, "reduce=1 must be true or false."),
        ({"round": 1}, "unknown option of chase 'round'. Did you mean 'rounds'?"),
    ],
)
def test_an_option_that_does_not_fit_is_one_sentence(given: dict[str, object], said: str) -> None:
    with pytest.raises(UserError) as refused:
        settle_options("chase", find_method("chase").Options, given, DEFAULTS)
    assert str(refused.value).startswith(said)


def test_a_methods_own_default_is_not_the_benchmarks() -> None:
    class Options(MethodOptions):
        rounds: int = Field(default=9, ge=1, le=20, description="Rounds.")
        eta: ExactDecimal = Field(description="A threshold.")

    assert settle_options("mine", Options, {}, DEFAULTS) == Options(rounds=9, eta="0.075")


def test_an_option_that_nobody_gives_is_asked_for() -> None:
    with pytest.raises(UserError, match="rounds is missing: give it with --option rounds=VALUE"):
        settle_options("chase", find_method("chase").Options, {})


@pytest.mark.parametrize(("written", "found"), [(".05", "0.05"), ("0.050", "0.05"), (0.1, "0.1"), (1, "1"), ("0", "0")])
def test_a_threshold_has_one_way_to_be_written(written: object, found: str) -> None:
    assert exact_decimal(written) == found


# No other module knows a method by name

OWN = {"methods/chase.py", "methods/chase_without_challenger.py", "methods/registry.py", "runs/demo.py", "cli/demo.py"}
"""The demo shows two methods side by side, as `chase demo` says."""


def names_in(source: str) -> Iterator[int]:
    """Lines where a method's name decides something: compared with, looked up, or a key of a table."""
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Call):
            parts = list(node.args) if getattr(node.func, "attr", "") in ("get", "startswith", "pop") else []
        elif isinstance(node, ast.Constant) and node.value == "chase-without-challenger":
            parts = [node]
        for part in parts:
            found = [n.value for n in ast.walk(part) if isinstance(n, ast.Constant)]
            if BUILT_IN.keys() & {value for value in found if isinstance(value, str)}:
                yield getattr(node, "lineno", 0)


def test_no_other_module_branches_on_a_methods_name() -> None:
    root = Path(chase.__file__).parent
    found = {
        f"{path.relative_to(root)}:{line}"
        for path in root.rglob("*.py")
        if str(path.relative_to(root)) not in OWN
        for line in names_in(path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        'if method == "chase": ...',
        'x = {"chase": 1}',
        'x in ("chase", "b")',
        'x["chase"]',
        'f(method="chase-without-challenger")',
    ],
)
def test_the_scan_sees_a_name_that_decides(source: str) -> None:
    assert list(names_in(source)) == [1]
    assert not list(names_in('app = Typer(name="chase"); files("chase")'))
