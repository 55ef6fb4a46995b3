"""Hashes and draws depend on their key alone."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.keyed import canonical_json, digest, key_bits, opaque_id, rng, sorted_by_key, uniform

keys = st.lists(st.text(max_size=6) | st.integers(), min_size=1, max_size=4)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


PINNED = ["jdmswnsc", "0.5141306901658262", "0.29970783826896574", "080a9ed428559ef6"]
"""A draw that changed would change every benchmark and every rollout."""

PRINT = """
from chase.core.keyed import digest, opaque_id, rng, uniform
print(opaque_id("task", 7, 0), uniform("a", 1), rng("b").random(), digest([1])[:16])
"""


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_draws_are_the_same_in_every_process(hash_seed: str) -> None:
    command, environment = [sys.executable, "-c", PRINT], {**os.environ, "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.split() == PINNED


@given(key=keys)
def test_equal_keys_draw_equally(key: list[object]) -> None:
    assert key_bits(*key) == key_bits(*key)
    assert rng(*key).random() == rng(*key).random()
    assert 0.0 <= uniform(*key) < 1.0


def test_keys_are_told_apart_by_their_parts() -> None:
    assert len({key_bits("a", "bc"), key_bits("ab", "c"), key_bits("abc"), key_bits("a", "b", "c")}) == 4


def test_uniform_draws_are_uniform() -> None:
    """4,000 draws: mean within 4 standard errors of one half, deciles all filled."""
    draws = [uniform("draw", i) for i in range(4000)]
    assert abs(sum(draws) / 4000 - 0.5) < 4 * 0.2887 / 4000**0.5
    assert {int(10 * x) for x in draws} == set(range(10))


@given(key=keys, letters=st.integers(1, 20))
def test_opaque_ids_are_lower_case_consonants(key: list[object], letters: int) -> None:
    made = opaque_id(*key, letters=letters)
    assert len(made) == letters
    assert not set(made) - set("bcdfghjkmnpqrstvwxz")


def test_opaque_ids_do_not_collide_or_carry_order() -> None:
    made = [opaque_id("x", i) for i in range(5000)]
    assert len(set(made)) == 5000
    rises = sum(a < b for a, b in pairwise(made))
    assert abs(rises - 2499.5) < 4 * (5001 / 12) ** 0.5


@given(items=st.lists(st.text(max_size=5), unique=True), data=st.data())
def test_sorting_by_key_ignores_the_order_given(items: list[str], data: st.DataObject) -> None:
    assert sorted_by_key(data.draw(st.permutations(items)), "k", 1) == sorted_by_key(items, "k", 1)


@given(value=st.dictionaries(st.text(max_size=4), plain, max_size=4))
def test_canonical_json_ignores_the_order_of_keys(value: dict[str, object]) -> None:
    backwards = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(backwards)
    assert digest(value) == digest(backwards)


def test_canonical_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
