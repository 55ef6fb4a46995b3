"""What a plug-in method does wrong as it runs: one sentence that says whose fault it is."""

from __future__ import annotations

from asyncio import CancelledError
from pathlib import Path
from typing import Any

import pytest

import chase
from chase.core.errors import ChaseError, SetupError
from chase.methods.chase import Chase
from tests.conftest import open_once
from tests.methods.plugins import install
from tests.methods.test_registry import NOTHING

SIZES: dict[str, Any] = {"split_sizes": "evo=2,disc=2,conf=2,cert=2", "rollouts": "evo=1,disc=1,conf=1,cert=1"}


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def evolve(method: str) -> Any:
    return chase.evolve(benchmark=open_once("syn-ledger@7"), model="sim:reader", method=method, progress=False, **SIZES)


def evolve_with(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An evolution with a plug-in whose `evolve` has this body, in a module of its own."""
    source = NOTHING.replace("evolve(self, world): ...", f"evolve(self, world): {body}")
    package = f"faulty{abs(hash(body))}"
    install(folder / "site", monkeypatch, method="nothing", source=source, package=package)
    try:
        return evolve("nothing")
    except ChaseError as error:
        raise type(error)(str(error).replace(package, "PACKAGE")) from error.__cause__


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", ": evolve() returned NoneType, no EvolutionOutcome"),
        ("return {}", ": evolve() returned dict, no EvolutionOutcome"),
        ("raise KeyError('no such key')", " failed in evolve(): KeyError: 'no such key'"),
        ("raise ValueError('two\\n  lines')", " failed in evolve(): ValueError: two lines"),
    ],
)
def test_a_fault_of_a_plug_in_names_it(body: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError) as refused:
        evolve_with(body, tmp_path, monkeypatch)
    assert str(refused.value) == (
        f"method 'nothing' of PACKAGE{said}. The fault is the plug-in's: mend or uninstall it."
    )
    assert (refused.value.__cause__ is not None) == body.startswith("raise")


def test_an_error_with_a_sentence_of_its_own_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChaseError, match=r"^mine\.$") as refused:
        evolve_with("from chase.core.errors import UserError; raise UserError('mine.')", tmp_path, monkeypatch)
    assert refused.value.exit_code == 2


def test_an_interruption_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CancelledError):
        evolve_with("import asyncio; raise asyncio.CancelledError", tmp_path, monkeypatch)


def test_a_fault_of_ours_stays_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Chase, world: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(Chase, "evolve", broken)
    with pytest.raises(KeyError, match="ours"):
        evolve("chase")
