"""Functions that a description can name as its scorer."""

from __future__ import annotations


def same(answer: str, prediction: str) -> bool:
    return answer == prediction


def both(answer: str, prediction: str) -> str:
    return answer + prediction
