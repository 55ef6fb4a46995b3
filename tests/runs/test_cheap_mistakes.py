"""Cheap mistakes are answered at once: no benchmark is built for a command that cannot run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import chase
from chase.core.errors import UserError
from chase.harness.folder import save_harness
from chase.testing.ledger import H0


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def build(*_: object) -> None:
        raise AssertionError("a benchmark was built")

    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", build)
    monkeypatch.chdir(tmp_path)
    save_harness(H0, tmp_path / "h")


@pytest.mark.parametrize(
    ("command", "given", "sentence"),
    [
        ("rollout", {"rollouts": 0}, "rollouts=0 must be a whole number from 1 to 1000"),
        ("rollout", {"seed": -1}, "seed=-1 must be a whole number from 0 to 2147483647"),
        ("rollout", {"harness": "nowhere"}, "harness folder=nowhere cannot be read"),
        ("audit", {"harness": "nowhere"}, "harness folder=nowhere cannot be read"),
        ("audit", {"baseline": "nowhere"}, "harness folder=nowhere cannot be read"),
        ("audit", {"rounds": 0}, "rounds=0 must be a whole number from 1 to 20"),
        ("audit", {"transformations": ["nowhere.json"]}, "--transformations=nowhere.json cannot be read"),
        ("audit", {"split_sizes": "evo=4,evo=8"}, "split_sizes=evo=4,evo=8 says evo twice: leave one out"),
        ("audit", {"history_tokens": 5000}, "--history-tokens is for a llm proposer or llm challenger, and this run"),
        ("compare", {"rounds": 0}, "rounds=0 must be a whole number from 1 to 20"),
        ("compare", {"evaluation": "half"}, "evaluation=half: Input should be 'full', 'curtailed' or 'racing'"),
        ("compare", {"methods": []}, "methods=[] must be at least one name"),
        ("compare", {"seeds": range(3, 3)}, "must be seeds such as 0-9"),
        ("evolve", {"harness": "nowhere"}, "harness folder=nowhere cannot be read"),
        ("evolve", {"rounds": 0}, "rounds=0 must be a whole number from 1 to 20"),
        ("evolve", {"evaluation": "half"}, "evaluation=half: Input should be 'full', 'curtailed' or 'racing'"),
        ("evolve", {"evaluation": "racing", "method": "harness-evolve"}, "leave --evaluation out"),
        ("evolve", {"epsilon": 7}, "epsilon=7 must be a decimal number from 0 to 1"),
        ("evolve", {"options": ["rounds=1", "rounds=2"]}, "--option rounds is given twice"),
        ("evolve", {"options": {"round": 1}}, "unknown option of chase 'round'. Did you mean 'rounds'?"),
        ("evolve", {"rollouts": "evo=0"}, "rollouts=evo=0 must be whole numbers from 1 to 1000 by role: evo=0 is not"),
        ("evolve", {"rollouts": {"evo": "two"}}, "by role: evo=two is not"),
        ("evolve", {"split_sizes": "evo=1"}, "must be whole numbers from 2 to 1000000 by role: evo=1 is not"),
        ("evolve", {"history_tokens": -5}, "history_tokens=-5 must be a whole number from 100"),
        ("evolve", {"proposer": "llm"}, "proposer=llm needs a language model, and sim:reader only answers tasks"),
        ("evolve", {"challenger_model": "sim:reader"}, "challenger=llm needs a language model, and sim:reader only"),
        ("evolve", {"unconfined": True}, "--unconfined is for a coding-agent proposer or coding-agent challenger"),
        ("evolve", {"method": "chase-without-challenger", "no_diff": True}, "leave --no-diff out"),
    ],
)
def test_a_mistake_is_refused_before_a_benchmark_is_built(command: str, given: dict[str, Any], sentence: str) -> None:
    whole = {"benchmark": "syn-ledger@7", "model": "sim:reader", "harness": "h", **given}
    with pytest.raises(UserError) as refused:
        getattr(chase, command)(**whole)
    assert sentence in str(refused.value)


def test_settings_of_the_search_mean_nothing_beside_given_transformations(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({}))
    with pytest.raises(UserError, match="with --transformations nothing is searched for: leave --rounds out"):
        chase.audit(benchmark="syn-ledger@7", model="sim:reader", harness="h", transformations=["t.json"], rounds=2)
