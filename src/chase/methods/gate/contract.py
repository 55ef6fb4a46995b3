"""The contract that the Proposer is given, once, before the first round: a common part and a benchmark's own."""

from __future__ import annotations

COMMON = """\
THE GENERALIZATION GATE
Fixed before the first round. The host checks every candidate against it; only a candidate that passes every check \
is evaluated.

For every benchmark
- Write rules that rest on what can be observed while a task is worked on, and that can hold in tasks nobody has seen.
- With each rule say when it applies: in the rule itself, by a guidance module's condition, or in the record of the \
candidate (`activation`).
- A harness holds no task identifier, split role, answer, gold source, private symbol or path, no question as it was \
observed, and no look-up table made from data.
- What is executed when searching or controlling a task belongs into structural fields (`harness.toml`, `control.py`). \
Advice on how to behave belongs into the system prompt, the memory or the guidance modules.
- A structural candidate changes at least one retrieval or control field and no guidance; a guidance candidate changes \
no structure; an integrated candidate joins changes of both kinds, taken from the other two.
- A candidate that changes nothing in effect, or that repeats a harness of an earlier round, is refused.
"""


def contract_text(realisation: str) -> str:
    """The whole contract: what holds everywhere, and what a benchmark adds to it."""
    return COMMON + (f"\nFor this benchmark\n{realisation.strip()}\n" if realisation.strip() else "")
