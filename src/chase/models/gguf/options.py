"""How a file is served: what the config says, and the machine and the file where it says nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from chase.core.errors import SetupError
from chase.models.config import LocalServer
from chase.models.gguf.weights import Weights

CONTEXT_TOKENS, MOST_CONTEXT_TOKENS = 16_384, 32_768
"""Of a slot: the least, a good part of an agent's episode, and the most that is taken unasked, since every token of it
takes memory. Between them a benchmark's own limit decides; less, where the model was trained on less.
"""
CORES_A_SLOT = 4
MOST_SLOTS = 4
WORKING_BYTES = 400 << 20
"""What llama.cpp takes beside weights and cache."""
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """Everything that is decided of a server before it starts."""

    slots: int
    threads: int
    context_tokens: int
    """Of one slot."""
    prompt_cache: bool

    @property
    def reproducible(self) -> bool:
        """Whether a reply depends on its request alone: nothing is left over from another, or worked on beside it."""
        return self.slots == 1 and not self.prompt_cache


def serving(given: LocalServer | None, weights: Weights, needed_tokens: int = 0) -> Serving:
    """What the config says of a server, and what machine, file and benchmark say where it does not.

    `needed_tokens`: the longest history that the benchmark allows, with a reply.
    """
    said = given or LocalServer()
    wanted = min(max(needed_tokens, CONTEXT_TOKENS), MOST_CONTEXT_TOKENS)
    return Serving(
        slots=slots_of(said),
        threads=said.threads or cores(),
        context_tokens=said.context_tokens or min(wanted, weights.header.trained_context or CONTEXT_TOKENS),
        prompt_cache=said.prompt_cache,
    )


def slots_of(given: LocalServer | None) -> int:
    """How many requests are answered at a time: one on a laptop, where reading takes every core anyway."""
    said = given.slots if given is not None else None
    return said or max(1, min(MOST_SLOTS, cores() // CORES_A_SLOT))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def require_memory(model: str, weights: Weights, serving: Serving) -> None:
    """A `SetupError` where weights and cache do not fit into what memory is left. Unknown memory is enough."""
    cache = weights.header.cache_bytes(serving.slots * serving.context_tokens)
    needed, free = weights.bytes + cache + WORKING_BYTES, available_bytes()
    if free is None or needed <= free:
        return
    raise SetupError(
        f"model '{model}' needs about {needed / _GIB:.1f} GiB of memory ({weights.bytes / _GIB:.1f} for weights, "
        f"{cache / _GIB:.1f} for {serving.slots} × {serving.context_tokens:,} tokens of context) and "
        f"{free / _GIB:.1f} GiB are free: end other programs, lower slots or context_tokens in "
        f'[models."{model}".server], or take a smaller model.'
    )


def available_bytes() -> int | None:
    """How much memory a new program can have; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return None
