"""Answer pairs that try a scorer: the recorded ones, changed at random.

    python -m studies.scorer_pairs --pairs 20000 --seed 1 --out pairs.jsonl
    chase officeqa score --pairs pairs.jsonl --official YOUR_COPY.py

The second command says where our scorer and the released script differ. Nothing of the script is needed to make pairs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "officeqa_fuzzy_match_vectors.jsonl"
PIECES = (
    *"()%$-−,.[]\"'€¢₹½²٣_a ", "US$", "million", "billions", "thousand", "hundred", "percent", "dollars", "and", "k",
    "M", "b", "bn", "mn", "March", "1977", "(1977)", "($1977)", "( $7 )", "(5)", "(12.5%)", "in 1946", "1,234", "2,000",
    ".5", "5.", "[3, 8]", "1e5", "Trust", "Fund (OASI)", "\n",
)  # fmt: skip
MOST_CHANGES = 3


def changed(text: str, others: Sequence[str], draw: random.Random) -> str:
    """The text with one to three pieces put in, taken out, or taken over from another answer."""
    for _ in range(draw.randint(1, MOST_CHANGES)):
        place, kind = draw.randint(0, len(text)), draw.random()
        if kind < 0.6:
            text = text[:place] + draw.choice(PIECES) + text[place:]
        elif kind < 0.8:
            text = text[:place] + text[place + draw.randint(1, 3) :]
        else:
            text = text[:place] + draw.choice(others) + text[place:]
    return text


def make_pairs(count: int, seed: int) -> list[dict[str, str]]:
    """Truth, prediction, both changed alike, or both changed apart, in turn."""
    draw = random.Random(seed)
    recorded = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    others = [pair[key] for pair in recorded for key in ("ground_truth", "predicted")]
    pairs = []
    for number in range(count):
        pair = draw.choice(recorded)
        truth, predicted = pair["ground_truth"], pair["predicted"]
        if number % 4 == 2:
            truth = predicted = changed(truth, others, draw)
        truth = changed(truth, others, draw) if number % 4 in (0, 3) else truth
        predicted = changed(predicted, others, draw) if number % 4 != 0 else predicted
        pairs.append({"ground_truth": truth, "predicted": predicted})
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    lines = [json.dumps(pair, ensure_ascii=False) for pair in make_pairs(asked.pairs, asked.seed)]
    asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
